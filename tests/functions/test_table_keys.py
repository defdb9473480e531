"""Table keys, by the page on the Identity Manager event log."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from change_tables.udfs.table_keys import NEEDS_QUOTES, PARSED_KEY, format_table_key, parse_table_key, quote_value

Pairs = list[tuple[str, str]]


def parse(keys: list[str | None]) -> list[tuple[Pairs | None, str | None] | None]:
    parsed = parse_table_key(pa.array(keys, pa.string()))
    parsed.validate(full=True)
    assert parsed.type == PARSED_KEY
    return [
        row and (row["pairs"] and [(pair["name"], pair["value"]) for pair in row["pairs"]], row["error"])
        for row in parsed.to_pylist()
    ]


WELL_FORMED: list[tuple[str, Pairs]] = [
    ("idu=1", [("idu", "1")]),
    ("pkey1=value1+pkey2=value2", [("pkey1", "value1"), ("pkey2", "value2")]),
    ("a=1+b=2+c=3", [("a", "1"), ("b", "2"), ("c", "3")]),
    (r"""pkey=", ; ' + \" = \\ < >" """[:-1], [("pkey", r""", ; ' + " = \ < >""")]),
    ('a="1+b=2"', [("a", "1+b=2")]),
    ('a="1"+b=2', [("a", "1"), ("b", "2")]),
    ('a=1+b="x,y"+c=3', [("a", "1"), ("b", "x,y"), ("c", "3")]),
    ('a="needs none"', [("a", "needs none")]),
    ('a=""', [("a", "")]),
    ("a=", [("a", "")]),
    ("a=+b=", [("a", ""), ("b", "")]),
    ("a= 1", [("a", " 1")]),
    ("a=1 +b=2 ", [("a", "1 "), ("b", "2 ")]),
    (" a =1", [(" a ", "1")]),
    ("a={0F 1E}", [("a", "{0F 1E}")]),
    ("a=1+A=2", [("a", "1"), ("A", "2")]),
    ("idu=1+pk_idu=1", [("idu", "1"), ("pk_idu", "1")]),
    ("a=1+ a=2", [("a", "1"), (" a", "2")]),
    ("it's=1", [("it's", "1")]),
    ("usr_phone.phoneno=1", [("usr_phone.phoneno", "1")]),
    ("größe=schön", [("größe", "schön")]),
    ("a=\n\t", [("a", "\n\t")]),
    ('a="\n,"', [("a", "\n,")]),
    ("\na=1", [("\na", "1")]),
]

WRITE_PAIR = "write name=value"
WRAP = "wrap the value in double quotes"
CLOSE = "end the value with a double quote"
JOIN = 'join pairs with +, write " inside quotes as \\"'
ESCAPES = 'inside quotes write \\" for " and \\\\ for \\'

MALFORMED: list[tuple[str, str]] = [
    ("", f"missing name at character 1: {WRITE_PAIR}"),
    ("=1", f"missing name at character 1: {WRITE_PAIR}"),
    (" =1", f"missing name at character 1: {WRITE_PAIR}"),
    ("+", f"missing name at character 1: {WRITE_PAIR}"),
    ("+a=1", f"missing name at character 1: {WRITE_PAIR}"),
    ("a=1+", f"missing name at character 5: {WRITE_PAIR}"),
    ("a=1++b=2", f"missing name at character 5: {WRITE_PAIR}"),
    ("a=1+=2", f"missing name at character 5: {WRITE_PAIR}"),
    ("a=1+ =2", f"missing name at character 5: {WRITE_PAIR}"),
    ('a="1"+', f"missing name at character 7: {WRITE_PAIR}"),
    ("a", f"missing = after name a at character 2: {WRITE_PAIR}"),
    ("a=1+b", f"missing = after name b at character 6: {WRITE_PAIR}"),
    ("a+b=1", f"missing = after name a at character 2: {WRITE_PAIR}"),
    ("a=1+a=1", "name a repeated at character 5: name each key column once"),
    ('a="1"+b=2+a=3', "name a repeated at character 11: name each key column once"),
    ('a="', f"quote opened at character 3 is not closed: {CLOSE}"),
    ('a="x+b=2', f"quote opened at character 3 is not closed: {CLOSE}"),
    ('a="x\\"', f"quote opened at character 3 is not closed: {CLOSE}"),
    ('a="x\\', f"quote opened at character 3 is not closed: {CLOSE}"),
    ('b=1+a="x', f"quote opened at character 7 is not closed: {CLOSE}"),
    ('a="x\\n"', f"unknown escape \\n at character 5: {ESCAPES}"),
    ('a="\\\\\\+"', f"unknown escape \\+ at character 6: {ESCAPES}"),
    ('a="x"y', f"text after the closing quote at character 6: {JOIN}"),
    ('a="x" ', f"text after the closing quote at character 6: {JOIN}"),
    ('a="x"=1', f"text after the closing quote at character 6: {JOIN}"),
    ('a="""', f"text after the closing quote at character 5: {JOIN}"),
    ("a=1=2", f"unquoted = at character 4: {WRAP}"),
    ("a=1,5", f"unquoted , at character 4: {WRAP}"),
    ("a=x;y", f"unquoted ; at character 4: {WRAP}"),
    ("a=it's", f"unquoted ' at character 5: {WRAP}"),
    ('a=x"y"', f'unquoted " at character 4: {WRAP}'),
    ('a= "x"', f'unquoted " at character 4: {WRAP}'),
    ("a=x\\y", f"unquoted \\ at character 4: {WRAP}"),
    ("a=<x>", f"unquoted < at character 3: {WRAP}"),
    ("a=x>", f"unquoted > at character 4: {WRAP}"),
    ("a=1+b=x,y", f"unquoted , at character 8: {WRAP}"),
    ("größe=1+ß=ü,", f"unquoted , at character 12: {WRAP}"),
]


def test_null_yields_null() -> None:
    assert parse([None]) == [None]
    assert parse_table_key(pa.nulls(2)).to_pylist() == [None, None]


@pytest.mark.parametrize(("key", "pairs"), WELL_FORMED)
def test_a_well_formed_key_yields_its_pairs(key: str, pairs: Pairs) -> None:
    assert parse([key]) == [(pairs, None)]


@pytest.mark.parametrize(("key", "error"), MALFORMED)
def test_a_malformed_key_yields_what_is_wrong_and_where(key: str, error: str) -> None:
    assert parse([key]) == [(None, error)]


def test_a_batch_of_all_kinds_keeps_each_row_to_itself() -> None:
    cases: list[tuple[str | None, Any]] = [(None, None)]
    for (good, pairs), (bad, error) in zip(WELL_FORMED + WELL_FORMED, MALFORMED, strict=False):
        cases += [(good, (pairs, None)), (bad, (None, error)), (None, None)]
    assert parse([key for key, _ in cases]) == [expected for _, expected in cases]


def test_a_slice_of_a_longer_array_is_read_from_its_own_rows() -> None:
    keys = pa.array(["a=1", "b=2", 'c="3"', "d", "e=5"]).slice(1, 3)
    assert [row["error"] is None for row in parse_table_key(keys).to_pylist()] == [True, True, False]
    assert parse_table_key(keys)[0].as_py()["pairs"] == [{"name": "b", "value": "2"}]


def test_an_empty_batch_yields_an_empty_array() -> None:
    assert parse([]) == []


def test_bytes_that_are_not_utf_8_make_their_own_key_malformed_only() -> None:
    keys = pa.array(["ä=1".encode() + b"\xff", b"a=1"]).cast(pa.string(), safe=False)
    first, second = parse_table_key(keys).to_pylist()
    assert first["pairs"] is None
    assert first["error"].startswith("not UTF-8 text at character 4: ")
    assert second == {"pairs": [{"name": "a", "value": "1"}], "error": None}


def test_a_column_of_another_type_is_a_wrong_call() -> None:
    with pytest.raises(TypeError, match=r"^parse_table_key: `table_key` must be string, got int64$"):
        parse_table_key(pa.array([1]))


@pytest.mark.parametrize("character", sorted(NEEDS_QUOTES))
def test_a_value_is_quoted_where_it_holds_a_character_that_needs_it(character: str) -> None:
    assert quote_value(f"x{character}").startswith('"')
    assert parse([f"a=x{character}y=1"]) != [([("a", f"x{character}y=1")], None)]


@pytest.mark.parametrize("value", ["", "plain", "{braces and blanks}", "ä.-_/:#"])
def test_a_value_without_such_a_character_is_not_quoted(value: str) -> None:
    assert quote_value(value) == value


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "at least one pair"),
        ([("", "1")], "must not be blank"),
        ([(" ", "1")], "must not be blank"),
        ([("a=b", "1")], "hold = or +"),
        ([("a+b", "1")], "hold = or +"),
        ([("a", "1"), ("a", "2")], "each name must be there once"),
    ],
)
def test_pairs_that_no_table_key_can_say_are_refused(pairs: Pairs, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("+", r"\+")):
        format_table_key(pairs)


# Few characters, so that names repeat, quotes pair up, and all that the grammar knows turns up often.
characters = st.sampled_from(" aä1+=\"\\,;'<>") | st.characters(exclude_categories=["Cs"])
names = st.text(characters, min_size=1, max_size=4).filter(lambda name: name.strip(" ") and not set(name) & set("=+"))
key_pairs = st.lists(
    st.tuples(names, st.text(characters, max_size=6)), min_size=1, max_size=4, unique_by=lambda p: p[0]
)


@given(st.lists(key_pairs, max_size=6))
def test_pairs_written_as_a_key_come_back(keys: list[Pairs]) -> None:
    assert parse([format_table_key(pairs) for pairs in keys]) == [(pairs, None) for pairs in keys]


def pairs_by_the_letter(key: str) -> Pairs | None:
    """The grammar read one character at a time; None where it does not fit."""
    pairs: Pairs = []
    rest = key
    while True:
        name, equals, rest = rest.partition("=")
        if not equals or not name.strip(" ") or "+" in name or name in dict(pairs):
            return None
        value = ""
        if rest.startswith('"'):
            rest = rest[1:]
            while rest and rest[0] != '"':
                if rest[0] == "\\":
                    rest = rest[1:]
                    if rest[:1] not in ('"', "\\"):
                        return None
                value, rest = value + rest[0], rest[1:]
            if not rest:
                return None
            rest = rest[1:]
        else:
            while rest and rest[0] not in NEEDS_QUOTES:
                value, rest = value + rest[0], rest[1:]
        pairs.append((name, value))
        if not rest:
            return pairs
        if rest[0] != "+":
            return None
        rest = rest[1:]


@given(st.lists(st.text(st.sampled_from('ab =+=+"\\,'), max_size=10), max_size=8))
def test_any_text_is_read_as_the_grammar_says(keys: list[str]) -> None:
    for key, result in zip(keys, parse(list(keys)), strict=True):
        assert result is not None
        pairs, error = result
        assert pairs == pairs_by_the_letter(key)
        assert (pairs is None) == (error is not None)
