"""The page of OpenEdge CDC, change by change: statuses, reasons, and the current rows after each batch."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable

import pytest

from .cases import (
    Case,
    Results,
    assert_rejected,
    assert_reported,
    assert_statuses,
    build_batches,
)
from .consumer import Consumer
from .landing import Raw
from .openedge_cases import (
    CASES,
    EVENTS,
    LANDED,
    LOADED,
    SPELT_TRACKED,
    SPELT_TRACKING,
    STORIES,
    Story,
    seq,
)

SCHEMA = "openedge_pages"
SHARING = ("orders", "arrived", "by_recid", "level_0", "level_1", "applied", "covered")


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """A project with all cases."""
    return consumer(SCHEMA)


@pytest.fixture(scope="module")
def results(project: Consumer, raw: Raw) -> Results:
    """The current rows of each table after batch 1, batch 2, and a full refresh, by name of the entry."""
    raw.create(f"{SCHEMA}_raw.loaded", LANDED)
    raw.insert(f"{SCHEMA}_raw.loaded", LOADED)
    raw.create(f"{SCHEMA}_raw.spelt_tracking", SPELT_TRACKING)
    raw.insert(f"{SCHEMA}_raw.spelt_tracking", [*SPELT_TRACKED[0], *SPELT_TRACKED[1]])
    models = {
        "unclaimed": f"{{{{ change_tables.unclaimed_rows('feed', {list(SHARING)}) }}}}",
        "events": "{{ change_tables.openedge_events('feed', ['orders', 'covered', 'level_0']) }}",
    }
    return build_batches(project, raw, CASES, ["loaded", "tracking", "spelt_tracking"], models)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entry.name)
def test_the_current_rows_are_what_the_page_says(results: Results, case: Case) -> None:
    assert results[case.entry.name] == [*case.current, case.current[-1]]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_each_story_ends_in_its_rows(results: Results, story: Story) -> None:
    found = [
        {(id_ - story.base, *values) for id_, *values in rows if 0 < id_ - story.base < 100}
        for rows in results["orders"]
    ]
    assert found == [*story.current, story.current[-1]]


@pytest.mark.usefixtures("results")
def test_the_rows_of_each_story_have_their_status_and_their_reason(raw: Raw) -> None:
    rows = raw.query(
        "select try_cast(regexp_extract(_raw_id, '([0-9]{19})') as bigint), _status,"
        f" substring_index(_status_reason, ':', 1) from {SCHEMA}.stg_feed__orders"
    )
    placed = [row for row in rows if row[0] is not None]
    found = {
        story.name: Counter(row[1:] for row in placed if 0 <= row[0] - story.base * 10 < 1000) for story in STORIES
    }
    told = {
        story.name: Counter({verdict: count for verdict, count in story.reasons.items() if verdict[1] not in UNPLACED})
        for story in STORIES
    }
    for verdicts in found.values():
        for verdict in [verdict for verdict in verdicts if verdict[1] in UNPLACED]:
            del verdicts[verdict]
    assert found == told


UNPLACED = ("change_seq_missing", "change_seq_malformed", "unknown_operation", "header_malformed")
"""Reasons of rows that may have no place."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entry.name)
@pytest.mark.usefixtures("results")
def test_every_row_of_an_entry_has_its_status_and_its_reason(raw: Raw, case: Case) -> None:
    assert_statuses(raw, SCHEMA, case)


@pytest.mark.usefixtures("results")
def test_rejected_rows_are_listed_with_their_codes(raw: Raw) -> None:
    assert_rejected(raw, SCHEMA, CASES)


@pytest.mark.usefixtures("results")
def test_what_needs_a_look_is_reported_and_nothing_else(raw: Raw) -> None:
    assert_reported(raw, SCHEMA, CASES)


@pytest.mark.usefixtures("results")
def test_tracking_rows_that_no_entry_stages_are_listed(raw: Raw) -> None:
    listed = raw.query(f"select _raw_id, _status, substring_index(_status_reason, ':', 1) from {SCHEMA}.unclaimed")
    assert sorted(listed) == [
        (f"tracking/99/{seq(1)}/1", "ignored", "table_not_declared"),
        (f"tracking/null/{seq(2)}/1", "rejected", "table_unknown"),
    ]


@pytest.mark.usefixtures("results")
def test_events_of_fields_and_partitions_are_listed_with_their_table_and_partition(raw: Raw) -> None:
    rows = raw.query(
        "select table_name, operation, kind, event, partition_id, to_json(field_map), _change_seq"
        f" from {SCHEMA}.events where table_name = 'orders' and partition_id <> '0'"
    )
    assert sorted(rows) == [
        (
            "orders",
            operation,
            *event,
            str(100 + operation),
            '["name"]' if event[0] == "schema" else None,
            seq(13_000 + operation),
        )
        for operation, event in EVENTS.items()
    ]
    rows = raw.query(f"select table_name, _change_seq, is_covered from {SCHEMA}.events where table_name <> 'orders'")
    assert sorted(rows) == [
        ("covered", seq(2), True),
        ("covered", seq(5), False),
        ("level_0", seq(9), False),
        ("level_0", seq(10), False),
    ]


@pytest.mark.usefixtures("results")
def test_partition_events_are_warned_of_until_a_load_covers_them(project: Consumer) -> None:
    (project.folder / "models/events.yml").write_text(
        json.dumps({"version": 2, "models": [{"name": "events", "data_tests": ["change_tables.no_partition_events"]}]})
    )
    result = project.dbt("test", "--select", "events")
    tests = [found for found in result.result.results if found.node.resource_type == "test"]
    assert [(test.status, test.failures) for test in tests] == [("warn", 6 + 1 + 1 + 1)]


@pytest.mark.usefixtures("results")
def test_changed_columns_are_those_that_the_field_map_names(raw: Raw) -> None:
    rows = raw.query(
        "select _change_seq, to_json(_changed_columns), to_json(_present_columns), _transaction_id,"
        f" cast(_changed_at as string) from {SCHEMA}.dedup_feed__orders where _change_seq between"
        f" '{seq(1004)}' and '{seq(1009)}' order by _change_seq"
    )
    at = "2026-01-31 12:00:00.25"
    assert rows == [
        (seq(1004), '["amount"]', '["id","amount"]', "7", at),
        (seq(1005), '["name","amount"]', '["id","name","amount"]', "7", at),
        (seq(1006), "[]", '["id"]', "7", at),
        (seq(1007), None, '["id","name"]', "7", at),
        (seq(1008), '["name"]', '["id","name"]', "7", at),
        (seq(1009), None, None, "7", at),
    ]
    names = "select _change_seq, _change_op, to_json(_changed_columns) from {}.dedup_feed__{} order by _change_seq"
    assert raw.query(names.format(SCHEMA, "level_1")) == [
        (seq(1), "insert", '["Cust-Num","Name"]'),
        (seq(2), "insert", None),
        (seq(3), "update", '["Name"]'),
        (seq(7), "delete", None),
        (seq(8), "update", "[]"),
    ]
    assert {changed for _, _, changed in raw.query(names.format(SCHEMA, "level_0"))} == {None}


@pytest.mark.usefixtures("results")
def test_a_change_says_what_it_was_read_from(raw: Raw) -> None:
    rows = raw.query(
        f"select _change_seq, _parts, _has_tracking from {SCHEMA}.dedup_feed__orders"
        f" where _change_seq between '{seq(6006)}' and '{seq(6007)}' order by _change_seq"
    )
    assert rows == [(seq(6006), 2, True), (seq(6007), 4, True)]
    rows = raw.query(f"select _change_seq, _parts, _has_tracking from {SCHEMA}.dedup_feed__applied order by 1")
    assert rows == [(seq(number), 1, number in (3, 6, 7)) for number in (1, 2, 3, 4, 6, 7)]


@pytest.mark.usefixtures("results")
def test_a_run_with_new_rows_reads_of_the_others_only_what_may_not_be_whole(project: Consumer) -> None:
    sql = (project.folder / "rendered/1/dedup_feed__arrived.sql").read_text()
    bounds = re.findall(rf"from {SCHEMA}_raw.arrived\s+(?:left semi .*\s+on .*\s+)?where\s+([\s\S]*?)\n\n\)", sql)
    bound = "( landed is null or (landed > 1 and landed <= 2) )"
    assert [" ".join(each.split()) for each in bounds] == [bound, f"not coalesce({bound}, false)"]


@pytest.mark.usefixtures("results")
def test_a_run_with_nothing_new_writes_nothing(project: Consumer, raw: Raw) -> None:
    logs = ["dedup_feed__orders", "dedup_feed__arrived", "dedup_feed__applied"]
    project.dbt("run", "--select", *logs)
    versions = [raw.version(f"{SCHEMA}.{log}__state") for log in logs]
    project.dbt("run", "--select", *logs)
    assert [raw.version(f"{SCHEMA}.{log}__state") for log in logs] == versions


@pytest.mark.usefixtures("results")
def test_a_part_that_was_purged_takes_nothing_back(project: Consumer, raw: Raw) -> None:
    table, change = f"{SCHEMA}_raw.orders", "`_Change-Sequence` = 6008 and `_Continuation-Position` = 3"
    assert raw.query(f"select count(*) from {table} where {change}") == [(1,)]
    kept = raw.query(f"select * from {SCHEMA}.current_feed__orders")
    raw.query(f"create table {table}_later as select * from {table} where not ({change})")
    raw.query(f"drop table {table}")
    raw.query(f"alter table {table}_later rename to {table}")
    project.dbt("run", "--select", "dedup_feed__orders", "current_feed__orders")
    reason = f"select _status_reason from {SCHEMA}.stg_feed__orders where _raw_id = '{seq(6008)}/1/0'"
    assert raw.query(reason)[0][0].startswith("value_does_not_fit: column tags: 'x'")
    assert sorted(raw.query(f"select * from {SCHEMA}.current_feed__orders")) == sorted(kept)
