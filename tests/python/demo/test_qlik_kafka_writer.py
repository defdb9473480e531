"""The messages are as the page of the format says, and the sources file says of them what the writer does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.database import TABLES
from demo.history import Contents, Value
from demo.workload import Workload
from demo.writers.qlik_kafka import TOPIC_TABLES, QlikKafkaWriter, as_json

BATCHES = 3
SOURCES = Path(__file__).parents[3] / "models/staging/qlik_kafka/_qlik_kafka__sources.yml"
Record = tuple[Value, ...]


class Fed:
    """A history written in batches, with the source's contents after each."""

    def __init__(self, seed: int) -> None:
        """Write it."""
        self.writer = QlikKafkaWriter(seed)
        workload = Workload(seed, swaps=False)
        loaded = workload.fill()
        self.batches: list[Sequence[Record]] = []
        self.contents: list[Contents] = []
        for number in range(BATCHES):
            transactions = list(workload.play_round())
            written = self.writer.write(transactions, loaded if number == 0 else (), last=number == BATCHES - 1)
            self.batches.append(written["kafka_records"])
            self.contents.append(workload.database.contents())


@pytest.fixture(scope="module", params=[1, 2, 3])
def fed(request: pytest.FixtureRequest) -> Fed:
    """A history by its seed."""
    return Fed(request.param)


def test_offsets_count_each_partition_of_a_topic_from_0_and_the_records_land_in_their_order(fed: Fed) -> None:
    offsets: dict[tuple[Any, Any], list[Any]] = {}
    for topic, partition, offset, *_ in (record for batch in fed.batches for record in batch):
        offsets.setdefault((topic, partition), []).append(offset)
    assert len(offsets) == 4
    assert all(found == list(range(len(found))) for found in offsets.values())


def test_the_account_counts_every_record(fed: Fed) -> None:
    counted = sum(counts.total() for counts in fed.writer.expected_statuses.values())
    assert counted + fed.writer.expected_unclaimed.total() == sum(map(len, fed.batches))
    for counts in fed.writer.expected_statuses.values():
        codes = {verdict.code for verdict in counts if verdict.status == "rejected"}
        assert codes >= {
            "unknown_operation",
            "change_seq_missing",
            "change_seq_malformed",
            "data_missing",
            "key_missing",
        }


def test_messages_are_sent_again_and_late(fed: Fed) -> None:
    identities = Counter(m.identity for m in fed.writer.delivered if m.identity and m.identity[1] != "REFRESH")
    assert max(identities.values()) > 1
    numbers = [m.identity[0] for m in fed.writer.delivered if m.identity and m.identity[1] != "REFRESH"]
    assert numbers != sorted(numbers)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_sound_messages_in_their_order_make_the_source_tables(fed: Fed, batch: int) -> None:
    landed = sum(map(len, fed.batches[: batch + 1]))
    sound = {(m.topic, m.identity): m for m in fed.writer.delivered[:landed] if m.identity is not None}.values()
    tables: dict[str, dict[Any, dict[str, Any]]] = {name: {} for name in TABLES}
    for message in sorted(sound, key=lambda m: m.identity[0] if m.identity else ""):
        assert message.topic_table is not None
        assert message.value is not None
        table = message.topic_table.table
        body = json.loads(message.value)
        body = body.get("message", body)
        rows = tables[table.name]
        data, before = body["data"], body["beforeData"]
        if body["headers"]["operation"] == "DELETE":
            rows.pop(_key(table.key, data or before), None)
            continue
        base = rows.pop(_key(table.key, {**data, **(before or {})}), {})
        mask = body["headers"]["columnMask"]
        number = int(mask, 16) if mask else -1
        borne = {
            name: value
            for name, value in data.items()
            if value is not None or number >> (message.topic_table.ordinal(name) - 1) & 1
        }
        rows[_key(table.key, data)] = {**base, **borne}
    for name, table in TABLES.items():
        expected = Counter(json.dumps(as_json(row)) for row in fed.contents[batch][name])
        assert Counter(json.dumps({c: row[c] for c in table.column_names}) for row in tables[name].values()) == expected


def _key(names: Sequence[str], row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def test_the_sources_file_says_what_the_writer_writes() -> None:
    (source,) = yaml.safe_load(SOURCES.read_text())["sources"]
    entries = {entry["name"]: entry for entry in source["tables"]}
    assert set(entries) == set(TOPIC_TABLES)
    for name, topic_table in TOPIC_TABLES.items():
        spec = entries[name]["config"]["meta"]["change_table"]
        assert entries[name]["identifier"] == "kafka_records"
        assert spec["topic"] == topic_table.topic
        assert spec.get("table") == (None if topic_table.is_alone else f"shop.{name}")
        assert spec["key"] == list(topic_table.table.key)
        declared = [(column["name"], column["data_type"]) for column in entries[name]["columns"]]
        assert declared == [(column.name, column.data_type) for column in topic_table.table.columns]
