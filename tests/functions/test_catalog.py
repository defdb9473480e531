"""The catalogue: its examples are right, through Python and through SQL, in any session and from any place."""

from __future__ import annotations

import datetime
import importlib
import shutil
import subprocess
import sys
import textwrap
import zipfile
import zipimport
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession

from change_tables.udfs.catalog import CATALOG, Argument, Example, SqlFunction, sql_literal
from change_tables.udfs.registration import VERSION_SETTING, _in_patient_worker, register_catalog
from change_tables.version import __version__
from tests.functions.conftest import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = [
    pytest.param(entry, example, id=f"{entry.name}-{number}")
    for entry in CATALOG
    for number, example in enumerate(entry.examples)
]
ARROW_TYPES = {
    "string": pa.string(),
    "binary": pa.binary(),
    "int": pa.int32(),
    "array<string>": pa.list_(pa.string()),
}


def as_array(value: Any, argument: Argument) -> Any:
    sql_type = "binary" if isinstance(value, bytes) else argument.sql_types[0]
    return pa.array([value], ARROW_TYPES[sql_type])


@pytest.mark.parametrize(("entry", "example"), EXAMPLES)
def test_an_example_holds_in_python(entry: SqlFunction, example: Example) -> None:
    arrays = [as_array(value, argument) for value, argument in zip(example.arguments, entry.arguments, strict=True)]
    assert entry.function(*arrays).to_pylist() == [example.expected]


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.name)
def test_an_entry_says_what_null_yields(entry: SqlFunction) -> None:
    assert entry.name == entry.function.__name__
    assert entry.examples[0].arguments[0] is None
    assert entry.examples[0].expected is None


def test_names_are_there_once() -> None:
    assert len({entry.name for entry in CATALOG}) == len(CATALOG)


def test_an_example_of_another_type_has_no_literal() -> None:
    with pytest.raises(TypeError, match="no literal for float"):
        sql_literal(1.5)


def test_archives_on_the_path_are_not_read_again_once_a_function_ran(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("module_in_archive.py", "")
        archive.writestr("later_in_archive.py", "")
    monkeypatch.setattr(zipimport.zipimporter, "invalidate_caches", zipimport.zipimporter.invalidate_caches)
    monkeypatch.syspath_prepend(tmp_path / "archive.zip")
    importlib.import_module("module_in_archive")
    assert _in_patient_worker(lambda column: column)(pa.array([1])) == pa.array([1])
    read = Mock()
    monkeypatch.setattr(zipimport, "_read_directory", read)
    importlib.invalidate_caches()
    read.assert_not_called()
    importlib.import_module("later_in_archive")


def as_python(value: Any) -> Any:
    """A collected value as the catalogue writes it; Spark's timestamps come in the local zone of this process."""
    match value:
        case Row():
            return {name: as_python(field) for name, field in value.asDict().items()}
        case list():
            return [as_python(element) for element in value]
        case datetime.datetime():
            return value.astimezone(datetime.UTC)
    return value


def test_every_example_holds_in_sql(spark: SparkSession) -> None:
    calls = [(entry.call(example), example.expected) for entry in CATALOG for example in entry.examples]
    row = spark.sql("select " + ", ".join(call for call, _ in calls)).head()
    assert row is not None
    for (call, expected), result in zip(calls, row, strict=True):
        assert (call, as_python(result)) == (call, expected)


def test_the_result_types_in_sql_are_those_of_the_catalogue(spark: SparkSession) -> None:
    for entry in CATALOG:
        frame = spark.sql(f"select {entry.call(entry.examples[-1])} as result")
        expected = spark.sql(f"select cast(null as {entry.return_type}) as result")
        assert frame.schema == expected.schema


def test_one_function_takes_columns_of_text_and_of_binary_with_settings_as_literals(spark: SparkSession) -> None:
    rows = spark.sql("""
        select
            decode_change_mask(hex_text, 'most_significant_first', 8) as of_text,
            decode_change_mask(unhex(hex_text), 'most_significant_first', 8) as of_binary
        from values (0, '0180'), (1, null), (2, '00'), (3, '0080') as masks (place, hex_text)
        order by place
    """).collect()
    assert [tuple(row) for row in rows] == [([1, 2], [1, 2]), (None, None), ([], []), ([1], [1])]


def test_many_batches_come_back_whole_and_in_place(spark: SparkSession) -> None:
    wrong = spark.sql("""
        select count(*)
        from (
            select
                id,
                decode_change_mask(hex(id), 'most_significant_first', 1) as ordinals,
                parse_table_key(concat('idu=', id, '+name="', id, ',"')) as parsed,
                split_change_seq(concat('2026013112000000', lpad(id, 19, '0'))) as parts
            from range(25000)
        )
        where
            aggregate(ordinals, 0L, (total, ordinal) -> total + shiftleft(1L, ordinal - 1)) <> id
            or parsed.pairs[0].value <> cast(id as string)
            or parsed.pairs[1].value <> concat(id, ',')
            or parts.change_number <> id
            or parts.changed_at <> timestamp'2026-01-31 12:00:00Z'
    """).head()
    assert wrong is not None
    assert wrong[0] == 0


def test_a_session_made_later_has_the_functions(spark: SparkSession) -> None:
    assert spark.newSession().sql("select decode_change_mask('3', null, 1) as ordinals").head() == Row(ordinals=[1, 2])


def test_a_persistent_view_over_a_function_is_read_from_another_session(spark: SparkSession) -> None:
    for number, session in enumerate((spark, spark.newSession())):
        session.sql(
            f"create or replace view key_names_{number} as select parse_table_key('idu=7').pairs[0].name as name"
        )
        assert spark.newSession().table(f"key_names_{number}").head() == Row(name="idu")
        spark.sql(f"drop view key_names_{number}")


def test_registering_again_leaves_the_functions_as_they_are(spark: SparkSession) -> None:
    register_catalog(spark)
    for session in (spark, spark.newSession()):
        assert session.sql("select decode_change_mask('3', null, 1) as ordinals").head() == Row(ordinals=[1, 2])


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.name)
def test_describe_function_shows_what_the_catalogue_says(spark: SparkSession, entry: SqlFunction) -> None:
    text = "\n".join(row[0] for row in spark.newSession().sql(f"describe function {entry.name}").collect())
    assert entry.signature in text
    assert entry.null_behaviour in text


def test_workers_need_not_find_the_package_for_any_function(tmp_path: Path) -> None:
    place = tmp_path / "place" / "change_tables"
    shutil.copytree(ROOT / "change_tables", place, ignore=shutil.ignore_patterns("__pycache__"))
    program = f"""
        import sys
        sys.path.insert(0, {str(tmp_path / "place")!r})
        from pyspark.sql import SparkSession
        from change_tables.udfs.catalog import CATALOG
        from change_tables.udfs.registration import register_catalog
        settings = {SETTINGS!r}
        spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
        register_catalog(spark)
        row = spark.sql("select " + ", ".join(entry.call(entry.examples[-1]) for entry in CATALOG)).head()
        print("called", len(row))
    """
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.stdout.strip() == f"called {len(CATALOG)}", finished.stderr[-3000:]


def test_every_session_says_the_version_of_the_functions(spark: SparkSession) -> None:
    spark.sql("create or replace view functions_are_of as select change_tables_version() as version")
    for session in (spark, spark.newSession()):
        assert session.sql("select change_tables_version()").head() == Row(__version__)
        assert session.table("functions_are_of").head() == Row(version=__version__)
        assert Row(key=VERSION_SETTING, value=__version__) in session.sql("set").collect()
    spark.sql("drop view functions_are_of")
