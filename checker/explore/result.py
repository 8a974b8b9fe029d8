"""The result of an exploration, whichever engine it ran on."""

from __future__ import annotations

import builtins
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from invariants.registry import NO_RUNTIME_ERROR, Property

# Why stuttering receipts were not left out: the beginning of a reason if there are none, and the text for that.
NONE_THERE, NOT_ASKED = "there are none", "nothing was explored"


MISSED = 1e-3  # the largest acceptable probability that a state was missed


def collision(states: int, bits: int) -> float:
    """Return the probability that two of `states` states share a fingerprint, so that one was missed."""
    return min(1.0, states * (states - 1) / 2 / 2.0**bits)


def enough(states: int, bits: int) -> bool:
    """Return whether fingerprints of `bits` bits are long enough for `states` states."""
    return collision(states, bits) <= MISSED


@dataclass(frozen=True)
class Limits:
    """The limits of an exploration: the depth is part of the request, the others cut it short."""

    depth: int | None = None
    max_states: int | None = None
    seconds: float | None = None
    memory: int | None = None  # bytes; None for what the machine has, less a margin
    spent: float = 0.0  # the seconds before the exploration began, for compiling the model

    @property
    def asked(self) -> tuple[int | None, int | None, float | None, int | None]:
        """What was requested: depth, states, seconds and bytes."""
        return self.depth, self.max_states, self.seconds, self.memory


@dataclass(frozen=True)
class Violation:
    """A violation: the property, and a shortest run to it, the first of that length.

    The run consists of steps (words with their choices) from the initial state; of several, a `Schedule` has which.
    """

    property: Property
    schedule: tuple[int, ...]

    @builtins.property
    def depth(self) -> int:
        return len(self.schedule)


@dataclass
class Exploration:
    """The result of an exploration: counts, verdicts and coverage."""

    properties: tuple[Property, ...]
    symmetry: bool = False
    engine: str = "compiled"
    levels: list[int] = field(default_factory=list)  # distinct states at each depth
    raw_levels: list[int] = field(default_factory=list)  # the same, renamings counted apart
    generated: int = 0
    terminal: int = 0  # expanded states without a step
    step_counts: dict[str, int] = field(default_factory=dict)
    event_counts: dict[int, int] = field(default_factory=dict)
    witnessed: dict[str, int] = field(default_factory=dict)  # property -> depth of its premise
    violations: dict[str, Violation] = field(default_factory=dict)
    complete: bool = False  # no state is left to expand
    exhausted_before: bool = False  # whether that was so of the checkpoint that it continued from
    stopped: str = ""  # why it was cut short; empty if it was not
    error: str = ""  # a run-time error ended it: the author's if `violations` has NO_RUNTIME_ERROR, else a capacity's
    error_run: tuple[int, ...] | None = None  # the shortest run to the error of a capacity, or None
    expanded_levels: int = 0  # levels expanded completely, without an error; -1 if the first was not judged
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    compile_seconds: float = 0.0
    memory: int = 0  # bytes at the peak
    fingerprint_bits: int = 64
    jobs: int = 0  # levels that were jobs of Spark; the driver expanded the others
    reduced: bool = False  # whether transitions to states that are reached otherwise were left out, also of counts
    narrowed: bool = False  # whether states were left out, too; depths are those of the others
    ample_off: str = ""  # why no process is ample in any state, if that was tried
    stuttering_off: str = NOT_ASKED  # why stuttering receipts are steps like others; empty if they were left out
    merged: str = ""  # how states that differ only in ghosts were merged; empty if they were not
    suspected: tuple[str, ...] = ()  # violated in a search that leaves out states, without a run found in time
    suspects_one: bool = False  # whether only at least one of these is, and it is not known which
    apart: bool = False  # whether the reduction is unsound here: a state was found in which steps do not commute

    @property
    def failed(self) -> bool:
        """Whether the user protocol meets a run-time error."""
        return NO_RUNTIME_ERROR.name in self.violations

    @property
    def distinct(self) -> int:
        return sum(self.levels)

    @property
    def raw(self) -> int:
        """The number of states that the distinct ones represent: all renamings of each."""
        return sum(self.raw_levels) or self.distinct

    @property
    def depth(self) -> int:
        """The depth of the deepest states found."""
        return len(self.levels) - 1

    @property
    def whole_depth(self) -> int:
        """The depth up to which every state was found and judged; -1 if not even the initial state was."""
        return min(self.expanded_levels, max((k for k, n in enumerate(self.levels) if n), default=-1))

    @property
    def collision_probability(self) -> float:
        """The probability that two of the distinct states share a fingerprint (0 for the plain sets)."""
        if self.engine == "interpret":
            return 0.0
        return collision(self.distinct, self.fingerprint_bits)

    def finished(self, more: bool, keep_going: bool, most: int | None) -> bool:
        """Return whether nothing remains to be expanded.

        Args:
            more: whether the last level has states.
            keep_going: whether to continue past violations.
            most: the maximum number of levels; None for no limit.
        """
        if self.stopped or self.error or (self.violations and not keep_going):
            return True
        if not more:
            self.complete = True
            self.levels.pop()
            self.raw_levels.pop()
            return True
        return most is not None and self.depth >= most

    @property
    def suspicion(self) -> str:
        """The properties that are known to be violated without a run to show it; empty if there are none."""
        one = "at least one of " if self.suspects_one and len(self.suspected) > 1 else ""
        return f"{one}{', '.join(self.suspected)} violated, with no path to it yet" if self.suspected else ""

    def add_first(self, first: Exploration) -> None:
        """Add the findings of a full search before this one, which leaves out states.

        They are premises met earlier, steps taken, and its depth.
        """
        self.expanded_levels = first.expanded_levels
        for name, depth in first.witnessed.items():
            self.witnessed[name] = min(depth, self.witnessed.get(name, depth))
        for name, count in first.step_counts.items():
            self.step_counts[name] = max(count, self.step_counts.get(name, 0))

    def add_walked(self, depths: Mapping[str, int]) -> None:
        """Add the premises that random walks met, and after how many steps."""
        for name, depth in depths.items():
            self.witnessed[name] = min(depth, self.witnessed.get(name, depth))

    def depth_of(self, depth: int) -> str:
        """Return the depth at which something was first met, in the words of a report."""
        exact = not self.narrowed or depth <= self.expanded_levels + 1
        return f"depth {depth}" if exact else f"depth {depth} at most"

    def meets_within(self, name: str, steps: float) -> bool | None:
        """Return whether a run of at most so many steps meets a premise; None if that is not known."""
        at = self.witnessed.get(name)
        if at is not None and at <= steps:
            return True
        seen_to = math.inf if self.complete and at is None else self.whole_depth
        return False if steps <= seen_to else None

    def verdict(self, p: Property) -> str:
        """`violated`, `holds` (its premise was met) or `not reached`."""
        if p.name in self.violations:
            return "violated"
        return "holds" if p.name in self.witnessed else "not reached"
