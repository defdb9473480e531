"""What a case of a format page is, for every format, and what is compared with it."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from demo.landing import TABLE_FORMAT

from .consumer import SEED_OF_TRAILS, Consumer, Entry
from .landing import Raw


@dataclass(frozen=True)
class Case:
    """One source table: its entry, the type of what lands, and per batch what lands and what is current then.

    `landed_columns` is None where another case lands the raw table, `landed_as` what it lands as.
    `reasons` counts the rows of both batches by (status, code); `current` holds (key…, name) after each batch,
    `reported` (change, code) after both.
    """

    entry: Entry
    landed_columns: Mapping[str, str] | None
    batches: Sequence[Sequence[Sequence[Any]]]
    reasons: Mapping[tuple[str, str | None], int]
    current: Sequence[set[tuple[Any, ...]]] = ()
    shown: str = "id, name"
    reported: set[tuple[str, str]] = field(default_factory=set)
    landed_as: str = TABLE_FORMAT


Results = dict[str, list[set[tuple[Any, ...]]]]
"""The current rows of each table after batch 1, batch 2, and a full refresh, by name of the entry."""


def build_batches(
    project: Consumer,
    raw: Raw,
    cases: Sequence[Case],
    further_sources: Sequence[str] = (),
    further_models: Mapping[str, str] | None = None,
    land_besides: Callable[[int], None] | None = None,
    refreshed: Sequence[str] = (),
) -> Results:
    """Lands and builds both batches of all cases in one project, runs its data tests, then refreshes some fully.

    Entries for which the second batch lands nothing are built once: a later build would make the same rows. That a
    full refresh ends in the same rows is proven at random for each feed. Here the first entry that grows, which has
    most of the page's rows, is refreshed, or those that `refreshed` names.
    `land_besides` lands what else a batch needs, by its number.
    What dbt rendered after each batch is kept in the project's folder, under `rendered/0` and `rendered/1`.
    """
    project.write([case.entry for case in cases], further_sources)
    for name, sql in (further_models or {}).items():
        (project.folder / f"models/{name}.sql").write_text(f"{sql}\n")
    for case in cases:
        if case.landed_columns is not None:
            raw.create(f"{project.schema}_raw.{case.entry.raw_table}", case.landed_columns, case.landed_as)
    found: Results = {case.entry.name: [] for case in cases}
    grown = {case.entry.raw_table for case in cases if case.batches[1]}
    growing = [
        case.entry.name for case in cases if {case.entry.raw_table, case.entry.change_table.get("tracking")} & grown
    ]
    again = [case for case in cases if case.entry.name in (refreshed or growing[:1])]
    logs_of_grown = [f"dedup_{project.source}__{name}+" for name in growing]
    logs_refreshed = [f"dedup_{project.source}__{case.entry.name}+" for case in again]
    has_trails = any(case.entry.change_table.get("format") == "goldengate_trail" for case in cases)
    lists = ("rejected", "reported")  # views of all logs, which are read at the end alone
    not_read = ("--exclude", *lists, *(() if has_trails else (SEED_OF_TRAILS,)))
    for number in (0, 1):
        for case in cases:
            if case.batches[number]:
                raw.insert(f"{project.schema}_raw.{case.entry.raw_table}", case.batches[number])
        if land_besides is not None:
            land_besides(number)
        selected = ("--select", *logs_of_grown) if number else not_read
        project.dbt("build", "--exclude-resource-type", "test", *selected)
        shutil.copytree(project.folder / "target/compiled/consumer/models", project.folder / f"rendered/{number}")
        _read(raw, project.schema, [case for case in cases if not number or case.entry.name in growing], found)
    project.dbt("test")
    kept = kept_rows(raw, project.schema, again)
    project.dbt("run", "--full-refresh", "--select", *logs_refreshed, "--exclude", *lists)
    _read(raw, project.schema, again, found)
    assert kept == kept_rows(raw, project.schema, again)
    return found


def kept_rows(raw: Raw, schema: str, cases: Sequence[Case]) -> set[tuple[Any, ...]]:
    """The rows that the logs keep as rejected or waiting, with how many raw rows each is for."""
    logs = [case.entry.name for case in cases if "dedup" in case.entry.models]
    queries = [
        f"select '{name}', {raw.row_id}, _status, _status_reason, _raw_row, _equal_rows"
        f" from {schema}.dedup_feed__{name}__quarantine where _healed_at is null"
        for name in logs
    ]
    rows = raw.query(" union all ".join(queries))
    assert len(rows) == len(set(rows))
    return set(rows)


def _read(raw: Raw, schema: str, built: Sequence[Case], found: Results) -> None:
    """Read the current rows of those cases that were built; those of the others are as they were."""
    rows = {case.entry.name: current_rows(raw, schema, case.entry.name, case.shown) for case in built}
    for name, states in found.items():
        states.append(rows[name] if name in rows else states[-1])


def current_rows(raw: Raw, schema: str, entry: str, shown: str) -> set[tuple[Any, ...]]:
    """The rows of an entry's current model, each of which is there once."""
    rows = raw.query(f"select {shown} from {schema}.current_feed__{entry}")
    assert len(rows) == len(set(rows)), f"{entry}: a row is there twice"
    return set(rows)


def assert_statuses(raw: Raw, schema: str, case: Case) -> None:
    """Staging counts the raw rows by status and code as the case does, and shows those that it did not accept."""
    rows = raw.query(
        "select _status, substring_index(_status_reason, ':', 1), _raw_row is null, startswith(_raw_id, 'tracking')"
        f" from {schema}.stg_feed__{case.entry.name}"
    )
    assert Counter(row[:2] for row in rows) == Counter(case.reasons)
    assert all((status == "accepted") == without_text for status, _, without_text, _ in rows)
    if "dedup" in case.entry.models:
        spec = case.entry.change_table
        lone_rows_are_kept = spec.get("policy_level", 2) < 2 or "arrival" not in spec
        to_keep = Counter(
            (status, code)
            for status, code, _, is_tracking in rows
            if status in ("rejected", "waiting") and (lone_rows_are_kept or not is_tracking)
        )
        kept: Counter[Any] = Counter()
        for _, _, status, reason, _, copies in kept_rows(raw, schema, [case]):
            kept[status, reason.split(":")[0]] += copies
        assert kept == to_keep


def assert_rejected(raw: Raw, schema: str, cases: Sequence[Case]) -> None:
    """The rejected rows of all cases are listed with their codes: in one query, as staging models stage them all."""
    logs = [case.entry.name for case in cases if "dedup" in case.entry.models]
    rows = raw.query(f"select table_name, reason_code, {'raw_rows' if logs else '1'} from {schema}.rejected")
    listed: Counter[Any] = Counter()
    for table, code, count in rows:
        listed[table, code] += count
    expected = {
        (case.entry.name, code): count
        for case in cases
        for (status, code), count in case.reasons.items()
        if status == "rejected"
    }
    assert listed == Counter(expected)


def assert_reported(raw: Raw, schema: str, cases: Sequence[Case]) -> None:
    """What needs a look is reported, of all cases, and nothing else."""
    reported = raw.query(f"select table_name, _change_id, code from {schema}.reported")
    assert sorted(reported) == sorted((case.entry.name, *report) for case in cases for report in case.reported)
