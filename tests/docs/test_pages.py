"""The pages that the code makes are up to date, and show every function."""

from __future__ import annotations

from pathlib import Path

import pytest

from change_tables.udfs.catalog import CATALOG
from docs import pages


def test_the_pages_that_code_makes_are_up_to_date() -> None:
    assert pages.main(["--check"]) == 0


def test_check_says_which_pages_are_not_up_to_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pages.main(["--check"], tmp_path) == 1
    assert not any(tmp_path.iterdir())
    assert pages.main([], tmp_path) == 0
    assert pages.main(["--check"], tmp_path) == 0
    page = tmp_path / "udfs.md"
    page.write_text(page.read_text().replace("split", "cut"))
    capsys.readouterr()
    assert pages.main(["--check"], tmp_path) == 1
    assert capsys.readouterr().err == "not up to date with the code: docs/udfs.md: run python -m docs.pages\n"


def test_the_page_shows_every_function_and_examples_of_those_that_people_call() -> None:
    page = pages.render_page()
    for entry in CATALOG:
        assert (f"## {entry.name}\n\n`{entry.signature}`\n" in page) is bool(pages.shown_examples(entry))
        assert entry.name in page
        for example in entry.examples:
            shown = f"\n{entry.call(example)}\n    -- {pages.render_result(example.expected)}\n" in page
            assert shown is (example in pages.shown_examples(entry))
    assert {entry.name for entry in CATALOG if pages.shown_examples(entry)} == {
        *("decode_change_mask", "split_change_seq", "parse_table_key", "split_extent", "avro_to_json"),
    }
