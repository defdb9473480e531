"""Which word about a key counts, and what is said of one that cannot be the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from change_tables.generator.found import FoundColumn, FoundTable
from change_tables.generator.keys import Key, Keys, KeysError, Rule, key_of, parse_rule, read_keys

COLUMNS = [
    FoundColumn("ID", "bigint"),
    FoundColumn("line no", "int"),
    FoundColumn("tags", "array<string>"),
    FoundColumn("cust_num", "int"),
]


def table(key: tuple[str, ...] = ()) -> FoundTable:
    return FoundTable("order_lines", "order_lines__ct", {}, COLUMNS, key)


RULE_ALL, RULE_LINES, RULE_TABLE = (
    Rule("*", ["id"]),
    Rule("order_*", ["line no"]),
    Rule("ORDER_LINES", ["id", "line no"]),
)
FILE = {"order_lines": ["line no", "id"]}

# what is said (rules, file, the feed) -> the key
CASES: list[tuple[list[Rule], dict[str, list[str]], tuple[str, ...], Key]] = [
    ([], {}, (), Key()),
    ([RULE_ALL], {}, (), Key(("ID",))),
    ([RULE_ALL, RULE_LINES], {}, (), Key(("line no",))),
    ([RULE_LINES, RULE_ALL], {}, (), Key(("line no",))),
    ([RULE_ALL, RULE_LINES], {}, ("ID",), Key(("ID",), is_certain=True)),
    ([RULE_ALL], FILE, ("ID",), Key(("line no", "ID"), is_certain=True)),
    ([RULE_ALL, RULE_TABLE], FILE, ("ID",), Key(("ID", "line no"), is_certain=True)),
    ([], {"order_lines__ct": ["id"]}, (), Key(("ID",), is_certain=True)),
    ([], {"other": ["id"]}, (), Key()),
    # as OpenEdge spells it, where it is declared with `_`
    ([], {"order_lines": ["Cust-Num id"]}, (), Key(("cust_num", "ID"), is_certain=True)),
    ([Rule("*", ["Cust-Num"])], {}, (), Key(("cust_num",))),
    # a rule by a pattern counts only where the table has its columns; the next one may have better ones
    ([Rule("*", ["order_id"])], {}, (), Key()),
    ([Rule("order_*", ["order_id"]), RULE_ALL], {}, (), Key(("ID",))),
    ([Rule("*", ["tags"])], {}, (), Key()),
]


@pytest.mark.parametrize(("rules", "by_table", "of_feed", "expected"), CASES)
def test_the_more_exact_word_about_a_key_counts(
    rules: list[Rule], by_table: dict[str, list[str]], of_feed: tuple[str, ...], expected: Key
) -> None:
    assert key_of(table(of_feed), Keys(rules, by_table, "keys.csv")) == expected


@pytest.mark.parametrize(
    ("columns", "mistake"),
    [
        (["no"], "keys.csv names the key column no, which the table does not have"),
        (["id", "ID"], "keys.csv names a key column twice: id, ID"),
        (["id", "tags"], "keys.csv names a key column that is of no simple type: tags is array<string>"),
    ],
)
def test_what_is_said_of_one_table_and_cannot_be_its_key_is_a_mistake(columns: list[str], mistake: str) -> None:
    assert key_of(table(), Keys([RULE_ALL], {"order_lines": columns}, "keys.csv")) == Key((), mistake, is_certain=True)


@pytest.mark.parametrize("text", ["", "id", "*:", ":id", "*:id,,name", "  :id"])
def test_a_rule_that_lacks_a_part_is_refused(text: str) -> None:
    with pytest.raises(KeysError, match="--key must be pattern:column"):
        parse_rule(text)


def test_a_pattern_may_have_a_colon() -> None:
    assert parse_rule("a:b*:id") == Rule("a:b*", ["id"])


def test_a_file_of_keys_has_columns_by_blanks_or_semicolons_or_rows(tmp_path: Path) -> None:
    file = tmp_path / "keys.csv"
    file.write_text(
        "\ufeffschema,Table,KEY\nx,orders,id\nx,Lines,order_id  line_no\nx,prices,unit price; region\n"
        "x,stock,a\nx,stock,b\n",
        encoding="utf-8",
    )
    assert read_keys(file) == {
        "orders": ["id"],
        "lines": ["order_id line_no"],
        "prices": ["unit price", "region"],
        "stock": ["a", "b"],
    }


@pytest.mark.parametrize(
    ("texts", "key"),
    [
        (["Order ID"], ["order id"]),
        (["order id line no"], ["order id", "line no"]),
        (["line no", "order id"], ["line no", "order id"]),
        (["order id", "line no"], ["order id", "line no"]),
        (["line no region"], ["line no", "region"]),
        (["region order"], ["region", "order"]),
    ],
)
def test_names_of_key_columns_can_have_blanks(texts: list[str], key: list[str]) -> None:
    columns = [FoundColumn(name, "int") for name in ("order", "id", "order id", "line no", "region")]
    found = FoundTable("lines", "lines__ct", {}, columns)
    assert key_of(found, Keys(by_table={"lines": texts}, file="keys.csv")).columns == tuple(key)


def test_a_word_that_is_no_column_is_named() -> None:
    found = FoundTable("lines", "lines__ct", {}, [FoundColumn("order id", "int")])
    mistake = "keys.csv names the key column line, which the table does not have"
    assert key_of(found, Keys(by_table={"lines": ["order id", "line"]}, file="keys.csv")).mistake == mistake


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read: No such file"),
        (b"", "must have the columns table and key, has none"),
        (b"table;key\n", "must have the columns table and key, has table;key"),
        (b"table,key\norders,\n", "line 2: must have a table and its key columns"),
        (b"table,key\n,id\n", "line 2: must have a table and its key columns"),
        (
            b"table,key\norders,order_id,line_no\n",
            "line 2: must have 2 fields as the header has, has more:"
            " key columns are separated by ; or by blanks, as in order_id;line_no",
        ),
        (b"table,key\norders\n", "line 2: must have a table and its key columns"),
        (b"table,key\n\xff,id\n", "cannot be read: 'utf-8' codec"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path, text: bytes | None, said: str) -> None:
    file = tmp_path / "keys.csv"
    if text is not None:
        file.write_bytes(text)
    with pytest.raises(KeysError, match=r"keys\.csv") as raised:
        read_keys(file)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
