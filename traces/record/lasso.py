"""Describe a run in which a process starves: from which step on, and by which progress property."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from zabspec.language.layout.notation import process_name


@dataclass(frozen=True)
class Lasso:
    """The claim that a process starves for ever in a run of some steps, followed by a loop or by nothing.

    Attributes:
        progress_property: the progress property that the run violates.
        statement, source: the property in words, and where it is stated.
        process: the process that starves.
        named: the leader that the oracle names from then on; None if the protocol has no such oracle.
        stabilization_time: the number of steps before the stable phase.
        loop: the number of steps before the loop, whose last step leads back there; None if the run ends there, and
            nothing more need happen.
    """

    progress_property: str
    statement: str
    source: str
    process: int
    named: int | None
    stabilization_time: int
    loop: int | None

    def begins(self, steps: int) -> int:
        """Return after how many steps of a run the process starves for ever."""
        return steps if self.loop is None else self.loop

    def sentence(self, steps: int) -> str:
        """Return a sentence: who starves, from when on."""
        who = f"{process_name(self.process)} starves"
        if self.loop is None:
            return f"{who} after {steps} step{'s' if steps != 1 else ''}, after which fairness requires no step"
        return f"{who} while steps {self.loop + 1} to {steps} repeat forever"

    def marks(self, steps: int) -> dict[int, str]:
        """Return the remarks between steps, by the number of steps before them."""
        named = "" if self.named is None else f", and {process_name(self.named)} is named"
        moment = f"-- stabilization time: from here on there is no fault{named}"
        if self.loop is None:
            begins = f"-- here fairness requires no step, and {process_name(self.process)} still waits"
        else:
            who = process_name(self.process)
            begins = f"-- from here on, steps {self.loop + 1} to {steps} repeat forever: {who} waits"
        at = self.begins(steps)
        return (
            {self.stabilization_time: f"{moment}\n{begins}"}
            if at == self.stabilization_time
            else {self.stabilization_time: moment, at: begins}
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
