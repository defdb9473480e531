"""What runs send to Spark, compared with golden texts: those of each shape of run.

`golden/models` has the SQL that a model renders to. `golden/runs` has all that its run sends, in order; `the_model`
is written for that SQL, or for a step of it; digests and checkpoints of views are left out. `golden_texts.py` says how
they are kept. If a text differs from what is rendered now, its test fails and shows the difference. `make golden`
writes all files again, and says which ones are not as they were.
"""

from __future__ import annotations

import difflib
import os
import re
import warnings
from collections import Counter
from pathlib import Path

import pytest

from .golden_texts import Golden
from .rendering import NOT_ASKED, Run
from .shapes import SHAPES, WHOLE, Shapes, tables_of

IS_ACCEPTED = "ACCEPT_GOLDEN" in os.environ
GOLDEN = Golden(
    Path(__file__).with_name("golden"),
    [f"models/{name}" for name in WHOLE],
    {f"{kind}/{name}": tables_of(shape) for name, shape in SHAPES.items() for kind in ("models", "runs")},
)
MOST_LINES = 8_000
"""So many lines a person reads."""
PROPERTY = re.compile(r"('change_tables\.[a-z.0-9]+' = )'[0-9a-f:]+'")
STEP = re.compile(r"^(?P<with>with )?(?P<name>\w+) as \(\n.*?^\)", re.MULTILINE | re.DOTALL)


def texts_of(name: str, run: Run) -> dict[str, str]:
    """The golden texts of a run; an empty one where a run sends its model alone."""
    model = run.rendered.strip()

    def without_step(step: re.Match[str]) -> str:
        is_known = step[0] in model
        return f"{step['with'] or ''}{step['name']} as (select * from the_model)" if is_known else step[0]

    sent = [
        PROPERTY.sub(r"\1'…'", STEP.sub(without_step, sql.replace(model, "select * from the_model")))
        for sql in run.sent
        if not any(re.search(asked, sql) for asked in NOT_ASKED)
    ]
    return {
        f"models/{name}": f"{model}\n",
        f"runs/{name}": "\n;\n\n".join(sent) + "\n;\n" if len(sent) > 1 else "",
    }


@pytest.fixture(scope="module", autouse=True)
def accepted(shapes: Shapes) -> None:
    """Writes all files again where that is asked for."""
    if IS_ACCEPTED:
        rendered = [texts_of(name, shapes.run(shape)) for name, shape in SHAPES.items()]
        told = GOLDEN.write({name: text for texts in rendered for name, text in texts.items() if text})
        lines = [f"{len(told)} golden files are not as they were:", *(f"{how}: {file}" for file, how in told.items())]
        # a warning is shown however pytest runs
        warnings.warn("\n".join(lines), stacklevel=1)


@pytest.mark.parametrize("name", SHAPES)
def test_a_run_sends_what_its_golden_texts_have(shapes: Shapes, name: str) -> None:
    differences: list[str] = []
    for place, text in texts_of(name, shapes.run(SHAPES[name])).items():
        base = GOLDEN.base(place)
        kept = f"{place} (as {base}, but for what {place}.diff says)" if base else place
        differences += difflib.unified_diff(
            GOLDEN.text(place).splitlines(True), text.splitlines(True), kept, f"{place}, now", n=8
        )
    assert not differences, "where this is meant, `make golden` accepts it:\n" + "".join(differences)


def test_golden_files_are_as_they_are_written() -> None:
    """None is of a shape that is no more, none was changed by hand, and no base is another one than would be chosen."""
    names = [f"{kind}/{name}" for name in SHAPES for kind in ("models", "runs")]
    texts = {name: GOLDEN.text(name) for name in names}
    written, kept = GOLDEN.files({name: text for name, text in texts.items() if text}), GOLDEN.kept()
    others = {file for file in written.keys() | kept.keys() if written.get(file) != kept.get(file)}
    assert not others, f"`make golden` writes or removes {sorted(others)}"


def test_golden_files_are_so_short_that_a_difference_is_read() -> None:
    lines = Counter({file: content.count("\n") for file, content in GOLDEN.kept().items()})
    assert lines.total() <= MOST_LINES, f"the longest of {lines.total()} lines: {lines.most_common(10)}"


def test_no_statement_has_two_steps_of_one_name() -> None:
    for name in GOLDEN.names():
        for statement in GOLDEN.text(name).split("\n;\n"):
            steps = [step["name"] for step in STEP.finditer(statement)]
            assert len(steps) == len(set(steps)), (name, sorted(steps))


def test_columns_of_steps_begin_with_their_prefix(shapes: Shapes) -> None:
    """So that no column of a user can be one of them: see `working_prefix`."""
    macro = shapes.project.macros("dedup_feed__qlik")
    by_recid = macro("key_columns_of_format", {"format": "openedge_cdc", "key_from": "recid"})
    ours = ("contract_column_types", "quarantine_columns", "document_columns")
    shown = {name for columns in ours for name in macro(columns)} | {column["name"] for column in by_recid}
    for name in macro("known_formats"):
        shown |= {column["name"] for column in macro("format_of", name)["columns"]}
    working = set()
    for text in GOLDEN.names():
        without_texts = re.sub(r"'(?:[^'\\]|\\.)*'", "''", GOLDEN.text(text))
        found = set(re.findall(r"(?<![\w$`])_[a-z]\w*", without_texts))
        assert {name for name in found - shown if not name.startswith(macro("working_prefix"))} == set(), text
        working |= found - shown
    assert len(working) > 200
