"""The XDS documents of an event log, by the format page: what each run publishes, in which order, and once."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from change_tables.udfs.catalog import sql_literal

from .consumer import Consumer, Entry
from .idm_cases import DELETE, EVENT, INSERT_FIELD, UPDATE_FIELD, event
from .landing import Raw
from .statements import before, intercepted
from .xds_cases import (
    BARE,
    BARE_COLUMNS,
    BARE_PUBLISHED,
    BARE_VALUES,
    ENTRIES,
    FIRST,
    FIRST_PUBLISHED,
    LATER,
    LATER_PUBLISHED,
    MODELS,
    MULTI_VALUED,
    PEOPLE,
    PEOPLE_ROWS,
    RANDOM,
    SECOND,
    SECOND_PUBLISHED,
    THIRD,
    USERS,
    USR_ROWS,
    Event,
    Published,
    expected_rows,
    none,
    of_usr,
    one,
)

pytestmark = pytest.mark.slow

SCHEMA = "xds_documents"
RAW = f"{SCHEMA}_raw"
XDS = etree.RelaxNG(etree.parse(str(Path(__file__).parents[1] / "functions" / "xds.rng")))
CHANNELS = {
    "xds": ["usr", "grp"],
    "xds_later": ["later"],
    "xds_random": ["left", "right"],
    "xds_bare": ["bare"],
    "xds_second": ["usr"],
    "xds_nothing": [],
    "xds_kafka": ["usr", "kafka"],
    "xds_two_logs": ["usr", "left"],
    "xds_two_orders": ["usr", "ahead"],
    "xds_twice": ["usr", "again"],
    "xds_unbuilt": ["again"],
}
BUILT = ["usr", "grp", "bare", "later", "left", "right"]


class Channels:
    """The project with all channels, and what a test does with it."""

    def __init__(self, project: Consumer, raw: Raw) -> None:
        self.project = project
        self.raw = raw
        project.write(ENTRIES, ["usr_rows", "people_rows"])
        for name, entries in CHANNELS.items():
            refs = ", ".join(f"ref('dedup_feed__{entry}')" for entry in entries)
            (project.folder / f"models/{name}.sql").write_text(f"{{{{ change_tables.xds_documents([{refs}]) }}}}\n")

    def land(self, log: str, rows: Sequence[Sequence[Any]]) -> None:
        """Land events."""
        self.raw.insert(f"{RAW}.{log}", rows)

    def take_in(self, *entries: str) -> None:
        """Let the logs of entries take in what has landed."""
        self.project.dbt("run", "--select", *(f"dedup_feed__{entry}" for entry in entries))

    def publish(self, *channels: str, options: Sequence[str] = ()) -> None:
        """Let channels publish what the logs have taken in, and keep what dbt rendered."""
        self.project.dbt("run", "--select", *channels, *options)

    def take_in_and_publish(self, entries: Sequence[str], *channels: str) -> None:
        """Do both in one run, as builds do."""
        self.publish(*(f"dedup_feed__{entry}" for entry in entries), *channels)

    def shown(self, channel: str = "xds", since: str = "") -> list[Published]:
        """What a channel has published, in its order; `since` a run, without that run."""
        rows = self.raw.query(
            "select to_json(record_ids), class_name, association, document, reason"
            f" from {SCHEMA}.{channel} where _batch_id > '{since}' order by _batch_id, _position"
        )
        return [(json.loads(ids), *others) for ids, *others in rows]

    def last_run(self, channel: str) -> str:
        """The last run that published."""
        return str(self.raw.query(f"select coalesce(max(_batch_id), '') from {SCHEMA}.{channel}")[0][0])

    def said(self, *channels: str) -> str:
        """What dbt says that goes wrong with channels."""
        result = self.project.dbt("run", "--select", *channels, must_succeed=False)
        assert not result.success
        return self.project.errors(result)


@pytest.fixture(scope="module")
def channels(consumer: Callable[[str], Consumer], raw: Raw) -> Channels:
    """The channels of all tests here, each of which goes on where the one before has left them: published once."""
    channels = Channels(consumer(SCHEMA), raw)
    for log in ("log", "later", "random"):
        raw.create(f"{RAW}.{log}", EVENT)
    raw.create(f"{RAW}.usr_rows", {name: kind for name, kind in USERS.items() if name not in MULTI_VALUED})
    raw.insert(f"{RAW}.usr_rows", USR_ROWS)
    raw.create(f"{RAW}.people_rows", PEOPLE)
    raw.insert(f"{RAW}.people_rows", PEOPLE_ROWS)
    channels.land("log", FIRST)
    channels.land("later", LATER)
    channels.land("random", [logged.landed for logged in RANDOM[0]])
    staged = [f"stg_feed__{entry}" for entry in BUILT]
    channels.take_in_and_publish(BUILT, *staged, "xds", "xds_later", "xds_random", "xds_bare")
    return channels


def test_a_first_run_publishes_all_as_the_page_says(channels: Channels) -> None:
    assert channels.shown()[: len(FIRST_PUBLISHED)] == FIRST_PUBLISHED


def test_future_events_are_published_by_their_time(channels: Channels) -> None:
    assert channels.shown("xds_later") == LATER_PUBLISHED


def test_a_row_without_attributes_supersedes_nothing(channels: Channels) -> None:
    assert channels.shown("xds_bare") == BARE_PUBLISHED


def test_the_columns_are_those_of_the_interface_and_the_order(channels: Channels) -> None:
    columns = channels.raw.query(f"describe {SCHEMA}.xds")
    assert [tuple(column[:2]) for column in columns] == [
        ("record_ids", "array<bigint>"),
        ("class_name", "string"),
        ("association", "string"),
        ("document", "string"),
        ("reason", "string"),
        ("_batch_id", "string"),
        ("_position", "int"),
    ]


def test_later_runs_add_what_is_new_and_leave_the_rest_as_it_is(channels: Channels) -> None:
    channels.land("log", SECOND)
    channels.take_in("usr", "grp")
    channels.land("log", THIRD)
    channels.take_in_and_publish(["usr"], "xds")  # two runs of the logs are caught up by one of the channel
    (revised,) = channels.raw.query(f"select _new_value from {SCHEMA}.dedup_feed__usr where _change_id like '%020'")
    assert revised == ("Zoe",)
    assert "published_records" in channels.project.compiled("xds"), "a first run"
    assert channels.shown() == FIRST_PUBLISHED + SECOND_PUBLISHED


def test_random_histories_are_published_as_the_page_says(channels: Channels) -> None:
    published_before: list[Published] = []
    seen: list[Event] = []
    for number, batch in enumerate(RANDOM):
        if number:
            again = random.Random(number).sample(seen, 20)
            channels.land("random", [logged.landed for logged in (*batch, *again)])
            channels.take_in_and_publish(["left", "right"], "xds_random")
        seen += batch
        published_before += expected_rows(batch)
        assert channels.shown("xds_random") == published_before
    kinds = {(row[3] is None, (row[4] or "").split(":")[0]) for row in published_before}
    assert kinds == {(False, ""), (True, "suppressed"), (True, "no_attribute")}
    channels.publish("xds_random", options=["--full-refresh"])
    assert channels.shown("xds_random") == expected_rows(seen)


def test_a_run_without_new_changes_writes_nothing(channels: Channels) -> None:
    version = channels.raw.version(f"{SCHEMA}.xds__state")
    channels.publish("xds")
    assert channels.raw.version(f"{SCHEMA}.xds__state") == version


def test_a_log_that_is_rebuilt_lets_nothing_be_published_again(channels: Channels) -> None:
    published_before = channels.shown()
    channels.project.dbt("run", "--full-refresh", "--select", "dedup_feed__usr")
    channels.publish("xds")
    assert channels.shown() == published_before
    channels.land("log", [event(80, DELETE, "idu=1")])
    channels.take_in_and_publish(["usr"], "xds")
    assert channels.shown() == [*published_before, one([80], "delete", "idu=1")]


def test_of_two_runs_at_once_the_second_publishes_nothing(channels: Channels) -> None:
    channels.land("log", [event(90, DELETE, "idu=1")])
    channels.take_in("usr")
    other_run: list[str] = []
    merge = f"merge into {SCHEMA}.xds__state"

    def run_beside(sql: str) -> str:
        if merge in sql and not other_run:
            other_run.append(sql)
            channels.raw.query(sql)
        return sql

    with intercepted(run_beside):
        said = channels.said("xds")
    assert "another run has written to this table at the same time; nothing was changed, run again" in said
    assert channels.shown()[-1][0] == [90]
    assert [row[0] for row in channels.shown()].count([90]) == 1
    channels.publish("xds")
    assert [row[0] for row in channels.shown()].count([90]) == 1


def test_of_two_first_runs_the_second_publishes_nothing(channels: Channels) -> None:
    state = f"{SCHEMA}.xds_second__state"
    other = before(
        f"show tables in {SCHEMA} like 'xds_second__state'",
        lambda: channels.raw.query(
            f"create table {state} using {channels.raw.table_format} as select * from {SCHEMA}.xds__state"
        ),
    )
    with intercepted(other):
        said = channels.said("xds_second")
    assert f"another run has built {state} at the same time; nothing was changed, run again" in said
    assert channels.raw.version(state) == 0


def test_a_run_that_began_before_another_one_has_published_leaves_it_to_the_next(channels: Channels) -> None:
    channels.land("log", [event(95, DELETE, "idu=1")])
    channels.take_in("usr")
    state = f"{SCHEMA}.xds__state"
    (checkpoint,) = channels.raw.query(f"select _checkpoint from {state} where _checkpoint is not null")[0]
    later = json.dumps(json.loads(str(checkpoint)) | {"batch": "29990101T000000000000_00000000"})
    channels.raw.query(f"update {state} set _checkpoint = {sql_literal(later)} where _checkpoint is not null")
    channels.raw.query(f"alter view {SCHEMA}.xds set tblproperties ('change_tables.checkpoint' = '')")
    channels.publish("xds")
    assert channels.shown()[-1][0] != [95]
    channels.raw.query(f"update {state} set _checkpoint = {sql_literal(checkpoint)} where _checkpoint is not null")
    channels.raw.query(f"alter view {SCHEMA}.xds set tblproperties ('change_tables.checkpoint' = '')")
    channels.publish("xds")
    assert channels.shown()[-1][0] == [95]


def test_each_commit_is_whole_and_has_its_checkpoint(channels: Channels) -> None:
    state = f"{SCHEMA}.xds_random__state"
    for version in range(channels.raw.version(state) + 1):
        rows = channels.raw.query(
            f"select count(_checkpoint), count(distinct _batch_id),"
            f" max(get_json_object(_checkpoint, '$.batch')) = max(_batch_id)"
            f" from {channels.raw.as_of(state, version)}"
        )
        assert rows in ([(1, version + 1, True)], [(1, 1, True)])


def test_every_document_is_well_formed_xds(channels: Channels) -> None:
    documents = [row[3] for name in ("xds", "xds_later", "xds_random") for row in channels.shown(name) if row[3]]
    assert documents
    for text in documents:
        assert XDS.validate(etree.fromstring(text)), (text, XDS.error_log)


def test_every_reason_is_explained_in_the_seed(channels: Channels) -> None:
    channels.project.dbt("seed", "--select", "reason_codes")
    given = channels.raw.query(
        f"select distinct substring_index(reason, ':', 1) from {SCHEMA}.xds where reason is not null"
    )
    explained = channels.raw.query(f"select code from {SCHEMA}.reason_codes where status = 'unpublished'")
    assert set(given) == {("suppressed",), ("no_attribute",)}
    assert set(given) | {("document_unwritable",)} == set(explained)


def test_a_text_that_xml_cannot_hold_yields_no_document(channels: Channels) -> None:
    state = f"{SCHEMA}.dedup_feed__later__state"
    channels.land("later", [event(20, INSERT_FIELD, "id=5", "name", new="x"), event(21, DELETE, "id=5")])
    channels.take_in("later")
    # no staging accepts such a text
    channels.raw.query(f"update {state} set _new_value = concat('a', char(1)) where _change_id like '%020'")
    channels.publish("xds_later")
    found = "the new value of name holds a character that XML forbids, U+0001 at character 2"
    assert channels.shown("xds_later")[-2:] == [
        none(20, "id=5", f"document_unwritable: {found}"),
        one([21], "delete", "id=5"),
    ]


def test_documents_of_a_forgotten_key_are_erased_and_never_published_again(channels: Channels) -> None:
    before_it = channels.shown()
    left = [row for row in before_it if row[2] != of_usr("idu=5")]
    assert [row[0] for row in before_it if row not in left] == [[52, 54]]
    asked = ("forget", "usr", "--source", "feed", "--key", '{"idu": 5}')
    code, said, complained = channels.project.command(*asked, "--dry-run")
    assert (code, complained, channels.shown()) == (0, "", before_it)
    assert f"{SCHEMA}.xds__state: 1 rows would be deleted\n" in said
    assert channels.project.command(*asked)[0] == 0
    assert channels.shown() == left
    channels.land("log", [event(52, UPDATE_FIELD, "idu=5", "fname", old=None, new="x")])
    rescan = ("--vars", "{change_tables_rescan: true}")
    channels.project.dbt("run", "--select", "stg_feed__usr", "dedup_feed__usr", "xds", *rescan)
    assert channels.shown() == left


REFUSED = {
    "xds_nothing": "the deduplicated models of an event log, got none",
    "xds_kafka": "entries of format 'idm_event_log', got 'feed.kafka' of format 'qlik_kafka'",
    "xds_two_logs": f"entries with one raw table, got {RAW}.log, {RAW}.random",
    "xds_two_orders": "entries with one `future_events`, got False, True",
    "xds_twice": "entries with each another `table_name`, got usr, usr",
}


def test_what_makes_no_channel_is_refused(channels: Channels) -> None:
    said = channels.said(*REFUSED, "xds_unbuilt")
    for name, what in REFUSED.items():
        assert f"change_tables: model '{name}': xds_documents must be given {what}" in said
    unbuilt = "the log that it follows has not been built to its end; build that first"
    assert f"change_tables: model 'xds_unbuilt': {unbuilt}" in said


def test_a_log_that_was_built_with_other_columns_is_refused(channels: Channels) -> None:
    entries = [entry for entry in ENTRIES if entry.name == "later"]
    changed = Entry("later", entries[0].change_table, {**PEOPLE, "added": "string"}, MODELS)
    channels.project.write([changed], ["people_rows"])
    (channels.project.folder / "models/xds_later.sql").write_text(
        "{{ change_tables.xds_documents([ref('dedup_feed__later')]) }}\n"
    )
    said = channels.said("xds_later")
    assert "source 'feed.later' has changed since the log that the model follows was built; build that first" in said


def test_a_column_that_came_after_an_event_had_read_its_row_is_not_published(channels: Channels) -> None:
    wider = Entry("bare", BARE, {**BARE_COLUMNS, "name": "string"}, MODELS, identifier="log", column_meta=BARE_VALUES)
    channels.project.write([wider], ["people_rows"])
    (channels.project.folder / "models/xds_wider.sql").write_text(
        "{{ change_tables.xds_documents([ref('dedup_feed__bare')]) }}\n"
    )
    channels.take_in_and_publish(["bare"], "xds_wider")
    assert channels.shown("xds_wider") == BARE_PUBLISHED
