"""Random histories of a source's tables as GoldenGate trails, and what the logs of changes hold of them after each run.

Each trail has histories of its own. Batches cut it anywhere. Transactions are abandoned and written again, sent again,
and purged. Files land late, in the run that reads all of raw.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

from demo.history import Change as SourceChange
from demo.history import Row, Transaction

from .interpreter import Change, with_columns
from .source_histories import KEY, Source
from .trail_cases import (
    DELETE,
    FIELDS,
    FIRST,
    FRAGMENT,
    INSERT,
    KEY_UPDATE,
    KEY_UPDATE_32,
    LAST,
    METADATA,
    MIDDLE,
    ONLY,
    RESTART,
    TRUNCATE,
    UNIFIED,
    UNIFIED_KEY_UPDATE,
    UPDATE,
    UPSERT,
    Image,
    Trail,
    position,
)

HISTORIES = 4
TRANSACTIONS = 25
"""Of each trail."""


@dataclass(frozen=True)
class Draft:
    """A change as records that have no place yet: the arguments of `Trail.record`.

    `image` is what the change has of the row, `counts` the record whose position is that of the change.
    """

    source: SourceChange
    op: str
    image: Image
    records: Sequence[Mapping[str, Any]]
    counts: int = 0


@dataclass(frozen=True)
class Record:
    """A record that lands in a batch, and is purged before that of `gone`."""

    values: Sequence[Any]
    batch: int
    gone: int | None = None

    def is_in(self, batch: int) -> bool:
        """Whether the raw table has it before the build of a batch."""
        return self.batch <= batch and (self.gone is None or self.gone > batch)


@dataclass(frozen=True)
class Written:
    """A transaction in a trail, or another stretch of records, of which nothing comes: one of no `name`.

    `changes` has each change with its table and the columns that its image has. `copies` are records that land again.
    """

    records: Sequence[Record]
    name: tuple[str, ...] | None = None
    changes: Sequence[tuple[str, Change, frozenset[str]]] = ()
    copies: Sequence[Record] = ()

    @property
    def whole_in(self) -> int:
        """The batch with which all of it has landed."""
        return max(record.batch for record in self.records)

    def is_in(self, batch: int) -> bool:
        """Whether the raw table has all of it."""
        return all(record.is_in(batch) for record in self.records)


class _Writer:
    """Writes the transactions of a source into a trail of its own."""

    def __init__(self, chance: random.Random, name: str, batches: int, *, late_files: bool) -> None:
        self.chance = chance
        self.trail = Trail(name)
        self.written: list[Written] = []
        # each feature in some trails
        self._late_batch = batches - 1 if chance.random() < 0.4 and late_files else None
        self._sends_again = self._late_batch is None and chance.random() < 0.7
        self._abandons = chance.choice([0, 0.3])
        self._purges = chance.choice([0, 0, 0.4])
        self._batches = batches

    def write(self, transactions: Iterable[Transaction]) -> None:
        """Write them all, and let them land in batches."""
        known: list[tuple[list[Draft], tuple[str, str] | None]] = []
        for transaction in transactions:
            drafts = [_draft(self.chance, change) for change in transaction.changes]
            name = None if self.chance.random() < 0.2 else (str(1000 + transaction.number), f"x{transaction.number}")
            if self.chance.random() < self._abandons and sum(len(draft.records) for draft in drafts) > 1:
                self._place(drafts, name, ends=False)
            known.append((drafts, name))
            self._place(drafts, name)
            if self._sends_again and self.chance.random() < 0.2:
                for again in [sent for sent in known[-2:] if sent[1] is not None]:
                    self._place(*again)
            if self.chance.random() < 0.1:
                self.written.append(Written([Record(self.trail.record(METADATA, ONLY), 0)]))
            if self.chance.random() < 0.15:
                self.trail.next_file()
        self._land()

    def _place(self, drafts: Sequence[Draft], name: tuple[str, str] | None, *, ends: bool = True) -> None:
        """The records of a transaction at the end of the trail; of one that does not end, the first ones."""
        told = [(which, number) for which, draft in enumerate(drafts) for number in range(len(draft.records))]
        told = told if ends else told[: self.chance.randrange(1, len(told))]
        tokens = name and dict(zip(self.chance.choice([("LOGCSN", "TRANID"), ("L", "6")]), name, strict=True))
        records: list[Record] = []
        places: dict[tuple[int, int], str] = {}
        for place, (which, number) in enumerate(told):
            is_last = ends and place == len(told) - 1
            trans_ind = (ONLY if is_last else FIRST) if place == 0 else (LAST if is_last else MIDDLE)
            if place and self.chance.random() < 0.05:
                records.append(Record(self.trail.record(RESTART, MIDDLE), 0))
            if place and self._late_batch is None and self.chance.random() < 0.05:
                self.trail.next_file()
            header = {**drafts[which].records[number], "trans_ind": trans_ind, "tokens": None if place else tokens}
            records.append(Record(self.trail.record(**header), 0))
            places[which, number] = position(self.trail.rba, self.trail.name, self.trail.seqno)
        if not ends:
            self.written.append(Written(records))
            return
        transaction_id = name[1] if name else places[0, 0]
        changes = [_change(draft, places[which, draft.counts], transaction_id) for which, draft in enumerate(drafts)]
        self.written.append(Written(records, name or (transaction_id,), changes))

    def _land(self) -> None:
        """Cut the trail into batches; a file can be late. What is whole is purged, and some records land again."""
        chance, batches = self.chance, self._batches
        length = sum(len(written.records) for written in self.written)
        cuts = sorted(chance.choices(range(length), k=batches - 1))
        # files after which others land in time
        files = {record.values[1] for record in [*chain(*(written.records for written in self.written))][: cuts[0]]}
        late_files = {file for file in sorted(files)[:-1] if chance.random() < 0.6}
        number = 0
        for place, written in enumerate(self.written):
            records = []
            for record in written.records:
                batch = 1 + sum(cut <= number for cut in cuts)
                if self._late_batch and record.values[1] in late_files:
                    batch = max(batch, self._late_batch)
                records.append(replace(record, batch=batch))
                number += 1
            self.written[place] = replace(written, records=records)
        last_sent = {written.name: written.whole_in for written in self.written}
        for place, written in enumerate(self.written):
            first = last_sent[written.name] if written.name else batches
            gone = first + 2 if written.name and chance.random() < self._purges else None  # one run may be left out
            records = [replace(record, gone=gone) for record in written.records]
            last = batches if gone is None else min(batches, gone - 1)
            copies = [
                replace(record, batch=chance.randrange(record.batch, last + 1))
                for record in records
                if chance.random() < 0.1
            ]
            self.written[place] = replace(written, records=records, copies=copies)


def _draft(chance: random.Random, change: SourceChange) -> Draft:
    """A change in one of the ways in which trails have it."""
    table: dict[str, Any] = {"table_name": f"APP.{change.table.upper()}", "io_time": change.changed_at}
    before, after = _image(change.before), _image(change.after)
    if change.operation == "truncate":
        return Draft(change, "truncate", {}, [{"io_type": TRUNCATE, "rec_length": 0} | table])
    if change.operation == "delete":
        image = chance.choice([before, _only(before, KEY)])
        return Draft(change, "delete", image, [{"io_type": DELETE, "before": image} | table])
    if change.operation == "insert":
        image = _only(after, [*KEY, *(name for name in after if after[name] is not None or chance.random() < 0.5)])
        op, io_type = chance.choice([("insert", INSERT), ("insert", INSERT), ("upsert", UPSERT)])
        return Draft(change, op, image, _pieces(chance, {"io_type": io_type, "after": image} | table))
    image = chance.choice([after, _only(after, [*KEY, *change.changed_columns])])
    moves = _only(before, KEY) != _only(after, KEY)
    if chance.random() < 0.3:
        half = chance.choice([before, _only(before, KEY)])
        halves = _pieces(chance, {"io_type": UPDATE, "before": half, "before_after": "B"} | table, "before")
        records = [*halves, *_pieces(chance, {"io_type": UPDATE, "after": image} | table)]
        return Draft(change, "update", image, records, len(halves))
    if moves:
        io_type = chance.choice([KEY_UPDATE, KEY_UPDATE_32, UNIFIED_KEY_UPDATE])
        told = {"io_type": io_type, "after": image, "before": chance.choice([before, _only(before, KEY)])}
        return Draft(change, "update", image, _pieces(chance, told | table))
    io_type = chance.choice([UPDATE, FIELDS, UNIFIED, UPSERT])
    told = {"io_type": io_type, "after": image} | ({"before": before} if io_type == UNIFIED else {})
    op = "upsert" if io_type == UPSERT else "update"
    return Draft(change, op, image, _pieces(chance, told | table))


def _pieces(chance: random.Random, record: Mapping[str, Any], image: str = "after") -> list[dict[str, Any]]:
    """A record, now and then in pieces; a text is cut where they meet."""
    names = list(record[image])
    if chance.random() < 0.8:
        return [dict(record)]
    cuts = [0, *sorted(chance.sample(range(1, len(names)), chance.randrange(1, min(3, len(names))))), len(names)]
    parts = [{name: record[image][name] for name in names[start:end]} for start, end in pairwise(cuts)]
    for part, following in pairwise(parts):
        name = list(part)[-1]
        text = part[name]
        if text is not None and len(text) > 1:
            part[name], following[name] = text[:1], text[1:]
    pieces: list[dict[str, Any]] = [{**record, image: parts[0], "continued": "Y"}]
    for part in parts[1:]:
        pieces.append({**record, "io_type": FRAGMENT, "before": None, "after": None, image: part, "continued": "Y"})
    pieces[-1]["continued"] = "N"
    return pieces


def _image(row: Row | None) -> Image:
    return {name: None if value is None else str(value) for name, value in (row or {}).items()}


def _only(image: Image, names: Iterable[str]) -> Image:
    wanted = set(names)
    return {name: text for name, text in image.items() if name in wanted}


def _change(draft: Draft, seq: str, transaction_id: str) -> tuple[str, Change, frozenset[str]]:
    source = draft.source
    row = source.after or source.before or {}
    key = tuple(row.get(name) for name in KEY)
    before = tuple(source.before[name] for name in KEY) if draft.op == "update" and source.before else key
    change = Change(
        change_id=seq,
        seq=seq,
        op=draft.op,
        row=row,
        key=key,
        key_before=before if before != key else None,
        transaction_id=transaction_id,
        changed_at=source.changed_at,
    )
    return source.table, change, frozenset(draft.image)


def _declared(change: Change, borne: frozenset[str], columns: Iterable[str]) -> Change:
    """A change as a run reads it that declares these columns."""
    present = None if change.op not in ("update", "upsert") or borne >= set(columns) else borne & set(columns)
    row = {name: change.row[name] if name in borne else None for name in columns} if change.row else {}
    return replace(change, row=row, present=present)


@dataclass
class TrailLog:
    """What the log of a table holds after some runs. A full refresh begins with a new one."""

    trails: Sequence[Sequence[Written]]
    table: str
    changes: dict[str, Change] = field(default_factory=dict)
    _counts: dict[tuple[str, ...], Written] = field(default_factory=dict)

    def run(self, batch: int, columns: Iterable[str]) -> None:
        """Take in the transactions of which the raw table has all. Of those that were sent again the first counts."""
        self.changes = {name: with_columns(change, columns) for name, change in self.changes.items()}
        for number, trail in enumerate(self.trails):
            for written in trail:
                if written.name is None or not written.is_in(batch):
                    continue
                if self._counts.setdefault((str(number), *written.name), written) is not written:
                    continue
                for table, change, borne in written.changes:
                    if table == self.table:
                        self.changes[change.change_id] = _declared(change, borne, columns)


def random_trails(
    seed: int, trails: int, batches: int, tables: Sequence[str] = ("orders", "lines"), *, late_files: bool = True
) -> tuple[list[list[Written]], list[Source]]:
    """So many trails, and the source of each. The first has all of the tables, of which the second is truncated.

    Late files land in the last batch but one: no run but one that reads everything reads them.
    """
    chance = random.Random(seed)
    found, sources = [], []
    for number in range(trails):
        histories = range(number * HISTORIES, (number + 1) * HISTORIES)
        source = Source(chance, histories, tables if number == 0 else tables[:1], tables[1:2], [None, 1, 2, 3])
        writer = _Writer(chance, f"t{number:04d}", batches, late_files=late_files)
        writer.write(source.play(TRANSACTIONS * (5 if number == 0 else 1)))
        found.append(writer.written)
        sources.append(source)
    return found, sources
