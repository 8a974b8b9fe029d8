"""The judging kernels in machine code."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from traces.judging import blocks_kernel, conclusions, deliveries, kernel, planes
from zabspec.language import Field, Int, Role, Schema, frontend, llvm_text
from zabspec.language.jit import MachineCode, compile_cached, has_bit_gather
from zabspec.language.loaded import compiler_digest, digest_of, program_digest
from zabspec.language.schema import Layout

__all__ = ["code_of", "function"]

I64, PTR = ctypes.c_int64, ctypes.c_void_p

# The kernels by module, with the type of the result and of the arguments of each.
EXPORTS: dict[ModuleType, dict[str, tuple[Any, ...]]] = {
    kernel: {"judge_runs": (I64, *[PTR] * 14, I64, I64, I64, PTR, I64, PTR, I64, PTR, PTR, PTR, I64)},
    blocks_kernel: {"sum_blocks": (I64, *[PTR] * 11, I64, I64, I64, PTR, I64, PTR, I64, PTR, I64, PTR, PTR)},
}


# What these call that is in other modules.
BESIDE: dict[ModuleType, tuple[ModuleType, ...]] = {
    kernel: (planes, deliveries, conclusions),
    blocks_kernel: (),
}


def namespace(modules: Sequence[ModuleType]) -> dict[str, Any]:
    """The functions and constants of kernel modules.

    Raises:
        ValueError: two of them define the same name.
    """
    names: dict[str, Any] = {}
    for module in modules:
        for name, value in vars(module).items():
            if isinstance(value, (FunctionType, int)) and names.setdefault(name, value) != value:
                raise ValueError(f"two kernels define {name}")
    return names


def no_state() -> Layout:
    """A layout for programs without a state."""
    fields = (Field("steps", Int(0, 2**63 - 1), Role.SCRATCH), Field("error", Int(0, 2**32 - 1), Role.SCRATCH))
    return Layout(Schema(1, fields, {}))


def code_of(exports: dict[str, tuple[Any, ...]], *modules: ModuleType) -> MachineCode:
    """Kernels in machine code, from the cache or made now: the exports of the first module, which call
    what is in the others."""

    layout, names = no_state(), namespace(modules)

    def make() -> tuple[str, dict[str, Any]]:
        front = frontend.FrontEnd(layout, names, {}, ())
        for name in exports:
            front.function(name)
        return llvm_text.emit_program(front.program, layout, set(exports), has_bit_gather()), {}

    key = digest_of(program_digest(layout, names, {}, (), ()), compiler_digest(), sorted(exports))
    return compile_cached(key, make, lambda _: {})


@cache
def function(name: str) -> Any:
    """An exported kernel, to be called with addresses and integers."""
    module = next(m for m, exports in EXPORTS.items() if name in exports)
    result, *arguments = EXPORTS[module][name]
    return code_of(EXPORTS[module], module, *BESIDE[module]).function(name, result, *arguments)
