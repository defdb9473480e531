"""Runs the server with its doors closed: TLS with a certificate of its own, and LDAP of a real directory, slapd.

Who has no password, the wrong one, or speaks no TLS is refused; dbt and `change-tables doctor` come in with the right
one. Everything is under `.build/demo_closed_doors`, which is deleted at the start and kept at the end.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from change_tables.server.connection import Address, NoSessionError, close_quietly
from change_tables.server.doors import HIVE
from change_tables.server.jars import JarsError, java_command, resolved_jars
from change_tables.server.local_server import LocalServer, LocalServerError, local_server, short_lived
from change_tables.server.server_log import LOG, OUTPUT
from change_tables.server.thrift_server import jvms_of
from demo.progress import Progress
from demo.project import PROFILES, PROJECT
from tests.systems.directory_server import (
    BASE,
    DirectoryServerError,
    NoDirectoryServerError,
    Slapd,
    directory_server,
    fetch_slapd,
)

FOLDER = PROJECT / ".build" / "demo_closed_doors"
SLAPD = PROJECT / ".build" / "slapd"

_USER = "dbt"
_KEYSTORE_PASSWORD = "CLOSED_DOORS_KEYSTORE_PASSWORD"
_PROJECT = {
    "dbt_project.yml": "{name: closed_doors, profile: change_tables, model-paths: [models]}\n",
    "models/decoded_mask.sql": "select decode_change_mask('0180', 'most_significant_first', 1) as ordinals\n",
}


class KeystoreError(Exception):
    """There is no certificate; the message says why."""


def main() -> int:
    """The command line; returns its exit code: 1 where a door is open or shut wrongly, 3 where slapd cannot be had."""
    try:
        slapd = fetch_slapd(SLAPD)
        resolved_jars()
    except (NoDirectoryServerError, JarsError) as failure:
        print(f"closed-doors: not run: {failure}", file=sys.stderr)
        return 3
    try:
        mistakes = run(FOLDER, slapd)
    except (DirectoryServerError, KeystoreError, LocalServerError) as failure:
        print(f"closed-doors: {failure}", file=sys.stderr)
        return 1
    for mistake in mistakes:
        print(mistake)
    if not mistakes:
        print("Nobody comes in without TLS and the right password; dbt and doctor do, and the log says who came.")
    return 1 if mistakes else 0


def run(folder: Path, slapd: Slapd) -> list[str]:
    """Runs it in a folder, which is deleted first; what is not as it must be.

    Raises:
        DirectoryServerError, KeystoreError, LocalServerError: something does not start.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    password = secrets.token_hex(16)
    os.environ[_KEYSTORE_PASSWORD] = secrets.token_hex(16)
    with Progress() as progress, ExitStack() as stack:
        with progress.phase("starting", 3):
            with progress.step("certificate"):
                keystore, certificate = _certificate(folder)
            with progress.step("slapd"):
                directory = stack.enter_context(directory_server(folder / "slapd", slapd, {_USER: password}))
            with progress.step("Spark Thrift server"):
                server = stack.enter_context(local_server(folder, short_lived(1) | _settings(directory, keystore)))
        os.environ["SSL_CERT_FILE"] = str(certificate)
        with progress.phase("trying the doors", 4):
            with progress.step("who must not come in"):
                mistakes = [*_open_doors(server, password)]
            with progress.step("doctor"):
                mistakes += _run(server, password, sys.executable, "-m", "change_tables", "doctor")
            with progress.step("dbt"):
                mistakes += _dbt(folder, server, password)
            with progress.step("log"):
                mistakes += _mistakes_of_log(folder, [password, os.environ[_KEYSTORE_PASSWORD]])
    return mistakes


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A keystore with a certificate that has signed itself, and that certificate for clients."""
    keystore, certificate = folder / "keystore.p12", folder / "certificate.pem"
    beside_java = Path(java_command()).with_name("keytool")
    keytool = [str(beside_java), "-alias", "server", "-keystore", str(keystore), "-storepass:env", _KEYSTORE_PASSWORD]
    names = ["-dname", "CN=localhost", "-ext", "san=ip:127.0.0.1,dns:localhost"]
    for command in (
        [*keytool, "-genkeypair", "-keyalg", "RSA", "-storetype", "PKCS12", "-validity", "2", *names],
        [*keytool, "-exportcert", "-rfc", "-file", str(certificate)],
    ):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise KeystoreError(f"no keytool beside java: {error.strerror}") from None
        if done.returncode != 0:
            raise KeystoreError(f"keytool made no certificate: {done.stdout.strip() or done.stderr.strip()}")
    return keystore, certificate


def _settings(directory: str, keystore: Path) -> dict[str, str]:
    return {
        HIVE + "authentication": "LDAP",
        HIVE + "authentication.ldap.url": directory,
        HIVE + "authentication.ldap.baseDN": BASE,
        HIVE + "use.SSL": "true",
        HIVE + "keystore.path": str(keystore),
        HIVE + "keystore.password": f"${{env.{_KEYSTORE_PASSWORD}}}",
    }


def _open_doors(server: LocalServer, password: str) -> Iterator[str]:
    """Those who come in and must not, and those who are refused for another reason than theirs."""
    host, port = server.host, server.port
    refused = "Error validating the login"
    cases: Mapping[str, tuple[Address, str]] = {
        "a wrong password": (Address(host, port, "LDAP", _USER, "wrong", use_ssl=True), refused),
        "a user that is not there": (Address(host, port, "LDAP", "nobody", password, use_ssl=True), refused),
        "a password of no length": (Address(host, port, "LDAP", _USER, "\0", use_ssl=True), refused),
        "nobody by name": (Address(host, port, "NONE", use_ssl=True), refused),
        "nobody without SASL": (Address(host, port, "NOSASL", use_ssl=True), ""),
        "the right password in plain text": (Address(host, port, "LDAP", _USER, password), ""),
    }
    for who, (address, reason) in cases.items():
        try:
            close_quietly(address.connect())
            yield f"{who}: came in"
        except NoSessionError as error:
            if reason not in error.cause:
                yield f"{who}: was refused by other words than '{reason}': {error.cause}"
    trusted = os.environ.pop("SSL_CERT_FILE")
    try:
        close_quietly(Address(host, port, "LDAP", _USER, password, use_ssl=True).connect())
        yield "a client that does not know the certificate: came in"
    except NoSessionError as error:
        if "certificate verify failed" not in error.cause:
            yield f"a client that does not know the certificate: said something else: {error.cause}"
    finally:
        os.environ["SSL_CERT_FILE"] = trusted


def _run(server: LocalServer, password: str, *command: str) -> list[str]:
    """Runs a command as a user of the server, in the way that docs/servers.md has; what it says if it fails."""
    variables = {
        **server.environment(),
        "CHANGE_TABLES_TARGET": "remote",
        "CHANGE_TABLES_AUTH": "LDAP",
        "CHANGE_TABLES_USER": _USER,
        "CHANGE_TABLES_PASSWORD": password,
        "CHANGE_TABLES_USE_SSL": "true",
    }
    done = subprocess.run(command, env=variables, cwd=PROJECT, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else [f"{' '.join(command)} failed: {(done.stdout + done.stderr).strip()}"]


def _dbt(folder: Path, server: LocalServer, password: str) -> list[str]:
    project = folder / "project"
    for name, text in _PROJECT.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    folders = ["--project-dir", str(project), "--profiles-dir", str(PROFILES)]
    dbt = str(Path(sys.executable).with_name("dbt"))
    return _run(server, password, dbt, "--no-send-anonymous-usage-stats", "run", *folders)


def _mistakes_of_log(folder: Path, secret: list[str]) -> Iterator[str]:
    """The log must say who came from where, and neither it nor a command line may have a password."""
    log = (folder / LOG).read_text()
    for wanted in (f"Client's username: {_USER}", "Client's IP Address: 127.0.0.1", "]: openSession()"):
        if wanted not in log:
            yield f"{LOG} does not say: {wanted}"
    said = {LOG: log, OUTPUT: (folder / OUTPUT).read_text()}
    for pid in jvms_of(folder):
        said["the command line of the JVM"] = Path(f"/proc/{pid}/cmdline").read_text()
    yield from (f"{where} has a password" for where, text in said.items() if any(each in text for each in secret))


if __name__ == "__main__":
    sys.exit(main())
