"""Which raw tables have nothing new is asked of many at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from .entries import LANDED
from .rendering import NOT_ASKED, Lake, Rows, Run
from .shapes import FOUND_BEFORE, LOOK, Shape, Shapes
from .test_views import views_left_by

QUESTION = "as quiet_fingerprint from"
COUNTS = "as rows_of_1"
LOGS = [f"dedup_feed__{entry.name}" for entry, _ in LANDED if "dedup" in entry.models]
ASKS, SILENT = "dedup_feed__qlik", "dedup_feed__qlik_types"
"""A log that asks for all in the run of these tests, and one that does not: in another run they may change places."""
FOUND = "1:2:3"
"""The fingerprint of the rows at the watermark of a first run."""
UNCOUNTED = {**FOUND_BEFORE, r"^show tblproperties \S+$": []}
"""The raw tables do not count their rows without a scan."""
BY_POSITION = "dedup_feed__kafka"


@pytest.fixture(scope="module")
def built(shapes: Shapes) -> Lake:
    """A lake in which all logs are built, each of its own raw table or a shared one."""
    lake = shapes.lake(Shape(LOGS[0], {log: {"counts_all": False} for log in LOGS}))
    first = [views_left_by(shapes.run(Shape(log, {}, UNCOUNTED), run=1)) for log in LOGS]
    return replace(lake, views={view: text for views in first for view, text in views.items()})


def _told(lake: Lake, rows: Rows, counts: Mapping[str, int] | None = None) -> Lake:
    return replace(lake, answers={QUESTION: rows, COUNTS: [counts] if counts else [], **lake.answers})


def _run(shapes: Shapes, log: str, lake: Lake, selected: Sequence[str] = LOGS, **given: Any) -> Run:
    return shapes.project.render(log, lake, selected=selected, **given)


def _asked(run: Run) -> list[str]:
    return [sql for sql in run.sent if not any(re.search(asked, sql) for asked in NOT_ASKED)]


def _tables(run: Run) -> list[list[str]]:
    """Of each question, the tables that it is about, in the order of their numbers."""
    questions = [sql for sql in run.sent if QUESTION in sql]
    return [re.findall(r"select \d+ as _ct_number, .* as _ct_hash from (\S+) where", sql) for sql in questions]


def test_one_log_asks_for_all_and_none_of_them_looks_where_nothing_has_landed(shapes: Shapes, built: Lake) -> None:
    (tables,) = _tables(_run(shapes, ASKS, _told(built, [])))
    assert {"lake_raw.qlik", "lake_raw.qlik_types", "lake_raw.kafka_shared", "lake_raw.trail"} <= set(tables)
    assert len(tables) == len(set(tables)), "logs that share a raw table and have read equally far are one question"
    quiet = [{"_ct_number": tables.index(f"lake_raw.{name}"), "found": FOUND} for name in ("qlik", "qlik_types")]
    assert _asked(_run(shapes, ASKS, _told(built, quiet)))[1:] == []
    for log in (SILENT, BY_POSITION):
        run = _run(shapes, log, _told(built, quiet), after=True)
        assert run.run["kind"] == "nothing new"
        assert _asked(run) == []


def test_a_log_whose_raw_table_has_news_looks_for_itself(shapes: Shapes, built: Lake) -> None:
    (tables,) = _tables(_run(shapes, ASKS, _told(built, [])))
    number = {name: tables.index(f"lake_raw.{name}") for name in ("qlik", "qlik_types", "kafka_shared")}
    # one more row at the watermark, or another one, or none any more; and a row above it
    for found in ("2:4:6", "1:2:4", None):
        rows = [{"_ct_number": number["qlik_types"], "found": found}] if found else []
        rows += [{"_ct_number": number["kafka_shared"], "found": "1"}]
        _run(shapes, ASKS, _told(built, rows))
        for log in (SILENT, BY_POSITION):
            run = _run(shapes, log, _told(built, rows), after=True)
            assert [sql for sql in _asked(run) if LOOK in sql], (log, found)


@pytest.mark.parametrize(
    ("selected", "given"),
    [
        (LOGS[:4], {}),
        (LOGS, {"flags": {"WHICH": "compile"}}),
        (LOGS, {"flags": {"FULL_REFRESH": True}}),
        (LOGS, {"variables": {"change_tables_rescan": True}}),
    ],
)
def test_few_logs_and_runs_that_read_everything_ask_nothing(
    shapes: Shapes, built: Lake, selected: Sequence[str], given: dict[str, Any]
) -> None:
    assert _tables(_run(shapes, ASKS, built, selected, **given)) == []


def test_a_log_that_has_begun_or_has_more_to_read_is_not_asked_for(shapes: Shapes, built: Lake) -> None:
    _run(shapes, SILENT, built)
    (tables,) = _tables(_run(shapes, ASKS, _told(built, []), after=True))
    assert "lake_raw.qlik_types" not in tables
    # events that are read again from a replica, a registry, all of raw
    for table in ("events", "kafka_registry", "qlik_plain"):
        assert f"lake_raw.{table}" not in tables


@pytest.mark.parametrize("lost", ["landed at", None])
def test_a_raw_table_that_lacks_its_arrival_stops_its_own_log_alone(
    shapes: Shapes, built: Lake, lost: str | None
) -> None:
    name = "lake_raw.qlik_types"
    landed = {} if lost is None else {column: kind for column, kind in built.columns[name].items() if column != lost}
    lake = _told(replace(built, columns={**built.columns, name: landed}), [])
    (tables,) = _tables(_run(shapes, ASKS, lake))
    assert name not in tables


@pytest.mark.parametrize("log", [ASKS, SILENT])
def test_who_asks_changes_from_run_to_run(shapes: Shapes, built: Lake, log: str) -> None:
    assert {len(_tables(_run(shapes, log, _told(built, []), run=run))) for run in (0, 1, 2)} == {0, 1}


@pytest.fixture(scope="module")
def counting(shapes: Shapes, built: Lake) -> Lake:
    """The same, but for raw tables of two logs that count their rows without a scan: eight had landed."""
    lake = built
    for log in (ASKS, SILENT):
        lake = replace(lake, views={**lake.views, **views_left_by(shapes.run(Shape(log, {}, FOUND_BEFORE), run=1))})
    return lake


def _counted(run: Run) -> list[str]:
    """The tables of which all rows are counted."""
    (question,) = [sql for sql in run.sent if COUNTS in sql]
    return re.findall(r"\(select count\(\*\) from (\S+)\) as rows_of_\d+", question)


# of a raw table that had eight rows below the watermark and at it -> how many it has, and whether its log looks
FOUND_ROWS = {"as before": (8, False), "after rows were deleted": (5, False), "one below the watermark more": (9, True)}


@pytest.mark.parametrize("name", FOUND_ROWS)
def test_a_raw_table_is_quiet_only_if_no_row_has_landed_below_the_watermark(
    shapes: Shapes, counting: Lake, name: str
) -> None:
    number, looks = FOUND_ROWS[name]
    first = _run(shapes, ASKS, _told(counting, [], {"rows_of_1": 0}))
    (tables,) = _tables(first)
    assert sorted(_counted(first)) == ["lake_raw.qlik", "lake_raw.qlik_types"]
    quiet = [{"_ct_number": tables.index(f"lake_raw.{name}"), "found": FOUND} for name in ("qlik", "qlik_types")]
    told = {f"rows_of_{place}": number for place in (1, 2)}
    assert any(LOOK in sql for sql in _run(shapes, ASKS, _told(counting, quiet, told)).sent) == looks
    run = _run(shapes, SILENT, _told(counting, quiet, told), after=True)
    assert any(LOOK in sql for sql in run.sent) == looks
    assert run.run["kind"] == "nothing new" or looks
