"""The SQL of models, checked by sqlfluff: of steps that differ in values alone, or have no new line, one."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

from tests.python.pipelines.consumer import REPOSITORY

from .test_golden import GOLDEN, STEP


def test_what_models_render_to_passes_sqlfluff(tmp_path: Path) -> None:
    seen: set[str] = set()
    # long files first, since two processes share them
    for file in sorted(GOLDEN.glob("models/*.sql"), key=lambda file: (-file.stat().st_size, file.name)):
        text = file.read_text()
        names = [step["name"] for step in STEP.finditer(text)]
        (tmp_path / file.name).write_text(STEP.sub(partial(_once, names, seen), text))
    sqlfluff = str(Path(sys.executable).with_name("sqlfluff"))
    options = ["--processes", "2", "--disable-progress-bar", "--config", str(REPOSITORY / ".sqlfluff")]
    linted = subprocess.run([sqlfluff, "lint", *options, str(tmp_path)], capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout + linted.stderr


_VALUE = re.compile(r"'(?:[^'\\]|\\.)*'|\b\d+\b")


def _once(names: list[str], seen: set[str], step: re.Match[str]) -> str:
    """A step; if earlier ones had all of its lines, a short one in its place, which only reads the same steps."""
    lines = set(_VALUE.sub("'0'", step[0]).splitlines())
    if lines - seen:
        seen |= lines
        return step[0]
    before = names[: names.index(step["name"])]
    reads = [name for name in before if re.search(rf"\b{name}\b", step[0])]
    # its columns are left unknown: they are not those of the steps that it reads
    joins = "".join(f"\n    cross join {name}" for name in reads)
    return f"{step['with'] or ''}{step['name']} as (\n\n    select raw_table.*\n    from raw_table{joins}\n\n)"
