"""Election of a leader in a ring.

Chang and Roberts, *An improved algorithm for decentralized extrema-finding*, 1979; N processes, i sends to i - 1 and 0
to N - 1.

- A process is idle, takes part, or leads. Each link has the names on their way, in order.
- **start**: an idle process takes part, and sends its name.
- **receive**: a process takes name m from its link. m larger: it takes part, and sends m. m smaller, while it is idle:
  it takes part, and sends its own. m its own: it leads.

Only the largest leads. N = 3: 28 states; 10: 1,243,816.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, MessageType, Node, OneOf, action, declare, receives, safety, send, stored,
)  # fmt: skip

IDLE, TAKES_PART, LEADS = range(3)


class NAME(MessageType):
    name_of: Node


class State(Fields):
    phase: Each[Node, Annotated[int, OneOf("IDLE", "TAKES_PART", "LEADS")]] = stored("what it does")


def pass_on(s: State, p: Node, m: Node) -> None:
    s.phase[p] = TAKES_PART
    send(s, p, (p + s.NODES - 1) % s.NODES, NAME(name_of=m))


@action(when=lambda s, p: s.phase[p] == IDLE)
def start(s: State, p: Node) -> None:
    pass_on(s, p, p)


@receives
def on_name(s: State, p: Node, m: NAME) -> None:
    if m.name_of == p:
        s.phase[p] = LEADS
    elif m.name_of > p:
        pass_on(s, p, m.name_of)
    elif s.phase[p] == IDLE:
        pass_on(s, p, p)


@safety(witness=lambda s: s.phase[s.NODES - 1] == LEADS)
def largest_leads(s: State) -> bool:
    """Nobody but the process with the largest name leads."""
    return all(s.phase[p] != LEADS for p in range(s.NODES - 1))


PROTOCOL = declare(__name__, nodes=3, network="fifo")
