"""This project's own dbt, run in this process: parsed once, built as often as batches land."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

from dbt.cli.main import dbtRunner, dbtRunnerResult
from dbt.contracts.graph.manifest import Manifest
from dbt_common.events.base_types import EventMsg

from change_tables.server.local_server import LocalServer
from demo.progress import Progress

PROJECT = Path(__file__).resolve().parent.parent
PROFILES = PROJECT / ".build" / "profiles"
ONLY_THEIR_TESTS = ("--indirect-selection", "buildable")
"""For dbt: only those tests of the selected nodes that read nothing but selected nodes and what is upstream of them."""


class DbtError(Exception):
    """dbt failed; the text is what it said, without stack traces, and where its log is."""


class DbtProject:
    """The project, with what dbt makes of it and logs in a folder."""

    def __init__(self, folder: Path, further: str | None = None, root: Path = PROJECT) -> None:
        """Parses the project, or a copy in `root`, with the models of a feed that is shown by its name alone, if any.

        Raises:
            DbtError: it cannot be parsed.
        """
        self._log = folder / "logs" / "dbt.log"
        variables = {"further_models": f"demo/models/{further}"} if further else {}
        self._options = [
            *("--project-dir", str(root)),
            *("--profiles-dir", str(PROFILES)),
            *("--target-path", str(folder / "target")),
            *("--log-path", str(self._log.parent)),
            *("--log-level", "none", "--log-level-file", "debug", "--no-print", "--no-send-anonymous-usage-stats"),
            *("--vars", json.dumps(variables)),
        ]
        parsed = dbtRunner().invoke(["parse", *self._options])
        if not isinstance(parsed.result, Manifest):
            raise DbtError(self._failure(parsed))
        self._manifest = parsed.result

    @property
    def relations(self) -> Mapping[str, str]:
        """The relation of each model, seed and snapshot, by its name."""
        return {node.name: node.relation_name for node in self._manifest.nodes.values() if node.relation_name}

    def options_for(self, models: Collection[str]) -> list[str]:
        """Options of `dbt build` for these models, what they read, their tests, and what those read: no more."""
        nodes = self._manifest.nodes
        wanted = {each for each, node in nodes.items() if node.resource_type == "model" and node.name in models}
        read = self._with_what_they_read(wanted)
        tests = {each for each, node in nodes.items() if getattr(node, "attached_node", None) in read}
        names = sorted(nodes[each].name for each in self._with_what_they_read(read | tests))
        return ["--indirect-selection", "empty", "--select", *names]

    def _with_what_they_read(self, nodes: Collection[str]) -> set[str]:
        found: set[str] = set()
        further = set(nodes)
        while further:
            found |= further
            read = {each for node in further for each in self._manifest.nodes[node].depends_on_nodes}
            further = (read & self._manifest.nodes.keys()) - found
        return found

    def build(
        self,
        server: LocalServer,
        progress: Progress,
        options: Sequence[str] = (),
        watchers: Sequence[Callable[[EventMsg], None]] = (),
    ) -> int:
        """`dbt build` on a server, with further options: how many nodes it had, each a step of the phase that runs.

        The watchers are called with each of dbt's events, from the thread that runs the node.

        Raises:
            DbtError: a model or a test failed.
        """
        os.environ.update(server.environment())
        built = dbtRunner(self._manifest, [partial(follow, progress), *watchers]).invoke(
            ["build", *options, *self._options]
        )
        if not built.success:
            raise DbtError(self._failure(built))
        return len(built.result.results)

    def _failure(self, result: dbtRunnerResult) -> str:
        said = [str(result.exception)] if result.exception else []
        for node in getattr(result.result, "results", None) or []:
            if node.status in ("error", "fail"):
                said.append(f"{node.node.name}: {node.message}")
        lines = [line for text in said for line in text.splitlines() if not line.lstrip().startswith("at ")]
        log = self._log.relative_to(PROJECT) if self._log.is_relative_to(PROJECT) else self._log
        return "\n".join([f"dbt failed, all of it is in {log}", *lines])


def follow(progress: Progress, event: EventMsg) -> None:
    """Takes an event of dbt: how many nodes it runs, and the begin and the end of each, as steps."""
    match event.info.name:
        case "ConcurrencyLine":
            progress.expect(event.data.node_count)
        case "NodeStart":
            progress.start(event.data.node_info.node_name)
        case "NodeFinished":
            progress.finish(event.data.node_info.node_name)
