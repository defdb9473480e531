"""How deliveries of one change become one, by decisions 4 and 20: slow and obvious, nothing of it taken from the SQL.

To join two is associative, commutative and idempotent. So the change that comes of a set of deliveries depends neither
on the order in which they land nor on their batches, and what a log holds of a change is one more delivery of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce


@dataclass(frozen=True)
class Delivery:
    """One delivery of a change, or what some of them have come to.

    `completeness` has what the format says of it, and then the version of the declared columns by which it was read.
    """

    content: str
    """The values, the operation and which columns are there, as a text."""
    header: str = ""
    completeness: tuple[int, ...] = ()
    key_before: str | None = None
    report: str | None = None
    is_conflicting: bool = False
    is_retracted: bool = False
    """It landed, and cannot be used."""


def joined(one: Delivery, other: Delivery) -> Delivery:
    """What two deliveries of a change come to: the more complete, or of equally complete ones the greater parts."""
    if one.completeness != other.completeness:
        return max(one, other, key=lambda delivery: delivery.completeness)
    keys_before = {delivery.key_before for delivery in (one, other)} - {None}
    reports = [delivery.report for delivery in (one, other)]
    return replace(
        max(one, other, key=lambda delivery: (delivery.content, delivery.header)),
        key_before=max((key for key in keys_before if key is not None), default=None),
        report=None if None in reports else max(report for report in reports if report is not None),
        is_conflicting=one.is_conflicting
        or other.is_conflicting
        or one.content != other.content
        or len(keys_before) == 2,
        is_retracted=one.is_retracted or other.is_retracted,
    )


def reduced(deliveries: Iterable[Delivery]) -> Delivery:
    """The change that comes of one or more deliveries."""
    return reduce(joined, deliveries)
