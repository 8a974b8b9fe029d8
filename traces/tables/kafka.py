"""Read events from a Kafka topic, each message a JSON object with the columns of an event table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from traces.events.table import COLUMNS, TableError
from traces.spark.trouble import reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13"
CORRUPT = "_corrupt"


def read_kafka(spark: SparkSession, servers: str, topic: str, options: Mapping[str, str]) -> DataFrame:
    """Return a stream of the events of a topic.

    Args:
        spark: a session with Spark's package for Kafka.
        servers: the brokers, as HOST:PORT,...
        topic: whose messages to read.
        options: of Spark's source, as `startingOffsets`.

    Raises:
        TableError: the session does not have the package, or refuses an option.
    """
    from pyspark.errors import PySparkException

    said = {"kafka.bootstrap.servers": servers, "subscribe": topic, **options}
    try:
        return decode_messages(spark.readStream.format("kafka").options(**said).load())
    except PySparkException as problem:
        why = reason(problem)
        if "data source" in why.lower() and "kafka" in why.lower():
            why = f"this session has no source for Kafka: --packages {PACKAGE}:{spark.version} adds it"
        raise TableError(why) from None


def decode_messages(messages: DataFrame) -> DataFrame:
    """Return the events of messages; a message that is no such object becomes a row without a run.

    Args:
        messages: with a column `value`, as of Kafka's source.
    """
    from pyspark.sql import functions as f

    columns = ", ".join(f"{name} {'string' if is_text else 'bigint'}" for name, is_text, *_ in COLUMNS)
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    event = f.from_json(f.col("value").cast("string"), f"{columns}, {CORRUPT} string", options)
    decoded = messages.select(event.alias("event")).select("event.*")
    # a value of another type is null, and would be taken for one that is not known
    whole = f.when(f.col(CORRUPT).isNull(), f.col("run")).alias("run")
    return decoded.select(*(whole if name == "run" else name for name, *_ in COLUMNS))
