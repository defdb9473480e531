"""Positions, sequences and record ids that start again: runs stop and write nothing; what they say helps."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from . import idm_cases, openedge_cases, trail_cases
from .consumer import Consumer, Entry
from .idm_cases import DELETE as DELETE_ROW
from .idm_cases import INSERT_FIELD, event
from .landing import Raw
from .openedge_cases import AFTER, CREATE, Feed
from .trail_cases import FIRST, INSERT, LAST, ONLY, UPDATE, Trail

pytestmark = pytest.mark.slow

SCHEMA = "numbers_used_again"
COLUMNS = {"id": "bigint", "name": "string"}
LATER = trail_cases.AT + dt.timedelta(days=1)
TABLE_NUMBER = 12
ACCOUNTED = {"dedup": ["change_tables.raw_rows_accounted_for"]}
TRAIL = trail_cases.SPEC
OPENEDGE = openedge_cases.SPEC | {"source_table_number": TABLE_NUMBER}
EVENTS = idm_cases.SPEC


def _openedge(name: str, **settings: Any) -> Entry:
    return Entry(name, OPENEDGE | settings, COLUMNS, identifier="customers")


ENTRIES = [
    Entry("trail", TRAIL, COLUMNS, tests=ACCOUNTED),
    Entry("names", TRAIL, COLUMNS),
    _openedge("customers"),
    _openedge("arriving", arrival="landed"),
    Entry("events", EVENTS, COLUMNS),
]
NAMES = [entry.name for entry in ENTRIES]


class Lake:
    """The project of these tests and its raw tables."""

    def __init__(self, project: Consumer, raw: Raw) -> None:
        self.project = project
        self.raw = raw

    def land(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Land rows in a raw table."""
        self.raw.insert(f"{SCHEMA}_raw.{table}", rows)

    def land_openedge(
        self, at: dt.datetime, transaction: int, landed: int, *changes: tuple[int, int, int, str]
    ) -> None:
        """Land changes, each (operation, sequence, id, name), with their tracking rows."""
        feed = Feed(TABLE_NUMBER)
        for operation, sequence, id_, name in changes:
            feed.change(operation, sequence, id_, name, transaction=transaction)
            told: dict[str, Any] = {"_Tran-Id": transaction, "_Time-Stamp": at}
            feed.track(operation, sequence, **told)
        self.land("customers", [[row[0], at, *row[2:9], landed] for row in feed.changes[0]])
        self.land("tracking", feed.tracking[0])

    def run(self, *options: str, entries: Sequence[str] = (), must_succeed: bool = True) -> str:
        """Run logs and current models, of these entries; what dbt says went wrong."""
        models = [f"{kind}_feed__{entry}" for kind in ("dedup", "current") for entry in entries or NAMES]
        return self.project.errors(self.project.dbt("run", "--select", *models, *options, must_succeed=must_succeed))

    def is_accounted_for(self) -> bool:
        """Whether the data test of the trail's log passes."""
        return bool(self.project.dbt("test", "--select", "dedup_feed__trail", must_succeed=False).success)

    def current(self) -> dict[str, set[tuple[Any, ...]]]:
        """The rows of each current model."""
        return {name: set(self.raw.query(f"select id, name from {SCHEMA}.current_feed__{name}")) for name in NAMES}

    def logged(self) -> dict[str, int]:
        """How many changes each log has."""
        queries = (f"select '{name}', count(*) from {SCHEMA}.dedup_feed__{name}" for name in NAMES)
        return {name: int(number) for name, number in self.raw.query(" union all ".join(queries))}

    def reported(self, entry: str) -> list[tuple[Any, ...]]:
        """The reports of an entry."""
        return sorted(self.raw.query(f"select _change_id, code from {SCHEMA}.dedup_feed__{entry}__reports"))

    def declare(self, trail_order: list[str] | None = None) -> None:
        """Write the project, with this order of trails."""
        names = Entry("names", TRAIL | {"trail_order": trail_order}, COLUMNS)
        self.project.write([names if entry.name == "names" else entry for entry in ENTRIES], ["tracking"])


def _trail(name: str, file: int, at: dt.datetime, csn: int, *records: tuple[int, int, str]) -> list[list[Any]]:
    """Records of a file of a trail, each (io_type, id, name), a transaction each, from rba 100 on."""
    trail = Trail(name)
    trail.seqno, trail.rba = file, 0
    return [
        trail.record(
            io_type,
            ONLY,
            {"id": str(id_), "name": text},
            io_time=at,
            tokens={"LOGCSN": str(csn + number), "TRANID": f"{csn + number}.1"},
        )
        for number, (io_type, id_, text) in enumerate(records)
    ]


@pytest.fixture(scope="module")
def lake(consumer: Callable[[str], Consumer], raw: Raw) -> Lake:
    """Tables after their first run, of which each has landed rows under numbers that it had before."""
    lake = Lake(consumer(SCHEMA), raw)
    lake.declare()
    raw.create(f"{SCHEMA}_raw.trail", trail_cases.RECORD, "delta")
    raw.create(f"{SCHEMA}_raw.names", trail_cases.RECORD, "delta")
    raw.create(f"{SCHEMA}_raw.customers", openedge_cases.HEADERS | COLUMNS | {"landed": "int"}, "delta")
    raw.create(f"{SCHEMA}_raw.tracking", openedge_cases.TRACKING, "delta")
    raw.create(f"{SCHEMA}_raw.events", idm_cases.EVENT, "delta")
    first = _trail("lt", 7, trail_cases.AT, 1000, (INSERT, 1, "a"))
    lake.land("trail", first)
    lake.land("names", first)
    lake.land_openedge(openedge_cases.AT, 7, 1, (CREATE, 1, 1, "a"), (AFTER, 2, 1, "b"))
    lake.land("events", [event(number, INSERT_FIELD, f"id={number}", "name", new="a") for number in (1, 2)])
    lake.project.dbt("seed")
    lake.project.dbt("run", "--exclude", "rejected", "reported")
    lake.land("trail", _trail("lt", 0, LATER, 2000, (INSERT, 2, "b"), (UPDATE, 1, "z")))
    lake.land("names", _trail("aa", 0, LATER, 2000, (UPDATE, 1, "z")))
    lake.land_openedge(LATER, 9, 2, (AFTER, 1, 3, "x"), (CREATE, 2, 2, "x"))
    new = [event(1, INSERT_FIELD, "id=3", "name", new="c"), event(2, DELETE_ROW, "id=1")]
    lake.land("events", [[LATER if value == idm_cases.AT else value for value in row] for row in new])
    return lake


BEFORE = {
    "trail": {(1, "a")},
    "names": {(1, "a")},
    "customers": {(1, "b")},
    "arriving": {(1, "b")},
    "events": {(1, "a"), (2, "a")},
}
LOGGED = {"trail": 1, "names": 2, "customers": 2, "arriving": 2, "events": 2}


def _refusals(said: str) -> dict[str, str]:
    """What is said of changes under one identity: by the log, in what they differ."""
    told = (
        r"change_tables: model 'dedup_feed__(\w+)': source 'feed.\1': changes that differ in (.+?) have landed at one"
    )
    return dict(re.findall(told + r" _change_id: \S+ The numbers have started again", said))


OPENEDGE_AND_EVENTS = {
    "customers": "_changed_at or _transaction_id",
    "arriving": "_changed_at or _transaction_id",
    "events": "_changed_at",
}


def test_sequences_and_record_ids_that_start_again_stop_the_run_with_a_line_each(
    lake: Lake, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    assert _refusals(lake.run(must_succeed=False)) == OPENEDGE_AND_EVENTS
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("change_tables: model")]
    assert len(lines) == len(OPENEDGE_AND_EVENTS)
    assert _refusals("\n".join(lines)) == OPENEDGE_AND_EVENTS
    assert all(line.endswith("--full-refresh --vars '{change_tables_allow_loss: true}'") for line in lines)
    assert (lake.current(), lake.logged()) == (BEFORE, LOGGED)


def test_a_trail_that_starts_again_fails_the_data_test(lake: Lake) -> None:
    assert not lake.is_accounted_for()


def test_a_trail_whose_name_sorts_before_the_one_that_it_continues_is_reported(lake: Lake) -> None:
    assert lake.reported("names") == [(trail_cases.position(100, "lt", 7), "csn_out_of_order")]


def test_what_the_log_alone_has_stops_the_run_as_well_and_another_order_of_trails_does(lake: Lake) -> None:
    lake.raw.query(f"delete from {SCHEMA}_raw.customers where landed = 1")
    lake.raw.query(f"delete from {SCHEMA}_raw.tracking where `_Tran-Id` = 7")
    lake.raw.query(f"delete from {SCHEMA}_raw.events where event_time <= timestamp'2026-01-31 23:00:00'")
    # the new trail comes to a position that the old one had
    lake.land("trail", _trail("lt", 7, LATER, 3000, (UPDATE, 2, "c")))
    lake.declare(["lt", "aa"])
    said = lake.run("--vars", "{change_tables_rescan: true}", must_succeed=False)
    assert _refusals(said) == OPENEDGE_AND_EVENTS | {"trail": "_changed_at or _csn or _transaction_id"}
    assert "`trail_order`, by which changes are ordered, is ['lt', 'aa'], was null" in said
    assert (lake.current(), lake.logged()) == (BEFORE, LOGGED)


def test_a_full_refresh_of_both_stops_and_leaves_the_log(lake: Lake) -> None:
    said = lake.run("--full-refresh", entries=["trail"], must_succeed=False)
    assert set(_refusals(said)) == {"trail"}
    assert lake.logged()["trail"] == LOGGED["trail"]


def test_new_rows_under_numbers_of_their_own_go_on_where_the_old_ones_end(lake: Lake) -> None:
    lake.raw.query(f"update {SCHEMA}_raw.trail set trail_name = 'lt2' where tokens['LOGCSN'] >= '2000'")
    for table in ("customers", "tracking"):
        lake.raw.query(f"update {SCHEMA}_raw.{table} set `_Change-Sequence` = `_Change-Sequence` + 1000")
    lake.raw.query(f"update {SCHEMA}_raw.events set record_id = record_id + 1000")
    lake.run(entries=["trail", "customers", "arriving", "events"])
    lake.run("--full-refresh", entries=["names"])
    assert lake.current() == {
        "trail": {(1, "z"), (2, "c")},
        "names": {(1, "z")},
        "customers": {(1, "b"), (2, "x"), (3, "x")},
        "arriving": {(1, "b"), (2, "x"), (3, "x")},
        "events": {(2, "a"), (3, "c")},
    }
    assert (lake.reported("trail"), lake.reported("names")) == ([], [])
    assert lake.is_accounted_for()


def test_a_trail_that_is_named_before_it_lands_needs_no_rebuild(lake: Lake) -> None:
    lake.declare(["lt", "aa", "0a"])
    lake.land("names", _trail("0a", 0, LATER, 3000, (INSERT, 2, "c"), (UPDATE, 1, "y")))
    lake.run(entries=["names"])
    sequences = lake.raw.query(f"select _change_seq, _raw_id from {SCHEMA}.dedup_feed__names order by _change_seq")
    trails = [tuple(text.split("/")[0] for text in row) for row in sequences]
    assert trails == [("lt", "lt"), ("lt~001", "aa"), ("lt~002", "0a"), ("lt~002", "0a")]
    assert lake.current()["names"] == {(1, "y"), (2, "c")}


def test_a_rebuild_without_the_old_rows_has_the_new_ones(lake: Lake) -> None:
    entries = ["customers", "events"]
    lake.run("--full-refresh", "--vars", "{change_tables_allow_loss: true}", entries=entries)
    current = lake.current()
    assert [current[name] for name in entries] == [{(2, "x"), (3, "x")}, {(3, "c")}]


@pytest.mark.parametrize(("name", "other"), [("p", "q"), ("q", "p")], ids=["kept_first", "kept_last"])
def test_two_transactions_with_records_at_one_position_stop_the_run(lake: Lake, name: str, other: str) -> None:
    entry = "trail" if name < other else "names"
    before = lake.logged()[entry]
    trail = Trail("zz")
    tokens = [{"LOGCSN": csn, "TRANID": f"{csn}.1"} for csn in ("9001", "9002")]
    first = trail.record(INSERT, FIRST, {"id": "7", "name": "first"}, tokens=tokens[0])
    last = trail.record(INSERT, LAST, {"id": "8", "name": name})
    alone = trail.record(INSERT, ONLY, {"id": "9", "name": other}, tokens=tokens[1])
    lake.land(entry, [first, last, [*alone[:2], last[2], *alone[3:]]])
    assert _refusals(lake.run(entries=[entry], must_succeed=False)) == {entry: "_changed_at or _csn or _transaction_id"}
    assert lake.logged()[entry] == before
