"""Find by exploring which premises of properties runs reach.

A proof of a property says little about a protocol in which its premise is never true, such as one that does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.groups import groups_of
from checker.explore.result import Exploration, Limits, Violation
from invariants.binding import vacuous
from invariants.registry import Property
from zabspec.limits import Deadline
from zabspec.model import Configuration, Model
from zabspec.worlds.steps import BUDGETS


@dataclass
class Premises:
    """What explorations found about the premises of properties.

    Attributes:
        properties: those whose premises were searched.
        never_false: those of them that can never be False, which no premise puts to the test.
        reached: by property the depth at which its premise is first true; without those.
        violated: by property the run that violates it.
        explored: each exploration's configuration, and its result.
        trouble: why nothing, or not everything intended, was explored; empty if it was.
    """

    properties: tuple[str, ...]
    never_false: tuple[str, ...] = ()
    reached: dict[str, int] = field(default_factory=dict)
    violated: dict[str, Violation] = field(default_factory=dict)
    explored: list[tuple[Configuration, Exploration]] = field(default_factory=list)
    trouble: str = ""

    @property
    def missing(self) -> list[str]:
        """The properties that no explored run put to the test, and that no run violated."""
        return [name for name in self.properties if name not in self.reached and name not in self.violated]

    @property
    def bounds(self) -> str:
        """The bounds of the explorations, in words."""
        if not self.explored:
            return f"nothing was explored: {self.trouble}"
        return "; ".join(bounds_of(c, r) for c, r in self.explored) + (f"; {self.trouble}" if self.trouble else "")


def bounds_of(c: Configuration, r: Exploration) -> str:
    """Return one exploration in words."""
    chosen = {name: value for name, value in c.as_dict().items() if name in BOUNDS and value not in ("", 0)}
    given = ", ".join(f"{name} {value}" for name, value in chosen.items())
    if r.complete and not r.error:
        return f"{given}: all {r.distinct:,} states"
    why = r.error or r.stopped or "its depth"
    return f"{given}: {r.distinct:,} states to depth {r.depth}, then {why}"


BOUNDS = ("nodes", "txns", *BUDGETS, "parameters", "budgets", "max_epoch", "quorums")


def stages(c: Configuration) -> Iterator[Configuration]:
    """Yield the configurations that are explored for premises, the smaller first.

    For a protocol over connections one timeout reaches nearly all premises, and that is soon explored.
    """
    if Model(c).protocol.declared.bounded_by_world:
        few = replace(c, timeouts=min(1, c.timeouts), crashes=0, losses=0, partitions=0)
        if few != c:
            yield few
    yield c


def reached_by(
    c: Configuration, properties: Sequence[Property], states: int, seconds: float, every: bool, threads: int = 0
) -> Premises:
    """Explore until each premise is met, or the bounds are reached.

    Args:
        c: its budgets are the largest that are explored.
        properties: those whose premises are searched; they are judged as well.
        states: the maximum for each exploration.
        seconds: for all of it.
        every: whether properties whose premise is met are judged in larger configurations too.
        threads: 0 for one on each core.
    """
    end, vain = Deadline(seconds), tuple(vacuous(Model(c), properties))
    found = Premises(tuple(p.name for p in properties), vain)
    for stage in stages(c):
        judged = [p for p in properties if p.name in found.missing or (every and p.name not in found.violated)]
        if not found.missing and not every:
            break
        for group in groups_of(judged):
            if end.over():
                found.trouble = "no time was left"
                return found
            code, _ = Compiled.of(Model(stage), group, True)
            r = Explorer(code, threads).run(Limits(None, states, end.left()), keep_going=True)
            found.explored.append((stage, r))
            found.reached |= {n: depth for n, depth in r.witnessed.items() if n not in found.reached and n not in vain}
            found.violated |= r.violations
            if r.stopped == "interrupted":
                raise KeyboardInterrupt
    return found
