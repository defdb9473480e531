"""Each reason code that staging writes is explained by the seed, with the status that it has."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable

from tests.pipelines.consumer import REPOSITORY

BEFORE = "then|else|(?:concat|rejected|ignored|waiting|merged|reason)\\("
WRITTEN = re.compile(rf"""(?:(?:{BEFORE})\s*['"]([a-z]+)|['"]([a-z]+(?:_[a-z]+)+)): """)
"""How the macros begin a reason: the code, a colon, a blank."""
VERDICT = re.compile(r"""\b(rejected|ignored|waiting|merged)\(['"]([a-z_]+): """)
"""The status of a verdict, and its code."""
PASSED = re.compile(r"'passed': \[(.*?)\]")
"""The codes of waiting rows that runs pass after `waiting_days`."""


def _texts() -> Iterable[str]:
    return (file.read_text() for file in (REPOSITORY / "macros/feeds").rglob("*.sql"))


def _explained() -> dict[str, str]:
    """The codes of the seed and their statuses."""
    with (REPOSITORY / "seeds/reference/reason_codes.csv").open(newline="") as seed:
        return {row["code"]: row["status"] for row in csv.DictReader(seed)}


def test_the_seed_has_every_code_that_staging_writes() -> None:
    written = {short or long for text in _texts() for short, long in WRITTEN.findall(text)}
    # some of several feeds, so that a way of writing reasons that is not found is seen
    assert written >= {
        "after_image_missing",
        "schema_missing",
        "transaction_open",
        "column_mask_malformed",
        "tombstone",
        "key_move_without_before",
    }
    assert written - _explained().keys() == set()


def test_a_verdict_has_the_status_that_the_seed_says_of_its_code() -> None:
    explained = _explained()
    verdicts = {(code, status) for text in _texts() for status, code in VERDICT.findall(text)}
    assert len(verdicts) > 30
    assert {(code, status, explained[code]) for code, status in verdicts if status != explained[code]} == set()


def test_the_remedy_of_a_row_that_runs_pass_says_when_they_do() -> None:
    with (REPOSITORY / "seeds/reference/reason_codes.csv").open(newline="") as seed:
        remedies = {row["code"]: row["remedy"] for row in csv.DictReader(seed)}
    passed = {code for text in _texts() for codes in PASSED.findall(text) for code in re.findall("[a-z_]+", codes)}
    assert passed >= {"after_image_missing", "schema_missing", "tracking_row_missing"}
    assert {code for code in passed if "`waiting_days`" not in remedies[code]} == set()
