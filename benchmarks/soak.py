"""Many small batches into one table, with `maintain` between: how many files live, and whether a run becomes dearer.

python -m benchmarks.soak --batches 500
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path

from change_tables.cli.main import main as change_tables
from change_tables.server.local_server import LocalServerError, little_data, local_server
from demo.run import aligned

from .cost import HERE, ROOT, CostError, PlainTables, Side
from .projects import OURS, RAW

FOLDER = ROOT / ".build" / "soak"
TABLES = ("dedup_shop__t01", "current_shop__t01", "history_shop__t01")


@dataclass(frozen=True)
class Stretch:
    """Batches one after the other: what a run took in the mean, and the most files that a table had."""

    last: int
    seconds: float
    """Of processor time a run: server, workers and dbt."""
    live_files: dict[str, int]
    """The most data files that a table's last version had, by model."""
    kept_files: dict[str, int]
    """The most that its folder had, replaced ones too."""
    maintain: float | None
    """Seconds of processor time that `maintain` took after them."""


class Soak(PlainTables):
    """One table with its history."""

    def __init__(self, side: Side, changes: int) -> None:
        """Write the project."""
        super().__init__([side], tables=1, changes=changes, batches=0, with_history=True, with_build=False)
        self._side = side
        side.sql(f"create schema if not exists {RAW}")
        self._write(side)
        side.dbt("deps")

    def stretch(self, first: int, last: int, *, maintained: bool) -> Stretch:
        """Land and build these batches, then maintain the tables."""
        names = self._names
        used, live, kept = 0.0, dict.fromkeys(TABLES, 0), dict.fromkeys(TABLES, 0)
        for batch in range(first, last + 1):
            self._land(names, batch)
            before = self._side.used()
            self._build(names, None)
            used += (self._side.used() - before).total
            for table in TABLES:
                detail = self._side.sql(f"describe detail {OURS}.{table}__state")[0]
                folder = Path(str(detail[4]).removeprefix("file:"))
                live[table] = max(live[table], int(detail[9]))
                kept[table] = max(
                    kept[table], sum("_delta_log" not in file.parts for file in folder.rglob("*.parquet"))
                )
        maintain = self._maintain() if maintained else None
        return Stretch(last, used / (last - first + 1), live, kept, maintain)

    def _maintain(self) -> float:
        before = self._side.used()
        folders = ["--project-dir", str(self._side.project), "--profiles-dir", str(self._side.profiles)]
        with redirect_stdout(StringIO()) as said:
            code = change_tables(["maintain", *folders, "--retain-days", "0", "--force"])
        if code:
            raise CostError(f"maintain has failed:\n{said.getvalue()}")
        return (self._side.used() - before).total


def table_of(stretches: Sequence[Stretch]) -> str:
    """The stretches as lines."""
    rows = [["batches", "a run (s)", *(f"{table.partition('_')[0]}: live, kept files" for table in TABLES), "maintain"]]
    for stretch in stretches:
        files = [f"{stretch.live_files[table]}, {stretch.kept_files[table]}" for table in TABLES]
        maintain = "" if stretch.maintain is None else f"{stretch.maintain:.1f}"
        rows.append([f"to {stretch.last}", f"{stretch.seconds:.2f}", *files, maintain])
    return aligned(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the measurement."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--batches", type=int, default=500, help="batches (500)")
    parser.add_argument("--changes", type=int, default=200, help="changes of each batch (200)")
    parser.add_argument("--maintain-each", type=int, default=24, metavar="N", help="maintain after N batches; 0: never")
    parser.add_argument("--short-lived", action="store_true", help="a server with the settings of demo and tests")
    options = parser.parse_args(arguments)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    each = options.maintain_each or 24
    stretches: list[Stretch] = []
    try:
        with local_server(FOLDER / "server", little_data(6) if options.short_lived else {}) as server:
            soak = Soak(Side(HERE, ROOT, server, FOLDER / "project", FOLDER / "project"), options.changes)
            for first in range(1, options.batches + 1, each):
                last = min(first + each - 1, options.batches)
                stretches.append(soak.stretch(first, last, maintained=bool(options.maintain_each)))
                print(table_of(stretches[-1:]).splitlines()[-1], flush=True)
    except (CostError, LocalServerError) as error:
        print(f"soak: {error}", file=sys.stderr)
        return 1
    finally:
        (FOLDER / "results.json").write_text(json.dumps([asdict(stretch) for stretch in stretches], indent=2) + "\n")
    print(table_of(stretches))
    return 0


if __name__ == "__main__":
    sys.exit(main())
