"""A seeded workload over the source database: transactions of every kind that a feed must cope with.

A scene is a sequence of changes to one table (or several), in one or more transactions. A round plays every scene on
every table, in random order. Several scenes run at a time, so that transactions of one have those of others between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import TypeAlias

from demo.database import TABLES, Column, OpenTransaction, SourceDatabase, Table
from demo.history import Key, Row, Transaction, Value

STARTED_AT = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
"""When the first transaction begins."""

TEXTS = (
    "plain",
    "",
    " blanks at both ends ",
    "it's quoted",
    'say "so"',
    "back\\slash and \\n and \\'",
    "two\nlines\tand a tab",
    "a,b;c|d+e=f<g>",
    "Ærøskøbing, Žižkov",
    "日本語 🙂",
    "NULL",
    "null",
    "50% of $5 -- or ${user.name} {{ none }}",
    "`ticks` /* and */ :name ? %s",
)
"""Texts that break what is quoted badly."""

Scene: TypeAlias = Callable[[Table], Iterator[None]]

_ACTIVE_SCENES = 4
_TRUNCATES_A_ROUND = 2


class Workload:
    """Plays transactions on a source database of its own; the same arguments give the same history.

    >>> workload = Workload(seed=1)
    >>> filled = workload.fill()
    >>> played = list(workload.play_round())
    >>> filled[0].number, workload.database.transactions == [*filled, *played]
    (1, True)
    """

    def __init__(self, seed: int, scale: int = 1, *, swaps: bool = True) -> None:
        """Makes an empty source database.

        Args:
            seed: of all that is random
            scale: how often a round plays each scene on each table, and how full the tables are (20 rows each times it)
            swaps: whether rows exchange their keys inside a transaction
        """
        self.database = SourceDatabase()
        self._random = Random(seed)
        self._scale = scale
        self._now = STARTED_AT
        self._rounds = 0
        self._last_number = dict.fromkeys(TABLES, 0)
        self._freed: dict[str, list[Key]] = {name: [] for name in TABLES}
        self._scenes: list[Scene] = [
            self._insert_rows,
            self._update_some_columns,
            self._update_one_row_often,
            self._update_many_rows,
            self._update_nothing,
            self._change_and_change_back,
            self._set_to_null_and_back,
            self._move_a_key,
            self._move_a_key_and_more,
            self._move_a_key_on_within_a_transaction,
            self._move_a_key_on_over_transactions,
            self._move_into_a_freed_key,
            self._move_a_key_away_and_back,
            self._delete_rows,
            self._delete_and_insert_later,
            self._delete_and_insert_at_once,
            self._insert_and_delete_at_once,
            self._move_and_delete,
            self._change_several_tables,
        ]
        if swaps:
            self._scenes += [self._swap_keys, self._rotate_keys]

    def fill(self) -> list[Transaction]:
        """Fills the empty tables: the state that a full load would copy."""
        first = len(self.database.transactions)
        for table in TABLES.values():
            for _ in range(4 * self._scale):
                with self._transaction() as transaction:
                    for _ in range(5):
                        self._insert(transaction, table)
        return self.database.transactions[first:]

    def play_round(self) -> Iterator[Transaction]:
        """Plays a round, and yields each transaction once it is committed."""
        tables = list(TABLES.values())
        plan = [(scene, table) for table in tables for scene in self._scenes for _ in range(self._scale)]
        for number in range(_TRUNCATES_A_ROUND):
            table = tables[(self._rounds * _TRUNCATES_A_ROUND + number) % len(tables)]
            plan.append((self._truncate, table))
        self._rounds += 1
        self._random.shuffle(plan)
        active: list[Iterator[None]] = []
        while plan or active:
            while plan and len(active) < _ACTIVE_SCENES:
                scene, table = plan.pop()
                active.append(scene(table))
            known = len(self.database.transactions)
            playing = self._random.choice(active)
            try:
                next(playing)
            except StopIteration:
                active.remove(playing)
            yield from self.database.transactions[known:]

    # the scenes; each yields between its transactions

    def _insert_rows(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            for _ in range(self._random.randint(1, 4)):
                self._insert(transaction, table)
        yield

    def _update_some_columns(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            transaction.update(table.name, self._living(transaction, table), self._new_values(table))
        yield

    def _update_one_row_often(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            key = self._living(transaction, table)
            for _ in range(3):
                transaction.update(table.name, key, self._new_values(table))
        yield

    def _update_many_rows(self, table: Table) -> Iterator[None]:
        column = self._random.choice(table.other_columns)
        value = random_value(self._random, column)
        with self._transaction() as transaction:
            for _ in range(5):
                transaction.update(table.name, self._living(transaction, table), {column.name: value})
        yield

    def _update_nothing(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            key = self._living(transaction, table)
            row = self._row(table, key)
            transaction.update(table.name, key, {name: row[name] for name in self._some_columns(table)})
        yield

    def _change_and_change_back(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            key = self._living(transaction, table)
            before = self._row(table, key)
            transaction.update(table.name, key, self._new_values(table))
        yield
        if self.database.row(table.name, key) is not None:
            with self._transaction() as transaction:
                transaction.update(table.name, key, before)
            yield

    def _set_to_null_and_back(self, table: Table) -> Iterator[None]:
        names = self._some_columns(table)
        with self._transaction() as transaction:
            key = self._living(transaction, table)
            transaction.update(
                table.name, key, {name: random_value(self._random, self._column(table, name), 0) for name in names}
            )
        yield
        if self.database.row(table.name, key) is not None:
            with self._transaction() as transaction:
                transaction.update(table.name, key, dict.fromkeys(names))
            yield
        if self.database.row(table.name, key) is not None:
            with self._transaction() as transaction:
                transaction.update(
                    table.name, key, {name: random_value(self._random, self._column(table, name), 0) for name in names}
                )
            yield

    def _move_a_key(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            self._move(transaction, table, self._living(transaction, table), self._new_key(table))
        yield

    def _move_a_key_and_more(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            key = self._living(transaction, table)
            self._move(transaction, table, key, self._new_key(table), self._new_values(table))
        yield

    def _move_a_key_on_within_a_transaction(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            key = self._living(transaction, table)
            for _ in range(3):
                target = self._new_key(table)
                self._move(transaction, table, key, target)
                key = target
        yield

    def _move_a_key_on_over_transactions(self, table: Table) -> Iterator[None]:
        key: Key | None = None
        for _ in range(3):
            with self._transaction() as transaction:
                if key is None or self.database.row(table.name, key) is None:
                    key = self._living(transaction, table)
                target = self._new_key(table)
                self._move(transaction, table, key, target)
                key = target
            yield

    def _move_into_a_freed_key(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            first, second = self._living_keys(transaction, table, 2)
            self._move(transaction, table, second, self._new_key(table))
            self._move(transaction, table, first, second)
        yield

    def _move_a_key_away_and_back(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            home = self._living(transaction, table)
            away = self._new_key(table)
            self._move(transaction, table, home, away)
        yield
        if self.database.row(table.name, away) is not None and self.database.row(table.name, home) is None:
            with self._transaction() as transaction:
                self._move(transaction, table, away, home)
            yield

    def _swap_keys(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            transaction.rotate_keys(table.name, self._living_keys(transaction, table, 2))
        yield

    def _rotate_keys(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            transaction.rotate_keys(table.name, self._living_keys(transaction, table, 3))
        yield

    def _delete_rows(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            for _ in range(self._random.randint(1, 3)):
                self._delete(transaction, table, self._living(transaction, table))
        yield

    def _delete_and_insert_later(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            key = self._living(transaction, table)
            self._delete(transaction, table, key)
        yield
        freed = [freed for freed in self._freed[table.name] if self.database.row(table.name, freed) is None]
        if freed:
            with self._transaction() as transaction:
                self._insert(transaction, table, self._random.choice(freed))
            self._freed[table.name] = freed[-50:]
            yield

    def _delete_and_insert_at_once(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            key = self._living(transaction, table)
            self._delete(transaction, table, key)
            self._insert(transaction, table, key)
        yield

    def _insert_and_delete_at_once(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            key = self._insert(transaction, table)
            self._delete(transaction, table, key)
        yield

    def _move_and_delete(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            key = self._living(transaction, table)
            target = self._new_key(table)
            self._move(transaction, table, key, target)
            self._delete(transaction, table, target)
        yield

    def _change_several_tables(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            for each in (table, *self._random.sample(list(TABLES.values()), 2)):
                self._insert(transaction, each)
                transaction.update(each.name, self._living(transaction, each), self._new_values(each))
        yield

    def _truncate(self, table: Table) -> Iterator[None]:
        with self._transaction() as transaction:
            self._freed[table.name] += [table.key_of(row) for row in self.database.contents()[table.name]][:10]
            transaction.truncate(table.name)
            self._insert(transaction, table, self._freed[table.name][-1] if self._freed[table.name] else None)
        yield
        with self._transaction() as transaction:
            for _ in range(10 * self._scale):
                self._insert(transaction, table)
        yield

    # what the scenes are made of

    def _transaction(self) -> AbstractContextManager[OpenTransaction]:
        # now and then two transactions, or all changes of one, fall into one instant
        if self.database.transactions:
            self._now = max(self._now, self.database.transactions[-1].committed_at)
        self._now += timedelta(milliseconds=self._random.choice((0, 7, 900, 15_000, 70_000)))
        return self.database.transaction(self._now, timedelta(milliseconds=self._random.choice((0, 1))))

    def _insert(self, transaction: OpenTransaction, table: Table, key: Key | None = None) -> Key:
        key = self._new_key(table) if key is None else key
        values = {column.name: random_value(self._random, column) for column in table.other_columns}
        transaction.insert(table.name, {**dict(zip(table.key, key, strict=True)), **values})
        return key

    def _delete(self, transaction: OpenTransaction, table: Table, key: Key) -> None:
        transaction.delete(table.name, key)
        self._freed[table.name].append(key)

    def _move(
        self, transaction: OpenTransaction, table: Table, key: Key, target: Key, values: Row | None = None
    ) -> None:
        transaction.update(table.name, key, {**dict(zip(table.key, target, strict=True)), **(values or {})})
        self._freed[table.name].append(key)

    def _row(self, table: Table, key: Key) -> Row:
        row = self.database.row(table.name, key)
        if row is None:
            raise KeyError(f"{table.name} has no row with key {key}")
        return row

    def _living(self, transaction: OpenTransaction, table: Table) -> Key:
        """The key of some row; of a new one where the table is empty."""
        return self.database.key_near(table.name, self._random.random()) or self._insert(transaction, table)

    def _living_keys(self, transaction: OpenTransaction, table: Table, count: int) -> list[Key]:
        """The keys of so many different rows."""
        while self.database.count(table.name) < count:
            self._insert(transaction, table)
        keys: list[Key] = []
        while len(keys) < count:
            key = self._living(transaction, table)
            if key not in keys:
                keys.append(key)
        return keys

    def _new_key(self, table: Table) -> Key:
        """A key that never lived."""
        self._last_number[table.name] += 1
        return new_key(table, self._last_number[table.name])

    def _new_values(self, table: Table) -> Row:
        return {name: random_value(self._random, self._column(table, name)) for name in self._some_columns(table)}

    def _some_columns(self, table: Table) -> list[str]:
        names = [column.name for column in table.other_columns]
        return self._random.sample(names, self._random.randint(1, min(4, len(names))))

    @staticmethod
    def _column(table: Table, name: str) -> Column:
        return table.columns[table.column_names.index(name)]


def new_key(table: Table, number: int) -> Key:
    """The key of that number, which no other number has; part of a composite key is shared, or null.

    >>> new_key(TABLES["orders"], 5), new_key(TABLES["prices"], 5)
    ((5,), ('A-1 ', 'EU'))
    """
    if table.name == "prices":
        return (f"A-{number // 3} {TEXTS[number // 3 % len(TEXTS)]}", (None, "", "EU")[number % 3])
    # every tenth number is too great for a float to hold it
    return (number if number % 10 else 9_007_199_254_740_993 + number,)


def random_value(random: Random, column: Column, nulls: float = 0.15) -> Value:
    """A random value of a column's type; null with that probability."""
    if random.random() < nulls:
        return None
    data_type = column.data_type
    if data_type == "string":
        return random.choice(TEXTS) + random.choice(("", "", f" {random.randint(0, 99)}"))
    if data_type.startswith("decimal"):
        precision, scale = (int(number) for number in data_type[len("decimal(") : -1].split(","))
        greatest = 10**precision - 1
        digits = random.choice((0, 1, -1, greatest, -greatest, random.randint(-99_999, 99_999)))
        return Decimal((int(digits < 0), tuple(int(digit) for digit in str(abs(digits))), -scale))
    if data_type == "date":
        return random.choice(
            (date(1900, 1, 1), date(2999, 12, 31), date(2026, 2, 28) - timedelta(days=random.randint(0, 9_999)))
        )
    if data_type == "timestamp":
        return datetime(2026, 3, 29, 1, 30, tzinfo=UTC) - timedelta(microseconds=random.randint(0, 10**15))
    if data_type == "binary":
        return random.choice((b"", b"\x00", b"'\\\xff", random.randbytes(random.randint(1, 12))))
    if data_type == "boolean":
        return random.random() < 0.5
    if data_type == "double":
        return random.choice((0.1, -2.5, 1e300, 5e-324, random.randint(0, 10**6) / 7))
    return random.choice((0, -1, 2**31 - 1, -(2**31), random.randint(1, 9_999)))
