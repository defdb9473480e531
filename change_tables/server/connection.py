"""Sessions on a Spark Thrift server: where it is, as whom to go there, and what to do where there is none."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click
from pyhive import hive
from pyhive.exc import Error as HiveError
from thrift.Thrift import TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TBufferedTransport
from thrift_sasl import TSaslClientTransport

from change_tables.places import command_name

UNREADABLE = (HiveError, TException, OSError, ValueError, AssertionError, EOFError)
"""What PyHive raises, for a server that cannot be read or one that does not speak Thrift."""

AUTHS = ("NONE", "NOSASL", "LDAP", "CUSTOM")
"""How a server can know its users."""

_SERVER = command_name("server")
_C = TypeVar("_C", bound=Callable[..., Any])


class NoSessionError(Exception):
    """There is no session; the message is one line with the cause and what to do."""

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause}; {remedy}")
        self.cause, self.remedy = cause, remedy


@dataclass(frozen=True)
class Address:
    """Where a server is, and as whom to go there; as in dbt's profile."""

    host: str
    port: int
    auth: str = "NONE"
    user: str = ""
    password: str = ""
    timeout: int = 120
    """Seconds to wait for an answer."""
    use_ssl: bool = False
    """Whether to speak TLS. The certificate is checked, by those that OpenSSL trusts: `SSL_CERT_FILE` names others."""

    @property
    def address(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"

    def connect(self, statements_may_last: bool = False) -> Any:
        """A session, which gives up where the server is silent for longer than the timeout.

        Where `statements_may_last`, the timeout holds only until the session is there.

        Raises:
            NoSessionError: nothing answers, or what answers opens no session.
        """
        try:
            socket.create_connection((self.host, self.port), timeout=self.timeout).close()
        except (OSError, ValueError) as error:  # a ValueError for what cannot be the name of a host
            remedy = f"start it with `{_SERVER}`, or correct --host and --port"
            raise NoSessionError(f"nothing answers on {self.address}: {words_of(error)}", remedy) from error
        context = ssl.create_default_context() if self.use_ssl else None
        if context is not None:
            self._try_tls(context)
        wire = TSSLSocket(self.host, self.port, ssl_context=context) if context else TSocket(self.host, self.port)
        wire.setTimeout(1000 * self.timeout)
        try:
            session = self._session(wire)
        except UNREADABLE as error:
            remedy = "correct --auth, --user, --password and --use-ssl, or --port if another program listens there"
            raise NoSessionError(f"no session on {self.address}: {words_of(error)}", remedy) from error
        if statements_may_last:
            wire.setTimeout(None)
        return session

    def _try_tls(self, context: ssl.SSLContext) -> None:
        """Shake hands once: Thrift would not say what is wrong."""
        try:
            with socket.create_connection((self.host, self.port), timeout=self.timeout) as wire:
                context.wrap_socket(wire, server_hostname=self.host).close()
        except OSError as error:
            remedy = "leave --use-ssl out if it speaks none; else let SSL_CERT_FILE name the certificate to trust"
            raise NoSessionError(f"no TLS with {self.address}: {words_of(error)}", remedy) from error

    def _session(self, wire: TSocket) -> Any:
        user, password = self.user or "change_tables", self.password or "none"  # of no password nothing is asked
        if self.auth == "NOSASL":
            return hive.connect(thrift_transport=TBufferedTransport(wire), username=user)

        def sasl() -> Any:
            return hive.get_installed_sasl(self.host, "PLAIN", username=user, password=password)

        return hive.connect(thrift_transport=TSaslClientTransport(sasl, "PLAIN", wire), username=user)


def address_options(command: str) -> Callable[[_C], _C]:
    """The options of a command that say where the server is: those of `Address`.

    The variable of the command, `CHANGE_TABLES_<COMMAND>_HOST`, counts more than that of all clients.
    """

    def variables(name: str) -> list[str]:
        return [f"CHANGE_TABLES_{command.upper()}_{name}", f"CHANGE_TABLES_{name}"]

    def decorate(function: _C) -> _C:
        for option in reversed(
            (
                click.option(
                    "--host",
                    default="127.0.0.1",
                    show_default=True,
                    envvar=variables("HOST"),
                    help="The server's host.",
                ),
                click.option(
                    "--port",
                    default=10000,
                    show_default=True,
                    type=click.IntRange(1, 65535),
                    envvar=variables("PORT"),
                    help="The server's port.",
                ),
                click.option(
                    "--auth",
                    default="NONE",
                    show_default=True,
                    type=click.Choice(AUTHS),
                    envvar=variables("AUTH"),
                    help="How the server knows its users, as in dbt.",
                ),
                click.option(
                    "--user", default="", envvar=variables("USER"), help="User, where the server asks for one."
                ),
                click.option(
                    "--password", default="", envvar=variables("PASSWORD"), help="Password; better given as a variable."
                ),
                click.option(
                    "--use-ssl",
                    is_flag=True,
                    envvar=variables("USE_SSL"),
                    help="Speak TLS, and check the certificate: SSL_CERT_FILE names those to trust.",
                ),
            )
        ):
            function = option(function)
        return function

    return decorate


def close_quietly(session: Any) -> None:
    """End a session or a cursor. If the server is gone, there is nothing to end."""
    try:
        session.close()
    except UNREADABLE:
        return  # what it could say is said


def words_of(error: BaseException) -> str:
    """What the server or the system says, on one line of bearable length: without the stack of its calls."""
    status = getattr(error.args[0], "status", None) if error.args else None
    said = getattr(status, "errorMessage", None) or getattr(error, "strerror", None) or str(error)
    line = " ".join((str(said).strip() or type(error).__name__).splitlines()[0].split())
    line = re.sub(r"^([\w.$]+Exception: )?(Error (running query|operating \S+): )?", "", line)
    return re.sub(r"^(\[[A-Z_.0-9]+\] )[\w.$]+(Exception|Error): (\1)?", r"\1", line)[:400]
