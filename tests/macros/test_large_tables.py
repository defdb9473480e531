"""When a table begins to use deletion vectors instead of writing its files again."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from .rendering import Answers, Rows
from .shapes import ANSWERS, LOOK, REDUCED, SCHEMA, Shape, Shapes, state_since
from .test_views import views_left_by

LOG, STATE = "dedup_feed__qlik", "current_feed__full"
USE_DELETION_VECTORS = "alter table {}.{}__state set tblproperties ('delta.enableDeletionVectors' = 'true')"
LARGE = 250_000


def _in_time(lowest: int) -> dict[str, Rows]:
    """A batch whose changes come after all that the log has where `lowest` is 30, and before where it is 5."""
    found = {name: f"2026013112000025{number:019d}" for name, number in (("lowest_seq", lowest), ("highest_seq", 32))}
    landed = {"_ct_lowest_seq": found["lowest_seq"]}
    return {
        LOOK: [{**ANSWERS[LOOK][0], **landed}],
        REDUCED: [{**ANSWERS[REDUCED][0], **found}],
        "as changes,": [{**ANSWERS["as changes,"][0], **found}],
    }


def _sent(shapes: Shapes, shape: Shape) -> list[str]:
    """The statements that change the table."""
    return [sql for sql in shapes.run(shape).sent if re.match(r"alter table|merge into|insert into", sql)]


@pytest.mark.parametrize("model", [LOG, STATE, "history_feed__full"])
def test_a_new_table_has_no_deletion_vectors(shapes: Shapes, model: str) -> None:
    checkpoints: dict[str, dict[str, Any]] = {} if model == LOG else {"dedup_feed__full": {"changes": 10 * LARGE}}
    made = next(sql for sql in shapes.run(Shape(model, checkpoints)).sent if sql.startswith("create or replace table"))
    assert "'delta.enableDeletionVectors' = 'false'" in made


def test_documents_use_deletion_vectors_since_their_first_file_has_the_checkpoint(shapes: Shapes) -> None:
    logs = {f"dedup_feed__{name}": dict[str, Any]() for name in ("events", "events_multi_valued")}
    (made,) = [sql for sql in shapes.run(Shape("documents", logs)).sent if sql.startswith("create or replace table")]
    assert "'delta.enableDeletionVectors' = 'true'" in made


# how many changes the log has, the lowest sequence of a batch that adds one where that is 5, else three -> whether the
# log comes to use deletion vectors
LOGS: dict[str, tuple[int, int, bool]] = {
    "a small one that is merged into": (LARGE - 2, 5, False),
    "one that becomes large by this batch": (LARGE - 1, 5, True),
    "one that becomes large as it is only added to": (LARGE - 3, 30, True),
    "a large one that is merged into": (LARGE, 5, False),
    "a large one that is only added to": (LARGE, 30, False),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_uses_deletion_vectors_once_a_run_leaves_it_large(shapes: Shapes, name: str) -> None:
    changes, lowest, comes_to_use_them = LOGS[name]
    sent = _sent(shapes, Shape(LOG, {LOG: {"held_changes": changes}}, _in_time(lowest)))
    assert [sql for sql in sent if sql.startswith("alter")] == [
        USE_DELETION_VECTORS.format(SCHEMA, LOG)
    ] * comes_to_use_them
    assert sent[-1].startswith("insert" if lowest == 30 else "merge")


@pytest.mark.parametrize(("changes", "comes_to_use_them"), [(LARGE - 1, False), (LARGE, True)])
def test_a_log_that_is_built_large_uses_deletion_vectors(shapes: Shapes, changes: int, comes_to_use_them: bool) -> None:
    found = {"as changes,": [{**ANSWERS["as changes,"][0], "changes": changes}]}
    sent = [sql for sql in _sent(shapes, Shape(LOG, {}, found)) if sql.startswith("alter")]
    assert sent == [USE_DELETION_VECTORS.format(SCHEMA, LOG)] * comes_to_use_them


# the rows of a state before a run that adds two (None: not known, so they are counted), and after -> comes to use them
STATES: dict[str, tuple[int | None, int, bool]] = {
    "a small one": (LARGE - 3, LARGE - 1, False),
    "one that becomes large by this run": (LARGE - 2, LARGE, True),
    "one that was large before": (LARGE, LARGE + 2, False),
    "a small one that is counted": (None, LARGE - 1, False),
    "a large one that is counted": (None, LARGE, True),
}


def _written_rows(rows: int) -> Answers:
    return {" as written_rows from": [{"written_rows": rows + 1}]}


@pytest.mark.parametrize("kind", ["current", "history"])
@pytest.mark.parametrize("name", STATES)
def test_a_state_uses_deletion_vectors_once_a_run_leaves_it_large(shapes: Shapes, name: str, kind: str) -> None:
    before, after, comes_to_use_them = STATES[name]
    shape = state_since(kind, "full")
    first = Shape(shape.model, {"dedup_feed__full": {}}, _written_rows(before or 0))
    views = {} if before is None else views_left_by(shapes.run(first, run=1))
    lake = replace(shapes.lake(replace(shape, answers={**shape.answers, **_written_rows(after)})), views=views)
    sent = shapes.project.run(shape.model, lake).sent
    assert [" as written_rows from" in sql for sql in sent].count(True) == (before is None)
    use_them = USE_DELETION_VECTORS.format(SCHEMA, shape.model)
    assert [sql for sql in sent if sql.startswith("merge") or sql == use_them] == [
        next(sql for sql in sent if sql.startswith("merge"))
    ] + [use_them] * comes_to_use_them


@pytest.mark.parametrize(("rows", "comes_to_use_them"), [(LARGE - 1, False), (LARGE, True)])
def test_a_state_that_is_built_large_uses_deletion_vectors(shapes: Shapes, rows: int, comes_to_use_them: bool) -> None:
    sent = _sent(shapes, Shape(STATE, {"dedup_feed__full": {}}, _written_rows(rows)))
    assert sent == [USE_DELETION_VECTORS.format(SCHEMA, STATE)] * comes_to_use_them
