"""`zabcheck prove --mutant`: find the clauses that a broken rule violates in the finite instance, and a run to that."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from checker.proofs.prove.finite import Instance, Table
from checker.proofs.prove.queries import CONSECUTION, COVER, DERIVED, Prover
from checker.proofs.prove.run_text import Refused, take
from checker.proofs.prove.search import Search
from checker.proofs.prove.stepping import Induction, ProofRun, Step
from checker.proofs.symbolic.solver import SolverAnswer
from zabspec.proofs.abstract.connections import between
from zabspec.proofs.abstract.invariant import Clause
from zabspec.proofs.abstract.logic import (
    ATTEMPT,
    CONNECTION,
    COUNTER,
    EPOCH,
    HISTORY,
    PROCESS,
    QUORUM,
    SORT_OF,
    Sort,
    Symbol,
    disj,
    mentions,
    neg,
)
from zabspec.proofs.abstract.mutants import Mutant
from zabspec.proofs.abstract.runs import RUNS
from zabspec.proofs.abstract.vocabulary import counter, ep, epoch, leads, prefix

# --- describe states, steps and runs of the finite instance in words -------------------------------


def named(table: Table, sort: Sort, k: int) -> str:
    """Return an element's name."""
    if sort == QUORUM:
        return "{" + ", ".join(f"p{p + 1}" for p in sorted(table.world.instance.quorums[k])) + "}"
    if sort in (ATTEMPT, HISTORY) and k == 0:
        return "the beginning" if sort == ATTEMPT else "-"
    return {
        PROCESS: f"p{k + 1}",
        CONNECTION: f"i{k + 1}",
        ATTEMPT: f"a{k}",
        HISTORY: f"h{k}",
        EPOCH: f"e{k}",
        COUNTER: f"n{k}",
    }[sort]


def step_words(table: Table, taken: Step) -> str:
    """Return the paper's name of a step, and its parameters."""
    names = [
        f"{v.name}={named(table, v.sort, k)}" for v, k in zip(taken.action.parameters, taken.arguments, strict=True)
    ]
    return f"{taken.action.name}({', '.join(names)})"


def setting_lines(table: Table, attempts: Collection[int], histories: Collection[int]) -> list[str]:
    """Return lines on the process of each attempt, and the history that each history extends."""
    lines = []
    for c in sorted(set(attempts) - {0}):
        who = [f"p{p + 1}" for p in range(table.world.instance.processes) if table.entry(leads, (p, c))]
        lines.append(f"a{c}: of {' or '.join(who) or 'nobody'}, epoch e{table.entry(ep, (c,))}")
    for x in sorted(set(histories) - {0}):
        below = [y for y in range(x) if table.entry(prefix, (y, x))]
        zxid = f"zxid (e{table.entry(epoch, (x,))}, n{table.entry(counter, (x,))})"
        lines.append(f"h{x}: after {named(table, HISTORY, below[-1])}, {zxid}")
    for (p, c, i), there in table.values.get(between, {}).items():
        if there:
            lines.append(f"i{i + 1}: a connection of p{p + 1} to {named(table, ATTEMPT, c)}")
    return lines


def facts(table: Table, symbols: Collection[Symbol]) -> dict[tuple[Symbol, tuple[int, ...]], str]:
    """Return what is true of the symbols, in words, except about the empty history and the beginning."""
    found = {}
    for symbol in table.values:
        if symbol.rigid or symbol not in symbols:
            continue
        for place, value in table.values[symbol].items():
            sorts = symbol.arguments
            dull = any(k == 0 and s in (HISTORY, ATTEMPT) for k, s in zip(place, sorts, strict=True))
            if dull or value is False:
                continue
            words = ", ".join(named(table, s, k) for k, s in zip(place, sorts, strict=True))
            result = "" if symbol.result is None else f" = {named(table, symbol.result, value)}"
            found[symbol, place] = f"{symbol.name}({words}){result}"
    return found


def induction_lines(found: Induction) -> list[str]:
    """Return the lines of a counterexample to induction: the relevant facts before, the step, and what it changes."""
    action = found.step.action
    symbols = mentions(found.clause.formula) | mentions(action.guard) | action.updates.keys()
    before, after = facts(found.before, symbols), facts(found.after, symbols)
    of: dict[Sort, set[int]] = {ATTEMPT: set(), HISTORY: set()}
    for (symbol, place), _ in [*before.items(), *after.items()]:
        for sort, k in zip(symbol.arguments, place, strict=True):
            if sort in of:
                of[sort].add(k)
    where = ", ".join(f"{n} = {named(found.before, SORT_OF[n[0]], k)}" for n, k in found.where.items())
    return [
        *setting_lines(found.before, of[ATTEMPT], of[HISTORY]),
        "before: " + ("; ".join(before.values()) or "nothing"),
        "step:   " + step_words(found.before, found.step),
        "after:  " + ("; ".join(text for key, text in after.items() if before.get(key) != text) or "nothing new"),
        *(["gone:   " + "; ".join(gone)] if (gone := [t for k, t in before.items() if k not in after]) else []),
        f"fails:  {found.clause.name}, with {where}" if where else f"fails:  {found.clause.name}",
    ]


def run_lines(run: ProofRun) -> list[str]:
    """Return the lines of a run, step by step."""
    first = run.states[0]
    instance = first.world.instance
    return [
        *setting_lines(first, range(instance.attempts), range(instance.histories)),
        *(f"{k + 1:3}. {step_words(first, s)}" for k, s in enumerate(run.steps)),
    ]


HELP = 1.0  # seconds for a lemma, which only helps


@dataclass
class BrokenMutant:
    """A mutant's failing queries with their counterexamples to induction, and a run from the initial state.

    `asked`: answers by (action, clause): `fails`, `proved` or `undecided`. `refused`: the reason why the sound protocol
    refuses the run.
    """

    mutant: Mutant
    instance: Instance
    asked: dict[tuple[str, str], str] = field(default_factory=dict)
    inductions: list[Induction] = field(default_factory=list)
    run: ProofRun | None = None
    story: str = ""
    refused: Refused | None = None
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "mutant": self.mutant.name,
            "rule": self.mutant.doc,
            "seconds": round(self.seconds, 3),
            "instance": str(self.instance),
            "queries": [{"action": a, "clause": c, "answer": answer} for (a, c), answer in self.asked.items()],
            "counterexamples_to_induction": [
                {"action": i.step.action.name, "clause": i.clause.name, "text": induction_lines(i)}
                for i in self.inductions
            ],
            "violation": self.run
            and {"breaks": list(self.run.broken), "story": self.story, "text": run_lines(self.run)},
        }


def break_it(
    mutant: Mutant, seed: int, seconds: float, tell: Callable[[str], None], search: float | None = None
) -> BrokenMutant:
    """Check again what the changed actions could violate.

    Args:
        seconds: time limit of each query.
        search: seconds for z3 to search for a violation, instead of using the known run.

    Raises:
        SearchError: a counterexample does not replay: a bug of zabcheck.
    """
    started = time.perf_counter()
    quorums = RUNS[mutant.name].quorums if mutant.name in RUNS else ("12", "13", "23")
    instance = Instance(tuple(frozenset(int(d) - 1 for d in q) for q in quorums))
    if mutant.of.over is not None:
        instance = replace(instance, attempts=3, histories=3, connections=2)
    theory, found = mutant.theory, BrokenMutant(mutant, instance)
    prover, finite = Prover(theory, seed, seconds), Search(theory, instance, seconds, seed)
    for action in theory.actions:
        if action.name not in mutant.actions:
            continue
        asked = list(prover.consecution(action))
        lemmas = [prover.ask(q, min(seconds, HELP)) for q in asked if q.kind == COVER]
        unproved = {o.query.clause for o in lemmas if o.answer is not SolverAnswer.PROVED}
        if unproved:
            asked = list(prover.consecution(action, unproved))  # an unproved lemma cannot be used
        queries = {q.clause: q for q in asked if q.kind == CONSECUTION}
        clauses = [c for c in theory.new if c.name in queries]
        tell(f"{action.name}: {len(clauses)} clauses")
        fails = {c.name: cti for c, _, cti in finite.inductions(action, clauses) if cti is not None}
        for clause in clauses:
            if clause.name in fails:
                found.inductions.append(fails[clause.name])
                answer = "fails"
            else:
                answer = "proved" if prover.ask(queries[clause.name]).answer is SolverAnswer.PROVED else "undecided"
            found.asked[action.name, clause.name] = answer
        for query in (q for q in asked if q.kind == DERIVED):
            guard = Clause(query.clause, theory.derived[action.name][query.clause], "a guard to be derived")
            refusal = finite.refusal(action, guard)[1]
            if refusal is not None:
                found.inductions.append(refusal)
                answer = "fails"
            else:
                answer = "proved" if prover.ask(query).answer is SolverAnswer.PROVED else "undecided"
            found.asked[action.name, query.clause] = answer
    violation(found, seed, search)
    found.seconds = time.perf_counter() - started
    return found


def violation(found: BrokenMutant, seed: int, search: float | None) -> None:
    """Add a run from the initial state that violates a property: the known one, or one that z3 finds."""
    theory = found.mutant.theory
    if search is not None:
        goal = Clause("a violation", disj(*(neg(p.formula) for p in theory.properties)), "")
        instance = replace(found.instance, counters=3)
        found.run = Search(theory, instance, search, seed).run(goal, found.mutant.within)[1]
        found.story = "found by bounded search"
    elif found.mutant.name in RUNS:
        told = RUNS[found.mutant.name]
        run, refused = take(theory, told), take(found.mutant.of, told)
        if isinstance(run, ProofRun) and run.broken:
            found.run, found.story = run, told.story
            found.refused = refused if isinstance(refused, Refused) else None


def text(found: BrokenMutant) -> str:
    """Return the result as text."""
    fails = [key for key, answer in found.asked.items() if answer == "fails"]
    open_ = [key for key, answer in found.asked.items() if answer == "undecided"]
    first = f"{fails[0][0]} violates {fails[0][1]!r}" if fails else "no failing query was found"
    broken = f"; a run from the initial state violates {', '.join(found.run.broken)}" if found.run else ""
    lines = [
        f"not proved: {found.mutant.name}: {first}{broken}",
        f"rule: {found.mutant.doc}",
        f"{len(found.asked)} queries of the changed actions in {found.seconds:.1f} s: {len(fails)} fail, "
        f"{len(open_)} undecided; all others are proved as before. Instance: {found.instance}",
        "",
    ]
    lines += [f"  {a:8}{c:50}{answer}" for (a, c), answer in found.asked.items() if answer != "proved"]
    if found.inductions:
        lines += ["", "Counterexample to induction (not a violation: the first state may be unreachable)"]
        lines += [f"  {line}" for line in induction_lines(found.inductions[0])]
    if found.run is not None:
        lines += ["", f"Violation of {', '.join(found.run.broken)}: {found.story}"]
        lines += [f"  {line}" for line in run_lines(found.run)]
        if found.refused is not None:
            where = f"step {found.refused.at}" if found.refused.at else "an axiom"
            lines.append(f"  The sound protocol refuses it: {where} ({found.refused.by})")
    else:
        lines += ["", "No reachable violation was found in the finite instance."]
    return "\n".join(lines)
