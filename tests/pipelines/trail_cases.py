"""Small hand-made trails of GoldenGate, by the format page: what lands in two batches, and what comes of it.

Most of it is one table in one raw table: each story has a trail and a hundred ids of its own, so one build tests all.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from demo.landing import TABLE_FORMAT

from .cases import Case
from .consumer import Entry

AT = dt.datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=dt.UTC)
RECORD = {
    "trail_name": "string",
    "trail_seqno": "int",
    "trail_rba": "bigint",
    "hdr_ind": "string",
    "undo_flag": "int",
    "rec_length": "int",
    "io_type": "int",
    "trans_ind": "int",
    "syskey_len": "int",
    "audit_rba": "bigint",
    "audit_pos": "bigint",
    "continued": "string",
    "partition_ind": "int",
    "before_after": "string",
    "io_time": "timestamp",
    "orig_node": "int",
    "format_type": "string",
    "incomplete": "int",
    "rec_count": "int",
    "table_name": "string",
    "before_data": "map<string,string>",
    "after_data": "map<string,string>",
    "tokens": "map<string,string>",
}
COLUMNS = {"id": "bigint", "name": "string", "amount": "decimal(10,2)"}
SPEC = {"format": "goldengate_trail", "key": ["id"], "table_name": "APP.ORDERS"}
INSERT, UPDATE, FIELDS, DELETE, UPSERT, TRUNCATE, UNIFIED = 5, 10, 15, 3, 140, 100, 134
KEY_UPDATE, KEY_UPDATE_32, UNIFIED_KEY_UPDATE, FRAGMENT, LARGE, DDL, METADATA, RESTART = (
    115,
    117,
    135,
    161,
    116,
    160,
    170,
    150,
)
FIRST, MIDDLE, LAST, ONLY = 0, 1, 2, 3
Image = Mapping[str, str | None]
Batches = tuple[list[list[Any]], list[list[Any]]]


def row(id_: int | str | None, name: str | None = "", amount: str | None = "1.50") -> dict[str, str | None]:
    """An image with every column."""
    return {"id": None if id_ is None else str(id_), "name": name, "amount": amount}


class Trail:
    """Numbers the records of one trail; each is a hundred bytes long. Ids that are numbers count from `base` on."""

    def __init__(self, name: str = "rt", base: int = 0) -> None:
        self.name = name
        self.base = base
        self.seqno = 0
        self.rba = 1000

    def next_file(self) -> None:
        """Goes on in the next file, whose positions start again."""
        self.seqno += 1
        self.rba = 1000

    def record(
        self,
        io_type: int | None,
        trans_ind: int | None,
        after: Image | None = None,
        before: Image | None = None,
        **header: Any,
    ) -> list[Any]:
        """A record of APP.ORDERS after the one before; fields of the header that are given replace its own."""
        self.rba += 100
        told = {
            "trail_name": self.name,
            "trail_seqno": self.seqno,
            "trail_rba": self.rba,
            "hdr_ind": "E",
            "undo_flag": 0,
            "rec_length": 100,
            "io_type": io_type,
            "trans_ind": trans_ind,
            "syskey_len": 0,
            # no order: it falls while the trail goes on
            "audit_rba": 9_000 - self.rba,
            "audit_pos": 7,
            "continued": "N",
            "partition_ind": 4,
            "before_after": "B" if io_type == DELETE else "A",
            "io_time": AT,
            "orig_node": 255,
            "format_type": "R",
            "incomplete": 0,
            "rec_count": 1,
            "table_name": "APP.ORDERS",
            "before_data": self._based(before),
            "after_data": self._based(after),
            "tokens": None,
        }
        assert header.keys() <= told.keys()
        return list((told | header).values())

    def _based(self, image: Image | None) -> Image | None:
        number = image.get("id") if image else None
        if image is None or number is None or not number.isdigit():
            return image
        return {**image, "id": str(self.base + int(number))}

    def half(self, trans_ind: int, before: Image, **header: Any) -> list[Any]:
        """The half before of an update."""
        return self.record(UPDATE, trans_ind, None, before, before_after="B", **header)

    def other(self, trans_ind: int, table: str = "APP.LINES", **header: Any) -> list[Any]:
        """An insert into another table."""
        return self.record(INSERT, trans_ind, row(9, "of another table"), table_name=table, **header)

    def pieces(
        self, io_type: int, trans_inds: Sequence[int], images: Sequence[Image], **header: Any
    ) -> list[list[Any]]:
        """A record in pieces, by the images of each."""
        last = len(images) - 1
        return [
            self.record(io_type if not place else FRAGMENT, trans_ind, image, continued="NY"[place < last], **header)
            for place, (trans_ind, image) in enumerate(zip(trans_inds, images, strict=True))
        ]


def position(rba: int, name: str = "rt", seqno: int = 0) -> str:
    """A position as models have it."""
    return f"{name}/{seqno:010d}/{rba:019d}"


def _operations(trail: Trail) -> Batches:
    first = [
        trail.record(INSERT, FIRST, row(1, "inserted"), tokens={"LOGCSN": "501", "TRANID": "1.2.3"}),
        trail.record(INSERT, MIDDLE, row(2, "inserted")),
        trail.record(INSERT, LAST, {"id": "3", "name": "no amount"}),
        # updates: whole, only what changed, both images, an upsert
        trail.record(UPDATE, ONLY, row(1, "updated", "2.00"), format_type="F"),
        trail.record(FIELDS, ONLY, {"id": "2", "amount": None}, tokens={"L": "502", "6": "1.2.4"}),
        trail.record(UNIFIED, ONLY, {"id": "3", "amount": "3.00"}, row(3, "no amount", None)),
        trail.record(UPSERT, ONLY, {"id": "4", "name": "upserted"}),
        trail.record(UPSERT, ONLY, {"id": "1", "name": "upserted"}),
        trail.record(11, ONLY, {"id": "4", "amount": "4.00"}),
    ]
    second = [
        # keys that move: with whole images, with the key alone, with the key's change alone
        trail.record(KEY_UPDATE, ONLY, row(11, "moved", "5.00"), row(1, "upserted", "2.00")),
        trail.record(KEY_UPDATE_32, ONLY, {"id": "12"}, {"id": "2"}),
        trail.record(UNIFIED_KEY_UPDATE, ONLY, {"id": "13", "name": "moved"}, {"id": "3"}),
        trail.record(FIELDS, ONLY, {"id": "14"}, {"id": "4"}),
        # the source undoes an insert: an ordinary delete
        trail.record(INSERT, FIRST, row(5, "undone")),
        trail.record(DELETE, LAST, None, {"id": "5"}, undo_flag=1),
        trail.record(INSERT, ONLY, row(6, "deleted")),
        trail.record(DELETE, ONLY, None, row(6, "deleted")),
        trail.record(INSERT, ONLY, row(6)),
        trail.record(DELETE, ONLY, {"id": "6"}),
        trail.record(FIELDS, ONLY, {"id": "7", "name": "no base"}),
        trail.record(KEY_UPDATE, ONLY, row(15, "from where?")),
        trail.record(FIELDS, ONLY, {"name": "key before alone"}, {"id": "14"}),
    ]
    return first, second


def _swaps(trail: Trail) -> Batches:
    return [
        trail.record(INSERT, ONLY, row(1, "a")),
        trail.record(INSERT, ONLY, row(2, "b")),
        # no transaction id: the transaction is known by its place in the trail
        trail.record(KEY_UPDATE, FIRST, {"id": "2"}, {"id": "1"}),
        trail.record(KEY_UPDATE, LAST, {"id": "1"}, {"id": "2"}),
    ], []


def _transactions(trail: Trail) -> Batches:
    first = [
        trail.record(INSERT, MIDDLE, row(90, "no start")),
        trail.record(INSERT, LAST, row(91, "no start")),
        trail.other(FIRST, tokens={"LOGCSN": "601", "TRANID": "T1"}),
        trail.record(INSERT, MIDDLE, row(1, "behind another table")),
        # a table's definition and a control record are between, and change nothing
        trail.record(METADATA, ONLY),
        trail.record(RESTART, ONLY),
        trail.record(RESTART, MIDDLE, table_name=""),
        trail.record(INSERT, LAST, row(2, "behind metadata")),
        trail.record(INSERT, LAST, row(92, "behind the end")),
        # abandoned by a writer that failed, and written again
        trail.record(INSERT, FIRST, row(93, "abandoned")),
        trail.record(UPDATE, MIDDLE, row(1, "abandoned")),
        trail.record(INSERT, FIRST, row(3, "written again")),
        trail.record(UPDATE, MIDDLE, row(1, "written again")),
        trail.record(DELETE, LAST, None, row(2)),
        trail.record(DDL, ONLY),
        trail.record(DDL, ONLY, table_name=None),
        # the end lands with the next batch, in the next file
        trail.record(INSERT, FIRST, row(4, "ends later"), tokens={"LOGCSN": "602"}),
        trail.other(MIDDLE),
    ]
    trail.next_file()
    second = [
        trail.record(UPDATE, MIDDLE, row(3, "ends later")),
        trail.other(LAST),
        trail.record(INSERT, ONLY, row(5, "in the next file")),
        trail.record(INSERT, FIRST, row(6, "open")),
        trail.other(MIDDLE),
    ]
    return first, second


def _sent_again(trail: Trail) -> Batches:
    def first() -> list[Any]:
        return trail.record(INSERT, ONLY, row(1, "a"), tokens={"LOGCSN": "98", "TRANID": "x1"})

    def second() -> list[list[Any]]:
        tokens = {"LOGCSN": "99", "TRANID": "x2"}
        return [
            trail.record(FIELDS, FIRST, {"id": "1", "name": "b"}, tokens=tokens),
            trail.other(MIDDLE),
            trail.record(INSERT, LAST, row(2, "to be deleted")),
        ]

    def third() -> list[list[Any]]:
        tokens = {"L": "100", "6": "x3"}
        return [
            trail.record(FIELDS, FIRST, {"id": "1", "name": "c"}, tokens=tokens),
            trail.record(DELETE, LAST, None, {"id": "2"}),
        ]

    def fourth() -> list[list[Any]]:
        tokens = {"LOGCSN": "101", "TRANID": "x4"}
        return [
            trail.record(UPSERT, FIRST, {"id": "3", "name": "d"}, tokens=tokens),
            trail.record(UPSERT, LAST, {"id": "3", "amount": "4.00"}),
        ]

    # the writer fails within the fourth, and begins again with the second
    batch = [first(), *second(), *third(), fourth()[0]]
    batch += [*second(), *third(), *fourth(), trail.record(INSERT, ONLY, row(4, "no tokens"))]
    trail.next_file()
    # the extract is repositioned; then what is new, of which one has a name that was used before
    later = [*second(), *third(), *fourth(), *second()]
    later += [
        trail.record(FIELDS, ONLY, {"id": "1", "name": "e"}, tokens={"LOGCSN": "102", "TRANID": "x5"}),
        trail.record(INSERT, ONLY, row(5, "x1 again"), tokens={"LOGCSN": "103", "TRANID": "x1"}),
        trail.record(INSERT, ONLY, row(6, "the same commit"), tokens={"LOGCSN": "103", "TRANID": "x6"}),
    ]
    return batch, later


def _halves(trail: Trail) -> Batches:
    lines: dict[str, Any] = {"table_name": "APP.LINES"}
    first = [
        *(trail.record(INSERT, ONLY, row(number, "inserted")) for number in (1, 2, 3, 4)),
        trail.half(FIRST, row(1, "inserted")),
        trail.record(UPDATE, MIDDLE, {"id": "1", "name": "by halves"}),
        # a half of another table and a control record are between the halves
        trail.half(MIDDLE, {"id": "2"}),
        trail.half(MIDDLE, {"id": "9"}, **lines),
        trail.record(RESTART, MIDDLE),
        trail.record(UPDATE, MIDDLE, {"id": "9"}, **lines),
        trail.record(UPDATE, MIDDLE, {"id": "12", "name": "moved by halves"}),
        # no halves after: another operation, another half, the end of the transaction
        trail.half(MIDDLE, {"id": "3"}),
        trail.record(INSERT, MIDDLE, row(5, "inserted")),
        trail.half(MIDDLE, {"id": "3"}),
        trail.half(MIDDLE, row(3, "inserted")),
        trail.record(UPDATE, MIDDLE, {"id": "3", "name": "the second half"}),
        trail.half(LAST, {"id": "4"}),
        trail.record(UPDATE, ONLY, {"id": "4", "name": "no half before"}),
    ]
    second = [
        trail.half(FIRST, {"id": "4"}),
        trail.record(FIELDS, LAST, {"name": "no key after", "amount": None}),
        trail.half(FIRST, {"id": "x"}),
        trail.record(UPDATE, LAST, {"id": "4", "name": "which key before?"}),
        # a record that cannot be read is between
        trail.half(FIRST, {"id": "5"}),
        trail.record(777, MIDDLE, row(9)),
        trail.record(UPDATE, LAST, row(15, "no half before")),
    ]
    return first, second


def _chunks(trail: Trail) -> Batches:
    first = [
        *trail.pieces(INSERT, [FIRST, MIDDLE, MIDDLE], [row(1, "one, "), {"name": "two, "}, {"name": "three"}]),
        # a column that a piece holds null of, and one that all do
        *trail.pieces(
            INSERT, [MIDDLE, MIDDLE], [{"id": "2", "name": None, "amount": None}, {"name": "b", "amount": None}]
        ),
        # a control record does not part the run
        trail.record(INSERT, MIDDLE, row(3, "before "), continued="Y"),
        trail.record(RESTART, MIDDLE),
        trail.record(LARGE, LAST, {"name": "and behind"}),
        # another table does, as does the end of the transaction
        trail.record(INSERT, FIRST, row(4, "parted"), continued="Y"),
        trail.record(FRAGMENT, MIDDLE, {"name": "by another table"}, continued="Y"),
        trail.other(MIDDLE),
        trail.record(FRAGMENT, MIDDLE, {"name": "of which record?"}),
        trail.record(INSERT, MIDDLE, row(5, "whole")),
        trail.record(INSERT, LAST, row(6, "no end"), continued="Y"),
        # halves in pieces
        trail.half(FIRST, row(1, "one, "), continued="Y"),
        trail.record(FRAGMENT, MIDDLE, None, {"name": "two, three"}),
        *trail.pieces(UPDATE, [MIDDLE, LAST], [{"id": "11", "name": "moved "}, {"name": "in pieces"}]),
        # the rest lands with the next batch
        trail.record(UPDATE, FIRST, {"id": "2", "name": "now "}, continued="Y"),
        trail.record(FRAGMENT, MIDDLE, {"name": "then "}, continued="Y"),
    ]
    second = [
        trail.record(FRAGMENT, MIDDLE, {"name": "whole"}),
        trail.record(INSERT, LAST, row(7, "inserted")),
        # a piece that cannot be read spoils the record that it is of
        trail.record(INSERT, FIRST, row(8, "a"), continued="Y"),
        trail.record(777, LAST, {"name": "b"}),
        # an empty image has no key before
        trail.half(FIRST, {"id": "5"}),
        trail.record(UPDATE, MIDDLE, {"id": "15", "name": "moved "}, {}, continued="Y"),
        trail.record(FRAGMENT, LAST, {"name": "by halves"}, {}),
    ]
    return first, second


VALUES = {
    "id": "bigint",
    "at": "timestamp",
    "day": "date",
    "price": "decimal(38,10)",
    "small": "int",
    "flag": "boolean",
    "bytes": "binary",
    "ratio": "double",
    "tokens": "string",
}


def _values() -> list[list[Any]]:
    trail = Trail()
    records = [
        trail.record(INSERT, ONLY, {"id": "1", "at": "2026-01-31:12:00:00.123456789", "day": "2026-01-31:00:00:00"}),
        trail.record(INSERT, ONLY, {"id": "2", "at": "2026-01-31 12:00:00.1", "day": "2026-01-31"}),
        trail.record(INSERT, ONLY, {"id": "3", "at": "2026-01-31T12:00:00", "day": "2026-01-31 00:00:00.000000000"}),
        trail.record(
            INSERT,
            ONLY,
            {
                "id": "4",
                "price": "1234567890123456789012345678.0123456789",
                "flag": "1",
                "bytes": "00FF",
                "small": "-1",
            },
        ),
        trail.record(INSERT, ONLY, {"id": "5", "ratio": "1e300", "tokens": "it's\\", "bytes": ""}),
        trail.record(INSERT, FIRST, {"id": "6", "at": "2026-01-31:25:00:00"}),
        # of the same transaction, and as it should be
        trail.record(INSERT, LAST, {"id": "7"}),
        trail.record(INSERT, ONLY, {"id": "8", "day": "2026-01-31:00:00:01"}),
        trail.record(INSERT, ONLY, {"id": "9", "small": "1.5"}),
        trail.record(INSERT, ONLY, {"id": "9", "price": "0.00000000001"}),
        trail.record(INSERT, ONLY, {"id": "9", "bytes": "0"}),
        trail.record(DELETE, ONLY, None, {"id": "5", "small": "no number, and of no account"}),
        trail.record(INSERT, ONLY, {"id": "10"}, io_time="no time"),
        # places in the log of the source that are no whole numbers
        trail.record(INSERT, ONLY, {"id": "10"}, audit_rba="0000002a:00000155:0001"),
        trail.record(INSERT, ONLY, {"id": "10"}, audit_pos=Decimal("7.5")),
    ]
    place = list(RECORD).index("audit_rba")
    told = [["2026-01-31:12:00:00" if value is AT else value for value in record] for record in records]
    return [[*record[:place], str(record[place]), *record[place + 1 :]] for record in told]


def _headers(trail: Trail) -> Batches:
    first = [
        trail.record(INSERT, FIRST, row(1, "in a transaction with what cannot be read")),
        trail.record(INSERT, MIDDLE, row(9), hdr_ind="X"),
        trail.record(INSERT, MIDDLE, row(9), hdr_ind=None),
        trail.record(777, MIDDLE, row(9)),
        trail.record(None, MIDDLE, row(9)),
        trail.record(INSERT, 7, row(9)),
        trail.record(INSERT, None, row(9)),
        trail.record(INSERT, MIDDLE, row(9), continued="?"),
        trail.record(INSERT, MIDDLE, row(2, "no field continued"), continued=None),
        trail.record(UPDATE, MIDDLE, row(1), before_after="C"),
        trail.record(UPDATE, MIDDLE, row(1), before_after=None),
        trail.record(INSERT, MIDDLE, row(9), trail_rba=None),
        trail.record(INSERT, MIDDLE, row(9), trail_name=""),
        trail.record(INSERT, MIDDLE, row(9), trail_seqno=-1),
        trail.record(INSERT, MIDDLE, None),
        trail.record(INSERT, MIDDLE, {}),
        trail.record(UPDATE, MIDDLE, None, row(1)),
        trail.record(DELETE, MIDDLE, None, None),
        trail.record(FIELDS, MIDDLE, {"name": "no key"}),
        trail.record(FIELDS, MIDDLE, {"id": None, "name": "null as key"}),
        trail.record(FIELDS, MIDDLE, {"id": "1x"}),
        trail.record(FIELDS, MIDDLE, {"ID": "1", "name": "not as declared"}),
        trail.record(FIELDS, MIDDLE, {"id": "1", "NAME": "not as declared"}),
        trail.record(KEY_UPDATE, MIDDLE, {"id": "9"}, {"Id": "1"}),
        trail.record(UPDATE, LAST, row(1, "the last one"), hdr_ind="X"),
        trail.record(INSERT, ONLY, row(3, "behind it")),
    ]
    # a record without a position lands once more, and is read once more
    second = [trail.record(INSERT, ONLY, row(9), trail_rba=None), trail.record(INSERT, ONLY, row(4, "second"))]
    return first, second


def _equal_rows(trail: Trail) -> Batches:
    start = trail.record(INSERT, FIRST, row(1, "landed twice"))
    half = trail.half(MIDDLE, {"id": "1"})
    other_half = trail.record(UPDATE, MIDDLE, {"id": "2"})
    pieces = trail.pieces(INSERT, [MIDDLE, MIDDLE], [row(3, "a, "), {"name": "b"}])
    differing = trail.record(INSERT, MIDDLE, row(4, "greater"))
    lesser = [*differing[:-3], None, row(4, "a lesser text"), None]
    end = trail.record(INSERT, LAST, row(5, "at the end"))
    first = [start, half, other_half, *pieces, differing, end]
    again = [end, lesser, start, *reversed(pieces), other_half, half]
    split = trail.pieces(INSERT, [FIRST, LAST], [row(6, "a, "), {"name": "b"}])
    changed = [*split[1][:-2], {"name": "other"}, None]
    later = [trail.record(INSERT, ONLY, row(7, "later")), first[0], first[-1], *split, changed]
    # copies that cannot be read keep none that can from being used
    readable = trail.record(INSERT, ONLY, row(8, "can be read"))
    without_data = [*readable[:-2], None, readable[-1]]
    without_header = [*readable[:3], "X", *readable[4:]]
    later += [without_header, without_data, readable, without_header, without_data]
    return first + again, later


def _shared(trail: Trail) -> Batches:
    first = [
        trail.record(INSERT, ONLY, row(1, "truncated")),
        trail.other(ONLY),
        trail.record(TRUNCATE, ONLY, rec_length=0, before_after="A"),
        trail.record(INSERT, ONLY, row(2, "behind")),
        trail.other(ONLY, "APP.OTHERS"),
        trail.record(METADATA, ONLY, table_name="APP.OTHERS"),
        trail.record(METADATA, ONLY, table_name=None),
        trail.record(DDL, ONLY, table_name=""),
        trail.record(INSERT, ONLY, row(9), table_name=None),
        trail.record(777, ONLY, row(9), table_name=None),
        trail.record(RESTART, ONLY, table_name=None),
        # names as the trail has them
        trail.other(ONLY, "app.lines"),
    ]
    return first, [trail.other(ONLY, "APP.LINES"), trail.record(UPDATE, ONLY, row(2, "updated"))]


def _padded() -> list[list[Any]]:
    trail = Trail()
    return [
        trail.record(INSERT, ONLY, {"code": "AB   ", "name": "padded"}),
        trail.record(FIELDS, ONLY, {"code": "AB", "name": "plain"}),
        trail.record(INSERT, ONLY, {"code": "CD   ", "name": "moves"}),
        trail.record(KEY_UPDATE, ONLY, {"code": "EF   ", "name": "moves"}, {"code": "CD"}),
        trail.record(DELETE, ONLY, None, {"code": "EF"}),
    ]


def _cased() -> list[list[Any]]:
    trail = Trail()
    return [
        trail.record(INSERT, ONLY, {"ID": "1", "NAME": "upper", "AMOUNT": "1.00"}),
        trail.record(FIELDS, ONLY, {"Id": "1", "Amount": None}),
        trail.record(INSERT, ONLY, {"ID": "2", "NAME": "upper", "name": "lower"}),
        trail.record(KEY_UPDATE, ONLY, {"ID": "3"}, {"ID": "1"}),
        trail.record(KEY_UPDATE, ONLY, {"ID": "4"}, {"ID": "3", "id": "2"}),
    ]


def _several_trails(a: Trail) -> Batches:
    b, c = Trail("vb", a.base), Trail("vc", a.base)
    first = [
        a.record(INSERT, FIRST, row(1, "open in va")),
        b.record(INSERT, FIRST, row(2, "whole in vb")),
        b.record(INSERT, LAST, row(3, "whole in vb")),
    ]
    second = [
        a.record(INSERT, LAST, row(4, "ends va")),
        b.record(INSERT, ONLY, row(5, "later in vb")),
        c.record(INSERT, ONLY, row(6, "a new trail")),
    ]
    return first, second


NOON = "2026-01-31 12:00:00"
QUOTED = "aa\\dirdat\\r't"
LOADED = [(number, "loaded", Decimal("1.00")) for number in (1, 2, 3)]


def _behind_a_load() -> Batches:
    trail = Trail()
    first = [
        trail.record(INSERT, ONLY, row(4, "before the load")),
        trail.record(UPDATE, ONLY, row(1, "behind the load")),
    ]
    return first, [trail.record(DELETE, ONLY, None, {"id": "2"})]


def _full_images() -> Batches:
    """A trail with a name that SQL must not read otherwise, a truncate, and records that land again as other ones."""
    trail, earlier = Trail(QUOTED), Trail("Bb")
    first = [
        trail.record(INSERT, FIRST, row(1, "a", "1.00")),
        trail.record(UPDATE, LAST, {"id": "1", "name": "truncated"}),
        trail.record(TRUNCATE, ONLY, rec_length=0, before_after="A"),
        trail.record(INSERT, ONLY, row(2, "a")),
        trail.record(UPDATE, ONLY, {"id": "2", "name": "b"}),
        trail.record(UPDATE, ONLY, row(3, "an update")),
        trail.record(INSERT, ONLY, row(4, "timed") | {"at": f"{NOON}.000002"}),
        trail.record(DELETE, ONLY, None, {"id": "2"}),
        trail.record(INSERT, ONLY, row(6, "timed") | {"at": f"{NOON}.000008"}),
    ]
    *_, update, timed, delete, timed_too = first
    update_again = trail.record(INSERT, ONLY, row(3, "then an insert"), trail_rba=update[2])
    timed_again = trail.record(INSERT, ONLY, timed[-2] | {"at": f"{NOON}.000001"}, trail_rba=timed[2])
    timed_too_again = trail.record(INSERT, ONLY, timed_too[-2] | {"at": f"{NOON}.000009"}, trail_rba=timed_too[2])
    second = [
        update_again,
        delete,
        timed_again,
        timed_too_again,
        # a name that sorts before, though its first letter does not: what is after its truncate is before the other's
        earlier.record(TRUNCATE, ONLY, rec_length=0, before_after="A"),
        earlier.record(INSERT, ONLY, row(5, "before the truncate")),
    ]
    return first, second


PLACES = {"region": "string", "number": "int", "name": "string"}


def _composite() -> list[list[Any]]:
    trail = Trail()
    return [
        trail.record(INSERT, ONLY, {"region": None, "number": "1", "name": "null in the key"}),
        trail.record(FIELDS, ONLY, {"region": None, "number": "1", "name": "updated"}),
        trail.record(FIELDS, ONLY, {"number": "1", "name": "which region?"}),
        trail.record(FIELDS, ONLY, {"region": "eu", "name": "updated"}, {"region": None, "number": "1"}),
    ]


@dataclass(frozen=True)
class Story:
    """What a trail has, in two batches, of ids of its own; else as in `Case`, with ids from 1 on."""

    name: str
    trails: Sequence[str]
    base: int
    batches: Batches
    reasons: Mapping[tuple[str, str | None], int]
    current: Sequence[set[tuple[Any, ...]]]
    reported: set[tuple[str, str]] = field(default_factory=set)


def _rows(*rows: tuple[int, str, str | None] | tuple[int, str]) -> set[tuple[Any, ...]]:
    """Rows of (id, name, amount), whose amount is 1.50 where none is given."""
    return {row if len(row) == 3 else (*row, "1.50") for row in rows}


STORIES = [
    # its truncate comes before every record of the other trails
    Story(
        "truncate",
        ["aa"],
        100,
        _shared(Trail("aa", 100)),
        {("accepted", None): 4},
        [_rows((2, "behind")), _rows((2, "updated"))],
    ),
    Story(
        "operations",
        ["op"],
        200,
        _operations(Trail("op", 200)),
        {("accepted", None): 22},
        [
            _rows((1, "upserted", "2.00"), (2, "inserted", None), (3, "no amount", "3.00"), (4, "upserted", "4.00")),
            _rows(
                (11, "moved", "5.00"),
                (12, "inserted", None),
                (13, "moved", "3.00"),
                (14, "key before alone", "4.00"),
                (15, "from where?"),
            ),
        ],
        {(position(3000, "op"), "orphan"), (position(3100, "op"), "key_move_without_before")},
    ),
    Story("swaps", ["sw"], 300, _swaps(Trail("sw", 300)), {("accepted", None): 4}, [_rows((2, "a"), (1, "b"))] * 2),
    Story(
        "transactions",
        ["tx"],
        400,
        _transactions(Trail("tx", 400)),
        {
            ("accepted", None): 8,
            ("ignored", "metadata"): 1,
            ("ignored", "control_record"): 1,
            ("ignored", "ddl_record"): 1,
            ("ignored", "transaction_abandoned"): 2,
            ("rejected", "transaction_start_missing"): 3,
            ("waiting", "transaction_open"): 1,
        },
        [
            _rows((1, "written again"), (3, "written again")),
            _rows((1, "written again"), (3, "ends later"), (4, "ends later"), (5, "in the next file")),
        ],
    ),
    Story(
        "sent_again",
        ["sa"],
        1100,
        _sent_again(Trail("sa", 1100)),
        {
            ("accepted", None): 11,
            ("ignored", "transaction_abandoned"): 1,
            ("ignored", "transaction_repeated"): 12,
        },
        [
            _rows((1, "c"), (3, "d", "4.00"), (4, "no tokens")),
            _rows((1, "e"), (3, "d", "4.00"), (4, "no tokens"), (5, "x1 again"), (6, "the same commit")),
        ],
    ),
    Story(
        "halves",
        ["ha"],
        500,
        _halves(Trail("ha", 500)),
        {
            ("accepted", None): 11,
            ("merged", "before_image"): 5,
            ("ignored", "control_record"): 1,
            ("rejected", "after_half_missing"): 4,
            ("rejected", "value_does_not_fit"): 1,
            ("rejected", "unknown_operation"): 1,
        },
        [
            _rows(
                (1, "by halves"),
                (12, "moved by halves"),
                (3, "the second half"),
                (4, "no half before"),
                (5, "inserted"),
            ),
            _rows(
                (1, "by halves"),
                (12, "moved by halves"),
                (3, "the second half"),
                (4, "no key after", None),
                (5, "inserted"),
                (15, "no half before"),
            ),
        ],
    ),
    Story(
        "chunks",
        ["ch"],
        600,
        _chunks(Trail("ch", 600)),
        {
            ("accepted", None): 8,
            ("merged", "chunk"): 9,
            ("merged", "before_image"): 2,
            ("ignored", "control_record"): 1,
            ("rejected", "chunk_run_broken"): 4,
            ("rejected", "unknown_operation"): 2,
        },
        [
            _rows((11, "moved in pieces"), (2, "b", None), (3, "before and behind"), (5, "whole")),
            _rows(
                (11, "moved in pieces"),
                (2, "now then whole", None),
                (3, "before and behind"),
                (15, "moved by halves"),
                (7, "inserted"),
            ),
        ],
    ),
    Story(
        "headers",
        ["he", ""],
        700,
        _headers(Trail("he", 700)),
        {
            ("accepted", None): 4,
            ("rejected", "header_malformed"): 8,
            ("rejected", "unknown_operation"): 2,
            ("rejected", "position_missing"): 4,
            ("rejected", "data_missing"): 4,
            ("rejected", "key_missing"): 2,
            ("rejected", "column_not_declared"): 3,
            ("rejected", "value_does_not_fit"): 1,
        },
        [
            _rows((1, "in a transaction with what cannot be read"), (2, "no field continued"), (3, "behind it")),
            _rows(
                (1, "in a transaction with what cannot be read"),
                (2, "no field continued"),
                (3, "behind it"),
                (4, "second"),
            ),
        ],
    ),
    Story(
        "copies",
        ["co"],
        800,
        _equal_rows(Trail("co", 800)),
        {
            ("accepted", None): 15,
            ("merged", "before_image"): 2,
            ("merged", "chunk"): 4,
            ("rejected", "data_missing"): 2,
            ("rejected", "header_malformed"): 2,
        },
        [
            _rows((2, "landed twice"), (3, "a, b"), (4, "greater"), (5, "at the end")),
            _rows(
                (2, "landed twice"),
                (3, "a, b"),
                (4, "greater"),
                (5, "at the end"),
                (6, "a, other"),
                (7, "later"),
                (8, "can be read"),
            ),
        ],
        {(position(1600, "co"), "conflicting_content"), (position(1800, "co"), "conflicting_content")},
    ),
    Story(
        "several_trails",
        ["va", "vb", "vc"],
        900,
        _several_trails(Trail("va", 900)),
        {("accepted", None): 6},
        [
            _rows((2, "whole in vb"), (3, "whole in vb")),
            _rows(
                (1, "open in va"),
                (2, "whole in vb"),
                (3, "whole in vb"),
                (4, "ends va"),
                (5, "later in vb"),
                (6, "a new trail"),
            ),
        ],
    ),
]


def _together(what: Sequence[Mapping[Any, int]]) -> dict[Any, int]:
    counts: Counter[Any] = Counter()
    for each in what:
        counts.update(each)
    return dict(counts)


def _case(
    name: str,
    batches: Batches,
    reasons: Mapping[tuple[str, str | None], int],
    *current: set[tuple[Any, ...]],
    shown: str = "id, name, cast(amount as string)",
    reported: set[tuple[str, str]] | None = None,
    columns: Mapping[str, str] = COLUMNS,
    identifier: str | None = None,
    landed_as: str = TABLE_FORMAT,
    landed_columns: Mapping[str, str] = RECORD,
    **spec: Any,
) -> Case:
    return Case(
        Entry(
            name,
            SPEC | spec,
            columns,
            tests={"dedup": ["change_tables.raw_rows_accounted_for"]},
            identifier=identifier,
        ),
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
        "orders",
        (
            [row for story in STORIES for row in story.batches[0]],
            [row for story in STORIES for row in story.batches[1]],
        ),
        _together([story.reasons for story in STORIES]),
        *(
            {(story.base + id_, name, amount) for story in STORIES for id_, name, amount in story.current[batch]}
            for batch in (0, 1)
        ),
        # the trail before it, op, has higher commit numbers
        reported=set.union(*(story.reported for story in STORIES)) | {(position(1100, "sa"), "csn_out_of_order")},
    ),
    _case(
        "lines",
        ([], []),
        {
            ("accepted", None): 8,
            ("ignored", "transaction_repeated"): 3,
            ("merged", "before_image"): 1,
            ("waiting", "transaction_open"): 1,
        },
        _rows(*((number, "of another table") for number in (109, 409, 609, 1109))),
        _rows(*((number, "of another table") for number in (109, 409, 609, 1109))),
        reported={(position(2000, "ha"), "orphan")},
        identifier="orders",
        table_name="APP.LINES",
    ),
    _case(
        "values",
        (_values(), []),
        {("accepted", None): 7, ("rejected", "value_does_not_fit"): 8},
        {
            (1, "2026-01-31 12:00:00.123456", "2026-01-31", None, None, None, None),
            (2, "2026-01-31 12:00:00.1", "2026-01-31", None, None, None, None),
            (3, "2026-01-31 12:00:00", "2026-01-31", None, None, None, None),
            (4, None, None, "1234567890123456789012345678.0123456789", -1, True, "00FF"),
            (7, None, None, None, None, None, None),
        },
        shown="id, cast(at as string), cast(day as string), cast(price as string), small, flag, hex(bytes)",
        columns=VALUES,
        landed_columns=RECORD | {"io_time": "string", "audit_rba": "string", "audit_pos": "decimal(38,10)"},
    ),
    _case(
        "padded",
        (_padded(), []),
        {("accepted", None): 5},
        {("AB", "plain")},
        shown="code, name",
        columns={"code": "char(5)", "name": "string"},
        key=["code"],
    ),
    _case(
        "cased",
        (_cased(), []),
        {("accepted", None): 3, ("rejected", "column_names_collide"): 2},
        {(3, "upper", None)},
        column_names="ignore_case",
    ),
    _case(
        "behind_a_load",
        _behind_a_load(),
        {("accepted", None): 6},
        _rows((1, "behind the load"), (2, "loaded", "1.00"), (3, "loaded", "1.00")),
        _rows((1, "behind the load"), (3, "loaded", "1.00")),
        snapshot="loaded",
        snapshot_seq=position(1150),
        landed_as="delta",
    ),
    _case(
        "full_images",
        _full_images(),
        {("accepted", None): 15},
        {(3, "an update", None), (4, "timed", f"{NOON}.000002"), (6, "timed", f"{NOON}.000008")},
        {(3, "then an insert", None), (4, "timed", f"{NOON}.000002"), (6, "timed", f"{NOON}.000009")},
        shown="id, name, cast(at as string)",
        columns=COLUMNS | {"at": "timestamp"},
        reported={(position(rba, QUOTED), "conflicting_content") for rba in (1600, 1700, 1900)},
        images="full",
        arrival="none",
    ),
    _case(
        "composite",
        (_composite(), []),
        {("accepted", None): 3, ("rejected", "key_missing"): 1},
        {("eu", 1, "updated", "2026-01-31 12:00:00.25")},
        shown="region, number, name, cast(_changed_at as string)",
        columns=PLACES,
        key=["region", "number"],
        landed_columns=RECORD | {"io_time": "timestamp_ntz"},
    ),
]

UNCLAIMED = [
    (position(1500, "aa"), "ignored", "table_not_declared"),
    (position(1600, "aa"), "ignored", "table_not_declared"),
    (position(1700, "aa"), "ignored", "no_table"),
    (position(1800, "aa"), "ignored", "no_table"),
    (position(1900, "aa"), "rejected", "table_unknown"),
    (position(2000, "aa"), "rejected", "table_unknown"),
    (position(2100, "aa"), "ignored", "no_table"),
    (position(2200, "aa"), "ignored", "table_not_declared"),
    (position(1700, "tx"), "ignored", "no_table"),
    (position(2600, "tx"), "ignored", "no_table"),
]
"""Records of the shared raw table that neither entry stages: position, status, code."""
