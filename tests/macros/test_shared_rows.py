"""What logs that share a raw table take from one another in a run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from .rendering import Run
from .shapes import Shape, Shapes

LOGS = ["dedup_feed__trail", "dedup_feed__trail_types", "dedup_feed__trail_lines"]
SHARED = "dedup_feed__trail__batch_20260131t120000000000_00000000s"
CREATED = f"create table lake.{SHARED} using parquet partitioned by (_ct_partition) as"


def _render(shapes: Shapes, log: str, *, columns: dict[str, str] | None = None, **given: Any) -> Run:
    lake = shapes.lake(Shape(log))
    landed = {name: {**found, **(columns or {})} for name, found in lake.columns.items()}
    return shapes.project.render(log, replace(lake, columns=landed), **{"selected": LOGS} | given)


def _created(run: Run) -> list[str]:
    return [sql for sql in run.sent if sql.startswith("create table")]


def _asked_of_raw(run: Run) -> list[str]:
    return [sql for sql in run.sent if re.search(r"from \S*raw\.trail\b", sql) and sql not in _created(run)]


def test_the_first_log_puts_the_rows_together_for_all_and_asks_raw_for_all(shapes: Shapes) -> None:
    first = _render(shapes, LOGS[0])
    assert [sql.split("\n")[0] for sql in _created(first)] == [CREATED]
    assert "table_name in ('APP.ORDERS', 'APP.ORDERS', 'APP.LINES')" in _created(first)[0]
    assert _asked_of_raw(first)
    last = _render(shapes, LOGS[2], after=True)
    assert _created(last) == _asked_of_raw(last) == []
    for run, table in ((first, "APP.ORDERS"), (last, "APP.LINES")):
        assert (
            f"from lake.{SHARED}\n    where\n        (_ct_partition in ('{table}') or _ct_partition is null)"
            in run.rendered
        )
        assert "from lake_raw.trail" not in run.rendered


def test_another_invocation_over_the_same_graph_knows_nothing_of_it(shapes: Shapes) -> None:
    _render(shapes, LOGS[0])
    another = _render(shapes, LOGS[2], after=True, run=1, selected=[])
    assert _asked_of_raw(another)
    assert SHARED not in another.rendered


@pytest.mark.parametrize(
    "given",
    [{"selected": LOGS[:2]}, {"flags": {"WHICH": "compile"}}, {"columns": {"orig_node": "void"}}],
    ids=["two logs", "compile", "a column of no type"],
)
def test_a_log_reads_raw_itself(shapes: Shapes, given: dict[str, Any]) -> None:
    run = _render(shapes, LOGS[0], **given)
    assert _created(run) == []
    assert "from lake_raw.trail" in run.rendered
