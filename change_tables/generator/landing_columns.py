"""Columns of a landing job: nothing tells them from the source's, but that many tables end in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

FEWEST_TABLES = 3
"""Of fewer tables, what they share says nothing."""


def shared_at_the_end(tables: Sequence[Sequence[str]]) -> list[str]:
    """Columns at the end of most tables: as the first that has them spells them, and in its order.

    Args:
        tables: the names of the columns of each, in order; case does not count

    >>> shared_at_the_end([["id", "a", "landed_at"], ["no", "LANDED_AT"], ["id", "b", "landed_at"], ["id", "c"]])
    ['landed_at']
    >>> shared_at_the_end([["id", "landed_at"], ["no", "landed_at"]])
    []
    """
    if len(tables) < FEWEST_TABLES:
        return []
    having = Counter(name for table in tables for name in {name.lower() for name in table})
    ending: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    for table in tables:
        trailing: list[str] = []
        for name in reversed(table[1:]):
            if 2 * having[name.lower()] <= len(tables):
                break
            trailing.insert(0, name)
        for name in trailing:
            ending[name.lower()] += 1
            spelt.setdefault(name.lower(), name)
    return [spelt[name] for name in spelt if 2 * ending[name] > len(tables)]
