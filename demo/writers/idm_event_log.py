"""Writes the event log of Identity Manager's JDBC driver: triggers fill it in a database that replays the history.

Orders are logged field by field with their values, prices field by field to be read again, and machine_settings row by
row to be read again through a view. The rows of the tables that are read land as well, as a replica shows them.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import Any

import pyarrow as pa

from change_tables.udfs.table_keys import format_table_key, parse_table_key
from demo.database import TABLES, Column, SourceDatabase, Table, from_sqlite
from demo.history import Change, Contents, Key, Row, Transaction
from demo.landing import Landed
from demo.workload import STARTED_AT, random_value
from demo.writers.event_triggers import (
    BY_ROW,
    DELETE_ROW,
    EVENT_LOG,
    QUERY_BACK,
    LoggedTable,
    as_logged_source,
    sqlite_triggers,
    with_whole_key,
)
from demo.writers.feed import FeedWriter, RawTable, Verdict

RAW_TABLE = RawTable(
    EVENT_LOG,
    (
        # in the order of older generations of the driver
        Column("record_id", "bigint"),
        Column("table_key", "string"),
        Column("status", "string"),
        Column("event_type", "int"),
        Column("event_time", "timestamp"),
        Column("perpetrator", "string"),
        Column("table_name", "string"),
        Column("column_name", "string"),
        Column("old_value", "string"),
        Column("new_value", "string"),
    ),
)
LOGGED_TABLES: Mapping[str, LoggedTable] = {
    logged.table.name: logged
    for logged in (
        LoggedTable(
            TABLES["orders"],
            "orders",
            insert_type=1,
            update_type=2,
            key_names={"ORDER_ID": "order_id"},
            key_names_of_deletes={"order_id": "order_id"},
            cleared=("customer",),
        ),
        LoggedTable(
            TABLES["prices"],
            "prices",
            insert_type=7,
            update_type=8,
            key_names={"Article": "article", "Region": "region"},
            key_names_of_deletes={"region": "region", "article": "article"},
        ),
        LoggedTable(
            TABLES["machine_settings"],
            "view_machine_settings",
            insert_type=5,
            update_type=6,
            key_names={"pk_machine_id": "machine_id"},
            key_names_of_deletes={"Machine_Id": "machine_id"},
        ),
    )
}
"""How the demo logs each source table, by its name."""
REPLICAS: Mapping[str, RawTable] = {
    name: RawTable(f"{name}_replica", logged.table.columns, is_replaced=True)
    for name, logged in LOGGED_TABLES.items()
    if logged.is_read_back
}
"""The raw tables that hold the rows of the tables that are read, by table."""

SCHEMA = "shop"
DRIVER_USER = "idm_driver"
PERPETRATORS = (None, "clerk", "night job")

_LATE = 0.3
_LANDED_AGAIN = 0.05
_PROCESSED = 0.1
_ABANDONED = 0.1
_ACCEPTED = Verdict("accepted", None)
_IGNORED = Verdict("ignored", None)


@dataclass(frozen=True)
class Event:
    """An event of the log.

    Attributes:
        table: the table whose entry takes it; None where no entry does
        fields: its values, by column of the raw table
        verdict: what staging must say of it; of an event that reads its row, while the row lives
        key: the key of the row, of events that the triggers wrote
    """

    table: Table | None
    fields: Mapping[str, Any]
    verdict: Verdict
    key: Key | None = None

    @property
    def is_to_be_read(self) -> bool:
        """Whether it has no values and reads its row."""
        return self.verdict == _ACCEPTED and self.fields["event_type"] in QUERY_BACK

    @property
    def landed(self) -> tuple[Landed, ...]:
        """The row of the raw table."""
        return tuple(self.fields[column.name] for column in RAW_TABLE.columns)

    @property
    def touched(self) -> frozenset[tuple[str, Key, str]]:
        """Which columns of which row it sets, or that it sets all of them."""
        if self.table is None or self.key is None:
            return frozenset()
        whole = self.fields["event_type"] in (DELETE_ROW, *BY_ROW)
        names = self.table.column_names if whole else (self.fields["column_name"],)
        return frozenset((self.table.name, self.key, name) for name in names)


class LoggedDatabase:
    """A database with the triggers, which replays what happened in the demo's source.

    >>> database = LoggedDatabase()
    >>> row = {**dict.fromkeys(TABLES["prices"].column_names), "article": "a+b", "region": "EU"}
    >>> insert = Change("prices", "insert", None, row, STARTED_AT)
    >>> first, *_ = database.replay(Transaction(1, STARTED_AT, (insert,)), perpetrator="clerk")
    >>> first["event_type"], first["table_key"], first["column_name"]
    (7, 'Article="a+b"+Region=EU', 'article')
    """

    def __init__(self) -> None:
        """Creates the tables, empty, with the log and the triggers."""
        self._database = SourceDatabase()
        self._database.add_function("text_of", _text_of)
        self._database.execute("create table session (event_time text, perpetrator text)")
        self._database.execute("insert into session values (null, null)")
        types = {"record_id": "integer primary key autoincrement", "event_type": "integer"}
        columns = ", ".join(f"{column.name} {types.get(column.name, 'text')}" for column in RAW_TABLE.columns)
        self._database.execute(f"create table {EVENT_LOG} ({columns})")
        for logged in LOGGED_TABLES.values():
            for statement in sqlite_triggers(logged):
                self._database.execute(statement)
        self._last_record_id = 0

    def replay(self, transaction: Transaction, perpetrator: str | None) -> list[Mapping[str, Any]]:
        """Executes a transaction; the events that the triggers logged, by column."""
        with self._database.transaction(transaction.committed_at) as opened:
            for change in transaction.changes:
                self._database.execute(
                    "update session set event_time = ?, perpetrator = ?", [change.changed_at, perpetrator]
                )
                table = TABLES[change.table]
                if change.operation == "truncate":
                    opened.truncate(table.name)
                elif change.before is None and change.after is not None:
                    opened.insert(table.name, change.after)
                elif change.before is not None and change.after is None:
                    opened.delete(table.name, table.key_of(change.before))
                elif change.before is not None and change.after is not None:
                    opened.update(table.name, table.key_of(change.before), change.after)
        names = ", ".join(column.name for column in RAW_TABLE.columns)
        logged = self._database.query(
            f"select {names} from {EVENT_LOG} where record_id > ? order by record_id", [self._last_record_id]
        )
        events: list[Mapping[str, Any]] = [
            {c.name: from_sqlite(stored, c.data_type) for c, stored in zip(RAW_TABLE.columns, event, strict=True)}
            for event in logged
        ]
        self._last_record_id = max([self._last_record_id, *(int(event["record_id"]) for event in events)])
        return events

    def draw_record_id(self) -> int:
        """Takes the next record_id for an event that no trigger writes, or that is never committed."""
        self._database.execute(f"insert into {EVENT_LOG} (status) values ('N')")
        ((self._last_record_id,),) = self._database.query(f"select max(record_id) from {EVENT_LOG}")
        self._database.execute(f"delete from {EVENT_LOG} where record_id = ?", [self._last_record_id])
        return self._last_record_id

    def contents(self) -> Contents:
        """All rows of all tables as they are now, by table."""
        return self._database.contents()


class IdmEventLogWriter(FeedWriter):
    """Writes the log of one driver, and the replicas of the tables that are read back.

    Swaps are not for this feed: a trigger logs row by row, so that the delete of a key comes after the insert of the
    row that took it.

    >>> from demo.workload import Workload
    >>> workload = Workload(seed=1, swaps=IdmEventLogWriter.swaps)
    >>> raw_rows = IdmEventLogWriter(seed=1).write([], loaded=workload.fill(), last=True)
    >>> len(raw_rows["event_log"]) > 200, len(raw_rows["prices_replica"])
    (True, 20)

    Attributes:
        delivered: the events that landed so far, those that landed again as often
        late: the events that come with the next batch
    """

    system = "idm_event_log"
    swaps = False

    def __init__(self, seed: int) -> None:
        """Starts a log: its record_ids start again."""
        self._random = Random(seed)
        self._source = LoggedDatabase()
        self.late: list[Event] = []
        self.delivered: list[Event] = []
        self._living: Mapping[str, set[Key]] = {}
        self._accepted: dict[str, set[int]] = defaultdict(set)
        self._batches = 0

    @property
    def raw_tables(self) -> Sequence[RawTable]:
        """The log, and the replicas."""
        return [RAW_TABLE, *REPLICAS.values()]

    def write(
        self, transactions: Sequence[Transaction], loaded: Sequence[Transaction] = (), *, last: bool = False
    ) -> Mapping[str, Sequence[tuple[Landed, ...]]]:
        """Writes a batch: new events, late ones of the batch before, some again, processed ones, and broken ones.

        See `FeedWriter.write`. The replicas show the tables as they are at the end of the batch.
        """
        past = list(self._past()) if self._batches == 0 else []
        logged: list[Event] = []
        for transaction in [*loaded, *transactions]:
            if self._random.random() < _ABANDONED:
                self._source.draw_record_id()  # of a transaction that was rolled back
            logged += self._logged(as_logged_source(transaction), self._random.choice(PERPETRATORS))
        logged += self._caused_by_the_driver(transactions)
        late = [] if last else self._held_back(logged)
        kept_back = {event.fields["record_id"] for event in late}
        events = self.late + [event for event in logged if event.fields["record_id"] not in kept_back]
        events += past + list(self._broken(transactions))
        processed = [self._processed(event) for event in self._some(self._new(self.delivered), _PROCESSED)]
        events += self._some(events, _LANDED_AGAIN) + self._some(self.delivered, _LANDED_AGAIN) + processed
        self._random.shuffle(events)
        self.late = late
        self.delivered += events
        self._batches += 1
        contents = self._source.contents()
        self._keep_account(contents)
        replicas = {
            replica.name: [tuple(row[column.name] for column in replica.columns) for row in contents[name]]
            for name, replica in REPLICAS.items()
        }
        return {RAW_TABLE.name: [event.landed for event in events], **replicas}

    def source_contents(self, contents: Contents) -> Contents:
        """The contents, with keys that are never null; see `FeedWriter.source_contents`."""
        return {name: [with_whole_key(TABLES[name], row) for row in rows] for name, rows in contents.items()}

    @property
    def expected_statuses(self) -> Mapping[str, Counter[Verdict]]:
        """How many events staging must find in which status; see `FeedWriter.expected_statuses`."""
        counts: dict[str, Counter[Verdict]] = {name: Counter() for name in TABLES}
        for event in self.delivered:
            if event.table is not None:
                counts[event.table.name][self._verdict(event)] += 1
        return counts

    @property
    def expected_changes(self) -> Mapping[str, int]:
        """How many distinct changes there are; see `FeedWriter.expected_changes`.

        An event that was read is one, also when its row is gone by now.
        """
        return {name: len(self._accepted[name]) for name in TABLES}

    @property
    def expected_unclaimed(self) -> Counter[Verdict]:
        """How many events belong to no entry, by what they must be listed as."""
        return Counter(event.verdict for event in self.delivered if event.table is None)

    def _verdict(self, event: Event) -> Verdict:
        """The verdict on an event, with the replicas as they are now."""
        if event.table is not None and event.is_to_be_read and event.key not in self._living[event.table.name]:
            return _IGNORED
        return event.verdict

    def _keep_account(self, contents: Contents) -> None:
        self._living = {name: {TABLES[name].key_of(row) for row in rows} for name, rows in contents.items()}
        for event in self.delivered:
            if event.table is not None and self._verdict(event) == _ACCEPTED:
                self._accepted[event.table.name].add(event.fields["record_id"])

    # what the triggers log

    def _logged(self, transaction: Transaction, perpetrator: str | None) -> list[Event]:
        events = self._source.replay(transaction, perpetrator)
        keys = keys_of(events)
        tables = {logged.name: logged.table for logged in LOGGED_TABLES.values()}
        verdict = _IGNORED if perpetrator == DRIVER_USER else _ACCEPTED
        return [
            Event(tables[event["table_name"]], event, verdict, key) for event, key in zip(events, keys, strict=True)
        ]

    def _caused_by_the_driver(self, transactions: Sequence[Transaction]) -> list[Event]:
        """The driver writes into each table what somebody sets back at once: loopback, and events that count."""
        events: list[Event] = []
        at = transactions[-1].committed_at if transactions else STARTED_AT
        for name, rows in self._source.contents().items():
            if rows:
                row = self._random.choice(rows)
                column = self._random.choice(TABLES[name].other_columns)
                value = None if row[column.name] is not None else random_value(self._random, column, nulls=0)
                other = {**row, column.name: value}
                there, back = Change(name, "update", row, other, at), Change(name, "update", other, row, at)
                events += self._logged(Transaction(0, at, (there,)), DRIVER_USER)
                events += self._logged(Transaction(0, at, (back,)), None)
        return events

    def _held_back(self, events: Sequence[Event]) -> list[Event]:
        """Events that come in the next batch: of what a later event, which is in time, sets again."""
        settled: set[tuple[str, Key, str]] = set()
        late: list[Event] = []
        for event in reversed(events):
            if event.verdict != _ACCEPTED:
                continue
            if event.touched <= settled and self._random.random() < _LATE:
                late.append(event)
            else:
                settled |= event.touched
        return late

    # what the driver has done, and what nobody should have written

    def _made(self, logged: LoggedTable | None, verdict: Verdict, at: datetime, **fields: Landed) -> Event:
        """An event that no trigger wrote; of a delete, where nothing else is said."""
        header: dict[str, Landed] = {
            "record_id": self._source.draw_record_id(),
            "table_key": None,
            "status": "N",
            "event_type": DELETE_ROW,
            "event_time": at,
            "perpetrator": None,
            "table_name": None if logged is None else logged.name,
            "column_name": None,
            "old_value": None,
            "new_value": None,
        }
        return Event(None if logged is None else logged.table, {**header, **fields}, verdict)

    def _past(self) -> Iterator[Event]:
        """Events that the driver processed before the demo began, of rows that are gone."""
        for logged in LOGGED_TABLES.values():
            key = tuple(-1 if column.data_type != "string" else "of the past" for column in _key_columns(logged.table))
            for status in "SWEF":
                column = logged.table.key[0]
                given = {"table_key": key_text(logged.table, key), "column_name": column, "new_value": str(key[0])}
                yield self._made(logged, _IGNORED, STARTED_AT, status=status, event_type=1, **given)

    def _processed(self, event: Event) -> Event:
        """An event as the driver leaves it in the log when it has read it."""
        return replace(event, fields={**event.fields, "status": self._random.choice("SSSWEF")}, verdict=_IGNORED)

    def _broken(self, transactions: Sequence[Transaction]) -> Iterator[Event]:
        """Events that cannot be read; each would do harm if it was accepted."""
        changes = [change for transaction in transactions for change in as_logged_source(transaction).changes]
        for change in {change.table: change for change in changes if change.after is not None}.values():
            assert change.after is not None
            yield from self._broken_like(LOGGED_TABLES[change.table], change.after, change.changed_at)
        for change in changes[:1]:
            yield self._made(None, _IGNORED, change.changed_at, table_name="audit", table_key="id=1")
            unknown = Verdict("rejected", "table_unknown")
            yield self._made(None, unknown, change.changed_at, table_name=self._one_of(None, ""), table_key="id=1")

    def _broken_like(self, logged: LoggedTable, row: Row, at: datetime) -> Iterator[Event]:
        table = logged.table
        key = key_text(table, table.key_of(row))
        first = table.key[0]

        def made(code: str, **fields: Landed) -> Event:
            return self._made(logged, Verdict("rejected", code), at, **{"table_key": key, **fields})

        def of_type(data_types: Sequence[str]) -> str:
            return next(c.name for c in table.other_columns if c.data_type in data_types)

        number = next(c.name for c in table.other_columns if c.data_type not in ("string", "binary", "boolean"))
        text = of_type(["string"])
        update: dict[str, Landed] = {"event_type": self._one_of(2, 3)}
        yield made("key_malformed", table_key=self._one_of(f"{key}+", f'{first}="1', f"{first}=1;2"))
        yield made("key_malformed", table_key=self._one_of(f"{text}=1", f"{key}+{first.upper()}=1", f"{key}+{text}=1"))
        yield made("reserved_status", status=self._one_of("n", "X", None))
        yield made("unknown_operation", event_type=self._one_of(9, 0, None))
        yield made("position_missing", record_id=self._one_of(None, 0, -7))
        yield made("event_time_missing", event_time=None)
        yield made(
            "column_not_declared", event_type=self._one_of(8, 2, 7), column_name=self._one_of("nobody's", None, "")
        )
        yield made("key_updated", **update, column_name=first, new_value="0")
        yield made("key_contradicted", event_type=1, column_name=first, new_value="0")
        yield made("value_does_not_fit", **update, column_name=number, new_value=self._one_of("n/a", "1.5e", "9" * 40))
        forbidden = "no text: " + self._one_of("\x07", "\x1b", "\ufffe")
        yield made("xml_forbidden_character", **update, column_name=text, new_value=forbidden)
        if not logged.is_read_back:
            yield made("no_replica", event_type=self._one_of(5, 6, 8), column_name=text)
        if any(column.data_type == "binary" for column in table.columns):
            yield made("value_does_not_fit", **update, column_name=of_type(["binary"]), new_value="no Base64!")
        if table.columns[0].data_type != "string":
            yield made("value_does_not_fit", table_key=f"{first}=seven")

    def _new(self, events: Iterable[Event]) -> list[Event]:
        return [event for event in events if event.verdict == _ACCEPTED]

    def _some(self, events: Sequence[Event], part: float) -> list[Event]:
        return self._random.sample(list(events), int(part * len(events)))

    def _one_of(self, *kinds: Any) -> Any:
        return kinds[self._batches % len(kinds)]


def keys_of(events: Sequence[Mapping[str, Any]]) -> list[Key]:
    """The keys in the table keys of sound events, in the order of their table's key."""
    parsed = parse_table_key(pa.array([event["table_key"] for event in events], pa.string())).to_pylist()
    tables = {logged.name: logged.table for logged in LOGGED_TABLES.values()}
    keys: list[Key] = []
    for event, found in zip(events, parsed, strict=True):
        values = {pair["name"].lower().removeprefix("pk_"): pair["value"] for pair in found["pairs"]}
        columns = _key_columns(tables[event["table_name"]])
        keys.append(tuple(values[c.name] if c.data_type == "string" else int(values[c.name]) for c in columns))
    return keys


def key_text(table: Table, key: Key) -> str:
    """A key as the log has it, without what the triggers vary.

    >>> key_text(TABLES["prices"], ("a,b", "EU"))
    'article="a,b"+region=EU'
    """
    return format_table_key((name, str(value)) for name, value in zip(table.key, key, strict=True))


def _key_columns(table: Table) -> list[Column]:
    return [table.columns[table.column_names.index(name)] for name in table.key]


def _text_of(stored: Any) -> str | None:
    """A stored value as the log has it: bytes as Base64, and a number with all of its digits."""
    if stored is None:
        return None
    return b64encode(stored).decode() if isinstance(stored, bytes) else str(stored)
