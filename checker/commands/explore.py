"""`zabcheck` without a subcommand: explore a protocol, or check it by another method, and report."""

from __future__ import annotations

from typing import Any

from checker.commands.common import NO_VERDICT
from checker.commands.page_option import check_page, draw
from checker.commands.publishing import complain_of, files_of, publish
from checker.commands.requested import requested
from checker.requests import explore as exploring
from checker.requests import live, mutate, search
from checker.terminal import TerminalWatch

__all__ = ["explore"]


def explore(**flags: Any) -> int:
    """Run `zabcheck` without a subcommand; return the exit code.

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
        code = publish(report, as_json, files)
        return NO_VERDICT if complain_of([draw(flags["html"], shown)]) else code
    return publish(exploring.answer(request, watch), as_json, files)
