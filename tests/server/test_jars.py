"""What the resolver of the jars says when it fails, and what it leaves in the folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from change_tables.server.jars import (
    COORDINATES,
    POSTGRESQL,
    JarsError,
    artifact_of,
    iceberg_jars,
    postgresql_jars,
    resolve_jars,
    resolved_jars,
)
from tests.pipelines.consumer import REPOSITORY


@pytest.mark.parametrize(
    ("jar", "artifact"),
    [
        ("delta-spark_4.1_2.13-4.4.0.jar", "delta-spark_4.1_2.13"),
        ("hadoop-client-api-3.4.2.jar", "hadoop-client-api"),
        ("jackson-datatype-jdk8-2.13.5.jar", "jackson-datatype-jdk8"),
        ("jsr305-3.0.0.jar", "jsr305"),
        ("listenablefuture-9999.0-empty-to-avoid-conflict-with-guava.jar", "listenablefuture"),
    ],
)
def test_an_artifact_is_a_jar_s_name_without_its_version(jar: str, artifact: str) -> None:
    assert artifact_of(jar) == artifact


def test_a_complete_folder_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "resolved.txt").write_text("\n".join(COORDINATES))
    (tmp_path / "delta.jar").touch()
    assert not resolve_jars(tmp_path)
    assert resolved_jars(tmp_path) == [tmp_path / "delta.jar"]


def test_jars_of_other_versions_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "resolved.txt").write_text("io.delta:delta-spark_4.1_2.13:1.0.0")
    with pytest.raises(JarsError, match=r"run `python -m change_tables jars`"):
        resolved_jars(tmp_path)


def test_without_postgresql_s_driver_or_iceberg_it_is_said_how_to_fetch_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHANGE_TABLES_JARS", str(tmp_path))
    with pytest.raises(JarsError, match=r"are not in .*/postgresql: run `python -m change_tables jars --postgresql`$"):
        postgresql_jars()
    with pytest.raises(JarsError, match=r"are not in .*/iceberg: run `python -m change_tables jars --iceberg`$"):
        iceberg_jars()
    (tmp_path / "postgresql").mkdir()
    (tmp_path / "postgresql" / "resolved.txt").write_text(POSTGRESQL[0])
    (tmp_path / "postgresql" / "postgresql.jar").touch()
    assert postgresql_jars() == [tmp_path / "postgresql" / "postgresql.jar"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JarsError, match=r"cannot write the jars to .*/file/jars: .*CHANGE_TABLES_JARS"):
        resolve_jars(tmp_path / "file" / "jars")


def test_without_java_nothing_is_resolved_and_nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(JarsError, match=r"no Java at .*: install Java 17 or 21"):
        resolve_jars(tmp_path / "jars")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("given", "options"), [((), ""), (("FORMAT=delta",), ""), (("FORMAT=iceberg",), " --iceberg")])
def test_make_fetches_the_jars_of_the_format_that_it_is_given(given: tuple[str, ...], options: str) -> None:
    told = subprocess.run(
        ["make", "--dry-run", "demo", *given], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert f"change_tables jars --quiet{options}\n" in told.stdout
