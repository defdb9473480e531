"""Random histories of a table as Qlik change rows, many at once: the number of a history is part of its key."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .interpreter import Change, Key, current_state

COLUMNS = {"history": "int", "place": "int", "name": "string"}
KEY = ["history", "place"]
RAW_COLUMNS = {
    "header__change_seq": "string",
    "header__change_oper": "string",
    "header__transaction_id": "string",
    "batch": "int",
} | COLUMNS


@dataclass(frozen=True)
class RawRow:
    """One row of the change table, the key as (history, place), and the batch in which it lands."""

    seq: str
    oper: str
    transaction_id: str | None
    key: Key
    name: str | None
    batch: int

    @property
    def values(self) -> tuple[Any, ...]:
        """The row in the order of RAW_COLUMNS."""
        return (self.seq, self.oper, self.transaction_id, self.batch, *self.key, self.name)


def random_raw_rows(seed: int, histories: int, changes: int, batches: int) -> list[RawRow]:
    """A source that works on rows of `histories` independent histories, logged, repeated, altered, late and shuffled.

    Every raw row lands in a batch of its own choice: halves of an update in different ones, old changes after new ones.
    Places hold None too, so that keys with a null occur.
    """
    chance = random.Random(seed)
    living: dict[Key, str] = {}
    rows: list[RawRow] = []
    number, transaction_id = 0, None
    while number < changes:
        number += 1
        seq = f"2026010100000000{number:019d}"
        if chance.random() < 0.5:
            transaction_id = chance.choice([None, f"{number:032X}"])
        history = chance.randrange(histories)
        name = chance.choice("abcdefgh") + str(number)
        key = (history, chance.choice([None, 1, 2, 3, 4]))
        occupied = [place for place in living if place[0] == history]
        action = chance.random()

        def log(
            oper: str, key: Key, name: str | None, seq: str = seq, transaction: str | None = transaction_id
        ) -> None:
            rows.append(RawRow(seq, oper, transaction, key, name, chance.randrange(1, batches + 1)))

        if action < 0.003 and number < changes // 4:
            living.clear()
            log("T", (None, None), None)
        elif action < 0.35 or not occupied:
            log("U" if key in living else "I", key, name)
            living[key] = name
        elif action < 0.55:
            key = chance.choice(occupied)
            old = living.pop(key)
            log("D", key, chance.choice([None, old]))
        elif action < 0.7 and len(occupied) > 1:
            # rows that exchange their keys in a ring, in one transaction
            ring = chance.sample(occupied, chance.randrange(2, len(occupied) + 1))
            names = [living[place] for place in ring]
            for place, (before, after) in enumerate(zip(ring, [*ring[1:], ring[0]], strict=True)):
                seq = f"2026010100000000{number + place:019d}"
                log("B", before, names[place], seq, f"{number:032X}")
                log("U", after, names[place], seq, f"{number:032X}")
                living[after] = names[place]
            number += len(ring)
        else:
            before = chance.choice(occupied)
            after = key if key not in living and action > 0.8 else before
            log("B", before, living.pop(before))
            living[after] = name
            log("U", after, name)
    repeated = [replace(row, batch=chance.randrange(1, batches + 1)) for row in rows if chance.random() < 0.1]
    altered = [
        replace(row, name=chance.choice([f"{row.name}!", "a"]), batch=chance.randrange(1, batches + 1))
        for row in rows
        if row.oper in "IU" and chance.random() < 0.03
    ]
    everything = rows + repeated + altered
    chance.shuffle(everything)
    return everything


def expected_state(landed: Sequence[RawRow]) -> set[tuple[Any, ...]]:
    """What the current model must show after these raw rows: (history, place, name)."""
    state = current_state(_changes(landed))
    return {(*key, row["name"]) for key, row in state.items()}


def _changes(landed: Iterable[RawRow]) -> list[Change]:
    befores = {row.seq: row.key for row in landed if row.oper == "B"}
    operations = {"I": "insert", "U": "update", "D": "delete", "T": "truncate"}
    changes = []
    for row in landed:
        if row.oper == "B":
            continue
        before = befores.get(row.seq) if row.oper == "U" else None
        changes.append(
            Change(
                change_id=f"{row.seq}:{row.oper}:{row.key}",
                seq=row.seq,
                op=operations[row.oper],
                row={"history": row.key[0], "place": row.key[1], "name": row.name},
                key=row.key,
                key_before=before if before != row.key else None,
                transaction_id=row.transaction_id,
            )
        )
    return changes
