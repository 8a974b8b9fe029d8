"""Ample sets and classes of what was observed, in tasks: the levels and the verdict of the local search with them."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")
if importlib.util.find_spec("pyspark") is None:
    pytest.skip("no pyspark here", allow_module_level=True)
pytest.importorskip("pyarrow")

from checker.explore.checkpoints.checkpoint import Checkpoint, Level, Refused, check_same
from checker.explore.checkpoints.files import File
from checker.explore.checkpoints.task import ExplorationTask, Reduction
from checker.explore.reduce import narrowing
from checker.explore.reduce.ample import AmpleExplorer, Narrowing, conclusive
from checker.explore.result import Exploration, Limits
from checker.requests.explore import Explore
from checker.requests.report import again as explored_again
from checker.requests.report import differences
from checker.tables.distributed import run as runs
from checker.tables.distributed.cluster import Cancelled, Here, Watch
from checker.tables.distributed.code import made_for, task_of
from checker.tables.distributed.explore import SparkExplorer
from checker.tables.distributed.run import AmpleSparkExplorer
from checker.tables.distributed.storage import Storage
from tests.models import judged
from zabspec.model import Configuration, Model

HOLDS = Configuration(nodes=2, txns=2, timeouts=1, crashes=0, losses=0)
BREAKS = Configuration(nodes=3, txns=1, timeouts=0, crashes=0, losses=0, variant="join-commit-all")
FEW = 100  # states from which on the flow below leaves out states


@cache
def of_all(configuration: Configuration) -> ExplorationTask:
    """The search of all states in four parts."""
    return task_of(configuration, judged("zab"), True, False, 4)[0]


@cache
def ample_here(configuration: Configuration) -> Exploration:
    """What the local engine finds with ample sets, the premises of states being met already."""
    properties = judged("zab")
    return AmpleExplorer(Narrowing(Model(configuration), properties, True, (), True), 1).run(Limits())


def in_parts(configuration: Configuration, folder: Path) -> Exploration:
    question = replace(of_all(configuration), reduction=Reduction((), True, False))
    question = replace(question, version=made_for(question).digest)
    return AmpleSparkExplorer(question, Checkpoint(Storage(str(folder)))).run(Here(), Limits())


@pytest.mark.slow(seconds=4)
def test_owners_visit_what_one_process_visits(tmp_path: Path) -> None:
    here, parts = ample_here(BREAKS), in_parts(BREAKS, tmp_path)
    for name in ("levels", "raw_levels", "witnessed", "suspected", "suspects_one", "complete", "narrowed", "merged"):
        assert getattr(parts, name) == getattr(here, name), name
    assert parts.merged
    assert not parts.apart
    assert parts.violations.keys() == here.violations.keys()
    assert here.suspected


@dataclass
class Watched(Here):
    """Tasks in this process; the session is interrupted when so many levels with ample sets are made."""

    until: int = -1
    made: list[Reduction | None] = field(default_factory=list)

    def level(self, question: ExplorationTask, storage: Storage, level: Level, watch: Watch) -> list[dict[str, Any]]:
        if self.until == sum(how is not None for how in self.made):
            raise KeyboardInterrupt
        self.made.append(question.reduction)
        return super().level(question, storage, level, watch)

    def damage(self, storage: Storage, files: Sequence[File]) -> str:
        return ""


def searches(folder: Path, configuration: Configuration, cluster: Watched) -> runs.Searches:
    checkpoint = Checkpoint(Storage(str(folder)))
    checkpoint.storage.create()
    return runs.Searches(of_all(configuration), checkpoint, cluster, Limits(), None)  # type: ignore[arg-type]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model is large that has more than a few states, and no level is too small for a task."""
    monkeypatch.setattr(narrowing, "SMALL", FEW)
    monkeypatch.setattr("checker.tables.distributed.explore.HERE", 0)


@pytest.mark.slow(seconds=2)
@pytest.mark.usefixtures("small")
def test_an_interrupted_search_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = searches(tmp_path / "whole", HOLDS, at_once := Watched()).with_reduction(judged("zab"), None)
    assert conclusive(whole)
    assert whole.narrowed
    assert whole.distinct < ample_here(HOLDS).distinct  # deliveries say more
    with pytest.raises(KeyboardInterrupt):
        searches(tmp_path / "cut", HOLDS, Watched(until=12)).with_reduction(judged("zab"), None)
    again = searches(tmp_path / "cut", HOLDS, later := Watched())
    found = again.with_reduction(judged("zab"), again.checkpoint.last()[1])
    for name in ("levels", "raw_levels", "witnessed", "complete", "narrowed", "merged", "step_counts", "generated"):
        assert getattr(found, name) == getattr(whole, name), name
    assert len(later.made) == sum(how is not None for how in at_once.made) - 12
    monkeypatch.setattr("checker.tables.engine.on_spark", lambda task, reduces: (whole, ""))
    budgets = {name: getattr(HOLDS, name) for name in ("timeouts", "crashes", "losses")}
    request = Explore("zab", nodes=HOLDS.nodes, txns=HOLDS.txns, budgets=budgets, engine="spark")
    report = request.answer().as_json()
    assert report["engine"]["ample_sets"]
    found = explored_again(report)
    assert differences(report, found) == []
    assert differences({**report, "states": {**report["states"], "distinct": 1}}, found)


@pytest.mark.slow(seconds=2)
@pytest.mark.usefixtures("small")
def test_what_ample_sets_find_broken_all_states_show(tmp_path: Path) -> None:
    cluster = Watched()
    found = searches(tmp_path / "a", BREAKS, cluster).with_reduction(judged("zab"), None)
    full = SparkExplorer(of_all(BREAKS), Checkpoint(Storage(str(tmp_path / "b")))).run(Here(), Limits())
    assert None in cluster.made[1 + max(k for k, how in enumerate(cluster.made) if how is not None) :]
    assert {name: v.schedule for name, v in found.violations.items()} == {
        name: v.schedule for name, v in full.violations.items()
    }
    assert found.violations
    assert not found.narrowed
    assert found.levels == full.levels


@dataclass
class Hurried(Watched):
    """A search of all states has time for so many levels once one with ample sets was made, or was made before."""

    more: int = 0
    resumed: bool = False

    def level(self, question: ExplorationTask, storage: Storage, level: Level, watch: Watch) -> list[dict[str, Any]]:
        if question.reduction is None and (any(self.made) or self.resumed):
            if not self.more:
                raise Cancelled
            self.more -= 1
        return super().level(question, storage, level, watch)


@pytest.mark.slow(seconds=1)
@pytest.mark.usefixtures("small")
def test_what_is_broken_is_told_where_the_way_there_is_not_found(tmp_path: Path) -> None:
    search = searches(tmp_path, BREAKS, Hurried())
    search.limits = Limits(seconds=600.0)
    found = search.with_reduction(judged("zab"), None)
    assert found.stopped
    assert not found.violations
    assert found.suspected
    assert found.suspicion == search.cut_short("interrupted").suspicion


@pytest.mark.slow(seconds=2)
@pytest.mark.usefixtures("small")
def test_a_resumed_search_knows_what_was_known_to_be_broken(tmp_path: Path) -> None:
    """It is behind the states from which on it leaves out some, and makes no search that does."""
    found = []
    for cluster in (Hurried(more=2), Hurried(resumed=True)):
        search = searches(tmp_path, BREAKS, cluster)
        search.limits = Limits(seconds=600.0)
        level = search.checkpoint.last()[1] if search.checkpoint.depths() else None
        found.append(search.with_reduction(judged("zab"), level))
    assert not any(cluster.made)
    assert all(r.stopped and not r.violations for r in found)
    assert found[0].suspicion == found[1].suspicion != ""


@pytest.mark.slow(seconds=1)
def test_a_checkpoint_of_fewer_states_is_of_another_search() -> None:
    question = of_all(HOLDS)
    fewer = ExplorationTask(**{**vars(question), "reduction": Reduction((), True, False)})
    level = Level(0, [], [1], [1], [])
    check_same(question, question, level, Limits(), "x")
    with pytest.raises(Refused, match="it omits other states"):
        check_same(fewer, question, level, Limits(), "x")
    assert ExplorationTask.from_json(fewer.as_json()) == fewer
