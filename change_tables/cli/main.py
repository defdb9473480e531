"""The command line `change-tables`: which commands there are, and where their options come from.

Each option is looked for on the command line, in the environment, and in a TOML file, in this order. A command is in a
file of its own, which is read when the command is asked for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from change_tables.cli.command_line import FEEDS, run
from change_tables.places import command_name
from change_tables.version import __version__

COMMANDS: Mapping[str, str] = {
    "server": "change_tables.server.thrift_server",
    "jars": "change_tables.cli.jars",
    "doctor": "change_tables.cli.doctor",
    "functions": "change_tables.cli.functions",
    "init": "change_tables.generator.commands",
    "diff": "change_tables.generator.commands",
    "report": "change_tables.report.command",
    "acknowledge": "change_tables.cli.operations",
    "reload": "change_tables.cli.operations",
    "maintain": "change_tables.cli.operations",
    "purge": "change_tables.cli.operations",
    "forget": "change_tables.cli.operations",
    "remove": "change_tables.cli.operations",
}
"""The module of each command. It has the command under the same name."""

OF_A_FEED = ("init", "diff")
"""The commands about one feed. Their options are in a section of the feed, which both read."""
NOT_OF_A_FEED = ("dry_run",)
"""Options of one of them, which are not in it."""

CONFIG = Path("change_tables.toml")
"""The file with options that is read where it is there."""


class _Commands(click.Group):
    """The commands by name, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # the signature is click's
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # the signature is click's
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(COMMANDS[cmd_name]), cmd_name)
        return command


@click.group(cls=_Commands, context_settings={"max_content_width": 100})
@click.version_option(__version__, message="%(version)s", allow_from_autoenv=False)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help=f"TOML file with options, in sections by command; {CONFIG} of the working directory, where it is there.",
)
@click.help_option(allow_from_autoenv=False)
@click.pass_context
def change_tables(context: click.Context, config: Path | None) -> None:
    """Raw change tables of replication products as current and history models on Spark: what is around the dbt package.

    Each option of a command can be given as a variable, CHANGE_TABLES_<COMMAND>_<OPTION>, or in a TOML file.
    """
    if config or CONFIG.exists():
        found = _options_in(config or CONFIG, context)
        context.meta[FEEDS] = found.pop("feeds", {})
        context.default_map = found


def _options_in(file: Path, context: click.Context) -> dict[str, Any]:
    """The options in a file, by command; under `feeds` by feed.

    Raises:
        click.ClickException: the file cannot be read, or has a command or an option that is not there.
    """
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}; correct --config") from None
    except ValueError as error:  # no TOML, or no UTF-8
        raise click.ClickException(f"{file} is not valid TOML: {error}") from None
    for section, options in found.items():
        if section in OF_A_FEED:
            raise click.ClickException(
                f"{file}: [{section}] must be [feeds.NAME], a section that {' and '.join(OF_A_FEED)} both read,"
                " such as [feeds.shop]"
            )
        command = change_tables.get_command(context, OF_A_FEED[0] if section == "feeds" else section)
        of_sections = options.values() if section == "feeds" and isinstance(options, dict) else [options]
        if not command or not all(isinstance(given, dict) for given in of_sections):
            sections = ", ".join(f"[{name}]" for name in change_tables.list_commands(context) if name not in OF_A_FEED)
            raise click.ClickException(
                f"{file}: '{section}' must be a section of a command: {sections}; or of a feed: [feeds.NAME]"
            )
        if section != "feeds":
            _refuse_mistakes(file, section, options, command, ())
        for name, of_feed in options.items() if section == "feeds" else ():
            _refuse_mistakes(file, f"feeds.{name}", of_feed, command, NOT_OF_A_FEED)
    return found


def _refuse_mistakes(
    file: Path, section: str, options: Mapping[str, Any], command: click.Command, without: Sequence[str]
) -> None:
    allowed = {
        option.name: option
        for option in command.params
        if isinstance(option, click.Option) and option.expose_value and option.name not in without
    }
    for name, value in options.items():
        if name not in allowed:
            raise click.ClickException(
                f"{file}: [{section}] has no option '{name}', only {', '.join(map(str, allowed))}"
            )
        if must_be := _mistake_in(value, allowed[name]):
            raise click.ClickException(f"{file}: [{section}] {name} must be {must_be}, got {_in_toml(value)}")


def _mistake_in(value: Any, option: click.Option) -> str:
    """What a value of a TOML file must be to be one of this option; empty if it is."""
    if option.multiple:
        right = isinstance(value, list) and all(isinstance(each, str) for each in value)
        return "" if right else "a list of texts"
    if option.is_flag:
        return "" if isinstance(value, bool) else "true or false"
    if isinstance(value, str):
        return ""  # as on the command line: the option says what is wrong with it
    if isinstance(option.type, click.types.IntParamType):
        return "" if type(value) is int else "a whole number"
    if isinstance(option.type, click.types.FloatParamType):
        return "" if type(value) in (int, float) else "a number"
    return "a text"


def _in_toml(value: Any) -> str:
    """A value as the file has it, or nearly so: dates are shown without quotes, and flags in lower case."""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, str | list | dict) else str(value)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return run(change_tables, command_name(), arguments)
