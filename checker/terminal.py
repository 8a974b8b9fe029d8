"""Progress of a request on a terminal: a progress line, and notes on stderr."""

from __future__ import annotations

import contextlib
import sys

from checker.plain_text import sentence
from checker.report.progress import ProgressLine, StatusLine
from checker.requests.base.watch import Partial, Watch


class TerminalWatch(Watch):
    """Shows progress on stderr: a line that changes on a terminal, a line every 30 seconds elsewhere."""

    def exploring(self) -> ProgressLine:
        return ProgressLine()

    def following(self) -> ResultLine:
        return ResultLine()

    def working(self) -> WorkLine:
        return WorkLine()

    def note(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody reads it
            print(f"zabcheck: {sentence(text)}", file=sys.stderr, flush=True)


class WorkLine(StatusLine):
    """Shows the progress of other work: on a terminal the first line at once."""

    def __call__(self, line: str) -> None:
        if self.terminal and self.status is None:
            self.show(line)
        self.update(line)


class ResultLine(StatusLine):
    """Shows how far long work is, as its result says."""

    def __call__(self, result: Partial) -> None:
        if self.due():
            self.show(result.so_far)
