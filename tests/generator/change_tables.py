"""A schema of change tables that no server has, and what the generator makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from change_tables.generator.found import LakeError
from change_tables.generator.plan import Plan, Wish
from change_tables.generator.project import make_plan
from change_tables.generator.project_files import Project
from change_tables.generator.qlik_change_tables import read

from .fake_lake import FakeLake

HEADERS = {
    "header__change_seq": "string",
    "header__change_oper": "string",
    "header__change_mask": "binary",
    "header__stream_position": "string",
    "header__operation": "string",
    "header__transaction_id": "string",
    "header__timestamp": "timestamp",
}
"""The header columns that change tables have by default."""


Schema = Mapping[str, Mapping[str, str] | LakeError]
"""Table -> its columns, or why it cannot be read."""


class ChangeTables(FakeLake):
    """Tables of one schema; nothing is asked but which catalog the server has."""

    def __init__(self, tables: Schema, said: Mapping[str, Mapping[str, str]] | None = None) -> None:
        """Take the columns of each table, and the comments of some."""
        super().__init__(tables, {})
        self.said = said or {}
        self.catalog = "<undefined>"

    def columns(self, schema: str, table: str) -> list[tuple[str, str]]:
        """Of one."""
        assert schema == "raw"
        return super().columns(schema, table)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The catalog."""
        assert statement == "set spark.sql.catalog.spark_catalog"
        return [("spark.sql.catalog.spark_catalog", self.catalog)]


def new_project(folder: Path) -> Path:
    """A dbt project without models."""
    (folder / "models").mkdir(parents=True)
    (folder / "dbt_project.yml").write_text("name: consumer\nprofile: consumer\n")
    return folder


def plan_of(
    project: Path,
    tables: Mapping[str, Mapping[str, str] | LakeError],
    options: Mapping[str, str] | None = None,
    said: Mapping[str, Mapping[str, str]] | None = None,
    catalog: str = "<undefined>",
    **wish: Any,
) -> Plan:
    """What `change-tables init` would do."""
    lake = ChangeTables(tables, said)
    lake.catalog = catalog
    given = {"format": "qlik_change_tables", "source": "shop", "raw_schema": "raw", "folder": project / "models/shop"}
    return make_plan(Project(project), read(lake, "raw", options or {}), lake, Wish(**{**given, **wish}))


def written(project: Path, tables: Schema, **given: Any) -> Plan:
    """What `change-tables init` has done."""
    plan = plan_of(project, tables, **given)
    plan.write()
    return plan


def texts(project: Path) -> dict[str, str]:
    """Every file of the project's models: path -> text."""
    models = project / "models"
    return {str(path.relative_to(models)): path.read_text() for path in sorted(models.rglob("*")) if path.is_file()}
