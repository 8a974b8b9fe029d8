"""Compute evidence: an induction, the proof, or the refinement check, each as its command does.

Claims are derived here from the engines' results, not from their reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from checker.proofs.evidence.store import Entry
from checker.proofs.report.induction import why_untested
from checker.report.evidence import INDUCTIVE, PROOF, PROVED, REFINEMENT, REFINES
from checker.report.result import NOT_REACHED, plural, some
from checker.requests.base.watch import Watch

if TYPE_CHECKING:
    from checker.proofs.requests.induct import Induct
    from checker.proofs.requests.prove import Prove
    from checker.proofs.requests.refine import Refine
    from checker.proofs.symbolic.pool import Outcome, Verdict
    from zabspec.model import Configuration

NOT_PROVED, UNDECIDED, KEPT = "not proved", "undecided", "inductive"

# Called with a description of the current work.
Tell = Callable[[str], None]


class Telling(Watch):
    """Reports the progress of other work, after what it is."""

    def __init__(self, what: str, tell: Tell) -> None:
        self.what, self.tell = what, tell

    def working(self) -> AbstractContextManager[Tell]:
        return nullcontext(lambda line: self.tell(f"{self.what}: {line}"))


def inductive(request: Induct, digest: str, tell: Tell) -> Entry:
    """Check with z3 whether every step preserves the clauses, and what follows from them.

    Raises:
        RequestError: the request is wrong.
    """
    outcome = request.answer(Telling("induction", tell)).outcome
    open_clauses = unproved(outcome)
    judged = outcome.question.with_premise  # the properties that explorations judge: the others are auxiliary clauses
    claims = {v.clause.name: claim(v, outcome, open_clauses) for v in outcome.verdicts if v.clause in judged}
    why = ""
    if open_clauses:
        why = f"not proved: {plural(len(open_clauses), 'clause')}, {some(open_clauses)}"
    elif obstacles := [*outcome.obstacles, *outcome.errors]:
        why = f"nothing is proved: {obstacles[0]}"
    bounds, *assumptions = bounds_of(outcome)
    return Entry(digest, request.as_json(), bounds, claims, why, tuple(assumptions), is_final(outcome))


def is_final(outcome: Outcome) -> bool:
    """Return whether nothing was undecided for want of time: no query, no enabledness, and no search for a premise."""
    decided = UNDECIDED not in [v.word for v in outcome.verdicts] and not outcome.unasked
    looked = outcome.premises is None or not outcome.premises.trouble
    return decided and looked and not any(taken.undecided for taken in outcome.taken)


def unproved(outcome: Outcome) -> list[str]:
    """Return the clauses that are assumed in every state and are not proved: what follows from them may fail."""
    return [v.clause.name for v in outcome.verdicts if v.clause.name in outcome.question.clauses and not v.holds]


def claim(v: Verdict, outcome: Outcome, open_clauses: Sequence[str]) -> str:
    """Return what may be claimed of a property: that it is inductive only if nothing it depends on is open."""
    name = v.clause.name
    if name in outcome.refuted:
        return "violated"
    if v.word == "not inductive":
        return "not inductive"
    if not v.holds:
        return UNDECIDED
    if open_clauses or outcome.obstacles or outcome.errors or outcome.groundless or outcome.question.assumed:
        return NOT_PROVED
    if outcome.premises is None:
        return f"{KEPT}, {NOT_REACHED}"
    return f"{KEPT}, {why_untested(outcome.premises, name)}" if name in outcome.unreached else KEPT


def bounds_of(outcome: Outcome) -> list[str]:
    """Return the bounds of an induction in a few words, then all its assumptions."""
    from zabspec.model import Model

    c, granted = outcome.question.configuration, outcome.granted
    model = Model(c)
    said = [plural(c.nodes, "node")]
    if model.protocol.transactions:
        said += [plural(c.txns, "transaction"), f"epochs up to {model.epochs}"]
    said += [f"no step needs a larger {flag}" for flag in outcome.within]
    said += [sentence.partition(" ever: ")[0] for sentence in granted if sentence.startswith("no ")]
    return [", ".join(said), *granted]


def proof(request: Prove, digest: str, tell: Tell) -> Entry:
    """Prove abstract ZAB safe, for any number of processes.

    Raises:
        NoVerdict: the run that shows that the proof is not vacuous does not replay: an error of zabcheck.
    """
    from checker.proofs.prove.prove import ASSUMPTIONS, Proof
    from zabspec.proofs.abstract.theory import ZAB

    proofs = request.found(lambda query: tell(f"proof: {query}"))
    held = isinstance(proofs, list) and bool(proofs) and all(isinstance(p, Proof) and p.held for p in proofs)
    claims = {p.name: PROVED if held else NOT_PROVED for p in ZAB.properties}
    bounds = "abstract ZAB, any number of nodes"
    return Entry(digest, request.as_json(), bounds, claims, assumptions=ASSUMPTIONS, final=held)


def refinement(request: Refine, digest: str, tell: Tell) -> Entry:
    """Check that every step of the protocol is a step of abstract ZAB.

    Raises:
        RequestError, NoVerdict: as for `zabcheck refine`.
    """
    tell("refinement check")
    report = request.answer()
    found = report.report.exploration
    claims, why, final = {"": "is not known to refine it"}, found.stopped or found.error, False
    if report.failures:
        first = next(iter(report.failures.values()))
        claims, why, final = {"": "does not refine it"}, first.sentence, True
    elif found.complete and not (found.stopped or found.error or found.failed or found.violations or report.trouble):
        claims, why, final = {"": REFINES}, "", True
    bounds = sizes(request.exploration().configuration())
    return Entry(digest, request.as_json(), bounds, claims, why, final=final)


def sizes(c: Configuration) -> str:
    """Return the sizes and faults of a configuration, without those that are 0."""
    from zabspec.worlds.steps import BUDGETS

    said = [plural(c.nodes, "node"), plural(c.txns, "transaction")]
    return ", ".join([*said, *(plural(n, BUDGETS[name].one) for name, n in c.budget.items() if n)])


# What computes evidence of a kind: from its request, and the digest of all that it depends on.
OF_KIND: Mapping[str, Callable[[Any, str, Tell], Entry]] = {
    INDUCTIVE: inductive, REFINEMENT: refinement, PROOF: proof,
}  # fmt: skip
