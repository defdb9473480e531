"""Which run of a state follows from the log's mark, its own, and a look at new events."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .rendering import Run
from .shapes import ADDED, FIRST_BATCH, FLOOR, MOVES, Shape, Shapes, state_since

BATCH = "20260131T110000000000_00000009"
LATER = "20260131T113000000000_00000010"
EXTENDED = {"batch": BATCH, "extends": FIRST_BATCH}
FIRST = {"run": "first", "mark_before": None}
ADDS = {"run": "since", "replays": False, "log_is_outdated": False}
LATER_FLOOR = {"floor": "20260131120000250000000000000000016", "loads": []}


def _note(shapes: Shapes, shape: Shape, **given: Any) -> dict[str, Any]:
    return shapes.project.render(shape.model, shapes.lake(shape), **given).note


def _has(note: dict[str, Any], expected: dict[str, Any]) -> None:
    assert {name: note[name] for name in expected} == expected


# what the log's mark and the state's say, against what a first run of each wrote -> what the run is
OF_MARKS: dict[str, tuple[str, dict[str, Any], dict[str, Any] | None, dict[str, Any]]] = {
    "a state that was never built": ("current_feed__full", {}, None, FIRST | {"kept_step": None}),
    "the same batch": ("current_feed__full", {}, {}, {"run": "nothing new"}),
    "a later batch": ("current_feed__full", {"batch": BATCH}, {}, ADDS | {"ends_older_keys": False, "kept_step": None}),
    "a log that was built anew": ("current_feed__full", {"log": BATCH, "batch": BATCH}, {}, FIRST),
    "a change withdrawn since": ("current_feed__full", {"batch": BATCH, "rebuild": BATCH}, {}, FIRST),
    "a change withdrawn before": (
        "current_feed__full", {"batch": BATCH, "rebuild": BATCH}, {"batch": BATCH}, {"run": "nothing new"},
    ),
    "a column that is new to the state": (
        "current_feed__full",
        {},
        {"columns": {"order": "bigint", "it's": "string"}},
        {"run": "since", "log_is_outdated": False},
    ),
    "a column that is new to the log": (
        "current_feed__full",
        {"columns": {"order": "bigint", "it's": "string"}},
        None,
        {"log_is_outdated": True},
    ),
    "a log of another key": ("current_feed__full", {"key": ["order"]}, None, {"log_is_outdated": True}),
    "a truncate since": (
        "current_feed__full",
        {"batch": BATCH} | FLOOR,
        {},
        ADDS | {"ends_older_keys": True, "has_floors": True, "kept_step": None},
    ),
    "a truncate before": (
        "current_feed__full",
        {"batch": BATCH} | FLOOR,
        FLOOR,
        ADDS | {"ends_older_keys": False, "has_floors": True},
    ),
    "a first run over a log with truncates": (
        "current_feed__full",
        FLOOR,
        None,
        FIRST | {"ends_older_keys": False, "has_floors": True},
    ),
    "a history, changes in time, no look": ("history_feed__full", EXTENDED, {}, ADDS | {"late": False}),
    "partial images, changes in time, no look": ("current_feed__partial", EXTENDED, {}, ADDS | {"late": False}),
    "a history that has taken in the same batch": ("history_feed__full", EXTENDED, EXTENDED, {"run": "nothing new"}),
    # a state that is ahead of its log, which was restored by hand: nothing, until the log has a later batch
    "a log that seems older": ("history_feed__full", {}, {"batch": BATCH}, {"run": "nothing new"}),
    "moves of partial images": (
        "current_feed__partial",
        MOVES,
        None,
        FIRST | {"follows_rows": True, "kept_step": "given_events"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_MARKS)
def test_the_marks_decide_the_run(shapes: Shapes, name: str) -> None:
    model, log, state, expected = OF_MARKS[name]
    marks = {f"dedup_{model.split('_', 1)[1]}": log} | ({} if state is None else {model: state})
    _has(_note(shapes, Shape(model, marks)), expected)


def test_before_the_log_is_built_a_state_shows_what_a_first_run_would_be(shapes: Shapes) -> None:
    note = _note(shapes, Shape("current_feed__full"))
    _has(note, FIRST | {"log_is_outdated": False})
    assert note["mark"]["log"] == ""


def test_a_full_refresh_does_not_ask_for_the_mark_of_the_state(shapes: Shapes) -> None:
    shape = state_since("current", "full")
    run: Run = shapes.project.render(shape.model, shapes.lake(shape), flags={"FULL_REFRESH": True})
    _has(run.note, FIRST)
    assert [sql for sql in run.sent if "_mark" in sql] == [
        "select 0 as place, _mark from lake.dedup_feed__full__state where _mark is not null"
    ]


# the log's mark, what a look finds -> what the run is; None: what is not asked
AFTER_A_LOOK: dict[str, tuple[str, str, dict[str, Any], dict[str, int], dict[str, Any]]] = {
    "nothing late": ("history", "full", {}, {"late": 0, "rebuild": 0}, ADDS | {"late": False, "kept_step": None}),
    "late events": (
        "history", "full", {}, {"late": 2, "rebuild": 0},
        {"run": "since", "late": True, "replays": True, "kept_step": "given_events"},
    ),
    "late events of a log with truncates": (
        "history", "full", FLOOR, {"late": 1, "rebuild": 0},
        {"run": "since", "late": True, "replays": True, "has_floors": True},
    ),
    "a truncate before what is folded": (
        "history", "full", FLOOR, {"late": 0, "rebuild": 1}, FIRST | {"ends_older_keys": False},
    ),
    "full images of a current state": ("current", "full", {}, {}, ADDS | {"late": False}),
    "moves without exchanges": (
        "current", "full", MOVES, {"exchanges": 0}, ADDS | {"exchanges": False, "kept_step": None},
    ),
    "exchanges": (
        "current", "full", MOVES, {"exchanges": 1},
        {"run": "since", "exchanges": True, "replays": True, "follows_rows": False, "kept_step": "key_events"},
    ),
    "exchanges, and a truncate after the moves": (
        "current", "full", MOVES | LATER_FLOOR, {"exchanges": 1, "rebuild": 1},
        FIRST | {"exchanges": True, "replays": False},
    ),
    "late exchanges of a history": (
        "history", "full", MOVES, {"late": 1, "rebuild": 0, "exchanges": 1},
        {"run": "since", "late": True, "exchanges": True, "replays": True},
    ),
    "partial images": (
        "current", "partial", {}, {"late": 0, "rebuild": 0}, ADDS | {"follows_rows": False, "kept_step": None},
    ),
    "partial images with truncates": (
        "current", "partial", FLOOR, {"late": 0, "rebuild": 0}, ADDS | {"kept_step": "given_events"},
    ),
    "partial images that move in time": (
        "current", "partial", MOVES, {"late": 0, "rebuild": 0, "late_moves": 0, "open_exchanges": 0},
        ADDS | {"follows_rows": True, "kept_step": "given_events"},
    ),
    "partial images, late to a key that rows moved to": (
        "current", "partial", MOVES, {"late": 1, "rebuild": 0, "late_moves": 1, "open_exchanges": 0},
        FIRST | {"follows_rows": True},
    ),
    "the rest of a transaction that exchanges rows": (
        "current", "partial", MOVES, {"late": 0, "rebuild": 0, "late_moves": 0, "open_exchanges": 1}, FIRST,
    ),
    "a column that was added": ("current", "partial", ADDED, {"late": 0, "rebuild": 0}, ADDS | ADDED),
}  # fmt: skip


# the log's mark, the state's -> a look is asked for, since nothing says that all came in time
LOOKED_AT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "late changes": ({"batch": BATCH, "extends": None}, {}),
    "a log of layout 0": ({"batch": BATCH}, {}),
    "a state that lacks two batches": ({"batch": LATER, "extends": BATCH}, {}),
    "a log that was restored, and has taken in again what the state has": (
        {"batch": LATER, "extends": FIRST_BATCH}, {"batch": BATCH},
    ),
    "a load": (EXTENDED | {"loads": [""]}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKED_AT)
@pytest.mark.parametrize("model", ["history_feed__full", "current_feed__partial"])
def test_a_look_is_spared_only_where_the_log_says_that_all_came_in_time(shapes: Shapes, name: str, model: str) -> None:
    log, state = LOOKED_AT[name]
    shape = Shape(
        model,
        {f"dedup_{model.split('_', 1)[1]}": log, model: state},
        {"met_events": [{"late": 1, "rebuild": 0}]},
    )
    _has(_note(shapes, shape), {"run": "since", "late": True})


@pytest.mark.parametrize("name", AFTER_A_LOOK)
def test_what_a_look_at_new_events_finds_decides_the_run(shapes: Shapes, name: str) -> None:
    kind, entry, log, looked, expected = AFTER_A_LOOK[name]
    _has(_note(shapes, state_since(kind, entry, log, **looked)), expected)


# what the log's mark and the state's say -> what is said; the declared columns are what they are
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no longer declared": (
        {"columns": {"order": "bigint", "it's": "string", "name with spaces": "string", "gone": "date"}},
        "column 'gone' is no longer declared, was date",
    ),
    "spelt otherwise": (
        {"columns": {"ORDER": "bigint", "it's": "string", "name with spaces": "string"}},
        "column 'order' was spelt 'ORDER'",
    ),
    "narrowed": (
        {"columns": {"order": "decimal(20,0)", "it's": "string", "name with spaces": "string"}},
        "key column 'order' is bigint, was decimal(20,0)",
    ),
    "another kind": (
        {"columns": {"order": "bigint", "it's": "string", "name with spaces": "int"}},
        "column 'name with spaces' is string, was int",
    ),
    "another key": ({"key": ["order"]}, "`key` is order, it's, was order"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_change_that_no_table_can_follow_stops_the_model_and_names_the_way_out(shapes: Shapes, name: str) -> None:
    mark, said = REFUSED[name]
    shape = Shape("current_feed__full", {"dedup_feed__full": {"batch": BATCH}, "current_feed__full": mark})
    with pytest.raises(CompilationError) as refused:
        _note(shapes, shape)
    assert (
        "change_tables: model 'current_feed__full': source 'feed.full' has changed since the model was built: "
        f"{said}; declare it as it was, or build the log and the models after it anew with --full-refresh"
    ) in str(refused.value)
    _has(_note(shapes, shape, flags={"FULL_REFRESH": True}), FIRST)


def test_a_state_over_a_log_of_other_columns_writes_nothing(shapes: Shapes) -> None:
    shape = Shape("current_feed__full", {"dedup_feed__full": {"key": ["order"]}})
    with pytest.raises(CompilationError, match="has changed since the log that the model follows was built"):
        shapes.run(shape)


def test_a_state_over_a_log_that_was_never_built_writes_nothing(shapes: Shapes) -> None:
    with pytest.raises(CompilationError, match="has not been built to its end; build that first"):
        shapes.run(Shape("current_feed__full"))
