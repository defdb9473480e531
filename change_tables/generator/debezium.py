"""Tables of Debezium: from a sample of the JSON events, from events in columns, or by the schemas of a registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .found import Found, FoundColumn, FoundTable, Lake, Trouble
from .messages import Image, Message, Sampled, fields_of_struct, guessed_columns, sampled, settings_of_place
from .raw_tables import (
    RAW_TABLES,
    RAW_TABLES_MEANING,
    SAMPLE,
    RawTable,
    declared_column,
    entry_name,
    raw_tables_of,
    sample_size,
)
from .registries import REGISTRY, REGISTRY_MEANING, Described, Schema, fields_of, read_registered, type_of

_SAMPLE = 500
CONNECTORS = ("postgresql", "mysql", "mariadb", "sqlserver", "oracle", "db2")
OPTIONS: Mapping[str, str] = {
    RAW_TABLES: RAW_TABLES_MEANING,
    "connector": f"the connector, where events do not name it: one of {', '.join(CONNECTORS)}",
    REGISTRY: REGISTRY_MEANING,
    SAMPLE: f"how many of the latest events of each table say its columns and their types (default: {_SAMPLE})",
}
_UNAVAILABLE = ("__debezium_unavailable_value", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==")
_TYPES = {
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float": "float",
    "float32": "float",
    "double": "double",
    "float64": "double",
    "boolean": "boolean",
    "bytes": "binary",
}
_NAMED: Mapping[str, tuple[str, str]] = {
    "io.debezium.time.Date": ("date", "epoch_days"),
    "org.apache.kafka.connect.data.Date": ("date", "epoch_days"),
    "io.debezium.time.Timestamp": ("timestamp_ntz", "epoch_millis"),
    "org.apache.kafka.connect.data.Timestamp": ("timestamp_ntz", "epoch_millis"),
    "io.debezium.time.MicroTimestamp": ("timestamp_ntz", "epoch_micros"),
    "io.debezium.time.NanoTimestamp": ("timestamp_ntz", "epoch_nanos"),
    "io.debezium.time.ZonedTimestamp": ("timestamp", ""),
}
_DECIMAL = "org.apache.kafka.connect.data.Decimal"


def read(lake: Lake, schema: str, options: Mapping[str, str]) -> Found:
    """The tables of which an event has landed; see docs/generator.md.

    Raises:
        ValueError: an option cannot be used; the message says why.
    """
    connector = options.get("connector", "").strip()
    if connector and connector not in CONNECTORS:
        raise ValueError(f"option connector must be one of {', '.join(CONNECTORS)}, got '{connector}'")
    size, troubles = sample_size(options, _SAMPLE)
    if troubles:
        return Found(troubles=troubles)
    raw_tables, troubles = raw_tables_of(lake, schema, options)
    flattened = [table for table in raw_tables if table.type_of("__op") or table.type_of("__deleted")]
    in_columns = [table for table in raw_tables if fields_of_struct(table.landed_type("after")) and table.type_of("op")]
    in_messages = [
        table for table in raw_tables if table.type_of("value") and table not in flattened and table not in in_columns
    ]

    def said(*paths: str) -> str:
        found = [f"get_json_object(text, '$.{path}')" for path in paths]
        return f"coalesce({', '.join(found)}, null)"

    operation, of_flat = said("payload.op", "op", "__op"), said("__deleted")
    by_schemas = read_registered(lake, schema, in_messages, options, _described)
    troubles += by_schemas.troubles
    samples, failed = sampled(
        lake,
        schema,
        [] if options.get(REGISTRY) else in_messages,
        said("payload.source.table", "source.table", "__source_table", "__table"),
        f"coalesce({operation}, {of_flat}) is not null and coalesce({operation}, '') <> 'm'",
        size,
    )
    troubles += failed
    found = [_of_columns(table, "flattened") for table in flattened]
    found += [_of_columns(table, "columns") for table in in_columns]
    found += [_of_messages(sample) for sample in samples]
    found += [(table, str(table.settings.get("connector", ""))) for table in by_schemas.tables]
    tables = []
    for table, named in found:
        if not (named in CONNECTORS or connector):
            text = "its events do not name their connector: give option connector"
            troubles.append(Trouble(f"{schema}.{table.identifier}", text, (table.name, table.identifier)))
            continue
        settings = {"format": "debezium", "connector": connector or named, **table.settings}
        tables.append(replace(table, settings=settings))
    if not tables and not troubles:
        troubles.append(Trouble(schema, "no table has the columns of the feed: value, op and after, or __op"))
    return Found(tables, by_schemas.further_entries, troubles)


def _described(schema: Schema) -> Described | None:
    """What the schema of an event says, which Kafka Connect has made of the table's."""
    types = {str(field["name"]): field["type"] for field in fields_of(schema)}
    # the first one has the fields, the other one names the same record
    columns = fields_of(types.get("before")) or fields_of(types.get("after"))
    settings: dict[str, Any] = {}
    if not columns:
        columns = [field for field in fields_of(schema) if not str(field["name"]).startswith("__")]
        settings["layout"] = "flattened_message"
    if not columns or not {"op", "__op", "__deleted"} & set(types):
        return None
    source = types.get("source")
    named = str(source.get("namespace", "")).rpartition(".")[2] if isinstance(source, dict) else ""
    settings |= {"connector": named} if named in CONNECTORS else {}
    table = str(schema.get("namespace", "")).rpartition(".")[2] or str(schema.get("name", ""))
    return Described(table, [_column_of_avro(field) for field in columns], settings)


def _column_of_avro(field: Mapping[str, Any]) -> FoundColumn:
    data_type, named = type_of(field["type"])
    data_type, written_as = _NAMED.get(named, (data_type, ""))
    return FoundColumn(str(field["name"]), data_type, meta={"written_as": written_as} if written_as else {})


def _of_columns(raw_table: RawTable, layout: str) -> tuple[FoundTable, str]:
    place = settings_of_place(raw_table)
    landed = (
        fields_of_struct(raw_table.landed_type("after"))
        if layout == "columns"
        else [column for column in raw_table.columns if not column[0].startswith("__")]
    )
    left_out = () if layout == "columns" else place.get("position", ())
    columns = [declared_column(name, kind) for name, kind in landed if name not in left_out]
    return FoundTable(entry_name(raw_table.name), raw_table.name, {"layout": layout, **place}, columns), ""


def _of_messages(sample: Sampled) -> tuple[FoundTable, str]:
    events = [_payload(message) for message, _ in sample.messages]
    is_flat = not any("source" in event or "after" in event for event in events)
    images = [image for event in events for image in _images(event, is_flat)]
    columns = _declared([message for message, _ in sample.messages]) or guessed_columns(images, _UNAVAILABLE)
    settings: dict[str, Any] = {"layout": "flattened_message"} if is_flat else {}
    if not sample.is_alone:
        settings["table"] = sample.table
    keys = {tuple(_payload(key)) for _, key in sample.messages if key}
    names = {column.name for column in columns}
    key = list(keys.pop()) if len(keys) == 1 else []
    connectors = {str(_source(event).get("connector", event.get("__source_connector", ""))) for event in events}
    table = FoundTable(
        name=entry_name(sample.table or sample.raw_table.name),
        identifier=sample.raw_table.name,
        settings=settings | settings_of_place(sample.raw_table),
        columns=columns,
        key=key if set(key) <= names else [],
        chosen={"table": sample.table} if sample.table else {},
    )
    return table, connectors.pop() if len(connectors) == 1 else ""


def _payload(message: Message) -> Message:
    """An event or a key without its schema."""
    inside = message.get("payload")
    return inside if isinstance(inside, dict) and "schema" in message else message


def _source(event: Message) -> Message:
    source = event.get("source")
    return source if isinstance(source, dict) else {}


def _images(event: Message, is_flat: bool) -> list[Image]:
    if is_flat:
        return [{name: value for name, value in event.items() if not name.startswith("__")}]
    return [image for image in (event.get("before"), event.get("after")) if isinstance(image, dict)]


def _declared(messages: Iterable[Message]) -> list[FoundColumn]:
    """The columns that the first schema has which names those of an image; empty where none does."""
    for message in messages:
        for part in _fields(message.get("schema")):
            columns = _fields(part)
            if part.get("field") in ("after", "before") and columns:
                return [_column(column) for column in columns]
    return []


def _fields(schema: Any) -> Sequence[Mapping[str, Any]]:
    fields = schema.get("fields") if isinstance(schema, dict) else None
    return [field for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []


def _column(field: Mapping[str, Any]) -> FoundColumn:
    """A column as the event's schema has it.

    >>> column = _column({"field": "d", "type": "int32", "name": "io.debezium.time.Date"})
    >>> column.data_type, column.meta
    ('date', {'written_as': 'epoch_days'})
    """
    name, kind = str(field.get("field", "")), str(field.get("name") or "")
    if kind == _DECIMAL:
        said = field.get("parameters") or {}
        precision, scale = said.get("connect.decimal.precision", "38"), said.get("scale", "0")
        return FoundColumn(name, f"decimal({precision},{scale})", meta={"written_as": "base64_decimal"})
    data_type, written_as = _NAMED.get(kind, (_TYPES.get(str(field.get("type")), "string"), ""))
    return FoundColumn(name, data_type, meta={"written_as": written_as} if written_as else {})
