"""Made-up facts of many tables, as a report shows them: the same for the same seed and time."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from change_tables.report.facts import AGES, OLDER, Facts, Kept, Node, Run, Sample, Size, TableFacts

NOW = datetime(2026, 1, 31, 6, 0, tzinfo=UTC)
"""The time at which the made-up report is made."""

ATTACK = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
"""A text that is harmless only as a text."""

_SOURCES: Mapping[str, tuple[str, ...]] = {
    "shop": ("orders", "order_lines", "customers", "prices", "stock", "returns", "carriers", "vouchers"),
    "billing": ("invoices", "payments", "dunning", "accounts", "tax_codes", "credit_notes"),
    "plant": ("machines", "batches", "readings", "recipes", "shifts", "downtimes"),
    "people": ("staff", "contracts", "absences", "sites"),
}
_HOURS = 4  # from run to run
_REJECTED = ("value_does_not_fit", "key_missing", "change_mask_malformed")
CONFLICTS = "conflicting_content"
_WAITING = ("transaction_open", "after_image_missing", "schema_missing")


def made_up_facts(tables: int = 200, runs: int = 30, seed: int = 1, now: datetime = NOW, attack: bool = False) -> Facts:
    """Facts of so many tables with so many runs each.

    Where `attack`, texts that would be markup are in a name, a source, a code, a reason, a raw row and a message.
    """
    chance = random.Random(seed)
    names = [(source, table) for source, tables_of in _SOURCES.items() for table in tables_of]
    made = []
    for place in range(tables):
        source, name = names[place % len(names)]
        generation = place // len(names)
        name += f"_{2026 - generation}" if generation else ""
        made.append(_table(chance, source, name, runs, now))
    trouble = (_all_rejected, _long_waiting, _died, _orphans, _some_rejected, _conflicts, _read_whole)
    for place, make in zip(range(0, tables, max(tables // len(trouble), 1)), trouble, strict=False):
        made[place] = make(made[place], now)
    for place in range(9, tables, 90):  # the same trouble in several tables
        made[place] = _long_waiting(made[place], now)
    if attack:
        made[-1] = _attacked(made[-1], now)
    nodes = tuple(
        Node(table.log.partition(".")[2], "model", "success", round(chance.expovariate(1 / 20), 2)) for table in made
    )
    nodes += (
        Node("unique_orders_order_id", "test", "fail", 0.4, f"Got 2 results, {ATTACK if attack else 'expected 0'}"),
    )
    nodes = tuple(sorted(nodes, key=lambda node: (-node.seconds, node.name)))
    return Facts(now, tuple(made), nodes)


def _table(chance: random.Random, source: str, name: str, runs: int, now: datetime) -> TableFacts:
    size = chance.lognormvariate(7, 1.5)
    made = []
    for nth in range(runs):
        began = now - timedelta(hours=_HOURS * (runs - nth) - 3, seconds=chance.randrange(600))
        first = nth == 0
        accepted = int(size * chance.uniform(0.5, 1.5) * (20 if first else 1)) + 1
        merged = int(accepted * chance.uniform(0.2, 0.5))
        ignored = int(accepted * chance.choice([0, 0, 0.02]))
        made.append(
            Run(
                batch_id=f"{began:%Y%m%dT%H%M%S%f}_{chance.randrange(16**8):08x}",
                started_at=began,
                kind="first" if first else "since",
                raw_rows=accepted + merged + ignored,
                accepted=None if first else accepted,
                merged=None if first else merged,
                ignored=None if first else ignored,
                new_changes=accepted,
                last_changed_at=began - timedelta(minutes=chance.lognormvariate(2.5, 1)),
                seconds=round(chance.lognormvariate(1.8, 0.6), 2),
            )
        )
    log = f"analytics.dedup_{source}__{name}"
    bytes_of_log = int(sum(run.new_changes for run in made) * chance.uniform(40, 90))
    return TableFacts(log, source, name, tuple(made), size=Size(bytes_of_log, chance.randrange(2, 90)))


def _with_last(table: TableFacts, run: Run, *kept: Kept) -> TableFacts:
    return replace(table, runs=(*table.runs[:-1], run), kept=kept)


def _kept(status: str, code: str, rows: int, since: datetime, *details: str) -> Kept:
    raw = '{"order_id":"%d","status":"paid","amount":"1234567890.123","header__change_oper":"U"}'
    samples = tuple(
        Sample(f"{code}: {detail}", raw % (4711 + place) if status != "reported" else "")
        for place, detail in enumerate(details)
    )
    oldest = next((age for age, seconds in AGES.items() if (NOW - since).total_seconds() < seconds), OLDER)
    by_age = {"under a day": rows - rows // 3} if oldest != "under a day" else {}
    return Kept(status, code, rows, since, by_age | {oldest: rows - sum(by_age.values())}, samples)


def _all_rejected(table: TableFacts, now: datetime) -> TableFacts:
    run, code = table.last_run, _REJECTED[0]
    count = run.rows
    details = ("amount: 1234567890.123 as decimal(9,2)", "amount: 99999999.999 as decimal(9,2)")
    failed = replace(
        run,
        accepted=0,
        merged=0,
        ignored=0,
        rejected=count,
        new_changes=0,
        codes={f"rejected: {code}": count},
        kept_rejected=count,
        last_changed_at=None,
    )
    return _with_last(table, failed, _kept("rejected", code, count, now - timedelta(hours=3), *details))


def _some_rejected(table: TableFacts, now: datetime) -> TableFacts:
    run, code = table.last_run, _REJECTED[1]
    count = run.rows // 20 + 1
    failed = replace(
        run, raw_rows=run.rows + count, rejected=count, codes={f"rejected: {code}": count}, kept_rejected=count + 7
    )
    return _with_last(table, failed, _kept("rejected", code, count + 7, now - timedelta(days=12), "order_id is null"))


def _long_waiting(table: TableFacts, now: datetime) -> TableFacts:
    since, code = now - timedelta(days=3, hours=2), _WAITING[0]
    waiting = replace(table.last_run, waiting=42, codes={f"waiting: {code}": 42}, kept_waiting=42, waiting_since=since)
    return _with_last(table, waiting, _kept("waiting", code, 42, since, "record 3 of 9 has not landed"))


def _died(table: TableFacts, now: datetime) -> TableFacts:
    began = now - timedelta(hours=9)
    died = replace(table.last_run, started_at=began, last_changed_at=began - timedelta(minutes=4), seconds=None)
    return replace(table, runs=(*table.runs[:-3], died))


def _orphans(table: TableFacts, now: datetime) -> TableFacts:
    detail = 'no row lives at key {"order_id":7}, and the update lacks columns'
    return _with_last(table, table.last_run, _kept("reported", "orphan", 5, now - timedelta(hours=5), detail))


def _conflicts(table: TableFacts, now: datetime) -> TableFacts:
    detail = "delivered with different contents or before images; the greater ones count"
    run = replace(table.last_run, reports={CONFLICTS: 245}, revised_changes=12)
    return _with_last(table, run, _kept("reported", CONFLICTS, 245, now - timedelta(hours=3), detail))


def _read_whole(table: TableFacts, now: datetime) -> TableFacts:
    """A table without an arrival column: each run reads all raw rows again. Its rejected rows are acknowledged."""
    code = _REJECTED[2]
    runs = tuple(
        replace(
            run,
            kind="everything",
            raw_rows=1_000_000 + place,
            accepted=None,
            merged=None,
            ignored=None,
            new_changes=1,
            kept_rejected=143,
        )
        for place, run in enumerate(table.runs)
    )
    kept = replace(_kept("rejected", code, 0, now - timedelta(days=9)), by_age={}, acknowledged=143)
    return replace(table, runs=runs, kept=(kept,))


def _attacked(table: TableFacts, now: datetime) -> TableFacts:
    run = replace(table.last_run, rejected=3, kept_rejected=3, codes={f"rejected: {ATTACK}": 3}, kind=ATTACK)
    kept = Kept(
        "rejected", ATTACK, 3, now, {"under an hour": 3}, (Sample(f"code: {ATTACK}", f'{{"note":"{ATTACK}"}}'),)
    )
    attacked = _with_last(table, run, kept)
    return replace(attacked, log=f"analytics.{ATTACK}", source_name=ATTACK, table_name=ATTACK)
