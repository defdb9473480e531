"""Descriptions of feeds that are wrong: a line for each fault before any model, and raw tables that do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from dbt.adapters.factory import reset_adapters
from dbt_common.exceptions import CompilationError

from tests.pipelines.consumer import REPOSITORY, Consumer, Entry

from .rendering import Lake, Project

COLUMNS = {"id": "bigint", "name": "string", "at": "timestamp"}
RIGHT = {
    "format": "mapped",
    "key": ["id"],
    "operation": "op",
    "operations": {"I": "insert", "U": "update"},
    "sequence": [{"sql": "scn"}],
}
(OF_THE_PAGE,) = re.findall(
    r"```yaml\n(message: .*?)```", (REPOSITORY / "docs" / "feeds" / "mapped.md").read_text(), re.DOTALL
)
IN_TEN_WAYS = {
    "format": "mapped",
    "key": ["id"],
    "images": "partial",
    "message": {"column": "value"},
    "operation": " ",
    "operations": {"I": "insert", "U": "replace", 1: "delete"},
    "sequence": [
        {"sql": "source.ts_ms"},
        {"sql": "scn", "kind": "integer"},
        {"sql": "name", "kind": "text"},
        {"kind": "number"},
        {"sql": "lsn", "length": 0},
    ],
    "row_before": "",
    "position": ["offset"],
    "hold_open_transactions": True,
}
LINES = [
    "`operations`: U must mean one of insert, update, upsert, delete, truncate, snapshot, ignore, got 'replace'",
    "`operations`: words must be texts (in quotes), got 1",
    "`message` must be {column, type}: the raw column, and the fields that are read as a Spark schema, got "
    "{'column': 'value'}",
    "`sequence` must not be a time, got 'source.ts_ms': ts_ms and its like are times. Two changes of one row can have"
    " one time, and clocks are set back: take the position in the source's log",
    "`sequence`: `kind` must be one of number, text, hexadecimal, file_position, got 'integer'",
    "`sequence`: a text that others follow needs a `length`, since a shorter one would sort otherwise, got 'name'",
    "`sequence`: each part must be SQL, or {sql, kind, length}, got {'kind': 'number'}",
    "`sequence`: `length` must be a number of characters, got 0",
    "`images: partial` needs `not_captured`, which says how a row shows that it lacks a column: a null alone does not,"
    " since it is a value, too",
    "`operation` must not be empty",
    "`row_before` must not be empty; leave it out where there is none",
    "`position` must name the columns of a group and then the number, as [topic, partition, offset], got ['offset'];"
    " for one column take `arrival`",
    "`hold_open_transactions` must be false: rows do not say where a transaction ends, got true",
]
MISTAKES: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "no_operations": (RIGHT | {"operations": {}}, "`operations` must say what each word means"),
    "no_sequence": (
        RIGHT | {"sequence": []},
        "`sequence` must be a list of parts, as [{sql: scn, kind: number}], got []",
    ),
    "no_schema": (
        RIGHT | {"message": {"column": "value", "type": "op"}},
        "`message`: `type` must be a Spark schema, as `op string, after map<string, string>`, got 'op'",
    ),
    "of_time": (
        RIGHT | {"sequence": [{"sql": "x", "kind": "timestamp"}]},
        "`sequence` must not be a time, got 'x': it is one",
    ),
    "captured_in_two_ways": (
        RIGHT | {"images": "partial", "not_captured": {"absent": True, "value": "x"}},
        "`not_captured` must be {absent: true}, {flag: a name with {name} in it} or {value: a text}, got ",
    ),
    "captured_and_full": (
        RIGHT | {"not_captured": {"absent": True}},
        "`not_captured` says that rows lack columns: it needs `images: partial`, got full",
    ),
    "one_row": (
        RIGHT | {"row": "a", "row_before": "a"},
        "`row_before` must be another row than `row`, got 'a' for both",
    ),
    "snapshot_seq": (
        RIGHT | {"snapshot": "load", "snapshot_seq": "12"},
        "`snapshot_seq` must be empty or a sequence as `_change_seq` has it (^[0-9]{20}$), got '12'",
    ),
    "no_lookback": (
        RIGHT | {"lookback": 5},
        "`lookback` reads again below the highest arrival: rows have no natural arrival",
    ),
    "no_connector": (
        {"format": "debezium", "key": ["id"]},
        "`connector` must be given, or `sequence`, which orders the events",
    ),
    "no_snapshot_seq": (
        {"format": "debezium", "key": ["id"], "connector": "mysql", "snapshot": "load", "snapshot_seq": "23876543"},
        "`snapshot_seq` must be empty or a sequence as `_change_seq` has it (^[0-9]{10}/[0-9]{19}/[0-9]{10}$), got ",
    ),
    "unordered": (
        {"format": "dms", "key": ["id"]},
        "`sequence_column` must be given: the times of DMS do not order changes. Let a rule of the task add it:"
        ' "rule-action": "add-column", "value": "change_seq", "expression": "$AR_H_CHANGE_SEQ",'
        ' "data-type": {"type": "string", "length": 50}',
    ),
    "partial_dms": (
        {"format": "dms", "key": ["id"], "sequence_column": "s", "images": "partial"},
        "`images` must be full: rows of DMS do not say which columns they lack, got partial",
    ),
    "load_beside_loads": (
        {"format": "full_loads", "key": ["id"], "load_column": "day", "snapshot": "load"},
        "`snapshot` must be null: each load has whole rows of the whole table, got 'load'",
    ),
    "partial_loads": (
        {"format": "full_loads", "key": ["id"], "load_column": "day", "images": "partial"},
        "`images` must be 'full': each load has whole rows of the whole table, got 'partial'",
    ),
    "share_above_one": (
        {"format": "full_loads", "key": ["id"], "load_column": "day", "least_share": 1.5},
        "`least_share` must be a number from 0 to 1, got 1.5",
    ),
    "no_avro": (
        {"format": "goldengate_messages", "key": ["id"], "avro_schema": "orders.avsc"},
        "`avro_schema` must be an Avro schema as JSON, got 'orders.avsc'",
    ),
    "avro_in_columns": (
        {"format": "goldengate_messages", "key": ["id"], "avro_schema": "{}", "layout": "row_columns"},
        "`avro_schema` reads messages of `layout: operation` or `row`, got 'row_columns'",
    ),
    "schema_and_registry": (
        {"format": "goldengate_messages", "key": ["id"], "avro_schema": "{}", "registry": "right"},
        "`avro_schema` is for bytes without a prefix: leave out it or `registry`",
    ),
    "no_registry": (
        {"format": "debezium", "key": ["id"], "connector": "mysql", "registry": "schemas"},
        "`registry` must name another entry of source 'feed', got 'schemas'; its entries: ",
    ),
    "registry_without_position": (
        {"format": "debezium", "key": ["id"], "connector": "mysql", "registry": "right"},
        "`registry` needs `position`, by which later runs go back to messages whose schema lands after them",
    ),
    "registry_of_columns": (
        {"format": "goldengate_messages", "key": ["id"], "layout": "row_columns", "registry": "right"},
        "`registry` has the schemas of messages: it needs `layout` operation or row, got 'row_columns'",
    ),
    "registry_of_structs": (
        {"format": "debezium", "key": ["id"], "connector": "mysql", "layout": "columns", "registry": "right"},
        "`registry` has the schemas of messages: it needs `layout` message or flattened_message, got 'columns'",
    ),
    "no_words": (
        {"format": "goldengate_messages", "key": ["id"], "operations": {}},
        "`operations` must say what each word means",
    ),
}
WRITTEN: Mapping[str, tuple[str, str]] = {
    "no_way": ("epoch_weeks", "`written_as` of column 'at' must be one of epoch_days, epoch_seconds, epoch_millis, "),
    "no_bytes": ("base64", "`written_as: base64` is for columns of type binary, got 'at' of type timestamp"),
}
RAW = {
    "op": "string",
    "scn": "bigint",
    "written": "timestamp",
    "after": "struct<id:bigint,name:string>",
    "doc": "array<string>",
}
RAW_FLAT = RAW | COLUMNS
# name -> (settings, what the raw table has, what is said)
MISFITS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, str], str]] = {
    "lands_as_time": (
        RIGHT | {"sequence": [{"sql": "unix_micros(Written)"}]},
        RAW_FLAT,
        "`sequence` must not be a time, got 'unix_micros(Written)': written lands as timestamp. ",
    ),
    "no_row": (
        RIGHT | {"row": "later"},
        RAW_FLAT,
        "`row` must name a column of misfits_raw.no_row or a field of one, got 'later'; its columns: op, scn, ",
    ),
    "no_kind_of_row": (
        RIGHT | {"row": "doc"},
        RAW_FLAT,
        "`row` must be a struct, a map<string, string> or a JSON object as text, got 'doc', which is array<string>",
    ),
    "lacks_field": (
        RIGHT | {"row": "after"},
        RAW,
        "the raw table misfits_raw.lacks_field must have the columns that the spec names, it lacks after.at; ",
    ),
    "lacks_column": (
        RIGHT | {"row": "new_{name}"},
        RAW,
        "the raw table misfits_raw.lacks_column must have the columns that the spec names, it lacks new_id, new_name, ",
    ),
    "flags_that_are_not_there": (
        RIGHT | {"images": "partial", "not_captured": {"flag": "{name}_missing"}},
        RAW_FLAT,
        "`not_captured` names flags as {name}_missing, and no column of misfits_raw.flags_that_are_not_there has one",
    ),
    "absent_columns": (
        RIGHT | {"images": "partial", "not_captured": {"absent": True}},
        RAW_FLAT,
        "`not_captured: {absent: true}` is for rows that are maps or JSON objects: a struct, and columns, always have",
    ),
    "text_in_a_message": (
        RIGHT | {"message": {"column": "text", "type": "op string, after string"}, "row": "message.after"},
        RAW | {"text": "string"},
        "`row` must be a map<string, string> or a struct in the `type` of `message`, got 'message.after', which",
    ),
    "no_table": (
        {"format": "debezium", "key": ["id"], "sequence": ["n"], "layout": "flattened", "table": "orders"},
        RAW_FLAT,
        "it lacks table; `table` is compared with it: of flattened events, name it in `add.fields`, as source.table",
    ),
    "two_kinds": (
        RIGHT | {"row": "text", "row_before": "after"},
        RAW | {"text": "string"},
        "`row` and `row_before` must be alike, got texts and fields",
    ),
    "no_position": (
        RIGHT | {"position": ["topic", "partition", "offset"]},
        RAW_FLAT,
        "the raw table misfits_raw.no_position must have the columns that the spec names, it lacks topic, partition, ",
    ),
    "unordered_events": (
        {"format": "debezium", "key": ["id"], "connector": "mysql", "layout": "flattened"},
        COLUMNS | {"__op": "string", "__file": "string", "__source_pos": "bigint"},
        "it lacks row; events of the connector mysql are ordered by these fields of `source`: of flattened events, name"
        " them in `add.fields`, as source.row",
    ),
    "loads_by_double": (
        {"format": "full_loads", "key": ["id"], "load_column": "ratio"},
        COLUMNS | {"ratio": "double"},
        "`load_column` must be a column of whole numbers, dates, times or text, got 'ratio' of type double",
    ),
    "loads_by_nothing": (
        {"format": "full_loads", "key": ["id"], "load_column": "day"},
        COLUMNS,
        "it lacks day; `load_column` and the declared columns must be some of its columns",
    ),
    "avro_as_text": (
        {"format": "goldengate_messages", "key": ["id"], "avro_schema": "{}"},
        COLUMNS | {"value": "string"},
        "Avro needs the column value of misfits_raw.avro_as_text to be binary, it is string",
    ),
    "registry_without_ids": (
        {
            "format": "debezium",
            "key": ["id"],
            "connector": "mysql",
            "registry": "avro_as_text",
            "position": ["id", "name"],
        },
        COLUMNS | {"value": "binary"},
        "misfits_raw.avro_as_text must have the columns that the spec names, it lacks schema; a registry's schemas",
    ),
    "no_op_type": (
        {"format": "goldengate_messages", "key": ["id"], "layout": "row_columns"},
        COLUMNS | {"pos": "string"},
        "it lacks op_type; let the handler's metaColumnsTemplate have ${optype[op_type]}, ${position[pos]} and, ",
    ),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What the check at the start of a run says of all mistakes."""
    consumer = Consumer(tmp_path_factory.mktemp("described") / "project", 1, "described")
    entries = [Entry(name, spec, COLUMNS, models=()) for name, (spec, _) in MISTAKES.items()]
    entries += [
        Entry(name, RIGHT, COLUMNS, models=(), column_meta={"at": {"written_as": way}})
        for name, (way, _) in WRITTEN.items()
    ]
    entries += [Entry("in_ten_ways", IN_TEN_WAYS, COLUMNS, models=()), Entry("right", RIGHT, COLUMNS, models=("stg",))]
    entries.append(Entry("of_the_page", RIGHT | yaml.safe_load(OF_THE_PAGE), COLUMNS, models=()))
    consumer.write(entries, ["load"])
    lake = Lake({}, answers={"^set$": [], r"^select current_timezone\(\)$": [{"zone": "UTC"}]})
    with pytest.raises(CompilationError) as refused:
        Project(consumer).macros("stg_feed__right", lake)("check_table_specs")
    yield str(refused.value)
    reset_adapters()


def test_a_description_that_is_wrong_in_ten_ways_gives_a_line_for_each(said: str) -> None:
    found = [line.strip() for line in said.splitlines() if "'feed.in_ten_ways'" in line]
    assert [line.removeprefix("change_tables: source 'feed.in_ten_ways': ") for line in found] == LINES


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_what_is_allowed(said: str, name: str) -> None:
    assert f"change_tables: source 'feed.{name}': {MISTAKES[name][1]}" in said


@pytest.mark.parametrize("name", WRITTEN)
def test_a_way_of_writing_must_be_one_for_the_type(said: str, name: str) -> None:
    assert f"change_tables: source 'feed.{name}': {WRITTEN[name][1]}" in said


@pytest.mark.parametrize("name", ["right", "of_the_page"])
def test_a_right_description_is_not_among_the_wrong_ones(said: str, name: str) -> None:
    assert f"'feed.{name}':" not in said


@pytest.fixture(scope="module")
def misfits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose descriptions do not fit their raw tables."""
    consumer = Consumer(tmp_path_factory.mktemp("misfits") / "project", 1, "misfits")
    consumer.write([Entry(name, spec, COLUMNS, models=("stg",)) for name, (spec, *_) in MISFITS.items()])
    yield Project(consumer)
    reset_adapters()


@pytest.mark.parametrize("name", MISFITS)
def test_a_raw_table_that_does_not_fit_stops_the_run(misfits: Project, name: str) -> None:
    lake = Lake({f"misfits_raw.{entry}": landed for entry, (_, landed, _) in MISFITS.items()})
    with pytest.raises(CompilationError) as refused:
        misfits.run(f"stg_feed__{name}", lake)
    assert f"change_tables: source 'feed.{name}': " in str(refused.value)
    assert MISFITS[name][2] in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "arrival", "expected"),
    [
        ({}, "written", False),
        ({}, "at", True),
        ({"changed_at": "Written"}, "written", True),
        ({"row": "new_{name}"}, "new_at", True),
        ({"row": "{name} (new)", "row_before": "{name} (old)"}, "at (old)", True),
        ({"images": "partial", "not_captured": {"flag": "{name}_missing"}}, "AT_missing", True),
        ({"row": "new_{name}"}, "new_written", False),
    ],
)
def test_an_arrival_tells_rows_apart_where_the_entry_has_it_for_something_else(
    misfits: Project, settings: Mapping[str, Any], arrival: str, expected: bool
) -> None:
    call = misfits.macros("stg_feed__no_row", Lake({}))
    spec = call("table_spec", "feed", "no_row")
    spec = spec | {"arrival": arrival, "settings": {**RIGHT, "arrival": arrival, **settings}}
    landed = {arrival.lower(): {"name": arrival, "data_type": "timestamp"}, "id": {"name": "id", "data_type": "bigint"}}
    names = [column["name"] for column in call("hashed_columns", spec, landed)]
    assert names == ([arrival] if expected else []) + ["id"]
