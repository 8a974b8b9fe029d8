"""A token ring: whoever has the token may enter, and passes it on to the next.

    zabcheck --protocol example:token_ring
    zabcheck --protocol example:token_ring --variant minted     a process that has waited long makes a new token

The ring gives processes an order, so the exploration runs without symmetry and says so.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, MessageType, Node, Range, Variant, action, broken, declare, ghost, observation, receives, safety,
    send, stored, volatile,
)  # fmt: skip


class TOKEN(MessageType): ...


class State(Fields):
    has_token: Each[Node, bool] = stored("the token is here")
    inside: Each[Node, bool] = volatile("it is in its critical section")
    entered: Each[Node, Annotated[int, Range(0, lambda size: size.entries)]] = ghost("how often it has entered")


def on_start(s: State, p: Node) -> None:
    """The token starts at process 0."""
    s.has_token[p] = p == 0


@action(when=lambda s, p: s.has_token[p] and not s.inside[p], budget="entries")
def enter(s: State, p: Node) -> None:
    s.inside[p] = True
    has_entered(s, p)


@action(when=lambda s, p: s.inside[p])
def leave(s: State, p: Node) -> None:
    s.inside[p] = False


def may_pass(s: State, p: Node) -> bool:
    """The token is passed on by whoever has it and is not inside."""
    return s.has_token[p] and not s.inside[p]


@action(when=may_pass, budget="passes", name="pass")
def pass_on(s: State, p: Node) -> None:
    s.has_token[p] = False
    send(s, p, (p + 1) % s.NODES, TOKEN())


@receives
def on_token(s: State, p: Node, m: TOKEN) -> None:
    s.has_token[p] = True


def may_mint(s: State, p: Node) -> bool:
    """Nobody makes a token: one that is late is not lost."""
    return False


@action(when=may_mint, budget="mints")
def mint(s: State, p: Node) -> None:
    s.has_token[p] = True


@observation
def has_entered(s: State, p: Node) -> None:
    """p enters its critical section."""
    s.entered[p] += 1


# --- what must hold -------------------------------------------------------------------------------


def two_have_entered(s: State) -> bool:
    """Two processes have entered."""
    return sum(1 for p in range(s.NODES) if s.entered[p] > 0) >= 2


@safety(witness=two_have_entered)
def mutual_exclusion(s: State) -> bool:
    """No two processes are inside at once."""
    inside = {p for p in range(s.NODES) if s.inside[p]}
    return len(inside) <= 1 or broken(f"{inside} are inside")


def tokens(s: State) -> int:
    return sum(1 for p in range(s.NODES) if s.has_token[p]) + sum(1 for m in s.in_flight if m.kind == TOKEN)


def is_on_its_way(s: State) -> bool:
    """The token is on its way."""
    return len(s.in_flight) > 0


@safety(witness=is_on_its_way)
def one_token(s: State) -> bool:
    """There is one token: a process has it, or it is on its way."""
    if tokens(s) != 1:
        return broken(f"there are {tokens(s)} tokens")
    return True


# --- with one rule changed ------------------------------------------------------------------------


def waits(s: State, p: Node) -> bool:
    """Whoever waits makes a token."""
    return not s.has_token[p]


def may_pass_while_inside(s: State, p: Node) -> bool:
    return s.has_token[p]


PROTOCOL = declare(
    __name__,
    budgets={"entries": 2, "passes": 3, "mints": 1},
    variants=[
        Variant("minted", "a process that waits makes a new token", {"may_mint": waits}),
        Variant("hasty", "the token is passed on from inside", {"may_pass": may_pass_while_inside}),
    ],
)
