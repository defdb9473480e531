"""The Qlik change tables' page, row by row: statuses, reasons, and the current rows after each batch."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Sequence
from decimal import Decimal

import pytest

from .cases import Case, assert_rejected, assert_reported, assert_statuses, current_rows
from .consumer import REPOSITORY, Consumer, Entry
from .idm_cases import CASES as IDM_CASES
from .kafka_cases import CASES as KAFKA_CASES
from .landing import Raw
from .openedge_cases import CASES as OPENEDGE_CASES
from .qlik_cases import (
    CASES,
    COLUMNS,
    NESTED_LANDED,
    NESTED_SNAPSHOT,
    SPARSE,
    SPARSE_VERSIONS,
    TWO_HEADERS,
    bare,
    seq,
)
from .statements import before, intercepted
from .trail_cases import CASES as TRAIL_CASES

SCHEMA = "qlik_pages"
LOADED = Entry(
    "loaded",
    TWO_HEADERS | {"snapshot": "loaded_full", "snapshot_seq": "{{ var('loaded_at', '') }}"},
    COLUMNS,
)
LISTS = ("rejected", "reported")
"""Views of all logs, which are read at the end alone."""
RELOAD = ["--vars", json.dumps({"loaded_at": seq(30)})]
Results = dict[str, list[set[tuple[object, ...]]]]

# type of an arrival -> values of it, each greater than the one before, with the least and the greatest that it holds
ARRIVALS = {
    "tinyint": ["-128", "-1", "0", "127"],
    "smallint": ["-32768", "0", "32767"],
    "int": ["-2147483648", "0", "2147483647"],
    "bigint": ["-9223372036854775808", "0", "9223372036854775806", "9223372036854775807"],
    "decimal(5,2)": ["'-999.99'", "'0.7'", "'0.71'", "'999.99'"],
    "decimal(38,0)": [f"'-{'9' * 38}'", "'0'", f"'{'9' * 37}8'", f"'{'9' * 38}'"],
    "decimal(38,38)": [f"'-0.{'9' * 38}'", "'0'", f"'0.{'0' * 37}1'", f"'0.{'9' * 37}8'", f"'0.{'9' * 38}'"],
    "date": [
        "date_from_unix_date(-2147483648)",
        "'0001-01-01'",
        "'1969-12-31'",
        "'2026-01-31'",
        "'9999-12-31'",
        "date_from_unix_date(2147483647)",
    ],
    **{
        kind: [
            "timestamp_micros(-9223372036854775808)",
            "'0001-01-01 00:00:00'",
            "'1969-12-31 23:59:59.999999'",
            "'2026-01-31 12:00:00.000001'",
            "timestamp_micros(9223372036854775806)",
            "timestamp_micros(9223372036854775807)",
        ]
        for kind in ("timestamp", "timestamp_ntz")
    },
    "string": ["''", r"'$\\'", r"'it\'s'", "'z'", "'é'", "'😀'"],
}
ASK_FOR_BOUNDS = """
{% macro ask_for_bounds() %}
    {% set asked = [] %}
    {% for type, values in ARRIVALS.items() %}
        {% set arrival = {'group': [], 'columns': ['value'], 'kind': change_tables._arrival_kind(type), 'type': type} %}
        {% set typed = [] %}
        {% for value in values %}
            {% do typed.append('cast(' ~ value ~ ' as ' ~ type ~ ')') %}
        {% endfor %}
        {% for value in typed %}
            {% set place = loop.index0 %}
            {% set text = run_query('select ' ~ change_tables.arrival_as_text(value, arrival)).rows[0][0] %}
            {% set watermark = change_tables.place_of(arrival, [text], true) %}
            {% for is_whole, lookback in [(false, 0), (true, 0)] + ([(false, 2)] if type != 'string' else []) %}
                {% do asked.append(
                    "select '" ~ type ~ "' as type, " ~ place ~ " as place, "
                    ~ is_whole ~ " as is_whole, " ~ lookback ~ " as lookback,"
                    ~ " sort_array(collect_list(coalesce(read_place, -1))) as read_places from ("
                    ~ " select posexplode(array(" ~ typed | join(', ') ~ ")) as (read_place, value)"
                    ~ " union all select null, null) where "
                    ~ change_tables.positions_since(arrival, [dict(watermark, is_whole=is_whole)], lookback)
                ) %}
            {% endfor %}
        {% endfor %}
    {% endfor %}
    {% do run_query('create or replace temporary view asked as ' ~ asked | join(' union all ')) %}
    {% do run_query('create table ' ~ target.schema ~ '.asked_bounds using parquet as select * from asked') %}
{% endmacro %}
"""


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """A project with all cases."""
    return consumer(SCHEMA)


@pytest.fixture(scope="module")
def results(project: Consumer, raw: Raw) -> Results:
    """The current rows of each table after batch 1, batch 2, and a full refresh, by name of the entry."""
    project.write([*(case.entry for case in CASES), LOADED], further_sources=["loaded_full", "nested_full"])
    for case in CASES:
        assert case.landed_columns is not None
        raw.create(f"{SCHEMA}_raw.{case.entry.name}", case.landed_columns, case.landed_as)
    headers = {"header__change_seq": "string", "header__change_oper": "string"}
    raw.create(f"{SCHEMA}_raw.loaded", headers | COLUMNS)
    raw.create(f"{SCHEMA}_raw.loaded_full", COLUMNS)
    raw.create(f"{SCHEMA}_raw.nested_full", NESTED_LANDED)
    raw.insert(f"{SCHEMA}_raw.nested_full", NESTED_SNAPSHOT)
    found: Results = {name: [] for name in [*(case.entry.name for case in CASES if case.current), "loaded"]}
    for number in (0, 1):
        for case in CASES:
            raw.insert(f"{SCHEMA}_raw.{case.entry.name}", case.batches[number])
        if number == 0:
            raw.insert(f"{SCHEMA}_raw.loaded_full", [(1, "s1", None), (2, "s2", None)])
            raw.insert(f"{SCHEMA}_raw.loaded", [bare(10, "U", 1, "u1", None), bare(20, "I", 3, "i3", None)])
        else:
            raw.query(f"truncate table {SCHEMA}_raw.loaded_full")
            raw.insert(f"{SCHEMA}_raw.loaded_full", [(1, "r1", None), (4, "r4", None)])
            raw.insert(f"{SCHEMA}_raw.loaded", [bare(40, "U", 4, "u4", None), bare(15, "U", 2, "late", None)])
        first = "dedup" if number else "stg"
        with_rows = [case.entry.name for case in CASES if case.batches[number]] + ["loaded"]
        selected = [f"{first}_feed__{name}+" for name in with_rows]
        project.dbt("run", "--select", *selected, *(RELOAD if number else ["--exclude", *LISTS]))
        shutil.copytree(project.folder / "target/compiled/consumer/models", project.folder / f"rendered/{number}")
        _read(raw, found, with_rows)
    refused = project.dbt("build", "--full-refresh", "--select", "dedup_feed__loaded", *RELOAD, must_succeed=False)
    assert "a full refresh would lose 2 changes that the log holds" in project.errors(refused)
    allowed = json.dumps({"loaded_at": seq(30), "change_tables_allow_loss": True})
    refreshed = ["defaults", "loaded"]
    logs = [f"dedup_feed__{name}+" for name in refreshed]
    project.dbt("run", "--full-refresh", "--select", *logs, "--exclude", *LISTS, "--vars", allowed)
    _read(raw, found, refreshed)
    return found


def _read(raw: Raw, found: Results, built: Sequence[str]) -> None:
    """Read the current rows of those tables that were built; those of the others are as they were."""
    shown = {case.entry.name: case.shown for case in CASES} | {"loaded": "id, name"}
    for name, states in found.items():
        states.append(current_rows(raw, SCHEMA, name, shown[name]) if name in built else states[-1])


@pytest.mark.parametrize("case", [case for case in CASES if case.current], ids=lambda case: case.entry.name)
def test_the_current_rows_are_what_the_page_says(results: Results, case: Case) -> None:
    assert results[case.entry.name] == [*case.current, case.current[-1]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entry.name)
@pytest.mark.usefixtures("results")
def test_every_raw_row_has_its_status_and_its_reason(raw: Raw, case: Case) -> None:
    assert_statuses(raw, SCHEMA, case)


@pytest.mark.usefixtures("results")
def test_a_log_does_not_take_the_length_of_raw_texts_which_can_get_longer(raw: Raw) -> None:
    assert raw.texts_have_no_length(f"{SCHEMA}.dedup_feed__in_time__state")


@pytest.mark.usefixtures("results")
def test_rejected_rows_are_listed_with_their_codes(raw: Raw) -> None:
    assert_rejected(raw, SCHEMA, CASES)


@pytest.mark.usefixtures("results")
def test_what_needs_a_look_is_reported_and_nothing_else(raw: Raw) -> None:
    assert_reported(raw, SCHEMA, CASES)


@pytest.mark.usefixtures("results")
def test_a_mask_shows_what_a_sparse_update_has_and_what_changed(raw: Raw) -> None:
    rows = raw.query(
        "select _change_seq, to_json(_present_columns), to_json(_changed_columns)"
        f" from {SCHEMA}.dedup_feed__sparse order by _change_seq"
    )
    assert {row[0]: tuple(json.loads(text) if text else None for text in row[1:]) for row in rows} == SPARSE


@pytest.mark.usefixtures("results")
def test_a_version_begins_where_a_tracked_column_changes(raw: Raw) -> None:
    rows = raw.query(
        f"select id, name, amount, _valid_from_seq, _valid_to_seq, _change_seq from {SCHEMA}.history_feed__sparse"
    )
    assert len(rows) == len(SPARSE_VERSIONS)
    assert set(rows) == SPARSE_VERSIONS


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize(("name", "reads_once"), [("truncated", False), ("in_time", True)])
def test_a_batch_reads_raw_once_where_the_log_reaches_none_of_its_sequences(
    project: Consumer, raw: Raw, name: str, reads_once: bool
) -> None:
    sql = (project.folder / f"rendered/1/dedup_feed__{name}.sql").read_text()
    assert "where _ct_is_change or" not in sql, "a run that reads everything"
    plan = raw.query(f"explain formatted {sql}")[0][0]
    scans = re.findall(rf"^\(\d+\) (?:Batch)?Scan .*{SCHEMA}_raw\.{name}\b", plan, re.MULTILINE)
    assert (len(scans) == 1) == reads_once, scans
    assert scans


@pytest.mark.usefixtures("results")
def test_rows_of_a_known_sequence_that_land_while_a_run_looks_are_left_to_the_next(project: Consumer, raw: Raw) -> None:
    landed, log = f"{SCHEMA}_raw.in_time", f"{SCHEMA}.dedup_feed__in_time"
    raw.insert(landed, [bare(50, "I", 5, "in time", None, Decimal("0.95"))])

    def land_late() -> None:
        # where the look has ended: the run reads no further
        raw.insert(landed, [bare(30, "U", 4, "late", None, Decimal("0.95"))])

    run = ["run", "--select", "dedup_feed__in_time"]
    with intercepted(before(f"create table {log}__batch_", land_late)):
        project.dbt(*run)
    asked = f"select id, to_json(_key_before) from {log} where id in (4, 5) order by id"
    assert raw.query(asked) == []
    project.dbt(*run)
    assert raw.query(asked) == [(4, '{"id":2}'), (5, None)]


@pytest.mark.usefixtures("results")
def test_two_updates_with_one_sequence_end_in_the_same_rows_however_they_land(raw: Raw) -> None:
    rows = raw.query(f"select id div 10, id % 10, name, amount from {SCHEMA}.current_feed__two_updates")
    first, second = ({row[1:] for row in rows if row[0] == tens} for tens in (0, 1))
    assert first == second != set()


@pytest.mark.usefixtures("results")
def test_the_bound_on_arrivals_holds_at_the_limits_of_every_type(project: Consumer, raw: Raw) -> None:
    (project.folder / "macros").mkdir()
    macro = ASK_FOR_BOUNDS.replace("ARRIVALS", repr(ARRIVALS))
    (project.folder / "macros/ask_for_bounds.sql").write_text(macro)
    project.dbt("run-operation", "ask_for_bounds")
    asked = raw.query(f"select type, place, is_whole, lookback, to_json(read_places) from {SCHEMA}.asked_bounds")
    assert len(asked) == sum(len(values) * (2 if kind == "string" else 3) for kind, values in ARRIVALS.items())
    for kind, place, is_whole, lookback, read in asked:
        expected = [-1, *range(place + is_whole, len(ARRIVALS[kind]))]
        found = json.loads(read)
        # at the least value nothing is left to look back to
        assert found == expected if lookback == 0 or place == 0 else set(expected) <= set(found), (kind, place, found)


@pytest.mark.usefixtures("results")
def test_a_map_in_another_order_begins_no_version_and_a_value_within_a_value_is_named_with_its_path(raw: Raw) -> None:
    versions = raw.query(f"select id, count(*) from {SCHEMA}.history_feed__nested group by id")
    assert sorted(versions) == [(1, 1), (2, 2), (3, 1), (4, 1)]
    rejected = raw.query(
        f"select reason_detail, raw_row like '%290308%' or raw_row like '%294247%' from {SCHEMA}.rejected"
        " where table_name = 'nested'"
    )
    assert sorted(rejected) == [
        ("column fields.b: 'x' is not int", True),
        ("column fields.b: 'x' is not int", True),
        ("column prices['net']: 'x' is not decimal(5, 2)", True),
    ]


def test_a_load_ends_what_is_older_and_a_reload_ends_what_it_lacks(results: Results) -> None:
    assert results["loaded"] == [
        {(1, "u1"), (2, "s2"), (3, "i3")},
        {(1, "r1"), (4, "u4")},
        {(1, "r1"), (4, "u4")},
    ]


def test_every_reason_and_report_is_explained_in_the_seed_under_its_status() -> None:
    with (REPOSITORY / "seeds/reference/reason_codes.csv").open(newline="") as file:
        explained = {(row["status"], row["code"]) for row in csv.DictReader(file) if row["meaning"] and row["remedy"]}
    cases = [*CASES, *KAFKA_CASES, *TRAIL_CASES, *IDM_CASES, *OPENEDGE_CASES]
    given = {(status, code) for case in cases for status, code in case.reasons if code is not None}
    given |= {("reported", code) for case in cases for _, code in case.reported}
    assert given - explained == set()
