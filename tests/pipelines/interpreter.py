"""The rules of docs/semantics.md in plain Python: slow and obvious, and nothing of it taken from the SQL.

State and history are functions of the set of distinct changes, which are applied one after the other in their order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

Key = tuple[Any, ...]
Row = Mapping[str, Any]

PRECEDENCE = ("truncate", "snapshot", "departure", "insert", "update", "upsert", "delete")


@dataclass(frozen=True, eq=False)
class Change:
    """One accepted change, as staging would give it to the log. `present` None: it has every column.

    One that had every column when it was logged `starts` a row where none is, whatever was added since. A row that
    starts is all of `row`: null in columns that are not present, unless the change knows the row around its own.
    """

    change_id: str
    seq: str
    op: str
    row: Row
    key: Key
    key_before: Key | None = None
    transaction_id: str | None = None
    changed_at: datetime | None = None
    present: frozenset[str] | None = None
    starts: bool = False


@dataclass
class Version:
    """What was at a key from one change to another. `row` None: nothing."""

    row: Row | None
    from_seq: str
    valid_from: datetime | None
    last_seq: str
    last_op: str
    to_seq: str | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True)
class _Event:
    """What a change does to one key. One that moves its key is two: the row leaves one key and comes to another."""

    change: Change
    key: Key
    op: str

    @property
    def place(self) -> tuple[str, int, str]:
        return self.change.seq, PRECEDENCE.index(self.op), self.change.change_id


@dataclass
class _Stay:
    """A row at a key, since a change brought it there. `row` None: it waits for its base."""

    since: Change
    row: Row | None


class Table:
    """A source table, rebuilt from changes; `orphans` wait for their base, rows of `covered` were lost to others."""

    def __init__(self, deliveries: Iterable[Change], *, orphans_insert: bool = False) -> None:
        """Apply every delivered change."""
        self._orphans_insert = orphans_insert
        self.orphans: set[Change] = set()
        self.covered: set[Change] = set()
        self._queues: dict[Key, list[_Stay]] = {}
        self._transactions: dict[Key, str | None] = {}
        self._carried: dict[str, Row | None] = {}
        self._latest: dict[Key, datetime | None] = {}
        self._points: dict[Key, list[tuple[Change, str, Row | None, datetime | None]]] = {}
        for event in sorted(_events(distinct_changes(deliveries)), key=lambda event: event.place):
            self._apply(event)
        for key in self._queues:
            self._cover(key)

    def current(self) -> dict[Key, Row]:
        """The living rows."""
        return {key: row for key, queue in self._queues.items() if queue and (row := queue[-1].row) is not None}

    def versions(self) -> dict[Key, list[Version]]:
        """Every version of every key, in order, also those in which nothing was there."""
        return {key: _versions(points) for key, points in self._points.items()}

    def _apply(self, event: _Event) -> None:
        change, key = event.change, event.key
        if event.op == "truncate":
            for other in list(self._queues):
                lived = other in self.current()
                self._cover(other)
                self._queues[other] = []
                if lived:
                    self._record(other, change, event.op)
            self._transactions.clear()
            return
        if change.transaction_id is None or change.transaction_id != self._transactions.get(key):
            self._cover(key)
        queue = self._queues.get(key, [])
        self._transactions[key] = change.transaction_id
        covered = len(queue) > 1
        if event.op in ("departure", "delete"):
            if event.op == "departure":
                self._carried[change.change_id] = queue[0].row if queue else None
            self._queues[key] = queue[1:]
            if not covered:
                self._record(key, change, event.op)
            return
        moves = change.key_before is not None
        base = self._carried.get(change.change_id) if moves else (queue[-1].row if queue else None)
        row = self._overlaid(change, base)
        if row is None:
            self.orphans.add(change)
        since = queue[-1].since if queue and not moves else change
        self._queues[key] = [*(queue if moves else queue[:-1]), _Stay(since, row)]
        self._record(key, change, event.op)

    def _cover(self, key: Key) -> None:
        """At the end of a transaction the newest row of a key stays."""
        queue = self._queues.get(key, [])
        self.covered.update(stay.since for stay in queue[:-1])
        self._queues[key] = queue[-1:]

    def _overlaid(self, change: Change, base: Row | None) -> Row | None:
        if change.present is None or change.op in ("insert", "snapshot"):
            return change.row
        if base is None:
            if change.op != "upsert" and not change.starts and not self._orphans_insert:
                return None  # an orphan
            return change.row
        return {name: change.row[name] if name in change.present else base[name] for name in change.row}

    def _record(self, key: Key, change: Change, op: str) -> None:
        latest = self._latest.get(key)
        if change.changed_at is not None and (latest is None or change.changed_at > latest):
            latest = self._latest[key] = change.changed_at
        row = self._queues[key][-1].row if self._queues[key] else None
        self._points.setdefault(key, []).append((change, op, row, latest))


def distinct_changes(deliveries: Iterable[Change]) -> list[Change]:
    """One change an id: the greater content wins, and a key before that only one delivery has is kept."""
    chosen: dict[str, Change] = {}
    for delivered in deliveries:
        known = chosen.setdefault(delivered.change_id, delivered)
        winner = max(known, delivered, key=lambda change: content_text(change.row))
        tells = [change.key_before for change in (known, delivered) if change.key_before is not None]
        chosen[delivered.change_id] = replace(winner, key_before=max(tells, default=None))
    return list(chosen.values())


def connected(changes: Iterable[Change], keys: Iterable[Key]) -> set[Key]:
    """These keys, and all that a row has moved to or from between them."""
    moves = [{change.key, change.key_before} for change in changes if change.key_before is not None]
    found = set(keys)
    while grown := {key for move in moves if move & found for key in move if key is not None} - found:
        found |= grown
    return found


def remembered(deliveries: Iterable[Change], forgotten: Mapping[Key, str]) -> list[Change]:
    """The deliveries that are some: of a forgotten key, or one that leaves it, none is up to the sequence of that."""
    return [
        change
        for change in deliveries
        if not any(change.seq <= forgotten[key] for key in forgotten.keys() & {change.key, change.key_before})
    ]


def with_columns(change: Change, columns: Iterable[str]) -> Change:
    """A change that was logged before columns were added, and that is not read again: it does not have them."""
    added = [name for name in columns if name not in change.row]
    if not added:
        return change
    whole = change.present is None
    present = frozenset(change.row) if whole and change.op in ("update", "upsert") else change.present
    return replace(change, row={**change.row, **dict.fromkeys(added)}, present=present, starts=whole or change.starts)


def content_text(row: Row) -> str:
    """The columns as Spark's to_json writes them: in declared order, nulls left out."""
    values = {name: value for name, value in row.items() if value is not None}
    return json.dumps(values, separators=(",", ":"), ensure_ascii=False, default=str)


def _events(changes: Iterable[Change]) -> Iterable[_Event]:
    for change in changes:
        yield _Event(change, change.key, change.op)
        if change.key_before is not None:
            yield _Event(change, change.key_before, "departure")


def _versions(points: list[tuple[Change, str, Row | None, datetime | None]]) -> list[Version]:
    versions: list[Version] = []
    for number, (change, _, row, latest) in enumerate(points):
        if number + 1 < len(points) and points[number + 1][0].seq == change.seq:
            continue  # one version a key and sequence
        if versions and versions[-1].row == row:
            versions[-1].last_seq, versions[-1].last_op = change.seq, change.op
            continue
        if versions:
            versions[-1].to_seq, versions[-1].valid_to = change.seq, latest
        versions.append(Version(row, change.seq, latest, change.seq, change.op))
    return versions
