"""What the benchmark of growing tables counts, and the raw rows of one busy key."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.data import insert_changes
from benchmarks.processes import processes_below
from benchmarks.scale import Step, line_of, size_of


def test_the_size_of_a_folder_is_that_of_all_files_below_it(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/one").write_bytes(b"x" * 10)
    (tmp_path / "a/b/two").write_bytes(b"x" * 5)
    assert size_of(tmp_path) == 15
    assert size_of(tmp_path / "nowhere") == 0


def test_processes_below_are_those_that_it_has_started_and_itself() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        below = processes_below(os.getpid())
        child.communicate(b"\n")
    assert {os.getpid(), child.pid} <= set(below)
    assert os.getppid() not in below


def test_a_step_is_one_line_with_its_size() -> None:
    line = line_of(Step(5_000_000, "skewed", "batch: state", 1.5, 2.25, 3000, 40, 1200))
    assert line.split() == ["5,000,000", "skewed", "batch:", "state", "1.5", "2.2", "3,000", "40", "1,200"]


def test_changes_of_one_key_come_after_the_inserts() -> None:
    """As SQL: Spark makes the rows in the benchmark, which compares them with what the models show."""
    text = insert_changes("t", 1, 0, 100, keys=10, all_changes=100, of_one_key=30)
    assert "when id < 10 then id" in text
    assert "when id < 40 then 0" in text
