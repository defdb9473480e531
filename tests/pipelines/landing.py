"""Raw tables of a test: made, filled and read over the Thrift server, as a user would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from demo.database import Column
from demo.landing import TABLE_FORMAT, create_table, insert_rows, literal


class Expression(str):
    """A value as SQL writes it: one that Python cannot hold, or one of a nested type."""


class Raw:
    """A connection to the server, with what a test does over it."""

    row_id = "_row_id"
    """The column by which quarantined rows are known."""

    def __init__(self, connection: Any) -> None:
        """Take a PyHive connection."""
        self._connection = connection
        self._rows_of_views: dict[str, str] = {}

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement; its rows, or none."""
        cursor = self._connection.cursor()
        try:
            cursor.execute(statement)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        finally:
            cursor.close()

    def create(self, table: str, columns: Mapping[str, str], landed_as: str = TABLE_FORMAT) -> None:
        """Make a raw table from scratch, empty: of this format, or a `view` of a table that rows are inserted into."""
        self.query(f"create schema if not exists {table.split('.')[0]}")
        described = [Column(name, data_type) for name, data_type in columns.items()]
        if landed_as == "view":
            self._rows_of_views[table] = f"{table}__rows"
            create_table(self._connection, f"{table}__rows", described)
            self.query(f"create or replace view {table} as select * from {table}__rows")
        else:
            create_table(self._connection, table, described, landed_as)

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Append rows, values in the order of the table's columns."""
        table = self._rows_of_views.get(table, table)
        told = [row for row in rows if any(isinstance(value, Expression) for value in row)]
        insert_rows(self._connection, table, [row for row in rows if row not in told])
        for row in told:
            values = (value if isinstance(value, Expression) else literal(value) for value in row)
            self.query(f"insert into {table} select {', '.join(values)}")

    def version(self, table: str) -> int:
        """The number of the last commit to a Delta table."""
        return int(self.query(f"describe history {table} limit 1")[0][0])
