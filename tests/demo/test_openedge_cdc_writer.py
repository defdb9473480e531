"""The change tables are as the page of the format says, and the sources file says of them what the writer does."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.database import TABLES, SourceDatabase
from demo.history import Contents, Transaction
from demo.workload import STARTED_AT, Workload
from demo.writers.feed import Verdict
from demo.writers.openedge_cdc import CAPTURED, TRACKING, CapturedTable, OpenEdgeCdcWriter, landed_value

BATCHES = 3
SOURCES = Path(__file__).parents[2] / "models/staging/openedge_cdc/_openedge_cdc__sources.yml"
HEADERS = ("transaction", "at", "sequence", "position", "index", "fragment", "operation")
CREATE, DELETE, BEFORE, AFTER = 1, 2, 3, 4
ACCEPTED, MERGED, IGNORED = (Verdict(status, None) for status in ("accepted", "merged", "ignored"))
Fields = Mapping[str, Any]
_TRACKED = [column.name for column in TRACKING.columns]


class Fed:
    """A history written in batches, with the source's contents and the writer's account after each."""

    def __init__(self, seed: int) -> None:
        """Write it."""
        self.writer = OpenEdgeCdcWriter(seed)
        workload = Workload(seed)
        self.transactions: list[Transaction] = workload.fill()
        self.tracking: list[list[Fields]] = []
        self.changes: list[dict[str, list[Fields]]] = []
        self.contents: list[Contents] = []
        self.statuses: list[Mapping[str, Counter[Verdict]]] = []
        self.expected_changes: list[Mapping[str, int]] = []
        self._judged: dict[tuple[str, int], Judged] = {}
        for number in range(BATCHES):
            transactions = list(workload.play_round())
            loaded = self.transactions if number == 0 else []
            written = self.writer.write(transactions, loaded, last=number == BATCHES - 1)
            self.transactions = self.transactions + transactions
            self.tracking.append([dict(zip(_TRACKED, row, strict=True)) for row in written[TRACKING.name]])
            self.changes.append(
                {name: _by_name(captured, written[captured.raw_table.name]) for name, captured in CAPTURED.items()}
            )
            self.contents.append(workload.database.contents())
            self.statuses.append(self.writer.expected_statuses)
            self.expected_changes.append(self.writer.expected_changes)

    def change_rows(self, name: str, batch: int = BATCHES - 1) -> list[Fields]:
        """The rows of a change table that have landed up to a batch."""
        return [row for landed in self.changes[: batch + 1] for row in landed[name]]

    def tracking_rows(self, name: str | None = None, batch: int = BATCHES - 1) -> list[Fields]:
        """The tracking rows that have landed up to a batch, of one table or of all."""
        rows = [row for landed in self.tracking[: batch + 1] for row in landed]
        return [row for row in rows if name is None or row["_Source-Table-Number"] == CAPTURED[name].number]

    def judged(self, name: str, batch: int = BATCHES - 1) -> Judged:
        """What the page says of the rows that have landed up to a batch."""
        if (name, batch) not in self._judged:
            read = Judged(CAPTURED[name], self.change_rows(name, batch), self.tracking_rows(name, batch))
            self._judged[name, batch] = read
        return self._judged[name, batch]


def _by_name(captured: CapturedTable, rows: Sequence[tuple[Any, ...]]) -> list[Fields]:
    return [dict(zip((*HEADERS, *captured.table.column_names), row, strict=True)) for row in rows]


@cache
def fed_by(seed: int) -> Fed:
    """A history by its seed."""
    return Fed(seed)


@pytest.fixture(scope="module", params=[1, 2, 3])
def fed(request: pytest.FixtureRequest) -> Fed:
    """A history by its seed."""
    return fed_by(request.param)


@dataclass(frozen=True)
class Read:
    """A change as the page reads it: its images, joined, and what its tracking row says."""

    sequence: int
    operation: int
    transaction: Any
    after: Fields
    before: Fields | None
    named: frozenset[str] | None
    recid: tuple[Any, Any]


class Judged:
    """A reader of the raw rows by the page: the verdict on each, and the changes that are accepted."""

    def __init__(self, captured: CapturedTable, rows: Sequence[Fields], tracking: Sequence[Fields]) -> None:
        """Read them."""
        self.captured = captured
        self.verdicts: Counter[Verdict] = Counter()
        self.changes: dict[int, Read] = {}
        self.waiting: dict[int, str] = {}
        by_sequence: dict[Any, list[Fields]] = defaultdict(list)
        for row in rows:
            by_sequence[_number(row["sequence"])].append(row)
        tracked: dict[Any, list[Fields]] = defaultdict(list)
        for row in tracking:
            tracked[row["_Change-Sequence"]].append(row)
        for sequence, of_change in by_sequence.items():
            if sequence is None or sequence < 0:
                for row in of_change:
                    code = "change_seq_missing" if row["sequence"] is None else "change_seq_malformed"
                    self.verdicts[Verdict("rejected", code)] += 1
            else:
                self._judge(sequence, of_change, tracked.get(sequence, []))
        for sequence, rows_of in tracked.items():
            if sequence is None or sequence not in by_sequence:
                for row in rows_of:
                    self.verdicts[self._lone(row)] += 1

    @staticmethod
    def _lone(row: Fields) -> Verdict:
        if row["_Change-Sequence"] is None:
            return Verdict("rejected", "change_seq_missing")
        if row["_Change-Sequence"] < 0:
            return Verdict("rejected", "change_seq_malformed")
        if row["_Operation"] in (5, 12):
            return IGNORED
        if row["_Operation"] in (CREATE, DELETE, AFTER):
            return Verdict("waiting", "change_row_missing")
        return Verdict("rejected", "unknown_operation")

    def _judge(self, sequence: int, rows: Sequence[Fields], tracking: Sequence[Fields]) -> None:
        fault = self._fault(rows, tracking)
        parts = {
            (_number(row["operation"]) == BEFORE, row["position"]): row
            for row in sorted(rows, key=lambda row: str(row["fragment"]))
        }
        after = [row for (is_before, _), row in sorted(parts.items(), key=lambda item: item[0]) if not is_before]
        before = [row for (is_before, _), row in sorted(parts.items(), key=lambda item: item[0]) if is_before]
        waits = None
        if fault is None:
            if not tracking:
                waits = "tracking_row_missing"
            elif not after:
                waits = "after_image_missing"
            else:
                waits = _missing(after)
        if fault is None and waits is None:
            fault = self._misfit(sequence, after, before, tracking)
        if waits is not None:
            self.waiting[sequence] = waits
        for row in rows:
            if fault is not None:
                verdict = Verdict("rejected", fault)
            elif waits is not None:
                verdict = Verdict("waiting", waits)
            elif _number(row["operation"]) == BEFORE and _missing(before):
                verdict = Verdict("waiting", _missing(before))
            else:
                verdict = MERGED if _number(row["operation"]) == BEFORE or row["position"] else ACCEPTED
            self.verdicts[verdict] += 1

    def _fault(self, rows: Sequence[Fields], tracking: Sequence[Fields]) -> str | None:
        operations = {_number(row["operation"]) for row in rows}
        told = {row["_Operation"] for row in tracking}
        images: dict[bool, dict[int, Fields]] = {True: {}, False: {}}
        for row in rows:
            images[_number(row["operation"]) == BEFORE][row["position"]] = row
        if not operations <= {CREATE, DELETE, BEFORE, AFTER}:
            return "unknown_operation"
        if any(row["position"] < 0 or row["index"] < 0 or row["fragment"] not in (0, 1) for row in rows):
            return "header_malformed"
        if any(not isinstance(row["at"], datetime) and not row["at"].startswith("2") for row in rows):
            return "value_does_not_fit"
        if len(operations) > 1 and operations != {BEFORE, AFTER}:
            return "operations_contradict"
        if told and told != (operations if BEFORE not in operations else {AFTER}):
            return "operations_contradict"
        if any(sum(position > 0 for position in parts) > 1 for parts in images.values()):
            return "continuation_broken"
        for parts in images.values():
            if len(parts) == 2 and 0 in parts:
                position = max(parts)
                for number, name in enumerate(self.captured.table.column_names):
                    values = {part[name] for part in parts.values() if part[name] is not None}
                    at_cut = number == position and any(part["fragment"] for part in parts.values())
                    if len(values) > 1 and not at_cut:
                        return "parts_clash"
        return None

    def _misfit(
        self, sequence: int, after: Sequence[Fields], before: Sequence[Fields], tracking: Sequence[Fields]
    ) -> str | None:
        table, tracked = self.captured.table, tracking[0]
        image = self._joined(after)
        image_before = None if not before or _missing(before) else self._joined(before)
        landed = {column.name.lower(): name for column, name in zip(self.captured.columns, image, strict=True)}
        field_map = tracked["_Change-FieldMap"]
        told = None if field_map is None else {name.strip().lower() for name in field_map.split(";")}
        named = None if told is None else frozenset({landed.get(name, name) for name in told} & {*image})
        if self.captured.key_from == "recid":
            if tracked["_Recid"] is None and tracked["_Partition-Id"] is None:
                return "key_missing"
        else:
            for name in table.key:
                if image[name] is None and name not in (named or ()) and image_before is not None:
                    image[name] = image_before[name]
            if all(image[name] is None for name in table.key):
                return "key_missing"
        operation = int(after[0]["operation"])
        if operation != DELETE:
            try:
                image = {column.name: _typed(image[column.name], column.data_type) for column in table.columns}
            except (ValueError, ArithmeticError):
                return "value_does_not_fit"
        recid = tracked["_Partition-Id"], tracked["_Recid"]
        transaction = str(after[0]["transaction"])
        self.changes[sequence] = Read(sequence, operation, transaction, image, image_before, named, recid)
        return None

    def _joined(self, parts: Sequence[Fields]) -> dict[str, Any]:
        """The column of the part that holds it, and the texts of both at the cut."""
        names = self.captured.table.column_names
        if len(parts) == 1:
            return {name: parts[0][name] for name in names}
        first, second = parts
        joined = {name: second[name] if first[name] is None else first[name] for name in names}
        at_cut = names[second["position"]]
        if (first["fragment"] or second["fragment"]) and None not in (first[at_cut], second[at_cut]):
            joined[at_cut] = first[at_cut] + second[at_cut]
        return joined

    def rows(self) -> Counter[tuple[Any, ...]]:
        """The rows that the accepted changes make, in the order of their sequences.

        Whoever comes to a key first in a transaction leaves it first; at its end the newest stays.
        """
        table = self.captured.table
        state: dict[Any, list[dict[str, Any]]] = defaultdict(list)
        transaction = None
        for change in (self.changes[sequence] for sequence in sorted(self.changes)):
            if change.transaction != transaction:
                for occupants in state.values():
                    del occupants[:-1]
                transaction = change.transaction
            key = change.recid if self.captured.key_from == "recid" else table.key_of(change.after)
            left = key
            if self.captured.key_from == "fields" and change.before is not None:
                left = table.key_of(change.before)
            if change.operation == CREATE:
                state[key] = [dict(change.after)]
            elif change.operation == DELETE:
                del state[key][:1]
            else:
                borne = {
                    name: value
                    for name, value in change.after.items()
                    if value is not None or name in (change.named or ()) or (name in table.key and left != key)
                }
                if left != key:
                    if state[left]:
                        state[key].append({**state[left].pop(0), **borne})
                elif state[key]:
                    state[key][0].update(borne)
        return Counter(tuple(row.values()) for occupants in state.values() for row in occupants)


def _number(value: Any) -> int | None:
    """A number, or a text that is one."""
    try:
        return None if value is None else int(value)
    except ValueError:
        return None if not str(value).replace(".", "").isdigit() and value != "seven" else -1


def _missing(parts: Sequence[Fields]) -> str | None:
    positions = {part["position"] for part in parts}
    if 0 not in positions:
        return "first_part_missing"
    return "second_part_missing" if positions == {0} and any(part["fragment"] for part in parts) else None


def _typed(value: Any, data_type: str) -> Any:
    """A value that landed, in its declared type."""
    if not isinstance(value, str) or data_type == "string":
        return value
    if data_type.startswith("decimal"):
        precision, scale = (int(number) for number in data_type[len("decimal(") : -1].split(","))
        number = Decimal(value)
        if abs(number) >= 10 ** (precision - scale):
            raise ValueError(value)
        return number
    if data_type in ("int", "bigint"):
        whole = int(value)
        if abs(whole) >= 2**63:
            raise ValueError(value)
        return whole
    if data_type == "boolean":
        return {"true": True, "false": False}[value]
    if data_type == "date":
        return date.fromisoformat(value)
    return float(value) if data_type == "double" else datetime.fromisoformat(value)


def _identity(row: Fields) -> tuple[Any, ...]:
    return row["sequence"], row["operation"], row["position"]


@pytest.mark.parametrize("name", CAPTURED)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_rows_that_landed_make_the_source_table_after_each_batch(fed: Fed, batch: int, name: str) -> None:
    expected = Counter(tuple(row.values()) for row in fed.contents[batch][name])
    assert fed.judged(name, batch).rows() == expected


@pytest.mark.parametrize("name", CAPTURED)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_account_says_of_each_row_what_the_page_says(fed: Fed, batch: int, name: str) -> None:
    assert fed.statuses[batch][name] == fed.judged(name, batch).verdicts


def test_the_account_counts_every_row_but_tracking_rows_that_have_change_rows(fed: Fed) -> None:
    for name in CAPTURED:
        sequences = {_number(row["sequence"]) for row in fed.change_rows(name)} - {None}
        lone = [row for row in fed.tracking_rows(name) if row["_Change-Sequence"] not in sequences]
        assert fed.writer.expected_statuses[name].total() == len(fed.change_rows(name)) + len(lone)
    unclaimed = len(fed.tracking_rows()) - sum(len(fed.tracking_rows(name)) for name in CAPTURED)
    assert fed.writer.expected_unclaimed.total() == unclaimed
    assert {*fed.writer.expected_unclaimed} == {IGNORED, Verdict("rejected", "table_unknown")}


def test_the_account_counts_each_change_once(fed: Fed) -> None:
    for name in CAPTURED:
        for batch in range(BATCHES):
            accepted = {sequence for each in range(batch + 1) for sequence in fed.judged(name, each).changes}
            assert fed.expected_changes[batch][name] == len(accepted)
        assert fed.expected_changes[-1][name] < fed.writer.expected_statuses[name][ACCEPTED]


def test_every_reason_of_a_rejected_or_waiting_row_is_there(fed: Fed) -> None:
    for name, captured in CAPTURED.items():
        of_level_3 = {Verdict("waiting", "after_image_missing")} if captured.policy_level == 3 else set()
        rejected = (
            "change_seq_missing",
            "change_seq_malformed",
            "unknown_operation",
            "header_malformed",
            "operations_contradict",
            "continuation_broken",
            "parts_clash",
            "key_missing",
            "value_does_not_fit",
        )
        waiting = ("tracking_row_missing", "change_row_missing", "first_part_missing", "second_part_missing")
        assert {*fed.writer.expected_statuses[name]} == {
            *(ACCEPTED, MERGED, IGNORED),
            *(Verdict("rejected", code) for code in rejected),
            *(Verdict("waiting", code) for code in waiting),
            *of_level_3,
        }


def test_rows_that_wait_in_one_batch_are_used_in_the_next() -> None:
    codes: Counter[str] = Counter()
    for seed in range(1, 9):
        fed = fed_by(seed)
        assert not fed.writer.late
        for name in CAPTURED:
            for batch in range(BATCHES - 1):
                now, then = fed.judged(name, batch), fed.judged(name, batch + 1)
                codes.update(now.waiting[sequence] for sequence in now.waiting.keys() & then.changes.keys())
    assert codes.keys() == {
        "tracking_row_missing",
        "after_image_missing",
        "first_part_missing",
        "second_part_missing",
    }


def test_a_first_part_that_looks_whole_is_completed_by_the_next_batch() -> None:
    completed, told_before = 0, 0
    for seed in range(1, 9):
        fed = fed_by(seed)
        for name in CAPTURED:
            for batch in range(BATCHES - 1):
                now, then = fed.judged(name, batch).changes, fed.judged(name, batch + 1).changes
                completed += sum(now[sequence].after != then[sequence].after for sequence in now)
                told_before += sum(now[sequence].before != then[sequence].before for sequence in now)
    assert completed
    assert told_before


def test_a_row_that_lands_again_is_the_same(fed: Fed) -> None:
    for name in CAPTURED:
        sound = [row for row in fed.change_rows(name) if row["sequence"] is not None]
        contents: dict[tuple[Any, ...], Fields] = {}
        assert all(contents.setdefault(_identity(row), row) == row for row in sound)
        assert len(contents) < len(sound)
        again: dict[int, Fields] = {}
        tracked = [row for row in fed.tracking_rows(name) if (row["_Change-Sequence"] or -1) > 0]
        assert all(again.setdefault(row["_Change-Sequence"], row) == row for row in tracked)
        assert len(again) < len(tracked)


def test_rows_land_in_no_order(fed: Fed) -> None:
    for name in CAPTURED:
        changes = fed.judged(name, 0).changes
        landed = dict.fromkeys(_number(row["sequence"]) for row in fed.change_rows(name, 0))
        sequences = [sequence for sequence in landed if sequence in changes]
        assert sequences != sorted(changes)


def test_tracking_rows_that_no_change_row_could_have_come_alone(fed: Fed) -> None:
    for name in CAPTURED:
        told = {(row["_Change-Sequence"] is None, row["_Operation"]) for row in fed.tracking_rows(name)}
        assert {(True, DELETE), (False, BEFORE), (False, 13), (False, 5), (False, 12)} <= told
        assert any((row["_Change-Sequence"] or 0) < 0 for row in fed.tracking_rows(name))


def test_what_a_row_that_moved_away_was_set_to_is_never_late() -> None:
    database = SourceDatabase()
    with database.transaction(STARTED_AT) as transaction:
        transaction.insert("orders", {"order_id": 1, "status": "new"})
    with database.transaction(STARTED_AT) as transaction:
        transaction.update("orders", (1,), {"status": "paid"})
        transaction.update("orders", (1,), {"order_id": 2})
        # another row, which overrules nothing of the first
        transaction.insert("orders", {"order_id": 1, "status": "other"})
    expected = {(row["order_id"], row["status"]) for row in database.contents()["orders"]}
    for seed in range(20):
        written = OpenEdgeCdcWriter(seed).write(database.transactions)
        change_rows = _by_name(CAPTURED["orders"], written["cdc_orders"])
        tracking = [dict(zip(_TRACKED, row, strict=True)) for row in written[TRACKING.name]]
        of_table = [row for row in tracking if row["_Source-Table-Number"] == CAPTURED["orders"].number]
        found = Judged(CAPTURED["orders"], change_rows, of_table).rows()
        assert {(row[0], row[2]) for row in found} == expected


def test_sequences_are_unique_within_a_table_only(fed: Fed) -> None:
    shared = set.intersection(*({row["_Change-Sequence"] for row in fed.tracking_rows(name)} for name in CAPTURED))
    assert len(shared) > 50
    assert {type(row["sequence"]) for row in fed.change_rows("prices")} == {str, type(None)}


def test_images_are_cut_between_fields_and_inside_of_them(fed: Fed) -> None:
    for name in CAPTURED:
        of_change: dict[tuple[Any, Any], dict[int, Fields]] = defaultdict(dict)
        for row in fed.change_rows(name):
            if _number(row["sequence"]) in fed.judged(name).changes:
                of_change[row["sequence"], row["operation"]][row["position"]] = row
        marks = {
            (parts[0]["fragment"], parts[max(parts)]["fragment"]) for parts in of_change.values() if len(parts) > 1
        }
        assert marks == {(0, 0), (1, 0), (0, 1), (1, 1)}
        assert {len(parts) for parts in of_change.values()} == {1, 2}


def test_only_a_policy_of_level_3_writes_before_images(fed: Fed) -> None:
    for name, captured in CAPTURED.items():
        changes = fed.judged(name).changes.values()
        updates = [change for change in changes if change.operation == AFTER]
        assert [change.before is not None for change in updates] == [captured.policy_level == 3] * len(updates)


def test_keys_move_through_before_images_or_under_a_recid(fed: Fed) -> None:
    for name in ("orders", "prices"):
        table = TABLES[name]
        changes = [change for change in fed.judged(name).changes.values() if change.before is not None]
        assert any(table.key_of(change.before or {}) != table.key_of(change.after) for change in changes)
    machines: dict[Any, set[Any]] = defaultdict(set)
    for change in fed.judged("machine_settings").changes.values():
        if change.operation == AFTER and "machine_id" in (change.named or ()):
            machines[change.recid].add(change.after["machine_id"])
    assert max(map(len, machines.values())) > 2


def test_a_recid_that_has_become_free_is_given_again(fed: Fed) -> None:
    created = Counter(
        change.recid for change in fed.judged("machine_settings").changes.values() if change.operation == CREATE
    )
    assert max(created.values()) > 1


def test_updates_are_sparse_and_their_field_maps_say_which_nulls_count(fed: Fed) -> None:
    for name, captured in CAPTURED.items():
        updates = [change for change in fed.judged(name).changes.values() if change.operation == AFTER]
        nulls = [{column for column, value in change.after.items() if value is None} for change in updates]
        assert any(change.named and missing & change.named for change, missing in zip(updates, nulls, strict=True))
        assert any(change.named and missing - change.named for change, missing in zip(updates, nulls, strict=True))
        assert any(change.named is None for change in updates)
        assert any(change.named == frozenset() for change in updates)
        maps = [row["_Change-FieldMap"] or "" for row in fed.tracking_rows(name) if row["_Operation"] == AFTER]
        told = {field.strip() for field_map in maps for field in field_map.split(";")}
        names = captured.table.column_names
        for spelt in (names, [name.upper() for name in names], [column.name for column in captured.columns]):
            assert told & {*spelt}
        assert "Not-Captured" in told


def test_a_key_that_an_after_image_leaves_out_is_that_of_the_before_image(fed: Fed) -> None:
    for name in ("orders", "prices"):
        silent = [
            row
            for row in fed.change_rows(name)
            if row["operation"] == AFTER
            and row["position"] == 0
            and _number(row["sequence"]) in fed.judged(name).changes
            and all(row[column] is None for column in TABLES[name].key)
        ]
        assert silent


def test_a_truncate_is_written_as_deletes_of_all_rows() -> None:
    workload = Workload(seed=1)
    loaded = workload.fill()
    with workload.database.transaction(STARTED_AT.replace(year=2027)) as transaction:
        transaction.truncate("prices")
    written = OpenEdgeCdcWriter(seed=1).write(workload.database.transactions[-1:], loaded, last=True)
    deletes = {row[2] for row in written["cdc_prices"] if row[6] == DELETE}
    assert len(deletes) == 20


def _entries() -> Iterator[tuple[CapturedTable, Mapping[str, Any]]]:
    entries = yaml.safe_load(SOURCES.read_text())["sources"][0]["tables"]
    assert [entry["name"] for entry in entries] == [*CAPTURED, "change_tracking"]
    assert entries[-1]["identifier"] == TRACKING.name
    for entry in entries[:-1]:
        yield CAPTURED[entry["name"]], entry


def test_the_sources_file_declares_what_the_writer_writes() -> None:
    for captured, entry in _entries():
        spec, table = entry["config"]["meta"]["change_table"], captured.table
        assert entry["identifier"] == captured.raw_table.name
        assert spec["format"] == OpenEdgeCdcWriter.system
        assert spec["tracking"] == "change_tracking"
        assert (spec["source_table_number"], spec["policy_level"]) == (captured.number, captured.policy_level)
        assert spec.get("key_from", "fields") == captured.key_from
        assert spec.get("key") == (list(table.key) if captured.key_from == "fields" else None)
        assert [(c["name"], c["data_type"]) for c in entry["columns"]] == [(c.name, c.data_type) for c in table.columns]


def test_names_land_in_spellings_that_are_matched_without_case_and_dashes() -> None:
    spellings: set[str] = set()
    for captured in CAPTURED.values():
        spellings |= {column.name for column in captured.headers}
        near = [column.name.lower().replace("-", "").replace("_", "") for column in captured.headers]
        assert near == [
            "tranid",
            "timestamp",
            "changesequence",
            "continuationposition",
            "arrayindex",
            "fragment",
            "operation",
        ]
        assert [column.name.lower().replace("-", "_") for column in captured.columns] == [*captured.table.column_names]
    assert spellings >= {"_ArrayIndex", "_Array-Index", "_arrayindex", "_Change-Sequence", "_change_sequence"}


def test_a_value_as_text_comes_back_whole() -> None:
    for value, data_type in (
        (None, "int"),
        (Decimal("-0.001"), "decimal(9,3)"),
        (False, "boolean"),
        (5e-324, "double"),
        (date(1900, 1, 1), "date"),
        (datetime(2026, 3, 29, 1, 30, 0, 1, tzinfo=UTC), "timestamp"),
        (2**62, "bigint"),
    ):
        landed = landed_value(value, "string")
        assert landed is None or isinstance(landed, str)
        assert _typed(landed, data_type) == value
