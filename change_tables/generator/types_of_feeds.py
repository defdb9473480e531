"""Types of columns: those that texts can be read as, for feeds that land values as texts and say no types."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from math import isfinite

from .data_types import can_be_declared

_NUMBER = re.compile(r"-?(?:(?P<whole>0|[1-9]\d*)(?:\.(?P<fraction>\d+))?|\.(?P<only_fraction>\d+))", re.ASCII)
_FLOATING = re.compile(r"-?\d+(\.\d*)?[eE][+-]?\d+|NaN|-?Infinity", re.ASCII)
_BOOLEAN = re.compile(r"true|false", re.IGNORECASE)
_TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:(?P<between>[ T:])(?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))?(?P<zone>Z|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)
_HEX_DIGITS = re.compile(r"(?:[0-9A-F]{2})*|(?:[0-9a-f]{2})*")

MOST_DIGITS = 38
"""Of a decimal."""
_DIGITS_OF_A_BIGINT = 18
_DIGITS_OF_A_DOUBLE = 15
_FEW = 0.2
_LONGEST_EXAMPLE = 20


@dataclass(frozen=True)
class GuessedType:
    """A type by the values that were seen, and what the user must know of it, on one line."""

    data_type: str
    note: str


def declared_type(landed: str) -> tuple[str, str]:
    """The type that a column is declared with that lands in this one, and a note where it cannot be the same.

    Source: docs/landed_types.md.

    >>> declared_type("decimal(18,4)"), declared_type("void")
    (('decimal(18,4)', ''), ('string', 'lands as void, which cannot be declared'))
    """
    if can_be_declared(landed):
        return landed, ""
    return "string", f"lands as {landed}, which cannot be declared"


def guess_type(values: Iterable[str | None], *, of_a_trail: bool = False) -> GuessedType:
    """The type that reads every one of these texts without loss: `string` where no other does.

    Args:
        values: texts; null says nothing
        of_a_trail: whether times are written as in GoldenGate's trails: also with a colon after the day, and with up to
            nine digits after the second, and a date also as a time at midnight

    Returns:
        One of bigint, decimal(38,…), double, boolean, date, timestamp, string. A number with zeros before it is a text.

    >>> guess_type(["7", "-12.50", None])
    GuessedType(data_type='decimal(38,2)', note='a guess from 2 values')
    >>> guess_type(["2026-01-05", "2026-01-06 08:00:00"]).data_type, guess_type(["007"]).data_type
    ('timestamp', 'string')
    >>> guess_type([]).note
    'a guess: no value was seen'
    """
    seen = [value for value in values if value is not None]
    if not seen:
        return GuessedType("string", "a guess: no value was seen")
    note = f"a guess from {len(seen)} value{'s' if len(seen) > 1 else ''}"
    data_type = _common_type(seen, of_a_trail=of_a_trail)
    if data_type == "bigint" and set(seen) == {"0", "1"}:
        note += ": only 0 and 1, so boolean reads them as well"
    elif data_type == "date" and any(len(value) > len("2026-01-05") for value in seen):
        note += ": every time is midnight; timestamp if others can come"
    elif data_type is None:
        note += _why_a_text(seen, of_a_trail=of_a_trail)
    return GuessedType(data_type or "string", note)


def _common_type(values: Iterable[str], *, of_a_trail: bool) -> str | None:
    """The type of all values but texts; None where there is none."""
    kinds: set[str] = set()
    whole_digits = scale = 0
    at_midnight = True
    for value in values:
        kind = _kind(value, of_a_trail=of_a_trail)
        if kind is None:
            return None
        kinds.add(kind)
        if number := _number(value):
            whole_digits, scale = max(whole_digits, number[0]), max(scale, number[1])
        elif kind == "timestamp":
            time = _TIME.fullmatch(value)
            at_midnight &= time is not None and time["clock"] == "00:00:00" and not (time["fraction"] or "").strip("0")
    if kinds == {"whole"} and whole_digits <= _DIGITS_OF_A_BIGINT:
        return "bigint"
    if kinds <= {"whole", "decimal"}:
        return f"decimal({MOST_DIGITS},{scale})" if whole_digits + scale <= MOST_DIGITS else None
    if kinds <= {"whole", "decimal", "floating"}:
        return "double" if whole_digits <= _DIGITS_OF_A_DOUBLE else None
    if kinds <= {"date", "timestamp"}:
        return "date" if kinds == {"date"} or (of_a_trail and at_midnight) else "timestamp"
    return "boolean" if kinds == {"boolean"} else None


def _number(value: str) -> tuple[int, int] | None:
    """How many digits a number has before and after the point; None for any other text."""
    if not (number := _NUMBER.fullmatch(value)):
        return None
    return len((number["whole"] or "").lstrip("0")), len(number["fraction"] or number["only_fraction"] or "")


def _kind(value: str, *, of_a_trail: bool) -> str | None:
    """What a text is by itself; None for a text that is nothing else."""
    if number := _number(value):
        whole_digits, scale = number
        return None if whole_digits + scale > MOST_DIGITS else "decimal" if "." in value else "whole"
    if _FLOATING.fullmatch(value):
        return "floating" if not value[-1].isdigit() or isfinite(float(value)) else None
    if _BOOLEAN.fullmatch(value):
        return "boolean"
    time = _TIME.fullmatch(value)
    if time is None or not _exists(time):
        return None
    if time["clock"] is None:
        return "date"
    if not of_a_trail and (time["between"] == ":" or len(time["fraction"] or "") > 6):
        return None
    return "timestamp"


def _exists(time: re.Match[str]) -> bool:
    """Whether there are such a day and such a time of day."""
    try:
        if time["clock"] is None:
            date.fromisoformat(time["day"])
        else:
            datetime.fromisoformat(f"{time['day']}T{time['clock']}{time['zone'] or ''}")
    except ValueError:
        return False
    return True


def _why_a_text(seen: list[str], *, of_a_trail: bool) -> str:
    """What the user must know of texts that are no longer texts without a few of them, or that may be bytes."""
    if any(seen) and all(_HEX_DIGITS.fullmatch(value) for value in seen):
        return ": all are pairs of hex digits; binary if they are bytes"
    others = [value for value in seen if _kind(value, of_a_trail=of_a_trail) is None]
    rest = [value for value in seen if _kind(value, of_a_trail=of_a_trail) is not None]
    data_type = _common_type(rest, of_a_trail=of_a_trail) if rest else None
    if data_type is None or len(others) > _FEW * len(seen):
        return ""
    example = others[0] if others else max(rest, key=len)
    shown = repr(example[:_LONGEST_EXAMPLE] + ("…" if len(example) > _LONGEST_EXAMPLE else ""))
    return f": without {len(others)} of them, such as {shown}, it would be {data_type}"
