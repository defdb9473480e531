"""A table is taken out of a project, and all else stays letter by letter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from change_tables.cli.main import main
from change_tables.generator.project_files import Project, ProjectError
from change_tables.generator.removal import plan_removal, without_listed

SOURCES = """\
version: 2

sources:
  # the shop of the south
  - name: shop
    schema: raw   # as landed
    tables:
      # the oldest table
      - name: orders
        identifier: orders__ct
        config:
          meta:
            change_table:
              format: qlik_change_tables
              key: [id]   # never changes
              snapshot: orders_full
        columns:
          - {name: id, data_type: bigint}
          # landed as text
          - {name: "on",   data_type: string}

      # stock follows
      - name: stock
        identifier: stock__ct
        config: {meta: {change_table: {format: qlik_change_tables, key: [id]}}}
        columns:
        - {name: id, data_type: int}
      - name: orders_full
        identifier: orders
  - name: other
    tables:
      - name: lone
"""
MODELS = """\
version: 2

models:
  - name: dedup_shop__orders
    description: One row per change.
    data_tests:
      - change_tables.raw_rows_accounted_for

  # as a person wrote it
  - name: dedup_shop__stock
    description: >
      One row per change
      of stock.
"""
CALLS = {
    "stg": "staged_changes('shop', '{}')",
    "dedup": "deduplicated_changes(ref('stg_shop__{}'))",
    "current": "current_state(ref('dedup_shop__{}'))",
    "history": "history(ref('dedup_shop__{}'))",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of two tables, with comments and a list."""
    models = tmp_path / "models"
    (models / "health").mkdir(parents=True)
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    (models / "_shop__sources.yml").write_text(SOURCES)
    (models / "_shop__models.yml").write_text(MODELS)
    for name in ("orders", "stock"):
        for kind, call in CALLS.items():
            if (kind, name) != ("history", "stock"):
                (models / f"{kind}_shop__{name}.sql").write_text(f"{{{{ change_tables.{call.format(name)} }}}}\n")
    (models / "health/rejected_changes.sql").write_text(
        "{{ change_tables.rejected_changes([\n"
        "    ref('dedup_shop__orders'),\n    ref('dedup_shop__stock'),  {# one #}\n]) }}\n"
    )
    (models / "health/unclaimed.sql").write_text("{{ change_tables.unclaimed_rows('shop', ['stock', 'orders']) }}\n")
    return tmp_path


def removed(project: Path, table: str) -> None:
    """Take a table out, as the command does after it has dropped relations."""
    for path, text in plan_removal(Project(project), table).files.items():
        path.unlink() if text is None else path.write_text(text)


def texts(project: Path) -> dict[str, str]:
    """The files of the project by name."""
    return {path.name: path.read_text() for path in project.rglob("*") if path.is_file()}


def lines_without(text: str, first: str, last: str) -> str:
    """A text without these lines and those between, which begin and end so."""
    found = re.search(rf"^ *{re.escape(first)}.*?{re.escape(last)}\n", text, re.MULTILINE | re.DOTALL)
    assert found
    return text.replace(found[0], "")


def test_a_model_goes_with_its_last_table_and_not_for_another_list_that_is_empty(project: Path) -> None:
    listing = project / "models/health/rejected_changes.sql"
    listing.write_text("{% set others = [] %}\n" + listing.read_text())
    removed(project, "orders")
    assert listing.read_text().startswith("{% set others = [] %}\n")
    assert "ref('dedup_shop__stock')" in listing.read_text()
    removed(project, "stock")
    assert not listing.exists()


def test_what_is_about_the_table_goes_and_the_rest_stays_letter_by_letter(project: Path) -> None:
    before = texts(project)
    removed(project, "ORDERS")
    after = texts(project)
    assert before.keys() - after.keys() == {f"{kind}_shop__orders.sql" for kind in CALLS}
    sources = lines_without(SOURCES, "- name: orders\n", '{name: "on",   data_type: string}')
    assert after["_shop__sources.yml"] == sources
    assert "# the oldest table\n\n      # stock follows\n" in sources
    assert after["_shop__models.yml"] == lines_without(
        MODELS, "- name: dedup_shop__orders", "raw_rows_accounted_for\n"
    ).replace("models:\n\n", "models:\n")
    listed = "{{ change_tables.rejected_changes([\n    ref('dedup_shop__stock'),  {# one #}\n]) }}\n"
    assert after["rejected_changes.sql"] == listed
    assert after["unclaimed.sql"] == "{{ change_tables.unclaimed_rows('shop', ['stock']) }}\n"
    for name in ("stg_shop__stock.sql", "dbt_project.yml"):
        assert after[name] == before[name]


def test_the_last_table_leaves_empty_lists_and_takes_the_models_that_list_tables_with_it(project: Path) -> None:
    (project / "models/health/rejected_changes.sql").write_text(
        "{{ change_tables.rejected_changes([ref('dedup_shop__orders'), ref(\"dedup_shop__stock\")]) }}\n"
    )
    removed(project, "orders")
    assert (
        texts(project)["rejected_changes.sql"] == '{{ change_tables.rejected_changes([ref("dedup_shop__stock")]) }}\n'
    )
    removed(project, "stock")
    removed(project, "orders_full")
    removed(project, "lone")
    after = texts(project)
    assert set(after) == {"dbt_project.yml", "_shop__sources.yml", "_shop__models.yml"}
    assert after["_shop__models.yml"].startswith("version: 2\n\nmodels: []\n")
    assert after["_shop__sources.yml"].count("    tables: []\n") == 2


def test_dbt_can_read_the_project_after_each_file(project: Path) -> None:
    for path, text in plan_removal(Project(project), "orders").files.items():
        path.unlink() if text is None else path.write_text(text)
        found = Project(project)
        entries = found.property_files("sources")[0].read_text()
        for name, model in found.models.items():
            refs = re.findall(r"ref\('(\w+)'\)", model.read_text())
            assert set(refs) <= set(found.models), f"{path}, then {name}"
            for entry in re.findall(r"staged_changes\('shop', '(\w+)'\)", model.read_text()):
                assert f"- name: {entry}\n" in entries


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("mart.sql", "select * from {{ ref('current_shop__orders') }}", "mart.sql: reads current_shop__orders: change"),
        ("mart.sql", "select * from {{ source('shop', 'orders') }}", "mart.sql: reads orders: change or remove it"),
        ("stg_shop__orders.sql", "select 1", "calls no staged_changes(…): it is another model, remove it by hand"),
        ("two.yml", "sources:\n- name: also\n  tables:\n  - name: orders\n", "must be one entry of a source, is in"),
        (
            "_shop__sources.yml",
            "sources: [{name: shop, tables: [{name: orders}]}]\n",
            "'orders' cannot be taken out of sources line by line: take it out by hand",
        ),
        (
            "_shop__sources.yml",
            SOURCES.replace("key: [id]}", "key: [id], snapshot: orders}"),
            "'shop.orders' is read by stock: remove these before",
        ),
        ("_shop__sources.yml", "sources: []\n", "'orders' must be an entry of a source, no sources file has it"),
    ],
)
def test_what_something_else_needs_is_not_removed(project: Path, file: str, text: str, said: str) -> None:
    (project / "models" / file).write_text(text)
    before = texts(project)
    with pytest.raises(ProjectError, match=re.escape(said)):
        plan_removal(Project(project), "orders")
    assert texts(project) == before


def test_an_entry_that_the_table_alone_has_read_is_named(project: Path) -> None:
    assert plan_removal(Project(project), "orders").notes == [
        "shop.orders_full is read by no entry any more: its entry is left"
    ]


def test_a_dry_run_of_an_entry_without_models_says_what_would_change(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = texts(project)
    assert main(["remove", "lone", "--dry-run", "--project-dir", str(project)]) == 0
    assert capsys.readouterr().out == f"{project / 'models/_shop__sources.yml'}: would be changed\n"
    assert main(["remove", "none", "--project-dir", str(project)]) == 1
    assert capsys.readouterr().err == (
        "change_tables: remove: 'none' must be an entry of a source, no sources file has it\n"
    )
    assert texts(project) == before


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("f(a)", "f(a)"),
        ("f([b])", "f([b])"),
        ("f([a])", "f([])"),
        ("f([a, b])", "f([b])"),
        ("f([b, a])", "f([b])"),
        ("f([b, a,])", "f([b, ])"),
        ("f([ba, a])", "f([ba])"),
        ("f([b], a)", "f([b], a)"),
        ("{# [a] #}f([b,\n  a\n])", "{# [a] #}f([b,\n])"),
    ],
)
def test_an_item_is_taken_out_of_a_list_alone(text: str, left: str) -> None:
    assert without_listed(text, "a") == left
