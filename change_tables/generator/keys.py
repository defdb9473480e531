"""The key of each table: from a rule, a file, or what the feed says."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from .data_types import is_nested
from .found import FoundColumn, FoundTable
from .names import matches


class KeysError(Exception):
    """A rule or a file of keys cannot be read; the message says where, and what it must be."""


@dataclass(frozen=True)
class Rule:
    """Tables whose name is of a pattern have these key columns."""

    pattern: str
    columns: Sequence[str]

    @property
    def names_one_table(self) -> bool:
        """Whether the pattern is a name."""
        return not re.search(r"[*?\[]", self.pattern)

    @property
    def exactness(self) -> int:
        """How many characters of a name the pattern says."""
        return len(re.sub(r"\[[^]]*\]|[*?]", "", self.pattern))


@dataclass(frozen=True)
class Keys:
    """All that says what keys tables have."""

    rules: Sequence[Rule] = ()
    by_table: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Of the file: the name of a table in small letters -> what its rows say, each a column or several."""
    file: str = ""
    """The file's name, for messages."""


@dataclass(frozen=True)
class Key:
    """The key of one table."""

    columns: Sequence[str] = ()
    """Empty: it is not known."""
    mistake: str = ""
    """Why what was given for this very table cannot be its key."""
    is_certain: bool = False
    """Whether it was said of this very table."""


def parse_rule(text: str) -> Rule:
    """A rule as `--key` has it: `pattern:column,column`.

    Raises:
        KeysError: it is none.

    >>> parse_rule("order_lines:order_id, line_no")
    Rule(pattern='order_lines', columns=['order_id', 'line_no'])
    """
    pattern, colon, listed = text.rpartition(":")
    columns = [name.strip() for name in listed.split(",")]
    if not colon or not pattern.strip() or not all(columns):
        raise KeysError(f"--key must be pattern:column or pattern:column,column, got '{text}'")
    return Rule(pattern.strip(), columns)


def read_keys(file: Path) -> Mapping[str, Sequence[str]]:
    """The keys of a CSV file with the columns `table` and `key`: name of a table in small letters -> texts of `key`.

    In `key`, columns are separated by `;`, else by blanks where that makes names of columns: see `_columns_of`. A table
    that has several rows has the columns of all of them, in their order, as lists of key columns in databases are.

    Raises:
        KeysError: the file cannot be read, or lacks a column.
    """
    keys: dict[str, list[str]] = {}
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines)
            header = {(name or "").strip().lower(): name for name in rows.fieldnames or ()}
            if not {"table", "key"} <= header.keys():
                raise KeysError(f"{file}: must have the columns table and key, has {', '.join(header) or 'none'}")
            for row in rows:
                if None in row:
                    raise KeysError(
                        f"{file}, line {rows.line_num}: must have {len(rows.fieldnames or ())} fields as the header"
                        f" has, has more: key columns are separated by ; or by blanks, as in"
                        f" {row[header['key']]};{';'.join(row[None])}"
                    )
                table, listed = (row[header["table"]] or "").strip(), (row[header["key"]] or "").strip()
                columns = [name.strip() for name in listed.split(";") if name.strip()]
                if not table or not columns:
                    raise KeysError(f"{file}, line {rows.line_num}: must have a table and its key columns")
                keys.setdefault(table.lower(), []).extend(columns if ";" in listed else [" ".join(listed.split())])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise KeysError(f"{file}: cannot be read: {reason}") from error
    return keys


def key_of(table: FoundTable, keys: Keys) -> Key:
    """The key of a table. The more exact word counts.

    In this order: a rule that names the table; the file; what the feed says; the rule whose pattern says most of the
    name. A rule by a pattern counts only where the table has all its columns.
    """
    exact = [rule for rule in keys.rules if rule.names_one_table and _is_of(rule, table)]
    if exact:
        return replace(_named(table, exact[0].columns, "--key"), is_certain=True)
    for name in (table.name.lower(), table.identifier.lower()):
        if name in keys.by_table:
            columns = [column for text in keys.by_table[name] for column in _columns_of(text, table)]
            return replace(_named(table, columns, keys.file), is_certain=True)
    if table.key:
        return Key(tuple(table.key), is_certain=True)
    by_pattern = [rule for rule in keys.rules if not rule.names_one_table and _is_of(rule, table)]
    for rule in sorted(by_pattern, key=lambda rule: -rule.exactness):
        key = _named(table, rule.columns, "--key")
        if key.columns:
            return key
    return Key()


def _is_of(rule: Rule, table: FoundTable) -> bool:
    """Whether a rule is one of a table, by its name or that of its raw table."""
    return any(matches(name, rule.pattern) for name in (table.name, table.identifier))


def _columns_of(text: str, table: FoundTable) -> list[str]:
    """The columns that a text names: one, or several with blanks between. Names can have blanks themselves.

    The fewest that make up the text count. Where none do, each word is one, so that what is missing is named.
    """
    words = text.split()
    # the fewest columns that make up the first words, by how many words these are
    fewest: list[list[str] | None] = [[]]
    for end in range(1, len(words) + 1):
        found = [
            [*before, name]
            for start in range(end)
            if (before := fewest[start]) is not None and _column(name := " ".join(words[start:end]), table)
        ]
        fewest.append(min(found, key=len, default=None))
    return fewest[-1] or words


def _column(name: str, table: FoundTable) -> FoundColumn | None:
    """The column of a name, without case; else the one that OpenEdge's name with `-` is declared as."""
    by_name = {column.name.lower(): column for column in table.columns}
    return by_name.get(name.lower()) or by_name.get(name.lower().replace("-", "_"))


def _named(table: FoundTable, columns: Sequence[str], where: str) -> Key:
    """The columns as the table spells them."""
    by_name = {name: _column(name, table) for name in columns}
    missing = [name for name in columns if by_name[name] is None]
    if missing:
        return Key(mistake=f"{where} names the key column {', '.join(missing)}, which the table does not have")
    found = [column for name in columns if (column := by_name[name])]
    if len({column.name for column in found}) < len(found):
        return Key(mistake=f"{where} names a key column twice: {', '.join(columns)}")
    nested = [f"{column.name} is {column.data_type}" for column in found if is_nested(column.data_type)]
    if nested:
        return Key(mistake=f"{where} names a key column that is of no simple type: {', '.join(nested)}")
    return Key(tuple(column.name for column in found))
