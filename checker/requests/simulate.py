"""Run a cluster in the deterministic simulator."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.requests.model import SIZES, protocol_named
from checker.requests.quorum_system import check_text
from checker.requests.request import Request

if TYPE_CHECKING:
    from checker.report.simulated import Simulation
    from zabspec.language.diagnostics import Stop
    from zabspec.model import Configuration
    from zabspec.simulator.run import Fault, Run, SimulationError

NUMBER = r"\s*(\d{1,18})\s*"
FAULTS = ("cut", "heal", "crash", "recover", "lose", "timeout")  # in this order within a tick


@dataclass(frozen=True)
class SimulateRequest(Request):
    """A run of the simulator, which these values determine.

    Attributes:
        protocol, variant, repair, network, start, quorums, budgets: as for a model (`ModelRequest`).
        seed: of delays and deadlines; 64 bits.
        nodes: processes; None for the protocol's default.
        rounds: ticks.
        proposals: spread evenly over the ticks; None for 5, or 0 if the protocol has no transactions.
        partition: directed pairs `S,D,S,D,...`; nothing that S sends arrives at D.
        oracle: `lab` for the lab's election; else the seed names leaders.
        delay: ticks that a message takes, `LEAST:MOST`.
        cut, heal: `A:B@TICK` or, both ways, `A-B@TICK`.
        crash, recover, timeout: `P@TICK`.
        lose: `F:L@TICK`, the connection of a follower to a leader.
        check: whether to judge the run by the history properties.
        properties: names of the only ones to judge by; empty for all that are judged by default.
        engine: `compiled` or `interpret`; None for the first.
    """

    kind: ClassVar[str] = "simulate"
    shares: ClassVar[tuple[str, ...] | None] = SIZES

    protocol: str = "db19"
    variant: str = ""
    repair: str = ""
    network: str = ""
    start: str = ""
    quorums: str = ""
    budgets: Mapping[str, int] = field(default_factory=dict)
    seed: int = 42
    nodes: int | None = None
    rounds: int = 1000
    proposals: int | None = None
    partition: str | None = None
    oracle: str = ""
    delay: str | None = None
    cut: tuple[str, ...] = ()
    heal: tuple[str, ...] = ()
    crash: tuple[str, ...] = ()
    recover: tuple[str, ...] = ()
    lose: tuple[str, ...] = ()
    timeout: tuple[str, ...] = ()
    check: bool = False
    properties: tuple[str, ...] = ()
    engine: str | None = None

    def validate(self) -> None:
        from zabspec.simulator.run import ENGINES

        if self.engine is not None and self.engine not in ENGINES:
            raise RequestError(f"there is no engine {self.engine!r}; there are {' and '.join(ENGINES)}")
        check_text(self.quorums)
        if self.properties and not self.check:
            raise RequestError("--property needs --check: without it a run is not checked")

    def run(self) -> Run:
        """Return the run.

        Raises:
            RequestError, ConfigError: there is no such run.
        """
        from checker.zookeeper.releases import with_settings
        from zabspec.authoring.quorums import system_for
        from zabspec.roles import roles_of
        from zabspec.simulator.run import Run

        protocol = protocol_named(self.protocol)
        quorums, nodes = system_for(self.quorums, self.nodes)
        amounts = ",".join(f"{name}={n}" for name, n in self.budgets.items())
        if protocol.declared.roles:
            roles = roles_of(protocol.roles(protocol.own_budgets(amounts)))
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
            protocol=self.protocol,
            variant=protocol.combined(with_settings(protocol, self.variant), self.repair),
            network=self.network,
            oracle=self.oracle,
            budgets=amounts,
            start=self.start,
            quorums=quorums,
            **delay,
        )

    def traced(self) -> Configuration | None:
        from zabspec.model import Configuration

        run = self.run()
        return Configuration(
            run.protocol, run.variant, run.nodes, network=run.network, start=run.start, quorums=run.quorums
        )


def answer(request: SimulateRequest, listen: bool = False) -> Simulation:
    """Simulate; only progress is printed, and nothing is written.

    Args:
        listen: whether to record everything that happens, as events; the run is interpreted then.

    Raises:
        RequestError: the request is wrong.
        RuntimeErrorMet: the run ends in a run-time error of a user protocol.
        NoVerdict: the run has no end.
    """
    from checker.report.simulated import Simulation
    from traces.tables.table import TableError
    from zabspec.model import ConfigError
    from zabspec.simulator.run import MOST_OBSERVED, SimulationError

    try:
        run = request.run()
        return Simulation(
            run, request.engine or "compiled", listen, request.check, request.as_json(), request.properties
        )
    except ConfigError as problem:
        raise RequestError(str(problem)) from None
    except SimulationError as problem:
        raise met_in(run, problem) or NoVerdict(f"the run does not end: {problem}") from None
    except TableError as problem:
        raise RequestError(f"--check of more than {MOST_OBSERVED} proposals: {problem}") from None


class RuntimeErrorMet(NoVerdict):
    """A run of a user protocol ends in a run-time error of its source: `no-runtime-error` is violated.

    Args:
        sentence: the simulator's message.
        stop: the line of the source, and the values of its names.
    """

    def __init__(self, sentence: str, stop: Stop) -> None:
        super().__init__(f"the run does not end: {sentence}")
        self.sentence, self.stop = sentence, stop


def met_in(run: Run, problem: SimulationError) -> RuntimeErrorMet | None:
    """Return the author's run-time error in which a run ends, reproduced in plain Python, which has the values.

    Return None if the error is of the simulator, or of a protocol of this project.
    """
    from traces.record.failure import of_author
    from zabspec.language.diagnostics import innermost
    from zabspec.language.place import is_own_file
    from zabspec.language.reference import ERRORS
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


def faults(request: SimulateRequest) -> Iterable[Fault]:
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
