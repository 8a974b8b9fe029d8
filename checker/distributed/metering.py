"""Measure the resources of an exploration on Spark, from its tasks' reports and Spark's own measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.distributed.checkpoint import Level, folder_of
from checker.distributed.usage import Usage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def of_answers(new: Level, answers: list[dict[str, Any]], seconds: float) -> Usage:
    """Return the usage that the tasks of a level report."""
    runs = [run for part in new.parts for run in part.runs if run.name.startswith(f"{folder_of(new.depth)}/")]
    found = sum(a["candidates"].size for a in answers)
    files = [file for part in new.parts for file in (part.states, part.predecessors)] + runs
    return Usage(
        jobs=1,
        states=new.size,
        sent=sum(a["candidates"].count for a in answers),
        seconds=seconds,
        python_cpu=sum(a["cpu"] + sum(report["cpu"] for report in a["reports"]) for a in answers),
        shared_out=sum(a["shared_out"] for a in answers),
        written=sum(file.size for file in files) + found,
        candidates=found,
    )


def of_jobs(spark: SparkSession, group: str) -> Usage:
    """Return what Spark has measured of a group of jobs.

    It is read from the store behind Spark's user interface and REST addresses, which a driver has even if it does not
    serve them.
    """
    from py4j.protocol import Py4JError

    context: Any = spark.sparkContext
    try:
        java = context._jsc.sc()
        java.listenerBus().waitUntilEmpty()  # the usage of tasks arrives as events, some after the job's end
        store, jvm = java.statusStore(), context._gateway.jvm
        tracker = context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = {stage for job in jobs if job for stage in job.stageIds}
        found, nothing = Usage(), context._gateway.new_array(jvm.double, 0)
        for stage in stages:
            attempts = store.stageData(stage, False, jvm.java.util.ArrayList(), False, nothing)
            for k in range(attempts.size()):
                found += of_stage(attempts.apply(k))
    except (Py4JError, AttributeError, TypeError):  # another Spark stores these elsewhere; no result depends on them
        return Usage(unmetered=1)
    return found if stages else Usage(unmetered=1)


def registered(context: Any) -> int | None:
    """Return the number of cores of the registered executors; None if Spark cannot report it."""
    from py4j.protocol import Py4JError

    try:
        found = context._jsc.sc().statusStore().executorList(True)
        each = [found.apply(k) for k in range(found.size())]
        return sum(int(one.totalCores()) for one in each if one.id() != "driver" and one.isActive())
    except (Py4JError, AttributeError, TypeError):
        return None


def of_stage(data: Any) -> Usage:
    """Return what Spark has measured of an attempt of a stage."""
    return Usage(
        tasks=data.numCompleteTasks() + data.numFailedTasks() + data.numKilledTasks(),
        java_cpu=data.executorCpuTime() / 1e9,
        shuffle=data.shuffleWriteBytes(),
        spilled=data.diskBytesSpilled(),
    )
