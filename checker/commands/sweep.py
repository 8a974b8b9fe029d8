"""`zabcheck sweep`: run a grid of simulations, or a sample of it."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands import shared_options as shared
from checker.commands.common import InputPath, Subcommand, at_least
from checker.commands.publishing import published
from checker.report.result import StatedResult
from checker.report.swept import swept_result
from checker.requests.sweep import Bar, SweepRequest, answer

if TYPE_CHECKING:
    from zabspec.simulator.run import Run

EXAMPLES = """\b
Examples:
  zabcheck sweep seeds --seeds 1:100001
  zabcheck sweep rough --seeds 1:10001 --nodes 3,5 --delay 1:3,1:40 --faults 0,1,4
  zabcheck sweep variants --seeds 1:5001 --variant none,no-holes,repaired --faults 3
  zabcheck sweep sample --seeds 0:1000000 --nodes 3,5,7 --proposals 3,5,10,20 --sample 50000
  zabcheck sweep s3a://lake/out --seeds 1:100000001 --master spark://head:7077
"""


class Listed(click.ParamType[tuple[Any, ...]]):
    """Values with commas between them."""

    name = "list"

    def __init__(self, of: type = str) -> None:
        self.of = of

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in value.split(",")]
        name = param.opts[0] if param else "this"
        if self.of is str:
            if "" in words:
                raise click.UsageError(f"{name} lists values with commas between them; {value!r} has an empty one", ctx)
            return tuple(words)
        wrong = [word for word in words if not (word.isascii() and word.isdecimal() and len(word) < 10)]
        if wrong:
            raise click.UsageError(f"{name} lists numbers with commas between them; {wrong[0]!r} is none", ctx)
        return tuple(int(word) for word in words)


WORDS, NUMBERS = Listed(), Listed(int)
EVERY = 10.0  # seconds between two lines of progress


class FolderPlace(InputPath):
    """The folder of a sweep: one on this machine, or an address of one elsewhere."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from traces.tables.places import address_of

        return value if address_of(str(value)) is not None else super().convert(value, param, ctx)


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("folder", type=FolderPlace(folder=True))
@click.option(
    "--seeds",
    type=WORDS,
    metavar="START:STOP",
    help="Range of seeds, without STOP; or single seeds, or several ranges.",
)
@click.option("--protocol", type=WORDS, metavar="LIST", help="Protocol: db19 (the default) or zab.")
@click.option("--variant", type=WORDS, metavar="LIST", help="Variants; `none` is the protocol itself.")
@click.option(
    "--network",
    type=WORDS,
    metavar="LIST",
    help="zab: fifo, lossy, unordered, duplicating; db19: datagrams, ordered, fifo.",
)
@click.option(
    "--oracle",
    type=WORDS,
    metavar="LIST",
    help="With zab: `lab`, the lab's election; `none`: the seed chooses leaders.",
)
@shared.QUORUMS
@click.option("--nodes", type=NUMBERS, metavar="LIST", help="Processes (3).")
@click.option("--rounds", type=NUMBERS, metavar="LIST", help="Ticks (1000).")
@click.option("--proposals", type=NUMBERS, metavar="LIST", help="Proposals (5).")
@click.option(
    "--delay", type=WORDS, metavar="LIST", help="Least and largest delay of a message in ticks, LEAST:MOST (1:3)."
)
@click.option(
    "--partition",
    multiple=True,
    metavar="S,D,...",
    help="Directed pairs of processes, or `none`; each repetition adds a value.",
)
@click.option(
    "--schedule", multiple=True, metavar="TEXT",
    help="Faults, as 'crash 1@300 recover 1@450 cut 0:2@400', or `none`; each repetition adds a value.",
)  # fmt: skip
@click.option("--faults", type=NUMBERS, metavar="LIST", help="Number of random faults, by the seed (0).")
@click.option(
    "--fault-kinds", type=WORDS, metavar="LIST", help="Kinds of random faults: cut, crash, timeout, lose (all)."
)
@click.option("--sample", type=int, metavar="N", help="Run N random configurations of the grid.")
@click.option("--sample-seed", type=int, metavar="N", help="Seed of the sample (0).")
@click.option("--events", is_flag=True, help="Keep the events of the runs, as an event table: FOLDER/events.")
@click.option("--master", default="", metavar="URL", help="Run on Spark, with this master.")
@click.option("--processes", type=int, metavar="N", callback=at_least(1), help="Processes of this machine (all cores).")
@published("sweep", "The answer as JSON.")
def sweep(folder: Path | str, master: str, **flags: Any) -> StatedResult:
    """Run every configuration of a grid in the simulator and check it against every property of histories.

    FOLDER receives a table of all runs and a report. Runs are played in processes of this machine; with --master, or in
    a session of Spark, as its tasks, and FOLDER may be an address (s3a://, hdfs://), which receives the tables alone.
    All options but --seeds have one value unless given several.

    Exit codes: 0 no property is violated; 1 some property is; 2 the request is wrong; 3 the sweep is not finished, or
    reaches no premise.
    """
    request = SweepRequest(str(folder), master=master, **{n: v for n, v in flags.items() if v is not None})
    with progress() as bar:
        swept = answer(request, bar, run_of_command)
    return swept_result(request.as_json(), swept)


def run_of_command(command: str) -> Run:
    """Return the run that a command line of `zabcheck simulate` describes."""
    from checker.commands.deriving import request_of
    from checker.requests.simulate import Simulate

    words = shlex.split(command)
    assert words[:2] == ["zabcheck", "simulate"]
    request = request_of(Simulate, words[2:])
    assert isinstance(request, Simulate)
    return request.run()


# --- progress ------------------------------------------------------------------------------------


class LateBar(Bar):
    """A progress bar on the terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.rate = ""
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.progress.add_task("", total=None, rate="")
        self.began: tuple[float, int] | None = None
        self.progress.start()

    def say(self, what: str) -> None:
        self.progress.update(self.task, description=what)

    def begin(self, total: int) -> None:
        self.progress.update(self.task, description="runs", total=total)

    def tell(self, done: int) -> None:
        now = time.perf_counter()
        if self.began is None:
            self.began = (now, done)
        since, before = self.began
        rate = f"{(done - before) / (now - since):,.0f} runs/s" if done > before else ""
        self.progress.update(self.task, completed=done, rate=rate)

    def stop(self) -> None:
        self.progress.stop()


class Lines(Bar):
    """Progress in lines, for logs."""

    def begin(self, total: int) -> None:
        self.total, self.due, self.began = total, 0.0, time.perf_counter()

    def tell(self, done: int) -> None:
        spent = time.perf_counter() - self.began
        if spent >= self.due + EVERY:
            self.due = spent
            click.echo(f"{done:,} of {self.total:,} runs, {done / spent:,.0f} a second", err=True)


@contextmanager
def progress() -> Iterator[Bar]:
    """Yield a progress bar, or lines if stderr is no terminal."""
    bar = LateBar() if sys.stderr.isatty() else Lines()
    try:
        yield bar
    finally:
        bar.stop()
