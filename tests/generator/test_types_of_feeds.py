"""The type that is guessed reads every value that was seen, and the note says how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from change_tables.generator.types_of_feeds import guess_type


@pytest.mark.parametrize(
    ("values", "data_type"),
    [
        ([None, None], "string"),
        (["7", None], "bigint"),
        (["0", "-7"], "bigint"),
        (["9" * 18], "bigint"),
        (["9" * 19], "decimal(38,0)"),
        (["9" * 38], "decimal(38,0)"),
        (["9" * 39], "string"),
        (["7", "1.50"], "decimal(38,2)"),
        (["-.5"], "decimal(38,1)"),
        (["0." + "1" * 38], "decimal(38,38)"),
        (["1" * 30, "0." + "1" * 20], "string"),
        (["1e-05", "7", "0.25"], "double"),
        (["1E+300", "NaN", "-Infinity"], "double"),
        (["1e5", "1234567890123456"], "string"),
        (["1e999"], "string"),
        (["007"], "string"),
        (["+7"], "string"),
        (["1,5"], "string"),
        (["7 "], "string"),
        ([""], "string"),
        (["\u0667"], "string"),
        (["true", "FALSE"], "boolean"),
        (["true", "1"], "string"),
        (["2026-01-05"], "date"),
        (["2026-02-30"], "string"),
        (["2026-01-05", "2026-01-05 00:00:00"], "timestamp"),
        (["2026-01-05T08:00:00.123456"], "timestamp"),
        (["2026-01-05 08:00:00+01:00", "2026-01-05T08:00:00Z"], "timestamp"),
        (["2026-01-05 25:00:00"], "string"),
        (["2026-01-05 08:00:00.1234567"], "string"),
        (["2026-01-05:08:00:00"], "string"),
        (["2026-01-05", "7"], "string"),
        (["20260105"], "bigint"),
    ],
)
def test_the_type_reads_every_value(values: Sequence[str | None], data_type: str) -> None:
    assert guess_type(values).data_type == data_type
    assert guess_type(values[::-1]).data_type == data_type


@pytest.mark.parametrize(
    ("values", "data_type"),
    [
        (["2026-01-05:08:00:00.123456789"], "timestamp"),
        (["2026-01-05", "2026-01-06:00:00:00.000000000"], "date"),
        (["2026-01-05", "2026-01-06:00:00:00.000000001"], "timestamp"),
        (["2026-01-05:00:00:00", "2026-01-06 08:00:00"], "timestamp"),
    ],
)
def test_times_of_a_trail_have_a_colon_and_nine_digits_and_dates_are_at_midnight(
    values: Sequence[str], data_type: str
) -> None:
    assert guess_type(values, of_a_trail=True).data_type == data_type


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ([None], "a guess: no value was seen"),
        (["7", None], "a guess from 1 value"),
        (["7", "8"], "a guess from 2 values"),
        (["0", "1"], "a guess from 2 values: only 0 and 1, so boolean reads them as well"),
        (["0", "2"], "a guess from 2 values"),
        (["AB", "01", ""], "a guess from 3 values: all are pairs of hex digits; binary if they are bytes"),
        (["AB", "0"], "a guess from 2 values"),
        ([""], "a guess from 1 value"),
        (
            [*"12345678", "1.5", "n/a"],
            "a guess from 10 values: without 1 of them, such as 'n/a', it would be decimal(38,1)",
        ),
        (
            [*"12345678", "9" * 40],
            f"a guess from 9 values: without 1 of them, such as '{'9' * 20}…', it would be bigint",
        ),
        (["1", "2", "n/a"], "a guess from 3 values"),
    ],
)
def test_the_note_says_what_a_user_must_know(values: Sequence[str | None], note: str) -> None:
    assert guess_type(values).note == note


def test_the_note_says_that_a_date_may_be_a_time() -> None:
    assert "midnight" in guess_type(["2026-01-05:00:00:00"], of_a_trail=True).note
    assert "midnight" not in guess_type(["2026-01-05"], of_a_trail=True).note
