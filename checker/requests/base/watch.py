"""Follow a request while it is answered."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checker.explore.result import Exploration
    from checker.live.run import Live
    from checker.mutate.run import Campaign
    from checker.search.search import Walked

Exploring = Callable[["Exploration", int, int], None]


class Watch:
    """Follows a request. This one shows nothing; `checker.terminal.TerminalWatch` shows progress.

    Each method but `note` returns a context manager, entered while the work runs, whose value is called now and then
    with what there is so far.
    """

    def exploring(self) -> AbstractContextManager[Exploring | None]:
        """Follow a breadth-first search: called with the result, the expanded states of the level, and its size."""
        return nullcontext(None)

    def searching(self) -> AbstractContextManager[Callable[[Walked], None] | None]:
        """Follow random walks."""
        return nullcontext(None)

    def checking_progress(self) -> AbstractContextManager[Callable[[Live], None] | None]:
        """Follow a search for starvation."""
        return nullcontext(None)

    def mutating(self) -> AbstractContextManager[Callable[[Campaign], None] | None]:
        """Follow the check of mutants of a protocol, one after another."""
        return nullcontext(None)

    def working(self) -> AbstractContextManager[Callable[[str], None]]:
        """Follow other work: called with a line that says how far it is."""
        return nullcontext(lambda line: None)

    def note(self, sentence: str) -> None:
        """Show a sentence beside the answer, such as where a checkpoint is."""


QUIET = Watch()
