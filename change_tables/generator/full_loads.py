"""Full loads, one after the other: each table of a schema that has the column which tells the loads apart."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .data_types import canonical_type, is_text
from .found import Found, FoundTable, Lake, Trouble
from .names import matches
from .raw_tables import (
    IGNORE,
    IGNORE_MEANING,
    RAW_TABLES,
    RAW_TABLES_MEANING,
    TABLES,
    TABLES_MEANING,
    declared_column,
    names_in,
    raw_tables_with,
    source_names,
)

LOAD_COLUMN = "load_column"
OPTIONS: Mapping[str, str] = {
    LOAD_COLUMN: "the column that tells loads apart; must be given",
    RAW_TABLES: RAW_TABLES_MEANING,
    TABLES: TABLES_MEANING,
    IGNORE: IGNORE_MEANING,
}


def read(lake: Lake, schema: str, options: Mapping[str, str]) -> Found:
    """The tables whose loads a schema has.

    Raises:
        ValueError: an option cannot be used; the message says why.
    """
    load_column = options.get(LOAD_COLUMN, "").strip()
    if not load_column:
        raise ValueError(f"option {LOAD_COLUMN} must name the column that tells loads apart")
    raw_tables, troubles = raw_tables_with(lake, schema, [load_column], options)
    ignored = names_in(options, IGNORE)
    tables: list[FoundTable] = []
    for table, name in source_names(raw_tables, options):
        landed, data_type = next(column for column in table.columns if column[0].lower() == load_column.lower())
        if not _tells_loads_apart(data_type):
            text = f"{landed} must be whole numbers, dates, times or text, lands as {data_type}; left out"
            troubles.append(Trouble(f"{schema}.{table.name}", text, (name, table.name)))
            continue
        columns = [
            declared_column(column, kind)
            for column, kind in table.columns
            if column != landed and not any(matches(column, pattern) for pattern in ignored)
        ]
        tables.append(FoundTable(name, table.name, {"format": "full_loads", LOAD_COLUMN: landed}, columns))
    if not tables and not troubles:
        text = f"no table with the column {load_column} is named {options[TABLES]}: give option {TABLES}"
        troubles.append(Trouble(schema, text))
    return Found(tables, (), troubles)


def _tells_loads_apart(data_type: str) -> bool:
    """Whether a load column can have this type: the rule of `sequence_of_load`.

    >>> _tells_loads_apart("date"), _tells_loads_apart("decimal(20,0)"), _tells_loads_apart("double")
    (True, True, False)
    """
    whole = r"tinyint|smallint|int|bigint|decimal\(\d+,0\)|date|timestamp|timestamp_ntz"
    return is_text(data_type) or bool(re.fullmatch(whole, canonical_type(data_type)))
