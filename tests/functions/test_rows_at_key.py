"""Rows that share a key for a while: the cases of section 6 of docs/semantics.md, and a slow queue for any others."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from change_tables.udfs.rows_at_key import rows_at_key

EFFECTS = ("adds", "takes", "sets", "empties")


class Event(NamedTuple):
    """What happens at the key."""

    change_id: str | None
    effect: str | None
    transaction_id: str | None = None


class About(NamedTuple):
    """What the function says of an event."""

    row_id: str | None
    takes_covered_row: bool = False
    covered_by: str | None = None


def about(events: list[Event]) -> list[About]:
    lists = ([event[place] for event in events] for place in range(3))
    rows = rows_at_key(*(pa.array([texts], pa.list_(pa.string())) for texts in lists))
    rows.validate(full=True)
    (found,) = rows.to_pylist()
    return [About(**row) for row in found]


CASES: dict[str, tuple[list[Event], list[About]]] = {
    "no event": ([], []),
    "changes of one row": (
        [Event("a", "sets", "1"), Event("b", "sets", "2"), Event("c", "takes", "3")],
        [About("a"), About("a"), About("a")],
    ),
    "a row after the end of another": (
        [Event("a", "sets"), Event("b", "takes"), Event("c", "sets"), Event("d", "sets")],
        [About("a"), About("a"), About("c"), About("c")],
    ),
    "an end that finds no row": ([Event("a", "takes"), Event("b", "takes")], [About(None), About(None)]),
    "an exchange: the row that came first leaves first": (
        [Event("a", "sets"), Event("b", "adds", "T"), Event("c", "takes", "T"), Event("d", "sets")],
        [About("a"), About("b"), About("a", takes_covered_row=True), About("b")],
    ),
    "the other key of an exchange": (
        [Event("a", "sets"), Event("b", "takes", "T"), Event("c", "adds", "T")],
        [About("a"), About("a"), About("c")],
    ),
    "a delete takes the row that came first, too": (
        [Event("a", "sets", "T"), Event("b", "adds", "T"), Event("c", "takes", "T"), Event("d", "takes", "T")],
        [About("a"), About("b"), About("a", takes_covered_row=True), About("b")],
    ),
    "a change within an exchange is about the row that came last": (
        [Event("a", "sets"), Event("b", "adds", "T"), Event("c", "sets", "T"), Event("d", "takes", "T")],
        [About("a"), About("b"), About("b"), About("a", takes_covered_row=True)],
    ),
    "three rows at once": (
        [Event("a", "adds", "T"), Event("b", "adds", "T"), Event("c", "adds", "T"), Event("d", "takes", "T")],
        [About("a"), About("b", covered_by="c"), About("c"), About("a", takes_covered_row=True)],
    ),
    "a collision: nothing ended the row that was there": (
        [Event("a", "sets"), Event("b", "adds", "T"), Event("c", "sets", "U")],
        [About("a", covered_by="b"), About("b"), About("b")],
    ),
    "a collision at the end of what is known": (
        [Event("a", "sets"), Event("b", "adds", "T")],
        [About("a", covered_by="b"), About("b")],
    ),
    "a row that is covered does not leave in another transaction": (
        [Event("a", "sets"), Event("b", "adds", "T"), Event("c", "takes", "U")],
        [About("a", covered_by="b"), About("b"), About("b")],
    ),
    "changes without a transaction are each in one of its own": (
        [Event("a", "sets"), Event("b", "adds"), Event("c", "takes")],
        [About("a", covered_by="b"), About("b"), About("b")],
    ),
    "a transaction that another interrupts is two": (
        [Event("a", "sets"), Event("b", "adds", "T"), Event("c", "sets", "U"), Event("d", "takes", "T")],
        [About("a", covered_by="b"), About("b"), About("b"), About("b")],
    ),
    "a truncate leaves no row": (
        [Event("a", "sets", "T"), Event("b", "empties", "T"), Event("c", "takes", "T"), Event("d", "sets", "T")],
        [About("a"), About("a"), About(None), About("d")],
    ),
    "a truncate within an exchange: only the newest row was left": (
        [Event("a", "sets"), Event("b", "adds", "T"), Event("c", "empties", "T"), Event("d", "takes", "T")],
        [About("a", covered_by="b"), About("b"), About("b"), About(None)],
    ),
    "a load has no change": ([Event("a", "sets"), Event(None, "empties")], [About("a"), About("a")]),
    "an effect that is not said sets the row": ([Event("a", None), Event("b", None)], [About("a"), About("a")]),
}


@pytest.mark.parametrize("case", CASES)
def test_whose_row_each_event_is_about(case: str) -> None:
    events, expected = CASES[case]
    assert about(events) == expected


@given(st.lists(st.tuples(st.sampled_from(EFFECTS), st.sampled_from([None, "T", "U"])), max_size=30))
def test_any_events_are_as_a_queue_says(told: list[tuple[str, str | None]]) -> None:
    events = [Event(str(number), *event) for number, event in enumerate(told)]
    covered: dict[str, str] = {}

    def close(queue: list[str]) -> list[str]:
        covered.update(pairwise(queue))
        return queue[-1:]

    queue: list[str] = []
    expected: list[About] = []
    for number, (change_id, effect, transaction) in enumerate(events):
        assert change_id is not None
        if (
            effect == "empties"
            or transaction is None
            or number == 0
            or events[number - 1].transaction_id != transaction
        ):
            queue = close(queue)
        if effect == "adds" or (effect == "sets" and not queue):
            queue = [*queue, change_id]
            expected.append(About(change_id))
        elif effect == "sets":
            expected.append(About(queue[-1]))
        else:
            expected.append(About(queue[0] if queue else None, effect == "takes" and len(queue) > 1))
            queue = queue[1:]
    close(queue)
    brought = {event.change_id for event, row in zip(events, expected, strict=True) if event.change_id == row.row_id}
    assert about(events) == [
        row._replace(covered_by=covered.get(event.change_id or "") if event.change_id in brought else None)
        for event, row in zip(events, expected, strict=True)
    ]


@pytest.mark.parametrize("effects", [("adds",), ("adds", "takes"), ("sets",), ("adds", "adds", "takes")])
def test_a_key_with_a_hundred_thousand_events_is_done_in_a_moment(effects: tuple[str, ...]) -> None:
    events = [Event(str(number), effects[number % len(effects)], "T") for number in range(100_000)]
    began = time.process_time()
    assert len(about(events)) == 100_000
    assert time.process_time() - began < 5


def test_each_key_has_its_own_events_and_lists_that_do_not_fit_are_null() -> None:
    lists = ([["a"], None, ["b", "c"], [], ["d"]], [["adds"]] * 2 + [["adds", "takes"], [], ["adds", "adds"]])
    ids, effects = (pa.array(texts, pa.list_(pa.string())) for texts in lists)
    found = rows_at_key(ids, effects, pa.array([["T"], ["T"], ["T", "T"], [], ["T"]]))
    found.validate(full=True)
    assert [rows and [row["row_id"] for row in rows] for rows in found.to_pylist()] == [
        ["a"],
        None,
        ["b", "b"],
        [],
        None,
    ]


def test_columns_of_another_type_are_a_wrong_call() -> None:
    with pytest.raises(TypeError, match=r"rows_at_key: `effects` must be array<string>, got string"):
        rows_at_key(pa.array([["a"]]), pa.array(["adds"]), pa.array([["T"]]))
