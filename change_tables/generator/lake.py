"""What a Spark Thrift server has, asked over PyHive."""

from __future__ import annotations

import re
from itertools import dropwhile
from typing import Any

from change_tables.server.connection import UNREADABLE, Address, NoSessionError, close_quietly, words_of

from .found import LakeError
from .names import quoted

_CUT = re.compile(r"[.]{3} [0-9]+ more fields")


class ThriftLake:
    """A server over one connection.

    Each table is asked for its columns once, by `describe`: some 35 ms a table with 18 columns. Four connections at
    once took twice as long: the server's catalog answers one at a time.
    """

    def __init__(
        self,
        host: str,
        port: int,
        auth: str = "NONE",
        user: str = "",
        password: str = "",
        timeout: int = 120,
        use_ssl: bool = False,
    ) -> None:
        """Connect, within `timeout` seconds. Statements may take longer.

        Raises:
            LakeError: there is no server, or it refuses.
        """
        self._columns: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self._comments: dict[tuple[str, str], dict[str, str]] = {}
        try:
            self._connection = Address(host, port, auth, user, password, timeout, use_ssl).connect(
                statements_may_last=True
            )
        except NoSessionError as error:
            raise LakeError(str(error)) from error

    def close(self) -> None:
        """End the session, also where the server is gone."""
        close_quietly(self._connection)

    def tables(self, schema: str) -> list[str]:
        """The names of the tables and views of a schema, sorted.

        Raises:
            LakeError: there is no such schema.
        """
        return sorted(str(row[1]) for row in self.query(f"show tables in {quoted(schema)}"))

    def columns(self, schema: str, table: str) -> list[tuple[str, str]]:
        """Name and Spark type of each column, in order.

        Raises:
            LakeError: the table cannot be read.
        """
        if (schema, table) not in self._columns:
            described = self._described(f"{quoted(schema)}.{quoted(table)}")
            self._columns[schema, table], self._comments[schema, table] = described
        return self._columns[schema, table]

    def comments(self, schema: str, table: str) -> dict[str, str]:
        """The comment of each column that has one, by its name in small letters; that of the table under an empty name.

        Raises:
            LakeError: the table cannot be read.
        """
        self.columns(schema, table)
        return self._comments[schema, table]

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a query.

        Raises:
            LakeError: it fails.
        """
        cursor = self._connection.cursor()
        try:
            cursor.execute(statement)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        except UNREADABLE as error:
            raise LakeError(words_of(error)) from error
        finally:
            close_quietly(cursor)

    def _described(self, relation: str) -> tuple[list[tuple[str, str]], dict[str, str]]:
        columns: list[tuple[str, str]] = []
        comments: dict[str, str] = {}
        rows = iter(self.query(f"describe table extended {relation}"))
        for name, data_type, comment, *_ in rows:
            if not data_type:
                break  # what comes after the columns: partitions
            columns.append((str(name), str(data_type)))
            if comment:
                comments[str(name).lower()] = str(comment)
        of_table = dropwhile(lambda row: row[0] != "# Detailed Table Information", rows)
        for name, said, *_ in of_table:
            if name == "Comment" and said:
                comments[""] = str(said)
        cut = [name for name, data_type in columns if _CUT.search(data_type)]
        if cut:  # a struct is described by its first 25 fields
            asked = ", ".join(f"typeof(any_value({quoted(name)}))" for name in cut)
            whole = dict(zip(cut, self.query(f"select {asked} from {relation} where false")[0], strict=True))
            columns = [(name, str(whole.get(name, data_type))) for name, data_type in columns]
        return columns, comments
