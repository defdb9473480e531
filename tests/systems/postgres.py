"""Runs the event log of the demo in a real PostgreSQL: triggers write it there, Spark lands it over JDBC.

Everything is under `.build/demo_postgres`, which is deleted at the start and kept at the end.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import date
from pathlib import Path

from change_tables.server.jars import (
    POSTGRESQL,
    JarsError,
    postgresql_folder,
    postgresql_jars,
    resolve_jars,
    resolved_jars,
)
from change_tables.server.local_server import SHORT_LIVED, LocalServerError, local_server
from demo.database import TABLES, Table
from demo.history import Change, Key, Transaction, Value
from demo.landing import Connection, execute, fetch
from demo.oracle import compare, count_statuses
from demo.progress import Progress
from demo.project import ONLY_THEIR_TESTS, PROJECT, DbtError, DbtProject
from demo.run import BATCHES, RAW_SCHEMA
from demo.workload import Workload
from demo.writers.event_triggers import EVENT_LOG, as_logged_source, postgres_triggers, quoted
from demo.writers.idm_event_log import DRIVER_USER, LOGGED_TABLES, REPLICAS, IdmEventLogWriter
from tests.systems.postgres_server import (
    OWNER,
    NoPostgresError,
    Postgres,
    PostgresError,
    Programs,
    find_postgres,
    postgres_server,
)

FOLDER = PROJECT / ".build" / "demo_postgres"

_TYPES = {
    "string": "text",
    "timestamp": "timestamptz",
    "binary": "bytea",
    "double": "double precision",
    "int": "integer",
}
_EVENT_LOG = f"""
create table {EVENT_LOG} (
    record_id bigint generated always as identity primary key,
    table_key text not null,
    status text not null,
    event_type integer not null,
    event_time timestamptz not null,
    perpetrator text,
    table_name text not null,
    column_name text,
    old_value text,
    new_value text
);
"""
# the driver has read what there is: some events keep a status that says so, and some are taken out of the log
_PROCESS = f"""
update {EVENT_LOG} set status = (array['S', 'S', 'W', 'E', 'F'])[1 + record_id % 5] where record_id % 3 > 0;
delete from {EVENT_LOG} where record_id % 4 = 0;
"""


def main() -> int:
    """The command line; returns its exit code: 1 where anything differs, 3 where PostgreSQL or a jar cannot be had."""
    try:
        programs = find_postgres(FOLDER)
        resolve_jars(postgresql_folder(), POSTGRESQL)
    except (NoPostgresError, JarsError) as failure:
        print(f"demo-postgres: not run: {failure}", file=sys.stderr)
        return 3
    try:
        mistakes = run(FOLDER, programs)
    except (PostgresError, DbtError, LocalServerError) as failure:
        print(f"demo-postgres: {failure}", file=sys.stderr)
        return 1
    for mistake in mistakes:
        print(mistake)
    if not mistakes:
        print("Every model equals PostgreSQL's tables after every batch, also when events are gone from the log.")
    return 1 if mistakes else 0


def run(folder: Path, programs: Programs) -> list[str]:
    """Runs it in a folder, which is deleted first; what differs.

    Raises:
        PostgresError, DbtError, LocalServerError: something does not start, or a step fails.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    mistakes: list[str] = []
    workload = Workload(seed=1, swaps=IdmEventLogWriter.swaps)
    jars = [*resolved_jars(), *postgresql_jars()]
    settings = {"spark.jars": ",".join(map(str, jars)), "spark.driver.extraClassPath": ":".join(map(str, jars))}
    with Progress() as progress, ExitStack() as stack:
        with progress.phase("starting", 3):
            with progress.step("dbt parse"):
                project = DbtProject(folder)
            with progress.step("PostgreSQL"):
                postgres = stack.enter_context(postgres_server(folder / "postgres", programs))
            with progress.step("Spark Thrift server"):
                server = stack.enter_context(local_server(folder, {**SHORT_LIVED, **settings}))
        as_whom = f", as user {programs.user}, for it does not run as root" if programs.user else ""
        progress.say(f"PostgreSQL answers on port {postgres.port} of 127.0.0.1{as_whom}")
        postgres.run("\n".join(_tables_and_triggers()))
        connection = server.connect()
        execute(connection, f"create schema if not exists {RAW_SCHEMA}")
        for batch in range(1, BATCHES + 1):
            name = f"batch {batch} of {BATCHES}"
            transactions = [*(workload.fill() if batch == 1 else ()), *workload.play_round()]
            with progress.phase(f"{name}: landing", 2):
                with progress.step("transactions"):
                    postgres.run("\n".join(_statements(as_logged_source(each) for each in transactions)))
                    postgres.run("\n".join(_loopback()))
                with progress.step("raw tables"):
                    events = _land(connection, postgres)
            progress.say(f"{name}: {len(transactions)} transactions played, {events} events in the log")
            with progress.phase(f"{name}: building"):
                project.build(server, progress, ["--select", "reason_codes", *_selected(), *ONLY_THEIR_TESTS])
            with progress.phase(f"{name}: comparing"):
                found = _differences(connection, postgres, project.relations)
            mistakes += [f"batch {batch}: {mistake}" for mistake in found]
            state = "differs from" if found else "equals"
            progress.say(f"{name}: every model built and compared: {state} PostgreSQL's tables")
            postgres.run(_PROCESS)
    return mistakes


def _selected() -> list[str]:
    system = IdmEventLogWriter.system
    further = [f"unclaimed_{system}", f"xds_{system}__demo"]
    return [f"{kind}_{system}__{name}" for kind in ("stg", "dedup", "current") for name in TABLES] + further


def _tables_and_triggers() -> Iterator[str]:
    yield _EVENT_LOG
    for logged in LOGGED_TABLES.values():
        table = logged.table
        columns = ", ".join(
            f"{quoted(each.name)} {_TYPES.get(each.data_type, each.data_type)}" for each in table.columns
        )
        key = ", ".join(quoted(name) for name in table.key)
        yield f"create table {quoted(table.name)} ({columns}, primary key ({key}));"
        for statement in postgres_triggers(logged):
            yield f"{statement};"
    yield f"create role {DRIVER_USER};"
    yield f"grant all on all tables in schema public to {DRIVER_USER};"


def _statements(transactions: Iterable[Transaction]) -> Iterator[str]:
    """The history as SQL, transaction by transaction."""
    for transaction in transactions:
        yield "begin;"
        for change in transaction.changes:
            yield f"{_statement(change)};"
        yield "commit;"


def _statement(change: Change) -> str:
    table = TABLES[change.table]
    if change.before is None and change.after is not None:
        values = ", ".join(_literal(change.after[name]) for name in table.column_names)
        return f"insert into {quoted(table.name)} values ({values})"
    if change.before is not None and change.after is not None:
        assignments = ", ".join(f"{quoted(name)} = {_literal(value)}" for name, value in change.after.items())
        return f"update {quoted(table.name)} set {assignments} where {_is_row(table, table.key_of(change.before))}"
    if change.before is not None:
        return f"delete from {quoted(table.name)} where {_is_row(table, table.key_of(change.before))}"
    # no trigger of a row sees a `truncate`
    return f"delete from {quoted(table.name)}"


def _is_row(table: Table, key: Key) -> str:
    return " and ".join(f"{quoted(name)} = {_literal(value)}" for name, value in zip(table.key, key, strict=True))


def _literal(value: Value) -> str:
    r"""A value as PostgreSQL reads it for a column of its type.

    >>> print(_literal(None), _literal(True), _literal("it's"), _literal(b"'"), _literal(date(2026, 1, 5)))
    null 'True' 'it''s' '\x27' '2026-01-05'
    """
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'"
    text = value.isoformat() if isinstance(value, date) else str(value)
    return "'" + text.replace("'", "''") + "'"


def _loopback() -> Iterator[str]:
    """The driver turns a column of each table round, and somebody turns it back."""
    updates = []
    for table in TABLES.values():
        column = next(each for each in table.other_columns if each.data_type in ("boolean", "int"))
        turned = f"{'not' if column.data_type == 'boolean' else '~'} {quoted(column.name)}"
        updates.append(f"update {quoted(table.name)} set {quoted(column.name)} = {turned};")
    yield from (f"set role {DRIVER_USER};", *updates, "reset role;", *updates)


def _land(connection: Connection, postgres: Postgres) -> int:
    """Lands the log and then the replicas, as they are now; returns the number of events."""
    raw_tables = {EVENT_LOG: EVENT_LOG, **{name: replica.name for name, replica in REPLICAS.items()}}
    for name, raw_table in raw_tables.items():
        view = _view(connection, postgres, name)
        execute(
            connection,
            f"create or replace table {RAW_SCHEMA}.{raw_table} using delta"
            # for names that Delta takes in no other way
            f" tblproperties ('delta.columnMapping.mode' = 'name') as select * from {view}",
        )
    ((events,),) = fetch(connection, f"select count(*) from {RAW_SCHEMA}.{EVENT_LOG}")
    return int(events)


def _view(connection: Connection, postgres: Postgres, name: str) -> str:
    """A view of this session over a table of PostgreSQL, which shows the table whenever it is read."""
    execute(
        connection,
        f"create or replace temporary view postgres_{name} using jdbc options (url '{postgres.jdbc_url}',"
        f" driver 'org.postgresql.Driver', user '{OWNER}', password '{postgres.password}', dbtable '{quoted(name)}')",
    )
    return f"postgres_{name}"


def _differences(connection: Connection, postgres: Postgres, relations: Mapping[str, str]) -> list[str]:
    found = []
    for name, table in TABLES.items():
        staging, current = (relations[f"{kind}_{IdmEventLogWriter.system}__{name}"] for kind in ("stg", "current"))
        for verdict, count in count_statuses(connection, staging).items():
            if verdict.status not in ("accepted", "ignored"):
                found.append(f"{staging}: {count} events are {verdict.status} as {verdict.code}")
        ((loopback,),) = fetch(connection, f"select count(*) from {staging} where _status_reason like 'loopback:%'")
        if not loopback:
            found.append(f"{staging}: no event is loopback")
        comparison = compare(connection, table, current, _view(connection, postgres, name))
        if not comparison.equal:
            found.append(f"{current}: {comparison.missing} rows missing, {comparison.surplus} too many")
            found += [f"{current}: {sample}" for sample in comparison.samples]
    return found


if __name__ == "__main__":
    sys.exit(main())
