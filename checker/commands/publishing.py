"""Turn the result of a command into its answer: on stdout, and in the formats that its flags request."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import click

from checker.ending import Answer
from checker.errors import NO_VERDICT
from checker.output_files import check_writable, is_one_file
from checker.plain_text import Verbatim
from checker.report.answer import Answered
from checker.report.formats.registry import formats_of
from checker.report.formats.terminal import shown

Files = Sequence[tuple[Path, bytes]]


def files_of(kind: str, flags: Mapping[str, Any], **others: Path | None) -> dict[str, Path]:
    """Return the file of each format that the flags request.

    Args:
        others: further files that the command writes, by flag.

    Raises:
        RequestError: one cannot be written.
        UsageError: two are the same.
    """
    files = {name: Path(flags[name]) for name in formats_of(kind) if flags.get(name) is not None}
    for name, path in files.items():
        check_writable(path, f"--{name}")
    named = {name: path for name, path in (others | files).items() if path is not None}
    for one, other in combinations(named, 2):
        if is_one_file(named[one], named[other]):
            raise click.UsageError(f"--{one} and --{other} name the same file")
    return files


def check_page(page: Path | None, others: Sequence[Path]) -> None:
    """Check that the page of `--html` can be written, before the work.

    Raises:
        UsageError: it cannot, or it is another file that the command reads or writes.
    """
    if page is None:
        return
    check_writable(page, "--html", regular=True)
    if any(is_one_file(page, other) for other in others):
        raise click.UsageError(f"--html {page} is also read or written by this command")


def publish(
    result: Answered,
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
    troubles = [*troubles, *result.unsaved]
    return Answer.of(
        NO_VERDICT if troubles else result.exit_code, as_json, result.as_json, lambda: printed(result),
        files=[*((path, formats[name].render(result)) for name, path in (files or {}).items()), *more],
        notes=[*(said for said in result.troubles if said), *troubles], indent=result.indent,
        trouble=next(iter(troubles), ""), long=(long or result.long) and not as_json,
    )  # fmt: skip


def printed(result: Answered) -> Sequence[str]:
    """Return a result as stdout has it: its text, or what it has for another program, on a terminal with a line end."""
    if raw := result.raw:
        return [Verbatim(raw if raw.endswith("\n") or not sys.stdout.isatty() else f"{raw}\n")]
    if not result.annotated:
        return shown(result)
    from checker.report.formats.github import annotation_lines

    return [*shown(result), *annotation_lines(result)]
