"""Random histories of Identity Manager's event log, many at once, and the result that its page promises.

The number of a history is part of its key. The log changes after events are written: rows land late and again, and the
driver processes some and deletes others. The replica has other rows at each run.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from demo.history import Change as SourceChange

from .idm_cases import (
    DELETE,
    FAR_AHEAD,
    INSERT_FIELD,
    INSERT_ROW,
    READ_INSERT,
    READ_UPDATE,
    REPLACE_FIELD,
    UPDATE_FIELD,
    UPDATE_ROW,
)
from .interpreter import Change, Key, Row, Table, content_text, distinct_changes, with_columns
from .source_histories import VALUES, Source

COLUMNS = {"history": "int", "place": "int", "name": "string", "note": "string"}
KEY = ["history", "place"]
RAW_COLUMNS = {
    "record_id": "bigint",
    "status": "string",
    "event_type": "int",
    "event_time": "timestamp",
    "perpetrator": "string",
    "table_name": "string",
    "table_key": "string",
    "column_name": "string",
    "old_value": "string",
    "new_value": "string",
    "landed": "int",
}
DRIVER = "idm"

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_TYPES = (
    [INSERT_FIELD, UPDATE_FIELD, DELETE, INSERT_ROW, READ_INSERT, READ_UPDATE] * 3 + [UPDATE_ROW] * 2 + [REPLACE_FIELD]
)
_OF_FIELDS = (INSERT_FIELD, UPDATE_FIELD, REPLACE_FIELD, READ_INSERT, READ_UPDATE)
_TELLING = (INSERT_FIELD, UPDATE_FIELD, REPLACE_FIELD)
_READING = (INSERT_ROW, UPDATE_ROW, READ_INSERT, READ_UPDATE)
_OPERATIONS = {
    INSERT_FIELD: "upsert",
    UPDATE_FIELD: "update",
    REPLACE_FIELD: "update",
    DELETE: "delete",
    INSERT_ROW: "insert",
    UPDATE_ROW: "upsert",
    READ_INSERT: "upsert",
    READ_UPDATE: "update",
}


@dataclass(frozen=True)
class Event:
    """One row of the raw log. `landed` is the batch in which it lands, `tells_key` whether its key can be read."""

    record_id: int
    event_type: int
    key: Key
    column: str | None
    new: str | None
    at: datetime | None
    landed: int
    status: str = "N"
    perpetrator: str | None = "hr"
    tells_key: bool = True

    @property
    def values(self) -> tuple[Any, ...]:
        """The row in the order of RAW_COLUMNS."""
        history, place = self.key
        table_key = f"history={history}+place={place}" if self.tells_key else f"history={history}"
        told = (self.status, self.event_type, self.at, self.perpetrator, "usr", table_key, self.column, None, self.new)
        return (self.record_id, *told, self.landed)


@dataclass(frozen=True)
class Moment:
    """What a run finds: the rows of the raw log, and those of the replica."""

    log: Sequence[Event]
    replica: Mapping[Key, Row]


def random_moments(seed: int, histories: int, events: int, batches: int, *, of_the_future: bool) -> list[Moment]:
    """The raw log and the replica at each of these runs.

    With `of_the_future`, times have another order than record ids, and some are in the future.
    """
    chance = random.Random(seed)
    keys = [(history, place) for history in range(1, histories + 1) for place in (1, 2)]
    landing = [
        copy
        for number in range(1, events + 1)
        for copy in _deliveries(
            chance, number, chance.choice(keys), 1 + number * batches // (events + 1), batches, of_the_future
        )
    ]
    moments = []
    log: list[Event] = []
    for batch in range(1, batches + 1):
        log += [event for event in landing if event.landed == batch]
        chance.shuffle(log)
        replica = {
            key: dict(zip(COLUMNS, (*key, *(chance.choice([None, f"{name}{batch}"]) for name in "rs")), strict=True))
            for key in keys
            if chance.random() < 0.7
        }
        moments.append(Moment(list(log), replica))
        log = _later(chance, log)
    return moments


def moments_of_sources(seed: int, histories: int, transactions: int, batches: int) -> tuple[list[Moment], list[Source]]:
    """The raw log at each run and the rows of its sources, whose changes events tell truly; and the sources."""
    chance = random.Random(seed)
    sources = [Source(chance, [history], places=[1, 2], exchanges=False) for history in range(1, histories + 1)]
    playing = [source.play(transactions) for source in sources]
    landing: list[Event] = []
    last_id = 0
    moments = []
    log: list[Event] = []
    for batch in range(1, batches + 1):
        for _ in range(transactions // batches):
            for played in chance.sample(playing, len(playing)):
                for change in next(played).changes:
                    events = _events_of(chance, change, last_id + 1, batch, batches)
                    last_id += len(events)
                    again = [event for event in events if chance.random() < 0.1]
                    landing += events
                    landing += [replace(event, landed=chance.randrange(event.landed, batches + 1)) for event in again]
        log += [event for event in landing if event.landed == batch]
        chance.shuffle(log)
        rows = {key: dict(row) for source in sources for key, row in source.rows["orders"].items()}
        moments.append(Moment(list(log), rows))
        log = _later(chance, log)
    return moments, sources


def _events_of(chance: random.Random, change: SourceChange, first_id: int, in_time: int, batches: int) -> list[Event]:
    """A change as events: of the row or of its fields, with values or to be read. A row that moves goes and comes."""
    before, after = change.before, change.after
    moves = before is not None and after is not None and [before[name] for name in KEY] != [after[name] for name in KEY]
    told: list[tuple[int, Row, str | None]] = []
    if before is not None and (moves or after is None):
        told.append((DELETE, before, None))
    if after is not None and (moves or before is None):
        fields = ["place", *(name for name in VALUES if after[name] is not None)]
        types = chance.choice([[INSERT_FIELD, READ_INSERT], [READ_INSERT]])
        by_field = [(chance.choice(types), after, name) for name in fields]
        told += chance.choice([by_field, [(INSERT_ROW, after, None)]])
    elif after is not None:
        fields = [*change.changed_columns, *(["name"] if chance.random() < 0.2 else [])]
        by_field = [(chance.choice([UPDATE_FIELD, REPLACE_FIELD, READ_UPDATE]), after, name) for name in fields]
        told += chance.choice([by_field, by_field, [(UPDATE_ROW, after, None)]])
    return [
        Event(
            record_id=first_id + place,
            event_type=event_type,
            key=tuple(row[name] for name in KEY),
            column=column and chance.choice([column, column.upper()]),
            new=str(row[column]) if column and event_type in _TELLING and row[column] is not None else None,
            at=change.changed_at,
            landed=in_time if chance.random() < 0.8 else chance.randrange(in_time, batches + 1),
        )
        for place, (event_type, row, column) in enumerate(told)
    ]


def _deliveries(
    chance: random.Random, number: int, key: Key, in_time: int, batches: int, of_the_future: bool
) -> list[Event]:
    event_type = chance.choice(_TYPES)
    column = chance.choice(["name", "note", "NAME", *(["place"] if chance.random() < 0.6 else [])])
    at: datetime | None = _BEGIN + timedelta(minutes=number // 20 + (chance.randrange(0, 200) if of_the_future else 0))
    if of_the_future and chance.random() < 0.1:
        at = FAR_AHEAD
    event = Event(
        record_id=number,
        event_type=event_type,
        key=key,
        column=(None if chance.random() < 0.03 else column) if event_type in _OF_FIELDS else None,
        new=_value(chance, key, column) if event_type in _TELLING else None,
        at=None if chance.random() < 0.02 else at,
        # drawn before others and committed after them
        landed=in_time if chance.random() < 0.7 else chance.randrange(in_time, batches + 1),
        status=chance.choice(["N"] * 20 + ["S", "?"]),
        perpetrator=chance.choice(["hr"] * 15 + [None, DRIVER]),
        tells_key=chance.random() > 0.03,
    )
    again = []
    if chance.random() < 0.25:
        new = chance.choice([event.new, event.new, _value(chance, key, column)])
        if event_type not in _TELLING:
            new = None
        again.append(replace(event, new=new, landed=chance.randrange(event.landed, batches + 1)))
    if chance.random() < 0.1:
        again.append(replace(event, status=chance.choice("SWEF?"), landed=chance.randrange(event.landed, batches + 1)))
    return [event, *again]


def _value(chance: random.Random, key: Key, column: str) -> str | None:
    if column == "place":
        return chance.choice([str(key[1]), str(key[1]), None, "3"])
    return chance.choice([None, "a", "b", "c", "d"])


def _later(chance: random.Random, log: Sequence[Event]) -> list[Event]:
    """The log before the next rows land: the driver has processed some events, and the time of future ones has come."""
    has_come = {event.record_id: chance.random() < 0.4 for event in log if event.at == FAR_AHEAD}
    later = []
    for event in log:
        fate = chance.random()
        if fate < 0.08:
            continue
        if has_come.get(event.record_id):
            event = replace(event, at=_BEGIN + timedelta(minutes=event.record_id % 300))
        later.append(replace(event, status="S") if event.status == "N" and fate < 0.16 else event)
    return later


class Models:
    """What the models hold after some runs. A full refresh is the first run of new ones."""

    def __init__(self, *, future_events: bool) -> None:
        """Nothing is logged yet."""
        self._future_events = future_events
        self._runs = 0
        self._columns: tuple[str, ...] = ()
        self._read: set[int] = set()
        self.deliveries: list[Change] = []
        self.conflicting: set[str] = set()
        self.forgotten: dict[Key, int] = {}
        """The keys that were erased, and up to which event."""
        self._contents: dict[str, tuple[Any, ...]] = {}
        self.codes: dict[int, str | None] = {}
        """What the last run says of the rows of each event; None: a change."""

    def run(self, moment: Moment, columns: Iterable[str] = tuple(COLUMNS)) -> None:
        """Take in what the raw log and the replica have now of these columns."""
        self._runs += 1
        self._columns, self.codes = tuple(columns), {}
        self.deliveries = [with_columns(change, self._columns) for change in self.deliveries]
        places = _Places([event for event in moment.log if self._tells_place(event)], self._order)
        read_before = set(self._read)
        for event in moment.log:
            self.codes[event.record_id] = self._code(event)
            if self.codes[event.record_id] or event.record_id in read_before:
                continue
            if event.record_id <= self.forgotten.get(event.key, -1):
                continue
            if event.event_type not in _READING:
                self._take(event, self._row(event), self._seq(event, 0, event))
            elif event.key in moment.replica:
                self._read.add(event.record_id)
                row = {name: moment.replica[event.key][name] for name in self._columns}
                self._take(event, row, self._seq(places.last_before(event), self._runs, event))
            else:
                self.codes[event.record_id] = "row_gone"

    def keys_of(self, histories: Collection[int]) -> set[Key]:
        """The keys of some histories."""
        return {change.key for change in self.deliveries if change.key and change.key[0] in histories}

    def forget(self, keys: Iterable[Key], until: int) -> None:
        """Erase keys up to an event: those up to it are none, also where a later run would read them."""
        self.forgotten |= dict.fromkeys(keys, until)
        self.deliveries = [
            change
            for change in self.deliveries
            if change.key is None or int(change.change_id) > self.forgotten.get(change.key, -1)
        ]
        self.conflicting &= {change.change_id for change in self.deliveries}

    @property
    def table(self) -> Table:
        """The state and the history."""
        return Table(self.deliveries)

    @property
    def log(self) -> set[tuple[Any, ...]]:
        """The accepted changes: id, sequence, operation, name, note, the columns that it has."""
        return {
            (
                change.change_id,
                change.seq,
                change.op,
                change.row["name"],
                change.row["note"],
                None
                if change.present is None or change.starts
                else tuple(name for name in self._columns if name in change.present),
            )
            for change in distinct_changes(self.deliveries)
        }

    def _code(self, event: Event) -> str | None:
        """Why an event is no change yet, whatever the replica has."""
        if event.at is None:
            return "event_time_missing"
        if event.status != "N":
            return "already_processed" if event.status in "SWEF" else "reserved_status"
        if event.perpetrator == DRIVER:
            return "loopback"
        if not event.tells_key:
            return "key_malformed"
        if event.event_type in _OF_FIELDS:
            column = _column(event)
            if column not in self._columns:
                return "column_not_declared"
            if column == "place" and event.event_type not in (INSERT_FIELD, READ_INSERT):
                return "key_updated"
            if column == "place" and event.event_type == INSERT_FIELD and event.new not in (None, str(event.key[1])):
                return "key_contradicted"
        return "future_event" if self._future_events and event.at == FAR_AHEAD else None

    def _tells_place(self, event: Event) -> bool:
        """Whether an event counts for the places of those that read: it has its key and its place."""
        return event.tells_key and not (self._future_events and event.at in (None, FAR_AHEAD))

    def _order(self, event: Event) -> tuple[Any, ...]:
        return (event.at, event.record_id) if self._future_events else (event.record_id,)

    def _seq(self, place: Event, run: int, event: Event) -> str:
        time = ""
        if self._future_events:
            assert place.at is not None
            since_year_1 = place.at - datetime(1, 1, 1, tzinfo=UTC)
            time = f"{since_year_1 // timedelta(microseconds=1):018d}/"
        return f"{time}{place.record_id:019d}/{run:020d}/{event.record_id:019d}"

    def _row(self, event: Event) -> Row:
        """The row with the one value that an event has."""
        row = dict.fromkeys(self._columns) | dict(zip(KEY, event.key, strict=True))
        column = _column(event)
        return row if column is None or column in KEY else {**row, column: event.new}

    def _take(self, event: Event, row: Row, seq: str) -> None:
        change_id = f"{event.record_id:019d}"
        present = None
        if event.event_type in _OF_FIELDS:
            present = frozenset({*KEY, str(_column(event))})
            if event.event_type != READ_INSERT:  # this one starts a row as it was read
                row = {name: value if name in present else None for name, value in row.items()}
        content = (content_text(row), event.new)
        if self._contents.setdefault(change_id, content) != content:
            self.conflicting.add(change_id)
        self.deliveries.append(
            Change(change_id, seq, _OPERATIONS[event.event_type], row, event.key, changed_at=event.at, present=present)
        )


class _Places:
    """The events of each key in their order, to find the last one up to the key's next delete."""

    def __init__(self, events: Sequence[Event], order: Any) -> None:
        self._order = order
        self._of_key: dict[Key, list[Event]] = {}
        for event in sorted(events, key=order):
            self._of_key.setdefault(event.key, []).append(event)

    def last_before(self, event: Event) -> Event:
        """The event after which one has its place that reads its row now."""
        last = event
        for other in self._of_key[event.key]:
            if self._order(other) > self._order(event):
                if other.event_type == DELETE:
                    break
                last = other
        return last


def _column(event: Event) -> str | None:
    return event.column and event.column.lower()
