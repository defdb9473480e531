"""The table of runs has a row for each run of a log that took something in; data tests of a log compare it with raw."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from .consumer import Consumer, Entry
from .kafka_cases import RECORD, Topic, body, metadata, row
from .kafka_cases import SPEC as KAFKA
from .landing import Raw
from .qlik_cases import seq

pytestmark = pytest.mark.slow

SCHEMA = "table_of_runs"
RUNS = f"{SCHEMA}_ops.runs_of_tables"
COLUMNS = {"id": "bigint", "name": "string"}
QLIK = {"format": "qlik_change_tables", "key": ["id"], "headers": ["change_seq", "change_oper", "timestamp"]}
LANDED = {"header__change_seq": "string", "header__change_oper": "string", "header__timestamp": "timestamp"} | COLUMNS
MODELS = ("stg", "dedup")
NOON = dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)


def _tests(name: str) -> dict[str, Any]:
    return {"dedup": [{"change_tables.raw_rows_accounted_for": {"name": f"accounted_{name}"}}]}


ONCE = {"change_tables.accepted_changes_once": {"name": "once_orders"}}
STATES = ("dedup", "current", "history")
WRITTEN = {kind: [{"change_tables.rows_as_written": {"name": f"written_{kind}"}}] for kind in STATES}
ENTRIES = [
    Entry("held", QLIK | {"arrival": "landed"}, COLUMNS, ("stg", *STATES), WRITTEN),
    Entry("orders", QLIK | {"arrival": "landed"}, COLUMNS, MODELS, {"dedup": [*_tests("orders")["dedup"], ONCE]}),
    Entry("read_back", QLIK | {"arrival": "landed", "lookback": 1}, COLUMNS, MODELS, _tests("read_back")),
    Entry("plain", QLIK, COLUMNS, MODELS, _tests("plain")),
    Entry("shop", KAFKA | {"table": "app.shop"}, COLUMNS, MODELS, _tests("shop"), identifier="records"),
]
ARRIVING = {"orders": "bigint", "read_back": "bigint", "plain": None}
"""The type of the arrival of each Qlik change table."""
WITH_ARRIVAL = ("orders", "read_back")
TABLES = (*ARRIVING, "shop")


PARTITIONS = 31
"""Of another topic in the raw table: more than a bound has conditions of."""
HELD = f"{SCHEMA}_raw.held"
"""The table whose models are changed by hand."""
RESCAN = ("--vars", "{change_tables_rescan: true}")


def _logs(tables: Iterable[str]) -> list[str]:
    return [f"dedup_feed__{name}" for name in tables]


def _change(number: int | None, oper: str, id_: int | None, name: str, minutes: int = 0) -> list[Any]:
    sequence = None if number is None else seq(number)
    return [sequence, oper, NOON + dt.timedelta(minutes=minutes), id_, name]


class Feeds:
    """The project of these tests, and its table of runs."""

    def __init__(self, project: Consumer, raw: Raw) -> None:
        self.project = project
        self.raw = raw
        self.topic = Topic("topic")
        self.other_topic = [Topic("other", partition) for partition in range(PARTITIONS)]

    def land(self, rows: list[list[Any]], landed: int, tables: Sequence[str] = tuple(ARRIVING)) -> None:
        """Land rows in these of the Qlik change tables."""
        for name, type_ in ARRIVING.items():
            if name in tables:
                self.raw.insert(f"{SCHEMA}_raw.{name}", [[*row, *([landed] if type_ else [])] for row in rows])

    def land_elsewhere(self) -> None:
        """Land a record of another table in each partition of the other topic."""
        message = body("I", 1, row(9), schema="app", table="other")
        self.raw.insert(f"{SCHEMA}_raw.records", [topic.record(message) for topic in self.other_topic])

    def build(self, *options: str, tables: Sequence[str] = TABLES) -> dict[str, str]:
        """Run the logs of these tables; what dbt says of each."""
        result = self.project.dbt("run", "--select", *_logs(tables), *options)
        return {node.node.name: node.message for node in result.result.results if node.node.resource_type == "model"}

    def runs(self, log: str, columns: str) -> list[tuple[Any, ...]]:
        """These columns of the runs of a log, in turn."""
        return self.raw.query(
            f"select {columns} from {RUNS} where log = '{SCHEMA}.dedup_feed__{log}' order by batch_id"
        )

    def checkpoint(self, log: str) -> dict[str, Any]:
        """The last checkpoint of a log."""
        ((text,),) = self.raw.query(
            "select max_by(_checkpoint, get_json_object(_checkpoint, '$.facts.batch'))"
            f" from {SCHEMA}.dedup_feed__{log}__state where startswith(_checkpoint, '{{')"
        )
        return dict(json.loads(text))

    def failing(self, tables: Sequence[str] = TABLES) -> dict[str, str]:
        """The data tests that fail of these logs and the models after them, and what they say."""
        result = self.project.dbt("test", "--select", *(f"{log}+" for log in _logs(tables)), must_succeed=False)
        found = {}
        for node in result.result.results:
            if node.node.resource_type != "test":
                continue
            assert node.status in ("pass", "fail"), node.message
            if node.status == "fail":
                column = "mistake" if node.node.name.startswith("once") else "what_to_do"
                ((said,),) = self.raw.query(f"select {column} from ({node.node.compiled_code})")
                found[node.node.name] = said
        return found


@pytest.fixture(scope="module")
def feeds(consumer: Callable[[str], Consumer], raw: Raw) -> Feeds:
    """Four tables after their first run."""
    project = consumer(SCHEMA)
    raw.query(f"drop schema if exists {SCHEMA}_ops cascade")
    project.variables = {"change_tables_runs": "runs_of_tables", "change_tables_runs_schema": f"{SCHEMA}_ops"}
    project.write(ENTRIES)
    feeds = Feeds(project, raw)
    for name, type_ in ARRIVING.items():
        raw.create(f"{SCHEMA}_raw.{name}", LANDED | ({"landed": type_} if type_ else {}), "delta")
    feeds.land(
        [
            _change(10, "I", 1, "a"),
            _change(10, "I", 1, "a"),
            _change(20, "B", 1, "a", 5),
            _change(20, "U", 1, "b", 5),
            _change(None, "I", 2, "no sequence"),
            _change(21, "I", None, "no key"),
        ],
        1,
    )
    feeds.land([_change(30, "I", 3, "c", 7)], 2)
    raw.create(HELD, LANDED | {"landed": "bigint"}, "delta")
    raw.insert(HELD, [[*_change(10, "I", 1, "a"), 1], [*_change(20, "I", 2, "b"), 1]])
    raw.create(f"{SCHEMA}_raw.records", RECORD, "delta")
    shop = metadata("one", "shop", ["id", "name"])
    other = body("I", 1, row(9), schema="app", table="other")
    raw.insert(
        f"{SCHEMA}_raw.records",
        feeds.topic.records(shop, body("I", 1, row(1), schema="app", table="shop"), other),
    )
    feeds.land_elsewhere()
    project.dbt("run", "--exclude", "stg_*", "rejected", "reported")  # which nothing here reads
    return feeds


def test_a_first_run_says_what_it_read_and_made_of_it(feeds: Feeds) -> None:
    told = "run_kind, raw_rows, accepted, rejected, waiting, new_changes, revised_changes, settled, settled_rows"
    first = ("first", 7, None, 2, 0, 3, 0)
    # rows at 1 and 2 are read again with a lookback of 1
    for name, settled, rows in (("orders", "2", 6), ("read_back", "2", 0), ("plain", None, 7)):
        assert feeds.runs(name, told) == [(*first, settled, rows)]
    for name in ARRIVING:
        ((codes, span, kept, waiting_since, versions, seconds),) = feeds.runs(
            name,
            "to_json(codes), struct(first_seq, last_seq, first_changed_at, last_changed_at), kept_rejected,"
            " waiting_since, struct(package_version, dbt_version), seconds",
        )
        assert json.loads(codes) == {"rejected: change_seq_missing": 1, "rejected: key_missing": 1}
        assert (kept, waiting_since) == (2, None)
        for text in (seq(10), seq(30), "12:07:00"):
            assert text in span
        assert "1." in versions
        assert seconds > 0
    # the raw table has rows of another table, so its rows are not counted as the entry's; all are below the watermark
    told = "raw_rows, new_changes, settled_rows, first_changed_at"
    assert feeds.runs("shop", told)[0][:3] == (None, 1, 3 + PARTITIONS)
    assert feeds.failing() == {}


def test_a_later_run_says_what_has_landed_by_its_verdicts(feeds: Feeds) -> None:
    feeds.land(
        [
            _change(40, "B", 3, "c", 9),
            _change(40, "U", 3, "d", 9),
            _change(40, "U", 3, "d", 9),
            _change(50, "B", 1, "b", 9),
            _change(41, "?", 4, "unknown", 9),
        ],
        3,
    )
    feeds.raw.insert(
        f"{SCHEMA}_raw.records",
        feeds.topic.records(
            body("U", 2, row(1, "b"), schema="app", table="shop"),
            None,
            body("I", "short", row(2), schema="app", table="shop"),
        ),
    )
    feeds.land_elsewhere()
    feeds.build()
    told = "run_kind, raw_rows, accepted, merged, ignored, rejected, waiting, new_changes"
    assert feeds.runs("orders", told)[1] == ("since", 5, 2, 1, 0, 1, 1, 1)
    assert feeds.runs("plain", told)[1] == ("everything", 12, None, None, None, 3, 1, 1)
    ((codes, *kept, since, started, settled),) = feeds.runs(
        "orders", "to_json(codes), kept_rejected, kept_waiting, waiting_since, started_at, settled"
    )[1:]
    assert json.loads(codes) == {
        "merged: before_image": 1,
        "rejected: unknown_operation": 1,
        "waiting: after_image_missing": 1,
    }
    assert (kept, settled) == ([3, 1], "3")
    assert since == started
    # of the shop's: the change, and the one that is rejected
    told = "run_kind, raw_rows, accepted, rejected, new_changes, kept_rejected, settled_rows"
    assert feeds.runs("shop", told)[1] == ("since", 2, 1, 1, 1, 1, 6 + 2 * PARTITIONS)
    assert feeds.failing() == {}


def test_the_watermark_passes_rows_once_what_they_wait_for_has_landed(feeds: Feeds) -> None:
    # at 3 a row waits, so the watermark has not passed 3; what was skipped and what was read again counts once
    assert feeds.checkpoint("orders")["watermark_rows"] == 7
    feeds.land([_change(60, "I", 6, "f", 10)], 4, WITH_ARRIVAL)
    feeds.build(tables=WITH_ARRIVAL)
    assert feeds.checkpoint("orders")["watermark_rows"] == 7
    feeds.land([_change(50, "U", 1, "after", 9), _change(70, "I", 7, "g", 11)], 5, WITH_ARRIVAL)
    feeds.build(tables=WITH_ARRIVAL)
    feeds.land([_change(80, "I", 8, "h", 12)], 6, WITH_ARRIVAL)
    feeds.build(tables=WITH_ARRIVAL)
    for name, rows in (("orders", 15), ("read_back", 13)):
        checkpoint = feeds.checkpoint(name)
        assert (checkpoint["watermark"][0]["position"], checkpoint["watermark_rows"]) == ([6], rows)
        assert feeds.runs(name, "kept_waiting, waiting_since")[-1] == (0, None)
    assert feeds.failing(WITH_ARRIVAL) == {}


def test_a_run_that_died_before_its_end_is_written_by_the_next_and_what_is_read_again_is_no_surplus(
    feeds: Feeds,
) -> None:
    tables = ("orders", "plain", "shop")
    feeds.land([_change(90, "I", 9, "i", 13)], 7, tables)
    # records at positions that have landed
    records = f"{SCHEMA}_raw.records"
    feeds.raw.query(f"insert into {records} select * from {records} where topic = 'topic' and offset < 2")
    feeds.raw.query(f"create table {RUNS}_before using {feeds.raw.table_format} as select * from {RUNS}")
    assert feeds.build(tables=tables)["dedup_feed__shop"] == "nothing new, 2 passed over"
    feeds.raw.query(f"insert overwrite {RUNS} select * from {RUNS}_before")
    counts = [len(feeds.runs(name, "1")) for name in tables]
    feeds.land([_change(100, "I", 10, "j", 14)], 8, tables)
    # below the watermark, within the lookback
    ((settled,),) = feeds.runs("read_back", "settled")[-1:]
    late = _change(105, "I", 11, "late", 15)
    feeds.raw.insert(f"{SCHEMA}_raw.read_back", [[*late, int(settled) - 1]])
    feeds.build()
    assert [len(feeds.runs(name, "1")) for name in tables] == [counts[0] + 2, counts[1] + 2, 2]
    rows = feeds.runs("orders", "last_seq, seconds is null")
    assert rows[-2:] == [(seq(90), True), (seq(100), False)]
    assert feeds.raw.query(f"select name from {SCHEMA}.dedup_feed__read_back where id = 11") == [("late",)]
    assert feeds.failing() == {}


def test_a_row_that_lands_below_the_watermark_fails_the_test_until_a_rescan(feeds: Feeds) -> None:
    feeds.land([_change(15, "U", 1, "late", 1)], 1)
    late = feeds.topic.records(body("I", 3, row(3), schema="app", table="shop"))
    feeds.raw.insert(f"{SCHEMA}_raw.records", [[*late[0][:2], 0, *late[0][3:5], late[0][5]]])
    written = feeds.raw.version(RUNS)
    told = feeds.build(tables=[*WITH_ARRIVAL, "shop"])
    # two records have landed again before; rows within a lookback are read, so none is counted there
    assert told == {
        "dedup_feed__orders": "nothing new, 1 passed over",
        "dedup_feed__read_back": "nothing new",
        "dedup_feed__shop": "nothing new, 3 passed over",
    }
    assert feeds.raw.version(RUNS) == written
    failing = feeds.failing()
    assert set(failing) == {"accounted_orders", "accounted_read_back", "accounted_shop"}
    for said in failing.values():
        assert "rows have landed at arrivals that were read for good" in said
    is_data = "get_json_object(cast(value as string), '$.headers') is not null"
    feeds.raw.query(f"delete from {SCHEMA}_raw.records where topic = 'topic' and offset = 0 and {is_data}")
    told = feeds.build(*RESCAN)
    assert not [said for said in told.values() if "passed over" in said]
    assert feeds.failing() == {}
    feeds.land([_change(110, "I", 12, "l", 16), _change(16, "U", 1, "late again", 1)], 9, ["orders"])
    told = feeds.build(tables=["orders"])
    assert told["dedup_feed__orders"] == "OK 2 new"
    feeds.land([_change(120, "I", 13, "m", 17)], 10, ["orders"])
    feeds.raw.insert(f"{SCHEMA}_raw.orders", [[*_change(17, "U", 1, "late", 1), 2]] * 2)
    told = feeds.build(tables=["orders"])
    assert told["dedup_feed__orders"] == "OK 1 new, 2 passed over"
    # a run that finds nothing writes no row, nor does one that compares all of raw
    written = feeds.raw.version(RUNS)
    told = feeds.build(tables=["orders", "plain"])
    assert told == {"dedup_feed__orders": "nothing new", "dedup_feed__plain": "nothing new"}
    assert feeds.raw.version(RUNS) == written
    assert set(feeds.failing(["orders"])) == {"accounted_orders"}


def test_rows_without_an_arrival_are_read_and_none_is_passed_over(feeds: Feeds) -> None:
    without = [_change(number, "I", number, "no arrival", 18) for number in (130, 131)]
    feeds.raw.insert(f"{SCHEMA}_raw.orders", [[*change, None] for change in without])
    assert feeds.build(tables=["orders"])["dedup_feed__orders"] == "OK 2 new"
    # one that the log holds is no change of the run
    feeds.land([_change(10, "I", 1, "a"), _change(140, "I", 140, "n", 19)], 11)
    assert feeds.build(tables=tuple(ARRIVING))["dedup_feed__orders"] == "OK 1 new"
    told = "first_seq, last_seq, minute(first_changed_at), minute(last_changed_at), new_changes, revised_changes"
    for name in ARRIVING:
        assert feeds.runs(name, told)[-1] == (seq(140), seq(140), 19, 19, 1, 0)
    feeds.raw.query(f"update {SCHEMA}_raw.orders set landed = 11 where landed is null")
    feeds.build(*RESCAN, tables=["orders"])
    assert feeds.failing(["orders"]) == {}


def test_a_change_whose_contents_conflict_is_counted_by_each_run_that_writes_it(feeds: Feeds) -> None:
    feeds.land([_change(150, "I", 150, name, 20) for name in ("x", "y")], 12)
    assert feeds.build(tables=tuple(ARRIVING))["dedup_feed__orders"] == "OK 1 new, 1 conflicting_content"
    feeds.land([_change(150, "I", 150, "z", 20)], 13)
    assert feeds.build(tables=tuple(ARRIVING))["dedup_feed__orders"] == "OK 0 new, 1 revised, 1 conflicting_content"
    for name in ARRIVING:
        found = feeds.runs(name, "new_changes, revised_changes, to_json(reports)")[-2:]
        assert found == [(1, 0, '{"conflicting_content":1}'), (0, 1, '{"conflicting_content":1}')]


def test_raw_rows_that_are_gone_fail_the_test_until_a_rescan(feeds: Feeds) -> None:
    for name in ARRIVING:
        feeds.raw.query(f"delete from {SCHEMA}_raw.{name} where header__change_seq = '{seq(30)}'")
    failing = feeds.failing()
    assert set(failing) == {"accounted_orders", "accounted_read_back", "accounted_plain"}
    for said in failing.values():
        assert "raw rows are gone that were read" in said
    feeds.build(*RESCAN, tables=tuple(ARRIVING))
    assert feeds.failing() == {}


def test_a_change_that_is_twice_in_the_log_fails_the_test(feeds: Feeds) -> None:
    table = f"{SCHEMA}.dedup_feed__orders__state"
    feeds.raw.query(f"insert into {table} select * from {table} where _change_seq = '{seq(100)}'")
    failing = feeds.failing(["orders"])
    assert failing.pop("once_orders") == "2 times in the log"
    assert set(failing) == {"accounted_orders"}
    assert "something other than its runs has written to the log" in failing["accounted_orders"]
    feeds.build(*RESCAN, tables=["orders"])
    assert set(feeds.failing(["orders"])) == {"once_orders", "accounted_orders"}
    feeds.raw.query(f"delete from {table} where _change_seq in ('{seq(100)}', '{seq(90)}')")
    assert "changes are gone from the log" in feeds.failing(["orders"])["accounted_orders"]
    feeds.build(*RESCAN, tables=["orders"])
    assert feeds.failing(["orders"]) == {}


class Held:
    """The table whose models are changed by hand."""

    def __init__(self, feeds: Feeds) -> None:
        self.feeds = feeds
        self.raw = feeds.raw

    def table(self, kind: str) -> str:
        return f"{SCHEMA}.{kind}_feed__held__state"

    def land(self, number: int, id_: int) -> None:
        self.raw.insert(HELD, [[*_change(number, "I", id_, "new"), number]])

    def build(self, *options: str, must_succeed: bool = True) -> str:
        result = self.feeds.project.dbt(
            "run", "--select", *(f"{kind}_feed__held" for kind in STATES), *options, must_succeed=must_succeed
        )
        return self.feeds.project.errors(result)

    def failing(self) -> dict[str, str]:
        return self.feeds.failing(["held"])

    def ids(self, kind: str) -> list[int]:
        return [id_ for (id_,) in self.raw.query(f"select id from {SCHEMA}.{kind}_feed__held order by id")]

    def are_right(self, count: int) -> None:
        assert [self.ids(kind) for kind in STATES] == [list(range(1, count + 1))] * 3


def test_tables_that_were_changed_by_hand_are_seen_and_made_right(feeds: Feeds) -> None:
    held = Held(feeds)
    held.land(30, 3)
    held.build()
    held.are_right(3)
    current, history, log = (held.table(kind) for kind in ("current", "history", "dedup"))
    # emptied
    held.raw.query(f"delete from {current}")
    held.raw.query(f"truncate table {history}")
    said = held.failing()
    assert set(said) == {"written_current", "written_history"}
    assert all("its table has no checkpoint of a run" in each for each in said.values())
    held.build(*RESCAN)
    held.are_right(3)
    # rows deleted, rows inserted
    held.raw.query(f"delete from {current} where id = 2")
    held.raw.query(f"insert into {history} select * from {history} where id = 1")
    said = held.failing()
    assert "rows are gone that its runs have written" in said["written_current"]
    assert "something other than its runs has written to its table" in said["written_history"]
    held.build("--full-refresh", "--exclude", "dedup_feed__held")
    held.are_right(3)
    assert held.failing() == {}
    # emptied, and a run that has news: it writes nothing, and the next one rebuilds
    held.land(40, 4)
    held.raw.query(f"truncate table {current}")
    assert "this table has lost the checkpoint of its runs" in held.build(must_succeed=False)
    held.build()
    held.are_right(4)
    # set back: a backup of tables that is older than the metastore
    before = [held.raw.version(table) for table in (log, current, history)]
    held.land(50, 5)
    held.build()
    for table, version in zip((log, current, history), before, strict=True):
        held.raw.restore(table, version)
    said = held.failing()
    assert set(said) == {f"written_{kind}" for kind in STATES}
    assert all("its table was set back to an older version" in each for each in said.values())
    held.build(*RESCAN)
    held.are_right(5)
    assert held.failing() == {}
    # a metastore that is older than the tables
    version = held.raw.version(log)
    views = [f"{SCHEMA}.{kind}_feed__held" for kind in STATES]
    properties = [dict(held.raw.query(f"show tblproperties {view}")) for view in views]
    held.land(60, 6)
    held.build()
    for view, known in zip(views, properties, strict=True):
        told = ", ".join(f"'{name}' = '{text}'" for name, text in known.items() if name.startswith("change_tables."))
        held.raw.query(f"alter view {view} set tblproperties ({told})")
    held.build(*RESCAN)
    held.are_right(6)
    # the log alone is set back, and raw was purged: states that are ahead of it stop, until the loss is allowed
    held.raw.restore(log, version)
    held.raw.query(f"delete from {HELD} where landed = 60")
    for options in (RESCAN, ()):
        refused = held.build(*options, must_succeed=False)
        assert refused.count("its log was set back to an older version: ") == 2
        assert refused.count("holds 5 changes, and the log before held 6; build the log with --vars") == 2
    assert [held.ids(kind) for kind in ("current", "history")] == [list(range(1, 7))] * 2
    held.build("--vars", "{change_tables_allow_loss: true}")
    held.are_right(5)
    # an emptied log is not built from what raw has left
    held.raw.query(f"truncate table {log}")
    assert "its table has no checkpoint of a run" in held.failing()["written_dedup"]
    assert "restore it, or rebuild the log" in held.build(*RESCAN, must_succeed=False)
    held.build("--full-refresh")
    held.are_right(5)
    assert held.failing() == {}
