"""Random histories of a source's tables, many at once: committed transactions, each change with the rows around it.

The number of a history is part of its key.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from demo.history import Change, Key, Row, Transaction, Value

COLUMNS = {"history": "int", "place": "int", "name": "string", "note": "string", "extra": "string"}
FEWER_COLUMNS = {name: data_type for name, data_type in COLUMNS.items() if name != "extra"}
"""Those that are declared at first."""
KEY = ["history", "place"]
VALUES = ("name", "note", "extra")

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Source:
    """Tables that are worked on at random; `rows` has the living rows of each.

    Rows are inserted, updated in some columns or in none, moved, deleted, and inserted again. A table of `truncated` is
    emptied now and then. With `exchanges`, rows exchange their keys within a transaction.
    """

    def __init__(
        self,
        chance: random.Random,
        histories: Sequence[int],
        tables: Sequence[str] = ("orders",),
        truncated: Sequence[str] = (),
        places: Sequence[int | None] = (1, 2, 3),
        *,
        exchanges: bool = True,
    ) -> None:
        """Starts with empty tables."""
        self.rows: dict[str, dict[Key, Row]] = {table: {} for table in tables}
        self._chance = chance
        self._histories = histories
        self._truncated = truncated
        self._places = places
        self._exchanges = exchanges
        self._number = 0
        self._changes: list[Change] = []

    def play(self, transactions: int) -> Iterator[Transaction]:
        """So many transactions of up to three steps, each step of any history."""
        while self._number < transactions:
            self._number += 1
            self._changes = []
            for _ in range(self._chance.choice([1, 1, 2, 3])):
                self._step(self._chance.choice(list(self.rows)), self._chance.choice(self._histories))
            yield Transaction(self._number, self._time(), tuple(self._changes))

    def _step(self, table: str, history: int) -> None:
        chance, rows = self._chance, self.rows[table]
        living = [key for key in rows if key[0] == history]
        free: list[Key] = [(history, place) for place in self._places if (history, place) not in rows]
        action = chance.random()
        if table in self._truncated and action < 0.04:
            self._log(table, "truncate", None, None)
            rows.clear()
        elif not living or (free and action < 0.2):
            self._insert(table, chance.choice(free))
        elif action < 0.35:
            key = chance.choice(living)
            self._delete(table, key)
            if chance.random() < 0.3:
                self._insert(table, key)
        elif self._exchanges and action < 0.45 and len(living) > 1:
            ring = chance.sample(living, chance.randrange(2, len(living) + 1))
            self._move(table, dict(zip(ring, [*ring[1:], ring[0]], strict=True)))
        elif action < 0.6 and free:
            self._move(table, {chance.choice(living): chance.choice(free)})
        else:
            key = chance.choice(living)
            self._move(table, {key: key})

    def _insert(self, table: str, key: Key) -> None:
        self.rows[table][key] = dict(zip(COLUMNS, key, strict=False)) | {name: self._value() for name in VALUES}
        self._log(table, "insert", None, self.rows[table][key])

    def _delete(self, table: str, key: Key) -> None:
        self._log(table, "delete", self.rows[table].pop(key), None)

    def _move(self, table: str, targets: dict[Key, Key]) -> None:
        """Update the rows at these keys, each with its key after; some of them in further columns, or in nothing."""
        before = {key: self.rows[table].pop(key) for key in targets}
        changed = [name for name in VALUES if self._chance.random() < self._chance.choice([0, 0.5])]
        for key, target in targets.items():
            after = {**before[key], **dict(zip(KEY, target, strict=True)), **{name: self._value() for name in changed}}
            self._log(table, "update", before[key], after)
            self.rows[table][target] = after

    def _value(self) -> Value:
        return self._chance.choice([None, "a", "bc", f"t{self._number}"])

    def _time(self) -> datetime:
        """A time that need not follow those before."""
        return _BEGIN + timedelta(seconds=60 * self._number - self._chance.choice([0, 0, 0, 200]))

    def _log(self, table: str, operation: str, before: Row | None, after: Row | None) -> None:
        self._changes.append(Change(table, operation, before, after, self._time()))
