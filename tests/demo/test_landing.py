"""What is landed is what was meant, and a difference from the source is seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from change_tables.server.local_server import LocalServer
from demo.database import TABLES, Column, Table
from demo.history import Row
from demo.landing import create_table, execute, fetch, insert_rows, literal, quoted
from demo.oracle import compare, disordered_versions, land_truth
from demo.workload import TEXTS

SCHEMA = "demo_landing"


@pytest.fixture(scope="module")
def connection(server: LocalServer) -> Iterator[Any]:
    """A connection with an empty schema for these tests."""
    connection = server.connect()
    execute(connection, f"drop schema if exists {SCHEMA} cascade")
    execute(connection, f"create schema {SCHEMA}")
    yield connection
    connection.close()


def test_texts_land_as_they_are(connection: Any) -> None:
    texts = [None, *TEXTS, "${spark.master}", "\\u0041", "%%", "\r\n\t\\"]
    create_table(connection, f"{SCHEMA}.texts", [Column("number", "int"), Column("it's a text", "string")])
    insert_rows(connection, f"{SCHEMA}.texts", list(enumerate(texts)))
    # as code points, so that nothing on the way back can repair what was broken on the way there
    found = fetch(connection, f"select hex(encode(`it's a text`, 'utf-8')) from {SCHEMA}.texts order by number")
    assert [text for (text,) in found] == [None if text is None else text.encode().hex().upper() for text in texts]


VALUES = [
    ("decimal(12,2)", None, None),
    ("decimal(12,2)", Decimal("-1.50"), "-1.50"),
    ("decimal(38,10)", Decimal("9999999999999999999999999999.9999999999"), "9999999999999999999999999999.9999999999"),
    ("date", date(1900, 1, 1), "1900-01-01"),
    ("timestamp", datetime(2026, 3, 29, 1, 30, 0, 1, tzinfo=UTC), "2026-03-29 01:30:00.000001"),
    ("binary", b"", ""),
    ("binary", b"\x00'\\\xff", "00275CFF"),
    ("boolean", False, "false"),
    ("double", 5e-324, "4.9E-324"),
    ("double", -2.5, "-2.5"),
    ("int", -(2**31), "-2147483648"),
    ("bigint", 9_007_199_254_740_993, "9007199254740993"),
]


def test_values_land_as_they_are(connection: Any) -> None:
    columns = [Column(f"value {number}", data_type) for number, (data_type, _, _) in enumerate(VALUES)]
    create_table(connection, f"{SCHEMA}.one_row", columns)
    insert_rows(connection, f"{SCHEMA}.one_row", [[value for _, value, _ in VALUES]])
    shown = ", ".join(
        f"hex({quoted(column.name)})" if column.data_type == "binary" else f"cast({quoted(column.name)} as string)"
        for column in columns
    )
    assert fetch(connection, f"select {shown} from {SCHEMA}.one_row") == [tuple(expected for _, _, expected in VALUES)]


def test_a_table_that_is_made_again_is_empty(connection: Any) -> None:
    for _ in range(2):
        create_table(connection, f"{SCHEMA}.raw", [Column("value", "int")])
        insert_rows(connection, f"{SCHEMA}.raw", [(1,), (2,)])
    insert_rows(connection, f"{SCHEMA}.raw", [(3,)])
    assert sorted(fetch(connection, f"select * from {SCHEMA}.raw")) == [(1,), (2,), (3,)]


PRICES: Table = TABLES["prices"]
BOLT: Row = {
    "article": "bolt",
    "region": None,
    "order": 1,
    "unit price": Decimal("1.5000000000"),
    "it's": "a",
    "valid_on": None,
}
NUT: Row = {
    "article": "nut",
    "region": "",
    "order": None,
    "unit price": None,
    "it's": None,
    "valid_on": date(2026, 1, 5),
}


@pytest.fixture(scope="module")
def truth(connection: Any) -> str:
    """The source's prices, landed."""
    return land_truth(connection, PRICES, [BOLT, NUT])


def make_model(connection: Any, columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """A view of these rows, in the types of the columns."""
    selects = [
        "select "
        + ", ".join(
            f"cast({literal(row.get(each.name))} as {each.data_type}) as {quoted(each.name)}" for each in columns
        )
        for row in (*rows, {})
    ]
    # the last one is there for its types only
    selected = f"{' union all '.join(selects)} where false"
    execute(connection, f"create or replace temporary view model as {selected}")
    return "model"


@pytest.mark.parametrize(
    ("rows", "missing", "surplus"),
    [
        ([], 2, 0),
        ([BOLT, NUT], 0, 0),
        ([BOLT], 1, 0),
        ([BOLT, NUT, NUT], 0, 1),
        ([BOLT, {**NUT, "region": None}], 1, 1),
        ([{**BOLT, "unit price": Decimal("1.5000000001")}, NUT], 1, 1),
    ],
)
def test_a_model_that_differs_from_the_source_is_reported(
    connection: Any, truth: str, rows: list[Row], missing: int, surplus: int
) -> None:
    found = compare(connection, PRICES, make_model(connection, PRICES.columns, rows), truth)
    assert (found.missing, found.surplus, found.equal) == (missing, surplus, missing == surplus == 0)
    assert [sample[0] for sample in found.samples].count("missing") == missing


def test_a_model_with_another_type_is_not_the_source(connection: Any, truth: str) -> None:
    columns = [Column(each.name, "bigint") if each.name == "order" else each for each in PRICES.columns]
    found = compare(connection, PRICES, make_model(connection, columns, [BOLT, NUT]), truth)
    assert (found.missing, found.surplus, found.other_types) == (0, 0, ["order: bigint, not int"])
    assert not found.equal


@pytest.mark.parametrize(
    ("versions", "disordered"),
    [
        ([], 0),
        ([("bolt", None, "1", "2"), ("bolt", None, "2", "5"), ("bolt", None, "7", None), ("bolt", "", "1", None)], 0),
        ([("bolt", None, "1", "3"), ("bolt", None, "2", None)], 1),
        ([("bolt", None, "1", None), ("bolt", None, "2", None), ("nut", None, "3", None)], 1),
        ([("bolt", None, "2", "2"), ("bolt", None, "3", "2")], 2),
    ],
)
def test_versions_that_overlap_are_reported(
    connection: Any, versions: list[tuple[str | None, ...]], disordered: int
) -> None:
    columns = ("article", "region", "_valid_from_seq", "_valid_to_seq")
    create_table(connection, f"{SCHEMA}.history", [Column(name, "string") for name in columns])
    insert_rows(connection, f"{SCHEMA}.history", versions)
    assert disordered_versions(connection, PRICES, f"{SCHEMA}.history") == (len(versions), disordered)


def test_only_the_rows_that_count_are_compared(connection: Any, truth: str) -> None:
    model = make_model(connection, PRICES.columns, [BOLT, NUT, {**NUT, "article": "screw"}])
    assert compare(connection, PRICES, model, truth, "article <> 'screw'").equal
