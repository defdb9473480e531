"""Change tables of Qlik Replicate: each table of a schema that is named so and has the header columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .data_types import better_type, is_read_whole, is_text
from .found import Found, FoundTable, FurtherEntry, Lake, LakeError, Trouble
from .names import matches
from .raw_tables import declared_column, names_in

OPTIONS: Mapping[str, str] = {
    "change_tables": "how change tables are named; * is the name of the source table (default: *__ct)",
    "load": "how full loads are named, or none; * is the name of the source table (default: *)",
    "ignore": "columns that are not the source table's, as patterns with commas between, such as landed_at,_etl*",
}

HEADERS = (
    "change_seq",
    "change_oper",
    "change_mask",
    "stream_position",
    "operation",
    "transaction_id",
    "timestamp",
    "partition_name",
)
"""The header columns that docs/feeds/qlik_change_tables.md names."""
_DEFAULT_HEADERS = HEADERS[:-1]
_DEFAULT_PREFIX = "header__"
_NEEDED = ("change_seq", "change_oper")
_WIDE_NUMBER = re.compile(r"decimal\(3[5-8],0\)")  # holds the 35 digits of a sequence


def read(lake: Lake, schema: str, options: Mapping[str, str]) -> Found:
    """The tables whose change tables a schema has.

    Raises:
        LakeError: the schema cannot be read.
        ValueError: an option cannot be used; the message says why.
    """
    named = options.get("change_tables", "*__ct")
    load = options.get("load", "*")
    ignored = names_in(options, "ignore")
    if named.count("*") != 1:
        raise ValueError(f"option change_tables must have one *, the name of the source table, got '{named}'")
    if load != "none" and load.count("*") != 1:
        raise ValueError(f"option load must be none or have one *, the name of the source table, got '{load}'")
    there = lake.tables(schema)
    by_name = {table.lower(): table for table in there}
    before, after = (re.escape(part) for part in named.split("*"))
    is_change_table = re.compile(f"{before}(.+){after}", re.IGNORECASE)
    names = {table: match[1] for table in there if (match := is_change_table.fullmatch(table))}
    taken = {name.lower() for name in names.values()}
    tables: list[FoundTable] = []
    loads: list[FurtherEntry] = []
    troubles: list[Trouble] = []
    differing: list[Trouble] = []
    for identifier, name in names.items():
        loaded = None if load == "none" else by_name.get(load.replace("*", name).lower())
        if loaded in names:
            loaded = None
        try:
            settings, columns = _change_table(lake.columns(schema, identifier), ignored)
        except (LakeError, ValueError) as error:
            troubles.append(Trouble(f"{schema}.{identifier}", f"{error}; left out", (name, identifier)))
            continue
        reads: Sequence[str] = ()
        if loaded:
            try:
                types = _types_of_load(lake.columns(schema, loaded), columns, identifier)
            except (LakeError, ValueError) as error:
                text = f"{error}; {name} is written without its load"
                troubles.append(Trouble(f"{schema}.{loaded}", text, (name, identifier)))
            else:
                entry = _free(f"{name}_full", taken)
                loads.append(FurtherEntry(entry, loaded, f"The full load of {name}."))
                settings = {"snapshot": entry, **settings}
                reads = (entry,)
                if text := _differing_types(columns, types):
                    place = f"{schema}.{identifier} and its load {schema}.{loaded}"
                    differing.append(Trouble(place, text, (name, identifier)))
                columns = [
                    (column, better_type(landed, types.get(column.lower(), landed))) for column, landed in columns
                ]
        tables.append(
            FoundTable(
                name, identifier, settings, [declared_column(column, landed) for column, landed in columns], (), reads
            )
        )
    if not tables and not troubles:
        troubles.append(Trouble(schema, f"no table is named {named}: give option change_tables"))
    return Found(tables, loads, troubles, differing)


def _change_table(
    landed: Sequence[tuple[str, str]], ignored: Sequence[str]
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The settings of a change table, and the source's columns.

    Raises:
        ValueError: it is no change table that can be read; the message says why.
    """
    prefix = _prefix(landed)
    headers: list[str] = []
    types: dict[str, str] = {}
    columns: list[tuple[str, str]] = []
    for name, data_type in landed:
        header = name.lower().removeprefix(prefix.lower())
        if (
            name.lower().startswith(prefix.lower())
            and header in HEADERS
            and header not in headers
            and (prefix or not columns)
        ):
            headers.append(header)
            types[header] = data_type
        elif not any(matches(name, pattern) for pattern in ignored):
            columns.append((name, data_type))
    if not (is_text(types["change_seq"]) or _WIDE_NUMBER.fullmatch(types["change_seq"])):
        raise ValueError(
            f"{prefix}change_seq must land as text, or as decimal(35,0) to decimal(38,0), lands as"
            f" {types['change_seq']}: that cannot hold its 35 digits"
        )
    unknown = [name for name, _ in columns if prefix and name.lower().startswith(prefix.lower())]
    if unknown:
        raise ValueError(
            f"{', '.join(unknown)} begins as header columns do, and is none that is known;"
            " a mask counts it: land the change table without it, or give it to option ignore where there is no mask"
        )
    settings: dict[str, Any] = {}
    if tuple(headers) != _DEFAULT_HEADERS:
        settings["headers"] = headers
    if prefix != _DEFAULT_PREFIX:
        settings["header_prefix"] = prefix
    mask = types.get("change_mask", "binary")
    if is_text(mask):
        settings["mask_type"] = "string"
    elif mask != "binary":
        raise ValueError(f"{prefix}change_mask must land as binary or text, lands as {mask}")
    return settings, columns


def _types_of_load(
    landed: Sequence[tuple[str, str]], columns: Sequence[tuple[str, str]], change_table: str
) -> dict[str, str]:
    """Name in small letters -> type. A load may lack columns that the source got later.

    Raises:
        ValueError: the load has no column of the change table.
    """
    types = {name.lower(): data_type for name, data_type in landed}
    if columns and not any(name.lower() in types for name, _ in columns):
        raise ValueError(f"has no column of {change_table}")
    return types


def _differing_types(columns: Sequence[tuple[str, str]], types: Mapping[str, str]) -> str:
    """What is to be known of columns that land in one type as changes, and in another in the load; empty: nothing.

    Not named are types of which one takes all values of the other, nor change tables that land all columns as text.
    """
    differing = [
        f"{name} is {landed}, and {load} in the load"
        for name, landed in columns
        if (load := types.get(name.lower(), landed)) != landed
        and not all(is_read_whole(each, better_type(landed, load)) for each in (landed, load))
    ]
    if not differing or all(is_text(landed) for _, landed in columns):
        return ""
    return (
        f"{'; '.join(differing)}. A value that does not fit the declared type rejects its row, and a type that it is"
        " not read from stops the build: let both land alike, or name a view of the load that casts (option load), and"
        " look at rejected_changes after the first build"
    )


def _prefix(landed: Sequence[tuple[str, str]]) -> str:
    """What the names of the header columns begin with."""
    names = {name.lower() for name, _ in landed}
    for name, _ in landed:
        prefix = name[: len(name) - len("change_seq")]
        if name.lower().endswith("change_seq") and all(f"{prefix}{header}".lower() in names for header in _NEEDED):
            return prefix
    raise ValueError("has no columns …change_seq and …change_oper, so it is no change table")


def _free(name: str, taken: set[str]) -> str:
    while name.lower() in taken:
        name += "_"
    return name
