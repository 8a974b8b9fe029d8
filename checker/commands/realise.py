"""`zabcheck realise`: a plain seeded run that breaks the property a counterexample breaks."""

from __future__ import annotations

import os
from pathlib import Path

import click

from checker.commands.common import (
    HELD,
    INPUT,
    NO_VERDICT,
    Subcommand,
    at_least,
    complain,
    say,
    seconds,
    verified_trace,
)

__all__ = ["realise"]


@click.command(cls=Subcommand)
@click.argument("trace", type=INPUT)
@click.option(
    "--attempts", type=int, default=200_000, show_default=True, callback=at_least(1), help="Runs to try at most."
)
@click.option(
    "--time-limit",
    "limit",
    type=float,
    default=60.0,
    show_default=True,
    callback=seconds,
    metavar="SECONDS",
    help="Give up after so long.",
)
@click.option("--threads", type=int, callback=at_least(1), help="Cores to use; all if not given.")
@click.option("--json", "as_json", is_flag=True, help="What was found, as JSON.")
def realise(trace: Path, attempts: int, limit: float, threads: int | None, as_json: bool) -> int:
    """Look for a seed and flags of the simulator that break the same property without a script.

    Prints the command that shows it. Ends with 3 if no run that was tried does.
    """
    from checker.report.progress import StatusLine
    from traces.shorten.realise import command_line, wanted_of
    from traces.shorten.realise import realise as search
    from zabspec.protocols.registry import PROTOCOLS

    given = verified_trace(trace)
    if not given.property_name:
        raise click.UsageError(f"{trace} breaks no property")
    c = given.configuration
    wanted = wanted_of(given.property_name, c)
    try:
        with StatusLine() as status:
            if status.terminal:
                status.show(f"looking for a run of {c.protocol} that breaks {given.property_name}")
            found = search(wanted, attempts, limit, threads or os.cpu_count() or 1)
    except KeyError:
        replicas = PROTOCOLS[c.protocol].declared.replicas
        judged = "of histories" if replicas else "of histories, or of states without their mail"
        raise click.UsageError(
            f"{given.property_name} is not a property {judged}, which simulated runs are judged by"
        ) from None
    if isinstance(found, int):
        if as_json:
            import json

            return say(json.dumps({"property": given.property_name, "found": False, "attempts": found}), NO_VERDICT)
        lost = any(step.word.row.spends == "power_losses" for step in given.steps)
        more = "; a plain run loses no power, as the counterexample does" if lost else ""
        complain(f"none of {found:,} runs broke {given.property_name}; --attempts and --time-limit allow more{more}")
        return NO_VERDICT
    command = command_line(found.run)
    if as_json:
        import json

        result = {
            "property": given.property_name,
            "found": True,
            "attempts": found.attempts,
            "command": command,
            "tick": found.tick,
        }
        return say(json.dumps(result, indent=1), HELD)
    return say(f"{command}\nbreaks {given.property_name} at tick {found.tick}; {found.attempts:,} runs tried", HELD)
