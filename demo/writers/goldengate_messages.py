"""Writes messages of GoldenGate's Kafka handler: JSON in the form of the operation, out of one topic.

Updates have the key and what changed, or every column. Those of orders lack the names of other columns, those of prices
have them with `…_isMissing`. Names are in capitals.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from demo.database import TABLES, Table
from demo.history import Change, Row, Transaction
from demo.landing import Landed
from demo.writers.deliveries import IGNORED, RECORD, REPLICATED, DeliveriesWriter, Delivery, Topics, text_of_time
from demo.writers.feed import RawTable, Verdict

RAW_TABLE = RawTable("goldengate_messages", RECORD)
SCHEMA = "SHOP"
TOPIC = "shop"
FLAGGED = ("prices",)
"""The tables whose messages have every name, with flags of those that were not captured."""

_OPERATIONS = {"insert": "I", "update": "U", "delete": "D", "truncate": "T"}
_FILE_SIZE = 40_000


class GoldenGateMessagesWriter(DeliveriesWriter):
    """Writes the topic of one handler.

    >>> from demo.workload import Workload
    >>> writer = GoldenGateMessagesWriter(seed=1)
    >>> len(writer.write([], loaded=Workload(seed=1).fill(), last=True)["goldengate_messages"]) > 40
    True
    """

    system = "goldengate_messages"
    swaps: ClassVar[bool] = True

    def __init__(self, seed: int) -> None:
        """Starts a handler at the first file of a trail."""
        super().__init__(seed)
        self._topics = Topics()
        self._file, self._address = 0, 1444

    @property
    def raw_tables(self) -> Sequence[RawTable]:
        """One raw table for all source tables."""
        return [RAW_TABLE]

    def _loaded(self, transaction: Transaction) -> Iterator[Delivery]:
        # an initial load is a trail like any other
        return self._written(transaction)

    def _written(self, transaction: Transaction) -> Iterator[Delivery]:
        for change in transaction.changes:
            if change.table in REPLICATED:
                yield self._of_change(transaction, change)

    def _of_change(self, transaction: Transaction, change: Change) -> Delivery:
        table, op, pos = TABLES[change.table], _OPERATIONS[change.operation], self._next_position()
        keys = {table.key_of(row): None for row in (change.before, change.after) if row is not None}
        names = set(table.column_names)
        if op == "U" and self._random.random() < 0.7:
            names = {*table.key, *change.changed_columns}
        elif op == "D" and self._random.random() < 0.5:
            names = set(table.key)
        images = {
            image: None if row is None else self._image(table, row, names)
            for image, row in (("before", change.before), ("after", change.after))
        }
        key = next(reversed(keys), ())
        message = self._message(change, op, pos, transaction, **images)
        is_whole = len(keys) == 1 and (op != "U" or len(names) == len(table.columns))
        return Delivery(change.table, message, identity=(pos, op, key), keys=frozenset(keys), is_whole=is_whole)

    @staticmethod
    def _image(table: Table, row: Row, names: set[str]) -> dict[str, Any]:
        image: dict[str, Any] = {}
        for name, value in row.items():
            if name in names:
                image[name.upper()] = b64encode(value).decode() if isinstance(value, bytes) else text_of_time(value)
            elif table.name in FLAGGED:
                image[name.upper()] = None
            if table.name in FLAGGED:
                image[f"{name.upper()}_isMissing"] = name not in names
        return image

    @staticmethod
    def _message(change: Change, op: str | None, pos: str | None, transaction: Transaction, **images: Any) -> Any:
        return operation_message(
            op,
            pos,
            table=f"{SCHEMA}.{change.table.upper()}",
            op_ts=text_of_time(change.changed_at),
            primary_keys=[name.upper() for name in TABLES[change.table].key],
            xid=f"0.{transaction.number % 33}.{transaction.number}",
            csn=str(7_000_000 + transaction.number),
            **images,
        )

    def _broken(self, example: Change) -> Iterator[Delivery]:
        table = TABLES[example.table]
        assert example.after is not None
        nothing = Transaction(0, example.changed_at, ())
        bare: Row = {name: value if name in table.key else None for name, value in example.after.items()}
        names = set(table.column_names)
        image = self._image(table, bare, names)

        def made(code: str, op: str | None, after: Any, *pos: str | None) -> Delivery:
            message = self._message(example, op, pos[0] if pos else self._next_position(), nothing, after=after)
            return Delivery(example.table, message, Verdict("rejected", code))

        yield made("unknown_operation", self._one_of("X", None, "PK"), image)
        yield made("change_seq_missing", "U", image, None)
        yield made("change_seq_malformed", "U", image, self._one_of("12 34", "0x1F"))
        yield made("data_missing", "U", self._one_of(None, {}))
        keyless = {name: value for name, value in example.after.items() if name not in table.key}
        yield made("key_missing", "I", self._image(table, keyless, names))
        misfit = {"orders": "AMOUNT", "prices": "VALID_ON"}[example.table]
        yield made("value_does_not_fit", "U", {**image, misfit: self._one_of("n/a", "1.00001", "9" * 40)})

    def _of_no_table(self) -> Iterator[Delivery]:
        yield Delivery(None, "no message", Verdict("rejected", "message_malformed"))
        yield Delivery(None, None, IGNORED)

    def _raw_row(self, delivery: Delivery) -> tuple[str, tuple[Landed, ...]]:
        value = delivery.value
        if isinstance(value, Mapping):
            # the handler writes when it formatted a message, so one that is sent again differs in it
            formatted_at = f"2026-01-06T08:{self._random.randint(0, 59):02d}:00.{self._random.randint(0, 999):03d}000"
            value = {**value, "current_ts": formatted_at}
        return RAW_TABLE.name, self._topics.record(TOPIC, value, self._random.randint(0, 1))

    def _next_position(self) -> str:
        """The next place in the trail: the number of its file, and the address in it."""
        self._address += self._random.randint(90, 900)
        if self._address > _FILE_SIZE:
            self._file, self._address = self._file + 1, 1444
        return f"{self._file:010d}{self._address:010d}"


def operation_message(op: str | None, pos: int | str | None, **fields: Any) -> dict[str, Any]:
    """A message in the form of the operation; a position that is a number gets its 20 digits."""
    return {
        "op_type": op,
        "current_ts": "2026-01-31T12:00:01.000000",
        "pos": f"{pos:020d}" if isinstance(pos, int) else pos,
        "tokens": {"R": "AAAW"},
        **fields,
    }
