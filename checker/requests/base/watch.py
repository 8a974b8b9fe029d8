"""Follow a request while it is answered."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from checker.explore.result import Exploration

Exploring = Callable[["Exploration", int, int], None]


class Partial(Protocol):
    """A result that is not complete yet."""

    @property
    def so_far(self) -> str:
        """How far it is, in a line."""


class Watch:
    """Follows a request. This one shows nothing; `checker.terminal.TerminalWatch` shows progress.

    Each method but `note` returns a context manager, entered while the work runs, whose value is called now and then
    with what there is so far.
    """

    def exploring(self) -> AbstractContextManager[Exploring | None]:
        """Follow a breadth-first search: called with the result, the expanded states of the level, and its size."""
        return nullcontext(None)

    def following(self) -> AbstractContextManager[Callable[[Partial], None] | None]:
        """Follow other long work, whose result says how far it is."""
        return nullcontext(None)

    def working(self) -> AbstractContextManager[Callable[[str], None]]:
        """Follow other work: called with a line that says how far it is."""
        return nullcontext(lambda line: None)

    def note(self, sentence: str) -> None:
        """Show a sentence beside the answer, such as where a checkpoint is."""


QUIET = Watch()
