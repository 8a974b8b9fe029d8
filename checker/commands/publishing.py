"""How every command ends: its result on stdout, and in the formats that its flags ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import combinations
from pathlib import Path
from typing import Any

import click

from checker.commands.common import NO_VERDICT, PATH, check_writable, complain, write_file
from checker.report.formats import json_text, terminal
from checker.report.formats.registry import formats_of
from checker.report.result import Result

__all__ = ["complain_of", "files_of", "format_options", "publish", "published"]


def format_options(kind: str) -> Callable[[Any], Any]:
    """Return what adds a flag for each format that results of a kind are written in beside stdout."""

    def add(command: Any) -> Any:
        for each in reversed(formats_of(kind).values()):
            command = click.option(f"--{each.name}", type=PATH, metavar="FILE", help=each.help)(command)
        return command

    return add


def files_of(kind: str, flags: Mapping[str, Any], **others: Path | None) -> dict[str, Path]:
    """Return the file of each format that flags ask for.

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
        if named[one] == named[other]:
            raise click.UsageError(f"--{one} and --{other} name the same file")
    return files


def publish(result: Result, as_json: bool = False, files: Mapping[str, Path] | None = None) -> int:
    """Write a result on stdout, as text or JSON, and to files by format; return the exit code.

    Raises:
        NoVerdict: what a format draws is not so.
    """
    code = json_text.show(result) if as_json else terminal.show(result)
    formats = formats_of(result.kind)
    complain_of(result.troubles)
    wrong = [write_file(path, formats[name].render(result)) for name, path in (files or {}).items()]
    return NO_VERDICT if complain_of(wrong) else code


def published(kind: str, of_json: str = "The report as JSON.") -> Callable[[Any], Any]:
    """Return what makes a command of a function that returns a result: it adds `--json` and the flags of the formats.

    The function returns the result; or also, why something else could not be written, sentences that may be empty; or
    an exit code, if it has written what there is.
    """

    def add(answered: Callable[..., Result | tuple[Result, Sequence[str]] | int]) -> Any:
        @wraps(answered)
        def command(*args: Any, as_json: bool, **flags: Any) -> int:
            files = files_of(kind, {name: flags.pop(name) for name in formats_of(kind)})
            found = answered(*args, **flags)
            if isinstance(found, int):
                return found
            result, wrong = found if isinstance(found, tuple) else (found, ())
            code = publish(result, as_json, files)
            return NO_VERDICT if complain_of(wrong) else code

        return click.option("--json", "as_json", is_flag=True, help=of_json)(format_options(kind)(command))

    return add


def complain_of(sentences: Sequence[str]) -> bool:
    """Write sentences on stderr, but for empty ones; return whether there was one."""
    said = [sentence for sentence in sentences if sentence]
    for sentence in said:
        complain(sentence)
    return bool(said)
