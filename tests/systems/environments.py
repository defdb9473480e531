"""Python environments of runs that try other versions of what we build on: in the user's cache, and kept there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from change_tables.places import users_folder
from demo.project import PROJECT


class NoEnvironmentError(Exception):
    """What an environment needs cannot be had; the text is the last line of what has failed."""


def environment_of(name: str, version: str, *requirements: str | Path) -> Path:
    """The interpreter of an environment with these requirements, as uv reads them; what is missing is installed.

    Raises:
        NoEnvironmentError: they cannot be had.
    """
    folder = users_folder("XDG_CACHE_HOME", ".cache") / name / version / "venv"
    python = folder / "bin" / "python"
    uv = Path(sys.executable).with_name("uv")
    if not python.exists():
        done(uv, "venv", "--python", sys.executable, folder)
    done(uv, "pip", "install", "--python", python, *requirements)
    return python


def done(*command: str | Path) -> None:
    """Runs a command in this checkout.

    Raises:
        NoEnvironmentError: it fails.
    """
    environment = {name: value for name, value in os.environ.items() if name not in ("SPARK_HOME", "PYTHONPATH")}
    ended = subprocess.run(command, env=environment, cwd=PROJECT, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise NoEnvironmentError((ended.stderr.strip().splitlines() or [f"{command[0]} failed"])[-1])
