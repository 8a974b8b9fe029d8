"""Run one distributed exploration from request to answer: its session, its checkpoint, its ends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from checker.explore import kernel
from checker.explore.checkpoints.checkpoint import Checkpoint, Level, Refused, check_same, files_of
from checker.explore.checkpoints.files import Damaged, StorageError
from checker.explore.checkpoints.task import ExplorationTask, Reduction
from checker.explore.reduce import narrowing
from checker.explore.reduce.ample import conclusive
from checker.explore.reduce.deliveries import DeliveryModel
from checker.explore.reduce.narrowing import Searched, first_limits, further, narrowed, outgrown, suspecting
from checker.explore.result import Exploration, Limits
from checker.search.premises import depths_by_walks
from checker.tables.distributed.cluster import Cluster, Here
from checker.tables.distributed.code import AmpleCode, made_for, task_of
from checker.tables.distributed.explore import Progress, SparkExplorer
from checker.tables.distributed.fingerprints import MOST_PARTS
from checker.tables.distributed.storage import Storage
from invariants.registry import Property
from traces.tables.spark import SparkFailed
from traces.tables.spark.session import own_folder, session
from zabspec.limits import Deadline
from zabspec.model import Configuration, Model

# --- breadth-first exploration on Spark with ample sets and observer classes: fewer states, all verdicts ---
#
# Which process is ample, and which class a value has, follows from the state (docs/explanation/reductions.md), so a
# task decides it by itself. If such a search finds a violation, or does not meet a premise, a search of all states
# decides.


class AmpleSparkExplorer(SparkExplorer):
    """Explores with ample sets. It determines which properties are violated, but not by which steps.

    Attributes:
        unforeseen: an observation has no class, and the search has no other obstacle.
    """

    code: AmpleCode
    unforeseen = False

    def run(
        self, cluster: Cluster | Here, limits: Limits, keep_going: bool = False, progress: Progress | None = None
    ) -> Exploration:
        """Explore like the search of all states, but end at the first level with a violation."""
        assert not keep_going  # states after a violation have no class
        r = super().run(cluster, limits, keep_going, progress)
        self.code.describe(r, self.code.merges)
        return r

    def next_level(self, level: Level, answers: list[dict[str, Any]]) -> Level:
        words = [report["words"] for answer in answers for report in answer["reports"]]
        apart, classless = (any(w[at] for w in words) for at in (kernel.R_APART, kernel.R_CLASSLESS))
        apart = apart and self.code.ample  # else no step was left out
        self.unforeseen = classless and not apart
        if apart or classless:
            self.result.apart = True
            self.result.stopped = "two steps do not commute" if apart else "an observation has no class"
        return super().next_level(level, answers)

    def broken_state(self, new: Level, answers: list[dict[str, Any]], k: int) -> list[int] | None:
        return [] if any(k in answer["broken"] for answer in answers) else None

    def broken_step(self, level: Level, words: list[list[int]], k: int) -> list[int] | None:
        return [] if any(w[kernel.R_BROKEN + k] for w in words) else None

    def note_errors(self, level: Level, new: Level, words: list[list[int]]) -> None:
        noted = [w[at] for w in words for at in (kernel.R_ERROR, kernel.R_FAILED) if w[at]]
        if noted:
            new.error = self.code.said_of(noted[0])


ATTEMPTS = 4  # attempts of a task on a local master, as elsewhere


@dataclass(frozen=True)
class Request:
    """How to run a distributed exploration.

    Attributes:
        master: the Spark master; empty for an existing session, or all cores of this machine.
        checkpoint: the folder to keep checkpoints in; without one they are kept only while it runs.
        resume: whether to continue from a checkpoint.
        wide: fingerprints of 128 bits; None for the checkpoint's size, or 64.
        conf: further settings of the session.
        every_step: whether stuttering receipts are steps like others.
        reduces: whether a model that turns out to be large is searched with ample sets, as far as that decides.
    """

    master: str
    checkpoint: str | None = None
    resume: bool = False
    wide: bool | None = None
    conf: dict[str, str] = field(default_factory=dict)
    every_step: bool = False
    reduces: bool = False


def explore_on_spark(
    configuration: Configuration,
    properties: Sequence[Property],
    symmetry: bool,
    limits: Limits,
    keep_going: bool,
    request: Request,
    progress: Callable[[Exploration, int, int], None] | None = None,
) -> tuple[Exploration, str]:
    """Explore; return the result, and why symmetry was not used although it was requested.

    Raises:
        Refused, StorageError: the checkpoint does not match the request, or cannot be used.
        NoSpark: there is no session.
        KeyboardInterrupt: before anything was explored.
    """
    with checkpoint_of(request) as checkpoint:
        level: Level | None = None
        parts, wide = 0, bool(request.wide)
        if request.resume:
            kept, level = checkpoint.last()
            parts, wide = kept.parts, kept.wide if request.wide is None else request.wide
        question, asymmetry = task_of(configuration, properties, symmetry, wide, parts, request.every_step)
        if level is not None:
            check_same(kept, question, level, limits, checkpoint.storage.where)
        searches: Searches | None = None
        try:
            with session(request.master, brief=True, conf=request.conf, attempts=ATTEMPTS) as spark:
                cluster = Cluster(spark)
                if level is None:
                    question = replace(question, parts=usual_parts(cluster.cores()))
                else:
                    check_whole(cluster, checkpoint, level)
                searches = Searches(question, checkpoint, cluster, limits, progress)
                if request.reduces:
                    found = searches.with_reduction(list(properties), level)
                else:
                    searches.full = SparkExplorer(question, checkpoint, level)
                    found = searches.full.run(cluster, limits, keep_going, progress)
        except KeyboardInterrupt:
            if searches is None or searches.full is None:
                raise
            found = searches.cut_short("interrupted")
        except (SparkFailed, StorageError, Damaged, Refused, OSError) as problem:
            if searches is None or not searches.committed:
                raise
            found = searches.cut_short(str(problem) or type(problem).__name__)
        return found, asymmetry


@dataclass
class Searches:
    """The searches that one exploration makes, in one session.

    Attributes:
        question: the search of all states; `checkpoint`: where its levels are committed. Those of searches with ample
            sets are in subfolders.
        limits: of all of them together.
    """

    question: ExplorationTask
    checkpoint: Checkpoint[Storage]
    cluster: Cluster
    limits: Limits
    progress: Progress | None
    full: SparkExplorer | None = None  # the last search of all states
    made: int = 0  # searches with ample sets
    narrow: Exploration | None = None  # the result of the last of these

    def __post_init__(self) -> None:
        self.deadline = Deadline(self.limits.seconds, self.limits.spent)

    @property
    def committed(self) -> bool:
        """Whether a level of the search of all states is committed."""
        return self.full is not None and self.full.level is not None

    def cut_short(self, why: str) -> Exploration:
        """Return what the search of all states has found, for an exploration that was ended from outside."""
        assert self.full is not None
        return suspecting(replace(self.full.result, stopped=why), self.narrow)

    @property
    def rest(self) -> Limits:
        """Return the limits of a search that begins now."""
        if self.limits.seconds is None:
            return self.limits
        return replace(self.limits, spent=self.limits.seconds - self.deadline.left())

    def with_reduction(self, judged: Sequence[Property], level: Level | None) -> Exploration:
        """Search all states; if there are many, search with ample sets, and all states again if these do not decide.

        Args:
            level: the last that the search of all states has committed.

        Raises:
            RuntimeError: ample sets found a violation that is not one, which is an error of zabcheck.
        """
        self.full = full = SparkExplorer(self.question, self.checkpoint, level)
        if level is None or sum(level.levels[:-1]) < narrowing.SMALL:
            first = full.run(self.cluster, first_limits(self.limits), progress=self.progress)
            if not outgrown(first) or first.violations or first.error:
                return first
            model = Model(self.question.configuration)
            unmet = {p.name for p in judged if p.name not in first.witnessed}
            walked = depths_by_walks(model, judged, unmet) if unmet else {}
            found = self.narrow = narrowed(model, judged, unmet - walked.keys(), self.search)
            found.add_first(first)
            found.add_walked(walked)
            if conclusive(found):
                return found
            if found.stopped and not found.apart:
                return suspecting(replace(further(first, found), violations=first.violations), found)
        else:
            self.narrow = self.earlier()
        assert full.level is not None
        self.full = SparkExplorer(self.question, self.checkpoint, full.level)
        return suspecting(self.full.run(self.cluster, self.rest, progress=self.progress), self.narrow)

    def earlier(self) -> Exploration | None:
        """Return the result of the last search with ample sets before this run was resumed, or None."""
        found = None
        while (checkpoint := self.below(self.made + 1)).depths():
            self.made += 1
            question, level = checkpoint.last()
            explorer = AmpleSparkExplorer(question, checkpoint, level)
            explorer.code.describe(explorer.result, explorer.code.merges)
            found = explorer.result
        return found

    def below(self, number: int) -> Checkpoint[Storage]:
        """Return the checkpoint folder of a search with ample sets."""
        where = self.checkpoint.storage
        return Checkpoint(replace(where, where=f"{where.where}/ample-{number}"))

    def search(
        self, model: Model, asked: Sequence[Property], unmet: Collection[str], merging: bool, ample: bool
    ) -> Searched:
        """Search with ample sets, from the start or from the last level that this search has committed."""
        names = tuple(p.name for p in asked if p.name in unmet)
        how = Reduction(names, merging, isinstance(model, DeliveryModel), ample)
        question = replace(self.question, properties=tuple(p.name for p in asked), reduction=how)
        question = replace(question, version=made_for(question).digest)
        self.made += 1
        checkpoint = self.below(self.made)
        checkpoint.storage.create()
        level: Level | None = None
        if checkpoint.depths():
            found, level = checkpoint.last()
            check_same(found, question, level, self.limits, checkpoint.storage.where)
            check_whole(self.cluster, checkpoint, level)
        explorer = AmpleSparkExplorer(question, checkpoint, level)
        return Searched(
            explorer.run(self.cluster, self.rest, progress=self.progress), explorer.unforeseen, explorer.code.merges
        )


def check_whole(cluster: Cluster, checkpoint: Checkpoint[Storage], level: Level) -> None:
    """Check that all files of a level are what was written, and remove those that it does not need.

    Raises:
        Refused: one is not.
    """
    damage = cluster.damage(checkpoint.storage, files_of(level))
    if damage:
        raise Refused(f"the checkpoint {checkpoint.storage.where} is damaged: {damage}")
    checkpoint.tidy(level, None)


@contextmanager
def checkpoint_of(request: Request) -> Iterator[Checkpoint[Storage]]:
    """Yield the checkpoint that a request names, or a temporary one.

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
        raise Refused(f"{request.checkpoint} has no checkpoint to resume from")
    checkpoint.lock()
    try:
        yield checkpoint
    finally:
        checkpoint.unlock()


def usual_parts(cores: int) -> int:
    """Return the default number of parts: a power of two, two for each core, so that a slow one does not delay all."""
    return min(MOST_PARTS, 1 << (2 * cores - 1).bit_length())
