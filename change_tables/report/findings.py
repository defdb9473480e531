"""What to do next: what is wrong with which tables, how much, and the remedy; the most urgent first.

What is the same for several tables is one finding. It is first noted as a symptom of each table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from . import pasted
from .facts import ORPHAN, Facts, Node, TableFacts, remedy_of
from .pasted import named

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
    "reported": WATCH,
    "rejected_kept": WATCH,
    "lag": WATCH,
    "table_old": WATCH,
    "slow_node": WATCH,
    "not_read": WATCH,
}
"""Kinds of findings and the state that each means, the most urgent first."""

_HOUR = 3600.0
_AHEAD = _HOUR  # clocks that differ by less are none of a person's business
_CODES_SHOWN = 3


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
    """The log, or how many; or the source, or dbt's node."""
    what: str
    remedy: str
    weight: float = 0.0
    """Among findings of a kind the heavier is the more urgent."""
    logs: tuple[str, ...] = ()
    """The logs that it is about, the heaviest first."""
    paste: tuple[str, ...] = ()
    """Queries and commands for the remedy."""

    @property
    def state(self) -> str:
        """`act` or `watch`."""
        return KINDS[self.kind]

    @property
    def log(self) -> str:
        """The log, where it is about one alone."""
        return self.logs[0] if len(self.logs) == 1 else ""

    @property
    def place(self) -> str:
        """The subject with the names of the logs."""
        return f"{self.subject} ({named(self.logs)})" if len(self.logs) > 1 else self.subject


@dataclass(frozen=True)
class _Symptom:
    """What is wrong with one table. Symptoms of one kind and code are one finding."""

    kind: str
    table: TableFacts
    weight: float
    code: str = ""
    rows: int = 0
    """How many it is about."""
    of_rows: int = 0
    """Of how many."""
    codes: Mapping[str, int] = field(default_factory=dict)
    """These rows by code, where they have several."""


def findings_of(facts: Facts, thresholds: Thresholds) -> list[Finding]:
    """The findings, the most urgent first."""
    found = [*_of_nodes(facts, thresholds), *_of_sources(facts, thresholds)]
    stopped = {finding.subject for finding in found if finding.kind == "feed_stopped"}
    groups: dict[tuple[str, str], list[_Symptom]] = {}
    for table in facts.tables:
        for symptom in _of_table(table, facts.made_at, thresholds, is_stopped=table.source_name in stopped):
            groups.setdefault((symptom.kind, symptom.code), []).append(symptom)
    found += [
        _finding(facts, sorted(group, key=lambda each: (-each.weight, each.table.log))) for group in groups.values()
    ]
    found += [
        Finding(
            "not_read",
            "report",
            what,
            "See whether the user of the report may read it.",
            paste=tuple(
                pasted.is_there("tables", schema)
                for schema in sorted({table.log.rpartition(".")[0] for table in facts.tables})
            ),
        )
        for what in facts.not_read
    ]
    places = {kind: place for place, kind in enumerate(KINDS)}
    return sorted(found, key=lambda finding: (places[finding.kind], -finding.weight, finding.subject, finding.what))


def states_of(facts: Facts, findings: list[Finding]) -> dict[str, str]:
    """The state of each log: that of its most urgent finding."""
    states = {table.log: OK for table in facts.tables}
    for finding in findings:
        for log in finding.logs:
            if log in states:
                states[log] = min(states[log], finding.state, key=STATES.index)
    return states


def _of_nodes(facts: Facts, thresholds: Thresholds) -> Iterator[Finding]:
    failed: dict[tuple[str, str], list[Node]] = {}
    for node in facts.nodes:
        if node.has_failed:
            failed.setdefault((node.kind, node.message or node.status), []).append(node)
    for (kind, message), nodes in failed.items():
        names = sorted(node.name for node in nodes)
        subject = names[0] if len(names) == 1 else f"{len(names)} nodes ({named(names)})"
        what = f"{kind} failed in dbt's last run: {message}"
        command = pasted.nodes("build", [name.partition(".")[0] for name in names])
        yield Finding("failed_node", subject, what, "Correct what the message says, and run again.", paste=(command,))
    slow = [node for node in facts.nodes if node.kind == "model" and node.seconds > thresholds.slow_seconds]
    if slow:
        slowest = slow[0]
        what = f"the slowest model took {duration(slowest.seconds)}"
        what += f"; {len(slow)} took longer than {duration(thresholds.slow_seconds)}" if len(slow) > 1 else ""
        remedy = "See the page of performance: most often an arrival column is missing, and `run_kind` is `everything`."
        query = pasted.runs(facts.runs_table, f"seconds > {thresholds.slow_seconds:g}")
        yield Finding("slow_node", slowest.name, what, remedy, slowest.seconds, paste=(query,))


def _of_sources(facts: Facts, thresholds: Thresholds) -> Iterator[Finding]:
    newest: dict[str, datetime] = {}
    tables: dict[str, list[str]] = {}
    for table in facts.tables:
        tables.setdefault(table.source_name, []).append(table.log)
        if changed := table.last_changed_at:
            newest[table.source_name] = max(changed, newest.get(table.source_name, changed))
    for source, changed in newest.items():
        age = (facts.made_at - changed).total_seconds()
        if age > thresholds.stopped_hours * _HOUR:
            number_of = len(tables[source])
            of = f"none of its {number_of} tables has" if number_of > 1 else "its table does not have"
            what = f"the feed seems to have stopped: {of} a change of the last {duration(age)}"
            remedy = "See whether the source has newer changes, then whether rows land, then whether the build passes."
            query = pasted.runs(facts.runs_table, f"source_name = {pasted.sql_text(source)}")
            yield Finding("feed_stopped", source, what, remedy, age, paste=(query,))


def _of_table(table: TableFacts, now: datetime, thresholds: Thresholds, is_stopped: bool) -> Iterator[_Symptom]:
    run = table.last_run
    age_of_run = (now - run.started_at).total_seconds()
    if run.seconds is None and age_of_run > thresholds.died_hours * _HOUR:
        yield _Symptom("run_died", table, age_of_run)
    yield from _of_rejected(table, thresholds)
    for kept in table.kept:
        if not kept.rows:
            continue
        age = (now - kept.since).total_seconds() if kept.since else 0.0
        is_long = age > thresholds.waiting_hours * _HOUR
        if kept.status == "waiting" and is_long:
            yield _Symptom("waiting_long", table, age, kept.code, kept.rows)
        elif kept.status == "reported" and kept.code == ORPHAN:
            yield _Symptom("orphans_long" if is_long else "orphans", table, age, kept.code, kept.rows)
        elif kept.status == "reported":
            yield _Symptom("reported", table, kept.rows, kept.code, kept.rows)
    if run.waiting_since and run.kept_waiting and not any(kept.status == "waiting" for kept in table.kept):
        age = (now - run.waiting_since).total_seconds()
        if age > thresholds.waiting_hours * _HOUR:
            yield _Symptom("waiting_long", table, age, _most(_codes_of(table, "waiting")), run.kept_waiting)
    changed = table.last_changed_at
    if changed is None:
        return
    age = (now - changed).total_seconds()
    if -age > _AHEAD:
        yield _Symptom("time_ahead", table, -age)
    elif age > thresholds.old_hours * _HOUR and not is_stopped:
        yield _Symptom("table_old", table, age)
    if table.lag is not None and table.lag > thresholds.lag_hours * _HOUR and not is_stopped and run.kind == "since":
        yield _Symptom("lag", table, table.lag)


def _of_rejected(table: TableFacts, thresholds: Thresholds) -> Iterator[_Symptom]:
    run = table.last_run
    kept = {each.code: each.rows for each in table.kept if each.status == "rejected"}
    # of the rows of the last run those that are acknowledged or healed by now are no trouble any more
    rejected = min(run.rejected, sum(kept.values())) if kept else run.rejected
    rows_of_run = run.rows - run.rejected + rejected
    share = min(rejected / rows_of_run, 1.0) if rows_of_run else float(rejected > 0)
    codes = _codes_of(table, "rejected")
    is_much = rejected > 0 and (share >= 1 or share > thresholds.rejected_share)
    if is_much:
        kind, weight = ("all_rejected", float(rejected)) if share >= 1 else ("rejected_share", share)
        yield _Symptom(kind, table, weight, _most(codes), rejected, rows_of_run, codes)
    for code, rows_of_code in kept.items():
        if rows_of_code and not (is_much and code in codes):
            yield _Symptom("rejected_kept", table, rows_of_code, code, rows_of_code)
    if run.kept_rejected and not kept and not is_much:
        code = _most(codes)
        yield _Symptom("rejected_kept", table, run.kept_rejected, code, run.kept_rejected)


def _codes_of(table: TableFacts, status: str) -> Mapping[str, int]:
    """Rows of a status by code: of the last run, without what is acknowledged; else of those that the log keeps."""
    prefix = f"{status}: "
    counted = {name.removeprefix(prefix): n for name, n in table.last_run.codes.items() if name.startswith(prefix)}
    kept: dict[str, int] = {}
    for each in table.kept:
        if each.status == status:
            kept[each.code] = each.rows
    left = {code: min(n, kept.get(code, n)) for code, n in counted.items()}
    return {code: n for code, n in (left if any(left.values()) else kept).items() if n}


def _most(codes: Mapping[str, int]) -> str:
    """The code of most rows; empty if none is known."""
    return min(codes, key=lambda code: (-codes[code], code), default="")


def _finding(facts: Facts, symptoms: Sequence[_Symptom]) -> Finding:
    """What is wrong with the tables of one kind and code, the heaviest first."""
    worst = symptoms[0]
    tables = [symptom.table for symptom in symptoms]
    subject = worst.table.log if len(symptoms) == 1 else f"{number(len(symptoms))} tables"
    say, remedy, paste = _WORDS[worst.kind]
    return Finding(
        worst.kind,
        subject,
        say(symptoms),
        remedy or (remedy_of(worst.code) if worst.code else f"See the codes of these rows in {_LISTS[worst.kind]}."),
        worst.weight,
        tuple(table.log for table in tables),
        tuple(paste(facts, tables, worst.code)),
    )


def _in(symptoms: Sequence[_Symptom]) -> str:
    return f" in {number(len(symptoms))} tables" if len(symptoms) > 1 else ""


def _sum(symptoms: Sequence[_Symptom]) -> int:
    return sum(symptom.rows for symptom in symptoms)


def _coded(symptoms: Sequence[_Symptom]) -> str:
    """The codes, with how many rows each has where there are several."""
    codes: dict[str, int] = {}
    for symptom in symptoms:
        for code, n in (symptom.codes or {symptom.code: symptom.rows}).items():
            codes[code] = codes.get(code, 0) + n
    ordered = sorted((code for code in codes if code), key=lambda code: (-codes[code], code))
    if len(ordered) < 2:
        return f": {ordered[0]}" if ordered else ""
    return f": {named([f'{code} {number(codes[code])}' for code in ordered], _CODES_SHOWN)}"


def _of_several(symptoms: Sequence[_Symptom], alone: str, several: str) -> str:
    """One of two texts, with the number of tables and the longest time in it."""
    longest, count = duration(symptoms[0].weight), number(len(symptoms))
    return alone.format(longest) if len(symptoms) == 1 else several.format(longest, count)


def _said_of_died(symptoms: Sequence[_Symptom]) -> str:
    return _of_several(
        symptoms,
        "its last run began {} ago and has not come to its end",
        "the last runs of {1} tables have not come to their end; the oldest began {0} ago",
    )


def _said_of_all_rejected(symptoms: Sequence[_Symptom]) -> str:
    of = f" of {number(len(symptoms))} tables" if len(symptoms) > 1 else ""
    return f"everything was rejected in the last run{of}, {rows(_sum(symptoms))}{_coded(symptoms)}"


def _said_of_share(symptoms: Sequence[_Symptom]) -> str:
    all_rows = sum(symptom.of_rows for symptom in symptoms)
    up_to = "up to " if len(symptoms) > 1 else ""
    share = f"{up_to}{percent(symptoms[0].weight)} of the last run was rejected{_in(symptoms)}"
    return f"{share}, {number(_sum(symptoms))} of {rows(all_rows)}{_coded(symptoms)}"


def _said_of_kept(symptoms: Sequence[_Symptom]) -> str:
    count = _sum(symptoms)
    return f"{rows(count)}{_in(symptoms)} could not be used and {'is' if count == 1 else 'are'} kept{_coded(symptoms)}"


def _said_of_waiting(symptoms: Sequence[_Symptom]) -> str:
    count = _sum(symptoms)
    wait = "waits" if count == 1 else "wait, the oldest"
    return f"{rows(count)}{_in(symptoms)} {wait} for {duration(symptoms[0].weight)}{_coded(symptoms)}"


def _said_of_orphans(symptoms: Sequence[_Symptom]) -> str:
    count = _sum(symptoms)
    updates = "1 update" if count == 1 else f"{number(count)} updates"
    age = f"the oldest {duration(symptoms[0].weight)} ago"
    return f"{updates}{_in(symptoms)} found no row to change, {age}{_coded(symptoms)}"


def _said_of_reported(symptoms: Sequence[_Symptom]) -> str:
    count = _sum(symptoms)
    changes = "1 change needs" if count == 1 else f"{number(count)} changes{_in(symptoms)} need"
    return f"{changes} a look{_coded(symptoms)}"


def _said_of_time(symptoms: Sequence[_Symptom]) -> str:
    return _of_several(
        symptoms,
        "its newest change is {} ahead of now",
        "the newest changes of {1} tables are up to {0} ahead of now",
    )


def _said_of_old(symptoms: Sequence[_Symptom]) -> str:
    return _of_several(
        symptoms,
        "its newest change is {} old, while the source has newer ones",
        "the newest changes of {1} tables are up to {0} old, while their source has newer ones",
    )


def _said_of_lag(symptoms: Sequence[_Symptom]) -> str:
    return _of_several(
        symptoms,
        "its last run found nothing newer than {}",
        "the last runs of {1} tables found nothing newer than long before, up to {0}",
    )


_Tables = Sequence[TableFacts]


def _paste_rejected(_: Facts, tables: _Tables, code: str) -> list[str]:
    return [pasted.kept_rows(tables, "rejected", code), pasted.build(tables, rescan=True)]


def _paste_kept(facts: Facts, tables: _Tables, code: str) -> list[str]:
    return [*_paste_rejected(facts, tables, code), *(pasted.acknowledge(tables, code) if code else [])]


def _paste_waiting(_: Facts, tables: _Tables, code: str) -> list[str]:
    query = pasted.kept_rows(tables, "waiting", code)
    return [query, *(pasted.acknowledge(tables, code) if code else [])]


def _paste_reported(_: Facts, tables: _Tables, code: str) -> list[str]:
    return [pasted.reported(tables, code), *pasted.acknowledge(tables, code)]


def _paste_runs(facts: Facts, tables: _Tables, _: str) -> list[str]:
    return [pasted.runs_of(facts.runs_table, tables)]


_LISTS = {"waiting_long": "the table `<model>__quarantine`"} | dict.fromkeys(
    ("all_rejected", "rejected_share", "rejected_kept"), "rejected_changes"
)
"""Where rows are whose code is not known."""

_Say = Callable[[Sequence[_Symptom]], str]
_Paste = Callable[[Facts, _Tables, str], list[str]]

_WORDS: Mapping[str, tuple[_Say, str, _Paste]] = {
    "run_died": (
        _said_of_died,
        "Run again: a run makes good one that died. See why it died.",
        lambda _facts, tables, _code: [pasted.build(tables)],
    ),
    "all_rejected": (_said_of_all_rejected, "", _paste_rejected),
    "rejected_share": (_said_of_share, "", _paste_rejected),
    "waiting_long": (_said_of_waiting, "", _paste_waiting),
    "orphans_long": (_said_of_orphans, "", _paste_reported),
    "time_ahead": (
        _said_of_time,
        "Correct what lands the time: it is not UTC, or a clock is wrong.",
        lambda _facts, tables, _code: [pasted.newest_changes(tables)],
    ),
    "orphans": (_said_of_orphans, "", _paste_reported),
    "reported": (_said_of_reported, "", _paste_reported),
    "rejected_kept": (_said_of_kept, "", _paste_kept),
    "lag": (_said_of_lag, "Rows land late, or the build runs too seldom.", _paste_runs),
    "table_old": (_said_of_old, "See whether the table is still captured, or changes seldom.", _paste_runs),
}
"""What is said of symptoms of a kind; the remedy, where it is not that of their code; what is pasted for it."""


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
