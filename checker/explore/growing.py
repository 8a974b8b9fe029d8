"""Explore in full until a model turns out to be large."""

from __future__ import annotations

from itertools import pairwise

from checker.explore.breadth_first import Explorer, LevelGroup

EARLY = 50_000  # distinct states after which growth is tested
STEEPLY = 1.25  # the least ratio of each of the last two levels to the one before
GROWS = "the model grows"


class Growing(Explorer):
    """Explores in full, and stops after the first level with `EARLY` distinct states if levels still grow steeply.

    This only guesses that a model is large: the caller must be correct if it is not.
    """

    @property
    def grown(self) -> bool:
        """Whether the exploration stopped because levels grow."""
        return self.result.stopped == GROWS

    def finished(self, level: list[LevelGroup], keep_going: bool) -> bool:
        if super().finished(level, keep_going):
            return True
        r = self.result
        if r.distinct >= EARLY > r.distinct - r.levels[-1] and len(r.levels) > 2:
            if all(after >= STEEPLY * before for before, after in pairwise(r.levels[-3:])):
                r.stopped = GROWS
        return bool(r.stopped)
