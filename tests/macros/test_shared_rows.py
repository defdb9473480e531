"""What logs that share a raw table take from one another in a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from .rendering import Run
from .shapes import FIRST_BATCH, SHAPES, Shape, Shapes, state_since

LOGS = ["dedup_feed__trail", "dedup_feed__trail_types", "dedup_feed__trail_lines"]
SHARED = "dedup_feed__trail__batch_20260131t120000000000_00000000s"
CREATED = f"create table lake.{SHARED} using parquet partitioned by (_ct_partition) as"


def _render(
    shapes: Shapes, log: str, *, columns: dict[str, str] | None = None, tables: Sequence[str] = (), **given: Any
) -> Run:
    lake = shapes.lake(Shape(log))
    landed = {name: {**found, **(columns or {})} for name, found in lake.columns.items()}
    found = replace(lake, columns=landed, tables=[*lake.tables, *tables])
    return shapes.project.render(log, found, **{"selected": LOGS} | given)


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


def test_messages_that_entries_describe_are_parsed_by_the_first_log_for_those_that_say_which_are_theirs(
    shapes: Shapes,
) -> None:
    mapped = [f"dedup_feed__mapped{which}" for which in ("", "_lines", "_parts", "_all")]
    (created,) = _created(_render(shapes, mapped[0], selected=mapped))
    assert created.count("from_json(") == 1
    assert re.findall(r"if\(coalesce\((.*), true\), '(\w+)', null\)", created) == [
        ("topic = 'orders'", "mapped"),
        ("topic = 'lines'", "mapped_lines"),
        ("topic = 'parts'", "mapped_parts"),
    ]
    last = _render(shapes, mapped[2], after=True, selected=mapped).rendered
    assert "(_ct_partition in ('mapped_parts') or _ct_partition is null)" in last
    assert "where coalesce(topic = 'parts', true)" in last
    assert "from_json(" not in last.partition("typed as")[0]
    assert "from lake_raw.mapped" in _render(shapes, mapped[3], after=True, selected=mapped).rendered


def test_another_invocation_over_the_same_graph_knows_nothing_of_it(shapes: Shapes) -> None:
    _render(shapes, LOGS[0])
    another = _render(shapes, LOGS[2], after=True, run=1, selected=[])
    assert _asked_of_raw(another)
    assert SHARED not in another.rendered


def test_a_log_for_which_nothing_was_written_reads_raw_however_alike_its_query_is(shapes: Shapes) -> None:
    left = "dedup_feed__trail_parts"
    given: dict[str, Any] = {"selected": [*LOGS, left], "tables": [f"lake.{left}__state"]}
    first = _render(shapes, LOGS[0], **given)
    assert "('APP.ORDERS', 'APP.ORDERS', 'APP.LINES')" in _created(first)[0]
    died = _render(shapes, left, after=True, **given)
    assert SHARED not in died.rendered
    assert "from lake_raw.trail" in died.rendered


def test_a_batch_is_left_alone_until_the_next_run_but_one_has_written_and_what_is_shared_for_a_day(
    shapes: Shapes,
) -> None:
    replaced = "20260131T100000000000_00000001"
    names = {
        "kept": [
            replaced.lower(),
            "20260131t110000000000_0000000a",
            "20260131t090000000000_0000000as",
            "20260131t120000000000_00000000",
        ],
        "dropped": [
            "20260131t090000000000_0000000b",
            "20260131t090000000000_0000000cr",
            "20260129t110000000000_0000000ds",
        ],
    }
    rows = [{"tableName": f"dedup_feed__trail__batch_{name}"} for found in names.values() for name in found]
    lake = replace(shapes.lake(Shape(LOGS[0])), answers={"^show tables in": rows})
    context = shapes.project.context(LOGS[0], lake)
    macros = context["change_tables"]
    macros["drop_stale_batches"]({"batch": replaced})
    dropped = [sql for sql in shapes.project.sent() if sql.startswith("drop")]
    assert dropped == [f"drop table if exists lake.dedup_feed__trail__batch_{name}" for name in names["dropped"]]


@pytest.mark.parametrize("shape", [SHAPES["qlik_change_tables__log__since"], state_since("history", "full", late=1)])
def test_a_run_that_writes_drops_the_batches_of_runs_before_the_last_that_wrote(shapes: Shapes, shape: Shape) -> None:
    times = {"dropped": int(FIRST_BATCH[:8]) - 1, "kept": int(FIRST_BATCH[:8]) + 1}
    tables = {what: f"{shape.model}__batch_{day}t000000000000_0000000a" for what, day in times.items()}
    listed = {"^show tables in": [{"tableName": name} for name in tables.values()]}
    sent = shapes.run(replace(shape, answers=listed | dict(shape.answers))).sent
    assert [what for what, name in tables.items() if f"drop table if exists lake.{name}" in sent] == ["dropped"]


@pytest.mark.parametrize(
    "given",
    [
        {"selected": LOGS[:2]},
        {"flags": {"WHICH": "compile"}},
        {"columns": {"orig_node": "void"}},
        {"columns": {"table_name": "char(20)"}},
    ],
    ids=["two logs", "compile", "a column of no type", "blanks at the end of names"],
)
def test_a_log_reads_raw_itself(shapes: Shapes, given: dict[str, Any]) -> None:
    run = _render(shapes, LOGS[0], **given)
    assert _created(run) == []
    assert "from lake_raw.trail" in run.rendered
