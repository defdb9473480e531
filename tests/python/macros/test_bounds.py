"""How far a raw table has settled, which raw rows a run of a log then reads, and what its mark keeps."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .rendering import Answers, Rows
from .shapes import ANSWERS, Shape, Shapes

OFFSETS: dict[str, Any] = {"kind": "positions", "group": ["topic", "partition"], "columns": ["offset"]}
TRAIL: dict[str, Any] = {"kind": "positions", "group": ["trail_name"], "columns": ["trail_seqno", "trail_rba"]}
LANDED_AT: dict[str, Any] = {"name": "landed at", "kind": "timestamp", "type": "timestamp"}


def _place(group: list[str | None], *position: int, is_whole: bool = True) -> dict[str, Any]:
    return {"group": group, "position": list(position), "is_whole": is_whole}


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
    ("kind", "type_", "text", "lookback", "expected"),
    [
        ("whole_number", "int", "7", 0, "7"),
        ("whole_number", "int", "7", 10, "-3"),
        ("decimal", "decimal(5,2)", "1.50", 0, "cast('1.50' as decimal(5, 2))"),
        (
            "decimal",
            "decimal(5,2)",
            "1.50",
            2,
            "coalesce(try_subtract(cast('1.50' as decimal(5, 2)), 2), cast('-999.99' as decimal(5, 2)))",
        ),
        ("date", "date", "20", 0, "date_from_unix_date(20)"),
        ("date", "date", "20", 1, "date_from_unix_date(19)"),
        ("date", "date", "20", 0.5, "date_from_unix_date(19)"),
        ("date", "date", "-2147483648", 1, "date_from_unix_date(-2147483648)"),
        ("timestamp", "timestamp", "86400000001", 0, "timestamp_micros(86400000001)"),
        ("timestamp", "timestamp", "86400000001", 1, "timestamp_micros(1)"),
        ("timestamp", "timestamp", "86400000001", 0.5, "timestamp_micros(43200000001)"),
        ("timestamp", "timestamp", "-9223372036854775807", 1, "timestamp_micros(-9223372036854775808)"),
        ("timestamp_ntz", "timestamp_ntz", "5", 0, "timestampadd(microsecond, 5, timestamp_ntz '1970-01-01')"),
        ("text", "string", "it's", 0, r"'it\'s'"),
    ],
)
def test_a_bound_is_so_much_below_an_arrival_and_never_below_what_its_type_holds(
    shapes: Shapes, kind: str, type_: str, text: str, lookback: float, expected: str
) -> None:
    arrival = {"name": "a", "kind": kind, "type": type_}
    assert shapes.project.macros("dedup_feed__qlik")("_arrival_below", arrival, text, lookback) == expected


def _in_one_line(sql: str) -> str:
    return " ".join(sql.split())


@pytest.mark.parametrize(
    ("arrival", "settled", "lookback", "expected"),
    [
        (OFFSETS, [], 0, "true"),
        (
            OFFSETS,
            [_place(["t", "0"], 41)],
            0,
            "( (`offset` is null) or (topic <=> 't' and `partition` <=> '0' and `offset` > 41)"
            " or not ( (topic <=> 't' and `partition` <=> '0') ) )",
        ),
        (
            OFFSETS,
            [_place(["t", "0"], 41, is_whole=False), _place([None, "1"], 7)],
            0,
            "( (`offset` is null) or (topic <=> 't' and `partition` <=> '0' and `offset` > 40)"
            " or (topic <=> null and `partition` <=> '1' and `offset` > 7)"
            " or not ( (topic <=> 't' and `partition` <=> '0') or (topic <=> null and `partition` <=> '1') ) )",
        ),
        (
            OFFSETS,
            [_place(["t", "0"], 41)],
            5,
            "( (`offset` is null) or (topic <=> 't' and `partition` <=> '0' and `offset` > 35)"
            " or not ( (topic <=> 't' and `partition` <=> '0') ) )",
        ),
        (
            TRAIL,
            [_place(["it's"], 3, 4100)],
            0,
            "( (trail_seqno is null or trail_rba is null)"
            r" or (trail_name <=> 'it\'s' and (trail_seqno > 3 or (trail_seqno = 3 and trail_rba > 4100)))"
            r" or not ( (trail_name <=> 'it\'s') ) )",
        ),
        (
            TRAIL,
            [_place(["aa"], 3, 4100, is_whole=False)],
            0,
            "( (trail_seqno is null or trail_rba is null)"
            " or (trail_name <=> 'aa' and (trail_seqno > 3 or (trail_seqno = 3 and trail_rba > 4099)))"
            " or not ( (trail_name <=> 'aa') ) )",
        ),
    ],
)
def test_rows_after_their_position_and_of_groups_that_are_not_known_are_read(
    shapes: Shapes, arrival: dict[str, Any], settled: list[dict[str, Any]], lookback: int, expected: str
) -> None:
    predicate = shapes.project.macros("dedup_feed__kafka")("positions_since", arrival, settled, lookback)
    assert _in_one_line(predicate) == expected


def test_many_groups_are_a_list(shapes: Shapes) -> None:
    macro = shapes.project.macros("dedup_feed__kafka")
    settled = [_place([f"t{number}", "0"], number) for number in range(31)]
    assert macro("positions_since", OFFSETS, settled[:30], 0).count("`offset` >") == 30
    listed = ", ".join(f"('t{number}', '0', {number})" for number in range(31))
    assert _in_one_line(macro("positions_since", OFFSETS, settled, 0)) == (
        f"((`offset` is null) or not exists ( select 1 from values {listed}"
        " as spans (_ct_group_1, _ct_group_2, _ct_after_1) where topic <=> _ct_group_1 and `partition` <=> _ct_group_2"
        " and (_ct_after_1 is null or `offset` <= _ct_after_1) ))"
    )


# settled, edge, lookback -> the condition on the rows that a run reads
SPANS: dict[str, tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]], int, str]] = {
    "nothing has landed": (OFFSETS, [], [], 0, "( (`offset` is null) )"),
    "all": (
        OFFSETS, [], [_place(["t", "0"], 41), _place(["t", "1"], 7)], 0,
        "( (`offset` is null) or (topic <=> 't' and `partition` <=> '0' and `offset` <= 41)"
        " or (topic <=> 't' and `partition` <=> '1' and `offset` <= 7) )",
    ),
    "one of two groups, and a new one": (
        OFFSETS, [_place(["t", "0"], 41), _place(["t", "1"], 7)],
        [_place(["t", "0"], 45), _place(["t", "1"], 7), _place(["u", "0"], 1)], 0,
        "( (`offset` is null) or (topic <=> 't' and `partition` <=> '0' and `offset` > 41 and `offset` <= 45)"
        " or (topic <=> 'u' and `partition` <=> '0' and `offset` <= 1) )",
    ),
    "a row that waits": (
        OFFSETS, [_place(["t", "0"], 41, is_whole=False)], [_place(["t", "0"], 41)], 0,
        "( (`offset` is null) or (topic <=> 't' and `partition` <=> '0' and `offset` > 40 and `offset` <= 41) )",
    ),
    "a lookback": (
        OFFSETS, [_place(["t", "0"], 41)], [_place(["t", "0"], 41)], 5,
        "( (`offset` is null) or (topic <=> 't' and `partition` <=> '0' and `offset` > 35 and `offset` <= 41) )",
    ),
    "a trail": (
        TRAIL, [_place(["aa"], 3, 4100)], [_place(["aa"], 4, 100)], 0,
        "( (trail_seqno is null or trail_rba is null) or (trail_name <=> 'aa'"
        " and (trail_seqno > 3 or (trail_seqno = 3 and trail_rba > 4100))"
        " and (trail_seqno < 4 or (trail_seqno = 4 and trail_rba <= 100))) )",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SPANS)
def test_a_run_reads_the_groups_in_which_rows_have_landed_and_no_further(shapes: Shapes, case: str) -> None:
    arrival, settled, edge, lookback, expected = SPANS[case]
    macro = shapes.project.macros("dedup_feed__kafka")
    spans = macro("spans_of_run", settled, edge, lookback)
    assert _in_one_line(macro("positions_in", arrival, spans)) == expected


# ---- the bound of a run

# the log's mark against that of a first run, what has landed, what the spec says -> the bound
BOUNDS: dict[str, tuple[str, dict[str, Any] | None, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "a first run": (
        "qlik", None, {}, {}, {"predicate": None, "snapshot": True, "is_late": False, "settled_before": None},
    ),
    "rows that arrived since": (
        "qlik", {}, {"lowest_seq": "2", "lowest_seq_above": "2"}, {},
        {
            "predicate": "(`landed at` >= timestamp_micros(600) or `landed at` is null)",
            "snapshot": False, "skips_settled": False,
        },
    ),
    "rows at the edge that were read, all of them": (
        "qlik", {"edge": "1:2:3"}, {"lowest_seq": "2", "lowest_seq_above": "2"}, {},
        {"predicate": "(`landed at` > timestamp_micros(600) or `landed at` is null)", "skips_settled": True},
    ),
    "more rows at the edge": ("qlik", {"edge": "9:9:9"}, {}, {}, {"skips_settled": False}),
    "sequences that the log does not reach": (
        "qlik", {"highest_seq": "5"}, {"lowest_seq": "6", "lowest_seq_above": "6"}, {},
        {"is_late": False, "lowest_seq": "6"},
    ),
    "the highest sequence of the log": (
        "qlik", {"highest_seq": "5"}, {"lowest_seq": "5", "lowest_seq_above": "6"}, {},
        {"is_late": True, "lowest_seq": "5"},
    ),
    "the same, in rows that are passed over": (
        "qlik", {"highest_seq": "5", "edge": "1:2:3"}, {"lowest_seq": "5", "lowest_seq_above": "6"}, {},
        {"is_late": False, "lowest_seq": "6"},
    ),
    "rows without a sequence": (
        "qlik", {"highest_seq": "5"}, {"lowest_seq": None, "lowest_seq_above": None}, {},
        {"is_late": False, "lowest_seq": None},
    ),
    "another arrival than before": (
        "qlik", {"arrival": "whole_number:batch"}, {}, {}, {"predicate": None, "settled_before": None, "is_late": True},
    ),
    "no arrival": (
        "qlik", {}, {}, {"arrival": "none"}, {"predicate": None, "arrival": None, "edge": None, "is_late": True},
    ),
    "a lookback": (
        "qlik", {}, {}, {"lookback": 1},
        {
            "predicate": "(`landed at` >= timestamp_micros(-86399999400) or `landed at` is null)",
            "edge": None, "skips_settled": False, "is_late": True,
        },
    ),
    "a load that is newer": ("qlik", {}, {}, {"snapshot_seq": "7"}, {"snapshot": True}),
    "a load where none was": ("qlik", {"snapshot_seq": None}, {}, {}, {"snapshot": True}),
    "the load that is known": ("qlik", {"snapshot_seq": "7"}, {}, {"snapshot_seq": "7"}, {"snapshot": False}),
    "no load any more": ("qlik", {"snapshot_seq": "7"}, {}, {"snapshot": None}, {"snapshot": False}),
}  # fmt: skip


def _bound(
    shapes: Shapes, entry: str, mark: dict[str, Any] | None, answers: Answers, spec: dict[str, Any], **given: Any
) -> dict[str, Any]:
    log = f"dedup_feed__{entry}"
    first = shapes.first_mark(log)
    lake = shapes.lake(Shape(log, {}, answers))
    call = shapes.project.macros(log, lake, **given)
    bound: dict[str, Any] = call(
        "raw_bound", call("table_spec", "feed", entry) | spec, None if mark is None else first | mark
    )
    return bound


def _landed(**landed: Any) -> Answers:
    return {"as edge_rows": [{**ANSWERS["as edge_rows"][0], **landed}]}


@pytest.mark.parametrize("name", BOUNDS)
def test_a_run_reads_from_where_the_runs_before_have_settled(shapes: Shapes, name: str) -> None:
    entry, mark, landed, spec, expected = BOUNDS[name]
    bound = _bound(shapes, entry, mark, _landed(**landed), spec)
    assert {key: bound[key] for key in expected} == expected


def test_a_text_arrival_with_numbers_of_different_lengths_stops_the_run(shapes: Shapes) -> None:
    refused = (
        r"`arrival` must sort as rows land; 'batch' is text and has numbers of different lengths, '9' and '10': let"
    )
    call = shapes.project.macros(
        "dedup_feed__qlik", shapes.lake(Shape("dedup_feed__qlik", {}, _landed(of_other_length="10")))
    )
    arrival = {"name": "batch", "kind": "text", "type": "string"}
    spec = call("table_spec", "feed", "qlik") | {"arrival": "batch"}
    with pytest.raises(CompilationError, match=refused):
        call("_landed_edge", spec, arrival, "9")
    assert call("_landed_edge", spec, arrival, "part 9")["edge"] == {"arrival": "600", "rows": "2:3:4"}


def test_a_rescan_reads_every_row_and_keeps_what_had_settled(shapes: Shapes) -> None:
    bound = _bound(shapes, "qlik", {}, {}, {}, variables={"change_tables_rescan": True})
    assert (bound["predicate"], bound["snapshot"], bound["settled_before"]) == (None, True, "600")


@pytest.mark.parametrize("entry", ["qlik", "kafka"])
def test_the_run_after_the_declared_columns_have_changed_reads_every_row(shapes: Shapes, entry: str) -> None:
    columns = shapes.first_mark(f"dedup_feed__{entry}")["columns"]
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


def test_a_load_that_falls_back_stops_the_run(shapes: Shapes) -> None:
    with pytest.raises(CompilationError, match="`snapshot_seq` must not fall below the one that"):
        _bound(shapes, "qlik", {"snapshot_seq": "7"}, {}, {"snapshot_seq": "6"})


def test_positions_of_groups_that_have_nothing_new_stay_as_they_were(shapes: Shapes) -> None:
    settled = [_place(["orders", "0"], 30), _place(["orders", "2"], 5, is_whole=False)]
    bound = _bound(shapes, "kafka", {"settled": settled}, {}, {})
    assert bound["edge"] == [_place(["orders", "0"], 41), _place(["orders", "1"], 7), settled[1]]
    assert "`offset` > 30" in bound["predicate"]
    assert "'2'" not in bound["predicate"]
    assert "`offset` <= 41" in bound["predicate"]
    assert bound["until"] is None


def test_an_entry_of_one_topic_looks_at_no_other(shapes: Shapes) -> None:
    settled = [_place(["orders", "0"], 30)]
    of_topic = {"arrival": "positions:offset:topic = 'orders'", "settled": settled}
    asked = r"from \S+ where topic = 'orders' and \(.*_ct_copies|as _ct_copies from .* where topic = 'orders' and "
    looked: Answers = {
        asked: [
            {"topic": "orders", "partition": "0", "offset": "41", "_ct_copies": 1, "_ct_unplaced": 0, "_ct_number": 11}
        ]
    }
    spec = {"topic": "orders", "hold_open_transactions": False}
    bound = _bound(shapes, "kafka", of_topic, looked, spec)
    assert (bound["edge"], bound["landed_rows"]) == ([_place(["orders", "0"], 41)], 11)
    # how far another topic had settled says nothing of this one
    assert _bound(shapes, "kafka", of_topic, {}, spec | {"topic": "others"})["settled_before"] is None


# ---- what has settled, after a run

NOW: dict[str, Any] = {"arrival": "9", "rows": "2:3:4"}


def _run(edge: Any = NOW, before: str | None = "5", skips_settled: bool = False) -> dict[str, Any]:
    return {"edge": edge, "settled_before": before, "skips_settled": skips_settled, "mark_before": {"edge": "1:2:3"}}


@pytest.mark.parametrize(
    ("run", "settled", "waiting", "expected"),
    [
        # no row has an arrival
        (_run(before=None), None, [], (None, None)),
        (_run(), None, [], ("5", "1:2:3")),
        # up to the edge, of which all rows were read
        (_run(), "9", [], ("9", "2:3:4")),
        # a row waits at the edge, or below
        (_run(), "9", [["9"]], ("9", None)),
        (_run(), "7", [["7"]], ("7", None)),
        # more has landed after the edge, or no edge was looked for
        (_run(), "10", [], ("10", None)),
        (_run(edge=None), "9", [], ("9", None)),
        # rows at the settled arrival were skipped, and more of them can have landed with the next
        (_run(edge=NOW | {"arrival": "5"}, skips_settled=True), "9", [], ("5", None)),
        (_run(edge=NOW | {"arrival": "5"}, skips_settled=True), "5", [], ("5", "2:3:4")),
        (_run(skips_settled=True), "9", [], ("9", "2:3:4")),
    ],
)
def test_an_arrival_has_settled_up_to_the_first_row_that_waits(
    shapes: Shapes, run: dict[str, Any], settled: str | None, waiting: Rows, expected: tuple[Any, Any]
) -> None:
    found = shapes.project.macros("dedup_feed__qlik")("_settled_at", run, LANDED_AT, settled, waiting)
    assert (found["arrival"], found["edge"]) == expected


EDGE = [_place(["t", "0"], 41), _place(["t", "1"], 7)]


@pytest.mark.parametrize(
    ("edge", "before", "waiting", "expected"),
    [
        (None, None, [], []),
        (EDGE, None, [], EDGE),
        (EDGE, None, [["t", "1", "6"]], [EDGE[0], _place(["t", "1"], 6, is_whole=False)]),
        # of a group that has not landed before this run looked, nothing has settled
        (EDGE, None, [["t", "9", "6"]], EDGE),
        # a row that lookback reads again holds nothing back, nor one at the settled position itself
        (EDGE, [_place(["t", "0"], 30)], [["t", "0", "30"]], [_place(["t", "0"], 30), EDGE[1]]),
        (EDGE, [_place(["t", "0"], 30)], [["t", "0", "12"]], [_place(["t", "0"], 30), EDGE[1]]),
        (
            EDGE,
            [_place(["t", "0"], 30, is_whole=False)],
            [["t", "0", "30"]],
            [_place(["t", "0"], 30, is_whole=False), EDGE[1]],
        ),
    ],
)
def test_positions_have_settled_up_to_what_had_landed_or_the_first_row_that_waits(
    shapes: Shapes, edge: Any, before: Any, waiting: Any, expected: list[dict[str, Any]]
) -> None:
    run = {"edge": edge, "settled_before": before, "skips_settled": False}
    found = shapes.project.macros("dedup_feed__kafka")("_settled_at", run, OFFSETS, None, waiting)
    assert found == {"arrival": expected, "edge": None}


@pytest.mark.parametrize(
    ("settled_before", "expected"),
    [
        ([_place(["t", "0"], 30), EDGE[1]], 104),
        # what rows had settled by another arrival are read again, and count by this one
        (None, 4),
    ],
)
def test_positions_that_settle_add_to_those_of_the_same_arrival(
    shapes: Shapes, settled_before: Any, expected: int
) -> None:
    run = {
        "run": "since", "arrival": OFFSETS, "edge": EDGE, "landed_rows": 4, "settled_before": settled_before,
        "mark_before": {"settled_rows": 100, "lookback": 0},
    }  # fmt: skip
    found = shapes.project.macros("dedup_feed__kafka")(
        "with_settled_rows", {"lookback": 0}, run, {"arrival": EDGE, "edge": None}
    )
    assert found["rows"] == expected


# ---- the mark of a log

BEFORE: dict[str, Any] = {
    "log": "0", "batch": "1", "extends": "0", "floor": "300", "highest_seq": "500", "loads": ["300"], "moves": False,
    "rebuild": "", "snapshot_seq": "300", "changes": 70, "held_changes": 60, "marks_rows": True,
}  # fmt: skip
FOUND = {
    "changes": 0, "known": 0, "withdrawn": 0, "lowest_seq": None, "highest_seq": None, "truncate_seq": "",
    "moves": False, "overruled": False, "kept": {"rejected": 1, "waiting": 2}, "commits": {},
}  # fmt: skip
NO_LOAD = {"snapshot": None}
LOAD = {"snapshot": "qlik_load", "snapshot_seq": "300"}

# the mark before, what was found, what the spec says -> what the mark says
MARKS: dict[str, tuple[dict[str, Any] | None, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "an empty first build": (
        None, FOUND, NO_LOAD,
        {
            "layout": 4, "log": "2", "batch": "2", "extends": None, "floor": "", "highest_seq": "", "loads": [],
            "snapshot_seq": None, "rebuild": "",
        },
    ),
    "a first build with a load": (None, FOUND, LOAD, {"floor": "300", "loads": ["300"], "snapshot_seq": "300"}),
    "a load that comes before every change": (
        None, FOUND, LOAD | {"snapshot_seq": ""}, {"floor": "", "loads": [], "snapshot_seq": ""},
    ),
    "nothing found": (BEFORE, FOUND, LOAD, BEFORE),
    "changes": (
        BEFORE, FOUND | {"changes": 1, "lowest_seq": "501", "highest_seq": "600"}, LOAD,
        BEFORE | {"batch": "2", "extends": "1", "highest_seq": "600", "changes": 71, "held_changes": 61},
    ),
    "late changes, of which the log holds one": (
        BEFORE, FOUND | {"changes": 3, "known": 1, "lowest_seq": "400", "highest_seq": "400"}, LOAD,
        BEFORE | {"batch": "2", "extends": None, "changes": 73, "held_changes": 62},
    ),
    "changes at the sequence that the log reaches": (
        BEFORE, FOUND | {"changes": 2, "lowest_seq": "500", "highest_seq": "600"}, LOAD,
        BEFORE | {"batch": "2", "extends": None, "highest_seq": "600", "changes": 72, "held_changes": 62},
    ),
    "changes after all that the log has, but before its floor": (
        BEFORE | {"floor": "700"}, FOUND | {"changes": 1, "lowest_seq": "600", "highest_seq": "600"}, LOAD,
        {"extends": None, "highest_seq": "600", "floor": "700"},
    ),
    "a truncate": (
        BEFORE, FOUND | {"changes": 1, "highest_seq": "600", "truncate_seq": "600"}, LOAD,
        {"floor": "600", "loads": ["300"]},
    ),
    "a late truncate": (BEFORE, FOUND | {"changes": 1, "truncate_seq": "200"}, LOAD, {"floor": "300"}),
    "a load at a higher sequence, without a row": (
        BEFORE, FOUND, LOAD | {"snapshot_seq": "700"},
        {"batch": "2", "floor": "700", "loads": ["300", "700"], "snapshot_seq": "700"},
    ),
    "no load any more": (BEFORE, FOUND, NO_LOAD, BEFORE),
    "moves": (BEFORE, FOUND | {"changes": 1, "moves": True}, LOAD, {"moves": True}),
    "no moves after moves": (BEFORE | {"moves": True}, FOUND | {"changes": 1}, LOAD, {"moves": True}),
    "a change withdrawn": (
        BEFORE, FOUND | {"changes": 1, "known": 1, "withdrawn": 1, "overruled": True}, LOAD,
        {"batch": "2", "rebuild": "2", "changes": 71, "held_changes": 59},
    ),
    "none withdrawn after one was": (BEFORE | {"rebuild": "1"}, FOUND | {"changes": 1}, LOAD, {"rebuild": "1"}),
}  # fmt: skip


@pytest.mark.parametrize("name", MARKS)
def test_a_mark_keeps_what_downstream_states_need(shapes: Shapes, name: str) -> None:
    before, found, given, expected = MARKS[name]
    call = shapes.project.macros("dedup_feed__qlik")
    spec = call("table_spec", "feed", "qlik") | given | {"form": 1, "added": {"day": 1}}
    run = {"mark_before": before, "arrival": LANDED_AT}
    mark = call("log_mark", spec, run, "2", found, {"arrival": "9", "edge": "2:3:4"})
    assert {key: mark[key] for key in expected} == expected
    assert (mark["arrival"], mark["settled"], mark["edge"]) == ("timestamp:landed at", "9", "2:3:4")
    assert mark["kept"] == found["kept"]
    assert (mark["key"], mark["form"], mark["added"]) == (spec["key"], 1, {"day": 1})
