"""What dbt offers besides a plain build, tried on the models of this package: one project, a table of each feed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import yaml

from tests.table_format import TABLE_FORMAT

from . import idm_cases, kafka_cases, openedge_cases, qlik_cases, trail_cases
from .cases import Case, current_rows
from .consumer import BUILT_AGAIN, REPOSITORY, Consumer
from .landing import Raw
from .statements import intercepted

pytestmark = pytest.mark.slow

SCHEMA = "dbt_features"
OTHER = f"{SCHEMA}_other"
RAW = f"{SCHEMA}_raw"
COLUMNS = REPOSITORY / "docs" / "columns.md"
DESCRIPTION = 'it\'s \\d "quoted", 5% of\ntwo lines; -- {so}'
NAME_OF_SOURCE, NAME_OF_MODEL = "told by the source", "told by the model"


def _case(cases: Sequence[Case], name: str, *models: str) -> Case:
    (case,) = (case for case in cases if case.entry.name == name)
    return replace(case, entry=replace(case.entry, models=models, tests=TESTS.get(name, {})))


TESTS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "defaults": {
        "stg": [
            {
                "change_tables.raw_rows_accounted_for": {
                    "arguments": {"raw": "source('feed', 'defaults')", "log": "ref('dedup_feed__defaults')"}
                }
            }
        ],
        "current": [{"change_tables.one_row_per_key": {"arguments": {"key": ["id"]}}}],
    },
}
CASES = [
    _case(qlik_cases.CASES, "defaults", "stg", "dedup", "current", "history"),
    _case(trail_cases.CASES, "orders", "stg", "dedup", "current"),
    _case(kafka_cases.CASES, "by_column", "stg"),
    _case(idm_cases.CASES, "usr", "stg", "dedup"),
    _case(openedge_cases.CASES, "applied", "stg"),
]
BESIDES: Mapping[str, tuple[Mapping[str, str], Sequence[Sequence[Sequence[Any]]]]] = {
    "loaded": (kafka_cases.COLUMNS, (kafka_cases.LOADED, [])),
    "tracking": (openedge_cases.TRACKING, openedge_cases.APPLIED.tracking),
}
MODELS = {
    "xds": "{{ change_tables.xds_documents([ref('dedup_feed__usr')]) }}",
    "unclaimed": "{{ change_tables.unclaimed_rows('feed', ['by_column']) }}",
    "schemas": "{{ change_tables.qlik_kafka_schemas('feed', 'by_column') }}",
    "events": "{{ change_tables.openedge_events('feed', ['applied']) }}",
    # what a user's model takes in, by merge
    "taken_in": (
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', file_format='"
        f"{TABLE_FORMAT}') }}}}\n"
        "select id, name, _is_deleted, _batch_id"
        " from ({{ change_tables.changes_since(ref('current_feed__defaults')) }})"
    ),
}
STATES = [
    *(f"{kind}_feed__{case.entry.name}" for case in CASES for kind in case.entry.models if kind != "stg"),
    "xds",
]
VIEWS = [
    *(f"stg_feed__{case.entry.name}" for case in CASES),
    *(f"dedup_feed__{case.entry.name}__reports" for case in CASES if "dedup" in case.entry.models),
    *("rejected", "reported", "unclaimed", "schemas", "events"),
]


class Features:
    """The project, and what a test does with it."""

    def __init__(self, project: Consumer, raw: Raw) -> None:
        self.project = project
        self.raw = raw
        project.write([case.entry for case in CASES], list(BESIDES))
        for name, sql in MODELS.items():
            (project.folder / f"models/{name}.sql").write_text(f"{sql}\n")
        self.describe()

    def describe(self, name: str = NAME_OF_MODEL, contract: Mapping[str, str] | None = None) -> None:
        """Write descriptions of the models of `defaults`, a config for all models, and a second target."""
        models = yaml.safe_load((self.project.folder / "models/models.yml").read_text())
        for model in models["models"]:
            columns = {"ID": {"name": "ID", "description": DESCRIPTION}}
            if model["name"] != "stg_feed__defaults":
                columns["NAME"] = {"name": "NAME", "description": name}
            if model["name"] == "current_feed__defaults" and contract:
                columns = {column: {"name": column, "data_type": kind} for column, kind in contract.items()}
                model["config"] = {"contract": {"enforced": True}}
            if model["name"].endswith("_feed__defaults"):
                model |= {"description": DESCRIPTION, "columns": list(columns.values())}
        self._dump("models/models.yml", models)
        sources = yaml.safe_load((self.project.folder / "models/sources.yml").read_text())
        for column in sources["sources"][0]["tables"][0]["columns"][:2]:
            column["description"] = NAME_OF_SOURCE
        self._dump("models/sources.yml", sources)
        project = yaml.safe_load((self.project.folder / "dbt_project.yml").read_text())
        project["models"] = {"+persist_docs": {"relation": True, "columns": True}, "+file_format": TABLE_FORMAT}
        project["quoting"] = {"identifier": True}
        self._dump("dbt_project.yml", project)
        profiles = yaml.safe_load((self.project.folder / "profiles.yml").read_text())
        outputs = profiles["consumer"]["outputs"]
        outputs["other"] = outputs["test"] | {"schema": OTHER}
        self._dump("profiles.yml", profiles)

    def _dump(self, name: str, content: Any) -> None:
        (self.project.folder / name).write_text(yaml.safe_dump(content, sort_keys=False))

    def keep_state(self) -> str:
        """Keep what dbt knows of the project as it is built, for `--state`."""
        self.raw.query(f"drop schema if exists {OTHER} cascade")
        state = self.project.folder.parent / "state"
        self.project.dbt("compile")
        shutil.copytree(self.project.folder / "target", state)
        return str(state)

    def create_raw_tables(self) -> None:
        """Make all raw tables, empty."""
        for case in CASES:
            assert case.landed_columns is not None
            self.raw.create(f"{RAW}.{case.entry.name}", case.landed_columns)
        for name, (columns, _) in BESIDES.items():
            self.raw.create(f"{RAW}.{name}", columns)

    def land(self, batch: int) -> None:
        """Land a batch of every table."""
        for name, rows in [
            *((case.entry.name, case.batches[batch]) for case in CASES),
            *((name, rows[batch]) for name, (_, rows) in BESIDES.items()),
        ]:
            if rows:
                self.raw.insert(f"{RAW}.{name}", rows)

    def columns(self, schema: str = SCHEMA) -> dict[str, list[tuple[Any, ...]]]:
        """The columns of every model that has a state, and of every view besides, with their types."""
        return {name: self.raw.query(f"describe {schema}.{name}") for name in (*STATES, *VIEWS)}

    def assert_taken_in(self, schema: str = SCHEMA) -> None:
        """A user's model has what the current model has."""
        taken_in = self.raw.query(f"select id, name from {schema}.taken_in where not _is_deleted")
        rows = self.raw.query(f"select id, name from {schema}.current_feed__defaults")
        assert sorted(taken_in, key=repr) == sorted(rows, key=repr) != []

    def rows(self, names: Sequence[str], schema: str = SCHEMA) -> int:
        """How many rows these relations have together."""
        counts = " + ".join(f"(select count(*) from {schema}.{name})" for name in names)
        return int(self.raw.query(f"select {counts}")[0][0])

    def view_texts(self, schema: str = SCHEMA) -> dict[str, str]:
        """The text of every view."""
        return {
            name: dict(row[:2] for row in self.raw.query(f"describe extended {schema}.{name}"))["View Text"]
            for (_, name, _) in self.raw.query(f"show views in {schema}")
        }

    def versions(self) -> dict[str, int]:
        """The number of the last commit to each state table."""
        return {name: self.raw.version(f"{SCHEMA}.{name}__state") for name in STATES}

    def assert_current(self, batch: int) -> None:
        """Every current model has the rows that its feed's page says it has after a batch."""
        for case in CASES:
            if "current" not in case.entry.models:
                continue
            found = current_rows(self.raw, SCHEMA, case.entry.name, case.shown)
            assert found == case.current[batch], case.entry.name


@pytest.fixture(scope="module")
def features(consumer: Callable[[str], Consumer], raw: Raw) -> Features:
    """The project, which each test here goes on with where the one before has left it."""
    return Features(replace(consumer(SCHEMA), keeps_artifacts=True), raw)


def test_an_empty_run_makes_what_is_missing_without_rows_also_before_raw_tables_are_there(features: Features) -> None:
    features.project.dbt("build", "--empty", "--threads", "16")
    assert features.rows([*STATES, *VIEWS, *(f"{name}__state" for name in STATES)]) == 0
    assert features.rows(["goldengate_io_types", "reason_codes"]) > 0


def test_the_run_after_an_empty_one_reads_everything(features: Features) -> None:
    columns = features.columns()
    features.create_raw_tables()
    features.land(0)
    features.project.dbt("run", "--empty", "--full-refresh", "--select", "stg_feed__defaults+")
    assert features.rows(STATES) == 0
    assert features.rows(["stg_feed__defaults"]) == len(CASES[0].batches[0])
    features.project.dbt("build", *BUILT_AGAIN, "--threads", "16")
    features.assert_current(0)
    features.assert_taken_in()
    assert features.columns() == columns


def test_an_empty_run_leaves_what_is_there(features: Features) -> None:
    texts, versions = features.view_texts(), features.versions()
    features.land(1)
    features.project.dbt("run", "--empty", "--full-refresh", "--threads", "16")
    assert features.view_texts() == texts
    assert features.versions() == versions
    features.assert_current(0)


def test_views_have_the_comments_of_the_page_and_with_persist_docs_those_of_users(features: Features) -> None:
    told = {
        name: (kinds, meaning)
        for name, kinds, meaning in re.findall(
            r"^\| `(_.*?)` \| .*? \| (.*?) \| (.*) \|$", COLUMNS.read_text(), re.MULTILINE
        )
    }
    for kind in ("stg", "dedup", "current", "history"):
        found = {name: comment for name, _, comment in features.raw.query(f"describe {SCHEMA}.{kind}_feed__defaults")}
        assert found.pop("id") == DESCRIPTION
        assert found.pop("name") == (NAME_OF_SOURCE if kind == "stg" else NAME_OF_MODEL)
        assert found.pop("amount") is None
        assert found == {
            name: meaning
            for name, (kinds, meaning) in told.items()
            if kind in kinds.split(", ") and name != "_is_deleted"
        }
    extended = dict(row[:2] for row in features.raw.query(f"describe extended {SCHEMA}.current_feed__defaults"))
    assert extended["Comment"] == DESCRIPTION
    untold = [
        (model, name)
        for model in ("stg_feed__orders", "dedup_feed__usr", "stg_feed__applied", "xds")
        for name, _, comment in features.raw.query(f"describe {SCHEMA}.{model}")
        if not comment and (name.startswith("_") or model == "xds")
    ]
    assert untold == []


def test_views_over_states_are_made_again_where_a_comment_changes_and_not_otherwise(features: Features) -> None:
    made: list[str] = []

    def note(sql: str) -> str:
        made.extend(re.findall(r"create or replace view \w+\.`(\w+)`", sql))
        return sql

    with intercepted(note):
        features.project.dbt("run", "--select", "dedup_feed__defaults+", "dedup_feed__orders+")
    assert made == []
    features.assert_current(1)
    features.assert_taken_in()
    features.describe(name="otherwise")
    with intercepted(note):
        features.project.dbt("run", "--select", "current_feed__defaults")
    assert made == ["current_feed__defaults"]


def test_a_contract_is_compared_with_the_models_columns_before_anything_is_written(features: Features) -> None:
    features.describe(contract={"id": "bigint", "name": "string", "amount": "decimal(10,3)", "more": "int"})
    version = features.versions()["current_feed__defaults"]
    result = features.project.dbt("run", "--full-refresh", "--select", "current_feed__defaults", must_succeed=False)
    said = features.project.errors(result)
    assert (
        "model 'current_feed__defaults': `contract` must name the columns that the model has, with their types" in said
    )
    assert "it lacks '_change_op', which is string" in said
    assert "'amount' is decimal(10,2), not decimal(10,3); the model has no column 'more'" in said
    assert features.versions()["current_feed__defaults"] == version
    types = {"id": "BIGINT", "name": "string", "amount": "decimal(10, 2)", "_changed_at": "timestamp"}
    features.describe(contract=types | dict.fromkeys(("_change_op", "_change_seq", "_transaction_id"), "string"))
    features.project.dbt("retry")
    assert features.versions()["current_feed__defaults"] > version


def test_another_schema_follows_the_logs_that_it_lacks_and_writes_to_none_of_them(features: Features) -> None:
    versions = features.versions()
    state = features.keep_state()
    deferred = ["run", "--target", "other", "--defer", "--state", state, "--select"]
    features.project.dbt(*deferred, "taken_in")
    features.project.dbt(*deferred, "current_feed__defaults")
    features.assert_taken_in(OTHER)
    assert current_rows(features.raw, OTHER, "defaults", CASES[0].shown) == CASES[0].current[1]
    assert [name for _, name, _ in features.raw.query(f"show tables in {OTHER}")] == [
        "current_feed__defaults",
        "current_feed__defaults__state",
        "taken_in",
    ]
    features.project.dbt("clone", "--target", "other", "--state", state, "--select", "stg_feed__defaults+")
    assert features.rows(["dedup_feed__defaults"], OTHER) == features.rows(["dedup_feed__defaults"]) > 0
    result = features.project.dbt("run", "--target", "other", "--select", "history_feed__defaults", must_succeed=False)
    assert "the log that it follows has not been built to its end" in features.project.errors(result)
    features.project.dbt(
        "run", "--target", "other", "--select", "dedup_feed__defaults+", "--exclude", "reported", "rejected"
    )
    assert current_rows(features.raw, OTHER, "defaults", CASES[0].shown) == CASES[0].current[1]
    assert features.versions() == versions
