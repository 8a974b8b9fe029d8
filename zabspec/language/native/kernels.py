"""Compile standalone kernels: functions over structs of arrays and integers, in machine code.

    count = machine(judge_runs)(table, run, 0, table.rows)

What is compiled is the function, what it calls and the constants that these name, wherever they are imported from:
the program of a kernel is what Python would run. How it is called follows from its annotations, a struct by its
address. So `machine(f)` is called as `f` is, and `f` itself is its checked reading in CPython.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

from zabspec.language.analysis.structs import Struct, is_struct
from zabspec.language.front.frontend import FrontEnd
from zabspec.language.layout import wrapping
from zabspec.language.layout.bytecode import global_names
from zabspec.language.layout.cache_key import compiler_digest, digest_of, program_digest
from zabspec.language.layout.kinds import Int
from zabspec.language.layout.schema import Field, Layout, Role, Schema
from zabspec.language.layout.source import LanguageError
from zabspec.language.native import llvm_text
from zabspec.language.native.jit import compile_cached, has_bit_gather

P = ParamSpec("P")
R = TypeVar("R", int, None)
NAME = re.compile(r"\w+")


def no_state() -> Layout:
    """Return a layout for programs without a state."""
    fields = (Field("steps", Int(0, 2**63 - 1), Role.SCRATCH), Field("error", Int(0, 2**32 - 1), Role.SCRATCH))
    return Layout(Schema(1, fields, {}))


def program_of(kernel: FunctionType) -> dict[str, Any]:
    """Return the functions, structs and constants that a kernel names, directly or indirectly.

    Raises:
        LanguageError: two of them have one name, or a source cannot be read.
    """
    found: dict[str, Any] = {kernel.__name__: kernel}
    ahead = [kernel]
    while ahead:
        function = ahead.pop()
        for name in sorted(names_in(function)):
            value = function.__globals__.get(name)
            if name in wrapping.__all__ or not (isinstance(value, (FunctionType, int)) or is_struct(value)):
                continue
            if name not in found and isinstance(value, FunctionType):
                ahead.append(value)
            if found.setdefault(name, value) is not value and found[name] != value:
                code = function.__code__
                raise LanguageError(code.co_filename, code.co_firstlineno, f"{name} is two things in one kernel")
    return found


def names_in(function: FunctionType) -> set[str]:
    """Return the global names that a function reads, and those of its annotations."""
    return {*global_names(function.__code__)}.union(*(NAME.findall(str(a)) for a in function.__annotations__.values()))


def passed_as(kernel: FunctionType) -> tuple[type[Struct] | None, ...]:
    """Return for each parameter of a kernel its struct, or None for an integer.

    Raises:
        LanguageError: it is neither, or the kernel returns no integer.
    """
    code, out = kernel.__code__, []
    kinds = {name: str(kind).strip("'\"") for name, kind in kernel.__annotations__.items()}
    for name in (*code.co_varnames[: code.co_argcount], "return"):
        said = kinds.get(name, "nothing")
        struct = kernel.__globals__.get(said) if name != "return" else None
        if not (isinstance(struct, type) and issubclass(struct, Struct)):
            struct = None
            if said != "int" and (name, said) != ("return", "None"):
                why = f"{kernel.__name__} is called from outside, with structs and integers: {name} is {said}"
                raise LanguageError(code.co_filename, code.co_firstlineno, why)
        out.append(struct)
    return tuple(out[:-1])


@cache
def compiled(kernel: FunctionType) -> Callable[..., Any]:
    """Return a kernel in machine code, from the cache or compiled now, to be called with addresses and integers.

    Raises:
        LanguageError: it is outside the language.
    """
    layout, names, name = no_state(), program_of(kernel), kernel.__name__

    def make() -> tuple[str, dict[str, Any]]:
        front = FrontEnd(layout, names, {}, ())
        front.function(name)
        return llvm_text.emit_program(front.program, layout, {name}, has_bit_gather()), {}

    key = digest_of(program_digest(layout, names, {}, (), ()), compiler_digest(), name)
    arguments = [ctypes.c_int64 if struct is None else ctypes.c_void_p for struct in passed_as(kernel)]
    result = None if str(kernel.__annotations__["return"]).strip("'\"") == "None" else ctypes.c_int64
    return compile_cached(key, make, lambda _: {}).function(name, result, *arguments)


def machine(kernel: Callable[P, R]) -> Callable[P, R]:
    """Return a kernel in machine code, called as the kernel is: with structs and integers, in order.

    Raises:
        LanguageError: it is outside the language.
    """
    function = cast(FunctionType, kernel)
    code, wanted = compiled(function), passed_as(function)

    def called(*args: P.args, **_: P.kwargs) -> R:
        passed: list[int] = []
        for value, struct in zip(args, wanted, strict=True):
            if struct is None:
                passed.append(cast(int, value))
            elif isinstance(value, struct):
                passed.append(value.address)
            else:
                raise TypeError(f"{function.__name__} takes a {struct.__name__}, not a {type(value).__name__}")
        return cast(R, code(*passed))

    return called
