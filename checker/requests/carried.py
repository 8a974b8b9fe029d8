"""Check the request that a saved trace carries: it has the trace's configuration, and is about what the trace shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from checker.errors import RequestError
from checker.requests.bounded_check import BmcRequest
from checker.requests.exploration import ExploreRequest
from checker.requests.live import LiveRequest
from checker.requests.model import ModelRequest
from checker.requests.refine import RefineRequest
from checker.requests.request import Request
from checker.requests.saved import MinimiseRequest, TraceRequest
from checker.requests.search import SearchRequest
from checker.requests.simulate import SimulateRequest
from checker.requests.witness import WitnessRequest
from zabspec.worlds.steps import BUDGETS

if TYPE_CHECKING:
    from traces import Trace
    from zabspec.model import Configuration

# The requests that make traces, each with the fields of its model that a trace has: a run of `live` may give up once
# more, which costs a timeout, and what a run of the simulator spends is counted.
SIZES = ("protocol", "variant", "nodes", "network", "start", "quorums")
MADE_BY: dict[type[Request], tuple[str, ...]] = {
    ExploreRequest: (*SIZES, "txns", "budgets", *BUDGETS),
    BmcRequest: (*SIZES, "txns", "budgets", *BUDGETS),
    RefineRequest: (*SIZES, "txns", *BUDGETS),
    LiveRequest: (*SIZES, "txns", "budgets"),
    SimulateRequest: SIZES,
    SearchRequest: ("protocol", "variant", "network", "start", "quorums"),
    WitnessRequest: (*SIZES, "txns", "budgets", *BUDGETS),
    MinimiseRequest: (),
}


def verified_trace(path: Path) -> Trace:
    """Read a saved trace, and run its schedule to check that it is what the file says.

    Raises:
        RequestError: it is not a trace, or a step differs; the sentence names the step.
    """
    from traces import TraceError, read_trace, verify

    try:
        trace = read_trace(path)
        verify(trace)
        check_carried(trace, str(path))
    except TraceError as problem:
        text = str(problem)
        raise RequestError(text if str(path) in text else f"{path}: {text}") from None
    return trace


def check_carried(trace: Trace, name: str) -> None:
    """Check that the request of a trace, if it has one, has its configuration and is about what it shows.

    Args:
        name: the name of the trace in messages.

    Raises:
        RequestError: it is not a request that makes traces, or is about something else.
    """
    from invariants.registry import NO_RUNTIME_ERROR
    from zabspec.language import LanguageError
    from zabspec.model import ConfigError

    if trace.request is None:
        return
    kind = next((kind for kind in MADE_BY if kind.kind == trace.request.get("kind")), None)
    if kind is None:
        raise RequestError(f"{name}: its request is not one that makes traces")
    try:
        given = kind.from_json(trace.request)
        asked = configuration_of(given)
    except (RequestError, ConfigError, LanguageError) as problem:
        raise RequestError(f"{name}: its request is invalid: {problem}") from None
    if asked is not None:
        wanted, there = asked.as_dict(), trace.configuration.as_dict()
        other = [field for field in MADE_BY[kind] if wanted.get(field) != there.get(field)]
        if kind is SearchRequest:  # which shortens the runs it finds
            most, spent = ({**c.budget, "nodes": c.nodes, "txns": c.txns} for c in (asked, trace.configuration))
            other += [field for field in spent if spent[field] > most.get(field, 0)]
        if other:
            raise RequestError(f"{name}: its request is for another configuration, with another {other[0]}")
    names = getattr(given, "progress_properties" if trace.lasso else "properties", ())
    shown = trace.lasso.progress_property if trace.lasso is not None else trace.property_name or trace.premise_of
    if names and shown not in ("", NO_RUNTIME_ERROR.name, *names):
        raise RequestError(f"{name}: its request is for other properties than {shown}")


def configuration_of(request: Request) -> Configuration | None:
    """Return the configuration of a request, or None if it is that of a saved trace.

    Raises:
        RequestError, ConfigError, LanguageError: there is no such model.
    """
    from zabspec.model import Configuration

    if isinstance(request, TraceRequest) or vars(request).get("source"):
        return None
    if isinstance(request, SimulateRequest):
        run = request.run()
        return Configuration(
            run.protocol, run.variant, run.nodes, network=run.network, start=run.start, quorums=run.quorums
        )
    model: ModelRequest = request.exploration().model if isinstance(request, RefineRequest) else vars(request)["model"]
    return model.configuration()
