"""The formats of feeds that the generator knows: the reader of each, and what its models and tests need besides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from .found import Found, Lake

Reader = Callable[[Lake, str, Mapping[str, str]], Found]


@dataclass(frozen=True)
class Format:
    """What of a format decides how its models and tests are written."""

    shared_by: str = ""
    """Which entries need a model of unclaimed rows: those of one `raw table`, or of one value of a setting."""
    needs_a_choice: Sequence[str] = ()
    """Settings by which an entry takes some rows only. An entry alone in its raw table, without any, takes all. Empty:
    it never does."""
    chosen_by: Sequence[str] = ()
    """Settings that say which rows of a raw table are an entry's: two entries that differ in one are of two tables."""
    rows: str = "raw row of {table}"
    """What a staging model has a row for."""
    columns_are_seen: bool = True
    """Whether the raw table has the source's columns: else a reader knows those that some rows have."""
    order_counts: Callable[[Mapping[str, Any]], bool] = lambda _: False
    """Whether a mask counts the declared columns by their order, by the settings of an entry."""
    shown: Sequence[str] = ()
    """Settings that say how the raw table is made: where that has changed, an entry is wrong."""
    says_what_is_new: bool = False
    """Whether raw rows say by themselves which landed after which: else each run may have to compare all of them."""
    own_columns: Sequence[str] = ()
    """Columns that the models add for this format alone: no declared column can have their name."""
    own_keys: Mapping[tuple[str, Any], Sequence[str]] | None = None
    """A setting and its value under which the user declares no key -> the key columns that the models have."""


RAW_TABLE = "raw table"

FORMATS: Mapping[str, Format] = {
    "debezium": Format(chosen_by=("table",), columns_are_seen=False, rows="event of {table}", says_what_is_new=True),
    "dms": Format(rows="row of the files of {table}", shown=("sequence_column", "before_prefix")),
    "full_loads": Format(
        rows="row of a load of {table}, and per key that ends",
        says_what_is_new=True,
        shown=("load_column",),
        own_columns=("_load_rows", "_earlier_rows"),
    ),
    "goldengate_messages": Format(
        chosen_by=("table",), columns_are_seen=False, rows="message of {table}", says_what_is_new=True
    ),
    "goldengate_trail": Format(
        shared_by=RAW_TABLE,
        chosen_by=("table_name",),
        columns_are_seen=False,
        rows="record of {table}",
        says_what_is_new=True,
        own_columns=("_csn", "_format_type", "_audit_rba", "_audit_pos"),
    ),
    "idm_event_log": Format(
        shared_by=RAW_TABLE,
        chosen_by=("table_name",),
        columns_are_seen=False,
        rows="event of {table}",
        own_columns=("_event_type", "_column_name", "_old_value", "_new_value", "_table_key"),
    ),
    "openedge_cdc": Format(
        shared_by="tracking",
        chosen_by=("source_table_number",),
        rows="change row of {table}, and per tracking row that has none",
        own_columns=("_parts", "_has_tracking"),
        own_keys={("key_from", "recid"): ("_partition_id", "_recid")},
    ),
    "qlik_change_tables": Format(
        rows="row of the change table of {table}",
        order_counts=lambda settings: "change_mask" in settings.get("headers", ["change_mask"]),
        shown=("headers", "header_prefix", "mask_type"),
    ),
    "qlik_kafka": Format(
        shared_by=RAW_TABLE,
        needs_a_choice=("topic", "table", "table_column"),
        chosen_by=("topic", "table"),
        columns_are_seen=False,
        rows="message of {table}",
        says_what_is_new=True,
    ),
}

ADDED_COLUMNS = frozenset(
    {
        "_change_op",
        "_change_seq",
        "_changed_at",
        "_transaction_id",
        "_change_id",
        "_present_columns",
        "_changed_columns",
        "_key_before",
        "_raw_id",
        "_report",
        "_raw_row",
        "_status",
        "_status_reason",
        "_batch_id",
        "_is_conflicting",
        "_row_hash",
        "_schema_version",
        "_precedence",
        "_is_deleted",
        "_has_row",
        "_is_last",
        "_latest_at",
        "_checkpoint",
        "_valid_from",
        "_valid_to",
        "_valid_from_seq",
        "_valid_to_seq",
        "_is_current",
    }
)
"""Columns that the models of every format add: macros/spec/contract_columns.sql, which a test compares."""

WORKING_PREFIX = "_ct_"
"""What the columns of the models' steps begin with."""


def reader_of(name: str) -> tuple[Reader, Mapping[str, str]]:
    """The reader of a format, and the meaning of its options."""
    module = import_module(f".{name}", __package__)
    return module.read, module.OPTIONS


def taken_names(name: str) -> frozenset[str]:
    """Names of columns that the models of a format add, in small letters: no declared column can have one."""
    return ADDED_COLUMNS | set(FORMATS[name].own_columns)


def own_key(name: str, settings: Mapping[str, Any]) -> Sequence[str]:
    """The key columns that the models have of their own under these settings; empty where the user declares the key."""
    for (setting, value), columns in (FORMATS[name].own_keys or {}).items():
        if settings.get(setting) == value:
            return columns
    return ()
