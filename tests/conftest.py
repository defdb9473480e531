"""What all tests share: one server for those that need one, in a folder that goes with the tests."""

from __future__ import annotations

import fcntl
import gc
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import mkdtemp

import pytest
from dbt_common.tests import enable_test_caching
from hypothesis import settings

from change_tables.server.jars import ICEBERG, iceberg_folder, resolve_jars
from change_tables.server.local_server import JAVA_OPTIONS, LocalServer, little_data, local_server
from tests.table_format import FILE_SYSTEM, TABLE_FORMAT

SHARED = little_data(8) | {
    # Java looks rarely through what it has compiled for what can go: there is room for all of it
    JAVA_OPTIONS: f"{little_data(8)[JAVA_OPTIONS]} -XX:SweeperThreshold=10",
    "spark.hadoop.fs.file.impl": FILE_SYSTEM,
    "spark.sql.catalogImplementation": "in-memory",  # looks into Hive's metastore were a sixth of a profile
    # no compression or checksums of a few rows, and no log file for each statement, which nothing reads
    "spark.broadcast.compress": "false",
    "spark.shuffle.compress": "false",
    "spark.shuffle.checksum.enabled": "false",
    "spark.hadoop.hive.server2.logging.operation.enabled": "false",
    # a statement that a test lets hang keeps a core and a thread
    "spark.master": "local[12]",
    "spark.hadoop.hive.server2.async.exec.threads": "20",
}
"""Settings of the server that tests share."""

settings.register_profile("any_machine", deadline=None)  # on a busy machine any example can be slow
settings.load_profile("any_machine")

gc.set_threshold(50_000, 20, 50)  # dbt's manifests are many objects, which Python would look through all the time
enable_test_caching()  # dbt keeps what it has parsed of macros: each project of a test has the same ones

LONGEST_FIRST = [
    "test_change_table_runs",
    "test_random_feeds",
    "test_random_histories",
    "test_forget",
    "test_random_described_feeds",
    "test_kept_rows",
    "test_interrupted_runs",
    "test_runs_at_once",
    "test_table_lives",
    "test_iceberg",
    "test_upkeep",
    "test_mapped",
    "test_retired_columns",
    "test_qlik_kafka",
    "test_qlik_change_tables",
    "test_openedge_cdc",
    "test_spec_changes",
    "test_relocated_tables",
    "test_idm_event_log",
    "test_goldengate_trail",
    "test_xds_documents",
    "test_thrift_server",
    "test_shared_rows",
    "test_dbt_features",
    "test_wheel",
    "test_quiet_tables",
    "test_init",
    "test_semantics_page",
    "test_event_histories",
    "test_readers_on_a_server",
    "test_arrival_by_files",
    "test_numbers_used_again",
    "test_working_names",
    "test_random_verdicts",
    "test_catalog",
    "test_run_counts",
    "test_functions_in_sql",
    "test_random_deliveries",
    "test_four_mornings",
    "test_doctor",
    "test_data_tests",
    "test_alarms",
    "test_table_spec",
    "test_replay",
    "test_landed_types",
    "test_consumer_project",
    "test_server_log",
    "test_report_on_a_server",
    "test_workload",
]
"""Modules that take long, the longest first: so that two processes end at about the same time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests in that order, module by module."""
    place = {name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: place.get(Path(item.path).stem, len(place)))


NO_MODULE_AFTER = float(os.environ.get("CHANGE_TABLES_NO_MODULE_AFTER", "inf"))
"""Seconds since 1970 after which no module of tests begins, so that CI ends and says what it did not come to."""
_begun: set[Path] = set()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out modules for which a run of limited time has none left."""
    if item.path not in _begun and time.time() > NO_MODULE_AFTER:
        pytest.skip("this run had no time left to begin the module: run it by itself")
    _begun.add(item.path)


_EACH = 20.0  # seconds


class WhatRuns:
    """Of tests in several processes: says which module begins, which tests run, and at the end what modules took."""

    def __init__(self, reporter: pytest.TerminalReporter, each: float = _EACH) -> None:
        """Starts the clock."""
        self._reporter = reporter
        self._each = each
        self._started = time.monotonic()
        self._modules: set[str] = set()
        self._running: dict[str, float] = {}
        self._took: Counter[str] = Counter()
        self._ended = threading.Event()

    def pytest_sessionstart(self) -> None:
        """Begins to say which tests run."""
        threading.Thread(target=self._say_each, daemon=True).start()

    def pytest_sessionfinish(self) -> None:
        """Ends it."""
        self._ended.set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins, set-up included."""
        self._running[nodeid] = time.monotonic()
        module = nodeid.partition("::")[0]
        if module not in self._modules:
            self._modules.add(module)
            self._say(f"{module} begins")

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """A test has ended."""
        since = self._running.pop(nodeid, None)
        if since is not None:
            self._took[nodeid.partition("::")[0]] += round(1000 * (time.monotonic() - since))

    def pytest_terminal_summary(self) -> None:
        """Says it, the longest first, as `LONGEST_FIRST` should have it."""
        self._reporter.section("slowest modules")
        for module, milliseconds in self._took.most_common(40):
            self._reporter.write_line(f"{milliseconds / 1000:6.0f} s  {module}")

    def _say_each(self) -> None:
        while not self._ended.wait(self._each):
            now = time.monotonic()
            running = [f"{nodeid} ({now - since:.0f} s)" for nodeid, since in self._running.copy().items()]
            self._say(f"running: {', '.join(running) or 'the collection of the tests'}")

    def _say(self, text: str) -> None:
        if self._reporter.config.get_terminal_writer().width_of_current_line:
            self._reporter.write("\n")
        self._reporter.write_line(f"{time.monotonic() - self._started:6.0f} s  {text}")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Say what runs, where tests run in other processes and this one prints."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter and config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(WhatRuns(reporter))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A Thrift server that all processes of a run share: what Java has compiled for one, the others need not.

    The first that needs it starts it, and ends it when no other uses it any more.
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    running = shared / "server.json"
    with (shared / "server.start").open("a") as start, (shared / "server.used").open("a") as used, ExitStack() as stack:
        fcntl.flock(start, fcntl.LOCK_EX)
        if is_first := not running.exists():
            folder = Path(mkdtemp(prefix="server", dir=shared))
            options = ["--table-format", TABLE_FORMAT]
            if TABLE_FORMAT == "iceberg":
                resolve_jars(iceberg_folder(), ICEBERG)
            found = stack.enter_context(
                local_server(folder, SHARED, options=options, module="tests.server_with_events")
            )
            running.write_text(json.dumps(asdict(found), default=str))
        told = json.loads(running.read_text())
        fcntl.flock(used, fcntl.LOCK_SH)
        fcntl.flock(start, fcntl.LOCK_UN)
        yield LocalServer(**told | {"folder": Path(told["folder"])})
        fcntl.flock(used, fcntl.LOCK_UN)
        if is_first:
            fcntl.flock(start, fcntl.LOCK_EX)  # in the order of those that begin, or two would wait for each other
            fcntl.flock(used, fcntl.LOCK_EX)
            running.unlink()
