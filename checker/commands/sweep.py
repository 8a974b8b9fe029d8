"""`zabcheck sweep`: a grid of simulated runs, or a sample of it, on Spark."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import (
    HELD,
    INPUT_OR_FOLDER,
    NO_VERDICT,
    VIOLATED,
    NoVerdict,
    Subcommand,
    at_least,
    say,
    table,
    tell,
)

if TYPE_CHECKING:
    from traces.sweep.again import Again
    from traces.sweep.findings import Finding
    from traces.sweep.grid import Grid
    from traces.sweep.seal import Sealed
    from traces.sweep.store import Store
    from traces.sweep.summary import Summary
    from zabspec.simulator.run import Run

__all__ = ["sweep"]

MEMORY = 1 << 30  # for Java, which hands out blocks and adds up
CHECKED = {"spark.hadoop.parquet.page.verify-checksum.enabled": "true"}
EXAMPLES = """\b
Examples:
  zabcheck sweep seeds --seeds 1:100001
  zabcheck sweep rough --seeds 1:10001 --nodes 3,5 --delay 1:3,1:40 --faults 0,1,4
  zabcheck sweep variants --seeds 1:5001 --variant none,no-holes,repaired --faults 3
  zabcheck sweep sample --seeds 0:1000000 --nodes 3,5,7 --proposals 3,5,10,20 --sample 50000
  zabcheck sweep sample                                   go on with what is there
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


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("folder", type=INPUT_OR_FOLDER)
@click.option(
    "--seeds", type=WORDS, metavar="START:STOP", help="Seeds, STOP not among them; or single ones; or several."
)
@click.option("--protocol", type=WORDS, metavar="LIST", help="db19 (the default), zab.")
@click.option("--variant", type=WORDS, metavar="LIST", help="Variants; `none`: the protocol itself.")
@click.option(
    "--network", type=WORDS, metavar="LIST", help="zab: fifo, lossy, unordered, duplicating; db19: datagrams, ordered."
)
@click.option("--oracle", type=WORDS, metavar="LIST", help="zab: lab; `none`: the seed names leaders.")
@click.option("--nodes", type=NUMBERS, metavar="LIST", help="Processes (3).")
@click.option("--rounds", type=NUMBERS, metavar="LIST", help="Ticks (1000).")
@click.option("--proposals", type=NUMBERS, metavar="LIST", help="Proposals (5).")
@click.option("--delay", type=WORDS, metavar="LIST", help="LEAST:MOST ticks that a message takes (1:3).")
@click.option(
    "--partition", multiple=True, metavar="S,D,...", help="Directed pairs, or `none` (repeatable: one of each)."
)
@click.option(
    "--schedule", multiple=True, metavar="TEXT",
    help="Faults, as 'crash 1@300 recover 1@450 cut 0:2@400', or `none` (repeatable: one of each).",
)  # fmt: skip
@click.option("--faults", type=NUMBERS, metavar="LIST", help="How many faults are drawn from the seed (0).")
@click.option("--fault-kinds", type=WORDS, metavar="LIST", help="Of which kinds: cut, crash, timeout, lose (all).")
@click.option("--sample", type=int, callback=at_least(1), metavar="N", help="N configurations of the grid, at random.")
@click.option("--sample-seed", type=int, callback=at_least(0), metavar="N", help="What they are drawn from (0).")
@click.option(
    "--master", default="local[*]", show_default=True, metavar="URL", help="Where it runs, as Spark names it."
)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")
def sweep(folder: Path, master: str, as_json: bool, **flags: Any) -> int:
    """Run every configuration of a grid in the simulator and judge it by every property of histories.

    FOLDER takes a table of all runs and a report. What is finished is not run again: the same
    command goes on after an interrupt. All options but --seeds have one value unless given several.

    Exit codes: 0 nothing broke; 1 something did; 2 the question was wrong; 3 it is not finished.
    """
    from traces.spark import NoSpark, SparkFailed
    from traces.spark.session import check_installed

    try:
        check_installed("jinja2", "matplotlib")
        from traces.sweep.findings import NotRepeated
        from traces.sweep.store import StoreError
        from zabspec.model import ConfigError

        try:
            with progress() as bar:
                return Sweep(folder, asked(**flags), bar).answer(master, as_json)
        except (ConfigError, StoreError) as problem:
            raise click.UsageError(str(problem)) from None
        except NotRepeated as problem:
            raise NoVerdict(str(problem)) from None
    except NoSpark as problem:
        raise click.UsageError(str(problem)) from None
    except SparkFailed as problem:
        raise NoVerdict(f"{problem}; what is finished is in {folder}, and the same command goes on") from None


def asked(**flags: Any) -> Grid | None:
    """Return the grid that the flags name, or None if they name none.

    Raises:
        UsageError, ConfigError: there is none such.
    """
    from traces.sweep.grid import Grid

    given = {name: value for name, value in flags.items() if value not in (None, ())}
    if not given:
        return None
    if "seeds" not in given:
        raise click.UsageError("--seeds says which seeds to run, as --seeds 1:1001")
    if "sample_seed" in given and "sample" not in given:
        raise click.UsageError("--sample-seed goes with --sample")
    question = Grid(**given)
    question.check()
    return question


class Sweep:
    """A sweep under way.

    Raises:
        StoreError: the folder cannot hold it.
    """

    def __init__(self, folder: Path, question: Grid | None, bar: Bar) -> None:
        from traces.sweep.job import block_for
        from traces.sweep.store import open_store

        bar.say("planning")
        self.bar = bar
        self.store: Store = open_store(folder, question, block_for)

    def answer(self, master: str, as_json: bool) -> int:
        """Run it, write its report and print what it came to; returns the exit code.

        Raises:
            NoSpark, SparkFailed, NotRepeated, NoVerdict: there is no answer, or only a part of it.
        """
        from traces.sweep.again import run_again
        from traces.sweep.findings import NotRepeated, findings
        from traces.sweep.report import write_report

        summary, kept = self.run(master)
        self.bar.say("some runs again")
        try:
            found = findings(self.store, summary, run_of_command)
            again = run_again(self.store, kept)
        except (NotRepeated, OSError, ValueError):
            self.remove_damaged()
            raise
        self.bar.say("the report")
        try:
            files = write_report(self.store, summary, found, again)
        except OSError as problem:
            raise NoVerdict(f"cannot write the report to {self.store.folder}: {problem.strerror}") from None
        self.bar.stop()
        code = VIOLATED if summary.every.broken else NO_VERDICT if summary.every.unfinished else HELD
        if as_json:
            return say(json.dumps(as_json_of(self.store, summary, found, again, files, code), indent=1), code)
        return max(code, show(self.store, summary, found, again, files))

    def run(self, master: str) -> tuple[Summary, dict[int, Sealed]]:
        """Every block that is missing, the summary, and what each block has.

        Raises:
            NoSpark, SparkFailed, NoVerdict: it is not finished.
        """
        from traces.spark import NoSpark, SparkFailed
        from traces.spark.session import session
        from traces.sweep.job import run_missing
        from traces.sweep.store import StoreError
        from traces.sweep.summary import summarise

        try:
            self.bar.say("starting Spark")
            with session(master, brief=True, memory=MEMORY, conf=CHECKED) as spark:
                self.bar.begin(self.store.question.count)
                kept = self.store.check()
                missing = [block for block in range(self.store.blocks) if block not in kept]
                kept |= run_missing(spark, self.store, missing, self.bar.tell)
                self.bar.say("adding up")
                summary = summarise(spark, self.store)
            if summary.every.runs != self.store.question.count:
                raise StoreError(f"{self.store.runs} holds tables that are not of this sweep, in folders of their own")
            return summary, kept
        except NoSpark:
            self.store.withdraw()
            raise
        except SparkFailed:
            self.remove_damaged()
            raise
        except KeyboardInterrupt:
            done = sum(len(self.store.numbers(block)) for block in self.store.finished())
            raise NoVerdict(
                f"interrupted with {done:,} of {self.store.question.count:,} configurations finished; "
                f"`zabcheck sweep {shlex.quote(str(self.store.folder))}` goes on"
            ) from None

    def remove_damaged(self) -> None:
        """When rows cannot be read, or are not what they should be: have the files that are to blame run again.

        Raises:
            SparkFailed: there are some.
        """
        from traces.spark import SparkFailed

        damaged = len(self.store.finished()) - len(self.store.check())
        if damaged:
            files = "a file was" if damaged == 1 else f"{damaged:,} files were"
            raise SparkFailed(f"{files} damaged, and will be made again")


def run_of_command(command: str) -> Run:
    """The run that a command line of `zabcheck simulate` means."""
    from checker.commands.simulate import request_of_flags, simulate

    words = shlex.split(command)
    assert words[:2] == ["zabcheck", "simulate"]
    return request_of_flags(**simulate.make_context("simulate", words[2:]).params).run()


# --- what it came to -----------------------------------------------------------------------------


def show(store: Store, summary: Summary, found: tuple[Finding, ...], again: Again, files: tuple[Path, ...]) -> int:
    """Print the answer."""
    from traces.sweep.report import program_name, rate_text, verdict

    code = tell(verdict(store.question, summary) + "\n", HELD)
    if again.sentence:
        code = max(code, tell(again.sentence + "\n", HELD))
    rows = [
        (name, f"{t.violated:,}", f"{t.holds:,}", f"{t.not_reached:,}") for name, t in summary.every.tallies.items()
    ]
    code = max(code, table(("property", "violated", "holds", "premise not reached"), rows))
    lines = []
    for command in dict.fromkeys(f.command for f in found):
        lines.append(f"\n{command}")
        for f in found:
            if f.command == command:
                rate = rate_text(f.violated, f.judged)
                lines.append(f"  the first of {program_name(f.program)} that breaks {f.name}, at tick {f.tick}: {rate}")
    lines.append(f"\ntable: {store.runs}\nreport: {', '.join(str(path) for path in files)}")
    return max(code, say("\n".join(lines), HELD))


def as_json_of(
    store: Store, summary: Summary, found: tuple[Finding, ...], again: Again, files: tuple[Path, ...], code: int
) -> dict[str, Any]:
    """The answer for machines."""
    from traces.sweep.again import CONFIDENCE
    from traces.sweep.report import verdict
    from traces.sweep.summary import Group

    def group(g: Group) -> dict[str, Any]:
        tallies = {
            name: {"violated": t.violated, "holds": t.holds, "premise_not_reached": t.not_reached}
            for name, t in g.tallies.items()
        }
        return {"runs": g.runs, "broken": g.broken, "unfinished": g.unfinished, **g.sums, "properties": tallies}

    return {
        "verdict": verdict(store.question, summary),
        "question": store.question.as_json(),
        "configurations": store.question.count,
        "grid": store.question.size,
        **group(summary.every),
        "axes": {
            axis: [{"value": value, **group(g)} for value, g in groups.items()] for axis, groups in summary.axes.items()
        },
        "first": [
            {"property": f.name, "program": list(f.program), "violated": f.violated, "judged": f.judged}
            | {"number": f.number, "tick": f.tick, "sha256": f.sha256, "command": f.command}
            for f in found
        ],
        "together": [
            {"program": list(t.program), "properties": list(t.names), "runs": t.runs, "first": t.first}
            for t in summary.together
        ],
        "again": {"runs": again.runs, "of": again.of, "share": again.share, "confidence": CONFIDENCE},
        "table": str(store.runs),
        "report": [str(path) for path in files],
        "exit_code": code,
    }


# --- progress ------------------------------------------------------------------------------------


class Bar:
    """How far a sweep has come. This one shows nothing."""

    def say(self, what: str) -> None:
        """What is being done now."""

    def begin(self, total: int) -> None:
        """Runs begin, so many in all."""

    def tell(self, done: int) -> None:
        """So many are finished."""

    def stop(self) -> None:
        """It is over."""


class LateBar(Bar):
    """A bar on the terminal."""

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


@contextmanager
def progress() -> Iterator[Bar]:
    """A bar, where stderr is a terminal."""
    bar = LateBar() if sys.stderr.isatty() else Bar()
    try:
        yield bar
    finally:
        bar.stop()
