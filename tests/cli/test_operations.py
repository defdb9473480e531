"""Commands that run an operation of dbt: what they do beside it."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner

from change_tables.cli.operations import forget


@pytest.mark.parametrize(
    ("options", "said"),
    [((), "deleted; `change-tables report` writes it again"), (("--dry-run",), "to be deleted")],
)
def test_forget_deletes_the_report_which_can_show_values_and_names_the_log(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    report, log = tmp_path / "target/report.html", tmp_path / "logs/dbt.log"
    for path in (report, log):
        path.parent.mkdir()
        path.write_text("Ann")
    with mock.patch("change_tables.cli.operations.run_operation") as run:
        found = CliRunner().invoke(
            forget, ["customers", "--key", '{"id": 7}', "--project-dir", str(tmp_path), *options]
        )
    assert (found.exit_code, run.call_count) == (0, 1), found.output
    assert found.output.splitlines() == [
        f"{report}: {said}",
        f"to know: {log} may hold values: delete it",
    ]
    assert report.exists() == bool(options)
    assert log.exists()
