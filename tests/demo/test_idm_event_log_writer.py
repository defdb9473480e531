"""The event log is as the page of the format says, and the sources file says of it what the writer does."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from change_tables.udfs.table_keys import format_table_key, parse_table_key
from demo.database import TABLES, Table
from demo.history import Change, Contents, Key, Row, Transaction, Value
from demo.workload import TEXTS, Workload
from demo.writers.event_triggers import NO_KEY_VALUE, as_logged_source
from demo.writers.feed import Verdict
from demo.writers.idm_event_log import (
    DRIVER_USER,
    LOGGED_TABLES,
    RAW_TABLE,
    REPLICAS,
    SCHEMA,
    Event,
    IdmEventLogWriter,
    LoggedDatabase,
    keys_of,
)

BATCHES = 3
SOURCES = Path(__file__).parents[2] / "models/staging/idm_event_log/_idm_event_log__sources.yml"
ACCEPTED = Verdict("accepted", None)
INSERT_FIELD, UPDATE_FIELD, REPLACE_FIELD, DELETE, INSERT_ROW, UPDATE_ROW, READ_INSERT, READ_UPDATE = range(1, 9)
AT = datetime(2026, 1, 5, 8, 30, tzinfo=UTC)


class Fed:
    """A history written in batches, with the replicas and the source's contents after each."""

    def __init__(self, seed: int) -> None:
        """Write it."""
        self.writer = IdmEventLogWriter(seed)
        workload = Workload(seed, swaps=IdmEventLogWriter.swaps)
        loaded = workload.fill()
        self.batches: list[Sequence[Event]] = []
        self.replicas: list[Mapping[str, Sequence[Mapping[str, Any]]]] = []
        self.contents: list[Contents] = []
        for number in range(BATCHES):
            transactions = list(workload.play_round())
            before = len(self.writer.delivered)
            written = self.writer.write(transactions, loaded if number == 0 else (), last=number == BATCHES - 1)
            self.batches.append(self.writer.delivered[before:])
            assert written[RAW_TABLE.name] == [event.landed for event in self.batches[-1]]
            self.replicas.append(
                {
                    name: [dict(zip(TABLES[name].column_names, row, strict=True)) for row in written[replica.name]]
                    for name, replica in REPLICAS.items()
                }
            )
            self.contents.append(self.writer.source_contents(workload.database.contents()))

    @property
    def events(self) -> list[Event]:
        """All events that landed, those that landed again as often."""
        return [event for batch in self.batches for event in batch]

    def sound(self, batch: int = BATCHES - 1) -> list[Event]:
        """The events of the triggers that count and have landed up to a batch, each once, in the order of the log."""
        events = {
            event.fields["record_id"]: event
            for landed in self.batches[: batch + 1]
            for event in landed
            if event.verdict == ACCEPTED
        }
        return [events[record_id] for record_id in sorted(events)]


@pytest.fixture(scope="module", params=[1, 2, 3])
def fed(request: pytest.FixtureRequest) -> Fed:
    """A history by its seed."""
    return Fed(request.param)


def test_an_event_that_lands_again_is_the_same_or_has_been_processed_since(fed: Fed) -> None:
    first: dict[int, tuple[int, Mapping[str, Any]]] = {}
    again: Counter[str] = Counter()
    for number, batch in enumerate(fed.batches):
        # of what lands together, what is new comes first
        for event in sorted(batch, key=lambda event: event.fields["status"] != "N"):
            record_id, status = event.fields["record_id"], event.fields["status"]
            if record_id is None or record_id <= 0:
                continue
            if record_id not in first:
                first[record_id] = number, event.fields
                continue
            landed_in, fields = first[record_id]
            assert {**event.fields, "status": fields["status"]} == fields
            assert status == fields["status"] or (fields["status"] == "N" and landed_in < number)
            again[status] += 1
    assert again.keys() >= {"N", "S", "W", "E", "F"}


def test_events_land_in_no_order_and_some_a_batch_later(fed: Fed) -> None:
    ids = [[event.fields["record_id"] for event in batch if event.verdict == ACCEPTED] for batch in fed.batches]
    assert all(each != sorted(each) for each in ids)
    for before, after in pairwise(ids):
        assert {record_id for record_id in after if record_id < max(before)} - {*before}
    assert not fed.writer.late


def test_transactions_that_were_rolled_back_leave_gaps_in_the_record_ids(fed: Fed) -> None:
    # those that are broken are drawn, too, and their number is replaced
    broken = sum(event.verdict.code == "position_missing" for event in fed.events)
    ids = {event.fields["record_id"] for event in fed.events if (event.fields["record_id"] or 0) > 0}
    assert max(ids) - len(ids) > broken


def test_the_account_counts_every_event(fed: Fed) -> None:
    counted = sum(counts.total() for counts in fed.writer.expected_statuses.values())
    assert counted + fed.writer.expected_unclaimed.total() == sum(map(len, fed.batches))
    for name, counts in fed.writer.expected_statuses.items():
        assert {verdict.status for verdict in counts} == {"accepted", "ignored", "rejected"}, name
        assert {verdict.code for verdict in counts if verdict.status == "rejected"} >= {
            "column_not_declared",
            "event_time_missing",
            "key_contradicted",
            "key_malformed",
            "key_updated",
            "position_missing",
            "reserved_status",
            "unknown_operation",
            "value_does_not_fit",
            "xml_forbidden_character",
        }, name
    assert set(fed.writer.expected_unclaimed) == {
        Verdict("ignored", None),
        Verdict("rejected", "table_unknown"),
    }


def test_the_account_takes_an_event_whose_row_is_gone_for_ignored(fed: Fed) -> None:
    for name in REPLICAS:
        table = TABLES[name]
        living = {table.key_of(row) for row in fed.replicas[-1][name]}
        of_table = [event for event in fed.events if event.table is table and event.verdict == ACCEPTED]
        lasting = [e for e in of_table if e.fields["event_type"] == DELETE or e.key in living]
        assert 0 < len(lasting) < len(of_table)
        assert fed.writer.expected_statuses[name][ACCEPTED] == len(lasting)


def test_the_account_counts_a_change_once_also_when_its_row_is_gone_by_now(fed: Fed) -> None:
    for name, table in TABLES.items():
        changes = set()
        for number in range(BATCHES):
            living = {table.key_of(row) for row in fed.contents[number][name]}
            for event in fed.sound(number):
                if event.table is table and (event.key in living or event.fields["event_type"] in (1, 2, 3, 4)):
                    changes.add(event.fields["record_id"])
        assert fed.writer.expected_changes[name] == len(changes)


def test_each_table_is_logged_in_its_own_style(fed: Fed) -> None:
    styles: dict[str, set[int]] = {name: set() for name in TABLES}
    for event in fed.sound():
        assert event.table is not None
        styles[event.table.name].add(event.fields["event_type"])
    assert styles == {
        "orders": {INSERT_FIELD, UPDATE_FIELD, REPLACE_FIELD, DELETE},
        "prices": {READ_INSERT, READ_UPDATE, DELETE},
        "machine_settings": {INSERT_ROW, UPDATE_ROW, DELETE},
    }


def test_the_triggers_write_keys_as_the_grammar_has_them(fed: Fed) -> None:
    texts = [event.fields["table_key"] for event in fed.sound()]
    for text, parsed in zip(texts, parse_table_key(pa.array(texts)).to_pylist(), strict=True):
        assert parsed["error"] is None
        assert text == format_table_key((pair["name"], pair["value"]) for pair in parsed["pairs"])
    told = "\n".join(texts)
    # quoted, padded, of a view, and in another case and order
    for part in (
        'Article="',
        "ORDER_ID=  ",
        "pk_machine_id=",
        "Machine_Id=",
        "order_id=",
        "region=",
        "\nregion=EU+article=",
    ):
        assert part in told


@pytest.mark.parametrize("name", REPLICAS)
def test_a_replica_shows_its_table_at_the_end_of_the_batch(fed: Fed, name: str) -> None:
    for number in range(BATCHES):
        assert as_rows(fed.replicas[number][name]) == as_rows(fed.contents[number][name])


@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_events_that_count_make_the_source_tables(fed: Fed, batch: int) -> None:
    for name, table in TABLES.items():
        applied: dict[int, Applied] = {}
        for number in range(batch + 1):
            events = [event for event in fed.sound(number) if event.table is table]
            replica = {table.key_of(row): row for row in fed.replicas[number].get(name, [])}
            applied |= {new.record_id: new for new in read(events, applied, replica)}
        found = fold(table, applied.values())
        expected = [
            {c: value if name in REPLICAS or c in table.key else logged_text(value) for c, value in row.items()}
            for row in fed.contents[batch][name]
        ]
        assert as_rows(found) == as_rows(expected)


@dataclass(frozen=True)
class Applied:
    """What an event sets: columns of a row, or None where it ends the row; it comes after the record `place`."""

    record_id: int
    event_type: int
    key: Key
    place: int
    values: Row | None


def read(events: Sequence[Event], applied: Mapping[int, Applied], replica: Mapping[Key, Row]) -> Iterator[Applied]:
    """The events that were not applied yet; those without values read the replica, if it has their row."""
    for position, event in enumerate(events):
        record_id, event_type = event.fields["record_id"], event.fields["event_type"]
        assert event.key is not None
        if record_id in applied:
            continue
        if event_type == DELETE:
            yield Applied(record_id, event_type, event.key, record_id, None)
        elif event_type < DELETE:
            values = {event.fields["column_name"]: event.fields["new_value"]}
            yield Applied(record_id, event_type, event.key, record_id, values)
        elif event.key in replica:
            name = event.fields["column_name"]
            of_key = [later.fields for later in events[position:] if later.key == event.key]
            living = list(takewhile(lambda fields: fields["event_type"] != DELETE, of_key))
            seen = {each: value for each, value in replica[event.key].items() if name in (None, each)}
            yield Applied(record_id, event_type, event.key, living[-1]["record_id"], seen)


def fold(table: Table, applied: Iterable[Applied]) -> list[Row]:
    """The rows that changes end in, in their order."""
    rows: dict[Key, dict[str, Value]] = {}
    for change in sorted(applied, key=lambda change: (change.place, change.record_id)):
        if change.values is None:
            rows.pop(change.key, None)
        elif change.event_type not in (UPDATE_FIELD, REPLACE_FIELD, READ_UPDATE) or change.key in rows:
            rows.setdefault(change.key, dict.fromkeys(table.column_names)).update(change.values)
    return [{**row, **dict(zip(table.key, key, strict=True))} for key, row in rows.items()]


def as_rows(rows: Sequence[Row]) -> Counter[tuple[Value, ...]]:
    return Counter(tuple(row.values()) for row in rows)


def logged_text(value: Value) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value.isoformat() if isinstance(value, datetime) else str(value)


def test_what_the_driver_wrote_is_set_back_by_somebody_who_counts(fed: Fed) -> None:
    known: set[int | None] = set()
    for batch in fed.batches:
        events = {event.fields["record_id"]: event for event in batch if event.fields["record_id"] not in known}
        known |= events.keys()
        loopback = [event for event in events.values() if event.fields["perpetrator"] == DRIVER_USER]
        assert {event.table for event in loopback} == {*TABLES.values()}
        assert {event.verdict for event in loopback} == {Verdict("ignored", None)}
        for event in loopback:
            back = events[event.fields["record_id"] + 1]
            assert (back.key, back.fields["column_name"], back.verdict) == (
                event.key,
                event.fields["column_name"],
                ACCEPTED,
            )
            assert back.fields["new_value"] == event.fields["old_value"] or event.fields["event_type"] == REPLACE_FIELD


# what the triggers do


def logged(*changes: Change) -> list[Mapping[str, Any]]:
    """The events of the last change."""
    database = LoggedDatabase()
    events: list[Mapping[str, Any]] = []
    for change in changes:
        events = database.replay(Transaction(1, AT, (change,)), "clerk")
    return events


def brief(events: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    return [(event["event_type"], event["table_key"], event["column_name"]) for event in events]


ORDER: Row = {
    "order_id": 7,
    "customer": None,
    "status": "it's new",
    "amount": Decimal("-1.5000"),
    "placed_at": datetime(2026, 3, 29, 1, 30, 0, 1, tzinfo=UTC),
    "signature": b"\x00\xff",
    "is_paid": False,
}
PRICE: Row = {**dict.fromkeys(TABLES["prices"].column_names), "article": 'a "b\\', "region": ""}
MACHINE: Row = {**dict.fromkeys(TABLES["machine_settings"].column_names), "machine_id": 1_234_567}


def insert(table: str, row: Row) -> Change:
    return Change(table, "insert", None, row, AT)


def update(table: str, row: Row, **values: Value) -> Change:
    return Change(table, "update", row, {**row, **values}, AT)


def test_an_insert_logs_every_field_with_its_value_as_text() -> None:
    events = logged(insert("orders", ORDER))
    assert {event["table_key"] for event in events} == {"ORDER_ID=     7"}
    assert [(event["column_name"], event["old_value"], event["new_value"]) for event in events] == [
        ("order_id", None, "7"),
        ("customer", None, None),
        ("status", None, "it's new"),
        ("amount", None, "-1.5000"),
        ("placed_at", None, "2026-03-29T01:30:00.000001+00:00"),
        ("signature", None, "AP8="),
        ("is_paid", None, "0"),
    ]


def test_an_update_logs_the_fields_that_it_changed() -> None:
    events = logged(
        insert("orders", ORDER), update("orders", ORDER, customer="Jack", status=None, amount=ORDER["amount"])
    )
    assert [
        (event["event_type"], event["column_name"], event["old_value"], event["new_value"]) for event in events
    ] == [
        (REPLACE_FIELD, "customer", None, "Jack"),
        (UPDATE_FIELD, "status", "it's new", None),
    ]
    assert {(event["status"], event["event_time"], event["perpetrator"]) for event in events} == {("N", AT, "clerk")}


def test_an_update_of_nothing_is_logged_by_rows_alone() -> None:
    assert brief(logged(insert("orders", ORDER), update("orders", ORDER))) == []
    assert brief(logged(insert("prices", PRICE), update("prices", PRICE))) == []
    machine = logged(insert("machine_settings", MACHINE), update("machine_settings", MACHINE))
    assert brief(machine) == [(UPDATE_ROW, "pk_machine_id=1234567", None)]


def test_an_update_of_the_key_logs_the_delete_of_the_old_row_and_the_insert_of_the_new_one() -> None:
    moved = logged(insert("prices", PRICE), update("prices", PRICE, region="EU", order=3))
    assert brief(moved) == [
        (DELETE, 'region=+article="a \\"b\\\\"', None),
        *((READ_INSERT, 'Article="a \\"b\\\\"+Region=EU', name) for name in TABLES["prices"].column_names),
    ]
    machine = logged(insert("machine_settings", MACHINE), update("machine_settings", MACHINE, machine_id=2))
    assert brief(machine) == [(DELETE, "Machine_Id=1234567", None), (INSERT_ROW, "pk_machine_id=     2", None)]


def test_a_truncate_logs_the_delete_of_every_row() -> None:
    other = {**ORDER, "order_id": 8}
    events = logged(insert("orders", ORDER), insert("orders", other), Change("orders", "truncate", None, None, AT))
    assert brief(events) == [(DELETE, "order_id=7", None), (DELETE, "order_id=8", None)]


@pytest.mark.parametrize("text", [*TEXTS, ", ; ' + \" = \\ < >", *",;'+\"=\\<>", "[a]*?"])
def test_the_triggers_quote_a_text_where_the_grammar_asks_for_it(text: str) -> None:
    events = logged(insert("prices", {**PRICE, "article": text}))
    assert events[0]["table_key"] == format_table_key([("Article", text), ("Region", "")])
    assert keys_of(events[:1]) == [(text, "")]


def test_where_keys_are_null_elsewhere_they_have_a_value_here() -> None:
    change = update("prices", {**PRICE, "region": None}, region="EU")
    (moved,) = as_logged_source(Transaction(1, AT, (change,))).changes
    assert moved == replace(change, before={**PRICE, "region": NO_KEY_VALUE})


def test_the_sources_file_declares_what_the_writer_writes() -> None:
    (source,) = yaml.safe_load(SOURCES.read_text())["sources"]
    entries = {entry["name"]: entry for entry in source["tables"]}
    assert {*entries} == {*TABLES, *(replica.name for replica in REPLICAS.values())}
    for replica in REPLICAS.values():
        assert entries[replica.name]["identifier"] == replica.name
    for name, how in LOGGED_TABLES.items():
        assert entries[name]["identifier"] == RAW_TABLE.name
        columns = [(column["name"], column["data_type"]) for column in entries[name]["columns"]]
        assert columns == [(column.name, column.data_type) for column in how.table.columns]
        assert entries[name]["config"]["meta"]["change_table"] == {
            "format": "idm_event_log",
            "key": list(how.table.key),
            "table_name": how.name,
            "schema_name": SCHEMA,
            "driver_user": DRIVER_USER,
            **({"replica": REPLICAS[name].name} if name in REPLICAS else {}),
        }
