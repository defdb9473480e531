"""Small hand-made event logs of Identity Manager, by the format page: what lands in two batches, what comes of it."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from demo.landing import TABLE_FORMAT

from .cases import Case
from .consumer import Entry

AT = dt.datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=dt.UTC)
FAR_AHEAD = dt.datetime(2999, 1, 1, tzinfo=dt.UTC)
# another order than on the page: staging goes by names
EVENT = {
    "record_id": "bigint",
    "table_key": "string",
    "status": "string",
    "event_type": "int",
    "event_time": "timestamp",
    "perpetrator": "string",
    "table_name": "string",
    "column_name": "string",
    "old_value": "string",
    "new_value": "string",
}
COLUMNS = {"id": "bigint", "name": "string", "amount": "decimal(10,2)"}
SPEC = {"format": "idm_event_log", "key": ["id"], "table_name": "usr", "schema_name": "indirect"}
INSERT_FIELD, UPDATE_FIELD, REPLACE_FIELD, DELETE, INSERT_ROW, UPDATE_ROW, READ_INSERT, READ_UPDATE = range(1, 9)
Row = list[Any]
Batches = tuple[list[Row], list[Row]]


def event(
    record_id: int | Decimal | None,
    event_type: int | str | None,
    key: str | None,
    column: str | None = None,
    **told: Any,
) -> Row:
    """An event of `usr`; `old`, `new` and fields of the log that are given replace its own."""
    fields = {
        "record_id": record_id,
        "table_key": key,
        "status": "N",
        "event_type": event_type,
        "event_time": AT,
        "perpetrator": "hr",
        "table_name": "usr",
        "column_name": column,
        "old_value": told.pop("old", None),
        "new_value": told.pop("new", None),
    }
    assert told.keys() <= fields.keys()
    return list((fields | told).values())


def change_id(record_id: int) -> str:
    """A change's identity, as models have it."""
    return f"{record_id:019d}"


def _operations() -> Batches:
    second = [
        # drawn before the update to John, committed after it
        event(11, UPDATE_FIELD, "id=1", "name", new="late"),
        event(40, DELETE, "id=2"),
        event(41, INSERT_FIELD, "id=2", "amount", new="2.00"),
        # delivered again, and landed again when it was processed
        event(10, INSERT_FIELD, "id=1", "name", new="Jack"),
        event(12, UPDATE_FIELD, "id=1", "name", old="Jack", new="John", status="S"),
        # processed before it was ever landed
        event(42, UPDATE_FIELD, "id=1", "name", new="never", status="W"),
        event(43, UPDATE_FIELD, "id=1", "name", new="never", status="E"),
        event(44, UPDATE_FIELD, "id=1", "name", new="never", status="F"),
        event(45, UPDATE_FIELD, "id=1", "name", new="never", perpetrator="idm"),
        event(46, UPDATE_FIELD, "id=1", "amount", new="4.00", perpetrator="IDM"),
        event(47, UPDATE_FIELD, "id=1", "amount", old="4.00", new="5.00", perpetrator=None),
        event(48, INSERT_FIELD, "id=7", "id", new=" 7"),
        # the greater of two contents counts
        event(49, UPDATE_FIELD, "id=7", "name", new="seven a"),
        event(49, UPDATE_FIELD, "id=7", "name", new="seven b"),
    ]
    first = [
        event(9, INSERT_FIELD, "id=1", "id", new="1"),
        event(10, INSERT_FIELD, "id=1", "name", new="Jack"),
        event(12, UPDATE_FIELD, "ID= 1", "NAME", old="Jack", new="John"),
        event(13, REPLACE_FIELD, " pk_id =1 ", "amount", new="1.50"),
        event(14, INSERT_FIELD, "PK_ID=2", "name", new="two"),
        event(15, UPDATE_FIELD, "id=2", "amount", new="2.50"),
        event(16, UPDATE_FIELD, "id=2", "name", old="two", new=None),
        event(17, INSERT_FIELD, "id=3", "name", new="deleted"),
        event(18, DELETE, "id=3"),
        event(19, UPDATE_FIELD, "id=4", "name", new="no row"),
        event(20, INSERT_FIELD, "id=5", "name", new=""),
        event(21, DELETE, "id=6"),
        # of another table of the log
        event(22, INSERT_FIELD, "id=1", "name", new="a group", table_name="grp"),
        event(23, INSERT_FIELD, "id=1", "name", table_name="undeclared"),
        event(24, INSERT_FIELD, "id=1", "name", table_name=None),
        event(None, INSERT_FIELD, "id=1", "name", table_name=""),
        *_unusable(),
    ]
    return first, second


def _unusable() -> list[Row]:
    return [
        event(None, DELETE, "id=1"),
        event(0, DELETE, "id=1"),
        event(-1, DELETE, "id=1"),
        event(100, DELETE, "id=1", event_time=None),
        event(101, DELETE, "id=1", status="n"),
        event(102, DELETE, "id=1", status=None),
        event(103, DELETE, "id=1", status="X"),
        event(104, 0, "id=1"),
        event(105, 9, "id=1"),
        event(106, None, "id=1"),
        event(107, DELETE, None),
        event(108, DELETE, "id"),
        event(109, DELETE, "=1"),
        event(110, DELETE, "id=1+id=1"),
        event(111, DELETE, 'id="1'),
        event(112, DELETE, 'id="1"1'),
        event(113, DELETE, r'id="\1"'),
        event(114, DELETE, "id=1,5"),
        event(115, DELETE, "id=1+pk_id=1"),
        event(116, DELETE, "id=1+ID =1"),
        event(117, DELETE, "name=1"),
        event(118, DELETE, "id=1+name=John"),
        event(119, DELETE, "id=one"),
        event(120, DELETE, "id="),
        event(121, UPDATE_FIELD, "id=1", None, new="x"),
        event(122, UPDATE_FIELD, "id=1", "nickname", new="x"),
        event(123, UPDATE_FIELD, "id=1", "id", new="2"),
        event(124, REPLACE_FIELD, "id=1", "pk_id", new="2"),
        event(125, READ_UPDATE, "id=1", "id"),
        event(126, INSERT_FIELD, "id=1", "id", new="2"),
        event(127, UPDATE_FIELD, "id=1", "amount", new="much"),
        event(128, UPDATE_FIELD, "id=1", "amount", new="1.005"),
        event(129, UPDATE_FIELD, "id=1", "name", new="a\x01"),
        event(130, UPDATE_FIELD, "id=1", "name", old="\ufffe", new="a"),
        event(131, INSERT_ROW, "id=1"),
        event(132, UPDATE_ROW, "id=1"),
        event(133, READ_INSERT, "id=1", "name"),
        event(134, READ_UPDATE, "id=1", "name"),
    ]


OPERATIONS = Counter(
    {
        ("accepted", None): 21,
        ("ignored", "already_processed"): 4,
        ("ignored", "loopback"): 1,
        ("rejected", "position_missing"): 3,
        ("rejected", "event_time_missing"): 1,
        ("rejected", "reserved_status"): 3,
        ("rejected", "unknown_operation"): 3,
        ("rejected", "key_malformed"): 12,
        ("rejected", "value_does_not_fit"): 4,
        ("rejected", "column_not_declared"): 2,
        ("rejected", "key_updated"): 3,
        ("rejected", "key_contradicted"): 1,
        ("rejected", "xml_forbidden_character"): 2,
        ("rejected", "no_replica"): 4,
    }
)

UNCLAIMED = [
    ("23", "ignored", "table_not_declared"),
    ("24", "rejected", "table_unknown"),
    (None, "rejected", "table_unknown"),
]
"""Events of the shared log that neither entry stages: record id, status, code."""


def _future() -> Batches:
    hour = dt.timedelta(hours=1)
    first = [
        # ordered by time: the record drawn later took effect before
        event(10, UPDATE_FIELD, "id=1", "name", new="second", event_time=AT + hour),
        event(11, INSERT_FIELD, "id=1", "name", new="first", event_time=AT),
        event(12, UPDATE_FIELD, "id=1", "name", new="ahead", event_time=FAR_AHEAD),
        # of one time, by record
        event(14, UPDATE_FIELD, "id=2", "name", new="fourteen"),
        event(13, INSERT_FIELD, "id=2", "name", new="thirteen"),
        # placed after what took effect before now, not after what waits
        event(15, INSERT_ROW, "id=3"),
        event(16, UPDATE_FIELD, "id=3", "name", new="ahead", event_time=FAR_AHEAD),
        event(17, UPDATE_FIELD, "id=3", "name", new="older", event_time=AT + hour),
        # the first year that has a place in the order, and two before it; the last, and two after it
        event(20, INSERT_FIELD, "id=4", "name", new="first of all", event_time="0001-01-01 00:00:00Z"),
        event(21, UPDATE_FIELD, "id=4", "name", new="before", event_time="0000-12-31 23:59:59.999999Z"),
        event(22, UPDATE_FIELD, "id=4", "name", new="far before", event_time="-0044-03-15 12:00:00Z"),
        event(23, UPDATE_FIELD, "id=4", "name", new="ahead", event_time="9999-12-31 23:59:59.999999Z"),
        event(24, UPDATE_FIELD, "id=4", "name", new="never", event_time="+10000-01-01 00:00:00Z"),
        event(25, UPDATE_FIELD, "id=4", "name", new="never", event_time="+294247-01-10 04:00:54.775807Z"),
        event(26, UPDATE_FIELD, "id=4", "name", new="never", event_time=None),
        event(27, UPDATE_FIELD, "id=4", "name", new="never", event_time="no time"),
        # of a day that is not said, and of one that nobody knows
        event(28, UPDATE_FIELD, "id=4", "name", new="never", event_time="00:00:00"),
        event(29, UPDATE_FIELD, "id=4", "name", new="never", event_time="1999"),
    ]
    second = [event(18, INSERT_FIELD, "id=1", "name", new="long ago", event_time=AT - hour)]
    return [_with_time_as_text(row) for row in first], [_with_time_as_text(row) for row in second]


def _with_time_as_text(row: Row) -> Row:
    """The same, so that any time can land."""
    return [f"{value:%Y-%m-%d %H:%M:%S.%fZ}" if isinstance(value, dt.datetime) else value for value in row]


def _keys() -> Batches:
    text = ", ; ' + \" = \\ < >"
    quoted = r"""code=", ; ' + \" = \\ < >"+number=1"""
    return [
        event(10, INSERT_FIELD, quoted, "name", new=text),
        event(11, INSERT_FIELD, "number=2+code=a", "name", new="any order"),
        # blanks and braces are ordinary in texts, and padding in numbers
        event(12, INSERT_FIELD, "code= a+number= 2 ", "name", new="blank a"),
        event(13, UPDATE_FIELD, 'code="a"+number=2', "name", new="quoted needlessly"),
        event(14, INSERT_FIELD, "code={b c}+number=3", "name", new="braces"),
        event(15, INSERT_FIELD, "code=+number=4", "name", new="empty"),
        event(16, INSERT_FIELD, "code=A+number=2", "name", new="case counts in values"),
        event(17, DELETE, "code=a"),
        event(18, DELETE, "code=a+number=2+number=2"),
    ], []


VALUES = {
    "id": "bigint",
    "name": "string",
    "price": "decimal(38,10)",
    "day": "date",
    "at": "timestamp",
    "small": "smallint",
    "flag": "boolean",
    "bytes": "binary",
    "order": "string",
    "it's": "string",
    # named as the log's own
    "status": "string",
    "record_id": "int",
}


def _values() -> list[Row]:
    told = [
        ("name", " kept \r\n\t"),
        ("price", "1234567890123456789012345678.0123456789"),
        ("day", "2026-01-31"),
        ("at", "2026-01-31 12:00:00.123456789"),
        ("small", " -7"),
        ("flag", "true"),
        ("bytes", "AP+A"),
        ("order", "a word of SQL"),
        ("it's", "quoted"),
        ("status", "retired"),
        ("record_id", "77"),
    ]
    misfits = [
        ("price", "1234567890123456789012345678.01234567891"),
        ("day", "2026-02-30"),
        ("at", "noon"),
        ("small", "40000"),
        ("flag", "maybe"),
        ("bytes", "A"),
        ("bytes", "no base64!"),
    ]
    return (
        [event(10 + place, INSERT_FIELD, "id=1", column, new=value) for place, (column, value) in enumerate(told)]
        + [event(50 + place, INSERT_FIELD, "id=1", column, new=value) for place, (column, value) in enumerate(misfits)]
        + [
            event(70, UPDATE_FIELD, "id=1", "bytes", old="no base64!", new="AP+A"),
            # what is neither stored nor published may be anything
            event(71, REPLACE_FIELD, "id=1", "order", old="a\x01", new="a word of SQL"),
        ]
    )


def _multi_valued() -> Batches:
    return [
        event(10, INSERT_FIELD, "id=1", "name", new="one"),
        event(11, INSERT_FIELD, "id=1", "usr_phone.phoneno", new="111"),
        event(12, INSERT_FIELD, "id=1", "usr_phone.phoneno", new="112"),
        # is about no row: neither an orphan nor a row that starts
        event(13, INSERT_FIELD, "id=2", "USR_PHONE.phoneno", new="211"),
        event(14, UPDATE_FIELD, "id=3", "usr_phone.phoneno", old="311", new="312"),
        event(15, DELETE, "id=1"),
        event(16, UPDATE_FIELD, "id=1", "usr_phone.phoneno", old="111", new=None),
        event(17, READ_UPDATE, "id=1", "usr_phone.phoneno"),
    ], [
        event(18, INSERT_FIELD, "id=4", "name", new="four"),
        event(19, INSERT_FIELD, "id=4", "usr_phone.phoneno", new="4"),
        event(19, INSERT_FIELD, "id=4", "usr_phone.phoneno", new="5"),
        event(20, INSERT_FIELD, "id=4", "usr_card.scan", new="no base64!"),
        event(21, UPDATE_FIELD, "id=4", "usr_card.scan", old="no base64!", new="AA=="),
    ]


REPLICA = {"id": "bigint", "name": "string", "amount": "decimal(10,2)", "of_no_account": "int"}
"""The replica holds a column that is not declared, too."""
READ_ROWS: tuple[list[Row], list[Row]] = (
    [
        [1, "a1", Decimal("1.00"), 0],
        [3, "c", Decimal("3.00"), 0],
        [4, "d", Decimal("4.00"), 0],
        [5, "explicit", Decimal("5.00"), 0],
        [6, "newest", Decimal("6.00"), 0],
        [9, None, None, 0],
        [10, "a\x02", Decimal("10.00"), 0],
        [12, "twelve", None, 0],
    ],
    [
        [1, "a2", Decimal("1.00"), 0],
        [2, "b2", Decimal("2.00"), 0],
        [4, "d", Decimal("4.00"), 0],
        [5, "explicit", Decimal("5.55"), 0],
        [6, "newest", None, 0],
        [7, "g", Decimal("7.00"), 0],
        [9, "nine", None, 0],
        [10, "a\x02", Decimal("10.10"), 0],
        [12, "twelve", None, 0],
    ],
)
"""What the replica holds at each batch."""


def _reading() -> Batches:
    first = [
        event(10, INSERT_ROW, "id=1"),
        event(11, UPDATE_ROW, "id= 1"),
        event(12, INSERT_ROW, "id=2"),
        event(13, DELETE, "id=2"),
        event(14, READ_INSERT, "id=3", "name"),
        event(15, READ_UPDATE, "id=3", "amount"),
        event(16, READ_UPDATE, "id=4", "name"),
        # the row that is read shows what is logged after the event
        event(17, INSERT_ROW, "id=5"),
        event(18, UPDATE_FIELD, "id=5", "name", new="explicit"),
        event(19, INSERT_ROW, "id=6"),
        event(20, UPDATE_FIELD, "id=6", "name", new="older"),
        event(21, READ_INSERT, "id=9", "id"),
        # only what an event reads can keep it from being used
        event(22, UPDATE_ROW, "id=10"),
        event(23, READ_INSERT, "id=10", "amount"),
        event(24, UPDATE_ROW, "id=11"),
        # every event of the key counts for the place of one that reads, whatever became of it
        event(25, INSERT_ROW, "id=12"),
        event(26, UPDATE_FIELD, "id=12", "name", new="processed", status="S"),
        event(27, UPDATE_FIELD, "id=12", "name", new="reserved", status="?"),
    ]
    second = [
        event(30, UPDATE_FIELD, "id=5", "amount", new="5.55"),
        event(31, INSERT_ROW, "id=2"),
        event(32, UPDATE_ROW, "id=7"),
        event(33, DELETE, "id=7"),
        event(34, INSERT_ROW, "id=7"),
        event(35, UPDATE_FIELD, "id=6", "amount", new=None),
        event(36, READ_UPDATE, "id=9", "name"),
        event(37, READ_UPDATE, "id=10", "amount"),
        event(38, DELETE, "id=3"),
        event(10, INSERT_ROW, "id=1", status="S"),
    ]
    return first, second


def _arriving() -> Batches:
    first = [
        [*event(10, INSERT_ROW, "id=1"), 1],
        [*event(11, INSERT_ROW, "id=2"), 2],
        [*event(12, UPDATE_FIELD, "id=1", "name", new="older"), 2],
        [*event(13, INSERT_FIELD, "id=3", "name", new="three"), 3],
    ]
    # drawn before the others, and landed after them
    return first, [[*event(9, READ_INSERT, "id=1", "name"), 4], [*event(14, UPDATE_FIELD, "id=3", "name", new=""), 4]]


def _case(
    name: str,
    batches: Batches,
    reasons: Mapping[tuple[str, str | None], int],
    *current: set[tuple[Any, ...]],
    shown: str = "id, name, cast(amount as string)",
    reported: set[tuple[str, str]] | None = None,
    columns: Mapping[str, str] = COLUMNS,
    identifier: str | None = None,
    landed_columns: Mapping[str, str] = EVENT,
    multi_valued: Sequence[str] = (),
    models: Sequence[str] = ("stg", "dedup", "current"),
    landed_as: str = TABLE_FORMAT,
    **spec: Any,
) -> Case:
    entry = Entry(
        name,
        SPEC | spec,
        columns,
        models,
        identifier=identifier,
        column_meta={column: {"multi_valued": True} for column in multi_valued},
    )
    return Case(
        entry,
        None if identifier else landed_columns,
        batches,
        reasons,
        current if len(current) == 2 else [current[0], current[0]],
        shown,
        reported or set(),
        landed_as,
    )


CASES = [
    _case(
        "usr",
        _operations(),
        OPERATIONS,
        {(1, "John", "1.50"), (2, None, "2.50"), (5, "", None)},
        {(1, "John", "5.00"), (2, None, "2.00"), (5, "", None), (7, "seven b", None)},
        reported={(change_id(19), "orphan"), (change_id(49), "conflicting_content")},
        driver_user="idm",
    ),
    _case(
        "grp",
        ([], []),
        {("accepted", None): 1},
        {(1, "a group", None)},
        identifier="usr",
        table_name="grp",
    ),
    _case(
        "loopback",
        ([event(10, INSERT_FIELD, "id=1", "name", new="of the driver", perpetrator="idm")], []),
        {("accepted", None): 1},
        {(1, "of the driver", None)},
        driver_user="idm",
        allow_loopback=True,
    ),
    _case(
        "future",
        _future(),
        {
            ("accepted", None): 8,
            ("waiting", "future_event"): 3,
            ("rejected", "event_time_out_of_range"): 4,
            ("rejected", "event_time_missing"): 1,
            ("rejected", "value_does_not_fit"): 3,
        },
        {(1, "second", None), (2, "fourteen", None), (3, "now", "3.00"), (4, "first of all", None)},
        landed_columns=EVENT | {"event_time": "string"},
        reported={(change_id(17), "orphan")},
        future_events=True,
        replica="future_rows",
    ),
    _case(
        "keys",
        _keys(),
        {("accepted", None): 7, ("rejected", "key_malformed"): 2},
        {
            (", ; ' + \" = \\ < >", 1, ", ; ' + \" = \\ < >"),
            ("a", 2, "quoted needlessly"),
            (" a", 2, "blank a"),
            ("{b c}", 3, "braces"),
            ("", 4, "empty"),
            ("A", 2, "case counts in values"),
        },
        shown="code, number, name",
        columns={"code": "string", "number": "int", "name": "string"},
        key=["code", "number"],
    ),
    _case(
        "values",
        (_values(), []),
        {("accepted", None): 12, ("rejected", "value_does_not_fit"): 8},
        {
            (
                1,
                " kept \r\n\t",
                "1234567890123456789012345678.0123456789",
                "2026-01-31",
                "2026-01-31 12:00:00.123456",
                -7,
                True,
                "00FF80",
                "a word of SQL",
                "quoted",
                "retired",
                77,
            )
        },
        shown=(
            "id, name, cast(price as string), cast(day as string), cast(at as string), small, flag, hex(bytes),"
            " `order`, `it's`, status, record_id"
        ),
        columns=VALUES,
    ),
    _case(
        "multi",
        _multi_valued(),
        {("accepted", None): 10, ("rejected", "no_replica"): 1, ("rejected", "value_does_not_fit"): 2},
        set(),
        {(4, "four", None)},
        columns=COLUMNS | {"usr_phone.phoneno": "string", "usr_card.scan": "binary"},
        multi_valued=["usr_phone.phoneno", "usr_card.scan"],
        reported={(change_id(19), "conflicting_content")},
        replica="multi_rows",
    ),
    _case(
        "reading",
        _reading(),
        # as read at the second batch, when the rows of 14, 15 and 24 are gone
        {
            ("accepted", None): 21,
            ("ignored", "already_processed"): 2,
            ("rejected", "reserved_status"): 1,
            ("ignored", "row_gone"): 3,
            ("rejected", "xml_forbidden_character"): 1,
        },
        {
            (1, "a1", "1.00"),
            (3, "c", "3.00"),
            (5, "explicit", "5.00"),
            (6, "newest", "6.00"),
            (9, None, None),
            (10, None, "10.00"),
            (12, "twelve", None),
        },
        {
            (1, "a1", "1.00"),
            (2, "b2", "2.00"),
            (5, "explicit", "5.55"),
            (6, "newest", None),
            (7, "g", "7.00"),
            (9, "nine", None),
            (10, None, "10.10"),
            (12, "twelve", None),
        },
        # after the full refresh: the rows of 17 and 19 come after all that was logged before they were read
        reported={(change_id(number), "orphan") for number in (16, 18, 20, 30, 35)},
        replica="reading_rows",
    ),
    _case(
        "arriving",
        _arriving(),
        {("accepted", None): 6},
        {(1, "before", "1.00"), (3, "three", None)},
        {(1, "now", "1.00"), (2, "back", None), (3, "", None)},
        landed_columns=EVENT | {"table_key": "varchar(30)", "new_value": "varchar(30)", "landed_at": "int"},
        reported={(change_id(12), "orphan")},
        arrival="landed_at",
        landed_as="delta",
        replica="arriving_rows",
    ),
    _case(
        "late_fields",
        (
            [
                # after the update, which finds no row: the row starts as read
                event(10, READ_INSERT, "id=1", "name"),
                event(11, UPDATE_FIELD, "id=1", "amount", new="1.00"),
                event(12, UPDATE_FIELD, "id=2", "amount", new="2.00"),
                event(13, READ_UPDATE, "id=3", "amount"),
                # only the column that it names, where the row lives
                event(14, INSERT_FIELD, "id=4", "name", new="logged"),
                event(15, READ_INSERT, "id=4", "amount"),
            ],
            # inserted before their updates, and landed after them
            [event(8, READ_INSERT, "id=2", "id"), event(9, READ_INSERT, "id=3", "name")],
        ),
        {("accepted", None): 8},
        {(1, "one", "1.00"), (4, "logged", "4.00")},
        {(1, "one", "1.00"), (2, None, "2.00"), (3, "three", "3.00"), (4, "logged", "4.00")},
        # after the full refresh, which reads 9 before 13
        reported={(change_id(number), "orphan") for number in (11, 12)},
        replica="late_fields_rows",
    ),
    _case(
        "textual",
        (
            [
                event(10, str(INSERT_ROW), "id=1"),
                event(11, str(INSERT_ROW), "id=2"),
                event(12, str(READ_INSERT), "id=2", "name"),
                event(13, str(READ_UPDATE), "id=2", "amount"),
                # the replica's key is another one
                event(14, str(INSERT_ROW), "id=3"),
                # numbers as texts and with places, as they come out of files and of Oracle
                event(15, "1.0", "id=4", "name", new="four"),
                event(16, "2x", "id=4", "name", new="never"),
                event(Decimal("17.5"), str(UPDATE_FIELD), "id=4", "name", new="never"),
            ],
            [],
        ),
        {("accepted", None): 3, ("rejected", "value_does_not_fit"): 4, ("ignored", "row_gone"): 1},
        {(1, "one", "1.50"), (2, "two", None), (4, "four", None)},
        landed_columns=EVENT | {"record_id": "decimal(38,10)", "event_type": "string"},
        replica="textual_rows",
    ),
]

LATE_FIELDS_ROWS: list[Row] = [
    [1, "one", Decimal("1.00")],
    [2, None, Decimal("2.00")],
    [3, "three", Decimal("3.00")],
    [4, "of the replica", Decimal("4.00")],
]
TEXTUAL_ROWS: list[Row] = [["one", "1", "1.50"], ["two", "2", "much"], ["three", "3.5", "3.00"]]
REPLICAS: Mapping[str, tuple[Mapping[str, str], tuple[list[Row], list[Row]]]] = {
    "reading_rows": (REPLICA, READ_ROWS),
    "multi_rows": (COLUMNS, ([], [])),
    "future_rows": (COLUMNS, ([[3, "now", Decimal(3)]], [[3, "now", Decimal(3)]])),
    "arriving_rows": (
        COLUMNS,
        ([[1, "before", Decimal(1)], [3, "three", None]], [[1, "now", Decimal(1)], [2, "back", None], [3, "", None]]),
    ),
    "late_fields_rows": (COLUMNS, (LATE_FIELDS_ROWS, LATE_FIELDS_ROWS)),
    "textual_rows": (
        {"name": "string", "id": "string", "amount": "string"},
        (TEXTUAL_ROWS, TEXTUAL_ROWS),
    ),
}
"""Replicas by their entry: their columns, and what they hold at each batch."""
