"""What is found of AWS DMS, of Debezium, and of GoldenGate's handlers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from change_tables.generator import debezium, dms, goldengate_messages
from change_tables.generator.found import Found, LakeError
from tests.generator.change_tables import ChangeTables
from tests.generator.fake_lake import FakeLake

RECORD = {"topic": "string", "partition": "int", "offset": "bigint", "key": "string", "value": "binary"}
TIME = "2026-01-31:12:30:00"
"""As GoldenGate writes one by default."""
POSITION = ["topic", "partition", "offset"]
FILES = {"Op": "string", "change_seq": "string", "id": "bigint", "name": "string", "landed_at": "timestamp"}
Told = tuple[str | None, Any, Mapping[str, Any]]
"""The name of a table, a key, and a message."""


def of_messages(*told: Told, columns: Mapping[str, str] = RECORD, records: str = "records") -> FakeLake:
    """A lake with one raw table of these messages."""
    rows = [(records, name, json.dumps(key) if key else None, json.dumps(message)) for name, key, message in told]
    return FakeLake({records: columns}, {"get_json_object": rows})


def columns_of(found: Found) -> list[dict[str, str]]:
    """Name and type of the columns of each table."""
    return [{column.name: column.data_type for column in table.columns} for table in found.tables]


def test_a_table_of_dms_has_its_columns_without_those_that_dms_adds() -> None:
    lake = ChangeTables({"raw_Orders": FILES | {"BI_id": "bigint", "BI_other": "int"}, "orders": {"id": "bigint"}})
    found = dms.read(lake, "raw", {"tables": "raw_*", "ignore": "landed_*"})
    assert found.troubles == []
    assert [(table.name, dict(table.settings)) for table in found.tables] == [
        ("orders", {"format": "dms", "sequence_column": "change_seq", "before_prefix": "BI_"})
    ]
    # BI_other is of no column
    assert columns_of(found) == [{"id": "bigint", "name": "string", "BI_other": "int"}]


def test_columns_of_dms_can_have_other_names() -> None:
    lake = ChangeTables({"orders": {"OPER": "string", "Seq": "decimal(35,0)", "at": "string", "id": "bigint"}})
    options = {"operation_column": "oper", "sequence_column": "seq", "time_column": "AT"}
    (table,) = dms.read(lake, "raw", options).tables
    assert table.settings == {
        "format": "dms",
        "sequence_column": "Seq",
        "operation_column": "OPER",
        "time_column": "at",
    }
    assert [column.name for column in table.columns] == ["id"]


def operation(op: str, *key: str, table: str = "SHOP.ORDERS", **images: Any) -> Told:
    """A message of GoldenGate in the form of the operation."""
    return table, None, {"table": table, "op_type": op, "pos": "1", "primary_keys": list(key), **images}


def test_messages_of_goldengate_give_columns_guessed_types_and_the_key() -> None:
    found = goldengate_messages.read(
        of_messages(
            operation("I", "ID", after={"ID": 7, "NAME": "x", "NAME_isMissing": False, "PAID": True, "AT": TIME}),
            operation(
                "U", "ID", before={"ID": 7}, after={"ID": 7, "AMOUNT": 1.50, "NAME": None, "NAME_isMissing": True}
            ),
            operation("T", "ID"),
        ),
        "raw",
        {},
    )
    (table,) = found.tables
    assert (table.name, table.identifier, table.key) == ("orders", "records", ["ID"])
    assert table.settings == {"format": "goldengate_messages", "position": POSITION}
    assert columns_of(found) == [
        {"ID": "bigint", "NAME": "string", "PAID": "boolean", "AT": "timestamp", "AMOUNT": "decimal(38,1)"}
    ]
    assert {column.name: column.note for column in table.columns}["AMOUNT"] == "a guess from 1 value"


def test_a_raw_table_with_messages_of_several_tables_is_read_by_their_names() -> None:
    lake = of_messages(
        operation("I", "ID", after={"ID": 7}),
        operation("I", table="SHOP.LINES", NO=1, op_ts="2026-01-31", tokens={}),
        columns={"value": "string"},
    )
    tables = goldengate_messages.read(lake, "raw", {}).tables
    assert [dict(table.settings) for table in tables] == [
        {"format": "goldengate_messages", "layout": "row", "table": "SHOP.LINES"},
        {"format": "goldengate_messages", "table": "SHOP.ORDERS"},
    ]
    assert [[column.name for column in table.columns] for table in tables] == [["NO"], ["ID"]]
    assert [table.key for table in tables] == [[], ["ID"]]


@pytest.mark.parametrize(
    ("columns", "layout", "wanted"),
    [
        (
            {"op_type": "string", "pos": "string", "after": "struct<ID:bigint,ID_isMissing:boolean,SUM:decimal(9,2)>"},
            "operation_columns",
            {"ID": "bigint", "SUM": "decimal(9,2)"},
        ),
        (
            {"topic": "string", "partition": "int", "offset": "bigint", "table": "string", "op_type": "string"}
            | {"pos": "string", "ID": "bigint", "ID_isMissing": "boolean"},
            "row_columns",
            {"ID": "bigint"},
        ),
    ],
)
def test_messages_of_goldengate_that_have_landed_as_columns_have_their_types(
    columns: Mapping[str, str], layout: str, wanted: Mapping[str, str]
) -> None:
    found = goldengate_messages.read(ChangeTables({"ORDERS": columns}), "raw", {})
    assert found.tables[0].settings["layout"] == layout
    assert columns_of(found) == [wanted]


SOURCE = {"connector": "postgresql", "table": "orders"}
VALUE = [
    {"field": "id", "type": "int64"},
    {"field": "ordered_on", "type": "int32", "name": "io.debezium.time.Date"},
    {"field": "paid_at", "type": "int64", "name": "io.debezium.time.MicroTimestamp"},
    {
        "field": "amount",
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "4", "connect.decimal.precision": "18"},
    },
    {"field": "tags", "type": "array"},
]


def event(**after: Any) -> dict[str, Any]:
    """A change event without its schema."""
    return {"op": "u", "source": SOURCE, "before": None, "after": after}


def test_events_without_a_schema_give_guessed_types_and_keys_of_records_the_key() -> None:
    found = debezium.read(
        of_messages(
            ("orders", {"id": 7}, event(id=7, name="__debezium_unavailable_value")),
            ("orders", {"id": 8}, event(id=8, name="12", note=None)),
        ),
        "raw",
        {},
    )
    (table,) = found.tables
    assert table.settings == {"format": "debezium", "connector": "postgresql", "position": POSITION}
    assert table.key == ["id"]
    assert columns_of(found) == [{"id": "bigint", "name": "bigint", "note": "string"}]


def test_a_name_that_one_event_spells_otherwise_is_no_second_column() -> None:
    events = [event(id=7, name="x"), event(ID=8, NAME="y"), event(id=9, name="z")]
    found = debezium.read(of_messages(*(("orders", None, each) for each in events)), "raw", {})
    assert columns_of(found) == [{"id": "bigint", "name": "string"}]


def test_an_event_with_its_schema_gives_types_and_how_values_are_written() -> None:
    schema = {"type": "struct", "fields": [{"field": "op"}, {"field": "after", "fields": VALUE}]}
    key = {"schema": {"type": "struct"}, "payload": {"id": 7}}
    told = [
        ("orders", key, event(id=1)),
        ("orders", key, {"schema": schema, "payload": event(id=7, ordered_on=20_000)}),
        ("lines", None, event(no=1)),
    ]
    lines, orders = debezium.read(of_messages(*told), "raw", {}).tables
    assert (lines.settings["table"], orders.settings["table"], orders.key) == ("lines", "orders", ["id"])
    assert [(column.name, column.data_type, column.meta.get("written_as")) for column in orders.columns] == [
        ("id", "bigint", None),
        ("ordered_on", "date", "epoch_days"),
        ("paid_at", "timestamp_ntz", "epoch_micros"),
        ("amount", "decimal(18,4)", "base64_decimal"),
        ("tags", "string", None),
    ]


def test_flattened_events_and_structs_need_the_connector() -> None:
    lake = ChangeTables(
        {
            "flat": {"id": "bigint", "__op": "string", "__lsn": "bigint", "offset": "bigint"},
            "structs": {"op": "string", "after": "struct<id:bigint,name:string>", "source": "struct<table:string>"},
        }
    )
    refused = debezium.read(lake, "raw", {})
    assert (refused.tables, [trouble.place for trouble in refused.troubles]) == ([], ["raw.flat", "raw.structs"])
    found = debezium.read(lake, "raw", {"connector": "mysql"})
    assert [dict(table.settings) for table in found.tables] == [
        {"format": "debezium", "connector": "mysql", "layout": "flattened"},
        {"format": "debezium", "connector": "mysql", "layout": "columns"},
    ]
    assert columns_of(found) == [{"id": "bigint", "offset": "bigint"}, {"id": "bigint", "name": "string"}]
    flat = of_messages((None, None, {"id": 1, "name": "x", "__op": "c", "__source_connector": "mysql"}))
    (table,) = debezium.read(flat, "raw", {}).tables
    assert (table.name, table.settings["layout"]) == ("records", "flattened_message")
    assert [column.name for column in table.columns] == ["id", "name"]


READERS = {"debezium": debezium.read, "goldengate_messages": goldengate_messages.read}


@pytest.mark.parametrize("feed", READERS)
def test_what_cannot_be_read_is_a_trouble(feed: str) -> None:
    def troubles(lake: FakeLake, **options: str) -> Sequence[str]:
        return [f"{trouble.place}: {trouble.text}" for trouble in READERS[feed](lake, "raw", options).troubles]

    assert troubles(of_messages()) == ["raw: no message in records is JSON of the feed"]
    assert troubles(FakeLake({"orders": {"id": "int"}}, {}))[0].startswith("raw: no table has the columns of the feed")
    assert troubles(of_messages(), sample="0")[0].startswith("option sample: must be a whole number")
    failing = FakeLake({"records": RECORD}, {"get_json_object": LakeError("it is locked")})
    assert troubles(failing) == ["raw.records: it is locked"]


def test_a_connector_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="option connector must be one of postgresql, "):
        debezium.read(ChangeTables({}), "raw", {"connector": "postgres"})


def of_schemas(*told: tuple[str, int, Any, Any]) -> FakeLake:
    """A lake whose messages have these schemas: raw table, id, schema, and that of the key."""
    rows = [(raw, str(id_), json.dumps(schema), json.dumps(key) if key else None) for raw, id_, schema, key in told]
    tables = {raw: RECORD | {"key": "binary"} for raw, *_ in told}
    return FakeLake({**tables, "schema_records": {"id": "bigint", "schema": "string"}}, {"startswith(value": rows})


def record(name: str, *fields: tuple[str, Any]) -> dict[str, Any]:
    """A record of Avro; the name has its namespace."""
    namespace, _, last = name.rpartition(".")
    named = [{"name": field, "type": kind} for field, kind in fields]
    return {"type": "record", "name": last, "namespace": namespace, "fields": named}


def envelope_of(table: str, *columns: tuple[str, Any]) -> dict[str, Any]:
    """The schema of the events of a table."""
    name, source = f"shop.public.{table}", record("io.debezium.connector.postgresql.Source", ("lsn", ["null", "long"]))
    value = ["null", record(f"{name}.Value", *columns)]
    images = (("before", value), ("after", ["null", "Value"]))
    return record(f"{name}.Envelope", *images, ("source", source), ("op", "string"))


def test_avro_after_a_registrys_prefix_is_read_by_the_schemas_of_debezium() -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
    date = {"type": "int", "connect.name": "io.debezium.time.Date"}
    columns = (("id", "long"), ("amount", ["null", decimal]), ("on", ["null", date]), ("note", ["null", "string"]))
    key = record("shop.public.orders.Key", ("id", "long"))
    lake = of_schemas(
        ("records", 10, envelope_of("orders", *columns), key),
        ("records", 9, envelope_of("orders", *columns[:2]), key),
        ("records", 4, envelope_of("lines", ("line", "int"), ("document", ["null", "bytes"])), None),
        ("records", 5, record("io.debezium.heartbeat.Value", ("ts_ms", "long")), None),
    )
    found = debezium.read(lake, "raw", {"registry": "schema_records"})
    assert found.troubles == []
    assert [(table.name, table.key, dict(table.settings)) for table in found.tables] == [
        (name, key_of, {"format": "debezium", "connector": "postgresql", "position": POSITION, **further})
        for name, key_of, further in (
            ("lines", [], {"registry": "schema_records", "table": "lines"}),
            ("orders", ["id"], {"registry": "schema_records", "table": "orders"}),
        )
    ]
    assert columns_of(found) == [
        {"line": "int", "document": "binary"},
        {"id": "bigint", "amount": "decimal(10,2)", "on": "date", "note": "string"},
    ]
    assert found.tables[1].columns[2].meta == {"written_as": "epoch_days"}
    assert [(entry.name, entry.identifier) for entry in found.further_entries] == [("schema_records", "schema_records")]
    assert all(table.reads == ["schema_records"] for table in found.tables)


def test_flattened_avro_of_debezium_needs_the_connector() -> None:
    flat = record("shop.public.orders.Value", ("id", "int"), ("__op", "string"), ("__deleted", "string"))
    found = debezium.read(of_schemas(("records", 1, flat, None)), "raw", {"registry": "schema_records"})
    assert [trouble.text for trouble in found.troubles] == [
        "its events do not name their connector: give option connector"
    ]
    options = {"registry": "schema_records", "connector": "mysql"}
    (table,) = debezium.read(of_schemas(("records", 1, flat, None)), "raw", options).tables
    assert (table.settings["layout"], table.settings["connector"]) == ("flattened_message", "mysql")
    assert [column.name for column in table.columns] == ["id"]


def test_avro_of_goldengate_is_read_by_the_schemas_of_its_handler() -> None:
    told = [(name, "string") for name in ("table", "op_type", "op_ts", "current_ts", "pos")]
    image = record("columns", ("ID", ["null", "long"]), ("ID_isMissing", "boolean"), ("NAME", ["null", "string"]))
    of_operation = record("SHOP.ORDERS", *told, ("before", ["null", image]), ("after", ["null", "columns"]))
    of_row = record("SHOP.LINES", *told, ("LINE", ["null", "long"]), ("LINE_isMissing", "boolean"))
    lake = of_schemas(("orders", 1, of_operation, None), ("lines", 2, of_row, None))
    found = goldengate_messages.read(lake, "raw", {"registry": "schema_records"})
    assert found.troubles == []
    common = {"format": "goldengate_messages", "position": POSITION, "registry": "schema_records"}
    assert [(table.name, table.settings) for table in found.tables] == [
        ("lines", common | {"layout": "row"}),
        ("orders", common),
    ]
    assert columns_of(found) == [{"LINE": "bigint"}, {"ID": "bigint", "NAME": "string"}]


def test_a_registry_without_a_schema_of_the_feed_is_a_trouble() -> None:
    found = goldengate_messages.read(of_schemas(("records", 1, "string", None)), "raw", {"registry": "schema_records"})
    assert [trouble.text for trouble in found.troubles] == [
        "no message is of a schema of the feed that schema_records has"
    ]
