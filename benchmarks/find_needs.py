"""Find which hypotheses each query needs, and rewrite `needs.txt`: `python -m benchmarks.find_needs`.

A query starts from the clause itself; a counterexample to it violates other clauses, which are added, until there is a
proof, whose core is what is needed. Run it again when a clause or an action changes; the proof does not depend on it,
only its running time.
"""

from __future__ import annotations

import sys

import z3

from checker.proofs.prove.queries import Prover, Query
from checker.proofs.symbolic.solver import SolverAnswer
from zabspec.proofs.abstract.connections import CONNECTED
from zabspec.proofs.abstract.theory import ZAB

PATIENCE = 8.0  # seconds for one call

# Initial hypotheses for the queries with long arguments, which they summarise.
ACK_E = (
    "one leader an epoch", "ACK-E tells of the latest", "ACK-E is of an earlier epoch", "ACK-E tells all",
    "histories in ACK-E follow the log", "histories in ACK-E are sequences", "promised is the latest",
    "logs are sequences", "logs begin with the initial history", "zxid order", "only what was abcast",
    "accepted of the log", "acknowledged a chosen one", "the root is in all",
)  # fmt: skip
Q = ("nobody of Q has a later f.a", "Q accepted nothing else of its epoch", "histories in ACK-E follow the log",
    "promised is the latest", "one leader an epoch", "accepted of the log", "acknowledged a chosen one")  # fmt: skip
OLDER = ("nobody of Q has a later f.a", "what is older than that epoch was in its initial history",
    "promised is the latest", "one leader an epoch", "acknowledged a chosen one",
    "logs begin with the initial history")  # fmt: skip
ADDED = ("histories in ACK-E follow the log", "logs go on with what was abcast", "abcast is of the epoch")
COMMITTED = (
    "delivered is committed", "committed of the log", "logs are sequences", "one leader an epoch",
    "committed is in later histories", "logs begin with the initial history", "delivered without gaps",
)  # fmt: skip
STARTS: dict[str, tuple[str, ...]] = {
    "lemma l.1.2 | nobody of Q has a later f.a": ("ACK-E tells of the latest", "the root is in all"),
    "lemma l.1.2 | Q accepted nothing else of its epoch": ACK_E,
    "consecution l.1.2 | chosen in later histories": Q,
    "lemma l.1.2 | what is older than that epoch was in its initial history": ADDED,
    "consecution l.1.2 | later histories add nothing older": OLDER,
    "consecution l.1.2 | committed is in later histories": (*Q, "committed is accepted by a quorum"),
    "consecution l.1.2 | nothing older after established": (*OLDER, "established with acknowledgements"),
    "consecution l.3.2 | committed is accepted by all of a quorum": ("accepted without gaps",),
    "implied | agreement": COMMITTED,
    "implied | durability": ("delivered is committed", "committed is accepted by all of a quorum",
        "accepted of the log", "acknowledged at most promised", "the history is what was accepted",
        "committed is in later histories", "every f.a was set by a NEWLEADER", "acknowledged a chosen one",
        "histories follow the log", "the root is in all"),
    "implied | global-primary-order": (*COMMITTED, "delivered in order", "zxid order", "only what was abcast"),
    "implied | primary-integrity": (*COMMITTED, *ADDED, "ready has delivered", "nothing older after established",
        "abcast after delivery", "established with acknowledgements"),
}  # fmt: skip


def find(prover: Prover, query: Query, old: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names of hypotheses that prove the query, or None if none were found."""
    all_of = prover.hypotheses(query, None)
    names = [*prover.axioms, *(n for n in (query.clause, *old) if n in all_of)]
    while True:
        chosen = {n: all_of[n] for n in dict.fromkeys(names)}
        result = prover.check(query, chosen, PATIENCE, core=True)
        if result.proved:
            return tuple(n for n in all_of if n in result.core)
        if result.answer is not SolverAnswer.COUNTEREXAMPLE or result.model is None:
            break
        broken = [n for n, f in all_of.items() if n not in chosen and is_false(result.model, f)]
        if not broken:
            break
        names += broken[:2]
    result = prover.check(query, all_of, 4 * PATIENCE, core=True)
    return tuple(n for n in all_of if n in result.core) if result.proved else None


def is_false(model: z3.ModelRef, formula: z3.BoolRef) -> bool:
    """Return whether the formula is false in a finite model."""
    solver = z3.SimpleSolver()
    solver.set("timeout", 300)
    for sort in model.sorts():
        elements = model.get_universe(sort)
        if elements:
            x = z3.Const("x", sort)
            solver.add(z3.ForAll(x, z3.Or(*(x == e for e in elements))))
    value = model.eval(formula, model_completion=True)
    if z3.is_true(value) or z3.is_false(value):
        return bool(z3.is_false(value))
    solver.add(value)
    return bool(solver.check() == z3.unsat)


def main() -> None:
    """Rewrite `needs.txt`."""
    from checker.proofs.prove.needs import FILE, NEEDS, needs_text

    found = {}
    for prover, query in ((p, q) for p in (Prover(ZAB), Prover(CONNECTED)) for q in p.queries()):
        there = {*prover.hypotheses(query, None)}  # others are left over from an older text
        known = tuple(n for n in NEEDS[query.key] if n in there) if query.key in NEEDS else None
        needs = (
            known
            if known is not None and fresh(prover, query, known)
            else find(prover, query, STARTS.get(query.key, ()))
        )
        if needs is None:
            print(f"not found: {query.key}", file=sys.stderr, flush=True)
        else:
            found[query.key] = needs
    FILE.write_text(needs_text(found), encoding="utf-8")


def fresh(prover: Prover, query: Query, names: tuple[str, ...]) -> bool:
    """Return whether the known names still prove the query at once."""
    return prover.check(query, prover.hypotheses(query, names), PATIENCE / 6).proved


if __name__ == "__main__":
    main()
