"""Periodic snapshots as steps: which thread goes on when, when one can be due, and what a snapshot holds."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from checker.zookeeper.runs import trace_of_row
from tests.zookeeper.reenact.compared import BASE, SECOND, End, comparison, state
from traces.zookeeper.reenact.compare import ROOT
from traces.zookeeper.reenact.distributions import Cannot
from traces.zookeeper.reenact.periodic import DUE, PERIODIC, settings_of_each, thread_is_there, waits_for_snapshots
from traces.zookeeper.reenact.plan import ReenactmentPlan, plan_for
from traces.zookeeper.reenact.player import Player
from traces.zookeeper.reenact.random_schedules import drawn
from traces.zookeeper.reenact.servers import settings_for
from traces.zookeeper.reenact.stores import Disk
from traces.zookeeper.reenact.wire.gates import BEGINS, EPOCH, EVERY, LOG, OVER, WRITES, Ask, Gates
from traces.zookeeper.reenact.wire.links import Recording
from zabspec.zookeeper.of_releases import of_servers
from zabspec.zookeeper.state import FOLLOWING, LOOKING, NO_THREAD, SAVING


@cache
def drawn_run() -> ReenactmentPlan:
    return drawn("snapshots", 6)


def test_a_thread_of_a_snapshot_begins_when_it_is_told_and_one_alone(tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gate", "server 1", Recording(tmp_path))
    gates.close(*EVERY)
    old, new, last = End(), End(), End()
    gates.asked(Ask(7, "snapshot", "begin", "-", old))
    gates.begin_none()  # its term is over
    assert [a.thread for a in gates.waiting(OVER)] == [7]
    gates.asked(Ask(8, "snapshot", "begin", "-", new))
    gates.asked(Ask(9, "snapshot", "begin", "-", last))
    gates.begin_one()
    assert [e.answers for e in (old, new, last)] == [[], [], [b"g"]]
    gates.asked(Ask(9, "snapshot", "open", "snapshot.100000002", last))
    assert [a.name for a in gates.waiting(WRITES)] == ["snapshot.100000002"]
    gates.open(*EVERY)  # as when a run is over: what has not begun does not
    assert [e.answers for e in (old, new, last)] == [[], [], [b"g", b"g"]]
    assert [a.thread for a in gates.waiting(BEGINS)] == [8]
    gates.end()
    gates.recording.close()


def test_a_snapshot_is_drawn_as_due_where_its_thread_is_there() -> None:
    plan = drawn_run()
    due = [k for k, s in enumerate(plan.steps) if s.label == DUE and s.word.kind == "action"]
    assert due
    for k in due:
        assert thread_is_there(plan.steps[:k], plan.steps[k].word.process or 0)


def test_none_is_drawn_as_due_where_no_thread_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.zookeeper.reenact.random_schedules.thread_is_there", lambda *_: False)
    assert not any(s.label == DUE for s in drawn("snapshots", 6).steps)


def test_a_thread_is_there_from_what_the_server_appended_in_its_term() -> None:
    plan = drawn_run()
    ends = next(k for k, s in enumerate(plan.steps) if LOOKING in s.state["role"])
    p = plan.steps[ends].state["role"].index(LOOKING)
    assert thread_is_there([], p)  # of the established term
    assert thread_is_there(plan.steps[:ends], p)
    assert not thread_is_there(plan.steps[: ends + 1], p)


@pytest.mark.parametrize(("tree", "more"), [(b"", True), (f"{ROOT}/1-2".encode(), False)])
def test_a_snapshot_that_holds_something_else_differs(
    disks: dict[Path, Disk],
    tree: bytes,
    more: bool,
) -> None:
    held, servers = comparison(disks)
    folder = next(iter(disks)).parent
    disks[next(iter(disks))] = Disk((BASE,), (BASE,), 1, 1)
    servers[1].snapshot = lambda zxid: folder / f"snapshot.{zxid:x}"
    servers[1].snapshot(BASE).write_bytes(ROOT.encode() * 3 + tree)
    s = state()
    s["snapshot_names"][0] = [SECOND - 1]
    s["snapshot_trees"][0] = [1 << SECOND - 1 | 1 << SECOND]
    assert held.of_disk(s, 0) == []  # without the variant what they hold is not compared
    held.trees = True
    wanted = ["server 1 (p0), tree of snapshot <1,1>: the model has [<1,1>, <1,2>], the server [<1,1>]"]
    assert held.of_disk(s, 0) == (wanted if more else [])


def test_servers_take_periodic_snapshots_only_with_the_variant() -> None:
    assert set(PERIODIC) < set(settings_for("3.9.2,snapshots,power"))
    assert not set(PERIODIC) & {*settings_for("3.9.2"), *settings_for("walk")}
    with pytest.raises(Cannot, match="where a snapshot is due"):
        settings_for("walk,snapshots")


def test_only_takers_have_threads_where_a_term_waits_for_them() -> None:
    plan = plan_for(trace_of_row("late-snapshot"), "snapshots,late-snapshot")
    takers = {s.process for s in plan.steps if s.label == DUE}
    assert len(takers) == 1
    settings = settings_for("snapshots")
    each = settings_of_each("snapshots,late-snapshot", settings, plan.steps, 3)
    assert [set(PERIODIC) <= set(one) for one in each] == [p in takers for p in range(3)]
    assert all(set(one) >= set(settings) - set(PERIODIC) for one in each)
    assert settings_of_each("snapshots", settings, plan.steps, 3) == [settings] * 3
    assert not waits_for_snapshots("snapshots")


class Held:
    """A player whose server has begun a snapshot, and what it has done."""

    def __init__(self, said: str) -> None:
        self.written: list[int] = []
        self.ids = (1, 2, 3)
        self.text = said
        self.waits = True
        self.before = {"snapshot_thread": [SAVING] * 3, "role": [FOLLOWING] * 3}
        self.after = {"snapshot_thread": [NO_THREAD, SAVING, NO_THREAD], "role": [LOOKING, FOLLOWING, FOLLOWING]}

    def said(self, p: int) -> str:
        return self.text

    def snapshot_written(self, p: int, which: int) -> None:
        self.written.append(p)

    def writes_in_step(self, p: int) -> bool:
        return Player.writes_in_step(self, p)  # type: ignore[arg-type]


def test_a_snapshot_is_written_once_the_wait_for_it_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("traces.zookeeper.reenact.player.WAITS", 0.0)
    waits: Any = Held("")
    Player.is_waited_for(waits, 0)
    assert waits.written == [0]
    votes: Any = Held("New election. My id = 1, proposed zxid=0x100000002")
    with pytest.raises(Cannot, match="before its snapshot is written"):
        Player.is_waited_for(votes, 0)
    assert votes.written == []


@pytest.mark.parametrize(("waits", "before"), [(True, [2]), (False, [0, 2])])
def test_without_a_wait_to_see_a_snapshot_is_written_before_the_step(waits: bool, before: list[int]) -> None:
    """p0's term ends; p2 gets another tree."""
    held: Any = Held("")
    held.waits = waits
    step: Any = SimpleNamespace(word=SimpleNamespace(kind="follower_learns"), label="learn of loss", process=0)
    Player.write_before(held, step)
    assert held.written == before


def test_servers_with_snapshots_roll_at_each_transaction() -> None:
    for release, asked, made in (
        ("3.9.3", "3.9.3,snapshots", "3.9.3,snapshots,log-files,rolls"),
        ("3.9.2", "3.9.2,snapshots,power", "3.9.2,snapshots,power,log-files,rolls"),
        ("3.5.3", "3.5.3,snapshots", "3.5.3,snapshots"),  # each second one of a term, which the model does not count
        ("3.9.5", "snapshots,log-files,rolls", "snapshots,log-files,rolls,hole"),
        ("3.9.2", "3.9.2,power", "3.9.2,power"),
    ):
        assert of_servers(asked, release) == made
    assert set(PERIODIC) < set(settings_for("log-files,rolls"))
    assert not set(PERIODIC) & {*settings_for("log-files")}


@cache
def written_over() -> ReenactmentPlan:
    """A run in which servers of 3.9.2 write over a file of the log (played: 60 of 60 steps)."""
    return drawn("3.9.2,snapshots,before-4858,log-files,rolls", 14)


def test_what_is_written_over_by_the_same_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = written_over()
    done: list[str] = []
    for k, step in enumerate(plan.steps):
        if not step.label.startswith("persist"):
            continue
        before, after, p = plan.states[k], plan.states[k + 1], step.word.process
        assert p is not None
        player = Player.__new__(Player)
        player.before, player.after = before, after
        monkeypatch.setattr(player, "held", lambda _, gate: done.append(gate), raising=False)
        monkeypatch.setattr(player, "through", lambda _, gate: done.append(f"through {gate}"), raising=False)
        monkeypatch.setattr(player, "gates", lambda _: SimpleNamespace(open=lambda gate: done.append(f"open {gate}")))
        done.clear()
        player.persist(p, 0)
        if before["log"][p] == after["log"][p] and before["files"][p] != after["files"][p]:
            assert done == [LOG, f"open {LOG}", EPOCH, f"through {LOG}"]
            return
        assert done in ([], [LOG, f"through {LOG}"])
    raise AssertionError("nothing is written over in this run")
