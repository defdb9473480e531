"""Runs the demo: lands the feeds in batches, builds the models after each, and compares them with the source database.

Everything that it makes lies under `.build/demo`, which it deletes at its start and keeps at its end, to be looked at.
"""

from __future__ import annotations

import argparse
import fcntl
import shutil
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from demo.database import TABLES
from demo.history import Contents, Row, Transaction
from demo.landing import Connection, create_table, execute, fetch, insert_rows, quoted
from demo.oracle import compare, count_statuses, differing_statuses, land_truth
from demo.project import PROFILES, PROJECT, DbtError, DbtProject
from demo.workload import Workload
from demo.writers import WRITERS
from demo.writers.feed import FeedWriter, Verdict
from udfs.local_server import LocalServer, LocalServerError, local_server

FOLDER = PROJECT / ".build" / "demo"
RAW_SCHEMA = "raw"
BATCHES = 3

_CONNECTIONS = 2
_COLUMNS = ("table", "raw rows", "accepted", "merged", "waiting", "rejected", "changes", "current rows")


class DemoError(Exception):
    """The demo cannot go on; the text says why, and what to do."""


class Progress:
    """Prints lines with the seconds since the start in front."""

    def __init__(self) -> None:
        """Starts the clock."""
        self._started = time.monotonic()

    def say(self, text: str) -> None:
        """Prints one line at once."""
        print(f"{time.monotonic() - self._started:6.1f} s  {text}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns its exit code, 1 where anything differs from the source database."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the history and the feeds (default: 1)")
    parser.add_argument("--scale", type=int, default=1, help="how much happens in a batch (default: 1)")
    options = parser.parse_args(arguments)
    try:
        return 0 if run_demo(FOLDER, options.seed, options.scale) else 1
    except (DemoError, DbtError, LocalServerError) as failure:
        print(f"demo: {failure}", file=sys.stderr)
        return 1


def run_demo(folder: Path, seed: int, scale: int) -> bool:
    """Runs the demo in a folder, which is deleted first; returns whether everything is as the source database has it.

    Raises:
        DemoError: where the profile is missing.
        DbtError: where a build fails.
        LocalServerError: where no server comes up.
    """
    if not (PROFILES / "profiles.yml").is_file():
        raise DemoError(f"no profile in {PROFILES.relative_to(PROJECT)}; run `make demo`, which makes it")
    progress = Progress()
    _empty(folder)
    writers = [writer(seed) for writer in WRITERS.values()]
    workload = Workload(seed, scale, swaps=all(writer.swaps for writer in writers))
    loaded = workload.fill()
    progress.say("starting a Spark Thrift server")
    beside = ThreadPoolExecutor(1)
    parsed = beside.submit(DbtProject, folder)
    with local_server(folder) as server, server.connect() as connection:
        create_raw_tables(connection, writers)
        project = parsed.result()
        mistakes: list[str] = []
        for batch in range(1, BATCHES + 1):
            transactions = list(workload.play_round())
            raw_rows = land(connection, writers, transactions, loaded if batch == 1 else (), last=batch == BATCHES)
            progress.say(f"batch {batch} of {BATCHES}: {len(transactions)} transactions landed as {raw_rows} raw rows")
            project.build(server)
            progress.say(f"batch {batch} of {BATCHES}: models built")
            results, found = _check(server, project.relations, writers, workload.database.contents())
            mistakes += [f"batch {batch}: {mistake}" for mistake in found]
            state = "differs from" if found else "equals"
            progress.say(f"batch {batch} of {BATCHES}: every model compared: {state} the source database")
    print(f"\n{results}\n")
    for mistake in mistakes:
        print(mistake)
    if not mistakes:
        print(_how_to_query(folder))
    return not mistakes


def _empty(folder: Path) -> None:
    """Deletes the folder and makes it anew, unless a server runs on it (see `udfs.thrift_server`)."""
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
) -> int:
    """Lands a batch of every feed; returns the number of raw rows."""
    landed = 0
    for writer in writers:
        written = writer.write(transactions, loaded, last=last)
        for table in writer.raw_tables:
            relation, rows = f"{RAW_SCHEMA}.{quoted(table.name)}", written[table.name]
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


def _check(
    server: LocalServer, relations: Mapping[str, str], writers: Sequence[FeedWriter], contents: Contents
) -> tuple[str, list[str]]:
    """Compares every model with the source and with what the writers wrote: a table to print, and what differs."""

    def check(name: str) -> list[_TableResult]:
        connection = server.connect()
        results: list[_TableResult] = []
        landed: Sequence[Row] | None = None
        truth = ""
        for writer in writers:
            rows = writer.source_contents(contents)[name]
            if rows != landed:
                truth, landed = land_truth(connection, TABLES[name], rows), rows
            results.append(_check_table(connection, relations, writer, name, truth))
        connection.close()
        return results

    # a statement costs more in planning than in running, and planning takes one processor only
    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        results = [result for each in pool.map(check, TABLES) for result in each]
    header = (*_COLUMNS, "equals the source database")
    printed = aligned([header, *sorted(result.printed for result in results)])
    return printed, [mistake for result in results for mistake in result.mistakes]


def _check_table(
    connection: Connection, relations: Mapping[str, str], writer: FeedWriter, name: str, truth: str
) -> _TableResult:
    staging, log, current = (relations[f"{kind}_{writer.system}__{name}"] for kind in ("stg", "dedup", "current"))
    statuses = count_statuses(connection, staging)
    ((changes,),) = fetch(connection, f"select count(*) from {log}")
    comparison = compare(connection, TABLES[name], current, truth)
    mistakes = [f"{staging}: {line}" for line in differing_statuses(writer.expected_statuses[name], statuses)]
    expected = writer.expected_changes[name]
    if changes != expected:
        mistakes.append(f"{log}: {expected} distinct changes written, {changes} in the log")
    if not comparison.equal:
        mistakes.append(
            f"{current}: {comparison.missing} rows missing, {comparison.surplus} too many "
            f"{' '.join(comparison.other_types)}".rstrip()
        )
        mistakes += [f"{current}: {sample}" for sample in comparison.samples]
    counts = _by_status(statuses)
    numbers = [statuses.total(), *(counts[status] for status in _COLUMNS[2:6]), changes, comparison.rows]
    verdict = "no" if mistakes else "yes"
    return _TableResult((f"{writer.system}.{name}", *(str(number) for number in numbers), verdict), mistakes)


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


def _how_to_query(folder: Path) -> str:
    python = Path(sys.executable)
    python = python.relative_to(PROJECT) if python.is_relative_to(PROJECT) else python
    query = "select * from change_tables.current_qlik_change_tables__orders limit 5"
    client = f"c = hive.connect('127.0.0.1', 10000).cursor(); c.execute('{query}'); print(*c.fetchall(), sep='\\n')"
    return (
        "Every model equals the source database after every batch. To look at them, start a server on what was built\n"
        f"  {python} -m udfs.thrift_server --warehouse {folder.relative_to(PROJECT)} --port 10000\n"
        "and in another terminal ask it (any JDBC client does: jdbc:hive2://127.0.0.1:10000)\n"
        f'  {python} -c "from pyhive import hive; {client}"'
    )
