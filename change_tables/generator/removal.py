"""What of a project is about one table, and the project without it. All else stays, letter by letter.

The files are changed as texts: a reader of YAML says only on which lines an item stands, and whether the new text says
the same of all other things.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from .entries import settings_of, spec_of
from .names import KINDS, literal, model_name
from .project_files import Project, ProjectError
from .yaml_files import YamlFile, parse, read_yaml

_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_MACROS = {
    "stg": "staged_changes(",
    "dedup": "deduplicated_changes(",
    "current": "current_state(",
    "history": "history(",
}


@dataclass
class Removal:
    """What is to be done."""

    source: str
    table: str
    models: list[str] = field(default_factory=list)
    """The models that go, those that read others before these."""
    files: dict[Path, str | None] = field(default_factory=dict)
    """The new text of each file, in the order in which they are written; None for one that goes."""
    notes: list[str] = field(default_factory=list)


def plan_removal(project: Project, table: str, source: str = "") -> Removal:
    """What takes a table out of a project.

    Args:
        project: the project
        table: the name of its entry
        source: of the entry; needed where two sources have one of that name

    Raises:
        ProjectError, YamlFileError: there is none, or something else needs it; the message says what.
    """
    file, owner, place = _entry(project, table, source)
    removal = Removal(str(owner["name"]), str(owner["tables"][place]["name"]))
    _refuse_entries_that_need(owner, removal)
    texts = {name: path.read_text(encoding="utf-8") for name, path in project.models.items()}
    own = [model_name(kind, removal.source, removal.table) for kind in reversed(KINDS)]
    for kind, name in zip(reversed(KINDS), own, strict=True):
        if name in texts and _MACROS[kind] not in blanked(texts[name]):
            raise ProjectError(
                f"{project.models[name]}: calls no {_MACROS[kind]}…): it is another model, remove it by hand"
            )
    gone = [name for name in own if name in texts]
    lists: dict[str, str] = {}
    for name, text in texts.items():
        if name in own:
            continue
        without = _without_table(text, removal, own)
        if _empty_lists(without) > _empty_lists(text):
            gone.insert(0, name)
        elif without != text:
            lists[name] = without
    for name, text in texts.items():
        left = lists.get(name, text)
        readers = [model for model in gone if _refers_to(left, model)] if name not in gone else []
        if readers or (name not in gone and _names_entry(left, removal)):
            raise ProjectError(
                f"{project.models[name]}: reads {', '.join(readers) or removal.table}: change or remove it before"
            )
    removal.models = gone
    # in this order dbt can read the project whichever file is the last: what refers to another one goes before that one
    removal.files.update({project.models[name]: text for name, text in lists.items()})
    removal.files.update({path: text for path, text in _descriptions(project, gone).items() if path != file.path})
    removal.files.update({project.models[name]: None for name in gone})
    text = _descriptions(project, gone).get(file.path, file.before)
    removal.files[file.path] = _without_item(file.path, text, ("sources", removal.source, "tables"), removal.table)
    return removal


def _empty_lists(text: str) -> int:
    return len(re.findall(r"\[\s*\]", blanked(text)))


def _entry(project: Project, table: str, source: str) -> tuple[YamlFile, CommentedMap, int]:
    """The file, the source and the place of an entry."""
    found = [
        (file, owner, place)
        for file in map(read_yaml, project.property_files("sources"))
        for owner in file.data.get("sources") or ()
        if not source or owner["name"] == source
        for place, entry in enumerate(owner.get("tables") or ())
        if str(entry.get("name")).lower() == table.lower()
    ]
    if len(found) != 1:
        names = ", ".join(f"{owner['name']} ({file.path})" for file, owner, _ in found)
        wanted = f"'{source}.{table}'" if source else f"'{table}'"
        raise ProjectError(
            f"{wanted} must be one entry of a source, is in {names}: name it by --source"
            if found
            else f"{wanted} must be an entry of a source, no sources file has it"
        )
    return found[0]


def _refuse_entries_that_need(owner: CommentedMap, removal: Removal) -> None:
    """Stop where another entry names this one; note those that this one alone names."""
    named_by: dict[str, set[str]] = {}
    names = {str(entry["name"]) for entry in owner["tables"]}
    for entry in owner["tables"]:
        for setting, value in (settings_of(entry) if spec_of(entry) is not None else {}).items():
            if isinstance(value, str) and value in names and setting in _NAMES_ENTRIES:
                named_by.setdefault(value, set()).add(str(entry["name"]))
    if others := sorted(named_by.get(removal.table, set()) - {removal.table}):
        raise ProjectError(f"'{removal.source}.{removal.table}' is read by {', '.join(others)}: remove these before")
    for name, readers in sorted(named_by.items()):
        if readers == {removal.table}:
            removal.notes.append(f"{removal.source}.{name} is read by no entry any more: its entry is left")


_NAMES_ENTRIES = ("snapshot", "metadata", "registry", "tracking", "replica")
"""The settings by which an entry names another one of its source."""


# models


def blanked(text: str) -> str:
    """A template with blanks in place of its comments, so that places stay."""
    return _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)


def _spelt(name: str) -> str:
    """A pattern for a name as a text of Jinja."""
    return "(?:" + "|".join(re.escape(text) for text in {literal(name), f'"{name}"'}) + ")"


def _ref(model: str) -> str:
    return rf"ref\(\s*{_spelt(model)}\s*\)"


def _refers_to(text: str, model: str) -> bool:
    return bool(re.search(rf"ref\([^)]*{_spelt(model)}", blanked(text)))


def _names_entry(text: str, removal: Removal) -> bool:
    """Whether a model calls a macro or `source` for the entry."""
    return bool(re.search(rf"\(\s*{_spelt(removal.source)}\s*,\s*(\[[^\]]*)?{_spelt(removal.table)}", blanked(text)))


def _without_table(text: str, removal: Removal, own: list[str]) -> str:
    """A model without the table in its lists: of `ref`, and of entries of the source."""
    for model in own:
        text = without_listed(text, _ref(model))
    entries = re.compile(rf"\(\s*{_spelt(removal.source)}\s*,\s*\[")
    for call in entries.finditer(blanked(text)):
        text = without_listed(text, _spelt(removal.table), call.end())
        break
    return text


def without_listed(text: str, item: str, begin: int = 0) -> str:
    r"""A template without an item of a list, given as a pattern; as it is where no list has it.

    >>> without_listed("{{ f([ref('a'), ref('b')]) }}", r"ref\('b'\)")
    "{{ f([ref('a')]) }}"
    >>> without_listed("{{ f([\n    a,\n    b,\n]) }}", "a")
    '{{ f([\n    b,\n]) }}'
    """
    shown = blanked(text)
    for found in re.finditer(rf"(?<![\w.])(?:{item})(?=\s*[,\]])", shown):
        opened = shown.rfind("[", 0, found.start())
        if found.start() < begin or opened < 0 or "]" in shown[opened : found.start()]:
            continue
        if shown[: found.start()].rstrip()[-1] not in "[,":
            continue
        start, end = found.span()
        comma = re.match(r"\s*,", shown[end:])
        if comma:
            end += comma.end()
        line = text.rfind("\n", 0, start) + 1
        after = re.match(r"[ \t]*\n", shown[end:])
        if not text[line:start].strip() and after:
            return text[:line] + text[end + after.end() :]
        if comma:
            return text[:start] + text[end:].lstrip(" ")
        return re.sub(r",\s*$", "", text[:start]) + text[end:]
    return text


# properties files


def _descriptions(project: Project, models: list[str]) -> dict[Path, str]:
    """The properties files that describe these models, without them."""
    texts: dict[Path, str] = {}
    for path in project.property_files("models"):
        before = text = read_yaml(path).before
        for model in models:
            if any(str(given.get("name")).lower() == model for given in _read(path, text).get("models") or ()):
                text = _without_item(path, text, ("models",), model)
        if text != before:
            texts[path] = text
    return texts


def _read(path: Path, text: str) -> Mapping[str, Any]:
    data = yaml.safe_load(text)
    if not isinstance(data, Mapping):
        raise ProjectError(f"{path}: must be a mapping")
    return data


def _without_item(path: Path, text: str, way: tuple[str, ...], name: str) -> str:
    """A properties file without the item of this name in a list.

    Args:
        path: of the file
        text: of the file
        way: to the list: keys, and names of items of lists
        name: of the item

    Raises:
        ProjectError: it cannot be told by lines.
    """
    by_hand = ProjectError(f"{path}: '{name}' cannot be taken out of {way[0]} line by line: take it out by hand")
    data, node = _read(path, text), parse(path, text)
    wanted = _items(data, way)
    items: CommentedSeq = _items(node, way)
    place = next(number for number, item in enumerate(wanted) if str(item["name"]).lower() == name.lower())
    if not isinstance(items, CommentedSeq) or items.fa.flow_style():
        raise by_hand
    lines = text.splitlines(keepends=True)
    begin = items.lc.item(place)[0]
    while begin >= 0 and not lines[begin].lstrip().startswith("-"):
        begin -= 1
    indent = len(lines[begin]) - len(lines[begin].lstrip())
    end = begin + 1
    for number in range(begin + 1, len(lines)):
        content = lines[number].strip()
        if not content or content.startswith("#"):
            continue
        if len(lines[number]) - len(lines[number].lstrip()) <= indent:
            break
        end = number + 1
    kept = lines[:begin] + lines[end:]
    stands_apart = begin and end < len(lines) and not lines[end].strip()
    if stands_apart and (not lines[begin - 1].strip() or lines[begin - 1].rstrip().endswith(":")):
        del kept[begin]  # a blank line between items, of which one is left
    if len(items) == 1:
        kept = _empty_list(kept, begin, way[-1])
    result = "".join(kept)
    del wanted[place]
    try:
        if _read(path, result) != data:
            raise by_hand
    except yaml.YAMLError:
        raise by_hand from None
    return result


def _empty_list(lines: list[str], end: int, key: str) -> list[str]:
    """The lines with `[]` after the last such key before a line: the list below it has no item left."""
    for number in range(end - 1, -1, -1):
        if re.match(rf"\s*(- )?{key}:", lines[number]):
            return [*lines[:number], re.sub(rf"({key}:)", r"\1 []", lines[number], count=1), *lines[number + 1 :]]
    return lines


def _items(data: Any, way: tuple[str, ...]) -> Any:
    for step in way:
        data = data[step] if isinstance(data, Mapping) else next(item for item in data if item["name"] == step)
    return data
