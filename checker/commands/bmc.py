"""`zabcheck bmc`: bounded model checking with z3."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import Subcommand, at_least, budget_options, seconds
from checker.commands.page_option import HTML, check_page, page_files
from checker.commands.publishing import Files, published
from checker.commands.requested import model_request, trace_of
from checker.commands.smt2 import SMT2, queries_into
from checker.report.progress import StatusLine
from checker.requests.bmc import BmcRequest, answer

if TYPE_CHECKING:
    from checker.report.bounded import BoundedReport

# Options that go with --from, whose trace has the configuration.
BESIDE_FROM = (
    "depth",
    "source",
    "names",
    "every",
    "time_limit",
    "query_limit",
    "seed",
    "as_json",
    "trace",
    "no_trace",
    "page",
)

EXAMPLES = """\b
Examples:
  zabcheck bmc --variant small-quorum --nodes 2 --txns 1 --timeouts 0 --crashes 0 --losses 0 --depth 12 --trace t.json
  zabcheck bmc --from t.json:9 --depth 4   from the state after step 9 of a saved trace
  zabcheck bmc --depth 8 --property agreement --time-limit 60
"""


@click.command(cls=Subcommand, epilog=EXAMPLES)
@shared.PROTOCOL
@shared.VARIANT
@shared.REPAIR
@shared.NODES
@shared.TXNS
@budget_options()
@shared.START
@shared.QUORUMS
@shared.named(
    "--network", "NAME", "fifo, lossy, unordered, duplicating; datagrams, ordered, fifo.", completing.networks
)
@shared.MAX_EPOCH
@shared.CHANNEL
@click.option(
    "--depth",
    required=True,
    type=int,
    callback=at_least(1),
    metavar="K",
    help="Largest number of steps: covers all runs of K steps, and some longer ones.",
)
@click.option(
    "--from", "source", metavar="TRACE[:STEP]", help="Start from this step of a saved trace (default: its last)."
)
@shared.PROPERTY
@click.option(
    "--every", default=4, show_default=True, callback=at_least(1), metavar="N",
    help="Query z3 once in this many steps, and at the end; 1 finds a violation with the fewest rounds.",
)  # fmt: skip
@click.option(
    "--time-limit", default=600.0, show_default=True, callback=seconds, metavar="SECONDS", help="Stop after this time."
)
@click.option("--query-limit", type=float, callback=seconds, metavar="SECONDS", help="Time limit of each query.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of the solver.")
@shared.TRACE
@shared.NO_TRACE
@SMT2
@HTML
@published("bmc")
def bmc(**flags: Any) -> tuple[BoundedReport, Files]:
    """Check with z3 whether some run of at most K steps violates a property.

    Exit codes: 0 none does, 1 one was found and saved, 2 the request is wrong, 3 no verdict.
    """
    started = time.perf_counter()
    request = request_of_flags(**flags)
    check_page(flags["page"], [flags["trace"]])
    with queries_into(flags["smt2"]), StatusLine() as status:
        report = answer(request, line(status), started)
    found = report.counterexample
    return report, page_files(flags["page"], found.trace if found else None)


def request_of_flags(**flags: Any) -> BmcRequest:
    """Build the request from the flags.

    Raises:
        UsageError, RequestError: two flags contradict each other, or a value is wrong.
    """
    if flags["trace"] is not None and flags["no_trace"]:
        raise click.UsageError("--trace and --no-trace contradict each other")
    if flags["source"] is not None:
        refuse_beside_from()
    values = {f.name: flags[f.name] for f in fields(BmcRequest) if flags.get(f.name) is not None}
    named = {"model": model_request(**flags), "properties": flags["names"], "trace": trace_of(**flags)}
    return BmcRequest(**(values | named))


def refuse_beside_from() -> None:
    """Check that no flag sets what the trace of --from already determines.

    Raises:
        UsageError: one does.
    """
    context = click.get_current_context()
    for p in context.command.params:
        given = p.name and context.get_parameter_source(p.name) is click.core.ParameterSource.COMMANDLINE
        if given and p.name not in BESIDE_FROM:
            raise click.UsageError(f"{p.opts[0]} does not go with --from: the trace has its configuration")


def line(status: StatusLine) -> Callable[[int, float], None]:
    """Return a function that shows progress while z3 works."""

    def show(rounds: int, spent: float) -> None:
        if status.due():
            status.show(f"{rounds} rounds of steps, {spent:.0f} s")

    return show
