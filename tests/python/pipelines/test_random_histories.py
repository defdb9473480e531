"""The law: whatever order the raw rows arrive in, the current state is what the set of changes says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from .consumer import Consumer, Entry
from .histories import COLUMNS, KEY, RAW_COLUMNS, RawRow, expected_state, random_raw_rows
from .landing import Raw

BATCHES = 3
LOG = "select * except (_batch_id) from {}.dedup_feed__{}"
SPEC = {"format": "qlik_change_tables", "key": KEY, "headers": ["change_seq", "change_oper", "transaction_id"]}
ENTRIES = [
    Entry("everything_read", SPEC, COLUMNS),
    Entry("read_since_arrival", SPEC | {"arrival": "batch"}, COLUMNS),
]


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """The two tables, which get the same raw rows: one reads all of them in every run, one those that have arrived."""
    project = consumer("random_histories")
    project.write(ENTRIES)
    return project


def _differences(expected: set[tuple[Any, ...]], found: Sequence[tuple[Any, ...]]) -> str:
    missing = sorted(expected - set(found), key=repr)
    surplus = sorted(set(found) - expected, key=repr)
    return f"missing {missing[:5]} of {len(missing)}, surplus {surplus[:5]} of {len(surplus)}"


def _assert_states(raw: Raw, schema: str, landed: Sequence[RawRow], moment: str) -> None:
    expected = expected_state(landed)
    for entry in ENTRIES:
        found = raw.query(f"select history, place, name from {schema}.current_feed__{entry.name}")
        assert len(found) == len(set(found)), f"{entry.name} {moment}: a key stands twice"
        differences = _differences(expected, found)
        assert set(found) == expected, f"{entry.name} {moment}: {differences}"


def test_the_current_state_is_a_function_of_the_set_of_changes(project: Consumer, raw: Raw) -> None:
    rows = random_raw_rows(seed=7, histories=150, changes=3000, batches=BATCHES)
    for entry in ENTRIES:
        raw.create(f"{project.schema}_raw.{entry.name}", RAW_COLUMNS)
    landed: list[RawRow] = []
    for batch in range(1, BATCHES + 1):
        fresh = [row for row in rows if row.batch == batch]
        for entry in ENTRIES:
            raw.insert(f"{project.schema}_raw.{entry.name}", [row.values for row in fresh])
        landed += fresh
        project.dbt("build")
        _assert_states(raw, project.schema, landed, f"after batch {batch}")

    logs = [f"{project.schema}.dedup_feed__{entry.name}__state" for entry in ENTRIES]
    states = [f"{project.schema}.current_feed__{entry.name}__state" for entry in ENTRIES]
    versions = [raw.version(table) for table in logs + states]
    logged = [raw.query(LOG.format(project.schema, entry.name)) for entry in ENTRIES]
    project.dbt("build")
    assert [raw.version(table) for table in logs + states] == versions, "a build with nothing new has written"

    project.dbt("build", "--full-refresh")
    _assert_states(raw, project.schema, landed, "after a full refresh")
    for entry, before in zip(ENTRIES, logged, strict=True):
        after = raw.query(LOG.format(project.schema, entry.name))
        assert sorted(map(repr, after)) == sorted(map(repr, before)), f"{entry.name}: the rebuilt log differs"
