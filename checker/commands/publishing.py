"""Turn the result of a command into its answer: on stdout, and in the formats that its flags request."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import combinations
from pathlib import Path
from typing import Any

import click

from checker.commands.common import NO_VERDICT, PATH, Answer, check_writable
from checker.output_files import is_one_file
from checker.plain_text import Verbatim
from checker.report.answer import Answered
from checker.report.formats.github import annotation_lines
from checker.report.formats.registry import formats_of
from checker.report.formats.terminal import shown
from checker.report.result import Result

Files = Sequence[tuple[Path, bytes]]


def format_options(kind: str) -> Callable[[Any], Any]:
    """Return a decorator that adds a flag for each file format in which results of a kind can be written."""

    def add(command: Any) -> Any:
        for each in reversed(formats_of(kind).values()):
            command = click.option(f"--{each.name}", type=PATH, metavar="FILE", help=each.help)(command)
        return command

    return add


def files_of(kind: str, flags: Mapping[str, Any], **others: Path | None) -> dict[str, Path]:
    """Return the file of each format that the flags request.

    Args:
        others: further files that the command writes, by flag.

    Raises:
        RequestError: one cannot be written.
        UsageError: two are the same.
    """
    files = {name: flags[name] for name in formats_of(kind) if flags.get(name) is not None}
    for name, path in files.items():
        check_writable(path, f"--{name}")
    named = {name: path for name, path in (others | files).items() if path is not None}
    for one, other in combinations(named, 2):
        if is_one_file(named[one], named[other]):
            raise click.UsageError(f"--{one} and --{other} name the same file")
    return files


def publish(
    result: Result,
    as_json: bool = False,
    files: Mapping[str, Path] | None = None,
    more: Files = (),
    troubles: Sequence[str] = (),
    long: bool = False,
) -> Answer:
    """Return a result as an answer, which `checker.ending.delivered` writes: text or JSON, and files.

    Args:
        files: by format.
        more: further files to write.
        troubles: what already failed, such as saving a trace: the exit code is then 3.
        long: whether a pager shows it on a terminal that is too small.

    Raises:
        NoVerdict: what a format draws does not replay.
    """
    formats = formats_of(result.kind)
    troubles = [*troubles, *(result.unsaved if isinstance(result, Answered) else ())]
    return Answer.of(
        NO_VERDICT if troubles else result.exit_code, as_json, result.as_json, lambda: printed(result),
        files=[*((path, formats[name].render(result)) for name, path in (files or {}).items()), *more],
        notes=[*(said for said in result.troubles if said), *troubles], indent=result.indent,
        summary=result.step_summary if isinstance(result, Answered) else None,
        trouble=next(iter(troubles), ""), long=(long or result.long) and not as_json,
    )  # fmt: skip


def printed(result: Result) -> Sequence[str]:
    """Return a result as stdout has it: its text, or what it has for another program, on a terminal with a line end."""
    if not isinstance(result, Answered):
        return shown(result)
    if raw := result.raw:
        return [Verbatim(raw if raw.endswith("\n") or not sys.stdout.isatty() else f"{raw}\n")]
    return [*shown(result), *(annotation_lines(result) if result.annotated else ())]


def published(kind: str, of_json: str = "The report as JSON.") -> Callable[[Any], Any]:
    """Return a decorator that makes a command of a function that returns a result: it adds `--json` and format flags.

    The function returns the result, or a pair of it and further files to write, or an answer if there is no result.
    """

    def add(answered: Callable[..., Result | tuple[Result, Files] | Answer]) -> Any:
        @wraps(answered)
        def command(*args: Any, as_json: bool, **flags: Any) -> Answer:
            files = files_of(kind, {name: flags.pop(name) for name in formats_of(kind)})
            found = answered(*args, **flags)
            if isinstance(found, Answer):
                return found
            result, more = found if isinstance(found, tuple) else (found, ())
            return publish(result, as_json, files, more)

        return click.option("--json", "as_json", is_flag=True, help=of_json)(format_options(kind)(command))

    return add
