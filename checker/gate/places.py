"""Where in a protocol's text something happened: the handler that a step of a counterexample entered."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from checker.report.sarif import Place

if TYPE_CHECKING:
    from traces.record.trace import Step, Trace

__all__ = ["place_of", "way_to"]

MOST_DECORATORS = 20  # lines before the name of a function


def way_to(trace: Trace) -> list[Place]:
    """A place for each step, in order, the last being the one that breaks the property."""
    from traces.explain.names import headline

    out = []
    for step in trace.steps:
        place = place_of(trace, step)
        out.append(Place(place.path, place.line, named=place.named, says=f"{step.number}. {headline(step)}"))
    return out


def place_of(trace: Trace, step: Step) -> Place:
    """Where the handler of a step is: the last that it entered; where it entered none, as a fault does, the
    protocol's text."""
    found: Place | None = None
    for name, function in handlers(trace):
        if name in entered(step):
            found = located(function, name)
    if found is not None:
        return found
    file = getattr(trace.model.protocol.modules[-1], "__file__", None)
    return Place(Path(file) if file else None, named=step.label)


def entered(step: Step) -> list[str]:
    """What handlers are called that a step entered: the steps of the paper, and a message of somebody's own text."""
    received = [step.message.kind] if step.message is not None and step.word.row.receives else []
    return [*received, *step.label.split(", ")]


def handlers(trace: Trace) -> Iterator[tuple[str, FunctionType]]:
    """The functions of a text that a step may enter, by what they are called; a variant's stand for the protocol's."""
    program, text = trace.model.program, trace.model.protocol.text
    if text is not None:
        for kind, function in receiving(text.module).items():
            yield kind, program.overrides.get(function.__name__, function)
    for name, value in program.namespace.items():
        step = getattr(value, "paper_step", None)
        if step is not None and isinstance(value, FunctionType):
            yield step, program.overrides.get(name, value)


def receiving(module: Any) -> dict[str, FunctionType]:
    """By kind of message the function of a text that receives it; one that receives all, by no kind."""
    out = {}
    for function in vars(module).values():
        if isinstance(function, FunctionType) and hasattr(function, "receives"):
            kind = str(list(function.__annotations__.values())[-2 if "return" in function.__annotations__ else -1])
            out[kind.strip("'\"")] = function
    return out


def located(function: FunctionType, name: str) -> Place:
    path, first = Path(function.__code__.co_filename), function.__code__.co_firstlineno
    if not path.is_file():
        return Place(None, named=f"{function.__name__} ({name})")
    beyond = range(first, first + MOST_DECORATORS)
    line = next((k for k in beyond if linecache.getline(str(path), k).lstrip().startswith("def ")), first)
    return Place(path, line, named=f"{function.__name__} ({name})")
