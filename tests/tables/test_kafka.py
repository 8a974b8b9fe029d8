"""Events in Kafka's messages: decoded, and refused where Spark has no package for it. There is no broker here."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pyspark")

from checker.errors import RequestError
from tests.spark import LocalSpark
from traces.events.table import COLUMNS
from traces.tables.kafka import decode_messages
from zabcheck.tables.spark import read_kafka

EVENT = {"run": 3, "process": 1, "kind": "abcast", "time": 5, "row": 0}


@pytest.mark.slow(seconds=2)
def test_messages_of_kafka_are_events(local_spark: LocalSpark) -> None:
    """What is no event, or has a value of another type, is a row without a run, and is not dropped."""
    spark = local_spark.get()
    sent = [json.dumps(EVENT), json.dumps(EVENT | {"time": "soon"}), "{", json.dumps([1])]
    found = decode_messages(spark.createDataFrame([(text.encode(),) for text in sent], "value binary"))
    assert found.columns == [name for name, *_ in COLUMNS]
    rows = [{k: v for k, v in row.asDict().items() if v is not None} for row in found.collect()]
    assert rows[0] == EVENT
    assert len(rows) == 4
    assert not any("run" in row for row in rows[1:])
    with pytest.raises(RequestError, match=r"--packages org\.apache\.spark:spark-sql-kafka-0-10_2\.13:4"):
        read_kafka(spark, "127.0.0.1:1", "zab")
