"""`zabcheck replay`: a saved trace again, in the simulator under its script."""

from __future__ import annotations

from pathlib import Path

import click

from checker.commands.common import HELD, INPUT, Answer, Subcommand
from checker.commands.page_option import HTML, check_page, page_files
from checker.requests.replay import ReplayRequest, answer

__all__ = ["replay"]


@click.command(cls=Subcommand)
@click.argument("trace", type=INPUT)
@HTML
@click.option("--json", "as_json", is_flag=True, help="What was replayed, as JSON.")
def replay(trace: Path, page: Path | None, as_json: bool) -> Answer:
    """Play a saved trace in the simulator, whose own heap, links, clock and handlers do what the
    trace says happens, and compare every step with the recorded one.

    Ends with 0 if every step is equal and the property, if the trace names one, breaks at the last
    step and not before; with 2 if the file is no trace, or says what its own schedule does not do;
    with 3 if the explorer confirms the trace and the simulator does not, which is a bug of zabcheck.
    """
    check_page(page, [trace])

    from checker.report import replayed as report

    request = ReplayRequest(str(trace))
    given, result = answer(request)
    return Answer.of(
        HELD, as_json, lambda: report.as_json(trace, given, result, request.as_json()), lambda: report.as_text(result),
        files=page_files(page, given),
    )  # fmt: skip
