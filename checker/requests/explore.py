"""Explore a model breadth-first and check its properties."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

from checker.errors import RequestError
from checker.requests.base.bounded import RequiredWitnesses, States, states_of
from checker.requests.base.counterexamples import counterexample, run_to_error, trace_path
from checker.requests.base.model import BOUNDS
from checker.requests.base.request import Option, Seconds, function, names_in
from checker.requests.base.watch import QUIET, Watch
from checker.requests.exploring.exploration import ExplorationRequest
from checker.requests.exploring.opinions import Opinions
from checker.requests.exploring.running import Compile, EngineTask
from checker.requests.properties import required_witnesses
from zabspec.joining import joined_as

if TYPE_CHECKING:
    from checker.explore.result import Exploration, Limits
    from checker.report.report import Explored
    from checker.report.z3_answer import Z3Answer
    from invariants.registry import Property
    from zabspec.model import Configuration, Model

EXPLORED: Final = "explored"
QUICK_EVIDENCE: Final = "quick"
ALL_EVIDENCE: Final = "all"


@dataclass(frozen=True)
class Explore(ExplorationRequest):
    """Explore a protocol breadth-first and judge its properties.

    Each verdict that is no proof is within the bounds of the configuration. A violation comes with a shortest run.
    """

    kind: ClassVar[str] = "explore"
    shares: ClassVar[tuple[str, ...] | None] = BOUNDS
    completed_by: ClassVar[str] = "checker.ci.columns:completed"

    require_witness: RequiredWitnesses = ()
    symbolic: Annotated[
        Seconds | None,
        Option("Also check with z3, for this time, whether properties are inductive, or hold to some depth."),
    ] = None
    evidence: Annotated[
        Literal["explored", "quick", "all"],
        Option(
            "Evidence to show: explored, only the exploration; quick, also what is recorded or kept, and the proof; "
            "all, also induction and refinement, in minutes (zabcheck docs properties-and-verdicts)."
        ),
    ] = "quick"

    second_opinion: Annotated[
        States | None,
        Option(
            "Compare the search with the second semantics in so many states that it found (explanation/trust.md); "
            "by default in 200 or more.",
            metavar="N|none",
            reads=states_of,
        ),
    ] = None

    def answer(self, watch: Watch = QUIET) -> Explored:
        from checker.report.report import Explored
        from checker.requests.exploring.restart import not_begun, reduction_off
        from invariants.binding import vacuous
        from zabspec.model import Model

        judged, configuration = self.checks()
        if self.symbolic is not None:  # what answers is there, before anything is explored
            joined_as("evidence", "symbolic")
        required = required_witnesses(names_in(self.require_witness), [p.name for p in judged])
        model, limits = Model(configuration), self.limits
        opinions = Opinions(self.second_opinion, self.trace is not None)
        exploration, threads, symmetry_off = explored(model, judged, limits, self, watch, hears=opinions.hear)
        found = exploration.violations

        return Explored(
            exploration,
            configuration,
            limits,
            model.epochs,
            model.channels,
            self.keep_going,
            threads,
            symmetry_off,
            {
                name: counterexample(model, exploration, name, trace_path(self, found, name, self.keep_going), self)
                for name in found
            },
            z3_answers_to(self, configuration, judged, exploration, watch),
            required,
            "" if exploration.reduced else reduction_off(model, limits, self) or not_begun(exploration),
            run_to_error(model, exploration, trace_path(self, ["no-room"], "no-room", self.keep_going), self),
            vacuous(model, judged),
            self.as_json(),
            second=opinions.joined(),
        )


explore = function(Explore)


def z3_answers_to(
    request: Explore,
    configuration: Configuration,
    judged: Sequence[Property],
    exploration: Exploration,
    watch: Watch,
) -> dict[str, Z3Answer]:
    """Return the answers of z3 about the properties that were not violated, if that is requested.

    After Ctrl-C, or an error, nothing is decided, and the exploration is reported all the same.
    """
    if request.symbolic is None:
        return {}
    from checker.ending import failed_column
    from checker.report.z3_answer import UNDECIDED, Z3Answer

    z3_answers = joined_as("evidence", "symbolic")
    unbroken = [p for p in judged if p.name not in exploration.violations]
    try:
        answers = z3_answers(configuration, unbroken, request.symbolic, request.threads or 0)
    except KeyboardInterrupt:
        watch.note("interrupted; z3 has no result")
        return {p.name: Z3Answer(UNDECIDED, interrupted=True) for p in unbroken}
    except Exception as problem:  # whatever z3 met, the exploration's result stands
        return dict.fromkeys((p.name for p in unbroken), Z3Answer(UNDECIDED, trouble=failed_column(problem)))
    met = {name: exploration.meets_within(name, b.steps or math.inf) for name, b in answers.items()}
    return {name: b if met[name] is None else replace(b, premise=met[name]) for name, b in answers.items()}


def explored(
    model: Model,
    judged: Sequence[Property],
    limits: Limits,
    request: ExplorationRequest,
    watch: Watch,
    compiled: Compile | None = None,
    hears: Callable[[EngineTask, Exploration], None] | None = None,
) -> tuple[Exploration, int, str]:
    """Run the engine, once for each group of properties that it can check at once.

    Args:
        compiled: provides machine code that several explorations share; None for `Compiled.of`.
        hears: called after each exploration, for a second opinion.

    Returns:
        The result, the number of threads (0: not applicable), and why symmetry was not used (empty if it was).

    Raises:
        RequestError: several explorations cannot share one checkpoint.
    """
    from checker.explore.groups import groups_of, joined

    groups = groups_of(judged)
    found: list[tuple[Exploration, int, str]] = []
    if len(groups) > 1:
        if request.checkpoint:
            most = len(groups[0])
            raise RequestError(f"--checkpoint supports at most {most} properties; name them with --property")
        request = replace(request, reduction=reduction_of_several(model, judged, request))
    for group in groups:
        left = limits
        if limits.seconds is not None and found:
            spent = sum(r.seconds + r.compile_seconds for r, _, _ in found)
            left = replace(limits, spent=min(spent, limits.seconds - 0.01))
        task = EngineTask(model, group, left, request, watch, compiled)
        found.append(explored_once(task))
        if hears is not None:
            hears(task, found[-1][0])
    together = [r for r, _, _ in found]
    why = next((why for _, _, why in found if why), "")
    whole = together[0] if len(found) == 1 else joined(together, judged, request.keep_going)
    return whole, found[0][1], why


def reduction_of_several(
    model: Model, judged: Sequence[Property], request: ExplorationRequest
) -> Literal["none", "stuttering"]:
    """Return the reduction with which properties are checked in several explorations.

    These must visit the same states, since one depth is reported for all: at most stuttering receipts are left out, in
    all of them or in none.
    """
    from checker.explore.stuttering import why_every_receipt
    from invariants.binding import full_namespace

    front = model.program.front_end(full_namespace(model))
    return "none" if request.every_step or why_every_receipt(model, judged, front) else "stuttering"


def explored_once(task: EngineTask) -> tuple[Exploration, int, str]:
    """Run the engine for as many properties as it can check at once; see `explored`."""
    from checker.explore.breadth_first import Explorer, available_cores
    from checker.explore.interpret import Interpreter
    from checker.requests.exploring.restart import reduced, reduction_off
    from checker.requests.exploring.running import failed_at_start, out_of_time, ready_in_time

    model, judged, limits, request = task.model, task.judged, task.limits, task.request
    symmetry_off = "" if request.symmetry else "--no-symmetry"
    failed = failed_at_start(model, judged, request.engine)
    if failed is not None:
        return failed, 0, symmetry_off
    if limits.seconds is not None and not ready_in_time(task, limits.seconds - limits.spent):
        return out_of_time(judged, limits, request.engine), 0, symmetry_off
    if request.engine == "spark":
        explore_on = joined_as("engines", request.engine).on_spark
        exploration, asymmetry = explore_on(task, not reduction_off(model, limits, request))
        return exploration, 0, symmetry_off or asymmetry
    if request.engine == "interpret":
        if not symmetry_off:  # the compiled program says whether it is sound, for both engines
            symmetry_off = task.code(True)[1]
        interpreter = Interpreter(model, judged, not symmetry_off, request.every_step)
        return task.run(interpreter), 0, symmetry_off
    code, asymmetry = task.code(not symmetry_off)
    if not reduction_off(model, limits, request):
        threads = request.threads or available_cores()
        return reduced(task, code, threads), threads, symmetry_off or asymmetry
    engine = Explorer(code, request.threads or 0)
    exploration = task.run(engine)
    return exploration, engine.threads, symmetry_off or asymmetry
