"""Of the tables of the server that tests share, and of the projects that they build on it."""

import os
import re
from collections.abc import Sequence

import pytest

TABLE_FORMAT = os.environ.get("CHANGE_TABLES_TABLE_FORMAT", "delta")
"""`delta` or `iceberg`."""

ADD_TO = "insert into" if TABLE_FORMAT == "delta" else "merge into"
"""How a run adds new changes to a log."""

CONFLICTS = (
    ("DELTA_CONCURRENT", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")
    if TABLE_FORMAT == "delta"
    else ("ValidationException: Found conflicting", "CommitFailedException")
)
"""What the format says where another has written a table at the same time."""

FILE_SYSTEM = f"org.apache.hadoop.fs.{'RawLocalFileSystem' if TABLE_FORMAT == 'delta' else 'LocalFileSystem'}"
"""Of the server that tests share: the raw one has no checksum beside each file, and no process that sets permissions.

Iceberg asks a file system for its scheme, which that one does not tell.
"""

LAST_BUILD_WINS = TABLE_FORMAT == "iceberg"
"""Whether a build that ends after another replaces its table: a run of that log fails, and the next begins it again."""

BEGINS_FILES_AT_ONCE = TABLE_FORMAT == "delta"
"""Whether a file is in a table's folder before the first row of it is known."""

HAS_TABLES_OF_FILES = TABLE_FORMAT == "delta"
"""Whether a raw table can be one of parquet files."""

TELLS_COMMITS = "'delta.enableRowTracking' = 'true'" if TABLE_FORMAT == "delta" else "'format-version' = '3'"
"""The property by which a raw table says with which commit a row came."""

COPIES_TO_ANOTHER_SCHEMA = TABLE_FORMAT == "delta"
"""Whether a table gets into another schema as a copy; else it is renamed, with all of its commits."""

PURGE = "" if TABLE_FORMAT == "delta" else " purge"
"""How a statement that drops a table ends."""


def only_on_delta(reason: str) -> pytest.MarkDecorator:
    """Leaves a test out where tables are of another format."""
    return pytest.mark.skipif(TABLE_FORMAT != "delta", reason=reason)


def in_table_format(statements: Sequence[str]) -> list[str]:
    """Statements of the page of operations, of which some copy tables, as docs/iceberg.md has them."""
    if COPIES_TO_ANOTHER_SCHEMA:
        return list(statements)
    found = []
    for statement in statements:
        copied = re.match(r"create or replace table (\S+) .*\nas select \* from (\S+)$", statement, re.DOTALL)
        if copied:
            found += [f"drop table if exists {copied[1]}{PURGE}", f"alter table {copied[2]} rename to {copied[1]}"]
        elif not statement.startswith("drop table"):
            found.append(statement)
    return found
