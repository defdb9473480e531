"""Forgotten keys, as far as rendering shows them: the door of the log in each format, and which keys are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .entries import LANDED
from .rendering import Lake
from .shapes import SCHEMA, Shape, Shapes

STAGED = {entry.change_table["format"]: entry.name for entry, landed in LANDED if landed is not None}
"""An entry of each format."""


@pytest.mark.parametrize("name", STAGED.values(), ids=STAGED)
def test_the_staging_of_every_format_ends_in_the_door(shapes: Shapes, name: str) -> None:
    shape = Shape(f"stg_feed__{name}")
    plain = shapes.run(shape).rendered
    assert "forgotten" not in plain
    door = f"{SCHEMA}.change_table_forgotten__feed__{name}"
    forgetting = shapes.run(replace(shape, tables=[door])).rendered
    steps = forgetting[forgetting.index("staged_deliveries as (") :]
    assert f"from {door}" in steps
    assert steps.index("\nstaged as (") > steps.index("forgotten_keys as (")
    # and is nothing else, but that full loads compare no row of a forgotten key: another load would delete it
    before = forgetting[: forgetting.index("staged_deliveries as (")]
    assert plain.startswith(before) or name == STAGED["full_loads"]


@pytest.mark.parametrize(
    ("key", "mistake"),
    [
        ({}, "a key of feed.qlik must be a JSON object of order, it's, got none"),
        ({"order": 7}, "a key of feed.qlik must be a JSON object of order, it's, got order"),
        ({"order": None, "it's": None}, "of order, it's, of which one must not be null"),
        ({"order": "x", "it's": "y"}, "column order is bigint, and what is given as its value is not"),
        ({"order": 7, "it's": "z"}, "column it's is string, and what is given as its value is not"),
        ({"order": True, "it's": "y"}, "column order is bigint, so its value must be a number in the JSON"),
        ({"order": 7, "it's": 7}, "column it's is string, so its value must be a text in the JSON"),
    ],
)
def test_a_wrong_key_is_told(shapes: Shapes, key: dict[str, Any], mistake: str) -> None:
    is_wrong = [{"a": key.get("order") == "x", "b": key.get("it's") == "z"}]
    lake = Lake({}, answers={r"^select '[x7]' is not null and .* as is_wrong_0, false as is_wrong_1$": is_wrong})
    with pytest.raises(CompilationError, match=mistake):
        shapes.project.macros("dedup_feed__qlik", lake)("forget", "qlik", [key])


def test_entries_that_differ_in_what_a_table_cannot_be_named_have_tables_of_their_own(shapes: Shapes) -> None:
    macro = shapes.project.macros("dedup_feed__qlik")
    entries = [("a", "b"), ("A", "b"), ("a", "b c"), ("a", "b_c")]
    found = {
        macro("forgotten_keys", {"source_name": source, "table_name": table}).identifier for source, table in entries
    }
    assert len(found) == 4
    assert "change_table_forgotten__a__b" in found


STATES = ("current", "kept", "history")
FEWER = {"columns": {"first": "bigint", "it's": "string"}}


@pytest.mark.parametrize(
    ("model", "older"), [("dedup", FEWER), *((kind, FEWER | {"key": ["first", "its"]}) for kind in STATES)]
)
def test_no_key_is_forgotten_before_the_models_have_the_columns_of_today(
    shapes: Shapes, model: str, older: dict[str, Any]
) -> None:
    # a state that lacks a column which is no key has the rows by their keys
    checkpoints: dict[str, dict[str, Any]] = {f"{kind}_feed__full": FEWER for kind in STATES}
    checkpoints |= {"dedup_feed__full": {}, f"{model}_feed__full": older}
    forget = shapes.project.macros("dedup_feed__full", shapes.lake(Shape("dedup_feed__full", checkpoints)))
    with pytest.raises(CompilationError, match=f"changed since {SCHEMA}.{model}_feed__full was built: build it"):
        forget("forget", "full", [{}])


def test_a_current_model_says_which_keys_live_only_with_all_that_the_log_has(shapes: Shapes) -> None:
    lake = shapes.lake(Shape("dedup_feed__full", {"dedup_feed__full": {"batch": "2027"}, "current_feed__full": {}}))
    lake.views[f"{SCHEMA}.current_feed__full"] = ""
    macro = shapes.project.macros("dedup_feed__full", lake)
    logs = macro("_logs_to_forget_in", "", "full")
    with pytest.raises(CompilationError, match=r"current_feed__full has not taken in all that .*dedup_feed__full has"):
        macro("_refuse_living_by_moves", "feed.full", logs, "salt", ["hash"])
