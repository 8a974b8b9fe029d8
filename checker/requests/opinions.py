"""Get the second opinion of a request that explores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from checker.opinion.outcome import FILE, UNASKED, SearchOpinion, joined_opinions, written_to

if TYPE_CHECKING:
    from checker.explore.result import Exploration
    from checker.requests.running import EngineTask


class Opinions:
    """The second opinions of the explorations of a request.

    Args:
        states: how many states to compare; None for the default number, 0 for no comparison.
        saves: whether a difference is written to a file, as a trace is.
    """

    def __init__(self, states: int | str | None, saves: bool) -> None:
        self.states, self.saves = cast("int | None", states), saves
        self.heard: list[SearchOpinion] = []

    def hear(self, task: EngineTask, r: Exploration) -> None:
        """Compare the result of a task, unless that is not requested."""
        if self.states == 0:
            return
        why = "nothing was explored" if r.expanded_levels < 0 else "interrupted" if r.stopped == "interrupted" else ""
        if why or not task.ran:
            self.heard.append(SearchOpinion(none=why or f"--engine {task.request.engine} keeps its states elsewhere"))
            return
        from checker.explore.breadth_first import Explorer
        from checker.opinion.searched import second_opinion

        engine = task.ran[-1]
        known = engine.code if isinstance(engine, Explorer) and not engine.groups else engine
        self.heard.append(second_opinion(task.model, known, r, self.states))

    def joined(self) -> SearchOpinion:
        """Return them as one, with the file that a difference was written to."""
        if not self.heard:
            return UNASKED
        opinion = joined_opinions(self.heard)
        return written_to(opinion, Path(FILE)) if opinion.difference and self.saves else opinion
