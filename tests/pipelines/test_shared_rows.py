"""Many tables in one trail and in one topic, at random: their rows are put together once a run, and nothing differs.

With one thread, the first log of a run puts the rows together for all that read the same. A log that was left out in
the run before reads raw by itself.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from .consumer import Consumer, Entry
from .interpreter import Change
from .landing import Raw
from .message_histories import RAW_COLUMNS, Message, MessageLog, random_messages
from .source_histories import COLUMNS, KEY
from .trail_cases import RECORD
from .trail_histories import TrailLog, random_trails

SCHEMA = "shared_rows"
SEED = int(os.environ.get("CHANGE_TABLES_PROOF_SEED", "0"))
SCALE = int(os.environ.get("CHANGE_TABLES_PROOF_SCALE", "1"))
TABLES = {"trail": ["one", "two", "three", "four"], "topic": ["one", "two", "three"]}
BATCHES = 3
LEFT_OUT = "trail_three"
"""The table whose log is not built in the second batch, and reads raw by itself in the third."""
TRAIL = {"format": "goldengate_trail", "key": KEY}
TOPIC = {"format": "qlik_kafka", "key": KEY, "topic": "topic", "hold_open_transactions": True}
ENTRIES = {
    "trail": [
        Entry(f"trail_{name}", TRAIL | {"table_name": f"APP.{name.upper()}"}, COLUMNS) for name in TABLES["trail"]
    ],
    "topic": [
        Entry(f"topic_{name}", TOPIC | {"table": f"app.{name}" if name == "three" else name}, COLUMNS)
        for name in TABLES["topic"]
    ],
}
LOGS = {entry.name: f"dedup_feed__{entry.name}" for entries in ENTRIES.values() for entry in entries}


class Histories:
    """What lands, and what the logs hold of it after the runs so far."""

    def __init__(self) -> None:
        """Nothing has landed yet."""
        self._trails, _ = random_trails(SEED + 20, 3 * SCALE, BATCHES, TABLES["trail"], late_files=False)
        self._messages = random_messages(SEED + 21, 25 * SCALE, 10, BATCHES)
        self._of_trail = {name: TrailLog(self._trails, name) for name in TABLES["trail"]}
        self.begin_topic()

    def begin_topic(self) -> None:
        """As a full refresh of its logs does."""
        self._of_topic = {name: MessageLog() for name in TABLES["topic"]}

    def landed(self, batch: int) -> Mapping[str, list[Sequence[Any]]]:
        """The rows of the two raw tables in a batch."""
        written = [written for trail in self._trails for written in trail]
        records = [record for each in written for record in (*each.records, *each.copies)]
        return {
            "trail": [record.values for record in records if record.is_in(batch)],
            "topic": [_with_table(message) for message in self._messages if message.is_in(batch)],
        }

    def run(self, batch: int, left_out: str | None) -> None:
        """Take in what raw has in a batch; one log does not."""
        for name, trail in self._of_trail.items():
            if left_out != f"trail_{name}":
                trail.run(batch, COLUMNS)
        for name, topic in self._of_topic.items():
            landed = [message for message in self._messages if message.is_in(batch) and _table_of(message) == name]
            topic.run(landed, COLUMNS)

    def changes(self) -> dict[str, set[tuple[Any, ...]]]:
        """What each log has, by the name of its entry."""
        found = {f"trail_{name}": [*log.changes.values()] for name, log in self._of_trail.items()}
        found |= {f"topic_{name}": log.changes for name, log in self._of_topic.items()}
        return {name: set(map(_shown, changes)) for name, changes in found.items()}


def _table_of(message: Message) -> str:
    return TABLES["topic"][int(message.key[0] or 0) % len(TABLES["topic"])]


def _with_table(message: Message) -> tuple[Any, ...]:
    *record, value = message.values
    body = json.loads(value)
    body["headers"] |= {"schema": "app", "table": _table_of(message)}
    return (*record, json.dumps(body))


def _shown(change: Change) -> tuple[Any, ...]:
    return (change.seq, change.op, *(change.row.get(name) for name in COLUMNS))


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """A project with four tables of a trail and three of a topic."""
    project = consumer(SCHEMA)
    entries = [
        Entry(entry.name, entry.change_table, entry.columns, ("stg", "dedup"), identifier=feed)
        for feed, entries in ENTRIES.items()
        for entry in entries
    ]
    project.write(entries)
    project.dbt("seed", "--select", "goldengate_io_types")
    return project


def _shares(project: Consumer, log: str) -> bool:
    return re.search(r"from `?\w+`?\.`?dedup_feed__\w+__batch_\w+s`?\s", project.compiled(log)) is not None


def test_each_log_has_its_changes_whoever_put_them_together(project: Consumer, raw: Raw) -> None:
    histories = Histories()

    def run(batch: int, *arguments: str, feeds: tuple[str, ...] = tuple(ENTRIES)) -> None:
        out = LEFT_OUT if batch == 2 else None
        project.dbt("run", "--threads", "1", *(["--exclude", LOGS[out]] if out else []), *arguments)
        histories.run(batch, out)
        for name, expected in histories.changes().items():
            assert expected, f"{name}: nothing is there"
            found = raw.query(f"select _change_seq, _change_op, {', '.join(COLUMNS)} from {SCHEMA}.{LOGS[name]}")
            assert len(found) == len(set(found)), f"{name} after batch {batch}: a change is there twice"
            assert set(found) == expected, f"{name} after batch {batch} {arguments}"
        alone = [name for name in LOGS if name.startswith(feeds) and name != out and not _shares(project, LOGS[name])]
        assert alone == ([LEFT_OUT] if batch == 3 and "trail" in feeds else [])
        assert raw.query(f"show tables in {SCHEMA} like '*__batch_*'") == [], "what was put together is left"

    for batch in range(1, BATCHES + 1):
        for name, rows in histories.landed(batch).items():
            raw.create(f"{SCHEMA}_raw.{name}", RECORD if name == "trail" else RAW_COLUMNS)
            raw.insert(f"{SCHEMA}_raw.{name}", rows)
        run(batch)
    # only the topic's logs are rebuilt: raw has lost records of the trails that their logs still hold
    histories.begin_topic()
    again = ["--select", "dedup_feed__topic_*", "--full-refresh", "--vars", "{change_tables_allow_loss: true}"]
    run(BATCHES, *again, feeds=("topic",))
