"""The jars that Spark needs besides its own: Delta Lake, fetched once by `change-tables jars`.

Jars that a running session adds vanish when its first client leaves. So they are fetched beforehand and given to the
server as a plain class path.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyspark

from change_tables.places import checkout, command_name, users_folder

COORDINATES = ("io.delta:delta-spark_4.1_2.13:4.4.0",)
"""What is resolved, as `group:artifact:version`."""

POSTGRESQL = ("org.postgresql:postgresql:42.7.4",)
"""PostgreSQL's JDBC driver: for a metastore there, and for what is landed from there."""

ICEBERG_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
"""The `spark_catalog` of a server whose tables are Iceberg."""
ICEBERG = ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0", "org.xerial:sqlite-jdbc:3.50.3.0")
"""Apache Iceberg, in the place of Delta Lake, and the driver of the database in which its catalog is."""

JAVA_VERSIONS = (17, 21)
"""The major versions of Java that Spark 4.1 runs on."""

_NAME = command_name("jars")
_RECORD = "resolved.txt"
_RESOLVE = """
from pyspark.sql import SparkSession
import sys
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.jars.packages", sys.argv[1]).config("spark.jars.ivy", sys.argv[2])
builder = builder.config("spark.jars.excludes", sys.argv[3])
builder.getOrCreate().stop()
"""


class JarsError(Exception):
    """The jars, or the Java that they need, are not there; the message is one line that says what to do."""


def java_command() -> str:
    """The Java that Spark runs on: that of `JAVA_HOME`, else the one on the path."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def check_java() -> str:
    """Check that Spark will find a Java that it runs on; what `java -version` says.

    Raises:
        JarsError: there is none, or one of another version.
    """
    java = java_command()
    wanted = " or ".join(map(str, JAVA_VERSIONS))
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        raise JarsError(f"no Java at '{java}': install Java {wanted}, or set JAVA_HOME to one") from None
    found = re.search(r'version "(\d+)', said)
    if not found or int(found.group(1)) not in JAVA_VERSIONS:
        shown = found.group(1) if found else "unknown"
        raise JarsError(f"'{java}' is Java {shown}: Spark needs Java {wanted}; install one, or set JAVA_HOME to it")
    return said


def jars_folder() -> Path:
    """The folder of the jars.

    `CHANGE_TABLES_JARS`; else `.build/jars` in a checkout; else one for these versions in the user's cache.
    """
    if given := os.environ.get("CHANGE_TABLES_JARS"):
        return Path(given).resolve()
    if root := checkout():
        return root / ".build" / "jars"
    versions = "+".join(each.split(":", 1)[1].replace(":", "-") for each in COORDINATES)
    return users_folder("XDG_CACHE_HOME", ".cache") / "jars" / versions


def resolved_jars(folder: Path | None = None) -> list[Path]:
    """The jars in the folder, sorted by name.

    Raises:
        JarsError: they were not resolved, or for other versions.
    """
    return _jars_in(folder or jars_folder(), COORDINATES, _NAME)


def postgresql_folder() -> Path:
    """The folder of PostgreSQL's driver, in that of the other jars."""
    return jars_folder() / "postgresql"


def postgresql_jars() -> list[Path]:
    """The jars of PostgreSQL's driver.

    Raises:
        JarsError: they were not resolved, or for another version.
    """
    return _jars_in(postgresql_folder(), POSTGRESQL, f"{_NAME} --postgresql")


def iceberg_folder() -> Path:
    """The folder of Iceberg's jars, in that of the other jars."""
    return jars_folder() / "iceberg"


def iceberg_jars() -> list[Path]:
    """Iceberg's jars, with which those of Delta Lake are not needed.

    Raises:
        JarsError: they were not resolved, or for another version.
    """
    return _jars_in(iceberg_folder(), ICEBERG, f"{_NAME} --iceberg")


def _jars_in(folder: Path, coordinates: Sequence[str], command: str) -> list[Path]:
    if not _is_complete(folder, coordinates):
        raise JarsError(f"the jars of {', '.join(coordinates)} are not in {folder}: run `{command}`")
    return sorted(folder.glob("*.jar"))


def resolve_jars(
    folder: Path | None = None,
    coordinates: Sequence[str] = COORDINATES,
    *,
    without: str = "",
    all_of_them: bool = False,
) -> bool:
    """Fetch the jars into the folder; True if there was something to do. A run that fails leaves no half folder.

    Jars that Spark ships are left out, unless `all_of_them` is set. So is `without`, given as `group:artifact`.

    Raises:
        JarsError: no Java, no network, no such artifact, or the folder cannot be written.
    """
    folder = folder or jars_folder()
    if _is_complete(folder, coordinates):
        return False
    check_java()
    workplace = folder.with_name(folder.name + ".partial")
    try:
        shutil.rmtree(workplace, ignore_errors=True)
        (workplace / "kept").mkdir(parents=True)
        done = subprocess.run(
            [sys.executable, "-c", _RESOLVE, ",".join(coordinates), str(workplace / "ivy"), without],
            cwd=workplace,
            env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
            capture_output=True,
            text=True,
            check=False,
        )
        found = sorted((workplace / "ivy" / "jars").glob("*.jar"))
        if done.returncode != 0 or not found:
            raise JarsError(
                f"could not resolve {', '.join(coordinates)} from Maven Central: check the network (for a mirror set"
                " spark.jars.ivySettings in Spark's spark-defaults.conf) and run again; Spark said:"
                f" {_last_words(done.stderr)}"
            )
        shipped = {artifact_of(jar.name) for jar in (Path(pyspark.__file__).parent / "jars").glob("*.jar")}
        for jar in found:
            name = jar.name.split("_", 1)[1]
            if all_of_them or artifact_of(name) not in shipped:
                shutil.move(jar, workplace / "kept" / name)
        (workplace / "kept" / _RECORD).write_text("\n".join(coordinates) + "\n")
        shutil.rmtree(folder, ignore_errors=True)
        (workplace / "kept").rename(folder)
    except OSError as error:
        raise JarsError(
            f"cannot write the jars to {folder}: {error.strerror}; set CHANGE_TABLES_JARS to another folder"
        ) from None
    finally:
        shutil.rmtree(workplace, ignore_errors=True)
    return True


def artifact_of(jar: str) -> str:
    """The artifact of a jar's file name, without its version.

    >>> artifact_of("delta-spark_4.1_2.13-4.4.0.jar")
    'delta-spark_4.1_2.13'
    """
    return re.sub(r"-\d[^-]*(-[A-Za-z0-9.]+)*\.jar$", "", jar)


def _is_complete(folder: Path, coordinates: Sequence[str] = COORDINATES) -> bool:
    record = folder / _RECORD
    return record.is_file() and tuple(record.read_text().split()) == tuple(coordinates)


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["nothing"]
    return next((line for line in lines if line.startswith("Exception in thread")), lines[-1])
