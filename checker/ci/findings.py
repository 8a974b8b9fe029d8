"""What a check found, whatever answered it: an exploration, or a run of the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from checker.report.promises import promise_text

if TYPE_CHECKING:
    from checker.live.report import LiveReport
    from checker.report.report import Report
    from checker.report.result import Counterexample
    from checker.report.simulated import Simulation
    from traces import Trace
    from traces.judging.simulated import Verdict

__all__ = ["CheckFindings", "Named", "found_by_exploring", "found_by_living", "found_by_simulating"]


class Named(Protocol):
    """What is judged, or asked after: a property, or a goal."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def statement(self) -> str:
        """It in words."""

    @property
    def source(self) -> str:
        """Where it is stated."""


@dataclass(frozen=True)
class CheckFindings:
    """What was found.

    Attributes:
        sentence: the verdict line of the command.
        properties: those that were judged.
        violated: each that broke in a run that replays, with its length (simulated: the tick).
        met: each whose premise was met, with the depth; None: it is not known at which.
        seen_to: every state to this depth was judged; simulated: the last tick.
        covered: all that was asked for was looked at, and nothing ended it before.
        doubtful: those that broke in a run that does not replay, of which nothing is known.
        unsettled: why not all that was asked for is known, a sentence each.
        depth, states, raw, exhausted: of the exploration; None: of a simulated run.
        unit: what violations and premises are counted in: depth, tick, or step.
        sha256: of the simulated run.
        seconds: how long it took.
        cpu_seconds: of all cores, compilation and replay included; an equal part of what several checks share.
        counterexamples: by property.
        promised: what of the steps is merged by promise, as a sentence's part; empty: nothing.
    """

    sentence: str
    properties: Sequence[Named]
    violated: Mapping[str, int]
    met: Mapping[str, int | None]
    seen_to: int
    covered: bool
    doubtful: frozenset[str] = frozenset()
    unsettled: Sequence[str] = ()
    depth: int | None = None
    states: int | None = None
    raw: int | None = None
    exhausted: bool | None = None
    unit: str = "depth"
    sha256: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    counterexamples: Mapping[str, Counterexample] = field(default_factory=dict)
    promised: str = ""


def found_by_exploring(report: Report) -> CheckFindings:
    """What an exploration found: a violation whose counterexample does not replay is none."""
    from invariants import NO_RUNTIME_ERROR

    r = report.exploration
    troubles = [c.trouble for c in report.counterexamples.values() if c.trouble]
    return CheckFindings(
        report.sentence,
        (*r.properties, *([NO_RUNTIME_ERROR] if r.failed else [])),
        {name: found.depth for name, found in r.violations.items() if report.replayed(name)},
        dict(r.witnessed),
        report.whole_depth,
        report.covered,
        frozenset(name for name in r.violations if not report.replayed(name)),
        [*filter(None, [report.cut_short]), *troubles],
        len(report.levels) - 1,
        r.distinct,
        r.raw,
        r.complete,
        seconds=r.seconds + r.compile_seconds,
        counterexamples=report.counterexamples,
        promised=promise_text(report.configuration).removeprefix("; "),
    )


def found_by_living(report: LiveReport) -> CheckFindings:
    """What asking after goals found: one that is not reached in a run that is fair and replays. Where each goal asked
    after is not reached, nothing that was left out could change that."""
    from checker.report.result import HOLDS, VIOLATED

    live, verdicts = report.live, {goal.name: report.verdict(goal) for goal in report.live.goals}
    violated = {name: s.steps for name, s in report.starving.items() if verdicts[name] == VIOLATED}
    troubles = [s.counterexample.trouble for s in report.starving.values() if s.counterexample.trouble]
    cut = report.cut_short if violated.keys() != verdicts.keys() else ""
    return CheckFindings(
        report.sentence,
        live.goals,
        violated,
        dict.fromkeys(name for name in verdicts if name in live.waited and verdicts[name] in (HOLDS, VIOLATED)),
        -1 if report.cut_short else max(violated.values(), default=0),
        not report.cut_short,
        frozenset(report.starving.keys() - violated.keys()),
        [*filter(None, [cut]), *troubles],
        live.exploration.depth,
        live.nodes,
        exhausted=live.complete and live.exploration.complete,
        unit="step",
        seconds=live.seconds + live.compile_seconds,
        promised=promise_text(report.configuration).removeprefix("; "),
        counterexamples={name: s.counterexample for name, s in report.starving.items()},
    )


def found_by_simulating(answer: Simulation, seconds: float) -> CheckFindings:
    """What a simulated run came to. A property that it is not judged by is neither broken nor met."""
    from checker.answers import Simulated
    from checker.report.result import Counterexample

    verdicts = [v for v, _ in answer.verdicts]
    broken = {v.of.name: Counterexample(why=why) for v, why in answer.verdicts if v.judged and not v.held}
    if broken:
        first = min((v for v in verdicts if v.of.name in broken), key=lambda v: v.broken_at)
        broken[first.of.name] = replace(broken[first.of.name], trace=as_trace(answer, first))
    return CheckFindings(
        Simulated(answer).sentence,
        [v.of for v in verdicts],
        {v.of.name: v.broken_at for v in verdicts if v.judged and not v.held},
        dict.fromkeys(v.of.name for v in verdicts if v.judged and v.met),
        int(answer.state.moment),
        True,
        unit="tick",
        sha256=answer.sha256,
        seconds=seconds,
        counterexamples=broken,
    )


def as_trace(answer: Simulation, broken: Verdict) -> Trace | None:
    """The run up to where it breaks a property; None: it cannot be told in the explorer's steps."""
    from traces import TraceError
    from traces.record.simulated import simulated_trace

    try:
        return simulated_trace(answer.run, broken.of, broken.broken_at + 1)
    except TraceError:
        return None
