"""A Thrift server of one's own for as long as a block or a command runs.

python -m change_tables.server.local_server --folder .build/server -- dbt build
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pyhive import hive

from .server_log import logs_in

_PATIENCE = 180.0  # seconds for a server to be ready


JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
"""The setting of the options of Java that a user's settings can add to."""
_HEAP = "-Xms3g -Xmn1200m"
_ONE_COMPILER = "-XX:TieredStopAtLevel=1 "
SHORT_LIVED = {
    # the smaller compiler alone. Its default cache of 48 MB is too small for Spark and would be cleared all the time
    JAVA_OPTIONS: (
        f"{_ONE_COMPILER}-XX:ReservedCodeCacheSize=512m"
        f" -XX:+UseSerialGC {_HEAP} -XX:MetaspaceSize=512m"  # all memory at once: growth costs collections
    ),
    "spark.hadoop.hive.server2.async.exec.threads": "8",  # a new thread sets up a metastore client of its own
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.lightweightPlanChangeValidation": "false",  # looks for mistakes of Spark itself after every rule
    "spark.databricks.delta.snapshotPartitions": "1",
    # a commit takes less without checksums, checkpoints, and a process for each look whether a file is a link
    "spark.databricks.delta.writeChecksumFile.enabled": "false",
    "spark.databricks.delta.properties.defaults.checkpointInterval": "100",
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",  # for one driver, as the folder's lock has it
    # one task a stage: to send each the plan takes longer than its rows
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.default.parallelism": "1",
}
"""Settings of a server that lives for minutes and reads little data: to compile would cost more than it saves."""


def short_lived(gigabytes: int) -> dict[str, str]:
    """These settings for a server with a heap of so many gigabytes: one of several that run at the same time."""
    heap = f"-Xms{gigabytes}g -Xmn{400 * gigabytes}m"
    return SHORT_LIVED | {
        "spark.driver.memory": f"{gigabytes}g",
        JAVA_OPTIONS: SHORT_LIVED[JAVA_OPTIONS].replace(_HEAP, heap),
    }


def little_data(gigabytes: int) -> dict[str, str]:
    """The same for one that lives longer: after some five minutes Java's second compiler has saved what it costs.

    Delta remembers a table for an hour after it was last asked for; tests ask for theirs within minutes.
    """
    settings = short_lived(gigabytes)
    return settings | {
        JAVA_OPTIONS: settings[JAVA_OPTIONS].replace(_ONE_COMPILER, ""),
        "spark.databricks.delta.delta.log.cacheRetentionMinutes": "10",
    }


class LocalServerError(Exception):
    """The server did not start; the message says why."""


@dataclass(frozen=True)
class LocalServer:
    """A running server."""

    host: str
    port: int
    folder: Path
    pid: int = 0

    def connect(self) -> Any:
        """A new PyHive connection: a session of its own."""
        return hive.connect(host=self.host, port=self.port, auth="NONE")

    def environment(self) -> dict[str, str]:
        """This process's environment, with what `profiles_example.yml` reads set to this server."""
        return os.environ | {"CHANGE_TABLES_HOST": self.host, "CHANGE_TABLES_PORT": str(self.port)}


@contextmanager
def local_server(
    folder: Path,
    conf: Mapping[str, str] = SHORT_LIVED,
    checkout: Path | None = None,
    *,
    options: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    module: str = "",
) -> Iterator[LocalServer]:
    """Start a server on a free port, its tables in `folder`; stop it when the block ends, also by an error.

    Args:
        folder: of its tables, its log and its temporary files
        conf: Spark settings, which replace the server's own
        checkout: one whose code the server runs; this one's, if none is given
        options: further ones of the command
        variables: of the environment, beside those of this process
        module: what runs it; `change_tables server`, if none is given

    Raises:
        LocalServerError: it does not start.
    """
    program = [module] if module else ["change_tables", "server"]
    command = [sys.executable, "-m", *program, "--port", "0", "--warehouse", str(folder.resolve()), *options]
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    root = checkout or Path(__file__).resolve().parents[2]
    path = f"{root}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = os.environ | {"PYTHONPATH": path} | dict(variables or {})
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=checkout,  # Python looks for modules there first
    )
    try:
        yield _wait_until_ready(process, folder)
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(process: subprocess.Popen[str], folder: Path) -> LocalServer:
    stdout, stderr = process.stdout, process.stderr
    assert stdout is not None
    assert stderr is not None
    alarm = threading.Timer(_PATIENCE, process.kill)
    alarm.start()
    try:
        line = stdout.readline()
    finally:
        alarm.cancel()
    found = re.match(r"ready: jdbc:hive2://(.+):(\d+) ", line)
    if not found:
        process.wait()
        said = _read(stderr) or f"no word within {_PATIENCE:.0f} s; see {logs_in(folder)}"
        raise LocalServerError(f"the Thrift server did not start: {said}")
    return LocalServer(found.group(1), int(found.group(2)), folder, process.pid)


def _read(stream: IO[str]) -> str:
    return stream.read().strip().removeprefix("change_tables: ")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command with a server around it; the command's exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m change_tables.server.local_server", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--folder", type=Path, default=Path(".build/server"), help="folder of metastore, tables and log"
    )
    parser.add_argument("command", nargs="+", help="the command, after --")
    options = parser.parse_args(arguments)
    try:
        with local_server(options.folder) as server:
            return subprocess.run(options.command, env=server.environment(), check=False).returncode
    except LocalServerError as error:
        print(f"change_tables: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
