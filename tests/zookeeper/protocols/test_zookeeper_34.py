"""Releases 3.4.10 and 3.4.14 of ZooKeeper, difference by difference, beside 3.5.3: what each does where they part."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from traces import Runner
from zabspec.model import Configuration, Model
from zabspec.zookeeper.state import DIFFS, LEADING, LOOKING, SERVING, WAITING, WIDTH
from zabspec.zookeeper.variants.releases import V360, V3410, V3414

BUDGETS = "elections=2,proposals=1"
OLD, NEWER, NEXT = "3.4.10", "3.4.14", "3.5.3"
Server = tuple[Any, dict[str, Any]]


def z(epoch: int, counter: int) -> int:
    return epoch * WIDTH + counter


@cache
def runner(variant: str) -> Runner:
    return Runner(Model(Configuration("zookeeper", variant, timeouts=0, start="established", budgets=BUDGETS)))


def server(variant: str) -> Server:
    """A state, and the text's functions."""
    made = runner(variant)
    s = made.state.copy()
    s.to_follower[1].clear()
    s.log[1].clear()
    return s, {name.removesuffix("__own"): value for name, value in made.names.items()}


def fill(place: Any, zxids: list[int]) -> None:
    place.clear()
    for zxid in zxids:
        place.append(zxid)


def sent(variant: str, log: list[int], own: int, p: int, applied: list[int], outstanding: list[int]) -> list[str]:
    """What a leader of epoch 3 sends to a learner that says p."""
    s, names = server(variant)
    fill(s.committed_log[0], log)
    fill(s.to_be_applied[0], applied)
    fill(s.outstanding[0], outstanding)
    s.last_processed[0], s.last_proposed[0], s.peer_last[0][1] = own, z(3, 2), p
    names["sync_follower"](s, 0, 1)
    assert 1 in s.unsettled[0]
    words = [str(m).replace("(zxid=", " ").split(", tree")[0].rstrip(")") for m in s.to_follower[1]]
    assert words.pop() == "NEWLEADER("
    return words


PASSED = ["PROPOSAL <3,1>", "COMMIT <3,1>"]
BOTH = [*PASSED, "PROPOSAL <3,2>", "COMMIT <3,2>"]
TABLE = {
    "in sync": ([z(1, 1)], z(3, 0), z(3, 0), [], [], ["DIFF <3,0>"], ["DIFF <3,0>"]),
    "ahead": ([z(1, 1)], z(3, 0), z(2, 1), [], [], ["TRUNC <1,1>"], ["TRUNC <1,1>"]),
    "behind": ([z(1, 2), z(3, 1)], z(3, 1), z(1, 2), [], [], ["DIFF <3,1>", *PASSED], ["DIFF <3,1>", *PASSED]),
    "no committedLog, behind": ([], z(3, 0), z(1, 1), [], [], ["SNAP <3,0>"], ["SNAP <3,0>"]),
    "no committedLog, ahead of it, with what is outstanding": (
        [], z(3, 0), z(3, 1), [], [z(3, 1), z(3, 2)],
        ["SNAP <3,0>", "PROPOSAL <3,2>"], ["TRUNC <3,0>", "PROPOSAL <3,1>", "PROPOSAL <3,2>"],
    ),
    "a former leader's <e,0>": ([z(1, 1)], z(3, 0), z(2, 0), [], [], ["TRUNC <1,1>"], ["SNAP <3,0>"]),
    "diverged in another epoch": (
        [z(1, 1), z(3, 1)], z(3, 1), z(2, 1), [], [], ["TRUNC <1,1>", *PASSED], ["SNAP <3,1>"],
    ),
    "in committedLog and still in toBeApplied": (
        [z(1, 1), z(3, 1)], z(3, 1), z(1, 1), [z(3, 1)], [],
        ["DIFF <3,1>", *PASSED, *PASSED], ["DIFF <3,1>", *PASSED],
    ),
    "twice in committedLog": (  # what a thread that outlives its term has logged once more is replayed
        [z(1, 1), z(3, 1), z(3, 2), z(3, 1)], z(3, 2), z(1, 1), [], [],
        ["DIFF <3,1>", *BOTH, *PASSED], ["DIFF <3,1>", *BOTH],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLE)
def test_a_learner_is_synchronized_from_committed_log(case: str) -> None:
    """LearnerHandler.run beside syncFollower of 3.5.0 (ZOOKEEPER-1413, a repair here)."""
    *given, old, new = TABLE[case]
    assert sent(OLD, *given) == sent(NEWER, *given) == old
    assert sent(NEXT, *given) == sent(f"{NEWER},1413", *given) == new


@pytest.mark.parametrize(
    ("repair", "case"), [("2832", "a former leader's <e,0>"), ("forward", "in committedLog and still in toBeApplied")]
)
def test_each_part_of_that_can_be_repaired_alone(repair: str, case: str) -> None:
    *given, _, new = TABLE[case]
    assert sent(f"{NEWER},{repair}", *given) == new


def committed(variant: str) -> list[int]:
    """A quorum has the later of two that are outstanding."""
    s, names = server(variant)
    fill(s.outstanding[0], [z(1, 2), z(1, 3)])
    for f in (0, 1):
        names["process_ack"](s, 0, f, z(1, 3))
    return list(s.to_be_applied[0])


def recorded(variant: str) -> bool:
    """COMMIT of something that was never proposed to it, between NEWLEADER and UPTODATE."""
    s, names = server(variant)
    s.phase[1], s.sync_mode[1] = WAITING, DIFFS
    names["send_to_follower"](s, 0, 1, names["COMMIT"](zxid=z(1, 2)))
    names["on_commit"](s, 1, s.to_follower[1][0])
    return list(s.committed[1]) == [z(1, 2)] and not s.threw


def kept(variant: str) -> tuple[bool, bool]:
    """toBeApplied when a leader has applied a transaction, and whether its commit thread has more to do."""
    s, names = server(variant)
    fill(s.to_be_applied[0], [z(1, 2)])
    fill(s.to_apply[0], [z(1, 2)])
    names["apply_next"](s, 0)
    before = len(s.to_be_applied[0]) == 1, names["has_committed"](s, 0)
    if before[1]:
        names["apply_next"](s, 0)
    assert not s.to_be_applied[0]
    assert not names["has_committed"](s, 0)
    return before


def saved(variant: str) -> list[int]:
    """A server is elected."""
    s, names = server(variant)
    s.role[0] = LOOKING
    names["on_elected"](s, 0)
    return list(s.snapshot_names[0])


def started(variant: str) -> tuple[bool, int]:
    """A server starts that crashed between snapshot.<2,0> and currentEpoch."""
    s, names = server(variant)
    s.accepted_epoch[1] = 2
    fill(s.snapshot_names[1], [z(2, 0)])
    fill(s.snapshot_trees[1], [0])
    names["on_recovery"](s, 1)
    return bool(s.refused[1]), int(s.current_epoch[1])


def ended(function: str, role: int) -> Callable[[str], tuple[list[int], list[int]]]:
    """A term ends with one transaction logged and not applied, and one in the queue: its log, and what it applied."""

    def of(variant: str) -> tuple[list[int], list[int]]:
        s, names = server(variant)
        s.role[0], s.phase[0] = role, SERVING
        fill(s.log[0], [z(1, 1), z(1, 2)])
        fill(s.sync_queue[0], [z(1, 3)])
        names[function](s, 0)
        return list(s.log[0]), list(s.committed_log[0])

    return of


def at_diff(variant: str) -> int:
    s, names = server(variant)
    names["take_diff_zxid"](s, 1, z(2, 1))
    return int(s.last_processed[1])


ONE, TWO, THREE = z(1, 1), z(1, 2), z(1, 3)
DIFFERENCES: dict[str, tuple[Callable[[str], object], object, object, object]] = {
    "commits_in_order": (committed, [THREE], [THREE], []),
    "looks_at_proposal": (recorded, True, True, False),
    "removes_apart": (kept, (True, True), (True, True), (False, False)),
    "load_data": (saved, [], [], [ONE]),
    "starts_refused": (started, (False, 2), (False, 2), (True, 1)),
    "end_running": (ended("end_running", LOOKING), ([ONE, TWO, THREE], [ONE]), ([ONE, TWO, THREE], [ONE, TWO]),
                    ([ONE, TWO, THREE], [ONE])),
    "end_leader": (ended("end_leader", LEADING), ([ONE, TWO, THREE], [ONE]), ([ONE, TWO, THREE], [ONE, TWO, THREE]),
                   ([ONE, TWO, THREE], [ONE])),
    "take_diff_zxid": (at_diff, z(2, 1), ONE, z(2, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENCES)
def test_what_else_differs(name: str) -> None:
    shown, old, newer, following = DIFFERENCES[name]
    assert (shown(OLD), shown(NEWER), shown(NEXT)) == (old, newer, following)


def test_each_difference_is_shown_here() -> None:
    """`leaves_no_trace` and `leaves_at_diff` say of `load_data` and `take_diff_zxid` what merged steps ask."""
    differ = {name for name, f in {**V3410, **V3414}.items() if f is not V360.get(name)}
    differ |= {name for name in V3414 if V3414[name] is not V3410[name]} | (V3410.keys() - V3414.keys())
    assert differ == {"sync_follower", "leaves_no_trace", "leaves_at_diff", *DIFFERENCES}
