"""Termination of a computation on a ring, which a token finds out (Dijkstra, Feijen, van Gasteren: EWD840, 1983)."""

from __future__ import annotations

from zabcheck.language import Each, Fields, Node, action, any_of, declare, initial, processes, progress, safety, shared


class State(Fields):
    active: Each[Node, bool] = shared("it computes")
    black: Each[Node, bool] = shared("it has sent to a higher process since it had the token")
    token: Node = shared("who has the token")
    token_black: bool = shared("the probe will not succeed")


@initial
def anyhow(s: State) -> None:
    for p in processes(s):
        s.active[p] = any_of(s, {False, True})
        s.black[p] = any_of(s, {False, True})
    s.token = any_of(s, processes(s))
    s.token_black = True


@action(when=lambda s, p: s.token == p == 0 and (s.token_black or s.black[p]))
def probe(s: State, p: Node) -> None:
    s.token = s.NODES - 1
    s.token_black = False
    s.black[p] = False


@action(when=lambda s, p: s.token == p != 0 and (not s.active[p] or s.black[p] or s.token_black))
def pass_on(s: State, p: Node) -> None:
    s.token = p - 1
    s.token_black = s.token_black or s.black[p]
    s.black[p] = False


@action(when=lambda s, p: s.active[p], fair=False)
def send(s: State, p: Node) -> None:
    q = any_of(s, set(processes(s)) - {p})
    s.active[q] = True
    if q > p:
        s.black[p] = True


@action(when=lambda s, p: s.active[p], fair=False)
def end(s: State, p: Node) -> None:
    s.active[p] = False


def terminated(s: State) -> bool:
    return not any(s.active[p] for p in processes(s))


def detected(s: State) -> bool:
    """The token came back white."""
    return s.token == 0 and not s.token_black and not s.black[0] and not s.active[0]


@safety(witness=detected)
def truly_detected(s: State) -> bool:
    """What is detected is so."""
    return not detected(s) or terminated(s)


@progress
def not_detected(s: State, p: Node) -> bool:
    """The end of the computation is detected."""
    return terminated(s) and not detected(s)


PROTOCOL = declare(__name__)
