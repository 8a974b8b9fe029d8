"""Describe a step that does not refine, and what fails in it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from checker.explore.compiled import Compiled
from checker.explore.result import Violation
from checker.proofs.prove.finite import Finite, Instance, Table
from checker.proofs.prove.stepping import falsified
from checker.proofs.refine.model import CLAUSE, REFINES, RefinedModel
from checker.proofs.refine.text import KEPT
from traces.explain.names import process_name
from traces.explain.text import to_text
from traces.record.runner import build_trace
from traces.record.trace import Trace
from zabspec.language import StateView
from zabspec.model import Model
from zabspec.proofs.abstract.logic import ATTEMPT, COUNTER, EPOCH, HISTORY, PROCESS, QUORUM, SORT_OF, Sort, Symbol
from zabspec.proofs.abstract.vocabulary import counter, ep, epoch, leads, prefix
from zabspec.quorums import system_of

# --- the abstract part of a refined state as a finite instance: the input of the proof's own reader of formulas ---
#
# It shares no code with what the explorer runs: tests compare the generated functions with it, and a counterexample
# uses it to name the elements for which a clause fails.


def instance_of(model: RefinedModel) -> Instance:
    """Return the finite instance that the configuration bounds. Attempt 0 is the beginning.

    Then each process's epochs.
    """
    c = model.configuration
    n, txns = c.nodes, c.txns
    sets = [frozenset(p for p in range(n) if mask >> p & 1) for mask in range(1 << n)]
    if c.quorums:
        quorums = tuple(sets[mask] for mask in system_of(c.quorums).quorums)
    else:
        quorums = tuple(q for q in sets if len(q) >= c.smallest_quorum)
    return Instance(
        quorums=quorums,
        processes=n,
        attempts=1 + n * model.epochs,
        histories=txns + 1,
        epochs=model.epochs + 1,
        counters=txns + 1,
    )


def attempt_of(model: RefinedModel, c: int) -> tuple[int, int]:
    """Return the process and the epoch of an attempt's number."""
    return (0, 0) if c == 0 else ((c - 1) // model.epochs, (c - 1) % model.epochs + 1)


def table_of(model: RefinedModel, s: StateView) -> Table:
    """Return the abstract state as a table."""
    instance = instance_of(model)
    values: dict[Symbol, dict[tuple[int, ...], Any]] = {
        symbol: {place: entry(model, s, symbol, place) for place in instance.tuples(symbol.arguments)}
        for symbol in KEPT
    }
    attempts, histories = range(instance.attempts), range(instance.histories)
    values[ep] = {(c,): attempt_of(model, c)[1] for c in attempts}
    values[leads] = {
        (p, c): c > 0 and attempt_of(model, c)[0] == p for p, c in product(range(instance.processes), attempts)
    }
    values[epoch] = {(x,): s.abcast_txn[x - 1].epoch if x else 0 for x in histories}
    values[counter] = {(x,): s.abcast_txn[x - 1].counter if x else 0 for x in histories}
    return Table(Finite(instance), values)


def entry(model: RefinedModel, s: StateView, symbol: Symbol, arguments: tuple[int, ...]) -> Any:
    """Return one value, read at its location according to the shape of its symbol."""
    pairs = list(zip(symbol.arguments, arguments, strict=True))
    if symbol is prefix:
        pairs.reverse()
    attempts = [attempt_of(model, k) for sort, k in pairs if sort == ATTEMPT]
    index = [l for l, _ in attempts] + [k for sort, k in pairs if sort == PROCESS]
    index += [e for _, e in attempts] + [k for sort, k in pairs if sort not in (ATTEMPT, PROCESS)]
    at = getattr(s, f"a_{symbol.name}")
    for k in index[:-1]:
        at = at[k]
    return index[-1] in at if symbol.result is None else at[index[-1]]


def named(model: RefinedModel, sort: Sort, k: int) -> str:
    """Return the name of an element for messages."""
    if sort == ATTEMPT:
        l, e = attempt_of(model, k)
        return "the beginning" if k == 0 else f"{process_name(l)}'s attempt at epoch {e}"
    if sort == QUORUM:
        return "{" + ", ".join(process_name(p) for p in sorted(instance_of(model).quorums[k])) + "}"
    if sort == HISTORY:
        return "the empty history" if k == 0 else f"t{k}"
    return {PROCESS: process_name(k), EPOCH: f"epoch {k}", COUNTER: f"counter {k}"}[sort]


@dataclass(frozen=True)
class Failure:
    """A step that fails the refinement check, and the run that leads to it.

    Attributes:
        name: the property: `refines`, or a clause.
        depth: the number of the step.
        label: the name of the step in the executable protocol.
        action: the abstract action it maps to, with its arguments; empty if none.
        broken: the guard, the disagreement of the states, or the clause with the elements for which it fails.
        trace: the run, as an ordinary trace of the executable protocol.
    """

    name: str
    depth: int
    label: str
    action: str
    broken: str
    trace: Trace

    @property
    def sentence(self) -> str:
        """The sentence that says what fails."""
        mapped = self.action or "no action"
        return f"step {self.depth} ({self.label}) is {mapped} of the abstract protocol: {self.broken}"

    @property
    def run(self) -> str:
        """The run, step by step."""
        return to_text(self.trace)


def failure(code: Compiled, found: Violation) -> Failure:
    """Replay the steps of a violation, and describe what its last one does."""
    model = code.model
    assert isinstance(model, RefinedModel)
    data = model.program.initial().key()
    s = code.view(data)
    for word in found.schedule:
        s = code.view(dict(code.next_states(data))[word])
        data = s.key()
    trace = build_trace(Model(model.configuration), None, found.schedule)
    name = found.property.name
    broken = fault_words(model, s) if name == REFINES else clause_words(model, s, name)
    label = trace.steps[-1].label if trace.steps else "the beginning"
    return Failure(name, found.depth, label, action_words(model, s), broken, trace)


def action_words(model: RefinedModel, s: StateView) -> str:
    """Return the last action of the step, up to its fault, and its arguments, in words."""
    if s.action == 0:
        return ""
    action = model.theory.actions[s.action - 1]
    attempts = [attempt_of(model, c) for c in range(instance_of(model).attempts)]
    at = (s.action_l, s.action_e) if s.action_e else (0, 0)
    quorum = frozenset(p for p in range(model.configuration.nodes) if s.action_q >> p & 1)
    words = {
        PROCESS: named(model, PROCESS, s.action_p),
        ATTEMPT: named(model, ATTEMPT, attempts.index(at)),
        HISTORY: named(model, HISTORY, s.action_h),
        QUORUM: "{" + ", ".join(named(model, PROCESS, p) for p in sorted(quorum)) + "}",
    }
    return f"{action.name}({', '.join(words[v.sort] for v in action.parameters)})"


def fault_words(model: RefinedModel, s: StateView) -> str:
    """Return the guard that does not hold, or the disagreement of the states, in words."""
    fault = model.fault(s.fault)
    if fault.action:
        return f"its guard `{fault.what}` does not hold"
    return f"after it the two states differ in {fault.what}"


def clause_words(model: RefinedModel, s: StateView, name: str) -> str:
    """Return the clause that fails, and for which elements, in words."""
    clauses = {CLAUSE + c.name: c.formula for c in model.clauses}
    where = falsified(clauses[name], table_of(model, s))
    at = ", ".join(f"{v} = {named(model, SORT_OF[v[0]], k)}" for v, k in (where or {}).items())
    return f"after it the clause `{name.removeprefix(CLAUSE)}` does not hold" + (f" ({at})" if at else "")
