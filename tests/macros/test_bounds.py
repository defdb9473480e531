"""The watermark of a raw table, which raw rows a run of a log then reads, and what its checkpoint keeps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .rendering import Answers
from .shapes import ANSWERS, LOOK, SHAPES, Shape, Shapes

OFFSETS: dict[str, Any] = {
    "kind": "whole_number", "group": ["topic", "partition"], "columns": ["offset"], "record": ["key", "value"],
}  # fmt: skip
TRAIL: dict[str, Any] = {
    "kind": "whole_number", "group": ["trail_name"], "columns": ["trail_seqno", "trail_rba"], "record": ["io_time"],
}  # fmt: skip
LANDED_AT: dict[str, Any] = {
    "group": [], "columns": ["landed at"], "is_whole": False, "kind": "timestamp", "type": "timestamp",
}  # fmt: skip
COMMITS: dict[str, Any] = {
    "group": [], "columns": ["row_commit_version"], "hidden": "_metadata.{name}", "table": "_of_this_table",
    "kind": "whole_number", "type": "bigint", "is_whole": True,
}  # fmt: skip
FILES: dict[str, Any] = {
    "group": [], "columns": ["file_modification_time"], "hidden": "_metadata.{name}", "is_whole": False,
    "kind": "timestamp", "type": "timestamp",
}  # fmt: skip


def _place(
    group: list[str | None], *position: int | str, is_whole: bool = True, fingerprint: str | None = None
) -> dict[str, Any]:
    return {"group": group, "position": list(position), "is_whole": is_whole, "fingerprint": fingerprint}


def _at(position: int | str, fingerprint: str | None = None) -> list[dict[str, Any]]:
    """The place of a column: all rows are one group."""
    return [_place([], position, is_whole=False, fingerprint=fingerprint)]


# ---- which rows a bound takes


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        ("tinyint", "whole_number"),
        ("bigint", "whole_number"),
        ("decimal(38,0)", "decimal"),
        ("string", "text"),
        ("varchar(5)", "text"),
        ("char(5)", "text"),
        ("date", "date"),
        ("timestamp", "timestamp"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("float", None),
        ("double", None),
        ("boolean", None),
        ("binary", None),
        ("struct<a:int>", None),
    ],
)
def test_only_types_whose_values_have_one_text_are_arrivals(shapes: Shapes, type_: str, kind: str | None) -> None:
    assert shapes.project.macros("dedup_feed__qlik")("_arrival_kind", type_) == kind


@pytest.mark.parametrize(
    ("properties", "counts"),
    [
        ({}, False),
        ({"delta.minReaderVersion": "1"}, True),
        ({"format": "iceberg/parquet", "format-version": "2"}, True),
        ({"format": "parquet", "provider": "iceberg"}, False),
    ],
)
def test_rows_are_counted_where_that_takes_no_scan(shapes: Shapes, properties: dict[str, str], counts: bool) -> None:
    assert shapes.project.macros("dedup_feed__qlik")("counts_without_scan", properties) == counts


@pytest.mark.parametrize(
    ("kind", "type_", "value", "lookback", "expected"),
    [
        ("whole_number", "int", 7, 0, ">= 7"),
        ("whole_number", "int", 7, 10, ">= -3"),
        ("decimal", "decimal(5,2)", "1.50", 0, ">= cast('1.50' as decimal(5, 2))"),
        (
            "decimal",
            "decimal(5,2)",
            "1.50",
            2,
            ">= coalesce(try_subtract(cast('1.50' as decimal(5, 2)), 2), cast('-999.99' as decimal(5, 2)))",
        ),
        ("date", "date", 20, 0, ">= date_from_unix_date(20)"),
        ("date", "date", 20, 1, ">= date_from_unix_date(19)"),
        ("date", "date", 20, 0.5, ">= date_from_unix_date(19)"),
        ("date", "date", -2147483648, 1, ">= date_from_unix_date(-2147483648)"),
        ("timestamp", "timestamp", 86400000001, 0, ">= timestamp_micros(86400000001)"),
        ("timestamp", "timestamp", 86400000001, 1, ">= timestamp_micros(1)"),
        ("timestamp", "timestamp", 86400000001, 0.5, ">= timestamp_micros(43200000001)"),
        ("timestamp", "timestamp", -9223372036854775807, 1, ">= timestamp_micros(-9223372036854775808)"),
        ("timestamp_ntz", "timestamp_ntz", 5, 0, ">= timestampadd(microsecond, 5, timestamp_ntz '1970-01-01')"),
        ("text", "string", "it's", 0, r">= 'it\'s'"),
    ],
)
def test_a_bound_is_so_much_below_an_arrival_and_never_below_what_its_type_holds(
    shapes: Shapes, kind: str, type_: str, value: int | str, lookback: float, expected: str
) -> None:
    arrival = {"group": [], "columns": ["a"], "kind": kind, "type": type_}
    predicate = shapes.project.macros("dedup_feed__qlik")("positions_since", arrival, _at(value, "1:2:3"), lookback)
    assert _in_one_line(predicate) == f"( a is null or (a {expected}) )"


def _in_one_line(sql: str) -> str:
    return " ".join(sql.split())


@pytest.mark.parametrize(
    ("arrival", "watermark", "lookback", "expected"),
    [
        (OFFSETS, [], 0, "true"),
        (
            OFFSETS,
            [_place(["t", "0"], 41)],
            0,
            "( `offset` is null or (topic <=> 't' and `partition` <=> '0' and `offset` > 41)"
            " or not ( (topic <=> 't' and `partition` <=> '0') ) )",
        ),
        (
            OFFSETS,
            [_place(["t", "0"], 41, is_whole=False), _place([None, "1"], 7)],
            0,
            "( `offset` is null or (topic <=> 't' and `partition` <=> '0' and `offset` >= 41)"
            " or (topic <=> null and `partition` <=> '1' and `offset` > 7)"
            " or not ( (topic <=> 't' and `partition` <=> '0') or (topic <=> null and `partition` <=> '1') ) )",
        ),
        (
            OFFSETS,
            [_place(["t", "0"], 41)],
            5,
            "( `offset` is null or (topic <=> 't' and `partition` <=> '0' and `offset` >= 36)"
            " or not ( (topic <=> 't' and `partition` <=> '0') ) )",
        ),
        (
            TRAIL,
            [_place(["it's"], 3, 4100)],
            0,
            "( trail_seqno is null or trail_rba is null"
            r" or (trail_name <=> 'it\'s' and (trail_seqno > 3 or (trail_seqno = 3 and trail_rba > 4100)))"
            r" or not ( (trail_name <=> 'it\'s') ) )",
        ),
        (
            TRAIL,
            [_place(["aa"], 3, 4100, is_whole=False)],
            0,
            "( trail_seqno is null or trail_rba is null"
            " or (trail_name <=> 'aa' and (trail_seqno > 3 or (trail_seqno = 3 and trail_rba >= 4100)))"
            " or not ( (trail_name <=> 'aa') ) )",
        ),
        (
            COMMITS,
            [_place([], 41)],
            0,
            "( _metadata.row_commit_version is null or (_metadata.row_commit_version > 41) )",
        ),
        (
            FILES,
            _at(500, "1:2:3"),
            0,
            "( _metadata.file_modification_time is null"
            " or (_metadata.file_modification_time >= timestamp_micros(500)) )",
        ),
    ],
)
def test_rows_after_their_position_and_of_groups_that_are_not_known_are_read(
    shapes: Shapes, arrival: dict[str, Any], watermark: list[dict[str, Any]], lookback: int, expected: str
) -> None:
    predicate = shapes.project.macros("dedup_feed__kafka")("positions_since", arrival, watermark, lookback)
    assert _in_one_line(predicate) == expected


def test_many_groups_are_a_list(shapes: Shapes) -> None:
    macro = shapes.project.macros("dedup_feed__kafka")
    watermark = [_place([f"t{number}", "0"], number) for number in range(30)]
    watermark.append(_place(["t30", "0"], 31, is_whole=False))  # at 31 a row waits: after 30
    assert macro("positions_since", OFFSETS, watermark[:30], 0).count("`offset` >") == 30
    listed = ", ".join(f"('t{number}', '0', {number})" for number in range(31))
    assert _in_one_line(macro("positions_since", OFFSETS, watermark, 0)) == (
        f"(`offset` is null or not exists ( select 1 from values {listed}"
        " as spans (_ct_group_1, _ct_group_2, _ct_since_1) where topic <=> _ct_group_1 and `partition` <=> _ct_group_2"
        " and (_ct_since_1 is null or `offset` <= _ct_since_1) ))"
    )


# watermark, high_water, lookback -> the condition on the rows that a run reads
SPANS: dict[str, tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]], int, str]] = {
    "nothing has landed": (OFFSETS, [], [], 0, "( `offset` is null )"),
    "all": (
        OFFSETS, [], [_place(["t", "0"], 41), _place(["t", "1"], 7)], 0,
        "( `offset` is null or (topic <=> 't' and `partition` <=> '0' and `offset` <= 41)"
        " or (topic <=> 't' and `partition` <=> '1' and `offset` <= 7) )",
    ),
    "one of two groups, and a new one": (
        OFFSETS, [_place(["t", "0"], 41), _place(["t", "1"], 7)],
        [_place(["t", "0"], 45), _place(["t", "1"], 7), _place(["u", "0"], 1)], 0,
        "( `offset` is null or (topic <=> 't' and `partition` <=> '0' and `offset` > 41 and `offset` <= 45)"
        " or (topic <=> 'u' and `partition` <=> '0' and `offset` <= 1) )",
    ),
    "a row that waits": (
        OFFSETS, [_place(["t", "0"], 41, is_whole=False)], [_place(["t", "0"], 41)], 0,
        "( `offset` is null or (topic <=> 't' and `partition` <=> '0' and `offset` >= 41 and `offset` <= 41) )",
    ),
    "a lookback": (
        OFFSETS, [_place(["t", "0"], 41)], [_place(["t", "0"], 41)], 5,
        "( `offset` is null or (topic <=> 't' and `partition` <=> '0' and `offset` >= 36 and `offset` <= 41) )",
    ),
    "a column": (
        LANDED_AT, _at(500, "1:2:3"), _at(600, "2:3:4"), 0,
        "( `landed at` is null or (`landed at` >= timestamp_micros(500) and `landed at` <= timestamp_micros(600)) )",
    ),
    "a trail": (
        TRAIL, [_place(["aa"], 3, 4100)], [_place(["aa"], 4, 100)], 0,
        "( trail_seqno is null or trail_rba is null or (trail_name <=> 'aa'"
        " and (trail_seqno > 3 or (trail_seqno = 3 and trail_rba > 4100))"
        " and (trail_seqno < 4 or (trail_seqno = 4 and trail_rba <= 100))) )",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SPANS)
def test_a_run_reads_the_groups_in_which_rows_have_landed_and_no_further(shapes: Shapes, case: str) -> None:
    arrival, watermark, high_water, lookback, expected = SPANS[case]
    macro = shapes.project.macros("dedup_feed__kafka")
    spans = macro("spans_of_run", arrival, watermark, high_water, lookback)
    assert _in_one_line(macro("positions_in", arrival, spans)) == expected


# ---- the bound of a run

# what a look finds where nothing has landed since a first run
SAME: dict[str, Any] = {"high_water": "500", "_ct_fingerprint": "1:2:3", "_ct_is_same": True}


def _landed(since: str, until: int) -> str:
    """The condition on rows that have landed between these."""
    return f"( `landed at` is null or (`landed at` {since} and `landed at` <= timestamp_micros({until})) )"


# the log's checkpoint against that of a first run, what has landed, what the spec says -> the bound
BOUNDS: dict[str, tuple[str, dict[str, Any] | None, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "a first run": (
        "qlik", None, {}, {}, {"predicate": None, "snapshot": True, "is_late": False, "watermark_before": None},
    ),
    "rows that arrived since": (
        "qlik", {}, {}, {},
        {
            "predicate": _landed(">= timestamp_micros(500)", 600),
            "snapshot": False, "has_no_news": False,
        },
    ),
    "rows at the watermark that were read, all of them": (
        "qlik", {}, {"_ct_is_same": True}, {},
        {
            "predicate": _landed("> timestamp_micros(500)", 600),
        },
    ),
    "no others": ("qlik", {}, SAME, {}, {"predicate": "( `landed at` is null )", "has_no_news": True}),
    "no others, but rows without an arrival": (
        "qlik", {}, SAME | {"_ct_unplaced": 1}, {}, {"predicate": "( `landed at` is null )", "has_no_news": False},
    ),
    "more rows at the watermark": (
        "qlik", {}, {"high_water": "500"}, {},
        {
            "predicate": _landed(">= timestamp_micros(500)", 500),
        },
    ),
    "a row that waits at the watermark": (
        "qlik", {"watermark": _at(500)}, {"high_water": "500", "_ct_fingerprint": "1:2:3"}, {}, {"has_no_news": False},
    ),
    "nothing had landed before": (
        "qlik", {"watermark": []}, {}, {},
        {"predicate": "( `landed at` is null or (`landed at` <= timestamp_micros(600)) )"},
    ),
    "sequences that the log does not reach": (
        "qlik", {"highest_seq": "5"}, {"_ct_lowest_seq": "6"}, {}, {"is_late": False, "lowest_seq": "6"},
    ),
    "the highest sequence of the log": (
        "qlik", {"highest_seq": "5"}, {"_ct_lowest_seq": "5"}, {}, {"is_late": True, "lowest_seq": "5"},
    ),
    "rows without a sequence": (
        "qlik", {"highest_seq": "5"}, {"_ct_lowest_seq": None}, {}, {"is_late": False, "lowest_seq": None},
    ),
    "another arrival than before": (
        "qlik", {"arrival": "whole_number:batch"}, {}, {},
        {"predicate": None, "watermark_before": None, "is_late": True},
    ),
    "no arrival": (
        "qlik", {}, {}, {"arrival": "none"}, {"predicate": None, "arrival": None, "high_water": None, "is_late": True},
    ),
    "a lookback": (
        "qlik", {}, {}, {"lookback": 1},
        {
            "predicate": _landed(">= timestamp_micros(-86399999500)", 600),
            "high_water": _at(600), "is_late": True, "has_no_news": False,
        },
    ),
    "a load that is newer": ("qlik", {}, {}, {"snapshot_seq": "7"}, {"snapshot": True}),
    "a load where none was": ("qlik", {"snapshot_seq": None}, {}, {}, {"snapshot": True, "is_late": True}),
    "a load that the log reaches, beside rows that it does not": (
        "qlik", {"highest_seq": "5"}, {"_ct_lowest_seq": "6"}, {"snapshot_seq": "4"},
        {"is_late": True, "lowest_seq": "4"},
    ),
    "a load alone that the log reaches": (
        "qlik", {"highest_seq": "5"}, SAME | {"_ct_lowest_seq": None}, {"snapshot_seq": "4"},
        {"is_late": True, "lowest_seq": "4"},
    ),
    "a load above the log": (
        "qlik", {"highest_seq": "5"}, {"_ct_lowest_seq": "6"}, {"snapshot_seq": "7"},
        {"is_late": False, "lowest_seq": "6"},
    ),
    "the load that is known": ("qlik", {"snapshot_seq": "7"}, {}, {"snapshot_seq": "7"}, {"snapshot": False}),
    "no load any more": ("qlik", {"snapshot_seq": "7"}, {}, {"snapshot": None}, {"snapshot": False}),
}  # fmt: skip


def _bound(
    shapes: Shapes, entry: str, checkpoint: dict[str, Any] | None, answers: Answers, spec: dict[str, Any], **given: Any
) -> dict[str, Any]:
    log = f"dedup_feed__{entry}"
    first = shapes.first_checkpoint(log)
    lake = shapes.lake(Shape(log, {}, answers))
    call = shapes.project.macros(log, lake, **given)
    bound: dict[str, Any] = call(
        "raw_bound", call("table_spec", "feed", entry) | spec, None if checkpoint is None else first | checkpoint
    )
    return bound


def _looked(**landed: Any) -> Answers:
    return {LOOK: [{**ANSWERS[LOOK][0], **landed}]}


@pytest.mark.parametrize("name", BOUNDS)
def test_a_run_reads_from_the_watermark_that_the_runs_before_have_left(shapes: Shapes, name: str) -> None:
    entry, checkpoint, landed, spec, expected = BOUNDS[name]
    bound = _bound(shapes, entry, checkpoint, _looked(**landed), spec)
    bound |= {"predicate": bound["predicate"] and _in_one_line(bound["predicate"])}
    assert {key: bound[key] for key in expected} == expected


def test_a_text_arrival_with_numbers_of_different_lengths_stops_the_run(shapes: Shapes) -> None:
    refused = (
        r"`arrival` must sort as rows land; 'flag' is text and has numbers of different lengths, '9' and '10': let"
    )
    landed = _looked(high_water="9", _ct_shortest="9", _ct_longest="10")
    call = shapes.project.macros("dedup_feed__qlik_types", shapes.lake(Shape("dedup_feed__qlik_types", {}, landed)))
    arrival = {"group": [], "columns": ["flag"], "is_whole": False, "kind": "text", "type": "string"}
    spec = call("table_spec", "feed", "qlik_types") | {"arrival": "batch"}
    for watermark in (_at("9", "1:2:3"), []):
        with pytest.raises(CompilationError, match=refused):
            call("_look_at_raw", spec, arrival, watermark, True)
    assert call("_look_at_raw", spec, arrival, _at("part 9"), True)["high_water"] == _at("9", "2:3:4")


TRACKS_ROWS = [
    {"key": "delta.enableRowTracking", "value": "true"},
    {"key": "delta.rowTracking.materializedRowCommitVersionColumnName", "value": "_of_this_table"},
]
COMMITS_OF_ICEBERG = [
    {"key": "format", "value": "iceberg/parquet"},
    {"key": "format-version", "value": "3"},
    {"key": "current-snapshot-id", "value": "77"},
]
OF_PARQUET = [{"col_name": "Provider", "data_type": "parquet", "comment": ""}]


@pytest.mark.parametrize(
    ("setting", "properties", "described", "expected"),
    [
        ("auto", TRACKS_ROWS, None, "whole_number:_metadata.row_commit_version:_of_this_table"),
        ("auto", [], None, None),
        ("auto", [TRACKS_ROWS[0] | {"value": "false"}, TRACKS_ROWS[1]], None, None),
        ("auto", COMMITS_OF_ICEBERG, None, "whole_number:_last_updated_sequence_number:77"),
        ("auto", [COMMITS_OF_ICEBERG[0], COMMITS_OF_ICEBERG[1] | {"value": "2"}], None, None),
        ("none", None, None, None),
        ("files", TRACKS_ROWS, None, "whole_number:_metadata.row_commit_version:_of_this_table"),
        ("files", [], OF_PARQUET, "timestamp:_metadata.file_modification_time"),
    ],
)
def test_a_table_of_files_says_itself_what_is_new(
    shapes: Shapes, setting: str, properties: Any, described: Any, expected: str | None
) -> None:
    asked = {r"^show tblproperties \S+$": properties, r"^describe extended \S+$": described}
    answers = {query: rows for query, rows in asked.items() if rows is not None}
    call = shapes.project.macros("dedup_feed__qlik", shapes.lake(Shape("dedup_feed__qlik", {}, answers)))
    arrival = call("arrival_of", call("table_spec", "feed", "qlik") | {"arrival": setting})
    assert call("arrival_in_checkpoint", arrival) == expected


@pytest.mark.parametrize(
    ("checkpoint", "ancestors", "expected"),
    [
        ("whole_number:_last_updated_sequence_number:77", [], True),
        ("whole_number:_last_updated_sequence_number:70", ["70", "77"], True),
        ("whole_number:_last_updated_sequence_number:70", ["77"], False),  # made again, rolled back, or expired
        ("whole_number:_last_updated_sequence_number:none", ["77"], False),
        ("whole_number:batch:70", ["70", "77"], False),
        (None, ["77"], False),
    ],
)
def test_an_iceberg_table_is_read_on_while_the_snapshot_of_the_last_run_is_an_ancestor(
    shapes: Shapes, checkpoint: str | None, ancestors: list[str], expected: bool
) -> None:
    asked = {r"^show tblproperties \S+$": COMMITS_OF_ICEBERG}
    for snapshot in ("70", "none"):
        query = rf"^select 1 from \S+[.]history where is_current_ancestor and .*snapshot_id.* = '{snapshot}'$"
        asked[query] = [{"1": "1"}] if snapshot in ancestors else []
    call = shapes.project.macros("dedup_feed__qlik", shapes.lake(Shape("dedup_feed__qlik", {}, asked)))
    spec = call("table_spec", "feed", "qlik") | {"arrival": "auto"}
    assert call("is_arrival_of", {"arrival": checkpoint}, spec, call("arrival_of", spec)) is expected


def test_a_look_hashes_no_row_of_the_last_commit(shapes: Shapes) -> None:
    call = shapes.project.macros("dedup_feed__qlik", shapes.lake(Shape("dedup_feed__qlik", {})))
    spec = call("table_spec", "feed", "qlik")
    columns = call("landed_columns", spec, spec["relation"], [], "")
    looks = [call("_groups_since", spec, arrival, columns, _at(5), "true", False) for arrival in (COMMITS, FILES)]
    assert ["xxhash64(" in look for look in looks] == [False, True]
    assert "if(_metadata.row_commit_version is null, null, struct(_metadata.row_commit_version)) as" in looks[0]


def test_a_rescan_reads_every_row_and_keeps_the_watermark(shapes: Shapes) -> None:
    bound = _bound(shapes, "qlik", {}, {}, {}, variables={"change_tables_rescan": True})
    assert (bound["predicate"], bound["snapshot"], bound["watermark_before"]) == (None, True, _at(500, "1:2:3"))


@pytest.mark.parametrize(("checkpoint", "times"), [(None, 1), ({}, 0), ({"snapshot_seq": None}, 1)])
def test_a_run_that_reads_the_load_says_once_which_columns_it_lacks_and_that_it_is_empty(
    shapes: Shapes, checkpoint: dict[str, Any] | None, times: int
) -> None:
    model = "dedup_feed__qlik"
    lake = shapes.lake(Shape(model, {} if checkpoint is None else {model: checkpoint}))
    load = {name: landed for name, landed in lake.columns["lake_raw.qlik_load"].items() if name != "amount"}
    shapes.project.said.clear()
    run = shapes.project.run(model, replace(lake, columns={**lake.columns, "lake_raw.qlik_load": load}))
    load_of_log = "lake.dedup_feed__qlik: the load lake_raw.qlik_load"
    said = [
        f"{load_of_log} lacks amount: null in its rows",
        f"{load_of_log} is empty: once it has rows, run a rescan, or raise `snapshot_seq`",
    ]
    assert [text for text in shapes.project.said if "the load" in text] == said * times
    assert run.rendered.count("cast(null as decimal(12, 2)) as amount") == times


@pytest.mark.parametrize("taken_in", ["", None, "300"])
def test_an_empty_load_at_a_raised_sequence_is_refused(shapes: Shapes, taken_in: str | None) -> None:
    model = "dedup_feed__qlik"

    def said_of(sequence: str, **variables: Any) -> None:
        call = shapes.project.macros(model, shapes.lake(Shape(model, {})), variables=variables)
        spec = call("table_spec", "feed", "qlik") | {"snapshot_seq": sequence}
        call("_say_what_load_lacks", spec, {"snapshot_seq": taken_in})

    with pytest.raises(CompilationError) as refused:
        said_of("400")
    assert (
        "the load lake_raw.qlik_load is empty, and at the raised `snapshot_seq` '400' it would end every key:"
        " land it first, or allow the loss with --vars '{change_tables_allow_loss: true}'"
    ) in str(refused.value)
    said_of("400", change_tables_allow_loss=True)
    said_of(taken_in or "")


@pytest.mark.parametrize("entry", ["qlik", "kafka"])
def test_the_run_after_the_declared_columns_have_changed_reads_every_row(shapes: Shapes, entry: str) -> None:
    columns = shapes.first_checkpoint(f"dedup_feed__{entry}")["columns"]
    fewer = dict(list(columns.items())[:-1])
    narrower = columns | {"order": "int"}
    for known, reads_all in (
        (columns, False),
        (fewer, True),
        (narrower, True),
        (dict(reversed(columns.items())), True),
    ):
        bound = _bound(shapes, entry, {"columns": known}, {}, {})
        assert (bound["predicate"] is None) == reads_all


def test_a_run_takes_in_changes_below_those_of_the_log_if_it_reads_all_that_it_compares(shapes: Shapes) -> None:
    """A load that is named in `whole_loads` lies below those that have landed since."""
    since = SHAPES["full_loads__log__since"]
    batch = {**ANSWERS["as changes,"][0], "lowest_seq": "2026-01-30", "highest_seq": "2026-01-31"}
    answers = {"as changes,": [{**batch, "lowest_landed": "2026-01-30", "highest_landed": "2026-01-31"}]}
    run = shapes.run(replace(since, answers={**since.answers, **answers}))
    assert not run.run["is_late"]
    assert any(sql.startswith(("merge into", "insert into")) and "__state" in sql for sql in run.sent)


def test_a_run_leaves_to_the_next_one_what_landed_while_it_looked_and_may_be_part_of_a_logged_change(
    shapes: Shapes,
) -> None:
    """Its look has seen nothing that the log reaches, and its batch has."""
    shape = SHAPES["qlik_change_tables__log__since_in_time"]
    expected = shapes.run(shape)
    assert not expected.run["is_late"]
    run = shapes.run(replace(shape, answers={**shape.answers, "as changes,": ANSWERS["as changes,"]}))
    written = [sql for sql in run.sent if re.match("merge|insert|update|create (or replace )?table", sql)]
    assert [bool(re.match("create .*__batch_", sql)) for sql in written] == [True]
    said = "rows of changes that it may hold have landed while this run was looking; the next run takes them in"
    assert any(text.endswith(said) for text in shapes.project.said)


def test_a_load_that_falls_back_stops_the_run(shapes: Shapes) -> None:
    with pytest.raises(CompilationError, match="`snapshot_seq` must not fall below the one that"):
        _bound(shapes, "qlik", {"snapshot_seq": "7"}, {}, {"snapshot_seq": "6"})


def test_positions_of_groups_that_have_nothing_new_stay_as_they_were(shapes: Shapes) -> None:
    watermark = [_place(["orders", "0"], 30), _place(["orders", "2"], 5, is_whole=False)]
    bound = _bound(shapes, "kafka", {"watermark": watermark}, {}, {})
    assert bound["high_water"] == [_place(["orders", "0"], 41), _place(["orders", "1"], 7), watermark[1]]
    assert "`offset` > 30" in bound["predicate"]
    assert "'2'" not in bound["predicate"]
    assert "`offset` <= 41" in bound["predicate"]
    assert bound["until"] is None


def test_an_entry_of_one_topic_looks_at_no_other(shapes: Shapes) -> None:
    watermark = [_place(["orders", "0"], 30)]
    of_topic = {"arrival": "whole_number:topic,partition,offset:topic = 'orders'", "watermark": watermark}
    landed = {"topic": "orders", "partition": "0", "offset": "41", "_ct_places": 11, "_ct_rows": 11, "_ct_copies": 1}
    looked = {r"where\s+topic = 'orders' and \(.*as _ct_last": [landed | {"_ct_unplaced": 0, "_ct_rows_below": 11}]}
    spec = {"topic": "orders", "hold_open_transactions": False}
    bound = _bound(shapes, "kafka", of_topic, looked, spec)
    assert (bound["high_water"], bound["look"]["rows"]) == ([_place(["orders", "0"], 41)], 11)
    # the watermark of another topic says nothing of this one
    assert _bound(shapes, "kafka", of_topic, {}, spec | {"topic": "others"})["watermark_before"] is None


# ---- the watermark, after a run

NOW = _at(600, "2:3:4")
HIGH_WATER = [_place(["t", "0"], 41), _place(["t", "1"], 7)]
DECIMAL: dict[str, Any] = {"group": [], "columns": ["a"], "kind": "decimal", "type": "decimal(5,1)"}


# an arrival -> as it comes out of texts, in a first run
OF_TEXTS: tuple[tuple[dict[str, Any], str], ...] = (
    (LANDED_AT, "if(t[0] is null, null, struct(cast(t[0] as decimal(38,0)) as `landed at`))"),
    (DECIMAL, "if(t[0] is null, null, struct(cast(t[0] as decimal(5,1)) as a))"),
    (DECIMAL | {"kind": "text", "type": "string"}, "if(t[0] is null, null, struct(cast(t[0] as string) as a))"),
    (
        TRAIL,
        "if(t[1] is null, null, struct(t[0] as trail_name, cast(t[1] as decimal(38,0)) as trail_seqno,"
        " cast(t[2] as decimal(38,0)) as trail_rba))",
    ),
)


@pytest.mark.parametrize(("arrival", "expected"), OF_TEXTS)
def test_places_that_a_first_run_sets_aside_sort_as_they_do_in_raw(
    shapes: Shapes, arrival: dict[str, Any], expected: str
) -> None:
    assert shapes.project.macros("dedup_feed__kafka")("arrival_of_texts", arrival, "t") == expected


@pytest.mark.parametrize(
    ("arrival", "high_water", "before", "waiting", "expected"),
    [
        # nothing has landed
        (LANDED_AT, [], [], [], []),
        (OFFSETS, [], None, [], []),
        # all that has landed
        (LANDED_AT, NOW, _at(500, "1:2:3"), [], NOW),
        (OFFSETS, HIGH_WATER, None, [], HIGH_WATER),
        # a row waits at the last place, or below
        (LANDED_AT, NOW, _at(500, "1:2:3"), [["600"]], _at(600)),
        (LANDED_AT, NOW, _at(500, "1:2:3"), [["500"]], _at(500)),
        (
            OFFSETS,
            HIGH_WATER,
            None,
            [["t", "1", "6"], ["t", "1", "7"]],
            [HIGH_WATER[0], _place(["t", "1"], 6, is_whole=False)],
        ),
        # what has landed after the look blocks nothing
        (LANDED_AT, NOW, _at(500, "1:2:3"), [["601"]], NOW),
        (DECIMAL, _at("99.5", "2:3:4"), _at("9.5", "1:2:3"), [["100.5"]], _at("99.5", "2:3:4")),
        (DECIMAL, _at("99.5", "2:3:4"), _at("9.5", "1:2:3"), [["10.5"]], _at("10.5")),
        # a group that has not landed before this run looked has no watermark
        (OFFSETS, HIGH_WATER, None, [["t", "9", "6"]], HIGH_WATER),
    ],
)
def test_the_watermark_of_a_group_is_the_high_water_or_the_first_row_that_waits(
    shapes: Shapes, arrival: dict[str, Any], high_water: Any, before: Any, waiting: Any, expected: list[dict[str, Any]]
) -> None:
    run = {"kind": "since", "arrival": arrival, "high_water": high_water, "watermark_before": before}
    assert shapes.project.macros("dedup_feed__kafka")("watermark_after_run", {"lookback": 0}, run, waiting) == expected


@pytest.mark.parametrize(
    ("kind", "first", "expected"),
    [("since", "12", 30), ("since", "30", 30), ("since", "35", 35), ("everything", "12", 12)],
)
def test_a_row_that_lookback_reads_again_does_not_move_the_watermark_back(
    shapes: Shapes, kind: str, first: str, expected: int
) -> None:
    before = [_place(["t", "0"], 30)]
    told = {"kind": kind, "arrival": OFFSETS, "high_water": HIGH_WATER, "watermark_before": before}
    found = shapes.project.macros("dedup_feed__kafka")(
        "watermark_after_run", {"lookback": 5}, told, [["t", "0", first]]
    )
    assert found == [_place(["t", "0"], expected, is_whole=False), HIGH_WATER[1]]


# the arrival, the watermark before, the high water, and the watermark now, the lookback before
# -> how many are below it, and had landed there
COUNTS: dict[str, tuple[dict[str, Any], Any, Any, Any, int, tuple[int, int | None]]] = {
    "up to the high water": (OFFSETS, [_place(["t", "0"], 30)], HIGH_WATER, HIGH_WATER, 0, (104, 9)),
    "as before": (OFFSETS, HIGH_WATER, HIGH_WATER, HIGH_WATER, 0, (100, 5)),
    "in between": (
        OFFSETS,
        [_place(["t", "0"], 30)],
        HIGH_WATER,
        [_place(["t", "0"], 40), HIGH_WATER[1]],
        0,
        (102, None),
    ),
    "a column up to the high water": (LANDED_AT, _at(500, "1:2:3"), NOW, NOW, 0, (104, 9)),
    "a column up to the high water, where a row waits": (LANDED_AT, _at(500, "1:2:3"), NOW, _at(600), 0, (104, 9)),
    "a column as before, where a row waits": (LANDED_AT, _at(500, "1:2:3"), NOW, _at(500), 0, (100, 5)),
    "what another lookback has counted does not count": (LANDED_AT, _at(500), NOW, NOW, 7, (7, 9)),
}


@pytest.mark.parametrize("name", COUNTS)
def test_what_the_watermark_passes_adds_to_what_is_below_it(shapes: Shapes, name: str) -> None:
    arrival, before, high_water, watermark, lookback, expected = COUNTS[name]
    run = {
        "kind": "since", "arrival": arrival, "high_water": high_water, "watermark_before": before,
        "checkpoint_before": {"watermark_rows": 100, "lookback": lookback},
        "look": {"rows": 4, "rows_below": 5, "rows_until": 9},
    }  # fmt: skip
    counted = {r"^select count(_if)?\(.*where not": [{"rows": 2}]}
    call = shapes.project.macros("dedup_feed__qlik", shapes.lake(Shape("dedup_feed__qlik", {}, counted)))
    found = call("count_watermark_rows", call("table_spec", "feed", "qlik") | {"lookback": 0}, run, watermark)
    assert (found["rows"], found["rows_below"]) == expected
    assert found["watermark"] == watermark


# what waits, by the settings of an entry, since which run -> whether a run that begins on the 31st at noon passes it
PASSED: dict[str, tuple[str, dict[str, Any], str | None, bool]] = {
    "nothing waits": ("qlik", {}, None, False),
    "for six days": ("qlik", {}, "20260125T120000000000_00000001", False),
    "for seven days": ("qlik", {}, "20260124T115959999999_00000001", True),
    "for less than it is set": ("qlik", {"waiting_days": 7.5}, "20260124T115959999999_00000001", False),
    "met by the run before": ("qlik", {"waiting_days": 0}, "20260131T110000000000_00000001", True),
    "for as long as a date can be": ("qlik", {"waiting_days": 10**12}, "20200101T110000000000_00000001", False),
    "a message without its schema": ("kafka_avro", {}, "20200101T110000000000_00000001", True),
    "one by an arrival of its own": ("kafka_avro", {"arrival": "landed"}, "20200101T110000000000_00000001", False),
    "one that is held": ("kafka", {}, "20200101T110000000000_00000001", False),
    "an open transaction": ("trail", {}, "20200101T110000000000_00000001", False),
    "an event of the future": ("events_ahead", {}, "20200101T110000000000_00000001", False),
    "a change row": ("openedge_arriving", {}, "20200101T110000000000_00000001", True),
}


@pytest.mark.parametrize("name", PASSED)
def test_a_row_is_passed_once_it_has_waited_for_its_days(shapes: Shapes, name: str) -> None:
    entry, settings, since, expected = PASSED[name]
    call = shapes.project.macros(f"dedup_feed__{entry}")
    spec = call("table_spec", "feed", entry) | settings
    assert call("may_pass_waiting", spec, {"quarantined": {"waiting_since": since}}) == expected
    assert not call("may_pass_waiting", spec, None)


# ---- the checkpoint of a log

BEFORE: dict[str, Any] = {
    "log": "0", "origin": "0", "batch": "1", "extends": "0", "reset_seq": "300", "highest_seq": "500", "loads": ["300"],
    "moves": False, "retracted_keys": [], "rebuild": "", "snapshot_seq": "300", "held_changes": 60,
    "has_reported": False, "load_times": {}, "commits": {}, "forgets": False,
}  # fmt: skip


def _without(shapes: Shapes, name: str, column: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Macros over a raw table, or a load, that has lost this column, and an entry that declares it as retired."""
    lake = shapes.lake(Shape(f"dedup_feed__{name}"))
    columns = {
        table: {name: type_ for name, type_ in landed.items() if name != column}
        for table, landed in lake.columns.items()
    }
    tables = [*lake.tables, f"lake.dedup_feed__{name}__quarantine"]
    call = shapes.project.macros(f"dedup_feed__{name}", replace(lake, columns=columns, tables=tables))
    return call, call("table_spec", "feed", name) | {"retired": [column]}


@pytest.mark.parametrize(("name", "column", "counts"), [("qlik", "amount", 1), ("qlik_plain", "name with spaces", 0)])
def test_a_schema_version_begins_where_raw_has_lost_a_column_that_masks_count(
    shapes: Shapes, name: str, column: str, counts: int
) -> None:
    before = shapes.first_checkpoint(f"dedup_feed__{name}") | {"schema_version": 2, "added": {"note": 1}}
    call, spec = _without(shapes, name, column)
    assert call("absent_columns", spec) == [column]
    assert call("columns_in_raw", spec) == [name for name in spec["column_names"] if name != column]
    known = before | {"schema_version": 4, "absent": {column: 4}}
    for checkpoint, version in ((None, 0), (before, 2 + counts), (known, 4)):
        found = call("spec_in_version", spec, checkpoint)
        assert (found["schema_version"], found["absent"]) == (version, {column: version})
        assert found["added"] == (checkpoint or {"added": {}})["added"]
        assert call("places_since", found) == version * counts
    # a change from before a rename that has the column's value is of its version, unless masks have other places since
    renamed = before | {"schema_version": 1, "added": {}, "absent": {column: 1}, "renamed": {"note": 1}}
    version = call("_version_of_logged", call("spec_in_version", spec, renamed))
    is_of_it = "if(logged._schema_version = 0 and logged.note is not null, 1, logged._schema_version)"
    assert version == ("" if counts else is_of_it)


@pytest.mark.parametrize(
    ("known", "quarantined", "is_read_again"),
    [
        ({}, {"rejected": 1, "waiting": 1}, True),
        ({}, {"rejected": 0, "waiting": 0}, False),
        ({}, {"rejected": 0, "waiting": 1}, True),
        ({}, {"rejected": 1, "waiting": 0}, True),
        ({"amount": 0}, {"rejected": 1, "waiting": 1}, False),
    ],
)
def test_raw_is_read_again_once_where_what_is_in_quarantine_has_a_column_that_it_has_lost(
    shapes: Shapes, known: dict[str, int], quarantined: dict[str, int], is_read_again: bool
) -> None:
    before = shapes.first_checkpoint("dedup_feed__qlik")
    checkpoint = before | {"quarantined": quarantined | {"waiting_since": None}, "absent": known}
    call, spec = _without(shapes, "qlik", "amount")
    bound = call("raw_bound", call("spec_in_version", spec, checkpoint), checkpoint)
    assert (bound["predicate"] is None) == is_read_again


def test_what_raw_has_lost_is_read_from_the_log(shapes: Shapes) -> None:
    before = shapes.first_checkpoint("dedup_feed__qlik_plain")
    call, spec = _without(shapes, "qlik_plain", "name with spaces")
    of_run = call("spec_in_version", spec, before)
    assert "completed_deliveries" not in call("reduction_steps", of_run, False)
    assert "completed_deliveries" not in call("reduction_steps", of_run | {"retired": []}, True)
    steps = _in_one_line(call("reduction_steps", of_run, True))
    assert "coalesce(`name with spaces`, _ct_logged_values['name with spaces']) as `name with spaces`" in steps
    assert "end as _present_columns, case" in steps
    assert "end as _changed_columns from gathered_deliveries" in steps
    whole = _in_one_line(call("reduction_steps", of_run | {"images": "full"}, True))
    assert "* except (`name with spaces`, _changed_columns, _ct_logged_values), coalesce(" in whole


def test_a_full_refresh_loses_the_retired_columns_that_raw_has_no_more_of_the_same_changes(shapes: Shapes) -> None:
    shape = Shape("dedup_feed__qlik")
    lake = shapes.lake(shape)
    state = "lake.dedup_feed__qlik__state"
    columns = {**lake.columns, state: {"amount": "decimal(12,2)", "it's": "string"}}
    answers: Answers = {"inner join .* as raw_changes": [{"1": False, "2": True}]}
    call = shapes.project.macros(shape.model, replace(lake, columns=columns, answers=answers))
    spec = call("table_spec", "feed", "qlik")
    relation = call("relation_of_node", call("find_source", "feed", "qlik"))
    table = relation.incorporate(path={"schema": "lake", "identifier": "dedup_feed__qlik__state"})
    retired = spec | {"retired": ["amount", "not held", "it's"]}
    assert call("_lost_values", retired, table) == ["the values of it's"]
    assert call("_lost_values", spec, table) == []


def test_a_load_can_lack_what_raw_has(shapes: Shapes) -> None:
    shape = Shape("dedup_feed__qlik")
    lake = shapes.lake(shape)
    load = {name: type_ for name, type_ in lake.columns["lake_raw.qlik_load"].items() if name != "amount"}
    call = shapes.project.macros(shape.model, replace(lake, columns={**lake.columns, "lake_raw.qlik_load": load}))
    spec = call("table_spec", "feed", "qlik")
    for retired, lost in (([], []), (["it's"], []), (["amount"], ["amount"])):
        assert call("columns_that_load_lacks", spec | {"retired": retired}, retired=True) == lost


@pytest.mark.parametrize(
    ("schema", "identifier", "relation_name", "rendered"),
    [
        ("raw", "orders", "raw.orders", "raw.orders"),
        ("raw", "my orders", "raw.`my orders`", "raw.`my orders`"),
        ("raw", "`my orders`", "raw.`my orders`", "raw.`my orders`"),
        ("my-raw", "orders", "`my-raw`.orders", "`my-raw`.orders"),
        ("`my-raw`", "orders", "`my-raw`.orders", "`my-raw`.orders"),
        ("my-raw", "my orders", "`my-raw`.`my orders`", "`my-raw`.`my orders`"),
    ],
)
def test_a_raw_table_has_the_quotes_that_dbt_or_the_user_gives_it(
    shapes: Shapes, schema: str, identifier: str, relation_name: str, rendered: str
) -> None:
    call = shapes.project.macros("stg_feed__qlik")
    node = SimpleNamespace(database=None, schema=schema, identifier=identifier, alias=None, relation_name=relation_name)
    assert call("relation_of_node", node).render() == rendered


@pytest.mark.parametrize(
    ("before", "may_repeat"),
    [({"east": "4"}, False), ({"east": "5"}, True), ({"west": "9"}, False), ({}, True)],
    ids=["later", "among those of the log", "of another group", "a log of before they were left out"],
)
def test_a_commit_may_repeat_one_of_the_log_unless_it_comes_after_all_of_these(
    shapes: Shapes, before: dict[str, str], may_repeat: bool
) -> None:
    commit = {"commit_group": "east", "lowest_commit": "5", "highest_commit": "7"}
    verdicts = json.dumps([{"status": "accepted", "quarantined_rows": 0, "changes": 1, "conflicts": 0} | commit])
    row = {"changes": 1, "revised": 0, "moves": 0, "retracted_keys": 0, "retracted": 0, "verdicts": verdicts}
    lake = shapes.lake(Shape("dedup_feed__trail"))
    call = shapes.project.macros("dedup_feed__trail", replace(lake, answers={"as changes": [row]}))
    run = {"kind": "everything", "checkpoint_before": {"commits": before}}
    assert call("summarize_batch", call("table_spec", "feed", "trail"), run, "a_batch")["may_repeat"] is may_repeat


@pytest.mark.parametrize("is_repeated", [False, True])
def test_a_run_judges_its_rows_by_the_log_only_where_that_has_one_of_their_transactions_from_an_earlier_place(
    shapes: Shapes, *, is_repeated: bool
) -> None:
    shape = SHAPES["goldengate_trail__log__since"]
    commit = {"commit_group": "", "lowest_commit": "5", "highest_commit": "7"}
    verdicts = json.dumps([{"quarantined_rows": 0, "changes": 1, "conflicts": 0} | commit])
    summary = {**ANSWERS["as changes,"][0], "verdicts": verdicts}
    repeated = [{"1": 1}] * is_repeated
    answers = {**shape.answers, "as changes,": [summary], "as transactions inner join": repeated}
    sent = shapes.run(replace(shape, answers=answers)).sent
    staged = [sql for sql in sent if sql.startswith("create table") and "\nwith landed as (" in sql]
    assert ["_ct_first_logged <" in sql for sql in staged] == [False, True][: 1 + is_repeated]

    call = shapes.project.macros("dedup_feed__trail")
    commits = call("goldengate_trail_commits", call("table_spec", "feed", "trail"))
    group, name = f"{commits['group']} as _ct_group", "_csn as _ct_name_1, _transaction_id as _ct_name_2"
    (question,) = [sql for sql in sent if "as transactions inner join" in sql]
    batch = staged[0].split()[2]
    assert f"(select {group}, {name}, min(_change_seq) as _ct_first_seq from {batch} where _ct_is_change" in question
    log = "lake.dedup_feed__trail__state"
    assert f"(select {group}, {name}, _change_seq from {log} where _checkpoint is null) as logged" in question
    same = [f"transactions.{column} = logged.{column}" for column in ("_ct_group", "_ct_name_1", "_ct_name_2")]
    assert f"on {' and '.join(same)} and logged._change_seq < transactions._ct_first_seq limit 1" in question


FOUND: dict[str, Any] = {
    "changes": 0, "revised": 0, "retracted": 0, "lowest_seq": None, "highest_seq": None, "truncate_seq": "",
    "moves": False, "retracted_keys": [], "quarantined": {"rejected": 1, "waiting": 2}, "commits": {},
    "facts": {"reports": {}},
}  # fmt: skip
REPORTING = FOUND | {"changes": 1, "facts": {"reports": {"conflicting_content": 1}}}
NO_LOAD = {"snapshot": None}
LOAD = {"snapshot": "qlik_load", "snapshot_seq": "300"}

BATCH = "20260131T120000000000_00000000"
"""The run of a test."""

# the checkpoint before, what was found, what the spec says -> what the checkpoint says
CHECKPOINTS: dict[str, tuple[dict[str, Any] | None, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "an empty first build": (
        None, FOUND, NO_LOAD,
        {
            "storage_version": 6, "log": BATCH, "origin": BATCH, "batch": BATCH, "extends": None, "reset_seq": "",
            "highest_seq": "",
            "loads": [], "load_times": {}, "commits": {}, "snapshot_seq": None, "rebuild": "",
            "first_names": ["order", "it's"], "forgets": False,
        },
    ),
    "a first build with a load": (None, FOUND, LOAD, {"reset_seq": "300", "loads": ["300"], "snapshot_seq": "300"}),
    "a load that comes before every change": (
        None, FOUND, LOAD | {"snapshot_seq": ""}, {"reset_seq": "", "loads": [], "snapshot_seq": ""},
    ),
    "nothing found": (BEFORE, FOUND, LOAD, BEFORE),
    "a log that was rebuilt": (BEFORE | {"log": "1", "origin": "0"}, FOUND, LOAD, {"log": "1", "origin": "0"}),
    "changes": (
        BEFORE, FOUND | {"changes": 1, "lowest_seq": "501", "highest_seq": "600"}, LOAD,
        BEFORE | {"batch": BATCH, "extends": "1", "highest_seq": "600", "held_changes": 61},
    ),
    "late changes, of which the log holds one": (
        BEFORE, FOUND | {"changes": 3, "revised": 1, "lowest_seq": "400", "highest_seq": "400"}, LOAD,
        BEFORE | {"batch": BATCH, "extends": None, "held_changes": 62},
    ),
    "changes at the sequence that the log reaches": (
        BEFORE, FOUND | {"changes": 2, "lowest_seq": "500", "highest_seq": "600"}, LOAD,
        BEFORE | {"batch": BATCH, "extends": None, "highest_seq": "600", "held_changes": 62},
    ),
    "changes after all that the log has, but before its last reset": (
        BEFORE | {"reset_seq": "700"}, FOUND | {"changes": 1, "lowest_seq": "600", "highest_seq": "600"}, LOAD,
        {"extends": None, "highest_seq": "600", "reset_seq": "700"},
    ),
    "a truncate": (
        BEFORE, FOUND | {"changes": 1, "highest_seq": "600", "truncate_seq": "600"}, LOAD,
        {"reset_seq": "600", "loads": ["300"]},
    ),
    "a late truncate": (BEFORE, FOUND | {"changes": 1, "truncate_seq": "200"}, LOAD, {"reset_seq": "300"}),
    "a load at a higher sequence, without a row": (
        BEFORE, FOUND, LOAD | {"snapshot_seq": "700"},
        {"batch": BATCH, "reset_seq": "700", "loads": ["300", "700"], "snapshot_seq": "700"},
    ),
    "commits and times of loads, and keys that were forgotten": (
        BEFORE | {"commits": {"a": "5", "b": "5"}, "load_times": {"300": "2026-01-30 12:00:00"}, "forgets": True},
        FOUND | {"changes": 1, "commits": {"a": "4", "b": "6", "c": "1"}},
        LOAD | {"snapshot_seq": "700", "snapshot_time": "2026-01-31 12:00:00"},
        {
            "commits": {"a": "5", "b": "6", "c": "1"}, "forgets": True,
            "load_times": {"300": "2026-01-30 12:00:00", "700": "2026-01-31 12:00:00"},
        },
    ),
    "no load any more": (BEFORE, FOUND, NO_LOAD, BEFORE),
    "moves": (BEFORE, FOUND | {"changes": 1, "moves": True}, LOAD, {"moves": True}),
    "no moves after moves": (BEFORE | {"moves": True}, FOUND | {"changes": 1}, LOAD, {"moves": True}),
    "a change retracted": (
        BEFORE, FOUND | {"changes": 1, "revised": 1, "retracted": 1, "retracted_keys": [7, 8]}, LOAD,
        {"batch": BATCH, "rebuild": "", "retracted_keys": [[BATCH, [7, 8]]], "held_changes": 59},
    ),
    "more keys of which something is retracted than a checkpoint has room for, or all": (
        BEFORE | {"retracted_keys": [["1", [5]]]}, FOUND | {"changes": 1, "retracted_keys": None}, LOAD,
        {"rebuild": BATCH, "retracted_keys": []},
    ),
    "no room for what was retracted before": (
        BEFORE | {"retracted_keys": [["0", [5]], ["1", [6, 7]]]},
        FOUND | {"changes": 1, "retracted_keys": list(range(98))}, LOAD,
        {"rebuild": "0", "retracted_keys": [["1", [6, 7]], [BATCH, list(range(98))]]},
    ),
    "nothing is retracted after something was": (
        BEFORE | {"rebuild": "1", "retracted_keys": [["1", [5]]]}, FOUND | {"changes": 1}, LOAD,
        {"rebuild": "1", "retracted_keys": [["1", [5]]]},
    ),
    "no reported change in a first build": (None, FOUND, LOAD, {"has_reported": False}),
    "keys retracted while the key had a narrower type, by whose hashes nothing finds them": (
        BEFORE | {"retracted_keys": [["0", [5]], ["1", [6, 7]]], "columns": {"order": "int"}},
        FOUND | {"changes": 1, "retracted_keys": [8]}, LOAD,
        {"rebuild": "1", "retracted_keys": [[BATCH, [8]]]},
    ),
    "keys retracted while another column had a narrower type": (
        BEFORE | {"retracted_keys": [["1", [5]]], "columns": {"order": "bigint", "amount": "decimal(9,2)"}},
        FOUND | {"changes": 1}, LOAD,
        {"rebuild": "", "retracted_keys": [["1", [5]]]},
    ),
    "a reported change": (BEFORE | {"has_reported": False}, REPORTING, LOAD, {"has_reported": True}),
    "none after one": (BEFORE | {"has_reported": True}, FOUND, LOAD, {"has_reported": True}),
    "none yet": (BEFORE | {"has_reported": False}, FOUND, LOAD, {"has_reported": False}),
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint_keeps_what_downstream_states_need(shapes: Shapes, name: str) -> None:
    before, found, given, expected = CHECKPOINTS[name]
    call = shapes.project.macros("dedup_feed__qlik")
    versions = {"schema_version": 1, "added": {"day": 1}, "absent": {"hour": 1}, "renamed_in": {"night": 1}}
    spec = call("table_spec", "feed", "qlik") | given | versions
    run = {"checkpoint_before": before, "arrival": LANDED_AT}
    checkpoint = call("log_checkpoint", spec, run, found, {"watermark": NOW})
    assert {key: checkpoint.get(key) for key in expected} == expected
    assert (checkpoint["arrival"], checkpoint["watermark"]) == ("timestamp:landed at", NOW)
    assert checkpoint["quarantined"] == found["quarantined"]
    assert (checkpoint["key"], checkpoint["schema_version"], checkpoint["added"]) == (spec["key"], 1, {"day": 1})
    assert (checkpoint["absent"], checkpoint["renamed"]) == ({"hour": 1}, {"night": 1})


# ---- what a batch that was not compared with the log is written by


@pytest.mark.parametrize(("changes", "older_checkpoints"), [(3, 30), (0, 0)])
def test_a_merge_of_what_was_not_compared_asks_for_no_column_of_the_comparison(
    shapes: Shapes, changes: int, older_checkpoints: int
) -> None:
    log = "dedup_feed__openedge_arriving"
    found = SHAPES["qlik_change_tables__log__since_quarantines"].answers
    answers = {**found, "as changes,": [{**found["as changes,"][0], "changes": changes}]}
    run = shapes.run(Shape(log, {log: {}}, answers, older_checkpoints=older_checkpoints))
    (merge,) = [sql for sql in run.sent if sql.startswith(f"merge into lake.{log}__state")]
    assert "__batch_" in merge
    assert "_ct_retracts_logged" not in merge
