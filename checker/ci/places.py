"""Locate violations in a protocol's source: the handlers that the steps of a counterexample entered."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from checker.report.result import ReportPlace

if TYPE_CHECKING:
    from traces.record.trace import Step, Trace

Changed = Mapping[str, Collection[int]]  # by real path of a file, the lines that were changed

MOST_DECORATORS = 20  # lines before the name of a function


def places_of(trace: Trace, changed: Changed) -> list[ReportPlace]:
    """Return where a run is to be corrected, the best place first.

    These are the rule to blame, the function of a variant or else one that a change touches; of several the one that
    the run entered last. Then follow the handlers of its steps, the last first.

    Args:
        changed: by file, the lines that were changed.
    """
    suspects = list(put_in(trace)) or [f for f in functions_of(trace) if is_changed(f, changed)]
    named = [*handlers(trace)][::-1]
    ran = [f for step in reversed(trace.steps) for name, f in named if name in entered(step)]
    blamed = [f for f in ran if f in suspects] or suspects
    return list(filter(None, map(located, [*blamed[:1], *ran])))


def put_in(trace: Trace) -> Iterator[FunctionType]:
    """Yield the functions that a run's variants replace, except those of variants that are safe or repair something."""
    variants = trace.model.protocol.variants
    for name in filter(None, trace.model.configuration.variant.split(",")):
        v = variants.get(name)
        if v is not None and not v.safe and not getattr(v, "repairs", False):
            yield from v.overrides.values()


def functions_of(trace: Trace) -> Iterator[FunctionType]:
    """Yield the functions of a protocol's own modules."""
    modules = {m.__name__ for m in trace.model.protocol.modules}
    text = trace.model.protocol.text
    if text is not None:
        modules.add(text.module.__name__)
    for module in [m for name in sorted(modules) if (m := sys.modules.get(name)) is not None]:
        for value in vars(module).values():
            if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                yield value


def is_changed(function: FunctionType, changed: Changed) -> bool:
    code = function.__code__
    lines = changed.get(os.path.realpath(code.co_filename))
    if not lines:
        return False
    last = max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)
    return any(code.co_firstlineno <= line <= last for line in lines)


def entered(step: Step) -> list[str]:
    """Return the names of the handlers that a step entered: message kinds of a user protocol, steps of the paper."""
    received = [step.message.kind] if step.message is not None and step.word.row.receives else []
    return [*received, *step.label.split(", ")]


def handlers(trace: Trace) -> Iterator[tuple[str, FunctionType]]:
    """Yield the functions that a step may enter, each with its handler's name; a variant's replace the protocol's."""
    program, text = trace.model.program, trace.model.protocol.text
    if text is not None:
        for kind, function in receiving(text.module).items():
            yield kind, program.overrides.get(function.__name__, function)
    for name, value in program.namespace.items():
        step = getattr(value, "paper_step", None)
        if step is not None and isinstance(value, FunctionType):
            yield step, program.overrides.get(name, value)


def receiving(module: Any) -> dict[str, FunctionType]:
    """Return by message kind the function of a module that receives it; one that receives all kinds has the key ""."""
    out = {}
    for function in vars(module).values():
        if isinstance(function, FunctionType) and hasattr(function, "receives"):
            kind = str(list(function.__annotations__.values())[-2 if "return" in function.__annotations__ else -1])
            out[kind.strip("'\"")] = function
    return out


def located(function: FunctionType) -> ReportPlace | None:
    path, first = Path(function.__code__.co_filename), function.__code__.co_firstlineno
    if not path.is_file():
        return None
    beyond = range(first, first + MOST_DECORATORS)
    line = next((k for k in beyond if linecache.getline(str(path), k).lstrip().startswith("def ")), first)
    return ReportPlace(path, line)
