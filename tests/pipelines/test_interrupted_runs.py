"""Runs that die with their server: the next run ends in the same rows as without that."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from change_tables.server.local_server import SHORT_LIVED, local_server
from change_tables.server.thrift_server import jvms_of
from tests.table_format import ADD_TO, BEGINS_FILES_AT_ONCE, TABLE_FORMAT

from .consumer import CALLS, Consumer
from .lakes import LANDED, Lake
from .landing import Raw
from .statements import hanging, intercepted, wait_until_hanging

pytestmark = pytest.mark.slow

SCHEMA = "interrupted"
# a statement that hangs keeps a core and a thread
MANY_CORES = SHORT_LIVED | {"spark.master": "local[12]", "spark.hadoop.hive.server2.async.exec.threads": "20"}
NEW = ("new_log", "new_state")
REPLAYING = ["current_feed__late", "history_feed__late", "history_again_feed__late"]


class ServedLake(Lake):
    """A warehouse folder with servers over it, one after the other."""

    def __init__(self, folder: Path, servers: ExitStack) -> None:
        super().__init__(Consumer(folder / "project", 0, SCHEMA), list(LANDED), NEW)
        self.models.append(REPLAYING[-1])
        self._folder = folder
        self._servers = servers

    def serve(self) -> None:
        """Start a server over the folder, when what is left of the one before has ended."""
        self._servers.close()
        server = self._servers.enter_context(
            local_server(self._folder / "server", MANY_CORES, options=["--table-format", TABLE_FORMAT])
        )
        self.raw = Raw(server.connect())
        self.project.port = server.port
        if self.project.folder.exists():
            self.project.write_profile()
        else:
            self.project.write(self.entries)
            again = CALLS["history"].format(source="feed", table="late")
            (self.project.folder / "models/history_again_feed__late.sql").write_text(again)

    def table_folder(self, model: str) -> Path:
        """The folder of a model's table."""
        schema = f"{SCHEMA}.db" if TABLE_FORMAT == "delta" else SCHEMA
        return self._folder / f"server/warehouse/{schema}/{model}__state"

    def run_and_kill(self, statements: Sequence[str], when_hanging: Callable[[], None]) -> None:
        """Build until these statements hang inside Spark, and kill the server's JVM, as a power cut would."""
        with intercepted(*map(hanging, statements)), ThreadPoolExecutor(1) as pool:
            build = pool.submit(self.run, "--threads", str(len(statements) + 2), must_succeed=False)
            try:
                wait_until_hanging(self.raw, statements, lambda: not build.done())
                when_hanging()
            finally:
                for process in jvms_of(self._folder / "server"):
                    os.kill(process, signal.SIGKILL)
            assert not build.result().success


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[ServedLake]:
    """The lake; nothing is built at first."""
    with ExitStack() as servers:
        lake = ServedLake(tmp_path, servers)
        lake.serve()
        lake.begin()
        yield lake


def test_builds_that_are_killed_are_made_good_by_the_next(lake: ServedLake) -> None:
    lake.land(1)
    lake.run("--select", *(f"stg_feed__{name}+" for name in LANDED))
    lake.assert_models(1)
    lake.land(2)
    half_written = lake.table_folder("dedup_feed__new_log")
    # what a kill between a commit and its entry in the metastore leaves
    shutil.copytree(lake.table_folder("dedup_feed__full"), lake.table_folder("current_feed__new_log"))

    def wait_for_files() -> None:
        until = time.monotonic() + 600
        while BEGINS_FILES_AT_ONCE and not list(half_written.rglob("*.parquet")):
            assert time.monotonic() < until
            time.sleep(0.1)
        lake.assert_models(1, untouched)

    untouched = ["dedup_feed__partial", "current_feed__partial", "history_feed__partial", "current_feed__full"]
    untouched += REPLAYING
    lake.run_and_kill(
        [
            f"{ADD_TO} {SCHEMA}.dedup_feed__busy__state",
            f"create or replace table {SCHEMA}.dedup_feed__new_log__state",
            f"create or replace table {SCHEMA}.current_feed__new_state__state",
            f"{ADD_TO} {SCHEMA}.dedup_feed__partial__state",
            f"merge into {SCHEMA}.current_feed__full__state",
            f"create table {SCHEMA}.current_feed__late__batch_",
            f"insert into {SCHEMA}.history_feed__late__batch_",
            f"merge into {SCHEMA}.history_again_feed__late__state",
        ],
        when_hanging=wait_for_files,
    )
    assert not list(half_written.glob("*/*.json"))

    lake.serve()
    lake.assert_models(1, untouched)
    lake.assert_models(2, ["dedup_feed__full", "dedup_feed__late"])
    left = {"dedup_feed__partial", "current_feed__full", *REPLAYING[1:]}
    assert lake.batch_tables() == left
    lake.run()
    lake.assert_models(2)
    # their runs began after those whose checkpoints this run has replaced, and might be alive
    assert lake.batch_tables() == left
    assert lake.busy() == ({10, 50}, {(1, "a"), (2, "b")})
    for name in NEW:
        assert lake.raw.query(f"select id, name from {SCHEMA}.current_feed__{name}") == [(1, "a")]
        assert lake.raw.query(f"select count(*) from {SCHEMA}.dedup_feed__{name}") == [(1,)]
    for model in ("dedup_feed__partial", "current_feed__full", "history_again_feed__late"):
        assert lake.states_of_commits(model) == {0, 1}, model
