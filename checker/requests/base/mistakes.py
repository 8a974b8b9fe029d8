"""Find mistakes of a protocol's file: the first of its declarations, or the first of each of its functions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.errors import RequestError
from invariants import properties_of
from invariants.binding import full_namespace
from zabspec.authoring.reading import read_source
from zabspec.authoring.unused import unused
from zabspec.files import LARGEST_SOURCE, read_bytes
from zabspec.language.front.frontend import FrontEnd
from zabspec.language.layout.source import LanguageError
from zabspec.model import Configuration, Model

LOCATED = re.compile(r"^(?P<file>.+?\.py):(?P<line>\d+): (?P<reason>.*)", re.DOTALL)
LISTED = re.compile(r"^(?P<reason>.*) \((?P<file>[^()]+\.py):(?P<line>\d+)\)$")


@dataclass(frozen=True)
class Mistake:
    """A mistake in a file.

    Attributes:
        path: the file, as it was named, or that of a module that it imports.
        line: from 1; 0 if no line is known.
        column: from 1; 0 for the whole line.
        reason: what is wrong, and what to write.
        level: `error`; `note` for what has no effect.
    """

    path: str
    line: int
    column: int
    reason: str
    level: str = "error"


def mistakes_in(path: Path) -> Sequence[Mistake]:
    """Return mistakes of a protocol's file by line: some of them if there are any, else what has no effect.

    Raises:
        RequestError: it cannot be read.
    """
    try:
        read_bytes(path, LARGEST_SOURCE)
    except OSError as problem:
        raise RequestError(f"cannot read {path}: {problem.strerror or problem}") from None
    try:
        found = dict.fromkeys(told(problem, path) for problem in problems(str(path))) or dict.fromkeys(notes(path))
    except ValueError as problem:
        found = {told(problem, path): None}
    return sorted(found, key=lambda m: (m.line, m.column))


def problems(name: str) -> Iterator[LanguageError]:
    """Check a protocol's source as an exploration of it does, and each of its variants; yield what is wrong.

    If a function is outside the language, this yields the first mistake of each function.

    Raises:
        ConfigError, LanguageError, ValueError: a declaration is wrong.
    """
    source = read_source(name)
    properties = properties_of(name)
    for variant in ("", *source.variants):
        model = Model(Configuration(name, variant))
        program, names = model.program, full_namespace(model)
        own = [f.__name__ for p in properties for f in (p.holds, p.witness)] if not variant else []
        goals = [source.apart.get(g.waits.__name__, g.waits.__name__) for g in source.goals] if not variant else []
        front = FrontEnd(program.layout, names, program.types, program.handlers)
        try:
            for function in ("initialize", "apply", "enabled", *own, *goals):
                front.function(function)
        except LanguageError as first:
            yield first
            idle = " ".join(unused(model))
            for function in sorted({*own, *goals, *program.handlers}):
                if f"nothing calls {function} (" not in idle:
                    try:
                        FrontEnd(program.layout, names, program.types, program.handlers).function(function)
                    except LanguageError as problem:
                        yield problem
    for start in source.declared.starts:
        assert Model(Configuration(name, start=start.name)).program.beginning.functions


def told(problem: Exception, path: Path) -> Mistake:
    """Return a mistake as it is reported."""
    place = getattr(problem, "place", None)
    located = LOCATED.match(str(problem))
    reason = located["reason"] if located else str(problem).removeprefix(f"{path} ")
    file = place.file if place is not None else located["file"] if located else ""
    line = place.line if place is not None else int(located["line"]) if located else 0
    column = place.column + 1 if place is not None and place.end > place.column else 0
    same = not file or os.path.realpath(file) == os.path.realpath(path)
    return Mistake(str(path) if same else file, line, column, " ".join(reason.split()))


def notes(path: Path) -> Iterator[Mistake]:
    """Yield what has no effect in a file without mistakes."""
    for said in unused(Model(Configuration(str(path)))):
        found = LISTED.match(said)
        line, reason = (int(found["line"]), found["reason"]) if found else (0, said)
        yield Mistake(str(path), line, 0, reason, "note")
