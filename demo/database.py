"""The tables of the demo's source database, described once, and the SQLite database that holds them.

Values are Python's own: `int`, `bool`, `float`, `str`, `bytes`, `Decimal`, `date`, and `datetime` in UTC. SQLite has no
exact decimals and no dates, so those are stored as text and come back as they went in.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from demo.history import Change, Contents, Key, Row, Transaction, Value

_PARKED = "parked"


@dataclass(frozen=True)
class Column:
    """A column and its Spark type, e.g. `decimal(12,2)`."""

    name: str
    data_type: str


@dataclass(frozen=True)
class Table:
    """A source table: its columns in order, and the names of those that make up its key."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns, in the table's order."""
        return tuple(column.name for column in self.columns)

    @property
    def other_columns(self) -> tuple[Column, ...]:
        """The columns that are not of the key."""
        return tuple(column for column in self.columns if column.name not in self.key)

    def key_of(self, row: Row) -> Key:
        """The key of a row.

        >>> TABLES["prices"].key_of({"article": "bolt", "region": None, "order": 3})
        ('bolt', None)
        """
        return tuple(row[name] for name in self.key)


def _table(name: str, key: Sequence[str], columns: Mapping[str, str]) -> Table:
    return Table(name, tuple(Column(*item) for item in columns.items()), tuple(key))


_SETTING_TYPES = ("int", "decimal(9,3)", "string", "boolean", "double", "date", "timestamp")

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        _table(
            "orders",
            ["order_id"],
            {
                "order_id": "bigint",
                "customer": "string",
                "status": "string",
                "amount": "decimal(18,4)",
                "placed_at": "timestamp",
                "signature": "binary",
                "is_paid": "boolean",
            },
        ),
        # a part of the key can be null, and names that SQL must quote
        _table(
            "prices",
            ["article", "region"],
            {
                "article": "string",
                "region": "string",
                "order": "int",
                "unit price": "decimal(38,10)",
                "it's": "string",
                "valid_on": "date",
            },
        ),
        # wider than 64 columns, so that no mask fits an integer
        _table(
            "machine_settings",
            ["machine_id"],
            {
                "machine_id": "bigint",
                **{f"setting_{number:02d}": _SETTING_TYPES[number % len(_SETTING_TYPES)] for number in range(1, 71)},
            },
        ),
    )
}
"""The source tables by name."""


def sqlite_type(data_type: str) -> str:
    """The SQLite type that holds values of a Spark type without loss.

    >>> sqlite_type("decimal(12,2)"), sqlite_type("boolean"), sqlite_type("binary")
    ('text', 'integer', 'blob')
    """
    if data_type in ("bigint", "int", "boolean"):
        return "integer"
    return {"double": "real", "binary": "blob"}.get(data_type, "text")


def to_sqlite(value: Value) -> int | float | str | bytes | None:
    """A value as SQLite stores it.

    >>> to_sqlite(Decimal("1.50")), to_sqlite(date(2026, 1, 5)), to_sqlite(True)
    ('1.50', '2026-01-05', 1)
    """
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    return value


def from_sqlite(stored: float | str | bytes | None, data_type: str) -> Value:
    """The value of a Spark type that SQLite stores so; the reverse of `to_sqlite`.

    >>> from_sqlite("1.50", "decimal(12,2)"), from_sqlite(1, "boolean")
    (Decimal('1.50'), True)
    """
    if stored is None:
        return None
    if data_type == "boolean":
        return bool(stored)
    if data_type.startswith("decimal"):
        return Decimal(str(stored))
    if data_type == "date":
        return date.fromisoformat(str(stored))
    if data_type == "timestamp":
        return datetime.fromisoformat(str(stored))
    return stored


def _name(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


class SourceDatabase:
    """The source database: a SQLite database in memory that keeps the history of its transactions.

    Every change is executed in SQLite, and its images are read from there before and after, as a log would have them.

    >>> database = SourceDatabase()
    >>> with database.transaction(datetime.fromisoformat("2026-01-05T08:00:00+00:00")) as transaction:
    ...     transaction.insert("prices", {"article": "bolt", "region": None})
    ...     transaction.update("prices", ("bolt", None), {"order": 3})
    >>> [change.operation for change in database.transactions[0].changes]
    ['insert', 'update']
    >>> database.row("prices", ("bolt", None))["order"]
    3
    """

    def __init__(self) -> None:
        """Creates the tables, all empty."""
        self.transactions: list[Transaction] = []
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        for table in TABLES.values():
            columns = ", ".join(f"{_name(column.name)} {sqlite_type(column.data_type)}" for column in table.columns)
            key = ", ".join(_name(name) for name in table.key)
            # a unique index takes two nulls for different; their texts ('NULL') are equal
            unique = ", ".join(f"quote({_name(name)})" for name in table.key)
            self._connection.execute(f"create table {_name(table.name)} ({columns})")
            self._connection.execute(f"create index {_name(table.name + '_key')} on {_name(table.name)} ({key})")
            self._connection.execute(
                f"create unique index {_name(table.name + '_one')} on {_name(table.name)} ({unique})"
            )

    @contextmanager
    def transaction(
        self, started_at: datetime, pace: timedelta = timedelta(milliseconds=1)
    ) -> Iterator[OpenTransaction]:
        """A transaction that commits at the end of the block, or rolls back when the block fails.

        One that changed nothing leaves no trace in the history.

        Args:
            started_at: its time, UTC
            pace: the time that each change and the commit take
        """
        self._connection.execute("begin")
        opened = OpenTransaction(self, started_at, pace)
        try:
            yield opened
        except BaseException:
            self._connection.execute("rollback")
            raise
        self._connection.execute("commit")
        if opened.changes:
            self.transactions.append(
                Transaction(len(self.transactions) + 1, opened.next_instant(), tuple(opened.changes))
            )

    def row(self, table_name: str, key: Key) -> Row | None:
        """The row of that key as it is now; None where no such row lives."""
        table = TABLES[table_name]
        found = self._rows(table, f"where {self._key_condition(table)}", self._stored(key))
        return found[0] if found else None

    def contents(self) -> Contents:
        """All rows of all tables as they are now, by table."""
        return {table.name: self._rows(table) for table in TABLES.values()}

    def count(self, table_name: str) -> int:
        """The number of rows of a table."""
        (count,) = self._connection.execute(f"select count(*) from {_name(table_name)}").fetchone()
        return int(count)

    def key_near(self, table_name: str, part: float) -> Key | None:
        """The key of the row at that part (0 to 1) of the table; None where the table is empty."""
        table = TABLES[table_name]
        (last,) = self._connection.execute(f"select max(rowid) from {_name(table_name)}").fetchone()
        if last is None:
            return None
        found = self._rows(table, "where rowid >= ? order by rowid limit 1", [int(part * last) + 1])
        return table.key_of(found[0])

    def execute(self, statement: str, values: Sequence[Value] = ()) -> None:
        """Executes a statement that changes rows."""
        self._connection.execute(statement, self._stored(values))

    def query(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query, as SQLite stores their values."""
        return self._connection.execute(statement, self._stored(values)).fetchall()

    def add_function(self, name: str, function: Callable[[Any], str | None]) -> None:
        """Lets SQL, that of triggers too, call a function of one stored value."""
        self._connection.create_function(name, 1, function, deterministic=True)

    def _rows(self, table: Table, rest: str = "", values: Sequence[object] = ()) -> list[Row]:
        names = ", ".join(_name(name) for name in table.column_names)
        return [
            {
                column.name: from_sqlite(stored, column.data_type)
                for column, stored in zip(table.columns, found, strict=True)
            }
            for found in self._connection.execute(f"select {names} from {_name(table.name)} {rest}", list(values))
        ]

    @staticmethod
    def _stored(values: Sequence[Value]) -> list[int | float | str | bytes | None]:
        return [to_sqlite(value) for value in values]

    @staticmethod
    def _key_condition(table: Table) -> str:
        return " and ".join(f"{_name(name)} is ?" for name in table.key)


class OpenTransaction:
    """A transaction under way: executes changes and keeps them."""

    def __init__(self, database: SourceDatabase, started_at: datetime, pace: timedelta) -> None:
        """Opened by `SourceDatabase.transaction`."""
        self.changes: list[Change] = []
        self._database = database
        self._instant = started_at
        self._pace = pace

    def next_instant(self) -> datetime:
        """The time of the next change."""
        self._instant += self._pace
        return self._instant

    def insert(self, table_name: str, row: Row) -> None:
        """Inserts a row; columns that it lacks are null.

        Raises:
            sqlite3.IntegrityError: where the key lives already.
        """
        table = TABLES[table_name]
        places = ", ".join("?" for _ in table.columns)
        values = [row.get(name) for name in table.column_names]
        self._database.execute(f"insert into {_name(table_name)} values ({places})", values)
        self._keep(table, "insert", None, self._read(table, table.key_of(row)))

    def update(self, table_name: str, key: Key, values: Row) -> None:
        """Sets columns of the row of that key; a key column among them moves the row.

        Raises:
            KeyError: where no such row lives.
            sqlite3.IntegrityError: where the new key lives already.
        """
        table = TABLES[table_name]
        before = self._read(table, key)
        self._set(table, key, values)
        self._keep(table, "update", before, self._read(table, table.key_of({**before, **values})))

    def delete(self, table_name: str, key: Key) -> None:
        """Deletes the row of that key.

        Raises:
            KeyError: where no such row lives.
        """
        table = TABLES[table_name]
        before = self._read(table, key)
        condition = " and ".join(f"{_name(name)} is ?" for name in table.key)
        self._database.execute(f"delete from {_name(table_name)} where {condition}", key)
        self._keep(table, "delete", before, None)

    def truncate(self, table_name: str) -> None:
        """Removes all rows of a table, as one change without images."""
        self._database.execute(f"delete from {_name(table_name)}")
        self._keep(TABLES[table_name], "truncate", None, None)

    def rotate_keys(self, table_name: str, keys: Sequence[Key]) -> None:
        """Gives each row the key of the next one, and the last row the first key: two keys are a swap.

        SQLite checks keys row by row, so the rows go through parked keys there; the history has the moves as one
        statement would have logged them.
        """
        table = TABLES[table_name]
        before = [self._read(table, key) for key in keys]
        targets = [*keys[1:], keys[0]]
        parked = [tuple(f"{_PARKED} {number}" for _ in table.key) for number in range(len(keys))]
        for key, place in zip(keys, parked, strict=True):
            self._set(table, key, dict(zip(table.key, place, strict=True)))
        for place, target in zip(parked, targets, strict=True):
            self._set(table, place, dict(zip(table.key, target, strict=True)))
        for row, target in zip(before, targets, strict=True):
            self._keep(table, "update", row, self._read(table, target))

    def _read(self, table: Table, key: Key) -> Row:
        found = self._database.row(table.name, key)
        if found is None:
            raise KeyError(f"{table.name} has no row with key {key}")
        return found

    def _set(self, table: Table, key: Key, values: Row) -> None:
        assignments = ", ".join(f"{_name(name)} = ?" for name in values)
        condition = " and ".join(f"{_name(name)} is ?" for name in table.key)
        self._database.execute(
            f"update {_name(table.name)} set {assignments} where {condition}", [*values.values(), *key]
        )

    def _keep(self, table: Table, operation: str, before: Row | None, after: Row | None) -> None:
        self.changes.append(Change(table.name, operation, before, after, self.next_instant()))
