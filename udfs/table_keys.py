r"""Table keys of the Identity Manager event log: `name=value`, several joined by `+`.

A value that has any of `, ; ' + " = \ < >` is in double quotes; inside them `"` is written `\"` and `\` is written
`\\`. A name ends at its `=` and can have any character but `=` and `+`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from .flat_bytes import Bytes, Flags, FlatBytes, Integers, flatten, require_type, starts_of

NEEDS_QUOTES = frozenset(",;'+\"=\\<>")

_PAIR = pa.struct([pa.field("name", pa.string()), pa.field("value", pa.string())])
_PAIRS = pa.list_(pa.field("element", _PAIR))
PARSED_KEY = pa.struct([pa.field("pairs", _PAIRS), pa.field("error", pa.string())])

_EQUALS, _PLUS, _ODD = 1, 2, 3
_KINDS: Bytes = np.zeros(256, np.uint8)
_KINDS[[ord(character) for character in NEEDS_QUOTES]] = _ODD
_KINDS[ord("=")] = _EQUALS
_KINDS[ord("+")] = _PLUS

_PAIR_TEXT = re.compile(
    r"""(?P<name>[^=+]*)=
        (?:"(?P<quoted>[^"\\]*(?:\\["\\][^"\\]*)*)" | (?P<plain>[^,;'+"=\\<>]*))
        (?P<end>\+|\Z)""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def parse_table_key(table_key: pa.Array) -> pa.Array:
    r"""The name and value pairs of a table key, or what is wrong with it.

    `table_key`, string, shape (n,).

    Returns struct<pairs array<struct<name string, value string>>, error string>, shape (n,), null where the key is
    null. Blanks are kept, names keep their case, quotes and escapes are removed from values, and an empty value is the
    empty text. For a malformed key `pairs` is null, and `error` says what is wrong, at which character (from 1), and
    how to correct it. Raises TypeError for a column of another type, never for a value.

    A key is malformed by a missing name (also one of blanks only), a missing `=`, the same name twice (case counts), a
    quote that is not closed, an escape other than `\"` and `\\`, text after a closing quote, a character that needs
    quotes and has none, or bytes that are not UTF-8.

    Source: `table_key` of the event log of NetIQ Identity Manager's JDBC driver.

    >>> parse_table_key(pa.array(["a=1+b=2"])).to_pylist()[0]["pairs"]
    [{'name': 'a', 'value': '1'}, {'name': 'b', 'value': '2'}]
    >>> parse_table_key(pa.array(["a=1+b"])).to_pylist()[0]["error"]
    'missing = after name b at character 6: write name=value'
    """
    keys = require_type("parse_table_key", "table_key", table_key, ("string",)).cast(pa.string()).dictionary_encode()
    return _parse_distinct(keys.dictionary).take(keys.indices)


def format_table_key(pairs: Iterable[tuple[str, str]]) -> str:
    r"""The table key of these pairs of name and value, in their order.

    Raises ValueError where there is no such table key: no pair; a name that is blank, has `=` or `+`, or is repeated.

    >>> print(format_table_key([("a", "1"), ("b", 'x+"y"')]))
    a=1+b="x+\"y\""
    """
    pairs = list(pairs)
    names = [name for name, _ in pairs]
    if not pairs:
        raise ValueError("format_table_key: a table key has at least one pair, got none")
    for name in names:
        if not name.strip(" ") or "=" in name or "+" in name:
            raise ValueError(f"format_table_key: a name must not be blank or hold = or +, got {name!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"format_table_key: each name must be there once, got {names}")
    return "+".join(f"{name}={quote_value(value)}" for name, value in pairs)


def quote_value(value: str) -> str:
    r"""A value as it is written in a table key: in double quotes where it needs them.

    >>> print(quote_value("plain text"), quote_value('a,b'), quote_value('"\\'))
    plain text "a,b" "\"\\"
    """
    if NEEDS_QUOTES.isdisjoint(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def pairs_as_logged(key: str) -> list[str] | None:
    r"""The pairs of a table key as they are written in it, with quotes and blanks; None where the key is malformed.

    >>> pairs_as_logged('a="1+2"+b= 3')
    ['a="1+2"', 'b= 3']
    """
    if _parse_key(key.encode())[0] is None:
        return None
    return [key[pair.start() : pair.start("end")] for pair in _PAIR_TEXT.finditer(key)]


def _parse_distinct(keys: pa.Array) -> pa.Array:
    """Parsed keys of which none is null: the plain ones all at once, the others (quoted or malformed) one by one."""
    try:
        keys.validate(full=True)
    except pa.ArrowInvalid:  # bytes that are not UTF-8 somewhere: each key must be parsed by itself
        return _parse_one_by_one(keys)
    parsed, is_plain = _parse_plain(keys)
    if is_plain.all():
        return parsed
    others = np.flatnonzero(~is_plain)
    place = np.arange(len(keys))
    place[others] = len(keys) + np.arange(len(others))
    return pa.concat_arrays([parsed, _parse_one_by_one(keys.take(pa.array(others)))]).take(pa.array(place))


def _parse_plain(keys: pa.Array) -> tuple[pa.Array, Flags]:
    """Parsed keys, and which of them are right: `=` and `+` alternate, and no other special character is in them."""
    flat = flatten(keys)
    ends = flat.starts + flat.lengths
    kinds = _KINDS[flat.data]
    marks = np.flatnonzero(kinds)
    marks = marks[(marks >= flat.starts[0]) & (marks < ends[-1])] if len(keys) else marks
    row = np.searchsorted(ends, marks, side="right")
    count = np.bincount(row, minlength=len(keys))
    first_mark = starts_of(count)
    turn = (np.arange(len(marks)) - first_mark[row]) & 1

    is_plain = (count & 1) == 1
    is_plain[row[kinds[marks] != np.where(turn == 0, _EQUALS, _PLUS)]] = False

    is_equals = (turn == 0) & is_plain[row]
    row = row[is_equals]
    equals = marks[is_equals]
    is_first = np.append(True, row[1:] != row[:-1])[: len(row)]
    is_last = np.append(row[1:] != row[:-1], True)[: len(row)]
    mark_number = np.flatnonzero(is_equals)
    name_start = np.where(is_first, flat.starts[row], marks[mark_number - 1] + 1)
    value_end = np.where(is_last, ends[row], marks[np.minimum(mark_number + 1, len(marks) - 1)])
    is_plain[row[(name_start == equals) | (flat.data[name_start] == ord(" "))]] = False

    names = _slices(flat, name_start, equals)
    values = _slices(flat, equals + 1, value_end)
    if len(row) > is_first.sum():
        is_plain[_rows_with_a_name_twice(row, names)] = False
    pair_ends = np.cumsum(np.bincount(row, minlength=len(keys)))
    offsets = pa.array(np.concatenate([[0], pair_ends]), pa.int32())
    pairs = pa.ListArray.from_arrays(
        offsets, pa.StructArray.from_arrays([names, values], fields=list(_PAIR)), type=_PAIRS
    )
    return pa.StructArray.from_arrays([pairs, pa.nulls(len(keys), pa.string())], fields=list(PARSED_KEY)), is_plain


def _slices(flat: FlatBytes, starts: Integers, ends: Integers) -> pa.Array:
    """The texts between ascending starts and ends that do not overlap."""
    edges = np.zeros(len(flat.data) + 1, np.int8)
    edges[starts] += 1
    edges[ends] -= 1
    inside = np.cumsum(edges[:-1], dtype=np.int8).view(np.bool_)
    offsets = np.concatenate([[0], np.cumsum(ends - starts)]).astype(np.int32)
    return pa.Array.from_buffers(
        pa.string(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(flat.data[inside])]
    )


def _rows_with_a_name_twice(row: Integers, names: pa.Array) -> Integers:
    """The rows that have one name twice; `row` is the row of each name."""
    encoded = names.dictionary_encode()
    row_and_name = np.sort(row * len(encoded.dictionary) + encoded.indices.to_numpy())
    twice = row_and_name[1:][row_and_name[1:] == row_and_name[:-1]]
    rows: Integers = twice // len(encoded.dictionary)
    return rows


def _parse_one_by_one(keys: pa.Array) -> pa.Array:
    """Parsed keys, by the full grammar."""
    names: list[str] = []
    values: list[str] = []
    offsets: list[int | None] = []
    errors: list[str | None] = []
    for key in keys.cast(pa.binary()).to_pylist():
        pairs, error = _parse_key(key)
        offsets.append(None if pairs is None else len(names))
        errors.append(error)
        for name, value in pairs or ():
            names.append(name)
            values.append(value)
    texts = [pa.array(names, pa.string()), pa.array(values, pa.string())]
    flat_pairs = pa.StructArray.from_arrays(texts, fields=list(_PAIR))
    pair_lists = pa.ListArray.from_arrays(pa.array([*offsets, len(names)], pa.int32()), flat_pairs, type=_PAIRS)
    return pa.StructArray.from_arrays([pair_lists, pa.array(errors, pa.string())], fields=list(PARSED_KEY))


def _parse_key(raw_key: bytes) -> tuple[list[tuple[str, str]] | None, str | None]:
    """The pairs and no error, or no pairs and the error."""
    try:
        key = raw_key.decode()
    except UnicodeDecodeError as problem:
        place = len(raw_key[: problem.start].decode()) + 1
        return None, f"not UTF-8 text at character {place}: land the log with the encoding that it was written in"

    pairs: dict[str, str] = {}
    start = 0
    while True:
        pair = _PAIR_TEXT.match(key, start)
        if pair is None or not pair["name"].strip(" "):
            return None, _fault(key, start)
        name = pair["name"]
        if name in pairs:
            return None, f"name {name} repeated at character {start + 1}: name each key column once"
        pairs[name] = pair["plain"] if pair["quoted"] is None else _ESCAPE.sub(r"\1", pair["quoted"])
        if not pair["end"]:
            return list(pairs.items()), None
        start = pair.end()


def _fault(key: str, start: int) -> str:
    """What is wrong with the pair that starts here; places count from 1 in the text, from 0 in the code."""
    name = re.split("[=+]", key[start:], maxsplit=1)[0]
    equals = start + len(name)
    if not name.strip(" "):
        return f"missing name at character {start + 1}: write name=value"
    if key[equals : equals + 1] != "=":
        return f"missing = after name {name} at character {equals + 1}: write name=value"

    place = equals + 1
    if key[place : place + 1] != '"':
        while key[place] not in NEEDS_QUOTES:
            place += 1
        return f"unquoted {key[place]} at character {place + 1}: wrap the value in double quotes"

    opened = place
    place += 1
    while place < len(key) and key[place] != '"':
        if key[place] == "\\":
            if place + 1 < len(key) and key[place + 1] not in '"\\':
                escape = key[place : place + 2]
                return (
                    f'unknown escape {escape} at character {place + 1}: inside quotes write \\" for " and \\\\ for \\'
                )
            place += 1
        place += 1
    if place >= len(key):
        return f"quote opened at character {opened + 1} is not closed: end the value with a double quote"
    return f'text after the closing quote at character {place + 2}: join pairs with +, write " inside quotes as \\"'
