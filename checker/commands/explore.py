"""`zabcheck` without a subcommand: explore a protocol, or check it by another method, and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from checker.commands.common import Answer
from checker.commands.page_option import check_page, page_files
from checker.commands.publishing import files_of, publish
from checker.commands.requested import requested
from checker.output_files import is_one_file
from checker.requests import explore as exploring
from checker.requests import live, mutate, search, witness
from checker.terminal import TerminalWatch


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
    if isinstance(request, witness.WitnessRequest):
        from checker.report.witness_page import page_of_runs

        check_page(flags["html"], [trace])
        witnessed = witness.answer(request, watch)
        drawn = [(page, page_of_runs(witnessed).encode())] if (page := flags["html"]) is not None else []
        return publish(witnessed, as_json, files, drawn)
    if isinstance(request, search.SearchRequest):
        check_page(flags["html"], [trace])
        report = search.answer(request, watch)
        shown = next((v.counterexample.trace for v in report.violations.values()), None)
        return publish(report, as_json, files, page_files(flags["html"], shown))
    from checker.ci.advice import advised
    from checker.evidence.gathered import with_evidence
    from checker.report.progress import StatusLine

    explored = advised(exploring.answer(request, watch))
    with StatusLine() as status:
        explored = with_evidence(explored, request, status.update)
    taken = saved_over([c.path for c in explored.counterexamples.values() if c.path], files)
    written = {name: path for name, path in files.items() if name not in taken}
    return publish(explored, as_json, written, troubles=[*taken.values()])


def saved_over(traces: Sequence[str], files: Mapping[str, Path]) -> dict[str, str]:
    """Return the formats whose output file a trace of this exploration has overwritten, each with a sentence.

    This is known only after the exploration: the traces of all properties but the first have derived names
    (`trace_path`).
    """
    return {
        name: f"cannot write {path} (--{name}): a counterexample was saved there"
        for name, path in files.items()
        if any(is_one_file(path, Path(trace)) for trace in traces)
    }
