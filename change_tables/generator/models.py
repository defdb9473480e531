"""Models of entries, their descriptions and tests, and the models that list what all tables have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from .entries import identifier_of, settings_of, spec_of
from .formats import FORMATS, RAW_TABLE, own_key
from .found import FoundTable, Trouble
from .names import KINDS, literal, matches, model_name, safe_name
from .plan import Plan, Wish
from .project_files import Project
from .yaml_files import YamlFile, in_one_line, insert, list_of, prose

_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
FOLDERS = {"stg": "staging", "dedup": "deduplicated", "current": "current", "history": "history"}
"""Kind of model -> its folder."""

READ = ("current", "history")
"""The kinds that people read."""


class Models:
    """The models of one source, and the file that describes them."""

    def __init__(self, project: Project, folder: Path, file: YamlFile, wish: Wish, plan: Plan) -> None:
        """Models are written into folders of `folder`; the properties file is changed, and what is found is planned."""
        self._project, self._folder, self._models = project, folder, file
        self._wish, self._plan, self._format = wish, plan, FORMATS[wish.format]
        self.sql: dict[Path, str] = {}
        """The text of each model that is new or changes."""

    def write(self, entries: Sequence[CommentedMap], added: Sequence[FoundTable]) -> None:
        """The models of entries that were added, those that the user asks for, and the models about all tables."""
        self._write_models(entries, added)
        self._write_health(entries, added)

    def _write_models(self, entries: Sequence[CommentedMap], added: Sequence[FoundTable]) -> None:
        wish = self._wish
        new = {table.name for table in added}
        reads = {table.name: table.reads for table in added}
        for entry in entries:
            spec, name = spec_of(entry), str(entry["name"])
            if spec is None or spec.get("format") != wish.format:
                continue
            is_new = name in new
            for kind in KINDS if is_new else []:
                if kind != "history":
                    self._write_model(kind, entry, reads[name])
            if any(matches(given, pattern) for pattern in wish.history for given in (name, identifier_of(entry))):
                is_there = model_name("history", wish.source, name) in self._project.models
                if is_new or not (is_there or wish.leaves_out(name, identifier_of(entry))):
                    self._write_model("history", entry, ())
                    if not is_new:
                        self._note_change(name, "a history is new")
            if not is_new and spec.get("key"):
                self._test_key(entry)

    def _note_change(self, name: str, what: str) -> None:
        self._plan.changed.setdefault(name, []).append(what)
        if name in self._plan.unchanged:
            self._plan.unchanged.remove(name)

    def _write_model(self, kind: str, entry: CommentedMap, reads: Sequence[str]) -> None:
        model = self._named(kind, entry)
        if model in self._project.models:
            self._plan.notes.append(f"{self._project.models[model]} is there: left as it is")
        else:
            sql = self._call(kind, str(entry["name"]), reads)
            self.sql[self._folder / FOLDERS[kind] / f"{model}.sql"] = f"{sql}\n"
        self._describe(model, self._properties_of(kind, model, entry))

    def _named(self, kind: str, entry: CommentedMap) -> str:
        return model_name(kind, self._wish.source, str(entry["name"]))

    def _call(self, kind: str, name: str, reads: Sequence[str]) -> str:
        source = self._wish.source
        if kind == "stg":
            further = f", reads=[{', '.join(map(literal, reads))}]" if reads else ""
            return f"{{{{ change_tables.staged_changes({literal(source)}, {literal(name)}{further}) }}}}"
        macro = {"dedup": "deduplicated_changes", "current": "current_state", "history": "history"}[kind]
        read = model_name("stg" if kind == "dedup" else "dedup", source, name)
        return f"{{{{ change_tables.{macro}(ref({literal(read)})) }}}}"

    def _properties_of(self, kind: str, model: str, entry: CommentedMap) -> CommentedMap:
        name = str(entry["name"])
        spec = spec_of(entry) or CommentedMap()
        load = ", and per row of its full load" if spec.get("snapshot") else ""
        description = {
            "stg": f"One row per {self._format.rows.format(table=name)}{load}; `_status` says what became of it.",
            "dedup": f"One row per change of {name}, however often it was delivered.",
            "current": f"One row per living key of {name}; keys that have ended are not in it.",
            "history": f"One row per version of a key of {name}, with when and at which sequence it began and ended.",
        }[kind]
        if kind in READ and entry.get("description"):
            description += f" {entry['description']}"
        properties = CommentedMap(name=model, description=prose(description))
        if kind == "dedup":
            properties["data_tests"] = CommentedSeq(["change_tables.raw_rows_accounted_for", *_tests_of_troubles()])
        key = own_key(self._wish.format, spec) or spec.get("key")
        if kind == "current" and key:
            properties["data_tests"] = CommentedSeq([_key_test(key)])
        return properties

    def _describe(self, model: str, properties: CommentedMap) -> None:
        if self._project.describes(model):
            return
        models = list_of(self._models, "models")
        insert(models, len(models), properties, apart=True)
        self._models.is_changed = True

    def _model(self, name: str) -> CommentedMap | None:
        return next((model for model in self._models.data.get("models") or () if model.get("name") == name), None)

    def _test_key(self, entry: CommentedMap) -> None:
        """A test for a key that was not known when the model was described; one that a person took out stays out."""
        properties = self._model(self._named("current", entry))
        if properties is not None and "data_tests" not in properties:
            properties["data_tests"] = CommentedSeq([_key_test(settings_of(entry)["key"])])
            self._models.is_changed = True
            self._note_change(str(entry["name"]), "the test of its key is new")

    def _write_health(self, entries: Sequence[CommentedMap], added: Sequence[FoundTable]) -> None:
        source = self._wish.source
        new = {table.name for table in added}
        of_format = [
            entry
            for entry in entries
            if (spec := spec_of(entry)) is not None and spec.get("format") == self._wish.format
        ]
        groups: dict[str, list[CommentedMap]] = {}
        by_name = {str(entry["name"]): entry for entry in entries}
        for entry in of_format:
            groups.setdefault(self._shared_table(entry, by_name), []).append(entry)
        for shared, group in groups.items():
            new_here = [entry for entry in group if str(entry["name"]) in new]
            if shared and new_here and self._has_unclaimed(group):
                unclaimed = f"unclaimed_{safe_name(source)}__{safe_name(shared)}"
                self._list_in_model(
                    unclaimed,
                    f"change_tables.unclaimed_rows({literal(source)}, [",
                    [literal(str(entry["name"])) for entry in group],
                    [literal(str(entry["name"])) for entry in new_here],
                    f"One row per row of {shared} that no entry of {source} stages, with the reason.",
                )
        for health, macro, kind, description in (
            (
                "rejected_changes",
                "rejected_changes",
                "dedup",
                "One row per raw row that could not be used, of every table, with the place and the reason.",
            ),
            (
                "reported_changes",
                "reported_changes",
                "dedup",
                "One row per accepted change and code that still needs a look, of every table.",
            ),
        ):
            refs = [f"ref({literal(model_name(kind, source, table.name))})" for table in added]
            if refs:
                self._list_in_model(health, f"change_tables.{macro}([", refs, refs, description)

    def _shared_table(self, entry: CommentedMap, by_name: Mapping[str, CommentedMap]) -> str:
        """The raw table that an entry shares with others; empty where entries of the format share none."""
        if not self._format.shared_by:
            return ""
        if self._format.shared_by == RAW_TABLE:
            return identifier_of(entry)
        read = str(settings_of(entry).get(self._format.shared_by) or "")
        return identifier_of(by_name[read]) if read in by_name else read or identifier_of(entry)

    def _has_unclaimed(self, group: Sequence[CommentedMap]) -> bool:
        choices = self._format.needs_a_choice
        return len(group) > 1 or not choices or any(settings_of(group[0]).get(name) for name in choices)

    def _list_in_model(
        self, model: str, begin: str, items: Sequence[str], new_items: Sequence[str], description: str
    ) -> None:
        """Write a model that lists something, or add to its list what is missing there."""
        path = self._project.models.get(model)
        if path is None:
            listed = "".join(f"    {item},\n" for item in items)
            self.sql[self._folder / "health" / f"{model}.sql"] = f"{{{{ {begin}\n{listed}]) }}}}\n"
            self._describe(model, CommentedMap(name=model, description=prose(description)))
            return
        text = self.sql.get(path) or path.read_text(encoding="utf-8")
        extended = extend_list(text, begin, [item for item in new_items if not _is_listed(text, item)])
        if extended is None:
            self._plan.troubles.append(
                Trouble(str(path), f"does not call {begin}…]), so that {', '.join(new_items)} must be added by hand")
            )
        elif extended != text:
            self.sql[path] = extended


def extend_list(text: str, begin: str, items: Sequence[str]) -> str | None:
    """The text of a model with further items at the end of the list of its call; null where there is no such call.

    >>> print(extend_list("{{ health([ref('a')]) }}", "health([", ["ref('b')"]))
    {{ health([ref('a'), ref('b')]) }}
    """
    without_comments = _blanked(text)
    start = without_comments.find(begin)
    end = without_comments.find("]", start + len(begin))
    if start < 0 or end < 0:
        return None if items else text
    if not items:
        return text
    listed = text[start + len(begin) : end]
    kept = listed.rstrip()
    comma = "" if not kept or kept.endswith(",") else ","
    if "\n" not in listed:
        blank = " " if kept else ""
        return f"{text[: start + len(begin)]}{kept}{comma}{blank}{', '.join(items)}{text[end:]}"
    indent = re.match(r"\s*?\n([ \t]*)", listed)
    before = indent[1] if indent else "    "
    added = "".join(f"\n{before}{item}," for item in items)
    return f"{text[: start + len(begin)]}{kept}{comma}{added}{listed[len(kept) :]}{text[end:]}"


def _is_listed(text: str, item: str) -> bool:
    text = _blanked(text)
    return item in text or item.replace("'", '"') in text


def _blanked(text: str) -> str:
    """A template with blanks in place of its comments, so that what is in one is not found, and places stay."""
    return _COMMENT.sub(lambda comment: " " * len(comment[0]), text)


def _tests_of_troubles() -> list[CommentedMap]:
    """Warnings of what the models set aside, until it is corrected or acknowledged."""
    warn = {"severity": "warn"}
    return [
        CommentedMap(
            {
                "change_tables.rejected_share": CommentedMap(
                    arguments=in_one_line({"above": 0}), config=in_one_line(dict(warn))
                )
            }
        ),
        CommentedMap({"change_tables.no_reported_changes": CommentedMap(config=in_one_line(dict(warn)))}),
    ]


def _key_test(key: Sequence[str]) -> CommentedMap:
    return CommentedMap({"change_tables.one_row_per_key": CommentedMap(arguments=in_one_line({"key": list(key)}))})
