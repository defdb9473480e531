"""A real LDAP directory on this machine: Debian's slapd, unpacked into a folder, on a free port of 127.0.0.1."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.systems.kafka_broker import free_port

BASE = "dc=example,dc=org"
"""The place in the directory where all users are, each as `uid=<name>` below it."""

_PATIENCE = 30.0  # seconds for it to answer
_SETTINGS = """
include "{root}/etc/ldap/schema/core.schema"
include "{root}/etc/ldap/schema/cosine.schema"
database ldif
directory "{data}"
suffix "{base}"
access to attrs=userPassword by anonymous auth by * none
access to * by * none
"""
_TOP = f"dn: {BASE}\nobjectClass: dcObject\nobjectClass: organization\no: example\ndc: example\n"
_USER = """
dn: uid={name},{base}
objectClass: account
objectClass: simpleSecurityObject
uid: {name}
userPassword: {password}
"""


class DirectoryServerError(Exception):
    """The directory does not start; the message says where to look."""


class NoDirectoryServerError(Exception):
    """There is no slapd to be had here; the message is one line that says why."""


@dataclass(frozen=True)
class Slapd:
    """The programs of slapd, which nobody has installed.

    Attributes:
        root: the folder that they are unpacked in
    """

    root: Path

    def command(self, program: str) -> list[str]:
        """The beginning of a command line for one of them."""
        return [str(self.root / "usr" / "sbin" / program)]

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables with which they find their libraries."""
        folders = sorted({str(library.parent) for library in self.root.rglob("lib*.so*")})
        return os.environ | {"LD_LIBRARY_PATH": os.pathsep.join(folders)}


def fetch_slapd(folder: Path) -> Slapd:
    """Fetches slapd and what it needs, once, by apt, and unpacks it into a folder: the system stays as it is.

    Raises:
        NoDirectoryServerError: this is no Debian, apt cannot fetch it, or a library is missing.
    """
    slapd = Slapd(folder / "root")
    if not Path(*slapd.command("slapd")).exists():
        missing = [name for name in ("apt-get", "apt-cache", "dpkg", "dpkg-query") if shutil.which(name) is None]
        if missing:
            raise NoDirectoryServerError(f"slapd comes from Debian's packages, and here is no {', no '.join(missing)}")
        partial = folder / "partial"
        shutil.rmtree(folder, ignore_errors=True)
        partial.mkdir(parents=True)
        needed = (line.split()[-1] for line in _said("apt-cache", "depends", "slapd") if " Depends: lib" in line)
        _said("apt-get", "download", "slapd", *(name for name in needed if not _is_installed(name)), folder=partial)
        for package in partial.glob("*.deb"):
            _said("dpkg", "-x", str(package), str(partial / "root"))
        (partial / "root").rename(slapd.root)
        shutil.rmtree(partial)
    done = subprocess.run(
        ["ldd", *slapd.command("slapd")], env=slapd.environment, capture_output=True, text=True, check=False
    )
    if lacking := [line.split()[0] for line in done.stdout.splitlines() if "not found" in line]:
        raise NoDirectoryServerError(f"slapd does not run here without {', '.join(lacking)}")
    return slapd


def _said(*command: str, folder: Path | None = None) -> list[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = " ".join((done.stderr.strip() or "nothing").splitlines()[-1].split())
        raise NoDirectoryServerError(f"slapd cannot be had: `{' '.join(command[:3])}` says: {said}")
    return done.stdout.splitlines()


def _is_installed(package: str) -> bool:
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
    return subprocess.run(query, capture_output=True, text=True, check=False).stdout == "installed"


@contextmanager
def directory_server(folder: Path, slapd: Slapd, passwords: Mapping[str, str]) -> Iterator[str]:
    """Starts a directory with these users; yields its address, and stops it when the block ends, also by an error.

    Args:
        folder: of its settings, its data and its log; made new
        slapd: the programs
        passwords: the password of each user, by name

    Raises:
        DirectoryServerError: it does not come up.
    """
    data, settings, entries = folder / "data", folder / "slapd.conf", folder / "entries.ldif"
    data.mkdir(parents=True)
    settings.write_text(_SETTINGS.format(root=slapd.root, data=data, base=BASE))
    entries.touch(mode=0o600)
    users = (_USER.format(name=name, base=BASE, password=password) for name, password in passwords.items())
    entries.write_text(_TOP + "".join(users))
    port = free_port()
    log_file = folder / "slapd.log"
    with log_file.open("w") as log:
        fill = [*slapd.command("slapadd"), "-f", str(settings), "-l", str(entries)]
        if subprocess.run(fill, stdout=log, stderr=log, env=slapd.environment, check=False).returncode != 0:
            raise DirectoryServerError(f"slapd did not take its users: see {log_file}")
        serve = [*slapd.command("slapd"), "-d", "0", "-f", str(settings), "-h", f"ldap://127.0.0.1:{port}"]
        process = subprocess.Popen(serve, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=slapd.environment)
        try:
            _wait_until_it_answers(process, port, log_file)
            yield f"ldap://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def _wait_until_it_answers(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise DirectoryServerError(f"slapd did not start: see {log}")
