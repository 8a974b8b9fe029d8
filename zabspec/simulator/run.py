"""Run the simulator: a cluster in one of two engines plays runs.

`interpret` runs the program in CPython, `compiled` in machine code; both work on the bytes of one `StateView`, so that
any reader of a state reads either's.
"""

from __future__ import annotations

import ctypes
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from zabspec.language.analysis.tree import TypedProgram
from zabspec.language.layout.cache_key import compiler_digest, digest_of, program_digest
from zabspec.language.layout.error_sites import site_number
from zabspec.language.layout.source import from_here
from zabspec.language.native import llvm_text
from zabspec.language.native.jit import has_bit_gather
from zabspec.language.native.tiered import TieredCode
from zabspec.language.python import reference
from zabspec.language.python.reference import BY_ZERO, RangeError, StateView
from zabspec.model import ConfigError
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.loop import FAULTS
from zabspec.simulator.model import EPOCHS, OBSERVED_EPOCHS, Cluster
from zabspec.simulator.plan import Fault, Run

__all__ = [
    "ENGINES", "ROOMS", "Fault", "Run", "SimulationError", "Simulator", "in_a_room", "play", "rooms", "simulator_for",
]  # fmt: skip

ENGINES = ("compiled", "interpret")

MOST_OBSERVED = 63  # some observations are sets of proposals, and a set has so many members at most

# How many proposals programs are made for: few, so that few are compiled.
ROOMS = (32, 256, 1024)
OBSERVED_ROOMS = (8, MOST_OBSERVED)
MOST_OBSERVED_EPOCHS = 16 * (OBSERVED_EPOCHS + 1) - 1

T = TypeVar("T")
Pulse = Callable[[int], None]  # called now and then with the tick that a run has reached
TICKS_AT_ONCE = {"compiled": 2**16, "interpret": 2**8}  # between which Ctrl-C is looked at

I64, PTR = ctypes.c_int64, ctypes.c_void_p


class SimulationError(Exception):
    """A run that cannot go on: a sentence that names the field, the step and the reason.

    Attributes:
        lacks_room: a larger room may do.
    """

    def __init__(self, sentence: str, lacks_room: bool = False) -> None:
        super().__init__(sentence)
        self.lacks_room = lacks_room


# --- room ----------------------------------------------------------------------------------------


def rooms(run: Run, observed: bool) -> Iterator[Cluster]:
    """Yield the clusters in which a run may be played, the smallest first.

    The memory that a run needs beyond its proposals is known only when it has been played.

    Raises:
        ConfigError: an observed run has too many proposals.
    """
    if observed and run.proposals > MOST_OBSERVED:
        raise ConfigError(
            f"--check checks runs of at most {MOST_OBSERVED} proposals, not {run.proposals}, since it keeps sets of "
            "them: --table writes a longer run, and `zabcheck judge` checks it"
        )
    if not PROTOCOLS[run.protocol].transactions:
        yield Cluster(
            run.protocol, run.variant, run.nodes, 0, observed, budgets=run.budget, text=run.text, start=run.start,
            quorums=run.quorums,
        )  # fmt: skip
        return
    sizes = OBSERVED_ROOMS if observed else ROOMS
    for epochs in (OBSERVED_EPOCHS, MOST_OBSERVED_EPOCHS) if observed else (EPOCHS,):
        for room in sizes:
            if room >= run.proposals:
                yield Cluster(
                    run.protocol, run.variant, run.nodes, room, observed, epochs, run.oracle, run.budget, run.text,
                    quorums=run.quorums,
                )  # fmt: skip


# --- the two engines -----------------------------------------------------------------------------


@cache
def sources_digest(*sources: str) -> str:
    """Return a hash of the source files (of folders, every one under them) that compiled code is made from."""
    top = Path(__file__).parent.parent.parent
    digest = hashlib.sha256()
    for source in sources:
        for path in sorted((top / source).rglob("*.py")) or [top / source]:
            digest.update(path.read_bytes())
    return digest.hexdigest()


class Simulator:
    """A cluster in one engine, ready for any number of runs one after another.

    Args:
        cluster: the protocol, and the sizes of its memory.
        engine: `compiled` or `interpret`.

    Attributes:
        state: the state; its bytes are the same from run to run.
        pulse: a function called now and then during a run.
        names: the program by name, in the CPython world (`interpret` only). A function assigned to a name is called
            instead of the original.
    """

    # The exported functions of compiled code, with the arguments of each: a result, then the state and words.
    exports: Mapping[str, tuple[Any, ...]] = {"start": (None, PTR, I64, I64, I64), "run": (None, PTR, I64)}
    # How many ticks one call runs: between two calls Ctrl-C is heard.
    ticks_at_once: Mapping[str, int] = TICKS_AT_ONCE

    def __init__(self, cluster: Cluster, engine: str = "compiled") -> None:
        self.cluster, self.engine = cluster, engine
        self.pulse: Pulse | None = None
        self.layout = cluster.program.layout
        self.state = StateView(self.layout)
        self.names: dict[str, Any] = {}
        if engine == "interpret":
            if not cluster.parts_of.text.comes_with_zabcheck:
                self._typed()  # Python would run what is outside the language all the same
            program = cluster.program
            self.names = reference.load(self.layout, self.namespace(), program.types, program.steps)
        else:
            self._compile()
        self._heaps, self._rest = self._memory()

    def namespace(self) -> dict[str, Any]:
        """Return every name of the program."""
        return self.cluster.program.namespace

    def _compile(self) -> None:
        program = self.cluster.program
        known = program_digest(self.layout, self.namespace(), program.types, program.handlers, program.steps)
        key = digest_of(known, compiler_digest(__name__), self.exports)
        self._settling = TieredCode(key, self._make, lambda _: {})
        self._sites: list[tuple[str, str]] = self._settling.code.facts["sites"]
        self._bind()
        self._held = (ctypes.c_char * self.layout.total).from_buffer(self.state.buffer)
        self._at = ctypes.addressof(self._held)

    def _bind(self) -> None:
        code = self._settling.code
        self._code = {name: code.function(name, *types) for name, types in self.exports.items()}

    def _typed(self) -> TypedProgram:
        return self.cluster.program.typed(tuple(self.exports), self.namespace())

    def _make(self) -> tuple[str, dict[str, Any]]:
        typed = self._typed()
        assembly = llvm_text.emit_program(typed, self.layout, set(self.exports), has_bit_gather())
        return assembly, {"sites": [(site.sentence(), site.widen) for site in typed.sites]}

    def _memory(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Return the places of the arrays with an entry per slot (with the entry's size), and of the rest."""
        heaps = []
        for name in ("sim_queue", "sim_free_slots", "sim_flight"):
            base, (stride,) = self.layout.strides(self.layout.fields[name])
            heaps.append((base, stride))
        rest, at = [], 0
        for base, stride in sorted(heaps):
            rest.append((at, base - at))
            at = base + stride * self.cluster.slots
        rest.append((at, self.layout.total - at))
        return heaps, rest

    def clear(self) -> None:
        """Set all bytes to zero; most of the memory is slots for mail, of which only the used ones are cleared."""
        used = self.state.sim_fresh
        buffer = self.state.buffer
        for base, stride in self._heaps:
            buffer[base : base + stride * used] = bytes(stride * used)
        for base, size in self._rest:
            buffer[base : base + size] = bytes(size)

    def begin(self, run: Run) -> None:
        """Set up a run: the state before its first tick.

        Raises:
            ValueError: this cluster has no room for it, or runs something else.
            SimulationError: the setup ended in an error.
        """
        cluster = self.cluster
        if (run.protocol, run.variant, run.nodes, run.oracle, run.quorums) != (
            cluster.protocol,
            cluster.variant,
            cluster.nodes,
            cluster.oracle,
            cluster.quorums,
        ):
            raise ValueError("the run is of another cluster")
        if run.proposals > cluster.due:
            raise ValueError("the cluster has no room for so many proposals")
        self.clear()
        s = self.state
        s.sim_least_delay = run.least_delay
        s.sim_delays = run.delays
        if run.network:
            s.sim_order = PROTOCOLS[run.protocol].world.networks[run.network]
        for a, b in run.blocked:
            s.sim_blocked[a][b] = True
        s.sim_faults = len(run.faults)
        for k, fault in enumerate(run.faults):
            s.sim_fault_at[k], s.sim_fault_kind[k] = fault.tick, FAULTS[fault.kind]
            s.sim_fault_a[k], s.sim_fault_b[k] = fault.a, fault.b
        self.call("start", run.seed - (run.seed >> 63 << 64), run.rounds, run.proposals)

    def advance(self, until: int) -> None:
        """Run every tick up to, and excluding, `until`.

        Raises:
            SimulationError: a value would leave its range.
        """
        for stop in self.stops(until):
            self.call("run", stop)

    def stops(self, until: int) -> Iterator[int]:
        """Yield ticks at which to stop on the way, the last of them `until`."""
        stride = self.ticks_at_once[self.engine]
        now: int = self.state.sim_moment
        while now < until:
            now = min(until, now + stride)
            yield now
            if self.pulse is not None:
                self.pulse(now)

    def call(self, name: str, *arguments: Any) -> Any:
        """Call one of the exported functions on the state.

        Raises:
            SimulationError: a value would leave its range.
        """
        if self.engine == "interpret":
            try:
                return self.names[name](self.state, *arguments)
            except RangeError as problem:
                raise self._error(f"{problem.field} {problem.problem}", problem.widen) from None
            except ZeroDivisionError:
                raise self._error(f"an integer {BY_ZERO}", "") from None
        if self._settling.settled:
            result = self._code[name](self._at, *arguments)
        else:
            cpu = time.thread_time()
            result = self._code[name](self._at, *arguments)
            if self._settling.worked(time.thread_time() - cpu):
                self._bind()
        if self.state.error:
            sentence, widen = self._sites[site_number(self.state.error) - 1]
            sentence = from_here(sentence)
            raise self._error(sentence.split("; widen it")[0], widen)
        return result

    def _error(self, sentence: str, widen: str) -> SimulationError:
        return SimulationError(f"{sentence} at tick {self.state.sim_moment}", bool(widen))


@cache
def simulator_for(cluster: Cluster, engine: str) -> Simulator:
    """Return the simulator of a cluster, cached in this process, for one run at a time."""
    return Simulator(cluster, engine)


def in_a_room(run: Run, observed: bool, attempt: Callable[[Cluster], T]) -> T:
    """Return the result of playing a run in the smallest cluster that has room for it.

    Raises:
        ConfigError: an observed run has too many proposals.
        SimulationError: a value would leave its range in the largest cluster.
    """
    burst: SimulationError | None = None
    for cluster in rooms(run, observed):
        try:
            return attempt(cluster)
        except SimulationError as problem:
            if not problem.lacks_room:
                raise
            burst = problem
    assert burst is not None
    raise burst


def play(run: Run, engine: str = "compiled", make: Callable[[Cluster, str], Simulator] = simulator_for) -> Simulator:
    """Play a run to its end.

    Args:
        run: what happens.
        engine: `compiled` or `interpret`.
        make: gives the simulator of a cluster.

    Returns:
        The simulator; its state is the run's last.

    Raises:
        SimulationError: a value would leave its range in the largest room there is.
    """

    def attempt(cluster: Cluster) -> Simulator:
        simulator = make(cluster, engine)
        simulator.begin(run)
        simulator.advance(run.rounds)
        return simulator

    return in_a_room(run, False, attempt)
