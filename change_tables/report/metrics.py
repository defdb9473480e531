"""The facts as metrics that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics.exposition import generate_latest

from .facts import Facts, TableFacts
from .findings import ACT, STATES, Finding, states_of


class _Collector:
    """What the metrics library asks for its metrics."""

    def __init__(self, facts: Facts, findings: list[Finding]) -> None:
        self._facts, self._findings = facts, findings

    def collect(self) -> Iterable[Metric]:
        """The metrics: gauges only, since both formats write these alike."""
        facts, findings = self._facts, self._findings
        states = states_of(facts, findings)
        yield GaugeMetricFamily(
            "change_tables_report_time_seconds", "When the report was made.", value=facts.made_at.timestamp()
        )
        tables = GaugeMetricFamily("change_tables_tables", "Tables by state.", labels=["state"])
        for state in STATES:
            tables.add_metric([state], sum(each == state for each in states.values()))
        yield tables
        kinds = GaugeMetricFamily("change_tables_findings", "Things to do by kind.", labels=["state", "kind"])
        for state, kind in sorted({(finding.state, finding.kind) for finding in findings}):
            kinds.add_metric([state, kind], sum(finding.kind == kind for finding in findings))
        yield kinds
        names = ["log", "source", "table"]
        for name, meaning, values in (
            ("needs_action", "Whether a person is needed, 0 or 1.", _needs_action(states)),
            ("last_run_time_seconds", "When the last run with news began.", _last_run_time),
            ("last_run_duration_seconds", "How long the last run took.", lambda table: table.last_run.seconds),
            ("last_change_time_seconds", "When the newest change was made at the source.", _last_change_time),
            ("lag_seconds", "From the newest change to the begin of its run.", lambda table: table.lag),
            ("waiting_since_time_seconds", "When the oldest row was met that waits.", _waiting_since),
            ("size_bytes", "Size of the table of the log.", lambda table: table.size and table.size.size_bytes),
            ("files", "Files of the table of the log.", lambda table: table.size and table.size.files),
        ):
            metric = GaugeMetricFamily(f"change_tables_{name}", meaning, labels=names)
            for table in facts.tables:
                if (value := values(table)) is not None:
                    metric.add_metric([table.log, table.source_name, table.table_name], value)
            yield metric
        rows = GaugeMetricFamily(
            "change_tables_last_run_rows", "Rows of the last run by status.", labels=[*names, "status"]
        )
        kept = GaugeMetricFamily(
            "change_tables_kept_rows", "Rows and changes that need a look.", labels=[*names, "status"]
        )
        for table in facts.tables:
            labels, run = [table.log, table.source_name, table.table_name], table.last_run
            for status in ("accepted", "merged", "ignored", "rejected", "waiting"):
                if (count := getattr(run, status)) is not None:
                    rows.add_metric([*labels, status], count)
            for status in ("rejected", "waiting", "reported"):
                kept.add_metric([*labels, status], table.kept_rows(status))
            kept.add_metric([*labels, "acknowledged"], table.acknowledged)
        yield from (rows, kept)


def _needs_action(states: Mapping[str, str]) -> Any:
    return lambda table: float(states[table.log] == ACT)


def _last_run_time(table: TableFacts) -> float:
    return table.last_run.started_at.timestamp()


def _last_change_time(table: TableFacts) -> float | None:
    return table.last_changed_at.timestamp() if table.last_changed_at else None


def _waiting_since(table: TableFacts) -> float | None:
    return table.waiting_since.timestamp() if table.waiting_since else None


def as_metrics(facts: Facts, findings: list[Finding]) -> str:
    """The metrics as OpenMetrics text that is Prometheus text as well: gauges alone, no timestamps, `# EOF` at the end.

    A reader of Prometheus text, such as the textfile collector of node exporter, takes the last line for a comment.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(facts, findings))
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]  # it has no types
    return text.decode()
