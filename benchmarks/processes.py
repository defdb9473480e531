"""Processor time of a server, of its Python workers and of this process, as Linux counts it in /proc."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """Seconds of processor time.

    >>> (Usage(3.0, 1.0, 0.5) - Usage(1.0, 0.5, 0.25)).total
    2.75
    """

    server: float = 0.0
    workers: float = 0.0
    client: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: Usage) -> Usage:
        """What has been used since the other."""
        return Usage(*(one - two for one, two in zip(astuple(self), astuple(other), strict=True)))

    @property
    def total(self) -> float:
        """All of them."""
        return self.server + self.workers + self.client


@dataclass(frozen=True)
class Process:
    """One process: its seconds, and those of its children that have ended."""

    pid: int
    parent: int
    name: str
    seconds: float
    seconds_of_ended: float


def parse_stat(text: str) -> Process:
    """The line of /proc/<pid>/stat. The name may hold blanks and parentheses, so the fields are counted after it."""
    head, _, tail = text.rpartition(")")
    pid, _, name = head.partition(" (")
    fields = tail.split()
    own, ended = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return Process(int(pid), int(fields[1]), name, own / _TICKS, ended / _TICKS)


def usage_of(processes: Iterable[Process], server: int, client: int) -> Usage:
    """What the server's process and its JVM have used, what is below them, and the client.

    Python workers come and go: the time of one that has ended is counted in the process that started it.
    """
    known = {process.pid: process for process in processes}
    jvm_and_starter, workers = 0.0, 0.0
    for pid, process in known.items():
        if not _is_below(known, pid, server):
            continue
        if pid == server:
            jvm_and_starter += process.seconds
        elif process.name == "java":
            jvm_and_starter += process.seconds
            workers += process.seconds_of_ended
        else:
            workers += process.seconds + process.seconds_of_ended
    return Usage(jvm_and_starter, workers, known[client].seconds if client in known else 0.0)


def _is_below(known: Mapping[int, Process], pid: int, root: int) -> bool:
    while pid in known and pid != root:
        pid = known[pid].parent
    return pid == root


class Meter:
    """Reads what a server, its workers and this process have used until now, again and again.

    A worker may end without its time being counted anywhere: what was read of it before is kept.
    """

    def __init__(self, server: int, read: Callable[[int], Usage] | None = None) -> None:
        """Take the server's process id."""
        self._server, self._read = server, read or read_usage
        self._last, self._lost = Usage(), 0.0

    def used(self) -> Usage:
        """What has been used until now."""
        now = self._read(self._server)
        self._lost += max(self._last.workers - now.workers, 0.0)
        self._last = now
        return now + Usage(workers=self._lost)


def read_usage(server: int) -> Usage:
    """What the server of this process id, its workers and this process have used, by the processes that there are."""
    return usage_of(_processes(), server, os.getpid())


def processes_below(root: int) -> list[int]:
    """The ids of a process and of all that it has started, and these."""
    known = {process.pid: process for process in _processes()}
    return [pid for pid in known if _is_below(known, pid, root)]


def _processes() -> list[Process]:
    processes = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            processes.append(parse_stat(stat.read_text()))
        except OSError:
            continue  # it has ended meanwhile
    return processes
