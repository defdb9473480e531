"""Names, literals and types in SQL."""

from __future__ import annotations

from typing import Any

import pytest

from .shapes import Shapes

MODEL = "dedup_feed__full"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("id", "id"),
        ("_Id9", "_Id9"),
        ("9id", "`9id`"),
        ("order", "`order`"),
        ("Order", "`Order`"),
        ("TIMESTAMP", "`TIMESTAMP`"),
        ("it's", "`it's`"),
        ("name with spaces", "`name with spaces`"),
        ("usr_phone.phoneno", "`usr_phone.phoneno`"),
        ("a`b", "`a``b`"),
        ("größe", "`größe`"),
        ("_Change-Sequence", "`_Change-Sequence`"),
    ],
)
def test_a_name_is_quoted_only_where_a_plain_one_will_not_do(shapes: Shapes, name: str, expected: str) -> None:
    assert shapes.project.macros(MODEL)("quoted", name) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", "''"), ("it's", r"'it\'s'"), ("a\\b", r"'a\\b'"), ("\\'", r"'\\\''"), ('"', "'\"'"), ("ä\n", "'ä\n'")],
)
def test_a_text_is_a_literal_that_holds_all_of_it(shapes: Shapes, text: str, expected: str) -> None:
    assert shapes.project.macros(MODEL)("text_literal", text) == expected


@pytest.mark.parametrize(
    ("names", "prefix", "expected"),
    [
        ([], None, ""),
        (["id"], None, "id"),
        (["order", "id"], None, "`order`, id"),
        (["order", "it's"], "source", "source.`order`, source.`it's`"),
    ],
)
def test_a_list_of_columns_has_commas_between(shapes: Shapes, names: list[str], prefix: str, expected: str) -> None:
    assert shapes.project.macros(MODEL)("column_list", names, prefix) == expected


SCALAR: dict[str, Any] = {"digits": None, "places": None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int", SCALAR | {"kind": "int", "type": "int"}),
        (" INTEGER ", SCALAR | {"kind": "int", "type": "int", "text": "INTEGER"}),
        ("long", SCALAR | {"kind": "bigint", "type": "bigint"}),
        ("Numeric( 5 , 2 )", {"kind": "decimal", "type": "decimal(5,2)", "digits": 5, "places": 2}),
        ("dec", {"kind": "decimal", "type": "decimal(10,0)", "digits": 10, "places": 0}),
        ("decimal(7)", {"kind": "decimal", "type": "decimal(7,0)", "digits": 7, "places": 0}),
        ("varchar(5)", SCALAR | {"kind": "string", "type": "varchar(5)"}),
        ("string collate UTF8_LCASE", SCALAR | {"kind": "string", "type": "stringcollateutf8_lcase"}),
        ("interval day to second", SCALAR | {"kind": "interval", "type": "intervaldaytosecond"}),
        ("timestamp_ltz", SCALAR | {"kind": "timestamp", "type": "timestamp"}),
        ("variant", SCALAR | {"kind": "variant", "type": "variant"}),
        ("array<int>", {"kind": "array", "element": SCALAR | {"kind": "int", "type": "int", "text": "int"}}),
        ("map<string>", {"kind": "other"}),
        (
            "map<string, decimal(5,2)>",
            {
                "kind": "map",
                "key": SCALAR | {"kind": "string", "type": "string", "text": "string"},
                "element": {
                    "kind": "decimal",
                    "type": "decimal(5,2)",
                    "text": "decimal(5,2)",
                    "digits": 5,
                    "places": 2,
                },
            },
        ),
        (
            "struct<`a,b>`: int not null comment 'it\\'s, so', c array<int>>",
            {
                "kind": "struct",
                "fields": [
                    {"name": "a,b>", "tree": SCALAR | {"kind": "int", "type": "int", "text": "int"}},
                    {
                        "name": "c",
                        "tree": {
                            "kind": "array",
                            "text": "array<int>",
                            "element": SCALAR | {"kind": "int", "type": "int", "text": "int"},
                        },
                    },
                ],
            },
        ),
        ("struct<>", {"kind": "struct", "fields": []}),
    ],
)
def test_a_type_is_taken_apart(shapes: Shapes, text: str, expected: dict[str, Any]) -> None:
    assert shapes.project.macros(MODEL)("type_tree", text) == {"text": text.strip()} | expected


@pytest.mark.parametrize(
    ("landed", "declared", "expected"),
    [
        ("int", "integer", "same"),
        ("varchar(5)", "string", "same"),
        ("char(5)", "char(5)", "taken"),
        ("string", "char(5)", "taken"),
        ("char(5)", "varchar(5)", "same"),
        ("array<string>", "array<char(5)>", "taken"),
        ("map<string,int>", "map<char(5),int>", "taken"),
        ("void", "struct<a:int>", "taken"),
        ("int", "bigint", "taken"),
        ("bigint", "decimal(19,0)", "taken"),
        ("bigint", "decimal(19,1)", "checked"),
        ("decimal(5,2)", "decimal(6,3)", "taken"),
        ("decimal(5,2)", "decimal(6,1)", "checked"),
        ("decimal(9,0)", "int", "taken"),
        ("decimal(10,0)", "int", "checked"),
        ("decimal(6,2)", "float", "taken"),
        ("decimal(7,2)", "float", "checked"),
        ("string", "boolean", "checked"),
        ("string", "binary", "refused"),
        ("date", "int", "refused"),
        ("struct<b:string,a:int>", "struct<A:bigint>", "taken"),
        ("array<struct<a:string>>", "array<struct<a:date>>", "checked"),
        ("map<int,string>", "map<bigint,int>", "checked"),
        ("map<string,int>", "map<int,int>", "refused"),
        ("array<int>", "map<int,int>", "refused"),
    ],
)
def test_a_landed_type_is_taken_checked_or_refused(shapes: Shapes, landed: str, declared: str, expected: str) -> None:
    call = shapes.project.macros(MODEL)
    reading = call("reading_of", call("type_tree", landed), call("type_tree", declared), "v")
    assert reading["verdict"] == expected
    assert bool(reading["refused"]) == (expected == "refused")


@pytest.mark.parametrize(
    ("was", "type_", "is_key", "expected"),
    [
        ("int", "int", False, None),
        ("int", "bigint", False, None),
        ("int", "bigint", True, None),
        ("bigint", "int", False, ""),
        ("int", "decimal(10,0)", False, None),
        ("int", "decimal(9,0)", False, ""),
        ("int", "decimal(11,1)", True, ", and its text, which identifies changes, would change"),
        ("bigint", "decimal(19,0)", False, ""),
        ("bigint", "decimal(20,0)", True, None),
        ("decimal(5,2)", "decimal(7,2)", True, None),
        ("decimal(5,2)", "decimal(7,3)", False, None),
        ("decimal(5,2)", "decimal(7,3)", True, ", and its text, which identifies changes, would change"),
        ("decimal(5,2)", "decimal(6,1)", False, ""),
        ("decimal(5,2)", "decimal(5,3)", False, ""),
        ("decimal(9,0)", "int", False, ""),
        ("varchar(5)", "varchar(6)", True, None),
        ("varchar(5)", "varchar(4)", False, ""),
        ("varchar(5)", "string", False, None),
        ("varchar(5)", "char(6)", False, ""),
        ("char(5)", "char(6)", True, None),
        ("char(5)", "varchar(5)", False, None),
        ("char(5)", "string", True, ", and its text, which identifies changes, would change"),
        ("string", "varchar(5)", False, ""),
        ("float", "double", False, ", and would show other values than the raw table"),
        ("int", "double", False, ", which is a type of another kind"),
        ("date", "timestamp", False, ", which is a type of another kind"),
        ("date", "string", False, ""),
        ("array<int>", "array<bigint>", False, ""),
    ],
)
def test_only_a_type_that_holds_all_values_and_texts_of_a_key_follows(
    shapes: Shapes, was: str, type_: str, is_key: bool, expected: str | None
) -> None:
    assert shapes.project.macros(MODEL)("cannot_become", was, type_, is_key) == expected


@pytest.mark.parametrize(
    ("sequence", "time"),
    [
        ("20260131120000450000000000000000042", "2026-01-31 12:00:00.45"),
        ("2026013112", "2026-01-31 12:00:00.00"),
        ("20240229", "2024-02-29 00:00:00.00"),
        ("20260229000000000000000000000000000", ""),
        ("20260131240000000000000000000000000", ""),
        ("00000000000000000000000000000000042", ""),
        ("2026013", ""),
        ("0000000001/20260131", ""),
        ("", ""),
    ],
)
def test_the_first_digits_of_a_sequence_can_be_a_time(shapes: Shapes, sequence: str, time: str) -> None:
    assert shapes.project.macros(MODEL)("time_in_digits", sequence) == time
