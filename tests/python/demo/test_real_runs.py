"""Which code a real run is of, and that a run is left out while it has not changed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from demo import real_runs

FILES = {
    "demo/__init__.py": "",
    "demo/kafka.py": "import json\nfrom demo.broker import start\nfrom udfs import jars\n",
    "demo/broker.py": "from .progress import Progress\n",
    "demo/progress.py": "",
    "demo/report.py": "import udfs.local_server\n",
    "udfs/__init__.py": "",
    "udfs/jars.py": "def f():\n    from .doors import g\n",
    "udfs/doors.py": "",
    "udfs/local_server.py": "",
    "udfs/thrift_server.py": "",
    "requirements.txt": "pyspark==4.1.4\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository of a few modules."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("run", "code"),
    [
        ("kafka", ["demo/broker", "demo/kafka", "demo/progress", "udfs/doors", "udfs/jars"]),
        ("report", ["demo/report", "udfs/local_server", "udfs/thrift_server"]),
    ],
)
def test_the_code_of_a_run_is_all_that_it_imports_or_starts(root: Path, run: str, code: list[str]) -> None:
    packages = ["demo/__init__", "udfs/__init__"]
    assert real_runs.code_of(run, root) == sorted(root / f"{name}.py" for name in [*packages, *code])


@pytest.mark.parametrize(
    ("changed", "differ"),
    [
        ("udfs/doors.py", {"kafka"}),
        ("demo/progress.py", {"kafka"}),
        ("udfs/thrift_server.py", {"report"}),
        ("requirements.txt", {"kafka", "report"}),
    ],
)
def test_a_digest_changes_with_the_code_of_its_run_alone(root: Path, changed: str, differ: set[str]) -> None:
    before = {run: real_runs.digest_of(run, root) for run in ("kafka", "report")}
    (root / changed).write_text("# other\n")
    assert {run for run in before if real_runs.digest_of(run, root) != before[run]} == differ


def test_every_run_has_a_module_and_none_is_unknown() -> None:
    assert all(real_runs.ROOT / f"demo/{run}.py" in real_runs.code_of(run) for run in real_runs.REAL_RUNS)
    assert set(real_runs.passed()) <= set(real_runs.REAL_RUNS)
    with pytest.raises(SystemExit):
        real_runs.main(["no_such_run"])


@pytest.mark.parametrize(("code", "passes"), [(0, True), (1, False), (3, False)])
def test_a_run_that_passed_is_left_out_until_its_code_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str], code: int, passes: bool
) -> None:
    monkeypatch.setattr(real_runs, "PASSED", tmp_path / "passed.json")
    started: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        started.append(command)
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(subprocess, "run", run)
    assert real_runs.main(["report", "--changed"]) == (code == 1)
    assert real_runs.main(["report", "--changed"]) == (code == 1)
    assert len(started) == (1 if passes else 2)
    held = json.loads((tmp_path / "passed.json").read_text()) if passes else {}
    assert held == ({"report": real_runs.digest_of("report")} if passes else {})
    assert ("has not changed" in capfd.readouterr().out) == passes
