"""Avro messages, written by the library that the functions read them with, and what is no message."""

from __future__ import annotations

import datetime
import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from change_tables.udfs.avro_messages import ENVELOPE_SCHEMA, avro_to_json, read_avro_envelope

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "DataRecord",
    "fields": [
        {"name": "exact", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10}]},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "time", "type": ["null", {"type": "long", "logicalType": "time-micros"}]},
        {"name": "raw", "type": ["null", "bytes"]},
        {"name": "flag", "type": ["null", "boolean"]},
        {"name": "real", "type": ["null", "double"]},
        {"name": "single", "type": ["null", "float"]},
        {"name": "singles", "type": ["null", {"type": "map", "values": {"type": "array", "items": {"type": "float"}}}]},
        {"name": "text", "type": ["null", "string"]},
        {"name": "timestamp", "type": ["null", "long"]},
    ],
}
EMPTY = dict.fromkeys(field["name"] for field in SCHEMA["fields"])


def written(schema: Any, record: Any) -> bytes:
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(schema), record)
    return target.getvalue()


def read(schema: Any, *values: bytes) -> list[dict[str, Any]]:
    texts = pa.array([json.dumps(schema)] * len(values), pa.string())
    rows: list[dict[str, Any]] = avro_to_json(pa.array(values, pa.binary()), texts).to_pylist()
    return rows


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("exact", Decimal("1234567890123456789012345678.0123456789"), "1234567890123456789012345678.0123456789"),
        ("day", datetime.date(2026, 1, 31), "2026-01-31"),
        ("at", datetime.datetime(2026, 1, 31, 12, 0, 0, 123_456, datetime.UTC), "2026-01-31 12:00:00.123456"),
        ("at", datetime.datetime(1, 1, 1, tzinfo=datetime.UTC), "0001-01-01 00:00:00.000000"),
        ("time", datetime.time(12, 0, 0, 5), "12:00:00.000005"),
        ("raw", b"\x00\xff", "00FF"),
        ("flag", True, True),
        ("real", 0.1, 0.1),
        ("real", 0.10000000149011612, 0.10000000149011612),  # the double of the float 0.1
        ("single", 0.1, 0.1),
        ("single", -16777215.0, -16777215.0),
        ("single", 3.4028234663852886e38, 3.4028235e38),
        ("single", float("inf"), "Infinity"),
        ("singles", {"a": [1.555, 1e-45, 0.33333334]}, {"a": [1.555, 1e-45, 0.33333334]}),
        ("real", float("nan"), "NaN"),
        ("real", float("-inf"), "-Infinity"),
        ("text", 'quoted " and \N{SNOWMAN}', 'quoted " and \N{SNOWMAN}'),
        ("timestamp", 5, 5),
    ],
)
def test_every_value_is_written_exactly(name: str, value: Any, text: Any) -> None:
    (found,) = read(SCHEMA, written(SCHEMA, EMPTY | {name: value}))
    assert found["error"] is None
    assert json.loads(found["json"]) == EMPTY | {name: text}


def test_the_time_of_a_header_is_a_text_also_where_it_was_microseconds() -> None:
    headers = {"type": "record", "name": "Headers", "fields": [{"name": "timestamp", "type": "long"}]}
    schema = {"type": "record", "name": "Data", "fields": [{"name": "headers", "type": headers}]}
    (found,) = read(schema, written(schema, {"headers": {"timestamp": 1_769_860_800_000_001}}))
    assert json.loads(found["json"]) == {"headers": {"timestamp": "2026-01-31 12:00:00.000001"}}


def test_each_message_is_read_with_its_own_schema() -> None:
    other = {"type": "record", "name": "Other", "fields": [{"name": "id", "type": "long"}]}
    messages = pa.array([written(SCHEMA, EMPTY), written(other, {"id": 7}), written(other, {"id": 8})], pa.binary())
    rows = avro_to_json(messages, pa.array([json.dumps(SCHEMA), json.dumps(other), json.dumps(other)])).to_pylist()
    assert [json.loads(row["json"]) for row in rows] == [EMPTY, {"id": 7}, {"id": 8}]


def test_an_envelope_has_its_type_its_schema_and_its_message() -> None:
    envelope = {
        "magic": b"atMSG",
        "type": "MD",
        "headers": None,
        "messageSchemaId": None,
        "messageSchema": '"string"',
        "message": b"\x00",
    }
    (found,) = read_avro_envelope(pa.array([written(ENVELOPE_SCHEMA, envelope)])).to_pylist()
    assert found == {"type": "MD", "schema_id": None, "schema": '"string"', "message": b"\x00", "error": None}


@given(st.lists(st.binary(max_size=40) | st.binary(max_size=40).map(lambda tail: b"atMSG" + tail)))
def test_bytes_that_are_no_message_are_reported_and_never_raised(values: list[bytes]) -> None:
    for found in read_avro_envelope(pa.array(values, pa.binary())).to_pylist():
        assert (found["error"] is None) == (found["type"] is not None)
    for found in read(SCHEMA, *values):
        assert (found["error"] is None) == (found["json"] is not None)


@pytest.mark.parametrize("schema", ["", "no JSON", '"unknown"', "{}", '{"type": "record"}'])
def test_a_text_that_is_no_schema_is_reported(schema: str) -> None:
    ((error,),) = [(row["error"],) for row in avro_to_json(pa.array([b"\x00"]), pa.array([schema])).to_pylist()]
    assert error.startswith("the schema cannot be read: ")


def test_columns_of_another_type_are_a_wrong_call() -> None:
    with pytest.raises(TypeError, match="read_avro_envelope: `value` must be binary, got string"):
        read_avro_envelope(pa.array(["atMSG"]))
    with pytest.raises(TypeError, match="avro_to_json: `schema` must be string, got binary"):
        avro_to_json(pa.array([b""]), pa.array([b""]))
