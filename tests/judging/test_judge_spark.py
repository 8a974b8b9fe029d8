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
from tests.judging.orderly import TXNS, delivery, orderly, txn
from tests.judging.own_tables import runs, write
from tests.judging.test_batches import numbered
from tests.judging.test_judge_definitions import Made
from tests.judging.test_judge_definitions import rows_of as of_rows
from tests.judging.test_judge_premises import TABLES
from tests.patience import HANG, until
from tests.spark import LocalSpark
from traces.judging.frames import TORN, events_at
from traces.judging.judge import judge_on_spark, judge_plainly, read_units
from traces.judging.own import observed_units
from traces.judging.runs import JUDGED, KERNEL
from traces.judging.single_run import InMemory
from traces.judging.totals import COUNTS, judge_unit
from traces.tables.own import source_of
from traces.tables.places import Address
from traces.tables.table import COLUMNS, OBSERVED, Rows, TableError
from zabcheck.spark import judge, sweep

pytestmark = pytest.mark.slow

MADE = int(os.environ.get("ZABCHECK_TABLES", "100"))  # runs that may leave something unknown
LONG = 10**9  # the number of the long run


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many runs in two files, some of which leave things unknown, and a long run that breaks something in a third."""
    folder = tmp_path_factory.mktemp("events")
    runs = [
        of_rows(Made(seed).made(), seed) if seed < MADE else rows_of(made_up(random.Random(seed), 20), seed)
        for seed in range(MADE + 300)
    ]
    written(folder / "a.parquet", runs[:200], group=1000)
    written(folder / "b.parquet", runs[200:], group=1000)
    events = orderly(lag=9)
    del events[delivery(events, 1, TXNS // 2)]
    events.append(Deliver(1, 0, txn(5)))
    written(folder / "c.parquet", [rows_of(History(3, tuple(events)), LONG)], longest=50)
    return folder


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, local_spark: LocalSpark) -> None:
    """What judges on Spark is given the session that there is."""
    spark = local_spark.get()
    monkeypatch.setattr("traces.spark.session.session", lambda *_, **__: nullcontext(spark))


@pytest.mark.usefixtures("shared")
def test_the_command_on_spark(table: Path) -> None:
    arguments = ["judge", str(table), "--property", "total-order", "--json"]
    plain, spark = (
        CliRunner().invoke(main, [*arguments, *more], prog_name="zabcheck") for more in ([], ["--master", "local[2]"])
    )
    assert plain.exit_code == spark.exit_code == 1, spark.output
    reports = [json.loads(done.stdout) for done in (plain, spark)]
    assert [report.pop("request").get("master", "") for report in reports] == ["", "local[2]"]
    assert reports[0] == reports[1]


@pytest.mark.usefixtures("shared")
def test_spark_and_one_process_come_to_the_same(table: Path) -> None:
    units = read_units(table, longest=100)
    assert sorted({u.long for u in units}) == [False, True]
    plain = judge_plainly(units, (), 2, shift=4)
    seen: list[int] = []
    spark = judge_on_spark(units, (), "local[2]", lambda done, rows, _: seen.append(done), shift=4)
    assert (spark.runs, spark.rows) == (plain.runs, plain.rows) == (MADE + 301, sum(u.rows for u in units))
    assert (spark.counts == plain.counts).all()
    assert [v.as_dict() for v in spark.violations] == [v.as_dict() for v in plain.violations]
    assert spark.notes == plain.notes
    assert spark.gaps == plain.gaps
    assert len({bit for _, bit in plain.gaps}) > 8, "much was left unknown"
    assert {v.property for v in spark.violations if v.run == LONG} >= {"total-order"}
    assert all(0 <= done <= spark.rows for done in seen)


@pytest.mark.usefixtures("shared")
def test_a_run_in_two_places_is_a_wrong_question(tmp_path: Path) -> None:
    torn = written(
        tmp_path / "torn.parquet", [rows_of(History(1, (Deliver(0, 0, Txn(1, 1, 1)),)), k) for k in (1, 2, 1)]
    )
    result = CliRunner().invoke(main, ["judge", str(torn), "--engine", "spark", "--master", "local[1]"])
    assert result.exit_code == 2
    assert "are not contiguous" in result.stderr


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


@pytest.mark.usefixtures("shared")
def test_a_table_error_in_a_task_is_a_sentence(tmp_path: Path) -> None:
    rows = rows_of(History(1, (Abcast(Instance(1, 0, 0), Txn(1, 1, 1)), Deliver(0, 0, Txn(1, 1, 1)))))
    rows.columns["position"][2] = 0
    path = written(tmp_path / "t.parquet", [rows])
    with pytest.raises(TableError, match="in the order of their positions"):
        judge_on_spark(read_units(path), (), "local[1]")


@pytest.mark.usefixtures("shared")
def test_a_table_of_ones_own_protocol_comes_to_the_same_on_spark(tmp_path: Path) -> None:
    """Run by run, unit by unit; what a task cannot judge is a sentence."""
    made, schema = runs(tmp_path)
    path = write(tmp_path / "t.parquet", (row for run in made for row in run), schema, 5)
    source = source_of(path)
    assert source is not None
    units = observed_units(path, source)
    assert len(units) > 1
    plain, spark = judge_plainly(units, (), 1), judge_on_spark(units, (), "local[2]")
    assert vars(spark) | {"counts": 0} == vars(plain) | {"counts": 0}
    assert (spark.counts == plain.counts).all()
    assert len(plain.violations) > 0
    done = CliRunner().invoke(main, ["judge", str(path), "--master", "local[2]", "--json"], prog_name="zabcheck")
    assert (done.exit_code, json.loads(done.stdout)["runs"]) == (1, 6), done.output
    write(path, [*made[0], *made[1], {**made[1][-1], "kind": "nonsense"}], schema, 5)
    with pytest.raises(TableError, match="nonsense is not an observation of the protocol"):
        judge_on_spark(observed_units(path, source), (), "local[2]")


def test_premises_are_those_of_the_definition(shared: None, tmp_path: Path) -> None:
    """Of tables that tell little, what is held is what is put to the test (tests/judging/test_judge_premises.py)."""
    path = written(tmp_path / "many.parquet", [of_rows(table.rows, k) for k, (table, _) in enumerate(TABLES.values())])
    plain = judge_plainly(read_units(path), (), 1)
    assert (judge_on_spark(read_units(path), ()).counts == plain.counts).all()
    for row, p in enumerate(JUDGED):
        if p.name in KERNEL:
            held = sum(p.name in held for _, held in TABLES.values())
            assert plain.counts[row, COUNTS.index("held")] == held, p.name


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
        assert all(reasons[name] for name, word in found[run].items() if word not in ("held", "premise not reached"))


def test_rows_said_to_lie_together_are_not_believed_to(answered: Answered, tables: list[pa.Table]) -> None:
    """Where they do it comes to the same; a run in two places is malformed."""
    _, rows, _ = answered
    whole = {t["run"][0].as_py(): judge_unit(InMemory((), rows_of=t, noted=OBSERVED), ALL) for t in tables[:LOST]}
    expected = {run: {name: verdicts_of(said)[name] for name in TWO} for run, said in whole.items()}
    torn = words_of(rows)
    assert {run: said for run, said in torn.items() if run > 2} == {run: s for run, s in expected.items() if run > 2}
    assert [torn[run] for run in range(3)] == [dict.fromkeys(TWO, "malformed")] * 3
    assert {r.reason for r in rows if r.verdict == "malformed"} == {TORN}


@pytest.mark.skipif("ZABCHECK_EVERY" not in os.environ, reason="seconds: three more jobs of Spark")
@pytest.mark.usefixtures("shared")
def test_a_table_that_only_spark_reads(local_spark: LocalSpark, tmp_path: Path) -> None:
    """By an address of Hadoop's: what is said is what is said of the files."""
    rows = [rows_of(made_up(random.Random(seed), 20), seed) for seed in range(4)]
    for r in rows:
        r.columns["message"][0] = ",".join(OBSERVED)
    hadoop = local_spark.get().sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.frames.linkFallback", tmp_path.as_uri())
    away = "viewfs://frames/t.parquet"
    ways = (str(written(tmp_path / "t.parquet", rows)), away)
    done = [CliRunner().invoke(main, ["judge", way, "--json"], prog_name="zabcheck") for way in ways]
    assert all(d.stdout for d in done), [d.stderr for d in done]
    here, there = (json.loads(d.stdout) for d in done)
    assert there["table"] == there["request"]["table"] == away
    for key in ("runs", "rows", "properties", "exit_code"):
        assert there[key] == here[key]
    shown = [[(v["run"], v["property"], v["why"], v["time"]) for v in r["violations"]] for r in (here, there)]
    assert shown[0] == shown[1] != []


def test_what_spark_does_not_find_is_a_sentence(local_spark: LocalSpark, shared: None, tmp_path: Path) -> None:
    spark = local_spark.get()
    file = written(tmp_path / "e.parquet", [Rows(0, 3)])
    spark.sql(f"CREATE TABLE judged_runs USING parquet LOCATION '{file.as_uri()}'")
    try:
        assert events_at(spark, Address("spark_catalog.default.judged_runs")).columns == [n for n, *_ in COLUMNS]
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
