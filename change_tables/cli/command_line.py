"""One voice for commands: whatever is wrong is one line. A stack trace is shown only to those who ask for it."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import click

PREFIX = "CHANGE_TABLES"
"""Each option can be given as a variable, too: `CHANGE_TABLES_<COMMAND>_<OPTION>`."""

FEEDS = "change_tables.feeds"
"""Under which name the context has the feeds of the TOML file: name -> options."""

DEBUG = "CHANGE_TABLES_DEBUG"
"""The variable that asks for the stack trace of an error that nobody has foreseen."""


def run(command: click.Command, name: str, arguments: Sequence[str] | None = None, prefix: str = PREFIX) -> int:
    """Run a command as a program of this name; the exit code.

    It is 0, or 1 with one line on standard error, or 2 where the arguments are wrong. An error that nobody has foreseen
    is a line, too; with `CHANGE_TABLES_DEBUG=1` its stack trace comes before.
    """
    given = None if arguments is None else list(arguments)
    try:
        code = command.main(given, prog_name=name, standalone_mode=False, auto_envvar_prefix=prefix)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        print(f"change_tables: {' '.join(error.format_message().split())}", file=sys.stderr)
        return error.exit_code
    except click.Abort:
        return 130  # as shells count an interrupt
    except Exception as error:  # noqa: BLE001  # whatever it is, its user gets a line that says how to see more
        how = f"to see where, set {DEBUG}=1"
        if os.environ.get(DEBUG, "0") not in ("", "0"):
            traceback.print_exc()
            how = "where is said above"
        said = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"change_tables: an error that is not foreseen, {said}; {how}", file=sys.stderr)
        return 1
    return code if isinstance(code, int) else 0
