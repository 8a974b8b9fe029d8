"""The answer of z3 about a property, beside an exploration."""

from __future__ import annotations

from dataclasses import dataclass

from checker.report.result import plural

INDUCTIVE, BOUNDED, UNDECIDED = "inductive", "bounded", "undecided"


@dataclass(frozen=True)
class Z3Answer:
    """The answer of z3 about one property.

    Attributes:
        verdict: inductive, bounded or undecided.
        steps: of a bounded one, the number of steps.
        epochs: of an inductive one, the largest epoch; 0 if its protocol has none.
        within: of an inductive one, the flags whose ranges some step would leave: such a step is not taken.
        broken: the rounds in which bounded checking violates it, more than `steps`; 0 if it found no such run.
        interrupted: whether it is undecided because of Ctrl-C.
        trouble: the sentence of the error because of which it is undecided; empty if there was none.
        premise: whether a run within the bound meets its premise; None if that is not known.
    """

    verdict: str
    steps: int = 0
    epochs: int = 0
    within: tuple[str, ...] = ()
    broken: int = 0
    interrupted: bool = False
    trouble: str = ""
    premise: bool | None = None

    @property
    def text(self) -> str:
        if self.verdict == INDUCTIVE:
            epochs = f", epochs up to {self.epochs}" if self.epochs else ""
            within = f", as long as no step needs a larger {' or '.join(self.within)}" if self.within else ""
            vacuous = "" if self.premise else "; premise not reached in what was explored"
            return f"inductive: at every depth{epochs}{within}{vacuous}"
        if self.verdict != BOUNDED:
            return self.trouble or UNDECIDED
        steps = plural(self.steps, "step")
        beyond = f", violated beyond: `zabcheck bmc --depth {self.broken}` finds it" if self.broken else ""
        if self.premise is False:
            return f"premise not reached within {steps}{beyond}"
        doubt = "" if self.premise else ", and it is not known whether its premise is reached"
        return f"holds for {steps}{doubt}{beyond}"
