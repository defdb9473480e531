"""Servers without the functions of this package: which models a run refuses there, and when."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from dbt import selected_resources
from dbt.adapters.factory import reset_adapters
from dbt_common.exceptions import CompilationError

from change_tables.udfs.catalog import CATALOG
from change_tables.udfs.registration import VERSION_SETTING
from tests.pipelines import openedge_cases
from tests.pipelines.consumer import Consumer, Entry

from .rendering import Lake, Project, Run

COLUMNS = {"id": "bigint", "name": "string"}
QLIK = {"format": "qlik_change_tables", "key": ["id"]}
EVENTS = {"format": "idm_event_log", "key": ["id"], "table_name": "t", "schema_name": "s"}
OPENEDGE = {"format": "openedge_cdc", "key": ["id"], "tracking": "tracking", "source_table_number": 12}
KAFKA = {"format": "qlik_kafka", "key": ["id"]}
MODELS = ("stg", "dedup", "current")
ENTRIES = (
    Entry("changes", QLIK, COLUMNS, models=MODELS),
    Entry("sparse", QLIK | {"images": "partial"}, COLUMNS, models=MODELS),
    Entry("json", KAFKA, COLUMNS, models=MODELS),
    Entry("avro", KAFKA | {"serialization": "avro"}, COLUMNS, models=MODELS),
    Entry("trail", {"format": "goldengate_trail", "key": ["id"], "table_name": "APP.T"}, COLUMNS, models=MODELS),
    Entry(
        "events",
        {"format": "idm_event_log", "key": ["id"], "table_name": "t", "schema_name": "s"},
        COLUMNS,
        models=MODELS,
    ),
    Entry("plain", OPENEDGE, COLUMNS, models=MODELS),
    Entry("arrays", OPENEDGE, COLUMNS | {"a": "array<string>"}, models=MODELS),
    Entry("extents", OPENEDGE, COLUMNS | {"a": "array<string>"}, models=MODELS),
)
NEEDS: Mapping[str, Sequence[str]] = {
    "avro": ["avro_to_json", "read_avro_envelope"],
    "events": ["parse_table_key"],
    "extents": ["split_extent"],
}
"""The functions that staging and log of an entry call."""
LANDED = {
    f"functions_raw.{name}": openedge_cases.HEADERS | COLUMNS | {"a": kind}
    for name, kind in (("extents", "string"), ("arrays", "array<string>"))
}
UTC = {"spark.sql.session.timeZone": "UTC"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project with an entry for each form of each feed."""
    consumer = Consumer(tmp_path_factory.mktemp("functions") / "project", 1, "functions")
    consumer.write(list(ENTRIES), further_sources=["tracking"])
    yield Project(consumer)
    reset_adapters()


def _started(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    models: Sequence[str],
    there: Sequence[str] = (),
    spark: str = "4.0.5 b472a3aa",
    **settings: str,
) -> tuple[str, list[str]]:
    """What the start of a run of these models says, empty where it goes on; and what it sends."""
    monkeypatch.setattr(selected_resources, "SELECTED_RESOURCES", [f"model.consumer.{model}" for model in models])
    answers = {
        r"^set$": [{"key": name, "value": value} for name, value in (UTC | settings).items()],
        r"^show functions": [{"function": name} for name in there],
        r"^select version": [{"version": spark}],
    }
    lake = Lake(LANDED, answers=answers)
    try:
        project.macros("stg_feed__changes", lake)("check_table_specs")
    except CompilationError as refused:
        return str(refused), project.sent()
    return "", project.sent()


@pytest.mark.parametrize("name", [entry.name for entry in ENTRIES])
@pytest.mark.parametrize("kind", MODELS)
def test_a_model_that_calls_a_function_is_refused_where_the_server_lacks_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, kind: str, name: str
) -> None:
    model = f"{kind}_feed__{name}"
    said, sent = _started(project, monkeypatch, [model])
    if kind == "current" or name not in NEEDS:
        assert (said, sent) == ("", ["set", "select version()"])
        return
    for function in NEEDS[name]:
        assert f"`{function}`, which {model} calls" in said
    line = next(line for line in said.splitlines() if "change_tables: " in line)
    assert line.strip().endswith(
        "run these models on the server that `change-tables server` starts, or leave them out with --exclude;"
        " see docs/servers.md"
    )
    assert [re.match(r"\w+( functions)?", sql)[0] for sql in sent] == ["set", "select", "show functions"]  # type: ignore[index]  # all match


@pytest.mark.parametrize("name", [entry.name for entry in ENTRIES])
@pytest.mark.parametrize("kind", MODELS)
def test_what_is_said_to_be_called_is_what_the_sql_of_a_table_without_moves_calls(
    project: Project, kind: str, name: str
) -> None:
    run: Run = project.render(f"{kind}_feed__{name}", Lake(LANDED, answers={r"^show tblproperties": []}))
    called = [entry.name for entry in CATALOG if re.search(rf"\b{entry.name}\(", run.rendered)]
    assert sorted(called) == ([] if kind == "current" else sorted(NEEDS.get(name, [])))


def test_only_selected_models_count_and_those_of_a_function_are_named_together(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, _ = _started(project, monkeypatch, ["stg_feed__events", "dedup_feed__events", "stg_feed__changes"])
    assert "`parse_table_key`, which dedup_feed__events, stg_feed__events call:" in said
    assert "split_extent" not in said


@pytest.mark.parametrize("name", ["parse_table_key", "spark_catalog.default.parse_table_key"])
def test_a_function_that_somebody_has_registered_otherwise_is_there(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert _started(project, monkeypatch, ["stg_feed__events"], there=[name])[0] == ""


def test_a_server_of_this_package_is_asked_for_nothing_else(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    said, sent = _started(project, monkeypatch, ["stg_feed__events"], **{VERSION_SETTING: "0.1.0"})
    assert (said, sent) == ("", ["set"])


@pytest.mark.parametrize("spark", ["3.5.9 7c14a3c2", "2.4.8", "3.10.0"])
def test_a_server_whose_spark_is_too_old_is_refused_in_one_line_with_its_version(
    project: Project, monkeypatch: pytest.MonkeyPatch, spark: str
) -> None:
    said, sent = _started(
        project, monkeypatch, ["stg_feed__events"], spark=spark, **{"spark.sql.caseSensitive": "true"}
    )
    assert [line.strip() for line in said.splitlines() if "change_tables: " in line] == [
        f"change_tables: the server is Spark {spark.split()[0]}, and models need Spark 4.0 or later;"
        " see docs/servers.md"
    ]
    assert sent == ["set", "select version()"]


@pytest.mark.parametrize("spark", ["4.0.0 5fe6b1e4", "4.1.0-SNAPSHOT", "4.10.1", "10.0", "unknown"])
def test_a_later_spark_and_one_that_names_its_version_otherwise_are_not_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch, spark: str
) -> None:
    assert _started(project, monkeypatch, ["stg_feed__changes"], spark=spark)[0] == ""


def _moved(name: str, answers: Mapping[str, Any]) -> Lake:
    checkpoint = {
        "storage_version": 6, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001",
        "reset_seq": "", "loads": [], "highest_seq": "", "moves": True, "rebuild": "", "snapshot_seq": "",
        "schema_version": 0, "added": {}, "absent": {}, "renamed": {}, "first_names": [], "load_times": {},
        "key": ["id"], "columns": {"id": "bigint", "name": "string"}, "changes": 2,
    }  # fmt: skip
    return Lake({}, checkpoints={f"functions.dedup_feed__{name}__state": [checkpoint]}, answers=answers)


STOCK = {
    r"^set spark\.change_tables\.version": [{"key": VERSION_SETTING, "value": "<undefined>"}],
    r"^show functions": [],
}


def test_partial_images_that_have_moved_are_refused_before_anything_is_written(project: Project) -> None:
    with pytest.raises(CompilationError) as refused:
        project.render("current_feed__sparse", _moved("sparse", STOCK))
    said = str(refused.value)
    assert "rows of 'feed.sparse' have moved to other keys" in said
    assert "first_ancestors, reached_names, rows_at_key. Nothing was taken in" in said


def test_full_images_that_have_moved_need_no_function(project: Project) -> None:
    run: Run = project.render("current_feed__changes", _moved("changes", STOCK))
    assert "rows_of_events" in run.rendered
    assert not [entry.name for entry in CATALOG if re.search(rf"\b{entry.name}\(", run.rendered)]
