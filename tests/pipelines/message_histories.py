"""Random histories of a table as Qlik's Kafka messages, many at once: the number of a history is part of its key.

Transactions lie over two partitions, of which one lags. Updates have some columns, the key alone, or none that changes.
Messages come again, land late, and are purged. A column is declared later than it was in the messages.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from demo.writers.qlik_change_tables import hex_mask

from .interpreter import Change, Key, Table, with_columns

COLUMNS = {"history": "int", "place": "int", "name": "string", "note": "string", "extra": "string"}
FEWER_COLUMNS = {name: data_type for name, data_type in COLUMNS.items() if name != "extra"}
KEY = ["history", "place"]
RAW_COLUMNS = {
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "key": "string",
    "value": "string",
}

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_VALUES = ("name", "note", "extra")
_OPERATIONS = {"R": "REFRESH", "I": "INSERT", "U": "UPDATE", "D": "DELETE"}
_OPS = {"R": "snapshot", "I": "insert", "U": "update", "D": "delete"}


@dataclass(frozen=True)
class Message:
    """One message, the key as (history, place), and the batch in which it lands; it is purged before that of `gone`.

    `present` names the columns besides the key that an update has; None: all of them. `told_by` says how: by a mask, or
    because the row of the message lacks the others.
    """

    number: int
    oper: str
    key: Key
    key_before: Key | None
    row: tuple[str | None, ...]
    present: frozenset[str] | None
    has_mask: bool
    transaction_id: str | None
    counter: int
    is_last: bool
    changed_at: datetime | None
    partition: int
    batch: int
    gone: int | None = None
    offset: int = -1

    @property
    def seq(self) -> str:
        """The sequence of the change."""
        return f"{self.offset:035d}" if self.oper == "R" else f"2026010100000000{self.number:019d}"

    def is_in(self, batch: int) -> bool:
        """Whether the raw table has it before the build of a batch."""
        return self.batch <= batch and (self.gone is None or self.gone > batch)

    def of_history(self, history: int, histories: int) -> Message:
        """The message as one of another history, with a number of its own at the same place among those of all."""
        return replace(
            self,
            number=self.number * (histories + 1) + history,
            key=(history, *self.key[1:]),
            key_before=self.key_before and (history, *self.key_before[1:]),
            transaction_id=self.transaction_id and f"{history:08X}{self.transaction_id[8:]}",
        )

    @property
    def values(self) -> tuple[Any, ...]:
        """The record in the order of RAW_COLUMNS."""
        keys = [None if key is None else dict(zip(KEY, key, strict=True)) for key in (self.key, self.key_before)]
        row = dict(zip(_VALUES, self.row, strict=True))
        mask = None
        if self.present is not None and self.has_mask:
            row = {name: value if name in self.present else None for name, value in row.items()}
            mask = hex_mask([list(COLUMNS).index(name) for name in (*KEY, *self.present)])
        elif self.present is not None:
            row = {name: value for name, value in row.items() if name in self.present}
        headers = {
            "operation": _OPERATIONS[self.oper],
            "changeSequence": "" if self.oper == "R" else self.seq,
            "timestamp": self.changed_at and self.changed_at.strftime("%Y-%m-%dT%H:%M:%S"),
            "transactionId": self.transaction_id,
            "transactionEventCounter": self.counter if self.transaction_id else None,
            "transactionLastEvent": self.is_last if self.transaction_id else None,
            "columnMask": mask,
        }
        body = {"data": (keys[0] or {}) | row, "beforeData": keys[1], "headers": headers}
        return ("topic", self.partition, self.offset, _BEGIN, None, json.dumps(body))


class _Source:
    """One history: a table of a few rows that is worked on at random."""

    def __init__(self, chance: random.Random, history: int, batches: int, size: int) -> None:
        self.chance = chance
        self.history = history
        self.number = 0
        self.batches = batches
        self.living: dict[Key, dict[str, str | None]] = {}
        self.messages: list[Message] = []
        self.size = size
        # each feature in some histories
        self.moves = chance.random() < 0.7
        self.late = chance.choice([0, 0.1, 0.4])
        self.masks = chance.choice([0, 0.5, 1])
        self.lags = chance.random() < 0.5
        self.repeats = chance.choice([0, 0.2])
        self.purges = chance.choice([0, 0, 0.3])
        self.in_transactions = chance.choice([0.3, 1])
        self.places: list[int | None] = chance.sample([None, 1, 2, 3], chance.randrange(1, 4))
        self.texts = chance.choice([[None, "y"], [None, "x", "y"]])

    def play(self) -> None:
        while self.number < self.size:
            events = [self.event() for _ in range(self.chance.choice([1, 1, 1, 2, 3]))]
            self.commit([event for many in events for event in many])

    def event(self) -> list[dict[str, Any]]:
        chance, living = self.chance, self.living
        key = (self.history, chance.choice(self.places))
        action = chance.random()
        if self.moves and len(living) > 1 and action < 0.25:
            ring = chance.sample(sorted(living, key=repr), chance.randrange(2, len(living) + 1))
            images = [living[place] for place in ring]
            return [
                self.update(after, before, image)
                for before, after, image in zip(ring, [*ring[1:], ring[0]], images, strict=True)
            ]
        if self.moves and living and action < 0.45:
            before = chance.choice(sorted(living, key=repr))
            if key != before and (key not in living or chance.random() < 0.2):
                return [self.update(key, before, living.pop(before))]
        if action < 0.6 and (key not in living or chance.random() < 0.1):
            living[key] = self.new_row()
            oper = "R" if chance.random() < 0.1 else "I"
            return [{"oper": oper, "key": key, "key_before": None, "row": living[key], "present": None}]
        if action > 0.93:
            row = living.pop(key, {})
            return [{"oper": "D", "key": key, "key_before": key, "row": row, "present": None}]
        if key not in living and chance.random() < 0.6:
            return []
        return [self.update(key, key, living.get(key, {}))]  # also where no row lives

    def update(self, key: Key, before: Key, old: Mapping[str, str | None]) -> dict[str, Any]:
        kind = self.chance.random()
        changed = [name for name in _VALUES if self.chance.random() < 0.4] if kind < 0.6 else []
        row = dict(old) | {name: value for name, value in self.new_row().items() if name in changed}
        present: frozenset[str] | None = frozenset(changed)
        if self.chance.random() < 0.1:
            present = frozenset(_VALUES[:2])  # all that is declared at first
        elif self.chance.random() < 0.1:
            present = None
        self.living[key] = row
        return {"oper": "U", "key": key, "key_before": before, "row": row, "present": present}

    def new_row(self) -> dict[str, str | None]:
        return {name: self.chance.choice(self.texts) for name in _VALUES}

    def commit(self, events: Sequence[dict[str, Any]]) -> None:
        """Log the events as one transaction, in the batch in time or a later one."""
        chance = self.chance
        in_time = min(1 + self.number * self.batches // self.size, self.batches)
        batch = chance.randrange(in_time, self.batches + 1) if chance.random() < self.late else in_time
        transaction_id = f"{self.number:032X}" if chance.random() < self.in_transactions else None
        gone = chance.randrange(batch + 1, self.batches + 2) if chance.random() < self.purges else None
        for counter, event in enumerate(events, start=1):
            self.number += 1
            partition = chance.randrange(2)
            landed = min(batch + chance.randrange(2), self.batches) if self.lags and partition else batch
            row = tuple(event["row"].get(name) for name in _VALUES)
            told = event | {"row": row, "has_mask": chance.random() < self.masks}
            message = Message(
                number=self.number,
                **told,
                transaction_id=transaction_id,
                counter=counter,
                is_last=counter == len(events),
                changed_at=None if chance.random() < 0.2 else _BEGIN + timedelta(seconds=self.number),
                partition=partition,
                batch=landed,
                gone=None if gone is None else max(gone, landed + 2),
            )
            self.messages.append(message)
            if event["oper"] != "R" and chance.random() < self.repeats:
                self.messages.append(replace(message, batch=chance.randrange(landed, self.batches + 1), gone=None))


def random_messages(seed: int, histories: int, size: int, batches: int, *, moves: bool = True) -> list[Message]:
    """The messages of this many independent histories, each of so many events, with their offsets."""
    chance = random.Random(seed)
    messages: list[Message] = []
    for history in range(1, histories + 1):
        source = _Source(chance, history, batches, size)
        source.moves = source.moves and moves
        source.play()
        # a refresh is in no transaction, which would never be whole without it
        loaded = {message.transaction_id for message in source.messages if message.oper == "R"}
        messages += [
            (replace(message, transaction_id=None) if message.transaction_id in loaded else message).of_history(
                history, histories
            )
            for message in source.messages
        ]
    chance.shuffle(messages)
    return with_offsets(messages)


def with_offsets(messages: Iterable[Message]) -> list[Message]:
    """The messages with offsets in the order of landing."""
    offsets = [0, 10**6]  # so that the sequences of a load, which are offsets, differ
    placed = []
    for message in sorted(messages, key=lambda message: message.batch):
        placed.append(replace(message, offset=offsets[message.partition]))
        offsets[message.partition] += 1
    return placed


class MessageLog:
    """What a log holds after some runs. What a run declares and what the raw table has then decide it."""

    def __init__(self) -> None:
        """Nothing is logged yet."""
        self._changes: dict[str, Change] = {}

    def run(self, landed: Sequence[Message], columns: Mapping[str, str], *, hold: bool = True) -> None:
        """Take in the messages of whole transactions; a change that is gone has no value in a column that is new."""
        changes = {name: with_columns(change, columns) for name, change in self._changes.items()}
        counters: dict[str, set[int]] = {}
        ends: dict[str, int] = {}
        for message in landed:
            if message.transaction_id is not None:
                counters.setdefault(message.transaction_id, set()).add(message.counter)
                if message.is_last:
                    ends[message.transaction_id] = message.counter
        for message in landed:
            of_transaction = message.transaction_id
            if not hold or of_transaction is None or len(counters[of_transaction]) == ends.get(of_transaction):
                change = _change(message, columns)
                changes[change.change_id] = change
        self._changes = changes

    @property
    def changes(self) -> list[Change]:
        """What it holds."""
        return list(self._changes.values())

    @property
    def table(self) -> Table:
        """The state and the history."""
        return Table(self.changes)


def _change(message: Message, columns: Mapping[str, str]) -> Change:
    values = dict(zip(_VALUES, message.row, strict=True))
    row: dict[str, Any] = dict(zip(KEY, message.key, strict=True)) | values
    present = None
    if message.oper == "U" and message.present is not None:
        present = frozenset(KEY) | message.present
        row = {name: value if name in present else None for name, value in row.items()}
        present = None if present >= set(columns) else present & frozenset(columns)
    before = message.key_before if message.oper == "U" else None
    of_load = f"topic:{message.partition}:{message.offset}"
    return Change(
        change_id=f"{message.seq}:{message.oper}:{of_load if message.oper == 'R' else message.key}",
        seq=message.seq,
        op=_OPS[message.oper],
        row={name: row[name] for name in columns},
        key=message.key,
        key_before=before if before != message.key else None,
        transaction_id=message.transaction_id,
        changed_at=message.changed_at,
        present=present,
    )
