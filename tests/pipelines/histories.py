"""Random histories of a table as Qlik change rows, many at once: the number of a history is part of its key."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from demo.writers.qlik_change_tables import hex_mask

from .interpreter import Change, Key, Table, Version

COLUMNS = {"history": "int", "place": "int", "name": "string", "note": "string"}
KEY = ["history", "place"]
HEADERS = {
    "change_seq": "string",
    "change_oper": "string",
    "change_mask": "string",
    "transaction_id": "string",
    "timestamp": "timestamp",
}
RAW_COLUMNS = {f"header__{name}": data_type for name, data_type in HEADERS.items()} | {"batch": "int"} | COLUMNS

UNMOVED = 5
"""The place that no row moves to or from."""

Order = Literal["random", "mixed", "timely"]

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_VALUES = ("name", "note")


@dataclass(frozen=True)
class RawRow:
    """One row of the change table, the key as (history, place), and the batch in which it lands.

    With `oper` "S", it is a row of the load that is taken again in that batch, at its sequence.
    `present` names the columns besides the key that an update has; None: all of them.
    """

    seq: str
    oper: str
    transaction_id: str | None
    changed_at: datetime | None
    key: Key
    name: str | None
    note: str | None
    batch: int
    present: frozenset[str] | None = None

    @property
    def values(self) -> tuple[Any, ...]:
        """The row in the order of RAW_COLUMNS."""
        return (self.seq, self.oper, self._mask, self.transaction_id, self.changed_at, self.batch, *self.row.values())

    @property
    def row(self) -> dict[str, Any]:
        """The values of the table's columns."""
        return dict(zip(COLUMNS, (*self.key, self.name, self.note), strict=True))

    @property
    def _mask(self) -> str | None:
        if self.present is None:
            return None
        return hex_mask([len(HEADERS) + list(COLUMNS).index(name) for name in self.present], 2)


class _Source:
    """A table that is worked on at random, and its log."""

    def __init__(self, seed: int, changes: int, batches: int, order: Order, *, partial: bool) -> None:
        self.chance = random.Random(seed)
        self.order = order
        self.rows: list[RawRow] = []
        self.living: dict[Key, dict[str, str | None]] = {}
        self.number = 0
        self.transaction_id: str | None = None
        self._changes = changes
        self._batches = batches
        self._partial = partial

    def batch(self, number: int, key: Key) -> int:
        """The batch in which a row lands."""
        in_time = min(1 + number * self._batches // self._changes, self._batches)
        if self.order == "timely":
            return self.chance.randrange(in_time, self._batches + 1) if key[1] == UNMOVED else in_time
        if self.order == "mixed" and (key[0] or 0) % 2:
            return in_time
        return self.chance.randrange(1, self._batches + 1)

    def delivered_again(self, row: RawRow, **values: Any) -> RawRow:
        """A copy of a row, which lands in a batch of its own choice."""
        return replace(row, batch=self.batch(int(row.seq[16:]), row.key), **values)

    def log(
        self,
        oper: str,
        key: Key,
        row: dict[str, str | None],
        *,
        ahead: int = 0,
        present: frozenset[str] | None = None,
        transaction_id: str | None = None,
    ) -> None:
        number = self.number + ahead
        late = self.chance.choice([0, 0, 0, 40])
        self.rows.append(
            RawRow(
                f"2026010100000000{number:019d}",
                oper,
                transaction_id or self.transaction_id,
                None if self.chance.random() < 0.2 else _BEGIN + timedelta(seconds=number - late),
                key,
                row.get("name") if present is None or "name" in present else None,
                row.get("note") if present is None or "note" in present else None,
                self.batch(number, key),
                present,
            )
        )

    def new_row(self) -> dict[str, str | None]:
        return {name: self.chance.choice([None, "a", "b", f"c{self.number}"]) for name in _VALUES}

    def update(self, key: Key, before: Key | None = None) -> None:
        """Log an update; one that moves a row from the key before, or that finds no row, too."""
        old = self.living.pop(before or key, {})
        changed = frozenset(name for name in _VALUES if self.chance.random() < 0.6)
        row = old | {name: value for name, value in self.new_row().items() if name in changed}
        borne = changed if self.chance.random() < 0.9 else frozenset(_VALUES)
        present = borne if self._partial else None
        if before is not None:
            self.log("B", before, old)
        self.log("U", key, row, present=present)
        self.living[key] = row

    def tie(self, key: Key) -> None:
        """Log a second change of the key at its sequence, unless a before image is there, which pairs by it."""
        logged = {row.oper for row in self.rows if row.seq == self.rows[-1].seq}
        if "B" in logged:
            return
        oper = self.chance.choice([oper for oper in "IUD" if oper not in logged])
        if oper == "U":
            self.update(key)
            return
        row = self.new_row()
        self.log(oper, key, row)
        self.living.pop(key, None)
        if oper == "I" and "D" not in logged:
            self.living[key] = row


def random_raw_rows(
    seed: int, histories: int, changes: int, batches: int, order: Order, *, partial: bool = False
) -> list[RawRow]:
    """The log of a source with this many independent histories: with repeated, altered, late and shuffled rows.

    `order` says in which batch a raw row lands:

        random   in any: the halves of an update land in different batches, and old changes after new ones
        mixed    as random for every second history, in time for the others
        timely   in time; only rows at a place that no row moves to or from may be late

    A place can be None, so that keys with a null occur. Now and then two changes of a key have one sequence. With
    `partial`, most updates have only some columns.
    """
    source = _Source(seed, changes, batches, order, partial=partial)
    chance, living = source.chance, source.living
    while source.number < changes:
        source.number += 1
        if chance.random() < 0.5:
            source.transaction_id = chance.choice([None, f"{source.number:032X}"])
        history = chance.randrange(histories)
        key = (history, chance.choice([None, 1, 2, 3, UNMOVED if order == "timely" else 4]))
        occupied = [place for place in living if place[0] == history]
        action = chance.random()
        if action < 0.003 and (order == "timely" or source.number < changes // 4):
            living.clear()
            source.log("T", (None, None), {})
        elif action < 0.25 or not occupied:
            living[key] = source.new_row()
            source.log("I", key, living[key])
        elif action < 0.3:
            source.update(key)  # also where no row lives
        elif action < 0.45:
            key = chance.choice(occupied)
            source.log("D", key, chance.choice([{}, living[key]]))
            del living[key]
        elif action < 0.55 and len(movable := [place for place in occupied if place[1] != UNMOVED]) > 1:
            # rows that exchange their keys in a ring, in one transaction
            ring = chance.sample(movable, chance.randrange(2, len(movable) + 1))
            images = [living[place] for place in ring]
            transaction_id = f"{source.number:032X}"
            for place, (before, after) in enumerate(zip(ring, [*ring[1:], ring[0]], strict=True)):
                source.log("B", before, images[place], ahead=place, transaction_id=transaction_id)
                borne: frozenset[str] | None = frozenset() if partial else None
                source.log("U", after, images[place], ahead=place, transaction_id=transaction_id, present=borne)
                living[after] = images[place]
            source.number += len(ring)
        else:
            before = chance.choice(occupied)
            moves = key not in living and UNMOVED not in (key[1], before[1]) and action > 0.8
            source.update(key if moves else before, before)
        if chance.random() < 0.1:
            source.tie(key)
    rows = source.rows
    repeated = [source.delivered_again(row) for row in rows if chance.random() < 0.1]
    altered = [
        source.delivered_again(
            row,
            name=chance.choice([f"{row.name}!", f"{row.name}~"]),
            transaction_id=chance.choice([row.transaction_id, None]),
        )
        for row in rows
        if row.oper in "IU" and row.name is not None and chance.random() < 0.03
    ]
    truncates = [source.delivered_again(row) for row in rows * 3 if row.oper == "T"]
    everything = rows + repeated + altered + truncates
    chance.shuffle(everything)
    return everything


def _told(number: int, oper: str, place: int, batch: int, name: str | None, *, in_transaction: bool = False) -> RawRow:
    """A row of a history by hand: an update has its name alone, where there is one."""
    present = frozenset({"name"} if name else ()) if oper == "U" else None
    seq, at = f"2026010100000000{number:019d}", _BEGIN + timedelta(seconds=number)
    return RawRow(seq, oper, "0A" if in_transaction else None, at, (1, place), name, None, batch, present)


def _exchange(first: int, second: int, batch: int) -> list[RawRow]:
    """The rows at places 1 and 2 exchange them, by updates of these numbers."""
    return [
        _told(first, "B", 1, batch, None, in_transaction=True),
        _told(first, "U", 2, batch, None, in_transaction=True),
        _told(second, "B", 2, batch, None, in_transaction=True),
        _told(second, "U", 1, batch, None, in_transaction=True),
    ]


def exchange_with_an_unknown_row() -> list[RawRow]:
    """A row at place 1, one at place 2 whose base is not known, in the next batch their exchange, then another row."""
    return [
        _told(0, "I", 1, 1, "a"),
        _told(1, "U", 2, 1, "b"),
        *_exchange(2, 3, 2),
        _told(4, "I", 3, 3, "c"),
    ]


def change_within_an_exchange() -> list[RawRow]:
    """An exchange, in the third batch a change of its second place between its halves, and another row."""
    rows = [
        _told(100, "I", 1, 1, "a"),
        _told(101, "I", 2, 1, "b"),
        _told(102, "U", 4, 1, "of no row"),
        *_exchange(110, 120, 1),
        _told(115, "U", 2, 3, "n"),
        _told(130, "I", 3, 3, "c"),
    ]
    return [replace(row, key=(2, row.key[1])) for row in rows]


def after_all_others(rows: Iterable[RawRow], history: int) -> list[RawRow]:
    """Rows of histories by hand, with keys and sequences that no random one has, from this history on."""
    return [_moved(row, 10**9, history) for row in rows]


_ROOM = 1000
"""How many numbers of changes `among_random_ones` makes room for."""


def among_random_ones(
    random_ones: Sequence[RawRow], by_hand: Iterable[RawRow], history: int
) -> tuple[list[RawRow], list[RawRow]]:
    """Random rows, and rows by hand that come next behind their last truncate, with keys that no random one has.

    There the resets among the rows by hand end few random rows, and no random row ends one of theirs.
    """
    last = max((_number(row) for row in random_ones if row.oper == "T"), default=0)
    return (
        [_moved(row, _ROOM) if _number(row) > last else row for row in random_ones],
        [_moved(row, last + 1, history) for row in by_hand],
    )


def _number(row: RawRow) -> int:
    """The number of the change among all changes of its source."""
    return int(row.seq[16:])


def time_of_load(seq: str) -> datetime:
    """When a load at a sequence was taken: as the changes next to it were made."""
    return _BEGIN + timedelta(seconds=int(seq[16:]))


def _moved(row: RawRow, numbers: int, histories: int = 0) -> RawRow:
    """The row so many numbers of changes later, with its time, and of a history that is so many further."""
    return replace(
        row,
        seq=f"{row.seq[:16]}{_number(row) + numbers:019d}",
        changed_at=row.changed_at and row.changed_at + timedelta(seconds=numbers),
        key=(row.key[0] if row.key[0] is None else row.key[0] + histories, row.key[1]),
    )


def truncate_before_an_exchange() -> list[RawRow]:
    """Of full images: an exchange, in the next batch only a truncate that comes before it, then another row."""
    rows = [_told(0, "I", 1, 1, "a"), _told(1, "I", 2, 1, "b"), *_exchange(10, 20, 1), _told(30, "I", 3, 3, "c")]
    truncate = replace(_told(5, "T", 0, 2, None), key=(None, None))
    return [replace(row, present=None) for row in [*rows, truncate]]


def resets_beside_exchanges() -> list[RawRow]:
    """Of two histories, an exchange in the first batch, and what ends keys beside it, then another row a batch.

    After the first exchange, a truncate in its batch; after the second, in the next batch a truncate and a load at one
    sequence; in the last batch a truncate between its halves.
    """
    first = [_told(0, "I", 1, 1, "a"), _told(1, "I", 2, 1, "b"), *_exchange(10, 20, 1)]
    second = [_told(100, "I", 1, 1, "a"), _told(101, "I", 2, 1, "b"), *_exchange(110, 120, 1)]
    others = [_told(130, "I", 3, 1, "c"), _told(140, "I", 3, 2, "d"), _told(150, "I", 4, 3, "e")]
    truncates = [_told(25, "T", 0, 1, None), _told(125, "T", 0, 2, None), _told(115, "T", 0, 3, None)]
    return [
        *first,
        *(replace(row, key=(2, row.key[1])) for row in second),
        *(replace(truncate, key=(None, None)) for truncate in truncates),
        replace(_told(125, "S", 2, 2, "loaded"), key=(2, 2), changed_at=None),
        *others,
    ]


def truncates_in_time(mixed: Sequence[RawRow], batches: int) -> list[RawRow]:
    """Of rows of which those of every second history are in time: a truncate a batch, after all of these before it."""
    in_time = [row for row in mixed if (row.key[0] or 0) % 2]
    truncates = []
    for batch in range(2, batches + 1):
        place = 1 + max(_number(row) for row in in_time if row.batch < batch)
        truncates.append(replace(_told(place, "T", 0, batch, None), key=(None, None)))
    return truncates


def exchange_told_otherwise() -> list[RawRow]:
    """Of full images: an exchange, and two batches later its first half once more, greater and in no transaction."""
    taken, brought, *others = _exchange(50, 60, 1)
    rows = [_told(41, "I", 1, 1, "a"), _told(42, "I", 2, 1, "b"), taken, replace(brought, name="a"), *others]
    again = replace(brought, batch=3, transaction_id=None)
    return [replace(row, present=None, key=(2, row.key[1])) for row in [*rows, again]]


def changes_before_others() -> list[RawRow]:
    """A row, and in each later batch an update with another column, which is before its last one, and another row."""
    rows = [_told(0, "I", 1, 1, "a"), _told(30, "U", 1, 1, "b")]
    late = [_told(20, "U", 1, 2, None), _told(10, "U", 1, 3, None)]
    others = [_told(40, "I", 2, 2, "c"), _told(50, "I", 3, 3, "d")]
    return [*rows, *(replace(row, note=row.seq[-2:], present=frozenset({"note"})) for row in late), *others]


def expected_table(landed: Iterable[RawRow]) -> Table:
    """What the models must show after these raw rows."""
    return Table(changes_of(list(landed)))


def expected_state(table: Table) -> set[tuple[Any, ...]]:
    """The rows of the current model."""
    return {tuple(row.values()) for row in table.current().values()}


def expected_history(table: Table) -> set[tuple[Any, ...]]:
    """The rows of the history model: the table's columns, the interval, and the last change of the version."""
    return {
        (
            *version.row.values(),
            version.from_seq,
            version.to_seq,
            *(time and time.strftime("%Y-%m-%d %H:%M:%S") for time in (version.valid_from, version.valid_to)),
            version.to_seq is None,
            version.last_seq,
            version.last_op,
        )
        for versions in table.versions().values()
        for version in versions
        if version.row is not None
    }


def expected_reports(table: Table) -> list[tuple[str, str]]:
    """What the fold reports: (code, sequence)."""
    orphans = [("orphan", change.seq) for change in table.orphans]
    return orphans + [("key_collision", change.seq) for change in table.covered]


def differences(expected: set[tuple[Any, ...]], found: Sequence[tuple[Any, ...]]) -> str:
    """Some of the rows that are missing, and of those that are too many."""
    missing = sorted(expected - set(found), key=repr)
    surplus = sorted(set(found) - expected, key=repr)
    return f"missing {missing[:5]} of {len(missing)}, surplus {surplus[:5]} of {len(surplus)}"


def expected_rows_at(table: Table, moment: datetime) -> set[tuple[Any, ...]]:
    """The rows of the table as they were at a time."""
    return {
        tuple(version.row.values())
        for versions in table.versions().values()
        for version in versions
        if version.row is not None and _stood_at(version, moment)
    }


def expected_rows_at_bounds(table: Table) -> set[tuple[Any, ...]]:
    """The rows of each history at each bound of its versions, and next to it: after the time as text."""
    histories: dict[Any, list[Version]] = {}
    for key, versions in table.versions().items():
        histories.setdefault(key[0], []).extend(version for version in versions if version.row is not None)
    found: set[tuple[Any, ...]] = set()
    for versions in histories.values():
        bounds = {time for version in versions for time in (version.valid_from, version.valid_to) if time is not None}
        moments = {bound + timedelta(microseconds=number) for bound in bounds for number in (-1, 0, 1)}
        found.update(
            (f"{moment:%Y-%m-%d %H:%M:%S.%f}", *version.row.values())
            for moment in moments
            for version in versions
            if version.row is not None and _stood_at(version, moment)
        )
    return found


def _stood_at(version: Version, moment: datetime) -> bool:
    return (version.valid_from is None or version.valid_from <= moment) and (
        version.to_seq is None or (version.valid_to is not None and version.valid_to > moment)
    )


def history_query(columns: Iterable[str]) -> str:
    """The rows of a history model, as `expected_history` has them: the name of the model follows."""
    return (
        f"select {', '.join(columns)}, _valid_from_seq, _valid_to_seq, cast(_valid_from as string),"
        " cast(_valid_to as string), _is_current, _change_seq, _change_op from "
    )


HISTORY_QUERY = history_query(COLUMNS)


def changes_of(landed: Sequence[RawRow]) -> list[Change]:
    """The changes that these rows of a change table and of loads come to. A load before all changes has no time."""
    befores = {row.seq: row.key for row in landed if row.oper == "B"}
    operations = {"I": "insert", "U": "update", "D": "delete", "T": "truncate", "S": "snapshot"}
    # a load ends what is there, after the truncates of its sequence
    loads = {row.seq: time_of_load(row.seq) if row.seq else None for row in landed if row.oper == "S"}
    changes = [Change(f"{seq}:~", seq, "truncate", {}, (None, None), changed_at=at) for seq, at in loads.items()]
    for row in landed:
        if row.oper == "B":
            continue
        before = befores.get(row.seq) if row.oper == "U" else None
        changes.append(
            Change(
                change_id=f"{row.seq}:{row.oper}:{row.key}",
                seq=row.seq,
                op=operations[row.oper],
                row=row.row,
                key=row.key,
                key_before=before if before != row.key else None,
                transaction_id=row.transaction_id,
                changed_at=loads[row.seq] if row.oper == "S" else row.changed_at,
                present=_borne(row),
            )
        )
    return changes


def _borne(row: RawRow) -> frozenset[str] | None:
    """The columns that an update has by the page: the key, those in its mask, and those with a value."""
    if row.present is None or row.oper != "U":
        return None
    with_values = {name for name in _VALUES if getattr(row, name) is not None}
    borne = frozenset(KEY) | row.present | with_values
    return None if borne == frozenset(COLUMNS) else borne
