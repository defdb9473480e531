"""What readers of feeds share: which raw tables a feed has, queries over them, and the options that say so."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .data_types import can_be_declared
from .found import FoundColumn, Lake, LakeError, Trouble
from .names import quoted

RAW_TABLES = "raw_tables"
RAW_TABLES_MEANING = (
    "the raw tables of the feed, joined by commas; left out: all tables of the schema that have its columns"
)
SAMPLE = "sample"
TABLES = "tables"
TABLES_MEANING = "how raw tables are named; * is the name of the source table (default: *)"
IGNORE = "ignore"
IGNORE_MEANING = "columns that are not the source table's, as patterns with commas between, such as landed_at,_etl*"


@dataclass(frozen=True)
class RawTable:
    """A raw table: its name, and its columns (name and Spark type), in order."""

    name: str
    columns: Sequence[tuple[str, str]]

    def type_of(self, name: str) -> str:
        """The type of a column, in lower case; the case of its name does not count. Empty: there is none."""
        return self.landed_type(name).lower()

    def landed_type(self, name: str) -> str:
        """The same as the server writes it, with the names of fields."""
        return next((kind for column, kind in self.columns if column.lower() == name.lower()), "")


def relation(schema: str, table: str) -> str:
    """A table as a query names it.

    >>> relation("raw", "orders__ct")
    '`raw`.`orders__ct`'
    """
    return ".".join(quoted(part) for part in [*schema.split("."), table])


def text_literal(text: str) -> str:
    r"""A text as a literal of Spark SQL; `${…}` is replaced before a statement is parsed, so `$` is escaped, too.

    >>> print(text_literal("it's"), text_literal("a\\b"), text_literal("${x}"))
    'it\'s' 'a\\b' '\u0024{x}'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"


def entry_name(table: str) -> str:
    """A name for the entry of a source table: the last part of the table's own, in lower case.

    >>> entry_name("SHOP.ORDERS"), entry_name("Unit Prices"), entry_name("$")
    ('orders', 'unit_prices', 'table')
    """
    return re.sub(r"\W+", "_", table.rsplit(".", 1)[-1].lower()).strip("_") or "table"


def further_name(raw_table: str, tables: Collection[str], kind: str) -> str:
    """A name for the entry of a raw table that entries of source tables read; `tables` are the names of those.

    >>> further_name("Usr_rows", ["usr"], "replica"), further_name("usr", ["usr"], "replica")
    ('usr_rows', 'usr_replica')
    """
    name = entry_name(raw_table)
    return f"{name}_{kind}" if name in tables else name


def declared_column(name: str, landed: str) -> FoundColumn:
    """A column as it is declared: some types land that none can be declared with, and are read as text."""
    kind = landed.lower()
    if not can_be_declared(landed) and kind.startswith(("void", "interval", "string collate")):
        return FoundColumn(name, "string", "lands without a type" if kind == "void" else "")
    return FoundColumn(name, landed)


def sample_size(options: Mapping[str, str], default: int) -> tuple[int, list[Trouble]]:
    """The option `sample`, a whole number of 1 or more, or the trouble with it.

    >>> sample_size({"sample": "50"}, 200), sample_size({}, 200)
    ((50, []), (200, []))
    """
    text = options.get(SAMPLE, str(default)).strip()
    if re.fullmatch(r"[1-9]\d{0,8}", text, re.ASCII):
        return int(text), []
    return default, [Trouble(f"option {SAMPLE}", f"must be a whole number of 1 or more, got '{text}'")]


def names_in(options: Mapping[str, str], name: str) -> list[str]:
    """The names in an option, which are joined by commas.

    >>> names_in({"raw_tables": "a, b,"}, "raw_tables"), names_in({}, "raw_tables")
    (['a', 'b'], [])
    """
    return [part.strip() for part in options.get(name, "").split(",") if part.strip()]


def raw_tables_of(lake: Lake, schema: str, options: Mapping[str, str]) -> tuple[list[RawTable], list[Trouble]]:
    """The raw tables that the option `raw_tables` names, else all of the schema. What cannot be read is a trouble."""
    troubles: list[Trouble] = []
    try:
        there = lake.tables(schema)
    except LakeError as error:
        return [], [Trouble(schema, str(error))]
    wanted = names_in(options, RAW_TABLES)
    found: list[RawTable] = []
    by_name = {name.lower(): name for name in there}
    for name in wanted or there:
        if name.lower() not in by_name:
            troubles.append(
                Trouble(f"option {RAW_TABLES}", f"schema {schema} has no table '{name}'; it has: {shown(there)}")
            )
            continue
        try:
            found.append(RawTable(by_name[name.lower()], lake.columns(schema, by_name[name.lower()])))
        except LakeError as error:
            troubles.append(Trouble(f"{schema}.{name}", str(error)))
    return found, troubles


def raw_tables_with(
    lake: Lake, schema: str, needed: Sequence[str], options: Mapping[str, str]
) -> tuple[list[RawTable], list[Trouble]]:
    """The raw tables of a feed: those that have these columns, in whatever case and order.

    A table that is named in `raw_tables` and lacks one is a trouble, and so is a schema without any.
    """
    tables, troubles = raw_tables_of(lake, schema, options)
    found: list[RawTable] = []
    for table in tables:
        missing = [name for name in needed if not table.type_of(name)]
        if not missing:
            found.append(table)
        elif names_in(options, RAW_TABLES):
            troubles.append(Trouble(f"{schema}.{table.name}", f"lacks the columns {', '.join(missing)}"))
    if not found and not troubles:
        troubles.append(Trouble(schema, f"no table has the columns of the feed: {', '.join(needed)}"))
    return found, troubles


def query_each(lake: Lake, schema: str, selects: Mapping[str, str]) -> tuple[list[tuple[Any, ...]], list[Trouble]]:
    """The rows of a query for each raw table, by one statement.

    Where that fails, each is asked alone, and those that cannot be read are troubles.

    Args:
        lake: the server
        schema: of the raw tables
        selects: the query by raw table; all of them give the same columns
    """
    if not selects:
        return [], []
    if len(selects) > 1:
        try:
            return lake.query("\nunion all\n".join(f"select * from (\n{select}\n)" for select in selects.values())), []
        except LakeError:
            pass
    rows: list[tuple[Any, ...]] = []
    troubles: list[Trouble] = []
    for name, select in selects.items():
        try:
            rows += lake.query(select)
        except LakeError as error:
            troubles.append(Trouble(f"{schema}.{name}", str(error)))
    return rows, troubles


def shown(names: Sequence[str], most: int = 10) -> str:
    """Names for a message: the first few.

    >>> shown(["a", "b", "c"], most=2), shown([])
    ('a, b and 1 more', 'none')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) + more) or "none"


def source_names(raw_tables: Sequence[RawTable], options: Mapping[str, str]) -> Iterator[tuple[RawTable, str]]:
    """The raw tables that the option `tables` is for, each with a name for the entry of its source table.

    Raises:
        ValueError: the option has no place for the name.

    >>> [name for _, name in source_names([RawTable("raw_Orders", ()), RawTable("x", ())], {"tables": "raw_*"})]
    ['orders']
    """
    named = options.get(TABLES, "*")
    if named.count("*") != 1:
        raise ValueError(f"option {TABLES} must have one *, the name of the source table, got '{named}'")
    before, after = (re.escape(part) for part in named.split("*"))
    for table in raw_tables:
        if name := re.fullmatch(f"{before}(.+){after}", table.name, re.IGNORECASE):
            yield table, entry_name(name[1])
