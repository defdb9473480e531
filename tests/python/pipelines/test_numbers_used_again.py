"""Positions, sequences and record ids that begin anew: runs stop and write nothing; what they say helps."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from . import idm_cases, openedge_cases, trail_cases
from .consumer import Consumer, Entry
from .idm_cases import DELETE as DELETE_ROW
from .idm_cases import INSERT_FIELD, event
from .landing import Raw
from .openedge_cases import AFTER, CREATE, Feed
from .trail_cases import INSERT, ONLY, UPDATE, Trail

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
ALLOW_LOSS = ("--full-refresh", "--vars", "{change_tables_allow_loss: true}")
RESCAN = ("--vars", "{change_tables_rescan: true}")


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
            feed.track(operation, sequence, **{"_Tran-Id": transaction, "_Time-Stamp": at})
        self.land("customers", [[row[0], at, *row[2:9], landed] for row in feed.changes[0]])
        self.land("tracking", feed.tracking[0])

    def build(self, entry: str, *options: str) -> None:
        """Build the models of an entry."""
        self.project.dbt("run", "--select", f"stg_feed__{entry}+", "--exclude", "rejected", "reported", *options)

    def refusal(self, entry: str, *options: str) -> str:
        """What a run of its log says that must fail."""
        return self.project.errors(
            self.project.dbt("run", "--select", f"dedup_feed__{entry}", *options, must_succeed=False)
        )

    def current(self, entry: str) -> set[tuple[Any, ...]]:
        """The rows of its current model."""
        return set(self.raw.query(f"select id, name from {SCHEMA}.current_feed__{entry}"))

    def logged(self, entry: str) -> int:
        """How many changes its log has."""
        ((number,),) = self.raw.query(f"select count(*) from {SCHEMA}.dedup_feed__{entry}")
        return int(number)

    def reported(self, entry: str) -> list[tuple[Any, ...]]:
        """Its reports."""
        return sorted(self.raw.query(f"select _change_id, code from {SCHEMA}.dedup_feed__{entry}__reports"))


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
    """Tables after their first run."""
    project = consumer(SCHEMA)
    project.write(ENTRIES, ["tracking"])
    lake = Lake(project, raw)
    landed = dict.fromkeys(openedge_cases.LANDED, "string") | COLUMNS
    raw.create(f"{SCHEMA}_raw.trail", trail_cases.RECORD, "delta")
    raw.create(f"{SCHEMA}_raw.names", trail_cases.RECORD, "delta")
    raw.create(
        f"{SCHEMA}_raw.customers",
        openedge_cases.HEADERS | {name: landed[name] for name in ("id", "name")} | {"landed": "int"},
        "delta",
    )
    raw.create(f"{SCHEMA}_raw.tracking", openedge_cases.TRACKING, "delta")
    raw.create(f"{SCHEMA}_raw.events", idm_cases.EVENT, "delta")
    lake.land("trail", _trail("lt", 7, trail_cases.AT, 1000, (INSERT, 1, "a")))
    lake.land("names", _trail("lt", 7, trail_cases.AT, 1000, (INSERT, 1, "a")))
    lake.land_openedge(openedge_cases.AT, 7, 1, (CREATE, 1, 1, "a"), (AFTER, 2, 1, "b"))
    lake.land(
        "events", [event(1, INSERT_FIELD, "id=1", "name", new="a"), event(2, INSERT_FIELD, "id=2", "name", new="b")]
    )
    project.dbt("build")
    return lake


def _told(log: str, differs: str, place: str) -> str:
    return (
        f"change_tables: model 'dedup_feed__{log}': source 'feed.{log}': changes that differ in {differs} have landed"
        f" at one _change_id: {place}. The numbers have begun anew"
    )


def test_a_trail_that_is_begun_anew_is_seen_and_put_in_order_by_its_name(lake: Lake) -> None:
    lake.land("trail", _trail("lt", 0, LATER, 2000, (INSERT, 2, "b"), (UPDATE, 1, "z")))
    lake.build("trail")
    assert lake.current("trail") == {(1, "a")}
    # what a rescan makes of it is in the wrong order, and is reported
    assert not lake.project.dbt("test", "--select", "dedup_feed__trail", must_succeed=False).success
    lake.build("trail", *RESCAN)
    assert lake.current("trail") == {(1, "a"), (2, "b")}
    assert lake.reported("trail") == [(trail_cases.position(100, "lt", 7), "csn_out_of_order")]
    # the new trail comes to a place that the old one had
    lake.land("trail", _trail("lt", 7, LATER, 3000, (UPDATE, 2, "c")))
    assert not lake.project.dbt("test", "--select", "dedup_feed__trail", must_succeed=False).success
    told = _told("trail", "_changed_at or _csn or _transaction_id", trail_cases.position(100, "lt", 7))
    for options in (RESCAN, ("--full-refresh",)):
        assert told in lake.refusal("trail", *options)
    assert lake.logged("trail") == 3
    assert lake.current("trail") == {(1, "a"), (2, "b")}
    # the new rows get a name of their own
    lake.raw.query(f"update {SCHEMA}_raw.trail set trail_name = 'lt2' where tokens['LOGCSN'] >= '2000'")
    lake.build("trail", *ALLOW_LOSS)
    assert lake.current("trail") == {(1, "z"), (2, "c")}
    assert lake.reported("trail") == []
    lake.project.dbt("test", "--select", "dedup_feed__trail")


def test_a_trail_whose_name_sorts_lower_goes_on_where_the_order_of_trails_says_so(lake: Lake) -> None:
    second = _trail("aa", 0, LATER, 2000, (UPDATE, 1, "z"), (INSERT, 2, "b"))
    lake.land("names", second[:1])
    lake.build("names")
    assert lake.current("names") == {(1, "a")}
    assert lake.reported("names") == [(trail_cases.position(100, "lt", 7), "csn_out_of_order")]
    lake.project.write(
        [*ENTRIES[:1], Entry("names", TRAIL | {"trail_order": ["lt", "aa"]}, COLUMNS), *ENTRIES[2:]], ["tracking"]
    )
    assert "`trail_order`, by which changes are ordered, is ['lt', 'aa'], was null" in lake.refusal("names")
    lake.build("names", "--full-refresh")
    assert lake.current("names") == {(1, "z")}
    assert lake.reported("names") == []
    # a trail that is named before it lands needs no rebuild
    lake.project.write(
        [*ENTRIES[:1], Entry("names", TRAIL | {"trail_order": ["lt", "aa", "0a"]}, COLUMNS), *ENTRIES[2:]], ["tracking"]
    )
    lake.land("names", second[1:])
    lake.land("names", _trail("0a", 0, LATER, 3000, (UPDATE, 2, "c"), (UPDATE, 1, "y")))
    lake.build("names")
    assert lake.current("names") == {(1, "y"), (2, "c")}
    sequences = lake.raw.query(f"select _change_seq, _raw_id from {SCHEMA}.dedup_feed__names order by _change_seq")
    assert [tuple(text.split("/")[0] for text in row) for row in sequences] == [
        ("lt", "lt"), ("lt~001", "aa"), ("lt~001", "aa"), ("lt~002", "0a"), ("lt~002", "0a"),
    ]  # fmt: skip
    lake.build("names", "--full-refresh")
    assert lake.current("names") == {(1, "y"), (2, "c")}


def test_sequences_of_openedge_that_begin_anew_stop_the_run(lake: Lake) -> None:
    lake.land_openedge(LATER, 9, 2, (AFTER, 1, 3, "x"), (CREATE, 2, 2, "x"))
    for entry in ("customers", "arriving"):
        refused = lake.refusal(entry)
        assert any(
            _told(entry, "_changed_at or _transaction_id", openedge_cases.seq(number)) in refused for number in (1, 2)
        )
        assert lake.logged(entry) == 2
        assert lake.current(entry) == {(1, "b")}
    # the old rows were purged: only the log has them
    lake.raw.query(f"delete from {SCHEMA}_raw.customers where landed = 1")
    lake.raw.query(f"delete from {SCHEMA}_raw.tracking where `_Tran-Id` = 7")
    for entry in ("customers", "arriving"):
        refused = lake.refusal(entry)
        assert any(
            _told(entry, "_changed_at or _transaction_id", openedge_cases.seq(number)) in refused for number in (1, 2)
        )
        assert lake.logged(entry) == 2
    # the new rows get sequences above the old ones
    for table in ("customers", "tracking"):
        lake.raw.query(f"update {SCHEMA}_raw.{table} set `_Change-Sequence` = `_Change-Sequence` + 1000")
    for entry in ("customers", "arriving"):
        lake.build(entry)
        assert lake.current(entry) == {(1, "b"), (2, "x"), (3, "x")}
        lake.build(entry, *ALLOW_LOSS)
        assert lake.current(entry) == {(2, "x"), (3, "x")}


def test_record_ids_that_begin_anew_stop_the_run_with_a_line(lake: Lake, capfd: pytest.CaptureFixture[str]) -> None:
    lake.land(
        "events",
        [
            event(1, INSERT_FIELD, "id=3", "name", new="c", event_time=LATER),
            event(2, DELETE_ROW, "id=1", event_time=LATER),
        ],
    )
    for options in ((), ("--full-refresh",)):
        capfd.readouterr()
        lake.refusal("events", *options)
        (line,) = [line for line in capfd.readouterr().out.splitlines() if line.startswith("change_tables: ")]
        assert any(line.startswith(_told("events", "_changed_at", idm_cases.change_id(number))) for number in (1, 2))
        assert lake.logged("events") == 2
    assert lake.current("events") == {(1, "a"), (2, "b")}
    lake.raw.query(
        f"update {SCHEMA}_raw.events set record_id = record_id + 1000 where table_key = 'id=3' or event_type = 4"
    )
    lake.build("events")
    assert lake.current("events") == {(2, "b"), (3, "c")}
    lake.build("events", "--full-refresh")
    assert lake.current("events") == {(2, "b"), (3, "c")}
