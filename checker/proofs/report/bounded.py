"""Report the result of bounded model checking, for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from checker.errors import HELD, NO_VERDICT, VIOLATED
from checker.report.answer import Answered
from checker.report.result import NOT_REACHED, UNFALSIFIABLE, Counterexample, Part, plural
from invariants.binding import vacuous
from zabspec.language.layout.error_sites import met

if TYPE_CHECKING:
    from checker.proofs.symbolic.bmc import Bounded as Z3Answer
    from invariants.registry import Property
    from traces import Trace
    from zabspec.model import Model


@dataclass(frozen=True)
class BoundedViolation:
    """The properties that a run violates at its last step, and the run.

    Its steps begin at the initial state; the last `steps` of them were found by z3.
    """

    properties: tuple[Property, ...]
    schedule: tuple[int, ...]
    steps: int


@dataclass(frozen=True, repr=False)
class Bounded(Answered):
    """The result of bounded model checking.

    Attributes:
        model: the model.
        judged: the properties.
        start: the steps that lead to where runs start.
        found: z3's answer.
        asked_depth: the requested depth.
        request: the one that it answers, as JSON.
        broken: the run that violates properties. counterexample: its trace.
    """

    model: Model
    judged: tuple[Property, ...]
    start: tuple[int, ...]
    found: Z3Answer
    asked_depth: int
    request: Mapping[str, Any] | None = None
    broken: BoundedViolation | None = None
    counterexample: Counterexample | None = None

    kind = "bmc"

    def violated(self, broken: BoundedViolation, counterexample: Counterexample) -> Bounded:
        """Return the report of a run that violates properties."""
        return replace(self, broken=broken, counterexample=counterexample)

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The run that violates a property, if there is one."""
        found = self.counterexample
        return {} if found is None or found.trace is None else {found.trace.property_name: found.trace}

    @property
    def exit_code(self) -> int:
        if self.counterexample is not None:
            return VIOLATED if self.counterexample.replayed and not self.counterexample.trouble else NO_VERDICT
        return NO_VERDICT if self.found.reason or self.found.left_range or not self.tested else HELD

    @cached_property
    def never_false(self) -> Mapping[str, str]:
        return vacuous(self.model, self.judged)

    @property
    def tested(self) -> list[str]:
        """The properties whose premise a checked run meets, but for those that can never be False."""
        return [p.name for p in self.judged if self.found.premises.get(p.name) and p.name not in self.never_false]

    @property
    def unreached(self) -> list[str]:
        """The properties whose premise no checked run meets, but for those that can never be False."""
        premises, never = self.found.premises, self.never_false
        return [p.name for p in self.judged if premises.get(p.name) is False and p.name not in never]

    @property
    def vacuity(self) -> str:
        """Why no property is put to the test, if none is."""
        return NOT_REACHED if self.unreached else UNFALSIFIABLE

    @property
    def unknown(self) -> list[str]:
        """The properties of which it is not known whether a checked run meets their premise."""
        return [p.name for p in self.judged if p.name not in self.found.premises and p.name not in self.never_false]

    @property
    def where(self) -> str:
        if not self.start:
            return "the initial state"
        return f"the state after step {len(self.start)} of the trace"

    @property
    def sentence(self) -> str:
        """The verdict."""
        f, spent = self.found, self.found.seconds[-1][1] if self.found.seconds else 0.0
        if self.broken is not None:
            names = ", ".join(p.name for p in self.broken.properties)
            steps = plural(self.broken.steps, "step")
            among = f"found among runs of {f.rounds} rounds, {spent:.1f} s"
            beside = f"; in another run {met(f.left_range)}" if f.left_range else ""
            return f"VIOLATED: {names} after {steps} from {self.where}, {among}{beside}"
        if f.second.difference:
            return f"no verdict: {f.second.trouble}"
        within = f"within {plural(f.depth, 'step')}"
        if f.reason:
            so_far = f"nothing is violated {within} from {self.where}" if f.depth else "nothing was decided"
            return f"no verdict: {f.reason} before depth {self.asked_depth}; {so_far}"
        if f.left_range:
            return f"no verdict: {met(f.left_range)}; no other run violates a property {within}"
        tested = f"{len(self.tested)} of {plural(len(self.judged), 'property')} put to the test"
        if not self.tested:
            what = "it is not known whether a premise is reached" if self.unknown else self.vacuity
            return f"{what}: {tested} {within} from {self.where}, none violated, {spent:.1f} s"
        return f"no violation {within} from {self.where}, {tested}, {spent:.1f} s"

    @property
    def left_out(self) -> Sequence[str]:
        from checker.report.remarks import left_out

        return left_out(self.model.configuration.protocol, self.judged)

    @property
    def premises(self) -> dict[str, list[str]]:
        """The properties by whether the checked runs put them to the test."""
        return {
            "put to the test": self.tested,
            NOT_REACHED: self.unreached,
            UNFALSIFIABLE: [*self.never_false],
            "premise not decided": self.unknown,
        }

    @property
    def troubles(self) -> Sequence[str]:
        return [self.counterexample.trouble] if self.counterexample and self.counterexample.trouble else []

    def parts(self) -> Sequence[Part]:
        from checker.report.remarks import disjoint_notes, left_out_notes
        from checker.report.report import bounds_of
        from traces.explain.folding import fitted

        lines = [self.sentence, bounds_of(self.model.configuration), *disjoint_notes(self.model.configuration)]
        if self.counterexample is None:
            for title, names in self.premises.items():
                lines += [f"{title}: {', '.join(names)}"] if names else []
            lines += left_out_notes(self.left_out)
            lines.append("A bounded result: deeper runs were not checked.")
            if not self.found.reason and not self.found.left_range:
                lines.append("In the checked runs no value leaves its range.")
            lines += [f"{title}: {said}" for title, said in self.found.second.row]
        else:
            lines += ["", self.counterexample.text.rstrip(), ""]
            if self.broken is not None and self.counterexample.replayed and self.counterexample.digest:
                lines.append(f"{len(self.broken.schedule)} steps replayed in the simulator, step by step equal")
            if self.counterexample.path:
                lines.append(f"saved in {self.counterexample.path}")
        return [fitted("\n".join(lines))]

    def details(self) -> dict[str, Any]:
        names = {HELD: "bounded", VIOLATED: "violated", NO_VERDICT: "undecided"}
        return {
            "answer": self.vacuity if self.sentence.startswith(self.vacuity) else names[self.exit_code],
            "configuration": self.model.configuration.as_dict(),
            "properties": [p.name for p in self.judged],
            "premises": self.premises,
            "not_checked": self.left_out,
            "violated": [p.name for p in self.broken.properties] if self.broken else [],
            "from_step": len(self.start),
            "steps": self.broken.steps if self.broken else None,
            "rounds": self.found.rounds or None,
            "depth": self.found.depth,
            "reason": self.found.reason or None,
            "error": self.found.left_range or None,
            "second_opinion": self.found.second.as_json(),
            "queries": [{"rounds": rounds, "seconds": round(spent, 3)} for rounds, spent in self.found.seconds],
            "trace": self.counterexample.path or None if self.counterexample else None,
            "replayed": bool(self.counterexample.replayed and self.counterexample.digest)
            if self.counterexample
            else None,
            "why": self.counterexample.why if self.counterexample else None,
        }
