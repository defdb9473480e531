"""Compares what a feed has with what a project has of it. What a person has changed stays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from change_tables.server.jars import ICEBERG_CATALOG

from .data_types import can_be_declared
from .entries import Entries, identifier_of, settings_of, spec_of
from .formats import FORMATS, RAW_TABLE, WORKING_PREFIX, own_key, reader_of, taken_names
from .found import Found, FoundTable, Lake, LakeError, Trouble
from .landing_columns import shared_at_the_end
from .models import FOLDERS, READ, Models
from .names import matches, model_name, safe_name
from .plan import Plan, Wish
from .project_files import Project, ProjectError, refuse_models, refuse_source, source_of
from .raw_tables import shown
from .schemas import with_dispatch, with_schema_of_readers
from .yaml_files import YamlFile, insert, list_of, read_yaml, scalar

OF_ROWS = ("snapshot", "replica")
"""Settings that name an entry with the source table's own rows."""
COMPARES_ALL = (
    "a run compares all raw rows of a table, unless that keeps the commit of each row (delta.enableRowTracking, or"
    " Iceberg's format version 3): name a column by which rows land by --arrival, or files for tables of files"
)
"""What `init` says of new tables whose rows do not say which of them landed last."""
_JINJA = re.compile(r"\{\{|\{%|\{#")


def make_plan(project: Project, found: Found, lake: Lake, wish: Wish) -> Plan:
    """Compare what a feed has with what a project has of it.

    Raises:
        ProjectError, YamlFileError: the project cannot be read.
        LakeError: the server cannot be asked.
    """
    return _Planner(project, found, lake, wish).plan()


class _Planner:
    def __init__(self, project: Project, found: Found, lake: Lake, wish: Wish) -> None:
        self._found, self._wish, self._plan = found, wish, Plan()
        self._format = FORMATS[wish.format]
        if not wish.source.strip() or _JINJA.search(wish.source):
            raise ProjectError(f"--source must be a name without Jinja, got '{wish.source}'")
        there = project.file_of_source(wish.source)
        path = there or wish.folder / f"_{safe_name(wish.source)}__sources.yml"
        project.refuse_folder(path.parent)
        self._project, self._is_new = project, there is None
        self._sources = read_yaml(path)
        self._models_file = read_yaml(path.parent / f"_{safe_name(wish.source)}__models.yml")
        refuse_models(self._models_file)
        self._listed: CommentedSeq = self._source()["tables"]
        self._entries = Entries(self._sources, self._listed, lake, wish, self._plan)
        self._models = Models(project, path.parent, self._models_file, wish, self._plan)
        self._there = {table.lower() for table in lake.tables(wish.raw_schema)}
        self._is_iceberg = lake.query("set spark.sql.catalog.spark_catalog")[0][1] == ICEBERG_CATALOG
        loads = {entry.name: entry.identifier for entry in found.further_entries}
        self._found = replace(
            found, tables=[self._with_comments(self._of_source(table), loads, lake) for table in found.tables]
        )

    def plan(self) -> Plan:
        """All that is to be done."""
        wish, found = self._wish, self._found
        self._plan.troubles += [
            trouble
            for trouble in found.troubles
            if not wish.leaves_out(trouble.place, trouble.place.rpartition(".")[2])
            and (not trouble.names or wish.is_for(*trouble.names))
        ]
        added, matched = self._match()
        self._list_gone(matched)
        self._list_differing_types()
        self._entries.add(
            added, found.further_entries, {name.lower() for table in found.tables for name in table.reads}
        )
        self._models.write(self._listed, added)
        self._note_unmatched()
        self._note_landing_columns(added)
        self._collect()
        return self._plan

    def _list_differing_types(self) -> None:
        """Of tables that are asked for and that read their load."""
        by_name = self._entries.by_name()
        for differing in self._found.differing_types:
            entry = by_name.get(differing.names[0].lower())
            if self._wish.is_for(*differing.names) and (entry is None or settings_of(entry).get("snapshot")):
                self._plan.differing_types.append(differing)

    def _of_source(self, table: FoundTable) -> FoundTable:
        """A table without the landing job's columns that the user names, where raw tables have the source's own."""
        landing = self._wish.landing_columns if self._format.columns_are_seen else ()
        return replace(table, columns=[column for column in table.columns if column.name.lower() not in landing])

    def _with_comments(self, table: FoundTable, loads: Mapping[str, str], lake: Lake) -> FoundTable:
        """A table with the comments that its raw table, its load or its replica have."""
        places = [table.identifier] if self._format.columns_are_seen else []
        places += [loads[entry] for name in OF_ROWS if (entry := str(table.settings.get(name))) in loads]
        comments: dict[str, str] = {}
        for place in places:
            try:
                comments.update(lake.comments(self._wish.raw_schema, place))
            except LakeError:
                continue  # the reader has said so
        said = {name: " ".join(text.split()) for name, text in comments.items() if not _JINJA.search(text)}
        columns = [replace(column, description=said.get(column.name.lower(), "")) for column in table.columns]
        return replace(table, columns=columns, description=said.get("", ""))

    def _note_landing_columns(self, added: Sequence[FoundTable]) -> None:
        """Columns that most new tables end in, so that a landing job's are not taken for the source's."""
        if not self._format.columns_are_seen:
            return
        shared = shared_at_the_end([[column.name for column in table.columns] for table in added])
        if shared:
            ignored = f"--option ignore={','.join(shared)}" if "ignore" in reader_of(self._wish.format)[1] else "hand"
            self._plan.notes.append(
                f"most tables end in {shown(shared)}, which are declared as the source's: if a landing job adds them,"
                f" take them out by {ignored}, and name the one by which rows land by --arrival"
            )
        if added and not (self._wish.arrival or self._format.says_what_is_new):
            self._plan.notes.append(COMPARES_ALL)

    def _note_unmatched(self) -> None:
        """Names that the user gave and that no table has, so that a slip of the pen is seen."""
        wish = self._wish
        names = [name for table in self._found.tables for name in (table.name, table.identifier)]
        names += [name for entry in self._listed for name in (str(entry["name"]), identifier_of(entry))]
        for option, patterns in (
            ("--include", wish.include),
            ("--history", wish.history),
            ("--key", [rule.pattern for rule in wish.keys.rules]),
        ):
            unmatched = [pattern for pattern in patterns if not any(matches(name, pattern) for name in names)]
            if unmatched:
                self._plan.notes.append(f"{option}: no table is named {shown(unmatched)}")
        there = {name.lower() for name in names}
        unknown = [name for name in wish.keys.by_table if name not in there]
        if unknown:
            self._plan.notes.append(f"{wish.keys.file}: no table is named {shown(unknown)}")

    def _match(self) -> tuple[list[FoundTable], set[str]]:
        """Compare tables with their entries: those that have none, and the names of all that were looked at."""
        wish = self._wish
        by_name = self._entries.by_name()
        owners = {
            model_name("stg", wish.source, str(entry["name"])): f"the entry {entry['name']}"
            for entry in self._listed
            if spec_of(entry) is not None
        }
        added: list[FoundTable] = []
        raw_tables: dict[str, str] = {}
        looked_at: set[str] = set()
        for table in self._found.tables:
            if not wish.is_for(table.name, table.identifier):
                continue
            entry = self._entry_of(table, by_name)
            name = table.name if entry is None else str(entry["name"])
            place = f"{wish.raw_schema}.{table.identifier}"
            if choice := self._choice({**table.chosen, **table.settings}):
                place += f", {choice}"
            model = model_name("stg", wish.source, name)
            mistakes = self._mistakes(table)
            if name.lower() in raw_tables:
                mistakes.append(f"gives the entry {name}, as {raw_tables[name.lower()]} does; {self._remedy(table)}")
            elif entry is None and name.lower() in by_name:
                other = by_name[name.lower()]
                mistakes.append(
                    f"gives the entry {name}, which is there for"
                    f" {', '.join(filter(None, (identifier_of(other), self._choice(settings_of(other)))))};"
                    f" {self._remedy(table)}"
                )
            elif entry is None and model in owners:
                mistakes.append(f"gives the model {model}, as {owners[model]} does")
            looked_at.add(name.lower())
            if mistakes:
                self._plan.troubles += [Trouble(place, f"{mistake}; left out") for mistake in mistakes]
                continue
            raw_tables[name.lower()] = place
            if entry is None:
                owners[model] = f"the table {table.name}"
                added.append(table)
            else:
                self._entries.compare(entry, table)
        return added, looked_at

    def _source(self) -> CommentedMap:
        source = source_of(self._sources, self._wish.source)
        if source is None:
            source = CommentedMap(
                name=scalar(self._wish.source), schema=scalar(self._wish.raw_schema), tables=CommentedSeq()
            )
            listed = list_of(self._sources, "sources")
            insert(listed, len(listed), source, apart=True)
        refuse_source(self._sources, source)
        schema = str(source.get("schema") or source["name"])
        if not _JINJA.search(schema) and schema.lower() != self._wish.raw_schema.lower():
            raise ProjectError(
                f"{self._sources.path}: source '{self._wish.source}' must have the schema that is read,"
                f" {self._wish.raw_schema}, has {schema}"
            )
        if not source.get("tables"):
            source["tables"] = CommentedSeq()
        return source

    def _entry_of(self, table: FoundTable, by_name: Mapping[str, CommentedMap]) -> CommentedMap | None:
        """The entry of a table, by the rows that both are of: its raw table, and the settings that choose rows of it.

        Of several the one with the table's name counts. One that leaves a setting open, and has another name, is that
        of a table only where no other table can be its.
        """
        named = by_name.get(table.name.lower())
        candidates: list[CommentedMap] = [entry for entry in self._listed if self._can_be_of(entry, table)]
        says_all: list[CommentedMap] = [
            entry
            for entry in candidates
            if all(
                settings_of(entry).get(name) is not None for name in self._format.chosen_by if name in table.settings
            )
        ]
        for entries in (says_all if self._format.chosen_by else [], candidates):
            if any(entry is named for entry in entries):
                return named
            if entries is not candidates and entries:
                return entries[0]
        alone = sum(self._can_be_of(candidates[0], other) for other in self._found.tables) == 1 if candidates else False
        return candidates[0] if alone and len(candidates) == 1 else None

    def _can_be_of(self, entry: CommentedMap, table: FoundTable) -> bool:
        """Whether the rows of an entry can be those of a table."""
        if spec_of(entry) is None or identifier_of(entry).lower() != table.identifier.lower():
            return False
        return all(
            _agree(name, settings_of(entry).get(name), {**table.chosen, **table.settings}.get(name))
            for name in self._format.chosen_by
        )

    def _choice(self, settings: Mapping[str, Any]) -> str:
        """The settings that choose rows, for a message."""
        chosen = [name for name in self._format.chosen_by if settings.get(name) is not None]
        return ", ".join(f"{name} {settings[name]}" for name in chosen)

    def _remedy(self, table: FoundTable) -> str:
        settings = {**table.chosen, **table.settings}
        given = {"identifier": table.identifier, **{name: settings.get(name) for name in self._format.chosen_by}}
        said = ", ".join(f"`{name}: {value}`" for name, value in given.items() if value is not None)
        return f"write an entry of another name by hand, with {said}"

    # what cannot be written

    def _mistakes(self, table: FoundTable) -> list[str]:
        """Why a table cannot be declared as it is."""
        found: list[str] = []
        every_name = [table.name, table.identifier, *(column.name for column in table.columns)]
        found += [
            f"has the name '{name}', which dbt would take for Jinja" for name in every_name if _JINJA.search(name)
        ]
        if not table.columns and not own_key(self._wish.format, table.settings):
            found.append("has no columns")
        seen: set[str] = set()
        taken = taken_names(self._wish.format)
        for column in table.columns:
            if column.name.lower() in seen:
                found.append(f"has the column '{column.name}' twice (case does not count)")
            seen.add(column.name.lower())
            if column.name.lower() in taken:
                found.append(f"has the column '{column.name}', a name that the models add")
            elif column.name.lower().startswith(WORKING_PREFIX):
                found.append(
                    f"has the column '{column.name}': names with {WORKING_PREFIX} are those of the models' steps"
                )
            if not can_be_declared(column.data_type):
                found.append(
                    f"has the column '{column.name}' of type {column.data_type}, which none can be declared with:"
                    " let it land as text"
                )
        return found

    def _list_gone(self, looked_at: set[str]) -> None:
        """Entries whose table is not there any more: they are named, never removed."""
        unread = {trouble.place.rpartition(".")[2].lower() for trouble in self._found.troubles}
        for entry in self._listed:
            name, identifier = str(entry["name"]), identifier_of(entry)
            is_compared = self._wish.is_for(name, identifier) and not _JINJA.search(identifier)
            if not is_compared or name.lower() in looked_at or identifier.lower() in unread:
                continue
            if any(self._can_be_of(entry, table) for table in self._found.tables):
                continue
            spec = spec_of(entry)
            if identifier.lower() not in self._there:
                text = "is not there: it was dropped or renamed at the source"
            elif spec is None or spec.get("format") != self._wish.format:
                continue
            elif self._format.shared_by == RAW_TABLE:
                text = "has no rows of it: it was dropped or renamed at the source, or its rows are gone"
            else:
                text = "is there, and is none that the reader looks for"
            self._plan.gone.append(
                Trouble(f"{self._wish.source}.{name}", f"{self._wish.raw_schema}.{identifier} {text}")
            )

    def _project_file(self) -> YamlFile | None:
        """The file of the project: what the server's tables need, and a schema of their own for models people read."""
        written = {path.parent.name for path in self._models.sql}
        file = None
        if written & {FOLDERS[kind] for kind in READ}:
            schema = self._wish.analysts_schema if self._is_new else ""
            file = with_schema_of_readers(
                self._project, self._sources.path.parent, schema, has_history=FOLDERS["history"] in written
            )
        return with_dispatch(self._project, file) if self._is_iceberg else file

    def _collect(self) -> None:
        plan = self._plan
        plan.files.update(self._models.sql)
        for file in (self._models_file, self._project_file(), self._sources):
            if file is None or not file.is_changed:
                continue
            if not file.keeps_its_form:
                plan.notes.append(f"{file.path}: its blanks are written again, since an entry in it changes")
            plan.files[file.path] = file.text
        if plan.kept_types:
            plan.notes.append(
                f"{plan.kept_types} columns land as text, or as what is a guess, and are declared otherwise: left"
            )


def _agree(name: str, given: Any, found: Any) -> bool:
    """Whether a setting that chooses rows can be that of a table. One that is not given chooses all.

    Kafka's `table` may be without its schema.
    """
    if given is None or found is None:
        return True
    one, other = str(given), str(found)
    bare = {text.partition(".")[2] for text in (one, other) if name == "table" and "." in text}
    return one == other or bool(bare & {one, other})
