"""What the bridge found, for a person and for a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from checker.refinement.failure import Failure
from checker.refinement.generate import MARK
from checker.refinement.model import CLAUSE, REFINES, RefinedModel
from checker.report.report import NOT_REACHED, Report, plural
from traces.explain.folding import aligned

if TYPE_CHECKING:
    from invariants.registry import Property

__all__ = ["RefinementReport"]


@dataclass(frozen=True)
class RefinementReport:
    """An exploration of both protocols side by side.

    Attributes:
        model: the question.
        report: of the exploration as such.
        failures: what breaks, by property; the steps themselves first.
        path: the file that the first one's run was saved in; empty: in none.
        trouble: why it was not saved, or why a failure does not count; empty: it does.
    """

    model: RefinedModel
    report: Report
    failures: Mapping[str, Failure] = field(default_factory=dict)
    path: str = ""
    trouble: str = ""

    @cached_property
    def exit_code(self) -> int:
        """0: every step refines and every clause holds. 1: one does not. 3: no verdict."""
        if self.trouble:
            return 3
        return 0 if self.report.overall == NOT_REACHED else self.report.exit_code

    @cached_property
    def taken(self) -> dict[str, int]:
        """Transitions that were each abstract action; empty: nothing was explored."""
        counts = self.report.exploration.step_counts
        return {name.removeprefix(MARK): counts[name] for name in self.model.actions if name in counts}

    @cached_property
    def never(self) -> list[str]:
        """The abstract actions that no transition was."""
        return [name for name, count in self.taken.items() if not count]

    @cached_property
    def sentence(self) -> str:
        """The verdict line."""
        r = self.report
        tail = f"{r.extent}; {r.bounds}"
        if self.failures:
            first = next(iter(self.failures.values()))
            return f"does not refine: {first.sentence}; {tail}"
        if not r.covered:
            return f"no verdict: {r.cut_short}; no step found that does not refine; {tail}"
        clauses = plural(len(self.model.theory.clauses), "clause")
        return (
            f"refines: every transition is an action of abstract ZAB or changes nothing of it, and the axioms and the "
            f"{clauses} of its invariant hold in every state; {tail}"
        )

    @property
    def judged(self) -> list[Property]:
        """The clauses and the axioms."""
        return [p for p in self.report.exploration.properties if p.name != REFINES]

    def clause_rows(self) -> list[tuple[str, ...]]:
        """Each clause with its verdict; after a failure, those that broke."""
        shown = [p for p in self.judged if not self.failures or p.name in self.failures]
        return [(p.name.removeprefix(CLAUSE), self.verdict(p)) for p in shown]

    def verdict(self, p: Property) -> str:
        """A clause's verdict with the depth it rests on."""
        return self.report.verdict_in_words(p).replace("witnessed", "hypotheses met").replace("premise", "hypotheses")

    def figures(self) -> list[tuple[str, ...]]:
        """The exploration's, and how many transitions were looked at."""
        return [(name, what) for name, what in self.report.figures() if name != "terminal states"]

    def text(self) -> str:
        """The report as plain aligned text."""
        parts = [self.sentence]
        if self.failures:
            first, *others = self.failures.values()
            parts.append(first.run.rstrip())
            parts += ["\n".join(f"{f.sentence}" for f in others)] if others else []
        counts = [(name, f"{n:,}" if n else "never") for name, n in self.taken.items()]
        parts += [aligned([("abstract action", "transitions"), *counts], right=1, head=True)] if counts else []
        rows = self.clause_rows()
        parts += [aligned([("clause", "verdict"), *rows], head=True)] if rows else []
        parts.append(aligned(self.figures()))
        notes = []
        if self.never:
            notes.append(f"never taken within these bounds: {', '.join(self.never)}")
        if self.path:
            notes.append(f"the run is in {self.path} (zabcheck export {self.path} --to text)")
        return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])]) + "\n"

    def as_json(self) -> dict[str, Any]:
        """The report as JSON-able values."""
        said = self.report.as_json()
        keys = ("configuration", "derived", "limits", "coverage", "states", "cost", "engine")
        return {
            "zabcheck": said["zabcheck"],
            "sentence": self.sentence,
            "exit_code": self.exit_code,
            "request": said["request"],
            "verdict": "does not refine" if self.failures else "refines" if self.report.covered else "no verdict",
            "actions": self.taken,
            "never_taken": self.never,
            "clauses": {
                p.name.removeprefix(CLAUSE): {
                    "verdict": self.report.verdict(p),
                    "premise_at": self.report.exploration.witnessed.get(p.name),
                }
                for p in self.judged
            },
            "failures": [
                {
                    "name": f.name,
                    "depth": f.depth,
                    "step": f.label,
                    "action": f.action,
                    "broken": f.broken,
                    "words": list(f.trace.schedule),
                }
                for f in self.failures.values()
            ],
            "trace_file": self.path or None,
            **{key: said[key] for key in keys},
        }
