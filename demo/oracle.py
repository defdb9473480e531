"""Compares what the models say with what the source database says.

The source's rows are landed beside the models, and both are compared by SQL: as sets of whole rows with how often each
stands there, null equal to null, in their declared types. Only counts and a few rows come back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from demo.database import Table
from demo.history import Row
from demo.landing import Connection, create_table, execute, fetch, insert_rows, quoted
from demo.writers.feed import Verdict

TRUTH_SCHEMA = "truth"
"""Where the source's rows are landed."""

_SAMPLE_ROWS = 3


@dataclass(frozen=True)
class Comparison:
    """What a model has other than the source's table.

    Attributes:
        rows: how many rows the model has
        missing: how many rows of the source the model lacks
        surplus: how many rows of the model the source lacks
        other_types: columns whose type is not the declared one, as `name: found, not declared`
        samples: a few of the differing rows, each with `missing` or `surplus` in front
    """

    rows: int
    missing: int
    surplus: int
    other_types: Sequence[str]
    samples: Sequence[tuple[Any, ...]]

    @property
    def equal(self) -> bool:
        """Whether model and source are the same.

        >>> Comparison(2, 0, 0, [], []).equal, Comparison(2, 1, 0, [], []).equal
        (True, False)
        """
        return not (self.missing or self.surplus or self.other_types)


def land_truth(connection: Connection, table: Table, rows: Sequence[Row], name: str = "") -> str:
    """Lands a source table's rows, under another name if need be; returns the relation.

    What was landed under that name before is replaced.
    """
    relation = f"{TRUTH_SCHEMA}.{quoted(name or table.name)}"
    execute(connection, f"create schema if not exists {TRUTH_SCHEMA}")
    create_table(connection, relation, table.columns)
    insert_rows(connection, relation, [tuple(row[name] for name in table.column_names) for row in rows])
    return relation


def compare(connection: Connection, table: Table, relation: str, truth: str, only: str = "true") -> Comparison:
    """Compares a model's own columns with the source's table.

    Args:
        connection: to the Thrift server
        table: the source table
        relation: the model
        truth: what `land_truth` returned for the table
        only: SQL for the rows of the model that count
    """
    names = ", ".join(quoted(name) for name in table.column_names)
    counted = (
        f"select {names}, sum(ours) as ours, sum(theirs) as theirs"
        f" from (select {names}, 1 as ours, 0 as theirs from {relation} where {only}"
        f" union all select {names}, 0 as ours, 1 as theirs from {truth}) group by all"
    )
    missing, surplus = "greatest(theirs - ours, 0)", "greatest(ours - theirs, 0)"
    ((rows, missed, too_many),) = fetch(
        connection,
        f"select coalesce(sum(ours), 0), coalesce(sum({missing}), 0), coalesce(sum({surplus}), 0) from ({counted})",
    )
    samples = (
        fetch(
            connection,
            f"select if(ours < theirs, 'missing', 'surplus'), {names} from ({counted})"
            f" where ours <> theirs limit {_SAMPLE_ROWS}",
        )
        if missed or too_many
        else []
    )
    found = {name: data_type for name, data_type, *_ in fetch(connection, f"describe {relation}")}
    other_types = [
        f"{column.name}: {found.get(column.name)}, not {column.data_type}"
        for column in table.columns
        if found.get(column.name) != column.data_type
    ]
    return Comparison(rows, missed, too_many, other_types, samples)


def disordered_versions(connection: Connection, table: Table, history: str) -> tuple[int, int]:
    """How many versions a history has, and how many of them do not end where or before the next of their key begins."""
    key = ", ".join(quoted(name) for name in table.key)
    ((versions, disordered),) = fetch(
        connection,
        "select count(*), count_if(_valid_from_seq >= _valid_to_seq or coalesce(_valid_to_seq, '~') > _next_from_seq)"
        f" from (select *, lead(_valid_from_seq) over (partition by {key} order by _valid_from_seq) as _next_from_seq"
        f" from {history})",
    )
    return versions, disordered


def count_statuses(connection: Connection, relation: str) -> Counter[Verdict]:
    """How many rows of a staging model have which verdict."""
    query = (
        "select _status, if(_status in ('rejected', 'waiting'), substring_index(_status_reason, ':', 1), null), "
        f"count(*) from {relation} group by all"
    )
    return Counter({Verdict(status, code): count for status, code, count in fetch(connection, query)})


def differing_statuses(expected: Mapping[Verdict, int], found: Mapping[Verdict, int]) -> list[str]:
    """What a staging model counts otherwise than the writer, one line a verdict.

    >>> differing_statuses({Verdict("accepted", None): 3}, {Verdict("accepted", None): 3})
    []
    >>> differing_statuses({Verdict("rejected", "key_missing"): 1}, {})
    ['rejected key_missing: 1 written, 0 staged']
    """
    return [
        f"{' '.join(filter(None, verdict))}: {expected.get(verdict, 0)} written, {found.get(verdict, 0)} staged"
        for verdict in sorted({*expected, *found}, key=lambda verdict: (verdict.status, verdict.code or ""))
        if expected.get(verdict, 0) != found.get(verdict, 0)
    ]
