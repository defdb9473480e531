"""Many tables of one shape: with a raw table each, or in one trail of GoldenGate or one topic with Qlik's messages.

`described` reads the topic's messages by `format: mapped`. What Qlik's tables have is taken in by hand as well.

make cost COST='--many trail --tables 50 --changes 1000'
make cost COST='--many qlik --tables 200 --news 20 --raw delta'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .data import (
    COLUMNS,
    TYPES,
    add_to_messages,
    add_to_trail,
    create_messages,
    create_raw_table,
    create_trail,
    insert_changes,
    name_of_table,
)
from .projects import HAND, RAW, model_of, write_project

if TYPE_CHECKING:
    from .cost import Side

FEEDS = ("qlik", "trail", "topic", "described")
_KINDS = ("stg", "dedup", "current")
_CREATE = {"trail": create_trail, "topic": create_messages, "described": create_messages}
_ADD = {"trail": add_to_trail, "topic": add_to_messages, "described": add_to_messages}
_DESCRIBED = {
    "format": "mapped",
    "message": {"column": "value", "type": "data map<string, string>, headers map<string, string>"},
    "operation": "message.headers['operation']",
    "operations": {"INSERT": "insert", "UPDATE": "update", "DELETE": "delete"},
    "sequence": [{"sql": "message.headers['changeSequence']", "kind": "text", "length": 35}],
    "row": "message.data",
    "position": ["topic", "partition", "offset"],
}


@dataclass
class ManyTables:
    """The tables have the same number of changes each; `changes` is that of the first load and of each batch."""

    sides: Sequence[Side]
    feed: str
    tables: int
    changes: int
    batches: int
    news: int
    """In how many of the tables something lands in a batch."""
    raw: str
    """What Qlik's raw tables are stored as."""

    def run(self) -> None:
        """Go through the shapes with one table, for which no clock runs, then with all."""
        self._shapes(["warm"], is_kept=False)
        self._shapes([name_of_table(number) for number in range(1, self.tables + 1)])

    def _shapes(self, names: Sequence[str], *, is_kept: bool = True) -> None:
        for side in self.sides:
            for schema in (RAW, HAND):
                side.sql(f"create schema if not exists {schema}")
            models = {f"{kind}_shop__{name}": model_of(kind, name) for name in names for kind in _KINDS}
            write_project(side, [self._entry(name, names) for name in names], models)
            side.dbt("deps")
            side.dbt("seed")
        for batch in range(1, 2 + self.batches):
            shape, with_news = ("first build", names) if batch == 1 else ("plain batch", names[: self.news])
            for side in self.sides:
                self._land(side, with_news, batch)
            self._build(shape, is_kept)
            for side in self.sides if batch == 1 else ():
                side.refuse_empty_logs(names)
            if self.feed == "qlik" and is_kept:
                self.sides[0].tables_by_hand(shape, with_news, batch)
        self._build("nothing new", is_kept)

    def _build(self, shape: str, is_kept: bool) -> None:
        for side in self.sides:
            side.dbt("run", shape=shape if is_kept else None)

    def _land(self, side: Side, names: Sequence[str], batch: int) -> None:
        if self.feed == "qlik":
            for name in names:
                self._change(side, f"{RAW}.{name}", batch, self.changes)
            return
        raw = f"{RAW}.{names[0]}"
        changes = f"{raw}_changes"
        self._change(side, changes, batch, len(names) * self.changes)
        create, add = _CREATE[self.feed], _ADD[self.feed]
        if batch == 1:
            side.sql(f"drop table if exists {raw}")
        side.sql(create(raw, changes, len(names)) if batch == 1 else add(raw, changes, batch, len(names)))

    def _change(self, side: Side, table: str, batch: int, rows: int) -> None:
        if batch == 1:
            side.sql(f"drop table if exists {table}")
            side.sql(create_raw_table(table, self.raw))
        first = (batch - 1) * rows
        side.sql(insert_changes(table, batch, first, first + rows, keys=max(rows // 10, 1), all_changes=rows))

    def _entry(self, name: str, names: Sequence[str]) -> dict[str, Any]:
        table = name.upper() if len(names) > 1 else "ORDERS"
        if self.feed == "qlik":
            spec: dict[str, Any] = {"format": "qlik_change_tables", "mask_type": "string", "arrival": "batch"}
        elif self.feed == "trail":
            spec = {"format": "goldengate_trail", "table_name": f"BENCH.{table}"}
        elif self.feed == "described":
            spec = _DESCRIBED | ({"only": f"message.headers['table'] = '{table}'"} if len(names) > 1 else {})
        else:
            spec = {"format": "qlik_kafka", "topic": "bench"} | ({"table": table} if len(names) > 1 else {})
        spec |= {"key": ["id"], "images": "full"}
        columns = [{"name": column, "data_type": kind} for column, kind in zip(COLUMNS, TYPES, strict=True)]
        meta = {"meta": {"change_table": spec}}
        identifier = name if self.feed == "qlik" else names[0]
        return {"name": name, "identifier": identifier, "config": meta, "columns": columns}
