"""Name a state that runs begin in: a start, and which of its ways to begin, where it chooses."""

from __future__ import annotations

from collections.abc import Iterable

from zabspec.errors import ConfigError

NUMBER = "start_number"  # the name in a program of the start that it begins in, if it begins in one of several


class Schedule(tuple[int, ...]):
    """The steps of a run, each with its choice, from a state that it may begin in.

    Attributes:
        start: the number of that state; None if runs begin in one state.
    """

    start: int | None = None

    @classmethod
    def of(cls, words: Iterable[int], start: int | None) -> Schedule:
        """Return steps from a start."""
        made = cls(words)
        made.start = start
        return made

    def then(self, *words: int) -> Schedule:
        """Return these steps, and more after them."""
        return Schedule.of((*self, *words), self.start)


def named_start(start: str) -> tuple[str, int | None]:
    """Return the name and the number of a start as a question gives it: `NAME`, `NAME:N` or `:N`.

    Raises:
        ConfigError: it has another form.
    """
    name, colon, number = start.partition(":")
    if colon and not (number.isascii() and number.isdigit() and len(number) < 19):
        raise ConfigError(f"--start is NAME, NAME:N or :N, not {start!r}")
    return name, int(number) if colon else None


def chosen_start(start: str) -> dict[str, int]:
    """Return the name in a program that says which way to begin is chosen; empty if all are taken."""
    _, number = named_start(start)
    return {} if number is None else {NUMBER: number}
