"""The files of a dbt project."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from .yaml_files import YamlFile, read_yaml


class ProjectError(Exception):
    """The project cannot be read or written; the message says where, and what it must be."""


class Project:
    """The files of a dbt project."""

    def __init__(self, root: Path) -> None:
        """Look at the project in this folder.

        Raises:
            ProjectError: there is none.
        """
        self.root = root
        try:
            described = yaml.safe_load((root / "dbt_project.yml").read_text(encoding="utf-8")) or {}
        except FileNotFoundError:
            raise ProjectError(f"{root}: must be the folder of a dbt project, has no dbt_project.yml") from None
        except yaml.YAMLError as error:
            raise ProjectError(f"{root / 'dbt_project.yml'}: cannot be read: {' '.join(str(error).split())}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise ProjectError(f"{root / 'dbt_project.yml'}: cannot be read: {error}") from error
        if not isinstance(described, dict):
            raise ProjectError(f"{root / 'dbt_project.yml'}: must be a mapping")
        paths = described.get("model-paths", ["models"])
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise ProjectError(f"{root / 'dbt_project.yml'}: model-paths must be a list of folders, got {paths}")
        self.model_folders = [root / path for path in paths]
        self.models: dict[str, Path] = {}
        self._properties: dict[Path, str] = {}
        for folder in self.model_folders:
            for path in sorted(folder.rglob("*")):
                if path.suffix == ".sql":
                    self.models[path.stem.lower()] = path
                elif path.suffix in (".yml", ".yaml") and not path.is_dir():
                    try:
                        self._properties[path] = path.read_text(encoding="utf-8-sig")
                    except (OSError, UnicodeDecodeError) as error:
                        raise ProjectError(f"{path}: cannot be read: {error}") from error

    def refuse_folder(self, folder: Path) -> None:
        """Stop where dbt would not look for models.

        Raises:
            ProjectError: the folder is in none of the project's folders of models.
        """
        if not any(folder.resolve().is_relative_to(models.resolve()) for models in self.model_folders):
            folders = ", ".join(map(str, self.model_folders))
            raise ProjectError(f"{folder}: must be in a folder of the project's models, which are in {folders}")

    def file_of_source(self, source: str) -> Path | None:
        """The file that has a source.

        Raises:
            ProjectError: there are two.
        """
        found = [
            path
            for path, text in self._properties.items()
            if "sources" in text and source_of(read_yaml(path), source) is not None
        ]
        if len(found) > 1:
            raise ProjectError(
                f"source '{source}' is in {' and '.join(map(str, found))}: it must be in one file to be kept in step"
            )
        return found[0] if found else None

    def property_files(self, part: str) -> list[Path]:
        """The properties files that may have a part: `sources` or `models`."""
        return [path for path, text in self._properties.items() if part in text]

    def describes(self, model: str) -> bool:
        """Whether a properties file names a model."""
        is_named = re.compile(rf"\bname:\s*[\"']?{re.escape(model)}[\"']?\s*([,}}#]|$)", re.MULTILINE)
        return any(
            is_named.search(text)
            for text in self._properties.values()
            if model in text and re.search(r"^models:", text, re.MULTILINE)
        )


def source_of(file: YamlFile, source: str) -> CommentedMap | None:
    """A source of a properties file, where it has it."""
    listed = file.data.get("sources") or []
    if not isinstance(listed, list):
        raise ProjectError(f"{file.path}: sources must be a list")
    return next((given for given in listed if isinstance(given, CommentedMap) and given.get("name") == source), None)


def refuse_source(file: YamlFile, source: CommentedMap) -> None:
    """Stop where a source has a part of another form than dbt reads, or one that two entries share.

    Raises:
        ProjectError: with the file and the place.
    """
    entries = _mappings(file, f"source '{source['name']}', tables", source.get("tables"))
    seen: dict[int, str] = {}
    for entry in entries:
        place = f"source '{source['name']}', table {entry['name']}"
        config = _mapping(file, f"{place}, config", entry.get("config"))
        meta = _mapping(file, f"{place}, config, meta", config.get("meta"))
        spec = meta.get("change_table")
        columns = entry.get("columns")
        _mappings(file, f"{place}, columns", columns)
        for what, part in (("columns", columns), ("config", entry.get("config")), ("change_table", spec)):
            if isinstance(part, CommentedMap | CommentedSeq):
                if id(part) in seen:
                    raise ProjectError(
                        f"{file.path}: {place}, {what}: is that of {seen[id(part)]}, by an anchor: write it out,"
                        " so that each can follow its own table"
                    )
                seen[id(part)] = place
        for column in columns or ():
            if id(column) in seen:
                raise ProjectError(
                    f"{file.path}: {place}, column {column['name']}: is that of {seen[id(column)]}, by an anchor: write"
                    " it out, so that each can follow its own table"
                )
            seen[id(column)] = place


def refuse_models(file: YamlFile) -> None:
    """Stop where the description of a model has another form than dbt reads.

    Raises:
        ProjectError: with the file and the place.
    """
    for model in _mappings(file, "models", file.data.get("models")):
        place = f"model {model['name']}, data_tests"
        tests = model.get("data_tests")
        if tests is not None and not isinstance(tests, list):
            raise ProjectError(f"{file.path}: {place}: must be a list")
        for test in tests or ():
            for name, settings in test.items() if isinstance(test, Mapping) else ():
                _mapping(file, f"{place}, {name}", settings)


def _mapping(file: YamlFile, place: str, given: Any) -> Mapping[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise ProjectError(f"{file.path}: {place}: must be a mapping, got {given}")
    return given or {}


def _mappings(file: YamlFile, place: str, given: Any) -> list[Any]:
    """A list of mappings with names."""
    if given is not None and not isinstance(given, list):
        raise ProjectError(f"{file.path}: {place}: must be a list")
    for number, item in enumerate(given or (), start=1):
        if not isinstance(item, Mapping) or item.get("name") is None:
            shown = dict(item) if isinstance(item, Mapping) else item
            raise ProjectError(f"{file.path}: {place}, item {number}: must be a mapping with a name, got {shown}")
    return list(given or ())
