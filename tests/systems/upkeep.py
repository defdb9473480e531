"""The commands for the life of a lake, on the demo's lake of all feeds: each dry first, then for good, then a build.

Everything is under `.build/demo_upkeep`, which is deleted at the start and kept at the end.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from io import StringIO

from change_tables.cli.main import main as change_tables
from change_tables.server.jars import JarsError, check_java, resolved_jars
from change_tables.server.local_server import LocalServer, LocalServerError, little_data, local_server
from demo.database import TABLES
from demo.landing import Connection, execute, fetch, quoted
from demo.progress import Progress
from demo.project import PROFILES, PROJECT, DbtError, DbtProject
from demo.run import ALL, RAW_SCHEMA, DemoError, run_demo
from demo.writers import WRITERS

FOLDER = PROJECT / ".build" / "demo_upkeep"
ERASED = {feed: "prices" if feed.startswith("qlik") else "orders" for feed in WRITERS}
"""The table of each feed of which a key is erased; that of `prices` has two columns."""
PURGED = "qlik_kafka"
"""The feed whose raw table is purged. Of the others all rows are read again."""
KINDS = ("dedup", "current", "history")


class UpkeepError(Exception):
    """A command failed; the text is what it said."""


class Lake:
    """The lake, its project, and what the commands on it said."""

    def __init__(self, server: LocalServer, project: DbtProject) -> None:
        """Connect."""
        self._server, self._project = server, project
        self._connection: Connection = server.connect()
        self.mistakes: list[str] = []

    def rows(self) -> dict[str, tuple[int, object]]:
        """How many rows each model with a table has, and a sum over them."""
        hashed = "count(*), sum(cast(xxhash64(to_json(struct(*))) as decimal(38, 0)))"
        found = {}
        for name, relation in self._project.relations.items():
            if name.partition("_")[0] in KINDS:
                ((number, summed),) = fetch(self._connection, f"select {hashed} from {relation}")
                found[name] = (int(number), summed)
        return found

    def commits(self) -> set[str]:
        """The commits to all tables, raw ones too."""
        return {str(file) for file in (FOLDER / "server" / "warehouse").rglob("_delta_log/*.json")}

    def command(self, *arguments: str) -> str:
        """What a command says: dry, which must write nothing, and then for good.

        Raises:
            UpkeepError: it failed.
        """
        commits = self.commits()
        self._say(arguments, dry=True)
        self.expect(self.commits() == commits, f"{' '.join(arguments)} --dry-run has written")
        return self._say(arguments, dry=False)

    def _say(self, arguments: Sequence[str], *, dry: bool) -> str:
        folders = ["--project-dir", str(PROJECT), "--profiles-dir", str(PROFILES)]
        with redirect_stdout(StringIO()) as said, redirect_stderr(said):
            code = change_tables([*arguments, *folders, *(["--dry-run"] if dry else [])])
        if code:
            raise UpkeepError(f"{' '.join(arguments)} ended with {code}:\n{said.getvalue()}")
        return said.getvalue()

    def build(self, progress: Progress, *options: str) -> None:
        """`dbt build`, with all data tests."""
        self._project.build(self._server, progress, options)

    def keep_in_delta(self, name: str) -> None:
        """Keep a raw table as a Delta table from now on: purge leaves others alone."""
        table = f"{RAW_SCHEMA}.{quoted(name)}"
        execute(self._connection, f"create table {RAW_SCHEMA}.kept using delta as select * from {table}")
        execute(self._connection, f"drop table {table}")
        execute(self._connection, f"alter table {RAW_SCHEMA}.kept rename to {table}")

    def unmoved_key(self, feed: str, table: str) -> tuple[str, str]:
        """A key that no row moved from or to, as JSON and as a condition."""
        key = [quoted(name) for name in TABLES[table].key]
        log, current = (self._project.relations[f"{kind}_{feed}__{table}"] for kind in ("dedup", "current"))
        moves = [
            " and ".join(f"moved.{prefix}{name} <=> living.{name}" for name in key) for prefix in ("", "_key_before.")
        ]
        ((text, condition),) = fetch(
            self._connection,
            f"select to_json(struct({', '.join(key)}), map('ignoreNullFields', 'false')), "
            f"concat_ws(' and ', {', '.join(_equals(name) for name in key)}) from {current} as living"
            f" where not exists (select 1 from {log} as moved where moved._key_before is not null"
            f" and (({moves[0]}) or ({moves[1]}))) order by 1 limit 1",
        )
        return str(text), str(condition)

    def rows_of_key(self, feed: str, table: str, condition: str) -> int:
        """How many rows of a key the models of a table have."""
        relations = (self._project.relations.get(f"{kind}_{feed}__{table}") for kind in KINDS)
        counts = [f"(select count(*) from {relation} where {condition})" for relation in relations if relation]
        return int(str(fetch(self._connection, f"select {' + '.join(counts)}")[0][0]))

    def open_code(self) -> tuple[str, str, str]:
        """A source, a table of it, and a code of rows that are rejected."""
        listed = self._project.relations["rejected_changes"]
        ((source, table, code),) = fetch(
            self._connection,
            f"select source_name, table_name, reason_code from {listed} where healed_at is null order by 1, 2 limit 1",
        )
        return str(source), str(table), str(code)

    def acknowledged(self) -> int:
        """How many rejected rows are acknowledged."""
        listed = self._project.relations["rejected_changes"]
        return int(str(fetch(self._connection, f"select count(acknowledged_at) from {listed}")[0][0]))

    def expect(self, holds: bool, otherwise: str) -> None:
        """Note what does not hold."""
        if not holds:
            self.mistakes.append(otherwise)


def _equals(name: str) -> str:
    value = f"cast({name} as string)"
    return f"if({name} is null, '{name} is null', concat('cast({name} as string) = ''', {value}, ''''))"


def main() -> int:
    """The command line; returns its exit code: 1 where anything is wrong, 3 where the jars cannot be had."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    try:
        check_java()
        resolved_jars()
    except JarsError as failure:
        print(f"upkeep: not run: {failure}", file=sys.stderr)
        return 3
    try:
        with local_server(FOLDER / "server", little_data(4)) as server:
            is_equal = run_demo(FOLDER / "demo", ALL, seed=1, scale=1, start=lambda _: nullcontext(server))
            mistakes = [] if is_equal else ["the demo differs from its source"]
            os.environ.update(server.environment())
            mistakes += _keep_up(Lake(server, DbtProject(FOLDER / "demo")))
    except (DemoError, DbtError, LocalServerError, UpkeepError) as failure:
        print(f"upkeep: {failure}", file=sys.stderr)
        return 1
    for mistake in mistakes:
        print(f"upkeep: {mistake}", file=sys.stderr)
    if not mistakes:
        print(f"The commands did what they say on a lake of {', '.join(WRITERS)}.")
    return 1 if mistakes else 0


def _keep_up(lake: Lake) -> list[str]:
    with Progress() as progress, progress.phase("commands"):
        rows = lake.rows()
        source, table, code = lake.open_code()
        lake.command("acknowledge", table, "--source", source, "--code", code, "--note", "known")
        lake.build(progress, "--select", "rejected_changes")
        lake.expect(lake.acknowledged() > 0, "acknowledge: no row is acknowledged")
        for raw_table in WRITERS[PURGED](1).raw_tables:
            lake.keep_in_delta(raw_table.name)
        said = lake.command("purge", "--with-rejected")
        deleted = re.search(r"^[1-9]\d* rows deleted from", said, re.MULTILINE)
        lake.expect(deleted is not None, f"purge: deletes none:\n{said}")
        lake.command("maintain")
        lake.build(progress)
        lake.expect(lake.rows() == rows, "after purge, maintain and a build the models differ")
        gone = {feed: lake.unmoved_key(feed, table) for feed, table in ERASED.items()}
        for feed, (key, condition) in gone.items():
            lake.expect(lake.rows_of_key(feed, ERASED[feed], condition) > 1, f"{feed}: {key} has no rows")
            lake.command("forget", ERASED[feed], "--source", feed, "--key", key)
        lake.build(progress, "--vars", "{change_tables_rescan: true}")
        for feed, (key, condition) in gone.items():
            left = lake.rows_of_key(feed, ERASED[feed], condition)
            lake.expect(left == 0, f"forget {feed}: {key} has {left} rows after a rescan")
    after = lake.rows()
    touched = {f"{kind}_{feed}__{table}" for feed, table in ERASED.items() for kind in KINDS}
    lake.expect(all(rows[name] == after[name] for name in rows.keys() - touched), "forget: other tables differ")
    lost = {f"current_{feed}__{table}" for feed, table in ERASED.items()}
    lake.expect(
        all(after[name][0] == rows[name][0] - 1 for name in lost), "forget: a current model has not lost one row alone"
    )
    return lake.mistakes


if __name__ == "__main__":
    sys.exit(main())
