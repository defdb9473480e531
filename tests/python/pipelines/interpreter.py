"""Section 5 of the design in plain Python, for full images: slow and obvious, and nothing of it taken from the SQL.

The state is a function of the set of distinct changes.
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
    transaction_id: str | None = None


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
            winner.change_id,
            winner.seq,
            winner.op,
            winner.row,
            winner.key,
            max(tells, default=None),
            winner.transaction_id,
        )
    return list(chosen.values())


@dataclass(frozen=True)
class _Event:
    """What a change does to one key: sets its row, or ends one (`row` is None)."""

    seq: str
    rank: int
    change_id: str
    transaction_id: str | None
    key: Key | None
    row: Mapping[str, Any] | None
    enters: bool


def current_state(deliveries: Iterable[Change]) -> dict[Key, Mapping[str, Any]]:
    """The living rows by key, after every delivered change.

    At a key stands a queue of rows. Only a move inside the transaction of the change before it makes more than one:
    whoever entered first leaves first, and at the transaction's end the newest stays.
    """
    events: list[_Event] = []
    for change in distinct_changes(deliveries):
        row = None if change.op in ("delete", "truncate") else change.row
        named = (change.change_id, change.transaction_id)
        moves = change.key_before is not None
        events.append(_Event(change.seq, PRECEDENCE.index(change.op), *named, change.key, row, moves))
        if moves:
            rank = PRECEDENCE.index("departure")
            events.append(_Event(change.seq, rank, *named, change.key_before, None, enters=False))
    queues: dict[Key, list[Mapping[str, Any]]] = {}
    transactions: dict[Key, str | None] = {}
    for event in sorted(events, key=lambda event: (event.seq, event.rank, event.change_id)):
        key = event.key or ()
        queue = queues.get(key, [])
        if event.transaction_id is None or event.transaction_id != transactions.get(key):
            queue = queue[-1:]
        if PRECEDENCE[event.rank] == "truncate":
            queues.clear()
            transactions.clear()
            continue
        if event.row is None:
            queue = queue[1:]
        elif event.enters:
            queue = [*queue, event.row]
        else:
            queue = [*queue[:-1], event.row]
        queues[key] = queue
        transactions[key] = event.transaction_id
    return {key: queue[-1] for key, queue in queues.items() if queue}
