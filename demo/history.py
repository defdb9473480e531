"""What the source's log says: transactions of changes with their images, and a plain interpreter of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

Value: TypeAlias = int | float | str | bytes | Decimal | date | datetime | None
"""A value of a column; a bool is an int, and times are in UTC."""

Key: TypeAlias = tuple[Value, ...]
Row: TypeAlias = Mapping[str, Value]
"""A row: value by column name, in the table's order."""

Contents: TypeAlias = Mapping[str, Sequence[Row]]
"""The rows of each table, by table name."""


@dataclass(frozen=True)
class Change:
    """One change of one row, or of a whole table where it is a truncate.

    Attributes:
        table: the name of the source table
        operation: `insert`, `update`, `delete` or `truncate`
        before: the whole row before; None for inserts and truncates
        after: the whole row after; None for deletes and truncates
        changed_at: when it was done, UTC
    """

    table: str
    operation: str
    before: Row | None
    after: Row | None
    changed_at: datetime

    @property
    def changed_columns(self) -> tuple[str, ...]:
        """The columns of an update whose value is another one now; empty for every other operation.

        >>> before, after = {"price": 1, "order": None}, {"price": 1, "order": 2}
        >>> Change("prices", "update", before, after, datetime(2026, 1, 5)).changed_columns
        ('order',)
        """
        if self.before is None or self.after is None:
            return ()
        return tuple(name for name, value in self.after.items() if self.before[name] != value)


@dataclass(frozen=True)
class Transaction:
    """A committed transaction: its number from 1 on, the time of its commit (UTC), its changes in order."""

    number: int
    committed_at: datetime
    changes: tuple[Change, ...]


State: TypeAlias = Mapping[str, Counter[tuple[Value, ...]]]
"""Rows of each table as tuples of values, with how often each is there."""


def state_of(contents: Contents) -> State:
    """The contents of tables in a form that can be compared.

    >>> state_of({"prices": [{"article": "bolt", "price": 1}]})
    {'prices': Counter({('bolt', 1): 1})}
    """
    return {table: Counter(tuple(row.values()) for row in rows) for table, rows in contents.items()}


def replay(transactions: Iterable[Transaction], start: Contents) -> Iterator[tuple[Transaction, State]]:
    """Yields each transaction with the tables as they are after it.

    Keys do not matter here: a change removes its row before from the table and adds its row after, and a truncate
    removes all rows. So rows that exchange their keys need no care.

    Args:
        transactions: in the order of their commits
        start: the tables before the first of them

    Raises:
        ValueError: where a row before is not in its table.

    >>> insert = Change("prices", "insert", None, {"article": "bolt"}, datetime(2026, 1, 5))
    >>> [state["prices"] for _, state in replay([Transaction(1, insert.changed_at, (insert,))], {"prices": []})]
    [Counter({('bolt',): 1})]
    """
    state = {table: Counter(rows) for table, rows in state_of(start).items()}
    for transaction in transactions:
        for change in transaction.changes:
            rows = state[change.table]
            if change.operation == "truncate":
                rows.clear()
            if change.before is not None:
                taken = tuple(change.before.values())
                if taken not in rows:
                    raise ValueError(f"transaction {transaction.number}: {change.table} does not hold {taken}")
                rows[taken] -= 1
                if not rows[taken]:
                    del rows[taken]
            if change.after is not None:
                rows[tuple(change.after.values())] += 1
        yield transaction, {table: Counter(rows) for table, rows in state.items()}
