"""What requests about a saved trace share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from checker.errors import RequestError
from checker.requests.model import ModelRequest
from checker.requests.request import Request, current_request
from zabspec.worlds.steps import BUDGETS

if TYPE_CHECKING:
    from traces import Trace
    from zabspec.model import Configuration

__all__ = ["TraceRequest", "check_carried", "verified_trace"]

# The requests that make traces. Of each, what of its model a trace has: a run of `live` may give up once more, which
# costs a timeout, and what a run of the simulator spends is counted.
SIZES = ("protocol", "variant", "nodes", "network", "start")
MADE_BY = {
    "explore": (*SIZES, "txns", "budgets", *BUDGETS),
    "bmc": (*SIZES, "txns", "budgets", *BUDGETS),
    "refine": (*SIZES, "txns", *BUDGETS),
    "live": (*SIZES, "txns", "budgets"),
    "simulate": SIZES,
    "search": ("protocol", "variant", "network", "start"),
    "minimise": (),
}


@dataclass(frozen=True)
class TraceRequest(Request):
    """A request about a saved trace.

    Attributes:
        trace: its file.
    """

    trace: str = ""

    def validate(self) -> None:
        if not self.trace:
            raise RequestError(f"name the trace to {self.kind}")


def verified_trace(path: Path) -> Trace:
    """Read a saved trace, and run its schedule to check that it is what the file says.

    Raises:
        RequestError: it is no trace, or a step differs; the sentence names the step.
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
    """Check that the request that a trace carries, if it has one, is of its configuration and of what it shows.

    Args:
        name: what sentences call the trace.

    Raises:
        RequestError: it is none that makes traces, or of something else.
    """
    from invariants.registry import NO_RUNTIME_ERROR
    from zabspec.language import LanguageError
    from zabspec.model import ConfigError

    if trace.request is None:
        return
    if trace.request.get("kind") not in MADE_BY:
        raise RequestError(f"{name}: the request in it is none that makes traces")
    try:
        given = current_request(str(trace.request["kind"]), trace.request)
        asked = configuration_of(given)
    except (RequestError, ConfigError, LanguageError) as problem:
        raise RequestError(f"{name}: the request in it is none: {problem}") from None
    if asked is not None:
        wanted, there = asked.as_dict(), trace.configuration.as_dict()
        other = [field for field in MADE_BY[str(given["kind"])] if wanted[field] != there[field]]
        other += ["quorums"] if asked.quorums != trace.configuration.quorums else []
        if given["kind"] == "search":  # which shortens what it finds
            most, spent = ({**c.budget, "nodes": c.nodes, "txns": c.txns} for c in (asked, trace.configuration))
            other += [field for field in spent if spent[field] > most.get(field, 0)]
        if other:
            raise RequestError(f"{name}: the request in it is of another configuration, with another {other[0]}")
    names, shown = given.get("progress_properties" if trace.lasso else "properties"), trace.property_name
    shown = trace.lasso.progress_property if trace.lasso is not None else shown
    if names and shown not in ("", NO_RUNTIME_ERROR.name) and (not isinstance(names, list) or shown not in names):
        raise RequestError(f"{name}: the request in it is of other properties than {shown}")


def configuration_of(given: Mapping[str, object]) -> Configuration | None:
    """Return the configuration that a request is of; None: it is that of a saved trace.

    Raises:
        RequestError, ConfigError, LanguageError: there is no such request.
    """
    if given["kind"] == "minimise" or given.get("source"):
        return None
    if given["kind"] == "simulate":
        from checker.requests.simulate import SimulateRequest
        from zabspec.model import Configuration

        run = SimulateRequest.from_json(given).run()
        return Configuration(
            run.protocol, run.variant, run.nodes, network=run.network, start=run.start, quorums=run.quorums
        )
    if given["kind"] == "refine":
        from checker.requests.refine import RefineRequest

        return RefineRequest.from_json(given).exploration().model.configuration()
    if given["kind"] == "explore":
        from checker.requests.exploration import ExploreRequest

        return ExploreRequest.from_json(given).model.configuration()
    return ModelRequest.from_json(given.get("model")).configuration()
