"""The facts as a JSON object, and how a file is written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from .facts import Facts, Kept, Run, TableFacts, reasons, remedy_of
from .findings import ACT, OK, STATES, WATCH, Finding, Thresholds, states_of

FORM = 1
"""The form of the JSON. It is raised where a reader of the one before would fail."""


def as_json(facts: Facts, findings: list[Finding], thresholds: Thresholds) -> dict[str, Any]:
    """All facts as a JSON object. Times are in ISO 8601 and UTC; durations and ages are seconds."""
    states = states_of(facts, findings)
    return {
        "form": FORM,
        "made_at": _time(facts.made_at),
        "state": worst(findings),
        "findings_by_state": {state: sum(each.state == state for each in findings) for state in (ACT, WATCH)},
        "tables_by_state": {state: sum(each == state for each in states.values()) for state in STATES},
        "to_do": [
            {
                "state": each.state,
                "kind": each.kind,
                "subject": each.subject,
                "log": each.log or None,
                "logs": list(each.logs),
                "what": each.what,
                "remedy": each.remedy,
                "paste": list(each.paste),
            }
            for each in findings
        ],
        "tables": [_table(table, states[table.log], facts.made_at) for table in facts.tables],
        "remedies": _remedies(facts),
        "nodes": [asdict(node) for node in facts.nodes],
        "not_read": list(facts.not_read),
        "thresholds": asdict(thresholds),
    }


def worst(findings: Iterable[Finding]) -> str:
    """The state of the most urgent finding, or `ok`."""
    return min((finding.state for finding in findings), key=STATES.index, default=OK)


def _time(time: datetime | None) -> str | None:
    return time.isoformat(timespec="seconds") if time else None


def _table(table: TableFacts, state: str, now: datetime) -> dict[str, Any]:
    changed = table.last_changed_at
    return {
        "log": table.log,
        "source_name": table.source_name,
        "table_name": table.table_name,
        "state": state,
        "last_changed_at": _time(changed),
        "newest_change_age": (now - changed).total_seconds() if changed else None,
        "lag": table.lag,
        "kept_rejected": table.kept_rows("rejected"),
        "kept_waiting": table.kept_rows("waiting"),
        "reported": table.kept_rows("reported"),
        "acknowledged": table.acknowledged,
        "oldest_waits": (now - waits).total_seconds() if (waits := table.waiting_since) else None,
        "kept": [_kept(kept) for kept in table.kept],
        "size": asdict(table.size) if table.size else None,
        "runs": [_run(run) for run in table.runs],
    }


def _remedies(facts: Facts) -> dict[str, str]:
    """What to do about each code of the last runs, by status and code."""
    runs = [table.last_run for table in facts.tables]
    names = {name for run in runs for name in run.codes} | {f"reported: {code}" for run in runs for code in run.reports}
    return {name: remedy_of(name.partition(": ")[2]) for name in sorted(names)}


def _kept(kept: Kept) -> dict[str, Any]:
    reason = reasons().get(kept.code)
    return {
        "status": kept.status,
        "code": kept.code,
        "rows": kept.rows,
        "acknowledged": kept.acknowledged,
        "since": _time(kept.since),
        "by_age": dict(kept.by_age),
        "meaning": reason.meaning if reason else None,
        "remedy": remedy_of(kept.code),
        "samples": [asdict(sample) for sample in kept.samples],
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        **asdict(run),
        "started_at": _time(run.started_at),
        "last_changed_at": _time(run.last_changed_at),
        "waiting_since": _time(run.waiting_since),
        "rows": run.rows,
        "rejected_share": round(run.rejected_share, 4),
        "lag": run.lag,
    }


def write_whole(file: Path, text: str) -> None:
    """Write a file so that no reader meets a half of it: under a temporary name beside it, then renamed.

    The temporary name begins with a dot and ends in `.tmp`, which the textfile collector does not read.

    Raises:
        OSError: it cannot be written; what was there is as before.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".tmp", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)  # as any new file: another user's collector reads it
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
