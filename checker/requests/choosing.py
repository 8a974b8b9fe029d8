"""Choose the engine of an exploration that leaves it open: this machine, or a cluster that is worth its cost."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checker.explore.result import Exploration
    from checker.requests.running import EngineTask

Run = Callable[["EngineTask"], "tuple[Exploration, int, str]"]


def chosen(task: EngineTask, run: Run) -> tuple[Exploration, int, str]:
    """Explore here, or on the cluster that the request names if it has enough cores; the result has the reason.

    A model of up to 500,000 states is explored here in any case, before a cluster is even connected.

    Args:
        run: explores with the engine that a request names.

    Raises:
        RequestError, NoVerdict: the engine's.
    """
    from checker.distributed.costs import NotWorth, recorded
    from checker.explore.breadth_first import available_cores
    from checker.explore.narrowing import SMALL, first_limits, outgrown

    why = why_not_cluster(task)
    if why:
        return because(run(here(task)), f"this machine: {why}")
    first = run(replace(here(task, kept=False), limits=first_limits(task.limits)))
    if not outgrown(first[0], task.limits):
        return because(
            first, f"this machine: the exploration ended within {SMALL:,} states, too few to start a cluster"
        )
    cores = available_cores()
    # only Spark can write to an address
    rather = None if "://" in task.request.checkpoint else cores
    there = replace(task, request=replace(task.request, engine="spark"), rather_than=rather)
    try:
        found = run(there)
    except NotWorth as problem:
        sentence = f"this machine: {problem}"
        task.watch.note(sentence)
        return because(run(here(task)), sentence)
    if rather is None:
        return because(found, "the cluster: this machine writes no checkpoint to an address")
    account = found[0].account
    if account is None:
        return because(found, "the cluster")
    return because(found, recorded(account.bits).why_worth(account.cores, cores))  # the basis of the decision


def here(task: EngineTask, kept: bool = True) -> EngineTask:
    """Return the task for this machine's engine.

    Args:
        kept: whether to use the checkpoint of the request.

    Raises:
        RequestError: that engine does not support the request.
    """
    checkpoint = task.request.checkpoint if kept else ""
    return replace(task, request=replace(task.request, engine="compiled", master="", checkpoint=checkpoint))


def because(found: tuple[Exploration, int, str], sentence: str) -> tuple[Exploration, int, str]:
    """Add the reason of a choice to a result that has none."""
    exploration, threads, symmetry_off = found
    return replace(exploration, chosen=exploration.chosen or sentence), threads, symmetry_off


def why_not_cluster(task: EngineTask) -> str:
    """Return why no cluster can be meant; empty if the request, or this process, has one."""
    from checker.explore.breadth_first import available_cores
    from checker.explore.narrowing import SMALL
    from traces.spark import NoSpark
    from traces.spark.guest import is_local, is_submitted, master_of
    from traces.spark.session import LOCAL, check_installed

    request, most = task.request, task.limits.max_states
    if not request.master and "pyspark" not in sys.modules and not is_submitted():
        return "no cluster is named (--master)"
    try:
        check_installed("numpy")
        master = master_of(request.master, LOCAL)
    except NoSpark as problem:
        return str(problem)
    if is_local(master):
        from checker.distributed.costs import recorded

        return f"{master} is not a cluster, and {recorded().alone(available_cores())}"
    if most is not None and most <= SMALL:
        return f"at most {most:,} states, by --max-states"
    return ""
