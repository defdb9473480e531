"""Change sequences of 35 digits, by the page on Qlik's change tables."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from change_tables.udfs.change_sequences import split_change_seq


def split(sequences: list[str | None]) -> Any:
    parts = split_change_seq(pa.array(sequences, pa.string()))
    parts.validate(full=True)
    return parts.to_pylist()


def at(*time: int) -> datetime.datetime:
    # mypy knows no length of a tuple[int, ...]
    return datetime.datetime(*time, tzinfo=datetime.UTC)  # type: ignore[arg-type, misc]


CASES: list[tuple[str | None, tuple[datetime.datetime, str] | None]] = [
    (None, None),
    ("20260131120000000000000000000000042", (at(2026, 1, 31, 12), "42")),
    ("20260131235959990000000000000000001", (at(2026, 1, 31, 23, 59, 59, 990_000), "1")),
    ("20240229000000010000000000000000000", (at(2024, 2, 29, 0, 0, 0, 10_000), "0")),
    ("20000229000000000000000000000000000", (at(2000, 2, 29), "0")),
    ("19691231235959990000000000000000007", (at(1969, 12, 31, 23, 59, 59, 990_000), "7")),
    ("00010101000000000000000000000000007", (at(1, 1, 1), "7")),
    ("99991231235959999999999999999999999", (at(9999, 12, 31, 23, 59, 59, 990_000), "9999999999999999999")),
    ("20260131120000009223372036854775808", (at(2026, 1, 31, 12), "9223372036854775808")),
    ("19000229000000000000000000000000000", None),
    ("20260229000000000000000000000000000", None),
    ("20260431000000000000000000000000000", None),
    ("20260100000000000000000000000000000", None),
    ("20260132000000000000000000000000000", None),
    ("20260001000000000000000000000000000", None),
    ("20261301000000000000000000000000000", None),
    ("20260131240000000000000000000000000", None),
    ("20260131006000000000000000000000000", None),
    ("20260131000060000000000000000000000", None),
    ("00000101000000000000000000000000000", None),
    ("00000000000000000000000000000000042", None),
    ("", None),
    ("2026013112000000000000000000000042", None),
    ("202601311200000000000000000000000042", None),
    ("2026013112000000000000000000000004x", None),
    ("2026013112000000-000000000000000042", None),
    ("2026-01-31 12:00:000000000000000042", None),
    (" 2026013112000000000000000000000042", None),
    ("\N{ARABIC-INDIC DIGIT TWO}0260131120000000000000000000000042", None),
    ("\N{ARABIC-INDIC DIGIT TWO}026013112000000000000000000000042", None),  # 35 bytes, 34 characters
]


def expected_parts(expected: tuple[datetime.datetime, str] | None) -> dict[str, Any] | None:
    return expected and {"changed_at": expected[0], "change_number": Decimal(expected[1])}


@pytest.mark.parametrize(("sequence", "expected"), CASES)
def test_a_sequence_is_a_time_and_a_number(
    sequence: str | None, expected: tuple[datetime.datetime, str] | None
) -> None:
    assert split([sequence]) == [expected_parts(expected)]


def test_a_batch_of_good_and_bad_sequences_keeps_each_row_to_itself() -> None:
    assert split([case[0] for case in CASES * 2]) == [expected_parts(case[1]) for case in CASES * 2]


def test_a_slice_of_a_longer_array_is_read_from_its_own_rows() -> None:
    sequences = pa.array([case[0] for case in CASES]).slice(2, 3)
    assert split_change_seq(sequences).to_pylist() == [expected_parts(case[1]) for case in CASES[2:5]]


def test_the_result_has_the_types_that_spark_awaits() -> None:
    for values in (pa.array([CASES[1][0]]), pa.array([], pa.string()), pa.nulls(1)):
        fields = split_change_seq(values).type.fields
        assert [(field.name, field.type) for field in fields] == [
            ("changed_at", pa.timestamp("us", tz="UTC")),
            ("change_number", pa.decimal128(19, 0)),
        ]


def test_a_bare_null_yields_null() -> None:
    assert split_change_seq(pa.nulls(2)).to_pylist() == [None, None]


def test_a_column_of_another_type_is_a_wrong_call() -> None:
    with pytest.raises(TypeError, match=r"^split_change_seq: `change_seq` must be string, got binary$"):
        split_change_seq(pa.array([b"20260131120000000000000000000000042"]))


@given(
    st.lists(
        st.tuples(st.datetimes(), st.integers(0, 10**19 - 1)),
        max_size=6,
    )
)
def test_what_a_sequence_was_made_of_comes_back(parts: list[tuple[datetime.datetime, int]]) -> None:
    parts = [(time.replace(microsecond=time.microsecond // 10_000 * 10_000), number) for time, number in parts]
    sequences: list[str | None] = [
        f"{time.year:04}{time:%m%d%H%M%S}{time.microsecond // 10_000:02}{number:019}" for time, number in parts
    ]
    assert split(sequences) == [
        {"changed_at": time.replace(tzinfo=datetime.UTC), "change_number": Decimal(number)} for time, number in parts
    ]


@given(st.text(alphabet="0123456789", min_size=16, max_size=16))
def test_a_time_is_read_exactly_where_there_is_one(digits: str) -> None:
    fields = int(digits[:4]), *(int(digits[place : place + 2]) for place in range(4, 16, 2))
    try:
        expected = at(*fields[:6], fields[6] * 10_000)
    except ValueError:
        assert split([digits + "0" * 19]) == [None]
    else:
        assert split([digits + "0" * 19])[0]["changed_at"] == expected
