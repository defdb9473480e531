"""Every pair of a landed and a declared type, by docs/landed_types.md: its verdict, and what Spark makes of values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import pytest

from .consumer import REPOSITORY, Consumer
from .landing import Raw

TYPES = {
    "boolean": ["boolean"],
    "tinyint": ["tinyint"],
    "smallint": ["smallint"],
    "int": ["int"],
    "bigint": ["bigint"],
    "decimal": ["decimal(4,0)", "decimal(5,2)", "decimal(38,20)"],
    "float": ["float"],
    "double": ["double"],
    "string": ["string"],
    "binary": ["binary"],
    "date": ["date"],
    "timestamp": ["timestamp"],
    "timestamp_ntz": ["timestamp_ntz"],
}
"""The types that each kind is tried with, landed and declared."""

DECLARED = [data_type for types in TYPES.values() for data_type in types]

LANDED_ONLY = {"interval": ["interval day to second"], "void": ["void"]}

NUMBERS = ["0", "1", "-7", "127", "-128", "9999"]
TIMES = ["2026-01-31 00:00:00", "2026-01-31 12:00:00.123456", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"]
EXTREME_TIMES = ["timestamp_micros(-9223372036854775808)", "timestamp_micros(9223372036854775807)"]
WHOLE_TEXTS = {
    f"'{text}'": number
    for text, number in {
        "5.0": 5, "5.": 5, "-0.0": 0, " 5.0 ": 5, "1e2": 100, "1E+02": 100, "100e-2": 1, "1.5e1": 15,
        "5.0000000000000000000000": 5, "9223372036854775807.0": 2**63 - 1, "-9223372036854775808.0": -(2**63),
        "1.2345678901234567E16": 12345678901234567,
    }.items()
}  # fmt: skip
"""Texts of whole numbers that are no plain integers."""

NO_WHOLE_TEXTS = [
    f"'{text}'"
    for text in (
        "5.5",
        "1e-2",
        "1e-30",
        "5.00000000000000000001",
        "9223372036854775808.0",
        "1e19",
        ".",
        "5.0x",
        "1e-99999",
    )
]

NO_FLOATS = ["'1d'", "'1.F'", "'0x1p3'"]
"""Texts that Java takes for floating-point numbers."""

# text -> what it is as timestamp, timestamp_ntz and date in UTC; None where it does not fit
TIMES_AS_TEXT: Mapping[str, tuple[str | None, str | None, str | None]] = {
    "2026-01-31 12:00:00.1234567": ("2026-01-31 12:00:00.123456", "2026-01-31 12:00:00.123456", None),
    "2026-01-31 12:00:00.999999999": ("2026-01-31 12:00:00.999999", "2026-01-31 12:00:00.999999", None),
    "1969-12-31 23:59:59.999999999": ("1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999", None),
    "2026-01-31 12:00:00.999999999+01:00": ("2026-01-31 11:00:00.999999", None, None),
    "2026-01-31:12:00:00.999999999": ("2026-01-31 12:00:00.999999", "2026-01-31 12:00:00.999999", None),
    "2026-01-31T12:00:00": ("2026-01-31 12:00:00", "2026-01-31 12:00:00", None),
    "2026-01-31:00:00:00.000000000": ("2026-01-31 00:00:00", "2026-01-31 00:00:00", "2026-01-31"),
    "2026-01-31 00:00:00.0000001": ("2026-01-31 00:00:00", "2026-01-31 00:00:00", "2026-01-31"),
    "2026-01-31:00:00:01": ("2026-01-31 00:00:01", "2026-01-31 00:00:01", None),
    "2026-01-31 12:00:00:120": ("2026-01-31 12:00:00.12", "2026-01-31 12:00:00.12", None),
    "2026-01-31 12:00:00:000 +01:00": ("2026-01-31 11:00:00", None, None),
    "2026-01-31 12:00:00.000 + 01:00": ("2026-01-31 11:00:00", None, None),
    "2026-01-31 12:00:00 - 01:00": ("2026-01-31 13:00:00", None, None),
    "2026-01-31:12:00:00: + 01:00": (None, None, None),
    "2026-01-31:25:00:00": (None, None, None),
    "2026-01-31x12:00:00": (None, None, None),
    # as a time, a number would be a year, whatever it counts
    "20484": (None, None, None),
    " +2026 ": (None, None, None),
    "2026-01": ("2026-01-01 00:00:00", "2026-01-01 00:00:00", "2026-01-01"),
    "-2026-01-31": ("-2026-01-31 00:00:00", "-2026-01-31 00:00:00", "-2026-01-31"),
}

VALUES: Mapping[str, Sequence[str]] = {
    "boolean": ["true", "false"],
    "tinyint": ["0Y", "1Y", "-7Y", "127Y", "-128Y"],
    "smallint": ["0S", "1S", "200S", "32767S", "-32768S"],
    "int": ["0", "1", "40000", "16777217", "2147483647", "-2147483648"],
    "bigint": ["0L", "1L", "3000000000L", "9007199254740993L", "1152921504606846976L", "9223372036854775807L"],
    "decimal(4,0)": [*(f"cast({number} as decimal(4,0))" for number in NUMBERS)],
    "decimal(5,2)": [f"cast({number} as decimal(5,2))" for number in ("0", "1", "2.5", "-7.25", "999.99", "127.00")],
    "decimal(38,20)": [
        f"cast('{number}' as decimal(38,20))"
        for number in ("0", "1", "0.00000000000000000001", "123456789012345678.5", "0.1", "999999999999999999")
    ],
    "float": ["float('0')", "float('1')", "float('0.1')", "float('1.5e9')", "float('9.3e18')", "float('nan')"],
    "double": [
        f"double('{number}')"
        for number in ("0", "1", "0.1", "2.5", "1e-300", "9223372036854775808", "1e300", "nan", "-infinity", "16777217")
    ],
    "string": [
        f"'{text}'"
        for text in ("", "1", "1.5", "-7", "x", "true", "1E2", "1e400", "2026-01-31", *TIMES, "12:00:00", "9e18", "NaN")
    ]
    + ["'2026-01-31 12:00:00+02:00'", "'0.000000000000000000001'", *(f"'{time}'" for time in TIMES_AS_TEXT)]
    + [*WHOLE_TEXTS, *NO_WHOLE_TEXTS, *NO_FLOATS],
    "binary": ["X'C3A4'", "X''", "X'FF'", "X'61'"],
    "date": ["date'2026-01-31'", "date'0001-01-01'", "date'9999-12-31'", "date_from_unix_date(2147483647)"],
    "timestamp": [*(f"timestamp'{time}'" for time in TIMES), *EXTREME_TIMES],
    "timestamp_ntz": [
        *(f"timestamp_ntz'{time}'" for time in TIMES),
        *(f"cast({time} as timestamp_ntz)" for time in EXTREME_TIMES),
    ],
    "interval day to second": ["interval '1 02:03:04.5' day to second"],
    "void": ["null"],
}

EXACT = {"boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz"}
"""Landed types into which what was read is cast back, and must be the same."""

REJECTED: Mapping[tuple[str, str], set[str] | None] = {
    ("smallint", "tinyint"): {"200S", "32767S", "-32768S"},
    ("int", "float"): {"16777217", "2147483647"},
    ("bigint", "double"): {"9007199254740993L", "9223372036854775807L"},
    ("bigint", "int"): {"3000000000L", "9007199254740993L", "1152921504606846976L", "9223372036854775807L"},
    ("int", "boolean"): {"40000", "16777217", "2147483647", "-2147483648"},
    ("decimal(5,2)", "int"): {f"cast({number} as decimal(5,2))" for number in ("2.5", "-7.25", "999.99")},
    ("decimal(38,20)", "double"): {
        "cast('123456789012345678.5' as decimal(38,20))",
        "cast('999999999999999999' as decimal(38,20))",
    },
    ("decimal(38,20)", "decimal(5,2)"): {
        f"cast('{number}' as decimal(38,20))"
        for number in ("0.00000000000000000001", "123456789012345678.5", "999999999999999999")
    },
    ("float", "decimal(38,20)"): {"float('nan')", "float('9.3e18')"},
    ("float", "bigint"): {"float('0.1')", "float('9.3e18')", "float('nan')"},
    ("double", "bigint"): {
        f"double('{number}')" for number in ("0.1", "2.5", "1e-300", "9223372036854775808", "1e300", "nan", "-infinity")
    },
    ("double", "float"): {f"double('{number}')" for number in ("1e-300", "1e300", "16777217")},
    ("double", "decimal(5,2)"): {
        f"double('{number}')" for number in ("1e-300", "9223372036854775808", "1e300", "nan", "-infinity", "16777217")
    },
    ("binary", "string"): {"X'FF'"},
    ("date", "timestamp"): {"date_from_unix_date(2147483647)"},
    ("timestamp", "date"): {
        "timestamp'2026-01-31 12:00:00.123456'",
        "timestamp'9999-12-31 23:59:59.999999'",
        *EXTREME_TIMES,
    },
    ("string", "bigint"): {
        f"'{text}'"
        for text in (
            "",
            "1.5",
            "x",
            "true",
            "1e400",
            "2026-01-31",
            *TIMES,
            "12:00:00",
            "NaN",
            "0.000000000000000000001",
        )
    }
    | {
        "'2026-01-31 12:00:00+02:00'",
        *(f"'{time}'" for time in TIMES_AS_TEXT if time not in ("20484", " +2026 ")),
        *NO_WHOLE_TEXTS,
        *NO_FLOATS,
    },
    ("string", "double"): {
        *(f"'{text}'" for text in ("", "x", "true", "1e400", "2026-01-31", *TIMES, "12:00:00", "5.0x", ".")),
        *(f"'{text}'" for text in ("2026-01-31 12:00:00+02:00", *TIMES_AS_TEXT) if text not in ("20484", " +2026 ")),
        *NO_FLOATS,
    },
    ("timestamp", "timestamp_ntz"): set(),
    ("timestamp_ntz", "timestamp"): set(),
    ("string", "binary"): None,
    ("bigint", "timestamp"): None,
    ("timestamp", "bigint"): None,
    ("int", "date"): None,
    ("int", "binary"): None,
}
"""By pair of types, the values that are rejected, of those in VALUES; None where the pair is refused."""

# landed type, declared type, value -> the value read as JSON, or what is said of it
NESTED: Sequence[tuple[str, str, str, str | None, str | None]] = [
    ("struct<b:int,a:int>", "struct<a:int,b:int>", "named_struct('b', 2, 'a', 1)", '{"a":1,"b":2}', None),
    ("struct<A:int,z:int>", "struct<a:bigint>", "named_struct('A', 1, 'z', 2)", '{"a":1}', None),
    ("struct<a:int>", "struct<a:bigint>", "cast(null as struct<a: int>)", None, None),
    ("struct<a:string>", "struct<a:int>", "named_struct('a', 'x')", None, "column v.a: 'x' is not int"),
    ("struct<a:string>", "struct<a:int>", "named_struct('a', cast(null as string))", "{}", None),
    ("struct<`a b`:string>", "struct<`A B`: int>", "named_struct('a b', '1')", '{"A B":1}', None),
    ("map<string,string>", "map<string,int>", "map('k', '1', 'l', null)", '{"k":1,"l":null}', None),
    ("map<string,string>", "map<string,int>", "map('j', '1', 'k', 'x')", None, "column v['k']: 'x' is not int"),
    ("map<int,int>", "map<bigint,bigint>", "map(1, 2)", '{"1":2}', None),
    ("array<string>", "array<int>", "array('1', null, '3')", "[1,null,3]", None),
    # of a `char` the blanks at the end do not count; the keys of a map keep them
    ("struct<c:string>", "struct<c:char(5)>", "named_struct('c', ' A B  ')", '{"c":" A B"}', None),
    ("struct<c:string>", "struct<c:varchar(5)>", "named_struct('c', 'AB  ')", '{"c":"AB  "}', None),
    ("struct<c:binary>", "struct<c:char(5)>", "named_struct('c', X'4120')", '{"c":"A"}', None),
    ("array<string>", "array<char(5)>", "array('AB   ', null, '')", '["AB",null,""]', None),
    ("map<string,string>", "map<char(3),char(3)>", "map('k ', 'v ')", '{"k ":"v"}', None),
    ("array<string>", "array<int>", "array('1', 'x', 'y')", None, "column v[1]: 'x' is not int"),
    ("array<void>", "array<int>", "array()", "[]", None),
    (
        "array<struct<m:map<string,array<string>>>>",
        "array<struct<m:map<string,array<decimal(3,1)>>>>",
        "array(null, named_struct('m', map('k', array('1.5', '1.55'))))",
        None,
        "column v[1].m['k'][1]: '1.55' is not decimal(3,1)",
    ),
    (
        "array<struct<m:map<string,array<string>>>>",
        "array<struct<m:map<string,array<decimal(3,1)>>>>",
        "array(null, named_struct('m', map('k', array('1.5', null))))",
        '[null,{"m":{"k":[1.5,null]}}]',
        None,
    ),
    (
        "map<string,struct<at:timestamp_ntz>>",
        "map<string,struct<at:date>>",
        "map('k', named_struct('at', timestamp_ntz'2026-01-31 12:00:00'))",
        None,
        "column v['k'].at: '2026-01-31 12:00:00' is not date",
    ),
]

REFUSED_NESTED = {
    ("struct<b:int>", "struct<a:int>"): (
        "v is struct<a:int>, and lands as struct<b:int>: must have the field a, which it lacks"
    ),
    ("struct<a:int,A:int>", "struct<a:bigint>"): (
        "v is struct<a:bigint>, and lands as struct<a:int,A:int>: must have the field a once"
    ),
    ("map<string,int>", "map<int,int>"): "v is map<int,int>, and lands as map<string,int>: must have keys of type int",
    ("map<int,int>", "map<string,int>"): (
        "v is map<string,int>, and lands as map<int,int>: must have keys of type string"
    ),
    ("array<int>", "array<date>"): "v[] is date, and lands as int: must be string, date, timestamp, timestamp_ntz",
    ("struct<a:array<int>>", "struct<a:binary>"): "v.a is binary, and lands as array<int>: must be binary",
    ("string", "array<int>"): "v is array<int>, and lands as string: must be array<…>",
    ("array<int>", "string"): (
        "v is string, and lands as array<int>: must be boolean, tinyint, smallint, int, bigint, decimal, float, double,"
        " string, binary, date, timestamp, timestamp_ntz"
    ),
    ("variant", "string"): (
        "v is string, and lands as variant: must be boolean, tinyint, smallint, int, bigint, decimal, float, double,"
        " string, binary, date, timestamp, timestamp_ntz"
    ),
}

Pair = tuple[str, str]
Reading = dict[str, Any]

MODEL = """\
{%- set readings = [] -%}
{%- for landed, declared in var('pairs') -%}
    {%- set trees = [change_tables.type_tree(landed), change_tables.type_tree(declared)] -%}
    {%- set reading = change_tables.reading_of(trees[0], trees[1], 'v') -%}
    {%- set column = {'name': 'v', 'data_type': declared} -%}
    {%- set types = {'v': {'name': 'v', 'data_type': landed}} -%}
    {%- do reading.update({'landed': landed, 'declared': declared}) -%}
    {%- if not reading.refused -%}
        {%- do reading.update({
            'typed': change_tables.typed_columns({'columns': [column]}, types) | trim,
            'misfit': change_tables.misfit({'columns': [column]}, ['v'], types),
        }) -%}
    {%- endif -%}
    {%- do readings.append(reading) -%}
{%- endfor -%}
{{ tojson(readings) }}
"""
"""What the package makes of each pair, as JSON: it is rendered, and never run."""


@pytest.fixture(scope="module")
def readings(consumer: Callable[[str], Consumer]) -> dict[Pair, Reading]:
    """By landed and declared type: the verdict, what is refused, the SQL of the value and of what is said of it."""
    project = consumer("landed_types")
    project.write([])
    (project.folder / "models/pairs.sql").write_text(MODEL)
    scalar = product([*DECLARED, *(only for (only,) in LANDED_ONLY.values())], DECLARED)
    pairs = [*scalar, *((landed, declared) for landed, declared, *_ in NESTED), *REFUSED_NESTED]
    project.dbt("compile", "--select", "pairs", "--vars", json.dumps({"pairs": pairs}))
    return {(found["landed"], found["declared"]): found for found in json.loads(project.compiled("pairs"))}


def test_the_page_shows_the_verdicts_that_the_macro_has() -> None:
    macro = (REPOSITORY / "macros/sql/landed_types.sql").read_text()
    page = (REPOSITORY / "docs/landed_types.md").read_text()
    of_macro = {kind: signs.split() for kind, signs in re.findall(r"^ +'(\w+)': +'([-=?# ]+)',$", macro, re.MULTILINE)}
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    header = next(row for row in rows if row[0] == "lands as")
    of_page = {row[0]: row[1:] for row in rows if row[0] in of_macro and len(row) == len(header)}
    assert header[1:] == list(TYPES)
    # bytes in a text are no type of a column: the page has them in words
    assert of_page == {kind: of_macro[kind] for kind in TYPES | LANDED_ONLY}


def test_every_pair_of_scalar_types_has_the_verdict_of_the_table(readings: dict[Pair, Reading]) -> None:
    macro = (REPOSITORY / "macros/sql/landed_types.sql").read_text()
    signs = {kind: signs.split() for kind, signs in re.findall(r"^ +'(\w+)': +'([-=?# ]+)',$", macro, re.MULTILINE)}
    allowed = {"=": {"taken", "same"}, "?": {"checked"}, "#": {"taken", "checked", "same"}, "-": {"refused"}}
    wrong = [
        (landed, declared, readings[landed, declared]["verdict"])
        for landed_kind, landed_types in (TYPES | LANDED_ONLY).items()
        for sign, (_, declared_types) in zip(signs[landed_kind], TYPES.items(), strict=True)
        for landed, declared in product(landed_types, declared_types)
        if landed != declared and readings[landed, declared]["verdict"] not in allowed[sign]
    ]
    assert not wrong


def test_no_value_of_any_pair_is_lost_in_silence(readings: dict[Pair, Reading], raw: Raw) -> None:
    """Read or rejected; what is taken is read; what is read is the value that landed, where it can be cast back."""
    rows: list[tuple[Any, ...]] = []
    for landed, values in VALUES.items():
        declared_types = [declared for declared in DECLARED if not readings[landed, declared]["refused"]]
        columns = []
        for declared in declared_types:
            reading = readings[landed, declared]
            read = reading["typed"].removesuffix(",").removesuffix(" as v")
            back = f"try_cast({read} as {landed})" if landed in EXACT else "v"
            columns += [f"string({read})", reading["misfit"], f"string({back} <=> v)"]
        inline = ", ".join(f"({json.dumps(value)}, cast({value} as {landed}))" for value in values)
        for row in raw.query(f"select value, {', '.join(columns)} from values {inline} as landed (value, v)"):
            for place, declared in enumerate(declared_types):
                rows.append((landed, declared, row[0], *row[1 + 3 * place : 4 + 3 * place]))
    lost = [row for row in rows if row[3] is None and row[4] is None and row[0] != "void"]
    assert not lost
    rejected_of_taken = [row for row in rows if row[4] and readings[row[0], row[1]]["verdict"] != "checked"]
    assert not rejected_of_taken
    changed = [row for row in rows if row[4] is None and row[5] == "false"]
    assert not changed
    rejected: dict[Pair, set[str]] = {}
    for row in rows:
        rejected.setdefault((row[0], row[1]), set()).update({row[2]} if row[4] else set())
    expected = {pair: values for pair, values in REJECTED.items() if values is not None}
    assert {pair: rejected[pair] for pair in expected} == expected
    times = {(row[1], row[2]): None if row[4] else row[3] for row in rows if row[0] == "string"}
    for text, read in TIMES_AS_TEXT.items():
        assert (text, *(times[kind, f"'{text}'"] for kind in ("timestamp", "timestamp_ntz", "date"))) == (text, *read)
    assert all(readings[pair]["verdict"] == "refused" for pair, values in REJECTED.items() if values is None)


def test_whole_numbers_are_read_from_texts_with_a_point_or_an_exponent(readings: dict[Pair, Reading], raw: Raw) -> None:
    read = readings["string", "bigint"]["typed"].removesuffix(",").removesuffix(" as v")
    inline = ", ".join(f"({json.dumps(text)}, {text})" for text in WHOLE_TEXTS)
    assert dict(raw.query(f"select text, {read} from values {inline} as landed (text, v)")) == WHOLE_TEXTS


def test_values_within_values_are_read_by_name_or_rejected_with_their_path(
    readings: dict[Pair, Reading], raw: Raw
) -> None:
    for landed, declared, value, read, told in NESTED:
        reading = readings[landed, declared]
        typed = reading["typed"].removesuffix(",").removesuffix(" as v")
        found = raw.query(f"select to_json({typed}), {reading['misfit']} from (select {value} as v)")[0]
        assert found[1] == told, (landed, declared, value)
        if told is None:
            assert found[0] == read, (landed, declared, value)


def test_what_no_cast_makes_is_refused_by_name_and_place(readings: dict[Pair, Reading]) -> None:
    assert {pair: readings[pair]["refused"] for pair in REFUSED_NESTED} == {
        pair: [said] for pair, said in REFUSED_NESTED.items()
    }
