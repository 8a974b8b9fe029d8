"""Two-phase commit.

Gray and Lamport, *Consensus on Transaction Commit*, section 3, with N managers and one coordinator.

- A manager is working, prepared, committed or aborted. Messages are never taken out: who has sent *prepared*; *commit*
  or *abort* of the coordinator.
- **prepare**: a working manager becomes prepared, and sends *prepared*.
- **refuse**: a working manager aborts.
- **hear**: the coordinator, undecided, notes a *prepared* once.
- **commit**: the coordinator, undecided, has noted all: it sends *commit*.
- **abort**: the coordinator, undecided, sends *abort*.
- **obey**: a manager that has not yet commits after *commit*, or aborts after *abort*.

No manager has aborted when another has committed. N = 3: 288 states; 8: 1,745,408.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Node, OneOf, any_of, declare, environment, environment_step, safety

WORKING, PREPARED, COMMITTED, ABORTED = range(4)
INIT, COMMIT, ABORT = range(3)

Phase = Annotated[int, OneOf("WORKING", "PREPARED", "COMMITTED", "ABORTED")]


class State(Fields):
    phase: Each[Node, Phase] = environment("state of a manager")
    voted: set[Node] = environment("who has sent prepared")
    heard: set[Node] = environment("whom the coordinator knows to be prepared")
    decision: Annotated[int, OneOf("INIT", "COMMIT", "ABORT")] = environment("what the coordinator has sent")


@environment_step
def prepare(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] == WORKING})
    s.phase[p] = PREPARED
    s.voted.add(p)


@environment_step
def refuse(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] == WORKING})
    s.phase[p] = ABORTED


@environment_step(when=lambda s: s.decision == INIT)
def hear(s: State) -> None:
    p = any_of(s, s.voted - s.heard)
    s.heard.add(p)


@environment_step(when=lambda s: s.decision == INIT and len(s.heard) == s.NODES)
def commit(s: State) -> None:
    s.decision = COMMIT


@environment_step(when=lambda s: s.decision == INIT)
def abort(s: State) -> None:
    s.decision = ABORT


@environment_step(when=lambda s: s.decision == COMMIT)
def obey_commit(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] != COMMITTED})
    s.phase[p] = COMMITTED


@environment_step(when=lambda s: s.decision == ABORT)
def obey_abort(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] != ABORTED})
    s.phase[p] = ABORTED


@safety(witness=lambda s: any(s.phase[p] == COMMITTED for p in range(s.NODES)))
def consistent(s: State) -> bool:
    """No manager has aborted when another has committed."""
    return not any(s.phase[p] == ABORTED for p in range(s.NODES)) or not any(
        s.phase[q] == COMMITTED for q in range(s.NODES)
    )


PROTOCOL = declare(__name__, nodes=3)
