"""Runs two feeds of the demo on a real Spark cluster: a standalone master and two workers, one of which is killed.

The workers have no Python libraries of their own: these are sent to them. Everything is under `.build/demo_cluster`,
which is deleted at the start and kept at the end.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from dbt_common.events.base_types import EventMsg

from change_tables.server.jars import JarsError, check_java, resolved_jars
from change_tables.server.local_server import SHORT_LIVED, LocalServerError, local_server
from demo.landing import Connection, fetch
from demo.progress import Progress
from demo.project import PROJECT, DbtError, DbtProject
from demo.run import models_of, play_batches
from demo.workload import Workload
from demo.writers import WRITERS
from tests.systems.cluster_server import WHERE_PYTHON_IS
from tests.systems.spark_cluster import ENVIRONMENT, ClusterStartError, SparkCluster, packed_environment, spark_cluster

FOLDER = PROJECT / ".build" / "demo_cluster"
ARCHIVE = PROJECT / ".build" / "cluster_environment"
FEEDS = ("idm_event_log", "qlik_kafka")
"""Feeds whose staging views call Python functions."""
TABLES = ("orders",)

_BATCH = 2  # in whose build a worker is killed
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SETTINGS = SHORT_LIVED | {
    "spark.driver.memory": "2g",
    "spark.driver.defaultJavaOptions": f"{_JAVA} -XX:ReservedCodeCacheSize=512m -Xms1g -XX:MetaspaceSize=512m",
    "spark.executor.memory": "640m",
    "spark.executor.defaultJavaOptions": f"{_JAVA} -XX:MetaspaceSize=256m",
    "spark.pyspark.python": f"./{ENVIRONMENT}/bin/python",
}


def main() -> int:
    """The command line; returns its exit code: 1 where anything differs, 3 where libraries or jars cannot be had."""
    try:
        check_java()
        resolved_jars()
        archive = packed_environment(ARCHIVE)
    except JarsError as failure:
        print(f"demo-cluster: not run: {failure}", file=sys.stderr)
        return 3
    except subprocess.CalledProcessError as failure:
        said = str(failure.stderr).strip().splitlines() or ["nothing"]
        print(f"demo-cluster: not run: no environment for the workers: {said[-1].strip()}", file=sys.stderr)
        return 3
    try:
        mistakes = run(FOLDER, archive)
    except (ClusterStartError, DbtError, LocalServerError) as failure:
        print(f"demo-cluster: {failure}", file=sys.stderr)
        return 1
    for mistake in mistakes:
        print(mistake)
    if not mistakes:
        print("Every model equals the source database after every batch, also after that in which a worker was killed.")
    return 1 if mistakes else 0


def run(folder: Path, archive: Path) -> list[str]:
    """Runs it in a folder, which is deleted first; what differs.

    Raises:
        ClusterStartError, DbtError, LocalServerError: something does not start, or a build fails.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    writers = [WRITERS[feed](1) for feed in FEEDS]
    workload = Workload(1, swaps=all(writer.swaps for writer in writers))
    with Progress() as progress, ExitStack() as stack:
        with progress.phase("starting", 3):
            with progress.step("dbt parse"):
                project = DbtProject(folder)
            with progress.step("Spark master and workers"):
                cluster = stack.enter_context(spark_cluster(folder / "cluster"))
            with progress.step("Spark Thrift server"):
                server = stack.enter_context(
                    local_server(
                        folder / "server",
                        _SETTINGS | {"spark.archives": f"{archive}#{ENVIRONMENT}"},
                        options=("--master", cluster.master),
                        variables={"SPARK_CONF_DIR": str(cluster.conf_folder)},
                        module="tests.systems.cluster_server",
                    )
                )
        progress.say(f"a Spark Thrift server runs on {cluster.master}, with {len(cluster.workers)} workers")
        with server.connect() as connection:
            mistakes = _mistakes_of_places(connection, list(cluster.workers))
        killer = _Killer(cluster, f"dedup_{FEEDS[0]}__{TABLES[0]}", progress)
        options = project.options_for([model for feed in FEEDS for model in models_of(feed, TABLES)])
        results, found = play_batches(project, server, writers, workload, TABLES, progress, options, killer.watch)
        mistakes += found + killer.mistakes()
    print(f"\n{results}\n")
    return mistakes


def _mistakes_of_places(connection: Connection, workers: Sequence[Path]) -> list[str]:
    """Whether Python runs in the folder of each worker, and nowhere else."""
    query = f"select distinct {WHERE_PYTHON_IS}(cast(id as int)) from range(0, 200, 1, 20)"
    places = sorted(Path(place) for (place,) in fetch(connection, query))
    print(*places, sep="\n")
    found = [
        f"Python runs in {place}, not in the folder of a worker"
        for place in places
        if _worker_of(place, workers) is None
    ]
    idle = set(workers) - {_worker_of(place, workers) for place in places}
    return found + [f"no Python runs in {worker}" for worker in sorted(idle)]


def _worker_of(place: Path, workers: Sequence[Path]) -> Path | None:
    return next((worker for worker in workers if place.is_relative_to(worker)), None)


class _Killer:
    """Kills a worker while a model is built."""

    def __init__(self, cluster: SparkCluster, model: str, progress: Progress) -> None:
        self._cluster = cluster
        self._model = model
        self._progress = progress
        self._running = threading.Event()
        self._killed_while_running = False
        self._timer: threading.Timer | None = None

    def watch(self, batch: int, event: EventMsg) -> None:
        """Takes an event of dbt's."""
        if batch != _BATCH or event.info.name not in ("NodeStart", "NodeFinished"):
            return
        if event.data.node_info.node_name != self._model:
            return
        if event.info.name == "NodeStart":
            self._running.set()
            self._timer = threading.Timer(1.0, self._kill)
            self._timer.start()
        else:
            self._running.clear()

    def _kill(self) -> None:
        worker = next(iter(self._cluster.workers))
        self._cluster.kill(worker)
        self._killed_while_running = self._running.is_set()
        self._progress.say(f"{worker.name} killed while {self._model} is built")

    def mistakes(self) -> list[str]:
        """What was not as it must be."""
        return [] if self._killed_while_running else [f"no worker was killed while {self._model} was built"]


if __name__ == "__main__":
    sys.exit(main())
