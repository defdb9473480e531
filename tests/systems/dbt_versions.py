"""Runs the demo of all feeds with each version of dbt-core that the docs name beside the locked one.

Left out of each is dbt's experimental parser, which nothing here asks for, and whose installation downloads a program.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from demo.project import PROJECT
from tests.systems.environments import NoEnvironmentError, environment_of

DBTS: Sequence[str] = ("1.12.6",)


def main() -> int:
    """The command line; returns its exit code: 1 where the demo fails, 3 where a dbt cannot be had."""
    for version in DBTS:
        try:
            python = dbt_of(version)
        except NoEnvironmentError as failure:
            print(f"dbt-versions: not run: {failure}", file=sys.stderr)
            return 3
        if subprocess.run([python, "-m", "demo", "--feed", "all"], cwd=PROJECT, check=False).returncode:
            print(f"dbt-versions: dbt-core {version}: the demo has failed", file=sys.stderr)
            return 1
        print(f"dbt-core {version}: the models of all feeds are as the source has them.")
    return 0


def dbt_of(version: str) -> Path:
    """The interpreter of an environment with this package and this dbt-core.

    Raises:
        NoEnvironmentError: they cannot be had.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as overrides:
        print(f"dbt-core=={version}", "dbt-core-experimental-parser; sys_platform == 'never'", sep="\n", file=overrides)
        overrides.flush()
        return environment_of("dbt", version, "--override", overrides.name, f"{PROJECT}[dbt]")


if __name__ == "__main__":
    sys.exit(main())
