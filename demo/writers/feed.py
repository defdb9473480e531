"""What every feed writer offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from demo.database import Column
from demo.history import Contents, Transaction
from demo.landing import Landed


class Verdict(NamedTuple):
    """What staging must say about a raw row: its `_status`, and the reason code where it is rejected or waiting."""

    status: str
    code: str | None


@dataclass(frozen=True)
class RawTable:
    """A raw table as it lands.

    Attributes:
        name: its name
        columns: its columns with Spark types
        is_replaced: whether a batch holds all of its rows and replaces those before; else it adds rows
    """

    name: str
    columns: tuple[Column, ...]
    is_replaced: bool = False


class FeedWriter(ABC):
    """Writes one feed, batch by batch, and keeps account of what it wrote."""

    system: ClassVar[str]
    """The name of the system: of its sources entry, its model folders and its format."""

    swaps: ClassVar[bool]
    """Whether the demo's history for this feed has rows that exchange their keys inside a transaction."""

    @abstractmethod
    def __init__(self, seed: int) -> None:
        """Starts a feed; the same seed and history give the same rows."""

    @property
    @abstractmethod
    def raw_tables(self) -> Sequence[RawTable]:
        """The raw tables that the feed lands in."""

    @abstractmethod
    def write(
        self, transactions: Sequence[Transaction], loaded: Sequence[Transaction] = (), *, last: bool = False
    ) -> Mapping[str, Sequence[tuple[Landed, ...]]]:
        """Writes a batch: the transactions that were committed since the batch before.

        Some rows of these transactions come late, in the next batch. Such a row never alters the state of a table.

        Args:
            transactions: in the order of their commits
            loaded: with the first batch: the transactions before, which filled the empty tables by inserts. A feed that
                begins with a full load writes their rows as a load, and any other writes them as changes
            last: whether everything must be delivered now

        Returns:
            Rows by raw table, each as wide as the table, in the order in which they land.
        """

    def source_contents(self, contents: Contents) -> Contents:
        """The contents of this feed's source, from those of the demo's: the same, unless a feed changes them."""
        return contents

    @property
    @abstractmethod
    def expected_statuses(self) -> Mapping[str, Counter[Verdict]]:
        """How many of the raw rows written so far must get which verdict, by source table."""

    @property
    @abstractmethod
    def expected_changes(self) -> Mapping[str, int]:
        """How many distinct changes are in the raw rows written so far, by source table."""
