"""Section 5 of the design in plain Python, for full images: slow and obvious, and nothing of it taken from the SQL.

The state is a function of the set of distinct changes. Key moves into a key that has not been left yet are not among
the histories that this interpreter reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Key = tuple[Any, ...]

PRECEDENCE = ("truncate", "snapshot", "departure", "insert", "update", "upsert", "delete")


@dataclass(frozen=True)
class Change:
    """One accepted change, as staging would hand it on."""

    change_id: str
    seq: str
    op: str
    row: Mapping[str, Any] | None
    key: Key | None
    key_before: Key | None = None


def content_text(row: Mapping[str, Any] | None) -> str:
    """The columns as Spark's to_json writes them: in declared order, nulls left out."""
    values = {name: value for name, value in (row or {}).items() if value is not None}
    return json.dumps(values, separators=(",", ":"), ensure_ascii=False, default=str)


def distinct_changes(deliveries: Iterable[Change]) -> list[Change]:
    """One change an id: the greater content wins, and a key before that only one delivery tells is kept."""
    chosen: dict[str, Change] = {}
    for delivered in deliveries:
        known = chosen.setdefault(delivered.change_id, delivered)
        winner = max(known, delivered, key=lambda change: content_text(change.row))
        tells = [change.key_before for change in (known, delivered) if change.key_before is not None]
        chosen[delivered.change_id] = Change(
            winner.change_id, winner.seq, winner.op, winner.row, winner.key, max(tells, default=None)
        )
    return list(chosen.values())


def current_state(deliveries: Iterable[Change]) -> dict[Key, Mapping[str, Any]]:
    """The living rows by key, after every delivered change."""
    events: list[tuple[str, int, str, Key | None, Mapping[str, Any] | None]] = []
    for change in distinct_changes(deliveries):
        rank = PRECEDENCE.index(change.op)
        row = None if change.op in ("delete", "truncate") else change.row
        events.append((change.seq, rank, change.change_id, change.key, row))
        if change.key_before is not None:
            events.append((change.seq, PRECEDENCE.index("departure"), change.change_id, change.key_before, None))
    state: dict[Key, Mapping[str, Any]] = {}
    for _seq, rank, _change_id, key, row in sorted(events, key=lambda event: event[:3]):
        if PRECEDENCE[rank] == "truncate":
            state.clear()
        elif row is None:
            state.pop(key or (), None)
        else:
            state[key or ()] = row
    return state
