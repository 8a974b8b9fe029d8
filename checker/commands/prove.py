"""`zabcheck prove`: the proof without bounds, and its mutants."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import click

from checker.commands import shared_options as shared
from checker.commands.common import HELD, Answer, Subcommand, table
from checker.commands.common import quorums as quorum_text
from checker.commands.publishing import published
from checker.commands.smt2 import SMT2, queries_into
from checker.report.progress import StatusLine
from checker.report.proved import broken_result, proved_result
from checker.report.result import StatedResult
from checker.requests.prove import ProveRequest, answer


@click.command(cls=Subcommand)
@shared.named("--mutant", "NAME", "Break one rule, and show what fails; `list` lists the mutants.")
@click.option(
    "--seed", "seeds", type=int, multiple=True, metavar="N", help="Seed of the solver (repeatable; default 0)."
)
@click.option(
    "--query-limit", type=float, default=10.0, show_default=True, metavar="SECONDS",
    help="Time limit of each query.",
)  # fmt: skip
@click.option(
    "--search", type=float, metavar="SECONDS",
    help="With --mutant: let z3 search for a violation, instead of showing the known one.",
)  # fmt: skip
@click.option(
    "--quorums", default="", callback=quorum_text, metavar="majority|FILE",
    help="Check whether the proof applies to the quorums of this zoo.cfg.",
)  # fmt: skip
@SMT2
@published("prove")
def prove(
    mutant: str, seeds: tuple[int, ...], query_limit: float, search: float | None, quorums: str, smt2: Path | None
) -> StatedResult | Answer:
    """Prove abstract ZAB safe for any number of processes and any length.

    Exit codes: 0 proved, 1 a mutant violates a property, or --quorums do not intersect, 2 the request is wrong, 3 no
    verdict.
    """
    request = ProveRequest(mutant, seeds, query_limit, search, quorums)
    with queries_into(smt2):
        if mutant == "list":
            return listing()
        with StatusLine() as status:
            found = answer(request, partial(show, status))
        if isinstance(found, list):
            return proved_result(request.as_json(), found, request.instance)
        return broken_result(request.as_json(), found)


def listing() -> Answer:
    """List the mutants."""
    from zabspec.abstract.mutants import MUTANTS

    return Answer(HELD, [table(("mutant", "what is changed"), [(m.name, m.doc) for m in MUTANTS.values()])])


def show(status: StatusLine, what: str) -> None:
    """Show the current query once it takes long."""
    if status.due():
        status.show(f"{time.perf_counter() - status.started:.0f} s: {what}")
