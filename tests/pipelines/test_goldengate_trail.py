"""The trails' page, record by record: statuses, reasons, and the current rows after each batch."""

from __future__ import annotations

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
from .trail_cases import CASES, COLUMNS, LOADED, RECORD, STORIES, UNCLAIMED, Story, Trail, position

SCHEMA = "trail_pages"


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """A project with all cases."""
    return consumer(SCHEMA)


@pytest.fixture(scope="module")
def results(project: Consumer, raw: Raw) -> Results:
    """The current rows of each table after batch 1, batch 2, and a full refresh, by name of the entry."""
    raw.create(f"{SCHEMA}_raw.loaded", COLUMNS)
    raw.insert(f"{SCHEMA}_raw.loaded", LOADED)
    models = {"unclaimed": "{{ change_tables.unclaimed_rows('feed', ['orders', 'lines']) }}"}
    return build_batches(project, raw, CASES, ["loaded"], models)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entry.name)
def test_the_current_rows_are_what_the_page_says(results: Results, case: Case) -> None:
    assert results[case.entry.name] == [*case.current, case.current[-1]]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_each_trail_ends_in_the_rows_of_its_story(results: Results, story: Story) -> None:
    found = [
        {(id_ - story.base, name, amount) for id_, name, amount in rows if 0 < id_ - story.base < 100}
        for rows in results["orders"]
    ]
    assert found == [*story.current, story.current[-1]]


@pytest.mark.usefixtures("results")
def test_the_records_of_each_trail_have_their_status_and_their_reason(raw: Raw) -> None:
    rows = raw.query(
        "select coalesce(get_json_object(_raw_id, '$.trail_name'), split_part(_raw_id, '/', 1)), _status,"
        f" substring_index(_status_reason, ':', 1) from {SCHEMA}.stg_feed__orders"
    )
    found = {story.name: Counter(row[1:] for row in rows if row[0] in story.trails) for story in STORIES}
    assert found == {story.name: Counter(story.reasons) for story in STORIES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entry.name)
@pytest.mark.usefixtures("results")
def test_every_record_of_an_entry_has_its_status_and_its_reason(raw: Raw, case: Case) -> None:
    assert_statuses(raw, SCHEMA, case)


@pytest.mark.usefixtures("results")
def test_what_a_record_lacks_of_its_position_is_named(raw: Raw) -> None:
    told = raw.query(
        f"select _status_reason from {SCHEMA}.stg_feed__orders where startswith(_status_reason, 'position_missing')"
    )
    assert Counter(reason for (reason,) in told) == {
        "position_missing: trail_name is empty": 1,
        "position_missing: trail_seqno is -1": 1,
        "position_missing: trail_rba is null": 2,
    }


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
    stagings = " union all ".join(
        f"select _raw_id from {SCHEMA}.{name}" for name in ("stg_feed__orders", "stg_feed__lines", "unclaimed")
    )
    landed = raw.query(
        "select if(trail_rba is null or trail_name = '' or trail_seqno < 0,"
        " to_json(struct(trail_name, trail_seqno, trail_rba)),"
        " concat_ws('/', trail_name, lpad(trail_seqno, 10, '0'), lpad(trail_rba, 19, '0')))"
        f" from {SCHEMA}_raw.orders"
    )
    assert sorted(raw.query(stagings)) == sorted(landed)


@pytest.mark.usefixtures("results")
def test_every_change_has_the_commit_number_and_transaction_of_the_first_record(raw: Raw) -> None:
    rows = raw.query(
        "select id, _csn, _transaction_id, _format_type, _change_seq, cast(_changed_at as string)"
        f" from {SCHEMA}.dedup_feed__orders where _change_seq between 'op' and '{position(1500, 'op')}'"
        " order by _change_seq"
    )
    at = "2026-01-31 12:00:00.25"
    assert rows == [
        (201, "501", "1.2.3", "R", position(1100, "op"), at),
        (202, "501", "1.2.3", "R", position(1200, "op"), at),
        (203, "501", "1.2.3", "R", position(1300, "op"), at),
        (201, None, position(1400, "op"), "F", position(1400, "op"), at),
        (202, "502", "1.2.4", "R", position(1500, "op"), at),
    ]
    rows = raw.query(f"select id, _csn from {SCHEMA}.dedup_feed__orders where startswith(_change_seq, 'tx/')")
    assert Counter(rows) == Counter(
        [(401, "601"), (402, "601"), (403, "602"), (404, "602"), *((number, None) for number in (401, 402, 403, 405))]
    )


@pytest.mark.usefixtures("results")
def test_the_places_in_the_log_of_the_source_are_carried(raw: Raw) -> None:
    rows = raw.query(
        f"select _audit_rba, _audit_pos from {SCHEMA}.dedup_feed__orders where startswith(_change_seq, 'sw/')"
        " order by _change_seq"
    )
    assert rows == [(7900, 7), (7800, 7), (7700, 7), (7600, 7)]
    # also where they land as texts, and as numbers with places
    rows = raw.query(
        f"select id, _audit_rba, _audit_pos from {SCHEMA}.dedup_feed__values where id in (1, 7) order by id"
    )
    assert rows == [(1, 7900, 7), (7, 7300, 7)]


@pytest.mark.usefixtures("results")
def test_a_run_with_new_records_reads_from_the_open_transaction_on(project: Consumer, raw: Raw) -> None:
    sql = (project.folder / "rendered/1/dedup_feed__orders.sql").read_text()
    bound = re.search(rf"from {SCHEMA}_raw.orders\n    where\n(.*?)\n\n\),", sql, re.DOTALL)
    assert bound is not None
    read = raw.query(f"select trail_name, count(*) from {SCHEMA}_raw.orders where {bound[1]} group by trail_name")
    assert {name: number for name, number in read if name in ("op", "tx", "va", "vb", "vc", "sw")} == {
        # from behind the watermark on
        "op": 13,
        "vb": 1,
        "vc": 1,
        # from the start of the transaction that was open on
        "tx": 7,
        "va": 2,
    }


@pytest.mark.usefixtures("results")
def test_a_start_that_lands_late_is_healed_by_a_rescan(project: Consumer, raw: Raw) -> None:
    late = Trail("tx", 400)
    late.rba = 900
    raw.insert(f"{SCHEMA}_raw.orders", [late.record(5, 0, {"id": "89", "name": "the start"})])
    selected = ("--select", "dedup_feed__orders", "current_feed__orders")
    names = f"select id - 400, name from {SCHEMA}.current_feed__orders where id in (489, 490, 491)"
    project.dbt("run", *selected)
    assert raw.query(names) == []
    project.dbt("run", *selected, "--vars", "{change_tables_rescan: true}")
    assert sorted(raw.query(names)) == [(89, "the start"), (90, "no start"), (91, "no start")]


@pytest.mark.usefixtures("results")
def test_a_transaction_that_the_log_alone_has_is_not_applied_again_by_a_rescan(project: Consumer, raw: Raw) -> None:
    logged = f"select _change_id from {SCHEMA}.dedup_feed__orders where startswith(_change_seq, 'sa/')"
    before = raw.query(logged)
    raw.create(f"{SCHEMA}_raw.orders", RECORD)
    raw.insert(f"{SCHEMA}_raw.orders", [row for batch in CASES[0].batches for row in batch if row[:2] != ["sa", 0]])
    project.dbt("run", "--select", "dedup_feed__orders", "--vars", "{change_tables_rescan: true}")
    assert sorted(raw.query(logged)) == sorted(before)


@pytest.mark.usefixtures("results")
def test_a_forgotten_key_can_be_used_again_in_its_trail_whatever_others_have_reached(
    project: Consumer, raw: Raw
) -> None:
    trail = Trail("aa", 100)
    trail.seqno = 50
    selected = ("--select", "dedup_feed__orders", "current_feed__orders")
    for name in ("forgotten", "used again"):
        raw.insert(f"{SCHEMA}_raw.orders", [trail.record(5, 3, {"id": "95", "name": name})])
        project.dbt("run", *selected)
        assert raw.query(f"select name from {SCHEMA}.current_feed__orders where id = 195") == [(name,)]
        if name == "forgotten":
            code, _, complained = project.command("forget", "orders", "--key", '{"id": 195}')
            assert code == 0, complained
