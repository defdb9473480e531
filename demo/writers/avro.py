"""Avro as Qlik writes it: the schema of a table's data messages, and messages in their envelope."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import fastavro

from change_tables.udfs.avro_messages import ENVELOPE_SCHEMA, MAGIC
from demo.database import Table
from demo.history import Row, Value

_TYPES: Mapping[str, Any] = {
    "bigint": "long",
    "int": "int",
    "string": "string",
    "boolean": "boolean",
    "double": "double",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
}
_HEADERS = {
    "operation": ["null", "string"],
    "changeSequence": ["null", "string"],
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "streamPosition": "string",
    "transactionId": "string",
    "changeMask": ["null", "bytes"],
    "columnMask": ["null", "bytes"],
}
_COLUMN = {
    "ordinal": "int",
    "type": "string",
    "length": "int",
    "precision": "int",
    "scale": "int",
    "primaryKeyPosition": "int",
}
_LINEAGE = {
    "server": "string",
    "task": "string",
    "schema": "string",
    "table": "string",
    "tableVersion": "int",
    "timestamp": "string",
}


def _record(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": type_} for field, type_ in fields.items()],
    }


METADATA_SCHEMA = _record(
    "MetadataMessage",
    {
        "schemaId": "string",
        "lineage": _record("Lineage", _LINEAGE),
        "tableStructure": _record(
            "TableStructure", {"tableColumns": {"type": "map", "values": _record("Column", _COLUMN)}}
        ),
        "dataSchema": "string",
    },
)
"""The schema of metadata messages."""


def data_schema(table: Table, *, as_text: bool = False) -> dict[str, Any]:
    """The schema of a table's data messages; `as_text` makes every column a string.

    >>> from demo.database import TABLES
    >>> data_schema(TABLES["orders"])["fields"][0]["type"][1]["fields"][0]
    {'name': 'order_id', 'type': ['null', 'long']}
    """
    columns = {column.name: ["null", "string" if as_text else _type(column.data_type)] for column in table.columns}
    row = _record("Data", columns)
    return _record(
        "DataRecord", {"data": ["null", row], "beforeData": ["null", "Data"], "headers": _record("Headers", _HEADERS)}
    )


def encode(schema: Mapping[str, Any], record: Mapping[str, Any]) -> bytes:
    """A record in Avro, without schema."""
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(dict(schema)), dict(record))
    return target.getvalue()


def envelope(message: bytes, kind: str, schema_id: str | None = None, schema: str | None = None) -> bytes:
    """A message in its envelope, which has the id of its schema, or the schema."""
    return encode(
        ENVELOPE_SCHEMA,
        {
            "magic": MAGIC,
            "type": kind,
            "headers": None,
            "messageSchemaId": schema_id,
            "messageSchema": schema,
            "message": message,
        },
    )


def with_avro_values(row: Row | None) -> dict[str, Any] | None:
    """A row whose times are marked as UTC, as Avro needs them."""
    return None if row is None else {name: _value(value) for name, value in row.items()}


def _value(value: Value) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def _type(data_type: str) -> Any:
    if found := re.fullmatch(r"decimal\((\d+),(\d+)\)", data_type):
        return {"type": "bytes", "logicalType": "decimal", "precision": int(found[1]), "scale": int(found[2])}
    return _TYPES[data_type]
