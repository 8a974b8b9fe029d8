"""`zabcheck realise`: find a plain seeded run that violates the property that a counterexample violates."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.commands.common import INPUT, Subcommand
from checker.commands.publishing import published
from checker.report.progress import StatusLine
from checker.report.realised import realised_result
from checker.report.result import StatedResult
from checker.requests.realise import RealiseRequest, answer

if TYPE_CHECKING:
    from traces import Trace


@click.command(cls=Subcommand)
@click.argument("trace", type=INPUT)
@click.option("--attempts", type=int, default=200_000, show_default=True, help="Largest number of runs to try.")
@click.option(
    "--time-limit",
    "limit",
    type=float,
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Stop after this time.",
)
@click.option("--threads", type=int, help="Cores to use; all if not given.")
@published("realise", "The result as JSON.")
def realise(trace: Path, attempts: int, limit: float, threads: int | None) -> StatedResult:
    """Search for a seed and flags of the simulator that violate the same property without a script.

    Print the command that shows it. Exit code 3: none of the runs violated it.
    """
    request = RealiseRequest(str(trace), attempts, limit, threads)
    with StatusLine() as status:
        given, found = answer(request, partial(begun, status))
    return realised_result(request.as_json(), given, found)


def begun(status: StatusLine, trace: Trace) -> None:
    """Show which run is being searched for."""
    if status.terminal:
        status.show(f"searching for a run of {trace.configuration.protocol} that violates {trace.property_name}")
