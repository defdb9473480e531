"""GoldenGate trails, OpenEdge's change tables and full loads at random: the models show what the source did.

`make test-long` runs it with other and with more histories: `CHANGE_TABLES_PROOF_SEED` and `CHANGE_TABLES_PROOF_SCALE`.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from .consumer import Consumer, Entry
from .histories import expected_history, expected_state, history_query
from .interpreter import Change, Key, Row, Table, remembered
from .landing import Raw
from .load_histories import LOADED, LOADS, LoadLog, random_loads
from .openedge_cases import HEADERS, TRACKING
from .openedge_histories import RECID, TABLE_NUMBER, CaptureLog, random_captures
from .source_histories import COLUMNS, FEWER_COLUMNS, KEY
from .trail_cases import RECORD
from .trail_histories import TrailLog, random_trails

pytestmark = pytest.mark.slow

SCHEMA = "random_feeds"
SEED = int(os.environ.get("CHANGE_TABLES_PROOF_SEED", "0"))
SCALE = int(os.environ.get("CHANGE_TABLES_PROOF_SCALE", "1"))
BATCHES = 3 if SCALE == 1 else 4
COLUMN_ADDED_IN = BATCHES - 1
SKIPPED = {2: ["current_feed__orders", "history_feed__arriving", "dedup_feed__by_recid+"]}
"""Models that are not built in a batch, so that the next build takes in two."""
VIEWS = ["stg_*", "rejected", "reported"]
"""Nothing here reads them."""
MODELS = ("stg", "dedup", "current", "history")
"""Of each feed one table has both states, the other one of them: what follows a log does not ask for its feed."""
TRAIL = {"format": "goldengate_trail", "key": KEY}
CAPTURE = {
    "format": "openedge_cdc",
    "tracking": "tracking",
    "source_table_number": TABLE_NUMBER,
    "policy_level": 3,
}
ENTRIES = [
    Entry("orders", TRAIL | {"table_name": "APP.ORDERS"}, COLUMNS, MODELS[:3], identifier="trail_records"),
    Entry("lines", TRAIL | {"table_name": "APP.LINES"}, COLUMNS, MODELS, identifier="trail_records"),
    Entry("arriving", CAPTURE | {"key": KEY, "arrival": "landed"}, COLUMNS, MODELS, identifier="captured"),
    Entry(
        "loaded",
        {"format": "full_loads", "key": KEY, "load_column": "load_day", "arrival": "landed"},
        COLUMNS,
        MODELS,
        identifier="loads",
    ),
    Entry("by_recid", CAPTURE | {"key_from": "recid"}, COLUMNS, ("stg", "dedup", "history"), identifier="captured"),
]
FORGOTTEN = {"lines": (3, 4), "arriving": (5, 6, 7)} | ({"orders": (1, 2), "loaded": (1,)} if SCALE > 1 else {})
"""Histories of which all keys are forgotten in the end, by entry."""
RAW_TABLES = {"trail_records": RECORD, "tracking": TRACKING, "captured": HEADERS | COLUMNS | {"landed": "int"}}
RAW_TABLES["loads"] = LOADED | COLUMNS | {"landed": "int"}


class Histories:
    """All histories, and what the logs hold of them after the runs so far."""

    def __init__(self) -> None:
        """Nothing has landed yet."""
        self.trails, self.trail_sources = random_trails(SEED + 3, 12 * SCALE, BATCHES)
        self.captured, self.capture_sources = random_captures(SEED + 4, 40 * SCALE, BATCHES)
        self.loads = random_loads(SEED + 92, 12 * SCALE, LOADS * SCALE, BATCHES)
        self.forgotten: dict[str, dict[Key, str]] = {entry.name: {} for entry in ENTRIES}
        self.begin()

    def begin(self) -> None:
        """As a full refresh does."""
        self.logs: dict[str, TrailLog | CaptureLog | LoadLog] = {
            "orders": TrailLog(self.trails, "orders"),
            "lines": TrailLog(self.trails, "lines"),
            "arriving": CaptureLog(self.captured, by_recid=False),
            "by_recid": CaptureLog(self.captured, by_recid=True),
            "loaded": LoadLog(self.loads, 0.5),
        }

    def run(self, batch: int, skipped: Sequence[str] = ()) -> None:
        """Take in what raw has in a batch."""
        for name, log in self.logs.items():
            if f"dedup_feed__{name}+" not in skipped:
                log.run(batch, _columns_in(batch))

    def changes(self, name: str) -> list[Change]:
        """What the log of an entry has."""
        return remembered(self.logs[name].changes.values(), self.forgotten[name])

    def contents(self, name: str) -> list[Row]:
        """The rows of an entry's source in the end."""
        log = self.logs[name]
        if isinstance(log, LoadLog):
            return log.contents()
        if isinstance(log, CaptureLog):
            return [row for source in self.capture_sources for row in source.rows["orders"].values()]
        return [row for source in self.trail_sources for row in source.rows.get(name, {}).values()]

    def landed(self, batch: int) -> Mapping[str, list[Sequence[Any]]]:
        """The rows of each raw table in a batch, in any order."""
        records: list[Sequence[Any]] = [
            record.values
            for trail in self.trails
            for written in trail
            for record in (*written.records, *written.copies)
            if record.is_in(batch)
        ]
        rows = [(change, row) for change in self.captured for row in change.rows if row.is_in(batch)]
        tracking: list[Sequence[Any]] = [change.values(row) for change, row in rows if row.part is None]
        captured: list[Sequence[Any]] = [change.values(row) for change, row in rows if row.part is not None]
        loads: list[Sequence[Any]] = [(*row.values, row.batch) for row in self.loads if row.batch <= batch]
        for values in (records, tracking, captured, loads):
            random.Random(batch).shuffle(values)
        return {"trail_records": records, "tracking": tracking, "captured": captured, "loads": loads}

    def told(self, name: str, history: int) -> list[str]:
        """What the source did in a history, and how it landed."""
        if name == "loaded":
            return [str(row) for row in self.loads if row.key[0] == history]
        if isinstance(self.logs[name], CaptureLog):
            return [str(change) for change in self.captured if change.history == history]
        return [
            f"{change}: {[(record.batch, record.gone, record.values) for record in written.records]}"
            for trail in self.trails
            for written in trail
            for table, change, _ in written.changes
            if table == name and change.key[0] in (history, None)
        ]


def _columns_in(batch: int) -> Mapping[str, str]:
    return COLUMNS if batch >= COLUMN_ADDED_IN else FEWER_COLUMNS


def _entries_in(batch: int) -> list[Entry]:
    return [replace(entry, columns=_columns_in(batch)) for entry in ENTRIES]


def _assert_models(
    project: Consumer, raw: Raw, histories: Histories, batch: int, moment: str, skipped: Sequence[str] = ()
) -> None:
    for entry in ENTRIES:
        name, changes = entry.name, histories.changes(entry.name)
        columns = [*(RECID if name == "by_recid" else []), *_columns_in(batch)]
        table = Table(changes)
        expected: dict[str, set[tuple[Any, ...]]] = {
            "dedup": {(change.row.get("history"), change.change_id, change.op) for change in changes},
            "current": expected_state(table),
            "history": expected_history(table),
        }
        queries = {
            "dedup": "select history, _change_id, _change_op from ",
            "current": f"select {', '.join(columns)} from ",
            "history": history_query(columns),
        }
        for kind, rows in expected.items():
            model = f"{kind}_feed__{name}"
            if kind not in entry.models or model in skipped or f"dedup_feed__{name}+" in skipped:
                continue
            found = raw.query(f"{queries[kind]} {project.schema}.{model}")
            assert rows, f"{model} {moment}: nothing is there"
            assert len(found) == len(set(found)), f"{model} {moment}: a row is there twice"
            if rows != set(found):
                place = columns.index("history") if kind != "dedup" else 0
                raise AssertionError(f"{model} {moment}: {_shortest(histories, name, rows, set(found), place)}")


def _forget(project: Consumer, histories: Histories, name: str, numbers: Sequence[int]) -> None:
    """Erase all keys of some histories, which moves connect with no others."""
    changes = histories.changes(name)
    keys = {key for change in changes for key in (change.key, change.key_before) if key and key[0] in numbers}
    named = [text for key in keys for text in ("--key", json.dumps(dict(zip(KEY, key, strict=True))))]
    code, said, complained = project.command("forget", name, *named)
    assert code == 0, complained
    (until,) = re.findall(r"forgotten up to (\S+)$", said, re.MULTILINE)
    histories.forgotten[name] = dict.fromkeys(keys, until)
    assert len(histories.changes(name)) < len(changes)


def _shortest(
    histories: Histories, name: str, expected: set[tuple[Any, ...]], found: set[tuple[Any, ...]], place: int
) -> str:
    """What is wrong, and of the history with the fewest changes in which something is, all that landed."""
    wrong: dict[Any, list[str]] = {}
    for what, rows in (("missing", expected - found), ("surplus", found - expected)):
        for row in rows:
            wrong.setdefault(row[place], []).append(f"{what} {row}")
    told = {history: histories.told(name, history) for history in wrong}
    shortest = min(wrong, key=lambda history: len(told[history]))
    return "\n".join([f"{len(wrong)} histories are wrong, of them {shortest}:", *wrong[shortest], *told[shortest]])


def _rows(rows: Iterable[Row]) -> set[tuple[Any, ...]]:
    """Rows in the columns that no change lacks."""
    return {tuple(row[name] for name in FEWER_COLUMNS) for row in rows}


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """A project with the entries of both feeds."""
    project = consumer(SCHEMA)
    project.write(_entries_in(1), ["tracking"])
    project.dbt("seed", "--select", "goldengate_io_types")
    return project


def test_state_and_history_are_what_the_changes_of_the_source_say(project: Consumer, raw: Raw) -> None:
    histories = Histories()
    for batch in range(1, BATCHES + 1):
        for name, rows in histories.landed(batch).items():
            raw.create(f"{SCHEMA}_raw.{name}", RAW_TABLES[name])
            raw.insert(f"{SCHEMA}_raw.{name}", rows)
        if batch == COLUMN_ADDED_IN:
            project.write_sources(_entries_in(batch), ["tracking"])
        skipped = SKIPPED.get(batch, [])
        project.dbt("run", "--exclude", *VIEWS, *skipped)
        histories.run(batch, skipped)
        _assert_models(project, raw, histories, batch, f"after batch {batch}", skipped)
    for name in ("orders", "lines", "arriving"):
        assert "where _ct_is_change or" not in project.compiled(f"dedup_feed__{name}"), "a run that reads everything"

    for name in histories.logs:
        assert _rows(Table(histories.changes(name)).current().values()) == _rows(histories.contents(name)), name

    for name, numbers in FORGOTTEN.items():
        _forget(project, histories, name, numbers)
    _assert_models(project, raw, histories, BATCHES, "after keys were forgotten")

    histories.begin()
    histories.run(BATCHES)
    project.dbt("run", "--full-refresh", "--exclude", *VIEWS, "--vars", "{change_tables_allow_loss: true}")
    _assert_models(project, raw, histories, BATCHES, "after a full refresh")
