"""Change masks, by the rules of the pages on Qlik's change tables and Kafka messages."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from change_tables.udfs.change_masks import (
    LEAST_SIGNIFICANT_FIRST,
    MOST_SIGNIFICANT_FIRST,
    ORDINALS,
    decode_change_mask,
)


def decode(masks: list[Any], byte_order: str | None = MOST_SIGNIFICANT_FIRST, first_ordinal: int | None = 1) -> Any:
    decoded = decode_change_mask(
        pa.array(masks),
        pa.array([byte_order] * len(masks), pa.string()),
        pa.array([first_ordinal] * len(masks), pa.int32()),
    )
    decoded.validate(full=True)
    assert decoded.type == ORDINALS
    return decoded.to_pylist()


def ordinals_of(number: int, first_ordinal: int) -> list[int]:
    return [bit + 2 - first_ordinal for bit in range(first_ordinal - 1, number.bit_length()) if number >> bit & 1]


TEXT_CASES: list[tuple[str | None, str, int, list[int] | None]] = [
    (None, MOST_SIGNIFICANT_FIRST, 8, None),
    ("", MOST_SIGNIFICANT_FIRST, 8, []),
    ("0", MOST_SIGNIFICANT_FIRST, 8, []),
    ("00", MOST_SIGNIFICANT_FIRST, 8, []),
    ("0x", MOST_SIGNIFICANT_FIRST, 8, []),
    ("0180", MOST_SIGNIFICANT_FIRST, 8, [1, 2]),
    ("0180", MOST_SIGNIFICANT_FIRST, 9, [1]),
    ("0180", MOST_SIGNIFICANT_FIRST, 10, []),
    ("0180", MOST_SIGNIFICANT_FIRST, 1, [8, 9]),
    ("180", MOST_SIGNIFICANT_FIRST, 8, [1, 2]),
    ("0x180", MOST_SIGNIFICANT_FIRST, 8, [1, 2]),
    ("0X0180", MOST_SIGNIFICANT_FIRST, 8, [1, 2]),
    ("0000000180", MOST_SIGNIFICANT_FIRST, 8, [1, 2]),
    ("0101", MOST_SIGNIFICANT_FIRST, 1, [1, 9]),
    ("aF", MOST_SIGNIFICANT_FIRST, 1, [1, 2, 3, 4, 6, 8]),
    ("8001", LEAST_SIGNIFICANT_FIRST, 8, [1, 2]),
    ("800100", LEAST_SIGNIFICANT_FIRST, 8, [1, 2]),
    ("0x8001", LEAST_SIGNIFICANT_FIRST, 8, [1, 2]),
    ("801", LEAST_SIGNIFICANT_FIRST, 1, [4, 9]),
    ("1" + "0" * 99, MOST_SIGNIFICANT_FIRST, 1, [397]),
    ("0g", MOST_SIGNIFICANT_FIRST, 1, None),
    ("01 80", MOST_SIGNIFICANT_FIRST, 1, None),
    (" 0180", MOST_SIGNIFICANT_FIRST, 1, None),
    ("x180", MOST_SIGNIFICANT_FIRST, 1, None),
    ("0x0x1", MOST_SIGNIFICANT_FIRST, 1, None),
    ("-1", MOST_SIGNIFICANT_FIRST, 1, None),
    ("\N{ARABIC-INDIC DIGIT ONE}", MOST_SIGNIFICANT_FIRST, 1, None),
]

BINARY_CASES: list[tuple[bytes | None, str, int, list[int] | None]] = [
    (None, LEAST_SIGNIFICANT_FIRST, 8, None),
    (b"", LEAST_SIGNIFICANT_FIRST, 8, []),
    (b"\x00", LEAST_SIGNIFICANT_FIRST, 8, []),
    (b"\x80\x01", LEAST_SIGNIFICANT_FIRST, 8, [1, 2]),
    (b"\x80\x01\x00\x00", LEAST_SIGNIFICANT_FIRST, 8, [1, 2]),
    (b"\x80", LEAST_SIGNIFICANT_FIRST, 8, [1]),
    (b"\x01\x80", MOST_SIGNIFICANT_FIRST, 8, [1, 2]),
    (b"\x7f", LEAST_SIGNIFICANT_FIRST, 8, []),
    (bytes(127) + b"\x80", LEAST_SIGNIFICANT_FIRST, 1, [1024]),
    (b"\x80" + bytes(127), MOST_SIGNIFICANT_FIRST, 8, [1017]),
]


@pytest.mark.parametrize(("mask", "byte_order", "first_ordinal", "expected"), TEXT_CASES)
def test_hex_text_is_one_big_number(
    mask: str | None, byte_order: str, first_ordinal: int, expected: list[int] | None
) -> None:
    masks = pa.array([mask], pa.string())
    assert decode_change_mask(masks, pa.array([byte_order]), pa.array([first_ordinal])).to_pylist() == [expected]


@pytest.mark.parametrize(("mask", "byte_order", "first_ordinal", "expected"), BINARY_CASES)
def test_a_binary_mask_is_read_in_its_byte_order(
    mask: bytes | None, byte_order: str, first_ordinal: int, expected: list[int] | None
) -> None:
    masks = pa.array([mask], pa.binary())
    assert decode_change_mask(masks, pa.array([byte_order]), pa.array([first_ordinal])).to_pylist() == [expected]


def test_a_batch_of_different_masks_keeps_each_row_to_itself() -> None:
    cases = [case for case in TEXT_CASES if case[1:3] == (MOST_SIGNIFICANT_FIRST, 1)]
    masks = [case[0] for case in cases] * 2
    assert decode(masks) == [case[3] for case in cases] * 2


def test_byte_order_and_first_ordinal_may_differ_from_row_to_row() -> None:
    masks, byte_orders, first_ordinals, expected = zip(*(TEXT_CASES + TEXT_CASES[::-1]), strict=True)
    decoded = decode_change_mask(pa.array(masks), pa.array(byte_orders), pa.array(first_ordinals))
    assert decoded.to_pylist() == list(expected)


@pytest.mark.parametrize(
    ("mask", "expected"),
    [("8001", [1, 16]), (b"\x80\x01", [8, 9])],
)
def test_a_null_byte_order_means_the_usual_one_of_the_type(mask: str | bytes, expected: list[int]) -> None:
    assert decode([mask], byte_order=None) == [expected]


@pytest.mark.parametrize(
    ("byte_order", "first_ordinal"),
    [("middle_first", 1), ("MOST_SIGNIFICANT_FIRST", 1), (MOST_SIGNIFICANT_FIRST, None), (MOST_SIGNIFICANT_FIRST, 0)],
)
def test_an_unusable_setting_yields_null(byte_order: str, first_ordinal: int | None) -> None:
    assert decode(["01", None], byte_order, first_ordinal) == [None, None]


def test_a_slice_of_a_longer_array_is_read_from_its_own_rows() -> None:
    masks = pa.array(["ff", "0180", None, "01", "ff"]).slice(1, 3)
    settings = pa.array([MOST_SIGNIFICANT_FIRST] * 3), pa.array([1] * 3)
    assert decode_change_mask(masks, *settings).to_pylist() == [[8, 9], None, [1]]


@pytest.mark.parametrize("mask_type", [pa.string(), pa.large_string(), pa.binary(), pa.null()])
def test_an_empty_batch_yields_an_empty_array(mask_type: Any) -> None:
    decoded = decode_change_mask(pa.array([], mask_type), pa.array([], pa.string()), pa.array([], pa.int32()))
    assert decoded.to_pylist() == []
    assert decoded.type == ORDINALS


def test_bare_nulls_yield_null() -> None:
    assert decode_change_mask(pa.nulls(2), pa.nulls(2), pa.nulls(2)).to_pylist() == [None, None]


def test_text_that_is_not_utf_8_yields_null() -> None:
    masks = pa.array([b"\xff\xfe", b"01"]).cast(pa.string(), safe=False)
    settings = pa.array([MOST_SIGNIFICANT_FIRST] * 2), pa.array([1] * 2)
    assert decode_change_mask(masks, *settings).to_pylist() == [None, [1]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((pa.array([1]), pa.array(["x"]), pa.array([1])), "`mask` must be string or binary, got int64"),
        ((pa.array(["1"]), pa.array([1]), pa.array([1])), "`byte_order` must be string, got int64"),
        ((pa.array(["1"]), pa.array(["x"]), pa.array(["1"])), "`first_ordinal` must be an integer, got string"),
    ],
)
def test_a_column_of_another_type_is_a_wrong_call(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"^decode_change_mask: {message}$"):
        decode_change_mask(*arguments)


numbers = st.lists(st.integers(0, 2**300), min_size=1, max_size=8)


@given(numbers, st.integers(1, 20), st.integers(0, 3), st.sampled_from(["", "0x", "0X"]), st.booleans())
def test_every_hex_text_of_a_number_names_its_bits(
    numbers: list[int], first_ordinal: int, zeros: int, prefix: str, upper: bool
) -> None:
    texts = [prefix + "0" * zeros + (f"{number:X}" if upper else f"{number:x}") for number in numbers]
    assert decode(texts, MOST_SIGNIFICANT_FIRST, first_ordinal) == [ordinals_of(n, first_ordinal) for n in numbers]


@given(numbers, st.integers(1, 20), st.integers(0, 3), st.sampled_from(["little", "big"]))
def test_binary_and_its_hex_text_name_the_same_bits(
    numbers: list[int], first_ordinal: int, zero_bytes: int, order: Any
) -> None:
    byte_order = {"little": LEAST_SIGNIFICANT_FIRST, "big": MOST_SIGNIFICANT_FIRST}[order]
    masks = [number.to_bytes((number.bit_length() + 7) // 8 + zero_bytes, order) for number in numbers]
    expected = [ordinals_of(number, first_ordinal) for number in numbers]
    assert decode(masks, byte_order, first_ordinal) == expected
    assert decode([mask.hex() for mask in masks], byte_order, first_ordinal) == expected
