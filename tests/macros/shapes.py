"""The shapes of runs that golden files show: which model runs, and what it finds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from .entries import FURTHER, LANDED
from .rendering import Answers, Lake, Project, Rows, Run

SCHEMA = "lake"
FIRST_BATCH = "20260130T120000000000_00000001"
"""That of the checkpoints that a first run leaves."""
Checkpoints = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Shape:
    """A run of a model. `checkpoints` has the models that are built, and how theirs differ from a first run's."""

    model: str
    checkpoints: Checkpoints = field(default_factory=dict)
    answers: Answers = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)
    flags: Mapping[str, Any] = field(default_factory=dict)
    older_checkpoints: int = 0
    columns: Mapping[str, str] | None = None
    """Of a model that dbt itself materializes, which is rendered alone, those of its table; none: it is not there."""
    tables: Sequence[str] = ()
    """Further tables that are there."""


def _seq(number: int) -> str:
    return f"2026013112000025{number:019d}"


def _places(*places: tuple[str, ...]) -> Rows:
    told: dict[str, Any] = {
        "_ct_places": 4, "_ct_rows": 4, "_ct_unplaced": 0, "_ct_rows_below": 4, "_ct_copies": 1, "_ct_all": 9,
        "_ct_is_same": False, "_ct_lowest_seq": None,
    }  # fmt: skip
    return [{f"place_{number}": text for number, text in enumerate(place)} | told for place in places]


def _looked(**found: int) -> Rows:
    return [found]


_TOPIC = r"_ct_last\['topic'\]"
_TRAIL = r"_ct_last\['trail_name'\]"
LOOK = "as _ct_last"
"""What a run asks of a raw table before it reads."""


def _verdicts(quarantined_rows: int = 0) -> str:
    """What a batch of four raw rows has of each verdict, two of them rejected."""
    accepted = {"status": "accepted", "raw_rows": 2, "changes": 3, "conflicts": 0, "quarantined_rows": 0}
    rejected = {"status": "rejected", "code": "key_missing", "raw_rows": 2, "changes": 0, "conflicts": 0}
    return json.dumps([accepted, rejected | {"quarantined_rows": quarantined_rows}])


REDUCED = r"with summarized as (?!.*as quarantined_rows)"
"""What a run asks of that to which its changes and those of the log have come."""
ANSWERS: Answers = {
    # the raw tables are Delta's
    r"^show tblproperties \S+$": [{"key": "delta.minReaderVersion", "value": "1"}],
    # what has landed: arrivals, and positions in a topic or a trail
    r"^select cast\(.*max\(.* as string\) from \S+ where \S.* is not null$": [{"arrival": "500"}],
    _TOPIC: _places(("orders", "0", "41"), ("orders", "1", "7")),
    _TRAIL: _places(("it's", "3", "4100")),
    LOOK: [
        {
            "high_water": "600", "_ct_places": 2, "_ct_rows": 3, "_ct_unplaced": 0, "_ct_rows_below": 1,
            "_ct_fingerprint": "2:3:4", "_ct_is_same": False, "_ct_lowest_seq": _seq(5), "_ct_all": 9,
        }
    ],
    # what it comes to with what the log holds
    REDUCED: [
        {
            "changes": 2, "revised": 1, "retracted_keys": 0, "retracted": 0, "lowest_seq": _seq(20),
            "highest_seq": _seq(22), "first_changed_at": 1769860800000000, "last_changed_at": 1769860801000000,
            "verdicts": None,
        }
    ],
    # what a batch holds, and the watermark after it
    "as changes,": [
        {
            "changes": 3, "lowest_seq": _seq(20), "highest_seq": _seq(22), "truncate_seq": None, "moves": 0,
            "retracted_keys": 0, "revised": 0, "retracted": 0,
            "waiting": None, "verdicts": _verdicts(),
            "first_changed_at": 1769860800000000, "last_changed_at": 1769860801000000,
        }
    ],
    "^select distinct explode": [{"_ct_key": -5}, {"_ct_key": 7}],
    # what it means for quarantined rows
    "as news,": [{"news": 0, "revised": 0, "rejected": 0, "waiting": 0, "waiting_since": None}],
    # what is below the watermark, what is lost
    r" as watermark_rows, count\(\*\) as all_rows from": [{"watermark_rows": 7, "all_rows": 9}],
    r"^select count\(distinct case when true then struct": [{"rows": 2}],
    "^select 1 from .* limit 1$": [],
    # rows that are put together for several logs
    r"^create table \S+__batch_\w+s using parquet": [],
    # how many rows a state has, and what a merge has changed of them
    " as written_rows from": [{"written_rows": 6}],
    "^merge into": [{"num_affected_rows": 4, "num_updated_rows": 2, "num_deleted_rows": 0, "num_inserted_rows": 2}],
    # what a table has that a full refresh replaces
    " as replaced_rows from": [{"replaced_checkpoint": None, "replaced_rows": 0}],
    # a table follows the spec
    r"^alter table \S+ add columns ": [],
    # what of it the log knows
    r"^with .* as lost_rows from \S+ as known left anti join": [{"lost_changes": 0, "lost_rows": 0}],
    r"^select count\(\*\) from \S+__state where _checkpoint is null$": [{"rows": 3}],
    r"order by (place|source\._raw_id) limit 3$": [],
    r"^select coalesce\(min\(record_id\)": [{"first": 10, "last": 19}],
}  # fmt: skip
"""What a run finds where its shape says nothing else: rows have landed, none waits, and their changes are new."""
FOUND_BEFORE: Answers = {
    _TOPIC: ANSWERS[_TOPIC],
    _TRAIL: ANSWERS[_TRAIL],
    LOOK: [{**ANSWERS[LOOK][0], "high_water": "500", "_ct_fingerprint": "1:2:3"}],
}
"""What the look of the run before that has found."""


CHANGES = {"order": "bigint", "it's": "string", "_is_deleted": "boolean", "_batch_id": "string"}
"""The columns of a user's model of `changes_since`."""
LATE = "where _ct_is_late$"
"""What a run asks of the events that it has kept."""


LOADS = r"\(_ct_lowest\) as lowest"
"""What a run asks of full loads: from which one on it reads."""
_LOOKED_AT_LOADS = {"lowest": "2026-01-31", "first_value": "20483", "has_base": True, "earlier": 40}


def _log(name: str) -> str:
    return f"dedup_feed__{name}"


def _since(name: str, **checkpoint: Any) -> Checkpoints:
    return {_log(name): checkpoint}


def _state(kind: str, name: str, log: dict[str, Any] | None = None) -> Shape:
    """A first run of a state over a log whose checkpoint is as `log` has it."""
    return Shape(f"{kind}_feed__{name}", {_log(name): log or {}})


def state_since(kind: str, name: str, log: dict[str, Any] | None = None, late: int | None = None) -> Shape:
    """A later run, over a log that has one more batch: all in time, unless `late` says how many events are late."""
    model = f"{kind}_feed__{name}"
    batch = "20260131T110000000000_00000009"
    came = {"batch": batch, "extends": FIRST_BATCH if late is None else None}
    return Shape(model, {_log(name): came | (log or {}), model: {}}, {LATE: [{"late": late or 0}]})


def changes_since(
    batch: str | None, columns: Mapping[str, str] = CHANGES, model: str = "changes", **state: Any
) -> Shape:
    """A later run of a user's model, whose table has taken in a batch, over a state that has been written since."""
    current = "kept_feed__full" if model == "changes_of_kept" else "current_feed__full"
    checkpoints = {current: {"written": "20260131T110000000000_00000009"} | state}
    return Shape(model, checkpoints, {"as taken_in from": [{"taken_in": batch}]}, columns=columns)


MOVES = {"moves": True}
RESET = {"reset_seq": _seq(15), "loads": ["", _seq(15)]}
BEFORE_RESET = {"reset_seq": _seq(15)}
FEWER = {"columns": {"order": "bigint", "it's": "string"}}
RETRACTED_KEYS = {"retracted_keys": [[FIRST_BATCH, [3]], ["20260131T110000000000_00000009", [-5, 7]]]}
ADDED = {"schema_version": 1, "added": {"name with spaces": 1}}
_IN_TIME = {
    LOOK: [{**ANSWERS[LOOK][0], "_ct_lowest_seq": _seq(30)}],
    "as changes,": [{**ANSWERS["as changes,"][0], "lowest_seq": _seq(30), "highest_seq": _seq(32)}],
}
_REVISED = {
    "as changes,": [
        {**ANSWERS["as changes,"][0], "revised": 2, "retracted_keys": 1, "moves": 1, "truncate_seq": _seq(21)}
    ],
}


def _quarantines(found: Answers, rows: int) -> Answers:
    """A run that has met so many rejected or waiting rows, none of which is in quarantine as it is."""
    summary = {**found["as changes,"][0], "verdicts": _verdicts(quarantined_rows=rows)}
    news = {"news": rows, "rejected": 2, "waiting": 0, "waiting_since": None}
    return {**found, "as changes,": [summary], "as news,": [news]}


SHAPES: Mapping[str, Shape] = {
    # logs, by feed
    "qlik_change_tables__log__first": Shape(_log("qlik")),
    "qlik_change_tables__log__first_all_types": Shape(_log("qlik_types")),
    "qlik_change_tables__log__since": Shape(_log("qlik"), _since("qlik")),
    "qlik_change_tables__log__since_in_time": Shape(_log("qlik"), _since("qlik"), _IN_TIME),
    "qlik_change_tables__log__since_many_checkpoints": Shape(
        _log("qlik"), _since("qlik"), _IN_TIME, older_checkpoints=30
    ),
    "qlik_change_tables__log__since_quarantines": Shape(_log("qlik"), _since("qlik"), _quarantines(_IN_TIME, 2)),
    "qlik_change_tables__log__since_heals": Shape(
        _log("qlik"),
        _since("qlik", quarantined={"rejected": 1, "waiting": 1, "waiting_since": FIRST_BATCH}),
        _quarantines(_IN_TIME, 1),
    ),
    "qlik_change_tables__log__everything_quarantines": Shape(
        _log("qlik_plain"),
        _since("qlik_plain", quarantined={"rejected": 1, "waiting": 1, "waiting_since": FIRST_BATCH}),
        _quarantines(_REVISED, 1),
    ),
    "qlik_change_tables__log__full_refresh": Shape(
        _log("qlik"), _since("qlik"), {"^select 1 from lake.dedup": [{"1": 1}]}, flags={"FULL_REFRESH": True}
    ),
    "qlik_change_tables__log__everything": Shape(_log("qlik_plain"), _since("qlik_plain"), _REVISED),
    "qlik_change_tables__log__column_added": Shape(_log("qlik_plain"), _since("qlik_plain", **ADDED)),
    "qlik_change_tables__log__column_declared": Shape(_log("qlik"), _since("qlik", **FEWER), _REVISED),
    "qlik_change_tables__staging__masks_as_text": Shape("stg_feed__qlik_masks"),
    "qlik_change_tables__log__since_words": Shape(_log("qlik_words"), _since("qlik_words")),
    "qlik_kafka__staging": Shape("stg_feed__kafka"),
    "qlik_kafka__log__first": Shape(_log("kafka")),
    "qlik_kafka__log__since": Shape(_log("kafka"), _since("kafka"), {_TOPIC: _places(("orders", "0", "45"))}),
    "qlik_kafka__log__since_forgotten_keys": Shape(
        _log("kafka"),
        _since("kafka"),
        {_TOPIC: _places(("orders", "0", "45"))},
        tables=[f"{SCHEMA}.change_table_forgotten__feed__kafka"],
    ),
    "qlik_kafka__log__everything": Shape(_log("kafka_read_whole"), _since("kafka_read_whole")),
    "qlik_kafka__staging__avro": Shape("stg_feed__kafka_avro"),
    "qlik_kafka__staging__registry": Shape("stg_feed__kafka_registry"),
    "qlik_kafka__log__first_table_in_a_column": Shape(_log("kafka_by_column")),
    "qlik_kafka__schemas": Shape("kafka_schemas"),
    "qlik_kafka__unclaimed": Shape("unclaimed_kafka"),
    "mapped__staging": Shape("stg_feed__mapped"),
    "mapped__staging__fields": Shape("stg_feed__debezium"),
    "full_loads__staging": Shape("stg_feed__loads"),
    "full_loads__log__since": Shape(
        _log("loads"),
        _since("loads", highest_seq="2026-01-31"),
        {LOADS: [_LOOKED_AT_LOADS]},
    ),
    # raw has lost the loads before
    "full_loads__log__everything": Shape(
        _log("loads"),
        _since("loads", highest_seq="2026-02-02"),
        {LOADS: [_LOOKED_AT_LOADS | {"has_base": False}], "as logged_load from": [{"logged_load": "2026-01-30"}]},
        {"change_tables_rescan": True},
    ),
    "goldengate_trail__staging": Shape("stg_feed__trail"),
    "goldengate_trail__staging__all_types": Shape("stg_feed__trail_types"),
    "goldengate_trail__log__first": Shape(_log("trail")),
    "goldengate_trail__log__since": Shape(_log("trail"), _since("trail"), {_TRAIL: _places(("it's", "4", "200"))}),
    "goldengate_trail__log__everything": Shape(
        _log("trail"), _since("trail"), variables={"change_tables_rescan": True}
    ),
    "goldengate_trail__staging__ignore_case": Shape("stg_feed__trail_cased"),
    "goldengate_trail__unclaimed": Shape("unclaimed_trail"),
    "idm_event_log__staging": Shape("stg_feed__events"),
    "idm_event_log__staging__bytes": Shape("stg_feed__events_bytes"),
    "idm_event_log__log__first": Shape(_log("events_multi_valued")),
    "idm_event_log__log__since": Shape(_log("events"), _since("events")),
    "idm_event_log__log__everything": Shape(_log("events_ahead"), _since("events_ahead")),
    "idm_event_log__current__multi_valued": _state("current", "events_multi_valued"),
    "idm_event_log__unclaimed": Shape("unclaimed_events"),
    "idm_event_log__documents__first": Shape("documents", _since("events") | _since("events_multi_valued")),
    "idm_event_log__documents__since": Shape(
        "documents",
        {_log(name): {"batch": "20260131T110000000000_00000009"} for name in ("events", "events_multi_valued")}
        | {"documents": {}},
    ),
    "openedge_cdc__log__first": Shape(_log("openedge")),
    "openedge_cdc__log__since": Shape(
        _log("openedge_arriving"), _since("openedge_arriving"), {REDUCED: [{**ANSWERS[REDUCED][0], "retracted": 1}]}
    ),
    "openedge_cdc__log__everything": Shape(_log("openedge"), _since("openedge"), _REVISED),
    "openedge_cdc__log__level_0": Shape(_log("openedge_level_0"), _since("openedge_level_0")),
    "openedge_cdc__log__column_declared": Shape(
        _log("openedge_arriving"), _since("openedge_arriving", **FEWER), _REVISED
    ),
    "openedge_cdc__staging__loaded": Shape("stg_feed__openedge_arriving"),
    "openedge_cdc__staging__by_recid": Shape("stg_feed__openedge_by_recid"),
    "openedge_cdc__staging__level_1": Shape("stg_feed__openedge_level_1"),
    "openedge_cdc__events": Shape("openedge_events"),
    "openedge_cdc__unclaimed": Shape("unclaimed_openedge"),
    # states, by their images
    "current__full__first": _state("current", "full"),
    "current__full__first_moves": _state("current", "full", MOVES | RESET),
    "current__full__since": state_since("current", "full"),
    "current__full__since_reset": state_since("current", "full", RESET),
    "current__full__since_moves": state_since("current", "full", MOVES),
    "current__full__since_late_moves": state_since("current", "full", MOVES | RESET, late=1),
    "current__full__since_retracted_keys": state_since("current", "full", RETRACTED_KEYS),
    "current__partial__first": _state("current", "partial"),
    "current__partial__first_moves": _state("current", "partial", MOVES | RESET),
    "current__partial__since": state_since("current", "partial"),
    "current__partial__since_late": state_since("current", "partial", late=1),
    "current__partial__since_reset": state_since("current", "partial", BEFORE_RESET),
    "current__partial__since_late_moves": state_since("current", "partial", MOVES, late=1),
    "current__partial__since_column_added": state_since("current", "partial", ADDED),
    "current__partial__orphans_start_rows": _state("current", "orphans_start_rows"),
    "history__full__first": _state("history", "full"),
    "history__full__first_moves": _state("history", "full", MOVES | RESET),
    "history__full__since": state_since("history", "full"),
    "history__full__since_reset": state_since("history", "full", BEFORE_RESET),
    "history__full__since_late_moves": state_since("history", "full", MOVES | RESET, late=1),
    "history__partial__first": _state("history", "partial"),
    "history__partial__first_moves": _state("history", "partial", MOVES | RESET),
    "history__partial__since_late_reset": state_since("history", "partial", RESET, late=1),
    "history__partial__since_moves": state_since("history", "partial", MOVES | RESET),
    "history__partial__since_column_added": state_since("history", "partial", ADDED),
    "history__as_of": Shape("as_of"),
    # models of users
    "changes__first": Shape("changes", {"current_feed__full": {}}, columns={}),
    "changes__since_rebuilt": changes_since("20260129T120000000000_00000002"),
    # models over many tables
    "rejected": Shape("rejected_of_some"),
    "reported": Shape("reported_of_some"),
}
"""Name of the golden text -> the run that it shows."""

WHOLE = [
    "qlik_change_tables__log__first",
    "qlik_kafka__staging",
    "goldengate_trail__staging",
    "idm_event_log__staging",
    "openedge_cdc__staging__loaded",
]
"""Whose models are shown whole, for each feed one that has the most of its steps; the others as what differs."""


def tables_of(shape: Shape) -> list[str]:
    """What differs from shape to shape: the model, its log, its raw table and its load, and the source table."""
    if "__" not in shape.model:
        return [f"{SCHEMA}.{shape.model}"]
    entry = next(entry for entry, _ in LANDED if entry.name == shape.model.split("__", 1)[1])
    load = entry.change_table.get("snapshot", "no_load")
    return [
        shape.model,
        _log(entry.name),
        f"{SCHEMA}_raw.{entry.raw_table}",
        f"{SCHEMA}_raw.{load}",
        f"feed.{entry.name}",
    ]


class Shapes:
    """Runs shapes in one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.first_checkpoint = cache(self._first_checkpoint_of)

    def run(self, shape: Shape, run: int = 0) -> Run:
        """Run a shape; `run` counts back from now."""
        how = self.project.run if shape.columns is None else self.project.render
        return how(shape.model, self.lake(shape), run=run, variables=shape.variables, flags=shape.flags)

    def lake(self, shape: Shape) -> Lake:
        """What the run of a shape finds."""
        columns = {f"{SCHEMA}_raw.{entry.raw_table}": landed for entry, landed in LANDED if landed is not None}
        columns |= {f"{SCHEMA}_raw.{name}": landed for name, landed in FURTHER.items()}
        checkpoints = {}
        for model, told in shape.checkpoints.items():
            first = self.first_checkpoint(model)
            checkpoints[f"{SCHEMA}.{model}__state"] = [first | {"batch": "2025"}] * shape.older_checkpoints + [
                first | told
            ]
        own = {f"{SCHEMA}.{shape.model}": shape.columns} if shape.columns else {}
        other = {asked: rows for asked, rows in ANSWERS.items() if asked not in shape.answers}
        return Lake(columns | own, checkpoints, {**shape.answers, **other}, tables=[*own, *shape.tables])

    def _first_checkpoint_of(self, model: str) -> dict[str, Any]:
        logs = {"documents": ("events", "events_multi_valued")}.get(model, (model.split("__", 1)[-1],))
        first = Shape(model, {} if model.startswith("dedup_") else {_log(log): {} for log in logs}, FOUND_BEFORE)
        return self.run(first, run=1).checkpoint
