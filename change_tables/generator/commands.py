"""`change-tables init` writes a project's part for a feed; `change-tables diff` says what it would write."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from change_tables.cli.command_line import FEEDS
from change_tables.server.connection import address_options

from .formats import FORMATS, reader_of
from .found import Found, LakeError
from .keys import Keys, KeysError, parse_rule, read_keys
from .lake import ThriftLake
from .plan import Plan, Wish
from .project import make_plan
from .project_files import Project, ProjectError
from .yaml_files import YamlFileError

_SHOWN = 20
"""How many lines of a kind are shown; of those that need a hand, all are."""


class _Refused(click.ClickException):
    """What cannot be done; said as every error of the package is."""

    def show(self, file: IO[Any] | None = None) -> None:
        """One line."""
        click.echo(f"change_tables: {self.message}", file=file or sys.stderr)


def _choose_feed(context: click.Context, _: click.Parameter, name: str | None) -> None:
    """Take the options of a feed of the TOML file; `source` is the feed's name unless it says another.

    Raises:
        click.UsageError: there is no such feed.
    """
    feeds: Mapping[str, Mapping[str, Any]] = context.meta.get(FEEDS, {})
    if name is not None and name not in feeds:
        there = ", ".join(f"[feeds.{feed}]" for feed in feeds) or "none"
        raise click.UsageError(f"--feed must be a feed of the TOML file, got '{name}'; there: {there}")
    chosen = name if name is not None else next(iter(feeds)) if len(feeds) == 1 else None
    if chosen is not None:
        context.default_map = {"source": chosen, **feeds[chosen]}


def _refuse_missing(context: click.Context, given: Mapping[str, Any]) -> None:
    missing = [f"--{name.replace('_', '-')}" for name in ("format", "source", "raw_schema") if not given[name]]
    if missing:
        feeds = ", ".join(context.meta.get(FEEDS, {}))
        text = f"Missing option {', '.join(map(repr, missing))}"
        raise click.UsageError(f"{text}, or --feed, which is one of {feeds}" if feeds else text, context)


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """What both commands take. The variables and the TOML file have the names of the options."""
    folder = click.Path(file_okay=False, path_type=Path)
    for option in reversed(
        (
            click.option(
                "--feed",
                is_eager=True,
                expose_value=False,
                callback=_choose_feed,
                help="The feed [feeds.NAME] of the TOML file; left out: the only one that is there.",
            ),
            click.option("--format", type=click.Choice(sorted(FORMATS)), help="The kind of feed; must be given."),
            click.option("--source", help="The name of the source in the sources file; must be given."),
            click.option("--raw-schema", help="The schema of the raw tables; must be given."),
            click.option("--project-dir", type=folder, default=Path(), help="The dbt project (default: this folder)."),
            click.option(
                "--folder", type=folder, help="Where the models are written, in the project (default: models/SOURCE)."
            ),
            click.option(
                "--key",
                multiple=True,
                metavar="PATTERN:COLUMNS",
                help="Key columns, as in '*:id'; repeatable.",
            ),
            click.option(
                "--keys",
                type=click.Path(dir_okay=False, path_type=Path),
                help="A CSV file with the columns table and key.",
            ),
            click.option("--include", multiple=True, metavar="PATTERN", help="Only these tables; repeatable."),
            click.option("--exclude", multiple=True, metavar="PATTERN", help="Not these tables; repeatable."),
            click.option("--history", multiple=True, metavar="PATTERN", help="Histories of these tables; repeatable."),
            click.option("--freshness-column", default="", help="A raw column, or SQL, that says when a row landed."),
            click.option("--arrival", default="", help="A raw column that never decreases as rows land, or 'files'."),
            click.option(
                "--analysts-schema",
                default="analysts",
                show_default=True,
                help="The +schema of a new source's current models and histories; '' for that of all models.",
            ),
            click.option("--option", multiple=True, metavar="NAME=VALUE", help="An option of the format; repeatable."),
        )
    ):
        command = option(command)
    return command


def _timeout(command: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--timeout",
        default=120,
        show_default=True,
        type=click.IntRange(1),
        help="Seconds to wait for a session; statements may take longer.",
    )(command)


def _epilog() -> str:
    lines = ["\b", "Options of the formats:"]
    for name in sorted(FORMATS):
        options = reader_of(name)[1]
        lines += [f"  {name}", *(f"    {option}: {meaning}" for option, meaning in options.items())]
    return "\n".join(lines)


@click.command("init", short_help="Write a project's part for a feed: sources, models, descriptions, tests.")
@_options
@address_options("init")
@_timeout
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.help_option(allow_from_autoenv=False)
@click.pass_context
def init(context: click.Context, /, dry_run: bool, **given: Any) -> None:
    """Write a dbt project's part for a feed, or bring it up to date.

    Reads which tables a schema has, and writes their entries of a sources file, their models, descriptions and tests.
    What is there stays: run again, it adds new tables and columns, and widens types. Exits with 1 where a table was
    left out.
    """
    _refuse_missing(context, given)
    plan = _plan(given)
    if not dry_run:
        try:
            plan.write()
        except OSError as error:
            raise _Refused(f"{error.filename}: cannot be written: {error.strerror}") from error
    _report(plan, "would be written" if dry_run else "written")
    context.exit(1 if plan.troubles else 0)


@click.command("diff", short_help="Say where a project is out of step with a feed.")
@_options
@address_options("diff")
@_timeout
@click.help_option(allow_from_autoenv=False)
@click.pass_context
def diff(context: click.Context, /, **given: Any) -> None:
    """Say what `init` would write, and write nothing. Exits with 1 where the project is out of step with the feed."""
    _refuse_missing(context, given)
    plan = _plan(given)
    _report(plan, "would be written")
    context.exit(0 if plan.is_in_step else 1)


def _plan(given: Mapping[str, Any]) -> Plan:
    feed: str = given["format"]
    try:
        wish = _wish(given)
        project = Project(given["project_dir"])
        read, known = reader_of(feed)
        options = _format_options(given["option"], known, feed)
        with _Bar() as bar:
            bar.say("connecting")
            names = ("host", "port", "auth", "user", "password", "timeout", "use_ssl")
            lake = _Watched(ThriftLake(**{name: given[name] for name in names}), bar)
            try:
                found: Found = read(lake, wish.raw_schema, options)
                bar.say("comparing with the project")
                return make_plan(project, found, lake, wish)
            finally:
                lake.close()
    except (LakeError, KeysError, ProjectError, YamlFileError, ValueError) as error:
        raise _Refused(str(error)) from error


def _wish(given: Mapping[str, Any]) -> Wish:
    project_dir: Path = given["project_dir"]
    file: Path | None = given["keys"]
    return Wish(
        format=given["format"],
        source=given["source"],
        raw_schema=given["raw_schema"],
        folder=project_dir / (given["folder"] or Path("models") / given["source"]),
        keys=Keys(
            [parse_rule(rule) for rule in _rules(given["key"])], read_keys(file) if file else {}, str(file or "")
        ),
        include=given["include"],
        exclude=given["exclude"],
        history=given["history"],
        freshness_column=given["freshness_column"].strip(),
        arrival=given["arrival"].strip(),
        analysts_schema=given["analysts_schema"].strip(),
    )


def _rules(given: Sequence[str]) -> list[str]:
    """What `--key` says. In a variable, blanks separate values: what has no colon there belongs to the one before."""
    if click.get_current_context().get_parameter_source("key") is not click.core.ParameterSource.ENVIRONMENT:
        return list(given)
    rules: list[str] = []
    for text in given:
        if ":" in text or not rules:
            rules.append(text)
        else:
            rules[-1] += f" {text}"
    return rules


def _format_options(given: Sequence[str], known: Mapping[str, str], feed: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or name not in known:
            meanings = "; ".join(f"{option}: {meaning}" for option, meaning in known.items()) or "none"
            raise ValueError(f"--option must be name=value of format {feed}, got '{text}'; allowed: {meanings}")
        options[name] = value
    return options


class _Bar:
    """A progress bar on a terminal; elsewhere nothing."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._progress.add_task("", total=None)

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, what: str, total: int | None = None) -> None:
        """What is being done."""
        if total is None:
            self._progress.update(self._task, description=what)
        else:
            self._progress.update(self._task, description=what, total=total)

    def advance(self) -> None:
        """One table more."""
        self._progress.advance(self._task)


class _Watched:
    """A lake that says to a bar what it is asked."""

    def __init__(self, lake: ThriftLake, bar: _Bar) -> None:
        self._lake, self._bar = lake, bar

    def tables(self, schema: str) -> list[str]:
        """As of the lake."""
        tables = self._lake.tables(schema)
        self._bar.say(f"reading {schema}", len(tables))
        return tables

    def columns(self, schema: str, table: str) -> list[tuple[str, str]]:
        """As of the lake."""
        self._bar.say(f"reading {table}")
        columns = self._lake.columns(schema, table)
        self._bar.advance()
        return columns

    def comments(self, schema: str, table: str) -> dict[str, str]:
        """As of the lake."""
        return self._lake.comments(schema, table)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """As of the lake."""
        return self._lake.query(statement)

    def close(self) -> None:
        """As of the lake."""
        self._lake.close()


def _report(plan: Plan, done: str) -> None:
    """What the plan has: a line each, and a table at the end."""
    console = Console(highlight=False, soft_wrap=True, markup=False)
    for trouble in plan.troubles:
        click.echo(f"change_tables: {trouble.place}: {trouble.text}", err=True)
    _list(console, "new", plan.new)
    _list(console, "changed", [f"{name}: {'; '.join(what)}" for name, what in plan.changed.items()], whole=True)
    _list(
        console,
        "without key: name it in the sources file, by --key or by --keys; until then dbt refuses the project",
        plan.without_key,
        whole=True,
    )
    rebuilds = [f"{item.place}: {item.text}" for item in plan.rebuilds]
    _list(console, "left as it is, because it would need a full refresh", rebuilds, whole=True)
    _list(
        console,
        "types differ between a change table and its load",
        [f"{item.place}: {item.text}" for item in plan.differing_types],
        whole=True,
    )
    _list(console, "gone", [f"{item.place}: {item.text}" for item in plan.gone], whole=True)
    _list(console, "to know", plan.notes)
    table = Table("what", "number", show_header=False)
    table.columns[1].justify = "right"
    for what, counted in (
        ("new tables", plan.new),
        ("changed tables", plan.changed),
        ("unchanged tables", plan.unchanged),
        ("tables without key", plan.without_key),
        ("differences that need a full refresh", plan.rebuilds),
        ("loads of other types", plan.differing_types),
        ("entries whose table is gone", plan.gone),
        ("troubles", plan.troubles),
        (f"files {done}", plan.files),
    ):
        table.add_row(what, str(len(counted)))
    console.print(table)


def _list(console: Console, title: str, lines: Sequence[str], whole: bool = False) -> None:
    if not lines:
        return
    console.print(f"{title}:")
    shown = lines if whole else lines[:_SHOWN]
    for line in shown:
        console.print(f"  {line}")
    if len(lines) > len(shown):
        console.print(f"  … and {len(lines) - len(shown)} more")


init.epilog = diff.epilog = _epilog()
