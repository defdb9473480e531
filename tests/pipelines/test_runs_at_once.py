"""Runs that meet another one, or find rows landing or gone: the next one ends in the same rows as without that."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from change_tables.server.local_server import LocalServer
from tests.table_format import ADD_TO, CONFLICTS, LAST_BUILD_WINS

from .consumer import Consumer
from .lakes import VIEWS, Lake
from .landing import Raw
from .qlik_cases import bare, seq
from .statements import before, hanging, intercepted, letting_go, run_with_hanging, wait_until_hanging

pytestmark = pytest.mark.slow

SCHEMA = "at_once"
RANDOM = ("full", "partial")
LEFT = ("left_log", "left_batch", "left_merge", "left_insert")
"""Tables of the last test but one, which no other run builds."""
OF_LEFT = [f"dedup_feed__{name}+" for name in LEFT]
BUSY = f"{SCHEMA}_raw.busy"


class SharedLake(Lake):
    """A lake into which others build, too."""

    def __init__(self, project: Consumer, raw: Raw, beside: Raw, elsewhere: Path) -> None:
        super().__init__(project, RANDOM, LEFT)
        self.raw, self.beside = raw, beside
        self._elsewhere = elsewhere

    def run(self, *options: str, must_succeed: bool = True) -> Any:
        """Build these models, or all but those of `LEFT`."""
        left_out = () if "--select" in options else OF_LEFT
        return super().run(*left_out, *options, must_succeed=must_succeed)

    def run_elsewhere(self) -> None:
        """Build the incremental models by another process, as a second scheduler would."""
        folders = ["--project-dir", self.project.folder, "--profiles-dir", self.project.folder]
        folders += ["--target-path", self._elsewhere, "--log-path", self._elsewhere]
        command = [sys.executable, "-m", "dbt.cli.main", "--quiet", "run", "--exclude", *VIEWS, *OF_LEFT]
        done = subprocess.run([*command, *map(str, folders)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout

    @contextmanager
    def left_run(self, statements: Sequence[str], seconds: int, models: Sequence[str]) -> Iterator[None]:
        """Build in another process until these statements hang inside Spark for so long, and let it do nothing more.

        Where a client dies, the server cancels its statements. Where only its machine does, they go on to their end.
        """
        folders = ["--project-dir", str(self.project.folder), "--profiles-dir", str(self.project.folder)]
        arguments = ["--quiet", "run", "--threads", str(len(models)), *folders, "--select", *models]
        build = multiprocessing.get_context("spawn").Process(
            target=run_with_hanging, args=(list(statements), 1000 * seconds, arguments)
        )
        build.start()
        try:
            wait_until_hanging(self.raw, statements, build.is_alive)
            assert build.pid is not None
            os.kill(build.pid, signal.SIGSTOP)
            until = time.monotonic() + seconds
            yield
            time.sleep(max(0.0, until + 5 - time.monotonic()))
        finally:
            build.kill()
            build.join()


@pytest.fixture(scope="module")
def lake(
    consumer: Callable[[str], Consumer], server: LocalServer, raw: Raw, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedLake]:
    """The lake of all tests here, each of which goes on where the one before has left it; nothing is built at first."""
    connection = server.connect()
    lake = SharedLake(consumer(SCHEMA), raw, Raw(connection), tmp_path_factory.mktemp("elsewhere"))
    lake.project.write(lake.entries)
    lake.begin()
    yield lake
    connection.close()


def test_nothing_changes_when_raw_rows_are_purged_that_were_taken_in(lake: SharedLake) -> None:
    lake.reach(2)
    for name in RANDOM:
        lake.raw.query(f"truncate table {lake.raw_table(name)}")
    versions = lake.versions(lake.models)
    lake.run()
    assert lake.versions(lake.models) == versions
    lake.assert_models(2)
    states = [model for model in lake.models if not model.startswith("dedup")]
    versions = lake.versions(states)
    lake.run("--full-refresh", "--select", *states)
    assert lake.versions(states) == [version + 1 for version in versions]
    lake.assert_models(2)


def test_a_view_that_is_missing_or_as_it_was_before_is_made(lake: SharedLake) -> None:
    lake.reach(1)
    lake.raw.query(f"drop view {SCHEMA}.current_feed__full")
    lake.raw.query(
        f"create or replace view {SCHEMA}.history_feed__partial"
        f" as select place from {SCHEMA}.history_feed__partial__state"
    )
    models = ["current_feed__full", "history_feed__partial"]
    lake.run("--select", *models)
    lake.assert_models(lake.landed, models)


def test_rows_that_land_while_their_log_is_built_are_left_to_the_next_run(lake: SharedLake) -> None:
    lake.reach(1)
    models = ["--select", "dedup_feed__busy", "current_feed__busy"]
    lake.raw.insert(BUSY, [bare(30, "U", 1, "c", None, 2)])
    # an old change again, the end of every key so far, and a new one
    landing = [bare(10, "I", 1, "a", None, 3), bare(55, "T", None, None, None, 3), bare(60, "I", 3, "d", None, 3)]
    statement = f"{ADD_TO} {SCHEMA}.dedup_feed__busy__state"
    with intercepted(before(statement, lambda: lake.raw.insert(BUSY, landing))):
        lake.run(*models)
    assert lake.busy() == ({10, 30, 50}, {(1, "c"), (2, "b")})
    # of a run that died long ago
    lake.raw.query(f"create table {SCHEMA}.dedup_feed__busy__batch_20200101t000000000000_0000000a as select 1 as id")
    lake.run(*models)
    assert lake.batch_tables() == set()
    assert lake.busy() == ({10, 30, 50, 55, 60}, {(3, "d")})


def test_of_two_runs_at_once_the_second_to_write_a_table_fails_and_leaves_it_as_the_first_made_it(
    lake: SharedLake,
) -> None:
    lake.reach(2)
    lake.land(3)
    # a table without its checkpoint counts as never built: both runs make this one whole
    lake.raw.query(f"delete from {SCHEMA}.dedup_feed__busy__state where _checkpoint is not null")
    lake.raw.query(f"alter view {SCHEMA}.dedup_feed__busy set tblproperties ('change_tables.checkpoint' = '')")
    busy = lake.busy()
    meeting = threading.Barrier(3, action=lake.run_elsewhere)
    second_to_write = {
        "dedup_feed__full": f"into {SCHEMA}.dedup_feed__full__state",
        "current_feed__partial": f"merge into {SCHEMA}.current_feed__partial__state",
        "dedup_feed__busy": f"{ADD_TO} {SCHEMA}.dedup_feed__busy__state",
    }
    with intercepted(*(before(statement, lambda: meeting.wait(600)) for statement in second_to_write.values())):
        run = lake.run("--select", *second_to_write, "dedup_feed__partial", must_succeed=False)
    messages = {result.node.name: result.message for result in run.result.results if result.status == "error"}
    assert set(messages) == set(second_to_write)
    for model in ("dedup_feed__full", "current_feed__partial"):
        # in the words of the error, not only in the statement that Spark shows with it
        assert "TABLE_OR_VIEW_NOT_FOUND" not in messages[model]
        assert (
            "another run has written to this table at the same time; nothing was changed, run again" in messages[model]
        )
    assert "another run has built this table at the same time; run again" in messages["dedup_feed__busy"]
    lake.assert_models(3)
    assert lake.busy() == busy

    versions = lake.versions([*lake.models, "dedup_feed__busy", "current_feed__busy"])
    lake.run()
    assert lake.versions([*lake.models, "dedup_feed__busy", "current_feed__busy"]) == versions
    # of those that were beaten, until the next run but one that writes has ended
    assert lake.batch_tables() == {"dedup_feed__full", "current_feed__partial"}


def test_of_two_statements_at_once_that_add_to_a_log_the_second_to_commit_fails(lake: SharedLake) -> None:
    lake.reach(1)
    logged, _ = lake.busy()
    lake.raw.insert(BUSY, [bare(90, "I", 9, "i", None, 9)])
    statement = f"{ADD_TO} {SCHEMA}.dedup_feed__busy__state"
    others: list[Future[Any]] = []

    def begin_another(sql: str) -> str:
        if statement in sql:
            others.append(pool.submit(lake.beside.query, hanging(statement)(sql)))
            wait_until_hanging(lake.raw, [statement], lambda: not others[0].done())
        return sql

    with ThreadPoolExecutor(1) as pool, letting_go(lake.raw, [statement]), intercepted(begin_another):
        lake.run("--select", "dedup_feed__busy")
    assert any(text in str(others[0].exception()) for text in CONFLICTS)
    assert lake.busy()[0] == logged | {90}


@pytest.mark.parametrize("model", ["dedup_feed__full", "current_feed__full", "history_feed__partial"])
def test_every_commit_to_a_table_is_a_whole_state_and_has_its_checkpoint_but_for_a_new_log(
    lake: SharedLake, model: str
) -> None:
    lake.reach(2)
    assert lake.states_of_commits(model) >= {0, 1}


def test_statements_of_a_client_that_is_gone_may_run_on_beside_the_next_run(lake: SharedLake) -> None:
    logs, states = ([f"{kind}_feed__{name}" for name in LEFT] for kind in ("dedup", "current"))
    lake.run("--select", *logs[1:], *states[1:])
    for name in LEFT:
        lake.raw.insert(f"{SCHEMA}_raw.{name}", [bare(20, "U", 1, "b", None, 2)])
    lake.run("--select", logs[2])
    statements = [
        f"create or replace table {SCHEMA}.dedup_feed__left_log__state",
        f"create table {SCHEMA}.dedup_feed__left_batch__batch_",
        f"merge into {SCHEMA}.current_feed__left_merge__state",
        f"{ADD_TO} {SCHEMA}.dedup_feed__left_insert__state",
    ]
    with lake.left_run(statements, 20, [logs[0], logs[1], states[2], logs[3]]):
        beside = lake.run("--select", *logs, *states, must_succeed=False)
    for result in beside.result.results:
        # a statement that was left may have come first, where the machine is slow
        known = ("run again", *CONFLICTS)
        assert result.status != "error" or any(text in result.message for text in known), result.message
    if LAST_BUILD_WINS:
        replaced = lake.run("--select", logs[0], must_succeed=False)
        assert all(result.status != "error" or "run again" in result.message for result in replaced.result.results)
    lake.run("--select", *logs, *states)
    for log, state in zip(logs, states, strict=True):
        logged = lake.raw.query(f"select _change_seq from {SCHEMA}.{log} order by 1")
        assert logged == [(seq(10),), (seq(20),)], log
        assert lake.raw.query(f"select id, name from {SCHEMA}.{state}") == [(1, "b")], state
    versions = lake.versions([*logs, *states])
    lake.run("--select", *logs, *states)
    assert lake.versions([*logs, *states]) == versions


def test_rows_at_the_watermark_that_land_beside_those_of_the_next_are_read_by_the_next_run(lake: SharedLake) -> None:
    lake.reach(1)
    models = ["--select", "dedup_feed__busy", "current_feed__busy"]
    # a row without an arrival has every run read, also one that passes over all below the watermark
    lake.raw.insert(BUSY, [bare(69, "I", 7, "h", None, None), bare(70, "I", 4, "e", None, 20)])
    lake.run(*models)
    landing = [bare(71, "I", 5, "f", None, 20), bare(72, "I", 6, "g", None, 21)]
    with intercepted(before(f"create table {SCHEMA}.dedup_feed__busy__batch_", lambda: lake.raw.insert(BUSY, landing))):
        lake.run(*models)
    lake.run(*models)
    assert {69, 70, 71, 72} <= lake.busy()[0]
