"""Entries of a sources file: what they say of tables, and what of it has changed at the source."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from .data_types import canonical_type, is_text, widens
from .formats import FORMATS, own_key
from .found import FoundColumn, FoundTable, FurtherEntry, Lake, LakeError, Trouble
from .keys import key_of
from .names import needs_quotes
from .plan import Plan, Wish
from .raw_tables import shown
from .yaml_files import YamlFile, in_one_line, insert, names, prose, scalar, value

NO_KEY = "which columns identify a row? dbt refuses the project until they are named here"
"""The comment at a key that is not known."""
FRESHNESS = {"warn_after": {"count": 1, "period": "day"}}
"""When `dbt source freshness` warns: it looks only at entries that say when."""

_PLAIN_COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Entries:
    """The entries of one source, as a file has them."""

    def __init__(self, file: YamlFile, listed: CommentedSeq, lake: Lake, wish: Wish, plan: Plan) -> None:
        """Take the list of entries out of a file; what is found goes into the plan."""
        self._file, self._listed, self._lake, self._wish, self._plan = file, listed, lake, wish, plan
        self._format = FORMATS[wish.format]

    def by_name(self) -> dict[str, CommentedMap]:
        """Name in small letters -> entry."""
        return {str(entry["name"]).lower(): entry for entry in self._listed}

    # entries that are there

    def compare(self, entry: CommentedMap, table: FoundTable) -> None:
        """What differs between an entry and its table: what can follow is changed, the rest is listed."""
        name = str(entry["name"])
        place = f"{self._wish.source}.{name}"
        spec = spec_of(entry)
        assert spec is not None
        if spec.get("format") != self._wish.format:
            self._plan.troubles.append(
                Trouble(place, f"has the format {spec.get('format')}, not {self._wish.format}; left as it is")
            )
            return
        changes = self._follow_columns(entry, table, place)
        self._compare_settings(spec, table, place)
        changes += self._follow_key(entry, spec, table, place)
        changes += self._follow_freshness(entry, table, place)
        changes += self._follow_arrival(spec, table, place)
        self._note_seen_once(table, place, [str(column["name"]).lower() for column in entry["columns"]])
        if changes:
            self._plan.changed[name] = changes
        else:
            self._plan.unchanged.append(name)

    def _follow_columns(self, entry: CommentedMap, table: FoundTable, place: str) -> list[str]:
        changes: list[str] = []
        rebuilds = self._plan.rebuilds
        if not entry.get("columns"):
            entry["columns"] = CommentedSeq()
        columns = entry["columns"]
        declared = {str(column["name"]).lower(): column for column in columns}
        found = _under_names_of_today(table.columns, declared)
        candidates = _new_names(declared, found)
        key = [str(name).lower() for name in settings_of(entry).get("key") or ()]
        for name, column in declared.items():
            if name not in found and _is_retired(column):
                continue
            if name not in found and self._format.columns_are_seen and name in self._wish.landing_columns:
                text = f"column {column['name']} is declared, and is a landing job's: take it out of the entry"
                rebuilds.append(Trouble(place, text))
            elif name not in found and self._format.columns_are_seen:
                remedy = "retire it (config.meta.retired: true)"
                if name in candidates:
                    new = candidates[name].name
                    renamed = f"declare that with renamed_from: {column['name']}"
                    remedy = f"if {new} in its place is its new name, {renamed}, else {remedy}"
                rebuilds.append(
                    Trouble(place, f"column {column['name']} is declared, and is no longer there: {remedy}")
                )
            elif name not in found:
                self._plan.notes.append(f"{place}: column {column['name']} is in no row that was looked at")
            elif column["name"] != found[name].name and found[name].name.lower() == name:
                rebuilds.append(Trouble(place, f"column {found[name].name} is declared as {column['name']}"))
        order = [name for name in declared if name in found]
        if self._format.order_counts(table.settings) and order != [name for name in found if name in declared]:
            rebuilds.append(
                Trouble(place, f"the order of the columns is {', '.join(name for name in found if name in declared)}")
            )
        previous: str | None = None
        for name, column in found.items():
            if name not in declared and (column.is_seen_once or column in candidates.values()):
                continue
            if name not in declared:
                at = [str(other["name"]).lower() for other in columns].index(previous) + 1 if previous else 0
                insert(columns, at, _column(column, columns[max(at - 1, 0)] if columns else None))
                _note(columns, at, column.note)
                changes.append(f"column {column.name} {column.data_type} is new")
            else:
                changes += self._follow_type(declared[name], column, place, name in key)
            previous = name
        if changes:
            self._file.is_changed = True
        return changes

    def _follow_type(self, declared: CommentedMap, column: FoundColumn, place: str, is_key: bool) -> list[str]:
        was = str(declared.get("data_type") or "")
        if canonical_type(was) == canonical_type(column.data_type):
            return []
        if was and widens(was, column.data_type, is_key):
            declared["data_type"] = scalar(column.data_type)
            return [f"column {column.name} is {column.data_type}, was {was}"]
        if is_text(column.data_type) or column.note:
            self._plan.kept_types += (
                1  # what a text is read as is a person's choice, and a note says that it is a guess
            )
            return []
        self._plan.rebuilds.append(
            Trouble(place, f"column {column.name} is {column.data_type}, is declared as {was or 'no type'}")
        )
        return []

    def _compare_settings(self, spec: CommentedMap, table: FoundTable, place: str) -> None:
        for name in self._format.shown:
            if spec.get(name) != table.settings.get(name):
                shown, was = (_shown(given.get(name)) for given in (table.settings, spec))
                self._plan.rebuilds.append(Trouble(place, f"{name} is {shown}, is declared as {was}"))

    def _follow_key(self, entry: CommentedMap, spec: CommentedMap, table: FoundTable, place: str) -> list[str]:
        name = place.partition(".")[2]
        if own_key(self._wish.format, spec):
            return []
        key = key_of(table, self._wish.keys)
        if key.mistake:
            self._plan.troubles.append(Trouble(place, key.mistake))
        declared = [str(column) for column in spec.get("key") or ()]
        today = _names_of_today(entry["columns"])
        of_table = [today.get(column.lower(), column.lower()) for column in key.columns]
        if not declared and key.columns:
            _set_key(spec, key.columns)
            self._file.is_changed = True
            return [f"key is {', '.join(key.columns)}"]
        if not declared:
            self._plan.without_key.append(name)
        elif key.columns and key.is_certain and of_table != [column.lower() for column in declared]:
            self._plan.rebuilds.append(
                Trouble(place, f"key is {', '.join(key.columns)}, is declared as {', '.join(declared)}")
            )
        return []

    def _follow_arrival(self, spec: CommentedMap, table: FoundTable, place: str) -> list[str]:
        if "arrival" in spec or not self._landing_column(self._wish.arrival, table, place, "arrival"):
            return []
        spec["arrival"] = scalar(self._wish.arrival)
        self._file.is_changed = True
        return [f"arrival is {self._wish.arrival}"]

    def _follow_freshness(self, entry: CommentedMap, table: FoundTable, place: str) -> list[str]:
        if not self._wish.freshness_column:
            return []
        config = entry.get("config") or {}
        if any("loaded_at" in name or name == "freshness" for given in (entry, config) for name in given):
            return []
        column = self._landing_column(self._wish.freshness_column, table, place, "freshness")
        if not column:
            return []
        entry.setdefault("config", CommentedMap()).update(_freshness(column))
        self._file.is_changed = True
        return [f"freshness by {column}"]

    # new entries

    def add(self, tables: Sequence[FoundTable], further: Sequence[FurtherEntry], read: Collection[str]) -> None:
        """Add the entries of tables, each with the further ones that it reads.

        `read` are the names, in small letters, of all further entries that any table reads, also one that was there.
        """
        by_name = {entry.name.lower(): entry for entry in further}
        for table in tables:
            self._append(self._entry(table))
            self._plan.new.append(table.name)
            for name in table.reads:
                if name.lower() in by_name:
                    self._append_further(by_name[name.lower()])
        for name, entry in by_name.items():
            if name not in read:
                self._append_further(entry)

    def _append_further(self, entry: FurtherEntry) -> None:
        if entry.name.lower() in self.by_name():
            return
        written = CommentedMap(name=scalar(entry.name), identifier=scalar(entry.identifier))
        _quote_identifier(written, entry.identifier)
        if entry.description:
            written["description"] = prose(entry.description)
        self._append(written)

    def _append(self, entry: CommentedMap) -> None:
        insert(self._listed, len(self._listed), entry, apart=True)
        self._file.is_changed = True

    def _entry(self, table: FoundTable) -> CommentedMap:
        place = f"{self._wish.source}.{table.name}"
        spec = CommentedMap(format=self._wish.format)
        if not own_key(self._wish.format, table.settings):
            key = key_of(table, self._wish.keys)
            if key.mistake:
                self._plan.troubles.append(Trouble(place, f"{key.mistake}; it is written without a key"))
            if not key.columns:
                self._plan.without_key.append(table.name)
            _set_key(spec, key.columns)
        for name, setting in table.settings.items():
            if name not in spec:
                spec[name] = value(setting)
        if self._landing_column(self._wish.arrival, table, place, "arrival"):
            spec["arrival"] = scalar(self._wish.arrival)
        entry = CommentedMap(name=scalar(table.name), identifier=scalar(table.identifier))
        _quote_identifier(entry, table.identifier)
        config = CommentedMap(meta=CommentedMap(change_table=spec))
        column = self._landing_column(self._wish.freshness_column, table, place, "freshness")
        if column:
            config.update(_freshness(column))
        if table.description:
            entry["description"] = prose(table.description)
        entry["config"] = config
        declared = [found for found in table.columns if not found.is_seen_once or found.name in spec.get("key", ())]
        columns = CommentedSeq(_column(found) for found in declared)
        for at, found in enumerate(declared):
            _note(columns, at, found.note)
        if declared:
            entry["columns"] = columns
        self._note_seen_once(table, place, [found.name.lower() for found in declared])
        return entry

    def _note_seen_once(self, table: FoundTable, place: str, declared: Collection[str]) -> None:
        once = [found.name for found in table.columns if found.is_seen_once and found.name.lower() not in declared]
        if once:
            self._plan.notes.append(
                f"{place}: a single event is all that was seen of {shown(once)}: not declared; run again when more have"
                " landed, or declare it with the source's type"
            )

    def _landing_column(self, wished: str, table: FoundTable, place: str, what: str) -> str:
        """A column of a landing job, where the raw table of an entry has it; SQL as it is."""
        if what == "freshness" and not _PLAIN_COLUMN.fullmatch(wished):
            return wished
        if wished in ("", "auto", "files", "none") and what == "arrival":
            return wished
        try:
            there = {name.lower() for name, _ in self._lake.columns(self._wish.raw_schema, table.identifier)}
        except LakeError as error:
            there = set()
            self._plan.troubles.append(Trouble(place, str(error)))
        if wished.lower() not in there:
            self._plan.notes.append(f"{place} has no column {wished}: it is written without {what}")
            return ""
        return wished


def spec_of(entry: CommentedMap) -> CommentedMap | None:
    """The mapping `change_table` of an entry; of an entry that is no table of its own, null."""
    meta = (entry.get("config") or {}).get("meta") or {}
    spec = meta.get("change_table")
    return spec if isinstance(spec, CommentedMap) else None


def _is_retired(column: CommentedMap) -> bool:
    """Whether the raw table need not have a declared column any more."""
    return bool(((column.get("config") or {}).get("meta") or {}).get("retired"))


def _names_before(column: CommentedMap) -> list[str]:
    """The names that a declared column had before, in small letters."""
    given = ((column.get("config") or {}).get("meta") or {}).get("renamed_from") or ()
    return [str(name).lower() for name in ([given] if isinstance(given, str) else given)]


def _names_of_today(columns: Sequence[CommentedMap]) -> dict[str, str]:
    """Those names of declared columns -> what these are called now, in small letters."""
    return {before: str(column["name"]).lower() for column in columns for before in _names_before(column)}


def _under_names_of_today(
    columns: Sequence[FoundColumn], declared: Mapping[str, CommentedMap]
) -> dict[str, FoundColumn]:
    """The columns that are there by their names in small letters, renamed ones under those of today."""
    today = _names_of_today(list(declared.values()))
    found: dict[str, FoundColumn] = {}
    for column in columns:
        name = column.name.lower()
        if today.get(name, name) not in found or name not in today:
            found[today.get(name, name)] = column
    return found


def _new_names(declared: Mapping[str, CommentedMap], found: Mapping[str, FoundColumn]) -> dict[str, FoundColumn]:
    """For declared columns that are gone, those that are there in their place with their type, and are not declared."""
    names: dict[str, FoundColumn] = {}
    here = [name for name, column in declared.items() if name in found or not _is_retired(column)]
    for name, (there, column) in zip(here, found.items(), strict=False):
        is_alike = canonical_type(str(declared[name].get("data_type") or "")) == canonical_type(column.data_type)
        if name not in found and there not in declared and is_alike:
            names[name] = column
    return names


def settings_of(entry: CommentedMap) -> Mapping[str, Any]:
    """The settings of an entry; empty where it has none."""
    return spec_of(entry) or {}


def identifier_of(entry: CommentedMap) -> str:
    """The raw table of an entry."""
    return str(entry.get("identifier") or entry["name"])


def _quote_identifier(entry: CommentedMap, identifier: str) -> None:
    if needs_quotes(identifier):
        entry["quoting"] = in_one_line({"identifier": True})


def _column(column: FoundColumn, beside: CommentedMap | None = None) -> CommentedMap:
    """A declared column, in one line unless the one beside it takes several."""
    declared: dict[str, Any] = {"name": column.name, "data_type": column.data_type}
    if column.description:
        declared["description"] = column.description
    if column.meta:
        declared["config"] = {"meta": dict(column.meta)}
    written = in_one_line(declared)
    if beside is not None and not beside.fa.flow_style():
        written.fa.set_block_style()
    return written


def _note(columns: CommentedSeq, at: int, note: str) -> None:
    if note:
        columns.yaml_add_eol_comment(note, at, column=0)


def _set_key(spec: CommentedMap, columns: Sequence[str]) -> None:
    was = spec.get("key")
    if isinstance(was, CommentedSeq) and was.ca.comment:
        was.ca.comment = None
    spec["key"] = names(columns)
    if not columns:
        spec.yaml_add_eol_comment(NO_KEY, "key")
    elif "key" in spec.ca.items and NO_KEY in str(spec.ca.items["key"]):
        del spec.ca.items["key"]


def _freshness(column: str) -> CommentedMap:
    return CommentedMap(loaded_at_field=scalar(column), freshness=in_one_line(FRESHNESS))


def _shown(setting: Any) -> str:
    if setting is None:
        return "the default"
    return ", ".join(map(str, setting)) if isinstance(setting, list | tuple) else str(setting)
