"""Search for a violation by random walks, if the state space is too large to explore."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.requests.base.bounded import Checked, Depth, DrawnBy, KeepGoing, Threads, TimeLimit, TraceOutput
from checker.requests.base.counterexamples import counterexample_of, trace_path, verified_and_saved
from checker.requests.base.model import ModelRequest, check_initial, protocol_named
from checker.requests.base.request import Option, function, names_in
from checker.requests.base.watch import QUIET, Watch
from checker.requests.properties import LITERAL, chosen_properties
from zabspec.limits import Deadline

if TYPE_CHECKING:
    from checker.search.report import Searched, Shortened
    from checker.search.search import Walked, WalkViolation
    from invariants.registry import Property
    from zabspec.model import Model

USUAL = 60.0  # seconds, if the request has no time limit
SHORTENING = 30.0  # seconds for minimising a run
LARGEST_SEED = 2**32 - 1


@dataclass(frozen=True)
class SearchRequest(ModelRequest):
    """Walk at random through a state space that is too large to explore."""

    kind: ClassVar[str] = "search"
    mode: ClassVar[str | Option] = Option(
        "Take random walks (how-to/large-models.md) for --time-limit, or 60 s.", flag="search"
    )
    draws: ClassVar[bool] = True
    shares: ClassVar[tuple[str, ...] | None] = ("protocol", "variant", "network", "start", "quorums")
    shortens: ClassVar[bool] = True

    depth: Depth = None
    properties: Checked = ()
    keep_going: KeepGoing = False
    seed: DrawnBy = None
    threads: Threads = None
    time_limit: TimeLimit = None
    trace: TraceOutput = None

    def validate(self) -> None:
        if self.depth == 0:
            raise RequestError("--depth 0 leaves --search no steps")

    def answer(self, watch: Watch = QUIET) -> Searched:
        from checker.search.report import Searched
        from zabspec.model import Model

        protocol_named(self.name)
        judged = chosen_properties(names_in(self.properties), self.name)
        configuration = self.configuration(any(p.name == LITERAL for p in judged), promises=True)
        model = Model(configuration)
        check_initial(model)
        walked, most = walk(model, judged, self, watch)
        short = {name: shortened(model, broken, walked, self) for name, broken in walked.broken.items()}
        return Searched(walked, configuration, short, most, self.as_json())


search = function(SearchRequest)


def walk(model: Model, judged: Sequence[Property], request: SearchRequest, watch: Watch) -> tuple[Walked, int]:
    """Search; return the result, and the maximum number of steps of a walk."""
    import secrets

    from checker.opinion.searched import opinion_of_runs
    from checker.search.code import SearchCode
    from checker.search.search import MOST_STEPS, RandomSearch, Walked
    from invariants.registry import RUNTIME
    from zabspec.limits import done_in_time

    started = time.perf_counter()
    limit = request.time_limit or USUAL
    seed = secrets.randbelow(LARGEST_SEED + 1) if request.seed is None else request.seed
    most = request.depth or MOST_STEPS
    if not done_in_time(lambda: SearchCode(model, judged), limit):
        late = Walked(seed, 0, tuple(judged))
        late.stopped = f"--time-limit {limit:g} s reached before the model was ready"
        late.compile_seconds = time.perf_counter() - started
        return late, most
    code = SearchCode(model, judged)
    ready = time.perf_counter() - started
    search = RandomSearch(code, seed, request.threads or 0, most)
    with watch.following() as progress:
        walked = search.run(limit, request.keep_going, progress)
    walked.compile_seconds = ready
    taken = [v.schedule[:-1] if v.property.of == RUNTIME else v.schedule for v in walked.broken.values()]
    walked.second = opinion_of_runs(model, code, judged, taken)
    return walked, most


class OutOfTime(Exception):
    """Minimising a run takes too long."""


def shortened(model: Model, broken: WalkViolation, walked: Walked, request: SearchRequest) -> Shortened:
    """Return the trace of a violation, minimised if there is time for it, verified in the other worlds, and saved."""
    from checker.search.report import Shortened
    from traces import TraceError, build_trace
    from traces.shorten.minimise import minimise

    name = broken.property.name
    path = trace_path(request, walked.broken, name, request.keep_going)
    end = Deadline(SHORTENING)

    def in_time(*_: int) -> None:
        if end.over():
            raise OutOfTime

    trace = None
    with contextlib.suppress(OutOfTime, TraceError, KeyboardInterrupt):
        if broken.schedule:
            trace = minimise(build_trace(model, broken.property, broken.schedule), in_time).trace
    if trace is not None:
        kept = verified_and_saved(trace, name, path, request)
    else:
        kept = counterexample_of(model, broken.property, broken.schedule, path, request)
    return Shortened(kept, len(broken.schedule), broken.walk, trace is not None)
