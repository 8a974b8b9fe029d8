"""Find the shortest runs that reach the premises of properties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.output_files import check_writable
from checker.requests.bounded import BoundedRequest
from checker.requests.counterexamples import trace_path, verified_and_saved
from checker.requests.model import BOUNDS, protocol_named
from checker.requests.properties import LITERAL, chosen_properties
from checker.requests.watch import Watch

if TYPE_CHECKING:
    from checker.explore.result import Exploration
    from checker.report.result import Counterexample
    from checker.report.witnessed import WitnessReport
    from invariants.registry import Property
    from zabspec.model import Model


@dataclass(frozen=True)
class WitnessRequest(BoundedRequest):
    """A breadth-first exploration for the shortest run to the premise of each property.

    Attributes:
        properties: names; empty for all that are checked by default.
        symmetry: whether to count states that are renamings of each other once, if that is sound.
        trace: the file for the first run; empty for a file named for it; None to save nothing.
    """

    kind: ClassVar[str] = "witness"
    shares: ClassVar[tuple[str, ...] | None] = BOUNDS

    properties: tuple[str, ...] = ()
    symmetry: bool = True
    trace: str | None = None


def answer(request: WitnessRequest, watch: Watch | None = None) -> WitnessReport:
    """Explore until every premise is met, and replay and save the runs.

    Raises:
        RequestError: the request is wrong.
        NoVerdict: there is no answer.
        ConfigError, LanguageError: the source of the protocol is wrong.
    """
    from checker.explore.groups import groups_of
    from checker.report.witnessed import WitnessReport
    from checker.requests.running import failed_at_start
    from zabspec.model import Model

    protocol_named(request.model.protocol)
    judged = chosen_properties(request.properties, request.model.protocol, passes=True)
    if not judged:
        raise RequestError("no-runtime-error has no premise: every step checks it")
    literal, passes = any(p.name == LITERAL for p in judged), any(p.passes for p in judged)
    configuration = request.model.configuration(literal, promises=True, passes=passes)
    if request.trace:
        check_writable(Path(request.trace), "--trace", regular=True)
    model = Model(configuration)
    failed = failed_at_start(model, judged, "compiled")
    if failed is not None:
        raise NoVerdict(f"the initial state has a run-time error: {failed.error}")
    watch = watch or Watch()
    explored = [met(model, group, request, watch) for group in groups_of(judged)]
    schedules = {name: tuple(v.schedule) for r in explored for name, v in r.violations.items()}
    found = [p for p in judged if p.name in schedules]
    runs = {p.name: witness(model, p, schedules[p.name], [q.name for q in found], request) for p in found}
    return WitnessReport(configuration, judged, runs, explored, request.as_json())


def met(model: Model, judged: Sequence[Property], request: WitnessRequest, watch: Watch) -> Exploration:
    """Explore until the premise of each of some properties is met.

    Raises:
        NoVerdict: states that were merged are not renamings of each other.
    """
    from checker.explore.breadth_first import Explorer, LevelGroup
    from checker.explore.compiled import CompiledForPremises
    from checker.explore.symmetry import NotRenamings

    class Reaching(Explorer):
        """An explorer that ends once every premise is met."""

        def finished(self, level: list[LevelGroup], keep_going: bool) -> bool:
            return len(self.result.violations) == len(judged) or super().finished(level, keep_going)

    code, _ = CompiledForPremises.of(model, judged, request.symmetry)
    try:
        with watch.exploring() as progress:
            return Reaching(code, request.threads or 0).run(request.limits, True, progress)
    except NotRenamings as problem:
        raise NoVerdict(f"{problem}; rerun with --no-symmetry") from None


def witness(
    model: Model, prop: Property, schedule: Sequence[int], found: Sequence[str], request: WitnessRequest
) -> Counterexample:
    """Return the run to a premise, verified in both worlds, and saved."""
    from checker.report.result import Counterexample
    from traces import TraceError, build_trace

    path = trace_path(request, found, prop.name)
    if path is not None and not request.trace:
        path = path.with_name(path.name.replace(".trace.json", ".witness.trace.json"))
    try:
        trace = build_trace(model, None, schedule)
    except TraceError as problem:
        trouble = f"the run to the premise of {prop.name} does not replay in the interpreted world ({problem})"
        return Counterexample(trouble=f"{trouble}: this is a bug of zabcheck, please report it", replayed=False)
    trace = replace(trace, premise_of=prop.name, statement=prop.statement, source=prop.source)
    return verified_and_saved(trace, prop.name, path, request)
