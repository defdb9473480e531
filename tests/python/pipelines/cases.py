"""What a case of a format page is, for whatever format, and what is held against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .consumer import Entry
from .landing import Raw


@dataclass(frozen=True)
class Case:
    """One source table: its entry, the type of what lands, and per batch what lands and what is current then.

    `landed_columns` is None where another case lands the raw table. `reasons` counts the rows of both batches by
    (status, code); `current` holds (key…, name) after each batch, `reported` (change, code) after both.
    """

    entry: Entry
    landed_columns: Mapping[str, str] | None
    batches: Sequence[Sequence[Sequence[Any]]]
    reasons: Mapping[tuple[str, str | None], int]
    current: Sequence[set[tuple[Any, ...]]] = ()
    shown: str = "id, name"
    reported: set[tuple[str, str]] = field(default_factory=set)


def current_rows(raw: Raw, schema: str, entry: str, shown: str) -> set[tuple[Any, ...]]:
    """The rows of an entry's current model, each of which stands there once."""
    rows = raw.query(f"select {shown} from {schema}.current_feed__{entry}")
    assert len(rows) == len(set(rows)), f"{entry}: a row stands twice"
    return set(rows)


def assert_statuses(raw: Raw, schema: str, case: Case) -> None:
    """Staging counts the raw rows by status and code as the case does, and shows those that it did not accept."""
    rows = raw.query(
        "select _status, substring_index(_status_reason, ':', 1), _raw_row is null"
        f" from {schema}.stg_feed__{case.entry.name}"
    )
    assert Counter(row[:2] for row in rows) == Counter(case.reasons)
    assert all((status == "accepted") == without_text for status, _, without_text in rows)


def assert_rejected(raw: Raw, schema: str, case: Case) -> None:
    """The rejected rows of a case are listed with their codes."""
    listed = raw.query(f"select reason_code from {schema}.rejected where table_name = '{case.entry.name}'")
    expected = {code: count for (status, code), count in case.reasons.items() if status == "rejected"}
    assert Counter(code for (code,) in listed) == Counter(expected)


def assert_reported(raw: Raw, schema: str, case: Case) -> None:
    """What needs a look of a case is reported, and nothing else."""
    reported = raw.query(f"select _change_id, code from {schema}.reported where table_name = '{case.entry.name}'")
    assert sorted(reported) == sorted(case.reported)
