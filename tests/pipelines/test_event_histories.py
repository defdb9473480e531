"""The event log, whose query-back events read a replica: random histories, compared with its page in plain Python.

Two tables have events at random, the third those of a source: it must end in its rows, but for keys that are forgotten.

`make test-long` runs it with other and with more histories: `CHANGE_TABLES_PROOF_SEED` and `CHANGE_TABLES_PROOF_SCALE`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from .consumer import Consumer, Entry
from .event_histories import COLUMNS, DRIVER, KEY, RAW_COLUMNS, Models, Moment, moments_of_sources, random_moments
from .histories import expected_history, expected_state, history_query
from .interpreter import Key
from .landing import Raw
from .source_histories import COLUMNS as COLUMNS_OF_SOURCE

pytestmark = pytest.mark.slow

BATCHES = 3
SEED = int(os.environ.get("CHANGE_TABLES_PROOF_SEED", "0"))
SCALE = int(os.environ.get("CHANGE_TABLES_PROOF_SCALE", "1"))
SPEC = {
    "format": "idm_event_log",
    "key": KEY,
    "table_name": "usr",
    "schema_name": "indirect",
    "driver_user": DRIVER,
}

SKIPPED = ["current_feed__by_record", "history_feed__by_time"]
"""Models that are not built in batch 2, so that the next build takes in two."""
FORGOTTEN_AFTER = 2
"""The batch after which keys of the third table are forgotten."""
NOT_READ = ["stg_*", "rejected"]
VIEWS = [*NOT_READ, "reported"]


@dataclass
class Proof:
    """A table, what each run finds of it, and what its models must hold."""

    entry: Entry
    moments: Sequence[Moment]
    columns: Mapping[str, str] = field(default_factory=lambda: COLUMNS)
    """Those of the replica, and in the last batch those that are declared."""
    models: Models = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nothing logged."""
        self.begin()

    def begin(self) -> None:
        """As a full refresh does."""
        self.models = Models(future_events=bool(self.entry.change_table.get("future_events")))

    def columns_in(self, batch: int) -> Mapping[str, str]:
        """The columns that are declared in a batch."""
        return self.columns if batch == BATCHES else self.entry.columns


def _proof(name: str, seed: int, models: Sequence[str], **spec: Any) -> Proof:
    of_the_future = bool(spec.get("future_events"))
    moments = random_moments(SEED + seed, 60 * SCALE, 1200 * SCALE, BATCHES, of_the_future=of_the_future)
    return Proof(Entry(name, SPEC | {"replica": f"{name}_rows"} | spec, COLUMNS, models), moments)


MOMENTS, SOURCES = moments_of_sources(SEED + 12, 40 * SCALE, 12, BATCHES)
PROOFS = [
    _proof("by_record", 1, ("stg", "dedup", "current")),
    _proof("by_time", 2, ("stg", "dedup", "current", "history"), future_events=True, arrival="landed"),
    Proof(
        Entry(
            "of_sources",
            SPEC | {"replica": "of_sources_rows", "arrival": "landed"},
            COLUMNS,
            ("stg", "dedup", "current"),
        ),
        MOMENTS,
        COLUMNS_OF_SOURCE,
    ),
]


def test_what_was_read_once_stays_and_all_else_is_a_function_of_the_log(
    consumer: Callable[[str], Consumer], raw: Raw
) -> None:
    project = consumer("event_histories")
    replicas = [f"{proof.entry.name}_rows" for proof in PROOFS]
    project.write([proof.entry for proof in PROOFS], replicas)
    for batch in range(1, BATCHES + 1):
        if batch == BATCHES:
            project.write_sources([replace(proof.entry, columns=proof.columns) for proof in PROOFS], replicas)
        for proof in PROOFS:
            table = f"{project.schema}_raw.{proof.entry.name}"
            moment = proof.moments[batch - 1]
            raw.create(table, RAW_COLUMNS)
            raw.insert(table, [event.values for event in moment.log])
            raw.create(f"{table}_rows", proof.columns)
            raw.insert(f"{table}_rows", [tuple(row.values()) for row in moment.replica.values()])
            proof.models.run(moment, proof.columns_in(batch))
        project.dbt("run", "--exclude", *(VIEWS if batch > 1 else NOT_READ), *(SKIPPED if batch == 2 else []))
        _assert_models(project, raw, batch, f"after batch {batch}", SKIPPED if batch == 2 else [])
        if batch == FORGOTTEN_AFTER:
            _forget(project, PROOFS[2])
            _assert_models(project, raw, batch, "after keys were forgotten", SKIPPED)
    forgotten = PROOFS[2].models.forgotten
    rows = {tuple(row[name] for name in COLUMNS) for source in SOURCES for row in source.rows["orders"].values()}
    known = {row for row in rows if row[: len(KEY)] not in forgotten}
    state = {row[: len(COLUMNS)] for row in expected_state(PROOFS[2].models.table)}
    assert known < rows
    assert known <= state
    assert all(row[: len(KEY)] in forgotten for row in state - known)
    assert "where _ct_is_change or" not in project.compiled("dedup_feed__by_time"), "a run that reads everything"

    for proof in PROOFS:
        forgotten = proof.models.forgotten
        proof.begin()
        proof.models.forget(forgotten, max(forgotten.values(), default=0))
        proof.models.run(proof.moments[-1], proof.columns)
    project.dbt("run", "--full-refresh", "--exclude", *VIEWS, "--vars", "{change_tables_allow_loss: true}")
    _assert_models(project, raw, BATCHES, "after a full refresh")


def _forget(project: Consumer, proof: Proof) -> None:
    """Erase all keys of some histories; later events of them are a beginning."""
    logged = len(proof.models.deliveries)
    keys = proof.models.keys_of(range(0, 40 * SCALE, 4))
    named = [text for key in keys for text in ("--key", json.dumps(dict(zip(KEY, key, strict=True))))]
    code, said, complained = project.command("forget", proof.entry.name, *named)
    assert code == 0, complained
    (until,) = re.findall(r"forgotten up to (\d+)$", said, re.MULTILINE)
    landed = [event.record_id for event in proof.moments[FORGOTTEN_AFTER - 1].log if event.key in keys]
    assert int(until) >= max(landed)
    proof.models.forget(keys, int(until))
    assert len(proof.models.deliveries) < logged


def _runs(raw: Raw, log: str) -> dict[str, int]:
    """The runs whose times are in the sequences of a log, by these."""
    times = raw.query(f"select distinct substring(_change_seq, -40, 20) from {log}")
    return {time: number for number, (time,) in enumerate(sorted({(f"{0:020d}",), *times}))}


def _assert_models(project: Consumer, raw: Raw, batch: int, moment: str, skipped: Sequence[str] = ()) -> None:
    for proof in PROOFS:
        name, table, columns = proof.entry.name, proof.models.table, proof.columns_in(batch)
        log = f"{project.schema}.dedup_feed__{name}"
        runs = _runs(raw, log)
        found: dict[str, list[tuple[Any, ...]]] = {
            "log": [
                (*row[:5], None if row[5] is None else tuple(row[5].split(",")))
                for row in raw.query(
                    "select _change_id, _change_seq, _change_op, name, note, array_join(_present_columns, ',')"
                    f" from {log}"
                )
            ],
            "current": raw.query(f"select {', '.join(columns)} from {project.schema}.current_feed__{name}"),
            "reports": raw.query(f"select code, _change_id from {project.schema}.reported where table_name = '{name}'"),
        }
        expected = {
            "log": proof.models.log,
            "current": expected_state(table),
            "reports": {("orphan", change.change_id) for change in table.orphans}
            | {("conflicting_content", change_id) for change_id in proof.models.conflicting},
        }
        if "history" in proof.entry.models:
            found["history"] = raw.query(f"{history_query(columns)} {project.schema}.history_feed__{name}")
            expected["history"] = expected_history(table)
        for kind, rows in expected.items():
            if f"{kind}_feed__{name}" in skipped:
                continue
            told = [tuple(_by_run(value, runs) for value in row) for row in found[kind]]
            assert rows or (kind, name) == ("reports", "of_sources"), f"{kind} {name} {moment}: nothing is there"
            assert len(told) == len(set(told)), f"{kind} {name} {moment}: a row is there twice"
            missing, surplus = rows - set(told), set(told) - rows
            assert not missing | surplus, f"{kind} {name} {moment}: {_shortest(proof, missing, surplus)}"


def _by_run(value: Any, runs: dict[str, int]) -> Any:
    """A sequence with the number of the run that read in place of its time; any other value as it is."""
    if not isinstance(value, str) or value.count("/") < 2:
        return value
    *before, time, number = value.split("/")
    return "/".join([*before, f"{runs[time]:020d}", number])


def _shortest(proof: Proof, missing: set[tuple[Any, ...]], surplus: set[tuple[Any, ...]]) -> str:
    """What is wrong, and of the key with the fewest events of which something is, all that the runs found."""
    keys = {f"{event.record_id:019d}": event.key for moment in proof.moments for event in moment.log}
    wrong: dict[Key, list[str]] = {}
    for what, rows in (("missing", missing), ("surplus", surplus)):
        for row in rows:
            key = next((keys[value] for value in row[:2] if value in keys), row[:2])
            wrong.setdefault(key, []).append(f"{what} {row}")
    found = {
        key: [
            line
            for moment in proof.moments
            for line in (
                *(str(event) for event in sorted(moment.log, key=lambda event: event.record_id) if event.key == key),
                f"replica: {moment.replica.get(key)}",
            )
        ]
        for key in wrong
    }
    shortest = min(found, key=lambda key: len(found[key]))
    return "\n".join([f"wrong at {len(wrong)} keys, at {shortest}:", *sorted(wrong[shortest]), *found[shortest]])
