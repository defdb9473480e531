"""Each random proof has the kinds of row that it is for, at the seed of CI: counted without a server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import pytest

from demo.database import TABLES
from demo.run import BATCHES as DEMO_BATCHES
from demo.workload import Workload
from demo.writers import BY_NAME
from demo.writers.deliveries import REPLICATED, DeliveriesWriter

from . import (
    test_event_histories,
    test_random_deliveries,
    test_random_described_feeds,
    test_random_feeds,
    test_random_histories,
    test_shared_rows,
)
from .histories import RawRow
from .interpreter import Change
from .kinds import assert_met, kinds_of_changes, kinds_of_rows
from .load_histories import LoadLog, statements, whole_loads
from .message_histories import Message
from .openedge_cases import BEFORE
from .openedge_histories import Captured
from .reduction import Delivery
from .source_histories import COLUMNS
from .trail_cases import METADATA, RECORD
from .trail_histories import Written

_LATE = {"c": "insert", "i": "insert", "u": "update", "d": "delete"}
Verdicts = Mapping[Any, str | None]


def _again(rows: Iterable[tuple[Hashable, int]]) -> Counter[str]:
    """How many rows, each an identity with the batch in which it lands, have landed in a batch before."""
    first: dict[Hashable, int] = {}
    batches = sorted(rows, key=lambda row: row[1])
    return Counter({"again later": sum(batch > first.setdefault(identity, batch) for identity, batch in batches)})


def _of_change_rows(rows: Sequence[RawRow], batch: int) -> Verdicts:
    landed = [row for row in rows if row.batch <= batch]
    updates = {row.seq for row in landed if row.oper == "U"}
    return {row.seq: None if row.seq in updates else "after_image_missing" for row in landed if row.oper == "B"}


def _of_messages(messages: Sequence[Message], batch: int, log: Iterable[Change]) -> Verdicts:
    logged = {change.seq for change in log}
    return {each.seq: None if each.seq in logged else "transaction_open" for each in messages if each.is_in(batch)}


def _of_trails(trails: Sequence[Sequence[Written]], batch: int) -> Verdicts:
    found: dict[Hashable, str | None] = {}
    io_type = list(RECORD).index("io_type")
    for number, trail in enumerate(trails):
        names = set()
        for place, written in enumerate(trail):
            code = None if written.name else "transaction_abandoned"
            if written.records[0].values[io_type] == METADATA:
                code = "control_record"
            elif written.name and written.name in names:
                code = "transaction_repeated"
            elif written.name and not written.is_in(batch):
                code = "transaction_open"
            if any(record.is_in(batch) for record in written.records):
                found[number, place] = code
            names.add(written.name)
    return found


def _of_captures(captured: Sequence[Captured], batch: int) -> Verdicts:
    found: dict[Hashable, str | None] = {}
    for change in captured:
        rows = [row for row in change.rows if row.is_in(batch)]
        parts = {row.part for row in rows if row.part is not None and row.operation != BEFORE}
        if change.read(batch, COLUMNS, by_recid=False) is not None:
            found[change.number] = None
        elif rows and all(row.part for row in rows):
            found[change.number] = "tracking_row_missing"
        elif rows:
            part = "second_part" if 1 in parts else "first_part"
            found[change.number] = f"{part if parts else 'change_row'}_missing"
    return found


def _of_loads(log: LoadLog, batch: int) -> Verdicts:
    landed = [row for row in log.landing if row.batch <= batch]
    whole, said = whole_loads(landed, log.share), statements(landed, log.share)
    found: dict[Hashable, str | None] = {}
    for row in landed:
        code = None if row.load is not None and whole[row.load] else "load_not_whole"
        if row.load is None:
            code = "change_seq_missing"
        elif row.key == (None, None):
            code = "key_missing"
        elif code is None and said[row.load, row.key].op is None:
            code = "row_unchanged"
        found[row.load, row.key] = code
    return found


def _random_histories() -> Mapping[str, Counter[str]]:
    proof = test_random_histories
    batches = range(1, proof.BATCHES + 1)
    found = {}
    for table in proof.PROOFS:
        runs = [table.changes(table.rows, batch) for batch in batches]
        told = kinds_of_changes(runs) + _again(((row.seq, row.oper, row.key), row.batch) for row in table.rows)
        if isinstance(table, proof.MessageProof):
            told += kinds_of_rows(_of_messages(table.rows, batch, runs[batch - 1]) for batch in batches)
        else:
            told += kinds_of_rows(_of_change_rows(table.rows, batch) for batch in batches)
            told["truncate again later"] = _again((row.seq, row.batch) for row in table.rows if row.oper == "T").total()
        found[table.entry.name] = told
    return found


def _random_feeds() -> Mapping[str, Counter[str]]:
    proof = test_random_feeds
    histories = proof.Histories()
    batches = range(1, proof.BATCHES + 1)
    runs: dict[str, list[Sequence[Change]]] = {name: [] for name in histories.logs}
    for batch in batches:
        histories.run(batch, proof.SKIPPED.get(batch, []))
        for name in runs:
            runs[name].append(histories.changes(name))
    loads = histories.logs["loaded"]
    assert isinstance(loads, LoadLog)
    return {name: kinds_of_changes(of_table) for name, of_table in runs.items()} | {
        "trails": kinds_of_rows(_of_trails(histories.trails, batch) for batch in batches)
        + _again(
            (tuple(record.values[:3]), record.batch)
            for trail in histories.trails
            for written in trail
            for record in (*written.records, *written.copies)
        ),
        "captured": kinds_of_rows(_of_captures(histories.captured, batch) for batch in batches)
        + _again(
            ((change.number, row.operation, row.part), row.batch)
            for change in histories.captured
            for row in change.rows
        ),
        "loads": kinds_of_rows(_of_loads(loads, batch) for batch in batches)
        + _again(((row.load, row.key), row.batch) for row in histories.loads),
    }


def _event_histories() -> Mapping[str, Counter[str]]:
    found = {}
    for proof in test_event_histories.PROOFS:
        runs: list[Sequence[Change]] = []
        codes: list[Verdicts] = []
        proof.begin()
        for batch, moment in enumerate(proof.moments, start=1):
            proof.models.run(moment, proof.columns_in(batch))
            runs.append(list(proof.models.deliveries))
            codes.append(dict(proof.models.codes))
        proof.begin()
        found[proof.entry.name] = kinds_of_changes(runs) + kinds_of_rows(codes)
    return found


def _shared_rows() -> Mapping[str, Counter[str]]:
    proof = test_shared_rows
    histories = proof.Histories()
    batches = range(1, proof.BATCHES + 1)
    runs: dict[str, list[Sequence[Change]]] = {name: [] for name in proof.LOGS}
    open_messages: list[Verdicts] = []
    for batch in batches:
        histories.run(batch, proof.LEFT_OUT if batch == 2 else None)
        logs = {f"trail_{name}": [*log.changes.values()] for name, log in histories._of_trail.items()}
        logs |= {f"topic_{name}": log.changes for name, log in histories._of_topic.items()}
        for name, log in logs.items():
            runs[name].append(log)
        of_topic = [change for name, log in logs.items() if name.startswith("topic") for change in log]
        open_messages.append(_of_messages(histories._messages, batch, of_topic))
    return {
        "shared trails": sum((kinds_of_changes(runs[name]) for name in runs if name.startswith("trail")), Counter())
        + kinds_of_rows(_of_trails(histories._trails, batch) for batch in batches),
        "shared topic": sum((kinds_of_changes(runs[name]) for name in runs if name.startswith("topic")), Counter())
        + kinds_of_rows(open_messages),
        "shared mapped": histories.rejected() + Counter(tombstone=histories._read.count(None)),
    }


def _random_deliveries() -> Mapping[str, Counter[str]]:
    proof = test_random_deliveries
    found: Counter[str] = Counter()
    held: Mapping[int, Delivery] = {}
    in_raw: set[int] = set()
    for batch, (columns, (rows, log)) in enumerate(zip(proof.BATCHES, proof.random_runs(), strict=True)):
        in_raw = set() if batch in proof.PURGES else in_raw
        for row in rows:
            if row.id in held:
                known, told = held[row.id], row.delivery(columns)
                content = told.content[: len(known.content)]
                kind = "again" if told.header == known.header else "other time"
                if content != known.content:
                    kind = "greater content" if content > known.content else "lesser content"
                found.update([kind, *([] if row.id in in_raw else [f"{kind}, purged"])])
                found["with a new column"] += told.content != content
        held, in_raw = log, in_raw | {row.id for row in rows}
    return {"deliveries": found}


def _random_described_feeds() -> Mapping[str, Counter[str]]:
    proof = test_random_described_feeds
    found = {}
    for feed, make in BY_NAME.items():
        writer = make(proof.SEED)
        workload = Workload(proof.SEED, proof.SCALE, swaps=writer.swaps)
        told: Counter[str] = Counter()
        loaded = workload.fill()
        for batch in range(1, DEMO_BATCHES + 1):
            transactions = list(workload.play_round())
            writer.write(transactions, loaded if batch == 1 else (), last=batch == DEMO_BATCHES)
            if isinstance(writer, DeliveriesWriter):
                told.update(f"late {_LATE[each.identity[1][0].lower()]}" for each in writer.late if each.identity)
            for change in (change for each in transactions for change in each.changes if change.table in REPLICATED):
                key_of = TABLES[change.table].key_of
                moves = change.before and change.after and key_of(change.before) != key_of(change.after)
                told["move" if moves else change.operation] += 1
        if isinstance(writer, DeliveriesWriter):
            identities = Counter(delivery.identity for delivery in writer.delivered if delivery.identity)
            told["again later"] = identities.total() - len(identities)
        for name in REPLICATED:
            told.update({code: number for (_, code), number in writer.expected_statuses[name].items() if code})
        found[feed] = told
    return found


PROOFS: Sequence[Callable[[], Mapping[str, Counter[str]]]] = [
    _random_histories,
    _random_feeds,
    _event_histories,
    _shared_rows,
    _random_deliveries,
    _random_described_feeds,
]


@pytest.mark.parametrize("count", PROOFS)
def test_a_random_proof_has_each_kind_of_row_that_it_is_for(count: Callable[[], Mapping[str, Counter[str]]]) -> None:
    for table, counted in count().items():
        assert_met(table, counted)
