"""Tables that events show, by rules: what lands as a whole is for the module with a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from change_tables.generator.found import Found, LakeError
from change_tables.generator.idm_event_log import EVENT, OPTIONS, read
from tests.generator.fake_lake import FakeLake

LOG = dict.fromkeys(EVENT, "string") | {"event_time": "timestamp"}
Row = tuple[Any, ...]
Replicas = Mapping[str, Mapping[str, str] | LakeError]
REPLICA = {"replica": "{table}_rows"}


def event(
    record_id: int,
    column: str | None = None,
    new: str | None = None,
    *,
    kind: int = 1,
    key: str | None = "id=1",
    old: str | None = None,
    table: str = "usr",
) -> Row:
    """A row of the query for the sample."""
    return "event_log", table, record_id, kind, key, column, old, new


def found(events: Sequence[Row], replicas: Replicas | None = None, options: Mapping[str, str] | None = None) -> Found:
    """What the reader finds in these events."""
    lake = FakeLake({"event_log": LOG, **(replicas or {})}, {"": events})
    return read(lake, "raw", {"schema_name": "indirect", "raw_tables": "event_log", **(options or {})})


def types(result: Found) -> dict[str, str]:
    """The columns of the one table, with their types, in order."""
    (table,) = result.tables
    return {column.name: column.data_type for column in table.columns}


def test_a_table_has_the_columns_of_its_events_and_the_key_of_its_table_keys() -> None:
    result = found([event(2, "fname", "Jack"), event(1, "born", "2001-02-03"), event(3, "id", "7", key="id=7")])
    (table,) = result.tables
    assert types(result) == {"id": "bigint", "born": "date", "fname": "string"}
    assert all("guess" in column.note for column in table.columns)
    assert table.key == ["id"]
    assert dict(table.settings) == {"format": "idm_event_log", "table_name": "usr", "schema_name": "indirect"}
    assert (table.name, table.identifier) == ("usr", "event_log")
    assert list(result.troubles) == []


def test_a_column_of_a_single_event_is_marked_unless_it_is_of_the_key() -> None:
    events = [event(1, "fname", "a"), event(2, "fname", "b", key="id=2"), event(3, "nick", "7"), event(4, "id", "1")]
    (table,) = found([*events, event(5, "phones.no", "1")]).tables
    once = {column.name for column in table.columns if column.is_seen_once}
    assert once == {"nick", "phones.no"}


def test_values_before_and_after_an_update_count_and_the_value_before_an_insert_does_not() -> None:
    assert types(found([event(1, "n", "1", old="x")]))["n"] == "bigint"
    assert types(found([event(1, "n", "1", old="x", kind=2)]))["n"] == "string"


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        (["id=1"], ["id"]),
        (["ID=1", "pk_id=2", " Id =3"], ["id"]),
        (["b=1+a=2", "b=1+a=3", "a=2+b=1"], ["b", "a"]),
        (["id=1", "id=2", "other=1"], ["id"]),
        (["a=1+b=2", "b=1+a=2", "a=1+b=3", "b=1+a=3", "c=1", "c=2", "c=3"], ["b", "a"]),
        (["id=1", "id=2", "id=1+ID=2", "id=1+ID=3", "id=1+ID=4"], ["id"]),
        (["id=1", "id=1;2", 'id="1', None], ["id"]),
        (['id="1+b=2"'], ["id"]),
    ],
)
def test_the_key_is_what_most_table_keys_name(keys: Sequence[str | None], key: Sequence[str]) -> None:
    events = [event(place, "fname", "Jack", key=text) for place, text in enumerate(keys, 1)]
    (table,) = found(events).tables
    assert table.key == key


def test_a_key_column_is_spelt_as_its_events_spell_it() -> None:
    (table,) = found([event(1, "Id", "7", key="ID=7"), event(2, "fname", "x", key="ID=7")]).tables
    assert (table.key, [column.name for column in table.columns]) == (["Id"], ["Id", "fname"])


def test_the_key_column_of_a_view_is_the_column_that_its_events_name() -> None:
    (table,) = found([event(1, "pk_id", "7", key="pk_id=7"), event(2, "fname", "x", key="pk_id=7")]).tables
    assert (table.key, [column.name for column in table.columns]) == (["pk_id"], ["pk_id", "fname"])


def test_blanks_around_a_number_in_a_key_do_not_count() -> None:
    assert types(found([event(1, "fname", "x", key="id= 1")]))["id"] == "bigint"


def test_a_column_of_a_child_table_has_many_values() -> None:
    (table,) = found([event(1, "usr_phone.phoneno", "555"), event(2, "fname", "x")]).tables
    phone = table.columns[-1]
    assert (phone.name, phone.data_type, dict(phone.meta)) == ("usr_phone.phoneno", "bigint", {"multi_valued": True})
    assert [dict(column.meta) for column in table.columns[:-1]] == [{}, {}]


ROWS = {"Idu": "bigint", "fname": "string"}


def test_a_replica_gives_columns_and_types_and_the_table_reads_it() -> None:
    events = [event(1, "fname", "x", key="idu=1"), event(2, "usr_phone.phoneno", "5", key="idu=1"), event(3, "no", "x")]
    result = found([*events, event(4, kind=6, key="pk_idu=1")], {"Usr_rows": ROWS}, REPLICA)
    (table,) = result.tables
    assert types(result) == {"Idu": "bigint", "fname": "string", "usr_phone.phoneno": "bigint"}
    assert [column.note for column in table.columns[:2]] == ["", ""]
    assert (table.key, table.settings["replica"], list(table.reads)) == (["Idu"], "usr_rows", ["usr_rows"])
    assert [(entry.name, entry.identifier) for entry in result.further_entries] == [("usr_rows", "Usr_rows")]


@pytest.mark.parametrize(
    ("logged", "replica"),
    [
        ("usr", "usr_rows"),
        ("indirect.usr", "usr_rows"),
        ("view_usr", "usr_rows"),
        ("view_usr", "view_usr_rows"),
        ("indirect.view_usr", "view_usr_rows"),
    ],
)
def test_a_replica_is_found_under_the_name_of_the_table_or_view(logged: str, replica: str) -> None:
    (table,) = found([event(1, kind=6, key="idu=1", table=logged)], {replica: ROWS}, REPLICA).tables
    assert table.settings["replica"] == replica


def test_a_replica_of_a_view_can_have_the_key_column_of_the_view() -> None:
    (table,) = found([event(1, kind=6, key="idu=1")], {"usr_rows": {"PK_IDU": "bigint"}}, REPLICA).tables
    assert table.key == ["PK_IDU"]


def test_a_replica_of_the_name_of_the_table_is_an_entry_of_another_name() -> None:
    result = found([event(1, kind=6, key="idu=1")], {"usr": ROWS}, {"replica": "{table}"})
    (table,) = result.tables
    assert (table.name, table.settings["replica"], list(table.reads)) == ("usr", "usr_replica", ["usr_replica"])
    assert [(entry.name, entry.identifier) for entry in result.further_entries] == [("usr_replica", "usr")]


def test_a_column_of_a_replica_that_cannot_be_declared_is_left_out_with_a_trouble() -> None:
    result = found([event(1, kind=6, key="idu=1")], {"usr_rows": {**ROWS, "tags": "array<string>"}}, REPLICA)
    assert list(types(result)) == ["Idu", "fname"]
    assert [trouble.place for trouble in result.troubles] == ["table usr, column tags"]


@pytest.mark.parametrize(
    ("events", "replicas", "word"),
    [
        pytest.param([event(1, kind=6)], {}, "`replica`", id="events without values, no replica"),
        pytest.param(
            [event(1, "a", "1"), event(2, kind=6), event(3, kind=5)], {}, "`replica`", id="most without values"
        ),
        pytest.param([event(1, "a", kind=8)], {}, "`replica`", id="events of columns without values"),
        pytest.param([event(1, "a", "1", key="id")], {}, "key", id="no table key that can be read"),
        pytest.param([event(1, kind=6, key="no=1")], {"usr_rows": ROWS}, "lacks", id="a replica without the key"),
        pytest.param([event(1, kind=6)], {"usr_rows": LakeError("no right")}, "no right", id="a replica that fails"),
    ],
)
def test_a_table_that_cannot_be_read_is_a_trouble_and_the_rest_is_found(
    events: Sequence[Row], replicas: Replicas, word: str
) -> None:
    result = found([*events, event(9, "a", "1", table="grp")], replicas, REPLICA)
    assert [table.name for table in result.tables] == ["grp"]
    assert [(trouble.place, word in trouble.text) for trouble in result.troubles] == [("table usr", True)]


def test_events_with_values_are_enough_where_few_are_without() -> None:
    assert types(found([event(1, "a", "1"), event(2, "a", "1"), event(3, kind=6)])) == {"id": "bigint", "a": "bigint"}


def test_the_schema_is_an_option_or_in_the_logged_name_else_a_trouble_names_the_option() -> None:
    events = [event(1, "a", "1"), event(1, "a", "1", table="shop.grp")]
    result = read(FakeLake({"event_log": LOG}, {"": events}), "raw", {})
    assert [table.settings["schema_name"] for table in result.tables] == ["shop"]
    assert [(trouble.place, "`schema_name`" in trouble.text) for trouble in result.troubles] == [("table usr", True)]


def test_the_drivers_user_is_a_setting_of_each_table() -> None:
    (table,) = found([event(1, "a", "1")], options={"driver_user": "idm"}).tables
    assert list(table.settings) == ["format", "table_name", "schema_name", "driver_user"]


@pytest.mark.parametrize(
    "options", [{"sample": "none"}, {"replica": "usr_rows"}, {"schema_name": " "}, {"driver_user": ""}]
)
def test_an_option_that_is_wrong_is_a_trouble(options: Mapping[str, str]) -> None:
    result = found([event(1, "a", "1")], options=options)
    assert list(result.tables) == []
    (name,) = options
    assert [trouble.place for trouble in result.troubles] == [f"option {name}"]
    assert name in OPTIONS


def test_an_empty_log_is_a_trouble() -> None:
    assert [trouble.place for trouble in found([]).troubles] == ["raw"]


def test_one_query_takes_no_more_of_a_column_than_the_sample() -> None:
    lake = FakeLake({"event_log": LOG, "old": LOG}, {"": [event(1, "a", "1")]})
    read(lake, "raw", {"schema_name": "x", "sample": "77"})
    (statement,) = lake.asked
    assert statement.count("place <= 77") == 2
