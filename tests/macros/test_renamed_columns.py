"""Columns that had other names: under which of them raw rows are read, and how tables and checkpoints follow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .rendering import Lake, Run
from .shapes import SCHEMA, Shape, Shapes

BEFORE = {"it's": "it was", "amount": "sum"}
"""What columns of `renamed` were when its models were built: the key began as `its`."""
UNRENAMED = {
    "_key_before": "struct<order:bigint,it was:string>", "order": "bigint", "it was": "string",
    "name with spaces": "string", "sum": "decimal(12,2)",
}  # fmt: skip
LOG, HISTORY = "dedup_feed__renamed", "history_feed__renamed"


def _before(checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """A checkpoint as it is under the names of before."""
    columns = {BEFORE.get(name, name): type_ for name, type_ in checkpoint["columns"].items()}
    return dict(checkpoint) | {"key": [BEFORE.get(name, name) for name in checkpoint["key"]], "columns": columns}


def _built_before(shapes: Shapes, model: str, held: Mapping[str, str], **told: Any) -> Lake:
    """What a run finds whose model was built under the names of before."""
    built = {name: shapes.first_checkpoint(name) | told for name in {LOG, model}}
    built[model] = _before(built[model])
    lake = shapes.lake(Shape(model, built))
    answers = {"^alter table": [{"done": 0}], "^update ": [{"rows": 1}], **lake.answers}
    return replace(lake, columns={**lake.columns, f"{SCHEMA}.{model}__state": held}, answers=answers)


def _follows(run: Run) -> list[str]:
    """What a run sends that renames, and by how much the checkpoint differs then."""
    return [statement for statement in run.sent if statement.startswith(("alter table", "update "))]


def _is_renamed_first(run: Run, view: str) -> bool:
    last = max(place for place, statement in enumerate(run.sent) if statement.startswith("update "))
    shown = min(
        place for place, statement in enumerate(run.sent) if statement.startswith(f"create or replace view {view}")
    )
    batches = [place for place, statement in enumerate(run.sent) if "__batch_" in statement]
    return last < shown < min([*batches, len(run.sent)])


RENAMES = [
    "rename column _key_before.`it was` to `it's`",
    "rename column `it was` to `it's`",
    "rename column sum to amount",
]
# what the run before has done of it, when it died -> what is left
KILLED: Sequence[tuple[Mapping[str, str], list[str]]] = [
    (UNRENAMED, RENAMES),
    (UNRENAMED | {"_key_before": "struct<order:bigint,it's:string>"}, RENAMES[1:]),
    ({"_key_before": "struct<order:bigint,it's:string>", "it's": "string", "amount": "decimal(12,2)"}, []),
]


@pytest.mark.parametrize(("held", "left"), KILLED)
def test_the_first_run_that_sees_a_new_name_renames_the_column_of_a_log_and_reads_on(
    shapes: Shapes, held: Mapping[str, str], left: list[str]
) -> None:
    run = shapes.project.run(LOG, _built_before(shapes, LOG, held))
    assert run.run["kind"] == "since"
    *renames, update = _follows(run)
    assert renames == [f"alter table {SCHEMA}.{LOG}__state {rename}" for rename in left]
    names = "map('it was', 'it\\'s', 'sum', 'amount')"
    for column in ("_present_columns", "_changed_columns"):
        assert f"{column} = transform({column}, name -> coalesce({names}[name], name))" in update
        assert f"or arrays_overlap({column}, array('it was', 'sum'))" in update
    checkpoint = run.run["checkpoint_before"]
    assert checkpoint["columns"] == shapes.first_checkpoint(LOG)["columns"]
    assert list(checkpoint["columns"]) == ["order", "it's", "name with spaces", "amount"]
    assert json.dumps(checkpoint).replace("\\", "\\\\").replace("'", "\\'") in update
    assert _is_renamed_first(run, f"{SCHEMA}.{LOG}")
    assert run.checkpoint["first_names"] == ["order", "its"]
    assert f"{SCHEMA}.{LOG}: renamed in its table: it was to it's, sum to amount" in shapes.project.said


def test_a_log_whose_column_is_renamed_and_another_one_added_is_shown_when_its_table_has_both(shapes: Shapes) -> None:
    lake = _built_before(shapes, LOG, {name: type_ for name, type_ in UNRENAMED.items() if name != "name with spaces"})
    (built,) = lake.checkpoints[f"{SCHEMA}.{LOG}__state"]
    columns = {name: type_ for name, type_ in built["columns"].items() if name != "name with spaces"}
    found = {f"{SCHEMA}.{LOG}__state": [{**built, "columns": columns}]}
    run = shapes.project.run(LOG, replace(lake, checkpoints={**lake.checkpoints, **found}))
    changes = [statement for statement in run.sent if statement.startswith(("alter table", "create or replace view"))]
    *renames, add, show = [statement.splitlines()[0] for statement in changes if "__reports" not in statement]
    assert renames == [f"alter table {SCHEMA}.{LOG}__state {rename}" for rename in RENAMES]
    assert add.startswith(f"alter table {SCHEMA}.{LOG}__state add column")
    assert show == f"create or replace view {SCHEMA}.{LOG}"


def test_a_checkpoint_under_names_of_before_is_that_of_today(shapes: Shapes) -> None:
    call = shapes.project.macros("dedup_feed__renamed")
    spec = call("table_spec", "feed", "renamed")
    log = shapes.first_checkpoint(LOG) | {"added": {"sum": 2, "order": 1}, "absent": {"it was": 3}}
    before = _before(log) | {"first_names": ["order", "it was"]}
    after = call("renamed_checkpoint", call("renaming", spec, before), before)
    versions = {"added": {"amount": 2, "order": 1}, "absent": {"it's": 3}, "schema_version": 1}
    renamed = {"renamed": {"it's": 1, "amount": 1}, "first_names": ["order", "it was"]}
    assert after == log | versions | renamed
    again = call("renamed_checkpoint", {"names": {"amount": "total"}}, after)
    assert (again["schema_version"], again["renamed"]) == (2, {"it's": 1, "total": 2})
    state = _before(shapes.first_checkpoint(HISTORY))
    assert call("renamed_checkpoint", call("renaming", spec, state), state) == shapes.first_checkpoint(HISTORY)
    known = before | {"first_names": ["order", "its"]}
    assert call("renamed_checkpoint", call("renaming", spec, known), known)["first_names"] == ["order", "its"]


def test_a_state_is_renamed_also_where_its_log_has_nothing_new_and_keeps_its_rows(shapes: Shapes) -> None:
    held = {name: type_ for name, type_ in UNRENAMED.items() if name != "_key_before"}
    run = shapes.project.run(HISTORY, _built_before(shapes, HISTORY, held))
    assert run.run["kind"] == "nothing new"
    *renames, update = _follows(run)
    assert renames == [f"alter table {SCHEMA}.{HISTORY}__state {rename}" for rename in RENAMES[1:]]
    assert update.startswith(f"update {SCHEMA}.{HISTORY}__state set _checkpoint = if(_checkpoint = '")
    assert update.count(" = ") == 3, "a state has no names but those in its checkpoint"
    assert not any(statement.startswith(("merge", "insert", "create or replace table")) for statement in run.sent)


def test_a_state_waits_for_its_log(shapes: Shapes) -> None:
    lake = _built_before(shapes, HISTORY, UNRENAMED)
    log = f"{SCHEMA}.{LOG}__state"
    behind = replace(lake, checkpoints={**lake.checkpoints, log: [_before(lake.checkpoints[log][0])]})
    with pytest.raises(CompilationError, match="has changed since the log that the model follows was built"):
        shapes.project.run(HISTORY, behind)


def test_a_run_after_that_renames_nothing_and_asks_no_more_than_others(shapes: Shapes) -> None:
    model = "dedup_feed__renamed_messages"
    run = shapes.run(Shape(model, {model: {}}))
    other = shapes.run(Shape("dedup_feed__kafka_avro", {"dedup_feed__kafka_avro": {}}))
    assert _follows(run) == []
    assert len(run.sent) == len(other.sent)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        # the table has the column and that of before: which of them counts, no run can say
        (
            {"columns": {"order": "bigint", "it's": "string", "it was": "string", "sum": "string", "amount": "string"}},
            "column 'it was' has another name by `renamed_from`, and the table has a column of that name, too",
        ),
        (
            {"first_names": ["order", "it was"]},
            "the first names of the key columns, which are in the identity of each change, are order, its by"
            " `renamed_from`, were order, it was",
        ),
    ],
)
def test_what_cannot_be_renamed_is_refused(shapes: Shapes, told: dict[str, Any], said: str) -> None:
    with pytest.raises(CompilationError, match="has changed since the model was built") as refused:
        shapes.run(Shape(LOG, {LOG: told}))
    assert said in str(refused.value)


# ---- raw rows

# what lands -> the column `amount`, which was `sum`: how it is read, and its type
LANDED: Sequence[tuple[Mapping[str, str], str | None, str | None]] = [
    ({}, None, None),
    ({"amount": "int"}, None, "int"),
    ({"Amount": "int"}, None, "int"),
    ({"sum": "int"}, "sum", "int"),
    ({"Sum": "int"}, "Sum", "int"),
    ({"sum": "int", "amount": "int"}, "coalesce(amount, sum)", "int"),
    ({"sum": "int", "amount": "bigint"}, "coalesce(amount, cast(sum as bigint))", "bigint"),
    ({"sum": "bigint", "amount": "smallint"}, "coalesce(cast(amount as bigint), sum)", "bigint"),
    ({"sum": "varchar(9)", "amount": "string"}, "coalesce(amount, cast(sum as string))", "string"),
    ({"sum": "void", "amount": "date"}, "coalesce(amount, cast(sum as date))", "date"),
    ({"sum": "date", "amount": "void"}, "coalesce(cast(amount as date), sum)", "date"),
]


@pytest.mark.parametrize(("landed", "value", "data_type"), LANDED)
def test_a_raw_table_has_a_renamed_column_under_each_name_that_it_had(
    shapes: Shapes, landed: Mapping[str, str], value: str | None, data_type: str | None
) -> None:
    call = shapes.project.macros("stg_feed__renamed")
    spec = call("table_spec", "feed", "renamed")
    raw = {"id": "int", **landed, "more": "int"}
    columns = {name.lower(): {"name": name, "data_type": type_} for name, type_ in raw.items()}
    found = call("under_names_of_today", spec, columns)
    assert list(found) == ["id", *(["amount"] if landed else []), "more"]
    assert found.get("amount", {}).get("value") == value
    assert found.get("amount", {}).get("data_type") == data_type
    has_two = "size(array_distinct(array_compact(" in call("two_values", found.get("amount", {}), "amount")
    assert has_two == (len(landed) == 2)


def test_names_that_land_in_types_of_which_none_holds_the_other_are_refused(shapes: Shapes) -> None:
    call = shapes.project.macros("stg_feed__renamed")
    found = [{"name": "amount", "data_type": "int"}, {"name": "sum", "data_type": "date"}]
    with pytest.raises(CompilationError, match="got amount as int and sum as date; let the entry read a view"):
        call("one_landed", call("table_spec", "feed", "renamed"), found)


def test_what_was_logged_before_a_rename_may_lack_the_column_and_is_no_conflict_then(shapes: Shapes) -> None:
    run = shapes.project.run(LOG, _built_before(shapes, LOG, UNRENAMED))
    assert run.checkpoint["schema_version"] == 1
    assert run.checkpoint["renamed"] == {"it's": 1, "amount": 1}
    reduced = next(statement for statement in run.sent if "l using parquet" in statement[:150])
    for name in ("amount", "`it's`"):
        assert f"if(_ct_logged['_schema_version'] < 1, null, {name})" in reduced
    assert "if(_ct_logged['_schema_version'] < 1, null, `name with spaces`)" not in reduced
    # what has a value in all of them was read by their names, and is no older
    values = "logged.amount is not null and logged.`it's` is not null"
    version = f"if(logged._schema_version = 0 and {values}, 1, logged._schema_version) as _schema_version"
    swapped = version.replace(values, " and ".join(reversed(values.split(" and "))))
    assert version in reduced or swapped in reduced


def test_the_identity_of_a_change_has_the_first_names_of_a_key(shapes: Shapes) -> None:
    call = shapes.project.macros("stg_feed__renamed")
    spec = call("table_spec", "feed", "renamed")
    assert call("key_text", spec).startswith("to_json(struct(`order`, `it's` as its), ")
    assert call("key_text", spec | {"key": ["amount"]}) == "cast(amount as string)"
    assert call("content_text", spec).startswith(
        "to_json(struct(`order`, `it's` as its, `name with spaces`, amount as sum), "
    )


def test_what_stands_beside_a_value_in_a_row_has_its_new_name_too(shapes: Shapes) -> None:
    call = shapes.project.macros("stg_feed__renamed_messages")
    spec = call("table_spec", "feed", "renamed_messages") | {"renamed": {"amount": ["sum"]}}
    row = call("names_as_matched", spec, "message", ["{name}_isMissing"])
    assert "map('amount', coalesce(fields['amount'], fields['sum']))" in row
    assert "map('amount_isMissing', coalesce(fields['amount_isMissing'], fields['sum_isMissing']))" in row
    assert "name not in ('amount', 'sum', 'amount_isMissing', 'sum_isMissing')" in row
    cased = spec | {"settings": spec["settings"] | {"column_names": "ignore_case"}, "renamed": {"amount": ["Sum"]}}
    assert "map('amount', coalesce(fields['amount'], fields['sum']))" in call("names_as_matched", cased, "message")
    assert "'sum', 'amount'" in call("names_as_declared", cased, "names")
