"""Derive the two guards named `fifo`: abstract ZAB over connections.

A process has one connection at a time, to one attempt, and never the same one twice (single iteration). The
leader sends NEWLEADER on it, with all of its log, and from then on what it proposes, as it proposes it.
On a connection, what was received is a prefix of what was sent: whoever receives a message has received
every one sent before it. Nothing is said of messages that another attempt sent, or that an earlier
connection to the same one still holds, but that they are not on this connection.

The actions are those of `protocol.py`; the three that send or receive NEWLEADER and PROPOSE have the
connection besides, and do without the guards that are to be derived. Three more actions are stutters of the
abstract protocol: a process connects, or is sent NEWLEADER.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from zabspec.proofs.abstract.invariant import CLAUSES, clause
from zabspec.proofs.abstract.logic import (
    ATTEMPT, CONNECTION, FALSE, HISTORY, PROCESS, Expression, conj, disj, exists, forall, implies, parameters_of,
    relation,
)  # fmt: skip
from zabspec.proofs.abstract.protocol import (
    ACTIONS, F_2_1, F_3_2, INITIAL, L_3_1, RESTART, AbstractAction, Updates, action, definitions,
)  # fmt: skip
from zabspec.proofs.abstract.theory import ZAB, Theory
from zabspec.proofs.abstract.vocabulary import abcast, before, hist, log, newleader, of_epoch, prefix

I, P, A, H = CONNECTION, PROCESS, ATTEMPT, HISTORY

between = relation("between", P, A, I, rigid=True, doc="the connection is the process's, to the leader of the attempt")
at = relation("at", P, I, doc="the connection of the iteration under way")
opened = relation("opened", I, doc="the connection was opened")
started = relation("started", I, doc="NEWLEADER was sent on the connection")
sent_newleader = relation(
    "sent_newleader", I, H, doc="NEWLEADER(e', T) was sent on the connection, T being this history"
)
took = relation("took", I, doc="NEWLEADER was received on the connection")
proposed = relation("proposed", I, H, doc="PROPOSE was sent on the connection, of the last transaction of the history")
ahead = relation("ahead", I, H, H, doc="both were proposed on the connection, the first before the second")
got = relation("got", I, H, doc="that PROPOSE was received on the connection")

AXIOMS = {
    "a connection has two ends": forall(
        lambda p, g, c, d, i: implies(between(p, c, i), between(g, d, i), (p == g) & (c == d))
    )
}

BEGINNING = definitions(
    {
        at: lambda p, i: FALSE,
        opened: lambda i: FALSE,
        started: lambda i: FALSE,
        sent_newleader: lambda i, x: FALSE,
        took: lambda i: FALSE,
        proposed: lambda i, x: FALSE,
        ahead: lambda i, x, y: FALSE,
        got: lambda i, x: FALSE,
    }
)


def over(
    base: AbstractAction,
    guards: Callable[..., dict[str, Expression]],
    updates: Callable[..., Updates],
    without: tuple[str, ...],
) -> AbstractAction:
    """Return an action of the abstract protocol over connections, without the guards to be derived.

    Args:
        base: the action.
        guards, updates: what it does on connections; their own parameters follow the action's.
        without: the names of the guards to be derived.
    """
    parameters = (*base.parameters, *parameters_of(guards)[len(base.parameters) :])
    kept = {name: g for name, g in base.guards.items() if name not in without}
    return replace(
        base,
        parameters=parameters,
        guards={**kept, **guards(*parameters)},
        updates={**base.updates, **definitions(updates(*parameters))},
        each="",
    )


CONNECT = action(
    "connect",
    "A process that has no connection opens a new one.",
    lambda p, c, i: {
        "its own": between(p, c, i),
        "one at a time": forall(lambda j: ~at(p, j)),
        "single iteration": ~opened(i),
    },
    lambda p, c, i: {at: lambda g, j: at(g, j) | ((g == p) & (j == i)), opened: lambda j: opened(j) | (j == i)},
)

SEND_NEWLEADER = action(
    "l.2.1",
    "NEWLEADER(e', T) is sent on a connection, T being all of the log (l.2.1, l.3.3).",
    lambda c, h, i: {
        "open": opened(i) & exists(lambda p: between(p, c, i)),
        "once": ~started(i),
        "sent": newleader(c, h),
        "all of the log": log(c, h) & forall(lambda x: implies(log(c, x), prefix(x, h))),
    },
    lambda c, h, i: {
        started: lambda j: started(j) | (j == i),
        sent_newleader: lambda j, x: sent_newleader(j, x) | ((j == i) & (x == h)),
    },
)

TAKE_NEWLEADER = over(
    F_2_1,
    lambda p, c, h, i: {
        "on its connection": at(p, i) & between(p, c, i),
        "received": sent_newleader(i, h),
        "once": ~took(i),
    },
    lambda p, c, h, i: {took: lambda j: took(j) | (j == i)},
    without=("sent", "fifo"),
)

PROPOSE = over(
    L_3_1,
    lambda p, c, h: {},
    lambda p, c, h: {
        proposed: lambda i, x: proposed(i, x) | ((x == h) & started(i) & exists(lambda g: between(g, c, i))),
        ahead: lambda i, x, y: (
            ahead(i, x, y) | ((y == h) & proposed(i, x) & started(i) & exists(lambda g: between(g, c, i)))
        ),
    },
    without=(),
)

TAKE_PROPOSAL = over(
    F_3_2,
    lambda p, c, h, i: {
        "on its connection": at(p, i) & between(p, c, i),
        "received": proposed(i, h),
        # a channel is FIFO: NEWLEADER was sent first, and then what was proposed earlier
        "NEWLEADER before it": took(i),
        "proposals before it": forall(lambda x: implies(ahead(i, x, h), got(i, x))),
    },
    lambda p, c, h, i: {got: lambda j, x: got(j, x) | ((j == i) & (x == h))},
    without=("sent", "fifo"),
)

LOSE = over(RESTART, lambda p: {}, lambda p: {at: lambda g, i: at(g, i) & (g != p)}, without=())

INSTEAD = {a.name: a for a in (TAKE_NEWLEADER, PROPOSE, TAKE_PROPOSAL, LOSE)}

# Guards that the actions over connections do without, and that are to follow.
DERIVED = {
    a.name: {n: g for n, g in a.guards.items() if n not in INSTEAD[a.name].guards} for a in ACTIONS if a.name in INSTEAD
}

CHANNELS = (
    clause(
        "one connection at a time",
        "A process opens a connection when it has none.",
        forall(lambda p, i, j: implies(at(p, i), at(p, j), i == j)),
    ),
    clause(
        "a connection is its follower's",
        "Only one process ever has a connection, and opens it once.",
        forall(lambda p, g, c, i: implies(at(p, i), opened(i) & implies(between(g, c, i), p == g))),
    ),
    clause(
        "NEWLEADER is sent once",
        "On one connection, which was opened, one NEWLEADER is sent.",
        forall(
            lambda i, x, y: (
                implies(started(i), opened(i))
                & implies(sent_newleader(i, x), started(i))
                & implies(sent_newleader(i, x), sent_newleader(i, y), x == y)
            )
        ),
    ),
    clause(
        "NEWLEADER is sent first",
        "On a connection NEWLEADER is sent before anything is proposed, and received before anything else.",
        forall(
            lambda i, x: (
                implies(disj(took(i), proposed(i, x)), started(i))
                & implies(got(i, x), took(i))
                & implies(started(i), exists(lambda h: sent_newleader(i, h)))
            )
        ),
    ),
    clause(
        "connections carry what was sent",
        "What is sent on a connection its leader sent.",
        forall(
            lambda p, c, i, x: implies(
                between(p, c, i), implies(sent_newleader(i, x), newleader(c, x)) & implies(proposed(i, x), abcast(c, x))
            )
        ),
    ),
    clause(
        "NEWLEADER and proposals are all of the log",
        "NEWLEADER carries the log as it is, and what comes into the log later is proposed on the connection.",
        forall(
            lambda p, c, i, h, x: implies(
                between(p, c, i), sent_newleader(i, h), log(c, x), disj(prefix(x, h), proposed(i, x))
            )
        ),
    ),
    clause(
        "proposed in the order of the log",
        "What precedes a proposal in the log came with NEWLEADER or was proposed before it.",
        forall(
            lambda i, h, x, y: implies(
                sent_newleader(i, h), proposed(i, y), before(x, y), disj(prefix(x, h), ahead(i, x, y))
            )
        ),
    ),
    clause(
        "what was received is in the history",
        "While a connection lasts its process has, of all it received on it, lost nothing.",
        forall(
            lambda p, i, h, x: implies(
                at(p, i),
                implies(took(i), sent_newleader(i, h), prefix(x, h), hist(p, x)) & implies(got(i, x), hist(p, x)),
            )
        ),
    ),
    clause(
        "NEWLEADER has all that came before",
        "All that a process accepted of the epoch before it opened a connection was in the log, and so is in the "
        "NEWLEADER sent on it.",
        forall(
            lambda p, c, i, h, x: implies(
                conj(at(p, i), between(p, c, i), sent_newleader(i, h), ~took(i)),
                of_epoch(p, c),
                hist(p, x),
                prefix(x, h),
            )
        ),
    ),
)

CONNECTED = Theory(
    {**ZAB.axioms, **AXIOMS},
    {**INITIAL, **BEGINNING},
    (*(INSTEAD.get(a.name, a) for a in ACTIONS), CONNECT, SEND_NEWLEADER),
    (*CLAUSES, *CHANNELS),
    ZAB.properties,
    (between,),
    ZAB,
    DERIVED,
)
