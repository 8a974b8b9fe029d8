"""`zabcheck reenact`: a trace of protocol zookeeper on real ZooKeeper servers (docs/reenact.md)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.commands.common import PATH, Cannot, Subcommand, at_least, seconds, verified_trace
from checker.commands.ending import HELD, NO_VERDICT, VIOLATED

if TYPE_CHECKING:
    from traces.reenact.plan import Plan
    from traces.reenact.reenactment import Run

__all__ = ["reenact"]


@click.command(cls=Subcommand)
@click.argument("trace", type=PATH)
@click.option(
    "--release", default="", metavar="NUMBER", help="Whose servers, and whose text; without it the trace's own."
)
@click.option("--zookeeper", default="", metavar="DIR", help="Servers of a build of your own, held against --release.")
@click.option("--jar", default="", metavar="FILE", help="A server's jar in place of the release's: a patched build.")
@click.option("--times", default=1, callback=at_least(1), show_default=True, help="Play it so often, for a rate.")
@click.option(
    "--retries", default=2, callback=at_least(0), show_default=True, help="Tries more, where a step is not seen."
)
@click.option("--control", is_flag=True, help="Play it without its decisive step: the last fault, or --without.")
@click.option("--without", default=0, callback=at_least(0), metavar="STEP", help="The step that --control leaves out.")
@click.option("--patience", default=20.0, callback=seconds, show_default=True, help="Seconds that an effect may take.")
@click.option("--out", "-o", type=PATH, help="A new folder for what it leaves; without it one beside the trace.")
def reenact(
    trace: Path, release: str, zookeeper: str, jar: str, times: int, retries: int, control: bool, without: int,
    patience: float, out: Path | None,
) -> int:  # fmt: skip
    """Play a trace on a real ZooKeeper ensemble, packet by packet, and say what really happened.

    0: every step agrees with the model, and nothing is broken; 1: every step agrees, and the servers have broken what
    they promise; 3: a step differs from the model, could not be forced, or the servers cannot be run here."""
    from checker.zookeeper.releases import release_of, variant_of
    from traces.reenact import servers
    from traces.reenact.plan import decisive, plan_for
    from traces.reenact.rates import told_rate
    from traces.reenact.reenactment import tried
    from traces.reenact.told import told_plan, told_run

    given = verified_trace(trace)
    if without and not control:
        raise click.UsageError("--without says which step --control leaves out")
    if not 0 <= without <= len(given.steps):
        raise click.UsageError(f"there is no step {without} in {trace}")
    named = release or release_of(given.configuration.variant)
    try:
        left_out = (without or decisive(given)) if control else 0
        plan = plan_for(given, variant_of("zookeeper", named), left_out)
        real = servers.find_release(named, zookeeper, jar)
        folder = new_folder(out or trace.with_suffix(f".{named}"))
        for line in told_plan(plan):
            click.echo(line)
        if control:
            click.echo(f"control: without step {left_out}, {given.steps[left_out - 1].label}")
        runs: list[Run] = []
        for k in range(times):
            run, tries = tried(folder / f"run{k + 1}", real, plan, retries, patience, click.echo)
            leave(folder / f"run{k + 1}", trace, plan, run)
            runs.append(run)
            if times > 1 or tries > 1:
                click.echo(f"run {k + 1}, {tries} tries, {run.seconds:.1f} s: {'; '.join(told_run(plan, run))}")
    except servers.Cannot as problem:
        raise Cannot(str(problem)) from None
    for line in told_run(plan, runs[-1]) if times == 1 else []:
        click.echo(line)
    agreed, broken = sum(r.agreed for r in runs), sum(r.agreed and bool(r.harm) for r in runs)
    if times > 1:
        click.echo(f"all steps agree: {told_rate(agreed, times)}; broken on the servers: {told_rate(broken, times)}")
    click.echo(f"left in {folder}")
    return VIOLATED if broken else HELD if agreed == times else NO_VERDICT


def new_folder(path: Path) -> Path:
    """A folder that is not there yet: what an earlier time left is not written over.

    Raises:
        UsageError: it cannot be made.
    """
    made = path
    for k in range(2, 1000):
        if not made.exists():
            break
        made = path.with_name(f"{path.name}-{k}")
    try:
        made.mkdir(parents=True)
    except OSError as problem:
        raise click.UsageError(f"cannot make the folder {made}: {problem.strerror}") from None
    return made.resolve()


def leave(folder: Path, trace: Path, plan: Plan, run: Run) -> None:
    """What stays beside packets, logs and data: the trace, and both lanes."""
    from traces.reenact.told import lanes

    (folder / "lanes.tsv").write_text(lanes(plan, run))
    (folder / trace.name).write_bytes(trace.read_bytes())
