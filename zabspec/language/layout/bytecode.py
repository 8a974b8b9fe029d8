"""Read the code of functions, nested code included: that of comprehensions, generators, lambdas and inner functions.

CPython keeps nested code among the constants of the code around it (before 3.12 that of every comprehension), where
`co_names` and `dis` do not look. So every pass over code, and over all the code that runs, begins here.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator
from functools import cache
from types import CodeType, FunctionType


def all_code(code: CodeType) -> Iterator[CodeType]:
    """Yield a piece of code and the code nested in it, at any depth."""
    yield code
    for held in code.co_consts:
        if isinstance(held, CodeType):
            yield from all_code(held)


def instructions_in(code: CodeType) -> Iterator[dis.Instruction]:
    """Yield the instructions of a piece of code; those of nested code where it is loaded."""
    for instruction in dis.get_instructions(code):
        if isinstance(instruction.argval, CodeType):
            yield from instructions_in(instruction.argval)
        yield instruction


@cache
def names_in(code: CodeType) -> frozenset[str]:
    """Return the names in a piece of code except local variables: global ones, and those of fields and methods."""
    return frozenset(name for held in all_code(code) for name in held.co_names)


@cache
def global_names(code: CodeType) -> frozenset[str]:
    """Return the global names that a piece of code reads, without names of fields and methods."""
    return frozenset(str(i.argval) for i in instructions_in(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"))


def functions_that_run(roots: Iterable[FunctionType]) -> list[FunctionType]:
    """Return functions and all that they may call, in any module, each once."""
    found = [*dict.fromkeys(roots)]
    known = {*found}
    for function in found:  # it grows
        given = (function.__globals__.get(name) for name in sorted(global_names(function.__code__)))
        called = [f for f in given if isinstance(f, FunctionType)]
        for cell in function.__closure__ or ():
            try:
                called += [cell.cell_contents] if isinstance(cell.cell_contents, FunctionType) else []
            except ValueError:  # a name of the enclosing function that has no value yet
                continue
        found += [f for f in dict.fromkeys(called) if f not in known]
        known |= {*called}
    return found
