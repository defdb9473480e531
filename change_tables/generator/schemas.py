"""What `dbt_project.yml` says: the schema of the models that people read, and how dbt finds macros for Iceberg."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ruamel.yaml.comments import CommentedMap

from .models import FOLDERS, READ
from .project_files import Project, ProjectError
from .yaml_files import YamlFile, in_one_line, insert, list_of, read_yaml, scalar

OF_TARGET = "{{ target.schema }}"
"""The schema of the tables behind such models, with all others. So that of readers has views alone."""


def with_schema_of_readers(project: Project, folder: Path, schema: str, *, has_history: bool) -> YamlFile | None:
    """The file `dbt_project.yml` with a schema for the models of a folder that people read; null where nothing changes.

    Histories are where current models are: those of a folder get a schema when the first is written, since dbt warns
    of settings without a model.

    Args:
        project: the project
        folder: of the models of a source
        schema: as dbt's `+schema` has it; empty: of histories alone, where current models have one
        has_history: whether a history is written

    Raises:
        ProjectError: the file has another form than dbt reads.
    """
    file = read_yaml(project.root / "dbt_project.yml")
    (models,) = (parent for parent in project.model_folders if folder.resolve().is_relative_to(parent.resolve()))
    at = file.data
    for part in ("models", file.data.get("name"), *folder.resolve().relative_to(models.resolve()).parts):
        at = _below(file, at, str(part))
        if _says_schema(at):
            return None
    current, history = (_below(file, at, FOLDERS[kind]) for kind in READ)
    if schema and not _says_schema(current):
        _give(current, schema)
        file.is_changed = True
    if has_history and "tables_schema" in (current.get("+meta") or {}) and not _says_schema(history):
        _give(history, str(current["+schema"]))
        file.is_changed = True
    if not history:
        del at[FOLDERS["history"]]
    return file if file.is_changed else None


def with_dispatch(project: Project, file: YamlFile | None) -> YamlFile | None:
    """The file `dbt_project.yml`, as it was or is changed already, with the setting that tables of Iceberg need.

    Null where nothing changes; an order of dbt's macros that is there stays.

    Raises:
        ProjectError: the file has another form than dbt reads.
    """
    file = file or read_yaml(project.root / "dbt_project.yml")
    given = file.data.get("dispatch") or []
    if not isinstance(given, list) or not all(isinstance(order, Mapping) for order in given):
        raise ProjectError(f"{file.path}: dispatch must be a list of mappings")
    if not any(order.get("macro_namespace") == "dbt" for order in given):
        order = [str(file.data.get("name")), "change_tables", "dbt"]
        listed = list_of(file, "dispatch")
        insert(listed, len(listed), in_one_line({"macro_namespace": "dbt", "search_order": order}))
        file.is_changed = True
    return file if file.is_changed else None


def _give(at: CommentedMap, schema: str) -> None:
    at["+schema"] = scalar(schema)
    at["+meta"] = in_one_line({"tables_schema": OF_TARGET})
    at["+persist_docs"] = in_one_line({"relation": True, "columns": True})


def _below(file: YamlFile, at: CommentedMap, part: str) -> CommentedMap:
    if at.get(part) is None:
        at[part] = CommentedMap()
    if not isinstance(at[part], CommentedMap):
        raise ProjectError(f"{file.path}: {part} must be a mapping")
    below: CommentedMap = at[part]
    return below


def _says_schema(at: CommentedMap) -> bool:
    return any(name in at for name in ("schema", "+schema"))
