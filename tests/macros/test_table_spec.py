"""Every mistake that a user can make in a spec, and what is said about it: all of them in one run, before any model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import pytest
import yaml
from dbt.adapters.factory import reset_adapters
from dbt_common.exceptions import CompilationError

from change_tables.udfs.registration import VERSION_SETTING
from change_tables.version import __version__, compatible_part
from tests.pipelines import idm_cases, kafka_cases, openedge_cases, trail_cases
from tests.pipelines.consumer import REPOSITORY, Consumer, Entry

from .rendering import Lake, Project

FORMAT = {"format": "qlik_change_tables", "key": ["id"]}
KAFKA = {"format": "qlik_kafka", "key": ["id"]}
TRAIL = {"format": "goldengate_trail", "key": ["id"], "table_name": "APP.ORDERS"}
EVENTS = {"format": "idm_event_log", "key": ["id"], "table_name": "usr", "schema_name": "indirect"}
FORMATS = (
    "debezium, dms, full_loads, goldengate_messages, goldengate_trail, idm_event_log, mapped, openedge_cdc,"
    " qlik_change_tables, qlik_kafka"
)
OPENEDGE_LEVEL_0 = {"format": "openedge_cdc", "key_from": "recid", "policy_level": 0, "source_table_number": 12}
OPENEDGE = {"format": "openedge_cdc", "key": ["id"], "tracking": "right", "source_table_number": 12}
RECID = {"format": "openedge_cdc", "key_from": "recid", "tracking": "right", "source_table_number": 12}
COLUMNS = {"id": "bigint", "name": "string"}
ALLOWED = (
    "format, key, images, snapshot, snapshot_seq, snapshot_time, arrival, lookback, orphans, track, "
    "hold_open_transactions, "
)
HEADERS = "change_seq, change_oper, change_mask, stream_position, operation, transaction_id, timestamp, partition_name"

# name of the entry -> (settings, columns, what is said after "change_tables: source 'feed.<name>': ")
MISTAKES: Mapping[str, tuple[Any, Mapping[str, str], str]] = {
    "not_a_mapping": (
        ["id"],
        COLUMNS,
        "`config.meta.change_table` must be a mapping of settings, got ['id']",
    ),
    "no_format": (
        {"key": ["id"]},
        COLUMNS,
        f"`format` must be one of {FORMATS}, got null",
    ),
    "unknown_format": (
        FORMAT | {"format": "csv"},
        COLUMNS,
        f"`format` must be one of {FORMATS}, got 'csv'",
    ),
    "unknown_setting": (
        FORMAT | {"header_prefx": "h_"},
        COLUMNS,
        f"`header_prefx` is no setting of format 'qlik_change_tables'; allowed: {ALLOWED}"
        "headers, header_prefix, mask_order, mask_type",
    ),
    "no_key": ({"format": "qlik_change_tables"}, COLUMNS, "`key` must be given"),
    "null_key": (FORMAT | {"key": None}, COLUMNS, "`key` must be given"),
    "key_is_text": (FORMAT | {"key": "id"}, COLUMNS, "`key` must be a list of names, each once, got 'id'"),
    "empty_key": (
        FORMAT | {"key": []},
        COLUMNS,
        "`key` must name the columns that identify a row, got []; declared: id, name",
    ),
    "key_twice": (
        FORMAT | {"key": ["id", "ID"]},
        COLUMNS,
        "`key` must be a list of names, each once, got ['id', 'ID']",
    ),
    "key_not_declared": (
        FORMAT | {"key": ["order_no"]},
        COLUMNS,
        "`key` must name declared columns, got ['order_no']; declared: id, name",
    ),
    "key_of_many": (
        FORMAT | {"key": ["tags"]},
        {"tags": "array<string>"},
        "`key` must name columns of simple types, got 'tags' of type array<string>",
    ),
    "track_not_declared": (
        FORMAT | {"track": ["nme"]},
        COLUMNS,
        "`track` must name declared columns, got ['nme']; declared: id, name",
    ),
    "no_columns": (FORMAT, {}, "`columns` must declare the source table's columns, got none"),
    "no_data_type": (FORMAT, COLUMNS | {"age": ""}, "`columns`: 'age' must have a data_type"),
    "foreign_type": (
        FORMAT,
        COLUMNS | {"age": "varchar2(10)"},
        "`columns`: 'age' must have a data_type that Spark knows, got 'varchar2(10)'",
    ),
    "too_many_digits": (
        FORMAT,
        COLUMNS | {"age": "decimal(40, 2)"},
        "`columns`: 'age' must have a data_type that Spark knows, got 'decimal(40, 2)'",
    ),
    "more_digits_behind_the_point": (
        FORMAT,
        COLUMNS | {"ages": "array<decimal(2, 3)>"},
        "`columns`: 'ages' must have a data_type that Spark knows, got 'array<decimal(2, 3)>'",
    ),
    "contract_column": (
        FORMAT,
        COLUMNS | {"_change_seq": "string"},
        "`columns` must not use the name of a column that the models add, got '_change_seq'",
    ),
    "column_of_a_step": (
        FORMAT,
        COLUMNS | {"_CT_rank": "int"},
        "`columns` must not begin with _ct_, as columns of the models' steps do, got '_CT_rank'",
    ),
    "columns_twice": (
        FORMAT,
        COLUMNS | {"NAME": "string"},
        "`columns` must name each column once (case does not count), got 'NAME' twice",
    ),
    "images": (FORMAT | {"images": "some"}, COLUMNS, "`images` must be one of full, partial, got 'some'"),
    "null_images": (
        FORMAT | {"images": None},
        COLUMNS,
        "`images` must not be null; leave it out for its default 'full'",
    ),
    "orphans": (FORMAT | {"orphans": "drop"}, COLUMNS, "`orphans` must be one of report, insert, got 'drop'"),
    "snapshot_elsewhere": (
        FORMAT | {"snapshot": "nowhere"},
        COLUMNS,
        "`snapshot` must name another entry of source 'feed', got 'nowhere'; its entries: ",
    ),
    "snapshot_itself": (
        FORMAT | {"snapshot": "snapshot_itself"},
        COLUMNS,
        "`snapshot` must name another entry of source 'feed', got 'snapshot_itself'; its entries: ",
    ),
    "seq_without_snapshot": (
        FORMAT | {"snapshot_seq": "2026"},
        COLUMNS,
        "`snapshot_seq` is the sequence of a load: it needs `snapshot`, which is not set",
    ),
    "seq_is_number": (
        FORMAT | {"snapshot": "images", "snapshot_seq": 2026},
        COLUMNS,
        "`snapshot_seq` must be a text (in quotes), got 2026",
    ),
    "seq_malformed": (
        FORMAT | {"snapshot": "images", "snapshot_seq": "2026-01-01"},
        COLUMNS,
        "`snapshot_seq` must be empty or a change_seq of at most 35 digits, got '2026-01-01'",
    ),
    "time_without_snapshot": (
        FORMAT | {"snapshot_time": "2026-01-31 12:00:00"},
        COLUMNS,
        "`snapshot_time` is the time of a load: it needs `snapshot`, which is not set",
    ),
    "snapshot_time": (
        FORMAT | {"snapshot": "images", "snapshot_time": "2026-02-30 12:00:00"},
        COLUMNS,
        "`snapshot_time` must be empty or a time in UTC, yyyy-mm-dd hh:mm:ss, got '2026-02-30 12:00:00'",
    ),
    "arrival_empty": (
        FORMAT | {"arrival": ""},
        COLUMNS,
        "`arrival` must be auto, none, files or the name of a column of the raw table, got ''",
    ),
    "lookback_negative": (
        FORMAT | {"lookback": -1, "arrival": "landed"},
        COLUMNS,
        "`lookback` must be a number of 0 or more, got -1",
    ),
    "lookback_without_arrival": (
        FORMAT | {"lookback": 1, "arrival": "none"},
        COLUMNS,
        "`lookback` reads again below the highest arrival: it needs `arrival`, which is none",
    ),
    "lookback_with_auto": (
        FORMAT | {"lookback": 1},
        COLUMNS,
        "`lookback` reads again below the highest arrival: change tables have no natural arrival, so it needs"
        " `arrival` to name a column, got 'auto'",
    ),
    "hold_open": (
        FORMAT | {"hold_open_transactions": True},
        COLUMNS,
        "`hold_open_transactions` must be false: change tables do not say where a transaction ends, got true",
    ),
    "hold_open_text": (
        FORMAT | {"hold_open_transactions": "no"},
        COLUMNS,
        "`hold_open_transactions` must be true or false, got 'no'",
    ),
    "headers_unknown": (
        FORMAT | {"headers": ["change_seq", "change_oper", "ts"]},
        COLUMNS,
        f"`headers` must be taken from {HEADERS}, got 'ts'",
    ),
    "headers_without_seq": (
        FORMAT | {"headers": ["change_oper"]},
        COLUMNS,
        "`headers` must hold change_seq, got ['change_oper']",
    ),
    "mask_order": (
        FORMAT | {"mask_order": "big_endian"},
        COLUMNS,
        "`mask_order` must be one of most_significant_first, least_significant_first or null, got 'big_endian'",
    ),
    "mask_type": (FORMAT | {"mask_type": "hex"}, COLUMNS, "`mask_type` must be one of binary, string, got 'hex'"),
    "kafka_setting": (
        KAFKA | {"headers": ["change_seq"]},
        COLUMNS,
        f"`headers` is no setting of format 'qlik_kafka'; allowed: {ALLOWED}"
        "topic, table, table_column, serialization, metadata",
    ),
    "kafka_empty_topic": (
        KAFKA | {"topic": ""},
        COLUMNS,
        "`topic` must not be empty; leave it out where messages are not selected by it",
    ),
    "kafka_table_column": (
        KAFKA | {"table_column": "name"},
        COLUMNS,
        "`table_column` is the column that names the table of a message: it needs `table`, which is not set",
    ),
    "trail_table_name": ({"format": "goldengate_trail", "key": ["id"]}, COLUMNS, "`table_name` must be given"),
    "trail_table_name_empty": (
        TRAIL | {"table_name": ""},
        COLUMNS,
        "`table_name` must be the table's name as the trail has it, got ''",
    ),
    "trail_applied_before_its_end": (
        TRAIL | {"hold_open_transactions": False},
        COLUMNS,
        "`hold_open_transactions` is always true for trails, got false: ",
    ),
    "trail_column_names": (
        TRAIL | {"column_names": "upper"},
        COLUMNS,
        "`column_names` must be one of exact, ignore_case, got 'upper'",
    ),
    "trail_snapshot_seq": (
        TRAIL | {"snapshot": "right", "snapshot_seq": "rt/1/100"},
        COLUMNS,
        "`snapshot_seq` must be empty or a position as `_change_seq` has it",
    ),
    "events_of_no_table": (
        {"format": "idm_event_log", "key": ["id"], "table_name": "", "schema_name": "indirect"},
        COLUMNS,
        "`table_name` must not be empty",
    ),
    "events_of_no_schema": (
        {"format": "idm_event_log", "key": ["id"], "table_name": "usr"},
        COLUMNS,
        "`schema_name` must be given",
    ),
    "events_with_full_images": (EVENTS | {"images": "full"}, COLUMNS, "`images` must be one of partial, got 'full'"),
    "events_replica": (
        EVENTS | {"replica": "events_replica"},
        COLUMNS,
        "`replica` must name another entry of source 'feed', got 'events_replica'; its entries: ",
    ),
    "events_of_nobody": (
        EVENTS | {"driver_user": ""},
        COLUMNS,
        "`driver_user` must not be empty; leave it out where no user is the driver's",
    ),
    "events_held": (
        EVENTS | {"hold_open_transactions": True},
        COLUMNS,
        "`hold_open_transactions` must be false: event logs do not say where a transaction ends, got true",
    ),
    "events_lookback": (
        EVENTS | {"lookback": 3},
        COLUMNS,
        "`lookback` reads again below the highest arrival: event logs have no natural arrival, so it needs `arrival`"
        " to name a column, got 'auto'",
    ),
    "events_snapshot_seq": (
        EVENTS | {"snapshot": "right", "snapshot_seq": "12"},
        COLUMNS,
        "`snapshot_seq` must be empty or a sequence as `_change_seq` has it (record/time of reading/record_id, of"
        " 19, 20 and 19 digits), got '12'",
    ),
    "events_future_snapshot_seq": (
        EVENTS | {"snapshot": "right", "snapshot_seq": "12", "future_events": True},
        COLUMNS,
        "`snapshot_seq` must be empty or a sequence as `_change_seq` has it (time/record/time of reading/record_id, of"
        " 18, 19, 20 and 19 digits), got '12'",
    ),
    "events_of_arrays": (
        EVENTS,
        COLUMNS | {"tags": "array<string>"},
        "`columns` must be of simple types, got 'tags' of type array<string>",
    ),
    "events_name_of_a_column_of_its_own": (
        EVENTS,
        COLUMNS | {"_table_key": "string"},
        "`columns` must not use the name of a column that the models add, got '_table_key'",
    ),
    "trail_name_of_a_column_of_its_own": (
        TRAIL,
        COLUMNS | {"_csn": "string"},
        "`columns` must not use the name of a column that the models add, got '_csn'",
    ),
    "kafka_metadata": (KAFKA | {"metadata": "schemas"}, COLUMNS, "`metadata` must name an entry of source 'feed', got"),
    "kafka_serialization": (
        KAFKA | {"serialization": "xml"},
        COLUMNS,
        "`serialization` must be one of json, json_with_prefix, avro, got 'xml'",
    ),
    "kafka_registry": (
        KAFKA | {"registry": "schemas", "serialization": "avro"},
        COLUMNS,
        "`registry` must name another entry of source 'feed', got 'schemas'; its entries: ",
    ),
    "kafka_registry_of_json": (
        KAFKA | {"registry": "right"},
        COLUMNS,
        "`registry` has the schemas of messages in Avro: it needs `serialization: avro`, got json",
    ),
    "kafka_words": (
        KAFKA | {"operations": {"TRUNCATE": "truncate"}},
        COLUMNS,
        "`operations`: TRUNCATE must mean one of insert, update, delete, snapshot, got 'truncate'",
    ),
    "qlik_words": (
        FORMAT | {"operations": {"UPSERT": "upsert"}},
        COLUMNS,
        "`operations`: UPSERT must mean one of insert, update, delete, before_image, truncate, snapshot, got 'upsert'",
    ),
    "qlik_without_sequence": (
        FORMAT | {"without_sequence": "snapshot"},
        COLUMNS,
        "`without_sequence` must be one of reject, load, got 'snapshot'",
    ),
    "kafka_snapshot_seq": (
        KAFKA | {"snapshot": "right", "snapshot_seq": "now"},
        COLUMNS,
        "`snapshot_seq` must be empty or a changeSequence of at most 35 digits, got 'now'",
    ),
    "kafka_lookback": (
        KAFKA | {"lookback": 5, "hold_open_transactions": True},
        COLUMNS,
        "`lookback` would cut transactions in two, which `hold_open_transactions` then waits for: set one of them,"
        " got 5",
    ),
    "kafka_column_type": (
        KAFKA,
        COLUMNS | {"tags": "array<string>"},
        "`columns` must be of simple types, got 'tags' of type array<string>",
    ),
    "openedge_no_tracking": (
        {name: value for name, value in OPENEDGE.items() if name != "tracking"},
        COLUMNS,
        "`tracking` must be given",
    ),
    "openedge_tracking_elsewhere": (
        OPENEDGE | {"tracking": "nowhere"},
        COLUMNS,
        "`tracking` must name another entry of source 'feed', got 'nowhere'; its entries: ",
    ),
    "openedge_tracking_of_another_table": (
        RECID | {"policy_level": 0},
        {},
        "`tracking` must be the entry's own raw table where `policy_level` is 0, got 'right' for ",
    ),
    "openedge_no_table_number": (
        {"format": "openedge_cdc", "key": ["id"], "tracking": "right"},
        COLUMNS,
        "`source_table_number` must be given",
    ),
    "openedge_table_number_is_text": (
        OPENEDGE | {"source_table_number": "12"},
        COLUMNS,
        "`source_table_number` must be a number of 0 or more, got '12'",
    ),
    "openedge_half_a_table_number": (
        OPENEDGE | {"source_table_number": 12.5},
        COLUMNS,
        "`source_table_number` must be a whole number, got 12.5",
    ),
    "openedge_no_key": (
        {name: value for name, value in OPENEDGE.items() if name != "key"},
        COLUMNS,
        "`key` must be given",
    ),
    "openedge_key_not_declared": (
        OPENEDGE | {"key": ["order_no"]},
        COLUMNS,
        "`key` must name declared columns, got ['order_no']; declared: id, name",
    ),
    "openedge_two_keys": (
        RECID | {"key": ["id"]},
        COLUMNS,
        "`key` must be left out with `key_from: recid`, got ['id']",
    ),
    "openedge_recid_without_tracking": (
        RECID | {"without_tracking": "apply"},
        COLUMNS,
        "`without_tracking` must be wait with `key_from: recid`, got 'apply': without tracking there is no recid",
    ),
    "openedge_level": (
        OPENEDGE | {"policy_level": 4},
        COLUMNS,
        "`policy_level` must be one of 0, 1, 2, 3, got 4",
    ),
    "openedge_fields_of_level_1": (
        OPENEDGE | {"policy_level": 1},
        COLUMNS,
        "`key_from` must be recid where `policy_level` is 1, which writes no fields, got 'fields'",
    ),
    "openedge_columns_of_level_0": (
        RECID | {"policy_level": 0},
        COLUMNS,
        "`columns` must not be declared where `policy_level` is 0, which writes no values, got id, name",
    ),
    "openedge_no_columns": (RECID, {}, "`columns` must declare the source table's columns, got none"),
    "openedge_hold_open": (
        OPENEDGE | {"hold_open_transactions": True},
        COLUMNS,
        "`hold_open_transactions` must be false: tables of OpenEdge CDC do not say where a transaction ends, got true",
    ),
    "openedge_lookback": (
        OPENEDGE | {"lookback": 1},
        COLUMNS,
        "`lookback` reads again below the highest arrival: tables of OpenEdge CDC have no natural arrival, so it needs"
        " `arrival` to name a column, got 'auto'",
    ),
    "openedge_snapshot_seq": (
        OPENEDGE | {"snapshot": "right", "snapshot_seq": "42"},
        COLUMNS,
        "`snapshot_seq` must be empty or a sequence of 19 digits, as `_change_seq` has it, got '42'",
    ),
    "openedge_null_without_field_map": (
        OPENEDGE | {"null_without_field_map": "drop"},
        COLUMNS,
        "`null_without_field_map` must be one of keep, set, got 'drop'",
    ),
    "openedge_nested_column": (
        OPENEDGE,
        COLUMNS | {"tags": "array<array<string>>"},
        "`columns` must be of simple types or arrays of them, got 'tags' of type array<array<string>>",
    ),
    "openedge_name_of_a_column_of_its_own": (
        OPENEDGE,
        COLUMNS | {"_parts": "int"},
        "`columns` must not use the name of a column that the models add, got '_parts'",
    ),
    "openedge_name_of_its_key": (
        RECID,
        COLUMNS | {"_recid": "bigint"},
        "`columns` must not use the name of a column that the models add, got '_recid'",
    ),
    "header_prefix": (FORMAT | {"header_prefix": 7}, COLUMNS, "`header_prefix` must be a text (in quotes), got 7"),
}

# name of the entry -> (settings, columns, what columns have in `config.meta`, what is said)
MISTAKES_OF_COLUMNS: Mapping[str, tuple[Any, Mapping[str, str], Mapping[str, Mapping[str, Any]], str]] = {
    "multi_valued_key": (
        EVENTS,
        COLUMNS,
        {"id": {"multi_valued": True}},
        "`key` and `track` must name columns of the state, got the multi-valued 'id'",
    ),
    "multi_valued_text": (
        EVENTS,
        COLUMNS,
        {"name": {"multi_valued": "yes"}},
        "`columns`: `multi_valued` of 'name' must be true or false, got 'yes'",
    ),
    "retired_text": (
        FORMAT,
        COLUMNS,
        {"name": {"retired": "yes"}},
        "`retired` of column 'name' must be true, false or hide, got 'yes'",
    ),
    "retired_key": (
        FORMAT,
        COLUMNS,
        {"id": {"retired": True}},
        "`retired` must be of columns that are no key, got 'id'",
    ),
    "renamed_number": (
        FORMAT,
        COLUMNS,
        {"name": {"renamed_from": 7}},
        "`renamed_from` of column 'name' must be a name, or a list of names, each once (case does not count), got 7",
    ),
    "renamed_twice": (
        FORMAT,
        COLUMNS,
        {"name": {"renamed_from": ["title", "Title"]}},
        "`renamed_from` of column 'name' must be a name, or a list of names, each once (case does not count),"
        " got ['title', 'Title']",
    ),
    "renamed_from_itself": (
        FORMAT,
        COLUMNS,
        {"name": {"renamed_from": "Name"}},
        "`renamed_from` of column 'name' must be another name (case does not count), got 'Name'",
    ),
    "renamed_from_declared": (
        FORMAT,
        COLUMNS,
        {"name": {"renamed_from": ["title", "ID"]}},
        "`renamed_from` of column 'name' must not be a declared column: take 'id' out of `columns`, it is 'name' now",
    ),
    "renamed_from_one": (
        FORMAT,
        COLUMNS,
        {"id": {"renamed_from": "title"}, "name": {"renamed_from": "Title"}},
        "`renamed_from` of column 'name' must not be that of another column, got 'Title', which is of 'id'",
    ),
    "until_not_retired": (
        FORMAT,
        COLUMNS,
        {"name": {"until": "2026-01-31"}},
        "`until` of column 'name' is the last day of a retired column: it needs `retired: true`",
    ),
    "until_no_day": (
        FORMAT,
        COLUMNS,
        {"name": {"retired": True, "until": "2026-02-30"}},
        "`until` of column 'name' must be a day, yyyy-mm-dd, got '2026-02-30'",
    ),
    "renamed_and_retired": (
        FORMAT,
        COLUMNS,
        {"name": {"renamed_from": "title", "retired": True}},
        "`renamed_from` of column 'name' must not stand beside `retired`: a column that is gone has no new name",
    ),
    "openedge_extent_of_text": (
        OPENEDGE,
        COLUMNS,
        {"name": {"extent": 3}},
        "`columns`: 'name' has an `extent` and must be of type array<…>, got string",
    ),
    "openedge_extent_of_nothing": (
        OPENEDGE,
        COLUMNS | {"tags": "array<string>"},
        {"tags": {"extent": 0}},
        "`columns`: `extent` of 'tags' must be a whole number of 1 or more, got 0",
    ),
}


SESSION = {
    "spark.sql.session.timeZone": "America/Los_Angeles",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.caseSensitive": "true",
}

THREE_HEADERS: dict[str, Any] = {"headers": ["change_seq", "change_oper", "change_mask"]}
LANDED = {f"header__{name}": "string" for name in THREE_HEADERS["headers"]} | COLUMNS
AS_TEXT = FORMAT | THREE_HEADERS | {"mask_type": "string"}
NESTED = COLUMNS | {
    "name": "array<int>",
    "day": "date",
    "at": "timestamp",
    "bytes": "binary",
    "place": "struct<a:int>",
}
NESTED_LANDED = {"name": "string", "day": "int", "at": "bigint", "bytes": "int", "place": "struct<b:int>"}
NOT_AN_ARRIVAL = "`arrival` must be a column of whole numbers, decimals, dates, times or text, got 'at' of type"

# name of the entry -> (settings, columns, what lands, the model that says so, what is said)
MISFITS: Mapping[str, tuple[Any, Mapping[str, str], Mapping[str, str], str, str]] = {
    "lacks_columns": (
        FORMAT,
        COLUMNS,
        LANDED,
        "stg",
        "the raw table mistakes_raw.lacks_columns must have the columns that the spec names, it lacks"
        " header__stream_position, header__operation, header__transaction_id, header__timestamp; declare the columns"
        " that it has, and list its header columns in `headers`",
    ),
    "other_mask": (
        FORMAT | THREE_HEADERS,
        COLUMNS,
        LANDED,
        "stg",
        "`mask_type` must be the type of header__change_mask in mistakes_raw.other_mask, which is string, got 'binary'",
    ),
    "no_arrival": (
        AS_TEXT | {"arrival": "landed"},
        COLUMNS,
        LANDED,
        "dedup",
        "the raw table mistakes_raw.no_arrival must have the columns that the spec names, it lacks landed;"
        " `arrival` must be one of its columns",
    ),
    **{
        f"{kind}_arrival": (
            AS_TEXT | {"arrival": "at"},
            COLUMNS,
            LANDED | {"at": kind},
            "dedup",
            f"{NOT_AN_ARRIVAL} {kind}",
        )
        for kind in ("float", "double", "boolean")
    },
    **{
        f"{model}_of_{name}_as_text": (
            spec,
            COLUMNS,
            record | dict.fromkeys(numbers, "string"),
            model,
            f"columns of mistakes_raw.{model}_of_{name}_as_text must land as whole numbers "
            + "(bigint, int or decimal(p,0)): "
            + "; ".join(f"{number}, which lands as string" for number in numbers)
            + "; land them so, or let the entry read a view that casts them",
        )
        for model, name, spec, record, numbers in (
            ("stg", "offsets", KAFKA, kafka_cases.RECORD, ["offset"]),
            ("dedup", "offsets", KAFKA, kafka_cases.RECORD, ["offset"]),
            (
                "stg",
                "positions",
                TRAIL,
                trail_cases.RECORD,
                ["trail_seqno", "trail_rba", "io_type", "trans_ind"],
            ),
            ("dedup", "positions", TRAIL, trail_cases.RECORD, ["trail_seqno", "trail_rba"]),
        )
    },
    # what a feed itself reads, in types from which it cannot be read
    **{
        f"{name}_in_other_types": (
            spec,
            columns,
            landed | others,
            "stg",
            f"columns of mistakes_raw.{name}_in_other_types must land in types that the declared ones are read from"
            f" (see docs/landed_types.md): {said}",
        )
        for name, spec, columns, landed, others, said in (
            (
                "images",
                TRAIL,
                COLUMNS,
                trail_cases.RECORD,
                {"after_data": "struct<id:bigint>", "tokens": "string", "rec_count": "binary"},
                "after_data is map<string, string>, and lands as struct<id:bigint>: must be map<…>; tokens is"
                " map<string, string>, and lands as string: must be map<…>",
            ),
            (
                "times",
                EVENTS,
                COLUMNS,
                idm_cases.EVENT,
                {"event_time": "bigint"},
                "event_time is timestamp, and lands as bigint: must be string, date, timestamp, timestamp_ntz",
            ),
            (
                "maps",
                OPENEDGE_LEVEL_0,
                {},
                openedge_cases.TRACKING,
                {"_Change-FieldMap": "array<string>", "_Operation": "date"},
                "_Operation is bigint, and lands as date: must be boolean, tinyint, smallint, int, bigint, decimal,"
                " float, double, string; _Change-FieldMap is string, and lands as array<string>: must be boolean,"
                " tinyint, smallint, int, bigint, decimal, float, double, string, binary, date, timestamp,"
                " timestamp_ntz",
            ),
        )
    },
    "messages_as_structs": (
        KAFKA,
        COLUMNS,
        kafka_cases.RECORD | {"value": "struct<data:map<string,string>>"},
        "stg",
        "a message needs the column value of mistakes_raw.messages_as_structs to be string or binary, it is"
        " struct<data:map<string,string>>",
    ),
    "text_looks_back": (
        AS_TEXT | {"arrival": "at", "lookback": 2},
        COLUMNS,
        LANDED | {"at": "string"},
        "dedup",
        "`arrival` must be a column of whole numbers, decimals, dates or times where `lookback` is set, got 'at' of"
        " type string",
    ),
    "load_without_key": (
        AS_TEXT | {"snapshot": "keyless"},
        COLUMNS,
        LANDED,
        "stg",
        "the raw table mistakes_raw.keyless must have the columns that the spec names, it lacks id; a snapshot has the"
        " table's key",
    ),
    "keyless": (
        AS_TEXT,
        COLUMNS,
        {name: landed for name, landed in LANDED.items() if name != "id"},
        "stg",
        "the raw table mistakes_raw.keyless must have the columns that the spec names, it lacks id; declare the columns"
        " that it has, and list its header columns in `headers`",
    ),
    "no_tracking_table": (
        OPENEDGE | {"tracking": "no_arrival"},
        COLUMNS,
        LANDED,
        "stg",
        "the raw table mistakes_raw.no_arrival must have the columns that the spec names, it lacks _Change-Sequence,"
        " _Operation, _Source-Table-Number; OpenEdge's names are matched without case, `-` and `_`",
    ),
    "nested": (
        AS_TEXT,
        NESTED,
        LANDED | NESTED_LANDED,
        "stg",
        "columns of mistakes_raw.nested must land in types that the declared ones are read from (see"
        " docs/landed_types.md): name is array<int>, and lands as string: must be array<…>; day is date, and lands as"
        " int: must be string, date, timestamp, timestamp_ntz; at is timestamp, and lands as bigint: must be string,"
        " date, timestamp, timestamp_ntz; bytes is binary, and lands as int: must be binary; place is struct<a:int>,"
        " and lands as struct<b:int>: must have the field a, which it lacks",
    ),
    **{
        f"sequence_{number}": (
            AS_TEXT,
            COLUMNS,
            LANDED | {"header__change_seq": landed},
            "stg",
            f"header__change_seq of mistakes_raw.sequence_{number} must land as text, or as decimal(35,0) to"
            f" decimal(38,0), since other numbers cannot hold its 35 digits, got {landed}",
        )
        for number, landed in enumerate(("double", "bigint", "decimal(34,0)", "decimal(38,2)"))
    },
}
"""Specs that are right by themselves, and do not fit their raw tables."""


LAST_DAYS = {"yesterday": date(2026, 1, 30), "today": "2026-01-31", "tomorrow": date(2026, 2, 1)}
"""The last days on which retired columns are shown, with and without quotes in YAML, by names for a run of RUNS[0]."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project with all of the mistakes."""
    consumer = Consumer(tmp_path_factory.mktemp("mistakes") / "project", 1, "mistakes")
    entries = [Entry(name, spec, columns, models=()) for name, (spec, columns, _) in MISTAKES.items()]
    entries += [
        Entry(name, spec, columns, models=(), column_meta=column_meta)
        for name, (spec, columns, column_meta, _) in MISTAKES_OF_COLUMNS.items()
    ]
    entries += [Entry(name, spec, columns, models=("stg", "dedup")) for name, (spec, columns, *_) in MISFITS.items()]
    last_days = {name: {"retired": True, "until": day} for name, day in LAST_DAYS.items()}
    entries.append(
        Entry("until", FORMAT, COLUMNS | dict.fromkeys(LAST_DAYS, "string"), models=(), column_meta=last_days)
    )
    consumer.write([*entries, Entry("right", FORMAT, COLUMNS, models=("stg",))])
    yield Project(consumer)
    reset_adapters()


def _said(project: Project, session: Mapping[str, str], **variables: Any) -> str:
    """What the check at the start of a run says, in a session with these settings, and with these variables."""
    settings = [{"key": name, "value": value} for name, value in session.items()]
    lake = Lake({}, answers={"^set$": settings, r"^select current_timezone\(\)$": [{"zone": "Etc/UTC"}]})
    with pytest.raises(CompilationError) as refused:
        project.macros("stg_feed__right", lake, variables=variables)("check_table_specs")
    return str(refused.value)


@pytest.fixture(scope="module")
def said(project: Project) -> str:
    """What a run with all of the mistakes says, in a session with all of the wrong settings."""
    return _said(project, SESSION)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_names_its_entry_its_setting_what_is_allowed_and_what_was_found(said: str, name: str) -> None:
    assert f"change_tables: source 'feed.{name}': {MISTAKES[name][2]}" in said


@pytest.mark.parametrize("name", MISTAKES_OF_COLUMNS)
def test_a_mistake_in_the_settings_of_a_column_is_named_in_the_same_way(said: str, name: str) -> None:
    assert f"change_tables: source 'feed.{name}': {MISTAKES_OF_COLUMNS[name][3]}" in said


def test_a_right_entry_is_not_named_among_the_wrong_ones(said: str) -> None:
    assert [name for name in ("right", *MISFITS) if f"'feed.{name}':" in said] == []


def test_a_retired_column_is_hidden_when_its_last_day_is_over(project: Project) -> None:
    spec = project.macros("stg_feed__right")("table_spec", "feed", "until")
    assert (spec["retired"], spec["hidden"]) == (list(LAST_DAYS), ["yesterday"])


def test_a_session_that_would_make_other_rows_is_refused_by_each_of_its_settings(said: str) -> None:
    wanted = ["UTC", "TIMESTAMP_LTZ", "EXCEPTION", "false", "false"]
    listed = zip(SESSION.items(), wanted, strict=True)
    mistakes = "; ".join(f"`{name}` must be {right}, got '{value}'" for (name, value), right in listed)
    assert (
        f"change_tables: the sessions that dbt opens at the server would make other rows: {mistakes}; set it where the"
        " server starts, or under `server_side_parameters` in the profile, as `set:<name>: <value>`"
    ) in said


@pytest.mark.parametrize("session", [{}, {"spark.sql.session.timeZone": "gmt"}, {"spark.sql.caseSensitive": "FALSE"}])
def test_a_session_whose_settings_are_right_however_they_are_spelt_is_not_refused(
    project: Project, session: Mapping[str, str]
) -> None:
    assert "the sessions that dbt opens" not in _said(project, session)


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("change_tables_runs", "a-b", "a name, or false for no table of runs, got 'a-b'"),
        ("change_tables_runs_schema", 7, "a name, got 7"),
    ],
)
def test_a_name_that_the_table_of_runs_cannot_have_is_refused(
    project: Project, said: str, variable: str, value: Any, message: str
) -> None:
    assert "the variable `change_tables_runs" not in said
    assert f"the variable `{variable}` must be {message}" in _said(project, {}, **{variable: value})


def test_package_server_and_commands_have_one_version(project: Project) -> None:
    declared = yaml.safe_load((REPOSITORY / "dbt_project.yml").read_text())["version"]
    assert declared == __version__
    assert project.macros("stg_feed__right")("version_of_package") == __version__


@pytest.mark.parametrize(
    "version", ["0.0.9", "0.1.0", "0.1.9", "0.2.0", "1.0.0", "1.4.2", "2.0.0", "10.1.0", "0", "1", "dev"]
)
def test_macro_and_command_line_agree_which_part_of_a_version_counts(project: Project, version: str) -> None:
    assert project.macros("stg_feed__right")("_compatible_part", version) == compatible_part(version)


@pytest.mark.parametrize("version", ["0.99.0", "99.1.0"])
def test_a_server_of_another_version_is_refused_with_both_versions_and_what_to_do(
    project: Project, version: str
) -> None:
    assert (
        f"change_tables: the package is version {__version__}, and the server has the functions of version {version}:"
        f" take version {version} of the package in packages.yml and run `dbt deps`, or install version {__version__}"
        " where the server starts, and restart it"
    ) in _said(project, {VERSION_SETTING: version})


@pytest.mark.parametrize(
    "session", [{}, {VERSION_SETTING: __version__}, {VERSION_SETTING: f"{compatible_part(__version__)}.99"}]
)
def test_a_server_that_fits_and_one_that_says_no_version_are_not_refused(
    project: Project, session: Mapping[str, str]
) -> None:
    assert "the functions of version" not in _said(project, session)


@pytest.mark.parametrize("name", MISFITS)
def test_a_spec_that_does_not_fit_its_raw_table_says_so(project: Project, name: str) -> None:
    lake = Lake({f"mistakes_raw.{entry}": landed for entry, (_, _, landed, _, _) in MISFITS.items()})
    model, expected = MISFITS[name][3:]
    with pytest.raises(CompilationError) as refused:
        project.run(f"{model}_feed__{name}", lake)
    assert f"change_tables: source 'feed.{name}': {expected}" in str(refused.value)
