"""One Spark session with the functions of the catalogue, for the tests of a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from change_tables.server.local_server import short_lived
from change_tables.udfs.registration import register_catalog

SETTINGS: dict[str, Any] = short_lived(1) | {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session; its tables are in a folder of its own."""
    place = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = (
            SparkSession.builder.master("local[1]")
            .config(map=SETTINGS)
            .config("spark.sql.session.timeZone", "America/New_York")
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.sql.warehouse.dir", str(place / "warehouse"))
            .getOrCreate()
        )
        register_catalog(session)
        yield session
        session.stop()
