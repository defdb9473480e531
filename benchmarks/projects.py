"""The dbt projects that are built while a clock runs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from .cost import Side

RAW, OURS, HAND = "cost_raw", "cost", "cost_by_hand"
"""The schemas of raw tables, of models, and of tables that are made by hand."""
_CALLS = {
    "stg": "staged_changes('shop', '{table}')",
    "dedup": "deduplicated_changes(ref('stg_shop__{table}'))",
    "current": "current_state(ref('dedup_shop__{table}'))",
    "history": "history(ref('dedup_shop__{table}'))",
}
TABLE_FORMATS = ("delta", "iceberg")


def model_of(kind: str, table: str) -> str:
    """The one line of a model.

    >>> model_of("current", "orders")
    "{{ change_tables.current_state(ref('dedup_shop__orders')) }}"
    """
    return f"{{{{ change_tables.{_CALLS[kind].format(table=table)} }}}}"


def settings_of(project: str, table_format: str) -> dict[str, Any]:
    """What a project needs for tables of a format, as docs/iceberg.md has it."""
    order = {"macro_namespace": "dbt", "search_order": [project, "change_tables", "dbt"]}
    return {"dispatch": [order]} if table_format == "iceberg" else {}


def write_project(side: Side, tables: Sequence[Mapping[str, Any]], models: Mapping[str, str]) -> None:
    """A project that installs the side's checkout: these entries of the source `shop`, and these models by name."""
    shutil.rmtree(side.project, ignore_errors=True)
    write_yaml(side.project / "packages.yml", {"packages": [{"local": str(side.checkout)}]})
    described: dict[str, Any] = {"name": "cost", "version": "1.0.0", "profile": "cost"}
    write_yaml(side.project / "dbt_project.yml", described | settings_of("cost", side.table_format))
    target = {"type": "spark", "method": "thrift", "host": side.server.host, "port": side.server.port}
    target |= {"schema": OURS, "threads": 1, "poll_interval": 0, "query_retries": 0}
    write_yaml(side.profiles / "profiles.yml", {"cost": {"target": "cost", "outputs": {"cost": target}}})
    source = {"name": "shop", "schema": RAW, "tables": [dict(table) for table in tables]}
    write_yaml(side.project / "models" / "sources.yml", {"version": 2, "sources": [source]})
    for name, text in models.items():
        (side.project / "models" / f"{name}.sql").write_text(f"{text}\n")


def write_yaml(file: Path, content: Any) -> None:
    """Write a file of dbt."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(content, sort_keys=False))
