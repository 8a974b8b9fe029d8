"""Requests about a saved trace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from checker.errors import RequestError
from checker.requests.request import Request, seconds


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


@dataclass(frozen=True)
class MinimiseRequest(TraceRequest):
    """The shortening of a counterexample.

    Attributes:
        output: the file for the shorter one; empty for one beside the trace, as `.min.trace.json`.
        search: seconds of exploring for a shorter one.
    """

    kind: ClassVar[str] = "minimise"

    output: str = ""
    search: float = 20.0

    def validate(self) -> None:
        super().validate()
        seconds(self, "search")
        if not Path(self.trace).name:
            raise RequestError(f"{self.trace}: this is a folder")

    @property
    def target(self) -> Path:
        """The file for the shorter trace."""
        given = Path(self.trace)
        stem = given.name.removesuffix(".json").removesuffix(".trace")
        return Path(self.output) if self.output else given.with_name(stem + ".min.trace.json")
