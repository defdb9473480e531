"""Event logs by hand and at random, and the XDS documents that the format page makes of them."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Any

from .consumer import Entry
from .idm_cases import (
    AT,
    DELETE,
    FAR_AHEAD,
    INSERT_FIELD,
    INSERT_ROW,
    READ_INSERT,
    READ_UPDATE,
    REPLACE_FIELD,
    UPDATE_FIELD,
    UPDATE_ROW,
    event,
)

Row = list[Any]

LOG: Mapping[str, Any] = {"format": "idm_event_log", "key": ["id"], "schema_name": "indirect"}
USERS = {
    "idu": "bigint",
    "fname": "string",
    "lname": "string",
    "photo": "binary",
    "order": "decimal(10,2)",
    "usr_phone.phoneno": "string",
    "usr_card.scan": "binary",
}
USR = {**LOG, "key": ["idu"], "table_name": "usr", "replica": "usr_rows", "driver_user": "idm"}
USR_ROWS: list[Row] = [
    [2, "Jane", None, b"\x00\x01", Decimal("2.5")],
    [3, "<&>\r\n", "", None, None],
    [11, "Joan", "Roe", None, Decimal("11.00")],
]
GROUPS = {"code": "string", "number": "int", "title": "string"}
GROUP_TABLE = 'grp\'s "é"'
GRP = {**LOG, "key": ["code", "number"], "table_name": GROUP_TABLE}
PEOPLE = {"id": "int", "name": "string", "note": "string"}
PEOPLE_ROWS: list[Row] = [[number, [None, "read"][number % 2], f"note {number}"] for number in range(20)]
BARE = {**LOG, "table_name": "bare", "replica": "people_rows"}
BARE_COLUMNS = {"id": "int", "phone": "string"}
BARE_VALUES = {"phone": {"multi_valued": True}}
MULTI_VALUED = {name: {"multi_valued": True} for name in ("usr_phone.phoneno", "usr_card.scan")}
MODELS = ("stg", "dedup")
ENTRIES = [
    Entry("usr", USR, USERS, MODELS, identifier="log", column_meta=MULTI_VALUED),
    Entry("grp", GRP, GROUPS, MODELS, identifier="log"),
    Entry("bare", BARE, BARE_COLUMNS, MODELS, identifier="log", column_meta=BARE_VALUES),
    Entry("later", {**LOG, "table_name": "usr", "future_events": True, "snapshot": "people_rows"}, PEOPLE, MODELS),
    Entry("left", {**LOG, "table_name": "left", "replica": "people_rows"}, PEOPLE, MODELS, identifier="random"),
    Entry("right", {**LOG, "table_name": "right", "replica": "people_rows"}, PEOPLE, MODELS, identifier="random"),
    # these make no channel with others
    Entry("again", USR, USERS, MODELS, identifier="log", column_meta=MULTI_VALUED),
    Entry("ahead", {**GRP, "future_events": True}, GROUPS, MODELS, identifier="log"),
    Entry("kafka", {"format": "qlik_kafka", "key": ["id"]}, {"id": "int"}, MODELS, identifier="log"),
]
Published = tuple[list[int], str, str, str | None, str | None]
"""Record ids, class name, association, document, reason."""


def of_usr(key: str) -> str:
    return f"{key},table=usr,schema=indirect"


def value(text: str, value_type: str = "string") -> str:
    return f'<value type="{value_type}">{text}</value>'


def add(name: str, text: str, value_type: str = "string") -> str:
    return f'<add-attr attr-name="{name}">{value(text, value_type)}</add-attr>'


def update(name: str, old: str | None, new: str | None, value_type: str = "string") -> str:
    removed = "" if old is None else f"<remove-value>{value(old, value_type)}</remove-value>"
    added = "" if new is None else f"<add-value>{value(new, value_type)}</add-value>"
    return f'<modify-attr attr-name="{name}">{removed}{added}</modify-attr>'


def replace(name: str, new: str | None, value_type: str = "string") -> str:
    added = "" if new is None else f"<add-value>{value(new, value_type)}</add-value>"
    return f'<modify-attr attr-name="{name}"><remove-all-values/>{added}</modify-attr>'


def document(tag: str, association: str, content: str = "", class_name: str = "usr") -> str:
    return f'<{tag} class-name="{class_name}"><association>{association}</association>{content}</{tag}>'


def one(records: Sequence[int], tag: str, key: str, content: str = "") -> Published:
    """A document of `usr`."""
    return list(records), "usr", of_usr(key), document(tag, of_usr(key), content), None


def none(record: int, key: str, reason: str) -> Published:
    """A change of `usr` that yields no document."""
    return [record], "usr", of_usr(key), None, reason


IN_GROUP_TABLE = r"""table="grp's \"é\"",schema=indirect"""
GROUP_KEY = r'code="a+\"b\"",number= 7,' + IN_GROUP_TABLE
OTHER_GROUP_KEY = f"code=a,number=1,{IN_GROUP_TABLE}"
GROUP_CLASS = "grp's &quot;é&quot;"
ODD = "<a> & \"b\" 'c' ]]>\r\n\t\x85é😀 "
ODD_IN_XML = "&lt;a&gt; &amp; \"b\" 'c' ]]&gt;&#13;\n\t\x85é😀 "
ROW_OF_2 = "".join(
    [replace("fname", "Jane"), replace("lname", None), replace("photo", "AAE=", "octet"), replace("order", "2.50")]
)
ROW_OF_11 = "".join(
    [replace("fname", "Joan"), replace("lname", "Roe"), replace("photo", None, "octet"), replace("order", "11.00")]
)

FIRST: list[Row] = [
    event(10, INSERT_FIELD, "idu=1", "fname", new="Jack"),
    event(11, INSERT_FIELD, "idu= 1", "PHOTO", new="AAE="),
    event(12, INSERT_FIELD, "idu=1", "lname", new=None),
    event(13, INSERT_FIELD, "idu=1", "usr_phone.phoneno", new="111-1111"),
    event(14, INSERT_FIELD, "idu=1", "usr_phone.phoneno", new="111-1112"),
    event(15, INSERT_FIELD, "idu=1", "usr_card.scan", new="AA=="),
    event(20, UPDATE_FIELD, "IDU=1", "fname", old="Jack", new="John"),
    event(21, UPDATE_FIELD, r'code="a+\"b\""+number= 7', "title", new=ODD, table_name=GROUP_TABLE),
    event(22, UPDATE_FIELD, "idu=1", "lname", old="", new=None),
    event(23, UPDATE_FIELD, "idu=1", "photo", old="AAE=", new="AAI="),
    event(24, UPDATE_FIELD, "idu=1", "fname", old="John", new="Jim"),
    event(25, REPLACE_FIELD, "idu=1", "fname", old="Jim", new=""),
    event(26, REPLACE_FIELD, "idu=1", "lname", old="Doe", new=None),
    event(27, DELETE, "pk_idu=1"),
    event(28, DELETE, "idu=1"),
    # what has read the row replaces what has not, before and after it, between the deletes of the key
    event(30, INSERT_FIELD, "idu=2", "fname", new="earlier"),
    event(31, INSERT_ROW, "idu=2"),
    event(32, READ_UPDATE, "idu=2", "lname"),
    event(33, UPDATE_FIELD, "idu=2", "fname", new="behind"),
    event(34, UPDATE_FIELD, "idu=2", "usr_phone.phoneno", new="of no row"),
    event(35, UPDATE_ROW, "idu=2"),
    event(36, UPDATE_ROW, "idu=2"),
    event(37, DELETE, "idu=2"),
    event(38, INSERT_FIELD, "idu=2", "fname", new="another life"),
    # what has read a field supersedes what has not read this field
    event(40, REPLACE_FIELD, "idu=3", "lname", new="kept"),
    event(41, REPLACE_FIELD, "idu=3", "fname", new="overruled"),
    event(42, REPLACE_FIELD, "idu=3", "photo", new="AAM="),
    event(43, READ_UPDATE, "idu=3", "fname"),
    event(44, READ_INSERT, "idu=3", "idu"),
    event(45, READ_INSERT, "idu=3", "fname"),
    event(46, DELETE, "idu=3"),
    event(47, UPDATE_FIELD, "idu=3", "lname", old="a", new="b"),
    event(48, READ_UPDATE, "idu=3", "lname"),
    # nothing to remove or to add: such an event parts no others
    event(50, INSERT_FIELD, "idu=4", "fname", new=None),
    event(51, INSERT_FIELD, "idu=4", "lname", new=None),
    event(52, UPDATE_FIELD, "idu=5", "fname", old=None, new="x"),
    event(53, UPDATE_FIELD, "idu=6", "fname", old=None, new=None),
    event(54, UPDATE_FIELD, "idu=5", "lname", old="y", new=None),
    event(55, INSERT_FIELD, "idu=7", "fname", new=None),
    event(56, INSERT_FIELD, "idu=7", "lname", new="z"),
    event(57, INSERT_FIELD, "idu=7", "fname", new=None),
    event(58, INSERT_FIELD, "idu=7", "idu", new="7"),
    # what is ignored, rejected or waits supersedes nothing
    event(60, INSERT_FIELD, "idu=11", "fname", new="kept"),
    event(61, UPDATE_ROW, "idu=11", perpetrator="idm"),
    event(62, UPDATE_ROW, "idu=11", status="S"),
    event(63, UPDATE_ROW, "idu=12"),
    event(64, INSERT_FIELD, "idu=12", "fname", new="kept"),
    # each belongs to the element beside it
    event(65, INSERT_FIELD, "idu=13", "fname", new="x"),
    event(66, INSERT_FIELD, "idu=14", "fname", new=None),
    event(67, INSERT_FIELD, "idu=13", "lname", new=None),
    event(68, INSERT_FIELD, "idu=14", "lname", new="y"),
    # what has read a row without attributes is not published, and supersedes nothing
    event(90, INSERT_FIELD, "id=1", "phone", new="1", table_name="bare"),
    event(91, INSERT_ROW, "id=1", table_name="bare"),
]
FIRST_PUBLISHED: list[Published] = [
    one(
        [10, 11, 12, 13, 14, 15],
        "add",
        "idu=1",
        add("fname", "Jack")
        + add("photo", "AAE=", "octet")
        + add("usr_phone.phoneno", "111-1111")
        + add("usr_phone.phoneno", "111-1112")
        + add("usr_card.scan", "AA==", "octet"),
    ),
    one([20], "modify", "IDU=1", update("fname", "Jack", "John")),
    (
        [21],
        GROUP_TABLE,
        GROUP_KEY,
        document("modify", GROUP_KEY, update("title", None, ODD_IN_XML), GROUP_CLASS),
        None,
    ),
    one(
        [22, 23, 24],
        "modify",
        "idu=1",
        update("lname", "", None) + update("photo", "AAE=", "AAI=", "octet") + update("fname", "John", "Jim"),
    ),
    one([25, 26], "modify", "idu=1", replace("fname", "") + replace("lname", None)),
    one([27, 28], "delete", "pk_idu=1"),
    none(30, "idu=2", "suppressed: record 36 has read the row"),
    one([31], "modify", "idu=2", ROW_OF_2),
    none(32, "idu=2", "suppressed: record 36 has read the row"),
    none(33, "idu=2", "suppressed: record 36 has read the row"),
    none(34, "idu=2", "suppressed: record 36 has read the row"),
    one([35, 36], "modify", "idu=2", ROW_OF_2 + ROW_OF_2),
    one([37], "delete", "idu=2"),
    one([38], "add", "idu=2", add("fname", "another life")),
    one([40, 42], "modify", "idu=3", replace("lname", "kept") + replace("photo", "AAM=", "octet")),
    none(41, "idu=3", "suppressed: record 45 has read the field fname"),
    one([43], "modify", "idu=3", replace("fname", "&lt;&amp;&gt;&#13;\n")),
    one([44, 45], "modify", "idu=3", replace("idu", "3") + replace("fname", "&lt;&amp;&gt;&#13;\n")),
    one([46], "delete", "idu=3"),
    none(47, "idu=3", "suppressed: record 48 has read the field lname"),
    one([48], "modify", "idu=3", replace("lname", "")),
    none(50, "idu=4", "no_attribute: no value to remove or to add: fname"),
    none(51, "idu=4", "no_attribute: no value to remove or to add: lname"),
    one([52, 54], "modify", "idu=5", update("fname", None, "x") + update("lname", "y", None)),
    none(53, "idu=6", "no_attribute: no value to remove or to add: fname"),
    one([55, 56, 57, 58], "add", "idu=7", add("lname", "z") + add("idu", "7")),
    one([60], "add", "idu=11", add("fname", "kept")),
    one([64], "add", "idu=12", add("fname", "kept")),
    one([65, 67], "add", "idu=13", add("fname", "x")),
    one([66, 68], "add", "idu=14", add("lname", "y")),
]
OF_BARE = "id=1,table=bare,schema=indirect"
BARE_PUBLISHED: list[Published] = [
    ([90], "bare", OF_BARE, document("add", OF_BARE, add("phone", "1"), "bare"), None),
    ([91], "bare", OF_BARE, None, "no_attribute: no value to remove or to add"),
]
SECOND: list[Row] = [
    # drawn before what is published, and landed after it
    event(16, INSERT_FIELD, "idu=1", "fname", new="late"),
    # delivered again, and otherwise
    event(10, INSERT_FIELD, "idu=1", "fname", new="Jack"),
    event(20, UPDATE_FIELD, "idu=1", "fname", old="Jack", new="Zoe"),
    # the id of another table's record
    event(20, DELETE, "code=a+number=1", table_name=GROUP_TABLE),
    # supersedes what this run publishes, not what was published
    event(70, INSERT_FIELD, "idu=11", "lname", new="overruled"),
    event(71, UPDATE_ROW, "idu=11"),
]
THIRD: list[Row] = [event(72, UPDATE_FIELD, "idu=11", "fname", old="a", new="b")]
SECOND_PUBLISHED: list[Published] = [
    one([16], "add", "idu=1", add("fname", "late")),
    ([20], GROUP_TABLE, OTHER_GROUP_KEY, document("delete", OTHER_GROUP_KEY, "", GROUP_CLASS), None),
    none(70, "idu=11", "suppressed: record 71 has read the row"),
    one([71], "modify", "idu=11", ROW_OF_11),
    none(72, "idu=11", "suppressed: record 71 has read the row"),
]
HOUR = dt.timedelta(hours=1)
LATER: list[Row] = [
    event(10, INSERT_FIELD, "id=1", "name", new="second", event_time=AT + HOUR),
    event(11, INSERT_FIELD, "id=1", "name", new="first", event_time=AT),
    event(13, INSERT_FIELD, "id=2", "name", new="of one time", event_time=AT + HOUR),
    event(12, INSERT_FIELD, "id=1", "name", new="third", event_time=AT + HOUR),
    event(9, DELETE, "id=1", event_time=FAR_AHEAD),
]
LATER_PUBLISHED = [
    one([11, 10, 12], "add", "id=1", add("name", "first") + add("name", "second") + add("name", "third")),
    one([13], "add", "id=2", add("name", "of one time")),
]


@dataclass(frozen=True)
class Event:
    """A logged event of a random history."""

    record_id: int
    type: int
    table: str
    key: str
    column: str | None
    old: str | None
    new: str | None

    @property
    def row(self) -> int:
        """The key's value."""
        return int(self.key.split("=")[1])

    @property
    def subject(self) -> tuple[str, int, int]:
        """What the events of one element share."""
        return self.table, self.type, self.row

    @property
    def landed(self) -> Row:
        """The row in the raw table."""
        told = {"old": self.old, "new": self.new, "table_name": self.table}
        return event(self.record_id, self.type, self.key, self.column, **told)

    @property
    def association(self) -> str:
        """That of its row, as it was logged."""
        return f"{self.key},table={self.table},schema=indirect"

    @property
    def content(self) -> str:
        """What it adds to its element."""
        read = {number: {"name": name, "note": note} for number, name, note in PEOPLE_ROWS}[self.row]
        column = self.column or ""
        match self.type:
            case 1:
                return "" if self.new is None else add(column, self.new)
            case 2:
                return "" if self.old is None and self.new is None else update(column, self.old, self.new)
            case 3:
                return replace(column, self.new)
            case 4:
                return ""
            case 5 | 6:
                return replace("name", read["name"]) + replace("note", read["note"])
        return replace(column, read[column])


def random_batches(seed: int, batches: int, size: int) -> list[list[Event]]:
    """Batches of events whose record ids interleave."""
    numbers = random.Random(seed)
    found: list[list[Event]] = [[] for _ in range(batches)]
    table, row, event_type = "left", 0, INSERT_FIELD
    for record_id in range(1, batches * size + 1):
        # of one table and key for a while, and of one type, so that elements come to be
        if record_id % 3 == 1:
            table = numbers.choice(["left", "right"])
            row = numbers.choice([row, numbers.randrange(len(PEOPLE_ROWS))])
        key = numbers.choice(["id={}", "ID= {}", "pk_id={}"]).format(row)
        if numbers.random() < 0.4:
            event_type = numbers.choice([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 6, 7, 8])
        old, new = (numbers.choice([None, None, "a", "b"]) if event_type < DELETE else None for _ in range(2))
        column = None if event_type in (DELETE, INSERT_ROW, UPDATE_ROW) else numbers.choice(["name", "note"])
        batch = min(batches - 1, record_id // size + numbers.choice([0, 0, 0, 1]))
        found[batch].append(Event(record_id, event_type, table, key, column, old, new))
    return found


def expected_rows(events: Sequence[Event]) -> list[Published]:
    """What one run publishes of these events, read off the page."""
    in_order = sorted(events, key=lambda logged: logged.record_id)
    reasons = _superseded(in_order)
    kept = [logged for logged in in_order if logged.record_id not in reasons]
    bearing = [logged for logged in kept if logged.content or logged.type == DELETE]
    elements = [list(run) for _, run in groupby(bearing, key=lambda logged: logged.subject)]
    for logged in kept:
        if logged not in bearing:
            before = [element for element in elements if element[0].record_id < logged.record_id][-1:]
            behind = [element for element in elements if element[-1].record_id > logged.record_id][:1]
            homes = [element for element in before + behind if element[0].subject == logged.subject]
            if homes:
                homes[0].append(logged)
                homes[0].sort(key=lambda member: member.record_id)
            else:
                reasons[logged.record_id] = f"no_attribute: no value to remove or to add: {logged.column}"
    rows = [_published(element) for element in elements]
    for logged in in_order:
        if logged.record_id in reasons:
            rows.append(([logged.record_id], logged.table, logged.association, None, reasons[logged.record_id]))
    return sorted(rows)


def _published(element: Sequence[Event]) -> Published:
    first = element[0]
    tag = {INSERT_FIELD: "add", DELETE: "delete"}.get(first.type, "modify")
    content = "".join(logged.content for logged in element)
    records = [logged.record_id for logged in element]
    return records, first.table, first.association, document(tag, first.association, content, first.table), None


def _superseded(events: Sequence[Event]) -> dict[int, str]:
    """Why events, which are in order, are suppressed: by record id."""
    lives: dict[tuple[str, int], list[list[Event]]] = {}
    for logged in events:
        of_key = lives.setdefault((logged.table, logged.row), [[]])
        if logged.type == DELETE:
            of_key.append([])
        else:
            of_key[-1].append(logged)
    reasons: dict[int, str] = {}
    for life in (life for of_key in lives.values() for life in of_key):
        rows = [logged for logged in life if logged.type in (INSERT_ROW, UPDATE_ROW)]
        fields = [logged for logged in life if logged.type in (READ_INSERT, READ_UPDATE)]
        for logged in life:
            reads = [other for other in fields if other.column == logged.column]
            if rows and logged not in rows:
                reasons[logged.record_id] = f"suppressed: record {rows[-1].record_id} has read the row"
            elif reads and logged not in fields:
                what = f"the field {logged.column}"
                reasons[logged.record_id] = f"suppressed: record {reads[-1].record_id} has read {what}"
    return reasons


RANDOM = random_batches(seed=20, batches=3, size=200)
