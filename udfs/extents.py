"""Extents: array fields of OpenEdge, which SQL shows as one text.

The elements are joined by `;`. Inside an element:

    ~;                                    is ;
    ~~                                    is ~
    ~?                                    is ?
    ~ before another character, or last   is ~
    ? alone                               is the unknown value
    ~~;                                   has two readings: a ~ and the end of the element, or a ~ and a ; inside it

An extent has a declared number of elements. That decides which reading is right.
"""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .flat_bytes import Flags, Integers, require_type

UNKNOWN = "?"

ELEMENTS = pa.list_(pa.field("element", pa.string()))

_SURE_END = re.compile(r"(?<!~);")
_MARK = re.compile(r"~.|;", re.DOTALL)
_ESCAPE = re.compile(r"~([;~?])")
_MUST_BE_ESCAPED = re.compile(r"~(?=[;~?]|\Z)|(?<!~);")
_ANY_NUMBER = 0


def split_extent(extent_text: pa.Array, extent: pa.Array) -> pa.Array:
    """The elements of an extent, as texts.

    `extent_text`, string, shape (n,): the elements joined by `;`, with their escapes. `extent`, integer, shape (n,):
    how many elements are declared; null = as many as the text has.

    Returns array<string>, shape (n,). Escapes are removed, blanks are kept, and an unknown element is null. Which
    reading of a text with `~~;` counts:

        exactly one has the declared number of elements   that one
        more than one has it                              none: null
        no number is declared, and there are two          none: null
        none has it, and the text ends in `;`             the shortest one less its empty last element, if it fits
        none has it, and the text is a bare `?`           every element is unknown
        none has it otherwise                             none: null

    Null also for bytes that are not UTF-8 among escapes, and for an extent below 1. Raises TypeError for a column of
    another type, never for a value.

    Source: how OpenEdge SQL shows array columns, and its function PRO_ARR_ESCAPE.

    >>> split_extent(pa.array(["a;b~;c;?", "a;b;", "?", None]), pa.array([3, 2, 2, 2])).to_pylist()
    [['a', 'b;c', None], ['a', 'b'], [None, None], None]
    >>> split_extent(pa.array(["a~~;b;c"] * 3), pa.array([2, 3, None])).to_pylist()
    [['a~;b', 'c'], ['a~', 'b', 'c'], None]
    """
    texts = require_type("split_extent", "extent_text", extent_text, ("string",)).cast(pa.string())
    if not (pa.types.is_integer(extent.type) or pa.types.is_null(extent.type)):
        raise TypeError(f"split_extent: `extent` must be an integer, got {extent.type}")
    extents = extent.cast(pa.int64())
    well_declared = pc.fill_null(pc.greater_equal(extents, 1), True)
    texts = pc.if_else(well_declared, texts, pa.scalar(None, pa.string()))

    encoded = texts.dictionary_encode()
    known = texts.is_valid().to_numpy(zero_copy_only=False)
    codes = pc.fill_null(encoded.indices, 0).to_numpy().astype(np.int64)[known]
    wanted = pc.fill_null(extents, _ANY_NUMBER).to_numpy()[known]
    counts, count_codes = np.unique(wanted, return_inverse=True)
    pairs, pair_of_row = np.unique(codes * max(len(counts), 1) + count_codes, return_inverse=True)
    text_codes, pair_counts = np.divmod(pairs, max(len(counts), 1))
    distinct = _split_distinct(encoded.dictionary.take(pa.array(text_codes)), counts[pair_counts])
    rows = np.zeros(len(texts), np.int64)
    rows[known] = pair_of_row
    return distinct.take(pa.array(rows, mask=~known))


def join_extent(elements: list[str | None]) -> str:
    """The text of an extent with these elements, as OpenEdge SQL shows it; None is the unknown value.

    A `~` is escaped where it would be read as an escape, and a `;` where no `~` is before it. So some texts have more
    than one reading, see `split_extent`.

    >>> join_extent(["a", "b;c", None, "?", "d~e", "f~;g", "~"])
    'a;b~;c;?;~?;d~e;f~~;g;~~'
    """
    return ";".join(_shown(text) for text in elements)


def _shown(text: str | None) -> str:
    if text is None:
        return UNKNOWN
    return "~?" if text == UNKNOWN else _MUST_BE_ESCAPED.sub(r"~\g<0>", text)


def _split_distinct(texts: pa.Array, counts: Integers) -> pa.Array:
    """The elements of texts of which none is null, each with how many are wanted (0 = any number)."""
    plain = pc.invert(pc.match_substring(texts, "~")).to_numpy(zero_copy_only=False)
    split = pc.split_pattern(texts, ";")
    found = split.value_lengths().to_numpy()
    fits = plain & ((counts == _ANY_NUMBER) | (found == counts))
    flat = split.flatten()
    elements = pc.if_else(pc.equal(flat, UNKNOWN), pa.scalar(None, pa.string()), flat)
    parsed = pa.ListArray.from_arrays(split.offsets, elements, type=ELEMENTS)
    if fits.all():
        return parsed
    return _with_others(parsed, texts, counts, ~fits)


def _with_others(parsed: pa.Array, texts: pa.Array, counts: Integers, is_other: Flags) -> pa.Array:
    """The same, with the others split one by one: texts with escapes, and texts with another number of elements."""
    others = np.flatnonzero(is_other)
    raw_texts = texts.take(others).cast(pa.binary()).to_pylist()
    split = [_split(raw_text, int(count)) for raw_text, count in zip(raw_texts, counts[others], strict=True)]
    place = np.arange(len(texts))
    place[others] = len(texts) + np.arange(len(others))
    return pa.concat_arrays([parsed, pa.array(split, ELEMENTS)]).take(pa.array(place))


def _split(raw_text: bytes, count: int) -> list[str | None] | None:
    try:
        text = raw_text.decode()
    except UnicodeDecodeError:
        return None
    fewest = _SURE_END.split(text)
    most = _most_elements(text)
    # between the fewest and the most elements, some `~~;` end their element and others do not: it is not known which
    if count == len(most) or (count == _ANY_NUMBER and len(fewest) == len(most)):
        return _read(most)
    if count == len(fewest):
        return _read(fewest)
    if text == UNKNOWN and count != _ANY_NUMBER:
        return [None] * count
    if count == len(fewest) - 1 and count != _ANY_NUMBER and fewest[-1] == "":
        return _read(fewest[:-1])
    return None


def _most_elements(text: str) -> list[str]:
    """A text split at every `;` that can end an element."""
    ends = [mark.start() for mark in _MARK.finditer(text) if mark[0] == ";"]
    return [text[start + 1 : end] for start, end in pairwise([-1, *ends, len(text)])]


def _read(elements: list[str]) -> list[str | None]:
    return [None if text == UNKNOWN else _ESCAPE.sub(r"\1", text) for text in elements]
