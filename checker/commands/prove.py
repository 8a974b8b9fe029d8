"""`zabcheck prove`: the proof without bounds, and what breaks it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click

from checker.commands.common import (
    HELD,
    NO_VERDICT,
    VIOLATED,
    NoVerdict,
    Subcommand,
    complain,
    near,
    say,
    seconds,
    tell,
)
from checker.commands.smt2 import SMT2, queries_into

__all__ = ["prove"]

PATIENCE = 2.0  # seconds before progress is shown


@click.command(cls=Subcommand)
@click.option("--mutant", default="", metavar="NAME", help="Break one rule, and see what fails; `list` lists them.")
@click.option("--seed", "seeds", type=int, multiple=True, metavar="N", help="Seed of the solver (repeatable); 0.")
@click.option(
    "--query-limit", type=float, default=10.0, show_default=True, callback=seconds, metavar="SECONDS",
    help="Time limit of each query.",
)  # fmt: skip
@click.option(
    "--search", type=float, callback=seconds, metavar="SECONDS",
    help="With --mutant: let z3 look for a violation, instead of showing the one that is known.",
)  # fmt: skip
@SMT2
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
def prove(
    mutant: str, seeds: tuple[int, ...], query_limit: float, search: float | None, smt2: Path | None, as_json: bool
) -> int:
    """Prove abstract ZAB safe for any number of processes and any length.

    Exit codes: 0 proved, 1 a mutant breaks a property, 2 the question was wrong, 3 no verdict.
    """
    from checker.proof.stepping import SearchError

    if any(not 0 <= seed < 2**32 for seed in seeds):
        raise click.UsageError("--seed must be 0 to 4294967295")
    if search is not None and not mutant:
        raise click.UsageError("--search goes with --mutant")
    try:
        if mutant:
            if len(seeds) > 1:
                raise click.UsageError("--mutant takes one --seed")
            with queries_into(smt2):
                return broken(mutant, seeds[0] if seeds else 0, query_limit, search, as_json)
        with queries_into(smt2):
            return proved(seeds or (0,), query_limit, as_json)
    except SearchError as problem:
        raise NoVerdict(f"{problem}: a bug of zabcheck, please report it") from None


def proved(seeds: tuple[int, ...], limit: float, as_json: bool) -> int:
    """The proof, once for each seed."""
    from checker.proof.prove import prove as run
    from checker.proof.prove import text
    from checker.symbolic.solver import interruptibly

    proofs = []
    for seed in seeds:
        with progress() as show:
            proofs.append(interruptibly(partial(run, seed, limit, show)))
    code = HELD if all(p.held for p in proofs) else NO_VERDICT
    if as_json:
        return say(json.dumps({"proofs": [p.as_json() for p in proofs]}, indent=1), code)
    return tell("\n\n".join(text(p) for p in proofs), code)


def broken(name: str, seed: int, limit: float, search: float | None, as_json: bool) -> int:
    """One mutant, or the list of them."""
    from checker.proof.break_it import break_it, text
    from checker.symbolic.solver import interruptibly
    from traces.explain.folding import folded
    from zabspec.abstract.mutants import MUTANTS

    if name == "list":
        return say("\n".join(folded(m.doc, f"{m.name:30}") for m in MUTANTS.values()), HELD)
    if name not in MUTANTS:
        hint = near(name, MUTANTS) or "; `--mutant list` lists them"
        raise click.UsageError(f"there is no mutant {name!r}{hint}")
    with progress() as show:
        found = interruptibly(lambda: break_it(MUTANTS[name], seed, limit, show, search))
    code = VIOLATED if found.run else NO_VERDICT
    code = say(json.dumps(found.as_json(), indent=1), code) if as_json else tell(text(found), code)
    if not found.run:
        complain(f"{name} is not proved, and no violation was found")
    return code


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """What is being asked, on a terminal, once it takes long."""
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.console import Console

    started = time.perf_counter()
    status = Console(stderr=True).status("")
    shown = False

    def tell(what: str) -> None:
        nonlocal shown
        took = time.perf_counter() - started
        if took > PATIENCE:
            status.update(f"{took:.0f} s: {what}")
            if not shown:
                status.start()
                shown = True

    try:
        yield tell
    finally:
        status.stop()
