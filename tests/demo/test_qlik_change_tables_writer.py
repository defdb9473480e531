"""The change tables are as the page of the format says, and the sources file says of them what the writer does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.database import TABLES
from demo.history import Change, Contents, Key, Row, Transaction, Value
from demo.workload import Workload
from demo.writers.feed import Verdict
from demo.writers.qlik_change_tables import (
    ALL_HEADERS,
    CHANGE_TABLES,
    QlikChangeTablesWriter,
    RawRow,
    binary_mask,
    hex_mask,
)

BATCHES = 3
SOURCES = Path(__file__).parents[2] / "models/staging/qlik_change_tables/_qlik_change_tables__sources.yml"


class Fed:
    """A history written in batches."""

    def __init__(self, seed: int) -> None:
        """Writes it."""
        self.writer = QlikChangeTablesWriter(seed)
        workload = Workload(seed, swaps=QlikChangeTablesWriter.swaps)
        self.loaded = workload.fill()
        self.batches: list[Mapping[str, Sequence[tuple[Value, ...]]]] = []
        self.contents: list[Contents] = []
        self.delivered: list[list[RawRow]] = []
        self.late: list[list[RawRow]] = []
        self.played: list[list[Transaction]] = []
        for number in range(BATCHES):
            transactions = list(workload.play_round())
            loaded = self.loaded if number == 0 else ()
            self.batches.append(self.writer.write(transactions, loaded, last=number == BATCHES - 1))
            self.contents.append(workload.database.contents())
            self.delivered.append(list(self.writer.delivered))
            self.late.append(list(self.writer.late))
            self.played.append(transactions)
        self.transactions = workload.database.transactions

    def changes(self, table: str, operation: str) -> list[Change]:
        """The changes of a table that its change table must have, in order."""
        copied = len(self.loaded) if CHANGE_TABLES[table].has_snapshot else 0
        return [
            change
            for transaction in self.transactions[copied:]
            for change in transaction.changes
            if (change.table, change.operation) == (table, operation)
            and (operation != "update" or change.before != change.after)
        ]

    def rows(self, table: str, letter: str) -> list[RawRow]:
        """The sound rows of a change table with that change_oper, each once, in the order of their change_seq."""
        found = {
            (row.change_seq, row.values): row
            for row in self.writer.delivered
            if row.code is None and (row.change_table.table.name, row.letter) == (table, letter)
        }
        return [found[identity] for identity in sorted(found, key=str)]


FED = Fed(3)


def header(row: RawRow, name: str) -> Value:
    """What a raw row has in a header column."""
    return row.values[row.change_table.headers.index(name)]


def data(row: RawRow) -> tuple[Value, ...]:
    """What a raw row has in the source table's columns."""
    return row.values[len(row.change_table.headers) :]


def as_text(value: Value) -> str:
    """A number as a text column has it: in full, without an exponent."""
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def landed(table: str, row: Row | None) -> tuple[Value, ...]:
    """A row of the source as the change table has it: some columns as text."""
    text_columns = CHANGE_TABLES[table].text_columns
    return tuple(
        as_text(value) if name in text_columns and value is not None else value for name, value in (row or {}).items()
    )


@pytest.mark.parametrize(
    ("bits", "order", "whole_bytes", "expected"),
    [
        ([], "least_significant_first", None, None),
        ([], "least_significant_first", 2, b"\x00\x00"),
        ([7], "least_significant_first", None, b"\x80"),
        ([8], "least_significant_first", None, b"\x00\x01"),
        ([8], "least_significant_first", 4, b"\x00\x01\x00\x00"),
        ([8], "most_significant_first", None, b"\x01\x00"),
        ([71], "least_significant_first", None, b"\x00" * 8 + b"\x80"),
    ],
)
def test_bit_0_of_a_binary_mask_is_in_byte_0_or_in_the_last_one(
    bits: list[int], order: str, whole_bytes: int | None, expected: bytes | None
) -> None:
    assert binary_mask(bits, order, whole_bytes) == expected


@pytest.mark.parametrize(
    ("bits", "whole_bytes", "expected"),
    [([], None, ""), ([], 2, "0000"), ([7, 8], 2, "0180"), ([7, 8], None, "180"), ([71], None, "80" + "0" * 16)],
)
def test_a_hex_mask_is_one_big_number(bits: list[int], whole_bytes: int | None, expected: str) -> None:
    assert hex_mask(bits, whole_bytes) == expected


def set_columns(table: str, mask: Value) -> set[str]:
    """The columns whose bits are set, found bit by bit: bit i is the column of ordinal i + 1, headers counted."""
    change_table = CHANGE_TABLES[table]
    if mask is None:
        return set()
    if isinstance(mask, bytes):
        place = mask if change_table.mask_order == "least_significant_first" else mask[::-1]
        bits = {8 * number + bit for number, byte in enumerate(place) for bit in range(8) if byte >> bit & 1}
    else:
        digits = str(mask).lower().removeprefix("0x")[::-1]
        bits = {
            4 * number + bit
            for number, digit in enumerate(digits)
            for bit in range(4)
            if "0123456789abcdef".index(digit) >> bit & 1
        }
    ordinals = [*change_table.headers, *change_table.table.column_names]
    return {ordinals[bit] for bit in bits}


@pytest.mark.parametrize("table", [name for name, each in CHANGE_TABLES.items() if "change_mask" in each.headers])
def test_masks_name_the_columns_that_the_page_says(table: str) -> None:
    def masks(letter: str) -> list[set[str]]:
        return [set_columns(table, header(row, "change_mask")) for row in FED.rows(table, letter)]

    assert masks("U") == [set(change.changed_columns) for change in FED.changes(table, "update")]
    assert masks("I") == [set(TABLES[table].column_names)] * len(FED.changes(table, "insert"))
    assert masks("D") == [set(TABLES[table].key)] * len(FED.changes(table, "delete"))
    assert not any(masks("B"))


@pytest.mark.parametrize("table", CHANGE_TABLES)
def test_rows_in_the_order_of_their_change_seq_are_the_changes_in_order(table: str) -> None:
    updates = FED.changes(table, "update")
    of_update = {row.change_seq for row in FED.rows(table, "U")}
    before_images = [row for row in FED.rows(table, "B") if row.change_seq in of_update]
    assert [data(row) for row in FED.rows(table, "I")] == [
        landed(table, change.after) for change in FED.changes(table, "insert")
    ]
    assert [data(row) for row in FED.rows(table, "U")] == [landed(table, change.after) for change in updates]
    assert [data(row) for row in before_images] == [landed(table, change.before) for change in updates]
    assert [row.change_seq for row in before_images] == [row.change_seq for row in FED.rows(table, "U")]
    assert [row.key for row in FED.rows(table, "D")] == [
        TABLES[table].key_of(change.before or {}) for change in FED.changes(table, "delete")
    ]
    assert len(FED.rows(table, "T")) == len(FED.changes(table, "truncate")) > 0


def test_change_seqs_are_35_digits_and_no_two_changes_have_one() -> None:
    rows = [row for table in TABLES for letter in "IUDT" for row in FED.rows(table, letter)]
    assert all(row.change_seq is not None and len(row.change_seq) == 35 and row.change_seq.isdigit() for row in rows)
    assert len({row.change_seq for row in rows}) == len(rows)


def test_deletes_have_the_last_image_or_nothing_but_the_key() -> None:
    last_images = [landed("orders", change.before) for change in FED.changes("orders", "delete")]
    width = len(TABLES["orders"].columns)
    bare = [(*image[:1], *[None] * (width - 1)) for image in last_images]
    found = [data(row) for row in FED.rows("orders", "D")]
    assert all(row in both for row, both in zip(found, zip(last_images, bare, strict=True), strict=True))
    assert found != last_images
    assert found != bare


@pytest.mark.parametrize("table", CHANGE_TABLES)
def test_a_table_with_a_full_load_has_its_first_rows_there_and_no_others(table: str) -> None:
    first_rows = [
        tuple((change.after or {}).values())
        for transaction in FED.loaded
        for change in transaction.changes
        if change.table == table
    ]
    if CHANGE_TABLES[table].has_snapshot:
        assert [list(batch[table]) for batch in FED.batches] == [first_rows, [], []]
    else:
        assert table not in FED.batches[0]


def test_every_broken_kind_is_written_and_every_row_is_counted() -> None:
    counted: Counter[Verdict] = Counter()
    for name, counts in FED.writer.expected_statuses.items():
        raw_rows = sum(len(batch[f"{name}__ct"]) + len(batch.get(name, ())) for batch in FED.batches)
        assert counts.total() == raw_rows
        counted += counts
    assert set(counted) == {
        Verdict("accepted", None),
        Verdict("merged", None),
        Verdict("waiting", "after_image_missing"),
        Verdict("rejected", "unknown_operation"),
        Verdict("rejected", "change_seq_missing"),
        Verdict("rejected", "change_seq_malformed"),
        Verdict("rejected", "change_mask_malformed"),
        Verdict("rejected", "key_missing"),
        Verdict("rejected", "value_does_not_fit"),
    }


@pytest.mark.parametrize("table", CHANGE_TABLES)
def test_a_change_counts_once_however_often_it_is_sent(table: str) -> None:
    changes = sum(len(FED.changes(table, operation)) for operation in ("insert", "update", "delete", "truncate"))
    copied = len(FED.batches[0].get(table, ()))
    assert FED.writer.expected_changes[table] == changes + copied
    assert FED.writer.expected_statuses[table][Verdict("accepted", None)] > changes + copied


def test_rows_of_this_and_of_earlier_batches_come_again() -> None:
    first, second = FED.delivered[0], FED.delivered[1][len(FED.delivered[0]) :]
    assert len({id(row) for row in first}) < len(first)
    assert {id(row) for row in first} & {id(row) for row in second}


@pytest.mark.parametrize("seed", range(6))
def test_what_comes_late_alters_no_table_meanwhile(seed: int) -> None:
    fed = Fed(seed)
    for delivered, contents in zip(fed.delivered, fed.contents, strict=True):
        for name, table in TABLES.items():
            in_source = {table.key_of(row): tuple(row.values()) for row in contents[name]}
            assert applied(name, fed.batches[0].get(name, ()), delivered) == in_source
    assert [len(late) > 0 for late in fed.late] == [True, True, False]


def test_no_change_of_a_key_that_moves_comes_late() -> None:
    for transactions, late in zip(FED.played, FED.late, strict=True):
        moving = {
            (change.table, TABLES[change.table].key_of(image))
            for transaction in transactions
            for change in transaction.changes
            if set(change.changed_columns) & set(TABLES[change.table].key)
            for image in (change.before or {}, change.after or {})
        }
        assert moving
        assert not moving & {(row.change_table.table.name, row.key) for row in late}


def applied(
    name: str, first_rows: Sequence[tuple[Value, ...]], delivered: Sequence[RawRow]
) -> dict[Key, tuple[Value, ...]]:
    """The table that sound rows make in the order of their change_seq: a before image takes its key away first."""
    table = TABLES[name]
    state = {table.key_of(dict(zip(table.column_names, row, strict=True))): row for row in first_rows}
    rows = [row for row in delivered if row.change_table.table.name == name and row.code is None]
    updated = {row.change_seq for row in rows if row.letter == "U"}
    for row in sorted(rows, key=lambda row: (str(row.change_seq), "BIUDT".index(row.letter))):
        if row.letter == "T":
            state.clear()
        elif row.letter == "D" or (row.letter == "B" and row.change_seq in updated):
            state.pop(row.key, None)
        elif row.letter in "IU":
            state[row.key] = tuple(row.image[column] for column in table.column_names)
    return state


def entries() -> dict[str, dict[str, Any]]:
    """The entries of the sources file by name."""
    (source,) = yaml.safe_load(SOURCES.read_text())["sources"]
    return {entry["name"]: entry for entry in source["tables"]}


@pytest.mark.parametrize("table", CHANGE_TABLES)
def test_the_sources_file_describes_the_tables_as_they_are(table: str) -> None:
    entry, change_table = entries()[table], CHANGE_TABLES[table]
    spec = entry["config"]["meta"]["change_table"]
    default_order = "least_significant_first" if change_table.mask_type == "binary" else "most_significant_first"
    assert entry["identifier"] == change_table.name
    assert [(column["name"], column["data_type"]) for column in entry["columns"]] == [
        (column.name, column.data_type) for column in TABLES[table].columns
    ]
    assert tuple(spec["key"]) == TABLES[table].key
    assert tuple(spec.get("headers", ALL_HEADERS)) == change_table.headers
    assert spec.get("header_prefix", "header__") == change_table.header_prefix
    assert spec.get("mask_type", "binary") == change_table.mask_type
    assert spec.get("mask_order", default_order) == change_table.mask_order
    assert ("snapshot" in spec) == change_table.has_snapshot
    if change_table.has_snapshot:
        assert entries()[spec["snapshot"]]["identifier"] == change_table.snapshot_table.name
