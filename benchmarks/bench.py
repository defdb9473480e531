"""What both benchmarks of large tables share: a server, the project of the models, raw rows that land, and figures."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from dbt.cli.main import dbtRunner

from change_tables.server.local_server import LocalServer

from .auto_cdc import AutoCdc
from .by_hand import LARGE
from .data import COLUMNS, create_raw_table, insert_changes
from .projects import settings_of, write_yaml

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / ".build" / "bench"
PROJECT = FOLDER / "project"
RAW, HAND, OURS = "benchmarks_raw", "by_hand", "benchmarks"


class BenchmarkError(Exception):
    """dbt failed, or two results that must be equal are not."""


@dataclass
class Figure:
    """One line of the results: seconds of the models, and of the same by hand, on tables of one format."""

    name: str
    seconds: float
    by_hand: float | None = None
    note: str = ""
    processor: float | None = None
    processor_by_hand: float | None = None
    table_format: str = "delta"

    @property
    def ratio(self) -> float | None:
        """The models' time over the other's."""
        return None if self.by_hand is None else self.seconds / self.by_hand


@dataclass
class Bench:
    """A server, with the figures that were measured on it."""

    server: LocalServer
    changes: int
    keys: int
    batch_size: int
    batches: int
    is_heard: bool = True
    table_format: str = "delta"
    auto_cdc: AutoCdc | None = None
    figures: list[Figure] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Connect."""
        self._cursor = self.server.connect().cursor()

    @property
    def stored(self) -> str:
        """How a large table by hand is stored."""
        return LARGE[self.table_format]

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement."""
        self._cursor.execute(statement)
        return list(self._cursor.fetchall()) if self._cursor.description else []

    def timed(self, *statements: str) -> float:
        """The seconds that statements take, one after the other."""
        start = time.perf_counter()
        for statement in statements:
            self.sql(statement)
        return time.perf_counter() - start

    def dbt(self, *models: str, full_refresh: bool = False, command: str = "run") -> dict[str, float]:
        """Build models; the seconds that each took, all that dbt does for it included. Or run another command on nodes.

        Raises:
            BenchmarkError: one failed.
        """
        os.environ.update(self.server.environment())
        folders = ["--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT), "--log-path", str(FOLDER / "logs")]
        quiet = ["--log-level", "none", "--log-level-file", "debug", "--no-print", "--no-send-anonymous-usage-stats"]
        refresh = ["--full-refresh"] if full_refresh else []
        result = dbtRunner().invoke([command, "--select", *models, *refresh, *folders, *quiet])
        nodes = getattr(result.result, "results", None) or []
        said = [f"{node.node.name}: {node.message}" for node in nodes if node.status != "success"]
        if not result.success:
            raise BenchmarkError("\n".join(said or [str(result.exception)]))
        return {node.node.name: node.execution_time for node in nodes if node.node.resource_type == "model"}

    def land(self, table: str, batch: int, first: int, last: int, **options: Any) -> None:
        """Land changes in a raw table, which is made when the first batch lands."""
        if batch == 1:
            self.drop(f"{RAW}.{table}")
            self.sql(create_raw_table(f"{RAW}.{table}"))
        options = {"keys": self.keys, "all_changes": self.changes} | options
        self.sql(insert_changes(f"{RAW}.{table}", batch, first, last, **options))

    def drop(self, table: str) -> None:
        """Drop a table with its files, which Iceberg keeps unless it is told."""
        self.sql(f"drop table if exists {table} purge")

    def empty(self, schema: str) -> None:
        """Make a schema, or drop all that it has."""
        self.sql(f"create schema if not exists {schema}")
        for _, view, _ in self.sql(f"show views in {schema}"):
            self.sql(f"drop view {schema}.{view}")
        for _, table, _ in self.sql(f"show tables in {schema}"):
            self.drop(f"{schema}.{table}")

    def fingerprint(self, relation: str, columns: Sequence[str] = COLUMNS, where: str = "true") -> tuple[Any, ...]:
        """The number of rows and the sum of their hashes: equal for equal sets of rows."""
        hashed = f"sum(cast(xxhash64({', '.join(columns)}) as decimal(38, 0)))"
        return self.sql(f"select count(*), {hashed} from {relation} where {where}")[0]

    def assert_equal(self, what: str, one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
        """Stop when two results differ.

        Raises:
            BenchmarkError: they do.
        """
        if one != other:
            raise BenchmarkError(f"{what}: the results differ, {one} and {other}: no time counts")

    def location(self, table: str) -> str:
        """The folder of a raw table's files."""
        rows = self.sql(f"describe formatted {RAW}.{table}")
        location = next(str(row[1]) for row in rows if row[0] == "Location").removeprefix("file:")
        return f"{location}/data" if self.table_format == "iceberg" else location

    def measured(
        self,
        name: str,
        seconds: float,
        by_hand: float | None = None,
        note: str = "",
        processor: tuple[float, float] | None = None,
    ) -> None:
        """Keep a figure, and say it; `processor`: the seconds of processor time of both."""
        if processor:
            note = f"processor time {processor[0]:.1f} s, of the other {processor[1]:.1f}"
        ours, theirs = processor or (None, None)
        figure = Figure(name, seconds, by_hand, note, ours, theirs, self.table_format)
        self.figures.append(figure)
        if self.is_heard:
            print(_line(figure), flush=True)

    def bounds(self, batch: int, table: str) -> tuple[str, str]:
        """The lowest and the highest sequence of a batch."""
        low, high = self.sql(
            f"select min(header__change_seq), max(header__change_seq) from {RAW}.{table} where batch = {batch}"
        )[0]
        return low, high


def make_schemas(bench: Bench) -> None:
    """Make the schemas, or empty them."""
    for schema in (RAW, HAND, OURS):
        bench.empty(schema)


def install(table_format: str = "delta") -> None:
    """Copy the project of the models, for tables of a format, and install the package into it.

    Raises:
        BenchmarkError: dbt refuses it.
    """
    shutil.rmtree(PROJECT, ignore_errors=True)
    shutil.copytree(HERE / "project", PROJECT)
    described = yaml.safe_load((PROJECT / "dbt_project.yml").read_text())
    write_yaml(PROJECT / "dbt_project.yml", described | settings_of("benchmarks", table_format))
    (PROJECT / "packages.yml").write_text(f"packages: [{{local: {HERE.parent}}}]\n")
    folders = ["--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT), "--log-path", str(FOLDER / "logs")]
    result = dbtRunner().invoke(["deps", *folders, "--log-level", "none"])
    if not result.success:
        raise BenchmarkError(f"dbt deps: {result.exception}")


def _line(figure: Figure) -> str:
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
    other = "" if figure.by_hand is None else f"{figure.by_hand:.2f}"
    return f"{ratio:>6}  {figure.seconds:>8.2f}  {other:>8}  {figure.name}{f' ({figure.note})' if figure.note else ''}"


def table_of(figures: Sequence[Figure]) -> str:
    """The figures as a table, ratios first."""
    return "\n".join([" ratio   seconds   by hand  what", *map(_line, figures)])
