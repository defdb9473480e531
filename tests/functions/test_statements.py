"""The statements that make the functions elsewhere: their bodies stand alone, and give what the catalogue says."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from change_tables.cli.main import change_tables
from change_tables.udfs.catalog import CATALOG

STATEMENT = re.compile(
    r"create or replace function `it``s`\.`shop`\.(?P<name>\w+) \((?P<parameters>.*)\)\nreturns (?P<returns>.*)\n"
    r"language python\ndeterministic\ncomment '.*'\n"
    r"(?:environment \(dependencies = '\[(?P<dependencies>.*)\]', environment_version = 'None'\)\n)?"
    r"as \$\$\n(?P<body>(?:(?!\$\$)[\s\S])*)\$\$;\n"
)
IN_A_PROCESS_OF_ITS_OWN = """
import pickle, sys, textwrap
for name, parameters, body, calls in pickle.load(sys.stdin.buffer):
    space = {}
    exec(f"def {name}({', '.join(parameters)}):\\n{textwrap.indent(body, '    ')}", space)
    for arguments, expected in calls:
        found = space[name](*arguments)
        assert (found, type(found)) == (expected, type(expected)), f"{name}{arguments} is {found}, not {expected}"
assert not any(name.partition(".")[0] in ("change_tables", "udfs") for name in sys.modules)
print("all of them")
"""


@pytest.fixture(scope="module")
def printed() -> dict[str, re.Match[str]]:
    """What the command prints, by function; nothing else is printed."""
    found = CliRunner().invoke(change_tables, ["functions", "--catalog", "it`s", "--schema", "shop"])
    statements = list(STATEMENT.finditer(found.output))
    assert found.exit_code == 0
    assert "\n".join(statement[0] for statement in statements) + "\n" == found.output
    return {statement["name"]: statement for statement in statements}


def test_each_function_is_made_with_its_types(printed: dict[str, re.Match[str]]) -> None:
    made = {name: (statement["parameters"], statement["returns"]) for name, statement in printed.items()}
    assert made == {
        entry.name: (
            ", ".join(f"{argument.name} {argument.sql_types[0]}" for argument in entry.arguments),
            entry.return_type,
        )
        for entry in CATALOG
    }


def test_what_a_function_imports_is_asked_for(printed: dict[str, re.Match[str]]) -> None:
    asked = {name: statement["dependencies"] for name, statement in printed.items() if statement["dependencies"]}
    of_avro, of_xml = r'"fastavro==[\d.]+"', r'"lxml==[\d.]+"'
    wanted = {"read_avro_envelope": of_avro, "avro_to_json": of_avro}
    wanted |= {"format_association": of_xml, "build_xds_document": of_xml}
    assert asked.keys() == wanted.keys()
    assert all(re.fullmatch(wanted[name], dependencies) for name, dependencies in asked.items())


def test_a_body_gives_what_the_function_gives_without_the_package(
    printed: dict[str, re.Match[str]], tmp_path: Path
) -> None:
    functions = []
    for entry in CATALOG:
        types = [argument.sql_types[0] for argument in entry.arguments]
        calls = [
            (example.arguments, example.expected)
            for example in entry.examples
            if not any(
                isinstance(value, bytes) and sql_type == "string"
                for value, sql_type in zip(example.arguments, types, strict=True)
            )
        ]
        assert len(calls) > 1
        functions.append(
            (entry.name, [argument.name for argument in entry.arguments], printed[entry.name]["body"], calls)
        )
    command = [sys.executable, "-I", "-c", IN_A_PROCESS_OF_ITS_OWN]
    ran = subprocess.run(command, input=pickle.dumps(functions), cwd=tmp_path, capture_output=True, check=False)
    assert ran.stdout.decode() == "all of them\n", ran.stderr.decode()
