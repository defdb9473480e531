"""What it means that a key is forgotten: the law, by random deliveries to the interpreter. No server takes part."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from .interpreter import Change, Table, connected, distinct_changes, remembered

KEYS = [(number,) for number in range(6)]


@st.composite
def changes(draw: st.DrawFn) -> list[Change]:
    """Changes of few keys, among them moves; the number of a change is its sequence, and its identity."""
    found = []
    for number in range(draw(st.integers(1, 14))):
        key, before = draw(st.sampled_from(KEYS)), draw(st.none() | st.sampled_from(KEYS))
        op = draw(st.sampled_from(["insert", "update", "delete"])) if before in (None, key) else "update"
        row = {"id": key[0], "value": draw(st.sampled_from("abc"))}
        found.append(Change(str(number), f"{number:02d}", op, row, key, before if before != key else None))
    return found


def _in_batches(
    deliveries: list[Change], log: list[Change], forgotten: dict[tuple[int], str], data: st.DataObject
) -> list[Change]:
    """What a log comes to that takes these in by batches, each of which passes the door first."""
    while deliveries:
        size = data.draw(st.integers(1, len(deliveries)))
        log = distinct_changes([*log, *remembered(deliveries[:size], forgotten)])
        deliveries = deliveries[size:]
    return log


def _held(log: list[Change]) -> set[tuple[object, ...]]:
    return {(change.change_id, change.key, change.key_before, change.row["value"]) for change in log}


@given(changes(), st.data())
def test_a_key_that_is_forgotten_between_batches_is_forgotten_as_if_it_had_been_before_all(
    landed: list[Change], data: st.DataObject
) -> None:
    # another content of some, and some again
    others = [
        Change(c.change_id, c.seq, c.op, {**c.row, "value": "d"}, c.key, c.key_before)
        for c in data.draw(st.lists(st.sampled_from(landed)))
    ]
    order = data.draw(st.permutations([*landed, *others, *data.draw(st.lists(st.sampled_from(landed)))]))
    before = order[: data.draw(st.integers(0, len(order)))]
    log = _in_batches(before, [], {}, data)
    asked = data.draw(st.sampled_from(KEYS))
    until = max((change.seq for change in before), default="")
    forgotten = dict.fromkeys(connected(log, [asked]), until)
    log = remembered(log, forgotten)
    again = data.draw(st.permutations([*order[len(before) :], *data.draw(st.lists(st.sampled_from(order)))]))
    log = _in_batches(again, log, forgotten, data)
    assert _held(log) == _held(distinct_changes(remembered(order, forgotten)))  # as a full refresh has it
    assert not [change for change in log if {change.key, change.key_before} & set(forgotten) and change.seq <= until]
    # a key that no move connects with it is as it was, and one that is used again begins anew
    everything, rest = Table(order).current(), Table(log).current()
    for key in set(KEYS) - connected(order, forgotten):
        assert rest.get(key) == everything.get(key)
    for key in set(forgotten) & set(rest):
        assert any(change.key == key and change.seq > until for change in log)
