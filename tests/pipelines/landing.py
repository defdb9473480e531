"""Raw tables of a test: made, filled and read over the Thrift server, as a user would."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from demo.database import Column
from demo.landing import TABLE_FORMAT as LANDED_FORMAT
from demo.landing import create_table, insert_rows, literal
from tests.table_format import TABLE_FORMAT


class Expression(str):
    """A value as SQL writes it: one that Python cannot hold, or one of a nested type."""


class Raw:
    """A connection to the server, with what a test does over it."""

    def __init__(self, connection: Any, table_format: str = TABLE_FORMAT) -> None:
        """Take a PyHive connection, and the format of the server's tables."""
        self._connection = connection
        self.table_format = table_format
        self.row_id = "_row_id" if table_format == "delta" else "_row_hash"
        """The column by which quarantined rows are known."""
        self._rows_of_views: dict[str, str] = {}
        self._made: set[str] = set()
        """Schemas and raw tables, which need not be made, or dropped before they are made again."""

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement; its rows, or none."""
        cursor = self._connection.cursor()
        try:
            cursor.execute(statement)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        finally:
            cursor.close()

    def create(self, table: str, columns: Mapping[str, str], landed_as: str = LANDED_FORMAT) -> None:
        """Make a raw table from scratch, empty: of this format, or a `view` of a table that rows are inserted into.

        Where the server's tables are Iceberg, so is this one.
        """
        schema = table.split(".")[0]
        if schema not in self._made:
            self.query(f"create schema if not exists {schema}")
        is_new = table not in self._made
        self._made |= {schema, table}
        described = [Column(name, data_type) for name, data_type in columns.items()]
        if landed_as == "view":
            self._rows_of_views[table] = f"{table}__rows"
            create_table(self._connection, f"{table}__rows", described, is_new=is_new)
            self.query(f"create or replace view {table} as select * from {table}__rows")
        else:
            stored, space, partitioned = landed_as.partition(" ")
            stored = "iceberg" if self.table_format == "iceberg" else stored
            create_table(self._connection, table, described, f"{stored}{space}{partitioned}", is_new=is_new)

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Append rows, values in the order of the table's columns."""
        table = self._rows_of_views.get(table, table)
        told = [row for row in rows if any(isinstance(value, Expression) for value in row)]
        insert_rows(self._connection, table, [row for row in rows if row not in told])
        for row in told:
            values = (value if isinstance(value, Expression) else literal(value) for value in row)
            self.query(f"insert into {table} select {', '.join(values)}")

    def version(self, table: str) -> int:
        """The number of the last commit to a table, from 0: of Delta's by its log's files, since to ask takes a job."""
        if self.table_format == "delta":
            return max(int(file.stem) for file in (self.folder(table) / "_delta_log").glob("[0-9]" * 20 + ".json"))
        return len(self._snapshots(table)) - 1

    def as_of(self, table: str, version: int) -> str:
        """The table as that commit has left it, for a query."""
        return f"{table} version as of {version if self.table_format == 'delta' else self._snapshots(table)[version]}"

    def restore(self, table: str, version: int) -> None:
        """Let a table be again as that commit has left it."""
        if self.table_format == "delta":
            self.query(f"restore table {table} to version as of {version}")
        else:
            self.query(f"call system.rollback_to_snapshot('{table}', {self._snapshots(table)[version]})")

    def compact(self, table: str) -> None:
        """Bring the rows of a table into one file."""
        if self.table_format == "delta":
            self.query(f"optimize {table}")
        else:
            self.query(f"call system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))")

    def drop_schema(self, schema: str) -> None:
        """Drop a schema, if it is there, with all that is in it. Iceberg drops none that is not empty."""
        self._made = {name for name in self._made if name.split(".")[0] != schema}
        if not self.query(f"show schemas like '{schema}'"):
            return
        for kind in ("view", "table") if self.table_format == "iceberg" else ():
            for _, name, *_ in self.query(f"show {kind}s in {schema}"):
                self.query(f"drop {kind} {schema}.{name}")
        self.query(f"drop schema {schema} cascade")

    def relations(self, schema: str, like: str = "*") -> set[str]:
        """The tables and views of a schema whose names are so. Iceberg lists views apart."""
        return {row[1] for what in ("tables", "views") for row in self.query(f"show {what} in {schema} like '{like}'")}

    def give_text(self, view: str, query: str) -> None:
        """Give a view another text; it keeps its properties."""
        self.query(f"{'alter' if self.table_format == 'delta' else 'create or replace'} view {view} as {query}")

    def folder(self, table: str) -> Path:
        """Where a table's files are."""
        described = dict(row[:2] for row in self.query(f"describe extended {table}"))
        return Path(described["Location"].removeprefix("file:"))

    def texts_have_no_length(self, table: str) -> bool:
        """Whether no column holds texts of some length alone: Delta describes them as strings, but its log has it."""
        commits = (self.folder(table) / "_delta_log").glob("*.json")
        return self.table_format == "iceberg" or not any("CHAR_VARCHAR" in file.read_text() for file in commits)

    def partition_columns(self, table: str) -> list[str]:
        """The columns by which a table is partitioned."""
        if self.table_format == "delta":
            return list(json.loads(self.query(f"describe detail {table}")[0][7]))
        told = itertools.dropwhile(
            lambda name: name != "# col_name", (row[0] for row in self.query(f"describe {table}"))
        )
        return list(itertools.takewhile(bool, itertools.islice(told, 1, None)))

    def live_files(self, table: str) -> int:
        """How many files a table has now: those of Iceberg that say which rows are deleted count, too."""
        if self.table_format == "delta":
            return int(self.query(f"describe detail {table}")[0][9])
        return len(self.query(f"select file_path from {table}.files"))

    def _snapshots(self, table: str) -> list[int]:
        return [row[0] for row in self.query(f"select snapshot_id from {table}.history order by made_current_at")]
