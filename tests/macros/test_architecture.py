"""The map in docs/architecture.md is that of the code: who calls whom, what macros hand to each other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from docs.macro_pages import FORMATS
from tests.pipelines.consumer import REPOSITORY

from .rendering import Lake
from .shapes import SHAPES, Shape, Shapes

PAGE = (REPOSITORY / "docs" / "architecture.md").read_text()
LOG = "dedup_feed__qlik"
SUMMARY = [{"changes": 1, "revised": 0, "moves": 0, "retracted_keys": 0, "retracted": 0, "verdicts": "[]"}]


# a dict -> the macro that makes it
MAKERS = {
    "spec": "table_spec",
    "format": "format_of",
    "bound": "raw_bound",
    "run of a log": "deduplicated_changes",
    "run of a state": "fold_run",
    "statements": "folded_query",
    "checkpoint of a log": "log_checkpoint",
    "found": "summarize_batch",
}


def _keys_of(shapes: Shapes, name: str) -> Iterable[str]:
    """The keys that a dict has."""
    macro = shapes.project.macros(LOG, Lake({}, answers={"as changes": SUMMARY}))
    entry = macro("table_spec", "feed", "qlik")
    match name:
        case "spec":
            assert set(macro("spec_in_version", entry, None)) - set(entry) == {
                "schema_version",
                "added",
                "absent",
                "renamed_in",
            }
            return (set(entry) - set(entry["settings"])) | {"settings"}
        case "format":
            return set(macro("format_of", "qlik_change_tables"))
        case "bound":
            return set(macro("raw_bound", macro("table_spec", "feed", "qlik_plain"), None))
        case "run of a log":
            return shapes.run(Shape(LOG)).run.keys() - _keys_of(shapes, "bound")
        case "run of a state":
            return shapes.run(SHAPES["current__full__first"]).run.keys()
        case "statements":
            return set(shapes.run(SHAPES["current__partial__since_late"]).handed["statements"])
        case "checkpoint of a log":
            return shapes.run(Shape(LOG)).checkpoint.keys()
        case "found":
            return set(macro("summarize_batch", entry, {"kind": "first"}, "a_batch"))
    raise AssertionError(name)


@pytest.mark.parametrize("name", MAKERS)
def test_the_comment_of_a_macro_has_the_keys_of_its_dict_and_its_parameters(shapes: Shapes, name: str) -> None:
    maker = MAKERS[name]
    (comment, parameters) = re.findall(
        rf"{{#-((?:(?!-#}}).)*)-#}}\n{{% macro {maker}\((.*?)\)", _macros()[maker].read_text(), re.DOTALL
    )[0]
    explained = re.findall(r"^ {4}(\w+(?:, \w+)*)(?:\([^)\n]*\))?  +\S", comment, re.MULTILINE)
    keys = {key for line in explained for key in line.split(", ")}
    assert set(_keys_of(shapes, name)) - keys == set()
    assert keys - set(_keys_of(shapes, name)) <= {*re.findall(r"\w+", parameters), "caller"}


def test_the_comment_of_a_run_of_a_state_has_the_keys_of_its_checkpoint(shapes: Shapes) -> None:
    ((comment,),) = [re.findall(r"{#-(.*?)-#}\n{% macro fold_run", _macros()["fold_run"].read_text(), re.DOTALL)]
    (explained,) = re.findall(r"^ {4}checkpoint  +(.*?)^ {4}\w", comment, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`(\w+)`", explained)) == set(shapes.run(SHAPES["current__full__first"]).checkpoint)


def test_every_file_of_the_macros_begins_with_what_it_is_for() -> None:
    files = list((REPOSITORY / "macros").rglob("*.sql"))
    assert len(files) > 50
    assert [str(file) for file in files if not file.read_text().startswith("{#-")] == []


def test_a_macro_outside_of_staging_can_be_read_at_one_go() -> None:
    macro = re.compile(r"{%-?\s*(macro|materialization) (\w+).*?{%-?\s*end\1\s*-?%}", re.DOTALL)
    files = [file for file in (REPOSITORY / "macros").rglob("*.sql") if "feeds" not in file.parts]
    lines = {found[2]: found[0].count("\n") + 1 for file in files for found in macro.finditer(file.read_text())}
    assert {name: number for name, number in lines.items() if number > 90} == {}


def test_the_page_names_files_and_macros_that_are_there() -> None:
    named = re.findall(r"`(\w+)` in `(macros/\S+\.sql)`", PAGE)
    assert {name for name, _ in named} >= set(MAKERS.values())
    for name, file in named:
        assert f"macro {name}(" in (REPOSITORY / file).read_text(), f"{name} is not in {file}"
    for file in re.findall(r"macros/[\w/]+\.sql", PAGE):
        assert (REPOSITORY / file).is_file(), file


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


def test_macros_that_are_called_are_there() -> None:
    macros, called = _macros(), 0
    for folder in ("macros", "models", "tests", "demo"):
        for path in (REPOSITORY / folder).rglob("*.sql"):
            names = re.findall(r"(?<!['\w])change_tables\.(\w+)\(", path.read_text())
            assert {name for name in names if name not in macros} == set(), path
            called += len(names)
    assert called > 2000


def test_macros_of_other_files_are_not_private() -> None:
    calls = _calls()
    assert len(calls) > 500
    assert [f"{path.relative_to(REPOSITORY)}: {name}" for path, _, name in calls if name.startswith("_")] == []


def _folder(path: Path) -> str:
    return path.relative_to(REPOSITORY / "macros").parts[0]


def test_calls_go_one_way() -> None:
    (table,) = re.findall(r"^\| folder \| about \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    folders = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert set(folders) == {_folder(path) for path in (REPOSITORY / "macros").rglob("*.sql")}
    upwards = [
        f"{path.relative_to(REPOSITORY)}: {name}"
        for path, called, name in _calls()
        if path.is_relative_to(REPOSITORY / "macros")
        and folders.index(_folder(path)) < folders.index(_folder(called))
        and not (path.name == "formats.sql" and name.endswith("_format"))
    ]
    assert upwards == []


def test_what_is_of_one_feed_is_called_in_its_folder_alone() -> None:
    feeds = REPOSITORY / "macros" / "feeds"
    assert {path.name for path in feeds.iterdir() if path.is_dir()} == set(FORMATS)
    strangers = [
        f"{path.relative_to(REPOSITORY)}: {name}"
        for path, called, name in _calls()
        if called.is_relative_to(feeds)
        and called.parent not in (feeds, path.parent)
        and path.name != "formats.sql"
        # the documents are those of event logs
        and (_folder(path), called.parent.name) != ("documents", "idm_event_log")
    ]
    assert strangers == []


def test_what_a_model_hands_to_its_materialization_is_written_and_read_in_one_file() -> None:
    files = [path.name for path in (REPOSITORY / "macros").rglob("*.sql") if "change_tables_handed" in path.read_text()]
    assert files == ["runs.sql"]


def test_what_macros_hand_to_each_other_is_not_changed_later() -> None:
    changes = re.compile(
        r"\b(?:spec|bound|run|checkpoint|log_checkpoint|checkpoint_before)(?:\.\w+)*\.(?:update|append)\("
    )
    changed = {
        f"{path.stem}: {found}"
        for path in (REPOSITORY / "macros").rglob("*.sql")
        for found in changes.findall(path.read_text())
    }
    assert changed == set()
    assert not [path for path in (REPOSITORY / "macros/log").iterdir() if "found.update(" in path.read_text()]
