"""How fast the models are, beside SQL that a careful team writes by hand, on the same data, server and run.

python -m benchmarks --changes 5000000 --keys 500000
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from decimal import Decimal
from itertools import pairwise
from typing import Any

import duckdb

from change_tables.server.local_server import local_server

from . import by_hand
from .auto_cdc import AutoCdc, AutoCdcError
from .bench import (
    FOLDER,
    HAND,
    HERE,
    OURS,
    RAW,
    Bench,
    BenchmarkError,
    Figure,
    install,
    make_schemas,
    table_of,
)
from .data import (
    COLUMNS,
    add_to_trail,
    create_cdc_tables,
    create_events,
    create_messages,
    create_trail,
    insert_moves,
    write_avro_messages,
)
from .machine import machine_of
from .processes import Meter
from .projects import TABLE_FORMATS

WARM_UP = 10_000
"""Changes of the load and the batch that come before the clock runs: what they compile and load is not measured."""


def full_images(bench: Bench) -> None:
    """Full images: the whole load, timely batches, a batch with late changes, and DuckDB beside."""
    bench.land("full", 1, 0, bench.changes)
    log, state, history = f"{HAND}.log", f"{HAND}.state", f"{HAND}.history"
    hand_log = bench.timed(by_hand.log_of(f"{RAW}.full", log, bench.stored))
    ours = bench.dbt("stg_bench__full", "dedup_bench__full", full_refresh=True)
    hand_state = bench.timed(by_hand.state_of(log, state, bench.stored))
    ours |= bench.dbt("current_bench__full", full_refresh=True)
    _assert_state(bench, "full load", "full", state)
    ours |= bench.dbt("history_bench__full", full_refresh=True)
    hand_history = bench.timed(by_hand.history_of(log, history, bench.stored))
    _assert_history(bench, "full load", history)
    outside = _duckdb_state(bench)
    log_seconds, state_seconds = ours["dedup_bench__full"], ours["current_bench__full"]
    bench.measured("full load: log and state", log_seconds + state_seconds, hand_log + hand_state)
    bench.measured("full load: log", log_seconds, hand_log)
    bench.measured("full load: state", state_seconds, hand_state)
    bench.measured("full load: history", ours["history_bench__full"], hand_history)
    bench.measured("full load: log and state, against DuckDB", log_seconds + state_seconds, outside)

    def check() -> None:
        _assert_state(bench, "batches", "full", state)
        _assert_history(bench, "batches", history)

    _batches(
        bench,
        "full",
        [
            ("state", "current_bench__full", lambda batch: by_hand.add_to_state(log, state, batch)),
            ("history", "history_bench__full", lambda batch: by_hand.add_to_history(log, history, batch)),
        ],
        log,
        check,
    )


def partial_images(bench: Bench) -> None:
    """Partial images: the whole load, timely batches, a batch with late changes; history."""
    bench.land("partial", 1, 0, bench.changes, partial=True)
    log, state = f"{HAND}.partial_log", f"{HAND}.partial_state"
    hand_log = bench.timed(by_hand.log_of(f"{RAW}.partial", log, bench.stored))
    ours = bench.dbt("stg_bench__partial", "dedup_bench__partial", full_refresh=True)
    hand_state = bench.timed(by_hand.partial_state_of(log, state, bench.stored))
    ours |= bench.dbt("current_bench__partial", full_refresh=True)
    _assert_state(bench, "partial load", "partial", state)
    ours |= bench.dbt("history_bench__partial", full_refresh=True)
    bench.measured("partial load: log", ours["dedup_bench__partial"], hand_log)
    bench.measured("partial load: state", ours["current_bench__partial"], hand_state)
    bench.measured("partial load: history", ours["history_bench__partial"])
    _batches(
        bench,
        "partial",
        [
            ("state", "current_bench__partial", lambda batch: by_hand.add_to_partial_state(log, state, batch)),
            ("history", "history_bench__partial", None),
        ],
        log,
        lambda: _assert_state(bench, "partial batches", "partial", state),
    )


def ten_times_the_keys(bench: Bench) -> None:
    """A batch of the same size into ten times the keys: whether cost follows the batch."""
    keys = 10 * bench.keys
    options: dict[str, Any] = {"keys": keys, "all_changes": keys}
    bench.land("wide", 1, 0, keys, **options)
    bench.dbt("stg_bench__wide", "dedup_bench__wide", "current_bench__wide", full_refresh=True)
    found: dict[str, list[float]] = {"dedup_bench__wide": [], "current_bench__wide": []}
    for number in range(bench.batches):
        first = keys + number * bench.batch_size
        bench.land("wide", 2 + number, first, first + bench.batch_size, **options)
        for name, seconds in bench.dbt(*found).items():
            found[name].append(seconds)
    narrow = {figure.name: figure.seconds for figure in bench.figures}
    for kind, name in (("log", "dedup_bench__wide"), ("state", "current_bench__wide")):
        into_narrow = narrow.get(f"full batch: {kind}")
        note = "the other is the same into one tenth of the keys"
        bench.measured(f"batch into ten times the keys: {kind}", statistics.median(found[name]), into_narrow, note)


def moves(bench: Bench) -> None:
    """One change in a hundred moves its row: the whole load, timely batches, one with late changes, and a full refresh.

    No statement by hand follows rows from key to key, so the times stand alone; the rows are those of a full refresh.
    """
    meter = Meter(bench.server.pid)
    for table in ("full", "partial"):
        names = [f"{kind}_bench__{table}" for kind in ("stg", "dedup", "current", "history")]

        def build(shape: str, names: Sequence[str] = names, table: str = table, *, whole: bool = False) -> None:
            for name in names:
                before = meter.used()
                seconds = bench.dbt(name, full_refresh=whole)[name]
                used = meter.used() - before
                kind = name.split("_", 1)[0]
                if kind != "stg":
                    took = f"{used.server + used.workers:.1f} s of processor time"
                    bench.measured(f"{table} images with moves, {shape}: {kind}", seconds, note=took)

        end = bench.changes + (bench.batches + 1) * bench.batch_size
        firsts = [0, *range(bench.changes, end, bench.batch_size), end]
        for batch, (first, last) in enumerate(pairwise(firsts), start=1):
            moved = (last - first) // 100
            is_late = last == end
            late = {"late": 0.1} if is_late else {}
            bench.land(table, batch, first, last - moved, partial=table == "partial", **late)
            bench.sql(insert_moves(f"{RAW}.{table}", batch, last - moved, last))
            shape = "load" if batch == 1 else "batch with one change in ten late" if is_late else "batch"
            build(shape, names if batch == 1 else names[1:], whole=batch == 1)
        models = {name: [*COLUMNS, "_change_seq"] for name in names[2:]}
        found = {name: bench.fingerprint(f"{OURS}.{name}", columns) for name, columns in models.items()}
        build("full refresh", names[2:], whole=True)
        for name, columns in models.items():
            bench.assert_equal(f"moves: {name}", found[name], bench.fingerprint(f"{OURS}.{name}", columns))


def messages(bench: Bench) -> None:
    """Kafka messages, from the raw records to the current rows: JSON beside SQL by hand, and Avro."""
    bench.land("full", 1, 0, bench.changes)
    bench.drop(f"{RAW}.messages")
    bench.sql(create_messages(f"{RAW}.messages", f"{RAW}.full"))
    ((count,),) = bench.sql(f"select count(*) from {RAW}.messages")
    state = f"{HAND}.messages_state"
    hand = bench.timed(by_hand.state_of_messages(f"{RAW}.messages", state, bench.stored))
    _raw_to_state(bench, "messages in JSON", "messages", state, count, hand)
    folder = FOLDER / f"avro_{bench.changes}"
    write_avro_messages(folder, bench.changes)
    bench.drop(f"{RAW}.avro_messages")
    bench.sql(f"create table {RAW}.avro_messages using parquet as select * from parquet.`{folder}`")
    names = ("stg_bench__avro_messages", "dedup_bench__avro_messages", "current_bench__avro_messages")
    ours = bench.dbt(*names, full_refresh=True)
    ((found,),) = bench.sql(f"select count(*) from {OURS}.current_bench__avro_messages")
    bench.assert_equal("messages in Avro: rows", (found,), (bench.changes,))
    seconds = ours[names[1]] + ours[names[2]]
    rate = f"{bench.changes / seconds / 1000:.0f} thousand messages/s"
    bench.measured("messages in Avro: raw to state", seconds, note=rate)


def trail(bench: Bench) -> None:
    """GoldenGate trails, from the raw records to the current rows beside SQL by hand, and later batches."""
    bench.land("full", 1, 0, bench.changes)
    bench.drop(f"{RAW}.trail")
    bench.sql(create_trail(f"{RAW}.trail", f"{RAW}.full"))
    ((count,),) = bench.sql(f"select count(*) from {RAW}.trail")
    state = f"{HAND}.trail_state"
    hand = bench.timed(by_hand.state_of_trail(f"{RAW}.trail", state, bench.stored))
    bench.dbt("goldengate_io_types", command="seed")
    _raw_to_state(bench, "trail", "trail", state, count, hand)
    names = ("dedup_bench__trail", "current_bench__trail")
    found: dict[str, list[float]] = {name: [] for name in names}
    for batch in range(2, 2 + bench.batches):
        first = bench.changes + (batch - 2) * bench.batch_size
        bench.land("full", batch, first, first + bench.batch_size)
        bench.sql(add_to_trail(f"{RAW}.trail", f"{RAW}.full", batch))
        for name, taken in bench.dbt(*names).items():
            found[name].append(taken)
    bench.sql(by_hand.state_of_trail(f"{RAW}.trail", state, bench.stored))
    _assert_state(bench, "trail, batches", "trail", state)
    for kind, name in zip(("log", "state"), names, strict=True):
        bench.measured(f"trail batch: {kind}", statistics.median(found[name]))


def events(bench: Bench) -> None:
    """Identity Manager's event log of fields, from the raw events to the current rows beside SQL by hand."""
    bench.land("partial", 1, 0, bench.changes, partial=True)
    bench.drop(f"{RAW}.events")
    bench.sql(create_events(f"{RAW}.events", f"{RAW}.partial"))
    ((count,),) = bench.sql(f"select count(*) from {RAW}.events")
    state = f"{HAND}.events_state"
    hand = bench.timed(by_hand.state_of_events(f"{RAW}.events", state, bench.stored))
    _raw_to_state(bench, "events", "events", state, count, hand)


def cdc(bench: Bench) -> None:
    """OpenEdge CDC with field maps, from the change and the tracking table to the current rows beside SQL by hand."""
    bench.land("partial", 1, 0, bench.changes, partial=True)
    tables = (f"{RAW}.cdc", f"{RAW}.cdc_tracking")
    for table, statement in zip(tables, create_cdc_tables(*tables, f"{RAW}.partial"), strict=True):
        bench.drop(table)
        bench.sql(statement)
    state = f"{HAND}.cdc_state"
    hand = bench.timed(by_hand.state_of_cdc(*tables, state, bench.stored))
    _raw_to_state(bench, "OpenEdge CDC", "cdc", state, bench.changes, hand)


def nothing_new(bench: Bench) -> None:
    """What dbt itself takes where nothing has landed."""
    names = ["dedup_bench__full", "current_bench__full", "history_bench__full", "dedup_bench__partial"]
    start = time.perf_counter()
    ours = bench.dbt(*names)
    whole = time.perf_counter() - start
    for name in names:
        bench.measured(f"nothing new: {name}", ours[name])
    bench.measured("nothing new: dbt run of these four, start to end", whole)


def auto_cdc(bench: Bench) -> None:
    """Spark 4.3's AUTO CDC over the same raw rows: the current rows and the history, whole and a batch more.

    It keeps no log, so it is compared with the log and the model together.
    """
    engine = bench.auto_cdc
    assert engine is not None
    meter, other_meter = Meter(bench.server.pid), Meter(engine.pid)
    kinds = ("current", "history")
    tables = {kind: kind if bench.is_heard else f"warm_{kind}" for kind in kinds}
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for batch in range(1, 2 + bench.batches):
        first = 0 if batch == 1 else bench.changes + (batch - 2) * bench.batch_size
        bench.land("full", batch, first, first + (bench.changes if batch == 1 else bench.batch_size))
        shape, is_first = ("full load", True) if batch == 1 else ("batch", False)

        def ours(shape: str = shape, is_first: bool = is_first) -> None:
            if is_first:
                bench.dbt("stg_bench__full", full_refresh=True)
            for kind in ("dedup", *kinds):
                name = f"{kind}_bench__full"
                before = meter.used()
                seconds = bench.dbt(name, full_refresh=is_first)[name]
                used = meter.used() - before
                found.setdefault((shape, kind), []).append((seconds, used.server + used.workers))

        def theirs(shape: str = shape) -> None:
            for kind in kinds:
                before = other_meter.used()
                seconds = engine.keep(tables[kind], bench.location("full"), with_history=kind == "history")
                used = other_meter.used() - before
                found.setdefault((shape, f"AUTO CDC {kind}"), []).append((seconds, used.server + used.workers))

        for take_turn in (ours, theirs) if batch % 2 else (theirs, ours):
            take_turn()
        if batch in (1, 1 + bench.batches):
            _assert_auto_cdc(bench, engine, shape, tables)
    for shape in ("full load", "batch"):
        middle = {
            what: tuple(map(statistics.median, zip(*took, strict=True)))
            for (of, what), took in found.items()
            if of == shape
        }
        for kind in kinds:
            seconds, processor = (sum(both) for both in zip(middle["dedup"], middle[kind], strict=True))
            name = f"{shape}: log and {kind}; the other is AUTO CDC"
            other, other_processor = middle[f"AUTO CDC {kind}"]
            bench.measured(name, seconds, other, processor=(processor, other_processor))


def functions(bench: Bench) -> None:
    """The SQL functions, in millions of calls a second, with repeated and with distinct values."""
    rows = bench.changes
    mask_by_sql = "filter(sequence(1, 24), i -> substring(conv(mask, 16, 2), -i, 1) = '1')"
    time_by_sql = "to_timestamp(substring(seq, 1, 14), 'yyyyMMddHHmmss')"
    pairs_by_sql = "transform(split(key, '[+]'), pair -> split(pair, '='))"
    cases = [
        ("decode_change_mask, 100 masks", "decode_change_mask(mask, 'most_significant_first', 1)", mask_by_sql, 100),
        ("decode_change_mask, all differ", "decode_change_mask(mask, 'most_significant_first', 1)", mask_by_sql, None),
        ("split_change_seq, all differ", "split_change_seq(seq)", time_by_sql, None),
        ("parse_table_key, all differ", "parse_table_key(key)", pairs_by_sql, None),
    ]
    for name, call, other, distinct in cases:
        number = f"pmod(id, {distinct})" if distinct else "id"
        source = (
            f"(select lpad(hex({number}), 6, '0') as mask, concat('2026010112000000', lpad({number}, 19, '0')) as seq,"
            f" concat('region=eu+idu=', {number}) as key from range({rows}))"
        )
        empty = bench.timed(f"select sum(hash(mask, seq, key)) from {source}")
        ours = bench.timed(f"select sum(hash({call}, mask, seq, key)) from {source}") - empty
        by_sql = bench.timed(f"select sum(hash({other}, mask, seq, key)) from {source}") - empty
        bench.measured(f"function: {name}", ours, by_sql, f"{rows / ours / 1e6:.1f} M rows/s; the other is SQL's own")


Check = Callable[[], None]
Added = tuple[str, str, Callable[[int], str] | None]


def _batches(bench: Bench, table: str, models: Sequence[Added], log: str, check: Check) -> None:
    """Timely batches, the median of them, and one in which one change in ten is late."""
    found: dict[str, list[float]] = {}
    hand: dict[str, list[float]] = {}
    names = [f"dedup_bench__{table}", *(name for _, name, _ in models)]
    partial = table == "partial"
    for batch in range(2, 2 + bench.batches):
        first = bench.changes + (batch - 2) * bench.batch_size
        bench.land(table, batch, first, first + bench.batch_size, partial=partial)
        bounds = bench.bounds(batch, table)
        hand.setdefault("log", []).append(bench.timed(by_hand.add_to_log(f"{RAW}.{table}", log, batch, *bounds)))
        for name, seconds in bench.dbt(*names).items():
            found.setdefault(name, []).append(seconds)
        for kind, _, statement in models:
            if statement is not None:
                hand.setdefault(kind, []).append(bench.timed(statement(batch)))
    check()
    for kind, name in [("log", names[0]), *((kind, name) for kind, name, _ in models)]:
        other = statistics.median(hand[kind]) if kind in hand else None
        bench.measured(f"{table} batch: {kind}", statistics.median(found[name]), other)
    first = bench.changes + bench.batches * bench.batch_size
    bench.land(table, 2 + bench.batches, first, first + bench.batch_size, partial=partial, late=0.1)
    kinds = {name: kind for kind, name, _ in models} | {names[0]: "log"}
    for name, seconds in bench.dbt(*names).items():
        kind = kinds[name]
        timely = statistics.median(found[name])
        bench.measured(
            f"{table} batch, one change in ten late: {kind}", seconds, timely, "the other is the timely batch"
        )


def _raw_to_state(bench: Bench, what: str, table: str, state: str, count: int, hand: float) -> None:
    """Log and state of a table, built whole, beside the state by hand; `count` raw records, for the rate."""
    log, current = f"dedup_bench__{table}", f"current_bench__{table}"
    ours = bench.dbt(f"stg_bench__{table}", log, current, full_refresh=True)
    _assert_state(bench, what, table, state)
    seconds = ours[log] + ours[current]
    rate = f"{count / seconds / 1000:.0f} thousand records/s, by hand {count / hand / 1000:.0f}"
    bench.measured(f"{what}: raw to state", seconds, hand, rate)
    bench.measured(f"{what}: log", ours[log])


def _assert_state(bench: Bench, what: str, table: str, state: str) -> None:
    found = bench.fingerprint(f"{OURS}.current_bench__{table}")
    bench.assert_equal(f"{what}: state", found, bench.fingerprint(state, where="not is_deleted"))


def _assert_history(bench: Bench, what: str, history: str) -> None:
    found = bench.fingerprint(f"{OURS}.history_bench__full", [*COLUMNS, "_valid_from_seq", "_valid_to_seq"])
    other = bench.fingerprint(history, [*COLUMNS, "valid_from_seq", "valid_to_seq"], "not is_deleted")
    bench.assert_equal(f"{what}: history", found, other)


def _assert_auto_cdc(bench: Bench, engine: AutoCdc, shape: str, tables: Mapping[str, str]) -> None:
    versions = {"_valid_from_seq": "__START_AT", "_valid_to_seq": "__END_AT"}
    for kind, further in (("current", {}), ("history", versions)):
        theirs = ", ".join([*COLUMNS, *further.values()])
        hashed = f"count(*), cast(sum(cast(xxhash64({theirs}) as decimal(38, 0))) as string)"
        ((count, total),) = engine.sql(f"select {hashed} from lake.bench.{tables[kind]}")
        found = bench.fingerprint(f"{OURS}.{kind}_bench__full", [*COLUMNS, *further])
        bench.assert_equal(f"AUTO CDC, {shape}: {kind}", found, (count, Decimal(total)))


def _duckdb_state(bench: Bench) -> float:
    result = FOLDER / "duckdb.parquet"
    with duckdb.connect() as connection:
        start = time.perf_counter()
        connection.execute(by_hand.duckdb_state_of(f"{bench.location('full')}/*.parquet"))
        seconds = time.perf_counter() - start
        connection.execute(f"copy state to '{result}' (format parquet)")
    bench.assert_equal(
        "DuckDB's state",
        bench.fingerprint(f"parquet.`{result}`"),
        bench.fingerprint(f"{OURS}.current_bench__full"),
    )
    return seconds


SCENARIOS: dict[str, Callable[[Bench], None]] = {
    "full": full_images,
    "partial": partial_images,
    "wide": ten_times_the_keys,
    "nothing_new": nothing_new,
    "moves": moves,
    "messages": messages,
    "trail": trail,
    "events": events,
    "cdc": cdc,
    "functions": functions,
    "auto_cdc": auto_cdc,
}
WARM_UP_BY = ("full", "partial", "messages", "trail", "events", "cdc", "auto_cdc")
"""What runs small before the clock does; the first two also for the others."""
ONLY_WHEN_ASKED = ("auto_cdc",)
"""What needs an environment of its own, some hundred megabytes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--changes", type=int, default=5_000_000, help="changes of the full load")
    parser.add_argument("--keys", type=int, default=500_000, help="keys of the table")
    parser.add_argument("--batch-size", type=int, default=50_000, help="changes of a batch")
    parser.add_argument("--batches", type=int, default=3, help="timely batches; their median counts")
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="only these; default all but auto_cdc")
    parser.add_argument(
        "--table-format", nargs="+", choices=TABLE_FORMATS, default=["delta"], help="of both sides; of two in turn"
    )
    options = parser.parse_args(arguments)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    try:
        runs = {table_format: _run(options, table_format) for table_format in options.table_format}
    except (BenchmarkError, AutoCdcError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    for table_format, (figures, _) in runs.items():
        print(f"\non {table_format.title()}\n{table_of(figures)}")
    results = {
        "machine": next(machine for _, machine in runs.values()),
        "options": vars(options),
        "figures": [asdict(f) | {"ratio": f.ratio} for figures, _ in runs.values() for f in figures],
    }
    (FOLDER / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    print(f"\nkept in {(FOLDER / 'results.json').relative_to(HERE.parent)}")
    return 0


def _run(options: argparse.Namespace, table_format: str) -> tuple[list[Figure], dict[str, Any]]:
    wanted = options.scenario or [name for name in SCENARIOS if name not in ONLY_WHEN_ASKED]
    with ExitStack() as stack:
        # as users have it, not the short-lived one of the tests
        folder, told = FOLDER / f"server_{table_format}", ["--table-format", table_format]
        server = stack.enter_context(local_server(folder, conf={}, options=told))
        sizes = (options.changes, options.keys, options.batch_size, options.batches)
        bench = Bench(server, *sizes, table_format=table_format)
        install(table_format)
        make_schemas(bench)
        warm_up = Bench(server, WARM_UP, WARM_UP // 10, WARM_UP // 10, 1, is_heard=False, table_format=table_format)
        if "auto_cdc" in wanted:
            bench.auto_cdc = warm_up.auto_cdc = stack.enter_context(closing(AutoCdc()))
        for name in WARM_UP_BY:
            if name in wanted or (name in ("full", "partial") and not set(wanted) <= {*WARM_UP_BY}):
                SCENARIOS[name](warm_up)
        make_schemas(bench)
        for name in wanted:
            SCENARIOS[name](bench)
        return bench.figures, machine_of(server)


if __name__ == "__main__":
    sys.exit(main())
