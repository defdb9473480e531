"""Extents, by the page on OpenEdge CDC."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.extents import ELEMENTS, join_extent, split_extent

Elements = list[str | None]
ELEMENT_TEXTS = st.none() | st.text(alphabet="ab;~? \nä", max_size=4) | st.text(max_size=4)


def split(texts: list[str | None], extents: list[int | None]) -> list[Elements | None]:
    elements = split_extent(pa.array(texts, pa.string()), pa.array(extents, pa.int32()))
    elements.validate(full=True)
    assert elements.type == ELEMENTS
    found: list[Elements | None] = elements.to_pylist()
    return found


CASES: list[tuple[str | None, int | None, Elements | None]] = [
    (None, None, None),
    (None, 2, None),
    ("a;b", 2, ["a", "b"]),
    ("a;b", None, ["a", "b"]),
    ("a", 1, ["a"]),
    # escapes
    ("a~;b", 1, ["a;b"]),
    ("a~;b;c", 2, ["a;b", "c"]),
    ("~~;b", 2, ["~", "b"]),
    ("~~~;", 1, ["~;"]),
    ("~?;?", 2, ["?", None]),
    ("a?;??", 2, ["a?", "??"]),
    (" ; b", 2, [" ", " b"]),
    ("line\nfeed;~~\n", 2, ["line\nfeed", "~\n"]),
    # the declared extent decides
    ("", 1, [""]),
    ("", None, [""]),
    (";", 1, [""]),
    (";", 2, ["", ""]),
    ("a;", 1, ["a"]),
    ("a;", 2, ["a", ""]),
    ("a;", None, ["a", ""]),
    ("~~;", 1, ["~"]),
    ("?", 1, [None]),
    ("?", 3, [None, None, None]),
    ("?", None, [None]),
    ("?;", 1, [None]),
    ("?;", 2, [None, ""]),
    # and no text is made to fit it
    ("", 2, None),
    ("a", 2, None),
    ("~?", 2, None),
    ("a;b", 1, None),
    ("a;b;", 1, None),
    ("a;b~;", 1, None),
    ("a~b", 1, None),
    ("a~", 1, None),
    ("a~;b;c~", 2, None),
    ("a", 0, None),
    ("a", -1, None),
]


@pytest.mark.parametrize(("text", "extent", "expected"), CASES)
def test_a_text_is_split_as_the_page_says(text: str | None, extent: int | None, expected: Elements | None) -> None:
    assert split([text], [extent]) == [expected]


def test_one_batch_holds_any_texts_and_extents() -> None:
    texts = [text for text, _, _ in CASES] * 3
    extents = [extent for _, extent, _ in CASES] * 3
    assert split(texts, extents) == [expected for _, _, expected in CASES] * 3


@given(st.lists(st.lists(ELEMENT_TEXTS, min_size=1, max_size=5), max_size=8))
def test_what_was_joined_is_split_into_the_same_elements(rows: list[Elements]) -> None:
    texts: list[str | None] = [join_extent(elements) for elements in rows]
    assert split(texts, [len(elements) for elements in rows]) == rows
    assert split(texts, [None] * len(rows)) == rows


def test_no_rows_are_split_into_none() -> None:
    assert split([], []) == []


def test_a_slice_of_an_array_is_split_as_it_stands() -> None:
    texts = pa.array(["x", "a;b", "c~;d;e", "y"])[1:3]
    assert split_extent(texts, pa.array([9, 2, 2, 9])[1:3]).to_pylist() == [["a", "b"], ["c;d", "e"]]


def test_bytes_that_are_not_utf_8_yield_null() -> None:
    texts = pa.array([b"a;b", b"\xff~;"], pa.binary()).view(pa.string())
    assert split_extent(texts, pa.array([2, 1])).to_pylist() == [["a", "b"], None]


def test_columns_of_another_type_are_a_wrong_call() -> None:
    with pytest.raises(TypeError, match="split_extent: `extent_text` must be string, got int64"):
        split_extent(pa.array([1]), pa.array([1]))
    with pytest.raises(TypeError, match="split_extent: `extent` must be an integer, got string"):
        split_extent(pa.array(["a"]), pa.array(["1"]))
