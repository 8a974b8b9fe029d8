"""`zabcheck prove`: the proof without bounds, and what breaks it."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.commands.common import HELD, NO_VERDICT, VIOLATED, Answer, Subcommand
from checker.commands.smt2 import SMT2, queries_into
from checker.report.progress import StatusLine
from checker.requests.prove import ProveRequest, answer

if TYPE_CHECKING:
    from checker.proof.break_it import Broken
    from checker.proof.prove import Proof

__all__ = ["prove"]


@click.command(cls=Subcommand)
@click.option("--mutant", default="", metavar="NAME", help="Break one rule, and see what fails; `list` lists them.")
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
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
def prove(
    mutant: str, seeds: tuple[int, ...], query_limit: float, search: float | None, smt2: Path | None, as_json: bool
) -> Answer:
    """Prove abstract ZAB safe for any number of processes and any length.

    Exit codes: 0 proved, 1 a mutant breaks a property, 2 the question was wrong, 3 no verdict.
    """
    request = ProveRequest(mutant, seeds, query_limit, search)
    with queries_into(smt2):
        if mutant == "list":
            return listing()
        with StatusLine() as status:
            found = answer(request, partial(show, status))
        if isinstance(found, list):
            return proved(request, found, as_json)
        return broken(request, found, as_json)


def listing() -> Answer:
    """List the mutants."""
    from traces.explain.folding import folded
    from zabspec.abstract.mutants import MUTANTS

    return Answer(HELD, [folded(m.doc, f"{m.name:30}") for m in MUTANTS.values()])


def proved(request: ProveRequest, proofs: list[Proof], as_json: bool) -> Answer:
    """Return the proofs."""
    from checker.proof.prove import text
    from traces.explain.folding import fitted

    return Answer.of(
        HELD if all(p.held for p in proofs) else NO_VERDICT, as_json,
        lambda: {"request": request.as_json(), "proofs": [p.as_json() for p in proofs]},
        lambda: fitted("\n\n".join(text(p) for p in proofs)),
    )  # fmt: skip


def broken(request: ProveRequest, found: Broken, as_json: bool) -> Answer:
    """Return what came of a mutant."""
    from checker.proof.break_it import text
    from traces.explain.folding import fitted

    return Answer.of(
        VIOLATED if found.run else NO_VERDICT, as_json, lambda: {"request": request.as_json()} | found.as_json(),
        lambda: fitted(text(found)),
        notes=[] if found.run else [f"{found.mutant.name} is not proved, and no violation was found"],
    )  # fmt: skip


def show(status: StatusLine, what: str) -> None:
    """Show the current query once it takes long."""
    if status.due():
        status.show(f"{time.perf_counter() - status.started:.0f} s: {what}")
