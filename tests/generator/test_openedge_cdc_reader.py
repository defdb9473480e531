"""Tables that change tables and tracking rows show, by rules: what lands as a whole is for the module with a server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from change_tables.generator.found import Found, FoundTable, LakeError
from change_tables.generator.openedge_cdc import CHANGE_HEADERS, OPTIONS, TRACKING_HEADERS, headers_of, read
from change_tables.generator.raw_tables import RawTable
from tests.generator.fake_lake import FakeLake

Columns = Mapping[str, str]
HEADERS = {
    "_Tran-Id": "int",
    "_Time-Stamp": "timestamp",
    "_Change-Sequence": "bigint",
    "_Continuation-Position": "int",
    "_ArrayIndex": "int",
    "_Fragment": "int",
    "_Operation": "int",
}
TRACKING = {
    "_Change-Sequence": "bigint",
    "_Operation": "int",
    "_Source-Table-Number": "int",
    "_Recid": "bigint",
    "_Time-Stamp": "timestamp",
}
CUSTOMER = {**HEADERS, "Cust-Num": "bigint", "Name": "string"}
SAMPLE, NUMBERS = "to_json(array(", "tracking_rows"


def row(*texts: str | None, operation: int | None = 1, table: str = "CDC_Customer") -> tuple[Any, ...]:
    """A row of the query for the sample: the operation, and the texts of columns that are texts."""
    return table, operation, json.dumps(texts)


def agrees(number: int, score: int = 9, table: str = "CDC_Customer", tracking: str = "Tracking") -> tuple[Any, ...]:
    """That rows of a change table agree with a number."""
    return tracking, table, number, True, False, score


def tracked(
    number: int, *, changes: bool = True, field_map: bool = False, tracking: str = "Tracking"
) -> tuple[Any, ...]:
    """A number in the tracking table."""
    return tracking, None, number, changes, field_map, 0


def found(
    rows: Sequence[Any] = (),
    numbers: Sequence[Any] = (),
    tables: Mapping[str, Columns | LakeError] | None = None,
    options: Mapping[str, str] | None = None,
) -> Found:
    """What the reader finds."""
    given = {"CDC_Customer": CUSTOMER, "Tracking": TRACKING} if tables is None else tables
    return read(FakeLake(given, {SAMPLE: rows, NUMBERS: numbers}), "raw", options or {})


def only(result: Found) -> FoundTable:
    """The one table."""
    (table,) = result.tables
    return table


def test_a_change_table_has_the_captured_columns_under_names_without_a_hyphen() -> None:
    result = found([row("Jack")], [agrees(12), tracked(12)])
    table = only(result)
    assert [(column.name, column.data_type) for column in table.columns] == [("cust_num", "bigint"), ("name", "string")]
    assert dict(table.settings) == {"format": "openedge_cdc", "tracking": "tracking", "source_table_number": 12}
    assert (table.name, table.identifier, table.key) == ("customer", "CDC_Customer", ())
    assert list(table.reads) == ["tracking"]
    assert [(entry.name, entry.identifier) for entry in result.further_entries] == [("tracking", "Tracking")]
    assert list(result.troubles) == []


@pytest.mark.parametrize(
    ("columns", "headers"),
    [
        (
            HEADERS,
            {
                "change_sequence": "_Change-Sequence",
                "operation": "_Operation",
                "tran_id": "_Tran-Id",
                "time_stamp": "_Time-Stamp",
                "continuation_position": "_Continuation-Position",
                "array_index": "_ArrayIndex",
                "fragment": "_Fragment",
            },
        ),
        ({"_array-index": "int"}, {"array_index": "_array-index"}),
        (
            {"change_sequence": "int", "OPERATION": "int"},
            {"change_sequence": "change_sequence", "operation": "OPERATION"},
        ),
        ({"operation": "string", "_operation": "int"}, {"operation": "_operation"}),
        ({"Operation": "string"}, {"operation": "Operation"}),
        ({"Name": "string"}, {}),
    ],
)
def test_headers_are_matched_without_case_hyphen_and_underscore(columns: Columns, headers: Mapping[str, str]) -> None:
    assert headers_of(RawTable("any", list(columns.items())), CHANGE_HEADERS) == headers


def test_the_other_spellings_of_a_tracking_table_are_known() -> None:
    table = RawTable("any", [("_Source-Rowid", "bigint"), ("_Source-FieldMap", "string")])
    assert headers_of(table, TRACKING_HEADERS) == {"recid": "_Source-Rowid", "field_map": "_Source-FieldMap"}


def test_a_captured_column_of_like_spelling_is_no_header() -> None:
    tables = {"CDC_Customer": {**CUSTOMER, "operation": "string"}, "Tracking": TRACKING}
    table = only(found([row("a", "b")], [agrees(12)], tables))
    assert [column.name for column in table.columns] == ["cust_num", "name", "operation"]


def test_names_that_are_alike_without_the_hyphen_are_kept_as_they_landed() -> None:
    tables = {"CDC_Customer": {**HEADERS, "a-b": "int", "a_b": "int", "C-d": "int"}, "Tracking": TRACKING}
    table = only(found([row()], [agrees(12)], tables))
    assert [column.name for column in table.columns] == ["a-b", "a_b", "c_d"]


def test_other_tables_of_the_schema_are_left_alone() -> None:
    tables = {
        "CDC_Customer": CUSTOMER,
        "Tracking": TRACKING,
        "customers": {"id": "int"},
        "log": {"change_sequence": "bigint", "operation": "int"},
    }
    result = found([row("a")], [agrees(12)], tables)
    assert only(result).name == "customer"
    assert list(result.troubles) == []


@pytest.mark.parametrize(("operations", "level"), [([1, 2, 4], None), ([4, 3], 3), ([None], None)])
def test_before_images_show_a_policy_of_level_3_and_level_2_is_the_default(
    operations: Sequence[int | None], level: int | None
) -> None:
    rows = [row("a", operation=operation) for operation in operations]
    assert only(found(rows, [agrees(12)])).settings.get("policy_level") == level


@pytest.mark.parametrize(
    ("scores", "number"),
    [([(12, 9)], 12), ([(11, 1), (12, 9)], 12), ([(11, 5), (12, 9)], None), ([(11, 9), (12, 9)], None), ([], None)],
)
def test_the_number_is_that_with_which_clearly_most_rows_agree(
    scores: Sequence[tuple[int, int]], number: int | None
) -> None:
    result = found([row("a")], [agrees(*score) for score in scores])
    assert [table.settings["source_table_number"] for table in result.tables] == ([number] if number else [])
    assert [trouble.place for trouble in result.troubles] == ([] if number else ["table CDC_Customer"])
    assert all("`table_numbers`" in trouble.text for trouble in result.troubles)


def test_a_number_that_is_given_is_taken_and_an_empty_change_table_needs_one() -> None:
    assert "no rows" in found().troubles[0].text
    table = only(found(options={"table_numbers": "other=1, cdc_customer=12"}))
    assert dict(table.settings) == {"format": "openedge_cdc", "tracking": "tracking", "source_table_number": 12}
    other = only(found([row("a")], [agrees(13)], options={"table_numbers": "CDC_Customer=12"}))
    assert other.settings["source_table_number"] == 12


def test_two_change_tables_of_one_number_are_troubles() -> None:
    tables = {"CDC_Customer": CUSTOMER, "CDC_Order": CUSTOMER, "CDC_Item": CUSTOMER, "Tracking": TRACKING}
    rows = [row("a", table=name) for name in tables]
    numbers = [agrees(12), agrees(12, table="CDC_Order"), agrees(13, table="CDC_Item")]
    result = found(rows[:3], numbers, tables)
    assert [table.name for table in result.tables] == ["item"]
    assert [trouble.place for trouble in result.troubles] == ["table CDC_Customer", "table CDC_Order"]


def test_the_tracking_table_is_that_with_which_the_rows_agree() -> None:
    tables = {"CDC_Customer": CUSTOMER, "Tracking": TRACKING, "Tracking_2": TRACKING}
    result = found([row("a")], [agrees(12, 1), agrees(12, 9, tracking="Tracking_2")], tables)
    assert only(result).settings["tracking"] == "tracking_2"
    assert [entry.identifier for entry in result.further_entries] == ["Tracking_2"]


@pytest.mark.parametrize(("has_field_map", "level"), [(True, 1), (False, 0)])
def test_a_number_without_a_change_table_is_a_table_of_level_0_or_1(has_field_map: bool, level: int) -> None:
    result = found([], [tracked(14, field_map=has_field_map), tracked(15, changes=False)], {"Tracking": TRACKING})
    table = only(result)
    assert dict(table.settings) == {
        "format": "openedge_cdc",
        "key_from": "recid",
        "source_table_number": 14,
        "policy_level": level,
    }
    assert (table.identifier, list(table.columns), list(table.reads)) == ("Tracking", [], [])


def test_a_number_that_may_be_that_of_a_change_table_is_no_table_of_its_own() -> None:
    result = found([row("a")], [tracked(14)])
    assert list(result.tables) == []
    assert [trouble.place for trouble in result.troubles] == ["table CDC_Customer"]


WITHOUT_RECID = {name: kind for name, kind in TRACKING.items() if name != "_Recid"}


def test_tracking_rows_alone_without_a_recid_are_a_trouble() -> None:
    result = found([], [tracked(14)], {"Tracking": WITHOUT_RECID})
    assert list(result.tables) == []
    assert [trouble.place for trouble in result.troubles] == ["raw.Tracking"]


def test_the_key_can_be_the_recid() -> None:
    assert only(found([row("a")], [agrees(12)], options={"key_from": "recid"})).settings["key_from"] == "recid"
    tables = {"CDC_Customer": CUSTOMER, "Tracking": WITHOUT_RECID}
    result = found([row("a")], [agrees(12)], tables, {"key_from": "recid"})
    assert list(result.tables) == []
    assert ["_Recid" in trouble.text for trouble in result.troubles] == [True]


@pytest.mark.parametrize(
    ("texts", "data_type", "extent"),
    [
        (["1;2.5;?", "3;4;5", "6;7;8"], "array<decimal(38,1)>", 3),
        (["a;b~;c", "d;e", "?", None, "f;g"], "array<string>", 2),
        (["a;b", "c;d"], "string", None),
        (["a;b", "c;d", "e;f;g"], "string", None),
        (["a;b", "c;d", "e"], "string", None),
        (["a;b", "c;d", ""], "string", None),
        (["a~~;b", "c;d", "e;f"], "string", None),
        (["a;b", "c;d", "e;" + "f" * 1998], "string", None),
        (["?", "?", "?"], "string", None),
        ([None], "string", None),
    ],
)
def test_texts_of_one_number_of_elements_are_an_extent(
    texts: Sequence[str | None], data_type: str, extent: int | None
) -> None:
    column = only(found([row(text) for text in texts], [agrees(12)])).columns[1]
    assert column.data_type == data_type
    assert column.meta.get("extent") == extent
    assert ("guess" in column.note) == (extent is not None)


def test_a_type_that_cannot_be_declared_is_read_as_text_with_a_note() -> None:
    tables = {"CDC_Customer": {**HEADERS, "a": "void", "b": "array<string>"}, "Tracking": TRACKING}
    table = only(found([row()], [agrees(12)], tables))
    assert [(column.data_type, bool(column.note)) for column in table.columns] == [
        ("string", True),
        ("array<string>", False),
    ]


def test_no_tracking_table_is_a_trouble() -> None:
    result = found(tables={"CDC_Customer": CUSTOMER})
    assert list(result.tables) == []
    assert [(trouble.place, "tracking" in trouble.text) for trouble in result.troubles] == [("raw", True)]


def test_a_change_table_that_cannot_be_read_is_a_trouble_and_the_rest_is_found() -> None:
    class Partly(FakeLake):
        def query(self, statement: str) -> list[tuple[Any, ...]]:
            if "`CDC_Broken`" in statement:
                raise LakeError("no such file")
            return super().query(statement)

    there: dict[str, Columns] = {"CDC_Broken": CUSTOMER, "CDC_Customer": CUSTOMER, "Tracking": TRACKING}
    result = read(
        Partly({**there, "secret": LakeError("no right")}, {SAMPLE: [row("a")], NUMBERS: [agrees(12)]}), "raw", {}
    )
    assert only(result).name == "customer"
    assert [(trouble.place, trouble.text) for trouble in result.troubles] == [
        ("raw.secret", "no right"),
        ("raw.CDC_Broken", "no such file"),
    ]


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"key_from": "rowid"}, "option key_from"),
        ({"table_numbers": "CDC_Customer"}, "option table_numbers"),
        ({"table_numbers": "CDC_Customer=twelve"}, "option table_numbers"),
        ({"table_numbers": "=12"}, "option table_numbers"),
        ({"sample": "x"}, "option sample"),
        ({"raw_tables": "nobody,Tracking"}, "option raw_tables"),
        ({"raw_tables": "other,Tracking"}, "raw.other"),
    ],
)
def test_an_option_that_is_wrong_is_a_trouble(options: Mapping[str, str], place: str) -> None:
    tables = {"CDC_Customer": CUSTOMER, "Tracking": TRACKING, "other": {"a": "int"}}
    result = found([row("a")], [], tables, options)
    assert list(result.tables) == []
    assert [trouble.place for trouble in result.troubles] == [place]
    assert set(options) <= OPTIONS.keys()


def test_two_queries_take_no_more_of_a_change_table_than_the_sample() -> None:
    tables = {"CDC_Customer": CUSTOMER, "CDC_Order": CUSTOMER, "Tracking": TRACKING}
    lake = FakeLake(tables, {SAMPLE: [], NUMBERS: []})
    read(lake, "raw", {"sample": "77"})
    assert [statement.count("limit 77") for statement in lake.asked] == [2, 2]
