"""Check that every step of `zab` is a step of abstract ZAB, which `zabcheck prove` proves safe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.output_files import check_writable
from checker.requests.exploration import ExplorationRequest
from checker.requests.explore import explored
from checker.requests.model import SIZES
from checker.requests.ready import make_ready
from checker.requests.request import Request
from checker.requests.watch import Watch
from zabspec.worlds.steps import BUDGETS

if TYPE_CHECKING:
    from checker.refinement.report import RefinementReport
    from traces import Trace
    from zabspec.model import Configuration

USUAL: Mapping[str, int] = {"timeouts": 1, "crashes": 0, "losses": 0, "partitions": 0}


@dataclass(frozen=True)
class RefineRequest(Request):
    """A refinement check: `zab` and abstract ZAB, explored side by side.

    Attributes:
        variant: of `zab`.
        quorums, nodes, txns, budgets: as for a model.
        depth, keep_going, symmetry, threads, max_states, time_limit (seconds), memory_limit (bytes): as for an
            exploration.
        trace: the file for the failing run; empty to save nothing.
    """

    kind: ClassVar[str] = "refine"
    shares: ClassVar[tuple[str, ...] | None] = (*SIZES, "txns", *BUDGETS)

    variant: str = ""
    quorums: str = ""
    nodes: int | None = None
    txns: int = 2
    budgets: Mapping[str, int] = field(default_factory=lambda: USUAL)
    depth: int | None = None
    keep_going: bool = False
    symmetry: bool = True
    threads: int | None = None
    max_states: int | None = None
    time_limit: float | None = None
    memory_limit: int | None = None
    trace: str = ""

    def exploration(self) -> ExplorationRequest:
        """Return the request to explore both protocols, without reductions.

        Raises:
            RequestError: a value is wrong.
        """
        return ExplorationRequest(
            "zab",
            self.variant,
            quorums=self.quorums,
            nodes=self.nodes,
            txns=self.txns,
            budgets=self.budgets,
            depth=self.depth,
            keep_going=self.keep_going,
            symmetry=self.symmetry,
            reduction="none",
            threads=self.threads,
            max_states=self.max_states,
            time_limit=self.time_limit,
            memory_limit=self.memory_limit,
        )

    def validate(self) -> None:
        self.exploration()

    def traced(self) -> Configuration | None:
        return self.exploration().configuration()


def answer(request: RefineRequest, watch: Watch | None = None) -> RefinementReport:
    """Explore both protocols side by side.

    Raises:
        RequestError: the request is wrong.
        NoVerdict: the interpreter does not reproduce the failing run: an error of zabcheck.
    """
    from checker.explore.compiled import Compiled
    from checker.opinion.compiled import second_opinion
    from checker.opinion.interpreted import UNHEARD
    from checker.refinement.model import REFINES, RefinedModel
    from checker.refinement.report import RefinementReport
    from checker.report.report import Explored
    from invariants import NO_RUNTIME_ERROR
    from traces import TraceError
    from zabspec.model import ConfigError

    if request.trace:
        check_writable(Path(request.trace), "--trace", regular=True)
    search = request.exploration()
    configuration = search.configuration()
    try:
        model = RefinedModel(configuration)
    except ConfigError as problem:
        raise RequestError(str(problem)) from None
    if request.time_limit is None:  # which counts this too
        make_ready(lambda: Compiled.of(model, model.properties, request.symmetry), "both protocols in machine code")
    exploration, threads, symmetry_off = explored(model, model.properties, search.limits, search, watch or Watch())
    # it ended the exploration, and is no step without refinement
    exploration.violations.pop(NO_RUNTIME_ERROR.name, None)
    report = Explored(
        exploration, configuration, search.limits, model.epochs, model.channels, request.keep_going, threads,
        symmetry_off, request=request.as_json(),
    )  # fmt: skip
    names = sorted(exploration.violations, key=lambda name: (exploration.violations[name].depth, name != REFINES))
    failures = {}
    if names:
        from checker.refinement.failure import failure  # it imports z3, which nothing else here needs

        try:
            code = Compiled(model, model.properties, exploration.symmetry)
            failures = {name: failure(code, exploration.violations[name]) for name in names}
        except TraceError as problem:
            raise NoVerdict(
                f"the interpreted world does not confirm the failing run ({problem}): a bug of zabcheck"
            ) from None
    path, trouble = saved(failures[names[0]].trace, request) if names else ("", "")
    second = UNHEARD
    if report.covered and not names:
        second = second_opinion(Compiled(model, model.properties, False))
    return RefinementReport(model, report, failures, path, trouble or second.trouble, second)


def saved(trace: Trace, request: RefineRequest) -> tuple[str, str]:
    """Save a run, if the request names a file; return the file, and what failed."""
    from traces import TraceError, write_trace

    if not request.trace:
        return "", ""
    try:
        write_trace(replace(trace, request=request.as_json()), request.trace)
    except TraceError as problem:
        return "", str(problem)
    return str(Path(request.trace)), ""
