"""Raw tables of Debezium, AWS DMS and GoldenGate's handlers: what lands in two batches, and what comes of it."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import count
from typing import Any

from demo.writers.avro import encode
from demo.writers.debezium import UNAVAILABLE as TOAST
from demo.writers.debezium import change_event, with_schema
from demo.writers.deliveries import RECORD, Topics
from demo.writers.goldengate_messages import operation_message

from .cases import Case
from .consumer import Entry
from .landing import Expression

AT = dt.datetime(2026, 1, 31, 12, 0, tzinfo=dt.UTC)
MILLIS = 1769860800000
COLUMNS = {"id": "bigint", "name": "string", "amount": "decimal(10,2)"}
LANDED = COLUMNS | {"amount": "string"}
ALL = ("stg", "dedup", "current")
POSITION = ["topic", "partition", "offset"]
KAFKA = {column.name: column.data_type for column in RECORD}

DEBEZIUM: dict[str, Any] = {"format": "debezium", "key": ["id"]}


event = partial(change_event, changed_at=AT)
operation = partial(operation_message, table="APP.ORDERS", op_ts="2026-01-31 12:00:00.250000", primary_keys=["id"])


def records(*batches: Sequence[Mapping[str, Any] | str | None]) -> list[list[list[Any]]]:
    """The batches as records of one topic."""
    topics = Topics()
    return [[list(topics.record("shop.public.orders", value)) for value in batch] for batch in batches]


def row(id_: Any, name: Any = "", amount: Any = "1.50") -> dict[str, Any]:
    """A row with every column."""
    return {"id": id_, "name": name, "amount": amount}


def _of_postgres() -> list[list[list[Any]]]:
    def at(lsn: int, op: str, before: Any = None, after: Any = None) -> dict[str, Any]:
        snapshot = "true" if op == "r" else "false"
        return event(op, {"lsn": lsn, "txId": 7, "sequence": f'[null,"{lsn}"]', "snapshot": snapshot}, before, after)

    first = [
        at(100, "r", after=row(1, "read by the snapshot")),
        with_schema(at(100, "r", after=row(2, "large text"))),
        with_schema(at(205, "u", after={"id": 2, "name": TOAST, "amount": "2.50"})),
        at(1000, "c", after=row(3, "third")),
        at(1000, "c", after=row(3, "third")),
        None,
        at(1100, "d", before=row(1, None, None)),
        at(1200, "d", before={"id": 3, "name": None, "amount": None}),
        at(1200, "c", after=row(4, "was the third")),
        at(1300, "m"),
        at(100, "r", after=row(7, "read while a change of it was not committed")),
        at(90, "u", after=row(7, "committed after the snapshot")),
        "not an event",
        {"status": "BEGIN", "id": "7"},
    ]
    second = [
        at(999, "u", after=row(3, "late, and deleted since")),
        at(1400, "t"),
        at(1500, "c", after=row(5, "fifth")),
    ]
    return records(first, second)


def _of_mysql() -> list[list[list[Any]]]:
    def at(file: int, pos: int, op: str, row_: int = 0, table: str = "orders", **images: Any) -> dict[str, Any]:
        source = {"file": f"mysql-bin.{file:06d}", "pos": pos, "row": row_, "table": table, "gtid": None}
        return event(op, source, **images)

    first = [
        at(9, 4711, "c", after=row(1, "ninth file")),
        at(10, 4, "u", before=row(1, "ninth file"), after=row(1, "tenth file")),
        at(10, 99, "u", row_=1, before=row(1), after=row(1, "second row of its event")),
        at(10, 99, "u", row_=0, before=row(1), after=row(1, "first row of its event")),
        at(10, 100, "c", table="lines", after=row(9, "of another table")),
        at(10, 120, "u", before=row(1), after=row(7, "the key of an update")),
        at(10, 125, "c", after=row(8, "deleted")),
        at(10, 130, "d", before=row(8)),
    ]
    return records(first, [])


LSN = "0000002a:0000048{}:000{}"
SOURCE = "struct<table:string,ts_ms:bigint,commit_lsn:string,change_lsn:string,event_serial_no:bigint>"
IMAGE = "struct<id:bigint,name:string,amount:string>"


def _image(values: Sequence[Any] | None) -> str:
    if values is None:
        return f"cast(null as {IMAGE})"
    id_, name, amount = values
    return f"named_struct('id', {id_}L, 'name', '{name}', 'amount', '{amount}')"


def of_structs(op: str, commit: int, change: int | None, serial: int | str, before: Any, after: Any) -> list[Any]:
    """An event of SQL Server, as columns."""
    change_lsn = "cast(null as string)" if change is None else f"'{LSN.format(change, change)}'"
    source = (
        f"named_struct('table', 'orders', 'ts_ms', {MILLIS}L, 'commit_lsn', '{LSN.format(commit, 9)}',"
        f" 'change_lsn', {change_lsn}, 'event_serial_no', cast({serial} as bigint))"
    )
    return [Expression(value) for value in (f"'{op}'", source, _image(before), _image(after))]


DMS = {
    "format": "dms",
    "key": ["id"],
    "sequence_column": "change_seq",
    "time_column": "committed",
    "before_prefix": "BI_",
}
DMS_LANDED = {
    "Op": "string",
    "committed": "string",
    "change_seq": "string",
    **LANDED,
    "BI_id": "bigint",
}


def dms(
    op: str | None, number: int | None, *values: Any, before: Sequence[Any] = (None,), sequence: str = ""
) -> list[Any]:
    """A row of a file."""
    seq = sequence if number is None else f"2026013112000025{number:019d}"
    return [op, "2026-01-31 12:00:00.250000", seq, *values, *before]


GOLDENGATE = {"format": "goldengate_messages", "key": ["id"], "position": POSITION}


def _of_goldengate() -> list[list[list[Any]]]:
    first = [
        operation("I", 1444, after=row(1, "first", 1.5)),
        operation("U", 2000, before=row(1, "first", 1.5), after={"id": 1, "name": "only the name"}),
        operation(
            "U", 3000, before={"id": 1}, after={"id": 1, "name": None, "name_isMissing": True, "amount": 99999999.99}
        ),
        operation("I", 3100, after=row(2, "second")),
        operation("U", 3200, before=row(2, "second"), after={"id": 3, "name": "moved"}),
        operation("D", 3300, before={"id": 9}),
        operation("X", 3400, after=row(5)),
        operation("I", None, after=row(5)),
        operation("I", "12 34", after=row(5)),
        operation("I", 3500, after={"name": "no key"}),
        operation("I", 3600, before={}, after={}),
        operation("U", 3700, before={"id": 1}, after={"id": 1, "name": None, "name_isMissing": "perhaps"}),
    ]
    second = [operation("T", 4000), operation("I", 4100, after=row(6, "after the truncate"))]
    return records(first, second)


def _of_goldengate_rows() -> list[list[list[Any]]]:
    first = [
        operation("I", 1, **row(1, "first", 0.10)),
        operation("U", 2, id=1, name="only the name"),
        operation("I", 3, **row(2, "second")),
        operation("D", 4, id=2),
        operation("I", 4, **row(3, "was the second")),
    ]
    return records(first, [])


def _of_goldengate_in_capitals() -> list[list[list[Any]]]:
    first = [
        operation("I", 1, after={"ID": 1, "NAME": "first", "AMOUNT": 1.5}),
        operation("U", 2, before={"ID": 1}, after={"ID": 1, "NAME": None, "NAME_isMissing": True, "AMOUNT": 2.5}),
        operation("I", 3, after={"ID": 2, "NAME": "first", "AMOUNT": 2.5}),
        operation("U", 4, before={"ID": 2}, after={"ID": 2, "NAME": None, "NAME_isMissing": False}),
    ]
    return records(first, [])


AVRO_COLUMNS = {"id": "long", "name": "string", "amount": "double", "document": "bytes"}


def avro_schema(columns: Mapping[str, str]) -> dict[str, Any]:
    """A schema as the operation formatter writes it for a table with these columns."""
    fields = [
        field
        for name, kind in columns.items()
        for field in (
            {"name": name, "type": ["null", kind], "default": None},
            {"name": f"{name}_isMissing", "type": "boolean"},
        )
    ]
    return {
        "type": "record",
        "name": "ORDERS",
        "namespace": "APP",
        "fields": [
            *({"name": name, "type": "string"} for name in ("table", "op_type", "op_ts", "current_ts", "pos")),
            {"name": "primary_keys", "type": {"type": "array", "items": "string"}},
            {"name": "tokens", "type": {"type": "map", "values": "string"}},
            {"name": "before", "type": ["null", {"type": "record", "name": "columns", "fields": fields}]},
            {"name": "after", "type": ["null", "columns"]},
        ],
    }


AVRO = avro_schema(AVRO_COLUMNS)


def avro_image(columns: Mapping[str, str] = AVRO_COLUMNS, **values: Any) -> dict[str, Any]:
    """An image of these columns with their flags; those that are not given are missing."""
    missing = {f"{name}_isMissing": name not in values for name in columns}
    return {**{name: values.get(name) for name in columns}, **missing}


WRAPPER = {
    "type": "record",
    "name": "generic_wrapper",
    "namespace": "oracle.goldengate",
    "fields": [
        {"name": "table_name", "type": "string"},
        {"name": "schema_fingerprint", "type": "long"},
        {"name": "payload", "type": "bytes"},
    ],
}
"""The schema of messages of the formatter that are wrapped."""


def _of_goldengate_avro() -> list[list[list[Any]]]:
    image = avro_image

    def written(
        op: str, pos: int, before: Any = None, after: Any = None, columns: Mapping[str, str] = AVRO_COLUMNS
    ) -> bytes:
        return encode(avro_schema(columns), operation(op, pos, before=before, after=after))

    whole: dict[str, Any] = {"name": "first", "amount": 1.5, "document": b"\x01abcd"}
    more, fewer, other = {**AVRO_COLUMNS, "added": "string"}, {"id": "long", "name": "string"}, dict(AVRO_COLUMNS)
    other["amount"] = "string"
    of_others = written("I", 9, after=image(id=4, **whole))
    values = [
        written("I", 1, after=image(id=1, **whole)),
        written("U", 2, before=image(id=1), after=image(id=1, name=None)),
        written("I", 3, after=image(id=2, **whole)),
        written("D", 4, before=image(id=2, **whole)),
        written("I", 5, after=image(id=3, **whole))[:-4],
        # of a table that has got a column, has lost two, and has one of another type
        written("I", 6, after=image(more, id=4, **whole), columns=more),
        written("U", 7, image(fewer, id=1), image(fewer, id=1, name="x"), fewer),
        written("I", 8, after=image(other, id=4, **whole | {"amount": "1.50"}), columns=other),
        encode(WRAPPER, {"table_name": "APP.ORDERS", "schema_fingerprint": 4711, "payload": of_others}),
        b'{"table": "APP.ORDERS"}',
        None,
    ]
    return [[["orders", 0, offset, value] for offset, value in enumerate(values)], []]


def _of_registry(*batches: Sequence[tuple[int, Any, Any] | bytes | None]) -> list[list[list[Any]]]:
    """Batches of messages, each with the id of its schema, the schema and the record, or as bytes."""
    offsets = count()
    return [
        [["orders", 0, next(offsets), value if not isinstance(value, tuple) else _prefixed(*value)] for value in batch]
        for batch in batches
    ]


def _prefixed(schema_id: int, schema: Any, record: Mapping[str, Any]) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + encode(schema, record)


def inserted(*messages: tuple[int, str]) -> list[list[Any]]:
    """Records of inserts with the keys 1, 2, …, by the ids of their schemas and their tables."""
    schema = avro_schema(AVRO_COLUMNS)
    return _of_registry(
        [
            (id_, schema, operation("I", number, before=None, after=avro_image(id=number)) | {"table": table})
            for number, (id_, table) in enumerate(messages, 1)
        ]
    )[0]


V2 = {"id": "long", "amount": "string", "name": "string", "document": "bytes", "added": "string"}
LATE = 4_000_000_000
"""The id of a schema that lands with the second batch."""


def _of_goldengate_registry() -> list[list[list[Any]]]:
    first, second = avro_schema(AVRO_COLUMNS), avro_schema(V2)
    whole: dict[str, Any] = {"name": "first", "amount": 1.5, "document": b"\x01abcd"}

    def made(op: str, pos: int, before: Any, table: str = "APP.ORDERS", **after: Any) -> tuple[int, Any, Any]:
        image = avro_image(**after)
        return 1, first, operation(op, pos, before=before, after=image) | {"table": table}

    def later(op: str, pos: int, before: Any, table: str = "APP.ORDERS", **after: Any) -> tuple[int, Any, Any]:
        image = avro_image(V2, **after)
        return LATE, second, operation(op, pos, before=before, after=image) | {"table": table}

    new = whole | {"amount": "2.50", "added": "new"}
    return _of_registry(
        [
            made("I", 1, None, id=1, **whole),
            made("U", 2, avro_image(id=1), id=1, name=None),
            later("I", 3, None, id=2, **new),
            later("I", 3, None, "APP.LINES", id=9, **new),
            (7, *later("I", 4, None, id=3, **new)[1:]),
            (8, *made("I", 5, None, id=3, **whole)[1:]),
            _prefixed(*made("I", 6, None, id=3, **whole))[:-4],
            _prefixed(*made("I", 7, None, id=3, **whole))[5:],
            None,
        ],
        [later("U", 8, avro_image(V2, id=1), id=1, added="late", amount="3.00")],
    )


DEBEZIUM_AVRO = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {
            "name": "before",
            "type": [
                "null",
                {
                    "type": "record",
                    "name": "Value",
                    "fields": [
                        {"name": "id", "type": "long"},
                        {"name": "name", "type": ["null", "string"]},
                        {
                            "name": "amount",
                            "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}],
                        },
                        {"name": "document", "type": ["null", "bytes"]},
                    ],
                },
            ],
        },
        {"name": "after", "type": ["null", "Value"]},
        {
            "name": "source",
            "type": {
                "type": "record",
                "name": "Source",
                "fields": [
                    {"name": "ts_ms", "type": "long"},
                    {"name": "snapshot", "type": ["null", "string"]},
                    {"name": "sequence", "type": ["null", "string"]},
                    {"name": "lsn", "type": ["null", "long"]},
                ],
            },
        },
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"]},
    ],
}
"""The schema of a change event as Kafka Connect's converter writes it."""


def _of_debezium_registry() -> list[list[list[Any]]]:
    def at(lsn: int, op: str, before: Any = None, after: Any = None, schema_id: int = 3) -> tuple[int, Any, Any]:
        source = {"ts_ms": MILLIS, "snapshot": "false", "sequence": None, "lsn": lsn}
        return schema_id, DEBEZIUM_AVRO, {"before": before, "after": after, "source": source, "op": op, "ts_ms": None}

    def image(name: str | None, amount: str | None = None, document: bytes | None = None) -> dict[str, Any]:
        return {"id": 1, "name": name, "amount": amount and Decimal(amount), "document": document}

    return _of_registry(
        [
            at(1, "c", after=image("first", "1.50", b"\x01abcd")),
            at(2, "u", after=image(TOAST, "2.50", b"\x01abcd")),
            at(4, "u", after=image("waits"), schema_id=5),
            at(5, "d", before=image(None), schema_id=6),
            None,
        ],
        [at(3, "u", after=image("third"))],
    )


REGISTERED: Sequence[Sequence[tuple[int, str | None]]] = [
    [
        (1, json.dumps(AVRO)),
        (1, json.dumps(AVRO)),
        (8, '{"type": "record"}'),
        (9, None),
        (3, json.dumps(DEBEZIUM_AVRO)),
    ],
    [(LATE, json.dumps(avro_schema(V2))), (5, json.dumps(DEBEZIUM_AVRO))],
]
"""The schemas that land with each batch."""

LOADS: dict[str, Any] = {"format": "full_loads", "key": ["id"], "load_column": "load_day"}
DAY = [dt.date(2026, 1, day) for day in range(1, 8)]

CASES: Sequence[Case] = [
    Case(
        Entry("postgres", DEBEZIUM | {"connector": "postgresql", "position": POSITION}, COLUMNS, ALL),
        KAFKA,
        _of_postgres(),
        {
            ("accepted", None): 13,
            ("ignored", "tombstone"): 1,
            ("ignored", "operation_ignored"): 1,
            ("rejected", "message_malformed"): 1,
            ("rejected", "unknown_operation"): 1,
        },
        [
            {(2, "large text", "2.50"), (4, "was the third", "1.50"), (7, "committed after the snapshot", "1.50")},
            {(5, "fifth", "1.50")},
        ],
        shown="id, name, cast(amount as string)",
    ),
    Case(
        Entry("mysql", DEBEZIUM | {"connector": "mysql", "table": "orders", "images": "full"}, COLUMNS, ALL),
        KAFKA,
        _of_mysql(),
        {("accepted", None): 7},
        [{(7, "the key of an update")}] * 2,
    ),
    Case(
        Entry("sqlserver", DEBEZIUM | {"connector": "sqlserver", "layout": "columns"}, COLUMNS, ALL),
        {"op": "string", "source": SOURCE, "before": IMAGE, "after": IMAGE},
        [
            [
                of_structs("r", 1, None, "null", None, (1, "read", "1")),
                of_structs("u", 3, 2, 2, (1, "read", "1"), (1, "second in its commit", "1")),
                of_structs("u", 3, 1, 2, (1, "read", "1"), (1, "first in its commit", "1")),
                of_structs("c", 4, 1, 1, None, (2, TOAST, "1")),
                of_structs("c", 4, 2, 1, None, (3, "x", "1")),
                of_structs("d", 5, 1, 1, (3, "x", "1"), None),
            ],
            [],
        ],
        {("accepted", None): 6},
        [{(1, "second in its commit"), (2, None)}] * 2,
    ),
    Case(
        Entry("flattened", DEBEZIUM | {"connector": "postgresql", "layout": "flattened"}, COLUMNS, ALL),
        LANDED
        # numbers with places, and times as texts: of a converter, and of a floating-point number
        | {"__op": "string", "__deleted": "string", "__source_lsn": "decimal(38,10)", "__source_ts_ms": "string"}
        | {"__source_sequence": "string", "__source_snapshot": "string"},
        [
            [
                [1, "first", "1.5", "c", "false", 1, f"{MILLIS}", None, "false"],
                [1, TOAST, "2.5", "u", "false", 2, f"{MILLIS + 1}", None, "false"],
                [2, "second", "1", "c", "false", 3, f"{MILLIS}", None, "false"],
                [2, None, None, None, "True", 10, f"{MILLIS}", None, "false"],
                [1, "never", "5", None, "gone", 10, f"{MILLIS}", None, "false"],
                [3, "third", "3", "c", "false", 11, "2026-01-31T12:00:00.002Z", None, "false"],
                [4, "fourth", "4", "c", "false", 12, "1.769860800003E12", None, "false"],
                *([1, "never", "5", "u", "false", 13, time, None, "false"] for time in ("soon", "12:00:00", "9" * 20)),
            ],
            [],
        ],
        {("accepted", None): 6, ("rejected", "value_does_not_fit"): 3, ("rejected", "unknown_operation"): 1},
        [
            {
                (1, "first", "2.50", "2026-01-31 12:00:00.001"),
                (3, "third", "3.00", "2026-01-31 12:00:00.002"),
                (4, "fourth", "4.00", "2026-01-31 12:00:00.003"),
            }
        ]
        * 2,
        shown="id, name, cast(amount as string), cast(_changed_at as string)",
    ),
    Case(
        Entry("dms", DMS, COLUMNS, ALL),
        DMS_LANDED,
        [
            [
                dms("I", None, 1, "loaded", "1"),
                dms(None, None, 2, "loaded without Op", "1"),
                dms("", None, 6, "loaded with an empty Op", "1"),
                dms("U", 2, 1, "changed", "1", before=[1]),
                dms("I", 3, 3, "third", "1"),
                dms("U", None, 1, "a change without its sequence", "1"),
                dms("U", 4, 4, "moved", "1", before=[3]),
                dms("I", None, 5, "?", "1", sequence="12-34"),
            ],
            [dms("D", 5, 2, "loaded without Op", "1")],
        ],
        {("accepted", None): 7, ("rejected", "change_seq_missing"): 1, ("rejected", "change_seq_malformed"): 1},
        [
            {(1, "changed"), (2, "loaded without Op"), (4, "moved"), (6, "loaded with an empty Op")},
            {(1, "changed"), (4, "moved"), (6, "loaded with an empty Op")},
        ],
    ),
    # a part of the key that is null moves as any other
    Case(
        Entry("dms_null_key", DMS | {"key": ["id", "name"]}, COLUMNS, ALL),
        DMS_LANDED | {"BI_name": "string"},
        [
            [
                dms("I", 1, 1, None, "1", before=[None, None]),
                dms("I", 2, 2, "named", "1", before=[None, None]),
                dms("U", 3, 1, "named", "1", before=[1, None]),
                dms("U", 4, 2, None, "1", before=[2, "named"]),
            ],
            [dms("D", 5, 2, None, "1", before=[None, None])],
        ],
        {("accepted", None): 5},
        [{(1, "named"), (2, None)}, {(1, "named")}],
    ),
    Case(
        Entry("goldengate", GOLDENGATE | {"table": "APP.ORDERS"}, COLUMNS, ALL),
        KAFKA,
        _of_goldengate(),
        {
            ("accepted", None): 8,
            ("rejected", "unknown_operation"): 1,
            ("rejected", "change_seq_missing"): 1,
            ("rejected", "change_seq_malformed"): 1,
            ("rejected", "key_missing"): 1,
            ("rejected", "data_missing"): 1,
            ("rejected", "value_does_not_fit"): 1,
        },
        [{(1, "only the name", "99999999.99"), (3, "moved", "1.50")}, {(6, "after the truncate", "1.50")}],
        shown="id, name, cast(amount as string)",
    ),
    Case(
        Entry("goldengate_cased", GOLDENGATE | {"column_names": "ignore_case"}, COLUMNS, ALL),
        KAFKA,
        _of_goldengate_in_capitals(),
        {("accepted", None): 4},
        [{(1, "first", "2.50"), (2, None, "2.50")}] * 2,
        shown="id, name, cast(amount as string)",
    ),
    Case(
        Entry("goldengate_rows", GOLDENGATE | {"layout": "row"}, COLUMNS, ALL),
        KAFKA,
        _of_goldengate_rows(),
        {("accepted", None): 5},
        [{(1, "only the name", "0.10"), (3, "was the second", "1.50")}] * 2,
        shown="id, name, cast(amount as string)",
    ),
    Case(
        Entry(
            "goldengate_avro",
            GOLDENGATE | {"table": "APP.ORDERS", "avro_schema": json.dumps(AVRO)},
            COLUMNS | {"document": "binary"},
            ALL,
        ),
        KAFKA | {"value": "binary"},
        _of_goldengate_avro(),
        {("accepted", None): 4, ("rejected", "message_malformed"): 6, ("ignored", "tombstone"): 1},
        [{(1, None, "1.50", "0161626364")}] * 2,
        shown="id, name, cast(amount as string), hex(document)",
    ),
    # the table has got a column, others have another order and type: each message is read with its own schema
    Case(
        Entry(
            "goldengate_registry",
            GOLDENGATE | {"table": "APP.ORDERS", "registry": "registry"},
            COLUMNS | {"document": "binary", "added": "string"},
            ALL,
        ),
        KAFKA | {"value": "binary"},
        _of_goldengate_registry(),
        {
            ("accepted", None): 4,
            # it can be of any table; one of another table waits no longer
            ("waiting", "schema_missing"): 1,
            ("rejected", "schema_malformed"): 1,
            ("rejected", "message_malformed"): 2,
            ("ignored", "tombstone"): 1,
        },
        [
            {(1, None, "1.50", "0161626364", None)},
            {(1, None, "3.00", "0161626364", "late"), (2, "first", "2.50", "0161626364", "new")},
        ],
        shown="id, name, cast(amount as string), hex(document), added",
    ),
    Case(
        Entry(
            "debezium_registry",
            DEBEZIUM | {"connector": "postgresql", "registry": "registry", "position": POSITION},
            COLUMNS | {"document": "binary"},
            ALL,
        ),
        KAFKA | {"value": "binary"},
        _of_debezium_registry(),
        {("accepted", None): 4, ("waiting", "schema_missing"): 1, ("ignored", "tombstone"): 1},
        [{(1, "first", "2.50", "0161626364")}, {(1, "waits", None, None)}],
        shown="id, name, cast(amount as string), hex(document)",
    ),
    Case(
        Entry("loads", LOADS, {"id": "bigint", "name": "string"}, ALL),
        {"load_day": "date", "id": "bigint", "name": "string"},
        [
            [
                [DAY[1], 1, "Ann"],
                [DAY[1], 2, "Bob"],
                [DAY[1], 3, "Cyn"],
                [DAY[2], 1, "Ann"],
                [DAY[2], 2, "Bobby"],
                [DAY[2], 4, "Dan"],
            ],
            # one row of the three that there were; then two, so that the first and the last are compared
            [[DAY[3], 1, "Anna"], [DAY[4], 1, "Ann"], [DAY[4], 4, "Dan"]],
        ],
        # two deletes are no raw rows
        {("accepted", None): 5 + 2, ("ignored", "row_unchanged"): 3, ("rejected", "load_not_whole"): 1},
        [{(1, "Ann"), (2, "Bobby"), (4, "Dan")}, {(1, "Ann"), (4, "Dan")}],
        landed_as="delta",
    ),
    # the last load of the first batch is not whole, and the second one has a load that belongs before it
    Case(
        Entry("loads_late", LOADS | {"load_column": "_raw_id"}, {"id": "bigint", "name": "string"}, ALL),
        {"_raw_id": "date", "id": "bigint", "name": "string"},
        [
            [*([day, id_, "a"] for day in (DAY[1], DAY[3]) for id_ in range(1, 5)), [DAY[5], 1, "a"]],
            [[day, id_, "b" if id_ == 1 else "a"] for day in (DAY[4], DAY[6]) for id_ in range(1, 4)],
        ],
        # a delete is no raw row
        {("accepted", None): 4 + 1 + 1, ("ignored", "row_unchanged"): 4 + 2 + 3, ("rejected", "load_not_whole"): 1},
        [{(id_, "a") for id_ in range(1, 5)}, {(1, "b"), (2, "a"), (3, "a")}],
        landed_as="delta",
    ),
    # the same row in two loads is two raw rows, also where the load is what says how rows arrive
    Case(
        Entry("loads_by_column", LOADS | {"arrival": "load_day"}, {"id": "bigint", "name": "string"}, ALL),
        {"load_day": "date", "id": "bigint", "name": "string"},
        [
            [*([DAY[1], id_, "a"] for id_ in (1, 2, 3)), [DAY[2], 1, "a"]],
            [[DAY[3], 1, "a"], [DAY[3], 2, "a"]],
        ],
        # a delete is no raw row
        {("accepted", None): 3 + 1, ("ignored", "row_unchanged"): 2, ("rejected", "load_not_whole"): 1},
        [{(1, "a"), (2, "a"), (3, "a")}, {(1, "a"), (2, "a")}],
        landed_as="delta",
    ),
    Case(
        Entry(
            "loads_in_pieces", LOADS | {"load_column": "load", "least_share": 0.3, "whole_loads": ["5"]}, COLUMNS, ALL
        ),
        {"load": "int"} | LANDED | {"id": "string"},
        [
            [
                [1, "1", "a", "1"],
                [1, "1", "a", "1.00"],
                [1, "2", "b", "1"],
                [1, "3", "c", "1"],
                [1, None, "no key", "1"],
                [1, "x", "a key that does not fit", "1"],
                [2, "1", "a", "1"],
                [2, "2", "not a number, so it is as it was", "?"],
                [None, "1", "of no load", "1"],
                [-1, "1", "of a load below 0", "1"],
            ],
            # the rest of load 2, which takes a delete back; two rows of one key; a load that is not whole, and one that
            # is, since the entry says so
            [
                [2, "3", "c", "1"],
                [2, "4", "d", "1"],
                [2, "4", "e", "1"],
                [4, "1", "z", "1"],
                [5, "4", "e", "1"],
            ],
        ],
        {
            # of the first load, the second and the fifth; keys 1, 2 and 3 end in the last one
            ("accepted", None): 4 + 2 + 1 + 3,
            ("ignored", "row_unchanged"): 2,
            ("rejected", "load_not_whole"): 1,
            ("rejected", "key_missing"): 1,
            ("rejected", "value_does_not_fit"): 2,
            ("rejected", "change_seq_missing"): 1,
            ("rejected", "change_seq_malformed"): 1,
        },
        [{(1, "a"), (2, "b")}, {(4, "e")}],
        reported={("00000000000000000002:4", "conflicting_content")},
    ),
]
