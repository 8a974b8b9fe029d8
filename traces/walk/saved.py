"""Save a walk as a trace file that every command accepts."""

from __future__ import annotations

from traces.record.runner import build_trace
from traces.record.trace import Trace, TraceError
from traces.record.verification import verify
from traces.replay.replay import replay
from traces.walk.walker import WalkError, WalkPlace


def trace_of(place: WalkPlace) -> Trace:
    """Return the trace of the way to a place, verified in the explorer and replayed in the simulator.

    The trace names the property that its last step is the first to violate, if there is one; else it is a plain run.

    Raises:
        WalkError: the walk does not replay.
    """
    walker = place.walker
    prop = next(iter(place.violated_here), None)
    try:
        trace = build_trace(walker.model, prop, place.schedule)
        verify(trace)
        replay(trace)
    except TraceError as problem:
        raise WalkError(f"this walk does not replay, so there is no trace of it: {problem}") from None
    return trace
