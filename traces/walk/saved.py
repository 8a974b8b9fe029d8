"""Save a walk as a trace file that every command accepts."""

from __future__ import annotations

from traces.record.runner import build_trace
from traces.record.trace import Trace, TraceError, text_of
from traces.record.verification import verify
from traces.replay.replay import replay
from traces.walk.walker import Walker, WalkError, WalkPlace


def check_current(walker: Walker) -> None:
    """Check that the source of the protocol is unchanged since the walk began.

    Raises:
        WalkError: the source has changed, so that results about it would not be about this walk.
    """
    name = walker.model.configuration.protocol
    if text_of(name) != walker.model.protocol.text.digest:
        raise WalkError(f"the source of {name} has changed since this walk began: reload it first")


def trace_of(place: WalkPlace) -> Trace:
    """Return the trace of the way to a place, verified in the explorer and replayed in the simulator.

    The trace names the property that its last step is the first to violate, if there is one; else it is a plain run.

    Raises:
        WalkError: the walk does not replay, or the source of the protocol has changed.
    """
    walker = place.walker
    check_current(walker)
    prop = next(iter(place.violated_here), None)
    try:
        trace = build_trace(walker.model, prop, place.schedule)
        verify(trace)
        replay(trace)
    except TraceError as problem:
        raise WalkError(f"this walk does not replay, so there is no trace of it: {problem}") from None
    return trace
