"""Bounded search in a finite instance: runs from the beginning to a goal, and counterexamples to induction.

Whatever z3 finds is then replayed with plain truth values (`stepping.py`), guard by guard, before it is reported. A
step that several processes may take in any order is taken by a set of them at once in the search, and one after the
other in the run that is reported.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checker.proofs.prove.circuit import Bit
from checker.proofs.prove.finite import Choice, Finite, Instance, Table
from checker.proofs.prove.meaning import After, meaning
from checker.proofs.prove.stepping import (
    Induction,
    ProofRun,
    SearchError,
    Step,
    beginning,
    falsified,
    may,
    shortened,
    step,
    truth,
)
from checker.proofs.symbolic.smt2 import about
from checker.proofs.symbolic.solver import Result, Solver
from zabspec.proofs.abstract.invariant import Clause
from zabspec.proofs.abstract.logic import ATTEMPT, HISTORY, PROCESS, QUORUM, Expression, Sort, Symbol, mentions
from zabspec.proofs.abstract.protocol import AbstractAction
from zabspec.proofs.abstract.theory import Theory
from zabspec.proofs.abstract.vocabulary import counter, ep, epoch, leads, prefix

CHOSEN = (leads, ep, prefix, epoch, counter)  # rigid, and left to the search
SORTS = (QUORUM, ATTEMPT, HISTORY)  # of parameters beside the process; an action has at most one of each

Values = Mapping[Symbol, dict[tuple[int, ...], Any]]


@dataclass(frozen=True)
class StepTaken:
    """The choice of a step: the action, the processes that take it, other parameters."""

    acts: dict[str, Bit]
    sets: tuple[Bit, ...]
    others: dict[Sort, Choice]


class Search:
    """Searches one theory in one finite instance.

    Args:
        seconds: time limit of each search.
        seed: of the solver.
    """

    def __init__(self, theory: Theory, instance: Instance, seconds: float = 60.0, seed: int = 0) -> None:
        self.theory = theory
        self.instance = instance
        self.seconds = seconds
        self.seed = seed

    def fresh(self) -> tuple[Finite, Values]:
        """Return a world with the axioms, and the rigid symbols, which no action changes.

        Histories are numbered so that a prefix comes first, attempts by their epochs: no generality is
        lost, and fewer renamings are searched.
        """
        world = Finite(self.instance)
        values = table(world, (*CHOSEN, *self.theory.rigid))
        for x, y in values[prefix]:
            if x in (0, y) or x > y:
                values[prefix][x, y] = x in (0, y)
        rigid = Table(world, dict(values))
        for formula in self.theory.axioms.values():
            world.circuit.demand(meaning(formula, {}, rigid))
        for c in range(1, self.instance.attempts):
            world.circuit.demand(world.neg(values[ep][(c,)].conditions[0]))
            if c > 1:
                for later in range(self.instance.epochs):
                    for earlier in range(later):
                        mine, previous = values[ep][(c,)].conditions[earlier], values[ep][(c - 1,)].conditions[later]
                        world.circuit.demand_some([world.neg(mine), world.neg(previous)])
        return world, values

    def solver(self, world: Finite) -> Solver:
        """Return a solver with all constraints of the world."""
        solver = Solver(seconds=self.seconds, seed=self.seed, logic="QF_FD")
        world.circuit.load(solver)
        return solver

    # --- counterexamples to induction ---

    def inductions(
        self, action: AbstractAction, clauses: Sequence[Clause]
    ) -> Iterator[tuple[Clause, Result, Induction | None]]:
        """Return for each clause a state with the whole invariant from which the action violates it, in this instance.

        Raises:
            SearchError: the state found is not such a state.
        """
        world, values, before, arguments = self.about_to(action)
        after = After(before, action, arguments)
        broken = [world.neg(meaning(c.formula, {}, after)) for c in clauses]
        solver = self.solver(world)
        for clause, bit in zip(clauses, broken, strict=True):
            if bit is False:
                continue
            with about("broken by", action.name, clause.name):
                result = solver.check(*([] if bit is True else [solver.bit(bit)]))
            if result.model is None:
                yield clause, result, None
                continue
            bits = solver.bits(result.model)
            seen, taken = read(bits, values, world), Step(action, tuple(chosen(bits, a) for a in arguments))
            whole = may(seen, taken) and all(truth(c.formula, seen) for c in self.theory.clauses)
            then = step(seen, taken)
            where = falsified(clause.formula, then)
            if where is None or not whole:
                raise SearchError(f"the counterexample to induction of {clause.name!r} is not confirmed")
            yield clause, result, Induction(clause, taken, seen, then, where)

    def about_to(self, action: AbstractAction) -> tuple[Finite, Values, Table, list[Any]]:
        """Return a world, a state in it with the whole invariant, and arguments with which the action is enabled."""
        world, rigid = self.fresh()
        values = {**rigid, **table(world, self.theory.state)}
        before = Table(world, values)
        for c in self.theory.clauses:
            world.circuit.demand(meaning(c.formula, {}, before))
        arguments = [unknown(world, v.sort) for v in action.parameters]
        world.circuit.demand(meaning(action.guard, dict(zip(action.parameters, arguments, strict=True)), before))
        return world, values, before, arguments

    def refusal(self, action: AbstractAction, guard: Clause) -> tuple[Result, Induction | None]:
        """Return a state with the whole invariant in which the action is enabled and the guard fails, if there is one.

        The guard is over the action's parameters.

        Raises:
            SearchError: the state found is not such a state.
        """
        world, values, before, arguments = self.about_to(action)
        bound = dict(zip(action.parameters, arguments, strict=True))
        world.circuit.demand(world.neg(meaning(guard.formula, bound, before)))
        solver = self.solver(world)
        with about("without", guard.name, action.name):
            result = solver.check()
        if result.model is None:
            return result, None
        bits = solver.bits(result.model)
        seen, taken = read(bits, values, world), Step(action, tuple(chosen(bits, a) for a in arguments))
        bound = dict(zip(action.parameters, taken.arguments, strict=True))
        whole = may(seen, taken) and all(truth(c.formula, seen) for c in self.theory.clauses)
        if not whole or meaning(guard.formula, bound, seen) is not False:
            raise SearchError(f"the state in which {guard.name!r} fails is not confirmed")
        return result, Induction(guard, taken, seen, step(seen, taken), {})

    # --- runs ---

    def run(self, goal: Clause, most: int) -> tuple[Result, ProofRun | None]:
        """Search for a run of at most `most` steps, sets of processes at once, from the beginning to the goal.

        Raises:
            SearchError: the run found does not replay.
        """
        started = time.perf_counter()
        world, rigid = self.fresh()
        symbols = self.relevant(goal.formula)
        unrolled = Unrolled(self.theory, world, rigid, symbols)
        for symbol, formula in self.theory.beginning.items():
            if symbol in symbols:
                world.circuit.demand(meaning(formula, {}, unrolled.states[0]))
        for _ in range(most - 1):
            unrolled.another()
        world.circuit.demand(meaning(goal.formula, {}, unrolled.states[-1]))
        solver = self.solver(world)
        with about("run of", most, "steps to", goal.name):
            result = solver.check(seconds=max(0.1, self.seconds - (time.perf_counter() - started)))
        if result.model is None:
            return result, None
        bits = solver.bits(result.model)
        steps = [s for taken_step in unrolled.steps_taken for s in self.taken(bits, taken_step)]
        return result, shortened(self.theory, beginning(self.theory, read(bits, rigid, world)), steps, goal.formula)

    def relevant(self, goal: Expression) -> tuple[Symbol, ...]:
        """Return the symbols of the goal, and those that determine their values."""
        wanted = mentions(goal)
        for a in self.theory.actions:
            wanted |= mentions(a.guard)
        while True:
            more = wanted
            for a in self.theory.actions:
                for symbol, definition in a.updates.items():
                    if symbol in wanted:
                        more |= mentions(definition.body)
            if more == wanted:
                return tuple(s for s in self.theory.state if s in wanted)
            wanted = more

    def taken(self, bits: frozenset[int], taken_step: StepTaken) -> list[Step]:
        """Return the steps that were taken at once, one after the other."""
        for a in self.theory.actions:
            if taken_step.acts[a.name] in bits:
                ways = [p for p, bit in enumerate(taken_step.sets) if bit in bits]
                others = {sort: chosen(bits, value) for sort, value in taken_step.others.items()}
                return [
                    Step(a, tuple(p if v.sort == PROCESS else others[v.sort] for v in a.parameters))
                    for p in ways[: len(ways) if a.each else 1]
                ]
        return []


class Unrolled:
    """Consecutive steps. The first is encoded; the clauses of every further one are those of the first, shifted.

    Shifting renumbers their variables.
    """

    def __init__(self, theory: Theory, world: Finite, rigid: Values, symbols: Sequence[Symbol]) -> None:
        self.theory, self.world, self.symbols, self.rigid = theory, world, symbols, rigid
        circuit = world.circuit
        self.start = circuit.variables  # rigid variables are below
        first = self.state()
        self.size = circuit.variables - self.start  # of a state
        self.written = len(circuit.clauses)
        taken_step = self.taken_step()
        self.offset = circuit.variables - self.start  # from a state to the one after it, in the first step
        self.states, self.steps_taken = [first, self.state()], [taken_step]
        self.relate(first, taken_step, self.states[1])
        self.block = circuit.variables - self.start - self.size  # variables that one more step takes
        self.clauses = circuit.clauses[self.written :]

    def state(self) -> Table:
        """Return an unconstrained state."""
        return Table(self.world, {**self.rigid, **table(self.world, self.symbols)})

    def taken_step(self) -> StepTaken:
        """Return a choice of at most one step, otherwise unconstrained."""
        circuit = self.world.circuit
        acts = {a.name: circuit.variable() for a in self.theory.actions}
        sets = tuple(circuit.variable() for _ in range(self.world.instance.processes))
        at_most_one(self.world, list(acts.values()))
        circuit.demand_some(sets)
        for a in self.theory.actions:
            if not a.each:
                at_most_one(self.world, sets, acts[a.name])
        return StepTaken(acts, sets, {s: unknown(self.world, s) for s in SORTS})

    def another(self) -> None:
        """Add one more step."""
        circuit, (start, size) = self.world.circuit, (self.start, self.size)
        base = circuit.variables - start - size  # from the first step's own variables to this one's
        last = 0 if len(self.steps_taken) == 1 else base - self.block
        now = self.offset + last  # from the first state to this step's first

        def moved(literal: int) -> int:
            v = abs(literal)
            there = v if v <= start else v + now if v <= start + size else v + base
            return there if literal > 0 else -there

        circuit.variables += self.block
        circuit.clauses.extend([tuple([moved(v) for v in clause]) for clause in self.clauses])
        taken_step, then = self.steps_taken[0], self.states[1]
        self.steps_taken.append(
            StepTaken(
                {name: Bit(moved(bit)) for name, bit in taken_step.acts.items()},
                tuple(Bit(moved(bit)) for bit in taken_step.sets),
                {s: shifted(c, moved) for s, c in taken_step.others.items()},
            )
        )
        values = {
            symbol: {place: shifted(v, moved) for place, v in then.values[symbol].items()} for symbol in self.symbols
        }
        self.states.append(Table(self.world, {**self.rigid, **values}))

    def relate(self, before: Table, taken_step: StepTaken, then: Table) -> None:
        """Add the constraints between two states and the step between them."""
        world, demand_some = self.world, self.world.circuit.demand_some
        changes: dict[tuple[Symbol, tuple[int, ...]], list[tuple[Any, Any]]] = {}
        for a in self.theory.actions:
            for p, (when, arguments) in enumerate(self.ways(a, taken_step)):
                guard = meaning(a.guard, dict(zip(a.parameters, arguments, strict=True)), before)
                demand_some([world.neg(when), guard])
                after = After(before, a, arguments)
                for symbol in (s for s in a.updates if s in self.symbols):
                    for place in world.instance.tuples(symbol.arguments):
                        if not a.each or place[0] == p:
                            changes.setdefault((symbol, place), []).append((when, after.value(symbol, place)))
        for symbol in self.symbols:
            for place, new in then.values[symbol].items():
                ways = changes.get((symbol, place), [])
                for when, value in ways:
                    demand_some([world.neg(when), world.equal(new, value)])
                demand_some([*(when for when, _ in ways), world.equal(new, before.entry(symbol, place))])

    def ways(self, a: AbstractAction, taken_step: StepTaken) -> list[tuple[Any, list[Any]]]:
        """Return when an action is taken, and its arguments: once for each process if several may take it at once."""
        act = taken_step.acts[a.name]
        others: dict[Sort, Any] = {PROCESS: Choice(taken_step.sets), **taken_step.others}
        if not a.each:
            return [(act, [others[v.sort] for v in a.parameters])]
        return [
            (self.world.every([act, bit]), [p if v.name == a.each else others[v.sort] for v in a.parameters])
            for p, bit in enumerate(taken_step.sets)
        ]


# --- variables ---------------------------------------------------------------------------------


def table(world: Finite, symbols: Iterable[Symbol]) -> dict[Symbol, dict[tuple[int, ...], Any]]:
    """Return new variables for every symbol and arguments."""
    return {
        symbol: {place: unknown(world, symbol.result) for place in world.instance.tuples(symbol.arguments)}
        for symbol in symbols
    }


def unknown(world: Finite, sort: Sort | None) -> Any:
    """Return an unconstrained truth value (no sort) or element."""
    if sort is None:
        return world.circuit.variable()
    conditions = tuple(world.circuit.variable() for _ in range(world.instance.size(sort)))
    world.circuit.demand_some(conditions)
    at_most_one(world, conditions)
    return Choice(conditions)


def at_most_one(world: Finite, bits: Sequence[Bit], when: Bit | None = None) -> None:
    """Require that no two of some bits are true, at least not when `when`."""
    for k, a in enumerate(bits):
        for b in bits[:k]:
            world.circuit.demand_some([world.neg(a), world.neg(b), *([world.neg(when)] if when else [])])


def shifted(value: Any, moved: Any) -> Any:
    """Return the same value of another step."""
    if isinstance(value, Choice):
        return Choice(tuple(Bit(moved(c)) for c in value.conditions))
    return Bit(moved(value))


def read(bits: frozenset[int], values: Values, world: Finite) -> Table:
    """Return a model's values as a table with everything known."""
    return Table(
        world,
        {
            symbol: {p: holds(bits, v) if symbol.result is None else chosen(bits, v) for p, v in entries.items()}
            for symbol, entries in values.items()
        },
    )


def holds(bits: frozenset[int], value: Any) -> bool:
    """Return a truth value in a model."""
    return value if isinstance(value, bool) else (value in bits) if value > 0 else (-value not in bits)


def chosen(bits: frozenset[int], value: Any) -> int:
    """Return an element in a model."""
    return value if isinstance(value, int) else next(k for k, c in enumerate(value.conditions) if holds(bits, c))
