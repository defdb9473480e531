"""An archive of the classes that a server loads, with which it is ready a third sooner: Java's class data sharing.

Java reads the archive instead of looking through jars and checking what is in them. It passes over one that was made by
another Java or of other jars.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark
from pyhive.exc import Error

from .jars import check_java
from .local_server import JAVA_OPTIONS, LocalServerError, local_server, short_lived

_STATEMENTS = (  # what nearly every run of a model sends
    "create table orders (id bigint, name string, at timestamp) using {format}",
    "insert into orders values (1, 'a', timestamp'2026-01-31 12:00:00'), (2, 'b', null)",
    "create table batch using parquet as select id, name, at from orders",
    "create or replace view latest as"
    " select id, max_by(name, at) as name, row_number() over (partition by id order by at) as place"
    " from orders group by id, at",
    "merge into orders as target using (select id + 1 as id, name, at from batch) as source on source.id = target.id"
    " when matched then update set name = source.name when not matched then insert *",
    "select to_json(struct(id, name)), xxhash64(id) from latest where place = 1 order by id",
    "show table extended in default like '*'",
    "describe extended orders",
    "delete from orders where id = 1",
    "create or replace table orders using {format} as select * from batch",
)


def class_archive(jars: Sequence[Path]) -> Path:
    """The archive for these jars, beside them, and for the Java of now, whether it is there or not.

    Raises:
        JarsError: there is no Java that Spark runs on.
    """
    found = [*sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar")), *jars]
    made_of = "\n".join([check_java(), *(f"{jar} {jar.stat().st_mtime:.0f}" for jar in found)])
    return jars[0].parent / f"classes-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.jsa"


def make_class_archive(jars: Sequence[Path], table_format: str = "delta") -> bool:
    """Make the archive by a server that does a little of all; True if there was something to do.

    Args:
        jars: those of the server
        table_format: of its tables, `delta` or `iceberg`

    Raises:
        JarsError: there is no Java that Spark runs on.
        LocalServerError: the server does not start, or fails.
    """
    archive = class_archive(jars)
    if archive.exists():
        return False
    for outdated in archive.parent.glob("classes-*"):
        outdated.unlink()
    unfinished = archive.with_suffix(f".{os.getpid()}")
    conf = short_lived(1)
    conf |= {JAVA_OPTIONS: f'{conf[JAVA_OPTIONS]} "-XX:ArchiveClassesAtExit={unfinished}"'}
    options = ["--table-format", table_format]
    try:
        with TemporaryDirectory() as folder, local_server(Path(folder), conf, options=options) as server:
            connection = server.connect()
            cursor = connection.cursor()
            for statement in _STATEMENTS:
                cursor.execute(statement.format(format=table_format))
            connection.close()
        if not unfinished.exists():
            raise LocalServerError("no archive of classes was made: Java did not end in time; run this again")
        unfinished.rename(archive)
    except (OSError, Error) as error:
        raise LocalServerError(f"no archive of classes was made: {error}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return True
