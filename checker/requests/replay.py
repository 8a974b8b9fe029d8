"""Replay a trace in the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.requests.carried import check_carried
from checker.requests.saved import TraceRequest

if TYPE_CHECKING:
    from checker.report.replayed import ReplayResult
    from checker.report.result import CheckFindings
    from traces import Trace
    from traces.replay.replay import Replayed

BUG = "this is a bug of zabcheck, please report it"


@dataclass(frozen=True)
class ReplayRequest(TraceRequest):
    """A replay of a saved trace."""

    kind: ClassVar[str] = "replay"

    def read(self) -> Trace:
        """Return the trace.

        Raises:
            RequestError: there is none.
        """
        from traces import TraceError, read_trace

        try:
            trace = read_trace(Path(self.trace))
        except TraceError as problem:
            raise RequestError(str(problem)) from None
        check_carried(trace, self.trace)
        return trace


def answer(request: ReplayRequest) -> ReplayResult:
    """Replay a saved trace.

    Raises:
        RequestError: it is not a trace, or differs from what its schedule does.
        NoVerdict: the explorer confirms the trace, and the simulator does not.
    """
    from checker.report.replayed import ReplayResult

    trace = request.read()
    return ReplayResult(trace, replayed(trace, request.trace), request.trace, request.as_json())


def judged_run(request: ReplayRequest, names: Sequence[str]) -> CheckFindings:
    """Replay a saved trace, and judge each of its states and steps by properties.

    Raises:
        RequestError: it is not a trace, or differs from what its schedule does.
        NoVerdict: the explorer confirms the trace, and the simulator does not.
    """
    from checker.report.result import CheckFindings, Counterexample
    from invariants import properties_of
    from invariants.registry import meets
    from traces import Runner, to_text
    from traces.record.trace import model_of

    trace = answer(request).trace
    model = model_of(trace.configuration)
    judged = [p for p in properties_of(trace.configuration.protocol) if p.name in names]
    runner = Runner(model)
    violated: dict[str, int] = {}
    met: dict[str, int] = {}
    for number in range(len(trace.steps) + 1):
        if number:
            runner.step(trace.steps[number - 1].word.word)
        before = runner.before if number else None
        violated |= {p.name: number for p in judged if p.name not in violated and not runner.keeps(p)}
        met |= {p.name: number for p in judged if p.name not in met and meets(p, runner.names, runner.state, before)}
    said = {"run": Counterexample(to_text(trace), trace=trace)}
    sentence = f"{len(trace.steps)} steps replayed in the simulator, step by step equal"
    return CheckFindings(sentence, judged, violated, met, len(trace.steps), True, unit="step", counterexamples=said)


def replayed(trace: Trace, what: str) -> Replayed:
    """Replay a trace, without printing.

    Args:
        what: the name of the trace in messages.

    Raises:
        RequestError: it differs from what its schedule does.
        NoVerdict: the explorer confirms the trace, and the simulator does not.
    """
    from traces import TraceError, verify
    from traces.replay.replay import replay as played

    try:
        return played(trace)
    except TraceError as problem:
        try:
            verify(trace)
        except TraceError:
            raise RequestError(f"{what} does not replay: {problem}") from None
        raise NoVerdict(
            f"{what} does not replay in the simulator, and is a run of the explorer: {problem}; {BUG}"
        ) from None
