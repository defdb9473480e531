"""Writes Qlik's Kafka messages: a topic with one table in Avro, and a topic with two in JSON.

The messages of orders are Avro, and their metadata lands in a raw table of its own. In the topic `shop`, the messages
of prices have their table in their headers, and only the columns that changed. Those of machine_settings refer to a
metadata message, whose ordinals run backwards.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

from demo.database import TABLES, Column, Table
from demo.history import Change, Key, Row, Transaction, Value
from demo.workload import STARTED_AT
from demo.writers import avro
from demo.writers.deliveries import EmptiedByDeletes
from demo.writers.feed import FeedWriter, RawTable, Verdict
from demo.writers.qlik_change_tables import change_seq, hex_mask

_RECORD = (
    Column("topic", "string"),
    Column("partition", "int"),
    Column("offset", "bigint"),
    Column("timestamp", "timestamp"),
    Column("key", "binary"),
    Column("value", "binary"),
)
RAW_TABLES = {
    "shop": RawTable("kafka_records", _RECORD),
    "shop.orders": RawTable("kafka_avro_records", _RECORD),
    "shop.schemas": RawTable("kafka_schema_records", _RECORD),
}
"""Where the records of each topic land."""
SCHEMA = "shop"
PARTITIONS = 2

_SENT_AGAIN_IN_BATCH = 0.06
_SENT_AGAIN_LATER = 0.04
_LATE = 0.25
_QLIK_TYPES = {
    "bigint": "INT8",
    "int": "INT4",
    "string": "STRING",
    "boolean": "BOOLEAN",
    "double": "REAL8",
    "binary": "BYTES",
    "date": "DATE",
    "timestamp": "DATETIME",
}
_OPERATIONS = {"insert": "INSERT", "update": "UPDATE", "delete": "DELETE"}


@dataclass(frozen=True)
class TopicTable:
    """How the messages of a source table are written.

    Attributes:
        table: the source table
        topic: where they are sent
        metadata_topic: where the table's metadata message is sent
        is_avro: whether they are Avro, which always has an envelope; else JSON
        has_envelope: whether they are in an envelope, which refers to the metadata message
        names_table: whether their headers have schema and table
        sends: what an update has: `all` columns, only the `changed` ones, or all with a `mask` of those that were
            captured
        reverses_ordinals: whether the metadata counts the columns from the last to the first
    """

    table: Table
    topic: str
    metadata_topic: str
    is_avro: bool
    has_envelope: bool
    names_table: bool
    sends: str
    reverses_ordinals: bool = False

    @property
    def is_alone(self) -> bool:
        """Whether the topic holds no other table."""
        return sum(other.topic == self.topic for other in TOPIC_TABLES.values()) == 1

    @property
    def schema_id(self) -> str:
        """The id that the envelope refers to."""
        return f"{self.table.name}-v1"

    def ordinal(self, name: str) -> int:
        """The ordinal of a column, from 1, as the masks count it."""
        place = self.table.column_names.index(name)
        return len(self.table.columns) - place if self.reverses_ordinals else place + 1

    def mask(self, names: Sequence[str]) -> str:
        """The mask of these columns, in whole bytes."""
        return hex_mask([self.ordinal(name) - 1 for name in names], (len(self.table.columns) + 7) // 8)


TOPIC_TABLES: Mapping[str, TopicTable] = {
    topic_table.table.name: topic_table
    for topic_table in (
        TopicTable(
            TABLES["orders"],
            "shop.orders",
            "shop.schemas",
            is_avro=True,
            has_envelope=True,
            names_table=False,
            sends="all",
        ),
        TopicTable(
            TABLES["prices"], "shop", "shop", is_avro=False, has_envelope=False, names_table=True, sends="changed"
        ),
        TopicTable(
            TABLES["machine_settings"],
            "shop",
            "shop",
            is_avro=False,
            has_envelope=True,
            names_table=False,
            sends="mask",
            reverses_ordinals=True,
        ),
    )
}
"""How the demo replicates each source table, by its name."""


@dataclass(frozen=True)
class Message:
    """A message before it gets its offset.

    Attributes:
        topic_table: whose it is; None where it names no table
        topic: where it is sent
        value: its value; None is a tombstone
        key: the key of its row; picks the partition
        identity: (changeSequence, operation, key) of a sound change; None for any other
        verdict: what staging must say of it
        has_before: whether it has the row before
    """

    topic_table: TopicTable | None
    topic: str
    value: bytes | None = field(repr=False)
    key: Key
    identity: tuple[str, str, Key] | None
    verdict: Verdict
    has_before: bool = False


class QlikKafkaWriter(FeedWriter):
    """Writes the topics of one replication task.

    >>> from demo.workload import Workload
    >>> workload = Workload(seed=1, swaps=False)
    >>> writer = QlikKafkaWriter(seed=1)
    >>> len(writer.write([], loaded=workload.fill(), last=True)["kafka_records"]) > 40
    True

    Attributes:
        delivered: the messages written so far, in the order of their records
        late: the messages that come with the next batch
    """

    system = "qlik_kafka"
    swaps = True

    def __init__(self, seed: int) -> None:
        """Starts a task: its change numbers and offsets start again."""
        self._random = Random(seed)
        self._change_number = 0
        self._captured_at = STARTED_AT
        self._offsets: Counter[tuple[str, int]] = Counter()
        self._emptied = EmptiedByDeletes()
        self._batches = 0
        self.late: list[Message] = []
        self.delivered: list[Message] = []

    @property
    def raw_tables(self) -> Sequence[RawTable]:
        """The raw tables: of each topic one."""
        return list(RAW_TABLES.values())

    def write(
        self, transactions: Sequence[Transaction], loaded: Sequence[Transaction] = (), *, last: bool = False
    ) -> Mapping[str, Sequence[tuple[Value, ...]]]:
        """Writes a batch: metadata, the load, changes, messages sent again, late ones, and a few broken ones.

        See `FeedWriter.write`.
        """
        first = [self._metadata(topic_table) for topic_table in TOPIC_TABLES.values()] if self._batches == 0 else []
        load = [self._refresh(change) for transaction in loaded for change in transaction.changes]
        # a load that was retried sends its rows again
        load += self._random.sample(load, len(load) // 4)
        written = [
            message
            for transaction in transactions
            for change in transaction.changes
            for message in self._written(transaction, change)
        ]
        late = [] if last else self._held_back(written)
        kept_back = {id(message) for message in late}
        messages = self.late + [message for message in written if id(message) not in kept_back]
        messages += self._broken(transactions, last=last)
        changes = [message for message in messages + self.delivered if message.identity is not None]
        sent_before = [m for m in self.delivered if m.identity is not None and m.identity[1] != "REFRESH"]
        messages += self._some(changes[: len(messages)], _SENT_AGAIN_IN_BATCH) + self._some(
            sent_before, _SENT_AGAIN_LATER
        )
        self._random.shuffle(messages)
        messages = first + load + messages
        landed: dict[str, list[tuple[Value, ...]]] = {table.name: [] for table in self.raw_tables}
        for message in messages:
            landed[RAW_TABLES[message.topic].name].append(self._record(message))
        self.late = late
        self.delivered += messages
        self._batches += 1
        return landed

    @property
    def expected_statuses(self) -> Mapping[str, Counter[Verdict]]:
        """How many messages staging must find in which status; see `FeedWriter.expected_statuses`."""
        counts: dict[str, Counter[Verdict]] = {name: Counter() for name in TOPIC_TABLES}
        for message in self.delivered:
            if message.topic_table is not None and message.topic == message.topic_table.topic:
                counts[message.topic_table.table.name][message.verdict] += 1
        return counts

    @property
    def expected_changes(self) -> Mapping[str, int]:
        """How many distinct changes there are; see `FeedWriter.expected_changes`. Each row of a load counts."""
        loaded: Counter[str] = Counter()
        changes: dict[str, set[tuple[str, str, Key]]] = defaultdict(set)
        for message in self.delivered:
            if message.topic_table is None or message.identity is None:
                continue
            name = message.topic_table.table.name
            if message.identity[1] == "REFRESH":
                loaded[name] += 1
            else:
                changes[name].add(message.identity)
        return {name: loaded[name] + len(changes[name]) for name in TOPIC_TABLES}

    @property
    def expected_unclaimed(self) -> Counter[Verdict]:
        """How many messages belong to no table, by what they must be listed as."""
        return Counter(message.verdict for message in self.delivered if message.topic_table is None)

    def _metadata(self, topic_table: TopicTable) -> Message:
        columns = {
            column.name: {
                "ordinal": topic_table.ordinal(column.name),
                **qlik_type(column.data_type),
                "primaryKeyPosition": (*topic_table.table.key, column.name).index(column.name) + 1
                if column.name in topic_table.table.key
                else 0,
            }
            for column in topic_table.table.columns
        }
        body = {
            "schemaId": topic_table.schema_id,
            "lineage": {
                "server": "replicate",
                "task": "demo",
                "schema": SCHEMA,
                "table": topic_table.table.name,
                "tableVersion": 1,
                "timestamp": _time(STARTED_AT),
            },
            "tableStructure": {"tableColumns": columns},
            "dataSchema": json.dumps(avro.data_schema(topic_table.table)) if topic_table.is_avro else "{}",
        }
        if topic_table.is_avro:
            schema = json.dumps(avro.METADATA_SCHEMA)
            value = avro.envelope(avro.encode(avro.METADATA_SCHEMA, body), "MD", schema=schema)
        else:
            value = json.dumps(_enveloped(body, None, "MD") if topic_table.has_envelope else body).encode()
        return Message(topic_table, topic_table.metadata_topic, value, (), None, Verdict("ignored", None))

    def _refresh(self, change: Change) -> Message:
        assert change.after is not None
        topic_table = TOPIC_TABLES[change.table]
        self._emptied.changes(change)
        return self._message(topic_table, "REFRESH", "", change.after, None, change, None)

    def _written(self, transaction: Transaction, change: Change) -> Iterator[Message]:
        topic_table = TOPIC_TABLES[change.table]
        for sent in self._emptied.changes(change):
            yield self._change_message(topic_table, transaction, sent)
        if change.operation == "delete" and topic_table.is_alone and change.before is not None:
            key = topic_table.table.key_of(change.before)
            yield Message(topic_table, topic_table.topic, None, key, None, Verdict("ignored", None))

    def _change_message(self, topic_table: TopicTable, transaction: Transaction, change: Change) -> Message:
        sequence = self._next_change_seq(transaction.committed_at)
        operation = _OPERATIONS[change.operation]
        if operation == "DELETE":
            assert change.before is not None
            in_data = self._random.random() < 0.5
            data, before = (change.before, None) if in_data else (None, change.before)
        else:
            assert change.after is not None
            moves = change.before is not None and topic_table.table.key_of(change.before) != topic_table.table.key_of(
                change.after
            )
            data, before = change.after, change.before if moves or self._random.random() < 0.3 else None
        return self._message(topic_table, operation, sequence, data, before, change, transaction)

    def _message(
        self,
        topic_table: TopicTable,
        operation: str,
        sequence: str,
        data: Row | None,
        before: Row | None,
        change: Change,
        transaction: Transaction | None,
        headers: Mapping[str, Any] | None = None,
        schema_id: str | None = None,
    ) -> Message:
        table = topic_table.table
        own_headers: dict[str, Any] = {
            "operation": operation,
            "changeSequence": sequence,
            "timestamp": change.changed_at,
            "streamPosition": f"log.1:{self._random.randint(4, 10**9)}",
            "transactionId": f"{transaction.number:032X}" if transaction else "",
            "changeMask": topic_table.mask(change.changed_columns) if operation == "UPDATE" else None,
            "columnMask": None,
        }
        if operation == "UPDATE" and data is not None and topic_table.sends != "all":
            captured = [*table.key, *(name for name in change.changed_columns if name not in table.key)]
            own_headers["columnMask"] = topic_table.mask(captured)
            if topic_table.sends == "changed":
                data = {name: data[name] for name in captured}
            else:
                data = {name: value if name in captured else None for name, value in data.items()}
        if topic_table.names_table:
            own_headers |= {"schema": SCHEMA, "table": table.name}
        value = self._value(
            topic_table, data, before, {**own_headers, **(headers or {})}, schema_id or topic_table.schema_id
        )
        row = data if data is not None else before or {}
        key = tuple(row.get(name) for name in table.key)
        accepted = Verdict("accepted", None)
        return Message(
            topic_table, topic_table.topic, value, key, (sequence, operation, key), accepted, before is not None
        )

    def _value(
        self,
        topic_table: TopicTable,
        data: Row | None,
        before: Row | None,
        headers: Mapping[str, Any],
        schema_id: str | None,
    ) -> bytes:
        """The bytes of a message. A text in a column of another type needs a schema of its own."""
        at = headers["timestamp"]
        if not topic_table.is_avro:
            sent_headers = {**headers, "timestamp": _time(at, self._random.choice("T "))}
            body = {"data": as_json(data), "beforeData": as_json(before), "headers": sent_headers}
            message = _enveloped(body, schema_id, "DT") if topic_table.has_envelope else body
            return json.dumps(message, ensure_ascii=False).encode()
        masks = {name: headers[name] and bytes.fromhex(headers[name]) for name in ("changeMask", "columnMask")}
        sent_headers = {**headers, **masks, "timestamp": at.replace(tzinfo=UTC)}
        odd = any(
            isinstance((data or {}).get(column.name), str) and column.data_type != "string"
            for column in topic_table.table.columns
        )
        schema = avro.data_schema(topic_table.table, as_text=odd)
        if odd:
            data = {name: None if value is None else str(value) for name, value in (data or {}).items()}
        rows = {"data": avro.with_avro_values(data), "beforeData": avro.with_avro_values(before)}
        record = avro.encode(schema, {**rows, "headers": sent_headers})
        return avro.envelope(record, "DT", None if odd else schema_id, json.dumps(schema) if odd else None)

    def _held_back(self, written: Sequence[Message]) -> list[Message]:
        """Messages that come in the next batch: those that a later one of the same key, with all columns, replaces."""
        settled: set[tuple[str, Key]] = set()
        moving = {(message.topic, message.key) for message in written if message.has_before}
        late = []
        for message in reversed(written):
            place = (message.topic, message.key)
            if message.identity is None or message.topic_table is None or message.topic_table.sends != "all":
                continue
            if place in moving:
                continue
            if place in settled and self._random.random() < _LATE:
                late.append(message)
            else:
                settled.add(place)
        return late

    def _broken(self, transactions: Sequence[Transaction], *, last: bool) -> Iterator[Message]:
        """For each table, a message of each broken kind; each would do harm if it was accepted."""
        examples = {
            change.table: change
            for transaction in transactions
            for change in transaction.changes
            if change.after is not None
        }
        for change in examples.values():
            yield from self._broken_like(change, change.after or {})
        no_object = Verdict("rejected", "message_malformed")
        yield Message(TOPIC_TABLES["orders"], "shop.orders", b"atMSG\x04DT and no more", (), None, no_object)
        if last and (example := examples.get("orders")) is not None:
            # it would block the watermark of later runs
            unread = self._message(
                TOPIC_TABLES["orders"],
                "INSERT",
                self._next_change_seq(example.changed_at),
                example.after,
                None,
                example,
                None,
                schema_id="never sent",
            )
            yield replace(unread, identity=None, verdict=Verdict("waiting", "schema_missing"))
        yield Message(None, "shop", b"no JSON", (), None, Verdict("rejected", "table_unknown"))
        yield Message(None, "shop", None, (), None, Verdict("ignored", "no_table"))

    def _broken_like(self, change: Change, after: Row) -> Iterator[Message]:
        topic_table = TOPIC_TABLES[change.table]
        key = topic_table.table.key
        bare: Row = {name: value if name in key else None for name, value in after.items()}

        def made(code: str, data: Row | None, **headers: Any) -> Message:
            sequence = self._next_change_seq(change.changed_at)
            sound = self._message(topic_table, "INSERT", sequence, data, None, change, None, headers)
            return replace(sound, identity=None, verdict=Verdict("rejected", code))

        yield made("unknown_operation", bare, operation=self._one_of("UPSERT", None, "insert"))
        yield made("change_seq_missing", bare, changeSequence=self._one_of("", None))
        yield made("change_seq_malformed", bare, changeSequence=self._one_of("123", "x" * 35))
        if not topic_table.is_avro:  # where a mask is bytes, none is malformed
            yield made("change_mask_malformed", bare, changeMask="0x0G")
            yield made("column_mask_malformed", bare, columnMask="-1")
        yield made("data_missing", None)
        yield made("key_missing", dict.fromkeys(after))
        misfit = next(
            column.name
            for column in topic_table.table.other_columns
            if column.data_type not in ("string", "binary", "boolean")
        )
        text = self._one_of("n/a", "1.00000000000000001", "9" * 40)
        yield made("value_does_not_fit", {**bare, misfit: text})

    def _record(self, message: Message) -> tuple[Value, ...]:
        # the same key always goes to the same partition
        partition = sum(map(ord, repr(message.key))) % PARTITIONS
        offset = self._offsets[message.topic, partition]
        self._offsets[message.topic, partition] += 1
        return message.topic, partition, offset, self._captured_at, repr(message.key).encode(), message.value

    def _some(self, messages: Sequence[Message], part: float) -> list[Message]:
        return self._random.sample(list(messages), int(part * len(messages)))

    def _one_of(self, *kinds: Any) -> Any:
        return kinds[self._batches % len(kinds)]

    def _next_change_seq(self, committed_at: datetime) -> str:
        self._captured_at = max(self._captured_at, committed_at)
        self._change_number += 1
        return change_seq(self._captured_at, self._change_number)


def qlik_type(data_type: str) -> Mapping[str, str | int]:
    """A Spark type as metadata messages have it.

    >>> qlik_type("decimal(18,4)"), qlik_type("bigint")["type"]
    ({'type': 'NUMERIC', 'length': 0, 'precision': 18, 'scale': 4}, 'INT8')
    """
    said: dict[str, str | int] = {"type": "NUMERIC", "length": 0, "precision": 0, "scale": 0}
    if digits := re.fullmatch(r"decimal\((\d+),(\d+)\)", data_type):
        return {**said, "precision": int(digits[1]), "scale": int(digits[2])}
    return {**said, "type": _QLIK_TYPES[data_type]}


def _enveloped(body: Mapping[str, Any], schema_id: str | None, kind: str) -> dict[str, Any]:
    return {
        "magic": "atMSG",
        "type": kind,
        "headers": None,
        "messageSchemaId": schema_id,
        "messageSchema": None,
        "message": body,
    }


def _time(at: datetime, between: str = "T") -> str:
    return f"{at:%Y-%m-%d}{between}{at:%H:%M:%S}.{at.microsecond // 1000:03d}"


def as_json(row: Row | None) -> dict[str, Any] | None:
    """A row as JSON has it: exact numbers, times and bytes as texts."""
    return None if row is None else {name: _text(value) for name, value in row.items()}


def _text(value: Value) -> Any:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S.%f}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return value.hex().upper()
    return value
