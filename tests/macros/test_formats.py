"""What a format must declare, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from jinja2 import Undefined

from docs import macro_pages
from tests.pipelines.consumer import REPOSITORY

from .rendering import Lake
from .shapes import Shapes

FORMATS = (
    "debezium",
    "dms",
    "full_loads",
    "goldengate_messages",
    "goldengate_trail",
    "idm_event_log",
    "mapped",
    "openedge_cdc",
    "qlik_change_tables",
    "qlik_kafka",
)


def _format_of(shapes: Shapes, parts: dict[str, Any]) -> Any:
    """What `format_of` makes of a project's format with these parts."""
    context = _with_formats(shapes, my_feed=lambda: parts)
    return context["change_tables"]["format_of"]("my_feed")


def _with_formats(shapes: Shapes, **formats: Callable[[], Any]) -> dict[str, Any]:
    """What the Jinja of a model sees in a project with formats of its own."""
    context = shapes.project.context("dedup_feed__qlik", Lake({}))
    context["adapter"] = SimpleNamespace(dispatch=lambda *_: lambda: formats)
    return context


def test_parts_that_a_format_leaves_out_have_defaults(shapes: Shapes) -> None:
    def stage(*_: object) -> str:
        return ""

    found = _format_of(shapes, {"stage": stage, "reads": "true"})
    assert (found["stage"], found["reads"]) == (stage, "true")
    assert (found["settings"], found["columns"], found["arrival"]) == ({}, [], None)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"stage": str, "arival": str}, " has no part `arival`; its parts: stage, settings, "),
        ({"stage": str, "mistakes": "none"}, ": `mistakes` must be a macro that is there, got 'none'"),
        ({"stage": None}, ": `stage` must be a macro that is there, got null"),
        ({"stage": str, "commits": Undefined()}, ": `commits` must be given, got null"),
        ({"stage": str, "columns": Undefined()}, ": `columns` must be given, got null"),
        ({"arrival": str}, " must have `stage`, the macro that stages its rows"),
    ],
)
def test_a_part_that_no_format_has_or_that_is_no_macro_is_refused(
    shapes: Shapes, parts: dict[str, Any], message: str
) -> None:
    with pytest.raises(CompilationError, match=re.escape(f"format 'my_feed'{message}")):
        _format_of(shapes, parts)


@pytest.mark.parametrize("name", FORMATS)
def test_the_formats_of_the_package_name_parts_and_macros_that_are_there(shapes: Shapes, name: str) -> None:
    assert shapes.project.macros("dedup_feed__qlik")("format_of", name)["stage"]


def test_the_formats_of_the_package_are_these(shapes: Shapes) -> None:
    assert sorted(shapes.project.macros("dedup_feed__qlik")("known_formats")) == list(FORMATS)


def test_a_project_takes_no_name_that_the_package_has(shapes: Shapes) -> None:
    context = _with_formats(shapes, qlik_kafka=str)
    with pytest.raises(CompilationError, match="the package has a format 'qlik_kafka'"):
        context["change_tables"]["known_formats"]()


@pytest.mark.parametrize("name", FORMATS)
def test_the_pages_of_settings_and_columns_are_made_of_what_dbt_reads(shapes: Shapes, name: str) -> None:
    by_dbt, of_the_pages = shapes.project.macros("dedup_feed__qlik"), macro_pages.macros()
    assert of_the_pages.format_settings(name) == by_dbt("format_settings", name)
    assert of_the_pages.format_of(name)["columns"] == by_dbt("format_of", name)["columns"]
    assert of_the_pages.staged_columns({"format": name, "column_names": []}) == by_dbt(
        "staged_columns", {"format": name, "column_names": []}
    )


def test_the_pages_have_all_formats() -> None:
    assert sorted(macro_pages.FORMATS) == list(FORMATS)


def test_the_settings_of_columns_and_the_variables_are_those_that_macros_read() -> None:
    texts = {path: path.read_text() for path in (REPOSITORY / "macros").rglob("*.sql")}
    for name in FORMATS:
        text = texts[REPOSITORY / f"macros/feeds/{name}/stage_{name}.sql"]
        if "mapped_parts" in text:
            text += texts[REPOSITORY / "macros/feeds/mapped_images.sql"]
        read = set(re.findall(r"column\.meta\.(?:get\('(\w+)'\)|(\w+))", text))
        names = {one or other for one, other in read} - {"get"}
        assert names == set(macro_pages.macros().format_of(name)["column_settings"]), name
    variables = {name for text in texts.values() for name in re.findall(r"\bvar\('(\w+)'", text)}
    assert variables == set(re.findall(r"^\| `(change_tables_\w+)` \|", macro_pages.settings_page(), re.MULTILINE))
