"""Of the tables of the server that tests share, and of the projects that they build on it."""

import os

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


PURGE = "" if TABLE_FORMAT == "delta" else " purge"
"""How a statement that drops a table ends."""


def only_on_delta(reason: str) -> pytest.MarkDecorator:
    """Leaves a test out where tables are of another format."""
    return pytest.mark.skipif(TABLE_FORMAT != "delta", reason=reason)
