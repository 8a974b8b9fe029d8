"""A transaction over shards: a coordinator locks all of them, then commits or aborts; who finds a lock taken refuses.

    zabcheck --protocol example:sharded_commit
    zabcheck --protocol example:sharded_commit --crashes 1
    zabcheck --protocol example:sharded_commit --live                         no lock is kept for ever
    zabcheck --protocol example:sharded_commit --live --variant forgetful     a shard locks for what it knows to be over
    zabcheck --protocol example:sharded_commit --variant sharing              a lock that is taken is taken over

Each coordinator has one transaction. A coordinator that is down keeps its locks: two-phase commit blocks.
"""

from __future__ import annotations

from typing import Annotated, NewType

from zabcheck.language import (
    NOBODY, AtMost, Each, Fields, MessageType, Node, OneOf, SeqOf, Variant, action, broken, declare, ghost, is_down,
    observation, processes, progress, receives, safety, send, stored, volatile,
)  # fmt: skip

Coordinator = NewType("Coordinator", Node)
Shard = NewType("Shard", Node)

IDLE, ASKING, COMMITTED, ABORTED = range(4)

Phase = Annotated[int, OneOf("IDLE", "ASKING", "COMMITTED", "ABORTED")]
Commits = Annotated[SeqOf[Coordinator], AtMost(lambda size: size.coordinator)]


class PREPARE(MessageType): ...


class VOTE(MessageType):
    yes: bool


class DECISION(MessageType):
    commit: bool


class ASK(MessageType): ...


class State(Fields):
    phase: Each[Coordinator, Phase] = stored("of its transaction")
    agreed: Each[Coordinator, set[Shard]] = volatile("who has locked")
    lock: Each[Shard, Coordinator] = stored("for whose transaction it is locked")
    finished: Each[Shard, set[Coordinator]] = stored("the decisions it has heard")
    commits: Each[Node, Commits] = ghost("what it committed, in order")
    aborts: Each[Node, set[Coordinator]] = ghost("what it aborted")
    SHARD: int


@action(when=lambda s, p: s.phase[p] == IDLE)
def begin(s: State, p: Coordinator) -> None:
    s.phase[p] = ASKING
    for q in processes(s, Shard):
        send(s, p, q, PREPARE())


@action(when=lambda s, p: s.phase[p] == ASKING)
def give_up(s: State, p: Coordinator) -> None:
    """A vote is late."""
    decide(s, p, False)


def decide(s: State, p: Coordinator, commit: bool) -> None:
    s.phase[p] = COMMITTED if commit else ABORTED
    for q in processes(s, Shard):
        send(s, p, q, DECISION(commit=commit))


def may_lock(s: State, p: Shard, c: Coordinator) -> bool:
    return s.lock[p] == NOBODY and c not in s.finished[p]


@receives
def on_prepare(s: State, p: Shard, source: Coordinator, m: PREPARE) -> None:
    yes = may_lock(s, p, source)
    if yes:
        s.lock[p] = source
    send(s, p, source, VOTE(yes=yes))


@receives
def on_vote(s: State, p: Coordinator, source: Shard, m: VOTE) -> None:
    if s.phase[p] == ASKING:
        if m.yes:
            s.agreed[p].add(source)
        if not m.yes:
            decide(s, p, False)
        elif len(s.agreed[p]) == s.SHARD:
            decide(s, p, True)


@receives
def on_decision(s: State, p: Shard, source: Coordinator, m: DECISION) -> None:
    if source not in s.finished[p]:
        s.finished[p].add(source)
        if s.lock[p] == source:
            s.lock[p] = NOBODY
        applied(s, p, source, m.commit)


@receives
def on_ask(s: State, p: Coordinator, source: Shard, m: ASK) -> None:
    if s.phase[p] == COMMITTED or s.phase[p] == ABORTED:
        send(s, p, source, DECISION(commit=s.phase[p] == COMMITTED))


def on_recovery_coordinator(s: State, p: Coordinator) -> None:
    """What was not decided is aborted; nobody may have heard."""
    if s.phase[p] != IDLE:
        decide(s, p, s.phase[p] == COMMITTED)


def on_recovery_shard(s: State, p: Shard) -> None:
    if s.lock[p] != NOBODY:
        send(s, p, s.lock[p], ASK())


@observation
def applied(s: State, p: Shard, c: Coordinator, commit: bool) -> None:
    if commit:
        s.commits[p].append(c)
    else:
        s.aborts[p].add(c)


def someone_committed(s: State) -> bool:
    """A shard has committed a transaction."""
    return any(len(s.commits[p]) > 0 for p in processes(s, Shard))


@safety(over="history", witness=someone_committed)
def atomicity(s: State) -> bool:
    """No shard commits a transaction that another aborts."""
    return all(
        c not in s.aborts[q] or broken(f"p{p} has committed the transaction of p{c}, and p{q} has aborted it")
        for p in processes(s, Shard)
        for q in processes(s, Shard)
        for c in s.commits[p]
    )


def two_committed(s: State) -> bool:
    """A shard has committed two transactions."""
    return any(len(s.commits[p]) > 1 for p in processes(s, Shard))


def before(s: State, p: Shard, c: Coordinator, d: Coordinator) -> bool:
    """Whether c has committed at p, and d not before."""
    for k in range(len(s.commits[p])):
        if s.commits[p][k] == c:
            return True
        if s.commits[p][k] == d:
            return False
    return False


@safety(over="history", witness=two_committed)
def one_order(s: State) -> bool:
    """Two transactions commit in one order at all shards that have both."""
    for p in processes(s, Shard):
        for q in processes(s, Shard):
            for c in s.commits[p]:
                for d in s.commits[p]:
                    if c != d and c in s.commits[q] and d in s.commits[q] and before(s, p, c, d) and before(s, q, d, c):
                        return broken(f"p{p} commits p{c} before p{d}, and p{q} the other way round")
    return True


@progress
def unlocked(s: State, p: Node) -> bool:
    """No lock is kept for ever by a coordinator that is up."""
    return any(
        q == p and s.lock[q] != NOBODY and not is_down(s, q) and not is_down(s, s.lock[q]) for q in processes(s, Shard)
    )


def any_lock(s: State, p: Shard, c: Coordinator) -> bool:
    return c not in s.finished[p]


def unless_locked(s: State, p: Shard, c: Coordinator) -> bool:
    return s.lock[p] == NOBODY


def abort_always(s: State, p: Coordinator) -> None:
    if s.phase[p] != IDLE:
        decide(s, p, False)


PROTOCOL = declare(
    __name__,
    roles={"coordinator": 2, "shard": 2},
    budgets={"crashes": 1},
    variants=[
        Variant("sharing", "a lock is taken over", {"may_lock": any_lock}),
        Variant("forgetful", "a shard locks for what it knows to be over", {"may_lock": unless_locked}),
        Variant("aborting", "a coordinator that recovers aborts", {"on_recovery_coordinator": abort_always}),
    ],
)
