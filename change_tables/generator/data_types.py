"""Spark's types as entries declare them: which can be declared, which are wider, which of two that land is better.

`widens` is the rule of macros/tables/spec_changes.sql, and `can_be_declared` that of
macros/spec/table_spec_mistakes.sql: the tests hold them against these macros.
"""

from __future__ import annotations

import re

_SPELLINGS = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "timestamp_ltz": "timestamp",
    "decimal": "decimal(10,0)",
}
_WHOLES = ("tinyint", "smallint", "int", "bigint")
_DIGITS_OF_WHOLES = {"tinyint": 10, "smallint": 10, "int": 10, "bigint": 20}
_LONGEST_TEXT = 2147483647
_DECLARABLE = re.compile(
    r"(boolean|tinyint|byte|smallint|short|int|integer|bigint|long|float|real|double|date|timestamp|timestamp_ntz"
    r"|timestamp_ltz|string|binary|(decimal|dec|numeric)( *\( *[0-9]+ *(, *[0-9]+ *)?\))?"
    r"|(varchar|char) *\( *0*[1-9][0-9]* *\)|array *<.+>|map *<.+>|struct *<.+>)"
)
_DECIMAL = re.compile(r"\b(?:decimal|dec|numeric) *\( *([0-9]+) *(?:, *([0-9]+) *)?\)")


def canonical_type(data_type: str) -> str:
    """One spelling for a type; of nested types only case and blanks are made one.

    >>> canonical_type("Numeric(9)"), canonical_type("LONG")
    ('decimal(9,0)', 'bigint')
    """
    data_type = re.sub(r"\s+", "", data_type.lower())
    data_type = re.sub(r"^(dec|numeric)(?=\(|$)", "decimal", data_type)
    data_type = re.sub(r"^decimal\((\d+)\)$", r"decimal(\1,0)", data_type)
    return _SPELLINGS.get(data_type, data_type)


def can_be_declared(data_type: str) -> bool:
    """Whether a column can be declared with this type.

    >>> can_be_declared("decimal(18,4)"), can_be_declared("decimal(39,4)"), can_be_declared("variant")
    (True, False, False)
    """
    data_type = data_type.lower().strip()
    impossible = any(
        not 1 <= int(digits) <= 38 or int(places or 0) > int(digits) for digits, places in _DECIMAL.findall(data_type)
    )
    return bool(_DECLARABLE.fullmatch(data_type)) and not impossible


def is_nested(data_type: str) -> bool:
    """Whether it is an array, a map or a struct: no key column can be one."""
    return bool(re.match(r"(array|map|struct)\b", data_type.lower().strip()))


def is_text(data_type: str) -> bool:
    """Whether it is a text, of whatever length."""
    return _text_length(canonical_type(data_type)) is not None


def widens(was: str, data_type: str, is_key: bool = False) -> bool:
    """Whether the next build follows when a column of one type is declared with another, also with the same.

    The text of a key must stay the same as well, since `_change_id` has it.

    >>> widens("int", "bigint"), widens("bigint", "int"), widens("decimal(9,2)", "decimal(11,4)", is_key=True)
    (True, False, False)
    """
    was, data_type = canonical_type(was), canonical_type(data_type)
    if was == data_type:
        return True
    if was in _WHOLES and data_type in _WHOLES:
        return _WHOLES.index(was) < _WHOLES.index(data_type)
    before, after = _digits(was), _digits(data_type)
    if before and after and data_type not in _WHOLES:
        has_room = after[0] >= before[0] and after[1] >= before[1]
        return has_room and (not is_key or after[1] == before[1])
    length_before, length = _text_length(was), _text_length(data_type)
    if length_before is not None and length is not None:
        is_padded, was_padded = data_type.startswith("char"), was.startswith("char")
        return length >= length_before and (is_padded == was_padded or (was_padded and not is_key))
    return False


def better_type(landed: str, load: str) -> str:
    """The type to declare for a column that lands in a change table as one type, and in its load as another.

    The load's where the change table has all as text; the wider one of two that differ; else the change table's.

    >>> better_type("string", "decimal(18,4)"), better_type("int", "bigint"), better_type("string", "binary")
    ('decimal(18,4)', 'bigint', 'string')
    """
    if is_text(landed) and not is_text(load):
        return load if is_read_from_text(load) else landed
    return load if widens(landed, load) else landed


def is_read_whole(landed: str, declared: str) -> bool:
    """Whether every value that lands in one type is a value of another, so that nothing is checked or refused.

    >>> is_read_whole("int", "bigint"), is_read_whole("date", "string"), is_read_whole("binary", "string")
    (True, True, False)
    """
    to_text = is_text(declared) and canonical_type(landed) != "binary" and not is_nested(landed)
    return to_text or widens(landed, declared)


def is_read_from_text(data_type: str) -> bool:
    """Whether a text can land for it: docs/landed_types.md."""
    return can_be_declared(data_type) and canonical_type(data_type) != "binary" and not is_nested(data_type)


def _digits(data_type: str) -> tuple[int, int] | None:
    decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", data_type)
    if decimal:
        return int(decimal[1]) - int(decimal[2]), int(decimal[2])
    return (_DIGITS_OF_WHOLES[data_type], 0) if data_type in _DIGITS_OF_WHOLES else None


def _text_length(data_type: str) -> int | None:
    limited = re.fullmatch(r"(?:var)?char\((\d+)\)", data_type)
    if limited:
        return int(limited[1])
    return _LONGEST_TEXT if data_type == "string" else None
