"""The report from made-up facts: what is to be done, the page, the JSON, the metrics, and how files are written."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_prometheus_text

from change_tables.cli.main import main
from change_tables.report import command
from change_tables.report.facts import (
    ORPHAN,
    Facts,
    Kept,
    Node,
    Run,
    Sample,
    TableFacts,
    news_of,
    read_run_results,
    reasons,
    remedy_of,
)
from change_tables.report.findings import ACT, KINDS, OK, WATCH, Finding, Thresholds, findings_of, states_of
from change_tables.report.metrics import as_metrics
from change_tables.report.page import as_page
from change_tables.report.reading import ReadingError, Rows, Wish, read_facts
from change_tables.report.table_formats import table_format_of
from change_tables.report.texts import as_json, write_whole
from tests.report.report_facts import ATTACK, NOW, made_up_facts

PLAIN = made_up_facts(tables=8, runs=3)
HEALTHY = replace(PLAIN.tables[1], kept=(), runs=PLAIN.tables[0].runs[:-1])
"""A table of which there is nothing to say."""


def with_run(**changed: Any) -> TableFacts:
    """The healthy table with another last run."""
    return replace(HEALTHY, runs=(*HEALTHY.runs[:-1], replace(HEALTHY.last_run, **changed)))


def with_kept(status: str, code: str, age: timedelta) -> TableFacts:
    return replace(HEALTHY, kept=(Kept(status, code, 4, NOW - age),))


def hours(count: float) -> timedelta:
    return timedelta(hours=count)


def found_in(*tables: TableFacts, nodes: tuple[Node, ...] = (), not_read: tuple[str, ...] = ()) -> list[Finding]:
    return findings_of(Facts(NOW, tables, nodes, not_read), Thresholds())


NOTHING_USED = {"accepted": 0, "merged": 0, "ignored": 0, "new_changes": 0}
FRESH = replace(HEALTHY, log="a.fresh")

CASES: dict[str, tuple[TableFacts, list[str], str]] = {
    "nothing": (HEALTHY, [], ""),
    "a run under way": (with_run(seconds=None, started_at=NOW - hours(1)), [], ""),
    "a run that died": (with_run(seconds=None, started_at=NOW - hours(9)), ["run_died"], "began 9 h ago"),
    "everything rejected": (
        with_run(**NOTHING_USED, raw_rows=None, rejected=5, codes={"rejected: key_missing": 4, "rejected: x": 1}),
        ["all_rejected"],
        "5 rows: key_missing",
    ),
    "a share": (with_run(raw_rows=1000, rejected=11, kept_rejected=11), ["rejected_share"], "1.1 %"),
    "a share of a run that counts nothing apart": (
        with_run(raw_rows=None, accepted=None, merged=None, ignored=None, new_changes=9, rejected=1),
        ["rejected_share"],
        "10 %",
    ),
    "a small share": (with_run(raw_rows=1000, rejected=10), [], ""),
    "rows of an earlier run": (with_run(kept_rejected=1), ["rejected_kept"], "1 row could not be used and is kept"),
    "rows of several codes": (
        with_run(raw_rows=9, rejected=3, codes={"rejected: key_missing": 2, "rejected: x": 1}),
        ["rejected_share"],
        "33 % of the last run was rejected, 3 of 9 rows: key_missing 2, x 1",
    ),
    "changes that need a look": (
        with_kept("reported", "conflicting_content", hours(1)),
        ["reported"],
        "4 changes need a look: conflicting_content",
    ),
    "acknowledged rows": (
        replace(
            with_run(raw_rows=10, rejected=5, kept_rejected=5, codes={"rejected: key_missing": 5}),
            kept=tuple(
                Kept(status, code, 0, acknowledged=5)
                for status, code in (
                    ("rejected", "key_missing"),
                    ("waiting", "transaction_open"),
                    ("reported", ORPHAN),
                    ("reported", "conflicting_content"),
                )
            ),
        ),
        [],
        "",
    ),
    "rows that are rejected beside acknowledged ones": (
        replace(
            with_run(raw_rows=100, rejected=5, kept_rejected=9, codes={"rejected: key_missing": 5}),
            kept=(Kept("rejected", "key_missing", 2, NOW, acknowledged=3), Kept("rejected", "x", 4, NOW)),
        ),
        ["rejected_share", "rejected_kept"],
        "",
    ),
    "rows that wait": (with_kept("waiting", "transaction_open", hours(23)), [], ""),
    "rows that wait long": (with_kept("waiting", "transaction_open", hours(25)), ["waiting_long"], "25 h"),
    "rows that wait long and were not read": (
        with_run(kept_waiting=2, waiting_since=NOW - hours(50), codes={"waiting: schema_missing": 2}),
        ["waiting_long"],
        "2.1 days: schema_missing",
    ),
    "updates without their base": (with_kept("reported", "orphan", hours(2)), ["orphans"], "4 updates"),
    "old updates without their base": (with_kept("reported", "orphan", hours(25)), ["orphans_long"], "25 h ago"),
    "a time that is ahead": (with_run(last_changed_at=NOW + hours(2)), ["time_ahead"], "2 h ahead"),
    "a lag": (with_run(started_at=NOW, last_changed_at=NOW - hours(7)), ["lag"], "7 h"),
    "a feed without times": (
        replace(HEALTHY, runs=tuple(replace(run, last_changed_at=None) for run in HEALTHY.runs)),
        [],
        "",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_finding_says_what_is_wrong_and_what_to_do(name: str) -> None:
    table, kinds, words = CASES[name]
    found = found_in(replace(table, log="a.table"), FRESH)
    assert [finding.kind for finding in found] == kinds
    for finding in found:
        assert (finding.log, finding.subject) == ("a.table", "a.table")
        assert words in finding.what
        assert finding.remedy.endswith(".")


def test_what_is_the_same_for_several_tables_is_one_finding_with_their_sum() -> None:
    tables = [
        replace(with_kept("waiting", code, hours(age)), log=f"a.{name}")
        for name, code, age in (("x", "schema_missing", 30), ("y", "schema_missing", 50), ("z", "transaction_open", 40))
    ]
    tables += [
        replace(
            with_run(raw_rows=100 * (place + 1), rejected=50, codes={"rejected: key_missing": 50}), log=f"a.r{place}"
        )
        for place in range(2)
    ]
    facts = Facts(NOW, tuple(tables))
    found = findings_of(facts, Thresholds())
    assert [(each.kind, each.subject, each.logs, each.log) for each in found] == [
        ("rejected_share", "2 tables", ("a.r0", "a.r1"), ""),
        ("waiting_long", "2 tables", ("a.y", "a.x"), ""),
        ("waiting_long", "a.z", ("a.z",), "a.z"),
    ]
    assert found[0].what == "up to 50 % of the last run was rejected in 2 tables, 100 of 300 rows: key_missing"
    assert found[1].what == "8 rows in 2 tables wait, the oldest for 2.1 days: schema_missing"
    assert found[1].place == "2 tables (a.y, a.x)"
    assert set(states_of(facts, found).values()) == {ACT}


def test_nodes_that_failed_with_one_message_and_sizes_that_are_not_read_are_one_finding_each() -> None:
    nodes = tuple(Node(f"stg_{name}", "model", "error", 1.0, "no such schema") for name in "abcde")
    (failed,) = found_in(HEALTHY, nodes=nodes)
    assert failed.subject == "5 nodes (stg_a, stg_b, stg_c and 2 more)"
    assert failed.paste == ("dbt build --select stg_a stg_b stg_c stg_d stg_e",)
    facts = made_up_facts(tables=4, runs=1)

    def answer(statement: str) -> Rows:
        if statement.startswith("describe detail"):
            raise ReadingError(f"denied: {statement.removeprefix('describe detail ')}")
        return answers(facts)(statement)

    logs = sorted(table.log for table in facts.tables)
    assert read_facts(answer, Wish("analytics"), NOW).not_read == (
        f"size of {', '.join(logs[:3])} and 1 more: denied: …",
    )


def test_each_finding_has_something_to_paste_whose_names_are_quoted_where_they_must_be() -> None:
    facts = made_up_facts(tables=12, runs=3)
    found = findings_of(replace(facts, not_read=("size of a.b: denied",)), Thresholds())
    assert {each.kind for each in found} >= {"failed_node", "run_died", "orphans", "reported", "not_read"}
    for each in found:
        assert each.paste, each.kind
    (conflicts,) = (each for each in found if each.kind == "reported")
    log = conflicts.log
    source, table = log.removeprefix("analytics.dedup_").split("__")
    assert conflicts.paste == (
        f"select _change_id, detail from {log}__reports where code = 'conflicting_content' limit 20;",
        f"change-tables acknowledge {table} --source {source} --code conflicting_content --note '…'",
    )
    odd = replace(with_kept("waiting", "transaction_open", hours(25)), log="my lake.dedup-a", table_name="it's")
    (waiting,) = found_in(odd)
    assert waiting.paste == (
        "select _status_reason, _raw_row from `my lake`.`dedup-a__quarantine` where _status = 'waiting'"
        " and _healed_at is null and _status_reason like 'transaction_open:%' limit 20;",
        f"change-tables acknowledge 'it'\"'\"'s' --source {odd.source_name} --code transaction_open --note '…'",
    )


def test_a_run_that_reads_everything_has_as_rows_what_is_news_in_it() -> None:
    def run(kind: str, kept: int, **given: Any) -> Run:
        return Run(
            "b", NOW, kind, raw_rows=900, rejected=kept, kept_rejected=kept, codes={"rejected: x": kept}, **given
        )

    first, same, more = run("first", 5), run("everything", 5, new_changes=1), run("everything", 7, revised_changes=3)
    assert news_of(first, None) == first
    assert first.rows == 900
    assert (news_of(same, first).rows, news_of(same, first).codes) == (1, {})
    assert (news_of(more, same).rows, news_of(more, same).codes) == (5, {"rejected: x": 2})
    assert news_of(more, run("since", 6)).rejected == 1
    whole = replace(HEALTHY, runs=tuple(news_of(each, before) for before, each in ((None, first), (first, same))))
    assert [each.kind for each in found_in(whole)] == ["rejected_kept"]


def test_a_remedy_is_that_of_the_reason_code() -> None:
    (finding,) = found_in(with_run(raw_rows=10, rejected=5, codes={"rejected: key_missing": 5}))
    assert finding.remedy == reasons()["key_missing"].remedy
    assert "does not know this code" in remedy_of("no_such_code")


def old(table: TableFacts, age: timedelta, log: str) -> TableFacts:
    runs = tuple(replace(run, started_at=NOW - age, last_changed_at=NOW - age) for run in table.runs)
    return replace(table, log=log, runs=runs)


def test_a_source_that_stopped_is_one_finding_and_a_table_that_is_old_is_one_to_watch() -> None:
    week = [old(HEALTHY, hours(200), f"a.table_{place}") for place in range(3)]
    stopped = found_in(*week)
    assert [(finding.kind, finding.subject) for finding in stopped] == [("feed_stopped", HEALTHY.source_name)]
    assert "none of its 3 tables has a change of the last 8.3 days" in stopped[0].what
    assert [(finding.kind, finding.log) for finding in found_in(*week[:1], FRESH)] == [("table_old", "a.table_0")]


def test_a_late_change_does_not_make_a_table_old() -> None:
    late = replace(HEALTHY.last_run, started_at=NOW, last_changed_at=NOW - hours(300), kind="everything")
    assert found_in(replace(HEALTHY, runs=(*HEALTHY.runs, late))) == []


def test_nodes_of_dbt_that_failed_or_are_slow_and_what_could_not_be_read_are_findings() -> None:
    nodes = (
        Node("history_a", "model", "success", 900.0),
        Node("current_a", "model", "success", 700.0),
        Node("one_row", "test", "fail", 1.0, "Got 2 results"),
    )
    found = found_in(HEALTHY, nodes=nodes, not_read=("size of a.b: denied",))
    assert [(finding.kind, finding.subject) for finding in found] == [
        ("failed_node", "one_row"),
        ("slow_node", "history_a"),
        ("not_read", "report"),
    ]
    assert "15 min; 2 took longer" in found[1].what


def test_findings_come_by_state_then_by_kind_then_by_weight_and_a_table_has_the_worst_state() -> None:
    tables = [replace(table, log=f"a.{name}") for name, (table, _, _) in CASES.items()]
    facts = Facts(NOW, tuple(tables))
    found = findings_of(facts, Thresholds())
    order = list(KINDS)
    assert [order.index(each.kind) for each in found] == sorted(order.index(each.kind) for each in found)
    assert [each.state for each in found] == sorted(each.state for each in found)
    waiting = [each.weight for each in found if each.kind == "waiting_long"]
    assert waiting == sorted(waiting, reverse=True)
    states = states_of(facts, found)
    assert (states["a.nothing"], states["a.a lag"], states["a.a share"]) == (OK, WATCH, ACT)


def test_the_remedies_are_those_of_the_seed() -> None:
    seed = (Path(__file__).parents[2] / "seeds/reference/reason_codes.csv").read_text().splitlines()[1:]
    assert set(reasons()) == {line.partition(",")[0] for line in seed}


def test_the_results_of_a_run_of_dbt_are_read_slowest_first(tmp_path: Path) -> None:
    file = tmp_path / "run_results.json"
    results = [
        {"unique_id": "model.shop.dedup_a", "status": "success", "execution_time": 1.5, "message": None},
        {"unique_id": "test.shop.one_row.0a1b", "status": "error", "execution_time": 2, "message": "no\n  way"},
    ]
    file.write_text(json.dumps({"results": results}))
    assert read_run_results(file) == (
        Node("one_row.0a1b", "test", "error", 2.0, "no way"),
        Node("dedup_a", "model", "success", 1.5),
    )
    file.write_text("{}")
    with pytest.raises(ValueError, match=r"is no run_results\.json of dbt"):
        read_run_results(file)


class Elements(HTMLParser):
    """The elements of a page, the texts of its scripts, and all other text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.names and self.names[-1] == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
            self.text += data


def page_of(facts: Facts) -> str:
    thresholds = Thresholds()
    return as_page(as_json(facts, findings_of(facts, thresholds), thresholds))


def test_texts_that_would_be_markup_stay_texts() -> None:
    page = page_of(made_up_facts(tables=8, runs=2, attack=True))
    elements = Elements(page)
    harmless = Elements(page_of(made_up_facts(tables=8, runs=2)))
    assert elements.names.count("script") == 3
    assert "img" not in elements.names
    assert not [each for each in elements.attributes if each[1].startswith("on")]
    assert set(elements.names) == set(harmless.names)
    assert ATTACK in elements.text
    assert json.loads(elements.scripts[0])["tables"][-1]["log"] != ""
    kept = [table for table in json.loads(elements.scripts[0])["tables"] if ATTACK in table["log"]]
    assert kept[0]["kept"][0]["samples"][0]["detail"] == f"code: {ATTACK}"


def test_the_page_forbids_all_but_its_own_scripts_and_names_nothing_that_would_be_fetched() -> None:
    elements = Elements(page_of(PLAIN))
    ((policy,),) = [
        [value for tag, name, value in elements.attributes if (tag, name) == ("meta", "content") and "-src" in value]
    ]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    hashes = {base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in elements.scripts[1:]}
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == hashes
    assert "connect-src" not in policy
    fetched = [value for _, name, value in elements.attributes if name in ("src", "href", "srcset", "action")]
    assert {value for value in fetched if not value.startswith("#")} == {"data:,"}


def test_the_page_can_be_read_by_a_screen_reader() -> None:
    page = page_of(PLAIN)
    elements = Elements(page)
    assert {"header", "main", "footer", "search", "form"} <= set(elements.names)
    assert elements.names.count("th") == page.count('scope="col"') + page.count('scope="row"')
    assert elements.names.count("table") == elements.names.count("caption")
    labelled = {value for _, name, value in elements.attributes if name in ("aria-labelledby", "aria-controls")}
    assert labelled <= {value for _, name, value in elements.attributes if name == "id"}
    assert ("html", "lang", "en") in elements.attributes


def test_the_page_of_200_tables_is_no_longer_than_three_million_bytes() -> None:
    assert len(page_of(made_up_facts(tables=200)).encode()) < 3_000_000


def test_the_worst_tables_are_first_on_the_page() -> None:
    page = page_of(made_up_facts(tables=40, runs=2))
    states = re.findall(r'<tbody data-log="[^"]*" data-state="(\w+)"', page)
    assert list(dict.fromkeys(states)) == [ACT, WATCH, OK]
    assert states == sorted(states, key=[ACT, WATCH, OK].index)


def test_the_json_has_all_facts_and_can_be_read_again() -> None:
    facts = made_up_facts(tables=8, runs=2, attack=True)
    found = findings_of(facts, Thresholds())
    read = json.loads(json.dumps(as_json(facts, found, Thresholds())))
    assert (read["form"], read["state"], read["made_at"]) == (1, "act", "2026-01-31T06:00:00+00:00")
    assert [each["kind"] for each in read["to_do"]] == [finding.kind for finding in found]
    assert [table["log"] for table in read["tables"]] == [table.log for table in facts.tables]
    assert sum(read["tables_by_state"].values()) == 8
    assert read["tables"][-1]["kept"][0]["code"] == ATTACK


def test_the_metrics_are_the_same_in_openmetrics_and_in_prometheus_text() -> None:
    facts = made_up_facts(tables=12, runs=2, attack=True)
    text = as_metrics(facts, findings_of(facts, Thresholds()))
    assert text.endswith("\n# EOF\n")
    openmetrics, prometheus = (
        {
            (sample.name, frozenset(sample.labels.items())): (sample.value, sample.timestamp)
            for family in read(text)
            for sample in family.samples
        }
        for read in (_openmetrics, read_prometheus_text)
    )
    assert openmetrics == prometheus
    assert len(openmetrics) == sum(1 for line in text.splitlines() if not line.startswith("#"))
    assert {timestamp for _, timestamp in openmetrics.values()} == {None}  # node exporter refuses a file with one
    table = facts.tables[-1]
    labels = {"log": table.log, "source": ATTACK, "table": ATTACK}
    assert openmetrics["change_tables_kept_rows", frozenset((labels | {"status": "rejected"}).items())][0] == 3
    began = openmetrics["change_tables_last_run_time_seconds", frozenset(labels.items())][0]
    assert began == table.last_run.started_at.timestamp()
    acting = sum(value for (name, _), (value, _) in openmetrics.items() if name == "change_tables_needs_action")
    assert acting == openmetrics["change_tables_tables", frozenset({("state", "act")})][0] > 0


def _openmetrics(text: str) -> Iterable[Metric]:
    found: Iterable[Metric] = read_openmetrics(text)  # type: ignore[no-untyped-call]  # it has no types
    return found


def test_a_file_is_whole_or_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "new" / "report.prom"
    write_whole(file, "one\n")
    mask = os.umask(0)
    os.umask(mask)
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("one\n", 0o666 & ~mask)
    seen: list[list[str]] = []

    def refuse(self: Path, _: Path) -> None:
        seen.append([self.name, self.read_text()])
        raise OSError("no")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="no"):
        write_whole(file, "two\n")
    assert file.read_text() == "one\n"
    assert [each.name for each in file.parent.iterdir()] == ["report.prom"]
    ((name, text),) = seen
    assert text == "two\n"
    assert not name.endswith(".prom")


def answers(facts: Facts, refused: str = "", said: list[str] | None = None) -> Callable[[str], Rows]:
    """A server with the runs of these facts, whose logs keep what they say. Statements with `refused` fail."""

    def micros(time: datetime | None) -> int | None:
        return None if time is None else round(time.timestamp() * 1e6)

    def answer(statement: str) -> Rows:
        if said is not None:
            said.append(statement)
        if refused and refused in statement:
            raise ReadingError("denied")
        if "change_table_runs" in statement:
            return [
                vars(run)
                | {"log": table.log, "source_name": table.source_name, "table_name": table.table_name}
                | {"run_kind": run.kind, "codes": json.dumps(run.codes), "reports": json.dumps(run.reports)}
                | {"has_reported": any(each.reports for each in table.runs)}
                | {name: micros(getattr(run, name)) for name in ("started_at", "last_changed_at", "waiting_since")}
                for table in facts.tables
                for run in table.runs
            ]
        if statement.startswith("show table extended"):
            return [
                {"tableName": f"{table.log.rpartition('.')[2]}__reports", "information": "View Text: 'orphan' as code"}
                for table in facts.tables
                if any(kept.code == "orphan" for kept in table.kept)
            ]
        if statement.startswith("set "):
            return [{"value": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}]
        if statement.startswith("describe detail"):
            return [{"sizeInBytes": 10, "numFiles": 2}]
        if statement.startswith("show tables"):
            return [{"tableName": "change_table_acknowledgements"}]
        wanted = "__reports" if "__reports" in statement else "__quarantine"
        logs = re.findall(rf"from `(\w+)`\.`(\w+){wanted}`", statement)
        return [
            {"_place": place, "_status": kept.status, "code": kept.code, "detail": sample.detail}
            | {"raw_row": sample.raw_row, "_open_rows": sample.rows, "all_rows": kept.rows}
            | {"acknowledged_rows": kept.acknowledged, "oldest": f"{kept.since:%Y%m%dT%H%M%S}000000_0a1b2c3d"}
            | {"younger_0": 0, "younger_1": min(kept.rows, 1), "younger_2": min(kept.rows, 1)}
            for place, (schema, name) in enumerate(logs)
            for table in facts.tables
            if table.log == f"{schema}.{name}"
            for kept in table.kept
            if (kept.status == "reported") == (wanted == "__reports")
            for sample in kept.samples or (Sample("", "", 0),)
        ]

    return answer


def test_what_is_read_is_what_the_server_has() -> None:
    facts = replace(made_up_facts(tables=10, runs=3), nodes=())
    read = read_facts(answers(facts), Wish("analytics"), NOW)
    assert [table.runs for table in read.tables] == [table.runs for table in sorted(facts.tables, key=lambda t: t.log)]
    kept = {table.log: table.kept for table in facts.tables}
    for table in read.tables:
        assert [(each.status, each.code, each.rows, each.samples) for each in table.kept] == [
            (each.status, each.code, each.rows, each.samples) for each in kept[table.log]
        ]
        assert [each.acknowledged for each in table.kept] == [each.acknowledged for each in kept[table.log]]
        for each in table.kept:
            assert each.by_age == ({"under a day": 1, "older": each.rows - 1} if each.rows else {})
        assert table.size is not None
    assert read.not_read == ()


def test_the_text_by_which_a_view_lists_updates_without_their_base_is_that_of_the_macro() -> None:
    assert f"'{ORPHAN}' as code" in (Path(__file__).parents[2] / "macros/log/reports.sql").read_text()


def test_200_tables_cost_a_few_statements_and_one_more_each_for_sizes() -> None:
    facts, said = made_up_facts(tables=200, runs=2), list[str]()
    rejecting = sum(bool(table.last_run.kept_rejected or table.last_run.kept_waiting) for table in facts.tables)
    read_facts(answers(facts, said=said), Wish("analytics", sizes=False), NOW)
    assert 0 < rejecting < 20
    # runs, what is acknowledged, kept rows, texts of views, reported changes, those of the log that lists orphans
    assert len(said) == 6
    said.clear()
    read_facts(answers(facts, said=said), Wish("analytics"), NOW)
    assert len(said) == 206


def test_a_log_that_cannot_be_read_does_not_hide_the_others() -> None:
    facts = made_up_facts(tables=10, runs=2)
    broken = next(table.log for table in facts.tables if table.last_run.kept_rejected)
    name = broken.rpartition(".")[2]
    read = read_facts(answers(facts, refused=f"`{name}__"), Wish("analytics"), NOW)
    assert set(read.not_read) == {f"rejected and waiting rows of {broken}: denied", f"size of {broken}: denied"}
    assert [table.log for table in read.tables if table.kept] == sorted(
        table.log for table in facts.tables if table.kept and table.log != broken
    )


class _Clock(datetime):
    """One that stands still."""

    @classmethod
    def now(cls, _: Any = None) -> Any:
        return NOW


def test_tables_of_iceberg_are_asked_by_its_own_statements() -> None:
    told: dict[str, Rows] = {
        "set spark.sql.catalog.spark_catalog": [{"value": "org.apache.iceberg.spark.SparkCatalog"}],
        "show views in `analytics` like '*__reports'": [{"viewName": "dedup_shop__orders__reports"}],
        "show create table `analytics`.`dedup_shop__orders__reports`": [{"createtab_stmt": "select 'orphan' as code"}],
        "select sum(file_size_in_bytes) as bytes, count(*) as number from `a`.`b`.files": [{"bytes": 10, "number": 2}],
    }
    of_iceberg = table_format_of(told.__getitem__)
    assert of_iceberg.row_id == "_row_hash"
    texts = of_iceberg.texts_of_views(told.__getitem__, "analytics", "*__reports")
    assert list(texts) == [("dedup_shop__orders__reports", "select 'orphan' as code")]
    assert of_iceberg.size(told.__getitem__, "`a`.`b`") == (10, 2)


def serve(monkeypatch: pytest.MonkeyPatch, facts: Facts, refused: str = "") -> None:
    """Let the command find a server with facts, at the time of the facts."""

    class Session:
        def __init__(self, _: Any) -> None:
            self.query = answers(facts, refused)

        def close(self) -> None: ...

    monkeypatch.setattr(command, "Session", Session)
    monkeypatch.setattr(command, "datetime", _Clock)


def report_of(server: str, arguments: list[str]) -> int:
    """The exit code of the command on a server that has `nothing to do`, `much to do`, or is not there: `no server`."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        if server == "no server":
            return main(["report", "--port", "1", *arguments])
        serve(monkeypatch, Facts(NOW, (HEALTHY,)) if server == "nothing to do" else made_up_facts(tables=10, runs=2))
        return main(["report", *arguments])


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Lets the command find a server, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    return partial(serve, monkeypatch)


def test_the_command_writes_all_files_and_ends_with_1_only_where_that_is_asked_for(
    served: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    served(made_up_facts(tables=10, runs=2))
    files = ["--html", "a.html", "--json", "b/c.json", "--openmetrics", "d.prom"]
    assert main(["report", "--schema", "analytics", *files]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("act: analytics.dedup_")
    acts, watches = (sum(line.startswith(f"{state}: ") for line in lines) for state in (ACT, WATCH))
    assert lines[-1] == f"10 tables, {acts} things to do, {watches} to watch"
    assert acts + watches < sum(line.startswith("    ") for line in lines)  # each has something to paste
    assert Path("a.html").read_text().startswith("<!doctype html>")
    assert json.loads(Path("b/c.json").read_text())["state"] == "act"
    assert Path("d.prom").read_text().endswith("# EOF\n")
    assert main(["report", "--exit-code"]) == 1
    served(Facts(NOW, (HEALTHY,)))
    assert main(["report", "--exit-code"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 table, 0 things to do, 0 to watch"


def test_thresholds_come_from_options_and_from_the_file(served: Callable[..., None]) -> None:
    served(Facts(NOW, (with_run(raw_rows=1000, rejected=11),)))
    assert main(["report", "--exit-code"]) == 1
    assert main(["report", "--exit-code", "--rejected-share", "0.02"]) == 0
    Path("change_tables.toml").write_text("[report]\nrejected-share = 0.02\nexit-code = true\n".replace("-", "_"))
    assert main(["report"]) == 0
    Path("change_tables.toml").write_text("[report]\nrejected_share = true\n")
    assert main(["report"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--schema", "x"], "cannot read x.change_table_runs: denied; name it by --schema and --runs-table"),
        (["--run-results", "none.json"], "none.json: No such file or directory"),
    ],
)
def test_what_is_wrong_is_one_line(
    served: Callable[..., None], capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    served(PLAIN, refused="change_table_runs")
    assert main(["report", *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"change_tables: {said}")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "module", "library"),
    [("--html", "page", "vl_convert"), ("--openmetrics", "metrics", "prometheus_client")],
)
def test_a_library_that_is_missing_is_named_before_anything_is_read(
    served: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    option: str,
    module: str,
    library: str,
) -> None:
    served(PLAIN, refused="select")
    monkeypatch.delitem(sys.modules, f"change_tables.report.{module}")
    monkeypatch.setitem(sys.modules, library, None)
    assert main(["report", option, "file"]) == 1
    assert f"{library} is not here: pip install 'change-tables[report]'" in capsys.readouterr().err
