"""What dbt shows of mistakes in specs, and of a session that is set wrongly: all of them in one run, before any model.

Each mistake by itself is a case of tests/macros/test_table_spec.py.
"""

from __future__ import annotations

from collections.abc import Callable

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


def test_an_arrival_of_numbers_as_text_is_refused_whichever_landed_first(
    consumer: Callable[[str], Consumer], raw: Raw
) -> None:
    project = consumer("numbers_as_text")
    spec = {"format": "qlik_change_tables", "key": ["id"], "headers": ["change_seq", "change_oper"], "arrival": "batch"}
    batches = {"shorter_first": ["9", "10"], "longer_first": ["10", "9"]}
    project.write([Entry(name, spec, {"id": "bigint"}, models=("stg", "dedup")) for name in batches])
    landed = dict.fromkeys(("header__change_seq", "header__change_oper", "id", "batch"), "string")
    select = ("--select", "dedup_feed__*")
    for name, (first, _) in batches.items():
        raw.create(f"numbers_as_text_raw.{name}", landed)
        raw.insert(f"numbers_as_text_raw.{name}", [["1" * 35, "I", "1", first]])
    project.dbt("run", *select)
    for name, (_, second) in batches.items():
        raw.insert(f"numbers_as_text_raw.{name}", [["2" * 35, "I", "2", second]])
    for options in ((), ("--full-refresh",)):
        said = project.errors(project.dbt("run", *select, *options, must_succeed=False))
        for name in batches:
            refused = f"source 'feed.{name}': `arrival` must sort as rows land; 'batch' is text and has"
            assert f"change_tables: {refused}" in said
        assert said.count("numbers of different lengths, ") == len(batches)
