"""`zabcheck prove`: the proof without bounds, and what breaks it."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.commands import shared_options as shared
from checker.commands.common import HELD, NO_VERDICT, VIOLATED, Answer, Subcommand, table
from checker.commands.publishing import published
from checker.commands.smt2 import SMT2, queries_into
from checker.report.progress import StatusLine
from checker.report.result import StatedResult, plural
from checker.requests.prove import ProveRequest, answer

if TYPE_CHECKING:
    from checker.proof.break_it import Broken
    from checker.proof.prove import Proof

__all__ = ["prove"]


@click.command(cls=Subcommand)
@shared.named("--mutant", "NAME", "Break one rule, and see what fails; `list` lists them.")
@click.option("--seed", "seeds", type=int, multiple=True, metavar="N", help="Seed of the solver (repeatable); 0.")
@click.option(
    "--query-limit", type=float, default=10.0, show_default=True, metavar="SECONDS",
    help="Time limit of each query.",
)  # fmt: skip
@click.option(
    "--search", type=float, metavar="SECONDS",
    help="With --mutant: let z3 look for a violation, instead of showing the one that is known.",
)  # fmt: skip
@SMT2
@published("prove")
def prove(
    mutant: str, seeds: tuple[int, ...], query_limit: float, search: float | None, smt2: Path | None
) -> StatedResult | Answer:
    """Prove abstract ZAB safe for any number of processes and any length.

    Exit codes: 0 proved, 1 a mutant breaks a property, 2 the question was wrong, 3 no verdict.
    """
    request = ProveRequest(mutant, seeds, query_limit, search)
    with queries_into(smt2):
        if mutant == "list":
            return listing()
        with StatusLine() as status:
            found = answer(request, partial(show, status))
        return proved(request, found) if isinstance(found, list) else broken(request, found)


def listing() -> Answer:
    """List the mutants."""
    from zabspec.abstract.mutants import MUTANTS

    return Answer(HELD, [table(("mutant", "what is changed"), [(m.name, m.doc) for m in MUTANTS.values()])])


def proved(request: ProveRequest, proofs: list[Proof]) -> StatedResult:
    """Return what is said of the proofs."""
    from checker.proof.prove import parts

    code = HELD if all(p.held for p in proofs) else NO_VERDICT
    content = {"request": request.as_json(), "proofs": [p.as_json() for p in proofs]}
    sentence = f"{sum(p.held for p in proofs)} of {plural(len(proofs), 'proof')} held"
    return StatedResult(sentence, code, content, [part for p in proofs for part in parts(p)], kind="prove")


def broken(request: ProveRequest, found: Broken) -> StatedResult:
    """Return what came of a mutant."""
    from checker.proof.break_it import text
    from traces.explain.folding import fitted

    content = {"request": request.as_json()} | found.as_json()
    sentence = f"{found.mutant.name} is not proved, and no violation was found"
    sentence = f"VIOLATED: {', '.join(found.run.broken)}" if found.run else sentence
    code = VIOLATED if found.run else NO_VERDICT
    troubles = [] if found.run else [sentence]
    return StatedResult(sentence, code, content, [fitted(text(found))], troubles, kind="prove")


def show(status: StatusLine, what: str) -> None:
    """Show the current query once it takes long."""
    if status.due():
        status.show(f"{time.perf_counter() - status.started:.0f} s: {what}")
