"""Snapshots of a tree that changes while it is written: periodic ones (`snapshots`), and a SNAP (`before-3104`)."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.zookeeper.protocols.merged_steps import compare
from traces import Runner
from zabspec.authoring.declaration import ConfigError
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.zookeeper.of_releases import settled
from zabspec.zookeeper.state import FOLLOWING, NO_THREAD, SAVING, SERVING, STARTED, WIDTH

A, B, C = WIDTH + 1, WIDTH + 2, WIDTH + 3


def tree(*zxids: int) -> int:
    return sum(1 << zxid for zxid in zxids)


@cache
def runner(variant: str) -> Runner:
    name = PROTOCOLS["zookeeper"].combined(variant)
    return Runner(Model(Configuration("zookeeper", name, timeouts=0, budgets="elections=1,proposals=2,snapshots=1")))


def state(variant: str) -> tuple[Any, dict[str, Any]]:
    made = runner(variant)
    return made.state.copy(), {name.removesuffix("__own"): value for name, value in made.names.items()}


# --- a SNAP -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "sent"),
    [
        ("3.5.3,transfer,before-3104", ["SNAP", "PROPOSAL B", "COMMIT B", "NEWLEADER", "PROPOSAL C", "COMMIT C"]),
        ("3.5.3,transfer,before-3104,3104", ["SNAP", "PROPOSAL B", "COMMIT B", "PROPOSAL C", "COMMIT C"]),
        ("3.5.3,transfer", ["SNAP", "PROPOSAL B", "COMMIT B", "PROPOSAL C", "COMMIT C"]),
    ],
)
def test_what_is_committed_behind_the_choice_of_a_snap(variant: str, sent: list[str]) -> None:
    """B was committed, and not applied, at the choice, C afterwards; both are in the SNAP."""
    s, names = state(variant)
    s.leader[1] = 0
    names["connect"](s, 1, 0)
    s.last_processed[0] = A
    s.last_committed[0] = B
    names["send_snapshot"](s, 0, 1)
    names["finish_transfer"](s, 0, 1)
    assert len(s.to_follower[1]) == 0
    for zxid in (A, B, C):
        names["apply_txn"](s, 0, zxid)
    s.last_committed[0] = s.last_proposed[0] = C
    names["send_snap"](s, 0, 1)
    first = s.to_follower[1][0]
    assert (first.zxid, first.tree) == (C, tree(A, B, C))
    said = [str(m).replace("<1,2>", "B").replace("<1,3>", "C") for m in s.to_follower[1]]
    assert [m.split("(")[0] + (" " + m[-2] if "zxid=" in m and "tree" not in m else "") for m in said] == sent
    assert (1 in s.unsettled[0]) == ("NEWLEADER" in sent)


def test_one_applied_once_more_takes_back_what_came_after_it() -> None:
    for variant, left in (("one-node", [tree(A, B), tree(A, B, C)]), ("", [tree(A, B, C)] * 2)):
        s, names = state(variant)
        for zxid in (A, B, C):
            names["apply_txn"](s, 0, zxid)
        held = []
        for zxid in (B, C):
            names["apply_to_tree"](s, 0, zxid)
            held.append(s.tree[0])
        assert held == left
        assert s.last_processed[0] == C


def test_3104_goes_with_releases_that_have_it() -> None:
    asked = "transfer,one-node"
    for variant, release, has in (("3.5.3", "3.5.3", True), ("3.6.0", "3.5.4", True), ("3.6.0", "3.5.5", False)):
        assert ("before-3104" in settled(variant, release, asked).split(",")) == has
    assert "before-3104" not in settled("3.5.3", "3.5.3", "transfer")  # of `conform`


@pytest.mark.parametrize("variant", ["3104", "before-3104", "fuzzy-snap", "3.5.3+3104"])
def test_a_snap_that_is_never_sent_is_no_model(variant: str) -> None:
    """Who sends it in a step of its own is `transfer`."""
    with pytest.raises(ConfigError, match="needs transfer"):
        Configuration("zookeeper", variant)
    assert Configuration("zookeeper", f"transfer,{variant}").variant.endswith(variant.rpartition("+")[2])


# --- periodic snapshots --------------------------------------------------------------------------------


def saving(variant: str = "snapshots") -> tuple[Any, dict[str, Any]]:
    """A server that has <1,1>, and has begun to write snapshot.<1,1>; <1,2> is logged and applied since."""
    s, names = state(variant)
    s.log[0].append(A)
    names["apply_txn"](s, 0, A)
    s.snapshot_thread[0] = STARTED
    names["name_snapshot"](s, 0)
    s.log[0].append(B)
    names["apply_txn"](s, 0, B)
    assert (s.snapshot_thread[0], s.saving_as[0], len(s.snapshot_names[0])) == (SAVING, A, 0)
    return s, names


def test_a_snapshot_has_what_came_after_its_name() -> None:
    s, names = saving()
    names["save_periodic"](s, 0)
    assert (list(s.snapshot_names[0]), list(s.snapshot_trees[0])) == ([A], [tree(A, B)])
    names["restore"](s, 0)
    assert (s.tree[0], s.last_processed[0], list(s.committed_log[0])) == (tree(A, B), B, [B])


def test_truncate_reads_back_what_a_snapshot_has_of_it() -> None:
    s, names = saving()
    names["drop_behind"](s, 0, 1)
    names["reload_after_cut"](s, 0, A, A)
    assert (s.tree[0], s.last_processed[0], list(s.log[0])) == (tree(A, B), A, [A])
    assert s.snapshot_thread[0] != SAVING


def test_a_snap_leaves_the_thread_its_own_tree() -> None:
    s, names = saving()
    names["on_snap"](s, 0, Snap(C, tree(A, B, C)))
    assert (list(s.snapshot_trees[0]), s.tree[0]) == ([tree(A, B)], tree(A, B, C))


def test_a_snapshot_of_the_main_thread_comes_after_one_that_is_written() -> None:
    """FileSnap.serialize is synchronized: servers that were elected meanwhile waited for it."""
    s, names = saving()
    names["on_elected"](s, 0)
    assert (list(s.snapshot_names[0]), list(s.snapshot_trees[0])) == ([A, B], [tree(A, B)] * 2)
    assert s.snapshot_thread[0] != SAVING


@pytest.mark.parametrize(
    ("variant", "held"),
    [
        ("snapshots", tree(A, B)),
        ("snapshots,before-4858", tree(A)),
        ("3.9.2,snapshots,before-4858", tree(A)),  # whose learners drain nothing
        ("snapshots,late-snapshot", tree(A)),
        ("snapshots,before-4858,late-snapshot", tree(A)),
        # The repair waits where a sync thread is drained: up to 3.9.2 that is after the tree is brought up to the log,
        # or not at all.
        ("3.9.2,snapshots,late-snapshot", tree(A, B)),
        ("3.9.2,4712,snapshots,late-snapshot", tree(A)),
        ("3.6.0,snapshots,late-snapshot", tree(A, B)),
    ],
)
def test_what_a_term_that_ends_adds_comes_into_the_snapshot(variant: str, held: int) -> None:
    """B is in its log alone, and is applied by fastForwardDataBase, while snapshot.<1,1> is written."""
    s, names = state(variant)
    s.role[0] = FOLLOWING
    s.phase[0] = SERVING
    s.log[0].append(A)
    names["apply_txn"](s, 0, A)
    s.log[0].append(B)
    s.snapshot_thread[0] = STARTED
    names["name_snapshot"](s, 0)
    names["shut_down"](s, 0)
    if s.snapshot_thread[0] == SAVING:
        names["save_periodic"](s, 0)
    assert (list(s.snapshot_names[0]), list(s.snapshot_trees[0]), s.tree[0]) == ([A], [held], tree(A, B))


def test_a_thread_that_has_not_begun_ends_with_its_process() -> None:
    """A hole ends the process, which is started again."""
    s, names = state("hole,snapshots")
    s.role[0] = FOLLOWING
    s.phase[0] = SERVING
    s.log[0].append(A)
    names["apply_txn"](s, 0, A)
    s.log[0].append(C)
    s.snapshot_thread[0] = STARTED
    names["shut_down"](s, 0)
    assert s.refused[0]
    assert s.snapshot_thread[0] == NO_THREAD


@pytest.mark.slow(seconds=2)
def test_merged_steps_hide_nothing_of_periodic_snapshots() -> None:
    def of(variant: str) -> Configuration:
        name = PROTOCOLS["zookeeper"].combined(variant)
        own = "elections=0,proposals=0,snapshots=1"
        return Configuration("zookeeper", name, start="established", budgets=own, crashes=0, losses=1, timeouts=0)

    r = compare(of("snapshots"), of("coarse,snapshots"))
    assert r.alike
    assert r.states[1] < r.states[0]


class Snap:
    """A SNAP as a handler reads it."""

    def __init__(self, zxid: int, tree: int) -> None:
        self.zxid, self.tree = zxid, tree


def test_a_thread_that_has_not_begun_is_not_in_the_next_term() -> None:
    s, names = state("snapshots")
    for p, begins in ((0, lambda: names["on_elected"](s, 0)), (1, lambda: names["on_follow"](s, 1, 0))):
        s.snapshot_thread[p] = STARTED
        begins()
        assert s.snapshot_thread[p] != STARTED


@pytest.mark.parametrize(
    ("release", "waits"), [("3.8.6", False), ("3.9.1", True), ("3.9.3", True), ("3.9.4", False), ("master", False)]
)
def test_the_releases_whose_shutdown_waits_for_a_snapshot(release: str, waits: bool) -> None:
    assert ("before-4858" in settled("", release, "snapshots")) is waits
    assert "before-4858" not in settled("", release, "")
