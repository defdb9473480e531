"""Where PostgreSQL cannot be run, or the libraries of a cluster not be had, it is said why, and the real run passes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from tests.systems import cluster, metastore, postgres, postgres_server
from tests.systems.postgres_server import NoPostgresError, find_postgres


def test_a_machine_without_postgresql_gets_an_error_that_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres_server, "_DEBIAN", tmp_path)
    with pytest.raises(NoPostgresError, match=r"^PostgreSQL is not installed here: no initdb, no postgres, no psql$"):
        find_postgres(tmp_path / "data")


def test_of_several_versions_beside_the_path_the_newest_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for version in ("9.6", "15", "16"):
        (tmp_path / version / "bin").mkdir(parents=True)
        for name in ("initdb", "postgres", "psql"):
            (tmp_path / version / "bin" / name).touch()
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(postgres_server, "_DEBIAN", tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    programs = find_postgres(tmp_path / "data")
    assert {programs.initdb, programs.postgres, programs.psql} == {
        str(tmp_path / "16" / "bin" / name) for name in ("initdb", "postgres", "psql")
    }
    assert programs.user is None


def test_root_gets_an_error_that_names_the_folder_another_user_may_not_enter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("initdb", "postgres", "psql"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(NoPostgresError, match=r"^PostgreSQL does not run as root, and user \w+ may not enter ") as told:
        find_postgres(closed / "data")
    # the first on the way there; further up, the folder of the tests may be closed as well
    folder = Path(str(told.value).rpartition(" ")[2])
    assert closed.is_relative_to(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("real", [postgres, metastore])
def test_a_real_run_that_cannot_be_made_passes_as_such(
    real: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres_server, "_DEBIAN", tmp_path)
    assert real.main() == 3
    name = real.__name__.rpartition(".")[2]
    assert capsys.readouterr().err.startswith(f"demo-{name}: not run: PostgreSQL is not installed here")


def test_a_real_run_on_a_cluster_passes_where_the_libraries_of_its_workers_cannot_be_had(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: Path) -> Path:
        raise subprocess.CalledProcessError(1, "uv", stderr="error: Failed to fetch\n  no network\n")

    monkeypatch.setattr(cluster, "packed_environment", fail)
    assert cluster.main() == 3
    assert capsys.readouterr().err == "demo-cluster: not run: no environment for the workers: no network\n"
