"""What a result must name besides its figures: the machine and the versions."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from change_tables.server.local_server import LocalServer


def machine_of(server: LocalServer) -> dict[str, Any]:
    """The machine, the versions, and the most memory that the server has held."""
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if "model name" in line
    ]
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": f"{os.cpu_count()} x {models[0] if models else platform.processor()}",
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "peak_memory_of_server_mib": _peak_memory(server.folder),
        "versions": {name: version(name) for name in ("pyspark", "dbt-core", "dbt-spark", "duckdb", "pyarrow")},
    }


def _peak_memory(folder: Path) -> int | None:
    """The most that the server's JVM has held, in MiB; None where there is no /proc."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.fsencode(folder / "metastore") in (process / "cmdline").read_bytes():
                status = (process / "status").read_text()
                return int(status.partition("VmHWM:")[2].split()[0]) // 1024
        except (OSError, IndexError):
            continue  # it has ended meanwhile
    return None
