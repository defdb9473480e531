"""What is of one table format alone is in one file of macros."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.pipelines.consumer import REPOSITORY

from .rendering import Lake
from .shapes import Shape, Shapes, state_since

MACROS = REPOSITORY / "macros"
HOME = "tables/table_format.sql"
ALLOWED = {"sql/platform.sql": 2}
"""How often a file may name a format: the one of Unity Catalog."""
COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
KNOWS_A_FORMAT = re.compile(r"(?<!time)delta|iceberg|\b(?:optimize|vacuum|reorg) |replace where", re.IGNORECASE)


def test_no_other_macro_knows_one_table_format_from_the_other() -> None:
    found = {}
    for path in MACROS.rglob("*.sql"):
        name = path.relative_to(MACROS).as_posix()
        if times := len(KNOWS_A_FORMAT.findall(COMMENT.sub("", path.read_text()))):
            found[name] = times
    assert found.pop(HOME) > 1
    assert found == ALLOWED


CATALOG = "spark.sql.catalog.spark_catalog"
ICEBERG = "org.apache.iceberg.spark.SparkCatalog"


@pytest.mark.parametrize(
    ("catalog", "table_format"), [("<undefined>", "delta"), ("other", "delta"), (ICEBERG, "iceberg")]
)
def test_the_server_is_asked_once_for_its_format_where_no_check_of_a_run_has_told_it(
    shapes: Shapes, catalog: str, table_format: str
) -> None:
    asked = {f"^set {CATALOG}$": [{"key": CATALOG, "value": catalog}]}
    macro = shapes.project.macros("stg_feed__qlik", Lake({}, answers=asked))
    macro("known_in_run", "format").clear()
    assert [macro("table_format"), macro("table_format")] == [table_format] * 2
    assert shapes.project.sent() == [f"set {CATALOG}"]


@pytest.mark.parametrize(
    ("settings", "table_format", "said"),
    [
        ({}, "delta", []),
        ({CATALOG: ICEBERG}, "iceberg", ["needs spark.sql.catalog.spark_catalog.cache-enabled=false"]),
        (
            {CATALOG: ICEBERG, f"{CATALOG}.cache-enabled": "false"},
            "iceberg",
            ["dispatch: [{macro_namespace: dbt, search_order: [consumer, change_tables, dbt]}]"],
        ),
    ],
)
def test_the_checks_of_a_run_say_what_its_format_lacks_and_let_models_know_it(
    shapes: Shapes, settings: dict[str, str], table_format: str, said: list[str]
) -> None:
    macro = shapes.project.macros("stg_feed__qlik")
    found = macro("table_format_mistakes", settings)
    assert len(found) == len(said)
    assert all(text in mistake for text, mistake in zip(said, found, strict=True))
    assert macro("table_format") == table_format
    assert shapes.project.sent() == []


@pytest.mark.parametrize(
    ("file_format", "said"),
    [(None, []), ("parquet", []), ("delta", []), ("iceberg", ["a (iceberg)"]), ("hudi", ["a (hudi)"])],
)
def test_a_model_of_another_format_than_the_server_s_is_named(
    shapes: Shapes, file_format: str | None, said: list[str]
) -> None:
    config = {"materialized": "change_log", "file_format": file_format}
    context = shapes.project.context("stg_feed__qlik", Lake({}))
    context["graph"] = {"nodes": {"a": {"name": "a", "resource_type": "model", "config": config}}}
    found = context["change_tables"]["table_format_mistakes"]({})
    assert [mistake.rpartition(" for ")[2] for mistake in found] == said


def _writes_on_iceberg(shapes: Shapes, shape: Shape, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a run sends that changes a table of the server, the same but for what is of Iceberg."""
    asked = len(shapes.run(shape).sent)
    monkeypatch.setattr(shapes.project, "table_format", "iceberg")
    sent = shapes.run(shape).sent
    assert len(sent) == asked
    assert [sql for sql in sent if "delta" in sql.lower()] == []
    return [sql for sql in sent if re.match(r"create or replace table|merge|insert|update|delete|alter table", sql)]


@pytest.mark.parametrize("model", ["dedup_feed__qlik", "history_feed__full"])
def test_a_table_is_made_of_the_server_s_format(shapes: Shapes, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    checkpoints = {} if model.startswith("dedup") else {"dedup_feed__full": dict[str, Any]()}
    (made, *_) = _writes_on_iceberg(shapes, Shape(model, checkpoints), monkeypatch)
    assert re.match(r"create or replace table \S+\s+using iceberg\s+tblproperties \('format-version' = '2'", made)


@pytest.mark.parametrize("shape", [state_since("history", "full"), Shape("dedup_feed__qlik", {"dedup_feed__qlik": {}})])
def test_a_run_on_iceberg_never_inserts_since_that_is_checked_for_no_other_run(
    shapes: Shapes, monkeypatch: pytest.MonkeyPatch, shape: Shape
) -> None:
    written = _writes_on_iceberg(shapes, shape, monkeypatch)
    assert {sql.split()[0] for sql in written} == {"merge"}
