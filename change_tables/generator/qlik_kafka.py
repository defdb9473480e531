"""Tables of Qlik's Kafka messages: from the metadata messages, and from a sample of the data messages of each topic."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .found import Found, FoundColumn, FoundTable, FurtherEntry, Lake, Trouble
from .raw_tables import (
    RAW_TABLES,
    RAW_TABLES_MEANING,
    SAMPLE,
    RawTable,
    entry_name,
    further_name,
    query_each,
    raw_tables_with,
    relation,
    sample_size,
    shown,
    text_literal,
)

_SAMPLE = 1000
OPTIONS: Mapping[str, str] = {
    RAW_TABLES: RAW_TABLES_MEANING,
    SAMPLE: f"how many of the latest messages of each topic say which tables it has (default: {_SAMPLE})",
}

RECORD = ("topic", "partition", "offset", "timestamp", "key", "value")
"""The columns of a Kafka record, as Spark's source reads it."""

_TYPES: Mapping[str, tuple[str, str]] = {
    "BOOLEAN": ("boolean", ""),
    "BOOL": ("boolean", ""),
    "BYTES": ("binary", ""),
    "BLOB": ("binary", ""),
    "DATE": ("date", ""),
    "TIME": ("string", "a time of day, for which there is no declared type"),
    "DATETIME": ("timestamp", ""),
    "TIMESTAMP": ("timestamp", ""),
    "INT1": ("tinyint", ""),
    "INT2": ("smallint", ""),
    "INT4": ("int", ""),
    "INT8": ("bigint", ""),
    "UINT1": ("smallint", ""),
    "UINT2": ("int", ""),
    "UINT4": ("bigint", ""),
    "UINT8": ("decimal(20,0)", ""),
    "REAL4": ("float", ""),
    "REAL8": ("double", ""),
    "STRING": ("string", ""),
    "WSTRING": ("string", ""),
    "CLOB": ("string", ""),
    "NCLOB": ("string", ""),
}
_MOST_DIGITS = 38
_AVRO_METADATA = "X'61744D5347044D44'"
"""How an envelope of a metadata message begins: its magic, and the type MD with its length."""

SourceTable = tuple[str, str]
"""A source table by schema and name."""


@dataclass(frozen=True)
class TableVersion:
    """What a metadata message says of a table; `landed` are the time and the offset of its record."""

    raw_table: str
    topic: str
    schema_id: str
    table: SourceTable
    number: int
    landed: tuple[str, int]
    columns: Mapping[str, Any]


@dataclass
class _Topic:
    """What a topic has: its raw table, and per source table whether its messages are in Avro. None: not known."""

    raw_table: str
    tables: dict[SourceTable | None, bool] = field(default_factory=dict)


def spark_type(qlik_type: str, precision: int = 0, scale: int = 0) -> tuple[str, str]:
    """The Spark type that has all values of one of Qlik's types, and a note where something must be known of it.

    Source: the vendor's list of Replicate's types. Its unsigned numbers need the next wider type.

    >>> spark_type("NUMERIC", 18, 4), spark_type("UINT8")
    (('decimal(18,4)', ''), ('decimal(20,0)', ''))
    >>> spark_type("MONEY")
    ('string', "read as a text: Qlik's type MONEY is not known")
    """
    name = qlik_type.strip().upper()
    if name == "NUMERIC":
        if 1 <= precision <= _MOST_DIGITS and 0 <= scale <= precision:
            return f"decimal({precision},{scale})", ""
        return "string", f"read as a text: NUMERIC({precision},{scale}) is no decimal of Spark's"
    return _TYPES.get(name, ("string", f"read as a text: Qlik's type {name or 'null'} is not known"))


def read(lake: Lake, schema: str, options: Mapping[str, str]) -> Found:
    """The tables of which both a metadata message and a data message have landed; see docs/generator.md.

    It sends a query for the metadata messages and one for the sample, each over all raw tables.
    """
    size, troubles = sample_size(options, _SAMPLE)
    if troubles:
        return Found(troubles=troubles)
    raw_tables, troubles = raw_tables_with(lake, schema, RECORD, options)
    landed, failed = query_each(lake, schema, {table.name: _metadata_query(schema, table) for table in raw_tables})
    troubles += failed
    unreadable = {trouble.place for trouble in failed}
    raw_tables = [table for table in raw_tables if f"{schema}.{table.name}" not in unreadable]
    versions, unread = _versions(landed)
    troubles += unread
    messages, failed = query_each(
        lake, schema, {table.name: _sample_query(schema, table, size) for table in raw_tables}
    )
    troubles += failed
    topics = _topics(messages, versions)
    if not versions and not troubles:
        names = shown([table.name for table in raw_tables])
        troubles.append(
            Trouble(schema, f"no metadata message is in {names}: let the task publish metadata, and land it")
        )
    by_name = {table.name: table for table in raw_tables}
    tables: list[FoundTable] = []
    further: dict[str, FurtherEntry] = {}
    latest = _latest(versions)
    table_names = {entry_name(table_name) for _, table_name in latest}
    for (topic, _), content in sorted(topics.items()):
        told = {
            version.table for version in versions if (version.topic, version.raw_table) == (topic, content.raw_table)
        }
        named = {table for table in content.tables if table is not None}
        if not named:
            troubles.append(_unnamed(schema, content.raw_table, topic))
        for table, is_avro in sorted((table, avro) for table, avro in content.tables.items() if table is not None):
            if table not in latest:
                troubles.append(
                    Trouble(
                        _shown_table(table),
                        f"topic {topic} has messages of it, and no metadata message has landed",
                        (entry_name(table[1]), _shown_table(table)),
                    )
                )
                continue
            metadata = _metadata_of(latest[table], content.raw_table)
            if metadata:
                name = further_name(metadata, table_names, "metadata")
                further.setdefault(metadata, FurtherEntry(name, metadata, "The metadata messages of Qlik's tasks."))
            entry = further[metadata].name if metadata else ""
            tables.append(
                _found(latest[table][0], by_name[content.raw_table], topic, is_avro, len(named | told) > 1, entry)
            )
    seen = {table for content in topics.values() for table in content.tables}
    troubles += [
        Trouble(
            _shown_table(table),
            f"metadata of it has landed, and none of the latest {size} messages of a topic is of it: raise `{SAMPLE}`",
            (entry_name(table[1]), _shown_table(table)),
        )
        for table in sorted(latest)
        if table not in seen
    ]
    return Found(tables, list(further.values()), troubles)


def _found(
    version: TableVersion, raw_table: RawTable, topic: str, is_avro: bool, is_shared: bool, metadata: str
) -> FoundTable:
    settings: dict[str, Any] = {"format": "qlik_kafka", "topic": topic}
    if is_shared:
        settings["table"] = ".".join(part for part in version.table if part)
    if is_avro:
        settings["serialization"] = "avro"
    if metadata:
        settings["metadata"] = metadata
    typed = [
        FoundColumn(
            name,
            *spark_type(str(said.get("type") or ""), _number(said.get("precision")), _number(said.get("scale"))),
        )
        for name, said in version.columns.items()
    ]
    places = {name: _number(said.get("primaryKeyPosition")) for name, said in version.columns.items()}
    return FoundTable(
        name=entry_name(version.table[1]),
        identifier=raw_table.name,
        settings=settings,
        columns=typed,
        key=sorted((name for name, place in places.items() if place > 0), key=lambda name: places[name]),
        reads=[metadata] if metadata else [],
        chosen={"table": _shown_table(version.table)},
    )


def _metadata_of(versions: Sequence[TableVersion], raw_table: str) -> str:
    """The other raw table that has the metadata of a table; empty: its own has it."""
    places = {version.raw_table for version in versions}
    return "" if raw_table in places else versions[0].raw_table


def _latest(versions: Iterable[TableVersion]) -> dict[SourceTable, list[TableVersion]]:
    """The versions of each table, the latest first: by the number of the version, then by their records."""
    found: dict[SourceTable, list[TableVersion]] = defaultdict(list)
    for version in sorted(versions, key=lambda version: (version.number, version.landed), reverse=True):
        found[version.table].append(version)
    return dict(found)


def _versions(rows: Iterable[Sequence[Any]]) -> tuple[list[TableVersion], list[Trouble]]:
    """The versions of tables that the rows of the metadata query have; a schema that is sent again is the same."""
    found: dict[tuple[str, str], TableVersion] = {}
    troubles: list[Trouble] = []
    for raw_table, topic, schema_id, schema_name, table_name, number, time, offset, columns in rows:
        if not schema_id and not columns:
            continue  # a data message that has the words in a text
        said = _columns_in(columns)
        if not schema_id or not table_name or not said:
            place = f"{raw_table}, topic {topic}, offset {offset}"
            troubles.append(Trouble(place, "the metadata message cannot be read: it lacks schemaId, table or columns"))
            continue
        found[raw_table, schema_id] = TableVersion(
            raw_table,
            topic,
            schema_id,
            (schema_name or "", table_name),
            _number(number),
            (time or "", offset or 0),
            said,
        )
    return list(found.values()), troubles


def _columns_in(text: str | None) -> dict[str, Mapping[str, Any]]:
    """What the metadata says of each column, in the order of their ordinals; empty where it cannot be read."""
    try:
        said = json.loads(text or "")
    except ValueError:
        return {}
    columns = said.items() if isinstance(said, dict) else ()
    readable = [(name, column) for name, column in columns if isinstance(column, dict)]
    return dict(sorted(readable, key=lambda item: _number(item[1].get("ordinal"))))


def _topics(rows: Iterable[Sequence[Any]], versions: Sequence[TableVersion]) -> dict[tuple[str, str], _Topic]:
    """The topics that have data messages, by name and raw table."""
    by_id = {version.schema_id: version.table for version in versions}
    in_topics: dict[tuple[str, str], set[SourceTable]] = defaultdict(set)
    for version in versions:
        in_topics[version.topic, version.raw_table].add(version.table)
    known = set(by_id.values())
    found: dict[tuple[str, str], _Topic] = {}
    for raw_table, topic, is_avro, schema_name, table_name, schema_id in rows:
        if topic is None:
            continue
        content = found.setdefault((topic, raw_table), _Topic(raw_table))
        table = _table_of(schema_name, table_name, by_id.get(schema_id), known)
        content.tables[table] = bool(is_avro) or content.tables.get(table, False)
    for (topic, raw_table), content in found.items():
        if set(content.tables) == {None}:
            # by the task's usual setting a topic has the name of its table
            named = {table for table in known if topic in (f"{table[0]}.{table[1]}", table[1])}
            alone = named or in_topics[topic, raw_table]
            if len(alone) == 1:
                content.tables[alone.pop()] = content.tables.pop(None)
    return found


def _table_of(
    schema_name: str | None, table_name: str | None, by_id: SourceTable | None, known: Iterable[SourceTable]
) -> SourceTable | None:
    """The table of a message: by its headers, else by the metadata of its schema id."""
    if not table_name:
        return by_id
    if schema_name:
        return schema_name, table_name
    if by_id and by_id[1] == table_name:
        return by_id
    alike = [table for table in known if table[1] == table_name]
    return alike[0] if len(alike) == 1 else ("", table_name)


def _unnamed(schema: str, raw_table: str, topic: str) -> Trouble:
    return Trouble(
        f"{schema}.{raw_table}, topic {topic}",
        "its messages name no table: let their headers name schema and table, or land the metadata that they refer to",
    )


def _metadata_query(schema: str, table: RawTable) -> str:
    """One row a schema id: raw table, topic, id, schema, table, version, time and offset, and the columns as JSON."""
    json_like = (
        "contains(cast(value as string), '\"tableStructure\"') and contains(cast(value as string), '\"lineage\"')"
    )
    text, condition = "cast(value as string)", json_like
    if table.type_of("value") == "binary":
        envelope = f"case when startswith(value, {_AVRO_METADATA}) then read_avro_envelope(value) end"
        text = (
            f"coalesce(avro_to_json({envelope}['message'], {envelope}['schema'])['json'],"
            f" cast({envelope}['message'] as string), cast(value as string))"
        )
        condition = f"startswith(value, {_AVRO_METADATA}) or ({json_like})"

    def said(path: str) -> str:
        return f"coalesce(get_json_object(text, '$.message.{path}'), get_json_object(text, '$.{path}'))"

    return f"""select
    {text_literal(table.name)} as raw_table,
    topic,
    schema_id,
    max_by({said("lineage.schema")}, place) as schema_name,
    max_by({said("lineage.table")}, place) as table_name,
    max_by({said("lineage.tableVersion")}, place) as table_version,
    cast(max(place)['timestamp'] as string) as landed_at,
    max(place)['offset'] as landed_offset,
    max_by({said("tableStructure.tableColumns")}, place) as columns
from (
    select topic, struct(`timestamp`, `offset`) as place, text, {said("schemaId")} as schema_id
    from (select topic, `timestamp`, `offset`, {text} as text from {relation(schema, table.name)} where {condition})
)
group by topic, schema_id"""


def _sample_query(schema: str, table: RawTable, size: int) -> str:
    """The tables that the latest data messages of each topic name, each once."""
    headers = "headers struct<operation: string, `schema`: string, `table`: string, `externalSchemaId`: string>"
    message = f"struct<`messageSchemaId`: string, {headers}, message: struct<{headers}>>"
    text, is_avro, envelope_id = "cast(value as string)", "false", "cast(null as string)"
    if table.type_of("value") == "binary":
        is_avro = "startswith(value, X'61744D5347')"
        envelope = f"case when {is_avro} then read_avro_envelope(value) end"
        text = (
            f"if({is_avro}, avro_to_json({envelope}['message'], {envelope}['schema'])['json'], cast(value as string))"
        )
        envelope_id = f"case when {envelope}['type'] = 'DT' then coalesce({envelope}['schema_id'], '') end"
    metadata = (
        "contains(cast(value as string), '\"tableStructure\"') and contains(cast(value as string), '\"lineage\"')"
    )
    return f"""select distinct
    {text_literal(table.name)} as raw_table,
    topic,
    is_avro,
    coalesce(message['message']['headers']['schema'], message['headers']['schema']) as schema_name,
    coalesce(message['message']['headers']['table'], message['headers']['table']) as table_name,
    coalesce(
        nullif(envelope_id, ''), message['messageSchemaId'], message['message']['headers']['externalSchemaId'],
        message['headers']['externalSchemaId']
    ) as schema_id
from (
    select topic, {is_avro} as is_avro, {envelope_id} as envelope_id, from_json({text}, '{message}') as message
    from (
        select topic, value, row_number() over (partition by topic order by `offset` desc, `partition`) as place
        from {relation(schema, table.name)}
        where value is not null and not ({metadata})
    )
    where place <= {size}
)
where coalesce(envelope_id, message['message']['headers']['operation'], message['headers']['operation']) is not null"""


def _number(said: Any) -> int:
    """A whole number in a message, as number or text; 0 where it is none."""
    try:
        return int(said)
    except (TypeError, ValueError, OverflowError):
        return 0


def _shown_table(table: SourceTable) -> str:
    return ".".join(part for part in table if part)
