"""One distributed exploration from question to answer: its session, its checkpoint, its ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from checker.distributed.checkpoint import Checkpoint, Level, Refused, check_same, files_of
from checker.distributed.cluster import Cluster
from checker.distributed.code import ExplorationTask
from checker.distributed.explore import SparkExplorer
from checker.distributed.files import Damaged, StorageError
from checker.distributed.fingerprints import MOST_PARTS
from checker.distributed.storage import Storage
from checker.explore.result import Exploration, Limits
from invariants.registry import Property
from traces.spark import SparkFailed
from traces.spark.session import own_folder, session
from zabspec.model import Configuration

__all__ = ["Request", "explore_on_spark"]

ATTEMPTS = 4  # that a task of a local master has, as it has elsewhere


@dataclass(frozen=True)
class Request:
    """How a distributed exploration is to be run.

    Attributes:
        master: where, as Spark names it; empty: where there is a session already, or all cores of this machine.
        checkpoint: the folder to keep checkpoints in; none: they are kept while it runs.
        resume: whether to go on from what is there.
        wide: fingerprints of 128 bits.
        conf: further settings of the session.
        every_step: stuttering receipts are steps like others.
    """

    master: str
    checkpoint: str | None = None
    resume: bool = False
    wide: bool = False
    conf: dict[str, str] = dataclasses.field(default_factory=dict)
    every_step: bool = False


def explore_on_spark(
    configuration: Configuration,
    properties: Sequence[Property],
    symmetry: bool,
    limits: Limits,
    keep_going: bool,
    request: Request,
    progress: Callable[[Exploration, int, int], None] | None = None,
) -> tuple[Exploration, str]:
    """Explore; returns what was found, and why symmetry was not used although it was asked for.

    Raises:
        Refused, StorageError: the checkpoint does not go with the question, or cannot be used.
        NoSpark: there is no session to be had.
        KeyboardInterrupt: before anything was explored.
    """
    with checkpoint_of(request) as checkpoint:
        level: Level | None = None
        parts = 0
        if request.resume:
            found, level = checkpoint.last()
            parts = found.parts
        question, asymmetry = ExplorationTask.of(
            configuration, properties, symmetry, request.wide, parts, request.every_step
        )
        if level is not None:
            check_same(found, question, level, limits, checkpoint.storage.where)
        explorer: SparkExplorer | None = None
        try:
            with session(request.master, brief=True, conf=request.conf, attempts=ATTEMPTS) as spark:
                if level is None:
                    question = dataclasses.replace(question, parts=usual_parts(spark.sparkContext.defaultParallelism))
                else:
                    damage = Cluster(spark).damage(checkpoint.storage, files_of(level))
                    if damage:
                        raise Refused(f"the checkpoint {checkpoint.storage.where} is damaged: {damage}")
                    checkpoint.tidy(level, None)
                explorer = SparkExplorer(question, checkpoint, level)
                explorer.run(Cluster(spark), limits, keep_going, progress)
        except KeyboardInterrupt:
            if explorer is None:
                raise
            explorer.result.stopped = "interrupted"
        except (SparkFailed, StorageError, Damaged, Refused, OSError) as problem:
            if explorer is None or explorer.level is None:
                raise
            explorer.result.stopped = str(problem) or type(problem).__name__
        assert explorer is not None
        return explorer.result, asymmetry


@contextmanager
def checkpoint_of(request: Request) -> Iterator[Checkpoint[Storage]]:
    """Hold the checkpoint that a request names, or one that is gone with the work.

    Raises:
        Refused, StorageError: it cannot be used, or there is none to resume from.
    """
    if request.checkpoint is None:
        with own_folder() as folder:
            checkpoint = Checkpoint(Storage(str(folder / "levels")))
            checkpoint.storage.create()
            yield checkpoint
        return
    checkpoint = Checkpoint(Storage(request.checkpoint, durable=True).anywhere())
    if not request.resume:
        checkpoint.storage.create()
        checkpoint.check_empty()
    elif not checkpoint.depths():
        raise Refused(f"{request.checkpoint} holds no checkpoint to resume")
    checkpoint.lock()
    try:
        yield checkpoint
    finally:
        checkpoint.unlock()


def usual_parts(cores: int) -> int:
    """Two parts to a core, so that one that is slow does not keep all waiting; a power of two."""
    return min(MOST_PARTS, 1 << (2 * cores - 1).bit_length())
