"""Says what a demo is doing: a bar on a terminal, a line each few seconds elsewhere.

What a demo does is phases, one after another, of steps, some of which run at the same time.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import IO, Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table

_EACH = 3.0  # seconds from line to line where there is no terminal
_NAMED = 2  # steps that such a line names


class Progress:
    """Prints lines with the seconds since the start in front, and what runs now below or between them.

    It is used as a context, and from any thread.
    """

    def __init__(self, stream: IO[str] | None = None, each: float = _EACH) -> None:
        """Starts the clock."""
        self._started = time.monotonic()
        self._each = each
        self._console = Console(file=stream or sys.stdout, highlight=False, markup=False, soft_wrap=True)
        self._live: Live | None = None
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._title = ""
        self._running: dict[str, float] = {}
        self._done = 0
        self._total = 0

    def __enter__(self) -> Self:
        """Begins to say what runs."""
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._spinner = Spinner("dots")
            self._live = Live(get_renderable=self._bar, console=self._console, transient=True, refresh_per_second=8)
            self._live.start()
        else:
            self._beat = threading.Thread(target=self._say_each, daemon=True)
            self._beat.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Ends it."""
        self._ended.set()
        if self._live:
            self._live.stop()
        else:
            self._beat.join()

    def say(self, text: str) -> None:
        """Prints a line that stays."""
        self._console.print(f"{self._seconds():6.1f} s  {text}")

    @contextmanager
    def phase(self, title: str, total: int = 0) -> Iterator[None]:
        """What is done in this block has this title, and so many steps, where that is known already."""
        with self._lock:
            self._title, self._total, self._done = title, total, 0
            self._running.clear()
            if not self._live:
                self.say(f"  {title}")
        try:
            yield
        finally:
            with self._lock:
                self._title = ""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """This block is a step of the phase."""
        self.start(name)
        try:
            yield
        finally:
            self.finish(name)

    def expect(self, total: int) -> None:
        """The phase has so many steps."""
        with self._lock:
            self._total = total

    def start(self, name: str) -> None:
        """A step of the phase begins."""
        with self._lock:
            self._running[name] = time.monotonic()

    def finish(self, name: str) -> None:
        """A step of the phase has ended."""
        with self._lock:
            if self._running.pop(name, None):
                self._done += 1

    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _counted(self) -> str:
        return f"{self._done} of {self._total}" if self._total else ""

    def _say_each(self) -> None:
        while not self._ended.wait(self._each):
            with self._lock:
                if self._title:
                    counted = f", {self._counted()} done" if self._total else ""
                    self.say(f"  {self._title}{counted}: {named(list(self._running), _NAMED)}")

    def _bar(self) -> Table:
        with self._lock:
            line = Table.grid(padding=(0, 1))
            for _ in ("seconds", "spinner", "title", "bar"):
                line.add_column(no_wrap=True)
            line.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
            line.expand = True
            if self._title:
                bar = ProgressBar(self._total or None, self._done, width=20, pulse=not self._total)
                running = f"{self._counted()}  {', '.join(self._running)}"
                line.add_row(f"{self._seconds():6.1f} s ", self._spinner, self._title, bar, running)
            return line


def named(names: Sequence[str], at_most: int) -> str:
    """Names in a row, and how many more there are.

    >>> named(["a", "b", "c"], 2), named(["a"], 2), named([], 2)
    ('a, b and 1 more', 'a', 'about to begin')
    """
    more = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return (", ".join(names[:at_most]) or "about to begin") + more
