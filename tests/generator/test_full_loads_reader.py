"""What is found of full loads by the column that tells them apart."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from change_tables.generator.full_loads import read
from tests.generator.change_tables import ChangeTables

DAY = {"load_day": "date"}
OPTIONS = {"load_column": "load_day"}


def test_each_table_with_the_load_column_is_one_and_has_its_other_columns() -> None:
    lake = ChangeTables(
        {
            "Shop Orders": {"id": "bigint", "LOAD_DAY": "date", "etl_at": "timestamp", "x": "void"},
            "lines": {**DAY, "id": "bigint", "amount": "decimal(9,2)"},
            "other": {"id": "bigint"},
        }
    )
    found = read(lake, "raw", OPTIONS | {"ignore": "etl_*"})
    assert found.troubles == []
    assert [(table.name, table.identifier, dict(table.settings)) for table in found.tables] == [
        ("shop_orders", "Shop Orders", {"format": "full_loads", "load_column": "LOAD_DAY"}),
        ("lines", "lines", {"format": "full_loads", "load_column": "load_day"}),
    ]
    assert [[(column.name, column.data_type) for column in table.columns] for table in found.tables] == [
        [("id", "bigint"), ("x", "string")],
        [("id", "bigint"), ("amount", "decimal(9,2)")],
    ]


def test_tables_can_be_named_by_a_pattern_or_one_by_one() -> None:
    lake = ChangeTables(dict.fromkeys(["loads_orders", "loads_lines", "orders"], DAY | {"id": "bigint"}))
    named = read(lake, "raw", OPTIONS | {"tables": "loads_*"})
    assert [(table.name, table.identifier) for table in named.tables] == [
        ("lines", "loads_lines"),
        ("orders", "loads_orders"),
    ]
    (one,) = read(lake, "raw", OPTIONS | {"raw_tables": "orders"}).tables
    assert one.identifier == "orders"


@pytest.mark.parametrize(
    ("data_type", "is_read"),
    [
        ("int", True),
        ("decimal(20,0)", True),
        ("varchar(8)", True),
        ("timestamp_ntz", True),
        ("decimal(20,2)", False),
        ("double", False),
        ("boolean", False),
        ("binary", False),
    ],
)
def test_a_load_column_has_a_type_that_the_format_takes(data_type: str, is_read: bool) -> None:
    found = read(ChangeTables({"orders": {"load_day": data_type, "id": "bigint"}}), "raw", OPTIONS)
    assert len(found.tables) == is_read
    assert [trouble.place for trouble in found.troubles] == ["raw.orders"] * (not is_read)


@pytest.mark.parametrize(
    ("options", "said"), [({}, "option load_column must name"), (OPTIONS | {"tables": "loads"}, "must have one \\*")]
)
def test_an_option_that_cannot_be_used_is_refused(options: Mapping[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(ChangeTables({}), "raw", options)


def test_a_schema_without_such_a_table_is_a_trouble() -> None:
    lake = ChangeTables({"orders": {"id": "bigint"}})
    assert [trouble.place for trouble in read(lake, "raw", OPTIONS).troubles] == ["raw"]
    assert (
        "give option tables" in read(ChangeTables({"orders": DAY}), "raw", OPTIONS | {"tables": "x*"}).troubles[0].text
    )
