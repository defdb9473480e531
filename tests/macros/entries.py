"""The entries that golden files are made of: each feed with the settings that make other SQL.

Keys are composite, names are odd, and columns land in other types than they are declared in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.pipelines import idm_cases, kafka_cases, mapped_cases, openedge_cases, preset_cases, qlik_cases, trail_cases
from tests.pipelines.consumer import Entry

KEY = ["order", "it's"]
NAMES = {"order": "bigint", "it's": "string", "name with spaces": "string"}
# enough to see what settings make of it; an entry whose raw rows have columns has all types, and one of maps of texts
FEW = NAMES | {"amount": "decimal(12, 2)"}
COLUMNS = FEW | {
    "at": "timestamp",
    "local": "timestamp_ntz",
    "day": "date",
    "small": "smallint",
    "ratio": "double",
    "flag": "boolean",
    "bytes": "binary",
}
AS_TEXT = dict.fromkeys(COLUMNS, "string") | {"order": "decimal(20,0)", "small": "int", "bytes": "binary"}
FEW_AS_TEXT = {name: AS_TEXT[name] for name in FEW}
NESTED = {
    "tags": "array<string>",
    "times": "array<timestamp>",
    "fields": "struct<a: int, b: int>",
    "prices": "map<string, decimal(5,2)>",
    "lines": "array<map<string, int>>",
}
WITH_FIELDS = NAMES | {"fields": NESTED["fields"]}
NESTED_LANDED = NESTED | {"tags": "array<int>", "fields": "struct<b:string,a:bigint>", "prices": "map<string,string>"}
WITH_HISTORY = ("stg", "dedup", "current", "kept", "history")

QLIK = {"format": "qlik_change_tables", "key": KEY}
KAFKA = {"format": "qlik_kafka", "key": KEY}
SHARED_TOPIC = KAFKA | {"topic": "it's orders", "table": "app.orders", "hold_open_transactions": True}
TRAIL = {"format": "goldengate_trail", "key": KEY, "table_name": "APP.ORDERS"}
EVENTS = {"format": "idm_event_log", "key": KEY, "table_name": "usr", "schema_name": "indirect"}
COMPLETED = EVENTS | {"driver_user": "it's me", "replica": "replica", "arrival": "landed_at"}
OPENEDGE = {"format": "openedge_cdc", "key": KEY, "tracking": "tracking", "source_table_number": 12}
RECID = {"format": "openedge_cdc", "key_from": "recid", "tracking": "tracking", "source_table_number": 12}
MAPPED = (
    mapped_cases.MESSAGES
    | {"key": KEY, "operation": "message['op']", "changed_at": "timestamp_micros(message['ts'])"}
    | {"sequence": [{"sql": "message['pos']", "kind": "file_position"}]}
)
ARRAYS = NAMES | {"amount": "decimal(12, 2)", "day": "date", "tags": "array<string>", "counts": "array<int>"}
TWO_HEADERS = {"headers": ["change_seq", "change_oper"]}
RENAMED = {"it's": {"renamed_from": ["it was", "its"]}, "amount": {"renamed_from": "sum"}}


def _headers(*names: str, prefix: str = "header__", **types: str) -> dict[str, str]:
    all_types = qlik_cases.HEADERS | {"partition_name": "string"} | types
    return {f"{prefix}{name}": all_types[name] for name in names or qlik_cases.HEADERS}


def _entry(
    name: str,
    spec: Mapping[str, Any],
    columns: Mapping[str, str] = FEW,
    models: Sequence[str] = ("stg", "dedup"),
    **given: Any,
) -> Entry:
    return Entry(name, spec, columns, models, **given)


LANDED: list[tuple[Entry, Mapping[str, str] | None]] = [
    # Qlik change tables
    (
        _entry("qlik", QLIK | {"arrival": "landed at", "snapshot": "qlik_load"}),
        _headers() | FEW_AS_TEXT | {"landed at": "timestamp"},
    ),
    (
        _entry("qlik_types", QLIK | {"arrival": "landed at", "snapshot": "types_load"}, COLUMNS | NESTED),
        _headers() | AS_TEXT | NESTED_LANDED | {"landed at": "timestamp"},
    ),
    (
        _entry(
            "qlik_plain",
            QLIK | TWO_HEADERS | {"images": "partial", "arrival": "none"},
        ),
        _headers("change_seq", "change_oper") | FEW_AS_TEXT,
    ),
    (
        _entry(
            "qlik_masks",
            QLIK
            | {
                "header_prefix": "",
                "headers": [*qlik_cases.HEADERS, "partition_name"],
                "mask_order": "most_significant_first",
                "mask_type": "string",
                "images": "partial",
                "arrival": "batch",
            },
        ),
        _headers(*qlik_cases.HEADERS, "partition_name", prefix="", change_mask="string", timestamp="string")
        | FEW
        | {"batch": "decimal(38,38)"},
    ),
    (
        _entry(
            "qlik_words",
            QLIK
            | {"arrival": "landed at", "snapshot": "qlik_load", "without_sequence": "load"}
            | {"operations": {"it's new": "insert", "O": "before_image"}},
        ),
        _headers() | FEW_AS_TEXT | {"landed at": "timestamp"},
    ),
    # states do not know what feed they follow
    (
        _entry("full", QLIK | TWO_HEADERS, WITH_FIELDS, WITH_HISTORY, identifier="full_rows"),
        _headers("change_seq", "change_oper") | WITH_FIELDS,
    ),
    (
        _entry(
            "partial",
            QLIK | TWO_HEADERS | {"images": "partial", "track": ["name with spaces"]},
            WITH_FIELDS,
            WITH_HISTORY,
        ),
        _headers("change_seq", "change_oper") | WITH_FIELDS,
    ),
    (
        _entry(
            "orphans_start_rows",
            QLIK | TWO_HEADERS | {"images": "partial", "orphans": "insert"},
            WITH_FIELDS,
            WITH_HISTORY,
        ),
        _headers("change_seq", "change_oper") | WITH_FIELDS,
    ),
    # columns that had other names: of the key and of masks, in every kind of raw row
    (
        _entry(
            "renamed",
            QLIK | {"arrival": "landed at", "images": "partial", "snapshot": "renamed_load"},
            models=("stg", "dedup", "current", "history"),
            column_meta=RENAMED,
        ),
        _headers() | {"order": "bigint", "it was": "string", "it's": "string"} | FEW_AS_TEXT | {"landed at": "int"},
    ),
    (_entry("renamed_messages", KAFKA, column_meta=RENAMED), kafka_cases.RECORD),
    # Qlik Kafka
    (_entry("kafka", SHARED_TOPIC, identifier="kafka_shared"), kafka_cases.RECORD),
    (_entry("kafka_types", SHARED_TOPIC, COLUMNS, identifier="kafka_shared"), None),
    (_entry("kafka_avro", KAFKA | {"serialization": "avro"}), kafka_cases.RECORD),
    (
        _entry(
            "kafka_registry",
            KAFKA | {"serialization": "avro", "registry": "registry", "operations": {"it's new": "insert"}},
        ),
        kafka_cases.RECORD,
    ),
    (
        _entry(
            "kafka_by_column",
            KAFKA | {"table": "t1", "table_column": "tbl", "snapshot": "kafka_load", "arrival": "offset"},
        ),
        kafka_cases.TEXT_RECORD,
    ),
    (
        _entry("kafka_read_whole", KAFKA | {"arrival": "none", "images": "full", "column_names": "ignore_case"}),
        kafka_cases.RECORD,
    ),
    # described feeds
    (_entry("mapped", MAPPED), mapped_cases.MESSAGES_LANDED),
    (_entry("mapped_lines", MAPPED | {"only": "topic = 'lines'"}, identifier="mapped"), None),
    (_entry("mapped_parts", MAPPED | {"only": "topic = 'parts'"}, identifier="mapped"), None),
    (_entry("mapped_all", {name: MAPPED[name] for name in MAPPED if name != "only"}, identifier="mapped"), None),
    (
        _entry("loads", preset_cases.LOADS | {"key": KEY, "load_column": "load day", "whole_loads": ["2026-01-05"]}),
        FEW_AS_TEXT | {"load day": "date"},
    ),
    (
        _entry("debezium", preset_cases.DEBEZIUM | {"key": KEY, "connector": "mysql", "layout": "flattened"}),
        FEW_AS_TEXT | {f"__{name}": "string" for name in ("op", "deleted", "file", "pos", "row", "source_ts_ms")},
    ),
    # GoldenGate trails
    (_entry("trail", TRAIL), trail_cases.RECORD),
    (_entry("trail_types", TRAIL, COLUMNS, identifier="trail"), None),
    (_entry("trail_lines", TRAIL | {"table_name": "APP.LINES"}, identifier="trail"), None),
    (_entry("trail_parts", TRAIL | {"table_name": "APP.PARTS"}, identifier="trail"), None),
    (
        _entry(
            "trail_cased",
            TRAIL
            | {"column_names": "ignore_case", "images": "full", "snapshot": "trail_load"}
            | {"repeated_transactions": "apply"},
        ),
        trail_cases.RECORD,
    ),
    # the event log
    (_entry("events", COMPLETED, models=("stg", "dedup", "current")), idm_cases.EVENT | {"landed_at": "int"}),
    (_entry("events_bytes", COMPLETED, FEW | {"bytes": "binary"}, identifier="events"), None),
    (
        _entry(
            "events_multi_valued",
            EVENTS | {"replica": "replica_as_text", "table_name": "multi", "allow_loopback": True},
            FEW | {"usr_phone.phoneno": "string", "usr_card.scan": "binary"},
            ("stg", "dedup", "current"),
            column_meta={name: {"multi_valued": True} for name in ("usr_phone.phoneno", "usr_card.scan")},
            identifier="events",
        ),
        None,
    ),
    (
        _entry("events_ahead", EVENTS | {"future_events": True, "replica": "replica", "snapshot": "events_load"}),
        idm_cases.EVENT | {"event_time": "string"},
    ),
    # OpenEdge CDC
    (
        _entry("openedge", OPENEDGE | {"policy_level": 3}, ARRAYS, column_meta={"tags": {"extent": 3}}),
        openedge_cases.HEADERS | dict.fromkeys(ARRAYS, "string") | {"order": "bigint"},
    ),
    (
        _entry(
            "openedge_arriving",
            OPENEDGE
            | {
                "without_tracking": "apply",
                "null_without_field_map": "set",
                "arrival": "landed",
                "snapshot": "openedge_load",
            },
            ARRAYS,
        ),
        openedge_cases.HEADERS | dict.fromkeys(ARRAYS, "string") | {"notes": "string", "landed": "int"},
    ),
    (
        _entry("openedge_by_recid", RECID | {"arrival": "landed"}, ARRAYS),
        openedge_cases.HEADERS | dict.fromkeys(ARRAYS, "string") | {"landed": "int"},
    ),
    (
        _entry(
            "openedge_spelt",
            OPENEDGE | {"key": ["cust_num"], "tracking": "spelt_tracking", "policy_level": 3},
            openedge_cases.SPELT_COLUMNS,
        ),
        openedge_cases.SPELT,
    ),
    (_entry("openedge_level_1", RECID | {"policy_level": 1}, {}, identifier="tracking"), None),
    (_entry("openedge_level_0", RECID | {"policy_level": 0}, {}, identifier="tracking"), None),
]
"""Each entry with the types in which its raw table lands; None where another entry's is the same."""

FURTHER: Mapping[str, Mapping[str, str]] = {
    "qlik_load": AS_TEXT,
    "types_load": AS_TEXT | NESTED_LANDED,
    "renamed_load": {"order": "bigint", "its": "string", "name with spaces": "string", "sum": "string"},
    "kafka_load": COLUMNS,
    "registry": {"id": "bigint", "schema": "string"},
    "trail_load": AS_TEXT,
    "events_load": COLUMNS,
    "openedge_load": ARRAYS | {"amount": "string", "tags": "string", "counts": "string"},
    "replica": COLUMNS | {"not declared": "int"},
    "replica_as_text": AS_TEXT,
    "tracking": openedge_cases.TRACKING,
    "spelt_tracking": openedge_cases.SPELT_TRACKING,
}
"""Entries that have no spec: what else is read."""

MODELS = {
    "unclaimed_kafka": "{{ change_tables.unclaimed_rows('feed', ['kafka']) }}",
    "unclaimed_kafka_by_column": "{{ change_tables.unclaimed_rows('feed', ['kafka_by_column']) }}",
    "unclaimed_trail": "{{ change_tables.unclaimed_rows('feed', ['trail']) }}",
    "unclaimed_events": "{{ change_tables.unclaimed_rows('feed', ['events', 'events_multi_valued']) }}",
    "unclaimed_openedge": "{{ change_tables.unclaimed_rows('feed', ['openedge_by_recid', 'openedge_level_1']) }}",
    "openedge_events": "{{ change_tables.openedge_events('feed', ['openedge_by_recid', 'openedge_level_1']) }}",
    "kafka_schemas": "{{ change_tables.qlik_kafka_schemas('feed', 'kafka') }}",
    "documents": (
        "{{ change_tables.xds_documents([ref('dedup_feed__events'), ref('dedup_feed__events_multi_valued')]) }}"
    ),
    "documents_ahead": "{{ change_tables.xds_documents([ref('dedup_feed__events_ahead')]) }}",
    "rejected_of_some": "{{ change_tables.rejected_changes([ref('dedup_feed__qlik'), ref('stg_feed__trail')]) }}",
    "reported_of_some": "{{ change_tables.reported_changes([ref('dedup_feed__qlik'), ref('dedup_feed__trail')]) }}",
    "reported_backwards": (
        "{% set logs = [ref('dedup_feed__qlik'), ref('dedup_feed__trail')] %}"
        "{{ change_tables.reported_changes(logs | reverse | list) }}"
    ),
    "changes": (
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key=['order', \"it's\"]) }}\n\n"
        "{{ change_tables.changes_since(ref('current_feed__full')) }}"
    ),
    "changes_of_kept": (
        "{{ config(materialized='incremental', incremental_strategy='append') }}\n\n"
        "{{ change_tables.changes_since(ref('kept_feed__full')) }}"
    ),
    "changes_in_a_view": (
        "{{ config(materialized='view') }}{{ change_tables.changes_since(ref('current_feed__full')) }}"
    ),
    "changes_overwritten": (
        "{{ config(materialized='incremental', incremental_strategy='insert_overwrite') }}"
        "{{ change_tables.changes_since(ref('current_feed__full')) }}"
    ),
    "changes_of_two": (
        "{{ config(materialized='incremental') }}{{ change_tables.changes_since(ref('current_feed__full')) }} union all"
        " {{ change_tables.changes_since(ref('current_feed__partial')) }}"
    ),
    "changes_of_a_log": (
        "{{ config(materialized='incremental') }}{{ change_tables.changes_since(ref('dedup_feed__full')) }}"
    ),
    "changes_of_a_history": (
        "{{ config(materialized='incremental') }}{{ change_tables.changes_since(ref('history_feed__full')) }}"
    ),
    "apart": "{{ config(meta={'tables_schema': 'tables'}) }}{{ change_tables.current_state(ref('dedup_feed__full')) }}",
    "as_of": "{{ change_tables.as_of(ref('history_feed__full'), \"timestamp '2026-01-31 12:00:00'\") }}",
}
"""Models that are not made of one entry."""
