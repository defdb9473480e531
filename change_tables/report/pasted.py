"""What a finding gives to paste: queries for a SQL client of the server, and commands for the folder of the project."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from change_tables.generator.names import needs_quotes, quoted

from .facts import TableFacts

_MOST_TABLES = 10  # in one query
_MOST_COMMANDS = 3
_ROWS = 20


def named(names: Sequence[str], most: int = 3) -> str:
    """Names in a line, of many the first ones.

    >>> named(["a", "b", "c", "d", "e"]), named(["a"])
    ('a, b, c and 2 more', 'a')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def sql_text(text: str) -> str:
    r"""A text as Spark SQL writes it.

    >>> print(sql_text("it's"))
    'it\'s'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def relation(log: str, suffix: str = "") -> str:
    """A log, or what is beside it, as a query names it: in backticks only where it must be.

    >>> relation("analytics.dedup_shop__orders", "__reports"), relation("my lake.dedup")
    ('analytics.dedup_shop__orders__reports', '`my lake`.dedup')
    """
    schema, _, name = log.rpartition(".")
    return ".".join(quoted(each) if needs_quotes(each) else each for each in (schema, name + suffix))


def kept_rows(tables: Sequence[TableFacts], status: str, code: str) -> str:
    """The rows that logs keep, the newest first."""
    of_code = f" and _status_reason like {sql_text(code + ':%')}" if code else ""
    return _of_each(
        tables,
        "_status_reason, _raw_row",
        "__quarantine",
        f"_status = {sql_text(status)} and _healed_at is null{of_code}",
    )


def reported(tables: Sequence[TableFacts], code: str) -> str:
    """The changes that logs report."""
    return _of_each(tables, "_change_id, detail", "__reports", f"code = {sql_text(code)}")


def newest_changes(tables: Sequence[TableFacts]) -> str:
    """The changes with the latest times."""
    return f"select _change_seq, _changed_at from {relation(tables[0].log)} order by _changed_at desc limit {_ROWS};"


def runs(runs_table: str, condition: str) -> str:
    """The last runs of logs."""
    return (
        "select log, started_at, run_kind, raw_rows, new_changes, last_changed_at, seconds"
        f" from {relation(runs_table)} where {condition} order by started_at desc limit {_ROWS};"
    )


def runs_of(runs_table: str, tables: Sequence[TableFacts]) -> str:
    """The last runs of these logs."""
    logs = ", ".join(sql_text(table.log) for table in tables[:_MOST_TABLES])
    return runs(runs_table, f"log in ({logs})")


def build(tables: Sequence[TableFacts], rescan: bool = False) -> str:
    """The build of logs and of what is behind them."""
    models = [f"{table.log.rpartition('.')[2]}+" for table in tables[:_MOST_TABLES]]
    return nodes("build", models) + (" --vars '{change_tables_rescan: true}'" if rescan else "")


def nodes(command: str, names: Sequence[str]) -> str:
    """A command of dbt for some nodes."""
    return f"dbt {command} --select {' '.join(map(shlex.quote, names))}"


def acknowledge(tables: Sequence[TableFacts], code: str) -> list[str]:
    """For rows that stay as they are."""
    return [
        f"change-tables acknowledge {shlex.quote(table.table_name)} --source {shlex.quote(table.source_name)}"
        f" --code {shlex.quote(code)} --note '…'"
        for table in tables[:_MOST_COMMANDS]
    ]


def is_there(what: str, schema: str) -> str:
    """What the user of the report sees of a schema."""
    return f"show {what} in {quoted(schema) if needs_quotes(schema) else schema};"


def _of_each(tables: Sequence[TableFacts], columns: str, suffix: str, condition: str) -> str:
    if len(tables) == 1:
        return f"select {columns} from {relation(tables[0].log, suffix)} where {condition} limit {_ROWS};"
    parts = [
        f"select {sql_text(table.log)} as log, {columns} from {relation(table.log, suffix)} where {condition}"
        for table in tables[:_MOST_TABLES]
    ]
    return "\nunion all\n".join(parts) + f"\nlimit {_ROWS};"
