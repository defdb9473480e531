"""Random histories of a table as OpenEdge's change table and tracking table, and what a log holds after each run.

Rows of a change land late, in any order, again, and are purged. Images are whole or sparse, in one part or in two.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from demo.history import Change as SourceChange
from demo.history import Key, Row

from .interpreter import Change, with_columns
from .openedge_cases import AFTER, BEFORE, CREATE, DELETE, seq
from .source_histories import COLUMNS, KEY, Source

TABLE_NUMBER = 12
CHANGES = 12
"""Transactions of each history."""
RECID = ["_partition_id", "_recid"]

_OPERATIONS = {"insert": CREATE, "delete": DELETE, "update": AFTER}


@dataclass(frozen=True)
class RawRow:
    """A row that lands in a batch, and is purged before that of `gone`. A tracking row has no `part`."""

    operation: int
    part: int | None
    image: Row
    position: int = 0
    fragment: int = 0
    batch: int = 0
    gone: int | None = None

    def is_in(self, batch: int) -> bool:
        """Whether its table has it before the build of a batch."""
        return self.batch <= batch and (self.gone is None or self.gone > batch)


@dataclass(frozen=True)
class Captured:
    """A change of a row, and its raw rows. `field_map` None: not known."""

    number: int
    source: SourceChange
    transaction: int
    recid: int
    field_map: Sequence[str] | None
    rows: Sequence[RawRow] = ()

    @property
    def history(self) -> Any:
        """Whose change it is."""
        return (self.source.after or self.source.before or {})["history"]

    def values(self, row: RawRow) -> tuple[Any, ...]:
        """A raw row in the order of its table, with the batch in which it lands."""
        common = (self.transaction, self.source.changed_at, self.number)
        if row.part is None:
            told = None if self.field_map is None else ";".join(self.field_map)
            place = (self.recid, TABLE_NUMBER, self.recid % 3)
            return ("policy", *common, row.operation, told, *place, 0, None, "user")
        image = (row.image.get(name) for name in COLUMNS)
        return (*common, row.position, 0, row.fragment, row.operation, *image, row.batch)

    def read(self, batch: int, columns: Iterable[str], *, by_recid: bool) -> Change | None:
        """The change as a run reads it, by the rows that are there; None where it waits."""
        rows = [row for row in self.rows if row.is_in(batch)]
        after = _joined([row for row in rows if row.part is not None and row.operation != BEFORE])
        before = _joined([row for row in rows if row.part is not None and row.operation == BEFORE])
        if after is None or all(row.part is not None for row in rows):
            return None
        row = {name: after.get(name) for name in columns}
        present = {name for name in columns if row[name] is not None or name in (self.field_map or ())}
        key = tuple(row[name] for name in KEY)
        key_before = None if before is None else tuple(before[name] for name in KEY)
        if by_recid:
            key, key_before = (self.recid % 3, self.recid), None
            row = dict(zip(RECID, key, strict=True)) | row
            present |= set(RECID)
        return Change(
            change_id=seq(self.number),
            seq=seq(self.number),
            op=self.source.operation,
            row=row,
            key=key,
            key_before=key_before if key_before != key else None,
            transaction_id=str(self.transaction),
            changed_at=self.source.changed_at,
            present=None if self.source.operation != "update" or present == set(row) else frozenset(present),
        )


def _joined(parts: Sequence[RawRow]) -> dict[str, Any] | None:
    """The image of one part or two; None where a part is missing, as far as the others show it."""
    by_part = {row.part: row for row in parts}
    first, second = by_part.get(1), by_part.get(2)
    if first is None or (second is None and first.fragment):
        return None
    image = dict(first.image)
    if second is not None:
        cut = list(COLUMNS)[second.position]
        is_cut = first.fragment or second.fragment
        for name, value in second.image.items():
            joins = is_cut and name == cut and image.get(name) is not None and value is not None
            image[name] = (
                str(image[name]) + str(value) if joins else (value if image.get(name) is None else image[name])
            )
    return image


class _Capture:
    """Captures the changes of one history."""

    def __init__(self, chance: random.Random, history: int, batches: int) -> None:
        self.chance = chance
        self.source = Source(chance, [history])
        self.captured: list[Captured] = []
        self._history = history
        self._batches = batches
        self._recids: dict[Key, list[int]] = {}
        self._free: list[int] = []
        self._last_recid = 0
        # each feature in some histories
        self._late = chance.choice([0, 0.1, 0.4])
        self._splits = chance.choice([0, 0.4])
        self._purges = chance.choice([0, 0, 0.3])

    def changes(self) -> Iterator[tuple[SourceChange, int]]:
        """Each change, with the number of its transaction."""
        for transaction in self.source.play(CHANGES):
            for change in transaction.changes:
                yield change, self._history * 1000 + transaction.number

    def capture(self, change: SourceChange, transaction: int, number: int, in_time: int) -> Captured:
        """A change as rows, which land in the batch in time or later."""
        chance = self.chance
        field_map: Sequence[str] | None = change.changed_columns
        if change.after and all(change.after[name] is not None for name in change.changed_columns):
            field_map = chance.choice([field_map, field_map, None])
        rows = [RawRow(_OPERATIONS[change.operation], None, {})]
        if change.after is not None:
            wanted = {*KEY, *(COLUMNS if change.before is None or chance.random() < 0.3 else change.changed_columns)}
            rows += self._parts(_OPERATIONS[change.operation], _only(change.after, wanted))
        if change.before is not None:
            operation = DELETE if change.after is None else BEFORE
            image = _only(change.before, chance.choice([KEY, COLUMNS]))
            rows += [RawRow(operation, 1, image)] if operation == DELETE else self._parts(operation, image)
        whole = chance.randrange(in_time, self._batches + 1) if chance.random() < self._late / 2 else in_time
        rows = [
            replace(row, batch=chance.randrange(whole, self._batches + 1) if chance.random() < self._late else whole)
            for row in rows
        ]
        last = max(row.batch for row in rows)
        if chance.random() < self._purges:
            gone, all_go = last + 2, chance.random() < 0.5  # one run may be left out
            rows = [replace(row, gone=gone) if all_go or row.part is None else row for row in rows]
        copies = [
            replace(row, batch=chance.randrange(row.batch, min(row.gone or 99, self._batches + 1)))
            for row in rows
            if chance.random() < 0.1
        ]
        captured = Captured(number, change, transaction, self._recid(change), field_map, [*rows, *copies])
        self.captured.append(captured)
        return captured

    def _parts(self, operation: int, image: Row) -> list[RawRow]:
        """An image as one row or two; now and then the field is split at which it was cut."""
        if self.chance.random() >= self._splits:
            return [RawRow(operation, 1, image)]
        names = list(COLUMNS)
        position = self.chance.randrange(len(KEY), len(names))
        first, second = _only(image, names[:position]), _only(image, names[position:])
        text, fragment = image.get(names[position]), 0
        if isinstance(text, str) and len(text) > 1 and self.chance.random() < 0.9:
            first, second, fragment = (
                {**first, names[position]: text[:1]},
                {**second, names[position]: text[1:]},
                1,
            )
        return [
            RawRow(operation, 1, first, fragment=fragment),
            RawRow(operation, 2, second, position, self.chance.choice([0, fragment])),
        ]

    def _recid(self, change: SourceChange) -> int:
        """The place of the row, which it keeps where its key moves: whoever came first to a key leaves it first."""
        if change.before is not None:
            recid = self._recids[_key(change.before)].pop(0)
        elif self._free and self.chance.random() < 0.5:
            recid = self._free.pop()
        else:
            self._last_recid += 1
            recid = self._history * 1000 + self._last_recid
        if change.after is None:
            self._free.append(recid)
        else:
            self._recids.setdefault(_key(change.after), []).append(recid)
        return recid


def _key(row: Row) -> Key:
    return tuple(row[name] for name in KEY)


def _only(row: Row, names: Iterable[str]) -> dict[str, Any]:
    wanted = set(names)
    return {name: value for name, value in row.items() if name in wanted}


@dataclass
class CaptureLog:
    """What a log holds after some runs. A full refresh begins with a new one."""

    captured: Sequence[Captured]
    by_recid: bool
    changes: dict[str, Change] = field(default_factory=dict)

    def run(self, batch: int, columns: Iterable[str]) -> None:
        """Take in each change as raw has it now. One that raw no longer has stays as it is."""
        read = (change.read(batch, columns, by_recid=self.by_recid) for change in self.captured)
        kept = {name: with_columns(change, columns) for name, change in self.changes.items()}
        self.changes = kept | {change.change_id: change for change in read if change is not None}


def random_captures(seed: int, histories: int, batches: int) -> tuple[list[Captured], list[Source]]:
    """The changes of so many histories, with those of others between, and the source of each."""
    chance = random.Random(seed)
    captures = [_Capture(chance, history, batches) for history in range(1, histories + 1)]
    waiting = [(capture, list(capture.changes())) for capture in captures]
    total = sum(len(changes) for _, changes in waiting)
    found: list[Captured] = []
    while waiting:
        capture, changes = chance.choice(waiting)
        number = len(found) + 1
        found.append(capture.capture(*changes.pop(0), number, 1 + (number - 1) * batches // total))
        waiting = [(capture, changes) for capture, changes in waiting if changes]
    return found, [capture.source for capture in captures]
