"""The rules by which deliveries of one change become one: a table of cases, and their algebra by random triples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .reduction import Delivery, joined, reduced

A, B = Delivery(("a",)), Delivery(("b",))
WHOLE, HALF = (1,), (0,)

CASES = {
    "again": ([A, A], A),
    "other_content": ([A, B], replace(B, is_conflicting=True)),
    "other_header_alone": ([replace(A, header="1"), replace(A, header="2")], replace(A, header="2")),
    "content_first": (
        [replace(A, header="2"), replace(B, header="1")],
        replace(B, header="1", is_conflicting=True),
    ),
    "conflict_that_was_seen": ([replace(B, is_conflicting=True), B], replace(B, is_conflicting=True)),
    "key_before_in_one": ([A, replace(A, key_before="1")], replace(A, key_before="1")),
    "two_keys_before": (
        [replace(A, key_before="1"), replace(A, key_before="2")],
        replace(A, key_before="2", is_conflicting=True),
    ),
    "report_in_all": ([replace(A, report="x"), replace(A, report="y")], replace(A, report="y")),
    "report_in_one": ([replace(A, report="x"), A], A),
    "more_complete": (
        [
            Delivery(("b",), completeness=HALF, key_before="1", report="x", is_conflicting=True),
            Delivery(("a",), completeness=WHOLE),
        ],
        Delivery(("a",), completeness=WHOLE),
    ),
    "less_complete_conflict": (
        [
            Delivery(("a",), completeness=HALF),
            Delivery(("b",), completeness=HALF),
            Delivery(("a",), completeness=WHOLE),
        ],
        Delivery(("a",), completeness=WHOLE),
    ),
    "column_declared_since": ([A, Delivery(("a", "x"), report="x")], Delivery(("a", "x"), report="x")),
    "column_declared_since_and_another_content": (
        [replace(B, report="y", key_before="1"), Delivery(("a", "x"))],
        Delivery(("a", "x"), key_before="1", is_conflicting=True),
    ),
    "report_of_fewer_columns": ([replace(A, report="x"), Delivery(("a", "x"))], Delivery(("a", "x"))),
    "retracted": ([A, replace(A, is_retracted=True)], replace(A, is_retracted=True)),
    "retracted_and_more_complete": (
        [Delivery(("a",), completeness=HALF, is_retracted=True), Delivery(("a",), completeness=WHOLE)],
        Delivery(("a",), completeness=WHOLE),
    ),
    "retracted_by_less": (
        [Delivery(("a",), completeness=HALF), Delivery(("a",), completeness=WHOLE, is_retracted=True)],
        Delivery(("a",), completeness=WHOLE, is_retracted=True),
    ),
    "column_lost_since": ([replace(A, lost="n"), A], replace(A, lost="n")),
    "column_lost_since_and_another_content": (
        [replace(A, lost="n"), B],
        Delivery(("b",), "n", is_conflicting=True),
    ),
    "column_lost_since_and_another_declared": (
        [replace(A, lost="n"), Delivery(("a", "x"))],
        Delivery(("a", "x"), "n"),
    ),
    "key_before_that_lands_without_the_column": (
        [replace(A, lost="n"), replace(A, key_before="1")],
        Delivery(("a",), "n", key_before="1"),
    ),
    "more_complete_without_the_column": (
        [Delivery(("b",), "n", completeness=HALF), Delivery(("a",), completeness=WHOLE)],
        Delivery(("a",), "n", completeness=WHOLE),
    ),
    "less_complete_without_the_column": (
        [Delivery(("a",), "n", completeness=WHOLE), Delivery(("b",), completeness=HALF)],
        Delivery(("a",), "n", completeness=WHOLE),
    ),
    "mask_read_by_other_places": (
        [replace(A, report="x"), replace(B, places=1, header="1", key_before="1")],
        replace(A, key_before="1"),
    ),
}
"""By what differs: deliveries, and the change that comes of them."""


@pytest.mark.parametrize("case", CASES)
def test_deliveries_come_to_one_change_in_whatever_order(case: str) -> None:
    deliveries, change = CASES[case]
    for order in permutations(deliveries):
        assert reduced(order) == change


texts = st.sampled_from(["a", "b", "c"])
perhaps = st.none() | texts
levels = st.tuples(st.integers(0, 1), st.integers(0, 1))
contents = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=3).map(tuple)
deliveries = st.builds(
    Delivery,
    contents,
    header=texts,
    completeness=levels,
    key_before=perhaps,
    report=perhaps,
    is_conflicting=st.booleans(),
    is_retracted=st.booleans(),
)
triples = st.tuples(deliveries, deliveries, deliveries)


def _with_column(those: Iterable[Delivery], values: Iterable[str]) -> list[Delivery]:
    return [replace(delivery, lost=value) for delivery, value in zip(those, values, strict=False)]


def _in_batches(landed: list[Delivery], log: Delivery | None, data: st.DataObject) -> Delivery | None:
    """What a log comes to that takes these in by batches, and some of them again."""
    order = data.draw(st.permutations(landed))
    again = data.draw(st.lists(st.sampled_from(landed)))
    for batch in [*([delivery] for delivery in order), again]:
        if batch:
            log = reduced([*([log] if log else []), reduced(batch)])
    return log


# all have the column that raw loses, or the log alone, or none
@given(triples | st.builds(_with_column, triples, st.tuples(texts, texts, texts)), st.none() | texts)
def test_joining_is_associative_commutative_and_idempotent(three: Sequence[Delivery], logged: str | None) -> None:
    if three[0].lost is None:
        three = [replace(three[0], lost=logged), *three[1:]]
    for one, two, last in permutations(three):
        assert joined(one, joined(two, last)) == joined(joined(one, two), last)
        assert joined(one, two) == joined(two, one)
        assert joined(one, one) == one


@given(st.lists(deliveries, min_size=1, max_size=6), st.data())
def test_any_split_into_batches_and_any_delivery_again_come_to_the_same(
    landed: list[Delivery], data: st.DataObject
) -> None:
    assert _in_batches(landed, None, data) == reduced(landed)


@given(
    st.lists(deliveries, min_size=1, max_size=3),
    st.lists(texts, min_size=3, max_size=3),
    st.lists(deliveries, min_size=1, max_size=4),
    st.data(),
)
def test_so_do_they_where_raw_loses_a_column_between_two_batches(
    before: list[Delivery], values: list[str], after: list[Delivery], data: st.DataObject
) -> None:
    landed = _with_column(before, values)
    logged = reduced(landed)
    log = _in_batches(after, _in_batches(landed, None, data), data)
    assert log == joined(logged, reduced(after))
    assert log is not None
    assert log.lost == logged.lost


@given(deliveries, st.lists(deliveries, min_size=1, max_size=4))
def test_masks_that_are_read_by_other_places_do_not_change_what_is_logged_in_whatever_batches(
    logged: Delivery, after: list[Delivery]
) -> None:
    landed = [
        replace(delivery, content=delivery.content[:1], places=1, completeness=logged.completeness)
        for delivery in after
    ]
    change = joined(logged, reduced(landed))
    assert (change.content, change.header, change.places) == (logged.content, logged.header, 0)
    log = logged
    for number in range(1, len(landed) + 1):  # what has landed of a change is read together, and so again
        log = joined(log, reduced(landed[:number]))
    assert log == change
