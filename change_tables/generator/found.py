"""What a reader finds of a feed. There is one reader a format; the writer of projects takes what they have found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class FoundColumn:
    """A column of a source table, as an entry declares it."""

    name: str
    data_type: str
    """A Spark type, as in `create table`."""
    note: str = ""
    """What the user must know of it, on one line: that the type is a guess, for example. Empty: nothing."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """The column's own settings, under `config.meta`."""
    description: str = ""
    """The comment of the source, where one has landed."""
    is_seen_once: bool = False
    """Whether a single event has it, so that its type is no more than that of one value: it is named, not declared."""


@dataclass(frozen=True)
class FoundTable:
    """An entry of a sources file that describes a source table."""

    name: str
    """The entry's name; as yet not unique."""
    identifier: str
    """The raw table."""
    settings: Mapping[str, Any]
    """Of `change_table`, in the order in which they are written, without `key`. Defaults are left out."""
    columns: Sequence[FoundColumn]
    """In the source's order."""
    key: Sequence[str] = ()
    """The key columns, where the feed says them. Empty: it does not, and the user must."""
    reads: Sequence[str] = ()
    """Further entries that the table reads: its load, its tracking table."""
    description: str = ""
    """The comment of the source, where one has landed."""
    chosen: Mapping[str, Any] = field(default_factory=dict)
    """What chooses its rows, where that is no setting because the raw table has no others."""


@dataclass(frozen=True)
class FurtherEntry:
    """An entry that is no table of its own: a load, a tracking table, the messages with the metadata."""

    name: str
    identifier: str
    description: str = ""


@dataclass(frozen=True)
class Trouble:
    """What could not be read or written, on one line: the place, and what to do."""

    place: str
    text: str
    names: Sequence[str] = field(default=(), compare=False)
    """Of the one table that it is about, and of its raw table where that has no other. Empty: it is about more."""


@dataclass(frozen=True)
class Found:
    """All that a reader has found of a feed."""

    tables: Sequence[FoundTable] = ()
    further_entries: Sequence[FurtherEntry] = ()
    troubles: Sequence[Trouble] = ()
    """What stopped the reader at one table; the others are in `tables` all the same."""
    differing_types: Sequence[Trouble] = ()
    """Change tables whose load has columns of other types, so that a value or a build may fail."""


class Lake(Protocol):
    """What a server has. A reader asks nothing else, so that tests need no server."""

    def tables(self, schema: str) -> list[str]:
        """The names of the tables and views of a schema, sorted."""
        ...

    def columns(self, schema: str, table: str) -> list[tuple[str, str]]:
        """Name and Spark type of each column, in order.

        Raises LakeError where the table cannot be read.
        """
        ...

    def comments(self, schema: str, table: str) -> dict[str, str]:
        """The comment of each column that has one, by its name in small letters; that of the table under an empty name.

        Raises LakeError where the table cannot be read.
        """
        ...

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a query.

        Raises LakeError where it fails.
        """
        ...


class LakeError(Exception):
    """A table cannot be read; the message is one line with what the server says."""
