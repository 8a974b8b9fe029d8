"""`zabcheck` without a subcommand: explore a protocol, or check it by another method, and report."""

from __future__ import annotations

from typing import Any

from checker.commands.common import Answer
from checker.commands.page_option import check_page, page_files
from checker.commands.publishing import files_of, publish
from checker.commands.requested import requested
from checker.requests import explore as exploring
from checker.requests import live, mutate, search
from checker.terminal import TerminalWatch

__all__ = ["explore"]


def explore(**flags: Any) -> Answer:
    """Run `zabcheck` without a subcommand.

    Raises:
        RequestError, UsageError: the request is wrong.
        NoVerdict: there is no answer.
    """
    request = requested(**flags)
    as_json, trace, watch = flags["as_json"], flags["trace"], TerminalWatch()
    files = files_of(request.kind, flags, trace=trace)
    if isinstance(request, live.LiveRequest):
        return publish(live.answer(request, watch), as_json, files)
    if isinstance(request, mutate.MutateRequest):
        return publish(mutate.answer(request, watch), as_json, files)
    if isinstance(request, search.SearchRequest):
        check_page(flags["html"], [trace])
        report = search.answer(request, watch)
        shown = next((v.counterexample.trace for v in report.violations.values()), None)
        return publish(report, as_json, files, page_files(flags["html"], shown))
    return publish(exploring.answer(request, watch), as_json, files)
