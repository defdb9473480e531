"""Writes the Change Data Capture of an OpenEdge database: the tracking table, and a change table for each source table.

Orders and prices have policies of level 3, whose before images show how keys move. The policy of machine_settings is of
level 2: its rows are known by partition and recid, which stay the same when a key moves. Updates are sparse, and some
images are cut into two records.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple, TypeAlias

from demo.database import TABLES, Column, Table
from demo.history import Change, Key, Row, Transaction, Value
from demo.landing import Landed
from demo.workload import STARTED_AT
from demo.writers.feed import FeedWriter, RawTable, Verdict

CREATE, DELETE, BEFORE, AFTER, FIELD_DELETED, FIELD_ADDED = 1, 2, 3, 4, 5, 12

TRACKING = RawTable(
    "cdc_change_tracking",
    (
        Column("_Policy-Id", "string"),
        Column("_Tran-Id", "int"),
        Column("_Time-Stamp", "timestamp"),
        Column("_Change-Sequence", "bigint"),
        Column("_Operation", "int"),
        Column("_Change-FieldMap", "string"),
        Column("_Recid", "bigint"),
        Column("_Source-Table-Number", "int"),
        Column("_Partition-Id", "int"),
        Column("_Tenant-Id", "int"),
        Column("_User-Misc", "string"),
        Column("_User-Name", "string"),
    ),
)

_HEADER_TYPES = ("int", "timestamp", "bigint", "int", "int", "int", "int")


@dataclass(frozen=True)
class CapturedTable:
    """How a source table is captured.

    Attributes:
        table: the source table
        number: its number in the tracking table
        policy_level: 2 or 3
        key_from: `fields`, or `recid` where rows are known by partition and recid
        headers: the columns that precede the captured ones: transaction, time, sequence, position, array index,
            fragment and operation, as this version of OpenEdge spells them
        columns: the captured columns as they land, in the order of the table
    """

    table: Table
    number: int
    policy_level: int
    key_from: str
    headers: tuple[Column, ...]
    columns: tuple[Column, ...]

    @property
    def raw_table(self) -> RawTable:
        """Its change table."""
        return RawTable(f"cdc_{self.table.name}", self.headers + self.columns)


def _headers(names: Sequence[str], **texts: str) -> tuple[Column, ...]:
    return tuple(Column(name, texts.get(name, kind)) for name, kind in zip(names, _HEADER_TYPES, strict=True))


def _as_text(column: Column) -> Column:
    return replace(column, data_type="string")


_CHANGE_HEADERS = (
    "_Tran-Id",
    "_Time-Stamp",
    "_Change-Sequence",
    "_Continuation-Position",
    "_ArrayIndex",
    "_Fragment",
    "_Operation",
)
CAPTURED: Mapping[str, CapturedTable] = {
    captured.table.name: captured
    for captured in (
        CapturedTable(
            TABLES["orders"],
            11,
            3,
            "fields",
            _headers(_CHANGE_HEADERS),
            tuple(
                replace(
                    column,
                    name=column.name.title().replace("_", "-"),
                    data_type="string" if column.name == "amount" else column.data_type,
                )
                for column in TABLES["orders"].columns
            ),
        ),
        CapturedTable(
            TABLES["prices"],
            12,
            3,
            "fields",
            _headers(
                [name.replace("_ArrayIndex", "_Array-Index") for name in _CHANGE_HEADERS],
                **{"_Change-Sequence": "string"},
            ),
            tuple(_as_text(column) if column.name == "order" else column for column in TABLES["prices"].columns),
        ),
        CapturedTable(
            TABLES["machine_settings"],
            13,
            2,
            "recid",
            _headers(
                [name.lower().replace("-", "_") for name in _CHANGE_HEADERS],
                **dict.fromkeys(("_tran_id", "_time_stamp", "_operation"), "string"),
            ),
            tuple(_as_text(column) for column in TABLES["machine_settings"].columns),
        ),
    )
}
"""How the demo captures each source table, by its name."""

_OTHER_TABLE = 99
_PARTITIONS = 3
_LATE = 0.3
_LANDED_AGAIN = 0.05
_IN_TWO = 0.25
_FRAGMENT = 0.6
_HAS_KEY = 0.8
_UNKNOWN_MAP = 0.2
_ACCEPTED = Verdict("accepted", None)
_MERGED = Verdict("merged", None)
_IGNORED = Verdict("ignored", None)
_EXISTS = "the row itself"

Image: TypeAlias = Mapping[str, Value]
"""Values by column; a column that is not in it is not there, or null."""


class Place(NamedTuple):
    """Which raw row of which change: the table's number, the sequence, the operation and the position.

    Of a tracking row `position` is None.
    """

    table_number: int | None
    sequence: Any
    operation: Any
    position: Any


@dataclass(frozen=True)
class RawRow:
    """A row of a change table, or of the tracking table.

    Attributes:
        captured: the table whose entry takes it; None where no entry does
        place: which row of which change it is
        fields: its values, by column of its raw table
        fault: the verdict of staging, whatever else lands; None where it depends on other rows of the change
        is_marked: whether it is marked as cut, with its image continued in another record
    """

    captured: CapturedTable | None
    place: Place
    fields: Mapping[str, Landed]
    fault: Verdict | None = None
    is_marked: bool = False

    @property
    def is_tracking(self) -> bool:
        """Whether it is of the tracking table."""
        return self.captured is None or self.place.position is None

    @property
    def raw_table(self) -> RawTable:
        """The raw table that it lands in."""
        return TRACKING if self.captured is None or self.is_tracking else self.captured.raw_table

    @property
    def landed(self) -> tuple[Landed, ...]:
        """The row of the raw table."""
        return tuple(self.fields[column.name] for column in self.raw_table.columns)


@dataclass(frozen=True)
class CapturedChange:
    """A change of one row, in raw rows.

    Attributes:
        rows: its rows in change table and tracking table
        row_id: the row that it changes: its table, and its key or recid
        touched: the columns that it sets, and whether the row exists
        moves_to: the row's place after a change that moves its key
        has_key: whether the after image has the key, so that it does not wait for the before image
    """

    rows: tuple[RawRow, ...]
    row_id: tuple[str, Key]
    touched: frozenset[str]
    moves_to: tuple[str, Key] | None = None
    has_key: bool = True


class OpenEdgeCdcWriter(FeedWriter):
    """Writes the tracking table and the change tables of one database.

    Rows may exchange their keys inside a transaction: before images show each move, and `_Tran-Id` shows which moves
    belong together.

    >>> from demo.workload import Workload
    >>> raw_rows = OpenEdgeCdcWriter(seed=1).write([], loaded=Workload(seed=1).fill(), last=True)
    >>> sorted(raw_rows)
    ['cdc_change_tracking', 'cdc_machine_settings', 'cdc_orders', 'cdc_prices']
    >>> len(raw_rows["cdc_change_tracking"]) > 60
    True

    Attributes:
        delivered: the rows that landed so far, those that landed again as often
        late: the rows that come with the next batch
    """

    system = "openedge_cdc"
    swaps = True

    def __init__(self, seed: int) -> None:
        """Starts a database that was empty: sequences and recids start again."""
        self._random = Random(seed)
        self.late: list[RawRow] = []
        self.delivered: list[RawRow] = []
        self._sequences = dict.fromkeys(CAPTURED, 0)
        # whoever came to a key first is the first to leave it
        self._recids: dict[str, dict[Key, list[int]]] = {name: defaultdict(list) for name in CAPTURED}
        self._last_recid = 1000
        self._free_recids: list[int] = []
        self._accepted: dict[str, set[int]] = {name: set() for name in CAPTURED}
        self._batches = 0

    @property
    def raw_tables(self) -> Sequence[RawTable]:
        """The tracking table and the change tables."""
        return [TRACKING, *(captured.raw_table for captured in CAPTURED.values())]

    def write(
        self, transactions: Sequence[Transaction], loaded: Sequence[Transaction] = (), *, last: bool = False
    ) -> Mapping[str, Sequence[tuple[Landed, ...]]]:
        """Writes a batch: new changes, late rows of the batch before, some rows again, and broken ones.

        See `FeedWriter.write`.
        """
        changes = [change for transaction in [*loaded, *transactions] for change in self._captured(transaction)]
        late = [] if last else self._held_back(changes)
        kept_back = {row.place for row in late}
        rows = self.late + [row for change in changes for row in change.rows if row.place not in kept_back]
        rows += self._events() if self._batches == 0 else []
        rows += self._broken(transactions)
        rows += self._some(rows) + self._some(self.delivered)
        self._random.shuffle(rows)
        self.late = late
        self.delivered += rows
        self._batches += 1
        self._keep_account()
        return {table.name: [row.landed for row in rows if row.raw_table == table] for table in self.raw_tables}

    @property
    def expected_statuses(self) -> Mapping[str, Counter[Verdict]]:
        """How many rows staging must find in which status; see `FeedWriter.expected_statuses`.

        A tracking row that has change rows is part of them, and staging has no row for it.
        """
        counts: dict[str, Counter[Verdict]] = {name: Counter() for name in CAPTURED}
        for row, verdict in self._verdicts():
            if row.captured is not None and verdict is not None:
                counts[row.captured.table.name][verdict] += 1
        return counts

    @property
    def expected_changes(self) -> Mapping[str, int]:
        """How many distinct changes there are; see `FeedWriter.expected_changes`."""
        return {name: len(sequences) for name, sequences in self._accepted.items()}

    @property
    def expected_unclaimed(self) -> Counter[Verdict]:
        """How many tracking rows belong to no entry, by what they must be listed as."""
        return Counter(row.fault for row in self.delivered if row.captured is None and row.fault is not None)

    def _verdicts(self) -> Iterator[tuple[RawRow, Verdict | None]]:
        """The rows that landed, each with the verdict by what has landed of its change.

        A tracking row that has change rows is part of them: None.
        """
        changes: dict[tuple[Any, Any], list[RawRow]] = defaultdict(list)
        for row in self.delivered:
            changes[row.place.table_number, row.place.sequence].append(row)
        for rows in changes.values():
            for row in rows:
                is_part = row.is_tracking and any(not other.is_tracking for other in rows)
                yield row, row.fault or (None if is_part else _verdict(row, rows))

    def _keep_account(self) -> None:
        for row, verdict in self._verdicts():
            if row.captured is not None and verdict == _ACCEPTED:
                self._accepted[row.captured.table.name].add(row.place.sequence)

    # changes

    def _captured(self, transaction: Transaction) -> Iterator[CapturedChange]:
        for change in transaction.changes:
            captured = CAPTURED[change.table]
            if change.operation == "truncate":
                # there is no event for it: every row is deleted
                keys = [key for key, recids in self._recids[change.table].items() for _ in recids]
                for key in keys:
                    gone = replace(change, operation="delete", before=dict(zip(captured.table.key, key, strict=True)))
                    yield self._of_change(captured, gone, transaction.number)
            else:
                yield self._of_change(captured, change, transaction.number)

    def _of_change(self, captured: CapturedTable, change: Change, transaction: int) -> CapturedChange:
        table = captured.table
        before = None if change.before is None else table.key_of(change.before)
        after = None if change.after is None else table.key_of(change.after)
        recid = self._recid(table, before, after)
        row_id: tuple[str, Key] = (table.name, before or after or ())
        moves_to = (table.name, after) if before and after and before != after else None
        if captured.key_from == "recid":
            row_id, moves_to = (table.name, (recid,)), None
        changed = change.changed_columns
        forgets = any(value is None for name, value in (change.after or {}).items() if name in changed)
        field_map: str | None = self._field_map(captured, changed)
        if not (forgets or moves_to) and self._random.random() < _UNKNOWN_MAP:
            field_map = None
        images: list[tuple[int, Image]]
        if change.before is None:
            images = [(CREATE, change.after or {})]
        elif change.after is None:
            images = [(DELETE, self._whole_or_some(change.before, table.key))]
        else:
            key = table.key if moves_to or self._random.random() < _HAS_KEY else ()
            images = [(AFTER, self._whole_or_some(change.after, (*key, *changed)))]
            if captured.policy_level == 3:
                images.append((BEFORE, self._whole_or_some(change.before, (*table.key, *changed))))
        operation, image = images[0]
        header: dict[str, Any] = {"transaction": transaction, "at": change.changed_at}
        sequence = self._next_sequence(captured)
        rows = [_tracking_row(captured, operation, sequence, recid, field_map, **header)]
        for each, told_image in images:
            rows += self._records(captured, each, sequence, told_image, **header)
        if operation == AFTER:
            # a null that the field map does not name sets nothing
            set_columns = {name for name, value in image.items() if value is not None}
            touched = frozenset({*changed, *set_columns} - ({*table.key} if captured.key_from == "fields" else set()))
        else:
            touched = frozenset({_EXISTS, *table.column_names})
        return CapturedChange(tuple(rows), row_id, touched, moves_to, all(name in image for name in table.key))

    def _records(
        self, captured: CapturedTable, operation: int, sequence: int, image: Image, **header: Any
    ) -> list[RawRow]:
        """An image in one record or in two; where the field at the cut is a text, it may be cut as well."""
        table = captured.table
        if operation == DELETE or self._random.random() >= _IN_TWO:
            return [_change_row(captured, operation, sequence, image, **header)]
        names = table.column_names
        texts = [
            place
            for place, column in enumerate(table.columns)
            if place >= len(table.key) and column.data_type == "string" and len(str(image.get(column.name) or "")) > 1
        ]
        is_cut = bool(texts) and self._random.random() < _FRAGMENT
        position = self._random.choice(texts) if is_cut else self._random.randint(len(table.key), len(names) - 1)
        first = {name: image[name] for name in names[:position] if name in image}
        second = {name: image[name] for name in names[position:] if name in image}
        if self._random.random() < 0.3:
            second = {**{name: image[name] for name in table.key if name in image}, **second}
        marks = (0, 0)
        if is_cut:
            text = str(image[names[position]])
            at = self._random.randint(1, len(text) - 1)
            first[names[position]], second[names[position]] = text[:at], text[at:]
            marks = self._random.choice(((1, 0), (0, 1), (1, 1)))
        return [
            _change_row(captured, operation, sequence, first, fragment=marks[0], **header),
            _change_row(captured, operation, sequence, second, position=position, fragment=marks[1], **header),
        ]

    def _held_back(self, changes: Sequence[CapturedChange]) -> list[RawRow]:
        """Rows that come in the next batch: of changes that later ones, which are in time, replace.

        Before images of rows that keep their key can be missing without effect.
        """
        settled: dict[tuple[str, Key], set[str]] = defaultdict(set)
        late: list[RawRow] = []
        for change in reversed(changes):
            if change.moves_to is not None:
                # what comes later at either key is of another row
                settled.pop(change.row_id, None)
                settled.pop(change.moves_to, None)
            elif change.touched <= settled[change.row_id] and self._random.random() < _LATE:
                late += self._random.choice(_ways_to_be_late(change))
            else:
                settled[change.row_id] |= change.touched
                if change.has_key and self._random.random() < _LATE:
                    late += _of_operation(change, BEFORE)
        return late

    # what is no change of a row, and what cannot be read

    def _events(self) -> Iterator[RawRow]:
        """Fields were deleted and added before the demo began."""
        for captured in CAPTURED.values():
            for operation in (FIELD_DELETED, FIELD_ADDED):
                yield _tracking_row(captured, operation, self._next_sequence(captured), None, "note", fault=_IGNORED)

    def _broken(self, transactions: Sequence[Transaction]) -> Iterator[RawRow]:
        """Rows that cannot be used; each would do harm where it was accepted."""
        changes = [change for transaction in transactions for change in transaction.changes]
        for change in {change.table: change for change in changes if change.after is not None}.values():
            assert change.after is not None
            captured = CAPTURED[change.table]
            key = {name: change.after[name] for name in captured.table.key}
            header: dict[str, Any] = {"transaction": transactions[-1].number, "at": change.changed_at}
            recid = self._recids[change.table].get(captured.table.key_of(key), [self._last_recid])[0]
            yield from self._broken_changes(captured, key, recid, header)
            yield from self._unfinished_changes(captured, key, recid, header)
            yield from self._broken_tracking(captured, recid, header)
        for change in changes[:1]:
            header = {"transaction": transactions[0].number, "at": change.changed_at}
            yield _tracking_row(None, DELETE, 1 + self._batches, 1, "", fault=_IGNORED, number=_OTHER_TABLE, **header)
            unknown = Verdict("rejected", "table_unknown")
            yield _tracking_row(None, DELETE, 1 + self._batches, 1, "", fault=unknown, **header)

    def _broken_changes(
        self, captured: CapturedTable, key: Image, recid: int, header: Mapping[str, Any]
    ) -> Iterator[RawRow]:
        columns = [*zip(captured.table.columns, captured.columns, strict=True)][len(captured.table.key) :]
        text = next(column.name for column, _ in columns if column.data_type == "string")
        misfit = next(
            column.name
            for column, landed in columns
            if landed.data_type == "string" and column.data_type not in ("string", "boolean")
        )
        fields = len(captured.columns)

        def made(
            code: str,
            *records: Mapping[str, Any],
            tracked: int | None = DELETE,
            operation: int = DELETE,
            recid: int | None = recid,
            **others: Any,
        ) -> Iterator[RawRow]:
            """Records of one sequence, and its tracking row."""
            fault = Verdict("rejected", code)
            sequence = self._next_sequence(captured)
            if tracked is not None:
                yield _tracking_row(captured, tracked, sequence, recid, "", **header)
            for record in records or ({},):
                given = {"operation": operation, "sequence": sequence, "image": key, **header, **others, **record}
                yield _change_row(captured, fault=fault, **given)

        malformed = ("-7", "12.5", "seven") if captured.headers[2].data_type == "string" else (-7, -8, -9)
        yield from made("change_seq_missing", sequence=None, tracked=None)
        yield from made("change_seq_malformed", sequence=self._one_of(*malformed), tracked=None)
        yield from made("unknown_operation", operation=self._one_of(9, 0, None))
        yield from made("header_malformed", **self._one_of({"position": -1}, {"array_index": -1}, {"fragment": 2}))
        yield from made("operations_contradict", tracked=self._one_of(CREATE, AFTER, FIELD_ADDED))
        yield from made("operations_contradict", {"operation": CREATE}, {"operation": DELETE}, tracked=CREATE)
        yield from made(
            "continuation_broken",
            {},
            {"position": fields - 2},
            {"position": fields - 1},
            tracked=AFTER,
            operation=AFTER,
        )
        yield from made(
            "parts_clash",
            {"image": {**key, text: "one"}},
            {"image": {text: "two"}, "position": fields - 1, "fragment": 1},
            tracked=AFTER,
            operation=AFTER,
        )
        yield from made(
            "value_does_not_fit",
            image={**key, misfit: self._one_of("n/a", "1.5e", "9" * 40)},
            tracked=CREATE,
            operation=CREATE,
        )
        if captured.headers[1].data_type == "string":
            yield from made("value_does_not_fit", at="n/a")
        if captured.key_from == "recid":
            yield from made("key_missing", tracked=CREATE, operation=CREATE, recid=None)
        else:
            yield from made("key_missing", image={text: "whose?"}, tracked=CREATE, operation=CREATE)

    def _unfinished_changes(
        self, captured: CapturedTable, key: Image, recid: int, header: Mapping[str, Any]
    ) -> Iterator[RawRow]:
        """Changes that wait for rows which never land."""
        last = len(captured.columns) - 1
        yield _change_row(captured, DELETE, self._next_sequence(captured), key, **header)
        yield _tracking_row(captured, DELETE, self._next_sequence(captured), recid, "", **header)
        unfinished: list[tuple[int, dict[str, Any]]] = [(CREATE, {"position": last}), (CREATE, {"fragment": 1})]
        if captured.policy_level == 3:
            unfinished.append((BEFORE, {}))
        for operation, marks in unfinished:
            sequence = self._next_sequence(captured)
            tracked = AFTER if operation == BEFORE else operation
            yield _tracking_row(captured, tracked, sequence, recid, "", **header)
            yield _change_row(captured, operation, sequence, key, **marks, **header)

    def _broken_tracking(self, captured: CapturedTable, recid: int, header: Mapping[str, Any]) -> Iterator[RawRow]:
        """Tracking rows without change rows."""
        for code, operation, sequence in (
            ("change_seq_missing", DELETE, None),
            ("change_seq_malformed", DELETE, -5),
            ("unknown_operation", self._one_of(13, None, 0), self._next_sequence(captured)),
            ("unknown_operation", BEFORE, self._next_sequence(captured)),
        ):
            fault = Verdict("rejected", code)
            yield _tracking_row(captured, operation, sequence, recid, "", fault=fault, **header)

    # numbers, names and chance

    def _next_sequence(self, captured: CapturedTable) -> int:
        """The next sequence of a table; there are gaps between them."""
        self._sequences[captured.table.name] += self._random.choice((1, 1, 1, 3))
        return self._sequences[captured.table.name]

    def _recid(self, table: Table, before: Key | None, after: Key | None) -> int:
        """The recid of the row that a change takes from one key to another; free ones may be given again."""
        recids = self._recids[table.name]
        if before is not None:
            recid = recids[before].pop(0)
            if not recids[before]:
                del recids[before]
        elif self._free_recids and self._random.random() < 0.3:
            recid = self._free_recids.pop(self._random.randrange(len(self._free_recids)))
        else:
            self._last_recid += 1
            recid = self._last_recid
        if after is None:
            self._free_recids.append(recid)
        else:
            recids[after].append(recid)
        return recid

    def _field_map(self, captured: CapturedTable, names: Sequence[str]) -> str:
        """The names of fields, as declared or as landed, in upper or lower case, and now and then one more."""
        landed = dict(zip(captured.table.column_names, captured.columns, strict=True))
        spelt = [self._random.choice((name, name.upper(), landed[name].name)) for name in names]
        if self._random.random() < 0.2:
            spelt.append("Not-Captured")
        return self._random.choice((";", "; ")).join(spelt)

    def _whole_or_some(self, row: Row, names: Collection[str]) -> Image:
        return row if self._random.random() < 0.3 else {name: value for name, value in row.items() if name in names}

    def _some(self, rows: Sequence[RawRow]) -> list[RawRow]:
        return self._random.sample(rows, int(_LANDED_AGAIN * len(rows)))

    def _one_of(self, *kinds: Any) -> Any:
        return kinds[self._batches % len(kinds)]


def _change_row(
    captured: CapturedTable,
    operation: int,
    sequence: Any,
    image: Image,
    *,
    transaction: int,
    at: Any,
    position: int = 0,
    array_index: int = 0,
    fragment: int = 0,
    fault: Verdict | None = None,
) -> RawRow:
    header_values = (transaction, at, sequence, position, array_index, fragment, operation)
    values = [image.get(name) for name in captured.table.column_names]
    fields = {
        column.name: landed_value(value, column.data_type)
        for column, value in zip(captured.raw_table.columns, [*header_values, *values], strict=True)
    }
    return RawRow(captured, Place(captured.number, sequence, operation, position), fields, fault, fragment == 1)


def _tracking_row(
    captured: CapturedTable | None,
    operation: Any,
    sequence: int | None,
    recid: int | None,
    field_map: str | None,
    *,
    transaction: int = 0,
    at: datetime = STARTED_AT,
    number: int | None = None,
    fault: Verdict | None = None,
) -> RawRow:
    number = number if captured is None else captured.number
    fields: dict[str, Landed] = {
        "_Policy-Id": f"policy {number}",
        "_Tran-Id": transaction,
        "_Time-Stamp": at,
        "_Change-Sequence": sequence,
        "_Operation": operation,
        "_Change-FieldMap": field_map,
        "_Recid": recid,
        "_Source-Table-Number": number,
        "_Partition-Id": None if recid is None else recid % _PARTITIONS,
        "_Tenant-Id": 0,
        "_User-Misc": None,
        "_User-Name": "clerk",
    }
    return RawRow(captured, Place(number, sequence, operation, None), fields, fault)


def landed_value(value: Value, data_type: str) -> Landed:
    """A value as it lands in a column of that type: as it is, or as its text.

    >>> landed_value(7, "int"), landed_value(True, "string"), landed_value(Decimal("1E+2"), "string")
    (7, 'true', '100')
    >>> landed_value(datetime.fromisoformat("2026-01-05T08:00:00+00:00"), "string")
    '2026-01-05T08:00:00+00:00'
    """
    if value is None or data_type != "string" or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date):
        return value.isoformat()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _of_operation(change: CapturedChange, *operations: int) -> list[RawRow]:
    return [row for row in change.rows if not row.is_tracking and row.place.operation in operations]


def _ways_to_be_late(change: CapturedChange) -> list[list[RawRow]]:
    """What of a change may come later: all of it, or a row without which the others wait or look whole."""
    tracking = [row for row in change.rows if row.is_tracking]
    after = _of_operation(change, CREATE, DELETE, AFTER)
    ways = [list(change.rows), tracking, [row for row in change.rows if not row.is_tracking], after]
    # a record in two is rarer than one that is whole
    return ways + [[part] for part in after for _ in range(2) if len(after) > 1]


def _verdict(row: RawRow, rows: Iterable[RawRow]) -> Verdict:
    """The verdict on a sound row, by the rows of its change that have landed."""
    change_rows = [other for other in rows if not other.is_tracking]
    after = [other for other in change_rows if other.place.operation != BEFORE]
    before = [other for other in change_rows if other.place.operation == BEFORE]
    code: str | None = None
    if not change_rows:
        code = "change_row_missing"
    elif all(not other.is_tracking for other in rows):
        code = "tracking_row_missing"
    elif not after:
        code = "after_image_missing"
    else:
        code = _missing_part(after) or (_missing_part(before) if row in before else None)
    if code is not None:
        return Verdict("waiting", code)
    return _ACCEPTED if row in after and row.place.position == 0 else _MERGED


def _missing_part(image: Sequence[RawRow]) -> str | None:
    positions = {row.place.position for row in image}
    if 0 not in positions:
        return "first_part_missing"
    return "second_part_missing" if len(positions) == 1 and any(row.is_marked for row in image) else None
