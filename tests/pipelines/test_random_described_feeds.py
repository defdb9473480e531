"""Described feeds and full loads at random: after each batch every model shows what the demo's source database has.

`make test-long` runs it with other and with longer histories: `CHANGE_TABLES_PROOF_SEED` and
`CHANGE_TABLES_PROOF_SCALE`.
"""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path

import pytest

from change_tables.server.local_server import LocalServer
from demo.progress import Progress
from demo.project import DbtProject
from demo.run import models_of, play_batches
from demo.workload import Workload
from demo.writers import BY_NAME
from demo.writers.deliveries import REPLICATED
from tests.table_format import TABLE_FORMAT

SEED = int(os.environ.get("CHANGE_TABLES_PROOF_SEED", "0")) + 68
SCALE = int(os.environ.get("CHANGE_TABLES_PROOF_SCALE", "1"))


@pytest.mark.slow
@pytest.mark.parametrize("feed", BY_NAME)
def test_every_model_equals_the_source_database_after_each_batch(
    server: LocalServer, tmp_path: Path, feed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CHANGE_TABLES_HOST", "CHANGE_TABLES_PORT"):
        monkeypatch.setenv(name, "")  # a build sets them, and the next module has them as they were
    writer = BY_NAME[feed](SEED)
    project = DbtProject(tmp_path, feed, table_format=TABLE_FORMAT)
    selected = project.options_for(models_of(feed, REPLICATED))
    workload = Workload(SEED, SCALE, swaps=writer.swaps)
    with Progress(StringIO()) as progress:
        printed, mistakes = play_batches(project, server, [writer], workload, REPLICATED, progress, selected)
    assert mistakes == [], printed
