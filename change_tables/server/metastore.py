"""A metastore in PostgreSQL, which outlives the server's machine and which several servers can share.

What Hive must know of it becomes properties of the JVM once that runs, so that the password is on no command line, in
no file and in no setting that a session shows.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from zipfile import ZipFile

import lxml.etree
import pyspark
from py4j.protocol import Py4JJavaError

PASSWORD = "CHANGE_TABLES_SERVER_METASTORE_PASSWORD"
"""The variable with the password; `--metastore-password-file` is the other way."""

_FORM = "--metastore must be postgresql://user@host:5432/database"
_HOW = f"set {PASSWORD}, or --metastore-password-file"
_DRIVER = "org.postgresql.Driver"
_PATIENCE = "20"  # seconds for a connection


class MetastoreError(Exception):
    """The metastore cannot be used; the message is one line that says what to do."""


@dataclass(frozen=True)
class Metastore:
    """Where the metastore is.

    Attributes:
        address: its host and port
        database: its name there
        user: whose tables they are
        password: of the user
        query: further options of PostgreSQL's JDBC driver, as in a URL
    """

    address: str
    database: str
    user: str
    password: str = field(repr=False)
    query: str = ""

    @property
    def jdbc_url(self) -> str:
        """Where Java finds it, without user and password."""
        return f"jdbc:postgresql://{self.address}/{self.database}{'?' if self.query else ''}{self.query}"

    def prepare(self, jvm: Any) -> None:
        """Tell Hive where it is, before any of its classes is used, and let it make its tables if there are none.

        Args:
            jvm: py4j's view of the JVM, in which there is no Spark yet

        Raises:
            MetastoreError: it is not there, refuses the user, or its tables are of another version of Hive.
        """
        properties = {
            "javax.jdo.option.ConnectionURL": self.jdbc_url,
            "javax.jdo.option.ConnectionDriverName": _DRIVER,
            "javax.jdo.option.ConnectionUserName": self.user,
            "javax.jdo.option.ConnectionPassword": self.password,
            "hive.metastore.try.direct.sql": "false",  # its check of the schema takes seconds in each session
        }
        found = self._schema_version(jvm)
        if found is None:
            properties["datanucleus.schema.autoCreateAll"] = "true"
            properties["hive.metastore.schema.verification"] = "false"
            properties["hive.metastore.schema.verification.record.version"] = "true"
        else:
            properties["hive.metastore.schema.verification"] = "true"
        for name, value in properties.items():
            jvm.java.lang.System.setProperty(name, value)
        wanted = jvm.org.apache.hadoop.hive.metastore.MetaStoreSchemaInfo.getHiveSchemaVersion()
        if found not in (None, wanted):  # Hive itself takes newer tables for compatible, and then cannot write to them
            raise MetastoreError(
                f"the metastore in database '{self.database}' at {self.address} has tables of Hive {found}, and this"
                f" server needs those of Hive {wanted}: choose a database of its own for --metastore"
            )
        if found is None:
            _make_tables(jvm)

    def _schema_version(self, jvm: Any) -> str | None:
        """The version of the metastore's tables; None where they are not there, or not completed."""
        properties = jvm.java.util.Properties()
        properties.update({"user": self.user, "password": self.password, "connectTimeout": _PATIENCE})
        try:
            connection = jvm.java.sql.DriverManager.getConnection(self.jdbc_url, properties)
        except Py4JJavaError as error:
            raise MetastoreError(self._refusal(error.java_exception)) from None
        try:
            rows = connection.createStatement().executeQuery("select to_regclass('\"VERSION\"') is not null")
            rows.next()
            if not rows.getBoolean(1):
                return None
            rows = connection.createStatement().executeQuery('select "SCHEMA_VERSION" from "VERSION"')
            return str(rows.getString(1)) if rows.next() else None
        except Py4JJavaError as error:
            raise MetastoreError(self._refusal(error.java_exception)) from None
        finally:
            connection.close()

    def _refusal(self, error: Any) -> str:
        """What a `java.sql.SQLException` means, and what to do; its states are those of PostgreSQL's appendix A."""
        state = str(error.getSQLState() or "")
        if state.startswith("28"):
            return f"PostgreSQL at {self.address} refuses user '{self.user}' with this password: correct it; {_HOW}"
        if state == "3D000":
            return f"PostgreSQL at {self.address} has no database '{self.database}': make it, or correct --metastore"
        if state.startswith("08"):
            return f"no PostgreSQL answers at {self.address}: start it, or correct --metastore"
        said = str(error.getMessage() or error.toString()).splitlines()[0]
        return f"the metastore in database '{self.database}' at {self.address} cannot be used: {said}"


def _make_tables(jvm: Any) -> None:
    """Make all tables of a metastore, by the library through which Hive reads and writes them.

    Left to itself the library makes each table when it is first needed, in the middle of a transaction over others: in
    PostgreSQL one waits for the other without end.
    """
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("hive-metastore-*.jar")
    with ZipFile(jar) as archive:
        described = lxml.etree.fromstring(archive.read("package.jdo"), lxml.etree.XMLParser(load_dtd=False))
    names = jvm.java.util.HashSet()
    for package in described.iter("package"):
        for persisted in package.iter("class"):
            names.add(f"{package.get('name')}.{persisted.get('name')}")
    properties = jvm.java.util.Properties()
    properties.putAll(jvm.org.apache.hadoop.hive.conf.HiveConf().getValByRegex(r"^(datanucleus|javax\.jdo)\."))
    factory = jvm.javax.jdo.JDOHelper.getPersistenceManagerFactory(properties)
    factory.getNucleusContext().getStoreManager().createSchemaForClasses(names, jvm.java.util.Properties())
    factory.close()


def metastore_at(url: str, password_file: Path | None, environment: MutableMapping[str, str]) -> Metastore:
    """The metastore of a URL. Its password is taken out of the environment, so that no other process gets it.

    Raises:
        MetastoreError: another kind of URL, one with a password or without a part, or there is no password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or 5432
    except ValueError:
        raise MetastoreError(_FORM) from None
    if parts.password is not None or "password" in parse_qs(parts.query):
        raise MetastoreError(f"--metastore must have no password, for command lines are seen by all: {_HOW}")
    database = unquote(parts.path.removeprefix("/"))
    if parts.scheme not in ("postgresql", "postgres") or not (parts.username and parts.hostname and database):
        raise MetastoreError(f"{_FORM}, got '{url}'")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    password = _password(password_file, environment)
    return Metastore(f"{host}:{port}", database, unquote(parts.username), password, parts.query)


def _password(file: Path | None, environment: MutableMapping[str, str]) -> str:
    given = environment.pop(PASSWORD, "")
    if file is not None and not given:
        try:
            given = file.read_text().rstrip("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise MetastoreError(f"cannot read the password in {file}: {_reason(error)}; {_HOW}") from None
    if not given:
        raise MetastoreError(f"--metastore has no password: {_HOW}")
    return given


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or "it is no text"


def other_place(tables: str, location: str) -> str | None:
    """What is wrong where the default schema is at another location than new schemas; None where nothing is.

    >>> other_place("file:/data/tables", "file:/data/tables/")
    """
    if location.rstrip("/") == tables.rstrip("/"):
        return None
    return f"the tables of this metastore are in {location}, and --tables is {tables}: give --tables {location}"
