"""Reads `docs/semantics.md`: its numbered sections and their examples. What it does not understand is an error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

BATCHES = (1, 2)
ABSENT = "·"
NULL = "null"
LEFT_OUT = "…"
FIRST = "''"

CHANGE_COLUMNS = ("batch", "_change_seq", "_change_op", "_transaction_id", "_changed_at", "_key_before")
"""What a table of changes may have besides the columns of the source table."""

_LAST_CHANGE = ("_change_op", "_change_seq", "_changed_at", "_transaction_id")
_INTERVAL = ("_valid_from_seq", "_valid_to_seq", "_valid_from", "_valid_to", "_is_current")
_SHOWN_BESIDES = {"current": _LAST_CHANGE, "history": _INTERVAL + _LAST_CHANGE, "as of": _LAST_CHANGE}
_LISTED = {"reported": ("_change_seq", "code"), "rejected": ("reason_code", "reason_detail")}

_LABEL = re.compile(
    r"(?P<kind>changes|current|history|reported|rejected|refused|as of|settings from batch 2 on)"
    r"(?: (?P<moment>\d\d:\d\d|now))?(?: after batch (?P<batch>\d))?:",
    re.IGNORECASE,
)
_FENCE = "```"


class MalformedPageError(ValueError):
    """The page has something that cannot be run."""


@dataclass(frozen=True)
class Table:
    """A table of the page: its cells as they are written there."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def records(self) -> list[dict[str, str]]:
        """The rows by name of the column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Output:
    """What a model shows after a batch: `current`, `history`, `as of` a moment, `reported` or `rejected`."""

    kind: str
    moment: str | None
    batch: int
    table: Table


@dataclass
class Example:
    """An example: the settings and the changes of one source table, and what comes of them.

    `later_settings` count from batch 2 on; `columns` among the settings are those that are declared, by default all.
    `refused` is what dbt says where it stops.
    """

    section: int
    title: str
    settings: dict[str, Any] = field(default_factory=dict)
    later_settings: dict[str, Any] = field(default_factory=dict)
    changes: Table | None = None
    outputs: list[Output] = field(default_factory=list)
    refused: str | None = None

    @property
    def name(self) -> str:
        """The title as the name of a table."""
        return re.sub("[^a-z0-9]+", "_", self.title.lower()).strip("_")

    @property
    def columns(self) -> list[str]:
        """The columns of the source table."""
        columns = self.changes.columns if self.changes else ("id",)
        return [column for column in columns if column not in CHANGE_COLUMNS]

    def declared(self, batch: int) -> list[str]:
        """The columns that are declared when a batch lands."""
        settings = self.settings | (self.later_settings if batch > BATCHES[0] else {})
        return list(settings.get("columns", self.columns))

    @property
    def key(self) -> list[str]:
        """The key of the source table, by its first settings."""
        return list(self.settings.get("key", ["id"]))

    @property
    def is_partial(self) -> bool:
        """Whether its updates may lack columns."""
        return self.settings.get("images") == "partial"

    @property
    def operations(self) -> set[str]:
        """The operations that occur among its changes."""
        return {record["_change_op"] for record in self.changes.records()} if self.changes else set()

    @property
    def all_outputs(self) -> list[Output]:
        """The outputs, also that nothing is reported where the page does not say what is."""
        if any((output.kind, output.batch) == ("reported", BATCHES[-1]) for output in self.outputs):
            return self.outputs
        return [*self.outputs, Output("reported", None, BATCHES[-1], Table(_LISTED["reported"], ()))]

    def changes_of(self, batch: int) -> list[dict[str, str]]:
        """The changes that land in a batch; by default all land in the first."""
        records = self.changes.records() if self.changes else []
        return [record for record in records if int(record.get("batch", BATCHES[0])) == batch]


def read_page(text: str) -> Mapping[int, Sequence[Example]]:
    """The examples of each numbered section.

    Raises:
        MalformedPageError: where a section or an example has something that is not understood
    """
    sections: dict[int, list[Example]] = {}
    for title, lines in _parts(text.splitlines(), "## "):
        numbered = re.match(r"(\d+)\. ", title)
        if not numbered:
            continue
        number = int(numbered[1])
        if number in sections:
            raise MalformedPageError(f"section {number} is there twice")
        sections[number] = [
            _read_example(number, heading, block)
            for heading, block in _parts(lines, "### ")
            if heading or _has_what_only_examples_have(block)
        ]
    names = [example.name for examples in sections.values() for example in examples]
    for name in names:
        if names.count(name) > 1:
            raise MalformedPageError(f"two examples have the name {name}")
    return sections


def _parts(lines: Sequence[str], mark: str) -> Iterator[tuple[str, list[str]]]:
    """The lines under each heading of a level; those before the first under an empty one."""
    heading, block = "", list[str]()
    for line in lines:
        if line.startswith(mark):
            yield heading, block
            heading, block = line.removeprefix(mark).strip(), []
        else:
            block.append(line)
    yield heading, block


def _has_what_only_examples_have(block: Sequence[str]) -> bool:
    """Whether there are lines that only an example may have."""
    return any(line.startswith(("|", _FENCE)) for line in block)


def _read_example(section: int, heading: str, block: Sequence[str]) -> Example:
    if not heading.startswith("Example: "):
        raise MalformedPageError(f"section {section}: a table or a heading outside of an example: '{heading}'")
    example = Example(section, heading.removeprefix("Example: "))
    try:
        _fill(example, block)
        _check(example)
    except MalformedPageError as error:
        raise MalformedPageError(f"example '{example.title}': {error}") from None
    return example


def _fill(example: Example, block: Sequence[str]) -> None:
    label: re.Match[str] | None = None
    lines = iter(block)
    for line in lines:
        if not line.strip():
            continue
        kind = label["kind"].lower() if label else None
        if line.startswith(_FENCE):
            _take_text(example, kind, line.removeprefix(_FENCE), _until(lines, lambda line: line == _FENCE))
            label = None
        elif line.startswith("|"):
            table = _read_table([line, *_until(lines, lambda line: not line.strip())])
            _take_table(example, label, kind, table)
            label = None
        elif label:
            raise MalformedPageError(f"'{label[0]}' is followed by text")
        else:
            label = _LABEL.fullmatch(line.strip())
    if label:
        raise MalformedPageError(f"'{label[0]}' is followed by nothing")


def _until(lines: Iterator[str], ends: Any) -> list[str]:
    taken = []
    for line in lines:
        if ends(line):
            break
        taken.append(line)
    return taken


def _take_text(example: Example, kind: str | None, language: str, lines: Sequence[str]) -> None:
    text = "\n".join(lines)
    if language == "yaml" and kind is None and not example.settings:
        example.settings = yaml.safe_load(text)
    elif language == "yaml" and kind == "settings from batch 2 on" and not example.later_settings:
        example.later_settings = yaml.safe_load(text)
    elif language == "text" and kind == "refused" and example.refused is None:
        example.refused = " ".join(text.split())
    else:
        raise MalformedPageError(
            f"a block of {language or 'nothing'} that no label announces, or the second of its kind"
        )


def _take_table(example: Example, label: re.Match[str] | None, kind: str | None, table: Table) -> None:
    if label is None or kind is None or kind in ("refused", "settings from batch 2 on"):
        raise MalformedPageError(f"a table that no label announces: {', '.join(table.columns)}")
    if (kind == "as of") != (label["moment"] is not None):
        raise MalformedPageError(f"'{label[0]}' must have a time where it is 'As of', and nowhere else")
    if kind == "changes":
        if example.changes is not None or label["batch"]:
            raise MalformedPageError("the changes must be in one table")
        example.changes = table
    else:
        batch = int(label["batch"] or BATCHES[-1])
        if any((other.kind, other.moment, other.batch) == (kind, label["moment"], batch) for other in example.outputs):
            raise MalformedPageError(f"'{label[0]}' is there twice")
        example.outputs.append(Output(kind, label["moment"], batch, table))


def _read_table(lines: Sequence[str]) -> Table:
    rows = [
        tuple(cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")) for line in lines
    ]
    columns, rule, *body = rows if len(rows) > 1 else [rows[0], ()]
    if not rule or any(not re.fullmatch("-{3,}", cell) for cell in rule) or len(set(columns)) != len(columns):
        raise MalformedPageError(f"no table: {lines[0]}")
    for row in (rule, *body):
        if len(row) != len(columns) or "" in row:
            raise MalformedPageError(f"a row that lacks cells: | {' | '.join(row)} |")
    return Table(columns, tuple(body))


def _check(example: Example) -> None:
    if example.refused is None and (example.changes is None or not example.outputs):
        raise MalformedPageError("it shows no changes or no output")
    if "columns" not in example.later_settings and example.later_settings and example.refused is None:
        raise MalformedPageError("later settings but `columns` are only understood where they are refused")
    for batch in BATCHES:
        if unknown := set(example.declared(batch)) - set(example.columns):
            raise MalformedPageError(f"`columns` must be among those of the changes, got {', '.join(sorted(unknown))}")
    if example.changes:
        _check_columns(example.changes, ("_change_seq", "_change_op", "id"), (*CHANGE_COLUMNS, *example.columns))
        if any(column.startswith("_") for column in example.columns):
            raise MalformedPageError(f"changes have no columns but {', '.join(CHANGE_COLUMNS)} and the table's own")
        if any(record.get("batch", "1") not in map(str, BATCHES) for record in example.changes.records()):
            raise MalformedPageError(f"batches are {', '.join(map(str, BATCHES))}")
    for output in example.outputs:
        if output.kind in _LISTED:
            _check_columns(output.table, _LISTED[output.kind], _LISTED[output.kind])
        else:
            _check_columns(output.table, example.columns, (*example.columns, *_SHOWN_BESIDES[output.kind]))
        if output.batch not in BATCHES or (output.batch == BATCHES[0] and not example.changes_of(BATCHES[-1])):
            raise MalformedPageError(f"{output.kind} after batch {output.batch}: there are no batches like that")


def _check_columns(table: Table, required: Sequence[str], allowed: Sequence[str]) -> None:
    for name in required:
        if name not in table.columns:
            raise MalformedPageError(f"a table lacks the column {name}: {', '.join(table.columns)}")
    for name in table.columns:
        if name not in allowed:
            raise MalformedPageError(f"unknown column {name}; known: {', '.join(allowed)}")
