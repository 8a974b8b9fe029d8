"""`zabcheck --live`: from a chosen moment on, does everybody get what he waits for?"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import check_writable, complain, near, protocol_named, say
from checker.commands.engines import out_of_time

if TYPE_CHECKING:
    from checker.live.code import LiveCode
    from checker.live.fair_runs import Waits
    from checker.live.lasso import Told
    from checker.live.report import LiveReport, Starving
    from checker.live.run import Live, LiveRun
    from traces import Trace
    from zabspec.live.goals import Goal
    from zabspec.model import Configuration, Model

__all__ = ["live", "refuse_what_goals_have_not"]

# what says how an exploration goes, or a search, which this is none of
NOT_OF_GOALS = (
    "names", "required", "keep_going", "reduction", "master", "checkpoint", "resume", "fingerprint", "search", "seed",
    "symbolic", "junit", "html",
)  # fmt: skip
SAID = {"names": "property", "required": "require-witness"}
MOST_REFUSED = 100  # runs to a goal that the other worlds refuse, before there is no verdict
MORE_ITERATIONS = 2  # of each process, in the stable phase: it gives up whom it follows, and the leader begins again


def refuse_what_goals_have_not(options: Mapping[str, Any]) -> None:
    """
    Raises:
        UsageError: an option says how an exploration goes, and this is none; or of goals, and none are asked after.
    """
    if not options["live"]:
        if options["goals"]:
            raise click.UsageError("--goal is for --live")
        return
    if options["engine"] != "compiled":
        raise click.UsageError(f"--live does not go with --engine {options['engine']}")
    for name in NOT_OF_GOALS:
        if options.get(name) not in (None, False, (), ""):
            raise click.UsageError(f"--{SAID.get(name, name.replace('_', '-'))} does not go with --live")
    if options["trace"] is not None and options["no_trace"]:
        raise click.UsageError("--trace and --no-trace contradict each other")


def live(options: Mapping[str, Any]) -> int:
    """Ask after goals, and report; returns the exit code.

    Raises:
        UsageError: the question was wrong.
        Cannot: there is no answer.
    """
    report = answer(options)
    code = report.exit_code
    if options["as_json"]:
        import json

        code = say(json.dumps(report.as_json(), indent=1), code)
    else:
        code = say(report.text(), code)
    for s in report.starving.values():
        if s.counterexample.trouble:
            complain(s.counterexample.trouble)
    return code


def answer(options: Mapping[str, Any]) -> LiveReport:
    """Ask after goals; nothing is printed.

    Raises:
        UsageError: the question was wrong.
        Cannot: there is no answer.
    """
    from checker.commands.model_options import check_initial, configured
    from checker.explore.result import Limits
    from checker.live.report import LiveReport
    from checker.live.run import Live
    from zabspec.live.phase import stable_phase
    from zabspec.model import ConfigError, Model

    started = time.perf_counter()
    protocol_named(options["protocol"])
    asked = configured(options, literal=False)
    configuration = with_room(asked)
    if options["trace"] is not None:
        check_writable(options["trace"], "--trace", regular=True)
    model = Model(configuration)
    try:
        phase = stable_phase(model)
    except ConfigError as problem:
        raise click.UsageError(str(problem)) from None
    chosen_goals(options["goals"], phase.goals)
    check_initial(model)
    limits = Limits(options["depth"], options["max_states"], options["time_limit"], options["memory_limit"])
    made = compiled(model, options, limits)
    if made is None:
        nothing = Live(tuple(chosen_goals(options["goals"], phase.goals)), out_of_time((), limits, "compiled"))
        nothing.stopped = nothing.exploration.stopped
        return LiveReport(nothing, configuration, limits, model.epochs, assumed(model), {}, 0, "")
    code, symmetry_off = made
    ready = time.perf_counter() - started
    run, found = asked_after(code, options, replace(limits, spent=ready))
    found.compile_seconds = ready
    return LiveReport(
        found,
        configuration,
        limits,
        model.epochs,
        assumed(model),
        {name: starving(run, waits, model, options) for name, waits in found.found.items()},
        run.explorer.threads,
        symmetry_off,
    )


def with_room(c: Configuration) -> Configuration:
    """The configuration with room for the epochs of the stable phase, unless one says how large they may be."""
    from zabspec.model import Model

    model = Model(c)
    if c.max_epoch or not model.epochs:
        return c
    return replace(c, max_epoch=min(200, model.epochs + MORE_ITERATIONS * c.nodes // (c.nodes // 2 + 1) + 1))


def chosen_goals(given: Sequence[str], there: Sequence[Goal]) -> list[Goal]:
    """The goals named, or all.

    Raises:
        UsageError: there is no such goal.
    """
    known = {goal.name: goal for goal in there}
    for name in given:
        if name not in known:
            hint = near(name, list(known)) or f"; there are {', '.join(known)}"
            raise click.UsageError(f"there is no goal {name!r}{hint}")
    return [known[name] for name in given] or list(there)


def compiled(model: Model, options: Mapping[str, Any], limits: Any) -> tuple[LiveCode, str] | None:
    """The model in machine code, and why without symmetry; None: the time was over before."""
    from checker.explore.deadline import done_in_time
    from checker.live.code import LiveCode

    symmetry = not options["no_symmetry"]
    if limits.seconds is not None and not done_in_time(lambda: LiveCode.of(model, (), symmetry), limits.seconds):
        return None
    code, why = LiveCode.of(model, (), symmetry)
    return code, why if symmetry else "--no-symmetry"


def asked_after(code: LiveCode, options: Mapping[str, Any], limits: Any) -> tuple[LiveRun, Live]:
    """Run, with a line of progress on a terminal."""
    from checker.live.run import LiveRun
    from checker.report.progress import StatusLine

    class Line(StatusLine):
        def __call__(self, found: Live) -> None:
            if self.due():
                r = found.exploration
                self.show(f"{r.distinct:,} states with faults, {found.nodes:,} after the moment, {found.edges:,} steps")

    names = {goal.name for goal in chosen_goals(options["goals"], code.phase.goals)}
    run = LiveRun(code, options["threads"] or 0, goals=[g for g in code.phase.goals if g.name in names])
    with Line() as progress:
        return run, run.run(limits, progress)


def assumed(model: Model) -> list[str]:
    """What is assumed, a sentence each."""
    from zabspec.live.phase import fair_actions
    from zabspec.live.worlds import IN_WORLDS

    text = model.protocol.text
    out = ["from the moment on no fault happens, and nothing that is sent is lost but with its connection"]
    if said_there := IN_WORLDS[model.world.name].assumed:
        out += said_there
    elif text is None:
        out += [
            "one process leads, and a quorum follows it, at the moment and for as long as the run counts",
            "what is in flight arrives, in the order of its channel where there is one, and before any timer runs out",
            "sooner or later (weakly fair): what is in flight between two processes is received; the timer of who does "
            "not follow that leader runs out; leaders send heartbeats",
        ]
    else:
        own = [text.actions[k].name for k in fair_actions(model)]
        said = f"; each process does, where it can: {', '.join(own)}" if own else ""
        out += [f"sooner or later (weakly fair): what is in flight between two processes is received{said}"]
    free = [a.name for k, a in enumerate(text.actions) if k not in fair_actions(model)] if text is not None else []
    never = ["that a process that is down recovers", "that a client asks for anything"]
    never += [f"that a process does {', '.join(free)}"] if free else []
    return [*out, f"not assumed, and looked at both ways: {'; '.join(never)}"]


def starving(run: LiveRun, waits: Waits, model: Model, options: Mapping[str, Any]) -> Starving:
    """The run in which somebody waits for ever, checked against the other worlds, and saved. A run that they do not
    confirm is passed over for the next one."""
    from itertools import chain, islice

    from checker.live.report import Starving
    from checker.report.counterexamples import trace_path
    from checker.report.report import Counterexample
    from traces import TraceError, to_text, write_trace

    goal, first = waits.goal, None
    for found in islice(chain([waits], run.live.others[waits.goal.name]), MOST_REFUSED):
        run.live.found[goal.name] = found
        told, trace, digest, problem = confirmed(run, found, model)
        if trace is not None:
            break
        trouble = f"the run to {goal.name} is not one in which somebody waits for ever ({problem}): please report it"
        first = first or Starving(
            told.configuration, told.schedule, told.lasso, Counterexample(trouble=trouble, replayed=False)
        )
    else:
        assert first is not None
        return first

    def starved(counterexample: Counterexample) -> Starving:
        return Starving(told.configuration, told.schedule, told.lasso, counterexample)

    text = to_text(trace)
    path = trace_path({**options, "keep_going": False}, run.live.found, goal.name)
    if path is None:
        return starved(Counterexample(text, digest=digest, trace=trace))
    with contextlib.suppress(TraceError):
        write_trace(trace, path)
        return starved(Counterexample(text, "", str(path), digest=digest, trace=trace))
    trouble = f"the run to {goal.name} could not be written to {path}"
    return starved(Counterexample(text, trouble=trouble, digest=digest, trace=trace))


def confirmed(run: LiveRun, waits: Waits, model: Model) -> tuple[Told, Trace | None, str, str]:
    """A run in steps of the model, its trace if the CPython world and the simulator confirm it, the digest of the
    simulator's dump, and why they do not."""
    from checker.live.lasso import lasso_of
    from traces import TraceError, build_trace, verify
    from traces.record.fair import hold_fair
    from traces.replay.replay import replay
    from zabspec.model import ConfigError
    from zabspec.model import Model as AnyModel

    told = lasso_of(run, waits)
    try:
        lasting = AnyModel(told.configuration)
        trace = replace(build_trace(lasting, None, told.schedule), lasso=told.lasso)
        verify(trace)
        hold_fair(lasting, told.schedule, told.lasso, model.configuration.budget)
        return told, trace, replay(trace).sha256, ""
    except (TraceError, ConfigError) as problem:
        return told, None, "", str(problem)
