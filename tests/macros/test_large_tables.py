"""When a table begins to use deletion vectors instead of writing its files again."""

from __future__ import annotations

import re
from typing import Any

import pytest

from .rendering import Rows
from .shapes import ANSWERS, LOOK, REDUCED, SCHEMA, Shape, Shapes, state_since

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
    """What is sent from the first statement that changes the table on, with the one that asks for its rows."""
    sent = shapes.run(shape).sent
    return [sql for sql in sent if re.match(r"alter table|merge into|insert into|select count\(\*\) from", sql)]


@pytest.mark.parametrize("model", [LOG, STATE, "history_feed__full"])
def test_a_new_table_has_no_deletion_vectors(shapes: Shapes, model: str) -> None:
    checkpoints: dict[str, dict[str, Any]] = {} if model == LOG else {"dedup_feed__full": {"changes": 10 * LARGE}}
    made = next(sql for sql in shapes.run(Shape(model, checkpoints)).sent if sql.startswith("create or replace table"))
    assert "'delta.enableDeletionVectors' = 'false'" in made


def test_documents_use_deletion_vectors_since_their_first_file_has_the_checkpoint(shapes: Shapes) -> None:
    logs = {f"dedup_feed__{name}": dict[str, Any]() for name in ("events", "events_multi_valued")}
    (made,) = [sql for sql in shapes.run(Shape("documents", logs)).sent if sql.startswith("create or replace table")]
    assert "'delta.enableDeletionVectors' = 'true'" in made


# the log's checkpoint, the lowest sequence of the batch -> whether the log comes to use deletion vectors
LOGS: dict[str, tuple[dict[str, Any], int, bool]] = {
    "a small one that is merged into": ({"changes": LARGE - 3}, 5, False),
    "one that becomes large by this batch": ({"changes": LARGE - 2}, 5, True),
    "a large one that is merged into": ({"changes": 10 * LARGE, "uses_deletion_vectors": False}, 5, True),
    "one that uses them already": ({"changes": 10 * LARGE, "uses_deletion_vectors": True}, 5, False),
    "a large one that is only added to": ({"changes": 10 * LARGE}, 30, False),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_large_log_uses_deletion_vectors_from_its_first_merge_on(shapes: Shapes, name: str) -> None:
    checkpoint, lowest, comes_to_use_them = LOGS[name]
    sent = _sent(shapes, Shape(LOG, {LOG: checkpoint}, _in_time(lowest)))
    assert [sql for sql in sent if sql.startswith("alter")] == [
        USE_DELETION_VECTORS.format(SCHEMA, LOG)
    ] * comes_to_use_them
    assert sent[-1].startswith("insert" if lowest == 30 else "merge")
    assert ('"uses_deletion_vectors": true' in sent[-1]) == (
        comes_to_use_them or checkpoint.get("uses_deletion_vectors", False)
    )


# changes of the log, at how many the state was counted, its rows (None: not asked) -> comes to use them, counted
STATES: dict[str, tuple[int, int, int | None, bool, int]] = {
    "a small log": (LARGE - 1, 0, None, False, 0),
    "a large log, a small state": (LARGE, 0, LARGE - 1, False, LARGE),
    "a large log, a large state": (LARGE, 0, LARGE, True, LARGE),
    "counted, and not twice as large": (2 * LARGE - 1, LARGE, None, False, LARGE),
    "counted, and twice as large": (2 * LARGE, LARGE, LARGE - 1, False, 2 * LARGE),
}


@pytest.mark.parametrize("kind", ["current", "history"])
@pytest.mark.parametrize("name", STATES)
def test_a_state_is_counted_when_its_log_is_large_and_when_it_is_twice_as_large(
    shapes: Shapes, name: str, kind: str
) -> None:
    changes, counted, rows, comes_to_use_them, then_counted = STATES[name]
    model = f"{kind}_feed__full"
    shape = state_since(kind, "full", {"changes": changes})
    checkpoints = shape.checkpoints | {model: {"counted": counted}}
    asked = rf"^select count\(\*\) from {SCHEMA}\.{model}__state$"
    sent = _sent(shapes, Shape(model, checkpoints, {} if rows is None else {asked: [{"rows": rows}]}))
    assert [bool(re.search(asked, sql)) for sql in sent].count(True) == (rows is not None)
    assert [sql for sql in sent if sql.startswith("alter")] == [
        USE_DELETION_VECTORS.format(SCHEMA, model)
    ] * comes_to_use_them
    assert sent[-1].startswith("merge")
    assert f'"counted": {then_counted}' in sent[-1]


def test_a_state_that_is_rebuilt_is_counted_by_the_next_run(shapes: Shapes) -> None:
    log = {"batch": "20260131T110000000000_00000009", "changes": LARGE, "log": "another"}
    run = shapes.run(Shape(STATE, {"dedup_feed__full": log, STATE: {"counted": LARGE}}))
    assert run.run["kind"] == "first"
    assert run.checkpoint["counted"] == 0
    assert not [sql for sql in run.sent if sql.startswith("select count(*) from")]
