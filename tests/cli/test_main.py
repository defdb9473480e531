"""The command line: where options come from, and what is said about mistakes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from change_tables import places
from change_tables.cli import doctor
from change_tables.cli.main import change_tables, main
from change_tables.generator import commands
from change_tables.generator.plan import Plan
from change_tables.server import thrift_server


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[thrift_server.Options]:
    """What servers would be started with, in an empty folder and without variables."""
    started: list[thrift_server.Options] = []
    monkeypatch.chdir(tmp_path)
    for name in ("HOST", "PORT", "CONFIG", "SERVER_HOST", "SERVER_PORT"):
        monkeypatch.delenv(f"CHANGE_TABLES_{name}", raising=False)
    monkeypatch.setattr(thrift_server, "_serve", started.append)
    return started


def test_an_option_is_taken_from_the_command_line_then_the_environment_then_the_file(
    served: list[thrift_server.Options], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["server"]) == 0
    Path("change_tables.toml").write_text('[server]\nport = 1\nconf = ["a=1", "b=2"]\nwarehouse = "lake"\n')
    assert main(["server"]) == 0
    monkeypatch.setenv("CHANGE_TABLES_SERVER_PORT", "2")
    assert main(["server"]) == 0
    assert main(["server", "--port", "3", "--conf", "c=3"]) == 0
    assert [options.port for options in served] == [10000, 1, 2, 3]
    assert [tuple(options.conf) for options in served] == [(), ("a=1", "b=2"), ("a=1", "b=2"), ("c=3",)]
    assert served[1].warehouse == Path("lake")


def test_where_clients_find_a_server_does_not_say_where_one_listens(
    served: list[thrift_server.Options], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHANGE_TABLES_HOST", "spark.example.org")
    monkeypatch.setenv("CHANGE_TABLES_PORT", "443")
    assert main(["server"]) == 0
    assert (served[0].host, served[0].port) == ("127.0.0.1", 10000)


def test_a_file_may_have_another_name(served: list[thrift_server.Options], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("change_tables.toml").write_text("[server]\nport = 1\n")
    Path("other.toml").write_text("[server]\nport = 2\n")
    assert main(["--config", "other.toml", "server"]) == 0
    monkeypatch.setenv("CHANGE_TABLES_CONFIG", "other.toml")
    assert main(["server"]) == 0
    assert [options.port for options in served] == [2, 2]


def test_a_file_with_a_byte_order_mark_is_read(served: list[thrift_server.Options]) -> None:
    Path("change_tables.toml").write_bytes(b"\xef\xbb\xbf[server]\nport = 1\n")
    assert main(["server"]) == 0
    assert served[0].port == 1


@pytest.mark.parametrize(
    "variable", ["VERSION", "HELP", "SERVER_HELP", "JARS_HELP", "DOCTOR_HELP", "INIT_HELP", "DIFF_HELP"]
)
def test_a_variable_does_not_ask_for_the_version_or_the_help(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
) -> None:
    monkeypatch.setenv(f"CHANGE_TABLES_{variable}", "1")
    command = variable.partition("_")[0].lower() if "_" in variable else "server"
    main([command, "--qqqq"])
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "change_tables: No such option '--qqqq'.\n")
    assert main([command, "--help"]) == 0
    assert f"{command} [OPTIONS]" in capsys.readouterr().out


@pytest.fixture
def asked(served: list[thrift_server.Options], monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:  # noqa: ARG001  # what it sets up is needed
    """What `init` and `diff` would be asked."""
    asked: list[dict[str, Any]] = []

    def plan(given: dict[str, Any]) -> Plan:
        asked.append(dict(given))
        return Plan()

    monkeypatch.setattr(commands, "_plan", plan)
    monkeypatch.setattr(commands, "_report", lambda *_: None)
    return asked


GIVEN: dict[str, Any] = {
    "format": "qlik_change_tables",
    "source": "shop",
    "raw_schema": "raw",
    "key": ("*:id", "lines:order,line"),
    "keys": Path("keys.csv"),
    "option": ("ignore=landed_at",),
    "history": ("order*",),
    "port": 10017,
}


@pytest.mark.parametrize("command", ["init", "diff"])
def test_all_options_of_init_and_diff_are_named_alike_in_the_file_and_in_variables(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def in_toml(value: Any) -> str:
        if isinstance(value, tuple):
            return f"[{', '.join(map(in_toml, value))}]"
        return str(value) if isinstance(value, int) else f'"{value}"'

    lines = [f"{name} = {in_toml(value)}\n" for name, value in GIVEN.items()]
    Path("change_tables.toml").write_text("".join(["[feeds.shop]\n", *lines]))
    assert main([command]) == 0
    Path("change_tables.toml").unlink()
    for name, value in GIVEN.items():
        text = " ".join(value) if isinstance(value, tuple) else str(value)
        monkeypatch.setenv(f"CHANGE_TABLES_{command.upper()}_{name.upper()}", text)
    assert main([command]) == 0
    assert [{name: given[name] for name in GIVEN} for given in asked] == [GIVEN, GIVEN]


FEEDS = (
    '[feeds.shop]\nformat = "qlik_kafka"\nraw_schema = "a"\n\n[feeds.erp]\nformat = "openedge_cdc"\nraw_schema = "b"\n'
)


@pytest.mark.parametrize("command", ["init", "diff"])
def test_a_feed_of_the_file_is_chosen_by_its_name_which_is_that_of_its_source(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    Path("change_tables.toml").write_text(FEEDS)
    assert main([command, "--feed", "erp"]) == 0
    assert main([command, "--feed", "shop", "--source", "other"]) == 0
    monkeypatch.setenv(f"CHANGE_TABLES_{command.upper()}_FEED", "erp")
    assert main([command, "--raw-schema", "c"]) == 0
    names = ("format", "source", "raw_schema")
    assert [tuple(given[name] for name in names) for given in asked] == [
        ("openedge_cdc", "erp", "b"),
        ("qlik_kafka", "other", "a"),
        ("openedge_cdc", "erp", "c"),
    ]
    monkeypatch.delenv(f"CHANGE_TABLES_{command.upper()}_FEED")
    assert main([command]) == 2
    assert main([command, "--feed", "crm"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "change_tables: Missing option '--format', '--source', '--raw-schema', or --feed, which is one of shop, erp",
        "change_tables: --feed must be a feed of the TOML file, got 'crm'; there: [feeds.shop], [feeds.erp]",
    ]


def test_the_variable_of_a_command_counts_more_than_that_of_all_clients(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    targets: list[doctor.Target] = []

    def found(target: doctor.Target) -> Iterator[doctor.Finding]:
        targets.append(target)
        return iter(())

    monkeypatch.setattr(doctor, "found", found)
    names = {"HOST": "host", "PORT": "1", "AUTH": "LDAP", "USER": "user", "PASSWORD": "word", "SCHEMA": "schema"}
    for command in ("", "INIT_", "DIFF_", "DOCTOR_"):
        for name, value in names.items():
            other = {"PORT": "2", "AUTH": "CUSTOM"}.get(name, f"{value}_2")
            monkeypatch.setenv(f"CHANGE_TABLES_{command}{name}", other if command else value)
    for command in ("init", "diff"):
        assert main([command, "--format", "qlik_change_tables", "--source", "s", "--raw-schema", "r"]) == 0
    assert main(["doctor"]) == 0
    expected: dict[str, Any] = {"host": "host_2", "port": 2, "auth": "CUSTOM", "user": "user_2", "password": "word_2"}
    assert [{name: given[name] for name in expected} for given in asked] == [expected, expected]
    assert targets == [doctor.Target(**expected, timeout=120, schema="schema_2")]


def test_an_error_that_nobody_has_foreseen_is_a_line_that_says_how_to_see_its_trace(
    served: list[thrift_server.Options], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_: thrift_server.Options) -> None:
        raise KeyError("no\nsuch thing")

    monkeypatch.setattr(thrift_server, "_serve", fails)
    monkeypatch.delenv("CHANGE_TABLES_DEBUG", raising=False)
    line = "change_tables: an error that is not foreseen, KeyError: 'no\\nsuch thing'; "
    assert main(["server"]) == 1
    assert capsys.readouterr().err == f"{line}to see where, set CHANGE_TABLES_DEBUG=1\n"
    monkeypatch.setenv("CHANGE_TABLES_DEBUG", "1")
    assert main(["server"]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("Traceback (most recent call last):\n")
    assert printed.endswith(f"\n{line}where is said above\n")
    assert served == []


COMMAND_NAMES = ", ".join(
    f"[{name}]" for name in change_tables.list_commands(click.Context(change_tables)) if name not in ("init", "diff")
)

MISTAKES = {
    "no file": (None, "cannot read a.toml: No such file or directory; correct --config"),
    "no TOML": ("[server\n", "a.toml is not valid TOML: "),
    "no UTF-8": (b"port = '\xff'", "a.toml is not valid TOML: "),
    "no command": ("[sever]\nport = 1\n", f"a.toml: 'sever' must be a section of a command: {COMMAND_NAMES}"),
    "no section": ("port = 1\n", f"a.toml: 'port' must be a section of a command: {COMMAND_NAMES}"),
    "no option": (
        "[server]\nprot = 1\n",
        "a.toml: [server] has no option 'prot', only master, host, port, warehouse, tables, metastore, ",
    ),
    "no option of another command": ("[doctor]\ncolour = 1\n", "a.toml: [doctor] has no option 'colour', only host, "),
    "a list": ("[server]\nport = [1]\n", "a.toml: [server] port must be a whole number, got [1]"),
    "no list": ('[server]\nconf = "a=1"\n', "a.toml: [server] conf must be a list of texts, got 'a=1'"),
    "a list of numbers": ("[server]\nconf = [1]\n", "a.toml: [server] conf must be a list of texts, got [1]"),
    "a fraction": ("[server]\nport = 1.9\n", "a.toml: [server] port must be a whole number, got 1.9"),
    "a flag as number": ("[server]\nport = true\n", "a.toml: [server] port must be a whole number, got true"),
    "a number as folder": ("[server]\nwarehouse = 5\n", "a.toml: [server] warehouse must be a text, got 5"),
    "a date": ("[server]\nhost = 2026-01-02\n", "a.toml: [server] host must be a text, got 2026-01-02"),
    "a number as flag": ("[feeds.a]\nuse_ssl = 5\n", "a.toml: [feeds.a] use_ssl must be true or false, got 5"),
    "a number as file": ("[feeds.a]\nkeys = 5\n", "a.toml: [feeds.a] keys must be a text, got 5"),
    "a number as project": ("[feeds.a]\nproject_dir = 5\n", "a.toml: [feeds.a] project_dir must be a text, got 5"),
    "an option of init alone": (
        "[feeds.a]\ndry_run = true\n",
        "a.toml: [feeds.a] has no option 'dry_run', only format, ",
    ),
    "a feed without a section": ("feeds = 5\n", "a.toml: 'feeds' must be a section of a command: "),
    "an option among feeds": ("[feeds]\nformat = 'x'\n", "a.toml: 'feeds' must be a section of a command: "),
    "a section of init": (
        "[init]\nsource = 'shop'\n",
        "a.toml: [init] must be [feeds.NAME], a section that init and diff both read, such as [feeds.shop]",
    ),
    "a section of diff": ("[diff]\nsource = 'shop'\n", "a.toml: [diff] must be [feeds.NAME], "),
    "help": ("[server]\nhelp = true\n", "a.toml: [server] has no option 'help', only master, host, port, "),
    "no number": ('[server]\nport = "x"\n', "Invalid value for '--port': 'x' is not a valid integer range."),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_file_is_one_line(
    served: list[thrift_server.Options], capsys: pytest.CaptureFixture[str], mistake: str
) -> None:
    text, said = MISTAKES[mistake]
    if text is not None:
        Path("a.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert main(["--config", "a.toml", "server"]) != 0
    printed = capsys.readouterr().err
    assert printed.startswith(f"change_tables: {said}")
    assert len(printed.splitlines()) == 1
    assert served == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "No such command 'nonsense'."),
        (["server", "--nonsense"], "No such option '--nonsense'."),
        (["server", "--port", "x"], "Invalid value for '--port': 'x' is not a valid integer range."),
        (["server", "more"], "Got unexpected extra argument (more)"),
        *(
            (
                ["forget", "orders", "--key", key],
                "Invalid value for '--key': it must be a JSON object of the key's columns, such as '{\"id\": 7}'.",
            )
            for key in ("7", "id=7", "[7]", "")
        ),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"change_tables: {said}\n"


def test_without_a_command_it_lists_those_that_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    printed = capsys.readouterr()
    assert all(f"\n  {name} " in printed.out + printed.err for name in ("server", "jars", "doctor"))


def test_installed_things_are_in_the_user_s_folders_and_those_of_a_checkout_in_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert places.checkout() == Path(__file__).resolve().parents[2]
    monkeypatch.setattr(places, "__file__", str(tmp_path / "site-packages" / "change_tables" / "places.py"))
    assert places.checkout() is None
    assert places.command_name("jars") == "change-tables jars"
    monkeypatch.setenv("HOME", str(tmp_path))
    for given, expected in (
        ("", tmp_path / ".cache" / "change_tables"),
        ("relative", tmp_path / ".cache" / "change_tables"),
        ("/elsewhere", Path("/elsewhere/change_tables")),
    ):
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert places.users_folder("XDG_CACHE_HOME", ".cache") == expected


def test_the_wheel_s_command_is_this_one_and_its_dependencies_are_not_pinned() -> None:
    project: dict[str, Any] = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"change-tables": "change_tables.cli.main:main"}
    needed = [*project["dependencies"], *project["optional-dependencies"]["dbt"]]
    assert [each for each in needed if "==" in each] == []
