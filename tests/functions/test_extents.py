"""Extents, by the page on OpenEdge CDC."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from change_tables.udfs.extents import ELEMENTS, join_extent, split_extent

Elements = list[str | None]
ELEMENT_TEXTS = (
    st.none() | st.text(alphabet="a~;?", max_size=4) | st.text(alphabet="ab;~? \nä", max_size=4) | st.text(max_size=4)
)


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
    ("~~~;", 1, ["~;"]),
    ("~~~;", None, ["~;"]),
    # a `~` that escapes nothing is data
    ("aa~aa", 1, ["aa~aa"]),
    ("aa~aa", None, ["aa~aa"]),
    ("aa~", 1, ["aa~"]),
    ("a~;b;c~", 2, ["a;b", "c~"]),
    ("~a;~~~b", 2, ["~a", "~~b"]),
    ("~\n;~ä", 2, ["~\n", "~ä"]),
    ("a;b~;", 1, None),
    ("a;b~;", 2, ["a", "b;"]),
    # `~~;` ends its element, or does not: the declared extent decides
    ("~~;b", 2, ["~", "b"]),
    ("~~;b", 1, ["~;b"]),
    ("~~;b", None, None),
    ("aa~~;aa;b", 2, ["aa~;aa", "b"]),
    ("aa~~;aa;b", 3, ["aa~", "aa", "b"]),
    ("aa~~;aa;b", 1, None),
    ("aa~~;aa;b", 4, None),
    ("~~;", 1, ["~;"]),
    ("~~;", 2, ["~", ""]),
    ("~~~~;?", 1, ["~~;?"]),
    ("~~~~;?", 2, ["~~", None]),
    ("?;~~;?;", 3, [None, "~;?", ""]),
    ("?;~~;?;", 4, [None, "~", None, ""]),
    ("?;~~;?;", 2, [None, "~;?"]),
    ("a~~;b~~;c", 1, ["a~;b~;c"]),
    ("a~~;b~~;c", 2, None),
    ("a~~;b~~;c", 3, ["a~", "b~", "c"]),
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
    ("a~b", 2, None),
    ("a", 0, None),
    ("a", -1, None),
]


@pytest.mark.parametrize(("text", "extent", "expected"), CASES)
def test_a_text_is_split_as_the_page_says(text: str | None, extent: int | None, expected: Elements | None) -> None:
    assert split([text], [extent]) == [expected]


def test_a_text_of_many_readings_is_split_as_fast_as_any() -> None:
    assert split(["~~;" * 5000 + "b"] * 3, [1, 2500, 5001]) == [["~;" * 5000 + "b"], None, ["~"] * 5000 + ["b"]]


def test_one_batch_holds_any_texts_and_extents() -> None:
    texts = [text for text, _, _ in CASES] * 3
    extents = [extent for _, extent, _ in CASES] * 3
    assert split(texts, extents) == [expected for _, _, expected in CASES] * 3


def readings(text: str) -> list[Elements]:
    """All readings of a shown text, character by character, as the page says."""

    def element(shown: str, value: str) -> str | None:
        return None if shown == "?" else value

    def read(rest: str, shown: str, value: str) -> list[Elements]:
        if not rest:
            return [[element(shown, value)]]
        if rest.startswith("~~;"):
            ends = [[element(shown + "~~", value + "~"), *further] for further in read(rest[3:], "", "")]
            return ends + read(rest[3:], shown + "~~;", value + "~;")
        if rest[0] == ";":
            return [[element(shown, value), *further] for further in read(rest[1:], "", "")]
        if rest[:2] in ("~~", "~;", "~?"):
            return read(rest[2:], shown + rest[:2], value + rest[1])
        return read(rest[1:], shown + rest[0], value + rest[0])

    return read(text, "", "")


@given(st.text(alphabet="a~;?", max_size=9), st.integers(1, 6))
def test_of_all_readings_the_only_one_with_the_declared_number_of_elements_is_taken(text: str, extent: int) -> None:
    every = readings(text)
    fitting = [elements for elements in every if len(elements) == extent]
    if len(fitting) == 1:
        assert split([text], [extent]) == fitting
    elif fitting:
        assert split([text], [extent]) == [None]
    else:
        closed = [elements[:-1] for elements in every if len(elements) == extent + 1 and elements[-1] == ""]
        unknown: list[Elements | None] = [[None] * extent] if text == "?" else []
        found = split([text], [extent])[0]
        assert found is None or found in [*closed, *unknown]
    assert split([text], [None])[0] == (every[0] if len(every) == 1 else None)


@given(st.lists(st.lists(ELEMENT_TEXTS, min_size=1, max_size=5), max_size=8))
def test_what_was_joined_is_split_into_the_same_elements_or_into_none(rows: list[Elements]) -> None:
    texts: list[str | None] = [join_extent(elements) for elements in rows]
    declared: list[int | None] = [len(elements) for elements in rows]
    undeclared: list[int | None] = [None] * len(rows)
    for extents in (declared, undeclared):
        for text, elements, found in zip(texts, rows, split(texts, extents), strict=True):
            assert found == elements or (found is None and "~~;" in str(text))


@given(st.lists(st.lists(ELEMENT_TEXTS, min_size=1, max_size=5), max_size=8))
def test_what_was_joined_with_every_escape_is_split_into_the_same_elements(rows: list[Elements]) -> None:
    shown = [["?" if text is None else re.sub("[;~?]", r"~\g<0>", text) for text in elements] for elements in rows]
    assert split([";".join(elements) for elements in shown], [len(elements) for elements in rows]) == rows


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
