"""The messages are as the page of the format says, and the sources file says of them what the writer does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from change_tables.udfs.avro_messages import avro_to_json, read_avro_envelope
from demo.database import TABLES
from demo.history import Contents, Value
from demo.workload import Workload
from demo.writers.avro import data_schema
from demo.writers.qlik_kafka import RAW_TABLES, TOPIC_TABLES, QlikKafkaWriter, TopicTable, as_json

BATCHES = 3
SOURCES = Path(__file__).parents[2] / "models/staging/qlik_kafka/_qlik_kafka__sources.yml"
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
            self.batches.append([record for table in self.writer.raw_tables for record in written[table.name]])
            self.contents.append(workload.database.contents())


@pytest.fixture(scope="module", params=[1, 2, 3])
def fed(request: pytest.FixtureRequest) -> Fed:
    """A history by its seed."""
    return Fed(request.param)


def test_offsets_count_each_partition_of_a_topic_from_0_and_the_records_land_in_their_order(fed: Fed) -> None:
    offsets: dict[tuple[Any, Any], list[Any]] = {}
    for topic, partition, offset, *_ in (record for batch in fed.batches for record in batch):
        offsets.setdefault((topic, partition), []).append(offset)
    assert len(offsets) == 5
    assert all(found == list(range(len(found))) for found in offsets.values())


def test_the_account_counts_every_record(fed: Fed) -> None:
    counted = sum(counts.total() for counts in fed.writer.expected_statuses.values())
    schemas = sum(record[0] == "shop.schemas" for batch in fed.batches for record in batch)
    assert schemas == 1
    assert counted + fed.writer.expected_unclaimed.total() + schemas == sum(map(len, fed.batches))
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
        body = _body(message.topic_table, message.value)
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


def _body(topic_table: TopicTable, value: bytes) -> dict[str, Any]:
    """A data message without envelope, as JSON has it."""
    if topic_table.is_avro:
        (found,) = read_avro_envelope(pa.array([value])).to_pylist()
        assert found["schema_id"] == topic_table.schema_id
        schema = json.dumps(data_schema(topic_table.table))
        (record,) = avro_to_json(pa.array([found["message"]]), pa.array([schema])).to_pylist()
        value = record["json"]
    body: dict[str, Any] = json.loads(value)
    message: dict[str, Any] = body.get("message", body)
    return message


def _key(names: Sequence[str], row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def test_the_sources_file_says_what_the_writer_writes() -> None:
    (source,) = yaml.safe_load(SOURCES.read_text())["sources"]
    entries = {entry["name"]: entry for entry in source["tables"]}
    assert set(entries) == {*TOPIC_TABLES, "schemas"}
    for name, topic_table in TOPIC_TABLES.items():
        spec = entries[name]["config"]["meta"]["change_table"]
        assert entries[name]["identifier"] == RAW_TABLES[topic_table.topic].name
        assert spec.get("serialization", "json") == ("avro" if topic_table.is_avro else "json")
        assert spec["topic"] == topic_table.topic
        assert spec.get("table") == (None if topic_table.is_alone else f"shop.{name}")
        assert spec["key"] == list(topic_table.table.key)
        declared = [(column["name"], column["data_type"]) for column in entries[name]["columns"]]
        assert declared == [(column.name, column.data_type) for column in topic_table.table.columns]
