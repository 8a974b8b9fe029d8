"""Judging on Spark comes to what judging in one process comes to."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.errors import RequestError
from tests.histories import Abcast, Deliver, History, Instance, Txn
from tests.judge_tables import ALL, made_up, rows_of, verdicts_of, written
from tests.judging.test_batches import disordered, numbered
from tests.judging.test_judge_definitions import Made
from tests.judging.test_judge_definitions import rows_of as of_rows
from tests.patience import HANG, until
from tests.spark import LocalSpark
from traces.events.places import Address
from traces.events.table import COLUMNS, OBSERVED, Rows
from traces.judging.runs import JUDGED
from traces.judging.single_run import InMemory
from traces.judging.totals import asked_for, judge_unit
from traces.tables.judging.frames import TORN, rows_at
from zabcheck.tables.spark import SCHEMA, conform, judge, judge_stream, sweep, write_stream

pytestmark = pytest.mark.slow

MADE = int(os.environ.get("ZABCHECK_TABLES", "100"))  # runs that may leave something unknown


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, local_spark: LocalSpark) -> None:
    """What judges on Spark is given the session that there is."""
    spark = local_spark.get()
    monkeypatch.setattr("traces.tables.spark.session.session", lambda *_, **__: nullcontext(spark))


@pytest.mark.usefixtures("shared")
def test_the_command_on_spark_comes_to_what_one_process_comes_to(tmp_path: Path) -> None:
    """Of files that zabcheck wrote, which are not moved. Rows of no kind are counted."""
    made = [
        of_rows(Made(seed).made(), seed) if seed < MADE else rows_of(made_up(random.Random(seed), 20), seed)
        for seed in range(2 * MADE)
    ]
    for rows in made:
        rows.columns["row"][:] = range(len(rows))
    made[3].columns["kind"][-1] = "heartbeat"
    for name, some in (("a", made[:MADE]), ("b", made[MADE:])):
        written(tmp_path / "t" / f"{name}.parquet", some, group=1000)
    arguments = ["judge", str(tmp_path / "t"), "--json"]
    plain, spark = (CliRunner().invoke(main, [*arguments, *more]) for more in ([], ["--master", "local[2]"]))
    assert plain.exit_code == spark.exit_code == 1, spark.output
    here, there = (json.loads(done.stdout) for done in (plain, spark))
    assert [here[key] for key in ("runs", "rows", "properties")] == [
        there[key] for key in ("runs", "rows", "properties")
    ]
    shown = [[(v["run"], v["property"], v["why"], v["time"], [e["row"] for e in v["events"]]) for v in of["violations"]]
             for of in (here, there)]  # fmt: skip
    assert shown[0] == shown[1] != []
    assert all(any("1 row is not used: there is no kind 'heartbeat'" in n for n in of["notes"]) for of in (here, there))


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(
    ("runs", "why"), [((1, 2, 1), "are not contiguous"), ((5,), "in the order of their positions")]
)
def test_what_is_no_table_is_a_sentence(tmp_path: Path, runs: tuple[int, ...], why: str) -> None:
    some = [rows_of(History(1, (Deliver(0, 0, Txn(1, 1, 1)), Deliver(0, 0, Txn(1, 2, 2)))), k) for k in runs]
    if len(runs) == 1:
        some[0].columns["position"][2] = 0
    torn = written(tmp_path / "torn.parquet", some, group=2)
    result = CliRunner().invoke(main, ["judge", str(torn), "--engine", "spark", "--master", "local[1]"])
    assert result.exit_code == 2
    assert why in result.stderr


def test_ctrl_c_ends_it_within_a_moment(tmp_path: Path) -> None:
    """A unit that takes for ever, and looks now and then whether it is to stop, as the real one does."""
    some = [rows_of(History(1, (Abcast(Instance(1, 0, 0), Txn(1, 1, 1)),)), k) for k in range(3)]
    path = written(tmp_path / "t.parquet", some)
    slow = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may ignore it\n"
        "import traces.judging.totals as j\n"
        "def work(unit, asked, stopped):\n    open('works', 'w').close()\n    while not stopped(): time.sleep(0.1)\n"
        "j.judge_unit = work\n"
        "from checker.cli import main; print('begun', flush=True); main(sys.argv[1:])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", slow, "judge", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, cwd=tmp_path,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    assert until(lambda: (tmp_path / "works").exists() or process.poll() is not None)
    os.killpg(process.pid, signal.SIGHUP)
    _, err = process.communicate(timeout=HANG)
    assert process.returncode == 3
    assert err == "zabcheck: interrupted; there is no verdict\n"


# --- a DataFrame of events ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables() -> list[pa.Table]:
    """Runs that may leave something unknown, one that lacks a row, one of no events, one that goes back in time."""
    some = [numbered(of_rows(Made(seed).made(), seed)) for seed in range(6)]
    some += [numbered(rows_of(made_up(random.Random(seed), 20), seed)) for seed in range(6, 10)]
    lost = numbered(rows_of(made_up(random.Random(5), 20), LOST))
    backward = rows_of(made_up(random.Random(6), 20), BACKWARD)
    backward.columns["time"][-1] = -1
    return [*some, pa.concat_tables([lost.slice(0, 4), lost.slice(5)]), numbered(Rows(11, 3)), numbered(backward)]


LOST, BACKWARD = 10, 12  # numbers of runs that are none
TWO = ["total-order", "integrity"]


@pytest.fixture(scope="module")
def answered(
    local_spark: LocalSpark, tables: list[pa.Table], tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[Any], list[Any], bool]:
    """Verdicts on rows that lie anywhere, and on rows that are said to lie together, asked for at once; whether nothing
    ran before, and the session stayed as it was."""
    from pyspark.sql import functions as f

    spark, folder = local_spark.get(), tmp_path_factory.mktemp("frames")
    state = spark.sparkContext.pythonExec, spark.sparkContext.statusTracker().getJobIdsForGroup()
    rows = pa.concat_tables(tables)
    rows = rows.take(random.Random(1).sample(range(rows.num_rows), rows.num_rows))
    (folder / "scattered").mkdir()
    for name, part in (("a", rows.slice(0, rows.num_rows // 3)), ("b", rows.slice(rows.num_rows // 3))):
        pq.write_table(part, folder / "scattered" / f"{name}.parquet")
    pq.write_table(pa.concat_tables(tables[:LOST]), folder / "whole.parquet")
    scattered, there = (spark.read.schema(columns()).parquet(str(folder / n)) for n in ("scattered", "whole.parquet"))
    numberless = there.drop("row")
    ways = (
        judge(scattered, [p.name for p in JUDGED], observes=OBSERVED),
        judge(numberless.union(numberless.where("run < 3")), TWO, together=True),  # each whole in both places
    )
    after = spark.sparkContext.pythonExec, spark.sparkContext.statusTracker().getJobIdsForGroup()
    assert "MapInArrow" in ways[0]._jdf.queryExecution().toString()
    every = [verdicts.withColumn("way", f.lit(k)) for k, verdicts in enumerate(ways)]
    found = every[0].union(every[1]).collect()
    return [r for r in found if r.way == 0], [r for r in found if r.way == 1], state == after


def columns() -> str:
    return ", ".join(f"`{name}` {'string' if is_text else 'bigint'}" for name, is_text, *_ in COLUMNS)


def words_of(rows: Sequence[Any]) -> dict[int, dict[str, str]]:
    """The verdicts of each run; nothing is said twice."""
    out: dict[int, dict[str, str]] = {}
    for r in rows:
        assert r.property not in out.setdefault(r.run, {})
        out[r.run][r.property] = r.verdict
    return out


Answered = tuple[list[Any], list[Any], bool]


def test_verdicts_of_a_frame_are_those_of_its_runs(answered: Answered, tables: list[pa.Table]) -> None:
    """Wherever the rows lie. Nothing ran before rows were asked for, and the session stayed as it was."""
    rows, _, untouched = answered
    assert untouched
    found = words_of(rows)
    assert found.keys() == {t["run"][0].as_py() for t in tables}
    for table in tables:
        run = table["run"][0].as_py()
        reasons = {r.property: r.reason for r in rows if r.run == run}
        if run in (LOST, BACKWARD):
            assert set(found[run].values()) == {"malformed"}
            assert ("is missing" if run == LOST else "time never goes back") in str(reasons)
        else:
            whole = judge_unit(InMemory((), rows_of=table, noted=OBSERVED), ALL)
            assert found[run] == verdicts_of(whole)
            said = {(name, reasons[name]) for name, word in found[run].items() if word == "violated"}
            assert said == {(v.property, v.why) for v in whole.violations}
        assert all(reasons[name] for name, word in found[run].items() if word not in ("holds", "premise not reached"))


def test_rows_said_to_lie_together_are_not_believed_to(answered: Answered, tables: list[pa.Table]) -> None:
    """Where they do it comes to the same; a run in two places is malformed."""
    _, rows, _ = answered
    whole = {t["run"][0].as_py(): judge_unit(InMemory((), rows_of=t, noted=OBSERVED), ALL) for t in tables[:LOST]}
    expected = {run: {name: verdicts_of(said)[name] for name in TWO} for run, said in whole.items()}
    torn = words_of(rows)
    assert {run: said for run, said in torn.items() if run > 2} == {run: s for run, s in expected.items() if run > 2}
    assert [torn[run] for run in range(3)] == [dict.fromkeys(TWO, "malformed")] * 3
    assert {r.reason for r in rows if r.verdict == "malformed"} == {TORN}


def test_a_guests_table_is_brought_to_the_columns_of_an_event_table(local_spark: LocalSpark) -> None:
    """Other names, kinds and types; further columns, the rows that violate, counts, and what a null was read as."""
    from pyspark.sql import Observation

    spark, seen = local_spark.get(), Observation()
    log = [(k, "2026-11-29", "BCAST", 0, 1, 1, 1) for k in (1, 2)]
    log += [(k, "2026-11-29", "DELIVER", p, 1, 1, n) for k in (1, 2) for p in (0, 1) for n in (1, k)]
    columns = "id int, day string, what string, node int, era int, primary_epoch int, n int, at int"
    there = spark.createDataFrame([(*row, at) for at, row in enumerate(log)], columns)
    mapping = {"run": "id", "kind": "what", "process": "node", "epoch": "era", "counter": "n", "time": "at"}
    kinds = {"BCAST": "abcast", "DELIVER": "abdeliver"}
    events = conform(there, mapping, kinds=kinds, attempt=0, **{"pass": 0})
    assert events.columns == [*(f.name for f in SCHEMA if f.name != "row"), "day"]
    found = judge(events, ["integrity", "one-primary-an-epoch"], observation=seen).collect()
    rows = {(r.run, r.property): r for r in found}
    assert {key: r.verdict for key, r in rows.items()} == {
        (1, "integrity"): "holds", (2, "integrity"): "violated",
        (1, "one-primary-an-epoch"): "holds", (2, "one-primary-an-epoch"): "holds",
    }  # fmt: skip
    broken = rows[2, "integrity"]
    assert [(e.kind, e.process, e.txn) for e in broken.evidence] == [("abdeliver", 0, "<1,2>")]
    assert {r.day for r in found} == {"2026-11-29"}
    assert "the missing column 'attempt' is read as 0" in broken.note
    assert (seen.get["verdicts"], seen.get["violated"], seen.get["malformed"]) == (4, 1, 0)
    with pytest.raises(RequestError) as refused:
        conform(
            there.withColumn("n", there.n.cast("string")).withColumn("Attempt", there.node),
            {**mapping, "no": "id", "pass": "gone"},
            kinds={"x": "y"},
        )
    for why in (
        "has no column 'no'",
        "no column 'gone'",
        "no kind 'y'",
        "column 'n' is string",
        "'Attempt' is spelt like 'attempt'",
    ):
        assert why in str(refused.value)


def test_a_column_that_one_log_lacks_is_judged_in_another(local_spark: LocalSpark) -> None:
    """Spark keeps what the first of two united frames says about its columns."""
    said = "run bigint, kind string, process bigint, epoch bigint, counter bigint, identity bigint, pass bigint"
    rows = [("abcast", 0, 7), ("abdeliver", 0, 7), ("abdeliver", 1, 8)]
    logs = [[(run, kind, p, 1, 1, one, 0) for kind, p, one in rows] for run in (1, 2)]
    one, two = (local_spark.get().createDataFrame(log, said) for log in logs)
    lacks, two = conform(one.drop("identity")), conform(two)
    found = judge(lacks.unionByName(two), "integrity", order=["kind", "process"]).collect()
    assert words_of(found) == {1: {"integrity": "holds"}, 2: {"integrity": "violated"}}


def test_times_without_a_zone_are_those_of_no_session(local_spark: LocalSpark) -> None:
    """In Berlin there was no 2:30 in that night."""
    spark = local_spark.get().newSession()
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    times = ("2026-03-29 02:30:00.000001", "2026-03-29 03:10:00", "1969-12-31 23:59:59")
    at = ", ".join(f"timestamp_ntz'{time}'" for time in times)
    log = spark.sql(f"SELECT 1 AS run, 'crash' AS kind, explode(array({at})) AS time")
    assert [r.time for r in conform(log).collect()] == [1774751400000001, 1774753800000000, -1000000]


@pytest.mark.parametrize("name", ["r?.parquet", "[r]1.parquet", "{r1,x}.parquet", "r*.parquet", "r\\\\1.parquet"])
def test_the_name_of_a_file_is_no_pattern(name: str, local_spark: LocalSpark, tmp_path: Path) -> None:
    for run, file in ((1, "r1.parquet"), (2, name)):
        written(tmp_path / file, [rows_of(History(1, (Abcast(Instance(1, 0, 0), Txn(1, 1, 1)),)), run)])
    there, _ = rows_at(local_spark.get(), tmp_path / name)
    assert {r.run for r in there.select("run").collect()} == {2}


def test_a_stream_judges_what_is_there_and_ends(local_spark: LocalSpark, tmp_path: Path) -> None:
    """Runs of which no row came while others came have their verdicts, and the last stays open for the next query."""
    tables = [numbered(rows_of(made_up(random.Random(seed), 20), seed)) for seed in range(6)]
    (tmp_path / "in").mkdir()
    pq.write_table(pa.concat_tables([disordered(t) for t in tables[:4]]), tmp_path / "in" / "a.parquet")
    os.utime(tmp_path / "in" / "a.parquet", (1, 1))
    for time, name in ((2, "b"), (3, "c")):
        pq.write_table(tables[time + 2], tmp_path / "in" / f"{name}.parquet")
        os.utime(tmp_path / "in" / f"{name}.parquet", (time, time))
    spark = local_spark.get()
    events = spark.readStream.schema(columns()).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    stream = judge_stream(events, observes=OBSERVED, idle=0.001)
    query = write_stream(stream, tmp_path / "out", tmp_path / "state", available_now=True)
    assert query.awaitTermination(600)
    found = {(r.run, r.property): r.verdict for r in spark.read.parquet(str(tmp_path / "out")).collect()}
    expected = {
        (run, name): word
        for run, table in enumerate(tables[:4])
        for name, word in verdicts_of(judge_unit(InMemory((), rows_of=table, noted=OBSERVED), asked_for(()))).items()
        if name != "dsn-causal-order"
    }
    assert {key: word for key, word in found.items() if key[0] < 4} == expected
    assert {word for (run, _), word in found.items() if run >= 4} <= {"violated"}


def test_what_spark_does_not_find_is_a_sentence(local_spark: LocalSpark, shared: None, tmp_path: Path) -> None:
    spark = local_spark.get()
    file = written(tmp_path / "e.parquet", [Rows(0, 3)])
    spark.sql(f"CREATE TABLE judged_runs USING parquet LOCATION '{file.as_uri()}'")
    try:
        assert rows_at(spark, Address("spark_catalog.default.judged_runs"))[0].columns == [n for n, *_ in COLUMNS]
    finally:
        spark.sql("DROP TABLE judged_runs")
    for words, why in (
        (["file:///none.parquet", "--engine", "plain"], "none.parquet"),
        (["viewfs://frames/gone"], "viewfs://frames/gone: "),
        (["nofs://bucket/t"], "nofs"),
        (["spark_catalog.default.gone"], "spark_catalog.default.gone: "),
        (["viewfs://frames/t", "--engine", "plain"], "only Spark reads this"),
    ):
        done = CliRunner().invoke(main, ["judge", *words], prog_name="zabcheck")
        assert done.exit_code == 2, done.output
        assert why in done.stderr


def test_a_frame_that_is_none_says_which_column(local_spark: LocalSpark, tmp_path: Path) -> None:
    spark = local_spark.get()
    events = spark.createDataFrame([], columns())
    for wrong, why in (
        (events.drop("pass"), "has a column 'pass', and this has no column of that name"),
        (events.withColumn("epoch", events.epoch.cast("int")), "column 'epoch' is int, and .* it is bigint"),
        (events.withColumn("row", events.kind), "column 'row' is string"),
        (events.withColumn("Times", events.kind), "the name of column 'Times' is one that verdicts use"),
        (tmp_path, "there is no Parquet file"),
    ):
        with pytest.raises(RequestError, match=why):
            judge(wrong)
    for options, why in (({"order": ["offset"]}, "no column 'offset'"), ({"observes": ["send"]}, "no kind 'send'")):
        with pytest.raises(RequestError, match=why):
            judge(events, **options)
    with pytest.raises(RequestError, match="there is no property 'agrement'"):
        judge(events, ["agrement"])
    with pytest.raises(RequestError, match="are for a DataFrame"):
        judge(str(tmp_path), together=True)


def test_a_grid_that_is_none_is_a_sentence(local_spark: LocalSpark) -> None:
    spark = local_spark.get()
    made = sweep(spark, seeds=range(1, 3), faults=[0, 2])
    assert made.events.columns == [name for name, *_ in COLUMNS]
    assert {"number", "seed", "faults", "error"} <= {*made.runs.columns}
    for grid, why in (
        ({}, "seeds is missing"),
        ({"seeds": "1:3", "node": 3}, "no option 'node'"),
        ({"seeds": "3:1"}, "START < STOP"),
        ({"seeds": "1:3", "quorums": "weights 2,1,1"}, "checked with majorities"),
    ):
        with pytest.raises(RequestError, match=why):
            sweep(spark, **grid)
