"""Describe a step that does not refine, and what fails in it."""

from __future__ import annotations

from dataclasses import dataclass

from checker.explore.compiled import Compiled
from checker.explore.result import Violation
from checker.proofs.prove.stepping import falsified
from checker.proofs.refine.model import CLAUSE, REFINES, RefinedModel
from checker.proofs.refine.table import attempt_of, instance_of, named, table_of
from traces.explain.text import to_text
from traces.record.runner import build_trace
from traces.record.trace import Trace
from zabspec.language import StateView
from zabspec.model import Model
from zabspec.proofs.abstract.logic import ATTEMPT, HISTORY, PROCESS, QUORUM, SORT_OF


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
