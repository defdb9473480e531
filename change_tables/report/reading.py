"""Reads what a report needs from a server: the runs of all logs in one statement, the rest where there is something.

Kept rows are asked for in one statement for several logs, and only for logs that keep some. Updates without their base
are asked for where the text of a log's view lists them; the texts come in one statement a schema. Sizes take a
statement a log.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from change_tables.generator.names import quoted
from change_tables.server.connection import UNREADABLE, Address, close_quietly, words_of

from .facts import AGES, OLDER, ORPHAN, Facts, Kept, Node, Run, Sample, Size, TableFacts, time_of_batch

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
) -> Facts:
    """What the server knows.

    Args:
        query: runs a statement
        wish: what is to be read
        now: the time from which ages are counted
        nodes: of dbt's last run
        say: is told what is being read

    Raises:
        ReadingError: the table of the runs cannot be read. What else cannot be read is in `not_read` of the facts.
    """
    not_read: list[str] = []
    say("runs")
    tables = _tables(query, wish)
    say("rejected and waiting rows")
    kept_by = _kept(query, tables, wish, now, not_read)
    say("updates without their base")
    for log, kept in _orphans(query, tables, wish, now, not_read).items():
        kept_by[log] = [*kept_by.get(log, ()), *kept]
    tables = [replace(table, kept=tuple(kept_by.get(table.log, ()))) for table in tables]
    if wish.sizes:
        say("sizes")
        tables = [replace(table, size=_size(query, table, not_read)) for table in tables]
    return Facts(now, tuple(tables), tuple(nodes), tuple(not_read))


def _tables(query: Callable[[str], Rows], wish: Wish) -> list[TableFacts]:
    times = ", ".join(f"unix_micros({name}) as {name}" for name in _TIMES)
    relation = f"{quoted(wish.schema)}.{quoted(wish.runs_table)}"
    try:
        found = query(
            f"select log, source_name, table_name, batch_id, run_kind, {', '.join(_NUMBERS)}, {times}, seconds,"
            " to_json(codes) as codes, to_json(reports) as reports"
            " from (select *, row_number() over (partition by log order by batch_id desc) as _nth"
            f" from {relation}) where _nth <= {wish.runs} order by log, batch_id"
        )
    except ReadingError as error:
        remedy = "name it by --schema and --runs-table; the first build of this version makes it"
        raise ReadingError(f"cannot read {wish.schema}.{wish.runs_table}: {error}; {remedy}") from error
    of: dict[str, list[dict[str, Any]]] = {}
    for row in found:
        of.setdefault(str(row["log"]), []).append(row)
    return [
        TableFacts(log, str(rows[-1]["source_name"]), str(rows[-1]["table_name"]), tuple(map(_run, rows)))
        for log, rows in sorted(of.items())
    ]


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


def _kept(
    query: Callable[[str], Rows], tables: Sequence[TableFacts], wish: Wish, now: datetime, not_read: list[str]
) -> dict[str, list[Kept]]:
    """The kept rows of logs that have any, by log."""
    logs = [table.log for table in tables if table.last_run.kept_rejected or table.last_run.kept_waiting]

    def rows_of(log: str) -> str:
        return (
            "_status, _status_reason, _raw_row, _equal_rows, _batch_id, _row_id as _row"
            f" from {_relation(log, '__quarantine')} where _healed_at is null"
        )

    found: dict[str, list[Kept]] = {}
    for start in range(0, len(logs), _TABLES_A_STATEMENT):
        chunk = logs[start : start + _TABLES_A_STATEMENT]
        try:
            found |= _counted(query, chunk, rows_of, wish, now)
        except ReadingError:  # of one of them, so ask each
            for log in chunk:
                try:
                    found |= _counted(query, [log], rows_of, wish, now)
                except ReadingError as error:
                    not_read.append(f"rejected and waiting rows of {log}: {error}")
    return found


def _orphans(
    query: Callable[[str], Rows], tables: Sequence[TableFacts], wish: Wish, now: datetime, not_read: list[str]
) -> dict[str, list[Kept]]:
    """Updates that wait for their base, of logs whose view `<name>__reports` lists such ones, by log."""
    logs = {table.log for table in tables}
    listing: set[str] = set()
    for schema in sorted({_parts(log)[0] for log in logs}):
        try:
            for row in query(f"show table extended in {quoted(schema)} like '*__reports'"):
                name = str(row["tableName"])
                if f"'{ORPHAN}' as code" in str(row["information"]):
                    listing.add(f"{schema}.{name.removesuffix('__reports')}")
        except ReadingError as error:
            not_read.append(f"views of {schema}: {error}")

    def rows_of(log: str) -> str:
        return (
            f"'reported' as _status, concat('{ORPHAN}: ', reports.detail) as _status_reason,"
            " '' as _raw_row, 1 as _equal_rows, changes._batch_id, reports._change_id as _row"
            f" from {_relation(log, '__reports')} as reports join {_relation(log)} as changes"
            f" on reports._change_id = changes._change_id where reports.code = '{ORPHAN}'"
        )

    found: dict[str, list[Kept]] = {}
    for log in sorted(logs & listing):
        try:
            found |= _counted(query, [log], rows_of, wish, now)
        except ReadingError as error:
            not_read.append(f"updates without their base of {log}: {error}")
    return found


def _counted(
    query: Callable[[str], Rows], logs: Sequence[str], rows_of: Callable[[str], str], wish: Wish, now: datetime
) -> dict[str, list[Kept]]:
    """The rows of these logs by status and code, counted by age, with samples; by log.

    The age of a row is that of the run that met it first, whose time is the begin of its `_batch_id`.
    """
    rows = " union all ".join(f"select {place} as _place, {rows_of(log)}" for place, log in enumerate(logs))
    group = "partition by _place, _status, code"
    bounds = [f"{now - timedelta(seconds=age):%Y%m%dT%H%M%S}" for age in AGES.values()]
    younger = ", ".join(
        f"sum(if(_batch_id > '{bound}', _equal_rows, 0)) over ({group}) as younger_{place}"
        for place, bound in enumerate(bounds)
    )
    answer = query(
        f"with rows_of_logs as ({rows}), coded as ("
        "select *, substring_index(_status_reason, ':', 1) as code from rows_of_logs), numbered as ("
        f"select *, row_number() over ({group} order by _batch_id desc, _row) as nth,"
        f" sum(_equal_rows) over ({group}) as all_rows, min(_batch_id) over ({group}) as oldest, {younger} from coded)"
        f" select _place, _status, code, left(_status_reason, {_LONGEST}) as detail,"
        f" left(_raw_row, {_LONGEST}) as raw_row, _equal_rows, all_rows, oldest,"
        f" {', '.join(f'younger_{place}' for place in range(len(bounds)))}"
        f" from numbered where nth <= {max(wish.samples, 1)} order by _place, _status, code, nth"
    )
    found: dict[str, list[Kept]] = {}
    for key, group_rows in _grouped(answer):
        first = group_rows[0]
        ages = [int(first[f"younger_{place}"]) for place in range(len(bounds))]
        counts = [ages[0], *(later - earlier for earlier, later in pairwise(ages))]
        by_age = dict(zip([*AGES, OLDER], [*counts, int(first["all_rows"]) - ages[-1]], strict=True))
        samples = tuple(
            Sample(str(row["detail"] or ""), str(row["raw_row"] or ""), int(row["_equal_rows"])) for row in group_rows
        )
        found.setdefault(logs[int(key[0])], []).append(
            Kept(
                status=str(key[1]),
                code=str(key[2]),
                rows=int(first["all_rows"]),
                since=time_of_batch(str(first["oldest"])),
                by_age={age: count for age, count in by_age.items() if count},
                samples=samples[: wish.samples],
            )
        )
    return found


def _grouped(answer: Iterable[Mapping[str, Any]]) -> Iterator[tuple[tuple[Any, ...], list[Mapping[str, Any]]]]:
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in answer:
        groups.setdefault((row["_place"], row["_status"], row["code"]), []).append(row)
    yield from groups.items()


def _size(query: Callable[[str], Rows], table: TableFacts, not_read: list[str]) -> Size | None:
    try:
        (row,) = query(f"describe detail {_relation(table.log, '__state')}")
        return Size(int(row["sizeInBytes"]), int(row["numFiles"]))
    except ReadingError as error:
        not_read.append(f"size of {table.log}: {error}")
        return None


def _parts(log: str) -> tuple[str, str]:
    schema, _, name = log.rpartition(".")
    return schema, name


def _relation(log: str, suffix: str = "") -> str:
    schema, name = _parts(log)
    return f"{quoted(schema)}.{quoted(name + suffix)}"
