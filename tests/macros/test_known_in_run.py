"""What is found out once for all models of a run."""

from __future__ import annotations

from collections import Counter
from functools import wraps
from typing import Any

import pytest

from .rendering import Lake, SparkWithoutRows
from .shapes import Shape, Shapes

RUNS = [Shape("stg_feed__qlik"), Shape("dedup_feed__qlik")]


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many times dbt was asked for each relation, and for the columns of each."""
    found: Counter[str] = Counter()
    get_relation, get_columns = SparkWithoutRows.get_relation, SparkWithoutRows.get_columns_in_relation

    @wraps(get_relation)
    def count_relation(adapter: Any, database: str | None, schema: str, identifier: str) -> Any:
        found[f"{schema}.{identifier}"] += 1
        return get_relation(adapter, database, schema, identifier)

    @wraps(get_columns)
    def count_columns(adapter: Any, relation: Any) -> Any:
        found[f"columns of {relation.render()}"] += 1
        return get_columns(adapter, relation)

    monkeypatch.setattr(SparkWithoutRows, "get_relation", count_relation)
    monkeypatch.setattr(SparkWithoutRows, "get_columns_in_relation", count_columns)
    return found


def test_dbt_is_asked_once_for_each_relation_and_its_columns(shapes: Shapes, looked: Counter[str]) -> None:
    for number, shape in enumerate(RUNS):
        shapes.project.run(shape.model, shapes.lake(shape), after=number > 0)
    assert {"lake.dedup_feed__qlik__state", "columns of lake_raw.qlik"} <= set(looked)
    assert {asked: times for asked, times in looked.items() if times > 1} == {}


def test_the_columns_of_a_shared_raw_table_are_asked_for_once(shapes: Shapes, looked: Counter[str]) -> None:
    for number, name in enumerate(("trail", "trail_lines", "trail_parts")):
        shape = Shape(f"stg_feed__{name}")
        shapes.project.run(shape.model, shapes.lake(shape), after=number > 0)
    assert looked["columns of lake_raw.trail"] == 1


def test_dbt_is_asked_once_for_the_entries_of_sources(shapes: Shapes) -> None:
    """From 1.12 on dbt makes each of them anew whenever it is asked: each table would pay for all."""
    context = shapes.project.context("dedup_feed__qlik", Lake({}))
    asked: list[str] = []

    class Sources(dict[str, Any]):
        def values(self) -> Any:
            asked.append("sources")
            return super().values()

    context["graph"] = dict(
        context["graph"], change_tables_known={}, sources=Sources(context["graph"]["sources"].items())
    )
    tables = [node["name"] for node in context["graph"]["sources"].values() if "change_table" in node["config"]["meta"]]
    asked.clear()
    for name in tables:
        assert context["change_tables"]["table_spec"]("feed", name)["table_name"] == name
    assert len(tables) > 20
    assert asked == ["sources"]


def test_what_a_model_has_made_is_found_by_those_after_it(shapes: Shapes) -> None:
    log = RUNS[1]
    shapes.project.run(log.model, shapes.lake(log))
    macro = shapes.project.macros("current_feed__full", shapes.lake(log), after=True)
    for name in ("", "__state", "__quarantine"):
        relation = SparkWithoutRows.Relation.create(schema="lake", identifier=f"dedup_feed__qlik{name}")
        assert macro("found_relation", relation) is not None
