"""The examples of `docs/semantics.md`, landed as Qlik change rows: the models must show what the page shows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pytest

from demo.writers.qlik_change_tables import hex_mask

from .consumer import REPOSITORY, Consumer, Entry
from .histories import HEADERS
from .landing import Raw
from .qlik_cases import seq
from .semantics_page import ABSENT, BATCHES, FIRST, LEFT_OUT, NULL, Example, MalformedPageError, Output, read_page

pytestmark = pytest.mark.slow

SCHEMA = "semantics"
DAY = "2026-01-31"
EXAMPLE = 1000  # sequences of the page are less
QLIK = {"format": "qlik_change_tables", "headers": list(HEADERS), "mask_type": "string"}
LETTERS = {"insert": "I", "update": "U", "delete": "D", "truncate": "T"}

SECTIONS = read_page((REPOSITORY / "docs/semantics.md").read_text())
RUN = [example for examples in SECTIONS.values() for example in examples if example.changes]
REFUSED = [example for examples in SECTIONS.values() for example in examples if not example.changes]


@dataclass
class Run:
    """What the models showed for each output of an example, by its name, and what dbt said about refused settings."""

    shown: dict[str, list[tuple[Output, list[tuple[str, ...]]]]] = field(default_factory=dict)
    said: str = ""


@dataclass(frozen=True)
class SourceTable:
    """The source table of one example, or of several with the same settings: a build costs more than rows do.

    A shared one has the name of the example in its key. Columns that an example lacks are null in its rows.
    """

    name: str
    examples: Sequence[Example]

    @property
    def is_shared(self) -> bool:
        return len(self.examples) > 1

    def columns(self, batch: int) -> dict[str, str]:
        """The columns that are declared when a batch lands, name to type."""
        own = [name for example in self.examples for name in example.declared(batch)]
        names = ["example", *own] if self.is_shared else own
        return {name: "bigint" if name == "id" else "string" for name in names}

    @property
    def raw_columns(self) -> dict[str, str]:
        """The columns that the raw table has from the start, those that are declared later among them."""
        return self.columns(BATCHES[-1])

    @property
    def has_snapshot(self) -> bool:
        return any(example.operations & {"snapshot"} for example in self.examples)

    def lands(self, batch: int) -> bool:
        return any(example.changes_of(batch) for example in self.examples)

    def goes_on(self, batch: int) -> bool:
        """Whether a build after a batch has something new that it is not meant to refuse."""
        return self.lands(batch) and (batch == BATCHES[0] or not self.examples[0].later_settings)

    def entry(self, *, models: Sequence[str] | None = None, later: bool = False) -> Entry:
        """The entry of the sources file, with those models that the examples show."""
        example = self.examples[0]
        settings = example.settings | (example.later_settings if later else {})
        spec = QLIK | {"key": ["example", "id"] if self.is_shared else ["id"]} | settings
        spec.pop("columns", None)
        if self.has_snapshot:
            of_load = {f"snapshot_{what}": f"{{{{ var('{self.name}_{what}', '') }}}}" for what in ("seq", "time")}
            spec |= {"snapshot": f"{self.name}_full"} | of_load
        kinds = {"history" if output.moment else output.kind for one in self.examples for output in one.outputs}
        shown = [kind for kind in ("current", "history") if kind in kinds]
        return Entry(self.name, spec, self.columns(BATCHES[-1 if later else 0]), models or ("stg", "dedup", *shown))

    def change_rows(self, batch: int) -> list[list[Any]]:
        """The rows of a Qlik change table that say what the changes of a batch say."""
        return [
            row
            for place, example in enumerate(self.examples)
            for change in example.changes_of(batch)
            if change["_change_op"] != "snapshot"
            for row in _raw_rows(place, example, change, list(self.raw_columns))
        ]

    def snapshot_rows(self, batch: int) -> list[list[Any]]:
        """The rows of the full load as it is from a batch on; none where it is as before."""
        return [
            _values(change, list(self.raw_columns))
            for example in self.examples
            for change in example.changes_of(batch)
            if change["_change_op"] == "snapshot"
        ]

    def variables(self, batch: int) -> dict[str, str]:
        """Those with the sequence and the time of the load after a batch."""
        found = dict[str, str]()
        for number in BATCHES[:batch]:
            loaded = [change for change in self.examples[0].changes_of(number) if change["_change_op"] == "snapshot"]
            loads = {(change["_change_seq"], change.get("_changed_at", NULL)) for change in loaded}
            if len(loads) > 1:
                raise MalformedPageError(
                    f"example '{self.examples[0].title}': a load has one sequence and time, got {loads}"
                )
            for sequence, at in loads:
                found[f"{self.name}_seq"] = _landed_seq(0, sequence)
                found[f"{self.name}_time"] = "" if at == NULL else f"{DAY} {at}:00"
        return found


def source_tables(examples: Iterable[Example]) -> list[SourceTable]:
    """Examples share a table where neither a change nor a setting of one reaches the rows of another.

    A truncate reaches only what comes before it: the first example of a table may have some.
    """
    alone, shared = list[SourceTable](), dict[str, list[Example]]()
    for example in sorted(examples, key=lambda example: "truncate" not in example.operations):
        reaches = "snapshot" in example.operations or "key" in example.settings or example.later_settings
        known = shared.get(json.dumps(example.settings), [])
        if reaches or not example.changes or ("truncate" in example.operations and known):
            alone.append(SourceTable(example.name, [example]))
        else:
            shared[json.dumps(example.settings)] = [*known, example]
    return alone + [
        SourceTable(f"examples_{number}" if len(group) > 1 else group[0].name, group)
        for number, group in enumerate(shared.values())
    ]


TABLES = source_tables(RUN)


def _raw_rows(place: int, example: Example, change: Mapping[str, str], columns: Sequence[str]) -> list[list[Any]]:
    """The raw row of a change, after its before image where it moved a key."""
    _refuse_impossible(example, change)

    def row(letter: str, values: dict[str, str]) -> list[Any]:
        at, transaction_id = change.get("_changed_at", NULL), change.get("_transaction_id", NULL)
        return [
            _landed_seq(place, change["_change_seq"]),
            letter,
            None,
            None if transaction_id == NULL else transaction_id,
            None if at == NULL else datetime.fromisoformat(f"{DAY} {at}+00:00"),
            *_values({"example": NULL if letter == "T" else example.name} | values, columns),
        ]

    rows = [row(LETTERS[change["_change_op"]], {name: change[name] for name in example.columns})]
    if change["_change_op"] == "update" and example.is_partial:
        not_borne = {*example.key, "example", *(name for name in example.columns if change[name] == ABSENT)}
        bits = [len(HEADERS) + number for number, name in enumerate(columns) if name not in not_borne]
        rows[0][list(HEADERS).index("change_mask")] = hex_mask(bits, whole_bytes=2)
    if change.get("_key_before", NULL) != NULL:
        rows.insert(0, row("B", {"id": change["_key_before"]}))
    return rows


def _refuse_impossible(example: Example, change: Mapping[str, str]) -> None:
    """Stop at a change that the feed cannot write."""
    operation = change["_change_op"]
    declared = example.declared(int(change.get("batch", BATCHES[0])))
    absent = {name for name in declared if change[name] == ABSENT}
    expected = {"delete": set(declared) - set(example.key), "truncate": set(declared)}
    if operation not in LETTERS:
        raise MalformedPageError(f"example '{example.title}': unknown operation '{operation}'")
    if operation in expected and absent != expected[operation]:
        raise MalformedPageError(f"example '{example.title}': a {operation} has its key alone, if any")
    sparse = operation == "update" and example.is_partial
    if operation not in expected and (absent & set(example.key) or (absent and not sparse)):
        raise MalformedPageError(f"example '{example.title}': this {operation} must have {', '.join(sorted(absent))}")


def _values(cells: Mapping[str, str], columns: Sequence[str]) -> list[Any]:
    found = {name: cells.get(name, NULL) for name in columns}
    return [None if cell in (NULL, ABSENT) else int(cell) if name == "id" else cell for name, cell in found.items()]


def _landed_seq(place: int, cell: str) -> str:
    """A sequence with all its digits. Examples in one table have sequences of their own, as changes of a table do."""
    return "" if cell == FIRST else seq(place * EXAMPLE + int(cell))


def _cell(column: str, value: Any) -> str:
    """A value that a model shows, as the page writes it."""
    if value is None:
        return NULL
    if column.endswith("_seq"):
        return FIRST if value == "" else str(int(value.removeprefix(seq(0)[:16])) % EXAMPLE)
    return re.sub(rf"^{DAY} (\d\d:\d\d):00$", r"\1", str(value))


def _as_of_model(table: SourceTable, moment: str) -> str:
    return f"as_of_{moment.replace(':', '')}_{table.name}"


def _read(raw: Raw, table: SourceTable, example: Example, output: Output) -> list[tuple[str, ...]]:
    """The rows of an output, as the page writes them, sorted."""
    if output.kind in ("reported", "rejected"):
        model = output.kind
        holds_key = {"reported": "_change_id", "rejected": "raw_row"}[model]  # as JSON, where it has several columns
        of_example = f"contains({holds_key}, '\"{example.name}\"')"
        condition = f"table_name = '{table.name}' and {of_example if table.is_shared else True}"
    else:
        model = _as_of_model(table, output.moment) if output.moment else f"{output.kind}_feed__{table.name}"
        condition = f"example = '{example.name}'" if table.is_shared else "true"
    columns = ", ".join(f"cast({column} as string)" for column in output.table.columns)
    rows = raw.query(f"select {columns} from {SCHEMA}.{model} where {condition}")
    return sorted(tuple(map(_cell, output.table.columns, row)) for row in rows)


@pytest.fixture(scope="module")
def project(consumer: Callable[[str], Consumer]) -> Consumer:
    """One project with all examples that run."""
    project = consumer(SCHEMA)
    loads = [f"{table.name}_full" for table in TABLES if table.has_snapshot]
    project.write([table.entry() for table in TABLES], further_sources=loads)
    for table in TABLES:
        for moment in {output.moment for example in table.examples for output in example.outputs if output.moment}:
            at = "current_timestamp()" if moment == "now" else f"timestamp'{DAY} {moment}:00'"
            query = f"{{{{ change_tables.as_of(ref('history_feed__{table.name}'), \"{at}\") }}}}\n"
            (project.folder / f"models/{_as_of_model(table, moment)}.sql").write_text(query)
    return project


@pytest.fixture(scope="module")
def run(project: Consumer, raw: Raw) -> Run:
    """All examples, landed and built batch by batch, and the refused settings tried."""
    headers = {f"header__{name}": data_type for name, data_type in HEADERS.items()}
    for table in TABLES:
        raw.create(f"{SCHEMA}_raw.{table.name}", headers | table.raw_columns)
        if table.has_snapshot:
            raw.create(f"{SCHEMA}_raw.{table.name}_full", table.raw_columns)
    run = Run()
    for batch in BATCHES:
        for table in TABLES:
            if rows := table.change_rows(batch):
                raw.insert(f"{SCHEMA}_raw.{table.name}", rows)
            if rows := table.snapshot_rows(batch):
                raw.query(f"truncate table {SCHEMA}_raw.{table.name}_full")
                raw.insert(f"{SCHEMA}_raw.{table.name}_full", rows)
        variables = {name: found for table in TABLES for name, found in table.variables(batch).items()}
        selected = [f"stg_feed__{table.name}+" for table in TABLES if table.goes_on(batch)]
        project.dbt("build", "--select", *selected, "--vars", json.dumps(variables))
        if batch == BATCHES[-1]:
            run.said = _with_later_settings(project)
        for table in TABLES:
            for example in table.examples:
                for output in (output for output in example.all_outputs if output.batch == batch):
                    run.shown.setdefault(example.name, []).append((output, _read(raw, table, example, output)))
    return run


def _with_later_settings(project: Consumer) -> str:
    """Build the entries that go on with other settings; what dbt says where it refuses them."""
    changed = [table for table in TABLES if table.examples[0].later_settings]
    other = replace(project, folder=project.folder.parent / "later_settings")
    other.write([table.entry(later=True) for table in changed])
    models = [f"{kind}_feed__{table.name}" for table in changed for kind in table.entry().models]
    return _one_line(other.errors(other.dbt("build", "--select", *models, must_succeed=False)))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _says(said: str, example: Example) -> bool:
    assert example.refused is not None
    parts = [re.escape(part.strip()) for part in example.refused.split(LEFT_OUT)]
    return re.search(".+?".join(parts), said) is not None


@pytest.mark.parametrize("example", [example for example in RUN if example.outputs], ids=lambda example: example.name)
def test_the_models_show_what_the_page_shows(run: Run, example: Example) -> None:
    assert len(run.shown[example.name]) == len(example.all_outputs)
    for output, rows in run.shown[example.name]:
        label = f"{output.kind} {output.moment or ''} after batch {output.batch}, {', '.join(output.table.columns)}"
        assert rows == sorted(output.table.rows), label


@pytest.mark.parametrize("example", [example for example in RUN if example.refused], ids=lambda example: example.name)
def test_a_log_refuses_other_settings_in_the_words_of_the_page(run: Run, example: Example) -> None:
    assert _says(run.said, example)


def test_a_setting_is_refused_in_the_words_of_the_page(consumer: Callable[[str], Consumer]) -> None:
    refusing = consumer(f"{SCHEMA}_refused")
    refusing.write([table.entry(models=("stg",)) for table in source_tables(REFUSED)])
    said = _one_line(refusing.errors(refusing.dbt("build", must_succeed=False)))
    for example in REFUSED:
        assert _says(said, example)


def test_every_point_has_its_section_and_every_section_an_example() -> None:
    assert list(SECTIONS) == list(range(1, 13))
    assert [number for number, examples in SECTIONS.items() if not examples] == []
    assert {example.name for table in TABLES for example in table.examples} == {example.name for example in RUN}
    assert set(map(id, RUN + REFUSED)) == {id(example) for examples in SECTIONS.values() for example in examples}


RIGHT = """
## 1. Order

### Example: right

Changes:

| _change_seq | _change_op | id | name |
|---|---|---|---|
| 10 | insert | 1 | a |

Current:

| id | name |
|---|---|
| 1 | a |
"""

# what of the right page is replaced, by what, and what is said
MALFORMED = [
    ("### Example: right", "### Right", "a table or a heading outside of an example: 'Right'"),
    ("### Example: right\n", "", "a table or a heading outside of an example: ''"),
    ("## 1. Order", "## 1. Order\n\n## 1. Order", "section 1 is there twice"),
    ("Changes:", "```yaml\nimages: full\n```\n\n```yaml\nimages: full\n```\n", "the second of its kind"),
    (
        "Changes:",
        "```yaml\ncolumns: [id, age]\n```\n\nChanges:",
        "`columns` must be among those of the changes, got age",
    ),
    ("Current:", "Currant:", "a table that no label announces: id, name"),
    ("Current:", "Current:\n\nThis row:", "'Current:' is followed by text"),
    ("Current:", "Refused:", "a table that no label announces: id, name"),
    ("Current:", "As of:", "'As of:' must have a time where it is 'As of', and nowhere else"),
    ("Current:", "Current after batch 1:", "current after batch 1: there are no batches like that"),
    ("Current:\n\n| id | name |\n|---|---|\n| 1 | a |\n", "", "it shows no changes or no output"),
    ("| id | name |\n|---|---|\n| 1 | a |\n", "", "'Current:' is followed by nothing"),
    ("| id | name |\n|---|---|\n", "| id | age |\n|---|---|\n", "a table lacks the column name: id, age"),
    ("| id | name |\n|---|---|\n", "| id | name |\n", "no table: | id | name |"),
    ("|---|---|\n| 1 | a |", "|---|---|\n| 1 |", "a row that lacks cells: | 1 |"),
    ("| 10 | insert", "| | insert", "a row that lacks cells: |  | insert | 1 | a |"),
    ("_change_op", "_change_operation", "a table lacks the column _change_op"),
    ("_change_seq", "batch | _change_seq", "a row that lacks cells"),
    (
        "| id | name |\n|---|---|\n| 1 | a |",
        "| id | name | _batch_id |\n|---|---|---|\n| 1 | a | null |",
        "unknown column _batch_id; known: id, name, _change_op, _change_seq, _changed_at, _transaction_id",
    ),
    ("insert", "upsert", "unknown operation 'upsert'"),
    ("insert | 1 | a", "insert | 1 | ·", "this insert must have name"),
    ("insert | 1 | a", "delete | 1 | a", "a delete has its key alone, if any"),
]


@pytest.mark.parametrize(("right", "wrong", "message"), MALFORMED, ids=lambda text: text.strip().split("\n")[0])
def test_a_page_that_cannot_be_run_is_refused(right: str, wrong: str, message: str) -> None:
    def land(page: str) -> None:
        for table in source_tables(read_page(page)[1]):
            table.change_rows(BATCHES[0])

    land(RIGHT)
    assert right in RIGHT
    with pytest.raises(MalformedPageError, match=re.escape(message)):
        land(RIGHT.replace(right, wrong))
