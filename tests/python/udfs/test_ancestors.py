"""Chains of links, against a walk along each."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.ancestors import first_ancestors

NAMES = st.lists(st.integers(0, 30), unique=True, max_size=30)


def trace(names: list[str | None], parents: list[str | None]) -> list[str | None]:
    ancestors = first_ancestors(*(pa.array([texts], pa.list_(pa.string())) for texts in (names, parents)))
    ancestors.validate(full=True)
    (traced,) = ancestors.to_pylist()
    return list(traced)


@given(NAMES)
def test_a_name_is_traced_to_the_end_of_its_chain(numbers: list[int]) -> None:
    # a parent is a smaller number, so that there are no rings
    parents = {number: (number * 7 + 3) % number if number and number % 3 else None for number in numbers}
    expected = []
    for number in numbers:
        ancestor = number
        while (parent := parents.get(ancestor)) is not None:
            ancestor = parent
        expected.append(str(ancestor))
    parent_names = [None if parents[number] is None else str(parents[number]) for number in numbers]
    assert trace([str(number) for number in numbers], parent_names) == expected


def test_a_long_chain_is_no_deep_recursion() -> None:
    names: list[str | None] = [str(number) for number in range(1, 100_001)]
    parents: list[str | None] = [str(number) for number in range(100_000)]
    assert set(trace(names[::-1], parents[::-1])) == {"0"}


def test_a_ring_ends_and_what_hangs_on_it_is_traced_into_it() -> None:
    assert trace(["a", "b", "c"], ["b", "a", "b"]) == ["a", "b", "b"]


def test_columns_of_another_type_are_a_wrong_call() -> None:
    with pytest.raises(TypeError, match=r"first_ancestors: `names` must be array<string>, got list<.*int64>"):
        first_ancestors(pa.array([[1]]), pa.array([["a"]]))
