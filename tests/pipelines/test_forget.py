"""`change-tables forget` on a lake: what is gone, what never comes back, and what can still be counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest

from tests.table_format import TABLE_FORMAT

from . import kafka_cases as kafka
from .consumer import BUILT_AGAIN, Consumer, Entry
from .landing import Raw
from .qlik_cases import COLUMNS, TWO_HEADERS, bare, seq
from .test_upkeep import LANDED, stopped_after

pytestmark = pytest.mark.slow

SCHEMA = "forgotten"
PERSON = "Ada Lovelace"
"""A value that no key but those of the person has."""
KINDS = ("stg", "dedup", "current", "kept", "history")
WRITTEN = {kind: [{"change_tables.rows_as_written": {"name": f"written_{kind}"}}] for kind in KINDS[1:]}
STORES = {"severity": "warn", "store_failures": True}
COUNTED = [
    {"change_tables.raw_rows_accounted_for": {"name": "counted"}},
    {"unique": {"name": "stored", "arguments": {"column_name": "_change_op"}, "config": STORES}},
]
RAW = [f"{SCHEMA}_raw.persons", f"{SCHEMA}_raw.persons_full"]
STAGED = [
    {
        "change_tables.raw_rows_accounted_for": {
            "name": "staged",
            "arguments": {"raw": RAW, "log": "ref('dedup_feed__persons')"},
        }
    }
]
PERSONS = Entry(
    "persons",
    {
        "format": "qlik_change_tables",
        "key": ["id"],
        "headers": ["change_seq", "change_oper"],
        "arrival": "landed",
        "snapshot": "persons_full",
    },
    COLUMNS,
    KINDS,
    {**WRITTEN, "stg": STAGED, "dedup": [*WRITTEN["dedup"], *COUNTED]},
)
MESSAGES = Entry("messages", kafka.SPEC, kafka.COLUMNS, ("stg", "dedup", "current"))
TAKEN_IN = f"""
{{{{ config(materialized='incremental', unique_key='id', incremental_strategy='merge') }}}}
{{{{ config(file_format='{TABLE_FORMAT}') }}}}
{{{{ change_tables.changes_since(ref('current_feed__persons')) }}}}
"""

CHECKPOINT_EACH = 3  # commits


class Lake:
    """A project with two entries, and what their tables hold."""

    def __init__(self, project: Consumer, raw: Raw) -> None:
        self.project, self.raw, self.command = project, raw, project.command

    def land(self, arrival: int, *rows: list[Any]) -> None:
        """Land rows of a batch."""
        self.raw.insert(RAW[0], [[*row, arrival] for row in rows])

    def send(self, offset: int, *messages: dict[str, Any]) -> None:
        """Land messages, from an offset on."""
        self.raw.insert(
            f"{SCHEMA}_raw.messages",
            [["t", 0, offset + place, kafka.AT, None, json.dumps(message)] for place, message in enumerate(messages)],
        )

    def build(self, *options: str, kind: str = "run") -> None:
        """Run the models, or test them too."""
        self.project.dbt(kind, "--exclude", "rejected", "reported", *options)

    def rows(self, model: str = "current_feed__persons") -> list[tuple[Any, ...]]:
        """Key and name of the rows of a model."""
        return sorted(self.raw.query(f"select id, name from {SCHEMA}.{model}"))

    def forget(self, *arguments: str, table: str = "persons") -> tuple[int, str, str]:
        """What `forget` ends with and says."""
        return self.command("forget", table, *arguments)

    def tables(self) -> dict[str, int]:
        """The tables in the models' schema, and the last version of each."""
        views = {row[1] for row in self.raw.query(f"show views in {SCHEMA}")}
        names = {row[1] for row in self.raw.query(f"show tables in {SCHEMA}")} - views
        return {name: self.raw.version(f"{SCHEMA}.{name}") for name in sorted(names)}

    def with_person(self) -> set[str]:
        """The tables whose files have the person: data, what the format keeps beside it with its statistics."""
        return {name for name in self.tables() if any(PERSON in text for text in self._texts(name))}

    def columns_with_statistics(self, table: str) -> set[int]:
        """Of how many columns Delta's log has had the least value in a file of the table."""
        logged = [json.loads(line) for file in self._folder(table).rglob("*.json") for line in file.open()]
        return {len(json.loads(action["add"]["stats"])["minValues"]) for action in logged if "add" in action}

    def _folder(self, table: str) -> Path:
        return self.raw.folder(f"{SCHEMA}.{table}")

    def _texts(self, table: str) -> Iterator[str]:
        folder = self._folder(table)
        assert list(folder.rglob("*.json"))
        if self.raw.table_format == "delta":
            assert list(folder.rglob("*.checkpoint*")) or self.raw.version(f"{SCHEMA}.{table}") < CHECKPOINT_EACH
        for file in folder.rglob("*"):
            if file.suffix == ".json":
                yield file.read_text()
            elif file.suffix == ".parquet":
                yield str(pq.ParquetFile(file).read().to_pylist())
            elif file.suffix == ".avro":
                with file.open("rb") as manifest:
                    yield str(list(fastavro.reader(manifest)))


@pytest.fixture(scope="module")
def built(consumer: Callable[[str], Consumer], raw: Raw) -> Consumer:
    """A project of which nothing is built."""
    project = consumer(SCHEMA)
    project.variables = {}
    # tests have checkpoints of Delta's log rarely, and they hold rows' statistics
    project.session = {"spark.databricks.delta.properties.defaults.checkpointInterval": str(CHECKPOINT_EACH)}
    project.write([PERSONS, MESSAGES], ["persons_full"])
    (project.folder / "models" / "taken_in.sql").write_text(TAKEN_IN)
    raw.create(RAW[0], LANDED, "delta")
    raw.create(RAW[1], COLUMNS, "delta")
    raw.create(f"{SCHEMA}_raw.messages", kafka.TEXT_RECORD, "delta")
    return project


@pytest.fixture
def lake(built: Consumer, raw: Raw) -> Lake:
    """The lake of all tests here, each of which goes on where the one before has left it."""
    return Lake(built, raw)


HELD = {f"{kind}_feed__persons__state" for kind in KINDS[1:]} | {"dedup_feed__persons__quarantine"}
OF_MESSAGES = {"dedup_feed__messages__state", "current_feed__messages__state", "dedup_feed__messages__quarantine"}
MOVE = [bare(20, "B", 7, PERSON, None), bare(20, "U", 8, PERSON, None)]
REJECTED = bare(30, "?", 8, PERSON, None)
SENT = [
    kafka.body("I", 10, kafka.row(1, "one")),
    kafka.body("I", 20, kafka.row(7, PERSON)),
    kafka.body("?", 30, kafka.row(7, PERSON)),
    kafka.body("?", 31, kafka.row(1, "one")),
]
REST = [(1, "one"), (2, "two")]
BOTH = ("--key", '{"id": 7}', "--key", '{"id": 8}')
NINE = (9, "nine")
"""A key that has ended, and had a row that could not be used."""


def test_a_forgotten_key_is_gone_from_every_table_with_those_its_row_moved_through(lake: Lake) -> None:
    lake.raw.insert(RAW[1], [[7, PERSON, None], [1, "one", None]])
    lake.land(
        1,
        bare(10, "I", 2, "two", None),
        *MOVE,
        REJECTED,
        *(bare(number, oper, *NINE, None) for number, oper in ((31, "?"), (40, "I"), (50, "D"))),
    )
    lake.send(0, *SENT)
    lake.build(kind="build")
    assert lake.rows() == [*REST, (8, PERSON)]
    assert lake.command("acknowledge", "persons", "--code", "unknown_operation", "--note", "known")[0] == 0
    assert HELD | OF_MESSAGES | {"taken_in"} == lake.with_person()
    versions = lake.tables()
    # the row lives under another key by now, which could be another person's
    code, _, error = lake.forget("--key", '{"id": 7}')
    assert (code, lake.tables()) == (1, versions)
    assert 'rows of feed.persons that live are under keys that moves connect with these: {"id":8}. Name them' in error
    code, said, _ = lake.forget(*BOTH, "--dry-run")
    assert (code, lake.tables()) == (0, versions)
    assert "feed.persons: keys: 2; forgotten up to " in said
    for table, rows in {"dedup": 2, "current": 2, "kept": 2, "history": 3}.items():
        assert f"{SCHEMA}.{table}_feed__persons__state: {rows} rows would be deleted\n" in said
    assert f"{SCHEMA}.dedup_feed__persons__quarantine: 1 rows would be deleted\n" in said
    assert f"{SCHEMA}.change_table_acknowledgements: 1 rows would be deleted\n" in said
    # the hash is there, and no more
    with stopped_after(1):
        code, _, error = lake.forget(*BOTH)
    assert (code, "killed" in error) == (1, True)
    assert (8, PERSON) in lake.rows()
    lake.land(2, *MOVE, REJECTED, bare(15, "U", 8, PERSON, None))
    lake.build()
    code, said, error = lake.forget(*BOTH)
    assert (code, error) == (0, "")
    assert f"to know: {SCHEMA}.taken_in reads these models, and may hold values: erase there\n" in said
    assert lake.raw.query(f"select count(*) from {SCHEMA}.change_table_acknowledgements") == [(1,)]
    assert lake.raw.query(f"show tables in {SCHEMA}_dbt_test__audit") == []
    # a load that is older is taken without the rows of these keys
    later = replace(PERSONS, change_table=PERSONS.change_table | {"snapshot_seq": seq(5)})
    lake.project.write_sources([later, MESSAGES], ["persons_full"])
    code, said, _ = lake.command("reload", "persons", "--dry-run")
    assert (code, "has 1 rows of 1 keys; of 1 keys that live it ends 0, and it begins 0\n" in said) == (0, True), said
    lake.project.write_sources([PERSONS, MESSAGES], ["persons_full"])
    # raw has lost its rejected rows: they are known by their JSON
    lake.raw.query(f"delete from {SCHEMA}_raw.messages where offset > 1")
    assert lake.forget("--key", '{"id": "7"}', table="messages")[0] == 0
    for table, ids in {"persons": "9", "messages": "1"}.items():
        quarantined = lake.raw.query(f"select _raw_row from {SCHEMA}.dedup_feed__{table}__quarantine")
        assert ["".join(row.split()).replace("\\", "").count(f'"id":{ids}') for (row,) in quarantined] == [1]
    assert [lake.rows(f"{kind}_feed__persons") for kind in KINDS[1:4]] == [[*REST, NINE, NINE], REST, [*REST, NINE]]
    assert lake.command("maintain", "--retain-days", "0", "--force")[0] == 0
    assert lake.with_person() == {"taken_in"}
    # no raw row and no reason with a value has come into Delta's log, where texts are cut to 32 characters
    if lake.raw.table_format == "delta":
        assert lake.columns_with_statistics("dedup_feed__persons__quarantine") == {1}


def test_no_plain_run_rescan_new_column_or_full_refresh_brings_it_back_and_the_tests_pass(lake: Lake) -> None:
    # again, late, by a move from elsewhere, and used again
    away = [bare(35, "B", 8, PERSON, None), bare(35, "U", 5, PERSON, None)]
    lake.land(3, *MOVE, REJECTED, bare(45, "U", 8, PERSON, None), *away, bare(60, "I", 7, "seven", None))
    lake.send(4, *SENT, kafka.body("I", 40, kafka.row(7, "seven")))
    lake.build(*BUILT_AGAIN, kind="build")
    used = [*REST, (7, "seven")]
    assert lake.rows() == used
    assert lake.rows("current_feed__messages") == [(1, "one"), (7, "seven")]
    taken_in = lake.raw.query(f"select id, name, _is_deleted from {SCHEMA}.taken_in where id in (7, 8)")
    assert sorted(taken_in) == [(7, "seven", False), (8, None, True)]
    lake.raw.query(f"alter table {RAW[0]} add columns (note string)")
    lake.project.write_sources([replace(PERSONS, columns=COLUMNS | {"note": "string"}), MESSAGES], ["persons_full"])
    lake.build(*BUILT_AGAIN, "--vars", "{change_tables_rescan: true}", kind="build")
    assert lake.rows() == used
    lake.build(*BUILT_AGAIN, "--full-refresh", kind="build")
    assert lake.rows() == used
    assert lake.rows("current_feed__messages") == [(1, "one"), (7, "seven")]
    code, said, error = lake.forget("--key", '{"id": 7}', "--raw", table="messages")
    assert (code, error) == (0, "")
    assert f"{SCHEMA}_raw.messages: left alone: raw rows of the format qlik_kafka do not say by themselves" in said
    with stopped_after(4):  # raw rows are gone, and are counted
        assert lake.forget("--key", '{"id": 5}', "--raw")[0] == 1
    code, said, error = lake.forget("--key", '{"id": 5}', "--raw")
    assert (code, error) == (0, "")
    assert lake.raw.query(f"select * from {RAW[0]} where name = '{PERSON}'") == []
    assert lake.raw.query(f"select * from {RAW[1]} where name = '{PERSON}'") == []
    lake.build(*BUILT_AGAIN, kind="build")
    assert lake.rows() == used
    assert lake.command("maintain", "--retain-days", "0", "--force")[0] == 0
    # a table of the user, who erases there; of Iceberg's the full refresh has dropped the files
    assert lake.with_person() == ({"taken_in"} if TABLE_FORMAT == "delta" else set())


def test_a_key_that_is_nowhere_is_remembered(lake: Lake) -> None:
    code, said, _ = lake.forget("--key", '{"id": 77}')
    assert code == 0
    assert "feed.persons: raw has no row of these keys; they are forgotten all the same\n" in said
    lake.raw.insert(RAW[0], [[*bare(59, "I", 77, PERSON, None), 4, None]])
    lake.build()
    assert (77, PERSON) not in lake.rows()


SAID = 'she said "no\\yes"'
OF_ODD = {
    "code": "char(4)",
    "key_hash": "string",
    "bytes": "binary",
    "price": "decimal(5,2)",
    "ratio": "double",
    "until_seq": "string",
}
"""Two of its names are those of columns that the package's own table has."""
ODD = Entry("odd", TWO_HEADERS | {"key": ["code", "key_hash", "bytes", "price", "ratio"]}, OF_ODD, ("stg", "dedup"))
DESCRIBED = Entry(
    "described",
    {
        "format": "mapped",
        "key": ["said", "bytes", "day"],
        "message": {"column": "value", "type": "op string, after map<string, string>"},
        "operation": "message.op",
        "operations": {"I": "insert"},
        "sequence": ["n"],
        "row": "message.after",
    },
    {"said": "string", "bytes": "binary", "day": "date"},
    ("stg", "dedup"),
    column_meta={"day": {"written_as": "epoch_days"}},
)
LOADS = Entry(
    "loads",
    {"format": "full_loads", "key": ["key_hash"], "load_column": "load"},
    {"key_hash": "string", "until_seq": "string"},
    ("stg", "dedup"),
)
EMPTIED = Entry("emptied", TWO_HEADERS, COLUMNS, ("stg", "dedup", "current"))
HEADERS = {"header__change_seq": "string", "header__change_oper": "string"}


@pytest.fixture(scope="module")
def odd(consumer: Callable[[str], Consumer], raw: Raw) -> Consumer:
    """A project whose keys can be written in many ways, built once."""
    project = consumer("forgotten_odd")
    project.write([ODD, DESCRIBED, LOADS, EMPTIED])
    raw.create("forgotten_odd_raw.odd", HEADERS | OF_ODD | {"code": "string"}, "delta")
    key = ["a   ", SAID, b"\xff\x00", Decimal("1.50"), -0.0]
    others = [["b", *key[1:]], ["a", "she said ", *key[2:]], [*key[:2], b"\xff", *key[3:]], [*key[:4], 1.0]]
    others += [[*key[:3], Decimal("1.55"), 0.0]]
    raw.insert("forgotten_odd_raw.odd", [bare(10, "?", *row, PERSON) for row in [key, *others]])
    raw.create("forgotten_odd_raw.described", {"n": "int", "value": "string"}, "delta")
    row = {"said": SAID, "bytes": "FF00", "day": 20484}
    rows = [row, row | {"said": "she said "}, row | {"bytes": "FF"}, row | {"day": 20485}]
    messages = [json.dumps({"op": "?", "after": after}) for after in rows]
    raw.insert("forgotten_odd_raw.described", [[number, text] for number, text in enumerate(messages)])
    raw.create("forgotten_odd_raw.loads", {"load": "int", "key_hash": "string", "until_seq": "string"}, "delta")
    raw.insert("forgotten_odd_raw.loads", [[1, "a", PERSON], [1, "b", "other"], [2, "a", PERSON], [2, "b", "other"]])
    raw.create("forgotten_odd_raw.emptied", HEADERS | COLUMNS, "delta")
    raw.insert(
        "forgotten_odd_raw.emptied",
        [
            bare(10, "I", 2, "gone", None),
            bare(11, "I", 7, PERSON, None),
            ["no sequence", "I", 7, PERSON, None],
            bare(20, "T", 7, PERSON, None),
            bare(30, "I", 1, "one", None),
        ],
    )
    project.dbt("run", "--exclude", "rejected", "reported")
    return project


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("odd", {"code": "a ", "key_hash": SAID, "bytes": "ff00", "price": 1.5, "ratio": 0}),
        ("described", {"said": SAID, "bytes": "ff00", "day": "2026-01-31"}),
    ],
)
def test_a_row_that_raw_has_lost_is_found_by_its_key_however_json_has_it(
    odd: Consumer, raw: Raw, table: str, key: dict[str, Any]
) -> None:
    quarantine = f"forgotten_odd.dedup_feed__{table}__quarantine"
    kept = raw.query(f"select _raw_row from {quarantine}")
    raw.query(f"delete from forgotten_odd_raw.{table}")
    code, said, error = odd.command("forget", table, "--key", json.dumps(key))
    assert (code, error) == (0, "")
    assert f"{quarantine}: 1 rows deleted\n" in said
    left = raw.query(f"select _raw_row from {quarantine}")
    (gone,) = set(kept) - set(left)
    assert "yes" in gone[0]
    assert len(left) == len(kept) - 1


def test_a_key_that_the_type_of_its_column_would_round_is_refused(odd: Consumer) -> None:
    key = {"code": "a", "key_hash": SAID, "bytes": "ff00", "price": 1.555, "ratio": 0}
    code, _, error = odd.command("forget", "odd", "--key", json.dumps(key))
    assert (code, "column price is decimal(5, 2), and what is given as its value is not" in error) == (1, True)


def test_raw_loses_what_staging_leaves_out_and_keeps_a_truncate(odd: Consumer, raw: Raw) -> None:
    assert odd.command("forget", "emptied", "--key", '{"id": 7}', "--raw")[0] == 0
    left = raw.query("select header__change_seq, id from forgotten_odd_raw.emptied order by 1")
    assert left == [(seq(10), 2), (seq(20), 7), (seq(30), 1)]
    odd.dbt("run", "--full-refresh", "--select", "dedup_feed__emptied", "current_feed__emptied")
    assert raw.query("select id, name from forgotten_odd.current_feed__emptied") == [(1, "one")]


def test_full_loads_whose_columns_have_names_of_the_package_are_built_after_a_key_was_forgotten(
    odd: Consumer, raw: Raw
) -> None:
    assert odd.command("forget", "loads", "--key", '{"key_hash": "a"}', "--raw")[0] == 0
    assert raw.query("select distinct key_hash from forgotten_odd_raw.loads") == [("b",)]
    raw.insert("forgotten_odd_raw.loads", [[3, "a", "again"], [3, "b", "other"]])
    odd.dbt("run", "--select", "dedup_feed__loads")
    rows = raw.query("select key_hash, until_seq, _change_op from forgotten_odd.dedup_feed__loads order by 1")
    assert rows == [("a", "again", "insert"), ("b", "other", "insert")]
