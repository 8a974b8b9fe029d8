"""`zabcheck simulate`: one run of the deterministic simulator, byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import (
    NO_VERDICT,
    OWN_BUDGETS_HELP,
    PATH,
    PROTOCOL_HELP,
    VIOLATED,
    Cannot,
    Subcommand,
    check_writable,
    complain,
    protocol_named,
    say,
)
from checker.commands.drawn import HTML, check_page

if TYPE_CHECKING:
    from checker.report.simulated import Answer
    from zabspec.language.diagnostics import Stop
    from zabspec.simulator.run import Fault, Run, SimulationError

__all__ = ["answered", "simulate"]

NUMBER = r"\s*(\d{1,18})\s*"
EXAMPLES = """\b
Examples:
  zabcheck simulate --seed 42 --nodes 3 --rounds 1000 --proposals 5
  zabcheck simulate --seed 7 --nodes 5 --partition 0,1,1,0 --show
  zabcheck simulate --seed 14 --rounds 400 --check --trace run.trace.json
  zabcheck simulate --crash 1@300 --recover 1@450 --events run.jsonl --show
  zabcheck simulate --seed 14 --table run.parquet
  zabcheck simulate --protocol zab --cut 0-2@400 --heal 0-2@600 --check
"""


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.option("--seed", default=42, show_default=True, help="What delays and deadlines are drawn from; 64 bits.")
@click.option("--nodes", type=int, help="Processes (3, unless your own protocol says otherwise).")
@click.option("--rounds", default=1000, show_default=True, help="Ticks.")
@click.option("--proposals", type=int, help="Proposals, spread evenly over the ticks (5).")
@click.option("--partition", metavar="S,D,...", help="Directed pairs; nothing that S sends arrives at D.")
@click.option("--protocol", default="db19", show_default=True, metavar="NAME", help=PROTOCOL_HELP)
@click.option("--start", default="", metavar="NAME", help="Where runs begin, of what a protocol declares.")
@click.option("--budget", "own_budgets", multiple=True, metavar="NAME=N", help=OWN_BUDGETS_HELP)
@click.option("--variant", default="", metavar="NAMES", help="The protocol with a rule changed, or several: a,b.")
@click.option("--repair", default="", metavar="NAMES", help="Rules repaired besides: variants that repair one, as a,b.")
@click.option(
    "--network",
    default="",
    metavar="NAME",
    help="zab: fifo (the default), lossy, unordered, duplicating; db19: datagrams, ordered.",
)
@click.option("--oracle", default="", metavar="NAME", help="zab: lab, the lab's election; else the seed names leaders.")
@click.option("--delay", metavar="LEAST:MOST", help="Ticks that a message takes (1:3).")
@click.option(
    "--cut", multiple=True, metavar="A:B@TICK", help="From then on nothing that A sends arrives at B; A-B: both ways."
)
@click.option("--heal", multiple=True, metavar="A:B@TICK", help="It arrives again; A-B: both ways.")
@click.option("--crash", multiple=True, metavar="P@TICK", help="A process crashes.")
@click.option("--recover", multiple=True, metavar="P@TICK", help="A process that had crashed recovers.")
@click.option("--lose", multiple=True, metavar="F:L@TICK", help="The connection of follower F to leader L is lost.")
@click.option("--timeout", multiple=True, metavar="P@TICK", help="A process has waited too long.")
@click.option("--dump", type=PATH, metavar="FILE", help="Write the canonical dump.")
@click.option("--events", type=PATH, metavar="FILE", help="Write everything that happens, as JSON lines.")
@click.option("--table", type=PATH, metavar="FILE", help="Write everything that happens, as an event table (Parquet).")
@click.option("--show", is_flag=True, help="Print the cluster as it is at the end.")
@click.option("--check", is_flag=True, help="Judge the run by every property of histories.")
@click.option("--trace", type=PATH, metavar="FILE", help="With --check: save the first violation as a trace.")
@HTML
@click.option("--engine", metavar="NAME", help="compiled (the default), or interpret (plain Python).")
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")
def simulate(**options: Any) -> int:
    """Run a cluster in the simulator of the db-19 lab and print the SHA-256 of its canonical dump.

    A run follows from its seed and flags alone. All flags from --protocol to --timeout go beyond
    the lab; faults come first in their tick.

    Exit codes: 0; 1 --check found a violation, or your own protocol meets a run-time error; 2 the question was wrong;
    3 the run has no end.
    """
    try:
        answer = answered(options)
    except RuntimeErrorMet as found:
        return found.publish(options)
    trouble = answer.write_files(options)
    if options["table"] is not None:
        trouble = write_table(answer.run, options["table"]) or trouble
    code = answer.print(options)
    if trouble:
        complain(trouble)
        return NO_VERDICT
    return code


class RuntimeErrorMet(Cannot):
    """A run of somebody's own protocol that ends in a run-time error of its source: `no-runtime-error` is violated.

    Args:
        sentence: what the simulator says of it.
        stop: the line of the source, and what its names hold.
    """

    def __init__(self, sentence: str, stop: Stop) -> None:
        super().__init__(f"the run has no end: {sentence}")
        self.sentence, self.stop = sentence, stop

    def publish(self, options: Mapping[str, Any]) -> int:
        """Print it; returns the exit code."""
        from zabspec.language.diagnostics import pointed

        head, place = f"VIOLATED: no-runtime-error: {self.sentence}", self.stop.place
        if options["as_json"]:
            content = {"verdict": "violated", "property": "no-runtime-error", "sentence": head, "place": place.text}
            return say(json.dumps({**content, "values": dict(self.stop.values)}, indent=1), VIOLATED)
        held = ", ".join(f"{name} = {value}" for name, value in self.stop.values)
        lines = [f"{place.text}:", *(f"    {line}" for line in pointed(place).splitlines())]
        return say("\n".join([head, "", *lines, *([f"with {held}"] if held else [])]), VIOLATED)


def met_in(run: Run, problem: SimulationError) -> RuntimeErrorMet | None:
    """The run-time error of the author in which a run ends, met again in plain Python, which has the values; None: it
    is of the simulator, or of a protocol of this project."""
    from traces.record.failure import of_author
    from zabspec.language.diagnostics import innermost
    from zabspec.language.place import is_own_file
    from zabspec.language.reference import ERRORS
    from zabspec.simulator.run import SimulationError, play

    if problem.lacks_room or protocol_named(run.protocol).text is None:
        return None
    try:
        play(run, "interpret")
    except SimulationError as again:
        trouble = again.__context__
        if not isinstance(trouble, ERRORS) or not of_author(trouble):
            return None
        stop = innermost(trouble, lambda file: not is_own_file(file))
        if stop is not None and not is_own_file(stop.place.file):
            return RuntimeErrorMet(str(again), stop)
    return None


def answered(options: dict[str, Any]) -> Answer:
    """Simulate; nothing is printed, and nothing written.

    Raises:
        UsageError: the question was wrong.
        Cannot: the run has no end.
    """
    from checker.report.simulated import Answer
    from traces.tables.table import TableError
    from zabspec.model import ConfigError
    from zabspec.simulator.run import ENGINES, MOST_OBSERVED, SimulationError

    engine = options["engine"] or "compiled"
    if engine not in ENGINES:
        raise click.UsageError(f"there is no engine {engine!r}; there are {' and '.join(ENGINES)}")
    if options["events"] is not None and options["engine"] == "compiled":
        raise click.UsageError("--events listens to --engine interpret; compiled code tells nothing")
    if options["table"] is not None and options["engine"] == "compiled":
        raise click.UsageError("--table listens to --engine interpret; compiled code tells nothing")
    check_files(options)
    try:
        run = run_of(options)
        if options["table"] is not None:
            check_table(run)
        return Answer(run, engine, options)
    except ConfigError as problem:
        raise click.UsageError(str(problem)) from None
    except SimulationError as problem:
        raise met_in(run, problem) or Cannot(f"the run has no end: {problem}") from None
    except TableError as problem:
        raise click.UsageError(f"--check of more than {MOST_OBSERVED} proposals: {problem}") from None


# --- the question --------------------------------------------------------------------------------


def check_files(options: dict[str, Any]) -> None:
    """
    Raises:
        UsageError: a file cannot be written, or two are one.
    """
    given = [option for option in ("dump", "events", "table", "trace") if options[option] is not None]
    for option in given:
        check_writable(options[option], f"--{option}", regular=option in ("table", "trace"))
    for k, option in enumerate(given):
        for other in given[:k]:
            if options[option] == options[other]:
                raise click.UsageError(f"--{other} and --{option} name the same file")
    check_page(options["page"], [options[option] for option in given])
    if options["page"] is not None and not options["check"]:
        raise click.UsageError("--html draws what --check finds, and --check is not given")
    if options["trace"] is not None and not options["check"]:
        raise click.UsageError("--trace saves what --check finds, and --check is not given")


def check_table(run: Run) -> None:
    """
    Raises:
        UsageError: what writes tables is not installed, the protocol has not what they are made from, or the run does
            not begin in the first state.
    """
    from traces.tables.own import refuse_start
    from traces.tables.recorded import ready_field
    from traces.tables.table import TableError, check_arrow

    try:
        check_arrow()
        refuse_start(run.start)
        if protocol_named(run.protocol).text is None:
            ready_field(run.protocol)
    except TableError as problem:
        raise click.UsageError(str(problem)) from None


def write_table(run: Run, path: Path) -> str:
    """Play a run once more, listened to, and write what happens as an event table; what went wrong."""
    if protocol_named(run.protocol).text is not None:
        from traces.tables.own import write_own

        return write_own(run, path)
    from checker.report.simulated import Progress
    from traces.tables.recorded import observes, rows_of_run
    from traces.tables.table import TableWriter

    with Progress(run.rounds) as progress:
        rows = rows_of_run(run, watch=progress.watch)
    try:
        with TableWriter(path, observes(run.protocol)) as table:
            table.add(rows)
    except OSError as problem:
        return f"cannot write {path}: {problem.strerror}"
    return ""


def combined(options: dict[str, Any]) -> str:
    """The variants, with the repairs."""
    from zabspec.protocols.registry import PROTOCOLS

    found = PROTOCOLS.get(options["protocol"])
    return found.combined(options["variant"], options["repair"]) if found is not None else options["variant"]


def run_of(options: dict[str, Any]) -> Run:
    """The run that was asked for.

    Raises:
        UsageError, ConfigError: there is no such run.
    """
    from zabspec.simulator.run import Run

    protocol = protocol_named(options["protocol"])
    nodes = protocol.nodes if options["nodes"] is None else options["nodes"]
    if options["proposals"] is not None and not protocol.transactions:
        raise click.UsageError(f"--proposals is not for {protocol.name}, which has no transactions")
    delay: dict[str, Any] = {}
    if options["delay"] is not None:
        least, most = parsed("--delay", options["delay"], f"{NUMBER}:{NUMBER}", "LEAST:MOST, as 1:3")
        delay = {"least_delay": least, "delays": most - least + 1}
    return Run(
        options["seed"],
        nodes,
        options["rounds"],
        5 if options["proposals"] is None else options["proposals"],
        tuple((a, b) for a, b in pairs(options["partition"]) if 0 <= a < nodes and 0 <= b < nodes),
        tuple(faults(options)),
        protocol=options["protocol"],
        variant=combined(options),
        network=options["network"],
        oracle=options["oracle"],
        budgets=",".join(options["own_budgets"]),
        start=options["start"],
        **delay,
    )


def pairs(text: str | None) -> list[tuple[int, int]]:
    """The directed pairs of --partition; those out of range are ignored later (reading 15).

    Raises:
        UsageError: these are not pairs of numbers.
    """
    if text is None:
        return []
    words = [word.strip() for word in text.split(",")]
    wrong = [word for word in words if not re.fullmatch(r"[+-]?\d{1,18}", word, re.ASCII)]
    if wrong:
        raise click.UsageError(f"--partition lists pairs S,D,S,D,... of process numbers; {wrong[0]!r} is none")
    if len(words) % 2:
        raise click.UsageError(f"--partition lists pairs S,D,S,D,...; {len(words)} numbers are an odd count")
    numbers = [int(word) for word in words]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def parsed(option: str, text: str, pattern: str, form: str) -> tuple[int, ...]:
    """The numbers in a flag's value.

    Raises:
        UsageError: it is not of that form.
    """
    found = re.fullmatch(pattern, text, re.ASCII)
    if not found:
        raise click.UsageError(f"{option} must be {form}, not {text!r}")
    return tuple(int(number) for number in found.groups())


def faults(options: dict[str, Any]) -> Iterable[Fault]:
    """The schedule. In one tick: cuts, heals, crashes, recoveries, lost connections, timeouts."""
    from zabspec.simulator.run import Fault

    for kind in ("cut", "heal", "crash", "recover", "lose", "timeout"):
        for text in options[kind]:
            if kind in ("crash", "recover", "timeout"):
                p, tick = parsed(f"--{kind}", text, f"{NUMBER}@{NUMBER}", "P@TICK, as 1@300")
                yield Fault(tick, kind, p)
                continue
            both = kind != "lose" and "-" in text
            form = "F:L@TICK, as 1:0@300" if kind == "lose" else "A:B@TICK or A-B@TICK, as 0:1@300"
            a, b, tick = parsed(f"--{kind}", text, f"{NUMBER}{'-' if both else ':'}{NUMBER}@{NUMBER}", form)
            if a == b:
                raise click.UsageError(f"--{kind} {text}: a process has no way to itself")
            yield Fault(tick, kind, a, b)
            if both:
                yield Fault(tick, kind, b, a)
