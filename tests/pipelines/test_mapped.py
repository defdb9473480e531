"""Feeds that an entry describes, row by row: statuses, reasons, and the current rows after each batch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .cases import Case, Results, assert_rejected, assert_reported, assert_statuses, build_batches
from .consumer import Consumer
from .landing import Raw
from .mapped_cases import CASES

SCHEMA = "mapped_pages"


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """A project with all cases."""
    return consumer(SCHEMA)


@pytest.fixture(scope="module")
def results(project: Consumer, raw: Raw) -> Results:
    """The current rows of each table after batch 1, batch 2, and a full refresh, by name of the entry."""
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
