"""Where things are: in `.build` of a checkout; else in the user's own folders, by the XDG base directory rules."""

from __future__ import annotations

import os
from pathlib import Path


def checkout() -> Path | None:
    """The folder of the checkout that this code is run from; None where the wheel is installed."""
    folder = Path(__file__).resolve().parents[1]
    return folder if (folder / "pyproject.toml").is_file() else None


def command_name(command: str = "") -> str:
    """What a user types to run a command, or the command line: `python -m change_tables` in a checkout."""
    return f"{'python -m change_tables' if checkout() else 'change-tables'} {command}".strip()


def users_folder(variable: str, default: str) -> Path:
    """A folder of the user's for this project: in `variable`, which counts as an absolute path only, else `default`."""
    given = Path(os.environ.get(variable, ""))
    return (given if given.is_absolute() else Path.home() / default) / "change_tables"
