"""State the inductive invariant of abstract ZAB, clause by clause, each with its reason in a sentence.

Statements about quorums have the form "every quorum has a member that ...": that is what the other side
of an argument needs, which meets one quorum of its own with it. The heart is `chosen in later histories`.
"""

from __future__ import annotations

from dataclasses import dataclass

from zabspec.proofs.abstract.logic import Expression, disj, exists, forall, implies
from zabspec.proofs.abstract.vocabulary import (
    abcast, accepted, ack_current, ack_hist, ack_ld, acked_of_epoch, before, born, chose, commit, commit_ld, comparable,
    current, delivered, ep, epoch, established, heard, hist, in_pass, initial, le, leads, log, lt, member, newleader,
    of_epoch, order, origin, prefix, promise, promised, ready, root, sooner, zxid_le,
)  # fmt: skip


@dataclass(frozen=True)
class Clause:
    """One clause: its name, what it says, and why it is there (with its place in the paper)."""

    name: str
    formula: Expression
    doc: str


def clause(name: str, doc: str, formula: Expression) -> Clause:
    return Clause(name, formula, doc)


CLAUSES = (
    # --- promises ---
    clause(
        "promised is the latest",
        "f.1.2 promises later and later epochs, so every promise a process made is at most f.p.",
        forall(lambda p, c: implies(promise(p, c), le(ep(c), promised(p)))),
    ),
    clause(
        "one promise an epoch",
        "f.1.2 acknowledges a new epoch only if it is later than f.p (V.C), so no epoch is promised to two attempts.",
        forall(lambda p, c, d: implies(promise(p, c), promise(p, d), ep(c) == ep(d), c == d)),
    ),
    clause(
        "acknowledged at most promised",
        "A process acknowledges NEWLEADER of the epoch it promised (f.2.1), and f.p never goes back.",
        forall(lambda p, c: implies(ack_ld(p, c), le(ep(c), current(p)))),
    ),
    clause(
        "f.a at most f.p",
        "f.a is set to f.p in f.2.1, and f.p never goes back.",
        forall(lambda p: le(current(p), promised(p))),
    ),
    clause(
        "ACK-E is of an earlier epoch",
        "The f.a in an ACK-E was at most f.p, which was earlier than the epoch promised.",
        forall(lambda p, d: implies(promise(p, d), lt(ack_current(p, d), ep(d)))),
    ),
    # --- one leader an epoch ---
    clause(
        "chosen with promises",
        "A leader chooses an initial history with the promises of a quorum (l.1.2): every quorum has a member of it.",
        forall(lambda c, q: implies(chose(c), disj(c == origin(), exists(lambda p: member(p, q) & promise(p, c))))),
    ),
    clause(
        "one leader an epoch",
        "Two attempts with promises of a quorum share a process, which promised the epoch once (V.C).",
        forall(lambda c, d: implies(chose(c), chose(d), ep(c) == ep(d), c == d)),
    ),
    # --- shapes ---
    clause(
        "histories are closed",
        "What precedes an accepted transaction was accepted: FIFO leaves no gap.",
        forall(lambda p, x, y: implies(hist(p, y), prefix(x, y), hist(p, x))),
    ),
    clause(
        "histories are sequences",
        "Of two prefixes of one history one is a prefix of the other.",
        forall(lambda p, x, y: implies(hist(p, x), hist(p, y), comparable(x, y))),
    ),
    clause(
        "histories in ACK-E are sequences",
        "ACK-E carries the history as it was (invariant 4): a sequence, without a gap.",
        forall(
            lambda p, d, x, y: (
                implies(promise(p, d), ack_hist(p, d, y), prefix(x, y), ack_hist(p, d, x))
                & implies(promise(p, d), ack_hist(p, d, y), ack_hist(p, d, x), comparable(x, y))
            )
        ),
    ),
    clause(
        "logs are sequences",
        "The leader's log is the initial history and then what it proposed, one after the other.",
        forall(
            lambda c, x, y: (
                implies(log(c, y), prefix(x, y), log(c, x)) & implies(log(c, x), log(c, y), comparable(x, y))
            )
        ),
    ),
    clause(
        "initial histories are closed",
        "The initial history is the history of some follower (invariant 4).",
        forall(lambda c, x, y: implies(initial(c, y), prefix(x, y), initial(c, x))),
    ),
    clause(
        "logs begin with the initial history",
        "The log of a leader is I_e' followed by beta_e'; there is none before I_e' is chosen.",
        forall(lambda c, x: implies(initial(c, x), log(c, x)) & implies(log(c, x), chose(c))),
    ),
    clause(
        "logs go on with what was abcast",
        "What a log has beyond the initial history its own primary abcast.",
        forall(lambda c, x: implies(log(c, x), disj(initial(c, x), abcast(c, x)))),
    ),
    clause(
        "abcast is of the epoch",
        "A primary abcasts under its own epoch, when it is ready, and into its log (l.3.1).",
        forall(lambda c, x: implies(abcast(c, x), (epoch(x) == ep(c)) & ready(c) & log(c, x))),
    ),
    clause(
        "initial histories are older",
        "No process that promised an epoch had accepted anything of it: the initial history is of earlier epochs.",
        forall(lambda c, x: implies(initial(c, x), disj(x == root(), lt(epoch(x), ep(c))))),
    ),
    clause(
        "histories are of f.a's epoch or older",
        "A follower accepts a proposal only of its current epoch (invariant 1).",
        forall(
            lambda p, d, x: (
                implies(hist(p, x), le(epoch(x), current(p)))
                & implies(promise(p, d), ack_hist(p, d, x), le(epoch(x), ack_current(p, d)))
            )
        ),
    ),
    clause(
        "only what was abcast",
        "Channels do not invent messages (II): what is in a log, a history or an ACK-E some primary abcast.",
        forall(
            lambda p, c, x: (
                implies(log(c, x), born(x))
                & implies(hist(p, x), born(x))
                & implies(promise(p, c), ack_hist(p, c, x), born(x))
            )
        ),
    ),
    clause(
        "abcast after what precedes it",
        "A transaction is abcast after everything before it in the log.",
        forall(lambda x, y: implies(born(y), prefix(x, y), born(x))),
    ),
    clause(
        "zxid order",
        "A primary's transactions have growing counters, in an epoch later than what it starts from (invariant 2).",
        forall(lambda x, y: implies(born(y), before(x, y), ~zxid_le(y, x))),
    ),
    clause(
        "the root is in all",
        "The empty history is a prefix of every history (a convention of the encoding).",
        forall(
            lambda p, c: (
                hist(p, root())
                & in_pass(p, root())
                & implies(promise(p, c), ack_hist(p, c, root()))
                & implies(chose(c), initial(c, root()))
            )
        ),
    ),
    # --- a follower against its leader's log ---
    clause(
        "NEWLEADER carries the log",
        "NEWLEADER(e', T) carries the initial history (l.2.1), or the log as it was (l.3.3).",
        forall(lambda c, x, h: implies(newleader(c, h), chose(c) & log(c, h) & implies(initial(c, x), prefix(x, h)))),
    ),
    clause(
        "acknowledged a chosen one",
        "Only a leader that has chosen its initial history sends NEWLEADER.",
        forall(lambda p, c: implies(ack_ld(p, c), chose(c))),
    ),
    clause(
        "histories follow the log",
        "The history of a process with f.a = e' is a prefix of the log of e', and has the initial history.",
        forall(
            lambda p, c, x: (
                implies(of_epoch(p, c), hist(p, x), log(c, x)) & implies(of_epoch(p, c), initial(c, x), hist(p, x))
            )
        ),
    ),
    clause(
        "histories in ACK-E follow the log",
        "The same of the history in an ACK-E and the f.a that came with it.",
        forall(
            lambda p, d, c, x: (
                implies(acked_of_epoch(p, d, c), ack_hist(p, d, x), log(c, x))
                & implies(acked_of_epoch(p, d, c), initial(c, x), ack_hist(p, d, x))
            )
        ),
    ),
    clause(
        "every f.a was set by a NEWLEADER",
        "f.a, and the f.a in an ACK-E, is the epoch of an attempt whose NEWLEADER was acknowledged, or the first.",
        forall(
            lambda p, d: (
                exists(lambda c: of_epoch(p, c)) & implies(promise(p, d), exists(lambda c: acked_of_epoch(p, d, c)))
            )
        ),
    ),
    # --- acceptance ---
    clause(
        "accepted of the log",
        "What is accepted in an epoch is in the log of its leader, whose NEWLEADER was accepted before.",
        forall(lambda p, c, x: implies(accepted(p, c, x), ack_ld(p, c) & log(c, x))),
    ),
    clause(
        "accepted without gaps",
        "Whoever accepts a transaction in an epoch accepted all before it in that epoch.",
        forall(lambda p, c, x, y: implies(accepted(p, c, y), prefix(x, y), accepted(p, c, x))),
    ),
    clause(
        "the initial history is accepted",
        "Accepting NEWLEADER is accepting every transaction of the initial history (f.2.1).",
        forall(lambda p, c, x: implies(ack_ld(p, c), initial(c, x), accepted(p, c, x))),
    ),
    clause(
        "the history is what was accepted",
        "While f.a = e', the history is what was accepted in e': nothing more, and nothing is lost.",
        forall(lambda p, c, x: implies(of_epoch(p, c), hist(p, x) == accepted(p, c, x))),
    ),
    clause(
        "ACK-E tells of the latest",
        "A process that promised d never again accepts of an earlier epoch: its ACK-E has its latest f.a before d.",
        forall(lambda p, c, d: implies(promise(p, d), ack_ld(p, c), lt(ep(c), ep(d)), le(ep(c), ack_current(p, d)))),
    ),
    clause(
        "ACK-E tells all",
        "What a process accepted in the epoch its ACK-E names is in the history the ACK-E carries (invariant 3).",
        forall(lambda p, c, d, x: implies(acked_of_epoch(p, d, c), accepted(p, c, x), ack_hist(p, d, x))),
    ),
    # --- the heart ---
    clause(
        "chosen in later histories",
        "What a later initial history lacks no quorum has accepted, or ever will: every quorum has a member that "
        "promised beyond the epoch without having accepted it there (VI, the choice of the initial history).",
        forall(
            lambda c, d, x, q: implies(
                chose(d),
                lt(ep(c), ep(d)),
                disj(initial(d, x), exists(lambda p: member(p, q) & lt(ep(c), promised(p)) & ~accepted(p, c, x))),
            )
        ),
    ),
    clause(
        "later histories add nothing older",
        "If a later initial history has an older transaction that the initial history of e' lacks, e' is not "
        "established and never will be: every quorum has a member that promised beyond e' without having accepted "
        "NEWLEADER of it.",
        forall(
            lambda c, d, x, q: implies(
                chose(d),
                lt(ep(c), ep(d)),
                initial(d, x),
                lt(epoch(x), ep(c)),
                disj(initial(c, x), exists(lambda p: member(p, q) & lt(ep(c), promised(p)) & ~ack_ld(p, c))),
            )
        ),
    ),
    # --- commit and establishment ---
    clause(
        "established with acknowledgements",
        "An established leader has the acknowledgements of NEWLEADER of a quorum (V.1).",
        forall(lambda c, q: implies(established(c), chose(c) & exists(lambda p: member(p, q) & ack_ld(p, c)))),
    ),
    clause(
        "committed is accepted by a quorum",
        "A committed transaction was accepted in that epoch by a quorum (VI.1: it is chosen).",
        forall(
            lambda c, x, q: implies(commit(c, x), disj(x == root(), exists(lambda p: member(p, q) & accepted(p, c, x))))
        ),
    ),
    clause(
        "committed is accepted by all of a quorum",
        "The acknowledgements that commit a transaction (l.2.2, l.3.2) are those of a whole quorum.",
        forall(
            lambda c, x: implies(
                commit(c, x),
                disj(x == root(), exists(lambda q: forall(lambda p: implies(member(p, q), accepted(p, c, x))))),
            )
        ),
    ),
    clause(
        "committed of the log",
        "A leader commits what is in its log, and all that precedes it, once it is established.",
        forall(
            lambda c, x, y: implies(
                commit(c, y), log(c, y) & disj(established(c), c == origin()) & implies(prefix(x, y), commit(c, x))
            )
        ),
    ),
    clause(
        "established commits the initial history",
        "An established leader has committed its initial history (l.2.2).",
        forall(lambda c, x: implies(established(c), initial(c, x), commit(c, x))),
    ),
    clause(
        "commits to joiners are of what is committed",
        "The commit of NEWLEADER names what is committed (l.2.2, l.3.4).",
        forall(lambda p, c, x: implies(commit_ld(p, c, x), commit(c, x))),
    ),
    clause(
        "committed is in later histories",
        "A transaction committed in an epoch is in the initial history of every later one.",
        forall(lambda c, d, x: implies(commit(c, x), chose(d), lt(ep(c), ep(d)), initial(d, x))),
    ),
    clause(
        "nothing older after established",
        "Once e' is established, later initial histories have nothing older than e' that its own lacks.",
        forall(
            lambda c, d, x: implies(
                established(c), chose(d), lt(ep(c), ep(d)), initial(d, x), lt(epoch(x), ep(c)), initial(c, x)
            )
        ),
    ),
    # --- delivery, and what was seen of it ---
    clause(
        "ready has delivered",
        "A primary is ready when it is established and its process has delivered the initial history (f.2.2, f.3.1).",
        forall(
            lambda p, c, x: implies(ready(c), established(c) & implies(leads(p, c), initial(c, x), delivered(p, x)))
        ),
    ),
    clause(
        "delivered is committed",
        "A process delivers what some leader committed.",
        forall(lambda p, x: implies(delivered(p, x), exists(lambda c: commit(c, x)))),
    ),
    clause(
        "delivered without gaps",
        "A pass delivers h_f from its beginning, without a gap.",
        forall(
            lambda p, x, y: (
                implies(in_pass(p, x), hist(p, x) & delivered(p, x))
                & implies(in_pass(p, y), prefix(x, y), in_pass(p, x))
                & implies(delivered(p, y), prefix(x, y), delivered(p, x))
            )
        ),
    ),
    clause(
        "delivered in order",
        "A process delivers in the order of the histories, and all that precedes what it delivers.",
        forall(
            lambda p, x, y: (
                implies(order(p, x, y), before(x, y) & delivered(p, x) & delivered(p, y))
                & implies(delivered(p, y), before(x, y), order(p, x, y))
            )
        ),
    ),
    clause(
        "abcast in order",
        "A primary instance abcasts into its log one after the other.",
        forall(lambda x, y: implies(sooner(x, y), before(x, y))),
    ),
    clause(
        "abcast after delivery",
        "When a primary abcasts, its process has delivered the initial history.",
        forall(lambda c, x, y: implies(abcast(c, x), initial(c, y), heard(x, y))),
    ),
)
