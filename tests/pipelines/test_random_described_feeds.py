"""Described feeds and full loads at random: after each batch every model shows what the demo's source database has.

`make test-long` runs it with other and with longer histories: `CHANGE_TABLES_PROOF_SEED` and
`CHANGE_TABLES_PROOF_SCALE`.
"""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path

import pytest
from dbt_common.events.base_types import EventMsg

from change_tables.server.local_server import LocalServer
from demo.progress import Progress
from demo.project import DbtProject
from demo.run import models_of, play_batches
from demo.workload import Workload
from demo.writers import BY_NAME
from demo.writers.deliveries import REPLICATED

SEED = int(os.environ.get("CHANGE_TABLES_PROOF_SEED", "0")) + 68
SCALE = int(os.environ.get("CHANGE_TABLES_PROOF_SCALE", "1"))
EVERY = "."
"""Of the folders with the models of a feed, the one that these are in."""


@pytest.mark.slow
@pytest.mark.parametrize("swaps", [False, True], ids=["keys_stay_apart", "rows_exchange_their_keys"])
def test_every_model_equals_the_source_database_after_each_batch(
    server: LocalServer, tmp_path: Path, swaps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all feeds that can show a workload: they land it together, and are built together. In the end tests pass."""
    for name in ("CHANGE_TABLES_HOST", "CHANGE_TABLES_PORT"):
        monkeypatch.setenv(name, "")  # a build sets them, and the next module has them as they were
    writers = [writer(SEED) for writer in BY_NAME.values() if writer.swaps is swaps]
    assert writers
    project = DbtProject(tmp_path, EVERY)
    selected = project.options_for([name for writer in writers for name in models_of(writer.system, REPLICATED)])
    workload = Workload(SEED, SCALE, swaps=swaps)
    tested: list[str] = []

    def note(event: EventMsg) -> None:
        if event.info.name == "NodeFinished" and event.data.node_info.resource_type == "test":
            tested.append(event.data.node_info.node_name)

    with Progress(StringIO()) as progress:
        models = [*selected, "--exclude-resource-type", "test"]
        printed, mistakes = play_batches(project, server, writers, workload, REPLICATED, progress, models)
        assert mistakes == [], printed
        project.build(server, progress, [*selected, "--resource-type", "test"], [note])
    assert len(tested) == 2 * len(REPLICATED) * len(writers)  # a log's and a state's of each table
