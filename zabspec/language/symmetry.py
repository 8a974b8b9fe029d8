"""Decide whether a program tells processes apart: by `scalarset.py` for each function, `loops.py` for each loop.

A few functions make numbers of processes and processes of numbers: step words and cuts are encoded in bits. They are
listed, and trusted; only code beside them may call them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from zabspec.language.analysis.bag_order import LazyEffects
from zabspec.language.analysis.effects import STEPS, Access, Effects, Write
from zabspec.language.analysis.loops import in_loop
from zabspec.language.analysis.scalarset import Asymmetry, Sorts, in_layout
from zabspec.language.front.frontend import FrontEnd
from zabspec.language.layout.kinds import MessageUnion

__all__ = ["Asymmetry", "Decoder", "Trusted", "asymmetries"]


@dataclass(frozen=True)
class Decoder:
    """A function that is trusted to treat all processes alike although it handles them as numbers.

    Attributes:
        why: what it converts, and why the result is the same for all processes.
        lists: whether it adds to the possible steps, which have no order.
    """

    why: str
    lists: bool = False


@dataclass(frozen=True)
class Trusted:
    """The trusted functions, and who may call them.

    Attributes:
        decoders: by the function itself: another function of the same name is not trusted.
        modules: the modules whose own functions may call them.
        generated: the files of generated code whose functions may call them too.
    """

    decoders: Mapping[Any, Decoder]
    modules: Collection[str] = ()
    generated: Collection[str] = ()

    def may_call(self, function: Any) -> bool:
        """Return whether a function is in code that may call them."""
        if function.__code__.co_filename in self.generated:
            return True
        module = sys.modules.get(function.__module__)
        return function.__module__ in self.modules and getattr(module, function.__name__, None) is function


def asymmetries(front: FrontEnd, roots: Iterable[str], trusted: Trusted) -> list[Asymmetry]:
    """Return where the functions of a program, and its schema, tell processes apart: by values, loops, the schema.

    Args:
        front: of the program.
        roots: the functions to check, with what they call.
        trusted: the functions that are trusted.

    Raises:
        LanguageError: something is outside the language.
    """
    for root in roots:
        front.function(root)
    values: list[Asymmetry] = []
    loops: list[Asymmetry] = []
    decoders = {name: trusted.decoders.get(front.python(name)) for name in front.program.functions}
    effects = LazyEffects(front.program, front.layout)
    for name, function in front.program.functions.items():
        decoder = decoders[name]
        if decoder is not None and decoder.lists:
            effects.known[name] = Effects(writes=[Write(Access(STEPS), "list", function.line)])
    for name, function in front.program.functions.items():  # whatever is called comes before its callers
        if decoders[name] is not None:
            continue
        sorts = Sorts(function, front.program, front.layout.schema, refusing(front, name, trusted)).check()
        values += sorts.asymmetries
        errors = not front.is_own(name)
        if errors or sorts.loops_over_processes:
            of = effects.of(function)
            effects.known[name] = of.outside()
            loops += [a for s in sorts.loops_over_processes for a in in_loop(s, function, of, errors=errors)]
            loops += [Asymmetry(function.file, line, why) for line, why in of.unsure.items() if errors]
    union = front.types.get("AnyMessage")
    return [*values, *loops, *in_layout(front.layout, union if isinstance(union, MessageUnion) else None)]


def refusing(front: FrontEnd, caller: str, trusted: Trusted) -> Callable[[str], str]:
    """Return which functions the caller may not call in code with symmetry, with the reason."""
    allowed = trusted.may_call(front.python(caller))

    def refused(name: str) -> str:
        if not allowed and front.python(name) in trusted.decoders:
            return f"{name} reads processes as numbers, and is only for the world"
        return ""

    return refused
