"""`zabcheck simulate`: one run of the deterministic simulator, byte for byte."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import (
    OWN_BUDGETS_HELP,
    PATH,
    PROTOCOL_HELP,
    VIOLATED,
    Answer,
    Subcommand,
    check_writable,
    protocol_named,
)
from checker.commands.page_option import HTML, check_page
from checker.commands.requested import budgets_of
from checker.report.outputs import SimulationOutputs
from checker.requests.simulate import RuntimeErrorMet, SimulateRequest, answer

if TYPE_CHECKING:
    from zabspec.simulator.run import Run

__all__ = ["request_of_flags", "simulate"]

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
def simulate(**flags: Any) -> Answer:
    """Run a cluster in the simulator of the db-19 lab and print the SHA-256 of its canonical dump.

    A run follows from its seed and flags alone. All flags from --protocol to --timeout go beyond
    the lab; faults come first in their tick.

    Exit codes: 0; 1 --check found a violation, or your own protocol meets a run-time error; 2 the question was wrong;
    3 the run has no end.
    """
    request = request_of_flags(**flags)
    outputs = SimulationOutputs(**{f.name: flags[f.name] for f in fields(SimulationOutputs)})
    check_outputs(outputs, request)
    try:
        simulation = answer(request, listen=outputs.events is not None)
    except RuntimeErrorMet as found:
        return answer_of_error(found, outputs.as_json)
    trouble = write_table(simulation.run, outputs.table) if outputs.table is not None else ""
    return simulation.answer(outputs, trouble)


def request_of_flags(**flags: Any) -> SimulateRequest:
    """Return the request that the flags make.

    Raises:
        RequestError: a value is wrong.
    """
    values = {f.name: flags[f.name] for f in fields(SimulateRequest) if f.name in flags}
    return SimulateRequest(**(values | {"budgets": budgets_of(flags["protocol"], flags["own_budgets"])}))


def answer_of_error(found: RuntimeErrorMet, as_json: bool) -> Answer:
    """Return that a run ends in a run-time error of a user protocol."""
    from zabspec.language.diagnostics import pointed

    head, place = f"VIOLATED: no-runtime-error: {found.sentence}", found.stop.place
    if as_json:
        content = {"verdict": "violated", "property": "no-runtime-error", "sentence": head, "place": place.text}
        return Answer(VIOLATED, content={**content, "values": dict(found.stop.values)})
    held = ", ".join(f"{name} = {value}" for name, value in found.stop.values)
    lines = [f"{place.text}:", *(f"    {line}" for line in pointed(place).splitlines())]
    return Answer(VIOLATED, [head, "", *lines, *([f"with {held}"] if held else [])])


def check_outputs(outputs: SimulationOutputs, request: SimulateRequest) -> None:
    """Check what the run is written to, before it is run.

    Raises:
        UsageError: a file cannot be written, two are one, or the request does not make what is written.
    """
    for option in ("events", "table"):
        if getattr(outputs, option) is not None and request.engine == "compiled":
            raise click.UsageError(f"--{option} listens to --engine interpret; compiled code tells nothing")
    given = [option for option in ("dump", "events", "table", "trace") if getattr(outputs, option) is not None]
    for option in given:
        check_writable(getattr(outputs, option), f"--{option}", regular=option in ("table", "trace"))
    for k, option in enumerate(given):
        for other in given[:k]:
            if getattr(outputs, option) == getattr(outputs, other):
                raise click.UsageError(f"--{other} and --{option} name the same file")
    check_page(outputs.page, [getattr(outputs, option) for option in given])
    if outputs.page is not None and not request.check:
        raise click.UsageError("--html draws what --check finds, and --check is not given")
    if outputs.trace is not None and not request.check:
        raise click.UsageError("--trace saves what --check finds, and --check is not given")
    if outputs.table is not None:
        check_table(request.run())


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
        if protocol_named(run.protocol).declared.replicas:
            ready_field(run.protocol)
    except TableError as problem:
        raise click.UsageError(str(problem)) from None


def write_table(run: Run, path: Path) -> str:
    """Play a run once more, listened to, and write what happens as an event table; what went wrong."""
    if not protocol_named(run.protocol).declared.replicas:
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
