"""Runs the demo's Qlik change tables on a Spark Thrift server as others run it: Spark's own class, by `spark-submit`.

The server has Delta and nothing of this package, so models of another feed are refused there. Everything is under
`.build/demo_stock_server`, which is deleted at the start and kept at the end.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pyspark

from change_tables.server.connection import UNREADABLE
from change_tables.server.jars import JarsError, resolved_jars
from change_tables.server.local_server import LocalServer, LocalServerError, short_lived
from demo.progress import Progress
from demo.project import PROJECT, DbtError, DbtProject
from demo.run import FEED, DemoError, run_demo

FOLDER = PROJECT / ".build" / "demo_stock_server"
SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
REFUSED = "stg_idm_event_log__orders"
"""A model that needs a function which the server does not have."""
SAID = "the server does not have the SQL function `parse_table_key`, which stg_idm_event_log__orders calls"

_PATIENCE = 180.0  # seconds for the server to be ready


def main() -> int:
    """The command line; returns its exit code: 1 where anything differs, 3 where the jars cannot be had."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    try:
        with stock_server(FOLDER / "server") as server:
            is_equal = run_demo(FOLDER / "demo", FEED, seed=1, scale=1, start=lambda _: nullcontext(server))
            said = refusal(server)
    except JarsError as failure:
        print(f"demo-stock-server: not run: {failure}", file=sys.stderr)
        return 3
    except (DemoError, DbtError, LocalServerError) as failure:
        print(f"demo-stock-server: {failure}", file=sys.stderr)
        return 1
    if SAID not in said:
        print(f"demo-stock-server: {REFUSED} must be refused by a line with '{SAID}', got: {said}", file=sys.stderr)
        return 1
    if is_equal:
        print(f"The server is Spark's own, and has no function of ours. Of another feed, a run says:\n{said}")
    return 0 if is_equal else 1


@contextmanager
def stock_server(folder: Path, home: Path | None = None, jars: Sequence[Path] = ()) -> Iterator[LocalServer]:
    """Start Spark's own Thrift server, with Delta, its metastore and tables in `folder`; stop it when the block ends.

    Args:
        folder: of its metastore, its tables and its log
        home: of the Spark; that of this environment, if none is given
        jars: Delta's, for that Spark

    Raises:
        JarsError: there are no jars.
        LocalServerError: it does not start.
    """
    folder.mkdir(parents=True)
    home = home or Path(pyspark.__file__).parent
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    given = [str(jar) for jar in jars or resolved_jars()]
    settings = short_lived(2) | {
        "spark.ui.enabled": "false",
        "spark.driver.extraClassPath": ":".join(given),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.constraintPropagation.enabled": "false",
        "spark.hadoop.hive.exec.scratchdir": str(folder / "hive"),
        "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
        "spark.hadoop.hive.server2.thrift.port": str(port),
    }
    command = [str(home / "bin" / "spark-submit"), "--class", SERVER, "--master", "local[2]"]
    command += ["--jars", ",".join(given)]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    log = folder / "server.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "spark-internal"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,  # Derby's metastore and the warehouse
            env=os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
        )
    try:
        yield _when_it_answers(process, LocalServer("127.0.0.1", port, folder, process.pid), log)
    finally:
        process.terminate()
        process.wait()


def _when_it_answers(process: subprocess.Popen[bytes], server: LocalServer, log: Path) -> LocalServer:
    until = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection((server.host, server.port), timeout=1).close()
            server.connect().close()
        except UNREADABLE:
            time.sleep(0.5)
        else:
            return server
    raise LocalServerError(f"Spark's Thrift server did not start: see {log.relative_to(PROJECT)}")


def refusal(server: LocalServer) -> str:
    """What a run of a model says that the server cannot have; empty where it is built."""
    with Progress() as progress, progress.phase("a model of another feed"):
        try:
            DbtProject(FOLDER / "demo").build(server, progress, ["--select", REFUSED])
        except DbtError as failure:
            return next((line.strip() for line in str(failure).splitlines() if "change_tables: " in line), str(failure))
    return ""


if __name__ == "__main__":
    sys.exit(main())
