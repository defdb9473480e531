"""Raw tables without a column that says what is new: their commits and files do (`arrival: files`)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.table_format import HAS_TABLES_OF_FILES, PURGE, TABLE_FORMAT, TELLS_COMMITS, only_on_delta

from .consumer import Consumer, Entry
from .landing import Raw
from .qlik_cases import COLUMNS, SPEC, bare

pytestmark = pytest.mark.slow

SCHEMA = "arrival_by_files"
LANDED = {"header__change_seq": "string", "header__change_oper": "string"} | COLUMNS
HOUR = 3600


def _entry(name: str, raw_table: str | None = None, **settings: Any) -> Entry:
    spec = SPEC | {"headers": ["change_seq", "change_oper"]} | settings
    tests = {"dedup": ["change_tables.raw_rows_accounted_for"]}
    return Entry(name, spec, COLUMNS, ("stg", "dedup"), tests, identifier=raw_table)


ENTRIES = [
    _entry("commits"),
    *(
        [_entry("files", arrival="files"), _entry("slow", "files", arrival="files", lookback=0.1)]
        if HAS_TABLES_OF_FILES
        else ()
    ),
    _entry("untracked", arrival="files"),
    _entry("viewed", arrival="files"),
    _entry("looking_back", arrival="files", lookback=1),
]
LOGS = ["commits", "files", "slow"] if HAS_TABLES_OF_FILES else ["commits"]
of_files = only_on_delta("on an Iceberg server every table is one of Iceberg")


@dataclass
class Lake:
    """The project of these tests and its raw tables."""

    project: Consumer
    raw: Raw
    landed: int = 0
    seen: dict[str, int] = field(default_factory=dict)

    def create_tracked(self, table: str) -> None:
        """Make a raw table that says with which commit a row came."""
        columns = ", ".join(f"{name} {data_type}" for name, data_type in LANDED.items())
        self.raw.query(
            f"create table {SCHEMA}_raw.{table} ({columns}) using {TABLE_FORMAT} tblproperties ({TELLS_COMMITS})"
        )

    def land(self, table: str, *ids: int) -> None:
        """Land an insert of each id by a commit of its own, which is a file."""
        for id_ in ids:
            self.landed += 1
            self.raw.insert(f"{SCHEMA}_raw.{table}", [bare(self.landed, "I", id_, "new", None)])

    def files(self) -> list[Path]:
        """The files of the raw table of files, as they were written."""
        described = dict(row[:2] for row in self.raw.query(f"describe extended {SCHEMA}_raw.files"))
        return sorted(Path(described["Location"].removeprefix("file:")).glob("*.parquet"), key=os.path.getmtime)

    def run(self, *logs: str, must_succeed: bool = True) -> str:
        """Run these logs; what dbt says went wrong."""
        models = [f"dedup_feed__{log}" for log in logs or LOGS]
        return self.project.errors(self.project.dbt("run", "--select", *models, must_succeed=must_succeed))

    def ids(self, log: str) -> list[int]:
        """The ids in a log."""
        return sorted(id_ for (id_,) in self.raw.query(f"select id from {SCHEMA}.dedup_feed__{log}"))

    def read(self, log: str) -> int:
        """How many raw rows the last run of a log has read; none where it wrote nothing since the last call."""
        table = f"{SCHEMA}.dedup_feed__{log}__state"
        version = self.raw.version(table)
        if self.seen.get(log) == version:
            return 0
        self.seen[log] = version
        checkpoint = self.raw.query(
            f"select max_by(_checkpoint, get_json_object(_checkpoint, '$.batch')) from {table}"
        )[0][0]
        return int(json.loads(checkpoint)["facts"]["raw_rows"])


@pytest.fixture(scope="module")
def lake(consumer: Callable[[str], Consumer], raw: Raw) -> Lake:
    """Three rows in each raw table, and the logs after their first run."""
    lake = Lake(consumer(SCHEMA), raw)
    lake.project.write(ENTRIES)
    schema = f"{SCHEMA}_raw"
    for table, landed_as in {"files": "parquet", "untracked": "delta", "viewed": "view"}.items():
        raw.create(f"{schema}.{table}", LANDED, landed_as)
    for table in ("commits", "looking_back"):
        lake.create_tracked(table)
    lake.land("commits", 1, 2, 3)
    if HAS_TABLES_OF_FILES:
        lake.land("files", 1, 2, 3)
    lake.run()
    for log in LOGS:
        assert (lake.ids(log), lake.read(log)) == ([1, 2, 3], 3)
    return lake


def test_a_run_reads_the_commits_and_files_since_the_last_one(lake: Lake) -> None:
    tables = [log for log in LOGS if log != "slow"]
    lake.run()
    assert [lake.read(log) for log in tables] == [0 for _ in tables]
    for table in tables:
        lake.land(table, 4, 5)
    lake.run()
    assert [lake.ids(log) for log in LOGS] == [[1, 2, 3, 4, 5] for _ in LOGS]
    assert [lake.read(log) for log in tables] == [2 for _ in tables]
    lake.project.dbt("test", "--select", *(f"dedup_feed__{log}" for log in tables))
    code, said, complained = lake.project.command("purge", "--include", "commits")
    assert (code, complained) == (0, "")
    assert "reads by commits, and a delete takes no condition on these: have `arrival` name a column" in said


def test_rows_that_a_commit_moves_are_not_new_and_rows_that_it_changes_are(lake: Lake) -> None:
    table = f"{SCHEMA}_raw.commits"
    lake.raw.compact(table)
    lake.raw.query(f"delete from {table} where id = 1")
    lake.run("commits")
    assert lake.read("commits") == 0
    lake.raw.query(f"update {table} set header__change_oper = 'D' where id = 2")
    lake.land("commits", 6)
    lake.run("commits")
    assert lake.read("commits") == 2


def test_a_version_that_is_restored_takes_nothing_back_and_what_lands_then_is_read(lake: Lake) -> None:
    table = f"{SCHEMA}_raw.commits"
    lake.land("commits", 7)
    lake.run("commits")
    lake.raw.restore(table, lake.raw.version(table) - 1)
    lake.land("commits", 8)
    lake.run("commits")
    assert {7, 8} <= set(lake.ids("commits"))


def test_a_table_that_was_made_again_is_read_from_its_first_commit(lake: Lake) -> None:
    lake.raw.query(f"drop table {SCHEMA}_raw.commits{PURGE}")
    lake.create_tracked("commits")
    lake.land("commits", 20, 21)
    lake.run("commits")
    assert {8, 20, 21} <= set(lake.ids("commits"))


@of_files
def test_files_of_one_time_are_read_whenever_they_are_seen(lake: Lake) -> None:
    lake.land("files", 11, 12)
    first, second = lake.files()[-2:]
    os.utime(first, (second.stat().st_atime, second.stat().st_mtime))
    hidden = first.rename(first.with_name(f"_{first.name}"))
    lake.run("files")
    assert 12 in lake.ids("files")
    assert 11 not in lake.ids("files")
    hidden.rename(first)
    lake.run("files")
    assert {11, 12} <= set(lake.ids("files"))


@of_files
def test_a_file_that_becomes_visible_late_is_read_where_lookback_reaches_it(lake: Lake) -> None:
    lake.land("files", 13)
    late = lake.files()[-1]
    os.utime(late, (late.stat().st_atime, late.stat().st_mtime - HOUR))
    lake.run("files", "slow")
    assert 13 in lake.ids("slow")
    assert 13 not in lake.ids("files")


@of_files
def test_files_that_are_written_anew_are_read_again_and_change_nothing(lake: Lake) -> None:
    table = f"{SCHEMA}_raw.files"
    before = lake.ids("slow")
    lake.raw.query(f"create table {SCHEMA}_raw.copied using parquet as select * from {table}")
    lake.raw.query(f"insert overwrite {table} select /*+ coalesce(1) */ * from {SCHEMA}_raw.copied")
    lake.run("files", "slow")
    assert lake.ids("files") == lake.ids("slow") == before


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (
            "untracked",
            f"needs (row tracking|format version 3), which .*untracked has not: alter table .*{TELLS_COMMITS}",
        ),
        ("viewed", "and .*viewed is a view: name a column"),
        ("looking_back", "`lookback` must be left out: no commit of a table lands late, got 1"),
    ],
)
def test_a_table_that_does_not_say_what_is_new_is_refused(lake: Lake, log: str, message: str) -> None:
    assert re.search(message, lake.run(log, must_succeed=False))
