"""Small hand-made topics of Qlik's messages, by the format page: what lands in two batches, and what comes of it."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from demo.writers.avro import encode, envelope

from .cases import Case
from .consumer import Entry

AT = dt.datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=dt.UTC)
RECORD = {
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "key": "binary",
    "value": "binary",
}
TEXT_RECORD = RECORD | {"key": "string", "value": "string"}
COLUMNS = {"id": "bigint", "name": "string", "amount": "decimal(10,2)"}
SPEC = {"format": "qlik_kafka", "key": ["id"]}
OPERATIONS = {"R": "REFRESH", "I": "INSERT", "U": "UPDATE", "D": "DELETE"}


def seq(number: int) -> str:
    """A changeSequence of 35 digits."""
    return f"2026013112000025{number:019d}"


def body(
    operation: str | None,
    number: int | str | None,
    data: Mapping[str, Any] | None,
    before: Mapping[str, Any] | None = None,
    **headers: Any,
) -> dict[str, Any]:
    """A data message without envelope; a header that is given replaces the usual one."""
    sequence = seq(number) if isinstance(number, int) else number
    told = {
        "operation": OPERATIONS.get(operation, operation) if operation else None,
        "changeSequence": "" if operation == "R" else sequence,
        "timestamp": "2026-01-31T12:00:00.250",
        "streamPosition": "0:1",
        "transactionId": "00AB",
        "changeMask": None,
        "columnMask": None,
    }
    return {"data": data, "beforeData": before, "headers": told | headers}


def enveloped(message: Mapping[str, Any], schema_id: str | None = None, kind: str = "DT") -> dict[str, Any]:
    """A message in its envelope."""
    return {
        "magic": "atMSG",
        "type": kind,
        "headers": None,
        "messageSchemaId": schema_id,
        "messageSchema": None,
        "message": message,
    }


def metadata(
    schema_id: str, table: str, columns: Sequence[str], version: int = 1, schema: str = "app"
) -> dict[str, Any]:
    """A metadata message without envelope; the first column is the key."""
    return {
        "schemaId": schema_id,
        "lineage": {
            "server": "replicate",
            "task": "shop",
            "schema": schema,
            "table": table,
            "tableVersion": version,
            "timestamp": "2026-01-31T11:00:00.000",
        },
        "tableStructure": {
            "tableColumns": {
                name: {
                    "ordinal": place + 1,
                    "type": "STRING",
                    "length": 20,
                    "precision": 0,
                    "scale": 0,
                    "primaryKeyPosition": int(place == 0),
                }
                for place, name in enumerate(columns)
            }
        },
        "dataSchema": "{}",
    }


def row(id_: Any, name: Any = "", amount: Any = "1.50") -> dict[str, Any]:
    """A row with every column."""
    return {"id": id_, "name": name, "amount": amount}


def avro_schema(columns: Sequence[str], name: str = "DataRecord") -> dict[str, Any]:
    """The schema of data messages with these columns: the key a long, the amount a decimal, the others texts."""
    types: dict[str, Any] = {
        "id": "long",
        "amount": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
    }
    fields = [{"name": column, "type": ["null", types.get(column, "string")]} for column in columns]
    headers = {
        "operation": "string",
        "changeSequence": "string",
        "timestamp": "long",
        "transactionId": "string",
        "changeMask": ["null", "bytes"],
        "columnMask": ["null", "bytes"],
    }
    told = [{"name": header, "type": type_} for header, type_ in headers.items()]
    data = {"type": "record", "name": "Data", "fields": fields}
    parts = {
        "data": ["null", data],
        "beforeData": ["null", "Data"],
        "headers": {"type": "record", "name": "Headers", "fields": told},
    }
    return {"type": "record", "name": name, "fields": [{"name": part, "type": type_} for part, type_ in parts.items()]}


def avro_record(message: Mapping[str, Any], columns: Sequence[str]) -> bytes:
    """A data message in Avro, without envelope."""

    def values(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if row is None:
            return None
        return {name: Decimal(value) if name == "amount" and value else value for name, value in row.items()}

    headers = message["headers"]
    masks = {name: headers[name] and bytes.fromhex(headers[name]) for name in ("changeMask", "columnMask")}
    at = int(dt.datetime.fromisoformat(f"{headers['timestamp']}+00:00").timestamp() * 1_000_000)
    rows = {"data": values(message["data"]), "beforeData": values(message["beforeData"])}
    return encode(avro_schema(columns), {**rows, "headers": {**headers, **masks, "timestamp": at}})


def in_avro(message: Mapping[str, Any], schema_id: str, columns: Sequence[str], *, embedded: bool = False) -> bytes:
    """A data message in Avro and its envelope, which has the id of its schema, or the schema."""
    record = avro_record(message, columns)
    if embedded:
        return envelope(record, "DT", schema=json.dumps(avro_schema(columns)))
    return envelope(record, "DT", schema_id)


def prefixed(schema_id: int, message: Mapping[str, Any], columns: Sequence[str] | None = None) -> bytes:
    """A data message after the prefix of a schema registry: in Avro, or without columns in JSON."""
    record = json.dumps(message).encode() if columns is None else avro_record(message, columns)
    return b"\0" + schema_id.to_bytes(4, "big") + record


class Topic:
    """Numbers the records of one topic's partition."""

    def __init__(self, name: str = "orders", partition: int = 0, text: bool = False) -> None:
        self.name = name
        self.partition = partition
        self.offset = -1
        self.text = text

    def record(self, message: Mapping[str, Any] | str | bytes | None) -> list[Any]:
        """A record with the next offset."""
        self.offset += 1
        value: Any = message
        if isinstance(message, Mapping):
            value = json.dumps(message)
        if not self.text and isinstance(value, str):
            value = value.encode()
        return [self.name, self.partition, self.offset, AT, None, value]

    def records(self, *messages: Mapping[str, Any] | str | bytes | None) -> list[list[Any]]:
        """Records in turn."""
        return [self.record(message) for message in messages]


_orders = Topic()
_texts = Topic(text=True)
_versions = Topic()
_avro = Topic()
_registered = Topic("registered")
_prefixed = Topic("prefixed")
_cased = Topic("cased")
_reloaded = Topic("shop.orders")
_columned = Topic("columned")
_composite = Topic("composite")
_held = Topic("held")
_of_files = Topic("files")
_other = Topic("held", partition=1)
_made_anew = Topic("t")

V1, V2 = ["id", "amount", "name"], ["id", "added", "name", "amount"]
LARGE_ID = 4_000_000_000
"""The id of a schema that does not fit into four bytes with a sign."""
_ELSEWHERE = avro_schema(V1) | {"fields": [{"name": "data", "type": "app.Data"}]}
REGISTRY: list[list[dict[str, Any] | None]] = [
    [
        {"subject": "app.orders-value", "version": 1, "id": 7, "schema": json.dumps(avro_schema(V1))},
        {"subject": "app.lines-value", "version": 1, "id": 7, "schema": json.dumps(avro_schema(V1))},
        {"subject": "app.orders-value", "version": 2, "id": 10, "schema": json.dumps(_ELSEWHERE)},
        {"subject": "app.orders-value", "version": 3, "id": 11, "schema": "{"},
        {"subject": "app.orders-value", "version": 4},
        {"subject": "app.orders-value", "id": 12},
        None,
    ],
    [{"subject": "app.orders-value", "version": 5, "id": LARGE_ID, "schema": json.dumps(avro_schema(V2))}],
]
"""The messages that land in the registry's topic with each batch."""


def schema_in(schema_id: str, columns: Sequence[str]) -> dict[str, Any]:
    """A metadata message that has the Avro schema of its data messages."""
    return metadata(schema_id, "orders", columns) | {"dataSchema": json.dumps(avro_schema(columns))}


DIGITS = {21: "12345678901234567.89", 22: "1.10", 23: "-0", 24: "1e400", 25: "5E+2", 26: "0", 27: "7", 28: "-1.0"}
"""Numbers that JSON readers write otherwise, by the id of their row."""


def _with_digits(message: Any, digits: str, instead: str = "…") -> str:
    """A message with a number as it is written, instead of a text."""
    text = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
    return text.replace(f'"{instead}"', digits)


def _with_another_column(*messages: Any) -> list[list[Any]]:
    """Records of texts, with a value in the further column."""
    return [[*record, "of the job that lands"] for record in _texts.records(*messages)]


CASES = [
    Case(
        Entry("whole_topic", SPEC | {"topic": "orders"}, COLUMNS),
        RECORD,
        [
            [
                *_orders.records(
                    body("R", None, row(1, "loaded")),
                    enveloped(body("R", None, row(1, "loaded again"))),
                    body("R", None, row(2, "loaded"), timestamp="", transactionId=""),
                    body("U", 10, row(2, "updated")),
                    enveloped(body("I", 20, row(3, "inserted"))),
                    body("I", 20, row(3, "inserted")),
                    body("U", 30, row(4, "moved"), row(3, "inserted")),
                    body("I", 40, row(5, "gone")),
                    body("D", 50, row(5, "gone")),
                    body("I", 60, row(6, "gone")),
                    body("D", 70, None, row(6, "gone")),
                    None,
                    enveloped(metadata("m1", "orders", list(COLUMNS)), kind="MD"),
                    metadata("m1", "orders", list(COLUMNS)),
                    "",
                    "no JSON",
                    '{"data": {"id": 1}, "headers"',
                    '{"data": {"id": 1}} and more',
                    '{"data": [1], "headers": {"operation": "INSERT"}}',
                    b'{"data": {"id": 1, "name": "\xff"}}',
                    enveloped(body("U", 80, row(2, "of a type that is none")), kind="XX"),
                    body("X", 80, row(2, "no operation")),
                    body(None, 80, row(2, "no operation")),
                    body("insert", 80, row(2, "no operation")),
                    body("U", None, row(2, "no sequence")),
                    body("U", "", row(2, "no sequence")),
                    body("U", "2026", row(2, "short")),
                    body("U", seq(1)[:-1] + "x", row(2, "no digit")),
                    body("U", 80, None),
                    body("I", 80, None, row(2, "only before")),
                    body("D", 80, None),
                    body("U", 80, row(None, "no key")),
                    body("U", 80, row("x", "no number")),
                    body("U", 80, row(2, "too fine", "1.505")),
                    body("U", 80, row(2, "x"), row("y", "x")),
                    body("U", 80, row(2, "when?"), timestamp="yesterday"),
                    body("U", 80, row(2, "mask"), changeMask="0G"),
                    body("U", 80, row(2, "mask"), columnMask="-1"),
                    body("U", 90, row(2, "blank"), timestamp="2026-01-31 12:00:00.250"),
                    json.dumps(body("U", 91, row(2, "a line"))) + "\r\n",
                    # names in another case than declared; one that is not declared in any case
                    body("U", 92, {"id": 2, "NAME": "in capitals"}),
                    body("U", 92, row(2, "two names") | {"Name": "which?"}),
                    body("U", 92, row(2, "moved"), {"ID": 1}),
                    body("D", 92, None, row(2) | {"AMOUNT": None}),
                    body("U", 91, row(2, "a line") | {"further": "x"}),
                ),
                *Topic("others").records(body("I", 10, row(9, "of another topic"))),
            ],
            [
                *_orders.records(
                    body("U", 45, row(5, "late, before its delete")),
                    body("I", 20, row(3, "inserted")),
                    body("U", 95, {"id": 2}, changeMask="00"),
                    body("U", 100, {"amount": "7.00"}, {"id": 4}),
                    # digits that a double does not keep, and a null where only the row before has such
                    json.dumps(body("I", 110, row(8, "digits", 0))).replace(": 0}", ": 12345678.5000000}"),
                    json.dumps(body("U", 120, row(8, "none", None), row(8, "digits", 0))).replace(
                        ": 0}", ": 12345678.5000000}"
                    ),
                    # what looks like text after the object, and what is
                    body("I", 130, row(9, 'a } b}, c"d}{')),
                    json.dumps(body("I", 140, row(10))) + " and more}",
                    # half a character is none; two halves are one, and what only looks like a half is a text
                    json.dumps(body("U", 125, row(9, "half \ud83d"))),
                    json.dumps(body("U", 125, row(9, "\N{GRINNING FACE}\udfff"))),
                    json.dumps(body("I", 145, row(12, "\N{GRINNING FACE} \\ud800"))),
                    json.dumps(body("I", 140, row(10))) + ", " + json.dumps(body("I", 150, row(11))),
                    # one name twice: neither value is known to be the row's
                    json.dumps(body("U", 160, row(2, "one"))).replace('"one"', '"one", "name": "other"'),
                    json.dumps(body("D", 170, None, row(2))).replace('"id": 2', '"id": 2, "id": 4'),
                ),
            ],
        ],
        {
            ("accepted", None): 22,
            ("ignored", "tombstone"): 1,
            ("ignored", "metadata"): 2,
            ("rejected", "message_malformed"): 11,
            ("rejected", "unknown_operation"): 3,
            ("rejected", "change_seq_missing"): 2,
            ("rejected", "change_seq_malformed"): 2,
            ("rejected", "data_missing"): 3,
            ("rejected", "key_missing"): 1,
            ("rejected", "column_not_declared"): 4,
            ("rejected", "column_names_collide"): 2,
            ("rejected", "value_does_not_fit"): 4,
            ("rejected", "change_mask_malformed"): 1,
            ("rejected", "column_mask_malformed"): 1,
        },
        [
            {(1, "loaded again", "1.50"), (2, "a line", "1.50"), (4, "moved", "1.50")},
            {
                (1, "loaded again", "1.50"),
                (2, "a line", "1.50"),
                (4, "moved", "7.00"),
                (8, "none", None),
                (9, 'a } b}, c"d}{', "1.50"),
                (12, "\N{GRINNING FACE} \\ud800", "1.50"),
            },
        ],
        shown="id, name, cast(amount as string)",
    ),
    Case(
        Entry("of_files", SPEC | {"arrival": "files", "hold_open_transactions": True}, COLUMNS),
        RECORD,
        [
            _of_files.records(
                body("I", 10, row(1, "whole"), transactionEventCounter="1", transactionLastEvent="true"),
                body("I", 20, row(2, "open"), transactionId="00AC", transactionEventCounter="1.0"),
                # not known to be whole, and applied before it was
                body("U", 30, row(1, "open"), transactionId="00AD", transactionEventCounter="first"),
            ),
            _of_files.records(
                body(
                    "U",
                    21,
                    row(1, "the rest"),
                    transactionId="00AC",
                    transactionEventCounter="2",
                    transactionLastEvent="true",
                ),
            ),
        ],
        {("accepted", None): 3, ("rejected", "value_does_not_fit"): 1},
        [{(1, "whole")}, {(1, "the rest"), (2, "open")}],
        landed_as="parquet",
    ),
    Case(
        Entry("masks", SPEC | {"arrival": "offset"}, COLUMNS),
        TEXT_RECORD | {"_raw_id": "string"},  # not read
        [
            _with_another_column(
                body("I", 10, row(1, "a", "1.00")),
                body("I", 11, row(2, "b", "2.00")),
                # bit 1 is the name: its null is a null; the amount's null was not captured
                body("U", 20, row(1, None, None), columnMask="03", changeMask="02"),
                # of any width, bits past the last column, and a value beats the mask
                body("U", 21, row(2, None, "3.00"), columnMask="0xFF01", changeMask="FC"),
                body("I", 30, {"id": 3, "name": "c"}, columnMask="03"),
            ),
            _with_another_column(
                body("U", 40, {"id": 3, "name": None}, columnMask="0000"),
                body("U", 41, {"id": 3, "amount": "4.00"}, columnMask=""),
                body("U", 42, {"id": 9, "name": "no base"}),
                body("U", 43, row(7, "moved"), changeMask="01"),
                # numbers in a text keep their digits
                *(_with_digits(body("I", 50, row(id_, "…")), digits) for id_, digits in DIGITS.items()),
                _with_digits(_with_digits(body("U", 60, row(22, "…"), row(22, "……")), "1.1"), "1.10", "……"),
            ),
        ],
        {("accepted", None): 10 + len(DIGITS)},
        [
            {(1, None, "1.00"), (2, "b", "3.00"), (3, "c", None)},
            {(1, None, "1.00"), (2, "b", "3.00"), (3, "c", "4.00"), (7, "moved", "1.50")}
            | {(id_, digits, "1.50") for id_, digits in (DIGITS | {22: "1.1"}).items()},
        ],
        shown="id, name, cast(amount as string)",
        reported={(f"{seq(42)}:U:9", "orphan"), (f"{seq(43)}:U:7", "key_move_without_before")},
    ),
    Case(
        Entry("versions", SPEC, COLUMNS | {"added": "string"}),
        RECORD,
        [
            _versions.records(
                enveloped(metadata("v1", "orders", ["id", "amount", "name"]), kind="MD"),
                enveloped(body("I", 10, row(1, "a") | {"added": "x"}), "v1"),
                # by v1, ordinal 3 is the name; by the declared order it would be the amount
                enveloped(body("U", 20, row(1, None, None), columnMask="05", changeMask="04"), "v1"),
                enveloped(metadata("v2", "orders", ["id", "added", "name", "amount"], version=2), kind="MD"),
                enveloped(body("I", 30, row(2, "b") | {"added": "y"}), "v2"),
                enveloped(body("U", 40, row(2, None, None) | {"added": None}, columnMask="03", changeMask="02"), "v2"),
            ),
            _versions.records(
                body("U", 50, row(2, "c", None) | {"added": None}, columnMask="08", externalSchemaId="v2"),
                body("U", 60, row(1, "d", None) | {"added": None}, columnMask="08", externalSchemaId="unseen"),
            ),
        ],
        {("accepted", None): 6, ("ignored", "metadata"): 2},
        [
            {(1, None, "1.50", "x"), (2, "b", "1.50", None)},
            {(1, "d", "1.50", None), (2, "c", None, None)},
        ],
        shown="id, name, cast(amount as string), added",
    ),
    Case(
        Entry("avro", SPEC | {"serialization": "avro"}, COLUMNS | {"added": "string"}),
        RECORD,
        [
            _avro.records(
                # of a schema that lands with the next batch
                in_avro(body("I", 5, row(3, "waits") | {"added": "z"}), "v2", V2),
                envelope(json.dumps(schema_in("v1", V1)).encode(), "MD"),
                in_avro(body("I", 10, row(1, "a")), "v1", V1),
                in_avro(body("U", 20, row(1, None, None), columnMask="05", changeMask="04"), "v1", V1),
                in_avro(body("D", 25, None, row(4, "never there")), "v1", V1),
                envelope(b"cut", "DT", "v1"),
                envelope(b"", "XX"),
                b"no envelope",
                None,
            ),
            _avro.records(
                envelope(json.dumps(schema_in("v2", V2)).encode(), "MD"),
                in_avro(body("I", 30, row(2, "b") | {"added": "y"}), "v2", V2),
                in_avro(
                    body("U", 40, row(2, None, None) | {"added": None}, columnMask="03", changeMask="02"), "v2", V2
                ),
                in_avro(body("U", 50, row(1, "e", "9.99") | {"added": "w"}), "", V2, embedded=True),
                in_avro(body("I", 60, row(9, "of a schema that never lands")), "v9", V1),
                in_avro(body("U", 70, {"id": 2, "NAME": "in capitals"}), "", ["id", "NAME"], embedded=True),
            ),
        ],
        {
            ("accepted", None): 7,
            ("ignored", "metadata"): 2,
            ("ignored", "tombstone"): 1,
            ("rejected", "message_malformed"): 3,
            ("rejected", "column_not_declared"): 1,
            ("waiting", "schema_missing"): 1,
        },
        [
            {(1, None, "1.50", None)},
            {(1, "e", "9.99", "w"), (2, "b", "1.50", None), (3, "waits", "1.50", "z")},
        ],
        shown="id, name, cast(amount as string), added",
    ),
    # the schemas of REGISTRY, and words of a transformation; bits of masks count the fields of the message's schema
    Case(
        Entry(
            "registered",
            SPEC
            | {"serialization": "avro", "registry": "registry"}
            | {"operations": {"LOAD": "snapshot", "C": "insert", "change": "update", "GONE": "delete"}},
            COLUMNS | {"added": "string"},
        ),
        RECORD,
        [
            _registered.records(
                prefixed(LARGE_ID, body("I", 5, row(3, "waits") | {"added": "z"}), V2),
                prefixed(7, body("LOAD", "", row(1, "loaded")), V1),
                prefixed(7, body("R", None, row(4, "loaded")), V1),
                prefixed(7, body("change", 10, row(1, None, None), columnMask="05", changeMask="04"), V1),
                prefixed(7, body("C", 20, row(2, "b")), V1),
                prefixed(7, body("GONE", 30, None, row(4, "loaded")), V1),
                prefixed(7, body("changed", 40, row(2, "no operation")), V1),
                prefixed(7, body("U", 40, row(2, "cut")), V1)[:-1],
                prefixed(7, body("U", 40, row(2, "longer")), V1) + b"\0",
                prefixed(10, body("U", 40, row(2, "refers to another subject")), V1),
                prefixed(11, body("U", 40, row(2, "no schema")), V1),
                prefixed(12, body("U", 40, row(2, "of a schema that never lands")), V1),
                in_avro(body("C", 50, row(5, "in an envelope")), "", V1, embedded=True),
                in_avro(body("C", 50, row(5, "of the metadata with this id")), "7", V1),
                b"\0\0\0\0\7",
                None,
            ),
            _registered.records(
                prefixed(LARGE_ID, body("change", 60, row(2, "c", None) | {"added": None}, columnMask="08"), V2),
            ),
        ],
        {
            ("accepted", None): 8,
            ("ignored", "tombstone"): 1,
            ("rejected", "message_malformed"): 3,
            ("rejected", "schema_malformed"): 2,
            ("rejected", "unknown_operation"): 1,
            ("waiting", "schema_missing"): 2,
        },
        [
            {(1, None, "1.50", None), (2, "b", "1.50", None), (5, "in an envelope", "1.50", None)},
            {
                (1, None, "1.50", None),
                (2, "c", None, None),
                (3, "waits", "1.50", "z"),
                (5, "in an envelope", "1.50", None),
            },
        ],
        shown="id, name, cast(amount as string), added",
    ),
    Case(
        Entry("prefixed", SPEC | {"serialization": "json_with_prefix"}, COLUMNS),
        RECORD,
        [
            _prefixed.records(
                prefixed(LARGE_ID, metadata("p1", "orders", ["id", "amount", "name"])),
                prefixed(7, body("I", 10, row(1, "a"))),
                prefixed(LARGE_ID, body("U", 20, row(1, None, None), columnMask="04", externalSchemaId="p1")),
                body("I", 30, row(2, "without a prefix")),
                prefixed(7, {})[:5],
            ),
            [],
        ],
        {("accepted", None): 3, ("ignored", "metadata"): 1, ("rejected", "message_malformed"): 1},
        [{(1, None, "1.50"), (2, "without a prefix", "1.50")}] * 2,
        shown="id, name, cast(amount as string)",
    ),
    Case(
        Entry(
            "held",
            SPEC | {"topic": "held", "table": "app.orders", "hold_open_transactions": True},
            COLUMNS,
            identifier="shared",
        ),
        RECORD,
        [
            [
                *_held.records(
                    body("I", 10, row(1, "whole"), schema="app", table="orders", transactionEventCounter=1),
                    body(
                        "I",
                        20,
                        row(2, "open"),
                        schema="app",
                        table="orders",
                        transactionId="T2",
                        transactionEventCounter=1,
                    ),
                    body(
                        "I",
                        30,
                        row(3, "gap"),
                        schema="app",
                        table="orders",
                        transactionId="T3",
                        transactionEventCounter=1,
                    ),
                    body("R", None, row(8, "loaded"), schema="app", table="orders", transactionId=None),
                    body("I", 50, row(9, "of an undeclared table"), schema="app", table="others"),
                    body("I", 51, row(9, "of which table?")),
                    None,
                    "no JSON",
                    metadata("o1", "others", list(COLUMNS)),
                    enveloped(body("I", 52, row(9, "of the table of its schema")), "o1"),
                    metadata("l1", "lines", list(COLUMNS)),
                    body(
                        "I",
                        44,
                        row("x", "rejected, and an event of its transaction"),
                        schema="app",
                        table="orders",
                        transactionId="T5",
                        transactionEventCounter=2,
                    ),
                ),
                *_other.records(
                    body(
                        "I",
                        11,
                        row(1, "other"),
                        schema="app",
                        table="lines",
                        transactionEventCounter=2,
                        transactionLastEvent=True,
                    ),
                    body(
                        "I",
                        32,
                        row(3, "other"),
                        schema="app",
                        table="lines",
                        transactionId="T3",
                        transactionEventCounter=3,
                        transactionLastEvent=True,
                    ),
                    body(
                        "I",
                        40,
                        row(4, "first of its own"),
                        schema="app",
                        table="lines",
                        transactionId="T4",
                        transactionEventCounter=1,
                    ),
                    body(
                        "I",
                        42,
                        {"x": "not of our columns"},
                        schema="app",
                        table="others",
                        transactionId="T5",
                        transactionEventCounter=1,
                    ),
                ),
            ],
            [
                *_held.records(
                    body(
                        "I",
                        31,
                        row(4, "fills the gap"),
                        schema="app",
                        table="orders",
                        transactionId="T3",
                        transactionEventCounter=2,
                    ),
                    body(
                        "I",
                        41,
                        row(5, "last"),
                        schema="app",
                        table="orders",
                        transactionId="T4",
                        transactionEventCounter=2,
                        transactionLastEvent=True,
                    ),
                    body(
                        "I",
                        45,
                        row(6, "after another table"),
                        schema="app",
                        table="orders",
                        transactionId="T5",
                        transactionEventCounter=3,
                        transactionLastEvent=True,
                    ),
                ),
            ],
        ],
        {("accepted", None): 6, ("waiting", "transaction_open"): 1, ("rejected", "value_does_not_fit"): 1},
        [
            {(1, "whole"), (8, "loaded")},
            {(1, "whole"), (3, "gap"), (4, "fills the gap"), (5, "last"), (6, "after another table"), (8, "loaded")},
        ],
    ),
    Case(
        Entry("lines", SPEC | {"table": "lines"}, COLUMNS, identifier="shared"),
        None,
        [[], []],
        {("accepted", None): 3, ("ignored", "metadata"): 1},
        [{(1, "other"), (3, "other"), (4, "first of its own")}] * 2,
    ),
    Case(
        Entry("by_column", SPEC | {"table": "t1", "table_column": "tbl", "snapshot": "loaded"}, COLUMNS),
        RECORD,
        [
            _columned.records(
                body("I", 10, row(1, "mine") | {"tbl": "t1"}),
                body("I", 11, row(2, "another's") | {"tbl": "t2"}),
                body("I", 12, row(3, "whose?")),
                body("D", 13, None, row(4, "mine") | {"tbl": "t1"}),
                body("D", 14, {}, row(5, "mine") | {"tbl": "t1"}),
                '{"data": {"id": 6, "tbl": "t1"}, "headers": {"operation": "DELETE"}} {"data": {"id": 7, "tbl": "t1"}}',
            ),
            [],
        ],
        {("accepted", None): 5, ("rejected", "message_malformed"): 1},
        [{(1, "mine"), (8, "loaded")}] * 2,
    ),
    # a record that lands again is one; see the test of a topic that is made again
    Case(
        Entry("made_anew", SPEC, COLUMNS),
        RECORD,
        [[*_made_anew.records(body("R", None, row(2, "old"))) * 2], []],
        {("accepted", None): 2},
        [{(2, "old")}] * 2,
        landed_as="delta",
    ),
    Case(
        Entry("made_anew_read_whole", SPEC | {"arrival": "none"}, COLUMNS, identifier="made_anew"),
        None,
        [[], []],
        {("accepted", None): 2},
        [{(2, "old")}] * 2,
    ),
    Case(
        Entry("cased", SPEC | {"column_names": "ignore_case"}, COLUMNS),
        RECORD,
        [
            _cased.records(
                metadata("c1", "orders", ["ID", "NAME", "AMOUNT"]),
                body("I", 10, {"ID": 1, "NAME": "a", "AMOUNT": "1.00"}, externalSchemaId="c1"),
                # the null of the name is a null, that of the amount was not captured
                body(
                    "U",
                    20,
                    {"Id": 1, "Name": None, "Amount": None},
                    columnMask="03",
                    changeMask="02",
                    externalSchemaId="c1",
                ),
                body("U", 30, {"iD": 3, "further": "x"}, {"ID": 1}),
                body("U", 40, {"ID": 7}, changeMask="01", externalSchemaId="c1"),
                json.dumps(body("I", 50, {"ID": 4, "NAME": "digits", "AMOUNT": 0})).replace(
                    ": 0}", ": 12345678.5000000}"
                ),
                body("I", 60, {"id": 5, "name": "a", "NAME": "b"}),
                body("U", 70, {"id": 5, "name": "a"}, {"id": 3, "ID": 4}),
            ),
            [],
        ],
        {("accepted", None): 5, ("ignored", "metadata"): 1, ("rejected", "column_names_collide"): 2},
        [{(3, None, "1.00"), (4, "digits", "12345678.50")}] * 2,
        shown="id, name, cast(amount as string)",
        reported={(f"{seq(40)}:U:7", "orphan"), (f"{seq(40)}:U:7", "key_move_without_before")},
    ),
    # the messages of a load that was sent again, and the snapshot that the page makes of them
    Case(
        Entry("reloaded", SPEC | {"snapshot": "loaded", "snapshot_seq": seq(35)}, COLUMNS),
        RECORD,
        [
            [
                *_reloaded.records(
                    body("R", None, row(1, "of the first load")),
                    body("R", None, row(2, "of the first load")),
                    body("I", 10, row(3, "not in the load")),
                    body("U", 20, row(1, "before the load")),
                ),
                *(
                    [*record[:3], AT + dt.timedelta(hours=1), *record[4:]]
                    for record in _reloaded.records(
                        body("R", None, row(1, "sent twice")),
                        body("R", None, row(1, "loaded", None)),
                        body("R", None, row(8, "loaded", None)),
                    )
                ),
            ],
            _reloaded.records(
                body("U", 30, row(1, "late, before the load")),
                body("U", 40, {"id": 8, "amount": "2.00"}),
                body("I", 50, row(3, "after the load")),
            ),
        ],
        {("accepted", None): 12},
        [
            {(1, "loaded", None), (8, "loaded", None)},
            {(1, "loaded", None), (8, "loaded", "2.00"), (3, "after the load", "1.50")},
        ],
        shown="id, name, cast(amount as string)",
    ),
    # a part of the key that is null is sent as null; if one is missing, it is not known which row is meant
    Case(
        Entry("composite", SPEC | {"key": ["region", "id"]}, {"region": "string", "id": "bigint", "name": "string"}),
        RECORD,
        [
            _composite.records(
                body("I", 10, {"region": None, "id": 1, "name": "null in the key"}),
                body("U", 11, {"id": 1, "name": "of which region?"}),
                body("D", 12, None, {"id": 1}),
                body("U", 13, {"region": "eu", "name": "moved"}, {"region": None, "id": 1}),
            ),
            [],
        ],
        {("accepted", None): 2, ("rejected", "key_missing"): 2},
        [{("eu", 1, "moved")}] * 2,
        shown="region, id, name",
    ),
]


def flattened(spec: Mapping[str, Any]) -> Case:
    """Messages of which each field has become a column, by the page's example."""
    told = ("operation", "changeSequence", "timestamp", "transactionId")
    landed = {f"headers_{name}": "string" for name in told}
    landed |= {f"{part}_{name}": type_ for part in ("data", "beforeData") for name, type_ in COLUMNS.items()}

    def flat(*given: Any, **headers: Any) -> list[Any]:
        message = body(*given, **headers)
        rows = [message[part] or dict.fromkeys(COLUMNS) for part in ("data", "beforeData")]
        values = [[row["id"], row["name"], row["amount"] and Decimal(row["amount"])] for row in rows]
        return [*(message["headers"][name] for name in told), *values[0], *values[1]]

    return Case(
        Entry("flattened", spec, COLUMNS),
        landed,
        [
            [
                flat("U", 20, row(1, "updated"), row(1, "loaded")),
                flat("R", None, row(1, "loaded"), timestamp="", transactionId=None),
                flat("R", None, row(2, "loaded"), timestamp="", transactionId=None),
                flat("I", 30, row(3, "inserted")),
                flat("I", 30, row(3, "inserted")),
                flat("U", 40, row(4, "moved"), row(3, "inserted")),
                flat("D", 50, None, row(2, "loaded")),
                flat("X", 60, row(5, "no operation")),
                flat("U", "2026", row(5, "short")),
                flat("U", None, row(5, "no sequence")),
            ],
            [],
        ],
        {
            ("accepted", None): 7,
            ("rejected", "unknown_operation"): 1,
            ("rejected", "change_seq_malformed"): 1,
            ("rejected", "change_seq_missing"): 1,
        },
        [{(1, "updated"), (4, "moved")}] * 2,
    )


LOADED = [(1, "loaded", None), (8, "loaded", None)]
"""The snapshot of `by_column` and `reloaded`."""

UNCLAIMED_BY_COLUMN = {
    ("columned:0:1", "ignored", "table_not_declared: t2"),
    ("columned:0:2", "rejected", "table_unknown: neither headers nor metadata name the table of the message"),
}
"""The records of the raw table of `by_column` that it does not stage."""

UNCLAIMED = {
    ("held:0:4", "ignored", "table_not_declared"),
    ("held:0:5", "rejected", "table_unknown"),
    ("held:0:6", "ignored", "no_table"),
    ("held:0:7", "rejected", "table_unknown"),
    ("held:0:8", "ignored", "table_not_declared"),
    ("held:0:9", "ignored", "table_not_declared"),
    ("held:1:3", "ignored", "table_not_declared"),
}
"""The records of the shared raw table that neither `held` nor `lines` stages."""
