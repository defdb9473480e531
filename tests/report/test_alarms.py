"""The examples of docs/alarms.md: the script, run with a dbt and a webhook that are made up, and the rules."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from change_tables.report.findings import KINDS, Thresholds, findings_of
from change_tables.report.metrics import as_metrics
from change_tables.report.texts import as_json
from tests.pipelines.consumer import REPOSITORY
from tests.report.report_facts import made_up_facts

# the script is for machines that have curl; the project does not need it, so a machine without runs the other tests
NEEDS_CURL = pytest.mark.skipif(shutil.which("curl") is None, reason="the example calls curl, which is not on the PATH")
PAGE = (REPOSITORY / "docs" / "alarms.md").read_text()

COMMAND = f"""#!{sys.executable}
import os, sys
sys.path.insert(0, {str(REPOSITORY)!r})
from tests.report.test_report import report_of
sys.exit(report_of(os.environ["SERVED"], sys.argv[2:]))
"""
DBT = """#!/bin/sh
echo "$@" > dbt_was_asked
mkdir -p target && echo '{"results": []}' > target/run_results.json
echo "what dbt says"
exit $BUILT
"""


def example(language: str) -> str:
    """The first example of the page in a language."""
    (found, *_) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


@dataclass
class Webhook:
    """What a webhook has got."""

    address: str = ""
    received: list[tuple[str, Any]] = field(default_factory=list)


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    """One on this machine."""
    hook = Webhook()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the library asks for this name
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hook.received.append((self.headers["Content-Type"], json.loads(body)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hook.address = f"http://127.0.0.1:{server.server_port}/alarm"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield hook
    server.shutdown()
    server.server_close()


def run_script(folder: Path, webhook: str, served: str, built: int) -> subprocess.CompletedProcess[str]:
    """The script of the page, where a server has such facts and dbt ends with such a code."""
    programs = folder / "programs"
    programs.mkdir()
    for name, text in (("change-tables", COMMAND), ("dbt", DBT)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (folder / "metrics").mkdir()
    (folder / "script").write_text(example("bash"))
    variables = {"REPORTS": str(folder / "reports"), "TEXTFILES": str(folder / "metrics"), "WEBHOOK": webhook}
    variables |= {"SERVED": served, "BUILT": str(built), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "script"], cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False
    )


@NEEDS_CURL
@pytest.mark.parametrize(
    ("served", "built", "code", "state"),
    [
        ("nothing to do", 0, 0, None),
        ("nothing to do", 1, 1, "ok"),  # a test failed: the webhook gets a report all the same
        ("much to do", 0, 1, "act"),
        ("no server", 0, 1, "act"),
    ],
)
def test_the_script_raises_the_alarm_where_the_build_fails_or_a_person_is_needed(
    tmp_path: Path, webhook: Webhook, served: str, built: int, code: int, state: str | None
) -> None:
    done = run_script(tmp_path, webhook.address, served, built)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")
    assert (tmp_path / "dbt_was_asked").read_text() == "build --store-failures\n"
    assert [(kind, report["state"]) for kind, report in webhook.received] == (
        [("application/json", state)] if state else []
    )
    metrics = [path.name for path in (tmp_path / "metrics").iterdir()]
    if served == "no server":
        assert metrics == []
        assert webhook.received[0][1]["not_read"] == ["there is no report: see to_do.txt"]
        assert (tmp_path / "reports/to_do.txt").read_text().startswith("change_tables: nothing answers on ")
    else:
        assert metrics == ["change_tables.prom"]
        assert (tmp_path / "reports/report.html").read_text().startswith("<!doctype html>")


@NEEDS_CURL
def test_the_script_prints_what_is_to_be_done_where_the_webhook_is_gone(tmp_path: Path) -> None:
    done = run_script(tmp_path, "http://127.0.0.1:1/", "much to do", 0)
    assert done.returncode == 1
    assert done.stdout.startswith("act: ")


def test_the_rules_are_about_metrics_that_are_there_and_the_page_has_them_all() -> None:
    facts = made_up_facts(tables=10, runs=2)
    text = as_metrics(facts, findings_of(facts, Thresholds()))
    there = set(re.findall(r"^# TYPE (\w+) gauge$", text, re.MULTILINE))
    rules = yaml.safe_load(example("yaml"))["groups"][0]["rules"]
    asked = {name for rule in rules for name in re.findall(r"change_tables_\w+", rule["expr"])}
    assert len(rules) == 3
    assert asked <= there
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `change_tables_")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == there


def test_the_page_has_the_keys_of_the_json_and_the_page_of_the_report_the_kinds() -> None:
    facts = made_up_facts(tables=10, runs=2)
    keys = set(as_json(facts, [], Thresholds())) - {"thresholds", "remedies"}
    section = PAGE.split("## A webhook", 1)[1].split("\n## ", 1)[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == keys
    report = (REPOSITORY / "docs" / "report.md").read_text()
    section = report.split("## What to do next", 1)[1].split("\n## ", 1)[0]
    states = [row.split("|")[2].strip() for row in section.splitlines() if row.startswith("| ")][1:]
    assert states.count("`act`") == sum(state == "act" for state in KINDS.values()) - 1
    defaults = dict(re.findall(r"`--([a-z]+-[a-z]+) ([\d.]+)`", section))
    assert {name.replace("-", "_"): float(value) for name, value in defaults.items()} == vars(Thresholds())
