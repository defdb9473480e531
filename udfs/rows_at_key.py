"""Whose row each event of a key is about: rows that move between keys may be at one key at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa

from .flat_bytes import require_type

_ADDS, _TAKES, _EMPTIES = "adds", "takes", "empties"
_ROW = pa.struct([("row_id", pa.string()), ("takes_covered_row", pa.bool_()), ("covered_by", pa.string())])


def rows_at_key(change_ids: pa.Array, effects: pa.Array, transaction_ids: pa.Array) -> pa.Array:
    """The row that each event of a key is about, where a row may come to the key before another has left it.

    All array<string>, shape (n,): one key in each row, with its events in their order; three lists of one length. An
    effect is one of

        adds      a row has moved to this key
        takes     the row that came first has left the key, or is deleted
        empties   the table was truncated, or is loaded again: no row is left
        sets      any other change, which is about the row that came last; a null counts as this, too

    Rows are together at a key within one transaction only: an event of another one, or of none, finds the row that came
    last, and that row has covered the others for good. A change that sets a row where none is brings one.

    Returns array<struct<row_id string, takes_covered_row boolean, covered_by string>>, shape (n,), each list as long as
    its events:

        row_id              the change that brought the row to this key, null where an event finds none
        takes_covered_row   whether a row left that another had covered already: the key shows the same as before
        covered_by          for the event that brought a row which another has covered for good: the other's `row_id`

    The row is null where a list is null or their lengths differ. Raises TypeError for columns of another type, never
    for a value. Takes time in proportion to the number of events.

    Source: section 6 of docs/semantics.md.

    >>> lists = ["a", "b", "c"], ["sets", "adds", "takes"], [None, "T", "T"]
    >>> [list(row.values()) for row in rows_at_key(*(pa.array([texts]) for texts in lists)).to_pylist()[0]]
    [['a', False, None], ['b', False, None], ['a', True, None]]
    """
    change_ids = require_type("rows_at_key", "change_ids", change_ids, ("array<string>",))
    effects = require_type("rows_at_key", "effects", effects, ("array<string>",))
    transaction_ids = require_type("rows_at_key", "transaction_ids", transaction_ids, ("array<string>",))
    row_ids: list[str | None] = []
    takes_covered: list[bool] = []
    covered_by: list[str | None] = []
    ends: list[int | None] = [0]
    for ids, of_key, transactions in zip(
        *(lists.to_pylist() for lists in (change_ids, effects, transaction_ids)), strict=True
    ):
        if ids is None or of_key is None or transactions is None or not len(ids) == len(of_key) == len(transactions):
            ends[-1] = None  # a list that begins at null is null
        else:
            rows = _rows_of_one_key(ids, of_key, transactions)
            row_ids += rows.row_ids
            takes_covered += rows.takes_covered
            covered_by += rows.covered_by
        ends.append(len(row_ids))
    columns = [pa.array(row_ids, pa.string()), pa.array(takes_covered, pa.bool_()), pa.array(covered_by, pa.string())]
    rows_of_all = pa.StructArray.from_arrays(columns, fields=list(_ROW))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), rows_of_all)


class _Rows(NamedTuple):
    """An entry for each event of a key."""

    row_ids: list[str | None]
    takes_covered: list[bool]
    covered_by: list[str | None]


def _rows_of_one_key(
    change_ids: Sequence[str | None], effects: Sequence[str | None], transaction_ids: Sequence[str | None]
) -> _Rows:
    rows = _Rows([], [], [None] * len(change_ids))
    here: list[int] = []  # the events that brought rows to the key, from `first` on those whose rows have not left
    first = 0
    transaction: str | None = None
    for number, (effect, transaction_id) in enumerate(zip(effects, transaction_ids, strict=True)):
        if transaction_id is None or transaction_id != transaction or effect == _EMPTIES:
            for covered, newer in pairwise(here[first:]):
                rows.covered_by[covered] = change_ids[newer]
            here, first = here[first:][-1:], 0
        transaction = transaction_id
        is_empty = first == len(here)
        is_covered = len(here) - first > 1
        about: int | None = None
        if effect in (_EMPTIES, _TAKES):
            about = None if is_empty else here[first]
            first += not is_empty
        elif effect == _ADDS or is_empty:
            about = number
            here.append(number)
        else:
            about = here[-1]
        rows.row_ids.append(None if about is None else change_ids[about])
        rows.takes_covered.append(effect == _TAKES and is_covered)
    for covered, newer in pairwise(here[first:]):
        rows.covered_by[covered] = change_ids[newer]
    return rows
