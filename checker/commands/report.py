"""`zabcheck report`: the report of an exploration, which `--json` wrote, as a page."""

from __future__ import annotations

from pathlib import Path

import click

from checker.commands.common import INPUT, PATH, Cannot, Subcommand, check_writable, say, write_file

__all__ = ["report"]


@click.command(cls=Subcommand)
@click.argument("run", metavar="RUN.json", type=INPUT)
@click.option(
    "--html", "page", type=PATH, is_flag=False, flag_value=Path("-"), required=True, metavar="[FILE]",
    help="The page; stdout if no file is named.",
)  # fmt: skip
def report(run: Path, page: Path) -> int:
    """Write a report (zabcheck --json > RUN.json) as one page: verdicts, counterexamples drawn, coverage.

    Each counterexample is run again and drawn from that run. Ends as the exploration did.
    """
    from checker.report.page import ReportError, page_of, read_report

    if page != Path("-"):
        check_writable(page, "--html", regular=True)
        if page.exists() and run.exists() and page.samefile(run):
            raise click.UsageError(f"--html {page} is the report itself")
    try:
        given = read_report(run)
        text = page_of(given)
    except ReportError as problem:
        raise click.UsageError(str(problem)) from None
    code = int(given["exit_code"])
    if page == Path("-"):
        return say(text, code)
    trouble = write_file(page, text.encode())
    if trouble:
        raise Cannot(trouble)
    return code
