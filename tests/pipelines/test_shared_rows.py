"""Many tables in one raw table, at random: their rows are put together once a run, and nothing differs.

With one thread, the first log of a run puts the rows together for all that read the same. A log that was left out in
the run before reads raw by itself.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from .consumer import Consumer, Entry
from .interpreter import Change
from .landing import Raw
from .message_histories import RAW_COLUMNS, Message, MessageLog, random_messages
from .source_histories import COLUMNS, KEY
from .trail_cases import RECORD
from .trail_histories import TrailLog, random_trails

pytestmark = pytest.mark.slow

SCHEMA = "shared_rows"
SEED = int(os.environ.get("CHANGE_TABLES_PROOF_SEED", "0"))
SCALE = int(os.environ.get("CHANGE_TABLES_PROOF_SCALE", "1"))
NAMES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
MANY = len(NAMES) if SCALE > 1 else 0
TABLES = {"trail": NAMES[: MANY or 4], "topic": NAMES[: MANY or 3], "mapped": ["one", "two", "both"]}
"""`make test-long` has twelve tables in the trail and in the topic."""
VIEWS = ["stg_*", "rejected", "reported"]
"""Nothing here reads them."""
BATCHES = 3
LEFT_OUT = "trail_three"
"""The table whose log is not built in the second batch, and reads raw by itself in the third."""
TRAIL = {"format": "goldengate_trail", "key": KEY}
TOPIC = {"format": "qlik_kafka", "key": KEY, "topic": "topic", "hold_open_transactions": True}
OPERATIONS = {"I": "insert", "U": "update", "D": "delete"}
BROKEN = "{"
MAPPED = {
    "format": "mapped",
    "key": KEY,
    "message": {"column": "value", "type": "table string, op string, pos string, row map<string, string>"},
    "operation": "message.op",
    "operations": OPERATIONS,
    "sequence": [{"sql": "message.pos", "kind": "text", "length": 6}],
    "row": "message.row",
    "position": ["topic", "partition", "offset"],
}
OF_TABLE = {"one": ["one"], "two": ["two"], "both": ["two", "three"]}
"""The tables in the messages of which an entry of `mapped` has the rows."""
ENTRIES = {
    "trail": [
        Entry(f"trail_{name}", TRAIL | {"table_name": f"APP.{name.upper()}"}, COLUMNS) for name in TABLES["trail"]
    ],
    "topic": [
        Entry(f"topic_{name}", TOPIC | {"table": f"app.{name}" if name == "three" else name}, COLUMNS)
        for name in TABLES["topic"]
    ],
    "mapped": [
        Entry(
            f"mapped_{name}",
            MAPPED | {"only": " or ".join(f"message.table = '{table}'" for table in OF_TABLE[name])},
            COLUMNS,
        )
        for name in TABLES["mapped"]
    ],
}
LOGS = {entry.name: f"dedup_feed__{entry.name}" for entries in ENTRIES.values() for entry in entries}


class Histories:
    """What lands, and what the logs hold of it after the runs so far."""

    def __init__(self) -> None:
        """Nothing has landed yet."""
        self._trails, _ = random_trails(SEED + 31, 3 * SCALE, BATCHES, TABLES["trail"], late_files=False)
        self._messages = random_messages(SEED + 32, 25 * SCALE, 10, BATCHES)
        self._mapped = [*_mapped_messages(random.Random(SEED + 22), 120 * SCALE)]
        self._of_trail = {name: TrailLog(self._trails, name) for name in TABLES["trail"]}
        self.begin_topic()

    def begin_topic(self) -> None:
        """As a full refresh of its logs does."""
        self._of_topic = {name: MessageLog() for name in TABLES["topic"]}

    def landed(self, batch: int) -> Mapping[str, list[Sequence[Any]]]:
        """The rows of the raw tables in a batch."""
        written = [written for trail in self._trails for written in trail]
        records = [record for each in written for record in (*each.records, *each.copies)]
        return {
            "trail": [record.values for record in records if record.is_in(batch)],
            "topic": [_with_table(message) for message in self._messages if message.is_in(batch)],
            "mapped": [("mapped", 0, number, None, None, value) for number, value in enumerate(self._of_mapped(batch))],
        }

    def rejected(self) -> Counter[str]:
        """The codes of the messages that every entry of `mapped` rejects."""
        messages = [json.loads(value) for value in self._read if value and value != BROKEN]
        unknown = sum(message["table"] is None for message in messages)
        return Counter(table_unknown=unknown, message_malformed=sum(value == BROKEN for value in self._read))

    def _of_mapped(self, batch: int) -> Sequence[str | None]:
        return self._mapped[: len(self._mapped) * batch // BATCHES]

    def run(self, batch: int, left_out: str | None) -> None:
        """Take in what raw has in a batch; one log does not."""
        for name, trail in self._of_trail.items():
            if left_out != f"trail_{name}":
                trail.run(batch, COLUMNS)
        for name, topic in self._of_topic.items():
            landed = [message for message in self._messages if message.is_in(batch) and _table_of(message) == name]
            topic.run(landed, COLUMNS)
        self._read = self._of_mapped(batch)

    def changes(self) -> dict[str, set[tuple[Any, ...]]]:
        """What each log has, by the name of its entry."""
        found = {f"trail_{name}": [*log.changes.values()] for name, log in self._of_trail.items()}
        found |= {f"topic_{name}": log.changes for name, log in self._of_topic.items()}
        shown = {name: set(map(_shown, changes)) for name, changes in found.items()}
        messages = [json.loads(value) for value in self._read if value and value != BROKEN]
        for name, tables in OF_TABLE.items():
            shown[f"mapped_{name}"] = {
                (message["pos"], OPERATIONS[message["op"]], *message["row"].values())
                for message in messages
                if message["table"] in tables
            }
        return shown


def _mapped_messages(chance: random.Random, number: int) -> Iterator[str | None]:
    """Some that no entry reads, some that every entry rejects, and some without a value."""
    for pos in range(number):
        row = {"history": pos % 7, "place": chance.randrange(3), "name": f"name {pos}", "note": None, "extra": "x"}
        table = chance.choice(["one", "two", "three", "four", None])
        yield json.dumps({"table": table, "op": chance.choice("IUD"), "pos": f"{pos:06d}", "row": row})
        if pos % 40 == 0:
            yield from (BROKEN, None)


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
    """A project with the tables of a trail, of a topic, and of messages that entries describe."""
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
        project.dbt("run", "--threads", "1", "--exclude", *VIEWS, *([LOGS[out]] if out else []), *arguments)
        histories.run(batch, out)
        for name, expected in histories.changes().items():
            assert expected, f"{name}: nothing is there"
            found = raw.query(f"select _change_seq, _change_op, {', '.join(COLUMNS)} from {SCHEMA}.{LOGS[name]}")
            assert len(found) == len(set(found)), f"{name} after batch {batch}: a change is there twice"
            assert set(found) == expected, f"{name} after batch {batch} {arguments}"
        alone = [name for name in LOGS if name.startswith(feeds) and name != out and not _shares(project, LOGS[name])]
        assert alone == ([LEFT_OUT] if batch == 3 and "trail" in feeds else [])
        assert raw.query(f"show tables in {SCHEMA} like '*__batch_*'") == [], "what was put together is left"
        for name in TABLES["mapped"]:
            codes = raw.query(
                f"select substring_index(_status_reason, ':', 1) from {SCHEMA}.{LOGS[f'mapped_{name}']}__quarantine"
            )
            assert Counter(code for (code,) in codes) == histories.rejected(), name

    for batch in range(1, BATCHES + 1):
        for name, rows in histories.landed(batch).items():
            raw.create(f"{SCHEMA}_raw.{name}", RECORD if name == "trail" else RAW_COLUMNS)
            raw.insert(f"{SCHEMA}_raw.{name}", rows)
        run(batch)
    # only the topic's logs are rebuilt: raw has lost records of the trails that their logs still hold
    histories.begin_topic()
    again = ["--select", "dedup_feed__topic_*", "--full-refresh", "--vars", "{change_tables_allow_loss: true}"]
    run(BATCHES, *again, feeds=("topic",))
