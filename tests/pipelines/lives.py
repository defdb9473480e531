"""What happens to a table besides changes, as the interpreter of docs/semantics.md has it.

A source loads it again, drops a column of it, renames one; an operator purges raw rows, erases keys, moves and
maintains tables. For a log these are few rules: it keeps what it has taken in, also where raw loses it; a renamed
column is one column; deliveries of a forgotten key are none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .histories import COLUMNS, KEY, RAW_COLUMNS, RawRow, changes_of
from .interpreter import Change, Key, Table, distinct_changes, remembered

DROPPED, OLD_NAME, NEW_NAME = "note", "name", "title"


class Layout:
    """The columns of a table by now: of its raw tables, and as they are declared."""

    def __init__(self) -> None:
        """As the table begins."""
        self.is_renamed = False
        self.is_retired = False

    @property
    def columns(self) -> dict[str, str]:
        """The declared columns."""
        return {self._now(name): data_type for name, data_type in COLUMNS.items()}

    @property
    def column_meta(self) -> dict[str, dict[str, Any]]:
        """What is declared of them besides."""
        meta: dict[str, dict[str, Any]] = {}
        if self.is_renamed:
            meta[NEW_NAME] = {"renamed_from": OLD_NAME}
        if self.is_retired:
            meta[DROPPED] = {"retired": True}
        return meta

    def landed(self, row: RawRow) -> RawRow:
        """A row as raw has it: without a dropped column."""
        if not self.is_retired:
            return row
        return replace(row, note=None, present=None if row.present is None else row.present - {DROPPED})

    def values(self, row: RawRow) -> dict[str, Any]:
        """What lands of a row, by raw column."""
        landed = dict(zip(RAW_COLUMNS, row.values, strict=True))
        if self.is_renamed:
            landed[NEW_NAME] = landed.pop(OLD_NAME)
        return landed

    def read(self, changes: Iterable[Change]) -> list[Change]:
        """Changes under the names of today."""
        return [
            replace(
                change,
                row={self._now(name): value for name, value in change.row.items()},
                present=None if change.present is None else frozenset(map(self._now, change.present)),
            )
            for change in changes
        ]

    def _now(self, name: str) -> str:
        return NEW_NAME if self.is_renamed and name == OLD_NAME else name


class Life:
    """A table of which all raw rows are known, and what its log has taken in of them."""

    def __init__(self, rows: Sequence[RawRow], first_load: Mapping[Key, Mapping[str, Any]], *, partial: bool) -> None:
        """Nothing has landed; `first_load` is there before all changes."""
        self.layout = Layout()
        self.rows = rows
        self.raw: list[RawRow] = []
        """What raw has by now."""
        self.load = first_load
        """The rows of the load by now."""
        self.load_seq = ""
        self.forgotten: dict[Key, str] = {}
        self._partial = partial
        self._deliveries: list[Change] = []
        self._loads: dict[str, list[Change]] = {}
        self._logged_with_it: set[str] = set()

    def land(self, batch: int) -> list[RawRow]:
        """Land what comes in a batch; the rows."""
        new = [self.layout.landed(row) for row in self.rows if row.batch == batch]
        self.raw += new
        return new

    def build(self) -> None:
        """The log takes in what raw and the load have."""
        known = {change.change_id: change for change in distinct_changes(self._all())}
        self._deliveries += [self._completed(change, known) for change in self._changes_in_raw()]
        if self.load_seq not in self._loads:
            self._loads[self.load_seq] = self._changes_in_load()

    def rebuild(self) -> None:
        """A full refresh: the log has what raw and the load have by now."""
        self._logged_with_it = set()
        self._deliveries, self._loads = self._changes_in_raw(), {self.load_seq: self._changes_in_load()}

    def drop_column(self) -> None:
        """The source drops a column, and raw and the load lose it."""
        self.layout.is_retired = True
        self._logged_with_it = {change.change_id for change in self._deliveries}
        self.raw = [self.layout.landed(row) for row in self.raw]

    def rename_column(self) -> None:
        """The source renames a column."""
        self.layout.is_renamed = True

    def forget(self, histories: Sequence[int], until: str) -> None:
        """The keys of these histories are forgotten up to a sequence."""
        self.forgotten |= dict.fromkeys(self._keys_of(histories), until)

    def keys_of(self, histories: Sequence[int]) -> list[str]:
        """The keys of these histories, as JSON objects: moves connect no others with them."""
        return [json.dumps(dict(zip(KEY, key, strict=True))) for key in self._keys_of(histories)]

    def _keys_of(self, histories: Sequence[int]) -> list[Key]:
        found = {key for key in (*(row.key for row in self.rows), *self.load) if key[0] in histories}
        return sorted(found, key=repr)

    @property
    def table(self) -> Table:
        """What the models must show."""
        return Table(remembered(self._all(), self.forgotten))

    def _all(self) -> list[Change]:
        loaded = [change for load in self._loads.values() for change in load]
        return self.layout.read([*self._deliveries, *loaded])

    def _changes_in_raw(self) -> list[Change]:
        return [self._without_dropped(change) for change in changes_of(self.raw)]

    def _changes_in_load(self) -> list[Change]:
        rows = [
            RawRow(self.load_seq, "S", None, None, key, row.get(OLD_NAME), row.get(DROPPED), 0)
            for key, row in self.load.items()
        ]
        return changes_of([self.layout.landed(row) for row in rows])

    def _without_dropped(self, change: Change) -> Change:
        """Of partial images, an update that raw has without the dropped column does not have it."""
        if not (self.layout.is_retired and self._partial and change.op == "update"):
            return change
        present = frozenset(COLUMNS) if change.present is None else change.present
        return replace(change, present=present - {DROPPED})

    def _completed(self, change: Change, known: Mapping[str, Change]) -> Change:
        """A change that was logged before the column was dropped stays: masks are read by other places since.

        Only which key it has left can still land.
        """
        if change.change_id not in self._logged_with_it:
            return change
        return replace(known[change.change_id], key_before=change.key_before)


def with_their_updates(rows: Sequence[RawRow]) -> list[RawRow]:
    """The rows, with before images in the batch of the first of their updates."""
    first: dict[str, int] = {}
    for row in rows:
        if row.oper == "U":
            first[row.seq] = min(row.batch, first.get(row.seq, row.batch))
    return [replace(row, batch=first.get(row.seq, row.batch)) if row.oper == "B" else row for row in rows]


def raw_columns(layout: Layout) -> dict[str, str]:
    """The columns of a raw table in their order: one under a new name comes last."""
    left = {name: data_type for name, data_type in RAW_COLUMNS.items() if not (layout.is_retired and name == DROPPED)}
    return left | ({NEW_NAME: COLUMNS[OLD_NAME]} if layout.is_renamed else {})
