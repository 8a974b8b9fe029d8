"""`zabcheck realise`: a plain seeded run that breaks the property a counterexample breaks."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.commands.common import HELD, INPUT, NO_VERDICT, Answer, Subcommand
from checker.report.progress import StatusLine
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
@click.option("--json", "as_json", is_flag=True, help="What was found, as JSON.")
def realise(trace: Path, attempts: int, limit: float, threads: int | None, as_json: bool) -> Answer:
    """Look for a seed and flags of the simulator that break the same property without a script.

    Prints the command that shows it. Ends with 3 if no run that was tried does.
    """
    request = RealiseRequest(str(trace), attempts, limit, threads)
    with StatusLine() as status:
        given, found = answer(request, partial(begun, status))
    name = given.property_name
    if isinstance(found, int):
        if as_json:
            result = {"request": request.as_json(), "property": name, "found": False, "attempts": found}
            return Answer(NO_VERDICT, content=result, indent=None)
        lost = any(step.word.row.spends == "power_losses" for step in given.steps)
        more = "; a plain run loses no power, as the counterexample does" if lost else ""
        return Answer(
            NO_VERDICT, notes=[f"none of {found:,} runs broke {name}; --attempts and --time-limit allow more{more}"]
        )
    from traces.shorten.realise import command_line

    command = command_line(found.run)
    if as_json:
        result = {
            "request": request.as_json(), "property": name, "found": True, "attempts": found.attempts,
            "command": command, "tick": found.tick,
        }  # fmt: skip
        return Answer(HELD, content=result)
    return Answer(HELD, [f"{command}\nbreaks {name} at tick {found.tick}; {found.attempts:,} runs tried"])


def begun(status: StatusLine, trace: Trace) -> None:
    """Show what runs are tried for."""
    if status.terminal:
        status.show(f"looking for a run of {trace.configuration.protocol} that breaks {trace.property_name}")
