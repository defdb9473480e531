"""Where a server logs: `server.log`, which log4j writes and keeps short, and `server.out` for all else."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

LOG, OUTPUT = "server.log", "server.out"
"""What Spark and Hive log, and what the JVM and Python print: a JVM that dies says why in the second."""

_OPTIONS = "spark.driver.extraJavaOptions"
_OWN_CONFIGURATION = ("-Dlog4j2.configurationFile=", "-Dlog4j.configurationFile=")
_FULL = 20_000_000  # bytes of the output of servers before


def log_settings(settings: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The setting that makes log4j write into the folder; none where these settings bring a configuration of log4j."""
    options = settings.get(_OPTIONS, "")
    if any(each in options + settings.get("spark.driver.defaultJavaOptions", "") for each in _OWN_CONFIGURATION):
        return {}
    configuration = Path(__file__).with_name("log4j2.properties").as_uri()
    return {_OPTIONS: f'{options} "{_OWN_CONFIGURATION[0]}{configuration}" "-Dchange_tables.folder={folder}"'.strip()}


def logs_in(folder: Path) -> str:
    """The two files, as messages name them."""
    return f"{folder / LOG} and {OUTPUT} beside it"


def send_output_to(folder: Path) -> None:
    """Send what this process and its children print to a file of the folder. A full one is kept until the next is."""
    output = folder / OUTPUT
    if output.exists() and output.stat().st_size > _FULL:
        output.replace(output.with_suffix(".out.1"))
    with output.open("a") as file:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
