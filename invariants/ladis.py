"""State LADIS'08's requirements (section 2), over the observed history."""

from __future__ import annotations

from invariants.core import place, same_instance, second_of_instance, was_abcast
from invariants.registry import HISTORY, TERMINAL, Property
from zabspec.language.python.lang import Members, Node, State, broken, is_quorum
from zabspec.protocols.ladis import may_abcast


def prefix_property(h: State) -> bool:
    """Prefix property (LADIS'08 2): if m is the last message delivered for a leader L, any message
    proposed before m by L must also be delivered. A process elected twice is two leaders."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            t = h.delivered[p][j]
            if was_abcast(h, t):
                for k in range(t.value - 1):
                    u = h.abcast_txn[k]
                    if same_instance(h, k, t.value - 1) and place(h, p, u) < 0:
                        return broken(
                            f"Leader p{h.abcast_by[k]} of epoch {t.epoch} proposed {u} before {t}, but p{p} delivered "
                            f"{t} without {u}"
                        )
    return True


def causal_order(h: State) -> bool:
    """Causal order (LADIS'08 2): if message a causally precedes message b and both messages are
    delivered, then a must be ordered before b. A message precedes those that its server proposes
    later, and those that a later leader proposes."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            for i in range(j):
                a = h.delivered[p][j]
                b = h.delivered[p][i]
                if was_abcast(h, a) and was_abcast(h, b):
                    if h.abcast_by[a.value - 1] == h.abcast_by[b.value - 1] and a.value < b.value:
                        return broken(
                            f"p{p} delivered {b} before {a}, but p{h.abcast_by[a.value - 1]} proposed {a} before {b}"
                        )
                    if a.epoch < b.epoch:
                        return broken(
                            f"p{p} delivered {b} before {a}, but p{h.abcast_by[a.value - 1]} proposed {a} as leader of "
                            f"epoch {a.epoch}, before the epoch in which p{h.abcast_by[b.value - 1]} proposed {b}"
                        )
    return True


def ladis_total_order(h: State) -> bool:
    """Total order (LADIS'08 2): if message a is delivered before message b by one server, then every
    server that delivers a and b delivers a before b. Unlike DSN'11's, it lets a server deliver b and
    never a."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            for i in range(j):
                a = h.delivered[p][i]
                b = h.delivered[p][j]
                for q in range(h.NODES):
                    if place(h, q, b) >= 0 and place(h, q, b) < place(h, q, a):
                        return broken(f"p{p} delivered {a} before {b}, but p{q} delivered {b} before {a}")
    return True


def both_delivered(h: State) -> bool:
    """Two processes deliver the same two transactions."""
    for p in range(h.NODES):
        for q in range(h.NODES):
            if p != q and len(h.delivered[p]) > 1:
                if place(h, q, h.delivered[p][0]) >= 0 and place(h, q, h.delivered[p][1]) >= 0:
                    return True
    return False


def delivers_all(s: State, l: Node, following: Members) -> bool:
    """Return whether these, who follow l, have delivered all that any server ever did."""
    for p in range(s.NODES):
        for k in range(len(s.delivered[p])):
            t = s.delivered[p][k]
            for f in range(s.NODES):
                if f in following and place(s, f, t) < 0:
                    if f == l:
                        return broken(f"p{p} delivered {t}, but p{l}, which a quorum follows, never will")
                    return broken(f"p{p} delivered {t}, but p{f}, which follows p{l}, never will")
    return True


def followers(s: State, l: Node) -> Members:
    """Return who follows process l, itself included, if it leads in broadcast mode."""
    return {f for f in range(s.NODES) if may_abcast(s, l) and (f == l or (s.leader[f] == l and s.synced[f]))}


def reliable_delivery(s: State) -> bool:
    """Reliable delivery (LADIS'08 2): if a message, m, is delivered by one server, then it will be
    eventually delivered by all correct servers. As a safety property: where nothing more can happen
    and a quorum follows a leader, it and they have delivered all that any server ever did."""
    return all(not is_quorum(s, followers(s, l)) or delivers_all(s, l, followers(s, l)) for l in range(s.NODES))


def delivered_under_a_leader(s: State) -> bool:
    """A quorum follows a leader, and a transaction is delivered."""
    return any(
        len(s.delivered[p]) > 0 and is_quorum(s, followers(s, l)) for l in range(s.NODES) for p in range(s.NODES)
    )


def two_ordered(h: State) -> bool:
    """A process delivers two transactions, one causally before the other."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            for i in range(j):
                a = h.delivered[p][i]
                b = h.delivered[p][j]
                if was_abcast(h, a) and was_abcast(h, b):
                    if a.epoch != b.epoch or h.abcast_by[a.value - 1] == h.abcast_by[b.value - 1]:
                        return True
    return False


LADIS = ("ladis",)

PROPERTIES = (
    Property(
        "prefix", HISTORY, "LADIS'08 2",
        "the second transaction of a leader is delivered", prefix_property, second_of_instance,
    ),
    Property(
        "causal-order", HISTORY, "LADIS'08 2",
        "a process delivers two transactions, one causally before the other", causal_order, two_ordered,
    ),
    Property(
        "ladis-total-order", HISTORY, "LADIS'08 2",
        "two processes deliver the same two transactions", ladis_total_order, both_delivered, protocols=LADIS,
    ),
    Property(
        "reliable-delivery", TERMINAL, "LADIS'08 2",
        "nothing more can happen, a quorum follows a leader, and a transaction is delivered",
        reliable_delivery, delivered_under_a_leader, protocols=LADIS,
    ),
)  # fmt: skip
