"""Two-phase commit (Gray and Lamport, Consensus on Transaction Commit, 2006): a message is sent by being there."""

from __future__ import annotations

from enum import IntEnum

from zabcheck.language import Each, Fields, Node, action, declare, environment_step, processes, safety, shared, stored


class Phase(IntEnum):
    WORKING = 0
    PREPARED = 1
    COMMITTED = 2
    ABORTED = 3


class State(Fields):
    phase: Each[Node, Phase] = stored("of each resource manager")
    ready: set[Node] = shared("who has sent that it is prepared")
    known: set[Node] = shared("of whom the transaction manager has received it")
    decision: Phase = shared("of the transaction manager, which it has sent")


@action(when=lambda s, p: s.phase[p] == Phase.WORKING)
def prepare(s: State, p: Node) -> None:
    s.phase[p] = Phase.PREPARED
    s.ready.add(p)


@action(when=lambda s, p: s.phase[p] == Phase.WORKING)
def choose_to_abort(s: State, p: Node) -> None:
    s.phase[p] = Phase.ABORTED


@action(when=lambda s, p: s.decision != Phase.WORKING)
def learn(s: State, p: Node) -> None:
    s.phase[p] = s.decision


@action(when=lambda s, p: s.decision == Phase.WORKING and p in s.ready)
def is_heard(s: State, p: Node) -> None:
    s.known.add(p)


@environment_step(when=lambda s: s.decision == Phase.WORKING)
def abort(s: State) -> None:
    s.decision = Phase.ABORTED


@environment_step(when=lambda s: s.decision == Phase.WORKING and len(s.known) == s.NODES)
def commit(s: State) -> None:
    s.decision = Phase.COMMITTED


def someone_commits(s: State) -> bool:
    """A resource manager has committed."""
    return any(s.phase[p] == Phase.COMMITTED for p in processes(s))


@safety(witness=someone_commits)
def consistent(s: State) -> bool:
    """No resource manager commits where another aborts."""
    return not (someone_commits(s) and any(s.phase[p] == Phase.ABORTED for p in processes(s)))


PROTOCOL = declare(__name__)
