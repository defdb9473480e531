"""Who may come in: what the server refuses before Spark starts. None of these needs a JVM."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from change_tables.cli.main import main
from change_tables.server.doors import HIVE, DoorsError, check_addresses, doors_of, hand_to_hive

LDAP = {HIVE + "authentication": "LDAP", HIVE + "authentication.ldap.url": "ldaps://ldap.example.org"}
HTTP = {HIVE + "transport.mode": "http"}
ASKS_NOBODY = "can be reached from other machines, and the server would ask nobody for a password"


def doors(
    settings: Mapping[str, str], environment: Mapping[str, str] | None = None, *, allow_anonymous: bool = False
) -> tuple[str, tuple[str, ...]]:
    """Address and warnings of a server with the settings of the command's defaults and these."""
    defaults = {HIVE + "thrift.bind.host": "127.0.0.1", HIVE + "thrift.port": "10000"}
    found = doors_of({**defaults, **settings}, environment or {}, allow_anonymous=allow_anonymous)
    return found.host, found.warnings


def refusal(settings: Mapping[str, str], environment: Mapping[str, str] | None = None) -> str:
    with pytest.raises(DoorsError) as refused:
        doors(settings, environment)
    return str(refused.value)


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two names: one of this machine alone, and one with a second address that others reach."""
    known = {"closed.example.org": ["127.0.0.1", "::1"], "open.example.org": ["127.0.0.1", "192.0.2.1"]}
    real = socket.getaddrinfo

    def look_up(host: str, *others: object) -> list[tuple[object, ...]]:
        if host in known:
            return [(0, 0, 0, "", (address, 0)) for address in known[host]]
        return list(real(host, *others))  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.1.1", "localhost", "::1", "::ffff:127.0.0.1", "closed.example.org"]
)
def test_on_loopback_nobody_needs_a_password(host: str) -> None:
    assert doors({HIVE + "thrift.bind.host": host}) == (host, ())


@pytest.mark.parametrize("host", ["", "0.0.0.0", "0", "::", "192.0.2.1", "::ffff:192.0.2.1", "open.example.org"])
def test_beyond_loopback_a_server_without_passwords_is_refused(host: str) -> None:
    settings = {HIVE + "thrift.bind.host": host}
    assert refusal(settings).startswith(f"{host or '0.0.0.0'} {ASKS_NOBODY}: set {HIVE}authentication")
    assert ASKS_NOBODY in refusal(settings | {HIVE + "authentication": "NONE"})
    assert ASKS_NOBODY in refusal(settings | {HIVE + "authentication": "NOSASL"})
    assert doors(settings | LDAP)[0] == (host or "0.0.0.0")


def test_over_http_hive_listens_on_all_addresses_whatever_the_host_is() -> None:
    assert refusal(HTTP).startswith("0.0.0.0 can be reached from other machines, as always with")
    assert "must be binary or http, got 'https'" in refusal({HIVE + "transport.mode": "https"})
    assert doors(HTTP | LDAP)[0] == "0.0.0.0"


def test_to_allow_the_anonymous_is_possible_with_a_warning() -> None:
    host, warnings = doors({HIVE + "thrift.bind.host": "0.0.0.0"}, allow_anonymous=True)
    assert host == "0.0.0.0"
    assert [warning.split(",")[1] for warning in warnings] == [
        " and whoever reaches the server reads and writes everything",
        " and rows cross the network in plain text: set spark.hadoop.hive.server2.use.SSL (docs/servers.md)",
    ]


def test_passwords_in_plain_text_are_a_warning_unless_there_is_tls(tmp_path: Path) -> None:
    everywhere = {HIVE + "thrift.bind.host": "0.0.0.0", **LDAP}
    assert ["passwords and rows cross the network in plain text" in each for each in doors(everywhere)[1]] == [True]
    (tmp_path / "keystore").touch()
    tls = {HIVE + "use.SSL": "true", HIVE + "keystore.path": str(tmp_path / "keystore")}
    password = {HIVE + "keystore.password": "${env.PASSWORD}"}
    assert doors(everywhere | tls | password, {"PASSWORD": "secret"})[1] == ()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HIVE_SERVER2_THRIFT_BIND_HOST", "0.0.0.0"),
        ("HIVE_SERVER2_THRIFT_BIND_HOST", ""),
        ("HIVE_SERVER2_TRANSPORT_MODE", "http"),
        ("HIVE_SERVER2_THRIFT_PORT", "10001"),
    ],
)
def test_variables_that_count_more_for_hive_than_the_options_are_refused(variable: str, value: str) -> None:
    assert refusal({}, {variable: value}).startswith(f"the variable {variable} is '{value}'")
    assert "unset it, and use --host and --port" in refusal(LDAP, {variable: value})
    assert doors({}, {"HIVE_SERVER2_THRIFT_BIND_HOST": "127.0.0.1"}) == ("127.0.0.1", ())


WRONG: Mapping[str, tuple[Mapping[str, str], str]] = {
    "another spelling of a kind": (LDAP | {HIVE + "authentication": "ldap"}, "got 'ldap'"),
    "a kind that Hive does not know": (LDAP | {HIVE + "authentication": "LDPA"}, "LDAP, KERBEROS, CUSTOM, PAM, NONE"),
    "LDAP without a server": ({HIVE + "authentication": "LDAP"}, f"needs {HIVE}authentication.ldap.url"),
    "a class that is not named": ({HIVE + "authentication": "CUSTOM"}, f"needs {HIVE}custom.authentication.class"),
    "a filter that Spark does not apply": (LDAP | {HIVE + "authentication.ldap.userFilter": "dbt"}, "has no effect"),
    "a setting of LDAP in other letters": (LDAP | {HIVE + "authentication.ldap.basedn": "dc=a"}, "has no effect"),
    "settings of LDAP alone": ({HIVE + "authentication.ldap.url": "ldap://a"}, "has no effect without"),
    "a name without spark.hadoop": ({"hive.server2.authentication": "LDAP"}, f"spelt {HIVE}authentication"),
    "Spark's other prefix": ({"spark.hive.server2.thrift.bind.host": "::"}, f"spelt {HIVE}thrift.bind.host"),
    "TLS without a keystore": ({HIVE + "use.SSL": "true"}, "must be the file of a keystore, got ''"),
    "TLS without a password": ({HIVE + "use.SSL": "TRUE", HIVE + "keystore.path": __file__}, "keystore.password: set"),
    "a password in the open": ({HIVE + "keystore.password": "secret"}, "would be seen on the command line"),
    "a variable that is not set": ({HIVE + "keystore.password": "${env.NOT_SET}"}, "variable NOT_SET, which is not"),
    "a port that is none": ({HIVE + "thrift.port": "ten"}, "must be a whole number, got 'ten'"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_setting_that_would_have_no_effect_or_show_a_secret_is_refused(wrong: str) -> None:
    settings, words = WRONG[wrong]
    said = refusal(settings)
    assert words in said
    assert "secret'" not in said
    assert len(said.splitlines()) == 1


def test_the_command_refuses_in_one_line_that_says_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for open_door in (
        ["--host", "0.0.0.0"],
        ["--host", "::"],
        ["--host", ""],
        ["--conf", f"{HIVE}thrift.bind.host=0.0.0.0"],
        ["--conf", f"{HIVE}transport.mode=http"],
    ):
        assert main(["server", "--port", "0", "--warehouse", str(tmp_path / "none"), *open_door]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("change_tables: ")
        assert line.endswith(
            "ask nobody for a password: set spark.hadoop.hive.server2.authentication (docs/servers.md), listen on"
            " 127.0.0.1, or say --allow-anonymous"
        )
    assert not (tmp_path / "none").exists()


def test_a_server_that_listens_elsewhere_than_it_should_is_found_out() -> None:
    local = doors_of({HIVE + "thrift.bind.host": "127.0.0.1", HIVE + "thrift.port": "0"}, {}, allow_anonymous=False)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        check_addresses(local, os.getpid(), closed.getsockname()[1])
    with socket.create_server(("", 0)) as opened, pytest.raises(DoorsError, match=r"listens on 0\.0\.0\.0, not on"):
        check_addresses(local, os.getpid(), opened.getsockname()[1])


def spark_that_says(of_the_session: str | None, of_spark: str | None = None) -> MagicMock:
    """A session of Spark whose files set the kind of authentication."""
    spark = MagicMock()
    spark._jsparkSession.sessionState().newHadoopConf().get.return_value = of_the_session
    spark._jsc.sc().conf().get.side_effect = lambda _, default: of_spark or default
    return spark


def test_hive_gets_its_settings_and_no_others() -> None:
    spark = spark_that_says("LDAP")
    hand_to_hive(spark, {**LDAP, "spark.hadoop.fs.defaultFS": "file:///"})
    given = {call.args for call in spark._jvm.java.lang.System.setProperty.call_args_list}
    assert given == {(name.removeprefix("spark.hadoop."), value) for name, value in LDAP.items()}


@pytest.mark.parametrize("said", [("NONE", None), ("LDAP", "NONE")])
def test_a_file_of_spark_or_hive_that_opens_the_door_again_is_refused(said: tuple[str, str | None]) -> None:
    with pytest.raises(DoorsError, match="is NONE in a configuration file of Spark or Hive, and LDAP by --conf"):
        hand_to_hive(spark_that_says(*said), LDAP)
    hand_to_hive(spark_that_says(*said), {})
