"""The files of docs/deploy/ start the server with options that it has, and systemd takes the unit."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from change_tables.cli.main import main
from change_tables.server.doors import HIVE, doors_of
from tests.pipelines.consumer import REPOSITORY

DEPLOY = REPOSITORY / "docs" / "deploy"
UNIT = DEPLOY / "change_tables.service"
CONFIG = DEPLOY / "change_tables.toml"
PROGRAM = "/opt/change_tables/bin/change-tables"
MOST_EXPOSED = 3.0  # of 10, as systemd counts


def unit_here(folder: Path) -> Path:
    """The unit with a program that is there: systemd looks for it."""
    text = UNIT.read_text()
    assert text.count(PROGRAM) == 1
    unit = folder / UNIT.name
    unit.write_text(text.replace(PROGRAM, str(shutil.which("true"))))
    return unit


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_takes_the_unit_and_finds_it_little_exposed(tmp_path: Path) -> None:
    unit = str(unit_here(tmp_path))
    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    threshold = f"--threshold={MOST_EXPOSED * 10:.0f}"
    secured = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--no-pager", threshold, unit],
        capture_output=True,
        text=True,
        check=False,
    )
    assert secured.returncode == 0, secured.stdout + secured.stderr


def command_lines() -> dict[str, list[str]]:
    """What unit and container run, from the program on."""
    unit = re.search(r"^ExecStart=(.+)$", UNIT.read_text(), re.MULTILINE)
    container = re.search(r"^ENTRYPOINT (.+)$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    assert unit
    assert container
    return {"unit": shlex.split(unit[1]), "container": json.loads(container[1])}


def test_unit_and_container_start_the_server_with_the_same_options_which_it_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = command_lines()
    assert lines["unit"][0] == PROGRAM
    assert lines["unit"][1:] == lines["container"][1:]
    arguments = [str(CONFIG) if word.endswith(".toml") else word for word in lines["unit"][1:]]
    assert arguments[-2:] == ["--warehouse", "/var/lib/change_tables"]
    assert main([*arguments, "--help"]) == 0, capsys.readouterr().err


def test_the_server_takes_the_settings_of_the_example_and_has_nothing_to_warn_of(tmp_path: Path) -> None:
    (tmp_path / "keystore.p12").touch()
    server = tomllib.loads(CONFIG.read_text())["server"]
    settings = dict(pair.split("=", 1) for pair in server["conf"])
    settings |= {
        HIVE + "thrift.bind.host": server["host"],
        HIVE + "thrift.port": str(server["port"]),
        HIVE + "keystore.path": str(tmp_path / "keystore.p12"),
    }
    doors = doors_of(settings, {"KEYSTORE_PASSWORD": "secret"}, allow_anonymous=False)
    assert (doors.is_local, doors.warnings) == (False, ())
