"""Which views a run makes again, which checkpoints it believes, and what a run without news sends."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from dbt.adapters.spark.relation import SparkRelation
from dbt_common.exceptions import CompilationError

from .rendering import NOT_ASKED, Answers, Lake, Run, SparkWithoutRows
from .shapes import ANSWERS, FIRST_BATCH, FOUND_BEFORE, LOOK, SCHEMA, SHAPES, Shape, Shapes

LOG = "dedup_feed__qlik"
LATER = "20260131T110000000000_00000009"
NONE_LANDED: Answers = {LOOK: [dict.fromkeys(ANSWERS[LOOK][0]) | {"_ct_all": 9}]}
NOTHING_NEW: Answers = {LOOK: [{**FOUND_BEFORE[LOOK][0], "_ct_is_same": True}]}
"""What has landed is what the run before has found: see ANSWERS."""

FINDS_NOTHING: Answers = {
    **NOTHING_NEW,
    "as changes,": [{**ANSWERS["as changes,"][0], "changes": 0, "lowest_seq": None, "highest_seq": None}],
}

MADE = re.compile(r"create or replace view (\S+).*?\ntblproperties \(([^)]*)\)\nas\n", re.DOTALL)
ALTERED = re.compile(r"alter view (\S+) set tblproperties \(([^)]*)\)")
PROPERTY = re.compile(r"'([^']+)' = '([^']*)'")


def views_left_by(run: Run) -> dict[str, str]:
    """The views that a run leaves, as Spark lists them with their properties."""
    shown: dict[str, dict[str, str]] = {}
    for sql in run.sent:
        for made in (MADE, ALTERED):
            for view, properties in made.findall(sql):
                shown.setdefault(view, {}).update(PROPERTY.findall(properties))
    return {
        view: f"Type: VIEW\nTable Properties: [{', '.join(f'{name}={text}' for name, text in properties.items())}]\n"
        for view, properties in shown.items()
    }


def _asked(run: Run) -> list[str]:
    return [sql for sql in run.sent if not any(re.search(asked, sql) for asked in NOT_ASKED)]


def _again(shapes: Shapes, shape: Shape, views: dict[str, str], **given: Any) -> Run:
    """The run of a shape that finds these views."""
    lake = replace(shapes.lake(shape), views=views)
    return shapes.project.run(shape.model, lake, **given)


def _after_first(shapes: Shapes, *models: str) -> dict[str, str]:
    """The views that first runs of models leave."""
    shown: dict[str, str] = {}
    checkpoints = {model: dict[str, Any]() for model in models if model.startswith("dedup_")}
    for model in models:
        found = {} if model.startswith("dedup_") else checkpoints
        shown |= views_left_by(shapes.run(Shape(model, found, FOUND_BEFORE), run=1))
    return shown


def test_a_log_with_nothing_new_sends_the_look_alone(shapes: Shapes) -> None:
    run = _again(shapes, Shape(LOG, {LOG: {}}, NOTHING_NEW), _after_first(shapes, LOG))
    (look,) = _asked(run)
    assert LOOK in look


def test_a_log_of_positions_with_nothing_new_sends_the_look_alone(shapes: Shapes) -> None:
    log = "dedup_feed__kafka"
    (look,) = _asked(_again(shapes, Shape(log, {log: {}}, NONE_LANDED), _after_first(shapes, log)))
    assert LOOK in look


@pytest.mark.parametrize(("command", "has_steps"), [("compile", True), ("build", False)])
def test_dbt_compile_shows_the_steps_of_a_log_with_nothing_new(shapes: Shapes, command: str, has_steps: bool) -> None:
    lake = replace(shapes.lake(Shape(LOG, {LOG: {}}, NOTHING_NEW)), views=_after_first(shapes, LOG))
    run = shapes.project.render(LOG, lake, flags={"WHICH": command})
    assert ("reduced_deliveries as (" in run.rendered) == has_steps


@pytest.mark.parametrize("model", ["current_feed__full", "history_feed__full", "current_feed__partial"])
def test_a_state_with_nothing_new_sends_nothing(shapes: Shapes, model: str) -> None:
    log = model.replace(model.split("_")[0], "dedup", 1)
    run = _again(shapes, Shape(model, {log: {}, model: {}}), _after_first(shapes, log, model))
    assert _asked(run) == []


@pytest.mark.parametrize(
    "name",
    [
        "rejected",
        "reported",
        "openedge_cdc__events",
        "qlik_kafka__schemas",
        "qlik_kafka__unclaimed",
        "idm_event_log__unclaimed",
    ],
)
def test_a_view_that_is_up_to_date_is_left_alone(shapes: Shapes, name: str) -> None:
    shape = SHAPES[name]
    views = views_left_by(shapes.run(shape))
    assert f"{SCHEMA}.{shape.model}" in views
    assert _asked(_again(shapes, shape, views)) == []


def test_a_staging_view_that_is_up_to_date_is_left_alone(shapes: Shapes) -> None:
    model = "stg_feed__qlik"
    views = _after_first(shapes, model)
    assert _asked(_again(shapes, Shape(model), views)) == []


@pytest.mark.parametrize("shown", ["Table Properties: [change_tables.digest=0123]", "", "Table Properties: []"])
def test_a_view_of_another_text_is_made_again(shapes: Shapes, shown: str) -> None:
    model = "stg_feed__qlik"
    (made,) = _asked(_again(shapes, Shape(model), {f"{SCHEMA}.{model}": shown}))
    assert made.startswith(f"create or replace view {SCHEMA}.{model}")


def _without_part(text: str) -> str:
    return re.sub(r", change_tables\.checkpoint\.0=[0-9a-f]+", "", text)


def _with_part_of_another(text: str) -> str:
    return re.sub(r"(change_tables\.checkpoint\.0=)..", r"\g<1>00", text)


def _removed(text: str) -> str:
    return re.sub(r"(change_tables\.checkpoint)=[0-9a-f:]+", r"\1=", text)


@pytest.mark.parametrize("broken", [_without_part, _with_part_of_another, _removed])
def test_a_checkpoint_that_is_not_whole_is_read_from_the_table(shapes: Shapes, broken: Any) -> None:
    views = {view: broken(text) for view, text in _after_first(shapes, LOG).items()}
    asked = _asked(_again(shapes, Shape(LOG, {LOG: {}}, NOTHING_NEW), views))
    assert asked[0] == f"select 0 as place, _checkpoint from {SCHEMA}.{LOG}__state where startswith(_checkpoint, '{{')"
    # the view gets it again by the next run that writes; until then it has no wrong one
    removed = f"alter view {SCHEMA}.{LOG} set tblproperties ('change_tables.checkpoint' = '')"
    assert asked[2:] == ([] if broken is _removed else [removed])


def test_a_rescan_reads_the_checkpoints_of_the_tables(shapes: Shapes) -> None:
    model, log = "current_feed__full", "dedup_feed__full"
    run = _again(
        shapes,
        Shape(model, {log: {}, model: {}}),
        _after_first(shapes, log, model),
        variables={"change_tables_rescan": True},
    )
    assert _asked(run) == [
        f"select 0 as place, _checkpoint from {SCHEMA}.{log}__state where startswith(_checkpoint, '{{')"
        f" union all select 1 as place, _checkpoint from {SCHEMA}.{model}__state where startswith(_checkpoint, '{{')"
    ]


def test_one_checkpoint_that_is_not_cached_has_all_read_from_tables(shapes: Shapes) -> None:
    model, log = "current_feed__full", "dedup_feed__full"
    views = _after_first(shapes, log, model)
    for without in (log, model):
        others = {name: text for name, text in views.items() if name != f"{SCHEMA}.{without}"}
        asked = _asked(_again(shapes, Shape(model, {log: {}, model: {}}), others))
        assert "select 0 as place" in asked[0]
        assert "select 1 as place" in asked[0]


def test_a_state_is_rebuilt_only_by_checkpoints_of_tables(shapes: Shapes) -> None:
    model, log = "current_feed__full", "dedup_feed__full"
    views = _after_first(shapes, log, model)
    views[f"{SCHEMA}.{log}"] = views_left_by(shapes.run(Shape(log)))[f"{SCHEMA}.{log}"]  # a log that was built later
    run = _again(shapes, Shape(model, {log: {}, model: {}}), views)
    # the tables say otherwise: both are as they were
    assert "select 1 as place" in _asked(run)[0]
    assert run.run["kind"] == "nothing new"


def test_a_run_that_reads_everything_and_finds_nothing_leaves_the_view_alone(shapes: Shapes) -> None:
    log = "dedup_feed__qlik_plain"
    run = _again(shapes, Shape(log, {log: {}}, FINDS_NOTHING), _after_first(shapes, log))
    assert run.run["kind"] == "everything"
    assert [sql for sql in run.sent if re.match("alter|insert|merge|create or replace", sql)] == []


def test_a_rescan_removes_a_cached_checkpoint_that_is_not_the_tables(shapes: Shapes) -> None:
    shape = Shape(LOG, {LOG: {"batch": LATER}}, FINDS_NOTHING)
    run = _again(shapes, shape, _after_first(shapes, LOG), variables={"change_tables_rescan": True})
    changed = [sql for sql in run.sent if re.match("alter|insert|merge|create or replace", sql)]
    assert changed == [f"alter view {SCHEMA}.{LOG} set tblproperties ('change_tables.checkpoint' = '')"]


def test_a_cached_checkpoint_is_removed_also_where_dbt_saw_none(shapes: Shapes) -> None:
    views = {view: _removed(text) for view, text in _after_first(shapes, LOG).items()}
    sent = _again(shapes, Shape(LOG, {LOG: {}}), views).sent
    removed = sent.index(f"alter view {SCHEMA}.{LOG} set tblproperties ('change_tables.checkpoint' = '')")
    assert removed < next(number for number, sql in enumerate(sent) if re.match("insert into|merge into", sql))


def test_a_full_refresh_of_a_state_goes_by_the_table_of_its_log(shapes: Shapes) -> None:
    model, log = "current_feed__full", "dedup_feed__full"
    checkpoints: dict[str, dict[str, Any]] = {log: {"batch": LATER}, model: {}}
    run = _again(shapes, Shape(model, checkpoints), _after_first(shapes, log, model), flags={"FULL_REFRESH": True})
    assert (run.run["kind"], run.run["checkpoint"]["batch"]) == ("first", LATER)


def _listed(views: dict[str, str], text: str) -> dict[str, str]:
    return {view: f"View Text: {text}\nView Original Text: {text}\n{shown}" for view, shown in views.items()}


@pytest.mark.parametrize("model", ["stg_feed__qlik", "rejected"])
def test_a_view_that_was_given_another_text_by_hand_is_made_again(shapes: Shapes, model: str) -> None:
    shape = SHAPES[model] if model in SHAPES else Shape(model)
    first = shapes.run(shape)
    (made,) = [sql for sql in first.sent if sql.startswith("create or replace view")]
    (text,) = re.findall(r"^\s*((?:select|with)\s.*)", made, re.MULTILINE | re.DOTALL)
    for shown, is_made in ((text, False), ("select 1 as one", True), (f"{text} limit 1", True)):
        asked = _asked(_again(shapes, shape, _listed(views_left_by(first), shown)))
        assert [sql.startswith("create or replace view") for sql in asked] == [True] * is_made + [False] * (
            is_made and len(asked) - 1
        )


def test_views_of_iceberg_are_asked_for_their_text_and_properties_and_have_none_where_no_text_is_told(
    shapes: Shapes,
) -> None:
    properties = "TBLPROPERTIES (\n  'a' = 'b',\n  'change_tables.digest' = '0a')\n"
    told = {name: f"CREATE VIEW lake.{name} (\n  id)\n{properties}" for name in ("plain", "without")}
    told["plain"] += "AS\nselect 1 as id\n"
    told["commented"] = told["plain"].replace("id)", "id COMMENT 'known\nAS\nkey')\nCOMMENT 'its\nAS\n'")
    answers: Answers = {
        "^show table extended in lake ": [
            {"namespace": "lake", "tableName": "t", "isTemporary": False, "information": "Provider: iceberg"}
        ],
        "^show views in lake$": [{"namespace": "lake", "viewName": name, "isTemporary": False} for name in told],
        **{f"^show create table lake.{name}$": [{"createtab_stmt": text}] for name, text in told.items()},
    }
    macro = shapes.project.macros("stg_feed__qlik", Lake({}, answers=answers))
    macro("known_in_run", "format")["name"] = "iceberg"
    rows = macro("spark__list_relations_without_caching", SparkRelation.create(schema="lake", identifier=""))
    assert {name for _, name, _, text in rows if "Type: VIEW" in text} == set(told)
    views = {
        name: SparkRelation.create(
            schema="lake", identifier=name, type="view" if name in told else "table", information=text
        )
        for _, name, _, text in rows
    }
    found = {name: macro("properties_of_view", view) for name, view in views.items()}
    known = {"change_tables.digest": "0a"}
    assert found == {"t": {}, "plain": known, "without": {}, "commented": known}
    for name in ("plain", "commented"):
        assert "View Text: select 1 as id\nView Original Text: " in macro("text_and_properties_of_view", views[name])


def test_a_log_that_was_set_back_has_its_states_rebuilt_and_counts_as_another_one(shapes: Shapes) -> None:
    views = {view: _removed(text) for view, text in _after_first(shapes, LOG).items()}
    older = "20260101T110000000000_00000009"
    set_back = _again(shapes, Shape(LOG, {LOG: {"batch": older}}), views).checkpoint
    assert set_back["rebuild"] == set_back["origin"] > FIRST_BATCH
    followed = _again(shapes, Shape(LOG, {LOG: {}}), views).checkpoint
    assert (followed["rebuild"], followed["origin"]) == ("", FIRST_BATCH)


# what the table has that a full refresh replaces -> whether the log goes on as the one that it was
REPLACED: dict[str, tuple[dict[str, Any] | None, int, bool]] = {
    "all that its runs have written": ({}, 3, True),
    "changes are gone": ({}, 2, False),
    "emptied": (None, 0, False),
    "another storage version": ({"storage_version": 3}, 3, False),
}


@pytest.mark.parametrize("name", REPLACED)
def test_a_log_that_a_full_refresh_rebuilds_is_the_same_where_every_change_could_be_judged(
    shapes: Shapes, name: str
) -> None:
    told, changes, is_same = REPLACED[name]
    lake = shapes.lake(Shape(LOG, {LOG: {}}))
    state = f"{SCHEMA}.{LOG}__state"
    text = None if told is None else json.dumps({**lake.checkpoints[state][0], **told})
    asked = {f" as replaced_rows from {state}$": [{"replaced_checkpoint": text, "replaced_rows": changes}]}
    lake = replace(lake, columns={**lake.columns, state: {"_checkpoint": "string"}}, answers={**asked, **lake.answers})
    run = shapes.project.run(LOG, lake, flags={"FULL_REFRESH": True})
    assert (run.checkpoint["origin"] == FIRST_BATCH) == is_same
    assert run.checkpoint["origin"] == (FIRST_BATCH if is_same else run.checkpoint["log"])


def test_a_log_that_was_emptied_is_not_rebuilt_from_what_raw_still_has(shapes: Shapes) -> None:
    views = _after_first(shapes, LOG)
    shape = Shape(LOG, answers={f"as place, _checkpoint from {SCHEMA}.{LOG}__state": []})
    with pytest.raises(CompilationError, match=r"was built, and was emptied or dropped since .* restore it"):
        _again(shapes, shape, views)
    assert _again(shapes, shape, views, flags={"FULL_REFRESH": True}).run["kind"] == "first"


def test_an_empty_run_leaves_cached_checkpoints_alone(shapes: Shapes) -> None:
    for model in (LOG, "current_feed__full"):
        log = model.replace("current", "dedup")
        views = _after_first(shapes, *{log: 0, model: 0})
        checkpoints: dict[str, dict[str, Any]] = {log: {}, model: {}}
        run = _again(shapes, Shape(model, checkpoints, {"^select 1 from": [{"1": 1}]}), views, flags={"EMPTY": True})
        assert [sql for sql in run.sent if sql.startswith("alter")] == []


def test_rows_that_were_purged_are_nothing_new(shapes: Shapes) -> None:
    (look,) = _asked(_again(shapes, Shape(LOG, {LOG: {}}, NONE_LANDED), _after_first(shapes, LOG)))
    assert LOOK in look


@pytest.mark.parametrize("model", [LOG, "current_feed__full", "history_feed__full"])
def test_a_table_that_dbt_did_not_list_is_not_replaced(shapes: Shapes, model: str) -> None:
    logs: dict[str, dict[str, Any]] = {} if model == LOG else {"dedup_feed__full": {}}
    there: Answers = {f"^show tables in {SCHEMA} like '{model}__state'$": [{"tableName": f"{model}__state"}]}
    said = f"change_tables: model '{model}': {SCHEMA}.{model}__state is there, and was not when dbt listed its schema"
    with pytest.raises(CompilationError, match=re.escape(said)):
        shapes.run(Shape(model, logs, there))
    # a full refresh replaces it
    run = shapes.run(Shape(model, logs, there, flags={"FULL_REFRESH": True}))
    assert any(sql.startswith(f"create or replace table {SCHEMA}.{model}__state") for sql in run.sent)


def test_a_view_that_was_dropped_is_made_by_the_next_run_and_any_by_a_full_refresh(shapes: Shapes) -> None:
    made = f"create or replace view {SCHEMA}.{LOG}\n"
    views = _after_first(shapes, LOG)
    shape = Shape(LOG, {LOG: {}}, {**NOTHING_NEW, "^select 1 from": []})
    sent = {
        "dropped": _again(shapes, shape, {}).sent,
        "full refresh": _again(shapes, shape, views, flags={"FULL_REFRESH": True}).sent,
        "neither": _again(shapes, shape, views).sent,
    }
    assert {name: any(sql.startswith(made) for sql in each) for name, each in sent.items()} == {
        "dropped": True,
        "full refresh": True,
        "neither": False,
    }


@pytest.mark.parametrize("model", [LOG, "current_feed__full", "history_feed__full"])
def test_a_cached_checkpoint_is_removed_before_a_table_is_written_and_set_after(shapes: Shapes, model: str) -> None:
    log = model if model == LOG else "dedup_feed__full"
    checkpoints: dict[str, dict[str, Any]] = (
        {log: {}} if model == LOG else {log: {"batch": LATER, "extends": FIRST_BATCH}, model: {}}
    )
    views = _after_first(shapes, log) if model == LOG else _after_first(shapes, log, model)
    if model != LOG:
        # the log has run since, and has left its checkpoint
        views.pop(f"{SCHEMA}.{log}")
    sent = _again(shapes, Shape(model, checkpoints), views).sent
    told = [number for number, sql in enumerate(sent) if "'change_tables.checkpoint'" in sql]
    written = next(number for number, sql in enumerate(sent) if re.match("insert into|merge into", sql))
    assert sent[told[0]] == f"alter view {SCHEMA}.{model} set tblproperties ('change_tables.checkpoint' = '')"
    assert told[0] < written < told[-1]
    assert "'change_tables.checkpoint.0' = '7b22" in sent[told[-1]]


# ---- storage versions

ALONE = "and this version of the package reads storage version 6 alone"
REBUILD = "rebuild the log and the models after it with --full-refresh"
# the storage version in a checkpoint (None: it has none) -> what a run says of it
OTHER_VERSIONS = {
    None: f"storage version none, {ALONE}: {REBUILD}",
    2: f"storage version 2, {ALONE}: {REBUILD}",
    99: f"storage version 99, {ALONE}: install the later version that wrote it, or {REBUILD}",
}
# a model, and those that have a checkpoint
MARKED = {
    LOG: [LOG],
    "current_feed__full": ["dedup_feed__full", "current_feed__full"],
    "history_feed__full": ["dedup_feed__full", "history_feed__full"],
    "documents": ["dedup_feed__events", "dedup_feed__events_multi_valued", "documents"],
}


def _of_version(shapes: Shapes, model: str, other: str, version: int | None) -> Lake:
    """What a run of a model finds where one table has this storage version, and the rest the present one."""
    lake = shapes.lake(Shape(model, {each: {} for each in MARKED[model]}))
    (first,) = lake.checkpoints[f"{SCHEMA}.{other}__state"]
    checkpoint = {name: value for name, value in first.items() if name != "storage_version"} | (
        {} if version is None else {"storage_version": version}
    )
    return replace(lake, checkpoints={**lake.checkpoints, f"{SCHEMA}.{other}__state": [checkpoint]})


@pytest.mark.parametrize("is_rescan", [False, True])
@pytest.mark.parametrize("version", OTHER_VERSIONS)
@pytest.mark.parametrize(("model", "other"), [(model, other) for model, others in MARKED.items() for other in others])
def test_a_table_of_another_storage_version_is_refused_in_one_line(
    shapes: Shapes, model: str, other: str, version: int | None, is_rescan: bool
) -> None:
    lake = _of_version(shapes, model, other, version)
    with pytest.raises(CompilationError) as refused:
        shapes.project.run(model, lake, variables={"change_tables_rescan": is_rescan})
    said = f"change_tables: model '{model}': {SCHEMA}.{other}__state has {OTHER_VERSIONS[version]}"
    assert said in str(refused.value).splitlines()[1].strip()


def test_a_cached_checkpoint_of_another_storage_version_is_refused_as_well(shapes: Shapes) -> None:
    lake = _of_version(shapes, LOG, LOG, 2)
    (checkpoint,) = lake.checkpoints[f"{SCHEMA}.{LOG}__state"]
    properties = shapes.project.macros(LOG)("checkpoint_as_properties", checkpoint, 1, None)
    told = ", ".join(f"{name}={text}" for name, text in properties.items())
    lake = replace(lake, views={f"{SCHEMA}.{LOG}": f"Type: VIEW\nTable Properties: [{told}]\n"})
    with pytest.raises(CompilationError, match=OTHER_VERSIONS[2]):
        shapes.project.run(LOG, lake)
    assert not shapes.project.sent()


@pytest.mark.parametrize("version", OTHER_VERSIONS)
@pytest.mark.parametrize("model", MARKED)
def test_a_full_refresh_replaces_a_table_of_another_storage_version(
    shapes: Shapes, model: str, version: int | None
) -> None:
    run = shapes.project.run(model, _of_version(shapes, model, model, version), flags={"FULL_REFRESH": True})
    assert run.run["kind"] == "first"
    assert any(sql.startswith(f"create or replace table {SCHEMA}.{model}__state") for sql in run.sent)
    assert run.checkpoint["storage_version"] == 6


READERS = [
    *("stg_feed__qlik", "stg_feed__kafka_registry", "stg_feed__mapped", "stg_feed__loads", "stg_feed__trail"),
    *("stg_feed__events", "stg_feed__openedge_arriving", LOG, "dedup_feed__events", "unclaimed_trail"),
]


@pytest.mark.parametrize("model", READERS)
def test_a_raw_table_that_is_not_there_stops_what_reads_it_by_one_line(shapes: Shapes, model: str) -> None:
    lake = shapes.lake(Shape(model))
    sent = "\n".join(shapes.run(Shape(model)).sent)
    read = [table for table in lake.columns if re.search(rf"{re.escape(table)}\b", sent)]
    assert read != []
    for missing in read:
        columns = {table: columns for table, columns in lake.columns.items() if table != missing}
        with pytest.raises(CompilationError, match=f"'{model}': no table {missing} is there: land it"):
            shapes.project.run(model, replace(lake, columns=columns))


def test_a_raw_table_that_was_made_after_its_columns_were_asked_for_stops_nothing(shapes: Shapes) -> None:
    lake = shapes.lake(Shape(LOG))
    (raw,) = [table for table in lake.columns if table.endswith("_raw.qlik")]
    context = shapes.project.context(LOG, lake)
    schema, identifier = raw.split(".")
    relation = SparkRelation.create(schema=schema, identifier=identifier)
    macros = context["change_tables"]
    macros["known_in_run"]("not_there").update({raw: relation})
    macros["refuse_tables_not_there"](f"select * from {raw}")


def test_a_list_of_models_names_the_table_of_each_in_whatever_order_they_are_referred_to(shapes: Shapes) -> None:
    rendered = shapes.run(Shape("reported_backwards")).rendered
    named = re.findall(r"'(\w+)' as table_name.*?from \w+\.dedup_feed__(\w+)__reports", rendered, re.DOTALL)
    assert named == [("trail", "trail"), ("qlik", "qlik")]


@pytest.mark.parametrize(("rejected", "kind"), [(1, "everything"), (0, "since")])
def test_a_log_whose_quarantine_was_dropped_reads_all_rows_and_the_load_if_rows_were_in_it(
    shapes: Shapes, monkeypatch: pytest.MonkeyPatch, rejected: int, kind: str
) -> None:
    get_relation = SparkWithoutRows.get_relation

    def without_quarantine(adapter: Any, database: str | None, schema: str, identifier: str) -> Any:
        return None if identifier.endswith("__quarantine") else get_relation(adapter, database, schema, identifier)

    monkeypatch.setattr(SparkWithoutRows, "get_relation", without_quarantine)
    log = {"quarantined": {"rejected": rejected, "waiting": 0, "waiting_since": None}}
    name = f"qlik_change_tables__log__{kind}"
    run = shapes.run(Shape(LOG, {LOG: log}, SHAPES[name].answers))
    assert (run.run["kind"], run.run["snapshot"]) == (kind, rejected > 0)
    assert any(sql.startswith(f"create table if not exists {SCHEMA}.{LOG}__quarantine") for sql in run.sent)


@pytest.mark.parametrize(
    ("model", "table"), [(LOG, "__state"), (LOG, "__quarantine"), ("current_feed__full", "__state")]
)
def test_a_view_in_the_place_of_a_models_table_stops_it(shapes: Shapes, model: str, table: str) -> None:
    lake = shapes.lake(Shape(model, {} if model == LOG else {"dedup_feed__full": {}}))
    lake.views[f"{SCHEMA}.{model}{table}"] = "Type: VIEW"
    with pytest.raises(CompilationError, match=f"{model}{table} is a view, and this model keeps rows in a table"):
        shapes.project.run(model, lake)
