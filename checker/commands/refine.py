"""`zabcheck refine`: compare the executable protocol with the abstract one that the proof is about."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import PATH, Subcommand, at_least, budget_options
from checker.commands.publishing import published
from checker.commands.smt2 import NO_QUERIES, SMT2, queries_into
from checker.requests.refine import USUAL, RefineRequest, answer
from checker.terminal import TerminalWatch

if TYPE_CHECKING:
    from checker.refinement.report import RefinementReport

EXAMPLES = """\b
Examples:
  zabcheck refine --crashes 0 --losses 0 --timeouts 1     every reachable state
  zabcheck refine --variant small-quorum --nodes 2        which guard of which action it violates
  zabcheck refine --depth 30 --json
"""


@click.command(cls=Subcommand, epilog=EXAMPLES)
@shared.named(
    "--variant", "NAME", "Change one rule of zab; `zabcheck variants` lists the variants.", completing.variants
)
@shared.QUORUMS
@shared.NODES
@click.option("--txns", default=2, show_default=True, help="Number of transactions that may be abcast.")
@budget_options(USUAL)
@click.option("--depth", type=int, callback=at_least(1), help="Largest number of steps; to exhaustion if not given.")
@click.option("--keep-going", is_flag=True, help="Continue after a failure, to find a shortest run for every failure.")
@shared.NO_SYMMETRY
@shared.THREADS
@shared.STATES
@shared.TIME_LIMIT
@shared.MEMORY_LIMIT
@SMT2
@click.option(
    "--trace", type=PATH, metavar="FILE", help="Save the failing run to this file; it is not saved if not given."
)
@published("refine")
def refine(**flags: Any) -> RefinementReport:
    """Check that every step of zab is a step of abstract ZAB, which `zabcheck prove` proves safe.

    Both are explored side by side: each transition must be an abstract action whose guard holds, or change nothing
    of the abstract state, and every clause of the proof's invariant must hold in every state.

    Exit codes: 0 it refines, 1 a step does not, 2 the request is wrong, 3 no verdict.
    """
    values = {f.name: flags[f.name] for f in fields(RefineRequest) if flags.get(f.name) is not None}
    budgets = {name: flags[name] for name in USUAL}
    named = {"budgets": budgets, "symmetry": not flags["no_symmetry"], "trace": str(flags["trace"] or "")}
    request = RefineRequest(**(values | named))
    with queries_into(flags["smt2"], NO_QUERIES):
        return answer(request, TerminalWatch())
