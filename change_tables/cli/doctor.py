"""`change-tables doctor`: what is wrong with this machine or the server, and the one thing to do about each fault."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from change_tables.places import command_name
from change_tables.server.connection import (
    UNREADABLE,
    Address,
    NoSessionError,
    address_options,
    close_quietly,
    words_of,
)
from change_tables.server.jars import ICEBERG_CATALOG, JarsError, check_java, jars_folder, java_command, resolved_jars
from change_tables.udfs.catalog import CATALOG
from change_tables.udfs.registration import VERSION_SETTING
from change_tables.version import __version__, compatible_part

PYTHON_VERSIONS = ((3, 11), (3, 13))
"""The first and the last version of Python that the package is made for."""

SETTINGS: Mapping[str, tuple[str, ...]] = {
    "spark.sql.session.timeZone": ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z", "+00:00"),
    "spark.sql.timestampType": ("TIMESTAMP_LTZ",),
    "spark.sql.legacy.timeParserPolicy": ("EXCEPTION", "CORRECTED"),
    "spark.sql.parser.escapedStringLiterals": ("false",),
    "spark.sql.caseSensitive": ("false",),
}
"""Settings of a session and their right values; those of the macro `session_mistakes`."""

OK, FAULT, NOT_CHECKED = "ok", "fault", "not checked"
_COLOURS = {OK: "green", FAULT: "bold red", NOT_CHECKED: "dim"}
_LOCAL = ("127.0.0.1", "localhost", "::1")
_SERVER = command_name("server")


@dataclass(frozen=True)
class Finding:
    """What one check has found."""

    check: str
    status: str
    detail: str
    remedy: str = ""
    """The one thing to do about a fault."""


@dataclass(frozen=True)
class Target(Address):
    """Where the server is, and the schema to write a table in; as in dbt's profile."""

    schema: str = "change_tables"


@click.command(context_settings={"show_default": True})
@address_options("doctor")
@click.option(
    "--schema",
    default="change_tables",
    envvar=["CHANGE_TABLES_DOCTOR_SCHEMA", "CHANGE_TABLES_SCHEMA"],
    help="Schema to write a table in.",
)
@click.option("--timeout", default=120, type=click.IntRange(1), help="Seconds to wait for an answer of the server.")
@click.help_option(allow_from_autoenv=False)
@click.pass_context
def doctor(context: click.Context, /, **options: Any) -> None:
    """Check this machine and the server, and say for each fault what to do. Ends with 1 where there is one."""
    findings = show(found(Target(**options)), Console(highlight=False))
    context.exit(1 if any(finding.status == FAULT for finding in findings) else 0)


def found(target: Target) -> Iterator[Finding]:
    """The findings, in the order in which one depends on another."""
    yield _python()
    if target.host in _LOCAL:
        yield _java()
        yield _jars()
    else:
        for check in ("Java", "jars"):
            yield Finding(
                check, NOT_CHECKED, f"the server is on {target.host}, which needs them; this machine does not"
            )
    connection, finding = _connection(target)
    yield finding
    for check, look in CHECKS_OF_SERVER.items():
        if connection is None:
            yield Finding(check, NOT_CHECKED, "there is no connection")
            continue
        try:
            detail, remedy = look(connection.cursor(), target)
        except UNREADABLE as error:
            detail, remedy = words_of(error), REMEDIES[check]
        yield Finding(check, FAULT if remedy else OK, detail, remedy)
    if connection is not None:
        close_quietly(connection)


def show(findings: Iterable[Finding], console: Console) -> list[Finding]:
    """The findings, shown: as a table on a terminal, else a line each as soon as it is there."""
    shown = []
    if not console.is_terminal:
        for finding in findings:
            shown.append(finding)
            remedy = f"; {finding.remedy}" if finding.remedy else ""
            print(f"{finding.status}: {finding.check}: {finding.detail}{remedy}", flush=True)
        return shown
    table = Table("", "check", "found", "what to do")
    with console.status("checking") as progress:
        for finding in findings:
            shown.append(finding)
            progress.update(f"checked: {finding.check}")
            status = Text(finding.status, _COLOURS[finding.status])
            table.add_row(status, Text(finding.check), Text(finding.detail), Text(finding.remedy))
    console.print(table)
    return shown


def _python() -> Finding:
    version = sys.version_info[:2]
    shown = ".".join(map(str, sys.version_info[:3]))
    first, last = (".".join(map(str, each)) for each in PYTHON_VERSIONS)
    if PYTHON_VERSIONS[0] <= version <= PYTHON_VERSIONS[1]:
        return Finding("Python", OK, shown)
    return Finding("Python", FAULT, shown, f"install the package with a Python from {first} to {last}")


def _java() -> Finding:
    try:
        said = check_java()
    except JarsError as error:
        return Finding("Java", FAULT, *_cause_and_remedy(error))
    version = re.search(r'version "([^"]+)"', said)
    return Finding("Java", OK, version[1] if version else java_command())


def _jars() -> Finding:
    try:
        return Finding("jars", OK, f"{len(resolved_jars())} in {jars_folder()}")
    except JarsError as error:
        return Finding("jars", FAULT, *_cause_and_remedy(error))


def _cause_and_remedy(error: JarsError) -> tuple[str, str]:
    cause, _, remedy = str(error).rpartition(": ")
    return cause, remedy


def _connection(target: Target) -> tuple[Any, Finding]:
    try:
        return target.connect(), Finding("server", OK, target.address)
    except NoSessionError as error:
        return None, Finding("server", FAULT, error.cause, error.remedy)


WITHOUT_FUNCTIONS = (
    "none of this package: enough for Qlik change tables, Qlik Kafka messages in JSON, GoldenGate trails and OpenEdge"
    " CDC without extents, not for rows of partial images that move to another key; docs/servers.md says more"
)
"""What a server is good for that others run."""

Found = tuple[str, str]
"""What is there, and what to do about it; the latter is empty where nothing is wrong."""


def _version(cursor: Any, target: Target) -> Found:
    version = _settings(cursor).get(VERSION_SETTING)
    if version is None:
        return "the server does not say one: it is not of this package, or older", ""
    if compatible_part(version) != compatible_part(__version__):
        newer = f"bring {target.address} and this machine to one version, and the dbt package with them"
        return f"{version} on the server, {__version__} here", newer
    return version, ""


def _functions(cursor: Any, _: Target) -> Found:
    there = {str(row[0]).rpartition(".")[2] for row in _rows(cursor, "show functions")}
    wanted = {entry.name for entry in CATALOG}
    if not wanted & there:
        return WITHOUT_FUNCTIONS, ""
    missing = sorted(wanted - there)
    if missing:
        return f"{', '.join(missing)} not registered", REMEDIES["functions"]
    (answer,) = _rows(cursor, "select decode_change_mask('3', null, 1)")
    if answer[0] != "[1,2]":
        return f"decode_change_mask('3', null, 1) is {answer[0]}, not [1,2]", REMEDIES["functions"]
    return f"{len(CATALOG)} registered, and Python answers", ""


def _session(cursor: Any, _: Target) -> Found:
    found = _settings(cursor)
    if "spark.sql.session.timeZone" not in found:
        found["spark.sql.session.timeZone"] = _rows(cursor, "select current_timezone()")[0][0]
    wrong = [
        f"{name} must be {right[0]}, got '{found[name]}'"
        for name, right in SETTINGS.items()
        if name in found and found[name].lower() not in map(str.lower, right)
    ]
    return ("; ".join(wrong), REMEDIES["session"]) if wrong else (f"{len(SETTINGS)} settings as they must be", "")


def _metastore(cursor: Any, _: Target) -> Found:
    return f"{len(_rows(cursor, 'show databases'))} schemas", ""


def _write(cursor: Any, target: Target) -> Found:
    is_iceberg = _settings(cursor).get("spark.sql.catalog.spark_catalog") == ICEBERG_CATALOG
    table_format = "Iceberg" if is_iceberg else "Delta"
    schema = _quoted(target.schema)
    table = f"{schema}.{_quoted(f'change_tables_doctor_{uuid4().hex[:8]}')}"
    is_there = (target.schema.lower(),) in {(str(row[0]).lower(),) for row in _rows(cursor, "show databases")}
    if not is_there:
        cursor.execute(f"create schema {schema}")
    try:
        cursor.execute(f"create table {table} using {table_format.lower()} as select 1 as id")
        try:
            ((count,),) = _rows(cursor, f"select count(*) from {table}")
        finally:
            cursor.execute(f"drop table {table}")
    finally:
        if not is_there:
            cursor.execute(f"drop schema {schema}")
    if count != 1:
        return f"a table of one row has {count}", REMEDIES["write access"]
    article = "an" if is_iceberg else "a"
    return f"{article} {table_format} table was made in {target.schema}, read, and dropped", ""


CHECKS_OF_SERVER: Mapping[str, Callable[[Any, Target], Found]] = {
    "version": _version,
    "functions": _functions,
    "session": _session,
    "metastore": _metastore,
    "write access": _write,
}
REMEDIES: Mapping[str, str] = {
    "version": "look into the log of the server",
    "functions": f"use the server of this package, `{_SERVER}`, or register the functions: docs/servers.md",
    "session": "set it where the server starts, or in dbt's profile: docs/operations.md, The session",
    "metastore": "look into the log of the server: its metastore does not answer",
    "write access": "name a schema by --schema that you may write in, or let the server write to its warehouse",
}
"""What to do about a fault of a check, where the check itself does not know better."""


def _settings(cursor: Any) -> dict[str, str]:
    return {str(row[0]): str(row[1]) for row in _rows(cursor, "set")}


def _rows(cursor: Any, statement: str) -> list[tuple[Any, ...]]:
    cursor.execute(statement)
    return list(cursor.fetchall())


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
