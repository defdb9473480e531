"""What the writers of described feeds share: changes that are delivered in any order, again, late, and broken ones.

Each raw row of such a feed is one change, so a writer says what the rows of a change are, and no more.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any, ClassVar

from demo.database import TABLES, Column
from demo.history import Change, Key, Row, Transaction, Value
from demo.landing import Landed
from demo.writers.feed import FeedWriter, Verdict

REPLICATED = ("orders", "prices")
"""The source tables that these feeds replicate."""

RECORD = (
    Column("topic", "string"),
    Column("partition", "int"),
    Column("offset", "bigint"),
    Column("value", "string"),
)
"""A record of a topic, as it lands."""

ACCEPTED = Verdict("accepted", None)
IGNORED = Verdict("ignored", None)

_SENT_AGAIN_IN_BATCH = 0.06
_SENT_AGAIN_LATER = 0.04
_LATE = 0.25


@dataclass(frozen=True)
class Delivery:
    """A raw row before it lands.

    Attributes:
        table: the source table whose it is; None where it names none, so that each entry reads it
        value: what it says, in the writer's own form
        verdict: what staging must say of it
        identity: of a sound change what it is known by: its sequence, its operation and its key; None for any other
        keys: the keys of the rows that the change is of; none for a truncate, two where a row moves
        is_whole: whether no earlier change of its key matters any more
    """

    table: str | None
    value: Any = field(repr=False)
    verdict: Verdict = ACCEPTED
    identity: tuple[str, str, Key] | None = None
    keys: frozenset[Key] = frozenset()
    is_whole: bool = False


class DeliveriesWriter(FeedWriter):
    """Writes the deliveries of each change, and lets them come again and late.

    Attributes:
        delivered: what was written so far, in the order in which it landed
        late: what comes with the next batch
    """

    swaps: ClassVar[bool] = False

    def __init__(self, seed: int) -> None:
        """Starts a feed."""
        self._random = Random(seed)
        self._batches = 0
        self.late: list[Delivery] = []
        self.delivered: list[Delivery] = []

    def write(
        self, transactions: Sequence[Transaction], loaded: Sequence[Transaction] = (), *, last: bool = False
    ) -> Mapping[str, Sequence[tuple[Landed, ...]]]:
        """Writes a batch: the load, changes, what is sent again, what was late, and a few broken rows, shuffled.

        See `FeedWriter.write`.
        """
        load = [delivery for transaction in loaded for delivery in self._loaded(transaction)]
        written = [delivery for transaction in transactions for delivery in self._written(transaction)]
        late = [] if last else held_back(written, self._random)
        kept_back = {id(delivery) for delivery in late}
        # a load that was begun again has its rows again
        deliveries = load + self._again(load, 0.25) + self.late
        deliveries += [delivery for delivery in written if id(delivery) not in kept_back]
        deliveries += self._again([delivery for delivery in deliveries if delivery.identity], _SENT_AGAIN_IN_BATCH)
        deliveries += self._again([delivery for delivery in self.delivered if delivery.identity], _SENT_AGAIN_LATER)
        changes = {change.table: change for each in transactions for change in each.changes if change.after is not None}
        deliveries += [broken for name in REPLICATED if name in changes for broken in self._broken(changes[name])]
        deliveries += self._of_no_table()
        self._random.shuffle(deliveries)
        landed: dict[str, list[tuple[Landed, ...]]] = {table.name: [] for table in self.raw_tables}
        for delivery in deliveries:
            name, row = self._raw_row(delivery)
            landed[name].append(row)
        self.late = late
        self.delivered += deliveries
        self._batches += 1
        return landed

    @property
    def expected_statuses(self) -> Mapping[str, Counter[Verdict]]:
        """How many deliveries staging must find in which status; see `FeedWriter.expected_statuses`."""
        return {
            name: Counter(delivery.verdict for delivery in self.delivered if delivery.table in (name, None))
            for name in REPLICATED
        }

    @property
    def expected_changes(self) -> Mapping[str, int]:
        """How many distinct changes there are; see `FeedWriter.expected_changes`."""
        return {
            name: len({delivery.identity for delivery in self.delivered if delivery.table == name} - {None})
            for name in REPLICATED
        }

    @abstractmethod
    def _loaded(self, transaction: Transaction) -> Iterable[Delivery]:
        """The rows of a load for a transaction before it."""

    @abstractmethod
    def _written(self, transaction: Transaction) -> Iterable[Delivery]:
        """The rows of a transaction, in the order of its changes."""

    @abstractmethod
    def _broken(self, example: Change) -> Iterator[Delivery]:
        """Of a table a row of each broken kind, which would do harm if it was accepted: most lack every other value."""

    def _of_no_table(self) -> Iterable[Delivery]:
        """What lands beside the changes of tables."""
        return ()

    @abstractmethod
    def _raw_row(self, delivery: Delivery) -> tuple[str, tuple[Landed, ...]]:
        """The raw table and the row of a delivery, which is told apart from its other deliveries where it lands."""

    def _again(self, deliveries: Sequence[Delivery], part: float) -> list[Delivery]:
        return self._random.sample(list(deliveries), int(part * len(deliveries)))

    def _one_of(self, *kinds: Any) -> Any:
        return kinds[self._batches % len(kinds)]


def held_back(written: Sequence[Delivery], random: Random) -> list[Delivery]:
    """Deliveries that come in the next batch: those of which a later one of the same key leaves nothing."""
    settled: set[tuple[str | None, Key]] = set()
    late = []
    for delivery in reversed(written):
        places = {(delivery.table, key) for key in delivery.keys}
        if delivery.identity is None:
            continue
        if not delivery.is_whole:
            settled = {place for place in settled if place[0] != delivery.table} if not places else settled - places
        elif places <= settled and random.random() < _LATE:
            late.append(delivery)
        else:
            settled |= places
    return late


class EmptiedByDeletes:
    """Follows the rows of the source, for a feed that knows no truncate: what lives is deleted, row by row."""

    def __init__(self) -> None:
        """The tables are empty."""
        # not by key: rows that exchange their keys have the same key for a while
        self._living: dict[str, list[Row]] = {name: [] for name in TABLES}

    def living(self, table: str) -> Sequence[Row]:
        """The rows of a table."""
        return self._living[table]

    def changes(self, change: Change) -> list[Change]:
        """What the feed has for a change: of a truncate the deletes, else the change itself."""
        living = self._living[change.table]
        if change.operation == "truncate":
            deletes = [Change(change.table, "delete", row, None, change.changed_at) for row in living]
            living.clear()
            return deletes
        if change.before is not None:
            living.remove(change.before)
        if change.after is not None:
            living.append(change.after)
        return [change]


class Topics:
    """Numbers the records of topics.

    >>> topics = Topics()
    >>> topics.record("orders", None), topics.record("orders", {"amount": Decimal("1.50")})
    (('orders', 0, 0, None), ('orders', 0, 1, '{"amount": 1.50}'))
    """

    def __init__(self) -> None:
        """All topics are empty."""
        self._offsets: Counter[tuple[str, int]] = Counter()

    def record(
        self, topic: str, value: Mapping[str, Any] | str | None, partition: int = 0
    ) -> tuple[str, int, int, str | None]:
        """The next record: a mapping becomes JSON, a text stays as it is, and None is a tombstone."""
        offset = self._offsets[topic, partition]
        self._offsets[topic, partition] += 1
        return topic, partition, offset, value if isinstance(value, str) or value is None else json_text(value)


def json_text(value: Any) -> str:
    """JSON in which decimals are numbers with all of their digits.

    >>> json_text({"amount": Decimal("99999999999999.9900")})
    '{"amount": 99999999999999.9900}'
    """

    def marked(number: Decimal) -> str:
        return f"<number {number:f}>"

    text = json.dumps(value, ensure_ascii=False, default=marked)
    return re.sub(r'"<number (-?[0-9.]+)>"', r"\1", text)


def text_of_time(value: Value) -> Value:
    """A value with a date or a time (UTC) as text.

    >>> text_of_time(datetime(2026, 1, 5, 8, 0, 0, 7)), text_of_time(date(2026, 1, 5)), text_of_time(None)
    ('2026-01-05 08:00:00.000007', '2026-01-05', None)
    """
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S.%f}"
    return value.isoformat() if isinstance(value, date) else value


def whole_millis(at: datetime) -> int:
    """A time in whole milliseconds since 1970.

    >>> whole_millis(datetime(1970, 1, 1, 0, 0, 1, 7_999, tzinfo=UTC))
    1007
    """
    return round((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000) // 1000
