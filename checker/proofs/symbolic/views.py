"""The formulas of clauses in a state, in terms of the definitions that they use.

A clause uses definitions: the epoch of a source, its entries, whether a transaction may yet be chosen. In a state of
variables each of these, for each of its arguments, becomes a variable of its own, equal to its definition; so a clause
is a formula over few of them. After a step most of them are unchanged, though nothing in their terms shows it. Which of
them is found by supposing it of all and asking z3 for a state in which it is false, until there is none: the formula of
a clause in those is then literally the known one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, TypeAlias

from checker.proofs.symbolic.transition import Transition, without_error
from invariants.registry import Property
from zabspec.language.analysis import tree as t
from zabspec.proofs import symbolic_numbers as n
from zabspec.proofs.symbolic import Env, Value
from zabspec.proofs.symbolic_memory import SLOTS, Values
from zabspec.proofs.symbolic_statements import SymbolicProgram
from zabspec.proofs.symbolic_terms import Term, Truth, conjuncts, equal, ite, variable

View: TypeAlias = tuple[str, tuple[int, ...]]  # a definition, and its arguments besides the state


class Views:
    """The definitions that clauses use, of one state at a time.

    Args:
        transition: the one whose state they are of; its machine evaluates calls of them from now on.
        names: the namespace it was made of.
    """

    def __init__(self, transition: Transition, names: Mapping[str, Any]) -> None:
        self.transition = transition
        self.machine = SymbolicProgram(transition.typed, transition.layout)
        self.error = transition.layout.offset("error") << SLOTS
        self.before: dict[View, Value] = {}
        self.named: dict[Term, Term] = {}  # a definition of the state before -> the variable equal to it
        self.means: dict[Term, Term] = {}  # and back
        self.table: dict[View, Value] = {}
        self.uses: dict[View | str, set[View]] = {}  # the definitions that a definition, or a clause, is made of
        self.using: list[set[View]] = [set()]  # of those that are being read, the innermost last
        self.after: bool = False
        self.changed: set[View] = set()
        self.supposed: dict[View, Truth] = {}
        for name, function in transition.typed.functions.items():
            if self.is_view(function) and self.of_properties(names.get(name)):
                self.machine.hooks[name] = self.hook(name, function)

    @staticmethod
    def is_view(function: t.Function) -> bool:
        """Return whether a function computes a value from a state and numbers."""
        kinds = [kind for _, kind in function.params]
        scalar = function.returns in (t.INT, t.BOOL) or isinstance(function.returns, t.RecordType)
        return scalar and kinds[:1] == [t.STATE] and all(kind == t.INT for kind in kinds[1:])

    def of_properties(self, function: object) -> bool:
        """Return whether a function belongs to properties: of this project, or of the source that claims them."""
        protocol = self.transition.model.protocol
        own = (protocol.text.module.__name__,) if protocol.claims else ()
        return isinstance(function, FunctionType) and (
            function.__module__.startswith("invariants.") or function.__module__ in own
        )

    def hook(self, name: str, function: t.Function) -> Callable[..., Value]:
        def answer(env: Env, base: int, *args: n.Integer) -> Value:
            known = tuple(a for a in args if isinstance(a, int))
            if len(known) < len(args):
                return self.machine.run(function, [base, *args], env)
            view: View = (name, known)
            if view not in self.table:
                key = self.error + (base << SLOTS)
                noted = env.memory[key]
                self.machine.write(env, key, 0)  # an error of its own shows although there was one before it
                self.using.append({view})
                value = self.machine.run(function, [base, *args], env)
                self.uses[view] = self.using.pop()
                own = env.memory[key]
                self.machine.write(env, key, noted if own == 0 else ite(equal(noted, 0, 32), own, noted, 32))
                if own != 0:
                    self.using[-1] |= self.uses[view]
                    return value
                self.table[view] = self.kept(view, value, function.returns)
            self.using[-1] |= self.uses[view]
            return self.table[view]

        return answer

    def kept(self, view: View, value: Value, kind: t.AnyType) -> Value:
        """Return the variable that represents a definition from now on."""
        term = value.term if isinstance(value, n.Num) else value
        if not isinstance(term, Term):
            return value
        if not self.after:
            if term.op == "var" or (term.op == "not" and term.args[0].op == "var"):  # type: ignore[union-attr]
                return value
            if term not in self.named:
                name = f"{view[0]}({', '.join(map(str, view[1]))})"
                made = variable(name, term.width)
                self.named[term], self.means[made] = made, term
            return alike(value, self.named[term])
        if term in self.named:
            return alike(value, self.named[term])
        was = self.before.get(view)
        if was is None or view in self.changed:
            return value
        self.supposed[view] = same(value, was, kind)
        return was

    # --- clauses -------------------------------------------------------------------------------

    def of_state(self, clauses: list[Property]) -> list[list[Truth]]:
        """Return the conjuncts of each clause in the state before a step; False alone if no state satisfies it."""
        self.after, self.table = False, self.before
        out = []
        for c in clauses:
            value = self.holds(c, self.transition.state)
            found: list[Truth] = [] if value is not False else [False]
            for term in conjuncts(value) if value is not False else ():
                found += conjuncts(self.means[term]) if term in self.means else [term]
            out.append(found)
        return out

    def begin_after(self) -> None:
        """Begin with a state after a step, supposing that it leaves every definition unchanged."""
        self.after, self.table, self.changed, self.supposed = True, {}, set(), {}

    def suppose_changed(self, views: set[View]) -> None:
        """Suppose that the step changes these definitions; what is made of them is read again."""
        self.changed |= views
        for view in [v for v in self.table if self.uses[v] & views]:
            del self.table[view]
            self.supposed.pop(view, None)

    def holds(self, clause: Property, state: Values) -> Truth:
        """Return whether a state satisfies a clause, given what is `supposed`; reading past an end violates it."""
        value, (after,) = self.machine.on_states(clause.holds.__name__, [state], [])
        self.uses[clause.name], self.using = self.using[0], [set()]
        return without_error(value, after[self.error])

    @property
    def definitions(self) -> list[Truth]:
        """Return the equations of the variables with their definitions."""
        return [equal(made, term, made.width) for made, term in self.means.items()]


def alike(value: Value, term: Term) -> Value:
    """Return a term in place of a value's."""
    return n.Num(term, value.lo, value.hi) if isinstance(value, n.Num) else term


def same(a: Value, b: Value, kind: t.AnyType) -> Truth:
    """Whether two values of a type are equal."""
    if isinstance(kind, t.RecordType):
        return equal(a, b, kind.record.bits)
    return equal(a, b, 0) if kind == t.BOOL else n.same(a, b)
