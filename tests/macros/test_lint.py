"""The SQL of models, checked by sqlfluff, and a question of full loads: as few steps as have every line of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.pipelines.consumer import REPOSITORY

from .shapes import LOADS, SHAPES, Shapes
from .test_golden import GOLDEN, STEP

VALUE = re.compile(r"(?P<name>`[^`]*`)|'(?:[^'\\]|\\.)*'|\b\d+\b")
"""Steps that differ in values alone are linted once. A name in backquotes, which may hold a quote, is no value."""


def test_what_models_render_to_passes_sqlfluff(shapes: Shapes, tmp_path: Path) -> None:
    # sqlfluff wants a space there, which is no matter of taste in a type that a user has written
    texts = {f"{name}.sql": GOLDEN.text(f"models/{name}").replace("map<", "map <") for name in SHAPES}
    # what a run of full loads asks has steps of its model
    asked = [sql for sql in shapes.run(SHAPES["full_loads__log__since"]).sent if re.search(LOADS, sql)]
    texts |= {f"asked_{number}.sql": f"{sql}\n" for number, sql in enumerate(asked)}
    assert len(asked) == 1
    assert all(texts.values())
    steps = {(name, step["name"]): step[0] for name, text in texts.items() for step in STEP.finditer(text)}
    chosen = _with_every_line(steps)
    for name, text in texts.items():
        if any(name == file for file, _ in chosen):
            (tmp_path / name).write_text(_with_short_steps(text, {step for file, step in chosen if file == name}))
    sqlfluff = str(Path(sys.executable).with_name("sqlfluff"))
    options = ["--processes", "2", "--disable-progress-bar", "--config", str(REPOSITORY / ".sqlfluff")]
    linted = subprocess.run([sqlfluff, "lint", *options, str(tmp_path)], capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout + linted.stderr


def _with_every_line(steps: dict[tuple[str, str], str]) -> set[tuple[str, str]]:
    """Steps that have the lines of all; at each turn the one with most of those that are missing for its length."""
    lines = {
        place: set(VALUE.sub(lambda value: value["name"] or "0", step).splitlines()) for place, step in steps.items()
    }
    missing = set().union(*lines.values())
    chosen = set[tuple[str, str]]()
    while missing:
        files = {file for file, _ in chosen}
        # what else a step costs, and a file: the other steps of its model
        costs = {place: len(steps[place]) + 200 + 2000 * (place[0] not in files) for place in lines}
        worth = {place: sum(map(len, lines[place] & missing)) / costs[place] for place in lines}
        place = max(worth, key=lambda place: (worth[place], place))
        missing -= lines.pop(place)
        chosen.add(place)
    return chosen


def _with_short_steps(text: str, linted: set[str]) -> str:
    """A model, of whose steps only some are as they are; the others only read the same steps."""
    names = [step["name"] for step in STEP.finditer(text)]

    def shortened(step: re.Match[str]) -> str:
        if step["name"] in linted:
            return step[0]
        before = names[: names.index(step["name"])]
        reads = [name for name in before if re.search(rf"\b{name}\b", step[0])]
        # its columns are left unknown: they are not those of the steps that it reads
        joins = "".join(f"\n    cross join {name}" for name in reads)
        return f"{step['with'] or ''}{step['name']} as (\n\n    select raw_table.*\n    from raw_table{joins}\n\n)"

    return STEP.sub(shortened, text)
