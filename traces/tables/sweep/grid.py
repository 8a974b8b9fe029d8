"""Define a sweep: every configuration of a grid of simulated runs, or a random sample of them.

A configuration is a number: the digits of its place in the grid determine its value on each axis, the seed's changing
fastest. So a sweep of any size is planned without being written down, and any worker derives the run of any number by
itself.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, cached_property
from hashlib import blake2b
from typing import Any, TypeVar

from zabspec.model import ConfigError
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.loop import FAULTS
from zabspec.simulator.run import MOST_OBSERVED, Fault, Run

# --- draw random numbers determined by a text, the same on every machine and in every version of Python ---

T = TypeVar("T")
ROUNDS = 4  # of a Feistel network: as many as make it pass for a random permutation


class Draws:
    """A stream of numbers that a text determines: 64-bit words of BLAKE2b in counter mode."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.block = 0
        self.words: list[int] = []

    def below(self, bound: int) -> int:
        """Return a number from 0 to bound - 1; bounds are far below 2**64, so that the bias is negligible."""
        if not self.words:
            data = blake2b(f"{self.text}/{self.block}".encode()).digest()
            self.words = [int.from_bytes(data[k : k + 8], "little") for k in range(0, 64, 8)]
            self.block += 1
        return self.words.pop() % bound

    def choice(self, values: Sequence[T]) -> T:
        return values[self.below(len(values))]


def permuted(number: int, size: int, key: int) -> int:
    """Return the image of a number under a random permutation of 0 to size - 1.

    It is a Feistel network over the next power of four, walked until the result is in range. It samples without
    repetition from grids of any size, in constant memory.
    """
    half = (max(1, (size - 1).bit_length()) + 1) // 2
    mask = (1 << half) - 1
    while True:
        left, right = number >> half, number & mask
        for k in range(ROUNDS):
            word = blake2b(b"%d %d %d" % (key, k, right), digest_size=8).digest()
            left, right = right, left ^ (int.from_bytes(word, "little") & mask)
        number = left << half | right
        if number < size:
            return number


NONE = "none"  # on the command line: the empty variant, partition, schedule, ...
RANDOM_FAULTS = ("cut", "crash", "timeout", "lose")
MOST_RUNS = 10_000_000_000  # a cluster of a hundred cores takes half a day for so many runs
MOST_RANDOM = 16  # a cut both ways is four entries of a schedule, which has 64
MENDED = {"cut": (20, 100, 300), "crash": (1, 50, 200)}  # after how many ticks
PROGRAM = ("protocol", "variant", "network", "oracle")

# The parameters that a sweep can vary apart from the seed, in the order of the grid's digits.
AXES = (*PROGRAM, "nodes", "rounds", "proposals", "delay", "partition", "schedule", "faults")


@dataclass(frozen=True)
class Grid:
    """The grid of a sweep, in the words of the command line (`none` stands for the empty value).

    Attributes:
        seeds: ranges START:STOP, the last not included, or single seeds.
        protocol, variant, network, oracle: the programs: every combination of these that exists.
        nodes, rounds, proposals: as for `zabcheck simulate`.
        delay: LEAST:MOST.
        partition: S,D,...: directed pairs; those out of range are ignored.
        schedule: faults at fixed ticks, as `crash 1@300 recover 1@450`.
        faults: how many faults are drawn from the seed.
        fault_kinds: the kinds of these faults.
        sample: how many configurations of the grid to draw at random; 0 for all of it.
        sample_seed: the seed from which the sample is drawn.
        quorums: the quorum system of every run, by its text; empty for majorities.
    """

    seeds: tuple[str, ...] = ("1:1001",)
    protocol: tuple[str, ...] = ("db19",)
    variant: tuple[str, ...] = (NONE,)
    network: tuple[str, ...] = (NONE,)
    oracle: tuple[str, ...] = (NONE,)
    nodes: tuple[int, ...] = (3,)
    rounds: tuple[int, ...] = (1000,)
    proposals: tuple[int, ...] = (5,)
    delay: tuple[str, ...] = ("1:3",)
    partition: tuple[str, ...] = (NONE,)
    schedule: tuple[str, ...] = (NONE,)
    faults: tuple[int, ...] = (0,)
    fault_kinds: tuple[str, ...] = RANDOM_FAULTS
    sample: int = 0
    sample_seed: int = 0
    quorums: str = ""

    # --- numbers ---------------------------------------------------------------------------------

    @cached_property
    def seed_ranges(self) -> tuple[range, ...]:
        return tuple(seed_range(text) for text in self.seeds)

    @cached_property
    def programs(self) -> tuple[tuple[str, str, str, str], ...]:
        """Return every valid combination of protocol, variant, network and oracle."""
        every = itertools.product(self.protocol, self.variant, self.network, self.oracle)
        return tuple(words for words in every if goes_together(*words))

    @cached_property
    def digits(self) -> tuple[int, ...]:
        """Return how many values each digit of a number takes: the program, the other axes, the seed."""
        others = (len(getattr(self, axis)) for axis in AXES[len(PROGRAM) :])
        return (len(self.programs), *others, sum(len(r) for r in self.seed_ranges))

    @cached_property
    def size(self) -> int:
        """Return the number of configurations in the grid."""
        size = 1
        for digit in self.digits:
            size *= digit
        return size

    @property
    def count(self) -> int:
        """Return the number of configurations to run; they are numbered from 0."""
        return min(self.sample, self.size) if self.sample else self.size

    def values(self, number: int) -> dict[str, Any]:
        """Return the value of every axis, and the seed, of a configuration by number."""
        place = permuted(number, self.size, self.sample_seed) if self.count < self.size else number
        at = []
        for digit in reversed(self.digits):
            place, k = divmod(place, digit)
            at.append(k)
        program, *rest, seed = reversed(at)
        found: dict[str, Any] = dict(zip(PROGRAM, self.programs[program], strict=True))
        found |= {axis: getattr(self, axis)[k] for axis, k in zip(AXES[len(PROGRAM) :], rest, strict=True)}
        for seeds in self.seed_ranges:
            if seed < len(seeds):
                found["seed"] = seeds[seed]
                break
            seed -= len(seeds)
        return found

    def run(self, number: int) -> Run:
        """Return the run of a configuration by number."""
        return self.run_of(self.values(number))[0]

    def run_of(self, values: Mapping[str, Any]) -> tuple[Run, tuple[Fault, ...]]:
        """Return the run with the given values, and those of its faults that were drawn.

        Raises:
            ConfigError: there is no such run.
        """
        least, most = delay_of(values["delay"])
        nodes = values["nodes"]
        run = replace(
            program_run(*(values[axis] for axis in PROGRAM)),
            seed=values["seed"],
            nodes=nodes,
            quorums=self.quorums,
            rounds=values["rounds"],
            proposals=values["proposals"],
            blocked=tuple((a, b) for a, b in partition_of(values["partition"]) if a < nodes and b < nodes),
            least_delay=least,
            delays=most - least + 1,
        )
        drawn = random_faults(run, values["faults"], self.fault_kinds) if values["faults"] else ()
        faults = schedule_of(values["schedule"]) + drawn
        return replace(run, faults=in_order(faults)) if faults else run, in_order(drawn)

    # --- checks ----------------------------------------------------------------------------------

    def check(self) -> None:
        """Check the grid.

        Raises:
            ConfigError: a value is invalid; the message says which.
        """
        for field in fields(self):
            given = getattr(self, field.name)
            if isinstance(given, tuple):
                if not given:
                    raise ConfigError(f"{option(field.name)} is empty")
                if len(set(given)) < len(given):
                    twice = next(v for v in given if given.count(v) > 1)
                    raise ConfigError(f"{option(field.name)} has {twice} twice")
        self._check_seeds()
        self._check_programs()
        for kind in self.fault_kinds:
            if kind not in RANDOM_FAULTS:
                raise ConfigError(f"--fault-kinds: there is no kind {kind!r}; there are {', '.join(RANDOM_FAULTS)}")
        for count in self.faults:
            if not 0 <= count <= MOST_RANDOM:
                raise ConfigError(f"--faults must be 0 to {MOST_RANDOM}, not {count}")
        if max(self.proposals) > MOST_OBSERVED:
            raise ConfigError(f"a sweep checks runs of at most {MOST_OBSERVED} proposals, not {max(self.proposals)}")
        if self.sample < 0:
            raise ConfigError(f"--sample must be 1 or more, not {self.sample}")
        if self.count > MOST_RUNS:
            raise ConfigError(
                f"a sweep has at most {MOST_RUNS:,} configurations, not {self.count:,}; --sample N runs a random "
                f"part of them"
            )
        self._check_pairs()

    def _check_seeds(self) -> None:
        last = -1
        for seeds in sorted(self.seed_ranges, key=lambda r: r.start):
            if seeds.start <= last:
                raise ConfigError(f"--seeds has {seeds.start} twice")
            last = seeds.stop - 1

    def _check_programs(self) -> None:
        for protocol in self.protocol:
            program_run(protocol, NONE, NONE, NONE)
        for axis in PROGRAM[1:]:
            for value in getattr(self, axis):
                alone = [dict.fromkeys(PROGRAM, NONE) | {"protocol": p, axis: value} for p in self.protocol]
                if not any(goes_together(**words) for words in alone):
                    program_run(**alone[0])
        for k, axis in enumerate(PROGRAM):
            for value in getattr(self, axis):
                if all(program[k] != value for program in self.programs):
                    raise ConfigError(f"--{axis} {value} is compatible with none of the other values")

    def _check_pairs(self) -> None:
        """Check every pair of values, since any conflict in a run is one between two of its values."""
        axes: list[tuple[str, Sequence[Any]]] = [(axis, getattr(self, axis)) for axis in AXES[len(PROGRAM) :]]
        axes.append(("program", self.programs))
        first = {axis: values[0] for axis, values in axes}
        for (one, values), (two, others) in itertools.combinations(axes, 2):
            for x, y in itertools.product(values, others):
                found = first | {one: x, two: y}
                found |= dict(zip(PROGRAM, found["program"], strict=True))
                self.run_of(found | {"seed": self.seed_ranges[0].start})

    # --- words -----------------------------------------------------------------------------------

    @property
    def swept(self) -> tuple[str, ...]:
        """Return the axes that take more than one value."""
        return tuple(axis for axis in AXES if len(getattr(self, axis)) > 1)

    def as_json(self) -> dict[str, Any]:
        """Return the grid as JSON values; majority quorums are left out, as before other quorums existed."""
        values = {name: v for name, v in asdict(self).items() if name != "quorums" or v}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}


def option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


# --- the values of axes --------------------------------------------------------------------------


def empty(word: str) -> str:
    return "" if word == NONE else word


@cache
def program_run(protocol: str, variant: str, network: str, oracle: str) -> Run:
    """Return a run of a program, with defaults for its other values.

    Raises:
        ConfigError: these words do not go together.
    """
    found = PROTOCOLS.get(protocol)
    nodes = found.nodes if found is not None and found.usual_roles else Run.nodes
    return Run(0, nodes, protocol=protocol, variant=empty(variant), network=empty(network), oracle=empty(oracle))


def goes_together(protocol: str, variant: str, network: str, oracle: str) -> bool:
    try:
        program_run(protocol, variant, network, oracle)
    except ConfigError:
        return False
    return True


def seed_range(text: str) -> range:
    """Parse a range of seeds.

    Raises:
        ConfigError: the text is no range of seeds.
    """
    found = re.fullmatch(r"(\d{1,19})(?::(\d{1,19}))?", text, re.ASCII)
    seeds = range(int(found[1]), int(found[2] or int(found[1]) + 1)) if found else range(0)
    if not seeds or seeds.stop > 2**63:
        raise ConfigError(f"--seeds must be START:STOP with START < STOP, or one seed, below 2**63, not {text!r}")
    return seeds


def delay_of(text: str) -> tuple[int, int]:
    """Parse the least and the greatest delay.

    Raises:
        ConfigError: the text is no delay.
    """
    found = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text, re.ASCII)
    if not found:
        raise ConfigError(f"--delay must be LEAST:MOST, as 1:3, not {text!r}")
    return int(found[1]), int(found[2])


def partition_of(text: str) -> tuple[tuple[int, int], ...]:
    """Parse a partition as (source, destination) pairs.

    Raises:
        ConfigError: the text is no list of pairs.
    """
    if text == NONE:
        return ()
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})+", text, re.ASCII) or text.count(",") % 2 == 0:
        raise ConfigError(f"--partition must be pairs S,D,S,D,... or {NONE}, not {text!r}")
    numbers = [int(word) for word in text.split(",")]
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def in_order(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Return faults in the order of `zabcheck simulate`: by tick, and in one tick by kind."""
    kinds = list(FAULTS)
    return tuple(sorted(faults, key=lambda f: (f.tick, kinds.index(f.kind))))


def schedule_of(text: str) -> tuple[Fault, ...]:
    """Parse a schedule of faults at fixed ticks.

    Raises:
        ConfigError: the text is no schedule.
    """
    if text == NONE:
        return ()
    words = text.split()
    faults = []
    for kind, when in zip(words[::2], words[1::2], strict=False):
        found = re.fullmatch(r"(\d{1,9})(?::(\d{1,9}))?@(\d{1,9})", when, re.ASCII)
        if kind not in FAULTS or not found:
            break
        faults.append(Fault(int(found[3]), kind, int(found[1]), int(found[2] or -1)))
    if not words or 2 * len(faults) != len(words):
        raise ConfigError(f"--schedule must be as 'crash 1@300 recover 1@450 cut 0:2@400', or {NONE}, not {text!r}")
    return tuple(faults)


def schedule_text(faults: Sequence[Fault]) -> str:
    """Return faults as text that `schedule_of` parses."""
    return " ".join(f"{f.kind} {f.a}:{f.b}@{f.tick}" if f.b >= 0 else f"{f.kind} {f.a}@{f.tick}" for f in faults)


def random_faults(run: Run, count: int, kinds: Sequence[str]) -> tuple[Fault, ...]:
    """Return random faults that depend only on a run's seed, the number of faults, and the sizes of the run.

    Each kind occurs equally often. Cuts are healed later, and crashed processes recover, if the run is long enough.
    Every variant of a protocol, at every delay, gets the same faults.

    Raises:
        ConfigError: no fault of these kinds can occur in such a run.
    """
    lacks = PROTOCOLS[run.protocol].world.lacks
    kinds = [kind for kind in kinds if run.nodes > 1 or kind not in ("cut", "lose")]
    kinds = [kind for kind in kinds if kind not in lacks]
    if not kinds or run.rounds < 1:
        raise ConfigError(
            f"--faults: none of these kinds is possible for {run.protocol} with --nodes {run.nodes} --rounds "
            f"{run.rounds}"
        )
    draws = Draws(f"faults {run.seed} {count} {run.nodes} {run.rounds} {' '.join(kinds)}")
    return tuple(fault for _ in range(count) for fault in random_fault(run, draws, kinds))


def random_fault(run: Run, draws: Draws, kinds: Sequence[str]) -> Iterator[Fault]:
    """Return one fault, and the one that heals it."""
    kind = draws.choice(kinds)
    tick, a = draws.below(run.rounds), draws.below(run.nodes)
    until = min(run.rounds - 1, tick + draws.choice(MENDED[kind])) if kind in MENDED else tick
    if kind == "timeout":
        yield Fault(tick, kind, a)
    elif kind == "crash":
        yield Fault(tick, kind, a)
        yield Fault(until, "recover", a)
    else:
        b = (a + 1 + draws.below(run.nodes - 1)) % run.nodes
        ways = ((a, b), (b, a)) if kind == "cut" and draws.below(3) else ((a, b),)
        for x, y in ways:
            yield Fault(tick, kind, x, y)
            if kind == "cut":
                yield Fault(until, "heal", x, y)
