"""Check with z3 whether clauses are inductive: preserved by every step from every state that satisfies them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from os import fspath
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import RequestError
from checker.proofs.requests.clauses import ClausesRequest, InAll, argument, everything_assumed, sorted_out
from checker.proofs.requests.queries import Queries, queries_into
from checker.requests.base.bounded import RequiredWitnesses
from checker.requests.base.model import check_initial
from checker.requests.base.request import Count, Option, Seconds, Seed, function, names_in
from checker.requests.base.watch import QUIET, Watch
from checker.requests.exploring.ready import make_ready
from checker.requests.properties import required_witnesses
from zabspec.limits import Deadline
from zabspec.typed import Natural

if TYPE_CHECKING:
    from checker.explore.premises import Premises
    from checker.proofs.report.induction import Inductive
    from checker.proofs.symbolic.pool import Outcome, Question
    from invariants.registry import Property


@dataclass(frozen=True)
class Induct(ClausesRequest):
    """Check with z3 whether clauses are inductive.

    A clause is, if every step keeps it from every state that satisfies the clauses, reachable or not. A property that
    follows from inductive clauses holds at every depth. A clause that is not inductive may still hold: a counterexample
    to induction is two states and one step, and the first state may be unreachable. An exploration then searches for a
    run that reaches the premise of each property. If none does, the report says that the proof may be vacuous. A
    property that a run violates is violated, whatever was proved. A budget above 0 stands for any number.

    Several processes run the queries: a script calls the function below `if __name__ == "__main__":`.

    Exit codes: 0 every requested clause is proved, 1 a clause is not inductive or a property is violated, 2 the request
    is wrong, 3 no verdict: a query is undecided, or a premise of --require-witness is not reached.
    """

    kind: ClassVar[str] = "induct"
    group: ClassVar[str] = "Proofs and bounded checks"
    others: ClassVar[tuple[str, ...]] = ("confirm", "clauses")

    k: Annotated[Count, Option("Try runs of up to this many steps.")] = 1
    query_limit: Annotated[Seconds, Option("Time limit of each query.")] = 60.0
    time_limit: InAll = 1800.0
    seed: Annotated[Seed, Option("Seed of the solver.")] = 0
    processes: Annotated[Count | None, Option("Solver processes; one for each core if not given.")] = None
    witness_states: Annotated[
        Natural,
        Option("Explore at most this many states for a run that reaches the premise of each property; 0: no search."),
    ] = 1_000_000
    require_witness: RequiredWitnesses = ()
    smt2: Queries = ""

    def question(self) -> Question:
        """Return the induction to run.

        Raises:
            RequestError: there is no such protocol, configuration or clause.
        """
        from checker.proofs.symbolic.pool import Question
        from invariants.registry import STEP

        argument(self.name)
        configuration = self.z3_configuration()
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
            smt2=fspath(self.smt2),
        )

    def answer(self, watch: Watch = QUIET) -> Inductive:
        from checker.proofs.report.induction import Inductive
        from checker.proofs.symbolic.pool import run
        from zabspec.model import Model

        end = Deadline(self.time_limit)
        with queries_into(self.smt2), watch.working() as show:
            question = self.question()
            check_initial(Model(question.configuration))
            properties = question.with_premise
            required = required_witnesses(names_in(self.require_witness), [p.name for p in properties])
            if required and not self.witness_states:
                raise RequestError("--require-witness contradicts --witness-states 0, which turns the search off")
            outcome = run(
                question,
                self.processes or 0,
                end.left(),
                lambda label, done, of: show(f"{done} of {of} actions checked: {label}"),
            )
            outcome.required = tuple(required)
            if self.witness_states and properties:
                outcome.premises = premises_of(outcome, properties, self, end)
        return Inductive(outcome, self.as_json())


induct = function(Induct)


def premises_of(outcome: Outcome, properties: list[Property], request: Induct, end: Deadline) -> Premises:
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
    return reached_by(configuration, properties, request.witness_states, end.left(), every, request.processes or 0)
