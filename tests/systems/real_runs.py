"""Runs against real systems, as tests: all of them, some, or those whose code has changed since they last passed.

A run that passes is written down in `real_runs.json`, with a digest of its code; others run where they are asked for.

python -m tests.systems.real_runs
python -m tests.systems.real_runs kafka report
python -m tests.systems.real_runs --changed
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

REAL_RUNS = (
    "kafka",
    "postgres",
    "closed_doors",
    "stock_server",
    "report",
    "cluster",
    "metastore",
    "upkeep",
    "spark_versions",
    "dbt_versions",
)
WHERE_ASKED_FOR = ("spark_versions", "dbt_versions")
"""Those that CI does not run, whatever has changed: they fetch what each version needs, and take minutes with each."""
CODE = ("change_tables", "demo", "tests")
"""Packages that a run's code is in. What dbt renders is held by other tests."""
ROOT = Path(__file__).parents[2]
PASSED = Path(__file__).with_suffix(".json")
_CANNOT_BE_HAD = 3
_STARTED = {"change_tables.server.local_server": ["change_tables.__main__", "change_tables.server.thrift_server"]}
"""Modules that another one starts as a program, by its name alone."""


def code_of(run: str, root: Path = ROOT) -> list[Path]:
    """The files of a run: its module, and all of this repository that it imports, also by way of others."""
    found: dict[Path, None] = {}
    to_read = [f"tests.systems.{run}"]
    while to_read:
        module = to_read.pop()
        file = _file_of(module, root)
        if file is not None and file not in found:
            found[file] = None
            to_read += [module.rpartition(".")[0], *_imports(module, file), *_STARTED.get(module, [])]
    return sorted(found)


def digest_of(run: str, root: Path = ROOT) -> str:
    """A digest of the code of a run, and of what it installs."""
    digest = hashlib.sha256()
    for file in [*code_of(run, root), root / "requirements.txt"]:
        digest.update(f"{file.relative_to(root)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _file_of(module: str, root: Path) -> Path | None:
    if module.partition(".")[0] not in CODE:
        return None
    place = root.joinpath(*module.split("."))
    files = [place.with_suffix(".py"), place / "__init__.py"]
    return next((file for file in files if file.exists()), None)


def _imports(module: str, file: Path) -> Iterator[str]:
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            source = ".".join([*parents, *([node.module] if node.module else [])])
            yield source
            yield from (f"{source}.{name.name}" for name in node.names)


def passed() -> dict[str, str]:
    """Of each run that has passed, the digest of the code that it passed with."""
    return dict(json.loads(PASSED.read_text())) if PASSED.exists() else {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them one by one; 1 if one fails."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.systems.real_runs", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help=f"of {', '.join(REAL_RUNS)}; all, if none is given")
    parser.add_argument(
        "--changed", action="store_true", help="only those that have passed, with other code, and that CI runs"
    )
    given = parser.parse_args(arguments)
    if unknown := set(given.runs) - set(REAL_RUNS):
        parser.error(f"no such run: {', '.join(sorted(unknown))}")
    failed = []
    for run in given.runs or REAL_RUNS:
        digest = digest_of(run)
        if given.changed and run in WHERE_ASKED_FOR:
            print(f"real run {run}: is run where it is asked for", flush=True)
            continue
        if given.changed and passed().get(run, digest) == digest:
            state = "its code has not changed since it passed" if run in passed() else "not written down as passed yet"
            print(f"real run {run}: {state}", flush=True)
            continue
        code = subprocess.run([sys.executable, "-m", f"tests.systems.{run}"], check=False).returncode
        if code == 0:
            PASSED.write_text(json.dumps(passed() | {run: digest}, indent=2, sort_keys=True) + "\n")
        elif code != _CANNOT_BE_HAD:
            failed.append(run)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
