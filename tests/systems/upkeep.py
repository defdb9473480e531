"""The commands for the life of a lake, on the demo's lake of all feeds: each dry first, then for good, then a build.

They work on a copy of this project, since some change its files. Everything is under `.build/demo_upkeep`, which is
deleted at the start and kept at the end.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import yaml

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
LOADED = "orders"
"""The table of each feed that is loaded again."""
REMOVED = "machine_settings"
"""The table of each feed that is removed in the end."""
KEPT = ("goldengate_trail", "qlik_kafka")
"""The feeds whose tables stay on the lake when it is."""
KINDS = ("dedup", "current", "history")
COPY = FOLDER / "project"


class Lake:
    """The lake, its project, and what the commands on it said."""

    def __init__(self, server: LocalServer) -> None:
        """Connect, and copy the project."""
        self._server = server
        self._copy_project()
        self._parse()
        self._connection: Connection = server.connect()
        self.mistakes: list[str] = []

    def _copy_project(self) -> None:
        for name in ("macros", "models", "seeds", "tests/generic"):
            shutil.copytree(PROJECT / name, COPY / name)
        settings = yaml.safe_load((PROJECT / "dbt_project.yml").read_text()) | {"model-paths": ["models"]}
        (COPY / "dbt_project.yml").write_text(yaml.safe_dump(settings, sort_keys=False))

    def _parse(self) -> None:
        self._project = DbtProject(FOLDER / "demo", root=COPY)

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
        """What a command says, for good; first dry, which must change nothing. One that fails is noted."""
        before = self.commits(), self._files()
        self._say(arguments, dry=True)
        self.expect((self.commits(), self._files()) == before, f"{' '.join(arguments)} --dry-run has written")
        return self._say(arguments, dry=False)

    def _files(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in (COPY / "models").rglob("*") if path.is_file()}

    def _say(self, arguments: Sequence[str], *, dry: bool) -> str:
        folders = ["--project-dir", str(COPY), "--profiles-dir", str(PROFILES)]
        told = [*arguments, *folders, *(["--dry-run"] if dry else [])]
        with redirect_stdout(StringIO()) as said, redirect_stderr(said):
            code = change_tables(told)
        self.expect(code == 0, f"{' '.join(told)} ended with {code}:\n{said.getvalue()}")
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

    def load_again(self, feed: str) -> str:
        """Make a load of what the source has by now, of which one row has another key; the load's name.

        It is taken after the last change: one at the sequence of the load would be applied to its rows.
        """
        log, current = (self._project.relations[f"{kind}_{feed}__{LOADED}"] for kind in ("dedup", "current"))
        ((last,),) = fetch(self._connection, f"select max(_change_seq) from {log}")
        path = COPY / "models" / "staging" / feed / f"_{feed}__sources.yml"
        described = yaml.safe_load(path.read_text())
        entries: list[dict[str, Any]] = described["sources"][0]["tables"]
        entry = next(entry for entry in entries if entry["name"] == LOADED)
        spec = entry["config"]["meta"]["change_table"]
        if "snapshot" not in spec:
            spec["snapshot"] = f"{LOADED}_again"
            entries.append({"name": spec["snapshot"], "identifier": f"{feed}__{spec['snapshot']}"})
        spec["snapshot_seq"] = re.sub(r"\d+$", lambda digits: f"{int(digits[0]) + 1:0{len(digits[0])}d}", str(last))
        path.write_text(yaml.safe_dump(described, sort_keys=False))
        load = next(entry["identifier"] for entry in entries if entry["name"] == spec["snapshot"])
        load = f"{RAW_SCHEMA}.{quoted(load)}"
        (key,) = TABLES[LOADED].key
        others = [quoted(column["name"]) for column in entry["columns"] if column["name"] != key]
        execute(self._connection, f"drop table if exists {load}")
        execute(
            self._connection,
            f"create table {load} using parquet as select {', '.join(others)},"
            f" if({key} = min({key}) over (), max({key}) over () + 1, {key}) as {key} from {current}",
        )
        return load

    def differs_from(self, load: str, feed: str) -> int:
        """How many rows of the current model are not in the load, or the other way round."""
        current = self._project.relations[f"current_{feed}__{LOADED}"]
        names = ", ".join(row[0] for row in fetch(self._connection, f"show columns in {load}"))
        ((number,),) = fetch(
            self._connection,
            f"select count(*) from ((select {names} from {load} except all select {names} from {current})"
            f" union all (select {names} from {current} except all select {names} from {load}))",
        )
        return int(number)

    def without(self, removed: Sequence[str]) -> None:
        """Read the project again: these models are not in it any more, and what they were is on the lake or not."""
        relations = {name: self._project.relations[name] for name in removed}
        self._parse()
        for name, relation in relations.items():
            self.expect(name not in self._project.relations, f"remove: {name} is in the project still")
            schema, _, identifier = relation.replace("`", "").rpartition(".")
            shown = fetch(self._connection, f"show tables in {schema} like '{identifier}*'")
            is_kept = any(f"_{feed}__" in name for feed in KEPT)
            self.expect(bool(shown) == is_kept, f"remove: {name}: on the lake there is {shown}")
            if is_kept:
                fetch(self._connection, f"select count(*) from {relation}")

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
            mistakes += _keep_up(Lake(server))
    except (DemoError, DbtError, LocalServerError) as failure:
        print(f"upkeep: {failure}", file=sys.stderr)
        return 1
    for mistake in mistakes:
        print(f"upkeep: {mistake}", file=sys.stderr)
    if not mistakes:
        print(f"The commands did what they say on a lake of {', '.join(WRITERS)}.")
    return 1 if mistakes else 0


def _keep_up(lake: Lake) -> list[str]:
    with Progress() as progress:
        with progress.phase("acknowledge, purge, maintain, forget"):
            _keep_small(lake, progress)
        with progress.phase("reload"):
            _load_again(lake)
        with progress.phase("remove"):
            _remove(lake, progress)
    return lake.mistakes


def _keep_small(lake: Lake, progress: Progress) -> None:
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


def _load_again(lake: Lake) -> None:
    for feed in WRITERS:
        load = lake.load_again(feed)
        said = lake.command("reload", LOADED, "--source", feed)
        told = re.search(r"keys that live it ends 1, and it begins 1$", said, re.MULTILINE)
        lake.expect(told is not None, f"reload {feed}: does not say that a key ends and one begins:\n{said}")
        differ = lake.differs_from(load, feed)
        lake.expect(differ == 0, f"reload {feed}: {differ} rows of the current model differ from the load")


def _remove(lake: Lake, progress: Progress) -> None:
    rows = lake.rows()
    for feed in WRITERS:
        lake.command("remove", REMOVED, "--source", feed, *(["--keep-data"] if feed in KEPT else []))
    removed = [f"{kind}_{feed}__{REMOVED}" for feed in WRITERS for kind in ("stg", "dedup", "current")]
    lake.without(removed)
    lake.build(progress)
    left = {name: counted for name, counted in rows.items() if name not in removed}
    lake.expect(lake.rows() == left, "remove: the models that are left differ")


if __name__ == "__main__":
    sys.exit(main())
