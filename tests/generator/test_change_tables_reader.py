"""What is found of Qlik's change tables by their columns alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from change_tables.generator.found import FoundColumn, FurtherEntry, LakeError, Trouble
from change_tables.generator.qlik_change_tables import read
from tests.generator.change_tables import HEADERS, ChangeTables

COLUMNS = {"id": "bigint", "name": "string"}
THREE = {"header__change_seq": "string", "header__change_oper": "string", "header__change_mask": "binary"}

DEFAULT = [name.removeprefix("header__") for name in HEADERS]

# columns of the change table -> the settings
SETTINGS: list[tuple[Mapping[str, str], Mapping[str, Any]]] = [
    (HEADERS, {}),
    (THREE, {"headers": ["change_seq", "change_oper", "change_mask"]}),
    (
        {"HEADER__CHANGE_OPER": "string", "HEADER__CHANGE_SEQ": "varchar(35)"},
        {"headers": ["change_oper", "change_seq"], "header_prefix": "HEADER__"},
    ),
    ({name.replace("header__", "cdc__"): kind for name, kind in HEADERS.items()}, {"header_prefix": "cdc__"}),
    ({name.removeprefix("header__"): kind for name, kind in HEADERS.items()}, {"header_prefix": ""}),
    (HEADERS | {"header__change_mask": "string"}, {"mask_type": "string"}),
    (HEADERS | {"header__change_seq": "decimal(35,0)"}, {}),
    (HEADERS | {"header__change_seq": "decimal(38,0)"}, {}),
    (HEADERS | {"header__partition_name": "string"}, {"headers": [*DEFAULT, "partition_name"]}),
]


@pytest.mark.parametrize(("headers", "settings"), SETTINGS)
def test_settings_are_those_that_the_header_columns_show(
    headers: Mapping[str, str], settings: Mapping[str, Any]
) -> None:
    found = read(ChangeTables({"orders__ct": {**headers, **COLUMNS}}), "raw", {})
    (table,) = found.tables
    assert found.troubles == []
    assert (table.name, table.identifier, table.settings) == ("orders", "orders__ct", settings)
    assert list(table.settings) == list(settings)
    assert [(column.name, column.data_type) for column in table.columns] == list(COLUMNS.items())


def test_without_a_prefix_a_column_of_the_source_may_have_the_name_of_a_header() -> None:
    landed = {"change_seq": "string", "change_oper": "string", "id": "bigint", "timestamp": "timestamp"}
    (table,) = read(ChangeTables({"orders__ct": landed}), "raw", {}).tables
    assert table.settings == {"headers": ["change_seq", "change_oper"], "header_prefix": ""}
    assert [column.name for column in table.columns] == ["id", "timestamp"]


# how a column lands, and in the load -> how it is declared
TYPES = [
    (("string", "string"), "string"),
    (("string", "decimal(18,4)"), "decimal(18,4)"),
    (("varchar(20)", "date"), "date"),
    (("string", "binary"), "string"),
    (("string", "array<int>"), "string"),
    (("string", "variant"), "string"),
    (("int", "bigint"), "bigint"),
    (("bigint", "int"), "bigint"),
    (("decimal(9,2)", "decimal(11,4)"), "decimal(11,4)"),
    (("timestamp", "string"), "timestamp"),
    (("interval day to second", "string"), "string"),
    (("void", "string"), "string"),
    (("string collate UTF8_LCASE", "string"), "string"),
]


@pytest.mark.parametrize(("lands", "declared"), TYPES)
def test_a_column_is_declared_with_the_better_of_its_two_types(lands: tuple[str, str], declared: str) -> None:
    schema = {"orders__ct": {**HEADERS, "id": "int", "x": lands[0]}, "orders": {"ID": "int", "X": lands[1]}}
    (table,) = read(ChangeTables(schema), "raw", {}).tables
    assert table.columns[1].data_type == declared


# types of columns as changes, and in the load -> which of them are named
DIFFERING: list[tuple[dict[str, str], dict[str, str], list[str]]] = [
    ({}, {}, []),
    ({"x": "int", "y": "date"}, {"X": "bigint"}, []),
    ({"x": "date"}, {"x": "string"}, ["x is date, and string in the load"]),
    ({"x": "binary"}, {"x": "string"}, ["x is binary, and string in the load"]),
    ({"x": "string"}, {"x": "binary"}, ["x is string, and binary in the load"]),
    (
        {"x": "bigint", "y": "timestamp"},
        {"x": "int", "y": "timestamp_ntz"},
        ["y is timestamp, and timestamp_ntz in the load"],
    ),
]


@pytest.mark.parametrize(("changes", "load", "named"), DIFFERING)
def test_a_load_is_named_with_each_column_that_has_a_type_which_may_not_fit(
    changes: dict[str, str], load: dict[str, str], named: list[str]
) -> None:
    schema = {"orders__ct": {**HEADERS, "id": "int", **changes}, "orders": {"id": "int", **load}}
    found = read(ChangeTables(schema), "raw", {}).differing_types
    assert [trouble.text.partition(". ")[0] for trouble in found] == (["; ".join(named)] if named else [])
    for trouble in found:
        assert trouble.place == "raw.orders__ct and its load raw.orders"
        assert trouble.text.endswith("look at rejected_changes after the first build")


def test_a_change_table_that_lands_all_as_text_has_no_other_types_than_its_load() -> None:
    schema = {"orders__ct": {**HEADERS, "id": "string", "x": "string"}, "orders": {"id": "int", "x": "date"}}
    assert read(ChangeTables(schema), "raw", {}).differing_types == []


def test_a_type_that_cannot_be_declared_is_handed_on_as_it_is() -> None:
    (table,) = read(ChangeTables({"orders__ct": {**HEADERS, "x": "variant"}}), "raw", {}).tables
    assert table.columns == [FoundColumn("x", "variant")]


def test_loads_are_further_entries_with_names_of_their_own() -> None:
    schema = {
        "orders__ct": {**HEADERS, **COLUMNS}, "Orders": COLUMNS,
        "orders_full__ct": {**HEADERS, **COLUMNS},
        "stock__ct": {**HEADERS, **COLUMNS}, "stock": {"code": "bigint"},
        "customers": COLUMNS,
    }  # fmt: skip
    found = read(ChangeTables(schema), "raw", {})
    assert found.further_entries == [FurtherEntry("orders_full_", "Orders", "The full load of orders.")]
    assert [(table.name, dict(table.settings), table.reads) for table in found.tables] == [
        ("orders", {"snapshot": "orders_full_"}, ("orders_full_",)),
        ("orders_full", {}, ()),
        ("stock", {}, ()),
    ]
    assert found.troubles == [Trouble("raw.stock", "has no column of stock__ct; stock is written without its load")]


def test_a_load_may_lack_columns_that_the_changes_have() -> None:
    schema = {"stock__ct": {**HEADERS, **COLUMNS, "note": "string"}, "stock": {"ID": "int"}}
    found = read(ChangeTables(schema), "raw", {})
    assert [(dict(table.settings), table.reads) for table in found.tables] == [
        ({"snapshot": "stock_full"}, ("stock_full",))
    ]
    assert [column.name for column in found.tables[0].columns] == [*COLUMNS, "note"]
    assert found.troubles == []


@pytest.mark.parametrize(
    ("options", "names", "loads"),
    [
        ({"load": "none"}, ["orders"], []),
        ({"load": "*_load"}, ["orders"], ["orders_load"]),
        ({"change_tables": "ct_*"}, ["Stock"], []),
        ({"change_tables": "CT_*", "load": "none"}, ["Stock"], []),
        ({"ignore": "na*,other"}, ["orders"], ["orders"]),
    ],
)
def test_names_are_as_the_options_say(options: Mapping[str, str], names: list[str], loads: list[str]) -> None:
    schema = {
        "orders__ct": {**HEADERS, **COLUMNS}, "orders": COLUMNS, "orders_load": COLUMNS,
        "ct_Stock": {**HEADERS, **COLUMNS},
    }  # fmt: skip
    found = read(ChangeTables(schema), "raw", options)
    assert [table.name for table in found.tables] == names
    assert [entry.identifier for entry in found.further_entries] == loads
    if "ignore" in options:
        assert [column.name for column in found.tables[0].columns] == ["id"]


@pytest.mark.parametrize("options", [{"change_tables": "orders"}, {"change_tables": "*_*"}, {"load": "full"}])
def test_a_pattern_that_has_no_place_for_the_name_is_refused(options: Mapping[str, str]) -> None:
    with pytest.raises(ValueError, match=r"must (be none or )?have one \*, the name of the source table, got"):
        read(ChangeTables({}), "raw", options)


NO_CHANGE_TABLE = "has no columns …change_seq and …change_oper, so it is no change table; left out"
# what lands -> what is said of it
TROUBLES: list[tuple[Mapping[str, str] | LakeError, str]] = [
    (LakeError("[FAILED] no file"), "[FAILED] no file; left out"),
    ({}, NO_CHANGE_TABLE),
    ({"header__change_seq": "string", "id": "int"}, NO_CHANGE_TABLE),
    *(
        (
            HEADERS | {"header__change_seq": number},
            "header__change_seq must land as text, or as decimal(35,0) to decimal(38,0),"
            f" lands as {number}: that cannot hold its 35 digits; left out",
        )
        for number in ("decimal(34,0)", "decimal(38,1)", "bigint")
    ),
    (
        HEADERS | {"header__change_mask": "bigint"},
        "header__change_mask must land as binary or text, lands as bigint; left out",
    ),
    (
        HEADERS | {"header__user": "string"},
        "header__user begins as header columns do, and is none that is known; a mask counts it:"
        " land the change table without it, or give it to option ignore where there is no mask; left out",
    ),
]


@pytest.mark.parametrize(("landed", "said"), TROUBLES)
def test_a_table_that_cannot_be_read_is_one_line_and_the_others_are_found(
    landed: Mapping[str, str] | LakeError, said: str
) -> None:
    found = read(ChangeTables({"bad__ct": landed, "orders__ct": {**HEADERS, **COLUMNS}}), "raw", {})
    assert found.troubles == [Trouble("raw.bad__ct", said)]
    assert [table.name for table in found.tables] == ["orders"]


def test_a_load_that_cannot_be_read_is_one_line_and_its_table_is_found() -> None:
    found = read(ChangeTables({"orders__ct": {**HEADERS, **COLUMNS}, "orders": LakeError("no file")}), "raw", {})
    assert found.troubles == [Trouble("raw.orders", "no file; orders is written without its load")]
    assert [(table.name, table.settings, table.reads) for table in found.tables] == [("orders", {}, ())]


def test_a_header_column_of_another_kind_can_be_left_out() -> None:
    landed = {**HEADERS, "header__user": "string", **COLUMNS}
    found = read(ChangeTables({"orders__ct": landed}), "raw", {"ignore": "header__user"})
    assert [column.name for column in found.tables[0].columns] == list(COLUMNS)
    assert found.troubles == []


def test_a_schema_without_any_change_table_is_a_trouble() -> None:
    found = read(ChangeTables({"orders": COLUMNS}), "raw", {})
    assert found.troubles == [Trouble("raw", "no table is named *__ct: give option change_tables")]
