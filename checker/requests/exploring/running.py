"""Run an engine on a task: with a checkpoint, and not before the model is compiled."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from checker.errors import RequestError
from zabspec.joining import joined, joined_as

if TYPE_CHECKING:
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from checker.explore.interpret import Interpreter
    from checker.explore.result import Exploration, Limits
    from checker.requests.base.watch import Watch
    from checker.requests.exploring.exploration import ExplorationRequest
    from invariants.registry import Property
    from zabspec.model import Model

# Makes machine code of a model, with the properties checked, whether with symmetry, and whether with every step;
# returns it, and why without symmetry.
Compile = Callable[["Model", Sequence["Property"], bool, bool], "tuple[Compiled, str]"]


@dataclass(frozen=True)
class EngineTask:
    """What an engine explores, and how.

    Attributes:
        judged: no more properties than an engine can check at once.
        limits: when the task begins.
        compiled: provides machine code that several explorations share; None for `Compiled.of`.
        started: when it began, as `time.perf_counter()`.
        ran: the engines that ran so far.
    """

    model: Model
    judged: Sequence[Property]
    limits: Limits
    request: ExplorationRequest
    watch: Watch
    compiled: Compile | None = None
    started: float = field(default_factory=time.perf_counter)
    ran: list[Explorer | Interpreter] = field(default_factory=list)

    @property
    def spent(self) -> float:
        """The seconds since it began."""
        return time.perf_counter() - self.started

    def code(self, symmetry: bool) -> tuple[Compiled, str]:
        """Return the model's machine code, and why without symmetry."""
        from checker.explore.compiled import Compiled

        return (self.compiled or Compiled.of)(self.model, self.judged, symmetry, self.request.every_step)

    def run(self, engine: Explorer | Interpreter, limits: Limits | None = None) -> Exploration:
        """Explore within what is left of the time limit since the task began.

        Args:
            limits: to use instead of the task's.

        Raises:
            RequestError: the checkpoint cannot be used, or does not match the request.
            NoVerdict: the engine found that states it merged are not renamings of each other.
        """
        from checker.explore.breadth_first import Explorer

        limits, ready, request = limits or self.limits, self.spent, self.request
        self.ran.append(engine)
        limits = replace(limits, spent=limits.spent + ready)
        with self.watch.exploring() as progress:
            if not request.checkpoint or not isinstance(engine, Explorer):
                exploration = engine.run(limits, request.keep_going, progress)
            else:
                exploration = run_with_checkpoint(engine, limits, request, self.watch, progress)
        exploration.compile_seconds += ready
        return exploration


def run_with_checkpoint(
    engine: Explorer,
    limits: Limits,
    request: ExplorationRequest,
    watch: Watch,
    progress: Callable[[Exploration, int, int], None] | None,
) -> Exploration:
    """Explore with a checkpoint after each level, or resume from one.

    Raises:
        RequestError: the folder cannot be used, or does not match the request.
    """
    from checker.explore.checkpoints.checkpoint import Refused
    from checker.explore.checkpoints.files import StorageError
    from checker.explore.checkpoints.kept import Kept

    folder = Path(request.checkpoint)
    try:
        with Kept(folder, engine.code, limits, request.resume) as keeper:
            exploration = engine.run(limits, request.keep_going, progress, keeper)
            if exploration.stopped and keeper.depth >= 0:
                watch.note(f"the checkpoint {folder} is at depth {keeper.depth}; --resume continues from it")
    except (Refused, StorageError, OSError) as problem:
        raise RequestError(str(problem)) from None
    return exploration


def failed_at_start(model: Model, judged: Sequence[Property], engine: str) -> Exploration | None:
    """Return the exploration of a model with an initial state that meets a run-time error, or None if none does."""
    from zabspec.language.python.reference import ERRORS, range_error
    from zabspec.starts import Schedule

    try:
        assert model.program.starts
    except ERRORS as problem:
        from checker.explore.failing import note_failure
        from checker.explore.result import Exploration
        from traces.record.failure import of_author

        r = Exploration(tuple(judged), engine=engine, levels=[1], raw_levels=[1], expanded_levels=-1)
        note_failure(
            r,
            model,
            Schedule.of((), vars(problem)["start"]),
            str(range_error(problem, "the initial state")),
            of_author(problem),
        )
        return r
    return None


def ready_in_time(task: EngineTask, limit: float) -> bool:
    """Return whether the model's machine code is in the cache within `limit` seconds."""
    from checker.explore.compiled import Compiled
    from zabspec.limits import done_in_time

    kind: type[Compiled] = Compiled
    request = task.request
    if request.engine == "interpret" and not request.symmetry:
        return True
    if request.engine in joined("engines"):
        kind = joined_as("engines", request.engine).code_for(task)
    return done_in_time(lambda: kind.of(task.model, task.judged, request.symmetry, request.every_step), limit)


def out_of_time(judged: Sequence[Property], limits: Limits, engine: str) -> Exploration:
    """Return the result if the time is over before the model is compiled: nothing was explored."""
    from checker.explore.result import Exploration

    stopped = f"--time-limit {limits.seconds:g} s reached before the model was ready"
    nothing = Exploration(tuple(judged), engine=engine, levels=[0], stopped=stopped)
    nothing.expanded_levels = -1
    nothing.compile_seconds = (limits.seconds or 0.0) - limits.spent
    return nothing
