"""From something that fails, the smallest part that still fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Part = TypeVar("Part")


def smallest_form(parts: Sequence[Part], fail: Callable[[Sequence[Sequence[Part]]], Sequence[bool]]) -> list[Part]:
    """What is left when nothing can be left out without the failure going away.

    Args:
        parts: what fails when it comes together
        fail: says of many candidates at once whether each still fails, because each call is expensive

    >>> smallest_form([1, 2, 3, 4, 5, 6], lambda candidates: [{2, 5} <= set(parts) for parts in candidates])
    [2, 5]
    """
    left = list(parts)
    while len(left) > 1:
        sizes = [len(left) >> shift for shift in range(1, len(left).bit_length())]
        candidates = [left[:start] + left[start + size :] for size in sizes for start in range(0, len(left), size)]
        smaller = [parts for parts, fails in zip(candidates, fail(candidates), strict=True) if fails]
        if not smaller:
            break
        left = min(smaller, key=len)
    return left
