"""Judge a table of somebody else's columns by two properties, in five ways, and print the CPU seconds of each.

    python -m benchmarks.guest [--rows 4000000] [--only judge,sql]

The table has six columns of other names and types, with runs of eighty rows whose order is that of a column of time. In
one run of a thousand a process delivers two transactions in another order. Each way runs in a process of its own. What
is counted on Spark begins with the session, and includes Java and the workers. All ways must name the same
runs. Needs Linux (it reads /proc).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.distributed import cpu_of_all

TXNS, NODES, BROKEN = 20, 3, 1000
NAMES = ("integrity", "total-order")
SQL = """
WITH placed AS (
  SELECT *, row_number() OVER (PARTITION BY id, what, node ORDER BY at) AS place,
         min(CASE WHEN what = 'BCAST' THEN at END) OVER (PARTITION BY id, n) AS sent
  FROM log),
together AS (
  SELECT id, n, min(place) <> max(place) AS apart, max(at < sent OR sent IS NULL) AS unsent
  FROM placed WHERE what = 'DELIVER' GROUP BY id, n)
SELECT id, max(unsent) AS `integrity`, max(apart) AS `total-order`
FROM together GROUP BY id
HAVING max(unsent) OR max(apart)
"""


def make(path: Path, rows: int) -> None:
    """Write the table."""
    size = TXNS * (1 + NODES)
    runs = max(1, rows // size)
    what = np.tile(["BCAST", *["DELIVER"] * NODES], TXNS)
    node = np.tile([0, *range(NODES)], TXNS)
    n = np.repeat(np.arange(1, TXNS + 1), 1 + NODES)
    wrong = n.copy()
    last = np.flatnonzero((what == "DELIVER") & (node == NODES - 1))[-2:]
    wrong[last] = n[last[::-1]]
    bad = np.arange(runs) % BROKEN == 7 % runs
    columns = {
        "id": np.repeat(np.arange(runs, dtype=np.int32), size),
        "what": pa.array(np.tile(what, runs)),
        "node": np.tile(node, runs).astype(np.int16),
        "era": np.ones(runs * size, np.int32),
        "n": np.where(np.repeat(bad, size), np.tile(wrong, runs), np.tile(n, runs)).astype(np.int32),
        "at": np.tile(np.arange(size), runs).astype(np.int64),
    }
    pq.write_table(pa.table(columns), path)


def conformed(log: Any) -> Any:
    """Return the table in the columns of an event table."""
    from zabcheck.tables.spark import conform

    mapping = {"run": "id", "kind": "what", "process": "node", "epoch": "era", "counter": "n", "time": "at"}
    whole = conform(log.withColumn("primary", log.era), {**mapping, "primary_epoch": "primary"},
                    kinds={"BCAST": "abcast", "DELIVER": "abdeliver"}, attempt=0, **{"pass": 0})  # fmt: skip
    return whole.drop("primary")


def judge(log: Any) -> list[tuple[int, str]]:
    """Judge a DataFrame."""
    from zabcheck.tables import spark

    rows = spark.judge(conformed(log), NAMES).where("verdict = 'violated'").select("run", "property").collect()
    return [(row.run, row.property) for row in rows]


def sql(log: Any) -> list[tuple[int, str]]:
    """Judge by twelve lines of SQL, which suffice for this table: every process delivers without gaps."""
    log.createOrReplaceTempView("log")
    return [(row.id, name) for row in log.sparkSession.sql(SQL).collect() for name in NAMES if row[name]]


def pandas(path: Path) -> list[tuple[int, str]]:
    """Judge by pandas, as the SQL does."""
    import pandas as pd

    log: Any = pd.read_parquet(path).sort_values(["id", "at"], kind="stable")
    sends = log[log.what == "BCAST"].groupby(["id", "n"])["at"].min().rename("sent")
    got = log[log.what == "DELIVER"].copy()
    got["place"] = got.groupby(["id", "node"]).cumcount()
    got = got.join(sends, on=["id", "n"])
    unsent = got[got.sent.isna() | (got["at"] < got.sent)]
    places = got.groupby(["id", "n"])["place"].agg(["min", "max"])
    apart = places[places["min"] != places["max"]].index.get_level_values("id")
    out = [(int(run), "integrity") for run in unsent["id"].unique()]
    return out + [(int(run), "total-order") for run in apart.unique()]


def local(path: Path) -> list[tuple[int, str]]:
    """Judge in this process a table that has the columns of an event table."""
    import zabcheck

    found = zabcheck.judge(path, properties=NAMES)
    return [(v["run"], v["property"]) for v in found.as_json()["violations"]]


def child(way: str, path: Path) -> None:
    """Run one way; print its CPU seconds and the runs that it names, as JSON."""
    from traces.tables.spark.session import session

    if way in ("pandas", "local"):
        found = pandas(path) if way == "pandas" else local(path.with_name("conformed.parquet"))
        print(json.dumps([cpu_of_all(), sorted(found)]))
        return
    with session("local[2]") as spark:
        log, before = spark.read.parquet(str(path)), cpu_of_all()
        if way == "conform":
            conformed(log).coalesce(1).write.parquet(str(path.with_name("conformed.parquet")))
        found = {"judge": judge, "sql": sql}.get(way, lambda _: [])(log)
        print(json.dumps([cpu_of_all() - before, sorted(found)]))


def main() -> None:
    """Print the CPU seconds of each way, and whether they name the same runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--only", default="conform,local,judge,sql,pandas", help="which ways, in order")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], Path(options.child[1]))
        return
    print(f"{options.rows:,} rows; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        path, answers = Path(folder) / "log.parquet", []
        make(path, options.rows)
        for way in options.only.split(","):
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.guest", "--child", way, str(path)],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise SystemExit(done.stderr)
            cpu, found = json.loads(done.stdout.splitlines()[-1])
            rate = f"{options.rows / cpu:,.0f} rows a CPU-second, {len(found):,} violations"
            print(f"{way:8} {cpu:8.1f} CPU-s   {rate}", flush=True)
            answers += [] if way == "conform" else [found]
    same = all(answer == answers[0] for answer in answers)
    print("all name the same runs" if same else "DIFFERENT")
    raise SystemExit(not same)


if __name__ == "__main__":
    main()
