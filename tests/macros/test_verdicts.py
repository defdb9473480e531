"""The reason of a verdict: a text with SQL in braces, as SQL."""

from __future__ import annotations

import pytest

from .rendering import Lake
from .shapes import Shapes

REASONS = {
    "code: detail": "'code: detail'",
    "{_ct_fault}": "_ct_fault",
    "code: {seq} is null": "concat('code: ', seq, ' is null')",
    "code: '{seq}'": "concat('code: \\'', seq, '\\'')",
    "code: is {seq?}": "concat('code: is ', coalesce(concat('\\'', seq, '\\''), 'null'))",
    "code: {array_join(seqs, ', ')}, {seq}": "concat('code: ', array_join(seqs, ', '), ', ', seq)",
}


@pytest.mark.parametrize("text", REASONS)
def test_a_reason_has_what_stands_in_braces_as_sql(shapes: Shapes, text: str) -> None:
    reason = shapes.project.macros("dedup_feed__qlik", Lake({}))("reason", text)
    assert reason.strip() == REASONS[text]
