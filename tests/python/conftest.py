"""What all tests share: one server a process for those that need one, in a folder that goes with the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from udfs.local_server import LocalServer, local_server

settings.register_profile("any_machine", deadline=None)  # a busy machine makes any example slow now and then
settings.load_profile("any_machine")

LONGEST_FIRST = [
    "test_random_histories",
    "test_interrupted_runs",
    "test_openedge_cdc",
    "test_goldengate_trail",
    "test_idm_event_log",
    "test_semantics",
    "test_spec_changes",
    "test_dbt_features",
    "test_event_histories",
    "test_xds_documents",
    "test_qlik_kafka",
    "test_qlik_change_tables",
    "test_run_counts",
    "test_integration_project",
    "test_thrift_server",
]
"""Modules that need a server, those that take longest first: of two processes none waits long for the other."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests in that order, module by module."""
    place = {name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: place.get(Path(item.path).stem, len(place)))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A Thrift server, started at first use and stopped after the last test."""
    with local_server(tmp_path_factory.mktemp("server")) as server:
        yield server
