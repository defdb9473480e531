"""Tables that Qlik's Kafka messages say, by rules: what they land as is for the module with a server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from change_tables.generator.found import Found, LakeError
from change_tables.generator.qlik_kafka import OPTIONS, RECORD, read, spark_type
from tests.generator.fake_lake import FakeLake

RECORDS = dict(zip(RECORD, ("string", "int", "bigint", "timestamp", "binary", "binary"), strict=True))
METADATA, MESSAGES = "schema_id,\n    max_by", "select distinct"


def column(
    ordinal: int, qlik_type: str = "INT8", key: int = 0, precision: int = 0, scale: int = 0
) -> Mapping[str, Any]:
    """What metadata says of a column."""
    return {
        "ordinal": str(ordinal),
        "type": qlik_type,
        "precision": precision,
        "scale": scale,
        "primaryKeyPosition": key,
    }


ORDERS = {"amount": column(2, "NUMERIC", 0, 18, 4), "order_id": column(1, "INT8", 1)}


def metadata(
    columns: Mapping[str, Any] = ORDERS,
    *,
    table: str = "orders",
    topic: str = "shop.orders",
    raw_table: str = "records",
    schema_id: str = "1",
    version: int = 1,
    landed: tuple[str, int] = ("2026-01-05 08:00:00", 0),
) -> tuple[Any, ...]:
    """A row of the query for metadata."""
    return raw_table, topic, schema_id, "shop", table, str(version), *landed, json.dumps(columns)


def message(
    topic: str = "shop.orders",
    *,
    raw_table: str = "records",
    is_avro: bool = False,
    headers: tuple[str | None, str | None] = (None, None),
    schema_id: str | None = None,
) -> tuple[Any, ...]:
    """A row of the query for the sample of data messages."""
    return raw_table, topic, is_avro, *headers, schema_id


def found(versions: Sequence[Any], messages: Sequence[Any], raw_tables: Sequence[str] = ("records",)) -> Found:
    """What the reader finds."""
    tables = dict.fromkeys(raw_tables, RECORDS) | {"orders": {"order_id": "bigint"}}
    return read(FakeLake(tables, {METADATA: versions, MESSAGES: messages}), "raw", {})


@pytest.mark.parametrize(
    ("qlik_type", "precision", "scale", "data_type", "has_note"),
    [
        ("NUMERIC", 18, 4, "decimal(18,4)", False),
        ("numeric", 38, 38, "decimal(38,38)", False),
        ("NUMERIC", 0, 0, "string", True),
        ("NUMERIC", 39, 0, "string", True),
        ("NUMERIC", 5, 6, "string", True),
        ("NUMERIC", 5, -1, "string", True),
        ("UINT1", 0, 0, "smallint", False),
        ("UINT2", 0, 0, "int", False),
        ("UINT4", 0, 0, "bigint", False),
        ("UINT8", 0, 0, "decimal(20,0)", False),
        ("INT1", 0, 0, "tinyint", False),
        ("INT2", 0, 0, "smallint", False),
        ("REAL4", 0, 0, "float", False),
        ("BLOB", 0, 0, "binary", False),
        ("NCLOB", 0, 0, "string", False),
        ("TIME", 0, 0, "string", True),
        ("GEOMETRY", 0, 0, "string", True),
        ("", 0, 0, "string", True),
    ],
)
def test_each_type_of_qlik_is_read_by_one_that_has_all_its_values(
    qlik_type: str, precision: int, scale: int, data_type: str, has_note: bool
) -> None:
    given, note = spark_type(qlik_type, precision, scale)
    assert given == data_type
    assert bool(note) == has_note


def test_a_table_has_its_columns_by_ordinal_and_its_key_by_position() -> None:
    columns = {"b": column(3, key=1), "c": column(1), "a": column(2, key=2)}
    (table,) = found([metadata(columns)], [message(schema_id="1")]).tables
    assert [each.name for each in table.columns] == ["c", "a", "b"]
    assert table.key == ["b", "a"]


def test_a_topic_of_one_table_is_taken_whole() -> None:
    result = found([metadata()], [message(schema_id="1")])
    (table,) = result.tables
    assert (table.name, table.identifier) == ("orders", "records")
    assert dict(table.settings) == {"format": "qlik_kafka", "topic": "shop.orders"}
    assert [(each.name, each.data_type) for each in table.columns] == [
        ("order_id", "bigint"),
        ("amount", "decimal(18,4)"),
    ]
    assert (result.further_entries, result.troubles) == ([], [])


def test_tables_that_share_a_topic_are_taken_by_name() -> None:
    versions = [metadata(topic="shop"), metadata(topic="shop", table="prices", schema_id="2")]
    messages = [message("shop", schema_id="1"), message("shop", headers=("shop", "prices"))]
    assert [table.settings["table"] for table in found(versions, messages).tables] == ["shop.orders", "shop.prices"]


def test_a_topic_in_which_metadata_of_a_second_table_landed_is_shared_though_the_sample_lacks_it() -> None:
    versions = [metadata(topic="shop"), metadata(topic="shop", table="prices", schema_id="2")]
    result = found(versions, [message("shop", schema_id="1")])
    assert [table.settings["table"] for table in result.tables] == ["shop.orders"]
    assert [(trouble.place, "`sample`" in trouble.text) for trouble in result.troubles] == [("shop.prices", True)]


def test_the_latest_version_of_a_table_wins_and_older_messages_are_of_it() -> None:
    versions = [
        metadata({"new": column(1)}, schema_id="10", version=10, landed=("2026-01-05 07:00:00", 5)),
        metadata({"old": column(1)}, schema_id="9", version=9, landed=("2026-01-05 09:00:00", 90)),
    ]
    for order in (versions, versions[::-1]):
        (table,) = found(order, [message(schema_id="9")]).tables
        assert [each.name for each in table.columns] == ["new"]


def test_of_one_version_that_was_written_twice_the_later_record_wins() -> None:
    versions = [
        metadata({"new": column(1)}, schema_id="b", landed=("2026-01-05 08:00:00", 10)),
        metadata({"old": column(1)}, schema_id="a", landed=("2026-01-05 08:00:00", 9)),
    ]
    for order in (versions, versions[::-1]):
        (table,) = found(order, [message(schema_id="a")]).tables
        assert [each.name for each in table.columns] == ["new"]


@pytest.mark.parametrize(
    "headers",
    [("shop", "orders"), (None, "orders")],
)
def test_headers_name_the_table(headers: tuple[str | None, str]) -> None:
    versions = [metadata(topic="meta"), metadata(topic="meta", table="prices", schema_id="2")]
    (table,) = found(versions, [message("all", headers=headers)]).tables
    assert (table.name, table.settings["topic"]) == ("orders", "all")


def test_a_header_without_schema_is_made_whole_by_the_metadata_that_the_message_refers_to() -> None:
    other = ("records", "meta", "2", "archive", "orders", "1", "2026-01-05 08:00:00", 0, json.dumps(ORDERS))
    result = found([metadata(topic="meta"), other], [message("all", headers=(None, "orders"), schema_id="2")])
    assert [dict(table.settings) for table in result.tables] == [{"format": "qlik_kafka", "topic": "all"}]
    assert [trouble.place for trouble in result.troubles] == ["shop.orders"]


@pytest.mark.parametrize("topic", ["shop.orders", "orders"])
def test_messages_that_name_no_table_are_of_that_with_the_name_of_their_topic(topic: str) -> None:
    versions = [metadata(topic="meta"), metadata(topic="meta", table="prices", schema_id="2")]
    (table,) = found(versions, [message(topic)]).tables
    assert (table.name, table.settings["topic"]) == ("orders", topic)


def test_messages_that_name_no_table_are_of_the_only_one_whose_metadata_is_in_their_topic() -> None:
    versions = [metadata(topic="t1"), metadata(topic="t2", table="prices", schema_id="2")]
    assert [table.settings["topic"] for table in found(versions, [message("t2")]).tables] == ["t2"]


def test_a_topic_whose_table_nothing_tells_is_a_trouble() -> None:
    versions = [metadata(topic="meta"), metadata(topic="meta", table="prices", schema_id="2")]
    result = found(versions, [message("events"), message("shop.prices")])
    assert [table.name for table in result.tables] == ["prices"]
    assert "raw.records, topic events" in [trouble.place for trouble in result.troubles]


def test_metadata_in_another_raw_table_is_an_entry_that_the_table_reads() -> None:
    versions = [metadata(raw_table="Schemas", topic="meta")]
    result = found(versions, [message(schema_id="1", is_avro=True)], ["records", "Schemas"])
    (table,) = result.tables
    (entry,) = result.further_entries
    assert dict(table.settings) == {
        "format": "qlik_kafka",
        "topic": "shop.orders",
        "serialization": "avro",
        "metadata": "schemas",
    }
    assert (entry.name, entry.identifier, list(table.reads)) == ("schemas", "Schemas", ["schemas"])


def test_metadata_in_the_own_raw_table_goes_first() -> None:
    versions = [metadata(raw_table="schemas"), metadata(schema_id="2", version=0)]
    (table,) = found(versions, [message(schema_id="1")], ["records", "schemas"]).tables
    assert list(table.reads) == []


def test_a_table_without_metadata_is_a_trouble_and_the_rest_is_found() -> None:
    result = found([metadata()], [message(schema_id="1"), message("shop", headers=("shop", "prices"))])
    assert [table.name for table in result.tables] == ["orders"]
    assert [trouble.place for trouble in result.troubles] == ["shop.prices"]


def test_no_metadata_at_all_is_a_trouble_that_names_the_raw_tables() -> None:
    result = found([], [])
    assert result.tables == []
    assert [(trouble.place, "records" in trouble.text) for trouble in result.troubles] == [("raw", True)]


@pytest.mark.parametrize("columns", [None, "no JSON", "[]", "{}", '{"a": 1}'])
def test_metadata_that_cannot_be_read_is_a_trouble_with_its_offset(columns: str | None) -> None:
    broken = ("records", "shop", "7", "shop", "prices", "1", "2026-01-05 08:00:00", 42, columns)
    result = found([broken, metadata()], [message(schema_id="1")])
    assert [table.name for table in result.tables] == ["orders"]
    assert [trouble.place for trouble in result.troubles] == ["records, topic shop, offset 42"]


def test_records_without_a_topic_are_left_alone_and_metadata_without_a_time_is_read() -> None:
    versions = [metadata(), ("records", "shop.orders", "2", "shop", "orders", "1", None, None, json.dumps(ORDERS))]
    result = found(versions, [(*message()[:1], None, *message()[2:]), message(schema_id="1")])
    assert [table.name for table in result.tables] == ["orders"]


def test_the_entry_of_metadata_has_another_name_than_any_table() -> None:
    result = found([metadata(raw_table="Orders", topic="meta")], [message(schema_id="1")], ["records", "Orders"])
    assert [entry.name for entry in result.further_entries] == ["orders_metadata"]
    assert [table.settings["metadata"] for table in result.tables] == ["orders_metadata"]


def test_a_data_message_that_has_the_words_of_metadata_is_left_alone() -> None:
    no_metadata = ("records", "shop", None, None, None, None, "2026-01-05 08:00:00", 42, None)
    assert found([no_metadata, metadata()], [message(schema_id="1")]).troubles == []


def test_a_raw_table_that_cannot_be_read_is_a_trouble_and_the_others_are_found() -> None:
    class Partly(FakeLake):
        def query(self, statement: str) -> list[tuple[Any, ...]]:
            if "`broken`" in statement:
                raise LakeError("no such file")
            return super().query(statement)

    lake = Partly({"broken": RECORDS, "records": RECORDS}, {METADATA: [metadata()], MESSAGES: [message(schema_id="1")]})
    result = read(lake, "raw", {})
    assert [table.name for table in result.tables] == ["orders"]
    assert [(trouble.place, trouble.text) for trouble in result.troubles] == [("raw.broken", "no such file")]


def test_a_raw_table_whose_columns_cannot_be_read_is_a_trouble() -> None:
    lake = FakeLake({"broken": LakeError("no right to read"), "orders": {"a": "int"}}, {})
    assert [(trouble.place, trouble.text) for trouble in read(lake, "raw", {}).troubles] == [
        ("raw.broken", "no right to read")
    ]


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"sample": "0"}, "option sample"),
        ({"sample": "many"}, "option sample"),
        ({"raw_tables": "nobody"}, "option raw_tables"),
        ({"raw_tables": "orders"}, "raw.orders"),
    ],
)
def test_an_option_that_is_wrong_is_a_trouble(options: Mapping[str, str], place: str) -> None:
    tables = {"records": RECORDS, "orders": {"order_id": "bigint"}}
    result = read(FakeLake(tables, {METADATA: [], MESSAGES: []}), "raw", options)
    assert list(result.tables) == []
    assert place in [trouble.place for trouble in result.troubles]
    assert set(options) <= OPTIONS.keys()


def test_a_schema_that_is_not_there_and_one_without_the_feed_are_troubles() -> None:
    assert "nowhere" in read(FakeLake({}, {}), "nowhere", {}).troubles[0].text
    assert "topic, partition" in read(FakeLake({"a": {"b": "int"}}, {}), "raw", {}).troubles[0].text


def test_two_queries_read_all_raw_tables_and_take_no_more_than_the_sample() -> None:
    tables = {"records": RECORDS, "two": RECORDS}
    lake = FakeLake(tables, {METADATA: [metadata()], MESSAGES: [message(schema_id="1")]})
    read(lake, "raw", {"sample": "77"})
    assert [statement.count("union all") for statement in lake.asked] == [1, 1]
    assert lake.asked[1].count("place <= 77") == 2


def test_records_that_land_as_text_are_read_as_json() -> None:
    lake = FakeLake({"records": {**RECORDS, "value": "string"}}, {METADATA: [metadata()], MESSAGES: []})
    read(lake, "raw", {})
    assert not any("read_avro_envelope" in statement for statement in lake.asked)
