"""What the package sends to Databricks, beside what it sends to a server of Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from dbt.adapters.factory import reset_adapters
from dbt_common.exceptions import CompilationError

from tests.pipelines.consumer import REPOSITORY, Consumer

from . import databricks
from .entries import FURTHER, LANDED, MODELS
from .rendering import Answers, Lake, Project
from .shapes import FOUND_BEFORE, LOOK, SCHEMA, SHAPES, Shape, Shapes
from .test_golden import GOLDEN, texts_of
from .test_views import NOTHING_NEW, views_left_by


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shapes]:
    """Runs shapes in the same project, for Databricks."""
    adapter = databricks.load()
    consumer = Consumer(tmp_path_factory.mktemp("databricks") / "project", 1, SCHEMA, target=databricks.TARGET)
    consumer.write([entry for entry, _ in LANDED], list(FURTHER))
    for name, sql in MODELS.items():
        (consumer.folder / f"models/{name}.sql").write_text(f"{sql}\n")
    yield Shapes(Project(consumer, adapter))
    reset_adapters()


STORAGE = "using delta tblproperties ('delta.columnMapping.mode' = 'name')"
"""Of working tables, which Spark has as files of parquet."""
VIEW_OF_DBT = re.compile(r"(create or replace view \S+)\s+as\s+(?:\((.*?)\)|(.*?))(?=\s*\n;\n)", re.DOTALL)
"""A view that dbt's own macro makes: dbt-databricks puts its text into parentheses."""


def _alike(text: str) -> str:
    return VIEW_OF_DBT.sub(lambda view: f"{view[1]} as {' '.join((view[2] or view[3]).split())}", text)


@pytest.mark.parametrize("name", SHAPES)
def test_a_run_sends_what_it_sends_to_spark_but_for_settings_and_working_tables(warehouse: Shapes, name: str) -> None:
    """And for a look at what each view shows of itself. The adapter of the tests refuses settings and parquet."""
    run = warehouse.run(SHAPES[name])
    sent = [databricks.in_two_parts(sql) for sql in run.sent]
    assert not re.search(rf"(?<![\w.`]){SCHEMA}(_raw)?\.", " ".join(run.sent)), "a name without a catalog"
    to_compare = [sql for sql in sent if not re.match(rf"show (tblproperties {SCHEMA}\.|functions like )", sql)]
    texts = texts_of(name, replace(run, rendered=databricks.in_two_parts(run.rendered), sent=to_compare))
    for place, text in texts.items():
        here = re.sub(r"(?m)^(create table \S+) using parquet", rf"\1 {STORAGE}", GOLDEN.text(place))
        assert _alike(text) == _alike(here), place


LOG = "dedup_feed__qlik"
TABLES = [
    f"{SCHEMA}.{name}"
    for name in (f"{LOG}__state", f"{LOG}__quarantine", "change_table_runs", "change_table_acknowledgements")
]
ANSWERED: Answers = {
    "^describe detail": [{"numFiles": 3}],
    "^show tables in": [{"tableName": f"{LOG}__batch_20260101t120000000000_00000001"}],
    "^select count": [{"rows": 2}],
    "^select code, is_acknowledged": [{"code": "key_missing", "is_acknowledged": False, "known": 1, "all_rows": 1}],
    "^(optimize|vacuum|drop|delete|merge|create) ": [],
}


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("maintain", {"include": [LOG], "retain_days": 1, "force": True}),
        ("maintain", {"keep_runs": 30}),
        ("remove_tables", {"models": [LOG]}),
        ("acknowledge", {"table": "qlik", "code": "key_missing", "note": "it's known"}),
    ],
)
def test_a_command_sends_what_it_sends_to_spark(
    shapes: Shapes, warehouse: Shapes, command: str, options: Mapping[str, Any]
) -> None:
    sent = []
    for there in (shapes, warehouse):
        views = {f"{SCHEMA}.{LOG}": "Type: VIEW"}
        lake = Lake({}, tables=TABLES, views=views, answers=ANSWERED, checkpoints={f"{SCHEMA}.{LOG}__state": []})
        there.project.macros(LOG, lake, variables={"change_tables_runs": "change_table_runs"})(command, **options)
        asked = [databricks.in_two_parts(sql) for sql in there.project.sent()]
        sent.append([sql for sql in asked if not re.match(rf"set spark\.|show tblproperties {SCHEMA}\.", sql)])
    assert sent[0] == sent[1]
    assert len(sent[0]) > 1


def test_a_run_without_news_asks_what_views_show_and_for_news(warehouse: Shapes) -> None:
    """So the checkpoint that a view has cached is found, as on Spark in the listing of the schema."""
    first = warehouse.run(Shape(LOG, {}, FOUND_BEFORE), run=1)
    views = views_left_by(replace(first, sent=[databricks.in_two_parts(sql) for sql in first.sent]))
    lake = warehouse.lake(Shape(LOG, {LOG: {}}, NOTHING_NEW))
    run = warehouse.project.run(LOG, replace(lake, views=views))
    names = [databricks.in_two_parts(sql) for sql in run.sent if sql.startswith("show tblproperties")]
    assert sorted(names) == sorted(f"show tblproperties {view}" for view in views)
    (look,) = [sql for sql in run.sent if not sql.startswith("show t")]
    assert LOOK in look


@pytest.mark.parametrize(
    ("zone", "timestamp", "length", "mistakes"),
    [
        ("Etc/UTC", "timestamp", 1, []),
        ("Europe/Vienna", "timestamp", 1, ["`spark.sql.session.timeZone` must be UTC, got 'Europe/Vienna'"]),
        ("UTC", "timestamp_ntz", 1, ["`spark.sql.timestampType` must be TIMESTAMP_LTZ, got 'TIMESTAMP_NTZ'"]),
        ("UTC", "timestamp", 2, ["`spark.sql.parser.escapedStringLiterals` must be false, got 'true'"]),
    ],
)
def test_the_session_is_judged_by_what_it_makes_of_a_query(
    warehouse: Shapes, zone: str, timestamp: str, length: int, mistakes: list[str]
) -> None:
    lake = Lake({}, answers={r"^select current_timezone\(\), ": [{"a": zone, "b": timestamp, "c": length}]})
    said = warehouse.project.macros(LOG, lake)("session_mistakes", False)
    assert len(said) == len(mistakes)
    for text, mistake in zip(said, mistakes, strict=True):
        assert f": {mistake}; set it for the warehouse" in text
        assert "`session_properties` in the profile" in text
    assert len(warehouse.project.sent()) == 1


def test_a_function_that_the_schema_lacks_is_told_where_a_run_needs_it(warehouse: Shapes) -> None:
    lake = Lake({}, answers={"^show functions": []})
    with pytest.raises(CompilationError, match="Nothing was taken in"):
        warehouse.project.macros(LOG, lake)(
            "refuse_moves_without_functions", {"source_name": "feed", "table_name": "t"}
        )


MACROS = REPOSITORY / "macros"
HOME = "sql/platform.sql"
ALLOWED = {"raw/arrivals.sql": 1, "tables/table_format.sql": 3}
"""How often a file may say so: files of raw tables, and names of settings and formats of Delta."""
KNOWS_A_PLATFORM = re.compile(r"(?i)databricks|parquet|\.information\b|'(?:re)?set |target\.type|adapter\.type")


def test_no_other_macro_knows_one_platform_from_the_other() -> None:
    found = {}
    for path in MACROS.rglob("*.sql"):
        text = re.sub(r"(?s)\{#.*?#\}", "", path.read_text())
        if times := len(KNOWS_A_PLATFORM.findall(text)):
            found[path.relative_to(MACROS).as_posix()] = times
    assert found.pop(HOME) > 10
    assert found == ALLOWED
