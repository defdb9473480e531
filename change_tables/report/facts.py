"""What a report knows of each table: its runs, the rows that its log keeps, its size.

Times are in UTC and have a time zone. Ages and durations are seconds, rows are raw rows unless said otherwise.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

AGES: Mapping[str, float] = {"under an hour": 3600.0, "under a day": 86400.0, "under a week": 604800.0}
"""Classes of age and the age below which a row is in each, in seconds. What is older is in `OLDER`."""

OLDER = "older"

ORPHAN = "orphan"
"""The code of an update that waits for its base."""

EVERYTHING = "everything"
"""The kind of a run that compared all raw rows: without an arrival column, each run does."""

_CODES = Path(__file__).with_name("reason_codes.csv")
_FAILED = ("error", "fail", "runtime error")


@dataclass(frozen=True)
class Run:
    """One run of a log that has found something."""

    batch_id: str
    started_at: datetime
    kind: str
    """`first`, `everything` or `since`."""
    raw_rows: int | None = None
    """Rows read; None where they were not counted."""
    accepted: int | None = None
    """None in a run that does not count accepted, merged and ignored rows apart."""
    merged: int | None = None
    ignored: int | None = None
    rejected: int = 0
    waiting: int = 0
    codes: Mapping[str, int] = field(default_factory=dict)
    """Rows by status and reason code, such as `rejected: key_missing`."""
    new_changes: int = 0
    revised_changes: int = 0
    reports: Mapping[str, int] = field(default_factory=dict)
    """New changes by the code that is reported of them."""
    last_changed_at: datetime | None = None
    """The source's time of the newest change; None where the feed has none."""
    kept_rejected: int = 0
    """Rows that the log keeps as rejected after the run."""
    kept_waiting: int = 0
    waiting_since: datetime | None = None
    """When the run began that met the oldest row first that still waits."""
    seconds: float | None = None
    """None where the run has not come to its end."""

    @property
    def rows(self) -> int:
        """How many rows the run has judged. Of one that read everything: what was news.

        >>> Run("b", datetime(2026, 1, 1, tzinfo=UTC), "since", accepted=6, merged=2, ignored=0, rejected=1).rows
        9
        >>> Run("b", datetime(2026, 1, 1, tzinfo=UTC), "everything", raw_rows=900, new_changes=1, rejected=2).rows
        3
        """
        if self.raw_rows is not None and self.kind != EVERYTHING:
            return self.raw_rows
        changes = self.new_changes + self.revised_changes
        used = changes if self.accepted is None else self.accepted + (self.merged or 0) + (self.ignored or 0)
        return used + self.rejected + self.waiting

    @property
    def rejected_share(self) -> float:
        """The part of its rows that were rejected, from 0 to 1."""
        return min(self.rejected / self.rows, 1.0) if self.rows else float(self.rejected > 0)

    @property
    def lag(self) -> float | None:
        """From the newest change at the source to the begin of the run, in seconds; None where one is not known."""
        return None if self.last_changed_at is None else (self.started_at - self.last_changed_at).total_seconds()


@dataclass(frozen=True)
class Sample:
    """One row that a log keeps: the reason as the log has it, and the raw row as JSON. Both may be cut."""

    detail: str
    raw_row: str
    rows: int = 1
    """How many raw rows are equal to it."""


@dataclass(frozen=True)
class Kept:
    """The rows of one status and code that a log keeps, or the changes that it reports."""

    status: str
    """`rejected`, `waiting`, or `reported` of changes that were used and need a look."""
    code: str
    rows: int
    """Without those that are acknowledged."""
    since: datetime | None = None
    """When the run began that met the oldest of them."""
    by_age: Mapping[str, int] = field(default_factory=dict)
    """Rows by class of age: the keys of `AGES`, and `OLDER`."""
    samples: tuple[Sample, ...] = ()
    acknowledged: int = 0
    """Rows of which an operator has noted that nothing is to be done."""


@dataclass(frozen=True)
class Size:
    """How large the table of a log is: bytes and number of files of its newest version."""

    size_bytes: int
    files: int


@dataclass(frozen=True)
class TableFacts:
    """What is known of one log."""

    log: str
    """`schema.name`."""
    source_name: str
    table_name: str
    runs: tuple[Run, ...]
    """The newest at the end; at least one."""
    kept: tuple[Kept, ...] = ()
    size: Size | None = None

    @property
    def last_run(self) -> Run:
        """The newest run."""
        return self.runs[-1]

    def kept_rows(self, status: str) -> int:
        """The rows of a status that the log keeps, or the changes that it reports, without those that are acknowledged.

        As they are now; where they could not be read, as the last run has left them.
        """
        kept = [each.rows for each in self.kept if each.status == status]
        left = {"rejected": self.last_run.kept_rejected, "waiting": self.last_run.kept_waiting}
        return sum(kept) if kept else left.get(status, 0)

    @property
    def acknowledged(self) -> int:
        """Rows and changes of whatever status that are acknowledged."""
        return sum(each.acknowledged for each in self.kept)

    @property
    def last_changed_at(self) -> datetime | None:
        """The source's time of the newest change of all these runs: a late change does not make a log older."""
        return max((run.last_changed_at for run in self.runs if run.last_changed_at), default=None)

    @property
    def waiting_since(self) -> datetime | None:
        """When the run began that met the oldest row that waits; None where none does."""
        if not any(each.status == "waiting" for each in self.kept):
            return self.last_run.waiting_since if self.last_run.kept_waiting else None
        return min((each.since for each in self.kept if each.status == "waiting" and each.since), default=None)

    @property
    def lag(self) -> float | None:
        """The lag of the newest run that knows one, in seconds."""
        return next((run.lag for run in reversed(self.runs) if run.lag is not None), None)


def news_of(run: Run, before: Run | None) -> Run:
    """A run with the rows that were news in it: one that compared everything has met again what was there before."""
    if run.kind != EVERYTHING or before is None:
        return run
    counted_all = before.kind != "since"
    codes = {name: rows - (before.codes.get(name, 0) if counted_all else 0) for name, rows in run.codes.items()}
    return replace(
        run,
        rejected=max(run.kept_rejected - before.kept_rejected, 0),
        waiting=max(run.kept_waiting - before.kept_waiting, 0),
        codes={name: rows for name, rows in codes.items() if rows > 0},
    )


@dataclass(frozen=True)
class Node:
    """A node of dbt's last run, such as a model or a test."""

    name: str
    kind: str
    status: str
    seconds: float
    message: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether dbt says that it has."""
        return self.status in _FAILED


@dataclass(frozen=True)
class Facts:
    """All that a report is made from."""

    made_at: datetime
    tables: tuple[TableFacts, ...]
    nodes: tuple[Node, ...] = ()
    not_read: tuple[str, ...] = ()
    """What could not be read, a line each."""
    runs_table: str = "change_table_runs"
    """The table of the runs, with its schema."""


@dataclass(frozen=True)
class Reason:
    """A reason code of the seed `reason_codes`."""

    meaning: str
    remedy: str


@cache
def reasons() -> Mapping[str, Reason]:
    """The reason codes of this version of the package, by code."""
    with _CODES.open(encoding="utf-8", newline="") as lines:
        return {row["code"]: Reason(row["meaning"], row["remedy"]) for row in csv.DictReader(lines)}


def remedy_of(code: str) -> str:
    """What to do about a code; for one that the package does not have, where to look.

    >>> remedy_of("before_image")
    'Nothing to do.'
    """
    known = reasons().get(code)
    return known.remedy if known else "The package does not know this code: see the staging macro that gives it."


def read_run_results(file: Path) -> tuple[Node, ...]:
    """The nodes of dbt's `run_results.json`, the slowest first.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is none of dbt's.
    """
    found = json.loads(file.read_text(encoding="utf-8"))
    try:
        nodes = [
            Node(
                name=str(each["unique_id"]).split(".", 2)[-1],
                kind=str(each["unique_id"]).split(".", 1)[0],
                status=str(each["status"]),
                seconds=float(each["execution_time"]),
                message=" ".join(str(each.get("message") or "").split())[:300],
            )
            for each in found["results"]
        ]
    except (KeyError, TypeError) as error:
        raise ValueError(f"{file} is no run_results.json of dbt: {error!r}") from None
    return tuple(sorted(nodes, key=lambda node: (-node.seconds, node.name)))


def time_of_batch(batch_id: str) -> datetime | None:
    """When the run of a batch began; None where the batch does not say.

    >>> time_of_batch("20260131T041000123456_0a1b2c3d").isoformat()
    '2026-01-31T04:10:00+00:00'
    """
    try:
        return datetime.strptime(batch_id[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
