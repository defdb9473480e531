"""The server as its users meet it: many connections, restarts, and mistakes at the start."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyhive.exc import OperationalError

from change_tables.server.class_archive import class_archive
from change_tables.server.jars import resolved_jars
from change_tables.server.local_server import LocalServer, local_server, short_lived
from change_tables.server.thrift_server import free_port, jvms_of

pytestmark = pytest.mark.slow

MASK = "select decode_change_mask('0180', 'most_significant_first', 1)"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A server with Hive's metastore, as users have it: that which other tests share keeps its tables in memory."""
    with local_server(tmp_path_factory.mktemp("server"), short_lived(2)) as server:
        yield server


def test_a_server_loads_its_classes_from_the_archive_beside_the_jars(server: LocalServer) -> None:
    (jvm,) = jvms_of(server.folder)
    assert str(class_archive(resolved_jars())) in Path(f"/proc/{jvm}/maps").read_text()


def query(server: LocalServer, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements in one new session; the rows of the last."""
    connection = server.connect()
    try:
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
    finally:
        connection.close()


def test_a_python_function_works_in_successive_and_concurrent_sessions(server: LocalServer) -> None:
    for _ in range(3):
        assert query(server, MASK) == [("[8,9]",)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: query(server, MASK), range(8))) == [[("[8,9]",)]] * 8


def test_sessions_that_end_while_others_do_break_no_connection(server: LocalServer) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: query(server, "show databases like 'default'")[0], range(200))) == {("default",)}


def test_a_persistent_view_may_use_a_python_function_and_every_session_can_read_it(server: LocalServer) -> None:
    query(
        server,
        "create or replace table view_masks using delta as select '0180' as mask",
        "create or replace view decoded_masks as"
        " select decode_change_mask(mask, 'most_significant_first', 1) as ordinals from view_masks",
    )
    assert query(server, "select ordinals from decoded_masks") == [("[8,9]",)]
    assert query(server, "select size(ordinals) from decoded_masks") == [(2,)]


def test_a_view_may_be_as_long_as_one_over_a_thousand_columns(server: LocalServer) -> None:
    columns = ", ".join(f"'{'x' * 90}' as column_{number}" for number in range(1000))
    query(server, f"create or replace view long_view as select {columns}")
    assert query(server, "select column_999 from long_view") == [("x" * 90,)]


def test_delta_tables_outlive_the_session_that_made_them(server: LocalServer) -> None:
    query(server, "create or replace table successive using delta as select 1 as number")
    query(
        server, "merge into successive t using (select 1 as number) s on t.number = s.number when matched then delete"
    )
    assert query(server, "select count(*) from successive") == [(0,)]


def test_sessions_do_not_share_settings_or_temporary_views(server: LocalServer) -> None:
    first = server.connect()
    cursor = first.cursor()
    cursor.execute("set spark.sql.shuffle.partitions = 3")
    cursor.execute("create temporary view only_mine as select 1 as number")
    assert query(server, "set spark.sql.shuffle.partitions")[0][1] != "3"
    with pytest.raises(OperationalError, match="TABLE_OR_VIEW_NOT_FOUND"):
        query(server, "select * from only_mine")
    first.close()


def test_times_are_in_utc(server: LocalServer) -> None:
    assert query(server, "select current_timezone()") == [("UTC",)]


class Process:
    """A server started by hand, so that it can be ended in unfriendly ways."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "change_tables", "server", "--port", "0", "--warehouse", str(folder), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ready(self) -> LocalServer:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("ready: jdbc:hive2://127.0.0.1:"), line or self.complaint()
        return LocalServer("127.0.0.1", int(line.split()[1].rsplit(":", 1)[1]), self.folder)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def complaint(self) -> str:
        assert self.process.stderr is not None
        self.process.wait(60)
        return self.process.stderr.read()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for a server of the test's own; whatever still runs on it afterwards is ended."""
    yield tmp_path / "a server"
    for command_line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if os.fsencode(tmp_path) in command_line.read_bytes():
                os.kill(int(command_line.parent.name), signal.SIGKILL)
        except OSError:
            continue  # it has ended meanwhile


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_tables_outlive_servers_that_are_killed_also_while_they_start_and_one_that_is_left_by_an_error_ends(
    folder: Path,
) -> None:
    first = Process(folder)
    query(first.ready(), "create table kept using delta as select 42 as answer")
    second = Process(folder)
    assert (
        second.complaint()
        == f"change_tables: another server runs on {folder}: stop it, or choose another --warehouse\n"
    )
    assert second.process.returncode == 1
    first.kill()

    third = Process(folder)
    deadline = time.monotonic() + 60
    while not any((folder / "tmp").glob("blockmgr-*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    third.kill()

    with pytest.raises(ZeroDivisionError), local_server(folder) as server:
        _ = 1 / (query(server, "select answer from kept")[0][0] - 42)
    assert not is_listening(server.port)


def complaint_of(folder: Path, *options: str, **environment: str) -> str:
    command = [sys.executable, "-m", "change_tables", "server", "--warehouse", str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def test_a_port_in_use_is_one_clear_line(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1:{port}" in complaint_of(folder, "--port", str(port))


def test_no_java_and_a_wrong_java_are_one_clear_line(folder: Path, tmp_path: Path) -> None:
    assert "install Java 17 or 21" in complaint_of(folder, JAVA_HOME=str(tmp_path / "nothing"))
    old = tmp_path / "old" / "bin" / "java"
    old.parent.mkdir(parents=True)
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    old.chmod(0o755)
    assert "is Java 1: Spark needs Java 17 or 21" in complaint_of(folder, JAVA_HOME=str(tmp_path / "old"))


def test_missing_jars_and_a_bad_setting_are_one_clear_line(folder: Path, tmp_path: Path) -> None:
    assert "run `python -m change_tables jars`" in complaint_of(folder, CHANGE_TABLES_JARS=str(tmp_path))
    assert "--conf must be key=value, got 'nonsense'" in complaint_of(folder, "--port", "0", "--conf", "nonsense")


def test_bad_settings_of_a_cluster_and_of_a_metastore_are_one_clear_line(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        master = f"spark://127.0.0.1:{probe.getsockname()[1]}"
    assert f"no Spark master answers at {master}: start it" in complaint_of(folder, "--port", "0", "--master", master)
    assert "--metastore must be postgresql://user@host:5432/" in complaint_of(
        folder, "--metastore", "mysql://me@db/lake"
    )
    assert "--metastore has no password: set CHANGE" in complaint_of(folder, "--metastore", "postgresql://me@db/lake")
    assert "--metastore is not for --table-format iceberg" in complaint_of(
        folder, "--table-format", "iceberg", "--metastore", "postgresql://me@db/lake"
    )


def test_a_free_port_is_none_that_a_system_gives_to_connections_before_the_server_listens() -> None:
    assert all(10_000 < free_port("127.0.0.1") < 32_768 for _ in range(20))


@pytest.mark.parametrize(
    ("words", "is_it"),
    [
        (["-Djava.io.tmpdir={folder}/tmp", "-Xmx4g"], True),
        (['spark.driver.extraJavaOptions="-Djava.io.tmpdir={folder}/tmp" -Xmx4g'], True),
        (["--warehouse", "{folder}"], False),
        (["-Djava.io.tmpdir={folder}/tmp2"], False),
        (["-Djava.io.tmpdir={folder} 2/tmp"], False),
    ],
)
def test_the_jvm_of_a_folder_is_known_by_its_temporary_files(folder: Path, words: list[str], is_it: bool) -> None:
    given = [word.format(folder=folder) for word in words]
    process = subprocess.Popen([sys.executable, "-c", "print(flush=True); input()", *given], stdin=-1, stdout=-1)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        assert jvms_of(folder) == ([process.pid] if is_it else [])
    finally:
        process.kill()
        process.wait()


def test_nothing_listens_on_another_address_than_the_given_one_spark_s_own_ports_included(server: LocalServer) -> None:
    lines = (Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()).splitlines()
    address_of = {parts[9]: parts[1] for parts in map(str.split, lines) if parts[3] == "0A"}
    jvm = next(process for process in Path("/proc").glob("[0-9]*") if is_jvm_of(process, server.folder))
    inodes = {str(link.readlink()).removeprefix("socket:[").rstrip("]") for link in (jvm / "fd").iterdir()}
    listening = [address for inode, address in address_of.items() if inode in inodes]
    assert any(address.endswith(f":{server.port:04X}") for address in listening), listening
    loopback = ("0100007F:", "0000000000000000FFFF00000100007F:")
    assert all(address.startswith(loopback) for address in listening), listening


def is_jvm_of(process: Path, folder: Path) -> bool:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False  # it has ended meanwhile
    return words[0].endswith(b"java") and any(os.fsencode(folder) in word for word in words)


def test_an_interrupted_server_ends_without_fault_and_leaves_no_temporary_files(server: LocalServer) -> None:
    """The last test here: it ends the server of all."""
    assert (server.folder / "tmp").exists()
    assert is_listening(server.port)
    os.kill(server.pid, signal.SIGINT)
    for process in Path("/proc").glob("[0-9]*"):  # a signal to the whole group, as by Ctrl-C, ends the JVM as well
        if is_jvm_of(process, server.folder):
            os.kill(int(process.name), signal.SIGKILL)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(server.pid, os.WNOHANG)) == (0, 0):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert os.waitstatus_to_exitcode(ended[1]) == 0
    assert not is_listening(server.port)
    assert not (server.folder / "tmp").exists()
