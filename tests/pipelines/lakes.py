"""A lake into which runs build that meet others, or die: its tables, and what its models must show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from .consumer import Consumer, Entry
from .histories import (
    COLUMNS,
    HEADERS,
    HISTORY_QUERY,
    KEY,
    RAW_COLUMNS,
    changes_before_others,
    expected_history,
    expected_state,
    expected_table,
    random_raw_rows,
)
from .landing import Raw
from .qlik_cases import COLUMNS as BUSY_COLUMNS
from .qlik_cases import TWO_HEADERS, WITH_HISTORY, bare, seq

BATCHES = 3
BUSY_RAW = {"header__change_seq": "string", "header__change_oper": "string"} | BUSY_COLUMNS | {"batch": "int"}
VIEWS = ["stg_*", "rejected", "reported"]
SPEC = {"format": "qlik_change_tables", "key": KEY, "headers": list(HEADERS), "mask_type": "string"}
# rows land in the order of change, so that purged rows have no halves that land later
LANDED = {
    "full": random_raw_rows(seed=3, histories=12, changes=240, batches=BATCHES, order="timely"),
    "partial": random_raw_rows(seed=4, histories=12, changes=240, batches=BATCHES, order="timely", partial=True),
    "late": changes_before_others(),
}
RANDOM = {
    "full": Entry("full", SPEC | {"arrival": "batch"}, COLUMNS),
    "partial": Entry("partial", SPEC | {"images": "partial"}, COLUMNS, WITH_HISTORY),
    "late": Entry("late", SPEC | {"images": "partial"}, COLUMNS, WITH_HISTORY),
}
"""The entries of the tables of random rows."""


def bare_entry(name: str) -> Entry:
    """A table of two headers, into which tests land single rows."""
    return Entry(name, TWO_HEADERS | {"arrival": "batch"}, BUSY_COLUMNS)


def expected(model: str, batch: int) -> Counter[Any]:
    """What a model must show of the raw rows up to a batch."""
    kind, name = model.split("_feed__")
    landed = [row for row in LANDED[name] if row.batch <= batch]
    if kind == "dedup":
        return Counter({(row.seq, row.oper, *row.key) for row in landed if row.oper != "B"})
    table = expected_table(landed)
    return Counter(expected_state(table) if kind == "current" else expected_history(table))


class Lake:
    """A project with some of the tables of random rows, one that is `busy`, and further ones of two headers."""

    def __init__(self, project: Consumer, random: Sequence[str], bare: Sequence[str]) -> None:
        """Nothing is there; `begin` makes the raw tables."""
        self.project = project
        self.raw: Raw
        self.landed = 0
        self._random, self._bare = random, ("busy", *bare)
        self.models = [f"{kind}_feed__{name}" for name in random for kind in RANDOM[name].models if kind != "stg"]

    @property
    def entries(self) -> list[Entry]:
        """Of all tables."""
        return [*(RANDOM[name] for name in self._random), *map(bare_entry, self._bare)]

    def raw_table(self, name: str) -> str:
        """The raw table of an entry."""
        return f"{self.project.schema}_raw.{name}"

    def begin(self) -> None:
        """Make the raw tables; the first rows of those of two headers are there."""
        for name in self._random:
            self.raw.create(self.raw_table(name), RAW_COLUMNS)
        for name in self._bare:
            self.raw.create(self.raw_table(name), BUSY_RAW)
            self.raw.insert(self.raw_table(name), [bare(10, "I", 1, "a", None, 1)])
        self.raw.insert(self.raw_table("busy"), [bare(50, "I", 2, "b", None, 1)])

    def land(self, batch: int) -> None:
        """Land a batch of the tables of random rows."""
        for name in self._random:
            self.raw.insert(self.raw_table(name), [row.values for row in LANDED[name] if row.batch == batch])
        (first,) = [row.values for row in LANDED["full"] if row.batch == batch][:1]
        self.raw.insert(self.raw_table("full"), [[first[0], "?", *first[2:]]])
        self.landed = batch

    def reach(self, batch: int) -> None:
        """Land and build what has not landed up to a batch, undisturbed."""
        while self.landed < batch:
            self.land(self.landed + 1)
            self.run()

    def rows(self, model: str, table: str = "") -> Counter[Any]:
        """What a model shows, or what it would of another table, as `expected` has it."""
        queries = {
            "dedup": "select _change_seq, upper(left(_change_op, 1)), history, place from ",
            "current": f"select {', '.join(COLUMNS)} from ",
            "history": HISTORY_QUERY,
        }
        return Counter(self.raw.query(f"{queries[model.split('_')[0]]} {table or f'{self.project.schema}.{model}'}"))

    def assert_models(self, batch: int, models: Sequence[str] = ()) -> None:
        """Each model shows what the changes that have landed up to a batch say, and no row twice."""
        for model in models or self.models:
            found, wanted = self.rows(model), expected(model, batch)
            assert found == wanted, f"{model}: missing {list(wanted - found)[:3]}, surplus {list(found - wanted)[:3]}"
        if "dedup_feed__full" in (models or self.models):
            kept = "_status = 'rejected' and _healed_at is null"
            rows = self.raw.query(
                f"select _equal_rows from {self.project.schema}.dedup_feed__full__quarantine where {kept}"
            )
            assert rows == [(1,)] * batch  # one lands with each batch

    def busy(self) -> tuple[set[int], set[tuple[Any, ...]]]:
        """The sequences in the log of the table `busy`, each once, and its current rows."""
        logged = self.raw.query(f"select _change_seq from {self.project.schema}.dedup_feed__busy")
        assert len(logged) == len(set(logged))
        current = self.raw.query(f"select id, name from {self.project.schema}.current_feed__busy")
        return {number for number in range(100) if (seq(number),) in logged}, set(current)

    def versions(self, models: Sequence[str]) -> list[int]:
        """The last commit to each model's table."""
        return [self.raw.version(f"{self.project.schema}.{model}__state") for model in models]

    def states_of_commits(self, model: str) -> set[int]:
        """The batches, from 0, whose states the commits to a table are: each is a whole one, with its checkpoint."""
        whole_states = [expected(model, batch) for batch in range(1, BATCHES + 1)]
        shown = "_checkpoint is null" if model.startswith("dedup") else "_checkpoint is null and not _is_deleted"
        found: list[int] = []
        has_checkpoints = False
        for version in range(self.raw.version(f"{self.project.schema}.{model}__state") + 1):
            table = self.raw.as_of(f"{self.project.schema}.{model}__state", version)
            checkpoints = self.raw.query(
                f"select get_json_object(_checkpoint, '$.batch') from {table} where startswith(_checkpoint, '{{')"
            )
            assert len(checkpoints) == len(set(checkpoints))
            assert len(checkpoints) == 1 or model.startswith("dedup")
            # the rows of a new log come first, those to be quarantined among them
            assert checkpoints or not has_checkpoints
            has_checkpoints = bool(checkpoints)
            found.append(whole_states.index(self.rows(model, f"{table} where {shown}")))
        assert found == sorted(found)
        return set(found)

    def batch_tables(self) -> set[str]:
        """The models whose tables of new changes or kept events are there."""
        names = [name for _, name, _ in self.raw.query(f"show tables in {self.project.schema} like '*__batch_*'")]
        return {name.split("__batch_")[0] for name in names}

    def run(self, *options: str, must_succeed: bool = True) -> Any:
        """Build these models, or all tables; no views, which nothing here reads."""
        return self.project.dbt("run", "--exclude", *VIEWS, *options, must_succeed=must_succeed)
