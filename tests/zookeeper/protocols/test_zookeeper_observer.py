"""Observers (`observer`): who they follow, what they are sent, and what they do with it. The last of four is one."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Limits
from checker.explore.symmetry import asymmetry
from checker.tables.requests.sweep import SweepRequest
from tests.second.reference import explore as explore_second
from tests.zookeeper.protocols.merged_steps import compare
from traces import Runner
from traces.record.trace import StepWord
from zabspec.authoring.declaration import ConfigError
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.plan import Run
from zabspec.zookeeper.of_releases import settled
from zabspec.zookeeper.state import (
    AWAITING_EPOCH_ACKS,
    CHOOSING_EPOCH,
    DIFFS,
    IDLE,
    NONE,
    SERVING,
    SNAPS,
    SYNCING,
    WAITING,
    WIDTH,
)
from zabspec.zookeeper.variants.mechanisms import what_is_applied_in_sync_is_remembered

A, B, C = WIDTH + 1, WIDTH + 2, WIDTH + 3
OBSERVED = "weights 1,1,1,0"
LAST = 3


class Inform(NamedTuple):
    zxid: int


class Info(NamedTuple):
    accepted: int


def tree(*zxids: int) -> int:
    return sum(1 << zxid for zxid in zxids)


@cache
def runner(variant: str = "observer", start: str = "established") -> Runner:
    name = PROTOCOLS["zookeeper"].combined(variant)
    budgets = "elections=1,proposals=1"
    return Runner(Model(Configuration("zookeeper", name, start=start, quorums=OBSERVED, timeouts=0, budgets=budgets)))


def state(variant: str = "observer") -> tuple[Any, dict[str, Any]]:
    made = runner(variant)
    return made.state.copy(), {name.removesuffix("__own"): value for name, value in made.names.items()}


def sent(channel: Any) -> list[str]:
    return [str(m).split("(")[0] for m in channel]


# --- who votes ----------------------------------------------------------------------------------------


def test_no_election_is_of_an_observer() -> None:
    """It neither leads nor is one of those that elect, and joins who is elected."""
    there = Runner(Model(Configuration("zookeeper", "observer", quorums=OBSERVED, crashes=0, losses=0, timeouts=0)))
    steps = [StepWord.of(word) for word in there.possible()]
    elections = {(s.operands["leader"], s.operands["quorum"]) for s in steps if s.kind == "elect"}
    assert elections == {(l, 1 << f) for l in range(3) for f in range(3) if f != l}
    there.step(next(word for word in there.possible() if StepWord.of(word).kind == "elect"))
    assert LAST in {StepWord.of(w).operands["process"] for w in there.possible() if StepWord.of(w).kind == "join"}


@pytest.mark.parametrize(
    ("variant", "quorums"),
    [("observer", ""), ("observer", "weights 1,1,2"), ("observer", "weights 1,0,1"), ("observer", "weights 2,1,1,0"),
     ("observer", "weights 1,0"),
     ("observer", "groups {1,2},{3,4} weights 1,1,1,0"), ("", OBSERVED)],
)  # fmt: skip
def test_observers_are_servers_without_weight_and_come_last(variant: str, quorums: str) -> None:
    with pytest.raises(ConfigError, match="observer"):
        Configuration("zookeeper", variant, quorums=quorums)


@pytest.mark.parametrize(
    ("start", "quorums", "elections", "refused"),
    [
        ("established", "weights 1,1,0", 0, ""),
        ("after-snap", "weights 1,1,1,0", 2, ""),
        ("after-snap", "weights 1,1,1,1,1,0", 2, ""),
        ("after-snap", "weights 1,1,0", 2, "3 to 7 processes that vote, not of 2"),
        ("after-snap", "weights 1,1,1,0", 1, "has spent 2 elections"),
        ("snapshot-alone", "weights 1,1,1,0", 3, ""),
        ("snapshot-alone", "weights 1,1,0", 3, "3 processes that vote, not of 2"),
        ("snapshot-alone", "weights 1,1,1,1,1,0", 3, "3 processes that vote, not of 5"),
        ("snapshot-alone", "weights 1,1,1,0", 2, "has spent 3 elections"),
        ("snapshot-alone", "weights 2,1,1", 3, "is of majorities"),
        ("snapshot-alone", "", 3, ""),
    ],
)
def test_a_start_that_no_run_reaches_is_refused(start: str, quorums: str, elections: int, refused: str) -> None:
    """Two servers that vote, in `after-snap`, would be a leader that nobody follows: violated before any step."""
    asked: dict[str, Any] = {
        "variant": "observer" if ",0" in quorums else "", "start": start, "quorums": quorums,
        "budgets": f"elections={elections}", "nodes": len(quorums.split(",")) if quorums else 3,
    }  # fmt: skip
    if refused:
        for question in (Configuration, partial(Run, seed=1)):
            with pytest.raises(ConfigError, match=refused):
                question(protocol="zookeeper", **asked)
    else:
        Run(seed=1, protocol="zookeeper", **asked)
        first = Runner(Model(Configuration("zookeeper", **asked))).state
        (declared,) = (s for s in PROTOCOLS["zookeeper"].declared.starts if s.name == start)
        assert first.elections_left == elections - declared.spends.get("elections", 0)


def test_releases_that_count_observers() -> None:
    for release, counts in (
        ("3.4.10", True), ("3.4.12", True), ("3.4.13", False), ("3.5.3", True), ("3.5.4", False), ("3.6.0", False),
        ("3.9.5", False), ("master", False),
    ):  # fmt: skip
        assert ("before-2959" in settled("", release, "observer").split(",")) == counts, release
        assert "before-2959" not in settled("", release, "walk")


def test_a_sweep_of_a_release_counts_observers_as_it_does() -> None:
    asked = SweepRequest(
        folder="x", seeds=("1:2",), protocol=("zookeeper",), variant=("3.5.3+observer", "3.6.0+observer"),
        quorums=OBSERVED,
    )  # fmt: skip
    grid = asked.grid()
    assert grid is not None
    assert grid.variant == ("3.5.3+observer+before-2959", "3.6.0+observer")


@pytest.mark.parametrize(
    ("variant", "chosen"), [("observer", False), ("observer,before-2959", True), ("observer,before-2959,2959", False)]
)
def test_whom_a_leader_counts_in_discovery(variant: str, chosen: bool) -> None:
    """ZOOKEEPER-2959: with an observer alone it has a quorum, of 3.5.3."""
    s, names = state(variant)
    names["shut_down"](s, 0)
    names["on_elected"](s, 0)
    assert s.phase[0] == CHOOSING_EPOCH
    names["on_followerinfo"](s, 0, LAST, Info(1))
    assert (s.phase[0] == AWAITING_EPOCH_ACKS) == chosen
    names["on_followerinfo"](s, 0, 1, Info(1))
    assert s.phase[0] == AWAITING_EPOCH_ACKS


# --- what it is sent ----------------------------------------------------------------------------------


def test_a_leader_proposes_to_who_votes_and_informs_the_others() -> None:
    s, names = state()
    for f in range(1, 4):
        s.to_follower[f].clear()
    names["propose"](s, 0)
    assert [sent(s.to_follower[f]) for f in range(1, 4)] == [["PROPOSAL"], ["PROPOSAL"], []]
    names["leader_commits"](s, 0, B)
    assert [sent(s.to_follower[f])[-1] for f in range(1, 4)] == ["COMMIT", "COMMIT", "INFORM"]
    assert s.to_follower[LAST][0].zxid == B


def test_what_is_outstanding_is_not_sent_to_an_observer() -> None:
    """Leader.startForwarding: what is in toBeApplied is, with its COMMIT."""
    for f, said in ((1, ["PROPOSAL", "COMMIT", "PROPOSAL"]), (LAST, ["PROPOSAL", "COMMIT"])):
        s, names = state()
        s.to_follower[f].clear()
        s.outstanding[0].clear()
        s.outstanding[0].append(C)
        s.to_be_applied[0].append(B)
        s.last_proposed[0] = C
        names["start_forwarding"](s, 0, f, A)
        assert sent(s.to_follower[f]) == said


# --- what it does with it -----------------------------------------------------------------------------


def test_what_comes_while_it_serves_is_logged_and_not_acknowledged() -> None:
    s, names = state()
    names["on_inform"](s, LAST, Inform(B))
    assert (list(s.sync_queue[LAST]), list(s.to_apply[LAST]), list(s.pending[LAST])) == ([B], [B], [])
    names["log_next"](s, LAST)
    assert (list(s.log[LAST]), sent(s.to_leader[LAST][0])) == ([A, B], [])
    names["apply_next"](s, LAST)
    assert s.tree[LAST] == tree(A, B)


def test_a_proposal_or_a_commit_while_it_serves_is_ignored() -> None:
    s, names = state()
    names["on_proposal"](s, LAST, Inform(B))
    names["on_commit"](s, LAST, Inform(B))
    assert (list(s.sync_queue[LAST]), list(s.pending[LAST]), list(s.to_apply[LAST])) == ([], [], [])
    assert s.phase[LAST] == SERVING


@pytest.mark.parametrize(
    ("phase", "mode", "applied"), [(SYNCING, SNAPS, True), (SYNCING, DIFFS, False), (WAITING, NONE, False)]
)
def test_what_it_is_informed_of_before_it_serves(phase: int, mode: int, applied: bool) -> None:
    """Behind a SNAP and before NEWLEADER it is applied at once, else it is for UPTODATE."""
    s, names = state()
    s.phase[LAST], s.sync_mode[LAST] = phase, mode
    names["on_inform"](s, LAST, Inform(B))
    lists = (list(s.not_logged[LAST]), list(s.committed[LAST]))
    assert (s.tree[LAST], lists) == ((tree(A, B), ([], [])) if applied else (tree(A), ([B], [B])))


@pytest.mark.parametrize(("variant", "remembered"), [("observer", True), ("3.9.3,observer", False)])
def test_what_it_applies_in_the_sync_is_in_committed_log(variant: str, remembered: bool) -> None:
    """ZOOKEEPER-4925 of an INFORM, which is in no list before it is applied."""
    s, names = state(variant)
    s.phase[LAST], s.sync_mode[LAST] = SYNCING, SNAPS
    before = s.copy()
    names["on_inform"](s, LAST, Inform(B))
    assert (B in s.committed_log[LAST]) == remembered
    assert what_is_applied_in_sync_is_remembered(before, s, s) == remembered


@pytest.mark.parametrize("variant", ["observer", "3.9.2,observer", "3.9.1,observer", "3.6.0,observer"])
def test_what_came_before_newleader_waits_for_uptodate(variant: str) -> None:
    """Of a follower 3.9.3 and later write it before NEWLEADER is acknowledged; of an observer no release does."""
    s, names = state(variant)
    s.phase[LAST], s.sync_mode[LAST], s.current_epoch[LAST], s.term[LAST] = SYNCING, DIFFS, 1, 2
    s.not_logged[LAST].append(B)
    s.committed[LAST].append(B)
    for step in ("on_newleader", "persist", "write_epoch"):
        names[step](s, LAST, Inform(0)) if step == "on_newleader" else names[step](s, LAST)
    assert (list(s.log[LAST]), list(s.sync_queue[LAST]), s.current_epoch[LAST]) == ([A], [], 2)
    s.phase[LAST] = WAITING
    names["on_uptodate"](s, LAST, Inform(0))
    assert (list(s.sync_queue[LAST]), list(s.to_apply[LAST])) == ([B], [B])


def test_a_proposal_without_its_commit_is_left_out_or_throws() -> None:
    """Learner.syncWithLeader: what an old leader sends of outstanding proposals is none that is committed next."""
    for committed, queued, ends in (([C], [C], False), ([], [], True)):
        s, names = state()
        s.phase[LAST] = WAITING
        for zxid in (B, C):
            s.not_logged[LAST].append(zxid)
        for zxid in committed:
            s.committed[LAST].append(zxid)
        names["on_uptodate"](s, LAST, Inform(0))
        assert (list(s.sync_queue[LAST]), s.threw, s.phase[LAST] == IDLE) == (queued, ends, ends)


def test_a_sync_thread_that_outlives_its_term_logs_all_that_it_has() -> None:
    """That of a follower ends with its first acknowledgement (ZOOKEEPER-4712)."""
    for p, left in ((LAST, [C]), (1, [])):
        s, names = state("3.9.2,observer")
        s.sync_queue[p].clear()
        s.sync_queue[p].append(B)
        s.sync_queue[p].append(C)
        names["shut_down"](s, p)
        names["log_stale"](s, p)
        assert (list(s.log[p]), list(s.stale_queue[p])) == ([A, B], left)


def test_a_sync_thread_that_outlives_its_term_has_something_to_do() -> None:
    """Servers that differ until it has written are not quiet (3.9.2)."""
    for p in (1, LAST):
        s, names = state("3.9.2,observer")
        assert names["is_idle"](s, p)
        s.stale_queue[p].append(B)
        assert not names["is_idle"](s, p)


# --- as a whole ---------------------------------------------------------------------------------------


def test_servers_that_vote_are_alike() -> None:
    model = Model(Configuration("zookeeper", "coarse,observer", quorums=OBSERVED))
    assert asymmetry(model, []) == ""


@pytest.mark.parametrize("variant", ["3.5.3,observer,before-2959"])
def test_the_second_semantics_counts_the_same(variant: str) -> None:
    """Two servers that vote and an observer."""
    budgets = {"crashes": 1, "losses": 1, "timeouts": 0, "elections": 1, "proposals": 0}
    name = PROTOCOLS["zookeeper"].combined(variant)
    request = {
        "protocol": "zookeeper", "variant": name, "nodes": 3, "quorums": "weights 1,1,0", "budgets": budgets,
        "start": "established", "max_depth": 8,
    }  # fmt: skip
    depths = explore_second(request)["depth"]
    own = ",".join(f"{b}={budgets[b]}" for b in ("elections", "proposals"))
    c = Configuration(
        "zookeeper", name, start="established", quorums="weights 1,1,0", budgets=own, crashes=1, losses=1, timeouts=0
    )
    found = Explorer(Compiled(Model(c), [], False), 1).run(Limits(depth=8), keep_going=True)
    assert list(found.levels) == [depths.count(k) for k in range(max(depths) + 1)]
    assert found.distinct > 1000


@pytest.mark.parametrize(
    ("variant", "quorums", "crashes", "losses"),
    [
        ("3.5.3,observer,before-2959", "weights 1,1,0", 0, 1),
        ("1558", "weights 2,1,1", 1, 0),
    ],
)
def test_merged_steps_hide_nothing_where_servers_differ(variant: str, quorums: str, crashes: int, losses: int) -> None:
    """Two servers that vote and an observer; and three that vote, of which two alone may be no quorum."""
    made = []
    for merged in ("", "coarse,"):
        name = PROTOCOLS["zookeeper"].combined(merged + variant)
        asked: dict[str, Any] = {"crashes": crashes, "losses": losses, "timeouts": 0}
        budgets = "elections=1,proposals=0"
        made.append(Configuration("zookeeper", name, start="established", quorums=quorums, budgets=budgets, **asked))
    compared = compare(*made)
    assert compared.alike
    assert compared.seen > 100
