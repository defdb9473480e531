"""Lands the records of Kafka topics in a Delta table, as `format: qlik_kafka` reads them.

spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.3,io.delta:delta-spark_4.1_2.13:4.4.0 \
    --conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension \
    --conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog \
    kafka_records.py --servers broker:9092 --topics shop,shop.orders --path /lake/raw/kafka_records \
    --checkpoint /lake/checkpoints/kafka_records

Each run lands what is new since the run before and ends; schedule it, or give `--every "1 minute"` to let it go on. The
checkpoint remembers the offsets: a run that dies is made good by the next, and nothing lands twice. One checkpoint
belongs to one table and one list of topics. Further settings of the consumer (security, say) by `--option kafka.…=…`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pyspark.sql import SparkSession

COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value")


def main(arguments: Sequence[str] | None = None) -> int:
    """Land what is new; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", required=True, help="host:port of brokers, with commas between")
    parser.add_argument("--topics", required=True, help="topics, with commas between")
    parser.add_argument("--path", required=True, help="folder of the Delta table, which is made if it is not there")
    parser.add_argument("--checkpoint", required=True, help="folder that remembers what has landed")
    parser.add_argument("--every", help="an interval: go on, and land what is new so often")
    parser.add_argument(
        "--option", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark's source"
    )
    options = parser.parse_args(arguments)
    settings = {
        "kafka.bootstrap.servers": options.servers,
        "subscribe": options.topics,
        "startingOffsets": "earliest",
        # records that Kafka dropped before they landed are lost: stop with an error
        "failOnDataLoss": "true",
    }
    settings |= dict(option.split("=", 1) for option in options.option)
    spark = SparkSession.builder.appName("kafka_records").getOrCreate()
    records = spark.readStream.format("kafka").options(**settings).load().select(*COLUMNS)
    writer = records.writeStream.format("delta").option("checkpointLocation", options.checkpoint)
    writer = writer.trigger(processingTime=options.every) if options.every else writer.trigger(availableNow=True)
    writer.start(options.path).awaitTermination()
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
