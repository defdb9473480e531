"""Which code a real run is of, and that a run is left out while it has not changed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.systems import real_runs

FILES = {
    "tests/systems/__init__.py": "",
    "tests/systems/kafka.py": "from tests.systems.broker import start\nfrom change_tables.server import jars\n",
    "tests/systems/broker.py": "from demo.progress import Progress\n",
    "tests/systems/report.py": "import change_tables.server.local_server\n",
    "demo/progress.py": "",
    "change_tables/server/__init__.py": "",
    "change_tables/server/jars.py": "def f():\n    from .doors import g\n",
    "change_tables/server/doors.py": "",
    "change_tables/server/local_server.py": "",
    "change_tables/server/thrift_server.py": "",
    "requirements.txt": "pyspark==4.1.4\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository of a few modules."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("run", "code"),
    [
        ("kafka", ["systems/broker", "systems/kafka", "demo/progress", "server/doors", "server/jars"]),
        ("report", ["systems/report", "server/local_server", "server/thrift_server"]),
    ],
)
def test_the_code_of_a_run_is_all_that_it_imports_or_starts(root: Path, run: str, code: list[str]) -> None:
    rooms = {"systems": "tests/systems", "server": "change_tables/server", "demo": "demo"}
    places = (name.split("/") for name in ["systems/__init__", "server/__init__", *code])
    assert real_runs.code_of(run, root) == sorted(root / rooms[room] / f"{module}.py" for room, module in places)


@pytest.mark.parametrize(
    ("changed", "differ"),
    [
        ("change_tables/server/doors.py", {"kafka"}),
        ("demo/progress.py", {"kafka"}),
        ("change_tables/server/thrift_server.py", {"report"}),
        ("requirements.txt", {"kafka", "report"}),
    ],
)
def test_a_digest_changes_with_the_code_of_its_run_alone(root: Path, changed: str, differ: set[str]) -> None:
    before = {run: real_runs.digest_of(run, root) for run in ("kafka", "report")}
    (root / changed).write_text("# other\n")
    assert {run for run in before if real_runs.digest_of(run, root) != before[run]} == differ


def test_every_run_has_a_module_and_none_is_unknown() -> None:
    assert all(real_runs.ROOT / f"tests/systems/{run}.py" in real_runs.code_of(run) for run in real_runs.REAL_RUNS)
    assert set(real_runs.passed()) <= set(real_runs.REAL_RUNS)
    with pytest.raises(SystemExit):
        real_runs.main(["no_such_run"])


@pytest.mark.parametrize(("code", "held"), [(0, "now"), (1, "before"), (3, "before")])
def test_a_run_whose_code_has_changed_is_run_until_it_passes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str], code: int, held: str
) -> None:
    monkeypatch.setattr(real_runs, "PASSED", tmp_path / "passed.json")
    (tmp_path / "passed.json").write_text('{"report": "before"}')
    started: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        started.append(command)
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(subprocess, "run", run)
    for _ in range(2):
        assert real_runs.main(["report", "kafka", "--changed"]) == (code == 1)
    assert [command[-1] for command in started] == ["tests.systems.report"] * (1 if code == 0 else 2)
    digest = {"now": real_runs.digest_of("report"), "before": "before"}[held]
    assert json.loads((tmp_path / "passed.json").read_text()) == {"report": digest}
    said = capfd.readouterr().out
    assert said.count("not changed since it passed") == (1 if code == 0 else 0)
    assert said.count("not written down as passed") == 2


def test_what_runs_where_it_is_asked_for_is_not_run_for_its_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = "spark_versions"
    monkeypatch.setattr(real_runs, "PASSED", tmp_path / "passed.json")
    (tmp_path / "passed.json").write_text(json.dumps({run: "before"}))
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0))
    assert real_runs.main([run, "--changed"]) == 0
    assert real_runs.passed() == {run: "before"}
    assert capfd.readouterr().out == f"real run {run}: is run where it is asked for\n"
    assert real_runs.main([run]) == 0
    assert real_runs.passed() == {run: real_runs.digest_of(run)}


def test_a_run_that_is_asked_for_is_written_down_where_it_passes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(real_runs, "PASSED", tmp_path / "passed.json")
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0))
    assert real_runs.main(["report"]) == 0
    assert real_runs.passed() == {"report": real_runs.digest_of("report")}
