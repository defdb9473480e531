"""`consumer_project/`: somebody else's project gets the same behaviour, and no model of ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
import yaml
from dbt.artifacts.schemas.run import RunExecutionResult
from dbt.cli.main import dbtRunner

from change_tables.server.local_server import LocalServer
from demo.landing import literal

from . import consumer_project
from .landing import Raw

SOURCE, STAGING, LOG = "source('shop', 'orders')", "ref('stg_shop__orders')", "ref('dedup_shop__orders')"
ACCOUNTED = "raw_rows_accounted_for_stg_shop__orders"
COUNTED, CODES, CHANGES = "counted_alone", "codes_alone", "changes_alone"
STANDS_ON: Mapping[str, list[Any]] = {
    "stg_shop__orders": [
        # as the tests were declared before one of them proved what all of them prove
        {"change_tables.raw_rows_accounted_for": {"name": COUNTED, "arguments": {"raw": SOURCE}}},
        {"change_tables.reason_codes_known": {"name": CODES}},
        # the model is beside itself, as if two entries shared a raw table, and so is the model of what none claims
        {
            "change_tables.raw_rows_accounted_for": {
                "name": "shared",
                "arguments": {
                    "raw": [SOURCE, SOURCE, "ref('rejected_changes')"],
                    "log": LOG,
                    "beside": [{"staging": STAGING, "log": LOG}, "ref('rejected_changes')"],
                },
            }
        },
        {
            "change_tables.raw_rows_accounted_for": {
                "name": "counted_in_part",
                "arguments": {"raw": "ref('rejected_changes')", "log": LOG, "counted": "_status = 'rejected'"},
            }
        },
    ],
    "dedup_shop__orders": [
        {"change_tables.accepted_changes_once": {"name": CHANGES, "arguments": {"staging": STAGING}}}
    ],
}
"""Data tests that the project has in this test only."""


@pytest.fixture(scope="module")
def built(server: LocalServer, raw: Raw, tmp_path_factory: pytest.TempPathFactory) -> RunExecutionResult:
    """The result of `dbt build`, which passes."""
    project = consumer_project.copied(tmp_path_factory.mktemp("integration"))
    described = yaml.safe_load((project / "models/shop__models.yml").read_text())
    models = {model["name"]: model for model in described["models"]}
    for name, tests in STANDS_ON.items():
        if name not in models:
            described["models"].append(models.setdefault(name, {"name": name}))
        models[name].setdefault("data_tests", []).extend(tests)
    (project / "models/shop__models.yml").write_text(yaml.safe_dump(described))
    consumer_project.land(raw)
    folders = ["--project-dir", str(project), "--profiles-dir", str(project)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHANGE_TABLES_HOST", server.host)
        patch.setenv("CHANGE_TABLES_PORT", str(server.port))
        assert dbtRunner().invoke(["--quiet", "deps", *folders]).success
        result = dbtRunner().invoke(["--quiet", "build", *folders])
    assert result.success, [(node.node.name, node.message) for node in getattr(result.result, "results", [])]
    assert isinstance(result.result, RunExecutionResult)
    return result.result


def test_a_project_that_installs_the_package_gets_its_behaviour_and_none_of_its_models(
    built: RunExecutionResult, raw: Raw
) -> None:
    assert {node.node.name for node in built.results if node.node.resource_type in ("model", "seed")} == {
        "stg_shop__orders",
        "dedup_shop__orders",
        "current_shop__orders",
        "stg_shop__stock",
        "dedup_shop__stock",
        "current_shop__stock",
        "rejected_changes",
        "reported_changes",
        "reason_codes",
        "goldengate_io_types",
    }
    assert raw.query("select order_id, status, _change_op from consumer_project.current_shop__orders") == [
        (7, "paid", "update")
    ]
    assert raw.query("select reason_code from consumer_project.rejected_changes") == [("unknown_operation",)]


def test_a_project_may_have_a_format_of_its_own(built: RunExecutionResult, raw: Raw) -> None:
    assert built.results
    assert raw.query("select item, pieces, _change_op from consumer_project.current_shop__stock") == [
        ("bolt", 7, "update")
    ]
    assert sorted(raw.query("select _change_seq, _change_op from consumer_project.dedup_shop__stock")) == [
        (f"{number:019d}", operation)
        for number, operation in (
            (1, "insert"),
            (2, "update"),
            (3, "insert"),
            (4, "delete"),
            (9, "insert"),
            (10, "delete"),
        )
    ]
    rejected = "select _status_reason from consumer_project.stg_shop__stock where _status = 'rejected'"
    assert sorted(reason for (reason,) in raw.query(rejected)) == [
        "change_seq_malformed: '-6' is not a whole number of at most 19 digits",
        "change_seq_missing: audit_id is null",
        "key_missing: every key column is null: item",
        "unknown_operation: operation is 'X'",
        "value_does_not_fit: column pieces: 'many' is not int",
    ]


# -- what the data tests prove -----------------------------------------------------------------------------------------


UNKNOWN = "unknown_operation: 'X'"


@dataclass(frozen=True)
class Table:
    """What the relations of a table hold: staged rows (status, reason, raw row, change), logged changes, raw rows."""

    staged: tuple[tuple[str | None, ...], ...] = (
        ("accepted", None, None, "one"),
        ("accepted", None, None, "two"),
        ("accepted", None, None, "two"),
        ("merged", "before_image: of two", "{}", None),
        ("rejected", UNKNOWN, "{}", None),
    )
    logged: tuple[str | None, ...] = ("one", "two", "long since purged")
    raw_rows: int = 5

    def but(self, place: int, row: tuple[str | None, ...]) -> Table:
        """The same with another staged row in this place."""
        return replace(self, staged=(*self.staged[:place], row, *self.staged[place + 1 :]))

    def relations(self) -> dict[str, str]:
        """SQL in place of each relation."""
        return {
            "consumer_project.stg_shop__orders": _rows("_status, _status_reason, _raw_row, _change_id", self.staged),
            "consumer_project.dedup_shop__orders": _rows("_change_id", [(change,) for change in self.logged]),
            "consumer_project_raw.orders__ct": f"(select * from range({self.raw_rows}))",
            "consumer_project.rejected_changes": "(select * from range(1))",
        }


def _rows(columns: str, rows: Sequence[Sequence[str | None]]) -> str:
    typed = ", ".join(f"cast({name} as string) as {name}" for name in columns.split(", "))
    values = ", ".join(f"({', '.join(literal(value) for value in row)})" for row in rows)
    return f"(select {typed} from values {values} as given ({columns}))"


GOOD = Table()
RIGHT: Mapping[str, Any] = {
    "raw_rows": 5,
    "staged_rows": 5,
    "misjudged_rows": 0,
    "unknown_codes": "",
    "changes_not_in_log": 0,
    "first_not_in_log._change_id": None,
    "changes_twice_in_log": 0,
    "first_twice_in_log._change_id": None,
}
WRONG: Mapping[str, tuple[str, Table, Mapping[str, Any]]] = {
    "a raw row is lost": (COUNTED, replace(GOOD, raw_rows=6), {"raw_rows": 6}),
    "a raw row is staged twice": (COUNTED, replace(GOOD, staged=(*GOOD.staged, GOOD.staged[0])), {"staged_rows": 6}),
    "a row has no status": (COUNTED, GOOD.but(4, (None, UNKNOWN, "{}", None)), {"misjudged_rows": 1}),
    "a status is none of the five": (
        COUNTED,
        GOOD.but(4, ("lost", UNKNOWN, "{}", None)),
        {"misjudged_rows": 1, "unknown_codes": "lost: unknown_operation"},
    ),
    "an accepted row has a reason": (COUNTED, GOOD.but(0, ("accepted", UNKNOWN, None, "one")), {"misjudged_rows": 1}),
    "an accepted row has its raw row": (COUNTED, GOOD.but(0, ("accepted", None, "{}", "one")), {"misjudged_rows": 1}),
    "a rejected row has no reason": (COUNTED, GOOD.but(4, ("rejected", None, "{}", None)), {"misjudged_rows": 1}),
    "a rejected row has no raw row": (COUNTED, GOOD.but(4, ("rejected", UNKNOWN, None, None)), {"misjudged_rows": 1}),
    "a code is unknown": (
        CODES,
        GOOD.but(4, ("rejected", "no_such: x", "{}", None)),
        {"unknown_codes": "rejected: no_such"},
    ),
    "a code is of another status": (
        CODES,
        GOOD.but(4, ("waiting", UNKNOWN, "{}", None)),
        {"unknown_codes": "waiting: unknown_operation"},
    ),
    "the log lacks changes": (
        CHANGES,
        replace(GOOD, logged=("long since purged",)),
        {"changes_not_in_log": 2, "first_not_in_log._change_id": "one"},
    ),
    "a change is in the log twice": (
        CHANGES,
        replace(GOOD, logged=(*GOOD.logged, "one", "one")),
        {"changes_twice_in_log": 1, "first_twice_in_log._change_id": "one"},
    ),
    "an accepted row has no change": (
        CHANGES,
        replace(GOOD.but(0, ("accepted", None, None, None)), logged=("one", "two", None)),
        {"misjudged_rows": 1},
    ),
}
"""What can be wrong: which of the three single tests fails, the table, and what the test of all of it says."""


def _next(given: Iterator[str], last: str, _place: re.Match[str]) -> str:
    return next(given, last)


def _found(built: RunExecutionResult, raw: Raw, test: str, *tables: Table, told: Iterable[str] = RIGHT) -> list[Any]:
    """What a data test finds where the relations that it names, in turn, are those of these tables."""
    (sql,) = (node.node.compiled_code for node in built.results if test in node.node.name)
    for name in tables[0].relations():
        given = iter(table.relations()[name] for table in tables)
        sql = re.sub(rf"\b{name}\b", partial(_next, given, tables[-1].relations()[name]), sql)
    return raw.query(f"select {', '.join(told)} from ({sql})")


def test_the_data_tests_pass_where_nothing_is_wrong(built: RunExecutionResult, raw: Raw) -> None:
    for test in (ACCOUNTED, "shared", COUNTED, CODES, CHANGES):
        assert _found(built, raw, test, GOOD, told="*") == []


@pytest.mark.parametrize("wrong", WRONG)
def test_one_data_test_fails_for_all_that_can_be_wrong_and_says_what(
    built: RunExecutionResult, raw: Raw, wrong: str
) -> None:
    alone, table, told = WRONG[wrong]
    expected = {**RIGHT, **told}
    assert _found(built, raw, ACCOUNTED, table) == [tuple(expected.values())]
    # of entries that share a raw table each is checked, and compared with its own log
    expected |= {name: expected[name] + 6 for name in ("raw_rows", "staged_rows")}
    assert _found(built, raw, "shared", GOOD, table) == [tuple(expected.values())]
    assert _found(built, raw, alone, table, told="*") != []
