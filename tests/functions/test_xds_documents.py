"""XDS documents, by the page on the Identity Manager event log."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree

from change_tables.udfs.table_keys import format_table_key, quote_value
from change_tables.udfs.xds_documents import DOCUMENT, build_xds_document, format_association

SCHEMA = etree.RelaxNG(etree.parse(str(Path(__file__).with_name("xds.rng"))))
ASSOCIATION = "idu=1,table=usr,schema=indirect"
LIST = pa.list_(pa.string())
Attribute = tuple[str | None, str | None, str | None, str | None]
"""Name, value type, old value, new value."""


def build(rows: list[tuple[int | None, list[Attribute]]], association: str = ASSOCIATION) -> list[Any]:
    """What is built of events of `usr`: for each row its type and its attributes."""
    columns = [[[attribute[place] for attribute in attributes] for _, attributes in rows] for place in range(4)]
    built = build_xds_document(
        pa.array([event_type for event_type, _ in rows], pa.int32()),
        pa.array(["usr"] * len(rows)),
        pa.array([association] * len(rows)),
        *(pa.array(column, LIST) for column in columns),
    )
    built.validate(full=True)
    assert built.type == DOCUMENT
    return [row and (row["document"], row["error"]) for row in built.to_pylist()]


def results(*columns: Any) -> list[Any]:
    """What is built of columns, as the function has it."""
    return list(build_xds_document(*columns).to_pylist())


def whole(tag: str, content: str) -> str:
    return f'<{tag} class-name="usr"><association>{ASSOCIATION}</association>{content}</{tag}>'


def modify_attr(name: str, content: str) -> str:
    return f'<modify-attr attr-name="{name}">{content}</modify-attr>'


def value(text: str, value_type: str = "string") -> str:
    return f'<value type="{value_type}">{text}</value>'


def added(text: str, value_type: str = "string") -> str:
    return f"<add-value>{value(text, value_type)}</add-value>"


def removed(text: str, value_type: str = "string") -> str:
    return f"<remove-value>{value(text, value_type)}</remove-value>"


ALL = "<remove-all-values/>"

DOCUMENTS: list[tuple[int, list[Attribute], str]] = [
    (1, [("fname", "string", None, "Jack")], whole("add", f'<add-attr attr-name="fname">{value("Jack")}</add-attr>')),
    # an insert has no old value, whatever was logged
    (1, [("fname", "string", "x", "Jack")], whole("add", f'<add-attr attr-name="fname">{value("Jack")}</add-attr>')),
    (
        1,
        [("fname", "string", None, "Jack"), ("lname", "string", None, None), ("photo", "octet", None, "AAE=")],
        whole(
            "add",
            f'<add-attr attr-name="fname">{value("Jack")}</add-attr>'
            f'<add-attr attr-name="photo">{value("AAE=", "octet")}</add-attr>',
        ),
    ),
    (
        1,
        [("usr_phone.phoneno", "string", None, "111-1111"), ("usr_phone.phoneno", "string", None, "111-1112")],
        whole(
            "add",
            f'<add-attr attr-name="usr_phone.phoneno">{value("111-1111")}</add-attr>'
            f'<add-attr attr-name="usr_phone.phoneno">{value("111-1112")}</add-attr>',
        ),
    ),
    (
        2,
        [("fname", "string", "Jack", "John")],
        whole("modify", modify_attr("fname", removed("Jack") + added("John"))),
    ),
    (2, [("fname", "string", None, "John")], whole("modify", modify_attr("fname", added("John")))),
    (2, [("fname", "string", "Jack", None)], whole("modify", modify_attr("fname", removed("Jack")))),
    (2, [("fname", "string", "", "")], whole("modify", modify_attr("fname", removed("") + added("")))),
    (
        2,
        [("fname", "string", None, None), ("photo", "octet", "AAE=", "AAI="), ("fname", "string", "Jack", "John")],
        whole(
            "modify",
            modify_attr("photo", removed("AAE=", "octet") + added("AAI=", "octet"))
            + modify_attr("fname", removed("Jack") + added("John")),
        ),
    ),
    (3, [("fname", "string", "Jack", "John")], whole("modify", modify_attr("fname", ALL + added("John")))),
    (3, [("fname", "string", None, None)], whole("modify", modify_attr("fname", ALL))),
    (4, [], whole("delete", "")),
    (4, [("fname", "string", "Jack", None)], whole("delete", "")),
    (
        5,
        [("fname", "string", None, "Jack"), ("lname", "string", None, None)],
        whole("modify", modify_attr("fname", ALL + added("Jack")) + modify_attr("lname", ALL)),
    ),
    (6, [("fname", "string", None, "")], whole("modify", modify_attr("fname", ALL + added("")))),
    (7, [("fname", "string", None, "Jack")], whole("modify", modify_attr("fname", ALL + added("Jack")))),
    (8, [("photo", "octet", None, "")], whole("modify", modify_attr("photo", ALL + added("", "octet")))),
    (8, [("fname", None, None, "Jack")], whole("modify", modify_attr("fname", ALL + added("Jack")))),
    (
        7,
        [("a \"b\" <c> & 'd'\r\n\té", "string", None, "x < y & z > \"w\" 'v' ]]> é\r\n\t\u2028😀")],
        whole(
            "modify",
            modify_attr(
                "a &quot;b&quot; &lt;c&gt; &amp; 'd'&#13;&#10;&#9;é",
                ALL + added("x &lt; y &amp; z &gt; \"w\" 'v' ]]&gt; é&#13;\n\t\u2028😀"),
            ),
        ),
    ),
]

NOTHING = "no attribute has a value to remove or to add"
UNWRITABLE: list[tuple[int, list[Attribute], str]] = [
    (1, [], NOTHING),
    (1, [("fname", "string", "Jack", None)], NOTHING),
    (2, [("fname", "string", None, None), ("lname", "string", None, None)], NOTHING),
    (5, [], NOTHING),
    (0, [], "event type 0 is none of 1 to 8"),
    (9, [], "event type 9 is none of 1 to 8"),
    (3, [(None, "string", None, "Jack")], "the name of an attribute is null"),
    (
        3,
        [("fname", "string", None, "Ja\x00ck")],
        "the new value of fname holds a character that XML forbids, U+0000 at character 3",
    ),
    (
        2,
        [("fname", "string", "\ufffe", "x")],
        "the old value of fname holds a character that XML forbids, U+FFFE at character 1",
    ),
    (
        1,
        [("a\x1f", "string", None, "x")],
        "the name of an attribute holds a character that XML forbids, U+001F at character 2",
    ),
    (
        1,
        [("a", "\x0b", None, "x")],
        "the value type of a holds a character that XML forbids, U+000B at character 1",
    ),
    # also beside an attribute that could be written
    (
        6,
        [("a", "string", None, "x"), ("b", "string", None, "é\uffff")],
        "the new value of b holds a character that XML forbids, U+FFFF at character 2",
    ),
]


def test_null_yields_null() -> None:
    assert build([(None, [("fname", "string", None, "Jack")])]) == [None]
    assert results(*[pa.nulls(2)] * 7) == [None, None]
    assert format_association(*[pa.nulls(2)] * 3).to_pylist() == [None, None]


@pytest.mark.parametrize(("event_type", "attributes", "document"), DOCUMENTS)
def test_an_element_is_written_as_the_page_shows_it(
    event_type: int, attributes: list[Attribute], document: str
) -> None:
    assert build([(event_type, attributes)]) == [(document, None)]
    assert SCHEMA.validate(etree.fromstring(document)), SCHEMA.error_log


@pytest.mark.parametrize(("event_type", "attributes", "error"), UNWRITABLE)
def test_what_cannot_be_written_says_why(event_type: int, attributes: list[Attribute], error: str) -> None:
    assert build([(event_type, attributes)]) == [(None, error)]


def test_the_characters_of_xml_are_written_and_no_others() -> None:
    held = [0x9, 0xA, 0xD, 0x20, 0x7F, 0x85, 0xD7FF, 0xE000, 0xFFFD, 0x10000, 0x1FFFE, 0x10FFFF]
    forbidden = [0x0, 0x8, 0xB, 0xC, 0xE, 0x1F, 0xFFFE, 0xFFFF]
    built = build([(1, [("a", "string", None, chr(code))]) for code in held + forbidden])
    texts_back = [etree.fromstring(document).findtext("add-attr/value") for document, _ in built[: len(held)]]
    assert texts_back == [chr(code) for code in held]
    places = [
        f"the new value of a holds a character that XML forbids, U+{code:04X} at character 1" for code in forbidden
    ]
    assert built[len(held) :] == [(None, place) for place in places]


def test_a_batch_of_all_kinds_keeps_each_row_to_itself() -> None:
    cases: list[tuple[int | None, list[Attribute], Any]] = []
    for (good, attributes, document), (bad, others, error) in zip(DOCUMENTS, UNWRITABLE * 2, strict=False):
        cases += [(None, [], None), (good, attributes, (document, None)), (bad, others, (None, error))]
    assert build([(event_type, attributes) for event_type, attributes, _ in cases]) == [case[2] for case in cases]
    assert build([]) == []


def test_class_name_and_association_must_be_there_and_fit_to_be_written() -> None:
    lists = [pa.nulls(1, LIST)] * 4
    for class_name, association, error in [
        (None, "idu=1", "the class name is null"),
        ("usr", None, "the association is null"),
        ("u\x07", "idu=1", "the class name holds a character that XML forbids, U+0007 at character 2"),
        ("usr", "idu=\x07", "the association holds a character that XML forbids, U+0007 at character 5"),
    ]:
        texts = [pa.array([text], pa.string()) for text in (class_name, association)]
        assert results(pa.array([4]), *texts, *lists) == [{"document": None, "error": error}]


def test_a_null_list_stands_for_nulls_and_lists_of_other_lengths_for_a_fault() -> None:
    start = [pa.array([3]), pa.array(["usr"]), pa.array([ASSOCIATION])]
    names = pa.array([["a", "b"]])
    document = whole("modify", modify_attr("a", ALL) + modify_attr("b", ALL))
    assert results(*start, names, *[pa.nulls(1, LIST)] * 3) == [{"document": document, "error": None}]
    (built,) = results(*start, names, pa.nulls(1), pa.array([["x"]]), pa.nulls(1))
    assert built == {"document": None, "error": "the lists differ in length: 2, 2, 1, 2"}


def test_a_slice_of_a_longer_array_is_read_from_its_own_rows() -> None:
    lists = [pa.array([["a"], ["b"], ["c"]]).slice(1, 1), pa.nulls(1), pa.nulls(1), pa.array([["x"]])]
    (built,) = results(pa.array([1]), pa.array(["usr"]), pa.array([ASSOCIATION]), *lists)
    assert built["document"] == whole("add", f'<add-attr attr-name="b">{value("x")}</add-attr>')


def test_bytes_that_are_not_utf_8_make_their_own_element_unwritable_only() -> None:
    texts = pa.array([b"\xc3\xa4\xff", b"fine"]).cast(pa.string(), safe=False)
    values = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), texts)
    both = [pa.array([1, 1]), pa.array(["usr"] * 2), pa.array([ASSOCIATION] * 2), pa.array([["a"], ["a"]])]
    first, second = results(*both, pa.nulls(2), pa.nulls(2), values)
    assert first == {"document": None, "error": "the new value of a is not UTF-8 text at character 2"}
    assert second["error"] is None
    names = pa.array(["usr", "usr"])
    keys = pa.array([b"a=\xff", b"a=1"]).cast(pa.string(), safe=False)
    assert format_association(keys, names, names).to_pylist() == [None, "a=1,table=usr,schema=usr"]


def test_a_column_of_another_type_is_a_wrong_call() -> None:
    texts, lists = [pa.array(["usr"])] * 2, [pa.array([["a"]])] * 4
    with pytest.raises(TypeError, match=r"^build_xds_document: `event_type` must be an integer, got string$"):
        build_xds_document(pa.array(["1"]), *texts, *lists)
    with pytest.raises(TypeError, match=r"^build_xds_document: `names` must be array<string>, got string$"):
        results(pa.array([1]), *texts, pa.array(["a"]), *lists[1:])
    with pytest.raises(TypeError, match=r"^format_association: `table_key` must be string, got int64$"):
        format_association(pa.array([1]), *texts)


ASSOCIATIONS: list[tuple[str | None, str | None, str | None, str | None]] = [
    (None, "usr", "indirect", None),
    ("idu=1", None, "indirect", None),
    ("idu=1", "usr", None, None),
    ("idu=1", "usr", "indirect", "idu=1,table=usr,schema=indirect"),
    ("a=1+b=2+c=3", "usr", "indirect", "a=1,b=2,c=3,table=usr,schema=indirect"),
    # as logged: blanks, quotes that are not needed, the order and the case of names
    ("B= 1 + a=", "usr", "indirect", "B= 1 , a=,table=usr,schema=indirect"),
    ('b="x"+a="1+2=3"', "usr", "indirect", 'b="x",a="1+2=3",table=usr,schema=indirect'),
    (
        r"""k=", ; ' + \" = \\ < >"+l=2""",
        "usr",
        "indirect",
        r"""k=", ; ' + \" = \\ < >",l=2,table=usr,schema=indirect""",
    ),
    ('a"b=1+c=2', "usr", "indirect", 'a"b=1,c=2,table=usr,schema=indirect'),
    ("idu=1", "it's", 'a "b" \\', r"""idu=1,table="it's",schema="a \"b\" \\" """[:-1]),
    ("idu=1", "", "", "idu=1,table=,schema="),
    ("idu", "usr", "indirect", None),
    ("idu=1+", "usr", "indirect", None),
    ("idu=1,5", "usr", "indirect", None),
    ("", "usr", "indirect", None),
]


@pytest.mark.parametrize(("table_key", "table_name", "schema_name", "association"), ASSOCIATIONS)
def test_an_association_has_the_pairs_as_logged_and_where_the_table_is(
    table_key: str | None, table_name: str | None, schema_name: str | None, association: str | None
) -> None:
    given_texts = [pa.array([text], pa.string()) for text in (table_key, table_name, schema_name)]
    assert format_association(*given_texts).to_pylist() == [association]


# Few characters, so that quotes, escapes and odd whitespace turn up often.
characters = st.sampled_from(" aé1+=\"\\,;'<>&]\r\n\t\x85\u2028😀") | st.characters(
    exclude_categories=["Cs"], exclude_characters="\ufffe\uffff", min_codepoint=0x20
)
texts = st.text(characters, max_size=8)
names = st.text(characters, min_size=1, max_size=6)
key_names = names.filter(lambda name: name.strip(" ") and not set(name) & set("=+"))
keys = st.lists(st.tuples(key_names, texts), min_size=1, max_size=3, unique_by=lambda pair: pair[0])
octets = st.binary(max_size=6).map(lambda content: base64.b64encode(content).decode())
attributes = st.lists(
    st.tuples(names, st.just("string"), st.none() | texts, st.none() | texts)
    | st.tuples(names, st.just("octet"), st.none() | octets, st.none() | octets),
    max_size=4,
)


@given(keys, names, names)
def test_an_association_joins_its_pairs_by_commas_whatever_is_in_them(
    key: list[tuple[str, str]], table: str, schema: str
) -> None:
    columns = [pa.array([text]) for text in (format_table_key(key), table, schema)]
    expected = [format_table_key([pair]) for pair in key]
    expected += [f"table={quote_value(table)}", f"schema={quote_value(schema)}"]
    assert format_association(*columns).to_pylist() == [",".join(expected)]


@given(st.integers(1, 8), attributes, keys)
@example(2, [("a", "string", "", None), ("a", "string", None, None)], [("idu", "1")])
@example(3, [(" \r\n\t", "string", None, " \r\n\t"), ("a", "octet", None, "")], [("idu", " \r\n\t")])
def test_a_document_is_well_formed_xds_and_gives_the_texts_back(
    event_type: int, given_attributes: list[Attribute], key: list[tuple[str, str]]
) -> None:
    columns = [pa.array([format_table_key(key)]), pa.array(["usr"]), pa.array(["indirect"])]
    (association,) = format_association(*columns).to_pylist()
    ((document, error),) = build([(event_type, given_attributes)], association)
    kept = []
    for name, value_type, old, new in given_attributes:
        old = old if event_type == 2 else None
        if event_type not in (1, 2) or old is not None or new is not None:
            kept.append((name, None if old is None and new is None else value_type, old, new))
    if event_type != 4 and not kept:
        assert (document, error) == (None, NOTHING)
        return
    assert error is None
    element = etree.fromstring(document)
    assert SCHEMA.validate(element), SCHEMA.error_log
    assert element.get("class-name") == "usr"
    assert (element[0].text or "") == association
    assert read_back(element) == (kept if event_type != 4 else [])
    assert "\r" not in document


def read_back(element: Any) -> list[Attribute]:
    """The attributes of an element."""
    found: list[Attribute] = []
    for attribute in element[1:]:
        values = {holder.tag: holder for holder in attribute if holder.tag != "remove-all-values"}
        if element.tag == "add":
            values = {"add-value": attribute}
        texts_of = {tag: holder[0].text or "" for tag, holder in values.items()}
        (value_type,) = {holder[0].get("type") for holder in values.values()} or {None}
        found.append((attribute.get("attr-name"), value_type, texts_of.get("remove-value"), texts_of.get("add-value")))
    return found
