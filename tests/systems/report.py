"""Opens the report of 200 made-up tables in a real browser, and uses it: search, filters, sorting, details, dark mode.

Texts that would be markup are in a name, a code and a row. Pictures of the page are under `.build/demo_report`, which
is deleted at the start and kept at the end.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from selenium.common.exceptions import TimeoutException
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from change_tables.report.facts import Facts
from change_tables.report.findings import OK, Thresholds, findings_of, states_of
from change_tables.report.page import as_page
from change_tables.report.texts import as_json, write_whole
from demo.progress import Progress
from demo.project import PROJECT
from tests.report.report_facts import ATTACK, made_up_facts
from tests.systems.browser import Browser, BrowserError, NoBrowserError, browsing, console_of, find_browser, requests_of

FOLDER = PROJECT / ".build" / "demo_report"
CHROMIUM = PROJECT / ".build" / "chromium"

_TABLES = 200
_PATIENCE = 20.0  # seconds for the page to do what it was asked
_NARROW = 500  # pixels
_BODIES = "[...document.querySelectorAll('#overview tbody')]"
_TOO_WIDE = (
    "return [...document.querySelectorAll('.scroll')].filter((place) => place.scrollWidth > place.clientWidth + 1)"
    ".map((place) => place.querySelector('caption').textContent)"
)
_SHOWN = "return " + _BODIES + ".filter((body) => !body.hidden).map((body) => body.dataset.log)"


def main() -> int:
    """The command line; returns its exit code: 1 where the page is wrong, 3 where no browser can be had."""
    try:
        browser = find_browser(CHROMIUM)
    except NoBrowserError as failure:
        print(f"report: not run: {failure}", file=sys.stderr)
        return 3
    try:
        mistakes = run(FOLDER, browser)
    except BrowserError as failure:
        print(f"report: {failure}", file=sys.stderr)
        return 1
    for mistake in mistakes:
        print(mistake)
    if not mistakes:
        print(f"The report of {_TABLES} tables does what it must, and asks nothing of any network: {FOLDER}")
    return 1 if mistakes else 0


def run(folder: Path, browser: Browser) -> list[str]:
    """Writes the page into a folder, which is deleted first, and uses it; what is not as it must be.

    Raises:
        BrowserError: the browser does not start.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    mistakes: list[str] = []
    with Progress() as progress, progress.phase("using the report", 2):
        with progress.step("with texts that would be markup"):
            facts = made_up_facts(tables=_TABLES, attack=True)
            _write(facts, folder / "attack.html")
            with browsing(browser) as driver:
                mistakes += _Use(driver, facts).mistakes(folder / "attack.html")
        with progress.step("for pictures"):
            _write(made_up_facts(tables=_TABLES), folder / "report.html")
            with browsing(browser) as driver:
                mistakes += _pictures(driver, folder)
    return mistakes


def _write(facts: Facts, file: Path) -> None:
    thresholds = Thresholds()
    write_whole(file, as_page(as_json(facts, findings_of(facts, thresholds), thresholds)))


def _open(driver: Chrome, file: Path) -> None:
    driver.get(file.as_uri())
    _wait(driver, lambda: driver.find_elements(By.CSS_SELECTOR, "#all-plots svg"))


def _wait(driver: Chrome, until: Callable[[], Any]) -> None:
    WebDriverWait(driver, _PATIENCE).until(lambda _: until())


def _darken(driver: Chrome, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


class _Use:
    """Uses a page, and says what is not as it must be."""

    def __init__(self, driver: Chrome, facts: Facts) -> None:
        self._driver, self._facts = driver, facts
        self._states = states_of(facts, findings_of(facts, Thresholds()))
        self._tables = {table.log: table for table in facts.tables}
        (self._attacked,) = (log for log in self._tables if ATTACK in log)

    def mistakes(self, file: Path) -> list[str]:
        """All that is wrong with a page."""
        _open(self._driver, file)
        found = [
            *self._search_and_filters(),
            *self._sorting(),
            *self._details(),
            *self._next(),
            *self._dark(),
            *self._narrow(),
        ]
        found += [f"the console says: {line}" for line in console_of(self._driver)]
        asked = requests_of(self._driver)
        if asked != [file.as_uri()]:
            found.append(f"the page asks for {asked}")
        if self._driver.title == "taken" or self._driver.find_elements(By.TAG_NAME, "img"):
            found.append("a text became markup")
        return found

    def _one(self, selector: str) -> WebElement:
        return self._driver.find_element(By.CSS_SELECTOR, selector)

    def _shown(self) -> list[str]:
        shown: list[str] = self._driver.execute_script(_SHOWN)
        return shown

    def _must_show(self, what: str, wanted: Callable[[str], bool]) -> Iterator[str]:
        shown, right = set(self._shown()), {log for log in self._tables if wanted(log)}
        if shown != right or not right:
            yield f"{what}: shows {len(shown)} tables, and must show {len(right)}"
        count = self._one("#count").text
        if count != f"{len(right)} of {len(self._tables)} tables":
            yield f"{what}: says {count}"

    def _search_and_filters(self) -> Iterator[str]:
        search = self._one("#search")
        yield from self._must_show("at first", lambda _: True)
        for words, wanted in {
            "ORDERS 2025": lambda log: "orders" in log and "2025" in log,
            "value_does_not_fit": lambda log: any(each.code == "value_does_not_fit" for each in self._tables[log].kept),
            ATTACK: lambda log: log == self._attacked,
        }.items():
            search.clear()
            search.send_keys(words)
            yield from self._must_show(f"search for {words}", wanted)
        search.clear()
        search.send_keys("no such table")
        if self._shown() or not self._one("#none").is_displayed():
            yield "a search that finds nothing does not say so"
        search.clear()
        search.send_keys(Keys.SPACE)
        self._one(f"[name=state][value={OK}]").click()
        yield from self._must_show("without state ok", lambda log: self._states[log] != OK)
        self._one(f"[name=state][value={OK}]").click()
        for source in ("billing", ATTACK):
            self._select(source)
            yield from self._must_show(f"source {source}", partial(self._is_of, source))
        self._select("")

    def _is_of(self, source: str, log: str) -> bool:
        return self._tables[log].source_name == source

    def _select(self, source: str) -> None:
        options = self._driver.find_elements(By.CSS_SELECTOR, "#source option")
        Select(self._one("#source")).select_by_index([each.get_attribute("value") for each in options].index(source))

    def _sorting(self) -> Iterator[str]:
        tables = self._tables
        columns: Mapping[str, Callable[[str], Any]] = {
            "Rows": lambda log: tables[log].last_run.rows,
            "Took": lambda log: tables[log].last_run.seconds,
            "Oldest waits": self._waits,
            "Table": lambda log: log,
        }
        for header, value in columns.items():
            (button,) = (
                each for each in self._driver.find_elements(By.CSS_SELECTOR, "thead button") if each.text == header
            )
            for is_first in (True, False):
                button.send_keys(Keys.ENTER)
                ascending = is_first == (header == "Table")
                values = [value(log) for log in self._shown()]
                known = [each for each in values if each is not None]
                if header == "Table":  # by the browser's rules for texts: only that one is the other reversed
                    right = known[0] < known[-1] if ascending else known[0] > known[-1]
                else:
                    right = known == sorted(known, reverse=not ascending)
                if not right or values[: len(known)] != known:
                    yield f"sorted by {header}: wrong order"
                sorted_as = button.find_element(By.XPATH, "..").get_attribute("aria-sort")
                if sorted_as != ("ascending" if ascending else "descending"):
                    yield f"sorted by {header}: aria-sort is {sorted_as}"
            if len(self._driver.find_elements(By.CSS_SELECTOR, "[aria-sort]")) != 1:
                yield f"sorted by {header}: more than one column says that it is sorted"

    def _waits(self, log: str) -> float | None:
        since = self._tables[log].waiting_since
        return (self._facts.made_at - since).total_seconds() if since else None

    def _body(self, log: str) -> WebElement:
        script = f"return {_BODIES}.find((body) => body.dataset.log === arguments[0])"
        body: WebElement = self._driver.execute_script(script, log)
        return body

    def _details(self) -> Iterator[str]:
        body = self._body(self._attacked)
        button = body.find_element(By.CSS_SELECTOR, ".open")
        button.send_keys(Keys.ENTER)
        _wait(self._driver, lambda: len(body.find_elements(By.CSS_SELECTOR, ".plot svg")) == 2)
        text = body.find_element(By.CSS_SELECTOR, ".detail").get_attribute("textContent") or ""
        for wanted in (f"code: {ATTACK}", f'{{"note":"{ATTACK}"}}', f"rejected: {ATTACK}"):
            if wanted not in text:
                yield f"details do not have the text {wanted}"
        if button.get_attribute("aria-expanded") != "true":
            yield "details are open, and aria-expanded does not say so"
        for table in body.find_elements(By.CSS_SELECTOR, ".detail table"):
            if not table.find_elements(By.TAG_NAME, "caption"):
                yield "a table of the details has no caption"
            if table.find_elements(By.CSS_SELECTOR, "thead th:not([scope=col])"):
                yield "a header of the details has no scope"
        labels = [plot.get_attribute("aria-label") for plot in body.find_elements(By.CSS_SELECTOR, ".plot")]
        if not all(label and "last one" in label for label in labels):
            yield f"a plot does not say what it shows: {labels}"
        button.send_keys(Keys.ENTER)
        if body.find_element(By.CSS_SELECTOR, ".detail").is_displayed():
            yield "details do not close"

    def _next(self) -> Iterator[str]:
        self._one("#search").send_keys("no such table")
        link = self._one("#next a[data-log]")
        log = str(link.get_attribute("data-log"))
        link.click()
        if log not in self._shown() or not self._body(log).find_element(By.CSS_SELECTOR, ".detail").is_displayed():
            yield "what to do next does not lead to the details of its table"

    def _dark(self) -> Iterator[str]:
        script = (
            "const label = document.querySelector('#all-plots svg .role-axis-label text');"
            "return [getComputedStyle(document.body).backgroundColor, label ? label.getAttribute('fill') : '']"
        )

        def colours() -> list[str]:
            found: list[str] = self._driver.execute_script(script)
            return found

        light = colours()
        _darken(self._driver, "dark")
        try:
            _wait(self._driver, lambda: not set(colours()) & {*light, ""})
        except TimeoutException:
            yield f"dark mode has colours of the light one: {colours()}"

    def _narrow(self) -> Iterator[str]:
        for width in (1440, _NARROW):
            self._driver.set_window_size(width, 1000)
            time.sleep(0.5)
            wide = self._driver.execute_script("return document.documentElement.scrollWidth - innerWidth")
            if wide > 0:
                yield f"in a window of {width} pixels the page is {wide} pixels too wide"
        self._driver.execute_script("document.getElementById('further')?.click()")
        for name in self._driver.execute_script(_TOO_WIDE):
            yield f"in a window of {_NARROW} pixels one must scroll sideways to read {name}"
        for link in self._driver.find_elements(By.CSS_SELECTOR, "#next pre.paste"):
            if not link.is_displayed():
                yield f"in a window of {_NARROW} pixels one cannot see {link.text}"


def _pictures(driver: Chrome, folder: Path) -> Iterator[str]:
    for scheme in ("light", "dark"):
        _darken(driver, scheme)
        _open(driver, folder / "report.html")
        time.sleep(1)
        driver.save_screenshot(str(folder / f"{scheme}.png"))
        driver.find_element(By.CSS_SELECTOR, "#next a[data-log]").click()
        _wait(driver, lambda: len(driver.find_elements(By.CSS_SELECTOR, ".detail .plot svg")) == 2)
        time.sleep(1)
        driver.save_screenshot(str(folder / f"{scheme}_details.png"))
        driver.execute_script("document.getElementById('tables').scrollIntoView()")
        driver.save_screenshot(str(folder / f"{scheme}_tables.png"))
    _darken(driver, "light")
    driver.set_window_size(_NARROW, 1400)
    _open(driver, folder / "report.html")
    time.sleep(1)
    driver.save_screenshot(str(folder / "narrow.png"))
    driver.find_element(By.CSS_SELECTOR, "#next a[data-log]").click()
    _wait(driver, lambda: len(driver.find_elements(By.CSS_SELECTOR, ".detail .plot svg")) == 2)
    time.sleep(1)
    driver.save_screenshot(str(folder / "narrow_details.png"))
    driver.execute_script("document.getElementById('tables').scrollIntoView()")
    driver.save_screenshot(str(folder / "narrow_tables.png"))
    _write(made_up_facts(tables=8), folder / "few.html")
    driver.set_window_size(1360, 1420)
    _open(driver, folder / "few.html")
    time.sleep(1)
    driver.save_screenshot(str(folder / "few.png"))  # the picture in docs/assets
    yield from (f"the console says: {line}" for line in console_of(driver))


if __name__ == "__main__":
    sys.exit(main())
