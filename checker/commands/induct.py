"""`zabcheck induct`: inductive invariants with z3."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import Subcommand, at_least, budget_options, seconds
from checker.commands.publishing import published
from checker.commands.requested import model_request
from checker.commands.smt2 import SMT2, queries_into
from checker.report.progress import StatusLine
from checker.report.result import Result, StatedResult, Table
from checker.requests import confirm
from checker.requests.clauses import argument
from checker.requests.confirm import ConfirmRequest
from checker.requests.induct import InductRequest, answer
from checker.terminal import TerminalWatch

NOT_INDUCTIVE = 1


@click.command(cls=Subcommand)
@shared.PROTOCOL
@shared.named("--variant", "NAME", "Change one rule of the protocol.", completing.variants)
@shared.NODES
@shared.TXNS
@budget_options(note="above 0 means any number of them")
@shared.named(
    "--network",
    "NAME",
    "For a user protocol: fifo, lossy, unordered, duplicating; datagrams, ordered, fifo.",
    completing.networks,
)
@click.option("--max-epoch", type=int, callback=at_least(1), help="Largest epoch; 2 if not given.")
@click.option(
    "--channel", type=int, callback=at_least(1),
    help="Capacity of a channel in messages, over datagrams of all in flight; derived if not given.",
)  # fmt: skip
@click.option(
    "--clause", "clauses", multiple=True, metavar="NAME[,NAME...]",
    help="Check only these clauses or properties, assuming all clauses (repeatable).",
)  # fmt: skip
@click.option(
    "--assume", "assumed", multiple=True, metavar="NAME[,NAME...]",
    help="With --clause: assume only these besides the checked clauses (repeatable); `all` or `none`.",
)  # fmt: skip
@click.option("--without", multiple=True, metavar="NAME[,NAME...]", help="Leave these clauses out (repeatable).")
@click.option("--k", default=1, show_default=True, callback=at_least(1), help="Try runs of up to this many steps.")
@click.option(
    "--query-limit", "query_limit", default=60.0, show_default=True, callback=seconds, metavar="SECONDS",
    help="Time limit of each query.",
)  # fmt: skip
@click.option(
    "--time-limit", default=1800.0, show_default=True, callback=seconds, metavar="SECONDS",
    help="Stop after this time in all.",
)  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Seed of the solver.")
@click.option("--jobs", type=int, callback=at_least(1), help="Solver processes; one for each core if not given.")
@click.option(
    "--witness-states", default=1_000_000, show_default=True, callback=at_least(0), metavar="N",
    help="Explore at most this many states for a run that reaches the premise of each property; 0: no search.",
)  # fmt: skip
@click.option(
    "--require-witness", "required", multiple=True, is_flag=False, flag_value="all", metavar="[NAME,...]",
    help="Exit with 3 (no verdict) unless a run reaches the premise of these properties, or of every one.",
)  # fmt: skip
@click.option("--confirm", is_flag=True, help="Explore instead: check every clause in every reachable state.")
@click.option(
    "--depth",
    type=int,
    callback=at_least(0),
    help="With --confirm: largest number of steps; to exhaustion if not given.",
)
@click.option("--list", "--list-clauses", "listed", is_flag=True, help="List the clauses with their statements.")
@SMT2
@published("induct")
def induct(**flags: Any) -> Result:
    """Check with z3 whether clauses are inductive.

    A clause is, if every step keeps it from every state that satisfies the clauses, reachable or not. A property that
    follows from inductive clauses holds at every depth. A clause that is not inductive may still hold: a counterexample
    to induction is two states and one step, and the first state may be unreachable. An exploration then searches for a
    run that reaches the premise of each property. If none does, the report says that the proof may be vacuous. A
    property that a run violates is violated, whatever was proved.

    Exit codes: 0 every requested clause is proved, 1 a clause is not inductive or a property is violated, 2 the request
    is wrong, 3 no verdict: a query is undecided, or a premise of --require-witness is not reached.
    """
    started = time.perf_counter()
    if flags["confirm"] and not flags["listed"]:
        return confirm.answer(confirmation(**flags), TerminalWatch())
    request = request_of_flags(**flags)
    if flags["listed"]:
        return listing(request)
    argument(request.model.name)
    if flags["depth"] is not None:
        raise click.UsageError("--depth goes with --confirm: an induction has no depth")
    with queries_into(flags["smt2"]), StatusLine() as line:
        return answer(request, Line(line), started)


def request_of_flags(**flags: Any) -> InductRequest:
    """Build the request from the flags.

    Raises:
        RequestError: a value is wrong.
    """
    named = {"query_limit": flags["query_limit"], "assume": flags["assumed"], "require_witness": flags["required"]}
    values = {f.name: flags[f.name] for f in fields(InductRequest) if f.name in flags} | named
    return InductRequest(**(values | {"model": model_request(**flags), "smt2": str(flags["smt2"] or "")}))


def listing(request: InductRequest) -> StatedResult:
    """List the statement of every clause."""
    from checker.symbolic.assumptions import beside
    from invariants.inductive.argument import is_whole

    clauses = [*argument(request.model.name).clauses]
    if not is_whole(request.model.name):
        clauses = [*beside(request.configuration()), *clauses]
    rows = [{"clause": c.name, "source": c.source, "statement": c.statement} for c in clauses]
    table = Table([(row["clause"], f"{row['statement']} ({row['source']})") for row in rows])
    return StatedResult(content=rows, body=[table], kind="induct")


def confirmation(**flags: Any) -> ConfirmRequest:
    """Build the request for `--confirm` from the flags.

    Raises:
        UsageError: a flag does not go with it, since no solver is used.
    """
    if flags["smt2"]:
        raise click.UsageError("--smt2 contradicts --confirm: an exploration uses no solver")
    context = click.get_current_context()
    for name in ("k", "query_limit", "seed", "witness_states", "required"):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            flag = next(p.opts[0] for p in context.command.params if p.name == name)
            raise click.UsageError(f"{flag} does not go with --confirm: an exploration uses no solver")
    values = {f.name: flags[f.name] for f in fields(ConfirmRequest) if f.name in flags}
    return ConfirmRequest(**(values | {"assume": flags["assumed"], "model": model_request(**flags)}))


class Line:
    """Shows progress on the terminal."""

    def __init__(self, line: Any) -> None:
        self.line = line

    def __call__(self, label: str, done: int, of: int) -> None:
        if self.line.due():
            self.line.show(f"{done} of {of} actions checked: {label}")
