"""Columns that a source has dropped or renamed: the models keep them, also after the raw table has lost them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from .consumer import Consumer, Entry
from .idm_cases import EVENT, INSERT_FIELD, INSERT_ROW, READ_UPDATE, event
from .idm_cases import SPEC as EVENTS
from .kafka_cases import RECORD as MESSAGE
from .kafka_cases import Topic, body, enveloped
from .landing import Expression, Raw
from .openedge_cases import AFTER, AT, CREATE, HEADERS, TRACKING, Feed
from .qlik_cases import SPEC, WITH_HISTORY, seq

pytestmark = pytest.mark.slow

SCHEMA = "retired_columns"
ALLOW_LOSS = ["--vars", json.dumps({"change_tables_allow_loss": True})]
RESCAN = ["--vars", json.dumps({"change_tables_rescan": True})]
COLUMNS = {"id": "bigint", "note": "string", "name": "string"}
LEFT = {"id": "bigint", "name": "string"}
MASKED = {"header__change_seq": "string", "header__change_oper": "string", "header__change_mask": "string"}
QLIK = SPEC | {"headers": ["change_seq", "change_oper", "change_mask"], "mask_type": "string"}
LISTS = ("rejected", "reported")
"""Views of all tables, which are read after the rescan and at the end."""
TWO_HEADERS = {"header__change_seq": "string", "header__change_oper": "string"}
FILES = {"Op": "string", "change_seq": "string"}
Rows = set[tuple[Any, ...]]


@dataclass(frozen=True)
class Table:
    """A table with a note, which is retired from the second build on; what lands before each build, and its history."""

    name: str
    spec: Mapping[str, Any]
    headers: Mapping[str, str] | None
    """Of a raw table with columns, which loses the note. Null: messages land."""
    batches: Sequence[Sequence[Sequence[Any]]]
    history: Sequence[Rows]
    """After the second build and after the third."""
    retired: bool | str = True
    keeps: bool = False
    """Whether the raw table keeps the note; a load of it does not."""
    declared_later: Mapping[str, str] = field(default_factory=dict)
    """Columns that the third build declares."""

    def entry(self, *, is_retired: bool, is_third: bool = False) -> Entry:
        """The entry before or after the column was dropped."""
        columns = {**COLUMNS, **self.declared_later} if is_third else COLUMNS
        meta = {"note": {"retired": self.retired}} if is_retired else {}
        tests = {"current": [{"change_tables.reconciled_with": {"arguments": {"truth": "source('feed', 'truth')"}}}]}
        shown = tests if is_retired and self.retired == "hide" else {}
        return Entry(self.name, dict(self.spec), columns, self.models, shown, column_meta=meta)

    @property
    def models(self) -> Sequence[str]:
        """A state follows the log alone, so that both kinds are built of those tables only that are about them."""
        return WITH_HISTORY if self in (WHOLE, MESSAGES, HIDDEN) else ("stg", "dedup", "history")


MOVED = {(4, "n12", "p", seq(12), seq(22)), (5, "n12", "p", seq(22), None)}
"""A row whose key moves: the before image lands after the column is gone."""
# three headers: id is bit 3 of the mask, note bit 4, name bit 5; without the note, name is bit 4
WHOLE = Table(
    "whole",
    QLIK | {"snapshot": "loaded"},
    MASKED,
    [
        [
            [seq(10), "I", "38", 1, "n10", "a"],
            [seq(20), "U", "20", 1, "n10", "b"],
            [seq(15), "I", "38", 2, "n15", "x"],
            [seq(12), "I", "38", 4, "n12", "p"],
            [seq(22), "U", "28", 5, "n12", "p"],
        ],
        [[seq(30), "U", "10", 1, "c"], [seq(22), "B", "28", 4, "p"]],
        [[seq(25), "U", "10", 1, "late"], [seq(15), "I", "38", 2, "x"], [seq(40), "I", "18", 3, "y"]],
    ],
    [
        {
            (7, "n7", "loaded", "", None),
            *MOVED,
            (1, "n10", "a", seq(10), seq(20)),
            (1, "n10", "b", seq(20), seq(30)),
            (1, None, "c", seq(30), None),
            (2, "n15", "x", seq(15), None),
        },
        {
            (7, "n7", "loaded", "", None),
            *MOVED,
            (1, "n10", "a", seq(10), seq(20)),
            (1, "n10", "b", seq(20), seq(25)),
            (1, None, "late", seq(25), seq(30)),
            (1, None, "c", seq(30), None),
            (2, "n15", "x", seq(15), None),
            (3, None, "y", seq(40), None),
        },
    ],
)
TOPIC = Topic("messages")
MESSAGES = Table(
    "messages",
    {"format": "qlik_kafka", "key": ["id"]},
    None,
    [
        [
            TOPIC.record(enveloped(body("I", 10, {"id": 1, "note": "n10", "name": "a"}, changeMask="07"))),
            TOPIC.record(enveloped(body("U", 20, {"id": 1, "note": "n20", "name": "a"}, changeMask="02"))),
        ],
        [TOPIC.record(enveloped(body("U", 30, {"id": 1, "name": "b"}, changeMask="02")))],
        [
            TOPIC.record(enveloped(body("U", 25, {"id": 1, "name": "late"}, changeMask="02"))),
            # nothing says whether the source still has the note: then bit 1 is the note's, else the name's
            TOPIC.record(enveloped(body("U", 26, {"id": 1, "name": "late"}, changeMask="00"))),
            TOPIC.record(enveloped(body("U", 27, {"id": 1, "name": None}, columnMask="01"))),
            TOPIC.record(enveloped(body("U", 28, {"id": 1, "name": None}, columnMask="03"))),
            TOPIC.record(enveloped(body("U", 31, {"id": 1, "name": None}, columnMask="07"))),
        ],
    ],
    [
        {(1, "n10", "a", seq(10), seq(20)), (1, "n20", "a", seq(20), seq(30)), (1, "n20", "b", seq(30), None)},
        {
            (1, "n10", "a", seq(10), seq(20)),
            (1, "n20", "a", seq(20), seq(25)),
            (1, "n20", "late", seq(25), seq(30)),
            (1, "n20", "b", seq(30), seq(31)),
            (1, "n20", None, seq(31), None),
        },
    ],
)
OF_FILES = {(1, "n10", "a", seq(10), seq(20)), (1, None, "b", seq(20), None), (2, "n15", "x", seq(15), None)}
HIDDEN = Table(
    "hidden",
    {"format": "dms", "key": ["id"], "sequence_column": "change_seq"},
    FILES,
    [
        [["I", seq(10), 1, "n10", "a"], ["I", seq(15), 2, "n15", "x"]],
        [["U", seq(20), 1, "b"]],
        [["I", seq(15), 2, "x"]],
    ],
    [OF_FILES, OF_FILES],
    "hide",
)
# changes that were logged without their tracking rows, and one without its second part: these land without the note.
# The name of 4 is the third field, at which its record was cut
TRACKED_ROWS = {
    (1, "n1", "a", f"{1:019d}", f"{3:019d}"),
    (1, "n3", "a", f"{3:019d}", None),
    (2, "n2", "b", f"{2:019d}", None),
    (3, "n4", "long", f"{4:019d}", None),
}
TRACKING_ROWS = Feed(13)
TRACKING_ROWS.track(CREATE, 1)
TRACKING_ROWS.track(AFTER, 3, "note")
# what waits and what is rejected has the note; the before image of 22 lands in the third build
ARRIVING = Table(
    "arriving",
    SPEC | {"headers": ["change_seq", "change_oper"], "arrival": "landed_at"},
    {**TWO_HEADERS, "landed_at": "int"},
    [
        [
            [seq(12), "I", 1, 4, "n12", "p"],
            [seq(22), "U", 1, 5, "n12", "p"],
            [seq(10), "I", 1, 1, "n10", "a"],
            [seq(30), "B", 1, 1, "n10", "a"],
            [seq(31), "I", 1, None, "n31", "z"],
        ],
        [[seq(30), "U", 2, 9, "b"]],
        [[seq(22), "B", 3, 4, "p"]],
    ],
    [
        {
            (4, "n12", "p", seq(12), None),
            (5, "n12", "p", seq(22), None),
            (1, "n10", "a", seq(10), seq(30)),
            (9, None, "b", seq(30), None),
        },
        {*MOVED, (1, "n10", "a", seq(10), seq(30)), (9, None, "b", seq(30), None)},
    ],
)
# the load lacks the note from the second build on, the changes have it; all have a size, which the third build declares
RELOADED = Table(
    "reloaded",
    SPEC | {"headers": ["change_seq", "change_oper"], "snapshot": "loaded"},
    {**TWO_HEADERS, "size": "int"},
    [
        [[seq(10), "I", 5, 1, "n10", "a"]],
        [[seq(20), "U", 6, 1, "n20", "b"]],
        [[seq(30), "U", 7, 1, None, "c"]],
    ],
    [
        {
            (7, "n7", "loaded", "", None),
            (1, "n10", "a", seq(10), seq(20)),
            (1, "n20", "b", seq(20), None),
        },
        {
            (7, "n7", "loaded", "", None),
            (1, "n10", "a", seq(10), seq(20)),
            (1, "n20", "b", seq(20), seq(30)),
            (1, None, "c", seq(30), None),
        },
    ],
    keeps=True,
    declared_later={"size": "int"},
)
TRACKED = Table(
    "tracked",
    {
        "format": "openedge_cdc",
        "key": ["id"],
        "tracking": "tracking",
        "source_table_number": 13,
        "without_tracking": "apply",
    },
    HEADERS,
    [
        [
            [7, AT, 1, 0, 0, 0, CREATE, 1, "n1", "a"],
            [7, AT, 3, 0, 0, 0, AFTER, 1, "n3", None],
            [7, AT, 2, 0, 0, 0, CREATE, 2, "n2", None],
            [7, AT, 4, 0, 0, 1, CREATE, 3, "n4", "lo"],
            [7, AT, 4, 2, 0, 1, CREATE, None, None, "ng"],
        ],
        [[7, AT, 2, 1, 0, 0, CREATE, None, "b"]],
        [],
    ],
    [TRACKED_ROWS, TRACKED_ROWS],
)
TABLES = [WHOLE, MESSAGES, HIDDEN, ARRIVING, RELOADED, TRACKED]
REBUILT = [WHOLE, MESSAGES, HIDDEN, ARRIVING]
"""Those of which a full refresh says something: of the others, versions differ in the note alone, or raw has it."""

# what a renamed column lands as: `place` stays, the key was the number, the note was the memo, and the remark before
RENAMED_SPEC = QLIK | {"key": ["id", "place"], "images": "partial", "arrival": "landed"}
RENAMED_COLUMNS = {"id": "bigint", "place": "string", "note": "string", "name": "string"}
RENAMED_RAW = {**MASKED, "landed": "int", "number": "int", "place": "string", "remark": "string", "name": "string"}
# id is bit 3 of the mask, place bit 4, note bit 5, name bit 6. Rows of the second build also have an id
# and a memo, those of the third also a note
RENAMED_BATCHES: Sequence[Sequence[Sequence[Any]]] = [
    [
        [seq(10), "I", "78", 1, 1, "p", "n10", "a"],
        [seq(20), "U", "40", 1, 1, "p", None, "b"],
        [seq(30), "U", "20", 1, 1, "p", None, None],
        [seq(12), "I", "78", 1, 2, "p", "n12", "x"],
        [seq(22), "B", "08", 1, 2, "p", None, None],
        [seq(22), "U", "08", 1, 3, "p", None, None],
        [seq(31), "I", "78", 1, None, None, "n31", "z"],
    ],
    [
        [seq(40), "U", "20", 2, None, "p", None, None, 1, "m40"],
        [seq(25), "U", "20", 2, 1, "p", "late", None, None, None],
        [seq(12), "I", "78", 2, None, "p", None, "x", 2, "n12"],
        [seq(50), "I", "78", 2, 4, "p", "both", "d", 4, "both"],
        [seq(51), "I", "78", 2, 5, "p", "one", "e", 5, "other"],
    ],
    [
        [seq(60), "U", "60", 3, None, "p", None, "f", 4, None, "n60"],
        [seq(45), "U", "20", 3, None, "p", None, None, 1, "m45", None],
        [seq(24), "U", "40", 3, 3, "p", None, "y", None, None, None],
    ],
]
RENAMED_HISTORY: Sequence[Rows] = [
    {
        (1, "p", "n10", "a", seq(10), seq(20)),
        (1, "p", "n10", "b", seq(20), seq(25)),
        (1, "p", "late", "b", seq(25), seq(30)),
        (1, "p", None, "b", seq(30), seq(40)),
        (1, "p", "m40", "b", seq(40), None),
        (2, "p", "n12", "x", seq(12), seq(22)),
        (3, "p", "n12", "x", seq(22), None),
        (4, "p", "both", "d", seq(50), None),
    },
    {
        (1, "p", "n10", "a", seq(10), seq(20)),
        (1, "p", "n10", "b", seq(20), seq(25)),
        (1, "p", "late", "b", seq(25), seq(30)),
        (1, "p", None, "b", seq(30), seq(40)),
        (1, "p", "m40", "b", seq(40), seq(45)),
        (1, "p", "m45", "b", seq(45), None),
        (2, "p", "n12", "x", seq(12), seq(22)),
        (3, "p", "n12", "x", seq(22), seq(24)),
        (3, "p", "n12", "y", seq(24), None),
        (4, "p", "both", "d", seq(50), seq(60)),
        (4, "p", "n60", "f", seq(60), None),
    },
]
TOPIC_OF_RENAMED = Topic("topic")
TOPIC_COLUMNS = {"id": "bigint", "note": "decimal(20,10)", "name": "string"}
# the update of 21 has the new name before that is declared: a rescan completes what was logged of it
TOPIC_BATCHES = [
    [
        TOPIC_OF_RENAMED.record(enveloped(body("U", 21, {"id": 1, "note": 7}))),
        TOPIC_OF_RENAMED.record(enveloped(body("I", 10, {"id": 1, "memo": 1.5, "name": "a"}, changeMask="07"))),
        TOPIC_OF_RENAMED.record(enveloped(body("U", 20, {"id": 1, "memo": 2}, changeMask="02"))),
    ],
    [
        TOPIC_OF_RENAMED.record(enveloped(body("U", 30, {"id": 1, "note": 3}, changeMask="02"))),
        TOPIC_OF_RENAMED.record(
            json.dumps(enveloped(body("U", 25, {"id": 1, "memo": "long"}))).replace('"long"', "1234567890.0987654321")
        ),
        TOPIC_OF_RENAMED.record(enveloped(body("U", 26, {"id": 1, "memo": 4, "note": 5}))),
        TOPIC_OF_RENAMED.record(enveloped(body("U", 27, {"id": 1, "memo": 6, "note": 6, "name": "b"}))),
        TOPIC_OF_RENAMED.record(
            json.dumps(enveloped(body("U", 28, {"id": 1, "name": "x"}))).replace('"x"', '"x", "name": "y"')
        ),
    ],
    [TOPIC_OF_RENAMED.record(enveloped(body("U", 40, {"id": 1, "note": None, "name": "c"}, columnMask="06")))],
]
OF_TOPIC = {
    (1, "1.5000000000", "a", seq(10), seq(20)),
    (1, "1234567890.0987654321", "a", seq(25), seq(27)),
    (1, "6.0000000000", "b", seq(27), seq(30)),
}
LAST_OF_TOPIC = {(1, "3.0000000000", "b", seq(30), seq(40)), (1, None, "c", seq(40), None)}
TOPIC_HISTORY: Sequence[Rows] = [
    {*OF_TOPIC, (1, "2.0000000000", "a", seq(20), seq(25)), (1, "3.0000000000", "b", seq(30), None)},
    {*OF_TOPIC, (1, "2.0000000000", "a", seq(20), seq(25)), *LAST_OF_TOPIC},
    {
        *OF_TOPIC,
        (1, "2.0000000000", "a", seq(20), seq(21)),
        (1, "7.0000000000", "a", seq(21), seq(25)),
        *LAST_OF_TOPIC,
    },
]
# what is said of the values of a row under two names
TWO_VALUES = {
    "renamed": "column note: different values under note, memo, remark: other, one",
    "topic": "column note: different values under note, memo: 5, 4",
}


def _renamed(stage: int) -> list[Entry]:
    """The entries of renamed columns in each build."""
    names = [("number", "remark"), ("id", "memo"), ("id", "note")][stage]
    key, note = names
    columns = dict(zip([key, "place", note, "name"], RENAMED_COLUMNS.values(), strict=True))
    before: Sequence[Mapping[str, str | list[str]]] = [
        {},
        {"id": "number", "memo": "remark"},
        {"id": ["number"], "note": ["memo", "remark"]},
    ]
    meta = {name: {"renamed_from": names_before} for name, names_before in before[stage].items()}
    of_topic = {"note": {"renamed_from": "memo"}} if stage else {}
    topic = TOPIC_COLUMNS if stage else {"memo" if name == "note" else name: t for name, t in TOPIC_COLUMNS.items()}
    return [
        Entry("renamed", RENAMED_SPEC | {"key": [key, "place"]}, columns, WITH_HISTORY, column_meta=meta),
        Entry(
            "topic", {"format": "qlik_kafka", "key": ["id"]}, topic, ("stg", "dedup", "history"), column_meta=of_topic
        ),
    ]


def _die_while_renaming(raw: Raw) -> None:
    """Leave tables as runs leave them that die while they rename their columns."""
    for statement in (
        "dedup_feed__renamed__state rename column _key_before.number to id",
        "dedup_feed__renamed__state rename column remark to memo",
        "current_feed__renamed__state rename column number to id",
        "dedup_feed__topic__state rename column memo to note",
    ):
        raw.query(f"alter table {SCHEMA}.{statement}")


# raw tables that never had the note, and have the name under another one: the entry, what lands, the rows
TITLED = {"id": "bigint", "title": "string"}
WORDS = {"I": "insert", "U": "update"}
MAPPED = {
    "format": "mapped",
    "key": ["id"],
    "operation": "op",
    "operations": WORDS,
    "sequence": [{"sql": "at", "kind": "number", "length": 4}],
}
WITHOUT_NOTE: Sequence[tuple[str, Mapping[str, Any], Mapping[str, str], Sequence[Sequence[Any]]]] = [
    (
        "fields",
        MAPPED | {"images": "partial", "row": "after", "not_captured": {"value": "?"}},
        {"op": "string", "at": "int", "after": "struct<id:bigint,title:string>"},
        [
            ["I", 1, Expression("named_struct('id', 1L, 'title', 'a')")],
            ["U", 2, Expression("named_struct('id', 1L, 'title', 'b')")],
        ],
    ),
    (
        "positions",
        MAPPED | {"position": ["part", "place"]},
        {"op": "string", "at": "int", "part": "int", "place": "int"} | TITLED,
        [["I", 1, 0, 1, 1, "a"], ["U", 2, 0, 2, 1, "b"]],
    ),
    (
        "openedge",
        {
            "format": "openedge_cdc",
            "key": ["id"],
            "tracking": "tracking",
            "source_table_number": 12,
            "without_tracking": "apply",
            "null_without_field_map": "set",
        },
        HEADERS | TITLED | {"Name": "varchar(9)"},
        [
            [7, AT, 1, 0, 0, 0, 1, 1, "a", None],
            [7, AT, 2, 0, 0, 0, 4, 1, None, "b"],
            [7, AT, 3, 0, 0, 0, 4, 1, "c", "d"],
        ],
    ),
    (
        "usr",
        EVENTS | {"replica": "replica"},
        EVENT,
        [
            event(1, INSERT_ROW, "id=1"),
            event(2, READ_UPDATE, "id=1", "note"),
            event(3, INSERT_FIELD, "id=1", "title", new="b"),
        ],
    ),
]


@dataclass
class Results:
    """What was found after each build from the second on, of a rescan and of a full refresh."""

    history: dict[str, list[Rows]]
    current: dict[str, list[Rows]]
    rewritten: list[str]
    masked: Rows
    loss: str
    quarantined: Rows
    sizes: Rows
    reported: list[tuple[Any, ...]]
    renamed: dict[str, list[Rows]]
    changes: list[list[tuple[Any, ...]]]


def _read(raw: Raw, found: Results) -> None:
    for table in TABLES:
        for model, results, shown in (
            ("current", found.current, "id, name" if table is HIDDEN else "id, note, name"),
            ("history", found.history, "id, note, name, _valid_from_seq, _valid_to_seq"),
        ):
            if model not in table.models:
                continue
            rows = raw.query(f"select {shown} from {SCHEMA}.{model}_feed__{table.name}")
            assert len(rows) == len(set(rows)), f"{model} of {table.name} has a row twice"
            results.setdefault(table.name, []).append(set(rows))


def _read_renamed(raw: Raw, found: Results, note: str) -> None:
    """What models of renamed columns have, and what identifies the changes in the log."""
    for model, bounds in (("current", ""), ("history", ", _valid_from_seq, _valid_to_seq")):
        rows = raw.query(f"select id, place, {note}, name{bounds} from {SCHEMA}.{model}_feed__renamed")
        found.renamed.setdefault(f"{model} renamed", []).append(set(rows))
    rows = raw.query(
        f"select id, cast(note as string), name, _valid_from_seq, _valid_to_seq from {SCHEMA}.history_feed__topic"
    )
    found.renamed.setdefault("history topic", []).append(set(rows))
    named = "array_join(_present_columns, ' '), array_join(_changed_columns, ' ')"
    log = f"{SCHEMA}.dedup_feed__renamed"
    found.changes.append(
        raw.query(f"select _change_id, _raw_id, {named}, _key_before.id, _batch_id from {log} order by 1")
    )


def _versions(raw: Raw) -> dict[str, int]:
    models = {table.name: table.models for table in TABLES} | {entry.name: entry.models for entry in _renamed(0)}
    names = [f"{model}_feed__{name}__state" for name, kinds in models.items() for model in kinds if model != "stg"]
    return {name: raw.version(f"{SCHEMA}.{name}") for name in names}


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """A project with all tables."""
    return consumer(SCHEMA)


@pytest.fixture(scope="module")
def results(project: Consumer, raw: Raw) -> Results:
    """What is found while the source drops a column, and after that."""
    found = Results({}, {}, [], set(), "", set(), set(), [], {}, [])

    def land(number: int) -> None:
        for table in TABLES:
            raw.insert(f"{SCHEMA}_raw.{table.name}", table.batches[number])
        if number:
            added = ["id bigint, memo string", "note string"][number - 1]
            raw.query(f"alter table {SCHEMA}_raw.renamed add columns ({added})")
        raw.insert(f"{SCHEMA}_raw.renamed", RENAMED_BATCHES[number])
        raw.insert(f"{SCHEMA}_raw.topic", TOPIC_BATCHES[number])

    def entries(*, is_retired: bool, is_third: bool = False) -> tuple[list[Entry], list[str]]:
        meta: dict[str, dict[str, Any]] = {"note": {"retired": True}, "name": {"renamed_from": "title"}}
        further = [
            Entry(name, dict(spec), COLUMNS, ("stg", "dedup", "current"), column_meta=meta)
            for name, spec, _, _ in WITHOUT_NOTE
        ]
        tables = [table.entry(is_retired=is_retired, is_third=is_third) for table in TABLES]
        renamed = _renamed(is_retired + is_third)
        return [*tables, *further, *renamed], ["loaded", "tracking", "replica", "truth"]

    for table in TABLES:
        raw.create(f"{SCHEMA}_raw.{table.name}", MESSAGE if table.headers is None else {**table.headers, **COLUMNS})
    for name, _, landed, rows in WITHOUT_NOTE:
        raw.create(f"{SCHEMA}_raw.{name}", landed)
        raw.insert(f"{SCHEMA}_raw.{name}", rows)
    raw.create(f"{SCHEMA}_raw.tracking", TRACKING)
    raw.create(f"{SCHEMA}_raw.renamed", RENAMED_RAW)
    raw.create(f"{SCHEMA}_raw.topic", MESSAGE)
    raw.create(f"{SCHEMA}_raw.replica", TITLED)
    raw.insert(f"{SCHEMA}_raw.replica", [[1, "b"]])
    raw.create(f"{SCHEMA}_raw.truth", COLUMNS)  # it has the note, which the model does not show
    raw.insert(f"{SCHEMA}_raw.truth", [[1, "kept", "b"], [2, "kept", "x"]])
    raw.create(f"{SCHEMA}_raw.loaded", COLUMNS)
    raw.insert(f"{SCHEMA}_raw.loaded", [[7, "n7", "loaded"]])
    land(0)
    project.write(*entries(is_retired=False))
    project.dbt("run", "--exclude", "stg_*", *LISTS)

    for table in TABLES:
        if table.headers is not None and not table.keeps:
            raw.create(f"{SCHEMA}_raw.{table.name}", {**table.headers, **LEFT})
            raw.insert(f"{SCHEMA}_raw.{table.name}", [[*row[:-2], row[-1]] for row in table.batches[0]])
    raw.create(f"{SCHEMA}_raw.loaded", LEFT)
    raw.insert(f"{SCHEMA}_raw.loaded", [[7, "loaded"]])
    land(1)
    raw.insert(f"{SCHEMA}_raw.tracking", TRACKING_ROWS.tracking[0])
    project.write(*entries(is_retired=True))
    _die_while_renaming(raw)
    logs = [f"dedup_feed__{name}+" for name in [table.name for table in TABLES] + ["renamed", "topic"]]
    project.dbt("build", "--select", *logs, "--exclude", *LISTS)
    _read(raw, found)
    _read_renamed(raw, found, "memo")
    open_rows = f"select _status, _raw_row from {SCHEMA}.dedup_feed__arriving__quarantine where _healed_at is null"
    found.quarantined = {(status, "note" in json.loads(row)) for status, row in raw.query(open_rows)}
    land(2)
    project.write_sources(*entries(is_retired=True, is_third=True))
    project.dbt("build", "--select", *logs, "--exclude", *LISTS)
    _read(raw, found)
    _read_renamed(raw, found, "note")
    before = _versions(raw)
    project.dbt("run", "--select", *logs, "--exclude", *LISTS)
    found.rewritten = [name for name, version in _versions(raw).items() if version != before[name]]
    project.dbt("build", "--select", *logs, *RESCAN)
    _read(raw, found)
    _read_renamed(raw, found, "note")
    for name in ("whole", "messages"):
        changed = f"select right(_change_seq, 2), array_join(_changed_columns, ' ') from {SCHEMA}.dedup_feed__{name}"
        found.masked |= set(raw.query(f"{changed} where _change_op <> 'snapshot'"))
    names = ", ".join(f"'{name}'" for name in [table.name for table in TABLES] + ["renamed", "topic"])
    reports = f"select table_name, _change_seq, code from {SCHEMA}.reported"
    found.reported = raw.query(f"{reports} where table_name in ({names})")
    found.sizes = set(raw.query(f"select _change_seq, size, note from {SCHEMA}.dedup_feed__reloaded"))
    refused = ["dedup_feed__whole", "dedup_feed__reloaded"]
    found.loss = project.errors(project.dbt("build", "--full-refresh", "--select", *refused, must_succeed=False))
    rebuilt = [f"dedup_feed__{name}+" for name in [*(table.name for table in REBUILT), "renamed", "topic"]]
    project.dbt("build", "--full-refresh", "--select", *rebuilt, *ALLOW_LOSS)
    _read(raw, found)
    _read_renamed(raw, found, "note")
    return found


def _without_note(rows: Rows) -> Rows:
    return {(id_, None, *others) for id_, _, *others in rows}


@pytest.mark.parametrize("table", [WHOLE, HIDDEN, ARRIVING, RELOADED, TRACKED], ids=lambda table: table.name)
def test_the_models_keep_what_raw_has_lost_until_a_rebuild_is_allowed_to_lose_it(
    results: Results, table: Table
) -> None:
    before, after = table.history
    assert results.history[table.name][:3] == [before, after, after]
    if table in REBUILT:
        assert results.history[table.name][3] == _without_note(after)


def test_a_retired_column_is_read_from_the_messages_that_have_it(results: Results) -> None:
    before, after = MESSAGES.history
    assert results.history["messages"] == [before, after, after, after]


@pytest.mark.parametrize("table", [WHOLE, MESSAGES, HIDDEN], ids=lambda table: table.name)
def test_current_is_what_the_history_ends_with_and_can_leave_the_column_out(
    project: Consumer, raw: Raw, results: Results, table: Table
) -> None:
    for current, history in zip(results.current[table.name], results.history[table.name], strict=True):
        living = {version[:3] for version in history if version[-1] is None}
        assert current == ({(id_, name) for id_, _, name in living} if table is HIDDEN else living)
    names = [name for name, *_ in raw.query(f"describe {project.schema}.current_feed__{table.name}")]
    assert ("note" in names) == (table is not HIDDEN)


def test_a_mask_does_not_count_a_retired_column_that_is_not_there(results: Results) -> None:
    assert results.masked == {
        ("10", "id note name"),
        ("12", "id note name"),
        ("15", "id note name"),
        ("22", "id name"),
        ("20", "name"),  # of the change table
        ("20", "note"),  # of the messages
        ("25", "name"),
        ("30", "name"),
        ("25", None),  # of a message: a bit of the note or of the name
        ("26", ""),
        ("27", None),  # without a mask
        ("30", None),
        ("31", None),
        ("40", "id name"),
    }


def test_what_lands_again_without_the_column_is_no_conflict_and_nothing_new(results: Results) -> None:
    assert results.rewritten == []
    assert results.reported == []


@pytest.mark.parametrize("table", [WHOLE, RELOADED], ids=lambda table: table.name)
def test_a_full_refresh_that_would_lose_the_values_of_a_retired_column_is_refused(
    results: Results, table: Table
) -> None:
    assert (
        f"change_tables: model 'dedup_feed__{table.name}': a full refresh would lose the values of note that the log"
        f" holds and {SCHEMA}_raw.{table.name} no longer has; leave out --full-refresh"
    ) in results.loss


def test_a_column_that_is_declared_later_is_read_beside_one_that_a_load_has_lost(results: Results) -> None:
    assert results.sizes == {("", None, "n7"), (seq(10), 5, "n10"), (seq(20), 6, "n20"), (seq(30), 7, None)}


def test_what_waited_with_the_column_does_not_wait_for_ever_without_it(results: Results) -> None:
    assert results.quarantined == {("rejected", False)}


def test_a_message_whose_null_may_be_no_value_is_rejected(raw: Raw, results: Results) -> None:
    assert results.current["messages"][1] == {(1, "n20", None)}
    codes = f"select substring_index(reason_code, ':', 1), reason_detail from {SCHEMA}.rejected"
    assert raw.query(f"{codes} where table_name = 'messages'") == [
        (
            "column_mask_ambiguous",
            "without metadata, and without the retired columns, it is not known which bit name has, which is null",
        )
    ]


@pytest.mark.parametrize("name", [name for name, *_ in WITHOUT_NOTE])
@pytest.mark.usefixtures("results")
def test_a_raw_table_need_not_have_the_column_whatever_its_format(raw: Raw, name: str) -> None:
    assert raw.query(f"select id, note, name from {SCHEMA}.current_feed__{name}") == [(1, None, "b")]
    present = f"select distinct array_contains(_present_columns, 'note') from {SCHEMA}.dedup_feed__{name}"
    assert raw.query(f"{present} where _change_op = 'update'") == [(None if name == "positions" else False,)]
    two = "column name: different values under Name, title: d, c"
    rejected = f"select reason_detail from {SCHEMA}.rejected where table_name = '{name}'"
    assert raw.query(rejected) == ([(two,)] if name == "openedge" else [])


@pytest.mark.parametrize("name", ["renamed", "topic"])
def test_a_renamed_column_is_one_column_whatever_name_a_row_has_and_whenever_it_lands(
    results: Results, name: str
) -> None:
    before, after, rescanned = {"renamed": [*RENAMED_HISTORY, RENAMED_HISTORY[-1]], "topic": TOPIC_HISTORY}[name]
    expected = [before, after, rescanned, rescanned]
    assert results.renamed[f"history {name}"] == expected
    if name == "renamed":
        current = [{row[:-2] for row in versions if row[-1] is None} for versions in expected]
        assert results.renamed["current renamed"] == current


def test_what_identifies_a_change_and_which_columns_it_has_stays_and_nothing_is_taken_in_again(
    results: Results,
) -> None:
    second, third, rescanned, rebuilt = results.changes
    # `_raw_id` is a hash of what raw had when the change was logged: a rebuild has that of today
    assert [(row[0], *row[2:-1]) for row in third] == [(row[0], *row[2:-1]) for row in rebuilt]
    assert third == rescanned
    first = {seq(number) for number in (10, 12, 20, 22, 30)}
    assert {row[-1] for row in second if row[0][:35] in first} == {min(row[-1] for row in second)}
    assert [row[2:5] for row in second if row[0][:35] == seq(22)] == [("id place", "id", 2)]


@pytest.mark.parametrize("name", TWO_VALUES)
@pytest.mark.usefixtures("results")
def test_a_row_with_two_values_of_a_column_is_rejected(raw: Raw, name: str) -> None:
    told = f"select reason_detail from {SCHEMA}.rejected where reason_code = 'value_does_not_fit'"
    assert raw.query(f"{told} and table_name = '{name}'") == [(TWO_VALUES[name],)]


@pytest.mark.usefixtures("results")
def test_a_row_with_one_name_twice_is_rejected(raw: Raw) -> None:
    told = f"select table_name, reason_detail from {SCHEMA}.rejected where reason_code = 'column_names_collide'"
    assert raw.query(told) == [("topic", "names in the row are the same")]
