"""What the tests of macros share: one project, parsed once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from dbt.adapters.factory import reset_adapters

from tests.pipelines.consumer import Consumer

from .entries import FURTHER, LANDED, MODELS
from .rendering import Project
from .shapes import SCHEMA, Shapes


@pytest.fixture(scope="session")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shapes]:
    """Runs shapes in a project with all entries."""
    consumer = Consumer(tmp_path_factory.mktemp("macros") / "project", 1, SCHEMA)
    consumer.write([entry for entry, _ in LANDED], list(FURTHER))
    for name, sql in MODELS.items():
        (consumer.folder / f"models/{name}.sql").write_text(f"{sql}\n")
    yield Shapes(Project(consumer))
    reset_adapters()
