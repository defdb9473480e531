"""`change-tables report`: says what to do next, and writes a page, JSON and metrics."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from change_tables.server.connection import Address, NoSessionError, address_options

from .facts import Facts, read_run_results
from .findings import ACT, Finding, Thresholds, findings_of
from .reading import ReadingError, Session, Wish, read_facts
from .table_formats import table_format_of
from .texts import as_json, worst, write_whole

Writer = Callable[[Facts, list[Finding], Thresholds], str]
"""Makes the text of a file."""

_C = TypeVar("_C", bound=Callable[..., Any])
_FILE = click.Path(dir_okay=False, path_type=Path)
_ABOVE = click.FloatRange(0, min_open=True)


def _thresholds(command: _C) -> _C:
    """An option for each threshold."""
    for name, kind, meaning in reversed(
        (
            ("rejected-share", click.FloatRange(0, 1), "Act where more of the last run's rows were rejected."),
            ("waiting-hours", _ABOVE, "Act where a row has waited longer."),
            ("stopped-hours", _ABOVE, "Act where no table of a source has a change that is newer."),
            ("old-hours", _ABOVE, "Watch where a table has no change that is newer."),
            ("lag-hours", _ABOVE, "Watch where a run found nothing newer than so long before it."),
            ("died-hours", _ABOVE, "Take a run without an end for dead after so long."),
            ("slow-seconds", _ABOVE, "Watch where a model took longer."),
        )
    ):
        default = getattr(Thresholds, name.replace("-", "_"))
        command = click.option(f"--{name}", default=default, show_default=True, type=kind, help=meaning)(command)
    return command


@click.command("report", short_help="Say what to do next; write a page, JSON and metrics of all tables.")
@address_options("report")
@click.option(
    "--schema",
    default="change_tables",
    show_default=True,
    envvar=["CHANGE_TABLES_REPORT_SCHEMA", "CHANGE_TABLES_SCHEMA"],
    help="Schema of the table of the runs.",
)
@click.option("--runs-table", default=Wish.runs_table, show_default=True, help="The table of the runs.")
@click.option("--html", type=_FILE, help="Write a page, which needs nothing but this file.")
@click.option("--json", type=_FILE, help="Write the facts as JSON.")
@click.option("--openmetrics", type=_FILE, help="Write metrics; for node exporter's textfile folder, end it in .prom.")
@click.option("--exit-code", is_flag=True, help="End with 1 where a person is needed.")
@click.option("--run-results", type=_FILE, help="dbt's run_results.json: models that failed or are slow.")
@click.option(
    "--runs", default=Wish.runs, show_default=True, type=click.IntRange(1), help="How many runs of each table."
)
@click.option(
    "--samples",
    default=Wish.samples,
    show_default=True,
    type=click.IntRange(0),
    help="How many rows of each code are shown; 0 leaves data out.",
)
@click.option("--no-sizes", is_flag=True, help="Do not ask for sizes: a statement less for each table.")
@_thresholds
@click.option(
    "--timeout",
    default=120,
    show_default=True,
    type=click.IntRange(1),
    help="Seconds to wait for a session; statements may take longer.",
)
@click.help_option(allow_from_autoenv=False)
@click.pass_context
def report(context: click.Context, /, **given: Any) -> None:
    """Say what to do next, the most urgent first, and write what the runs of all tables have found.

    Reads the table of the runs; of tables with rejected, waiting or reported rows, also what their logs keep.
    """
    thresholds = Thresholds(**{field.name: given[field.name] for field in fields(Thresholds)})
    wish = Wish(given["schema"], given["runs_table"], given["runs"], given["samples"], not given["no_sizes"])
    address = Address(
        **{name: given[name] for name in ("host", "port", "auth", "user", "password", "timeout", "use_ssl")}
    )
    try:
        writers = _writers({name: given[name] for name in ("html", "json", "openmetrics")})
        nodes = read_run_results(given["run_results"]) if given["run_results"] else ()
        console = Console(stderr=True)
        with console.status("connecting") as status:
            session = Session(address)
            try:
                facts = read_facts(
                    session.query, wish, datetime.now(UTC), nodes, status.update, table_format_of(session.query)
                )
            finally:
                session.close()
        findings = findings_of(facts, thresholds)
        for file, write in writers:
            write_whole(file, write(facts, findings, thresholds))
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from error
    except (NoSessionError, ReadingError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    show(findings, len(facts.tables))
    context.exit(1 if given["exit_code"] and worst(findings) == ACT else 0)


def _writers(files: Mapping[str, Path | None]) -> list[tuple[Path, Writer]]:
    """The files that are wanted, each with what makes its text.

    Raises:
        click.ClickException: what makes it is not installed.
    """
    writers: list[tuple[Path, Writer]] = []
    try:
        if html := files["html"]:
            from .page import as_page

            writers.append((html, lambda *made_of: as_page(as_json(*made_of))))
        if file := files["json"]:
            writers.append((file, lambda *made_of: json.dumps(as_json(*made_of), indent=1) + "\n"))
        if openmetrics := files["openmetrics"]:
            from .metrics import as_metrics

            writers.append((openmetrics, lambda facts, findings, _: as_metrics(facts, findings)))
    except ModuleNotFoundError as error:
        raise click.ClickException(f"{error.name} is not here: pip install 'change-tables[report]'") from None
    return writers


def show(findings: list[Finding], tables: int) -> None:
    """A line for each finding, below it what to paste, and at the end a line that counts."""
    for finding in findings:
        click.echo(" ".join(f"{finding.state}: {finding.place}: {finding.what}; {finding.remedy}".split()))
        for text in finding.paste:
            click.echo("\n".join(f"    {line}" for line in text.splitlines()))
    acts = sum(finding.state == ACT for finding in findings)
    click.echo(f"{_counted(tables, 'table')}, {_counted(acts, 'thing')} to do, {len(findings) - acts} to watch")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
