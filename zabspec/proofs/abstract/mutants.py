"""Define mutants of the protocol with one rule changed, each as a difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from zabspec.proofs.abstract.connections import CONNECTED
from zabspec.proofs.abstract.logic import Expression, exists, forall, implies
from zabspec.proofs.abstract.protocol import AbstractAction
from zabspec.proofs.abstract.theory import ZAB, Theory
from zabspec.proofs.abstract.vocabulary import (
    LENGTHS, accepted, ack_current, ack_hist, ack_ld, chose, ep, epoch, hist, le, log, lt, member, promise, promised,
    shorter, zxid_le,
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """An abstract protocol with one rule changed.

    Attributes:
        guards: for each action and name of a guard, what stands there instead; None if the guard is dropped.
        axioms: the axioms that do not hold (with `without`).
        within: the number of steps (of sets of processes) in which the finite instance shows the effect.
        breaks: the property that a run from the initial state violates; empty where none was found.
        of: the sound protocol.
    """

    name: str
    doc: str
    guards: Mapping[tuple[str, str], Callable[..., Expression] | None]
    within: int = 20
    breaks: str = ""
    added: Mapping[str, Expression] | None = None
    removed: tuple[str, ...] = ()
    of: Theory = ZAB

    @property
    def theory(self) -> Theory:
        """Return the changed protocol, with the invariant and the properties of the sound one."""
        axioms = {n: f for n, f in self.of.axioms.items() if n not in self.removed} | dict(self.added or {})
        return replace(self.of, axioms=axioms, actions=tuple(self.changed(a) for a in self.of.actions))

    def changed(self, action: AbstractAction) -> AbstractAction:
        """Return the action with this mutant's guards."""
        for (name, guard), body in self.guards.items():
            if name == action.name:
                action = action.with_guard(guard, body)
        return action

    @property
    def actions(self) -> tuple[str, ...]:
        """Return the actions that it changes; all of them if it changes an axiom."""
        return tuple(a.name for a in self.of.actions if self.removed or a.name in {name for name, _ in self.guards})


def best(better: Callable[..., Expression]) -> Callable[..., Expression]:
    """Return l.1.2 with another criterion for the best history: `better(f, x)` about what f's ACK-E holds."""
    return lambda d, q, p, h: forall(lambda f, x: implies(member(f, q), ack_hist(f, d, x), better(f, x, d, p, h)))


MUTANTS = {
    m.name: m
    for m in (
        Mutant(
            "no-promise", "f.1.2 acknowledges any new epoch, earlier than f.p or not.", {("f.1.2", "promise"): None}
        ),
        Mutant("newleader-without-promise", "f.2.1 accepts NEWLEADER whatever f.p is.", {("f.2.1", "promise"): None}),
        Mutant(
            "proposal-against-promise",
            "f.3.2 accepts proposals after a later epoch was promised.",
            {("f.3.2", "promise"): None},
        ),
        Mutant(
            "equal-epoch",
            "f.1.2 acknowledges an epoch equal to f.p, so one epoch twice.",
            {("f.1.2", "promise"): lambda p, c: le(promised(p), ep(c))},
        ),
        Mutant(
            "history-by-length",
            "l.1.2 takes the longest history.",
            {("l.1.2", "best"): best(lambda f, x, d, p, h: shorter(x, h))},
            added=LENGTHS,
        ),
        Mutant(
            "history-by-zxid",
            "l.1.2 takes the history with the latest zxid, whatever f.a is.",
            {("l.1.2", "best"): best(lambda f, x, d, p, h: zxid_le(x, h))},
        ),
        Mutant(
            "history-by-epoch",
            "l.1.2 takes a history that came with the latest f.a, whatever its zxid.",
            {("l.1.2", "best"): best(lambda f, x, d, p, h: le(ack_current(f, d), ack_current(p, d)))},
        ),
        Mutant(
            "choice-below-quorum",
            "l.1.2 chooses with the ACK-E of one follower.",
            {("l.1.2", "quorum"): lambda d, q, p, h: promise(p, d)},
        ),
        Mutant(
            "commit-below-quorum",
            "l.3.2 commits what one follower acknowledged.",
            {("l.3.2", "quorum"): lambda c, q, h: exists(lambda p: accepted(p, c, h))},
        ),
        Mutant(
            "established-below-quorum",
            "l.2.2 needs one acknowledgement of NEWLEADER.",
            {("l.2.2", "quorum"): lambda c, q: exists(lambda p: ack_ld(p, c))},
        ),
        Mutant("accept-with-gap", "f.3.2 accepts a proposal when one before it is missing.", {("f.3.2", "fifo"): None}),
        Mutant(
            "stale-newleader",
            "f.2.1 accepts a NEWLEADER that lacks what it accepted of that epoch since.",
            {("f.2.1", "fifo"): None},
        ),
        Mutant(
            "broadcast-before-established",
            "f.3.1 does not wait for l.2.2.",
            {("f.3.1", "established"): lambda p, c: chose(c)},
        ),
        Mutant(
            "ready-before-delivery",
            "f.3.1 does not wait until the initial history is delivered.",
            {("f.3.1", "delivered"): None},
        ),
        Mutant(
            "joiner-commit",
            "l.3.4 commits to a late follower all of the log, committed or not.",
            {("l.3.4", "committed"): lambda p, c, h: log(c, h)},
        ),
        Mutant(
            "epoch-from-log",
            "f.1.2 takes any epoch later than that of the last transaction in the log, as in LADIS'08: no f.p.",
            {("f.1.2", "promise"): lambda p, c: forall(lambda x: implies(hist(p, x), lt(epoch(x), ep(c))))},
        ),
        Mutant(
            "counter-reused", "l.3.1 gives a transaction any counter: one zxid twice.", {("l.3.1", "counter"): None}
        ),
        Mutant("disjoint-quorums", "II.1 is dropped: quorums need not intersect.", {}, removed=("quorums intersect",)),
        Mutant(
            "overtaken-proposal",
            "A connection gives a proposal before one that was sent earlier on it.",
            {("f.3.2", "proposals before it"): None},
            of=CONNECTED,
        ),
        Mutant(
            "proposal-before-newleader",
            "A connection gives a proposal before the NEWLEADER that was sent earlier on it.",
            {("f.3.2", "NEWLEADER before it"): None},
            of=CONNECTED,
        ),
        Mutant(
            "connection-reopened",
            "A connection is opened again, with what was still in flight on it.",
            {("connect", "single iteration"): None},
            of=CONNECTED,
        ),
        Mutant(
            "two-connections",
            "A process opens a connection while it has another to the same leader.",
            {("connect", "one at a time"): None},
            of=CONNECTED,
        ),
        Mutant(
            "newleader-without-log",
            "NEWLEADER is sent again as it was first sent, without what was proposed since.",
            {("l.2.1", "all of the log"): None},
            of=CONNECTED,
        ),
    )
}
