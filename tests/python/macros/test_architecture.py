"""The map in docs/architecture.md is that of the code: files, who calls whom, what macros hand to each other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.python.pipelines.consumer import REPOSITORY

from .rendering import Lake
from .shapes import SHAPES, Shape, Shapes

PAGE = (REPOSITORY / "docs" / "architecture.md").read_text()
LOG = "dedup_feed__qlik"
PROBED = [{"changes": 1, "known": 0, "moves": 0, "overruled": 0, "withdrawn": 0, "verdicts": "[]"}]


def _keys_on_the_page(heading: str) -> list[str]:
    (section,) = re.findall(rf"^### {re.escape(heading)}\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def _keys_of(shapes: Shapes, heading: str) -> Iterable[str]:
    """The keys that a dict has, beside what the page says in its text."""
    macro = shapes.project.macros(LOG, Lake({}, answers={"as changes": PROBED}))
    log, state = shapes.run(Shape(LOG)), shapes.run(SHAPES["current__full__first"])
    match heading:
        case "`spec`":
            spec = macro("table_spec", "feed", "qlik")
            assert set(macro("spec_in_form", spec, None)) - set(spec) == {"form", "added"}
            return set(spec) - set(spec["settings"])
        case "`format`":
            return set(macro("format_of", "qlik_change_tables"))
        case "`bound`":
            entry = macro("table_spec", "feed", "qlik_plain")
            return set(macro("raw_bound", entry, None))
        case "`run` of a log":
            return log.run.keys()
        case "`run` of a state":
            return state.run.keys()
        case "`statements` of a state":
            return set(shapes.run(SHAPES["current__partial__since_late"]).handed["statements"])
        case "`mark` of a log":
            return log.mark.keys()
        case "`mark` of a state":
            return state.mark.keys()
        case "`found`":
            entry = macro("table_spec", "feed", "qlik")
            return set(macro("probe_changes", entry, {"run": "first"}, "a_batch"))
    raise AssertionError(heading)


HEADINGS = re.findall(r"^### (.*)$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("heading", HEADINGS)
def test_the_page_has_all_keys_of_a_dict_and_no_others(shapes: Shapes, heading: str) -> None:
    assert sorted(_keys_on_the_page(heading)) == sorted(_keys_of(shapes, heading))


def test_the_page_has_every_file_of_the_macros_and_no_others() -> None:
    files = {str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "macros").rglob("*.sql")}
    assert set(re.findall(r"^\| `(macros/\S+)` \|", PAGE, re.MULTILINE)) == files
    assert set(re.findall(r"macros/[\w/]+\.sql", PAGE)) == files


def test_the_files_of_the_dicts_have_the_macros_that_the_page_names() -> None:
    named = re.findall(r": `(\w+)` in `(macros/\S+\.sql)`", PAGE)
    assert len(named) >= 6
    for name, file in named:
        assert f"macro {name}(" in (REPOSITORY / file).read_text(), f"{name} is not in {file}"


def _macros() -> dict[str, Path]:
    """The macros of the package and the file of each."""
    found: dict[str, Path] = {}
    for path in (REPOSITORY / "macros").rglob("*.sql"):
        for name in re.findall(r"{%-?\s*(?:macro|materialization) (\w+)", path.read_text()):
            assert name not in found, f"{name} is in {found[name]} and in {path}"
            found[name] = path
    return found


def _calls() -> list[tuple[Path, Path, str]]:
    """Each call of one file to another one of the package: who calls, whose macro it is, its name."""
    macros, calls = _macros(), []
    for path in [*(REPOSITORY / "macros").rglob("*.sql"), *(REPOSITORY / "tests" / "generic").rglob("*.sql")]:
        for name in set(re.findall(r"change_tables\.(\w+)", path.read_text())):
            if name in macros and macros[name] != path:
                calls.append((path, macros[name], name))
    return calls


def test_macros_of_other_files_are_not_private() -> None:
    calls = _calls()
    assert len(calls) > 500
    assert [f"{path.relative_to(REPOSITORY)}: {name}" for path, _, name in calls if name.startswith("_")] == []


def test_calls_go_one_way() -> None:
    (table,) = re.findall(r"^\| folder \| about \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    folders = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert set(folders) == {path.parent.name for path in (REPOSITORY / "macros").rglob("*.sql")}
    upwards = [
        f"{path.relative_to(REPOSITORY)}: {name}"
        for path, called, name in _calls()
        if path.is_relative_to(REPOSITORY / "macros")
        and folders.index(path.parent.name) < folders.index(called.parent.name)
        and not (path.name == "formats.sql" and name.endswith("_format"))
    ]
    assert upwards == []


def test_what_a_model_hands_to_its_materialization_is_written_and_read_in_one_file() -> None:
    files = [path.name for path in (REPOSITORY / "macros").rglob("*.sql") if "change_tables_handed" in path.read_text()]
    assert files == ["runs.sql"]


def test_what_macros_hand_to_each_other_is_not_changed_later() -> None:
    changes = re.compile(r"\b(?:spec|bound|run|mark|log_mark|mark_before)(?:\.\w+)*\.(?:update|append)\(")
    changed = {
        f"{path.stem}: {found}"
        for path in (REPOSITORY / "macros").rglob("*.sql")
        for found in changes.findall(path.read_text())
    }
    # the macro that makes the spec, and its cache
    assert changed == {"table_spec: spec.update(", "landed_columns: spec.landed.update("}
    assert not [path for path in (REPOSITORY / "macros/log").iterdir() if "found.update(" in path.read_text()]
