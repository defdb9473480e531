"""What a server on a cluster needs: an address that the workers find, and workers that can do its work."""

from __future__ import annotations

import re
import socket
import sys
import threading
import uuid
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from change_tables.udfs.catalog import CATALOG

_PATIENCE = 150.0  # seconds for workers to come and to do a first piece of work
_REACHED_WITHIN = 10.0  # seconds for a connection to a master


class ClusterError(Exception):
    """The cluster cannot do the work; the message is one line that says what to do."""


def is_cluster(master: str) -> bool:
    """Whether the work is done by other processes than the server's own.

    >>> is_cluster("local[*]"), is_cluster("spark://10.0.0.1:7077"), is_cluster("yarn")
    (False, True, True)
    """
    return not master.startswith("local")


def worker_python(settings: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """The Python that workers run, whether on this machine or another: what the user has set, else the server's own.

    >>> worker_python({}, {"PYSPARK_PYTHON": "python3.11"})
    'python3.11'
    """
    return settings.get("spark.pyspark.python") or environment.get("PYSPARK_PYTHON") or sys.executable


def address_towards(master: str) -> str | None:
    """The address of this machine on its way to a standalone master: workers find the server there.

    None for other kinds of cluster.

    Raises:
        ClusterError: the URL is malformed, or none of its masters answers.
    """
    if not master.startswith("spark://"):
        return None
    addresses = re.findall(r"([^,:/]+|\[[^]]+\]):(\d+)", master.removeprefix("spark://"))
    if not addresses:
        raise ClusterError(f"--master is '{master}': a standalone master is spark://host:port")
    for host, port in addresses:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=_REACHED_WITHIN) as connection:
                return str(connection.getsockname()[0])
        except OSError:
            continue
    raise ClusterError(f"no Spark master answers at {master}: start it, or correct --master")


def try_workers(spark: SparkSession, master: str, tables: str) -> None:
    """Let the workers call every function and write beside the tables, where this process must see it.

    Args:
        spark: a session with the functions
        master: for the messages
        tables: path or URL of the place of tables

    Raises:
        ClusterError: no worker has come, or one cannot do it.
    """
    internals: Any = spark
    place = internals._jvm.org.apache.hadoop.fs.Path(f"{tables.rstrip('/')}/_tried_{uuid.uuid4().hex}")
    files = place.getFileSystem(internals._jsparkSession.sessionState().newHadoopConf())
    tasks = spark.sparkContext.defaultParallelism
    calls = ", ".join(f"{entry.call(entry.examples[0])} as {entry.name}" for entry in CATALOG)
    work = spark.range(0, tasks, 1, tasks).selectExpr(f"to_json(struct(id, struct({calls}))) as value")
    too_late = threading.Event()

    def give_up() -> None:
        too_late.set()
        spark.sparkContext.cancelAllJobs()

    alarm = threading.Timer(_PATIENCE, give_up)
    alarm.start()
    try:
        work.write.text(place.toString())
        written = sum(status.getPath().getName().startswith("part-") for status in files.listStatus(place))
    except (Py4JError, PySparkException) as error:
        if too_late.is_set():
            raise ClusterError(
                f"no worker of {master} has done a piece of work within {_PATIENCE:.0f} s: look whether it has workers"
                " with as much free memory as spark.executor.memory, and whether they reach this machine at"
                f" {spark.conf.get('spark.driver.host')}"
            ) from None
        raise ClusterError(
            f"the workers of {master} cannot do the server's work: {cause_on_worker(str(error))}; they need the"
            " libraries of the functions (spark.archives, spark.pyspark.python), and to write to"
            f" {tables} (--tables)"
        ) from None
    finally:
        alarm.cancel()
        files.delete(place, True)
    if written < tasks:
        raise ClusterError(
            f"what workers of {master} write to {tables} is not seen by the server: choose a place that all machines"
            " share for --tables"
        )


def cause_on_worker(message: str) -> str:
    r"""The line that says most of what Spark says of a failed job: what Python or Java said last on the worker.

    >>> cause_on_worker("Job aborted.\nTraceback (most recent call last):\nModuleNotFoundError: No lxml\n")
    'ModuleNotFoundError: No lxml'
    >>> cause_on_worker('java.io.IOException: Cannot run program "p"\nCaused by: java.io.IOException: error=2')
    'java.io.IOException: Cannot run program "p"'
    """
    lines = [line.strip().removeprefix("Caused by: ") for line in message.strip().splitlines()]
    said = [line for line in lines if re.match(r"[\w.$]*(Error|Exception)\b.*: ", line)]
    python = [line for line in said if "." not in line.partition(":")[0]]
    program = [line for line in said if "Cannot run program" in line]  # the line after it does not say which
    return (python or program or said or lines or ["nothing"])[-1]
