"""The first rule of docs/semantics.md: whatever the order of raw rows is, the set of changes decides state and history.

`make test-long` runs it with other and with more histories: `CHANGE_TABLES_PROOF_SEED` and `CHANGE_TABLES_PROOF_SCALE`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest

from tests.table_format import TABLE_FORMAT

from .consumer import Consumer, Entry
from .histories import (
    COLUMNS,
    HEADERS,
    KEY,
    RAW_COLUMNS,
    Order,
    RawRow,
    after_all_others,
    among_random_ones,
    change_within_an_exchange,
    changes_of,
    differences,
    exchange_told_otherwise,
    exchange_with_an_unknown_row,
    expected_history,
    expected_reports,
    expected_rows_at,
    expected_rows_at_bounds,
    expected_state,
    expected_table,
    history_query,
    random_raw_rows,
    resets_beside_exchanges,
    time_of_load,
    truncate_before_an_exchange,
    truncates_in_time,
)
from .interpreter import Change, Table
from .landing import Raw
from .message_histories import COLUMNS as MESSAGE_COLUMNS
from .message_histories import FEWER_COLUMNS, Message, MessageLog, random_messages, with_offsets
from .message_histories import RAW_COLUMNS as MESSAGE_RAW_COLUMNS
from .smallest_form import smallest_form

pytestmark = pytest.mark.slow

BATCHES = 3
SEED = int(os.environ.get("CHANGE_TABLES_PROOF_SEED", "0"))
SCALE = int(os.environ.get("CHANGE_TABLES_PROOF_SCALE", "1"))
THEN = datetime(2026, 1, 1, 0, 20, tzinfo=UTC)
FOLDED_REPORTS = ("orphan", "key_collision")
LOG = "select * except (_batch_id) from {}.dedup_feed__{}"
# the rows of each history as of each bound of its versions, one microsecond before, and one after
AT_BOUNDS = """
with bounds as (
    select history as of_history, explode(array(_valid_from, _valid_to)) as bound
    from {{{{ ref('history_feed__{0}') }}}}
),

moments as (
    select distinct of_history, timestamp_micros(unix_micros(bound) + off_by) as moment
    from bounds lateral view explode(array(-1, 0, 1)) as off_by
    where bound is not null
)

{{{{ change_tables.as_of(ref('history_feed__{0}') ~ ' inner join moments on history <=> of_history', 'moment') }}}}
"""
SPEC = {"format": "qlik_change_tables", "key": KEY, "headers": list(HEADERS), "mask_type": "string"}
MODELS = ("stg", "dedup", "current", "history")
WITH_KEPT = (*MODELS, "kept")
"""Also the last row of each key that has ended. In CI that of one table, the one to which most happens."""
# the last version of each key, with whether it has ended
LAST_VERSIONS = f"""
select * except (number)
from (
    select
        {", ".join(COLUMNS)},
        not _is_current as _is_deleted,
        row_number() over (partition by {", ".join(KEY)} order by _valid_from_seq desc) as number
    from {{}}.history_feed__{{}}
)
where number = 1
"""
# a user's model that keeps all changes, and what they come to
COPY = """
{{{{ config(materialized='incremental', file_format='{1}', on_schema_change='append_new_columns') }}}}

select *
from ({{{{ change_tables.changes_since(ref('{0}')) }}}})
{{% if var('fails', '') == this.name %}}where raise_error('it fails') is null{{% endif %}}
"""
COPIED = f"""
select * except (number)
from (
    select *, row_number() over (partition by {", ".join(KEY)} order by _batch_id desc) as number
    from {{}}
)
where number = 1
"""
VIEWS = ("config.materialized:view",)
"""Those of dbt: what they read changes, and they do not. Those of the package are made in each run."""
NOT_READ = ("stg_*", "rejected")
"""Views that nothing here reads."""
RESETS = ("T", "S")
"""Operations of rows that end keys of all histories: a truncate, and a load that is taken again."""
SEVERAL_TASKS = {f"spark.sql.{name}": "2" for name in ("shuffle.partitions", "files.minPartitionNum")}
"""So that an order which is not total shows: the server of tests has one task a stage."""


@dataclass(frozen=True)
class Proof:
    """A table, and all raw rows that land in it."""

    entry: Entry
    rows: Sequence[Any]

    raw_columns: ClassVar = RAW_COLUMNS
    skipped: ClassVar[Mapping[int, str]] = {}
    """A model that is not built in a batch, so that the next build takes in two."""

    def entry_in(self, batch: int) -> Entry:  # noqa: ARG002  # tables of messages have another entry by batch
        """What is declared before a batch."""
        return self.entry

    def land(self, raw: Raw, schema: str, rows: Sequence[Any], batch: int) -> None:
        """Land what comes in a batch; the rows of a load are for `_load`."""
        raw.insert(
            f"{schema}_raw.{self.entry.name}", [row.values for row in rows if row.batch == batch and row.oper != "S"]
        )

    def changes(self, rows: Sequence[Any], last_batch: int) -> list[Change]:
        """The deliveries that the log has taken in after a batch."""
        return changes_of([row for row in rows if row.batch <= last_batch])

    def table(self, rows: Sequence[Any], last_batch: int) -> Table:
        """What the models must show after a batch."""
        return Table(self.changes(rows, last_batch))

    def rebuilt_table(self) -> Table:
        """What they must show after a full refresh."""
        return self.table(self.rows, BATCHES)

    def many(self, candidates: Sequence[Sequence[Any]]) -> list[Any]:
        """The rows of many histories, each as a history of its own, with all truncates and loads."""
        rows = [_renumbered(row, 0) for row in self.rows if row.oper in RESETS]
        for number, candidate in enumerate(candidates, start=1):
            of_changes = [row for row in candidate if row.oper not in RESETS]
            rows += [replace(_renumbered(row, number), key=(number, *row.key[1:])) for row in of_changes]
        return rows


class MessageProof(Proof):
    """A table of Kafka messages, of which some are purged, and of which a column is declared in the last batch."""

    raw_columns: ClassVar = MESSAGE_RAW_COLUMNS
    skipped: ClassVar = {2: "history"}

    def entry_in(self, batch: int) -> Entry:
        """All columns in the last batch."""
        return replace(self.entry, columns=_columns_in(batch))

    def land(self, raw: Raw, schema: str, rows: Sequence[Message], batch: int) -> None:
        """Land what comes, and purge what goes."""
        table = f"{schema}_raw.{self.entry.name}"
        if any(row.gone == batch for row in rows):
            raw.create(table, self.raw_columns)
            raw.insert(table, [row.values for row in rows if row.is_in(batch)])
        else:
            raw.insert(table, [row.values for row in rows if row.batch == batch])

    def changes(self, rows: Sequence[Message], last_batch: int) -> list[Change]:
        """The log takes in what raw has in each batch."""
        log = MessageLog()
        for batch in range(1, last_batch + 1):
            log.run([row for row in rows if row.is_in(batch)], _columns_in(batch))
        return log.changes

    def rebuilt_table(self) -> Table:
        """What was purged is lost."""
        log = MessageLog()
        log.run([row for row in self.rows if row.is_in(BATCHES)], MESSAGE_COLUMNS)
        return log.table

    def many(self, candidates: Sequence[Sequence[Message]]) -> list[Message]:
        """The messages of many histories, each as a history of its own."""
        return with_offsets(
            row.of_history(number, len(candidates))
            for number, candidate in enumerate(candidates, start=1)
            for row in candidate
        )


def _columns_in(batch: int) -> Mapping[str, str]:
    return MESSAGE_COLUMNS if batch == BATCHES else FEWER_COLUMNS


def _rows(seed: int, order: Order, *, partial: bool = False) -> list[RawRow]:
    return random_raw_rows(SEED + seed, 150 * SCALE, 3000 * SCALE, BATCHES, order, partial=partial)


PARTIAL = SPEC | {"images": "partial"}
LOADED = {
    "snapshot": "loaded",
    "snapshot_seq": "{{ var('loaded_at', '') }}",
    "snapshot_time": "{{ var('loaded_time', '') }}",
}
MESSAGES = {"format": "qlik_kafka", "key": KEY, "hold_open_transactions": True}
# no truncate lands in the first batch, so that runs without any leave what runs with some go on from
FULL_ROWS, TRUNCATED = among_random_ones(
    [replace(row, batch=max(row.batch, 2)) if row.oper == "T" else row for row in _rows(6, "mixed")],
    [*truncate_before_an_exchange(), *exchange_told_otherwise()],
    10**6,
)
PARTIAL_ROWS, EMPTIED = among_random_ones(_rows(8, "mixed", partial=True), resets_beside_exchanges(), 2 * 10**6)
LOADS = [row for row in EMPTIED if row.oper == "S"]
PROOFS = [
    Proof(
        Entry("full", SPEC | {"arrival": "batch"}, COLUMNS, MODELS if SCALE == 1 else WITH_KEPT),
        [*FULL_ROWS, *TRUNCATED],
    ),
    Proof(
        Entry("partial", PARTIAL | LOADED, COLUMNS, WITH_KEPT),
        [
            *PARTIAL_ROWS,
            *truncates_in_time(PARTIAL_ROWS, BATCHES),
            *EMPTIED,
            *after_all_others([*exchange_with_an_unknown_row(), *change_within_an_exchange()], 10**6),
        ],
    ),
    MessageProof(
        Entry("messages", MESSAGES, FEWER_COLUMNS, MODELS),
        random_messages(SEED + 16, 60 * SCALE, 10, BATCHES),
    ),
]
if (
    SCALE > 1
):  # what it has beside `full` and `partial` are loads of full images: semantics.md and the pages of feeds have some
    PROOFS += [
        # of `partial`, the rows of every second history are in time
        Proof(Entry("partial_in_time", PARTIAL, COLUMNS, WITH_KEPT), _rows(9, "timely", partial=True)),
        Proof(
            Entry("emptied", SPEC | LOADED, COLUMNS, WITH_KEPT),
            # with the last batch only a truncate lands
            [replace(row, present=None) for row in EMPTIED if row.batch < BATCHES or row.oper == "T"],
        ),
    ]

COPIES = {"partial": "kept", "messages": "current"} | (
    {"full": "current", "partial_in_time": "kept"} if SCALE > 1 else {}
)
"""The model of a table that a user's model takes the changes of."""
FAILING_COPY = (2, "partial")
"""A batch in which that model fails, and its table."""
OF_CHANGE_ROWS = [proof for proof in PROOFS if not isinstance(proof, MessageProof)]


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """The tables: of one the log reads what has arrived since its last run, of the other everything."""
    project = replace(consumer("random_histories"), session=SEVERAL_TASKS)
    project.write([proof.entry_in(1) for proof in PROOFS], further_sources=["loaded"])
    for name, moment in (("then", THEN), ("now", datetime.now(UTC))):
        query = f"{{{{ change_tables.as_of(ref('history_feed__full'), \"timestamp'{moment}'\") }}}}\n"
        (project.folder / f"models/as_of_{name}.sql").write_text(query)
    for name, kind in COPIES.items():
        (project.folder / f"models/copy_{name}.sql").write_text(COPY.format(f"{kind}_feed__{name}", TABLE_FORMAT))
    for proof in OF_CHANGE_ROWS:
        name = proof.entry.name
        (project.folder / f"models/at_bounds_{name}.sql").write_text(AT_BOUNDS.format(name))
    return project


def _query_of(kind: str, columns: Mapping[str, str]) -> str:
    return history_query(columns) if kind == "history" else f"select {', '.join(columns)} from "


KINDS: dict[str, Callable[[Table], set[tuple[Any, ...]]]] = {"current": expected_state, "history": expected_history}


def _load(project: Consumer, raw: Raw, loads: Sequence[RawRow], batch: int) -> list[str]:
    """Land the load of a batch; the options of a run that say at which sequence it was taken."""
    raw.insert(f"{project.schema}_raw.loaded", [list(row.row.values()) for row in loads if row.batch == batch])
    seq = max((row.seq for row in loads if row.batch <= batch), default="")
    return ["--vars", json.dumps({"loaded_at": seq, "loaded_time": f"{time_of_load(seq):%F %T}" if seq else ""})]


def _assert_rows(
    project: Consumer, raw: Raw, proof: Proof, kind: str, last_batch: int, moment: str, scratch: Consumer, table: Table
) -> None:
    name = proof.entry.name
    query = _query_of(kind, proof.entry_in(last_batch).columns)
    found = raw.query(f"{query} {project.schema}.{kind}_feed__{name}")
    expected = KINDS[kind](table)
    assert len(found) == len(set(found)), f"{kind} {name} {moment}: a row is there twice"
    wrong = expected ^ set(found)
    if wrong:
        smallest = _smallest_history(raw, proof, kind, last_batch, {row[0] for row in wrong}, scratch)
        raise AssertionError(f"{kind} {name} {moment}: {differences(expected, found)}; its smallest form:\n{smallest}")


def _smallest_history(
    raw: Raw, proof: Proof, kind: str, last_batch: int, histories: set[int], scratch: Consumer
) -> str:
    """The fewest raw rows of one of these histories, with all truncates and loads, that still come out wrong."""
    landed = [row for row in proof.rows if row.batch <= last_batch]
    of_history = [[row for row in landed if row.key[0] == history] for history in histories]

    def fail(candidates: Sequence[Sequence[RawRow]]) -> list[bool]:
        """Builds all candidates at once, each as a history of its own."""
        rows = proof.many(candidates)
        scratch.write([proof.entry_in(1)], ["loaded"])
        raw.drop_schema(scratch.schema)
        raw.create(f"{scratch.schema}_raw.{proof.entry.name}", proof.raw_columns)
        raw.create(f"{scratch.schema}_raw.loaded", COLUMNS)
        for batch in range(1, last_batch + 1):
            loaded = _load(scratch, raw, [row for row in rows if row.oper == "S"], batch)
            _build_batch(scratch, raw, [(proof, rows)], batch, loaded)
        query = _query_of(kind, proof.entry_in(last_batch).columns)
        found = set(raw.query(f"{query} {scratch.schema}.{kind}_feed__{proof.entry.name}"))
        wrong = {row[0] for row in found ^ KINDS[kind](proof.table(rows, last_batch))}
        return [number in wrong for number in range(1, len(candidates) + 1)]

    failing = [rows for rows, fails in zip(of_history, fail(of_history), strict=True) if fails]
    if not failing:
        return "none: it needs more than one history"
    rows = [*smallest_form(min(failing, key=len), fail), *(row for row in landed if row.oper in RESETS)]
    return "\n".join(str(row) for row in sorted(rows, key=lambda row: (row.batch, row.seq, row.oper)))


def _build_batch(
    project: Consumer,
    raw: Raw,
    proofs: Sequence[tuple[Proof, Sequence[Any]]],
    batch: int,
    options: Sequence[str],
) -> None:
    """Declare, land and build what comes in a batch, with dbt's views in the first one."""
    if any(proof.entry_in(batch) != proof.entry_in(max(batch - 1, 1)) for proof, _ in proofs):
        project.write_sources([proof.entry_in(batch) for proof, _ in proofs], ["loaded"])
    for proof, rows in proofs:
        proof.land(raw, project.schema, rows, batch)
    skipped = [f"{proof.skipped[batch]}_feed__{proof.entry.name}" for proof, _ in proofs if batch in proof.skipped]
    if batch == 1:
        project.dbt("run", "--exclude", *NOT_READ, *options)
        return
    fails = f"copy_{FAILING_COPY[1]}" if batch == FAILING_COPY[0] else ""
    given = [options[0], json.dumps(json.loads(options[1]) | {"fails": fails})]
    result = project.dbt("run", "--exclude", *VIEWS, *skipped, *given, must_succeed=not fails)
    failed = [run.node.name for run in result.result if run.status != "success"]
    assert failed == [fails] * (project.folder / f"models/{fails}.sql").exists(), project.errors(result)


def _renumbered(row: RawRow, number: int) -> RawRow:
    """The row with a sequence of its own among copies of it, at the same place among other rows."""
    return replace(row, seq=f"{row.seq[:16]}{int(row.seq[16:]) * 10_000 + number:019d}")


def _assert_models(
    project: Consumer, raw: Raw, last_batch: int, moment: str, scratch: Consumer, *, is_rebuilt: bool = False
) -> None:
    reported = raw.query(
        f"select table_name, code, _change_seq from {project.schema}.reported where code in {FOLDED_REPORTS}"
    )
    for proof in PROOFS:
        table = proof.rebuilt_table() if is_rebuilt else proof.table(proof.rows, last_batch)
        for kind in KINDS:
            if is_rebuilt or proof.skipped.get(last_batch) != kind:
                _assert_rows(project, raw, proof, kind, last_batch, moment, scratch, table)
        name = proof.entry.name
        if "kept" in proof.entry.models:
            kept = raw.query(f"select {', '.join(COLUMNS)}, _is_deleted from {project.schema}.kept_feed__{name}")
            last = raw.query(LAST_VERSIONS.format(project.schema, name))
            assert any(row[-1] for row in last), name
            assert len(kept) == len(last), f"kept {name} {moment}: {len(kept)} rows, {len(last)} keys"
            assert set(kept) == set(last), f"kept {name} {moment}: {differences(set(last), kept)}"
        found, expected = [row[1:] for row in reported if row[0] == name], expected_reports(table)
        assert expected or last_batch == BATCHES or name == "emptied", (
            "rows and bases are missing while halves of the history are"
        )
        assert sorted(found) == sorted(expected), f"reports {name} {moment}: {differences(set(expected), found)}"


def _assert_copies(project: Consumer, raw: Raw, last_batch: int, moment: str, *, is_rebuilt: bool = False) -> None:
    """All changes that a user's model has taken in, one after the other, come to the state."""
    for proof in PROOFS:
        name = proof.entry.name
        if name not in COPIES or (not is_rebuilt and (last_batch, name) == FAILING_COPY):
            continue
        copy, columns = f"{project.schema}.copy_{name}", ", ".join(proof.entry_in(last_batch).columns)
        ((rows, changes),) = raw.query(
            f"select count(*), count(distinct struct(_batch_id, {', '.join(KEY)})) from {copy}"
        )
        assert rows == changes > 0, f"changes of {name} {moment}: a key is there twice"
        copied = raw.query(f"select {columns}, _is_deleted from ({COPIED.format(copy)})")
        found = [row[:-1] for row in copied if not row[-1]]
        expected = expected_state(proof.rebuilt_table() if is_rebuilt else proof.table(proof.rows, last_batch))
        assert len(found) == len(set(found)), f"copy of {name} {moment}"
        assert set(found) == expected, f"copy of {name} {moment}: {differences(expected, found)}"
        if COPIES[name] == "kept":
            kept = set(raw.query(f"select {columns}, _is_deleted from {project.schema}.kept_feed__{name}"))
            assert kept <= set(copied), f"copy of {name} {moment}: {differences(kept, copied)}"


def test_state_and_history_are_functions_of_the_set_of_changes(
    project: Consumer, raw: Raw, consumer: Callable[[str], Consumer]
) -> None:
    scratch = consumer("smallest_history")
    for proof in PROOFS:
        raw.create(f"{project.schema}_raw.{proof.entry.name}", proof.raw_columns)
    raw.create(f"{project.schema}_raw.loaded", COLUMNS)
    for batch in range(1, BATCHES + 1):
        loaded = _load(project, raw, LOADS, batch)
        _build_batch(project, raw, [(proof, proof.rows) for proof in PROOFS], batch, loaded)
        _assert_models(project, raw, batch, f"after batch {batch}", scratch)
        _assert_copies(project, raw, batch, f"after batch {batch}")

    names = [proof.entry.name for proof in PROOFS]
    for model in ("history_feed__full", "history_feed__partial", "history_feed__messages"):
        assert "_batch_id > '" in project.compiled(model), "a first run"
    states = [f"{project.schema}.{kind}_feed__{name}__state" for kind in KINDS for name in names]
    # where copies of purged transactions wait, a run reads again what comes after them, and more waits
    states += [f"{project.schema}.dedup_feed__{proof.entry.name}__state" for proof in OF_CHANGE_ROWS]
    versions = [raw.version(table) for table in states]
    logged = {name: raw.query(LOG.format(project.schema, name)) for name in names}
    project.dbt("run", "--exclude", *VIEWS, *loaded)
    assert [raw.version(table) for table in states] == versions, "a build with nothing new has written"

    table = expected_table(PROOFS[0].rows)
    for name, expected in (("then", expected_rows_at(table, THEN)), ("now", expected_state(table))):
        found = raw.query(f"select {', '.join(COLUMNS)} from {project.schema}.as_of_{name}")
        assert len(found) == len(expected) > 0
        assert set(found) == expected, f"as of {name}: {differences(expected, found)}"
    for proof in OF_CHANGE_ROWS:
        name = proof.entry.name
        expected = expected_rows_at_bounds(expected_table(proof.rows))
        moment = "date_format(moment, 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
        found = raw.query(f"select {moment}, {', '.join(COLUMNS)} from {project.schema}.at_bounds_{name}")
        assert len(found) == len(expected) > 0, name
        assert set(found) == expected, f"at the bounds of {name}: {differences(expected, found)}"

    loaded[1] = json.dumps(json.loads(loaded[1]) | {"change_tables_allow_loss": True})
    copies = [f"copy_{name}" for name in COPIES]
    project.dbt("run", "--full-refresh", "--exclude", *VIEWS, *copies, *loaded)
    _assert_models(project, raw, BATCHES, "after a full refresh", scratch, is_rebuilt=True)
    project.dbt("run", "--select", *copies, *loaded)
    _assert_copies(project, raw, BATCHES, "after a full refresh", is_rebuilt=True)
    for proof in OF_CHANGE_ROWS:  # of the messages, some are lost
        name = proof.entry.name
        after = raw.query(LOG.format(project.schema, name))
        assert sorted(map(repr, after)) == sorted(map(repr, logged[name])), f"{name}: the rebuilt log differs"
