"""Check that every step of `zab` is a step of abstract ZAB, which `zabcheck prove` proves safe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import NoVerdict
from checker.requests.base.bounded import BoundedRequest, Symmetry
from checker.requests.base.counterexamples import saved
from checker.requests.base.model import SIZES, Amount, Transactions
from checker.requests.base.request import File, Option, fields_of, function
from checker.requests.base.watch import QUIET, Watch
from checker.requests.explore import explored
from checker.requests.exploring.exploration import ExplorationRequest
from checker.requests.exploring.ready import make_ready
from zabspec.worlds.steps import BUDGETS

if TYPE_CHECKING:
    from checker.proofs.refine.report import Refined


@dataclass(frozen=True)
class Refine(BoundedRequest):
    """Check that every step of zab is a step of abstract ZAB, which `zabcheck prove` proves safe.

    Both are explored side by side: each transition must be an abstract action whose guard holds, or change nothing
    of the abstract state, and every clause of the proof's invariant must hold in every state.

    Exit codes: 0 it refines, 1 a step does not, 2 the request is wrong, 3 no verdict.

    Examples:
      zabcheck refine --crashes 0 --losses 0 --timeouts 1     every reachable state
      zabcheck refine --variant small-quorum --nodes 2        which guard of which action it violates
      zabcheck refine --depth 30 --json
    """

    kind: ClassVar[str] = "refine"
    group: ClassVar[str] = "Proofs and bounded checks"
    shares: ClassVar[tuple[str, ...] | None] = (*SIZES, "txns", *BUDGETS)
    excluded: ClassVar[tuple[str, ...]] = (
        "protocol", "repair", "release", "drops", "duplicates", "power_losses", "outages", "heartbeats", "parameters",
        "budgets", "start", "network", "max_epoch", "channel",
    )  # fmt: skip

    txns: Annotated[Transactions, Option("Number of transactions that may be abcast.")] = 2
    timeouts: Annotated[Amount, Option(BUDGETS["timeouts"].help(usual=False))] = 1
    crashes: Annotated[Amount, Option(BUDGETS["crashes"].help(usual=False))] = 0
    losses: Annotated[Amount, Option(BUDGETS["losses"].help(usual=False))] = 0
    partitions: Annotated[Amount, Option(BUDGETS["partitions"].help(usual=False))] = 0
    keep_going: Annotated[bool, Option("Continue after a failure, to find a shortest run for every failure.")] = False
    symmetry: Symmetry = True
    trace: Annotated[
        File, Option("Save the failing run to this file; it is not saved if not given.", place="write")
    ] = ""

    def exploration(self) -> ExplorationRequest:
        """Return the request to explore both protocols, without reductions."""
        given = {name: getattr(self, name) for name in (*fields_of(BoundedRequest), "keep_going", "symmetry")}
        return ExplorationRequest(**given, reduction="none")

    def answer(self, watch: Watch = QUIET) -> Refined:
        from checker.explore.compiled import Compiled
        from checker.opinion.compiled import second_opinion
        from checker.opinion.outcome import NO_OPINION
        from checker.proofs.refine.model import REFINES, RefinedModel
        from checker.proofs.refine.report import Refined
        from checker.report.report import Explored
        from checker.report.result import Counterexample
        from invariants import NO_RUNTIME_ERROR
        from traces import TraceError

        search = self.exploration()
        configuration = search.configuration()
        model = RefinedModel(configuration)
        if self.time_limit is None:  # which counts this too
            make_ready(lambda: Compiled.of(model, model.properties, self.symmetry), "both protocols in machine code")
        exploration, threads, symmetry_off = explored(model, model.properties, search.limits, search, watch)
        # it ended the exploration, and is no step without refinement
        exploration.violations.pop(NO_RUNTIME_ERROR.name, None)
        report = Explored(
            exploration, configuration, search.limits, model.epochs, model.channels, self.keep_going, threads,
            symmetry_off, request=self.as_json(),
        )  # fmt: skip
        names = sorted(exploration.violations, key=lambda name: (exploration.violations[name].depth, name != REFINES))
        failures = {}
        if names:
            from checker.proofs.refine.failure import failure  # it imports z3, which nothing else here needs

            try:
                code = Compiled(model, model.properties, exploration.symmetry)
                failures = {name: failure(code, exploration.violations[name]) for name in names}
            except TraceError as problem:
                raise NoVerdict(
                    f"the interpreted world does not confirm the failing run ({problem}): a bug of zabcheck"
                ) from None
        run = replace(failures[names[0]].trace, request=self.as_json()) if names else None
        kept = saved(Counterexample(trace=run), str(self.trace))
        second = NO_OPINION
        if report.covered and not names:
            second = second_opinion(Compiled(model, model.properties, False))
        return Refined(model, report, failures, kept.path, kept.trouble or second.trouble, second)


refine = function(Refine)
