"""Which run of a state follows from the log's checkpoint and its own, and what it does where events have come late."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .rendering import Answers, Run
from .shapes import (
    ADDED,
    FIRST_BATCH,
    MOVES,
    RESET,
    Checkpoints,
    Shape,
    Shapes,
    changes_since,
    state_since,
)

BATCH = "20260131T110000000000_00000009"
LATER = "20260131T113000000000_00000010"
RETRACTED_KEYS = [[FIRST_BATCH, [3]], [BATCH, [-5, 7]]]
EXTENDED = {"batch": BATCH, "extends": FIRST_BATCH}
FIRST = {"kind": "first", "checkpoint_before": None}
ADDS = {"kind": "since", "log_is_outdated": False}
IN_TIME = {"in_time": True, "looks": True}
PERHAPS_LATE = {"in_time": False, "looks": True}


def _run(shapes: Shapes, shape: Shape, **given: Any) -> dict[str, Any]:
    return shapes.project.render(shape.model, shapes.lake(shape), **given).run


def _has(run: dict[str, Any], expected: dict[str, Any]) -> None:
    assert {name: run[name] for name in expected} == expected


# what the log's checkpoint and the state's say, against what a first run of each wrote -> what the run is
OF_CHECKPOINTS: dict[str, tuple[str, dict[str, Any], dict[str, Any] | None, dict[str, Any]]] = {
    "a state that was never built": ("current_feed__full", {}, None, FIRST | {"looks": False}),
    "the same batch": ("current_feed__full", {}, {}, {"kind": "nothing new"}),
    "a later batch": ("current_feed__full", {"batch": BATCH}, {}, ADDS | {"ends_older_keys": False, "looks": False}),
    "a log that was rebuilt": ("current_feed__full", {"log": BATCH, "batch": BATCH}, {}, FIRST),
    "a log that was set back": ("current_feed__full", {"batch": BATCH, "rebuild": BATCH}, {}, FIRST),
    "a log that was set back before": (
        "current_feed__full", {"batch": BATCH, "rebuild": BATCH}, {"batch": BATCH}, {"kind": "nothing new"},
    ),
    "keys of which something was retracted since, and before": (
        "current_feed__full",
        {"batch": BATCH, "retracted_keys": RETRACTED_KEYS},
        {},
        ADDS | {"retracted_keys": [-5, 7], "folds": True, "looks": True},
    ),
    "keys of which something was retracted before": (
        "current_feed__full",
        {"batch": LATER, "extends": BATCH, "retracted_keys": RETRACTED_KEYS},
        {"batch": BATCH},
        ADDS | {"retracted_keys": [], "folds": False, "looks": False},
    ),
    "a first run over a log that has taken something back": (
        "current_feed__full",
        {"batch": BATCH, "retracted_keys": RETRACTED_KEYS},
        None,
        FIRST | {"retracted_keys": [], "folds": False},
    ),
    "a column that is new to the state": (
        "current_feed__full",
        {},
        {"columns": {"order": "bigint", "it's": "string"}},
        {"kind": "since", "log_is_outdated": False},
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
        {"batch": BATCH} | RESET,
        {},
        ADDS | {"ends_older_keys": True, "has_resets": True, "looks": False},
    ),
    "a truncate before": (
        "current_feed__full",
        {"batch": BATCH} | RESET,
        RESET,
        ADDS | {"ends_older_keys": False, "has_resets": True},
    ),
    "a first run over a log with truncates": (
        "current_feed__full",
        RESET,
        None,
        FIRST | {"ends_older_keys": False, "has_resets": True},
    ),
    "a history, changes in time, no look": ("history_feed__full", EXTENDED, {}, ADDS | {"looks": False}),
    "partial images, changes in time, no look": ("current_feed__partial", EXTENDED, {}, ADDS | {"looks": False}),
    "a history that has taken in the same batch": ("history_feed__full", EXTENDED, EXTENDED, {"kind": "nothing new"}),
    "a log that was set back to an older version": ("history_feed__full", {}, {"batch": BATCH}, FIRST),
    "a first run over moves": ("current_feed__full", MOVES, None, FIRST | {"folds": True, "looks": False}),
    "moves of full images, in time": ("current_feed__full", EXTENDED | MOVES, {}, ADDS | {"folds": True} | IN_TIME),
    "moves of partial images, in time": ("current_feed__partial", EXTENDED | MOVES, {}, ADDS | IN_TIME),
    "moves of a history, in time": ("history_feed__full", EXTENDED | MOVES, {}, ADDS | IN_TIME),
    "moves of full images, perhaps late": ("current_feed__full", {"batch": BATCH} | MOVES, {}, ADDS | PERHAPS_LATE),
    "full images without moves, perhaps late": (
        "current_feed__full", {"batch": BATCH}, {}, ADDS | {"folds": False, "looks": False},
    ),
    "a column that was added": ("current_feed__partial", EXTENDED | ADDED, {}, ADDS | ADDED | {"looks": False}),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_CHECKPOINTS)
def test_the_checkpoints_decide_the_run(shapes: Shapes, name: str) -> None:
    model, log, state, expected = OF_CHECKPOINTS[name]
    checkpoints = {f"dedup_{model.split('_', 1)[1]}": log} | ({} if state is None else {model: state})
    _has(_run(shapes, Shape(model, checkpoints)), expected)


def test_before_the_log_is_built_a_state_shows_what_a_first_run_would_be(shapes: Shapes) -> None:
    run = _run(shapes, Shape("current_feed__full"))
    _has(run, FIRST | {"log_is_outdated": False})
    assert run["checkpoint"]["log"] == ""


def test_a_full_refresh_asks_for_the_checkpoint_that_it_replaces_before_it_writes(shapes: Shapes) -> None:
    shape = state_since("current", "full")
    run = _refreshed(shapes, shape)
    _has(run.run, FIRST)
    assert [sql.split(" from ")[-1] for sql in run.sent if "checkpoint" in sql and not sql.startswith("create")] == [
        "lake.dedup_feed__full__state where startswith(_checkpoint, '{')",
        "lake.current_feed__full__state",
    ]


OTHER = {"log": BATCH, "origin": BATCH, "batch": BATCH}
"""The checkpoint of another log than the state has followed; each holds 3 changes."""
REBUILT = {"log": BATCH, "origin": FIRST_BATCH, "batch": BATCH}
FOLLOWED = "it follows another log than before: lake.dedup_feed__full__state"
FEWER_CHANGES = f"{FOLLOWED} holds 2 changes, and the log before held 3; if the log was moved or renamed"
LOST_ROWS = f"{FOLLOWED} lacks the changes of 4 rows of lake.current_feed__full__state; if the log was moved"
SET_BACK = "its log was set back to an older version: lake.dedup_feed__full__state holds 2 changes, and the log before"
LOOKED_FOR = "^select count\\(\\*\\) as lost_rows from lake.current_feed__full__state as kept left anti join"

# what the log's checkpoint and the state's say, how many rows of the state have no change in the log -> what is said
LESSER: dict[str, tuple[dict[str, Any], dict[str, Any], int | None, str]] = {
    "the log that it has followed": ({"batch": BATCH}, {}, None, ""),
    "another log, with as many changes, and with those of the rows": (OTHER, {}, 0, ""),
    "another log with more changes, without those of some rows": (OTHER | {"held_changes": 9}, {}, 4, LOST_ROWS),
    "another log with fewer changes": (OTHER | {"held_changes": 2}, {}, None, FEWER_CHANGES),
    "a log that was rebuilt in its place": (REBUILT | {"held_changes": 2}, {}, None, ""),
    "a log that was rebuilt and retracted too many keys": (
        REBUILT | {"held_changes": 2, "rebuild": BATCH}, {}, None, "",
    ),
    "a log that has retracted too many keys": ({"batch": BATCH, "rebuild": BATCH, "held_changes": 2}, {}, None, ""),
    "a log that was set back": ({"held_changes": 2}, {"batch": BATCH}, None, SET_BACK),
    "a log that was set back, and has run since": (
        {"origin": BATCH, "batch": BATCH, "rebuild": BATCH, "held_changes": 2}, {}, None, SET_BACK,
    ),
    "a log that was set back, and has taken in again what it had": (
        {"origin": BATCH, "batch": BATCH, "rebuild": BATCH}, {}, 0, "",
    ),
}  # fmt: skip


# what the state's checkpoint says otherwise, the model -> whether it is built again
SWITCHED: dict[str, tuple[dict[str, Any], str, bool]] = {
    "kept as before": ({}, "kept_feed__{}", False),
    "dropped as before": ({}, "current_feed__{}", False),
    "kept from now on": ({"keeps_deleted": False}, "kept_feed__{}", True),
    "dropped from now on": ({"keeps_deleted": True}, "current_feed__{}", True),
}


@pytest.mark.parametrize("name", SWITCHED)
@pytest.mark.parametrize("images", ["full", "partial"])
def test_a_state_with_another_deletes_than_before_is_built_again(shapes: Shapes, images: str, name: str) -> None:
    state, model, is_built = SWITCHED[name]
    model = model.format(images)
    run = shapes.run(Shape(model, {f"dedup_feed__{images}": {"batch": BATCH, "extends": FIRST_BATCH}, model: state}))
    assert any(sql.startswith("create or replace table") for sql in run.sent) == is_built
    assert run.run["checkpoint"]["keeps_deleted"] == model.startswith("kept")
    (view,) = [sql for sql in run.sent if sql.startswith(f"create or replace view lake.{model}\n")]
    assert ("where _checkpoint is null and _has_row" in view) == model.startswith("kept")


def _refreshed(shapes: Shapes, shape: Shape) -> Run:
    """A full refresh of a state whose table can be asked what it has."""
    lake = shapes.lake(shape)
    state = f"lake.{shape.model}__state"
    told = [{"replaced_checkpoint": json.dumps(lake.checkpoints[state][-1]), "replaced_rows": 5}]
    lake = replace(
        lake,
        columns={**lake.columns, state: {"_checkpoint": "string"}},
        answers={f" as replaced_rows from {state}$": told, **lake.answers},
    )
    return shapes.project.run(shape.model, lake, variables=shape.variables, flags={"FULL_REFRESH": True})


@pytest.mark.parametrize("is_refresh", [False, True], ids=["a plain run", "a full refresh"])
@pytest.mark.parametrize("name", LESSER)
def test_a_log_that_lacks_what_a_state_has_folded_is_not_followed(shapes: Shapes, name: str, is_refresh: bool) -> None:
    log, state, lost, said = LESSER[name]
    answers: Answers = {} if lost is None else {LOOKED_FOR: [{"lost_rows": lost}]}
    shape = Shape("current_feed__full", {"dedup_feed__full": log, "current_feed__full": state}, answers)

    def run(shape: Shape) -> Run:
        return _refreshed(shapes, shape) if is_refresh else shapes.run(shape)

    if said:
        with pytest.raises(CompilationError) as refused:
            run(shape)
        assert f"change_tables: model 'current_feed__full': {said}" in str(refused.value)
        assert "or allow the loss with --vars '{change_tables_allow_loss: true}'" in str(refused.value)
    asked = run(replace(shape, variables={"change_tables_allow_loss": True}) if said else shape).sent
    assert any("lost_rows" in sql for sql in asked) == (lost is not None and not said)
    assert any(sql.startswith(("create or replace table", "merge")) for sql in asked)


# the log's checkpoint, the state's -> events may be late, since nothing says that all came in time
PERHAPS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "late changes": ({"batch": BATCH, "extends": None}, {}),
    "a state that lacks two batches": ({"batch": LATER, "extends": BATCH}, {}),
    "a log that was restored, and has taken in again what the state has": (
        {"batch": LATER, "extends": FIRST_BATCH}, {"batch": BATCH},
    ),
    "a load": (EXTENDED | {"loads": [""]}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", PERHAPS)
@pytest.mark.parametrize("model", ["history_feed__full", "current_feed__partial"])
def test_a_run_is_in_time_only_where_the_log_says_so(shapes: Shapes, name: str, model: str) -> None:
    log, state = PERHAPS[name]
    _has(_run(shapes, Shape(model, {f"dedup_{model.split('_', 1)[1]}": log, model: state})), ADDS | PERHAPS_LATE)


@pytest.mark.parametrize("log", [{}, MOVES], ids=["plain", "moves"])
@pytest.mark.parametrize("kind", ["current", "history"])
def test_a_first_run_of_full_images_follows_rows_where_keys_have_moved(
    shapes: Shapes, kind: str, log: dict[str, Any]
) -> None:
    run = shapes.run(Shape(f"{kind}_feed__full", {"dedup_feed__full": log}))
    _has(run.run, FIRST | {"folds": log == MOVES or kind == "history"})
    assert ("events_with_rows" in run.rendered) == (log == MOVES)


def _statements(run: Run) -> list[str]:
    """What a run sends that is about the events it keeps, and what it writes, by the words that it begins with."""
    return [sql.split("\n")[0] for sql in run.sent if re.search("__batch_[0-9]", sql) or sql.startswith("merge")]


@pytest.mark.parametrize("model", ["history_feed__full", "current_feed__partial"])
@pytest.mark.parametrize("log", [{}, MOVES, RESET, MOVES | RESET], ids=["plain", "moves", "reset", "moves and reset"])
@pytest.mark.parametrize("late", [0, 2])
def test_keys_are_replayed_only_where_a_look_at_the_kept_events_finds_late_ones(
    shapes: Shapes, model: str, log: dict[str, Any], late: int
) -> None:
    kind, _, entry = model.partition("_feed__")
    run = shapes.run(state_since(kind, entry, log, late=late))
    kept = f"lake.{model}__batch_20260131t120000000000_00000000"
    assert _statements(run) == [
        f"create table {kept} using parquet as",
        f"select count(*) as late from {kept} where _ct_is_late",
        *([f"insert into {kept}"] if late else []),
        f"merge into lake.{model}__state as target",
        f"drop table if exists {kept}",
    ]
    (merge,) = (sql for sql in run.sent if sql.startswith("merge"))
    assert ("where kept._ct_is_replayed or replayed_keys._ct_key is null" in merge) == (late > 0)
    assert ("stale_versions" in merge) == (late > 0 and kind == "history")
    assert "logged_changes" not in merge


@pytest.mark.parametrize(
    "model", ["current_feed__full", "current_feed__partial", "history_feed__full", "history_feed__partial"]
)
@pytest.mark.parametrize("log", [{}, MOVES, RESET, MOVES | RESET], ids=["plain", "moves", "reset", "moves and reset"])
def test_keys_of_which_something_was_retracted_are_replayed_whatever_came_late(
    shapes: Shapes, model: str, log: dict[str, Any]
) -> None:
    kind, _, entry = model.partition("_feed__")
    run = shapes.run(state_since(kind, entry, log | {"retracted_keys": RETRACTED_KEYS}))
    (replayed,) = (sql for sql in run.sent if sql.startswith("insert into"))
    assert "from_json('[-5, 7]', 'array<bigint>')" in replayed
    # a key that has no event left ends
    assert f"from lake.{model}__state as last_events" in replayed
    (merge,) = (sql for sql in run.sent if sql.startswith("merge"))
    assert "where kept._ct_is_replayed or replayed_keys._ct_key is null" in merge
    assert "target._change_seq" not in merge


def test_a_run_whose_events_all_come_in_time_keeps_none(shapes: Shapes) -> None:
    run = shapes.run(state_since("history", "partial", RESET | {"loads": []}))
    assert _statements(run) == ["merge into lake.history_feed__partial__state as target"]


# what the log's checkpoint and the state's say -> what is said; the declared columns are what they are
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
    checkpoint, said = REFUSED[name]
    shape = Shape("current_feed__full", {"dedup_feed__full": {"batch": BATCH}, "current_feed__full": checkpoint})
    with pytest.raises(CompilationError) as refused:
        _run(shapes, shape)
    assert (
        "change_tables: model 'current_feed__full': source 'feed.full' has changed since the model was built: "
        f"{said}; declare it as it was, or rebuild the log and the models after it with --full-refresh"
    ) in str(refused.value)
    _has(_run(shapes, shape, flags={"FULL_REFRESH": True}), FIRST)


def test_a_state_over_a_log_of_other_columns_writes_nothing(shapes: Shapes) -> None:
    shape = Shape("current_feed__full", {"dedup_feed__full": {"key": ["order"]}})
    with pytest.raises(CompilationError, match="has changed since the log that the model follows was built"):
        shapes.run(shape)


def test_what_a_model_hands_over_is_for_one_run_and_without_it_a_materialization_stops(shapes: Shapes) -> None:
    macro = shapes.project.macros("current_feed__full")
    _has(_run(shapes, Shape("current_feed__full")), FIRST)
    assert macro("handed_over")["statements"] == {}
    with pytest.raises(CompilationError) as refused:
        macro("handed_over")
    assert (
        "change_tables: model 'current_feed__full': its materialization does what deduplicated_changes, current_state,"
        " history or xds_documents finds to do; the model must call one of them"
    ) in str(refused.value)


def test_a_state_over_a_log_that_was_never_built_writes_nothing(shapes: Shapes) -> None:
    with pytest.raises(CompilationError, match="has not been built to its end; build that first"):
        shapes.run(Shape("current_feed__full"))


def test_each_row_of_a_current_model_says_which_run_wrote_it(shapes: Shapes) -> None:
    first = shapes.run(Shape("current_feed__full", {"dedup_feed__full": {}}))
    now = first.checkpoint["written"]
    assert first.checkpoint["built"] == now
    since = shapes.run(state_since("current", "full"))
    assert (since.checkpoint["written"], since.checkpoint["built"]) == (now, FIRST_BATCH)
    (merge,) = (sql for sql in since.sent if sql.startswith("merge"))
    assert f"'{now}' as _batch_id" in merge
    assert "_batch_id = source._batch_id" in merge
    assert not any("as _batch_id" in sql for sql in shapes.run(state_since("history", "full")).sent)


def test_a_run_that_began_before_the_last_one_that_wrote_leaves_the_news_to_the_next(shapes: Shapes) -> None:
    def kind(written: str) -> str:
        shape = Shape(
            "current_feed__full", {"dedup_feed__full": {"batch": BATCH}, "current_feed__full": {"written": written}}
        )
        return str(_run(shapes, shape)["kind"])

    assert kind(LATER) == "since"
    assert kind("20260131T120000000001_00000000") == "nothing new"


BEFORE = "20260129T120000000000_00000002"
WRITTEN = "20260131T110000000000_00000009"


def _changes(shapes: Shapes, shape: Shape, **given: Any) -> str:
    return shapes.project.render(shape.model, shapes.lake(shape), **given).rendered


def test_what_counts_as_taken_in_is_in_the_table_of_the_model_that_asks(shapes: Shapes) -> None:
    sql = _changes(shapes, changes_since(FIRST_BATCH))
    assert f"_batch_id > '{FIRST_BATCH}'\n    and _batch_id <= '{WRITTEN}'" in sql
    # rows of ended keys are there, with the key alone
    assert "_is_deleted, _batch_id\nfrom lake.current_feed__full__state" in sql
    assert "if(_is_deleted, null, fields) as fields" in sql
    assert "lake.changes" not in sql
    # a table without a row has taken in nothing
    for shape in (changes_since(None), Shape("changes", {"current_feed__full": {}}, columns={})):
        sql = _changes(shapes, shape)
        assert "and not _is_deleted\n    and _batch_id <= '" in sql
        assert "_batch_id >" not in sql


def test_what_a_rebuilt_state_lacks_is_found_by_the_keys_of_the_model_that_asks(shapes: Shapes) -> None:
    sql = _changes(shapes, changes_since(BEFORE))
    assert f"_batch_id > '{BEFORE}'" in sql
    assert (
        f"true as _is_deleted,\n    '{FIRST_BATCH}' as _batch_id\nfrom lake.changes as taken_in\nleft anti join" in sql
    )


def test_rows_of_ended_keys_that_are_kept_are_changes_as_they_are(shapes: Shapes) -> None:
    sql = _changes(shapes, changes_since(FIRST_BATCH, model="changes_of_kept"))
    assert "if(" not in sql
    first = _changes(shapes, Shape("changes_of_kept", {"kept_feed__full": {}}, columns={}))
    assert "and _has_row\n" in first


def test_changes_of_a_state_that_is_not_built_or_of_an_empty_run_are_none(shapes: Shapes) -> None:
    for shape, flags in ((Shape("changes", columns={}), {}), (changes_since(FIRST_BATCH), {"EMPTY": True})):
        sql = _changes(shapes, shape, flags=flags)
        assert sql.endswith("where false")
        assert "as _batch_id" in sql


# the run of a model -> what is said
NO_CHANGES: dict[str, tuple[Shape, str]] = {
    "a view": (
        Shape("changes_in_a_view", columns={}),
        "changes_since needs `materialized: incremental`, since the model's own table says what it has taken in, got"
        " 'view'",
    ),
    "another strategy": (
        Shape("changes_overwritten", columns={}),
        "changes_since needs `incremental_strategy` merge or append, which keep the rows that have not changed, got"
        " 'insert_overwrite'",
    ),
    "two models": (
        Shape("changes_of_two", {"current_feed__full": {}, "current_feed__partial": {}}, columns={}),
        "changes_since can be asked for one current model in a model, since its table has one `_batch_id`, got"
        " current_feed__full, current_feed__partial",
    ),
    "a log": (
        Shape("changes_of_a_log", columns={}),
        "changes_since must be given the `ref` of a current model, got lake.dedup_feed__full",
    ),
    "a history": (
        Shape("changes_of_a_history", columns={}),
        "changes_since must be given the `ref` of a current model, got lake.history_feed__full",
    ),
    "no batch in its table": (
        changes_since(FIRST_BATCH, {"order": "bigint"}),
        "its table must have the column _batch_id of changes_since (it says what the model has taken in); select that,"
        " and build the model with --full-refresh",
    ),
    "no key in its table": (
        changes_since(BEFORE, {"ORDER": "bigint", "_batch_id": "string"}),
        "its table must have the column it's of changes_since (the state of 'current_feed__full' was built whole since,"
        " and what it lost is found by its key); select that, and build the model with --full-refresh",
    ),
    "other columns": (
        changes_since(FIRST_BATCH, key=["order"]),
        "source 'feed.full' or the package has changed since 'current_feed__full' was built; build that first",
    ),
}


@pytest.mark.parametrize("name", NO_CHANGES)
def test_who_cannot_ask_for_changes_is_told_why(shapes: Shapes, name: str) -> None:
    shape, said = NO_CHANGES[name]
    with pytest.raises(CompilationError) as refused:
        _changes(shapes, shape)
    assert f"change_tables: model '{shape.model}': {said}" in str(refused.value)


def test_a_key_that_is_lost_is_asked_for_only_where_the_state_was_rebuilt(shapes: Shapes) -> None:
    assert "lake.changes" not in _changes(shapes, changes_since(FIRST_BATCH, {"_batch_id": "string"}))


TABLES = b"tables".hex()


def test_the_table_of_a_model_can_be_in_another_schema_which_its_view_says(shapes: Shapes) -> None:
    run = shapes.run(Shape("apart", {"dedup_feed__full": {}}))
    written = [sql for sql in run.sent if sql.startswith("create")]
    assert written[0] == "create schema if not exists tables"
    assert written[1].startswith("create or replace table tables.apart__state\n")
    assert written[2].startswith("create or replace view lake.apart\n")
    assert f"'change_tables.tables' = '{TABLES}'" in written[2]
    assert "from tables.apart__state\n" in written[2]
    beside = shapes.run(Shape("current_feed__full", {"dedup_feed__full": {}}))
    assert not any("change_tables.tables" in sql or "create schema" in sql for sql in beside.sent)


def test_who_reads_a_model_finds_its_table_by_the_view(shapes: Shapes) -> None:
    view = f"Type: VIEW\nTable Properties: [change_tables.tables={TABLES}]\n"
    lake = replace(shapes.lake(Shape("current_feed__full")), views={"lake.other": view})
    macro = shapes.project.macros("current_feed__full", lake)
    relation = shapes.project.context("current_feed__full", lake)["api"]["Relation"].create(
        schema="lake", identifier="other"
    )
    assert macro("state_relation", relation).render() == "tables.other__state"
    assert macro("batch_relation", relation, "b").render() == "tables.other__batch_b"
    assert macro("quarantine_relation", relation).render() == "lake.other__quarantine"


def test_a_table_that_is_in_another_schema_than_the_model_says_is_not_built_anew(shapes: Shapes) -> None:
    lake = shapes.lake(Shape("apart", {"dedup_feed__full": {}}))
    lake = replace(lake, views={"lake.apart": "Type: VIEW\n"}, tables=["lake.apart__state"])
    with pytest.raises(CompilationError) as refused:
        shapes.project.run("apart", lake)
    assert (
        "change_tables: model 'apart': its table is lake.apart__state, and it must be tables.apart__state by"
        " `tables_schema`: move it as docs/operations.md says, or build the model with --full-refresh"
    ) in str(refused.value)
    run = shapes.project.run("apart", lake, flags={"FULL_REFRESH": True})
    assert any(sql.startswith("create or replace table tables.apart__state") for sql in run.sent)


def test_models_that_would_write_one_table_are_named_before_the_first_runs(
    shapes: Shapes, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = shapes.project.context("apart", shapes.lake(Shape("apart")))
    mistakes = context["change_tables"]["_mistakes_of_tables_schemas"]
    context["graph"] = {"nodes": dict(context["graph"]["nodes"].items())}
    node = context["graph"]["nodes"]["model.consumer.apart"]
    assert mistakes() == []
    monkeypatch.setitem(node, "alias", "CURRENT_feed__full")
    assert mistakes() == []
    monkeypatch.setitem(node["config"], "meta", {"tables_schema": "Lake"})
    (said,) = mistakes()
    assert said.startswith("change_tables: models '")
    assert "would write one table, " in said
    assert {"'apart'", "'current_feed__full'"} <= set(said.split())
    monkeypatch.setitem(node["config"], "meta", {"tables_schema": 5})
    assert mistakes() == ["change_tables: model 'apart': `tables_schema` must be the name of a schema, got 5"]


@pytest.mark.parametrize(
    ("loads", "refused"),
    [
        (None, []),
        ([], []),
        (["2026013112"], []),
        (["40"], ["40"]),
        (["2026013112", "41", "42"], ["42"]),
        (["40", "2026013112"], ["40"]),
    ],
)
def test_as_of_fails_for_times_before_the_last_load_that_has_none(
    shapes: Shapes, loads: list[str] | None, refused: list[str]
) -> None:
    took_in = {"loads": loads}
    checkpoints = {} if loads is None else {"dedup_feed__full": took_in, "history_feed__full": took_in}
    rendered = shapes.run(Shape("as_of", checkpoints, columns={})).rendered
    assert re.findall(r"_valid_from_seq < '(\w+)'", rendered) == refused
    assert re.findall(r"raise_error\(.*the load at \\'(\w+)\\'", rendered) == refused
    assert rendered.count("raise_error") == len(refused)


def test_a_load_whose_time_was_declared_has_one_as_of_any_time(shapes: Shapes) -> None:
    timed = {"loads": ["40"], "load_times": {"40": "2026-01-31 12:00:00"}}
    checkpoints: Checkpoints = {"dedup_feed__full": timed, "history_feed__full": {"loads": ["40"]}}
    assert "raise_error" not in shapes.run(Shape("as_of", checkpoints, columns={})).rendered


def test_a_load_that_the_history_has_not_taken_in_changes_nothing_as_of_any_time(shapes: Shapes) -> None:
    checkpoints: Checkpoints = {"dedup_feed__full": {"loads": ["40"]}, "history_feed__full": {"loads": []}}
    assert "raise_error" not in shapes.run(Shape("as_of", checkpoints, columns={})).rendered
