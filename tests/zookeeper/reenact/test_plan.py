"""What is decided before a server is started: the steps that there are on a release, and the servers' ids."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from checker.zookeeper.requests.reenact import ReenactRequest
from checker.zookeeper.rows import ROWS
from checker.zookeeper.runs import RUNS, configuration_of_row, trace_of_row
from tests.zookeeper.reenact.compared import End
from tests.zookeeper.reenact.schedules import zk_4394
from traces.record.runner import Runner
from traces.zookeeper.reenact import random_schedules
from traces.zookeeper.reenact.distributions import Cannot
from traces.zookeeper.reenact.mapping import MAPPING, unforceable
from traces.zookeeper.reenact.plan import decisive, own_step, plan_for
from traces.zookeeper.reenact.player import Player
from traces.zookeeper.reenact.random_schedules import OUTLIVES, drawn
from traces.zookeeper.reenact.rates import interval
from traces.zookeeper.reenact.wire.gates import COMMIT, SYNC, Ask, Gates
from traces.zookeeper.reenact.wire.links import Recording
from traces.zookeeper.reenact.zxids import Zxids
from zabspec.model import Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.zookeeper.state import WIDTH


def test_a_run_is_fitted_to_a_release_with_another_order_of_writes() -> None:
    trace = zk_4394()
    same = plan_for(trace, "3.9.2")
    both = ("no-stop", "memory-is-the-disk")  # its log has what its tree has not (ZOOKEEPER-4541)
    assert (len(same.steps), same.broken, same.skipped, same.inserted) == (18, both, (), ())
    older = plan_for(trace, "3.9.1")
    assert older.broken[0] == "no-stop"
    assert older.inserted == ("write currentEpoch of p1 before step 11",)
    labels = [s.label for s in older.steps]
    assert labels.index("write currentEpoch") < labels.index("persist at NEWLEADER")
    assert plan_for(trace, "").broken == ()  # the newest release has the same run, and it breaks nothing


def test_the_runs_of_rows_break_in_the_text_what_their_row_says() -> None:
    properties = {row.issue: row.breaks for row in ROWS}
    for issue in ("trunc", "4643", "snap-tail", "trunc-snap", "trunc-epoch"):
        trace = trace_of_row(issue)
        plan = plan_for(trace, trace.configuration.variant)
        assert properties[issue] in plan.broken, issue
        assert (plan.skipped, plan.inserted) == ((), ())


def test_a_drawn_run_is_the_same_again_and_can_be_forced() -> None:
    one, two = drawn("3.9.2", 5), drawn("3.9.2", 5)
    assert [s.word for s in one.steps] == [s.word for s in two.steps]
    assert len(one.steps) > 10
    assert unforceable(one.steps) == []
    assert [s.word for s in one.steps] != [s.word for s in drawn("3.9.2", 6).steps]


def test_a_control_run_leaves_out_the_last_fault() -> None:
    trace = zk_4394()
    assert decisive(trace) == 1
    assert plan_for(trace, "3.9.2", 1).broken == ()


def test_every_step_that_can_be_forced_has_its_method() -> None:
    assert all(callable(getattr(Player, method)) for method in MAPPING.values())


@pytest.mark.parametrize("issue", RUNS)
def test_every_row_has_one_model_on_every_release(issue: str) -> None:
    """What a release's servers do (`hole` from 3.9.4 on, `walk` before 3.5.4) may be a setting of the row, too."""
    given, protocol = configuration_of_row(issue), PROTOCOLS["zookeeper"]
    for release in (number for numbers in protocol.declared.releases.values() for number in numbers):
        names = ReenactRequest(trace=f"ZK-{issue}").variant_of(given, release)
        assert set(protocol.combined(names).split(",")) >= set(filter(None, names.split(",")))


def test_every_step_of_the_text_has_a_row_or_is_named() -> None:
    trace = zk_4394()
    actions = trace.model.program.actions
    # Each transaction is a batch of its own here, in a release whose thread ends with it. The others are of variants
    # whose faults are not made here, or in which a file of the log ends where the servers of a run have none.
    files = ["log is rolled", "log file is opened over another"]
    no_row = ["sync thread of an earlier term, in a batch", "send SNAP", *files]
    assert [name for name in actions if name not in MAPPING] == no_row
    odd = replace(trace.steps[0], word=replace(trace.steps[0].word, kind="timeout"), label="timeout")
    assert unforceable([odd]) == ["step 1, timeout: no way to force it is known"]
    assert "zookeeper" in PROTOCOLS


def test_a_trace_of_another_start_is_refused_before_anything_starts() -> None:
    trace = zk_4394()
    with pytest.raises(Cannot, match="from the initial state or --start established"):
        plan_for(replace(trace, configuration=replace(trace.configuration, start="after-snap")), "3.9.2")


def test_zxids_are_those_of_the_model_shifted() -> None:
    z = Zxids(0x300000002)
    assert z.real(WIDTH + 1) == 0x300000002
    assert z.real(WIDTH + 2) == 0x300000003
    assert z.real(2 * WIDTH) == 0x400000000
    assert [z.told(n) for n in (0x300000002, 0x300000003, 0x400000001, 0)] == ["<1,1>", "<1,2>", "<2,1>", "<0,0>"]
    assert z.logged((0x300000001, 0x300000002, 0x300000003)) == ["<1,1>", "<1,2>"]


def test_a_thread_stands_at_its_gate_until_it_is_opened(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    gates = Gates(tmp_path / "gate", "server 1", recording)
    gates.close(SYNC)
    ends = [End(), End(), End()]
    for end, what, thread in zip(ends, ("append", "commit", "append"), (7, 8, 9), strict=True):
        gates.asked(Ask(thread, "commit" if what == "commit" else "sync", what, f"10000000{thread}", end))
    assert [e.answers for e in ends] == [[], [b"g"], []]
    gates.outlive()  # both belong to an earlier term now, and are let go with it alone
    gates.open(SYNC)
    assert [e.answers for e in ends] == [[], [b"g"], []]
    gates.open("sync thread of an earlier term", COMMIT)
    assert [e.answers for e in ends] == [[b"g"], [b"g"], [b"g"]]
    gates.end()
    recording.close()


def test_one_transaction_passes_a_gate_that_stays_shut(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    gates = Gates(tmp_path / "gate", "server 1", recording)
    gates.close(SYNC, COMMIT)
    first, other, later, next_one = (End() for _ in range(4))
    gates.asked(Ask(7, "sync", "append", "100000003", first))
    gates.asked(Ask(8, "commit", "commit", "100000003", other))
    gates.admit(SYNC, 0x100000003)
    assert (first.answers, other.answers) == ([b"g"], [])  # that of the other thread stays
    gates.admit(SYNC, 0x100000004)
    gates.asked(Ask(7, "sync", "append", "100000004", later))
    gates.asked(Ask(7, "sync", "append", "100000005", next_one))
    gates.admit_none()
    gates.asked(Ask(8, "sync", "append", "100000004", other))
    assert (later.answers, next_one.answers, other.answers) == ([b"g"], [], [])
    gates.end()
    recording.close()


def test_rates_have_intervals() -> None:
    low, high = interval(10, 10)
    assert 0.72 < low < 0.73
    assert 0.999 < high <= 1.0
    assert interval(0, 0) == (0.0, 1.0)


def test_a_run_of_an_old_release_has_what_nothing_stands_between() -> None:
    """3.4.10: what a leader has applied leaves toBeApplied at once, and a sync thread forces its whole batch."""
    plan = drawn("3.4.10", 1002, batches=True)
    removed = batches = 0
    for before, s in pairwise(plan.steps):
        p = s.process
        if before.label == "sync thread" and (before.process, s.label) != (p, "sync thread"):
            assert not before.state["sync_queue"][before.process]
        batches += (before.label, s.label) == ("sync thread", "sync thread") and before.process == p
        if s.label == "commit thread" and s.state["to_apply"][p] == before.state["to_apply"][p]:
            removed += 1
            assert (before.label, before.process) == ("commit thread", p)
            assert len(s.state["to_be_applied"][p]) < len(before.state["to_be_applied"][p])
    assert removed
    assert batches


def test_no_old_thread_of_an_old_release_parts_a_batch() -> None:
    """3.5.10 logs all that was queued: a run that drops what is behind the first is none of a server that goes on."""
    plan, seen = drawn("3.5.10", 1, batches=True), 0
    for before, s in pairwise(plan.steps):
        p = s.process
        if p is not None and len(before.state["stale_queue"][p]) > 1:
            seen += 1
            assert s.label != OUTLIVES
    assert seen


def test_the_model_has_what_an_old_thread_does_with_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a run, of 3.5.10's seed 1, ends the thread with <1,3>; servers log <1,4> too, by the model's other step."""
    monkeypatch.setattr(random_schedules, "parts_a_batch", lambda *_: False)
    plan = drawn("3.5.10", 1, batches=True)
    stale = [s["stale_queue"] for s in plan.states]
    at = next(k for k, s in enumerate(plan.steps) if s.label == OUTLIVES and len(stale[k][s.process]) > 1)
    p, runner = plan.steps[at].process, Runner(Model(plan.configuration))
    assert p is not None
    for step in plan.steps[:at]:
        runner.step(step.word.word)
    for label in (f"{OUTLIVES}, in a batch", OUTLIVES):
        word = own_step(runner, p, list(runner.model.program.actions), label)
        assert word is not None
        last = runner.step(word.word)
    assert last.state["log"][p] == [*plan.steps[at].state["log"][p], stale[at][p][1]]
