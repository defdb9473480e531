"""What `make cost` reads and how it adds up, without a server."""

from __future__ import annotations

import os
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.cost import AROUND, BY_HAND, HERE, WHOLE, Cost, Ledger, kind_of, summed, table_of
from benchmarks.plans import DELTA_LOG, executed, steps_of
from benchmarks.processes import Meter, Process, Usage, parse_stat, read_usage, usage_of

TICKS = os.sysconf("SC_CLK_TCK")


def stat(pid: int, parent: int, name: str, *ticks: int) -> str:
    return f"{pid} ({name}) S {parent} 1 1 0 -1 4194560 9 0 0 0 {' '.join(map(str, ticks))} 20 0 1 0 100 5 6"


@pytest.mark.parametrize("name", ["java", "a b", "odd) S 9 (name", ""])
def test_a_process_is_read_whatever_its_name(name: str) -> None:
    found = parse_stat(stat(12, 7, name, 3 * TICKS, TICKS, 2 * TICKS, 5 * TICKS))
    assert found == Process(12, 7, name, 4.0, 7.0)


def test_workers_are_counted_apart_from_the_server_also_when_they_have_ended() -> None:
    processes = [
        Process(1, 0, "init", 99.0, 99.0),
        Process(5, 1, "python", 1.0, 50.0),  # what the server's process has started and seen end is no worker
        Process(6, 5, "java", 10.0, 0.5),
        Process(7, 6, "python", 0.25, 2.0),
        Process(8, 7, "python", 4.0, 0.0),
        Process(9, 1, "python", 3.0, 8.0),
        Process(10, 9, "java", 70.0, 70.0),
    ]
    assert usage_of(processes, server=5, client=9) == Usage(11.0, 6.75, 3.0)
    assert usage_of([], server=5, client=9) == Usage()


def test_what_a_worker_used_stays_counted_when_it_ends() -> None:
    readings = iter(Usage(server, workers) for server, workers in ((1, 5), (2, 1), (2, 2), (3, 0.5), (3, 4)))
    meter = Meter(5, lambda _: next(readings))
    assert [meter.used() for _ in range(5)] == [Usage(1, 5), Usage(2, 5), Usage(2, 6), Usage(3, 6), Usage(3, 9.5)]


def test_this_process_is_found() -> None:
    assert read_usage(os.getpid()).client > 0


@pytest.mark.parametrize(
    ("resource_type", "name", "kind"),
    [
        ("model", "stg_shop__orders", "staging view"),
        ("model", "rejected_changes", "health view"),
        ("model", "unclaimed_qlik_kafka", "health view"),
        ("model", "documents", "other"),
        ("test", "change_tables_one_row_per_key_current_shop__orders_id", "data test"),
        ("seed", "reason_codes", "seed"),
        ("operation", "change_tables-on-run-start-0", "other"),
    ],
)
def test_nodes_have_kinds(resource_type: str, name: str, kind: str) -> None:
    assert kind_of(resource_type, name) == kind


def event(name: str, node: str = "") -> Any:
    info = SimpleNamespace(resource_type="model", node_name=node)
    return SimpleNamespace(info=SimpleNamespace(name=name), data=SimpleNamespace(node_info=info))


def test_what_is_used_between_start_and_end_is_the_node_s_and_the_rest_is_around() -> None:
    readings = iter(Usage(server=float(seconds)) for seconds in (0, 1, 5, 6, 8, 11))
    ledger = Ledger(HERE, "first build", lambda: next(readings))
    ledger.count_statement()
    for name, node, statements in (
        ("NodeStart", "dedup_a", 3),
        ("SQLQuery", "dedup_a", 0),
        ("NodeFinished", "dedup_a", 0),
        ("NodeStart", "current_a", 2),
        ("NodeFinished", "current_a", 1),
    ):
        ledger.hear(event(name, node))
        for _ in range(statements):
            ledger.count_statement()
    assert [(cost.kind, cost.usage.total, cost.statements) for cost in ledger.end()] == [
        ("log", 4.0, 3),
        ("current", 2.0, 2),
        (AROUND, 5.0, 2),
    ]


def cost(side: str, kind: str, seconds: float, statements: int, shape: str = "first build") -> Cost:
    return Cost(side, shape, kind, kind, Usage(seconds, seconds / 2, 0.0), statements)


def test_a_line_is_the_mean_of_its_nodes_and_the_whole_is_that_of_runs() -> None:
    costs = [cost(HERE, kind, *told) for kind, told in (("current", (6.0, 4)), ("log", (2.0, 10)), ("log", (4.0, 13)))]
    costs += [cost(HERE, AROUND, 2.0, 3), cost(HERE, AROUND, 0.0, 1)]  # two runs
    lines = summed(costs)
    assert [(line.kind, line.nodes, line.statements, line.usage.server) for line in lines] == [
        ("log", 2, 11.5, 3.0),
        ("current", 1, 4.0, 6.0),
        (AROUND, 2, 2.0, 1.0),
        (WHOLE, 2, 15.5, 7.0),
    ]


def test_the_table_has_the_same_by_hand_and_of_another_commit_beside() -> None:
    other = "abc1234"
    costs = [cost(HERE, "log", 4.0, 13), cost(BY_HAND, "log", 2.0, 1), cost(other, "log", 8.0, 20)]
    costs += [cost(HERE, "staging view", 1.0, 2, "nothing new")]
    lines = table_of(summed(costs), other).splitlines()
    assert [line.split() for line in lines if line.startswith("first build: log")] == [
        ["first", "build:", "log", "1", "13.0", "4.00", "2.00", "0.00", "6.00", "3.00", "2.00", "20.0", "12.00", "0.50"]
    ]
    assert ["nothing", "new:", "staging", "view", "1", "2.0", "1.00", "0.50", "0.00", "1.50"] in [
        line.split() for line in lines
    ]
    assert other not in table_of(summed(costs))


def test_a_whole_run_has_no_whole_beside_it_where_a_kind_is_not_done_by_hand() -> None:
    both = [cost(HERE, "log", 4.0, 13), cost(HERE, "current", 4.0, 4), cost(BY_HAND, "log", 2.0, 1)]
    whole = next(line for line in table_of(summed(both)).splitlines() if WHOLE in line)
    assert whole.split()[-1] == "12.00"
    both.append(cost(BY_HAND, "current", 2.0, 1))
    whole = next(line for line in table_of(summed(both)).splitlines() if WHOLE in line)
    assert whole.split()[-3:] == ["12.00", "6.00", "2.00"]


def test_the_whole_by_hand_is_the_mean_of_as_many_runs_as_were_beside_it() -> None:
    runs = [cost(side, kind, 2.0, 1) for side, kind in ((HERE, "log"), (HERE, AROUND), (BY_HAND, "log")) * 2]
    wholes = {line.side: line.usage.server for line in summed(runs) if line.kind == WHOLE}
    assert wholes == {HERE: 4.0, BY_HAND: 2.0}


def test_scans_are_shown_where_they_were_counted() -> None:
    costs = [replace(cost(HERE, "log", 4.0, 13), scans=scans, scans_of_log=2) for scans in (3, 6)]
    lines = table_of(summed([*costs, cost(BY_HAND, "log", 2.0, 1)])).splitlines()
    told = next(line for line in lines if line.startswith("first build: log"))
    assert told.split()[4:] == ["13.0", "4.5", "2.0", "4.00", "2.00", "0.00", "6.00", "3.00", "2.00"]


def started(number: int, description: str, plan: Any, root: int | None = None) -> dict[str, Any]:
    return {
        "Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart",
        "executionId": number,
        "rootExecutionId": number if root is None else root,
        "description": description,
        "sparkPlanInfo": plan,
    }


def plan(name: str, *children: Any, **metadata: str) -> dict[str, Any]:
    return {"nodeName": name, "children": list(children), "metadata": metadata}


def test_the_scans_of_a_statement_are_those_of_the_plans_that_ran_in_it() -> None:
    raw = plan("Scan parquet spark_catalog.raw.orders")
    log = plan("Scan ExistingRDD Delta Table State #1 - file:/lake/orders/_delta_log")
    update = {
        "Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate",
        "executionId": 7,
        "sparkPlanInfo": plan("AdaptiveSparkPlan", plan("Union", raw, raw)),
    }
    events = [
        started(5, '/* {"node_id": "model.shop.dedup_orders"} */ merge', plan("Execute MergeIntoCommand")),
        started(6, "Delta: filtering", plan("Project", log), root=5),
        started(7, "Delta: merge", plan("AdaptiveSparkPlan", plan("Union", raw, raw, raw)), root=5),
        update,
        started(8, "select 1", plan("Project", plan("Scan OneRowRelation"))),
    ]
    merge, select = executed(events)
    assert (merge.node, dict(merge.scans)) == ("dedup_orders", {DELTA_LOG: 1, "spark_catalog.raw.orders": 2})
    assert (select.node, dict(select.scans)) == ("", {})


TWICE = "select * from a join a on true"


@pytest.mark.parametrize(
    ("statement", "steps"),
    [
        ("select 1", {}),
        ("with a as (select 1) select * from a", {"a": 1}),
        (f"with a as (select 1), b as ({TWICE}) select * from b, (select * from b)", {"a": 4, "b": 2}),
        ("with a as (select '(from a)' from a.b /* from a */) -- from a\nselect * from a", {"a": 1}),
        ("with a as (select if((x), max(y), 1)) select 1 where exists (select 1 from a)", {"a": 1}),
        ("with a as (select 1), b as (select 1) select * from a", {"a": 1, "b": 0}),
        (f"merge into t using (with r as (with a as (select 1) {TWICE}) select * from r)", {"r": 1, "a": 2}),
    ],
)
def test_a_step_is_in_a_plan_as_often_as_it_is_read(statement: str, steps: dict[str, int]) -> None:
    assert steps_of(statement) == steps
