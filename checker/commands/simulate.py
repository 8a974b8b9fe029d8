"""`zabcheck simulate`: run the deterministic simulator once, byte for byte reproducible."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import (
    HELD,
    NO_VERDICT,
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
from checker.commands.publishing import Files, files_of, format_options, publish
from checker.commands.requested import budgets_of
from checker.plain_text import Verbatim
from checker.report.result import StatedResult
from checker.requests.simulate import RuntimeErrorMet, SimulateRequest, answer

if TYPE_CHECKING:
    from checker.report.simulated import Simulation
    from zabspec.simulator.run import Run

LARGEST_RUN = 1 << 62  # the largest value of a column of numbers
WRITTEN = ("dump", "events", "table", "trace")  # files besides the page

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
@click.option("--seed", default=42, show_default=True, help="Seed of the random delays and deadlines; 64 bits.")
@shared.NODES_OR_DECLARED
@click.option("--rounds", default=1000, show_default=True, help="Ticks.")
@click.option("--proposals", type=int, help="Number of proposals, spread evenly over the ticks (5).")
@click.option("--partition", metavar="S,D,...", help="Directed pairs of processes: no message from S arrives at D.")
@shared.named("--protocol", "NAME", PROTOCOL_HELP, completing.protocols, "db19")
@shared.START
@shared.QUORUMS
@click.option(
    "--budget", "own_budgets", multiple=True, metavar="NAME=N", shell_complete=completing.budgets, help=OWN_BUDGETS_HELP
)
@shared.VARIANT
@shared.REPAIR
@shared.named(
    "--network",
    "NAME",
    "zab: fifo (the default), lossy, unordered, duplicating; db19: datagrams, ordered, fifo.",
    completing.networks,
)
@shared.named("--oracle", "NAME", "With zab: `lab`, the lab's election; otherwise the seed chooses leaders.")
@click.option("--delay", metavar="LEAST:MOST", help="Least and largest delay of a message in ticks (1:3).")
@click.option(
    "--cut",
    multiple=True,
    metavar="A:B@TICK",
    help="From this tick no message from A arrives at B; A-B: both directions.",
)
@click.option(
    "--heal", multiple=True, metavar="A:B@TICK", help="From this tick messages arrive again; A-B: both directions."
)
@click.option("--crash", multiple=True, metavar="P@TICK", help="Crash a process at this tick.")
@click.option("--recover", multiple=True, metavar="P@TICK", help="Recover a crashed process at this tick.")
@click.option(
    "--lose", multiple=True, metavar="F:L@TICK", help="Lose the connection of follower F to leader L at this tick."
)
@click.option("--timeout", multiple=True, metavar="P@TICK", help="Let a process time out at this tick.")
@click.option("--dump", type=PATH, metavar="FILE", help="Write the canonical dump.")
@click.option("--events", type=PATH, metavar="FILE", help="Write all events, as JSON lines.")
@click.option("--table", type=PATH, metavar="FILE", help="Write all events, as an event table (Parquet).")
@click.option(
    "--run",
    "number",
    type=click.IntRange(0),
    metavar="N",
    help="With --table: the number of the run (default: the seed).",
)
@click.option("--show", is_flag=True, help="Print the final state of the cluster.")
@click.option("--check", is_flag=True, help="Check the run against every property of histories.")
@shared.PROPERTY
@click.option("--trace", type=PATH, metavar="FILE", help="With --check: save the first violation as a trace.")
@HTML
@click.option(
    "--engine", metavar="NAME", shell_complete=completing.one_of("compiled", "interpret"),
    help="compiled (the default), or interpret (plain Python).",
)  # fmt: skip
@shared.ANSWER_JSON
@format_options("simulate")
def simulate(**flags: Any) -> Answer:
    """Run a cluster in the simulator of the db-19 lab and print the SHA-256 of its canonical dump.

    A run follows from its seed and flags alone. All flags from --protocol to --timeout are additions to the lab; faults
    come first in their tick.

    Exit codes: 0; 1 --check found a violation, or a user protocol has a run-time error; 2 the request is wrong; 3 the
    run has no end.
    """
    request = request_of_flags(**flags)
    outputs: dict[str, Path | None] = {name: flags[name] for name in (*WRITTEN, "page")}
    check_outputs(outputs, request)
    number = number_of(flags["number"], outputs["table"] is not None, request)
    others = {name: outputs[name] for name in WRITTEN}
    files, as_json = files_of("simulate", flags, **others, html=outputs["page"]), flags["as_json"]
    try:
        simulation = answer(request, listen=outputs["events"] is not None)
    except RuntimeErrorMet as found:
        return publish(error_of(found), as_json, files)
    written, troubles = written_beside(simulation, number, **outputs)
    if as_json or flags["show"] or request.check or files:
        simulation.shown, simulation.saved = flags["show"], outputs["trace"]
        return publish(simulation, as_json, files, written, troubles)
    digest = Verbatim(simulation.sha256 + ("\n" if sys.stdout.isatty() else ""))  # as the lab's program; a terminal
    return Answer(NO_VERDICT if troubles else HELD, [digest], files=written, notes=troubles)


def written_beside(
    simulation: Simulation,
    number: int,
    dump: Path | None,
    events: Path | None,
    table: Path | None,
    trace: Path | None,
    page: Path | None,
) -> tuple[Files, list[str]]:
    """Return the further files to write, and what failed. The trace and the table are saved already.

    Args:
        number: of the run in the table.
        dump: the canonical dump. events: everything that happens, as JSON lines; table: as an event table.
        trace: the first violation, as a trace; page: a drawing of it, or of the whole run.
    """
    from traces.record.events import lines

    files = [(dump, simulation.bytes)] if dump is not None else []
    files += [(events, lines(simulation.events))] if events is not None else []
    troubles = [write_table(simulation.run, table, number)] if table is not None else []
    if page is not None or (simulation.exit_code == VIOLATED and trace is not None):
        pages, trouble = simulation.write_run(trace, page)
        files, troubles = [*files, *pages], [*troubles, trouble]
    return files, [trouble for trouble in troubles if trouble]


def request_of_flags(**flags: Any) -> SimulateRequest:
    """Build the request from the flags.

    Raises:
        RequestError: a value is wrong.
    """
    values = {f.name: flags[f.name] for f in fields(SimulateRequest) if f.name in flags}
    return SimulateRequest(
        **(values | {"budgets": budgets_of(flags["protocol"], flags["own_budgets"]), "properties": flags["names"]})
    )


def error_of(found: RuntimeErrorMet) -> StatedResult:
    """Return the message for a run that ends in a run-time error of a user protocol."""
    from zabspec.language.diagnostics import pointed

    head, place = f"VIOLATED: no-runtime-error: {found.sentence}", found.stop.place
    content: dict[str, Any] = {
        "verdict": "violated",
        "property": "no-runtime-error",
        "sentence": head,
        "place": place.text,
    }
    content |= {"values": dict(found.stop.values)}
    held = ", ".join(f"{name} = {value}" for name, value in found.stop.values)
    lines = [f"{place.text}:", *(f"    {line}" for line in pointed(place).splitlines())]
    text = [head, "\n".join([*lines, *([f"with {held}"] if held else [])])]
    return StatedResult(head, VIOLATED, content, text, kind="simulate")


def check_outputs(outputs: Mapping[str, Path | None], request: SimulateRequest) -> None:
    """Check the outputs of the run before it starts.

    Raises:
        UsageError: a file cannot be written, two are the same, or the request produces no such output.
    """
    given = {name: path for name in WRITTEN if (path := outputs[name]) is not None}
    for option in ("events", "table"):
        if option in given and request.engine == "compiled":
            raise click.UsageError(f"--{option} needs --engine interpret; compiled code reports no events")
    for option, path in given.items():
        check_writable(path, f"--{option}", regular=option in ("table", "trace"))
    check_page(outputs["page"], list(given.values()))
    if "trace" in given and not request.check:
        raise click.UsageError("--trace needs --check, whose violation it saves")
    if "table" in given:
        check_table(request.run())


def number_of(said: int | None, table: bool, request: SimulateRequest) -> int:
    """Return the number of the run in its table: the given one, or the seed, so that seeds have distinct numbers.

    Raises:
        UsageError: a table has no such number, or there is no table.
    """
    if said is not None and not table:
        raise click.UsageError("--run needs --table, in which it numbers the run")
    number = request.seed if said is None else said
    if table and abs(number) > LARGEST_RUN:
        named = "--seed" if said is None else "--run"
        hint = "; --run sets another number" if said is None else ""
        raise click.UsageError(f"{named} {number}: runs of a table are numbered up to 2**62{hint}")
    return number


def check_table(run: Run) -> None:
    """Check that a run can be written as an event table.

    Raises:
        UsageError: the package that writes tables is not installed, the protocol lacks the fields that tables are made
            from, or the run does not begin in the first state.
    """
    from traces.tables.own import refuse_start
    from traces.tables.recorded import ready_field, refuse_quorums
    from traces.tables.table import TableError, check_arrow

    try:
        check_arrow()
        refuse_start(run.start)
        if protocol_named(run.protocol).declared.replicas:
            ready_field(run.protocol)
            refuse_quorums(run.quorums)
    except TableError as problem:
        raise click.UsageError(str(problem)) from None


def write_table(run: Run, path: Path, number: int) -> str:
    """Play a run once more, record its events, and write them as an event table; return what failed.

    Args:
        number: of the run in the table.
    """
    from checker.report.simulated import Progress
    from traces.tables import recorded
    from traces.tables.own import table_of_run

    if protocol_named(run.protocol).declared.replicas:
        with Progress(run.rounds) as progress:
            rows = recorded.rows_of_run(run, number, progress.watch).as_table()
    else:
        rows = table_of_run(run, number)
    try:
        recorded.write_table(rows, run.protocol, path)
    except OSError as problem:
        return f"cannot write {path}: {problem.strerror}"
    return ""
