"""The wheel as its users have it: in an empty environment of another Python, outside of the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive

from change_tables.server.local_server import short_lived
from tests.pipelines import consumer_project
from tests.pipelines.consumer import REPOSITORY
from tests.pipelines.landing import Raw

pytestmark = pytest.mark.slow

OTHERS = ("3.13", "3.12")
"""The Pythons that the wheel is tried in, the first that is there."""

FROM_SOURCE = ("pyhive[", "pyspark==", "thrift==")
"""Packages without wheels. By their hashes uv finds what it has built of them before; else it builds them each time."""

CONFIG = """
[server]
port = 0
warehouse = "tables"
conf = [{settings}]
"""
MASKS = "select decode_change_mask('0180', 'most_significant_first', 1) as ordinals\n"


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and a folder to work in that is not in the checkout."""

    environment: Path
    folder: Path

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables of whoever works there: nothing of the checkout's, but its jars, so that none are fetched."""
        of_the_checkout = ("PYTHON", "VIRTUAL_ENV", "DBT_", "CHANGE_TABLES_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(of_the_checkout)}
        path = os.pathsep.join([str(self.environment / "bin"), os.defpath, "/usr/local/bin"])
        return kept | {"PATH": path, "CHANGE_TABLES_JARS": str(REPOSITORY / ".build" / "jars")}

    def run(self, *command: str, exit_code: int = 0, **variables: str) -> str:
        """Run a command of the environment; what it prints. It must end with this code."""
        done = subprocess.run(
            [str(self.environment / "bin" / command[0]), *command[1:]],
            cwd=self.folder,
            env=dict(self.variables) | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == exit_code, done.stdout + done.stderr
        return done.stdout + done.stderr


def _other_python() -> Path:
    """Another Python than this one; this one, with a warning, where no other works."""
    for version in OTHERS:
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
        for python in (shutil.which(f"python{version}"), *pyenv.glob(f"versions/{version}.*/bin/python3")):
            if python is None:
                continue
            says = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
            done = subprocess.run([python, "-c", says], capture_output=True, text=True, check=False)
            if done.stdout.strip() == version:  # a shim of pyenv can be there, and not work
                return Path(python)
    warnings.warn(
        f"no Python {' or '.join(OTHERS)} is here: the wheel is installed in the one of the lock", stacklevel=1
    )
    return Path(sys.executable)


def _locked(names: tuple[str, ...], *, hashes: bool) -> str:
    """What the lock has for the packages whose names begin so, with or without their hashes."""
    kept = []
    is_wanted = False
    for line in (REPOSITORY / "requirements.txt").read_text().splitlines():
        if line[:1].isalnum():
            is_wanted = line.startswith(names)
        if is_wanted and (line[:1].isalnum() or (hashes and "--hash" in line)):
            kept.append(line if hashes else line.removesuffix("\\").rstrip())
    return "\n".join(kept)


def _built(target: str, source: Path, folder: Path) -> Path:
    """A wheel (`wheel`) or source distribution (`sdist`), in this folder."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (built,) = folder.glob("*.*")
    return built


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, built and installed with the versions of the lock."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = _built("wheel", REPOSITORY, folder)
    environment = folder / "environment"
    uv = [str(Path(sys.executable).parent / "uv"), "--quiet"]
    subprocess.run([*uv, "venv", "--python", str(_other_python()), str(environment)], check=True)
    install = [*uv, "pip", "install", "--python", str(environment / "bin" / "python")]
    (folder / "from_source.txt").write_text(_locked(FROM_SOURCE, hashes=True))
    (folder / "versions.txt").write_text(_locked(("",), hashes=False))
    subprocess.run([*install, "--no-deps", "--require-hashes", "-r", str(folder / "from_source.txt")], check=True)
    wanted = f"change-tables[dbt,report] @ {wheel.as_uri()}"
    subprocess.run([*install, "--constraints", str(folder / "versions.txt"), wanted], check=True)
    (folder / "work").mkdir()
    return Installed(environment, folder / "work")


@contextmanager
def _served(installed: Installed, settings: Sequence[str]) -> Iterator[int]:
    """The port of a server of the wheel, whose options are in a file."""
    quoted = ", ".join(f"'{setting}'" for setting in settings)
    (installed.folder / "change_tables.toml").write_text(CONFIG.format(settings=quoted))
    process = subprocess.Popen(
        [str(installed.environment / "bin" / "change-tables"), "server"],
        cwd=installed.folder,
        env=dict(installed.variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        assert line.startswith("ready: "), process.stderr.read()
        yield int(line.split()[1].rsplit(":", 1)[1])
    finally:
        process.terminate()
        process.wait()


def test_nothing_but_one_package_is_at_the_top_of_site_packages(installed: Installed) -> None:
    program = "import importlib.metadata as m; print(*{f.parts[0] for f in m.files('change-tables')})"
    tops = {top for top in installed.run("python", "-c", program).split() if not top.endswith(".dist-info")}
    assert tops == {"change_tables", ".."}  # the other is the command in bin/
    for name in ("udfs", "demo", "benchmarks", "docs", "tests"):
        assert f"No module named '{name}'" in installed.run("python", "-c", f"import {name}", exit_code=1)


def test_the_source_distribution_makes_the_same_wheel(tmp_path: Path) -> None:
    with tarfile.open(_built("sdist", REPOSITORY, tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    ours, theirs = (_built("wheel", of, tmp_path / name) for of, name in ((REPOSITORY, "ours"), (source, "theirs")))
    with zipfile.ZipFile(ours) as our_files, zipfile.ZipFile(theirs) as their_files:
        assert {name: our_files.read(name) for name in our_files.namelist()} == {
            name: their_files.read(name) for name in their_files.namelist()
        }


def test_every_module_of_the_wheel_can_be_imported_and_run(installed: Installed) -> None:
    program = """
import importlib, pkgutil, change_tables
for module in pkgutil.walk_packages(change_tables.__path__, "change_tables."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        print(module.name)
"""
    imported = installed.run("python", "-c", program).split()
    assert {"change_tables.udfs.registration", "change_tables.landing.trail_records"} <= set(imported)
    for module in ("", ".landing.trail_records", ".landing.kafka_records", ".server.local_server"):
        assert "--help" in installed.run("python", "-m", f"change_tables{module}", "--help")


def test_jars_that_are_not_there_are_looked_for_in_the_user_s_cache(installed: Installed) -> None:
    cache = installed.folder / "cache"
    said = installed.run("change-tables", "server", CHANGE_TABLES_JARS="", XDG_CACHE_HOME=str(cache), exit_code=1)
    assert f"are not in {cache}/change_tables/jars/delta-spark_4.1_2.13-4.4.0: run `change-tables jars`" in said


def test_a_project_is_built_on_a_server_of_the_wheel_and_uses_its_functions_in_views(installed: Installed) -> None:
    project = consumer_project.copied(installed.folder)
    (project / "models" / "decoded_masks.sql").write_text(MASKS)
    folders = ["--project-dir", str(project), "--profiles-dir", str(project)]
    with _served(installed, [f"{name}={value}" for name, value in short_lived(2).items()]) as port:
        connection: Any = hive.connect(host="127.0.0.1", port=port, auth="NONE")
        raw = Raw(connection)
        consumer_project.land(raw)
        installed.run("dbt", "--quiet", "deps", *folders)
        installed.run("dbt", "--quiet", "build", *folders, CHANGE_TABLES_PORT=str(port))
        assert raw.query("select order_id, status from consumer_project.current_shop__orders") == [(7, "paid")]
        assert raw.query("select ordinals from consumer_project.decoded_masks") == [("[8,9]",)]
        connection.close()
        assert "fault" not in installed.run("change-tables", "doctor", CHANGE_TABLES_PORT=str(port))
