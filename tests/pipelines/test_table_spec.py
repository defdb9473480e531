"""What dbt shows of mistakes in specs, and of a session that is set wrongly: all of them in one run, before any model.

Each mistake by itself is a case of tests/macros/test_table_spec.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .consumer import Consumer, Entry
from .landing import Raw


def test_a_run_shows_all_mistakes_at_once_and_those_of_the_session_with_them(
    consumer: Callable[[str], Consumer],
) -> None:
    project = consumer("mistakes")
    right = {"format": "qlik_change_tables", "key": ["id"]}
    columns = {"id": "bigint"}
    project.write(
        [
            Entry("no_key", {"format": "qlik_change_tables"}, columns, models=()),
            Entry("images", right | {"images": "some"}, columns, models=()),
            Entry("right", right, columns, models=("stg",)),
        ]
    )
    project.write_profile({"spark.sql.session.timeZone": "America/Los_Angeles", "spark.sql.caseSensitive": "true"})
    result = project.dbt("build", must_succeed=False)
    said = project.errors(result)
    assert "change_tables: source 'feed.no_key': `key` must be given" in said
    assert "change_tables: source 'feed.images': `images` must be one of full, partial, got 'some'" in said
    assert (
        "change_tables: the sessions that dbt opens at the server would make other rows: `spark.sql.session.timeZone`"
        " must be UTC, got 'America/Los_Angeles'; `spark.sql.caseSensitive` must be false, got 'true'; set it where"
    ) in said
    assert "'feed.right'" not in said
    assert result.result is None, "dbt ran nodes, though the hook at the start of the run should have stopped it"


@pytest.mark.parametrize("first", ["9", "10"])
def test_an_arrival_of_numbers_as_text_is_refused_whichever_landed_first(
    consumer: Callable[[str], Consumer], raw: Raw, first: str
) -> None:
    schema = f"numbers_as_text_{first}"
    project = consumer(schema)
    spec = {"format": "qlik_change_tables", "key": ["id"], "headers": ["change_seq", "change_oper"]}
    project.write([Entry("orders", spec | {"arrival": "batch"}, {"id": "bigint"}, models=("stg", "dedup"))])
    landed = dict.fromkeys(("header__change_seq", "header__change_oper", "id", "batch"), "string")
    raw.create(f"{schema}_raw.orders", landed)
    select = ("--select", "dedup_feed__orders")
    raw.insert(f"{schema}_raw.orders", [["1" * 35, "I", "1", first]])
    project.dbt("seed")
    project.dbt("run", *select)
    raw.insert(f"{schema}_raw.orders", [["2" * 35, "I", "2", "9" if first == "10" else "10"]])
    for options in ((), ("--full-refresh",)):
        said = project.errors(project.dbt("run", *select, *options, must_succeed=False))
        assert "change_tables: source 'feed.orders': `arrival` must sort as rows land; 'batch' is text and has" in said
        assert "numbers of different lengths, " in said
