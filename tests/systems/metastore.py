"""Runs two servers on one metastore in a real PostgreSQL: one builds while the other answers; a restart loses nothing.

Everything is under `.build/demo_metastore`, which is deleted at the start and kept at the end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from dbt_common.events.base_types import EventMsg

from change_tables.server.jars import POSTGRESQL, JarsError, check_java, postgresql_folder, resolve_jars, resolved_jars
from change_tables.server.local_server import LocalServer, LocalServerError, local_server, short_lived
from change_tables.server.metastore import PASSWORD
from demo.database import TABLES
from demo.landing import Connection, execute, fetch
from demo.oracle import compare, land_truth
from demo.progress import Progress
from demo.project import PROJECT, DbtError, DbtProject
from demo.run import models_of, play_batches
from demo.workload import Workload
from demo.writers import WRITERS
from tests.systems.postgres_server import (
    OWNER,
    NoPostgresError,
    Postgres,
    PostgresError,
    Programs,
    find_postgres,
    postgres_server,
)

FOLDER = PROJECT / ".build" / "demo_metastore"
FEED = "qlik_change_tables"
TABLE = "orders"

_CURRENT = f"current_{FEED}__{TABLE}"
_SETTINGS = short_lived(2)
_LONG = 60_000  # characters of a view; a staging view over some hundred columns has as many


def main() -> int:
    """The command line; returns its exit code: 1 where anything is wrong, 3 where PostgreSQL or a jar cannot be had."""
    try:
        programs = find_postgres(FOLDER)
        check_java()
        resolved_jars()
        resolve_jars(postgresql_folder(), POSTGRESQL)
    except (NoPostgresError, JarsError) as failure:
        print(f"demo-metastore: not run: {failure}", file=sys.stderr)
        return 3
    try:
        mistakes = run(FOLDER, programs)
    except (PostgresError, DbtError, LocalServerError) as failure:
        print(f"demo-metastore: {failure}", file=sys.stderr)
        return 1
    for mistake in mistakes:
        print(mistake)
    if not mistakes:
        print(
            "Two servers share a metastore in PostgreSQL, what they made outlives them, and bad settings are one line."
        )
    return 1 if mistakes else 0


def run(folder: Path, programs: Programs) -> list[str]:
    """Runs it in a folder, which is deleted first; what is wrong.

    Raises:
        PostgresError, DbtError, LocalServerError: something does not start, or a build fails.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    writer = WRITERS[FEED](1)
    workload = Workload(1, swaps=writer.swaps)
    with Progress() as progress, ExitStack() as stack:
        with progress.phase("starting", 3):
            with progress.step("dbt parse"):
                project = DbtProject(folder)
            with progress.step("PostgreSQL"):
                postgres = stack.enter_context(postgres_server(folder / "postgres", programs))
            with progress.step("the server that builds"):
                place = _Place(folder, postgres)
                builder = place.server("builder")
                server = builder.__enter__()
        try:
            with progress.phase("starting", 1), progress.step("the server that answers"):
                reader = stack.enter_context(place.server("reader"))
            progress.say(f"two servers share a metastore on port {postgres.port} of 127.0.0.1")
            mistakes = place.secrets_shown()
            options = project.options_for(models_of(FEED, (TABLE,)))
            with _answering(reader, f"select count(*) from {project.relations[_CURRENT]}") as answers:
                results, found = play_batches(
                    project, server, [writer], workload, (TABLE,), progress, options, answers.watch
                )
            mistakes += found + answers.mistakes()
            mistakes += _mistakes_of_long_view(server, reader)
            with server.connect() as connection:
                before = _listed(connection)
        finally:
            builder.__exit__(None, None, None)
        progress.say(f"{answers.count} answers during the builds; the server that builds is restarted")
        with progress.phase("comparing", 1), progress.step("restart"), place.server("builder") as server:
            connection = server.connect()
            if (after := _listed(connection)) != before:
                mistakes.append(f"after the restart there are {sorted(after ^ before)} more or less")
            truth = land_truth(connection, TABLES[TABLE], workload.database.contents()[TABLE])
            if not compare(connection, TABLES[TABLE], project.relations[_CURRENT], truth).equal:
                mistakes.append(f"after the restart {_CURRENT} differs from the source database")
            connection.close()
        progress.say(f"{len(before)} tables and views are there after the restart")
        with progress.phase("bad settings", 1), progress.step("each is one line"):
            mistakes += place.mistakes_of_complaints()
        mistakes += place.secrets_shown()
    print(f"\n{results}\n")
    return mistakes


class _Place:
    """The metastore and the tables that the servers share."""

    def __init__(self, folder: Path, postgres: Postgres) -> None:
        self._folder = folder
        self._postgres = postgres
        self._address = f"127.0.0.1:{postgres.port}"
        self._url = f"postgresql://{OWNER}@{self._address}/metastore"
        postgres.run("create database metastore;")

    def server(self, name: str) -> AbstractContextManager[LocalServer]:
        """A server of this name, with a folder of its own."""
        options = ("--metastore", self._url, "--tables", str(self._folder / "tables"))
        return local_server(
            self._folder / name, _SETTINGS, options=options, variables={PASSWORD: self._postgres.password}
        )

    def secrets_shown(self) -> list[str]:
        """Where the password can be read by others: on command lines, in the environment of JVMs, in the logs."""
        shown = os.fsencode(self._postgres.password)
        places = [*Path("/proc").glob("[0-9]*/cmdline"), *self._folder.glob("*/server.log"), *_environments_of_java()]
        return [f"the password is in {place}" for place in places if shown in _bytes(place)]

    def mistakes_of_complaints(self) -> list[str]:
        """What servers say of settings that are wrong, where that is not as it must be."""
        self._postgres.run("create database other;")
        self._postgres.run("""create table "VERSION" as select '3.1.0' as "SCHEMA_VERSION";""", "other")
        address, password = self._address, self._postgres.password
        cases = [
            ("metastore", "wrong", "tables", f"PostgreSQL at {address} refuses user '{OWNER}' with this password: "),
            ("nowhere", password, "tables", f"PostgreSQL at {address} has no database 'nowhere': make it, or "),
            ("other", password, "tables", f"the metastore in database 'other' at {address} has tables of Hive 3.1.0, "),
            ("metastore", password, "elsewhere", f"the tables of this metastore are in file:{self._folder}/tables, "),
        ]
        mistakes = []
        for database, given, tables, expected in cases:
            command = [sys.executable, "-m", "change_tables", "server", "--port", "0"]
            command += ["--warehouse", str(self._folder / "refused"), "--tables", str(self._folder / tables)]
            command += ["--metastore", self._url.replace("/metastore", f"/{database}")]
            environment = os.environ | {PASSWORD: given}
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=PROJECT)
            said = done.stderr.splitlines()
            if done.returncode != 1 or len(said) != 1 or not said[0].startswith(f"change_tables: {expected}"):
                mistakes.append(f"a server must say '{expected}…', and says {said}")
        return mistakes


def _environments_of_java() -> Iterator[Path]:
    for name in Path("/proc").glob("[0-9]*/comm"):
        if _bytes(name) == b"java\n":
            yield name.with_name("environ")


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""  # the process has ended meanwhile, or is another user's


class _Answers:
    """A reader's answers while another server builds."""

    def __init__(self, reader: LocalServer, query: str) -> None:
        self.count = 0
        self._connection = reader.connect()
        self._query = query
        self._ended = threading.Event()
        self._begun = threading.Event()
        self._failures: list[str] = []
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def watch(self, batch: int, event: EventMsg) -> None:
        """Takes an event of dbt's: the tables are there when the second batch is built."""
        if batch > 1 and event.info.name == "NodeStart":
            self._begun.set()
        if event.info.name == "CommandCompleted":
            self._begun.clear()

    def end(self) -> None:
        """No more questions."""
        self._ended.set()
        self._thread.join()
        self._connection.close()

    def mistakes(self) -> list[str]:
        """What went wrong."""
        return self._failures or ([] if self.count else ["the reader has answered nothing during a build"])

    def _ask(self) -> None:
        while not self._ended.is_set():
            if not self._begun.wait(0.2):
                continue
            try:
                ((rows,),) = fetch(self._connection, self._query)
            except Exception as error:  # noqa: BLE001  # whatever it is, it is told
                self._failures.append(f"the reader did not answer during a build: {str(error)[:300]}")
                return
            if not rows:
                self._failures.append("the reader saw an empty table during a build")
            self.count += 1


@contextmanager
def _answering(reader: LocalServer, query: str) -> Iterator[_Answers]:
    answers = _Answers(reader, query)
    try:
        yield answers
    finally:
        answers.end()


def _mistakes_of_long_view(server: LocalServer, reader: LocalServer) -> list[str]:
    texts = ", ".join(f"'{'x' * 90}' as column_{number}" for number in range(_LONG // 100))
    with server.connect() as connection:
        execute(connection, f"create view default.long_view as select {texts}")
    with reader.connect() as connection:
        ((read,),) = fetch(connection, f"select column_{_LONG // 100 - 1} from default.long_view")
    return [] if read == "x" * 90 else [f"a view of {_LONG} characters is not read as it was made"]


def _listed(connection: Connection) -> set[tuple[str, str]]:
    return {
        (schema, name)
        for (schema,) in fetch(connection, "show schemas")
        for _, name, *_ in fetch(connection, f"show tables in {schema}")
    }


if __name__ == "__main__":
    sys.exit(main())
