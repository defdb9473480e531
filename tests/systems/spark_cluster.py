"""A real Spark cluster on this machine: a standalone master and workers, processes with folders of their own."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyspark

from tests.systems.kafka_broker import free_port

WORKERS = 2
ENVIRONMENT = "environment"
"""The folder in a worker's own folder that has Python and its libraries."""

_PATIENCE = 90.0  # seconds for master and workers to know each other
_MEMORY = "192m"  # of the master and of each worker, which only pass on who does what
_SPARK = Path(pyspark.__file__).parent
_LIBRARIES = ("fastavro", "lxml", "numpy", "pandas", "pyarrow")
_NOT_NEEDED = ("tests", "include")  # folders of libraries, a third of their files


class ClusterStartError(Exception):
    """The cluster does not start; the message is one line that says where to look."""


@dataclass(frozen=True)
class SparkCluster:
    """A running cluster.

    Attributes:
        master: its URL
        conf_folder: what `SPARK_CONF_DIR` must be for an application to be let in
        workers: their processes, by their folders
    """

    master: str
    conf_folder: Path
    workers: Mapping[Path, subprocess.Popen[bytes]]

    def kill(self, worker: Path) -> None:
        """Ends a worker and what it has started, at once, as if its machine had gone."""
        os.killpg(self.workers[worker].pid, signal.SIGKILL)
        self.workers[worker].wait()


@contextmanager
def spark_cluster(folder: Path) -> Iterator[SparkCluster]:
    """Starts a master and workers, to which only those talk who have their secret; stops them when the block ends.

    Args:
        folder: of their settings, their logs and what they are sent; made new

    Raises:
        ClusterStartError: the master does not answer, or does not get its workers.
    """
    conf_folder = folder / "conf"
    conf_folder.mkdir(parents=True)
    settings = conf_folder / "spark-defaults.conf"
    settings.touch(mode=0o600)
    settings.write_text(f"spark.authenticate true\nspark.authenticate.secret {secrets.token_hex(32)}\n")
    port, page = free_port(), free_port()
    master = f"spark://127.0.0.1:{port}"
    processes: list[subprocess.Popen[bytes]] = []
    try:
        arguments = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)]
        processes.append(_daemon(conf_folder, folder / "master", "master.Master", *arguments))
        workers = {}
        for name in (f"worker_{number}" for number in range(1, WORKERS + 1)):
            arguments = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g"]
            arguments += ["--work-dir", str(folder / name / "work"), master]
            workers[folder / name] = _daemon(conf_folder, folder / name, "worker.Worker", *arguments)
        processes += workers.values()
        _wait_for_workers(page, folder)
        yield SparkCluster(master, conf_folder, workers)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def _daemon(conf_folder: Path, folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    (folder / "tmp").mkdir(parents=True)
    with (folder / "log").open("w") as log:
        return subprocess.Popen(
            [str(_SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=_without_python(os.environ)
            | {
                "SPARK_HOME": str(_SPARK),
                "SPARK_CONF_DIR": str(conf_folder),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_LOCAL_DIRS": str(folder / "tmp"),
                "SPARK_DAEMON_MEMORY": _MEMORY,
                "SPARK_DAEMON_JAVA_OPTS": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={folder / 'tmp'}",
            },
            start_new_session=True,  # so that it can be ended with all that it has started
        )


def _without_python(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what leads to this process's Python and its libraries."""
    kept = {name: value for name, value in environment.items() if not name.startswith(("PYTHON", "PYSPARK", "VIRTUAL"))}
    own = str(Path(sys.executable).parent)
    path = [each for each in kept.get("PATH", "").split(os.pathsep) if each != own]
    return kept | {"PATH": os.pathsep.join(path)}


def _wait_for_workers(page: int, folder: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            with urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as answer:
                state: Any = json.load(answer)
        except OSError:
            state = {}
        if state.get("aliveworkers") == WORKERS:
            return
        time.sleep(0.2)
    raise ClusterStartError(f"the Spark master did not get {WORKERS} workers: see {folder}/*/log")


def packed_environment(folder: Path) -> Path:
    """Packs what the workers need of Python, in the versions of the lock: an archive for `spark.archives`.

    uv makes environments that can be moved. Spark is on the workers already, and takes most of the room of ours.

    Args:
        folder: of the archive; made new

    Raises:
        CalledProcessError: the libraries cannot be had.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    project, uv = Path(__file__).resolve().parents[2], str(Path(sys.executable).with_name("uv"))
    environment, archive = folder / ENVIRONMENT, folder / f"{ENVIRONMENT}.tar.gz"
    left_out = [f"--exclude={name}" for name in _NOT_NEEDED]
    install = ["pip", "install", "--quiet", "--python", str(environment)]
    for command in (
        [uv, "venv", "--quiet", "--relocatable", "--python", sys.executable, str(environment)],
        [uv, *install, "--constraints", str(project / "requirements.txt"), *_LIBRARIES],
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        [uv, *install, "--no-deps", "--no-index", "--find-links", str(folder), "change-tables"],
        # a plain .tar is unpacked by Java, which refuses the link to Python
        ["tar", "--use-compress-program=gzip -1", *left_out, "-cf", str(archive), "-C", str(environment), "."],
    ):
        subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    shutil.rmtree(environment)
    return archive
