"""Writes a GoldenGate trail: the source's transactions as records, one table after the other in one trail.

Orders are updated by two halves or by unified records, prices by the key and what changed, and the wide records of
machine_settings are split in pieces, under names in upper case.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any

from demo.database import TABLES, Column, Table
from demo.history import Change, Row, Transaction, Value
from demo.landing import Landed
from demo.workload import STARTED_AT
from demo.writers.feed import FeedWriter, RawTable, Verdict

_IMAGE = "map<string,string>"
RAW_TABLE = RawTable(
    "trail_records",
    (
        Column("trail_name", "string"),
        Column("trail_seqno", "int"),
        Column("trail_rba", "bigint"),
        Column("hdr_ind", "string"),
        Column("undo_flag", "int"),
        Column("rec_length", "int"),
        Column("io_type", "int"),
        Column("trans_ind", "int"),
        Column("syskey_len", "int"),
        Column("audit_rba", "bigint"),
        Column("audit_pos", "bigint"),
        Column("continued", "string"),
        Column("partition_ind", "int"),
        Column("before_after", "string"),
        Column("io_time", "timestamp"),
        Column("orig_node", "int"),
        Column("format_type", "string"),
        Column("incomplete", "int"),
        Column("rec_count", "int"),
        Column("table_name", "string"),
        Column("before_data", _IMAGE),
        Column("after_data", _IMAGE),
        Column("tokens", _IMAGE),
    ),
)
TRAIL = "rt"
DELETE, INSERT, UPDATE, FIELD_COMP, PURGE_DATA = 3, 5, 10, 15, 100
KEY_UPDATE, KEY_UPDATE_32, UNIFIED_UPDATE, UNIFIED_KEY_UPDATE, UPSERT = 115, 117, 134, 135, 140
RESTART, DDL, FRAGMENT, METADATA = 150, 160, 161, 170
FIRST, MIDDLE, LAST, ONLY = range(4)

_RECORDS_A_FILE = 150
_ABANDONED = 0.15
_LANDED_AGAIN = 0.05
_SENT_AGAIN = 3
_ACCEPTED = Verdict("accepted", None)
_MERGED = Verdict("merged", None)
_IGNORED = Verdict("ignored", None)
_OPEN = Verdict("waiting", "transaction_open")
Image = Mapping[str, str | None]


@dataclass(frozen=True)
class Record:
    """A record of the trail.

    Attributes:
        table: whose it is; None where it is of no table, or of one that is not replicated
        header: the fields of the record, by column of the raw table
        verdict: what staging must say of it
        is_change: whether a change counts here: a whole record, the first of its pieces, the after image of an update
    """

    table: Table | None
    header: Mapping[str, Landed]
    verdict: Verdict
    is_change: bool = False

    @property
    def position(self) -> tuple[Any, Any]:
        """The file and the place in it."""
        return self.header["trail_seqno"], self.header["trail_rba"]

    @property
    def landed(self) -> tuple[Landed, ...]:
        """The row of the raw table."""
        return tuple(self.header[column.name] for column in RAW_TABLE.columns)


class GoldenGateTrailWriter(FeedWriter):
    """Writes the trail of one extract.

    >>> from demo.workload import Workload
    >>> workload = Workload(seed=1)
    >>> writer = GoldenGateTrailWriter(seed=1)
    >>> len(writer.write([], loaded=workload.fill(), last=True)["trail_records"]) > 50
    True

    Attributes:
        written: the records that landed so far, those that landed again as often
    """

    system = "goldengate_trail"
    swaps = True

    def __init__(self, seed: int) -> None:
        """Starts a trail: its positions start again."""
        self._random = Random(seed)
        self._seqno = 0
        self._rba = 0
        self._number = 0
        self._batches = 0
        self._dangling: set[tuple[Any, Any]] = set()
        self._whole: list[tuple[Sequence[Record], Image]] = []
        self.written: list[Record] = []

    @property
    def raw_tables(self) -> Sequence[RawTable]:
        """The one raw table."""
        return [RAW_TABLE]

    def write(
        self, transactions: Sequence[Transaction], loaded: Sequence[Transaction] = (), *, last: bool = False
    ) -> Mapping[str, Sequence[tuple[Landed, ...]]]:
        """Writes a batch: the transactions, some of them twice, abandoned attempts, what cannot be read, and copies.

        See `FeedWriter.write`. Before the last batch it ends in a transaction that is open, and never comes to its end.
        """
        records = list(self._start_of_trail()) if self._batches == 0 else []
        # the writer of the trail has begun a new transaction: the one before will not go on
        self.written = [
            replace(record, verdict=_IGNORED) if record.position in self._dangling else record
            for record in self.written
        ]
        self._dangling = set()
        records += self._sent_again()
        for transaction in [*loaded, *transactions]:
            records += self._written(transaction)
        records += self._sent_again()
        records += self._broken(transactions)
        if not last:
            attempt = list(self._placed(self._harm(transactions), tokens=self._tokens(transactions[-1]), ends=False))
            attempt = [replace(record, verdict=_OPEN) for record in attempt]
            self._dangling = {record.position for record in attempt}
            records += attempt
        copies = self._some(self.written, _LANDED_AGAIN) + self._some(
            [record for record in records if record.position not in self._dangling], _LANDED_AGAIN
        )
        landed = records + copies
        self._random.shuffle(landed)
        self.written += landed
        self._batches += 1
        return {RAW_TABLE.name: [record.landed for record in landed]}

    @property
    def expected_statuses(self) -> Mapping[str, Counter[Verdict]]:
        """How many records staging must find in which status; see `FeedWriter.expected_statuses`."""
        counts: dict[str, Counter[Verdict]] = {name: Counter() for name in TABLES}
        for record in self.written:
            if record.table is not None:
                counts[record.table.name][record.verdict] += 1
        return counts

    @property
    def expected_changes(self) -> Mapping[str, int]:
        """How many distinct changes there are; see `FeedWriter.expected_changes`."""
        positions: dict[str, set[tuple[Any, Any]]] = defaultdict(set)
        for record in self.written:
            if record.table is not None and record.is_change:
                positions[record.table.name].add(record.position)
        return {name: len(positions[name]) for name in TABLES}

    @property
    def expected_unclaimed(self) -> Counter[Verdict]:
        """How many records belong to no table, by what they must be listed as."""
        return Counter(record.verdict for record in self.written if record.table is None)

    # transactions

    def _written(self, transaction: Transaction) -> Iterator[Record]:
        """A transaction, now and then after attempts to write it that were abandoned."""
        records = [record for change in transaction.changes for record in self._of_change(change)]
        tokens = self._tokens(transaction)
        while len(records) > 1 and self._random.random() < _ABANDONED:
            attempt = records[: self._random.randint(1, len(records) - 1)]
            for record in self._placed(attempt, tokens, ends=False):
                yield replace(record, verdict=_IGNORED, is_change=False)
        self._whole.append((records, tokens))
        yield from self._placed(records, tokens)

    def _sent_again(self) -> Iterator[Record]:
        """The last transactions once more, as by an extract that was repositioned."""
        for records, tokens in self._whole[-_SENT_AGAIN:]:
            for record in self._placed(records, tokens):
                yield replace(record, verdict=_IGNORED, is_change=False)

    def _placed(self, records: Sequence[Record], tokens: Image, *, ends: bool = True) -> Iterator[Record]:
        """The records of one transaction at the end of the trail: the first one has the transaction's ids."""
        for place, record in enumerate(records):
            is_last = ends and place == len(records) - 1
            trans_ind = (ONLY if is_last else FIRST) if place == 0 else (LAST if is_last else MIDDLE)
            yield self._at_end(record, trans_ind=trans_ind, tokens=tokens if place == 0 else None)

    def _at_end(self, record: Record, **header: Landed) -> Record:
        self._number += 1
        if self._number % _RECORDS_A_FILE == 0:
            self._seqno, self._rba = self._seqno + 1, 0
        self._rba += self._random.randint(60, 900)
        return replace(record, header={**record.header, "trail_seqno": self._seqno, "trail_rba": self._rba, **header})

    def _tokens(self, transaction: Transaction, part: int = 1) -> Image:
        ids = {"LOGCSN": str(10_000 + transaction.number), "TRANID": f"7.{transaction.number}.{part}"}
        if self._random.random() < 0.3:  # under the ids of the tokens
            return {"L": ids["LOGCSN"], "6": ids["TRANID"], "R": "AAAR3sAAEAAAACXAAA"}
        return ids

    # changes

    def _record(
        self,
        table: Table | None,
        io_type: int,
        changed_at: datetime,
        after: Image | None = None,
        before: Image | None = None,
        verdict: Verdict = _ACCEPTED,
        **header: Landed,
    ) -> Record:
        usual: dict[str, Landed] = {
            "trail_name": TRAIL,
            "hdr_ind": "E",
            "undo_flag": 0,
            "rec_length": sum(len(text or "") for image in (before, after) if image for text in image.values()),
            "io_type": io_type,
            "syskey_len": 0,
            "audit_rba": self._random.randint(1, 99),
            "audit_pos": self._random.randint(0, 10**7),
            "continued": "N",
            "partition_ind": 4,
            "before_after": "B" if io_type == DELETE else "A",
            "io_time": changed_at,
            "orig_node": 255,
            "format_type": self._random.choice("RRRF"),
            "incomplete": 0,
            "rec_count": 1,
            "table_name": None if table is None else trail_name(table),
            "before_data": before,
            "after_data": after,
        }
        return Record(table, {**usual, **header}, verdict, is_change=verdict == _ACCEPTED)

    def _of_change(self, change: Change) -> list[Record]:
        table, at = TABLES[change.table], change.changed_at
        after = None if change.after is None else self._image(table, change.after)
        before = None if change.before is None else self._image(table, change.before)
        if change.operation == "truncate":
            return [self._record(table, PURGE_DATA, at, rec_length=0)]
        if change.operation == "insert":
            io_type = UPSERT if table.name == "prices" and self._random.random() < 0.3 else INSERT
            return self._in_pieces(self._record(table, io_type, at, after))
        if change.operation == "delete":
            assert before is not None
            return [
                self._record(table, DELETE, at, None, before if table.name == "orders" else self._key(table, before))
            ]
        assert before is not None
        assert after is not None
        moves = self._key(table, before) != self._key(table, after)
        if table.name == "orders":
            if self._random.random() < 0.5:
                half = self._record(table, UPDATE, at, None, before, _MERGED, before_after="B")
                return [half, self._record(table, UPDATE, at, after)]
            return [self._record(table, UNIFIED_KEY_UPDATE if moves else UNIFIED_UPDATE, at, after, before)]
        if table.name == "prices":
            image = {**self._key(table, after), **{name: after[name] for name in change.changed_columns}}
            if moves:
                return [self._record(table, KEY_UPDATE, at, image, self._key(table, before))]
            return [self._record(table, FIELD_COMP, at, image)]
        if moves:
            return self._in_pieces(self._record(table, KEY_UPDATE_32, at, after, self._key(table, before)))
        return self._in_pieces(self._record(table, UPDATE, at, after))

    def _in_pieces(self, record: Record) -> list[Record]:
        """A record of the wide table in pieces; a text is cut where the pieces meet."""
        image = record.header["after_data"]
        if record.table is None or record.table.name != "machine_settings" or not isinstance(image, Mapping):
            return [record]
        names = list(image)
        cut = sorted(self._random.sample(range(1, len(names)), self._random.randint(0, 2)))
        parts: list[dict[str, str | None]] = [
            {name: image[name] for name in names[start:end]}
            for start, end in zip([0, *cut], [*cut, len(names)], strict=True)
        ]
        for part, following in pairwise(parts):
            name = list(part)[-1]
            text = part[name]
            if text is not None and len(text) > 1:
                part[name], following[name] = text[:1], text[1:]
        last = len(parts) - 1
        pieces = [
            replace(record, header={**record.header, "after_data": parts[0], "continued": "N" if last == 0 else "Y"})
        ]
        for place, part in enumerate(parts[1:], start=1):
            pieces.append(
                self._record(
                    record.table,
                    FRAGMENT,
                    STARTED_AT,
                    part,
                    None,
                    _MERGED,
                    continued="N" if place == last else "Y",
                    rec_count=place + 1,
                )
            )
        return pieces

    def _image(self, table: Table, row: Row) -> dict[str, str | None]:
        return {name_in_trail(table, name): self._text(value) for name, value in row.items()}

    @staticmethod
    def _key(table: Table, image: Image) -> dict[str, str | None]:
        return {name_in_trail(table, name): image[name_in_trail(table, name)] for name in table.key}

    def _text(self, value: Value) -> str | None:
        if value is None:
            return None
        if isinstance(value, bool):
            return str(int(value))
        if isinstance(value, datetime):
            between = self._random.choice(": T")
            return f"{value:%Y-%m-%d}{between}{value:%H:%M:%S.%f}{self._random.choice(('', '000', '999'))}"
        if isinstance(value, date):
            return value.isoformat() + self._random.choice(("", ":00:00:00", ":00:00:00.000000000"))
        if isinstance(value, Decimal):
            return f"{value:f}"
        if isinstance(value, bytes):
            return value.hex().upper()
        return str(value)

    # what is no change of a row, and what cannot be read

    def _start_of_trail(self) -> Iterator[Record]:
        """The end of a transaction whose start is in no trail, the definitions of the tables, a restart."""
        for table in TABLES.values():
            row = dict.fromkeys(table.column_names, "1")
            missing = Verdict("rejected", "transaction_start_missing")
            yield self._at_end(
                self._record(table, INSERT, STARTED_AT, row, None, missing), trans_ind=MIDDLE, tokens=None
            )
            definition = self._record(table, METADATA, STARTED_AT, verdict=_IGNORED)
            yield self._at_end(definition, trans_ind=ONLY, tokens=None)
        yield self._at_end(self._record(None, RESTART, STARTED_AT, verdict=_IGNORED), trans_ind=ONLY, tokens=None)
        yield self._at_end(self._record(None, DDL, STARTED_AT, verdict=_IGNORED), trans_ind=ONLY, tokens=None)
        unknown = Verdict("rejected", "table_unknown")
        yield self._at_end(self._record(None, INSERT, STARTED_AT, {}, verdict=unknown), trans_ind=ONLY, tokens=None)

    def _broken(self, transactions: Sequence[Transaction]) -> Iterator[Record]:
        """A transaction of records that cannot be read; each would do harm if it was accepted."""
        records = []
        for change in {change.table: change for change in _changes(transactions) if change.after is not None}.values():
            table, at = TABLES[change.table], change.changed_at
            assert change.after is not None
            image = self._image(table, change.after)
            bare = {**dict.fromkeys(image), **self._key(table, image)}

            def made(
                code: str,
                after: Image | None,
                io_type: int = INSERT,
                table: Table = table,
                at: datetime = at,
                **header: Landed,
            ) -> Record:
                return self._record(table, io_type, at, after, None, Verdict("rejected", code), **header)

            misfit = next(c.name for c in table.other_columns if c.data_type not in ("string", "binary", "boolean"))
            records += [
                made("header_malformed", bare, hdr_ind=self._one_of("X", None)),
                made("header_malformed", bare, continued="?"),
                made("unknown_operation", bare, self._one_of(777, 0)),
                made("data_missing", self._one_of(None, {})),
                made("key_missing", dict.fromkeys(image)),
                made("key_missing", {name: text for name, text in bare.items() if name not in self._key(table, bare)}),
                made(
                    "value_does_not_fit", {**bare, name_in_trail(table, misfit): self._one_of("n/a", "1.5e", "9" * 40)}
                ),
                made("chunk_run_broken", bare, continued="Y"),
                self._record(None, INSERT, at, {"id": "1"}, verdict=_IGNORED, table_name="SHOP.AUDIT"),
                self._record(
                    table,
                    UPDATE,
                    at,
                    None,
                    self._key(table, bare),
                    Verdict("rejected", "after_half_missing"),
                    before_after="B",
                ),
            ]
        if records:
            yield from self._placed(records, self._tokens(transactions[-1], part=2))

    def _harm(self, transactions: Sequence[Transaction]) -> list[Record]:
        """Deletes of rows that live, for a transaction that never ends."""
        records = []
        for change in list(_changes(transactions))[-20:]:
            if change.after is not None:
                table = TABLES[change.table]
                key = self._key(table, self._image(table, change.after))
                records.append(self._record(table, DELETE, change.changed_at, None, key, _OPEN))
        return records

    def _some(self, records: Sequence[Record], part: float) -> list[Record]:
        return self._random.sample(list(records), int(part * len(records)))

    def _one_of(self, *kinds: Any) -> Any:
        return kinds[self._batches % len(kinds)]


def trail_name(table: Table) -> str:
    """The name of a table as the trail has it."""
    return f"SHOP.{table.name.upper()}"


def name_in_trail(table: Table, name: str) -> str:
    """The name of a column as the trail has it."""
    return name.upper() if table.name == "machine_settings" else name


def _changes(transactions: Iterable[Transaction]) -> Iterator[Change]:
    for transaction in transactions:
        yield from transaction.changes
