"""Runs that die, meet another run, or find raw rows gone: the next run ends in the same rows as without that."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from change_tables.server.local_server import SHORT_LIVED, local_server
from change_tables.server.thrift_server import jvms_of

from .consumer import CALLS, Consumer, Entry
from .histories import (
    COLUMNS,
    HEADERS,
    HISTORY_QUERY,
    KEY,
    RAW_COLUMNS,
    changes_before_others,
    expected_history,
    expected_state,
    expected_table,
    random_raw_rows,
)
from .landing import Raw
from .qlik_cases import COLUMNS as BUSY_COLUMNS
from .qlik_cases import TWO_HEADERS, WITH_HISTORY, bare, seq
from .statements import before, hanging, intercepted, run_with_hanging, wait_until_hanging

pytestmark = pytest.mark.slow

SCHEMA = "interrupted"
SPEC = {"format": "qlik_change_tables", "key": KEY, "headers": list(HEADERS), "mask_type": "string"}
BATCHES = 3
# a statement that hangs keeps a core and a thread
MANY_CORES = SHORT_LIVED | {"spark.master": "local[12]", "spark.hadoop.hive.server2.async.exec.threads": "20"}


# rows land in the order of change, so that purged rows have no halves that land later
LANDED = {
    "full": random_raw_rows(seed=3, histories=12, changes=240, batches=BATCHES, order="timely"),
    "partial": random_raw_rows(seed=4, histories=12, changes=240, batches=BATCHES, order="timely", partial=True),
    "late": changes_before_others(),
}
NEW = ("new_log", "new_state")
LEFT = ("left_log", "left_batch", "left_merge", "left_insert")
"""Tables of the last test but one, which no other run builds."""
ENTRIES = [
    Entry("full", SPEC | {"arrival": "batch"}, COLUMNS),
    Entry("partial", SPEC | {"images": "partial"}, COLUMNS, WITH_HISTORY),
    Entry("late", SPEC | {"images": "partial"}, COLUMNS, WITH_HISTORY),
    Entry("busy", TWO_HEADERS | {"arrival": "batch"}, BUSY_COLUMNS),
    *(Entry(name, TWO_HEADERS | {"arrival": "batch"}, BUSY_COLUMNS) for name in (*NEW, *LEFT)),
]
VIEWS = ["stg_*", "rejected", "reported"]
OF_LEFT = [f"dedup_feed__{name}+" for name in LEFT]
BUSY = f"{SCHEMA}_raw.busy"
BUSY_RAW = {"header__change_seq": "string", "header__change_oper": "string"} | BUSY_COLUMNS | {"batch": "int"}
REPLAYING = ["current_feed__late", "history_feed__late", "history_again_feed__late"]
MODELS = [
    "dedup_feed__full",
    "current_feed__full",
    "dedup_feed__partial",
    "current_feed__partial",
    "history_feed__partial",
    "dedup_feed__late",
    *REPLAYING,
]


class Lake:
    """A warehouse folder with the project that builds into it, and servers over it, one after the other."""

    def __init__(self, folder: Path, servers: ExitStack) -> None:
        self.folder = folder
        self.project = Consumer(folder / "project", 0, SCHEMA)
        self.raw: Raw
        self.beside: Raw
        self._servers = servers
        self.landed = 0

    def serve(self) -> None:
        """Start a server over the folder, when what is left of the one before has ended."""
        self._servers.close()
        server = self._servers.enter_context(local_server(self.folder / "server", MANY_CORES))
        self.raw = Raw(server.connect())
        self.beside = Raw(server.connect())
        self.project.port = server.port
        if self.project.folder.exists():
            self.project.write_profile()
        else:
            self.project.write(ENTRIES)
            again = CALLS["history"].format(source="feed", table="late")
            (self.project.folder / "models/history_again_feed__late.sql").write_text(again)

    def land(self, batch: int) -> None:
        """Land a batch of the tables of random rows."""
        for name, rows in LANDED.items():
            self.raw.insert(f"{SCHEMA}_raw.{name}", [row.values for row in rows if row.batch == batch])
        (first,) = [row.values for row in LANDED["full"] if row.batch == batch][:1]
        self.raw.insert(f"{SCHEMA}_raw.full", [[first[0], "?", *first[2:]]])
        self.landed = batch

    def reach(self, batch: int) -> None:
        """Land and build what has not landed up to a batch, undisturbed."""
        while self.landed < batch:
            self.land(self.landed + 1)
            self.run()

    def rows(self, model: str, table: str = "") -> Counter[Any]:
        """What a model shows, or what it would of another table, as `expected` has it."""
        queries = {
            "dedup": "select _change_seq, upper(left(_change_op, 1)), history, place from ",
            "current": f"select {', '.join(COLUMNS)} from ",
            "history": HISTORY_QUERY,
        }
        return Counter(self.raw.query(f"{queries[model.split('_')[0]]} {SCHEMA}.{table or model}"))

    def assert_models(self, batch: int, models: Sequence[str] = MODELS) -> None:
        """Each model shows what the changes that have landed up to a batch say, and no row twice."""
        for model in models:
            found, wanted = self.rows(model), expected(model, batch)
            assert found == wanted, f"{model}: missing {list(wanted - found)[:3]}, surplus {list(found - wanted)[:3]}"
        if "dedup_feed__full" in models:
            kept = "_status = 'rejected' and _healed_at is null"
            rows = self.raw.query(f"select _equal_rows from {SCHEMA}.dedup_feed__full__quarantine where {kept}")
            assert rows == [(1,)] * batch  # one lands with each batch

    def busy(self) -> tuple[set[int], set[tuple[Any, ...]]]:
        """The sequences in the log of the table `busy`, each once, and its current rows."""
        logged = self.raw.query(f"select _change_seq from {SCHEMA}.dedup_feed__busy")
        assert len(logged) == len(set(logged))
        current = self.raw.query(f"select id, name from {SCHEMA}.current_feed__busy")
        return {number for number in range(100) if (seq(number),) in logged}, set(current)

    def versions(self, models: Sequence[str] = MODELS) -> list[int]:
        """The last commit to each model's table."""
        return [self.raw.version(f"{SCHEMA}.{model}__state") for model in models]

    def table_folder(self, model: str) -> Path:
        """The folder of a model's table."""
        return self.folder / f"server/warehouse/{SCHEMA}.db/{model}__state"

    def batch_tables(self) -> set[str]:
        """The models whose tables of new changes or kept events are there."""
        names = [name for _, name, _ in self.raw.query(f"show tables in {SCHEMA} like '*__batch_*'")]
        return {name.split("__batch_")[0] for name in names}

    def run(self, *options: str, must_succeed: bool = True) -> Any:
        """Build these models, or all but those of `LEFT`; no views, which nothing here reads."""
        left_out = VIEWS if "--select" in options else [*VIEWS, *OF_LEFT]
        return self.project.dbt("run", "--exclude", *left_out, *options, must_succeed=must_succeed)

    def run_elsewhere(self) -> None:
        """Build the incremental models by another process, as a second scheduler would."""
        folders = ["--project-dir", self.project.folder, "--profiles-dir", self.project.folder]
        folders += ["--target-path", self.folder / "elsewhere", "--log-path", self.folder / "elsewhere"]
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

    def run_and_kill(self, statements: Sequence[str], when_hanging: Callable[[], None]) -> None:
        """Build until these statements hang inside Spark, and kill the server's JVM, as a power cut would."""
        with intercepted(*map(hanging, statements)), ThreadPoolExecutor(1) as pool:
            build = pool.submit(self.run, "--threads", str(len(statements) + 2), must_succeed=False)
            try:
                wait_until_hanging(self.raw, statements, lambda: not build.done())
                when_hanging()
            finally:
                for process in jvms_of(self.folder / "server"):
                    os.kill(process, signal.SIGKILL)
            assert not build.result().success


def expected(model: str, batch: int) -> Counter[Any]:
    """What a model must show of the raw rows up to a batch."""
    kind, name = model.split("_feed__")
    landed = [row for row in LANDED[name] if row.batch <= batch]
    if kind == "dedup":
        return Counter({(row.seq, row.oper, *row.key) for row in landed if row.oper != "B"})
    table = expected_table(landed)
    return Counter(expected_state(table) if kind == "current" else expected_history(table))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """The lake of all tests here, each of which goes on where the one before has left it; nothing is built at first."""
    with ExitStack() as servers:
        lake = Lake(tmp_path_factory.mktemp("interrupted"), servers)
        lake.serve()
        for name in LANDED:
            lake.raw.create(f"{SCHEMA}_raw.{name}", RAW_COLUMNS)
        lake.raw.create(BUSY, BUSY_RAW)
        lake.raw.insert(BUSY, [bare(10, "I", 1, "a", None, 1), bare(50, "I", 2, "b", None, 1)])
        for name in (*NEW, *LEFT):
            lake.raw.create(f"{SCHEMA}_raw.{name}", BUSY_RAW)
            lake.raw.insert(f"{SCHEMA}_raw.{name}", [bare(10, "I", 1, "a", None, 1)])
        yield lake


def test_builds_that_are_killed_are_made_good_by_the_next(lake: Lake) -> None:
    lake.land(1)
    lake.run("--select", *(f"stg_feed__{name}+" for name in LANDED))
    lake.assert_models(1)
    lake.land(2)
    half_written = lake.table_folder("dedup_feed__new_log")
    # what a kill between a commit and its entry in the metastore leaves
    shutil.copytree(lake.table_folder("dedup_feed__full"), lake.table_folder("current_feed__new_log"))

    def wait_for_files() -> None:
        until = time.monotonic() + 600
        while not list(half_written.rglob("*.parquet")):
            assert time.monotonic() < until
            time.sleep(0.1)
        lake.assert_models(1, untouched)

    untouched = ["dedup_feed__partial", "current_feed__partial", "history_feed__partial", "current_feed__full"]
    untouched += REPLAYING
    lake.run_and_kill(
        [
            f"insert into {SCHEMA}.dedup_feed__busy__state",
            f"create or replace table {SCHEMA}.dedup_feed__new_log__state",
            f"create or replace table {SCHEMA}.current_feed__new_state__state",
            f"insert into {SCHEMA}.dedup_feed__partial__state",
            f"merge into {SCHEMA}.current_feed__full__state",
            f"create table {SCHEMA}.current_feed__late__batch_",
            f"insert into {SCHEMA}.history_feed__late__batch_",
            f"merge into {SCHEMA}.history_again_feed__late__state",
        ],
        when_hanging=wait_for_files,
    )
    assert not list(half_written.glob("_delta_log/*.json"))

    lake.serve()
    lake.assert_models(1, untouched)
    lake.assert_models(2, ["dedup_feed__full", "dedup_feed__late"])
    assert lake.batch_tables() == {"dedup_feed__partial", "current_feed__full", *REPLAYING[1:]}
    lake.run()
    lake.assert_models(2)
    assert lake.batch_tables() == set()
    assert lake.busy() == ({10, 50}, {(1, "a"), (2, "b")})
    for name in NEW:
        assert lake.raw.query(f"select id, name from {SCHEMA}.current_feed__{name}") == [(1, "a")]
        assert lake.raw.query(f"select count(*) from {SCHEMA}.dedup_feed__{name}") == [(1,)]


def test_nothing_changes_when_raw_rows_are_purged_that_were_taken_in(lake: Lake) -> None:
    lake.reach(2)
    for name in LANDED:
        lake.raw.query(f"truncate table {SCHEMA}_raw.{name}")
    versions = lake.versions()
    lake.run()
    assert lake.versions() == versions
    lake.assert_models(2)
    states = [model for model in MODELS if not model.startswith("dedup")]
    versions = lake.versions(states)
    lake.run("--full-refresh", "--select", *states)
    assert lake.versions(states) == [version + 1 for version in versions]
    lake.assert_models(2)


def test_a_view_that_is_missing_or_as_it_was_before_is_made(lake: Lake) -> None:
    lake.reach(1)
    lake.raw.query(f"drop view {SCHEMA}.current_feed__full")
    lake.raw.query(
        f"create or replace view {SCHEMA}.history_feed__partial"
        f" as select place from {SCHEMA}.history_feed__partial__state"
    )
    models = ["current_feed__full", "history_feed__partial"]
    lake.run("--select", *models)
    lake.assert_models(lake.landed, models)


def test_rows_that_land_while_their_log_is_built_are_left_to_the_next_run(lake: Lake) -> None:
    lake.reach(1)
    models = ["--select", "dedup_feed__busy", "current_feed__busy"]
    lake.raw.insert(BUSY, [bare(30, "U", 1, "c", None, 2)])
    # an old change again, the end of every key so far, and a new one
    landing = [bare(10, "I", 1, "a", None, 3), bare(55, "T", None, None, None, 3), bare(60, "I", 3, "d", None, 3)]
    statement = f"insert into {SCHEMA}.dedup_feed__busy__state"
    with intercepted(before(statement, lambda: lake.raw.insert(BUSY, landing))):
        lake.run(*models)
    assert lake.busy() == ({10, 30, 50}, {(1, "c"), (2, "b")})
    lake.run(*models)
    assert lake.busy() == ({10, 30, 50, 55, 60}, {(3, "d")})


def test_of_two_runs_at_once_the_second_to_write_a_table_fails_and_leaves_it_as_the_first_made_it(lake: Lake) -> None:
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
        "dedup_feed__busy": f"insert into {SCHEMA}.dedup_feed__busy__state",
    }
    with intercepted(*(before(statement, lambda: meeting.wait(600)) for statement in second_to_write.values())):
        run = lake.run("--select", *second_to_write, "dedup_feed__partial", must_succeed=False)
    messages = {result.node.name: result.message for result in run.result.results if result.status == "error"}
    assert set(messages) == set(second_to_write)
    for model in ("dedup_feed__full", "current_feed__partial"):
        assert (
            "another run has written to this table at the same time; nothing was changed, run again" in messages[model]
        )
    assert "another run has built this table at the same time; run again" in messages["dedup_feed__busy"]
    lake.assert_models(3)
    assert lake.busy() == busy

    versions = lake.versions([*MODELS, "dedup_feed__busy", "current_feed__busy"])
    lake.run()
    assert lake.versions([*MODELS, "dedup_feed__busy", "current_feed__busy"]) == versions
    assert lake.batch_tables() == set()


def test_of_two_statements_at_once_that_add_to_a_log_the_second_to_commit_fails(lake: Lake) -> None:
    lake.reach(1)
    logged, _ = lake.busy()
    lake.raw.insert(BUSY, [bare(90, "I", 9, "i", None, 9)])
    statement = f"insert into {SCHEMA}.dedup_feed__busy__state"
    others: list[Future[Any]] = []

    def begin_another(sql: str) -> str:
        if statement in sql:
            others.append(pool.submit(lake.beside.query, hanging(statement, milliseconds=20_000)(sql)))
            wait_until_hanging(lake.raw, [statement], lambda: not others[0].done())
        return sql

    with ThreadPoolExecutor(1) as pool, intercepted(begin_another):
        lake.run("--select", "dedup_feed__busy")
    assert "DELTA_CONCURRENT_APPEND" in str(others[0].exception())
    assert lake.busy()[0] == logged | {90}


@pytest.mark.parametrize("model", ["dedup_feed__full", "current_feed__full", "history_feed__partial"])
def test_every_commit_to_a_table_is_a_whole_state_and_has_its_checkpoint_but_for_a_new_log(
    lake: Lake, model: str
) -> None:
    lake.reach(2)
    whole_states = [expected(model, batch) for batch in range(1, BATCHES + 1)]
    shown = "_checkpoint is null" if model.startswith("dedup") else "_checkpoint is null and not _is_deleted"
    found: list[int] = []
    has_checkpoints = False
    for version in range(lake.raw.version(f"{SCHEMA}.{model}__state") + 1):
        table = f"{model}__state version as of {version}"
        checkpoints = lake.raw.query(
            f"select get_json_object(_checkpoint, '$.batch') from {SCHEMA}.{table} where startswith(_checkpoint, '{{')"
        )
        assert len(checkpoints) == len(set(checkpoints))
        assert len(checkpoints) == 1 or model.startswith("dedup")
        # the rows of a new log come first, those to be quarantined among them
        assert checkpoints or not has_checkpoints
        has_checkpoints = bool(checkpoints)
        found.append(whole_states.index(lake.rows(model, f"{table} where {shown}")))
    assert found == sorted(found)
    assert set(found) >= {0, 1}


def test_statements_of_a_client_that_is_gone_may_run_on_beside_the_next_run(lake: Lake) -> None:
    logs, states = ([f"{kind}_feed__{name}" for name in LEFT] for kind in ("dedup", "current"))
    lake.run("--select", *logs[1:], *states[1:])
    for name in LEFT:
        lake.raw.insert(f"{SCHEMA}_raw.{name}", [bare(20, "U", 1, "b", None, 2)])
    lake.run("--select", logs[2])
    statements = [
        f"create or replace table {SCHEMA}.dedup_feed__left_log__state",
        f"create table {SCHEMA}.dedup_feed__left_batch__batch_",
        f"merge into {SCHEMA}.current_feed__left_merge__state",
        f"insert into {SCHEMA}.dedup_feed__left_insert__state",
    ]
    with lake.left_run(statements, 20, [logs[0], logs[1], states[2], logs[3]]):
        beside = lake.run("--select", *logs, *states, must_succeed=False)
    for result in beside.result.results:
        # a statement that was left may have come first, where the machine is slow
        known = ("run again", "DELTA_CONCURRENT", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")
        assert result.status != "error" or any(text in result.message for text in known), result.message
    lake.run("--select", *logs, *states)
    for log, state in zip(logs, states, strict=True):
        logged = lake.raw.query(f"select _change_seq from {SCHEMA}.{log} order by 1")
        assert logged == [(seq(10),), (seq(20),)], log
        assert lake.raw.query(f"select id, name from {SCHEMA}.{state}") == [(1, "b")], state
    versions = lake.versions([*logs, *states])
    lake.run("--select", *logs, *states)
    assert lake.versions([*logs, *states]) == versions


def test_rows_at_the_watermark_that_land_beside_those_of_the_next_are_read_by_the_next_run(lake: Lake) -> None:
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
