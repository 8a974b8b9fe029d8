"""Run a cluster in the deterministic simulator."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from checker.errors import VIOLATED, NoVerdict, RequestError
from checker.requests.base.bounded import Checked
from checker.requests.base.model import (
    SIZES,
    Network,
    Nodes,
    OwnBudgets,
    OwnParameters,
    ProtocolName,
    Quorums,
    Repair,
    Start,
    Variant,
    amounts_text,
    protocol_named,
)
from checker.requests.base.request import File, Option, Request, Words, function, names_in
from checker.requests.base.watch import QUIET, Watch
from zabspec.files import read_bytes
from zabspec.typed import Natural

if TYPE_CHECKING:
    from checker.report.answer import StatedAnswer
    from checker.report.simulated import Simulated
    from zabspec.language.layout.diagnostics import Stop
    from zabspec.model import Configuration
    from zabspec.simulator.run import Fault, Run, SimulationError

NUMBER = r"\s*(\d{1,18})\s*"
LARGEST_DUMP = 1 << 30  # bytes that are read
LARGEST_RUN = 1 << 62  # the largest value of a column of numbers
FAULTS = ("cut", "heal", "crash", "recover", "lose", "timeout")  # in this order within a tick


@dataclass(frozen=True)
class Simulate(Request):
    """Run a cluster in the simulator of the db-19 lab and print the SHA-256 of its canonical dump.

    A run follows from its seed and flags alone. All flags from --protocol to --timeout are additions to the lab; faults
    come first in their tick.

    Exit codes: 0; 1 --check found a violation, --compare a difference, or a user protocol has a run-time error; 2 the
    request is wrong; 3 the run has no end, or --check put no property to the test.

    Examples:
      zabcheck simulate --seed 42 --nodes 3 --rounds 1000 --proposals 5
      zabcheck simulate --seed 7 --nodes 5 --partition 0,1,1,0 --show
      zabcheck simulate --seed 14 --rounds 400 --check --trace run.trace.json
      zabcheck simulate --crash 1@300 --recover 1@450 --events run.jsonl --show
      zabcheck simulate --seed 14 --table run.parquet
      zabcheck simulate --seed 7 --dump seven.bin
      zabcheck simulate --seed 7 --nodes 3 --compare seven.bin
      zabcheck simulate --protocol zab --cut 0-2@400 --heal 0-2@600 --check
    """

    kind: ClassVar[str] = "simulate"
    draws: ClassVar[bool] = True
    shares: ClassVar[tuple[str, ...] | None] = SIZES

    protocol: ProtocolName = "db19"
    seed: Annotated[int, Option("Seed of the random delays and deadlines; 64 bits.")] = 42
    nodes: Nodes = None
    rounds: Annotated[int, Option("Ticks.")] = 1000
    proposals: Annotated[int | None, Option("Number of proposals, spread evenly over the ticks (5).")] = None
    partition: Annotated[
        str | None, Option("Directed pairs of processes: no message from S arrives at D.", metavar="S,D,...")
    ] = None
    variant: Variant = ""
    repair: Repair = ""
    network: Network = ""
    start: Start = ""
    quorums: Quorums = ""
    parameters: OwnParameters = field(default_factory=dict)
    budgets: OwnBudgets = field(default_factory=dict)
    oracle: Annotated[
        str,
        Option(
            "With zab: `lab`, the lab's election, or `round-robin`; otherwise the seed chooses leaders.", metavar="NAME"
        ),
    ] = ""
    delay: Annotated[
        str | None, Option("Least and largest delay of a message in ticks (1:3).", metavar="LEAST:MOST")
    ] = None
    cut: Annotated[
        Words, Option("From this tick no message from A arrives at B; A-B: both directions.", metavar="A:B@TICK")
    ] = ()
    heal: Annotated[
        Words, Option("From this tick messages arrive again; A-B: both directions.", metavar="A:B@TICK")
    ] = ()
    crash: Annotated[Words, Option("Crash a process at this tick.", metavar="P@TICK")] = ()
    recover: Annotated[Words, Option("Recover a crashed process at this tick.", metavar="P@TICK")] = ()
    lose: Annotated[
        Words, Option("Lose the connection of follower F to leader L at this tick.", metavar="F:L@TICK")
    ] = ()
    timeout: Annotated[Words, Option("Let a process time out at this tick.", metavar="P@TICK")] = ()
    dump: Annotated[File, Option("Write the canonical dump.", place="stream")] = ""
    events: Annotated[File, Option("Write all events, as JSON lines.", place="stream")] = ""
    table: Annotated[File, Option("Write all events, as an event table (Parquet).", place="write")] = ""
    number: Annotated[
        Natural | None, Option("With --table: the number of the run (default: the seed).", flag="run")
    ] = None
    compare: Annotated[
        File, Option("Compare a dump of another program: name the first node and field that differ.", place="read")
    ] = ""
    show: Annotated[bool, Option("Print the final state of the cluster.")] = False
    check: Annotated[bool, Option("Check the run against every property of histories.")] = False
    properties: Checked = ()
    trace: Annotated[File, Option("With --check: save the first violation as a trace.", place="write")] = ""
    engine: Annotated[
        Literal["compiled", "interpret"] | None,
        Option("compiled (the default), or interpret (plain Python).", metavar="NAME"),
    ] = None

    def validate(self) -> None:
        if self.properties and not self.check:
            raise RequestError("--property needs --check: without it a run is not checked")
        if self.trace and not self.check:
            raise RequestError("--trace needs --check, whose violation it saves")
        if self.number is not None and not self.table:
            raise RequestError("--run needs --table, in which it numbers the run")
        for name in ("events", "table"):
            if getattr(self, name) and self.engine == "compiled":
                raise RequestError(f"--{name} needs --engine interpret; compiled code reports no events")
        if self.table and abs(self.seed if self.number is None else self.number) > LARGEST_RUN:
            hint = "" if self.number is not None else "; --run sets another number"
            named = f"--seed {self.seed}" if self.number is None else f"--run {self.number}"
            raise RequestError(f"{named}: runs of a table are numbered up to 2**62{hint}")

    @property
    def name(self) -> str:
        """The protocol, as `--protocol` names it."""
        return str(self.protocol)

    def run(self) -> Run:
        """Return the run.

        Raises:
            RequestError, ConfigError: there is no such run.
        """
        from zabspec.authoring.quorums import system_for
        from zabspec.roles import roles_of
        from zabspec.simulator.run import Run

        protocol = protocol_named(self.name)
        quorums, nodes = system_for(fspath(self.quorums), self.nodes)
        if protocol.declared.roles:
            roles = roles_of(protocol.roles(protocol.own_parameters(amounts_text(self.parameters))))
            nodes = roles.nodes if nodes is None and roles else nodes
        nodes = protocol.nodes if nodes is None else nodes
        if self.proposals is not None and not protocol.transactions:
            raise RequestError(f"--proposals is not for {protocol.name}, which has no transactions")
        delay: dict[str, Any] = {}
        if self.delay is not None:
            least, most = parsed("--delay", self.delay, f"{NUMBER}:{NUMBER}", "LEAST:MOST, as 1:3")
            delay = {"least_delay": least, "delays": most - least + 1}
        return Run(
            self.seed,
            nodes,
            self.rounds,
            5 if self.proposals is None else self.proposals,
            tuple((a, b) for a, b in pairs(self.partition) if 0 <= a < nodes and 0 <= b < nodes),
            tuple(faults(self)),
            protocol=self.name,
            variant=protocol.combined(protocol.with_settings(self.variant), self.repair),
            network=self.network,
            oracle=self.oracle,
            budgets=amounts_text(self.budgets),
            parameters=amounts_text(self.parameters),
            start=self.start,
            quorums=quorums,
            **delay,
        )

    def foreign(self) -> bytes | None:
        """Return the dump to compare with; None if the request names none.

        Raises:
            RequestError: it cannot be read, or the protocol's own dump has other fields than the lab's.
        """
        if not self.compare:
            return None
        if not protocol_named(self.name).declared.replicas:
            raise RequestError(f"--compare is for the lab's dump, and that of {self.name} has other fields")
        try:
            return read_bytes(self.compare, LARGEST_DUMP)
        except OSError as problem:
            raise RequestError(f"{self.compare}: {problem.strerror}") from None

    def traced(self) -> Configuration | None:
        from zabspec.model import Configuration

        run = self.run()
        return Configuration(
            run.protocol, run.variant, run.nodes, network=run.network, start=run.start, quorums=run.quorums
        )

    def answer(self, watch: Watch = QUIET) -> Simulated:
        from checker.report.simulated import Simulated
        from zabspec.simulator.run import SimulationError

        try:
            run = self.run()
            if self.table:
                check_table(run)
            foreign = self.foreign()
            simulated = Simulated(
                run,
                self,
                self.engine or "compiled",
                names_in(self.properties),
                check=self.check,
                show=self.show,
                foreign=foreign,
            )
        except SimulationError as problem:
            raise met_in(run, problem) or NoVerdict(f"the run does not end: {problem}") from None
        troubles = [simulated.save()]
        if self.table:
            troubles += [write_table(run, Path(self.table), self.seed if self.number is None else self.number)]
        simulated.unsaved = [trouble for trouble in troubles if trouble]
        return simulated


simulate = function(Simulate)


class RuntimeErrorMet(NoVerdict):
    """A run of a user protocol ends in a run-time error of its source: `no-runtime-error` is violated.

    Args:
        sentence: the simulator's message.
        stop: the line of the source, and the values of its names.
    """

    def __init__(self, sentence: str, stop: Stop) -> None:
        super().__init__(f"the run does not end: {sentence}")
        self.answer = error_of(sentence, stop)


def error_of(sentence: str, stop: Stop) -> StatedAnswer:
    """Return the answer for a run that ends in a run-time error of a user protocol."""
    from checker.report.answer import StatedAnswer
    from zabspec.language.layout.diagnostics import pointed

    head, place = f"VIOLATED: no-runtime-error: {sentence}", stop.place
    content: dict[str, Any] = {
        "verdict": "violated",
        "property": "no-runtime-error",
        "sentence": head,
        "place": place.text,
    }
    content |= {"values": dict(stop.values)}
    held = ", ".join(f"{name} = {value}" for name, value in stop.values)
    lines = [f"{place.text}:", *(f"    {line}" for line in pointed(place).splitlines())]
    text = [head, "\n".join([*lines, *([f"with {held}"] if held else [])])]
    return StatedAnswer(head, VIOLATED, content, text, kind="simulate")


def met_in(run: Run, problem: SimulationError) -> RuntimeErrorMet | None:
    """Return the author's run-time error in which a run ends, reproduced in plain Python, which has the values.

    Return None if the error is of the simulator, or of a protocol of this project.
    """
    from traces.record.failure import of_author
    from zabspec.language.layout.diagnostics import innermost
    from zabspec.language.layout.place import is_own_file
    from zabspec.language.python.reference import ERRORS
    from zabspec.simulator.run import SimulationError, play

    if problem.lacks_room or protocol_named(run.protocol).declared.bounded_by_world:
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


def pairs(text: str | None) -> list[tuple[int, int]]:
    """Return the directed pairs of --partition; those out of range are ignored later (reading 15).

    Raises:
        RequestError: these are not pairs of numbers.
    """
    if text is None:
        return []
    words = [word.strip() for word in text.split(",")]
    wrong = [word for word in words if not re.fullmatch(r"[+-]?\d{1,18}", word, re.ASCII)]
    if wrong:
        raise RequestError(f"--partition lists pairs S,D,S,D,... of process numbers; {wrong[0]!r} is not one")
    if len(words) % 2:
        raise RequestError(f"--partition lists pairs S,D,S,D,...; {len(words)} numbers are an odd count")
    numbers = [int(word) for word in words]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def parsed(option: str, text: str, pattern: str, form: str) -> tuple[int, ...]:
    """Return the numbers in a flag's value.

    Raises:
        RequestError: it does not have that form.
    """
    found = re.fullmatch(pattern, text, re.ASCII)
    if not found:
        raise RequestError(f"{option} must be {form}, not {text!r}")
    return tuple(int(number) for number in found.groups())


def faults(request: Simulate) -> Iterable[Fault]:
    """Yield the scheduled faults. In one tick: cuts, heals, crashes, recoveries, lost connections, timeouts."""
    from zabspec.simulator.run import Fault

    for kind in FAULTS:
        for text in getattr(request, kind):
            if kind in ("crash", "recover", "timeout"):
                p, tick = parsed(f"--{kind}", text, f"{NUMBER}@{NUMBER}", "P@TICK, as 1@300")
                yield Fault(tick, kind, p)
                continue
            both = kind != "lose" and "-" in text
            form = "F:L@TICK, as 1:0@300" if kind == "lose" else "A:B@TICK or A-B@TICK, as 0:1@300"
            a, b, tick = parsed(f"--{kind}", text, f"{NUMBER}{'-' if both else ':'}{NUMBER}@{NUMBER}", form)
            if a == b:
                raise RequestError(f"--{kind} {text}: a process has no connection to itself")
            yield Fault(tick, kind, a, b)
            if both:
                yield Fault(tick, kind, b, a)


def check_table(run: Run) -> None:
    """Check that a run can be written as an event table.

    Raises:
        RequestError: the package that writes tables is not installed, the protocol has no replicas or lacks the fields
            that tables are made from, or the run does not begin in the first state.
    """
    from traces.events.recorded import ready_field, refuse_quorums, refuse_start
    from traces.events.table import check_arrow

    check_arrow()
    if not protocol_named(run.protocol).declared.replicas:
        raise RequestError(f"an event table is of replicas, which {run.protocol} has not: --check judges the run")
    refuse_start(run.start)
    ready_field(run.protocol)
    refuse_quorums(run.quorums)


def write_table(run: Run, path: Path, number: int) -> str:
    """Play a run once more, record its events, and write them as an event table; return what failed.

    Args:
        number: of the run in the table.
    """
    from checker.report.simulated import Progress
    from traces.events import recorded

    with Progress(run.rounds) as progress:
        rows = recorded.rows_of_run(run, number, progress.watch)
    try:
        recorded.write_table(rows, run.protocol, path)
    except OSError as problem:
        return f"cannot write {path}: {problem.strerror}"
    return ""
