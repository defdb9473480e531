"""Many tables of one shape that share a raw table: a trail of GoldenGate, or a topic with Qlik's messages.

make cost COST='--many trail --tables 50 --changes 1000'
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from .data import (
    COLUMNS,
    TYPES,
    add_to_messages,
    add_to_trail,
    create_messages,
    create_raw_table,
    create_trail,
    insert_changes,
)

if TYPE_CHECKING:
    from .cost import Side

FEEDS = ("trail", "topic")
RAW, OURS = "cost_raw", "cost"
MODELS = {
    "stg": "staged_changes('shop', '{table}')",
    "dedup": "deduplicated_changes(ref('stg_shop__{table}'))",
    "current": "current_state(ref('dedup_shop__{table}'))",
}
_CREATE = {"trail": create_trail, "topic": create_messages}
_ADD = {"trail": add_to_trail, "topic": add_to_messages}


@dataclass
class ManyTables:
    """The tables have the same number of changes each; `changes` is that of the first load and of each batch."""

    sides: Sequence[Side]
    feed: str
    tables: int
    changes: int
    batches: int

    def run(self) -> None:
        """Go through the shapes with one table, for which no clock runs, then with all."""
        self._shapes(["warm"], is_kept=False)
        self._shapes([f"t{number:02}" for number in range(1, self.tables + 1)])

    def _shapes(self, names: Sequence[str], *, is_kept: bool = True) -> None:
        for side in self.sides:
            side.sql(f"create schema if not exists {RAW}")
            self._write(side, names)
            side.dbt("deps")
            side.dbt("seed")
        for batch in range(1, 2 + self.batches):
            for side in self.sides:
                self._land(side, names, batch)
            self._build("first build" if batch == 1 else "plain batch", is_kept)
        self._build("nothing new", is_kept)

    def _build(self, shape: str, is_kept: bool) -> None:
        for side in self.sides:
            side.dbt("run", shape=shape if is_kept else None)

    def _land(self, side: Side, names: Sequence[str], batch: int) -> None:
        rows = len(names) * self.changes
        raw = f"{RAW}.{names[0]}"
        changes = f"{raw}_changes"
        if batch == 1:
            for table in (changes, raw):
                side.sql(f"drop table if exists {table}")
            side.sql(create_raw_table(changes))
        first = (batch - 1) * rows
        keys = max(rows // 10, 1)
        side.sql(insert_changes(changes, batch, first, first + rows, keys=keys, all_changes=rows))
        create, add = _CREATE[self.feed], _ADD[self.feed]
        side.sql(create(raw, changes, len(names)) if batch == 1 else add(raw, changes, batch, len(names)))

    def _write(self, side: Side, names: Sequence[str]) -> None:
        shutil.rmtree(side.project, ignore_errors=True)
        models = side.project / "models"
        models.mkdir(parents=True)
        _dump(side.project / "packages.yml", {"packages": [{"local": str(side.checkout)}]})
        _dump(side.project / "dbt_project.yml", {"name": "cost", "version": "1.0.0", "profile": "cost"})
        target = {"type": "spark", "method": "thrift", "host": side.server.host, "port": side.server.port}
        target |= {"schema": OURS, "threads": 1, "poll_interval": 0, "query_retries": 0}
        _dump(side.profiles / "profiles.yml", {"cost": {"target": "cost", "outputs": {"cost": target}}})
        tables = [self._entry(name, names) for name in names]
        _dump(models / "sources.yml", {"version": 2, "sources": [{"name": "shop", "schema": RAW, "tables": tables}]})
        for name in names:
            for prefix, call in MODELS.items():
                model = f"{{{{ change_tables.{call.format(table=name)} }}}}\n"
                (models / f"{prefix}_shop__{name}.sql").write_text(model)

    def _entry(self, name: str, names: Sequence[str]) -> dict[str, Any]:
        table = name.upper() if len(names) > 1 else "ORDERS"
        spec: dict[str, Any] = {"key": ["id"], "images": "full"}
        if self.feed == "trail":
            spec |= {"format": "goldengate_trail", "table_name": f"BENCH.{table}"}
        else:
            spec |= {"format": "qlik_kafka", "topic": "bench"} | ({"table": table} if len(names) > 1 else {})
        columns = [{"name": column, "data_type": kind} for column, kind in zip(COLUMNS, TYPES, strict=True)]
        meta = {"meta": {"change_table": spec}}
        return {"name": name, "identifier": names[0], "config": meta, "columns": columns}


def _dump(file: Path, content: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(content, sort_keys=False))
