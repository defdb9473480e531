"""XDS documents of Identity Manager: what the Publisher channel of its JDBC driver makes of the events of an event log.

There is one element for the events of one type and one key. lxml writes it, so that every text is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from lxml import etree

from .flat_bytes import require_type
from .table_keys import pairs_as_logged, quote_value

DOCUMENT = pa.struct([pa.field("document", pa.string()), pa.field("error", pa.string())])

INSERT_FIELD, UPDATE_FIELD, DELETE_ROW = 1, 2, 4
EVENT_TYPES = range(1, 9)

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # outside `Char` of XML 1.0


class _UnwritableError(Exception):
    """What keeps an element from being written."""


def format_association(table_key: pa.Array, table_name: pa.Array, schema_name: pa.Array) -> pa.Array:
    """The association of a row: the pairs of its table key, then its table and schema, joined by commas.

    `table_key`, `table_name`, `schema_name`, string, shape (n,).

    Returns string, shape (n,). The pairs are written as they were logged, in that order. The names of table and schema
    are quoted where a table key would quote a value. Null where one of the three is null, where the table key is
    malformed, and where bytes are not UTF-8. Raises TypeError for columns of another type, never for a value.

    Source: the associations of NetIQ Identity Manager's JDBC driver.

    >>> format_association(pa.array(["a=1+b=2"]), pa.array(["usr"]), pa.array(["indirect"])).to_pylist()
    ['a=1,b=2,table=usr,schema=indirect']
    """
    columns = [
        _texts("format_association", argument, values).to_pylist()
        for argument, values in (("table_key", table_key), ("table_name", table_name), ("schema_name", schema_name))
    ]
    return pa.array([_association(*row) for row in zip(*columns, strict=True)], pa.string())


def build_xds_document(
    event_type: pa.Array,
    class_name: pa.Array,
    association: pa.Array,
    names: pa.Array,
    value_types: pa.Array,
    old_values: pa.Array,
    new_values: pa.Array,
) -> pa.Array:
    """The XDS element for events of one type and one key, as text.

    `event_type`, int (1 to 8), `class_name` and `association`, string, all of shape (n,). `names`, `value_types`
    (`string` or `octet`), `old_values` and `new_values`, array<string>, shape (n,): in each row lists of one length,
    one entry an attribute, in the order of the events. A null list means nulls, a null value type means `string`.

    Returns struct<document string, error string>, shape (n,), null where `event_type` is null.

        type 1   `add`
        type 4   `delete`
        type 2   `modify`, which removes the old value and adds the new one
        others   `modify`, which removes all values and adds the new one

    A null value is not removed or added, and an attribute without either is left out. Where nothing can be written,
    `document` is null and `error` says why: no attribute is left; a text is not UTF-8 or has a character that XML 1.0
    forbids (places count from 1); an attribute has no name; the lists differ in length; class name or association is
    null; the type is not one of the eight. Raises TypeError for columns of another type, never for a value.

    Source: the events of NetIQ Identity Manager's JDBC driver.

    >>> lists = [pa.array([[text]]) for text in ("fname", "string", "Jack", "John")]
    >>> built = build_xds_document(pa.array([2]), pa.array(["usr"]), pa.array(["idu=1"]), *lists)
    >>> print(built[0]["document"].as_py().split("</association>")[1])
    <modify-attr attr-name="fname"><remove-value><value type="string">Jack</value></remove-value><add-value><value \
type="string">John</value></add-value></modify-attr></modify>
    """
    if not (pa.types.is_integer(event_type.type) or pa.types.is_null(event_type.type)):
        raise TypeError(f"build_xds_document: `event_type` must be an integer, got {event_type.type}")
    texts = [("class_name", class_name), ("association", association)]
    lists = [("names", names), ("value_types", value_types), ("old_values", old_values), ("new_values", new_values)]
    columns = [_texts("build_xds_document", argument, values).to_pylist() for argument, values in texts]
    columns += [_lists("build_xds_document", argument, values).to_pylist() for argument, values in lists]
    return pa.array([_built(*row) for row in zip(event_type.to_pylist(), *columns, strict=True)], DOCUMENT)


def _texts(function: str, argument: str, values: pa.Array) -> pa.Array:
    """Texts as bytes, because they need not be UTF-8."""
    return require_type(function, argument, values, ("string",)).cast(pa.binary())


def _lists(function: str, argument: str, values: pa.Array) -> pa.Array:
    return require_type(function, argument, values, ("array<string>",)).cast(pa.list_(pa.binary()))


def _association(table_key: bytes | None, table_name: bytes | None, schema_name: bytes | None) -> str | None:
    if table_key is None or table_name is None or schema_name is None:
        return None
    try:
        pairs = pairs_as_logged(table_key.decode())
        place = [f"table={quote_value(table_name.decode())}", f"schema={quote_value(schema_name.decode())}"]
    except UnicodeDecodeError:
        return None
    return None if pairs is None else ",".join([*pairs, *place])


Bytes = bytes | None


def _built(event_type: int | None, *texts_and_lists: Any) -> dict[str, str | None] | None:
    if event_type is None:
        return None
    try:
        return {"document": _document(event_type, *texts_and_lists), "error": None}
    except _UnwritableError as fault:
        return {"document": None, "error": str(fault)}


def _document(
    event_type: int,
    class_name: Bytes,
    association: Bytes,
    names: Sequence[Bytes] | None,
    value_types: Sequence[Bytes] | None,
    old_values: Sequence[Bytes] | None,
    new_values: Sequence[Bytes] | None,
) -> str:
    if event_type not in EVENT_TYPES:
        raise _UnwritableError(f"event type {event_type} is none of {EVENT_TYPES[0]} to {EVENT_TYPES[-1]}")
    tag = {INSERT_FIELD: "add", DELETE_ROW: "delete"}.get(event_type, "modify")
    element = etree.Element(tag, {"class-name": _required(class_name, "the class name")})
    etree.SubElement(element, "association").text = _required(association, "the association")
    if event_type != DELETE_ROW:
        names = names or []
        columns = [names, *(found or [None] * len(names) for found in (value_types, old_values, new_values))]
        if len({len(column) for column in columns}) > 1:
            raise _UnwritableError(f"the lists differ in length: {', '.join(str(len(column)) for column in columns)}")
        for attribute in zip(*columns, strict=True):
            _append_attribute(element, event_type, *attribute)
        if len(element) == 1:
            raise _UnwritableError("no attribute has a value to remove or to add")
    return str(etree.tostring(element, encoding="unicode"))


def _append_attribute(
    element: Any, event_type: int, name: Bytes, value_type: Bytes, old_value: Bytes, new_value: Bytes
) -> None:
    """Append what an event does to one attribute, unless it does nothing."""
    column = _required(name, "the name of an attribute")
    type_of_value = _text(value_type, f"the value type of {column}") or "string"
    old = _text(old_value, f"the old value of {column}") if event_type == UPDATE_FIELD else None
    new = _text(new_value, f"the new value of {column}")
    if event_type in (INSERT_FIELD, UPDATE_FIELD) and old is None and new is None:
        return
    attribute = etree.SubElement(
        element, "add-attr" if event_type == INSERT_FIELD else "modify-attr", {"attr-name": column}
    )
    if event_type == INSERT_FIELD:
        _append_value(attribute, type_of_value, new)
        return
    if event_type != UPDATE_FIELD:
        etree.SubElement(attribute, "remove-all-values")
    elif old is not None:
        _append_value(etree.SubElement(attribute, "remove-value"), type_of_value, old)
    if new is not None:
        _append_value(etree.SubElement(attribute, "add-value"), type_of_value, new)


def _append_value(parent: Any, value_type: str, value: str | None) -> None:
    etree.SubElement(parent, "value", {"type": value_type}).text = value


def _required(text: Bytes, what: str) -> str:
    found = _text(text, what)
    if found is None:
        raise _UnwritableError(f"{what} is null")
    return found


def _text(text: Bytes, what: str) -> str | None:
    """The text of these bytes, where XML can hold it."""
    if text is None:
        return None
    try:
        found = text.decode()
    except UnicodeDecodeError as fault:
        place = len(text[: fault.start].decode()) + 1
        raise _UnwritableError(f"{what} is not UTF-8 text at character {place}") from None
    forbidden = _FORBIDDEN.search(found)
    if forbidden is not None:
        code = f"U+{ord(forbidden[0]):04X}"
        raise _UnwritableError(
            f"{what} holds a character that XML forbids, {code} at character {forbidden.start() + 1}"
        )
    return found
