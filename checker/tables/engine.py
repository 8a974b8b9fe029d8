"""The engine `spark`: explore on a cluster. The core finds it by an entry point."""

from __future__ import annotations

from dataclasses import replace
from os import fspath
from typing import TYPE_CHECKING

from checker.errors import RequestError

if TYPE_CHECKING:
    from checker.explore.result import Exploration, Limits
    from checker.requests.exploring.exploration import ExplorationRequest
    from checker.requests.exploring.running import EngineTask
    from checker.tables.distributed.code import Code


def code_for(task: EngineTask) -> type[Code]:
    """Return the kind of machine code that a task needs."""
    from checker.tables.distributed.code import Code, WideCode

    return WideCode if wide_for(task.request, task.limits) else Code


def wide_for(request: ExplorationRequest, limits: Limits) -> bool | None:
    """Return whether fingerprints on Spark have 128 bits; None for the size in the checkpoint to resume from.

    It depends on the maximum number of states, if that is known: 64 bits are enough while the probability that any
    state is missed is at most one in a thousand. If it is not known, a cluster uses 128: bits cannot be added later,
    and a model that is worth a cluster may have more states than that.
    """
    from checker.explore.result import enough
    from traces.tables.spark.guest import is_local
    from traces.tables.spark.session import LOCAL

    if request.fingerprint is not None:
        return request.fingerprint == 128
    if request.resume:
        return None
    if limits.max_states is not None:
        return not enough(limits.max_states, 64)
    return not is_local(request.master or LOCAL)


def on_spark(task: EngineTask, reduces: bool) -> tuple[Exploration, str]:
    """Explore on Spark; return the result, and why symmetry was not used although it was requested.

    Args:
        reduces: whether a model that turns out to be large is searched with ample sets.

    Raises:
        RequestError: Spark is not installed, or the checkpoint does not match the request.
        NoVerdict: Spark failed before anything was found.
    """
    from traces.tables.spark.connect import SCHEME
    from traces.tables.spark.guest import is_local, master_of
    from traces.tables.spark.session import LOCAL, check_installed

    request, limits = task.request, replace(task.limits, spent=task.limits.spent + task.spent)
    folder = fspath(request.checkpoint) or None

    def needs_folder(master: str) -> None:
        if master.startswith(SCHEME):
            raise RequestError(
                "an exploration needs RDDs, which Spark Connect (sc://) does not have; give the master of a cluster"
            )
        if folder is None and not is_local(master):
            raise RequestError(f"--master {master} needs --checkpoint: a folder that all its machines can reach")

    needs_folder(request.master or LOCAL)
    check_installed("numpy")
    needs_folder(master_of(request.master, LOCAL))  # the existing session may have another
    from checker.explore.checkpoints.checkpoint import Refused
    from checker.tables.distributed.run import Request, explore_on_spark
    from checker.tables.distributed.storage import StorageError

    where = Request(
        request.master,
        folder,
        request.resume,
        wide_for(request, limits),
        every_step=request.every_step,
        reduces=reduces,
    )
    try:
        with task.watch.exploring() as progress:
            exploration, asymmetry = explore_on_spark(
                task.model.configuration, task.judged, request.symmetry, limits, request.keep_going, where, progress,
            )  # fmt: skip
    except (Refused, StorageError) as problem:
        raise RequestError(str(problem)) from None
    if exploration.stopped and folder is not None:
        task.watch.note(
            f"the checkpoint {folder} is at depth {exploration.expanded_levels}; --resume continues from it"
        )
    exploration.compile_seconds = task.spent - exploration.seconds
    return exploration, asymmetry
