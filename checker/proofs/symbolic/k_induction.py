"""k-induction: whether k steps from states that satisfy the assumptions end in one that satisfies a clause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.proofs.symbolic.smt2 import about
from checker.proofs.symbolic.solver import Solver, SolverAnswer
from checker.proofs.symbolic.unroll import Unrolling
from invariants.registry import Property
from zabspec.proofs.symbolic_terms import Term, Truth, not_, some_of

if TYPE_CHECKING:
    from checker.proofs.symbolic.induction import Induction


def k_inductive(induction: Induction, clause: Property, k: int) -> SolverAnswer:
    """Check whether the last of k steps, each from a state that satisfies every clause, preserves a clause.

    Also check that each of the first k - 1 from the initial state does.
    """
    from checker.proofs.symbolic.bmc import Bounds, check

    seconds, seed = induction.seconds, induction.seed
    with about(clause.name, f"of the first {k} steps"):
        based = check(induction.model, [clause], Bounds(k - 1, seconds=seconds, seed=seed, together=False))
    if based.broken:
        return SolverAnswer.COUNTEREXAMPLE
    if based.reason or based.left_range:
        return SolverAnswer.UNDECIDED
    transition = induction.transition
    run = Unrolling(transition, transition.state, together=False)
    solver = Solver(seconds=seconds, seed=seed, logic="QF_FD")

    def say(*terms: Truth | int) -> None:
        for t in terms:
            assert isinstance(t, (bool, Term))
            solver.add(induction.z3.truth(t))

    solver.add(*induction.legal)
    for _ in range(k):
        say(*run.at([*induction.plain, induction.fine], run.state))
        made = run.extend()
        say(some_of(made.taken), *made.constraints, *(not_(w) for w in made.wrong))
    after = run.at([transition.holds(clause, transition.state)], run.state)[0]
    assert isinstance(after, (bool, Term))
    say(not_(after))
    with about(clause.name, f"after {k} steps"):
        return solver.check().answer
