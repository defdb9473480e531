"""The server of this project with one function more, which says where the Python of a worker is."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from change_tables.cli.command_line import run
from change_tables.server.thrift_server import server
from change_tables.udfs import registration
from change_tables.udfs.catalog import CATALOG, Argument, Example, SqlFunction

WHERE_PYTHON_IS = "where_python_is"


def _where_python_is(numbers: pa.Array) -> pa.Array:
    return pa.array([sys.prefix] * len(numbers), pa.string())


if __name__ == "__main__":
    registered: Any = registration  # it keeps its list to itself
    registered.CATALOG = (
        *CATALOG,
        SqlFunction(
            name=WHERE_PYTHON_IS,
            function=_where_python_is,
            arguments=(Argument("number", ("int",)),),
            return_type="string",
            description="The folder of the environment whose Python has worked this out.",
            null_behaviour="Never null.",
            examples=(Example((1,), ""),),
        ),
    )
    sys.exit(run(server, "python -m tests.systems.cluster_server"))
