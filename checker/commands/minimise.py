"""`zabcheck minimise`: the shortest counterexample that can be made of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import INPUT, PATH, NoVerdict, Subcommand, check_writable, say, seconds, verified_trace
from checker.commands.drawn import HTML, check_page, draw

if TYPE_CHECKING:
    from traces import Trace
    from traces.record.failure import Failure

__all__ = ["minimise"]

MEMORY = 2 << 30  # bytes that the search for a shorter one may take


@click.command(cls=Subcommand)
@click.argument("trace", type=INPUT)
@click.option("--output", type=PATH, metavar="FILE", help="Where it is saved; beside the trace, as .min.trace.json.")
@click.option(
    "--search",
    type=float,
    default=20.0,
    show_default=True,
    callback=seconds,
    metavar="SECONDS",
    help="How long to look for a shorter one by exploring what is left of the question.",
)
@HTML
@click.option("--json", "as_json", is_flag=True, help="What was done, as JSON.")
def minimise(trace: Path, output: Path | None, search: float, page: Path | None, as_json: bool) -> int:
    """Shorten a counterexample: fewer steps, faults, messages, transactions and processes.

    What is left still breaks the same property. Then the explorer looks for a shorter one in what is left of the
    question; if it gets through, none is shorter there. A run of --live in which somebody waits for ever is shortened
    while it is fair and somebody still does.
    """
    if not trace.name:
        raise click.UsageError(f"{trace}: this is a folder")
    target = output or trace.with_name(trace.name.removesuffix(".json").removesuffix(".trace") + ".min.trace.json")
    check_writable(target, "--output", regular=True)
    check_page(page, [trace, target])

    from checker.report.progress import StatusLine
    from traces import TraceError, verify, write_trace
    from traces.replay.replay import replay
    from traces.shorten.minimise import minimise as shortened

    with StatusLine() as status:

        def progress(steps: int, runs: int) -> None:
            if status.due():
                status.show(f"{steps} steps left, {runs:,} schedules tried")

        given = verified_trace(trace)
        try:
            found = shortened(given, progress)
        except TraceError as problem:
            raise click.UsageError(f"{trace}: {problem}") from None
        short, proof = searched(found.trace, search, status) if given.lasso is None else (found.trace, False)
    try:
        verify(short)
        replay(short)
        write_trace(short, target)
    except TraceError as problem:
        raise NoVerdict(str(problem)) from None
    code = draw(page, short)
    before, after = len(given.steps), len(short.steps)
    if as_json:
        import json

        result: dict[str, Any] = {
            "property": short.property_name or None,
            "goal": None if short.lasso is None else short.lasso.goal,
            "steps_before": before,
            "steps": after,
            "schedules_tried": found.runs,
            "shortest": proof,
            "configuration": short.configuration.as_dict(),
            "trace": str(target),
        }
        return say(json.dumps(result, indent=1), code)
    from traces import to_text
    from traces.explain.folding import folded

    told = "none is shorter with this configuration" if proof else "a shorter one may exist"
    still = f"break {short.property_name}" if short.lasso is None else f"leave {short.lasso.goal} unreached"
    if short.failure is not None and short.failure.widen:
        still = f"need more room than there is ({short.failure.widen})"
    head = f"{before} steps are {after} now, and still {still}; {told}. Saved as {target}"
    return say(f"{folded(head)}\n\n{to_text(short)}", code)


def searched(trace: Trace, limit: float, status: Any) -> tuple[Trace, bool]:
    """The shortest counterexample of the trace's configuration if exploring finds it in time, else
    the trace; and whether it is known that none is shorter."""
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from checker.explore.result import Limits
    from invariants import properties_of, property_named
    from traces import build_trace

    if status.due():
        status.show(f"{len(trace.steps)} steps left; exploring for a shorter one")
    if trace.failure is not None:
        return searched_failing(trace, trace.failure, limit)
    prop = property_named(trace.property_name, properties_of(trace.configuration.protocol))
    code, _ = Compiled.of(trace.model, [prop], True)
    depth = len(trace.steps) - 1
    found = Explorer(code, 0).run(Limits(depth, seconds=limit, memory=MEMORY))
    if found.violations:
        return build_trace(trace.model, prop, found.violations[prop.name].schedule), True
    whole = not found.stopped and not found.error and (found.complete or found.depth >= depth)
    return trace, whole


def searched_failing(trace: Trace, failure: Failure, limit: float) -> tuple[Trace, bool]:
    """The same of a run that ends in a run-time error: of the author, or of a capacity."""
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from checker.explore.result import Limits
    from invariants import NO_RUNTIME_ERROR, properties_of, property_named
    from traces.record.failure import ENABLED, START
    from traces.record.runner import failing_trace

    if failure.where == START:
        return trace, True
    known = properties_of(trace.configuration.protocol)
    judged = [property_named(failure.judged, known)] if failure.judged else []
    code, _ = Compiled.of(trace.model, judged, True)
    depth = len(trace.steps) - (failure.where != ENABLED)  # such an error is met when a state is expanded
    found = Explorer(code, 0).run(Limits(depth, seconds=limit, memory=MEMORY))
    run = found.error_run
    if not failure.widen:
        run = found.violations[NO_RUNTIME_ERROR.name].schedule if found.failed else None
    if run is not None and len(run) < len(trace.steps):
        return failing_trace(trace.model, run, not failure.widen, judged), True
    whole = not found.stopped and (found.complete or found.depth >= depth)
    return trace, whole and not (found.error and run is None)
