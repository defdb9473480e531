"""dbt-databricks beside dbt-spark, for tests that render.

It cannot be installed beside the dbt-spark of this project, and needs libraries that speak to Databricks. So its wheel
alone, of the version in `databricks.txt`, is put into a folder of its own, and `_Nothing` stands in for the libraries.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any
from warnings import catch_warnings

import dbt.adapters
import dbt.include

from tests.pipelines.consumer import REPOSITORY

from .rendering import Rows, WithoutRows

WHEEL = Path(__file__).with_suffix(".txt")
CATALOG = "main"
TARGET = {
    "type": "databricks",
    "host": "warehouse.example.org",
    "http_path": "/sql/1.0/warehouses/0123456789abcdef",
    "token": "none",
    "catalog": CATALOG,
    "schema": "lake",
    "threads": 4,
}
REFUSED = re.compile(r"(?is)^(set|reset|cache|uncache|add jar)\b|\busing parquet\b|^show table extended|\busing jar\b")
"""What SQL warehouses or Unity Catalog refuse."""
_NAME = re.compile(rf"`{CATALOG}`\.`([^`]+)`(?:\.`([^`]+)`)?")


class _Nothing(MetaPathFinder, Loader):
    """Finds any module of a package, with any class in it."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:  # noqa: ARG002  # the signature is Python's
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] == "databricks" else None

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(__version__="0", __getattr__=_class_of_nothing)


def _class_of_nothing(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (Exception,), {})


def _folder_of_wheel() -> Path:
    """The folder with the wheel's files, downloaded once."""
    (version,) = re.findall(r"^dbt-databricks==(\S+)", WHEEL.read_text(), re.MULTILINE)
    folder = REPOSITORY / f".build/dbt-databricks-{version}"
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as made:
            install = ["pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target", f"{made}/wheel"]
            subprocess.run([sys.executable, "-m", "uv", *install, "-r", str(WHEEL)], check=True)
            Path(made, "wheel").rename(folder)
    return folder


def load() -> type[WithoutRows]:
    """Dbt-databricks' adapter, of which nothing goes over a wire."""
    folder = str(_folder_of_wheel() / "dbt")
    for package in (dbt.adapters, dbt.include):
        place = f"{folder}/{package.__name__.rpartition('.')[2]}"
        package.__path__ += [place] if place not in package.__path__ else []
    nothing = _Nothing()
    sys.meta_path.append(nothing)
    try:
        with catch_warnings(action="ignore"):
            its_adapter: Any = import_module("dbt.adapters.databricks.impl").DatabricksAdapter
    finally:
        sys.meta_path.remove(nothing)

    class DatabricksWithoutRows(WithoutRows, its_adapter):  # type: ignore[misc]  # dbt's classes are not typed here
        """Refuses what Databricks refuses, and names that have no catalog."""

        def named(self, text: str) -> str:
            return in_two_parts(text)

        def execute(self, sql: str, *arguments: Any, **named: Any) -> Any:
            assert not REFUSED.search(sql.strip()), f"refused: {sql}"
            return super().execute(sql, *arguments, **named)

        def get_relation(self, database: str | None, schema: str, identifier: str, **_: Any) -> Any:
            assert database == CATALOG, f"{schema}.{identifier} is looked for in the catalog {database}"
            return super().get_relation(database, schema, identifier)

        def shown(self, view: str) -> dict[str, str]:  # noqa: ARG002  # its listing has nothing of views
            return {}

        def _answer(self, sql: str) -> Rows:
            if view := re.fullmatch(r"show tblproperties (\S+)", sql):
                shown = self.lake.views.get(self.named(view[1]))
                if shown is not None:
                    return [{"key": key, "value": value} for key, value in re.findall(r"([\w.]+)=([\w:]*)", shown)]
            functions = re.fullmatch(r"show functions like '(\S+)'", sql)
            if functions and "^show functions" not in self.lake.answers:  # all are there
                return [{"function": f"{CATALOG}.lake.{name}"} for name in functions[1].split("|")]
            return super()._answer(sql)

    return DatabricksWithoutRows


def in_two_parts(sql: str) -> str:
    """SQL with the names that it would have without a catalog and without quotes."""
    return _NAME.sub(lambda name: ".".join(part for part in name.groups() if part), sql)
