"""Explore again what a release still violates with repairs: each line of benchmarks/results/zookeeper-residue.md.

With every known fix all releases are the same model (`matrix.same_text`; a test checks it), so what is recorded is the
same for each. Fixes of what only a setting shows (`Variant.needs`) are not among them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from checker.explore.breadth_first import Explorer, Progress
from checker.explore.compiled import Compiled
from checker.explore.result import Limits
from checker.zookeeper.record import NEWEST, PROTOCOL, configuration
from invariants import properties_of
from traces import Trace, build_trace
from traces.replay.replay import replay
from zabspec.model import Model
from zabspec.protocols.registry import PROTOCOLS

# All known repairs of the newest release, merged, open or proposed here.
KNOWN = ("4882", "4837-here", "1558", "trunc", "cut", "5094", "2354", "snap-tail", "trunc-epoch")


@dataclass(frozen=True)
class Line:
    """An exploration, and its recorded result.

    Attributes:
        words: the repairs, in words.
        budget: elections, proposals, crashes, lost connections.
        breaks: the property that is violated first; empty if none is.
        depth: the number of merged steps to it; without a violation, the depth of the whole exploration.
        states: the number of explored states, renamings counted once.
        unreached: the number of premises that are not reached.
        instead: repairs that others replace, with their replacement; an empty name for none.
    """

    words: str
    budget: tuple[int, int, int, int]
    breaks: str
    depth: int
    states: int
    unreached: int = 0
    instead: dict[str, str] = field(default_factory=dict)


PULL = {"4837-here": "4837"}  # the pull request, instead of the repair proposed here
LINES = (
    Line("all", (2, 1, 2, 2), "", 81, 3_215_005, 2),
    Line("all", (2, 2, 0, 2), "", 69, 1_518_393, 2),
    Line("all", (2, 2, 2, 2), "", 103, 51_186_149, 1),
    Line("without cut", (2, 2, 0, 2), "served-is-on-a-quorum", 27, 111_721, 2, {"cut": ""}),
    Line("4837 for 4837-here", (2, 2, 0, 1), "", 58, 186_221, 2, PULL),
    Line("4837 for 4837-here", (2, 2, 0, 2), "initial-history", 47, 1_279_756, 2, PULL),
    Line("4837 for 4837-here", (2, 2, 2, 2), "memory-is-the-disk", 46, 18_581_983, 1, PULL),
)


@dataclass(frozen=True)
class Left:
    """The outcome of exploring a line; fields as there.

    Attributes:
        seconds: of this machine's cores.
        trouble: why there is no verdict; empty if there is one.
        trace: the shortest violating run, which the simulator has replayed.
    """

    line: Line
    breaks: str
    depth: int
    states: int
    unreached: int
    seconds: float
    trouble: str
    trace: Trace | None

    @property
    def as_recorded(self) -> bool:
        a, b = self, self.line
        return (a.breaks, a.depth, a.states, a.unreached) == (b.breaks, b.depth, b.states, b.unreached)

    @property
    def says(self) -> str:
        if self.trouble:
            return self.trouble
        if self.breaks:
            return f"{self.breaks} is violated after {self.depth} steps"
        return f"explored to exhaustion, depth {self.depth}: no violation within this budget"


def repairs_of(line: Line, release: str) -> tuple[str, ...]:
    """Return all known repairs that a release takes, and those proposed here, as a line has them."""
    fixes = [
        name
        for name, v in PROTOCOLS[PROTOCOL].variants.items()
        if v.repairs and not v.needs and name not in PULL.values()
    ]
    plain = KNOWN if release == NEWEST else tuple(fixes)
    return tuple(name for name in (line.instead.get(name, name) for name in plain) if name)


def ask(line: Line, release: str, seconds: float | None, progress: Progress | None = None) -> Left:
    """Explore every property, to the first violation or to the end.

    Args:
        release: a variant of the model.
        seconds: the time limit.
        progress: called now and then.

    Raises:
        KeyboardInterrupt: it was interrupted.
    """
    started, judged = time.process_time(), [p for p in properties_of(PROTOCOL) if p.default]
    names = ("elections", "proposals", "crashes", "losses")
    budget = dict(zip(names, line.budget, strict=True))
    code, _ = Compiled.of(Model(configuration(release, repairs_of(line, release), budget, False, "")), judged, True)
    r = Explorer(code, 2).run(Limits(None, None, seconds, None), False, progress)
    if r.stopped == "interrupted":
        raise KeyboardInterrupt  # no line after it is begun
    first = min(r.violations.values(), key=lambda v: v.depth, default=None)
    trouble = (
        "" if first is not None or r.complete else str(r.error or r.stopped or "it was not explored to exhaustion")
    )
    trace = None if first is None else build_trace(code.model, first.property, first.schedule)
    if trace is not None:
        replay(trace)
    return Left(
        line,
        "" if first is None else first.property.name,
        len(r.levels) - 1 if first is None else first.depth,
        r.distinct,
        sum(p.name not in r.witnessed for p in judged),
        time.process_time() - started,
        trouble,
        trace,
    )
