"""Small hand-made raw tables of feeds that an entry describes: what lands in two batches, and what comes of it."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from .cases import Case
from .consumer import Entry
from .landing import Expression

AT = dt.datetime(2026, 1, 31, 12, 0, tzinfo=dt.UTC)
COLUMNS = {"id": "bigint", "name": "string", "amount": "decimal(10,2)"}
ALL = ("stg", "dedup", "current")
WORDS = {"I": "insert", "U": "update", "D": "delete", "T": "truncate", "X": "ignore", "S": "snapshot", "P": "upsert"}

# flat rows, as a trigger or an export writes them
FLAT = {
    "format": "mapped",
    "key": ["id"],
    "operation": "action",
    "operations": WORDS,
    "sequence": [{"sql": "audit_id", "kind": "number", "length": 12}],
    "changed_at": "audited_at",
    "transaction_id": "_transaction_id",
}
FLAT_LANDED = {
    "audit_id": "bigint",
    "action": "string",
    "audited_at": "timestamp",
    "_transaction_id": "int",  # as the models call theirs
    "id": "bigint",
    "name": "string",
    "amount": "string",
}


def flat(number: int | None, action: str | None, *row: Any) -> list[Any]:
    """A raw row of the audit table."""
    return [number, action, AT, 7, *row]


MESSAGE_TYPE = "op string, ts bigint, pos string, before map<string, string>, after map<string, string>"
MESSAGES = {
    "format": "mapped",
    "key": ["id"],
    "images": "partial",
    "message": {"column": "value", "type": MESSAGE_TYPE},
    "only": "topic = 'orders'",
    "operation": "message.op",
    "operations": {"c": "insert", "u": "update", "d": "delete"},
    "sequence": [{"sql": "message.pos", "kind": "file_position"}],
    "changed_at": "timestamp_micros(try_multiply(message.ts, 1000))",
    "row": "message.After",  # Spark finds it by the type; the case of names in JSON is that of the type
    "row_before": "message.before",
    "not_captured": {"absent": True},
    "position": ["topic", "partition", "offset"],
}
MESSAGES_LANDED = {"topic": "string", "partition": "int", "offset": "bigint", "value": "binary"}


def message(offset: int, op: str | None, pos: str | None, topic: str | None = "orders", **images: Any) -> list[Any]:
    """A record with a message of this form."""
    return [topic, 0, offset, json.dumps({"op": op, "ts": 1769860800000, "pos": pos, **images}).encode()]


STRUCT = "struct<id:bigint,name:string,name_missing:string,amount:decimal(10,2)>"
STRUCTS = {
    "format": "mapped",
    "key": ["id"],
    "images": "partial",
    "operation": "kind",
    "operations": {"1": "insert", "2": "update", "3": "delete"},
    "sequence": [
        {"sql": "scn"},
        {"sql": "rs_id", "kind": "text", "length": 4},
        {"sql": "hex", "kind": "hexadecimal", "length": 4},
    ],
    "row": "new",
    "row_before": "old",
    "not_captured": {"flag": "{name}_missing"},
}
STRUCTS_LANDED = {
    "kind": "int",
    "scn": "decimal(38,10)",  # as Spark reads Oracle's numbers
    "rs_id": "string",
    "hex": "string",
    "new": STRUCT,
    "old": STRUCT,
}


def struct(id_: Any, name: Any = None, amount: Any = None, missing: str = "false") -> Expression:
    """A row as a struct."""
    shown = "null" if name is None else f"'{name}'"
    number = f"cast({amount or 'null'} as decimal(10,2))"
    return Expression(
        f"named_struct('id', cast({id_} as bigint), 'name', {shown}, 'name_missing', '{missing}', 'amount', {number})"
    )


NONE = Expression(f"cast(null as {STRUCT})")


def of_structs(kind: int, scn: float, new: Any, old: Any = NONE, rs_id: str = "0001", number: str = "a") -> list[Any]:
    """A raw row with both images."""
    values = (kind, f"{scn}BD", repr(rs_id), repr(number), new, old)
    return [value if isinstance(value, Expression) else Expression(str(value)) for value in values]


WRITTEN = {
    "id": "bigint",
    "day": "date",
    "at": "timestamp",
    "price": "decimal(10,3)",
    "large": "decimal(38,2)",
    "bytes": "binary",
}
WRITTEN_AS = {
    "day": "epoch_days",
    "at": "epoch_millis",
    "price": "base64_decimal",
    "large": "base64_decimal",
    "bytes": "base64",
}
WRITTEN_SPEC = {
    "format": "mapped",
    "key": ["id"],
    "operation": "coalesce(get_json_object(doc, '$.op'), 'I')",
    "operations": WORDS,
    "sequence": ["n"],
    "row": "doc",
}

WRITTEN_ROWS: set[tuple[Any, ...]] = {
    (1, "2026-01-31", "2026-01-31 12:00:00.123", "100.000", "-0.01", "00FF"),
    (2, "1969-12-31", "1969-12-31 23:59:59.999", "-100.000", "123456789012345678901234567890.12", None),
    (6, None, None, "0.000", "-1.28", None),
    (8, None, None, None, f"-{'9' * 36}.99", None),
}

JSON_TEXTS = {
    "format": "mapped",
    "key": ["id"],
    "operation": "action",
    "operations": WORDS,
    "sequence": ["n"],
    "row": "new",
    "row_before": "old",
}

TYPED_ROW = (
    "id: decimal(10,1), Amount: decimal(10,2), `a ratio`: double, share: float, day: date, at: timestamp, note: string,"
    " shown: decimal(10,2), flag: boolean, wave: double, nested: struct<binary_code: decimal(10,2)>,"
    " parts: array<struct<name: string, prices: map<string, decimal(10,2)>>>"
)
TYPED = {
    "format": "mapped",
    "key": ["id"],
    "images": "partial",
    "message": {
        "column": "value",
        "type": f"op string, pos bigint, lag double, old struct<id: decimal(10,1)>, row struct<{TYPED_ROW}>",
    },
    # of the entry's SQL the types are those of `type`: as a text, '900' comes after '1000', and -1 is no '-1.00'
    "only": "coalesce(greatest(message.row.amount, 1000) = 1000, true)",
    "not_captured": {"value": "-1.00"},
    "operation": "message.op",
    "operations": WORDS,
    "sequence": ["message.pos"],
    "row": "message.Row",
    "row_before": "message.old",
}
TYPED_COLUMNS = {
    "id": "bigint",
    "amount": "decimal(12,2)",
    "a ratio": "decimal(24,20)",
    "share": "decimal(12,10)",
    "day": "date",
    "at": "timestamp",
    "note": "string",
    "shown": "string",
    "flag": "int",
    "wave": "double",
    "nested": "struct<binary_code: decimal(10,2)>",
    "parts": "array<struct<prices: map<string, decimal(10,2)>, name: string>>",
}

TYPED_VALUES = (
    "0.12345678901234567890",
    "0.1234567890",
    "2026-01-31",
    "2026-01-31 12:00:00",
    "12345678901234567.890",
    "1.5",
    "1",
    "-0.0",
    "{1.50}",
    "[{{net -> 1.50}, 1.1}, null]",
)


def typed(pos: int, op: str, row: str | None, old: str = "null") -> list[Any]:
    """A message whose rows are structs of its type, with numbers as they are written here."""
    return [f'{{"op": "{op}", "pos": {pos}, "old": {old}, "row": {row or "null"}}}']


LOG_NUMBERS = {
    "format": "mapped",
    "key": ["id"],
    "operation": "action",
    "operations": WORDS,
    "sequence": ["lsn"],
}
NAMED = {"id": "bigint", "name": "string"}

CASES: Sequence[Case] = [
    Case(
        Entry("flat", FLAT, COLUMNS, ALL),
        FLAT_LANDED,
        [
            [
                flat(1, "I", 1, "first", "1.50"),
                flat(1, "I", 1, "first", "1.50"),
                flat(9, "I", 2, "second", "2"),
                flat(10, "U", 1, "tenth, not before the ninth", "1.50"),
                flat(11, "X", None, None, None),
                flat(12, "Q", 3, "?", "1"),
                flat(None, "I", 4, "no sequence", "1"),
                flat(1234567890123, "I", 4, "too long a sequence", "1"),
                flat(-1, "I", 4, "no whole number", "1"),
                flat(13, "I", None, "no key", "1"),
                flat(14, "U", 1, "does not fit", "1.555"),
                flat(15, None, 3, "?", "1"),
                flat(16, "P", 6, "upserted", "6"),
            ],
            [
                flat(20, "D", 2, None, None),
                flat(19, "U", 2, "late", "1"),
                flat(21, "S", 6, "read again", "6"),
                flat(8, "U", 1, "before the tenth", "1.50"),
            ],
        ],
        {
            ("accepted", None): 9,
            ("ignored", "operation_ignored"): 1,
            ("rejected", "unknown_operation"): 2,
            ("rejected", "change_seq_missing"): 1,
            ("rejected", "change_seq_malformed"): 2,
            ("rejected", "key_missing"): 1,
            ("rejected", "value_does_not_fit"): 1,
        },
        [
            {(1, "tenth, not before the ninth"), (2, "second"), (6, "upserted")},
            {(1, "tenth, not before the ninth"), (6, "read again")},
        ],
    ),
    Case(
        Entry("truncated", FLAT | {"arrival": "audit_id"}, COLUMNS, ALL),
        FLAT_LANDED,
        [
            # nothing else of a truncate counts: it may land with a row
            [
                *(flat(1, "I", id_, "gone", "1") for id_ in (1, 3)),
                flat(2, "T", 1, "gone", "1"),
                flat(3, "I", 2, "stays", "1"),
            ],
            [flat(4, "I", 1, "again", "1")],
        ],
        {("accepted", None): 5},
        [{(2, "stays")}, {(1, "again"), (2, "stays")}],
    ),
    Case(
        Entry("messages", MESSAGES, COLUMNS | {"amount": "decimal(20,2)"}, ALL),
        MESSAGES_LANDED,
        [
            [
                message(0, "c", "log.000009/99", after={"id": 1, "name": "a", "amount": 0.1}),
                message(1, "u", "log.000010/5", before={"id": 1}, after={"id": 1, "amount": 12345678.90}),
                message(2, "c", "log.000010/6", after={"id": 2, "name": "b", "amount": 1}),
                message(3, "u", "log.000010/7", before={"id": 2, "name": "b"}, after={"id": 3, "name": "moved"}),
                message(4, "c", "log.000010/8", topic="lines", after={"id": 9, "name": "of another table"}),
                ["orders", 0, 5, b"{not json"],
                ["orders", 0, 6, None],
                message(7, "u", "10/8", before={}, after={}),
                message(8, "u", None, after={"id": 1}),
                message(9, "u", "log/8", after={"id": 1}),
                message(10, "u", "log.000010/9", after={"name": "no key"}),
                message(11, "u", "log.000010/10", after={"ID": 1, "name": "of another case"}),
                message(15, "c", "log.000010/10", topic=None, after={"id": 1, "name": "of a table that is not known"}),
            ],
            [
                message(12, "d", "log.000010/11", before={"id": 3, "name": "moved"}, after=None),
                message(13, "d", "log.000010/12", before={"id": 8}, after={}),
                message(14, "u", "log.000010/13", after={"id": 1, "name": None}),
                ["orders", 0, 16, b'{"op": "u", "pos": "log.000010/14", "after": {"id": 1, "name": "", "name": "b"}}'],
                ["orders", 0, 17, b'{"op": "c", "pos": "l.1/1", "after": {"id": 4, "amount": 123456789012345678.91}}'],
                message(18, "u", "log.000010/15", after={"id": 1, "name": "half \ud83d"}),
            ],
        ],
        {
            ("accepted", None): 8,
            ("rejected", "message_malformed"): 2,
            ("ignored", "tombstone"): 1,
            ("rejected", "data_missing"): 1,
            ("rejected", "change_seq_missing"): 1,
            ("rejected", "change_seq_malformed"): 1,
            ("rejected", "key_missing"): 1,
            ("rejected", "column_not_declared"): 1,
            ("rejected", "column_names_collide"): 1,
            ("rejected", "table_unknown"): 1,
        },
        [
            {(1, "a", "12345678.90"), (3, "moved", "1.00")},
            {(1, None, "12345678.90"), (4, None, "123456789012345678.91")},
        ],
        shown="id, name, cast(amount as string)",
    ),
    Case(
        # Spark's JSON reader rounds to the types of a struct, and takes a date out of a time
        Entry("typed", TYPED, TYPED_COLUMNS, ALL),
        {"value": "string"},
        [
            [
                typed(
                    1,
                    "I",
                    '{"id": 1.0, "Amount": 1.5, "a ratio": 0.1234567890123456789, "share": 0.123456789, "flag": true,'
                    ' "day": "2026-01-31", "at": "2026-01-31T13:00:00+01:00", "note": 12345678901234567.890,'
                    ' "shown": 1.5, "wave": -0.0, "nested": {"binary_code": 1.5},'
                    ' "parts": [{"name": 1.10, "prices": {"net": 1.5}}, null]}',
                ),
                typed(2, "I", '{"id": 2, "note": {"b": 1, "a": 2}, "Amount": 0.1e1, "shown": "7.50", "parts": []}'),
                typed(3, "I", '{"id": 4, "Amount": 900}'),
                typed(4, "U", '{"id": 4, "Amount": -1, "note": "of the same amount"}'),
                typed(5, "U", '{"id": 1, "Amount": 5000, "note": "of another table"}'),
                typed(6, "U", '{"id": 1, "Amount": 1.555}'),
                typed(6, "U", '{"id": 1, "a ratio": 0.1234567890123456780000000000000000000001}'),
                typed(6, "U", '{"id": 1, "share": 0.12345678901}'),
                typed(6, "U", '{"id": 1, "day": "2026-01-31 12:00:00"}'),
                typed(6, "U", '{"id": 1, "day": "20484"}'),
                typed(6, "U", '{"id": 1, "at": "12:00:00"}'),
                typed(6, "U", '{"id": 1, "at": 1769860800}'),
                typed(6, "U", '{"id": 1, "parts": [{"prices": {"net": 1, "gross": 1.555}}]}'),
                typed(6, "U", '{"id": 1, "nested": {"binary_code": 1.555}}'),
                typed(6, "U", '{"id": 0.95}'),
                typed(6, "U", '{"id": 3}', '{"id": 1.04}'),
                typed(6, "D", None, '{"id": 0.96}'),
                typed(6, "U", '{"id": 1, "day": "2026-02-01", "day": "2026-02-02"}'),
                ['{"op": "U", "pos": 6, "row": {"id": 1}, "lag": NaN}'],
                typed(6, "U", None),
            ],
            [typed(7, "D", None, '{"id": 2.0}'), typed(8, "U", '{"id": 3}', '{"id": 1}')],
        ],
        {
            ("accepted", None): 6,
            ("rejected", "value_does_not_fit"): 12,
            ("rejected", "message_malformed"): 2,
            ("rejected", "data_missing"): 1,
        },
        [
            {
                (1, "1.50", *TYPED_VALUES),
                (2, "1.00", None, None, None, None, '{"b":1,"a":2}', "7.50", None, None, None, "[]"),
                (4, "900.00", None, None, None, None, "of the same amount", None, None, None, None, None),
            },
            {
                (3, None, *[None] * 10),
                (4, "900.00", None, None, None, None, "of the same amount", None, None, None, None, None),
            },
        ],
        shown=", ".join(f"cast(`{name}` as string)" if name != "id" else name for name in TYPED_COLUMNS),
    ),
    Case(
        # of a `char`, the blanks at the end do not make another value under the name before
        Entry(
            "json_texts",
            JSON_TEXTS,
            {"id": "bigint", "name": "char(9)"},
            ALL,
            column_meta={"name": {"renamed_from": "title"}},
        ),
        {"n": "int", "action": "string", "new": "string", "old": "string"},
        [
            [
                [1, "I", '{"id": 1, "name": "a", "title": "a        "}', None],
                [2, "I", '{"id": 2, "name": "b  ", "title": "b"}', "null"],
                [3, "U", '{"id": 3, "name": "moved"}', '{"id": 1, "name": "a"}'],
                # it would have moved a row, too, if the one before had not been cut
                [4, "U", '{"id": 4, "name": "moved"}', '{"id": 2, "name": "b'],
                [5, "U", '{"id": 2, "name": "updated"}', ""],
                [6, "D", None, '{"id": 3, "name": "mo'],
                [8, "U", '{"id": 2, "name": "b", "title": "other"}', None],
                # half a character, which would be a question mark
                [9, "U", '{"id": 2, "name": "b\\ud83d"}', None],
                [9, "U", '{"id": 2, "name": "b"}', '{"id": 2, "name": "\\uDFFFb"}'],
            ],
            [[7, "D", None, '{"id": 2, "name": "updated"}']],
        ],
        {("accepted", None): 5, ("rejected", "data_missing"): 4, ("rejected", "value_does_not_fit"): 1},
        [{(2, "updated"), (3, "moved")}, {(3, "moved")}],
    ),
    Case(
        # of a delete, 7.5 and 8x were read in the type of the new column: as 7, and as no value
        Entry(
            "key_in_two_types",
            LOG_NUMBERS | {"key": ["id", "part"], "row": "new_{name}", "row_before": "old_{name}"},
            {"id": "int", "part": "int"},
            ALL,
        ),
        {
            "lsn": "int",
            "action": "string",
            "new_id": "int",
            "new_part": "int",
            "old_id": "decimal(5,2)",
            "old_part": "string",
        },
        [
            [
                [1, "I", 7, 8, None, None],
                [2, "I", 9, None, None, None],
                [3, "I", 10, 1, None, None],
                [4, "U", 11, 1, Decimal("10.00"), "1"],
                [5, "D", None, None, Decimal("7.50"), "8"],
                [6, "D", None, None, Decimal("9.00"), "8x"],
            ],
            [[7, "D", None, None, Decimal("11.00"), "1"], [8, "D", 7, 8, None, None]],
        ],
        {("accepted", None): 6, ("rejected", "value_does_not_fit"): 2},
        [{(7, 8), (9, None), (11, 1)}, {(9, None)}],
        shown="id, part",
    ),
    Case(
        # numbers of more digits than a decimal has would be read by a double, and by another name than JSON has it, too
        Entry("long_numbers", dict(JSON_TEXTS), {"id": "bigint", "größe": "decimal(38,18)"}, ALL),
        {"n": "int", "action": "string", "new": "string", "old": "string"},
        [
            [
                [1, "I", '{"id": 1, "größe": 12345678901234567890.1234567890123456789}', None],
                [2, "I", '{"id": 2, "größe": 0.1234567890123456780000000000000000000001}', None],
                [3, "I", '{"id": 3, "größe": 12345678901234567890.123456789012345678000}', None],
                [4, "I", '{"id": 4, "größe": 12345678901234567890.123456789012345678}', None],
                [5, "I", '{"id": 5, "gr\\u00f6\\u00dfe": -0.100000000000000005}', None],
                [6, "I", '{"id": 6, "gr\\u00F6\\u00DFe": 0.100000000000000005}', None],
                [7, "I", '{"id": 7, "größe": 0.100000000000000005}', None],
            ],
            [],
        ],
        {("accepted", None): 5, ("rejected", "value_does_not_fit"): 2},
        [
            {
                (3, "12345678901234567890.123456789012345678"),
                (4, "12345678901234567890.123456789012345678"),
                (5, "-0.100000000000000005"),
                (6, "0.100000000000000005"),
                (7, "0.100000000000000005"),
            }
        ]
        * 2,
        shown="id, cast(`größe` as string)",
    ),
    Case(
        # bytes sort as hex digits do; as texts, those that are no UTF-8 would be lost on the way
        Entry("sequence_of_bytes", LOG_NUMBERS | {"sequence": [{"sql": "lsn", "kind": "text"}]}, NAMED, ALL),
        {"lsn": "binary", "action": "string", "id": "bigint", "name": "string"},
        [
            [
                [b"0001", "I", 1, "a text"],
                [b"\xff\x01", "U", 1, "no text"],
                [b"0002\n", "U", 1, "a text of two lines"],
                ["\U0010ffff".encode(), "Q", 1, "above every text"],
            ],
            [],
        ],
        {("accepted", None): 2, ("rejected", "change_seq_malformed"): 1, ("rejected", "unknown_operation"): 1},
        [{(1, "a text of two lines")}] * 2,
    ),
    Case(
        # transactions that are no UTF-8 are shown as the digits of their bytes, or they would look alike
        Entry(
            "sequence_in_hex",
            LOG_NUMBERS | {"sequence": [{"sql": "hex(lsn)", "kind": "text"}], "transaction_id": "lsn"},
            NAMED,
            ALL,
        ),
        {"lsn": "binary", "action": "string", "id": "bigint", "name": "string"},
        [
            [[b"\xff\x02", "U", 1, "last"], [b"\xff\x01", "I", 1, "first"]],
            [[b"\xff\x00", "U", 1, "before"], [b"\x00\xff", "I", 2, "b"], [b"T4", "I", 3, "c"]],
        ],
        {("accepted", None): 5},
        [{(1, "last", "FF02")}, {(1, "last", "FF02"), (2, "b", "00FF"), (3, "c", "T4")}],
        shown="id, name, _transaction_id",
    ),
    Case(
        # a number that ends in a line break would sort one digit too low
        Entry(
            "sequence_with_line_break",
            LOG_NUMBERS,
            NAMED | {"name": "char(9)"},
            ALL,
            column_meta={"name": {"renamed_from": "title"}},
        ),
        {"lsn": "string", "action": "string", "id": "bigint", "name": "string", "title": "string"},
        [
            [
                ["9", "I", 1, "ninth", None],
                ["12\n", "U", 1, "no number", None],
                ["10", "U", 1, "tenth", "tenth    "],
                ["11", "U", 1, "one", "other"],
            ],
            [],
        ],
        {("accepted", None): 2, ("rejected", "change_seq_malformed"): 1, ("rejected", "value_does_not_fit"): 1},
        [{(1, "tenth")}] * 2,
    ),
    Case(
        Entry("structs", STRUCTS, COLUMNS, ALL),
        STRUCTS_LANDED,
        [
            [
                of_structs(1, 1, struct(1, "a", "1.5")),
                of_structs(2, 2, struct(1, None, "2.5", "true"), struct(1, "a", "1.5")),
                of_structs(1, 10, struct(2, "b"), number="f"),
                of_structs(2, 10, struct(2, "after f in hex"), number="10"),
                of_structs(1, 10, struct(3, "third")),
                of_structs(2, 11, struct(4, "moved"), struct(3), rs_id="0002"),
                of_structs(1, 12, NONE),
                of_structs(2, 12, struct(2, "not moved", "7"), struct("null", "x"), rs_id="0003"),
                of_structs(1, 13, struct(5, "x"), rs_id="00001"),
                of_structs(1, 13.5, struct(5, "x")),
                of_structs(2, 15, struct(1, None, "5", "perhaps")),
            ],
            [of_structs(3, 14, NONE, struct(4, "moved")), of_structs(2, 3, struct(1, None, "3.5", "false"))],
        ],
        {
            ("accepted", None): 9,
            ("rejected", "data_missing"): 1,
            ("rejected", "change_seq_malformed"): 2,
            ("rejected", "value_does_not_fit"): 1,
        },
        [
            {(1, "a", "2.50"), (2, "not moved", "7.00"), (4, "moved", None)},
            {(1, None, "3.50"), (2, "not moved", "7.00")},
        ],
        shown="id, name, cast(amount as string)",
    ),
    Case(
        Entry(
            "written",
            WRITTEN_SPEC,
            WRITTEN,
            ALL,
            column_meta={name: {"written_as": way} for name, way in WRITTEN_AS.items()},
        ),
        {"n": "int", "doc": "string"},
        [
            [
                [
                    1,
                    json.dumps(
                        {"id": 1, "day": 20484, "at": 1769860800123, "price": "AYag", "large": "/w==", "bytes": "AP8="}
                    ),
                ],
                [
                    2,
                    json.dumps(
                        {"id": 2, "day": -1, "at": -1, "price": "/nlg", "large": "AJvTCjxkWUPdFpCgOhQ=", "bytes": None}
                    ),
                ],
                [3, json.dumps({"id": 3, "day": "yesterday"})],
                [4, json.dumps({"id": 4, "price": "not base64!"})],
                [5, json.dumps({"id": 5, "at": 9223372036854775807})],
                [7, '{"id": 7} {"id": 8}'],
                [6, json.dumps({"id": 6, "price": "AA==", "large": "gA=="})],
                [8, json.dumps({"id": 8, "large": "tMSzV6V5O4X2dd3AAAAAAQ=="})],  # the lowest of 38 digits
                [9, json.dumps({"id": 9, "large": "tMSzV6V5O4X2dd3AAAAAAA=="})],
            ],
            # of a delete only the key counts
            [[10, json.dumps({"op": "D", "id": 2, "day": "yesterday", "price": ""})]],
        ],
        {("accepted", None): 5, ("rejected", "value_does_not_fit"): 4, ("rejected", "data_missing"): 1},
        [WRITTEN_ROWS, {row for row in WRITTEN_ROWS if row[0] != 2}],
        shown="id, cast(day as string), cast(at as string), cast(price as string), cast(large as string), hex(bytes)",
    ),
]
