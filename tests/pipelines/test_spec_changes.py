"""A spec whose columns change between builds: what follows, what is refused, and what is said about it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from tests.table_format import TABLE_FORMAT

from .consumer import Consumer, Entry
from .kafka_cases import RECORD as MESSAGE
from .kafka_cases import Topic, body, enveloped
from .landing import Raw
from .qlik_cases import SPEC, TWO_HEADERS, WITH_HISTORY, bare, seq

pytestmark = pytest.mark.slow

SCHEMA = "spec_changes"
SPARSE_SPEC = SPEC | {
    "headers": ["change_seq", "change_oper", "change_mask"],
    "mask_type": "string",
    "images": "partial",
}
BARE = {"header__change_seq": "string", "header__change_oper": "string"}
MASKED = BARE | {"header__change_mask": "string"}
OF_HISTORY = ("stg", "dedup", "history")
RESCAN = ["--vars", json.dumps({"change_tables_rescan": True})]
LISTS = ("rejected", "reported")
"""Views of all tables. What is reported is read once, after the third build."""
Rows = set[tuple[Any, ...]]


@dataclass(frozen=True)
class Changed:
    """A table whose columns are declared otherwise from the second build on, and what lands before each build."""

    name: str
    spec: Mapping[str, Any]
    before: Mapping[str, str]
    after: Mapping[str, str]
    landed: Mapping[str, str]
    batches: Sequence[Sequence[Sequence[Any]]] = ((), (), ())
    models: Sequence[str] = WITH_HISTORY
    """A state follows the log alone, so that few tables need both kinds."""
    spec_after: Mapping[str, Any] | None = None
    purged: int | None = None
    """Up to which sequence raw rows are purged before the second build."""

    def entry(self, *, changed: bool) -> Entry:
        """The entry before or after the change."""
        spec = self.spec_after or self.spec if changed else self.spec
        return Entry(self.name, dict(spec), self.after if changed else self.before, self.models)


# the raw table has had the note from the start; it is declared later, in the middle
NOTED = [
    [
        bare(10, "I", 1, "a", "n10", 1),
        bare(20, "I", 2, "b", None, 1),
        bare(30, "U", 2, "c", "n30", 1),
        bare(50, "I", 4, "a", "n50", 1),
        bare(60, "I", 5, "e", "n60", 1),
        bare(70, "D", 5, None, "n70", 1),
    ],
    [],
    [
        bare(40, "U", 1, "a", "n40", 2),
        bare(30, "U", 2, "c", "n30", 2),
        bare(25, "U", 2, "late", "n25", 2),
        bare(50, "I", 4, "z", "z50", 2),
    ],
]
NOTED_CURRENT: Sequence[Rows] = [
    {(1, "n10", "a"), (2, "n30", "c"), (4, "n50", "a")},
    {(1, "n40", "a"), (2, "n30", "c"), (4, "z50", "z")},
]
NOTED_HISTORY: Sequence[Rows] = [
    {
        (1, "n10", "a", seq(10), None),
        (2, None, "b", seq(20), seq(30)),
        (2, "n30", "c", seq(30), None),
        (4, "n50", "a", seq(50), None),
        (5, "n60", "e", seq(60), seq(70)),
    },
    {
        (1, "n10", "a", seq(10), seq(40)),
        (1, "n40", "a", seq(40), None),
        (2, None, "b", seq(20), seq(25)),
        (2, "n25", "late", seq(25), seq(30)),
        (2, "n30", "c", seq(30), None),
        (4, "z50", "z", seq(50), None),
        (5, "n60", "e", seq(60), seq(70)),
    },
]
# the changes 10, 20 and 30 are no longer in the raw table when the note is declared; 30 is landed again
PURGED_HISTORY: Sequence[Rows] = [
    {
        (1, None, "a", seq(10), None),
        (2, None, "b", seq(20), seq(30)),
        (2, None, "c", seq(30), None),
        (4, "n50", "a", seq(50), None),
        (5, "n60", "e", seq(60), seq(70)),
    },
    {
        (1, None, "a", seq(10), seq(40)),
        (1, "n40", "a", seq(40), None),
        (2, None, "b", seq(20), seq(25)),
        (2, "n25", "late", seq(25), seq(30)),
        (2, "n30", "c", seq(30), None),
        (4, "z50", "z", seq(50), None),
        (5, "n60", "e", seq(60), seq(70)),
    },
]

# three headers: id is bit 3 of the mask, name bit 4, amount bit 5, note bit 6
SPARSE_BATCHES = [
    [
        [seq(10), "I", "38", 1, "a", Decimal("1.00"), None],
        [seq(20), "U", "10", 1, "b", None, None],
        [seq(30), "U", "30", 1, "c", Decimal("2.00"), None],
        [seq(15), "U", "30", 2, "has all that was declared then", Decimal("1.50"), None],
    ],
    [
        [seq(40), "U", "40", 1, None, None, "n40"],
        [seq(17), "U", "40", 2, None, None, "n17"],
    ],
    [
        [seq(25), "U", "40", 1, None, None, "n25"],
        [seq(35), "U", "40", 1, None, None, None],
        [seq(16), "U", "20", 2, None, Decimal("9.00"), None],
    ],
]
WHOLE = "has all that was declared then"
# read again, the first change of key 2 lacks the note, and no row is there: it waits
SPARSE_HISTORY: Sequence[Rows] = [
    {
        (1, "a", Decimal("1.00"), None, seq(10), seq(20)),
        (1, "b", Decimal("1.00"), None, seq(20), seq(30)),
        (1, "c", Decimal("2.00"), None, seq(30), seq(40)),
        (1, "c", Decimal("2.00"), "n40", seq(40), None),
    },
    {
        (1, "a", Decimal("1.00"), None, seq(10), seq(20)),
        (1, "b", Decimal("1.00"), None, seq(20), seq(25)),
        (1, "b", Decimal("1.00"), "n25", seq(25), seq(30)),
        (1, "c", Decimal("2.00"), "n25", seq(30), seq(35)),
        (1, "c", Decimal("2.00"), None, seq(35), seq(40)),
        (1, "c", Decimal("2.00"), "n40", seq(40), None),
    },
]
# it started a row when it was logged, and cannot be read again
PURGED_SPARSE_HISTORY: Sequence[Rows] = [
    {
        (1, "a", Decimal("1.00"), None, seq(10), seq(20)),
        (1, "b", Decimal("1.00"), None, seq(20), seq(30)),
        (1, "c", Decimal("2.00"), None, seq(30), seq(40)),
        (1, "c", Decimal("2.00"), "n40", seq(40), None),
        (2, WHOLE, Decimal("1.50"), None, seq(15), seq(17)),
        (2, WHOLE, Decimal("1.50"), "n17", seq(17), None),
    },
    {
        (1, "a", Decimal("1.00"), None, seq(10), seq(20)),
        (1, "b", Decimal("1.00"), None, seq(20), seq(25)),
        (1, "b", Decimal("1.00"), "n25", seq(25), seq(30)),
        (1, "c", Decimal("2.00"), "n25", seq(30), seq(35)),
        (1, "c", Decimal("2.00"), None, seq(35), seq(40)),
        (1, "c", Decimal("2.00"), "n40", seq(40), None),
        (2, WHOLE, Decimal("1.50"), None, seq(15), seq(16)),
        (2, WHOLE, Decimal("9.00"), None, seq(16), seq(17)),
        (2, WHOLE, Decimal("9.00"), "n17", seq(17), None),
    },
]

NARROW = {
    "id": "int",
    "part no": "decimal(4, 0)",
    # Iceberg's decimals keep their scale
    "amount": "decimal(6,1)" if TABLE_FORMAT == "delta" else "decimal(6,3)",
    "n": "tinyint",
    "w": "smallint" if TABLE_FORMAT == "delta" else "decimal(6,2)",
    "code": "varchar(5)",
}
WIDE = {
    "id": "bigint",
    "part no": "DECIMAL(8)",
    "amount": "decimal(10,3)",
    "n": "int",
    "w": "decimal(12,2)",
    "code": "string",
}


def wide(number: int, oper: str, id_: int, part: int, amount: str, code: str = "a") -> list[Any]:
    """A row of the table whose types widen."""
    return bare(number, oper, id_, Decimal(part), Decimal(amount), id_ % 1000, Decimal(amount), code)


BIG, BIG_PART = 3_000_000_001, 12_345_678
WIDE_BATCHES = [
    [
        wide(10, "I", 1, 1, "1"),
        wide(20, "B", 1, 1, "1"),
        wide(20, "U", 2, 1, "1"),
        wide(30, "I", 3, 1, "2"),
    ],
    [wide(40, "I", BIG, BIG_PART, "2.25", "longer"), wide(30, "I", 3, 1, "2")],
    [
        wide(50, "B", BIG, BIG_PART, "2.25", "longer"),
        wide(50, "U", 4, 1, "2.25", "longer"),
        wide(20, "B", 1, 1, "1"),
        wide(20, "U", 2, 1, "1"),
        wide(5, "I", 2, 1, "7"),
    ],
]
ONE, TWO, MORE = (Decimal(text) for text in ("1.000", "2.000", "2.250"))
WIDE_TWO, WIDE_THREE = (2, Decimal(1), ONE, 2, ONE, "a"), (3, Decimal(1), TWO, 3, TWO, "a")
WIDE_CURRENT: Sequence[Rows] = [
    {WIDE_TWO, WIDE_THREE, (BIG, Decimal(BIG_PART), MORE, 1, MORE, "longer")},
    {WIDE_TWO, WIDE_THREE, (4, Decimal(1), MORE, 4, MORE, "longer")},
]

LOADED = ["loads", "old_load"]

# two loads with the same row, the second one taken by the run that widens a type
LOADED_SPEC = {"format": "qlik_kafka", "key": ["id"], "snapshot": "loads", "snapshot_seq": seq(1)}
LOADS = {"id": "bigint", "n": "int"}
TOPIC = Topic("loaded")
LOADED_BATCHES = [
    [TOPIC.record(enveloped(body("I", 20, {"id": 2, "n": 7})))],
    [],
    [TOPIC.record(enveloped(body("I", 30, {"id": 3, "n": 3_000_000_000})))],
]
LOADED_CURRENT: Sequence[Rows] = [{(1, 5), (2, 7)}, {(1, 5), (2, 7), (3, 3_000_000_000)}]

# a load of before there was a note, which the changes have
OLD_LOAD = {"ID": "bigint", "name": "string"}
NEWER_THAN_LOAD_BATCHES = [
    [bare(10, "U", 1, "b", "n10", 1), bare(15, "I", 3, "d", "n15", 1)],
    [bare(20, "U", 2, "c", "n20", 1)],
    [bare(30, "U", 1, "e", None, 2)],
]
NEWER_THAN_LOAD: Sequence[Rows] = [
    {
        (1, None, "loaded", "", seq(10)),
        (1, "n10", "b", seq(10), None),
        (2, None, "loaded too", "", seq(20)),
        (2, "n20", "c", seq(20), None),
        (3, "n15", "d", seq(15), None),
    },
    {
        (1, None, "loaded", "", seq(10)),
        (1, "n10", "b", seq(10), seq(30)),
        (1, None, "e", seq(30), None),
        (2, None, "loaded too", "", seq(20)),
        (2, "n20", "c", seq(20), None),
        (3, "n15", "d", seq(15), None),
    },
]
# partial images are laid over the row of the load, where the note is null and not missing
LAID_OVER_LOAD_TOPIC = Topic("laid_over_load")
LAID_OVER_LOAD_BATCHES = [
    [LAID_OVER_LOAD_TOPIC.record(enveloped(body("U", 10, {"id": 1, "note": "n10"})))],
    [LAID_OVER_LOAD_TOPIC.record(enveloped(body("U", 20, {"id": 2, "name": "c"})))],
    [LAID_OVER_LOAD_TOPIC.record(enveloped(body("U", 5, {"id": 1, "name": "late"})))],
]
LAID_OVER_LOAD: Sequence[Rows] = [
    {
        (1, None, "loaded", "", seq(10)),
        (1, "n10", "loaded", seq(10), None),
        (2, None, "loaded too", "", seq(20)),
        (2, None, "c", seq(20), None),
    },
    {
        (1, None, "loaded", "", seq(5)),
        (1, None, "late", seq(5), seq(10)),
        (1, "n10", "late", seq(10), None),
        (2, None, "loaded too", "", seq(20)),
        (2, None, "c", seq(20), None),
    },
]

CHANGED = [
    Changed(
        "newer_than_load",
        TWO_HEADERS | {"snapshot": "old_load"},
        {"id": "bigint", "name": "string"},
        {"id": "bigint", "note": "string", "name": "string"},
        BARE | {"id": "bigint", "name": "string", "note": "string", "batch": "int"},
        NEWER_THAN_LOAD_BATCHES,
        OF_HISTORY,
    ),
    Changed(
        "laid_over_load",
        {"format": "qlik_kafka", "key": ["id"], "snapshot": "old_load"},
        {"id": "bigint", "name": "string"},
        {"id": "bigint", "note": "string", "name": "string"},
        MESSAGE,
        LAID_OVER_LOAD_BATCHES,
        OF_HISTORY,
    ),
    Changed(
        "noted",
        TWO_HEADERS,
        {"id": "bigint", "name": "string"},
        {"id": "bigint", "note": "string", "name": "string"},
        BARE | {"id": "bigint", "name": "string", "note": "string", "batch": "int"},
        NOTED,
    ),
    Changed(
        "sparse",
        SPARSE_SPEC,
        {"id": "bigint", "name": "string", "amount": "decimal(10,2)"},
        {"id": "bigint", "name": "string", "amount": "decimal(10,2)", "note": "string"},
        MASKED | {"id": "bigint", "name": "string", "amount": "decimal(10,2)", "note": "string"},
        SPARSE_BATCHES,
    ),
    Changed(
        "purged",
        TWO_HEADERS | {"arrival": "batch"},
        {"id": "bigint", "name": "string"},
        {"id": "bigint", "note": "string", "name": "string"},
        BARE | {"id": "bigint", "name": "string", "note": "string", "batch": "int"},
        NOTED,
        OF_HISTORY,
        purged=30,
    ),
    Changed(
        "purged_sparse",
        SPARSE_SPEC,
        {"id": "bigint", "name": "string", "amount": "decimal(10,2)"},
        {"id": "bigint", "name": "string", "amount": "decimal(10,2)", "note": "string"},
        MASKED | {"id": "bigint", "name": "string", "amount": "decimal(10,2)", "note": "string"},
        SPARSE_BATCHES,
        OF_HISTORY,
        purged=30,
    ),
    Changed(
        "widened",
        TWO_HEADERS | {"key": ["id", "part no"]},
        NARROW,
        WIDE,
        BARE | WIDE | {"w": "decimal(12,3)", "part no": "decimal(8,0)", "code": "varchar(5)"},
        WIDE_BATCHES,
    ),
    Changed(
        "loaded",
        LOADED_SPEC,
        LOADS,
        LOADS | {"n": "bigint"},
        MESSAGE,
        LOADED_BATCHES,
        ("stg", "dedup", "current"),
        LOADED_SPEC | {"snapshot_seq": seq(10)},
    ),
    Changed(
        "reordered",
        TWO_HEADERS,
        {"id": "bigint", "name": "string", "#it's": "int"},
        {"#it's": "int", "id": "bigint", "name": "string"},
        BARE | {"id": "bigint", "name": "string", "#it's": "int"},
        [[bare(10, "I", 1, "a", 7)], [], [bare(20, "I", 2, "b", 8), bare(10, "I", 1, "a", 7)]],
        ("stg", "dedup", "current"),
    ),
]

TYPES_BEFORE = {
    "id": "decimal(6,1)",
    "shrinks": "bigint",
    "ratio": "float",
    "whole": "int",
    "day": "date",
    "word": "string",
    "short": "varchar(10)",
    "tags": "array<int>",
    "Spelt": "string",
    "gone": "string",
}
TYPES_AFTER = {
    "id": "decimal(8,2)",
    "shrinks": "int",
    "ratio": "double",
    "whole": "double",
    "day": "timestamp_ntz",
    "word": "int",
    "short": "varchar(9)",
    "tags": "array<bigint>",
    "spelt": "string",
    "new": "string",
}
# name of the table -> what is said after "has changed since the model was built: "
REFUSED = [
    Changed(
        "other_types",
        TWO_HEADERS,
        TYPES_BEFORE,
        TYPES_AFTER,
        BARE | TYPES_BEFORE | {"new": "string"},
        models=("stg", "dedup", "current"),
    ),
    Changed(
        "other_key",
        TWO_HEADERS,
        {"id": "bigint", "name": "string"},
        {"id": "bigint", "name": "string"},
        BARE | {"id": "bigint", "name": "string"},
        models=("stg", "dedup"),
        spec_after=TWO_HEADERS | {"key": ["id", "name"]},
    ),
    Changed(
        "counted",
        SPEC | {"headers": ["change_seq", "change_oper", "change_mask"], "mask_type": "string"},
        {"id": "bigint", "a": "int", "b": "int"},
        {"id": "bigint", "b": "int", "new": "int", "a": "int"},
        MASKED | {"id": "bigint", "a": "int", "b": "int", "new": "int"},
        models=("stg", "dedup"),
    ),
]
SAID = {
    "other_types": [
        "column 'spelt' was spelt 'Spelt'",
        "column 'gone' is no longer declared, was string",
        "key column 'id' is decimal(8,2), was decimal(6,1), and its text, which identifies changes, would change",
        "column 'shrinks' is int, was bigint",
        "column 'ratio' is double, was float, and would show other values than the raw table",
        "column 'whole' is double, was int, which is a type of another kind",
        "column 'day' is timestamp_ntz, was date, which is a type of another kind",
        "column 'word' is int, was string",
        "column 'short' is varchar(9), was varchar(10)",
        "column 'tags' is array<bigint>, was array<int>",
    ],
    "other_key": ["`key` is id, name, was id"],
    "counted": ["the order of the columns, by which masks count, is id, b, a, was id, a, b"],
}


@dataclass
class Results:
    """What was found after each build, the first one left out."""

    current: dict[str, list[Rows]]
    history: dict[str, list[Rows]]
    said: str
    said_of_state: str
    batches_before: dict[str, list[tuple[Any, ...]]]
    batches_after: dict[str, list[tuple[Any, ...]]]
    columns: dict[str, dict[str, str]]
    reported: list[tuple[Any, ...]]
    rewritten: list[str]
    revised_by_rescan: dict[str, set[str]]


SHOWN = {
    "newer_than_load": "id, note, name",
    "laid_over_load": "id, note, name",
    "noted": "id, note, name",
    "sparse": "id, name, amount, note",
    "purged": "id, note, name",
    "purged_sparse": "id, name, amount, note",
    "widened": "id, `part no`, amount, n, w, code",
    "loaded": "id, n",
    "reordered": "`#it's`, id, name",
}


def _read(raw: Raw, found: Results) -> None:
    for changed in CHANGED:
        if "current" in changed.models:
            rows = raw.query(f"select {SHOWN[changed.name]} from {SCHEMA}.current_feed__{changed.name}")
            assert len(rows) == len(set(rows)), f"{changed.name}: a row is there twice"
            found.current.setdefault(changed.name, []).append(set(rows))
        if "history" in changed.models:
            bounded = f"{SHOWN[changed.name]}, _valid_from_seq, _valid_to_seq"
            rows = raw.query(f"select {bounded} from {SCHEMA}.history_feed__{changed.name}")
            assert len(rows) == len(set(rows)), f"{changed.name}: a version is there twice"
            found.history.setdefault(changed.name, []).append(set(rows))


def _batches(raw: Raw) -> dict[str, list[tuple[Any, ...]]]:
    return {
        changed.name: raw.query(f"select _change_id, _batch_id from {SCHEMA}.dedup_feed__{changed.name} order by 1")
        for changed in CHANGED
    }


def _columns(raw: Raw) -> dict[str, dict[str, str]]:
    views = [f"{model}_feed__{changed.name}" for changed in CHANGED for model in changed.models]
    return {view: {name: kind for name, kind, *_ in raw.query(f"describe {SCHEMA}.{view}")} for view in views}


def _versions(raw: Raw) -> dict[str, int]:
    tables = [f"{model}_feed__{changed.name}" for changed in CHANGED for model in changed.models if model != "stg"]
    return {table: raw.version(f"{SCHEMA}.{table}__state") for table in tables}


def _die_half_way(raw: Raw) -> None:
    """Leave tables as runs leave them that die while they let them follow the spec."""
    for statement in (
        "dedup_feed__noted__state add columns (note string)",
        "history_feed__noted__state add columns (note string)",
        "dedup_feed__purged__state add columns (note string)",
        "dedup_feed__purged_sparse__state add columns (note string)",
        "dedup_feed__widened__state alter column _key_before.id type bigint",
        "dedup_feed__widened__state alter column amount type decimal(10,3)",
        "current_feed__widened__state alter column id type bigint",
    ):
        raw.query(f"alter table {SCHEMA}.{statement}")


def _land_anew(raw: Raw) -> None:
    """Land a raw table from scratch in other types: a code whose length a table must not keep, an id as text."""
    widened = next(changed for changed in CHANGED if changed.name == "widened")
    table = f"{SCHEMA}_raw.widened"
    raw.create(table, dict(widened.landed) | {"code": "string", "id": "string"})
    raw.insert(table, widened.batches[0])


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """A project with all tables."""
    return consumer(SCHEMA)


@pytest.fixture(scope="module")
def results(project: Consumer, raw: Raw) -> Results:
    """What is found after a build with the changed spec, one more batch, a rescan of one table, and a full refresh."""
    found = Results({}, {}, "", "", {}, {}, {}, [], [], {})
    everything = [*CHANGED, *REFUSED]

    def land(number: int) -> None:
        for table in everything:
            if table.batches[number]:
                raw.insert(f"{SCHEMA}_raw.{table.name}", table.batches[number])

    for table in everything:
        raw.create(f"{SCHEMA}_raw.{table.name}", table.landed)
    raw.create(f"{SCHEMA}_raw.loads", LOADS)
    raw.insert(f"{SCHEMA}_raw.loads", [[1, 5]])
    raw.create(f"{SCHEMA}_raw.old_load", OLD_LOAD)
    raw.insert(f"{SCHEMA}_raw.old_load", [[1, "loaded"], [2, "loaded too"]])
    land(0)
    project.write([table.entry(changed=False) for table in everything], LOADED)
    project.dbt("run", "--exclude", *LISTS)
    found.batches_before = _batches(raw)

    _land_anew(raw)
    for table in CHANGED:
        if table.purged:
            raw.create(f"{SCHEMA}_raw.{table.name}", table.landed)
            raw.insert(f"{SCHEMA}_raw.{table.name}", [row for row in table.batches[0] if row[0] > seq(table.purged)])
    land(1)
    project.write([table.entry(changed=True) for table in everything], LOADED)
    alone = project.dbt("build", "--select", "current_feed__noted", must_succeed=False)
    found.said_of_state = project.errors(alone)
    _die_half_way(raw)
    result = project.dbt("run", "--exclude", "history_feed__widened", "stg_*", *LISTS, must_succeed=False)
    found.said = project.errors(result)
    _read(raw, found)
    found.batches_after = _batches(raw)

    land(2)
    project.write([table.entry(changed=True) for table in CHANGED], LOADED)
    project.dbt("run", "--exclude", "rejected")
    assert "max(_schema_version) over same_change" in project.compiled("dedup_feed__noted"), "logged by fewer columns"
    _read(raw, found)
    found.columns = _columns(raw)
    found.reported = raw.query(f"select table_name, _change_seq, code from {SCHEMA}.reported")
    versions = _versions(raw)
    logs = [f"dedup_feed__{table.name}+" for table in CHANGED]
    project.dbt("run", "--select", *logs, "--exclude", *LISTS)
    found.rewritten = [table for table, version in _versions(raw).items() if version != versions[table]]

    before = _batches(raw)
    project.dbt("run", "--select", *logs, "--exclude", *LISTS, *RESCAN)
    found.revised_by_rescan = _revised(before, _batches(raw))
    _read(raw, found)

    whole = [f"dedup_feed__{table.name}+" for table in CHANGED if not table.purged and not table.spec_after]
    project.dbt("run", "--full-refresh", "--select", *whole, "--exclude", *LISTS)
    _read(raw, found)
    return found


def _revised(before: dict[str, list[tuple[Any, ...]]], after: dict[str, list[tuple[Any, ...]]]) -> dict[str, set[str]]:
    """The changes of each log that were there before and are of a later run now."""
    return {
        name: {change for change, batch in after[name] if dict(batches).get(change, batch) != batch}
        for name, batches in before.items()
    }


def test_a_new_column_has_in_old_rows_what_raw_has_and_a_full_refresh_ends_in_the_same(results: Results) -> None:
    assert results.current["noted"] == [NOTED_CURRENT[number] for number in (0, 1, 1, 1)]
    assert results.history["noted"] == [NOTED_HISTORY[number] for number in (0, 1, 1, 1)]


def test_a_new_column_is_null_where_raw_no_longer_has_the_change_until_it_lands_again(results: Results) -> None:
    assert results.history["purged"] == [PURGED_HISTORY[number] for number in (0, 1, 1, 1)]


def test_the_run_that_adds_a_column_revises_the_changes_of_which_raw_says_more_and_a_rescan_none(
    results: Results,
) -> None:
    with_notes = {f"{seq(50)}:I:4", f"{seq(60)}:I:5", f"{seq(70)}:D:5"}
    # these updates had all columns; now they have all but the note. An insert has all, whatever its mask is
    without_the_note = {f"{seq(30)}:U:1", f"{seq(15)}:U:2"}
    assert _revised(results.batches_before, results.batches_after) == {
        "noted": {f"{seq(10)}:I:1", f"{seq(30)}:U:2"} | with_notes,
        "sparse": without_the_note,
        "purged": with_notes,
        "purged_sparse": set(),
        "widened": set(),
        "loaded": set(),
        "reordered": set(),
        "newer_than_load": {f"{seq(10)}:U:1", f"{seq(15)}:I:3"},
        "laid_over_load": {f"{seq(10)}:U:1"},
    }
    assert set().union(*results.revised_by_rescan.values()) == set()


def test_changes_lack_the_columns_that_were_added_after_them(results: Results) -> None:
    for name, expected in (("sparse", SPARSE_HISTORY), ("purged_sparse", PURGED_SPARSE_HISTORY)):
        assert results.history[name] == [expected[number] for number in (0, 1, 1, 1)], name
    for current, history in zip(results.current["sparse"], results.history["sparse"], strict=True):
        assert current == {version[:-2] for version in history if version[-1] is None}


def test_types_that_only_widen_are_widened_with_what_they_hold(results: Results) -> None:
    assert results.current["widened"] == [WIDE_CURRENT[number] for number in (0, 1, 1, 1)]
    _, batch, _, anew = results.history["widened"]
    assert batch == anew
    assert {version[:-2] for version in batch if version[-1] is None} == WIDE_CURRENT[1]
    for model in WITH_HISTORY:
        types = results.columns[f"{model}_feed__widened"]
        assert {name: types[name] for name in WIDE} == WIDE | {"part no": "decimal(8,0)"}, model


def test_a_type_is_widened_by_the_run_that_takes_a_second_load_with_the_same_row(results: Results) -> None:
    assert results.current["loaded"] == [LOADED_CURRENT[number] for number in (0, 1, 1, 1)]


@pytest.mark.parametrize(
    ("name", "expected"), [("newer_than_load", NEWER_THAN_LOAD), ("laid_over_load", LAID_OVER_LOAD)]
)
def test_a_column_that_the_load_lacks_is_null_in_its_rows(
    results: Results, name: str, expected: Sequence[Rows]
) -> None:
    assert results.history[name] == [expected[number] for number in (0, 1, 1, 1)]


def test_columns_in_another_order_are_shown_in_it(results: Results) -> None:
    assert results.current["reordered"][0] == {(7, 1, "a")}
    assert results.current["reordered"][1:] == [{(7, 1, "a"), (8, 2, "b")}] * 3
    for changed in CHANGED:
        for model in changed.models:
            names = list(results.columns[f"{model}_feed__{changed.name}"])
            assert names[: len(changed.after)] == list(changed.after), f"{model} of {changed.name}"


def test_what_was_known_is_no_conflict_because_a_column_is_new_or_wider(results: Results) -> None:
    conflicts = [(name, seq(50), "conflicting_content") for name in ("noted", "purged")]
    late_and_moved_onto = ("widened", seq(5), "key_collision")
    waiting = [("sparse", seq(number), "orphan") for number in (15, 16, 17)]
    assert sorted(results.reported) == [*conflicts, *waiting, late_and_moved_onto]


def test_where_nothing_is_new_no_table_is_written_after_the_spec_has_changed(results: Results) -> None:
    assert results.rewritten == []


@pytest.mark.parametrize("name", SAID)
def test_any_other_change_stops_the_model_and_all_of_it_is_said_at_once(results: Results, name: str) -> None:
    assert (
        f"change_tables: model 'dedup_feed__{name}': source 'feed.{name}' has changed since the model was built: "
        + "; ".join(SAID[name])
        + "; declare it as it was, or rebuild the log and the models after it with --full-refresh"
    ) in results.said


def test_only_the_refused_models_fail(results: Results) -> None:
    models = ("dedup_", "current_", "history_")
    failed = {line.split(":")[0] for line in results.said.splitlines() if line.startswith(models)}
    assert failed == {f"dedup_feed__{name}" for name in SAID}


def test_a_state_whose_log_has_not_followed_the_spec_says_so(results: Results) -> None:
    assert (
        "change_tables: model 'current_feed__noted': source 'feed.noted' has changed since the log that the model"
        " follows was built; build that first"
    ) in results.said_of_state
