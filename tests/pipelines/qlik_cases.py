"""Small hand-made change tables of Qlik's, by the format page: what lands in two batches, and what must come of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from .cases import Case
from .consumer import Entry
from .landing import Expression

AT = dt.datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=dt.UTC)
HEADERS = {
    "change_seq": "string",
    "change_oper": "string",
    "change_mask": "binary",
    "stream_position": "string",
    "operation": "string",
    "transaction_id": "string",
    "timestamp": "timestamp",
}
COLUMNS = {"id": "bigint", "name": "string", "amount": "decimal(10,2)"}
SPEC = {"format": "qlik_change_tables", "key": ["id"]}
WITH_HISTORY = ("stg", "dedup", "current", "history")
TWO_HEADERS = SPEC | {"headers": ["change_seq", "change_oper"]}


def seq(number: int) -> str:
    """A change_seq of 35 digits."""
    return f"2026013112000025{number:019d}"


def full(
    number: int | str | None, oper: str | None, id_: int | None, name: str | None, mask: bytes | None = None
) -> list[Any]:
    """A row with the seven default headers; `operation` is set for a truncate only."""
    landed_seq = seq(number) if isinstance(number, int) else number
    operation = "TRUNCATE" if oper == "T" else None
    amount = None if name is None else Decimal("1.50")
    return [landed_seq, oper, mask, "0000:1", operation, "00AB", AT, id_, name, amount]


def texts(number: int, oper: str, id_: str, timestamp: str | None = None, **values: str) -> list[Any]:
    """A row of which all but the sequence lands as text."""
    others = ("amount", "exact", "day", "at", "flag", "local")
    return [seq(number), oper, timestamp, id_, *(values.get(name) for name in others)]


def partitioned(row: list[Any], day: int | None) -> list[Any]:
    """A row with its transaction as bytes, partition_name after its headers, and the day of its arrival at the end."""
    headers, data = row[: len(HEADERS)], row[len(HEADERS) :]
    headers[5] = bytes.fromhex(headers[5])
    return [*headers, "20260131T120000_20260131T130000", *data, day and dt.date(2026, 1, day)]


def bare(number: int, oper: str, *values: Any) -> list[Any]:
    """A row with change_seq and change_oper only."""
    return [seq(number), oper, *values]


def numbered(number: int, oper: str, *values: Any) -> list[Any]:
    """The same, with a change_seq that lands as a decimal."""
    return [Decimal(seq(number)), oper, *values]


def nested(number: int, oper: str, id_: int, at: str, fields: str, prices: str, lines: str) -> list[Any]:
    """A row whose times are beyond what Python can hold, with a struct, a map and an array of maps."""
    return [seq(number), oper, Expression(at), id_, *map(Expression, (at, f"array({at})", fields, prices, lines))]


def _prefixed(names: Sequence[str], prefix: str = "header__", **types: str) -> dict[str, str]:
    return {f"{prefix}{name}": types.get(name, HEADERS[name]) for name in names}


BATCH_1, BATCH_2 = (dt.datetime(2026, 1, day, tzinfo=dt.UTC) for day in (1, 2))
FIRST_TIME, LAST_TIME = "timestamp_micros(-9223372036854775808)", "timestamp_micros(9223372036854775807)"
FIRST_TIME_TOLD, LAST_TIME_TOLD = "-290308-12-21 19:59:05.224192", "+294247-01-10 04:00:54.775807"
SWAPPED = "named_struct('b', '2', 'a', 1L)"
NESTED_COLUMNS = {
    "id": "bigint",
    "at": "timestamp",
    "times": "array<timestamp>",
    "fields": "struct<a:int,b:int>",
    "prices": "map<string,decimal(5,2)>",
    "lines": "array<map<string,int>>",
}
NESTED_LANDED = NESTED_COLUMNS | {"fields": "struct<b:string,a:bigint>", "prices": "map<string,string>"}
NESTED_SNAPSHOT = [
    [4, *map(Expression, (FIRST_TIME, f"array({FIRST_TIME})", SWAPPED, "map('net', '1')", "null"))],
    [5, *map(Expression, (LAST_TIME, f"array({LAST_TIME})", "named_struct('b', 'x', 'a', 1L)", "null", "null"))],
]

WORDS = {
    "INSERT": "insert",
    "UPDATE": "update",
    "DELETE": "delete",
    "BEFOREIMAGE": "before_image",
    "L": "snapshot",
}
KEY_BIT, NAME_BIT = b"\x80", b"\x00\x01"  # seven headers: the first data column is bit 7

CASES = [
    Case(
        Entry("defaults", SPEC, COLUMNS),
        _prefixed(list(HEADERS)) | COLUMNS,
        [
            [
                full(10, "I", 1, "a", b"\x80\x03"),
                full(20, "B", 1, "a", b""),
                full(20, "U", 2, "b", b"\x80\x01"),
                full(30, "I", 3, "c"),
                full(30, "I", 3, "c"),
                full(40, "D", 3, None, KEY_BIT),
                full(50, "X", 3, "c"),
                full(51, "i", 3, "c"),
                full(52, None, 3, "c"),
                full(None, "U", 3, "c"),
                full("2026", "U", 3, "c"),
                full(seq(1)[:-1] + "x", "U", 3, "c"),
                full(seq(1)[:-1] + "\n", "U", 3, "c"),
                full(60, "U", None, "no key"),
                full(65, "I", 4, "d"),
                full(70, "B", 4, "d"),
                full(80, "U", 8, "moved, from where?", KEY_BIT),
                full(90, "U", 9, "x", NAME_BIT),
                full(100, "I", 20, "t"),
                full(110, "U", 21, "moved before its before image landed", KEY_BIT),
                full(115, "I", 30, "k"),
                full(120, "B", 30, "k"),
                full(120, "U", 31, "moved, and a second before image says not", KEY_BIT),
            ],
            [
                full(70, "U", 5, "e", KEY_BIT),
                full(90, "U", 9, "y", NAME_BIT),
                full(35, "U", 3, "late", NAME_BIT),
                full(110, "B", 20, "t"),
                full(10, "I", 1, "a", b"\x80\x03"),
                full(120, "B", 31, "k"),
            ],
        ],
        {
            ("accepted", None): 16,
            ("merged", "before_image"): 5,
            ("rejected", "unknown_operation"): 3,
            ("rejected", "change_seq_missing"): 1,
            ("rejected", "change_seq_malformed"): 3,
            ("rejected", "key_missing"): 1,
        },
        [
            {
                (2, "b"),
                (4, "d"),
                (8, "moved, from where?"),
                (9, "x"),
                (20, "t"),
                (21, "moved before its before image landed"),
                (31, "moved, and a second before image says not"),
            },
            {
                (2, "b"),
                (5, "e"),
                (8, "moved, from where?"),
                (9, "y"),
                (21, "moved before its before image landed"),
                (31, "moved, and a second before image says not"),
            },
        ],
        reported={
            (f"{seq(80)}:U:8", "key_move_without_before"),
            (f"{seq(90)}:U:9", "conflicting_content"),
            (f"{seq(120)}:U:31", "conflicting_content"),
        },
    ),
    Case(
        Entry("mended", TWO_HEADERS | {"arrival": "batch"}, COLUMNS),
        _prefixed(["change_seq", "change_oper"], change_seq="varchar(35)")
        | COLUMNS
        | {"amount": "string", "batch": "int"},
        [
            [
                bare(41, "I", 7, "a", "1.00", 1),
                bare(50, "B", 7, "a", "1.00", 1),
                bare(50, "U", 8, "a", "unreadable", 1),
                bare(60, "I", 9, "f", "1.00", 2),
            ],
            [bare(50, "U", 8, "a", "2.00", 3)],
        ],
        {("accepted", None): 3, ("merged", "before_image"): 1, ("rejected", "value_does_not_fit"): 1},
        [{(7, "a"), (9, "f")}, {(8, "a"), (9, "f")}],
    ),
    Case(
        # a feed that breaks its rule: one sequence, two updates; the halves of both tens land in another order
        Entry("two_updates", TWO_HEADERS | {"images": "partial", "arrival": "batch"}, COLUMNS),
        _prefixed(["change_seq", "change_oper"]) | COLUMNS | {"batch": "timestamp_ntz"},
        [
            [
                bare(1, "I", 1, "a", Decimal("1.00"), BATCH_1),
                bare(5, "U", 2, "b", None, BATCH_1),
                bare(11, "I", 11, "a", Decimal("1.00"), BATCH_1),
                bare(15, "B", 11, None, None, BATCH_1),
                bare(15, "U", 12, "b", None, BATCH_1),
            ],
            [
                bare(5, "B", 1, None, None, BATCH_2),
                bare(5, "U", 3, "c", None, BATCH_2),
                bare(15, "U", 13, "c", None, BATCH_2),
            ],
        ],
        {("accepted", None): 6, ("merged", "before_image"): 2},
        [{(1, "a"), (12, "b")}, {(2, "b"), (12, "b")}],
        reported={
            *((f"{seq(5)}:U:{id_}", "conflicting_content") for id_ in (2, 3)),
            *((f"{seq(15)}:U:{id_}", "conflicting_content") for id_ in (12, 13)),
            (f"{seq(5)}:U:3", "orphan"),
            (f"{seq(15)}:U:13", "orphan"),
        },
        landed_as="parquet partitioned by (batch)",
    ),
    Case(
        Entry("in_time", TWO_HEADERS | {"arrival": "batch"}, COLUMNS, ("stg", "dedup", "current")),
        _prefixed(["change_seq", "change_oper"], change_seq="char(35)")
        | COLUMNS
        | {"name": "varchar(30)", "batch": "decimal(38,38)"},
        [
            [bare(10, "I", 1, "a", None, Decimal("0.1")), bare(20, "I", 2, "b", None, Decimal("0.1"))],
            [
                bare(30, "B", 2, "b", None, Decimal("0.1000000000000000000000000000000000001")),
                bare(30, "U", 3, "b", None, Decimal("0.1000000000000000000000000000000000001")),
                bare(40, "D", 1, "a", None, Decimal("0.9")),
            ],
        ],
        {("accepted", None): 4, ("merged", "before_image"): 1},
        [{(1, "a"), (2, "b")}, {(3, "b")}],
        landed_as="delta",
    ),
    Case(
        Entry("late_before", TWO_HEADERS | {"arrival": "batch"}, COLUMNS),
        _prefixed(["change_seq", "change_oper"], change_seq="decimal(38,0)")
        | COLUMNS
        | {"amount": "string", "batch": "int"},
        [
            [
                numbered(41, "I", 7, "a", "1.00", 1),
                numbered(50, "U", 8, "a", "1.00", 1),
                numbered(60, "I", 9, "f", "1.00", 2),
            ],
            [numbered(50, "B", 7, "a", "1.00", 3), numbered(50, "U", 8, "a", "unreadable", 3)],
        ],
        {("accepted", None): 3, ("merged", "before_image"): 1, ("rejected", "value_does_not_fit"): 1},
        [{(7, "a"), (8, "a"), (9, "f")}, {(8, "a"), (9, "f")}],
        landed_as="view",
    ),
    Case(
        Entry(
            "truncated",
            SPEC
            | {
                "header_prefix": "",
                "headers": [*HEADERS, "partition_name"],
                "mask_order": "most_significant_first",
                "arrival": "batch",
            },
            COLUMNS,
        ),
        _prefixed(list(HEADERS), prefix="", transaction_id="binary")
        | {"partition_name": "string"}
        | COLUMNS
        | {"batch": "date"},
        [
            [
                partitioned(full(10, "I", 1, "a"), 1),
                partitioned(full(20, "I", 2, "b"), 1),
                partitioned(full(30, "T", None, None), 1),
                partitioned(full(40, "I", 3, "c"), 1),
            ],
            [
                partitioned(full(15, "I", 5, "older than the truncate"), 2),
                partitioned(full(50, "I", 1, "again", b"\x01\x00"), 2),
                partitioned([seq(45), "D", None, "p", "TRUNCATE", "00AC", AT, None, None, None], 2),
                partitioned(full(60, "U", 6, "no arrival", b"\x01\x00"), None),
            ],
        ],
        {("accepted", None): 8},
        [{(3, "c", "00AB")}, {(1, "again", "00AB"), (6, "no arrival", "00AB")}],
        shown="id, name, _transaction_id",
        # the eighth bit from the most significant end of two bytes is the first data column after eight headers
        reported={(f"{seq(60)}:U:6", "key_move_without_before")},
        landed_as="delta partitioned by (batch)",
    ),
    Case(
        Entry(
            "pairs", TWO_HEADERS | {"key": ["a", "b c"]}, {"a": "string", "b c": "int", "it's": "string"}, WITH_HISTORY
        ),
        _prefixed(["change_seq", "change_oper"]) | {"a": "string", "b c": "int", "it's": "string"},
        [
            [
                bare(10, "I", "x", None, "one"),
                bare(20, "I", "x", 1, "two"),
                bare(30, "B", "x", None, "one"),
                bare(30, "U", "y", None, "one"),
            ],
            [bare(40, "B", "y", None, "one"), bare(40, "U", "z", 2, "one"), bare(50, "D", "x", 1, "two")],
        ],
        {("accepted", None): 5, ("merged", "before_image"): 2},
        [{("y", None, "one"), ("x", 1, "two")}, {("z", 2, "one")}],
        shown="a, `b c`, `it's`",
    ),
    Case(
        # words of a transformation, and the rows of a full load beside the changes
        Entry(
            "worded",
            TWO_HEADERS | {"arrival": "batch", "without_sequence": "load", "operations": WORDS},
            COLUMNS,
        ),
        _prefixed(["change_seq", "change_oper"]) | COLUMNS | {"batch": "int"},
        [
            [
                [None, "INSERT", 1, "loaded", None, 1],
                [None, "INSERT", 1, "loaded", None, 1],
                ["", "I", 2, "loaded", None, 1],
                ["0", "I", 3, "loaded", None, 1],
                ["0" * 35, "I", 4, "loaded", None, 1],
                [None, None, 5, "without headers", None, 1],
                bare(15, "L", 6, "marked as loaded", None, 1),
                bare(10, "DELETE", 6, "gone", None, 1),
                bare(20, "UPDATE", 1, "updated", None, 1),
                bare(30, "BEFOREIMAGE", 2, "loaded", None, 1),
                bare(30, "UPDATE", 12, "moved", None, 1),
                bare(40, "DELETE", 3, None, None, 1),
                bare(50, "U", 4, "updated", None, 1),
                bare(60, "UPDATE", 15, "moved before its before image landed", None, 1),
                [None, "U", 4, "no sequence", None, 1],
                ["", "DELETE", 4, "no sequence", None, 1],
                ["0", "BEFOREIMAGE", 4, "no sequence", None, 1],
                [None, "update", 4, "no word", None, 1],
                bare(70, "update", 4, "no word", None, 1),
                [seq(70), None, 4, "no word", None, 1],
                [None, "I", None, "no key", None, 1],
            ],
            [
                bare(60, "BEFOREIMAGE", 5, "without headers", None, 2),
                [None, "I", 7, "loaded late", None, 2],
                [None, "I", 1, "loaded again", None, 2],
            ],
        ],
        {
            ("accepted", None): 15,
            ("merged", "before_image"): 2,
            ("rejected", "change_seq_missing"): 1,
            ("rejected", "change_seq_malformed"): 2,
            ("rejected", "unknown_operation"): 3,
            ("rejected", "key_missing"): 1,
        },
        [
            {
                (1, "updated"),
                (4, "updated"),
                (5, "without headers"),
                (12, "moved"),
                (15, "moved before its before image landed"),
            },
            {
                (1, "updated"),
                (4, "updated"),
                (7, "loaded late"),
                (12, "moved"),
                (15, "moved before its before image landed"),
            },
        ],
        reported={(f"{'0' * 35}:R:1", "conflicting_content")},
    ),
    Case(
        Entry("every_change_an_insert", TWO_HEADERS, COLUMNS),
        _prefixed(["change_seq", "change_oper"]) | COLUMNS,
        [[bare(10, "I", 1, "a", None), bare(20, "I", 1, "b", None)], [bare(15, "I", 1, "late", None)]],
        {("accepted", None): 3},
        [{(1, "b")}, {(1, "b")}],
    ),
    Case(
        Entry(
            "as_text",
            TWO_HEADERS | {"headers": ["change_seq", "change_oper", "timestamp"]},
            {
                "id": "int",
                "amount": "decimal(5,2)",
                "exact": "decimal(38,10)",
                "day": "date",
                "at": "timestamp",
                "flag": "boolean",
                "local": "timestamp_ntz",
            },
        ),
        _prefixed(["change_seq", "change_oper", "timestamp"], timestamp="string")
        | dict.fromkeys(["id", "amount", "exact", "day", "at", "flag", "local"], "string"),
        [
            [
                texts(10, "I", "1", amount="1.50", day="2026-01-31", at="2026-01-31 12:00:00.000001999", flag="true"),
                texts(20, "I", "1.5", amount="1"),
                texts(21, "I", "99999999999", amount="1"),
                texts(22, "I", "2", amount="1.239"),
                texts(23, "I", "2", amount="12345"),
                texts(24, "I", "2", amount="many"),
                texts(25, "I", "2", day="2026-01-31 12:00:00"),
                texts(26, "I", "2", at="yesterday"),
                texts(27, "I", "2", flag="maybe"),
                texts(28, "I", "2", timestamp="soon"),
                texts(29, "U", "1", amount="too much"),
                texts(29, "B", "1", amount="1.50"),
                texts(30, "D", "3", amount="only the key counts"),
                texts(
                    31,
                    "I",
                    "4",
                    amount="1.5E1",
                    exact="-9999999999999999999999999999.9999999999000",
                    local="2026-01-31T12:00:00.5",
                ),
                texts(32, "I", "2", exact="0.12345678901"),
                texts(33, "I", "2", exact="1E-12"),
                texts(34, "I", "2", at="2026-01-31 12:00:60"),
                texts(35, "I", "2", at="12:00:00"),
                texts(36, "I", "2", day="2026-01-31 noon"),
                texts(37, "I", "2", local="2026-01-31 12:00:00+02:00"),
                texts(38, "I", "2", local="2026-01-31 12:00:00 Europe/Berlin"),
            ],
            [],
        ],
        {
            ("accepted", None): 3,
            ("rejected", "value_does_not_fit"): 17,
            ("waiting", "after_image_rejected"): 1,
        },
        [
            {
                (1, Decimal("1.50"), None, "2026-01-31", "2026-01-31 12:00:00.000001", True),
                (4, Decimal("15.00"), "-9999999999999999999999999999.9999999999", None, None, None),
            }
        ]
        * 2,
        shown="id, amount, string(exact), string(day), string(at), flag",
        landed_as="csv",
    ),
    Case(
        Entry(
            "sparse",
            SPEC
            | {
                "headers": ["change_seq", "change_oper", "change_mask"],
                "mask_type": "string",
                "images": "partial",
                "track": ["name"],
            },
            COLUMNS,
            models=WITH_HISTORY,
        ),
        _prefixed(["change_seq", "change_oper", "change_mask"], change_mask="string") | COLUMNS,
        # three headers: id is bit 3, name bit 4, amount bit 5
        [
            [
                [seq(10), "I", "38", 1, "a", None],
                [seq(20), "U", "10", 1, None, None],
                [seq(30), "U", "0x0030", 1, None, None],
                [seq(40), "U", None, 1, "b", None],
                [seq(50), "U", "0", 1, None, Decimal("2.00")],
                [seq(60), "U", "F10", 1, None, None],
                [seq(70), "U", "zz", 1, "c", None],
            ],
            [[seq(75), "U", "10", 2, "an orphan", None], [seq(80), "D", "8", 1, None, None]],
        ],
        {("accepted", None): 8, ("rejected", "change_mask_malformed"): 1},
        [{(1, None)}, set()],
        reported={(f"{seq(75)}:U:2", "orphan")},
    ),
    Case(
        Entry("orphans_start_rows", TWO_HEADERS | {"images": "partial", "orphans": "insert"}, COLUMNS),
        _prefixed(["change_seq", "change_oper"]) | COLUMNS,
        [
            [bare(10, "U", 1, "a", None), bare(20, "U", 1, None, Decimal("2.00"))],
            [bare(30, "D", 1, None, None), bare(40, "U", 1, None, Decimal("4.00"))],
        ],
        {("accepted", None): 4},
        [{(1, "a", Decimal("2.00"))}, {(1, None, Decimal("4.00"))}],
        shown="id, name, amount",
    ),
    Case(
        Entry(
            "nested",
            TWO_HEADERS
            | {
                "key": ["id", "at"],
                "headers": ["change_seq", "change_oper", "timestamp"],
                "snapshot": "nested_full",
            },
            NESTED_COLUMNS,
            WITH_HISTORY,
        ),
        _prefixed(["change_seq", "change_oper", "timestamp"]) | NESTED_LANDED,
        [
            [
                nested(10, "I", 1, FIRST_TIME, SWAPPED, "map('net', '1', 'tax', '2')", "array(map('a', 1, 'b', null))"),
                nested(10, "I", 1, FIRST_TIME, SWAPPED, "map('tax', '2', 'net', '1')", "array(map('b', null, 'a', 1))"),
                nested(20, "I", 2, LAST_TIME, SWAPPED, "map('net', '1')", "null"),
                nested(30, "U", 1, FIRST_TIME, SWAPPED, "map('tax', '2', 'net', '1')", "array(map('b', null, 'a', 1))"),
                nested(40, "U", 1, FIRST_TIME, SWAPPED, "map('net', 'x')", "null"),
                nested(50, "U", 2, LAST_TIME, "named_struct('b', 'x', 'a', 1L)", "null", "null"),
                nested(60, "I", 3, "timestamp'2026-01-31 12:00:00'", "null", "null", "array(map('a', 1), null)"),
                nested(60, "I", 3, "timestamp'2026-01-31 12:00:00'", "null", "null", "array(null, map('a', 1))"),
            ],
            [
                nested(10, "I", 1, FIRST_TIME, SWAPPED, "map('tax', '2', 'net', '1')", "array(map('a', 1, 'b', null))"),
                nested(70, "B", 2, LAST_TIME, SWAPPED, "map('net', '1')", "null"),
                nested(70, "U", 2, FIRST_TIME, SWAPPED, "map('net', '3')", "null"),
            ],
        ],
        {("accepted", None): 9, ("rejected", "value_does_not_fit"): 3, ("merged", "before_image"): 1},
        [
            {
                (1, FIRST_TIME_TOLD, '{"a":1,"b":2}', "1", f'["{FIRST_TIME_TOLD}"]'),
                (2, LAST_TIME_TOLD, '{"a":1,"b":2}', "1", f'["{LAST_TIME_TOLD}"]'),
                (3, "2026-01-31 12:00:00", None, None, '["2026-01-31 12:00:00"]'),
                (4, FIRST_TIME_TOLD, '{"a":1,"b":2}', "1", f'["{FIRST_TIME_TOLD}"]'),
            },
            {
                (1, FIRST_TIME_TOLD, '{"a":1,"b":2}', "1", f'["{FIRST_TIME_TOLD}"]'),
                (2, FIRST_TIME_TOLD, '{"a":1,"b":2}', "3", f'["{FIRST_TIME_TOLD}"]'),
                (3, "2026-01-31 12:00:00", None, None, '["2026-01-31 12:00:00"]'),
                (4, FIRST_TIME_TOLD, '{"a":1,"b":2}', "1", f'["{FIRST_TIME_TOLD}"]'),
            },
        ],
        shown=(
            "id, string(at), to_json(fields), string(cast(prices['net'] as int)),"
            " to_json(transform(times, time -> string(time)))"
        ),
        reported={(f'{seq(60)}:I:{{"id":3,"at":"2026-01-31 12:00:00.000000"}}', "conflicting_content")},
    ),
]

# change_seq -> (_present_columns, _changed_columns) of the sparse table
SPARSE: Mapping[str, tuple[list[str] | None, list[str] | None]] = {
    seq(10): (None, ["id", "name", "amount"]),
    seq(20): (["id", "name"], ["name"]),
    seq(30): (None, ["name", "amount"]),
    seq(40): (["id", "name"], None),
    seq(50): (["id", "amount"], []),
    seq(60): (["id", "name"], ["name"]),
    seq(75): (["id", "name"], ["name"]),
    seq(80): (None, None),
}

# the versions of the sparse table, by what is tracked: id, name, amount, from, to, last change
SPARSE_VERSIONS = {
    (1, "a", None, seq(10), seq(20), seq(10)),
    (1, None, None, seq(20), seq(40), seq(30)),
    (1, "b", Decimal("2.00"), seq(40), seq(60), seq(50)),
    (1, None, Decimal("2.00"), seq(60), seq(80), seq(60)),
}
