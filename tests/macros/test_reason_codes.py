"""Each reason code that staging writes is explained by the seed."""

from __future__ import annotations

import csv
import re

from tests.pipelines.consumer import REPOSITORY

WRITTEN = re.compile(r"(?:(?:then|else|concat\()\s*'([a-z]+)|'([a-z]+(?:_[a-z]+)+)): ")
"""How the macros begin a reason: the code, a colon, a blank."""


def test_the_seed_has_every_code_that_staging_writes() -> None:
    with (REPOSITORY / "seeds/reference/reason_codes.csv").open(newline="") as seed:
        explained = {row["code"] for row in csv.DictReader(seed)}
    texts = [file.read_text() for file in (REPOSITORY / "macros/feeds").rglob("*.sql")]
    written = {short or long for text in texts for short, long in WRITTEN.findall(text)}
    # some of several feeds, so that a way of writing reasons that is not found is seen
    assert written >= {
        "after_image_missing",
        "schema_missing",
        "transaction_open",
        "column_mask_malformed",
        "tombstone",
    }
    assert written - explained == set()
