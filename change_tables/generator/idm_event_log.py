"""Tables of Identity Manager's event log: from a sample of its events, and from the replicas of the logged tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from change_tables.udfs.table_keys import parse_table_key

from .found import Found, FoundColumn, FoundTable, FurtherEntry, Lake, LakeError, Trouble
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
    text_literal,
)
from .types_of_feeds import declared_type, guess_type

_SAMPLE = 100
_TABLE = "{table}"
OPTIONS: Mapping[str, str] = {
    "schema_name": "the schema of the logged tables; must be given unless the log names it, as in shop.orders",
    "replica": f"the name of the replica of a table, as in {_TABLE}_replica; left out: there are none",
    "driver_user": "the driver's user in the database, whose events are not published back",
    RAW_TABLES: RAW_TABLES_MEANING,
    SAMPLE: f"how many of the latest events of each column say its type, and the key (default: {_SAMPLE})",
}

EVENT = (
    "record_id",
    "status",
    "event_type",
    "event_time",
    "perpetrator",
    "table_name",
    "table_key",
    "column_name",
    "old_value",
    "new_value",
)
"""The columns of an event log."""

_WITH_VALUES = (1, 2, 3)
_QUERY_BACK = (5, 6, 7, 8)
_OF_A_COLUMN = (1, 2, 3, 7, 8)
_LONGEST_VALUE = 100  # characters: more than any number or time has
_VIEW = "view_"
_VIEW_OF_KEY = "pk_"


@dataclass
class _Logged:
    """What the sampled events of a table show.

    Attributes:
        raw_table: the event log
        keys: the names in each table key, as they are spelt there
        values: the texts of each column, by its name in lower case; of a key column those in table keys, too
        spellings: the names of columns as they are logged, by the same
        key_values: the texts of key columns in table keys, by name in lower case
        with_values: how many events have a value
        to_be_read: how many have none, and stand for what the replica has
    """

    raw_table: RawTable
    keys: Counter[tuple[str, ...]] = field(default_factory=Counter)
    values: dict[str, list[str | None]] = field(default_factory=dict)
    spellings: dict[str, Counter[str]] = field(default_factory=dict)
    key_values: dict[str, list[str | None]] = field(default_factory=dict)
    with_values: int = 0
    to_be_read: int = 0

    def is_seen_once(self, name: str) -> bool:
        """Whether a single event is of a column, by its name in lower case."""
        return self.spellings.get(name, Counter()).total() == 1

    def key(self) -> list[str]:
        """The names of most table keys, in the order that most of these have; a view's `pk_idu` is `idu`."""
        orders: Counter[tuple[str, ...]] = Counter()
        sets: Counter[frozenset[str]] = Counter()
        for logged, count in self.keys.items():
            names = tuple(map(_key_name, logged))
            if len(set(names)) == len(names):
                orders[names] += count
                sets[frozenset(names)] += count
        usual = sorted(orders, key=lambda names: (sets[frozenset(names)], orders[names], names))
        return list(usual[-1]) if usual else []


def read(lake: Lake, schema: str, options: Mapping[str, str]) -> Found:
    """The tables of which an event has landed; see docs/generator.md.

    It sends one query over all event logs.
    """
    size, troubles = sample_size(options, _SAMPLE)
    for name in ("schema_name", "driver_user"):
        if name in options and not options[name].strip():
            troubles.append(Trouble(f"option {name}", "must not be empty"))
    if _TABLE not in options.get("replica", _TABLE):
        text = f"must have {_TABLE} where the name of the logged table is, got '{options['replica']}'"
        troubles.append(Trouble("option replica", text))
    if troubles:
        return Found(troubles=troubles)
    raw_tables, troubles = raw_tables_with(lake, schema, EVENT, options)
    rows, failed = query_each(
        lake, schema, {table.name: _sample_query(schema, table.name, size) for table in raw_tables}
    )
    troubles += failed
    logged = _logged(rows, {table.name: table for table in raw_tables})
    if not logged and not troubles:
        troubles.append(Trouble(schema, "no event of a table has landed"))
    names = {entry_name(table_name) for _, table_name in logged}
    tables: list[FoundTable] = []
    further: list[FurtherEntry] = []
    for (_, table_name), events in sorted(logged.items()):
        place, of_table = f"table {table_name}", (entry_name(table_name), table_name)
        schema_name = options.get("schema_name", "").strip() or table_name.rpartition(".")[0]
        if not schema_name:
            troubles.append(Trouble(place, "its schema is not known: give the option `schema_name`", of_table))
            continue
        try:
            replica = _replica(lake, schema, table_name, options)
        except LakeError as error:
            troubles.append(Trouble(place, f"its replica: {error}", of_table))
            continue
        columns, key, found = _columns(place, events, replica)
        troubles += [replace(trouble, names=of_table) for trouble in found]
        if not columns or not key:
            continue
        settings = {"format": "idm_event_log", "table_name": table_name, "schema_name": schema_name}
        reads = []
        if replica:
            reads = [further_name(replica.name, names, "replica")]
            settings["replica"] = reads[0]
            further.append(FurtherEntry(reads[0], replica.name, f"The rows of {table_name}, as a replica shows them."))
        if options.get("driver_user"):
            settings["driver_user"] = options["driver_user"].strip()
        tables.append(
            FoundTable(
                name=entry_name(table_name),
                identifier=events.raw_table.name,
                settings=settings,
                columns=columns,
                key=key,
                reads=reads,
            )
        )
    return Found(tables, further, troubles)


def _columns(
    place: str, events: _Logged, replica: RawTable | None
) -> tuple[list[FoundColumn], list[str], list[Trouble]]:
    """The columns and the key of a table: of the replica where there is one, else as they are logged."""
    key = events.key()
    if not key:
        return [], [], [Trouble(place, "no table key of its events can be read, so that its key is not known")]
    of_many_values = [_guessed(name, events, multi_valued=True) for name in events.values if "." in name]
    if replica is None:
        if events.with_values <= events.to_be_read:
            text = "most of its events have no values: land a replica of the table, and give the option `replica`"
            return [], [], [Trouble(place, text)]
        in_row = [name for name in events.values if "." not in name]
        key = [name if name in in_row or _VIEW_OF_KEY + name not in in_row else _VIEW_OF_KEY + name for name in key]
        columns = [_guessed(name, events) for name in [*key, *(name for name in in_row if name not in key)]]
        return columns + of_many_values, [_spelt(name, events) for name in key], []
    troubles = [
        Trouble(f"{place}, column {name}", f"left out: its type {kind} cannot be declared for this feed")
        for name, kind in replica.columns
        if kind.lower().startswith(("array", "map", "struct"))
    ]
    nested = {trouble.place for trouble in troubles}
    columns = [
        FoundColumn(name, *declared_type(kind))
        for name, kind in replica.columns
        if f"{place}, column {name}" not in nested
    ]
    by_name = {column.name.lower(): column.name for column in columns}
    spelt = [by_name.get(name) or by_name.get(_VIEW_OF_KEY + name) for name in key]
    missing = [name for name, found in zip(key, spelt, strict=True) if found is None]
    if missing:
        text = f"its replica {replica.name} lacks columns of the key: {', '.join(missing)}"
        return [], [], [*troubles, Trouble(place, text)]
    return columns + of_many_values, [name for name in spelt if name], troubles


def _guessed(name: str, events: _Logged, *, multi_valued: bool = False) -> FoundColumn:
    """A column by its logged values; of the key, blanks around numbers do not count."""
    of_key = events.key_values.get(_key_name(name), [])
    trimmed = [None if value is None else value.strip(" ") for value in of_key]
    guess = guess_type([*events.values.get(name, []), *trimmed])
    if multi_valued:
        note = f"{guess.note}; of many values, by its name, which is that of a child table and its column"
        meta = {"multi_valued": True}
        return FoundColumn(_spelt(name, events), guess.data_type, note, meta, is_seen_once=events.is_seen_once(name))
    is_seen_once = not of_key and events.is_seen_once(name)
    return FoundColumn(_spelt(name, events), guess.data_type, guess.note, is_seen_once=is_seen_once)


def _spelt(name: str, events: _Logged) -> str:
    """A column as most events spell it; one that only table keys name, in lower case."""
    spellings = events.spellings.get(name)
    return max(spellings, key=lambda spelt: (spellings[spelt], spelt)) if spellings else name


def _replica(lake: Lake, schema: str, table_name: str, options: Mapping[str, str]) -> RawTable | None:
    """The replica of a logged table: by its name as it is logged, else without its schema, or without `view_`."""
    if "replica" not in options:
        return None
    there = {name.lower(): name for name in lake.tables(schema)}
    bare = table_name.rpartition(".")[2]
    for name in (table_name, bare, bare.lower().removeprefix(_VIEW)):
        replica = there.get(options["replica"].strip().replace(_TABLE, name).lower())
        if replica:
            return RawTable(replica, lake.columns(schema, replica))
    return None


def _logged(rows: Iterable[Sequence[Any]], raw_tables: Mapping[str, RawTable]) -> dict[tuple[str, str], _Logged]:
    """What the events show, by event log and table, in the order of the events."""
    events = sorted(rows, key=lambda row: row[2])
    parsed = parse_table_key(pa.array([row[4] for row in events], pa.string())).to_pylist()
    found: dict[tuple[str, str], _Logged] = {}
    for (raw_table, table_name, _, event_type, _, column_name, old_value, new_value), key in zip(
        events, parsed, strict=True
    ):
        table = found.setdefault((raw_table, table_name), _Logged(raw_tables[raw_table]))
        pairs = (key or {}).get("pairs") or []
        if pairs:
            table.keys[tuple(pair["name"] for pair in pairs)] += 1
            for pair in pairs:
                table.key_values.setdefault(_key_name(pair["name"]), []).append(pair["value"])
        table.with_values += event_type in _WITH_VALUES
        table.to_be_read += event_type in _QUERY_BACK
        name = (column_name or "").strip(" ")
        if event_type in _OF_A_COLUMN and name:
            table.values.setdefault(name.lower(), [])
            table.spellings.setdefault(name.lower(), Counter())[name] += 1
            if event_type in _WITH_VALUES:
                table.values[name.lower()] += [new_value] if event_type == 1 else [old_value, new_value]
    return found


def _key_name(name: str) -> str:
    """The name of a key column, without case and blanks around it; a view's `pk_idu` is `idu`."""
    return name.strip(" ").lower().removeprefix(_VIEW_OF_KEY)


def _sample_query(schema: str, raw_table: str, size: int) -> str:
    """The latest events of each column of each table; events of rows count as those of one more column."""
    return f"""select
    {text_literal(raw_table)} as raw_table, table_name, record_id, event_type, table_key, column_name,
    left(old_value, {_LONGEST_VALUE}) as old_value,
    left(new_value, {_LONGEST_VALUE}) as new_value
from (
    select *, row_number() over (partition by table_name, column_name order by record_id desc, event_type) as place
    from (
        select
            table_name, table_key, column_name, old_value, new_value,
            try_cast(record_id as bigint) as record_id, try_cast(event_type as int) as event_type
        from {relation(schema, raw_table)}
        where status in ('N', 'S', 'W', 'E', 'F') and table_name <> ''
    )
    where record_id > 0 and event_type between 1 and 8
)
where place <= {size}"""
