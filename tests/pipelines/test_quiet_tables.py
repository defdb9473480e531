"""Ten raw tables, of which a run asks in one statement which have nothing new: each log has what has landed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from .consumer import Consumer, Entry
from .landing import Raw
from .qlik_cases import COLUMNS, SPEC, bare
from .statements import intercepted

SCHEMA = "quiet_tables"
QUESTION = "as quiet_fingerprint from"
LANDED = {"header__change_seq": "string", "header__change_oper": "string"} | COLUMNS
TABLES = [f"t{number}" for number in range(10)]
BY_FILES = TABLES[0]


def _entry(name: str) -> Entry:
    arrival = "files" if name == BY_FILES else "landed_in"
    spec = SPEC | {"headers": ["change_seq", "change_oper"], "arrival": arrival}
    return Entry(name, spec, COLUMNS, ("stg", "dedup"))


class Lake:
    """The project, its raw tables, and what each log must hold."""

    def __init__(self, project: Consumer, raw: Raw) -> None:
        """Nothing has landed."""
        self._project, self._raw = project, raw
        self._landed = 0
        self.expected: dict[str, list[int]] = {name: [] for name in TABLES}
        self.asked = 0
        for name in TABLES:
            columns = LANDED if name == BY_FILES else LANDED | {"landed_in": "int"}
            raw.create(f"{SCHEMA}_raw.{name}", columns, "parquet")

    def land(self, name: str, id_: int, landed_in: int | None, operation: str = "I") -> None:
        """Land a row; one of no known operation is rejected."""
        self._landed += 1
        row = bare(self._landed, operation, id_, "new", None)
        self._raw.insert(f"{SCHEMA}_raw.{name}", [row if name == BY_FILES else (*row, landed_in)])
        if operation == "I":
            self.expected[name].append(id_)

    def run(self, and_then: Callable[[], None] | None = None) -> set[str]:
        """Build all logs, and do something once the question is answered. Returns the logs that were written."""
        before = self._checkpoints()
        after_question: list[Callable[[], None]] = []

        def look(sql: str) -> str:
            while after_question:
                after_question.pop()()
            if QUESTION in sql:
                self.asked += 1
                after_question.extend([and_then] if and_then else [])
            return sql

        with intercepted(look):
            self._project.dbt("run", "--threads", "1", "--select", "dedup_feed__*")
        return {name for name, found in self._checkpoints().items() if found != before[name]}

    def _checkpoints(self) -> dict[str, str]:
        return dict(self._of_each("to_json(sort_array(collect_list(_checkpoint)))", "__state"))

    def found(self) -> dict[str, list[int]]:
        """The ids that each log has."""
        return {name: json.loads(ids) for name, ids in self._of_each("to_json(sort_array(collect_list(id)))")}

    def rejected(self) -> dict[str, int]:
        """The tables of which rows are rejected, and how many."""
        counts = self._of_each("count_if(_status = 'rejected')", "__quarantine")
        return {name: count for name, count in counts if count}

    def _of_each(self, expression: str, suffix: str = "") -> list[tuple[Any, ...]]:
        asked = [f"select '{name}', {expression} from {SCHEMA}.dedup_feed__{name}{suffix}" for name in TABLES]
        return self._raw.query(" union all ".join(asked))


@pytest.fixture(scope="module")
def lake(consumer: Callable[[str], Consumer], raw: Raw) -> Lake:
    """All logs are built."""
    project = consumer(SCHEMA)
    project.write([_entry(name) for name in TABLES])
    lake = Lake(project, raw)
    for name in TABLES:
        lake.land(name, 1, 1)
    lake.land("t1", 2, 1, "no operation")
    project.dbt("seed", "--select", "goldengate_io_types")
    project.dbt("run", "--select", "stg_feed__* dedup_feed__*")
    return lake


def test_each_log_takes_in_what_has_landed_and_leaves_what_lands_after_the_question_to_the_next_run(lake: Lake) -> None:
    def land_afterwards() -> None:
        for name in ("t7", "t8", "t9"):
            lake.land(name, 5, 2)
        lake.land("t8", 6, 2, "no operation")

    # half of the logs may ask, and ten raw tables are asked for if the first one does
    for place in range(20):
        lake.land(BY_FILES, 10 + place, None)
        lake.land("t2", 10 + place, 2 + place)
        lake.land("t3", 10 + place, 1)  # beside a row that was read
        lake.land("t4", 10 + place, None)
        lake.land("t5", 10 + place, 2 + place, "no operation")
        assert lake.run(land_afterwards) == {BY_FILES, "t2", "t3", "t4", "t5"}
        if lake.asked:
            break
    assert lake.asked == 1
    assert lake.run() == {"t7", "t8", "t9"}
    assert lake.found() == lake.expected
    assert lake.rejected() == {"t1": 1, "t5": place + 1, "t8": 1}
    assert lake.run() == set()
