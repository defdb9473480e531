"""Which of the kinds of row that there are rules for random histories have: a proof without a kind cannot fail by it.

`kinds_of_changes` counts them in what a log holds after each run, `kinds_of_rows` in what staging says of what lands.
`assert_met` says which of those that a proof is for it has not, at the seed of CI.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from .interpreter import PRECEDENCE, Change, Key, Table, distinct_changes

_ENDS = ("delete", "departure", "truncate")
_Events = Mapping[Key, Sequence[tuple[str, int, str]]]

_ANY = ["insert", "update", "delete", "key used again after a delete", "equal versions", "version without length"]
_LATE = ["late insert", "late update", "late delete", "late change of an ended key"]
_MOVES = ["move", "chain of moves", "exchange", "key used again after a departure"]
_LATE_MOVES = ["late move", "late change of a moved row", "collision", "collision resolved"]
_PARTIAL = ["partial image", "null set", "nothing set", "orphan", "orphan resolved"]
_PARTLY = [*_ANY[:-1], *_LATE, "partial image", "null set", "orphan", "orphan resolved"]


def _waiting(*codes: str) -> list[str]:
    """Codes of rows that wait, and that they come in."""
    return [kind for code in codes for kind in (code, f"{code}, then accepted")]


_CHANGE_ROWS = [
    *_ANY,
    *_LATE,
    *_MOVES,
    *_LATE_MOVES,
    *("truncate", "late truncate", "again later", "truncate again later", "conflict", "content revised"),
    *("tie", "no time", "null in a key", "late key before", *_waiting("after_image_missing")),
]
_LIFE = [
    *(*_ANY, *_LATE, *_MOVES, *_LATE_MOVES, "snapshot", "tie"),
    *("acknowledged", "late row of a forgotten key"),
    *("row after a column was dropped", "row after a column was renamed"),
]
_TRAILS = ["control_record", "transaction_abandoned", "transaction_repeated", *_waiting("transaction_open")]
_EVENTS = [
    *(*_ANY, *_LATE, *_PARTIAL, "upsert", "late upsert", "conflict", "content revised", "late end of a base"),
    *("event_time_missing", "reserved_status", "loopback", "key_malformed", "key_updated", "key_contradicted"),
    *("column_not_declared", "already_processed", "accepted, then already_processed", *_waiting("row_gone")),
]
_VERDICTS = [
    *("unknown_operation", "change_seq_missing", "change_seq_malformed", "key_missing", "value_does_not_fit"),
    *("after_image_rejected", *_waiting("after_image_missing")),
]
_BROKEN = ["unknown_operation", "change_seq_missing", "change_seq_malformed"]
_DESCRIBED = ["insert", "update", "delete", "move", "truncate", "again later", "late update", "late delete", *_BROKEN]

MEANT: Mapping[str, Sequence[str]] = {
    "full": _CHANGE_ROWS,
    "partial": [*_CHANGE_ROWS, *_PARTIAL, "late end of a base", "snapshot"],
    "messages": [
        *(*_ANY, *_LATE, *_MOVES, *_LATE_MOVES, *_PARTIAL, "late end of a base", "snapshot", "again later"),
        *("no time", "null in a key", "column added", "column added to a purged change"),
        *_waiting("transaction_open"),
    ],
    "orders": [*_ANY, *_LATE, *_MOVES, *_LATE_MOVES[:2], *_PARTIAL, "upsert", "late upsert", "column added"],
    "lines": [*_ANY, *_LATE, *_MOVES, *_LATE_MOVES[:2], *_PARTIAL, "truncate", "late truncate", "column added"],
    "trails": [*_TRAILS, "again later"],
    "arriving": [
        *(*_ANY, *_LATE, *_MOVES, *_LATE_MOVES, *_PARTIAL, "late end of a base"),
        *("late key before", "content revised", "column added"),
    ],
    "by_recid": [*_PARTLY, "content revised", "column added", "column added to a purged change"],
    "captured": [
        *_waiting("tracking_row_missing", "change_row_missing", "first_part_missing", "second_part_missing"),
        *("accepted, then tracking_row_missing", "again later"),
    ],
    "loaded": [*_ANY[:4], *_LATE, "retracted", "content revised", "column added", "null in a key"],
    "loads": [
        *("change_seq_missing", "key_missing", *_waiting("load_not_whole", "row_unchanged")),
        *("accepted, then load_not_whole", "accepted, then row_unchanged"),
    ],
    "by_record": _EVENTS,
    "by_time": [*_EVENTS, *_waiting("future_event")],
    "of_sources": [*_PARTLY, "upsert", "late upsert", "column added", "column added to a purged change"],
    "shared trails": [*_ANY, *_MOVES, *_PARTIAL[:3], "truncate", *_TRAILS],
    "shared topic": [
        *_ANY,
        *_MOVES,
        *_PARTIAL,
        "late insert",
        "late update",
        "snapshot",
        *_waiting("transaction_open"),
    ],
    "shared mapped": ["table_unknown", "message_malformed", "tombstone"],
    "deliveries": [
        *("again", "other time", "greater content", "lesser content", "with a new column"),
        *("again, purged", "other time, purged", "greater content, purged", "lesser content, purged"),
    ],
    "debezium": [
        *_DESCRIBED,
        "column_not_declared",
        "data_missing",
        "key_missing",
        "message_malformed",
        "table_unknown",
    ],
    "dms": [*_DESCRIBED, "late insert"],
    "full_loads": ["insert", "update", "delete", "move", "truncate", "change_seq_missing", "load_not_whole"],
    "goldengate_messages": [*_DESCRIBED, "late insert", "data_missing", "key_missing", "message_malformed"],
    "mapped": [*_DESCRIBED, "late insert", "key_missing"],
    "lives partial": [*_LIFE, *_PARTIAL],
    "lives messages": [*_LIFE, *_PARTIAL],
    "lives audited": _LIFE,
    "lives full": _LIFE,
    "verdicts arriving": _VERDICTS,
    "verdicts read_back": _VERDICTS,
    "verdicts compared": _VERDICTS,
}
"""What each table of a random proof is for."""


def assert_met(table: str, counted: Mapping[str, int]) -> None:
    """It has each kind that it is for, unless other histories than those of CI are asked for."""
    if os.environ.keys() & {"CHANGE_TABLES_PROOF_SEED", "CHANGE_TABLES_PROOF_SCALE"}:
        return
    missing = [kind for kind in MEANT[table] if not counted.get(kind)]
    assert not missing, f"{table} has none of {missing}"


def kinds_of_rows(runs: Iterable[Mapping[Any, str | None]]) -> Counter[str]:
    """How often each reason code is met, is resolved, or goes with its row: of runs that say it of each identity.

    None: it is accepted.
    """
    found: Counter[str] = Counter()
    before: Mapping[Any, str | None] = {}
    for now in runs:
        found.update(code for identity, code in now.items() if code and code != before.get(identity))
        for identity, code in before.items():
            if code and now.get(identity, "gone") != code:
                found[f"{code}, then {now.get(identity, 'purged') or 'accepted'}"] += 1
            elif code is None and now.get(identity):
                found[f"accepted, then {now[identity]}"] += 1
        before = now
    return found


def kinds_of_changes(runs: Iterable[Sequence[Change]]) -> Counter[str]:
    """How often each kind is in what a log has taken in by each run: all deliveries, or the changes of the log."""
    found: Counter[str] = Counter()
    held: dict[str, Change] = {}
    table = Table([])
    for deliveries in runs:
        now = {change.change_id: change for change in distinct_changes(deliveries)}
        events = _events(held.values())
        contents: dict[str, set[str]] = defaultdict(set)
        for change in deliveries:
            contents[change.change_id].add(repr(change.row))
        found["conflict"] += sum(len(of_change) > 1 for of_change in contents.values())
        for name, change in now.items():
            found.update(_of_known(held[name], change) if name in held else _of_new(change, events))
        if not any(held[name].row.keys() < now[name].row.keys() for name in held.keys() & now.keys()):
            found["retracted"] += len(held.keys() - now.keys())  # by a run that reads on: no column was added
        orphans, covered = _reported(table)
        table = Table(deliveries)
        orphans_now, covered_now = _reported(table)
        found["orphan"] += len(orphans_now - orphans)
        found["orphan resolved"] += len((orphans - orphans_now) & now.keys())
        found["late end of a base"] += len((orphans_now - orphans) & held.keys())
        found["collision"] += len(covered_now - covered)
        found["collision resolved"] += len((covered - covered_now) & now.keys())
        held = now
    found.update(_of_all(held.values(), table))
    return +found


def _reported(table: Table) -> tuple[set[str], set[str]]:
    return {change.change_id for change in table.orphans}, {change.change_id for change in table.covered}


def _events(changes: Iterable[Change]) -> dict[Key, list[tuple[str, int, str]]]:
    """What changes do to each key, in order; under no key, where truncates and the last of all are."""
    found: dict[Key, list[tuple[str, int, str]]] = defaultdict(list)
    for change in changes:
        found[change.key].append((change.seq, PRECEDENCE.index(change.op), change.op))
        if change.key_before is not None:
            found[change.key_before].append((change.seq, PRECEDENCE.index("departure"), "departure"))
    for of_key in found.values():
        of_key.sort()
    return found


def _of_new(change: Change, events: _Events) -> Iterator[str]:
    kind = change.op if change.key_before is None else "move"
    yield kind
    if change.op == "truncate":
        if any(of_key[-1][0] > change.seq for of_key in events.values()):
            yield "late truncate"
        return
    keys = {change.key, change.key_before} - {None}
    later = [event for key in keys if key for event in events.get(key, ()) if event[0] > change.seq]
    if later:
        yield f"late {kind}"
    if any(op == "departure" for _, _, op in later):
        yield "late change of a moved row"
    if later and later[-1][2] in _ENDS and change.op != "delete":
        yield "late change of an ended key"
    if change.changed_at is None:
        yield "no time"
    if any(part is None for part in change.key):
        yield "null in a key"
    if change.op in ("update", "upsert") and change.present is not None:
        values = [change.row[name] for name in change.present]
        yield "partial image"
        if len(values) < len(change.row) and None in values:
            yield "null set"
        if not set(values) - set(change.key):
            yield "nothing set"


def _of_known(held: Change, now: Change) -> Iterator[str]:
    if held.row.keys() < now.row.keys():
        yield "column added to a purged change" if now.starts else "column added"
    if any(value != now.row.get(name, value) for name, value in held.row.items()):
        yield "content revised"
    if held.key_before is None and now.key_before is not None:
        yield "late key before"


def _of_all(changes: Iterable[Change], table: Table) -> Iterator[str]:
    moves = [change for change in changes if change.key_before is not None]
    reached = {change.key for change in moves}
    reached_in = {(change.key, change.transaction_id) for change in moves if change.transaction_id is not None}
    for change in moves:
        if change.key_before in reached:
            yield "chain of moves"
        if (change.key_before, change.transaction_id) in reached_in:
            yield "exchange"
    for of_key in _events(changes).values():
        for (seq, _, op), (next_seq, _, next_op) in pairwise(of_key):
            if seq == next_seq:
                yield "tie"
            elif op in ("departure", "delete") and next_op not in _ENDS:
                yield f"key used again after a {op}"
    for versions in table.versions().values():
        for version in versions:
            if version.row is not None and version.last_seq != version.from_seq:
                yield "equal versions"
            if version.row is not None and version.to_seq is not None and version.valid_from == version.valid_to:
                yield "version without length"
