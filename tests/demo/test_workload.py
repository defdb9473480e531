"""The same seed gives the same workload; its history is true; and it has every kind of transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import pytest

from demo.database import TABLES
from demo.history import Change, Contents, Key, Transaction, replay, state_of
from demo.workload import TEXTS, Workload, new_key

ROUNDS = 3
EMPTY: Contents = {name: [] for name in TABLES}


def history(seed: int, *, swaps: bool = True) -> list[Transaction]:
    """The transactions of a filled and played workload."""
    workload = Workload(seed, swaps=swaps)
    workload.fill()
    for _ in range(ROUNDS):
        list(workload.play_round())
    return workload.database.transactions


def test_the_same_seed_gives_the_same_history() -> None:
    assert history(7) == history(7)


def test_another_seed_gives_another_history() -> None:
    assert history(7) != history(8)


@pytest.mark.parametrize("seed", range(8))
def test_replaying_the_history_yields_the_tables_after_every_transaction(seed: int) -> None:
    workload = Workload(seed)
    filled = workload.fill()
    start = workload.database.contents()
    *_, (_, after_filling) = replay(filled, EMPTY)
    assert after_filling == state_of(start)
    in_sqlite = []
    for _ in range(ROUNDS):
        for transaction in workload.play_round():
            in_sqlite.append((transaction, state_of(workload.database.contents())))
    assert list(replay([transaction for transaction, _ in in_sqlite], start)) == in_sqlite


def test_a_history_that_lacks_a_transaction_cannot_be_replayed() -> None:
    transactions = history(7)
    with pytest.raises(ValueError, match="does not hold"):
        list(replay(transactions[1:], EMPTY))


def test_times_never_step_back() -> None:
    times = [
        time
        for transaction in history(7)
        for time in (*(change.changed_at for change in transaction.changes), transaction.committed_at)
    ]
    assert times == sorted(times)
    assert len(set(times)) < len(times)


def test_no_two_numbers_give_one_key() -> None:
    for table in TABLES.values():
        keys = [new_key(table, number) for number in range(1, 2_000)]
        assert len(set(keys)) == len(keys)


# what a history must show of each table: name of the feature, and whether a transaction of the table shows it


def moves_of(changes: Sequence[Change]) -> list[tuple[Key, Key]]:
    """The key moves among changes, as (key before, key after)."""
    table = TABLES[changes[0].table]
    return [
        (table.key_of(change.before), table.key_of(change.after))
        for change in changes
        if change.before is not None
        and change.after is not None
        and table.key_of(change.before) != table.key_of(change.after)
    ]


def operations_of_keys(changes: Sequence[Change]) -> dict[Key, list[str]]:
    """The operations on each key, in order."""
    table = TABLES[changes[0].table]
    found: dict[Key, list[str]] = {}
    for change in changes:
        image = change.after or change.before
        if image is not None:
            found.setdefault(table.key_of(image), []).append(change.operation)
    return found


def is_swap(changes: Sequence[Change]) -> bool:
    """Some row moves into a key whose row moves into the key that the first one left."""
    moves = moves_of(changes)
    return any((after, before) in moves[number + 1 :] for number, (before, after) in enumerate(moves))


def is_chain(changes: Sequence[Change]) -> bool:
    """Some row moves on from the key that it moved into."""
    moves = moves_of(changes)
    return not is_swap(changes) and any(
        after == before for number, (_, after) in enumerate(moves) for before, _ in moves[number + 1 :]
    )


def is_taken_over(changes: Sequence[Change]) -> bool:
    """Some row moves into a key that was left before in the transaction."""
    moves = moves_of(changes)
    return not is_swap(changes) and any(
        before == after for number, (before, _) in enumerate(moves) for _, after in moves[number + 1 :]
    )


def has_in_turn(first: str, second: str) -> Callable[[Sequence[Change]], bool]:
    """A check whether both operations follow one another on one key."""
    return lambda changes: any(
        (first, second) in pairwise(operations) for operations in operations_of_keys(changes).values()
    )


def is_no_change(change: Change) -> bool:
    """An update that leaves the row as it was."""
    return change.operation == "update" and change.before == change.after


WITHIN_A_TRANSACTION: dict[str, Callable[[Sequence[Change]], bool]] = {
    "insert": lambda changes: any(change.operation == "insert" for change in changes),
    "update of some columns": lambda changes: any(0 < len(change.changed_columns) < 5 for change in changes),
    "update of nothing": lambda changes: any(is_no_change(change) for change in changes),
    "several updates of one row": has_in_turn("update", "update"),
    "key move": lambda changes: len(moves_of(changes)) > 0,
    "key move with other columns": lambda changes: any(
        set(change.changed_columns) - set(TABLES[change.table].key)
        and set(change.changed_columns) & set(TABLES[change.table].key)
        for change in changes
    ),
    "chain of key moves": is_chain,
    "move into a freed key": is_taken_over,
    "swap": is_swap,
    "delete": lambda changes: any(change.operation == "delete" for change in changes),
    "delete and insert": has_in_turn("delete", "insert"),
    "insert and delete": has_in_turn("insert", "delete"),
    "move and delete": has_in_turn("update", "delete"),
    "truncate": lambda changes: any(change.operation == "truncate" for change in changes),
    "insert after a truncate": lambda changes: any(
        (before.operation, after.operation) == ("truncate", "insert") for before, after in pairwise(changes)
    ),
    "value to null": lambda changes: any(
        change.before[name] is not None and change.after[name] is None
        for change in changes
        if change.before is not None and change.after is not None
        for name in change.changed_columns
    ),
    "null to value": lambda changes: any(
        change.before[name] is None and change.after[name] is not None
        for change in changes
        if change.before is not None and change.after is not None
        for name in change.changed_columns
    ),
}


def changes_by_transaction(transactions: Sequence[Transaction], table: str) -> Iterator[list[Change]]:
    """The changes of one table, transaction by transaction, where there are any."""
    for transaction in transactions:
        changes = [change for change in transaction.changes if change.table == table]
        if changes:
            yield changes


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("feature", WITHIN_A_TRANSACTION)
def test_every_table_shows_every_feature_within_a_transaction(feature: str, table: str) -> None:
    assert any(WITHIN_A_TRANSACTION[feature](changes) for changes in changes_by_transaction(history(1), table))


@pytest.mark.parametrize("table", TABLES)
def test_every_table_shows_chains_and_reinserts_over_transactions(table: str) -> None:
    apart = list(changes_by_transaction(history(1), table))
    left_at: dict[Key, int] = {}
    entered_at: dict[Key, int] = {}
    shown = set()
    for number, changes in enumerate(apart):
        for before, after in moves_of(changes):
            if entered_at.get(before, number) < number:
                shown.add("chain")
            if left_at.get(after, number) < number:
                shown.add("back")
            entered_at[after] = left_at[before] = number
        for key, operations in operations_of_keys(changes).items():
            if "insert" in operations and left_at.get(key, number) < number:
                shown.add("reinsert")
            if "delete" in operations:
                left_at[key] = number
    assert shown == {"chain", "back", "reinsert"}


@pytest.mark.parametrize("table", TABLES)
def test_without_swaps_no_row_moves_into_a_key_that_is_taken(table: str) -> None:
    for changes in changes_by_transaction(history(1, swaps=False), table):
        assert not is_swap(changes)


def test_a_transaction_can_change_several_tables() -> None:
    assert max(len({change.table for change in transaction.changes}) for transaction in history(1)) >= 3


def test_every_odd_text_occurs() -> None:
    found = {
        value
        for transaction in history(1)
        for change in transaction.changes
        for value in (change.after or {}).values()
        if isinstance(value, str)
    }
    assert set(TEXTS) <= found
