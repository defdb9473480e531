"""`change-tables jars`: fetches the jars that the server needs."""

from __future__ import annotations

import sys

import click

from change_tables.server.class_archive import make_class_archive
from change_tables.server.jars import (
    ICEBERG,
    POSTGRESQL,
    JarsError,
    iceberg_folder,
    iceberg_jars,
    jars_folder,
    postgresql_folder,
    resolve_jars,
    resolved_jars,
)
from change_tables.server.local_server import LocalServerError


@click.command()
@click.option("--quiet", is_flag=True, help="Say nothing where they are there already.")
@click.option("--postgresql", is_flag=True, help="Fetch PostgreSQL's driver, too: for a metastore there.")
@click.option("--iceberg", is_flag=True, help="Fetch Apache Iceberg, too: for a server with --table-format iceberg.")
@click.help_option(allow_from_autoenv=False)
def jars(quiet: bool, postgresql: bool, iceberg: bool) -> None:
    """Fetch Delta's jars, which the server needs, and archive the classes that it loads; once for each version.

    They go into the folder that CHANGE_TABLES_JARS names, else into the user's cache, or .build/jars of a checkout.
    """
    try:
        done = resolve_jars()
        if postgresql:
            done |= resolve_jars(postgresql_folder(), POSTGRESQL)
        if iceberg:
            done |= resolve_jars(iceberg_folder(), ICEBERG)
        done |= make_class_archive(resolved_jars())
        if iceberg:
            done |= make_class_archive(iceberg_jars(), "iceberg")
    except JarsError as error:
        raise click.ClickException(str(error)) from None
    except LocalServerError as error:
        print(
            f"change_tables: warning: {error}; servers start without it, and later",
            file=sys.stderr,
        )
    if done or not quiet:
        print(f"the jars are in {jars_folder()}")
