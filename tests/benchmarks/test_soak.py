"""The table of `make soak`."""

from __future__ import annotations

from benchmarks.soak import TABLES, Stretch, table_of


def test_each_stretch_is_a_line_with_what_a_run_took_and_the_files_of_each_table() -> None:
    live = dict(zip(TABLES, (3, 2, 1), strict=True))
    kept = dict(zip(TABLES, (30, 20, 10), strict=True))
    header, *lines = table_of([Stretch(24, 1.25, live, kept, 4.0), Stretch(30, 1.5, kept, kept, None)]).splitlines()
    assert "a run (s)" in header
    assert [line.split() for line in lines] == [
        ["to", "24", "1.25", "3,", "30", "2,", "20", "1,", "10", "4.0"],
        ["to", "30", "1.50", "30,", "30", "20,", "20", "10,", "10"],
    ]
