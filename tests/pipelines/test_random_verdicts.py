"""Raw rows of all kinds, at random: after every run the log keeps what staging rejects and has waiting, and no more."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from .consumer import Consumer, Entry
from .kinds import assert_met
from .landing import Raw
from .qlik_cases import TWO_HEADERS, seq

pytestmark = pytest.mark.slow

SCHEMA = "random_verdicts"
BATCHES = 4
ROWS = 60
COLUMNS = {"id": "bigint", "name": "string"}
LANDED = {"header__change_seq": "string", "header__change_oper": "string", "id": "string", "name": "string"}
ENTRIES = [
    Entry("arriving", TWO_HEADERS | {"arrival": "landed"}, COLUMNS, ("stg", "dedup")),
    Entry("read_back", TWO_HEADERS | {"arrival": "landed", "lookback": 1}, COLUMNS, ("stg", "dedup")),
    Entry("compared", TWO_HEADERS | {"images": "partial"}, COLUMNS, ("stg", "dedup")),
]
KEPT = (
    "select _status, substring_index(_status_reason, ':', 1), sum(_equal_rows) from {}.dedup_feed__{}__quarantine"
    " where _healed_at is null group by 1, 2"
)
MET = (
    "select concat(substring_index(_status_reason, ':', 1), if(_healed_at is null, '', ', then accepted')) as kind,"
    " count(*) from {}.dedup_feed__{}__quarantine group by kind"
)
STAGED = (
    "select _status, substring_index(_status_reason, ':', 1), count(*) from {}.stg_feed__{}"
    " where _status in ('rejected', 'waiting') group by 1, 2"
)


def _row(chance: random.Random) -> list[Any]:
    """A raw row; one in two has something wrong. Halves of updates meet by their sequence, also in another batch."""
    number = chance.randrange(1, 80)
    sequence = chance.choices([seq(number), None, "short"], [20, 1, 1])[0]
    oper = chance.choices(["I", "U", "B", "D", "?", None], [3, 4, 4, 1, 1, 1])[0]
    id_ = chance.choices([str(number % 7), None, "x"], [8, 1, 1])[0]
    return [sequence, oper, id_, chance.choice(["a", "b", None])]


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer], raw: Raw) -> Consumer:
    """Tables of the same rows, whose logs read what has landed since, some of it again, and everything."""
    project = consumer(SCHEMA)
    project.write(ENTRIES)
    for entry in ENTRIES:
        raw.create(f"{SCHEMA}_raw.{entry.name}", LANDED | {"landed": "int"}, "delta")
    return project


def _assert_verdicts(raw: Raw, name: str) -> None:
    kept = raw.query(KEPT.format(SCHEMA, name))
    assert set(kept) == set(raw.query(STAGED.format(SCHEMA, name)))
    ((text,),) = raw.query(
        "select max_by(_checkpoint, get_json_object(_checkpoint, '$.facts.batch'))"
        f" from {SCHEMA}.dedup_feed__{name}__state where startswith(_checkpoint, '{{')"
    )
    checkpoint = json.loads(text)
    for status in ("rejected", "waiting"):
        assert checkpoint["quarantined"][status] == sum(rows for of, _, rows in kept if of == status)
    below = "true" if name == "compared" else f"landed < {checkpoint['watermark'][0]['position'][0]}"
    assert [(checkpoint["held_changes"],)] == raw.query(f"select count(*) from {SCHEMA}.dedup_feed__{name}")
    assert [(checkpoint["watermark_rows"],)] == raw.query(f"select count(*) from {SCHEMA}_raw.{name} where {below}")


def test_a_log_keeps_what_staging_rejects_and_has_waiting_after_every_run(project: Consumer, raw: Raw) -> None:
    chance = random.Random(20261124)
    for batch in range(1, BATCHES + 1):
        rows = [_row(chance) for _ in range(ROWS)]
        rows += chance.sample(rows, 5)
        for entry in ENTRIES:
            raw.insert(f"{SCHEMA}_raw.{entry.name}", [[*row, batch] for row in rows])
        project.dbt("run", "--select", "stg_*" if batch == 1 else "dedup_*", "dedup_*")
        for entry in ENTRIES:
            _assert_verdicts(raw, entry.name)
    for entry in ENTRIES:
        assert_met(f"verdicts {entry.name}", Counter(dict(raw.query(MET.format(SCHEMA, entry.name)))))
    for options in (["--vars", "{change_tables_rescan: true}"], ["--full-refresh"]):
        project.dbt("run", "--select", "dedup_*", *options)
        for entry in ENTRIES:
            _assert_verdicts(raw, entry.name)
