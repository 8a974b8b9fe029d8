"""A pipeline: simulated runs with their verdicts, rates by protocol and faults, and a plot of each property.

    python pipeline.py                                        on this machine
    spark-submit --master spark://head:7077 pipeline.py       on a cluster; pipeline.toml has an address then

`pipeline.toml` beside this file says where tables go, on which master, and what is swept. Tables are appended to, by a
partition `sweep`, which identifies the grid and the version of zabcheck: the same sweep written twice is there once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as f

from zabcheck.tables.spark import described, judge, session, sweep

LOG = logging.getLogger("pipeline")
HERE = Path(__file__).parent
TESTED = ("violated", "holds")  # a run that did not reach the premise does not count


def main() -> None:
    """Run the pipeline, and log where things are."""
    settings = tomllib.loads((HERE / "pipeline.toml").read_text(encoding="utf-8"))
    where = settings["where"]
    where = where if "://" in where else str((HERE / where).absolute())
    with session(settings["master"], brief=True) as spark:  # the work is Python's
        rates = run(spark, where, settings["grid"], settings["events"])
    files = plot(rates, HERE / "plots")
    broken = sum(row["violated"] for row in rates)
    properties, tested = (len({row["property"] for row in rates if row[what]}) for what in ("violated", "tested"))
    LOG.info("plots: %s", ", ".join(map(str, files)))
    LOG.info("%s violations, in %s of %s properties put to the test", broken, properties, tested)


def run(spark: SparkSession, where: str, grid: dict[str, Any], events: int) -> list[dict[str, Any]]:
    """Write the tables; return the rates.

    Args:
        events: of how many violating runs of each property the events are recorded, which costs a hundred times a run.
    """
    swept, release = sweep(spark, **grid), version("zabcheck")
    name = "s" + hashlib.sha256(json.dumps([grid, release], sort_keys=True).encode()).hexdigest()[:15]
    properties: list[Any] = [c for c in swept.runs.columns if c in swept.properties]

    def put(rows: DataFrame, table: str) -> DataFrame:
        with described(spark, f"{table} of sweep {name}"):
            whole = rows.withColumn("version", f.lit(release)).withColumn("sweep", f.lit(name))
            writer = whole.write.partitionBy("sweep").option("partitionOverwriteMode", "dynamic")
            writer.mode("overwrite").parquet(f"{where}/{table}")
        LOG.info("%s/%s/sweep=%s", where, table, name)
        return spark.read.parquet(f"{where}/{table}").where(f.col("sweep") == name)

    runs = put(swept.runs.withColumn("properties", f.lit(" ".join(properties))), "runs")
    LOG.info("%s of %s runs ended by an error", *runs.agg(f.count_if(f.col("error") != ""), f.count("*")).collect()[0])
    ids: list[Any] = ["number", "seed", "protocol", "faults"]
    verdicts = runs.unpivot(ids, properties, "property", "verdict").where("verdict is not null")
    tested = f.count_if(f.col("verdict").isin(*TESTED)).alias("tested")
    broken = f.col("verdict") == "violated"
    counts = (tested, f.count_if(broken).alias("violated"), f.min(f.when(broken, f.col("number"))).alias("first"))
    rates = put(verdicts.groupBy("protocol", "faults", "property").agg(*counts), "rates")
    found = [row.asDict() for row in rates.orderBy("protocol", "property", "faults").collect()]
    numbers = sorted({row["first"] for row in found if row["violated"]})[:events]
    if numbers:
        seen = Observation()
        there = put(swept.events_of(numbers), "events")
        put(judge(there.drop("version", "sweep"), observation=seen), "verdicts")
        LOG.info("of %s runs with events: %s open, %s malformed", len(numbers), seen.get["open"], seen.get["malformed"])
    return found


def plot(rates: list[dict[str, Any]], folder: Path) -> list[Path]:
    """Draw the rate of each violated property against faults, with a line for each protocol; return the files."""
    from matplotlib.figure import Figure

    folder.mkdir(exist_ok=True)
    files = []
    for name in sorted({row["property"] for row in rates if row["violated"]}):
        figure = Figure(figsize=(6, 4))
        axes = figure.subplots()
        for protocol in sorted({row["protocol"] for row in rates}):
            points = [(r["faults"], r["violated"] / r["tested"]) for r in rates
                      if (r["protocol"], r["property"]) == (protocol, name) and r["tested"]]  # fmt: skip
            axes.plot(*zip(*sorted(points), strict=True), marker="o", label=protocol) if points else None
        axes.set(xlabel="faults", ylabel="share of the runs that put it to the test", title=name)
        axes.legend()
        files.append(folder / f"{name}.svg")
        figure.savefig(files[-1])
    return files


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    LOG.setLevel(logging.INFO)
    main()
