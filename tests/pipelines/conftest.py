"""What the pipeline tests share: one consumer project a test module, one connection to land rows over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from change_tables.server.local_server import LocalServer

from .consumer import Consumer
from .landing import Raw


@pytest.fixture(scope="session")
def raw(server: LocalServer) -> Iterator[Raw]:
    """A connection to land raw rows over and to read models with."""
    connection = server.connect()
    yield Raw(connection)
    connection.close()


@pytest.fixture(scope="session")
def consumer(server: LocalServer, raw: Raw, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Consumer]:
    """Makes a project by name; the name is its schema, too."""

    def make(name: str) -> Consumer:
        for schema in (name, f"{name}_raw"):
            raw.drop_schema(schema)
        folder: Path = tmp_path_factory.mktemp(name) / "project"
        return Consumer(folder, server.port, name)

    return make
