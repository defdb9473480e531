"""Writes change events of Debezium's connector for PostgreSQL, as JSON out of Kafka.

Rows of orders are logged with the key alone (REPLICA IDENTITY DEFAULT) and have large values, which an update that
leaves them alone does not have. Those of prices are logged whole (REPLICA IDENTITY FULL); the connector is told their
key (`message.key.columns`), of which a part can be null.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from demo.database import TABLES
from demo.history import Change, Key, Row, Transaction, Value
from demo.landing import Landed
from demo.workload import STARTED_AT
from demo.writers.deliveries import IGNORED, RECORD, REPLICATED, DeliveriesWriter, Delivery, Topics, whole_millis
from demo.writers.feed import RawTable, Verdict

RAW_TABLE = RawTable("debezium_records", RECORD)
SERVER = "shop"
UNAVAILABLE = "__debezium_unavailable_value"
"""What stands for a large value that was not logged."""

LARGE = {"orders": ("customer", "signature"), "prices": ()}
"""The columns with large values."""

_APART = 16
_SNAPSHOT_KINDS = ("true", "first", "first_in_data_collection", "last_in_data_collection", "last")


class DebeziumWriter(DeliveriesWriter):
    """Writes the topics of one connector.

    >>> from demo.workload import Workload
    >>> writer = DebeziumWriter(seed=1)
    >>> len(writer.write([], loaded=Workload(seed=1, swaps=False).fill(), last=True)["debezium_records"]) > 40
    True
    """

    system = "debezium"

    def __init__(self, seed: int) -> None:
        """Starts a connector, with a slot at some place of the log."""
        super().__init__(seed)
        self._topics = Topics()
        self._began, self._end = 0, 24_000_000 - 24_000_000 % _APART
        self._last_commit: int | None = None
        self._touched: set[tuple[str, Key]] | None = None

    @property
    def raw_tables(self) -> Sequence[RawTable]:
        """One raw table for all topics."""
        return [RAW_TABLE]

    def _loaded(self, transaction: Transaction) -> Iterator[Delivery]:
        for change in _replicated(transaction):
            source = self._source(change, transaction, self._end, snapshot=self._random.choice(_SNAPSHOT_KINDS))
            yield self._event("r", change, source, None, change.after, ("", "r"))

    def _written(self, transaction: Transaction) -> Iterator[Delivery]:
        """The events of a transaction, between the commit before and its own.

        The log has changes as they are made, the connector sends them as they are committed. So where two transactions
        run at a time, the second has positions below the commit of the first.
        """
        changes = list(_replicated(transaction))
        touched = {(change.table, key) for change in changes for key in _keys(change)}
        runs_beside = (
            self._touched is not None
            and self._touched.isdisjoint(touched)
            and all(change.operation != "truncate" for change in changes)
            and self._random.random() < 0.3
        )
        first = self._began + _APART // 2 if runs_beside else self._end
        # a third transaction beside two others waits, so that no two changes have one position
        anything = any(change.operation == "truncate" for change in changes)
        self._touched = None if runs_beside or anything else touched
        self._began = self._end
        for number, change in enumerate(changes):
            yield from self._of_change(change, self._source(change, transaction, first + number * _APART))
        self._end = max(self._end, (first // _APART + len(changes) + 1) * _APART)
        self._last_commit = self._end
        self._end += _APART

    def _of_change(self, change: Change, source: Mapping[str, Any]) -> Iterator[Delivery]:
        table = TABLES[change.table]
        at = str(source["sequence"]) + str(source["lsn"])
        logged = change.before
        if logged is not None and LARGE[change.table]:
            logged = {name: value if name in table.key else None for name, value in logged.items()}
        if change.operation == "truncate":
            yield self._event("t", change, source, None, None, (at, "t"))
        elif change.after is None or change.before is None:
            op = "d" if change.after is None else "c"
            yield self._event(op, change, source, logged, change.after, (at, op))
        elif table.key_of(change.before) != table.key_of(change.after):
            # of a key that is updated there is a delete and an insert
            yield self._event("d", change, source, logged, None, (at, "d"))
            yield Delivery(None, (_topic(change), None), IGNORED)
            yield self._event("c", change, source, None, change.after, (at, "c"))
        else:
            unlogged: dict[str, Value] = {
                name: UNAVAILABLE.encode() if isinstance(change.after[name], bytes) else UNAVAILABLE
                for name in LARGE[change.table]
                if name not in change.changed_columns and change.after[name] is not None and self._random.random() < 0.5
            }
            before = None if LARGE[change.table] else logged
            after = {**change.after, **unlogged}
            yield self._event("u", change, source, before, after, (at, "u"), is_whole=not unlogged)
        if change.operation == "delete":
            # a tombstone names no table, though its topic does
            yield Delivery(None, (_topic(change), None), IGNORED)

    def _event(
        self,
        op: str,
        change: Change,
        source: Mapping[str, Any],
        before: Row | None,
        after: Row | None,
        identity: tuple[str, str],
        *,
        is_whole: bool = True,
    ) -> Delivery:
        image = after if after is not None else before
        keys = frozenset([] if image is None else [TABLES[change.table].key_of(image)])
        images = [None if row is None else as_connected(row) for row in (before, after)]
        event = change_event(op, source, *images, changed_at=change.changed_at)
        key = next(iter(keys), ())
        return Delivery(
            change.table,
            (_topic(change), event),
            identity=(*identity, key),
            keys=keys,
            is_whole=is_whole and image is not None,
        )

    def _source(self, change: Change, transaction: Transaction, lsn: int, snapshot: str = "false") -> dict[str, Any]:
        commit = None if self._last_commit is None else str(self._last_commit)
        return {
            "connector": "postgresql",
            "ts_ms": whole_millis(transaction.committed_at),
            "snapshot": snapshot,
            "db": SERVER,
            "sequence": json.dumps([commit, str(lsn)]),
            "table": change.table,
            "txId": 700 + transaction.number,
            "lsn": lsn,
            "xmin": None,
        }

    def _broken(self, example: Change) -> Iterator[Delivery]:
        table = TABLES[example.table]
        assert example.after is not None
        bare: Row = {name: value if name in table.key else None for name, value in example.after.items()}
        whole = as_connected(example.after)

        def made(code: str, op: str | None, after: Row | None, **of_source: Any) -> Delivery:
            source = self._source(example, Transaction(0, example.changed_at, ()), self._end)
            self._end += _APART
            event = change_event(op, {**source, **of_source}, None, after, changed_at=example.changed_at)
            return Delivery(example.table, (_topic(example), event), Verdict("rejected", code))

        yield made("unknown_operation", self._one_of("x", None, "U"), as_connected(bare))
        yield made("change_seq_missing", "u", as_connected(bare), lsn=None)
        yield made("change_seq_malformed", "u", as_connected(bare), lsn=self._one_of("0/16B3748", "-1"))
        yield made("data_missing", "u", None)
        yield made("key_missing", "c", {name: value for name, value in whole.items() if name not in table.key})
        yield made("column_not_declared", "u", {name.upper(): value for name, value in as_connected(bare).items()})
        misfit = {"orders": "amount", "prices": "valid_on"}[example.table]
        yield made("value_does_not_fit", "u", {**as_connected(bare), misfit: self._one_of("?", "#")})

    def _of_no_table(self) -> Iterator[Delivery]:
        """A text of the log is of the table with no name; transactions and heartbeats should land elsewhere."""
        source = {"connector": "postgresql", "schema": "", "table": "", "lsn": self._end}
        yield Delivery("", (f"{SERVER}.message", change_event("m", source, changed_at=STARTED_AT)))
        yield Delivery(None, (f"{SERVER}.public.orders", "no event"), Verdict("rejected", "message_malformed"))
        unknown = Verdict("rejected", "table_unknown")
        begun = {"status": "BEGIN", "id": f"7:{self._end}", "event_count": None}
        yield Delivery(None, (f"{SERVER}.transaction", begun), unknown)
        yield Delivery(None, (f"__debezium-heartbeat.{SERVER}", {"ts_ms": whole_millis(STARTED_AT)}), unknown)

    def _raw_row(self, delivery: Delivery) -> tuple[str, tuple[Landed, ...]]:
        topic, value = delivery.value
        if isinstance(value, dict) and "op" in value:
            # an event that is sent again is sent at another time; half of the converters write a schema
            value = {**value, "ts_ms": value["ts_ms"] + self._random.randint(0, 9_999)}
            value = with_schema(value) if self._random.random() < 0.5 else value
        return RAW_TABLE.name, self._topics.record(topic, value, self._random.randint(0, 1))


def change_event(
    op: str | None, source: Mapping[str, Any], before: Any = None, after: Any = None, *, changed_at: datetime
) -> dict[str, Any]:
    """A change event without its schema."""
    millis = whole_millis(changed_at)
    told = {"version": "3.0", "name": SERVER, "ts_ms": millis, "schema": "public", "table": "orders"}
    return {"before": before, "after": after, "source": {**told, **source}, "op": op, "ts_ms": millis + 5}


def with_schema(event: Mapping[str, Any]) -> dict[str, Any]:
    """The same with its schema, as the JSON converter writes it by default."""
    return {"schema": {"type": "struct", "fields": [{"field": "op", "type": "string"}]}, "payload": event}


def as_connected(row: Row) -> dict[str, Any]:
    """A row as Debezium has it: dates in days, times with their zone as text, decimals and bytes in base64.

    >>> as_connected({"amount": Decimal("-1.5000"), "valid_on": date(1970, 1, 2), "signature": b"x", "is_paid": True})
    {'amount': 'xWg=', 'valid_on': 1, 'signature': 'eA==', 'is_paid': True}
    """
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Value) -> Any:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).days
    if isinstance(value, Decimal):
        number = int(f"{value:f}".replace(".", ""))
        return b64encode(number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)).decode()
    return b64encode(value).decode() if isinstance(value, bytes) else value


def _topic(change: Change) -> str:
    return f"{SERVER}.public.{change.table}"


def _replicated(transaction: Transaction) -> Iterator[Change]:
    return (change for change in transaction.changes if change.table in REPLICATED)


def _keys(change: Change) -> set[Key]:
    return {TABLES[change.table].key_of(row) for row in (change.before, change.after) if row is not None}
