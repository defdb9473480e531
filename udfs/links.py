"""Names that link to other names: where a chain of links begins, and which names links connect."""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa

from .flat_bytes import require_type


def first_ancestors(names: pa.Array, parents: pa.Array) -> pa.Array:
    """The first ancestor of each name, where names link to parents that are names themselves or not.

    `names`, `parents`, array<string>, shape (n,): in each row two lists of one length; `parents[i]` is the parent of
    `names[i]`, null where it has none. No name is there twice.

    Returns array<string>, shape (n,), each list as long as its names: the last name of the chain of parents. A name
    without a parent is its own first ancestor, and so is each name of a ring. Null where the name is null. The row is
    null where a list is null or their lengths differ. Raises TypeError for columns of another type, never for a value.

    Source: rows that move from key to key; a move links the row at its new key to the row at the key before.

    >>> names, parents = pa.array([["b", "c", "x"]]), pa.array([["a", "b", None]])
    >>> first_ancestors(names, parents).to_pylist()
    [['a', 'a', 'x']]
    """
    names = require_type("first_ancestors", "names", names, ("array<string>",))
    parents = require_type("first_ancestors", "parents", parents, ("array<string>",))
    rows: list[list[str | None] | None] = []
    for row_names, row_parents in zip(names.to_pylist(), parents.to_pylist(), strict=True):
        if row_names is None or row_parents is None or len(row_names) != len(row_parents):
            rows.append(None)
        else:
            rows.append(_of_one_row(row_names, row_parents))
    return pa.array(rows, pa.list_(pa.string()))


def reached_names(starts: pa.Array, names: pa.Array, others: pa.Array) -> pa.Array:
    """The names that links connect with the given ones, these among them.

    `starts`, array<string>, shape (n,): in each row the names to start from. `names` and `others`, array<string>, shape
    (n,): in each row two lists of one length; `names[i]` and `others[i]` are linked, in both directions, unless one of
    them is null.

    Returns array<string>, shape (n,): each name that is reached, once, in the order in which it is found, and no nulls.
    The row is null where a list is null, or where `names` and `others` differ in length. Raises TypeError for columns
    of another type, never for a value.

    Source: rows that move from key to key. A change that comes late to one key can change every key that moves connect
    with it.

    >>> starts, names, others = pa.array([["b"]]), pa.array([["a", "c", "x"]]), pa.array([["b", "b", "y"]])
    >>> reached_names(starts, names, others).to_pylist()
    [['b', 'a', 'c']]
    """
    starts = require_type("reached_names", "starts", starts, ("array<string>",))
    names = require_type("reached_names", "names", names, ("array<string>",))
    others = require_type("reached_names", "others", others, ("array<string>",))
    rows: list[list[str] | None] = []
    for row_starts, row_names, row_others in zip(
        *(lists.to_pylist() for lists in (starts, names, others)), strict=True
    ):
        if row_starts is None or row_names is None or row_others is None or len(row_names) != len(row_others):
            rows.append(None)
        else:
            rows.append(_reached_in_one_row(row_starts, row_names, row_others))
    return pa.array(rows, pa.list_(pa.string()))


def _reached_in_one_row(starts: list[str | None], names: list[str | None], others: list[str | None]) -> list[str]:
    linked: defaultdict[str, list[str]] = defaultdict(list)
    for name, other in zip(names, others, strict=True):
        if name is not None and other is not None:
            linked[name].append(other)
            linked[other].append(name)
    reached = dict.fromkeys(name for name in starts if name is not None)
    waiting = list(reached)
    for name in waiting:  # grows while it is read
        found = [other for other in linked.get(name, ()) if other not in reached]
        reached.update(dict.fromkeys(found))
        waiting.extend(dict.fromkeys(found))
    return waiting


def _of_one_row(names: list[str | None], parents: list[str | None]) -> list[str | None]:
    pairs = zip(names, parents, strict=True)
    parent_of = {name: parent for name, parent in pairs if name is not None and parent is not None}
    first_of: dict[str | None, str | None] = {}
    for name in names:
        chain: dict[str | None, None] = {}
        ancestor = name
        while ancestor in parent_of and ancestor not in first_of and ancestor not in chain:
            chain[ancestor] = None
            ancestor = parent_of[ancestor]
        if ancestor in chain:  # a ring
            first_of |= {member: member for member in chain}
        else:
            first_of |= dict.fromkeys(chain, first_of.get(ancestor, ancestor))
    return [first_of.get(name, name) for name in names]
