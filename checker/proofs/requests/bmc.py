"""Bounded model checking: search with z3 for a run of at most so many steps that violates a property."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta

from checker.errors import NoVerdict, RequestError
from checker.proofs.requests.queries import Queries, queries_into
from checker.requests.base.bounded import Checked, TraceOutput
from checker.requests.base.carried import verified_trace
from checker.requests.base.counterexamples import counterexample_of
from checker.requests.base.model import BOUNDS, MODEL, ModelRequest, check_initial
from checker.requests.base.request import Count, Option, Seconds, Seed, flag, function, names_in
from checker.requests.base.watch import QUIET, Watch
from checker.requests.properties import LITERAL, chosen_properties
from zabspec.limits import Deadline

if TYPE_CHECKING:
    from checker.proofs.report.bounded import Bounded, BoundedViolation
    from checker.report.result import Counterexample
    from invariants.registry import Property
    from traces import Runner
    from zabspec.model import Configuration, Model
NO_MODEL = ModelRequest()


@dataclass(frozen=True)
class Bmc(ModelRequest):
    """Check with z3 whether some run of at most K steps violates a property.

    Exit codes: 0 none does, 1 one was found and saved, 2 the request is wrong, 3 no verdict.

    Examples:
      zabcheck bmc --variant small-quorum --nodes 2 --txns 1 --timeouts 0 --crashes 0 --losses 0 --depth 12 --trace t.json
      zabcheck bmc --from t.json:9 --depth 4   from the state after step 9 of a saved trace
      zabcheck bmc --depth 8 --property agreement --time-limit 60
    """  # noqa: E501

    kind: ClassVar[str] = "bmc"
    group: ClassVar[str] = "Proofs and bounded checks"
    draws: ClassVar[bool] = True
    shares: ClassVar[tuple[str, ...] | None] = BOUNDS

    depth: Annotated[
        Annotated[int, Meta(ge=1, le=1000)],
        Option(
            "Largest number of steps: covers all runs of K steps, and some longer ones.", metavar="K", required=True
        ),
    ] = 1
    source: Annotated[
        str, Option("Start from this step of a saved trace (default: its last).", flag="from", metavar="TRACE[:STEP]")
    ] = ""
    properties: Checked = ()
    every: Annotated[
        Count, Option("Query z3 once in this many steps, and at the end; 1 finds a violation with the fewest rounds.")
    ] = 4
    time_limit: Annotated[Seconds, Option("Stop after this time.")] = 600.0
    query_limit: Annotated[Seconds | None, Option("Time limit of each query.")] = None
    seed: Annotated[Seed, Option("Seed of the solver.")] = 0
    trace: TraceOutput = None
    smt2: Queries = ""

    def validate(self) -> None:
        beside = [name for name in MODEL if self.source and getattr(self, name) != getattr(NO_MODEL, name)]
        if beside:
            raise RequestError(f"{flag(beside[0])} does not go with --from: the trace has its configuration")

    def traced(self) -> Configuration | None:
        from checker.proofs.symbolic.assumptions import sized

        return None if self.source else sized(self.configuration())

    def answer(self, watch: Watch = QUIET) -> Bounded:
        from checker.proofs.report.bounded import Bounded
        from checker.proofs.symbolic.bmc import Bounds, check_in_time
        from zabspec.model import Model

        end = Deadline(self.time_limit)
        configuration, start = beginning(self)
        judged = of_every_state(
            chosen_properties(names_in(self.properties), configuration.protocol), names_in(self.properties)
        )
        if any(p.name == LITERAL for p in judged) and not configuration.literal:
            raise RequestError(f"{LITERAL} is checked by `zabcheck --property {LITERAL}` only")
        model = Model(configuration)
        check_initial(model)
        state = state_after(model, start, judged)
        bounds = Bounds(self.depth, self.every, end.left(), self.query_limit, self.seed)
        with queries_into(self.smt2), watch.working() as show:
            found = check_in_time(
                model, judged, bounds, state, lambda rounds, spent: show(f"{rounds} rounds of steps, {spent:.0f} s")
            )
        report = Bounded(model, tuple(judged), start, found, self.depth, self.as_json())
        if not found.broken:
            return report
        broken = first_broken(model, start, found.schedule, judged)
        return report.violated(broken, saved(model, broken, self))


bmc = function(Bmc)


def beginning(request: Bmc) -> tuple[Configuration, tuple[int, ...]]:
    """Return the configuration, and the steps that lead to where runs start.

    Raises:
        RequestError: there is no such configuration, trace or step.
    """
    if (configuration := request.traced()) is not None:
        return configuration, ()
    name, _, number = request.source.rpartition(":")
    at = int(number) if name and number.isascii() and number.isdigit() and len(number) < 10 else None
    trace = verified_trace(Path(request.source if at is None else name))
    words = tuple(step.word.word for step in trace.steps)
    if at is not None and at > len(words):
        raise RequestError(f"--from {request.source}: the trace has {len(words)} steps")
    return trace.configuration, words if at is None else words[:at]


def saved(model: Model, broken: BoundedViolation, request: Bmc) -> Counterexample:
    """Return the run as a trace, verified and saved."""
    from zabspec.authoring.sources import path_of

    p, path, trace = broken.properties[0], None, request.trace
    if trace is not None:
        c = model.configuration
        called = c.variant.replace(",", "+") or path_of(c.protocol).stem
        path = Path(trace or f"zabcheck-{called}-{p.name}.trace.json")
    return counterexample_of(model, p, broken.schedule, path, request)


def of_every_state(chosen: Sequence[Property], names: Sequence[str]) -> list[Property]:
    """Return the properties that z3 can check: those that are not about terminal states.

    For the others z3 would have to show that every step is impossible. Those that were not named are left out; the
    report lists what is judged.

    Raises:
        RequestError: one that was named is about terminal states.
    """
    from invariants.registry import TERMINAL

    for p in chosen:
        if p.of == TERMINAL and p.name in names:
            raise RequestError(f"{p.name} is a property of terminal states, which bmc does not check: explore it")
    return [p for p in chosen if p.of != TERMINAL]


def state_after(model: Model, words: Sequence[int], judged: Sequence[Property]) -> bytes:
    """Return the state after some steps.

    Raises:
        RequestError: a property is violated there, or on the way.
    """
    from traces import Runner

    runner = Runner(model)
    for word in words:
        runner.step(word)
        broken = [p.name for p in judged if breaks(runner, p)]
        if broken:
            earlier = f"--from ...:{runner.taken - 1}" if runner.taken > 1 else "the initial state"
            raise RequestError(f"step {runner.taken} of the trace violates {', '.join(broken)}; start from {earlier}")
    return runner.state.key()


def breaks(runner: Runner, p: Property) -> bool:
    """Return whether the state, or the last step, violates a property.

    A property that reads past an end decides nothing.
    """
    from zabspec.language.python.reference import ERRORS

    try:
        return not runner.keeps(p)
    except ERRORS:
        return False


def first_broken(
    model: Model, start: Sequence[int], words: Sequence[int], judged: Sequence[Property]
) -> BoundedViolation:
    """Return what a run violates first, and where: z3 evaluates only the end of each round.

    Raises:
        NoVerdict: it violates nothing, or does not replay: then z3's formulas differ from the protocol.
    """
    from checker.proofs.report.bounded import BoundedViolation
    from invariants.registry import STEP
    from traces import Runner, TraceError
    from zabspec.language.python.reference import RangeError

    runner = Runner(model)
    try:
        for word in start:
            runner.step(word)
        for k in range(len(words) + 1):
            if k:
                runner.step(words[k - 1])
            broken = tuple(p for p in judged if (k or p.of != STEP) and breaks(runner, p))
            if broken:
                return BoundedViolation(broken, (*start, *words[:k]), k)
    except (TraceError, RangeError) as problem:
        raise NoVerdict(
            f"the run that z3 found is not a run of the model ({problem}): this is a bug of zabcheck, please report it"
        ) from None
    raise NoVerdict("the run that z3 found violates no property: this is a bug of zabcheck, please report it")
