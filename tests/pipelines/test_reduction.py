"""The rules by which deliveries of one change become one: a table of cases, and their algebra by random triples."""

from __future__ import annotations

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
        Delivery(("b",), "1", is_conflicting=True),
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
}
"""By what differs: deliveries, and the change that comes of them."""


@pytest.mark.parametrize("case", CASES)
def test_deliveries_come_to_one_change_in_whatever_order(case: str) -> None:
    deliveries, change = CASES[case]
    for order in permutations(deliveries):
        assert reduced(order) == change


texts = st.sampled_from(["a", "b", "c"])
perhaps = st.none() | texts
flags = st.booleans()
levels = st.tuples(st.integers(0, 1), st.integers(0, 1))
contents = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=3).map(tuple)
deliveries = st.builds(Delivery, contents, texts, levels, perhaps, perhaps, flags, flags)


@given(deliveries, deliveries, deliveries)
def test_joining_is_associative_commutative_and_idempotent(one: Delivery, two: Delivery, three: Delivery) -> None:
    assert joined(one, joined(two, three)) == joined(joined(one, two), three)
    assert joined(one, two) == joined(two, one)
    assert joined(one, one) == one


@given(st.lists(deliveries, min_size=1, max_size=6), st.data())
def test_any_split_into_batches_and_any_delivery_again_come_to_the_same(
    landed: list[Delivery], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(landed))
    again = data.draw(st.lists(st.sampled_from(landed)))
    log: Delivery | None = None
    for batch in [*([delivery] for delivery in order), again]:
        if batch:
            log = reduced([reduced(batch), *([log] if log else [])])
    assert log == reduced(landed)
