"""Links between names, against slow and obvious ways to follow them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from change_tables.udfs.links import first_ancestors, reached_names

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


def reach(starts: list[str | None], links: list[tuple[str | None, str | None]]) -> list[str]:
    lists = (starts, [name for name, _ in links], [other for _, other in links])
    reached = reached_names(*(pa.array([texts], pa.list_(pa.string())) for texts in lists))
    reached.validate(full=True)
    (found,) = reached.to_pylist()
    return list(found)


@given(st.sets(st.integers(0, 12)), st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=15))
def test_what_links_connect_is_reached_in_both_directions(starts: set[int], links: list[tuple[int, int]]) -> None:
    expected = set(starts)
    for _ in links:
        for link in links:
            if expected & set(link):
                expected |= set(link)
    found = reach([str(number) for number in starts], [(str(name), str(other)) for name, other in links])
    assert len(found) == len(set(found))
    assert set(found) == {str(number) for number in expected}


def test_a_long_chain_is_reached_to_its_end() -> None:
    assert len(reach(["100000"], [(str(number), str(number + 1)) for number in range(100_000)])) == 100_001


def test_a_key_with_many_links_is_looked_at_once() -> None:
    assert len(reach(["hub"], [("hub", str(number % 50_000)) for number in range(200_000)])) == 50_001


def test_links_to_nothing_reach_nothing() -> None:
    assert reach(["a", None], [("a", None), (None, "b")]) == ["a"]
