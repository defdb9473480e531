"""What dbt shows of mistakes in specs, and of a session that is set wrongly: all of them in one run, before any model.

Each mistake by itself is a case of tests/python/macros/test_table_spec.py.
"""

from __future__ import annotations

from collections.abc import Callable

from .consumer import Consumer, Entry


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
