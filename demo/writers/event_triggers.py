"""The triggers that write the event log of Identity Manager's JDBC driver, in the SQL of SQLite and of PostgreSQL.

A site logs every field of a table with its values, or only that a row or a field is to be read again. An update of the
key is logged as the delete of the old row and the insert of the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from demo.database import TABLES, Column, Table
from demo.history import Change, Row, Transaction

EVENT_LOG = "event_log"
DELETE_ROW = 4
BY_ROW = (5, 6)
"""The types of events that are about a row, not about a field, besides the delete."""
QUERY_BACK = (5, 6, 7, 8)
"""The types of events that have no values."""

NO_KEY_VALUE = "none"
"""A key column that is null elsewhere has this value here: a table key has no way to say null."""

_PADDED = 6


@dataclass(frozen=True)
class LoggedTable:
    """How a source table is logged.

    Attributes:
        table: the source table
        name: the name of the table, or of the view over it, as the log has it
        insert_type: of the events of an insert: 1 or 7, one a field, or 5, one a row
        update_type: of the events of an update: 2 or 8, one a field that changed, or 6, one a row
        key_names: the names in a table key, in its order, each with its key column
        key_names_of_deletes: the same for the events of deletes, whose trigger was written by somebody else
        cleared: columns whose updates remove all values (type 3)
    """

    table: Table
    name: str
    insert_type: int
    update_type: int
    key_names: Mapping[str, str]
    key_names_of_deletes: Mapping[str, str]
    cleared: tuple[str, ...] = ()

    @property
    def is_read_back(self) -> bool:
        """Whether the events have no values, so that the table's rows land as well."""
        return self.insert_type in QUERY_BACK


def as_logged_source(transaction: Transaction) -> Transaction:
    """A transaction as it is in the logged database, whose keys are never null."""
    return replace(transaction, changes=tuple(_with_whole_keys(change) for change in transaction.changes))


def _with_whole_keys(change: Change) -> Change:
    table = TABLES[change.table]
    before, after = (None if row is None else with_whole_key(table, row) for row in (change.before, change.after))
    return replace(change, before=before, after=after)


def with_whole_key(table: Table, row: Row) -> Row:
    """A row whose key is never null.

    >>> with_whole_key(TABLES["prices"], {"article": "bolt", "region": None, "order": None})
    {'article': 'bolt', 'region': 'none', 'order': None}
    """
    return {name: NO_KEY_VALUE if value is None and name in table.key else value for name, value in row.items()}


@dataclass(frozen=True)
class _Dialect:
    """What two databases write in different ways.

    Attributes:
        differs: the operator that is true for two different values; null equals null
        matches: a condition on a text, by the characters of which it holds one
        text: a value of a Spark type as the log has it
        event_time: the time of the event
        perpetrator: who caused it
    """

    differs: str
    matches: Callable[[str], str]
    text: Callable[[str, str], str]
    event_time: str
    perpetrator: str


_SQLITE = _Dialect(
    differs="is not",
    matches=lambda text: f"""{text} glob '*[,;''+"=\\<>]*'""",
    text=lambda value, _: f"text_of({value})",
    event_time="(select event_time from session)",
    perpetrator="(select perpetrator from session)",
)


def _postgres_text(value: str, data_type: str) -> str:
    if data_type == "binary":
        return f"replace(encode({value}, 'base64'), chr(10), '')"
    if data_type == "timestamp":
        return f"to_char({value} at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"
    return f"{value}::text"


_POSTGRES = _Dialect(
    differs="is distinct from",
    matches=lambda text: f"""{text} ~ '[,;''+"=\\\\<>]'""",
    text=_postgres_text,
    event_time="clock_timestamp()",
    perpetrator="current_user",
)


def sqlite_triggers(logged: LoggedTable) -> Iterator[str]:
    """The statements that create the triggers of a table in SQLite.

    They call `text_of`, and read time and perpetrator from a table `session` of one row.
    """
    for operation, statements in _statements(logged, _SQLITE).items():
        body = " ".join(f"{statement};" for statement in statements)
        name = quoted(f"log_{operation}_{logged.table.name}")
        yield f"create trigger {name} after {operation} on {quoted(logged.table.name)} begin {body} end"


def postgres_triggers(logged: LoggedTable) -> Iterator[str]:
    """The statements that create the triggers of a table in PostgreSQL, with the functions that they call."""
    for operation, statements in _statements(logged, _POSTGRES).items():
        body = " ".join(f"{statement};" for statement in statements)
        name = quoted(f"log_{operation}_{logged.table.name}")
        yield f"create function {name}() returns trigger language plpgsql as $$ begin {body} return null; end $$"
        yield (
            f"create trigger {name} after {operation} on {quoted(logged.table.name)} for each row"
            f" execute function {name}()"
        )


def quoted(name: str) -> str:
    """A name as both databases quote it."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text as both databases write it."""
    return "'" + text.replace("'", "''") + "'"


def _statements(logged: LoggedTable, dialect: _Dialect) -> dict[str, Sequence[str]]:
    """What the triggers do after each operation."""
    moves = " or ".join(f"new.{quoted(name)} {dialect.differs} old.{quoted(name)}" for name in logged.table.key)
    delete = _statement(logged, dialect, DELETE_ROW, "old")
    inserts: list[str]
    if logged.insert_type in BY_ROW:
        inserts = [_statement(logged, dialect, logged.insert_type, "new")]
        updates = [f"{_statement(logged, dialect, logged.update_type, 'new')} where not ({moves})"]
    else:
        inserts = [
            _statement(logged, dialect, logged.insert_type, "new", column, ("new",)) for column in logged.table.columns
        ]
        updates = [
            f"{_update_of_field(logged, dialect, column)} where not ({moves})"
            f" and new.{quoted(column.name)} {dialect.differs} old.{quoted(column.name)}"
            for column in logged.table.other_columns
        ]
    moved = [f"{statement} where {moves}" for statement in (delete, *inserts)]
    return {"insert": inserts, "update": [*moved, *updates], "delete": [delete]}


def _update_of_field(logged: LoggedTable, dialect: _Dialect, column: Column) -> str:
    if column.name in logged.cleared:
        return _statement(logged, dialect, 3, "new", column, ("new",))
    return _statement(logged, dialect, logged.update_type, "new", column, ("old", "new"))


def _statement(
    logged: LoggedTable,
    dialect: _Dialect,
    event_type: int,
    key_of: str,
    column: Column | None = None,
    values_of: Sequence[str] = (),
) -> str:
    """Logs one event.

    Args:
        logged: the table
        dialect: of the database
        event_type: of the event
        key_of: `old` or `new`: the row whose key the event has
        column: the column that it is about
        values_of: which of the two values it has, where events of its type have values
    """
    is_delete = event_type == DELETE_ROW
    names = logged.key_names_of_deletes if is_delete else logged.key_names
    types = {each.name: each.data_type for each in logged.table.columns}
    pairs = [
        f"{text_literal(name + '=')} || {_key_value(dialect, f'{key_of}.{quoted(each)}', types[each], not is_delete)}"
        for name, each in names.items()
    ]
    table_key = " || '+' || ".join(pairs)
    values = {"old": "null", "new": "null"}
    if column is not None and event_type not in QUERY_BACK:
        values |= {row: dialect.text(f"{row}.{quoted(column.name)}", column.data_type) for row in values_of}
    return (
        f"insert into {EVENT_LOG} (status, event_type, event_time, perpetrator, table_name, table_key, column_name,"
        f" old_value, new_value) select 'N', {event_type}, {dialect.event_time}, {dialect.perpetrator},"
        f" {text_literal(logged.name)}, {table_key}, {'null' if column is None else text_literal(column.name)},"
        f" {values['old']}, {values['new']}"
    )


def _key_value(dialect: _Dialect, value: str, data_type: str, is_padded: bool) -> str:
    """A value as it is written in a table key: numbers now and then padded, texts in quotes where they need them."""
    if data_type != "string":
        number = dialect.text(value, data_type)
        return f"substr('{' ' * _PADDED}', 1 + length({number})) || {number}" if is_padded else number
    escaped = f"replace(replace({value}, '\\', '\\\\'), '\"', '\\\"')"
    return f"case when {dialect.matches(value)} then '\"' || {escaped} || '\"' else {value} end"
