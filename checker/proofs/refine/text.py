"""Translate an expression of the abstract protocol to the language: the third world that reads it.

A formula becomes a test, an element an integer expression, an attempt two of them (`Attempt`). A quantifier becomes a
function of its own, which loops over its variables and tests each part of its body as soon as the variables in that
part are bound. The result is compiled, or runs in CPython, together with the executable protocol.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from zabspec.language import NODE, Field, Int, Role, SetOf
from zabspec.language.layout.kinds import Kind
from zabspec.model import Model
from zabspec.proofs.abstract.logic import ATTEMPT, COUNTER, EPOCH, HISTORY, PROCESS, QUORUM, Sort, Symbol, Variable
from zabspec.proofs.abstract.vocabulary import (
    STATE,
    at_most,
    counter,
    ep,
    epoch,
    le,
    leads,
    member,
    origin,
    prefix,
    root,
)

# --- where the abstract protocol's symbols are stored in a state of the executable one -------------
#
# A configuration bounds the finite instance: its processes; for quorums all sets that are one (a majority, or those
# of the model's system), as bit masks; for attempts the pairs of a process and an epoch, those of epoch 0 all being
# the beginning; for histories the transactions by their identity, 0 being the empty one; epochs and counters
# unchanged.
#
# A symbol's value at all arguments is one field `a_<name>`. Its axes are processes first, so that whatever renames
# processes renames it with them; the others become numbered axes, the last of a relation's the members of a set. An
# action builds its new value in `n_<name>`, which is no part of the state.

KEPT: tuple[Symbol, ...] = (*STATE, prefix)
"""What is kept in the state: all that an action may change, and how the histories extend each other."""


@dataclass(frozen=True)
class Attempt:
    """An attempt in generated source: its process and its epoch."""

    leader: str
    epoch: str


Element = str | Attempt  # an element of any sort, as text


def parameters(values: Iterable[Element]) -> list[str]:
    """Return elements as integer parameters: an attempt is two."""
    return [name for v in values for name in ((v.leader, v.epoch) if isinstance(v, Attempt) else (v,))]


def split(symbol: Symbol, arguments: Sequence[Element]) -> tuple[list[str], list[str]]:
    """Return the arguments as indices: processes, then the rest."""
    if symbol is prefix:  # the second history's prefixes
        arguments = arguments[::-1]
    leaders = [a.leader for a in arguments if isinstance(a, Attempt)]
    epochs = [a.epoch for a in arguments if isinstance(a, Attempt)]
    pairs = [(a, s) for a, s in zip(arguments, symbol.arguments, strict=True) if isinstance(a, str)]
    processes = [a for a, s in pairs if s == PROCESS]
    return leaders + processes, epochs + [a for a, s in pairs if s != PROCESS]


def place(symbol: Symbol, arguments: Sequence[Element], letter: str = "a") -> tuple[str, str]:
    """Return the location in the state that holds the symbol at these arguments, and the member to test in it.

    The member is empty if the location holds the value.
    """
    nodes, rest = split(symbol, arguments)
    member = "" if symbol.result is not None else rest.pop()
    return f"s.{letter}_{symbol.name}" + "".join(f"[{k}]" for k in nodes + rest), member


# The sorts of numbered axes, with the number of elements of each.
STOPS = {ATTEMPT.name: "s.EPOCHS + 1", EPOCH.name: "s.EPOCHS + 1", HISTORY.name: "s.TXNS + 1"}


def axes_of(symbol: Symbol) -> tuple[int, list[str], str]:
    """Return the number of process axes of a symbol's field, the sorts of the others, and of the members.

    The last is "" if the field holds no set.
    """
    nodes, rest = split(symbol, [Attempt("", s.name) if s == ATTEMPT else s.name for s in symbol.arguments])
    member = "" if symbol.result is not None else rest.pop()
    return len(nodes), rest, member


def places(symbol: Symbol) -> list[str]:
    """Return the axes of a symbol's field, as the stops of loops."""
    nodes, rest, _ = axes_of(symbol)
    return ["s.NODES"] * nodes + [STOPS[name] for name in rest]


def fields_of(model: Model) -> tuple[Field, ...]:
    """Return the fields of the abstract state, and of the one that an action builds."""
    txns, epochs = model.configuration.txns, model.epochs
    sizes = {ATTEMPT.name: epochs + 1, HISTORY.name: txns + 1}
    made: list[Field] = []
    for symbol in KEPT:
        processes, rest, member = axes_of(symbol)
        inner = tuple(sizes[name] for name in rest)
        holds: Kind = SetOf(sizes[member]) if member else Int(0, epochs, "--max-epoch")
        made.append(Field(f"a_{symbol.name}", holds, Role.GHOST, (NODE,) * processes + inner, symbol.doc))
        if not symbol.rigid:
            axes = (NODE,) * processes + inner
            made.append(Field(f"n_{symbol.name}", holds, Role.SCRATCH, axes, f"after the action: {symbol.doc}"))
    return tuple(made)


# The order of nested loops: those over fewer elements are outside.
INSIDE = (PROCESS, HISTORY, COUNTER, QUORUM, EPOCH, ATTEMPT)


@dataclass(frozen=True)
class Atom:
    """A test without `and` and `or`, or its negation."""

    text: str
    negated: bool = False


@dataclass(frozen=True)
class Junction:
    """A conjunction or disjunction of members."""

    every: bool
    members: tuple[Formula, ...]


Formula = Atom | Junction
Loop = tuple[Sort, Element]


def python_text(formula: Formula) -> str:
    """Return a formula as a test of the language."""
    if isinstance(formula, Atom):
        return f"not ({formula.text})" if formula.negated else formula.text
    if not formula.members:
        return str(formula.every)
    word = " and " if formula.every else " or "
    return word.join(f"({python_text(m)})" for m in formula.members)


def variables_in(text: str) -> set[str]:
    """Return the variables a source mentions, an action's parameters among them; those of an attempt are two."""
    return set(re.findall(r"\b(?:v\d+[le]?|[pqleh])\b", text))


@dataclass
class TextWorld:
    """The world of source text. `functions` are those that its quantifiers became, in the order they are needed."""

    functions: list[str] = field(default_factory=list)
    count: int = 0
    processes: set[str] = field(default_factory=lambda: {"p", "l"})  # the names that are processes

    def fresh(self, sort: Sort) -> Element:
        """Return a variable that no other source uses."""
        self.count += 1
        made = Attempt(f"v{self.count}l", f"v{self.count}e") if sort == ATTEMPT else f"v{self.count}"
        if isinstance(made, Attempt):
            self.processes.add(made.leader)
        elif sort == PROCESS:
            self.processes.add(made)
        return made

    def typed(self, name: str) -> str:
        """Return the declaration of a parameter."""
        return f"{name}: {'Node' if name in self.processes else 'int'}"

    def every(self, members: Iterable[Formula]) -> Formula:
        return self.junction(True, members)

    def some(self, members: Iterable[Formula]) -> Formula:
        return self.junction(False, members)

    def junction(self, every: bool, members: Iterable[Formula]) -> Formula:
        flat: list[Formula] = []
        for m in members:
            if isinstance(m, Junction) and m.every == every:
                flat.extend(m.members)
            elif isinstance(m, Junction) and not m.members:
                return m
            else:
                flat.append(m)
        return flat[0] if len(flat) == 1 else Junction(every, tuple(flat))

    def neg(self, value: Formula) -> Formula:
        if isinstance(value, Atom):
            return Atom(value.text, not value.negated)
        return self.junction(not value.every, [self.neg(m) for m in value.members])

    def equal(self, left: Any, right: Any) -> Formula:
        if isinstance(left, Attempt) and isinstance(right, Attempt):  # those of epoch 0 are the beginning
            if "0" in (left.epoch, right.epoch):
                return Atom(f"{left.epoch} == {right.epoch}")
            same = self.some([Atom(f"{left.epoch} == 0"), Atom(f"{left.leader} == {right.leader}")])
            return self.every([Atom(f"{left.epoch} == {right.epoch}"), same])
        if isinstance(left, str):
            return Atom(f"{left} == {right}")
        return Atom(f"({python_text(left)}) == ({python_text(right)})")

    def choose(self, test: Formula, then: Any, otherwise: Any) -> Any:
        if isinstance(then, str):
            return f"({then} if {python_text(test)} else {otherwise})"
        return self.some([self.every([test, then]), self.every([self.neg(test), otherwise])])

    def quantified(
        self, every: bool, variables: Sequence[Variable], body: Callable[[Sequence[Element]], Formula]
    ) -> Formula:
        values = [self.fresh(v.sort) for v in variables]
        formula = body(values)
        apart = isinstance(formula, Junction) and formula.every == every  # separately each has shorter loops
        parts = formula.members if apart else (formula,)  # type: ignore[union-attr]
        bound = [(v.sort, x) for v, x in zip(variables, values, strict=True)]
        return self.junction(every, [self.function(every, bound, part) for part in parts])

    def function(self, every: bool, bound: Sequence[tuple[Sort, Element]], body: Formula) -> Formula:
        """Return the call of a new function: whether the body holds for all, or some, values of the variables."""
        used = variables_in(python_text(body))
        loops = [(s, x) for s, x in bound if used & set(parameters([x]))]
        if not loops:
            return body
        # for all: searches one that fails, so that every disjunct must; for some: every conjunct must hold
        decisive = self.neg(body) if every else body
        tests = list(decisive.members) if isinstance(decisive, Junction) and decisive.every else [decisive]
        given = sorted(used - set(parameters(x for _, x in loops)))
        lines, indent, ready = [], "    ", set(given)
        for sort, x in [(None, ""), *in_order(loops, tests, ready)]:
            if sort is not None:
                headed = loop_lines(sort, x, indent)
                lines += headed
                indent = " " * (len(headed[-1]) - len(headed[-1].lstrip()) + 4)
                ready |= set(parameters([x]))
            now = [t for t in tests if variables_in(python_text(t)) <= ready]
            tests = [t for t in tests if t not in now]
            if now:
                lines.append(f"{indent}if {python_text(self.every(now))}:")
                indent += "    "
        self.count += 1
        name = f"quantified_{self.count}"
        typed = "".join(f", {self.typed(g)}" for g in given)
        head = f"def {name}(s: State{typed}) -> bool:"
        self.functions.append("\n".join([head, *lines, f"{indent}return {not every}", f"    return {every}"]))
        return Atom(f"{name}({', '.join(['s', *given])})")


def in_order(loops: Sequence[Loop], tests: Sequence[Formula], given: set[str]) -> list[Loop]:
    """Return the loops in an order in which a test that needs few of them is evaluated early."""
    rest, out = sorted(loops, key=lambda loop: INSIDE.index(loop[0])), []
    asked = [variables_in(python_text(test)) - given for test in tests]
    while rest:
        wanted = [[loop for loop in rest if names & set(parameters([loop[1]]))] for names in asked]
        nearest = min((w for w in wanted if w), key=lambda w: (len(w), sum(INSIDE.index(sort) for sort, _ in w)))
        out += nearest
        rest = [loop for loop in rest if loop not in nearest]
    return out


def loop_lines(sort: Sort, x: Element, indent: str) -> list[str]:
    """Return the lines of a loop over the elements of a sort; the next lines are its body."""
    if isinstance(x, Attempt):
        return [f"{indent}for {x.epoch} in range(s.EPOCHS + 1):", f"{indent}    for {x.leader} in range(s.NODES):"]
    if sort == QUORUM:
        return [f"{indent}for {x} in range(2 ** s.NODES):", f"{indent}    if is_quorum(s, {x}):"]
    stop = "s.NODES" if sort == PROCESS else STOPS.get(sort.name, "s.TXNS + 1")
    return [f"{indent}for {x} in range({stop}):"]


class Ghosts:
    """The abstract state as the state's fields hold it."""

    def __init__(self, world: TextWorld) -> None:
        self.world = world

    def value(self, symbol: Symbol, arguments: Sequence[Any]) -> Any:
        """Return the symbol applied to elements: a formula, or an element."""
        if symbol in RIGID_TEXT:
            return RIGID_TEXT[symbol](*arguments)
        where, inside = place(symbol, arguments)
        return Atom(f"{inside} in {where}") if inside else where


RIGID_TEXT: dict[Symbol, Callable[..., Any]] = {
    member: lambda p, q: Atom(f"is_in({q}, {p})"),
    leads: lambda p, c: Junction(True, (Atom(f"{c.epoch} > 0"), Atom(f"{c.leader} == {p}"))),
    ep: lambda c: c.epoch,
    le: lambda e1, e2: Atom(f"{e1} <= {e2}"),
    at_most: lambda n1, n2: Atom(f"{n1} <= {n2}"),
    epoch: lambda x: f"epoch_of_history(s, {x})",
    counter: lambda x: f"counter_of_history(s, {x})",
    root: lambda: "0",
    origin: lambda: Attempt("anybody()", "0"),
}
