"""A leader writes one value to those that follow it: elections in one step, connections that are lost, a start."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, MessageType, Node, OneOf, Range, Start, Variant, action, broken, connect, declare, disconnect, forget,
    ghost, observation, receives, safety, send_to_follower, send_to_leader, stored, volatile,
)  # fmt: skip

LOOKING, FOLLOWING, LEADING = range(3)

Term = Annotated[int, Range(0, lambda size: 1 + size.elections, "--elections")]
Number = Annotated[int, Range(0, lambda size: 1 + size.elections)]


class TERM(MessageType):
    term: Number


class WRITE(MessageType):
    term: Number


class WROTE(MessageType): ...


class State(Fields):
    role: Each[Node, Annotated[int, OneOf("LOOKING", "FOLLOWING", "LEADING")]] = volatile("where it stands")
    leader: Each[Node, Node] = volatile("whom it follows")
    term: Each[Node, Term] = stored("of the last leader it heard of")
    value: Each[Node, Number] = stored("the term whose value it has")
    wrote: Each[Node, set[Node]] = volatile("as a leader: who has its value")
    heard: Each[Node, Each[Node, bool]] = volatile("as a leader: from whom it has heard")
    chosen: Number = ghost("the term whose value a quorum had")


def on_elected(s: State, l: Node) -> None:
    """The leader begins a term after its own."""
    s.role[l] = LEADING
    s.term[l] = s.term[l] + 1
    s.value[l] = s.term[l]
    s.wrote[l].add(l)


def on_follow(s: State, f: Node, l: Node) -> None:
    s.role[f] = FOLLOWING
    s.leader[f] = l
    connect(s, f, l)
    send_to_leader(s, f, TERM(term=s.term[f]))


@receives
def on_term(s: State, l: Node, f: Node, m: TERM) -> None:
    s.heard[l][f] = True
    send_to_follower(s, l, f, WRITE(term=s.term[l]))


@receives
def on_write(s: State, f: Node, m: WRITE) -> None:
    s.term[f] = max(s.term[f], m.term)
    s.value[f] = m.term
    send_to_leader(s, f, WROTE())


@receives
def on_wrote(s: State, l: Node, f: Node, m: WROTE) -> None:
    s.wrote[l].add(f)
    if len(s.wrote[l]) >= s.MAJORITY:
        choose_value(s, s.value[l])


@observation
def choose_value(s: State, term: int) -> None:
    """A quorum has the value of a term."""
    s.chosen = max(s.chosen, term)


def give_up(s: State, p: Node) -> None:
    disconnect(s, p)
    forget(s, p)


def on_follower_lost(s: State, l: Node, f: Node) -> None:
    s.heard[l][f] = False
    s.wrote[l].discard(f)
    if len(s.wrote[l]) < s.MAJORITY:
        give_up(s, l)


def on_leader_lost(s: State, f: Node) -> None:
    give_up(s, f)


def may_step_down(s: State, p: Node) -> bool:
    return s.role[p] == LEADING


@action(when=may_step_down, budget="abdications")
def step_down(s: State, p: Node) -> None:
    give_up(s, p)


def established(s: State) -> None:
    """p0 leads term 1, and all have its value."""
    for p in range(s.NODES):
        s.term[p] = 1
        s.value[p] = 1
        if p == 0:
            s.role[p] = LEADING
        else:
            s.role[p] = FOLLOWING
            s.leader[p] = 0
            connect(s, p, 0)
            s.heard[0][p] = True
        s.wrote[0].add(p)
    s.chosen = 1


def a_value_is_chosen(s: State) -> bool:
    """A value is chosen."""
    return s.chosen > 0


@safety(witness=a_value_is_chosen)
def chosen_lasts(s: State) -> bool:
    """A value that a quorum had is with a process of every quorum, or a later one."""
    behind = 0
    for p in range(s.NODES):
        if s.value[p] < s.chosen:
            behind = behind + 1
    if behind >= s.MAJORITY:
        return broken(f"{behind} processes have less than {s.chosen}")
    return True


def two_lead(s: State) -> bool:
    """Two processes lead."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if p != q and s.role[p] == LEADING and s.role[q] == LEADING:
                return True
    return False


@safety(witness=two_lead)
def one_leader_a_term(s: State) -> bool:
    """No two processes lead in one term."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if p != q and s.role[p] == LEADING and s.role[q] == LEADING and s.term[p] == s.term[q]:
                return broken(f"p{p} and p{q} lead term {s.term[p]}")
    return True


def keeps_old_term(s: State, f: Node, m: WRITE) -> None:
    """The value is taken, and the term is not."""
    s.value[f] = m.term
    send_to_leader(s, f, WROTE())


PROTOCOL = declare(
    __name__,
    budgets={"elections": 2, "losses": 1, "crashes": 0, "abdications": 1},
    world="connections",
    elects=("term",),
    starts=[Start("established", "p0 leads term 1", established)],
    flight=lambda size: 4,
    variants=[Variant("old-term", "the term is not taken", {"on_write": keeps_old_term})],
)
