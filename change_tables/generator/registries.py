"""Tables of messages in Avro, by their schemas, which the raw table of a schema registry has."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .found import Found, FoundColumn, FoundTable, FurtherEntry, Lake, Trouble
from .messages import settings_of_place
from .names import quoted
from .raw_tables import RawTable, entry_name, further_name, query_each, relation, text_literal

REGISTRY = "registry"
REGISTRY_MEANING = "the raw table with the schemas of a registry, for messages in Avro after its prefix"
_TYPES = {"int": "int", "long": "bigint", "float": "float", "double": "double", "boolean": "boolean", "bytes": "binary"}
_TIMES = {
    "date": "date",
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "local-timestamp-millis": "timestamp_ntz",
    "local-timestamp-micros": "timestamp_ntz",
}
Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Described:
    """What a schema says of a table: its name in messages, its columns, and settings of its entry."""

    table: str
    columns: Sequence[FoundColumn]
    settings: Mapping[str, Any]


def read_registered(
    lake: Lake,
    schema: str,
    raw_tables: Sequence[RawTable],
    options: Mapping[str, str],
    describe: Callable[[Schema], Described | None],
) -> Found:
    """The tables whose schemas messages refer to; nothing without the option `registry`.

    Args:
        lake: the server
        schema: the schema of the raw tables
        raw_tables: those that can have messages; others are passed over
        options: as the user gives them
        describe: what the schema of a message says; none where it is of no change
    """
    registry = options.get(REGISTRY, "").strip()
    if not registry:
        return Found()
    places = [raw for raw in raw_tables if raw.type_of("value") == "binary"]
    rows, troubles = query_each(lake, schema, {raw.name: _query(schema, raw, registry) for raw in places})
    latest: dict[tuple[str, str], FoundTable] = {}
    for raw_table, _, text, key_text in sorted(rows, key=lambda row: (row[0], int(row[1]))):
        described = describe(_object(text))
        if described is None:
            continue
        (raw,) = (raw for raw in places if raw.name == raw_table)
        names = {column.name for column in described.columns}
        key = [str(field["name"]) for field in fields_of(_object(key_text))]
        latest[raw_table, described.table] = FoundTable(
            name=entry_name(described.table),
            identifier=raw_table,
            settings={**described.settings, **settings_of_place(raw)},
            columns=described.columns,
            key=key if set(key) <= names else [],
            chosen={"table": described.table},
        )
    if not latest and not troubles:
        troubles.append(Trouble(schema, f"no message is of a schema of the feed that {registry} has"))
    entry = further_name(registry, [table.name for table in latest.values()], "schemas")
    shared = [raw_table for raw_table, _ in latest]
    tables = [
        replace(
            table,
            settings={
                **table.settings,
                REGISTRY: entry,
                **({"table": name} if shared.count(raw_table) > 1 else {}),
            },
            reads=[entry],
        )
        for (raw_table, name), table in latest.items()
    ]
    further = [FurtherEntry(entry, registry, "The schemas of messages.")] if tables else []
    return Found(tables, further, troubles)


def fields_of(schema: Any) -> list[Mapping[str, Any]]:
    """The fields of a record, or of the record in a union; empty where it is none.

    >>> fields_of(["null", {"type": "record", "name": "r", "fields": [{"name": "id", "type": "int"}]}])
    [{'name': 'id', 'type': 'int'}]
    """
    parts = schema if isinstance(schema, list) else [schema]
    fields = next((part["fields"] for part in parts if isinstance(part, dict) and "fields" in part), None)
    return [field for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []


def type_of(schema: Any) -> tuple[str, str]:
    """The Spark type of values, and the name that Kafka Connect gives their type.

    >>> type_of(["null", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}])
    ('decimal(10,2)', '')
    >>> type_of({"type": "int", "connect.name": "io.debezium.time.Date"})
    ('int', 'io.debezium.time.Date')
    """
    parts = schema if isinstance(schema, list) else [schema]
    part = next((part for part in parts if part != "null"), "string")
    if not isinstance(part, dict):
        return _TYPES.get(str(part), "string"), ""
    logical = part.get("logicalType")
    if logical == "decimal":
        return f"decimal({part.get('precision', 38)},{part.get('scale', 0)})", ""
    if logical in _TIMES:
        return _TIMES[logical], ""
    return _TYPES.get(str(part.get("type")), "string"), str(part.get("connect.name", ""))


def _object(text: str | None) -> Schema:
    try:
        found = json.loads(text or "")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _query(schema: str, raw_table: RawTable, registry: str) -> str:
    def id_in(column: str) -> str:
        return f"case when startswith({column}, X'00') then conv(hex(substring({column}, 2, 4)), 16, 10) end"

    has_key = raw_table.type_of("key") == "binary"
    key = id_in("key") if has_key else "cast(null as string)"
    schemas, text, name = relation(schema, registry), quoted("schema"), text_literal(raw_table.name)
    return f"""select {name} as raw_table, value_id, registered.{text}, of_keys.{text} as key_schema
from (select distinct {id_in("value")} as value_id, {key} as key_id from {relation(schema, raw_table.name)})
inner join {schemas} as registered
    on value_id = cast(registered.id as string)
left join {schemas} as of_keys
    on key_id = cast(of_keys.id as string)"""
