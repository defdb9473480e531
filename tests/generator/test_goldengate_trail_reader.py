"""Tables that records of a trail show, by rules: what lands as a whole is for the module with a server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from change_tables.generator.found import Found, LakeError
from change_tables.generator.goldengate_trail import OPTIONS, RECORD, read
from tests.generator.fake_lake import FakeLake

RECORDS = dict.fromkeys(RECORD, "string") | {"io_time": "timestamp"}
Image = Mapping[str, str | None]


def record(
    rba: int,
    after: Image | None = None,
    before: Image | None = None,
    *,
    io_type: int = 5,
    trans_ind: int = 3,
    continued: str | None = "N",
    table: str = "SHOP.ORDERS",
    place: tuple[str, int] = ("et", 0),
) -> tuple[Any, ...]:
    """A row of the query for the sample."""
    images = [None if image is None else json.dumps(image) for image in (before, after)]
    return "records", table, *place, rba, io_type, trans_ind, continued, *images


def found(*records: Sequence[Any], **options: str) -> Found:
    """What the reader finds in these records."""
    return read(FakeLake({"records": RECORDS, "orders": {"id": "int"}}, {"": records}), "raw", options)


def types(result: Found) -> dict[str, str]:
    """The columns of the one table, with their types, in order."""
    (table,) = result.tables
    return {column.name: column.data_type for column in table.columns}


def test_a_table_has_the_columns_and_the_types_of_its_images() -> None:
    result = found(record(1, {"id": "1", "amount": "1.50", "at": "2026-01-05:08:00:00.000000000"}))
    (table,) = result.tables
    assert types(result) == {"id": "bigint", "amount": "decimal(38,2)", "at": "timestamp"}
    assert all("guess" in column.note for column in table.columns)
    assert dict(table.settings) == {"format": "goldengate_trail", "table_name": "SHOP.ORDERS"}
    assert (table.name, table.identifier) == ("orders", "records")
    assert list(result.troubles) == []


def test_the_widest_image_gives_the_order_and_other_columns_come_after_it() -> None:
    result = found(record(1, {"z": "1", "b": "1"}), record(2, {"b": "1", "a": "1", "c": "1"}), record(3, {"y": "1"}))
    assert list(types(result)) == ["b", "a", "c", "z", "y"]


def test_values_before_count_as_those_after_and_missing_is_not_null() -> None:
    assert types(found(record(1, {"a": "1", "b": None}, {"a": "x"}), record(2, {"a": "2"}))) == {
        "a": "string",
        "b": "string",
    }


def test_a_record_that_landed_twice_counts_once() -> None:
    (table,) = found(record(1, {"a": "1"}), record(1, {"a": "1"})).tables
    assert table.columns[0].note == "a guess from 1 value"


def test_a_record_without_a_position_is_left_out() -> None:
    nowhere = ("records", "SHOP.ORDERS", "et", None, 1, 5, 3, "N", None, '{"a": "x"}')
    assert types(found(record(1, {"a": "1"}), nowhere, record(2, {"a": "2"}))) == {"a": "bigint"}


def test_a_record_in_pieces_is_put_together_before_its_types_are_guessed() -> None:
    pieces = [
        record(1, {"a": "1", "at": "2026-0"}, continued="Y", trans_ind=0),
        record(2, {"at": "1-0", "b": None}, io_type=161, continued="Y", trans_ind=1),
        record(3, {"b": None, "c": "7"}, io_type=161, trans_ind=2),
    ]
    for order in (pieces, pieces[::-1]):
        assert types(found(*order, record(4, {"at": "2026-01-05"}))) == {
            "a": "bigint",
            "at": "string",
            "b": "string",
            "c": "bigint",
        }
    pieces[1] = record(2, {"at": "1-05", "b": None}, io_type=161, continued="Y", trans_ind=1)
    assert types(found(*pieces))["at"] == "date"


@pytest.mark.parametrize(
    "following",
    [
        pytest.param(
            record(2, {"a": "2026-01-06", "b": "2"}, trans_ind=1), id="it has more than the column at the cut"
        ),
        pytest.param(record(2, {"a": "2026-01-06"}, trans_ind=0), id="it begins a transaction"),
    ],
)
def test_what_follows_a_piece_and_is_no_piece_is_not_joined_to_it(following: Sequence[Any]) -> None:
    first = record(1, {"a": "2026-01-05", "b": "1"}, continued="Y", trans_ind=0)
    assert types(found(first, following, record(3, {"a": "2026-01-07"})))["a"] == "date"


def test_a_piece_that_nothing_follows_is_left_out() -> None:
    assert types(found(record(1, {"a": "1"}), record(2, {"a": "2026-"}, continued="Y"))) == {"a": "bigint"}


def test_the_first_record_of_a_sample_that_is_cut_may_be_a_rest_and_is_left_out() -> None:
    rest = record(1, {"a": "-05"}, trans_ind=2)
    assert types(found(rest, record(2, {"a": "2026-01-05"}), sample="2")) == {"a": "date"}
    assert types(found(rest, record(2, {"a": "2026-01-05"}), sample="3")) == {"a": "string"}


def test_a_table_of_which_no_record_is_whole_is_a_trouble_and_the_rest_is_found() -> None:
    result = found(record(1, {"a": "1"}, continued="Y"), record(2, {"a": "1"}, table="SHOP.PRICES"))
    assert [table.name for table in result.tables] == ["prices"]
    assert [(trouble.place, "`sample`" in trouble.text) for trouble in result.troubles] == [("table SHOP.ORDERS", True)]


@pytest.mark.parametrize(
    ("records", "key"),
    [
        pytest.param([record(1, None, {"b": "1", "a": None}, io_type=3)], ["a", "b"], id="a delete"),
        pytest.param([record(1, {"a": "1"}, {"a": "2"}, io_type=115)], ["a"], id="a key update"),
        pytest.param([record(1, {"a": "1"}, {"a": "2"}, io_type=117)], ["a"], id="a long key update"),
        pytest.param([record(1, {"a": "1"}, {"a": "2"}, io_type=134)], [], id="an update of both images"),
        pytest.param(
            [record(1, None, {"a": "1"}, io_type=3), record(2, None, {"a": "1", "b": "1", "c": "1"}, io_type=3)],
            ["a"],
            id="what all deletes have",
        ),
        pytest.param([record(1, None, {"a": "1", "b": "1", "c": "1"}, io_type=3)], [], id="a whole image before"),
        pytest.param([record(1, None, {}, io_type=3)], [], id="no image"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_the_key_is_what_every_delete_and_key_update_has_before_it(records: Sequence[Any], key: Sequence[str]) -> None:
    (table,) = found(record(0, {"a": "1", "b": "1", "c": "1"}), *records).tables
    assert table.key == key
    assert [column.name for column in table.columns if "of the key, by a guess" in column.note] == key


def test_names_that_land_in_other_case_are_one_column_under_the_usual_spelling() -> None:
    (table,) = found(record(1, {"A": "1"}), record(2, {"a": "x"}), record(3, {"A": "1"})).tables
    assert [(column.name, column.data_type) for column in table.columns] == [("A", "string")]
    assert table.settings["column_names"] == "ignore_case"


def test_columns_that_differ_only_in_case_are_a_trouble() -> None:
    result = found(record(1, {"A": "1", "a": "1", "b": "1"}))
    assert list(result.tables) == []
    assert ["A, a" in trouble.text for trouble in result.troubles] == [True]


@pytest.mark.parametrize("sample", ["0", "-1", "1.5", "", "all"])
def test_a_sample_that_is_no_number_is_a_trouble(sample: str) -> None:
    result = found(record(1, {"a": "1"}), sample=sample)
    assert list(result.tables) == []
    assert [trouble.place for trouble in result.troubles] == ["option sample"]
    assert "sample" in OPTIONS


def test_no_record_is_a_trouble() -> None:
    assert [trouble.place for trouble in found().troubles] == ["raw"]


def test_a_query_that_fails_is_a_trouble_with_the_raw_table() -> None:
    lake = FakeLake({"records": RECORDS}, {"": LakeError("out of memory")})
    assert [(trouble.place, trouble.text) for trouble in read(lake, "raw", {}).troubles] == [
        ("raw.records", "out of memory")
    ]


def test_one_query_takes_no_more_of_a_table_than_the_sample() -> None:
    lake = FakeLake({"records": RECORDS, "two": RECORDS}, {"": [record(1, {"a": "1"})]})
    read(lake, "raw", {"sample": "77"})
    (statement,) = lake.asked
    assert statement.count("place <= 77") == 2
