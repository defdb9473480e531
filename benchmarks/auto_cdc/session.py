"""The process that runs Spark 4.3's AUTO CDC, in an environment of its own: started by `benchmarks.auto_cdc`.

It reads one request a line, in JSON, and answers each with a line: `run` runs a pipeline over the changes that have
landed in a folder since it ran last, `sql` runs a statement. Log lines of Spark go to a file.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import pipelines
from pyspark.pipelines.graph_element_registry import graph_element_registration_context
from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, start_run
from pyspark.sql import SparkSession


def serve(folder: Path, settings: dict[str, str]) -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    log = (folder / "server.log").open("a")
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    builder = SparkSession.builder.remote("local[*]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    work: dict[str, Callable[..., dict[str, Any]]] = {"run": run, "sql": sql}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = work[request.pop("do")](spark, folder, **request)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other side has to say it
            answer = {"error": str(error).strip().partition("JVM stacktrace")[0][:2000]}
        print(json.dumps(answer, default=str), file=answers, flush=True)


def sql(spark: Any, _folder: Path, statement: str) -> dict[str, Any]:
    """The rows of a statement."""
    return {"rows": [list(row) for row in spark.sql(statement).collect()]}


def run(spark: Any, folder: Path, table: str, changes: str, scd_type: int, dropped: list[str]) -> dict[str, Any]:
    """Run the pipeline of a table; the seconds that it took."""
    began = time.perf_counter()
    schema = spark.read.parquet(changes).schema
    graph = create_dataflow_graph(spark, default_catalog="lake", default_database="bench", sql_conf={})
    with graph_element_registration_context(SparkConnectGraphElementRegistry(spark, graph)):

        @pipelines.temporary_view(name="changes")
        def _changes() -> Any:
            return spark.readStream.schema(schema).parquet(changes)

        pipelines.create_streaming_table(table)
        flow: Any = getattr(pipelines, "create_auto_cdc_flow")  # noqa: B009 - the Spark of this project has none
        flow(
            target=table,
            source="changes",
            keys=["id"],
            sequence_by="header__change_seq",
            apply_as_deletes="header__change_oper = 'D'",
            except_column_list=dropped,
            stored_as_scd_type=scd_type,
        )
    storage = (folder / "storage" / table).as_uri()
    selection: dict[str, Any] = {"full_refresh": [], "full_refresh_all": False, "refresh": []}
    said = []
    for result in start_run(spark, graph, **selection, dry=False, storage=storage):
        if "pipeline_event_result" in result:
            said.append(result["pipeline_event_result"].event.message)
    failed = [message for message in said if "FAILED" in message]
    if failed:
        raise RuntimeError("\n".join(failed))
    return {"seconds": time.perf_counter() - began}


if __name__ == "__main__":
    serve(Path(sys.argv[1]), json.loads(sys.argv[2]))
