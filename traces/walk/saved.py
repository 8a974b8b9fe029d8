"""A walk as a trace file that every command takes."""

from __future__ import annotations

from traces.record.runner import build_trace
from traces.record.trace import Trace, TraceError, text_of
from traces.record.verification import verify
from traces.replay.replay import replay
from traces.walk.walker import Place, Walker, WalkError

__all__ = ["check_current", "trace_of"]


def check_current(walker: Walker) -> None:
    """
    Raises:
        WalkError: the source of the protocol is another by now: what is asked of it would be said of this one.
    """
    name = walker.model.configuration.protocol
    if text_of(name) != walker.model.protocol.text.digest:
        raise WalkError(f"the source of {name} has changed since this walk began: reload it first")


def trace_of(place: Place) -> Trace:
    """The trace of the way to a place, run again in the explorer's world and replayed in the simulator. It says which
    property its last step violates, if that is the first to do so; of any other place it is a plain run.

    Raises:
        WalkError: it does not replay, or the source of the protocol is another by now.
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
