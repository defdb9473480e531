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
    lost: str | None = None
    """The value of a column that raw has lost since. Null: it landed without the column."""
    places: int = 0
    """By which places of columns its mask was read: with each counted column that raw loses there are others."""
    header: str = ""
    completeness: tuple[int, ...] = ()
    key_before: str | None = None
    report: str | None = None
    is_conflicting: bool = False
    is_retracted: bool = False
    """It landed, and cannot be used."""


def joined(one: Delivery, other: Delivery) -> Delivery:
    """What two deliveries of a change come to: the more complete, or of equally complete ones the greater parts.

    A delivery that landed without a column has in it what the other one has. Contents are compared by the columns that
    both have. The one with more columns counts, and its report. Where masks were read by other places, the contents are
    not compared: those that were read first stay.
    """
    both = _with_lost_value(one, other), _with_lost_value(other, one)
    if one.completeness != other.completeness:
        return max(both, key=lambda delivery: delivery.completeness)
    first = min(delivery.places for delivery in both)
    compared = [delivery for delivery in both if delivery.places == first]
    columns = max(len(delivery.content) for delivery in compared)
    others = [delivery for delivery in both if delivery.places != first]
    reports = [delivery.report for delivery in both if len(delivery.content) == columns or delivery in others]
    keys_before = {delivery.key_before for delivery in both if delivery.key_before is not None}
    return replace(
        max(
            compared,
            key=lambda delivery: (len(delivery.content), delivery.content, delivery.lost or "", delivery.header),
        ),
        key_before=max(keys_before, default=None),
        report=None if None in reports else max(report for report in reports if report is not None),
        is_conflicting=any(delivery.is_conflicting for delivery in both) or _differ(compared) or len(keys_before) > 1,
        is_retracted=one.is_retracted or other.is_retracted,
    )


def _with_lost_value(delivery: Delivery, other: Delivery) -> Delivery:
    return delivery if delivery.lost is not None else replace(delivery, lost=other.lost)


def _differ(deliveries: list[Delivery]) -> bool:
    values = zip(*(delivery.content for delivery in deliveries), strict=False)
    return any(len(set(of_column)) > 1 for of_column in [*values, [delivery.lost for delivery in deliveries]])


def reduced(deliveries: Iterable[Delivery]) -> Delivery:
    """The change that comes of one or more deliveries."""
    return reduce(joined, deliveries)
