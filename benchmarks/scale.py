"""How cost grows with the table: full loads of growing size, and a batch into each.

python -m benchmarks.scale --changes 1000000 --changes 5000000
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from change_tables.server.local_server import LocalServer, LocalServerError, local_server

from .bench import FOLDER, HERE, OURS, RAW, Bench, BenchmarkError, install, make_schemas
from .machine import machine_of
from .processes import Meter, processes_below

SIZES = (1_000_000, 5_000_000, 20_000_000, 50_000_000)
CHANGES_A_KEY = 10
OF_ONE_KEY = 1_000_000
SHAPES = ("full", "partial", "skewed")
WARM_UP = 10_000
_EACH = 0.5  # seconds between two looks at memory and temporary files
_MIB = 2**20


@dataclass(frozen=True)
class Step:
    """What one model took in one run.

    Attributes:
        changes: of the full load
        shape: `full` images, `partial` ones, or `skewed`: full images, and a million changes of one key
        step: `load` or `batch`, and `log` or `state`
        seconds: as dbt reports them
        processor: seconds of processor time, of the server and its Python workers
        memory_mib: the most that both held, in RAM
        temporary_mib: the most that shuffles and spills held on disk
        table_mib: what the table has on disk afterwards, with files that are no longer its own
    """

    changes: int
    shape: str
    step: str
    seconds: float
    processor: float
    memory_mib: int
    temporary_mib: int
    table_mib: int


class Watch:
    """Looks at a server's memory and temporary files again and again, and keeps the most that it saw."""

    def __init__(self, server: LocalServer) -> None:
        """Take the server."""
        self._server = server
        self.memory = self.temporary = 0

    @contextmanager
    def most(self) -> Iterator[Watch]:
        """What is the most within the block."""
        self.memory = self.temporary = 0
        ended = threading.Event()
        looks = threading.Thread(target=self._look_until, args=(ended,))
        looks.start()
        try:
            yield self
        finally:
            ended.set()
            looks.join()

    def _look_until(self, ended: threading.Event) -> None:
        while True:
            self.memory = max(self.memory, sum(map(_resident, processes_below(self._server.pid))))
            self.temporary = max(self.temporary, size_of(self._server.folder / "tmp"))
            if ended.wait(_EACH):
                return


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0  # it has ended meanwhile


def size_of(folder: Path) -> int:
    """The bytes of all files below a folder; of one that is deleted meanwhile, nothing."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(parent) / name).lstat().st_size
            except OSError:
                continue
    return total


def measure(bench: Bench, shape: str) -> list[Step]:
    """Load a table, build its log and state, and do the same with one batch; what each took.

    Raises:
        BenchmarkError: a run fails, a change is not in the log, or the state has other keys than the raw rows say.
    """
    table = "partial" if shape == "partial" else "full"
    options: dict[str, Any] = {"partial": shape == "partial", "of_one_key": OF_ONE_KEY if shape == "skewed" else 0}
    models = {"log": f"dedup_bench__{table}", "state": f"current_bench__{table}"}
    meter, watch = Meter(bench.server.pid), Watch(bench.server)
    steps: list[Step] = []
    make_schemas(bench)
    end = bench.changes + bench.batch_size
    for batch, (first, last) in enumerate(((0, bench.changes), (bench.changes, end)), start=1):
        bench.land(table, batch, first, last, **options)
        if batch == 1:
            bench.dbt(f"stg_bench__{table}")
        for kind, name in models.items():
            before = meter.used()
            with watch.most() as most:
                seconds = bench.dbt(name)[name]
            used = meter.used() - before
            on_disk = sum(map(size_of, bench.server.folder.glob(f"warehouse/{OURS}.db/{name}*")))
            step = f"{'load' if batch == 1 else 'batch'}: {kind}"
            processor = used.server + used.workers
            sizes = (size // _MIB for size in (most.memory, most.temporary, on_disk))
            steps.append(Step(bench.changes, shape, step, seconds, processor, *sizes))
            if bench.is_heard:
                print(line_of(steps[-1]), flush=True)
    _check(bench, table, models, end)
    return steps


def _check(bench: Bench, table: str, models: dict[str, str], changes: int) -> None:
    ((logged,),) = bench.sql(f"select count(*) from {OURS}.{models['log']}")
    bench.assert_equal(f"{table}: changes in the log", (logged,), (changes,))
    ((found,),) = bench.sql(f"select count(*) from {OURS}.{models['state']}")
    ((wanted,),) = bench.sql(
        "select count_if(oper <> 'D') from (select max_by(header__change_oper, header__change_seq) as oper"
        f" from {RAW}.{table} group by id)"
    )
    bench.assert_equal(f"{table}: rows of the state", (found,), (wanted,))


def line_of(step: Step) -> str:
    """A step as a line of the table that `main` prints."""
    return (
        f"{step.changes:>11,}  {step.shape:<8} {step.step:<13} {step.seconds:>8.1f} {step.processor:>10.1f}"
        f" {step.memory_mib:>8,} {step.temporary_mib:>10,} {step.table_mib:>8,}"
    )


HEAD = "    changes  table    step           seconds  processor   memory  temporary    table  (s, s, MiB, MiB, MiB)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--changes", type=int, action="append", help=f"changes of a load; default {SIZES}")
    parser.add_argument("--shape", action="append", choices=SHAPES, help="only these; default all")
    parser.add_argument("--batch-size", type=int, default=50_000, help="changes of a batch")
    options = parser.parse_args(arguments)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    steps: list[Step] = []
    try:
        with local_server(FOLDER / "server", conf={}) as server:
            install()
            for shape in SHAPES[:2]:
                measure(Bench(server, WARM_UP, WARM_UP // CHANGES_A_KEY, WARM_UP // 10, 1, is_heard=False), shape)
            print(HEAD, flush=True)
            for changes in sorted(options.changes or SIZES):
                bench = Bench(server, changes, changes // CHANGES_A_KEY, options.batch_size, 1)
                for shape in options.shape or SHAPES:
                    if shape != "skewed" or changes >= 2 * OF_ONE_KEY:
                        steps += measure(bench, shape)
            machine = machine_of(server)
    except (BenchmarkError, LocalServerError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    results = {"machine": machine, "options": vars(options), "steps": [asdict(step) for step in steps]}
    (FOLDER / "scale.json").write_text(json.dumps(results, indent=2) + "\n")
    print(f"\nkept in {(FOLDER / 'scale.json').relative_to(HERE.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
