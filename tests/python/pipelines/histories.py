"""Random histories of a table as Qlik change rows, many at once: the number of a history is part of its key."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from demo.writers.qlik_change_tables import hex_mask

from .interpreter import Change, Key, Table

COLUMNS = {"history": "int", "place": "int", "name": "string", "note": "string"}
KEY = ["history", "place"]
HEADERS = {
    "change_seq": "string",
    "change_oper": "string",
    "change_mask": "string",
    "transaction_id": "string",
    "timestamp": "timestamp",
}
RAW_COLUMNS = {f"header__{name}": data_type for name, data_type in HEADERS.items()} | {"batch": "int"} | COLUMNS

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_VALUES = ("name", "note")


@dataclass(frozen=True)
class RawRow:
    """One row of the change table, the key as (history, place), and the batch in which it lands.

    `present` names the columns besides the key that an update bears; None: all of them.
    """

    seq: str
    oper: str
    transaction_id: str | None
    changed_at: datetime | None
    key: Key
    name: str | None
    note: str | None
    batch: int
    present: frozenset[str] | None = None

    @property
    def values(self) -> tuple[Any, ...]:
        """The row in the order of RAW_COLUMNS."""
        return (self.seq, self.oper, self._mask, self.transaction_id, self.changed_at, self.batch, *self.row.values())

    @property
    def row(self) -> dict[str, Any]:
        """The values of the table's columns."""
        return dict(zip(COLUMNS, (*self.key, self.name, self.note), strict=True))

    @property
    def _mask(self) -> str | None:
        if self.present is None:
            return None
        return hex_mask([len(HEADERS) + list(COLUMNS).index(name) for name in self.present], 2)


class _Source:
    """A table that is worked on at random, and its log."""

    def __init__(self, seed: int, batches: int, *, partial: bool) -> None:
        self.chance = random.Random(seed)
        self.rows: list[RawRow] = []
        self.living: dict[Key, dict[str, str | None]] = {}
        self.number = 0
        self.transaction_id: str | None = None
        self._batches = batches
        self._partial = partial

    def batch(self) -> int:
        return self.chance.randrange(1, self._batches + 1)

    def log(
        self,
        oper: str,
        key: Key,
        row: dict[str, str | None],
        *,
        ahead: int = 0,
        present: frozenset[str] | None = None,
        transaction_id: str | None = None,
    ) -> None:
        number = self.number + ahead
        late = self.chance.choice([0, 0, 0, 40])
        self.rows.append(
            RawRow(
                f"2026010100000000{number:019d}",
                oper,
                transaction_id or self.transaction_id,
                self.chance.choice([None] + 4 * [_BEGIN + timedelta(seconds=number - late)]),
                key,
                *(row.get(name) if present is None or name in present else None for name in _VALUES),
                self.batch(),
                present,
            )
        )

    def new_row(self) -> dict[str, str | None]:
        return {name: self.chance.choice([None, "a", "b", f"c{self.number}"]) for name in _VALUES}

    def update(self, key: Key, before: Key | None = None) -> None:
        """Log an update; one that moves a row from the key before, or that finds no row, too."""
        old = self.living.pop(before or key, {})
        changed = frozenset(name for name in _VALUES if self.chance.random() < 0.6)
        row = old | {name: value for name, value in self.new_row().items() if name in changed}
        borne = changed if self.chance.random() < 0.9 else frozenset(_VALUES)
        present = borne if self._partial else None
        if before is not None:
            self.log("B", before, old)
        self.log("U", key, row, present=present)
        self.living[key] = row


def random_raw_rows(
    seed: int, histories: int, changes: int, batches: int, *, partial: bool = False, moves: bool = True
) -> list[RawRow]:
    """A source that works on rows of `histories` independent histories, logged, repeated, altered, late and shuffled.

    Every raw row lands in a batch of its own choice: halves of an update in different ones, old changes after new ones.
    Places hold None too, so that keys with a null occur. With `partial`, most updates bear only some columns.
    """
    source = _Source(seed, batches, partial=partial)
    chance, living = source.chance, source.living
    while source.number < changes:
        source.number += 1
        if chance.random() < 0.5:
            source.transaction_id = chance.choice([None, f"{source.number:032X}"])
        history = chance.randrange(histories)
        key = (history, chance.choice([None, 1, 2, 3, 4]))
        occupied = [place for place in living if place[0] == history]
        action = chance.random()
        if action < 0.003 and source.number < changes // 4:
            living.clear()
            source.log("T", (None, None), {})
        elif action < 0.25 or not occupied:
            living[key] = source.new_row()
            source.log("I", key, living[key])
        elif action < 0.3:
            source.update(key)  # also where no row lives
        elif action < 0.45:
            key = chance.choice(occupied)
            source.log("D", key, chance.choice([{}, living[key]]))
            del living[key]
        elif action < 0.6 and moves and len(occupied) > 1:
            # rows that exchange their keys in a ring, in one transaction
            ring = chance.sample(occupied, chance.randrange(2, len(occupied) + 1))
            rows = [living[place] for place in ring]
            transaction_id = f"{source.number:032X}"
            for place, (before, after) in enumerate(zip(ring, [*ring[1:], ring[0]], strict=True)):
                source.log("B", before, rows[place], ahead=place, transaction_id=transaction_id)
                present = frozenset() if partial else None
                source.log("U", after, rows[place], ahead=place, transaction_id=transaction_id, present=present)
                living[after] = rows[place]
            source.number += len(ring)
        else:
            before = chance.choice(occupied)
            if moves:
                source.update(key if key not in living and action > 0.8 else before, before)
            else:
                source.update(before)
    rows = source.rows
    repeated = [replace(row, batch=source.batch()) for row in rows if chance.random() < 0.1]
    altered = [
        replace(row, name=chance.choice([f"{row.name}!", "a"]), batch=source.batch())
        for row in rows
        if row.oper in "IU" and row.name is not None and chance.random() < 0.03
    ]
    everything = rows + repeated + altered
    chance.shuffle(everything)
    return everything


def expected_table(landed: Iterable[RawRow]) -> Table:
    """What the models must show after these raw rows."""
    return Table(_changes(list(landed)))


def expected_state(table: Table) -> set[tuple[Any, ...]]:
    """The rows of the current model."""
    return {tuple(row.values()) for row in table.current().values()}


def expected_history(table: Table) -> set[tuple[Any, ...]]:
    """The rows of the history model: the table's columns, the interval, and the last change of the version."""
    return {
        (
            *version.row.values(),
            version.from_seq,
            version.to_seq,
            *(time and time.strftime("%Y-%m-%d %H:%M:%S") for time in (version.valid_from, version.valid_to)),
            version.to_seq is None,
            version.last_seq,
            version.last_op,
        )
        for versions in table.versions().values()
        for version in versions
        if version.row is not None
    }


HISTORY_QUERY = (
    f"select {', '.join(COLUMNS)}, _valid_from_seq, _valid_to_seq, cast(_valid_from as string),"
    " cast(_valid_to as string), _is_current, _change_seq, _change_op from "
)


def _changes(landed: Sequence[RawRow]) -> list[Change]:
    befores = {row.seq: row.key for row in landed if row.oper == "B"}
    operations = {"I": "insert", "U": "update", "D": "delete", "T": "truncate"}
    changes = []
    for row in landed:
        if row.oper == "B":
            continue
        before = befores.get(row.seq) if row.oper == "U" else None
        changes.append(
            Change(
                change_id=f"{row.seq}:{row.oper}:{row.key}",
                seq=row.seq,
                op=operations[row.oper],
                row=row.row,
                key=row.key,
                key_before=before if before != row.key else None,
                transaction_id=row.transaction_id,
                changed_at=row.changed_at,
                present=_borne(row),
            )
        )
    return changes


def _borne(row: RawRow) -> frozenset[str] | None:
    """The columns that the page lets an update bear: the key, those in its mask, and those with a value."""
    if row.present is None or row.oper != "U":
        return None
    with_values = {name for name in _VALUES if getattr(row, name) is not None}
    borne = frozenset(KEY) | row.present | with_values
    return None if borne == frozenset(COLUMNS) else borne
