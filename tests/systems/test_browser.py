"""Where no browser can be had, it is said why in one line, and the real run passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.systems import report
from tests.systems.browser import NoBrowserError, find_browser


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_the_browser_of_the_system_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("chromium", "chromedriver"):
        program(tmp_path, name, "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    browser = find_browser(tmp_path / "chromium_here")
    assert (browser.chromium, browser.driver) == (str(tmp_path / "chromium"), str(tmp_path / "chromedriver"))
    assert not (tmp_path / "chromium_here").exists()


def test_a_machine_without_debian_s_tools_gets_an_error_that_names_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program(tmp_path, "dpkg", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoBrowserError, match=r"here is no apt-get$"):
        find_browser(tmp_path / "chromium_here")


def test_a_package_that_cannot_be_fetched_is_a_line_and_a_real_run_that_passes_as_such(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(tmp_path, "dpkg", "exit 0")
    program(tmp_path, "apt-get", "echo 'E: Unable to locate package chromium' >&2; exit 100")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(report, "CHROMIUM", tmp_path / "chromium_here")
    assert report.main() == 3
    assert capsys.readouterr().err == (
        "report: not run: Chromium cannot be had: `apt-get install` says: E: Unable to locate package chromium\n"
    )


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    unpacked = tmp_path / "chromium_here" / "root" / "usr" / "lib" / "chromium"
    unpacked.mkdir(parents=True)
    program(unpacked, "chromium", "exit 0")
    program(tmp_path, "ldd", "echo '  libnss3.so => not found'; echo '  libc.so.6 => /lib/libc.so.6'")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoBrowserError, match=r"^Chromium does not run here without libnss3\.so$"):
        find_browser(tmp_path / "chromium_here")
