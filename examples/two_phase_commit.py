"""Two-phase commit: a coordinator asks every participant, and commits what all of them agree to.

    zabcheck --protocol example:two_phase_commit
    zabcheck --protocol example:two_phase_commit --participant 4
    zabcheck --protocol example:two_phase_commit --variant hasty     the votes of a majority are enough

Nobody crashes here: a coordinator that does leaves participants waiting.
"""

from __future__ import annotations

from typing import Annotated, NewType

from zabcheck.language import (
    Each, Fields, MessageType, Node, OneOf, Variant, action, broken, choose, declare, ghost, is_quorum, observation,
    processes, receives, safety, send, stored, volatile,
)  # fmt: skip

Coordinator = NewType("Coordinator", Node)
Participant = NewType("Participant", Node)

WORKING, PREPARED, COMMITTED, ABORTED = range(4)

Phase = Annotated[int, OneOf("WORKING", "PREPARED", "COMMITTED", "ABORTED")]


class PREPARE(MessageType): ...


class VOTE(MessageType):
    yes: bool


class DECISION(MessageType):
    commit: bool


class State(Fields):
    phase: Each[Participant, Phase] = stored("where it stands")
    begun: Each[Coordinator, bool] = stored("it has asked for votes")
    asking: Each[Coordinator, bool] = volatile("it still counts votes")
    agreed: Each[Coordinator, set[Participant]] = volatile("who has voted yes")
    outcome: Each[Node, Annotated[int, OneOf("NONE", "COMMIT", "ABORT")]] = ghost("what it has shown")
    PARTICIPANT: int


@action(when=lambda s, p: not s.begun[p])
def begin(s: State, p: Coordinator) -> None:
    s.begun[p] = True
    s.asking[p] = True
    for q in processes(s, Participant):
        send(s, p, q, PREPARE())


@receives
def on_prepare(s: State, p: Participant, source: Coordinator, m: PREPARE) -> None:
    yes = choose(s, 2) == 1
    s.phase[p] = PREPARED if yes else ABORTED
    if not yes:
        decided(s, p, False)
    send(s, p, source, VOTE(yes=yes))


def enough(s: State, p: Coordinator) -> bool:
    return len(s.agreed[p]) == s.PARTICIPANT


@receives
def on_vote(s: State, p: Coordinator, source: Participant, m: VOTE) -> None:
    if s.asking[p]:
        if m.yes:
            s.agreed[p].add(source)
        if not m.yes or enough(s, p):
            s.asking[p] = False
            for q in processes(s, Participant):
                send(s, p, q, DECISION(commit=m.yes))


@receives
def on_decision(s: State, p: Participant, m: DECISION) -> None:
    if s.phase[p] == PREPARED:
        s.phase[p] = COMMITTED if m.commit else ABORTED
        decided(s, p, m.commit)


@observation
def decided(s: State, p: Participant, commit: bool) -> None:
    """What the outside sees of p: its decision."""
    s.outcome[p] = 1 if commit else 2


def someone_committed(s: State) -> bool:
    """A participant has committed."""
    return any(s.outcome[p] == 1 for p in range(s.NODES))


@safety(over="history", witness=someone_committed)
def agreement(s: State) -> bool:
    """No participant commits what another aborts."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if s.outcome[p] == 1 and s.outcome[q] == 2:
                return broken(f"p{p} has committed, and p{q} has aborted")
    return True


def most(s: State, p: Coordinator) -> bool:
    return is_quorum(s, s.agreed[p], Participant)


PROTOCOL = declare(
    __name__,
    roles={"coordinator": 1, "participant": 3},
    variants=[Variant("hasty", "the votes of a majority are enough", {"enough": most})],
)
