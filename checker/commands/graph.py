"""`zabcheck graph`: build the graph of a model's states and steps, and answer questions about it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands import shared_options as shared
from checker.commands.common import PATH, Subcommand, at_least
from checker.commands.publishing import published
from checker.commands.requested import model_request
from checker.requests.graph import USUAL_STATES, GraphRequest, answer
from checker.terminal import TerminalWatch

if TYPE_CHECKING:
    from checker.graph.report import GraphReport

EXAMPLES = """\b
Examples:
  zabcheck graph --variant small-quorum --nodes 2 --txns 1 --timeouts 0 --crashes 0 --losses 0
  zabcheck graph --nodes 2 --txns 1 --timeouts 1 --crashes 0 --losses 0 --output states.graphml
  zabcheck graph --variant small-quorum --nodes 2 --txns 1 --timeouts 0 --crashes 0 --losses 0 --depth 11
"""


@click.command(cls=Subcommand, epilog=EXAMPLES)
@shared.model_options
@shared.PROPERTY
@click.option("--depth", type=int, callback=at_least(0), help="Largest number of steps; to exhaustion if not given.")
@click.option(
    "--max-states", type=int, default=USUAL_STATES, show_default=True, callback=at_least(1),
    help="Refuse a graph with more states.",
)  # fmt: skip
@shared.NO_SYMMETRY
@click.option("--output", type=PATH, metavar="FILE", help="Write the graph to this file, as GraphML.")
@published("graph")
def graph(output: Path | None, depth: int | None, max_states: int, no_symmetry: bool, **flags: Any) -> GraphReport:
    """Build the graph of a model's states, and compute what every violating run has in common.

    For each violated property: which steps every such run takes, which states it passes, the least budgets that are
    enough, and from which states the violation is certain. All of this is about the graph: runs within the budgets
    and, with --depth, runs of at most that many steps.

    Exit codes: 0 no violation in the graph (which is not a verdict), 1 a violation, 2 the request is wrong, 3 no graph.
    """
    request = GraphRequest(
        model_request(**flags), flags["names"], depth, max_states, not no_symmetry, str(output or "")
    )
    return answer(request, TerminalWatch())
