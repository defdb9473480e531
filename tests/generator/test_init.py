"""`change-tables init` and `change-tables diff` against a server, and what dbt makes of what they write."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from change_tables.generator.commands import diff, init
from change_tables.generator.found import LakeError
from change_tables.generator.lake import ThriftLake
from change_tables.server.local_server import LocalServer
from tests.generator.change_tables import HEADERS, new_project
from tests.pipelines.consumer import Consumer
from tests.pipelines.landing import Raw

ORDERS = {**HEADERS, "id": "bigint", "status": "string"}
KEYS = ["--key", "*:id"]


@pytest.fixture(scope="module")
def raw(server: LocalServer) -> Iterator[Raw]:
    """A connection to the server."""
    connection = server.connect()
    yield Raw(connection)
    connection.close()


class Installed:
    """A project that installs the package, and the commands on it."""

    def __init__(self, folder: Path, server: LocalServer, schema: str) -> None:
        """Make the project, without a model. Its raw tables are in `<schema>_raw`."""
        self.consumer = Consumer(folder, server.port, schema, keeps_artifacts=True)
        self.consumer.write([])
        for file in (folder / "models").iterdir():
            file.unlink()
        self.folder, self.schema = folder, schema
        (folder / ".gitignore").write_text("dbt_packages/\nlogs/\ntarget/\npackage-lock.yml\n")
        self._git("init", "--quiet")

    def init(self, *arguments: str) -> Result:
        """`change-tables init`."""
        return CliRunner().invoke(init, [*self._common(), *arguments], catch_exceptions=False)

    def diff(self, *arguments: str) -> Result:
        """`change-tables diff`."""
        return CliRunner().invoke(diff, [*self._common(), *arguments], catch_exceptions=False)

    def _common(self) -> list[str]:
        feed = ["--format", "qlik_change_tables", "--source", "shop", "--raw-schema", f"{self.schema}_raw"]
        return [*feed, "--project-dir", str(self.folder), "--port", str(self.consumer.port)]

    def parse(self) -> None:
        """Parse with every warning an error."""
        self.consumer.dbt("parse", "--no-partial-parse", strict=True)

    def commit(self) -> None:
        """Commit what is there."""
        self._git("add", "--all")
        self._git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--message", "x")

    def changed_lines(self) -> list[str]:
        """Lines that differ from the commit, and files that it has not."""
        lines = self._git("diff", "--unified=0").splitlines()
        changed = [line for line in lines if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")]
        return changed + self._git("ls-files", "--others", "--exclude-standard").splitlines()

    def built(self, *arguments: str) -> set[str]:
        """Names of the models that a build has built."""
        return {
            run.node.name for run in self.consumer.dbt("build", *arguments).result if run.node.resource_type == "model"
        }

    def _git(self, *arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=self.folder, check=True, capture_output=True, text=True).stdout


def rows(*changes: tuple[int, str, int, str], landed: datetime | None = None) -> list[list[object]]:
    """Rows of a change table: (sequence, letter, id, status)."""
    headers = [None, None, None, None, None]
    further = [landed] if landed else []
    return [[f"{number:035d}", letter, *headers, key, status, *further] for number, letter, key, status in changes]


def test_a_project_is_written_parsed_built_and_followed(server: LocalServer, raw: Raw, tmp_path: Path) -> None:
    project = Installed(tmp_path / "project", server, "generated")
    raw.create("generated_raw.orders__ct", ORDERS | {"status": "string", "amount": "string"})
    raw.create("generated_raw.orders", {"id": "bigint", "status": "string", "amount": "decimal(9,2)"})
    raw.create("generated_raw.`order__ct`", {**HEADERS, "order": "int", "it's": "string", "unit price": "date"})
    raw.create("generated_raw.other__ct", {"id": "int"})
    raw.query("comment on table generated_raw.orders__ct is 'What was ordered.'")
    raw.query("alter table generated_raw.orders__ct alter column status comment 'new, paid or sent'")
    raw.insert("generated_raw.orders", [[1, "old", Decimal("1.50")]])
    raw.insert("generated_raw.orders__ct", [[*row, "2.50"] for row in rows((1, "I", 2, "new"))])
    arguments = [*KEYS, "--key", "order:order,unit price", "--history", "orders"]

    result = project.init(*arguments, "--dry-run")
    assert "would be written" in result.stdout
    assert list((project.folder / "models").iterdir()) == []
    result = project.init(*arguments)
    assert result.exit_code == 1  # because of the table that is no change table
    (line,) = result.stderr.splitlines()
    assert line.startswith("change_tables: generated_raw.other__ct: has no columns …change_seq and …change_oper")
    assert (
        "types differ between a change table and its load:\n  generated_raw.orders__ct and its load"
        " generated_raw.orders: amount is string, and decimal(9,2) in the load. A value that does not fit"
    ) in result.stdout
    project.parse()
    assert {
        "current_shop__orders",
        "current_shop__order",
        "history_shop__orders",
        "rejected_changes",
    } <= project.built()
    assert raw.query("select id, status, amount from generated_analysts.current_shop__orders order by id") == [
        (1, "old", Decimal("1.50")),
        (2, "new", Decimal("2.50")),
    ]
    # what people read is alone in a schema, with what the source says of it
    read = ["current_shop__order", "current_shop__orders", "history_shop__orders"]
    assert sorted(row[1] for row in raw.query("show tables in generated_analysts")) == read
    tables = {row[1] for row in raw.query("show tables in generated")}
    assert {f"{model}__state" for model in read} | {"dedup_shop__orders", "rejected_changes"} <= tables
    described = {row[0]: row[2] for row in raw.query("describe generated_analysts.current_shop__orders")}
    assert described["status"] == "new, paid or sent"
    of_view = {row[0]: row[1] for row in raw.query("describe extended generated_analysts.history_shop__orders")}
    assert of_view["Comment"].endswith(" What was ordered.")

    project.commit()
    assert project.diff(*arguments, "--exclude", "other__ct").exit_code == 0
    raw.query("alter table generated_raw.orders__ct add columns (place int)")
    raw.query("alter table generated_raw.orders add columns (place int)")
    result = project.diff(*arguments, "--exclude", "other__ct")
    assert (result.exit_code, project.changed_lines()) == (1, [])
    assert "orders: column place int is new" in result.stdout
    assert project.init(*arguments, "--exclude", "other__ct").exit_code == 0
    assert project.changed_lines() == ["+          - {name: place, data_type: int}"]
    project.built()


def test_a_table_without_a_key_is_refused_by_a_line_that_says_what_to_do(
    server: LocalServer, raw: Raw, tmp_path: Path
) -> None:
    project = Installed(tmp_path / "project", server, "keyless")
    raw.create("keyless_raw.orders__ct", ORDERS)
    result = project.init()
    assert (result.exit_code, "without key" in result.stdout) == (0, True)
    project.parse()
    refused = project.consumer.dbt("build", must_succeed=False)
    assert (
        "change_tables: source 'shop.orders': `key` must name the columns that identify a row, got [];"
        " declared: id, status" in project.consumer.errors(refused)
    )


def test_only_models_of_a_table_that_has_news_are_built(server: LocalServer, raw: Raw, tmp_path: Path) -> None:
    project = Installed(tmp_path / "project", server, "news")
    for table in ("orders", "stock"):
        raw.create(f"news_raw.{table}__ct", ORDERS | {"landed_at": "timestamp"})
        raw.insert(f"news_raw.{table}__ct", rows((1, "I", 1, "new"), landed=datetime(2026, 1, 1, tzinfo=UTC)))
    project.init(*KEYS, "--option", "ignore=landed_at", "--freshness-column", "landed_at")
    project.parse()
    project.consumer.dbt("source", "freshness")
    project.built()
    state = tmp_path / "state"
    shutil.copytree(project.folder / "target", state)
    project.consumer.dbt("source", "freshness")
    select = ("--select", "source_status:fresher+", "--state", str(state))
    assert project.built(*select) == set()
    raw.insert("news_raw.stock__ct", rows((2, "U", 1, "sold"), landed=datetime(2026, 1, 2, tzinfo=UTC)))
    project.consumer.dbt("source", "freshness")
    assert project.built(*select) == {
        *("stg_shop__stock", "dedup_shop__stock", "current_shop__stock"),
        *("rejected_changes", "reported_changes"),
    }
    assert raw.query("select status from news_analysts.current_shop__stock") == [("sold",)]


@pytest.mark.slow
def test_two_hundred_tables_are_written_in_two_minutes_and_a_new_column_is_the_whole_difference(
    server: LocalServer, raw: Raw, tmp_path: Path
) -> None:
    project = Installed(tmp_path / "project", server, "many")
    columns = ", ".join(f"{name} {kind}" for name, kind in ORDERS.items())
    raw.query("create schema many_raw")
    names = [f"t{number:03}" for number in range(200)]
    for name in names:
        raw.query(f"create table many_raw.{name}__ct ({columns}) using parquet")
    keys = tmp_path / "keys.csv"
    keys.write_text("table,key\n" + "".join(f"{name},id\n" for name in names))
    started = time.monotonic()
    result = project.init("--keys", str(keys))
    taken = time.monotonic() - started
    assert result.exit_code == 0, result.output
    assert taken < 120
    assert len(list((project.folder / "models").rglob("*.sql"))) == 602
    project.parse()
    raw.insert("many_raw.t007__ct", rows((1, "I", 1, "new")))
    selected = [f"{kind}_shop__{name}" for name in ("t000", "t007", "t199") for kind in ("stg", "dedup", "current")]
    project.consumer.dbt("seed")
    assert project.built("--select", *selected) == set(selected)
    assert raw.query("select id, status from many_analysts.current_shop__t007") == [(1, "new")]

    project.commit()
    raw.query("alter table many_raw.t123__ct add columns (extra date)")
    assert project.init("--keys", str(keys)).exit_code == 0
    assert project.changed_lines() == ["+          - {name: extra, data_type: date}"]


def test_a_server_says_what_it_has_and_on_one_line_what_it_lacks(server: LocalServer, raw: Raw) -> None:
    wide = f"struct<{','.join(f'f{number}:int' for number in range(30))}>"
    raw.query("create schema if not exists lake_raw")
    raw.query(
        f"create table lake_raw.B (id bigint comment 'x', `it's` decimal(9,2), s {wide})"
        " using parquet partitioned by (id)"
    )
    raw.query("create or replace view lake_raw.a as select 1 as one")
    lake = ThriftLake(server.host, server.port)
    assert lake.tables("lake_raw") == ["a", "b"]
    assert lake.columns("lake_raw", "b") == [("it's", "decimal(9,2)"), ("s", wide), ("id", "bigint")]
    assert lake.query("select 1, 'x'") == [(1, "x")]
    for ask in (lambda: lake.columns("lake_raw", "c"), lambda: lake.tables("nowhere"), lambda: lake.query("select")):
        with pytest.raises(LakeError) as raised:
            ask()
        assert re.fullmatch(r"\[[A-Z_.]+\] [^\n]+", str(raised.value))
    lake.close()


# what is given -> what is said
MISTAKES: list[tuple[Sequence[str], str]] = [
    (["--port", "1"], "nothing answers on 127.0.0.1:1: "),
    (["--raw-schema", "nowhere"], "nowhere"),
    (["--key", "id"], "--key must be pattern:column or pattern:column,column, got 'id'"),
    (["--keys", "no.csv"], "no.csv: cannot be read: No such file or directory"),
    (
        ["--option", "x=1"],
        "must be name=value of format qlik_change_tables, got 'x=1'; allowed: change_tables: ",
    ),
    (["--option", "load=x"], "option load must be none or have one *, the name of the source table, got 'x'"),
    (["--folder", "elsewhere"], "elsewhere: must be in a folder of the project's models"),
]


@pytest.mark.parametrize(("arguments", "said"), MISTAKES)
@pytest.mark.parametrize("command", [init, diff])
def test_what_cannot_be_done_is_one_line(
    server: LocalServer, raw: Raw, tmp_path: Path, command: object, arguments: Sequence[str], said: str
) -> None:
    raw.query("create schema if not exists empty_raw")
    project = new_project(tmp_path / "project")
    common = ["--format", "qlik_change_tables", "--source", "shop", "--raw-schema", "empty_raw"]
    common += ["--project-dir", str(project), "--port", str(server.port)]
    result = CliRunner().invoke(command, [*common, *arguments])  # type: ignore[arg-type]  # the list has both commands
    assert result.exit_code == 1
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("change_tables: ")
