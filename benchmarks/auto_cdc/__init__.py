"""Spark 4.3's AUTO CDC, which makes current rows or a history of a stream of changes: another way to the same rows.

This project runs on Spark 4.1, which has no AUTO CDC, so it gets an environment and a process of its own. It writes
Iceberg, since Delta is not built for Spark 4.3.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..data import HEADER_COLUMNS

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / ".build" / "auto_cdc"
SPARK = "pyspark[pipelines]==4.3.0"
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"


class AutoCdcError(Exception):
    """The environment cannot be made, or a pipeline failed; the text says why."""


def make_environment() -> None:
    """Make what AUTO CDC runs on, once: Spark 4.3 in an environment of its own, Iceberg, and the catalog between them.

    Raises:
        AutoCdcError: something cannot be had.
    """
    made = FOLDER / "made.txt"
    sources = sorted((HERE / "java").rglob("*.java"))
    wanted = "\n".join([SPARK, ICEBERG, *(source.read_text() for source in sources)])
    if made.is_file() and made.read_text() == wanted:
        return
    jars, classes = FOLDER / "jars", FOLDER / "classes"
    if not (FOLDER / "venv").is_dir():
        _do(sys.executable, "-m", "venv", str(FOLDER / "venv"))
    _do(str(FOLDER / "venv/bin/pip"), "install", "--quiet", SPARK)
    _do("mvn", "--quiet", "dependency:copy", f"-Dartifact={ICEBERG}", f"-DoutputDirectory={jars}")
    spark = next((FOLDER / "venv").glob("lib/python3*/site-packages/pyspark/jars"))
    shutil.rmtree(classes, ignore_errors=True)
    path = f"{jars}/*:{spark}/*"
    _do("javac", "-nowarn", "-proc:none", "-cp", path, "-d", str(classes), *map(str, sources))
    _do("jar", "--create", "--file", str(jars / "catalog.jar"), "-C", str(classes), ".")
    made.write_text(wanted)


def _do(*command: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    except OSError as error:
        raise AutoCdcError(f"AUTO CDC needs `{command[0]}`: {error.strerror}") from None
    if done.returncode != 0:
        raise AutoCdcError(f"AUTO CDC: `{' '.join(command)[:200]}` failed: {(done.stderr or done.stdout)[-1000:]}")


class AutoCdc:
    """A running Spark 4.3, and its tables."""

    def __init__(self) -> None:
        """Start it, with the heap and the shuffles that this project's server has.

        Raises:
            AutoCdcError: what it runs on cannot be had.
        """
        make_environment()
        folder = FOLDER / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        jars = sorted(map(str, (FOLDER / "jars").glob("*.jar")))
        settings = {
            "spark.jars": ",".join(jars),
            "spark.driver.extraClassPath": ":".join(jars),
            "spark.driver.memory": "4g",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
            "spark.sql.catalog.lake": "autocdc.IcebergCatalog",
            "spark.sql.catalog.lake.warehouse": str(folder / "lake"),
        }
        # not this project's Spark, nor what is set for it
        own = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYTHON"))}
        self._process = subprocess.Popen(
            [str(FOLDER / "venv/bin/python"), str(HERE / "session.py"), str(folder), json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=own | {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONWARNINGS": "ignore::FutureWarning"},
        )
        self.pid = self._process.pid
        self.sql("create namespace if not exists lake.bench")

    def keep(self, table: str, changes: str, *, with_history: bool) -> float:
        """Bring a table up to the changes that have landed in a folder; the seconds that it took."""
        dropped = [*HEADER_COLUMNS, "batch"]
        scd_type = 2 if with_history else 1
        answer = self._ask({"do": "run", "table": table, "changes": changes, "scd_type": scd_type, "dropped": dropped})
        return float(answer["seconds"])

    def sql(self, statement: str) -> list[list[Any]]:
        """The rows of a statement."""
        rows: list[list[Any]] = self._ask({"do": "sql", "statement": statement})["rows"]
        return rows

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        line = stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": f"it ended; see {FOLDER / 'run/server.log'}"}
        if "error" in answer:
            raise AutoCdcError(f"AUTO CDC: {answer['error']}")
        return answer
