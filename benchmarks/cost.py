"""What runs cost in processor time, by kind of dbt node and shape of run: `make cost`.

python -m benchmarks.cost --tables 20 --against HEAD~1
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

from dbt.adapters.spark.connections import PyhiveConnectionWrapper
from dbt.cli.main import dbtRunner

from change_tables.server.jars import jars_folder
from change_tables.server.local_server import SHORT_LIVED, LocalServer, LocalServerError, local_server
from demo.run import BATCHES, aligned, create_raw_tables, land
from demo.workload import Workload
from demo.writers import WRITERS

from . import by_hand
from .data import COLUMNS, TYPES, create_raw_table, insert_changes, insert_moves
from .machine import machine_of
from .many import FEEDS, ManyTables
from .plans import DELTA_LOG, event_log, read_executed
from .processes import Meter, Usage
from .projects import HAND, OURS, RAW, TABLE_FORMATS, model_of, write_project, write_yaml

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".build" / "cost"
HERE, BY_HAND = "this checkout", "by hand"
_RUN = re.compile(r"select 'run (-?\d+) begins'")
AROUND, WHOLE = "around the nodes", "whole run"
KINDS = {"stg": "staging view", "dedup": "log", "current": "current", "history": "history"}
_HEALTH = ("rejected", "reported", "unclaimed")
_ORDER = [*KINDS.values(), "data test", "health view", "seed", "other", AROUND]


class CostError(Exception):
    """The run cannot be measured; the text says why."""


@dataclass(frozen=True)
class Cost:
    """What one node took in one run, or what dbt did around the nodes, or a statement by hand."""

    side: str
    shape: str
    kind: str
    name: str
    usage: Usage
    statements: int
    scans: int | None = None
    scans_of_log: int | None = None


def kind_of(resource_type: str, name: str) -> str:
    """The kind of a node, as the table names it.

    >>> kind_of("model", "dedup_shop__orders"), kind_of("test", "reason_codes_known_stg"), kind_of("model", "documents")
    ('log', 'data test', 'other')
    """
    if resource_type in ("test", "seed"):
        return {"test": "data test", "seed": "seed"}[resource_type]
    prefix = name.partition("_")[0]
    return "health view" if prefix in _HEALTH else KINDS.get(prefix, "other")


class Ledger:
    """Books what a dbt command uses on its nodes, one at a time, and the rest on what is around them."""

    def __init__(self, side: str, shape: str, read: Callable[[], Usage]) -> None:
        """Take a way to read what has been used until now."""
        self._side, self._shape, self._read = side, shape, read
        self.costs: list[Cost] = []
        self._around, self._around_statements = Usage(), 0
        self._since, self._statements = read(), 0

    def hear(self, message: Any) -> None:
        """Take one of dbt's events."""
        if message.info.name == "NodeStart":
            self._close()
        elif message.info.name == "NodeFinished":
            node = message.data.node_info
            self._close((kind_of(node.resource_type, node.node_name), node.node_name))

    def count_statement(self) -> None:
        """One statement has been sent."""
        self._statements += 1

    def end(self) -> list[Cost]:
        """The costs of the whole command."""
        self._close()
        around = Cost(self._side, self._shape, AROUND, AROUND, self._around, self._around_statements)
        return [*self.costs, around]

    def _close(self, node: tuple[str, str] | None = None) -> None:
        now = self._read()
        used, sent = now - self._since, self._statements
        if node:
            self.costs.append(Cost(self._side, self._shape, *node, used, sent))
        else:
            self._around, self._around_statements = self._around + used, self._around_statements + sent
        self._since, self._statements = now, 0


@dataclass
class Side:
    """A checkout of the package, with a server of its own, of one table format, and a project that is built on it."""

    name: str
    checkout: Path
    server: LocalServer
    project: Path
    profiles: Path
    events: Path | None = None
    table_format: str = "delta"
    costs: list[Cost] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Connect."""
        self._runs: list[slice] = []
        self._meter = Meter(self.server.pid)
        self.connection = self.server.connect()
        self._cursor = self.connection.cursor()

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement."""
        self._cursor.execute(statement)
        return list(self._cursor.fetchall()) if self._cursor.description else []

    def used(self) -> Usage:
        """What has been used until now."""
        return self._meter.used()

    def dbt(self, *arguments: str, shape: str | None = None) -> None:
        """Run a command of dbt, node by node; what it took is kept where the run has a shape.

        Raises:
            CostError: it failed.
        """
        os.environ.update(self.server.environment())
        if self.events is not None:
            self.sql(f"select 'run {len(self._runs) if shape else -1} begins'")
        ledger = Ledger(self.name, shape or "", self.used)
        execute = PyhiveConnectionWrapper.execute

        def counted(wrapper: Any, sql: str, bindings: Any = None) -> None:
            ledger.count_statement()
            execute(wrapper, sql, bindings)

        folder = FOLDER / "dbt" / self.name.replace(" ", "_")
        folders = ["--project-dir", str(self.project), "--profiles-dir", str(self.profiles)]
        folders += ["--log-path", str(folder / "logs")]
        quiet = ["--log-level", "none", "--log-level-file", "info", "--no-print", "--no-send-anonymous-usage-stats"]
        alone = [] if arguments[0] == "deps" else ["--threads", "1", "--target-path", str(folder / "target")]
        with mock.patch.object(PyhiveConnectionWrapper, "execute", counted):
            result = dbtRunner(callbacks=[ledger.hear]).invoke([*arguments, *alone, *folders, *quiet])
        if not result.success:
            nodes = getattr(result.result, "results", None) or []
            said = [f"{node.node.name}: {node.message}" for node in nodes if node.status in ("error", "fail")]
            raise CostError(f"{self.name}: dbt {arguments[0]}: " + ("\n".join(said) or str(result.exception)))
        if shape:
            costs = ledger.end()
            self._runs.append(slice(len(self.costs), len(self.costs) + len(costs)))
            self.costs += costs

    def refuse_empty_logs(self, names: Sequence[str]) -> None:
        """Stop where no row has come to a log: the figures are of nothing.

        Raises:
            CostError: one is empty.
        """
        asked = [
            f"select '{name}' from (select count(*) as n from {OURS}.dedup_shop__{name}) where n = 0" for name in names
        ]
        empty = self.sql(" union all ".join(asked))
        if empty:
            raise CostError(f"{self.name}: no row has come to these logs: {', '.join(name for (name,) in empty)}")

    def add_scans(self) -> None:
        """Add what the plans of each run hold to its costs, out of the event log of the server, which has ended."""
        if self.events is None:
            return
        found: dict[tuple[int, str], Counter[str]] = {}
        number = -1
        for executed in read_executed(self.events):
            mark = _RUN.search(executed.statement)
            number = int(mark[1]) if mark else number
            found.setdefault((number, executed.node), Counter()).update(executed.scans)
        for number, run in enumerate(self._runs):
            for place in range(run.start, run.stop):
                cost = self.costs[place]
                scans = found.get((number, cost.name), Counter())
                tables = sum(times for name, times in scans.items() if "." in name)
                self.costs[place] = replace(cost, scans=tables, scans_of_log=scans[DELTA_LOG])

    def by_hand(self, shape: str, kind: str, table: str, statement: str) -> None:
        """Run a statement by hand, and keep what it took."""
        before = self.used()
        self.sql(statement)
        self.costs.append(Cost(BY_HAND, shape, kind, table, self.used() - before, 1))

    def tables_by_hand(self, shape: str, names: Sequence[str], batch: int, *, with_history: bool = False) -> None:
        """Take a batch of each of these Qlik tables in by hand."""
        for name in names:
            raw = f"{RAW}.{name}"
            log, state, history = (f"{HAND}.{kind}_{name}" for kind in ("log", "state", "history"))
            low, high = self.sql(
                f"select min(header__change_seq), max(header__change_seq) from {raw} where batch = {batch}"
            )[0]
            if batch == 1:
                stored = by_hand.SMALL[self.table_format]
                made = [by_hand.log_of(raw, log, stored), by_hand.state_of(log, state, stored)]
                made.append(by_hand.history_of(log, history, stored))
            else:
                made = [by_hand.add_to_log(raw, log, batch, low, high), by_hand.add_to_state(log, state, batch)]
                made.append(by_hand.add_to_history(log, history, batch))
            for kind, statement in zip(("log", "current", "history")[: 2 + with_history], made, strict=False):
                self.by_hand(shape, kind, name, statement)


# -- plain tables ------------------------------------------------------------------------------------------------------


@dataclass
class PlainTables:
    """Change tables of Qlik with full images, of one shape: a key, ten columns, an arrival, a few hundred changes."""

    sides: Sequence[Side]
    tables: int
    changes: int
    batches: int
    with_history: bool
    with_build: bool

    def __post_init__(self) -> None:
        """Name the tables: `bare` ones read the same raw rows and have no arrival; one more warms the servers up."""
        self._keys = max(self.changes // 10, 1)
        self._names = [f"t{number:02}" for number in range(1, self.tables + 1)]
        self._bare = {f"bare_{name}": name for name in self._names[: max(self.tables // 5, 1)]}
        self._landed = 0
        self._turn = 0

    def run(self, *, is_cold: bool = False) -> None:
        """Go through the shapes, each on every side and by hand before the next."""
        for side in self.sides:
            for schema in (RAW, HAND):
                side.sql(f"create schema if not exists {schema}")
            self._write(side)
            side.dbt("deps")
        if not is_cold:
            self._shapes(["warm"], is_kept=False)
        self._shapes(self._names)
        self._without_arrival()

    def _shapes(self, names: Sequence[str], *, is_kept: bool = True) -> None:
        def build(shape: str) -> None:
            self._build(names, shape if is_kept else None)

        self._landed = 0
        plain_batches = self.batches if is_kept else 1
        for batch in range(1, 2 + plain_batches):
            shape = "first build" if batch == 1 else "plain batch"
            self._land(names, batch)
            build(shape)
            self._hand(names, shape, batch, is_kept)
        batch += 1
        self._land(names, batch, late=0.1)
        build("late batch")
        self._hand(names, "late batch", batch, is_kept)
        self._compare(names)
        build("nothing new")
        self._land(names, batch + 1, moves=self._keys)
        build("batch with moves")

    def _without_arrival(self) -> None:
        bare = list(self._bare)
        self._build(bare, None)
        self._build(bare, "nothing new, no arrival")

    def _land(self, names: Sequence[str], batch: int, late: float = 0.0, moves: int = 0) -> None:
        first, last = self._landed, self._landed + self.changes
        for side in self.sides:
            for name in names:
                table = f"{RAW}.{name}"
                if batch == 1:
                    side.sql(f"drop table if exists {table}")
                    side.sql(create_raw_table(table))
                options: dict[str, Any] = {"keys": self._keys, "all_changes": self.changes}
                side.sql(insert_changes(table, batch, first, last - moves, late=late, **options))
                if moves:
                    side.sql(insert_moves(table, batch, last - moves, last))
        self._landed = last

    def _build(self, names: Sequence[str], shape: str | None) -> None:
        """Every side in turn; who begins changes from run to run."""
        models = [f"{prefix}_shop__{name}" for prefix in self._prefixes() for name in names]
        whole = self.with_build and set(names) == set(self._names)
        command = ["build", "--exclude", *self._others()] if whole else ["run", "--select", *models]
        turn = self._turn % len(self.sides)
        for side in [*self.sides[turn:], *self.sides[:turn]]:
            side.dbt(*command, shape=shape)
        self._turn += 1

    def _others(self) -> list[str]:
        return [f"{prefix}_shop__{name}" for prefix in self._prefixes() for name in ["warm", *self._bare]]

    def _hand(self, names: Sequence[str], shape: str, batch: int, is_kept: bool) -> None:
        side = self.sides[0]
        kept = len(side.costs)
        side.tables_by_hand(shape, names, batch, with_history=self.with_history and shape != "late batch")
        if not is_kept:
            del side.costs[kept:]

    def _compare(self, names: Sequence[str]) -> None:
        """The current rows of every side and by hand are equal, or no figure counts."""
        hashed = f"count(*), sum(cast(xxhash64({', '.join(COLUMNS)}) as decimal(38, 0)))"
        for name in names:
            hand = self.sides[0].sql(f"select {hashed} from {HAND}.state_{name} where not is_deleted")
            for side in self.sides:
                found = side.sql(f"select {hashed} from {OURS}.current_shop__{name}")
                if found != hand:
                    raise CostError(f"{side.name}: {name}: the rows differ from those by hand, {found} and {hand}")

    def _prefixes(self) -> list[str]:
        return [prefix for prefix in KINDS if prefix != "history" or self.with_history]

    def _write(self, side: Side) -> None:
        """The project: one line a model, and with `build` the tests that the README names."""
        raw_tables = {name: name for name in ["warm", *self._names]} | self._bare
        models, described = {}, []
        for name in raw_tables:
            for prefix in self._prefixes():
                models[f"{prefix}_shop__{name}"] = model_of(prefix, name)
                tests = _tests(side, prefix, name) if self.with_build and name in self._names else []
                described.append({"name": f"{prefix}_shop__{name}", "data_tests": tests})
        if self.with_build:
            files = ("quarantine.sql", "kept_rows.sql")  # an earlier version lists what it stages
            keeps = any((side.checkout / "macros/log" / file).is_file() for file in files)
            for macro, prefix in (("rejected_changes", "dedup" if keeps else "stg"), ("reported_changes", "dedup")):
                refs = ", ".join(f"ref('{prefix}_shop__{name}')" for name in self._names)
                models[macro] = f"{{{{ change_tables.{macro}([{refs}]) }}}}"
        write_project(side, [self._source(name, raw) for name, raw in raw_tables.items()], models)
        write_yaml(side.project / "models" / "models.yml", {"version": 2, "models": described})

    def _source(self, name: str, raw: str) -> dict[str, Any]:
        spec = {"format": "qlik_change_tables", "key": ["id"], "mask_type": "string"}
        if name not in self._bare:
            spec["arrival"] = "batch"
        columns = [{"name": column, "data_type": kind} for column, kind in zip(COLUMNS, TYPES, strict=True)]
        return {"name": name, "identifier": raw, "config": {"meta": {"change_table": spec}}, "columns": columns}


def _tests(side: Side, prefix: str, name: str) -> list[Any]:
    counts_settled_rows = (side.checkout / "macros/health/settled_rows.sql").is_file()  # an earlier version stages
    if prefix == "dedup" and counts_settled_rows:
        return ["change_tables.raw_rows_accounted_for"]
    if prefix == "stg" and not counts_settled_rows:
        arguments = {"raw": f"source('shop', '{name}')", "log": f"ref('dedup_shop__{name}')"}
        return [{"change_tables.raw_rows_accounted_for": {"arguments": arguments}}]
    if prefix == "current":
        return [{"change_tables.one_row_per_key": {"arguments": {"key": ["id"]}}}]
    return []


# -- the demo ----------------------------------------------------------------------------------------------------------


def run_demo(sides: Sequence[Side]) -> None:
    """The demo's own runs: every feed, a whole `dbt build` after each of three batches, and one with nothing new."""
    seed = 1
    writers = {side.name: [writer(seed) for writer in WRITERS.values()] for side in sides}
    workload = Workload(seed, 1, swaps=all(writer(seed).swaps for writer in WRITERS.values()))
    loaded = workload.fill()
    for side in sides:
        side.project = side.checkout
        side.profiles.mkdir(parents=True, exist_ok=True)
        shutil.copy(side.checkout / "profiles_example.yml", side.profiles / "profiles.yml")
        create_raw_tables(side.connection, writers[side.name])
    for batch in range(1, BATCHES + 1):
        played = list(workload.play_round())
        for side in sides if batch % 2 else reversed(sides):
            rows = loaded if batch == 1 else ()
            land(side.connection, writers[side.name], played, rows, last=batch == BATCHES)
            side.dbt("build", shape="first build" if batch == 1 else f"batch {batch}")
    for side in sides:
        side.dbt("build", shape="nothing new")


# -- the table ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """The mean of the nodes of one kind in one shape of run, on one side; the whole run is a kind, too."""

    side: str
    shape: str
    kind: str
    nodes: int
    statements: float
    usage: Usage
    scans: float | None = None
    scans_of_log: float | None = None


def summed(costs: Sequence[Cost]) -> list[Line]:
    """The costs as lines: shapes in the order in which they ran, kinds in that of the table, then the whole run."""
    found: dict[tuple[str, str, str], list[Cost]] = {}
    for cost in costs:
        found.setdefault((cost.side, cost.shape, cost.kind), []).append(cost)
    lines = []
    for side, shape in dict.fromkeys((cost.side, cost.shape) for cost in costs):
        kinds = sorted((kind for s, h, kind in found if (s, h) == (side, shape)), key=_ORDER.index)
        together = [cost for kind in kinds for cost in found[side, shape, kind]]
        runs = max(len(found.get((HERE, shape, AROUND), [])), 1)
        lines += [_line(found[side, shape, kind], kind, len(found[side, shape, kind])) for kind in kinds]
        lines.append(_line(together, WHOLE, runs))
    return lines


def _line(costs: Sequence[Cost], kind: str, share: int) -> Line:
    used = sum((cost.usage for cost in costs), Usage())
    mean = Usage(used.server / share, used.workers / share, used.client / share)
    statements = sum(cost.statements for cost in costs) / share
    scans, scans_of_log = None, None
    if costs[0].scans is not None:
        scans = sum(cost.scans or 0 for cost in costs) / share
        scans_of_log = sum(cost.scans_of_log or 0 for cost in costs) / share
    return Line(costs[0].side, costs[0].shape, kind, share, statements, mean, scans, scans_of_log)


def table_of(lines: Sequence[Line], other: str | None = None) -> str:
    """The lines of this checkout, beside those by hand and of another commit: seconds of processor time a node."""
    found = {(line.side, line.shape, line.kind): line for line in lines}
    has_scans = any(line.scans is not None for line in lines)
    counts = ["statements", *(["scans", DELTA_LOG] if has_scans else [])]
    header = ["shape of run: kind of node", "nodes", *counts, "server", "workers", "dbt", "all", BY_HAND, "ratio"]
    rows = [header + ([f"{other}: {counts[0]}", *counts[1:], "all", "ratio"] if other else [])]
    for line in lines:
        if line.side != HERE:
            continue
        used, hand = line.usage, found.get((BY_HAND, line.shape, line.kind))
        row = [f"{line.shape}: {line.kind}", str(line.nodes), *_counts(line, has_scans)]
        row += [f"{seconds:.2f}" for seconds in (used.server, used.workers, used.client, used.total)]
        row += _beside(line, None if line.kind == WHOLE and not by_hand_is_whole(lines, line.shape) else hand)
        if other:
            beside = found.get((other, line.shape, line.kind))
            row += [*_counts(beside, has_scans), *_beside(line, beside)]
        rows.append(row)
    return aligned(rows)


def _counts(line: Line | None, has_scans: bool) -> list[str]:
    counts = (line.statements, line.scans, line.scans_of_log) if line else (None, None, None)
    return ["" if count is None else f"{count:.1f}" for count in (counts if has_scans else counts[:1])]


def by_hand_is_whole(lines: Sequence[Line], shape: str) -> bool:
    """Whether a run of this shape has each of its tables by hand, too: else the whole is beside a part."""
    ours, hand = ({line.kind for line in lines if (line.side, line.shape) == (s, shape)} for s in (HERE, BY_HAND))
    return ours & {"log", "current", "history"} <= hand


def _beside(line: Line, other: Line | None) -> list[str]:
    if other is None:
        return ["", ""]
    seconds = other.usage.total
    return [f"{seconds:.2f}", f"{line.usage.total / seconds:.2f}" if seconds else ""]


# -- the command -------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the measurement."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=4, help="plain tables (default: 4)")
    parser.add_argument("--changes", type=int, default=500, help="changes of the first load and of each batch (500)")
    parser.add_argument("--batches", type=int, default=1, help="plain batches; their mean counts (1)")
    parser.add_argument("--history", action="store_true", help="with a history of each table")
    parser.add_argument("--build", action="store_true", help="dbt build, with data tests and health views")
    parser.add_argument("--demo", action="store_true", help="the demo instead: all feeds, dbt build; short-lived, cold")
    parser.add_argument("--many", choices=FEEDS, help="many tables of one shape, alone")
    parser.add_argument("--news", type=int, help="with --many qlik: how many tables have changes in a batch (all)")
    parser.add_argument("--raw", choices=("parquet", "delta"), help="with --many qlik: what lands (parquet)")
    parser.add_argument("--against", metavar="COMMIT", help="the same with the package of this commit, in turn")
    parser.add_argument("--table-format", nargs="+", choices=TABLE_FORMATS, default=["delta"], help="of two in turn")
    parser.add_argument("--plans", action="store_true", help="count scans, too; the event log for it costs some itself")
    parser.add_argument("--short-lived", action="store_true", help="servers with the settings of demo and tests")
    parser.add_argument("--cold", action="store_true", help="no table is built before the clock runs")
    options = parser.parse_args(arguments)
    if options.news is not None and options.many != "qlik":
        parser.error("--news needs --many qlik: tables of a trail or topic land together")
    if options.raw is not None and options.many != "qlik":
        parser.error("--raw needs --many qlik")
    if options.table_format != ["delta"] and (options.against or options.demo):
        parser.error("--table-format is for --tables and --many, without --against")
    options.short_lived |= options.demo
    options.cold |= options.demo
    os.environ.setdefault("CHANGE_TABLES_JARS", str(jars_folder()))
    began = time.perf_counter()
    try:
        other = _revision(options.against) if options.against else None
        conf = SHORT_LIVED if options.short_lived else {}
        with sides_of_run(options.table_format, conf, other=other, with_plans=options.plans) as sides:
            if options.demo:
                run_demo(sides)
            elif options.many:
                sizes = (options.tables, options.changes, options.batches)
                news = options.tables if options.news is None else options.news
                ManyTables(sides, options.many, *sizes, news, options.raw or "parquet").run()
            else:
                sizes = (options.tables, options.changes, options.batches)
                PlainTables(sides, *sizes, options.history, options.build).run(is_cold=options.cold)
            machine = machine_of(sides[0].server)
        for side in sides:
            side.add_scans()
        lines = summed([cost for side in sides for cost in side.costs])
        other = sides[1].name if len(sides) > 1 else None
    except (CostError, LocalServerError) as error:
        print(f"cost: {error}", file=sys.stderr)
        return 1
    settings = "short-lived" if options.short_lived else "default"
    start = "begun cold" if options.cold else "warm: after every shape of one other table"
    print(f"processor seconds a node; servers with {settings} settings, {start}\n\n{table_of(lines, other)}")
    results = {
        "machine": machine | {"commit": _revision("HEAD"), "against": other},
        "options": vars(options),
        "seconds": round(time.perf_counter() - began),
        "lines": [asdict(line) for line in lines],
    }
    (FOLDER / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    print(f"\nkept in {(FOLDER / 'results.json').relative_to(ROOT)}")
    return 0


@contextmanager
def sides_of_run(
    table_formats: Sequence[str], conf: dict[str, str], *, other: str | None = None, with_plans: bool = False
) -> Iterator[list[Side]]:
    """A side of this checkout for each table format, the first by its name, and one of the other commit, if any.

    Each has a server with these settings.
    """
    first, *further = table_formats
    checkouts = [(HERE, ROOT, first), *((name, ROOT, name) for name in further)]
    checkouts += [(other, _checked_out(other), first)] if other else []
    shutil.rmtree(FOLDER / "dbt", ignore_errors=True)
    with ExitStack() as stack:
        sides = []
        for name, checkout, table_format in checkouts:
            folder = FOLDER / ("here" if name == HERE else "other")
            shutil.rmtree(folder, ignore_errors=True)
            events = folder / "events" if with_plans else None
            logged = {}
            if events is not None:
                events.mkdir(parents=True)
                logged = event_log(events)
            module = "" if (checkout / "change_tables").is_dir() else "udfs.thrift_server"  # of an earlier version
            told = ["--table-format", table_format] if name != other else []  # an earlier version has no such option
            server = stack.enter_context(
                local_server(folder / "server", conf | logged, checkout, options=told, module=module)
            )
            sides.append(Side(name, checkout, server, folder / "project", folder / "project", events, table_format))
        yield sides


def _revision(commit: str) -> str:
    found = subprocess.run(
        ["git", "rev-parse", "--short", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        raise CostError(f"git knows no commit '{commit}'")
    return found.stdout.strip()


def _checked_out(commit: str) -> Path:
    """The files of a commit, in a folder of its own."""
    folder = FOLDER / commit
    if not folder.is_dir():
        packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
    return folder


if __name__ == "__main__":
    sys.exit(main())
