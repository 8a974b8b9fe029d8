"""What requests about a saved trace share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from checker.errors import RequestError
from checker.requests.request import Request

if TYPE_CHECKING:
    from traces import Trace

__all__ = ["TraceRequest", "verified_trace"]


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
    except TraceError as problem:
        text = str(problem)
        raise RequestError(text if str(path) in text else f"{path}: {text}") from None
    return trace
