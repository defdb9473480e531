"""`integration_tests/`: somebody else's project gets the same behaviour, and no model of ours."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from dbt.artifacts.schemas.run import RunExecutionResult
from dbt.cli.main import dbtRunner

from udfs.local_server import LocalServer

from .consumer import REPOSITORY
from .landing import Raw
from .qlik_cases import COLUMNS, HEADERS, full

ROWS = [
    full(10, "I", 7, "new"),
    full(20, "B", 7, "new"),
    full(20, "U", 7, "paid"),
    full(20, "U", 7, "paid"),
    full(30, "X", 7, "what is this"),
]


def test_a_project_that_installs_the_package_gets_its_behaviour_and_none_of_its_models(
    server: LocalServer, raw: Raw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "integration_tests"
    shutil.copytree(REPOSITORY / "integration_tests", project, ignore=shutil.ignore_patterns("dbt_packages", "target"))
    (project / "packages.yml").write_text(f"packages: [{{local: {REPOSITORY}}}]\n")
    for schema in ("integration_tests", "integration_tests_raw"):
        raw.query(f"drop schema if exists {schema} cascade")
    names = dict(zip(COLUMNS, ("order_id", "status", "amount"), strict=True))
    columns = {names[name]: data_type for name, data_type in COLUMNS.items()}
    raw.create(
        "integration_tests_raw.orders__ct", {f"header__{name}": kind for name, kind in HEADERS.items()} | columns
    )
    raw.insert("integration_tests_raw.orders__ct", ROWS)
    monkeypatch.setenv("CHANGE_TABLES_HOST", server.host)
    monkeypatch.setenv("CHANGE_TABLES_PORT", str(server.port))
    folders = ["--project-dir", str(project), "--profiles-dir", str(project)]
    assert dbtRunner().invoke(["--quiet", "deps", *folders]).success
    result = dbtRunner().invoke(["--quiet", "build", *folders])
    assert result.success
    assert isinstance(result.result, RunExecutionResult)
    built = {node.node.name for node in result.result.results if node.node.resource_type in ("model", "seed")}
    assert built == {
        "stg_shop__orders",
        "dedup_shop__orders",
        "current_shop__orders",
        "rejected_changes",
        "reported_changes",
        "reason_codes",
        "goldengate_io_types",
    }
    assert raw.query("select order_id, status, _change_op from integration_tests.current_shop__orders") == [
        (7, "paid", "update")
    ]
    assert raw.query("select reason_code from integration_tests.rejected_changes") == [("unknown_operation",)]
