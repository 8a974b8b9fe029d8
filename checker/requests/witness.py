"""Find the shortest runs that reach the premises of properties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.requests.base.bounded import BoundedRequest, Checked, Symmetry, TraceOutput
from checker.requests.base.counterexamples import not_replayed, trace_path, verified_and_saved
from checker.requests.base.model import BOUNDS, protocol_named
from checker.requests.base.request import Option, function, names_in
from checker.requests.base.watch import QUIET, Watch
from checker.requests.properties import LITERAL, chosen_properties
from zabspec.properties import DEADLOCK

if TYPE_CHECKING:
    from checker.explore.result import Exploration
    from checker.report.result import Counterexample
    from checker.report.witnessed import Witnessed
    from invariants.registry import Property
    from zabspec.model import Model


@dataclass(frozen=True)
class Witness(BoundedRequest):
    """Find the shortest run that reaches the premise of each property."""

    kind: ClassVar[str] = "witness"
    mode: ClassVar[str | Option] = Option(
        "Show a shortest run that reaches the premise of this property, or of each property.",
        flag="witness", metavar="[PROPERTY]", complete="properties", bare="all"
    )  # fmt: skip
    draws: ClassVar[bool] = True
    shares: ClassVar[tuple[str, ...] | None] = BOUNDS

    properties: Checked = ()
    symmetry: Symmetry = True
    trace: TraceOutput = None

    @classmethod
    def of_mode(cls, value: Any, given: dict[str, Any]) -> dict[str, Any]:
        named = () if value == "all" else (value,)
        return given | {"properties": (*given.get("properties", ()), *named)}

    def answer(self, watch: Watch = QUIET) -> Witnessed:
        from checker.explore.groups import groups_of
        from checker.report.witnessed import Witnessed
        from checker.requests.exploring.running import failed_at_start
        from zabspec.model import Model

        protocol_named(self.name)
        chosen = chosen_properties(names_in(self.properties), self.name, passes=True)
        judged = [p for p in chosen if p.name != DEADLOCK]
        if not judged:
            name, checks = (DEADLOCK, "state") if chosen else ("no-runtime-error", "step")
            raise RequestError(f"{name} has no premise: every {checks} checks it")
        literal, passes = any(p.name == LITERAL for p in judged), any(p.passes for p in judged)
        configuration = self.configuration(literal, promises=True, passes=passes)
        model = Model(configuration)
        failed = failed_at_start(model, judged, "compiled")
        if failed is not None:
            raise NoVerdict(f"the initial state has a run-time error: {failed.error}")
        explored = [met(model, group, self, watch) for group in groups_of(judged)]
        schedules = {name: v.schedule for r in explored for name, v in r.violations.items()}
        found = [p for p in judged if p.name in schedules]
        runs = {p.name: run_to_premise(model, p, schedules[p.name], [q.name for q in found], self) for p in found}
        return Witnessed(configuration, judged, runs, explored, self.as_json())


witness = function(Witness)


def met(model: Model, judged: Sequence[Property], request: Witness, watch: Watch) -> Exploration:
    """Explore until the premise of each of some properties is met.

    Raises:
        NoVerdict: states that were merged are not renamings of each other.
    """
    from checker.explore.breadth_first import Explorer, LevelGroup
    from checker.explore.compiled import CompiledForPremises

    class Reaching(Explorer):
        """An explorer that ends once every premise is met."""

        def finished(self, level: list[LevelGroup], keep_going: bool) -> bool:
            return len(self.result.violations) == len(judged) or super().finished(level, keep_going)

    code, _ = CompiledForPremises.of(model, judged, request.symmetry)
    with watch.exploring() as progress:
        return Reaching(code, request.threads or 0).run(request.limits, True, progress)


def run_to_premise(
    model: Model, prop: Property, schedule: Sequence[int], found: Sequence[str], request: Witness
) -> Counterexample:
    """Return the run to a premise, verified in both worlds, and saved."""
    from traces import TraceError, build_trace

    path = trace_path(request, found, prop.name)
    if path is not None and not request.trace:
        path = path.with_name(path.name.replace(".trace.json", ".witness.trace.json"))
    try:
        trace = build_trace(model, None, schedule)
    except TraceError as problem:
        return not_replayed(f"the run to the premise of {prop.name}", problem, schedule)
    trace = replace(trace, premise_of=prop.name, statement=prop.statement, source=prop.source)
    return verified_and_saved(trace, prop.name, path, request)
