"""What happens to a table besides changes, as the interpreter of docs/semantics.md has it.

A source loads it again, drops a column of it, renames one; an operator purges raw rows, erases keys, moves and
maintains tables, acknowledges what is reported, takes a table out and back. For a log these are few rules: it keeps
what it has taken in, also where raw loses it; a renamed column is one column; deliveries of a forgotten key are none.

The same random rows land as rows of several feeds: see `Feed`.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from .histories import COLUMNS, HEADERS, KEY, RAW_COLUMNS, RawRow, changes_of
from .interpreter import Change, Key, Table, distinct_changes, remembered
from .message_histories import RAW_COLUMNS as MESSAGE_COLUMNS

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

    @property
    def raw_columns(self) -> dict[str, str]:
        """The columns of a raw table that has one for each declared one: one under a new name comes last."""
        left = {name: told for name, told in COLUMNS.items() if not (self.is_retired and name == DROPPED)}
        return left | ({NEW_NAME: COLUMNS[OLD_NAME]} if self.is_renamed else {})

    def row(self, row: RawRow, names: Iterable[str] = COLUMNS) -> dict[str, Any]:
        """The values of a row under the names of today, without a dropped column; of these columns alone."""
        left = [name for name in names if not (self.is_retired and name == DROPPED)]
        return {self._now(name): row.row[name] for name in left}

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


class Feed:
    """How the rows of a random history land: as a change table of Qlik's, of full or of partial images."""

    keeps_dropped = False
    """Whether raw has the values of a dropped column still, of rows that landed with it."""
    counts_columns = True
    """Whether a mask counts the columns: what was logged before one was dropped is then as it was."""
    can_forget_raw = True
    shown: ClassVar = ("header__change_seq", "header__change_oper", "batch", *KEY)
    """Columns by which a row is known in the raw table, see `identity`."""

    def __init__(self, *, partial: bool) -> None:
        """With images of this kind."""
        self.partial = partial

    def rows(self, rows: Sequence[RawRow]) -> list[RawRow]:
        """The rows that land of a random history. Where before images waited for updates, no row could be purged."""
        return with_their_updates(rows)

    def spec(self) -> dict[str, Any]:
        """What is declared of the feed."""
        images = "partial" if self.partial else "full"
        return {
            "format": "qlik_change_tables",
            "headers": list(HEADERS),
            "mask_type": "string",
            "images": images,
            "arrival": "batch",
        }

    def raw_columns(self, layout: Layout) -> dict[str, str]:
        """The columns of its raw table."""
        return {name: told for name, told in RAW_COLUMNS.items() if name not in COLUMNS} | layout.raw_columns

    def values(self, row: RawRow, layout: Layout) -> dict[str, Any]:
        """What lands of a row, by raw column."""
        landed = dict(zip(RAW_COLUMNS, row.values, strict=True))
        return {name: value for name, value in landed.items() if name not in COLUMNS} | layout.row(row)

    def identity(self, row: RawRow) -> tuple[Any, ...]:
        """What `shown` has of a row."""
        return (row.seq, row.oper, row.batch, *row.key)

    def without_dropped(self, row: RawRow) -> RawRow:
        """A row as raw has it that lost the dropped column."""
        return replace(row, note=None, present=None if row.present is None else row.present - {DROPPED})

    def changes(self, raw: Sequence[RawRow]) -> list[Change]:
        """The changes of what raw has."""
        return changes_of(raw)


class _WithTheirBefore(Feed):
    """A feed whose updates have the key before in their own row."""

    can_forget_raw = False

    def rows(self, rows: Sequence[RawRow]) -> list[RawRow]:
        self._befores = {row.seq: row for row in rows if row.oper == "B"}
        return [row for row in rows if row.oper != "B"]

    def key_before(self, row: RawRow) -> Key | None:
        """The key before an update, where a before image says it."""
        before = self._befores.get(row.seq) if row.oper == "U" else None
        return None if before is None else before.key

    def changes(self, raw: Sequence[RawRow]) -> list[Change]:
        return changes_of([*raw, *self._befores.values()])


class AuditRows(_WithTheirBefore):
    """Rows of a trigger's table, which the entry describes (`format: mapped`), of full images."""

    counts_columns = False
    shown = ("audit_seq", "action", "batch", *KEY)
    _HEADERS: ClassVar = {"audit_seq": "string", "action": "string", "audit_session": "string", "made_at": "timestamp"}

    def __init__(self) -> None:
        super().__init__(partial=False)

    def spec(self) -> dict[str, Any]:
        return {
            "format": "mapped",
            "operation": "action",
            "operations": {"I": "insert", "U": "update", "D": "delete", "T": "truncate"},
            "sequence": [{"sql": "audit_seq", "kind": "text", "length": 35}],
            "changed_at": "made_at",
            "transaction_id": "audit_session",
            "row_before": "old_{name}",
            "arrival": "batch",
        }

    def raw_columns(self, layout: Layout) -> dict[str, str]:
        before = {f"old_{name}": COLUMNS[name] for name in KEY}
        return self._HEADERS | {"batch": "int"} | before | layout.raw_columns

    def values(self, row: RawRow, layout: Layout) -> dict[str, Any]:
        headers = (row.seq, row.oper, row.transaction_id, row.changed_at)
        before = self.key_before(row) or (None,) * len(KEY)
        return {
            **dict(zip(self._HEADERS, headers, strict=True)),
            "batch": row.batch,
            **{f"old_{name}": value for name, value in zip(KEY, before, strict=True)},
            **layout.row(row),
        }


class Messages(_WithTheirBefore):
    """Qlik's Kafka messages, each change once: a message keeps what it had when it landed."""

    keeps_dropped = True
    shown = ("offset",)
    _OPERATIONS: ClassVar = {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}
    _RAW: ClassVar = MESSAGE_COLUMNS
    _AT = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

    def __init__(self) -> None:
        super().__init__(partial=True)

    def rows(self, rows: Sequence[RawRow]) -> list[RawRow]:
        told: dict[tuple[Any, ...], RawRow] = {}
        for row in sorted(super().rows(rows), key=lambda row: row.batch):
            if row.oper in self._OPERATIONS:
                told.setdefault((row.seq, row.oper, row.key), row)
        self._offsets = {identity: number for number, identity in enumerate(told)}
        return list(told.values())

    def spec(self) -> dict[str, Any]:
        return {"format": "qlik_kafka"}

    def raw_columns(self, layout: Layout) -> dict[str, str]:  # noqa: ARG002  # messages have these columns, whatever the table has
        return self._RAW

    def values(self, row: RawRow, layout: Layout) -> dict[str, Any]:
        keys = [row.key, (self.key_before(row) or row.key) if row.oper in "UD" else None]
        data, before = (key and dict(zip(KEY, key, strict=True)) for key in keys)
        present = [name for name in COLUMNS if name not in KEY and (row.present is None or name in row.present)]
        headers = {
            "operation": self._OPERATIONS[row.oper],
            "changeSequence": row.seq,
            "timestamp": row.changed_at and f"{row.changed_at:%Y-%m-%dT%H:%M:%S}",
            "transactionId": row.transaction_id,
        }
        body = {"data": (data or {}) | layout.row(row, present), "beforeData": before, "headers": headers}
        (offset,) = self.identity(row)
        return dict(zip(self._RAW, ("topic", 0, offset, self._AT, None, json.dumps(body)), strict=True))

    def identity(self, row: RawRow) -> tuple[Any, ...]:
        return (self._offsets[row.seq, row.oper, row.key],)

    def without_dropped(self, row: RawRow) -> RawRow:
        present = (frozenset(COLUMNS) - {*KEY} if row.present is None else row.present) - {DROPPED}
        return replace(row, note=None, present=present if row.oper == "U" else None)


class Life:
    """A table of which all raw rows are known, and what its log has taken in of them."""

    def __init__(self, feed: Feed, rows: Sequence[RawRow], first_load: Mapping[Key, Mapping[str, Any]]) -> None:
        """Nothing has landed; `first_load` is there before all changes."""
        self.feed = feed
        self.layout = Layout()
        self.rows = feed.rows(rows)
        self.raw: list[RawRow] = []
        """What raw has by now."""
        self.load = first_load
        """The rows of the load by now."""
        self.load_seq = ""
        self.forgotten: dict[Key, str] = {}
        self.acknowledged: set[tuple[str, str]] = set()
        """The codes and identities of changes that are acknowledged."""
        self.kinds: Counter[str] = Counter()
        """How often something that is in no log has happened."""
        self._deliveries: list[Change] = []
        self._loads: dict[str, list[Change]] = {}
        self._logged_with_it: set[str] = set()

    def land(self, batch: int) -> list[RawRow]:
        """Land what comes in a batch; the rows."""
        new = [self._landed(row) for row in self.rows if row.batch == batch]
        self.raw += new
        self.kinds["late row of a forgotten key"] += sum(row.seq <= self.forgotten.get(row.key, "") for row in new)
        self.kinds["row after a column was dropped"] += self.layout.is_retired * len(new)
        self.kinds["row after a column was renamed"] += self.layout.is_renamed * len(new)
        return new

    def build(self) -> None:
        """The log takes in what raw and the load have."""
        known = {change.change_id: change for change in distinct_changes(self.all_deliveries())}
        self._deliveries += [self._completed(change, known) for change in self._changes_in_raw()]
        if self.load_seq not in self._loads:
            self._loads[self.load_seq] = self._changes_in_load()

    def rebuild(self) -> None:
        """A full refresh: the log has what raw and the load have by now."""
        self._deliveries, self._loads, self._logged_with_it = [], {}, set()
        self.build()

    def remove(self) -> None:
        """The tables go, and what was acknowledged; what is forgotten stays so. The next build begins anew."""
        self._deliveries, self._loads, self._logged_with_it = [], {}, set()
        self.acknowledged = set()

    def drop_column(self) -> None:
        """The source drops a column, and raw and the load lose it."""
        self.layout.is_retired = True
        self._logged_with_it = {change.change_id for change in self._deliveries}
        if not self.feed.keeps_dropped:
            self.raw = [self._landed(row) for row in self.raw]

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

    def acknowledge(self, code: str) -> None:
        """What is reported with a code by now is acknowledged."""
        self.kinds["acknowledged"] += any(told == code for told, _ in self._reported())
        self.acknowledged |= {(told, change.change_id) for told, change in self._reported() if told == code}

    @property
    def reports(self) -> list[tuple[str, str, bool]]:
        """What is reported: (code, sequence, whether it is acknowledged)."""
        return sorted(
            (code, change.seq, (code, change.change_id) in self.acknowledged) for code, change in self._reported()
        )

    def _reported(self) -> list[tuple[str, Change]]:
        table = self.table
        covered = [("key_collision", change) for change in table.covered]
        return covered + [("orphan", change) for change in table.orphans]

    @property
    def table(self) -> Table:
        """What the models must show."""
        return Table(remembered(self.all_deliveries(), self.forgotten))

    def all_deliveries(self) -> list[Change]:
        """What the log has been given, under the names of today."""
        loaded = [change for load in self._loads.values() for change in load]
        return self.layout.read([*self._deliveries, *loaded])

    def _changes_in_raw(self) -> list[Change]:
        return [self._without_dropped(change) for change in self.feed.changes(self.raw)]

    def _changes_in_load(self) -> list[Change]:
        rows = [
            RawRow(self.load_seq, "S", None, None, key, row.get(OLD_NAME), row.get(DROPPED), 0)
            for key, row in self.load.items()
        ]
        return changes_of([self._landed(row) for row in rows])

    def _landed(self, row: RawRow) -> RawRow:
        """A row as it lands by now."""
        return self.feed.without_dropped(row) if self.layout.is_retired else row

    def _without_dropped(self, change: Change) -> Change:
        """Of partial images, an update that raw has without the dropped column does not have it."""
        if self.feed.keeps_dropped or not (self.layout.is_retired and self.feed.partial and change.op == "update"):
            return change
        present = frozenset(COLUMNS) if change.present is None else change.present
        return replace(change, present=present - {DROPPED})

    def _completed(self, change: Change, known: Mapping[str, Change]) -> Change:
        """A delivery of a change that was logged before the column was dropped has what the log has there.

        Where masks count columns, they count others since: then only which key it has left can still land.
        """
        if change.change_id not in self._logged_with_it:
            return change
        logged = known[change.change_id]
        if self.feed.counts_columns:
            return replace(logged, key_before=change.key_before)
        return replace(change, row={**change.row, DROPPED: logged.row[DROPPED]})


def with_their_updates(rows: Sequence[RawRow]) -> list[RawRow]:
    """The rows, with before images in the batch of the first of their updates."""
    first: dict[str, int] = {}
    for row in rows:
        if row.oper == "U":
            first[row.seq] = min(row.batch, first.get(row.seq, row.batch))
    return [replace(row, batch=first.get(row.seq, row.batch)) if row.oper == "B" else row for row in rows]
