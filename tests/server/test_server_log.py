"""What a server writes down: short files, and who came from where."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pyspark.java_gateway import launch_gateway

from change_tables.server.connection import Address
from change_tables.server.local_server import LocalServer
from change_tables.server.server_log import LOG, OUTPUT, log_settings, send_output_to

OPTIONS = "spark.driver.extraJavaOptions"


def test_a_full_log_is_started_again_and_five_older_ones_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    settings = log_settings({OPTIONS: "-Dchange_tables.log_size=10KB"}, folder)
    gateway: Any = launch_gateway(SimpleNamespace(getAll=lambda: list(settings.items())))  # type: ignore[no-untyped-call]  # PySpark's
    try:
        logger = gateway.jvm.org.apache.logging.log4j.LogManager.getLogger("test")
        for number in range(100):
            logger.warn(f"event {number} {'x' * 1000}")
        logger.warn("one\nevent\r\nis one line")
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
    files = {path.name: path for path in folder.iterdir()}
    assert files.keys() == {LOG, *(f"{LOG}.{number}" for number in range(1, 6))}
    assert all(5_000 < path.stat().st_size < 12_000 for name, path in files.items() if name != LOG)
    assert r"one\nevent\r\nis one line" in files[LOG].read_text().splitlines()[-1]
    kept = "".join(files[name].read_text() for name in sorted(files, reverse=True))
    numbers = [int(number) for number in re.findall(r"event (\d+) ", kept)]
    assert numbers == list(range(numbers[0], 100))


def test_a_configuration_of_log4j_that_a_user_brings_is_left_alone(tmp_path: Path) -> None:
    own = "-Dlog4j2.configurationFile=/etc/log4j2.xml"
    assert log_settings({"spark.driver.defaultJavaOptions": own}, tmp_path) == {}
    assert log_settings({OPTIONS: f"-Da=b {own}"}, tmp_path) == {}
    assert log_settings({OPTIONS: "-Da=b"}, tmp_path)[OPTIONS].startswith("-Da=b ")


def test_what_is_printed_is_kept_apart_and_does_not_grow_for_ever(tmp_path: Path) -> None:
    kept = os.dup(1), os.dup(2)
    output = tmp_path / OUTPUT
    try:
        for text in ("first", "second"):
            send_output_to(tmp_path)
            os.write(1, text.encode())
        assert output.read_text() == "firstsecond"
        os.truncate(output, 30_000_000)
        send_output_to(tmp_path)
        os.write(2, b"third")
    finally:
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
    assert output.read_text() == "third"
    assert (tmp_path / f"{OUTPUT}.1").stat().st_size == 30_000_000


def test_the_log_names_who_opens_a_session_from_where_and_nobody_can_forge_a_line(server: LocalServer) -> None:
    log = server.folder / LOG
    before = len(log.read_text())
    name = "somebody\n2026-01-05 08:00:00.120 DEBUG ThriftCLIService [forged] Client's username: somebody else"
    session = Address(server.host, server.port, user=name).connect()
    session.cursor().execute("select 1")
    session.close()
    until = time.monotonic() + 30
    while "closeSession()" not in log.read_text()[before:] and time.monotonic() < until:
        time.sleep(0.1)
    lines = log.read_text()[before:].splitlines()
    (named,) = [line for line in lines if "Client's username: somebody" in line]
    assert not [line for line in lines if "[forged]" in line.split("Client's")[0]]
    thread = re.findall(r"\[(.*?)\]", named)[0]
    of_the_session = [
        line.partition(f"[{thread}] ")[2] for line in lines[lines.index(named) :] if f"[{thread}]" in line
    ]
    assert "Client's IP Address: 127.0.0.1" in of_the_session
    # the thread then serves others, whose tests run beside this one
    handles = [line.split("]: ") for line in of_the_session if "Handle [" in line][:2]
    assert [what for _, what in handles] == ["openSession()", "closeSession()"]
    assert len({handle for handle, _ in handles}) == 1
