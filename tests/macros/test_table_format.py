"""What is of one table format alone is in one file of macros."""

from __future__ import annotations

import re

from tests.pipelines.consumer import REPOSITORY

MACROS = REPOSITORY / "macros"
HOME = "tables/table_format.sql"
ALLOWED = {"sql/platform.sql": 2}
"""How often a file may name a format: the one of Unity Catalog."""
COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
KNOWS_A_FORMAT = re.compile(r"(?<!time)delta|iceberg|\b(?:optimize|vacuum|reorg) |replace where", re.IGNORECASE)


def test_no_other_macro_knows_one_table_format_from_the_other() -> None:
    found = {}
    for path in MACROS.rglob("*.sql"):
        name = path.relative_to(MACROS).as_posix()
        if times := len(KNOWS_A_FORMAT.findall(COMMENT.sub("", path.read_text()))):
            found[name] = times
    assert found.pop(HOME) > 1
    assert found == ALLOWED
