"""Files of AWS DMS: each table of a schema that has the columns which DMS adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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

_DEFAULTS = {"operation_column": "Op", "sequence_column": "change_seq", "time_column": "", "before_prefix": "BI_"}
OPTIONS: Mapping[str, str] = {
    "sequence_column": "the column that a rule adds, with $AR_H_CHANGE_SEQ (default: change_seq)",
    "operation_column": "the column that says what happened (default: Op)",
    "time_column": "the column with the time of the commit, where there is one",
    "before_prefix": "prefix of the columns with the row before, where there are any (default: BI_)",
    RAW_TABLES: RAW_TABLES_MEANING,
    TABLES: TABLES_MEANING,
    IGNORE: IGNORE_MEANING,
}


def read(lake: Lake, schema: str, options: Mapping[str, str]) -> Found:
    """The tables whose files a schema has.

    Raises:
        ValueError: an option cannot be used; the message says why.
    """
    given = {name: options.get(name, default).strip() for name, default in _DEFAULTS.items()}
    added = [given[name] for name in ("operation_column", "sequence_column", "time_column") if given[name]]
    raw_tables, troubles = raw_tables_with(lake, schema, added, options)
    ignored, prefix = names_in(options, IGNORE), given["before_prefix"].lower()
    tables: list[FoundTable] = []
    for table, name in source_names(raw_tables, options):
        landed = {column.lower(): column for column, _ in table.columns}
        of_source = [name for name in landed if name not in {column.lower() for column in added}]
        before = [name for name in of_source if prefix and name.startswith(prefix) and name[len(prefix) :] in of_source]
        settings: dict[str, Any] = {"format": "dms", "sequence_column": landed[given["sequence_column"].lower()]}
        if landed[given["operation_column"].lower()] != _DEFAULTS["operation_column"]:
            settings["operation_column"] = landed[given["operation_column"].lower()]
        if given["time_column"]:
            settings["time_column"] = landed[given["time_column"].lower()]
        if before:
            settings["before_prefix"] = landed[before[0]][: len(prefix)]
        columns = [
            declared_column(column, kind)
            for column, kind in table.columns
            if column.lower() in of_source
            and column.lower() not in before
            and not any(matches(column, pattern) for pattern in ignored)
        ]
        tables.append(FoundTable(name, table.name, settings, columns))
    if not tables and not troubles:
        troubles.append(Trouble(schema, f"no table of the feed is named {options[TABLES]}: give option {TABLES}"))
    return Found(tables, (), troubles)
