"""Lands rows on the lake: creates tables and fills them by plain SQL over a Thrift connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Protocol, TypeAlias

from demo.database import Column
from demo.history import Value

Landed: TypeAlias = Value | Mapping[str, str | None]
"""What lands in a column of a raw table: a value, or texts by name."""

_LONGEST_STATEMENT = 1_000_000

TABLE_FORMAT = "parquet"
"""The one place that knows the format of the demo's raw tables: rows are only ever added, which takes no table log."""


class Connection(Protocol):
    """A DB-API connection, as PyHive's."""

    def cursor(self) -> Any:
        """A new cursor."""


def execute(connection: Connection, statement: str) -> None:
    """Runs a statement and waits for it."""
    cursor = connection.cursor()
    cursor.execute(statement)
    cursor.close()


def fetch(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    cursor = connection.cursor()
    cursor.execute(query)
    rows = [tuple(row) for row in cursor.fetchall()]
    cursor.close()
    return rows


def quoted(name: str) -> str:
    """A name in backticks.

    >>> quoted("unit price"), quoted("a`b")
    ('`unit price`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"


def literal(value: Landed) -> str:
    r"""A value as a literal of Spark SQL that means exactly this value, in any session time zone.

    In text a backslash begins an escape, and `${…}` is replaced before the statement is parsed, so both are escaped.

    >>> print(literal(None), literal(True), literal(-7), literal(Decimal("1.50")), literal(0.1), literal(b"\x01'"))
    null true -7L 1.50BD 0.1D X'0127'
    >>> print(literal("it's\\${x}\n"))
    'it\'s\\\u0024{x}\n'
    >>> print(literal(datetime(2026, 1, 5, 8, 0, 0, 1, tzinfo=UTC)), literal(date(2026, 1, 5)))
    timestamp'2026-01-05 08:00:00.000001Z' date'2026-01-05'
    >>> print(literal({"id": "7", "name": None}), literal({}))
    cast(map('id', '7', 'name', null) as map<string, string>) cast(map() as map<string, string>)
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}L"
    if isinstance(value, float):
        return f"{value!r}D"
    if isinstance(value, Decimal):
        return f"{value:f}BD"
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, datetime):
        return f"timestamp'{value.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}Z'"
    if isinstance(value, date):
        return f"date'{value.isoformat()}'"
    if isinstance(value, Mapping):
        entries = ", ".join(f"{literal(name)}, {literal(text)}" for name, text in value.items())
        return f"cast(map({entries}) as map<string, string>)"
    escapes: dict[str, str | int | None] = {
        "\\": "\\\\",
        "'": "\\'",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\0": "\\0",
        "$": "\\u0024",
    }
    return "'" + value.translate(str.maketrans(escapes)) + "'"


def create_table(
    connection: Connection,
    table: str,
    columns: Sequence[Column],
    table_format: str = TABLE_FORMAT,
    *,
    is_new: bool = False,
) -> None:
    """Creates a table, empty; replaces it where it is there.

    Args:
        connection: to the Thrift server
        table: its name with its schema, quoted where that is needed
        columns: its columns
        table_format: what comes after `using`, with `partitioned by (…)` if need be
        is_new: no table of this name is there
    """
    described = ", ".join(f"{quoted(column.name)} {column.data_type}" for column in columns)
    if not is_new:
        execute(connection, f"drop table if exists {table}")
    execute(connection, f"create table {table} ({described}) using {table_format}")


def insert_rows(connection: Connection, table: str, rows: Sequence[Sequence[Landed]]) -> None:
    """Appends rows, each as wide as the table, by as few statements as their length allows."""
    for values in _chunks(rows):
        execute(connection, f"insert into {table} values {values}")


def _chunks(rows: Sequence[Sequence[Landed]]) -> Iterator[str]:
    chunk: list[str] = []
    length = 0
    for row in rows:
        rendered = "(" + ", ".join(literal(value) for value in row) + ")"
        if chunk and length + len(rendered) > _LONGEST_STATEMENT:
            yield ", ".join(chunk)
            chunk, length = [], 0
        chunk.append(rendered)
        length += len(rendered)
    if chunk:
        yield ", ".join(chunk)
