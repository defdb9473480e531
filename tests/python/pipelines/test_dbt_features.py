"""What dbt offers besides a plain build, tried on the models of this package: one project, a table of each feed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from . import idm_cases, kafka_cases, openedge_cases, qlik_cases, trail_cases
from .cases import Case, current_rows
from .consumer import Consumer
from .landing import Raw

pytestmark = pytest.mark.slow

SCHEMA = "dbt_features"
RAW = f"{SCHEMA}_raw"


def _case(cases: Sequence[Case], name: str, *models: str) -> Case:
    (case,) = (case for case in cases if case.entry.name == name)
    return replace(case, entry=replace(case.entry, models=models, tests=TESTS.get(name, {})))


TESTS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "defaults": {
        "stg": [{"change_tables.raw_rows_accounted_for": {"arguments": {"raw": "source('feed', 'defaults')"}}}],
        "dedup": [{"change_tables.accepted_changes_once": {"arguments": {"staging": "ref('stg_feed__defaults')"}}}],
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
BESIDES = {
    "loaded": (kafka_cases.COLUMNS, (kafka_cases.LOADED, [])),
    "tracking": (openedge_cases.TRACKING, openedge_cases.APPLIED.tracking),
}
MODELS = {
    "xds": "{{ change_tables.xds_documents([ref('dedup_feed__usr')]) }}",
    "unclaimed": "{{ change_tables.unclaimed_rows('feed', ['by_column']) }}",
    "schemas": "{{ change_tables.qlik_kafka_schemas('feed', 'by_column') }}",
    "events": "{{ change_tables.openedge_events('feed', ['applied']) }}",
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

    def rows(self, names: Sequence[str], schema: str = SCHEMA) -> int:
        """How many rows these relations have together."""
        counts = " + ".join(f"(select count(*) from {schema}.{name})" for name in names)
        return int(self.raw.query(f"select {counts}")[0][0])

    def view_texts(self, schema: str = SCHEMA) -> dict[str, str]:
        """The text of every view."""
        return {
            name: self.raw.query(f"show create table {schema}.{name}")[0][0]
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
    return Features(consumer(SCHEMA), raw)


def test_an_empty_run_makes_what_is_missing_without_rows_also_before_raw_tables_are_there(features: Features) -> None:
    features.project.dbt("build", "--empty")
    assert features.rows([*STATES, *VIEWS, *(f"{name}__state" for name in STATES)]) == 0
    assert features.rows(["goldengate_io_types", "reason_codes"]) > 0


def test_the_run_behind_an_empty_one_reads_everything(features: Features) -> None:
    columns = features.columns()
    features.create_raw_tables()
    features.land(0)
    features.project.dbt("build", "--empty", "--full-refresh", "--exclude-resource-type", "test")
    assert features.rows(STATES) == 0
    assert features.rows([name for name in VIEWS if name.startswith("stg")]) > 0
    features.project.dbt("build")
    features.assert_current(0)
    assert features.columns() == columns


def test_an_empty_run_leaves_what_is_there(features: Features) -> None:
    texts, versions = features.view_texts(), features.versions()
    features.land(1)
    features.project.dbt("build", "--empty", "--full-refresh")
    assert features.view_texts() == texts
    assert features.versions() == versions
    features.assert_current(0)
    features.project.dbt("build")
    features.assert_current(1)
