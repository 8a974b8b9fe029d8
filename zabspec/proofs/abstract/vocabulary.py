"""The vocabulary of abstract ZAB: its symbols, and the axioms on those that no action changes.

A **history** is one element: a transaction together with all that precedes it in the log it was abcast
into, so an element x stands for the sequence of those below it in the prefix order, itself last; `root`
is the empty one. What a process or a message holds is a set of elements: a set that is a chain and
closed towards the root is a sequence. No function leads from a process to a history or from either to an
attempt; that is what lets the solver end.

An **attempt** is a process's try at leading (DSN'11: prospective leader); its process and its epoch are
fixed with it. `origin` stands for how everything begins: the empty history, in the epoch before all.
"""

from __future__ import annotations

from collections.abc import Mapping

from zabspec.proofs.abstract.logic import (
    ATTEMPT, COUNTER, EPOCH, HISTORY, PROCESS, QUORUM, Expression, Symbol, constant, exists, forall, function, implies,
    relation,
)  # fmt: skip

P, Q, A, H, E, N = PROCESS, QUORUM, ATTEMPT, HISTORY, EPOCH, COUNTER

# --- what no action changes ----------------------------------------------------------------------

member = relation("member", P, Q, rigid=True, doc="the process is in the quorum (II.1)")
leads = relation("leads", P, A, rigid=True, doc="the process that makes the attempt")
ep = function("ep", A, E, rigid=True, doc="e', the epoch that the attempt proposes (l.1.1)")
le = relation("le", E, E, rigid=True, doc="the order of epochs")
at_most = relation("at_most", N, N, rigid=True, doc="the order of counters")
prefix = relation("prefix", H, H, rigid=True, doc="the first history is a prefix of the second, or equal")
epoch = function("epoch", H, E, rigid=True, doc="epoch(z) of the last transaction")
counter = function("counter", H, N, rigid=True, doc="counter(z) of the last transaction")
shorter = relation("shorter", H, H, rigid=True, doc="the first history is no longer than the second")
root = constant("root", H, "the empty history")
origin = constant("origin", A, "how everything begins")

# --- Table 1, and one iteration of a process -----------------------------------------------------

promised = function("promised", P, E, doc="f.p, the last new epoch proposal acknowledged")
current = function("current", P, E, doc="f.a, the last new leader proposal acknowledged")
hist = relation("hist", P, H, doc="the history is a prefix of h_f")
in_pass = relation("in_pass", P, H, doc="delivered in the iteration under way")

# --- messages, which once sent may be received at any time, by whom the step says ------------------

promise = relation("promise", P, A, doc="ACK-E was sent to the attempt")
ack_current = function("ack_current", P, A, E, doc="f.a in that ACK-E")
ack_hist = relation("ack_hist", P, A, H, doc="the history is a prefix of h_f in that ACK-E")
newleader = relation("newleader", A, H, doc="NEWLEADER(e', T) was sent, T being this history")
ack_ld = relation("ack_ld", P, A, doc="NEWLEADER was acknowledged")
accepted = relation("accepted", P, A, H, doc="accepted in the attempt's epoch (f.2.1, f.3.2): ACK was sent")
commit = relation("commit", A, H, doc="the leader committed it: COMMIT names it or one after it")
commit_ld = relation("commit_ld", P, A, H, doc="the commit of NEWLEADER to the process names it or one after it")

# --- an attempt ----------------------------------------------------------------------------------

chose = relation("chose", A, doc="the initial history is chosen (l.1.2)")
initial = relation("initial", A, H, doc="the history is a prefix of I_e'")
log = relation("log", A, H, doc="the history is a prefix of I_e' followed by beta_e'")
established = relation("established", A, doc="its leader is established (V.1)")
ready = relation("ready", A, doc="ready(e') was invoked (f.3.1)")
abcast = relation("abcast", A, H, doc="the attempt's primary abcast the last transaction of the history: PROPOSE")

# --- ghosts: what the outside saw ----------------------------------------------------------------

born = relation("born", H, doc="some primary abcast its last transaction")
delivered = relation("delivered", P, H, doc="the process abdelivered its last transaction, in some iteration")
order = relation("order", P, H, H, doc="in some iteration the process delivered the first before the second")
sooner = relation("sooner", H, H, doc="one primary instance abcast the first before the second")
heard = relation("heard", H, H, doc="when the first was abcast its primary's process had delivered the second")

STATE = (
    promised, current, hist, in_pass,
    promise, ack_current, ack_hist, newleader, ack_ld, accepted, commit, commit_ld,
    chose, initial, log, established, ready, abcast,
    born, delivered, order, sooner, heard,
)  # fmt: skip


# --- words for it --------------------------------------------------------------------------------


def lt(e1: Expression, e2: Expression) -> Expression:
    """Epoch e1 is earlier than e2."""
    return ~le(e2, e1)


def before(x: Expression, y: Expression) -> Expression:
    """x is a proper prefix of y."""
    return prefix(x, y) & (x != y)


def comparable(x: Expression, y: Expression) -> Expression:
    """Return the formula that one of two histories is a prefix of the other."""
    return prefix(x, y) | prefix(y, x)


def zxid_le(x: Expression, y: Expression) -> Expression:
    """III: the zxid of x precedes that of y, or equals it."""
    return lt(epoch(x), epoch(y)) | ((epoch(x) == epoch(y)) & at_most(counter(x), counter(y)))


def of_epoch(p: Expression, c: Expression) -> Expression:
    """f.a is the attempt's epoch, and it was the attempt's NEWLEADER that set it."""
    return ack_ld(p, c) & (current(p) == ep(c))


def acked_of_epoch(p: Expression, d: Expression, c: Expression) -> Expression:
    """Return the formula that p's f.a in its ACK-E to d is the epoch of c, set by c's NEWLEADER."""
    return promise(p, d) & ack_ld(p, c) & (ack_current(p, d) == ep(c))


def ordered(before: Symbol, a: Expression, b: Expression, c: Expression) -> Expression:
    """Return the formula that a relation is a total order, as far as three values go."""
    return (
        before(a, a)
        & implies(before(a, b), before(b, a), a == b)
        & implies(before(a, b), before(b, c), before(a, c))
        & (before(a, b) | before(b, a))
    )


# --- axioms --------------------------------------------------------------------------------------

AXIOMS: Mapping[str, Expression] = {
    "quorums intersect": forall(lambda q, r: exists(lambda p: member(p, q) & member(p, r))),
    "an attempt has one leader": forall(lambda p, g, c: implies(leads(p, c), leads(g, c), p == g)),
    "epochs are ordered": forall(lambda e1, e2, e3: ordered(le, e1, e2, e3)),
    "counters are ordered": forall(lambda n1, n2, n3: ordered(at_most, n1, n2, n3)),
    "histories are a tree": forall(
        lambda x, y, z: (
            prefix(x, x)
            & prefix(root(), x)
            & implies(prefix(x, y), prefix(y, x), x == y)
            & implies(prefix(x, y), prefix(y, z), prefix(x, z))
            & implies(prefix(x, z), prefix(y, z), prefix(x, y) | prefix(y, x))
        )
    ),
    "the beginning is before all": (epoch(root()) == ep(origin())) & forall(lambda e: le(ep(origin()), e)),
}

# Only where a mutant speaks of lengths.
LENGTHS: Mapping[str, Expression] = {
    "lengths are ordered": forall(
        lambda x, y, z: (
            (shorter(x, y) | shorter(y, x))
            & implies(shorter(x, y), shorter(y, z), shorter(x, z))
            & implies(before(x, y), ~shorter(y, x))
        )
    )
}
