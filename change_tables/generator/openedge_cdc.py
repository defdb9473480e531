"""Tables of OpenEdge's Change Data Capture: its change tables, with their numbers by the tracking table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from change_tables.udfs.extents import UNKNOWN, split_extent

from .found import Found, FoundColumn, FoundTable, FurtherEntry, Lake, Trouble
from .names import quoted
from .raw_tables import (
    RAW_TABLES,
    RAW_TABLES_MEANING,
    SAMPLE,
    RawTable,
    entry_name,
    further_name,
    names_in,
    query_each,
    raw_tables_of,
    relation,
    sample_size,
    shown,
    text_literal,
)
from .types_of_feeds import declared_type, guess_type

_SAMPLE = 200
OPTIONS: Mapping[str, str] = {
    "key_from": "what the key is: `fields`, columns that you name afterwards, or `recid` (default: fields)",
    "table_numbers": "the numbers of tables that the tracking table does not show, as in CDC_Customer=12,CDC_Order=14",
    RAW_TABLES: RAW_TABLES_MEANING,
    SAMPLE: f"how many rows of each change table say its number, its policy level and its extents (default: {_SAMPLE})",
}

_SEQUENCE, _OPERATION = "change_sequence", "operation"
CHANGE_HEADERS: Mapping[str, Sequence[str]] = {
    _SEQUENCE: ["_Change-Sequence"],
    _OPERATION: ["_Operation"],
    "tran_id": ["_Tran-Id"],
    "time_stamp": ["_Time-Stamp"],
    "continuation_position": ["_Continuation-Position"],
    "array_index": ["_ArrayIndex", "_Array-Index"],
    "fragment": ["_Fragment"],
}
"""The headers of a change table, by their spellings."""
TRACKING_HEADERS: Mapping[str, Sequence[str]] = {
    _SEQUENCE: ["_Change-Sequence"],
    _OPERATION: ["_Operation"],
    "source_table_number": ["_Source-Table-Number"],
    "recid": ["_Recid", "_Source-Rowid"],
    "tran_id": ["_Tran-Id"],
    "time_stamp": ["_Time-Stamp"],
    "field_map": ["_Change-FieldMap", "_Source-FieldMap"],
}
"""The headers of a tracking table that are read here."""
_MARKS_OF_PARTS = ("continuation_position", "array_index", "fragment")

_ROW_OPERATIONS = "(1, 2, 4)"
_BEFORE_IMAGE = 3
_FEWEST_EXTENTS = 3
_CLEARLY = 2  # times as many rows agree with a number as with the next
_LONGEST_EXTENT = 2000  # characters
_PREFIX = re.compile(r"cdc_+(?=.)", re.IGNORECASE)


@dataclass(frozen=True)
class _Read:
    """A change table or a tracking table, with the raw column of each header that it has."""

    raw_table: RawTable
    headers: Mapping[str, str]


@dataclass(frozen=True)
class _Number:
    """A table number in a tracking table: whether rows changed, and whether their fields are known."""

    tracking: str
    number: int
    has_changes: bool
    has_field_map: bool


def read(lake: Lake, schema: str, options: Mapping[str, str]) -> Found:
    """The change tables whose number is known, and the tables that have tracking rows alone.

    See docs/generator.md. It sends a query for the sample over all change tables, and one that compares it with
    the tracking tables.
    """
    size, troubles = sample_size(options, _SAMPLE)
    key_from = options.get("key_from", "fields").strip()
    if key_from not in ("fields", "recid"):
        troubles.append(Trouble("option key_from", f"must be fields or recid, got '{key_from}'"))
    given, wrong = _given_numbers(options)
    troubles += wrong
    if troubles:
        return Found(troubles=troubles)
    raw_tables, troubles = raw_tables_of(lake, schema, options)
    trackings, changes = _kinds(raw_tables)
    if names_in(options, RAW_TABLES):
        known = {read.raw_table.name for read in (*trackings, *changes)}
        troubles += [
            Trouble(f"{schema}.{table.name}", "is no change table and no tracking table: it lacks their columns")
            for table in raw_tables
            if table.name not in known
        ]
    if not trackings:
        text = "no tracking table is there: land _Cdc-Change-Tracking, with _Source-Table-Number"
        return Found(troubles=[*troubles, Trouble(schema, text)])
    rows, failed = query_each(
        lake, schema, {read.raw_table.name: _sample_query(schema, read, size) for read in changes}
    )
    troubles += failed
    unreadable = {trouble.place for trouble in failed}
    changes = [read for read in changes if f"{schema}.{read.raw_table.name}" not in unreadable]
    numbers, scores, failed = _tracked(lake, schema, trackings, changes, size)
    troubles += failed
    sampled: dict[str, list[Sequence[Any]]] = {read.raw_table.name: [] for read in changes}
    for raw_table, *row in rows:
        sampled[raw_table].append(row)
    chosen, unknown = _numbers_of(changes, trackings, scores, given, sampled)
    troubles += unknown
    names = {read.raw_table.name: entry_name(_PREFIX.sub("", read.raw_table.name)) for read in changes}
    entries = {read.raw_table.name: further_name(read.raw_table.name, names.values(), "tracking") for read in trackings}
    has_recid = {read.raw_table.name: "recid" in read.headers for read in trackings}
    tables: list[FoundTable] = []
    for change in changes:
        if change.raw_table.name not in chosen:
            continue
        tracking, number = chosen[change.raw_table.name]
        if key_from == "recid" and not has_recid[tracking]:
            text = f"`key_from` recid needs _Recid in the tracking table {tracking}"
            name = change.raw_table.name
            troubles.append(Trouble(f"{schema}.{name}", text, (names[name], name)))
            continue
        found = sampled[change.raw_table.name]
        settings: dict[str, Any] = {"format": "openedge_cdc"}
        if key_from == "recid":
            settings["key_from"] = "recid"
        settings |= {"tracking": entries[tracking], "source_table_number": number}
        if any(row[0] == _BEFORE_IMAGE for row in found):
            settings["policy_level"] = 3
        tables.append(
            FoundTable(
                name=names[change.raw_table.name],
                identifier=change.raw_table.name,
                settings=settings,
                columns=_columns(change, [json.loads(row[1]) for row in found]),
                reads=[entries[tracking]],
            )
        )
    if not unknown:
        lone, failed = _without_change_tables(numbers, set(chosen.values()), trackings, schema)
        tables += lone
        troubles += failed
    used = {tracking for tracking, _ in chosen.values()}
    further = [
        FurtherEntry(entries[name], name, "The changes of all tables of the database: which row changed, and when.")
        for name in entries
        if name in used
    ]
    return Found(tables, further, troubles)


def _kinds(raw_tables: Iterable[RawTable]) -> tuple[list[_Read], list[_Read]]:
    """The tracking tables and the change tables among raw tables, by their headers."""
    trackings: list[_Read] = []
    changes: list[_Read] = []
    for table in raw_tables:
        headers = headers_of(table, TRACKING_HEADERS)
        if {_SEQUENCE, _OPERATION, "source_table_number"} <= headers.keys():
            trackings.append(_Read(table, headers))
            continue
        headers = headers_of(table, CHANGE_HEADERS)
        if {_SEQUENCE, _OPERATION} <= headers.keys() and not headers.keys().isdisjoint(_MARKS_OF_PARTS):
            changes.append(_Read(table, headers))
    return trackings, changes


def headers_of(table: RawTable, known: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The raw column of each header that a table has; names are matched as staging does, the nearest spelling first.

    >>> table = RawTable("cdc_orders", [("operation", "string"), ("_operation", "int"), ("Change_Sequence", "bigint")])
    >>> headers_of(table, CHANGE_HEADERS)
    {'change_sequence': 'Change_Sequence', 'operation': '_operation'}
    """
    taken: dict[str, str] = {}
    for header, spellings in known.items():
        for is_like in (
            lambda name, spelling: name.lower() == spelling.lower(),
            lambda name, spelling: _near(name) == _near(spelling),
            lambda name, spelling: _near(name).lstrip("_") == _near(spelling).lstrip("_"),
        ):
            free = [name for name, _ in table.columns if name not in taken.values()]
            match = next((name for spelling in spellings for name in free if is_like(name, spelling)), None)
            if match:
                taken[header] = match
                break
    return taken


def _near(name: str) -> str:
    """A name without case, `-` and `_`, apart from a `_` at its beginning."""
    return ("_" if name.startswith("_") else "") + re.sub("[-_]", "", name.lower())


def _columns(change: _Read, texts: Sequence[Sequence[str | None]]) -> list[FoundColumn]:
    """The captured columns, in the order of the raw table, under names that SQL needs not quote for a `-`."""
    captured = _captured(change)
    names = {name: name.lower().replace("-", "_") for name, _ in captured}
    near = [_near(name) for name in names]
    columns: list[FoundColumn] = []
    place_of = {name: place for place, name in enumerate(_text_columns(change))}
    for name, kind in captured:
        spelt = names[name] if near.count(_near(name)) == 1 else name
        data_type, note = declared_type(kind)
        elements = _elements(row[place_of[name]] for row in texts) if name in place_of else []
        if elements:
            guess = guess_type(element for each in elements for element in each)
            note = f"an extent, by a guess: each of {len(elements)} values has {len(elements[0])} elements joined by ;"
            columns.append(FoundColumn(spelt, f"array<{guess.data_type}>", note, {"extent": len(elements[0])}))
        else:
            columns.append(FoundColumn(spelt, data_type, note))
    return columns


def _elements(texts: Iterable[str | None]) -> list[list[str | None]]:
    """The elements of each text, where all texts are extents of one size; else nothing. A bare `?` says nothing."""
    said = [text for text in texts if text is not None and text != UNKNOWN]
    if len(said) < _FEWEST_EXTENTS or any(";" not in text or len(text) >= _LONGEST_EXTENT for text in said):
        return []
    elements: list[list[str | None] | None] = split_extent(
        pa.array(said, pa.string()), pa.nulls(len(said), pa.int32())
    ).to_pylist()
    whole = [each for each in elements if each is not None]
    return whole if len(whole) == len(said) and len({len(each) for each in whole}) == 1 else []


def _captured(change: _Read) -> list[tuple[str, str]]:
    headers = set(change.headers.values())
    return [(name, kind) for name, kind in change.raw_table.columns if name not in headers]


def _text_columns(change: _Read) -> list[str]:
    return [name for name, kind in _captured(change) if kind.lower().startswith(("string", "varchar", "char"))]


def _numbers_of(
    changes: Sequence[_Read],
    trackings: Sequence[_Read],
    scores: Mapping[tuple[str, str, int], int],
    given: Mapping[str, int],
    sampled: Mapping[str, Sequence[Any]],
) -> tuple[dict[str, tuple[str, int]], list[Trouble]]:
    """Tracking table and number of each change table: as given, else those with which most of its rows agree."""
    chosen: dict[str, tuple[str, int]] = {}
    troubles: list[Trouble] = []
    for change in changes:
        name = change.raw_table.name
        number = given.get(name.lower())
        own = {
            (tracking, other): score
            for (raw_table, tracking, other), score in scores.items()
            if raw_table == name and number in (None, other)
        }
        best = sorted(own, key=lambda place: own[place], reverse=True)
        if best and (len(best) == 1 or own[best[0]] >= _CLEARLY * own[best[1]]):
            chosen[name] = best[0]
        elif number is not None and (best or len(trackings) == 1):
            chosen[name] = best[0] if best else (trackings[0].raw_table.name, number)
        else:
            found = (
                f"rows agree with {shown([str(place[1]) for place in best])}" if best else "no tracking row is of it"
            )
            why = found if sampled[name] else "it has no rows"
            text = f"the table's number is not known, {why}: give the option `table_numbers`"
            troubles.append(Trouble(f"table {name}", text, (entry_name(_PREFIX.sub("", name)), name)))
    for place in set(chosen.values()):
        alike = [name for name in chosen if chosen[name] == place]
        if len(alike) > 1:
            text = f"rows of {' and '.join(alike)} both agree with number {place[1]}: give the option `table_numbers`"
            troubles += [Trouble(f"table {name}", text, (entry_name(_PREFIX.sub("", name)), name)) for name in alike]
            for name in alike:
                del chosen[name]
    return chosen, troubles


def _without_change_tables(
    numbers: Iterable[_Number], known: set[tuple[str, int]], trackings: Iterable[_Read], schema: str
) -> tuple[list[FoundTable], list[Trouble]]:
    """Tables that have tracking rows alone, of levels 0 and 1: their key is the recid, and they have no columns."""
    reads = {read.raw_table.name: read for read in trackings}
    tables: list[FoundTable] = []
    troubles: list[Trouble] = []
    for each in sorted(numbers, key=lambda each: (each.tracking, each.number)):
        if (each.tracking, each.number) in known or not each.has_changes:
            continue
        tracking = reads[each.tracking]
        if "recid" not in tracking.headers:
            text = f"table number {each.number} has tracking rows alone, and they have no _Recid that could be its key"
            troubles.append(Trouble(f"{schema}.{each.tracking}", text, (f"table_{each.number}",)))
            continue
        settings = {
            "format": "openedge_cdc",
            "key_from": "recid",
            "source_table_number": each.number,
            "policy_level": 1 if each.has_field_map else 0,
        }
        tables.append(
            FoundTable(
                name=f"table_{each.number}",
                identifier=each.tracking,
                settings=settings,
                columns=[],
            )
        )
    return tables, troubles


def _given_numbers(options: Mapping[str, str]) -> tuple[dict[str, int], list[Trouble]]:
    """The option `table_numbers`: number by change table, in lower case."""
    found: dict[str, int] = {}
    for pair in names_in(options, "table_numbers"):
        name, _, number = (part.strip() for part in pair.rpartition("="))
        if not name or not re.fullmatch(r"\d{1,9}", number, re.ASCII):
            text = f"must be names and numbers, as in CDC_Customer=12,CDC_Order=14, got '{pair}'"
            return {}, [Trouble("option table_numbers", text)]
        found[name.lower()] = int(number)
    return found, []


def _tracked(
    lake: Lake, schema: str, trackings: Sequence[_Read], changes: Sequence[_Read], size: int
) -> tuple[list[_Number], dict[tuple[str, str, int], int], list[Trouble]]:
    """The numbers in the tracking tables, and how many sampled rows of each change table agree with each.

    A row agrees by its sequence, its operation and its transaction; it counts twice if its time agrees as well.
    """
    rows, troubles = query_each(
        lake, schema, {read.raw_table.name: _tracking_query(schema, read, changes, size) for read in trackings}
    )
    numbers: list[_Number] = []
    scores: dict[tuple[str, str, int], int] = {}
    for tracking, raw_table, number, has_changes, has_field_map, score in rows:
        if raw_table is None:
            numbers.append(_Number(tracking, number, bool(has_changes), bool(has_field_map)))
        else:
            scores[raw_table, tracking, number] = score
    return numbers, scores, troubles


def _sample_query(schema: str, change: _Read, size: int) -> str:
    """Some rows of a change table: the operation, and the texts in which `;` is, as JSON; '' for any other text."""
    texts = ", ".join(
        f"if(contains({quoted(name)}, ';'), left({quoted(name)}, {_LONGEST_EXTENT}), left({quoted(name)}, 1))"
        for name in _text_columns(change)
    )
    return f"""select
    {text_literal(change.raw_table.name)} as raw_table,
    {_whole(change.headers[_OPERATION])} as operation,
    to_json(array({texts})) as texts
from (select * from {relation(schema, change.raw_table.name)} limit {size})"""


def _tracking_query(schema: str, tracking: _Read, changes: Sequence[_Read], size: int) -> str:
    """One row a table number, and one for each change table with sampled rows that agree with it."""
    header = tracking.headers
    field_map = header.get("field_map")
    numbers = f"""select
    {text_literal(tracking.raw_table.name)} as tracking,
    cast(null as string) as raw_table,
    number,
    max(operation in {_ROW_OPERATIONS}) as has_changes,
    max(has_field_map) as has_field_map,
    cast(0 as bigint) as score
from tracking_rows
group by number"""
    agreeing = f"""select
    {text_literal(tracking.raw_table.name)} as tracking,
    raw_table,
    number,
    true as has_changes,
    false as has_field_map,
    count(distinct sequence) + count(distinct if(at = tracked_at, sequence, null)) as score
from change_rows
inner join tracking_rows
    on sequence = tracked_sequence and operation_of_change = operation and transaction <=> tracked_transaction
group by raw_table, number"""
    steps = [
        f"""tracking_rows as (
    select
        {_whole(header["source_table_number"])} as number,
        {_whole(header[_SEQUENCE])} as tracked_sequence,
        {_whole(header[_OPERATION])} as operation,
        {_said(header.get("tran_id"), "string")} as tracked_transaction,
        {_said(header.get("time_stamp"), "timestamp")} as tracked_at,
        {f"{quoted(field_map)} is not null" if field_map else "false"} as has_field_map
    from {relation(schema, tracking.raw_table.name)}
    where {_whole(header["source_table_number"])} is not null
)"""
    ]
    if changes:
        sampled = "\n    union all\n".join(_sampled_rows(schema, change, tracking, size) for change in changes)
        steps.append(f"change_rows as (\n{sampled}\n)")
    return "with " + ",\n".join(steps) + "\n" + (f"{numbers}\nunion all\n{agreeing}" if changes else numbers)


def _sampled_rows(schema: str, change: _Read, tracking: _Read, size: int) -> str:
    header = change.headers
    operation = _whole(header[_OPERATION])
    both = "tran_id" in header and "tran_id" in tracking.headers
    transaction = _said(header["tran_id"], "string") if both else _said(None, "string")
    return f"""    select
        {text_literal(change.raw_table.name)} as raw_table,
        {_whole(header[_SEQUENCE])} as sequence,
        if({operation} = {_BEFORE_IMAGE}, 4, {operation}) as operation_of_change,
        {transaction} as transaction,
        {_said(header.get("time_stamp"), "timestamp")} as at
    from (select * from {relation(schema, change.raw_table.name)} limit {size})"""


def _whole(column: str) -> str:
    """SQL for a whole number, which may land as a text."""
    return f"try_cast(trim(cast({quoted(column)} as string)) as bigint)"


def _said(column: str | None, data_type: str) -> str:
    return f"try_cast({quoted(column)} as {data_type})" if column else f"cast(null as {data_type})"
