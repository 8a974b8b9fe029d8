"""`zabcheck --search`: look for a violation by walks, where exploring everything is out of reach."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import NO_VERDICT, VIOLATED, check_writable, complain, protocol_named, say
from checker.commands.drawn import check_page, draw

if TYPE_CHECKING:
    from checker.search.report import SearchReport, Shortened
    from checker.search.search import Broken, Walked
    from invariants.registry import Property
    from zabspec.model import Model

__all__ = ["refuse_what_a_search_has_not", "search"]

USUAL = 60.0  # seconds, unless one says
SHORTENING = 30.0  # seconds for making a run shorter
LARGEST_SEED = 2**32 - 1

# what says how an exploration goes, which a search does not
NOT_OF_SEARCH = (
    "no_symmetry", "master", "checkpoint", "resume", "fingerprint", "max_states", "memory_limit", "symbolic", "junit",
    "required", "reduction",
)  # fmt: skip


def refuse_what_a_search_has_not(options: Mapping[str, Any]) -> None:
    """
    Raises:
        UsageError: an option says how an exploration goes, and this is none; or how a search goes, and this is none.
    """
    if options["search"] is None:
        if options["seed"] is not None and options.get("mutate") is None:
            raise click.UsageError("--seed is for --search and --mutate")
        return
    if options["engine"] != "compiled":
        raise click.UsageError(f"--search does not go with --engine {options['engine']}")
    for name in NOT_OF_SEARCH:
        if options.get(name):
            flag = "require-witness" if name == "required" else name.replace("_", "-")
            raise click.UsageError(f"--{flag} does not go with --search")
    check_page(options["html"], [options["trace"]])
    if options["depth"] == 0:
        raise click.UsageError("--depth 0 leaves --search no step to take")
    if options["trace"] is not None and options["no_trace"]:
        raise click.UsageError("--trace and --no-trace contradict each other")


def search(options: Mapping[str, Any]) -> int:
    """Search and report; returns the exit code.

    Raises:
        UsageError: the question was wrong.
        Cannot: there is no answer.
    """
    from checker.commands.model_options import LITERAL, check_initial, chosen_properties, configured
    from checker.search.report import SearchReport
    from zabspec.model import Model

    protocol_named(options["protocol"])
    judged = chosen_properties(options["names"], options["protocol"])
    configuration = configured(options, literal=any(p.name == LITERAL for p in judged))
    if options["trace"] is not None:
        check_writable(options["trace"], "--trace", regular=True)
    model = Model(configuration)
    check_initial(model)
    walked, most = walk(model, judged, options)
    short = {name: shortened(model, broken, walked, options) for name, broken in walked.broken.items()}
    return publish(SearchReport(walked, configuration, short, most), options)


def walk(model: Model, judged: Sequence[Property], options: Mapping[str, Any]) -> tuple[Walked, int]:
    """Search; returns what it came to, and how many steps a walk might have."""
    import secrets

    from checker.explore.deadline import done_in_time
    from checker.search.code import SearchCode
    from checker.search.search import MOST_STEPS, Search, Walked

    started = time.perf_counter()
    seconds = options["time_limit"] or USUAL
    seed = secrets.randbelow(LARGEST_SEED + 1) if options["seed"] is None else options["seed"]
    most = options["depth"] or MOST_STEPS
    if not done_in_time(lambda: SearchCode(model, judged), seconds):
        late = Walked(options["search"], seed, 0, tuple(judged))
        late.stopped = f"--time-limit {seconds:g} s reached before the model was ready"
        late.compile_seconds = time.perf_counter() - started
        return late, most
    code = SearchCode(model, judged)
    ready = time.perf_counter() - started
    found = Search(code, options["search"], seed, options["threads"] or 0, most)
    with Progress() as tell:
        walked = found.run(seconds, options["keep_going"], tell)
    walked.compile_seconds = ready
    return walked, most


def Progress() -> Any:
    """A line on the terminal while it walks."""
    from checker.report.progress import StatusLine

    class Line(StatusLine):
        def __call__(self, walked: Walked) -> None:
            if self.due():
                rate = walked.steps / max(walked.seconds, 1e-9)
                met = f"{len(walked.met)} of {len(walked.properties)} premises met"
                broken = f", {len(walked.broken)} violated" if walked.broken else ""
                self.show(f"{walked.walks:,} walks, {walked.steps:,} steps, {rate:,.0f}/s, {met}{broken}")

    return Line()


class OutOfTime(Exception):
    """Making a run shorter takes too long."""


def shortened(model: Model, broken: Broken, walked: Walked, options: Mapping[str, Any]) -> Shortened:
    """The trace of a violation, minimised if that can be done in time, held against the other worlds, and saved."""
    from checker.report.counterexamples import counterexample_of, held_and_saved, trace_path
    from checker.search.report import Shortened
    from traces import TraceError, build_trace
    from traces.shorten.minimise import minimise

    name, path = broken.property.name, trace_path(options, walked.broken, broken.property.name)
    end = time.perf_counter() + SHORTENING

    def in_time(*_: int) -> None:
        if time.perf_counter() > end:
            raise OutOfTime

    trace = None
    with contextlib.suppress(OutOfTime, TraceError, KeyboardInterrupt):
        if broken.schedule:
            trace = minimise(build_trace(model, broken.property, broken.schedule), in_time).trace
    if trace is not None:
        kept = held_and_saved(trace, name, path)
    else:
        kept = counterexample_of(model, broken.property, broken.schedule, path)
    return Shortened(kept, len(broken.schedule), broken.walk, trace is not None)


def publish(report: SearchReport, options: Mapping[str, Any]) -> int:
    """Print the report; returns the exit code."""
    told = [v.counterexample for v in report.violations.values()]
    code = VIOLATED if report.violations and all(c.replayed and not c.trouble for c in told) else NO_VERDICT
    if options["as_json"]:
        import json

        code = say(json.dumps(report.as_json(), indent=1), code)
    else:
        code = say(report.text(), code)
    for c in told:
        if c.trouble:
            complain(c.trouble)
    return max(code, draw(options["html"], told[0].trace if told else None))
