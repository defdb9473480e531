"""The commands for the life of a lake: what they leave is what the next run takes for its own, wherever they stop."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.table_format import PURGE, TABLE_FORMAT, only_on_delta

from .consumer import Consumer, Entry
from .landing import Raw
from .qlik_cases import COLUMNS, WITH_HISTORY, bare
from .statements import intercepted

pytestmark = pytest.mark.slow

SCHEMA = "upkeep"
LANDED = {"header__change_seq": "string", "header__change_oper": "string"} | COLUMNS | {"landed": "int"}
WRITTEN = {kind: [{"change_tables.rows_as_written": {"name": f"written_{kind}"}}] for kind in WITH_HISTORY[1:]}
TIMED_ACCOUNTED = {"change_tables.raw_rows_accounted_for": {"name": "accounted_timed"}}
ACCOUNTED = {"change_tables.raw_rows_accounted_for": {"name": "accounted_orders"}}
MODELS = [f"{kind}_feed__orders" for kind in WITH_HISTORY[1:]]
LOG = "dedup_feed__orders__state"
TABLES = [*(f"{model}__state" for model in MODELS), "dedup_feed__orders__quarantine", "change_table_runs"]
LISTS = ("rejected", "reported")
WORDS = "optimize|vacuum|call|merge|drop|delete|alter|insert|update"
CHANGES = re.compile(rf"^\s*({WORDS})\b", re.IGNORECASE | re.MULTILINE)
"""Of a statement that changes something, the first word of a line."""


def _spec(arrival: str = "landed") -> dict[str, Any]:
    """Settings of an entry, as objects of its own: YAML would refer to what two entries share."""
    return {
        "format": "qlik_change_tables",
        "key": ["id"],
        "headers": ["change_seq", "change_oper"],
        "arrival": arrival,
    }


class Lake:
    """A project with one table, its server, and the commands on it."""

    def __init__(self, project: Consumer, raw: Raw) -> None:
        self.project, self.raw, self.command = project, raw, project.command

    def land(self, number: int) -> None:
        """Land a batch: ten inserts, an update of a row before them, and a row that cannot be used."""
        rows = [bare(100 * number + place, "I", 10 * number + place, f"new {number}", None) for place in range(10)]
        rows += [bare(100 * number + 50, "U", 10 * number - 5, f"then {number}", None)] if number else []
        self.raw.insert(
            f"{SCHEMA}_raw.orders", [[*row, number] for row in [*rows, bare(100 * number + 60, "?", 1, "", None)]]
        )

    def build(self, *options: str, table: str = "orders") -> None:
        """Run the models of a table, without those that list tables: they read logs that nothing here builds."""
        self.project.dbt("run", "--select", f"dedup_feed__{table}+", "--exclude", *LISTS, *options)

    def test(self) -> None:
        """Run the data tests of the table."""
        self.project.dbt("test", "--select", "stg_feed__orders+")

    def raw_rows(self, table: str = "orders") -> list[tuple[Any, ...]]:
        """Arrival and operation of the rows of a raw table."""
        return sorted(self.raw.query(f"select landed, header__change_oper from {SCHEMA}_raw.{table}"))

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """What the models show."""
        shown = {model: f"select * from {SCHEMA}.{model}" for model in MODELS}
        shown["quarantine"] = (
            f"select {self.raw.row_id}, _status, _equal_rows from {SCHEMA}.dedup_feed__orders__quarantine"
        )
        return {name: sorted(self.raw.query(query), key=str) for name, query in shown.items()}

    def files(self) -> dict[str, int]:
        """The live files of each table."""
        return {table: self.raw.live_files(f"{SCHEMA}.{table}") for table in TABLES}

    def parquet_files(self, table: str) -> int:
        """The files in the folder of a table, live or not."""
        folder = self.raw.folder(f"{SCHEMA}.{table}")
        return sum("_delta_log" not in path.parts for path in folder.rglob("*.parquet"))

    def tables(self) -> set[str]:
        """The tables and views that are there."""
        return self.raw.relations(SCHEMA)

    def versions(self) -> list[int]:
        """The last commit of each table."""
        return [self.raw.version(f"{SCHEMA}.{table}") for table in TABLES]


@contextmanager
def stopped_after(number: int) -> Iterator[list[str]]:
    """Let dbt send so many statements that change something, and die at the next one; those that it sent."""
    sent: list[str] = []

    def rule(sql: str) -> str:
        if CHANGES.search(sql):
            if len(sent) == number:
                raise RuntimeError("killed")
            sent.append(sql)
        return sql

    with intercepted(rule):
        yield sent


@pytest.fixture(scope="module")
def built(consumer: Callable[[str], Consumer], raw: Raw) -> Consumer:
    """A project of which nothing is built."""
    project = consumer(SCHEMA)
    project.variables = {}
    tests = WRITTEN | {"dedup": [*WRITTEN["dedup"], ACCOUNTED]}
    project.write(
        [
            Entry("orders", _spec(), COLUMNS, WITH_HISTORY, tests),
            Entry("timed", _spec(), COLUMNS, ("stg", "dedup"), {"dedup": [TIMED_ACCOUNTED]}),
            Entry("plain", _spec("none"), COLUMNS, ("stg", "dedup")),
            Entry("shared_by_two", _spec(), COLUMNS, ("stg",), identifier="timed_of_two"),
        ]
    )
    for name, landed in (("orders", "int"), ("timed", "timestamp"), ("plain", "int"), ("timed_of_two", "int")):
        raw.create(f"{SCHEMA}_raw.{name}", LANDED | {"landed": landed}, "delta")
    return project


@pytest.fixture
def lake(built: Consumer, raw: Raw) -> Lake:
    """The lake of all tests here, each of which goes on where the one before has left it."""
    return Lake(built, raw)


def test_maintained_tables_are_few_files_with_the_same_rows_and_the_next_run_goes_on(lake: Lake) -> None:
    lake.project.write_profile({"spark.sql.files.maxRecordsPerFile": "1"})  # as many small batches leave them
    for number in range(2):
        lake.land(number)
        lake.build()
    lake.project.write_profile()
    stamps = {"old": "20260101t000000000000_0123abcd", "young": "29990101t000000000000_0123abcd"}
    for stamp in (*stamps.values(), "of_the_user"):
        lake.raw.query(f"create table {SCHEMA}.dedup_feed__orders__batch_{stamp} as select 1 as id")
    rows, versions, files, tables = lake.rows(), lake.versions(), lake.files(), lake.tables()
    assert sum(files.values()) > (40 if TABLE_FORMAT == "delta" else 15)  # Iceberg takes no such setting
    code, said, _ = lake.command("maintain", "--dry-run", "--keep-runs", "0")
    assert code == 0
    assert (lake.versions(), lake.tables()) == (versions, tables)
    assert f"drop table if exists {SCHEMA}.dedup_feed__orders__batch_{stamps['old']}{PURGE};" in said
    compacted = re.escape(f"{SCHEMA}.dedup_feed__orders__state")
    number = files["dedup_feed__orders__state"]
    assert re.search(rf"^ *(optimize|call system.rewrite_data_files).*{compacted}.*; -- {number} files$", said, re.M)
    assert re.search(
        rf"^ *(vacuum|call system.expire_snapshots).*{SCHEMA}.history_feed__orders__state.*; --", said, re.M
    )
    assert "-- 1 rows older than 0.0 days" in said
    code, said, _ = lake.command("maintain")
    assert code == 0
    assert f"1/5 {SCHEMA}.current_feed__orders__state: {files['current_feed__orders__state']} files, now 1\n" in said
    assert max(lake.files().values()) <= 2
    assert tables - lake.tables() == {f"dedup_feed__orders__batch_{stamps['old']}"}
    assert lake.rows() == rows
    versions = lake.versions()
    lake.build()
    assert lake.versions() == versions
    lake.land(2)
    lake.build()
    lake.test()
    assert len(lake.rows()["current_feed__orders"]) == 30


def test_maintain_that_dies_leaves_a_whole_lake(lake: Lake) -> None:
    rows = lake.rows()
    with stopped_after(4) as sent:
        code, _, error = lake.command("maintain", "--keep-runs", "0")
    assert (code, len(sent), "killed" in error) == (1, 4, True)
    assert lake.rows() == rows
    assert lake.command("maintain", "--keep-runs", "0")[0] == 0
    assert lake.raw.query(f"select count(*) from {SCHEMA}.change_table_runs") == [(1,)]
    lake.land(3)
    lake.build()
    lake.test()
    assert len(lake.rows()["current_feed__orders"]) == 40


def test_maintain_deletes_files_of_less_than_seven_days_only_if_it_is_forced(lake: Lake) -> None:
    before = lake.parquet_files(LOG)
    code, _, error = lake.command("maintain", "--retain-days", "1")
    assert (code, error) == (
        1,
        "change_tables: maintain: a retention of less than 7 days deletes files that a run or a reader may still need,"
        " got 1.0; where none is at work, add --force\n",
    )
    assert lake.parquet_files(LOG) == before
    rows = lake.rows()
    assert lake.command("maintain", "--include", "dedup_*", "--retain-days", "0", "--force")[0] == 0
    assert lake.parquet_files(LOG) == 1
    assert lake.rows() == rows
    code, _, error = lake.command("maintain", "--include", "nothing_*")
    assert (code, error) == (1, "change_tables: maintain: no model with a table of this package is named nothing_*\n")


def test_purged_rows_are_those_that_no_log_reads_again_and_the_tests_stay_sharp(lake: Lake) -> None:
    # an update whose before image has landed one arrival earlier
    lake.raw.insert(
        f"{SCHEMA}_raw.orders", [[*bare(450, "B", 5, "then 1", None), 4], [*bare(450, "U", 5, "now", None), 5]]
    )
    lake.build()
    rows, raw_rows = lake.rows(), lake.raw_rows()
    code, said, _ = lake.command("purge", "--include", "orders")
    assert (code, lake.raw_rows()) == (0, raw_rows)
    assert f"left alone: {SCHEMA}.dedup_feed__orders has rejected 4 rows, which only raw can give again" in said
    code, said, _ = lake.command("purge", "--dry-run", "--with-rejected")
    assert (code, lake.raw_rows()) == (0, raw_rows)
    assert f"merge into {SCHEMA}_raw.orders" in said
    assert f"; -- {len(raw_rows) - 2} rows\n" in said
    assert (
        f"{SCHEMA}_raw.plain: left alone: 'feed.plain' has no arrival: its log compares all raw rows in each run"
        in said
    )
    assert f"{SCHEMA}_raw.timed_of_two: left alone: 'feed.shared_by_two' has no log\n" in said
    assert f"left alone: {SCHEMA}.dedup_feed__timed will read all rows: build it first\n" in said
    code, said, _ = lake.command("purge", "--include", "ord*", "--with-rejected")
    assert (code, lake.raw_rows()) == (0, [(4, "B"), (5, "U")])
    assert f"1/1 {SCHEMA}_raw.orders: {len(raw_rows) - 2} rows deleted\n" in said
    assert lake.rows() == rows
    lake.test()
    lake.land(6)
    lake.build()
    lake.test()
    assert len(lake.rows()["current_feed__orders"]) == len(rows["current_feed__orders"]) + 11
    # a row that no run has read, where the log has read for good
    lake.raw.insert(f"{SCHEMA}_raw.orders", [[*bare(40, "I", 9999, "late", None), 1]])
    assert not lake.project.dbt("test", "--select", "accounted_orders", must_succeed=False).success
    code, said, _ = lake.command("purge", "--include", "orders", "--with-rejected")
    assert (
        f"left alone: {SCHEMA}.dedup_feed__orders has counted 2 rows that it has read for good, and 3 are there" in said
    )
    assert (1, "I") in lake.raw_rows()
    lake.build("--vars", "{change_tables_rescan: true}")
    lake.test()
    assert lake.command("purge", "--include", "orders", "--with-rejected")[0] == 0
    assert {landed for landed, _ in lake.raw_rows()} == {6}
    assert any(row[0] == 9999 for row in lake.rows()["current_feed__orders"])


@pytest.mark.parametrize("number", [2, 3])
def test_purge_that_dies_after_any_statement_is_made_good_by_the_next(lake: Lake, number: int) -> None:
    lake.land(7 + number)
    lake.build()
    rows = lake.rows()
    with stopped_after(number) as sent:
        code, _, error = lake.command("purge", "--include", "orders", "--with-rejected")
    assert (code, len(sent), "killed" in error) == (1, number, True)
    was_deleted = number > 1
    assert len({landed for landed, _ in lake.raw_rows()}) == (1 if was_deleted else 2)
    lake.build()
    passes = lake.project.dbt("test", "--select", "accounted_orders", must_succeed=False).success
    assert passes is not was_deleted
    code, _, error = lake.command("purge", "--include", "orders", "--with-rejected")
    assert (code, error) == (0, "")
    assert lake.rows() == rows
    lake.test()


def test_purge_keeps_what_is_younger_than_asked(lake: Lake) -> None:
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    ages = [now - dt.timedelta(days=days) for days in (9, 8, 3, 0)]
    for place, landed in enumerate(ages):
        lake.raw.insert(f"{SCHEMA}_raw.timed", [[*bare(place, "I", place, "a", None), landed]])
    lake.build(table="timed")
    said = lake.command("purge", "--include", "orders", "--older-than", "7")[1]
    assert "left alone: 'feed.orders' has an arrival that is no time, so --older-than says nothing of it\n" in said
    assert lake.command("purge", "--include", "timed", "--older-than", "7")[0] == 0
    assert len(lake.raw_rows("timed")) == 2
    lake.project.dbt("test", "--select", "accounted_timed")
    assert lake.command("purge", "--include", "nothing")[2] == "change_tables: purge: no raw table is named nothing\n"


@only_on_delta("a setting of Delta's")
def test_tables_whose_files_delta_merges_by_itself_are_few_files_and_runs_go_on(lake: Lake) -> None:
    for model in MODELS:
        table = f"{SCHEMA}.{model}__state"
        lake.raw.query(f"alter table {table} set tblproperties ('delta.autoOptimize.autoCompact' = 'true')")
    lake.project.write_profile({"spark.databricks.delta.autoCompact.minNumFiles": "2"})
    for number in (20, 21):
        lake.land(number)
        lake.build()
    lake.project.write_profile()
    files = lake.files()
    assert [files[f"{model}__state"] for model in MODELS] == [1, 1, 2]  # of the history, with what is current apart
    lake.test()
    versions = lake.versions()
    lake.build()
    assert lake.versions() == versions


def test_a_removed_table_has_no_relation_file_or_run_and_the_others_stay(lake: Lake) -> None:
    models = lake.project.folder / "models"
    lake.project.dbt("run", "--select", "stg_feed__timed")
    tables, rows = lake.tables(), lake.rows()
    code, said, _ = lake.command("remove", "timed", "--dry-run")
    assert (code, lake.tables()) == (0, tables)
    assert f"drop table if exists {SCHEMA}.dedup_feed__timed__state{PURGE};" in said
    assert (models / "dedup_feed__timed.sql").exists()
    with stopped_after(2):  # views are gone, tables are there
        assert lake.command("remove", "timed")[0] == 1
    lake.build(table="timed")
    assert lake.command("remove", "timed")[0] == 0
    of_timed = {name for name in tables if "feed__timed" in name}
    assert len(of_timed) == 5
    assert lake.tables() == tables - of_timed
    assert lake.raw.query(f"select distinct log from {SCHEMA}.change_table_runs") == [(f"{SCHEMA}.dedup_feed__orders",)]
    lake.build()
    assert "timed" not in "".join((models / f"{name}.sql").read_text() for name in LISTS)
    assert lake.rows() == rows
    # frozen: the project does not know it any more, and its rows are there
    code, _, error = lake.command("remove", "orders", "--keep-data")
    assert (code, error) == (0, "")
    assert lake.rows() == rows
    assert not list(models.glob("*orders*"))
    assert lake.raw.query(f"select * from {SCHEMA}.change_table_runs") == []
