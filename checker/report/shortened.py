"""Report the result of shortening a counterexample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from checker.report.result import StatedResult

if TYPE_CHECKING:
    from traces.record.trace import Trace


class Shortening(Protocol):
    """A shortened trace: `checker.requests.minimise.Shortened`."""

    @property
    def trace(self) -> Trace:
        """The shorter trace."""

    @property
    def before(self) -> int:
        """The number of steps before."""

    @property
    def schedules(self) -> int:
        """The number of schedules tried."""

    @property
    def shortest(self) -> bool:
        """Whether it is known that no counterexample of this configuration is shorter."""


def shortened_result(request: Mapping[str, Any], found: Shortening, saved: str) -> StatedResult:
    """Return the result of shortening a trace.

    Args:
        request: the one that it answers, as JSON.
        saved: the file that the shorter one is in; empty if it was not saved.
    """
    from traces import to_text
    from traces.explain.folding import folded

    short, after = found.trace, len(found.trace.steps)
    content = {
        "request": dict(request),
        "property": short.property_name or None,
        "progress_property": None if short.lasso is None else short.lasso.progress_property,
        "steps_before": found.before,
        "steps": after,
        "schedules_tried": found.schedules,
        "shortest": found.shortest,
        "configuration": short.configuration.as_dict(),
        "trace": saved or None,
    }
    told = "no run is shorter in this configuration" if found.shortest else "a shorter one may exist"
    still = (
        f"violate {short.property_name}" if short.lasso is None else f"leave {short.lasso.progress_property} unreached"
    )
    if short.failure is not None and short.failure.widen:
        still = f"need more room than there is ({short.failure.widen})"
    where = f". Saved as {saved}" if saved else ""
    head = f"{found.before} steps are {after} now, and still {still}; {told}{where}"
    return StatedResult(head, content=content, text=[folded(head), to_text(short).rstrip()], kind="minimise")
