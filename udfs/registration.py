"""Makes the functions of the catalogue known to Spark."""

from __future__ import annotations

import functools
import zipimport
from collections.abc import Callable
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import arrow_udf

import udfs
from udfs.catalog import CATALOG, SqlFunction


def register_catalog(spark: SparkSession) -> None:
    """Register every function of the catalogue as a built-in function of this Spark.

    This session has them at once, and so has every session made afterwards from the same JVM, isolated ones of a
    Thrift server included: call it before the server starts. Persistent views may use them. Calling it again, also
    for a later SparkContext, replaces what is there.

    `spark.udf.register` alone yields a temporary function, which other sessions do not see and views may not name. A
    session clones Spark's built-in registry when it is made, so the function goes there as well. Both registries are
    internal to Spark (seen to work on 4.1.4).
    """
    for entry in CATALOG:
        _register_in_session(spark, entry)
        _register_as_built_in(spark, entry)


def _register_in_session(spark: SparkSession, entry: SqlFunction) -> None:
    # Workers need not find this package: its code travels inside the function, whatever the master and wherever the
    # session was started from.
    pickler: Any = cloudpickle  # has no types
    vectorise: Any = arrow_udf  # its types want the kind of UDF, which is known from the function's own types
    pickler.register_pickle_by_value(udfs)
    try:
        spark.udf.register(entry.name, vectorise(_in_patient_worker(entry.function), entry.return_type))
    finally:
        pickler.unregister_pickle_by_value(udfs)


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


def _register_as_built_in(spark: SparkSession, entry: SqlFunction) -> None:
    jvm: Any = spark._jvm
    catalyst = jvm.org.apache.spark.sql.catalyst
    identifier = catalyst.FunctionIdentifier(entry.name)
    in_session = spark._jsparkSession.sessionState().functionRegistry()
    builder = in_session.lookupFunctionBuilder(identifier).get()
    usage = f"{entry.signature}: {entry.description} {entry.null_behaviour}"
    info = catalyst.expressions.ExpressionInfo("", None, entry.name, usage, "")
    catalyst.analysis.FunctionRegistry.builtin().registerFunction(identifier, info, builder)
    in_session.registerFunction(identifier, info, builder)
