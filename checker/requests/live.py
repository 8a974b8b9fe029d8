"""Check liveness: whether everything that should eventually happen does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import RequestError
from checker.requests.base.bounded import BoundedRequest, Symmetry, TraceOutput
from checker.requests.base.counterexamples import saved, trace_path
from checker.requests.base.model import SIZES, check_initial, protocol_named
from checker.requests.base.request import Names, Option, function, names_in
from checker.requests.base.watch import QUIET, Watch
from checker.requests.exploring.running import out_of_time
from zabspec.typed import near

if TYPE_CHECKING:
    from checker.explore.result import Limits
    from checker.live.code import LiveCode
    from checker.live.fair_runs import Waits
    from checker.live.lasso import StarvingRun
    from checker.live.report import Lived, Starving
    from checker.live.run import Live, LiveRun
    from traces import Trace
    from zabspec.model import Configuration, Model
    from zabspec.properties import ProgressProperty

MOST_REFUSED = 100  # runs for one progress property that the other worlds refuse, before there is no verdict
MORE_ITERATIONS = 2  # of each process, in the stable phase: it gives up its leader, and the leader restarts


@dataclass(frozen=True)
class LiveRequest(BoundedRequest):
    """Check liveness: whether a process can wait forever when no more faults occur.

    The depth is that of the phase with faults.
    """

    kind: ClassVar[str] = "live"
    mode: ClassVar[str | Option] = Option(
        "Check liveness: once faults stop, does any process starve? (docs/explanation/liveness.md)", flag="live"
    )
    shares: ClassVar[tuple[str, ...] | None] = (*SIZES, "txns", "parameters", "budgets")

    progress_properties: Annotated[
        Names,
        Option(
            "With --live: check only this progress property (repeatable).",
            flag="progress-property",
            metavar="NAME",
            complete="progress",
        ),
    ] = ()
    symmetry: Symmetry = True
    trace: TraceOutput = None

    def checks(self) -> tuple[list[ProgressProperty], Configuration]:
        """Return the progress properties to check, and the configuration.

        Raises:
            RequestError: there is no such property or model, or its liveness cannot be checked.
            ConfigError, LanguageError: the source of the protocol is wrong.
        """
        from zabspec.live.phase import stable_phase
        from zabspec.model import Model

        protocol_named(self.name)
        configuration = with_room(self.configuration(promises=True))
        phase = stable_phase(Model(configuration))
        return chosen_goals(names_in(self.progress_properties), phase.goals), configuration

    def answer(self, watch: Watch = QUIET) -> Lived:
        from checker.live.report import Lived
        from checker.live.run import Live
        from checker.opinion import live as interpreted
        from checker.opinion.outcome import joined_opinions
        from checker.opinion.searched import second_opinion
        from zabspec.model import Model

        started = time.perf_counter()
        goals, configuration = self.checks()
        model = Model(configuration)
        check_initial(model)
        limits = self.limits
        made = compiled(model, self)
        if made is None:
            nothing = Live(tuple(goals), out_of_time((), limits, "compiled"))
            nothing.stopped = nothing.exploration.stopped
            return Lived(nothing, configuration, limits, model.epochs, assumed(model), {}, 0, "", self.as_json())
        code, symmetry_off = made
        ready = time.perf_counter() - started
        run, found = searched(code, self, replace(limits, spent=ready), watch)
        found.compile_seconds = ready
        if found.complete and not found.found:
            semantics = second_opinion(model, run.explorer, found.exploration, None)
            fair = interpreted.opinion_of_fair_runs(code, found)
            found.second = joined_opinions([interpreted.second_opinion(code), semantics, fair])
        return Lived(
            found,
            configuration,
            limits,
            model.epochs,
            assumed(model),
            {name: starving(run, waits, model, self) for name, waits in found.found.items()},
            run.explorer.threads,
            symmetry_off,
            self.as_json(),
            [goal.name for goal in code.phase.goals if goal not in goals],
        )


live = function(LiveRequest)


def with_room(c: Configuration) -> Configuration:
    """Return the configuration with room for the epochs of the stable phase, unless it limits them explicitly."""
    from zabspec.model import Model

    model = Model(c)
    if c.max_epoch or not model.epochs:
        return c
    return replace(c, max_epoch=min(200, model.epochs + MORE_ITERATIONS * c.nodes // (c.nodes // 2 + 1) + 1))


def chosen_goals(given: Sequence[str], there: Sequence[ProgressProperty]) -> list[ProgressProperty]:
    """Return the progress properties of some names, or all that are judged by default.

    Raises:
        RequestError: there is no such one.
    """
    known = {goal.name: goal for goal in there}
    for name in given:
        if name not in known:
            hint = near(name, list(known)) or f"; there are {', '.join(known)}"
            raise RequestError(f"there is no progress property {name!r}{hint}")
    return [known[name] for name in given] or [goal for goal in there if goal.default]


def compiled(model: Model, request: LiveRequest) -> tuple[LiveCode, str] | None:
    """Return the model in machine code, and why without symmetry; None if the time was over before."""
    from checker.live.code import LiveCode
    from zabspec.limits import done_in_time

    symmetry, limit = request.symmetry, request.time_limit
    if limit is not None and not done_in_time(lambda: LiveCode.of(model, (), symmetry), limit):
        return None
    code, why = LiveCode.of(model, (), symmetry)
    return code, why if symmetry else "--no-symmetry"


def searched(code: LiveCode, request: LiveRequest, limits: Limits, watch: Watch) -> tuple[LiveRun, Live]:
    """Run the search."""
    from checker.live.run import LiveRun

    names = {goal.name for goal in chosen_goals(names_in(request.progress_properties), code.phase.goals)}
    run = LiveRun(code, request.threads or 0, goals=[g for g in code.phase.goals if g.name in names])
    with watch.following() as progress:
        return run, run.run(limits, progress)


def assumed(model: Model) -> list[str]:
    """Return the assumptions, a sentence each."""
    from zabspec.live.phase import fair_steps
    from zabspec.live.worlds import IN_WORLDS

    text = model.protocol.text
    out = ["from the stabilization time on no fault happens, and no message is lost except with its connection"]
    if said_there := IN_WORLDS[model.world.name].assumed:
        out += said_there
        if said := said_fair(model):
            out.append(f"eventually (weakly fair, unless stated otherwise){said.replace(';', ':', 1)}")
    elif model.protocol.declared.progress:
        out += [
            "one process leads, and a quorum follows it, from the stabilization time to the end of the assumptions",
            "every message in flight arrives before any timer fires, in the order of its channel if that has one",
            "eventually (weakly fair): every message in flight between two processes is received; the timer of a "
            "process that does not follow that leader fires; leaders send heartbeats",
        ]
    else:
        out += [
            f"eventually (weakly fair): every message in flight between two processes is received{said_fair(model)}"
        ]
    fair = [a for _, _, a in fair_steps(model)]
    free, idle = ([a.name for a in steps if a not in fair] for steps in (text.actions, text.changes))
    clients = model.configuration.txns > 0
    never = ["that a process that is down recovers"] if clients or model.crashes or text.keeps_down else []
    never += ["that a client sends a request"] if clients else []
    never += [f"that a process does {', '.join(free)}"] if free else []
    never += [f"that the environment does {', '.join(idle)}"] if idle else []
    return [*out, *([f"not assumed, and explored both ways: {'; '.join(never)}"] if never else [])]


def said_fair(model: Model) -> str:
    """Return what is done eventually beside receiving messages, as the rest of a sentence."""
    from itertools import product

    from zabspec.live.phase import OWN_STEPS, fair_steps
    from zabspec.worlds.steps import ACTION

    steps = fair_steps(model)
    out = ""
    for kind, strong, together in product(OWN_STEPS, (False, True), (False, True)):
        if names := [a.name for k, _, a in steps if (k, a.together, a.strong) == (kind, together, strong)]:
            one = "one" if together else "it"
            who = f"{'some' if together else 'each'} process" if kind == ACTION else "the environment"
            can = f"{one if kind == ACTION else 'it'} can{' infinitely often (strongly fair)' if strong else ''}"
            out += f"; {who} takes it if {can}: {', '.join(names)}"
    return out


def starving(run: LiveRun, waits: Waits, model: Model, request: LiveRequest) -> Starving:
    """Return the run in which a process waits forever, checked against the other worlds, and saved.

    A run that they do not confirm is skipped for the next one.
    """
    from itertools import chain, islice

    from checker.live.report import Starving
    from checker.report.result import Counterexample
    from traces import to_text

    goal, first = waits.goal, None
    for found in islice(chain([waits], run.live.others[waits.goal.name]), MOST_REFUSED):
        run.live.found[goal.name] = found
        told, trace, digest, problem = confirmed(run, found, model, request)
        if trace is not None:
            break
        trouble = f"the run to {goal.name} is not one in which a process starves ({problem}): please report it"
        first = first or Starving(
            told.configuration, told.schedule, told.lasso, Counterexample(trouble=trouble, replayed=False)
        )
    else:
        assert first is not None
        return first

    kept = saved(
        Counterexample(to_text(trace), digest=digest, trace=trace), trace_path(request, run.live.found, goal.name)
    )
    return Starving(told.configuration, told.schedule, told.lasso, kept)


def confirmed(
    run: LiveRun, waits: Waits, model: Model, request: LiveRequest
) -> tuple[StarvingRun, Trace | None, str, str]:
    """Return a run in steps of the model, its trace, the digest of the simulator's dump, and the problem if any.

    The trace is None unless the CPython world and the simulator confirm it.
    """
    from checker.live.lasso import lasso_of
    from traces import TraceError, build_trace, verify
    from traces.record.fair import hold_fair
    from traces.replay.replay import replay
    from zabspec.model import ConfigError
    from zabspec.model import Model as AnyModel

    told = lasso_of(run, waits)
    try:
        lasting = AnyModel(told.configuration)
        trace = replace(build_trace(lasting, None, told.schedule), lasso=told.lasso, request=request.as_json())
        verify(trace)
        hold_fair(lasting, told.schedule, told.lasso, model.configuration.budget)
        return told, trace, replay(trace).sha256, ""
    except (TraceError, ConfigError) as problem:
        return told, None, "", str(problem)
