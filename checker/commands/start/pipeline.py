"""A pipeline: simulated runs, what happens in them, verdicts, rates by protocol and faults, a plot of each property.

    python pipeline.py                                        on this machine
    spark-submit --master spark://head:7077 pipeline.py       on a cluster; pipeline.toml has an address then

`pipeline.toml` beside this file says where tables go, on which master, and what is swept. Every step replaces its
table, whose rows follow from the settings alone: a pipeline that was killed is started again, and its tables are equal.
"""

from __future__ import annotations

import logging
import tomllib
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as f

from traces.spark.session import session
from zabcheck.spark import judge, sweep
from zabspec.files import without_secrets

LOG = logging.getLogger("pipeline")
HERE = Path(__file__).parent
JUDGED = ("violated", "held")  # a run that did not reach the premise does not count


def main() -> None:
    """Run the pipeline, and log where things are."""
    settings = tomllib.loads((HERE / "pipeline.toml").read_text(encoding="utf-8"))
    where = settings["where"]
    where = where if "://" in where else str((HERE / where).absolute())
    with session(settings["master"]) as spark:
        rates = run(spark, where, settings["grid"])
    files = plot(rates, HERE / "plots")
    broken = sum(row["violated"] for row in rates)
    properties = len({row["property"] for row in rates if row["violated"]})
    LOG.info("tables: %s/runs, events, verdicts, rates", without_secrets(where))
    LOG.info("plots: %s", ", ".join(map(str, files)))
    LOG.info("%s violations, in %s properties", broken, properties)


def run(spark: SparkSession, where: str, grid: dict[str, Any]) -> list[dict[str, Any]]:
    """Make the tables; return the rates."""
    swept = sweep(spark, **grid)
    swept.runs.write.mode("overwrite").parquet(f"{where}/runs")
    swept.events.write.mode("overwrite").parquet(f"{where}/events")
    seen = Observation()
    events = spark.read.parquet(f"{where}/events").observe(seen, f.count(f.lit(1)).alias("rows"))
    judge(events).write.mode("overwrite").parquet(f"{where}/verdicts")
    LOG.info("%s events judged", seen.get["rows"])
    rates = rates_of(spark.read.parquet(f"{where}/runs"), spark.read.parquet(f"{where}/verdicts"))
    rates.write.mode("overwrite").parquet(f"{where}/rates")
    return [row.asDict() for row in spark.read.parquet(f"{where}/rates").collect()]


def rates_of(runs: DataFrame, verdicts: DataFrame) -> DataFrame:
    """Count the runs that violate each property, among those that reach its premise, by protocol and faults."""
    found = verdicts.join(runs.select("number", "protocol", "faults"), f.col("run") == f.col("number"))
    judged = found.where(f.col("verdict").isin(*JUDGED)).groupBy("protocol", "faults", "property")
    violated = f.count_if(f.col("verdict") == "violated").alias("violated")
    return judged.agg(f.count(f.lit(1)).alias("judged"), violated).orderBy("protocol", "property", "faults")


def plot(rates: list[dict[str, Any]], folder: Path) -> list[Path]:
    """Draw the rate of each violated property against faults, with a line for each protocol; return the files."""
    from matplotlib.figure import Figure

    folder.mkdir(exist_ok=True)
    files = []
    for name in sorted({row["property"] for row in rates if row["violated"]}):
        figure = Figure(figsize=(6, 4))
        axes = figure.subplots()
        for protocol in sorted({row["protocol"] for row in rates}):
            points = [(r["faults"], r["violated"] / r["judged"]) for r in rates
                      if (r["protocol"], r["property"]) == (protocol, name)]  # fmt: skip
            axes.plot(*zip(*sorted(points), strict=True), marker="o", label=protocol) if points else None
        axes.set(xlabel="faults", ylabel="share of runs that violate", title=name)
        axes.legend()
        files.append(folder / f"{name}.svg")
        figure.savefig(files[-1])
    return files


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    LOG.setLevel(logging.INFO)
    main()
