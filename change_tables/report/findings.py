"""What to do next: what is wrong with which table, how much, and the remedy; the most urgent first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from .facts import ORPHAN, Facts, Kept, TableFacts, remedy_of

ACT, WATCH, OK = "act", "watch", "ok"
"""The states of a table: a person is needed, a person should look when there is time, nothing is wrong."""

STATES = (ACT, WATCH, OK)

KINDS: Mapping[str, str] = {
    "failed_node": ACT,
    "run_died": ACT,
    "all_rejected": ACT,
    "feed_stopped": ACT,
    "rejected_share": ACT,
    "waiting_long": ACT,
    "orphans_long": ACT,
    "time_ahead": WATCH,
    "orphans": WATCH,
    "rejected_kept": WATCH,
    "lag": WATCH,
    "table_old": WATCH,
    "slow_node": WATCH,
    "not_read": WATCH,
}
"""Kinds of findings and the state that each means, the most urgent first."""

_HOUR = 3600.0
_AHEAD = _HOUR  # clocks that differ by less are none of a person's business


@dataclass(frozen=True)
class Thresholds:
    """From where on something is a finding."""

    rejected_share: float = 0.01
    """Of the rows of the last run, from 0 to 1."""
    waiting_hours: float = 24.0
    stopped_hours: float = 24.0
    """Of a source: since its newest change, over all its tables."""
    old_hours: float = 168.0
    """Of one table: since its newest change."""
    lag_hours: float = 6.0
    died_hours: float = 6.0
    """After so many hours a run without an end counts as one that died."""
    slow_seconds: float = 600.0


@dataclass(frozen=True)
class Finding:
    """One thing to do."""

    kind: str
    subject: str
    """The log; or the source, or dbt's node."""
    what: str
    remedy: str
    weight: float = 0.0
    """Among findings of a kind the heavier is the more urgent."""
    log: str = ""
    """The log, where it is about one."""

    @property
    def state(self) -> str:
        """`act` or `watch`."""
        return KINDS[self.kind]


def findings_of(facts: Facts, thresholds: Thresholds) -> list[Finding]:
    """The findings, the most urgent first."""
    found = [*_of_nodes(facts, thresholds), *_of_sources(facts, thresholds)]
    stopped = {finding.subject for finding in found if finding.kind == "feed_stopped"}
    for table in facts.tables:
        found += _of_table(table, facts.made_at, thresholds, is_stopped=table.source_name in stopped)
    found += [
        Finding("not_read", "report", what, "See whether the user of the report may read it.")
        for what in facts.not_read
    ]
    places = {kind: place for place, kind in enumerate(KINDS)}
    return sorted(found, key=lambda finding: (places[finding.kind], -finding.weight, finding.subject, finding.what))


def states_of(facts: Facts, findings: list[Finding]) -> dict[str, str]:
    """The state of each log: that of its most urgent finding."""
    states = {table.log: OK for table in facts.tables}
    for finding in findings:
        if finding.log in states:
            states[finding.log] = min(states[finding.log], finding.state, key=STATES.index)
    return states


def _of_nodes(facts: Facts, thresholds: Thresholds) -> Iterator[Finding]:
    for node in facts.nodes:
        if node.has_failed:
            what = f"{node.kind} failed in dbt's last run: {node.message or node.status}"
            yield Finding("failed_node", node.name, what, "Correct what the message says, and run again.")
    slow = [node for node in facts.nodes if node.kind == "model" and node.seconds > thresholds.slow_seconds]
    if slow:
        slowest = slow[0]
        what = f"the slowest model took {duration(slowest.seconds)}"
        what += f"; {len(slow)} took longer than {duration(thresholds.slow_seconds)}" if len(slow) > 1 else ""
        remedy = "See the page of performance: most often an arrival column is missing."
        yield Finding("slow_node", slowest.name, what, remedy, slowest.seconds)


def _of_sources(facts: Facts, thresholds: Thresholds) -> Iterator[Finding]:
    newest: dict[str, datetime] = {}
    tables: dict[str, int] = {}
    for table in facts.tables:
        tables[table.source_name] = tables.get(table.source_name, 0) + 1
        if changed := table.last_changed_at:
            newest[table.source_name] = max(changed, newest.get(table.source_name, changed))
    for source, changed in newest.items():
        age = (facts.made_at - changed).total_seconds()
        if age > thresholds.stopped_hours * _HOUR:
            of = f"none of its {tables[source]} tables has" if tables[source] > 1 else "its table does not have"
            what = f"the feed seems to have stopped: {of} a change of the last {duration(age)}"
            remedy = "See whether the source has newer changes, then whether rows land, then whether the build passes."
            yield Finding("feed_stopped", source, what, remedy, age)


def _of_table(table: TableFacts, now: datetime, thresholds: Thresholds, is_stopped: bool) -> Iterator[Finding]:
    run = table.last_run

    def finding(kind: str, what: str, remedy: str, weight: float) -> Finding:
        return Finding(kind, table.log, what, remedy, weight, table.log)

    age_of_run = (now - run.started_at).total_seconds()
    if run.seconds is None and age_of_run > thresholds.died_hours * _HOUR:
        what = f"its last run began {duration(age_of_run)} ago and has not come to its end"
        yield finding("run_died", what, "Run again: a run makes good one that died. See why it died.", age_of_run)
    yield from _of_rejected(table, thresholds)
    for kept in table.kept:
        age = (now - kept.since).total_seconds() if kept.since else 0.0
        if kept.status == "waiting" and age > thresholds.waiting_hours * _HOUR:
            what = f"{rows(kept.rows)} wait, the oldest for {duration(age)}: {kept.code}"
            yield finding("waiting_long", what, remedy_of(kept.code), age)
        elif kept.code == ORPHAN and kept.status == "reported":
            kind = "orphans_long" if age > thresholds.waiting_hours * _HOUR else "orphans"
            updates = "1 update" if kept.rows == 1 else f"{number(kept.rows)} updates"
            what = f"{updates} found no row to change, the oldest {duration(age)} ago: {kept.code}"
            yield finding(kind, what, remedy_of(kept.code), kept.rows)
    if run.waiting_since and run.kept_waiting and not any(kept.status == "waiting" for kept in table.kept):
        age = (now - run.waiting_since).total_seconds()
        if age > thresholds.waiting_hours * _HOUR:
            code = _code_of(table, "waiting")
            what = f"{rows(run.kept_waiting)} wait, the oldest for {duration(age)}" + (f": {code}" if code else "")
            yield finding("waiting_long", what, _remedy_of_run(code, "waiting"), age)
    changed = table.last_changed_at
    if changed is None:
        return
    age = (now - changed).total_seconds()
    if -age > _AHEAD:
        what = f"its newest change is {duration(-age)} ahead of now"
        yield finding("time_ahead", what, "Correct what lands the time: it is not UTC, or a clock is wrong.", -age)
    elif age > thresholds.old_hours * _HOUR and not is_stopped:
        what = f"its newest change is {duration(age)} old, while the source has newer ones"
        yield finding("table_old", what, "See whether the table is still captured, or changes seldom.", age)
    if table.lag is not None and table.lag > thresholds.lag_hours * _HOUR and not is_stopped and run.kind == "since":
        what = f"its last run found nothing newer than {duration(table.lag)}"
        yield finding("lag", what, "Rows land late, or the build runs too seldom.", table.lag)


def _of_rejected(table: TableFacts, thresholds: Thresholds) -> Iterator[Finding]:
    run = table.last_run
    code = _code_of(table, "rejected")
    named = f": {code}" if code else ""
    remedy = _remedy_of_run(code, "rejected")
    share = run.rejected_share
    if run.rejected and share >= 1:
        what = f"everything was rejected in the last run, {rows(run.rejected)}{named}"
        yield Finding("all_rejected", table.log, what, remedy, run.rejected, table.log)
    elif run.rejected and share > thresholds.rejected_share:
        what = f"{percent(share)} of the last run was rejected, {number(run.rejected)} of {rows(run.rows)}{named}"
        yield Finding("rejected_share", table.log, what, remedy, share, table.log)
    elif run.kept_rejected:
        what = (
            f"{rows(run.kept_rejected)} could not be used and {'is' if run.kept_rejected == 1 else 'are'} kept{named}"
        )
        yield Finding("rejected_kept", table.log, what, remedy, run.kept_rejected, table.log)


def _code_of(table: TableFacts, status: str) -> str:
    """The code of most rows of a status: in the last run, else of those that the log keeps; empty if none is known."""
    prefix = f"{status}: "
    counted = {name.removeprefix(prefix): n for name, n in table.last_run.codes.items() if name.startswith(prefix)}
    kept: list[Kept] = [each for each in table.kept if each.status == status]
    counted = counted or {each.code: each.rows for each in kept}
    return min(counted, key=lambda code: (-counted[code], code), default="")


def _remedy_of_run(code: str, status: str) -> str:
    return remedy_of(code) if code else f"See the codes of the {status} rows in rejected_changes."


def number(value: float) -> str:
    r"""A number of things.

    >>> number(1234567)
    '1\xa0234\xa0567'
    """
    return f"{value:,.0f}".replace(",", "\N{NO-BREAK SPACE}") if abs(value) >= 10000 else f"{value:.0f}"


def rows(count: int) -> str:
    """A number of rows.

    >>> rows(1)
    '1 row'
    """
    return f"{number(count)} row{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    """A share in per cent.

    >>> percent(0.0123), percent(0.5)
    ('1.2 %', '50 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.1 or not share else f"{100 * share:.1f} %"


def duration(seconds: float) -> str:
    """A time that has passed, to two figures or so.

    >>> [duration(each) for each in (0.4, 59, 61, -7200, 200000, 864000)]
    ['0.4 s', '59 s', '1 min', '-2 h', '2.3 days', '10 days']
    """
    if seconds < 0:
        return f"-{duration(-seconds)}"
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        amount = seconds / length
        if amount >= (2 if unit == "days" else 1):
            return f"{amount:.1f}".removesuffix(".0") + f" {unit}" if amount < 10 else f"{amount:.0f} {unit}"
    return f"{seconds:.1f}".removesuffix(".0") + " s" if seconds < 10 else f"{seconds:.0f} s"
