"""Tables of GoldenGate's trails: from a sample of the latest records of each table, whose values are texts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .found import Found, FoundColumn, FoundTable, Lake, Trouble
from .raw_tables import (
    RAW_TABLES,
    RAW_TABLES_MEANING,
    SAMPLE,
    RawTable,
    entry_name,
    query_each,
    raw_tables_with,
    relation,
    sample_size,
    shown,
    text_literal,
)
from .types_of_feeds import guess_type

_SAMPLE = 500
OPTIONS: Mapping[str, str] = {
    RAW_TABLES: RAW_TABLES_MEANING,
    SAMPLE: f"how many of the latest records of each table say its columns and their types (default: {_SAMPLE})",
}

RECORD = (
    "trail_name",
    "trail_seqno",
    "trail_rba",
    "hdr_ind",
    "io_type",
    "trans_ind",
    "continued",
    "before_after",
    "io_time",
    "table_name",
    "before_data",
    "after_data",
    "tokens",
)
"""The columns by which a raw table of trail records is known."""

_WITH_KEY_BEFORE = (3, 115, 117)
"""Codes of deletes and key updates: the image before has the key, by default nothing else."""
_BEGINS = (0, 3)
_POSITION = 3  # columns: trail, file, place
_LONGEST_VALUE = 100  # characters: more than any number or time has

Image: TypeAlias = Mapping[str, str | None]


@dataclass(frozen=True)
class Piece:
    """A trail record, whole or a piece of one.

    Attributes:
        io_type: the code of its operation
        begins: whether it begins a transaction
        goes_on: whether the next record of its table is the next piece
        before: the image before, empty where there is none
        after: the image after, likewise
    """

    io_type: int
    begins: bool
    goes_on: bool
    before: Image
    after: Image


def read(lake: Lake, schema: str, options: Mapping[str, str]) -> Found:
    """The tables of which a record with an image has landed; see docs/generator.md.

    It sends one query over all raw tables.
    """
    size, troubles = sample_size(options, _SAMPLE)
    if troubles:
        return Found(troubles=troubles)
    raw_tables, troubles = raw_tables_with(lake, schema, RECORD, options)
    rows, failed = query_each(
        lake, schema, {table.name: _sample_query(schema, table.name, size) for table in raw_tables}
    )
    troubles += failed
    sampled: dict[tuple[str, str], list[Sequence[Any]]] = {}
    for raw_table, table_name, *record in rows:
        sampled.setdefault((raw_table, table_name), []).append(record)
    by_name = {table.name: table for table in raw_tables}
    tables: list[FoundTable] = []
    for (raw_table, table_name), records in sorted(sampled.items()):
        found = _table(by_name[raw_table], table_name, records, is_cut=len(records) >= size)
        if isinstance(found, Trouble):
            troubles.append(found)
        else:
            tables.append(found)
    if not rows and not troubles:
        troubles.append(Trouble(schema, "no record with a table and an image has landed"))
    return Found(tables, troubles=troubles)


def _table(
    raw_table: RawTable, table_name: str, rows: Iterable[Sequence[Any]], *, is_cut: bool
) -> FoundTable | Trouble:
    # a record that landed twice counts once, and one without a position cannot be read
    by_position = dict(_placed(row) for row in rows if None not in row[:_POSITION])
    pieces = [piece for _, piece in sorted(by_position.items(), key=lambda item: item[0])]
    records = whole_records(pieces, is_cut=is_cut)
    images = [image for record in records for image in (record.before, record.after) if image]
    if not images:
        return Trouble(
            f"table {table_name}",
            f"no record of it in the sample is whole: raise `{SAMPLE}`",
            (entry_name(table_name), table_name),
        )
    values: dict[str, list[str | None]] = {}
    spellings: dict[str, Counter[str]] = {}
    for name in [*max(images, key=len), *(name for image in images for name in image)]:
        values.setdefault(name.lower(), [])  # the widest has the source's order
    for image in images:
        for name, value in image.items():
            values[name.lower()].append(value)
            spellings.setdefault(name.lower(), Counter())[name] += 1
        if len(_names(image)) < len(image):
            alike = [name for name in image if len(spellings[name.lower()]) > 1]
            return Trouble(
                f"table {table_name}",
                f"columns that differ only in case cannot be declared: {shown(alike)}",
                (entry_name(table_name), table_name),
            )
    key = _key(records, len(values))
    settings = {"format": "goldengate_trail", "table_name": table_name}
    if any(len(spelt) > 1 for spelt in spellings.values()):
        settings["column_names"] = "ignore_case"
    columns = []
    for name in values:
        guess = guess_type(values[name], of_a_trail=True)
        notes = [guess.note] + (["of the key, by a guess: every delete and key update has it"] if name in key else [])
        columns.append(FoundColumn(spellings[name].most_common(1)[0][0], guess.data_type, "; ".join(notes)))
    return FoundTable(
        name=entry_name(table_name),
        identifier=raw_table.name,
        settings=settings,
        columns=columns,
        key=[column.name for column in columns if column.name.lower() in key],
    )


def whole_records(pieces: Sequence[Piece], *, is_cut: bool) -> list[Piece]:
    """Records of one table in the order of the trail, those in pieces put together; broken ones are left out.

    Args:
        pieces: records of a table that follow each other, in the order of the trail
        is_cut: whether there are earlier ones: then the first may be the rest of a record, and is left out

    >>> first, last = Piece(5, True, True, {}, {"a": "1"}), Piece(161, False, False, {}, {"a": "2", "b": None})
    >>> [record.after for record in whole_records([first, last], is_cut=False)]
    [{'a': '12', 'b': None}]
    """
    runs: list[list[Piece]] = []
    for piece in pieces:
        if runs and runs[-1][-1].goes_on and not piece.begins:
            runs[-1].append(piece)
        else:
            runs.append([piece])
    whole = [run for run in runs[1 if is_cut else 0 :] if not run[-1].goes_on]
    return [joined for run in whole if (joined := _joined(run)) is not None]


def _joined(run: Sequence[Piece]) -> Piece | None:
    """A record out of its pieces. None where they share more than the column at a cut: they are no pieces."""
    images: list[dict[str, str | None]] = []
    for parts in ([piece.before for piece in run], [piece.after for piece in run]):
        image: dict[str, str | None] = {}
        for part in parts:
            if len(image.keys() & part.keys()) > 1:
                return None
            for name, text in part.items():
                image[name] = (image.get(name) or "") + text if text is not None else image.get(name)
        images.append(image)
    return Piece(run[0].io_type, run[0].begins, False, *images)


def _key(records: Iterable[Piece], columns: int) -> set[str]:
    """The columns that every delete and key update has before it, in lower case; empty where these are all."""
    named = [_names(record.before) for record in records if record.io_type in _WITH_KEY_BEFORE and record.before]
    key = set.intersection(*named) if named else set()
    return key if len(key) < columns else set()


def _names(image: Image) -> set[str]:
    return {name.lower() for name in image}


def _placed(row: Sequence[Any]) -> tuple[tuple[str, int, int], Piece]:
    """The position of a record in its trail, and the record."""
    trail_name, seqno, rba, io_type, trans_ind, continued, before, after = row
    piece = Piece(io_type, trans_ind in _BEGINS, continued == "Y", _image(before), _image(after))
    return (trail_name, seqno, rba), piece


def _image(text: str | None) -> Image:
    """An image; empty where it is none, as a list is none."""
    image = json.loads(text or "{}")
    return image if isinstance(image, dict) else {}


def _sample_query(schema: str, raw_table: str, size: int) -> str:
    """The latest records of each table that have an image, those ahead of the trail's first transaction left out."""
    raw, is_of_a_row = (
        relation(schema, raw_table),
        "table_name <> '' and (size(before_data) > 0 or size(after_data) > 0)",
    )

    def texts(image: str) -> str:
        shortened = f"transform_values({image}, (name, value) -> left(value, {_LONGEST_VALUE}))"
        return f"to_json({shortened}, map('ignoreNullFields', 'false'))"

    return f"""select
    {text_literal(raw_table)} as raw_table, table_name, trail_name, trail_seqno, trail_rba, io_type, trans_ind,
    continued,
    {texts("before_data")} as before_data,
    {texts("after_data")} as after_data
from (
    select
        records.*,
        row_number() over (
            partition by table_name
            order by trail_name desc, trail_seqno desc, trail_rba desc
        ) as place
    from {raw} as records
    inner join (
        select trail_name as started_trail, min(struct(trail_seqno, trail_rba)) as first_start
        from {raw}
        where trans_ind in (0, 3) and {is_of_a_row}
        group by trail_name
    ) as started
        on records.trail_name = started.started_trail
    where {is_of_a_row} and struct(trail_seqno, trail_rba) >= first_start
)
where place <= {size}"""
