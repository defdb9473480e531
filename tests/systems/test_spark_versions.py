"""The real run on several versions of Spark: what it says and returns, and what the docs say, without a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from change_tables.server.local_server import LocalServer
from demo.project import PROJECT
from tests.systems import spark_versions
from tests.systems.environments import NoEnvironmentError, done
from tests.systems.spark_versions import CASES, SPARKS, TOO_OLD

PAGE = (PROJECT / "docs/servers.md").read_text()
KEPT = next(case for case in CASES if case.entry.name == "versions")


@contextmanager
def _without_server(folder: Path, *_: object) -> Iterator[LocalServer]:
    yield LocalServer("127.0.0.1", 1, folder)


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spark_versions, "FOLDER", tmp_path / "versions")
    monkeypatch.setattr(spark_versions, "stock_server", _without_server)
    monkeypatch.setattr(spark_versions, "spark_of", lambda *_: (tmp_path, []))


def test_where_a_spark_cannot_be_had_it_is_not_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unreachable(*_: object) -> Any:
        raise NoEnvironmentError("no network")

    monkeypatch.setattr(spark_versions, "spark_of", unreachable)
    assert spark_versions.main() == 3
    assert capsys.readouterr().err == "spark-versions: not run: no network\n"


def test_a_command_that_fails_is_told_by_its_last_line() -> None:
    with pytest.raises(NoEnvironmentError, match=r"^no such version$"):
        done("python3", "-c", "import sys; sys.exit('first\\nno such version')")


@pytest.mark.parametrize(("mistakes", "code"), [([], 0), (["truncated: …"], 1)])
def test_it_passes_where_no_version_has_a_mistake(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], mistakes: list[str], code: int
) -> None:
    for name in ("_mistakes", "_mistakes_of_refusal"):
        monkeypatch.setattr(spark_versions, name, lambda *_: mistakes)
    assert spark_versions.main() == code
    said = capsys.readouterr()
    assert said.out.count("are as the pages say") == (len(SPARKS) if code == 0 else 0)
    assert said.out.count("refuse it") == (len(TOO_OLD) if code == 0 else 0)
    assert said.err == "".join(f"spark-versions: Spark {next(iter(TOO_OLD))}: {line}\n" for line in mistakes)


def _differs(current: Any = None, versions: Any = None) -> int:
    right = [*KEPT.current, KEPT.current[-1]]
    return len([*spark_versions._mistakes_of_case(KEPT, current or right, versions or [*KEPT.current[-1]])])


def test_rows_that_differ_in_the_state_or_the_history_are_mistakes() -> None:
    assert _differs() == 0
    assert _differs(current=[set(), *KEPT.current]) == 1
    assert _differs(versions=[*KEPT.current[-1]] * 2) == 1


def test_both_feeds_have_a_log_a_state_and_a_history() -> None:
    assert {case.entry.change_table["format"] for case in CASES} == {"qlik_change_tables", "qlik_kafka"}
    assert all({"dedup", "current", "history"} <= set(case.entry.models) for case in CASES)


@pytest.mark.parametrize("version", [*SPARKS, *TOO_OLD])
def test_the_page_names_what_is_tried(version: str) -> None:
    delta = {**SPARKS, **TOO_OLD}[version][0].rpartition(":")[2]
    assert f"| {version} | {delta} | {'no' if version in TOO_OLD else 'yes'}" in PAGE
