"""Where slapd cannot be had, it is said why in one line, and the real run passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.systems import closed_doors
from tests.systems.directory_server import NoDirectoryServerError, fetch_slapd


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_a_machine_without_debian_s_tools_gets_an_error_that_names_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program(tmp_path, "dpkg", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoDirectoryServerError, match=r"here is no apt-get, no apt-cache, no dpkg-query$"):
        fetch_slapd(tmp_path / "slapd")


def test_a_package_that_cannot_be_fetched_is_a_line_and_a_real_run_that_passes_as_such(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("apt-cache", "dpkg", "dpkg-query"):
        program(tmp_path, name, "exit 0")
    program(tmp_path, "apt-get", "echo 'W: slow' >&2; echo 'E: Unable to locate package slapd' >&2; exit 100")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(closed_doors, "SLAPD", tmp_path / "slapd")
    assert closed_doors.main() == 3
    assert capsys.readouterr().err == (
        "closed-doors: not run: slapd cannot be had: `apt-get download slapd` says: E: Unable to locate package slapd\n"
    )


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sbin = tmp_path / "slapd" / "root" / "usr" / "sbin"
    sbin.mkdir(parents=True)
    program(sbin, "slapd", "exit 0")
    program(tmp_path, "ldd", "echo '  libwrap.so.0 => not found'; echo '  libc.so.6 => /lib/libc.so.6'")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoDirectoryServerError, match=r"^slapd does not run here without libwrap\.so\.0$"):
        fetch_slapd(tmp_path / "slapd")
