"""Runs the demo: lands a feed in batches, builds its models after each, and compares them with the source database.

Everything that it makes is under `.build/demo`. It deletes that folder at its start and keeps it at its end.
"""

from __future__ import annotations

import argparse
import fcntl
import itertools
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dbt_common.events.base_types import EventMsg

from change_tables.server.local_server import LocalServer, LocalServerError, local_server
from demo.database import TABLES, Table
from demo.history import Contents, Row, Transaction
from demo.landing import Connection, create_table, execute, fetch, insert_rows, quoted
from demo.oracle import (
    TRUTH_SCHEMA,
    Comparison,
    compare,
    count_statuses,
    differing_statuses,
    disordered_versions,
    land_truth,
)
from demo.progress import Progress
from demo.project import PROFILES, PROJECT, DbtError, DbtProject
from demo.workload import Workload
from demo.writers import BY_NAME, WRITERS
from demo.writers.deliveries import REPLICATED
from demo.writers.feed import FeedWriter, Verdict

FOLDER = PROJECT / ".build" / "demo"
RAW_SCHEMA = "raw"
BATCHES = 3

FEED = "qlik_change_tables"
"""The feed that is shown where none is asked for."""
ALL = "all"
FEEDS = f"one of {', '.join(WRITERS)}; {ALL} of these; or one of {', '.join(BY_NAME)}"
"""What can be asked for."""
SHOWN = ("orders",)
"""The tables of a feed that is shown alone: those that have a history; each further table takes longer."""

WITHOUT_SEEDS = ("--exclude-resource-type", "seed")
"""For dbt: seeds never change, so they are loaded with the first batch alone."""

_CONNECTIONS = 2
_COLUMNS = ("table", "raw rows", "accepted", "merged", "waiting", "rejected", "changes", "current rows", "versions")


class DemoError(Exception):
    """The demo cannot go on; the text says why, and what to do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns its exit code, 1 where anything differs from the source database."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--feed", default=FEED, help=f"{FEEDS} (default: {FEED})")
    parser.add_argument("--seed", type=int, default=1, help="of the history and the feeds (default: 1)")
    parser.add_argument("--scale", type=int, default=1, help="how much happens in a batch (default: 1)")
    parser.add_argument(
        "--table-format", choices=("delta", "iceberg"), default="delta", help="of the tables (default: delta)"
    )
    options = parser.parse_args(arguments)
    try:
        start = partial(local_server, options=["--table-format", options.table_format])
        is_equal = run_demo(FOLDER, options.feed, options.seed, options.scale, start)
    except (DemoError, DbtError, LocalServerError) as failure:
        print(f"demo: {failure}", file=sys.stderr)
        return 1
    if is_equal:
        feed = next(iter(WRITERS)) if options.feed == ALL else options.feed
        print(_how_to_query(FOLDER, feed, options.table_format))
    return 0 if is_equal else 1


def run_demo(
    folder: Path,
    feed: str,
    seed: int,
    scale: int,
    start: Callable[[Path], AbstractContextManager[LocalServer]] = local_server,
) -> bool:
    """Runs the demo in a folder, which is deleted first; returns whether everything is as the source database has it.

    `start` starts a server, whose tables it may keep in the folder, and stops it when its block ends.

    Raises:
        DemoError: where there is no such feed, or no profile.
        DbtError: where a build fails.
        LocalServerError: where no server comes up.
    """
    if feed not in (*WRITERS, *BY_NAME, ALL):
        raise DemoError(f"there is no feed '{feed}'; FEED is {FEEDS}")
    if not (PROFILES / "profiles.yml").is_file():
        raise DemoError(f"no profile in {PROFILES.relative_to(PROJECT)}; run `make demo`, which makes it")
    _empty(folder)
    shown = WRITERS if feed == ALL else {feed: {**WRITERS, **BY_NAME}[feed]}
    writers = [writer(seed) for writer in shown.values()]
    workload = Workload(seed, scale, swaps=all(writer.swaps for writer in writers))
    tables = tuple(TABLES) if feed == ALL else REPLICATED if feed in BY_NAME else SHOWN
    with Progress() as progress, ExitStack() as stack:
        with progress.phase("starting", 2), ThreadPoolExecutor(1) as beside:
            parsed = beside.submit(_parsed, progress, folder, feed if feed in BY_NAME else None)
            with progress.step("Spark Thrift server"):
                server = stack.enter_context(start(folder))
            project = parsed.result()
        progress.say("a Spark Thrift server runs, and dbt has read the project")
        selected = [] if feed == ALL else project.options_for(models_of(feed, tables))
        results, mistakes = play_batches(project, server, writers, workload, tables, progress, selected)
        with progress.phase("ending", 1), progress.step("Spark Thrift server"):
            stack.close()
    print(f"\n{results}\n")
    for mistake in mistakes:
        print(mistake)
    return not mistakes


def play_batches(
    project: DbtProject,
    server: LocalServer,
    writers: Sequence[FeedWriter],
    workload: Workload,
    tables: Sequence[str],
    progress: Progress,
    options: Sequence[str],
    watch: Callable[[int, EventMsg], None] | None = None,
) -> tuple[str, list[str]]:
    """Lands batches of feeds, builds after each, and compares; returns a table to print, and what differs.

    Args:
        project: what is built
        server: where
        writers: of the feeds
        workload: new, with nothing played of it
        tables: the source tables whose models are compared
        progress: where it is said what runs
        options: of `dbt build`
        watch: is called with the number of the batch and each of dbt's events

    Raises:
        DbtError: a build fails.
    """
    loaded = workload.fill()
    checker = _Checker(server, project.relations, writers, tables)
    mistakes: list[str] = []
    with progress.phase("making the raw tables", 1), progress.step("connect, create"):
        connection = server.connect()
        create_raw_tables(connection, writers)
        # here, since of two connections that make a schema at once, Iceberg's catalog fails one
        execute(connection, f"create schema if not exists {TRUTH_SCHEMA}")
    for batch in range(1, BATCHES + 1):
        name = f"batch {batch} of {BATCHES}"
        transactions = list(workload.play_round())
        with progress.phase(f"{name}: landing", sum(len(writer.raw_tables) for writer in writers)):
            initial = loaded if batch == 1 else ()
            raw_rows = land(connection, writers, transactions, initial, last=batch == BATCHES, progress=progress)
        progress.say(f"{name}: {len(transactions)} transactions landed as {raw_rows} raw rows")
        with progress.phase(f"{name}: building"):
            seeds = WITHOUT_SEEDS if batch > 1 else ()
            watchers = [partial(watch, batch)] if watch else []
            nodes = project.build(server, progress, [*options, *seeds], watchers)
        progress.say(f"{name}: {nodes} models, seeds and tests built")
        with progress.phase(f"{name}: comparing", len(writers) * len(tables)):
            results, found = checker.check(workload.database.contents(), progress)
        mistakes += [f"batch {batch}: {mistake}" for mistake in found]
        state = "differs from" if found else "equals"
        progress.say(f"{name}: every model compared: {state} the source database")
    connection.close()
    return results, mistakes


def models_of(feed: str, tables: Sequence[str]) -> list[str]:
    """The models of these tables, from the log to the history."""
    return [f"{kind}_{feed}__{name}" for name in tables for kind in ("dedup", "current", "history")]


def _parsed(progress: Progress, folder: Path, further: str | None) -> DbtProject:
    with progress.step("dbt parse"):
        return DbtProject(folder, further)


def _empty(folder: Path) -> None:
    """Deletes the folder and makes it again, unless a server runs on it (see `change_tables.server.thrift_server`)."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "server.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DemoError(f"a server runs on {folder}: stop it first, the demo begins with an empty folder") from None
        shutil.rmtree(folder)
    folder.mkdir()


def create_raw_tables(connection: Connection, writers: Sequence[FeedWriter]) -> None:
    """Makes the raw tables of every feed, empty."""
    execute(connection, f"create schema if not exists {RAW_SCHEMA}")
    for writer in writers:
        for table in writer.raw_tables:
            create_table(connection, f"{RAW_SCHEMA}.{quoted(table.name)}", table.columns)


def land(
    connection: Connection,
    writers: Sequence[FeedWriter],
    transactions: Sequence[Transaction],
    loaded: Sequence[Transaction],
    *,
    last: bool,
    progress: Progress | None = None,
) -> int:
    """Lands a batch of every feed, each raw table a step of the phase that runs; returns the number of raw rows."""
    landed = 0
    for writer in writers:
        written = writer.write(transactions, loaded, last=last)
        for table in writer.raw_tables:
            relation, rows = f"{RAW_SCHEMA}.{quoted(table.name)}", written[table.name]
            with progress.step(relation) if progress else nullcontext():
                if table.is_replaced:
                    create_table(connection, relation, table.columns)
                insert_rows(connection, relation, rows)
            landed += len(rows)
    return landed


@dataclass(frozen=True)
class _TableResult:
    """What became of one source table in one feed: the line to print, and what differs."""

    printed: tuple[str, ...]
    mistakes: Sequence[str]


class _Checker:
    """Compares every model with the source and with what the writers wrote, batch by batch."""

    def __init__(
        self, server: LocalServer, relations: Mapping[str, str], writers: Sequence[FeedWriter], tables: Sequence[str]
    ) -> None:
        self._server = server
        self._relations = relations
        self._writers = writers
        self._tables = tables
        self._ends: dict[str, list[tuple[str, str]]] = {}  # of batches: the last sequence, and the source's rows then
        self._truths = itertools.count(1)

    def check(self, contents: Contents, progress: Progress) -> tuple[str, list[str]]:
        """A table to print, and what differs; each table of a feed is a step of the phase that runs."""

        def check_table(name: str) -> list[_TableResult]:
            connection = self._server.connect()
            results: list[_TableResult] = []
            landed: Sequence[Row] | None = None
            truth = ""
            for writer in self._writers:
                with progress.step(f"{writer.system}.{name}"):
                    rows = writer.source_contents(contents)[name]
                    if rows != landed:
                        landed = rows
                        truth = land_truth(connection, TABLES[name], rows, f"{name}__{next(self._truths)}")
                    results.append(self._check_table(connection, writer, TABLES[name], truth))
            connection.close()
            return results

        # a statement costs more in planning than in running, and planning takes one processor only
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            results = [result for each in pool.map(check_table, self._tables) for result in each]
        header = (*_COLUMNS, "equals the source database")
        printed = aligned([header, *sorted(result.printed for result in results)])
        return printed, [mistake for result in results for mistake in result.mistakes]

    def _check_table(self, connection: Connection, writer: FeedWriter, table: Table, truth: str) -> _TableResult:
        staging, log, current, history = (
            self._relations.get(f"{kind}_{writer.system}__{table.name}", "")
            for kind in ("stg", "dedup", "current", "history")
        )
        statuses = count_statuses(connection, staging)
        ((changes, last_seq),) = fetch(connection, f"select count(*), max(_change_seq) from {log}")
        comparison = compare(connection, table, current, truth)
        mistakes = [f"{staging}: {line}" for line in differing_statuses(writer.expected_statuses[table.name], statuses)]
        expected = writer.expected_changes[table.name]
        if changes != expected:
            mistakes.append(f"{log}: {expected} distinct changes written, {changes} in the log")
        mistakes += _differences(current, comparison)
        versions = ""
        if history:
            number, found = self._check_history(connection, table, history, truth)
            self._ends.setdefault(history, []).append((last_seq, truth))
            versions, mistakes = str(number), mistakes + found
        counts = _by_status(statuses)
        numbers = [statuses.total(), *(counts[status] for status in _COLUMNS[2:6]), changes, comparison.rows]
        verdict = "no" if mistakes else "yes"
        line = (f"{writer.system}.{table.name}", *(str(number) for number in numbers), versions, verdict)
        return _TableResult(line, mistakes)

    def _check_history(self, connection: Connection, table: Table, history: str, truth: str) -> tuple[int, list[str]]:
        """How many versions there are, and what differs: now, and as the source was at the end of each batch."""
        versions, disordered = disordered_versions(connection, table, history)
        mistakes = [f"{history}: {disordered} versions overlap the next of their key"] if disordered else []
        mistakes += _differences(history, compare(connection, table, history, truth, "_is_current"))
        for batch, (last_seq, truth_then) in enumerate(self._ends.get(history, []), 1):
            then = f"_valid_from_seq <= '{last_seq}' and (_valid_to_seq is null or _valid_to_seq > '{last_seq}')"
            found = _differences(history, compare(connection, table, history, truth_then, then))
            mistakes += [f"as of the end of batch {batch}: {line}" for line in found]
        return versions, mistakes


def _differences(relation: str, comparison: Comparison) -> list[str]:
    if comparison.equal:
        return []
    counted = f"{comparison.missing} rows missing, {comparison.surplus} too many {' '.join(comparison.other_types)}"
    return [f"{relation}: {line}" for line in (counted.rstrip(), *map(str, comparison.samples))]


def _by_status(counts: Mapping[Verdict, int]) -> Counter[str]:
    summed: Counter[str] = Counter()
    for verdict, count in counts.items():
        summed[verdict.status] += count
    return summed


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text as a table: the first column to the left, the others to the right.

    >>> print(aligned([("table", "rows"), ("orders", "7")]))
    table   rows
    orders     7
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _how_to_query(folder: Path, system: str, table_format: str) -> str:
    python = Path(sys.executable)
    python = python.relative_to(PROJECT) if python.is_relative_to(PROJECT) else python
    query = f"select * from change_tables.current_{system}__orders limit 5"
    command = f"server --warehouse {folder.relative_to(PROJECT)} --port 10000"
    if table_format == "iceberg":
        command += " --table-format iceberg"
    client = f"c = hive.connect('127.0.0.1', 10000).cursor(); c.execute('{query}'); print(*c.fetchall(), sep='\\n')"
    return (
        "Every model equals the source database after every batch. To look at them, start a server on what was built\n"
        f"  {python} -m change_tables {command}\n"
        "and in another terminal ask it (any JDBC client does: jdbc:hive2://127.0.0.1:10000)\n"
        f'  {python} -c "from pyhive import hive; {client}"'
    )
