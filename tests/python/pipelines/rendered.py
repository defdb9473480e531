"""The SQL that dbt renders, as sqlfluff sees it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .consumer import REPOSITORY


def assert_lints(folder: Path, texts: Mapping[str, str]) -> None:
    """Lint SQL texts by name, each text once, in a folder that is made for it.

    Raises:
        AssertionError: with what sqlfluff says.
    """
    folder.mkdir()
    seen: set[str] = set()
    for name, text in texts.items():
        if text not in seen:  # a view is rendered alike by every run
            (folder / f"{name}.sql").write_text(text.strip() + "\n")
        seen.add(text)
    sqlfluff = str(Path(sys.executable).with_name("sqlfluff"))
    options = ["--processes", "2", "--disable-progress-bar", "--config", str(REPOSITORY / ".sqlfluff")]
    linted = subprocess.run([sqlfluff, "lint", *options, str(folder)], capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout + linted.stderr
