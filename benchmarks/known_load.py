"""A load that others measure replication with, as rows of Qlik change tables: operations a second of each kind.

Ten tables of sixteen columns, each with its own inserts, then updates and deletes of these keys: two, six and two of
ten operations. Comparisons with this load (tables `firenibble1` to `firenibble10`) replicate ten million operations,
each a commit of its own in a source database, into another one. Here the rows have landed, and the clock runs while dbt
does; there are a log of all changes and a history beside the table as it is now.

python -m benchmarks.known_load --operations 1000000
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from dbt.cli.main import dbtRunner

from change_tables.server.jars import jars_folder
from change_tables.server.local_server import LocalServer, local_server
from demo.run import aligned

from .cost import Side
from .projects import OURS, RAW, model_of, write_project

FOLDER = Path(__file__).resolve().parents[1] / ".build" / "known_load"
TABLES = [f"firenibble{number}" for number in range(1, 11)]
KINDS = {"dedup": "log", "current": "current", "history": "history"}
_TYPES = {"bigint": (0, 1, 2), "int": (3,), "double": (4, 5, 6, 7), "string": (8, 9, 13, 14, 15), "date": (10, 11, 12)}
COLUMNS = {f"f{place}": kind for place, kind in sorted((place, kind) for kind, of in _TYPES.items() for place in of)}
_MADE = {
    "bigint": "xxhash64(n, {place})",
    "int": "cast(pmod(xxhash64(n, {place}), 2147483647) as int)",
    "double": "pmod(xxhash64(n, {place}), 1000000) / 1000000.0",
    "string": "left(base64(sha(concat(n, ':', {place}))), 32)",
    "date": "date_add(date '2020-01-01', cast(pmod(xxhash64(n, {place}), 2000) as int))",
}


class LoadError(Exception):
    """What was built is not what landed."""


def land(table: str, batch: int, first: int, last: int, operations: int) -> str:
    """The statement that lands the operations from `first` to before `last` of the load of a table."""
    inserts, deletes = operations // 5, operations - operations // 5
    row = ", ".join(
        f"if(oper = 'D', null, {_MADE[kind].format(place=place)})"
        for place, kind in enumerate(COLUMNS.values())
        if place > 0
    )
    return f"""
insert into {table}
select
    concat('2026010100000000', lpad(cast(n as string), 19, '0')), oper, timestamp_seconds(1767225600 + n), id,
    {row}, {batch}
from (
    select
        id as n,
        case when id < {inserts} then 'I' when id < {deletes} then 'U' else 'D' end as oper,
        case
            when id < {inserts} then id
            when id < {deletes} then pmod(xxhash64(id), {inserts})
            else id - {deletes}
        end as id
    from range({first}, {last})
)"""


def _entry(name: str) -> dict[str, object]:
    spec = {"format": "qlik_change_tables", "key": ["f0"], "headers": ["change_seq", "change_oper", "timestamp"]}
    columns = [{"name": column, "data_type": kind} for column, kind in COLUMNS.items()]
    return {"name": name, "config": {"meta": {"change_table": spec | {"arrival": "batch"}}}, "columns": columns}


def measure(server: LocalServer, operations: int, batches: int, threads: int) -> dict[str, float]:
    """Seconds of each kind of model, each on its own, and of dbt's runs."""
    project = FOLDER / "project"
    side = Side("known load", FOLDER.parents[1], server, project, project)
    models = {f"{kind}_shop__{name}": model_of(kind, name) for name in TABLES for kind in ("stg", *KINDS)}
    write_project(side, [_entry(name) for name in TABLES], models)
    cursor = server.connect().cursor()
    cursor.execute(f"create schema if not exists {RAW}")
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    headers = "header__change_seq string, header__change_oper string, header__timestamp timestamp"
    for name in TABLES:
        cursor.execute(f"create table {RAW}.{name} ({headers}, {columns}, batch int) using parquet")
    os.environ.update(server.environment())
    folders = ["--project-dir", str(project), "--profiles-dir", str(project), "--log-level", "none", "--no-print"]
    seconds = dict.fromkeys([*KINDS.values(), "all, with dbt"], 0.0)
    each = operations // len(TABLES)
    cuts = [0, *(each // 5 + (each - each // 5) * batch // batches for batch in range(batches + 1))]
    dbtRunner().invoke(["deps", *folders])
    dbtRunner().invoke(["seed", *folders])
    for batch, (first, last) in enumerate(pairwise(cuts), start=1):
        for name in TABLES:
            cursor.execute(land(f"{RAW}.{name}", batch, first, last, each))
        began = time.perf_counter()
        result = dbtRunner().invoke(["run", "--threads", str(threads), *folders])
        seconds["all, with dbt"] += time.perf_counter() - began
        if not result.success:
            raise LoadError(str(result.exception or [node.message for node in result.result]))
        for node in result.result:
            kind = KINDS.get(node.node.name.partition("_")[0])
            if kind:
                seconds[kind] += node.execution_time
    for kind, expected in (("dedup", each), ("history", each - each // 5), ("current", 0)):
        for name in TABLES:
            cursor.execute(f"select count(*) from {OURS}.{kind}_shop__{name}")
            found = cursor.fetchall()[0][0]
            if found != expected:
                raise LoadError(f"{kind}_shop__{name} has {found} rows, not {expected}")
    return seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the load."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.known_load", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--operations", type=int, default=1_000_000, help="of all tables (default: 1000000)")
    parser.add_argument("--batches", type=int, default=4, help="in which updates and deletes land (4)")
    parser.add_argument("--threads", type=int, default=1, help="of dbt (1)")
    options = parser.parse_args(arguments)
    os.environ.setdefault("CHANGE_TABLES_JARS", str(jars_folder()))
    shutil.rmtree(FOLDER, ignore_errors=True)
    try:
        with local_server(FOLDER / "server", {}) as server:
            seconds = measure(server, options.operations, options.batches, options.threads)
    except LoadError as error:
        print(f"known_load: {error}", file=sys.stderr)
        return 1
    rows = [["models", "seconds", "operations a second"]]
    rows += [[kind, f"{took:.0f}", f"{options.operations / took:,.0f}"] for kind, took in seconds.items()]
    print(aligned(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
