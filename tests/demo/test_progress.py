"""What runs is named all the time, on a terminal and elsewhere."""

from __future__ import annotations

import io
import re
import time

import pytest
from dbt.events.types import ConcurrencyLine, NodeFinished, NodeStart
from dbt_common.events.base_types import BaseEvent, msg_from_base_event

from demo.progress import Progress
from demo.project import follow
from demo.run import FEEDS, main


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _wait_for(stream: io.StringIO, pattern: str) -> None:
    until = time.monotonic() + 10
    while not re.search(pattern, stream.getvalue()):
        assert time.monotonic() < until, stream.getvalue()
        time.sleep(0.01)


def test_without_a_terminal_what_runs_is_said_again_and_again() -> None:
    stream = io.StringIO()
    with Progress(stream, each=0.02) as progress, progress.phase("batch 1: building", 4):
        with progress.step("first"):
            _wait_for(stream, r"(?s)(batch 1: building, 0 of 4 done: first\n.*){2}")
        with progress.step("second"), progress.step("third"), progress.step("fourth"):
            _wait_for(stream, r"1 of 4 done: second, third and 1 more\n")
        progress.say("built")
    assert re.search(r"^ +0\.\d s  built$", stream.getvalue(), re.MULTILINE)
    assert "\x1b" not in stream.getvalue()


def test_without_a_terminal_a_phase_is_said_when_it_begins_and_nothing_between_phases() -> None:
    stream = io.StringIO()
    with Progress(stream, each=0.01) as progress:
        with progress.phase("one"):
            assert re.match(r" +0\.\d s    one\n", stream.getvalue())
        said = stream.getvalue()
        time.sleep(0.05)
    assert stream.getvalue() == said


def test_on_a_terminal_a_bar_names_what_runs_and_lines_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream = _Terminal()
    with Progress(stream) as progress, progress.phase("batch 1: building", 4):
        with progress.step("first"):
            _wait_for(stream, r"batch 1: building .*0 of 4  first")
        with progress.step("second"):
            _wait_for(stream, r"1 of 4  second")
            progress.say("a line")
    assert re.search(r" 0\.\d s  a line", stream.getvalue())


def test_the_nodes_of_dbt_are_steps() -> None:
    stream = io.StringIO()

    def fire(progress: Progress, event: BaseEvent) -> None:
        follow(progress, msg_from_base_event(event))

    with Progress(stream, each=0.02) as progress, progress.phase("building"):
        fire(progress, ConcurrencyLine(num_threads=4, target_name="local", node_count=2))
        for name in ("stg_orders", "dedup_orders"):
            fire(progress, NodeStart(node_info={"node_name": name}))
        fire(progress, NodeFinished(node_info={"node_name": "stg_orders"}))
        _wait_for(stream, r"building, 1 of 2 done: dedup_orders\n")


def test_a_feed_that_is_not_there_is_refused_in_one_line_with_those_that_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--feed", "qlik"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"demo: there is no feed 'qlik'; FEED is {FEEDS}\n"
