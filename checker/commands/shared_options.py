"""Options that several commands have, with the same help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from checker.commands import completing
from checker.commands.common import PATH, PROTOCOL_HELP, at_least, budget_options, quorums, seconds, size


def named(
    flag: str, metavar: str, words: str, complete: completing.Completer | None = None, default: str = ""
) -> Callable[[Any], Any]:
    """Return an option that takes one or several names.

    Args:
        words: its help.
        complete: the candidates for completion in a shell.
        default: its value unless it is given; shown in the help.
    """
    return click.option(
        flag, default=default, show_default=bool(default), metavar=metavar, shell_complete=complete, help=words
    )


def of_servers(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where real ZooKeeper servers are found."""
    for option in (
        named("--jar", "FILE", "Use this server jar in place of that of the servers found: a patched build."),
        named("--servers", "DIR", "Folder with the release's unpacked distribution (default: what is installed)."),
        named("--zookeeper", "DIR", "Run the servers of your own build, and compare them with --release."),
    ):
        command = option(command)
    return command


# options of the model
PROTOCOL = named("--protocol", "NAME", PROTOCOL_HELP, completing.protocols, "zab")
VARIANT = named("--variant", "NAMES", "Change one rule of the protocol, or several: a,b.", completing.variants)
REPAIR = named("--repair", "NAMES", "Also repair rules: variants that repair one, as a,b.", completing.repairs)
RELEASE = named(
    "--release", "NUMBER", "For the protocol zookeeper: the release (default: the newest).", completing.releases
)
START = named("--start", "NAME", "The start state, one that the protocol declares.", completing.starts)
QUORUMS = click.option(
    "--quorums", default="", callback=quorums, metavar="majority|FILE",
    help="Quorums by the groups and weights of a zoo.cfg (default: majorities).",
)  # fmt: skip
NODES = click.option("--nodes", type=int, help="Number of processes; if not given, as the protocol declares, or 3.")
NODES_OR_DECLARED = click.option(
    "--nodes", type=int, help="Number of processes (3, unless a user protocol declares another)."
)
TXNS = click.option("--txns", type=int, help="Number of transactions that may be abcast; 2 if not given.")
CHANNEL = click.option(
    "--channel", type=int, callback=at_least(1), help="Capacity of a channel in messages; derived if not given."
)
MAX_EPOCH = click.option("--max-epoch", type=int, callback=at_least(1), help="Largest epoch; derived if not given.")
MODEL = (
    PROTOCOL, VARIANT, REPAIR, RELEASE, START, QUORUMS, NODES, TXNS, budget_options(),
    named("--network", "NAME", "As for `zabcheck`.", completing.networks), MAX_EPOCH, CHANNEL,
)  # fmt: skip


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that describe the model to a command that takes all of them."""
    for option in reversed(MODEL):
        command = option(command)
    return command


# options of the check, and its limits
PROPERTY = click.option(
    "--property", "names", multiple=True, metavar="NAME", shell_complete=completing.properties,
    help="Check only this property (repeatable).",
)  # fmt: skip
NO_SYMMETRY = click.option(
    "--no-symmetry", is_flag=True, help="Count states that are renamings of each other separately."
)
THREADS = click.option(
    "--threads", type=int, callback=at_least(1), help="Number of threads; one for each core if not given."
)
STATES = click.option("--max-states", type=int, callback=at_least(1), help="Stop at this many distinct states.")
TIME_LIMIT = click.option("--time-limit", type=float, callback=seconds, metavar="SECONDS", help="Stop after this time.")
MEMORY_LIMIT = click.option(
    "--memory-limit",
    callback=size,
    metavar="SIZE",
    help="Stop at this much memory, for example 4G; the machine's if not given.",
)

# options of the output
REPORT_JSON = click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
ANSWER_JSON = click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")
TRACE = click.option("--trace", type=PATH, metavar="FILE", help="Save the counterexample to this file.")
NO_TRACE = click.option("--no-trace", is_flag=True, help="Do not save the counterexample.")
