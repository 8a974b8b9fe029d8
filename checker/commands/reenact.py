"""`zabcheck reenact`: a trace of protocol zookeeper on real ZooKeeper servers (docs/reenact.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import INPUT, PATH, NoVerdict, Subcommand, at_least, seconds, table, verified_trace
from checker.ending import HELD, NO_VERDICT, VIOLATED

if TYPE_CHECKING:
    from traces import Trace
    from traces.reenact.campaign import Line
    from traces.reenact.plan import Plan
    from traces.reenact.reenactment import Run

__all__ = ["reenact"]


@click.command(cls=Subcommand)
@click.argument("trace", type=INPUT, required=False, metavar="TRACE|ZK-NNNN")
@click.option(
    "--release",
    default="",
    metavar="NUMBER",
    help="Whose servers and text; --random takes several, with commas.",
)
@click.option("--zookeeper", default="", metavar="DIR", help="Servers of a build of your own, held against --release.")
@click.option("--jar", default="", metavar="FILE", help="A server's jar in place of the release's: a patched build.")
@click.option("--text", default="", metavar="VARIANT", help="The text to hold the servers against: a mutant of it.")
@click.option("--times", default=1, callback=at_least(1), show_default=True, help="Play it so often, for a rate.")
@click.option(
    "--retries", default=2, callback=at_least(0), show_default=True, help="Tries more, where a step is not seen."
)
@click.option("--control", is_flag=True, help="Play it without its decisive step: the last fault, or --without.")
@click.option("--without", default=0, callback=at_least(0), metavar="STEP", help="The step that --control leaves out.")
@click.option(
    "--random", "runs_drawn", default=0, callback=at_least(0), metavar="N", help="Play N runs drawn at random."
)
@click.option("--seed", default=1, show_default=True, help="The first run that --random draws; the next ones count on.")
@click.option("--patience", default=20.0, callback=seconds, show_default=True, help="Seconds that an effect may take.")
@click.option("--out", "-o", type=PATH, help="A new folder for what it leaves; without it one beside the trace.")
def reenact(**words: Any) -> int:
    """Play a trace, or the run of a row of the track record, on a real ZooKeeper ensemble, packet by packet, and say
    what really happened.

    0: every step agrees with the model, and nothing is broken; 1: every step agrees, and the servers have broken what
    they promise; 3: a step differs from the model, could not be forced, or the servers cannot be run here."""
    from traces.reenact import servers

    asked = Asked(**words)
    if (asked.trace is None) == (not asked.runs_drawn):
        raise click.UsageError("name a trace, a row of the track record (ZK-4394), or --random N")
    if asked.without and not asked.control:
        raise click.UsageError("--without says which step --control leaves out")
    try:
        return play_drawn(asked) if asked.trace is None else play_trace(asked, asked.trace)
    except servers.Cannot as problem:
        raise NoVerdict(str(problem)) from None


@dataclass(frozen=True)
class Asked:
    """What the options say."""

    trace: Path | None
    release: str
    zookeeper: str
    jar: str
    text: str
    times: int
    retries: int
    control: bool
    without: int
    runs_drawn: int
    seed: int
    patience: float
    out: Path | None


def play_trace(asked: Asked, trace: Path) -> int:
    """
    Raises:
        Cannot: of `traces.reenact.servers`.
    """
    from checker.zookeeper.releases import release_of, variant_of
    from traces.reenact.plan import decisive, plan_for
    from traces.reenact.rates import told_rate
    from traces.reenact.reenactment import tried
    from traces.reenact.servers import find_release
    from traces.reenact.told import told_plan, told_run

    row = str(trace).upper().startswith("ZK-") and not trace.exists()
    given = of_row(str(trace)) if row else verified_trace(trace)
    if not 0 <= asked.without <= len(given.steps):
        raise click.UsageError(f"there is no step {asked.without} in {trace}")
    named, times = asked.release or release_of("zookeeper", given.configuration.variant), asked.times
    left_out = (asked.without or decisive(given)) if asked.control else 0
    plan = plan_for(given, asked.text or variant_of("zookeeper", named), left_out)
    real = find_release(named, asked.zookeeper, asked.jar)
    folder = new_folder(asked.out or trace.with_suffix(f".{named}"))
    for line in told_plan(plan):
        click.echo(line)
    if asked.control:
        click.echo(f"control: without step {left_out}, {given.steps[left_out - 1].label}")
    runs: list[Run] = []
    for k in range(times):
        place = folder / f"run{k + 1}"
        run, tries = tried(place, real, plan, asked.retries, asked.patience, click.echo)
        leave(place, tries, given, plan, run, trace.name.split(".")[0])
        runs.append(run)
        if times > 1 or tries > 1:
            click.echo(f"run {k + 1}, {tries} tries, {run.seconds:.1f} s: {'; '.join(told_run(plan, run))}")
    for line in told_run(plan, runs[-1]) if times == 1 else []:
        click.echo(line)
    agreed, broken = sum(r.agreed for r in runs), sum(r.agreed and bool(r.harm) for r in runs)
    if times > 1:
        click.echo(f"all steps agree: {told_rate(agreed, times)}; broken on the servers: {told_rate(broken, times)}")
    click.echo(f"left in {folder}")
    return VIOLATED if broken else HELD if agreed == times else NO_VERDICT


def play_drawn(asked: Asked) -> int:
    """Random conformance: what differs is a fault of the model, of the mapping, or of a server.

    Raises:
        Cannot: of `traces.reenact.servers`.
    """
    from checker.zookeeper.releases import variant_of
    from traces.reenact.campaign import kinds_table, played, release_table, sync_table
    from traces.reenact.servers import find_release
    from traces.reenact.told import told_run

    names = [name for name in asked.release.split(",") if name]
    if not names:
        raise click.UsageError("--random needs --release")
    places = {n: (find_release(n, asked.zookeeper, asked.jar), asked.text or variant_of("zookeeper", n)) for n in names}
    folder = asked.out or Path("reenact-random")
    before = known(folder, {n: text for n, (_, text) in places.items()}, bool(asked.zookeeper or asked.jar))
    folder = folder.resolve() if before else new_folder(folder)
    todo = [(names[k % len(names)], asked.seed + k // len(names)) for k in range(asked.runs_drawn)]
    lines = [x for x in before if (x.release, x.seed) in todo]
    if lines:
        click.echo(f"{len(lines)} of {len(todo)} runs were played before")
    have = {(x.release, x.seed) for x in lines}
    left = [(*places[n], seed) for n, seed in todo if (n, seed) not in have]
    for line, plan, run in played(folder, left, asked.retries, asked.patience):
        lines.append(line)
        if not line.whole or line.harm:
            click.echo(f"{line.release}, seed {line.seed}: {' '.join(told_run(plan, run))}")
    for made in (kinds_table(lines), release_table(lines), sync_table(lines)):
        table(*made)
    whole = sum(x.whole for x in lines)
    click.echo(f"{whole} of {len(lines)} runs agree to their end; {sum(bool(x.trouble) for x in lines)} did not begin")
    click.echo(f"left in {folder}")
    return HELD if whole == len(lines) else NO_VERDICT


def known(folder: Path, texts: Mapping[str, str], own_build: bool) -> list[Line]:
    """The runs that a campaign has played, to go on from.

    Raises:
        UsageError: they are none, or of something else than is asked now.
    """
    from traces.record.lines import NotRead
    from traces.reenact.campaign import played_before, question

    try:
        before = played_before(folder)
    except NotRead as problem:
        raise click.UsageError(str(problem)) from None
    if before and own_build:
        raise click.UsageError(f"{folder} has runs, perhaps of another build: name a new folder with --out")
    if any(x.asked != question(texts[x.release]) for x in before if x.release in texts):
        raise click.UsageError(f"{folder} has runs of another text or version: name a new folder with --out")
    return before


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


def of_row(name: str) -> Trace:
    """The run of a row of the track record.

    Raises:
        UsageError: there is none, or the text has it no more.
    """
    from checker.zookeeper.runs import RUNS, trace_of_row
    from traces import TraceError

    issue = name[3:].lower()
    if issue not in RUNS:
        raise click.UsageError(
            f"there is no run of {name} to be played; there are {', '.join(f'ZK-{i}' for i in RUNS)}"
        )
    try:
        return trace_of_row(issue)
    except TraceError as problem:
        raise NoVerdict(f"the text has the run of {name} no more: {problem}") from None


def leave(folder: Path, tries: int, trace: Trace, plan: Plan, run: Run, name: str) -> None:
    """What stays beside packets, logs and data: the trace, both lanes, as text and drawn, and a test in Java."""
    from traces import write_trace
    from traces.reenact.java import as_java, class_name
    from traces.reenact.lanes import drawn_lanes
    from traces.reenact.told import lanes

    (folder / "lanes.tsv").write_text(lanes(plan, run))
    (folder / "lanes.svg").write_text(drawn_lanes(folder / f"try{tries}", plan, run))
    java = as_java(plan, name, run.harm)
    (folder / f"{class_name(name)}.java").write_text(java)
    write_trace(trace, folder / "run.trace.json")
