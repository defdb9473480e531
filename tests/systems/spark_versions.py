"""Builds two feeds on Spark's own Thrift server, in each version of Spark that the docs name, with its own Delta.

Each Spark is as pip installs it, in an environment of its own, and has no function of this package. Qlik change tables
and Kafka messages in JSON, both of them cases of their pages, have the log, the state and the history that the pages
say. A run on a Spark that is too old is refused before its first model. All that they leave is under
`.build/spark_versions`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyspark

from change_tables.server.jars import COORDINATES
from change_tables.server.local_server import LocalServer, LocalServerError
from demo.project import PROJECT
from tests.pipelines import kafka_cases, qlik_cases
from tests.pipelines.cases import Case, assert_rejected, assert_reported, assert_statuses, build_batches
from tests.pipelines.consumer import Consumer
from tests.pipelines.landing import Raw
from tests.systems.environments import NoEnvironmentError, done, environment_of
from tests.systems.stock_server import stock_server

SPARKS: Mapping[str, Sequence[str]] = {
    "4.0.5": ("io.delta:delta-spark_2.13:4.0.1",),
    pyspark.__version__: COORDINATES,
    "4.2.1": ("io.delta:delta-spark_4.2_2.13:4.4.0",),
}
"""What is tried: the version of PySpark, and Delta's jars for it."""
TOO_OLD: Mapping[str, Sequence[str]] = {"3.5.9": ("io.delta:delta-spark_2.12:3.3.2",)}
"""Likewise, what a run refuses before its first model, by one line."""

FOLDER = PROJECT / ".build" / "spark_versions"
CASES = [
    replace(case, entry=replace(case.entry, models=qlik_cases.WITH_HISTORY))
    for case in [*qlik_cases.CASES, *kafka_cases.CASES]
    if case.entry.name in ("truncated", "versions", "reloaded")
]
"""Of the pages: none in Avro, and none whose rows of partial images move, for which a server needs our functions."""

VERSIONS = {
    (1, "a", qlik_cases.seq(10), qlik_cases.seq(30)),
    (2, "b", qlik_cases.seq(20), qlik_cases.seq(30)),
    (5, "older than the truncate", qlik_cases.seq(15), qlik_cases.seq(30)),
    (3, "c", qlik_cases.seq(40), qlik_cases.seq(45)),
    (1, "again", qlik_cases.seq(50), None),
    (6, "no arrival", qlik_cases.seq(60), None),
}
"""All versions of the case `truncated`: two truncates end those that began before them."""

_GET_JARS = (
    "import pathlib, sys; from change_tables.server.jars import resolve_jars;"
    " resolve_jars(pathlib.Path(sys.argv[1]), sys.argv[2:])"
)


def main() -> int:
    """The command line; returns its exit code: 1 where anything differs, 3 where a Spark or its jars cannot be had."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    names = ", ".join(case.entry.name for case in CASES)
    for version, delta in {**TOO_OLD, **SPARKS}.items():
        find, result = (
            (_mistakes_of_refusal, "runs refuse it before their first model, by one line.")
            if version in TOO_OLD
            else (_mistakes, f"log, state and history of {names} are as the pages say.")
        )
        folder = FOLDER / version
        try:
            home, jars = spark_of(version, delta)
            with stock_server(folder / "server", home, jars) as server:
                mistakes = [*find(server, folder, version)]
        except NoEnvironmentError as failure:
            print(f"spark-versions: not run: {failure}", file=sys.stderr)
            return 3
        except (AssertionError, LocalServerError) as failure:
            mistakes = [str(failure)]
        for mistake in mistakes:
            print(f"spark-versions: Spark {version}: {mistake}", file=sys.stderr)
        if mistakes:
            return 1
        print(f"Spark {version} with {', '.join(delta)}: {result}")
    return 0


def spark_of(version: str, delta: Sequence[str]) -> tuple[Path, list[Path]]:
    """The home of a Spark and Delta's jars for it, both fetched where they are not there yet.

    Raises:
        NoEnvironmentError: they cannot be had.
    """
    python = environment_of("spark", version, f"pyspark=={version}")
    folder = python.parents[2]
    done(python, "-c", _GET_JARS, folder / "jars", *delta)
    (home,) = (folder / "venv").glob("lib/python*/site-packages/pyspark")
    return home, sorted((folder / "jars").glob("*.jar"))


def _mistakes_of_refusal(server: LocalServer, folder: Path, version: str) -> Iterator[str]:
    raw = Raw(server.connect())
    project = Consumer(folder / "project", server.port, "refused")
    project.write([case.entry for case in CASES if "snapshot" not in case.entry.change_table])
    for command in ("build", "run"):
        said = project.errors(project.dbt(command, must_succeed=False)).splitlines()
        lines = [line.strip() for line in said if "change_tables: " in line]
        wanted = (
            f"change_tables: the server is Spark {version}, and models need Spark 4.0 or later; see docs/servers.md"
        )
        if lines != [wanted] or any("Exception" in line or line.lstrip().startswith("at ") for line in said):
            yield f"dbt {command} must be refused by '{wanted}', got: {said}"
    if raw.query("show tables in refused"):
        yield "a run that is refused has made tables"


def _mistakes(server: LocalServer, folder: Path, version: str) -> Iterator[str]:
    raw = Raw(server.connect())
    ((said,),) = raw.query("select version()")
    if said.split()[0] != version:
        yield f"the server says that it is Spark {said}"
    project = Consumer(folder / "project", server.port, "pages")
    raw.create("pages_raw.loaded", kafka_cases.COLUMNS)
    raw.insert("pages_raw.loaded", kafka_cases.LOADED)
    found = build_batches(project, raw, CASES, ["loaded"])
    assert_rejected(raw, project.schema, CASES)
    assert_reported(raw, project.schema, CASES)
    for case in CASES:
        assert_statuses(raw, project.schema, case)
        yield from _mistakes_of_case(case, found[case.entry.name], _open_versions(raw, case))
    shown = "id, name, _valid_from_seq, _valid_to_seq"
    versions = raw.query(f"select {shown} from pages.history_feed__truncated")
    if len(versions) != len(VERSIONS) or set(versions) != VERSIONS:
        yield f"truncated: the versions are {versions}, must be {VERSIONS}"


def _open_versions(raw: Raw, case: Case) -> list[tuple[object, ...]]:
    return raw.query(f"select {case.shown} from pages.history_feed__{case.entry.name} where _is_current")


def _mistakes_of_case(
    case: Case, current: Sequence[set[tuple[object, ...]]], versions: Sequence[tuple[object, ...]]
) -> Iterator[str]:
    """What differs from the page: the rows after each batch and a full refresh, and the versions that go on."""
    expected = [*case.current, case.current[-1]]
    if list(current) != expected:
        yield f"{case.entry.name}: the current rows are {current}, must be {expected}"
    if len(versions) != len(expected[-1]) or set(versions) != expected[-1]:
        yield f"{case.entry.name}: the versions that have not ended are {versions}, must be {expected[-1]}"


if __name__ == "__main__":
    sys.exit(main())
