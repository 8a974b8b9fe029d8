"""Describe run-time errors in a run: the place, and the values there.

Whatever engine found such a run, it is taken again in CPython: an exception there has the values, and the lines of the
author's source that were running.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from invariants.registry import RUNTIME, Property, keeps, meets
from zabspec.language.layout.diagnostics import Stop, innermost, pointed
from zabspec.language.layout.error_sites import remedy
from zabspec.language.layout.notation import process_name, with_names
from zabspec.language.layout.place import SourcePlace, is_own_file
from zabspec.language.layout.schema import NODE, Layout
from zabspec.language.layout.source import annotated, known_tree
from zabspec.language.python.reference import BY_ZERO, ERRORS, RangeError, StateView
from zabspec.model import Model

START, STEP, ENABLED, JUDGED = "start", "step", "enabled", "property"  # where a run-time error is met
MEANT = {
    START: "in the initial state",
    STEP: "in this step",
    ENABLED: "in determining the enabled steps after it",
    JUDGED: "in evaluating the property",
}


@dataclass(frozen=True)
class Failure:
    """The run-time error in which a run ends.

    Attributes:
        where: at which point of the run: `start`, `step` (the last one), `enabled` (listing the steps possible after
            it) or `property`.
        judged: the property that was evaluated; empty if none was.
        sentence: what is wrong, with the values: `level[p1] would be 4, declared 0..3`.
        file, line, column, end: the innermost line of the author's source, and the piece of it. The file is named from
            the folder of the protocol's own.
        code: that line.
        values: what the names and places of its statement hold.
        widen: what makes more room, if a capacity was too small; empty if the error is the author's.
    """

    where: str
    judged: str
    sentence: str
    file: str
    line: int
    column: int
    end: int
    code: str
    values: tuple[tuple[str, str], ...]
    widen: str

    @property
    def place(self) -> str:
        """Return the place as `file:line`."""
        return f"{self.file}:{self.line}"

    @property
    def held(self) -> str:
        """Return the values as a phrase; empty if there are none."""
        return with_names(", ".join(f"{name} = {value}" for name, value in self.values))

    @property
    def text(self) -> str:
        """Return the error in one line."""
        what = f"{MEANT[self.where]}{f' {self.judged}' if self.judged else ''}"
        held = f"; {self.held}" if self.held else ""
        helps = f"; {remedy(self.widen)}" if self.widen else ""
        return f"{with_names(self.sentence)} ({self.place}: {self.code}{held}) {what}{helps}"

    @property
    def lines(self) -> list[str]:
        """Return the source line, a caret under the column, and the values, one line each."""
        marks = " " * self.column + "^" * max(1, self.end - self.column)
        return [f"{self.place}:", f"    {self.code}", f"    {marks}", *([f"with {self.held}"] if self.held else [])]

    def same_as(self, other: Failure) -> bool:
        """Return whether two errors are the same, apart from their values."""
        mine, theirs = ((f.file, f.line, f.column, bool(f.widen)) for f in (self, other))
        return mine == theirs

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "values": [list(pair) for pair in self.values]}


def of_author(trouble: BaseException) -> bool:
    """Return whether a run-time error is the author's, rather than a capacity of the model that was too small."""
    return not isinstance(trouble, RangeError) or trouble.of_author


def failure_of(model: Model, trouble: BaseException, where: str, judged: str = "") -> Failure:
    """Describe an exception of a running protocol, with the innermost line of the author's source.

    Args:
        model: the model.
        trouble: the exception.
        where: the point of the run: `start`, `step`, `enabled` or `property`.
        judged: the property that was evaluated; empty if none was.
    """
    stop = innermost(trouble, is_authors(model))
    sentence = said(model, trouble)
    widen = trouble.widen if isinstance(trouble, RangeError) else ""
    if stop is None:
        return Failure(where, judged, sentence, "", 0, 0, 0, "", (), widen)
    code, column, end = shown(stop.place)
    file = named_from(model, stop.place.file)
    values = stop.values if model.configuration.played is None else with_processes(model, stop)
    return Failure(where, judged, sentence, file, stop.place.line, column, end, code, values, widen)


def with_processes(model: Model, stop: Stop) -> tuple[tuple[str, str], ...]:
    """Return the values at an error, with processes written as `p2`, since with roles no process number is shown.

    A name is a process if it is a parameter of such a type, or the variable of a loop over processes.
    """
    tree = known_tree(stop.place.file)
    around = [
        f
        for f in ast.walk(tree or ast.Module([], []))
        if isinstance(f, ast.FunctionDef) and f.lineno <= stop.place.line <= (f.end_lineno or f.lineno)
    ]
    roles = model.configuration.played
    kinds = {"Node", *(roles.by_type if roles else ())}
    names = {a.arg for f in around for a in f.args.args if a.annotation and annotated(a.annotation) in kinds}
    for loop in (x for f in around for x in ast.walk(f) if isinstance(x, ast.For)):
        match loop:
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="processes"))):
                names.add(name)
    return tuple(
        (name, f"p{value}" if name in names and value.isdigit() else "nobody" if name in names else value)
        for name, value in stop.values
    )


def shown(place: SourcePlace) -> tuple[str, int, int]:
    """Return the source line of a place without indentation, and the columns of the marked piece in it."""
    text, _, marks = pointed(place).partition("\n")
    column = len(marks) - len(marks.lstrip())
    return text, column, len(marks)


def is_authors(model: Model) -> Callable[[str], bool]:
    """Return a predicate for the author's files: the protocol's own, its properties, any not of this project."""
    program = model.program
    own = {getattr(m, "__file__", None) for m in program.protocol}
    own |= {f.__code__.co_filename for f in program.overrides.values()}

    def asked(file: str) -> bool:
        return file in own or not is_own_file(file) or f"{os.sep}invariants{os.sep}" in file

    return asked


def named_from(model: Model, file: str) -> str:
    """Return a file's name for a trace: relative to the protocol's folder, so that both can be moved together."""
    from zabspec.language.layout.source import said_file

    text = model.protocol.text
    own = getattr(sys.modules.get(text.module.__name__, text.module), "__file__", None)
    if own is None or file.startswith("<") or (is_own_file(file) and not is_own_file(own)):
        return said_file(file)
    beside = os.path.relpath(file, os.path.dirname(own))
    return said_file(file) if is_own_file(file) and beside.startswith(os.pardir) else beside


def said(model: Model, trouble: BaseException) -> str:
    """Return what is wrong, with the values."""
    if not isinstance(trouble, RangeError):
        return f"an integer {BY_ZERO}"
    label = named_place(model.program.layout, trouble)
    return f"{label} {trouble.told or trouble.problem}"


def named_place(layout: Layout, trouble: RangeError) -> str:
    """Return the place that an error is about: a field with its indices, `level[p1]`, where they are known."""
    field = layout.fields.get(trouble.field)
    if field is None or trouble.at is None or not field.axes:
        return trouble.field
    buffer, offset, given = trouble.at
    axes = field.axes if given is None else field.axes[:given]
    if len(buffer) < layout.total:
        return trouble.field
    size = field.kind.size
    for index, start in layout.elements(field.name):
        if start <= offset < start + size:
            said = (process_name(i) if a == NODE else str(i) for i, a in zip(index, axes, strict=False))
            return field.name + "".join(f"[{i}]" for i in said)
    return trouble.field


def met_here(
    model: Model,
    names: Mapping[str, Any],
    state: StateView,
    before: StateView | None,
    properties: Iterable[Property],
    wanted: bool,
) -> Failure | None:
    """Return the run-time error that is met in the last state of a run, or None.

    It may be met in listing the possible steps, or in evaluating a property of the state or of the step to it.

    Args:
        before: the state before that step; None if there was no step.
        properties: the properties to evaluate.
        wanted: True for errors of the author, False for capacities.
    """
    try:
        names["enabled"](state.copy(), [0] * (model.most_steps + 1))
    except ERRORS as trouble:
        if of_author(trouble) == wanted:
            return failure_of(model, trouble, ENABLED)
        return None
    for p in properties:
        for evaluates in (keeps, meets):
            if p.of == RUNTIME:
                continue
            try:
                evaluates(p, names, state, before)
            except ERRORS as trouble:
                if of_author(trouble) == wanted:
                    return failure_of(model, trouble, JUDGED, p.name)
    return None
