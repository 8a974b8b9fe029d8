"""Causal broadcast: every process may broadcast at any time, and nothing is delivered before what it depends on.

A message carries which transactions its process had broadcast or delivered by then. A process that lacks one of these
holds the message back. That is causal order (DSN'11, Definition III.1), and no more: two transactions that know
nothing of each other are delivered in any order, which strict causality does not allow (Figure 4).

    zabcheck --protocol example:causal_broadcast --property dsn-causal-order --property po-causal-order
    zabcheck --protocol example:causal_broadcast --property strict-causality
    zabcheck --protocol example:causal_broadcast --variant unordered --property dsn-causal-order

`docs/explanation/readings.md` compares it with zab.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, MessageType, Node, Range, Size, Txn, Variant, abcast, abdeliver, declare, receives, send, step,
    stored,
)  # fmt: skip

Count = Annotated[int, Range(0, lambda size: size.txns, "--txns")]
Known = set[Annotated[int, Range(0, lambda size: size.txns - 1)]]
Sender = Annotated[int, Range(0, lambda size: size.txns - 1)]


class PUT(MessageType):
    txn: Txn
    needs: Known


class State(Fields):
    count: Each[Node, Count] = stored("transactions that it has broadcast")
    known: Each[Node, Known] = stored("what it has broadcast or delivered (index = value - 1)")
    held: Each[Node, Each[Sender, Txn]] = stored("what it has received and not delivered; value 0: nothing")
    needs: Each[Node, Each[Sender, Known]] = stored("what must be delivered before that")
    TXNS: int


def epochs(size: Size) -> int:
    return size.nodes


def may_abcast(s: State, p: Node) -> bool:
    """Anybody may, at any time: there is no primary."""
    return True


@step("broadcast")
def on_abcast(s: State, p: Node) -> None:
    """p broadcasts, and delivers at once. Its epoch is a number of its own, so that zxids differ."""
    s.count[p] = s.count[p] + 1
    t = abcast(s, p, p + 1, s.count[p])
    for q in range(s.NODES):
        if q != p:
            send(s, p, q, PUT(txn=t, needs=s.known[p]))
    deliver(s, p, t)


@receives
def on_put(s: State, p: Node, m: PUT) -> None:
    """p holds back what it receives, and delivers all that now lacks nothing."""
    s.held[p][m.txn.value - 1] = m.txn
    s.needs[p][m.txn.value - 1] = m.needs
    for _ in range(s.TXNS):
        for k in range(s.TXNS):
            if s.held[p][k].value > 0 and is_ready(s, p, k):
                deliver(s, p, s.held[p][k])
                s.held[p][k] = Txn(epoch=0, counter=0, value=0)
                s.needs[p][k].clear()


def is_ready(s: State, p: Node, k: int) -> bool:
    """Whether p has delivered all that what it holds depends on."""
    return all(not (j in s.needs[p][k] and j not in s.known[p]) for j in range(s.TXNS))


@step("deliver")
def deliver(s: State, p: Node, t: Txn) -> None:
    s.known[p].add(t.value - 1)
    abdeliver(s, p, t)


# --- with one rule changed -------------------------------------------------------------------------


def always_ready(s: State, p: Node, k: int) -> bool:
    """Nothing is held back."""
    return True


PROTOCOL = declare(
    __name__,
    transactions=True,
    epochs=epochs,
    flight=lambda size: size.txns * size.nodes,
    variants=[
        Variant("unordered", "what is received is delivered at once", {"is_ready": always_ready}, rule="deliver"),
    ],
)
