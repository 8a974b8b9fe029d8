"""Make the command of a request: its options, their help and completion, and what it prints.

The declaration is in `checker/requests/request.py`; no request is named here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click

from checker.commands import completing
from checker.commands.common import INPUT, INPUT_OR_FOLDER, PATH, PATH_OR_ADDRESS, Answer, Subcommand
from checker.commands.page_option import HTML, check_page, page_files
from checker.commands.publishing import files_of, format_options, publish
from checker.report.answer import Answered
from checker.requests.request import Field, Option, Request, fields_of
from checker.terminal import TerminalWatch

TYPES = {"read": INPUT, "read any": INPUT_OR_FOLDER, "write": PATH, "address": PATH_OR_ADDRESS}
PLAIN = {int: click.INT, float: click.FLOAT, str: click.STRING}


def command_of(kind: type[Request]) -> click.Command:
    """Return the command that makes a request of a kind, answers it and writes the answer."""

    def run(as_json: bool, page: Path | None = None, **flags: Any) -> Answer:
        files = files_of(kind.kind, flags)
        request = kind(**given(kind, flags))
        check_page(page, [*request.places])
        answer: Answered = request.answer(TerminalWatch())
        shown = next(iter(answer.runs.values()), None) if page is not None else None
        return publish(answer, as_json, files, page_files(page, shown))

    command: Any = click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")(
        format_options(kind.kind)(run)
    )
    if kind.draws:
        command = HTML(command)
    for field in reversed(fields_of(kind).values()):
        if field.option is not None:
            command = parameter(field, field.option)(command)
    return click.command(name=kind.kind, cls=Subcommand, help=kind.__doc__)(command)


def given(kind: type[Request], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that the command line names, in the form that the request's constructor takes."""
    source = click.get_current_context().get_parameter_source
    out = {}
    for name, field in fields_of(kind).items():
        if source(name) is click.core.ParameterSource.COMMANDLINE:
            out[name] = flags[name]
        elif field.option is not None and field.option.unset is not None:
            out[name] = field.option.unset
    return out


def parameter(field: Field, option: Option) -> Any:
    """Return the decorator that adds a field's argument or option."""
    several = get_origin(field.type) is tuple
    settings: dict[str, Any] = {"type": type_of(field, option)}
    if option.complete:
        settings["shell_complete"] = getattr(completing, option.complete)
    if option.argument:
        required = field.default in ("", ())
        return click.argument(field.name, nargs=-1 if several else 1, required=required, **settings)
    shown = field.default not in (None, "", ()) and not isinstance(field.default, bool)
    settings |= {"help": option.help, "metavar": option.metavar or None, "multiple": several}
    settings |= {"show_default": option.usual or shown, "default": field.default if shown else None}
    if isinstance(field.default, bool):
        settings = {"is_flag": True, "help": option.help, "flag_value": not option.off, "default": field.default}
    if option.bare:
        settings |= {"is_flag": False, "flag_value": option.bare}
    return click.option(field.flag, field.name, **settings)


def type_of(field: Field, option: Option) -> Any:
    """Return click's type of a field's value."""
    if option.place:
        return TYPES[option.place]
    if option.reads is not None:
        return click.STRING
    if get_origin(field.type) is Literal:
        return click.Choice([str(each) for each in get_args(field.type)])
    return PLAIN[get_args(field.type)[0] if get_origin(field.type) is tuple else field.type]
