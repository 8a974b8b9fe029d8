"""What judging asks of Spark, and makes of its answers: by a context that runs every task in this process.

That Spark itself comes to the same is held by `test_judge_spark.py`, which starts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.histories import Abcast, Deliver, Event, History, Instance, Txn
from tests.judge_tables import rows_of, written
from tests.judging.own_tables import runs, write
from traces.judging.judge import judge_on_spark, judge_plainly, read_units
from traces.judging.own import observed_units
from traces.tables.own import source_of
from traces.tables.table import TableError

SHIFT = 4
FIRST = Instance(1, 0, 0)


@dataclass
class Numbers:
    """A range of numbers, and the results of a function over Arrow batches of it, one number a batch."""

    values: range
    task: Any = None

    def mapInArrow(self, task: Any, schema: str) -> Numbers:
        return Numbers(self.values, task)

    def collect(self) -> list[dict[str, Any]]:
        batches = [pa.RecordBatch.from_pydict({"id": [v]}) for v in self.values]
        return [row for batch in batches for made in self.task([batch]) for row in made.to_pylist()]


@dataclass
class Context:
    """Keeps how many tasks each job had."""

    jobs: list[int] = field(default_factory=list)

    def range(self, start: int, end: int, step: int, parts: int) -> Numbers:
        self.jobs.append(parts)
        return Numbers(range(start, end, step))

    def statusTracker(self) -> Context:
        return self

    def getActiveStageIds(self) -> list[int]:
        return []

    @property
    def sparkContext(self) -> Context:
        return self


@dataclass
class Asked:
    """The sessions asked for: their masters, and whether the work is short."""

    context: Context = field(default_factory=Context)
    sessions: list[tuple[str, bool]] = field(default_factory=list)

    @contextmanager
    def session(self, master: str, *, brief: bool) -> Iterator[Context]:
        self.sessions.append((master, brief))
        yield self.context


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    out = Asked()
    monkeypatch.setattr("traces.spark.session.session", out.session)
    return out


def table(folder: Path) -> Path:
    """Two short runs in one file; in another a long one, in which p1 delivers the first two the other way round."""
    some = [rows_of(History(2, (Abcast(FIRST, t), Deliver(0, 0, t), Deliver(1, 0, t))), k)
            for k, t in enumerate((Txn(1, 1, 1), Txn(1, 1, 2)))]  # fmt: skip
    written(folder / "a.parquet", some)
    txns = [Txn(1, k, k) for k in range(1, 41)]
    events: list[Event] = [Abcast(FIRST, t) for t in txns]
    events += [Deliver(0, 0, t) for t in txns]
    events += [Deliver(1, 0, t) for t in (txns[1], txns[0], *txns[2:])]
    written(folder / "b.parquet", [rows_of(History(2, tuple(events)), 9)], longest=50)
    return folder


@pytest.mark.slow(seconds=1)
def test_tasks_come_to_what_one_process_comes_to(tmp_path: Path, asked: Asked) -> None:
    units = read_units(table(tmp_path), longest=100)
    assert sorted(u.long for u in units) == [False, True]
    plain = judge_plainly(units, (), 1, shift=SHIFT)
    seen: list[int] = []
    tasks = judge_on_spark(units, (), progress=lambda done, rows, _: seen.append(done), shift=SHIFT)
    assert (tasks.runs, tasks.rows) == (plain.runs, plain.rows) == (3, sum(u.rows for u in units))
    assert (tasks.counts == plain.counts).all()
    assert [v.as_dict() for v in tasks.violations] == [v.as_dict() for v in plain.violations]
    assert {v.run for v in tasks.violations if v.property == "total-order"} == {9}
    assert asked.context.jobs[0] == 1, "the short runs lie in one unit"
    assert max(asked.context.jobs) > 1, "the long one is judged in parts"


@pytest.mark.parametrize("master", [None, "spark://here:7077"])
def test_the_session_is_the_one_asked_for(tmp_path: Path, asked: Asked, master: str | None) -> None:
    rows = rows_of(History(1, (Abcast(FIRST, Txn(1, 1, 1)),)))
    judge_on_spark(read_units(written(tmp_path / "t.parquet", [rows])), (), master)
    assert asked.sessions == [(master or "", True)], "so few rows are brief work"


@pytest.mark.slow(seconds=2)
def test_tasks_come_to_the_same_of_what_a_protocol_shows(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, schema = runs(tmp_path_factory.mktemp("own"))
    monkeypatch.chdir(tmp_path)
    path = write(Path("t.parquet"), (row for run in made for row in run), schema, 3)
    source = source_of(path)
    assert source is not None
    units = observed_units(path, source)
    assert len(units) > 1
    plain, tasks = judge_plainly(units, (), 1), judge_on_spark(units, ())
    assert asked.context.jobs == [len(units)]
    assert all(Path(part.path).is_absolute() for unit in units for part in unit.away().parts)
    assert vars(tasks) | {"counts": 0} == vars(plain) | {"counts": 0}
    assert (tasks.counts == plain.counts).all()
    assert plain.count("agreement", "violated") == 3


@pytest.mark.usefixtures("asked")
def test_what_a_task_cannot_judge_is_raised_here(tmp_path: Path) -> None:
    rows = rows_of(History(1, (Abcast(FIRST, Txn(1, 1, 1)), Deliver(0, 0, Txn(1, 1, 1)))))
    rows.columns["position"][2] = 0
    units = read_units(written(tmp_path / "t.parquet", [rows]))
    with pytest.raises(TableError, match="in the order of their positions"):
        judge_on_spark(units, (), "local[1]")
