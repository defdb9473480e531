"""What all tests share: one server for those that need one, in a folder that goes with the tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from udfs.local_server import LocalServer, local_server

settings.register_profile("any_machine", deadline=None)  # a busy machine makes any example slow now and then
settings.load_profile("any_machine")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A Thrift server, started at first use and stopped after the last test."""
    with local_server(tmp_path_factory.mktemp("server")) as server:
        yield server
