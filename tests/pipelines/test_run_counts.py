"""What a run costs whatever the number of rows: statements, scans in the plans that ran, steps that are planned again.

The numbers are in `run_counts.json` and may only fall. `make counts` writes them again.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.plans import DELTA_LOG, read_executed, steps_of
from change_tables.server.local_server import LocalServer
from tests.server_with_events import events_of

from .consumer import Consumer, Entry
from .landing import Raw
from .qlik_cases import COLUMNS, HEADERS, SPEC, full
from .statements import intercepted, node_of

FILE = Path(__file__).with_name("run_counts.json")
ENTRY = Entry("orders", SPEC | {"arrival": "batch"}, COLUMNS, ("stg", "dedup", "current", "history"))
TABLE = "counts_raw.orders"

SHAPES: Mapping[str, Sequence[Sequence[Any]]] = {
    "first build": [full(10 * id_, "I", id_, "new") for id_ in range(1, 7)] + [full(70, "D", 6, None)],
    "plain batch": [full(100, "U", 1, "paid"), full(110, "I", 7, "new"), full(120, "D", 2, None)],
    "nothing new": [],
    "late batch": [full(105, "U", 1, "packed"), full(130, "U", 3, "paid")],
    "batch with moves": [full(140, "B", 4, "new"), full(140, "U", 8, "new"), full(150, "U", 5, "paid")],
}
"""The rows that land before each run, one run after the other."""

Counts = dict[str, dict[str, dict[str, int]]]


@pytest.fixture(scope="module")
def counted(server: LocalServer, raw: Raw, consumer: Callable[[str], Consumer]) -> Counts:
    """The counts of each shape and node. The nodes have names of their own: others may run beside them."""
    sent: dict[str, list[str]] = {shape: [] for shape in SHAPES}
    project = replace(consumer("counts"), source="counted")
    project.write([ENTRY])
    raw.create(TABLE, {f"header__{name}": kind for name, kind in HEADERS.items()} | COLUMNS | {"batch": "int"})
    with events_of(server) as events:
        for number, (shape, rows) in enumerate(SHAPES.items()):
            if rows:
                raw.insert(TABLE, [[*row, number] for row in rows])
            raw.query(f"select '{_mark(shape)}'")
            with intercepted(_kept(sent[shape])):
                project.dbt("run", "--threads", "1")
    return _counts(sent, events)


def _mark(shape: str) -> str:
    return f"from here: {shape}"


def _kept(statements: list[str]) -> Callable[[str], str]:
    def rule(sql: str) -> str:
        statements.append(sql)
        return sql

    return rule


def _counts(sent: Mapping[str, Sequence[str]], events: Path) -> Counts:
    scans: dict[tuple[str, str], Counter[str]] = {}
    shape = ""
    for executed in read_executed(events):
        shape = next((each for each in SHAPES if _mark(each) in executed.statement), shape)
        if executed.node:
            scans.setdefault((shape, executed.node), Counter()).update(executed.scans)
    found: Counts = {}
    for shape, statements in sent.items():
        found[shape] = {}
        for node in sorted({node_of(sql) for sql in statements} - {""}):
            of_node = [sql for sql in statements if node_of(sql) == node]
            steps = [times for sql in of_node for times in steps_of(sql).values()]
            of_plans = scans.get((shape, node), Counter())
            found[shape][node] = {
                "statements": len(of_node),
                "scans of tables": sum(times for name, times in of_plans.items() if "." in name),
                "scans of Delta's log": of_plans[DELTA_LOG],
                "steps planned again": sum(times > 1 for times in steps),
            }
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_sends_scans_and_plans_no_more_than_it_did(counted: Counts, shape: str) -> None:
    told: Counts = json.loads(FILE.read_text()) if FILE.exists() else {}
    if os.environ.get("CHANGE_TABLES_COUNTS") == "write":
        FILE.write_text(json.dumps(told | {shape: counted[shape]}, indent=2) + "\n")
        return
    assert counted[shape].keys() == told[shape].keys()
    rises, falls = [], []
    for node, counts in counted[shape].items():
        for what, count in counts.items():
            said = f"{shape}: {node}: {what}: {told[shape][node][what]} before, {count} now"
            if count > told[shape][node][what]:
                rises.append(said)
            elif count < told[shape][node][what]:
                falls.append(said)
    assert not rises, "a run has become dearer:\n" + "\n".join(rises)
    assert not falls, "a run has become cheaper; keep it so with `make counts`:\n" + "\n".join(falls)
