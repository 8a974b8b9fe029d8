"""State abstract ZAB: how it begins and what it may do, named by the paper's steps.

Each action says when it may happen (guards, by name) and what it changes; whatever it does not mention
stays. It may do more than the executable protocol: any epoch may be proposed (l.1.1's choice matters for
progress only: f.1.2 refuses a wrong one), messages are never lost or used up, an attempt never ends, and
a crash or a lost connection is the end of an iteration and nothing else. FIFO, single-iteration channels
enter as the two guards named `fifo`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from zabspec.proofs.abstract.logic import (
    FALSE, TRUE, Expression, Symbol, Variable, conj, forall, implies, ite, parameters_of,
)  # fmt: skip
from zabspec.proofs.abstract.vocabulary import (
    abcast, accepted, ack_current, ack_hist, ack_ld, at_most, before, born, chose, commit, commit_ld, counter, current,
    delivered, ep, epoch, established, heard, hist, in_pass, initial, leads, log, lt, member, newleader, of_epoch,
    order, origin, prefix, promise, promised, ready, root, sooner, zxid_le,
)  # fmt: skip

Updates = Mapping[Symbol, Callable[..., Expression]]


@dataclass(frozen=True)
class Definition:
    """What a symbol means after an action: a body over variables for its arguments."""

    variables: tuple[Variable, ...]
    body: Expression


@dataclass(frozen=True)
class AbstractAction:
    """One step: its name in the paper, when it may happen and what it changes.

    `each`: the parameter, if any, such that the step touches that process's own state alone and reads
    nothing of another's, so that several processes may take it in any order to the same end.
    """

    name: str
    doc: str
    parameters: tuple[Variable, ...]
    guards: Mapping[str, Expression]
    updates: Mapping[Symbol, Definition]
    each: str = ""

    @property
    def guard(self) -> Expression:
        """Return the conjunction of the guards."""
        return conj(*self.guards.values())

    def with_guard(self, name: str, body: Callable[..., Expression] | None) -> AbstractAction:
        """Return the action with one guard replaced, or (None) left out.

        Raises:
            KeyError: it has no such guard.
        """
        self.guards[name]
        formula = TRUE if body is None else body(*self.parameters)
        return replace(self, guards={**self.guards, name: formula})


def action(
    name: str,
    doc: str,
    guards: Callable[..., Mapping[str, Expression]],
    updates: Callable[..., Updates],
    each: str = "",
) -> AbstractAction:
    """Build an action from two functions of its parameters."""
    parameters = parameters_of(guards)
    if parameters_of(updates) != () and [v.name for v in parameters_of(updates)] != [v.name for v in parameters]:
        raise TypeError(f"{name}: guards and updates have different parameters")
    return AbstractAction(name, doc, parameters, guards(*parameters), definitions(updates(*parameters)), each)


def definitions(bodies: Updates) -> dict[Symbol, Definition]:
    """Return the definition of each symbol, over variables of its own."""
    found = {}
    for symbol, body in bodies.items():
        variables = tuple(Variable(f"{sort.name} {k}", sort) for k, sort in enumerate(symbol.arguments))
        found[symbol] = Definition(variables, body(*variables))
    return found


# --- how it begins -------------------------------------------------------------------------------

INITIAL = definitions(
    {
        promised: lambda p: ep(origin()),
        current: lambda p: ep(origin()),
        hist: lambda p, x: x == root(),
        in_pass: lambda p, x: x == root(),
        promise: lambda p, c: FALSE,
        ack_current: lambda p, c: ep(origin()),
        ack_hist: lambda p, c, x: FALSE,
        newleader: lambda c, x: (c == origin()) & (x == root()),
        ack_ld: lambda p, c: c == origin(),
        accepted: lambda p, c, x: (c == origin()) & (x == root()),
        commit: lambda c, x: (c == origin()) & (x == root()),
        commit_ld: lambda p, c, x: FALSE,
        chose: lambda c: c == origin(),
        initial: lambda c, x: (c == origin()) & (x == root()),
        log: lambda c, x: (c == origin()) & (x == root()),
        established: lambda c: FALSE,
        ready: lambda c: FALSE,
        abcast: lambda c, x: FALSE,
        born: lambda x: x == root(),
        delivered: lambda p, x: x == root(),
        order: lambda p, x, y: FALSE,
        sooner: lambda x, y: FALSE,
        heard: lambda x, y: FALSE,
    }
)


# --- Phase 1 -------------------------------------------------------------------------------------

F_1_2 = action(
    "f.1.2",
    "NEWEPOCH(e'): promise e', and acknowledge with f.a and the history.",
    lambda p, c: {"promise": lt(promised(p), ep(c))},
    lambda p, c: {
        promised: lambda g: ite(g == p, ep(c), promised(g)),
        promise: lambda g, d: promise(g, d) | ((g == p) & (d == c)),
        ack_current: lambda g, d: ite((g == p) & (d == c), current(p), ack_current(g, d)),
        ack_hist: lambda g, d, x: ((g == p) & (d == c) & hist(p, x)) | (~((g == p) & (d == c)) & ack_hist(g, d, x)),
    },
    each="p",
)

L_1_2 = action(
    "l.1.2",
    "ACK-E from each follower in Q: the initial history is the best of theirs; propose NEWLEADER (l.2.1).",
    lambda d, q, p, h: {
        "once": ~chose(d),
        "quorum": forall(lambda f: implies(member(f, q), promise(f, d))),
        "from Q": member(p, q),
        "its last": ack_hist(p, d, h) & forall(lambda x: implies(ack_hist(p, d, x), prefix(x, h))),
        "best": forall(
            lambda f, x: implies(
                member(f, q),
                ack_hist(f, d, x),
                lt(ack_current(f, d), ack_current(p, d)) | ((ack_current(f, d) == ack_current(p, d)) & zxid_le(x, h)),
            )
        ),
    },
    lambda d, q, p, h: {
        chose: lambda c: chose(c) | (c == d),
        initial: lambda c, x: initial(c, x) | ((c == d) & ack_hist(p, d, x)),
        log: lambda c, x: log(c, x) | ((c == d) & ack_hist(p, d, x)),
        newleader: lambda c, x: newleader(c, x) | ((c == d) & (x == h)),
    },
)

# --- Phase 2 -------------------------------------------------------------------------------------

F_2_1 = action(
    "f.2.1",
    "NEWLEADER(e', T): if f.p is e', set f.a to e' and accept every transaction of T; acknowledge.",
    lambda p, c, h: {
        "sent": newleader(c, h),
        "promise": promised(p) == ep(c),
        # it comes first on its connection, and was sent with all that the follower got on earlier ones
        "fifo": implies(current(p) == ep(c), forall(lambda x: implies(hist(p, x), prefix(x, h)))),
        "new iteration": forall(lambda x: implies(in_pass(p, x), x == root())),
    },
    lambda p, c, h: {
        current: lambda g: ite(g == p, ep(c), current(g)),
        hist: lambda g, x: ((g == p) & prefix(x, h)) | ((g != p) & hist(g, x)),
        ack_ld: lambda g, d: ack_ld(g, d) | ((g == p) & (d == c)),
        accepted: lambda g, d, x: accepted(g, d, x) | ((g == p) & (d == c) & prefix(x, h)),
    },
    each="p",
)

L_2_2 = action(
    "l.2.2",
    "NEWLEADER acknowledged by a quorum: the leader is established; commit the initial history.",
    lambda c, q: {
        "not the beginning": c != origin(),
        "chosen": chose(c),
        "quorum": forall(lambda p: implies(member(p, q), ack_ld(p, c))),
    },
    lambda c, q: {
        established: lambda d: established(d) | (d == c),
        commit: lambda d, x: commit(d, x) | ((d == c) & initial(c, x)),
        commit_ld: lambda p, d, x: commit_ld(p, d, x) | ((d == c) & initial(c, x)),
    },
)


def deliver(p: Variable, h: Variable) -> Updates:
    """Deliver what is undelivered of h_f in this iteration, in order, as far as h."""

    def upto(x: Expression) -> Expression:
        return hist(p, x) & prefix(x, h)

    return {
        in_pass: lambda g, x: in_pass(g, x) | ((g == p) & upto(x)),
        delivered: lambda g, x: delivered(g, x) | ((g == p) & upto(x)),
        order: lambda g, x, y: (
            order(g, x, y) | ((g == p) & upto(y) & ~in_pass(p, y) & (in_pass(p, x) | (upto(x) & before(x, y))))
        ),
    }


F_2_2 = action(
    "f.2.2",
    "The commit of NEWLEADER: deliver the initial history, and what else it covers.",
    lambda p, c, h: {"sent": commit_ld(p, c, h), "of its epoch": of_epoch(p, c) & (promised(p) == ep(c))},
    lambda p, c, h: deliver(p, h),
    each="p",
)

F_3_1 = action(
    "f.3.1",
    "A follower that leads invokes ready(e').",
    lambda p, c: {
        "leads": leads(p, c),
        "established": established(c),
        "of its epoch": of_epoch(p, c),
        "delivered": forall(lambda x: implies(initial(c, x), in_pass(p, x))),
    },
    lambda p, c: {ready: lambda d: ready(d) | (d == c)},
)

# --- Phase 3 -------------------------------------------------------------------------------------

L_3_1 = action(
    "l.3.1",
    "The primary abcasts a new transaction; propose it.",
    lambda p, c, h: {
        "leads": leads(p, c),
        "ready": ready(c),
        "new": ~born(h),
        "after the log": forall(lambda x: log(c, x) == before(x, h)),
        "epoch": epoch(h) == ep(c),
        "counter": forall(lambda x: implies(log(c, x), epoch(x) == ep(c), ~at_most(counter(h), counter(x)))),
    },
    lambda p, c, h: {
        abcast: lambda d, x: abcast(d, x) | ((d == c) & (x == h)),
        log: lambda d, x: log(d, x) | ((d == c) & (x == h)),
        born: lambda x: born(x) | (x == h),
        sooner: lambda x, y: sooner(x, y) | ((y == h) & abcast(c, x)),
        heard: lambda x, y: heard(x, y) | ((x == h) & delivered(p, y)),
    },
)

F_3_2 = action(
    "f.3.2",
    "Accept the leader's proposals in the order received.",
    lambda p, c, h: {
        "sent": abcast(c, h),
        "of its epoch": of_epoch(p, c),
        "promise": promised(p) == ep(c),
        # what was proposed before it came before it, on the same connection or in its NEWLEADER
        "fifo": forall(lambda x: implies(before(x, h), hist(p, x))),
    },
    lambda p, c, h: {
        hist: lambda g, x: hist(g, x) | ((g == p) & (x == h)),
        accepted: lambda g, d, x: accepted(g, d, x) | ((g == p) & (d == c) & (x == h)),
    },
    each="p",
)

L_3_2 = action(
    "l.3.2",
    "A proposal acknowledged by a quorum: commit it, and what precedes it.",
    lambda c, q, h: {
        "established": established(c),
        "proposed": abcast(c, h),
        "quorum": forall(lambda p: implies(member(p, q), accepted(p, c, h))),
    },
    lambda c, q, h: {commit: lambda d, x: commit(d, x) | ((d == c) & prefix(x, h))},
)

F_3_3 = action(
    "f.3.3",
    "COMMIT: deliver the transaction, after all of h_f that precedes it.",
    lambda p, c, h: {"sent": commit(c, h), "of its epoch": of_epoch(p, c) & (promised(p) == ep(c))},
    lambda p, c, h: deliver(p, h),
    each="p",
)

L_3_3 = action(
    "l.3.3",
    "CEPOCH from a follower that comes late: NEWLEADER with all of the log.",
    lambda c, h: {
        "established": established(c),
        "the log": log(c, h) & forall(lambda x: implies(log(c, x), prefix(x, h))),
    },
    lambda c, h: {newleader: lambda d, x: newleader(d, x) | ((d == c) & (x == h))},
)

L_3_4 = action(
    "l.3.4",
    "A late follower acknowledged NEWLEADER: its commit names what is committed.",
    lambda p, c, h: {"established": established(c), "acknowledged": ack_ld(p, c), "committed": commit(c, h)},
    lambda p, c, h: {commit_ld: lambda g, d, x: commit_ld(g, d, x) | ((g == p) & (d == c) & (x == h))},
)

RESTART = action(
    "restart",
    "An iteration is given up: a timeout, a lost connection, a crash and recovery.",
    lambda p: {},
    lambda p: {in_pass: lambda g, x: ((g == p) & (x == root())) | ((g != p) & in_pass(g, x))},
    each="p",
)

ACTIONS = (F_1_2, L_1_2, F_2_1, L_2_2, F_2_2, F_3_1, L_3_1, F_3_2, L_3_2, F_3_3, L_3_3, L_3_4, RESTART)
