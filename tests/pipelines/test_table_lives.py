"""Tables to which everything happens that can: they are loaded again, lose and rename columns, are purged and more.

Whatever the order is, and wherever a command dies, the models equal the interpreter. The seed says of which feed the
table is, and a run takes in what two events have changed. `make test-long` has tables of all feeds and other orders,
builds after each event, and lets each command die at every statement.
"""

from __future__ import annotations

import itertools
import os
import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import pytest
import yaml

from .consumer import CALLS, SEED_OF_TRAILS, Consumer, Entry
from .histories import (
    KEY,
    differences,
    expected_history,
    expected_state,
    history_query,
    random_raw_rows,
    time_of_load,
)
from .interpreter import Change
from .kinds import assert_met, kinds_of_changes
from .landing import Raw
from .lives import DROPPED, NEW_NAME, OLD_NAME, AuditRows, Feed, Life, Messages
from .test_relocated_tables import commands, copies_of_a_state
from .test_upkeep import stopped_after

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("CHANGE_TABLES_PROOF_SEED", "0"))
SCALE = int(os.environ.get("CHANGE_TABLES_PROOF_SCALE", "1"))
SCHEMA = "lives"
BATCHES = 5
HISTORIES = 60 * SCALE
CHANGES = 1200 * SCALE
MODELS = ("stg", "dedup", "current", "history")
TESTS: dict[str, list[Any]] = {
    "dedup": [{"change_tables.raw_rows_accounted_for": {}}, {"change_tables.rows_as_written": {}}],
    "current": [{"change_tables.rows_as_written": {}}],
    "history": [{"change_tables.rows_as_written": {}}],
}
REPORTS = ("orphan", "key_collision")
FEEDS: dict[str, Callable[[], Feed]] = {
    "partial": lambda: Feed(partial=True),
    "audited": AuditRows,
    "messages": Messages,
    "full": lambda: Feed(partial=False),
}
NOT_READ = ("stg_*", "rejected")
VIEWS = (*NOT_READ, "reported")


class Lake:
    """Tables of several feeds, or of one, what the interpreter knows of them, and the commands."""

    def __init__(self, project: Consumer, raw: Raw) -> None:
        """Nothing is built, and the first load is there."""
        self.project, self.raw = project, raw
        self._chance = random.Random(SEED)
        self._batch = 0
        self._shown = f"{SCHEMA}.{{}}"
        self.has_news = True
        """Whether something has changed that a run takes in."""
        self._options: list[str] = []
        self._runs: dict[str, list[list[Change]]] = defaultdict(list)
        self._views_are_old = True
        names = list(FEEDS)
        chosen = names if SCALE > 1 else [names[SEED % len(names)]]
        self.lives = {name: self._life(FEEDS[name](), 22 + names.index(name)) for name in chosen}
        for name, life in self.lives.items():
            raw.create(f"{SCHEMA}_raw.{name}", life.feed.raw_columns(life.layout), "delta")
            self._land_load(name)
        project.write(self._entries(), [f"{name}_load" for name in self.lives])

    def _life(self, feed: Feed, seed: int) -> Life:
        rows = random_raw_rows(SEED + seed, HISTORIES, CHANGES, BATCHES, "mixed", partial=feed.partial)
        return Life(feed, rows, self._random_load())

    def _random_load(self) -> dict[tuple[Any, ...], dict[str, Any]]:
        keys = [(history, place) for history in range(HISTORIES) for place in (1, 2)]
        return {
            key: {OLD_NAME: f"loaded {place}", DROPPED: self._chance.choice([None, "a"])}
            for place, key in enumerate(self._chance.sample(keys, HISTORIES))
        }

    def _entries(self) -> list[Entry]:
        entries = []
        for name, life in self.lives.items():
            spec = life.feed.spec() | {
                "key": list(KEY),
                "snapshot": f"{name}_load",
                "snapshot_seq": life.load_seq,
            }
            if life.load_seq:
                spec["snapshot_time"] = f"{time_of_load(life.load_seq):%F %T}"
            layout = life.layout
            tests = deepcopy(TESTS)  # YAML would refer to what two models share, and `remove` takes out lines
            entries.append(Entry(name, spec, layout.columns, MODELS, tests, column_meta=layout.column_meta))
        return entries

    def _declare(self) -> None:
        self.has_news = self._views_are_old = True
        self.project.write_sources(self._entries(), [f"{name}_load" for name in self.lives])

    def _land_load(self, name: str) -> None:
        life = self.lives[name]
        columns = life.layout.columns
        shown = {
            now: data_type for now, data_type in columns.items() if not (life.layout.is_retired and now == DROPPED)
        }
        self.raw.create(f"{SCHEMA}_raw.{name}_load", shown, "delta")
        values = [
            dict(zip(columns, (*key, row[OLD_NAME], row[DROPPED]), strict=True)) for key, row in life.load.items()
        ]
        self.raw.insert(f"{SCHEMA}_raw.{name}_load", [[row[column] for column in shown] for row in values])

    def land(self) -> None:
        """Land the next batch."""
        self._batch += 1
        self.has_news = True
        for name, life in self.lives.items():
            columns = life.feed.raw_columns(life.layout)
            rows = [life.feed.values(row, life.layout) for row in life.land(self._batch)]
            self.raw.insert(f"{SCHEMA}_raw.{name}", [[row.get(column) for column in columns] for row in rows])

    def build(self) -> None:
        """Run the models; views only where they would be others."""
        self.project.dbt("run", "--exclude", *(NOT_READ if self._views_are_old else VIEWS), *self._options)
        self._options, self._views_are_old = [], False
        self.took_in()

    def took_in(self) -> None:
        """A run has taken in what is there."""
        self.has_news = False
        for name, life in self.lives.items():
            life.build()
            if SCALE == 1:
                self._runs[name].append(life.all_deliveries())

    def assert_kinds(self) -> None:
        """Its tables have had what they are for."""
        for name, runs in self._runs.items():
            assert_met(f"lives {name}", kinds_of_changes(runs) + self.lives[name].kinds)

    def finish(self, *arguments: str, statements: int = 8) -> str:
        """A command that dies at a statement, or at one after the other, and is run again; all that it says."""
        at = itertools.count() if SCALE > 1 else [self._chance.randrange(statements)]
        told = ""
        for number in at:
            with stopped_after(number):
                code, said, complained = self.project.command(*arguments)
            told += said
            if code == 0:
                return told
            if "has taken in the load" in complained:
                return told  # a run has done the rest
            assert "killed" in complained or "reload: dbt has failed" in complained, complained
            if self._chance.random() < 0.3:
                self.project.dbt("run", "--exclude", *NOT_READ)
        code, said, complained = self.project.command(*arguments)
        assert code == 0 or "has taken in the load" in complained, complained
        return told + said

    def check(self, moment: str) -> None:
        """The models equal the interpreter."""
        reported = self.raw.query(
            f"select table_name, code, _change_seq, acknowledged_at is not null from {SCHEMA}.reported"
            f" where code in {REPORTS}"
        )
        for name, life in self.lives.items():
            table, columns = life.table, life.layout.columns
            for kind, query, expected in (
                ("current", f"select {', '.join(columns)} from ", expected_state(table)),
                ("history", history_query(columns), expected_history(table)),
            ):
                found = self.raw.query(query + self._shown.format(f"{kind}_feed__{name}"))
                assert len(found) == len(set(found)), f"{kind} {name} {moment}: a row is there twice"
                assert set(found) == expected, f"{kind} {name} {moment}: {differences(expected, found)}"
            reports = sorted(row[1:] for row in reported if row[0] == name)
            assert reports == life.reports, f"reports {name} {moment}"

    def read_raw(self) -> None:
        """Look what raw has left."""
        for name, life in self.lives.items():
            shown = ", ".join(f"`{column}`" for column in life.feed.shown)
            left = set(self.raw.query(f"select {shown} from {SCHEMA}_raw.{name}"))
            life.raw = [row for row in life.raw if life.feed.identity(row) in left]

    def rename_column(self) -> None:
        """The source renames a column: what lands from now on has it under the new name."""
        for name, life in self.lives.items():
            life.rename_column()
            if NEW_NAME in life.feed.raw_columns(life.layout):
                self.raw.query(f"alter table {SCHEMA}_raw.{name} add columns ({NEW_NAME} string)")
        self._declare()

    def drop_column(self) -> None:
        """The source drops a column, and all that has landed loses it, but for messages."""
        for name, life in self.lives.items():
            life.drop_column()
            if not life.feed.keeps_dropped:
                self.raw.query(
                    f"create or replace table {SCHEMA}_raw.{name} using {self.raw.table_format}"
                    f" as select * except ({DROPPED}) from {SCHEMA}_raw.{name}"
                )
            self._land_load(name)
        self._declare()

    def reload(self) -> None:
        """The tables are loaded again, at the sequence of the last change that has landed."""
        for name, life in self.lives.items():
            life.load, life.load_seq = self._random_load(), max(row.seq for row in life.raw)
            self._land_load(name)
        self._declare()
        for name in self.lives:
            self.finish("reload", name, "--at-least", "0")
        self._views_are_old = False
        self.took_in()

    def purge(self) -> None:
        """Raw rows that no run reads again go."""
        before = {name: len(life.raw) for name, life in self.lives.items()}
        self.finish("purge", "--with-rejected")
        self.read_raw()
        assert all(len(life.raw) < before[name] for name, life in self.lives.items())

    def forget(self) -> None:
        """All keys of some histories are erased."""
        for name, life in self.lives.items():
            histories = self._chance.sample(range(HISTORIES), 3)
            named = [text for key in life.keys_of(histories) for text in ("--key", key)]
            raw = ["--raw"] if self._chance.random() < 0.5 and life.feed.can_forget_raw else []
            said = self.finish("forget", name, *named, *raw)
            life.forget(histories, max(re.findall(r"forgotten up to (\S+)$", said, re.MULTILINE)))
        self.read_raw()

    def maintain(self) -> None:
        """Tables are brought into few files."""
        self.finish("maintain", "--keep-runs", "0")

    def move(self) -> None:
        """All models with tables get another name, or another schema."""
        if SEED % 2 == 0:
            self._rename()
        else:
            self._move_to_another_schema()
        self.has_news = self._views_are_old = True

    def _rename(self) -> None:
        models = self.project.folder / "models"
        for name in self.lives:
            for statement in commands("Another name"):
                told = statement.replace("analytics.", f"{SCHEMA}.").replace("shop__orders", f"feed__{name}")
                self.raw.query(told.replace("shop__sales", f"feed__{name}_moved"))
            for kind in MODELS[1:]:
                (models / f"{kind}_feed__{name}.sql").unlink()
                text = CALLS[kind].format(source="feed", table=f"{name}_moved")
                staged = text.replace(f"stg_feed__{name}_moved", f"stg_feed__{name}")
                (models / f"{kind}_feed__{name}_moved.sql").write_text(staged)
            for listed in ("rejected", "reported"):
                path = models / f"{listed}.sql"
                path.write_text(path.read_text().replace(f"feed__{name}'", f"feed__{name}_moved'"))
        described = yaml.safe_load((models / "models.yml").read_text())
        for model in described["models"]:
            if not model["name"].startswith("stg"):
                model["name"] += "_moved"
        (models / "models.yml").write_text(yaml.safe_dump(described))
        self._shown = f"{SCHEMA}.{{}}_moved"

    def _move_to_another_schema(self) -> None:
        copies = [*commands("To another schema"), *copies_of_a_state("current"), *copies_of_a_state("history")]
        for name, statement in itertools.product(self.lives, copies):
            told = statement.replace("analytics_log", f"{SCHEMA}_moved").replace("analytics.", f"{SCHEMA}.")
            told = told.replace("shop__orders", f"feed__{name}")
            if copied := re.search(r"as select \* from (\S+)", told):
                properties = dict(self.raw.query(f"show tblproperties {copied[1]}"))
                marks_rows = properties["delta.enableDeletionVectors"]
                told = told.replace("Vectors' = 'false'", f"Vectors' = '{marks_rows}'")
            self.raw.query(told)
        path = self.project.folder / "dbt_project.yml"
        models = {f"{kind}_feed__{name}": {"+schema": "moved"} for kind in MODELS[1:] for name in self.lives}
        project = yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump(project | {"models": project.get("models", {}) | {"consumer": models}}))
        self._shown = f"{SCHEMA}_moved.{{}}"

    def rescan(self) -> None:
        """The next run compares all raw rows."""
        self._options = ["--vars", "{change_tables_rescan: true}"]
        self.has_news = True

    def acknowledge(self) -> None:
        """What is reported with a code is known."""
        for name, life in self.lives.items():
            codes = {code for code, _, is_acknowledged in life.reports if not is_acknowledged}
            for code in sorted(codes)[-1:]:
                self.finish("acknowledge", name, "--code", code, "--note", "known", statements=1)
                life.acknowledge(code)
                self.has_news = self._views_are_old = True

    def take_out_and_back(self) -> None:
        """The tables are taken out of the project, and come back; on the lake they stay, or they begin anew."""
        models = self.project.folder / "models"
        before = {path: path.read_text() for path in models.iterdir()}
        for name, life in self.lives.items():
            keeps = self._chance.random() < 0.5
            self.finish("remove", name, *(["--keep-data"] if keeps else []))
            assert not list(models.glob(f"*_feed__{name}.sql"))
            of_models = "|".join(f"{kind}_feed__{name}*" for kind in MODELS)
            assert bool(self.raw.query(f"show tables in {SCHEMA} like '{of_models}'")) == keeps
            if not keeps:
                life.remove()
        for path, text in before.items():
            path.write_text(text)
        self.has_news = self._views_are_old = True


EVENTS: Sequence[Callable[[Lake], None]] = (
    Lake.acknowledge,
    Lake.take_out_and_back,
    Lake.rename_column,
    Lake.drop_column,
    Lake.reload,
    Lake.purge,
    Lake.forget,
    Lake.maintain,
    Lake.move,
    Lake.rescan,
)
BUILT_FIRST = (Lake.reload, Lake.purge, Lake.forget, Lake.acknowledge, Lake.maintain)
"""What stops where the columns have changed since the last build, or takes what no run has read."""


@pytest.fixture
def lake(consumer: Callable[[str], Consumer], raw: Raw) -> Lake:
    """The tables, before anything is built."""
    return Lake(consumer(SCHEMA), raw)


def test_whatever_happens_to_a_table_its_models_are_what_its_log_has_taken_in(lake: Lake) -> None:
    chance = random.Random(SEED)
    events = chance.sample(EVENTS, len(EVENTS))
    # `remove` knows models by the names that `init` has given them
    out, moved = sorted((events.index(Lake.take_out_and_back), events.index(Lake.move)))
    events[out], events[moved] = Lake.take_out_and_back, Lake.move
    # batches land somewhere between, two before, of which one can be purged, and one after all
    between = sorted(chance.randrange(len(events) + 1) for _ in range(BATCHES - 3))
    for _ in range(2):
        lake.land()
        lake.build()
    lake.check("at first")
    told = []
    for number, event in enumerate(events):
        told.append(event.__name__)
        for _ in range(between.count(number)):
            lake.land()
            told.append("(landed)")
        if event in BUILT_FIRST and lake.has_news:
            lake.build()
        event(lake)
        if SCALE > 1 or number % 2:
            if SCALE > 1 or lake.has_news:
                lake.build()
            lake.check(f"after {', '.join(told)}")
    for _ in range(between.count(len(events)) + 1):
        lake.land()
    lake.project.dbt("build", "--exclude", SEED_OF_TRAILS, *NOT_READ)
    lake.took_in()
    lake.check("at last")
    lake.assert_kinds()
    lake.project.dbt("run", "--full-refresh", "--exclude", *VIEWS, "--vars", "{change_tables_allow_loss: true}")
    for life in lake.lives.values():
        life.rebuild()
    lake.check("after a full refresh")
