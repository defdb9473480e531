"""The source database keeps every value as it is, and keeps its history."""

from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from demo.database import TABLES, SourceDatabase, from_sqlite, to_sqlite
from demo.history import Row, Value

STARTED_AT = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "data_type"),
    [
        (None, "string"),
        (None, "decimal(12,2)"),
        ("", "string"),
        ("it's 日本語\n", "string"),
        (Decimal("0.00"), "decimal(12,2)"),
        (Decimal("-9999999999999999999999999999.9999999999"), "decimal(38,10)"),
        (date(1900, 1, 1), "date"),
        (datetime(2026, 1, 5, 8, 0, 0, 1, tzinfo=UTC), "timestamp"),
        (b"", "binary"),
        (b"\x00\xff'", "binary"),
        (False, "boolean"),
        (0.1, "double"),
        (9_007_199_254_740_993, "bigint"),
    ],
)
def test_a_value_comes_back_from_sqlite_as_it_went_in(value: Value, data_type: str) -> None:
    connection = sqlite3.connect(":memory:")
    (stored,) = connection.execute("select ?", [to_sqlite(value)]).fetchone()
    found = from_sqlite(stored, data_type)
    assert (type(found), found) == (type(value), value)


def test_one_table_is_wider_than_a_64_bit_mask_and_one_has_names_that_need_quoting() -> None:
    assert len(TABLES["machine_settings"].columns) == 71
    assert {"order", "unit price", "it's"} <= set(TABLES["prices"].column_names)


def test_a_transaction_that_fails_leaves_no_trace() -> None:
    database = SourceDatabase()

    def insert_and_fail() -> None:
        with database.transaction(STARTED_AT) as transaction:
            transaction.insert("orders", {"order_id": 1})
            transaction.delete("orders", (2,))

    with pytest.raises(KeyError):
        insert_and_fail()
    assert (database.transactions, database.count("orders")) == ([], 0)


def test_a_key_lives_once_also_where_a_part_of_it_is_null() -> None:
    database = SourceDatabase()
    row: Row = {"article": "bolt", "region": None}
    with database.transaction(STARTED_AT) as transaction:
        transaction.insert("prices", row)
        transaction.insert("prices", {"article": "bolt", "region": ""})
    with pytest.raises(sqlite3.IntegrityError), database.transaction(STARTED_AT) as transaction:
        transaction.insert("prices", row)


def test_rows_that_exchange_their_keys_are_logged_as_the_true_moves() -> None:
    database = SourceDatabase()
    with database.transaction(STARTED_AT) as transaction:
        transaction.insert("orders", {"order_id": 1, "status": "a"})
        transaction.insert("orders", {"order_id": 2, "status": "b"})
    with database.transaction(STARTED_AT) as transaction:
        transaction.rotate_keys("orders", [(1,), (2,)])
    moves = [
        (change.before["order_id"], change.after["order_id"], change.after["status"])
        for change in database.transactions[1].changes
        if change.before is not None and change.after is not None
    ]
    assert moves == [(1, 2, "a"), (2, 1, "b")]
    assert [row["status"] for row in (database.row("orders", (1,)), database.row("orders", (2,))) if row] == ["b", "a"]


def test_a_truncate_is_one_change_without_images() -> None:
    database = SourceDatabase()
    with database.transaction(STARTED_AT) as transaction:
        transaction.insert("orders", {"order_id": 1})
        transaction.insert("orders", {"order_id": 2})
        transaction.truncate("orders")
    last = database.transactions[0].changes[-1]
    assert (last.operation, last.before, last.after, database.count("orders")) == ("truncate", None, None, 0)
