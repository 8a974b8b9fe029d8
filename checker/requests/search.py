"""Search for a violation by random walks, if the state space is too large to explore."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.output_files import check_writable
from checker.requests.counterexamples import counterexample_of, trace_path, verified_and_saved
from checker.requests.model import ModelRequest, check_initial, protocol_named
from checker.requests.properties import LITERAL, chosen_properties
from checker.requests.request import Request, at_least, seconds
from checker.requests.watch import Watch
from zabspec.limits import Deadline

if TYPE_CHECKING:
    from checker.search.report import SearchReport, Shortened
    from checker.search.search import Walked, WalkViolation
    from invariants.registry import Property
    from zabspec.model import Configuration, Model

HOW = ("random", "swarm", "best")
USUAL = 60.0  # seconds, if the request has no time limit
SHORTENING = 30.0  # seconds for minimising a run
LARGEST_SEED = 2**32 - 1


@dataclass(frozen=True)
class SearchRequest(Request):
    """A search by random walks.

    Attributes:
        model: what is searched.
        how: `random`, `swarm` or `best` (docs/how-to/large-models.md).
        depth: the maximum number of steps of a walk.
        properties: names; empty for all that are checked by default.
        keep_going: whether to continue past a violation, for the other properties.
        seed: 0 to 2**32 - 1; None to draw one.
        threads: None for all cores.
        time_limit: seconds; None for 60.
        trace: the file for the first run; empty for a file named for it; None to save nothing.
    """

    kind: ClassVar[str] = "search"
    shares: ClassVar[tuple[str, ...] | None] = ("protocol", "variant", "network", "start", "quorums")
    shortens: ClassVar[bool] = True

    model: ModelRequest = field(default_factory=ModelRequest)
    how: str = "random"
    depth: int | None = None
    properties: tuple[str, ...] = ()
    keep_going: bool = False
    seed: int | None = None
    threads: int | None = None
    time_limit: float | None = None
    trace: str | None = None

    def validate(self) -> None:
        if self.how not in HOW:
            raise RequestError(f"there is no search {self.how!r}; there are {', '.join(HOW)}")
        if self.depth == 0:
            raise RequestError("--depth 0 leaves --search no steps")
        if self.seed is not None and not 0 <= self.seed <= LARGEST_SEED:
            raise RequestError(f"--seed must be 0 to {LARGEST_SEED}, not {self.seed}")
        at_least(self, 1, "depth", "threads")
        seconds(self, "time_limit")

    def traced(self) -> Configuration | None:
        return self.model.configuration()


def answer(request: SearchRequest, watch: Watch | None = None) -> SearchReport:
    """Search, and minimise the runs to violations.

    Raises:
        RequestError: the request is wrong.
        NoVerdict: there is no answer.
        ConfigError, LanguageError: the source of the protocol is wrong.
    """
    from checker.search.report import SearchReport
    from zabspec.model import Model

    protocol_named(request.model.protocol)
    judged = chosen_properties(request.properties, request.model.protocol)
    configuration = request.model.configuration(any(p.name == LITERAL for p in judged), promises=True)
    if request.trace:
        check_writable(Path(request.trace), "--trace", regular=True)
    model = Model(configuration)
    check_initial(model)
    walked, most = walk(model, judged, request, watch or Watch())
    short = {name: shortened(model, broken, walked, request) for name, broken in walked.broken.items()}
    return SearchReport(walked, configuration, short, most, request.as_json())


def walk(model: Model, judged: Sequence[Property], request: SearchRequest, watch: Watch) -> tuple[Walked, int]:
    """Search; return the result, and the maximum number of steps of a walk."""
    import secrets

    from checker.search.code import SearchCode
    from checker.search.search import MOST_STEPS, Search, Walked
    from zabspec.limits import done_in_time

    started = time.perf_counter()
    limit = request.time_limit or USUAL
    seed = secrets.randbelow(LARGEST_SEED + 1) if request.seed is None else request.seed
    most = request.depth or MOST_STEPS
    if not done_in_time(lambda: SearchCode(model, judged), limit):
        late = Walked(request.how, seed, 0, tuple(judged))
        late.stopped = f"--time-limit {limit:g} s reached before the model was ready"
        late.compile_seconds = time.perf_counter() - started
        return late, most
    code = SearchCode(model, judged)
    ready = time.perf_counter() - started
    search = Search(code, request.how, seed, request.threads or 0, most)
    with watch.searching() as progress:
        walked = search.run(limit, request.keep_going, progress)
    walked.compile_seconds = ready
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
