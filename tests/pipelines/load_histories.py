"""Full loads at random, in pieces, late and not whole, and the rule of docs/feeds/full_loads.md in plain Python."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from .histories import KEY
from .interpreter import Change, Key

LOADED = {"load_day": "date"}
LOADS = 12
_FATES = ("in time", "in time", "in pieces", "late", "not whole", "never whole")
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class LoadedRow:
    """One raw row, and the batch in which it lands. `load` None: the row does not say of which load it is."""

    load: int | None
    key: Key
    name: str | None
    batch: int = 1

    @property
    def row(self) -> dict[str, Any]:
        """The table's columns."""
        history, place = self.key
        number = place or 0
        return {"history": history, "place": place, "name": self.name, "note": f"n{number % 2}", "extra": f"e{number}"}

    @property
    def values(self) -> tuple[Any, ...]:
        """As it lands."""
        return (None if self.load is None else (_FIRST + timedelta(self.load)).date(), *self.row.values())


@dataclass(frozen=True)
class Statement:
    """What the loads say of a key at a load: a change, or with the operation None that there is none.

    Of two statements, that of the higher level was made from more rows.
    """

    op: str | None
    row: Mapping[str, Any]
    level: tuple[int, int]


def whole_loads(rows: Iterable[LoadedRow], share: float, named: Collection[int] = ()) -> dict[int, bool]:
    """Whether each load is whole: it has enough rows, by those of the last whole one before it."""
    sizes = _sizes(rows)
    whole: dict[int, bool] = {}
    last = 0
    for load in sorted(sizes):
        whole[load] = load in named or sizes[load] >= share * last
        last = sizes[load] if whole[load] else last
    return whole


def statements(
    rows: Collection[LoadedRow], share: float, named: Collection[int] = (), since: int = 0, logged: Collection[Any] = ()
) -> dict[tuple[int, Key], Statement]:
    """What all loads from `since` on say, by load and key. `logged`: the loads that a log may have changes of."""
    sizes, whole = _sizes(rows), whole_loads(rows, share, named)
    contents: dict[int, dict[Key, dict[str, Any]]] = defaultdict(dict)
    for landed in rows:
        if landed.load is not None and any(part is not None for part in landed.key):
            contents[landed.load][landed.key] = landed.row
    found: dict[tuple[int, Key], Statement] = {}
    before: dict[Key, dict[str, Any]] = {}
    earlier = 0
    for load in sorted(sizes):
        level = (sizes[load], earlier)
        earlier += sizes[load]
        of_load = contents[load]
        if not whole[load]:
            unknown = {**(before if load in logged else {}), **of_load}
            found |= {(load, key): Statement(None, row, level) for key, row in unknown.items()}
            continue
        for key, row in of_load.items():
            op = "insert" if key not in before else "update" if before[key] != row else None
            found[load, key] = Statement(op, row, level)
        for key in before.keys() - of_load.keys():
            found[load, key] = Statement("delete", before[key], level)
        before = of_load
    return {place: said for place, said in found.items() if place[0] >= since}


def _sizes(rows: Iterable[LoadedRow]) -> dict[int, int]:
    sizes: dict[int, int] = defaultdict(int)
    for row in rows:
        if row.load is not None:
            sizes[row.load] += 1
    return sizes


class LoadLog:
    """What the log of an entry holds: statements of changes, of which those of the higher level win."""

    def __init__(self, landing: Collection[LoadedRow], share: float, named: Collection[int] = ()) -> None:
        """Nothing is taken in yet."""
        self.landing, self.share, self.named = landing, share, named
        self.held: dict[tuple[int, Key], Statement] = {}
        self.taken = 0
        self.highest = -1
        self.columns: Collection[str] = ()

    def run(self, batch: int, columns: Collection[str] = ()) -> None:
        """Take in what has landed, from the lowest load on of which rows are new; with new columns, everything."""
        landed = [row for row in self.landing if row.batch <= batch]
        read_before = self.taken if columns == self.columns else 0
        new = [row.load for row in landed if row.batch > read_before and row.load is not None]
        self.taken, self.columns = batch, columns
        if not new:
            return
        logged = range(self.highest + 1)
        for place, said in statements(landed, self.share, self.named, min(new), logged).items():
            held = self.held.get(place)
            if held is None or said.level >= held.level:
                self.held[place] = said
        self.held = {place: said for place, said in self.held.items() if said.op is not None}
        self.highest = max([self.highest, *(load for load, _ in self.held)])

    def contents(self) -> list[Mapping[str, Any]]:
        """The rows of the last whole load of which all that lands has landed."""
        last = max(load for load, is_whole in whole_loads(self.landing, self.share, self.named).items() if is_whole)
        return [row.row for row in self.landing if row.load == last and row.key != (None, None)]

    @property
    def changes(self) -> dict[str, Change]:
        """The changes, by place."""
        found = {str(place): change_of(place, said) for place, said in self.held.items()}
        return {
            place: replace(change, row={name: change.row[name] for name in self.columns})
            for place, change in found.items()
        }


def changes_of(said: Mapping[tuple[int, Key], Statement]) -> list[Change]:
    """The changes among statements."""
    return [change_of(place, one) for place, one in said.items() if one.op is not None]


def change_of(place: tuple[int, Key], said: Statement) -> Change:
    """A statement as a change of the log."""
    load, key = place
    day = _FIRST + timedelta(load)
    seq = f"{day:%Y-%m-%d}"
    named = json.dumps(dict(zip(KEY, key, strict=True)), separators=(",", ":"))
    return Change(f"{seq}:{named}", seq, said.op or "", said.row, key, changed_at=day.replace(tzinfo=None))


def random_loads(seed: int, histories: int, loads: int, batches: int) -> list[LoadedRow]:
    """All rows of these loads: some land late, in pieces, or with few rows; some rows lack their key or load."""
    chance = random.Random(seed)
    table: dict[Key, str | None] = {}
    rows: list[LoadedRow] = []
    fates: list[str] = []
    for load in range(loads):
        for key in [(history, place) for history in range(histories) for place in (None, 1, 2, 3)]:
            dice = chance.random()
            if dice < 0.15:
                table.pop(key, None)
            elif dice < 0.4:
                table[key] = chance.choice([None, "a", "b"])
        in_time = 1 + load * batches // loads
        late = min(batches, in_time + 1)
        if load % len(_FATES) == 0:
            fates = chance.sample(_FATES, len(_FATES))
        fate = fates.pop()
        size = chance.uniform(0.1, 0.45) if fate in ("not whole", "never whole") else chance.uniform(0.55, 1)
        for key, name in table.items():
            batch = late if fate == "late" else in_time
            if fate not in ("in time", "late") and chance.random() > size:
                if fate == "never whole":
                    continue
                batch = late if fate == "not whole" else chance.randrange(in_time, batches + 1)
            rows.extend([LoadedRow(load, key, name, batch)] * chance.choice([1] * 9 + [2]))
        rows.append(LoadedRow(load, (None, None), "no key", in_time))
    return [*rows, LoadedRow(None, (0, 1), "no load", 1)]
