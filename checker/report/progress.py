"""Show the progress of long work on the terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from checker.explore.memory import resident_bytes

if TYPE_CHECKING:
    from rich.status import Status

    from checker.explore.result import Exploration

PATIENCE = 2.0  # seconds that a run may take before anything is shown
EVERY = 0.25  # seconds between two updates
SELDOM = 30.0  # seconds between two lines where there is no terminal


class StatusLine:
    """One line on stderr that disappears when the work is over; a context manager.

    If stderr is not a terminal, it writes at most one line every 30 seconds.
    """

    def __init__(self) -> None:
        self.started = self.drawn = time.perf_counter()
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
        """Return whether it is time to update the line."""
        now = time.perf_counter()
        return self.terminal and now - self.started >= PATIENCE and now - self.drawn >= EVERY

    def show(self, line: str) -> None:
        """Show a line instead of the one before."""
        self.drawn = time.perf_counter()
        if self.status is None:
            from rich.console import Console

            self.status = Console(stderr=True).status(line)
            self.status.start()
        else:
            self.status.update(line)

    def due_seldom(self) -> bool:
        """Return whether stderr is not a terminal, and nothing was written for 30 seconds."""
        return not self.terminal and time.perf_counter() - self.drawn >= SELDOM

    def update(self, line: str) -> None:
        """Show a line if it is time to, on a terminal or elsewhere."""
        if self.due():
            self.show(line)
        elif self.due_seldom():
            self.say(line)

    def say(self, line: str) -> None:
        """Write a line of its own, which stays."""
        self.drawn = time.perf_counter()
        with contextlib.suppress(OSError, ValueError):  # nobody reads it
            print(f"zabcheck: {line}", file=sys.stderr, flush=True)


class ProgressLine(StatusLine):
    """The progress of an exploration: the callback that explorers take."""

    def __call__(self, result: Exploration, expanded: int, size: int) -> None:
        """Show the progress of the exploration, if it is time to.

        Args:
            result: what was found so far.
            expanded: the number of expanded states of the level, which has `size`.
        """
        if self.due() or self.due_seldom():
            spent = result.seconds or time.perf_counter() - self.started  # the seconds include those of earlier runs
            self.update(progress_text(result, expanded, size, spent))


def progress_text(result: Exploration, expanded: int, size: int, seconds: float) -> str:
    """Return level, distinct states, rate, states to be expanded, and memory."""
    waiting = size - expanded + result.levels[-1]
    broken = f", {len(result.violations)} violated" if result.violations else ""
    memory = f"{resident_bytes() / (1 << 20):,.0f} MiB"
    return (
        f"level {len(result.levels) - 1} ({100 * expanded // max(1, size)} %): {result.distinct:,} distinct states, "
        f"{result.distinct / max(seconds, 1e-9):,.0f}/s, {waiting:,} in the queue, {memory}{broken}"
    )
