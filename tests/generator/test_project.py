# ruff: noqa: E501  # it has the texts of files, which are wider than code
"""What is written into a project, what is left as a person has it, and what is only said."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from change_tables.generator.found import Found, FoundColumn, FoundTable, FurtherEntry, LakeError, Trouble
from change_tables.generator.keys import Keys, Rule
from change_tables.generator.plan import Plan, Wish
from change_tables.generator.project import COMPARES_ALL, make_plan
from change_tables.generator.project_files import Project, ProjectError
from change_tables.generator.yaml_files import YamlFileError
from tests.generator.change_tables import HEADERS, ChangeTables, new_project, plan_of, texts, written

ID = Keys([Rule("*", ["id"])])
ORDERS = {**HEADERS, "id": "bigint", "on": "string", "unit price": "decimal(18,4)"}
STOCK = {**HEADERS, "id": "int", "pieces": "int"}
SCHEMA = {
    "orders__ct": ORDERS,
    "orders": {"id": "bigint", "on": "string", "unit price": "decimal(18,4)"},
    "stock__ct": STOCK,
}

SOURCES = """\
version: 2

sources:
  - name: shop
    schema: raw
    tables:
      - name: orders
        identifier: orders__ct
        config:
          meta:
            change_table:
              format: qlik_change_tables
              key: [id]
              snapshot: orders_full
        columns:
          - {name: id, data_type: bigint}
          - {name: "on", data_type: string}
          - {name: unit price, data_type: "decimal(18,4)"}

      - name: orders_full
        identifier: orders
        description: The full load of orders.

      - name: stock
        identifier: stock__ct
        config:
          meta:
            change_table:
              format: qlik_change_tables
              key: [id]
        columns:
          - {name: id, data_type: int}
          - {name: pieces, data_type: int}
"""
MODELS = """\
version: 2

models:
  - name: stg_shop__orders
    description: One row per row of the change table of orders, and per row of its full load; `_status` says what became of it.

  - name: dedup_shop__orders
    description: One row per change of orders, however often it was delivered.
    data_tests:
      - change_tables.raw_rows_accounted_for
      - change_tables.rejected_share:
          arguments: {above: 0}
          config: {severity: warn}
      - change_tables.no_reported_changes:
          config: {severity: warn}

  - name: current_shop__orders
    description: One row per living key of orders; keys that have ended are not in it.
    data_tests:
      - change_tables.one_row_per_key:
          arguments: {key: [id]}

  - name: history_shop__orders
    description: One row per version of a key of orders, with when and at which sequence it began and ended.

  - name: stg_shop__stock
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project without models."""
    return new_project(tmp_path / "project")


def changed_lines(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Lines that were added, with +, and that are gone, with -."""
    return [
        line
        for path in sorted({*before, *after})
        for line in difflib.unified_diff(before.get(path, "").splitlines(), after.get(path, "").splitlines(), n=0)
        if line[0] in "+-" and not line.startswith(("+++", "---"))
    ]


def test_a_feed_is_written_with_entries_models_descriptions_and_tests(project: Path) -> None:
    plan = written(project, SCHEMA, keys=ID, history=["ord*"])
    there = texts(project)
    assert there.pop("shop/_shop__sources.yml") == SOURCES
    assert there.pop("shop/_shop__models.yml").startswith(MODELS)
    assert there == {
        "shop/staging/stg_shop__orders.sql": "{{ change_tables.staged_changes('shop', 'orders', reads=['orders_full']) }}\n",
        "shop/staging/stg_shop__stock.sql": "{{ change_tables.staged_changes('shop', 'stock') }}\n",
        "shop/deduplicated/dedup_shop__orders.sql": "{{ change_tables.deduplicated_changes(ref('stg_shop__orders')) }}\n",
        "shop/deduplicated/dedup_shop__stock.sql": "{{ change_tables.deduplicated_changes(ref('stg_shop__stock')) }}\n",
        "shop/current/current_shop__orders.sql": "{{ change_tables.current_state(ref('dedup_shop__orders')) }}\n",
        "shop/current/current_shop__stock.sql": "{{ change_tables.current_state(ref('dedup_shop__stock')) }}\n",
        "shop/history/history_shop__orders.sql": "{{ change_tables.history(ref('dedup_shop__orders')) }}\n",
        "shop/health/rejected_changes.sql": (
            "{{ change_tables.rejected_changes([\n    ref('dedup_shop__orders'),\n    ref('dedup_shop__stock'),\n]) }}\n"
        ),
        "shop/health/reported_changes.sql": (
            "{{ change_tables.reported_changes([\n    ref('dedup_shop__orders'),\n    ref('dedup_shop__stock'),\n]) }}\n"
        ),
    }
    assert (plan.new, plan.changed, plan.without_key, plan.troubles) == (["orders", "stock"], {}, [], [])


def test_a_dry_run_writes_nothing(project: Path) -> None:
    plan = plan_of(project, SCHEMA, keys=ID)
    assert texts(project) == {}
    assert len(plan.files) == 10
    assert not plan.is_in_step


def test_run_again_nothing_changes(project: Path) -> None:
    written(project, SCHEMA, keys=ID, history=["orders"])
    for given in ({"keys": ID, "history": ["orders"]}, {"keys": ID}, {}):
        plan = plan_of(project, SCHEMA, **given)
        assert plan.is_in_step, plan
        assert plan.unchanged == ["orders", "stock"]


# the columns of the change table of stock then -> the lines that change
FOLLOWED: list[tuple[Mapping[str, str], list[str]]] = [
    ({**STOCK, "place": "decimal(9,2)"}, ['+          - {name: place, data_type: "decimal(9,2)"}']),
    ({**HEADERS, "id": "int", "it's": "date", "pieces": "int"}, ['+          - {name: "it\'s", data_type: date}']),
    ({**HEADERS, "first": "date", "id": "int", "pieces": "int"}, ["+          - {name: first, data_type: date}"]),
    (
        {**STOCK, "pieces": "bigint"},
        ["-          - {name: pieces, data_type: int}", "+          - {name: pieces, data_type: bigint}"],
    ),
    (
        {**STOCK, "id": "decimal(12,0)"},
        ["-          - {name: id, data_type: int}", '+          - {name: id, data_type: "decimal(12,0)"}'],
    ),
]


@pytest.mark.parametrize(("stock", "lines"), FOLLOWED)
def test_what_can_follow_the_source_is_changed_and_nothing_else(
    project: Path, stock: Mapping[str, str], lines: list[str]
) -> None:
    written(project, SCHEMA, keys=ID)
    before = texts(project)
    plan = written(project, SCHEMA | {"stock__ct": stock})
    assert changed_lines(before, texts(project)) == lines
    assert list(plan.changed) == ["stock"]
    assert plan_of(project, SCHEMA | {"stock__ct": stock}).is_in_step


# the columns of the change table of stock then, what the user says -> what is said of it
NOT_FOLLOWED: list[tuple[Mapping[str, str], dict[str, Any], str]] = [
    (
        {**HEADERS, "id": "int"},
        {},
        "column pieces is declared, and is no longer there: retire it (config.meta.retired: true)",
    ),
    ({**STOCK, "pieces": "smallint"}, {}, "column pieces is smallint, is declared as int"),
    ({**STOCK, "pieces": "double"}, {}, "column pieces is double, is declared as int"),
    ({**STOCK, "id": "decimal(12,2)"}, {}, "column id is decimal(12,2), is declared as int"),
    ({**HEADERS, "ID": "int", "pieces": "int"}, {}, "column ID is declared as id"),
    ({**HEADERS, "pieces": "int", "id": "int"}, {}, "the order of the columns is pieces, id"),
    (STOCK, {"keys": Keys([Rule("stock", ["id", "pieces"])])}, "key is id, pieces, is declared as id"),
    (
        {name: kind for name, kind in STOCK.items() if name != "header__operation"},
        {},
        "headers is change_seq, change_oper, change_mask, stream_position, transaction_id, timestamp, is declared as the default",
    ),
    ({**STOCK, "header__change_mask": "string"}, {}, "mask_type is string, is declared as the default"),
]


@pytest.mark.parametrize(("stock", "wish", "said"), NOT_FOLLOWED)
def test_what_would_need_a_full_refresh_is_listed_and_not_done(
    project: Path, stock: Mapping[str, str], wish: dict[str, Any], said: str
) -> None:
    written(project, SCHEMA, keys=ID)
    plan = plan_of(project, SCHEMA | {"stock__ct": stock}, **wish)
    assert plan.rebuilds == [Trouble("shop.stock", said)]
    assert plan.files == {}
    assert not plan.is_in_step


def test_a_retired_column_may_be_gone_and_its_place_does_not_count(project: Path) -> None:
    written(project, SCHEMA, keys=ID)
    sources = project / "models/shop/_shop__sources.yml"
    retired = "{name: pieces, data_type: int, config: {meta: {retired: true}}}"
    sources.write_text(sources.read_text().replace("{name: pieces, data_type: int}", retired))
    plan = plan_of(project, SCHEMA | {"stock__ct": {**HEADERS, "id": "int"}})
    assert plan.is_in_step, plan
    plan = written(project, SCHEMA | {"stock__ct": {**HEADERS, "id": "int", "place": "int"}})
    assert plan.changed == {"stock": ["column place int is new"]}


RENAMED = "{name: amount, data_type: int, config: {meta: {renamed_from: [count, pieces]}}}"


@pytest.mark.parametrize(
    "landed",
    [{"pieces": "int"}, {"amount": "int"}, {"pieces": "int", "amount": "int"}, {"count": "int", "amount": "int"}],
)
def test_a_renamed_column_may_be_there_under_any_of_its_names(project: Path, landed: Mapping[str, str]) -> None:
    written(project, SCHEMA, keys=ID)
    sources = project / "models/shop/_shop__sources.yml"
    sources.write_text(sources.read_text().replace("{name: pieces, data_type: int}", RENAMED))
    plan = plan_of(project, SCHEMA | {"stock__ct": {**HEADERS, "id": "int", **landed}})
    assert plan.is_in_step, plan
    plan = plan_of(project, SCHEMA | {"stock__ct": {**HEADERS, "id": "int", **landed, "place": "int"}})
    assert plan.changed == {"stock": ["column place int is new"]}


def test_a_new_column_in_the_place_of_one_that_is_gone_may_be_its_new_name(project: Path) -> None:
    written(project, SCHEMA, keys=ID)
    plan = plan_of(project, SCHEMA | {"stock__ct": {**HEADERS, "id": "int", "amount": "int"}})
    remedy = "if amount in its place is its new name, declare that with renamed_from: pieces, else retire it"
    said = f"column pieces is declared, and is no longer there: {remedy} (config.meta.retired: true)"
    assert plan.rebuilds == [Trouble("shop.stock", said)]
    assert plan.changed == {}


@pytest.mark.parametrize("landed", [{"id": "int", "amount": "double"}, {"amount": "int", "id": "int"}])
def test_a_new_column_of_another_type_or_place_is_no_new_name(project: Path, landed: Mapping[str, str]) -> None:
    written(project, SCHEMA, keys=ID)
    plan = plan_of(project, SCHEMA | {"stock__ct": {**HEADERS, **landed}})
    assert "renamed_from" not in str(plan.rebuilds)
    assert plan.changed["stock"][0].startswith("column amount")


def test_the_order_of_columns_is_the_users_where_no_mask_counts_it(project: Path) -> None:
    unmasked = {name: kind for name, kind in STOCK.items() if name != "header__change_mask"}
    written(project, SCHEMA | {"stock__ct": unmasked}, keys=ID)
    sources = project / "models/shop/_shop__sources.yml"
    line = "          - {name: pieces, data_type: int}\n"
    sources.write_text(sources.read_text().replace(line, f"{line}          - {{name: place, data_type: int}}\n"))
    headers = {name: kind for name, kind in unmasked.items() if name in HEADERS}
    plan = plan_of(project, SCHEMA | {"stock__ct": {**headers, "id": "int", "place": "int", "pieces": "int"}})
    assert plan.is_in_step, plan


def test_a_rule_for_many_tables_does_not_overrule_a_key_that_a_person_wrote(project: Path) -> None:
    written(project, SCHEMA, keys=Keys([Rule("*", ["id"]), Rule("stock", ["id", "pieces"])]))
    assert plan_of(project, SCHEMA, keys=ID).is_in_step


def test_what_a_person_changed_stays(project: Path) -> None:
    written(project, SCHEMA, keys=ID)
    sources = project / "models/shop/_shop__sources.yml"
    by_hand = {
        "schema: raw": "schema: \"{{ var('raw', 'raw') }}\"  # by stage",
        "key: [id]\n              snapshot: orders_full": "images: partial\n              key: [id]   # as in the source\n              arrival: landed_at",
        '{name: "on", data_type: string}': '{name: "on", data_type: date, description: a text at the source}  # a day',
        "  - {name: pieces, data_type: int}\n": "  - name: pieces\n            data_type: int\n\n      # not in use\n      - name: prices\n",
    }
    text = sources.read_text()
    for was, now in by_hand.items():
        assert was in text
        text = text.replace(was, now, 1)
    sources.write_text(text)
    model = project / "models/shop/staging/stg_shop__stock.sql"
    model.write_text("-- by hand\n")
    (project / "models/shop/current/current_shop__stock.sql").unlink()
    schema = {**SCHEMA, "prices": {}, "stock__ct": {**STOCK, "pieces": "bigint", "place": "int"}}
    before = texts(project)
    plan = written(project, schema, keys=ID)
    assert changed_lines(before, texts(project)) == [
        "+            data_type: bigint",  # of pieces; the line that it had is that of place
        "+          - name: place",
    ]
    assert "            data_type: int\n\n      # not in use\n" in sources.read_text()
    assert (plan.rebuilds, plan.gone, plan.troubles) == ([], [], [])


def test_a_file_that_is_indented_in_another_way_keeps_its_way(project: Path) -> None:
    sources = project / "models/anywhere.yml"
    sources.write_text(
        "version: 2\nsources:\n- name: other\n  tables:\n  - name: x\n- name: shop\n  schema: raw\n  tables:\n"
        "  - name: stock\n    identifier: stock__ct\n    config: {meta: {change_table: {format: qlik_change_tables, key: [id]}}}\n"
        "    columns:\n    - name: id\n      data_type: int\n    - name: pieces\n      data_type: int\n"
    )
    before = texts(project)
    plan = written(project, {"stock__ct": {**STOCK, "place": "date"}})
    assert changed_lines(before, texts(project)) == ["+    - name: place", "+      data_type: date"]
    assert plan.notes == []


def test_new_tables_come_after_the_others_and_only_theirs_is_written(project: Path) -> None:
    written(project, SCHEMA, keys=ID)
    before = texts(project)
    plan = written(project, {**SCHEMA, "articles__ct": STOCK}, keys=ID)
    lines = changed_lines(before, texts(project))
    assert plan.new == ["articles"]
    assert [line for line in lines if line.startswith("-")] == []
    assert lines.count("+    ref('dedup_shop__articles'),") == 2  # rejected and reported changes
    assert texts(project)["shop/_shop__sources.yml"].startswith(SOURCES.rstrip("\n"))


def test_a_table_without_a_key_is_written_so_that_dbt_refuses_it_until_it_has_one(project: Path) -> None:
    plan = written(project, {"stock__ct": STOCK}, keys=Keys([Rule("*", ["no"])]))
    assert plan.without_key == ["stock"]
    before = texts(project)
    assert (
        "              key: []  # which columns identify a row? dbt refuses the project until they are named here\n"
        in before["shop/_shop__sources.yml"]
    )
    assert "one_row_per_key" not in before["shop/_shop__models.yml"]
    plan = written(project, {"stock__ct": STOCK}, keys=ID)
    assert changed_lines(before, texts(project)) == [
        "+    data_tests:",
        "+      - change_tables.one_row_per_key:",
        "+          arguments: {key: [id]}",
        "-              key: []  # which columns identify a row? dbt refuses the project until they are named here",
        "+              key: [id]",
    ]
    assert plan.without_key == []
    assert plan_of(project, {"stock__ct": STOCK}).is_in_step


def test_a_key_that_cannot_be_is_one_line_and_the_table_is_written(project: Path) -> None:
    plan = written(project, {"stock__ct": STOCK}, keys=Keys([Rule("stock", ["no"])]))
    assert plan.troubles == [
        Trouble(
            "shop.stock", "--key names the key column no, which the table does not have; it is written without a key"
        )
    ]
    assert (plan.new, plan.without_key) == (["stock"], ["stock"])


def test_a_load_of_other_types_is_named_while_its_entry_reads_it(project: Path) -> None:
    there = {"orders__ct": {**HEADERS, "id": "bigint", "note": "string"}, "orders": {"id": "bigint", "note": "binary"}}
    plan = written(project, there, keys=ID)
    for again in (plan, plan_of(project, there)):
        assert [item.place for item in again.differing_types] == ["raw.orders__ct and its load raw.orders"]
    assert plan_of(project, there).is_in_step
    assert plan_of(project, there, exclude=["orders"]).differing_types == []
    sources = project / "models/shop/_shop__sources.yml"
    sources.write_text(sources.read_text().replace("snapshot: orders_full", "arrival: none"))
    assert plan_of(project, there).differing_types == []


def test_tables_that_are_gone_are_named_and_stay(project: Path) -> None:
    written(project, SCHEMA, keys=ID)
    plan = plan_of(project, {"stock__ct": STOCK, "orders": {}})
    assert plan.gone == [Trouble("shop.orders", "raw.orders__ct is not there: it was dropped or renamed at the source")]
    assert plan.files == {}
    assert plan_of(project, {"stock__ct": STOCK, "orders": {}}, exclude=["orders"]).is_in_step


def test_a_table_that_cannot_be_read_is_a_trouble_and_not_gone(project: Path) -> None:
    written(project, SCHEMA, keys=ID)
    plan = plan_of(project, SCHEMA | {"stock__ct": LakeError("no file")})
    assert plan.gone == []
    assert plan.troubles == [Trouble("raw.stock__ct", "no file; left out")]
    assert plan_of(project, SCHEMA | {"stock__ct": LakeError("no file")}, exclude=["stock__ct"]).is_in_step


@pytest.mark.parametrize(
    ("include", "exclude", "new"),
    [
        ([], [], ["orders", "stock"]),
        (["s*"], [], ["stock"]),
        (["STOCK__CT"], [], ["stock"]),
        ([], ["ord*"], ["stock"]),
        (["*"], ["*"], []),
    ],
)
def test_tables_are_chosen_by_patterns(project: Path, include: list[str], exclude: list[str], new: list[str]) -> None:
    assert plan_of(project, SCHEMA, include=include, exclude=exclude).new == new


# what lands beside stock -> what is said of it
LEFT_OUT = [
    (
        {"Stock__CT": STOCK},
        "raw.stock__ct: gives the entry stock, as raw.Stock__CT does;"
        " write an entry of another name by hand, with `identifier: stock__ct`; left out",
    ),
    (
        {"a b__ct": STOCK, "a_b__ct": STOCK},
        "raw.a_b__ct: gives the model stg_shop__a_b, as the table a b does; left out",
    ),
    ({"x__ct": {**STOCK, "ID": "int"}}, "raw.x__ct: has the column 'ID' twice (case does not count); left out"),
    (
        {"x__ct": {**STOCK, "_Batch_id": "int"}},
        "raw.x__ct: has the column '_Batch_id', a name that the models add; left out",
    ),
    (
        {"x__ct": {**STOCK, "_ct_x": "int"}},
        "raw.x__ct: has the column '_ct_x': names with _ct_ are those of the models' steps; left out",
    ),
    (
        {"x__ct": {**STOCK, "v": "variant"}},
        "raw.x__ct: has the column 'v' of type variant, which none can be declared with: let it land as text; left out",
    ),
    ({"x__ct": HEADERS}, "raw.x__ct: has no columns; left out"),
    ({"{{x}}__ct": STOCK}, "raw.{{x}}__ct: has the name '{{x}}', which dbt would take for Jinja; left out"),
]


@pytest.mark.parametrize(("tables", "said"), LEFT_OUT)
def test_a_table_that_cannot_be_declared_is_one_line_and_the_others_are_written(
    project: Path, tables: Mapping[str, Mapping[str, str]], said: str
) -> None:
    plan = written(project, {**tables, "stock__ct": STOCK}, keys=ID)
    assert said in [f"{trouble.place}: {trouble.text}" for trouble in plan.troubles]
    assert {trouble.place for trouble in plan.troubles} == {said.partition(": ")[0]}
    assert "stock" in [name.lower() for name in plan.new]


NAMES = {
    "order": "stg_shop__order",
    "it's": "stg_shop__it_s",
    "Order Lines": "stg_shop__order_lines",
    "Größe": "stg_shop__grosse",
    "表": "stg_shop__u8868",
    "both \"'": "stg_shop__both",
    "on": "stg_shop__on",
    "12": "stg_shop__12",
}


def test_models_have_safe_names_and_entries_the_names_of_the_tables(project: Path) -> None:
    written(project, {f"{name}__ct": {**HEADERS, name: "int"} for name in NAMES}, keys=Keys([Rule("*", ["x"])]))
    there = texts(project)
    (source,) = yaml.safe_load(there["shop/_shop__sources.yml"])["sources"]
    assert {entry["name"]: entry["columns"][0]["name"] for entry in source["tables"]} == {name: name for name in NAMES}
    assert {entry["name"] for entry in source["tables"] if entry.get("quoting") == {"identifier": True}} == {
        name for name in NAMES if not re.fullmatch("[A-Za-z]+", name)
    }
    for name, model in NAMES.items():
        call = there[f"shop/staging/{model}.sql"]
        assert eval(call.strip("{} \n").replace("change_tables.staged_changes", "")) == ("shop", name)
    described = [model["name"] for model in yaml.safe_load(there["shop/_shop__models.yml"])["models"]]
    assert set(NAMES.values()) <= set(described)
    assert plan_of(project, {f"{name}__ct": {**HEADERS, name: "int"} for name in NAMES}).changed == {}


def test_a_history_can_be_asked_for_later(project: Path) -> None:
    written(project, SCHEMA, keys=ID)
    plan = written(project, SCHEMA, history=["stock"])
    assert plan.changed == {"stock": ["a history is new"]}
    assert "shop/history/history_shop__stock.sql" in texts(project)
    assert plan_of(project, SCHEMA, history=["stock"]).is_in_step


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "{{ change_tables.rejected_changes([ref('a')]) }}",
            "{{ change_tables.rejected_changes([ref('a'), ref('dedup_shop__stock')]) }}",
        ),
        (
            "{{ change_tables.rejected_changes([]) }}",
            "{{ change_tables.rejected_changes([ref('dedup_shop__stock')]) }}",
        ),
        (
            "{{ change_tables.rejected_changes([\n  ref('a')\n]) }}\n",
            "{{ change_tables.rejected_changes([\n  ref('a'),\n  ref('dedup_shop__stock'),\n]) }}\n",
        ),
        (
            "{# change_tables.rejected_changes([]) of ref('dedup_shop__stock') #}{{ change_tables.rejected_changes([]) }}",
            "{# change_tables.rejected_changes([]) of ref('dedup_shop__stock') #}"
            "{{ change_tables.rejected_changes([ref('dedup_shop__stock')]) }}",
        ),
        ('{{ change_tables.rejected_changes([ref("dedup_shop__stock")]) }}', None),
    ],
)
def test_a_health_model_that_is_there_gets_what_it_lacks(project: Path, before: str, after: str | None) -> None:
    model = project / "models/rejected_changes.sql"
    model.write_text(before)
    written(project, {"stock__ct": STOCK}, keys=ID)
    assert model.read_text() == (after or before)
    assert "shop/health/rejected_changes.sql" not in texts(project)


def test_a_health_model_of_another_form_is_left_and_named(project: Path) -> None:
    model = project / "models/rejected_changes.sql"
    model.write_text("select 1")
    plan = written(project, {"stock__ct": STOCK}, keys=ID)
    assert model.read_text() == "select 1"
    assert plan.troubles == [
        Trouble(
            str(model),
            "does not call change_tables.rejected_changes([…]), so that ref('dedup_shop__stock') must be added by hand",
        )
    ]


def test_a_model_or_a_description_that_is_there_is_left(project: Path) -> None:
    (project / "models/stg_shop__stock.sql").write_text("select 1\n")
    (project / "models/all.yml").write_text("models:\n  - name: dedup_shop__stock\n    description: mine\n")
    plan = written(project, {"stock__ct": STOCK}, keys=ID)
    there = texts(project)
    assert there["stg_shop__stock.sql"] == "select 1\n"
    assert "shop/staging/stg_shop__stock.sql" not in there
    assert "dedup_shop__stock\n" not in there["shop/_shop__models.yml"]
    assert plan.notes == [f"{project / 'models/stg_shop__stock.sql'} is there: left as it is", COMPARES_ALL]


def test_freshness_is_written_where_a_column_says_when_rows_landed(project: Path) -> None:
    schema = {"stock__ct": {**STOCK, "landed at": "timestamp", "landed_at": "timestamp"}, "orders__ct": ORDERS}
    options = {"ignore": "landed*"}
    written(project, schema, options=options, keys=ID)
    before = texts(project)
    plan = written(project, schema, options=options, freshness_column="landed_at")
    assert changed_lines(before, texts(project)) == [
        "+          loaded_at_field: landed_at",
        "+          freshness: {warn_after: {count: 1, period: day}}",
    ]
    assert plan.notes == ["shop.orders has no column landed_at: it is written without freshness"]
    assert plan_of(project, schema, options=options, freshness_column="landed_at").is_in_step
    assert plan_of(project, schema, options=options).is_in_step


def test_freshness_can_be_sql(project: Path) -> None:
    written(project, {"stock__ct": STOCK}, keys=ID, freshness_column="to_timestamp(`landed at`)")
    (source,) = yaml.safe_load(texts(project)["shop/_shop__sources.yml"])["sources"]
    assert source["tables"][0]["config"]["loaded_at_field"] == "to_timestamp(`landed at`)"


def test_freshness_is_written_only_where_it_is_asked_for(project: Path) -> None:
    plan_of_found(project, found_of("A"), "goldengate_trail")
    assert "loaded_at_field" not in texts(project)["shop/_shop__sources.yml"]


LANDED = {"loaded at": "timestamp", "batch_no": "bigint"}
"""What a landing job adds to each table."""


def declared(project: Path, table: str = "stock") -> tuple[dict[str, Any], list[str]]:
    """The settings of an entry, and its columns."""
    (source,) = yaml.safe_load(texts(project)["shop/_shop__sources.yml"])["sources"]
    (entry,) = (entry for entry in source["tables"] if entry["name"] == table)
    return entry["config"]["meta"]["change_table"], [column["name"] for column in entry["columns"]]


def test_the_columns_of_freshness_and_arrival_are_no_columns_of_the_source(project: Path) -> None:
    schema = {"stock__ct": {**STOCK, "landed_at": "timestamp", "Batch_No": "bigint"}, "orders__ct": ORDERS}
    wish: dict[str, Any] = {"freshness_column": "landed_at", "arrival": "batch_no", "keys": ID}
    plan = written(project, schema, **wish)
    settings, columns = declared(project)
    assert settings["arrival"] == "batch_no"
    assert columns == [name for name in STOCK if name not in HEADERS]
    assert "arrival" not in declared(project, "orders")[0]
    assert "shop.orders has no column batch_no: it is written without arrival" in plan.notes
    assert plan_of(project, schema, **wish).is_in_step


def test_an_arrival_is_written_into_an_entry_that_has_none(project: Path) -> None:
    schema, options = {"stock__ct": {**STOCK, **LANDED}}, {"ignore": ",".join(LANDED)}
    written(project, schema, options=options, keys=ID)
    before = texts(project)
    plan = written(project, schema, options=options, keys=ID, arrival="loaded at")
    assert changed_lines(before, texts(project)) == ["+              arrival: loaded at"]
    assert plan.changed == {"stock": ["arrival is loaded at"]}
    assert plan_of(project, schema, options=options, arrival="batch_no").is_in_step


def test_a_landing_column_that_is_declared_is_named(project: Path) -> None:
    schema = {"stock__ct": {**STOCK, **LANDED}}
    written(project, schema, keys=ID)
    assert plan_of(project, schema, arrival="batch_no").rebuilds == [
        Trouble("shop.stock", "column batch_no is declared, and is a landing job's: take it out of the entry")
    ]


def test_columns_that_most_tables_end_in_are_named(project: Path) -> None:
    own = {name: {"id": "int", "status": "string", name: "string"} for name in ("a", "b", "c")}
    tables = {f"{name}__ct": {**HEADERS, **columns, **LANDED} for name, columns in own.items()}
    tables |= {"d__ct": {**HEADERS, "id": "int", "loaded at": "timestamp", "d": "string"}}
    plan = written(project, tables, keys=ID)
    assert plan.notes == [
        "most tables end in loaded at, batch_no, which are declared as the source's: if a landing job adds them, take"
        " them out by --option ignore=loaded at,batch_no, and name the one by which rows land by --arrival",
        COMPARES_ALL,
    ]
    assert plan_of(project, tables).notes == []
    assert plan_of(project, {"e__ct": ORDERS, "f__ct": ORDERS}).notes == [COMPARES_ALL]
    assert plan_of(project, {"e__ct": ORDERS, "f__ct": ORDERS}, arrival="files").notes == []


# schemas, and what the source says of tables and columns


def test_what_people_read_is_in_a_schema_of_its_own_from_the_first_run(project: Path) -> None:
    (project / "dbt_project.yml").write_text("# mine\nname: consumer\nmodels:\n  +file_format: delta\n")
    written(project, {"stock__ct": STOCK}, keys=ID, analysts_schema="analysts")

    def folders() -> dict[str, Any]:
        text = (project / "dbt_project.yml").read_text()
        assert text.startswith("# mine\n")
        given: dict[str, Any] = yaml.safe_load(text)["models"]["consumer"]["shop"]
        return given

    read = {
        "+schema": "analysts",
        "+meta": {"tables_schema": "{{ target.schema }}"},
        "+persist_docs": {"relation": True, "columns": True},
    }
    assert folders() == {"current": read}
    assert plan_of(project, {"stock__ct": STOCK}, analysts_schema="analysts").is_in_step
    # a history is where the current models are, as soon as there is one
    written(project, {"stock__ct": STOCK}, history=["stock"], analysts_schema="other")
    assert folders() == {"current": read, "history": read}


@pytest.mark.parametrize(
    "models", ["{+schema: a}", "{consumer: {shop: {+schema: a}}}", "{consumer: {shop: {current: {+schema: a}}}}"]
)
def test_a_schema_that_is_there_stays(project: Path, models: str) -> None:
    text = f"name: consumer\nmodels: {models}\n"
    (project / "dbt_project.yml").write_text(text)
    written(project, {"stock__ct": STOCK}, keys=ID, history=["stock"], analysts_schema="analysts")
    assert (project / "dbt_project.yml").read_text() == text


def test_on_a_server_of_iceberg_the_project_gets_the_one_setting_that_it_needs(project: Path) -> None:
    given: dict[str, Any] = {"keys": ID, "catalog": "org.apache.iceberg.spark.SparkCatalog"}
    written(project, {"stock__ct": STOCK}, **given)
    text = (project / "dbt_project.yml").read_text()
    setting = "dispatch:\n  - {macro_namespace: dbt, search_order: [consumer, change_tables, dbt]}\n"
    assert text == f"name: consumer\nprofile: consumer\n{setting}"
    assert plan_of(project, {"stock__ct": STOCK}, **given).is_in_step
    # with a schema, too; an order that is there stays
    given |= {"analysts_schema": "analysts"}
    written(new_project(project / "other"), {"stock__ct": STOCK}, **given)
    said = yaml.safe_load((project / "other/dbt_project.yml").read_text())
    assert said["dispatch"] == yaml.safe_load(setting)["dispatch"]
    assert said["models"]["consumer"]["shop"]["current"]["+schema"] == "analysts"
    order = {"macro_namespace": "dbt", "search_order": ["consumer", "mine", "change_tables", "dbt"]}
    (project / "dbt_project.yml").write_text(yaml.safe_dump({"name": "consumer", "dispatch": [order]}))
    assert plan_of(project, {"stock__ct": STOCK}, **given).is_in_step
    # so does one of another package's macros
    order |= {"macro_namespace": "dbt_utils"}
    (project / "dbt_project.yml").write_text(f"name: consumer\ndispatch:\n  - {order}\n\nmodels: {{}}\n")
    written(project, {"stock__ct": STOCK}, **given)
    orders = yaml.safe_load((project / "dbt_project.yml").read_text())["dispatch"]
    assert orders == [order, *yaml.safe_load(setting)["dispatch"]]
    (project / "dbt_project.yml").write_text("name: consumer\ndispatch: {dbt: consumer}\n")
    with pytest.raises(ProjectError, match="dispatch must be a list of mappings"):
        plan_of(project, {"stock__ct": STOCK}, **given)


def test_a_source_that_is_there_is_not_moved(project: Path) -> None:
    written(project, {"stock__ct": STOCK}, keys=ID)
    text = (project / "dbt_project.yml").read_text()
    written(project, {"stock__ct": STOCK, "orders__ct": ORDERS}, history=["*"], analysts_schema="analysts")
    assert (project / "dbt_project.yml").read_text() == text


def test_comments_of_the_source_are_descriptions(project: Path) -> None:
    said = {
        "stock__ct": {"": "What is on\nthe shelves", "id": "of the change table", "pieces": "by {{ unit }}"},
        "stock": {"id": "the item: its number"},
    }
    written(project, {"stock__ct": STOCK, "stock": {"id": "int", "pieces": "int"}}, keys=ID, said=said)
    there = texts(project)
    (source,) = yaml.safe_load(there["shop/_shop__sources.yml"])["sources"]
    assert source["tables"][0]["description"] == "What is on the shelves"
    described = {column["name"]: column.get("description") for column in source["tables"][0]["columns"]}
    assert described["id"] == "the item: its number"
    assert described["pieces"] is None
    models = {
        model["name"]: model["description"] for model in yaml.safe_load(there["shop/_shop__models.yml"])["models"]
    }
    assert models["current_shop__stock"].endswith(" not in it. What is on the shelves")
    assert "shelves" not in models["dedup_shop__stock"]


def test_a_column_of_a_single_event_is_named_and_not_declared(project: Path) -> None:
    once = FoundColumn("nick", "bigint", "a guess from 1 value", is_seen_once=True)
    columns = [FoundColumn("id", "bigint"), FoundColumn("name", "string"), once]

    def found(*columns: FoundColumn) -> Found:
        settings = {"table_name": "usr", "schema_name": "x"}
        return Found([FoundTable("usr", "log", settings, columns, ("id",))])

    plan = plan_of_found(project, found(*columns), "idm_event_log")
    assert plan.notes == [
        "shop.usr: a single event is all that was seen of nick: not declared; run again when more have landed, or"
        " declare it with the source's type"
    ]
    assert declared(project, "usr")[1] == ["id", "name"]
    assert plan_of_found(project, found(*columns), "idm_event_log").is_in_step
    # more events have landed; a column that is declared stays, however few events have it
    plan = plan_of_found(project, found(*columns[:2], FoundColumn("nick", "string")), "idm_event_log")
    assert plan.changed == {"usr": ["column nick string is new"]}
    plan = plan_of_found(project, found(*columns), "idm_event_log")
    assert (plan.changed, [note for note in plan.notes if "event" in note]) == ({}, [])


# feeds whose entries share a raw table


def found_of(*names: str, **settings: Any) -> Found:
    columns = [FoundColumn("id", "bigint", "a guess"), FoundColumn("name", "string", meta={"multi_valued": True})]
    return Found([FoundTable(name, "trail", {"table_name": name, **settings}, columns, ("id",)) for name in names])


def plan_of_found(
    project: Path, found: Found, feed: str, tables: Mapping[str, Mapping[str, str]] | None = None
) -> Plan:
    lake = ChangeTables(tables or {table.identifier: {} for table in found.tables})
    plan = make_plan(Project(project), found, lake, Wish(feed, "shop", "raw", project / "models/shop"))
    plan.write()
    return plan


def test_entries_of_one_raw_table_have_a_model_of_unclaimed_rows(project: Path) -> None:
    plan_of_found(project, found_of("A", "B"), "goldengate_trail")
    unclaimed = texts(project)["shop/health/unclaimed_shop__trail.sql"]
    assert unclaimed == "{{ change_tables.unclaimed_rows('shop', [\n    'A',\n    'B',\n]) }}\n"
    sources = texts(project)["shop/_shop__sources.yml"]
    assert "          - {name: id, data_type: bigint} # a guess\n" in sources
    assert "          - {name: name, data_type: string, config: {meta: {multi_valued: true}}}\n" in sources
    before = texts(project)
    plan = plan_of_found(project, found_of("A", "B", "C"), "goldengate_trail")
    assert plan.new == ["C"]
    assert [line for line in changed_lines(before, texts(project)) if line.startswith("-")] == []
    assert "    'C',\n" in texts(project)["shop/health/unclaimed_shop__trail.sql"]
    assert plan_of_found(project, found_of("A", "B", "C"), "goldengate_trail").is_in_step
    assert plan_of_found(project, found_of("A", "C"), "goldengate_trail").gone == [
        Trouble("shop.B", "raw.trail has no rows of it: it was dropped or renamed at the source, or its rows are gone")
    ]


SHARED = """\
sources:
  - name: shop
    schema: raw
    tables:
      - name: {name}
        identifier: log
        config: {{meta: {{change_table: {{format: {format}, key: [id], {settings}}}}}}}
        columns:
          - {{name: id, data_type: bigint}}
"""
# the format, what of an entry chooses its rows, and the same of another
CHOICES = [
    ("goldengate_trail", {"table_name": "SHOP.ORDERS"}, {"table_name": "CRM.ORDERS"}),
    ("idm_event_log", {"table_name": "orders"}, {"table_name": "crm_orders"}),
    ("qlik_kafka", {"topic": "shop"}, {"topic": "crm"}),
    ("qlik_kafka", {"topic": "all", "table": "shop.orders"}, {"topic": "all", "table": "crm.orders"}),
    ("openedge_cdc", {"source_table_number": 7}, {"source_table_number": 8}),
]


def shared(name: str, settings: Mapping[str, Any], *columns: str) -> FoundTable:
    return FoundTable(name, "log", settings, [FoundColumn(column, "bigint") for column in ("id", *columns)], ("id",))


def in_a_file(project: Path, name: str, feed: str, settings: Mapping[str, Any]) -> None:
    said = ", ".join(f"{setting}: {value}" for setting, value in settings.items())
    (project / "models/shop.yml").write_text(SHARED.format(name=name, format=feed, settings=said))


@pytest.mark.parametrize(("feed", "settings", "others"), CHOICES)
def test_an_entry_of_another_name_is_that_of_the_table_whose_rows_it_chooses(
    project: Path, feed: str, settings: dict[str, Any], others: dict[str, Any]
) -> None:
    in_a_file(project, "shop_orders", feed, settings)
    found = Found([shared("orders", settings), shared("orders2", others)])
    plan = plan_of_found(project, found, feed)
    assert (plan.unchanged, plan.new, plan.gone, plan.troubles) == (["shop_orders"], ["orders2"], [], [])


@pytest.mark.parametrize(("feed", "settings", "others"), CHOICES)
def test_an_entry_of_the_same_name_that_chooses_other_rows_is_left_and_the_table_is_named_with_the_remedy(
    project: Path, feed: str, settings: dict[str, Any], others: dict[str, Any]
) -> None:
    in_a_file(project, "orders", feed, others)
    plan = plan_of_found(project, Found([shared("orders", settings, "new")]), feed)
    assert "name: new" not in texts(project)["shop.yml"]
    (trouble,) = plan.troubles
    assert trouble.place == ", ".join(["raw.log", *(f"{name} {value}" for name, value in settings.items())])
    assert f"{list(others)[-1]} {list(others.values())[-1]}" in trouble.text
    assert f"`{list(settings)[-1]}: {list(settings.values())[-1]}`; left out" in trouble.text
    # the remedy holds
    in_a_file(project, "mine", feed, settings)
    assert plan_of_found(project, Found([shared("orders", settings)]), feed).troubles == []


@pytest.mark.parametrize(("feed", "settings", "others"), CHOICES)
def test_two_tables_that_give_one_entry_are_both_named_with_the_remedy(
    project: Path, feed: str, settings: dict[str, Any], others: dict[str, Any]
) -> None:
    plan = plan_of_found(project, Found([shared("orders", settings), shared("orders", others)]), feed)
    (trouble,) = plan.troubles
    for given in (settings, others):
        assert f"{list(given)[-1]} {list(given.values())[-1]}" in f"{trouble.place} {trouble.text}"
    assert "write an entry of another name by hand, with `identifier: log`, " in trouble.text


def test_the_only_table_of_a_topic_is_not_that_of_an_entry_of_another_table(project: Path) -> None:
    in_a_file(project, "stock", "qlik_kafka", {"topic": "all", "table": "shop.stock"})
    columns = [FoundColumn("id", "bigint")]
    table = FoundTable("orders", "log", {"topic": "all"}, columns, ("id",), chosen={"table": "shop.orders"})
    assert plan_of_found(project, Found([table]), "qlik_kafka").new == ["orders"]


def test_troubles_of_tables_that_are_not_asked_for_are_left_out(project: Path) -> None:
    schema = SCHEMA | {"stock__ct": LakeError("no file")}
    assert plan_of(project, schema, include=["orders"]).troubles == []
    for asked in ("stock", "stock__ct", "*"):
        assert plan_of(project, schema, include=[asked]).troubles == [Trouble("raw.stock__ct", "no file; left out")]
    of_all = Found(found_of("A").tables, troubles=[Trouble("raw.trail", "no file")])
    wish = Wish("goldengate_trail", "shop", "raw", project / "models/shop", include=["A"])
    assert make_plan(Project(project), of_all, ChangeTables({"trail": {}}), wish).troubles == of_all.troubles


def test_one_table_of_a_topic_takes_all_its_messages_until_there_are_two(project: Path) -> None:
    one = [FoundTable("a", "topic", {}, [FoundColumn("id", "int")], ("id",))]
    plan_of_found(project, Found(one), "qlik_kafka")
    assert not [path for path in texts(project) if "unclaimed" in path]
    two = [*one, FoundTable("b", "topic", {"table": "b"}, [FoundColumn("id", "int")], ("id",))]
    plan_of_found(project, Found(two), "qlik_kafka")
    assert "    'a',\n    'b',\n" in texts(project)["shop/health/unclaimed_shop__topic.sql"]


def test_a_guess_only_widens(project: Path) -> None:
    def table(data_type: str, *further: FoundColumn) -> Found:
        return Found([FoundTable("a", "trail", {}, [FoundColumn("id", data_type, "a guess"), *further], ("id",))])

    plan_of_found(project, table("int", FoundColumn("x", "int")), "goldengate_trail")
    assert plan_of_found(project, table("smallint"), "goldengate_trail").is_in_step
    assert plan_of_found(project, table("bigint"), "goldengate_trail").changed == {
        "a": ["column id is bigint, was int"]
    }


def test_entries_of_openedge_share_what_the_tracking_table_has(project: Path) -> None:
    columns = [FoundColumn("id", "int")]
    tables = [
        FoundTable("a", "cdc_a", {"tracking": "log", "key_from": "recid"}, columns, reads=("log",)),
        FoundTable("b", "cdc_b", {"tracking": "log"}, columns, ("id",), ("log",)),
    ]
    plan = plan_of_found(
        project,
        Found(tables, [FurtherEntry("log", "tracking")]),
        "openedge_cdc",
        {"cdc_a": {}, "cdc_b": {}, "tracking": {}},
    )
    assert "shop/health/unclaimed_shop__tracking.sql" in texts(project)
    entries = {
        entry["name"]: entry
        for entry in yaml.safe_load(texts(project)["shop/_shop__sources.yml"])["sources"][0]["tables"]
    }
    assert list(entries) == ["a", "log", "b"]
    assert "key" not in entries["a"]["config"]["meta"]["change_table"]
    assert "{key: [_partition_id, _recid]}" in texts(project)["shop/_shop__models.yml"]
    assert plan.without_key == []


def test_a_tracking_table_can_have_changes_of_its_own_beside_change_tables(project: Path) -> None:
    columns = [FoundColumn("id", "int")]
    tables = [
        FoundTable("a", "cdc_a", {"tracking": "log"}, columns, ("id",), ("log",)),
        FoundTable("b", "tracking", {"key_from": "recid", "policy_level": 0}, [], ()),
    ]
    lake: dict[str, dict[str, str]] = {"cdc_a": {}, "tracking": {}}
    plan = plan_of_found(project, Found(tables, [FurtherEntry("log", "tracking")]), "openedge_cdc", lake)
    assert plan.new == ["a", "b"]
    assert "    'a',\n    'b',\n" in texts(project)["shop/health/unclaimed_shop__tracking.sql"]


# projects that cannot be read


@pytest.mark.parametrize(
    ("files", "folder", "said"),
    [
        ({}, "elsewhere", r"elsewhere: must be in a folder of the project's models, which are in .*models$"),
        (
            {"models/a.yml": "sources:\n  - name: shop\n    schema: other\n"},
            "models/shop",
            r"must have the schema that is read, raw, has other",
        ),
        (
            {"models/a.yml": "sources:\n  - name: shop\n", "models/b.yml": "sources:\n- name: 'shop'\n"},
            "models/shop",
            r"source 'shop' is in \S+a.yml and \S+b.yml: it must be in one file",
        ),
        ({"models/a.yml": "sources:\n  - name: shop\n - x"}, "models/shop", r"a.yml, line 3: "),
        ({"models/shop/_shop__models.yml": "- x"}, "models/shop", r"_shop__models.yml: must be a mapping"),
        *(
            ({"models/shop/_shop__models.yml": f"models: {models}"}, "models/shop", said)
            for models, said in (
                ("{a: 1}", r"_shop__models.yml: models: must be a list$"),
                ("[a]", r"models, item 1: must be a mapping with a name, got a$"),
                ("[{description: a}]", r"models, item 1: must be a mapping with a name, got \{'description': 'a'\}$"),
                ("[{name: a, data_tests: unique}]", r"model a, data_tests: must be a list$"),
                ("[{name: a, data_tests: [{unique: [b]}]}]", r"model a, data_tests, unique: must be a mapping, got"),
            )
        ),
        *(
            (
                {"models/a.yml": f"sources:\n  - name: shop\n    schema: raw\n    tables: {tables}\n"},
                "models/shop",
                said,
            )
            for tables, said in (
                ("[orders]", r"a.yml: source 'shop', tables, item 1: must be a mapping with a name, got orders$"),
                ("[{identifier: x}]", r"tables, item 1: must be a mapping with a name, got \{'identifier': 'x'\}$"),
                ("{a: 1}", r"a.yml: source 'shop', tables: must be a list$"),
                ("[{name: x, columns: [id]}]", r"table x, columns, item 1: must be a mapping with a name, got id$"),
                ("[{name: x, columns: [{type: y}]}]", r"table x, columns, item 1: must be a mapping with a name"),
                ("[{name: x, config: [y]}]", r"table x, config: must be a mapping, got \['y'\]$"),
                ("[{name: x, config: {meta: y}}]", r"table x, config, meta: must be a mapping, got y$"),
                (
                    "[{name: x, columns: &c [{name: id}]}, {name: y, columns: *c}]",
                    r"table y, columns: is that of source 'shop', table x, by an anchor: write it out",
                ),
                (
                    "[{name: x, columns: [&c {name: id}]}, {name: y, columns: [*c]}]",
                    r"table y, column id: is that of source 'shop', table x, by an anchor: write it out",
                ),
            )
        ),
        ({"models/a.yml": "sources: {name: shop}\n"}, "models/shop", r"a.yml: sources must be a list$"),
        ({"dbt_project.yml": "- x"}, "models/shop", r"dbt_project.yml: must be a mapping$"),
        ({"dbt_project.yml": "model-paths: null"}, "models/shop", r"model-paths must be a list of folders, got None$"),
        ({"dbt_project.yml": "model-paths: [1]"}, "models/shop", r"model-paths must be a list of folders, got \[1\]$"),
        ({"dbt_project.yml": "a: [b"}, "models/shop", r"dbt_project.yml: cannot be read: "),
        ({"dbt_project.yml": None}, "models/shop", r"must be the folder of a dbt project, has no dbt_project.yml"),
    ],
)
def test_a_project_that_cannot_be_read_is_named_with_the_reason(
    project: Path, files: Mapping[str, str | None], folder: str, said: str
) -> None:
    for name, text in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
    with pytest.raises((ProjectError, YamlFileError), match=said) as raised:
        plan_of(project, SCHEMA, folder=project / folder)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "sources:\n  - {name: shop, schema: raw, tables: []}\n",
        "\ufeffsources:\n  - name: shop\n    schema: raw\n",
        "'sources':\n  - schema: raw\n    'name': shop\n",
    ],
)
def test_a_source_is_found_in_whatever_form_it_is_written(project: Path, text: str) -> None:
    (project / "models/any.yml").write_text(text, encoding="utf-8")
    written(project, {"stock__ct": STOCK}, keys=ID)
    assert "shop/_shop__sources.yml" not in texts(project)
    assert "stock__ct" in texts(project)["any.yml"]


def test_a_file_keeps_its_line_ends_and_one_of_comments_keeps_them(project: Path) -> None:
    sources, described = project / "models/any.yml", project / "models/_shop__models.yml"
    sources.write_bytes(b"# ours\r\nsources:\r\n  - name: shop\r\n    schema: raw\r\n")
    described.write_text("# what the models are\n")
    written(project, {"stock__ct": STOCK}, keys=ID)
    assert sources.read_bytes().startswith(b"# ours\r\nsources:\r\n")
    assert sources.read_bytes().count(b"\r\n") == sources.read_bytes().count(b"\n") > 10
    assert described.read_text().startswith("# what the models are\n\nversion: 2\n")
    assert plan_of(project, {"stock__ct": STOCK}, keys=ID).is_in_step


def test_files_that_cannot_be_read_are_named_and_folders_are_none(project: Path) -> None:
    (project / "models/folder.yml").mkdir()
    assert plan_of(project, SCHEMA, keys=ID).troubles == []
    bad = project / "models/bad.yml"
    bad.write_bytes(b"\xff")
    with pytest.raises(ProjectError, match=r"bad.yml: cannot be read: 'utf-8' codec"):
        Project(project)
    bad.unlink()
    bad.symlink_to(project / "nowhere")
    with pytest.raises(ProjectError, match=r"bad.yml: cannot be read: .*No such file"):
        Project(project)


def test_names_that_no_table_has_are_named(project: Path) -> None:
    keys = Keys([Rule("ordrs", ["id"]), Rule("*", ["id"])], {"orders": ["id"], "stok": ["id"]}, "keys.csv")
    plan = plan_of(project, SCHEMA, keys=keys, include=["stock", "nothing*"], history=["histry", "stock"])
    assert plan.notes == [
        "--include: no table is named nothing*",
        "--history: no table is named histry",
        "--key: no table is named ordrs",
        "keys.csv: no table is named stok",
        COMPARES_ALL,
    ]


def test_keys_and_histories_take_names_of_raw_tables(project: Path) -> None:
    plan = written(project, SCHEMA, keys=Keys([Rule("STOCK__CT", ["id"])]), history=["stock__ct"])
    assert (plan.without_key, plan.notes) == (["orders"], [COMPARES_ALL])
    assert "shop/history/history_shop__stock.sql" in texts(project)


@pytest.mark.parametrize("source", ["", " ", "{{ x }}"])
def test_a_source_must_have_a_name(project: Path, source: str) -> None:
    with pytest.raises(ProjectError, match="--source must be a name without Jinja, got"):
        plan_of(project, SCHEMA, source=source)


def test_nothing_is_written_outside_of_the_models(project: Path) -> None:
    with pytest.raises(ProjectError, match="must be in a folder of the project's models"):
        plan_of(project, SCHEMA, folder=project / "models/../../x")
