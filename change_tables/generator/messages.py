"""What readers of JSON messages share: a sample of each raw table, and the columns of the images in it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .found import FoundColumn, Lake, Trouble
from .names import quoted
from .raw_tables import RawTable, query_each, relation, shown, text_literal
from .types_of_feeds import guess_type

POSITION = ("topic", "partition", "offset")
Message: TypeAlias = Mapping[str, Any]
Image: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Sampled:
    """The latest messages of a source table, whose numbers are texts.

    Attributes:
        raw_table: where they are
        table: the name that they give the table; empty where they give none
        is_alone: whether the raw table has no other
        messages: each with its key, which is empty where it has none
    """

    raw_table: RawTable
    table: str
    is_alone: bool
    messages: Sequence[tuple[Message, Message]]


def sampled(
    lake: Lake, schema: str, raw_tables: Sequence[RawTable], table: str, is_change: str, size: int
) -> tuple[list[Sampled], list[Trouble]]:
    """Samples of all source tables; by one query over all raw tables.

    Args:
        lake: the server
        schema: the schema of the raw tables, which have a column `value`
        raw_tables: the raw tables
        table: SQL over `text` for the name of the table
        is_change: SQL over `text` for whether a message is a change
        size: how many messages of each source table
    """
    queries = {raw.name: _query(schema, raw, table, is_change, size) for raw in raw_tables}
    rows, troubles = query_each(lake, schema, queries)
    found: dict[tuple[str, str], list[tuple[Message, Message]]] = {}
    for raw_table, name, key, text in rows:
        message = _object(text)
        if message:
            found.setdefault((raw_table, name or ""), []).append((message, _object(key)))
    if not found and not troubles and raw_tables:
        names = shown([raw.name for raw in raw_tables])
        troubles.append(Trouble(schema, f"no message in {names} is JSON of the feed"))
    by_name = {raw.name: raw for raw in raw_tables}
    places = [raw_table for raw_table, _ in found]
    return [
        Sampled(by_name[raw_table], name, places.count(raw_table) == 1, messages)
        for (raw_table, name), messages in sorted(found.items(), key=lambda item: item[0])
    ], troubles


def settings_of_place(raw_table: RawTable) -> dict[str, Any]:
    """The setting `position`, where the raw table has its columns."""
    return {"position": list(POSITION)} if all(raw_table.type_of(name) for name in POSITION) else {}


def guessed_columns(
    images: Sequence[Image], unavailable: Sequence[str] = (), *, of_a_trail: bool = False
) -> list[FoundColumn]:
    """The columns of images, in the order of the widest one, with types that are guessed of their values.

    A name that is spelt in several ways is one column, under the usual spelling.

    Args:
        images: of messages
        unavailable: values that stand for one that was not logged
        of_a_trail: see `guess_type`

    >>> [(column.name, column.data_type) for column in guessed_columns([{"id": "7"}, {"id": "8", "name": "x"}])]
    [('id', 'bigint'), ('name', 'string')]
    """
    values: dict[str, list[str | None]] = {}
    spellings: dict[str, Counter[str]] = {}
    for image in [*sorted(images, key=len, reverse=True)[:1], *images]:
        for name in image:
            values.setdefault(name.lower(), [])
    for image in images:
        for name, value in image.items():
            spellings.setdefault(name.lower(), Counter())[name] += 1
            text = _as_text(value)
            if text not in unavailable:
                values[name.lower()].append(text)
    usual = {name: spellings[name].most_common(1)[0][0] for name in values}
    guesses = {usual[name]: guess_type(seen, of_a_trail=of_a_trail) for name, seen in values.items()}
    return [FoundColumn(name, guess.data_type, guess.note) for name, guess in guesses.items()]


def fields_of_struct(data_type: str) -> list[tuple[str, str]]:
    """The fields of a struct as a server names its type; empty where it is none.

    >>> fields_of_struct("struct<id:bigint,amount:decimal(9,2),tags:array<string>>")
    [('id', 'bigint'), ('amount', 'decimal(9,2)'), ('tags', 'array<string>')]
    """
    inside = re.fullmatch(r"struct<(.*)>", data_type.strip(), re.IGNORECASE | re.DOTALL)
    return [(name.strip().strip("`"), kind.strip()) for name, _, kind in _fields(inside[1] if inside else "")]


def _fields(text: str) -> Iterator[tuple[str, str, str]]:
    depth, begin = 0, 0
    for place, letter in enumerate(f"{text},"):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            if text[begin:place].strip():
                yield text[begin:place].partition(":")
            begin = place + 1


def _as_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _object(text: str | None) -> Message:
    """A JSON object whose numbers are texts; empty where it is none."""
    try:
        found = json.loads(text or "", parse_int=str, parse_float=str, parse_constant=str)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _query(schema: str, raw_table: RawTable, table: str, is_change: str, size: int) -> str:
    key = "cast(key as string)" if raw_table.type_of("key") else "cast(null as string)"
    latest = f"{quoted('offset')} desc" if raw_table.type_of("offset") else "text"
    return f"""select {text_literal(raw_table.name)} as raw_table, table_name, key_text, text
from (
    select *, row_number() over (partition by table_name order by {latest}) as place
    from (
        select *, {table} as table_name
        from (select *, cast(value as string) as text, {key} as key_text from {relation(schema, raw_table.name)})
        where {is_change}
    )
)
where place <= {size}"""
