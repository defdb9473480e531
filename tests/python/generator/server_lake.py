"""A lake over a connection to a server, as plain as the readers need it."""

from __future__ import annotations

from typing import Any

from pyhive.exc import Error

from demo.landing import Connection, fetch
from generator.found import LakeError
from generator.raw_tables import quoted, relation


class ServerLake:
    """Asks a server; keeps the queries.

    Attributes:
        asked: the queries so far
    """

    def __init__(self, connection: Connection) -> None:
        """Take a PyHive connection."""
        self._connection = connection
        self.asked: list[str] = []

    def tables(self, schema: str) -> list[str]:
        """The names, sorted."""
        return sorted(row[1] for row in self._fetch(f"show tables in {quoted(schema)}"))

    def columns(self, schema: str, table: str) -> list[tuple[str, str]]:
        """Name and type of each column."""
        return [(row[0], row[1]) for row in self._fetch(f"describe {relation(schema, table)}")]

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        self.asked.append(statement)
        return self._fetch(statement)

    def _fetch(self, statement: str) -> list[tuple[Any, ...]]:
        try:
            return fetch(self._connection, statement)
        except Error as error:
            raise LakeError(str(error)) from None
