"""Check with z3 whether clauses are inductive: kept by every step from every state that satisfies them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.requests.model import ModelRequest, near, protocol_named
from checker.requests.properties import required_witnesses
from checker.requests.ready import make_ready
from checker.requests.request import Request, at_least, seconds, solver_seed
from zabspec.limits import Deadline

if TYPE_CHECKING:
    from checker.explore.premises import Premises
    from checker.report.induction import InductionReport
    from checker.symbolic.pool import Outcome, Question
    from invariants.inductive.argument import Argument
    from invariants.registry import Property
    from zabspec.model import Configuration

__all__ = ["InductRequest", "answer", "argument", "everything_assumed", "sorted_out"]

ALL, NONE = "all", "none"
# of zab, where the request does not say
USUAL_NODES, USUAL_TXNS, USUAL_EPOCH = 3, 2, 2
USUAL_BUDGETS = {"timeouts": 1, "crashes": 1, "losses": 1, "partitions": 0}

# Called with the action asked about last, how many are, and of how many.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class InductRequest(Request):
    """An induction. Budgets above 0 are any number.

    Attributes:
        model: whose steps.
        clauses: names of clauses or properties to ask about alone; none: all.
        assume: with `clauses`: what is assumed besides; names, `all` or `none`; none given: all clauses.
        without: names of clauses that are left out.
        k: runs of up to so many steps are tried.
        query_limit: time limit of each query, in seconds. time_limit: seconds in all.
        seed: of the solver. jobs: processes; None: one for each core.
        witness_states: states explored for runs that meet the premise of each property; 0: none.
        require_witness: names of properties whose premise a run has to meet, or `all`.
        smt2: the folder that every query is written to; empty: none.
    """

    kind: ClassVar[str] = "induct"

    model: ModelRequest = field(default_factory=ModelRequest)
    clauses: tuple[str, ...] = ()
    assume: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
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
        if self.assume and not self.clauses:
            raise RequestError("--assume goes with --clause; without it every clause is asked about, and assumed")
        if self.model.quorums:
            raise RequestError("--quorums does not go with induct: the clauses of the proof count majorities")

    def whole_configuration(self) -> Configuration:
        """Return the configuration with all the room that the protocol declares.

        Raises:
            RequestError: there is no such configuration.
        """
        from invariants.inductive.argument import is_whole

        model = self.model
        if is_whole(model.protocol):
            model = replace(
                model,
                nodes=USUAL_NODES if model.nodes is None else model.nodes,
                txns=USUAL_TXNS if model.txns is None else model.txns,
                max_epoch=USUAL_EPOCH if model.max_epoch is None else model.max_epoch,
                budgets=USUAL_BUDGETS | dict(model.budgets),
            )
        return model.configuration()

    def configuration(self) -> Configuration:
        """Return the configuration whose steps z3 is asked about.

        Raises:
            RequestError: there is no such configuration.
        """
        from checker.symbolic.assumptions import sized

        self.refuse_network()
        return sized(self.whole_configuration())

    def refuse_network(self) -> None:
        """
        Raises:
            RequestError: the clauses are not of this network.
        """
        from invariants.inductive.argument import is_whole

        if is_whole(self.model.protocol) and self.model.network not in ("", "fifo"):
            raise RequestError("the clauses are of the paper's channels: --network fifo, or none given")

    def question(self) -> Question:
        """Return what z3 is asked.

        Raises:
            RequestError: there is no such protocol, configuration or clause.
        """
        from checker.symbolic.pool import Question
        from invariants.registry import STEP

        argument(self.model.protocol)
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
    """Ask z3, and look for runs that meet the premises of the properties asked about.

    Args:
        progress: called now and then.
        started: when the time limit began, as `time.perf_counter()`; None: now.

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
        raise RequestError("--require-witness contradicts --witness-states 0: nobody looks for one")
    outcome = run(question, request.jobs or 0, end.left(), progress)
    outcome.required = tuple(required)
    if request.witness_states and properties:
        outcome.premises = premises_of(outcome, properties, request, end)
    return InductionReport(outcome, request.as_json())


def premises_of(outcome: Outcome, properties: list[Property], request: InductRequest, end: Deadline) -> Premises:
    """Look for runs that meet the premises of properties. Where a clause is not proved, what follows from the clauses
    may fail in a run: then each property is judged as far as that goes."""
    from checker.explore.compiled import Compiled
    from checker.explore.groups import groups_of
    from checker.explore.premises import reached_by, stages
    from zabspec.model import Model

    # what z3 is not asked for lack of room, a later epoch or more messages in flight, is explored
    configuration = replace(request.whole_configuration(), max_epoch=0, channel=0)
    every = not all(v.holds for v in outcome.verdicts)
    if not end.over():
        for group in groups_of(properties):
            first = Model(next(stages(configuration)))
            make_ready(partial(Compiled.of, first, group, True), "the properties in machine code")
    return reached_by(configuration, properties, request.witness_states, end.left(), every, request.jobs or 0)


def argument(protocol: str) -> Argument:
    """What an induction about a protocol is made of.

    Raises:
        RequestError: nobody has written one.
    """
    from invariants.inductive.argument import argument_of

    protocol_named(protocol)
    found = argument_of(protocol)
    if found is None:
        raise RequestError(f"there is no inductive invariant of {protocol}; there is one of zab")
    if not found.clauses and not found.targets:
        raise RequestError(f"{protocol} claims nothing: mark a clause with @invariant, a property with @safety")
    return found


def sorted_out(
    request: InductRequest, configuration: Configuration
) -> tuple[list[Property], list[Property], list[Property]]:
    """What is asked about, what is assumed besides, and what has to follow.

    Raises:
        RequestError: there is no such clause.
    """
    from checker.symbolic.assumptions import beside

    given = argument(configuration.protocol)
    clauses, judged = [*beside(configuration), *given.clauses], [*given.targets]
    every = {c.name: c for c in (*clauses, *judged)}
    out = set(found(names_in(request.without), "--without", {c.name: c for c in clauses}, request))
    kept = [c for c in clauses if c not in out]
    if not request.clauses:
        return kept, [], judged
    asked = found(names_in(request.clauses), "--clause", every, request)
    words = names_in(request.assume)
    if NONE in words and len(words) > 1:
        raise RequestError(f"--assume {NONE} contradicts --assume {next(n for n in words if n != NONE)}")
    named = found([n for n in words if n not in (ALL, NONE)], "--assume", every, request)
    for c in (*asked, *named):
        if c in out:
            raise RequestError(f"--without {c.name} contradicts the --clause or --assume that names it")
    if everything_assumed(request):
        # given all clauses a property has to follow, as it has in the whole question
        named += [c for c in kept if c not in named]
        targets = [c for c in asked if c in judged]
        return [c for c in asked if c not in judged], [c for c in named if c not in asked], targets
    return asked, [c for c in named if c not in asked], []


def names_in(words: Sequence[str]) -> list[str]:
    """The names in values of an option, which may have several with commas between them."""
    return [name.strip() for word in words for name in word.split(",")]


def everything_assumed(request: InductRequest) -> bool:
    """Whether every clause is assumed before a step, the ones asked about and the others."""
    words = names_in(request.assume)
    return not words or ALL in words


def found(names: Sequence[str], option: str, by_name: dict[str, Property], request: InductRequest) -> list[Property]:
    """The clauses named.

    Raises:
        RequestError: there is no such clause, or it is named twice.
    """
    out = []
    for name in names:
        if name not in by_name:
            flag = "" if request.model.protocol == ModelRequest.protocol else f" --protocol {request.model.protocol}"
            hint = near(name, by_name) or f"; `zabcheck induct{flag} --list` lists them"
            raise RequestError(f"there is no clause {name!r}{hint}")
        if names.count(name) > 1:
            raise RequestError(f"{option} {name} is given twice")
        out.append(by_name[name])
    return out
