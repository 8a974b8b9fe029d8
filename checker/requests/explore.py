"""Explore a model breadth-first and check its properties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.output_files import check_writable
from checker.requests.counterexamples import counterexample, run_to_error, trace_path
from checker.requests.errors import RequestError
from checker.requests.model import ModelRequest, protocol_named
from checker.requests.properties import LITERAL, chosen_properties, required_witnesses
from checker.requests.request import Request, at_least, flag, seconds
from checker.requests.watch import Watch

if TYPE_CHECKING:
    from checker.explore.compiled import Compiled
    from checker.explore.result import Exploration, Limits
    from checker.report.report import Report
    from checker.symbolic.extension import Z3Answer
    from invariants.registry import Property
    from zabspec.model import Configuration, Model

__all__ = ["ENGINES", "REDUCTIONS", "Compile", "ExploreRequest", "answer", "explored"]

ENGINES = ("compiled", "interpret", "spark")
REDUCTIONS = ("auto", "stuttering", "none")
FINGERPRINTS = (64, 128)

# Makes machine code of a model, with the properties checked, whether with symmetry, and whether with every step;
# returns it, and why without symmetry.
Compile = Callable[["Model", Sequence["Property"], bool, bool], "tuple[Compiled, str]"]


@dataclass(frozen=True)
class ExploreRequest(Request):
    """A breadth-first exploration.

    Attributes:
        model: what is explored.
        depth: how many steps deep; None: to exhaustion.
        properties: names; none: all that are checked by default.
        require_witness: names of properties whose premise has to be reached, or `all`.
        keep_going: explore on past a violation, for the shortest run to a violation of each property.
        symmetry: count states that are renamings of each other once, where that is sound.
        reduction: what may be left out: `auto`, all that verdicts do not need; `stuttering`, stuttering receipts alone;
            `none`, nothing.
        engine: `compiled`, `interpret` or `spark`.
        threads: None: all cores.
        max_states, time_limit (seconds), memory_limit (bytes): where to give up.
        symbolic: seconds for which z3 is asked about properties that were not violated; None: not at all.
        master, fingerprint (bits): of Spark.
        checkpoint, resume: the folder that keeps levels, and whether to resume from it.
        trace: where the first counterexample is saved; empty: a file named for it; None: nowhere.
    """

    kind: ClassVar[str] = "explore"

    model: ModelRequest = field(default_factory=ModelRequest)
    depth: int | None = None
    properties: tuple[str, ...] = ()
    require_witness: tuple[str, ...] = ()
    keep_going: bool = False
    symmetry: bool = True
    reduction: str = "auto"
    engine: str = "compiled"
    threads: int | None = None
    max_states: int | None = None
    time_limit: float | None = None
    memory_limit: int | None = None
    symbolic: float | None = None
    master: str = ""
    checkpoint: str = ""
    resume: bool = False
    fingerprint: int | None = None
    trace: str | None = None

    def validate(self) -> None:
        if self.engine not in ENGINES:
            raise RequestError(f"there is no engine {self.engine!r}; there are compiled, interpret and spark")
        if self.reduction not in REDUCTIONS:
            raise RequestError(f"there is no reduction {self.reduction!r}; there are {', '.join(REDUCTIONS)}")
        if self.fingerprint not in (None, *FINGERPRINTS):
            raise RequestError(f"--fingerprint is 64 or 128, not {self.fingerprint}")
        at_least(self, 0, "depth")
        at_least(self, 1, "threads", "max_states", "memory_limit")
        seconds(self, "time_limit", "symbolic")
        self.refuse_contradictions()

    def refuse_contradictions(self) -> None:
        """
        Raises:
            RequestError: two values contradict each other.
        """
        if self.engine == "spark":
            for name in ("threads", "memory_limit"):
                if getattr(self, name) is not None:
                    raise RequestError(f"{flag(name)} does not go with --engine spark: Spark's own settings say")
        else:
            for name in ("master", "fingerprint"):
                if getattr(self, name):
                    raise RequestError(f"--{name} is for --engine spark")
            if self.checkpoint and self.engine == "interpret":
                raise RequestError("--checkpoint does not go with --engine interpret")
        if self.resume and not self.checkpoint:
            raise RequestError("--resume needs --checkpoint, the folder to go on from")
        if self.engine == "interpret" and self.threads is not None:
            raise RequestError("--threads does not go with --engine interpret, which has one")

    @property
    def every_step(self) -> bool:
        """Whether the exploration takes every step, stuttering receipts among them."""
        return self.reduction == "none"

    @property
    def limits(self) -> Limits:
        """Where to stop."""
        from checker.explore.result import Limits

        return Limits(self.depth, self.max_states, self.time_limit, self.memory_limit)

    def checks(self) -> tuple[list[Property], Configuration]:
        """Return the properties to check, and the configuration to explore.

        Raises:
            RequestError: there is no such property or model.
            ConfigError, LanguageError: the source of the protocol is wrong.
        """
        protocol_named(self.model.protocol)
        judged = chosen_properties(self.properties, self.model.protocol)
        literal = any(p.name == LITERAL for p in judged)
        return judged, self.model.configuration(literal, promises=self.reduction == "auto")


def answer(request: ExploreRequest, watch: Watch | None = None) -> Report:
    """Explore, and make the counterexamples.

    Raises:
        RequestError: the request is wrong.
        NoVerdict: there is no answer.
        ConfigError, LanguageError: the source of the protocol is wrong.
    """
    from checker.explore.vacuous import vacuous
    from checker.report.report import Report
    from checker.requests.restart import not_begun, reduction_off
    from zabspec.model import Model

    watch = watch or Watch()
    judged, configuration = request.checks()
    required = required_witnesses(request.require_witness, [p.name for p in judged])
    if request.trace:
        check_writable(Path(request.trace), "--trace", regular=True)
    model, limits = Model(configuration), request.limits
    exploration, threads, symmetry_off = explored(model, judged, limits, request, watch)
    found = exploration.violations

    return Report(
        exploration,
        configuration,
        limits,
        model.epochs,
        model.channels,
        request.keep_going,
        threads,
        symmetry_off,
        {
            name: counterexample(model, exploration, name, trace_path(request, found, name, request.keep_going))
            for name in found
        },
        z3_answers_to(request, configuration, judged, exploration, watch),
        required,
        "" if exploration.reduced else reduction_off(model, limits, request) or not_begun(exploration),
        run_to_error(model, exploration, trace_path(request, ["no-room"], "no-room", request.keep_going)),
        vacuous(model, judged),
    )


def z3_answers_to(
    request: ExploreRequest,
    configuration: Configuration,
    judged: Sequence[Property],
    exploration: Exploration,
    watch: Watch,
) -> dict[str, Z3Answer]:
    """Return what z3 says of the properties that were not violated, if that is requested. After Ctrl-C nothing is
    decided, and the exploration has its report all the same."""
    if request.symbolic is None:
        return {}
    from checker.symbolic.extension import UNDECIDED, Z3Answer, z3_answers

    unbroken = [p for p in judged if p.name not in exploration.violations]
    try:
        return z3_answers(configuration, unbroken, request.symbolic, request.threads or 0)
    except KeyboardInterrupt:
        watch.note("interrupted; z3 has decided nothing")
        return {p.name: Z3Answer(UNDECIDED, interrupted=True) for p in unbroken}


def explored(
    model: Model,
    judged: Sequence[Property],
    limits: Limits,
    request: ExploreRequest,
    watch: Watch,
    compiled: Compile | None = None,
) -> tuple[Exploration, int, str]:
    """Run the engine, once for each group of properties that it can check at once.

    Args:
        compiled: where several explorations share machine code; None: `Compiled.of`.

    Returns:
        The result, the number of threads (0: not applicable), and why symmetry was not used (empty: it was).

    Raises:
        RequestError: one checkpoint is to keep several explorations.
    """
    from checker.explore.groups import groups_of, joined

    groups = groups_of(judged)
    found: list[tuple[Exploration, int, str]] = []
    if len(groups) > 1:
        if request.checkpoint:
            most = len(groups[0])
            raise RequestError(f"--checkpoint goes with at most {most} properties; name them with --property")
        request = replace(request, reduction=reduction_of_several(model, judged, request))
    for group in groups:
        left = limits
        if limits.seconds is not None and found:
            spent = sum(r.seconds + r.compile_seconds for r, _, _ in found)
            left = replace(limits, seconds=max(0.01, limits.seconds - spent))
        found.append(explored_once(model, group, left, request, watch, compiled))
    together = [r for r, _, _ in found]
    why = next((why for _, _, why in found if why), "")
    whole = together[0] if len(found) == 1 else joined(together, judged, request.keep_going)
    return whole, found[0][1], why


def reduction_of_several(model: Model, judged: Sequence[Property], request: ExploreRequest) -> str:
    """Return the reduction with which properties are checked in several explorations. These have to go through the same
    states, since one depth is reported for all: at most stuttering receipts are left out, in all of them or in none."""
    from checker.explore.stuttering import why_every_receipt
    from invariants.binding import full_namespace
    from zabspec.language.frontend import FrontEnd

    program = model.program
    front = FrontEnd(program.layout, full_namespace(model), program.types, program.handlers)
    return "none" if request.every_step or why_every_receipt(model, judged, front) else "stuttering"


def explored_once(
    model: Model,
    judged: Sequence[Property],
    limits: Limits,
    request: ExploreRequest,
    watch: Watch,
    compiled: Compile | None = None,
) -> tuple[Exploration, int, str]:
    """Run the engine for as many properties as it can check at once; see `explored`."""
    import time

    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from checker.explore.interpret import Interpreter
    from checker.requests.restart import first_limits, outgrown, reduction_off, restarted
    from checker.requests.running import failed_at_start, out_of_time, ready_in_time, run_engine
    from checker.requests.spark import on_spark

    started = time.perf_counter()
    compiled = compiled or Compiled.of
    symmetry_off = "" if request.symmetry else "--no-symmetry"
    failed = failed_at_start(model, judged, request.engine)
    if failed is not None:
        return failed, 0, symmetry_off
    if limits.seconds is not None and not ready_in_time(model, judged, limits.seconds, request):
        return out_of_time(judged, limits, request.engine), 0, symmetry_off
    if request.engine == "spark":
        spent = time.perf_counter() - started
        exploration, asymmetry = on_spark(model, judged, replace(limits, spent=spent), request, watch)
        exploration.compile_seconds = time.perf_counter() - started - exploration.seconds
        return exploration, 0, symmetry_off or asymmetry
    if request.engine == "interpret":
        if not symmetry_off:  # the compiled program says whether it is sound, for both engines
            symmetry_off = compiled(model, judged, True, request.every_step)[1]
        interpreter = Interpreter(model, judged, not symmetry_off, request.every_step)
        ready = time.perf_counter() - started
        exploration = run_engine(interpreter, replace(limits, spent=ready), request, watch)
        exploration.compile_seconds += ready
        return exploration, 0, symmetry_off
    code, asymmetry = compiled(model, judged, not symmetry_off, request.every_step)
    engine = Explorer(code, request.threads or 0)
    ready = time.perf_counter() - started
    limits = replace(limits, spent=ready)
    reduces = not reduction_off(model, limits, request)
    exploration = run_engine(engine, first_limits(limits) if reduces else limits, request, watch)
    exploration.compile_seconds += ready
    if reduces and outgrown(exploration, limits):
        exploration = restarted(code, engine, exploration, limits, request, watch, started)
    return exploration, engine.threads, symmetry_off or asymmetry
