"""Writes the rows of a task of AWS DMS to S3: a full load, then changes, in one table for each of the source's.

Each change has a sequence that a rule of the task adds, and each update the key before it. A truncate leaves no row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from demo.database import TABLES, Column, Table
from demo.history import Change, Row, Transaction, Value
from demo.landing import Landed
from demo.workload import STARTED_AT
from demo.writers.deliveries import REPLICATED, DeliveriesWriter, Delivery, EmptiedByDeletes
from demo.writers.feed import RawTable, Verdict
from demo.writers.qlik_change_tables import change_seq

BEFORE = "BI_"
_OPERATIONS = {"insert": "I", "update": "U", "delete": "D"}


def raw_table(table: Table) -> RawTable:
    """Where the rows of a source table land: what DMS adds, the columns, the key before, when the files were read."""
    return RawTable(
        f"dms_{table.name}",
        (
            Column("Op", "string"),
            Column("committed", "timestamp"),
            Column("change_seq", "string"),
            *table.columns,
            *(Column(BEFORE + column.name, column.data_type) for column in table.columns if column.name in table.key),
            Column("landed_at", "timestamp"),
        ),
    )


class DmsWriter(DeliveriesWriter):
    """Writes the rows of one task.

    >>> from demo.workload import Workload
    >>> writer = DmsWriter(seed=1)
    >>> len(writer.write([], loaded=Workload(seed=1, swaps=False).fill(), last=True)["dms_orders"])
    26
    """

    system = "dms"

    def __init__(self, seed: int) -> None:
        """Starts a task: its change numbers start again."""
        super().__init__(seed)
        self._emptied = EmptiedByDeletes()
        self._change_number = 0
        self._captured_at = STARTED_AT

    @property
    def raw_tables(self) -> Sequence[RawTable]:
        """Of each source table one."""
        return [raw_table(TABLES[name]) for name in REPLICATED]

    def _loaded(self, transaction: Transaction) -> Iterator[Delivery]:
        for change in transaction.changes:
            self._emptied.changes(change)
            if change.table in REPLICATED:
                assert change.after is not None
                # files of a load have the operation only if the target is set so
                op = "I" if change.table == "orders" else None
                yield self._row(change, op, "", change.after, ("", "load"))

    def _written(self, transaction: Transaction) -> Iterator[Delivery]:
        for each in transaction.changes:
            for change in self._emptied.changes(each):
                row = change.before if change.after is None else change.after
                if change.table in REPLICATED and row is not None:
                    sequence = self._next_change_seq(transaction.committed_at)
                    op = _OPERATIONS[change.operation]
                    yield self._row(change, op, sequence, row, (sequence, op))

    def _row(self, change: Change, op: str | None, sequence: str, row: Row, identity: tuple[str, str]) -> Delivery:
        table = TABLES[change.table]
        key_before = table.key_of(change.before) if op == "U" and change.before is not None else ()
        before = key_before or (None,) * len(table.key)
        key = table.key_of(row)
        value = (op, change.changed_at, sequence, *row.values(), *before)
        moves = bool(key_before) and key_before != key
        keys = frozenset([key, key_before] if moves else [key])
        return Delivery(change.table, value, identity=(*identity, key), keys=keys, is_whole=not moves)

    def _broken(self, example: Change) -> Iterator[Delivery]:
        table = TABLES[example.table]
        assert example.after is not None
        bare: Row = {name: value if name in table.key else None for name, value in example.after.items()}
        change = Change(example.table, "update", None, bare, example.changed_at)

        def made(code: str, op: str | None, sequence: str) -> Delivery:
            sound = self._row(change, op, sequence, bare, ("", ""))
            return Delivery(example.table, sound.value, Verdict("rejected", code))

        sequence = self._next_change_seq(example.changed_at)
        yield made("unknown_operation", self._one_of("X", "u", None), sequence)
        yield made("change_seq_missing", self._one_of("U", "D"), "")
        yield made("change_seq_malformed", "U", self._one_of("12-34", f"{sequence}0"))

    def _raw_row(self, delivery: Delivery) -> tuple[str, tuple[Landed, ...]]:
        values: tuple[Value, ...] = delivery.value
        landed_at = STARTED_AT + timedelta(days=self._batches)
        return f"dms_{delivery.table}", (*values, landed_at)

    def _next_change_seq(self, committed_at: datetime) -> str:
        self._captured_at = max(self._captured_at, committed_at)
        self._change_number += 1
        return change_seq(self._captured_at, self._change_number)
