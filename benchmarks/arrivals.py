"""What a batch costs a log where a column says which rows are new, where commits of the raw table do, or nothing does.

python -m benchmarks.arrivals --rows 250000 --changes 1000
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from statistics import mean

from change_tables.server.jars import jars_folder
from demo.run import aligned

from .cost import Side, sides_of_run
from .data import COLUMNS, TYPES, create_raw_table, insert_changes
from .projects import RAW, TABLE_FORMATS, model_of, write_project

ARRIVALS: Mapping[str, str] = {"column": "batch", "commits": "files", "nothing": "none"}
"""By what a log knows which rows are new -> `arrival` of its entry."""
_KEEPS_COMMITS = {"delta": "'delta.enableRowTracking' = 'true'", "iceberg": "'format-version' = '3'"}


def measure(side: Side, rows: int, changes: int, batches: int) -> None:
    """One raw table with so many rows, which three logs read after each batch; who begins changes each time."""
    side.sql(f"create schema if not exists {RAW}")
    columns = [{"name": name, "data_type": kind} for name, kind in zip(COLUMNS, TYPES, strict=True)]
    spec = {"format": "qlik_change_tables", "key": ["id"], "mask_type": "string"}
    entries = [
        {"name": name, "identifier": "raw", "columns": columns}
        | {"config": {"meta": {"change_table": spec | {"arrival": arrival}}}}
        for name, arrival in ARRIVALS.items()
    ]
    models = {f"{kind}_shop__{name}": model_of(kind, name) for name in ARRIVALS for kind in ("stg", "dedup")}
    write_project(side, entries, models)
    side.dbt("deps")
    stored = f"{side.table_format} tblproperties ({_KEEPS_COMMITS[side.table_format]})"
    side.sql(create_raw_table(f"{RAW}.raw", stored))
    landed = 0
    # the first batch warms the server up, and from the second on nothing is built for the first time
    for batch in range(1, batches + 3):
        size = rows if batch == 1 else changes
        side.sql(insert_changes(f"{RAW}.raw", batch, landed, landed + size, keys=max(rows // 10, 1), all_changes=rows))
        landed += size
        turn = batch % len(ARRIVALS)
        names = [*ARRIVALS][turn:] + [*ARRIVALS][:turn]
        for shape in ("batch", "nothing new"):
            for name in names:
                kept = f"{shape}, {name}" if batch > 2 else None
                side.dbt("run", "--select", f"dedup_shop__{name}", shape=kept)


def _seconds(side: Side, shape: str) -> list[float]:
    return [cost.usage.total for cost in side.costs if (cost.shape, cost.kind) == (shape, "log")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the measurement on both table formats, and print processor seconds of the logs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arrivals")
    parser.add_argument("--rows", type=int, default=250_000, help="raw rows before the first batch (250,000)")
    parser.add_argument("--changes", type=int, default=1_000, help="changes of a batch (1,000)")
    parser.add_argument("--batches", type=int, default=3, help="batches; their mean counts (3)")
    options = parser.parse_args(arguments)
    os.environ.setdefault("CHANGE_TABLES_JARS", str(jars_folder()))
    table = [("log of a run", *(f"{kind} {what}" for kind in TABLE_FORMATS for what in ("s", "ratio", "all")))]
    with sides_of_run(TABLE_FORMATS, {}) as sides:
        for side in sides:
            measure(side, options.rows, options.changes, options.batches)
    for shape in ("batch", "nothing new"):
        for name in ARRIVALS:
            row = [f"{shape}, by {name}"]
            for side in sides:
                seconds, compared = _seconds(side, f"{shape}, {name}"), _seconds(side, f"{shape}, column")
                all_of_them = " ".join(f"{each:.1f}" for each in seconds)
                row += [f"{mean(seconds):.2f}", f"{mean(seconds) / mean(compared):.2f}", all_of_them]
            table.append(tuple(row))
    print(aligned(table))


if __name__ == "__main__":
    main()
