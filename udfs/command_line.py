"""One voice for commands: whatever is wrong is one line, and never a stack trace."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

PREFIX = "CHANGE_TABLES"
"""Each option can be given as a variable, too: `CHANGE_TABLES_<COMMAND>_<OPTION>`."""


def run(command: click.Command, name: str, arguments: Sequence[str] | None = None, prefix: str = PREFIX) -> int:
    """Run a command as a program of this name; the exit code.

    It is 0, or 1 with one line on standard error, or 2 where the arguments are wrong.
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
    return code if isinstance(code, int) else 0
