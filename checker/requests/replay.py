"""Replay a trace in the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.requests.base.carried import TraceRequest, check_carried, read
from checker.requests.base.request import function, name_of
from checker.requests.base.watch import QUIET, Watch

if TYPE_CHECKING:
    from checker.report.replayed import Replayed
    from checker.report.result import CheckFindings
    from traces import Trace
    from traces.replay.replay import Replayed as Played

BUG = "this is a bug of zabcheck, please report it"


@dataclass(frozen=True)
class Replay(TraceRequest):
    """Play a saved trace in the simulator, and compare every step with the recorded one.

    The simulator has its own heap, links, clock and handlers.

    Exit codes: 0 every step is equal, and the property, if the trace names one, is violated at the last step and not
    before; 2 the file is not a trace, or contradicts its own schedule; 3 the explorer confirms the trace and the
    simulator does not, which is a bug of zabcheck.
    """

    kind: ClassVar[str] = "replay"
    draws: ClassVar[bool] = True

    def read(self) -> Trace:
        """Return the trace.

        Raises:
            RequestError: there is none.
        """
        from traces import TraceError

        try:
            trace = read(self.trace)
        except TraceError as problem:
            raise RequestError(str(problem)) from None
        check_carried(trace, name_of(self.trace))
        return trace

    def answer(self, watch: Watch = QUIET) -> Replayed:
        from checker.report.replayed import Replayed

        trace = self.read()
        return Replayed(trace, replayed(trace, name_of(self.trace)), self.as_json())


def judged_run(request: Replay, names: Sequence[str]) -> CheckFindings:
    """Replay a saved trace, and judge each of its states and steps by properties.

    Raises:
        RequestError: it is not a trace, or differs from what its schedule does.
        NoVerdict: the explorer confirms the trace, and the simulator does not.
    """
    from checker.report.result import CheckFindings, Counterexample
    from invariants import known_properties
    from invariants.binding import vacuous
    from invariants.registry import meets
    from traces import Runner, to_text
    from traces.record.trace import model_of

    trace = request.answer().trace
    model = model_of(trace.configuration)
    judged = [p for p in known_properties(trace.configuration.protocol) if p.name in names]
    runner = Runner(model)
    violated: dict[str, int] = {}
    met: dict[str, int] = {}
    for number in range(len(trace.steps) + 1):
        if number:
            runner.step(trace.steps[number - 1].word.word)
        before = runner.before if number else None
        violated |= {p.name: number for p in judged if p.name not in violated and not runner.keeps(p)}
        met |= {p.name: number for p in judged if p.name not in met and meets(p, runner.names, runner.state, before)}
    never = vacuous(model, judged)
    met = {name: at for name, at in met.items() if name not in never}
    said = {"run": Counterexample(to_text(trace), trace=trace)}
    sentence = f"{len(trace.steps)} steps replayed in the simulator, step by step equal"
    return CheckFindings(
        sentence, judged, violated, met, len(trace.steps), True, unit="step", counterexamples=said, never_false=never
    )


def replayed(trace: Trace, what: str) -> Played:
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
    except (TraceError, RequestError) as problem:
        try:
            verify(trace)
        except (TraceError, RequestError):
            raise RequestError(f"{what} does not replay: {problem}") from None
        raise NoVerdict(
            f"{what} does not replay in the simulator, and is a run of the explorer: {problem}; {BUG}"
        ) from None


replay = function(Replay)
