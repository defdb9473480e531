"""A log that is replaced by a smaller one, and tables that are moved or renamed as the page of operations says."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import yaml

from tests.table_format import COPIES_TO_ANOTHER_SCHEMA, in_table_format

from .consumer import CALLS, REPOSITORY, Consumer, Entry
from .landing import Raw
from .qlik_cases import TWO_HEADERS, WITH_HISTORY, bare, seq

pytestmark = pytest.mark.slow

SCHEMA = "analytics"
LOG_SCHEMA = "analytics_log"
ORDERS = f"{SCHEMA}_raw.orders"
COLUMNS = {"id": "bigint", "name": "string"}
LANDED = {"header__change_seq": "string", "header__change_oper": "string"} | COLUMNS | {"landed": "int"}
ENTRY = Entry("orders", TWO_HEADERS | {"arrival": "landed"}, COLUMNS, WITH_HISTORY)
STATES = ("current_shop__orders", "history_shop__orders")
ALLOWED = ["--vars", "{change_tables_allow_loss: true}"]
FIRST = [bare(number, "I", number, "old", 1) for number in range(1, 7)]
SECOND = [bare(10, "U", 1, "new", 2), bare(11, "I", 7, "new", 2), bare(12, "?", 8, "rejected", 2)]
ALL = [(1, "new"), *((number, "old") for number in range(2, 7)), (7, "new")]


def commands(heading: str) -> list[str]:
    """The statements of a block of SQL under a heading of the page, comments aside."""
    page = (REPOSITORY / "docs" / "operations.md").read_text()
    section = page.split(f"\n### {heading}\n", 1)[1].split("\n## ", 1)[0].split("\n### ", 1)[0]
    (block,) = re.findall(r"```sql\n(.*?)```", section, re.DOTALL)
    statements = re.sub("--.*", "", block).split(";")
    return in_table_format([statement.strip() for statement in statements if statement.strip()])


def copies_of_a_state(kind: str) -> list[str]:
    """The same statements that copy a log, for a state, with what the text below them says of its tables."""
    page = " ".join((REPOSITORY / "docs" / "operations.md").read_text().split())
    told = re.search(rf"A `{kind}_` has(?: the statistics)? `(_checkpoint[^`]*)`([^.]*)\.", page)
    assert told
    partitioned = re.search(r"`(partitioned by [^`]*)`", told[2])
    found = []
    for statement in commands("To another schema"):
        if "quarantine" not in statement and "__reports" not in statement:
            text = re.sub("_checkpoint,[^']*", told[1], statement.replace("dedup_", f"{kind}_"))
            found.append(text.replace("\nas select", f"\n{partitioned[1]}\nas select") if partitioned else text)
    return found


class Shop:
    """The project of the page, whose raw rows of the first day are purged."""

    def __init__(self, project: Consumer, raw: Raw) -> None:
        self.project = project
        self.raw = raw
        project.source = "shop"
        raw.drop_schema(LOG_SCHEMA)
        raw.create(ORDERS, LANDED, "delta")
        project.write([ENTRY])
        self.land(FIRST)
        self.build()
        self.land(SECOND)
        self.build()
        self.purge(1)

    def land(self, rows: Sequence[Sequence[Any]]) -> None:
        self.raw.insert(ORDERS, rows)

    def purge(self, landed: int) -> None:
        self.raw.query(f"delete from {ORDERS} where landed <= {landed}")

    def configure(self, model: str = "dedup_shop__orders", **config: str) -> None:
        """Give a model, the log, settings by dbt's project file, or all of them."""
        path = self.project.folder / "dbt_project.yml"
        project = yaml.safe_load(path.read_text())
        models = project.get("models", {}) | {"consumer": {model: config} if model else config}
        path.write_text(yaml.safe_dump(project | {"models": models}))

    def build(self, *options: str, refused: bool = False) -> str:
        result = self.project.dbt("run", "--exclude", "reported", *options, must_succeed=not refused)
        assert result.success is not refused
        return self.project.errors(result)

    def rename_models(self) -> None:
        """Let the models of `orders` be those of `sales`, but for staging."""
        models = self.project.folder / "models"
        for kind in ("dedup", "current", "history"):
            (models / f"{kind}_shop__orders.sql").unlink()
            text = CALLS[kind].format(source="shop", table="sales").replace("stg_shop__sales", "stg_shop__orders")
            (models / f"{kind}_shop__sales.sql").write_text(text)
        for health in ("rejected", "reported"):
            path = models / f"{health}.sql"
            path.write_text(path.read_text().replace("shop__orders", "shop__sales"))
        (models / "models.yml").unlink()

    def rows(self, model: str = STATES[0]) -> list[tuple[Any, ...]]:
        return self.raw.query(f"select id, name from {SCHEMA}.{model} order by id, name")

    def versions(self, models: Sequence[str] = STATES) -> list[int]:
        return [self.raw.version(f"{SCHEMA}.{model}__state") for model in models]

    def keeps(self, refused: str, *said: str) -> None:
        """Both states are refused with these words."""
        for model in STATES:
            (line,) = [line for line in refused.splitlines() if f"model '{model}'" in line]
            for words in (*said, "--vars '{change_tables_allow_loss: true}'"):
                assert words in line


@pytest.fixture
def shop(consumer: Callable[[str], Consumer], raw: Raw) -> Shop:
    """The project after two builds, as the page has it."""
    return Shop(consumer(SCHEMA), raw)


def test_models_that_are_moved_and_renamed_by_the_commands_of_the_page_keep_their_tables_the_log_alone_or_with_others(
    shop: Shop,
) -> None:
    def tables(schema: str) -> list[tuple[Any, ...]]:
        """Of the tables of all models: what partitions them, and their properties."""
        names = [f"{kind}_shop__orders__state" for kind in WITH_HISTORY[1:]] + ["dedup_shop__orders__quarantine"]
        return [
            (
                shop.raw.partition_columns(f"{schema}.{name}"),
                shop.raw.query(f"show tblproperties {schema}.{name}"),
            )
            for name in names
        ]

    as_made = tables(SCHEMA)
    versions = shop.versions()
    shop.configure(schema="log")
    # without the commands the log is built from what raw has left
    refused = shop.build(refused=True)
    shop.keeps(
        refused,
        "it follows another log than before",
        f"{LOG_SCHEMA}.dedup_shop__orders__state holds 2 changes, and the log before held 8",
        "docs/operations.md",
    )
    assert shop.versions() == versions
    assert shop.rows() == ALL
    for statement in commands("To another schema"):
        shop.raw.query(statement)
    shop.build()
    assert shop.versions() == versions
    assert shop.rows() == ALL
    log = f"{LOG_SCHEMA}.dedup_shop__orders"
    logged = f"select count(*), count_if(_batch_id = (select min(_batch_id) from {log})) from {log}"
    assert shop.raw.query(logged) == [(8, 6)]
    assert shop.raw.query(f"select reason_code from {SCHEMA}.rejected") == [("unknown_operation",)]
    # and goes on
    shop.land([bare(20, "U", 2, "later", 3)])
    shop.build()
    assert shop.versions() == [version + 1 for version in versions]
    assert shop.rows() == [ALL[0], (2, "later"), *ALL[2:]]
    assert shop.raw.relations(SCHEMA, "dedup*") == set()

    # then all models, of which the log is there by now
    of_log = shop.raw.version(f"{log}__state")
    versions = [of_log, *([0, 0] if COPIES_TO_ANOTHER_SCHEMA else shop.versions())]
    history = shop.rows(STATES[1])
    for statement in (*copies_of_a_state("current"), *copies_of_a_state("history")):
        shop.raw.query(statement)
    assert tables(LOG_SCHEMA) == as_made
    shop.configure("", **{"+schema": "log"})
    shop.build()
    moved = [f"{kind}_shop__orders" for kind in WITH_HISTORY[1:]]
    assert [shop.raw.version(f"{LOG_SCHEMA}.{model}__state") for model in moved] == versions
    shop.land([bare(21, "U", 3, "later", 4)])
    shop.build()
    rows = "select id, name from {}.{} order by id, name"
    current = [ALL[0], (2, "later"), (3, "later"), *ALL[3:]]
    assert shop.raw.query(rows.format(LOG_SCHEMA, STATES[0])) == current
    assert shop.raw.query(rows.format(LOG_SCHEMA, STATES[1])) == sorted([*history, (3, "later")])
    assert shop.raw.query(f"select reason_code from {LOG_SCHEMA}.rejected") == [("unknown_operation",)]
    assert shop.raw.relations(SCHEMA, "*shop__orders*") == {"stg_shop__orders"}

    # and another name
    history = shop.raw.query(rows.format(LOG_SCHEMA, STATES[1]))
    for statement in commands("Another name"):
        shop.raw.query(statement.replace(f"{SCHEMA}.", f"{LOG_SCHEMA}."))
    shop.rename_models()
    renamed = [model.replace("orders", "sales") for model in moved]
    versions = [shop.raw.version(f"{LOG_SCHEMA}.{model}__state") for model in renamed]
    shop.build()
    assert [shop.raw.version(f"{LOG_SCHEMA}.{model}__state") for model in renamed] == versions
    assert [shop.raw.query(rows.format(LOG_SCHEMA, model)) for model in renamed[1:]] == [current, history]
    assert shop.raw.query(f"select reason_code from {LOG_SCHEMA}.rejected") == [("unknown_operation",)]
    assert shop.raw.relations(LOG_SCHEMA, "*shop__orders*") == {"stg_shop__orders"}


def test_a_loss_that_is_allowed_goes_on_and_is_asked_for_once(shop: Shop) -> None:
    # as many changes land before the next build as were purged, so that the number alone tells nothing
    shop.land([bare(number, "I", number, "later", 3) for number in range(20, 26)])
    shop.configure(schema="log")
    shop.keeps(shop.build(refused=True), "lacks the changes of", "docs/operations.md")
    # nor does a full refresh of the states go on
    shop.keeps(shop.build("--full-refresh", "--select", *STATES, refused=True), "lacks the changes of")
    assert shop.rows() == ALL
    # back to where the log was
    versions = shop.versions()
    shop.configure()
    shop.build()
    assert shop.versions() == [version + 1 for version in versions]
    assert len(shop.rows()) == 13
    # on with less
    shop.configure(schema="log")
    shop.keeps(shop.build(refused=True), "holds 8 changes, and the log before held 14")
    shop.build(*ALLOWED)
    rest = [(1, "new"), (7, "new"), *((number, "later") for number in range(20, 26))]
    assert shop.rows() == rest
    versions = shop.versions()
    shop.build()
    assert shop.versions() == versions
    # who allows a loss of the log in its place allows that of the models after it
    shop.purge(2)
    log = ["--full-refresh", "--select", "dedup_shop__orders"]
    assert "would lose 2 changes" in shop.build(*log, refused=True)
    shop.build(*log, *ALLOWED)
    shop.build()
    assert shop.rows() == rest[2:]
    # but not where something else has deleted changes before
    shop.raw.query(f"delete from {LOG_SCHEMA}.dedup_shop__orders__state where _change_seq = '{seq(25)}'")
    shop.raw.query(f"delete from {ORDERS} where id = 25")
    shop.build(*log)
    shop.keeps(shop.build(refused=True), "holds 5 changes, and the log before held 6")
    assert shop.rows() == rest[2:]
