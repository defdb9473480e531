"""A dbt project that is parsed once, whose models run against a Spark without rows, which gives the answers of a test.

All that renders is dbt's own: the manifest, Jinja, the context of a node, its relations, the materializations. Only
the adapter is another one. It keeps what a run sends, in order. A question that has no answer fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.factory import FACTORY
from dbt.adapters.spark import SparkAdapter
from dbt.adapters.spark.column import SparkColumn
from dbt.clients.jinja import MacroGenerator, get_rendered
from dbt.context.providers import generate_runtime_model_context
from dbt.mp_context import get_mp_context
from dbt_common.clients.agate_helper import table_from_data_flat

from tests.pipelines.consumer import Consumer

Rows = Sequence[Mapping[str, Any]]
Answers = Mapping[str, Rows]

RUNS = [datetime(2026, 1, day, 12, 0, 0) for day in (31, 30, 29)]  # noqa: DTZ001  # as dbt writes it: of the run, and those before
"""When a run starts, and when those before it did."""

DBT_VERSION = "1.11.16"
"""What a run writes down as dbt's, whichever it is."""

NOT_ASKED: Answers = {
    r"^set spark\.change_tables\.version$": [{"key": "spark.change_tables.version", "value": "0.1.0"}],
    r"^select version\(\)$": [{"version": "4.1.4 b472a3aa"}],
    r"^(set|reset) spark\.": [],
    r"^show tables in \S+ like '\S+'$": [],
}
"""What every run may ask: the server is of this package, and has nothing; which Spark another one is."""

_CHECKPOINTS = re.compile(r"select (\d+) as place, _checkpoint from (\S+) where startswith\(_checkpoint, '\{'\)")
_WRITTEN_CHECKPOINT = re.compile(r"'(\{(?:[^'\\]|\\.)*\})' as _checkpoint")


@dataclass
class Lake:
    """What a run finds: the columns of raw tables (name -> type), the checkpoints of state tables, and answers.

    `tables` are further ones that are there. Answers are lists of rows, by pattern. The first pattern that is found in
    what is asked counts.
    """

    columns: Mapping[str, Mapping[str, str]]
    checkpoints: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    answers: Answers = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)
    tables: Collection[str] = ()


class WithoutRows:
    """What an adapter of dbt does instead of sending anything over a wire."""

    Relation: Any
    lake: Lake
    sent: list[str]

    def named(self, text: str) -> str:
        """A relation, or what names some, as a lake names them."""
        return text

    def execute(self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None) -> Any:  # noqa: ARG002  # the signature is dbt's
        """Keep a statement, and answer it where rows are asked for."""
        self.sent.append(sql.strip())
        response = AdapterResponse(_message="OK")
        if not fetch:
            return response, table_from_data_flat([], [])
        rows = self._answer(sql.strip())
        return response, table_from_data_flat(rows, list(rows[0]) if rows else [])

    def _answer(self, sql: str) -> Rows:
        sql = self.named(sql)
        asked = _CHECKPOINTS.findall(sql)
        if asked:
            return [
                {"place": int(place), "_checkpoint": json.dumps(checkpoint)}
                for place, table in asked
                for checkpoint in self.lake.checkpoints.get(table, [])
            ]
        for pattern, rows in {**self.lake.answers, **NOT_ASKED}.items():
            if re.search(pattern, sql, re.DOTALL):
                return rows
        raise AssertionError(f"no answer is given for:\n{sql}")

    def get_columns_in_relation(self, relation: Any) -> list[Any]:
        """The columns of a raw table; none of a table that is not there."""
        columns = self.lake.columns.get(self.named(relation.render()), {})
        return [SparkColumn(name, data_type) for name, data_type in columns.items()]

    def get_relation(self, database: str | None, schema: str, identifier: str) -> Any:
        """A state table with a checkpoint, the quarantine beside it, or a view."""
        relation = self.Relation.create(database=database, schema=schema, identifier=identifier)
        name = self.named(relation.render())
        if name.replace("__quarantine", "__state") in self.lake.checkpoints or name in self.lake.tables:
            return relation.incorporate(type="table", is_delta=True)
        if name in self.lake.views:
            return relation.incorporate(type="view", **self.shown(name))
        return None

    def shown(self, view: str) -> dict[str, str]:
        """What the listing of a schema has of a view."""
        return {"information": self.lake.views[view]}

    def cache_dropped(self, relation: Any) -> str:  # noqa: ARG002  # the signature is dbt's
        """Forget what was remembered of a relation; the next look remembers it again."""
        return ""

    def cache_added(self, relation: Any) -> str:
        """Remember what a view has by now."""
        if relation.is_view and getattr(relation, "information", "") is not None:
            self.lake.views[self.named(relation.render())] = getattr(relation, "information", "")
        return ""

    def drop_relation(self, relation: Any) -> None:
        """Keep that it was dropped."""
        self.sent.append(f"drop {relation.type} if exists {relation}")


class SparkWithoutRows(WithoutRows, SparkAdapter):  # type: ignore[misc]  # dbt's classes are not typed here
    """dbt-spark's adapter, of which nothing goes over a wire."""


@dataclass(frozen=True)
class Run:
    """The result of one run of a model: its rendered SQL, all that it sent, in order, and what it handed over."""

    rendered: str
    sent: Sequence[str]
    handed: Mapping[str, Any]

    @property
    def run(self) -> dict[str, Any]:
        """Which run it is, as the model itself hands it to its materialization."""
        return dict(self.handed["run"])

    @property
    def checkpoint(self) -> dict[str, Any]:
        """The checkpoint that the run wrote."""
        found = [checkpoint for sql in self.sent for checkpoint in _WRITTEN_CHECKPOINT.findall(sql)]
        return dict(json.loads(found[-1].replace("\\'", "'").replace("\\\\", "\\")))


class Project:
    """A consumer's project, parsed."""

    def __init__(self, consumer: Consumer, adapter: type[WithoutRows] = SparkWithoutRows) -> None:
        self._manifest = consumer.dbt("parse").result
        ((self._type, parsed),) = FACTORY.adapters.items()
        self._config = parsed.config
        self._adapter: Any = adapter(self._config, get_mp_context())  # type: ignore[call-arg]  # dbt's class has it
        self.schema = consumer.schema
        self.table_format = "delta"
        """That of the server, as the checks of a run have told it."""
        self.said: list[str] = []
        """What runs have said in dbt's log, one after the other."""

    def context(self, model: str, lake: Lake, run: int = 0, **given: Any) -> dict[str, Any]:
        """What the Jinja of a model sees when it runs.

        `run` is 0 for now, 1 for the run before. Of `given`, `variables` and `flags` are those of the command line, and
        `selected` are the models that dbt was asked for.
        """
        FACTORY.adapters.clear()
        FACTORY.adapters[self._type] = self._adapter
        self._adapter.lake, self._adapter.sent = replace(lake, views=dict(lake.views)), []
        node = self._manifest.nodes[f"model.consumer.{model}"]
        context: dict[str, Any] = generate_runtime_model_context(node, self._config, self._manifest)
        variables = given.get("variables", {})
        flags = {"EMPTY": False, "FULL_REFRESH": False, "WHICH": "run"} | given.get("flags", {})
        context.update(
            invocation_id=f"{run:08x}-0000",
            run_started_at=RUNS[run],
            dbt_version=DBT_VERSION,
            flags=SimpleNamespace(**flags),
            var=lambda name, default=None: variables.get(name, default),
            write=lambda *_: "",
            log=self._say,
        )
        if "selected" in given:
            context["selected_resources"] = [f"model.consumer.{name}" for name in given["selected"]]
        return context

    def _begin(self, run: int = 0, **_: Any) -> None:
        """Forget what runs before have found out: this one knows what its checks have told it, before its models."""
        known = {"format": {"name": self.table_format}}
        self._manifest.flat_graph["change_tables_known"] = {f"{run:08x}-0000": known}

    def _say(self, text: str, info: bool = False) -> str:  # noqa: ARG002  # the signature is dbt's
        self.said.append(text)
        return ""

    def render(self, model: str, lake: Lake, **given: Any) -> Run:
        """Render a model, with what it asks for that: as a run of its own, or `after` other models of a run."""
        node = self._manifest.nodes[f"model.consumer.{model}"]
        if not given.pop("after", False):
            self._begin(**given)
        node.compiled_code = get_rendered(node.raw_code, self.context(model, lake, **given), node)
        handed = self._manifest.flat_graph.get("change_tables_handed", {}).get(node.unique_id, {})
        return Run(node.compiled_code, self._adapter.sent, handed)

    def run(self, model: str, lake: Lake, **given: Any) -> Run:
        """Run a model as dbt does: render it, then its materialization."""
        run = self.render(model, lake, **given)
        node = self._manifest.nodes[f"model.consumer.{model}"]
        context = self.context(model, lake, **given) | {"sql": run.rendered}
        materialization = self._manifest.find_materialization_macro_by_name(
            "consumer", node.get_materialization(), self._type
        )
        MacroGenerator(materialization, context, stack=context["context_macro_stack"])()
        return replace(run, sent=[*run.sent, *self._adapter.sent])

    def sent(self) -> list[str]:
        """All that was sent since the last call of a macro, in order."""
        return list(self._adapter.sent)

    def macros(self, model: str, lake: Lake | None = None, **given: Any) -> Callable[..., Any]:
        """Calls a macro of the package by its name, as a model would: of a run of its own, or `after` others."""
        if not given.pop("after", False):
            self._begin(**given)
        context = self.context(model, lake or Lake({}), **given)
        return lambda name, *arguments, **named: context["change_tables"][name](*arguments, **named)
