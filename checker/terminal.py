"""Progress of a request on a terminal: a progress line, and notes on stderr."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from checker.plain_text import sentence
from checker.report.progress import ProgressLine, StatusLine
from checker.requests.base.watch import Watch

if TYPE_CHECKING:
    from checker.live.run import Live
    from checker.mutate.run import Campaign
    from checker.search.search import Walked


class TerminalWatch(Watch):
    """Shows progress on stderr: a line that changes on a terminal, a line every 30 seconds elsewhere."""

    def exploring(self) -> ProgressLine:
        return ProgressLine()

    def searching(self) -> SearchLine:
        return SearchLine()

    def checking_progress(self) -> LiveLine:
        return LiveLine()

    def mutating(self) -> MutantLine:
        return MutantLine()

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


class SearchLine(StatusLine):
    """Shows the progress of random walks."""

    def __call__(self, walked: Walked) -> None:
        if self.due():
            rate = walked.steps / max(walked.seconds, 1e-9)
            met = f"{len(walked.met)} of {len(walked.properties)} premises reached"
            broken = f", {len(walked.broken)} violated" if walked.broken else ""
            self.show(f"{walked.walks:,} walks, {walked.steps:,} steps, {rate:,.0f}/s, {met}{broken}")


class LiveLine(StatusLine):
    """Shows the progress of a search for starvation."""

    def __call__(self, found: Live) -> None:
        if self.due():
            r = found.exploration
            self.show(f"{r.distinct:,} states with faults, {found.nodes:,} after them, {found.edges:,} steps")


class MutantLine(StatusLine):
    """Shows the progress of checking mutants, one after another."""

    def __call__(self, campaign: Campaign) -> None:
        if self.due():
            self.show(f"{len(campaign.judged)} of {campaign.wanted} mutants checked")
