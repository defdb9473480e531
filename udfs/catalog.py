"""The one list of SQL functions. Registration, the page `docs/udfs.md` and the tests loop over it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .avro_messages import avro_to_json, read_avro_envelope
from .change_masks import decode_change_mask
from .change_sequences import split_change_seq
from .extents import split_extent
from .links import first_ancestors, reached_names
from .rows_at_key import rows_at_key
from .table_keys import parse_table_key
from .xds_documents import build_xds_document, format_association


@dataclass(frozen=True)
class Argument:
    """One argument of a SQL function."""

    name: str
    sql_types: tuple[str, ...]
    """Spark types that the argument may have: string, binary, int, array<string>."""


@dataclass(frozen=True)
class Example:
    """A call with its result, both as Python values."""

    arguments: tuple[Any, ...]
    expected: Any
    """As Arrow's `to_pylist` returns it: arrays are lists, structs are dicts, timestamps are in UTC."""


@dataclass(frozen=True)
class SqlFunction:
    """A function of one row's values, worked out over Arrow arrays of a batch of rows."""

    name: str
    function: Callable[..., Any]
    """Takes one Arrow array an argument, all of one length, and returns an Arrow array of that length."""
    arguments: tuple[Argument, ...]
    return_type: str
    """Spark DDL."""
    description: str
    null_behaviour: str
    examples: tuple[Example, ...]

    @property
    def signature(self) -> str:
        """Name, arguments and result on one line.

        >>> next(entry for entry in CATALOG if entry.name == "parse_table_key").signature
        'parse_table_key(table_key string) -> struct<pairs array<struct<name string, value string>>, error string>'
        """
        arguments = ", ".join(f"{argument.name} {' or '.join(argument.sql_types)}" for argument in self.arguments)
        return f"{self.name}({arguments}) -> {self.return_type}"

    def call(self, example: Example) -> str:
        """The example as a SQL expression."""
        return f"{self.name}({', '.join(sql_literal(argument) for argument in example.arguments)})"


def sql_literal(value: Any) -> str:
    r"""A Python value as Spark SQL writes it: null, text, bytes or a whole number.

    Raises TypeError for anything else.

    >>> [sql_literal(value) for value in (None, 8, b"\x80\x01")]
    ['null', '8', "X'8001'"]
    >>> print(sql_literal(["a", None]))
    array('a', null)
    >>> print(sql_literal("it's"))
    'it\'s'
    """
    match value:
        case None:
            return "null"
        case bytes():
            return f"X'{value.hex()}'"
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case int():
            return str(value)
        case list():
            return f"array({', '.join(sql_literal(element) for element in value)})"
    raise TypeError(f"sql_literal: no literal for {type(value).__name__} in an example")


CATALOG: tuple[SqlFunction, ...] = (
    SqlFunction(
        name="decode_change_mask",
        function=decode_change_mask,
        arguments=(
            Argument("mask", ("string", "binary")),
            Argument("byte_order", ("string",)),
            Argument("first_ordinal", ("int",)),
        ),
        return_type="array<int>",
        description=(
            "The columns whose bit is set in a change mask, as ascending ordinals. Bit i, from the least significant "
            "bit of the whole mask, belongs to the column of ordinal i + 1. `first_ordinal` is the ordinal that is 1 "
            "in the result, 8 after seven header columns; bits before it are dropped. `mask` is binary, or text of hex "
            "digits, in any case, with or without `0x`; an odd number of digits means a leading zero. `byte_order` is "
            "`most_significant_first` or `least_significant_first`."
        ),
        null_behaviour=(
            "Null where `mask` or `first_ordinal` is null, the mask is no hex text, `byte_order` is unknown, or "
            "`first_ordinal` is below 1. With a null `byte_order`, a text has its most significant byte first, a "
            "binary its least significant."
        ),
        examples=(
            Example((None, "most_significant_first", 8), None),
            Example(("", "most_significant_first", 8), []),
            Example(("0180", "most_significant_first", 8), [1, 2]),
            Example(("0x180", "most_significant_first", 1), [8, 9]),
            Example((b"\x80\x01", "least_significant_first", 8), [1, 2]),
            Example((b"\x80\x01", None, 8), [1, 2]),
            Example(("01 80", "most_significant_first", 8), None),
            Example(("0180", "middle_first", 8), None),
        ),
    ),
    SqlFunction(
        name="split_change_seq",
        function=split_change_seq,
        arguments=(Argument("change_seq", ("string",)),),
        return_type="struct<changed_at timestamp, change_number decimal(19,0)>",
        description=(
            "The time and the change number of a change sequence of 35 digits: `yyyyMMddHHmmSShh`, in UTC to the "
            "hundredth of a second, and 19 digits of change number, which can exceed a bigint. Changes are ordered by "
            "the whole text, never by the time alone."
        ),
        null_behaviour=(
            "Null where the text is null, is not 35 ASCII digits, or names no time: sequences of loads begin with 16 "
            "zeros."
        ),
        examples=(
            Example((None,), None),
            Example(
                ("20260131120000990000000000000000042",),
                {
                    "changed_at": datetime.datetime(2026, 1, 31, 12, 0, 0, 990_000, datetime.UTC),
                    "change_number": Decimal(42),
                },
            ),
            Example(
                ("20240229235959009999999999999999999",),
                {
                    "changed_at": datetime.datetime(2024, 2, 29, 23, 59, 59, 0, datetime.UTC),
                    "change_number": Decimal(9999999999999999999),
                },
            ),
            Example(("20260230120000990000000000000000042",), None),
            Example(("00000000000000000000000000000000042",), None),
            Example(("2026013112000099",), None),
        ),
    ),
    SqlFunction(
        name="parse_table_key",
        function=parse_table_key,
        arguments=(Argument("table_key", ("string",)),),
        return_type="struct<pairs array<struct<name string, value string>>, error string>",
        description=(
            "The pairs of name and value of an event log's table key, as logged: `name=value`, joined by `+`. A value "
            'that has any of `, ; \' + " = \\ < >` is in double quotes; inside them `"` is written `\\"` and `\\` is '
            "written `\\\\`. Quotes and escapes are removed, blanks are kept. For a malformed key, `error` says what "
            "is wrong, at which character (from 1), and how to correct it."
        ),
        null_behaviour="Null yields null; otherwise exactly one of `pairs` and `error` is null.",
        examples=(
            Example((None,), None),
            Example(
                ("pkey1=value1+pkey2=value2",),
                {
                    "pairs": [{"name": "pkey1", "value": "value1"}, {"name": "pkey2", "value": "value2"}],
                    "error": None,
                },
            ),
            Example(
                ('pkey=", ; \' + \\" = \\\\ < >"',),
                {"pairs": [{"name": "pkey", "value": ", ; ' + \" = \\ < >"}], "error": None},
            ),
            Example(("idu=",), {"pairs": [{"name": "idu", "value": ""}], "error": None}),
            Example(
                ("idu=1+",),
                {"pairs": None, "error": "missing name at character 7: write name=value"},
            ),
            Example(
                ("idu=1,5",),
                {"pairs": None, "error": "unquoted , at character 6: wrap the value in double quotes"},
            ),
        ),
    ),
    SqlFunction(
        name="split_extent",
        function=split_extent,
        arguments=(Argument("extent_text", ("string",)), Argument("extent", ("int",))),
        return_type="array<string>",
        description=(
            "The elements of an OpenEdge extent (array field), which SQL shows as one text, joined by `;`: the page of "
            "OpenEdge CDC says how. `extent` is the declared number of elements, null for as many as the text has."
        ),
        null_behaviour=(
            "Null where the text is null, `extent` is below 1, no reading or several have as many elements as "
            "declared, or, without a number, the text has two readings. A bare `?`, the unknown value, is a null "
            "element."
        ),
        examples=(
            Example((None, 3), None),
            Example(("a;b;c", 3), ["a", "b", "c"]),
            Example(("a;?;", 3), ["a", None, ""]),
            Example(("a;?;", 2), ["a", None]),
            Example(("a~;b;~~;~?", 3), ["a;b", "~", "?"]),
            Example(("a~~;b;c", 2), ["a~;b", "c"]),
            Example(("a~~;b;c", 3), ["a~", "b", "c"]),
            Example(("a~~;b;c", None), None),
            Example(("a~~;b~~;c", 2), None),
            Example(("?", 2), [None, None]),
            Example(("a;b", 3), None),
        ),
    ),
    SqlFunction(
        name="first_ancestors",
        function=first_ancestors,
        arguments=(Argument("names", ("array<string>",)), Argument("parents", ("array<string>",))),
        return_type="array<string>",
        description=(
            "For each name, the last one of its chain of parents: the name itself where it has no parent. Names and "
            "parents are two arrays of one length. A parent need not be among the names. Of names that form a ring, "
            "each is its own first ancestor."
        ),
        null_behaviour=(
            "Null where either array is null, or their lengths differ. A null parent means that there is none; a null "
            "name has a null ancestor."
        ),
        examples=(
            Example((None, None), None),
            Example((["a"], None), None),
            Example((["b", "c", "x"], ["a", "b", None]), ["a", "a", "x"]),
            Example((["c", "b"], ["b", "a"]), ["a", "a"]),
            Example((["a", "b", "c"], ["b", "a", "a"]), ["a", "b", "a"]),
            Example((["a", None], [None, "a"]), ["a", None]),
            Example((["a", "b"], ["b"]), None),
        ),
    ),
    SqlFunction(
        name="reached_names",
        function=reached_names,
        arguments=(
            Argument("starts", ("array<string>",)),
            Argument("names", ("array<string>",)),
            Argument("others", ("array<string>",)),
        ),
        return_type="array<string>",
        description=(
            "The names that links connect with those of `starts`, these among them, each once. `names` and `others` "
            "are two arrays of one length: the names at one place are linked, in both directions."
        ),
        null_behaviour=(
            "Null where an array is null, or where `names` and `others` differ in length. A link with a null connects "
            "nothing, and a null in `starts` is left out."
        ),
        examples=(
            Example((None, ["a"], ["b"]), None),
            Example((["a"], ["a", "b"], ["b"]), None),
            Example((["b"], ["a", "c", "x"], ["b", "b", "y"]), ["b", "a", "c"]),
            Example((["a", None], ["a", "b"], [None, "a"]), ["a", "b"]),
            Example((["a"], [], []), ["a"]),
        ),
    ),
    SqlFunction(
        name="rows_at_key",
        function=rows_at_key,
        arguments=(
            Argument("change_ids", ("array<string>",)),
            Argument("effects", ("array<string>",)),
            Argument("transaction_ids", ("array<string>",)),
        ),
        return_type="array<struct<row_id string, takes_covered_row boolean, covered_by string>>",
        description=(
            "The row that each event of a key is about, where rows move between keys. The events are three arrays of "
            "one length, in their order. An effect is `adds` (a row moves to the key), `takes` (the row that came "
            "first leaves or is deleted), `empties` (a truncate or a load), or `sets` (any other change, of the row "
            "that came last). When a transaction ends, the row that came last covers the others for good. `row_id` "
            "is the change that brought the row to the key. `takes_covered_row` is true where a covered row left. "
            "`covered_by` is the `row_id` of the row that covered the one which this event brought."
        ),
        null_behaviour=(
            "Null where an array is null, or the lengths differ. A null effect is `sets`, a null transaction is one of "
            "its own. `row_id` is null where an event finds no row, `covered_by` where nothing covered the row, or the "
            "event did not bring it."
        ),
        examples=(
            Example((None, ["sets"], [None]), None),
            Example((["a"], ["sets"], []), None),
            Example(
                (["a", "b", "c"], ["sets", "adds", "takes"], [None, "T", "T"]),
                [
                    {"row_id": "a", "takes_covered_row": False, "covered_by": None},
                    {"row_id": "b", "takes_covered_row": False, "covered_by": None},
                    {"row_id": "a", "takes_covered_row": True, "covered_by": None},
                ],
            ),
            Example(
                (["a", "b", "c"], ["sets", "adds", "takes"], [None, "T", "U"]),
                [
                    {"row_id": "a", "takes_covered_row": False, "covered_by": "b"},
                    {"row_id": "b", "takes_covered_row": False, "covered_by": None},
                    {"row_id": "b", "takes_covered_row": False, "covered_by": None},
                ],
            ),
            Example(
                (["a", "b"], ["empties", "takes"], [None, None]),
                [
                    {"row_id": None, "takes_covered_row": False, "covered_by": None},
                    {"row_id": None, "takes_covered_row": False, "covered_by": None},
                ],
            ),
        ),
    ),
    SqlFunction(
        name="read_avro_envelope",
        function=read_avro_envelope,
        arguments=(Argument("value", ("binary",)),),
        return_type="struct<type string, schema_id string, schema string, message binary, error string>",
        description=(
            "What the Avro envelope of a message of Qlik Replicate contains: its type (`DT` or `MD`), the id of the "
            "schema that the message was written with, or that schema itself, and the message."
        ),
        null_behaviour="Null yields null. For a value that is no envelope, all but `error` are null.",
        examples=(
            Example((None,), None),
            Example(
                (b"atMSG\x04DT\x00\x02\x04v1\x00\x04\x01\x02",),
                {"type": "DT", "schema_id": "v1", "schema": None, "message": b"\x01\x02", "error": None},
            ),
            Example(
                (b"atMS",),
                {
                    "type": None,
                    "schema_id": None,
                    "schema": None,
                    "message": None,
                    "error": "the value does not begin with atMSG, as envelopes do",
                },
            ),
        ),
    ),
    SqlFunction(
        name="avro_to_json",
        function=avro_to_json,
        arguments=(Argument("message", ("binary",)), Argument("schema", ("string",))),
        return_type="struct<json string, error string>",
        description=(
            "An Avro record as JSON text, read with its own schema (an Avro schema as JSON). Decimals, dates, times "
            "(`HH:mm:ss.ffffff`), timestamps (`yyyy-MM-dd HH:mm:ss.ffffff`, UTC) and the floats `NaN`, `Infinity` and "
            "`-Infinity` are texts, bytes are hex digits. A float is the shortest text that gives the same float. "
            "The header `timestamp` of a data message becomes a text of a timestamp, too, if it is a number of "
            "microseconds."
        ),
        null_behaviour="Null where either is null; otherwise exactly one of `json` and `error` is null.",
        examples=(
            Example((None, None), None),
            Example((b"\x02", None), None),
            Example((b"\x02", '"long"'), {"json": "1", "error": None}),
            Example(
                (
                    b"\x02\x04\x01\xff",
                    '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"},'
                    ' {"name": "mask", "type": "bytes"}]}',
                ),
                {"json": '{"id": 1, "mask": "01FF"}', "error": None},
            ),
            Example(
                (b"\x02\x02", '"long"'),
                {
                    "json": None,
                    "error": "the message cannot be read with its schema: ValueError there are bytes after the record",
                },
            ),
        ),
    ),
    SqlFunction(
        name="format_association",
        function=format_association,
        arguments=(
            Argument("table_key", ("string",)),
            Argument("table_name", ("string",)),
            Argument("schema_name", ("string",)),
        ),
        return_type="string",
        description=(
            "The association of the row that a table key names, as XDS documents have it: the pairs as they were "
            "logged, then `table=…` and `schema=…`, joined by commas. The names of table and schema are quoted where "
            "a table key would quote a value."
        ),
        null_behaviour="Null where an argument is null, and where the table key is malformed.",
        examples=(
            Example((None, "usr", "indirect"), None),
            Example(("idu=1", "usr", "indirect"), "idu=1,table=usr,schema=indirect"),
            Example(('a="1+2"+b= 3', "usr", "it's"), 'a="1+2",b= 3,table=usr,schema="it\'s"'),
            Example(("idu", "usr", "indirect"), None),
        ),
    ),
    SqlFunction(
        name="build_xds_document",
        function=build_xds_document,
        arguments=(
            Argument("event_type", ("int",)),
            Argument("class_name", ("string",)),
            Argument("association", ("string",)),
            Argument("names", ("array<string>",)),
            Argument("value_types", ("array<string>",)),
            Argument("old_values", ("array<string>",)),
            Argument("new_values", ("array<string>",)),
        ),
        return_type="struct<document string, error string>",
        description=(
            "The XDS element for events of one type and one key: `add` for type 1, `delete` for 4, `modify` for the "
            "others. Of these, type 2 removes the old value, and the others remove all values. The lists "
            "have one entry an attribute: its name, the type of its values (`string` or `octet`), the value to remove, "
            "the value to add. A null value is not removed or added, and an attribute without either is left out. "
            "Where no attribute is left, or a text has a character that XML 1.0 forbids, `error` says so, and at which "
            "character (from 1)."
        ),
        null_behaviour=(
            "Null where `event_type` is null; otherwise exactly one of `document` and `error` is null. A null list "
            "means nulls, a null value type means `string`."
        ),
        examples=(
            Example((None, "usr", "idu=1", None, None, None, None), None),
            Example(
                (1, "usr", "idu=1", ["fname"], ["string"], None, ["Jack & Jill"]),
                {
                    "document": '<add class-name="usr"><association>idu=1</association><add-attr attr-name="fname">'
                    '<value type="string">Jack &amp; Jill</value></add-attr></add>',
                    "error": None,
                },
            ),
            Example(
                (2, "usr", "idu=1", ["photo"], ["octet"], ["AAE="], ["AAI="]),
                {
                    "document": '<modify class-name="usr"><association>idu=1</association><modify-attr '
                    'attr-name="photo"><remove-value><value type="octet">AAE=</value></remove-value><add-value>'
                    '<value type="octet">AAI=</value></add-value></modify-attr></modify>',
                    "error": None,
                },
            ),
            Example(
                (3, "usr", "idu=1", ["fname"], None, ["Jack"], [""]),
                {
                    "document": '<modify class-name="usr"><association>idu=1</association><modify-attr '
                    'attr-name="fname"><remove-all-values/><add-value><value type="string"></value></add-value>'
                    "</modify-attr></modify>",
                    "error": None,
                },
            ),
            Example(
                (4, "usr", "idu=1", None, None, None, None),
                {
                    "document": '<delete class-name="usr"><association>idu=1</association></delete>',
                    "error": None,
                },
            ),
            Example(
                (1, "usr", "idu=1", ["fname"], None, None, None),
                {"document": None, "error": "no attribute has a value to remove or to add"},
            ),
            Example(
                (1, "usr", "idu=1", ["fname"], None, None, ["Jack\x01"]),
                {
                    "document": None,
                    "error": "the new value of fname holds a character that XML forbids, U+0001 at character 5",
                },
            ),
        ),
    ),
)
