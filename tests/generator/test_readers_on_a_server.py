"""What the readers find of the demo's feeds, all in one schema, is the demo's database; and the package takes it."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from change_tables.generator import (
    debezium,
    goldengate_messages,
    goldengate_trail,
    idm_event_log,
    openedge_cdc,
    qlik_kafka,
)
from change_tables.generator.commands import diff, init
from change_tables.generator.found import Found, FoundTable
from change_tables.generator.lake import ThriftLake
from change_tables.generator.raw_tables import relation
from change_tables.server.local_server import LocalServer
from demo.database import TABLES, Column
from demo.landing import create_table, execute, fetch, insert_rows
from demo.workload import Workload
from demo.writers import BY_NAME, WRITERS
from demo.writers.feed import FeedWriter, Verdict
from demo.writers.goldengate_trail import trail_name
from demo.writers.idm_event_log import DRIVER_USER, LOGGED_TABLES, SCHEMA
from demo.writers.openedge_cdc import CAPTURED
from tests.pipelines.consumer import Consumer, Entry
from tests.pipelines.preset_cases import AVRO_COLUMNS, KAFKA, avro_schema, inserted

pytestmark = pytest.mark.slow

PROJECT = "generator"
_MAP = "map<string,string>"
RAW = f"{PROJECT}_raw"
READERS = {
    "qlik_kafka": qlik_kafka.read,
    "goldengate_trail": goldengate_trail.read,
    "idm_event_log": idm_event_log.read,
    "openedge_cdc": openedge_cdc.read,
}
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "goldengate_trail": {"sample": "100000"},
    "idm_event_log": {
        "schema_name": SCHEMA,
        "driver_user": DRIVER_USER,
        "replica": "{table}_replica",
        "sample": "100000",
    },
}
"""The samples are everything, so that a guess is of every value."""


class Asked(ThriftLake):
    """A server that keeps the queries over raw rows."""

    def __init__(self, server: LocalServer) -> None:
        """Connect."""
        super().__init__(server.host, server.port)
        self.asked: list[str] = []

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        if not statement.startswith(("show", "describe")):
            self.asked.append(statement)
        return super().query(statement)


@dataclass(frozen=True)
class Fed:
    """All feeds in one schema: their writers, what the readers found, and what they asked for it."""

    connection: Any
    server: LocalServer
    writers: Mapping[str, FeedWriter]
    found: Mapping[str, Found]
    asked: Mapping[str, Sequence[str]]

    def table(self, feed: str, name: str) -> FoundTable:
        """What was found of one of the demo's tables."""
        (table,) = [table for table in self.found[feed].tables if table.name in (name, f"view_{name}")]
        return table


@pytest.fixture(scope="module")
def fed(server: LocalServer) -> Iterator[Fed]:
    """Feeds that have landed, and what the readers find of them."""
    connection = server.connect()
    for schema in (RAW, PROJECT):
        execute(connection, f"drop schema if exists {schema} cascade")
        execute(connection, f"create schema {schema}")
    writers = {system: writer(seed=1) for system, writer in WRITERS.items()}
    workload = Workload(seed=1, swaps=False)
    loaded, transactions = workload.fill(), list(workload.play_round())
    for writer in writers.values():
        written = writer.write(transactions, loaded, last=True)
        for table in writer.raw_tables:
            create_table(connection, relation(RAW, table.name), table.columns)
            insert_rows(connection, relation(RAW, table.name), written[table.name])
    found: dict[str, Found] = {}
    asked: dict[str, Sequence[str]] = {}
    for feed, read in READERS.items():
        lake = Asked(server)
        found[feed] = read(lake, RAW, OPTIONS.get(feed, {}))
        asked[feed] = lake.asked
        lake.close()
    yield Fed(connection, server, writers, found, asked)
    connection.close()


def test_the_tables_of_the_demo_are_found_and_what_else_lands_beside_them(fed: Fed) -> None:
    names = {feed: sorted(table.name for table in found.tables) for feed, found in fed.found.items()}
    assert names == {
        "qlik_kafka": sorted(TABLES),
        "goldengate_trail": sorted([*TABLES, "audit"]),
        "idm_event_log": ["orders", "prices", "view_machine_settings"],
        "openedge_cdc": sorted([*TABLES, "table_99"]),
    }
    troubles = {feed: [trouble.place for trouble in found.troubles] for feed, found in fed.found.items()}
    # of the table audit there are events without values only
    assert troubles == {feed: ["table audit"] if feed == "idm_event_log" else [] for feed in READERS}


def test_the_settings_say_where_the_rows_of_a_table_are(fed: Fed) -> None:
    settings = {feed: {name: dict(fed.table(feed, name).settings) for name in TABLES} for feed in READERS}
    assert settings["qlik_kafka"] == {
        "orders": {
            "format": "qlik_kafka",
            "topic": "shop.orders",
            "serialization": "avro",
            "metadata": "kafka_schema_records",
        },
        "prices": {"format": "qlik_kafka", "topic": "shop", "table": "shop.prices"},
        "machine_settings": {"format": "qlik_kafka", "topic": "shop", "table": "shop.machine_settings"},
    }
    assert settings["goldengate_trail"] == {
        name: {"format": "goldengate_trail", "table_name": trail_name(table)} for name, table in TABLES.items()
    }
    assert settings["idm_event_log"] == {
        name: {
            "format": "idm_event_log",
            "table_name": logged.name,
            "schema_name": SCHEMA,
            **({"replica": f"{name}_replica"} if logged.is_read_back else {}),
            "driver_user": DRIVER_USER,
        }
        for name, logged in LOGGED_TABLES.items()
    }
    assert settings["openedge_cdc"] == {
        name: {
            "format": "openedge_cdc",
            "tracking": "cdc_change_tracking",
            "source_table_number": captured.number,
            **({"policy_level": 3} if captured.policy_level == 3 else {}),
        }
        for name, captured in CAPTURED.items()
    }


def test_the_entries_beside_the_tables_are_there_and_each_is_read(fed: Fed) -> None:
    for feed, found in fed.found.items():
        entries = {entry.name for entry in found.further_entries}
        assert entries == {name for table in found.tables for name in table.reads}, feed
        assert {table.settings.get("metadata") for table in found.tables} - {None} <= entries


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("feed", READERS)
def test_a_table_has_the_columns_of_the_source_in_its_order(fed: Fed, feed: str, name: str) -> None:
    columns = [column.name.lower() for column in fed.table(feed, name).columns]
    wanted = list(TABLES[name].column_names)
    if (feed, name) == ("qlik_kafka", "machine_settings"):
        wanted.reverse()  # the demo's metadata counts from the last column
    if (feed, name) == ("idm_event_log", "orders"):
        # events have the order in which columns changed; one event names a column that is none
        assert columns[: len(TABLES[name].key)] == list(TABLES[name].key)
        assert sorted(columns) == sorted([*wanted, "nobody's"])
    else:
        assert columns == wanted


@pytest.mark.parametrize("name", TABLES)
def test_the_key_is_found_where_the_feed_shows_it(fed: Fed, name: str) -> None:
    key = list(TABLES[name].key)
    assert fed.table("qlik_kafka", name).key == key
    assert fed.table("idm_event_log", name).key == key
    assert fed.table("openedge_cdc", name).key == ()
    # deletes of orders have the whole row
    expected = [] if name == "orders" else key
    assert [column.lower() for column in fed.table("goldengate_trail", name).key] == expected


@pytest.mark.parametrize("name", TABLES)
def test_metadata_and_replicas_give_the_types_of_the_source(fed: Fed, name: str) -> None:
    wanted = {column.name: column.data_type for column in TABLES[name].columns}
    feeds = ["qlik_kafka"] + (["idm_event_log"] if LOGGED_TABLES[name].is_read_back else [])
    for feed in feeds:
        table = fed.table(feed, name)
        assert {column.name: column.data_type for column in table.columns} == wanted
        assert {column.note for column in table.columns} == {""}


@pytest.mark.parametrize("name", TABLES)
def test_change_tables_give_the_types_in_which_columns_land(fed: Fed, name: str) -> None:
    wanted = [column.data_type for column in CAPTURED[name].columns]
    assert [column.data_type for column in fed.table("openedge_cdc", name).columns] == wanted


SPOILED = {
    ("goldengate_trail", "orders"): {"amount"},
    ("goldengate_trail", "prices"): {"order"},
    ("goldengate_trail", "machine_settings"): {"setting_01"},
    ("idm_event_log", "orders"): {"order_id", "amount"},
}
"""Columns that have a few values which are no numbers, in records that the demo breaks."""


@pytest.mark.parametrize(("feed", "name"), SPOILED)
def test_a_guessed_type_is_that_of_the_source_or_the_next_wider_one(fed: Fed, feed: str, name: str) -> None:
    table = fed.table(feed, name)
    guessed = {column.name.lower(): column.data_type for column in table.columns}
    spoiled = {column.name.lower() for column in table.columns if "without" in column.note}
    assert spoiled == SPOILED[feed, name]
    for column in TABLES[name].columns:
        if column.name not in spoiled:
            assert re.fullmatch(_guesses(column.data_type), guessed[column.name]), column
    assert all("a guess" in column.note for column in table.columns)


def _guesses(data_type: str) -> str:
    """The types that values of this one are guessed to have, as a pattern."""
    if data_type.startswith("decimal"):
        return r"decimal\(38,\d+\)|bigint"
    return {
        "int": "bigint",
        "boolean": "bigint|boolean",  # 0 and 1 are numbers
        "binary": "string",  # hex digits and Base64 are texts
        "double": r"double|decimal\(38,\d+\)",
    }.get(data_type, data_type)


def test_two_queries_are_enough_for_a_feed(fed: Fed) -> None:
    assert {feed: len(asked) for feed, asked in fed.asked.items()} == {
        "qlik_kafka": 2,
        "goldengate_trail": 1,
        "idm_event_log": 1,
        "openedge_cdc": 2,
    }


STAGED = [*itertools.product(["qlik_kafka", "goldengate_trail"], TABLES), ("idm_event_log", "orders")]
"""The tables that are staged: those whose types metadata gives or a guess."""


@pytest.fixture(scope="module")
def statuses(fed: Fed, tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, str], Counter[Verdict]]:
    """How many rows staging has in which status, by feed and table.

    The entries are exactly as they were found; the start of the run checks those without models as well.
    """
    entries = [
        Entry(
            f"{feed}__{name}",
            {**table.settings, "key": list(table.key or TABLES[name].key)},
            {column.name: column.data_type for column in table.columns},
            models=("stg",) if (feed, name) in STAGED else (),
            identifier=table.identifier,
            column_meta={column.name: column.meta for column in table.columns if column.meta},
        )
        for feed in READERS
        for name in TABLES
        for table in [fed.table(feed, name)]
    ]
    further = sorted({entry.identifier for found in fed.found.values() for entry in found.further_entries})
    consumer = Consumer(tmp_path_factory.mktemp("found") / "project", fed.server.port, PROJECT)
    consumer.write(entries, further)
    consumer.dbt("build")
    counted: dict[tuple[str, str], Counter[Verdict]] = {}
    for feed, name in STAGED:
        code = "if(_status in ('rejected', 'waiting'), split(_status_reason, ':')[0], null)"
        staging = f"{PROJECT}.stg_feed__{feed}__{name}"
        rows = fetch(fed.connection, f"select _status, {code}, count(*) from {staging} group by all")
        counted[feed, name] = Counter({Verdict(status, code): count for status, code, count in rows})
    return counted


@pytest.mark.parametrize("name", TABLES)
def test_messages_are_staged_by_what_metadata_says_as_by_the_declared_entries(
    fed: Fed, statuses: Mapping[tuple[str, str], Counter[Verdict]], name: str
) -> None:
    assert statuses["qlik_kafka", name] == fed.writers["qlik_kafka"].expected_statuses[name]


@pytest.mark.parametrize("name", TABLES)
def test_a_guessed_type_reads_every_value(
    fed: Fed, statuses: Mapping[tuple[str, str], Counter[Verdict]], name: str
) -> None:
    misfit = Verdict("rejected", "value_does_not_fit")
    expected = Counter(fed.writers["goldengate_trail"].expected_statuses[name])
    assert expected[misfit] > 0
    expected[Verdict("accepted", None)] += expected.pop(misfit)
    assert statuses["goldengate_trail", name] == expected
    if name == "orders":
        assert statuses["idm_event_log", name][misfit] == 0


def test_the_smallest_feeds_can_be_asked_for_as_well(server: LocalServer) -> None:
    connection = server.connect()
    schema = f"{PROJECT}_small"
    execute(connection, f"drop schema if exists {schema} cascade")
    execute(connection, f"create schema {schema}")

    def land(table: str, columns: Mapping[str, str], *rows: Sequence[Any]) -> None:
        create_table(connection, relation(schema, table), [Column(*item) for item in columns.items()])
        insert_rows(connection, relation(schema, table), rows)

    lake = Asked(server)
    tracking = {"_Source-Table-Number": "string", "_Change-Sequence": "string", "_Operation": "string"}
    land("tracking", tracking, ("7", "1", "1"), ("x", "2", "1"))
    assert [trouble.place for trouble in openedge_cdc.read(lake, schema, {}).troubles] == [f"{schema}.tracking"]
    # numbers only, of which no header is there that need not be
    land("numbers", {"change_sequence": "int", "operation": "int", "fragment": "int", "n": "int"}, (1, 1, 0, 5))
    (numbers,) = openedge_cdc.read(lake, schema, {}).tables
    assert numbers.settings["source_table_number"] == 7
    assert [(column.name, column.data_type) for column in numbers.columns] == [("n", "int")]

    records = {"topic": "string", "partition": "int", "offset": "bigint", "timestamp": "timestamp"}
    said = {"ordinal": 1, "type": "INT8", "length": 0, "precision": 0, "scale": 0, "primaryKeyPosition": 1}
    body = {
        "schemaId": "1",
        "lineage": {"schema": "shop", "table": "it's", "tableVersion": 1},
        "tableStructure": {"tableColumns": {"id": said}},
    }
    metadata = {"magic": "atMSG", "type": "MD", "messageSchemaId": None, "message": body}
    message = {"data": {"id": 1}, "headers": {"operation": "INSERT", "externalSchemaId": "1"}}
    at = datetime(2026, 1, 5, tzinfo=UTC)
    land(
        "records",
        {**records, "key": "string", "value": "string"},
        *(("all", 0, place, at, None, text) for place, text in enumerate([json.dumps(metadata), json.dumps(message)])),
        ("all", 0, 2, at, None, None),
        ("all", 0, 3, at, None, "no JSON"),
        (None, 0, 4, at, None, json.dumps(message)),
    )
    found = qlik_kafka.read(lake, schema, {})
    assert [(table.key, dict(table.settings)) for table in found.tables] == [
        (["id"], {"format": "qlik_kafka", "topic": "all"})
    ]
    assert list(found.troubles) == []

    land("log", dict.fromkeys(idm_event_log.EVENT, "string"))
    land("trail", {**dict.fromkeys(goldengate_trail.RECORD, "string"), "before_data": _MAP, "after_data": _MAP})
    for read in (idm_event_log.read, goldengate_trail.read):
        assert [trouble.place for trouble in read(lake, schema, {}).troubles] == [schema]
    lake.close()
    connection.close()


@pytest.fixture(scope="module")
def described(fed: Fed) -> Sequence[str]:
    """Feeds that are read by a description, which have landed beside the others."""
    workload = Workload(seed=2, swaps=False)
    loaded, transactions = workload.fill(), list(workload.play_round())
    feeds = ("debezium", "dms", "goldengate_messages")
    for feed in feeds:
        writer = BY_NAME[feed](seed=2)
        written = writer.write(transactions, loaded, last=True)
        for table in writer.raw_tables:
            create_table(fed.connection, relation(RAW, table.name), table.columns)
            insert_rows(fed.connection, relation(RAW, table.name), written[table.name])
    return feeds


@pytest.mark.parametrize("name", ["orders", "prices"])
def test_the_messages_of_described_feeds_say_tables_columns_and_keys(
    fed: Fed, described: Sequence[str], name: str
) -> None:
    assert described
    lake = Asked(fed.server)
    for feed, read in (("debezium", debezium.read), ("goldengate_messages", goldengate_messages.read)):
        found = read(lake, RAW, {})
        assert list(found.troubles) == [], feed
        (table,) = [table for table in found.tables if table.name == name]
        assert table.settings["position"] == ["topic", "partition", "offset"], feed
        assert table.settings["table"] == {"debezium": name}.get(feed, f"SHOP.{name.upper()}")
        assert [column.name.lower() for column in table.columns] == list(TABLES[name].column_names), feed
        if feed == "goldengate_messages":
            assert [column.lower() for column in table.key] == list(TABLES[name].key)
    assert len(lake.asked) == 2
    lake.close()


def test_messages_in_avro_are_read_by_the_schemas_that_they_name(fed: Fed) -> None:
    raw, schema = f"{PROJECT}_avro", avro_schema(AVRO_COLUMNS)
    execute(fed.connection, f"create schema {raw}")
    landed = [Column(name, data_type) for name, data_type in (KAFKA | {"value": "binary"}).items()]
    create_table(fed.connection, relation(raw, "records"), landed)
    insert_rows(fed.connection, relation(raw, "records"), inserted((2, "APP.ORDERS"), (4, "APP.ORDERS")))
    create_table(fed.connection, relation(raw, "registry"), [Column("id", "bigint"), Column("schema", "string")])
    insert_rows(fed.connection, relation(raw, "registry"), [[2, json.dumps(schema)], [3, "{}"]])
    lake = Asked(fed.server)
    found = goldengate_messages.read(lake, raw, {"registry": "registry"})
    lake.close()
    assert found.troubles == []
    assert [(table.name, table.identifier) for table in found.tables] == [("orders", "records")]
    assert {column.name: column.data_type for column in found.tables[0].columns} == {
        "id": "bigint",
        "name": "string",
        "amount": "double",
        "document": "binary",
    }


def test_the_command_writes_projects_of_these_feeds_that_dbt_builds_and_that_are_in_step(
    fed: Fed, described: Sequence[str], tmp_path: Path
) -> None:
    consumer = Consumer(tmp_path / "project", fed.server.port, f"{PROJECT}_init")
    consumer.write([])
    for file in (consumer.folder / "models").iterdir():
        file.unlink()
    columns = [Column("load_day", "date"), *TABLES["orders"].columns]
    create_table(fed.connection, relation(RAW, "nightly_orders"), columns)
    insert_rows(fed.connection, relation(RAW, "nightly_orders"), [(date(2026, 1, 5), 1, *[None] * (len(columns) - 2))])
    told_options = {feed: OPTIONS.get(feed, {}) for feed in (*READERS, *described)}
    told_options["full_loads"] = {"load_column": "load_day", "tables": "nightly_*"}
    told_options["dms"] = {"tables": "dms_*", "time_column": "committed", "ignore": "landed_at"}
    told = {
        feed: [
            *("--format", feed, "--source", feed, "--raw-schema", RAW, "--project-dir", str(consumer.folder)),
            *("--port", str(fed.server.port), "--exclude", "*audit", "--exclude", "table_99"),
            *(text for name, table in TABLES.items() for text in ("--key", f"{name}:{','.join(table.key)}")),
            *(text for option in options.items() for text in ("--option", "=".join(option))),
        ]
        for feed, options in told_options.items()
    }
    for arguments in told.values():
        written = CliRunner().invoke(init, arguments, catch_exceptions=False)
        assert written.exit_code == 0, written.output
    consumer.dbt("parse", "--no-partial-parse", strict=True)
    models = [f"+current_{feed}__orders" for feed in told]
    consumer.dbt("build", "--indirect-selection", "buildable", "--select", *models)
    for feed, arguments in told.items():
        ((rows,),) = fetch(fed.connection, f"select count(*) from {PROJECT}_init_analysts.current_{feed}__orders")
        assert rows > 0, feed
        in_step = CliRunner().invoke(diff, arguments, catch_exceptions=False)
        assert in_step.exit_code == 0, in_step.output
