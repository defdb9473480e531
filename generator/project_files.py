"""The files of a dbt project."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from ruamel.yaml.comments import CommentedMap

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
        self.model_folders = [root / path for path in described.get("model-paths", ["models"])]
        self.models: dict[str, Path] = {}
        self._properties: dict[Path, str] = {}
        for folder in self.model_folders:
            for path in sorted(folder.rglob("*")):
                if path.suffix == ".sql":
                    self.models[path.stem.lower()] = path
                elif path.suffix in (".yml", ".yaml"):
                    self._properties[path] = path.read_text(encoding="utf-8")

    def refuse_folder(self, folder: Path) -> None:
        """Stop where dbt would not look for models.

        Raises:
            ProjectError: the folder is in none of the project's folders of models.
        """
        if not any(folder.is_relative_to(models) for models in self.model_folders):
            folders = ", ".join(map(str, self.model_folders))
            raise ProjectError(f"{folder}: must be in a folder of the project's models, which are in {folders}")

    def file_of_source(self, source: str) -> Path | None:
        """The file that has a source.

        Raises:
            ProjectError: there are two.
        """
        is_named = re.compile(rf"^\s*-?\s*name:\s*[\"']?{re.escape(source)}[\"']?\s*(#.*)?$", re.MULTILINE)
        found = [
            path
            for path, text in self._properties.items()
            if re.search(r"^sources:", text, re.MULTILINE)
            and is_named.search(text)
            and source_of(read_yaml(path), source) is not None
        ]
        if len(found) > 1:
            raise ProjectError(
                f"source '{source}' is in {' and '.join(map(str, found))}: it must be in one file to be kept in step"
            )
        return found[0] if found else None

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
    listed = file.data.get("sources") or ()
    return next((given for given in listed if isinstance(given, CommentedMap) and given.get("name") == source), None)
