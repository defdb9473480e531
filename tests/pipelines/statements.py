"""What a test does to the statements that dbt sends: let one hang inside the server, or act before one is sent."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from dbt.adapters.spark.connections import PyhiveConnectionWrapper
from dbt.cli.main import dbtRunner

from .landing import Raw

Rule = Callable[[str], str]

_PATIENCE = 600.0  # seconds for a statement to be reached
_AN_HOUR = 3_600_000  # milliseconds, longer than any test waits
_LOOK_EACH = 50  # milliseconds, in which a statement that hangs sees that it was let go
_NODE = re.compile(r'"node_id": "[^".]+\.[^".]+\.([^".]+)')
_TOLD = [
    re.compile(r"('\{.*\}') as _checkpoint"),
    re.compile(r"(cast\(null as string\)) as _checkpoint"),
    re.compile(r"(true|false) as _ct_is_replayed"),
    re.compile(r"(_change_op), (?=[^()]*\nfrom reduced_deliveries|[^()]*,\n[^()]*\nfrom reduced_deliveries)"),
]
"""What a statement writes whose row hangs: the first of these that it has."""


@contextmanager
def intercepted(*rules: Rule) -> Iterator[None]:
    """Let every statement that dbt sends from this process pass through the rules, each of which may change it."""
    execute = PyhiveConnectionWrapper.execute

    def pass_through(self: Any, sql: str, bindings: Any = None) -> None:
        for rule in rules:
            sql = rule(sql)
        execute(self, sql, bindings)

    with mock.patch.object(PyhiveConnectionWrapper, "execute", pass_through):
        yield


def hanging(statement: str, milliseconds: int = _AN_HOUR) -> Rule:
    """The statements that contain this text hang while Spark runs them: where they write the checkpoint, else a row.

    `wait_until_hanging` returns when they do. They go on when `let_go` says so, at the latest after this time.
    """

    def rule(sql: str) -> str:
        if statement not in sql:
            return sql
        state = f"reflect('java.lang.System', 'getProperty', '{statement}')"
        sleep = f"if({state} = 'hangs', reflect('java.lang.Thread', 'sleep', {_LOOK_EACH}L), '')"
        hang = (
            f"if({state} = 'goes on', '', concat(reflect('java.lang.System', 'setProperty', '{statement}', 'hangs'),"
            f" array_join(transform(sequence(1, {milliseconds // _LOOK_EACH}), look -> {sleep}), '')))"
        )
        told = next(told for told in _TOLD if told.search(sql))

        def held_back(found: re.Match[str]) -> str:
            name = "" if " as " in found[0] else f" as {found[1]}"
            return f"if({hang} is null, null, {found[1]}){name}{found[0][len(found[1]) :]}"

        changed, times = told.subn(held_back, sql)
        assert times == 1, sql
        return changed

    return rule


def run_with_hanging(statements: Sequence[str], milliseconds: int, arguments: Sequence[str]) -> None:
    """Run dbt in this process, with these statements hanging: for a process of its own, which is killed."""
    with intercepted(*(hanging(statement, milliseconds) for statement in statements)):
        dbtRunner().invoke(list(arguments))


def node_of(sql: str) -> str:
    """The name of the node that dbt sends a statement for, by the comment that it puts before it; empty for none."""
    found = _NODE.search(sql)
    return found[1] if found else ""


def before(statement: str, act: Callable[[], object]) -> Rule:
    """Act each time before a statement that contains this text is sent."""

    def rule(sql: str) -> str:
        if statement in sql:
            act()
        return sql

    return rule


def wait_until_hanging(raw: Raw, statements: Sequence[str], while_running: Callable[[], bool]) -> None:
    """Wait until all these statements hang.

    Raises:
        AssertionError: they have not begun to, and whoever sends them has come to an end, or it takes too long.
    """
    until = time.monotonic() + _PATIENCE
    ask = ", ".join(f"reflect('java.lang.System', 'getProperty', '{statement}')" for statement in statements)
    while set(found := raw.query(f"select {ask}")[0]) != {"hangs"}:
        assert while_running(), found
        assert time.monotonic() < until, found
        time.sleep(0.1)


def let_go(raw: Raw, statements: Iterable[str]) -> None:
    """Let these statements go on; those that come later do not hang, unless the property is cleared."""
    for statement in statements:
        raw.query(f"select reflect('java.lang.System', 'setProperty', '{statement}', 'goes on')")


@contextmanager
def letting_go(raw: Raw, statements: Iterable[str]) -> Iterator[None]:
    """Let these statements go on at the end, whatever comes."""
    try:
        yield
    finally:
        let_go(raw, statements)
