"""Raw tables of a test: made, filled and read over the Thrift server, as a user would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from demo.database import Column
from demo.landing import create_table, insert_rows


class Raw:
    """A connection to the server, with what a test does over it."""

    def __init__(self, connection: Any) -> None:
        """Take a PyHive connection."""
        self._connection = connection

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement; its rows, or none."""
        cursor = self._connection.cursor()
        try:
            cursor.execute(statement)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        finally:
            cursor.close()

    def create(self, table: str, columns: Mapping[str, str]) -> None:
        """Make a raw table, anew and empty."""
        self.query(f"create schema if not exists {table.split('.')[0]}")
        create_table(self._connection, table, [Column(name, data_type) for name, data_type in columns.items()])

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Append rows, values in the order of the table's columns."""
        insert_rows(self._connection, table, rows)

    def version(self, table: str) -> int:
        """The number of the last commit to a Delta table."""
        return int(self.query(f"describe history {table} limit 1")[0][0])
