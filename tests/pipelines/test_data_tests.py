"""The data tests that say how a feed is: each passes on a healthy table, and says of a broken one what to do.

One project, built once and tested once. Tests that fail warn only, and keep their rows, which are read here.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest

from .consumer import Consumer, Entry
from .idm_cases import EVENT
from .idm_cases import SPEC as EVENTS
from .kafka_cases import RECORD
from .kafka_cases import SPEC as KAFKA
from .landing import Expression, Raw
from .openedge_cases import HEADERS as OPENEDGE_HEADERS
from .openedge_cases import TRACKING
from .qlik_cases import seq
from .trail_cases import RECORD as TRAIL_RECORD
from .trail_cases import SPEC as TRAIL

pytestmark = pytest.mark.slow

SCHEMA = "data_tests"
RAW = f"{SCHEMA}_raw"
AUDIT = f"{SCHEMA}_dbt_test__audit"
NOW = dt.datetime.now(dt.UTC)
LONG_AGO = dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)
FAR_AHEAD = dt.datetime(2999, 1, 1, tzinfo=dt.UTC)
COLUMNS = {"id": "bigint", "name": "string", "amount": "decimal(10,2)"}
PRICED = {"id": "bigint", "it's": "string", "amount": "decimal(10,2)", "prices": "map<string,int>"}
HEADERS = {"header__change_seq": "string", "header__change_oper": "string", "header__timestamp": "timestamp"}
SPEC = {"format": "qlik_change_tables", "key": ["id"], "headers": ["change_seq", "change_oper", "timestamp"]}
OPENEDGE = {"format": "openedge_cdc", "key": ["cust_num"], "tracking": "tracking", "source_table_number": 12}
RECID = {"format": "openedge_cdc", "key_from": "recid", "policy_level": 1, "source_table_number": 12}
LANDING: Mapping[str, Any] = {"except": ["landed_at"]}
RIGHT, BROKEN, WRONG = "right", "broken", "wrong"


def _test(macro: str, name: str, config: Mapping[str, Any] | None = None, **arguments: Any) -> Any:
    """A data test of this name."""
    return {f"change_tables.{macro}": {"name": name, "arguments": arguments, "config": config or {}}}


def _broken(macro: str, name: str, config: Mapping[str, Any] | None = None, **arguments: Any) -> Any:
    """A data test that warns, and keeps its rows in a table of its name."""
    kept = {"severity": "warn", "store_failures": True}
    return _test(macro, f"{BROKEN}_{name}", kept | dict(config or {}), **arguments)


def _freshness(name: str, where: str) -> Any:
    """The test of a log that has no other changes than these."""
    return _broken("log_freshness", name, {"where": where}, at_most=24)


def _right(macro: str, name: str, **arguments: Any) -> Any:
    return _test(macro, f"{RIGHT}_{name}", **arguments)


def _wrong(macro: str, name: str, config: Mapping[str, Any] | None = None, **arguments: Any) -> Any:
    return _test(macro, f"{WRONG}_{name}", config, **arguments)


def _source(name: str) -> str:
    return f"source('feed', '{name}')"


MADE_BY = "must be put on a model of"
# name of the test -> (its macro, its model, what is said of it)
MISTAKES: Mapping[str, tuple[str, str, str]] = {
    "no_hours": ("log_freshness", "dedup_feed__orders", "`at_most` must be a number of hours above 0, got null"),
    "text_hours": ("log_freshness", "dedup_feed__orders", "`at_most` must be a number of hours above 0, got '1 day'"),
    "null_hours": ("log_freshness", "dedup_feed__orders", "`at_most` must be a number of hours above 0, got 0"),
    "true_hours": ("log_freshness", "dedup_feed__orders", "`at_most` must be a number of hours above 0, got true"),
    "log_of_staging": (
        "log_freshness",
        "stg_feed__orders",
        f"{MADE_BY} deduplicated_changes, got one of staged_changes",
    ),
    "except_text": (
        "undeclared_columns",
        "stg_feed__orders",
        "`except` must be a list of names, each once, got 'landed_at'",
    ),
    "where_of_columns": (
        "undeclared_columns",
        "stg_feed__orders",
        "takes no `where`, since it looks at the raw table, got 'id = 1'",
    ),
    "columns_of_current": (
        "undeclared_columns",
        "current_feed__orders",
        f"{MADE_BY} staged_changes or deduplicated_changes, got one of current_state",
    ),
    **{
        f"columns_of_{name}": (
            "undeclared_columns",
            f"stg_feed__{name}",
            f"the raw table {RAW}.{table}, of format '{of_format}', does not have a column for each one of the source"
            " table, so this test means nothing: take it off",
        )
        for name, table, of_format in (
            ("shop", "records", "qlik_kafka"),
            ("trail", "trail", "goldengate_trail"),
            ("events", "events", "idm_event_log"),
            ("tracked", "tracking", "openedge_cdc"),
        )
    },
    "where_of_gaps": (
        "sequence_gaps",
        "stg_feed__shop",
        "takes no `where`, since it looks at the raw table, got 'id = 1'",
    ),
    "gaps_of_log": (
        "sequence_gaps",
        "dedup_feed__orders",
        f"{MADE_BY} staged_changes, got one of deduplicated_changes",
    ),
    "gaps_of_qlik": (
        "sequence_gaps",
        "stg_feed__orders",
        "rows of format 'qlik_change_tables' have no numbers that follow one another, so this test means nothing: take"
        " it off",
    ),
    "truth_of_log": (
        "reconciled_with",
        "dedup_feed__orders",
        f"{MADE_BY} current_state, got one of deduplicated_changes",
    ),
    "no_truth": (
        "reconciled_with",
        "current_feed__orders",
        "`truth` must be a relation, as source('…', '…') or ref('…'), got null",
    ),
    "text_truth": (
        "reconciled_with",
        "current_feed__orders",
        "`truth` must be a relation, as source('…', '…') or ref('…'), got 'lake.truth'",
    ),
    "truth_not_there": (
        "reconciled_with",
        "current_feed__orders",
        f"the truth, {RAW}.not_there, must be there and have columns",
    ),
    "columns_text": (
        "reconciled_with",
        "current_feed__orders",
        "`columns` must be a list of names, each once, got 'name'",
    ),
    "column_not_declared": (
        "reconciled_with",
        "current_feed__orders",
        "`columns` must name declared columns, got 'nme'; declared: id, name, amount",
    ),
    "truth_lacks": (
        "reconciled_with",
        "current_feed__orders",
        f"the truth, {RAW}.names, must have the key and the columns that are compared, it lacks id, amount",
    ),
}

ENTRIES = [
    Entry(
        "orders",
        SPEC,
        COLUMNS,
        ("stg", "dedup", "current"),
        {
            "stg": [
                _right("undeclared_columns", "columns", **{"except": ["LANDED_AT"]}),
                _wrong("undeclared_columns", "except_text", **{**LANDING, "except": "landed_at"}),
                _wrong("undeclared_columns", "where_of_columns", {"where": "id = 1"}),
                _wrong("log_freshness", "log_of_staging", at_most=1),
                _wrong("sequence_gaps", "gaps_of_qlik"),
            ],
            "dedup": [
                _right("log_freshness", "log", at_most=24),
                _wrong("log_freshness", "no_hours"),
                _wrong("log_freshness", "text_hours", at_most="1 day"),
                _wrong("log_freshness", "null_hours", at_most=0),
                _wrong("log_freshness", "true_hours", at_most=True),
                _wrong("sequence_gaps", "gaps_of_log"),
                _wrong("reconciled_with", "truth_of_log", truth=_source("jdbc_truth")),
            ],
            "current": [
                _right("reconciled_with", "truth", truth=_source("jdbc_truth")),
                _wrong("undeclared_columns", "columns_of_current"),
                _wrong("reconciled_with", "no_truth"),
                _wrong("reconciled_with", "text_truth", truth="lake.truth"),
                _wrong("reconciled_with", "truth_not_there", truth=_source("not_there")),
                _wrong("reconciled_with", "columns_text", truth=_source("truth"), columns="name"),
                _wrong("reconciled_with", "column_not_declared", truth=_source("truth"), columns=["name", "nme"]),
                _wrong("reconciled_with", "truth_lacks", truth=_source("names"), columns=["name", "amount"]),
                _wrong("reconciled_with", "types", truth=_source("typed_truth")),
            ],
        },
    ),
    Entry(
        "stale",
        SPEC,
        PRICED,
        ("stg", "dedup", "current"),
        {
            "dedup": [
                _freshness("stale", "id < 9"),
                _freshness("ahead", "id <= 9"),
                _freshness("untimed", "id = 10"),
                _freshness("empty", "false"),
                _broken("undeclared_columns", "columns", **LANDING),
            ],
            "current": [
                _broken("reconciled_with", "truth", truth=_source("truth")),
                _broken("reconciled_with", "names", truth=_source("truth"), columns=["IT'S"]),
            ],
        },
    ),
    Entry(
        "shop",
        KAFKA | {"topic": "shop"},
        COLUMNS,
        ("stg",),
        {
            "stg": [
                _right("sequence_gaps", "shop"),
                _wrong("sequence_gaps", "where_of_gaps", {"where": "id = 1"}),
                _wrong("undeclared_columns", "columns_of_shop"),
            ]
        },
        identifier="records",
    ),
    Entry(
        "whole",
        KAFKA,
        COLUMNS,
        ("stg",),
        {"stg": [_broken("sequence_gaps", "offsets"), _broken("sequence_gaps", "first_two", {"limit": 2})]},
        identifier="records",
    ),
    Entry(
        "trail",
        TRAIL,
        COLUMNS,
        ("stg",),
        {"stg": [_broken("sequence_gaps", "files"), _wrong("undeclared_columns", "columns_of_trail")]},
    ),
    Entry(
        "events",
        EVENTS,
        COLUMNS,
        ("stg",),
        {"stg": [_broken("sequence_gaps", "events"), _wrong("undeclared_columns", "columns_of_events")]},
    ),
    Entry(
        "customers",
        OPENEDGE,
        {"cust_num": "bigint", "name": "string"},
        ("stg",),
        {"stg": [_broken("undeclared_columns", "customers")]},
    ),
    Entry(
        "tracked",
        RECID,
        {},
        ("stg",),
        {"stg": [_wrong("undeclared_columns", "columns_of_tracked")]},
        identifier="tracking",
    ),
]


def _change(number: int, name: str | None, amount: str | None, at: dt.datetime | None, *others: Any) -> list[Any]:
    """An insert of the row whose id is this number."""
    return [seq(number), "I", at, number, name, amount and Decimal(amount), *others]


def _land(raw: Raw) -> None:
    raw.create(f"{RAW}.orders", HEADERS | COLUMNS | {"landed_at": "timestamp"})
    raw.insert(f"{RAW}.orders", [_change(1, "one", "1.00", LONG_AGO, NOW), _change(2, None, "2.50", NOW, NOW)])
    undeclared = {"landed_at": "timestamp", "price": "decimal(18,4)", "on": "varchar(20)", "no name": "int"}
    raw.create(f"{RAW}.stale", HEADERS | PRICED | undeclared)
    besides = [Expression("map('a', 1, 'b', 2)"), NOW, None, None, None]
    names = {1: "equal", 2: "here", 3: "only here", 5: "rounded", 6: None, 7: None, 8: "twice", 9: "ahead", 10: "when"}
    times = {9: FAR_AHEAD, 10: None}
    raw.insert(
        f"{RAW}.stale",
        [_change(number, name, "1.51", times.get(number, LONG_AGO), *besides) for number, name in names.items()],
    )
    raw.create(f"{RAW}.records", RECORD)
    raw.create(f"{RAW}.trail", TRAIL_RECORD)
    raw.create(f"{RAW}.events", EVENT)
    # of `shop` all is there from 5 on, in three words of 64 and twice; the other topic has holes within words, at their
    # edges and over more than one
    raw.query(
        f"insert into {RAW}.records (topic, partition, offset) select 'shop', part, id from range(5, 150)"
        " lateral view explode(array(0, 0, 1)) as part union all"
        " select 'gone', 0, id from range(0, 400) where id not in (1, 63, 64) and id not between 100 and 300"
        " union all select 'gone', 1, id from range(70, 80)"
    )
    raw.query(
        f"insert into {RAW}.trail (trail_name, trail_seqno, trail_rba) values"
        " ('aa', 3, 1), ('aa', 3, 9), ('aa', 4, 1), ('aa', 7, 1), ('bb', 1, 1), ('bb', 2, 1), ('bb', null, 1)"
    )
    raw.query(f"insert into {RAW}.events (record_id) values (10), (11), (13), (null), (14)")
    customers = {"Cust-Num": "bigint", "Name": "string", "Credit-Limit": "double"}
    raw.create(f"{RAW}.customers", OPENEDGE_HEADERS | customers)
    raw.create(f"{RAW}.tracking", TRACKING)


def _land_truth(raw: Raw) -> None:
    raw.query(
        f"create table {RAW}.jdbc_truth using jdbc options (dbtable 'orders',"
        " url 'jdbc:derby:memory:truth;create=true', driver 'org.apache.derby.iapi.jdbc.AutoloadedDriver')"
        " as select cast(id as decimal(19,0)) as id, name, amount, 'more' as not_declared"
        " from values (1L, 'one', 1.00), (2L, null, 2.50) as truth (id, name, amount)"
    )
    raw.create(f"{RAW}.truth", {"id": "string", "amount": "string", "prices": "map<string,bigint>", "it's": "string"})
    prices = Expression("map('b', 2L, 'a', 1L)")
    texts = {1: "equal", 2: "there", 4: "only there", 5: "rounded", 6: None, 7: "name", 8: "twice", 9: "ahead"}
    rows = [*texts.items(), (8, "twice"), (10, "when")]
    raw.insert(f"{RAW}.truth", [[str(id_), "1.505" if id_ == 5 else "1.51", prices, text] for id_, text in rows])
    raw.create(f"{RAW}.names", {"name": "string"})
    raw.create(f"{RAW}.typed_truth", {"id": "bigint", "amount": "binary"})


class Results:
    """What one run of all data tests says, and the rows that they have kept."""

    def __init__(self, project: Consumer, raw: Raw) -> None:
        self._raw = raw
        raw.query(f"drop schema if exists {AUDIT} cascade")
        project.write(ENTRIES, ["tracking", "jdbc_truth", "truth", "names", "typed_truth", "not_there"])
        _land(raw)
        _land_truth(raw)
        models = [f"{kind}_feed__{entry.name}" for entry in ENTRIES if "dedup" in entry.models for kind in entry.models]
        project.dbt("run", "--select", *models)  # what looks at raw tables alone needs no model that is built
        tested = project.dbt("test", must_succeed=False)
        self.by_name = {node.node.name: node for node in getattr(tested.result, "results", [])}
        assert self.by_name, project.errors(tested)

    def rows(self, name: str, columns: str) -> list[tuple[Any, ...]]:
        """The rows of a test that warns, each of which names its table and what to do."""
        assert self.by_name[f"{BROKEN}_{name}"].status == "warn", self.by_name[f"{BROKEN}_{name}"].message
        rows = self._raw.query(f"select source_name, table_name, what_to_do, {columns} from {AUDIT}.{BROKEN}_{name}")
        assert len(rows) == self.by_name[f"{BROKEN}_{name}"].failures
        assert {row[:1] for row in rows} == {("feed",)}
        return [row[1:] for row in rows]


@pytest.fixture(scope="module")
def results(consumer: Callable[[str], Consumer], raw: Raw) -> Results:
    """All data tests, run once."""
    return Results(consumer(SCHEMA), raw)


def test_a_healthy_feed_passes_every_data_test(results: Results) -> None:
    said = {name: node.message for name, node in results.by_name.items() if name.startswith(f"{RIGHT}_")}
    assert said == dict.fromkeys(f"{RIGHT}_{name}" for name in ("columns", "log", "truth", "shop"))


def test_a_test_that_is_put_on_wrongly_says_so_in_one_line(results: Results) -> None:
    said = {name: node.message for name, node in results.by_name.items() if name.startswith(f"{WRONG}_")}
    assert len(said) == len(MISTAKES) + 1
    for name, (macro, model, mistake) in MISTAKES.items():
        lines = said[f"{WRONG}_{name}"].splitlines()
        assert f"change_tables: data test '{macro}' on '{model}': {mistake}" in map(str.strip, lines), lines
    assert (
        f"change_tables: source 'feed.orders': columns of {RAW}.typed_truth must land in types that the declared ones"
        " are read from (see docs/landed_types.md): amount is decimal(10, 2), and lands as binary"
    ) in said[f"{WRONG}_types"]


@pytest.mark.parametrize(
    ("name", "newest", "remedy"),
    [
        ("stale", LONG_AGO, "nothing newer is in the log: see whether the source has changed since"),
        ("ahead", FAR_AHEAD, "the newest change is ahead of now: its time is not UTC, or a clock is wrong"),
        ("untimed", None, "no change of the log has a time, so its age is not known: take this test off"),
        ("empty", None, "the log is empty: see whether raw rows have landed, then build"),
    ],
)
def test_a_log_without_a_recent_change_fails_with_one_row(
    results: Results, name: str, newest: dt.datetime | None, remedy: str
) -> None:
    ((table, what_to_do, newest_change, age),) = results.rows(name, "unix_seconds(newest_change), age_in_hours")
    assert (table, newest_change) == ("stale", newest and int(newest.timestamp()))
    assert what_to_do.startswith(remedy)
    if newest:
        assert abs(float(age) - (NOW - newest) / dt.timedelta(hours=1)) < 1
    else:
        assert age is None


def test_each_column_that_has_landed_and_is_not_declared_fails_with_the_line_to_paste(results: Results) -> None:
    rows = results.rows("columns", "column_name, data_type, yaml")
    assert [row[2:] for row in rows] == [
        ("price", "decimal(18,4)", '- {name: price, data_type: "decimal(18,4)"}'),
        ("on", "varchar(20)", '- {name: "on", data_type: varchar(20)}'),
        ("no name", "int", "- {name: no name, data_type: int}"),
    ]
    assert {row[1] for row in rows} == {
        "add the line of `yaml` to the columns of source feed.stale where the source table has the column, then build;"
        " or name the column in `except`"
    }
    assert [row[2:] for row in results.rows("customers", "column_name, data_type, yaml")] == [
        ("Credit-Limit", "double", "- {name: credit_limit, data_type: double}")
    ]


def test_each_hole_fails_with_its_ends_and_what_is_purged_is_none(results: Results) -> None:
    holes = "first_missing, last_missing, missing"
    offsets = results.rows("offsets", f"topic, partition, {holes}")
    assert [row[2:] for row in offsets] == [
        ("gone", 0, 1, 1, 1),
        ("gone", 0, 63, 64, 2),
        ("gone", 0, 100, 300, 201),
    ]
    assert {row[0] for row in offsets} == {"whole"}
    assert results.rows("first_two", f"topic, partition, {holes}") == offsets[:2]
    assert [row[2:] for row in results.rows("files", f"trail_name, {holes}")] == [("aa", 5, 6, 2)]
    assert [row[2:] for row in results.rows("events", holes)] == [(12, 12, 1)]
    assert [results.rows(name, "1")[0][1].partition(":")[0] for name in ("offsets", "files", "events")] == [
        "look for these offsets in the topic",
        "files of the trail have not landed",
        "look for these record ids in the source",
    ]


def test_each_key_whose_row_is_not_that_of_the_truth_fails(results: Results) -> None:
    found = {
        (json.loads(key)["id"], what): json.loads(columns)
        for _, _, key, what, columns in results.rows("truth", "key, `is`, differing_columns")
    }
    assert found == {
        (2, "different"): ["it's"],
        (3, "missing there"): [],
        (4, "missing here"): [],
        (5, "different"): ["amount"],  # 1.505 is no decimal(10,2): it is not taken as 1.51
        (7, "different"): ["it's"],
        (8, "more than once"): [],
    }
    assert {row[2:] for row in results.rows("names", "`is`, key, to_json(differing_columns)")} == {
        (what, json.dumps({"id": number}, separators=(",", ":")), json.dumps(columns))
        for (number, what), columns in found.items()
        if number != 5
    }
