"""A Delta table as the sink of a sweep and the source of judging; its schema is evolved once."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("deltalake")

from checker.errors import RequestError
from tests.histories import Abcast, Deliver, History, Instance, Txn
from tests.judge_tables import rows_of, written
from tests.spark import LocalSpark
from zabcheck.tables.spark import append_delta, judge, read_delta

T = Txn(1, 1, 1)
BROKEN = History(2, (Abcast(Instance(1, 0, 0), T), Deliver(0, 0, T), Deliver(1, 0, Txn(1, 2, 2))))


def counts(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in judge(frame).groupBy("verdict").count().collect())


@pytest.mark.slow(seconds=4)
def test_a_delta_table_whose_schema_grows(
    local_spark: LocalSpark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import functions as f

    spark = local_spark.get()
    events = spark.read.parquet(str(written(tmp_path / "t.parquet", [rows_of(BROKEN, k) for k in range(4)])))
    first, rest = events.where("run < 2"), events.where("run >= 2").withColumn("site", f.lit("north"))
    lake = tmp_path / "lake"
    assert append_delta(first, lake) == 1
    assert append_delta(rest, lake) == 3
    table = read_delta(spark, lake)
    assert counts(table) == counts(events)
    assert {row["site"] for row in table.where("run < 2").collect()} == {None}
    assert {row["site"] for row in table.where("run >= 2").collect()} == {"north"}
    with pytest.raises(RequestError, match=r"column 'site' is .*string.* in this Delta table, not"):
        append_delta(events.withColumn("site", f.lit(1)), lake)
    with monkeypatch.context() as patched:
        patched.setattr("traces.tables.delta.added", None)  # the files are written, and not committed
        with pytest.raises(TypeError):
            append_delta(first, lake)
    assert read_delta(spark, lake).count() == table.count() == events.count()
    monkeypatch.setattr("deltalake.DeltaTable.protocol", lambda table: SimpleNamespace(min_reader_version=3))
    with pytest.raises(RequestError, match="needs reader features"):
        read_delta(spark, lake)


def test_a_folder_that_holds_something_else_is_refused(local_spark: LocalSpark, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    frame = local_spark.get().range(1)
    with pytest.raises(RequestError, match="is not a Delta table, and is not empty"):
        append_delta(frame, tmp_path)
    with pytest.raises(RequestError):
        read_delta(local_spark.get(), tmp_path)
