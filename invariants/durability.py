"""State durability: what was delivered is on the disks of a quorum ever after (LADIS'08, section 2).

A property of the state: of every process's stable history, those that are down among them. Where power may be lost,
stable is what is forced.
"""

from __future__ import annotations

from invariants.claims import DELIVERS_CHOSEN
from invariants.core import INTEGRITY
from invariants.registry import STATE, Property
from zabspec.language.python.lang import Node, State, Txn, broken, is_quorum
from zabspec.worlds.actor import has_stored


def is_durable(s: State, t: Txn) -> bool:
    """Return whether a quorum has t in its stable histories."""
    return is_quorum(s, {q for q in range(s.NODES) if has_stored(s, q, t)})


def would_do(s: State, t: Txn, out: Node) -> bool:
    """Return whether process `out` has t in its stable history, and a quorum of others has too."""
    if not has_stored(s, out, t):
        return False
    return is_quorum(s, {q for q in range(s.NODES) if q != out and has_stored(s, q, t)})


def is_bare(s: State, t: Txn) -> bool:
    """Return whether a quorum has t in its stable histories, but not if any one of those that have it lost it."""
    if not is_durable(s, t):
        return False
    return all(not would_do(s, t, q) for q in range(s.NODES))


def anybody_has(s: State, t: Txn) -> bool:
    """Return whether some process has t in its stable history."""
    return any(has_stored(s, q, t) for q in range(s.NODES))


def durability(s: State) -> bool:
    """Durability (LADIS'08 2, II.1): after every step, each transaction that some process has delivered
    is in the stable histories of all members of some quorum."""
    for p in range(s.NODES):
        for k in range(len(s.delivered[p])):
            t = s.delivered[p][k]
            if not is_durable(s, t):
                return broken(
                    f"p{p} delivered {t}, which is in the stable history of "
                    f"{ {q for q in range(s.NODES) if has_stored(s, q, t)} if anybody_has(s, t) else 'nobody' }, and "
                    f"not of { {q for q in range(s.NODES) if not has_stored(s, q, t)} }, so not of a quorum"
                )
    return True


def delivered_by_a_bare_quorum(s: State) -> bool:
    """A leader is established in a later epoch than that of a transaction that was delivered and that
    no process has but those of one quorum: another history has been put in the place of theirs, and
    one of them that lost it would be enough."""
    for p in range(s.NODES):
        for k in range(len(s.delivered[p])):
            t = s.delivered[p][k]
            if is_bare(s, t):
                for e in range(s.EPOCHS + 1):
                    if e > t.epoch and s.established[e] > 0:
                        return True
    return False


def chosen_is_durable(s: State) -> bool:
    """After every step, each transaction that is chosen is in the stable histories of all members of some quorum."""
    for k in range(s.TXNS):
        if s.chosen_epoch[k] > 0 and not is_durable(s, s.abcast_txn[k]):
            return broken(f"{s.abcast_txn[k]} is chosen, and not in the stable histories of a quorum")
    return True


def some_chosen(s: State) -> bool:
    """A transaction is chosen."""
    return any(s.chosen_epoch[k] > 0 for k in range(s.TXNS))


# Stronger than durability where only what is chosen is delivered, and it reads nothing of who delivered what.
CHOSEN_IS_DURABLE = Property(
    "chosen-is-durable", STATE, "LADIS'08 2, DSN'11 VI", "a transaction is chosen", chosen_is_durable, some_chosen,
    default=False,
)  # fmt: skip

PROPERTIES = (
    Property(
        "durability", STATE, "LADIS'08 2, DSN'11 II.1",
        "a transaction is delivered that no more than a quorum has, and a later epoch's leader is established",
        durability, delivered_by_a_bare_quorum, follows_from=(INTEGRITY, DELIVERS_CHOSEN, CHOSEN_IS_DURABLE),
    ),
)  # fmt: skip
