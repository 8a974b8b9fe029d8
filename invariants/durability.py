"""Durability: what was delivered is on the disks of a quorum, at every moment after (LADIS'08, section 2).

A property of the state: of every process's stable history, those that are down among them.
"""

from __future__ import annotations

from invariants.registry import STATE, Property
from zabspec.language.lang import Node, State, Txn, broken


def holders(s: State, t: Txn) -> int:
    """How many processes have t in their stable history."""
    count = 0
    for q in range(s.NODES):
        if has_stored(s, q, t):
            count = count + 1
    return count


def has_stored(s: State, q: Node, t: Txn) -> bool:
    """Whether t is in h_q."""
    for k in range(len(s.history[q])):
        if s.history[q][k] == t:
            return True
    return False


def durability(s: State) -> bool:
    """Durability (LADIS'08 2, II.1): after every step, each transaction that some process has delivered
    is in the stable histories of all members of some quorum."""
    for p in range(s.NODES):
        for k in range(len(s.delivered[p])):
            t = s.delivered[p][k]
            if holders(s, t) < s.MAJORITY:
                return broken(
                    f"p{p} delivered {t}, which is in the stable history of "
                    f"{ {q for q in range(s.NODES) if has_stored(s, q, t)} if holders(s, t) > 0 else 'nobody' }, and "
                    f"not of { {q for q in range(s.NODES) if not has_stored(s, q, t)} }, where a quorum is "
                    f"{s.MAJORITY} of {s.NODES}"
                )
    return True


def delivered_by_a_bare_quorum(s: State) -> bool:
    """A leader is established in a later epoch than that of a transaction that was delivered and that
    no process has but those of one quorum: another history has been put in the place of theirs, and
    one of them that lost it would be enough."""
    for p in range(s.NODES):
        for k in range(len(s.delivered[p])):
            t = s.delivered[p][k]
            if holders(s, t) == s.MAJORITY:
                for e in range(s.EPOCHS + 1):
                    if e > t.epoch and s.established[e] > 0:
                        return True
    return False


PROPERTIES = (
    Property(
        "durability", STATE, "LADIS'08 2, DSN'11 II.1",
        "a transaction is delivered that no more than a quorum has, and a later epoch's leader is established",
        durability, delivered_by_a_bare_quorum,
    ),
)  # fmt: skip
