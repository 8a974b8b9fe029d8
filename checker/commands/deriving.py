"""Make the command of a request: its options, their help and completion, and what it prints.

The declaration is in `checker/requests/base/request.py`; no request is named here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_origin

import click

from checker.commands import completing
from checker.commands.common import INPUT, PATH, Subcommand
from checker.commands.publishing import Files, check_page, files_of, publish
from checker.ending import Answer
from checker.errors import HELD, NoVerdict, RequestError
from checker.output_files import is_one_file
from checker.report.answer import Answered
from checker.report.formats.registry import formats_of
from checker.requests.base.kinds import kind_named
from checker.requests.base.request import Field, Option, Request, answered, fields_of
from checker.terminal import TerminalWatch


class Number(click.ParamType):  # type: ignore[type-arg]  # generic since 8.3
    """A number; of what is none, the request says that it must be one."""

    def __init__(self, kind: type[int] | type[float]) -> None:
        self.kind, self.name = kind, {int: "integer", float: "float"}[kind]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.kind(value)
        except ValueError:
            return value


# click's types by the type of a field whose value is no file.
TYPES: dict[Any, Any] = {int: Number(int), float: Number(float), str: click.STRING, bool: click.BOOL}
METAVARS: dict[Any, str] = {
    "read": "FILE", "write": "FILE", "stream": "FILE", "folder": "DIR", "address": "DIR", int: "N", float: "SECONDS",
}  # fmt: skip


def command_of(kind: type[Request]) -> click.Command:
    """Return the command that makes a request of a kind, answers it and writes the answer."""
    kinds = kinds_of(kind)

    def run(**flags: Any) -> Answer:
        return run_one_of(kinds, flags)

    said, _, examples = (inspect.getdoc(kind) or "").partition("\n\nExamples:\n")
    epilog = f"\b\nExamples:\n{examples}" if examples else None
    make = click.command(name=kind.kind, cls=Subcommand, help=said, epilog=epilog)
    return make(with_options(*kinds)(run))


def kinds_of(kind: type[Request]) -> tuple[type[Request], ...]:
    """Return the kinds of requests that the command of a kind makes, itself first."""
    return (kind, *(found for name in kind.others if (found := kind_named(name)) is not None))


def run_one_of(kinds: Sequence[type[Request]], flags: Mapping[str, Any]) -> Answer:
    """Make the request that the command line chooses among some kinds, answer it, and write the answer.

    Raises:
        RequestError: an option does not go with that kind, or a value is wrong.
        NoVerdict: there is no answer.
    """
    request = requested(kinds, flags)
    page = Path(flags["html"]) if request.draws and flags.get("html") is not None else None
    files = files_of(request.kind, flags, **request.outputs)
    check_page(page, [*request.places])
    try:
        answer = answered(request, TerminalWatch())
    except NoVerdict as problem:
        if problem.answer is None:
            raise
        return publish(problem.answer, flags["as_json"], files)
    taken = [name for name, path in files.items() if any(is_one_file(path, Path(trace)) for trace in answer.saved)]
    troubles = [f"cannot write {files.pop(name)} (--{name}): a counterexample was saved there" for name in taken]
    more = list(answer.outputs)
    if page is not None:
        from traces import TraceError

        try:
            more += [(page, drawn.encode())] if (drawn := answer.drawing()) else []
        except TraceError as problem:
            troubles.append(f"the run cannot be drawn: {problem}")
    return published(answer, flags["as_json"], files, more, troubles)


def published(
    answer: Answered, as_json: bool, files: Mapping[str, Path], more: Files, troubles: Sequence[str]
) -> Answer:
    """Return an answer, and those that follow it."""

    def following() -> Answer:
        found = answer.then()
        return Answer(HELD) if found is None else published(found, as_json, files, found.outputs, ())

    said = publish(answer, as_json, files, more, troubles)
    return replace(said, then=following) if answer.goes_on and said.code == HELD else said


def requested(kinds: Sequence[type[Request]], flags: Mapping[str, Any]) -> Request:
    """Return the request that the command line makes, of one of some kinds.

    Raises:
        RequestError: an option does not go with that kind, or a value is wrong.
    """
    kind = chosen(kinds)
    made = kind(**given(kind, flags))
    if flags["as_json"]:
        for name, field in fields_of(kind).items():
            if field.option is not None and field.option.text and getattr(made, name):
                raise RequestError(f"--json and {field.flag} both write to stdout")
    return made


def chosen(kinds: Sequence[type[Request]]) -> type[Request]:
    """Return the kind of request that the command line chooses: by the option of its mode, else the first.

    Raises:
        RequestError: an option does not go with that kind.
    """
    named = on_line()
    kind = next((k for k in kinds if k.mode and mode_name(k) in named), kinds[0])
    for name, parameter in named.items():
        having = [k for k in kinds if takes(k, name)]
        if kind not in having:
            for_ = (
                f"does not go with {mode_flag(kind)}" if kind.mode else f"is for {' and '.join(map(mode_flag, having))}"
            )
            raise RequestError(f"{parameter.opts[0]} {for_}")
    return kind


def takes(kind: type[Request], name: str) -> bool:
    """Return whether a kind of request has the parameter of a name."""
    of_all = {*formats_of(kind.kind), "as_json", mode_name(kind), *(["html"] if kind.draws else [])}
    return name in of_all or name.removeprefix("no_") in fields_of(kind)


def mode_name(kind: type[Request]) -> str:
    """Return the name of the parameter that chooses a kind; empty if none does."""
    return kind.mode.flag.replace("-", "_") if isinstance(kind.mode, Option) else kind.mode


def mode_flag(kind: type[Request]) -> str:
    """Return the flag that chooses a kind."""
    return f"--{kind.mode.flag}" if isinstance(kind.mode, Option) else fields_of(kind)[kind.mode].flag


def on_line() -> dict[str, click.Parameter]:
    """Return the parameters of the command that its command line gives, by name."""
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    return {p.name: p for p in context.command.params if p.name and context.get_parameter_source(p.name) is source}


def given(kind: type[Request], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that the command line gives, in the form that the request's constructor takes.

    Raises:
        RequestError: an option contradicts its opposite.
    """
    named, out = on_line(), {}
    for name, field in fields_of(kind).items():
        if name in named:
            out[name] = flags[name]
            if field.option is not None and isinstance(field.default, bool):
                out[name] = not field.option.off
        elif field.option is not None and field.option.unset is not None:
            out[name] = field.option.unset
        if f"no_{name}" in named:
            if name in named:
                raise RequestError(f"{field.flag} and {named[f'no_{name}'].opts[0]} contradict each other")
            out[name] = None
    return kind.of_mode(flags[mode_name(kind)], out) if mode_name(kind) in named else out


def with_options(*kinds: type[Request]) -> Callable[[Any], Any]:
    """Return a decorator that adds the options of every field of some kinds, and of what they print and write."""
    declared: dict[str, Any] = {}
    formats: dict[str, Any] = {}
    for kind in kinds:
        if isinstance(kind.mode, Option):
            declared[mode_name(kind)] = flag_of(mode_name(kind), kind.mode)
        for name, field in fields_of(kind).items():
            if field.option is not None:
                everywhere = all(name in fields_of(each) for each in kinds)
                declared.setdefault(name, parameter(field, field.option, everywhere))
                if field.option.none is not None:
                    declared.setdefault(f"no_{name}", flag_of(f"no_{name}", field.option.none))
        formats |= {name: each.help for name, each in formats_of(kind.kind).items()}
    if any(kind.draws for kind in kinds):
        formats.setdefault("html", "Also draw the run, as a page with all its steps.")
    declared["as_json"] = click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")
    declared |= {
        name: click.option(f"--{name}", type=PATH, metavar="FILE", help=said) for name, said in formats.items()
    }

    def add(command: Any) -> Any:
        for each in reversed(declared.values()):
            command = each(command)
        return command

    return add


def flag_of(name: str, option: Option) -> Any:
    """Return the decorator that adds an option that is no field."""
    kind, default = (str, "") if option.bare else (bool, False)
    return parameter(Field(name, kind, kind, kind, option, default), option, everywhere=False)


def place_type(option: Option) -> click.Path | None:
    """Return click's type of an option whose value is a file or a folder."""
    if option.place in ("read", "read any", "table"):
        return INPUT
    return PATH if option.place else None


def parameter(field: Field, option: Option, everywhere: bool) -> Any:
    """Return the decorator that adds a field's argument or option.

    Args:
        everywhere: whether every kind of request that the command makes has it; else click demands none.
    """
    several = get_origin(field.type) in (tuple, Mapping)
    plain = str if option.reads else field.element
    settings: dict[str, Any] = {"type": place_type(option) or TYPES[plain]}
    if option.complete:
        settings["shell_complete"] = completing.named(option.complete)
    elif field.choices:
        settings["shell_complete"] = completing.one_of(*field.choices)
    if option.argument:
        required = everywhere and (option.required or field.default == "")
        settings |= {"nargs": -1 if several else 1, "required": required, "metavar": option.metavar or None}
        return click.argument(field.name, **settings)
    shown = option.shown and not option.required and field.default not in (None, "", (), {})
    metavar = option.metavar or (
        f"[{'|'.join(field.choices)}]" if field.choices else METAVARS.get(option.place or plain)
    )
    settings |= {"help": option.help, "metavar": metavar, "multiple": several, "required": option.required}
    if shown:
        settings |= {"show_default": True, "default": option.usual or field.default}
    if isinstance(field.default, bool):
        settings = {"is_flag": True, "help": option.help}
    if option.bare:
        settings |= {"is_flag": False, "flag_value": option.bare}
    short = [f"-{option.short}"] if option.short else []
    return click.option(field.flag, *short, field.name, **settings)
