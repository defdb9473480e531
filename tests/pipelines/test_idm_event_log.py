"""The event log's page, event by event: statuses, reasons, and the current rows after each batch."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

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
from .idm_cases import CASES, REPLICAS, UNCLAIMED
from .landing import Raw

pytestmark = pytest.mark.slow

SCHEMA = "event_log_pages"
REFRESHED = ["reading", "usr", "late_fields"]
"""The first one reads again when it is rebuilt, the others end in the same rows."""


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """A project with all cases."""
    return consumer(SCHEMA)


@pytest.fixture(scope="module")
def results(project: Consumer, raw: Raw) -> Results:
    """The current rows of each table after batch 1, batch 2, and a full refresh, by name of the entry."""

    def land_replicas(number: int) -> None:
        for name, (columns, rows) in REPLICAS.items():
            raw.create(f"{SCHEMA}_raw.{name}", columns)
            if rows[number]:
                raw.insert(f"{SCHEMA}_raw.{name}", rows[number])

    models = {"unclaimed": "{{ change_tables.unclaimed_rows('feed', ['usr', 'grp']) }}"}
    return build_batches(project, raw, CASES, list(REPLICAS), models, land_replicas, REFRESHED)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entry.name)
def test_the_current_rows_are_what_the_page_says(results: Results, case: Case) -> None:
    assert results[case.entry.name][:2] == list(case.current)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.entry.name in REFRESHED[1:]], ids=lambda case: case.entry.name
)
def test_a_full_refresh_ends_in_the_same_rows(results: Results, case: Case) -> None:
    assert results[case.entry.name][2] == case.current[-1]


def test_a_full_refresh_reads_again(results: Results) -> None:
    _, second, refreshed = results["reading"]
    assert refreshed == second - {(1, "a1", "1.00")} | {(1, "a2", "1.00")}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entry.name)
@pytest.mark.usefixtures("results")
def test_every_event_of_an_entry_has_its_status_and_its_reason(raw: Raw, case: Case) -> None:
    assert_statuses(raw, SCHEMA, case)


@pytest.mark.usefixtures("results")
def test_a_log_does_not_take_the_length_of_raw_texts_which_can_get_longer(raw: Raw) -> None:
    assert raw.texts_have_no_length(f"{SCHEMA}.dedup_feed__arriving__state")


@pytest.mark.usefixtures("results")
def test_rejected_events_are_listed_with_their_codes(raw: Raw) -> None:
    assert_rejected(raw, SCHEMA, CASES)


@pytest.mark.usefixtures("results")
def test_what_needs_a_look_is_reported_and_nothing_else(raw: Raw) -> None:
    assert_reported(raw, SCHEMA, CASES)


@pytest.mark.usefixtures("results")
def test_events_that_no_entry_stages_are_listed_and_none_is_lost(raw: Raw) -> None:
    listed = raw.query(f"select _raw_id, _status, substring_index(_status_reason, ':', 1) from {SCHEMA}.unclaimed")
    assert sorted(row for row in listed if row[0].isdigit()) == sorted(row for row in UNCLAIMED if row[0])
    assert [row[1:] for row in listed if not row[0].isdigit()] == [row[1:] for row in UNCLAIMED if not row[0]]
    staged = sum(
        raw.query(f"select count(*) from {SCHEMA}.{name}")[0][0]
        for name in ("stg_feed__usr", "stg_feed__grp", "unclaimed")
    )
    assert raw.query(f"select count(*) from {SCHEMA}_raw.usr") == [(staged,)]


@pytest.mark.usefixtures("results")
def test_an_event_has_the_place_of_its_record_and_the_values_that_were_logged(raw: Raw) -> None:
    rows = raw.query(
        "select _change_id, _change_seq, _change_op, cast(_changed_at as string), _present_columns, _changed_columns,"
        f" _event_type, _column_name, _old_value, _new_value, _table_key from {SCHEMA}.dedup_feed__usr"
        " where _change_id like '%12'"
    )
    assert rows == [
        (
            f"{12:019d}",
            f"{12:019d}/{0:020d}/{12:019d}",
            "update",
            "2026-01-31 12:00:00.25",
            '["id","name"]',
            '["name"]',
            2,
            "name",
            "Jack",
            "John",
            "ID= 1",
        )
    ]


@pytest.mark.usefixtures("results")
def test_an_event_that_read_comes_after_the_last_event_of_its_key(raw: Raw) -> None:
    rows = raw.query(
        "select cast(_change_id as bigint), cast(substring(_change_seq, 1, 19) as bigint)"
        f" from {SCHEMA}.dedup_feed__reading where _event_type >= 5 order by 1"
    )
    assert dict(rows) == {
        # up to the delete of its key, before it or after it
        10: 11, 11: 11, 12: 12, 16: 16, 17: 30, 19: 35, 21: 36, 23: 37, 25: 27, 31: 31, 32: 32, 34: 34,
        36: 36, 37: 37,
    }  # fmt: skip


@pytest.mark.usefixtures("results")
def test_the_place_and_the_reason_of_a_malformed_key_are_named(raw: Raw) -> None:
    told = dict(
        raw.query(
            f"select _raw_id, _status_reason from {SCHEMA}.stg_feed__usr where _raw_id in ('111', '115', '117', '118')"
        )
    )
    assert told == {
        "111": "key_malformed: quote opened at character 4 is not closed: end the value with a double quote",
        "115": "key_malformed: id is named twice",
        "117": "key_malformed: name is no key column",
        "118": "key_malformed: name is no key column",
    }


@pytest.mark.usefixtures("results")
def test_the_place_of_a_character_that_xml_forbids_is_named(raw: Raw) -> None:
    told = raw.query(
        f"select _status_reason from {SCHEMA}.stg_feed__usr where _raw_id in ('129', '130') order by _raw_id"
    )
    assert [reason for (reason,) in told] == [
        "xml_forbidden_character: new_value: character 2 is not allowed in XML",
        "xml_forbidden_character: old_value: character 1 is not allowed in XML",
    ]


@pytest.mark.usefixtures("results")
def test_a_run_with_new_events_reads_on_from_the_row_that_was_gone(project: Consumer) -> None:
    sql = (project.folder / "rendered/1/dedup_feed__arriving.sql").read_text()
    assert re.search(r"\(\s+landed_at is null\s+or \(landed_at >= 2 and landed_at <= \d+\)\s+\) as _ct_is_wanted", sql)


@pytest.mark.usefixtures("results")
def test_what_became_of_an_event_in_the_log_changes_nothing_that_was_applied(project: Consumer, raw: Raw) -> None:
    table = f"{SCHEMA}_raw.reading"
    kept = raw.query(f"select * from {SCHEMA}.current_feed__reading")
    # some events are gone from the log, others have been processed
    raw.query(
        f"create table {table}_later as select * except (status), if(record_id < 32, 'S', status) as status"
        f" from {table} where record_id > 14"
    )
    raw.query(f"drop table {table}")
    raw.query(f"alter table {table}_later rename to {table}")
    selected = ("--select", "dedup_feed__reading", "current_feed__reading")
    project.dbt("run", *selected)
    assert sorted(raw.query(f"select * from {SCHEMA}.current_feed__reading")) == sorted(kept)
    refused = project.dbt("run", "--full-refresh", *selected, must_succeed=False)
    assert "a full refresh would lose" in project.errors(refused)


@pytest.mark.usefixtures("results")
def test_the_order_of_a_log_cannot_be_switched_but_by_rebuilding_it(project: Consumer) -> None:
    entry = next(case.entry for case in CASES if case.entry.name == "future")
    switched = replace(entry, change_table={**entry.change_table, "future_events": False})
    project.write([switched], list(REPLICAS))
    refused = project.dbt("run", "--select", "dedup_feed__future", must_succeed=False)
    assert "`future_events`, by which changes are ordered, is false, was true" in project.errors(refused)
    project.dbt("run", "--full-refresh", "--select", "dedup_feed__future")
