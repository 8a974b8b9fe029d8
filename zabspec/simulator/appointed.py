"""Simulate elections that are one step.

A process that looks for a leader joins one that a quorum follows, or is elected itself where it is maximal among enough
of the processes that it reaches. These functions override those of `connections` of the same name; a script chooses who
elects whom.
"""

from __future__ import annotations

from zabspec.language import Field, Int, Role
from zabspec.language.python.lang import Node, State, is_quorum
from zabspec.simulator.connections import ORACLE_TICKS, RECOVERY_TICKS
from zabspec.simulator.mail import HELD, drawn, step_taken
from zabspec.worlds.actor import (
    ELECTION,
    FOLLOWING,
    LEADING,
    after_event,
    elections_left,
    is_down,
    its_turn_in,
    may_lead,
    may_vote,
    on_elected,
    on_follow,
    outranks,
    spend_election,
)
from zabspec.worlds.steps import ELECT, JOIN


def appointed_fields() -> tuple[Field, ...]:
    """Return the field in which a script chooses an election."""
    doc = "who elects the process whose turn it is, a bit each; 0: it joins the client"
    return (Field("quorum", Int(0, 127), Role.NETWORK, (), doc),)


def ask_oracle(s: State, p: Node) -> None:
    """Let process p look for a leader."""
    quorum = s.quorum
    l = s.sim_client
    s.quorum = 0
    s.oracle_due[p] = HELD if s.sim_scripted else s.sim_moment + 1 + drawn(s, p, 0, ORACLE_TICKS)
    if not s.sim_scripted:
        l = one_to_join(s, p)
        quorum = voters(s, p) if l < 0 else 0
    if (quorum > 0 or is_quorum(s, 1 << p)) and elects(s, p, quorum):  # p alone is a quorum: it elects itself
        spend_election(s)
        its_turn_in(s, p)
        on_elected(s, p)
        for f in range(s.NODES):
            if (quorum >> f) & 1 == 1:
                its_turn_in(s, f)
                follow(s, f, p)
        step_taken(s, ELECT, p, 0, quorum)
    elif quorum == 0 and l >= 0 and looks(s, p) and is_followed(s, l) and reaches(s, p, l):
        follow(s, p, l)
        step_taken(s, JOIN, p, l, 0)
    after_event(s)


def follow(s: State, f: Node, l: Node) -> None:
    """Let process f follow l, with a deadline for its recovery."""
    s.sim_deadline[f] = HELD if s.sim_scripted else s.sim_moment + RECOVERY_TICKS + drawn(s, f, 0, RECOVERY_TICKS)
    s.sim_deadline[l] = HELD if s.sim_scripted else s.sim_moment + RECOVERY_TICKS + drawn(s, l, 0, RECOVERY_TICKS)
    on_follow(s, f, l)


def looks(s: State, p: Node) -> bool:
    """Return whether p looks for a leader, and votes."""
    return not is_down(s, p) and s.role[p] == ELECTION and may_vote(s, p)


def reaches(s: State, f: Node, l: Node) -> bool:
    """Return whether f can open a connection to l."""
    return not s.follower_end[f][l] and not s.leader_end[f][l] and not s.sim_blocked[f][l] and not s.sim_blocked[l][f]


def for_it(s: State, f: Node, l: Node) -> bool:
    """Return whether f may elect l."""
    return f != l and looks(s, f) and reaches(s, f, l) and outranks(s, l, f)


def elects(s: State, l: Node, quorum: int) -> bool:
    """Return whether these processes and l are a smallest quorum, and may elect l."""
    for f in range(s.NODES):
        if (quorum >> f) & 1 == 1 and not for_it(s, f, l):
            return False
    return is_smallest_quorum(s, l, quorum) and looks(s, l) and may_lead(s, l) and elections_left(s)


def is_smallest_quorum(s: State, l: Node, others: int) -> bool:
    """Return whether these others and l are a quorum, and no quorum without any one of the others."""
    together = others | (1 << l)
    if others == together or not is_quorum(s, together):
        return False
    for f in range(s.NODES):
        if (others >> f) & 1 == 1 and is_quorum(s, together - (1 << f)):
            return False
    return True


def voters(s: State, l: Node) -> int:
    """Return the first processes that make a minimal quorum with l and may elect it, as a mask."""
    quorum = 0
    for f in range(s.NODES):
        if not is_quorum(s, quorum | (1 << l)) and for_it(s, f, l):
            quorum = quorum + (1 << f)
    for f in range(s.NODES):
        if (quorum >> f) & 1 == 1 and is_quorum(s, (quorum | (1 << l)) - (1 << f)):
            quorum = quorum - (1 << f)
    return quorum


def is_followed(s: State, l: Node) -> bool:
    """Return whether a quorum is behind l, which leads."""
    behind = is_quorum(s, {f for f in range(s.NODES) if f == l or follows(s, f, l)})
    return s.role[l] == LEADING and not is_down(s, l) and behind


def follows(s: State, f: Node, l: Node) -> bool:
    """Return whether a process that is up follows l."""
    return not is_down(s, f) and s.role[f] == FOLLOWING and s.leader[f] == l


def one_to_join(s: State, p: Node) -> int:
    """Return a process that p may join, or -1."""
    for l in range(s.NODES):
        if l != p and is_followed(s, l) and reaches(s, p, l):
            return l
    return -1
