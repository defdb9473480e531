"""What a case of a format page is, for whatever format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .consumer import Entry


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
