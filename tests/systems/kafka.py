"""Runs the Kafka feed of the demo through a real broker: produced, landed by Spark's own Kafka source, built, compared.

Everything is under `.build/demo_kafka`, which is deleted at the start and kept at the end.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from change_tables.server.jars import JarsError, resolve_jars, resolved_jars
from change_tables.server.local_server import LocalServer, LocalServerError, local_server
from demo.database import TABLES
from demo.history import Contents, Value
from demo.landing import Connection, execute, fetch
from demo.oracle import compare, count_statuses, differing_statuses, land_truth
from demo.progress import Progress
from demo.project import ONLY_THEIR_TESTS, PROJECT, DbtError, DbtProject
from demo.run import BATCHES, RAW_SCHEMA
from demo.workload import Workload
from demo.writers.qlik_kafka import PARTITIONS, RAW_TABLES, QlikKafkaWriter
from tests.systems.kafka_broker import COORDINATES as BROKER
from tests.systems.kafka_broker import BrokerError, kafka_broker

FOLDER = PROJECT / ".build" / "demo_kafka"
JARS = PROJECT / ".build" / "kafka_jars"
CONNECTOR = ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.3",)
"""Spark's Kafka source and sink, from Maven Central."""
TOKENS = ("org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",)
"""A part of it that mirrors of Maven Central do not all have in the same version; no token is asked for here."""

_PRODUCE = """
import json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
schema = "topic string, partition int, place int, key binary, value binary"
rows = [
    (topic, partition, place, bytes.fromhex(key), None if value is None else bytes.fromhex(value))
    for place, (topic, partition, key, value) in enumerate(json.load(open(sys.argv[2])))
]
records = spark.createDataFrame(rows, schema).coalesce(1).sortWithinPartitions("place").drop("place")
records.write.format("kafka").option("kafka.bootstrap.servers", sys.argv[1]).save()
"""


def main() -> int:
    """The command line; returns its exit code: 1 where anything differs, 3 where the jars cannot be had."""
    try:
        resolve_jars(JARS / "broker", BROKER, all_of_them=True)
        resolve_jars(JARS / "connector", CONNECTOR, without=TOKENS[0].rpartition(":")[0])
        resolve_jars(JARS / "tokens", TOKENS)
    except JarsError as failure:
        print(f"demo-kafka: not run: {failure}", file=sys.stderr)
        return 3
    try:
        mistakes = run(FOLDER)
    except (BrokerError, DbtError, LocalServerError, subprocess.CalledProcessError) as failure:
        print(f"demo-kafka: {failure}", file=sys.stderr)
        return 1
    for mistake in mistakes:
        print(mistake)
    if not mistakes:
        print("Every model equals the source database after every batch, out of a real broker; nothing landed twice.")
    return 1 if mistakes else 0


def run(folder: Path) -> list[str]:
    """Run it in a folder, which is deleted first; what differs.

    Raises:
        BrokerError, DbtError, LocalServerError: something does not start, or a build fails.
        CalledProcessError: a Spark job failed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    mistakes: list[str] = []
    writer, workload = QlikKafkaWriter(seed=1), Workload(seed=1, swaps=QlikKafkaWriter.swaps)
    loaded = workload.fill()
    with Progress() as progress, ExitStack() as stack:
        with progress.phase("starting", 3):
            with progress.step("dbt parse"):
                project = DbtProject(folder)
            with progress.step("broker"):
                servers = stack.enter_context(kafka_broker(folder / "broker", JARS / "broker", PARTITIONS))
            with progress.step("Spark Thrift server"):
                server = stack.enter_context(local_server(folder))
        progress.say(f"a broker listens on {servers}")
        connection = server.connect()
        execute(connection, f"create schema if not exists {RAW_SCHEMA}")
        for batch in range(1, BATCHES + 1):
            name = f"batch {batch} of {BATCHES}"
            transactions = list(workload.play_round())
            written = writer.write(transactions, loaded if batch == 1 else (), last=batch == BATCHES)
            landings = 2 if batch == BATCHES else 1  # started twice, it lands nothing twice
            with progress.phase(f"{name}: landing", 1 + landings * len(RAW_TABLES)):
                with progress.step("produce"):
                    _produce(folder, servers, written)
                for topic in [*RAW_TABLES] * landings:
                    with progress.step(topic):
                        _land(folder, servers, topic)
            progress.say(f"{name}: {sum(map(len, written.values()))} messages produced and landed")
            if batch == 1:
                _create_raw_tables(connection, folder)
            with progress.phase(f"{name}: building"):
                project.build(server, progress, ["--select", "reason_codes", *_selected(writer), *ONLY_THEIR_TESTS])
            with progress.phase(f"{name}: comparing"):
                found = _differences(server, project.relations, writer, workload.database.contents())
            mistakes += [f"batch {batch}: {mistake}" for mistake in found]
            state = "differs from" if found else "equals"
            progress.say(f"{name}: every model built and compared: {state} the source database")
    return mistakes


def _selected(writer: QlikKafkaWriter) -> list[str]:
    further = [f"stg_{writer.system}__schemas", f"unclaimed_{writer.system}"]
    return [f"{kind}_{writer.system}__{name}" for kind in ("stg", "dedup", "current") for name in TABLES] + further


def _spark(folder: Path, script: Path, *arguments: str) -> None:
    """Run a script by spark-submit, with Delta and the Kafka source.

    Raises:
        CalledProcessError: it failed.
    """
    jars = [*resolved_jars(), *sorted((JARS / "connector").glob("*.jar"))]
    jars += (JARS / "tokens").glob("spark-token-provider*.jar")
    command = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]"]
    command += ["--jars", ",".join(map(str, jars))]
    for setting in (
        "spark.ui.enabled=false",
        "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.shuffle.partitions=2",
    ):
        command += ["--conf", setting]
    with (folder / "spark.log").open("a") as log:
        subprocess.run([*command, str(script), *arguments], stdout=log, stderr=log, check=True, cwd=folder)


def _produce(folder: Path, servers: str, written: Mapping[str, Sequence[tuple[Value, ...]]]) -> None:
    """Send messages, each to the partition that the writer chose, in its order: so the offsets are the writer's."""
    rows = [
        (topic, partition, _hex(key), _hex(value))
        for records in written.values()
        for topic, partition, _, _, key, value in records
    ]
    (folder / "messages.json").write_text(json.dumps(rows))
    (folder / "produce.py").write_text(_PRODUCE)
    _spark(folder, folder / "produce.py", servers, str(folder / "messages.json"))


def _hex(value: Value) -> str | None:
    return value.hex() if isinstance(value, bytes) else None


def _land(folder: Path, servers: str, topic: str) -> None:
    places = ["--path", str(folder / "lake" / topic), "--checkpoint", str(folder / "checkpoints" / topic)]
    _spark(
        folder,
        PROJECT / "change_tables" / "landing" / "kafka_records.py",
        "--servers",
        servers,
        "--topics",
        topic,
        *places,
    )


def _create_raw_tables(connection: Connection, folder: Path) -> None:
    for topic, table in RAW_TABLES.items():
        execute(connection, f"create table {RAW_SCHEMA}.{table.name} using delta location '{folder / 'lake' / topic}'")


def _differences(
    server: LocalServer, relations: Mapping[str, str], writer: QlikKafkaWriter, contents: Contents
) -> list[str]:
    connection = server.connect()
    found = []
    for name, table in TABLES.items():
        staging, current = (relations[f"{kind}_{writer.system}__{name}"] for kind in ("stg", "current"))
        statuses = count_statuses(connection, staging)
        found += [f"{staging}: {line}" for line in differing_statuses(writer.expected_statuses[name], statuses)]
        comparison = compare(connection, table, current, land_truth(connection, table, contents[name]))
        if not comparison.equal:
            found.append(f"{current}: {comparison.missing} rows missing, {comparison.surplus} too many")
    for raw_table in RAW_TABLES.values():
        ((twice,),) = fetch(
            connection,
            f"select count(*) - count(distinct topic, `partition`, `offset`) from {RAW_SCHEMA}.{raw_table.name}",
        )
        if twice:
            found.append(f"{raw_table.name}: {twice} records landed twice")
    return found


if __name__ == "__main__":
    sys.exit(main())
