"""Breadth-first exploration on Spark with ample sets and observer classes: fewer states, all verdicts.

Which process is ample, and which class a value has, follows from the state (docs/explanation/reductions.md), so a task
decides it by itself. If such a search finds a violation, or does not meet a premise, a search of all states decides.
"""

from __future__ import annotations

from typing import Any

from checker.explore import kernel
from checker.explore.checkpoints.checkpoint import Checkpoint, Level
from checker.explore.checkpoints.task import ExplorationTask
from checker.explore.result import Exploration, Limits
from checker.tables.distributed.cluster import Cluster, Here
from checker.tables.distributed.code import AmpleCode
from checker.tables.distributed.explore import Progress, SparkExplorer
from checker.tables.distributed.storage import Storage


class AmpleSparkExplorer(SparkExplorer):
    """Explores with ample sets. It determines which properties are violated, but not by which steps.

    Attributes:
        unforeseen: an observation has no class, and the search has no other obstacle.
    """

    code: AmpleCode

    def __init__(
        self,
        question: ExplorationTask,
        checkpoint: Checkpoint[Storage],
        level: Level | None = None,
    ) -> None:
        super().__init__(question, checkpoint, level)
        self.unforeseen = False

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
