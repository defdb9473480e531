"""Commands for the life of a lake: a macro of the dbt package does each, because macros know what checkpoints say.

They run `dbt run-operation` in a project, so they reach the server as its builds do, by the project's profile.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from change_tables.generator.project_files import Project, ProjectError
from change_tables.generator.removal import plan_removal
from change_tables.generator.yaml_files import YamlFileError
from change_tables.report.texts import write_whole

_C = TypeVar("_C", bound=Callable[..., Any])
_FOLDER = click.Path(file_okay=False, path_type=Path)


def project_options(command: _C) -> _C:
    """The options of a command that say which project it is for, and by which profile it reaches the server."""
    for option in reversed(
        (
            click.option("--project-dir", type=_FOLDER, default=Path(), help="The dbt project (default: this folder)."),
            click.option("--profiles-dir", type=_FOLDER, help="Folder of dbt's profiles.yml, as for dbt itself."),
            click.option("--target", help="Target of the profile, as for dbt itself."),
            click.option("--vars", "variables", help="Variables in YAML, as your builds have them."),
            click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing."),
        )
    ):
        command = option(command)
    return command


_source = click.option("--source", default="", help="The source, where two have an entry of this name.")


def run_operation(macro: str, given: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Run a macro of the package, whose lines are those that it prints.

    Args:
        macro: its name
        given: the options of `project_options`
        arguments: of the macro

    Raises:
        click.ClickException: it was stopped; the message says why.
    """
    try:
        from dbt.cli.main import dbtRunner
    except ModuleNotFoundError:
        raise click.ClickException("dbt is not here: pip install 'change-tables[dbt]'") from None
    # without dbt's own lines, and without a run_results.json in the place of that of the last build
    command = ["--log-level", "none", "--no-write-json", "run-operation", f"change_tables.{macro}"]
    command += ["--args", json.dumps({**arguments, "dry_run": given["dry_run"]})]
    command += _as_options_of_dbt(given)
    wrong: list[str] = []

    def listen(event: Any) -> None:
        if event.info.name == "PrintEvent":
            click.echo(event.info.msg)
        elif event.info.name in ("RunningOperationCaughtError", "RunningOperationUncaughtError"):
            wrong.append(event.data.exc)

    result = dbtRunner(callbacks=[listen]).invoke(command)
    if not result.success:
        raise click.ClickException(_own_words("\n".join(wrong) or str(result.exception or "dbt has failed")))


def _as_options_of_dbt(given: Mapping[str, Any]) -> list[str]:
    """Those of `project_options` that dbt has, too."""
    names = (
        ("--project-dir", "project_dir"),
        ("--profiles-dir", "profiles_dir"),
        ("--target", "target"),
        ("--vars", "variables"),
    )
    return [text for option, name in names if given[name] for text in (option, str(given[name]))]


def _own_words(said: str) -> str:
    r"""What the package says in a message of dbt's, without the places in macros that dbt adds; else all of it.

    >>> _own_words("Compilation Error in macro maintain\n  change_tables: maintain: no model\n  \n  > in macro")
    'maintain: no model'
    >>> _own_words("Runtime Error\n  Database Error\n    failed to connect")
    'Runtime Error\n  Database Error\n    failed to connect; is the server of the dbt target up? See: dbt debug'
    >>> _own_words("Database Error\n  Spark was stopped\n  \tat org.apache.spark.Spark.stop(S.scala:1)\n  Caused")
    'Database Error\n  Spark was stopped'
    """
    _, found, own = said.partition("change_tables: ")
    if found:
        return own.partition("\n")[0].strip()
    said = re.split(r"\n\s*at [\w.$]+\(", said, maxsplit=1)[0]
    return f"{said}; is the server of the dbt target up? See: dbt debug" if "failed to connect" in said else said


@click.command("maintain", short_help="Bring tables into few files, and delete what nothing reads any more.")
@project_options
@click.option(
    "--retain-days",
    type=click.FloatRange(0),
    help="How long replaced files are kept (default: as the tables say, by Delta's default 7 days).",
)
@click.option("--force", is_flag=True, help="Allow less than 7 days: no build and no reader may be at work.")
@click.option("--keep-runs", type=click.FloatRange(0), help="Delete rows of the table of runs that are older, in days.")
@click.option(
    "--include",
    multiple=True,
    metavar="PATTERN",
    help="Only these models, and not the table of runs; repeatable.",
)
@click.help_option(allow_from_autoenv=False)
def maintain(**given: Any) -> None:
    """Bring the tables that the models write into few files, and delete what nothing reads any more.

    That is: files that were replaced, tables of runs that died and, with --keep-runs, old rows of the table of runs.
    Run it between builds; it can be stopped and run again at any time.
    """
    names = ("retain_days", "force", "keep_runs", "include")
    run_operation("maintain", given, {name: given[name] for name in names})


@click.command("purge", short_help="Delete raw rows that all logs have read for good.")
@project_options
@click.option(
    "--older-than",
    type=click.FloatRange(0),
    help="Only rows whose arrival, which must be a time, is so many days ago or more.",
)
@click.option(
    "--include", multiple=True, metavar="PATTERN", help="Only raw tables of these names, without schema; repeatable."
)
@click.option(
    "--with-rejected",
    is_flag=True,
    help="Also where a log has rejected rows: raw cannot give them again once the entry is corrected.",
)
@click.help_option(allow_from_autoenv=False)
def purge(**given: Any) -> None:
    """Delete raw rows that every log of their raw table has read for good, and that no later run reads.

    Says of each raw table how many rows go, or why none does. A full refresh of a log stops after that, because it
    would lose changes: run none at the same time.
    """
    run_operation("purge", given, {name: given[name] for name in ("older_than", "include", "with_rejected")})


@click.command("reload", short_help="Check a new load of a table, and take it in.")
@click.argument("table")
@project_options
@_source
@click.option(
    "--at-least",
    type=click.FloatRange(0, 1),
    default=0.9,
    show_default=True,
    help="The share of the living keys that the load must have: those that it lacks end.",
)
@click.option("--with-rejected", is_flag=True, help="Also take a load of which rows are rejected: their keys end.")
@click.help_option(allow_from_autoenv=False)
def reload(**given: Any) -> None:
    """Check a new load of the entry TABLE, whose `snapshot_seq` is raised, and build its models if nothing is wrong.

    Says how many keys the load ends and begins, with a line for each fault: too few keys, rows that would be rejected,
    keys with several rows. Nothing may write to the load meanwhile.
    """
    names = ("table", "source", "at_least", "with_rejected")
    run_operation("check_load", given, {name: given[name] for name in names})
    if given["dry_run"]:
        return
    from dbt.cli.main import dbtRunner

    chosen = f"source:{given['source'] or '*'}.{given['table']}+"
    if not dbtRunner().invoke(["build", "--select", chosen, *_as_options_of_dbt(given)]).success:
        raise click.ClickException("reload: dbt has failed, see above; the load is right: run dbt build")


@click.command("acknowledge", short_help="Note that nothing is to be done about rejected, waiting or reported rows.")
@click.argument("table")
@project_options
@_source
@click.option("--code", required=True, help="The reason code of the rows or changes.")
@click.option("--note", default="", help="Why nothing is to be done; must be given, except with --withdraw.")
@click.option(
    "--only",
    multiple=True,
    metavar="ID",
    help="Only the row with this _raw_id, or the change with this _change_id; repeatable.",
)
@click.option("--withdraw", is_flag=True, help="Take back what was acknowledged.")
@click.help_option(allow_from_autoenv=False)
def acknowledge(**given: Any) -> None:
    """Note that nothing is to be done about the rows and changes of the entry TABLE that have a code now.

    Data tests and reports then count them apart. What gets the code later is news.
    """
    names = ("table", "source", "code", "note", "only", "withdraw")
    run_operation("acknowledge", given, {name: given[name] for name in names})


def _as_keys(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> list[dict[str, Any]]:
    """Keys as they are given, JSON objects. Numbers with a fraction are read as texts, to keep their digits.

    Raises:
        click.BadParameter: one is no JSON object.
    """
    found = []
    for text in texts:
        try:
            key = json.loads(text, parse_float=str)
        except ValueError:
            key = None
        if not isinstance(key, dict):
            raise click.BadParameter("it must be a JSON object of the key's columns, such as '{\"id\": 7}'.")
        found.append(key)
    return found


@click.command("forget", short_help="Erase keys of a table, such as persons, from what the models keep.")
@click.argument("table")
@project_options
@_source
@click.option(
    "--key",
    "keys",
    required=True,
    multiple=True,
    metavar="JSON",
    callback=_as_keys,
    help="The key, a JSON object of its columns, such as '{\"id\": 7}'; repeatable.",
)
@click.option("--raw", is_flag=True, help="Also delete its rows of the raw table and of the load.")
@click.help_option(allow_from_autoenv=False)
def forget(**given: Any) -> None:
    """Erase keys of the entry TABLE from its log, states, histories, rejected rows and documents.

    What is there of them now, in raw too, is never taken in again. First delete the rows at the source, and build; then
    stop the builds, and run it. Stopped, it can be run again. Files keep what was deleted until `maintain` has removed
    them.
    """
    run_operation("forget", given, {name: given[name] for name in ("table", "keys", "source", "raw")})
    report, log = given["project_dir"] / "target" / "report.html", given["project_dir"] / "logs" / "dbt.log"
    if report.exists() and given["dry_run"]:
        click.echo(f"{report}: to be deleted")
    elif report.exists():
        report.unlink()
        click.echo(f"{report}: deleted; `change-tables report` writes it again")
    if log.exists():
        click.echo(f"to know: {log} may hold values: delete it")


@click.command("remove", short_help="Take a table out of a project, and drop what its models have made.")
@click.argument("table")
@project_options
@_source
@click.option("--keep-data", is_flag=True, help="Leave tables and views as they are: the table is frozen.")
@click.help_option(allow_from_autoenv=False)
def remove(**given: Any) -> None:
    """Take the entry TABLE and its models out of a project, and drop what the models have made.

    Its names are taken out of the lists of other models; what else reads it is named, and nothing is done. Stopped, it
    can be run again. Build the models that list all tables afterwards.
    """
    try:
        removal = plan_removal(Project(given["project_dir"]), given["table"], given["source"])
    except (ProjectError, YamlFileError) as error:
        raise click.ClickException(f"remove: {error}") from error
    for note in removal.notes:
        click.echo(f"to know: {note}")
    # before the files: only a model that is there says where its tables are
    if removal.models:
        run_operation("remove_tables", given, {"models": removal.models, "keep_data": given["keep_data"]})
    dry = "would be " if given["dry_run"] else ""
    for path, text in removal.files.items():
        if not given["dry_run"]:
            try:
                path.unlink(missing_ok=True) if text is None else write_whole(path, text)
            except OSError as error:
                raise click.ClickException(f"remove: {error.filename}: {error.strerror}; run it again") from error
        click.echo(f"{path}: {dry}{'removed' if text is None else 'changed'}")
