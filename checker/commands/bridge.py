"""`zabcheck bridge`: the executable protocol against the abstract one that the proof is about."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import click

from checker.commands.common import PATH, Answer, Subcommand, at_least, budget_options
from checker.commands.common import seconds as in_seconds
from checker.commands.common import size as in_bytes
from checker.commands.smt2 import NO_QUERIES, SMT2, queries_into
from checker.requests.refine import USUAL, RefineRequest, answer
from checker.terminal import TerminalWatch

__all__ = ["bridge"]

EXAMPLES = """\b
Examples:
  zabcheck bridge --crashes 0 --losses 0 --timeouts 1     every state there is
  zabcheck bridge --variant small-quorum --nodes 2        which guard of which action it breaks
  zabcheck bridge --depth 30 --json
"""


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.option("--variant", default="", metavar="NAME", help="zab with one rule changed; see `zabcheck variants`.")
@click.option("--nodes", default=3, show_default=True, help="Processes.")
@click.option("--txns", default=2, show_default=True, help="Transactions that may be abcast.")
@budget_options(USUAL)
@click.option("--depth", type=int, callback=at_least(1), help="How many steps deep; to exhaustion if not given.")
@click.option("--keep-going", is_flag=True, help="Go on past failures: the shortest run for everything that fails.")
@click.option("--no-symmetry", is_flag=True, help="Count states that are renamings of each other apart.")
@click.option("--threads", type=int, callback=at_least(1), help="Cores to use; all if not given.")
@click.option("--max-states", type=int, callback=at_least(1), help="Give up at so many distinct states.")
@click.option("--time-limit", type=float, callback=in_seconds, metavar="SECONDS", help="Give up after so long.")
@click.option(
    "--memory-limit",
    callback=in_bytes,
    metavar="SIZE",
    help="Give up at so much memory, for example 4G; the machine's if not given.",
)
@SMT2
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@click.option("--trace", type=PATH, metavar="FILE", help="Where the run that fails is saved; nowhere if not given.")
def bridge(**flags: Any) -> Answer:
    """Check that every step of zab is a step of abstract ZAB, which `zabcheck prove` proves safe.

    Both are explored side by side: each transition must be an abstract action whose guard holds, or change nothing
    of the abstract state, and every clause of the proof's invariant must hold in every state.

    Exit codes: 0 it refines, 1 a step that does not was found, 2 the question was wrong, 3 no verdict.
    """
    values = {f.name: flags[f.name] for f in fields(RefineRequest) if flags.get(f.name) is not None}
    budgets = {name: flags[name] for name in USUAL}
    named = {"budgets": budgets, "symmetry": not flags["no_symmetry"], "trace": str(flags["trace"] or "")}
    request = RefineRequest(**(values | named))
    with queries_into(flags["smt2"], NO_QUERIES):
        report = answer(request, TerminalWatch())
    from traces.explain.folding import fitted

    notes = [report.trouble] if report.trouble else []
    return Answer.of(report.exit_code, flags["as_json"], report.as_json, lambda: fitted(report.text()), notes=notes)
