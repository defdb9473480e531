"""A lake that no server has: its tables, and what it answers to queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from change_tables.generator.found import LakeError


class FakeLake:
    """Answers a query with the rows that are given for the first of these texts that is in it.

    Attributes:
        asked: the queries so far
        said: the comments of tables, as the lake gives them
    """

    def __init__(
        self, tables: Mapping[str, Mapping[str, str] | LakeError], answers: Mapping[str, Sequence[Any] | LakeError]
    ) -> None:
        """Columns by table, and rows by what is in the query; an error is raised instead."""
        self._tables = tables
        self._answers = answers
        self.asked: list[str] = []
        self.said: Mapping[str, Mapping[str, str]] = {}

    def tables(self, schema: str) -> list[str]:
        """The names, sorted; a schema `nowhere` is not there."""
        if schema == "nowhere":
            raise LakeError("there is no schema nowhere")
        return sorted(self._tables)

    def columns(self, schema: str, table: str) -> list[tuple[str, str]]:  # noqa: ARG002  # there is one schema
        """The columns of a table."""
        found = self._tables[table]
        if isinstance(found, LakeError):
            raise found
        return list(found.items())

    def comments(self, schema: str, table: str) -> dict[str, str]:  # noqa: ARG002  # there is one schema
        """Those that were given."""
        return dict(self.said.get(table, {}))

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """What was given for this query."""
        self.asked.append(statement)
        for text, answer in self._answers.items():
            if text in statement:
                if isinstance(answer, LakeError):
                    raise answer
                return [tuple(row) for row in answer]
        raise AssertionError(f"no answer to {statement}")
