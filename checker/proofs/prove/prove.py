"""`zabcheck prove`: run all queries, and report the results as text and JSON."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from checker.proofs.prove import finite
from checker.proofs.prove.queries import CONSECUTION, COVER, DERIVED, IMPLIED, INITIATION, Outcome, Prover
from checker.proofs.prove.run_text import Refused, take
from checker.proofs.prove.stepping import ProofRun, SearchError, Step, may, step, truth
from checker.proofs.symbolic.smt2 import about
from checker.proofs.symbolic.solver import SolverAnswer
from checker.report.result import Part, Table
from zabspec.proofs.abstract.connections import CONNECTED
from zabspec.proofs.abstract.mutants import MUTANTS
from zabspec.proofs.abstract.runs import EVERYTHING, OVER_CONNECTIONS, RUNS, Story
from zabspec.proofs.abstract.theory import ZAB, Theory
from zabspec.proofs.abstract.witnesses import WITNESSES

STRAYS = 60  # random steps from the run of witnesses
IN_A_ROW = 3
BROKEN = 2  # mutants of which it is asked whether they would be proved
MOMENT = 0.5  # seconds for a query of theirs; a proof takes less, and what is false has none
ASSUMPTIONS = (
    "any number of processes, epochs, transactions; any quorum system of which any two quorums intersect",
    "any number of crashes, timeouts, lost and late messages; Table 1 survives a crash, f.2.1 is atomic (IV)",
    "channels are FIFO and of a single iteration: a process has one connection at a time, never reuses one, and "
    "receives a message on it only after every message sent on it before; the two guards named `fifo` follow",
    "a history is one value: a transaction with all that preceded it when it was abcast (a tree of histories)",
    "the processes run the abstract protocol; whether the executable protocol refines it is a separate check",
)


@dataclass
class Proof:
    """The queries and answers under one seed.

    `connections`: how the guards named `fifo` follow. `witnessed`: the step of the run of witnesses at which each first
    holds.
    """

    seed: int
    outcomes: list[Outcome] = field(default_factory=list)
    connections: list[Outcome] = field(default_factory=list)
    witnessed: dict[str, int | None] = field(default_factory=dict)
    untaken: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def open(self) -> list[Outcome]:
        """The queries that are not proved."""
        return [o for o in self.asked if o.answer is not SolverAnswer.PROVED]

    @property
    def asked(self) -> list[Outcome]:
        """All queries with their answers."""
        return [*self.outcomes, *self.connections]

    @property
    def held(self) -> bool:
        """Whether everything is proved, and nothing of it is vacuous."""
        return not self.open and None not in self.witnessed.values() and not self.untaken

    def of(self, kind: str) -> list[Outcome]:
        """Return the outcomes of one kind."""
        return [o for o in self.outcomes if o.query.kind == kind]

    def as_json(self) -> dict[str, Any]:
        """Return the proof as JSON values."""
        return {
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "held": self.held,
            "queries": [row(o) for o in self.outcomes],
            "connections": [row(o) for o in self.connections],
            "witnesses": [{"name": name, "step": at} for name, at in self.witnessed.items()],
            "actions_never_taken": list(self.untaken),
        }


def row(outcome: Outcome) -> dict[str, Any]:
    """Return a query and its answer as JSON values."""
    return {
        "kind": outcome.query.kind,
        "action": outcome.query.action,
        "clause": outcome.query.clause,
        "answer": outcome.answer.value,
        "seconds": round(outcome.seconds, 4),
        "hypotheses": outcome.hypotheses,
        "all_hypotheses": outcome.fallback,
        "reason": outcome.reason,
    }


def prove(seed: int, seconds: float, tell: Callable[[str], None]) -> Proof:
    """Run every query of the proof under one seed, each within `seconds`; call `tell` with every one.

    Raises:
        SearchError: the run that shows that nothing is vacuous is refused, or violates a clause; a mutant is proved.
    """
    started = time.perf_counter()
    proof = Proof(seed)
    with about(f"seed {seed}" if seed else ""):
        ask_all(proof, seconds, tell)
        refute(seed)
    proof.witnessed, untaken_there = witnesses(ZAB)
    proof.untaken = (*untaken_there, *untaken(sound(CONNECTED, OVER_CONNECTIONS), CONNECTED))
    proof.seconds = time.perf_counter() - started
    return proof


def ask_all(proof: Proof, seconds: float, tell: Callable[[str], None]) -> None:
    """Run every query, and record its answer.

    Raises:
        SearchError: a lemma is used that is not asked.
    """
    for theory, outcomes in ((ZAB, proof.outcomes), (CONNECTED, proof.connections)):
        prover = Prover(theory, proof.seed, seconds)
        for query in prover.queries():
            tell(query.key)
            outcomes.append(prover.ask(query))
        shown = {(o.query.action, o.query.clause) for o in outcomes if o.query.kind == COVER}
        if used := {(o.query.action, name) for o in outcomes for name in o.query.lemmas} - shown:
            raise SearchError(f"lemmas are used and not asked: {used}")


def witnesses(theory: Theory) -> tuple[dict[str, int | None], tuple[str, ...]]:
    """Return where each witness first holds in the run of witnesses, and the actions that the run never takes.

    Raises:
        SearchError: the run is refused, or violates a clause.
    """
    run = sound(theory, EVERYTHING)
    found = {w.name: next((k for k, s in enumerate(run.states) if truth(w.formula, s)), None) for w in WITNESSES}
    return found, untaken(run, theory)


def sound(theory: Theory, told: Story) -> ProofRun:
    """Take a run step by step, and check that everything that was proved holds in it, and after random steps from it.

    The states have plain truth values: this is the second opinion of z3's answers.

    Raises:
        SearchError: it is refused, or violates a clause.
    """
    run = take(theory, told)
    if isinstance(run, Refused):
        raise SearchError(f"step {run.at} of the run of witnesses is refused by {run.by!r}")
    for where, states in (("the run of witnesses", run.states), ("a random run", strays(theory, run))):
        for state in states:
            for clause in (*theory.clauses, *theory.properties):
                if not truth(clause.formula, state):
                    raise SearchError(f"{where} violates {clause.name!r}")
    return run


def refute(seed: int) -> None:
    """Check that some mutants are not proved: of the step of a known run that violates a clause, a query must fail.

    Raises:
        SearchError: one is proved.
    """
    known = [m for m in MUTANTS.values() if m.of is ZAB and m.name in RUNS]
    for mutant in random.Random(seed).sample(known, BROKEN):
        run, prover = take(mutant.theory, RUNS[mutant.name]), Prover(mutant.theory, seed, MOMENT)
        if isinstance(run, Refused):
            raise SearchError(f"step {run.at} of the run of {mutant.name} is refused by {run.by!r}")
        for taken, state in zip(run.steps, run.states[1:], strict=True):
            if broken := [c.name for c in mutant.theory.clauses if not truth(c.formula, state)]:
                asked = list(prover.consecution(taken.action))
                due = [*(q for q in asked if q.clause == broken[0]), *(q for q in asked if q.kind == COVER)]
                if all(prover.ask(q).answer is SolverAnswer.PROVED for q in due):
                    raise SearchError(f"{mutant.name} is proved to keep {broken[0]!r}, which a run violates")
                break


def strays(theory: Theory, run: ProofRun) -> Iterator[finite.Table]:
    """Yield the states after random steps from states of a run, a few in a row."""
    source, state = random.Random(0), run.states[0]
    tuples = state.world.instance.tuples
    every = [Step(a, values) for a in theory.actions for values in tuples([v.sort for v in a.parameters])]
    for k in range(STRAYS):
        state = state if k % IN_A_ROW else source.choice(run.states)
        state = step(state, source.choice([taken for taken in every if may(state, taken)]))
        yield state


def untaken(run: ProofRun, theory: Theory) -> tuple[str, ...]:
    """Return the actions that a run never takes."""
    names = {s.action.name for s in run.steps}
    return tuple(a.name for a in theory.actions if a.name not in names)


# --- as a person reads it ----------------------------------------------------------------------


def parts(proof: Proof, theory: Theory = ZAB) -> list[Part]:
    """Return the report: verdict, properties, the table of times, the clauses, witnesses, assumptions."""
    properties = ", ".join(p.name for p in theory.properties)
    total, bad = len(proof.asked), proof.open
    if proof.held:
        head = f"proved, for any number of processes and any length: {properties}"
    elif bad:
        head = f"not proved: {len(bad)} of {total} queries, the first: {bad[0].query.key} ({bad[0].answer.value})"
    else:
        missing = [name for name, at in proof.witnessed.items() if at is None]
        head = f"not proved: perhaps vacuous, as no witness was found: {', '.join([*missing, *proof.untaken])}"
    slowest = max(proof.asked, key=lambda o: o.seconds)
    lines = [
        head,
        f"{total} queries in {proof.seconds:.1f} s (seed {proof.seed}); {len(bad)} undecided or open; the slowest "
        f"{slowest.seconds:.2f} s ({slowest.query.key}); all hypotheses were needed for "
        f"{sum(o.fallback for o in proof.asked)}",
    ]
    of_each = (
        "Milliseconds for each clause: for the initial state, and for each action that changes a symbol of the clause."
    )
    guards = [o for o in proof.connections if o.query.kind == DERIVED]
    of_fifo = (
        "FIFO guards, derived from connections that are FIFO and of a single iteration: the clauses, and the guards"
    )
    clauses = [(c.name, c.doc) for c in (*theory.clauses, *CONNECTED.new)]
    witnessed = [(name, f"after step {at}" if at is not None else "never") for name, at in proof.witnessed.items()]
    actions = len(theory.actions) + len(CONNECTED.actions)
    return [
        "\n".join(lines),
        matrix(proof.outcomes, theory, of_each),
        timed([*proof.of(COVER), *proof.of(IMPLIED)], "Lemmas and implied properties"),
        matrix(proof.connections, CONNECTED, of_fifo),
        *([timed(guards)] if guards else []),
        Table(clauses, title="Statements of the clauses"),
        Table(
            witnessed,
            title="Not vacuous: a run of the finite instance that has all of these events",
            below=f"  {actions - len(proof.untaken)} of {actions} actions are taken; every clause holds in each state, "
            f"and after {2 * STRAYS} random steps",
        ),
        "\n".join(["Assumed", *(f"  {a}" for a in ASSUMPTIONS)]),
    ]


def timed(outcomes: Sequence[Outcome], title: str = "") -> Table:
    """Return a table with a row for each query: its name, the answer, the time it took."""
    rows = []
    for o in outcomes:
        what = f"{o.query.action}: {o.query.clause}" if o.query.action else o.query.clause
        rows.append((what, o.answer.value, f"{1000 * o.seconds:.0f} ms"))
    return Table(rows, title=title, right=2)


def matrix(outcomes: Sequence[Outcome], theory: Theory, above: str) -> Table:
    """Return a table with a row for each clause: the beginning and each action that changes a symbol of it.

    An entry is `?` if the query is not proved.
    """
    cells = {(o.query.clause, o.query.action): o for o in outcomes if o.query.kind in (INITIATION, CONSECUTION)}
    actions = ["", *(a.name for a in theory.actions)]
    rows = []
    for c in theory.new:
        asked = [(name, cells[c.name, name]) for name in actions if (c.name, name) in cells]
        rows.append((c.name, ", ".join(f"{name or 'begin'} {cell(outcome)}" for name, outcome in asked)))
    return Table(rows, ("clause", "milliseconds"), above=above)


def cell(outcome: Outcome) -> str:
    return f"{1000 * outcome.seconds:.0f}" if outcome.answer is SolverAnswer.PROVED else "?"
