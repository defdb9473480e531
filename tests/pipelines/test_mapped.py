"""Feeds that an entry describes, and the formats made of it: statuses, reasons, and the current rows, row by row."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import yaml

from .cases import Case, Results, assert_rejected, assert_reported, assert_statuses, build_batches
from .consumer import REPOSITORY, Consumer, Entry
from .landing import Raw
from .mapped_cases import CASES as OF_ENTRIES
from .preset_cases import CASES as OF_FORMATS
from .preset_cases import REGISTERED
from .sample_cases import CASES as SAMPLES

SCHEMA = "mapped_pages"
PAGE = (REPOSITORY / "docs/feeds/mapped.md").read_text()


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def _example() -> Case:
    """The example of the page: its entry, and what it says of the raw rows."""
    table = yaml.safe_load(_blocks("yaml")[0])["sources"][0]["tables"][0]
    columns = {column["name"]: column["data_type"] for column in table["columns"]}
    shown = PAGE.split("is then\n\n")[1].split("\n\n")[0].splitlines()[2:]
    rows = {tuple(cell.strip() for cell in line.strip("|").split("|")) for line in shown}
    return Case(
        Entry(table["name"], table["config"]["meta"]["change_table"], columns, ("stg", "dedup", "current")),
        None,
        [[], []],
        {("accepted", None): 5, ("ignored", "operation_ignored"): 1, ("rejected", "unknown_operation"): 1},
        [rows, rows],
        shown="cast(id as string), title, state",
    )


CASES = [*OF_ENTRIES, *OF_FORMATS, *SAMPLES, _example()]


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """A project with all cases."""
    return consumer(SCHEMA)


@pytest.fixture(scope="module")
def results(project: Consumer, raw: Raw) -> Results:
    """The current rows of each table after batch 1, batch 2, and a full refresh, by name of the entry."""
    raw.query(f"create schema {SCHEMA}_raw")
    for statement in _blocks("sql")[0].split(";")[:-1]:
        raw.query(statement.replace("raw.", f"{SCHEMA}_raw."))
    registry = f"{SCHEMA}_raw.registry"
    raw.create(registry, {"id": "bigint", "schema": "string"})
    return build_batches(
        project, raw, CASES, ["registry"], land_besides=lambda number: raw.insert(registry, REGISTERED[number])
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entry.name)
def test_the_current_rows_are_what_the_description_says(results: Results, case: Case) -> None:
    assert results[case.entry.name] == [*case.current, case.current[-1]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entry.name)
@pytest.mark.usefixtures("results")
def test_every_row_has_its_status_and_its_reason(raw: Raw, case: Case) -> None:
    assert_statuses(raw, SCHEMA, case)


@pytest.mark.usefixtures("results")
def test_rejected_rows_are_listed_and_nothing_needs_a_look_but_what_does(raw: Raw) -> None:
    assert_rejected(raw, SCHEMA, CASES)
    assert_reported(raw, SCHEMA, CASES)


@pytest.mark.usefixtures("results")
def test_the_page_shows_the_reason_of_its_example(raw: Raw) -> None:
    reasons = raw.query(f"select _status, _status_reason from {SCHEMA}.stg_feed__tickets where _status = 'rejected'")
    assert len(reasons) == 1
    assert f"`{reasons[0][0]}`: `{reasons[0][1]}`" in PAGE


class Loads:
    """The entry `loads` after both batches."""

    def __init__(self, project: Consumer, raw: Raw) -> None:
        self.project, self.raw = project, raw
        (self.entry,) = [case.entry for case in CASES if case.entry.name == "loads"]

    def land(self, day: int, *rows: tuple[Any, ...]) -> None:
        """Land the load of a day."""
        self.raw.insert(f"{SCHEMA}_raw.loads", [[dt.date(2026, 1, day), *row] for row in rows])

    def build(self, *options: str, columns: dict[str, str] | None = None, **settings: Any) -> list[tuple[Any, ...]]:
        """Build the log with other settings or columns; what it has: day, key, operation, and the other columns."""
        spec = self.entry.change_table | settings
        self.entry = replace(self.entry, change_table=spec, columns=columns or self.entry.columns)
        self.project.write_sources(
            [self.entry if case.entry.name == "loads" else case.entry for case in CASES], ["registry"]
        )
        self.project.dbt("run", "--select", "dedup_feed__loads", *options)
        return self.log(*[name for name in self.entry.columns if name != "id"])

    def log(self, *columns: str) -> list[tuple[Any, ...]]:
        """What the log has now."""
        shown = ", ".join(["day(to_date(_change_seq)), id, _change_op", *columns])
        return self.raw.query(f"select {shown} from {SCHEMA}.dedup_feed__loads order by _change_seq, id")


@pytest.mark.slow
@pytest.mark.usefixtures("results")
def test_a_log_of_full_loads_goes_on_after_a_load_is_named_and_purge_and_forget(project: Consumer, raw: Raw) -> None:
    loads = Loads(project, raw)
    loads.land(6, (1, "Ann"), (4, "Dan"), (5, "Eve"))
    loads.land(7, (1, "Ann"), (5, "Evelyn"))
    first = [(2, 1, "insert", "Ann"), (2, 2, "insert", "Bob"), (2, 3, "insert", "Cyn")]
    second = [(3, 2, "update", "Bobby"), (3, 3, "delete", "Cyn"), (3, 4, "insert", "Dan")]
    # the load of the fourth was rejected before it was named; the delete that the fifth made then is left
    named = [(4, 1, "update", "Anna"), (4, 2, "delete", "Bobby"), (4, 4, "delete", "Dan")]
    fifth = [(5, 1, "update", "Ann"), (5, 2, "delete", "Bobby"), (5, 4, "insert", "Dan")]
    last = [(6, 5, "insert", "Eve"), (7, 4, "delete", "Dan"), (7, 5, "update", "Evelyn")]
    known = [*first, *second, *named, *fifth, *last]
    assert loads.build(whole_loads=["2026-01-04"]) == known

    code, said, complained = project.command("purge", "--include", "loads")
    assert (code, "9 rows deleted" in said) == (0, True), said + complained
    assert raw.query(f"select distinct day(load_day) from {SCHEMA}_raw.loads order by 1") == [(6,), (7,)]
    written = loads.log("_batch_id", "_load_rows", "_earlier_rows")
    assert loads.build() == loads.build("--vars", "{change_tables_rescan: true}") == known
    assert loads.log("_batch_id", "_load_rows", "_earlier_rows") == written

    # a row of the oldest load left has changed since what the log has of it, in the column that is new
    raw.query(f"alter table {SCHEMA}_raw.loads add columns (note string)")
    raw.query(f"update {SCHEMA}_raw.loads set note = concat('n', id) where load_day = date'2026-01-06' and id <> 4")
    before = [(*change, None) for change in (*first, *second, *named, *fifth)]
    of_sixth = [(6, 1, "update", "Ann", "n1"), (6, 5, "insert", "Eve", "n5")]
    of_seventh = [(7, 1, "update", "Ann", None), (7, 4, "delete", "Dan", None), (7, 5, "update", "Evelyn", None)]
    assert loads.build(columns={**loads.entry.columns, "note": "string"}) == [*before, *of_sixth, *of_seventh]

    # a key that is forgotten comes back with the next load that has it, and with nothing of before
    code, _, complained = project.command("forget", "loads", "--key", '{"id": 5}')
    assert code == 0, complained
    loads.land(8, (1, "Ann", None), (5, "Evelyn", None))
    rest = [change for change in [*before, *of_sixth, *of_seventh] if change[1] != 5]
    assert loads.build() == [*rest, (8, 5, "insert", "Evelyn", None)]

    # as does one of which the last loads have had nothing new: what raw has of it is forgotten, too
    unchanged = [(1, "Ann", None), (5, "Evelyn", None)]
    loads.land(9, *unchanged)
    loads.build()
    code, _, complained = project.command("forget", "loads", "--key", '{"id": 1}')
    assert code == 0, complained
    loads.land(10, *unchanged)
    rest = [change for change in [*rest, (8, 5, "insert", "Evelyn", None)] if change[1] != 1]
    assert loads.build() == [*rest, (10, 1, "insert", "Ann", None)]
    project.dbt("run", "--select", "stg_feed__loads")
    staged = raw.query(f"select day(to_date(_change_seq)), name from {SCHEMA}.stg_feed__loads where id = 1")
    assert staged == [(10, "Ann")]

    # what changed in nothing but a column that the source drops later stays a change when all loads are compared again
    loads.land(11, (1, "Ann", "n11"), (5, "Evelyn", None))
    kept = loads.build()
    assert kept == [*rest, (10, 1, "insert", "Ann", None), (11, 1, "update", "Ann", "n11")]
    loads.land(12, *unchanged)
    loads.entry = replace(loads.entry, column_meta={"note": {"retired": True}})
    assert loads.build("--vars", "{change_tables_rescan: true}") == kept
    project.dbt("run", "--select", "current_feed__loads")
    current = raw.query(f"select id, name, note from {SCHEMA}.current_feed__loads order by id")
    assert current == [(1, "Ann", "n11"), (5, "Evelyn", None)]


@pytest.mark.usefixtures("results")
def test_a_truncate_is_no_change_of_a_forgotten_key(project: Consumer, raw: Raw) -> None:
    code, _, complained = project.command("forget", "truncated", "--key", '{"id": 1}')
    assert code == 0, complained
    project.dbt("run", "--select", "dedup_feed__truncated", "current_feed__truncated", "--full-refresh")
    assert raw.query(f"select id, name from {SCHEMA}.current_feed__truncated") == [(2, "stays")]


@pytest.mark.usefixtures("results")
def test_a_row_is_found_by_its_key_whatever_its_sequence_begins_with(project: Consumer) -> None:
    code, said, complained = project.command("forget", "sequence_of_bytes", "--key", '{"id": 1}')
    assert (code, f"{SCHEMA}.dedup_feed__sequence_of_bytes__quarantine: 2 rows deleted\n" in said) == (0, True), (
        complained
    )
