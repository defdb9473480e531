"""A log keeps rejected and waiting raw rows: once each, until they heal, and after the raw rows are gone."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pyhive.exc import OperationalError

from demo.writers.avro import envelope

from . import kafka_cases, openedge_cases, preset_cases
from .consumer import Consumer, Entry
from .landing import Raw
from .qlik_cases import TWO_HEADERS, bare, seq
from .statements import before, intercepted

pytestmark = pytest.mark.slow

SCHEMA = "kept_rows"
COLUMNS = {"id": "bigint", "name": "string"}
LANDED = {"header__change_seq": "string", "header__change_oper": "string"} | COLUMNS | {"extra": "string"}
MODELS = ("stg", "dedup")


def _data_test(name: str, as_: str, **arguments: Any) -> dict[str, Any]:
    return {f"change_tables.{name}": {"name": as_, "arguments": arguments}}


# four of five raw rows that are no before image are rejected
DATA_TESTS = [
    _data_test("rejected_share", "share_is_allowed", above=0.8),
    _data_test("rejected_share", "share_is_too_high", above=0.79),
    _data_test("rejected_share", "share_of_an_hour", above=0.79, hours=1),
    _data_test("rejected_share", "share_of_no_run", above=0.79, hours=0.0000001),
    _data_test("rejected_share", "share_of_text", above="1%"),
    _data_test("rejected_share", "nothing_is_rejected", above=0),
    _data_test("no_reported_changes", "nothing_is_reported"),
    _data_test("no_reported_changes", "nothing_is_reported_by_folds", folds=True),
    _data_test("no_reported_changes", "reported_by_text", folds="all"),
    _data_test("waiting_age", "age_is_allowed", at_most=1),
    _data_test("waiting_age", "age_is_too_high", at_most=0.0000001),
    _data_test("waiting_age", "age_of_text", at_most="1 day"),
]
ENTRIES = [
    Entry("arriving", TWO_HEADERS | {"arrival": "landed"}, COLUMNS, MODELS, {"dedup": DATA_TESTS}),
    Entry("compared", TWO_HEADERS, COLUMNS, MODELS),
    Entry("loaded", TWO_HEADERS | {"arrival": "landed", "snapshot": "load", "snapshot_seq": seq(1)}, COLUMNS, MODELS),
    Entry("staged", TWO_HEADERS, COLUMNS, ("stg",)),
]
EXACT = Entry("exact", TWO_HEADERS, {"id": "bigint", "amount": "decimal(38,10)"}, MODELS)
AMOUNTS = ["1234567890123456789012345678.0123456789", "1234567890123456789012345678.0123456788"]
"""Of more digits than a double keeps."""
PASSED = {"arrival": "landed", "waiting_days": 0}
REGISTERED = preset_cases.GOLDENGATE | {"registry": "registry", "waiting_days": 0}
PASSING = [
    Entry("passed", TWO_HEADERS | PASSED, COLUMNS, MODELS),
    Entry("tracked", openedge_cases.SPEC | PASSED | {"source_table_number": 1}, openedge_cases.COLUMNS, MODELS),
    Entry("avro", kafka_cases.SPEC | {"serialization": "avro", "waiting_days": 0}, kafka_cases.COLUMNS, MODELS),
    *(
        Entry(name, REGISTERED | {"table": table}, COLUMNS, MODELS, identifier="registered")
        for name, table in {"registered": "APP.ORDERS", "others": "APP.OTHERS"}.items()
    ),
]
"""The tables whose waiting rows are passed by the first run that meets them again."""
WAITING = [entry.name for entry in PASSING]
ARRIVING = ("arriving", "loaded")
"""The tables whose rows have an arrival."""
OF_FIRST = ("arriving", "compared", "loaded")
LOGS_OF_FIRST = [f"dedup_*{name}" for name in OF_FIRST]
"""Of the tables whose first run has rows: the others have none yet."""
UNKNOWN = bare(10, "Z", 1, "unknown", None)
TWICE = ["short", "I", 2, "twice", None]
WITHOUT_SEQUENCE = [None, "I", 3, "no sequence", None]
BEFORE = bare(20, "B", 1, "before", None)
FIRST = [bare(5, "I", 1, "a", None), UNKNOWN, TWICE, TWICE, WITHOUT_SEQUENCE, BEFORE]
KEPT = {
    ("rejected", "unknown_operation", 1),
    ("rejected", "change_seq_malformed", 2),
    ("rejected", "change_seq_missing", 1),
    ("waiting", "after_image_missing", 1),
}
REJECTED = {row for row in KEPT if row[0] == "rejected"}


class Kept:
    """The project of these tests, and what its logs keep."""

    def __init__(self, project: Consumer, raw: Raw) -> None:
        self.project = project
        self.raw = raw
        self.later: dict[str, list[None]] = {}
        """Values of columns that raw tables have got meanwhile."""

    def land(self, name: str, rows: list[list[Any]], landed: int) -> None:
        """Land rows; of the table that has arrivals, with this one."""
        last = [landed] if name in ARRIVING else []
        self.raw.insert(f"{SCHEMA}_raw.{name}", [[*row, *last, *self.later.get(name, [])] for row in rows])

    def delete(self, name: str, condition: str) -> None:
        """Purge raw rows."""
        self.raw.query(f"delete from {SCHEMA}_raw.{name} where {condition}")

    def of(self, name: str, healed: bool = False) -> set[tuple[Any, ...]]:
        """Status, code and number of the kept rows of a log, each of which is there once."""
        rows = self.raw.query(
            f"select {self.raw.row_id}, _status, substring_index(_status_reason, ':', 1), _equal_rows"
            f" from {SCHEMA}.dedup_feed__{name}__quarantine"
            f" where _healed_at is {'not ' if healed else ''}null"
        )
        assert len({row_id for row_id, *_ in rows}) == len(rows)
        return {tuple(row[1:]) for row in rows}

    def checkpoint(self, name: str) -> Any:
        """The last checkpoint of a log."""
        ((text,),) = self.raw.query(
            "select max_by(_checkpoint, get_json_object(_checkpoint, '$.batch'))"
            f" from {SCHEMA}.dedup_feed__{name}__state where startswith(_checkpoint, '{{')"
        )
        return json.loads(text)

    def counted(self, name: str) -> dict[str, int]:
        """How many raw rows the log's checkpoint says are quarantined."""
        kept = self.checkpoint(name)["quarantined"]
        return {status: kept[status] for status in ("rejected", "waiting")}

    def watermark(self, name: str) -> int:
        """Up to which arrival raw rows have been read for good."""
        ((place,),) = [[place["position"][-1]] for place in self.checkpoint(name)["watermark"]]
        return int(place)

    def changes(self, name: str) -> list[tuple[Any, ...]]:
        """The operations of a log, with the ids, and those before a move."""
        return self.raw.query(
            f"select _change_op, id, _key_before.id from {SCHEMA}.dedup_feed__{name} order by _change_seq"
        )

    def listed(self, name: str, healed: bool = False) -> list[tuple[Any, ...]]:
        """Code and number of what rejected_changes lists of a table, and the text of its raw row."""
        return self.raw.query(
            f"select reason_code, raw_rows, raw_row from {SCHEMA}.rejected"
            f" where table_name = '{name}' and healed_at is {'not ' if healed else ''}null order by 1"
        )

    def acknowledged(self, name: str) -> set[tuple[Any, ...]]:
        """Codes and numbers of open rows that rejected_changes lists of a table, and whether they are acknowledged."""
        return set(
            self.raw.query(
                f"select reason_code, sum(raw_rows), acknowledged_at is not null from {SCHEMA}.rejected"
                f" where table_name = '{name}' and healed_at is null group by all"
            )
        )

    def acknowledge(self, *arguments: str) -> tuple[int, str]:
        """What `change-tables acknowledge` ends with and says."""
        code, said, complained = self.project.command("acknowledge", *arguments)
        return code, said + complained

    def tested(self, *names: str) -> dict[str, str]:
        """The status of these data tests, whose rows are stored."""
        result = self.project.dbt("test", "--store-failures", "--select", *names, must_succeed=False)
        return {node.node.name: node.status.value for node in result.result.results if node.node.name in names}

    def version(self, name: str) -> int:
        """The last commit to a log."""
        return self.raw.version(f"{SCHEMA}.dedup_feed__{name}__state")

    def run(self, *options: str, must_succeed: bool = True) -> str:
        """Build the logs; what went wrong."""
        result = self.project.dbt("run", *options, must_succeed=must_succeed)
        return self.project.errors(result)


@pytest.fixture(scope="module")
def kept(consumer: Callable[[str], Consumer], raw: Raw) -> Kept:
    """Four tables of the same rows, after their first run."""
    project = consumer(SCHEMA)
    project.write([*ENTRIES, *PASSING, EXACT], further_sources=["load", "tracking", "registry"])
    kept = Kept(project, raw)
    for entry in ENTRIES:
        raw.create(
            f"{SCHEMA}_raw.{entry.name}", LANDED | ({"landed": "int"} if entry.name in ARRIVING else {}), "delta"
        )
        kept.land(entry.name, FIRST, 1)
    headers = {name: told for name, told in LANDED.items() if name.startswith("header__")}
    raw.create(f"{SCHEMA}_raw.exact", headers | dict(EXACT.columns), "delta")
    raw.insert(f"{SCHEMA}_raw.exact", [bare(10, "Z", 1, Decimal(amount)) for amount in [*AMOUNTS, AMOUNTS[0]]])
    raw.create(f"{SCHEMA}_raw.load", COLUMNS, "delta")
    raw.insert(f"{SCHEMA}_raw.load", [[1, "loaded"], [7, "seventh"], [8, "eighth"], [None, "no key"]])
    raw.create(f"{SCHEMA}_raw.passed", LANDED | {"landed": "int"}, "delta")
    raw.create(f"{SCHEMA}_raw.tracked", openedge_cases.HEADERS | openedge_cases.LANDED | {"landed": "int"}, "delta")
    raw.create(f"{SCHEMA}_raw.tracking", openedge_cases.TRACKING, "delta")
    raw.create(f"{SCHEMA}_raw.avro", kafka_cases.RECORD, "delta")
    in_capitals = {name.upper(): data_type for name, data_type in (preset_cases.KAFKA | {"value": "binary"}).items()}
    raw.create(f"{SCHEMA}_raw.registered", in_capitals, "delta")
    raw.create(f"{SCHEMA}_raw.registry", {"id": "bigint", "schema": "string"}, "delta")
    kept.run("--exclude", *(f"stg_*{name}" for name in ("compared", "loaded", *WAITING)))  # which nothing here reads
    return kept


def test_a_first_run_keeps_each_row_once_with_the_number_of_its_copies(kept: Kept) -> None:
    assert kept.of("arriving") == kept.of("compared") == KEPT
    assert kept.of("loaded") == KEPT | {("rejected", "key_missing", 1)}
    assert kept.counted("arriving") == kept.counted("compared") == {"rejected": 4, "waiting": 1}


def test_rows_that_differ_in_their_last_digit_are_two(kept: Kept) -> None:
    listed = [(rows, amount in row) for _, rows, row in kept.listed("exact") for amount in AMOUNTS]
    assert sorted(listed) == [(1, False), (1, True), (2, False), (2, True)]


def test_data_tests_say_when_too_many_rows_are_rejected_or_wait_too_long(kept: Kept) -> None:
    result = kept.project.dbt("test", "--store-failures", must_succeed=False)
    found = {node.node.name: (node.status.value, node.message or "") for node in result.result.results}
    failing = ("share_is_too_high", "share_of_an_hour", "age_is_too_high", "nothing_is_rejected")
    assert {name for name, (status, _) in found.items() if status == "fail"} == set(failing)
    passing = ("nothing_is_reported", "nothing_is_reported_by_folds")
    for name in ("share_is_allowed", "share_of_no_run", "age_is_allowed", *passing):
        assert found[name][0] == "pass"
    assert "`folds` must be true or false, got 'all'" in found["reported_by_text"][1]
    assert "`above` must be a share from 0 to less than 1, got '1%'" in found["share_of_text"][1]
    assert "`at_most` must be a number of hours above 0, got '1 day'" in found["age_of_text"][1]
    audit = f"{SCHEMA}_dbt_test__audit"
    for name in ("share_is_too_high", "share_of_an_hour"):
        assert kept.raw.query(f"select table_name, changes, rejected_rows, share from {audit}.{name}") == [
            ("arriving", 1, 4, Decimal("0.8000"))
        ]
    ((code, rows, raw_id),) = kept.raw.query(f"select code, raw_rows, oldest_raw_id from {audit}.age_is_too_high")
    waiting = f"select _raw_id from {SCHEMA}.stg_feed__arriving where _status = 'waiting'"
    assert (code, rows, [(raw_id,)]) == ("after_image_missing", 1, kept.raw.query(waiting))


def test_the_list_of_rejected_rows_takes_them_from_logs_and_from_staging_models(kept: Kept) -> None:
    expected = [("change_seq_malformed", 2), ("change_seq_missing", 1), ("unknown_operation", 1)]
    rows = kept.listed("arriving")
    assert [row[:2] for row in rows] == expected
    told = {"header__change_seq": seq(10), "header__change_oper": "Z", "id": 1, "name": "unknown", "extra": None}
    assert json.loads(rows[2][2]) == told | {"landed": 1}
    staged = [row[:2] for row in kept.listed("staged")]
    assert staged == [("change_seq_malformed", 1), *[(code, 1) for code, _ in expected]]


def test_a_row_that_is_read_again_changes_nothing(kept: Kept) -> None:
    versions = [kept.version(name) for name in OF_FIRST]
    kept.run("--select", *LOGS_OF_FIRST)
    assert versions == [kept.version(name) for name in OF_FIRST]


def test_a_row_heals_when_what_it_waits_for_has_landed(kept: Kept) -> None:
    for name in OF_FIRST:
        kept.land(name, [bare(20, "U", 1, "after", None), bare(30, "Y", 4, "new", None)], 2)
    kept.run("--select", *LOGS_OF_FIRST)
    for name in ("arriving", "compared"):
        assert kept.of(name) == REJECTED
        assert kept.of(name, healed=True) == {("waiting", "after_image_missing", 1)}
        assert kept.counted(name) == {"rejected": 5, "waiting": 0}
    assert ("rejected", "key_missing", 1) in kept.of("loaded")


def test_what_is_acknowledged_is_no_trouble_any_more_and_is_counted_apart(kept: Kept) -> None:
    audit = f"{SCHEMA}_dbt_test__audit"
    kept.land("arriving", [bare(40, "I", 8, "one", None), bare(40, "I", 8, "other", None)], 2)
    kept.run("--select", "dedup_*arriving")
    names = ("nothing_is_rejected", "nothing_is_reported", "nothing_is_reported_by_folds")
    assert kept.tested(*names) == dict.fromkeys(names, "fail")
    for name in names[1:]:
        reported = f"select table_name, code, changes, acknowledged_changes from {audit}.{name}"
        assert kept.raw.query(reported) == [("arriving", "conflicting_content", 1, 0)]
    assert kept.acknowledge("arriving", "--code", "unknown_operation") == (
        1,
        "change_tables: acknowledge: `note` must say why nothing is to be done\n",
    )
    note = ("--note", "it's a test of the cut-over")
    # what is said of codes that nothing has, or that --only leaves none of
    assert kept.acknowledge("arriving", "--code", "key_missing", *note) == (
        1,
        "change_tables: acknowledge: feed.arriving has no row or change with the code key_missing; there are:"
        " change_seq_malformed 2, change_seq_missing 1, conflicting_content 1, unknown_operation 2\n",
    )
    assert kept.acknowledge("nothing", "--code", "key_missing", *note)[1].endswith(
        "no log of an entry 'nothing' is in the project\n"
    )
    ((raw_id,),) = kept.raw.query(
        f"select _raw_id from {SCHEMA}.rejected where table_name = 'arriving' and raw_row like '%\"Y\"%'"
    )
    one = ("arriving", "--source", "feed", "--code", "unknown_operation")
    assert kept.acknowledge(*one, *note, "--dry-run", "--only", raw_id)[1].endswith("; -- 1 rows or changes\n")
    assert kept.acknowledge(*one, *note, "--only", raw_id) == (
        0,
        "feed.arriving: 1 unknown_operation acknowledged\n"
        "build the models of rejected_changes and reported_changes, which show it from now on\n",
    )
    kept.run("--select", "rejected", "reported")
    unknown = {("unknown_operation", 1, True), ("unknown_operation", 1, False)}
    malformed, missing = ("change_seq_malformed", 2), ("change_seq_missing", 1)
    assert kept.acknowledged("arriving") == unknown | {(*malformed, False), (*missing, False)}
    for code in ("unknown_operation", "change_seq_malformed", "conflicting_content"):
        assert kept.acknowledge("arriving", "--code", code, *note)[0] == 0
    assert kept.tested(*names) == {names[0]: "fail", names[1]: "pass", names[2]: "pass"}
    assert kept.raw.query(f"select rejected_rows, acknowledged_rows from {audit}.{names[0]}") == [(1, 4)]
    assert kept.acknowledge("arriving", "--code", "change_seq_missing", *note)[0] == 0
    assert kept.tested(names[0]) == {names[0]: "pass"}
    assert kept.raw.query(
        f"select code, acknowledged_at is null from {SCHEMA}.reported where table_name = 'arriving'"
    ) == [("conflicting_content", False)]
    # what comes later with the same code is news, and what is taken back is as before
    assert kept.acknowledge("arriving", "--code", "change_seq_missing", "--withdraw")[1] == (
        "feed.arriving: 1 change_seq_missing no longer acknowledged\n"
    )
    kept.land("arriving", [["cut", "I", 9, "later", None]], 3)
    kept.run("--select", "dedup_*arriving")
    assert kept.acknowledged("arriving") == {
        ("unknown_operation", 2, True),
        (*malformed, True),
        ("change_seq_malformed", 1, False),
        (*missing, False),
    }
    # a rescan changes nothing of that
    before = kept.acknowledged("arriving")
    kept.run("--select", "dedup_*arriving", "--vars", "{change_tables_rescan: true}")
    assert kept.acknowledged("arriving") == before
    assert kept.tested(*names[1:]) == dict.fromkeys(names[1:], "pass")
    kept.delete("arriving", "header__change_seq = 'cut'")
    kept.run("--select", "dedup_*arriving", "--vars", "{change_tables_rescan: true}")


def _land_waiting(kept: Kept) -> Callable[[], None]:
    """Land rows that wait for others, each before one that comes after it; what lands what they wait for."""
    feed, topic = openedge_cases.Feed(1), kafka_cases.Topic()
    version = kafka_cases.schema_in("v1", kafka_cases.V1)

    def land(landed: int, passed: list[list[Any]], *messages: bytes) -> None:
        kept.raw.insert(f"{SCHEMA}_raw.passed", [[*row, landed] for row in passed])
        if changes := feed.changes[feed.batch]:
            kept.raw.insert(f"{SCHEMA}_raw.tracked", [[*row, landed] for row in changes])
        kept.raw.insert(f"{SCHEMA}_raw.tracking", feed.tracking[feed.batch])
        kept.raw.insert(f"{SCHEMA}_raw.avro", topic.records(*messages))

    feed.change(openedge_cases.CREATE, 1, 1, "waits")
    feed.both(openedge_cases.CREATE, 2, 2, "whole")
    in_v2 = kafka_cases.in_avro(kafka_cases.body("I", 5, {"id": 1, "added": "z"}), "v2", kafka_cases.V2[:2])
    in_v1 = kafka_cases.in_avro(kafka_cases.body("I", 6, kafka_cases.row(2)), "v1", kafka_cases.V1)
    land(
        1,
        [
            bare(10, "I", 1, "a", None),
            bare(20, "B", 1, "a", None),
            bare(30, "I", 3, "c", None),
            # above all that the log will have
            bare(90, "B", 3, "c", None),
        ],
        in_v2,
        envelope(json.dumps(version).encode(), "MD"),
        in_v1,
    )
    schemas = [[number, json.dumps(preset_cases.avro_schema(preset_cases.AVRO_COLUMNS))] for number in (1, 2)]
    registered = [(2, "APP.ORDERS"), (1, "APP.ORDERS"), (2, "APP.LINES"), (1, "APP.LINES")]
    kept.raw.insert(f"{SCHEMA}_raw.registry", schemas[:1])
    kept.raw.insert(f"{SCHEMA}_raw.registered", preset_cases.inserted(*registered))

    def land_others() -> None:
        feed.batch = 1
        feed.track(openedge_cases.CREATE, 1)
        later = kafka_cases.schema_in("v2", kafka_cases.V2[:2])
        kept.raw.insert(f"{SCHEMA}_raw.registry", schemas[1:])
        land(
            3,
            [bare(20, "U", 2, "moved", None), bare(90, "U", 4, "moved", None)],
            envelope(json.dumps(later).encode(), "MD"),
        )

    return land_others


def test_a_row_that_has_waited_for_its_days_is_passed_and_comes_in_once_it_is_whole(kept: Kept) -> None:
    select = ("--select", *(f"dedup_*{entry.name}" for entry in PASSING))
    land_others = _land_waiting(kept)
    kept.run(*select)
    waiting = {name: kept.counted(name)["waiting"] for name in WAITING}
    # each entry has the messages without a schema: they can be of its table
    assert waiting == {"passed": 2, "tracked": 1, "avro": 1, "registered": 2, "others": 2}
    # no run before has met them
    assert [kept.watermark(name) for name in WAITING] == [1, 1, 0, 0, 0]
    assert not kept.checkpoint("tracked")["watermark"][0]["fingerprint"]

    kept.raw.insert(f"{SCHEMA}_raw.passed", [[*bare(95, "I", 6, "f", None), 2]])
    kept.run(*select)
    # the before image at 90 was above all that the log had
    assert [kept.watermark(name) for name in WAITING] == [1, 1, 2, 3, 3]
    assert kept.checkpoint("tracked")["watermark"][0]["fingerprint"]
    assert waiting == {name: kept.counted(name)["waiting"] for name in WAITING}
    kept.raw.insert(f"{SCHEMA}_raw.passed", [[*bare(96, "I", 7, "g", None), 2]])
    kept.run("--select", "dedup_*passed")
    assert kept.watermark("passed") == 2
    assert kept.counted("passed")["waiting"] == waiting["passed"]
    assert kept.of("passed") == {("waiting", "after_image_missing", 1)}

    land_others()
    kept.run(*select)
    assert kept.changes("passed") == [
        ("insert", 1, None),
        ("update", 2, 1),
        ("insert", 3, None),
        ("update", 4, 3),
        ("insert", 6, None),
        ("insert", 7, None),
    ]
    assert kept.changes("tracked") == [("insert", 1, None), ("insert", 2, None)]
    assert kept.changes("avro") == kept.changes("registered") == [("insert", 1, None), ("insert", 2, None)]
    for entry in PASSING:
        assert kept.counted(entry.name)["waiting"] == 0
    assert kept.of("others") == set()
    assert kept.of("others", healed=True) == {("waiting", "schema_missing", 1)}
    assert [kept.watermark(name) for name in WAITING] == [3, 1, 3, 3, 3]


def test_a_column_that_is_declared_or_lands_duplicates_nothing(kept: Kept) -> None:
    for entry in ENTRIES[:2]:
        kept.raw.query(f"alter table {SCHEMA}_raw.{entry.name} add columns (landed_later string)")
        kept.later[entry.name] = [None]
    wider = COLUMNS | {"extra": "string"}
    declared = [
        entry if entry.name == "loaded" else Entry(entry.name, entry.change_table, wider, entry.models)
        for entry in ENTRIES
    ]
    before = [kept.of(name) for name in ("arriving", "compared")]
    kept.project.write(declared, further_sources=["load"])
    kept.run("--select", *LOGS_OF_FIRST[:2])
    assert before == [kept.of(name) for name in ("arriving", "compared")]
    assert kept.counted("arriving") == kept.counted("compared") == {"rejected": 5, "waiting": 0}


def test_kept_rows_outlive_the_raw_table_until_a_rescan(kept: Kept) -> None:
    kept.delete("arriving", "landed = 1 and (header__change_seq is null or header__change_seq = 'short')")
    kept.run("--select", "dedup_*arriving", "rejected")
    assert [row[:2] for row in kept.listed("arriving")] == [
        ("change_seq_malformed", 2),
        ("change_seq_missing", 1),
        ("unknown_operation", 1),
        ("unknown_operation", 1),
    ]
    refused = kept.run("--full-refresh", "--select", "dedup_*arriving", must_succeed=False)
    assert "would lose 2 rejected rows that the log holds" in refused
    assert "change_tables_allow_loss" in refused
    kept.run("--select", "dedup_*arriving", "--vars", "{change_tables_rescan: true}")
    assert {row[1] for row in kept.of("arriving")} == {"unknown_operation"}
    assert {code for _, code, _ in kept.of("arriving", healed=True)} == {
        "change_seq_malformed",
        "change_seq_missing",
        "after_image_missing",
    }
    kept.run("--full-refresh", "--select", "dedup_*arriving")
    assert kept.of("arriving", healed=True) == set()
    # nor does a full refresh change what is acknowledged
    assert kept.acknowledged("arriving") == {("unknown_operation", 2, True)}


def test_where_everything_is_read_each_run_replaces_what_is_kept(kept: Kept) -> None:
    kept.delete("compared", "header__change_seq = 'short'")
    kept.land("compared", [TWICE, TWICE, TWICE], 3)
    kept.delete("compared", "header__change_seq is null")
    kept.run("--select", "dedup_*compared")
    assert ("rejected", "change_seq_malformed", 3) in kept.of("compared")
    assert ("rejected", "change_seq_missing", 1) in kept.of("compared", healed=True)
    kept.land("compared", [WITHOUT_SEQUENCE], 3)
    kept.run("--select", "dedup_*compared")
    assert ("rejected", "change_seq_missing", 1) in kept.of("compared")


def test_a_load_is_taken_again_where_nothing_is_wrong_with_it_and_its_rows_heal(kept: Kept) -> None:
    def declare(at: str) -> None:
        spec = ENTRIES[2].change_table | {"snapshot_seq": at}
        kept.project.write([Entry("loaded", spec, COLUMNS, (*MODELS, "current", "history"))], further_sources=["load"])

    def load(*rows: list[Any]) -> None:
        kept.raw.query(f"truncate table {SCHEMA}_raw.load")
        kept.raw.insert(f"{SCHEMA}_raw.load", rows)

    def current() -> set[tuple[Any, ...]]:
        return set(kept.raw.query(f"select id, name from {SCHEMA}.current_feed__loaded"))

    def stop() -> None:
        raise RuntimeError("killed")

    kept.delete("load", "id is null")
    declare(seq(1))
    # applied on top of the load at 40, which ends no row of theirs
    kept.land("loaded", [bare(40, "I", 10, "at the load", None), bare(41, "U", 7, "later", None)], 3)
    kept.run()
    assert ("rejected", "key_missing", 1) in kept.of("loaded")
    before_load, version = current(), kept.version("loaded")
    assert before_load == {(1, "after"), (7, "later"), (8, "eighth"), (10, "at the load")}
    taken = f"{SCHEMA}.dedup_feed__loaded has taken in the load at '{seq(1)}': raise `snapshot_seq` of feed.loaded"
    hint = f" above it, got '{seq(1)}'; after failed data tests, run dbt build"
    assert taken + hint in kept.project.command("reload", "loaded")[2]

    declare(seq(40))
    load([1, "again"], [1, "other"], [None, "no key"])
    code, said, complained = kept.project.command("reload", "loaded")
    assert (code, complained) == (1, "change_tables: reload: the load of feed.loaded is not taken, see above\n")
    assert said.splitlines() == [
        f"feed.loaded: the load {SCHEMA}_raw.load at '{seq(40)}' has 3 rows of 1 keys; of 2 keys that live it ends 1,"
        " and it begins 0",
        "feed.loaded: the load has 1 keys, and 2 live: less than the share of 0.9. Look whether it is whole; else lower"
        " --at-least",
        "feed.loaded: rows would be rejected (1 key_missing), and their keys would end. Correct the load or the entry;"
        " else add --with-rejected",
        "feed.loaded: 1 keys have several rows that differ: load each key once",
    ]
    load([1, "again"], [7, "seventh"], [7, "seventh"], [9, "ninth"])
    code, said, _ = kept.project.command("reload", "loaded", "--dry-run")
    assert (code, said.rpartition("has ")[2]) == (
        0,
        "4 rows of 3 keys; of 3 keys that live it ends 1, and it begins 1\n",
    )
    assert (current(), kept.version("loaded")) == (before_load, version)
    with intercepted(before(f"merge into {SCHEMA}.current_feed__loaded__state", stop)):
        code, _, complained = kept.project.command("reload", "loaded", "--source", "feed")
    assert (code, current()) == (1, before_load), complained
    code, said, _ = kept.project.command("reload", "loaded", "--source", "feed")
    assert f"has taken in the load at '{seq(40)}'; to be built: {SCHEMA}.current_feed__loaded" in said
    assert code == 0
    assert current() == {(1, "again"), (7, "later"), (9, "ninth"), (10, "at the load")}
    assert ("rejected", "key_missing", 1) in kept.of("loaded", healed=True)

    # one of which nothing says the time: the last known one is that of the load before, at noon of a day
    declare("9" * 35)
    load([1, "untimed"])
    for day in (30, 31):
        model = kept.project.folder / f"models/as_of_{day}.sql"
        query = f"change_tables.as_of(ref('history_feed__loaded'), \"timestamp '2026-01-{day} 18:00:00'\")"
        model.write_text(f"{{{{ {query} }}}}\n")
    kept.run()
    assert kept.raw.query(f"select id, name from {SCHEMA}.as_of_31") == [(1, "untimed")]
    with pytest.raises(OperationalError, match=f"the load at '{'9' * 35}' has no time; set `snapshot_time`"):
        kept.raw.query(f"select id, name from {SCHEMA}.as_of_30")


def test_a_rejected_row_that_fits_by_now_is_no_loss(kept: Kept) -> None:
    kept.land("staged", [bare(70, "I", 2**40, "large", None)], 1)
    narrow = Entry("staged", TWO_HEADERS, COLUMNS | {"id": "int"}, MODELS)
    wide = Entry("staged", TWO_HEADERS, COLUMNS | {"id": "decimal(20,0)", "extra": "string"}, MODELS)
    kept.project.write([narrow])
    kept.run("--select", "dedup_*staged")
    assert ("rejected", "value_does_not_fit", 1) in kept.of("staged")
    # also where it is acknowledged: it heals as any other
    assert kept.acknowledge("staged", "--code", "value_does_not_fit", "--note", "none")[0] == 0
    kept.project.write([wide])
    kept.run("--full-refresh", "--select", "dedup_*staged")
    assert ("insert", 2**40, None) in kept.changes("staged")
    assert "value_does_not_fit" not in {code for _, code, _ in kept.of("staged")}
