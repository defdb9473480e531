"""State tables that earlier versions of the package left: a run goes on from them, or builds them anew from their log.

`layouts/<layout>.json` holds the tables that a first build left under that layout, as rows; see `layout()` in
macros/tables/marks.sql. Files of earlier layouts stay. With CHANGE_TABLES_LAYOUT=write the last test writes
that of the present one.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from udfs.catalog import sql_literal

from .consumer import REPOSITORY, Consumer, Entry
from .landing import Raw
from .qlik_cases import TWO_HEADERS, bare, seq

MARKS = REPOSITORY / "macros/tables/marks.sql"
FOLDER = Path(__file__).with_name("layouts")
COLUMNS = {"id": "bigint", "name": "string"}
LAYOUT = re.findall(r"macro layout\(\) %}\s+{% do return\((\d+)\)", MARKS.read_text())[0]
KINDS = ("dedup", "current", "history")
ENTRY = Entry("orders", TWO_HEADERS | {"arrival": "landed"}, COLUMNS, ("stg", *KINDS))
LANDED = {"header__change_seq": "string", "header__change_oper": "string"} | COLUMNS | {"landed": "int"}

FIRST = [
    bare(10, "I", 1, "a", 1),
    bare(20, "I", 2, "b", 1),
    bare(30, "I", 3, "c", 1),
    bare(40, "U", 1, "a2", 1),
    bare(50, "D", 3, "c", 1),
]
SECOND = [bare(25, "U", 2, "late", 2), bare(60, "U", 1, "a3", 2), bare(70, "I", 3, "again", 2)]

CURRENT = [{(1, "a2"), (2, "b")}, {(1, "a3"), (2, "late"), (3, "again")}]
HISTORY = [
    {(1, "a", 10, 40), (1, "a2", 40, None), (2, "b", 20, None), (3, "c", 30, 50)},
    {
        (1, "a", 10, 40),
        (1, "a2", 40, 60),
        (1, "a3", 60, None),
        (2, "b", 20, 25),
        (2, "late", 25, None),
        (3, "c", 30, 50),
        (3, "again", 70, None),
    },
]
"""What the models show after the first rows, and after the second."""


def _land_first(raw: Raw, schema: str) -> None:
    raw.create(f"{schema}_raw.orders", LANDED)
    raw.insert(f"{schema}_raw.orders", FIRST)


def _kept(raw: Raw, table: str) -> dict[str, Any]:
    columns = {name: kind for name, kind, _ in raw.query(f"describe {table}") if name and not name.startswith("#")}
    rows = raw.query(f"select to_json(struct(*), map('ignoreNullFields', 'false')) from {table}")
    return {"columns": columns, "rows": sorted((json.loads(row) for (row,) in rows), key=str)}


def _restore(raw: Raw, schema: str, kept: Mapping[str, Any]) -> None:
    """Make the tables of a layout, without the views over them."""
    raw.query(f"create schema {schema}")
    for kind, table in kept.items():
        columns = ", ".join(f"`{name}` {data_type}" for name, data_type in table["columns"].items())
        partitions = "partitioned by (_is_last)" if "_is_last" in table["columns"] else ""
        name = f"{schema}.{kind}_feed__orders__state"
        raw.query(
            f"create table {name} ({columns}) using delta {partitions}"
            " tblproperties ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true')"
        )
        rows = ", ".join(f"({sql_literal(json.dumps(row))})" for row in table["rows"])
        raw.query(
            f"insert into {name} select row.* from (select from_json(text, {sql_literal(columns)}) as row"
            f" from values {rows} as kept(text))"
        )


def _shown(raw: Raw, schema: str) -> tuple[set[Any], set[Any]]:
    numbers = {seq(number): number for number in range(10, 80, 5)}
    current = set(raw.query(f"select id, name from {schema}.current_feed__orders"))
    versions = raw.query(f"select id, name, _valid_from_seq, _valid_to_seq from {schema}.history_feed__orders")
    history = [(id_, name, numbers[begin], numbers.get(end)) for id_, name, begin, end in versions]
    assert len(history) == len(set(history))
    return current, set(history)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.json")), ids=lambda file: f"layout {file.stem}")
def test_a_run_goes_on_from_the_tables_of_every_layout(
    raw: Raw, consumer: Callable[[str], Consumer], file: Path
) -> None:
    schema = f"layout_{file.stem}"
    project = consumer(schema)
    _land_first(raw, schema)
    _restore(raw, schema, json.loads(file.read_text()))
    project.write([ENTRY])
    project.dbt("run")
    assert _shown(raw, schema) == (CURRENT[0], HISTORY[0])
    raw.insert(f"{schema}_raw.orders", SECOND)
    project.dbt("run")
    assert _shown(raw, schema) == (CURRENT[1], HISTORY[1])
    for kind in KINDS:
        (mark,) = raw.query(
            "select max_by(get_json_object(_mark, '$.layout'), get_json_object(_mark, '$.batch'))"
            f" from {schema}.{kind}_feed__orders__state"
        )[0]
        assert mark == LAYOUT


def test_the_tables_of_the_present_layout_are_kept(raw: Raw, consumer: Callable[[str], Consumer]) -> None:
    file = FOLDER / f"{LAYOUT}.json"
    if "CHANGE_TABLES_LAYOUT" in os.environ:
        project = consumer("layout_now")
        _land_first(raw, "layout_now")
        project.write([ENTRY])
        project.dbt("run")
        tables = {kind: _kept(raw, f"layout_now.{kind}_feed__orders__state") for kind in KINDS}
        file.write_text(f"{json.dumps(tables, indent=1)}\n")
    assert file.is_file(), f"a new layout: run this test with CHANGE_TABLES_LAYOUT=write, which writes {file}"
