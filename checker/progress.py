"""How far something long has come, on the terminal while it runs."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from checker.result import Exploration

if TYPE_CHECKING:
    from rich.status import Status

__all__ = ["ProgressLine", "StatusLine"]

PATIENCE = 2.0  # seconds that a run may take before anything is shown
EVERY = 0.25  # seconds between two updates


class StatusLine:
    """One line on stderr that is gone when the work is over; a context manager. Where stderr is no
    terminal nothing is shown."""

    def __init__(self) -> None:
        self.started = self.shown = time.perf_counter()
        self.status: Status | None = None
        self.terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.status is not None:
            self.status.stop()
            self.status = None

    def due(self) -> bool:
        """Whether it is time to show something."""
        now = time.perf_counter()
        return self.terminal and now - self.started >= PATIENCE and now - self.shown >= EVERY

    def show(self, line: str) -> None:
        """Show a line instead of the one before."""
        self.shown = time.perf_counter()
        if self.status is None:
            from rich.console import Console

            self.status = Console(stderr=True).status(line)
            self.status.start()
        else:
            self.status.update(line)


class ProgressLine(StatusLine):
    """How far an exploration has come: the callback that explorers take."""

    def __call__(self, result: Exploration, expanded: int, size: int) -> None:
        """Show where the exploration stands, if it is time to.

        Args:
            result: what was found so far.
            expanded: how many states of the level have been expanded, of `size`.
        """
        if self.due():
            self.show(progress_text(result, expanded, size, time.perf_counter() - self.started))


def progress_text(result: Exploration, expanded: int, size: int, seconds: float) -> str:
    """Level, distinct states, rate, and the states that wait to be expanded."""
    waiting = size - expanded + result.levels[-1]
    broken = f", {len(result.violations)} violated" if result.violations else ""
    return (
        f"level {len(result.levels) - 1} ({100 * expanded // max(1, size)} %): {result.distinct:,} distinct states, "
        f"{result.distinct / max(seconds, 1e-9):,.0f}/s, {waiting:,} in the queue{broken}"
    )
