"""This project's own dbt, run in this process: parsed once, built as often as batches land."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from dbt.cli.main import dbtRunner, dbtRunnerResult
from dbt.contracts.graph.manifest import Manifest

from udfs.local_server import LocalServer

PROJECT = Path(__file__).resolve().parent.parent
PROFILES = PROJECT / ".build" / "profiles"


class DbtError(Exception):
    """dbt failed; the text is what it said, without stack traces, and where its log is."""


class DbtProject:
    """The project, with what dbt makes of it and logs in a folder."""

    def __init__(self, folder: Path) -> None:
        """Parses the project.

        Raises:
            DbtError: it cannot be parsed.
        """
        self._log = folder / "logs" / "dbt.log"
        self._options = [
            *("--project-dir", str(PROJECT)),
            *("--profiles-dir", str(PROFILES)),
            *("--target-path", str(folder / "target")),
            *("--log-path", str(self._log.parent)),
            *("--log-level", "none", "--log-level-file", "debug", "--no-print", "--no-send-anonymous-usage-stats"),
        ]
        parsed = dbtRunner().invoke(["parse", *self._options])
        if not isinstance(parsed.result, Manifest):
            raise DbtError(self._failure(parsed))
        self._manifest = parsed.result

    @property
    def relations(self) -> Mapping[str, str]:
        """The relation of each model, seed and snapshot, by its name."""
        return {node.name: node.relation_name for node in self._manifest.nodes.values() if node.relation_name}

    def build(self, server: LocalServer, *selected: str) -> None:
        """`dbt build` on a server, of all that there is or of what is selected.

        Raises:
            DbtError: a model or a test failed.
        """
        os.environ.update(server.environment())
        built = dbtRunner(self._manifest).invoke(
            ["build", *(["--select", *selected] if selected else []), *self._options]
        )
        if not built.success:
            raise DbtError(self._failure(built))

    def _failure(self, result: dbtRunnerResult) -> str:
        said = [str(result.exception)] if result.exception else []
        for node in getattr(result.result, "results", None) or []:
            if node.status in ("error", "fail"):
                said.append(f"{node.node.name}: {node.message}")
        lines = [line for text in said for line in text.splitlines() if not line.lstrip().startswith("at ")]
        return "\n".join(["dbt failed, all of it is in " + str(self._log.relative_to(PROJECT)), *lines])
