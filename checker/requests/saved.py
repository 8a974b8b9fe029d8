"""Requests about a saved trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from checker.errors import RequestError
from checker.requests.request import Option, Request, TraceFile


@dataclass(frozen=True)
class TraceRequest(Request):
    """A request about a trace, or its file."""

    trace: Annotated[TraceFile, Option(place="read", argument=True)] = ""

    def validate(self) -> None:
        if not self.trace:
            raise RequestError(f"name the trace to {self.kind}")
