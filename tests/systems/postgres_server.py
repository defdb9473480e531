"""A real PostgreSQL on this machine: its own data folder, a free port of 127.0.0.1, stopped when it is done."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.systems.kafka_broker import free_port

OWNER = "shop"
"""The user to whom everything in the database belongs."""

_DATABASE = "postgres"

_PATIENCE = 60.0  # seconds for it to answer
_DEBIAN = Path("/usr/lib/postgresql")  # where packages put, by version, what they leave out of the PATH
_OTHER_USERS = ("postgres", "nobody")


class PostgresError(Exception):
    """PostgreSQL does not start, or refuses a statement; the message says why, or where to look."""


class NoPostgresError(Exception):
    """PostgreSQL cannot be run on this machine; the message is one line that says why."""


@dataclass(frozen=True)
class Programs:
    """What is there to run PostgreSQL.

    Attributes:
        initdb: makes a data folder
        postgres: the server
        psql: the client
        user: as whom they are run; None for this process's own user
    """

    initdb: str
    postgres: str
    psql: str
    user: str | None


@dataclass(frozen=True)
class Postgres:
    """A running server."""

    psql: str
    port: int
    password: str

    @property
    def jdbc_url(self) -> str:
        """Where Java finds the database."""
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{_DATABASE}"

    def run(self, script: str, database: str = _DATABASE) -> None:
        """Runs statements, each ended by a semicolon, in a database of the server.

        Raises:
            PostgresError: one was refused; those before it are done.
        """
        command = [self.psql, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--output=/dev/null"]
        command += ["--host=127.0.0.1", f"--port={self.port}", f"--username={OWNER}", database]
        done = subprocess.run(
            command,
            input=script,
            text=True,
            encoding="utf-8",
            capture_output=True,
            check=False,
            env=os.environ | {"PGPASSWORD": self.password, "PGCLIENTENCODING": "UTF8"},
        )
        if done.returncode != 0:
            raise PostgresError(f"PostgreSQL refused a statement: {done.stderr.strip()}")


def find_postgres(folder: Path) -> Programs:
    """Finds the programs, on the PATH or where Debian's packages put them, and a user who may run them in a folder.

    Raises:
        NoPostgresError: there are none, or nobody may.
    """
    found = {name: _program(name) for name in ("initdb", "postgres", "psql")}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise NoPostgresError(f"PostgreSQL is not installed here: no {', no '.join(missing)}")
    user = None
    if os.geteuid() == 0:
        known = {each.pw_name for each in pwd.getpwall()}
        user = next((name for name in _OTHER_USERS if name in known), None)
        if user is None:
            raise NoPostgresError(f"PostgreSQL does not run as root, and there is no user {' or '.join(_OTHER_USERS)}")
        closed = [parent for parent in folder.parents if parent.exists() and not parent.stat().st_mode & 0o001]
        if closed:
            raise NoPostgresError(f"PostgreSQL does not run as root, and user {user} may not enter {closed[-1]}")
    return Programs(str(found["initdb"]), str(found["postgres"]), str(found["psql"]), user)


def _program(name: str) -> str | None:
    versions = sorted(_DEBIAN.glob(f"[0-9]*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    return shutil.which(name) or (str(versions[-1]) if versions else None)


@contextmanager
def postgres_server(folder: Path, programs: Programs) -> Iterator[Postgres]:
    """Starts a server with an empty database; stops it when the block ends, also by an error.

    Args:
        folder: of its data and its log; made new
        programs: what `find_postgres` found for this folder

    Raises:
        PostgresError: it does not come up.
    """
    folder.mkdir(parents=True)
    data, log_file, password_file = folder / "data", folder / "postgres.log", folder / "password"
    password = secrets.token_hex(16)
    password_file.touch(mode=0o600)
    password_file.write_text(password)
    as_user: dict[str, Any] = {}
    if programs.user is not None:
        account = pwd.getpwnam(programs.user)
        as_user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        for path in (folder, password_file):
            os.chown(path, account.pw_uid, account.pw_gid)
    port = free_port()
    with log_file.open("w") as log:
        made = subprocess.run(
            [
                *(programs.initdb, f"--pgdata={data}", f"--username={OWNER}", f"--pwfile={password_file}"),
                *("--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            check=False,
            **as_user,
        )
        if made.returncode != 0:
            raise PostgresError(f"PostgreSQL could not make its data folder: see {log_file}")
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": "",
            "fsync": "off",
            "shared_buffers": "32MB",
        }
        process = subprocess.Popen(
            [programs.postgres, "-D", str(data), *(f"--{name}={value}" for name, value in settings.items())],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            **as_user,
        )
        try:
            postgres = Postgres(programs.psql, port, password)
            _wait_until_it_answers(process, postgres, log_file)
            yield postgres
        finally:
            process.send_signal(signal.SIGINT)  # a fast shutdown, which waits for no client
            process.wait()


def _wait_until_it_answers(process: subprocess.Popen[bytes], postgres: Postgres, log_file: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        try:
            postgres.run("select 1;")
            return
        except PostgresError:
            time.sleep(0.2)
    raise PostgresError(f"PostgreSQL did not start: see {log_file}")
