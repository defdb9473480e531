"""Four mornings: a healthy build, a column nobody declared, all rows rejected, a feed that has stopped."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from .consumer import SEED_OF_TRAILS, Consumer, Entry
from .landing import Raw
from .qlik_cases import seq

SCHEMA = "mornings"
COLUMNS = {"id": "bigint", "name": "string"}
SPEC = {"format": "qlik_change_tables", "key": ["id"], "headers": ["change_seq", "change_oper", "timestamp"]}
LANDED = {"header__change_seq": "string", "header__change_oper": "string", "header__timestamp": "timestamp"} | COLUMNS
NOW = dt.datetime.now(dt.UTC)
TESTS: list[Any] = [
    {"change_tables.log_freshness": {"arguments": {"at_most": 24}}},
    {"change_tables.rejected_share": {"arguments": {"above": 0.5}}},
    {"change_tables.waiting_age": {"arguments": {"at_most": 24}}},
    {
        "change_tables.undeclared_columns": {
            "arguments": {"except": ["landed"]},
            "config": {"severity": "warn"},
        }
    },
    "change_tables.raw_rows_accounted_for",
    "change_tables.accepted_changes_once",
]
NAMES = ("healthy", "wider", "rejected", "stopped")
# table -> how dbt build ends, and what its one line has
ENDS = {
    "healthy": (True, set(), []),
    "wider": (
        True,
        {"warn"},
        ["warn: feed.wider: undeclared_columns: ", "colour", "{name: colour, data_type: string}"],
    ),
    "rejected": (
        False,
        {"fail"},
        ["fail: feed.rejected: rejected_share: ", "rejected_rows 3", "share 0.7500", "reason_codes"],
    ),
    "stopped": (
        False,
        {"fail"},
        ["fail: feed.stopped: log_freshness: ", "age_in_hours 72", "nothing newer is in the log"],
    ),
}


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer], raw: Raw) -> Consumer:
    """A table a morning, none of them built."""
    project = consumer(SCHEMA)
    project.write(
        [Entry(name, SPEC | {"arrival": "landed"}, COLUMNS, ("stg", "dedup"), {"dedup": TESTS}) for name in NAMES]
    )
    for name in NAMES:
        at = NOW - dt.timedelta(hours=72 if name == "stopped" else 1)
        raw.create(f"{SCHEMA}_raw.{name}", LANDED | {"landed": "int"}, "delta")
        raw.insert(f"{SCHEMA}_raw.{name}", [[seq(1), "I", at, 1, "a", 1]])
    raw.query(f"alter table {SCHEMA}_raw.wider add columns (colour string)")
    raw.insert(f"{SCHEMA}_raw.rejected", [[seq(number), "?", NOW, number, "a", 1] for number in (2, 3, 4)])
    return project


@pytest.mark.parametrize("name", NAMES)
def test_a_build_passes_warns_or_fails_with_one_line_that_says_what_to_do(
    project: Consumer, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    success, statuses, parts = ENDS[name]
    result = project.dbt("build", "--select", f"+dedup_feed__{name}", "--exclude", SEED_OF_TRAILS, must_succeed=False)
    assert result.success == success
    tests = [node for node in result.result.results if node.node.resource_type == "test"]
    assert len(tests) == len(TESTS)
    assert {node.status.value for node in tests} - {"pass"} == statuses
    lines = [line for line in capfd.readouterr().out.splitlines() if "change_tables: " in line]
    assert len(lines) == bool(parts)
    for line in lines:
        assert [part for part in parts if part not in line] == []
