"""A state is appended to, or its touched keys are replayed: which keys a run touches, whatever happens to the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from .interpreter import Change, Key, Table, Version

Log = Mapping[str, Change]

KEYS = [(number,) for number in range(3)]
keys = st.sampled_from(KEYS)


@st.composite
def changes(draw: st.DrawFn, *, partial: bool) -> Change:
    """A change of a table of one key column and two others; of partial images it may lack these."""
    op = draw(st.sampled_from(["insert", "insert", "update", "update", "update", "upsert", "delete", "truncate"]))
    key = draw(keys)
    row = {"key": key[0], "one": draw(st.integers(0, 2)), "two": draw(st.integers(0, 2))}
    present = draw(st.sets(st.sampled_from(["one", "two"]))) if partial and op in ("update", "upsert") else None
    return Change(
        change_id="",
        seq=draw(st.sampled_from("123456789")),
        op=op,
        row=row,
        key=key,
        key_before=draw(st.sampled_from([None, *(before for before in KEYS if before != key)]))
        if op == "update"
        else None,
        transaction_id=draw(st.sampled_from([None, "a", "b"])),
        present=None if present is None else frozenset(present | {"key"}),
    )


@st.composite
def logs(draw: st.DrawFn, *, partial: bool) -> tuple[Log, Log]:
    """A log as a state has folded it, and as it is after a run: changes are retracted, replaced and added."""
    one = changes(partial=partial)
    before = {
        str(number): replace(change, change_id=str(number))
        for number, change in enumerate(draw(st.lists(one, min_size=3, max_size=8)))
    }
    after = dict(before)
    for change_id in draw(st.sets(st.sampled_from([*before, "new", "newer"]), max_size=3)):
        told = draw(st.none() | one)
        if told is None:
            after.pop(change_id, None)
        else:
            after[change_id] = replace(told, change_id=change_id)
    return before, after


def touched_keys(before: Log, after: Log, *, partial: bool) -> set[Key]:
    """The keys that a run replays: those that its changes are about, or were before something was retracted.

    Where moves carry what partial images lack, also all that the moves of the log connect with these.
    """
    differ = [
        change
        for change_id in {*before, *after}
        if before.get(change_id) is not after.get(change_id)
        for change in (before.get(change_id), after.get(change_id))
        if change is not None
    ]
    if any(change.op == "truncate" for change in differ):
        return set(KEYS)
    touched = {key for change in differ for key in _keys_of(change)}
    moves = [set(_keys_of(change)) for change in after.values() if change.key_before is not None] if partial else []
    while reached := {key for move in moves if move & touched for key in move} - touched:
        touched |= reached
    return touched


def _keys_of(change: Change) -> list[Key]:
    return [key for key in (change.key, change.key_before) if key is not None]


def _folded(log: Iterable[Change]) -> dict[Key, list[Version]]:
    return Table(log).versions()


def _of_keys(folded: Mapping[Key, list[Version]], wanted: set[Key]) -> dict[Key, list[Version]]:
    return {key: versions for key, versions in folded.items() if key in wanted}


def _replays_to_the_same(before: Log, after: Log, *, partial: bool) -> None:
    replayed = touched_keys(before, after, partial=partial)
    events = [change for change in after.values() if change.op == "truncate" or replayed.intersection(_keys_of(change))]
    kept = _of_keys(_folded(before.values()), set(KEYS) - replayed)
    assert kept | _of_keys(_folded(events), replayed) == _folded(after.values())


@settings(max_examples=300)
@given(logs(partial=False))
def test_of_full_images_the_keys_of_what_differs_are_enough(log: tuple[Log, Log]) -> None:
    _replays_to_the_same(*log, partial=False)


@settings(max_examples=300)
@given(logs(partial=True))
def test_of_partial_images_also_the_keys_that_moves_connect_with_them(log: tuple[Log, Log]) -> None:
    _replays_to_the_same(*log, partial=True)
