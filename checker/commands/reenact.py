"""`zabcheck reenact`: play a trace of protocol zookeeper on real ZooKeeper servers (docs/how-to/reenact.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import HELD, INPUT, NO_VERDICT, PATH, Answer, Subcommand, at_least, table
from checker.commands.publishing import publish
from checker.report.progress import StatusLine
from checker.requests.conformance import STARTS, Conformance, ConformanceRequest
from checker.requests.conformance import answer as conform
from checker.requests.reenact import PlayRequest, ReenactmentMessages, ReenactRequest, answer
from checker.requests.servers import listed_servers

if TYPE_CHECKING:
    from traces.reenact.campaign import Line
    from traces.reenact.plan import ReenactmentPlan
    from traces.reenact.reenactment import ReenactedRun


@click.command(cls=Subcommand)
@click.argument("trace", type=INPUT, required=False, metavar="TRACE|ZK-NNNN", shell_complete=completing.rows)
@shared.named(
    "--release",
    "NUMBER",
    "The release whose servers are run, and its model; --random takes several, with commas.",
    completing.zookeeper_releases,
)
@shared.of_servers
@click.option("--list-servers", is_flag=True, help="List the releases that can run here, and how to get the others.")
@shared.named(
    "--variant", "NAMES", "Compare the servers with the release's model in this variant.", completing.zookeeper_variants
)
@click.option("--times", default=1, show_default=True, help="Play the run this many times, and report a rate.")
@click.option("--retries", default=2, show_default=True, help="Retry up to this many times if a step is not observed.")
@click.option("--control", is_flag=True, help="Play the run without its decisive step: the last fault, or --without.")
@click.option("--without", default=0, metavar="STEP", help="The step that --control omits.")
@click.option("--random", "runs_drawn", default=0, callback=at_least(0), metavar="N", help="Play N random runs.")
@click.option(
    "--seed", default=1, show_default=True, help="Number of the first random run of --random; the others follow."
)
@click.option(
    "--start",
    type=click.Choice(tuple(STARTS)),
    default="established",
    show_default=True,
    help="Where the runs of --random begin: a leader is established, or all servers are new.",
)
@click.option("--patience", default=20.0, show_default=True, help="How long to wait for the effect of a step.")
@click.option("--output", "-o", type=PATH, help="A new folder for logs and data (default: one beside the trace).")
def reenact(**words: Any) -> Answer:
    """Play a run on a real ZooKeeper ensemble, packet by packet, and compare the servers with the model.

    The run is a trace, or that of a row of the track record.

    Exit codes: 0 every step agrees with the model, and no property is violated; 1 every step agrees, and the servers
    violate a property; 2 the request is wrong; 3 a step differs from the model, could not be forced, or the servers
    cannot be run here.
    """
    trace, count, seed, start = (words.pop(name) for name in ("trace", "runs_drawn", "seed", "start"))
    if words.pop("list_servers"):
        listing = {"list_servers", "release", "servers"}
        refuse({p.name for p in click.get_current_context().command.params} - listing, "not for --list-servers")
        return list_servers([name for name in words["release"].split(",") if name], words["servers"])
    if (trace is None) == (not count):
        raise click.UsageError("name a trace, a row of the track record (ZK-4394), or --random N")
    words["output"] = str(words["output"] or "")
    if trace is not None:
        refuse(("seed", "start"), "for --random: a trace, or a row's run, begins where it was made to")
        return play_trace(ReenactRequest(trace=str(trace), **words))
    of_any = {f.name: words[f.name] for f in fields(PlayRequest)}
    refuse(set(words) - set(of_any), "for a trace or a row, and not for --random")
    return play_drawn(ConformanceRequest(**of_any, runs=count, seed=seed, start=start))


def list_servers(releases: Sequence[str], servers: str) -> Answer:
    """List the releases that can run here, and print the command that gets the others."""
    with StatusLine() as shown:
        shown.update("looks for servers")
        origins, command = listed_servers(releases, servers)
    head = ("release", "servers")
    texts = [table(head, [(name, origin or "not here") for name, origin in origins.items()])]
    if command:
        texts.append(f"Maven gets those that are not here into its local repository with\n\n    {command}")
    return Answer(HELD, texts)


def play_trace(request: ReenactRequest) -> Answer:
    """Play a trace."""
    with ShownReenactment(request) as shown:
        return publish(shown.stated(answer(request, shown)))


class ShownReenactment(StatusLine, ReenactmentMessages):
    """Shows the progress of a re-enactment on stderr."""

    def __init__(self, request: ReenactRequest) -> None:
        StatusLine.__init__(self)
        ReenactmentMessages.__init__(self, request)

    def failed(self, sentence: str) -> None:
        super().failed(sentence)
        self.update(sentence)

    def played(self, plan: ReenactmentPlan, run: ReenactedRun, number: int, tries: int) -> None:
        super().played(plan, run, number, tries)
        self.update(f"{number} of {self.request.times} runs played")


def refuse(names: Iterable[str], why: str) -> None:
    """Refuse options that what is asked for would pass over.

    Raises:
        click.UsageError: one is given.
    """
    context = click.get_current_context()
    for name in sorted(names):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} is {why}")


def play_drawn(request: ConformanceRequest) -> Answer:
    """Play random runs."""
    from traces.reenact.campaign import kinds_table, release_table

    with ShownRuns(request) as shown:
        lines, folder = conform(request, shown)
    tables = [table(*made) for made in (kinds_table(lines), release_table(lines))]
    whole = sum(x.whole for x in lines)
    said = f"{whole} of {len(lines)} runs agree to their end; {sum(bool(x.trouble) for x in lines)} did not start"
    return Answer(HELD if whole == len(lines) else NO_VERDICT, [*shown.texts, *tables, said, f"left in {folder}"])


class ShownRuns(StatusLine, Conformance):
    """Shows on stderr how many runs played.

    Attributes:
        texts: the runs that differ, for the answer.
    """

    def __init__(self, request: ConformanceRequest) -> None:
        super().__init__()
        self.request, self.done = request, 0
        self.texts: list[str] = []

    def resumed(self, done: int, of: int) -> None:
        self.done = done
        self.texts.append(f"{done} of {of} runs were played earlier")

    def played(self, line: Line, plan: ReenactmentPlan, run: ReenactedRun) -> None:
        from traces.reenact.messages import told_run

        if not line.whole or line.harm:
            self.texts.append(f"{line.release}, seed {line.seed}: {' '.join(told_run(plan, run))}")
        self.done += 1
        self.update(f"{self.done} of {self.request.runs} runs played")
