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
    """One delivery of a change, or what some of them have come to."""

    content: tuple[str, ...]
    """The values, the operation among them. What was logged before a column was declared has one value less."""
    header: str = ""
    completeness: tuple[int, ...] = ()
    key_before: str | None = None
    report: str | None = None
    is_conflicting: bool = False
    is_retracted: bool = False
    """It landed, and cannot be used."""


def joined(one: Delivery, other: Delivery) -> Delivery:
    """What two deliveries of a change come to: the more complete, or of equally complete ones the greater parts.

    Contents are compared by the columns that both have. The one with more columns counts, and its report.
    """
    if one.completeness != other.completeness:
        return max(one, other, key=lambda delivery: delivery.completeness)
    both = (one, other)
    columns = max(len(delivery.content) for delivery in both)
    reports = [delivery.report for delivery in both if len(delivery.content) == columns]
    keys_before = {delivery.key_before for delivery in both if delivery.key_before is not None}
    contents_differ = any(of_one != of_other for of_one, of_other in zip(one.content, other.content, strict=False))
    return replace(
        max(both, key=lambda delivery: (len(delivery.content), delivery.content, delivery.header)),
        key_before=max(keys_before, default=None),
        report=None if None in reports else max(report for report in reports if report is not None),
        is_conflicting=one.is_conflicting or other.is_conflicting or contents_differ or len(keys_before) > 1,
        is_retracted=one.is_retracted or other.is_retracted,
    )


def reduced(deliveries: Iterable[Delivery]) -> Delivery:
    """The change that comes of one or more deliveries."""
    return reduce(joined, deliveries)
