"""Chains of links: from each name back to where its chain begins."""

from __future__ import annotations

import pyarrow as pa

from udfs.flat_bytes import require_type


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
