"""Tables of Iceberg: pages of a feed, runs that meet or die, changed columns, upkeep; on a server of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from change_tables.server.jars import ICEBERG, iceberg_folder, resolve_jars
from change_tables.server.local_server import LocalServer, local_server, short_lived

from .cases import Case, Results, assert_rejected, assert_reported, assert_statuses, build_batches
from .consumer import Consumer, Entry
from .landing import Raw
from .qlik_cases import CASES, SPARSE_VERSIONS, TWO_HEADERS, WITH_HISTORY, bare, full, seq
from .statements import hanging, intercepted, let_go, letting_go, wait_until_hanging

pytestmark = pytest.mark.slow

SCHEMA = "ice_pages"
PAGES = [case for case in CASES if case.entry.name in ("defaults", "sparse")]
BUSY_COLUMNS = {"id": "int", "name": "string", "amount": "decimal(10,2)", "pieces": "int"}
BUSY = Entry("busy", TWO_HEADERS | {"arrival": "batch"}, BUSY_COLUMNS, WITH_HISTORY)
BUSY_CASE = Case(
    BUSY,
    {"header__change_seq": "string", "header__change_oper": "string"} | BUSY_COLUMNS | {"batch": "int"},
    [[bare(10, "I", 1, "a", None, 1, 1), bare(11, "X", 1, "a", None, 1, 1)], [bare(20, "U", 1, "b", None, 1, 2)]],
    {("accepted", None): 2, ("rejected", "unknown_operation"): 1},
    [{(1, "a")}, {(1, "b")}],
)
CASES_HERE = [*PAGES, BUSY_CASE]
MODELS = ("dedup", "current", "history")
TABLE = f"{SCHEMA}_raw.busy"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A server whose tables are Iceberg."""
    resolve_jars(iceberg_folder(), ICEBERG)
    settings = short_lived(3) | {"spark.sql.catalogImplementation": "in-memory", "spark.master": "local[6]"}
    with local_server(tmp_path_factory.mktemp("iceberg"), settings, options=["--table-format", "iceberg"]) as found:
        yield found


@pytest.fixture(scope="module")
def raw(server: LocalServer) -> Iterator[Raw]:
    """A connection to land raw rows over and to read models with."""
    connection = server.connect()
    yield Raw(connection, "iceberg")
    connection.close()


@pytest.fixture(scope="module")
def project(server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Consumer:
    """A project with all tables."""
    return Consumer(tmp_path_factory.mktemp(SCHEMA) / "project", server.port, SCHEMA, table_format="iceberg")


@pytest.fixture(scope="module")
def results(project: Consumer, raw: Raw) -> Results:
    """The current rows of each table after batch 1, batch 2, and a full refresh of two. One lands by commits."""
    landed_as = {"sparse": "iceberg tblproperties ('format-version' = '3')"}
    cases = [replace(case, landed_as=landed_as.get(case.entry.name, "iceberg")) for case in CASES_HERE]
    return build_batches(project, raw, cases, refreshed=["sparse"])


@pytest.mark.parametrize("case", CASES_HERE, ids=lambda case: case.entry.name)
def test_the_current_rows_are_what_the_page_says(results: Results, case: Case) -> None:
    assert results[case.entry.name] == [*case.current, case.current[-1]]


@pytest.mark.usefixtures("results")
def test_a_raw_table_of_version_3_says_by_its_commits_what_is_new(project: Consumer) -> None:
    sql = (project.folder / "rendered/1/dedup_feed__sparse.sql").read_text()
    assert re.search(r"\n    where\n.*_last_updated_sequence_number > \d", sql, re.DOTALL)


@pytest.mark.usefixtures("results")
def test_rows_have_the_statuses_and_reports_of_the_page(raw: Raw) -> None:
    for case in CASES_HERE:
        assert_statuses(raw, SCHEMA, case)
    assert_rejected(raw, SCHEMA, CASES_HERE)
    assert_reported(raw, SCHEMA, CASES_HERE)


@pytest.mark.usefixtures("results")
def test_the_history_is_that_of_the_page(raw: Raw) -> None:
    rows = raw.query(
        f"select id, name, amount, _valid_from_seq, _valid_to_seq, _change_seq from {SCHEMA}.history_feed__sparse"
    )
    assert len(rows) == len(SPARSE_VERSIONS)
    assert set(rows) == SPARSE_VERSIONS


@pytest.mark.usefixtures("results")
def test_a_raw_table_that_becomes_one_of_version_3_is_read_whole_until_after_its_next_commit(
    project: Consumer, raw: Raw
) -> None:
    """Until then its rows have no number of a commit."""
    table, log = f"{SCHEMA}_raw.defaults", f"{SCHEMA}.dedup_feed__defaults"
    raw.query(f"alter table {table} set tblproperties ('format-version' = '3')")
    assert raw.query(f"select distinct _last_updated_sequence_number from {table}") == [(None,)]
    ((landed,),) = raw.query(f"select count(*) from {table}")
    changes = sorted(raw.query(f"select _change_id from {log}"))
    ids = sorted(raw.query(f"select id from {SCHEMA}.current_feed__defaults"))
    runs = set(raw.query(f"select distinct _checkpoint from {log}__state"))
    for lands, read in ((None, landed), (None, None), (91, landed + 1), (92, 1), (None, None)):
        if lands:
            raw.insert(table, [full(lands, "I", lands, "later")])
            ids.append((lands,))
        project.dbt("run", "--select", "dedup_feed__defaults+")
        written = set(raw.query(f"select distinct _checkpoint from {log}__state")) - runs
        runs |= written
        assert [json.loads(checkpoint)["facts"]["raw_rows"] for (checkpoint,) in written] == ([read] if read else [])
        assert sorted(raw.query(f"select id from {SCHEMA}.current_feed__defaults")) == ids
    kept = sorted(raw.query(f"select _change_id from {log} where right(_change_seq, 2) not in ('91', '92')"))
    assert kept == changes
    assert len(raw.query(f"select 1 from {log}")) == len(changes) + 2


def _busy(raw: Raw) -> tuple[set[Any], set[Any], set[Any]]:
    """What the log, the current rows and the history have of the table that runs meet over."""
    log = raw.query(f"select right(_change_seq, 4) from {SCHEMA}.dedup_feed__busy")
    current = raw.query(f"select id, name from {SCHEMA}.current_feed__busy")
    history = raw.query(f"select id, name, right(_valid_from_seq, 4) from {SCHEMA}.history_feed__busy")
    for rows in (log, current, history):
        assert len(rows) == len(set(rows))
    return {int(row[0]) for row in log}, set(current), {(row[0], row[1], int(row[2])) for row in history}


def _checkpoints(raw: Raw, model: str) -> int:
    """How many checkpoints the table of a model has."""
    ((number,),) = raw.query(
        f"select count(*) from {SCHEMA}.{model}_feed__busy__state where startswith(_checkpoint, '{{')"
    )
    return int(number)


@pytest.mark.usefixtures("results")
def test_of_two_runs_that_write_the_second_fails_and_changes_nothing(
    project: Consumer, raw: Raw, server: LocalServer
) -> None:
    """The other run has read its guard, and hangs before its commit until this one has written."""
    raw.insert(TABLE, [bare(30, "U", 1, "c", None, 1, 3)])
    beside = Raw(server.connect(), "iceberg")
    others: dict[str, Future[Any]] = {}

    def begin_another(sql: str) -> str:
        let_go(raw, [statement for statement, other in others.items() if not other.done()])
        found = re.search(rf"merge into {SCHEMA}\.\w+_feed__busy__state", sql)
        if found:
            other = pool.submit(beside.query, hanging(found[0])(sql))
            wait_until_hanging(raw, [found[0]], lambda: not other.done())
            others[found[0]] = other
        return sql

    with ThreadPoolExecutor(1) as pool, letting_go(raw, others), intercepted(begin_another):
        project.dbt("run", "--threads", "1", "--select", "dedup_feed__busy+")
    assert len(others) == len(MODELS)
    for other in others.values():
        assert re.search("ValidationException: (Found conflicting files|Cannot commit)", str(other.exception()))
    assert _busy(raw) == ({10, 20, 30}, {(1, "c")}, {(1, "a", 10), (1, "b", 20), (1, "c", 30)})
    assert [_checkpoints(raw, model) for model in MODELS] == [1, 1, 1]


@pytest.mark.usefixtures("results")
def test_a_first_build_that_died_or_met_another_is_begun_again(
    project: Consumer, raw: Raw, server: LocalServer
) -> None:
    before = _busy(raw)
    for model in MODELS:
        raw.query(f"drop view {SCHEMA}.{model}_feed__busy")
        raw.query(f"drop table {SCHEMA}.{model}_feed__busy__state")
    raw.query(f"drop table {SCHEMA}.dedup_feed__busy__quarantine")
    state = f"{SCHEMA}.dedup_feed__busy__state"
    statement = f"merge into {state}"
    beside = Raw(server.connect(), "iceberg")

    def die(sql: str) -> str:
        if statement in sql:
            checkpoint.append(sql)
            raise RuntimeError("the process has died")
        return sql

    def build_meanwhile(sql: str) -> str:
        """The other one has read its guard, and hangs before its commit, when this one builds the table anew."""
        if f"create or replace table {state}" in sql and not others:
            others.append(pool.submit(beside.query, hanging(statement)(checkpoint[0])))
            wait_until_hanging(raw, [statement], lambda: not others[0].done())
        return sql

    raw.query(f"select reflect('java.lang.System', 'clearProperty', '{statement}')")
    checkpoint: list[str] = []
    others: list[Future[Any]] = []
    with intercepted(die):
        died = project.dbt("run", "--select", "dedup_feed__busy", must_succeed=False)
    assert "the process has died" in project.errors(died)
    assert _checkpoints(raw, "dedup") == 0
    with ThreadPoolExecutor(1) as pool, letting_go(raw, [statement]), intercepted(build_meanwhile):
        project.dbt("run", "--threads", "1", "--select", "dedup_feed__busy+")
    assert others[0].exception() is not None
    assert _busy(raw) == before
    assert [_checkpoints(raw, model) for model in MODELS] == [1, 1, 1]


@pytest.mark.usefixtures("results")
def test_a_full_refresh_that_ends_after_another_replaces_its_log_and_is_begun_again_after_a_run_that_fails(
    project: Consumer, raw: Raw, server: LocalServer
) -> None:
    statement = f"create or replace table {SCHEMA}.dedup_feed__busy__state"
    beside = Raw(server.connect(), "iceberg")
    others: list[Future[Any]] = []

    def begin_another(sql: str) -> str:
        """The other one has read raw, and hangs before its commit, when a row lands that this one reads."""
        if statement in sql:
            others.append(pool.submit(beside.query, hanging(statement)(sql)))
            wait_until_hanging(raw, [statement], lambda: not others[0].done())
            raw.insert(TABLE, [bare(40, "U", 1, "d", None, 1, 4)])
        return sql

    with ThreadPoolExecutor(1) as pool, letting_go(raw, [statement]), intercepted(begin_another):
        project.dbt("run", "--full-refresh", "--select", "dedup_feed__busy")
        assert _checkpoints(raw, "dedup") == 1
        assert not others[0].done()
    assert others[0].exception() is None
    assert _checkpoints(raw, "dedup") == 0
    refused = project.errors(project.dbt("run", "--select", "dedup_feed__busy", must_succeed=False))
    assert "this table has lost the checkpoint of its runs" in refused
    project.dbt("run", "--select", "dedup_feed__busy+")
    versions = {(1, "a", 10), (1, "b", 20), (1, "c", 30), (1, "d", 40)}
    assert _busy(raw) == ({10, 20, 30, 40}, {(1, "d")}, versions)


@pytest.mark.usefixtures("results")
def test_columns_are_added_renamed_and_widened_as_iceberg_can_and_refused_else(project: Consumer, raw: Raw) -> None:
    entries = [case.entry for case in CASES_HERE if case is not BUSY_CASE]
    wrong = {"pieces": "decimal(12,0)", "amount": "decimal(14,4)"}
    project.write_sources([*entries, replace(BUSY, columns=BUSY_COLUMNS | wrong)])
    refused = project.errors(project.dbt("run", "--select", "dedup_feed__busy", must_succeed=False))
    for name, other in wrong.items():
        assert f"column '{name}' is {other}, was {BUSY_COLUMNS[name]}, and columns of Iceberg tables" in refused
    assert "--full-refresh" in refused
    wider_columns = {"id": "bigint", "name": "string", "amount": "decimal(12,2)", "items": "bigint", "added": "date"}
    was = {"items": {"renamed_from": "pieces"}}
    project.write_sources([*entries, replace(BUSY, columns=wider_columns, column_meta=was)])
    raw.query(f"alter table {TABLE} add columns (added date)")
    raw.query(f"insert into {TABLE} values ('{seq(60)}', 'U', 1, 'wider', 1, 1, 60, date'2026-01-31')")
    project.dbt("build", "--select", "dedup_feed__busy+")
    for model in ("current", "history"):
        rows = raw.query(
            f"select id, string(amount), items, string(added) from {SCHEMA}.{model}_feed__busy where name = 'wider'"
        )
        assert rows == [(1, "1.00", 1, "2026-01-31")]
    types = dict(row[:2] for row in raw.query(f"describe {SCHEMA}.current_feed__busy__state"))
    assert {name: types[name] for name in wider_columns} == wider_columns


@pytest.mark.usefixtures("results")
def test_only_a_view_that_was_given_another_text_is_made_again(project: Consumer, raw: Raw) -> None:
    project.dbt("run", "--select", "stg_feed__busy+")
    before = _busy(raw)
    raw.give_text(f"{SCHEMA}.current_feed__busy", "select 7 as id, 'of the user' as name")
    made: list[str] = []

    def note(sql: str) -> str:
        made.extend(re.findall(r"^create or replace view (\S+)", sql, re.MULTILINE))
        return sql

    with intercepted(note):
        project.dbt("run", "--select", "stg_feed__busy+")
    assert made == [f"{SCHEMA}.current_feed__busy"]
    assert _busy(raw) == before


@pytest.mark.usefixtures("results")
def test_maintain_leaves_the_rows_and_fewer_files(project: Consumer, raw: Raw, server: LocalServer) -> None:
    before = _busy(raw)
    files = f"select count(*) from {SCHEMA}.history_feed__busy__state.files"
    ((many,),) = raw.query(files)
    code, said, complained = project.command("maintain", "--retain-days", "0", "--force", "--include", "history_*")
    assert (code, complained) == (0, "")
    assert f"{SCHEMA}.history_feed__busy__state: {many} files, now " in said
    assert raw.query(files)[0][0] < many
    assert _busy(raw) == before
    # what runs have dropped has left no file
    assert list((server.folder / "warehouse").rglob("*_state/**/*.parquet"))
    assert not list((server.folder / "warehouse").rglob("*__batch_*/**/*.parquet"))


@pytest.mark.usefixtures("results")
def test_purge_deletes_raw_rows_and_leaves_the_models_and_forget_empties_them(project: Consumer, raw: Raw) -> None:
    before = _busy(raw)
    count = f"select count(*) from {TABLE}"
    ((many,),) = raw.query(count)
    code, said, complained = project.command("purge", "--with-rejected", "--include", "busy")
    ((left,),) = raw.query(count)
    assert (code, complained) == (0, "")
    assert f"{TABLE}: {many - left} rows deleted\n" in said
    assert left < many
    assert _busy(raw) == before
    code, _, complained = project.command("forget", "busy", "--key", '{"id": 1}')
    assert (code, complained) == (0, "")
    assert _busy(raw) == (set(), set(), set())
    for model in MODELS:
        assert raw.query(f"select * from {SCHEMA}.{model}_feed__busy__state.delete_files") == []
    # what lands once more stays out
    raw.query(f"insert into {TABLE} values ('{seq(60)}', 'U', 1, 'wider', 1, 1, 70, date'2026-01-31')")
    project.dbt("run", "--select", "dedup_feed__busy+")
    assert _busy(raw) == (set(), set(), set())


def test_a_project_of_another_format_than_the_server_s_or_without_its_setting_is_refused(project: Consumer) -> None:
    for settings, said in (
        (
            {"models": {"+file_format": "delta"}},
            "the tables of the server are of format iceberg: `file_format` must be that",
        ),
        ({"models": {"+file_format": "iceberg"}}, "a server of Iceberg needs in dbt_project.yml `dispatch:"),
        ({}, "a server of Iceberg needs in dbt_project.yml `dispatch:"),
    ):
        other = Consumer(
            project.folder.with_name("other"), project.port, "other", settings=settings, table_format="delta"
        )
        other.write([BUSY])
        refused = other.dbt("run", must_succeed=False)
        assert said in str(refused.exception) + str(refused.result)
