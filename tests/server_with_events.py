"""The server of this project, which writes Spark's events into a folder for as long as a test asks for them.

A log of all events of a run of all tests would cost more than a server of its own for the test that reads it.

It is also without Hadoop's settings of services that are not there. Each scan and each write hands on all settings:
that was 7 % of a profile, and a third of them is left.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from change_tables.cli.command_line import run
from change_tables.server import thrift_server
from change_tables.server.local_server import LocalServer

_BEGIN, _END = signal.SIGUSR1, signal.SIGUSR2
_PATIENCE = 60.0  # seconds for the server to write
_LAST = "the last of these events"
_NOT_THERE = ("yarn.", "mapreduce.jobhistory.", "fs.s3a.", "fs.azure.", "hadoop.http.", "hadoop.registry.", "ipc.")
"""How Hadoop's settings of services begin that no test uses."""


@contextmanager
def events_of(server: LocalServer) -> Iterator[Path]:
    """The folder of a server's events while a block runs, for `benchmarks.plans`; one block at a time."""
    folder = server.folder / "events"
    folder.mkdir()
    os.kill(server.pid, _BEGIN)
    _wait_until(lambda: any(folder.iterdir()))
    try:
        yield folder
        (log,) = folder.iterdir()
        connection = server.connect()
        connection.cursor().execute(f"select '{_LAST}'")  # it comes after all others
        connection.close()
        _wait_until(lambda: _LAST in log.read_text())
    finally:
        os.kill(server.pid, _END)


def _wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE
    while not is_so():
        assert time.monotonic() < until, "the server does not write its events"
        time.sleep(0.1)


class _Events:
    """The log of a server's events, which begins and ends by signals to the process that started its JVM."""

    def __init__(self, context: SparkContext, folder: Path) -> None:
        self._context: Any = context
        self._folder = folder
        self._listener: Any = None
        signal.signal(_BEGIN, lambda *_: self._begin())
        signal.signal(_END, lambda *_: self._end())

    def _begin(self) -> None:
        context = self._context._jsc.sc()
        settings = context.getConf()  # a copy
        for name in ("compress", "rolling.enabled"):
            settings.set(f"spark.eventLog.{name}", "false")
        jvm = self._context._jvm
        self._listener = jvm.org.apache.spark.scheduler.EventLoggingListener(
            context.applicationId(),
            jvm.scala.Option.empty(),
            jvm.java.net.URI(self._folder.as_uri()),
            settings,
            context.hadoopConfiguration(),
        )
        self._listener.start()
        context.listenerBus().addToEventLogQueue(self._listener)

    def _end(self) -> None:
        self._context._jsc.sc().listenerBus().removeListener(self._listener)
        self._listener.stop()


def _forget_settings(context: SparkContext) -> None:
    """Take the settings of what is not there out of those that each session begins with."""
    jvm: Any = context._jvm
    jvm.org.apache.hadoop.mapred.JobConf()  # it brings those of MapReduce and YARN
    settings: Any = context._jsc.hadoopConfiguration()
    for begin in _NOT_THERE:
        for rest in list(settings.getPropsWithPrefix(begin)):
            settings.unset(begin + rest)


if __name__ == "__main__":
    start = thrift_server._start_server

    def _start_with_events(spark: Any, host: str, port: int) -> None:
        for form in ("short", "long"):  # all threads have it from this one, and look through no stack for it
            spark.sparkContext.setLocalProperty(f"callSite.{form}", "a statement")
        start(spark, host, port)
        _forget_settings(spark.sparkContext)
        folder = Path(spark.sparkContext.getConf().get("spark.local.dir", "")).parent / "events"
        spark.change_tables_events = _Events(spark.sparkContext, folder)

    thrift_server._start_server = _start_with_events
    sys.exit(run(thrift_server.server, "python -m tests.server_with_events"))
