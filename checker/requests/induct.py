"""Check with z3 whether clauses are inductive: preserved by every step from every state that satisfies them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.requests.clauses import ClausesRequest, argument, everything_assumed, sorted_out
from checker.requests.properties import required_witnesses
from checker.requests.ready import make_ready
from checker.requests.request import at_least, seconds, solver_seed
from zabspec.limits import Deadline

if TYPE_CHECKING:
    from checker.explore.premises import Premises
    from checker.report.induction import InductionReport
    from checker.symbolic.pool import Outcome, Question
    from invariants.registry import Property

__all__ = ["InductRequest", "answer", "argument", "everything_assumed", "sorted_out"]

# Called with the last action that was queried, the number of those done, and of all.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class InductRequest(ClausesRequest):
    """An induction.

    Attributes:
        k: runs of up to so many steps are tried.
        query_limit: time limit of each query, in seconds. time_limit: seconds in all.
        seed: of the solver. jobs: processes; None for one on each core.
        witness_states: states explored for runs that meet the premise of each property; 0 for none.
        require_witness: names of properties whose premise a run must meet, or `all`.
        smt2: the folder that every query is written to; empty for none.
    """

    kind: ClassVar[str] = "induct"

    k: int = 1
    query_limit: float = 60.0
    time_limit: float = 1800.0
    seed: int = 0
    jobs: int | None = None
    witness_states: int = 1_000_000
    require_witness: tuple[str, ...] = ()
    smt2: str = ""

    def validate(self) -> None:
        at_least(self, 0, "witness_states")
        at_least(self, 1, "k", "jobs")
        seconds(self, "query_limit", "time_limit")
        solver_seed(self.seed)
        super().validate()

    def question(self) -> Question:
        """Return the induction to run.

        Raises:
            RequestError: there is no such protocol, configuration or clause.
        """
        from checker.symbolic.pool import Question
        from invariants.registry import STEP

        argument(self.model.name)
        configuration = self.configuration()
        asked, assumed, targets = sorted_out(self, configuration)
        return Question(
            configuration,
            tuple(c.name for c in asked if c.of != STEP),
            tuple(c.name for c in assumed),
            tuple(c.name for c in (*(c for c in asked if c.of == STEP), *targets)),
            self.query_limit,
            self.seed,
            self.k,
            alone=not everything_assumed(self),
            chosen=bool(self.clauses),
            smt2=self.smt2,
        )


def answer(request: InductRequest, progress: Progress | None = None, started: float | None = None) -> InductionReport:
    """Run the induction, and search for runs that meet the premises of its properties.

    Args:
        progress: called now and then.
        started: when the time limit began, as `time.perf_counter()`; None for now.

    Raises:
        RequestError: the request is wrong.
    """
    from checker.report.induction import InductionReport
    from checker.symbolic.pool import run

    end = Deadline(request.time_limit, 0.0 if started is None else time.perf_counter() - started)
    question = request.question()
    properties = question.with_premise
    required = required_witnesses(request.require_witness, [p.name for p in properties])
    if required and not request.witness_states:
        raise RequestError("--require-witness contradicts --witness-states 0, which turns the search off")
    outcome = run(question, request.jobs or 0, end.left(), progress)
    outcome.required = tuple(required)
    if request.witness_states and properties:
        outcome.premises = premises_of(outcome, properties, request, end)
    return InductionReport(outcome, request.as_json())


def premises_of(outcome: Outcome, properties: list[Property], request: InductRequest, end: Deadline) -> Premises:
    """Search for runs that meet the premises of properties.

    If a clause is not proved, what follows from the clauses may be violated in a run: then each property is judged as
    far as the search goes.
    """
    from checker.explore.compiled import Compiled
    from checker.explore.groups import groups_of
    from checker.explore.premises import reached_by, stages
    from zabspec.model import Model

    # what z3's bounds exclude, a later epoch or more messages in flight, is explored
    configuration = replace(request.whole_configuration(), max_epoch=0, channel=0)
    every = not all(v.holds for v in outcome.verdicts)
    if not end.over():
        for group in groups_of(properties):
            first = Model(next(stages(configuration)))
            make_ready(partial(Compiled.of, first, group, True), "the properties in machine code")
    return reached_by(configuration, properties, request.witness_states, end.left(), every, request.jobs or 0)
