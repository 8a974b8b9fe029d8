"""Report the result of the refinement check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from checker.opinion.outcome import NO_OPINION, SecondOpinion
from checker.proofs.refine.failure import Failure
from checker.proofs.refine.generate import MARK
from checker.proofs.refine.model import CLAUSE, REFINES, RefinedModel
from checker.report.answer import Answered, ByName
from checker.report.remarks import disjoint_notes
from checker.report.report import Explored
from checker.report.result import NOT_REACHED, Part, Row, Table, Verdict, plural
from traces.explain.folding import fitted

if TYPE_CHECKING:
    from invariants.registry import Property
    from traces.record.trace import Trace


@dataclass(frozen=True, repr=False)
class Refined(Answered):
    """An exploration of both protocols side by side.

    Attributes:
        model: the combined model.
        report: of the exploration as such.
        failures: by property; the steps themselves first.
        path: the file with the run of the first failure; empty if it was not saved.
        trouble: why it was not saved, or why there is no verdict; empty otherwise.
        second: how the interpreter's opinion of a refinement compares.
    """

    model: RefinedModel
    report: Explored
    failures: Mapping[str, Failure] = field(default_factory=dict)
    path: str = ""
    trouble: str = ""
    second: SecondOpinion = NO_OPINION

    kind = "refine"

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The shortest run to each failure."""
        return ByName({name: failed.trace for name, failed in self.failures.items()})

    @property
    def saved(self) -> Sequence[str]:
        return [self.path] if self.path else []

    @property
    def troubles(self) -> Sequence[str]:
        return [self.trouble] if self.trouble else []

    @cached_property
    def exit_code(self) -> int:
        """0: every step refines and every clause holds. 1: one does not. 3: no verdict."""
        if self.trouble:
            return 3
        return 0 if self.report.overall == NOT_REACHED else self.report.exit_code

    @cached_property
    def taken(self) -> dict[str, int]:
        """The number of transitions of each abstract action; empty if nothing was explored."""
        counts = self.report.exploration.step_counts
        return {name.removeprefix(MARK): counts[name] for name in self.model.actions if name in counts}

    @cached_property
    def never(self) -> list[str]:
        """The abstract actions that no transition is."""
        return [name for name, count in self.taken.items() if not count]

    @cached_property
    def sentence(self) -> str:
        """The verdict line."""
        r = self.report
        tail = f"{r.extent}; {r.bounds}"
        if self.failures:
            first = next(iter(self.failures.values()))
            return f"does not refine: {first.sentence}; {tail}"
        if self.second.difference:
            return f"no verdict: {self.second.trouble}; {tail}"
        if not r.covered:
            return f"no verdict: {r.cut_short}; no step was found that does not refine; {tail}"
        clauses = plural(len(self.model.theory.clauses), "clause")
        return (
            f"refines: every transition is an action of abstract ZAB or leaves its state unchanged, and the axioms "
            f"and the "
            f"{clauses} of its invariant hold in every state; {tail}"
        )

    @property
    def word(self) -> str:
        """The verdict in JSON."""
        if self.failures:
            return "does not refine"
        return "refines" if self.report.covered and not self.second.difference else "no verdict"

    @property
    def judged(self) -> list[Property]:
        """The clauses and the axioms."""
        return [p for p in self.report.exploration.properties if p.name != REFINES]

    def clause_rows(self) -> list[Row]:
        """Each clause with its verdict; after a failure, those that are violated."""
        shown = [p for p in self.judged if not self.failures or p.name in self.failures]
        return [(p.name.removeprefix(CLAUSE), self.verdict(p)) for p in shown]

    def verdict(self, p: Property) -> str:
        """Return a clause's verdict with the depth that it is based on."""
        return self.report.verdict_in_words(p).replace("witnessed", "hypotheses met").replace("premise", "hypotheses")

    def figures(self) -> list[Row]:
        """Return the figures of the exploration without terminal states."""
        rows = [(name, what) for name, what in self.report.figures() if name != "terminal states"]
        return [*rows, *self.second.row]

    def said(self) -> Iterator[Verdict]:
        for p in self.judged:
            f = self.failures.get(p.name)
            at, why = (None, "") if f is None else (f.depth, f.sentence)
            yield Verdict(p.name.removeprefix(CLAUSE), self.report.verdict(p), at, why)

    def parts(self) -> Sequence[Part]:
        parts: list[Part] = [fitted(self.sentence)]
        if self.failures:
            first, *others = self.failures.values()
            parts.append(fitted(first.run.rstrip()))
            parts += [fitted("\n".join(f"{f.sentence}" for f in others))] if others else []
        counts = [(name, f"{n:,}" if n else "never") for name, n in self.taken.items()]
        parts += [Table(counts, ("abstract action", "transitions"), right=1)] if counts else []
        rows = self.clause_rows()
        parts += [Table(rows, ("clause", "verdict"))] if rows else []
        notes = disjoint_notes(self.report.configuration)
        notes += [f"never taken within these bounds: {', '.join(self.never)}"] if self.never else []
        notes += [f"the run is in {self.path} (zabcheck export {self.path} --to text)"] if self.path else []
        return [*parts, Table(self.figures()), *([fitted("\n".join(notes))] if notes else [])]

    def as_json(self) -> dict[str, Any]:
        said = self.report.as_json()
        keys = ("configuration", "derived", "limits", "coverage", "states", "cost", "engine")
        return {
            "zabcheck": said["zabcheck"],
            "sentence": self.sentence,
            "exit_code": self.exit_code,
            "request": said["request"],
            "verdict": self.word,
            "second_opinion": self.second.as_json(),
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
                    "violated": f.broken,
                    "schedule": list(f.trace.schedule),
                }
                for f in self.failures.values()
            ],
            "trace_file": self.path or None,
            **{key: said[key] for key in keys},
        }
