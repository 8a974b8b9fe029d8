"""`zabcheck realise`: a plain seeded run that breaks the property a counterexample breaks."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.commands.common import INPUT, NO_VERDICT, Subcommand
from checker.commands.publishing import published
from checker.report.progress import StatusLine
from checker.report.result import StatedResult
from checker.requests.realise import RealiseRequest, answer

if TYPE_CHECKING:
    from traces import Trace

__all__ = ["realise"]


@click.command(cls=Subcommand)
@click.argument("trace", type=INPUT)
@click.option("--attempts", type=int, default=200_000, show_default=True, help="Runs to try at most.")
@click.option(
    "--time-limit",
    "limit",
    type=float,
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Give up after so long.",
)
@click.option("--threads", type=int, help="Cores to use; all if not given.")
@published("realise", "What was found, as JSON.")
def realise(trace: Path, attempts: int, limit: float, threads: int | None) -> StatedResult:
    """Look for a seed and flags of the simulator that break the same property without a script.

    Prints the command that shows it. Ends with 3 if no run that was tried does.
    """
    request = RealiseRequest(str(trace), attempts, limit, threads)
    with StatusLine() as status:
        given, found = answer(request, partial(begun, status))
    name = given.property_name
    if isinstance(found, int):
        content = {"request": request.as_json(), "property": name, "reproduced": False, "attempts": found}
        lost = any(step.word.row.spends == "power_losses" for step in given.steps)
        more = "; a plain run loses no power, as the counterexample does" if lost else ""
        said = f"none of {found:,} runs broke {name}; --attempts and --time-limit allow more{more}"
        return StatedResult(said, NO_VERDICT, content, troubles=[said], kind="realise", indent=None)
    from traces.shorten.realise import command_line

    command = command_line(found.run)
    content = {
        "request": request.as_json(), "property": name, "reproduced": True, "attempts": found.attempts,
        "command": command, "tick": found.tick,
    }  # fmt: skip
    text = [f"{command}\nbreaks {name} at tick {found.tick}; {found.attempts:,} runs tried"]
    sentence = f"{name} breaks at tick {found.tick} by: {command}"
    return StatedResult(sentence, content=content, text=text, kind="realise")


def begun(status: StatusLine, trace: Trace) -> None:
    """Show what runs are tried for."""
    if status.terminal:
        status.show(f"looking for a run of {trace.configuration.protocol} that breaks {trace.property_name}")
