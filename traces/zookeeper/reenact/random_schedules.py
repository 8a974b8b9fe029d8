"""Draw random runs in the model of a release and play them, to test whether model and servers do the same."""

from __future__ import annotations

import random
from collections.abc import Sequence

from traces.record.runner import Runner
from traces.record.trace import Step, StepWord, TraceError
from traces.record.values import state_json
from traces.zookeeper.reenact.mapping import MAPPING, forced_by
from traces.zookeeper.reenact.periodic import DUE, takes_snapshots, thread_is_there
from traces.zookeeper.reenact.plan import (
    ESTABLISHED,
    NEW,
    VOTERS,
    ReenactmentPlan,
    by_itself,
    own_step,
    removes,
    serves_at_once,
    writes_own_epoch,
)
from zabspec.model import Configuration, Model
from zabspec.quorums import quorums_with
from zabspec.zookeeper.state import FOLLOWING, SERVING

IDS = (3, 2, 1, 4)
BUDGETS = {ESTABLISHED: "elections=3,proposals=2,write_errors=0", NEW: "elections=4,proposals=3,write_errors=0"}
LONGEST, WITH_MORE = 60, 90  # steps of a run, and of one with an observer, or whose servers are established in it
RARE = {  # beside 1 for any other step
    "crash": 0.06, "lose_connection": 0.06, "partition": 0.06, "follower_learns": 0.25, "leader_learns": 0.25,
    "written back": 0.06,  # else little is ever lost with the power
    "snapshot is due": 0.15, "snapshot is written": 0.25,  # else all are of the first term, and soon over
}  # fmt: skip
OUTLIVES = "sync thread of an earlier term"
OFTEN = 3.0  # the same for what an observer does, and what its leader receives from it: else few runs bring it to serve


def drawn(variant: str, seed: int, batches: bool = False, start: str = ESTABLISHED) -> ReenactmentPlan:
    """Return a random run as a plan.

    Args:
        variant: the variant of the protocol for the release.
        seed: the seed.
        batches: the sync thread of the servers forces all that is queued at once (before 3.6.0), so the run does the
            same, one step per transaction.
        start: where the run begins, one that can be played (`starts.py`).
    """
    budgets = f"{BUDGETS[start]},snapshots=2" if takes_snapshots(variant) else BUDGETS[start]
    c = Configuration(
        "zookeeper", variant, start=start, timeouts=0, crashes=2, losses=2, partitions=1, budgets=budgets,
        quorums=quorums_with(variant),
    )  # fmt: skip
    longest = WITH_MORE if c.nodes > VOTERS or start == NEW else LONGEST
    draw, model = random.Random(f"{variant} {seed}"), Model(c)
    runner = Runner(model)
    names = list(model.program.actions)
    initial = state_json(runner.state)
    steps: list[Step] = []
    while len(steps) < longest:
        words = [w for w in map(StepWord.of, runner.possible()) if can(runner, w, names)]
        words = [w for w in words if not too_early(steps, w, names, 2 if batches else 1, start)]
        words = [w for w in words if not (batches and parts_a_batch(runner, w, names))]
        if not words:
            break
        word = serves_at_once(runner, names) or draw.choices(words, [weight(w, names) for w in words])[0]
        p = word.process
        try:
            if word.kind == "leader_learns" and p is not None and writes_own_epoch(runner, p, names):
                steps.append(runner.step((by_itself(runner, p, names) or word).word))
            steps.append(runner.step(word.word))
            if (more := removes(runner, p, names)) is not None:
                steps.append(runner.step(more.word))
            while batches and steps[-1].label == "sync thread" and (more := next_logged(runner, p, names)) is not None:
                steps.append(runner.step(more.word))
        except TraceError:  # a sequence is full
            break
    return ReenactmentPlan(c, initial, tuple(steps), IDS[: c.nodes], (), (), ())


def weight(word: StepWord, names: Sequence[str]) -> float:
    """Return how often a step is drawn, beside 1 for any other."""
    found = RARE.get(names[word.operands["which"]] if word.kind == "action" else word.kind)
    if found is not None:
        return found
    return OFTEN if VOTERS in (word.process, word.operands.get("follower")) else 1.0


def next_logged(runner: Runner, p: int | None, names: list[str]) -> StepWord | None:
    """Return the next step of a process's sync thread, or None."""
    return None if p is None else own_step(runner, p, names, "sync thread")


def can(runner: Runner, word: StepWord, names: Sequence[str]) -> bool:
    """Return whether a step can be forced.

    It needs a row; where votes are equal the larger id must win; a server that joins a leader must hear of it from a
    quorum with one epoch.
    """
    if word.kind == "action":
        return names[word.operands["which"]] in MAPPING
    if word.kind == "join":
        return says_one_epoch(runner, word.operands["leader"])
    if word.kind != "elect":
        return True
    l, quorum = word.operands["leader"], word.operands["quorum"]
    return all(IDS[l] > IDS[f] or not equal(runner, f, l) for f in range(VOTERS) if quorum >> f & 1)


def too_early(steps: Sequence[Step], word: StepWord, names: Sequence[str], least: int, start: str) -> bool:
    """Return whether a periodic snapshot is due for which a server has started no thread."""
    if word.kind != "action" or names[word.operands["which"]] != DUE or word.process is None:
        return False
    return not thread_is_there(steps, word.process, least, start == ESTABLISHED)


def parts_a_batch(runner: Runner, word: StepWord, names: Sequence[str]) -> bool:
    """Return whether a thread of an earlier term ends with a transaction, and another one of its batch is behind it.

    Servers that take a whole batch log both, unless they crash before. So does the model, by its step for a batch.
    """
    p = word.process
    if word.kind != "action" or names[word.operands["which"]] != OUTLIVES or p is None:
        return False
    queue = runner.state.stale_queue[p]
    return len(queue) > 1 and queue[1] != 0


def says_one_epoch(runner: Runner, l: int) -> bool:
    """Return whether a leader and its followers are a quorum of notifications with one peerEpoch.

    A server that looks has to hear that, since no old vote passes here (FastLeaderElection.getVoteTracker,
    Vote.equals). A leader announces its own epoch from Leader.startZkServer on, a follower from UPTODATE on
    (QuorumPeer.updateElectionVote). The model lets a server join in between: it has heard an old vote, or has been in
    the round since before.
    """
    s = runner.state
    alike = [f for f in range(VOTERS) if f != l and s.role[f] == FOLLOWING and s.leader[f] == l]
    return any((s.phase[f] == SERVING) == (s.phase[l] == SERVING) for f in alike)


def equal(runner: Runner, f: int, l: int) -> bool:
    """Return whether two servers' votes are equal but for their ids."""
    s = runner.state
    return bool(s.current_epoch[f] == s.current_epoch[l] and s.last_processed[f] == s.last_processed[l])


def kind(step: Step) -> str:
    """Return the kind by which a step is counted."""
    assert forced_by(step) is not None
    return step.label if step.word.kind == "action" else step.word.kind.replace("_", " ")
