"""The mechanism of all requests: one declaration, from which a command, a function, JSON and refusals follow.

A field of a request is declared once, with its limits and its option:

    attempts: Annotated[Count, Option("Largest number of runs to try.")] = 200_000

docs/decisions/0008-a-request-is-a-type.md says what follows from it. `checker/commands/deriving.py` makes the command.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from functools import update_wrapper
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast, get_args, get_origin

import msgspec
from msgspec import Meta

from checker.errors import RequestError
from checker.output_files import check_input, check_writable, save_file
from checker.requests.base.watch import QUIET, Watch
from zabspec.files import Unreadable, place_of, without_secrets
from zabspec.typed import alternatives, near, wrong

if TYPE_CHECKING:
    from invariants.registry import Property
    from traces.record.trace import Trace
    from zabspec.model import Configuration

    TraceFile = Trace | str | PathLike[str]
    File = str | PathLike[str]
    Files = Iterable[File] | File
    Words = Iterable[str] | str
    Names = Iterable[str | Property] | str
    Witnesses = Names | bool
else:  # what a field holds; above, what a caller may give
    File = TraceFile = str
    Files = Words = Names = Witnesses = tuple[str, ...]

# Types of fields, with their limits.
Count = Annotated[int, Meta(ge=1)]
Seed = Annotated[int, Meta(ge=0, le=2**32 - 1)]  # of z3 and of random numbers
Seconds = Annotated[float, Meta(gt=0, le=sys.float_info.max, description="a number of seconds above 0")]

PLACES = ("master", "folder", "servers")  # it may be an address, with a key or a token in it
P = typing.ParamSpec("P")
A = typing.TypeVar("A", covariant=True)
R = typing.TypeVar("R")


@dataclass(frozen=True)
class Option:
    """The option of a field on the command line.

    Attributes:
        help: its sentence.
        flag: its name, if it is not the field's.
        short: a letter that is its flag as well.
        metavar: what stands for its value in the help; empty for the type's.
        complete: a completer of `checker/commands/completing.py`.
        place: `read` or `write`, if its value is a file; `read any` if it may be a folder as well; `stream`, if what
            is written may be a pipe; `folder`.
        text: whether it concerns the text alone: it does not go with `--json`.
        required: whether a command line must have it.
        argument: whether it is an argument, without a flag.
        off: whether the flag makes the field False.
        shown: whether the help shows its default. usual: how the help writes it.
        bare: its value if the flag has none.
        none: the option by which it is None.
        unset: its value on a command line without it; None for the field's default.
        reads: converts what a caller gives, such as text, to what the field holds.
    """

    help: str = ""
    flag: str = ""
    short: str = ""
    metavar: str = ""
    complete: str = ""
    place: typing.Literal["", "read", "read any", "table", "write", "stream", "folder", "address"] = ""
    required: bool = False
    argument: bool = False
    off: bool = False
    text: bool = False
    shown: bool = True
    usual: str = ""
    bare: str = ""
    none: Option | None = None
    unset: str | None = None
    reads: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Field:
    """A field of a request, as its annotation declares it.

    Attributes:
        name: its name.
        type: without limits, and without None.
        element: the type of a value that a flag gives: of its elements, if it has several; of its choices.
        hint: the whole annotation, for msgspec.
        option: its option; None if it has none.
        default: its default; `MISSING` if it has none.
    """

    name: str
    type: Any
    element: Any
    hint: Any
    option: Option | None
    default: Any

    @property
    def flag(self) -> str:
        """The flag, as messages name it."""
        if self.option is None or not (self.option.flag or self.option.off):
            return flag(self.name)
        return f"--{self.option.flag or 'no-' + self.name}"

    @property
    def choices(self) -> list[str]:
        """The values that it may have, if they are listed."""
        return [str(choice) for choice in get_args(self.type)] if get_origin(self.type) is typing.Literal else []

    def read(self, value: Any) -> Any:
        """Return a caller's value in the form that the field holds.

        Raises:
            RequestError: it has another type, or is beyond the limits.
        """
        option = self.option
        if option is not None and option.reads is not None and value is not None:
            with suppress(TypeError):  # `checked` refuses what cannot be converted
                value = option.reads(value)
        if isinstance(value, PathLike):
            value = fspath(value)
        if isinstance(value, str) and value and option is not None and option.place not in ("", "table"):
            try:
                value = fspath(place_of(value))
            except Unreadable as problem:
                if option.place != "address":
                    raise RequestError(f"{without_secrets(value)}: {problem}") from None
        if isinstance(value, Request) or (is_trace(value) and option is not None and option.place == "read"):
            return value
        return self.checked(names_of(value) if get_origin(self.type) is tuple else value)

    def checked(self, value: Any) -> Any:
        """Return a value, a list as a tuple, after checking it.

        Raises:
            RequestError: it has another type, or is beyond the limits.
        """
        try:
            return msgspec.convert(value, self.hint)
        except msgspec.ValidationError:
            raise RequestError(f"{self.flag} {next(wrong(value, self.hint))}") from None


def is_trace(value: object) -> bool:
    """Return whether a value is a trace. Nothing is imported: a trace comes from a module that is loaded."""
    module = sys.modules.get("traces.record.trace")
    return module is not None and isinstance(value, module.Trace)


def name_of(trace: TraceFile) -> str:
    """Return the path of a trace's file; for a trace without a file, a name for messages."""
    return fspath(trace) if isinstance(trace, str | PathLike) else "the trace"


def names_in(names: Witnesses | Files) -> tuple[str, ...]:
    """Return names that a field holds: whatever a caller gave, they are text there."""
    return tuple(map(str, names if isinstance(names, tuple) else ()))


def names_of(value: Any) -> Any:
    """Return names as a tuple: one, several, or all; a property stands for its name."""
    if isinstance(value, bool):
        return ("all",) if value else ()
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = (value,)
    return tuple(fspath(each) if isinstance(each, PathLike) else getattr(each, "name", each) for each in value)


_FIELDS: dict[type, dict[str, Field]] = {}


def fields_of(kind: type[Request]) -> dict[str, Field]:
    """Return the fields of a request, by name."""
    if kind not in _FIELDS:
        own = {f.name: f for f in fields(kind)}
        bases = [base for base in kind.__bases__ if issubclass(base, Request)]
        out = {name: field for base in bases for name, field in fields_of(base).items()}
        hints = inspect.get_annotations(kind, eval_str=True)  # of a base they were read already
        out |= {name: declared(own[name], hint) for name, hint in hints.items() if name in own}
        _FIELDS[kind] = out | {name: dataclasses.replace(out[name], option=None) for name in kind.excluded}
    return _FIELDS[kind]


def declared(f: dataclasses.Field[Any], hint: Any) -> Field:
    """Return a field, with what its annotation declares."""
    ((kind, marks),) = (each for each in alternatives(hint) if each[0] is not types.NoneType)
    origin, inner = get_origin(kind), get_args(kind)
    element = alternatives(inner[0])[0][0] if origin is tuple else type(inner[0]) if origin is typing.Literal else kind
    option = next((m for m in marks if isinstance(m, Option)), None)
    default = f.default if f.default_factory is MISSING else f.default_factory()
    return Field(f.name, kind, element, hint, option, default)


def flag(name: str) -> str:
    """Return the flag of a field, as messages name it."""
    return f"--{name.replace('_', '-')}"


class PlainSignature:
    """The signature of a request, and of its function: the types that a caller gives, without limits and options."""

    def __get__(self, request: object, kind: type[Request]) -> inspect.Signature:
        _, *given = inspect.signature(kind.__init__).parameters.values()
        return inspect.Signature([p.replace(annotation=plain_type(p.annotation)) for p in given])


def plain_type(annotation: str) -> str:
    """Return the source of an annotation without what `Annotated` adds to its type."""
    found = ast.parse(annotation, mode="eval").body
    while isinstance(found, ast.Subscript) and ast.unparse(found.value) == "Annotated":
        found = typing.cast("ast.Tuple", found.slice).elts[0]
    return ast.unparse(found)


@dataclass(frozen=True)
class Request:
    """A request: a frozen dataclass. Its fields are numbers, text, booleans, tuples and mappings of these, or requests.

    Creating one checks its fields, then what `validate` checks. Nothing is read or loaded then: names of protocols,
    properties and variants are looked up when the request is answered.

    Raises:
        RequestError: a value has the wrong type or is out of range, or two values contradict each other.
    """

    __signature__ = PlainSignature()
    kind: ClassVar[str] = ""
    group: ClassVar[str] = "Others"  # the title of its command's group in `--help`, if `checker/cli.py` lists none
    others: ClassVar[tuple[str, ...]] = ()  # kinds that the command makes too, if an option chooses their mode
    excluded: ClassVar[tuple[str, ...]] = ()  # fields of a base class that it does not take
    mode: ClassVar[str | Option] = ""  # the field, or the option, by which a command of several kinds chooses it
    completed_by: ClassVar[str] = ""  # `module:function` that adds to the answer what is found in other ways
    draws: ClassVar[bool] = False  # whether its command has --html, a page that draws the run
    shares: ClassVar[tuple[str, ...] | None] = None  # what its traces share with its configuration; None: it makes none
    shortens: ClassVar[bool] = False  # whether its traces may have smaller sizes and budgets

    def __post_init__(self) -> None:
        for name, declared in fields_of(type(self)).items():
            object.__setattr__(self, name, declared.read(getattr(self, name)))
            if name in self.excluded and getattr(self, name) != declared.default:
                raise RequestError(f"{declared.flag} does not go with {self.kind}")
        self.validate()
        for name, declared in fields_of(type(self)).items():
            if declared.option is not None and declared.option.argument and getattr(self, name) == "":
                raise RequestError(f"{declared.option.metavar or name.upper()} is missing")

    def validate(self) -> None:
        """Check values and combinations of values.

        Raises:
            RequestError: one is not possible.
        """

    def answer(self, watch: Watch = QUIET) -> Any:
        """Return the answer.

        Raises:
            RequestError: the request is wrong.
            NoVerdict: there is no answer.
        """
        raise NotImplementedError

    @property
    def places(self) -> Iterable[Path]:
        """The files that answering reads or writes."""
        return self.placed().values()

    @property
    def outputs(self) -> dict[str, Path]:
        """The files that answering writes, by field."""
        return self.placed("write", "stream")

    def placed(self, *kinds: str) -> dict[str, Path]:
        """Return the files of the fields of some kinds of places, or of all."""
        found = ((name, f.option, getattr(self, name)) for name, f in fields_of(type(self)).items())
        named = ((name, option.place, value) for name, option, value in found if option and isinstance(value, str))
        return {
            name: Path(value)
            for name, place, value in named
            if place and value not in ("", "-") and place in (kinds or [place])
        }

    def traced(self) -> Configuration | None:
        """Return the configuration of the traces that it makes, or None if it follows from what the request names.

        Raises:
            RequestError, ConfigError, LanguageError: there is no such model.
        """
        return None

    @classmethod
    def of_mode(cls, value: Any, given: dict[str, Any]) -> dict[str, Any]:
        """Return the given fields, with what the option of the mode adds."""
        return given

    def as_json(self) -> dict[str, Any]:
        """Return the request as JSON values, with its kind. Values that are the default are left out."""
        out: dict[str, Any] = {"kind": self.kind} if self.kind else {}
        for name, declared in fields_of(type(self)).items():
            value = getattr(self, name)
            if isinstance(value, Request):
                value = value.as_json()
            elif declared.default == value:
                continue
            elif is_trace(value):
                value = name_of(value)
            if name in PLACES and isinstance(value, str):
                value = without_secrets(value)
            if isinstance(value, tuple):
                value = [without_secrets(v) if name in PLACES else v for v in value]
            out[name] = dict(value) if isinstance(value, Mapping) else value
        return out

    @classmethod
    def from_json(cls, given: object) -> typing.Self:
        """Return the request that `as_json` wrote.

        Raises:
            RequestError: it is not a request of this kind.
        """
        if not isinstance(given, Mapping):
            raise RequestError(f"a request of kind {cls.kind or cls.__name__} is a JSON object, not {given!r:.60}")
        values = dict(given)
        if cls.kind and values.pop("kind", cls.kind) != cls.kind:
            raise RequestError(f"this is a request of kind {given['kind']!r:.60}, not {cls.kind}")
        known = fields_of(cls)
        for name, value in values.items():
            if name not in known:
                raise RequestError(f"a request of kind {cls.kind or cls.__name__} has no {name!r:.60}")
            if isinstance(known[name].type, type) and issubclass(known[name].type, Request):
                values[name] = known[name].type.from_json(value)
            else:
                values[name] = known[name].checked(value)
        return cls(**values)


# --- what follows from a request ---------------------------------------------------------------------


class Answerable(typing.Protocol[A]):
    """A request with the type of its answer."""

    def answer(self, watch: Watch = ...) -> A:
        """Return the answer."""


def function(kind: Callable[P, Answerable[A]]) -> Callable[P, A]:
    """Return the function of the Python API that makes a request and answers it; its keywords are the fields.

    None is the same as not given. No file is written unless a field names one.
    """

    def call(*args: P.args, **given: P.kwargs) -> A:
        import traces.pictures  # noqa: F401  # from then on a notebook shows the picture of a trace
        from checker.terminal import TerminalWatch
        from zabspec.authoring.sources import begin_request

        begin_request()
        answer = answered(cast("Request", made(kind, args, given)), TerminalWatch())
        for path, data in answer.outputs:
            save_file(path, data)
        return cast("A", answer)

    update_wrapper(call, kind, updated=())  # its signature, too
    call.__name__ = call.__qualname__ = kind.kind.replace("-", "_")  # type: ignore[attr-defined]
    return call


def answered(request: Request, watch: Watch) -> Any:
    """Answer a request as commands and functions do: with what is found in other ways."""
    for place in ("read", "read any", "table"):
        for path in request.placed(place).values():
            check_input(path, folder=place != "read")
    for name, path in request.outputs.items():
        declared = fields_of(type(request))[name]
        check_writable(path, declared.flag, regular=declared.option is not None and declared.option.place == "write")
    answer = request.answer(watch)
    if not request.completed_by:
        return answer
    module, _, name = request.completed_by.partition(":")
    return getattr(import_module(module), name)(answer, request, watch)


def made(kind: Callable[..., R], args: tuple[Any, ...], given: Mapping[str, Any]) -> R:
    """Return a request from what a caller gives.

    Raises:
        RequestError: there is no such field, or a value is wrong.
    """
    known = inspect.signature(kind).parameters
    for name in given:
        if name not in known:
            raise RequestError(f"there is no option {name!r}{near(name, known)}")
    return kind(*args, **{name: value for name, value in given.items() if value is not None})
