"""Feeds that an entry describes, and the formats made of it: statuses, reasons, and the current rows, row by row."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import yaml

from .cases import Case, Results, assert_rejected, assert_reported, assert_statuses, build_batches
from .consumer import REPOSITORY, Consumer, Entry
from .landing import Raw
from .mapped_cases import CASES as OF_ENTRIES
from .preset_cases import CASES as OF_FORMATS

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


CASES = [*OF_ENTRIES, *OF_FORMATS, _example()]


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
    return build_batches(project, raw, CASES)


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
