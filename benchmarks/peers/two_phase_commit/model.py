"""Two-phase commit: see page.md."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Node, OneOf, any_of, broken, declare, environment, environment_step, safety

WORKING, PREPARED, COMMITTED, ABORTED = range(4)
INIT, COMMIT, ABORT = range(3)

Phase = Annotated[int, OneOf("WORKING", "PREPARED", "COMMITTED", "ABORTED")]


class State(Fields):
    phase: Each[Node, Phase] = environment("state of a manager")
    voted: set[Node] = environment("who has sent prepared")
    heard: set[Node] = environment("whom the coordinator knows to be prepared")
    decision: Annotated[int, OneOf("INIT", "COMMIT", "ABORT")] = environment("what the coordinator has sent")


def some_work(s: State) -> bool:
    return len({p for p in range(s.NODES) if s.phase[p] == WORKING}) > 0


@environment_step(when=some_work)
def prepare(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] == WORKING})
    s.phase[p] = PREPARED
    s.voted.add(p)


@environment_step(when=some_work)
def refuse(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] == WORKING})
    s.phase[p] = ABORTED


def some_to_hear(s: State) -> bool:
    some = len({p for p in range(s.NODES) if p in s.voted and p not in s.heard}) > 0
    return s.decision == INIT and some


@environment_step(when=some_to_hear)
def hear(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if p in s.voted and p not in s.heard})
    s.heard.add(p)


def may_commit(s: State) -> bool:
    return s.decision == INIT and len(s.heard) == s.NODES


@environment_step(when=may_commit)
def commit(s: State) -> None:
    s.decision = COMMIT


def undecided(s: State) -> bool:
    return s.decision == INIT


@environment_step(when=undecided)
def abort(s: State) -> None:
    s.decision = ABORT


def some_to_commit(s: State) -> bool:
    some = len({p for p in range(s.NODES) if s.phase[p] != COMMITTED}) > 0
    return s.decision == COMMIT and some


@environment_step(when=some_to_commit)
def obey_commit(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] != COMMITTED})
    s.phase[p] = COMMITTED


def some_to_abort(s: State) -> bool:
    some = len({p for p in range(s.NODES) if s.phase[p] != ABORTED}) > 0
    return s.decision == ABORT and some


@environment_step(when=some_to_abort)
def obey_abort(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] != ABORTED})
    s.phase[p] = ABORTED


def one_ended(s: State) -> bool:
    """A manager has ended."""
    for p in range(s.NODES):
        if s.phase[p] == COMMITTED:
            return True
    return False


@safety(witness=one_ended)
def consistent(s: State) -> bool:
    """No manager has aborted when another has committed."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if s.phase[p] == ABORTED and s.phase[q] == COMMITTED:
                return broken("one has aborted, and one has committed")
    return True


PROTOCOL = declare(__name__, nodes=3)
