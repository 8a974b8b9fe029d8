"""The queries of the unbounded proof, one for each thing to be shown, and how each is checked.

Initiation: the axioms and the beginning imply each clause. Consecution: for each action and clause, the axioms, the
invariant before and the action's guards imply the clause after; if the action changes no symbol of the clause there is
no query. Implied properties: the invariant implies each. If a theory extends another, only its own clauses are queried,
and that the guards it omits follow. A query is first checked with the hypotheses it is known to need (`needs.txt`),
which is fast, and if that does not prove it, with all of them: omitting hypotheses can only make a proof fail.

The choice of the initial history is proved for each value of one more variable, the attempt under which the process
whose history is taken had set its f.a, and by three lemmas about it. That there is such an attempt is a lemma too.
All are checked like the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from checker.proofs.prove.meaning import After, meaning
from checker.proofs.prove.needs import NEEDS
from checker.proofs.symbolic.smt2 import about
from checker.proofs.symbolic.solver import Result, Solver, SolverAnswer
from zabspec.proofs.abstract.invariant import Clause
from zabspec.proofs.abstract.logic import (
    SORTS,
    Expression,
    Quantified,
    Symbol,
    Variable,
    forall,
    implies,
    mentions,
    parameters_of,
)
from zabspec.proofs.abstract.protocol import AbstractAction
from zabspec.proofs.abstract.theory import Theory
from zabspec.proofs.abstract.vocabulary import (
    accepted,
    ack_hist,
    ack_ld,
    acked_of_epoch,
    ep,
    epoch,
    initial,
    le,
    lt,
    member,
)

# --- the world without bounds: sorts are uninterpreted sets, formulas are z3's first-order logic ---


class Unbounded:
    """A world and, at once, an arbitrary state of it: every symbol is one of z3's."""

    def __init__(self) -> None:
        self.world = self
        self.sorts = {sort: z3.DeclareSort(sort.name) for sort in SORTS}
        self.symbols: dict[Symbol, z3.FuncDeclRef] = {}

    def value(self, symbol: Symbol, arguments: Sequence[Any]) -> Any:
        """Return the symbol applied to terms."""
        declared = self.symbols.get(symbol)
        if declared is None:
            result = z3.BoolSort() if symbol.result is None else self.sorts[symbol.result]
            declared = z3.Function(symbol.name, *(self.sorts[s] for s in symbol.arguments), result)
            self.symbols[symbol] = declared
        return declared(*arguments)

    def formula(self, expression: Expression) -> z3.BoolRef:
        """Return a closed formula in z3's form, in the arbitrary state."""
        result: z3.BoolRef = meaning(expression, {}, self)
        return result

    def fresh(self, variable: Variable) -> z3.ExprRef:
        """Return an arbitrary element."""
        return z3.FreshConst(self.sorts[variable.sort], variable.name)

    def every(self, members: Iterable[Any]) -> Any:
        return z3.And(*members)

    def some(self, members: Iterable[Any]) -> Any:
        return z3.Or(*members)

    def neg(self, value: Any) -> Any:
        return z3.Not(value)

    def equal(self, left: Any, right: Any) -> Any:
        return left == right

    def choose(self, test: Any, then: Any, otherwise: Any) -> Any:
        return z3.If(test, then, otherwise)

    def quantified(self, every: bool, variables: Sequence[Variable], body: Callable[[Sequence[Any]], Any]) -> Any:
        bound = [z3.Const(v.name, self.sorts[v.sort]) for v in variables]
        return (z3.ForAll if every else z3.Exists)(bound, body(bound))


INITIATION, CONSECUTION, IMPLIED, COVER, DERIVED = "initiation", "consecution", "implied", "lemma", "derived"

# An action that is proved by cases: one more variable, and what holds of it in every case.
CASES: Mapping[str, Callable[..., Expression]] = {"l.1.2": lambda d, q, p, h, c: acked_of_epoch(p, d, c)}

SOME_CASE = "one of the cases holds"

# What follows from the guards, the invariant and the case, and then helps with every clause.
LEMMAS: Mapping[str, Mapping[str, Callable[..., Expression]]] = {
    "l.1.2": {
        "nobody of Q has a later f.a": lambda d, q, p, h, c: forall(
            lambda f, b: implies(member(f, q), ack_ld(f, b), lt(ep(b), ep(d)), le(ep(b), ep(c)))
        ),
        "Q accepted nothing else of its epoch": lambda d, q, p, h, c: forall(
            lambda f, x: implies(member(f, q), accepted(f, c, x), lt(ep(c), ep(d)), ack_hist(p, d, x))
        ),
        "what is older than that epoch was in its initial history": lambda d, q, p, h, c: forall(
            lambda x: implies(ack_hist(p, d, x), lt(epoch(x), ep(c)), initial(c, x))
        ),
    }
}


@dataclass(frozen=True)
class Query:
    """What is to be shown: `clause` (by name), after `action` if it is a consecution.

    `fixed` hypotheses (guards, the case) are always used; `lemmas` may be, like the invariant. `goal` is
    the negation of what is to be shown, so that a proof is that there is no model.
    """

    kind: str
    action: str
    clause: str
    fixed: tuple[z3.BoolRef, ...]
    goal: z3.BoolRef
    lemmas: Mapping[str, z3.BoolRef] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Its name in the table of needs."""
        return f"{self.kind} {self.action} | {self.clause}".replace("  ", " ")


@dataclass(frozen=True)
class Outcome:
    """A query's answer: the seconds in all, the number of hypotheses used, and whether all were used."""

    query: Query
    answer: SolverAnswer
    seconds: float
    hypotheses: int
    fallback: bool
    reason: str = ""


@dataclass
class Prover:
    """Checks the queries of a theory.

    Attributes:
        theory: axioms, beginning, actions, clauses, properties.
        seed: of the solver.
        seconds: time limit of each query.
    """

    theory: Theory
    seed: int = 0
    seconds: float = 10.0
    world: Unbounded = field(default_factory=Unbounded)

    def __post_init__(self) -> None:
        self.axioms = {name: self.world.formula(f) for name, f in self.theory.axioms.items()}
        self.beginning = tuple(self.world.formula(f) for f in self.theory.beginning.values())
        self.invariant = {c.name: self.world.formula(c.formula) for c in self.theory.clauses}

    # --- what is to be shown ---

    def queries(self) -> Iterator[Query]:
        """Yield all queries, in the order of the report."""
        yield from self.initiation()
        for action in self.theory.actions:
            yield from self.consecution(action)
        if self.theory.over is None:
            yield from self.implied()

    def initiation(self) -> Iterator[Query]:
        """Yield the queries that every clause holds at the beginning."""
        for clause in self.theory.new:
            yield Query(INITIATION, "", clause.name, self.beginning, z3.Not(self.invariant[clause.name]))

    def implied(self) -> Iterator[Query]:
        """Yield the queries that the invariant implies every property."""
        for p in self.theory.properties:
            yield Query(IMPLIED, "", p.name, (), z3.Not(self.world.formula(p.formula)))

    def consecution(self, action: AbstractAction, without: Collection[str] = ()) -> Iterator[Query]:
        """Yield the queries of an action: its lemmas, then every clause that it could violate, after it.

        Args:
            without: the names of lemmas to leave out.
        """
        bound = {v: self.world.fresh(v) for v in action.parameters}
        guards = tuple(meaning(g, bound, self.world) for g in action.guards.values())
        after = After(self.world, action, [bound[v] for v in action.parameters])
        cases = CASES.get(action.name) if self.theory.over is None else None
        known: dict[str, z3.BoolRef] = {}
        if cases is not None and SOME_CASE not in without:
            extra = parameters_of(cases)[-1]
            case = cases(*action.parameters, extra)
            none = z3.Not(meaning(exists_one(extra, case), bound, self.world))
            yield Query(COVER, action.name, SOME_CASE, guards, none)
            bound[extra] = self.world.fresh(extra)
            guards = (*guards, meaning(case, bound, self.world))
            for name, body in LEMMAS.get(action.name, {}).items():
                if name in without:
                    continue
                known[name] = meaning(body(*action.parameters, extra), bound, self.world)
                yield Query(COVER, action.name, name, guards, z3.Not(known[name]))
        for clause in self.theory.new:
            if self.touches(action, clause):
                goal = z3.Not(meaning(clause.formula, {}, after))
                yield Query(CONSECUTION, action.name, clause.name, guards, goal, known)
        for name, guard in self.theory.derived.get(action.name, {}).items():
            yield Query(DERIVED, action.name, name, guards, z3.Not(meaning(guard, bound, self.world)))

    @staticmethod
    def touches(action: AbstractAction, clause: Clause) -> bool:
        """Return whether the action changes a symbol of the clause."""
        return bool(mentions(clause.formula) & action.updates.keys())

    # --- asking ---

    def hypotheses(self, query: Query, names: Sequence[str] | None) -> dict[str, z3.BoolRef]:
        """Return axioms and clauses by name; all of them if no names are given. Initiation has no invariant yet."""
        everything = self.axioms if query.kind == INITIATION else {**self.axioms, **self.invariant, **query.lemmas}
        return dict(everything) if names is None else {n: everything[n] for n in names if n in everything}

    def ask(self, query: Query, seconds: float | None = None) -> Outcome:
        """Check a query with the needed hypotheses, and, unless that proves it, with all.

        A counterexample counts only if every hypothesis was used. `seconds`: instead of the prover's limit.
        """
        limit = self.seconds if seconds is None else seconds
        with about("" if self.theory.over is None else "connections", query.kind, query.action, query.clause):
            return self.ask_named(query, limit)

    def ask_named(self, query: Query, limit: float) -> Outcome:
        """Check a query as `ask` does, under the name with which its solver queries are saved."""
        spent, names = 0.0, NEEDS.get(query.key)
        if names is not None:
            some = self.hypotheses(query, names)
            result = self.check(query, some, limit)
            spent = result.seconds
            if result.proved:
                return Outcome(query, result.answer, spent, len(some), False)
        everything = self.hypotheses(query, None)
        with about("all hypotheses" if names is not None else ""):
            result = self.check(query, everything, limit)
        return Outcome(query, result.answer, spent + result.seconds, len(everything), True, result.reason)

    def check(self, query: Query, hypotheses: Mapping[str, z3.BoolRef], seconds: float, core: bool = False) -> Result:
        """Call the solver once; with `core`, a proof names the hypotheses it used."""
        solver = Solver(seconds=seconds, seed=self.seed, simple=True)
        for name, formula in hypotheses.items():
            if core:
                solver.track(name, formula)
            else:
                solver.add(formula)
        solver.add(*query.fixed, query.goal)
        return solver.check()


def exists_one(variable: Variable, body: Expression) -> Expression:
    """Return the formula that some value of the variable makes the body true."""
    return Quantified(False, (variable,), body)
