"""Messages of Qlik Replicate in Avro: an envelope, and in it a record that was written with a schema of its own.

The vendor publishes the envelope's schema. That of the record comes from a metadata message or is in the envelope.
fastavro reads both.
"""

from __future__ import annotations

import datetime
import io
import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa

from .flat_bytes import require_type

ENVELOPE_SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "MessageEnvelope",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": 5}},
        {"name": "type", "type": "string"},
        {"name": "headers", "type": ["null", {"type": "map", "values": "string"}]},
        {"name": "messageSchemaId", "type": ["null", "string"]},
        {"name": "messageSchema", "type": ["null", "string"]},
        {"name": "message", "type": "bytes"},
    ],
}
MAGIC = b"atMSG"
_ENVELOPE = fastavro.parse_schema(ENVELOPE_SCHEMA)

ENVELOPE = pa.struct(
    [
        pa.field("type", pa.string()),
        pa.field("schema_id", pa.string()),
        pa.field("schema", pa.string()),
        pa.field("message", pa.binary()),
        pa.field("error", pa.string()),
    ]
)
RECORD = pa.struct([pa.field("json", pa.string()), pa.field("error", pa.string())])

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_KEPT_SCHEMAS = 1000
_SHORTEST = "shortest"


def read_avro_envelope(value: pa.Array) -> pa.Array:
    """What the envelopes of messages contain.

    `value`, binary, shape (n,).

    Returns struct<type string, schema_id string, schema string, message binary, error string>, shape (n,), null where
    the value is null: `DT` or `MD`, the id of the schema that the message was written with or that schema itself, and
    the message. For a value that is no envelope, all but `error` are null. Raises TypeError for a column of another
    type, never for a value.

    Source: the envelope's schema as the vendor publishes it.

    >>> read_avro_envelope(pa.array([b"no envelope"])).to_pylist()[0]["error"]
    'the value does not begin with atMSG, as envelopes do'
    """
    values = require_type("read_avro_envelope", "value", value, ("binary",))
    return pa.array([None if found is None else _envelope(found) for found in values.to_pylist()], ENVELOPE)


def avro_to_json(message: pa.Array, schema: pa.Array) -> pa.Array:
    """Avro records as JSON texts, each read with a schema of its own.

    `message`, binary, and `schema`, string (an Avro schema as JSON), both of shape (n,).

    Returns struct<json string, error string>, shape (n,), null where either is null; exactly one of the two is null.
    Values are written as in the vendor's JSON messages: decimals, dates, times (`HH:mm:ss.ffffff`) and timestamps
    (`yyyy-MM-dd HH:mm:ss.ffffff`, UTC) as texts, bytes as hex digits. The header `timestamp` of a data message becomes
    such a text, too, where it is a number of microseconds. A float has the fewest digits that tell it from others:
    `0.1`, and not those of the double that it becomes in Python. Floats that are no number are the texts `NaN`,
    `Infinity` and `-Infinity`. Raises TypeError for columns of other types, never for a value.

    >>> schema = '{"type": "record", "name": "R", "fields": [{"name": "mask", "type": "bytes"}]}'
    >>> avro_to_json(pa.array([bytes([4, 1, 255])]), pa.array([schema])).to_pylist()
    [{'json': '{"mask": "01FF"}', 'error': None}]
    """
    messages = require_type("avro_to_json", "message", message, ("binary",)).to_pylist()
    schemas = require_type("avro_to_json", "schema", schema, ("string",)).dictionary_encode()
    texts = schemas.dictionary.to_pylist()
    readers = [_reader(text) for text in texts]
    results = []
    for found, place in zip(messages, schemas.indices.to_pylist(), strict=True):
        results.append(None if found is None or place is None else _record(found, readers[place]))
    return pa.array(results, RECORD)


def _envelope(value: bytes) -> dict[str, Any]:
    empty = dict.fromkeys(("type", "schema_id", "schema", "message"))
    if not value.startswith(MAGIC):
        return {**empty, "error": "the value does not begin with atMSG, as envelopes do"}
    try:
        found: Any = fastavro.schemaless_reader(io.BytesIO(value), _ENVELOPE, None)
    except Exception as error:  # noqa: BLE001  bad bytes are reported in `error`, never raised
        return {**empty, "error": f"the envelope cannot be read: {_message_of(error)}"}
    return {
        "type": found["type"],
        "schema_id": found["messageSchemaId"],
        "schema": found["messageSchema"],
        "message": found["message"],
        "error": None,
    }


Reader = Callable[[bytes], Any]


# a plain dict travels to the workers by value; what functools caches is pickled by its name, which they cannot import
_readers: dict[str, Reader | str] = {}


def _reader(text: str) -> Reader | str:
    """What reads records of a schema, or what is wrong with the schema; made once a schema."""
    if text not in _readers:
        if len(_readers) == _KEPT_SCHEMAS:
            del _readers[next(iter(_readers))]
        _readers[text] = _new_reader(text)
    return _readers[text]


def _new_reader(text: str) -> Reader | str:
    # here, since the workers cannot import this module
    fastavro.read.LOGICAL_READERS[f"float-{_SHORTEST}"] = _shortest
    try:
        schema = fastavro.parse_schema(_with_shortest_floats(json.loads(text)))
    except Exception as error:  # noqa: BLE001  a bad schema is reported in `error`, never raised
        return f"the schema cannot be read: {_message_of(error)}"

    def read(value: bytes) -> Any:
        source = io.BytesIO(value)
        record = fastavro.schemaless_reader(source, schema, None)
        if source.read(1):
            raise ValueError("there are bytes after the record")
        return record

    return read


def _with_shortest_floats(schema: Any) -> Any:
    """A schema whose floats fastavro reads by `_shortest`."""
    if isinstance(schema, list):
        return [_with_shortest_floats(part) for part in schema]
    if isinstance(schema, dict) and schema.get("type") != "float":
        parts = {name: _with_shortest_floats(schema[name]) for name in ("items", "values") if name in schema}
        fields = [{**field, "type": _with_shortest_floats(field["type"])} for field in schema.get("fields", ())]
        return schema | parts | ({"fields": fields} if fields else {})
    if isinstance(schema, dict):
        return {**schema, "logicalType": _SHORTEST}
    return {"type": "float", "logicalType": _SHORTEST} if schema == "float" else schema


def _shortest(value: float, *_: Any) -> float:
    """The double that is written as the shortest text of the same float of 32 bits."""
    return float(str(np.float32(value)))


def _record(value: bytes, reader: Reader | str) -> dict[str, str | None]:
    if isinstance(reader, str):
        return {"json": None, "error": reader}
    try:
        return {"json": _as_json(_with_time(reader(value))), "error": None}
    except Exception as error:  # noqa: BLE001  bad bytes are reported in `error`, never raised
        return {"json": None, "error": f"the message cannot be read with its schema: {_message_of(error)}"}


def _as_json(record: Any) -> str:
    try:
        return json.dumps(record, ensure_ascii=False, default=_text, allow_nan=False)
    except ValueError:  # a float that JSON has no number for
        return json.dumps(_with_odd_floats_as_texts(record), ensure_ascii=False, default=_text)


def _with_odd_floats_as_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_odd_floats_as_texts(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_odd_floats_as_texts(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return value


def _with_time(record: Any) -> Any:
    """A data message whose header `timestamp` is a text, also where it was a number of microseconds."""
    headers = record.get("headers") if isinstance(record, dict) else None
    if isinstance(headers, dict) and type(headers.get("timestamp")) is int:
        at = _EPOCH + datetime.timedelta(microseconds=headers["timestamp"])
        return {**record, "headers": {**headers, "timestamp": _text(at)}}
    return record


def _text(value: Any) -> str:
    """What JSON has no type for."""
    if isinstance(value, datetime.datetime):
        at = value.astimezone(datetime.UTC) if value.tzinfo else value
        return at.replace(tzinfo=None).isoformat(" ", "microseconds")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat("microseconds") if isinstance(value, datetime.time) else value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return value.hex().upper()
    return str(value)


def _message_of(error: Exception) -> str:
    return f"{type(error).__name__} {error}".split("\n", 1)[0].strip()[:200]
