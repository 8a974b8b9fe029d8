"""Run the checks of a matrix, and share work between them.

Checks of one configuration with the same options that go on past violations share one exploration, which judges all
their properties. Compiled code is kept for the next check of the same configuration and properties.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from checker.ci.configuration import OF_A_RUN, REPLAY, Check, Matrix, MatrixError
from checker.ci.judging import UNDECIDED, CheckOutcome, outcome_of
from checker.ending import cut_short
from checker.errors import RequestError
from checker.report.result import CheckFindings, Named
from checker.requests.base.model import ModelRequest
from checker.requests.base.request import fields_of, flag, made, names_in
from checker.requests.explore import Explore, explored
from checker.requests.exploring.opinions import Opinions
from checker.requests.live import LiveRequest
from checker.requests.properties import chosen_properties
from checker.requests.replay import Replay
from checker.requests.simulate import Simulate
from checker.terminal import TerminalWatch
from zabspec.typed import near

if TYPE_CHECKING:
    from checker.explore.compiled import Compiled
    from checker.explore.result import Exploration
    from checker.report.report import Explored
    from invariants.registry import Property
    from zabspec.model import Configuration, Model

INTERRUPTED = "interrupted"
KEPT = 2  # models in machine code

Watch = Callable[[Check], None]


@dataclass(frozen=True)
class ReadyCheck:
    """A check with its parsed request.

    Attributes:
        check: the check.
        request: its request.
        judged: the properties that are judged, or the progress properties that are checked.
        configuration: of the exploration; None for a simulated or saved run, or a liveness check.
    """

    check: Check
    request: Explore | LiveRequest | Replay | Simulate
    judged: tuple[Named, ...]
    configuration: Configuration | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.judged)

    @property
    def key(self) -> tuple[object, ...]:
        """Checks with equal keys share one exploration."""
        if not isinstance(self.request, Explore):
            return (self.check.engine, repr(self.request), self.names if self.check.engine == REPLAY else ())
        same = replace(self.request, **vars(ModelRequest()), properties=())
        return (self.configuration, None if same.keep_going else self.names, repr(same))


# --- making ready ----------------------------------------------------------------------------------


def asked_by(matrix: Matrix, checks: Iterable[Check]) -> list[ReadyCheck]:
    """Parse the requests of checks, each as its command would.

    Raises:
        MatrixError: one is wrong, or expects something of a property that it does not judge.
    """
    out = []
    for check in checks:
        try:
            asked = ready(check)
        except RequestError as problem:
            raise MatrixError(f"{matrix.path}: check {check.name}: {problem}") from None
        for name in (*check.expect.violated, *(check.expect.required or ())):
            refuse_unjudged(name, asked, f"{matrix.path}: check {check.name}")
        out.append(asked)
    return out


def ready(check: Check) -> ReadyCheck:
    from traces.judging.simulated import judged_properties

    given = {k: v for k, v in check.values.items() if k != "protocol"}
    protocol = str(check.values["protocol"])
    if check.simulated:
        del given["engine"]
        run = made(Simulate, (protocol,), given | {"check": True})
        run.run()
        return ReadyCheck(check, run, judged_properties(protocol, names_in(run.properties)), None)
    if check.live:
        del given["engine"]
        if beside := [name for name in given if name not in fields_of(LiveRequest)]:
            raise RequestError(f"{flag(beside[0])} does not go with --live")
        progress = made(LiveRequest, (protocol,), given)
        return ReadyCheck(check, progress, tuple(progress.checks()[0]), None)
    if check.engine == REPLAY:
        if others := given.keys() - OF_A_RUN:
            raise RequestError(f"a saved run has its own {', '.join(sorted(others))}: omit it")
        saved = Replay(given["trace"])
        if (named := saved.read().configuration.protocol) != protocol:
            raise RequestError(f"{saved.trace} is a run of {named}, not of {protocol}")
        return ReadyCheck(check, saved, tuple(chosen_properties(given.get("properties", ()), protocol)), None)
    request = made(Explore, (protocol,), given)
    judged, configuration = request.checks()
    return ReadyCheck(check, request, tuple(judged), configuration)


def refuse_unjudged(name: str, asked: ReadyCheck, where: str) -> None:
    """Check that a request judges the property of a name.

    Raises:
        MatrixError: it does not.
    """
    from invariants import NO_RUNTIME_ERROR

    built_in = [] if asked.configuration is None else [NO_RUNTIME_ERROR.name]
    if name not in (*asked.names, *built_in):
        hint = near(name, asked.names) or f"; there are {', '.join(asked.names)}"
        what = f"progress property {name!r} is checked" if asked.check.live else f"property {name!r} is checked"
        raise MatrixError(f"{where}: no {what}{hint}")


# --- asking ----------------------------------------------------------------------------------------


def outcomes(asked: Sequence[ReadyCheck], watch: Watch) -> list[CheckOutcome]:
    """Run checks and return the outcome of each, in their order. After Ctrl-C the rest is not run.

    Args:
        watch: called with each check before it begins.

    Raises:
        MatrixError: a protocol's source is wrong in a way that only compiling it shows.
    """
    groups: dict[tuple[object, ...], list[ReadyCheck]] = {}
    for a in asked:
        groups.setdefault(a.key, []).append(a)
    shared, ended = Shared(), False
    out: dict[str, CheckOutcome] = {}
    for group in (part for whole in groups.values() for part in alike(whole)):
        if ended:
            out |= {a.check.name: CheckOutcome(a.check, UNDECIDED, reasons=[INTERRUPTED]) for a in group}
            continue
        watch(group[0].check)
        try:
            begun = time.process_time()
            pairs = list(answers(group, shared))
            each = (time.process_time() - begun) / len(pairs)
            for a, found in pairs:
                out[a.check.name] = outcome_of(a.check, replace(found, cpu_seconds=each))
                ended = ended or INTERRUPTED in found.unsettled
        except KeyboardInterrupt:
            ended = True
            out |= {a.check.name: CheckOutcome(a.check, UNDECIDED, reasons=[INTERRUPTED]) for a in group}
        except Exception as problem:
            cut = cut_short(problem)
            if cut is None:
                raise
            out |= {a.check.name: CheckOutcome(a.check, UNDECIDED, reasons=[cut.message]) for a in group}
    return [out[a.check.name] for a in asked]


def alike(group: list[ReadyCheck]) -> Iterable[list[ReadyCheck]]:
    """Split the checks of a key by what else their properties decide about an exploration, which counts states.

    It is whether states that are renamings of each other are one, and whether stuttering receipts are left out.
    """
    first = group[0].configuration
    if len(group) == 1 or first is None:
        return [group]
    from checker.explore.stuttering import why_every_receipt
    from checker.explore.symmetry import asymmetry
    from invariants import known_properties
    from invariants.binding import full_namespace
    from zabspec.language import LanguageError
    from zabspec.model import Model

    model = Model(first)
    front = model.program.front_end(full_namespace(model))
    by_name = {p.name: p for p in known_properties(first.protocol)}
    parts: dict[tuple[bool, bool], list[ReadyCheck]] = {}
    try:
        for a in group:
            judged = [by_name[name] for name in a.names]
            decided = bool(asymmetry(model, judged, front)), bool(why_every_receipt(model, judged, front))
            parts.setdefault(decided, []).append(a)
    except LanguageError:  # which the exploration reports
        return [group]
    return parts.values()


def answers(group: Sequence[ReadyCheck], shared: Shared) -> Iterator[tuple[ReadyCheck, CheckFindings]]:
    """Yield the result of each check of a group.

    Raises:
        NoVerdict: there is no answer.
        MatrixError: the protocol's source is wrong.
    """
    try:
        if group[0].configuration is None:
            found = found_of(group[0])
            yield from ((a, found) for a in group)
            return
        for a, report in reports(group, shared):
            yield a, report.check_findings
    except RequestError as problem:
        raise MatrixError(f"check {group[0].check.name}: {problem}") from None


def found_of(asked: ReadyCheck) -> CheckFindings:
    """Run a liveness check or a simulation, or replay a saved run, and return its result."""
    from checker.requests import replay

    started, request = time.perf_counter(), asked.request
    if isinstance(request, Replay):
        return replace(replay.judged_run(request, asked.names), seconds=time.perf_counter() - started)
    if isinstance(request, LiveRequest):
        return request.answer(TerminalWatch()).check_findings
    assert isinstance(request, Simulate)
    found = request.answer().check_findings
    return replace(found, seconds=time.perf_counter() - started)


def reports(group: Sequence[ReadyCheck], shared: Shared) -> Iterator[tuple[ReadyCheck, Explored]]:
    """Run one exploration, and yield the report for each check of a group."""
    from checker.report.report import Explored
    from checker.requests.base.counterexamples import counterexample
    from invariants import known_properties
    from invariants.binding import vacuous
    from zabspec.model import Model

    first = group[0]
    request = first.request
    assert first.configuration is not None
    assert isinstance(request, Explore)
    model, limits = Model(first.configuration), request.limits
    wanted = {name for a in group for name in a.names}
    judged = [p for p in known_properties(request.name) if p.name in wanted]
    request = replace(request, reduction="stuttering")  # what a check expects is counts and depths of all states
    opinions = Opinions(request.second_opinion, False)
    exploration, threads, symmetry_off = explored(
        model, judged, limits, request, TerminalWatch(), shared.compiled, opinions.hear
    )
    if exploration.error and any(len(a.names) < len(judged) for a in group):
        # a property that one of them does not judge may have failed, which ended the exploration for all
        for a in group:
            yield from reports([a], shared)
        return
    made = {name: counterexample(model, exploration, name, None) for name in exploration.violations}
    never = vacuous(model, judged)
    for a in group:
        part = part_of(exploration, tuple(p for p in judged if p.name in a.names))
        mine = {name: c for name, c in made.items() if name in part.violations}
        yield (
            a,
            Explored(
                part, first.configuration, limits, model.epochs, model.channels, request.keep_going, threads,
                symmetry_off, mine, never_false=never, request=a.request.as_json(), second=opinions.joined(),
            ),
        )  # fmt: skip


def part_of(exploration: Exploration, judged: tuple[Property, ...]) -> Exploration:
    """Restrict the result of an exploration to some of its properties."""
    from invariants import NO_RUNTIME_ERROR

    names = {p.name for p in judged}
    return replace(
        exploration,
        properties=judged,
        violations={n: v for n, v in exploration.violations.items() if n in names or n == NO_RUNTIME_ERROR.name},
        witnessed={name: depth for name, depth in exploration.witnessed.items() if name in names},
    )


class Shared:
    """What was compiled last, for the next exploration that needs the same."""

    def __init__(self) -> None:
        self.kept: dict[tuple[object, ...], tuple[Compiled, str]] = {}

    def compiled(
        self, model: Model, judged: Sequence[Property], symmetry: bool, every_step: bool
    ) -> tuple[Compiled, str]:
        from checker.explore.compiled import Compiled
        from traces.record.trace import text_of

        c = model.configuration
        key = (c, text_of(c.protocol), tuple(p.name for p in judged), symmetry, every_step)
        if key not in self.kept:
            while len(self.kept) >= KEPT:
                del self.kept[next(iter(self.kept))]
            self.kept[key] = Compiled.of(model, judged, symmetry, every_step)
        return self.kept[key]
