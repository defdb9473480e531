"""A log is a reduction of deliveries: changes that are delivered again, and otherwise, in random batches."""

from __future__ import annotations

import datetime as dt
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from .consumer import Consumer, Entry
from .landing import Raw
from .qlik_cases import AT, seq
from .reduction import Delivery, reduced

pytestmark = pytest.mark.slow

SCHEMA = "random_deliveries"
SEED = int(os.environ.get("CHANGE_TABLES_PROOF_SEED", "0"))
SCALE = int(os.environ.get("CHANGE_TABLES_PROOF_SCALE", "1"))
CHANGES = 30 * SCALE
LANDED = {
    "header__change_seq": "string",
    "header__change_oper": "string",
    "header__timestamp": "timestamp",
    "id": "bigint",
    "name": "string",
    "note": "string",
    "landed": "int",
}
FIRST = {"id": "bigint", "name": "varchar(10)"}
WIDENED = {"id": "bigint", "name": "varchar(20)"}
ADDED = WIDENED | {"note": "string"}
BATCHES: Sequence[Mapping[str, str]] = [FIRST, FIRST, WIDENED, WIDENED, ADDED, ADDED]
"""The declared columns, by batch."""
PURGES = {3, 4, 5}
"""Batches, counted from 0, before which raw is emptied: what was logged before is known by the log alone."""
SPEC = {"format": "qlik_change_tables", "key": ["id"], "headers": ["change_seq", "change_oper", "timestamp"]}
ARRIVALS = {"read_whole": "none", "arriving": "landed"}


@dataclass(frozen=True)
class Row:
    """A raw row: an update of the row `id`, whose sequence is that of no other."""

    id: int
    name: str
    note: str
    minutes: int

    def landed(self, batch: int) -> list[Any]:
        """Its values in the raw table."""
        return [seq(self.id), "U", AT + dt.timedelta(minutes=self.minutes), self.id, self.name, self.note, batch]

    def delivery(self, columns: Mapping[str, str]) -> Delivery:
        """What is read of it by the declared columns."""
        content = (self.name, self.note) if "note" in columns else (self.name,)
        return Delivery(content, header=f"{self.minutes:02d}")


ALWAYS = {3: [Row(0, "b", "c", 1)], 5: [Row(0, "b", "b", 1), Row(0, "b", "a", 0)]}
"""Rows that land besides, by batch. What was logged before a column was declared meets two rows that differ in it."""


def random_runs() -> Iterator[tuple[list[Row], dict[int, Delivery]]]:
    """The rows that land by each run, and what the log has after it."""
    chance = random.Random(SEED)
    log: dict[int, Delivery] = {}
    in_raw: list[Row] = []
    for batch, columns in enumerate(BATCHES):
        rows = [
            Row(chance.randint(1, CHANGES), chance.choice("abc"), chance.choice("abc"), chance.randint(0, 1))
            for _ in range(CHANGES)
        ] + ALWAYS.get(batch, [])
        in_raw = [*([] if batch in PURGES else in_raw), *rows]
        for row in in_raw:
            delivered = row.delivery(columns)
            log[row.id] = reduced([log[row.id], delivered]) if row.id in log else delivered
        yield rows, dict(log)


def _entries(columns: Mapping[str, str]) -> list[Entry]:
    return [
        Entry(name, SPEC | {"arrival": arrival}, columns, ("stg", "dedup"), identifier="deliveries")
        for name, arrival in ARRIVALS.items()
    ]


def test_a_log_holds_what_all_deliveries_of_a_change_come_to(consumer: Callable[[str], Consumer], raw: Raw) -> None:
    project = consumer(SCHEMA)
    project.write(_entries(FIRST))
    raw.create(f"{SCHEMA}_raw.deliveries", LANDED, "delta")
    before: dict[int, Delivery] = {}
    batch_ids: dict[str, dict[int, str]] = {name: {} for name in ARRIVALS}
    for batch, (columns, (rows, log)) in enumerate(zip(BATCHES, random_runs(), strict=True)):
        if batch in PURGES:
            raw.query(f"delete from {SCHEMA}_raw.deliveries")
        if batch and columns != BATCHES[batch - 1]:
            project.write_sources(_entries(columns))
        raw.insert(f"{SCHEMA}_raw.deliveries", [row.landed(batch) for row in rows])
        project.dbt("run", "--select", *(f"dedup_feed__{name}" for name in ARRIVALS))
        for name in ARRIVALS:
            note = "note" if "note" in columns else "cast(null as string)"
            query = f"select id, name, {note}, minute(_changed_at), _is_conflicting, _batch_id"
            found = {row[0]: row[1:] for row in raw.query(f"{query} from {SCHEMA}.dedup_feed__{name}")}
            expected = {
                id_: (*change.content, *[None] * (2 - len(change.content)), int(change.header), change.is_conflicting)
                for id_, change in log.items()
            }
            moment = f"{name}, batch {batch}"
            assert {id_: row[:-1] for id_, row in found.items()} == expected, moment
            # a change that is as it was is none for the models downstream
            same = {id_ for id_, change in before.items() if change == log[id_]}
            assert {found[id_][-1] for id_ in same} <= set(batch_ids[name].values()), moment
            assert {id_: found[id_][-1] for id_ in same} == {id_: batch_ids[name][id_] for id_ in same}, moment
            revised = {found[id_][-1] for id_ in log.keys() - same}
            assert len(revised) == 1, moment
            assert revised.isdisjoint(batch_ids[name].values()), moment
            batch_ids[name] = {id_: row[-1] for id_, row in found.items()}
        before = log
