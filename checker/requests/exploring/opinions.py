"""Get the second opinion of a request that explores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from checker.opinion.outcome import FILE, NO_OPINION, SecondOpinion, joined_opinions, written_to

if TYPE_CHECKING:
    from checker.explore.result import Exploration
    from checker.requests.exploring.running import EngineTask


class Opinions:
    """The second opinions of the explorations of a request.

    Args:
        states: how many states to compare; None for the default number, 0 for no comparison.
        saves: whether a difference is written to a file, as a trace is.
    """

    def __init__(self, states: int | str | None, saves: bool) -> None:
        self.states, self.saves = cast("int | None", states), saves
        self.heard: list[SecondOpinion] = []

    def hear(self, task: EngineTask, r: Exploration) -> None:
        """Compare the result of a task, unless that is not requested."""
        if self.states == 0:
            return
        why = "nothing was explored" if r.expanded_levels < 0 else "interrupted" if r.stopped == "interrupted" else ""
        if not why and task.ran and task.ran[-1].result.levels != r.levels:  # `further` keeps an earlier result
            why = "the last search ended before the one that is reported"
        if why or not task.ran:
            self.heard.append(SecondOpinion(none=why or f"--engine {task.request.engine} keeps its states elsewhere"))
            return
        from checker.opinion.searched import second_opinion

        self.heard.append(second_opinion(task.model, task.ran[-1], r, self.states))

    def joined(self) -> SecondOpinion:
        """Return them as one, with the file that a difference was written to."""
        if not self.heard:
            return NO_OPINION
        opinion = joined_opinions(self.heard)
        return written_to(opinion, Path(FILE)) if opinion.difference and self.saves else opinion
