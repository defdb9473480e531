"""Writes full loads: each batch lands two loads of the whole tables, one in its middle and one at its end.

A load that broke off lands beside them, with one row of a table, and rows that do not say of which load they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from random import Random
from typing import ClassVar

from demo.database import TABLES, Column, Table
from demo.history import Contents, Key, Row, Transaction
from demo.landing import Landed
from demo.workload import STARTED_AT
from demo.writers.deliveries import ACCEPTED, IGNORED, REPLICATED, EmptiedByDeletes
from demo.writers.feed import FeedWriter, RawTable, Verdict

LEAST_SHARE = 0.2
"""Of the rows of the load before: one that has fewer is not whole."""
_READ_TWICE = 0.1


def raw_table(table: Table) -> RawTable:
    """Where the loads of a source table land: when the load was taken, and the columns."""
    return RawTable(f"loads_{table.name}", (Column("loaded_at", "timestamp"), *table.columns))


class FullLoadsWriter(FeedWriter):
    """Writes the loads of a job that copies whole tables.

    >>> from demo.workload import Workload
    >>> writer = FullLoadsWriter(seed=1)
    >>> rows = writer.write([], loaded=Workload(seed=1, swaps=False).fill(), last=True)["loads_orders"]
    >>> sorted({row[0] is None for row in rows}), len({row[0] for row in rows})  # two loads, and one that broke off
    ([False, True], 4)
    """

    system = "full_loads"
    swaps: ClassVar[bool] = False

    def __init__(self, seed: int) -> None:
        """Nothing is loaded yet."""
        self._random = Random(seed)
        self._source = EmptiedByDeletes()
        self._whole: dict[str, dict[Key, Row]] = {name: {} for name in REPLICATED}
        self._landed: dict[str, Sequence[Row]] = {name: [] for name in REPLICATED}
        self._loads = 0
        self._statuses: dict[str, Counter[Verdict]] = {name: Counter() for name in REPLICATED}
        self._changes: Counter[str] = Counter()

    @property
    def raw_tables(self) -> Sequence[RawTable]:
        """Of each source table one."""
        return [raw_table(TABLES[name]) for name in REPLICATED]

    def write(
        self,
        transactions: Sequence[Transaction],
        loaded: Sequence[Transaction] = (),
        *,
        last: bool = False,  # noqa: ARG002  # nothing comes late
    ) -> Mapping[str, Sequence[tuple[Landed, ...]]]:
        """Writes a batch; see `FeedWriter.write`."""
        landed: dict[str, list[tuple[Landed, ...]]] = {table.name: [] for table in self.raw_tables}
        self._play(loaded)
        middle = len(transactions) // 2
        for part in (transactions[:middle], transactions[middle:]):
            self._play(part)
            for name in REPLICATED:
                landed[f"loads_{name}"] += self._load(name, self._source.living(name))
            self._loads += 1
        for name in REPLICATED:
            landed[f"loads_{name}"] += self._broken(name)
        self._loads += 1
        for rows in landed.values():
            self._random.shuffle(rows)
        return landed

    def source_contents(self, contents: Contents) -> Contents:
        """The rows of the last whole loads; those of the source, unless it has lost nearly all at once."""
        return {**contents, **{name: list(rows.values()) for name, rows in self._whole.items()}}

    @property
    def expected_statuses(self) -> Mapping[str, Counter[Verdict]]:
        """See `FeedWriter.expected_statuses`."""
        return self._statuses

    @property
    def expected_changes(self) -> Mapping[str, int]:
        """The differences of the loads; see `FeedWriter.expected_changes`."""
        return {name: self._changes[name] for name in REPLICATED}

    def _play(self, transactions: Iterable[Transaction]) -> None:
        for transaction in transactions:
            for change in transaction.changes:
                self._source.changes(change)

    def _load(self, name: str, rows: Sequence[Row]) -> list[tuple[Landed, ...]]:
        # a file can be read twice
        landed = [*rows, *self._random.sample(rows, int(_READ_TWICE * len(rows)))]
        if landed and len(landed) >= LEAST_SHARE * len(self._landed[name]):
            self._take_in(name, landed)
        else:
            self._statuses[name][Verdict("rejected", "load_not_whole")] += len(landed)
        return [(STARTED_AT + timedelta(days=self._loads), *row.values()) for row in landed]

    def _take_in(self, name: str, landed: Sequence[Row]) -> None:
        key_of = TABLES[name].key_of
        before, after = self._whole[name], {key_of(row): row for row in landed}
        for row in landed:
            self._statuses[name][IGNORED if before.get(key_of(row)) == row else ACCEPTED] += 1
        self._changes[name] += sum(before.get(key) != row for key, row in after.items()) + len(before.keys() - after)
        # a delete is a staged row, and no raw one: each row of the load before makes it
        self._statuses[name][ACCEPTED] += sum(key_of(row) not in after for row in self._landed[name])
        self._whole[name], self._landed[name] = after, landed

    def _broken(self, name: str) -> list[tuple[Landed, ...]]:
        (row, *_) = self._whole[name].values()
        self._statuses[name][Verdict("rejected", "change_seq_missing")] += 1
        of_no_load = (None, *row.values())
        is_too_small = LEAST_SHARE * len(self._landed[name]) > 1
        return [of_no_load, *(self._load(name, [row]) if is_too_small else [])]
