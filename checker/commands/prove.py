"""`zabcheck prove`: the proof without bounds, and what breaks it."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands import shared_options as shared
from checker.commands.common import HELD, NO_VERDICT, VIOLATED, Answer, Subcommand, table
from checker.commands.common import quorums as quorum_text
from checker.commands.publishing import published
from checker.commands.smt2 import SMT2, queries_into
from checker.report.progress import StatusLine
from checker.report.result import StatedResult, plural
from checker.requests.prove import ProveRequest, answer

if TYPE_CHECKING:
    from checker.proof.break_it import Broken
    from checker.proof.prove import Proof
    from checker.requests.prove import Instance

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
@click.option(
    "--quorums", default="", callback=quorum_text, metavar="majority|FILE",
    help="Say whether what is proved is true of the quorums of this zoo.cfg.",
)  # fmt: skip
@SMT2
@published("prove")
def prove(
    mutant: str, seeds: tuple[int, ...], query_limit: float, search: float | None, quorums: str, smt2: Path | None
) -> StatedResult | Answer:
    """Prove abstract ZAB safe for any number of processes and any length.

    Exit codes: 0 proved, 1 a mutant breaks a property, or --quorums do not intersect, 2 the question was wrong, 3 no
    verdict.
    """
    request = ProveRequest(mutant, seeds, query_limit, search, quorums)
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
    from traces.explain.folding import fitted

    held = all(p.held for p in proofs)
    code = HELD if held else NO_VERDICT
    content: dict[str, Any] = {"request": request.as_json(), "proofs": [p.as_json() for p in proofs]}
    sentence = f"{sum(p.held for p in proofs)} of {plural(len(proofs), 'proof')} held"
    found, said = request.instance, []
    if found is not None:
        content["quorums"] = found.as_json()
        said = [of_system(found, held)]
        if found.disjoint:
            code, sentence = VIOLATED, said[0]
    told = [part for p in proofs for part in parts(p)]
    return StatedResult(sentence, code, content, [*(fitted(each) for each in said), *told], kind="prove")


def of_system(found: Instance, held: bool) -> str:
    """Return what the proof says of a quorum system."""
    system = found.system
    whose = f"`{system.text}` ({plural(system.nodes, 'process')})"
    if found.disjoint:
        one, other = found.disjoint
        return (
            f"NOT PROVED of {whose}: {one} and {other} are quorums and do not intersect, as the proof assumes of any "
            f"two. What follows is of systems whose quorums do"
        )
    count = len(list(system.quorums))
    if not held:
        return f"not proved of {whose}, though any two of its {plural(count, 'quorum')} intersect: see below"
    return (
        f"proved of {whose}: any two of its {plural(count, 'quorum')} intersect, which is all that the proof below "
        f"assumes of quorums; so abstract ZAB with these keeps its properties, after any number of crashes, epochs and "
        f"transactions. Not proved: that the zab which runs takes only such steps; "
        f"`zabcheck refine --quorums '{system.text}'` looks, within its budgets"
    )


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
