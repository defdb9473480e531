"""Who may come in: on which addresses the server listens, how it knows its users, and which settings cannot be.

Hive has the locks: LDAP, TLS and the rest are settings `spark.hadoop.hive.server2.…` of Spark's Thrift server. This
module looks at them before Spark starts, and refuses what would leave the server open, or what would have no effect.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HIVE = "spark.hadoop.hive.server2."
"""What the settings of the Thrift server begin with."""

AUTHENTICATION = HIVE + "authentication"
BIND_HOST = HIVE + "thrift.bind.host"
PORT = HIVE + "thrift.port"
_HTTP_PORT = HIVE + "thrift.http.port"
_MODE = HIVE + "transport.mode"
_LDAP = HIVE + "authentication.ldap."
_TLS = HIVE + "use.SSL"
_KEYSTORE = HIVE + "keystore.path"
_KEYSTORE_PASSWORD = HIVE + "keystore.password"
_CREDENTIALS = "spark.hadoop.hadoop.security.credential.provider.path"

ASKS_NOBODY = ("NONE", "NOSASL")
NEEDS: Mapping[str, str] = {
    "LDAP": _LDAP + "url",
    "KERBEROS": HIVE + "authentication.kerberos.keytab",
    "CUSTOM": HIVE + "custom.authentication.class",
    "PAM": HIVE + "authentication.pam.services",
}
"""The kinds of authentication that ask for a proof, as Hive spells them, and the setting that each must have."""

LDAP_SETTINGS = tuple(_LDAP + name for name in ("url", "baseDN", "userDNPattern", "Domain"))
"""What the LDAP of Spark 4.1 reads. Hive has more settings, such as filters by group, which it does not look at."""

HIVE_VARIABLES: Mapping[str, str] = {
    "HIVE_SERVER2_THRIFT_BIND_HOST": BIND_HOST,
    "HIVE_SERVER2_THRIFT_PORT": PORT,
    "HIVE_SERVER2_THRIFT_HTTP_PORT": _HTTP_PORT,
    "HIVE_SERVER2_TRANSPORT_MODE": _MODE,
}
"""Variables that count more for Hive than the settings."""

_SECRET = re.compile(r"password|secret", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{env\.(\w+)\}")
_LISTENS = "0A"  # the state of a socket in /proc/net/tcp


class DoorsError(Exception):
    """The server would be open, or a setting would have no effect; the message is one line that says what to do."""


@dataclass(frozen=True)
class Doors:
    """Where a server listens.

    Attributes:
        host: the address; `0.0.0.0` for all of this machine
        port: the port; 0 for a free one
        warnings: what its owner should know, a line each
    """

    host: str
    port: int
    warnings: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return not _beyond_loopback(self.host)

    def settings(self, port: int) -> dict[str, str]:
        """The settings that make Hive listen on a port there, whatever its transport is."""
        return {BIND_HOST: self.host, PORT: str(port), _HTTP_PORT: str(port)}


def doors_of(settings: Mapping[str, str], environment: Mapping[str, str], *, allow_anonymous: bool) -> Doors:
    """Where a server with these settings listens.

    Raises:
        DoorsError: it would listen beyond loopback and ask nobody for a proof, a setting would have no effect, or a
            secret would be seen on the command line of the JVM.
    """
    mode = settings.get(_MODE, "binary").lower()
    if mode not in ("binary", "http"):
        raise DoorsError(f"{_MODE} must be binary or http, got '{settings[_MODE]}'")
    # the server over HTTP takes no notice of an address, and one without an address listens on all
    host = "0.0.0.0" if mode == "http" else settings[BIND_HOST] or "0.0.0.0"
    for mistake in (
        *_other_names(settings),
        *_variables_of_hive(settings, environment, mode),
        *_secrets(settings, environment),
        *_mistakes_of_authentication(settings),
        *_mistakes_of_tls(settings),
    ):
        raise DoorsError(mistake)
    asks = settings.get(AUTHENTICATION, "NONE") not in ASKS_NOBODY
    doors = Doors(host, _port(settings))
    if doors.is_local:
        return doors
    why = f"{host} can be reached from other machines" + (f", as always with {_MODE}=http" if mode == "http" else "")
    if not asks and not allow_anonymous:
        raise DoorsError(
            f"{why}, and the server would ask nobody for a password: set {AUTHENTICATION} (docs/servers.md), listen on"
            " 127.0.0.1, or say --allow-anonymous"
        )
    warnings = []
    if not asks:
        warnings.append(f"{why}, and whoever reaches the server reads and writes everything")
    if settings.get(_TLS, "").lower() != "true":
        what = "passwords and rows" if asks else "rows"
        warnings.append(f"{why}, and {what} cross the network in plain text: set {_TLS} (docs/servers.md)")
    return Doors(doors.host, doors.port, tuple(warnings))


def _other_names(settings: Mapping[str, str]) -> Iterator[str]:
    for name in settings:
        plain = name.removeprefix("spark.")
        if plain.startswith("hive.server2."):
            yield f"--conf {name} must be spelt spark.hadoop.{plain}, the one way to set what is Hive's"


def _variables_of_hive(settings: Mapping[str, str], environment: Mapping[str, str], mode: str) -> Iterator[str]:
    in_force = {**settings, _MODE: mode, _HTTP_PORT: settings[PORT]}
    for variable, name in HIVE_VARIABLES.items():
        if environment.get(variable, in_force[name]) != in_force[name]:
            yield (
                f"the variable {variable} is '{environment[variable]}', and would count more than the options of this"
                " server: unset it, and use --host and --port"
            )


def _secrets(settings: Mapping[str, str], environment: Mapping[str, str]) -> Iterator[str]:
    """Hadoop puts the value of a variable where a setting has `${env.NAME}`: so the command line has only the name."""
    for name, value in settings.items():
        if name.startswith(HIVE) and _SECRET.search(name) and not _VARIABLE.search(value):
            yield (
                f"{name} would be seen on the command line of the JVM: put it into a variable, and set"
                f" {name}=${{env.NAME_OF_THE_VARIABLE}}"
            )
        for variable in _VARIABLE.findall(value) if name.startswith("spark.hadoop.") else ():
            if variable not in environment:
                yield f"{name} is to be in the variable {variable}, which is not set: set it where the server starts"


def _mistakes_of_authentication(settings: Mapping[str, str]) -> Iterator[str]:
    kind = settings.get(AUTHENTICATION, "NONE")
    if kind not in (*ASKS_NOBODY, *NEEDS):
        yield f"{AUTHENTICATION} must be one of {', '.join((*NEEDS, *ASKS_NOBODY))}, got '{kind}'"
    if kind in NEEDS and not settings.get(NEEDS[kind]):
        yield f"{AUTHENTICATION}={kind} needs {NEEDS[kind]}: set it by --conf"
    for name in settings:
        if name.startswith(_LDAP) and name not in LDAP_SETTINGS:
            yield f"{name} has no effect in Spark, which reads only {', '.join(LDAP_SETTINGS)}: remove it"
        if name.startswith(_LDAP) and kind != "LDAP":
            yield f"{name} has no effect without {AUTHENTICATION}=LDAP: set that, too, or remove it"


def _mistakes_of_tls(settings: Mapping[str, str]) -> Iterator[str]:
    if settings.get(_TLS, "").lower() != "true":
        return
    keystore = settings.get(_KEYSTORE, "")
    if not Path(keystore).is_file():
        yield f"{_KEYSTORE} must be the file of a keystore, got '{keystore}'"
    if _KEYSTORE_PASSWORD not in settings and _CREDENTIALS not in settings:
        yield f"{_TLS}=true needs {_KEYSTORE_PASSWORD}: set it to ${{env.NAME_OF_A_VARIABLE}}"


def _port(settings: Mapping[str, str]) -> int:
    try:
        return int(settings[PORT])
    except ValueError:
        raise DoorsError(f"{PORT} must be a whole number, got '{settings[PORT]}'; use --port") from None


def _beyond_loopback(host: str) -> bool:
    """Whether one of the addresses of a host can be reached from other machines.

    >>> [_beyond_loopback(host) for host in ("127.0.0.1", "127.9", "localhost", "::1", "0.0.0.0", "::", "192.0.2.1")]
    [False, False, False, False, True, True, True]
    """
    try:
        found = {str(each[4][0]).partition("%")[0] for each in socket.getaddrinfo(host, None)}
    except OSError:  # nothing can listen on what has no address: whoever tries says so
        return False
    return not all(_is_loopback(each) for each in found)


def _is_loopback(address: str) -> bool:
    """Whether an address is of this machine alone, as IPv4, as IPv6, or as the one in the other."""
    parsed = ipaddress.ip_address(address)
    return (getattr(parsed, "ipv4_mapped", None) or parsed).is_loopback


def hand_to_hive(spark: Any, settings: Mapping[str, str]) -> None:
    """Let Hive's own configuration have the settings of the Thrift server; call it before that server starts.

    What asks LDAP for a user reads a configuration of its own, which has nothing of the session's. It has the system
    properties of the JVM. They are set inside the JVM: so they are not on its command line.

    Raises:
        DoorsError: a file of Spark's or Hive's sets another kind of authentication, which would count more.
    """
    for name, value in settings.items():
        if name.startswith(HIVE):
            spark._jvm.java.lang.System.setProperty(name.removeprefix("spark.hadoop."), value)
    name = AUTHENTICATION.removeprefix("spark.hadoop.")
    of_the_session = spark._jsparkSession.sessionState().newHadoopConf().get(name)
    in_force = spark._jsc.sc().conf().get(name, of_the_session)
    if AUTHENTICATION in settings and in_force != settings[AUTHENTICATION]:
        raise DoorsError(
            f"{name} is {in_force} in a configuration file of Spark or Hive, and {settings[AUTHENTICATION]} by --conf:"
            " remove it from the file"
        )


def check_addresses(doors: Doors, pid: int, port: int) -> None:
    """Check that a server that is to be reached from this machine only is not reached from others.

    Raises:
        DoorsError: it listens on another address, too.
    """
    if doors.is_local and (others := {each for each in _listening(pid, port) if not _is_loopback(each)}):
        raise DoorsError(f"the server listens on {', '.join(sorted(others))}, not on {doors.host} alone: stopped")


def _listening(pid: int, port: int) -> set[str]:
    """The addresses on which a process listens on a port; empty where there is no /proc."""
    found = set()
    for table in Path(f"/proc/{pid}/net").glob("tcp*"):
        for parts in map(str.split, table.read_text().splitlines()[1:]):
            address, _, hexadecimal = parts[1].partition(":")
            if parts[3] == _LISTENS and int(hexadecimal, 16) == port and f"socket:[{parts[9]}]" in _open_files(pid):
                found.add(_address(address))
    return found


def _open_files(pid: int) -> Iterator[str]:
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            yield str(link.readlink())
        except OSError:
            continue  # it was closed meanwhile


def _address(words: str) -> str:
    """An address as it is written; /proc has its words of four bytes as numbers of this machine.

    >>> _address("0100007F"), _address("0" * 32), _address("0000000000000000FFFF00000100007F")
    ('127.0.0.1', '::', '::ffff:7f00:1')
    """
    each = [int(words[place : place + 8], 16).to_bytes(4, "little") for place in range(0, len(words), 8)]
    return str(ipaddress.ip_address(b"".join(each)))
