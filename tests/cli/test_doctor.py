"""What doctor finds: on a server that is right, on one that is wrong in each way, and where there is none."""

from __future__ import annotations

import io
import re
import socket
import sys
import threading
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyhive.exc import OperationalError
from rich.console import Console
from thrift.Thrift import TApplicationException
from thrift.transport.TTransport import TTransportException

from change_tables.cli import doctor
from change_tables.cli.doctor import (
    CHECKS_OF_SERVER,
    FAULT,
    NOT_CHECKED,
    OK,
    PYTHON_VERSIONS,
    REMEDIES,
    SETTINGS,
    Finding,
    Target,
    found,
    show,
)
from change_tables.cli.main import main
from change_tables.generator.found import LakeError
from change_tables.generator.lake import ThriftLake
from change_tables.server.connection import Address
from change_tables.server.local_server import LocalServer
from change_tables.udfs.catalog import CATALOG
from change_tables.udfs.registration import VERSION_SETTING
from change_tables.version import __version__
from docs.macro_pages import Macros

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


def target(port: int, host: str = "127.0.0.1", schema: str = "doctor", timeout: int = 120) -> Target:
    return Target(host, port, schema=schema, timeout=timeout)


def test_the_settings_are_those_that_a_run_refuses_and_those_of_the_page() -> None:
    assert {name: tuple(right) for name, right in Macros()._settings_of_session().items()} == SETTINGS
    section = PAGE.read_text().split("## The session", 1)[1].split("\n## ", 1)[0]
    assert dict(re.findall(r"^\| `(spark\.[\w.]+)` \| `(\w+)`", section, re.MULTILINE)) == {
        name: right[0] for name, right in SETTINGS.items()
    }


def test_a_server_of_this_package_has_no_fault_and_nothing_is_left_there(
    server: LocalServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--port", str(server.port), "--schema", "doctor_was_here"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        [OK, check] for check in ("Python", "Java", "jars", "server", *CHECKS_OF_SERVER)
    ]
    assert f"ok: version: {__version__}" in lines
    assert f"ok: functions: {len(CATALOG)} registered, and Python answers" in lines
    connection = server.connect()
    cursor = connection.cursor()
    cursor.execute("show databases")
    assert "doctor_was_here" not in {row[0] for row in cursor.fetchall()}
    connection.close()


def test_without_a_server_it_says_how_to_start_one_and_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert main(["doctor", "--port", str(port)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith(FAULT)] == [
        f"fault: server: nothing answers on 127.0.0.1:{port}: Connection refused; start it with"
        " `python -m change_tables server`, or correct --host and --port"
    ]
    assert [line.split(": ")[1] for line in lines if line.startswith(NOT_CHECKED)] == [*CHECKS_OF_SERVER]


@contextmanager
def other_program(answer: bytes) -> Iterator[int]:
    """The port of a program that answers whoever connects with these bytes, and then is silent."""
    connections: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
                connections.append(connection)
                connection.sendall(answer)
            except OSError:
                return  # the test has ended

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
    for connection in connections:
        connection.close()


OTHERS = [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" * 64, b"\x05\0\0\0\0"]
REFUSES = b"\x80\x01\x00\x03" + b"\x00\x00\x00\x0bOpenSession" + b"\x00\x00\x00\x00\x00"
"""What a Thrift server of something else says: an exception of an unknown kind."""


def init_on(port: int, *arguments: str) -> int:
    feed = ["--format", "qlik_change_tables", "--source", "shop", "--raw-schema", "raw"]
    return main(["init", *feed, "--port", str(port), "--timeout", "1", *arguments])


@pytest.mark.parametrize("auth", ["NONE", "NOSASL"])
@pytest.mark.parametrize("answer", [*OTHERS, REFUSES])
def test_init_says_in_one_line_that_there_is_no_session_and_what_to_do(
    project: Path, capsys: pytest.CaptureFixture[str], answer: bytes, auth: str
) -> None:
    with other_program(answer) as port:
        assert init_on(port, "--project-dir", str(project), "--auth", auth) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"change_tables: no session on 127.0.0.1:{port}: ")
    assert line.endswith(
        "; correct --auth, --user, --password and --use-ssl, or --port if another program listens there"
    )


def test_who_asks_for_tls_where_there_is_none_is_told_so_in_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with other_program(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        assert init_on(port, "--project-dir", str(project), "--use-ssl") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"change_tables: no TLS with 127.0.0.1:{port}: [SSL")
    assert line.endswith(
        "; leave --use-ssl out if it speaks none; else let SSL_CERT_FILE name the certificate to trust"
    )
    assert caplog.records == []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    return tmp_path


def test_without_a_server_init_says_in_one_line_how_to_start_one(
    project: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert init_on(port, "--project-dir", str(project)) == 1
    assert capsys.readouterr().err == (
        f"change_tables: nothing answers on 127.0.0.1:{port}: Connection refused; start it with"
        " `python -m change_tables server`, or correct --host and --port\n"
    )
    assert caplog.records == []  # the library would say it once more


@pytest.mark.parametrize("command", ["doctor", "init"])
def test_a_host_that_cannot_be_one_is_a_fault(project: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    if command == "init":
        assert init_on(1, "--project-dir", str(project), "--host", "a..b") == 1
    else:
        assert main(["doctor", "--port", "1", "--host", "a..b"]) == 1
    printed = capsys.readouterr()
    (line,) = [line for line in (printed.out + printed.err).splitlines() if "nothing answers on a..b:1: " in line]
    assert line.endswith("or correct --host and --port")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--auth", "foo"], "Invalid value for '--auth': 'foo' is not one of 'NONE', 'NOSASL', 'LDAP', 'CUSTOM'."),
        (["--port", "0"], "Invalid value for '--port': 0 is not in the range 1<=x<=65535."),
    ],
)
@pytest.mark.parametrize("command", ["doctor", "init", "diff"])
def test_an_auth_or_a_port_that_is_none_is_refused(
    capsys: pytest.CaptureFixture[str], command: str, arguments: list[str], said: str
) -> None:
    assert main([command, *arguments]) == 2
    assert capsys.readouterr().err == f"change_tables: {said}\n"


def test_a_server_that_dies_midway_is_one_error_that_no_closing_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dead(Answering):
        """A server that has died: closing fails, too."""

        def cursor(self) -> Dead:
            return self

        def close(self) -> None:
            raise TTransportException(message="TSocket read 0 bytes")

    dead = Dead({"show tables": TApplicationException(message="it has died")})
    monkeypatch.setattr(Address, "connect", lambda *_, **__: dead)
    lake = ThriftLake("127.0.0.1", 1)
    with pytest.raises(LakeError, match="it has died"):
        lake.tables("raw")
    lake.close()


@pytest.mark.parametrize("version", ["1", "dev", "0"])
def test_a_server_whose_version_has_no_parts_is_a_fault(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    findings = findings_on(monkeypatch, Answering({**RIGHT, "set": [(VERSION_SETTING, version)]}))
    assert findings["version"].detail == f"{version} on the server, {__version__} here"


@pytest.mark.parametrize("answer", OTHERS)
def test_a_program_that_is_no_spark_server_is_a_fault_and_no_wait_without_end(answer: bytes) -> None:
    with other_program(answer) as port:
        (finding,) = [each for each in found(target(port, timeout=1)) if each.check == "server"]
    assert finding.status == FAULT
    assert finding.detail.startswith(f"no session on 127.0.0.1:{port}: ")
    assert "\n" not in finding.detail
    assert "--port" in finding.remedy


RIGHT: Mapping[str, Any] = {
    "set": [("spark.sql.session.timeZone", "UTC"), (VERSION_SETTING, __version__)],
    "show functions": [*((entry.name,) for entry in CATALOG), ("abs",)],
    "select decode_change_mask": [("[1,2]",)],
    "show databases": [("default",), ("doctor",)],
    "select count": [(1,)],
    "create table": [],
    "drop table": [],
}
NO_RIGHT = OperationalError("the folder cannot be written\n  at org.example.Stack.trace")
WRONG: Mapping[str, tuple[str, Mapping[str, Any], str, str]] = {
    "another version": (
        "version",
        {"set": [(VERSION_SETTING, "99.0.0")]},
        f"99.0.0 on the server, {__version__} here",
        "bring 127.0.0.1:1 and this machine to one version, and the dbt package with them",
    ),
    "no functions": (
        "functions",
        {"show functions": [(entry.name,) for entry in CATALOG if not entry.name.startswith("split_")]},
        "split_change_seq, split_extent not registered",
        REMEDIES["functions"],
    ),
    "workers without pyarrow": (
        "functions",
        {"select decode_change_mask": OperationalError("No module named 'pyarrow'")},
        "No module named 'pyarrow'",
        REMEDIES["functions"],
    ),
    "another zone": (
        "session",
        {"set": [("spark.sql.session.timeZone", "Europe/Berlin"), ("spark.sql.caseSensitive", "true")]},
        "spark.sql.session.timeZone must be UTC, got 'Europe/Berlin';"
        " spark.sql.caseSensitive must be false, got 'true'",
        REMEDIES["session"],
    ),
    "the zone of the machine": (
        "session",
        {"set": [], "select current_timezone": [("Asia/Tokyo",)]},
        "spark.sql.session.timeZone must be UTC, got 'Asia/Tokyo'",
        REMEDIES["session"],
    ),
    "no metastore": ("metastore", {"show databases": NO_RIGHT}, "the folder cannot be written", REMEDIES["metastore"]),
    "no write": ("write access", {"create table": NO_RIGHT}, "the folder cannot be written", REMEDIES["write access"]),
}


class Answering:
    """A connection that answers statements by how they begin."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = answers
        self.sent: list[str] = []

    def cursor(self) -> Answering:
        return self

    def close(self) -> None:
        return None

    def execute(self, statement: str) -> None:
        self.sent.append(statement)
        if isinstance(self.answers[self._asked()], Exception):
            raise self.answers[self._asked()]

    def fetchall(self) -> Any:
        return self.answers[self._asked()]

    def _asked(self) -> str:
        (asked,) = [start for start in self.answers if re.match(rf"{start}\b", self.sent[-1])]
        return asked


def findings_on(monkeypatch: pytest.MonkeyPatch, connection: Answering) -> dict[str, Finding]:
    monkeypatch.setattr(doctor, "_connection", lambda _: (connection, Finding("server", OK, "there")))
    return {finding.check: finding for finding in found(target(1))}


def test_a_right_server_is_asked_for_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = findings_on(monkeypatch, Answering(RIGHT))
    assert {finding.status for finding in findings.values()} == {OK}


def test_a_server_that_says_no_version_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = findings_on(monkeypatch, Answering({**RIGHT, "set": [("spark.sql.session.timeZone", "UTC")]}))
    assert findings["version"].status == OK
    assert "does not say one" in findings["version"].detail


def test_a_server_that_others_run_is_no_fault_and_it_is_said_which_feeds_it_is_good_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = Answering({**RIGHT, "set": [("spark.sql.session.timeZone", "UTC")], "show functions": [("abs",)]})
    findings = findings_on(monkeypatch, connection)
    assert findings["functions"].status == OK
    assert "enough for Qlik change tables, Qlik Kafka messages in JSON" in findings["functions"].detail
    assert not any("decode_change_mask" in statement for statement in connection.sent)


@pytest.mark.parametrize("wrong", WRONG)
def test_each_fault_is_named_with_the_one_thing_to_do(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    check, answers, detail, remedy = WRONG[wrong]
    findings = findings_on(monkeypatch, Answering({**RIGHT, **answers}))
    assert findings[check] == Finding(check, FAULT, detail, remedy)


def test_a_schema_that_it_made_is_dropped_also_where_the_table_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"show databases": [("default",)], "create schema": [], "drop schema": [], "create table": NO_RIGHT}
    connection = Answering({**RIGHT, **answers})
    findings_on(monkeypatch, connection)
    assert connection.sent[-1] == "drop schema `doctor`"


def test_what_another_machine_needs_is_not_looked_for_on_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_connection", lambda _: (None, Finding("server", FAULT, "no", "start it")))
    findings = {finding.check: finding for finding in found(target(1, host="spark.example.org"))}
    assert [findings[check].status for check in ("Java", "jars")] == [NOT_CHECKED, NOT_CHECKED]


def test_a_missing_java_is_a_fault_with_its_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("CHANGE_TABLES_JARS", str(tmp_path / "jars"))
    findings = {finding.check: finding for finding in found(target(1))}
    assert findings["Java"] == Finding(
        "Java", FAULT, f"no Java at '{tmp_path}/bin/java'", "install Java 17 or 21, or set JAVA_HOME to one"
    )
    assert (findings["jars"].status, findings["jars"].remedy) == (FAULT, "run `python -m change_tables jars`")


@pytest.mark.parametrize(("version", "status"), [((3, 10, 9), FAULT), ((3, 11, 0), OK), ((3, 14, 0), FAULT)])
def test_a_python_that_the_package_is_not_made_for_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], status: str
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    (finding, *_) = found(target(1))
    assert (finding.status, finding.detail) == (status, ".".join(map(str, version)))


def test_the_pythons_are_those_of_the_metadata() -> None:
    declared = tomllib.loads((PAGE.parents[1] / "pyproject.toml").read_text())["project"]["requires-python"]
    first, last = PYTHON_VERSIONS
    assert declared == f">={first[0]}.{first[1]},<{last[0]}.{last[1] + 1}"


def test_a_terminal_gets_a_table_and_a_pipe_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    findings = [Finding("jars", FAULT, "none in [/lake]", "fetch them"), Finding("Java", OK, "17")]
    terminal = io.StringIO()
    assert show(iter(findings), Console(file=terminal, force_terminal=True, width=100)) == findings
    assert re.search(r"fault.* jars .* none in \[/lake\] .* fetch them", terminal.getvalue())
    assert show(iter(findings), Console(file=io.StringIO())) == findings
    assert capsys.readouterr().out == "fault: jars: none in [/lake]; fetch them\nok: Java: 17\n"
