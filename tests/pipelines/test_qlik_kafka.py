"""The Kafka messages' page, message by message: statuses, reasons, and the current rows after each batch."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
import yaml

from tests.table_format import HAS_TABLES_OF_FILES

from .cases import (
    Case,
    Results,
    assert_rejected,
    assert_reported,
    assert_statuses,
    build_batches,
)
from .consumer import REPOSITORY, Consumer
from .kafka_cases import CASES as OF_MESSAGES
from .kafka_cases import (
    COLUMNS,
    LOADED,
    RECORD,
    REGISTRY,
    UNCLAIMED,
    UNCLAIMED_BY_COLUMN,
    V1,
    Topic,
    body,
    enveloped,
    flattened,
    in_avro,
    metadata,
    row,
    schema_in,
    seq,
)
from .landing import Raw

SCHEMA = "kafka_pages"
PAGE = (REPOSITORY / "docs/feeds/qlik_kafka.md").read_text()


def _example(begin: str, language: str) -> str:
    """The example of the page that begins so."""
    found = re.search(rf"```{language}\n *({begin}.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


CASES = [
    *(case for case in OF_MESSAGES if HAS_TABLES_OF_FILES or case.entry.change_table.get("arrival") != "files"),
    flattened(yaml.safe_load(_example("format: mapped", "yaml"))),
]


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """A project with all cases."""
    return consumer(SCHEMA)


@pytest.fixture(scope="module")
def results(project: Consumer, raw: Raw) -> Results:
    """The current rows of each table after batch 1, batch 2, and a full refresh, by name of the entry."""
    raw.create(f"{SCHEMA}_raw.loaded", COLUMNS)
    raw.insert(f"{SCHEMA}_raw.loaded", LOADED)
    models = {
        "unclaimed": "{{ change_tables.unclaimed_rows('feed', ['held', 'lines']) }}",
        "unclaimed_by_column": "{{ change_tables.unclaimed_rows('feed', ['by_column']) }}",
        "schemas": "{{ change_tables.qlik_kafka_schemas('feed', 'versions') }}",
    }
    raw.create(f"{SCHEMA}_raw.schema_records", RECORD)
    raw.query(_example("create view raw.registry", "sql").replace("raw.", f"{SCHEMA}_raw."))
    schemas = Topic("_schemas")
    return build_batches(
        project,
        raw,
        CASES,
        ["loaded", "registry"],
        models,
        lambda number: raw.insert(f"{SCHEMA}_raw.schema_records", schemas.records(*REGISTRY[number])),
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entry.name)
def test_the_current_rows_are_what_the_page_says(results: Results, case: Case) -> None:
    assert results[case.entry.name] == [*case.current, case.current[-1]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entry.name)
@pytest.mark.usefixtures("results")
def test_every_record_of_an_entry_has_its_status_and_its_reason(raw: Raw, case: Case) -> None:
    assert_statuses(raw, SCHEMA, case)


@pytest.mark.usefixtures("results")
def test_rejected_records_are_listed_with_their_codes(raw: Raw) -> None:
    assert_rejected(raw, SCHEMA, CASES)


@pytest.mark.usefixtures("results")
def test_what_needs_a_look_is_reported_and_nothing_else(raw: Raw) -> None:
    assert_reported(raw, SCHEMA, CASES)


@pytest.mark.usefixtures("results")
def test_records_that_no_entry_stages_are_listed_and_none_is_lost(raw: Raw) -> None:
    listed = raw.query(f"select _raw_id, _status, substring_index(_status_reason, ':', 1) from {SCHEMA}.unclaimed")
    assert sorted(listed) == sorted(UNCLAIMED)
    listed = raw.query(f"select _raw_id, _status, _status_reason from {SCHEMA}.unclaimed_by_column")
    assert sorted(listed) == sorted(UNCLAIMED_BY_COLUMN)
    stagings = " union all ".join(
        f"select _raw_id from {SCHEMA}.{name}" for name in ("stg_feed__held", "stg_feed__lines", "unclaimed")
    )
    landed = raw.query(f"select concat_ws(':', topic, `partition`, `offset`) from {SCHEMA}_raw.shared")
    assert sorted(raw.query(stagings)) == sorted(landed)


@pytest.mark.usefixtures("results")
def test_schemas_have_each_version_of_a_table(raw: Raw) -> None:
    rows = raw.query(
        "select schema_id, schema_name, table_name, table_version,"
        " to_json(columns.name), to_json(columns.primary_key_position)"
        f" from {SCHEMA}.schemas"
    )
    assert sorted(rows) == [
        ("v1", "app", "orders", 1, '["id","amount","name"]', "[1,0,0]"),
        ("v2", "app", "orders", 2, '["id","added","name","amount"]', "[1,0,0,0]"),
    ]


@pytest.mark.usefixtures("results")
def test_the_page_makes_a_snapshot_of_a_load_that_was_sent_again(raw: Raw) -> None:
    begin = "create or replace table raw.orders_load as\n"
    select = (
        _example(begin, "sql")
        .removeprefix(begin)
        .replace("select order_id, amount", "select id, name, amount")
        .replace("order_id", "id")
        .replace("stg_qlik_kafka__orders", f"{SCHEMA}.stg_feed__reloaded")
        .replace("raw.records", f"{SCHEMA}_raw.reloaded")
    )
    assert sorted(raw.query(select.replace("12:00:00", "13:00:00"))) == LOADED


@pytest.mark.usefixtures("results")
def test_a_run_with_new_records_reads_no_other(project: Consumer, raw: Raw) -> None:
    sql = (project.folder / "rendered/1/dedup_feed__whole_topic.sql").read_text()
    bound = re.search(r"from kafka_pages_raw.whole_topic\n    where\n(.*?)\n\n\),", sql, re.DOTALL)
    assert bound is not None
    read = raw.query(f"select count(*) from {SCHEMA}_raw.whole_topic where {bound[1]}")
    assert read == [(14,)]


@pytest.mark.usefixtures("results")
def test_messages_in_several_partitions_wait_for_the_metadata_that_they_refer_to(project: Consumer, raw: Raw) -> None:
    partitions = [Topic(partition=partition) for partition in (7, 8)]
    shared = Topic("late", partition=9)
    raw.insert(
        f"{SCHEMA}_raw.avro",
        [topic.record(in_avro(body("I", 70, row(topic.partition, "in time")), "v8", V1)) for topic in partitions],
    )
    raw.insert(f"{SCHEMA}_raw.shared", [shared.record(enveloped(body("I", 70, row(70, "of which table?")), "l8"))])
    logs = ["dedup_feed__avro", "dedup_feed__lines"]
    project.dbt("run", "--select", *logs)
    found = " union all ".join(f"select _raw_id from {SCHEMA}.{log} where _change_seq = '{seq(70)}'" for log in logs)
    assert raw.query(found) == []
    raw.insert(f"{SCHEMA}_raw.avro", [partitions[0].record(json.dumps(schema_in("v8", V1)))])
    raw.insert(f"{SCHEMA}_raw.shared", [shared.record(metadata("l8", "lines", ["id", "name", "amount"]))])
    project.dbt("run", "--select", *logs)
    assert sorted(raw.query(found)) == [("late:9:0",), ("orders:7:0",), ("orders:8:0",)]


@pytest.mark.usefixtures("results")
def test_a_topic_that_is_made_again_stops_the_run_until_the_old_records_are_removed(
    project: Consumer, raw: Raw
) -> None:
    landed = f"{SCHEMA}_raw.made_anew"
    new = Topic("t")
    raw.insert(landed, new.records(body("R", None, row(1, "new")), body("R", None, row(2, "new"))))
    logs = ["dedup_feed__made_anew", "dedup_feed__made_anew_read_whole"]
    rescan = ["run", "--select", *logs, "--vars", "{change_tables_rescan: true}"]
    for run in (rescan, ["run", "--full-refresh", "--select", *logs]):
        said = project.errors(project.dbt(*run, must_succeed=False))
        for log in logs:
            assert (
                f"change_tables: model '{log}': source 'feed.{log[12:]}': two records that differ have landed at one"
                " topic, partition, offset: t:0:0. The numbers have started again, and nothing says which rows are the"
                " older ones: either have the new rows land under numbers above the old ones, for which a view over"
                f" {landed} will do, or remove the old rows from it, then rebuild the log and the models after it"
                " with --full-refresh --vars '{change_tables_allow_loss: true}'"
            ) in said
    raw.query(f"delete from {landed} where string(value) like '%old%'")
    raw.insert(landed, Topic("t").records(body("R", None, row(1, "new"))))
    said = project.errors(project.dbt(*rescan, must_succeed=False))
    refused = "another record has landed than the log holds at one topic, partition, offset: t:0:0. "
    for log in logs:
        assert f"change_tables: model '{log}': source 'feed.{log[12:]}': {refused}" in said
    current = [f"current_{log.removeprefix('dedup_')}" for log in logs]
    assert [raw.query(f"select id, name from {SCHEMA}.{model}") for model in current] == [[(2, "old")]] * len(logs)
    selected = [f"{log}+1" for log in logs]
    project.dbt("run", "--full-refresh", "--select", *selected, "--vars", "{change_tables_allow_loss: true}")
    project.dbt("run", "--select", *selected)
    for model in current:
        assert sorted(raw.query(f"select id, name from {SCHEMA}.{model}")) == [(1, "new"), (2, "new")]
