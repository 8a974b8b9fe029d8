"""Check a row of the track record: without its own fix a release violates the row's property, and with it not.

The release has every other known fix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Limits
from checker.zookeeper.rows import USUAL, Row
from invariants import properties_of
from traces import Trace, build_trace
from traces.replay.replay import replay
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.quorums import quorums_with
from zabspec.zookeeper.of_releases import settled, variant_of

PROTOCOL, START, NEWEST, MERGED = "zookeeper", "established", "3.9.4", "coarse"
# All known repairs of the newest release, merged, open or proposed here.
KNOWN = ("4882", "4837-here", "1558", "trunc", "cut", "5094", "2354", "snap-tail", "trunc-epoch")
FURTHER = ("4394", "4882", "1291", "1282", "1413", "107")  # known fixes that rows name only if needed


@dataclass(frozen=True)
class Exploring:
    """The outcome of an exploration.

    Attributes:
        depth: the number of steps after which the property is violated; 0 if it is not.
        states: the number of explored states, renamings counted once.
        seconds: of exploring, without compiling the model.
        complete: whether every state within the budgets was explored.
        trouble: why there is no verdict; empty if there is one.
        trace: the shortest violating run, which the simulator has replayed.
    """

    depth: int
    states: int
    seconds: float
    complete: bool
    trouble: str
    trace: Trace | None

    @property
    def holds(self) -> bool:
        return self.complete and not self.depth and not self.trouble


@dataclass(frozen=True)
class RowOutcome:
    """A row, and the outcomes of the release without its fix, and with it.

    Attributes:
        split: whether each step was explored separately.
        recorded: whether the release is the row's own, whose outcome is recorded; else nothing is expected.
    """

    row: Row
    without: Exploring
    repaired: Exploring
    split: bool = False
    recorded: bool = True

    @property
    def found(self) -> bool:
        return self.without.depth > 0 and self.repaired.holds

    @property
    def undecided(self) -> bool:
        """Whether one of the two has no verdict, so that the row has none."""
        return bool(self.without.trouble or self.repaired.trouble)

    @property
    def as_recorded(self) -> bool:
        return not self.recorded or (self.without.depth, self.repaired.holds) == (
            self.row.depth if self.split else self.row.merged,
            self.row.held,
        )


def repairs_of(row: Row) -> tuple[str, ...]:
    """Return every known fix beside a row's own: none that contains it, or is contained in it.

    1413 is none where a leader's log is read for a learner: it brought that reading (3.5.0).
    """
    variants = PROTOCOLS[PROTOCOL].variants
    out = dict.fromkeys((*row.others, *(name for name in FURTHER if name != "1413" or "walk" not in row.settings)))
    for fix in row.fix:
        near = {name for name in out if fix in variants[name].over or name in variants[fix].over or name == fix}
        out = {name: None for name in out if name not in near}
    return tuple(out)


def of_release(row: Row, number: str) -> Row:
    """Return a row for another release, with every known fix that goes with its own; unchanged for its own release.

    Raises:
        ConfigError: there is no such release.
    """
    release = variant_of(PROTOCOL, number) or NEWEST
    same = settled("", number, row.settings) == settled("", release, row.settings)
    if same and release == row.release:
        return row
    return replace(row, release=release, number="" if same else number, others=repairs_of(row), published="")


def configuration(
    release: str,
    repairs: Sequence[str],
    budget: Mapping[str, int],
    split: bool = True,
    start: str = START,
    settings: str = "",
    number: str = "",
) -> Configuration:
    """Return the configuration of a release with repairs.

    Args:
        split: whether each step is separate; else some are merged.
        start: where runs begin; empty for the initial state.
        settings: variants of settings, as servers have them in production.
        number: the release for which these are chosen; empty for the same.
    """
    of_release = settled("" if release == NEWEST else release, number or release, settings)
    variants = [*([of_release] if of_release else []), *([] if split else [MERGED])]
    variant = PROTOCOLS[PROTOCOL].combined(",".join(variants), ",".join(repairs))
    own = [
        name for name in PROTOCOLS[PROTOCOL].budgets if name in ("elections", "proposals", "write_errors", "snapshots")
    ]
    said = ",".join(f"{name}={budget[name]}" for name in own if name in budget)
    given: dict[str, Any] = {name: n for name, n in budget.items() if name not in own}
    return Configuration(PROTOCOL, variant, start=start, budgets=said, quorums=quorums_with(variant), **given)


def explored(c: Configuration, name: str, seconds: float | None) -> Exploring:
    """Explore one property of a configuration, to its shortest violation or to the end.

    Raises:
        KeyboardInterrupt: it was interrupted.
    """
    judged = [p for p in properties_of(PROTOCOL) if p.name == name]
    code, _ = Compiled.of(Model(c), judged, True)
    r = Explorer(code, 2).run(Limits(None, None, seconds, None), False)
    if r.stopped == "interrupted":
        raise KeyboardInterrupt  # nothing after it is begun
    found, trouble = r.violations.get(name), ""
    trace = build_trace(code.model, found.property, found.schedule) if found is not None else None
    if trace is not None:
        replay(trace)
    if found is None and not r.complete:
        trouble = str(r.error or r.stopped or "it was not explored to exhaustion")
    elif found is None and name not in r.witnessed:
        trouble = "the premise is not reached"
    return Exploring(found.depth if found else 0, r.distinct, r.seconds, r.complete, trouble, trace)


def ask(row: Row, seconds: float | None, split: bool = False, recorded: bool = True) -> RowOutcome:
    """Explore the release of a row without its fix, and with it.

    Args:
        recorded: as for the outcome.
        seconds: the time limit of each of the two explorations.
        split: whether to explore each step separately, which has several times as many states.
    """
    budget = USUAL | row.budget
    broken = configuration(row.release, row.others, budget, split, row.start, row.settings, row.number)
    without = explored(broken, row.breaks, seconds)
    mended = configuration(row.release, (*row.others, *row.fix), budget, split, row.start, row.settings, row.number)
    repaired = explored(mended, row.breaks, seconds)
    return RowOutcome(row, without, repaired, split, recorded)
