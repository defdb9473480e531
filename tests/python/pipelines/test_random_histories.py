"""The law: whatever order the raw rows arrive in, state and history are what the set of changes says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from .consumer import Consumer, Entry
from .histories import (
    COLUMNS,
    HEADERS,
    HISTORY_QUERY,
    KEY,
    RAW_COLUMNS,
    RawRow,
    expected_history,
    expected_rows_at,
    expected_state,
    expected_table,
    random_raw_rows,
)
from .landing import Raw
from .rendered import assert_lints

BATCHES = 3
THEN = datetime(2026, 1, 1, 0, 20, tzinfo=UTC)
LOG = "select * except (_batch_id) from {}.dedup_feed__{}"
SPEC = {"format": "qlik_change_tables", "key": KEY, "headers": list(HEADERS), "mask_type": "string"}
MODELS = ("stg", "dedup", "current", "history")


@dataclass(frozen=True)
class Proof:
    """A table, and all raw rows that land in it."""

    entry: Entry
    rows: Sequence[RawRow]


PARTIAL = SPEC | {"images": "partial"}
PROOFS = [
    Proof(
        Entry("full", SPEC | {"arrival": "batch"}, COLUMNS, MODELS),
        random_raw_rows(seed=7, histories=150, changes=3000, batches=BATCHES, order="mixed"),
    ),
    Proof(
        Entry("partial", PARTIAL, COLUMNS, MODELS),
        random_raw_rows(seed=8, histories=150, changes=3000, batches=BATCHES, order="random", partial=True),
    ),
    Proof(
        Entry("partial_in_time", PARTIAL, COLUMNS, MODELS),
        random_raw_rows(seed=9, histories=150, changes=3000, batches=BATCHES, order="timely", partial=True),
    ),
]


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """The tables: of one the log reads what has arrived since its last run, of the other everything."""
    project = consumer("random_histories")
    project.write([proof.entry for proof in PROOFS])
    for name, moment in (("then", THEN), ("now", datetime.now(UTC))):
        query = f"{{{{ change_tables.as_of(ref('history_feed__partial_in_time'), \"timestamp'{moment}'\") }}}}\n"
        (project.folder / f"models/as_of_{name}.sql").write_text(query)
    return project


def _differences(expected: set[tuple[Any, ...]], found: Sequence[tuple[Any, ...]]) -> str:
    missing = sorted(expected - set(found), key=repr)
    surplus = sorted(set(found) - expected, key=repr)
    return f"missing {missing[:5]} of {len(missing)}, surplus {surplus[:5]} of {len(surplus)}"


def _assert_models(raw: Raw, schema: str, last_batch: int, moment: str) -> None:
    for proof in PROOFS:
        name = proof.entry.name
        table = expected_table(row for row in proof.rows if row.batch <= last_batch)
        for kind, query, expected in (
            ("current", f"select {', '.join(COLUMNS)} from ", expected_state(table)),
            ("history", HISTORY_QUERY, expected_history(table)),
        ):
            found = raw.query(f"{query} {schema}.{kind}_feed__{name}")
            assert len(found) == len(set(found)), f"{kind} {name} {moment}: a row stands twice"
            assert set(found) == expected, f"{kind} {name} {moment}: {_differences(expected, found)}"


def test_state_and_history_are_functions_of_the_set_of_changes(project: Consumer, raw: Raw) -> None:
    for proof in PROOFS:
        raw.create(f"{project.schema}_raw.{proof.entry.name}", RAW_COLUMNS)
    for batch in range(1, BATCHES + 1):
        for proof in PROOFS:
            fresh = [row.values for row in proof.rows if row.batch == batch]
            raw.insert(f"{project.schema}_raw.{proof.entry.name}", fresh)
        project.dbt("build")
        _assert_models(raw, project.schema, batch, f"after batch {batch}")

    names = [proof.entry.name for proof in PROOFS]
    rendered = {
        model: project.compiled(model)
        for model in (
            "current_feed__full",
            "history_feed__full",
            "history_feed__partial",
            "history_feed__partial_in_time",
        )
    }
    assert '"run": "since"' in rendered["history_feed__full"]
    assert '"run": "since"' in rendered["history_feed__partial_in_time"]
    assert_lints(project.folder / "to_lint", rendered)
    kinds = ("dedup", "current", "history")
    states = [f"{project.schema}.{kind}_feed__{name}__state" for kind in kinds for name in names]
    versions = [raw.version(table) for table in states]
    logged = [raw.query(LOG.format(project.schema, name)) for name in names]
    project.dbt("build")
    assert [raw.version(table) for table in states] == versions, "a build with nothing new has written"

    table = expected_table(PROOFS[2].rows)
    for name, expected in (("then", expected_rows_at(table, THEN)), ("now", expected_state(table))):
        found = raw.query(f"select {', '.join(COLUMNS)} from {project.schema}.as_of_{name}")
        assert len(found) == len(expected) > 0
        assert set(found) == expected, f"as of {name}: {_differences(expected, found)}"

    project.dbt("build", "--full-refresh")
    _assert_models(raw, project.schema, BATCHES, "after a full refresh")
    for name, before in zip(names, logged, strict=True):
        after = raw.query(LOG.format(project.schema, name))
        assert sorted(map(repr, after)) == sorted(map(repr, before)), f"{name}: the rebuilt log differs"
