"""`zabcheck` without a subcommand: explore a protocol, or check it by another method, and report."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import NO_VERDICT, VIOLATED, Answer, NoVerdict, check_writable
from checker.commands.page_option import check_page, page_files
from checker.commands.requested import requested
from checker.output import coloured
from checker.requests import explore as exploring
from checker.requests import live, mutate, search
from checker.terminal import TerminalWatch

if TYPE_CHECKING:
    from checker.live.report import LiveReport
    from checker.report.report import Counterexample, Report
    from checker.search.report import SearchReport

__all__ = ["explore"]


@dataclass(frozen=True)
class Outputs:
    """Where the answer goes besides stdout.

    Attributes:
        as_json: stdout has JSON.
        trace, junit, html: files.
    """

    as_json: bool = False
    trace: Path | None = None
    junit: Path | None = None
    html: Path | None = None

    def check(self) -> None:
        """
        Raises:
            UsageError: a file cannot be written, or two are the same.
        """
        if self.trace is not None and self.trace == self.junit:
            raise click.UsageError("--trace and --junit name the same file")
        if self.html is not None and self.html in (self.trace, self.junit):
            raise click.UsageError("--html names the same file as --trace or --junit")
        for path, option in ((self.junit, "--junit"), (self.html, "--html")):
            if path is not None:
                check_writable(path, option)


def explore(**flags: Any) -> Answer:
    """Run `zabcheck` without a subcommand.

    Raises:
        RequestError, UsageError: the request is wrong.
        NoVerdict: there is no answer.
    """
    request = requested(**flags)
    outputs = Outputs(flags["as_json"], flags["trace"], flags["junit"], flags["html"])
    watch = TerminalWatch()
    if isinstance(request, live.LiveRequest):
        return answer_of_live(live.answer(request, watch), outputs)
    if isinstance(request, search.SearchRequest):
        check_page(outputs.html, [outputs.trace])
        return answer_of_search(search.answer(request, watch), outputs)
    if isinstance(request, mutate.MutateRequest):
        report = mutate.answer(request, watch)
        return Answer.of(report.exit_code, outputs.as_json, report.as_json, report.text)
    outputs.check()
    return answer_of(exploring.answer(request, watch), outputs)


def answer_of(report: Report, outputs: Outputs) -> Answer:
    """Return what an exploration came to, for every output."""
    notes = troubles(report.counterexamples.values())
    files = [
        (path, form(report)) for path, form in ((outputs.junit, as_junit), (outputs.html, as_page)) if path is not None
    ]
    return Answer.of(
        report.exit_code, outputs.as_json, report.as_json,
        lambda: coloured(report.show) if sys.stdout.isatty() else report.text(), files=files, notes=notes,
    )  # fmt: skip


def as_junit(report: Report) -> bytes:
    from checker.report.junit import junit_xml

    return junit_xml(report)


def as_page(report: Report) -> bytes:
    """
    Raises:
        NoVerdict: a counterexample does not replay.
    """
    from checker.report.page import ReportError, page_of

    try:
        return page_of(report.as_json()).encode()
    except ReportError as problem:
        raise NoVerdict(str(problem)) from None


def answer_of_live(report: LiveReport, outputs: Outputs) -> Answer:
    """Return what a liveness check came to."""
    notes = troubles(s.counterexample for s in report.starving.values())
    return Answer.of(report.exit_code, outputs.as_json, report.as_json, report.text, notes=notes)


def answer_of_search(report: SearchReport, outputs: Outputs) -> Answer:
    """Return what a random search came to."""
    runs = [v.counterexample for v in report.violations.values()]
    code = VIOLATED if report.violations and all(c.replayed and not c.trouble for c in runs) else NO_VERDICT
    files = page_files(outputs.html, runs[0].trace if runs else None)
    return Answer.of(code, outputs.as_json, report.as_json, report.text, files=files, notes=troubles(runs))


def troubles(counterexamples: Iterable[Counterexample]) -> list[str]:
    """Return what went wrong with counterexamples."""
    return [c.trouble for c in counterexamples if c.trouble]
