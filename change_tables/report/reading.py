"""Reads what a report needs from a server: the runs of all logs in one statement, the rest where there is something.

Kept rows are asked for in one statement for several logs, and only for logs that keep some. So are reported changes of
logs whose runs have reported some. A log whose view looks for more, such as updates without their base, is asked by a
statement of its own: the texts of the views say so, and come in one statement a schema. Sizes take a statement a log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from change_tables.generator.names import quoted
from change_tables.server.connection import UNREADABLE, Address, close_quietly, words_of

from .facts import AGES, OLDER, Facts, Kept, Node, Run, Sample, Size, TableFacts, news_of, time_of_batch
from .pasted import named, sql_text
from .table_formats import DELTA, TableFormat

Rows = list[dict[str, Any]]
"""The rows of a statement, each by the names of its columns."""

_TABLES_A_STATEMENT = 20
_LONGEST = 1000  # characters of a reason and of a raw row
_NUMBERS = (
    *("raw_rows", "accepted", "merged", "ignored", "rejected", "waiting", "new_changes", "revised_changes"),
    *("kept_rejected", "kept_waiting"),
)
_MAY_BE_UNKNOWN = ("raw_rows", "accepted", "merged", "ignored")
_TIMES = ("started_at", "last_changed_at", "waiting_since")


ACKNOWLEDGEMENTS = "change_table_acknowledgements"
"""The table of what operators have acknowledged, beside that of the runs: macros/health/acknowledgements.sql."""

CONFLICTING = "conflicting_content"
"""The code that the view of each log has, and that runs count."""


class ReadingError(Exception):
    """The runs cannot be read; the message is one line with the cause and what to do."""


@dataclass(frozen=True)
class Wish:
    """What is to be read."""

    schema: str
    runs_table: str = "change_table_runs"
    runs: int = 30
    """Of each log, so many of the newest."""
    samples: int = 3
    """Of each code of each log, so many rows."""
    sizes: bool = True


class Session:
    """A session on a server, for statements that may last."""

    def __init__(self, address: Address) -> None:
        """Opens it.

        Raises:
            NoSessionError: there is none.
            ReadingError: it cannot be asked.
        """
        self._connection = address.connect(statements_may_last=True)

    def query(self, statement: str) -> Rows:
        """The rows of a statement.

        Raises:
            ReadingError: it fails; the message is what the server says.
        """
        cursor = self._connection.cursor()
        try:
            cursor.execute(statement)
            names = [column[0].rpartition(".")[2] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()] if names else []
        except UNREADABLE as error:
            raise ReadingError(words_of(error)) from error
        finally:
            close_quietly(cursor)

    def close(self) -> None:
        """Ends it."""
        close_quietly(self._connection)


def read_facts(
    query: Callable[[str], Rows],
    wish: Wish,
    now: datetime,
    nodes: Sequence[Node] = (),
    say: Callable[[str], object] = str,
    table_format: TableFormat = DELTA,
) -> Facts:
    """What the server knows.

    Args:
        query: runs a statement
        wish: what is to be read
        now: the time from which ages are counted
        nodes: of dbt's last run
        say: is told what is being read
        table_format: of the server's tables

    Raises:
        ReadingError: the table of the runs cannot be read. What else cannot be read is in `not_read` of the facts.
    """
    not_read = _NotRead()
    say("runs")
    tables, reporting = _tables(query, wish)
    reader = _Reader(query, wish, now, tables, not_read, table_format)
    say("rejected and waiting rows")
    reader.read_kept()
    say("reported changes")
    reader.read_reported(reporting)
    tables = [replace(table, kept=tuple(reader.kept.get(table.log, ()))) for table in tables]
    if wish.sizes:
        say("sizes")
        tables = [replace(table, size=_size(query, table, not_read, table_format)) for table in tables]
    runs_table = f"{wish.schema}.{wish.runs_table}"
    return Facts(now, tuple(tables), tuple(nodes), not_read.lines(), runs_table)


class _NotRead:
    """What could not be read of which logs, and why: the same of several logs is one line."""

    def __init__(self) -> None:
        self._logs: dict[tuple[str, str], list[str]] = {}

    def add(self, what: str, log: str, error: ReadingError) -> None:
        """Note it. The message of the server may have the name of the log, as it was asked for or with a suffix."""
        schema, name = _parts(log)
        why = re.sub(rf"`?{re.escape(schema)}`?\.`?{re.escape(name)}(__\w+)?`?", "…", str(error))
        self._logs.setdefault((what, why), []).append(log)

    def lines(self) -> tuple[str, ...]:
        """A line each."""
        return tuple(f"{what} of {named(logs)}: {why}" for (what, why), logs in self._logs.items())


def _tables(query: Callable[[str], Rows], wish: Wish) -> tuple[list[TableFacts], set[str]]:
    """The logs with their runs, and those whose runs have ever reported a change."""
    times = ", ".join(f"unix_micros({name}) as {name}" for name in _TIMES)
    relation = f"{quoted(wish.schema)}.{quoted(wish.runs_table)}"
    try:
        found = query(
            f"select log, source_name, table_name, batch_id, run_kind, {', '.join(_NUMBERS)}, {times}, seconds,"
            " to_json(codes) as codes, to_json(reports) as reports, has_reported"
            " from (select *, row_number() over (partition by log order by batch_id desc) as _nth,"
            " max(coalesce(size(reports), 0)) over (partition by log) > 0 as has_reported"
            f" from {relation}) where _nth <= {wish.runs + 1} order by log, batch_id"
        )
    except ReadingError as error:
        remedy = "name it by --schema and --runs-table; the first build of this version makes it"
        raise ReadingError(f"cannot read {wish.schema}.{wish.runs_table}: {error}; {remedy}") from error
    of: dict[str, list[dict[str, Any]]] = {}
    for row in found:
        of.setdefault(str(row["log"]), []).append(row)
    tables = []
    for log, rows in sorted(of.items()):
        runs = [_run(row) for row in rows]
        # the one before the oldest says what was there before
        news = [news_of(run, before) for before, run in zip([None, *runs], runs, strict=False)][-wish.runs :]
        tables.append(TableFacts(log, str(rows[-1]["source_name"]), str(rows[-1]["table_name"]), tuple(news)))
    return tables, {str(row["log"]) for row in found if row["has_reported"]}


def _run(row: Mapping[str, Any]) -> Run:
    def number(name: str) -> Any:
        return int(row[name]) if row[name] is not None else None if name in _MAY_BE_UNKNOWN else 0

    def time(name: str) -> Any:
        return None if row[name] is None else datetime.fromtimestamp(0, UTC) + timedelta(microseconds=int(row[name]))

    def counted(name: str) -> dict[str, int]:
        return {str(key): int(value or 0) for key, value in json.loads(row[name] or "{}").items()}

    return Run(
        batch_id=str(row["batch_id"]),
        kind=str(row["run_kind"]),
        seconds=None if row["seconds"] is None else float(row["seconds"]),
        codes=counted("codes"),
        reports=counted("reports"),
        **{name: number(name) for name in _NUMBERS},
        **{name: time(name) for name in _TIMES},
    )


class _Reader:
    """Reads what logs keep and report."""

    def __init__(
        self,
        query: Callable[[str], Rows],
        wish: Wish,
        now: datetime,
        tables: Sequence[TableFacts],
        not_read: _NotRead,
        table_format: TableFormat,
    ) -> None:
        self._query, self._wish, self._now, self._not_read = query, wish, now, not_read
        self._tables = {table.log: table for table in tables}
        self._format = table_format
        self._acknowledged: str | None = None
        self.kept: dict[str, list[Kept]] = {}
        """What was read, by log."""

    def read_kept(self) -> None:
        """The kept rows of logs that have any."""
        logs = [
            table.log for table in self._tables.values() if table.last_run.kept_rejected or table.last_run.kept_waiting
        ]

        def rows_of(log: str) -> str:
            return (
                f"_status, _status_reason, _raw_row, _equal_rows, _batch_id, {self._format.row_id} as _row"
                f" from {_relation(log, '__quarantine')} where _healed_at is null"
            )

        self._read("rejected and waiting rows", logs, rows_of)

    def read_reported(self, reporting: set[str]) -> None:
        """The reported changes of logs whose runs have reported some, and of those whose view looks for more."""
        looking: set[str] = set()
        for schema in sorted({_parts(log)[0] for log in self._tables}):
            try:
                for name, text in self._format.texts_of_views(self._query, schema, "*__reports"):
                    if set(re.findall(r"'(\w+)' as code", text)) - {CONFLICTING}:
                        looking.add(f"{schema}.{name.removesuffix('__reports')}")
            except ReadingError as error:
                self._not_read.add("views", schema, error)

        def rows_of(log: str) -> str:
            return (
                "'reported' as _status, concat(reports.code, ': ', reports.detail) as _status_reason,"
                " '' as _raw_row, 1 as _equal_rows, changes._batch_id, reports._change_id as _row"
                f" from {_relation(log, '__reports')} as reports join {_relation(log)} as changes"
                " on reports._change_id = changes._change_id"
            )

        self._read("reported changes", sorted((reporting - looking) & self._tables.keys()), rows_of)
        for log in sorted(looking & self._tables.keys()):
            self._read("reported changes", [log], rows_of)

    def _read(self, what: str, logs: Sequence[str], rows_of: Callable[[str], str]) -> None:
        """What these logs have, several in a statement; where one cannot be read, each in its own."""
        for start in range(0, len(logs), _TABLES_A_STATEMENT):
            chunk = logs[start : start + _TABLES_A_STATEMENT]
            try:
                self._count(chunk, rows_of)
            except ReadingError:
                for log in chunk:
                    try:
                        self._count([log], rows_of)
                    except ReadingError as error:
                        self._not_read.add(what, log, error)

    def _acknowledgements(self) -> str:
        """The statement's part that says which rows are acknowledged. The table is there once somebody has."""
        if self._acknowledged is None:
            schema = self._wish.schema
            there = self._query(f"show tables in {quoted(schema)} like '{ACKNOWLEDGEMENTS}'")
            self._acknowledged = (
                f"select distinct source_name, table_name, code, id from {quoted(schema)}.{ACKNOWLEDGEMENTS}"
                if there
                else "select '' as source_name, '' as table_name, '' as code, '' as id where false"
            )
        return self._acknowledged

    def _count(self, logs: Sequence[str], rows_of: Callable[[str], str]) -> None:
        """The rows of these logs by status and code, counted by age, with samples.

        The age of a row is that of the run that met it first, whose time is the begin of its `_batch_id`.
        """
        rows = " union all ".join(
            f"select {place} as _place, {sql_text(self._tables[log].source_name)} as _source,"
            f" {sql_text(self._tables[log].table_name)} as _table, {rows_of(log)}"
            for place, log in enumerate(logs)
        )
        group = "partition by _place, _status, code"
        bounds = [f"{self._now - timedelta(seconds=age):%Y%m%dT%H%M%S}" for age in AGES.values()]
        younger = ", ".join(
            f"sum(if(_batch_id > '{bound}', _open_rows, 0)) over ({group}) as younger_{place}"
            for place, bound in enumerate(bounds)
        )
        answer = self._query(
            f"with rows_of_logs as ({rows}), coded as ("
            "select *, substring_index(_status_reason, ':', 1) as code from rows_of_logs), judged as ("
            "select coded.*, if(acknowledged.id is null, _equal_rows, 0) as _open_rows from coded"
            f" left join ({self._acknowledgements()}) as acknowledged on coded._source = acknowledged.source_name"
            " and coded._table = acknowledged.table_name and coded.code = acknowledged.code"
            " and coded._row = acknowledged.id), numbered as ("
            f"select *, row_number() over ({group} order by _open_rows = 0, _batch_id desc, _row) as nth,"
            f" sum(_open_rows) over ({group}) as all_rows, sum(_equal_rows) over ({group}) as _every_row,"
            f" min(if(_open_rows > 0, _batch_id, null)) over ({group}) as oldest, {younger} from judged)"
            f" select _place, _status, code, left(_status_reason, {_LONGEST}) as detail,"
            f" left(_raw_row, {_LONGEST}) as raw_row, _open_rows, all_rows, _every_row - all_rows as acknowledged_rows,"
            f" oldest, {', '.join(f'younger_{place}' for place in range(len(bounds)))}"
            f" from numbered where nth <= {max(self._wish.samples, 1)} order by _place, _status, code, nth"
        )
        for key, group_rows in _grouped(answer):
            first = group_rows[0]
            ages = [int(first[f"younger_{place}"]) for place in range(len(bounds))]
            counts = [ages[0], *(later - earlier for earlier, later in pairwise(ages))]
            by_age = dict(zip([*AGES, OLDER], [*counts, int(first["all_rows"]) - ages[-1]], strict=True))
            samples = tuple(
                Sample(str(row["detail"] or ""), str(row["raw_row"] or ""), int(row["_open_rows"]))
                for row in group_rows
                if row["_open_rows"]
            )
            self.kept.setdefault(logs[int(key[0])], []).append(
                Kept(
                    status=str(key[1]),
                    code=str(key[2]),
                    rows=int(first["all_rows"]),
                    since=time_of_batch(str(first["oldest"])),
                    by_age={age: count for age, count in by_age.items() if count},
                    samples=samples[: self._wish.samples],
                    acknowledged=int(first["acknowledged_rows"]),
                )
            )


def _grouped(answer: Iterable[Mapping[str, Any]]) -> Iterator[tuple[tuple[Any, ...], list[Mapping[str, Any]]]]:
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in answer:
        groups.setdefault((row["_place"], row["_status"], row["code"]), []).append(row)
    yield from groups.items()


def _size(
    query: Callable[[str], Rows], table: TableFacts, not_read: _NotRead, table_format: TableFormat
) -> Size | None:
    try:
        return Size(*table_format.size(query, _relation(table.log, "__state")))
    except ReadingError as error:
        not_read.add("size", table.log, error)
        return None


def _parts(log: str) -> tuple[str, str]:
    schema, _, name = log.rpartition(".")
    return schema, name


def _relation(log: str, suffix: str = "") -> str:
    schema, name = _parts(log)
    return f"{quoted(schema)}.{quoted(name + suffix)}"
