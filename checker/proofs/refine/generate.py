"""Generate the abstract protocol in the language, from its own expressions.

The result has, for each action, a function that checks its guards and then makes its updates, all from the state
before; for each clause of the invariant, a function that judges a state and one for its premise; and the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checker.proofs.prove.meaning import Environment, meaning
from checker.proofs.refine.text import Attempt, Ghosts, TextWorld, parameters, place, places, python_text
from zabspec.proofs.abstract.invariant import Clause
from zabspec.proofs.abstract.logic import (
    ATTEMPT,
    HISTORY,
    PROCESS,
    QUORUM,
    TRUE,
    Expression,
    Many,
    Quantified,
    Symbol,
    conj,
)
from zabspec.proofs.abstract.protocol import AbstractAction, Definition
from zabspec.proofs.abstract.theory import Theory
from zabspec.proofs.abstract.vocabulary import origin, root

MARK = "abstract "  # prefix of an action's name among the paper's steps
LETTERS = {PROCESS: ("p",), ATTEMPT: ("l", "e"), QUORUM: ("q",), HISTORY: ("h",)}

HELPERS = """
from __future__ import annotations


def epoch_of_history(s: State, x: int) -> int:
    return 0 if x == 0 else s.abcast_txn[x - 1].epoch


def counter_of_history(s: State, x: int) -> int:
    return 0 if x == 0 else s.abcast_txn[x - 1].counter
"""


@dataclass(frozen=True)
class Refusal:
    """What is wrong with a step.

    Attributes:
        action: the abstract action whose guard does not hold; empty if the states do not agree.
        what: the guard, or the disagreement.
    """

    action: str
    what: str


@dataclass(frozen=True)
class Generated:
    """The generated source, and the names in it.

    Attributes:
        text: functions of the language.
        actions: the function of each action, by its name in the paper, in order.
        clauses: the function of each clause and of its premise, in order.
        refusals: the guards, in the order of their faults' numbers.
    """

    text: str
    actions: dict[str, str]
    clauses: dict[str, tuple[str, str]]
    refusals: tuple[Refusal, ...]


def identifier(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower()


def generate(theory: Theory, first_fault: int) -> Generated:
    """Generate the source of a theory.

    Args:
        first_fault: the number of the first guard's fault.
    """
    world = TextWorld()
    writer = Writer(world, first_fault)
    bodies = [writer.beginning(theory)]
    actions, clauses = {}, {}
    for number, action in enumerate(theory.actions, 1):
        actions[action.name] = f"abstract_{identifier(action.name)}"
        bodies.append(writer.action(action, number, actions[action.name]))
    for clause in (axioms_of(theory), *theory.clauses):
        names = (f"holds_{identifier(clause.name)}", f"premise_{identifier(clause.name)}")
        clauses[clause.name] = names
        bodies.append(writer.judge(names[0], clause.formula))
        bodies.append(writer.judge(names[1], premise(clause.formula)))
    text = "\n\n\n".join([HELPERS.strip(), *world.functions, *bodies])
    return Generated(text, actions, clauses, tuple(writer.refusals))


def axioms_of(theory: Theory) -> Clause:
    """Return the axioms as one clause."""
    return Clause("axioms", conj(*theory.axioms.values()), "What no action changes is as the proof assumes.")


def premise(formula: Expression) -> Expression:
    """Return the premise of a clause: the condition under which it is not vacuous.

    For each implication in it there must be attempts other than the beginning and different histories other than the
    empty one for which all its hypotheses hold.
    """
    if not isinstance(formula, Quantified):
        return TRUE
    members = formula.body.members if isinstance(formula.body, Many) and formula.body.every else (formula.body,)
    met = []
    for member in members:
        hypotheses = conj(~member.members[0]) if isinstance(member, Many) and not member.every else TRUE
        histories = [v for v in formula.variables if v.sort == HISTORY]
        telling = [
            *(v != origin() for v in formula.variables if v.sort == ATTEMPT),
            *(v != root() for v in histories),
            *(x != y for k, x in enumerate(histories) for y in histories[:k]),
        ]
        met.append(Quantified(False, formula.variables, conj(hypotheses, *telling)))
    return conj(*met)


class Writer:
    """Writes functions, and numbers the guards."""

    def __init__(self, world: TextWorld, first_fault: int) -> None:
        self.world = world
        self.state = Ghosts(world)
        self.first_fault = first_fault
        self.refusals: list[Refusal] = []

    def judge(self, name: str, formula: Expression) -> str:
        return f"def {name}(s: State) -> bool:\n    return {python_text(meaning(formula, {}, self.state))}"

    def beginning(self, theory: Theory) -> str:
        lines = ["def abstract_beginning(s: State) -> None:"]
        for symbol, definition in theory.initial.items():
            lines += self.store(symbol, definition, {}, "a")
        lines += ["    for x in range(s.TXNS + 1):", "        s.a_prefix[x].add(0)", "        s.a_prefix[x].add(x)"]
        return "\n".join(lines)

    def action(self, action: AbstractAction, number: int, name: str) -> str:
        letters = [LETTERS[v.sort] for v in action.parameters]
        values = [Attempt(*x) if len(x) == 2 else x[0] for x in letters]
        bound = dict(zip(action.parameters, values, strict=True))
        given = [k for x in letters for k in x]
        lines = [
            f"def {name}(s: State{''.join(f', {self.world.typed(k)}' for k in given)}) -> None:",
            "    if s.fault == 0:",
            f"        s.action = {number}",
            *(f"        s.action_{k} = {k}" for k in given),
        ]
        for v, value in bound.items():
            if v.sort == QUORUM:
                lines.append(self.guard(action, "a quorum", f"is_quorum(s, {value})"))
        for what, guard in action.guards.items():
            lines.append(self.guard(action, what, python_text(meaning(guard, bound, self.state))))
        for symbol, definition in action.updates.items():
            lines += self.store(symbol, definition, bound, "n")
        for symbol in action.updates:
            lines += self.move(symbol)
        return "\n".join(lines)

    def guard(self, action: AbstractAction, what: str, test: str) -> str:
        self.refusals.append(Refusal(action.name, what))
        return f"    unless_fault(s, {self.first_fault + len(self.refusals) - 1}, {test})"

    def store(self, symbol: Symbol, definition: Definition, bound: Environment, letter: str) -> Iterator[str]:
        """Yield the lines that store the value of a definition at all arguments."""
        values = [self.world.fresh(v.sort) for v in definition.variables]
        indent = "    "
        for v, x in zip(definition.variables, values, strict=True):
            # an attempt of epoch 0 is the beginning, for any process: its facts are stored with every process
            stops = {ATTEMPT: ("s.EPOCHS + 1", "s.NODES"), PROCESS: ("s.NODES",), HISTORY: ("s.TXNS + 1",)}
            for k, stop in zip(reversed(parameters([x])), stops[v.sort], strict=True):
                yield f"{indent}for {k} in range({stop}):"
                indent += "    "
        meant = meaning(definition.body, {**bound, **dict(zip(definition.variables, values, strict=True))}, self.state)
        where, member = place(symbol, values, letter)
        if not member:
            yield f"{indent}{where} = {meant}"
        else:
            yield f"{indent}if {python_text(meant)}:"
            yield f"{indent}    {where}.add({member})"
            yield f"{indent}else:"
            yield f"{indent}    {where}.discard({member})"

    def move(self, symbol: Symbol) -> Iterator[str]:
        """Yield the lines that copy the new value of a symbol to the state."""
        indent, index = "    ", ""
        for k, stop in enumerate(places(symbol)):
            yield f"{indent}for k{k} in range({stop}):"
            indent += "    "
            index += f"[k{k}]"
        yield f"{indent}s.a_{symbol.name}{index} = s.n_{symbol.name}{index}"
