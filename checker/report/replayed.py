"""Report the result of a replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checker.report.answer import TraceAnswer
from checker.report.result import Part, Verdict
from traces import Step, Trace
from traces.explain.folding import folded
from traces.replay.replay import Replayed as Played
from traces.replay.replay import happened
from zabspec.language.layout.notation import named_by


@dataclass(frozen=True, repr=False)
class Replayed(TraceAnswer):
    """A trace whose every step the simulator reproduced.

    Attributes:
        trace: the trace.
        played: what the simulator did.
        request: the request, as JSON.
        exit_code: that of a successful replay; the violation in it was found earlier.
    """

    trace: Trace
    played: Played
    request: Mapping[str, Any]
    exit_code: int = 0

    kind = "replay"

    @property
    def sentence(self) -> str:
        return self.played.sentence

    @property
    def steps(self) -> Sequence[Step]:
        """The steps, as the simulator took them."""
        return self.played.steps

    @property
    def sha256(self) -> str:
        """The SHA-256 digest of the canonical dump at the end."""
        return self.played.sha256

    def said(self) -> Iterator[Verdict]:
        trace, steps = self.trace, self.played.steps
        if trace.property_name:
            yield Verdict(trace.property_name, "is violated at the last step and not before", len(steps))
        if trace.lasso is not None:
            yield Verdict(trace.lasso.progress_property, "is not reached: " + trace.lasso.sentence(len(steps)), None)

    def parts(self) -> Sequence[Part]:
        """Return a line for each step, the verdict and the digest."""
        width = len(str(len(self.played.steps)))
        numbers = (f"{step.number:>{width}}  " for step in self.played.steps)
        lines = [folded(said, number) for said, number in zip(self.what_happened, numbers, strict=True)]
        ends = f"canonical dump at the end: sha256 {self.played.sha256}"
        return ["\n".join(lines), f"{folded(self.sentence, others='  ')}\n{ends}"]

    @property
    def what_happened(self) -> list[str]:
        """Each step in a line, with processes by their roles."""
        with named_by(self.trace.configuration.played):
            return [happened(step) for step in self.played.steps]

    def details(self) -> dict[str, Any]:
        result = self.played
        return {
            "format": 1,
            "trace": self.request["trace"],
            "configuration": self.trace.configuration.as_dict(),
            "replayed": True,
            "property": result.property_name or None,
            "breaks_at": len(result.steps) if result.property_name else None,
            "lasso": None if result.lasso is None else result.lasso.as_dict(),
            "steps": self.what_happened,
            "sha256": result.sha256,
        }
