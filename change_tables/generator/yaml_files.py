"""Properties files that people edit, too: read and written with their comments, their order and their indentation."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from ruamel.yaml.tokens import CommentToken


class YamlFileError(Exception):
    """A file cannot be read; the message is one line with the place."""


@dataclass
class YamlFile:
    """A file and what it holds."""

    path: Path
    data: CommentedMap
    before: str
    """The text of the file; empty where there is none."""
    is_changed: bool = False
    is_empty: bool = False
    """Whether the file has comments at most, which stay above what is written."""

    @property
    def text(self) -> str:
        """The text to write."""
        if not self.is_changed:
            return self.before
        stream = io.StringIO()
        _yaml(self.before).dump(self.data, stream)
        comments = f"{self.before.rstrip()}\n\n" if self.is_empty and self.before.strip() else ""
        return comments + stream.getvalue()

    @property
    def keeps_its_form(self) -> bool:
        """Whether nothing but the changes differs: blanks that are many where one will do become one."""
        if not self.before or self.is_empty:
            return True
        stream = io.StringIO()
        writer = _yaml(self.before)
        writer.dump(writer.load(self.before), stream)
        return stream.getvalue() == self.before


def read_yaml(path: Path) -> YamlFile:
    """A file, or an empty one where there is none.

    Raises:
        YamlFileError: it is no YAML, or no mapping.
    """
    if not path.exists():
        return YamlFile(path, CommentedMap(version=2), "")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise YamlFileError(f"{path}: cannot be read: {error}") from error
    data = parse(path, text)
    if data is None:
        return YamlFile(path, CommentedMap(version=2), text, is_empty=True)
    if not isinstance(data, CommentedMap):
        raise YamlFileError(f"{path}: must be a mapping")
    return YamlFile(path, data, text)


def parse(path: Path, text: str) -> Any:
    """What a text of a file has, with comments and places.

    Raises:
        YamlFileError: it is no YAML.
    """
    try:
        return _yaml(text).load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise YamlFileError(f"{path}{place}: {getattr(error, 'problem', None) or 'is no YAML'}") from error


def list_of(file: YamlFile, name: str) -> CommentedSeq:
    """A list at the top of a file; an empty one is made where there is none."""
    if not file.data.get(name):
        file.data[name] = CommentedSeq()
        if next(iter(file.data)) != name and not file.before:
            file.data.yaml_set_comment_before_after_key(name, before="\n")
    listed: CommentedSeq = file.data[name]
    return listed


def _yaml(text: str) -> YAML:
    """A reader and writer that indents as the text does."""
    offsets = [
        len(dash) - len(key)
        for key, dash in re.findall(r"^( *)(?:- )?[\w\"']+:[ ]*(?:#.*)?\n(?:[ ]*(?:#.*)?\n)*( *)- ", text, re.MULTILINE)
    ]
    # a key after a dash begins two further to the right than the dash
    offset = 0 if offsets and min(offsets) == 0 else 2
    writer = YAML()
    writer.width = 1_000_000
    writer.preserve_quotes = True
    writer.indent(mapping=2, sequence=offset + 2, offset=offset)
    return writer


def scalar(text: str) -> str:
    """A text, in quotes where a reader of YAML 1.1, as dbt's is, would read something else, and where a comma is in it.

    >>> [type(scalar(text)).__name__ for text in ("order", "on", "12", "decimal(18,4)")]
    ['str', 'DoubleQuotedScalarString', 'DoubleQuotedScalarString', 'DoubleQuotedScalarString']
    """
    try:
        is_plain = bool(re.fullmatch(r"[^\s,:#'\"\[\]{}&*!|>%@`?\\-][^,:#'\"\[\]{}\\\n\t]*(?<! )", text)) and (
            yaml.safe_load(text) == text
        )
    except yaml.YAMLError:
        is_plain = False
    return text if is_plain else DoubleQuotedScalarString(text)


def value(given: Any) -> Any:
    """A value for a file: texts by `scalar`, lists and mappings in one line."""
    if isinstance(given, str):
        return scalar(given)
    if isinstance(given, Mapping):
        return in_one_line(given)
    if isinstance(given, list | tuple):
        return names(given)
    return given


def names(given: Iterable[Any]) -> CommentedSeq:
    """A list in one line: `[a, b]`."""
    listed = CommentedSeq(value(item) for item in given)
    listed.fa.set_flow_style()
    return listed


def in_one_line(given: Mapping[str, Any]) -> CommentedMap:
    """A mapping in one line: `{name: a, data_type: int}`."""
    mapping = CommentedMap((name, value(item)) for name, item in given.items())
    mapping.fa.set_flow_style()
    return mapping


def prose(text: str) -> str:
    """A text that has a line of its own: in quotes only where it needs them.

    >>> type(prose("One row per change, once.")).__name__, type(prose("orders: all")).__name__
    ('str', 'DoubleQuotedScalarString')
    """
    try:
        is_plain = yaml.safe_load(f"text: {text}") == {"text": text}
    except yaml.YAMLError:
        is_plain = False
    return text if is_plain else DoubleQuotedScalarString(text)


def insert(items: CommentedSeq, place: int, item: Any, apart: bool = False) -> None:
    """Put an item into a list: what follows the item before, blank lines and comments, comes after the new one.

    `apart` puts a blank line before it.
    """
    tail = _take_tail(items, place - 1) if place else None
    at_end = place == len(items)
    items.insert(place, item)
    if apart and place:
        items.yaml_set_comment_before_after_key(place, before="\n")
    if not tail:
        return
    if at_end and (not isinstance(item, CommentedMap) or item.fa.flow_style()):
        _end(items, [*tail, *(items.ca.end or [])])
    elif isinstance(item, CommentedMap) and not item.fa.flow_style():
        _give_tail(item, tail)
    else:
        items.ca.items[place] = [CommentToken("\n" + "".join(token.value for token in tail), tail[0].start_mark)]


def _take_tail(items: CommentedSeq, place: int) -> list[CommentToken]:
    """The lines below an item that ends in a mapping over several lines; it then has them no longer."""
    node = items[place]
    while isinstance(node, CommentedMap | CommentedSeq) and node:
        if node.fa.flow_style():
            return []
        if node.ca.end:
            tail: list[CommentToken] = list(node.ca.end)
            node.ca.end = []
            return tail
        if isinstance(node, CommentedSeq):
            node = node[len(node) - 1]
            continue
        key = list(node)[-1]
        if isinstance(node[key], CommentedMap | CommentedSeq) and node[key] and not node[key].fa.flow_style():
            node = node[key]
            continue
        comment = node.ca.items.get(key)
        token = comment[2] if comment and len(comment) > 2 else None
        if token is None or "\n" not in token.value.rstrip("\n") + token.value[-1:] * token.value.endswith("\n\n"):
            return []
        first, _, rest = token.value.partition("\n")
        if not rest:
            return []
        token.value = f"{first}\n"
        if not first:
            comment[2] = None
        return [CommentToken(rest, token.start_mark)]
    return []


def _give_tail(item: CommentedMap, tail: list[CommentToken]) -> None:
    node: Any = item
    while True:
        if isinstance(node, CommentedSeq):
            if isinstance(node[-1], CommentedMap) and not node[-1].fa.flow_style():
                node = node[len(node) - 1]
                continue
            _end(node, [*(node.ca.end or []), *tail])
            return
        key = list(node)[-1]
        below = node[key]
        if isinstance(below, CommentedMap | CommentedSeq) and below and not below.fa.flow_style():
            node = below
            continue
        text = "\n" + "".join(token.value for token in tail)
        node.ca.items[key] = [None, None, CommentToken(text, tail[0].start_mark), None]
        return


def _end(items: CommentedSeq, tail: list[CommentToken]) -> None:
    """Let lines follow a list; ruamel.yaml writes them only where the list has a place for comments of its own."""
    if items.ca.comment is None:
        items.ca.comment = [None, None]
    items.ca.end = tail
