"""What the plans of statements hold: their scans, read from Spark's event log, and the steps that are planned again.

A server writes the log where it is started with `event_log`. A plan is the one that ran: what adaptive execution made
of it, and with all that a statement runs inside, such as the queries of a Delta merge.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DELTA_LOG = "Delta's log"
"""How scans of the log of a Delta table are named: each scan of such a table looks up there which files it needs."""

_SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQL"
_NODE = re.compile(r'"node_id": "([^"]+)"')
_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.|'')*'   # what is skipped
    |(?P<reader>\b(?:from|join)\s+)(?P<read>\w+)\b(?!\s*[.(])
    |(?P<step>\b\w+)\s+as\s+\(\s*(?=with\b|select\b|--|/\*)
    |(?P<open>\()|(?P<close>\))""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def event_log(folder: Path) -> dict[str, str]:
    """The settings of a server that writes its events into a folder, which must be there."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.resolve().as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


@dataclass
class Executed:
    """A statement that was executed: its text, the node of dbt that sent it, and the scans of its plans."""

    statement: str
    scans: Counter[str] = field(default_factory=Counter)

    @property
    def node(self) -> str:
        """The node by its name; empty where none sent it."""
        found = _NODE.search(self.statement)
        return found[1].split(".")[2] if found else ""


def read_executed(folder: Path) -> list[Executed]:
    """The statements of an event log, in the order in which they began; of those that Spark plans."""
    return executed(event for log in sorted(folder.iterdir()) for event in _events(log))


def executed(events: Iterator[Mapping[str, Any]] | Sequence[Mapping[str, Any]]) -> list[Executed]:
    """The statements of events. What a statement executes inside is its own."""
    roots: dict[int, int] = {}
    found: dict[int, Executed] = {}
    plans: dict[int, Mapping[str, Any]] = {}
    for event in events:
        kind = event["Event"].removeprefix(_SQL)
        if kind == "ExecutionStart":
            number = event["executionId"]
            root = event.get("rootExecutionId", number)
            roots[number] = root
            if root == number:
                found[number] = Executed(event["description"])
            plans[number] = event["sparkPlanInfo"]
        elif kind == "AdaptiveExecutionUpdate":
            plans[event["executionId"]] = event["sparkPlanInfo"]
    for number, plan in plans.items():
        if roots[number] in found:
            found[roots[number]].scans.update(scans_of(plan))
    return [found[number] for number in sorted(found)]


def _events(log: Path) -> Iterator[Mapping[str, Any]]:
    """The events of SQL; a last line that is not whole yet is left out."""
    with log.open() as lines:
        for line in lines:
            if _SQL in line[:200] and line.endswith("\n"):
                yield json.loads(line)


def scans_of(plan: Mapping[str, Any]) -> Iterator[str]:
    """The scans of a plan, by the table that they read, `DELTA_LOG`, or whatever else Spark names there."""
    name = plan["nodeName"].strip()
    if name.startswith("Scan ") and "OneRowRelation" not in name:
        is_log = "Delta Table State" in name or "_delta_log" in json.dumps(plan.get("metadata", {}))
        yield DELTA_LOG if is_log else name.removeprefix("Scan ").partition(" ")[2] or name
    for child in plan["children"]:
        yield from scans_of(child)


def steps_of(statement: str) -> dict[str, int]:
    """How often each named step of a statement is in its plan: for each step that reads it, as often as that one.

    >>> steps_of("with a as (select 1), b as (select * from a join a as c) select * from b union all select * from b")
    {'a': 4, 'b': 2}
    """
    steps: list[str] = []
    reads: Counter[tuple[str, str]] = Counter()
    scopes = [""]
    for token in _TOKEN.finditer(statement):
        scope = scopes[-1]
        if token["step"]:
            steps.append(token["step"])
            scopes.append(token["step"])
        elif token["read"]:
            reads[scope, token["read"]] += 1
        elif token["open"]:
            scopes.append(scope)
        elif token["close"] and len(scopes) > 1:
            scopes.pop()
    copies: dict[str, int] = {"": 1}

    def count(step: str) -> int:
        if step not in copies:
            copies[step] = 0  # a step that reads itself is there once
            readers = [(reader, times) for (reader, read), times in reads.items() if read == step]
            copies[step] = sum(times * count(reader) for reader, times in readers)
        return copies[step]

    return {step: count(step) for step in dict.fromkeys(steps)}
