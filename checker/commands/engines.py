"""An engine, run once: with a line of progress, with a checkpoint, and not before the model is ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import Cannot, complain

if TYPE_CHECKING:
    from checker.explore.result import Exploration, Limits
    from invariants.registry import Property
    from zabspec.model import Model

__all__ = ["every_step", "out_of_time", "ready_in_time", "run_engine"]


def every_step(options: Mapping[str, Any]) -> bool:
    """Return whether an exploration takes every step, stuttering receipts among them."""
    return options.get("reduction") == "none"


def run_engine(engine: Any, limits: Limits, options: Mapping[str, Any]) -> Exploration:
    """Explore, with a line of progress on a terminal.

    Raises:
        Cannot: symmetry was taken for sound, and is not.
    """
    from checker.explore.symmetry import NotRenamings
    from checker.report.progress import ProgressLine

    found: Exploration
    try:
        with ProgressLine() as progress:
            if options.get("checkpoint") is None:
                found = engine.run(limits, options["keep_going"], progress)
            else:
                found = kept(engine, limits, options, progress)
    except NotRenamings as problem:
        raise Cannot(f"{problem}; ask again with --no-symmetry, which does not take it to be") from None
    return found


def kept(engine: Any, limits: Limits, options: Mapping[str, Any], progress: Any) -> Exploration:
    """Explore with a checkpoint after each level, or go on from one.

    Raises:
        UsageError: the folder cannot be used, or does not go with the question.
    """
    from checker.distributed.checkpoint import Refused
    from checker.distributed.files import StorageError
    from checker.explore.checkpointed import Kept

    folder: Path = Path(options["checkpoint"])
    try:
        with Kept(folder, engine.code, limits, options["resume"]) as keeper:
            exploration: Exploration = engine.run(limits, options["keep_going"], progress, keeper)
            if exploration.stopped and keeper.depth >= 0:
                complain(f"the checkpoint {folder} is at depth {keeper.depth}; --resume goes on from it")
    except (Refused, StorageError, OSError) as problem:
        raise click.UsageError(str(problem)) from None
    return exploration


def ready_in_time(model: Model, judged: Sequence[Property], seconds: float, options: Mapping[str, Any]) -> bool:
    """Whether the model is in machine code, which is kept, before the time is over."""
    from checker.explore.compiled import Compiled
    from checker.explore.deadline import done_in_time

    symmetry, kind = not options["no_symmetry"], Compiled
    if options["engine"] == "interpret" and not symmetry:
        return True
    if options["engine"] == "spark":
        from checker.distributed.code import Code, WideCode

        kind = WideCode if options["fingerprint"] == "128" else Code
    return done_in_time(lambda: kind.of(model, judged, symmetry, every_step(options)), seconds)


def out_of_time(judged: Sequence[Property], limits: Limits, engine: str) -> Exploration:
    """What is known where the time is over before the model is ready: nothing."""
    from checker.explore.result import Exploration

    stopped = f"--time-limit {limits.seconds:g} s reached before the model was ready"
    nothing = Exploration(tuple(judged), engine=engine, levels=[0], stopped=stopped)
    nothing.expanded_levels = -1
    nothing.compile_seconds = (limits.seconds or 0.0) - limits.spent
    return nothing
