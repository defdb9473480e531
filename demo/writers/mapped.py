"""Writes what a trigger keeps of each change in an audit table, one for each of the source's.

A number from a sequence of the database orders the changes. Each row has the columns and what they were before; that of
a delete has no more than the key. A read is in it, too, and is no change. A truncate fires no trigger for rows, so the
source deletes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from demo.database import TABLES, Column, Table
from demo.history import Change, Row, Transaction
from demo.landing import Landed
from demo.workload import STARTED_AT
from demo.writers.deliveries import IGNORED, REPLICATED, DeliveriesWriter, Delivery, EmptiedByDeletes
from demo.writers.feed import RawTable, Verdict

ACTIONS = {"insert": "INS", "update": "UPD", "delete": "DEL"}


def raw_table(table: Table) -> RawTable:
    """Where the audit rows of a source table land: number, action, time, the row, that before, when they landed."""
    return RawTable(
        f"audit_{table.name}",
        (
            Column("audit_id", "bigint"),
            Column("action", "string"),
            Column("audited_at", "timestamp"),
            *table.columns,
            *(Column(f"{column.name}_old", column.data_type) for column in table.columns),
            Column("landed_at", "timestamp"),
        ),
    )


class MappedWriter(DeliveriesWriter):
    """Writes the rows of audit tables.

    >>> from demo.workload import Workload
    >>> writer = MappedWriter(seed=1)
    >>> len(writer.write([], loaded=Workload(seed=1, swaps=False).fill(), last=True)["audit_orders"])
    26
    """

    system = "mapped"

    def __init__(self, seed: int) -> None:
        """The numbers start."""
        super().__init__(seed)
        self._emptied = EmptiedByDeletes()
        self._audit_id = 0

    @property
    def raw_tables(self) -> Sequence[RawTable]:
        """Of each source table one."""
        return [raw_table(TABLES[name]) for name in REPLICATED]

    def _loaded(self, transaction: Transaction) -> Iterator[Delivery]:
        return self._written(transaction)

    def _written(self, transaction: Transaction) -> Iterator[Delivery]:
        for each in transaction.changes:
            for change in self._emptied.changes(each):
                if change.table in REPLICATED:
                    yield self._row(change, ACTIONS[change.operation])

    def _row(self, change: Change, action: str | None) -> Delivery:
        table = TABLES[change.table]
        self._audit_id += 1
        before: Row = change.before or dict.fromkeys(table.column_names)
        after: Row = change.after or {name: before[name] if name in table.key else None for name in before}
        value = (self._audit_id, action, change.changed_at, *after.values(), *before.values())
        key = table.key_of(after)
        keys = frozenset([key, *([table.key_of(before)] if change.before is not None else [])])
        identity = (f"{self._audit_id:020d}", change.operation, key)
        return Delivery(change.table, value, identity=identity, keys=keys, is_whole=len(keys) == 1)

    def _broken(self, example: Change) -> Iterator[Delivery]:
        table = TABLES[example.table]
        assert example.after is not None
        bare: Row = {name: value if name in table.key else None for name, value in example.after.items()}

        def made(action: str | None, row: Row, code: str | None, *number: int | None) -> Delivery:
            value = self._row(Change(example.table, "update", None, row, example.changed_at), action).value
            verdict = IGNORED if code is None else Verdict("rejected", code)
            return Delivery(example.table, (*number, *value[1:]) if number else value, verdict)

        yield made(self._one_of("UPS", "upd", None), bare, "unknown_operation")
        yield made("UPD", bare, "change_seq_missing", None)
        yield made("UPD", bare, "change_seq_malformed", -1)
        yield made("INS", dict.fromkeys(table.column_names), "key_missing")
        yield made("SEL", bare, None)

    def _raw_row(self, delivery: Delivery) -> tuple[str, tuple[Landed, ...]]:
        return f"audit_{delivery.table}", (*delivery.value, STARTED_AT + timedelta(days=self._batches))
