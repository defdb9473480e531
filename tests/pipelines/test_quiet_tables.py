"""Ten raw tables, of which a run asks in one statement which have nothing new: each log has what has landed.

Rows that land below the watermark are read by no run, and each says how many there are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.table_format import HAS_TABLES_OF_FILES

from .consumer import Consumer, Entry
from .landing import Raw
from .qlik_cases import COLUMNS, SPEC, bare
from .statements import intercepted

pytestmark = pytest.mark.slow

SCHEMA = "quiet_tables"
QUESTION, COUNTS, LOOK = "as quiet_fingerprint from", "as rows_of_1", "as _ct_last"
"""What is asked of all raw tables, then of those that count their rows, and of one."""
LANDED = {"header__change_seq": "string", "header__change_oper": "string"} | COLUMNS
RUN = ("run", "--threads", "1", "--select", "dedup_feed__*")
TABLES = [f"t{number}" for number in range(10)]
BY_FILES = TABLES[0]
COUNTING = ("t6", "t7", "t9")
"""Those whose rows Delta counts without a scan, as Iceberg does those of all."""
WITHOUT_COLUMN = {BY_FILES} if HAS_TABLES_OF_FILES else set()
"""Those whose arrival is no column."""


def _entry(name: str) -> Entry:
    arrival = "files" if name in WITHOUT_COLUMN else "landed_in"
    spec = SPEC | {"headers": ["change_seq", "change_oper"], "arrival": arrival}
    return Entry(name, spec, COLUMNS, ("stg", "dedup"))


class Lake:
    """The project, its raw tables, and what each log must hold."""

    def __init__(self, project: Consumer, raw: Raw) -> None:
        """Nothing has landed."""
        self._project, self._raw = project, raw
        self._landed = 0
        self.expected: dict[str, list[int]] = {name: [] for name in TABLES}
        self.looked: set[str] = set()
        self.said: dict[str, str] = {}
        for name in TABLES:
            columns = LANDED if name in WITHOUT_COLUMN else LANDED | {"landed_in": "int"}
            raw.create(f"{SCHEMA}_raw.{name}", columns, "delta" if name in COUNTING else "parquet")

    def land(self, name: str, id_: int, landed_in: int | None, operation: str = "I", *, is_read: bool = True) -> None:
        """Land a row; one of no known operation is rejected."""
        self._landed += 1
        row = bare(self._landed, operation, id_, "new", None)
        self._raw.insert(f"{SCHEMA}_raw.{name}", [row if name in WITHOUT_COLUMN else (*row, landed_in)])
        if operation == "I" and is_read:
            self.expected[name].append(id_)

    def purge(self, name: str, landed_in: int) -> None:
        """Delete raw rows."""
        self._raw.query(f"delete from {SCHEMA}_raw.{name} where landed_in = {landed_in}")

    def run(self, and_then: Callable[[], None] | None = None, *, until_asked: bool = False) -> set[str]:
        """Build all logs, and do something once the questions are answered. Returns the logs that were written.

        until_asked   half of the logs may ask, and ten raw tables are asked for if the first one does: where that does
                      not, the run is stopped before it looks at one or writes, and begun again
        """
        before = self._checkpoints()
        asked = 0
        after_question: list[Callable[[], None]] = []

        def look(sql: str) -> str:
            nonlocal asked
            while after_question and COUNTS not in sql:
                after_question.pop()()
            if QUESTION in sql:
                asked += 1
                after_question.extend([and_then] if and_then else [])
            elif until_asked and not asked and re.search(f"{LOOK}|(?<!show )create (or replace )?table", sql):
                raise RuntimeError("nothing was asked")
            elif LOOK in sql:
                self.looked.update(re.findall(rf"from {SCHEMA}_raw\.(\w+)", sql))
            return sql

        for _ in range(20 if until_asked else 1):
            self.looked = set()
            with intercepted(look):
                run = self._project.dbt(*RUN, must_succeed=not until_asked)
            if run.success:
                break
        assert run.success, self._project.errors(run)
        assert asked == 1 or not until_asked
        self.said = {node.node.name.removeprefix("dedup_feed__"): node.message for node in run.result.results}
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
    lake.land("t9", 2, 0)
    project.dbt("run", "--select", "stg_feed__* dedup_feed__*")
    return lake


def test_each_log_takes_in_what_has_landed_and_leaves_what_lands_after_the_question_to_the_next_run(lake: Lake) -> None:
    def land_afterwards() -> None:
        for name in ("t7", "t8", "t9"):
            lake.land(name, 5, 2)
        lake.land("t8", 6, 2, "no operation")

    lake.purge("t9", 0)
    lake.land(BY_FILES, 10, None)
    lake.land("t2", 10, 2)
    lake.land("t3", 10, 1)  # beside a row that was read
    lake.land("t4", 10, None)
    lake.land("t5", 10, 2, "no operation")
    lake.land("t6", 10, 0, is_read=False)
    assert lake.run(land_afterwards, until_asked=True) == {BY_FILES, "t2", "t3", "t4", "t5"}
    passed_over = "nothing new, 1 passed over"
    assert {name: lake.said[name] for name in COUNTING} == {"t6": passed_over, "t7": "nothing new", "t9": "nothing new"}
    assert lake.looked == {BY_FILES, "t2", "t3", "t4", "t5", "t6"}
    assert lake.run() == {"t7", "t8", "t9"}
    assert lake.said["t6"] == passed_over
    assert lake.found() == lake.expected
    assert lake.rejected() == {"t1": 1, "t5": 1, "t8": 1}
    assert lake.run() == set()
