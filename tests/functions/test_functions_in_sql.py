"""What the macros say in SQL, and what the functions of the catalogue say of the same values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import jinja2
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from change_tables.udfs.change_masks import LEAST_SIGNIFICANT_FIRST, MOST_SIGNIFICANT_FIRST, decode_change_mask
from change_tables.udfs.rows_at_key import rows_at_key
from tests.functions.test_change_masks import BINARY_CASES, TEXT_CASES
from tests.functions.test_rows_at_key import CASES

MACROS = Path(__file__).resolve().parents[2] / "macros"
WIDTH = 140
"""How many columns are asked for: three words of 64 bits. Some masks have more."""
ORDERS = (MOST_SIGNIFICANT_FIRST, LEAST_SIGNIFICANT_FIRST)

Event = tuple[str | None, str | None, str | None]


class _Package:
    """The macros of a file, by the name under which macros of the package call each other."""

    def __init__(self, file: str) -> None:
        environment = jinja2.Environment(extensions=["jinja2.ext.do"], autoescape=False)  # it makes SQL
        self.macros: Any = environment.from_string((MACROS / file).read_text(), globals={"change_tables": self}).module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.macros, name)


masks = _Package("feeds/qlik.sql")
rows = _Package("state/moved_rows.sql")


def _random_texts(random: Random) -> list[str]:
    """Hex texts in all forms, and some that are none."""
    texts = []
    for _ in range(300):
        digits = f"{random.getrandbits(random.randint(1, 300)):x}"
        text = random.choice(["", "0x", "0X"]) + "0" * random.randint(0, 3) + random.choice([digits, digits.upper()])
        texts.append(text if random.random() < 0.9 else text.replace(random.choice(text), random.choice("g -x\n٣"), 1))
    return texts


def _random_binaries(random: Random) -> list[bytes]:
    return [random.randbytes(random.randint(0, 40)) + bytes(random.randint(0, 2)) for _ in range(200)]


TEXTS = [case[0] for case in TEXT_CASES] + _random_texts(Random(1))
BINARIES = [case[0] for case in BINARY_CASES] + _random_binaries(Random(2))


@pytest.mark.parametrize("bits", [None, WIDTH], ids=["as_wide_as_they_are", "of_known_width"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("mask_type", "values"), [("string", TEXTS), ("binary", BINARIES)], ids=["texts", "binaries"])
def test_a_mask_has_the_columns_that_the_function_says(
    spark: SparkSession, mask_type: str, values: Sequence[Any], order: str, bits: int | None
) -> None:
    spark.createDataFrame(list(enumerate(values)), f"place int, mask {mask_type}").createOrReplaceTempView("masks")
    of_columns = ", ".join(f"if({masks.mask_has('words', bit, order)}, {bit + 1}, null)" for bit in range(WIDTH))
    found = spark.sql(f"""
        select place, if(words is null, null, array_compact(array({of_columns})))
        from (select place, {masks.mask_words("mask", mask_type, order, bits)} as words from masks)
        order by place
    """).collect()
    decoded = decode_change_mask(
        pa.array(values, pa.string() if mask_type == "string" else pa.binary()),
        pa.array([order] * len(values)),
        pa.array([1] * len(values)),
    ).to_pylist()
    expected = [ordinals and [ordinal for ordinal in ordinals if ordinal <= WIDTH] for ordinals in decoded]
    assert [ordinals for _, ordinals in found] == expected


def test_a_column_can_be_asked_for_by_an_ordinal_that_is_data(spark: SparkSession) -> None:
    spark.createDataFrame(list(enumerate(TEXTS)), "place int, mask string").createOrReplaceTempView("masks")
    is_named = masks.mask_has("words", "(ordinal - 1)")
    found = spark.sql(f"""
        select place, if(words is null, null, filter(sequence(1, {WIDTH}), ordinal -> {is_named}))
        from (select place, {masks.mask_words("mask")} as words from masks)
        order by place
    """).collect()
    settings = pa.array([MOST_SIGNIFICANT_FIRST] * len(TEXTS)), pa.array([1] * len(TEXTS))
    decoded = decode_change_mask(pa.array(TEXTS, pa.string()), *settings).to_pylist()
    expected = [ordinals and [ordinal for ordinal in ordinals if ordinal <= WIDTH] for ordinals in decoded]
    assert [ordinals for _, ordinals in found] == expected


def _random_events(random: Random) -> list[Event]:
    of_effects: list[list[str | None]] = [["adds", "takes"], ["adds", "takes", "empties", "sets", None]]
    of_transactions: list[list[str | None]] = [["T"], [None, "T", "U"]]
    effects, transactions = random.choice(of_effects), random.choice(of_transactions)
    return [
        (str(number) if random.random() < 0.95 else None, random.choice(effects), random.choice(transactions))
        for number in range(random.randint(0, 40))
    ]


def test_whose_row_each_event_is_about_is_what_the_function_says(spark: SparkSession) -> None:
    random = Random(3)
    keys: list[list[Event]] = [[(event[0], event[1], event[2]) for event in events] for events, _ in CASES.values()]
    keys += [_random_events(random) for _ in range(300)]
    schema = "key int, events array<struct<_change_id string, _ct_effect string, _transaction_id string>>"
    spark.createDataFrame(list(enumerate(keys)), schema).createOrReplaceTempView("keys")
    found = spark.sql(f"select {rows.rows_at_key_in_sql('events')} as found from keys order by key").collect()
    said = [[row.asDict() for row in of_key.found] for of_key in found]
    columns = ([[event[place] for event in events] for events in keys] for place in range(3))
    assert said == rows_at_key(*(pa.array(column, pa.list_(pa.string())) for column in columns)).to_pylist()
