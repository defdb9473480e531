"""A Spark Thrift server with the functions of the catalogue: `change-tables server`.

The server runs inside this process's JVM, so that the functions can be registered as built-in before the first client
comes: every isolated session has them, and persistent views may use them. Metastore, warehouse, log and all temporary
files live in one folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import click
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from change_tables.places import checkout, users_folder
from change_tables.udfs.registration import register_catalog

from .class_archive import class_archive
from .cluster import ClusterError, address_towards, is_cluster, try_workers, worker_python
from .doors import DoorsError, check_addresses, doors_of, hand_to_hive
from .jars import ICEBERG_CATALOG, JarsError, check_java, iceberg_jars, postgresql_jars, resolved_jars
from .metastore import PASSWORD, MetastoreError, metastore_at, other_place
from .server_log import LOG, log_settings, logs_in, send_output_to

_PATIENCE = 60.0  # seconds for a JVM to go away
_PORTS = (10_001, 32_768)  # Linux gives ports from 32,768 on to connections, others from 49,152 on
_FUNCTIONS_ARE_LOADED = 2  # Hive.REG_FUNCS_DONE
_METASTORE_URL = "spark.hadoop.javax.jdo.option.ConnectionURL"
_WITHOUT_PAGES = {
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.thriftserver.ui.retainedSessions": "10",
    "spark.sql.thriftserver.ui.retainedStatements": "10",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "10",
    "spark.sql.ui.explainMode": "simple",
}
"""What Spark remembers for its pages: by default the plans of a thousand statements, with all expressions."""


class ServerError(Exception):
    """The server cannot start; the message is one line that says what to do."""


@dataclass(frozen=True)
class Options:
    """What a server is started with; see the options of the command."""

    master: str
    host: str
    port: int
    warehouse: Path
    conf: Sequence[str]
    tables: str | None = None
    metastore: str | None = None
    metastore_password_file: Path | None = None
    allow_anonymous: bool = False
    table_format: str = "delta"


def _default_folder() -> Path:
    return Path(".build/server") if checkout() else users_folder("XDG_DATA_HOME", ".local/share") / "server"


@click.command(context_settings={"show_default": True})
@click.option("--master", default="local[*]", help="Spark master.")
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", default=10000, type=click.IntRange(0, 65535), help="Port to listen on, 0 for a free one.")
@click.option(
    "--warehouse",
    default=_default_folder(),
    type=click.Path(path_type=Path),
    help="Folder of metastore, tables, log.",
)
@click.option("--tables", help="Path or URL of the tables, where they are not in that folder.")
@click.option("--metastore", metavar="URL", help="A metastore in PostgreSQL: postgresql://user@host:5432/database.")
@click.option(
    "--metastore-password-file",
    type=click.Path(path_type=Path),
    help=f"File with the metastore's password; or set {PASSWORD}.",
)
@click.option("--table-format", type=click.Choice(["delta", "iceberg"]), default="delta", help="Format of all tables.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A Spark setting; any number.")
@click.option("--allow-anonymous", is_flag=True, help="Let other machines in without a password.")
@click.help_option(allow_from_autoenv=False)
def server(**options: Any) -> None:
    """Serve tables and the SQL functions over Thrift, until SIGTERM or Ctrl-C."""
    try:
        _serve(Options(**options))
    except (ClusterError, DoorsError, JarsError, MetastoreError, ServerError) as error:
        raise click.ClickException(str(error)) from None


def _serve(options: Options) -> None:
    check_java()
    if options.metastore and options.table_format == "iceberg":
        raise ServerError("--metastore is not for --table-format iceberg: leave one of the two out")
    metastore = (
        metastore_at(options.metastore, options.metastore_password_file, os.environ) if options.metastore else None
    )
    jars = iceberg_jars() if options.table_format == "iceberg" else resolved_jars()
    jars += postgresql_jars() if metastore else []
    folder = options.warehouse.resolve()
    settings = _settings(options, folder, options.port, jars)
    doors = doors_of(settings, os.environ, allow_anonymous=options.allow_anonymous)
    port = _usable_port(doors.host, doors.port)
    settings |= doors.settings(port) | log_settings(settings, folder)
    lock = _claim(folder)
    for warning in doors.warnings:
        print(f"change_tables: warning: {warning}", file=sys.stderr, flush=True)
    stop = threading.Event()
    _stop_on_signals(stop)
    said = os.fdopen(os.dup(1), "w")
    complained = os.fdopen(os.dup(2), "w")
    send_output_to(folder)
    jvm: Any = None
    try:
        jvm = _start_jvm(settings)
        if metastore:
            metastore.prepare(SparkContext._jvm)
        spark = _start_spark(settings)
        _stop_on_signals(stop)  # again: a new SparkContext takes SIGINT for itself
        if options.table_format == "iceberg":
            spark.sql("create namespace if not exists default")  # a catalog of Iceberg's begins with none
        else:
            _check_metastore(spark, settings, folder, is_shared=bool(metastore or options.tables))
        hand_to_hive(spark, settings)
        _start_server(spark, doors.host, port)
        check_addresses(doors, jvm.pid, port)
        if is_cluster(settings["spark.master"]):
            try_workers(spark, settings["spark.master"], settings["spark.sql.warehouse.dir"])
        print(
            f"ready: jdbc:hive2://{doors.host}:{port} (Spark {spark.version}, log {folder / LOG})",
            file=said,
            flush=True,
        )
        while not stop.wait(0.5):
            if jvm.poll() is not None:
                raise ServerError(f"the JVM has died with exit code {jvm.returncode}: see {logs_in(folder)}")
        # a signal to a whole process group, as by Ctrl-C, has ended the JVM, too
        with contextlib.suppress(OSError, Py4JError):
            spark.stop()
    except (Py4JError, PySparkException) as error:
        raise ServerError(f"Spark did not start: {_cause(error)}; see {logs_in(folder)}") from None
    finally:
        if jvm is not None:
            _end(jvm)
        os.dup2(complained.fileno(), 2)
        shutil.rmtree(folder / "tmp", ignore_errors=True)
        lock.close()


def _cause(error: Exception) -> str:
    r"""What was wrong in the end: py4j writes a line of its own before what Java says, and Java begins outside.

    >>> _cause(ValueError("An error occurred\n: java.lang.A: no start\n\tat B\nCaused by: java.lang.C: no key\n\tat D"))
    'java.lang.C: no key'
    """
    lines = str(error).strip().splitlines() or [type(error).__name__]
    said = [line.removeprefix("Caused by")[2:] for line in lines if line.startswith((": ", "Caused by: "))]
    return said[-1] if said else lines[0]


def _stop_on_signals(stop: threading.Event) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())


def _usable_port(host: str, port: int) -> int:
    if port == 0:
        return free_port(host)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ServerError(
                f"cannot listen on {host}:{port}: {error.strerror}; choose another --port, or 0 for a free one"
            ) from None
        return port


def free_port(host: str) -> int:
    """A port on which nothing listens, below those that systems give to connections.

    Until the server listens, some seconds go by. One that the system had chosen could be given to a connection in the
    meantime.
    """
    for port in random.sample(range(*_PORTS), 100):
        try:
            return _usable_port(host, port)
        except ServerError as error:
            said = error
    raise said


def _settings(options: Options, folder: Path, port: int, jars: Sequence[Path]) -> dict[str, str]:
    tmp, metastore = folder / "tmp", folder / "metastore"
    connection = _metastore_url(folder)
    embedded = (  # the same for Hive's own sessions as for Spark's
        f' "-Djavax.jdo.option.ConnectionURL={connection}" -Dhive.metastore.try.direct.sql=false'
    )
    archive = class_archive(jars)
    archived = f' "-XX:SharedArchiveFile={archive}"' if archive.exists() else ""
    # Hadoop starts a process for the permissions of each file that it writes here: half as dear as by Java's default
    forked = " -Djdk.lang.Process.launchMechanism=VFORK" if sys.platform == "linux" else ""
    settings = {
        "spark.app.name": "change_tables",
        "spark.master": options.master,
        "spark.jars": ",".join(map(str, jars)),
        "spark.driver.extraClassPath": ":".join(map(str, jars)),
        "spark.driver.memory": "4g",
        "spark.driver.extraJavaOptions": (
            "-XX:ReservedCodeCacheSize=512m"  # when it is full, nothing more is compiled
            f'{forked} "-Djava.io.tmpdir={tmp}" "-Dderby.system.home={metastore}"'
            f' "-Dderby.stream.error.file={metastore / "derby.log"}"{"" if options.metastore else embedded}{archived}'
        ),
        "spark.local.dir": str(tmp),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **(_iceberg(options, folder) if options.table_format == "iceberg" else _DELTA),
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": _place_of_tables(options.tables, folder),
        "spark.sql.session.timeZone": "UTC",
        # it derives constraints of every column from every other: for wide tables that takes minutes and all memory
        "spark.sql.constraintPropagation.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
        # a busy machine is slow, and no reason to fail: by default what is broadcast must be there in five minutes
        "spark.sql.broadcastTimeout": "36000",
        # compiled classes are kept for the next statement of the same shape: by default Spark keeps only 100
        "spark.sql.codegen.cache.maxEntries": "3000",
        _METASTORE_URL: connection,
        # as Hive's own sessions have it: if the two differ, the metastore is set up again for every session
        "spark.hadoop.datanucleus.rdbms.datastoreAdapterClassName": "org.datanucleus.store.rdbms.adapter.DerbyAdapter",
        "spark.hadoop.hive.metastore.try.direct.sql": "false",  # its check of the schema takes seconds in each session
        "spark.hadoop.hive.exec.scratchdir": str(tmp / "hive"),
        "spark.hadoop.hive.exec.local.scratchdir": str(tmp / "hive"),
        # with a user for each session, Hive makes a new client for every look into the metastore
        "spark.hadoop.hive.server2.enable.doAs": "false",
        # each thread for statements has a client of the metastore: by default it ends after ten seconds without one
        "spark.hadoop.hive.server2.async.exec.keepalive.time": "3600s",
        "spark.hadoop.hive.server2.thrift.bind.host": options.host,
        "spark.hadoop.hive.server2.thrift.port": str(port),
    }
    if not is_cluster(options.master):
        settings["spark.sql.shuffle.partitions"] = str(2 * (os.cpu_count() or 1))
        settings["spark.databricks.delta.snapshotPartitions"] = "2"
        # a statement gets a new one until there are so many: by default 100
        settings["spark.hadoop.hive.server2.async.exec.threads"] = "32"
    elif "SPARK_LOCAL_IP" not in os.environ and (address := address_towards(options.master)):
        settings["spark.driver.host"] = address  # else it is what the machine's name leads to
    for pair in options.conf:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ServerError(f"--conf must be key=value, got '{pair}'")
        settings[key] = value
    if settings["spark.ui.enabled"] == "false":
        settings = _WITHOUT_PAGES | settings
    if options.metastore:
        del settings[_METASTORE_URL]
    if settings.get(_METASTORE_URL) != connection:
        del settings["spark.hadoop.datanucleus.rdbms.datastoreAdapterClassName"]
    return settings


_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def _iceberg(options: Options, folder: Path) -> dict[str, str]:
    """The session's own catalog is Iceberg's, because dbt knows no other: so all tables and views are in it.

    The catalog is in a file of SQLite. By default a connection fails at once where another one writes.
    """
    catalog = "spark.sql.catalog.spark_catalog"
    return {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        catalog: ICEBERG_CATALOG,
        f"{catalog}.type": "jdbc",
        f"{catalog}.uri": f"jdbc:sqlite:{folder / 'metastore' / 'iceberg.db'}?busy_timeout=60000&journal_mode=WAL",
        f"{catalog}.jdbc.schema-version": "V1",  # the first that has views
        f"{catalog}.cache-enabled": "false",  # a session would not see what another has written
        f"{catalog}.warehouse": _place_of_tables(options.tables, folder),
    }


def _place_of_tables(given: str | None, folder: Path) -> str:
    """A URL as it is given; a path from its root, so that it is the same for every server."""
    if given is None:
        return str(folder / "warehouse")
    return given if ":" in given.partition("/")[0] else str(Path(given).resolve())


def _check_metastore(spark: Any, settings: Mapping[str, str], folder: Path, *, is_shared: bool) -> None:
    if settings.get(_METASTORE_URL) == _metastore_url(folder):
        _let_views_be_long(spark, settings[_METASTORE_URL])
    if is_shared:
        _check_place_of_tables(spark)


def _check_place_of_tables(spark: Any) -> None:
    """New schemas are made in the place of tables: if the metastore's are elsewhere, other servers would miss them."""
    described = dict(spark.sql("describe database default").collect())
    if mistake := other_place(spark.conf.get("spark.sql.warehouse.dir"), described["Location"]):
        raise ServerError(mistake)


def _claim(folder: Path) -> IO[str]:
    """Lock the folder for this process, and wait until the JVM of a server that was killed has ended."""
    try:
        (folder / "metastore").mkdir(parents=True, exist_ok=True)
        lock = (folder / "server.lock").open("a")
    except OSError as error:
        raise ServerError(f"cannot write to {folder}: {error.strerror}; choose another --warehouse") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ServerError(f"another server runs on {folder}: stop it, or choose another --warehouse") from None
    until = time.monotonic() + _PATIENCE
    while orphans := jvms_of(folder):
        if time.monotonic() > until:
            raise ServerError(f"the JVM of a server that was killed still holds {folder}: end process {orphans[0]}")
        time.sleep(0.2)
    shutil.rmtree(folder / "tmp", ignore_errors=True)  # a server that was killed leaves it
    (folder / "tmp").mkdir()
    return lock


def _metastore_url(folder: Path) -> str:
    return f"jdbc:derby:;databaseName={folder / 'metastore' / 'db'};create=true"


def _let_views_be_long(spark: Any, url: str) -> None:
    """Let the metastore take views of any length.

    The tables that it makes for itself take 32,700 characters. A staging view over some hundred columns has more.
    """
    spark.sql("show tables like 'none'").collect()  # the metastore makes its tables when they are asked for
    connection = spark._jvm.java.sql.DriverManager.getConnection(url)
    statement = connection.createStatement()
    for name in ("VIEW_EXPANDED_TEXT", "VIEW_ORIGINAL_TEXT"):
        column = connection.getMetaData().getColumns(None, None, "TBLS", name)
        if column.next() and column.getString("TYPE_NAME") == "LONG VARCHAR":
            statement.execute("alter table TBLS add column LONG_TEXT clob")
            statement.execute(f"update TBLS set LONG_TEXT = {name}")
            statement.execute(f"alter table TBLS drop column {name}")
            statement.execute(f"rename column TBLS.LONG_TEXT to {name}")
    connection.close()


def jvms_of(folder: Path) -> list[int]:
    """The processes with this folder's temporary files on their command line; empty where there is no /proc."""
    mark = os.fsencode(f"-Djava.io.tmpdir={folder / 'tmp'}")
    found = []
    for command_line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = command_line.read_bytes()
            if mark + b"\0" in words or mark + b'"' in words:  # the option itself, or among those given to Spark
                found.append(int(command_line.parent.name))
        except OSError:
            continue  # it has ended meanwhile
    return found


def _start_jvm(settings: dict[str, str]) -> Any:
    """The process of the JVM in which Spark is going to run."""
    os.environ["PYSPARK_PYTHON"] = worker_python(settings, os.environ)  # all that PySpark looks at
    if not is_cluster(settings["spark.master"]):
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # else the driver's own ports are open to the network
    SparkContext._ensure_initialized(conf=SparkConf().setAll(list(settings.items())))
    gateway: Any = SparkContext._gateway
    return gateway.proc


def _start_spark(settings: dict[str, str]) -> Any:
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _start_server(spark: Any, host: str, port: int) -> None:
    register_catalog(spark)
    _let_sessions_share_hive(spark)
    spark._jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2.startWithContext(
        spark._jsparkSession.sqlContext()
    )
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection((host, port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise ServerError(f"the Thrift server does not answer on {host}:{port}") from None
            time.sleep(0.1)


def _let_sessions_share_hive(spark: Any) -> None:
    """Let sessions come and go at the same time: they have one user, and share Hive's client of the metastore.

    A session that ends closes the client in its thread, which all share: others find it closed in the middle of a
    statement. A plain `ThreadLocal` as holder closes nothing. And a session that makes a client in Hive's own way loads
    Hive's functions, some of whose classes Spark leaves out. Its connection would break, and later ones would wait
    without end. So Hive's counter is set to the value that means that they are loaded. Both fields are private (Hive
    2.3, which Spark 4.1 includes). The counter is set through method handles, because py4j would pass the number as a
    plain value.
    """
    jvm: Any = spark._jvm
    hive = jvm.java.lang.Class.forName("org.apache.hadoop.hive.ql.metadata.Hive")
    holder = hive.getDeclaredField("hiveDB")
    holder.setAccessible(True)
    holder.set(None, jvm.java.lang.ThreadLocal())
    handles = jvm.java.lang.invoke.MethodHandles
    lookup = handles.publicLookup()
    state = hive.getDeclaredField("didRegisterAllFuncs")
    state.setAccessible(True)
    takes_number = jvm.java.lang.invoke.MethodType.methodType(jvm.java.lang.Void.TYPE, jvm.java.lang.Integer.TYPE)
    write = lookup.findVirtual(state.getType(), "set", takes_number)
    handles.foldArguments(write, lookup.unreflectGetter(state)).invokeWithArguments([_FUNCTIONS_ARE_LOADED])


def _end(jvm: Any) -> None:
    """End the JVM: it ends when its standard input closes."""
    jvm.stdin.close()
    try:
        jvm.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait()
