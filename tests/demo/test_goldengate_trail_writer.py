"""The trail is as the page of the format says, and the sources file says of it what the writer does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.database import TABLES, Table
from demo.history import Contents
from demo.landing import Landed
from demo.workload import Workload
from demo.writers.goldengate_trail import RAW_TABLE, GoldenGateTrailWriter, name_in_trail, trail_name

BATCHES = 3
SOURCES = Path(__file__).parents[2] / "models/staging/goldengate_trail/_goldengate_trail__sources.yml"
NAMES = [column.name for column in RAW_TABLE.columns]
Fields = Mapping[str, Any]


class Fed:
    """A history written in batches, with the source's contents after each."""

    def __init__(self, seed: int) -> None:
        """Write it."""
        self.writer = GoldenGateTrailWriter(seed)
        workload = Workload(seed)
        loaded = workload.fill()
        self.batches: list[list[Fields]] = []
        self.contents: list[Contents] = []
        for number in range(BATCHES):
            transactions = list(workload.play_round())
            written = self.writer.write(transactions, loaded if number == 0 else (), last=number == BATCHES - 1)
            self.batches.append([dict(zip(NAMES, row, strict=True)) for row in written[RAW_TABLE.name]])
            self.contents.append(workload.database.contents())

    def trail(self, batch: int) -> list[Fields]:
        """The records that have landed up to a batch, each once, as they stand in the trail."""
        records = {place(record): record for landed in self.batches[: batch + 1] for record in landed}
        return [records[position] for position in sorted(records)]


@pytest.fixture(scope="module", params=[1, 2, 3])
def fed(request: pytest.FixtureRequest) -> Fed:
    """A history by its seed."""
    return Fed(request.param)


def place(record: Fields) -> tuple[int, int]:
    """Where a record stands."""
    return record["trail_seqno"], record["trail_rba"]


def whole_transactions(records: Sequence[Fields]) -> Iterator[list[Fields]]:
    """The transactions that came to their end, as a reader of the trail finds them, record by record, each once."""
    group: list[Fields] | None = None
    names: set[tuple[str | None, str | None]] = set()
    for record in records:
        if record["io_type"] in (150, 170):
            continue
        if record["trans_ind"] in (0, 3):
            group = []
        if group is not None:
            group.append(record)
            if record["trans_ind"] in (2, 3):
                tokens = group[0]["tokens"] or {}
                name = (tokens.get("LOGCSN", tokens.get("L")), tokens.get("TRANID", tokens.get("6")))
                if None in name or name not in names:
                    yield group
                names.add(name)
                group = None


def test_a_record_that_lands_again_is_the_same(fed: Fed) -> None:
    landed = [record for batch in fed.batches for record in batch]
    assert len(fed.trail(BATCHES - 1)) < len(landed)
    contents: dict[tuple[int, int], Fields] = {}
    assert all(contents.setdefault(place(record), record) == record for record in landed)


def test_the_trail_goes_over_files_and_lands_in_no_order(fed: Fed) -> None:
    assert len({record["trail_seqno"] for record in fed.trail(BATCHES - 1)}) > 2
    positions = [place(record) for record in fed.batches[0]]
    assert positions != sorted(positions)


def test_attempts_are_abandoned_and_one_is_open_before_the_last_batch(fed: Fed) -> None:
    for number in range(BATCHES):
        records = [record for record in fed.trail(number) if record["io_type"] not in (150, 170)]
        whole = {place(record) for group in whole_transactions(records) for record in group}
        starts = [place(record) for record in records if record["trans_ind"] in (0, 3)]
        abandoned = [position for position in starts if position not in whole]
        assert abandoned
        assert (max(starts) in abandoned) == (number < BATCHES - 1)


def test_the_account_counts_every_record(fed: Fed) -> None:
    counted = sum(counts.total() for counts in fed.writer.expected_statuses.values())
    assert counted + fed.writer.expected_unclaimed.total() == sum(map(len, fed.batches))
    for name, counts in fed.writer.expected_statuses.items():
        codes = {verdict.code for verdict in counts if verdict.status == "rejected"}
        assert codes >= {"transaction_start_missing", "header_malformed", "unknown_operation", "chunk_run_broken"}, name
    statuses = {verdict.status for counts in fed.writer.expected_statuses.values() for verdict in counts}
    assert statuses == {"accepted", "merged", "ignored", "rejected"}


@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_whole_transactions_in_their_order_make_the_source_tables(fed: Fed, batch: int) -> None:
    unreadable = {
        (record.header["trail_seqno"], record.header["trail_rba"])
        for record in fed.writer.written
        if record.verdict.status == "rejected"
    }
    tables: dict[str, dict[tuple[Any, ...], dict[str, Landed]]] = {name: {} for name in TABLES}
    by_name = {trail_name(table): table for table in TABLES.values()}
    for group in whole_transactions(fed.trail(batch)):
        rows = [record for record in group if place(record) not in unreadable and record["table_name"] in by_name]
        _apply(rows, tables, by_name)
    for name, table in TABLES.items():
        found = Counter(tuple(_plain(row[c]) for c in table.column_names) for row in tables[name].values())
        expected = Counter(tuple(_as_landed(row[c]) for c in table.column_names) for row in fed.contents[batch][name])
        assert found == expected


def _apply(records: Sequence[Fields], tables: dict[str, Any], by_name: Mapping[str, Table]) -> None:
    """The changes of one transaction; rows that exchange keys wait at the side, each for its turn."""
    pending: list[tuple[Table, Fields]] = []
    for record in records:
        table = by_name[record["table_name"]]
        if record["io_type"] == 161:
            image = pending[-1][1]["after_data"]
            for name, text in record["after_data"].items():
                image[name] = text if image.get(name) is None else image[name] + (text or "")
            continue
        after = None if record["after_data"] is None else dict(record["after_data"])
        if pending and pending[-1][1]["before_after"] == "B" and pending[-1][1]["io_type"] == 10:
            _, half = pending.pop()
            pending.append((table, {**record, "before_data": half["before_data"], "after_data": after}))
        else:
            pending.append((table, {**record, "after_data": after}))
    covered: dict[tuple[str, tuple[Any, ...]], list[Any]] = {}
    for table, record in pending:
        rows = tables[table.name]
        if record["io_type"] == 100:
            rows.clear()
            continue
        before, after = record["before_data"], record["after_data"]
        old = _key(table, before) if before else _key(table, after)
        queue = covered.get((table.name, old), [])
        base = rows.pop(old, {})
        if queue:
            # whoever came to the key first leaves it first
            rows[old] = base
            base = queue.pop(0)
        if after is None:
            continue
        new = _key(table, after)
        if record["io_type"] == 5:
            base = {}
        if new in rows:
            covered.setdefault((table.name, new), []).append(rows[new])
        names = {name_in_trail(table, name): name for name in table.column_names}
        rows[new] = {**base, **{names[name]: text for name, text in after.items()}}


def _key(table: Table, image: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(image[name_in_trail(table, name)] for name in table.key)


def _plain(text: Any) -> Any:
    """A text of the trail without what several texts of one value differ in."""
    if isinstance(text, str) and len(text) >= 10 and text[4:5] == "-" and text[7:8] == "-" and text[:4].isdigit():
        if len(text) == 10 or (text[11:19] == "00:00:00" and not text[19:].strip(".0")):
            return text[:10]
        return f"{text[:10]} {text[11:26]}"
    return text


def _as_landed(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, Decimal):
        return f"{value:f}"
    return _plain(f"{value:%Y-%m-%d %H:%M:%S.%f}" if hasattr(value, "hour") else str(value))


def test_the_sources_file_declares_what_the_writer_writes() -> None:
    entries = yaml.safe_load(SOURCES.read_text())["sources"][0]["tables"]
    assert [entry["name"] for entry in entries] == list(TABLES)
    for entry in entries:
        table, spec = TABLES[entry["name"]], entry["config"]["meta"]["change_table"]
        assert entry["identifier"] == RAW_TABLE.name
        assert spec["table_name"] == trail_name(table)
        assert tuple(spec["key"]) == table.key
        assert [(c["name"], c["data_type"]) for c in entry["columns"]] == [(c.name, c.data_type) for c in table.columns]
