"""The command `zabcheck`.

Every command ends with one of four codes: 0 (all held), 1 (a violation was found and written down), 2 (the request is
wrong: one sentence on stderr, nothing on stdout) or 3 (no verdict, or it could not be written down). Imports are made
where they are needed, so that a small request is answered at once.
"""

from __future__ import annotations

from checker import signal_bootstrap

# isort: split

from typing import Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import (
    HELD,
    PATH_OR_ADDRESS,
    VERSION,
    Answer,
    Commands,
    at_least,
    budget_options,
    seconds,
)
from checker.commands.deriving import command_of
from checker.commands.explore import explore
from checker.commands.publishing import format_options
from checker.requests.exploration import EVIDENCE
from zabspec.signals import release

# The subcommands by purpose, each with its module in `checker.commands`.
GROUPS = {
    "Servers of ZooKeeper": {
        "audit": "audit", "quorums": "quorums", "plan": "plan", "zookeeper": "zookeeper", "reenact": "reenact",
        "conform": "conform", "chaos": "conform",
    },
    "The protocol and its variants": {
        "variants": "listings", "properties": "listings", "gallery": "gallery", "walk": "walk", "graph": "graph",
    },
    "Proofs and bounded checks": {"prove": "prove", "refine": "refine", "induct": "induct", "bmc": "bmc"},
    "User protocols and continuous integration": {
        "init": "init", "lint": "lint", "check": "check",
    },
    "A pipeline on Spark": {"pipeline": "pipeline"},
    "Runs": {
        "simulate": "simulate", "sweep": "sweep", "judge": "judge", "replay": "replay", "minimise": "minimise",
        "realise": "realise", "export": "export", "report": "report",
    },
    "Documentation and shell completion": {"docs": "docs", "completion": "completion"},
}  # fmt: skip

EXAMPLES = """\b
Examples:
  zabcheck --nodes 3 --timeouts 1 --crashes 0 --losses 0
                                           every reachable state
  zabcheck --nodes 2 --timeouts 1 --crashes 0 --losses 0 --require-witness
                                           every premise reached, or no verdict
  zabcheck --nodes 2 --depth 30 --property agreement --json
                                           one property, a report for machines
  zabcheck --variant small-quorum --nodes 2 --depth 12 --trace run.trace.json
                                           a rule of the protocol changed
  zabcheck export run.trace.json --to mermaid
  zabcheck --nodes 2 --timeouts 0 --crashes 0 --losses 0 --network lossy --drops 1 --keep-going
                                           the shortest run for each violated property
"""


@click.group(
    cls=Commands,
    groups=GROUPS,
    derive=command_of,
    invoke_without_command=True,
    epilog=EXAMPLES,
    context_settings={"max_content_width": 110},
)
@shared.PROTOCOL
@shared.named(
    "--variant",
    "NAMES",
    "Change one rule of the protocol, or several: a,b; `zabcheck variants` lists them.",
    completing.variants,
)
@shared.REPAIR
@shared.RELEASE
@shared.NODES_OR_DECLARED
@click.option("--txns", type=int, help="Number of transactions that may be abcast (2).")
@budget_options()
@shared.START
@shared.QUORUMS
@shared.named(
    "--network",
    "NAME",
    "fifo (the default), lossy, unordered, duplicating; db19: datagrams, ordered, fifo.",
    completing.networks,
)
@click.option(
    "--max-epoch", type=int, callback=at_least(1), help="Largest epoch; derived from the budgets if not given."
)
@shared.CHANNEL
@click.option("--depth", type=int, callback=at_least(0), help="Largest number of steps; to exhaustion if not given.")
@shared.PROPERTY
@click.option(
    "--require-witness", "required", multiple=True, is_flag=False, flag_value="all", metavar="[NAME,...]",
    shell_complete=completing.properties,
    help="Exit with 3 (no verdict) unless the premise of these properties, or of every one, is reached.",
)  # fmt: skip
@click.option(
    "--witness", is_flag=False, flag_value="all", metavar="[PROPERTY]", shell_complete=completing.properties,
    help="Show a shortest run that reaches the premise of this property, or of each property.",
)  # fmt: skip
@click.option(
    "--keep-going",
    is_flag=True,
    help="Continue after a violation, to find a shortest counterexample for every property.",
)
@shared.NO_SYMMETRY
@click.option(
    "--reduction",
    type=click.Choice(["auto", "stuttering", "none"]),
    show_default="auto",
    help="Steps to leave out, with equal verdicts (explanation/reductions.md): auto, every sound reduction; "
    "stuttering, only receipts over datagrams that change nothing; none.",
)
@shared.named(
    "--engine",
    "NAME",
    "compiled; interpret, slow, in plain Python; spark (how-to/large-models.md).",
    completing.engines("compiled", "interpret", "spark"),
    "compiled",
)
@click.option("--master", metavar="URL", help="With --engine spark: the Spark master (local[*]).")
@click.option(
    "--checkpoint",
    type=PATH_OR_ADDRESS,
    metavar="DIR",
    help="Save every finished level in this folder, so that --resume can continue.",
)
@click.option("--resume", is_flag=True, help="With --checkpoint: continue from the last finished level there.")
@click.option(
    "--fingerprint",
    type=click.Choice(["64", "128"]),
    metavar="BITS",
    help="With --engine spark: bits of a fingerprint, 64 or 128; by default 128 on a cluster or for very many states.",
)
@click.option(
    "--search",
    type=click.Choice(["random", "swarm", "best"]),
    metavar="HOW",
    help="Take random walks (how-to/large-models.md) for --time-limit, or 60 s: random, swarm or best.",
)
@click.option(
    "--live",
    is_flag=True,
    help="Check liveness: once faults stop, does any process starve? (docs/explanation/liveness.md)",
)
@click.option(
    "--progress-property", "progress_properties", multiple=True, metavar="NAME", shell_complete=completing.progress,
    help="With --live: check only this progress property (repeatable).",
)  # fmt: skip
@click.option(
    "--mutate", type=click.IntRange(min=1), metavar="N",
    help="Make N small changes to a user protocol, one at a time, and report those that no property detects.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), help="With --search and --mutate: seed of the random numbers."
)
@shared.THREADS
@shared.STATES
@shared.TIME_LIMIT
@shared.MEMORY_LIMIT
@click.option(
    "--symbolic", type=float, callback=seconds, metavar="SECONDS",
    help="Also check with z3, for this time, whether properties are inductive, or hold to some depth.",
)  # fmt: skip
@click.option(
    "--evidence",
    type=click.Choice(EVIDENCE),
    show_default="quick",
    help="Evidence to show: explored, only the exploration; quick, also what is recorded or kept, and the proof; "
    "all, also induction and refinement, in minutes (zabcheck docs properties-and-verdicts).",
)
@shared.REPORT_JSON
@format_options("explore")
@shared.TRACE
@shared.NO_TRACE
@VERSION
@click.pass_context
def main(ctx: click.Context, /, **options: Any) -> Answer:
    """Explore a protocol breadth-first and report which of the paper's properties hold.

    \b
    To begin with:
      zabcheck --nodes 3 --depth 20               which properties hold
      zabcheck audit DIR1 DIR2 DIR3               check the data of an ensemble
      zabcheck zookeeper ZK-4643 --release 3.9.1  does a release have this bug?
      zabcheck variants joiner                    variants that mention joiners
      zabcheck init tpc.py                        start a user protocol
      zabcheck sweep runs --seeds 1:1001          violations in simulated runs

    Exit codes: 0 all hold, 1 a violation was found and saved, 2 the request is wrong,
    3 no verdict.
    """  # noqa: D301 - \b is click's mark of lines that are not to be joined
    from zabspec.authoring.sources import forget_files

    forget_files()
    if ctx.invoked_subcommand is None:
        return explore(**options)
    given = [
        p.opts[0]
        for p in ctx.command.params
        if p.name and ctx.get_parameter_source(p.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{given[0]} is for an exploration and does not go with {ctx.invoked_subcommand}")
    return Answer(HELD)


release(signal_bootstrap.BEFORE)
