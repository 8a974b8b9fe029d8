"""A learner that is brought up to date in two steps (`transfer`): what then may come before NEWLEADER."""

from __future__ import annotations

from typing import Any

import pytest

from checker.explore.symmetry import asymmetry
from traces import Runner
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.zookeeper.state import WIDTH

ONE = WIDTH + 1
# Server 2 loses its connection and joins its leader again, which brings it up to date; one proposal is outstanding.
JOINS_AGAIN = (0xA020000, 0x5020000, 0x4000200, 0x1C020000, 0x2000200, 0x3020000, 0x2000200)
# It proposes another one, logs both, and server 1 acknowledges both.
COMMITS_BOTH = (
    0x14000000, 0x14000001, 0x14000001, 0x3010000, 0x14010001, 0x2000100, 0x3010000, 0x14010001, 0x2000100,
)  # fmt: skip
GOES_ON = 0x2000200  # the handler of server 2


def after(variant: str, start: str, words: tuple[int, ...], losses: int = 0) -> Runner:
    budgets = "elections=1,proposals=1"
    runner = Runner(Model(Configuration("zookeeper", variant, start=start, crashes=0, losses=losses, budgets=budgets)))
    for word in words:
        assert word in runner.possible(), hex(word)
        runner.step(word)
    return runner


def sent(s: Any) -> list[str]:
    return [str(m).split(", tree")[0].replace("(zxid=", " ").rstrip("()") for m in s.to_follower[2]]


def test_newleader_waits_for_what_is_committed_during_a_transfer() -> None:
    runner = after("transfer", "established", (*JOINS_AGAIN, *COMMITS_BOTH), 1)
    began = ["DIFF <1,1>", "PROPOSAL <1,2>", "PROPOSAL <1,3>", "COMMIT <1,2>", "COMMIT <1,3>"]
    assert sent(runner.state) == began
    assert 2 not in runner.state.unsettled[0]
    runner.step(GOES_ON)
    assert sent(runner.state) == [*began, "NEWLEADER"]
    assert 2 in runner.state.unsettled[0]
    assert GOES_ON not in runner.possible()


def test_newleader_is_of_the_same_step_otherwise() -> None:
    s = after("", "established", (*JOINS_AGAIN, *COMMITS_BOTH), 1).state
    assert sent(s) == [
        "DIFF <1,1>", "PROPOSAL <1,2>", "NEWLEADER", "PROPOSAL <1,3>", "COMMIT <1,2>", "COMMIT <1,3>",
    ]  # fmt: skip


def test_a_handler_begins_to_forward_before_it_goes_on() -> None:
    """It does nothing more before the leader has looked at its ACKEPOCH."""
    runner = after("transfer", "established", JOINS_AGAIN[:-1], 1)
    assert [str(m).split("(")[0] for m in runner.state.to_leader[2][0]] == ["ACKEPOCH", "WRITTEN"]
    s = runner.state.copy()
    s.to_leader[2][0].pop(0)
    assert not runner.names["receivable"](s, 0, 2, s.to_leader[2][0][0])
    s.forwarding[0].add(2)
    assert runner.names["receivable"](s, 0, 2, s.to_leader[2][0][0])


def test_an_epochs_writes_may_be_logged_before_currentepoch() -> None:
    """A DIFF is chosen before the leader serves, and what that commits then comes before NEWLEADER. Chosen later it
    would be a SNAP, as the leader has no committedLog."""
    chosen = (
        0x1B000002, 0x2000100, 0x3010000, 0x2000100, 0x3010000, 0x2000100, 0x14000005, 0x3010000, 0x14010008,
        0x14010009, 0x1401000A, 0x1C020000, 0x2000200, 0x3020000, 0x2000200,
    )  # fmt: skip
    serves = (
        0x2000100, 0x14000006, 0x14000000, 0x14000001, 0x3010000, 0x3010000, 0x14010001, 0x2000100, GOES_ON,
    )  # fmt: skip
    runner = after("transfer", "", (*chosen, *serves))
    assert sent(runner.state) == ["DIFF <0,0>", "PROPOSAL <1,1>", "COMMIT <1,1>", "NEWLEADER"]
    for word in (*4 * (0x3020000,), 0x14020008):
        runner.step(word)
    s = runner.state
    assert (list(s.log[2]), list(s.snapshot_names[2]), s.current_epoch[2]) == ([ONE], [], 0)
    names = {name.removesuffix("__own"): function for name, function in runner.names.items()}
    names["on_crash"](s, 2)
    names["on_recovery"](s, 2)
    assert s.refused[2]


def test_what_is_applied_before_a_snap_is_read_comes_twice() -> None:
    """A real 3.9.3 sent this. NEWLEADER waits for the SNAP, and what the learner does again changes nothing."""
    serves = (
        0x1B000002, 0x2000100, 0x3010000, 0x2000100, 0x3010000, 0x2000100, 0x14000005, 0x3010000, 0x14010008,
        0x14010009, 0x1401000A, 0x2000100, 0x14000006, 0x14000000, 0x14000001, 0x3010000, 0x3010000, 0x14010001,
        0x2000100,
    )  # fmt: skip
    joins = (0x1C020000, 0x2000200, 0x3020000, 0x2000200)
    runner = after("transfer", "", (*serves, *joins))
    snap = 0x14000000 | PROTOCOLS["zookeeper"].actions.index("send SNAP")
    assert sent(runner.state) == []
    assert GOES_ON not in runner.possible()
    runner.step(0x14000004)  # the leader applies what it has committed
    runner.step(snap)
    assert sent(runner.state) == ["SNAP <1,1>", "PROPOSAL <1,1>", "COMMIT <1,1>"]
    assert snap not in runner.possible()
    runner.step(GOES_ON)
    for word in (*4 * (0x3020000,), 0x14020007):
        runner.step(word)
    s = runner.state
    assert (s.last_processed[2], list(s.snapshot_names[2]), list(s.log[2])) == (ONE, [ONE], [])
    assert s.tree[2] == s.tree[0]


@pytest.mark.parametrize("variant", ["", "coarse,transfer"])
def test_no_process_is_told_apart(variant: str) -> None:
    """A loop that asks what its other rounds write would cost up to six times as many states."""
    assert asymmetry(Model(Configuration("zookeeper", variant)), []) == ""
