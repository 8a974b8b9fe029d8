"""Whether what a text says of messages in flight depends on their order, which they have not.

Two states that differ in the order of a bag alone are one to an exploration, and which of them it judges is nobody's
choice. So a loop through a bag has to come to the same in whichever order (`loops.py`, as of processes), and its
place in the bag may be nothing but that: an index of it, or another place or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from zabspec.language import tree as t
from zabspec.language.effects import Effects, EffectsOf
from zabspec.language.frontend import FrontEnd
from zabspec.language.kinds import Seq
from zabspec.language.loops import in_loop
from zabspec.language.scalarset import Asymmetry
from zabspec.language.schema import Layout

__all__ = ["orders_of_bags"]


def orders_of_bags(front: FrontEnd, roots: Iterable[str]) -> list[Asymmetry]:
    """Where functions, or those that they call, depend on the order of a bag.

    Args:
        front: of their program; it has typed nothing else.
        roots: the functions asked about.

    Raises:
        LanguageError: something is outside the language.
    """
    for root in roots:
        front.function(root)
    found: list[Asymmetry] = []
    effects: dict[str, Effects] = {}
    for name, function in front.program.functions.items():
        of = EffectsOf(function, front.layout, front.program.functions, effects)
        effects[name] = of.outside()
        for s in parts(function.body):
            if isinstance(s, t.For) and any(of_bag(place, s.name, front.layout) for place in parts(s.body)):
                found += in_loop(s, function, of, "message")
                found += placed(s, function, front.layout)
    return found


def parts(e: Any) -> Iterator[Any]:
    """Every expression and statement in one, itself first."""
    if isinstance(e, (t.Expr, t.Stmt, t.Term)):
        yield e
        for value in vars(e).values():
            yield from parts(value)
    elif isinstance(e, (list, tuple)):
        for x in e:
            yield from parts(x)


def of_bag(place: Any, name: str, layout: Layout) -> bool:
    """Whether something is a place in a bag of the state, at the index of that name."""
    if not isinstance(place, t.Memory) or place.base.type != t.STATE:
        return False
    for f in layout.schema.fields:
        at = layout.strides(f)[0]
        if isinstance(f.kind, Seq) and f.kind.bag and at <= place.offset < at + f.kind.size:
            inside = place.terms[len(f.axes) : len(f.axes) + 1]
            return bool(inside) and is_name(inside[0].index, name)
    return False


def is_name(e: Any, name: str) -> bool:
    return isinstance(e, t.Var) and e.name == name


def placed(s: t.For, function: t.Function, layout: Layout) -> Iterator[Asymmetry]:
    """Where a loop through a bag does more with its place than to look there, or to ask whether it is another's."""
    fine: set[int] = set()
    for e in parts(s.body):
        if isinstance(e, t.Memory) and of_bag(e, s.name, layout):
            fine |= {id(term.index) for term in e.terms}
        elif (
            isinstance(e, t.Compare)
            and e.op in ("==", "!=")
            and isinstance(e.left, t.Var)
            and isinstance(e.right, t.Var)
        ):
            fine |= {id(e.left), id(e.right)}
    for statement in (e for e in parts(s.body) if isinstance(e, t.Stmt)):
        own = [v for v in vars(statement).values() if not isinstance(v, list)]
        for e in parts(own):
            if is_name(e, s.name) and id(e) not in fine:
                why = (
                    f"{s.name} is a place among messages in flight, which are in no order: it may be looked at, no more"
                )
                yield Asymmetry(function.file, statement.line, why)
                return
