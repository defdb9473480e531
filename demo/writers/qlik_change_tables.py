"""Writes Qlik change tables: one `<table>__ct` a source table, header columns first, rows only appended.

The tables differ in what a site can set: which header columns there are, their prefix, the type and byte order of the
change mask, whether values land as text, and whether there is a full load, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random

from demo.database import TABLES, Column, Table
from demo.history import Change, Key, Row, Transaction, Value
from demo.workload import STARTED_AT
from demo.writers.feed import FeedWriter, RawTable, Verdict

ALL_HEADERS = (
    "change_seq",
    "change_oper",
    "change_mask",
    "stream_position",
    "operation",
    "transaction_id",
    "timestamp",
)
"""The header columns in their order, as they are without change-data partitioning."""

OPERATIONS = {"I": "INSERT", "U": "UPDATE", "D": "DELETE", "B": "BEFOREIMAGE", "T": "TRUNCATE"}

_SENT_AGAIN_IN_BATCH = 0.06
_SENT_AGAIN_LATER = 0.04
_LATE = 0.25


@dataclass(frozen=True)
class ChangeTable:
    """How one source table is replicated.

    Attributes:
        table: the source table
        headers: names of the header columns, without prefix, in their order
        header_prefix: what each of their names begins with
        mask_type: `binary` or `string` (hex digits)
        mask_order: `least_significant_first` or `most_significant_first`
        has_snapshot: whether a full load copies the table's first rows; else they come as inserts
        text_columns: columns that land as text
        truncate_letter: the change_oper of a TRUNCATE row, which the vendor does not document
    """

    table: Table
    headers: tuple[str, ...] = ALL_HEADERS
    header_prefix: str = "header__"
    mask_type: str = "binary"
    mask_order: str = "least_significant_first"
    has_snapshot: bool = False
    text_columns: tuple[str, ...] = ()
    truncate_letter: str | None = "T"

    @property
    def name(self) -> str:
        """The name of the change table."""
        return f"{self.table.name}__ct"

    @property
    def raw_table(self) -> RawTable:
        """The change table as it lands."""
        types = {"change_mask": self.mask_type, "timestamp": "timestamp"}
        headers = tuple(Column(self.header_prefix + name, types.get(name, "string")) for name in self.headers)
        return RawTable(self.name, headers + self._landed_columns)

    @property
    def snapshot_table(self) -> RawTable:
        """The base table that a full load writes: no header columns."""
        return RawTable(self.table.name, self._landed_columns)

    @property
    def _landed_columns(self) -> tuple[Column, ...]:
        return tuple(
            Column(column.name, "string") if column.name in self.text_columns else column
            for column in self.table.columns
        )


CHANGE_TABLES: Mapping[str, ChangeTable] = {
    change_table.table.name: change_table
    for change_table in (
        ChangeTable(TABLES["orders"], has_snapshot=True),
        ChangeTable(
            TABLES["prices"],
            headers=("change_seq", "change_oper", "change_mask"),
            mask_type="string",
            mask_order="most_significant_first",
            text_columns=("unit price", "order"),
        ),
        ChangeTable(
            TABLES["machine_settings"],
            headers=("change_seq", "change_oper", "change_mask", "operation"),
            header_prefix="cdc__",
            has_snapshot=True,
            truncate_letter="D",
        ),
    )
}
"""How the demo replicates each source table, by its name."""


@dataclass(frozen=True)
class RawRow:
    """A raw row before it is rendered: what it says, and the verdict that staging must give.

    Attributes:
        change_table: where it lands
        change_seq: 35 digits, or what a broken row has instead
        letter: the change_oper of a sound row
        image: value by column; columns that it lacks are null
        values: all values of the raw table, in its order
        code: the reason why it must be rejected; None for a sound row
    """

    change_table: ChangeTable
    change_seq: str | None
    letter: str
    image: Row
    values: tuple[Value, ...] = field(repr=False)
    code: str | None = None

    @property
    def key(self) -> Key:
        """The key in the row's image."""
        return tuple(self.image.get(name) for name in self.change_table.table.key)


@dataclass(frozen=True)
class _Written:
    """A change of the history with its raw rows: one, or an update with its before image."""

    change: Change
    rows: tuple[RawRow, ...]

    @property
    def keys(self) -> frozenset[tuple[str, Key]]:
        """The keys that the change touches, with the table; empty for a truncate."""
        return frozenset((self.change.table, row.key) for row in self.rows if row.letter != "T")


class QlikChangeTablesWriter(FeedWriter):
    """Writes the change tables of one replication task, and their full loads.

    >>> from demo.workload import Workload
    >>> workload = Workload(seed=1, swaps=QlikChangeTablesWriter.swaps)
    >>> writer = QlikChangeTablesWriter(seed=1)
    >>> raw_rows = writer.write([], loaded=workload.fill(), last=True)
    >>> len(raw_rows["orders"]), len(raw_rows["prices__ct"]) >= 20
    (20, True)

    Attributes:
        delivered: the rows of the change tables written so far, in the order in which they landed
        late: the rows that come with the next batch
    """

    system = "qlik_change_tables"
    swaps = False

    def __init__(self, seed: int) -> None:
        """Starts a task: its change numbers start again."""
        self._random = Random(seed)
        self._change_number = 0
        self._captured_at = STARTED_AT
        self.late: list[RawRow] = []
        self.delivered: list[RawRow] = []
        self._snapshot_rows: Counter[str] = Counter()
        self._batches = 0

    @property
    def raw_tables(self) -> Sequence[RawTable]:
        """The change tables, and the base tables of those that have a full load."""
        return [
            *(change_table.raw_table for change_table in CHANGE_TABLES.values()),
            *(change_table.snapshot_table for change_table in CHANGE_TABLES.values() if change_table.has_snapshot),
        ]

    def write(
        self, transactions: Sequence[Transaction], loaded: Sequence[Transaction] = (), *, last: bool = False
    ) -> Mapping[str, Sequence[tuple[Value, ...]]]:
        """Writes a batch: changes, rows sent again, late rows of the batch before, and a few broken rows, shuffled.

        See `FeedWriter.write`.
        """
        landed: dict[str, list[tuple[Value, ...]]] = {table.name: [] for table in self.raw_tables}
        for change in (change for transaction in loaded for change in transaction.changes):
            change_table = CHANGE_TABLES[change.table]
            if change_table.has_snapshot and change.after is not None:
                landed[change_table.snapshot_table.name].append(tuple(_landed(change_table, change.after).values()))
                self._snapshot_rows[change.table] += 1
        written = [
            self._written(transaction, change)
            for transaction in loaded
            for change in transaction.changes
            if not CHANGE_TABLES[change.table].has_snapshot
        ]
        written += [
            self._written(transaction, change)
            for transaction in transactions
            for change in transaction.changes
            # a change of nothing leaves no row in a change table
            if change.operation != "update" or change.changed_columns
        ]
        late_rows = [] if last else self._held_back(written)
        kept_back = {id(row) for row in late_rows}
        rows = self.late + [row for each in written for row in each.rows if id(row) not in kept_back]
        rows += self._broken_rows(written)
        rows += self._some(rows, _SENT_AGAIN_IN_BATCH) + self._some(self.delivered, _SENT_AGAIN_LATER)
        self._random.shuffle(rows)
        for row in rows:
            landed[row.change_table.name].append(row.values)
        self.late = late_rows
        self.delivered += rows
        self._batches += 1
        return landed

    @property
    def expected_statuses(self) -> Mapping[str, Counter[Verdict]]:
        """How many raw rows staging must find in which status; see `FeedWriter.expected_statuses`."""
        updated = {row.change_seq for row in self.delivered if row.letter == "U" and row.code is None}
        counts: dict[str, Counter[Verdict]] = {name: Counter() for name in CHANGE_TABLES}
        for name, count in self._snapshot_rows.items():
            counts[name][Verdict("accepted", None)] += count
        for row in self.delivered:
            if row.code is not None:
                verdict = Verdict("rejected", row.code)
            elif row.letter != "B":
                verdict = Verdict("accepted", None)
            elif row.change_seq in updated:
                verdict = Verdict("merged", None)
            else:
                verdict = Verdict("waiting", "after_image_missing")
            counts[row.change_table.table.name][verdict] += 1
        return counts

    @property
    def expected_changes(self) -> Mapping[str, int]:
        """How many distinct changes there are; see `FeedWriter.expected_changes`."""
        changes: dict[str, set[tuple[str | None, str, Key]]] = defaultdict(set)
        for row in self.delivered:
            if row.code is None and row.letter != "B":
                changes[row.change_table.table.name].add((row.change_seq, row.letter, row.key))
        return {name: self._snapshot_rows[name] + len(changes[name]) for name in CHANGE_TABLES}

    def _written(self, transaction: Transaction, change: Change) -> _Written:
        """The rows of a change; a before image has the change_seq of its update."""
        change_table = CHANGE_TABLES[change.table]
        change_seq = self._next_change_seq(transaction.committed_at)
        names = change_table.table.column_names
        made = _RowMaker(change_table, change_seq, transaction, change.changed_at, self._random)
        if change.operation == "insert" and change.after is not None:
            return _Written(change, (made.row("I", change.after, names),))
        if change.operation == "update" and change.after is not None and change.before is not None:
            return _Written(
                change,
                (made.row("B", change.before, ()), made.row("U", change.after, change.changed_columns)),
            )
        if change.operation == "delete" and change.before is not None:
            # a delete has the last image, or only the key
            is_bare = self._random.random() < 0.5
            image = {name: change.before[name] for name in change_table.table.key} if is_bare else change.before
            return _Written(change, (made.row("D", image, change_table.table.key),))
        return _Written(change, (made.row("T", {}, ()),))

    def _held_back(self, written: Sequence[_Written]) -> list[RawRow]:
        """Rows that come in the next batch: of changes that a later one of the same key replaces.

        A change whose key is moved in this batch is always in time: all moves must be known together. Of an update, the
        row, its before image or both can be late.
        """
        moving = {key for each in written if len(each.keys) > 1 for key in each.keys}
        settled: set[tuple[str, Key]] = set()
        late: list[RawRow] = []
        for each in reversed(written):
            if not each.keys or each.keys & moving:
                continue
            if each.keys <= settled and self._random.random() < _LATE:
                late += self._random.choice((each.rows, each.rows[:1], each.rows[-1:]))
            else:
                settled |= each.keys
        return late

    def _broken_rows(self, written: Sequence[_Written]) -> list[RawRow]:
        """For each table, a row of each broken kind, and a before image whose update never comes.

        Each would do harm where it was accepted: it names a key that lives, and its other columns are null.
        """
        examples = {each.change.table: each.change for each in written if each.change.after is not None}
        return [row for change in examples.values() for row in self._broken_rows_like(change, change.after or {})]

    def _broken_rows_like(self, change: Change, after: Row) -> Iterator[RawRow]:
        change_table = CHANGE_TABLES[change.table]
        names = change_table.table.column_names
        bare = {name: after[name] for name in change_table.table.key}
        keyless = {name: value for name, value in after.items() if name not in change_table.table.key}

        def made(letter: str, image: Row) -> RawRow:
            change_seq = self._next_change_seq(change.changed_at)
            transaction = Transaction(0, change.changed_at, (change,))
            maker = _RowMaker(change_table, change_seq, transaction, change.changed_at, self._random)
            return maker.row(letter, image, names if letter == "U" else ())

        def one_of(*kinds: str | None) -> str | None:
            return kinds[self._batches % len(kinds)]

        yield _broken(made("U", bare), "unknown_operation", change_oper=one_of("X", None, "i"), operation=None)
        yield _broken(made("U", bare), "change_seq_missing", change_seq=None)
        sound = made("U", bare)
        digits = str(sound.change_seq)
        malformed = one_of(digits[:-1], f"{digits[:-1]}x", f"{digits}0", "")
        yield _broken(sound, "change_seq_malformed", change_seq=malformed)
        yield _broken(made("I", keyless), "key_missing")
        if change_table.mask_type == "string":
            yield _broken(made("U", bare), "change_mask_malformed", change_mask=one_of("01g0", "-18", "0 1"))
        for name in change_table.text_columns:
            text = one_of("n/a", "1.00000000001", "9" * 29)
            yield _broken(made("U", bare), "value_does_not_fit", **{name: text})
        yield made("B", bare)

    def _some(self, rows: Sequence[RawRow], part: float) -> list[RawRow]:
        return self._random.sample(list(rows), int(part * len(rows)))

    def _next_change_seq(self, committed_at: datetime) -> str:
        """The next change_seq of the task: the time of the capture, which never steps back, and a running number."""
        captured_at = committed_at + timedelta(milliseconds=self._random.randint(0, 3_000))
        self._captured_at = max(self._captured_at, captured_at)
        self._change_number += 1
        return change_seq(self._captured_at, self._change_number)


@dataclass(frozen=True)
class _RowMaker:
    """Makes the raw rows of one change."""

    change_table: ChangeTable
    change_seq: str
    transaction: Transaction
    changed_at: datetime
    random: Random

    def row(self, letter: str, image: Row, changed: Iterable[str]) -> RawRow:
        """A row with its headers, of which the table keeps those that it has."""
        names = self.change_table.table.column_names
        first_bit = len(self.change_table.headers)
        bits = [first_bit + names.index(name) for name in changed]
        hour = self.changed_at.replace(minute=0, second=0, microsecond=0)
        headers: dict[str, Value] = {
            "change_seq": self.change_seq,
            "change_oper": self.change_table.truncate_letter if letter == "T" else letter,
            "change_mask": self._mask(bits, first_bit + len(names)),
            "stream_position": f"log.{self.transaction.number % 97:06d}:{self.random.randint(4, 10**9)}",
            "operation": OPERATIONS[letter],
            "transaction_id": f"{self.transaction.number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128:032X}",
            # approximate: the clocks of the source and of the task are not one
            "timestamp": self.changed_at + timedelta(seconds=self.random.randint(-2, 2)),
            "partition_name": f"{hour:%Y%m%dT%H%M%S}_{hour + timedelta(hours=1):%Y%m%dT%H%M%S}",
        }
        kept = [headers[name] for name in self.change_table.headers]
        values = (*kept, *_landed(self.change_table, image).values())
        return RawRow(self.change_table, self.change_seq, letter, image, values)

    def _mask(self, bits: Sequence[int], width: int) -> Value:
        """The mask in the table's form; as some sites cut zeros at its upper end, and some do not."""
        whole_bytes = (width + 7) // 8 if self.random.random() < 0.5 else None
        if self.change_table.mask_type == "binary":
            return binary_mask(bits, self.change_table.mask_order, whole_bytes)
        text = hex_mask(bits, whole_bytes)
        text = text.lower() if self.random.random() < 0.5 else text
        return f"0x{text}" if self.random.random() < 0.2 else text


def change_seq(captured_at: datetime, number: int) -> str:
    """A change_seq: the time to the hundredth of a second in 16 digits, and the change's number in 19.

    >>> change_seq(datetime(2026, 1, 5, 8, 30, 0, 250_000), 42)
    '20260105083000250000000000000000042'
    """
    return f"{captured_at:%Y%m%d%H%M%S}{captured_at.microsecond // 10_000:02d}{number:019d}"


def binary_mask(bits: Sequence[int], order: str, whole_bytes: int | None = None) -> bytes | None:
    r"""A mask as bytes: byte 0 holds bits 7..0, or where the most significant comes first, the last byte does.

    Args:
        bits: numbers of the bits that are set, from 0
        order: `least_significant_first` or `most_significant_first`
        whole_bytes: the width in bytes; None cuts the zero bytes at the upper end, and a mask of none is null

    >>> binary_mask([7, 8], "least_significant_first"), binary_mask([7, 8], "most_significant_first", 4)
    (b'\x80\x01', b'\x00\x00\x01\x80')
    """
    number = sum(1 << bit for bit in bits)
    width = (number.bit_length() + 7) // 8 if whole_bytes is None else whole_bytes
    if not number and whole_bytes is None:
        return None
    return number.to_bytes(width, "little" if order == "least_significant_first" else "big")


def hex_mask(bits: Sequence[int], whole_bytes: int | None = None) -> str:
    """A mask as hex digits: one big number, the most significant digit first.

    Args:
        bits: numbers of the bits that are set, from 0
        whole_bytes: the width in bytes; None cuts the zeros at the upper end, so that there can be an odd digit more

    >>> hex_mask([7, 8]), hex_mask([7, 8], 2), hex_mask([])
    ('180', '0180', '')
    """
    number = sum(1 << bit for bit in bits)
    if whole_bytes is None:
        return f"{number:X}" if number else ""
    return f"{number:0{2 * whole_bytes}X}"


def _broken(row: RawRow, code: str, **values: Value) -> RawRow:
    """A row with some values put in (by header name without prefix, or by column), and the reason to reject it."""
    change_table = row.change_table
    names = [*change_table.headers, *change_table.table.column_names]
    broken = tuple(values.get(name, value) for name, value in zip(names, row.values, strict=True))
    return replace(row, values=broken, code=code)


def _landed(change_table: ChangeTable, image: Row) -> Row:
    """An image in the table's order and in the types in which it lands."""
    return {
        name: _text(image.get(name)) if name in change_table.text_columns else image.get(name)
        for name in change_table.table.column_names
    }


def _text(value: Value) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S.%f}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value)
