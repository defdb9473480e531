"""A real browser on this machine: Debian's Chromium and its driver, those of the system or unpacked into a folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

PACKAGES = ("chromium", "chromium-driver", "fonts-dejavu-core")

_FONTS = """<?xml version="1.0"?>
<fontconfig><dir>/usr/share/fonts</dir><dir>{root}/usr/share/fonts</dir><cachedir>{root}/fonts_cache</cachedir></fontconfig>
"""


class BrowserError(Exception):
    """The browser does not start; the message says why."""


class NoBrowserError(Exception):
    """There is no browser to be had here; the message is one line that says why."""


@dataclass(frozen=True)
class Browser:
    """The programs, and the variables with which they find their libraries."""

    chromium: str
    driver: str
    environment: Mapping[str, str]


def find_browser(folder: Path) -> Browser:
    """The browser of the system; else it is fetched, once, by apt, and unpacked into a folder.

    Raises:
        NoBrowserError: this is no Debian, apt cannot fetch it, or a library is missing.
    """
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium and driver:
        return Browser(chromium, driver, os.environ)
    root = folder / "root"
    program = root / "usr" / "lib" / "chromium" / "chromium"
    if not program.exists():
        _unpack(folder, root)
    libraries = sorted({str(library.parent) for library in root.rglob("lib*.so*")})
    fonts = folder / "fonts.conf"
    fonts.write_text(_FONTS.format(root=root))
    environment = os.environ | {"LD_LIBRARY_PATH": os.pathsep.join(libraries), "FONTCONFIG_FILE": str(fonts)}
    found = subprocess.run(["ldd", str(program)], env=environment, capture_output=True, text=True, check=False)
    if lacking := [line.split()[0] for line in found.stdout.splitlines() if "not found" in line]:
        raise NoBrowserError(f"Chromium does not run here without {', '.join(lacking)}")
    return Browser(str(program), str(root / "usr" / "bin" / "chromedriver"), environment)


def _unpack(folder: Path, root: Path) -> None:
    missing = [name for name in ("apt-get", "dpkg") if shutil.which(name) is None]
    if missing:
        raise NoBrowserError(f"Chromium comes from Debian's packages, and here is no {', no '.join(missing)}")
    partial = folder / "partial"
    shutil.rmtree(folder, ignore_errors=True)
    partial.mkdir(parents=True)
    needed = _said("apt-get", "install", "--simulate", "--no-install-recommends", *PACKAGES)
    _said("apt-get", "download", *(line.split()[1] for line in needed if line.startswith("Inst ")), folder=partial)
    for package in partial.glob("*.deb"):
        _said("dpkg", "-x", str(package), str(partial / "root"))
    (partial / "root").rename(root)
    shutil.rmtree(partial)


def _said(*command: str, folder: Path | None = None) -> list[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = " ".join((done.stderr.strip() or "nothing").splitlines()[-1].split())
        raise NoBrowserError(f"Chromium cannot be had: `{' '.join(command[:2])}` says: {said}")
    return done.stdout.splitlines()


@contextmanager
def browsing(browser: Browser, width: int = 1440, height: int = 1000) -> Iterator[Chrome]:
    """A window that nobody sees, of so many pixels; closed when the block ends, also by an error.

    Raises:
        BrowserError: it does not start.
    """
    options = ChromeOptions()
    options.binary_location = browser.chromium
    # without a sandbox, which root and an unpacked browser do not have; it opens no page but ours
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"):
        options.add_argument(argument)
    options.add_argument(f"--window-size={width},{height}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    try:
        driver = Chrome(options=options, service=Service(browser.driver, env=dict(browser.environment)))
    except WebDriverException as error:
        raise BrowserError(f"Chromium does not start: {(error.msg or '').splitlines()[0]}") from error
    try:
        yield driver
    finally:
        driver.quit()


def requests_of(driver: Chrome) -> list[str]:
    """The addresses that pages have asked for since this was called last, also in vain."""
    events = (json.loads(entry["message"])["message"] for entry in _log(driver, "performance"))
    return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]


def console_of(driver: Chrome) -> list[str]:
    """What pages and the browser have said on the console since this was called last."""
    return [str(entry["message"]) for entry in _log(driver, "browser")]


def _log(driver: Chrome, kind: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = driver.get_log(kind)  # type: ignore[no-untyped-call]  # it has no types
    return entries
