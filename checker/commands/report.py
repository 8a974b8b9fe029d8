"""`zabcheck report`: write the report of an exploration, which `--json` wrote, as a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from checker.commands.common import HELD, INPUT, NO_VERDICT, PATH, Answer, Subcommand, check_writable
from checker.output_files import is_one_file

AS_STATED = "as the file states, not run again; --rerun explores the request again"


@click.command(cls=Subcommand)
@click.argument("run", metavar="RUN.json|ZK-NAME", type=INPUT)
@click.option(
    "--html", "page", type=PATH, is_flag=False, flag_value=Path("-"), metavar="[FILE]",
    help="Write the page to this file; stdout if not given.",
)  # fmt: skip
@click.option("--output", type=PATH, metavar="DIR", help="For a finding (ZK-trunc): the folder to write.")
@click.option("--rerun", is_flag=True, help="Explore the request again, and report whether the result is the same.")
def report(run: Path, page: Path | None, output: Path | None, rerun: bool) -> Answer:
    """Write a report (zabcheck --json > RUN.json) as one page: verdicts, counterexamples drawn, coverage.

    The figures are as the file states. The sentence and verdicts are derived from them; a report that says something
    else is refused. Each counterexample is rerun, and the picture is of that run. The exit code is that of the report.
    --rerun explores the request again; the exit code is 3 if the result differs.

    Or write the folder of a finding in ZooKeeper (zabcheck report ZK-trunc --output DIR): its run as a page, a repair,
    a JUnit test, and their results on each release. Exit code 3: the model no longer finds it."""
    if output is not None:
        if page is not None or rerun:
            raise click.UsageError("--output is for a finding, and goes with neither --html nor --rerun")
        return finding_folder(str(run), output)
    from checker.report.claimed import read_report
    from checker.report.page import ReportError, page_of

    if page is None and not rerun:
        raise click.UsageError(
            "give --html (a page), --rerun (compare the results), or --output (the folder of a finding)"
        )
    if page is not None and page != Path("-"):
        check_writable(page, "--html", regular=True)
        if is_one_file(page, run):
            raise click.UsageError(f"--html {page} is the report itself")
    try:
        given = read_report(run)
        same, note = compared(run, given) if rerun else (None, f"{run}: {AS_STATED}")
        text = page_of(given, stated=not same) if page is not None else ""
    except ReportError as problem:
        raise click.UsageError(str(problem)) from None
    code = NO_VERDICT if same is False else int(given["exit_code"])
    if page is None or page == Path("-"):
        return Answer(code, [] if page is None else [text], notes=[note])
    return Answer(code, files=[(page, text.encode())], notes=[note])


def finding_folder(issue: str, folder: Path) -> Answer:
    """Make the folder of a finding, new or empty, and return the files that go into it.

    Raises:
        RequestError: the folder cannot be used, or there is no such finding.
        NoVerdict: the model does not reproduce it.
    """
    from checker.requests.finding import FindingRequest, answer
    from checker.requests.queries import make_ready

    request = FindingRequest(issue)
    request.check()
    make_ready(folder, "--output")
    files = answer(request)
    names = ", ".join(str(name) for name in files)
    return Answer(HELD, [f"{folder}: {names}"], files=[(folder / name, data) for name, data in files.items()])


def compared(run: Path, given: Mapping[str, Any]) -> tuple[bool, str]:
    """Explore again; return whether the outcome is the same, and how it differs.

    Raises:
        UsageError: the report's request cannot be run here.
        NoVerdict: there is no outcome.
    """
    from checker.errors import RequestError
    from checker.requests.rerun import differences
    from checker.terminal import TerminalWatch
    from zabspec.authoring.declaration import ConfigError
    from zabspec.language import LanguageError

    try:
        found = differences(given, TerminalWatch())
    except (RequestError, ConfigError, LanguageError) as problem:
        raise click.UsageError(f"{run} cannot be explored again: {problem}") from None
    if not found:
        asked = "; the results of z3 were not recomputed" if any("symbolic" in p for p in given["properties"]) else ""
        return True, f"{run}: explored again, with the same result{asked}: {given['sentence']}"
    return False, f"{run}: explored again, with another result: {'; '.join(found)}"
