"""What the generator decides by itself and the macros decide again when dbt runs: both say the same."""

from __future__ import annotations

import io
from itertools import product

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq

from change_tables.generator.data_types import can_be_declared, canonical_type, widens
from change_tables.generator.formats import FORMATS, WORKING_PREFIX, taken_names
from change_tables.generator.yaml_files import in_one_line

from .shapes import Shapes

TYPES = [
    "boolean", "tinyint", "BYTE", "smallint", "short", "int", "INTEGER", "bigint", "long", "float", "real", "double",
    "date", "timestamp", "timestamp_ntz", "timestamp_ltz", "string", "binary", "decimal", "dec(5)", "numeric(10, 2)",
    "decimal(10,0)", "decimal(20,0)", "decimal(20,2)", "decimal(38,10)", "decimal( 12 , 2 )", "decimal(22,2)",
    "char(3)", "char(9)", "varchar(3)", "varchar(9)", "array<int>", "array<bigint>", "map<string,int>",
    "struct<a:int>", "struct<a:int, b:decimal(9,2)>", "interval day to second", "variant", "void",
]  # fmt: skip
UNDECLARABLE = [
    "decimal(39,2)",
    "decimal(5,6)",
    "decimal(0,0)",
    "array<decimal(40,1)>",
    "char",
    "varchar(0)",
    "uuid",
    "",
    "array",
]

NAMES = ["id", "on", "NULL", "12", "no name", "it's", 'say "a"', "a\\b", "a-b", "-a", "a:b", "Größe", "x#y", " a "]


@pytest.mark.parametrize("is_key", [False, True])
def test_types_widen_by_the_rule_of_the_macros(shapes: Shapes, is_key: bool) -> None:
    cannot_become = shapes.project.macros("stg_feed__qlik")
    differ = [
        (was, data_type)
        for was, data_type in product(TYPES, TYPES)
        if widens(was, data_type, is_key)
        != (cannot_become("cannot_become", canonical_type(was), canonical_type(data_type), is_key) is None)
    ]
    assert differ == []


def test_types_can_be_declared_by_the_rule_of_the_macros(shapes: Shapes) -> None:
    macro = shapes.project.macros("stg_feed__qlik")
    differ = [
        data_type
        for data_type in TYPES + UNDECLARABLE
        if can_be_declared(data_type) != bool(macro("is_spark_type", data_type.lower().strip()))
    ]
    assert differ == []


def test_types_are_spelt_as_the_macros_spell_them(shapes: Shapes) -> None:
    macro = shapes.project.macros("stg_feed__qlik")
    assert {name: canonical_type(name) for name in TYPES} == {name: macro("canonical_type", name) for name in TYPES}


def test_a_column_to_paste_is_written_as_the_generator_writes_it(shapes: Shapes) -> None:
    macro = shapes.project.macros("stg_feed__qlik")
    writer = YAML()
    writer.width = 1_000
    for name, data_type in product(NAMES, ["int", "decimal(18,4)", "array<int>", "map<string,int>"]):
        written = io.StringIO()
        writer.dump(CommentedSeq([in_one_line({"name": name, "data_type": data_type})]), written)
        assert macro("yaml_of_column", name, data_type) == written.getvalue().rstrip("\n")


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_names_are_taken_that_the_macros_take(shapes: Shapes, name: str) -> None:
    assert taken_names(name) == set(shapes.project.macros("stg_feed__qlik")("taken_names", name))


def test_every_format_of_the_package_is_known(shapes: Shapes) -> None:
    macro = shapes.project.macros("stg_feed__qlik")
    described = {"mapped"}  # its entry says what no raw table shows
    assert set(FORMATS) | described == set(macro("known_formats"))
    assert macro("working_prefix") == WORKING_PREFIX
