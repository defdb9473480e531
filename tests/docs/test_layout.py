"""The folders of the repository are those that the table in CONTRIBUTING.md has."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import PurePosixPath

import pytest

from tests.pipelines.consumer import REPOSITORY

_PAGE = (REPOSITORY / "CONTRIBUTING.md").read_text()
_TABLE = re.search(r"\| folder \| what is in it \|\n\|---\|---\|\n((?:\|.*\n)+)", _PAGE)


def _rows() -> Mapping[str, str]:
    """What each row says, by the names in its first column."""
    assert _TABLE
    cells = [row.strip("|").split("|", 1) for row in _TABLE[1].splitlines()]
    return {name: what for names, what in cells for name in re.findall("`(.+?)`", names)}


def _folders(under: str = "") -> set[str]:
    """The folders that git tracks in one, and its links to folders."""
    command = ["git", "ls-files", "-z", "--", under or "."]
    tracked = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout.split("\0")
    files = [PurePosixPath(file).relative_to(under) for file in tracked if file]
    return {file.parts[0] for file in files if len(file.parts) > 1 or (REPOSITORY / under / file).is_dir()}


def test_each_folder_at_the_top_is_in_the_table_and_the_other_way_round() -> None:
    assert set(_rows()) == _folders()


@pytest.mark.parametrize("folder", ["change_tables", "tests"])
def test_the_folders_in_a_folder_of_rooms_are_named_in_its_row(folder: str) -> None:
    assert _folders(folder) <= set(re.findall("`(.+?)`", _rows()[folder]))
