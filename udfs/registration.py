"""Makes the functions of the catalogue known to Spark."""

from __future__ import annotations

import functools
import sys
import zipimport
from collections.abc import Callable
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import arrow_udf

from change_tables.version import __version__

from .catalog import CATALOG, SqlFunction, sql_literal

VERSION_FUNCTION = "change_tables_version"
"""The SQL function without arguments that returns the version of the functions."""

VERSION_SETTING = "spark.change_tables.version"
"""The setting that every session has, with the same version: a run of dbt reads it among the other settings."""


def register_catalog(spark: SparkSession) -> None:
    """Register every function of the catalogue as a built-in function of this Spark.

    This session has them at once, and so has every session made afterwards from the same JVM, isolated ones of a
    Thrift server included: call it before the server starts. Persistent views may use them. Calling it again, also
    for a later SparkContext, replaces what is there.

    `spark.udf.register` alone yields a temporary function, which other sessions do not see and views may not name. A
    session clones Spark's built-in registry when it is made, so the function goes there as well. Both registries are
    internal to Spark (seen to work on 4.1.4 and 4.2.1).

    The version of the functions is registered, too: as a function, and as a setting of the sessions.
    """
    for entry in CATALOG:
        _register_in_session(spark, entry)
        usage = f"{entry.signature}: {entry.description} {entry.null_behaviour}"
        _register_as_built_in(spark, entry.name, usage)
    _register_version(spark)


def _register_version(spark: SparkSession) -> None:
    internals: Any = spark  # what is Java's has no types
    in_session = internals._jsparkSession.sessionState().functionRegistry()
    for identifier in _identifiers(spark, VERSION_FUNCTION):
        in_session.dropFunction(identifier)  # that of an earlier call
    spark.sql(f"create temporary function {VERSION_FUNCTION}() returns string return {sql_literal(__version__)}")
    usage = f"{VERSION_FUNCTION}() -> string: the version of change_tables that has registered the SQL functions."
    _register_as_built_in(spark, VERSION_FUNCTION, usage)
    internals._jsc.sc().conf().set(VERSION_SETTING, __version__)  # sessions made afterwards copy it from there
    spark.conf.set(VERSION_SETTING, __version__)


def _register_in_session(spark: SparkSession, entry: SqlFunction) -> None:
    # Workers need not find this package: its code travels inside the function, whatever the master and wherever the
    # session was started from.
    pickler: Any = cloudpickle  # has no types
    vectorise: Any = arrow_udf  # its types want the kind of UDF, which is known from the function's own types
    package = sys.modules[__package__]
    pickler.register_pickle_by_value(package)
    try:
        spark.udf.register(entry.name, vectorise(_in_patient_worker(entry.function), entry.return_type))
    finally:
        pickler.unregister_pickle_by_value(package)


def _in_patient_worker(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; its first call lets the worker no longer look for changes in the archives on its path.

    Spark puts its own archives on the path of its workers, and lets a worker look for new modules before each task.
    Python up to 3.11 then reads the list of all files of an archive, once for every package in it: 0.1 s for each task
    and function. An archive does not change while a worker lives.
    """

    @functools.wraps(function)
    def in_worker(*columns: Any) -> Any:
        zipimporter: Any = zipimport.zipimporter
        zipimporter.invalidate_caches = _read_nothing
        return function(*columns)

    return in_worker


def _read_nothing(_: zipimport.zipimporter) -> None:
    return None


def _register_as_built_in(spark: SparkSession, name: str, usage: str) -> None:
    jvm: Any = spark._jvm
    catalyst = jvm.org.apache.spark.sql.catalyst
    temporary, built_in = _identifiers(spark, name)
    in_session = spark._jsparkSession.sessionState().functionRegistry()
    builder = in_session.lookupFunctionBuilder(temporary).get()
    in_session.dropFunction(temporary)  # a view may not name it, and it comes before the other
    info = catalyst.expressions.ExpressionInfo("", None, name, usage, "")
    catalyst.analysis.FunctionRegistry.builtin().registerFunction(built_in, info, builder)
    in_session.registerFunction(built_in, info, builder)


def _identifiers(spark: SparkSession, name: str) -> tuple[Any, Any]:
    """What a temporary function and a built-in one of the name are called in Spark's registries.

    By the name alone in Spark up to 4.1; in 4.2 `system.session.name` and `system.builtin.name`. So both are made like
    that of any built-in function.
    """
    jvm: Any = spark._jvm
    known = jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin().listFunction().head()
    built_in = known.copy(name, known.database(), known.catalog())
    if known.database().isEmpty():
        return built_in, built_in
    return known.copy(name, jvm.scala.Some("session"), known.catalog()), built_in
