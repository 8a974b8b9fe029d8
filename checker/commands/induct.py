"""`zabcheck induct`: inductive invariants with z3."""

from __future__ import annotations

import time
from dataclasses import fields
from functools import partial
from typing import Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import (
    HELD,
    NO_VERDICT,
    Subcommand,
    at_least,
    budget_options,
    seconds,
)
from checker.commands.publishing import published
from checker.commands.requested import model_request
from checker.commands.smt2 import SMT2, queries_into
from checker.report.progress import StatusLine
from checker.report.result import Part, Result, StatedResult
from checker.requests.induct import InductRequest, answer, argument, sorted_out
from checker.requests.ready import make_ready

__all__ = ["induct", "request_of_flags"]

NOT_INDUCTIVE = 1


@click.command(cls=Subcommand)
@shared.PROTOCOL
@click.option(
    "--variant", default="", metavar="NAME", shell_complete=completing.variants,
    help="The protocol with one rule changed.",
)  # fmt: skip
@shared.NODES
@shared.TXNS
@budget_options(note="above 0 is any number of them")
@click.option(
    "--network",
    default="",
    metavar="NAME",
    shell_complete=completing.networks,
    help="Of a user protocol: fifo, lossy, unordered, duplicating; datagrams, ordered, fifo.",
)
@click.option("--max-epoch", type=int, callback=at_least(1), help="Largest epoch; 2 if not given.")
@click.option(
    "--channel", type=int, callback=at_least(1),
    help="Messages a channel holds, over datagrams those in flight at once; derived if not given.",
)  # fmt: skip
@click.option(
    "--clause", "clauses", multiple=True, metavar="NAME[,NAME...]",
    help="Ask of these clauses or properties alone, all clauses being assumed (repeatable).",
)  # fmt: skip
@click.option(
    "--assume", "assumed", multiple=True, metavar="NAME[,NAME...]",
    help="With --clause: assume these alone besides what is asked about (repeatable); `all` clauses, or `none`.",
)  # fmt: skip
@click.option("--without", multiple=True, metavar="NAME[,NAME...]", help="Leave these clauses out (repeatable).")
@click.option("--k", default=1, show_default=True, callback=at_least(1), help="Try runs of up to so many steps.")
@click.option(
    "--query-limit", "query_limit", default=60.0, show_default=True, callback=seconds, metavar="SECONDS",
    help="Time limit of each query.",
)  # fmt: skip
@click.option(
    "--time-limit", default=1800.0, show_default=True, callback=seconds, metavar="SECONDS",
    help="Give up after so long in all.",
)  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Seed of the solver.")
@click.option("--jobs", type=int, callback=at_least(1), help="Processes that ask; one for each core if not given.")
@click.option(
    "--witness-states", default=1_000_000, show_default=True, callback=at_least(0), metavar="N",
    help="Explore at most so many states for a run that meets the premise of each property; 0: do not look.",
)  # fmt: skip
@click.option(
    "--require-witness", "required", multiple=True, is_flag=False, flag_value="all", metavar="[NAME,...]",
    help="No verdict (3) where no run was found that meets the premise of a property, or of these.",
)  # fmt: skip
@click.option("--confirm", is_flag=True, help="Explore instead: is every clause so in every reachable state?")
@click.option("--depth", type=int, callback=at_least(0), help="With --confirm: how deep; to exhaustion if not given.")
@click.option("--list", "--list-clauses", "listed", is_flag=True, help="List the clauses, each with what it says.")
@SMT2
@published("induct")
def induct(**flags: Any) -> Result:
    """Ask z3 whether clauses are inductive: kept by every step from every state that satisfies them,
    reachable or not. What is then holds at every depth. What is not need not be violated: a
    counterexample to induction is two states and one step, and nothing says that the first is reachable.
    An exploration then looks for a run that meets the premise of each property: of one that none meets what is
    proved may be vacuous, which is said; one that a run breaks is violated, whatever was proved.

    Exit codes: 0 every clause asked about is proved, 1 a clause is not inductive or a property is violated, 2 the
    question was wrong, 3 no verdict: something is undecided, or a premise that --require-witness names is not reached.
    """
    started = time.perf_counter()
    request = request_of_flags(**flags)
    if flags["listed"]:
        return listing(request)
    refuse_contradictions(request, flags["confirm"], flags["depth"])
    if flags["confirm"]:
        return confirm(request, flags["depth"])
    with queries_into(flags["smt2"]), StatusLine() as line:
        return answer(request, Line(line), started)


def request_of_flags(**flags: Any) -> InductRequest:
    """Return the request that the flags make.

    Raises:
        RequestError: a value is wrong.
    """
    named = {"query_limit": flags["query_limit"], "assume": flags["assumed"], "require_witness": flags["required"]}
    values = {f.name: flags[f.name] for f in fields(InductRequest) if f.name in flags} | named
    return InductRequest(**(values | {"model": model_request(**flags), "smt2": str(flags["smt2"] or "")}))


def listing(request: InductRequest) -> StatedResult:
    """Return what every clause says."""
    from checker.symbolic.assumptions import beside
    from invariants.inductive.argument import is_whole
    from traces.explain.folding import folded

    clauses = [*argument(request.model.protocol).clauses]
    if not is_whole(request.model.protocol):
        clauses = [*beside(request.configuration()), *clauses]
    said = {c.name: f"{' '.join(c.statement.split())} ({c.source})" for c in clauses}
    rows = [{"clause": c.name, "source": c.source, "statement": " ".join(c.statement.split())} for c in clauses]
    width = max(map(len, said)) + 2
    text = "\n".join(folded(text, name.ljust(width)) for name, text in said.items())
    return StatedResult(content=rows, text=[text], kind="induct")


def refuse_contradictions(request: InductRequest, confirms: bool, depth: int | None) -> None:
    """
    Raises:
        UsageError: two options contradict each other.
    """
    argument(request.model.protocol)
    if request.smt2 and confirms:
        raise click.UsageError("--smt2 contradicts --confirm: an exploration asks no solver")
    if depth is not None and not confirms:
        raise click.UsageError("--depth goes with --confirm: an induction has no depth")


class Line:
    """Progress on the terminal."""

    def __init__(self, line: Any) -> None:
        self.line = line

    def __call__(self, label: str, done: int, of: int) -> None:
        if self.line.due():
            self.line.show(f"{done} of {of} actions asked about: {label}")


# --- on reachable states -----------------------------------------------------------------------


def confirm(request: InductRequest, depth: int | None) -> StatedResult:
    """Explore the same configuration, its epochs as far as its budgets reach, with the clauses as its
    properties."""
    from dataclasses import replace

    from checker.explore.compiled import Compiled
    from checker.explore.groups import groups_of
    from checker.requests.explore import ExploreRequest, explored
    from checker.terminal import TerminalWatch
    from traces import build_trace, to_text
    from zabspec.model import Model

    request.refuse_network()
    configuration = request.whole_configuration()
    asked, _, targets = sorted_out(request, configuration)
    clauses = [*asked, *(targets if request.clauses else [])]
    model = Model(replace(configuration, max_epoch=0))
    search = ExploreRequest(depth=depth, reduction="none", threads=request.jobs, time_limit=request.time_limit)
    for group in groups_of(clauses):
        make_ready(partial(Compiled.of, model, group, True, True), "the clauses in machine code")
    seen, _, symmetry_off = explored(model, clauses, search.limits, search, TerminalWatch())
    bad = seen.violations
    where = "every reachable state" if seen.complete else f"every state up to depth {len(seen.levels) - 1}"
    code, sentence = HELD, f"{len(clauses)} clauses are so in {where} ({seen.distinct:,} of them)"
    if seen.failed and len(bad) == 1:
        code, sentence = NOT_INDUCTIVE, f"{next(iter(bad))} is violated in a reachable run: {seen.error}"
    elif bad:
        code, sentence = NOT_INDUCTIVE, f"{' and '.join(bad)} not so in a reachable state: no invariant"
    elif seen.error:
        code, sentence = NO_VERDICT, f"no verdict: {seen.error} after {seen.distinct:,} states"
    elif seen.stopped and not seen.complete:  # whatever depth was asked for
        whole = f"the clauses are so in every state up to depth {seen.expanded_levels}"
        code, sentence = NO_VERDICT, f"no verdict: {seen.stopped} after {seen.distinct:,} states; {whole}"
    content = {
        "answer": {HELD: "confirmed", NOT_INDUCTIVE: "violated", NO_VERDICT: "undecided"}[code],
        "sentence": sentence,
        "configuration": model.configuration.as_dict(),
        "clauses": [c.name for c in clauses],
        "violated": {name: list(v.schedule) for name, v in bad.items()},
        "symmetry_off": symmetry_off or None,
        "states": seen.distinct,
        "complete": seen.complete,
        "depth": depth,
        "seconds": round(seen.seconds, 3),
    }
    text: list[Part] = ["\n".join([sentence, *([f"symmetry off: {symmetry_off}"] if symmetry_off else [])])]
    text += [to_text(build_trace(model, v.property, v.schedule)).rstrip() for v in bad.values()]
    return StatedResult(sentence, code, content, text, kind="induct")
