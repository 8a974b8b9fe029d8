"""Two-phase commit: a coordinator asks everyone, and commits if all agree.

Try it:

    zabcheck --protocol tpc.py                    every reachable state
    zabcheck --protocol tpc.py --crashes 2        a larger budget
    zabcheck --protocol tpc.py --variant hasty    one rule changed: what breaks, and how
    zabcheck induct --protocol tpc.py             why it holds, however long it runs

Then change a line. `docs/reference/protocol-language.md` lists all that a protocol may contain.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    AnyMessage, Each, Fields, MessageType, Node, OneOf, Variant, action, broken, declare, ghost, invariant, observation,
    receives, safety, send, stored, volatile,
)  # fmt: skip

# Where a process stands. The numbers are those of `OneOf` below.
WORKING, PREPARED, COMMITTED, ABORTED = range(4)

Phase = Annotated[int, OneOf("WORKING", "PREPARED", "COMMITTED", "ABORTED")]


class PREPARE(MessageType): ...


class VOTE(MessageType):
    yes: bool


class DECISION(MessageType):
    commit: bool


# --- the state, declared once ---------------------------------------------------------------------


class State(Fields):
    phase: Each[Node, Phase] = stored("where it stands")
    coordinates: Each[Node, bool] = volatile("it waits for votes")
    agreed: Each[Node, set[Node]] = volatile("of a coordinator: who voted yes")
    outcome: Each[Node, Annotated[int, OneOf("NONE", "COMMIT", "ABORT")]] = ghost("what it showed the outside")


# --- the protocol: what a process p does, with nothing but its own fields and what it is sent -----


def may_begin(s: State, p: Node) -> bool:
    return s.phase[p] == WORKING


@action(when=may_begin, budget="begins")
def begin(s: State, p: Node) -> None:
    """A coordinator asks everyone, itself among them."""
    s.coordinates[p] = True
    for q in range(s.NODES):
        send(s, p, q, PREPARE())


def may_refuse(s: State, p: Node) -> bool:
    return s.phase[p] == WORKING


@action(when=may_refuse, budget="refusals")
def refuse(s: State, p: Node) -> None:
    """A participant aborts by itself, as long as it has promised nothing."""
    s.phase[p] = ABORTED
    decided(s, p, False)


@receives
def on_prepare(s: State, p: Node, source: Node, m: PREPARE) -> None:
    if s.phase[p] == WORKING:
        s.phase[p] = PREPARED
    send(s, p, source, VOTE(yes=s.phase[p] == PREPARED))


def enough(s: State, p: Node) -> bool:
    """Whether a coordinator may commit."""
    return len(s.agreed[p]) == s.NODES


@receives
def on_vote(s: State, p: Node, source: Node, m: VOTE) -> None:
    if s.coordinates[p]:
        if m.yes:
            s.agreed[p].add(source)
            if enough(s, p):
                announce(s, p, True)
        else:
            announce(s, p, False)


def announce(s: State, p: Node, commit: bool) -> None:
    s.coordinates[p] = False
    for q in range(s.NODES):
        send(s, p, q, DECISION(commit=commit))


@receives
def on_decision(s: State, p: Node, m: DECISION) -> None:
    if s.phase[p] == PREPARED:
        s.phase[p] = COMMITTED if m.commit else ABORTED
        decided(s, p, m.commit)


@observation
def decided(s: State, p: Node, commit: bool) -> None:
    """What the outside sees of p: its decision."""
    s.outcome[p] = 1 if commit else 2


# --- what must hold -------------------------------------------------------------------------------


def two_decided(s: State) -> bool:
    """Two processes have decided."""
    count = 0
    for p in range(s.NODES):
        if s.outcome[p] > 0:
            count = count + 1
    return count > 1


@safety(over="history", witness=two_decided)
def agreement(s: State) -> bool:
    """No process commits and another aborts."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if s.outcome[p] == 1 and s.outcome[q] == 2:
                return broken(f"p{p} has committed, and p{q} has aborted")
    return True


# --- why: an inductive invariant ------------------------------------------------------------------


def bound(s: State, p: Node) -> bool:
    """p has promised to follow the coordinator, and has not aborted."""
    return s.phase[p] == PREPARED or s.phase[p] == COMMITTED


@invariant
def shown(s: State) -> bool:
    """What a process shows the outside is where it stands."""
    for p in range(s.NODES):
        if (s.outcome[p] == 1) != (s.phase[p] == COMMITTED) or (s.outcome[p] == 2) != (s.phase[p] == ABORTED):
            return broken(f"p{p} shows something else than where it stands")
    return True


@invariant
def one_coordinator(s: State) -> bool:
    """There is one coordinator, and none before it begins; while it waits for votes nobody has committed."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if s.coordinates[p] and s.coordinates[q] and p != q:
                return broken(f"p{p} and p{q} coordinate")
            if s.coordinates[p] and s.phase[q] == COMMITTED:
                return broken(f"p{p} waits for votes, and p{q} has committed")
        if s.begins_left > 0 and (s.coordinates[p] or bound(s, p) or len(s.agreed[p]) > 0):
            return broken(f"no process has begun, and p{p} has taken part")
    return True


@invariant
def nothing_is_sent_before(s: State, m: AnyMessage) -> bool:
    """Nothing is in flight before a coordinator begins."""
    return s.begins_left == 0


@invariant
def votes_counted(s: State) -> bool:
    """Who voted yes is bound by it as long as the coordinator waits."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if s.coordinates[p] and q in s.agreed[p] and s.phase[q] != PREPARED:
                return broken(f"p{p} counts the vote of p{q}, which is bound no longer")
    return True


@invariant
def votes_in_flight(s: State, m: VOTE) -> bool:
    """So is who has sent a yes."""
    return not (m.yes and s.coordinates[m.target]) or s.phase[m.source] == PREPARED


@invariant
def decisions_in_flight(s: State, m: DECISION) -> bool:
    """With a decision nobody waits for votes; a commit finds everyone bound, an abort nobody that has committed."""
    for p in range(s.NODES):
        if s.coordinates[p] or (m.commit and not bound(s, p)) or (not m.commit and s.phase[p] == COMMITTED):
            return False
    return True


@invariant
def one_decision(s: State, m: DECISION, other: DECISION) -> bool:
    """All decisions in flight are the same."""
    return m.commit == other.commit


@invariant
def committed_together(s: State) -> bool:
    """Where one has committed, everyone is bound."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if s.phase[p] == COMMITTED and not bound(s, q):
                return broken(f"p{p} has committed, and p{q} is not bound")
    return True


# --- with one rule changed ------------------------------------------------------------------------


def all_but_one(s: State, p: Node) -> bool:
    """A coordinator commits when all but one agree."""
    return len(s.agreed[p]) >= s.NODES - 1


PROTOCOL = declare(
    __name__,
    budgets={"begins": 1, "refusals": 1, "crashes": 1},
    network="fifo",
    variants=[Variant("hasty", "a coordinator commits when all but one agree", {"enough": all_but_one})],
)
