"""Small hand-made change tables and tracking tables of OpenEdge, by the format page: what lands, and what comes of it.

Most of it is one change table: each story has a thousand sequences and a hundred ids of its own, so one build tells
all.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .cases import Case
from .consumer import Entry

AT = dt.datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=dt.UTC)
TRACKING = {
    "_Policy-Id": "string",
    "_Tran-Id": "int",
    "_Time-Stamp": "timestamp",
    "_Change-Sequence": "bigint",
    "_Operation": "int",
    "_Change-FieldMap": "string",
    "_Recid": "bigint",
    "_Source-Table-Number": "int",
    "_Partition-Id": "int",
    "_Tenant-Id": "int",
    "_User-Misc": "string",
    "_User-Name": "string",
}
HEADERS = {
    "_Tran-Id": "int",
    "_Time-Stamp": "timestamp",
    "_Change-Sequence": "bigint",
    "_Continuation-Position": "int",
    "_ArrayIndex": "int",
    "_Fragment": "int",
    "_Operation": "int",
}
COLUMNS = {
    "id": "bigint",
    "name": "string",
    "amount": "decimal(10,2)",
    "tags": "array<string>",
    "counts": "array<int>",
}
LANDED = {"id": "bigint", "name": "string", "amount": "string", "tags": "string", "counts": "string"}
NOT_DECLARED = {"notes": "string"}
"""A raw column of the source table that no entry declares."""
SPEC = {"format": "openedge_cdc", "key": ["id"], "tracking": "tracking", "policy_level": 3}
SHOWN = "id, name, cast(amount as string), to_json(tags), to_json(counts)"
CREATE, DELETE, BEFORE, AFTER = 1, 2, 3, 4
Row = tuple[int, str | None, str | None, str | None, str | None]


class Feed:
    """The rows of one table in two batches: `batch` is the one that they go to. Ids and sequences count from `base`."""

    def __init__(self, table_number: int, base: int = 0) -> None:
        self.table_number = table_number
        self.base = base
        self.batch = 0
        self.changes: tuple[list[list[Any]], list[list[Any]]] = ([], [])
        self.tracking: tuple[list[list[Any]], list[list[Any]]] = ([], [])

    def change(
        self,
        operation: int | None,
        sequence: int | None,
        id_: int | None,
        *values: str | None,
        position: int | None = 0,
        index: int | None = 0,
        fragment: int | None = 0,
        transaction: int = 7,
    ) -> None:
        """A row of the change table: id, name, amount, tags, counts, as far as given."""
        padded = [*values, None, None, None, None][:4]
        number = None if sequence is None else self.sequence(sequence) if sequence >= 0 else sequence
        row = [transaction, AT, number, position, index, fragment, operation]
        self.changes[self.batch].append([*row, None if id_ is None else self.base + id_, *padded])

    def track(
        self,
        operation: int | None,
        sequence: int | None,
        field_map: str | None = "",
        recid: int | None = 501,
        partition: int | None = 0,
        **others: Any,
    ) -> None:
        """A row of the tracking table."""
        told = {
            "_Policy-Id": "policy",
            "_Tran-Id": 7,
            "_Time-Stamp": AT,
            "_Change-Sequence": None if sequence is None else self.sequence(sequence),
            "_Operation": operation,
            "_Change-FieldMap": field_map,
            "_Recid": recid,
            "_Source-Table-Number": self.table_number,
            "_Partition-Id": partition,
            "_Tenant-Id": 0,
            "_User-Misc": None,
            "_User-Name": "user",
        }
        assert others.keys() <= told.keys()
        self.tracking[self.batch].append(list((told | others).values()))

    def both(
        self,
        operation: int,
        sequence: int,
        id_: int | None,
        *values: str | None,
        field_map: str | None = "",
        **header: Any,
    ) -> None:
        """A change row with its tracking row."""
        self.change(operation, sequence, id_, *values, **header)
        self.track(operation, sequence, field_map)

    def sequence(self, number: int) -> int:
        """A sequence of this story."""
        return self.base * 10 + number


def seq(number: int) -> str:
    """A sequence as models have it."""
    return f"{number:019d}"


Reasons = Mapping[tuple[str, str | None], int]


@dataclass(frozen=True)
class Story:
    """What one range of ids goes through: counts by (status, code), the rows after each batch, what is reported."""

    base: int
    tell: Callable[[Feed], None]
    reasons: Reasons
    current: tuple[set[Row], set[Row]]
    reported: set[tuple[int, str]] = field(default_factory=set)
    passes: bool = False
    """Whether no row of the first batch waits, so that the watermark passes it, and a later run reads new rows only."""

    @property
    def name(self) -> str:
        """The name of the function that writes it."""
        return self.tell.__name__.removeprefix("_")


def _operations(feed: Feed) -> None:
    feed.both(CREATE, 1, 1, "a", "1.50", "x;y;z", "1;2")
    feed.both(CREATE, 2, 2, "b", "1.50", field_map="id;name;amount")
    feed.both(CREATE, 3, 3, "c", "1.50")
    # sparse: a null that the map does not name keeps the value
    feed.both(AFTER, 4, 1, None, "2.00", field_map="amount")
    # named and null is unknown, in any case of letters
    feed.both(AFTER, 5, 2, None, "2.00", field_map="NAME; Amount")
    # nothing changed
    feed.both(AFTER, 6, 3, field_map="")
    feed.batch = 1
    # not known: nulls keep
    feed.both(AFTER, 7, 2, "b2", field_map=None)
    # names that no column has, and one of a raw column that is not declared
    feed.both(AFTER, 8, 3, "c2", None, field_map="elsewhere;name;Notes;Else-Where")
    # a delete has at least the identifying fields
    feed.both(DELETE, 9, 1)
    feed.both(CREATE, 10, 4, "d")
    feed.both(DELETE, 11, 4)
    feed.both(CREATE, 12, 4, None, "4.00")
    # no base
    feed.both(AFTER, 13, 5, "no base", field_map="name")


def _moves(feed: Feed) -> None:
    feed.both(CREATE, 1, 1, "one", "1.00")
    feed.change(BEFORE, 2, 1, "one")
    feed.both(AFTER, 2, 2, field_map="id")
    # a before image never wins, whatever it holds
    feed.change(BEFORE, 3, 2, "before")
    feed.both(AFTER, 3, 2, "after", field_map="name")
    # an after image without a key gets that of the before image
    feed.both(CREATE, 4, 6, "six", "1.00")
    feed.change(BEFORE, 5, 6, "six")
    feed.both(AFTER, 5, None, "six again", field_map="name")
    feed.batch = 1
    # rows that exchange their keys in one transaction
    feed.both(CREATE, 6, 7, "seven")
    feed.both(CREATE, 7, 8, "eight")
    feed.change(BEFORE, 8, 7, transaction=9)
    feed.both(AFTER, 8, 8, field_map="id", transaction=9)
    feed.change(BEFORE, 9, 8, transaction=9)
    feed.both(AFTER, 9, 7, field_map="id", transaction=9)


def _late_before_images(feed: Feed) -> None:
    feed.both(CREATE, 1, 1, "one")
    feed.both(CREATE, 2, 3, "three")
    # applied without waiting: the old key lives on until the before image names it
    feed.both(AFTER, 3, 2, "two", field_map="id;name")
    # and this one never comes; of two reports the graver counts
    feed.both(AFTER, 4, 4, "four", field_map="name;ID;elsewhere")
    # once the key is known, the other is left
    feed.both(CREATE, 5, 5, "five")
    feed.both(AFTER, 6, 6, "six", field_map="id;name;elsewhere")
    feed.batch = 1
    feed.change(BEFORE, 3, 1, "one")
    feed.change(BEFORE, 6, 5, "five")


def _late_parts(feed: Feed) -> None:
    # a lone first part looks like a whole record
    feed.both(CREATE, 1, 1, "first half")
    feed.both(CREATE, 2, 2, "of two")
    feed.both(CREATE, 3, 3, "to clash")
    feed.both(CREATE, 4, 4, "copied")
    feed.both(CREATE, 9, 9, "the newest")
    feed.batch = 1
    feed.change(CREATE, 1, None, None, "1.00", position=2)
    feed.change(CREATE, 2, 2, ", joined", "2.00", position=1, fragment=1)
    feed.change(CREATE, 3, None, "not the same", position=3)
    feed.change(CREATE, 4, 4, "copied")


def _keys_that_turn_out_to_be_others(feed: Feed) -> None:
    feed.both(CREATE, 1, 1, "delivered")
    feed.both(CREATE, 2, 3, "the newest")
    feed.batch = 1
    feed.change(CREATE, 1, 2, "delivered otherwise")


def _operations_that_turn_out_to_contradict(feed: Feed) -> None:
    feed.both(CREATE, 1, 1, "created")
    feed.both(CREATE, 2, 2, "created")
    feed.batch = 1
    feed.change(DELETE, 1, 1)


def _two_parts(feed: Feed) -> None:
    # cut between two fields, the key in both parts
    feed.both(CREATE, 1, 1, "whole")
    feed.change(CREATE, 1, 1, None, "1.00", "x;y;z", position=2)
    # cut inside a field
    feed.both(CREATE, 2, 2, "ab")
    feed.change(CREATE, 2, 2, "cd", "2.00", position=1, fragment=1)
    # the first part has it
    feed.both(CREATE, 3, 3, "same", fragment=1)
    feed.change(CREATE, 3, None, "same", "3.00", position=1)
    # cut between the elements of an extent
    feed.both(CREATE, 4, 4, "elements", "4.00", "x;y~;", index=2)
    feed.change(CREATE, 4, None, None, None, "~?", "1;?", position=3, index=2)
    # those after the cut are of the second part
    feed.both(CREATE, 5, 5, "padded", "5.00", "x;?;?")
    feed.change(CREATE, 5, None, None, None, "y;z", position=3, index=1)
    # cut inside an element, and inside an escape
    feed.both(CREATE, 6, 6, "inside", "6.00", "x;y~")
    feed.change(CREATE, 6, None, None, None, ";;z", position=3, index=2, fragment=1)
    # the declared extent shows what is left for the second part
    feed.both(CREATE, 8, 8, "cut short", "8.00", "x")
    feed.change(CREATE, 8, None, None, None, "y;z;", position=3, index=1)
    # one of several readings is taken by the place of the cut, where the first part cannot be the whole extent
    feed.both(CREATE, 9, 9, "before the cut", "9.00", "x~~;y", index=1)
    feed.change(CREATE, 9, None, None, None, "z~~;w;v", position=3)
    feed.both(CREATE, 10, 10, "at the cut", "10.00", "x~~;y", index=2)
    feed.change(CREATE, 10, None, None, None, "z~", position=3)
    feed.both(CREATE, 11, 11, "padded?", "11.00", "x~~;y;?", index=1)
    feed.change(CREATE, 11, None, None, None, "y;z", position=3)
    # a `~` at the end of the first part is data
    feed.both(CREATE, 12, 12, "tilde", "12.00", "x~", index=1)
    feed.change(CREATE, 12, None, None, None, "y;z", position=3)
    feed.both(CREATE, 13, 13, "too many", "13.00", "x~", index=1)
    feed.change(CREATE, 13, None, None, None, "y;z;w", position=3)
    # an update in two parts, and its before image as well
    feed.change(BEFORE, 7, 1)
    feed.change(BEFORE, 7, None, "whole", "1.00", position=1)
    feed.both(AFTER, 7, 7, field_map="id;tags;amount")
    feed.change(AFTER, 7, None, None, None, "1;2;3", position=2)


def _broken_parts(feed: Feed) -> None:
    feed.both(CREATE, 1, 1, "a")
    feed.change(CREATE, 1, None, "b", "1.00", position=2)
    # the field at the cut is another one
    feed.both(CREATE, 2, 2, "a")
    feed.change(CREATE, 2, None, "b", "1.00", position=2, fragment=1)
    # one field is at the cut, one more differs
    feed.both(CREATE, 3, 3, "a", "1.00")
    feed.change(CREATE, 3, None, "b", "2.00", position=1, fragment=1)
    # three parts; two that go on
    feed.both(CREATE, 4, 4, "a")
    feed.change(CREATE, 4, None, None, "1.00", position=2)
    feed.change(CREATE, 4, None, None, None, "x;y;z", position=3)
    feed.change(CREATE, 5, 5, "a", position=2)
    feed.change(CREATE, 5, None, None, "1.00", position=3)
    feed.track(CREATE, 5)
    # all parts of a change: the before image, too
    feed.change(BEFORE, 6, 6, "a")
    feed.change(BEFORE, 6, None, "b", position=3)
    feed.both(AFTER, 6, 6, "c", field_map="name")


def _waiting_parts(feed: Feed) -> None:
    # a part that is marked as cut, and one that continues it
    feed.both(CREATE, 1, 1, "cut ", fragment=1)
    feed.both(CREATE, 2, 2, "cut", "2.00", "x", index=1)
    feed.change(CREATE, 3, None, None, "3.00", position=2)
    feed.track(CREATE, 3)
    # a lone before image, and one of which a part is missing, which keeps nothing from being applied
    feed.change(BEFORE, 4, 4, "before")
    feed.track(AFTER, 4)
    feed.change(BEFORE, 5, None, "before", position=1)
    feed.both(AFTER, 5, 1, "no base", field_map="name")
    # these stay
    feed.both(CREATE, 6, 6, "for ever", fragment=1)
    feed.change(BEFORE, 7, 7)
    feed.track(AFTER, 7)
    feed.change(AFTER, 8, None, None, "8.00", position=2)
    feed.track(AFTER, 8)
    feed.batch = 1
    feed.change(CREATE, 1, None, "in two", "1.00", position=1)
    feed.change(CREATE, 2, None, None, None, "y;z", position=3)
    feed.change(CREATE, 3, 3, "the first")
    feed.change(AFTER, 4, 4, "after")


def _tracking(feed: Feed) -> None:
    # one without the other, and the other lands
    feed.change(CREATE, 1, 1, "change row first")
    feed.track(CREATE, 2)
    # and does not
    feed.change(CREATE, 3, 3, "no tracking row")
    feed.change(BEFORE, 4, 3, "no tracking row")
    feed.change(AFTER, 4, 3, "no tracking row")
    feed.track(DELETE, 5)
    # they contradict each other
    feed.change(AFTER, 6, 6, "update?")
    feed.track(CREATE, 6)
    feed.change(BEFORE, 7, 7, "update?")
    feed.change(AFTER, 7, 7, "update?")
    feed.track(DELETE, 7)
    feed.change(AFTER, 8, 8, "update?")
    feed.track(BEFORE, 8)
    feed.change(DELETE, 9, 9)
    feed.track(7, 9)
    feed.change(CREATE, 10, 10, "create?")
    feed.both(DELETE, 10, 10)
    feed.change(BEFORE, 11, 11)
    feed.both(CREATE, 11, 11, "create?")
    # tracking rows without change rows
    feed.track(BEFORE, 12)
    feed.track(13, 13)
    feed.track(None, 14)
    feed.track(CREATE, None)
    feed.batch = 1
    feed.track(CREATE, 1)
    feed.change(CREATE, 2, 2, "tracking row first")


def _headers(feed: Feed) -> None:
    feed.change(CREATE, None, 1, "no sequence")
    feed.change(CREATE, -1, 2, "negative")
    feed.both(CREATE, 1, 3, "created")
    feed.change(7, 2, 4, "a partition?")
    feed.change(None, 3, 5, "no operation")
    feed.both(CREATE, 4, 6, "position", position=-1)
    feed.both(CREATE, 5, 7, "index", index=-1)
    feed.both(CREATE, 6, 8, "fragment", fragment=2)
    # none of them known
    feed.both(CREATE, 7, 9, "nulls", position=None, index=None, fragment=None)


def _values(feed: Feed) -> None:
    feed.both(CREATE, 1, 1, "escapes", "1.00", "a~;b;~?;~~", "1;?;3")
    feed.both(CREATE, 2, 2, "unknown", "1.00", "?", "?")
    feed.both(CREATE, 3, 3, "closed", "1.00", "a;b;?;", "7")
    feed.both(CREATE, 4, 4, "too few", "1.00", "a;b")
    feed.both(CREATE, 5, 5, "too many", "1.00", "a;b;c;d")
    feed.both(CREATE, 6, 6, "too many readings", "1.00", "a~~;b~~;c;d")
    feed.both(CREATE, 7, 7, "no number", "1.00", "a;b;c", "1;x")
    feed.both(CREATE, 8, 8, "no whole number", "1.00", "a;b;c", "1;1.5")
    feed.both(CREATE, 9, 9, "no decimal", "1.005")
    feed.both(CREATE, 10, None, "no key")
    feed.change(BEFORE, 11, 11)
    feed.both(AFTER, 11, 11, "no decimal", "x", field_map="amount")
    # of a delete only the key is looked at
    feed.both(CREATE, 12, 12, "deleted")
    feed.both(DELETE, 13, 12, None, "x", "too few")
    # an extent that is named and null, and one that is not named
    feed.both(CREATE, 14, 14, "extents", "1.00", "a;b;c", "1;2")
    feed.both(AFTER, 15, 14, field_map="tags")
    # a `~` that escapes nothing, and the extent decides how many elements `~~;` makes
    feed.both(CREATE, 16, 16, "tildes", "1.00", "aa~aa;~b;c~")
    feed.both(CREATE, 17, 17, "inside", "1.00", "aa~~;aa;b;c")
    feed.both(CREATE, 18, 18, "between", "1.00", "aa~~;aa;b")


def _equal_rows(feed: Feed) -> None:
    for _ in range(2):
        feed.both(CREATE, 1, 1, "twice")
        feed.change(CREATE, 1, None, None, "1.00", position=2)
    feed.both(CREATE, 2, 2, "lesser")
    feed.change(CREATE, 2, 2, "most")
    feed.both(CREATE, 3, 3, "one")
    feed.batch = 1
    feed.both(CREATE, 3, 3, "other")


def _events(feed: Feed) -> None:
    for operation in range(5, 13):
        feed.track(operation, operation, "name" if operation in (5, 12) else None, None, 100 + operation)


ACCEPTED = ("accepted", None)
CHUNK, BEFORE_IMAGE = ("merged", "chunk"), ("merged", "before_image")
CLASH, BROKEN = ("rejected", "parts_clash"), ("rejected", "continuation_broken")
CONTRADICT = ("rejected", "operations_contradict")
MISFIT = ("rejected", "value_does_not_fit")


def row(
    id_: int, name: str | None, amount: str | None = None, tags: str | None = None, counts: str | None = None
) -> Row:
    """A row of the current model; arrays as JSON."""
    return id_, name, amount, tags, counts


STORIES = [
    Story(
        100,
        _operations,
        {ACCEPTED: 13},
        (
            {row(1, "a", "2.00", '["x","y","z"]', "[1,2]"), row(2, None, "2.00"), row(3, "c", "1.50")},
            {row(2, "b2", "2.00"), row(3, "c2", "1.50"), row(4, None, "4.00")},
        ),
        {(8, "unknown_field"), (13, "orphan")},
        passes=True,
    ),
    Story(
        200,
        _moves,
        {ACCEPTED: 9, BEFORE_IMAGE: 5},
        (
            {row(2, "after", "1.00"), row(6, "six again", "1.00")},
            {row(2, "after", "1.00"), row(6, "six again", "1.00"), row(8, "seven"), row(7, "eight")},
        ),
        passes=True,
    ),
    Story(
        300,
        _late_before_images,
        {ACCEPTED: 6, BEFORE_IMAGE: 2},
        (
            {row(1, "one"), row(3, "three"), row(5, "five")},
            {row(2, "two"), row(3, "three"), row(6, "six")},
        ),
        {(4, "key_move_without_before"), (4, "orphan"), (6, "unknown_field")},
        passes=True,
    ),
    Story(
        400,
        _late_parts,
        {ACCEPTED: 5, CHUNK: 2, CLASH: 2},
        (
            {row(1, "first half"), row(2, "of two"), row(3, "to clash"), row(4, "copied"), row(9, "the newest")},
            {row(1, "first half", "1.00"), row(2, "of two, joined", "2.00"), row(4, "copied"), row(9, "the newest")},
        ),
        passes=True,
    ),
    Story(
        500,
        _operations_that_turn_out_to_contradict,
        {ACCEPTED: 1, CONTRADICT: 2},
        ({row(1, "created"), row(2, "created")}, {row(2, "created")}),
        passes=True,
    ),
    Story(
        1400,
        _keys_that_turn_out_to_be_others,
        {ACCEPTED: 3},
        (
            {row(1, "delivered"), row(3, "the newest")},
            {row(2, "delivered otherwise"), row(3, "the newest")},
        ),
        {(1, "conflicting_content")},
        passes=True,
    ),
    Story(
        600,
        _two_parts,
        {ACCEPTED: 11, CHUNK: 12, BEFORE_IMAGE: 1, MISFIT: 4},
        (
            {
                row(2, "abcd", "2.00"),
                row(3, "samesame", "3.00"),
                row(4, "elements", "4.00", '["x","y;","?"]', "[1,null]"),
                row(5, "padded", "5.00", '["x","y","z"]'),
                row(6, "inside", "6.00", '["x","y;","z"]'),
                row(7, "whole", None, '["1","2","3"]'),
                row(8, "cut short", "8.00", '["x","y","z"]'),
                row(9, "before the cut", "9.00", '["x~;y","z~;w","v"]'),
                row(10, "at the cut", "10.00", '["x~","y","z~"]'),
                row(12, "tilde", "12.00", '["x~","y","z"]'),
            },
        )
        * 2,
    ),
    Story(
        700,
        _broken_parts,
        {CLASH: 2 + 2 + 2 + 3, BROKEN: 3 + 2},
        (set(), set()),
    ),
    Story(
        800,
        _waiting_parts,
        {
            ACCEPTED: 5,
            CHUNK: 3,
            BEFORE_IMAGE: 1,
            ("waiting", "first_part_missing"): 2,
            ("waiting", "second_part_missing"): 1,
            ("waiting", "after_image_missing"): 1,
        },
        (
            set(),
            {
                row(1, "no base", "1.00"),
                row(2, "cut", "2.00", '["x","y","z"]'),
                row(3, "the first", "3.00"),
            },
        ),
        {(4, "orphan")},
    ),
    Story(
        900,
        _tracking,
        {
            ACCEPTED: 2,
            ("waiting", "tracking_row_missing"): 3,
            ("waiting", "change_row_missing"): 1,
            CONTRADICT: 1 + 2 + 1 + 1 + 2 + 2,
            ("rejected", "unknown_operation"): 3,
            ("rejected", "change_seq_missing"): 1,
        },
        (set(), {row(1, "change row first"), row(2, "tracking row first")}),
    ),
    Story(
        1000,
        _headers,
        {
            ACCEPTED: 2,
            ("rejected", "change_seq_missing"): 1,
            ("rejected", "change_seq_malformed"): 1,
            ("rejected", "unknown_operation"): 2,
            ("rejected", "header_malformed"): 3,
        },
        ({row(3, "created"), row(9, "nulls")},) * 2,
    ),
    Story(
        1100,
        _values,
        {ACCEPTED: 10, MISFIT: 8, ("rejected", "key_missing"): 1},
        (
            {
                row(1, "escapes", "1.00", '["a;b","?","~"]', "[1,null,3]"),
                row(2, "unknown", "1.00", "[null,null,null]", "[null]"),
                row(3, "closed", "1.00", '["a","b",null]', "[7]"),
                row(14, "extents", "1.00", None, "[1,2]"),
                row(16, "tildes", "1.00", '["aa~aa","~b","c~"]'),
                row(17, "inside", "1.00", '["aa~;aa","b","c"]'),
                row(18, "between", "1.00", '["aa~","aa","b"]'),
            },
        )
        * 2,
    ),
    Story(
        1200,
        _equal_rows,
        {ACCEPTED: 6, CHUNK: 2},
        (
            {row(1, "twice", "1.00"), row(2, "most"), row(3, "one")},
            {row(1, "twice", "1.00"), row(2, "most"), row(3, "other")},
        ),
        {(2, "conflicting_content"), (3, "conflicting_content")},
        passes=True,
    ),
    Story(
        1300,
        _events,
        {("ignored", "schema_event"): 2, ("ignored", "partition_event"): 6},
        (set(), set()),
        passes=True,
    ),
]


def told(stories: Sequence[Story], table_number: int) -> Sequence[Feed]:
    """The feeds of these stories."""
    feeds = [Feed(table_number, story.base) for story in stories]
    for story, feed in zip(stories, feeds, strict=True):
        story.tell(feed)
    return feeds


def _rows(story: Story, batch: int) -> set[Row]:
    return {(id_ + story.base, *values) for id_, *values in story.current[batch]}  # type: ignore[misc]  # rows of any width


def _case_of_stories(entry: Entry, stories: Sequence[Story], feeds: Sequence[Feed], with_arrival: bool) -> Case:
    batches = [
        [[*row, None, *([batch + 1] if with_arrival else [])] for feed in feeds for row in feed.changes[batch]]
        for batch in (0, 1)
    ]
    return Case(
        entry,
        HEADERS | LANDED | NOT_DECLARED | ({"landed": "int"} if with_arrival else {}),
        batches,
        sum((Counter(story.reasons) for story in stories), Counter()),
        [set().union(*(_rows(story, batch) for story in stories)) for batch in (0, 1)],
        SHOWN,
        {(seq(story.base * 10 + number), code) for story in stories for number, code in story.reported},
    )


PASSED = [story for story in STORIES if story.passes]
ORDERS = told(STORIES, 12)
ARRIVED = told(PASSED, 13)


def _told_by_recid() -> Feed:
    feed = Feed(14)
    feed.change(CREATE, 1, 1, "one")
    feed.track(CREATE, 1, recid=501, partition=1)
    feed.change(CREATE, 2, 1, "the same key elsewhere")
    feed.track(CREATE, 2, recid=501, partition=2)
    feed.change(AFTER, 3, 2)
    feed.track(AFTER, 3, "id", recid=501, partition=1)
    feed.change(CREATE, 4, 4, "no recid")
    feed.track(CREATE, 4, recid=None, partition=None)
    feed.change(CREATE, 5, 5, "waits for its recid")
    feed.batch = 1
    feed.track(CREATE, 5, recid=505, partition=None)
    feed.change(BEFORE, 6, 2, "one")
    feed.change(AFTER, 6, None, "two")
    feed.track(AFTER, 6, "name", recid=501, partition=1)
    feed.change(DELETE, 7, 1)
    feed.track(DELETE, 7, recid=501, partition=2)
    return feed


def _told_by_level(table_number: int, with_maps: bool) -> Feed:
    feed = Feed(table_number)

    def track(operation: int | None, sequence: int | None, recid: int | None, field_map: str | None = None) -> None:
        feed.track(operation, sequence, field_map if with_maps else None, recid)

    track(CREATE, 1, 501, "Cust-Num; Name")
    track(CREATE, 2, 502)
    track(AFTER, 3, 503, "Name")
    track(BEFORE, 4, 504)
    track(13, 5, 505)
    feed.track(CREATE, 6, None, None, None)
    feed.batch = 1
    track(DELETE, 7, 501)
    track(AFTER, 8, 502, "")
    track(8, 9, None)
    track(12, 10, None, "Name")
    track(CREATE, None, 511)
    return feed


def _told_without_tracking(table_number: int) -> Feed:
    feed = Feed(table_number)
    feed.change(CREATE, 1, 1, "a", "1.00")
    feed.change(CREATE, 2, 2, "b", "1.00")
    # a null counts while the map is not known
    feed.change(AFTER, 3, 1, "a2")
    feed.change(AFTER, 4, 2, "b2")
    feed.change(CREATE, 5, 5, "contradicted later")
    feed.both(CREATE, 6, 6, "c", "1.00")
    feed.both(AFTER, 7, 6, "c2", field_map="name")
    feed.batch = 1
    # the map shows that the amount was kept
    feed.track(AFTER, 3, "name")
    feed.track(DELETE, 5)
    return feed


BY_RECID = _told_by_recid()
LEVEL_0 = _told_by_level(15, with_maps=False)
LEVEL_1 = _told_by_level(16, with_maps=True)
APPLIED = _told_without_tracking(17)
COVERED = Feed(18)
COVERED.both(CREATE, 1, 1, "before the load")
COVERED.track(6, 2, None, None, 3)
COVERED.both(CREATE, 4, 4, "behind the load")
COVERED.track(7, 5, None, None, 3)
OTHERS = Feed(99)
OTHERS.track(CREATE, 1)
OTHERS.track(CREATE, 2, **{"_Source-Table-Number": None})

LOADED = [
    (1, "loaded", None, "a~;b;c", "1;?"),
    (2, "loaded", None, None, None),
    (3, "no number", None, None, "1;x"),
    (4, "which reading", None, "a~~;b", None),
    (5, "tilde", None, "a~b", None),
]
"""The load of `covered`, which is at sequence 3: extents as SQL shows them."""

# Other spellings, numbers as texts, and a table that has columns named like headers.
SPELT_TRACKING = {
    "policy_id": "string",
    "change_sequence": "string",
    "operation": "string",
    "source_fieldmap": "string",
    "source_rowid": "string",
    "source_table_number": "string",
    "source_partition_id": "string",
}
SPELT = {
    "TRAN_ID": "string",
    "TIME_STAMP": "string",
    "CHANGE_SEQUENCE": "string",
    "continuation-position": "string",
    "_Array-Index": "string",
    "fragment": "string",
    "_Operation": "string",
    "Cust-Num": "string",
    "operation": "string",
    "it's": "string",
    "OrderDate": "string",
}
SPELT_COLUMNS = {"cust_num": "bigint", "operation": "string", "it's": "string", "order_date": "date"}


def _spelt(operation: str, sequence: str, *values: str | None, position: str = "0") -> list[str | None]:
    return ["7", "2026-01-31T12:00:00.250+00:00", sequence, position, "0", "0", operation, *values]


SPELT_BATCHES: tuple[list[list[str | None]], list[list[str | None]]] = (
    [
        _spelt("1", "9", "1", "first", "quoted", "2026-01-31"),
        _spelt("1", " 10", "2", "second", "quoted", "2026-01-31"),
        _spelt("4", "0011", "1", None, "it is", None),
        _spelt("1", "12.5", "3", "third", "half", None),
    ],
    [_spelt("4", "100", "1", None, None, None)],
)
SPELT_TRACKED: tuple[list[list[str | None]], list[list[str | None]]] = (
    [
        ["policy", "9", "1", "", "1", "20", None],
        ["policy", "10", "1", "", "2", "20", None],
        ["policy", "11", "4", "it's", "1", "20", None],
    ],
    [["policy", "100", "4", "cust-num;ORDERDATE;Operation", "1", "20.0", None]],
)

ALL_TRACKED = [*ORDERS, *ARRIVED, BY_RECID, LEVEL_0, LEVEL_1, APPLIED, COVERED, OTHERS]
RECID_SPEC = {"format": "openedge_cdc", "key_from": "recid"}
NO_COLUMNS: Mapping[str, str] = {}
LEVEL_REASONS: Reasons = {
    ACCEPTED: 5,
    ("rejected", "unknown_operation"): 2,
    ("rejected", "key_missing"): 1,
    ("rejected", "change_seq_missing"): 1,
    ("ignored", "partition_event"): 1,
    ("ignored", "schema_event"): 1,
}
LEVEL_ROWS: Sequence[set[tuple[Any, ...]]] = [{(0, 501), (0, 502), (0, 503)}, {(0, 502), (0, 503)}]


def _tests(entry: str, key: Sequence[str], models: Sequence[str] = ("stg", "current")) -> dict[str, list[Any]]:
    change_rows = "not startswith(_raw_id, 'tracking/')"
    accounted = {"raw": f"source('feed', '{entry}')", "log": f"ref('dedup_feed__{entry}')", "counted": change_rows}
    tests: dict[str, list[Any]] = {
        "stg": [{"change_tables.raw_rows_accounted_for": {"arguments": accounted}}],
        "dedup": [{"change_tables.accepted_changes_once": {"arguments": {"staging": f"ref('stg_feed__{entry}')"}}}],
        "current": [{"change_tables.one_row_per_key": {"arguments": {"key": list(key)}}}],
    }
    return {model: tests[model] for model in models}


CASES = [
    _case_of_stories(
        Entry(
            "orders",
            SPEC | {"source_table_number": 12},
            COLUMNS,
            tests=_tests("orders", ["id"]),
            column_meta={"tags": {"extent": 3}},
        ),
        STORIES,
        ORDERS,
        with_arrival=False,
    ),
    _case_of_stories(
        Entry(
            "arrived",
            SPEC | {"source_table_number": 13, "arrival": "landed"},
            COLUMNS,
            tests=_tests("arrived", ["id"]),
            column_meta={"tags": {"extent": 3}},
        ),
        PASSED,
        ARRIVED,
        with_arrival=True,
    ),
    Case(
        Entry(
            "by_recid",
            RECID_SPEC | {"tracking": "tracking", "source_table_number": 14, "arrival": "landed"},
            COLUMNS,
            tests=_tests("by_recid", ["_partition_id", "_recid"]),
            column_meta={"tags": {"extent": 3}},
        ),
        HEADERS | LANDED | {"landed": "int"},
        [[[*row, batch + 1] for row in BY_RECID.changes[batch]] for batch in (0, 1)],
        {ACCEPTED: 6, BEFORE_IMAGE: 1, ("rejected", "key_missing"): 1},
        [
            {(1, 501, 2, "one"), (2, 501, 1, "the same key elsewhere")},
            {(1, 501, 2, "two"), (None, 505, 5, "waits for its recid")},
        ],
        "_partition_id, _recid, id, name",
        landed_as="delta",
    ),
    # its raw table is the tracking table of all of them
    Case(
        Entry(
            "level_0",
            RECID_SPEC | {"policy_level": 0, "source_table_number": 15},
            NO_COLUMNS,
            tests=_tests("level_0", ["_partition_id", "_recid"], ("dedup", "current")),
            identifier="tracking",
        ),
        TRACKING,
        [[row for feed in ALL_TRACKED for row in feed.tracking[batch]] for batch in (0, 1)],
        LEVEL_REASONS,
        LEVEL_ROWS,
        "_partition_id, _recid",
    ),
    Case(
        Entry(
            "level_1",
            RECID_SPEC | {"policy_level": 1, "source_table_number": 16, "tracking": "tracking"},
            NO_COLUMNS,
            identifier="tracking",
        ),
        None,
        [[], []],
        LEVEL_REASONS,
        LEVEL_ROWS,
        "_partition_id, _recid",
    ),
    Case(
        Entry(
            "applied",
            SPEC
            | {
                "source_table_number": 17,
                "without_tracking": "apply",
                "null_without_field_map": "set",
                "arrival": "landed",
            },
            COLUMNS,
            tests=_tests("applied", ["id"]),
        ),
        HEADERS | LANDED | {"landed": "int"},
        [[[*row, batch + 1] for row in APPLIED.changes[batch]] for batch in (0, 1)],
        {ACCEPTED: 6, CONTRADICT: 1},
        [
            {(1, "a2", None), (2, "b2", None), (5, "contradicted later", None), (6, "c2", "1.00")},
            {(1, "a2", "1.00"), (2, "b2", None), (6, "c2", "1.00")},
        ],
        "id, name, cast(amount as string)",
    ),
    Case(
        Entry(
            "covered",
            SPEC | {"source_table_number": 18, "snapshot": "loaded", "snapshot_seq": seq(3)},
            COLUMNS,
        ),
        # as Spark reads Oracle's numbers
        {name: "decimal(38,10)" if kind.endswith("int") else kind for name, kind in HEADERS.items()} | LANDED,
        COVERED.changes,
        {("accepted", None): 5, ("ignored", "partition_event"): 2, ("rejected", "value_does_not_fit"): 2},
        [
            {
                (1, "loaded", '["a;b","c"]', "[1, null]", None),
                (2, "loaded", None, None, None),
                (5, "tilde", '["a~b"]', None, None),
                (4, "behind the load", None, None, "7"),
            }
        ]
        * 2,
        "id, name, to_json(tags), cast(counts as string), _transaction_id",
    ),
    Case(
        Entry(
            "spelt",
            SPEC | {"key": ["cust_num"], "tracking": "spelt_tracking", "source_table_number": 20},
            SPELT_COLUMNS,
            tests=_tests("spelt", ["cust_num"]),
        ),
        SPELT,
        SPELT_BATCHES,
        {ACCEPTED: 4, ("rejected", "change_seq_malformed"): 1},
        [
            {(1, "first", "it is", "2026-01-31"), (2, "second", "quoted", "2026-01-31")},
            {(1, None, "it is", None), (2, "second", "quoted", "2026-01-31")},
        ],
        "cust_num, operation, `it's`, cast(order_date as string)",
        {(seq(100), "key_move_without_before")},
    ),
]

EVENTS = {
    5: ("schema", "field_deleted"),
    6: ("partition", "partition_dropped"),
    7: ("partition", "partition_truncated"),
    8: ("partition", "partition_deallocated"),
    9: ("partition", "tenant_partition_deallocated"),
    10: ("partition", "tenant_partition_dropped"),
    11: ("partition", "merged_partition_dropped"),
    12: ("schema", "field_added"),
}
