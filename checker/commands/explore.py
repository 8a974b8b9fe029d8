"""`zabcheck` without a subcommand: explore a protocol, or check it by another method, and report."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import NO_VERDICT, VIOLATED, NoVerdict, check_writable, complain, say, write_file
from checker.commands.page_option import check_page, draw
from checker.commands.requested import requested
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


def explore(**flags: Any) -> int:
    """Run `zabcheck` without a subcommand; return the exit code.

    Raises:
        RequestError, UsageError: the request is wrong.
        NoVerdict: there is no answer.
    """
    request = requested(**flags)
    outputs = Outputs(flags["as_json"], flags["trace"], flags["junit"], flags["html"])
    watch = TerminalWatch()
    if isinstance(request, live.LiveRequest):
        return publish_live(live.answer(request, watch), outputs)
    if isinstance(request, search.SearchRequest):
        check_page(outputs.html, [outputs.trace])
        return publish_search(search.answer(request, watch), outputs)
    if isinstance(request, mutate.MutateRequest):
        report = mutate.answer(request, watch)
        return say(json.dumps(report.as_json(), indent=1) if outputs.as_json else report.text(), report.exit_code)
    outputs.check()
    return publish(exploring.answer(request, watch), outputs)


def publish(report: Report, outputs: Outputs) -> int:
    """Write the report of an exploration to every output; return the exit code."""
    code = report.exit_code
    if outputs.as_json:
        code = say(json.dumps(report.as_json(), indent=1), code)
    elif sys.stdout.isatty():
        from rich.console import Console

        report.show(Console(highlight=False))
    else:
        code = say(report.text(), code)
    complain_of(report.counterexamples.values())
    for path, form in ((outputs.junit, as_junit), (outputs.html, as_page)):
        trouble = write_file(path, form(report)) if path is not None else ""
        if trouble:
            complain(trouble)
            code = NO_VERDICT
    return code


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


def publish_live(report: LiveReport, outputs: Outputs) -> int:
    """Write the report of a liveness check; return the exit code."""
    code = report.exit_code
    code = say(json.dumps(report.as_json(), indent=1) if outputs.as_json else report.text(), code)
    complain_of(s.counterexample for s in report.starving.values())
    return code


def publish_search(report: SearchReport, outputs: Outputs) -> int:
    """Write the report of a random search; return the exit code."""
    runs = [v.counterexample for v in report.violations.values()]
    code = VIOLATED if report.violations and all(c.replayed and not c.trouble for c in runs) else NO_VERDICT
    code = say(json.dumps(report.as_json(), indent=1) if outputs.as_json else report.text(), code)
    complain_of(runs)
    return max(code, draw(outputs.html, runs[0].trace if runs else None))


def complain_of(counterexamples: Iterable[Counterexample]) -> None:
    """Write on stderr what went wrong with counterexamples."""
    for c in counterexamples:
        if c.trouble:
            complain(c.trouble)
