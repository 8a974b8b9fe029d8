"""An exploration on Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from checker.errors import NoVerdict, RequestError

if TYPE_CHECKING:
    from checker.explore.result import Exploration
    from checker.requests.running import EngineTask

__all__ = ["on_spark"]


def on_spark(task: EngineTask) -> tuple[Exploration, str]:
    """Explore on Spark; return the result, and why symmetry was not used although the request has it.

    Raises:
        RequestError: Spark is not installed, or the checkpoint does not go with the request.
        NoVerdict: Spark failed before anything was found.
    """
    from traces.spark import NoSpark, SparkFailed
    from traces.spark.session import LOCAL, check_installed, is_local

    request, limits = task.request, replace(task.limits, spent=task.limits.spent + task.spent)
    master, folder = request.master or LOCAL, request.checkpoint or None
    if folder is None and not is_local(master):
        raise RequestError(f"--master {master} needs --checkpoint: a folder that all its machines can reach")
    try:
        check_installed("numpy")
        from checker.distributed.checkpoint import Refused
        from checker.distributed.run import Request, explore_on_spark
        from checker.distributed.storage import StorageError
    except NoSpark as problem:
        raise RequestError(str(problem)) from None
    wide = request.fingerprint == 128
    where = Request(master, folder, request.resume, wide, every_step=request.every_step)
    try:
        with task.watch.exploring() as progress:
            exploration, asymmetry = explore_on_spark(
                task.model.configuration, task.judged, request.symmetry, limits, request.keep_going, where, progress
            )
    except (NoSpark, Refused, StorageError) as problem:
        raise RequestError(str(problem)) from None
    except SparkFailed as problem:
        raise NoVerdict(str(problem)) from None
    if exploration.stopped and folder is not None:
        task.watch.note(f"the checkpoint {folder} is at depth {exploration.expanded_levels}; --resume goes on from it")
    exploration.compile_seconds = task.spent - exploration.seconds
    return exploration, asymmetry
