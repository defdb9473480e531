"""The real run on several versions of dbt: what it says and returns, and what the docs say, without one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from demo.project import PROJECT
from tests.systems import dbt_versions
from tests.systems.dbt_versions import DBTS
from tests.systems.environments import NoEnvironmentError


def test_where_a_dbt_cannot_be_had_it_is_not_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unreachable(*_: object) -> Path:
        raise NoEnvironmentError("no network")

    monkeypatch.setattr(dbt_versions, "environment_of", unreachable)
    assert dbt_versions.main() == 3
    assert capsys.readouterr().err == "dbt-versions: not run: no network\n"


@pytest.mark.parametrize("code", [0, 1])
def test_it_passes_where_the_demo_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: int
) -> None:
    ran: list[list[object]] = []

    def run(command: list[object], **_: object) -> SimpleNamespace:
        ran.append(command)
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(dbt_versions, "environment_of", lambda *_: Path(sys.executable))
    monkeypatch.setattr(subprocess, "run", run)
    assert dbt_versions.main() == code
    assert ran[0] == [Path(sys.executable), "-m", "demo", "--feed", "all"]
    said = capsys.readouterr()
    assert (said.out.count("as the source has them"), said.err.count("has failed")) == ((len(DBTS), 0), (0, 1))[code]


@pytest.mark.parametrize("version", DBTS)
def test_the_page_names_what_is_tried(version: str) -> None:
    row = next(line for line in (PROJECT / "docs/install.md").read_text().splitlines() if line.startswith("| dbt |"))
    assert version.rpartition(".")[0] in row
