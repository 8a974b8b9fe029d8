"""Refuse functions whose result depends on the order of a bag: it has none.

Two states that differ in the order of a bag alone count as one, and which of the two an engine keeps is an accident. So
a place in a bag is a sort of its own, as a process is (`scalarset.py`), and not a number. A place

    comes from     a loop through the bag: `for k in range(len(s.bag))`, `for m in s.bag`
    is used        to look there (`s.bag[k]`), for `==` and `!=` with a place of the same bag, and as an argument for a
                   parameter that is itself a place of that bag (a parameter is one if the function uses it as one)

Anything else is refused: arithmetic, constants, an order, a local name, a field, a message, a result. A loop through a
bag has to come to the same in every order of its rounds (`loops.py`, as of processes). The front end asks this of every
function but the world's own, so that no engine runs one that fails.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.effects import Effects, EffectsOf
from zabspec.language.analysis.intervals import alike
from zabspec.language.analysis.liveness import given, live_in
from zabspec.language.analysis.loops import in_loop
from zabspec.language.layout.kinds import Seq
from zabspec.language.layout.schema import Layout
from zabspec.language.layout.source import LanguageError


class LazyEffects(Mapping[str, Effects]):
    """The effects of a program's functions, each worked out when it is first needed."""

    def __init__(self, program: t.TypedProgram, layout: Layout) -> None:
        self.program, self.layout = program, layout
        self.known: dict[str, Effects] = {}

    def of(self, function: t.Function) -> EffectsOf:
        """Return the object that computes the effects of one function's statements."""
        return EffectsOf(function, self.layout, self.program.functions, self)

    def __getitem__(self, name: str) -> Effects:
        if name not in self.known:
            self.known[name] = self.of(self.program.functions[name]).outside()
        return self.known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.program.functions)

    def __len__(self) -> int:
        return len(self.program.functions)


def check_bags(function: t.Function, effects: LazyEffects, errors: bool = True) -> None:
    """Check one function, and enter into it which of its parameters are places in a bag.

    Args:
        function: typed; those that it calls are in the program of `effects`, checked.
        effects: of the program.
        errors: run-time errors count: those of a user's protocol are a verdict.

    Raises:
        LanguageError: it depends on the order of a bag; with its line.
    """
    checker = _Places(function, effects)
    if not checker.is_concerned:
        return
    checker.infer_parameters()
    function.places = checker.parameters
    checker.block(function.body)
    of = effects.of(function)
    of.outside()
    for line, reason in of.unsure.items() if errors else ():
        raise LanguageError(function.file, line, reason)
    for s in checker.through:
        for found in in_loop(s, function, of, "element", errors):
            raise LanguageError(found.file, found.line, found.reason)


class _Places:
    """Checks the places of one function.

    Attributes:
        parameters: those that are places, each with its bag, by the names in the function.
        through: the loops through bags.
    """

    def __init__(self, function: t.Function, effects: LazyEffects) -> None:
        self.function, self.program = function, effects.program
        self.assigned = frozenset(given(function.body))
        self.parameters: dict[str, t.Expr] = {}
        self.rounds: list[tuple[str, t.Expr]] = []  # the loops through bags that are open: name and bag
        self.through: list[t.For] = []
        self.line = function.line

    def fail(self, reason: str, line: int = 0) -> LanguageError:
        return LanguageError(self.function.file, line or self.line, reason)

    @property
    def is_concerned(self) -> bool:
        """Return whether the function uses a bag at all."""
        for e in t.parts(self.function.body):
            if isinstance(e, t.Term):
                concerned = e.bag is not None
            elif isinstance(e, t.Call):
                concerned = bool(self.program.functions[e.function].places)
            else:
                concerned = isinstance(e, t.Remove) or (isinstance(e, t.For) and bag_through(e) is not None)
            if concerned:
                return True
        return False

    # --- parameters ---------------------------------------------------------------------------

    def infer_parameters(self) -> None:
        """Find the parameters that are used as places."""
        params = dict(self.function.params)
        for s in t.statements(self.function.body):
            self.line = s.line
            for index, bag in self.looks(s):
                if not isinstance(index, t.Var) or index.name not in params:
                    continue
                known = self.parameters.setdefault(index.name, bag)
                self.check_stays(bag, self.assigned)
                if index.name in self.assigned or index.name in self.function.processes:
                    raise self.fail(f"{index.name} is used as a place in {name_of(bag)}, but is assigned another value")
                if not alike(known, bag):
                    raise self.fail(f"{index.name} is used as a place in two bags, {name_of(known)} and {name_of(bag)}")

    def looks(self, s: t.Stmt) -> Iterator[tuple[t.Expr, t.Expr]]:
        """Yield what a statement itself uses as a place, each with its bag."""
        for e in t.own_parts(s):
            if isinstance(e, t.Term) and e.bag is not None:
                yield e.index, e.bag
            elif isinstance(e, t.Call):
                yield from self.passed(e)

    def passed(self, e: t.Call) -> Iterator[tuple[t.Expr, t.Expr]]:
        """Yield the arguments of a call that are places in a bag, each with its bag in the caller's names."""
        target = self.program.functions[e.function]
        given = {name: value for (name, _), value in zip(target.params, e.args, strict=True)}
        for name, bag in target.places.items():
            yield given[name], named_by(bag, given)

    def check_stays(self, bag: t.Expr, assigned: frozenset[str]) -> None:
        """Check that a bag is named by names and constants that do not change while its places are used.

        Raises:
            LanguageError: it is not.
        """
        for e in t.parts(bag):
            if isinstance(e, t.Var) and e.name in assigned:
                raise self.fail(f"{e.name} is assigned in the loop, but determines which bag {name_of(bag)} is")
            if isinstance(e, (t.Load, t.Call)):
                raise self.fail(f"which bag {name_of(bag)} is may change in the loop: give its index a name first")

    # --- statements ---------------------------------------------------------------------------

    def block(self, body: list[t.Stmt]) -> None:
        for s in body:
            self.line = s.line
            self.expressions(s)
            match s:
                case t.For():
                    self.loop(s)
                case t.If():
                    self.block(s.then)
                    self.block(s.other)
                case t.While():
                    self.block(s.body)

    def loop(self, s: t.For) -> None:
        bag = bag_through(s)
        inside = frozenset(given(s.body))
        for name, other in self.rounds:
            if name == s.name:
                raise self.fail(f"{s.name} is a place in {name_of(other)}: this loop needs another name")
        if bag is None:
            self.block(s.body)
            return
        if s.name in live_in(self.function).head(s) or s.name in inside:
            raise self.fail(f"{s.name} is a place in {name_of(bag)}, but has another value before or in this loop")
        self.check_stays(bag, inside)
        self.through.append(s)
        self.rounds.append((s.name, bag))
        self.block(s.body)
        self.rounds.pop()

    # --- expressions --------------------------------------------------------------------------

    def expressions(self, s: t.Stmt) -> None:
        """Check the expressions of a statement, without the statements in it."""
        if isinstance(s, t.Remove) and isinstance(s.place.kind, Seq) and s.place.kind.bag:
            raise self.fail(f"pop takes the element at a place, and {name_of(s.place)} is a bag, which has no order")
        fine: set[int] = set()
        for index, wanted in self.looks(s):
            self.check_place(index, wanted)
            fine.add(id(index))
        for e in t.own_parts(s):
            if isinstance(e, t.Compare) and e.op in ("==", "!="):
                self.compare(e, fine)
        for e in t.own_parts(s):
            if isinstance(e, t.Var) and id(e) not in fine and (bag := self.bag_of(e)) is not None:
                raise self.fail(
                    f"{e.name} is a place in {name_of(bag)}, which has no order: it can only be read, compared by == "
                    f"and !=, and passed as a place"
                )

    def compare(self, e: t.Compare, fine: set[int]) -> None:
        left, right = self.bag_of(e.left), self.bag_of(e.right)
        if left is not None and right is not None:
            if not alike(left, right):
                raise self.fail(f"a place in {name_of(left)} is compared with one in {name_of(right)}")
            fine |= {id(e.left), id(e.right)}

    def check_place(self, index: t.Expr, bag: t.Expr) -> None:
        """Check that an expression is a place where a place in a bag is required.

        Raises:
            LanguageError: it is not.
        """
        found = self.bag_of(index)
        if found is None:
            label = f"the number {index.value}" if isinstance(index, t.Const) else "a number"
            what = index.name if isinstance(index, t.Var) else label
            raise self.fail(
                f"{what} is not a place in {name_of(bag)}, which has no order and so no first element: a place comes "
                f"from a loop, `for k in range(len({name_of(bag)}))` or `for m in {name_of(bag)}`"
            )
        if not alike(found, bag):
            raise self.fail(f"a place in {name_of(found)} is used as an index of {name_of(bag)}")

    def bag_of(self, e: t.Expr) -> t.Expr | None:
        """Return the bag that a value is a place in, or None."""
        if not isinstance(e, t.Var) or e.type != t.INT:
            return None
        return next((bag for name, bag in reversed(self.rounds) if name == e.name), self.parameters.get(e.name))


# --- trees -----------------------------------------------------------------------------------------


def bag_through(s: t.For) -> t.Expr | None:
    """Return the bag that a loop goes through, each place once, or None."""
    match s:
        case t.For(start=t.Const(value=0), stop=t.SeqLength(seq=t.Expr(type=t.SeqType(kind=kind)) as bag)) if kind.bag:
            return bag
    return None


def named_by(e: Any, given: Mapping[str, t.Expr]) -> Any:
    """Return an expression of a called function with its parameters replaced by the caller's arguments."""
    if isinstance(e, t.Var):
        return given.get(e.name, e)
    if isinstance(e, (list, tuple)):
        return type(e)(named_by(x, given) for x in e)
    if not isinstance(e, (t.Expr, t.Term)) or not is_dataclass(e):
        return e
    made = copy.copy(e)
    for f in fields(e):
        setattr(made, f.name, named_by(getattr(e, f.name), given))
    return flattened(made) if isinstance(made, t.Memory) else made


def flattened(place: t.Memory) -> t.Memory:
    """Return a place whose base is itself a place as one place, as the front end writes it."""
    base = place.base
    if not isinstance(base, t.Memory):
        return place
    terms = [*base.terms, *place.terms]
    return t.Memory(place.type, base.base, base.offset + place.offset, terms, place.kind, base.field, base.state)


def name_of(bag: t.Expr) -> str:
    """Return the name of a bag for a message."""
    if isinstance(bag, t.Memory) and bag.field != "a sequence":
        base = f"{bag.base.name}." if isinstance(bag.base, t.Var) and bag.base.type == t.STATE else ""
        return base + bag.field + "".join(f"[{index_text(term.index)}]" for term in bag.terms)
    return bag.name if isinstance(bag, t.Var) else "a bag"


def index_text(e: t.Expr) -> str:
    return e.name if isinstance(e, t.Var) else str(e.value) if isinstance(e, t.Const) else "..."
