"""The archive of a server's classes: which one it is, and when it is made. `test_thrift_server`: servers take it."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from change_tables.server import class_archive as module
from change_tables.server.class_archive import class_archive, make_class_archive
from change_tables.server.jars import JarsError
from change_tables.server.local_server import LocalServerError


@pytest.fixture
def jars(tmp_path: Path) -> list[Path]:
    """Two jars, in a folder that is gone afterwards."""
    found = [tmp_path / "delta.jar", tmp_path / "storage.jar"]
    for jar in found:
        jar.touch()
    return found


def test_another_java_or_another_jar_has_another_archive(jars: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    archive = class_archive(jars)
    assert class_archive(jars) == archive
    assert archive.parent == jars[0].parent
    os.utime(jars[1], (0, 0))
    of_changed_jar = class_archive(jars)
    monkeypatch.setattr(module, "check_java", lambda: "another Java")
    assert len({archive, of_changed_jar, class_archive(jars), class_archive(jars[:1])}) == 4


def test_without_java_it_is_said_what_to_install(jars: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(jars[0].parent))
    with pytest.raises(JarsError, match=r"no Java at .*: install Java"):
        make_class_archive(jars)


def test_one_that_is_there_is_left_as_it_is(jars: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "local_server", None)  # which would start one
    class_archive(jars).write_text("made before")
    assert not make_class_archive(jars)
    assert class_archive(jars).read_text() == "made before"


def test_one_that_cannot_be_made_leaves_none(jars: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def does_not_start(*_: object, **__: object) -> None:
        raise LocalServerError("no room")

    monkeypatch.setattr(module, "local_server", does_not_start)
    outdated = jars[0].with_name("classes-0123456789abcdef.jsa")
    outdated.touch()
    with pytest.raises(LocalServerError, match="no room"):
        make_class_archive(jars)
    assert sorted(jars[0].parent.iterdir()) == jars


def test_a_java_that_ends_before_it_has_written_one_is_named_as_the_reason(
    jars: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "local_server", MagicMock())
    with pytest.raises(LocalServerError, match="Java did not end in time; run this again"):
        make_class_archive(jars)
    assert sorted(jars[0].parent.iterdir()) == jars
