"""Check the request that a saved trace carries: it has the trace's configuration, and is about what the trace shows."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from checker.errors import RequestError
from checker.requests.base.kinds import kind_named
from checker.requests.base.request import Option, Request, TraceFile, name_of
from zabspec.properties import DEADLOCK

if TYPE_CHECKING:
    from traces import Trace


@dataclass(frozen=True)
class TraceRequest(Request):
    """A request about a trace, or its file."""

    trace: Annotated[TraceFile, Option(place="read", argument=True)] = ""

    def validate(self) -> None:
        if not self.trace:
            raise RequestError(f"name the trace to {self.kind}")


def verified_trace(given: Trace | str | PathLike[str]) -> Trace:
    """Return a trace, or that of a file, after running its schedule to check that it is what it says.

    Raises:
        RequestError: it is not a trace, or a step differs; the sentence names the step.
    """
    from traces import TraceError, verify

    name = name_of(given)
    try:
        trace = read(given)
        verify(trace)
        check_carried(trace, name)
    except (TraceError, RequestError) as problem:
        text = str(problem)
        raise RequestError(text if name in text else f"{name}: {text}") from None
    return trace


def read(given: Trace | str | PathLike[str]) -> Trace:
    """Return a trace, or that of a file.

    Raises:
        TraceError: there is none in the file.
    """
    from traces import read_trace

    return read_trace(Path(given)) if isinstance(given, str | PathLike) else given


def check_carried(trace: Trace, name: str) -> None:
    """Check that the request of a trace, if it has one, has its configuration and is about what it shows.

    Args:
        name: the name of the trace in messages.

    Raises:
        RequestError: it is not a request that makes traces, or is about something else.
    """
    from invariants import known_properties
    from invariants.registry import NO_RUNTIME_ERROR

    if trace.request is None:
        return
    kind = kind_named(str(trace.request.get("kind")))
    if kind is None or kind.shares is None:
        raise RequestError(f"{name}: its request is not one that makes traces")
    try:
        given = kind.from_json(trace.request)
        asked = given.traced()
    except RequestError as problem:
        raise RequestError(f"{name}: its request is invalid: {problem}") from None
    if asked is not None:
        wanted, there = asked.as_dict(), trace.configuration.as_dict()
        if asked.named_start[1] is None:  # of the ways to begin, the trace has one
            wanted["start"], there["start"] = asked.start, trace.configuration.named_start[0]
        other = [field for field in kind.shares if wanted.get(field) != there.get(field)]
        if kind.shortens:
            most, spent = ({**c.budget, "nodes": c.nodes, "txns": c.txns} for c in (asked, trace.configuration))
            other += [field for field in spent if spent[field] > most.get(field, 0)]
        if other:
            raise RequestError(f"{name}: its request is for another configuration, with another {other[0]}")
    names = getattr(given, "progress_properties" if trace.lasso else "properties", ())
    usual = {p.name for p in known_properties(trace.configuration.protocol) if p.default}
    ends = (DEADLOCK,) if getattr(given, "deadlock", False) else ()
    shown = trace.lasso.progress_property if trace.lasso is not None else trace.property_name or trace.premise_of
    is_asked = shown in ("", NO_RUNTIME_ERROR.name, *names, *ends)
    if not is_asked and (names or (shown == DEADLOCK and DEADLOCK not in usual)):
        raise RequestError(f"{name}: its request is for other properties than {shown}")
