"""Random histories of a table as Qlik change rows, many at once: the number of a history is part of its key."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .interpreter import Change, Key, current_state

COLUMNS = {"history": "int", "place": "int", "name": "string"}
KEY = ["history", "place"]
RAW_COLUMNS = {"header__change_seq": "string", "header__change_oper": "string", "batch": "int"} | COLUMNS


@dataclass(frozen=True)
class RawRow:
    """One row of the change table, the key as (history, place), and the batch in which it lands."""

    seq: str
    oper: str
    key: Key
    name: str | None
    batch: int

    @property
    def values(self) -> tuple[Any, ...]:
        """The row in the order of RAW_COLUMNS."""
        return (self.seq, self.oper, self.batch, *self.key, self.name)


def random_raw_rows(seed: int, histories: int, changes: int, batches: int) -> list[RawRow]:
    """A source that works on rows of `histories` independent histories, logged, repeated, altered, late and shuffled.

    Every raw row lands in a batch of its own choice: halves of an update in different ones, old changes after new ones.
    Places hold None too, so that keys with a null occur.
    """
    chance = random.Random(seed)
    living: dict[Key, str] = {}
    rows: list[RawRow] = []
    for number in range(1, changes + 1):
        seq = f"2026010100000000{number:019d}"
        batch = chance.randrange(1, batches + 1)
        history = chance.randrange(histories)
        name = chance.choice("abcdefgh") + str(number)
        key = (history, chance.choice([None, 1, 2, 3, 4]))
        occupied = [place for place in living if place[0] == history]
        action = chance.random()
        if action < 0.003:
            living.clear()
            rows.append(RawRow(seq, "T", (None, None), None, batch))
        elif action < 0.35 or not occupied:
            oper = "U" if key in living else "I"
            living[key] = name
            rows.append(RawRow(seq, oper, key, name, batch))
        elif action < 0.55:
            key = chance.choice(occupied)
            old = living.pop(key)
            rows.append(RawRow(seq, "D", key, chance.choice([None, old]), batch))
        else:
            before = chance.choice(occupied)
            after = key if key not in living and action > 0.75 else before
            rows.append(RawRow(seq, "B", before, living.pop(before), chance.randrange(1, batches + 1)))
            living[after] = name
            rows.append(RawRow(seq, "U", after, name, batch))
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
            )
        )
    return changes
