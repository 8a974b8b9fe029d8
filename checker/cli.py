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

from checker.commands.common import VERSION, Commands
from checker.commands.deriving import command_of, run_one_of, with_options
from checker.ending import Answer
from checker.errors import HELD
from checker.requests.explore import Explore
from checker.requests.live import LiveRequest
from checker.requests.mutate import Mutate
from checker.requests.search import SearchRequest
from checker.requests.witness import Witness
from zabspec.signals import release

# The core's subcommands by purpose; those that join it say their group themselves.
GROUPS = {
    "The protocol and its variants": ("variants", "properties", "gallery", "walk", "graph"),
    "User protocols and continuous integration": ("init", "lint", "check"),
    "Runs": ("simulate", "replay", "minimise", "realise", "export", "report"),
    "Documentation and shell completion": ("docs", "completion", "mcp"),
}

# What `zabcheck` without a subcommand does; the first unless an option chooses another.
KINDS = (Explore, LiveRequest, SearchRequest, Mutate, Witness)

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
  zabcheck export run.trace.json --to html --output run.html
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
@with_options(*KINDS)
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
    if ctx.invoked_subcommand is None:
        return run_one_of(KINDS, options)
    given = [
        p.opts[0]
        for p in ctx.command.params
        if p.name and ctx.get_parameter_source(p.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{given[0]} is for an exploration and does not go with {ctx.invoked_subcommand}")
    return Answer(HELD)


release(signal_bootstrap.BEFORE)
