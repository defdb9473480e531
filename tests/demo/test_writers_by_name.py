"""What lands of described feeds is as their pages say, and the sources files say of it what the writers do."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from demo.database import TABLES, Column, Table
from demo.history import Change, Contents, Key, Row
from demo.landing import Landed
from demo.workload import Workload
from demo.writers import BY_NAME, WRITERS
from demo.writers.debezium import LARGE, UNAVAILABLE, as_connected
from demo.writers.deliveries import (
    ACCEPTED,
    REPLICATED,
    DeliveriesWriter,
    Delivery,
    EmptiedByDeletes,
    held_back,
    text_of_time,
)
from demo.writers.dms import raw_table
from demo.writers.goldengate_messages import FLAGGED

BATCHES = 3
MODELS = Path(__file__).parents[2] / "demo/models"
DESCRIBED = {system: writer for system, writer in BY_NAME.items() if issubclass(writer, DeliveriesWriter)}

Rows = dict[Key, dict[str, Any]]
Raw = Sequence[Mapping[str, Any]]


class Fed:
    """A history written in batches: the raw rows by their columns, and the source's contents after each."""

    def __init__(self, system: str, seed: int) -> None:
        """Write it."""
        writer = self.writer = DESCRIBED[system](seed)
        workload = Workload(seed, swaps=False)
        loaded = workload.fill()
        self.batches: list[dict[str, list[dict[str, Landed]]]] = []
        self.contents: list[Contents] = []
        self.ends: list[int] = []
        for number in range(BATCHES):
            transactions = list(workload.play_round())
            written = writer.write(transactions, loaded if number == 0 else (), last=number == BATCHES - 1)
            self.batches.append(
                {
                    table.name: [
                        {column.name: value for column, value in zip(table.columns, row, strict=True)}
                        for row in written[table.name]
                    ]
                    for table in writer.raw_tables
                }
            )
            self.contents.append(workload.database.contents())
            self.ends.append(len(writer.delivered))
        self.transactions = workload.database.transactions

    def raw(self, batch: int = BATCHES - 1) -> dict[str, list[dict[str, Landed]]]:
        """The raw rows that have landed up to a batch, by raw table."""
        found: dict[str, list[dict[str, Landed]]] = defaultdict(list)
        for landed in self.batches[: batch + 1]:
            for name, rows in landed.items():
                found[name] += rows
        return found

    def messages(self) -> Iterator[dict[str, Any]]:
        """The JSON objects that have landed, without their schemas."""
        return (message for rows in self.raw().values() for message in messages_of(rows))


@pytest.fixture(scope="module", params=[(system, seed) for system in DESCRIBED for seed in (1, 2)], ids=str)
def fed(request: pytest.FixtureRequest) -> Fed:
    """A history by its feed and its seed."""
    return Fed(*request.param)


def messages_of(rows: Raw) -> Iterator[dict[str, Any]]:
    for row in rows:
        if row["value"] is not None and row["value"].startswith("{"):
            message = json.loads(row["value"], parse_float=Decimal)
            yield message.get("payload", message)


# how each feed is read: by its page, and not by the macros


def read_debezium(rows: Raw, table: Table) -> Rows:
    def place(event: dict[str, Any]) -> tuple[int, int]:
        source = event["source"]
        commit, _ = json.loads(source["sequence"])
        return (0, 0) if event["op"] == "r" else (int(commit or 0), source["lsn"])

    events = [
        event
        for event in messages_of(rows)
        if event.get("source", {}).get("table") == table.name
        and event["op"] in ("r", "c", "u", "d", "t")
        and isinstance(event["source"]["lsn"], int)
        and (event["op"] in "dt" or (event["after"] and set(table.column_names) <= set(event["after"])))
        and not {"?", "#"} & set(map(str, (event["after"] or {}).values()))
    ]
    living: Rows = {}
    for event in sorted(events, key=place):
        if event["op"] == "t":
            living.clear()
        elif event["op"] == "d":
            living.pop(table.key_of(event["before"]), None)
        else:
            key = table.key_of(event["after"])
            unavailable = (UNAVAILABLE, b64encode(UNAVAILABLE.encode()).decode())
            borne = {name: value for name, value in event["after"].items() if value not in unavailable}
            living[key] = {**living.get(key, {}), **borne}
    return living


def read_dms(rows: Raw, table: Table) -> Rows:
    living: Rows = {}
    for row in sorted(rows, key=lambda row: row["change_seq"]):
        sequence, op = row["change_seq"], row["Op"]
        if op not in ("I", "U", "D", None) or (sequence and (len(sequence) != 35 or op is None)):
            continue
        if not sequence and op in ("U", "D"):
            continue
        if op == "D":
            living.pop(table.key_of(row), None)
            continue
        if op == "U":
            living.pop(tuple(row[f"BI_{name}"] for name in table.key), None)
        living[table.key_of(row)] = {name: row[name] for name in table.column_names}
    return living


def read_mapped(rows: Raw, table: Table) -> Rows:
    living: Rows = {}
    numbered = [row for row in rows if row["audit_id"] is not None and row["audit_id"] >= 0]
    for row in sorted(numbered, key=lambda row: row["audit_id"]):
        if row["action"] not in ("INS", "UPD", "DEL") or set(table.key_of(row)) == {None}:
            continue
        if row["action"] == "UPD":
            living.pop(tuple(row[f"{name}_old"] for name in table.key), None)
        living.pop(table.key_of(row), None)
        if row["action"] != "DEL":
            living[table.key_of(row)] = {name: row[name] for name in table.column_names}
    return living


def read_goldengate_messages(rows: Raw, table: Table) -> Rows:
    living: Rows = {}
    columns = {name.upper(): name for name in table.column_names}
    messages = {
        message["pos"]: message
        for message in messages_of(rows)
        if message["table"] == f"SHOP.{table.name.upper()}" and (message["pos"] or "").isdigit()
    }
    for _, message in sorted(messages.items()):
        before, after = (
            {
                name: image[capitals]
                for capitals, name in columns.items()
                if capitals in image and not image.get(f"{capitals}_isMissing")
            }
            for image in (message.get("before") or {}, message.get("after") or {})
        )
        sound = after.keys() >= set(table.key) and not {"n/a", "1.00001", "9" * 40} & set(map(str, after.values()))
        match message["op_type"]:
            case "T":
                living.clear()
            case "D":
                living.pop(table.key_of(before), None)
            case "I" | "U" if sound:
                old = living.pop(table.key_of(before), {}) if before else {}
                living[table.key_of(after)] = {**old, **after}
    return living


READ: Mapping[str, Callable[[Raw, Table], Rows]] = {
    "debezium": read_debezium,
    "dms": read_dms,
    "goldengate_messages": read_goldengate_messages,
    "mapped": read_mapped,
}
IN_COLUMNS = {"dms": "dms_", "mapped": "audit_"}
"""Feeds with a raw table for each of the source's, and how its name begins."""


def as_sent(system: str, row: Row) -> Mapping[str, Any]:
    """A row of the source as a feed has it."""
    if system == "debezium":
        return as_connected(row)
    if system in IN_COLUMNS:
        return row
    return {
        name: b64encode(value).decode() if isinstance(value, bytes) else text_of_time(value)
        for name, value in row.items()
    }


@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_sound_rows_in_their_order_make_the_source_tables(fed: Fed, batch: int) -> None:
    system, raw = fed.writer.system, fed.raw(batch)
    for name in REPLICATED:
        rows = raw[IN_COLUMNS[system] + name if system in IN_COLUMNS else fed.writer.raw_tables[0].name]
        living = READ[system](rows, TABLES[name])
        expected = Counter(tuple(as_sent(system, row).values()) for row in fed.contents[batch][name])
        found = Counter(tuple(row[column] for column in TABLES[name].column_names) for row in living.values())
        assert found == expected, name


def test_the_account_counts_every_raw_row(fed: Fed) -> None:
    of_none = sum(delivery.table is None for delivery in fed.writer.delivered)
    of_others = sum(delivery.table == "" for delivery in fed.writer.delivered)
    counted = sum(counts.total() for counts in fed.writer.expected_statuses.values())
    assert counted - of_none * (len(REPLICATED) - 1) + of_others == sum(map(len, fed.raw().values()))
    codes = {"unknown_operation", "change_seq_missing", "change_seq_malformed"}
    if fed.writer.system not in IN_COLUMNS:
        codes |= {"data_missing", "key_missing", "value_does_not_fit", "message_malformed"}
    for counts in fed.writer.expected_statuses.values():
        assert {verdict.code for verdict in counts if verdict.status == "rejected"} >= codes


def test_changes_come_again_late_and_in_no_order(fed: Fed) -> None:
    identities = [delivery.identity for delivery in fed.writer.delivered if delivery.identity]
    assert max(Counter(identities).values()) > 1
    first, second = (
        {
            delivery.identity
            for delivery in fed.writer.delivered[begin:end]
            if delivery.identity and delivery.identity[0]
        }
        for begin, end in ((0, fed.ends[0]), (fed.ends[0], fed.ends[1]))
    )
    if fed.writer.system != "debezium":  # whose identities do not sort
        assert min(identity[0] for identity in second - first if identity) < max(
            identity[0] for identity in first if identity
        )
        sequences = [identity[0] for identity in identities if identity]
        assert sequences != sorted(sequences)
    assert fed.writer.late == []


def test_a_delivery_that_comes_again_differs_in_nothing_that_is_of_the_change(fed: Fed) -> None:
    values: dict[Any, list[Any]] = defaultdict(list)
    for delivery in fed.writer.delivered:
        if delivery.identity:
            values[delivery.table, delivery.identity].append(delivery.value)
    assert all(value == found[0] for found in values.values() for value in found)


def change(number: int, *, keys: Sequence[int], is_whole: bool) -> Delivery:
    return Delivery("orders", number, ACCEPTED, (str(number), "u", (0,)), frozenset((key,) for key in keys), is_whole)


@pytest.mark.parametrize(
    ("keys_and_whole", "expected"),
    [
        ([], set()),
        ([([1], True)], set()),
        ([([1], True), ([2], True)], set()),
        ([([1], True), ([1], True)], {0}),
        ([([1], False), ([1], True)], set()),
        ([([1], True), ([1], False), ([1], True)], set()),
        ([([1], True), ([1, 2], False), ([1], True)], set()),
        ([([1], True), ([], False), ([1], True)], set()),
        ([([1], True), ([1], True), ([1, 2], False), ([1], True)], {0}),
    ],
)
def test_what_is_late_is_whole_and_a_later_whole_change_of_its_key_leaves_nothing_of_it(
    keys_and_whole: Sequence[tuple[Sequence[int], bool]], expected: set[int]
) -> None:
    class Always(Random):
        def random(self) -> float:
            return 0.0

    written = [change(n, keys=keys, is_whole=is_whole) for n, (keys, is_whole) in enumerate(keys_and_whole)]
    assert {delivery.value for delivery in held_back(written, Always())} == expected


def test_a_feed_without_truncates_has_a_delete_of_each_row_that_lives() -> None:
    at = datetime(2026, 1, 5, tzinfo=UTC)
    first, second = {"order_id": 1}, {"order_id": 2}
    emptied = EmptiedByDeletes()
    for change in (
        Change("orders", "insert", None, first, at),
        Change("orders", "insert", None, {"order_id": 3}, at),
        Change("orders", "update", {"order_id": 3}, second, at),
    ):
        assert emptied.changes(change) == [change]
    truncate = Change("orders", "truncate", None, None, at)
    assert emptied.changes(truncate) == [Change("orders", "delete", row, None, at) for row in (first, second)]
    assert emptied.changes(truncate) == []


# what the products do


@pytest.fixture(scope="module")
def debezium() -> Fed:
    return Fed("debezium", 1)


def test_debezium_sends_a_key_that_is_updated_as_a_delete_and_an_insert_at_one_place(debezium: Fed) -> None:
    moved = sum(
        change.operation == "update"
        and change.table in REPLICATED
        and TABLES[change.table].key_of(change.before or {}) != TABLES[change.table].key_of(change.after or {})
        for transaction in debezium.transactions
        for change in transaction.changes
    )
    ops: dict[tuple[str, int], set[str]] = defaultdict(set)
    deletes, tombstones = set(), 0
    for event in debezium.messages():
        if event.get("op") in ("c", "u", "d", "t") and isinstance(event["source"]["lsn"], int):
            ops[event["source"]["table"], event["source"]["lsn"]].add(event["op"])
            if event["op"] == "d":
                deletes.add((event["source"]["table"], event["source"]["lsn"]))
    tombstones = sum(row["value"] is None for row in debezium.raw()["debezium_records"])
    assert moved > 10
    assert sum(found == {"d", "c"} for found in ops.values()) == moved
    assert all(found == {"d", "c"} or len(found) == 1 for found in ops.values())
    assert tombstones == len(deletes)


def test_debezium_sends_transactions_as_they_are_committed_and_not_by_lsn(debezium: Fed) -> None:
    places = {
        (int(json.loads(event["source"]["sequence"])[0] or 0), event["source"]["lsn"])
        for event in debezium.messages()
        if event.get("op") in ("c", "u", "d", "t") and isinstance(event["source"]["lsn"], int)
    }
    lsns = [lsn for _, lsn in sorted(places)]
    assert lsns != sorted(lsns)
    assert len(set(lsns)) == len(lsns)
    assert any(lsn < commit for commit, lsn in places)


def test_debezium_lacks_only_large_values_that_an_update_left_alone(debezium: Fed) -> None:
    unavailable = (UNAVAILABLE, b64encode(UNAVAILABLE.encode()).decode())
    ops = Counter(
        (event["op"], event["source"]["table"], name)
        for event in debezium.messages()
        for name, value in (event.get("after") or {}).items()
        if value in unavailable
    )
    assert {key[:2] for key in ops} == {("u", "orders")}
    assert {key[2] for key in ops} == set(LARGE["orders"])


def test_debezium_logs_the_key_alone_or_the_whole_row_before(debezium: Fed) -> None:
    bare = {
        table: {
            all(value is None for name, value in event["before"].items() if name not in TABLES[table].key)
            for event in debezium.messages()
            if event.get("op") == "d" and event["source"]["table"] == table
        }
        for table in REPLICATED
    }
    assert bare["orders"] == {True}
    assert False in bare["prices"]


def test_a_row_of_dms_has_the_key_before_an_update_and_no_sequence_in_a_load() -> None:
    for name, rows in Fed("dms", 1).raw().items():
        table = TABLES[name.removeprefix("dms_")]
        before = [column.name for column in raw_table(table).columns if column.name.startswith("BI_")]
        assert before == [f"BI_{key}" for key in table.key]
        loaded = [row for row in rows if not row["change_seq"] and row["Op"] in ("I", None)]
        assert {row["Op"] for row in loaded} == {"I" if table.name == "orders" else None}
        assert len(loaded) > 20
        moved = [
            row
            for row in rows
            if row["Op"] == "U" and row["change_seq"] and row[before[0]] not in (None, row[table.key[0]])
        ]
        assert len(moved) > 5


def test_goldengate_writes_what_changed_or_all_and_says_what_it_lacks() -> None:
    fed = Fed("goldengate_messages", 1)
    for name in REPLICATED:
        table = TABLES[name]
        updates = [
            message["after"]
            for message in fed.messages()
            if message["table"] == f"SHOP.{name.upper()}" and message["op_type"] == "U" and "before" in message
        ]
        names = {frozenset(column for column in row if not column.endswith("_isMissing")) for row in updates}
        lacking = {
            sum(value is True for column, value in row.items() if column.endswith("_isMissing")) for row in updates
        }
        if name in FLAGGED:
            assert names == {frozenset(column.upper() for column in table.column_names)}
            assert len(lacking) > 2
        else:
            assert len(names) > 5
            assert lacking == {0}
    ops = Counter(message["op_type"] for message in fed.messages())
    assert ops["T"] >= 2
    assert len({len(message["pos"]) for message in fed.messages() if (message["pos"] or "").isdigit()}) == 1


# the models that read them


@pytest.mark.parametrize("system", DESCRIBED)
def test_the_sources_file_says_what_the_writer_writes(system: str) -> None:
    (source,) = yaml.safe_load((MODELS / system / f"_{system}__sources.yml").read_text())["sources"]
    assert source["name"] == system
    raw_tables = {table.name: table.columns for table in BY_NAME[system](1).raw_tables}
    assert [entry["name"] for entry in source["tables"]] == list(REPLICATED)
    for entry in source["tables"]:
        spec, table = entry["config"]["meta"]["change_table"], TABLES[entry["name"]]
        assert spec["format"] == system
        assert spec["key"] == list(table.key)
        columns = {column.name for column in raw_tables[entry["identifier"]]}
        assert columns >= {*spec.get("position", []), *([spec["arrival"]] if "arrival" in spec else [])}
        assert tuple(Column(column["name"], column["data_type"]) for column in entry["columns"]) == table.columns


def test_feeds_that_are_shown_by_name_are_none_of_all_and_have_models_in_folders_of_their_own() -> None:
    assert not BY_NAME.keys() & WRITERS.keys()
    assert sorted(folder.name for folder in MODELS.iterdir()) == sorted(BY_NAME)
    for system in DESCRIBED:
        models = {f"{kind}_{system}__{name}" for kind in ("stg", "dedup", "current") for name in REPLICATED}
        models |= {f"history_{system}__orders"}
        described = yaml.safe_load((MODELS / system / f"_{system}__models.yml").read_text())["models"]
        assert {file.stem for file in (MODELS / system).glob("*.sql")} == models
        assert {model["name"] for model in described} == models


def test_dates_and_decimals_of_debezium_are_days_and_unscaled_bytes() -> None:
    row: Row = {"on": date(1969, 12, 31), "most": Decimal("9" * 38), "least": Decimal("-1.28"), "at": None}
    sent = as_connected(row)
    assert sent["on"] == -1
    assert sent["most"] == b64encode((10**38 - 1).to_bytes(16, "big")).decode()
    assert int.from_bytes(b64decode(sent["least"]), "big", signed=True) == -128
    assert sent["at"] is None
