"""`zabcheck minimise`: shorten a counterexample as far as possible."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from checker.commands.common import INPUT, PATH, Subcommand
from checker.commands.page_option import HTML, check_page, page_files
from checker.commands.publishing import Files, published
from checker.report.progress import StatusLine
from checker.report.result import StatedResult
from checker.report.shortened import shortened_result
from checker.requests.minimise import MinimiseRequest, answer


@click.command(cls=Subcommand)
@click.argument("trace", type=INPUT)
@click.option(
    "--output",
    type=PATH,
    metavar="FILE",
    help="Where to save the shortened trace (default: beside the trace, as .min.trace.json).",
)
@click.option(
    "--search",
    type=float,
    default=20.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to explore the reduced configuration for a shorter one.",
)
@HTML
@published("minimise", "The result as JSON.")
def minimise(trace: Path, output: Path | None, search: float, page: Path | None) -> tuple[StatedResult, Files]:
    """Shorten a counterexample: fewer steps, faults, messages, transactions and processes.

    The shortened run still violates the same property. Then the explorer searches the reduced configuration for a
    shorter run; if it finishes, no shorter run exists there. A run of --live in which a process starves is shortened
    while it stays fair and a process still starves.
    """
    request = MinimiseRequest(str(trace), str(output or ""), search)
    check_page(page, [trace, request.target])
    with StatusLine() as status:
        found = answer(request, line(status))
    return shortened_result(request.as_json(), found, str(request.target)), page_files(page, found.trace)


def line(status: StatusLine) -> Callable[[int, int | None], None]:
    """Return a function that shows progress while a trace is shortened."""

    def show(steps: int, schedules: int | None) -> None:
        if status.due():
            doing = "; exploring for a shorter run" if schedules is None else f", {schedules:,} schedules tried"
            status.show(f"{steps} steps left{doing}")

    return show
