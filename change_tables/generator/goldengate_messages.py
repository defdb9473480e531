"""Tables of GoldenGate's handlers: from a sample of JSON messages, from columns, or by the schemas of a registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
OPTIONS: Mapping[str, str] = {
    RAW_TABLES: RAW_TABLES_MEANING,
    REGISTRY: REGISTRY_MEANING,
    SAMPLE: f"how many of the latest messages of each table say its columns and their types (default: {_SAMPLE})",
}
_METADATA = ("table", "op_type", "op_ts", "current_ts", "pos", "primary_keys", "tokens", "xid", "csn", "txind")
_FLAG = "_ismissing"


def read(lake: Lake, schema: str, options: Mapping[str, str]) -> Found:
    """The tables of which a message has landed; see docs/generator.md."""
    size, troubles = sample_size(options, _SAMPLE)
    if troubles:
        return Found(troubles=troubles)
    raw_tables, troubles = raw_tables_of(lake, schema, options)
    in_columns = [table for table in raw_tables if table.type_of("op_type") and table.type_of("pos")]
    in_messages = [table for table in raw_tables if table.type_of("value") and table not in in_columns]
    by_schemas = read_registered(lake, schema, in_messages, options, _described)
    samples, failed = sampled(
        lake,
        schema,
        [] if options.get(REGISTRY) else in_messages,
        "get_json_object(text, '$.table')",
        "get_json_object(text, '$.op_type') is not null",
        size,
    )
    tables = [_of_columns(table) for table in in_columns] + [_of_messages(sample) for sample in samples]
    tables += by_schemas.tables
    troubles += [*failed, *by_schemas.troubles]
    if not tables and not troubles:
        troubles.append(Trouble(schema, "no table has the columns of the feed: value, or op_type and pos"))
    return Found(tables, by_schemas.further_entries, troubles)


def _described(schema: Schema) -> Described | None:
    """What the schema of a message says, which the formatter has made of the table's."""
    types = {str(field["name"]): field["type"] for field in fields_of(schema)}
    if not {"op_type", "pos"} <= set(types):
        return None
    # the first one has the fields, the other one names the same record
    images = fields_of(types.get("before")) or fields_of(types.get("after"))
    left_out = () if images else _METADATA
    columns = [
        FoundColumn(str(field["name"]), type_of(field["type"])[0])
        for field in images or fields_of(schema)
        if str(field["name"]).lower() not in left_out and not str(field["name"]).lower().endswith(_FLAG)
    ]
    table = ".".join(str(schema[part]) for part in ("namespace", "name") if schema.get(part))
    settings: dict[str, Any] = {"format": "goldengate_messages"} | ({} if images else {"layout": "row"})
    return Described(table, columns, settings)


def _of_columns(raw_table: RawTable) -> FoundTable:
    images = fields_of_struct(raw_table.landed_type("after"))
    landed = images or [(name, kind) for name, kind in raw_table.columns if name.lower() not in _METADATA]
    layout = "operation_columns" if images else "row_columns"
    place = settings_of_place(raw_table)
    columns = [
        declared_column(name, kind)
        for name, kind in landed
        if not name.lower().endswith(_FLAG) and (images or name not in place.get("position", ()))
    ]
    settings = {"format": "goldengate_messages", "layout": layout, **place}
    return FoundTable(entry_name(raw_table.name), raw_table.name, settings, columns)


def _of_messages(sample: Sampled) -> FoundTable:
    messages = [message for message, _ in sample.messages]
    is_of_operations = any("after" in message or "before" in message for message in messages)
    images = [image for message in messages for image in _images(message, is_of_operations)]
    columns = guessed_columns(images, of_a_trail=True)
    settings: dict[str, Any] = {"format": "goldengate_messages"}
    if not is_of_operations:
        settings["layout"] = "row"
    if not sample.is_alone:
        settings["table"] = sample.table
    return FoundTable(
        name=entry_name(sample.table or sample.raw_table.name),
        identifier=sample.raw_table.name,
        settings=settings | settings_of_place(sample.raw_table),
        columns=columns,
        key=_key(messages, columns),
        chosen={"table": sample.table} if sample.table else {},
    )


def _images(message: Message, is_of_operations: bool) -> list[Image]:
    images = [message.get("before"), message.get("after")] if is_of_operations else [message]
    left_out = () if is_of_operations else _METADATA
    return [
        {
            name: value
            for name, value in image.items()
            if name.lower() not in left_out
            and not name.lower().endswith(_FLAG)
            and str(image.get(f"{name}_isMissing")) != "True"
        }
        for image in images
        if isinstance(image, dict)
    ]


def _key(messages: Sequence[Message], columns: Sequence[FoundColumn]) -> list[str]:
    """What the messages say, if it is the same in all of them."""
    said = {tuple(message["primary_keys"]) for message in messages if isinstance(message.get("primary_keys"), list)}
    names = {column.name for column in columns}
    return list(said.pop()) if len(said) == 1 and all(set(key) <= names for key in said) else []
