"""The real run on Spark's own Thrift server: what it says and returns, without a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from change_tables.server.jars import JarsError
from change_tables.server.local_server import LocalServer
from tests.systems import stock_server
from tests.systems.stock_server import SAID


@contextmanager
def _without_server(folder: Path) -> Iterator[LocalServer]:
    yield LocalServer("127.0.0.1", 1, folder)


@contextmanager
def _without_jars(_: Path) -> Iterator[LocalServer]:
    raise JarsError("no jars in there: run change-tables jars")
    yield


@pytest.fixture(autouse=True)
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stock_server, "FOLDER", tmp_path / "demo")
    monkeypatch.setattr(stock_server, "stock_server", _without_server)


def test_where_the_jars_cannot_be_had_it_is_not_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stock_server, "stock_server", _without_jars)
    assert stock_server.main() == 3
    assert capsys.readouterr().err == "demo-stock-server: not run: no jars in there: run change-tables jars\n"


@pytest.mark.parametrize(
    ("is_equal", "said", "code"),
    [
        (True, f"change_tables: {SAID}: …", 0),
        (False, f"change_tables: {SAID}: …", 1),
        (True, "", 1),
        (True, "[UNRESOLVED_ROUTINE]", 1),
    ],
)
def test_it_passes_where_all_is_equal_and_the_other_feed_is_refused_by_our_line(
    monkeypatch: pytest.MonkeyPatch, is_equal: bool, said: str, code: int
) -> None:
    monkeypatch.setattr(stock_server, "run_demo", lambda *_, **__: is_equal)
    monkeypatch.setattr(stock_server, "refusal", lambda _: said)
    assert stock_server.main() == code
