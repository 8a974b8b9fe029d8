"""Rough treatment of what runs on Spark: interrupted as Java starts, killed, given damaged and foreign files."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import checker.tables.distributed.run as run_module
from checker.explore.checkpoints.checkpoint import Checkpoint
from checker.explore.result import Limits
from checker.tables.distributed.cluster import Here
from checker.tables.distributed.code import task_of
from checker.tables.distributed.explore import SparkExplorer
from checker.tables.distributed.run import Request, explore_on_spark
from checker.tables.distributed.storage import Storage
from invariants import PROPERTIES
from tests.histories import Deliver, History, Txn
from tests.judge_tables import rows_of, written
from tests.patience import HANG, until
from tests.tables.test_session import gone, script
from traces.events.table import TableError
from traces.judging import totals as totals_module
from traces.judging.judge import judge_plainly, read_units
from traces.judging.totals import Span, Totals, Unit, check_spans, judge_unit
from traces.tables.spark import SparkFailed
from traces.tables.spark import session as session_module
from traces.tables.spark.session import own_folder
from zabspec.model import Configuration
from zabspec.temporary import FOLDER, LOCK

# --- the session ---------------------------------------------------------------------------------

# Something happens as soon as pyspark waits for Java to tell where it listens.
STARTING = """
    import pathlib
    from pyspark import java_gateway

    class Waits:
        def sleep(self, seconds):
            {what}
            time.sleep(seconds)

    java_gateway.time = Waits()
    try:
        with session("local[1]", brief=True):
            print("it began")
    except (SparkFailed, KeyboardInterrupt) as problem:
        print(type(problem).__name__, problem)
"""


@pytest.mark.slow
def test_ctrl_c_as_java_starts_leaves_nothing(tmp_path: Path) -> None:
    """Java that cannot tell where it listens, since its launcher is gone, does not end by itself."""
    program = script(STARTING.format(what='pathlib.Path("waiting").touch()'), tmp_path)
    assert until(lambda: (tmp_path / "here" / "waiting").exists() or program.poll() is not None)
    os.kill(program.pid, signal.SIGINT)
    out, err = program.communicate(timeout=HANG)
    assert (out.strip(), err) == ("KeyboardInterrupt", "")
    assert gone(program.pid)
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.slow
def test_java_that_is_killed_as_it_starts_is_no_wrong_question(tmp_path: Path) -> None:
    kill = 'os.kill(int(pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()[0]), 9)'
    program = script(STARTING.format(what=kill), tmp_path)
    out, err = program.communicate(timeout=HANG)
    assert (out.strip(), err) == ("SparkFailed Spark's Java process has ended: killed by signal 9", "")


def test_a_folder_without_a_lock_is_removed_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    """So is one whose lock is free. What has other things in it and no lock is somebody else's."""
    old, new, another, killed = (tmp_path / f"{FOLDER}{name}" for name in ("old", "new", "results", "killed"))
    for folder in (old, new, another, killed):
        folder.mkdir()
    (another / "of_a_week").touch()
    (killed / LOCK).touch()
    for folder in (old, another):
        os.utime(folder, (0, 0))
    with own_folder() as mine:
        assert sorted(tmp_path.iterdir()) == sorted([mine, new, another])
    assert sorted(tmp_path.iterdir()) == sorted([new, another])


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert session_module.no_room(tmp_path / "session") == ""
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=1, f_frsize=4096))
    assert session_module.no_room(tmp_path / "session") == f"there is no room left under {tmp_path}"


# --- tables --------------------------------------------------------------------------------------


def test_the_first_error_in_a_table_is_told_whichever_is_found_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, run in (("a", 1), ("b", 2), ("c", 3)):
        rows = rows_of(History(1, (Deliver(0, 0, Txn(1, 1, 1)),)), run)
        rows.columns["counter"][-1] = 1 if name == "a" else None
        written(tmp_path / f"{name}.parquet", [rows])
    over: list[str] = []

    def slow(unit: Unit, *rest: Any) -> Totals:
        while "b.parquet" in unit.name and not any("c.parquet" in name for name in over):
            time.sleep(0.01)
        try:
            return judge_unit(unit, *rest)
        finally:
            over.append(unit.name)

    monkeypatch.setattr(totals_module, "judge_unit", slow)
    with pytest.raises(TableError, match=r"b\.parquet, row group 0, run 2, row 1: a transaction has"):
        judge_plainly(read_units(tmp_path), (), 3)


def test_a_run_in_many_places_is_told_in_one_way() -> None:
    spans = [Span(1, 1, f"{name}.parquet", None) for name in "abc"]
    said = set()
    for order in (spans, spans[::-1], [spans[1], spans[2], spans[0]]):
        with pytest.raises(TableError) as problem:
            check_spans(order, lambda _: [1])
        said.add(str(problem.value))
    assert len(said) == 1


# --- the distributed explorer --------------------------------------------------------------------

TINY = Configuration(nodes=2, txns=1, timeouts=0, crashes=0, losses=0)
JUDGED = [p for p in PROPERTIES if p.default and p.judges("zab")]


@pytest.mark.slow(seconds=1)
def test_all_that_was_asked_is_an_answer_whatever_the_limits(tmp_path: Path) -> None:
    asked = task_of(TINY, JUDGED, True, False, 4)[0]
    result = SparkExplorer(asked, Checkpoint(Storage(str(tmp_path)))).run(Here(), Limits(depth=0, max_states=1))
    assert (result.stopped, result.levels) == ("", [1])
    other = SparkExplorer(asked, Checkpoint(Storage(str(tmp_path / "b")))).run(Here(), Limits(depth=1, max_states=1))
    assert other.stopped == "--max-states 1 reached"


def elsewhere(folder: Path, seen: list[Path]) -> Any:
    """A session that needs no Java, in which everybody works in another folder."""

    @contextlib.contextmanager
    def made(*_: Any, **__: Any) -> Iterator[Any]:
        seen.extend(Path(os.environ["TMPDIR"]).glob(f"{FOLDER}*/levels"))
        with contextlib.chdir(folder):
            yield SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=1, master="local[1]"))

    return made


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("given", ["levels", None])
def test_where_checkpoints_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None) -> None:
    """Those that are named are the same folder for everybody; those that are not go with their process."""
    here, there, temporary = (tmp_path / name for name in ("here", "there", "tmp"))
    for folder in (here, there, temporary):
        folder.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    seen: list[Path] = []
    monkeypatch.setattr(run_module, "session", elsewhere(there, seen))
    result, _ = explore_on_spark(TINY, JUDGED, True, Limits(depth=4), False, Request("local[1]", given))
    assert (result.stopped, len(result.levels)) == ("", 5)
    assert list(there.iterdir()) == list(temporary.iterdir()) == []
    assert len(seen) == (given is None)
    assert len(list((here / "levels").glob("level-*.json")) if given else []) == (5 if given else 0)


def test_a_job_s_sentence_has_one_end() -> None:
    from pyspark.errors import PySparkRuntimeError

    from traces.tables.spark.trouble import reason

    assert issubclass(SparkFailed, Exception)
    assert not reason(PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})).endswith(".")
