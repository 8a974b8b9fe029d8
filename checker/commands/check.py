"""`zabcheck check`: run a matrix of named checks, and compare each with its expected result."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import INPUT, PATH, Answer, Subcommand
from checker.commands.publishing import Files, files_of, format_options, publish
from checker.ending import refused
from checker.errors import RequestError

if TYPE_CHECKING:
    from checker.ci.result import CheckResult

INDEX = {"check": "checks.html", "entry": "gallery.html"}  # the page of all checks, by what they are called

EXAMPLES = """\b
Examples:
  zabcheck check                           zabcheck.toml, or pyproject.toml with a table tool.zabcheck
  zabcheck check --only joins --only agrees
  zabcheck check ci/zabcheck.toml --junit zabcheck.xml --sarif zabcheck.sarif
  zabcheck check --github --changed-since origin/main
"""


@dataclass(frozen=True)
class CheckOutputs:
    """The outputs of `zabcheck check`.

    Attributes:
        files: by format.
        as_json: stdout has JSON. github: stdout has annotations too, and the step's summary is written.
        traces, html: folders for runs.
    """

    files: Mapping[str, Path]
    as_json: bool = False
    github: bool = False
    traces: Path | None = None
    html: Path | None = None

    @staticmethod
    def of(flags: Mapping[str, Any]) -> CheckOutputs:
        """Return the outputs that the flags request.

        Raises:
            RequestError, UsageError: two outputs contradict each other, or one cannot be written.
        """
        if flags["as_json"] and flags["github"]:
            raise RequestError("--json and --github both write to stdout")
        files = files_of("check", flags)
        for name in ("traces", "html"):
            if flags[name] is not None and not flags[name].is_dir():
                raise RequestError(f"--{name} {flags[name]}: there is no such folder")
        return CheckOutputs(files, *(flags[name] for name in ("as_json", "github", "traces", "html")))


def file_options(command: Any) -> Any:
    """Add the options that name further outputs to a command."""
    for option in (
        click.option(
            "--traces", type=PATH, metavar="DIR", help="Save the runs of new violations in this folder, to be replayed."
        ),
        click.option(
            "--html",
            type=PATH,
            metavar="DIR",
            help="Save a page of all checks in this folder, and one page for each violation.",
        ),
        click.option("--json", "as_json", is_flag=True, help="The result, or the error, as JSON."),
        click.option(
            "--github", is_flag=True, help="Print annotations for GitHub Actions, and write the step summary."
        ),
        format_options("check"),
    ):
        command = option(command)
    return command


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("file", required=False, type=INPUT)
@click.option("--only", multiple=True, metavar="NAME", help="Run only this check (repeatable).")
@click.option(
    "--changed-since",
    metavar="REV",
    help="Run only checks that can be affected by changes since this commit, as git reports them.",
)
@file_options
def check(file: Path | None, only: tuple[str, ...], changed_since: str | None, **outputs: Any) -> Answer:
    """Run the checks of zabcheck.toml and compare the results with its expectations.

    Exit codes: 0 all as expected; 1 something differs: a new violation, one that vanished, a premise no longer reached,
    a changed figure; 2 the file or the request is wrong; 3 some check has no verdict.
    """
    return for_machines(lambda: checked(file, only, changed_since, outputs), outputs["as_json"])


def checked(file: Path | None, only: Sequence[str], changed_since: str | None, outputs: Mapping[str, Any]) -> Answer:
    """Run the checks of a file.

    Raises:
        RequestError, UsageError: the file or the request is wrong.
    """
    from checker.ci.changed import changed_lines
    from checker.ci.configuration import MatrixError, default_file, read_matrix
    from checker.ci.selection import chosen, result_of

    written = CheckOutputs.of(outputs)
    try:
        matrix = read_matrix(default_file() if file is None else file)
        why = chosen(matrix, only, changed_since)
        since = changed_lines(matrix, changed_since) if changed_since is not None else {}
        result = replace(result_of(matrix, why, datetime.datetime.now(datetime.UTC).date()), changed=since)
    except MatrixError as problem:
        raise click.UsageError(str(problem)) from None
    return answer_of(result, written)


# --- the answer ------------------------------------------------------------------------------------


def answer_of(result: CheckResult, outputs: CheckOutputs) -> Answer:
    """Return the answer for every requested output; runs are saved."""
    from checker.ci.summary import summary
    from checker.report.formats.github import annotation_lines, summary_file

    pages, troubles = saved(result, outputs)
    answer = publish(result, outputs.as_json, outputs.files, pages, troubles)
    if not outputs.github:
        return answer
    path = summary_file(os.environ)
    return replace(
        answer, texts=[*answer.texts, *annotation_lines(result)],
        summary=None if path is None else (path, summary(result).encode(errors="replace")),
    )  # fmt: skip


def saved(result: CheckResult, outputs: CheckOutputs) -> tuple[Files, list[str]]:
    """Save the runs worth keeping as traces; return the pages that draw them, and what failed."""
    from checker.ci.page import index_of
    from traces import TraceError, write_trace
    from traces.pictures import to_html

    pages, out = [], []
    for name, trace in result.runs():
        try:
            if outputs.traces is not None:
                write_trace(trace, outputs.traces / f"{name}.trace.json")
            if outputs.html is not None:
                pages.append((outputs.html / f"{name}.html", to_html(trace).encode()))
        except TraceError as problem:
            out.append(str(problem))
    if outputs.html is not None:
        index = index_of(result, {path.stem for path, _ in pages})
        pages.append((outputs.html / INDEX[result.what], index.encode()))
    return pages, out


def for_machines(work: Callable[[], Answer], wanted: bool) -> Answer:
    """Return an answer; with --json, also one that reports a wrong request.

    Raises:
        ClickException, RequestError: the request is wrong, and --json is not given.
    """
    try:
        return work()
    except (click.ClickException, RequestError) as problem:
        if not wanted:
            raise
        return refused(problem, as_json=True)
