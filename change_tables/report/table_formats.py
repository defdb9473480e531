"""What the report asks otherwise of tables of one format than of those of another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from change_tables.generator.names import quoted
from change_tables.server.jars import ICEBERG_CATALOG

Query = Callable[[str], list[dict[str, Any]]]
"""Runs a statement; its rows, each by the names of its columns."""


class TableFormat(Protocol):
    """One of them."""

    row_id: str
    """The column by which quarantined rows are known."""

    def texts_of_views(self, query: Query, schema: str, like: str) -> Iterator[tuple[str, str]]:
        """The views of a schema whose names are so: their names and what they are made by."""

    def size(self, query: Query, table: str) -> tuple[int, int]:
        """How many bytes a table has, in how many files."""


class Delta:
    """Delta, where Spark's own catalog has the views: one statement tells all of a schema."""

    row_id = "_row_id"

    def texts_of_views(self, query: Query, schema: str, like: str) -> Iterator[tuple[str, str]]:
        """The views of a schema whose names are so: their names and what they are made by."""
        for row in query(f"show table extended in {quoted(schema)} like '{like}'"):
            yield str(row["tableName"]), str(row["information"])

    def size(self, query: Query, table: str) -> tuple[int, int]:
        """How many bytes a table has, in how many files."""
        (row,) = query(f"describe detail {table}")
        return int(row["sizeInBytes"]), int(row["numFiles"])


class Iceberg:
    """Apache Iceberg, whose catalog tells of one view at a time."""

    row_id = "_row_hash"

    def texts_of_views(self, query: Query, schema: str, like: str) -> Iterator[tuple[str, str]]:
        """The views of a schema whose names are so: their names and what they are made by."""
        for row in query(f"show views in {quoted(schema)} like '{like}'"):
            name = str(row["viewName"])
            (told,) = query(f"show create table {quoted(schema)}.{quoted(name)}")
            yield name, str(told["createtab_stmt"])

    def size(self, query: Query, table: str) -> tuple[int, int]:
        """How many bytes a table has, in how many files."""
        (row,) = query(f"select sum(file_size_in_bytes) as bytes, count(*) as number from {table}.files")
        return int(row["bytes"] or 0), int(row["number"])


DELTA = Delta()


def table_format_of(query: Query) -> TableFormat:
    """That of a server's tables, by its catalog."""
    (catalog,) = query("set spark.sql.catalog.spark_catalog")
    return Iceberg() if catalog["value"] == ICEBERG_CATALOG else DELTA
