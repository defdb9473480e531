"""Columns of users and of the models' own steps never have the same name: the steps' columns begin with one prefix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from .consumer import BUILT_AGAIN, Consumer, Entry
from .idm_cases import DELETE as DELETED
from .idm_cases import EVENT, INSERT_FIELD, UPDATE_FIELD, event
from .kafka_cases import RECORD as MESSAGE
from .kafka_cases import Topic, body, enveloped
from .landing import Raw
from .openedge_cases import AFTER, AT, BEFORE, CREATE, TRACKING
from .openedge_cases import HEADERS as OPENEDGE_HEADERS
from .qlik_cases import TWO_HEADERS, bare
from .trail_cases import INSERT, KEY_UPDATE, ONLY, RECORD, UPDATE, Trail

pytestmark = pytest.mark.slow

WORKING = """
    _arrival _beginning _begins _can_start _column_misfit _content_hash _contents_differ _copies _covered_by
    _departs _effect _end_seq _ends _enters _events _first_keys _first_keys_before _first_row
    _has_all _has_events _has_lived _highest_rank _is_accepted _is_base _is_entered _is_late _is_load _is_replayed
    _is_reset _is_retraction _is_revision _is_stale _key _key_misfit _keys _keys_before _base_seq _base_transaction
    _landed_row _last_arrival _lineage _lives _next_beginning _next_in_span _next_seq
    _pair _place _rank _reached_key _rejection _reports _reset _resets _row _row_before _rows _running_at
    _retracted_keys _takes_covered_row _waiting_since _was_entered
"""
"""The names, without their prefix, that columns of steps have in every feed."""

OF_FORMAT = {
    "qlik_change_tables": """
        _began _covered_by _has_landed_update _has_update _hash _highest_before_key _highest_update_key
        _landed_code _landed_mask _lowest_before_key _lowest_seq _lowest_update_key _mask_ordinals _operation_code _rows
        _sequence _timestamp_misfit
    """,
    "qlik_kafka": """
        _before_1 _before_2 _body _present_names _column_names _columns _copy _corrupt _data_schema
        _decoding_error _envelope _error _event_counter _first _has_before _hash _headers _blocks_watermark _is_own
        _key_before_misfit _kind _lacks_schema _landed_code _landed_column_mask _landed_events _landed_mask
        _landed_place _landed_time _last _last_counter _latest _lowest_seq _masked_names _may_belong
        _message _message_schema_name _message_table_name _metadata _metadata_raw_id _missing_key _names_fault _offset
        _operation_code _position _read_key_before _reason _record _record_text _row _row_before _rows _schema
        _schema_id _schema_name _sequence _server _table _table_name _table_version _task _text _unplaced _version
    """,
    "goldengate_trail": """
        _before_1 _before_2 _closes _content _is_copy _counts _data_after _data_before _differs _differs_in_run _end
        _fault _fault_in_run _file_seqno _file_trail _first_piece _first_position _first_start
        _half_follows _has_position _head_before _blocks_watermark _identity _image_after _image_before _io_time
        _io_type _is_first _is_half _is_head _is_key_update _is_own _is_paired _key_before_misfit _kind _kind_of_run
        _landed_csn _landed_transaction_id _last _last_end _last_piece _last_start _last_start_of_trail _last_writing
        _missing_key _names_fault _number _opens _other_half _other_status _own_fault _own_row_before _parts_differ
        _pieces _position _read_key_before _row _row_before _run _run_error
        _second_head_before _start _start_before _start_in_file _start_rba _start_seqno _trans_ind _transaction
        _unplaced
    """,
    "idm_event_log": """
        _after _attributes _before _built _counts _deletes_before _element _event_time _events _field_event _forbidden
        _has_content _has_key _hash _header_fault _is_ahead _is_logged _is_published _is_wanted _key _key_1 _key_2
        _key_fault _last_event _last_of_span _life _logged_column _logged_status _lowest_seq _misfits _named_keys
        _number _superseded _parsed_key _perpetrator _position _read _read_at _record_id _row_event _rows _schema_name
        _sequence _set_aside _subject
    """,
    "openedge_cdc": """
        _after_clash _after_first _after_images _after_index _after_is_fragment _after_last_field _after_positions
        _after_second _after_state _array_index _before_1 _before_2 _before_clash _before_first _before_images
        _before_index _before_is_fragment _before_last_field _before_positions _before_second _before_state _began
        _covered_by _differs _extent_misfit _fault _fault_in_change _field_map _fragment _has_before _hash _index
        _is_before _is_fragment _is_part _is_tracked _key_before_misfit _kind _landed_array_index
        _landed_fragment _landed_ids _landed_operation _landed_position _landed_rows _landed_sequence
        _landed_table_number _landed_time _landed_transaction_id _lowest_seq _named_columns _operation_code _operations
        _other_status _own_fault _position _read_key_before _record_position _rows _second_parts _sequence _table_number
        _text_6 _text_7 _time _time_misfit _timestamp_misfit _tracked_numbers _tracked_operations _tracked_sequence
        _tracking _values _waits_for _retracts_logged _wanted_sequence
    """,
}
"""Those of each feed's staging."""

MODELS = ("stg", "dedup", "current")
WITH_HISTORY = "qlik_change_tables"
"""The table that has a history too: its steps follow a log, and have no columns of the feed's."""
Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Case:
    """What lands in two batches: keys 1 and 2 are inserted, then 1 is updated, and 2 moves to 3 or is deleted."""

    spec: Mapping[str, Any]
    landed: Mapping[str, str]
    batches: tuple[Rows, Rows]
    moves: bool = True


def _names(name: str) -> list[str]:
    # a change table of OpenEdge has columns of its own beside the table's: two of one name cannot be there
    taken = {header.lower() for header in OPENEDGE_HEADERS} if name == "openedge_cdc" else set()
    found = dict.fromkeys([*WORKING.split(), *OF_FORMAT[name].split()])
    return [working for working in found if working.lower() not in taken]


def _row(name: str, key: str, told: str) -> dict[str, str]:
    """A row: its key is the first column, and each other one has a value of its own."""
    first, *others = _names(name)
    return {first: key} | {other: f"{told} {other}" for other in others}


def _columns(name: str) -> dict[str, str]:
    return dict.fromkeys(_names(name), "string")


def _qlik_change_tables() -> Case:
    def landed(number: int, oper: str, key: str, told: str) -> list[Any]:
        return bare(number, oper, *_row("qlik_change_tables", key, told).values())

    headers = {"header__change_seq": "string", "header__change_oper": "string"}
    first = [landed(1, "I", "1", "old"), landed(2, "I", "2", "moved")]
    second = [landed(3, "U", "1", "new"), landed(4, "B", "2", "moved"), landed(4, "U", "3", "moved")]
    return Case(TWO_HEADERS, headers | _columns("qlik_change_tables"), (first, second))


def _qlik_kafka() -> Case:
    key, topic = _names("qlik_kafka")[0], Topic("named")

    def landed(oper: str, number: int, row: Mapping[str, str], before: Mapping[str, str] | None = None) -> list[Any]:
        return topic.record(enveloped(body(oper, number, row, before)))

    first = [landed("I", 1, _row("qlik_kafka", "1", "old")), landed("I", 2, _row("qlik_kafka", "2", "moved"))]
    second = [landed("U", 3, _row("qlik_kafka", "1", "new")), landed("U", 4, {key: "3"}, {key: "2"})]
    return Case({}, MESSAGE, (first, second))


def _goldengate_trail() -> Case:
    key, trail = _names("goldengate_trail")[0], Trail("named")
    name = "goldengate_trail"
    first = [trail.record(INSERT, ONLY, _row(name, "1", "old")), trail.record(INSERT, ONLY, _row(name, "2", "moved"))]
    second = [
        trail.record(UPDATE, ONLY, _row(name, "1", "new")),
        trail.record(KEY_UPDATE, ONLY, {key: "3"}, {key: "2"}),
    ]
    return Case({"table_name": "APP.ORDERS"}, RECORD, (first, second))


def _idm_event_log() -> Case:
    key, *others = _names("idm_event_log")
    first = [
        event(number * 1000 + place, INSERT_FIELD, f"{key}={number}", name, new=f"{told} {name}")
        for number, told in ((1, "old"), (2, "moved"))
        for place, name in enumerate(others)
    ]
    second = [
        *(event(3000 + place, UPDATE_FIELD, f"{key}=1", name, new=f"new {name}") for place, name in enumerate(others)),
        event(4000, DELETED, f"{key}=2"),
    ]
    return Case({"table_name": "usr", "schema_name": "indirect"}, EVENT, (first, second), moves=False)


def _openedge_cdc() -> Case:
    def landed(operation: int, number: int, key: str, told: str) -> list[Any]:
        return [7, AT, number, 0, 0, 0, operation, *_row("openedge_cdc", key, told).values()]

    first = [landed(CREATE, 1, "1", "old"), landed(CREATE, 2, "2", "moved")]
    second = [landed(AFTER, 3, "1", "new"), landed(BEFORE, 4, "2", "moved"), landed(AFTER, 4, "3", "moved")]
    return Case(
        {"tracking": "tracking", "policy_level": 3, "source_table_number": 12},
        OPENEDGE_HEADERS | _columns("openedge_cdc"),
        (first, second),
    )


def _tracked(number: int, operation: int) -> list[Any]:
    told = {"_Tran-Id": 7, "_Time-Stamp": AT, "_Change-Sequence": number, "_Operation": operation}
    told |= {"_Change-FieldMap": ";".join(_names("openedge_cdc")), "_Recid": number, "_Source-Table-Number": 12}
    return [told.get(name) for name in TRACKING]


TRACKED = ([_tracked(1, CREATE), _tracked(2, CREATE)], [_tracked(3, AFTER), _tracked(4, AFTER)])
CASES = {
    "qlik_change_tables": _qlik_change_tables(),
    "qlik_kafka": _qlik_kafka(),
    "goldengate_trail": _goldengate_trail(),
    "idm_event_log": _idm_event_log(),
    "openedge_cdc": _openedge_cdc(),
}


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer], raw: Raw) -> Consumer:
    """Tables of all feeds, built after each of two batches."""
    project = consumer("working_names")
    project.write(
        [
            Entry(
                name,
                dict(case.spec) | {"format": name, "key": _names(name)[:1]},
                _columns(name),
                (*MODELS, "history") if name == WITH_HISTORY else MODELS,
            )
            for name, case in CASES.items()
        ],
        ["tracking"],
    )
    for name, case in CASES.items():
        raw.create(f"{project.schema}_raw.{name}", case.landed)
    raw.create(f"{project.schema}_raw.tracking", TRACKING)
    for batch in (0, 1):
        raw.insert(f"{project.schema}_raw.tracking", TRACKED[batch])
        for name, case in CASES.items():
            raw.insert(f"{project.schema}_raw.{name}", case.batches[batch])
        project.dbt("build", *(BUILT_AGAIN if batch else ()))
    return project


@pytest.mark.parametrize("name", CASES)
def test_a_table_can_have_the_names_of_the_steps_own_columns(project: Consumer, raw: Raw, name: str) -> None:
    first, *_ = names = _names(name)
    columns = ", ".join(names)
    assert raw.query(f"select * from {project.schema}.rejected") == []
    moved = [_row(name, "3", "moved")] if CASES[name].moves else []
    current = raw.query(f"select {columns} from {project.schema}.current_feed__{name} order by {first}")
    assert current == [tuple(row.values()) for row in (_row(name, "1", "new"), *moved)]
    if name == WITH_HISTORY:
        versions = raw.query(
            f"select {columns}, _is_current from {project.schema}.history_feed__{name}"
            f" order by {first}, _valid_from_seq"
        )
        assert versions == [
            (*_row(name, "1", "old").values(), False),
            (*_row(name, "1", "new").values(), True),
            (*_row(name, "2", "moved").values(), False),
            *((*row.values(), True) for row in moved),
        ]
