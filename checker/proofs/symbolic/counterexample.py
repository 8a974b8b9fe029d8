"""Describe a counterexample to induction: the relevant parts of two states and one step.

They are what the clause read when it became false, and what the step read to cause that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import getitem
from typing import Any

from checker.proofs.symbolic.induction import Induction, InductionFinding, describe
from invariants.registry import STEP
from traces.record.values import state_json
from zabspec.language.layout.kinds import Kind, MessageUnion, Seq
from zabspec.language.layout.notation import process_name, value_text
from zabspec.language.layout.schema import NODE, Field, Role
from zabspec.language.python.reference import RangeError, StateView
from zabspec.proofs.symbolic_memory import SLOTS, values_of
from zabspec.proofs.symbolic_terms import Term, Truth, conjuncts, evaluate


def rows(induction: Induction, finding: InductionFinding) -> list[tuple[str, str, str]]:
    """Return the relevant rows of a counterexample: a field, its value before the step and after it."""
    layout = induction.transition.layout
    try:
        before, after = (state_json(StateView(layout, data)) for data in (finding.before, finding.after))
    except RangeError:  # the step leaves a range, beyond which a state has no values to show
        return []
    keys = matters(induction, finding)
    out = []
    for f in layout.schema.fields:
        if f.role in (Role.SCRATCH, Role.BUDGET) and f.name != "abcasts":
            continue
        for index, at in layout.elements(f.name):
            if any(at <= key >> SLOTS < at + max(1, f.kind.size) for key in keys):
                was, now = (text(f.kind, reduce(getitem, index, x[f.name])) for x in (before, after))
                out.append((place(f, index), was, now))
    return out


def matters(induction: Induction, finding: InductionFinding) -> set[int]:
    """Return the cells that the clause, the step and its guard read."""
    transition = induction.transition
    clause = next(c for c in (*induction.every, *induction.targets) if c.name == finding.clause)
    old, new = (values_of(transition.layout, data) for data in (finding.before, finding.after))
    variables = transition.keys
    keys: set[int] = set()
    if clause.of != STEP:
        value = transition.holds(clause, transition.state)
        keys |= looked_at(value, {v: new[key] for v, key in variables.items()}, variables)
    if not finding.move:
        return keys
    action = induction.by_word(finding.word)
    known = {v: old[key] for v, key in variables.items()}
    changed = {k for k in action.changes if old[k] != new[k]}
    before = looked_at(action.guard, known, variables)
    for key in (keys & action.changes) | changed:
        before |= looked_at(action.after[key], known, variables)
    return keys | changed | before


def looked_at(root: Truth | int, known: dict[Term, int | bool], variables: dict[Term, int]) -> set[int]:
    """Return cells that suffice to determine the value of a term."""
    if not isinstance(root, Term):
        return set()
    values = dict(known)
    evaluate(root, values)
    if root.width == 0 and not values[root]:
        # one of the conjuncts that are false
        root = next(t for t in conjuncts(root) if not evaluate(t, values))
    found: set[int] = set()
    seen: set[Term] = set()
    stack = [root]
    while stack:
        t = stack.pop()
        if t in seen:
            continue
        seen.add(t)
        if t in variables:
            found.add(variables[t])
        stack += decisive(t, values)
    return found


def decisive(t: Term, values: dict[Term, int | bool]) -> Iterator[Term]:
    """Yield the arguments that determine the value of a term."""
    args = [a for a in t.args if isinstance(a, Term)]
    if t.op in ("and", "or") and bool(values[t]) == (t.op == "or"):
        yield min((a for a in args if values[a] == values[t]), key=lambda a: a.serial)
    elif t.op == "ite":
        test, then, other = t.args
        assert isinstance(test, Term)
        yield test
        way = then if values[test] else other
        if isinstance(way, Term):
            yield way
    else:
        yield from args


# --- texts -------------------------------------------------------------------------------------


def step_text(finding: InductionFinding) -> str:
    """Return the step of a counterexample as text."""
    return finding.move or describe(finding.word)


def place(f: Field, index: Iterable[int]) -> str:
    """Return an element of a field as text: `link[p0][p1]`."""
    axes = zip(f.axes, index, strict=True)
    return f.name + "".join(f"[{process_name(k) if axis == NODE else k}]" for axis, k in axes)


def text(kind: Kind, value: Any) -> str:
    """Return a value of a field as text; a message of a bag with source and target, `VOTE(yes=true) p1->p0`."""
    if isinstance(kind, Seq) and isinstance(kind.element, MessageUnion) and "source" in kind.element.envelope:
        ways = (f"{process_name(m['source'])}->{process_name(m['target'])}" for m in value)
        return f"[{', '.join(f'{value_text(kind.element, m)} {way}' for m, way in zip(value, ways, strict=True))}]"
    return value_text(kind, value)
