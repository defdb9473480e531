"""What runs send to Spark, compared with golden files: one for each shape of run.

`golden/models` has the SQL that a model renders to. `golden/runs` has all that its run sends, in order; `the_model`
is written for that SQL, or for a step of it; digests and marks of views are left out. If a file differs from what is
rendered now, its test fails and shows the difference. `make golden` writes all files anew.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

import pytest

from .rendering import NOT_ASKED, Run
from .shapes import SHAPES, Shapes

GOLDEN = Path(__file__).with_name("golden")
IS_ACCEPTED = "ACCEPT_GOLDEN" in os.environ
PROPERTY = re.compile(r"('change_tables\.[a-z.0-9]+' = )'[0-9a-f:]+'")
STEP = re.compile(r"^(?P<with>with )?(?P<name>\w+) as \(\n.*?^\)", re.MULTILINE | re.DOTALL)


def _texts(name: str, run: Run) -> dict[Path, str]:
    """What the golden files of a run hold; nothing where a run sends its model alone."""
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
        GOLDEN / f"models/{name}.sql": f"{model}\n",
        GOLDEN / f"runs/{name}.sql": "\n;\n\n".join(sent) + "\n;\n" if len(sent) > 1 else "",
    }


@pytest.mark.parametrize("name", SHAPES)
def test_a_run_sends_what_its_golden_file_has(shapes: Shapes, name: str) -> None:
    differences: list[str] = []
    for file, text in _texts(name, shapes.run(SHAPES[name])).items():
        if IS_ACCEPTED and text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        held, place = file.read_text() if file.exists() else "", str(file.relative_to(GOLDEN))
        differences += difflib.unified_diff(
            held.splitlines(), text.splitlines(), place, f"{place}, now", lineterm="", n=8
        )
    assert not differences, "\n".join(["where this is meant, `make golden` accepts it:", *differences])


def test_no_golden_file_is_of_a_shape_that_is_no_more() -> None:
    stale = [file for file in GOLDEN.glob("*/*.sql") if file.stem not in SHAPES]
    if IS_ACCEPTED:
        for file in stale:
            file.unlink()
    assert not stale or IS_ACCEPTED, f"where this is meant, `make golden` removes {stale}"


def test_no_statement_has_two_steps_of_one_name() -> None:
    for file in GOLDEN.glob("*/*.sql"):
        for statement in file.read_text().split("\n;\n"):
            names = [step["name"] for step in STEP.finditer(statement)]
            assert len(names) == len(set(names)), (file.name, sorted(names))


def test_columns_of_steps_begin_with_their_prefix(shapes: Shapes) -> None:
    """So that no column of a user can be one of them: see `working_prefix`."""
    macro = shapes.project.macros("dedup_feed__qlik")
    by_recid = macro("key_columns_of_format", {"format": "openedge_cdc", "key_from": "recid"})
    shown = {*macro("contract_column_types"), *macro("quarantine_columns"), *macro("document_columns"), *(column["name"] for column in by_recid)}
    for name in macro("known_formats"):
        shown |= {column["name"] for column in macro("format_of", name)["columns"]}
    working = set()
    for file in GOLDEN.glob("*/*.sql"):
        without_texts = re.sub(r"'(?:[^'\\]|\\.)*'", "''", file.read_text())
        found = set(re.findall(r"(?<![\w$`])_[a-z]\w*", without_texts))
        assert {name for name in found - shown if not name.startswith(macro("working_prefix"))} == set(), file.name
        working |= found - shown
    assert len(working) > 200
