"""`zabcheck replay`: repeat a saved trace in the simulator under its script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.commands.common import INPUT, Subcommand
from checker.commands.page_option import HTML, check_page, page_files
from checker.commands.publishing import Files, published
from checker.requests.replay import ReplayRequest, answer

if TYPE_CHECKING:
    from checker.report.replayed import ReplayResult


@click.command(cls=Subcommand)
@click.argument("trace", type=INPUT)
@HTML
@published("replay", "The result as JSON.")
def replay(trace: Path, page: Path | None) -> tuple[ReplayResult, Files]:
    """Play a saved trace in the simulator, and compare every step with the recorded one.

    The simulator has its own heap, links, clock and handlers.

    Exit codes: 0 every step is equal, and the property, if the trace names one, is violated at the last step and not
    before; 2 the file is not a trace, or contradicts its own schedule; 3 the explorer confirms the trace and the
    simulator does not, which is a bug of zabcheck.
    """
    check_page(page, [trace])
    found = answer(ReplayRequest(str(trace)))
    return found, page_files(page, found.trace)
