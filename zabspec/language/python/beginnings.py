"""Find the states that a run may begin in: one for each way of choosing in what sets the initial state.

A choice there is a number of its own, not one of a step: it has no state before it, and no largest number of
alternatives. It runs in CPython alone, with `choose` in place of the world's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from zabspec.errors import RequestError
from zabspec.language.layout.place import is_own_file, relative
from zabspec.starts import NUMBER

MOST_STARTS = 1 << 20
BEGIN = ("initialize", "start")  # the functions of a world, and of the simulator, that set the initial state


class SeveralStarts(RequestError):
    """A run may begin in several states, where one is needed."""


class Choices:
    """The choices of one way to begin, of which the first is the lowest digit of its number."""

    def __init__(self, number: int | None, trail: list[list[int]] | None = None) -> None:
        """Make the choices of a number, or those of a trail, which it extends by first alternatives.

        Args:
            number: None if there may be one way only.
            trail: which alternative of how many is taken, in order.
        """
        self.rest, self.number, self.trail, self.taken = number or 0, number, trail, 0

    def choose(self, _: Any, alternatives: int) -> int:
        """Return one of 0..alternatives-1, as the world's `choose`."""
        most = max(alternatives, 0)
        if self.trail is not None:
            if self.taken == len(self.trail):
                self.trail.append([0 % most, most])
            self.taken += 1
            return self.trail[self.taken - 1][0]
        if self.number is None and most > 1:
            raise SeveralStarts(
                f"{asked_at()}a run may begin in several states, and only explorations on this machine without "
                "--checkpoint, --live, random searches and exports to TLA+ take all of them: choose one by its number, "
                "--start :0"
            )
        chosen = self.rest % most
        self.rest //= most
        return chosen

    def end(self) -> None:
        """Check that the number was one of a start.

        Raises:
            RequestError: it was not.
        """
        if self.rest:
            raise RequestError(f"there is no start number {self.number}: that is more than runs may begin in")


def asked_at() -> str:
    """Return where the author's source chooses, for an error message."""
    frame = sys._getframe(1)
    while frame.f_back is not None and is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{relative(frame.f_code.co_filename)}:{frame.f_lineno}: "


def beginning(function: Callable[..., None], program: MutableMapping[str, Any]) -> Callable[..., None]:
    """Return what sets the initial state as a function that makes its choices by number, or along a trail."""

    def choosing(s: Any, given: Any, choices: Choices) -> None:
        kept, program["choose"] = program["choose"], choices.choose
        try:
            function(s, *given)
        finally:
            program["choose"] = kept
        choices.end()

    def begin(s: Any, *given: Any, trail: list[list[int]] | None = None) -> None:
        if given and not s.sim_scripted:  # the simulator draws, as in every step
            return function(s, *given)
        before, number = bytes(s.buffer if hasattr(type(s), "buffer") else b""), program.get(NUMBER)
        try:
            return choosing(s, given, Choices(number, trail))
        except SeveralStarts:
            states = set()
            for _ in ways_to_begin(lambda trail: choosing(s, given, Choices(None, trail)), s, before):
                states.add(s.key())
                if len(states) > 1:
                    raise
        s.buffer[:] = before
        return choosing(s, given, Choices(0))  # whatever it chooses, it is the same

    return begin


def ways_to_begin(begin: Callable[[list[list[int]]], None], s: Any, before: bytes) -> Iterator[int | None]:
    """Set a state to each that a run may begin in; yield the number of the way, None if there is only one.

    Args:
        begin: begins along a trail.
        s: the state.
        before: what it holds before.

    Raises:
        RangeError, ZeroDivisionError: one meets a run-time error; its attribute `start` has the number.
    """
    trail: list[list[int]] = []
    while True:
        s.buffer[:] = before
        try:
            begin(trail)
        except Exception as problem:
            vars(problem)["start"] = number_of(trail)
            raise
        yield number_of(trail)
        while trail and trail[-1][0] + 1 == trail[-1][1]:
            trail.pop()
        if not trail:
            return
        trail[-1][0] += 1


def starts_of(begin: Callable[..., None], s: Any, chosen: bool) -> Mapping[bytes, int | None]:
    """Return the states that a run may begin in, each with the number of the first way to begin in it.

    Args:
        begin: sets the initial state.
        s: a state of all zero bytes, which is changed.
        chosen: whether one of the ways is chosen already.

    Raises:
        RequestError: there are too many.
        RangeError, ZeroDivisionError: as for `ways_to_begin`.
    """
    found: dict[bytes, int | None] = {}
    if chosen:
        try:
            begin(s)
        except Exception as problem:
            vars(problem)["start"] = None
            raise
        return {s.key(): None}
    for number in ways_to_begin(lambda trail: begin(s, trail=trail), s, bytes(s.buffer)):
        found.setdefault(s.key(), number)
        if len(found) > MOST_STARTS:
            raise RequestError(f"a run may begin in more than {MOST_STARTS:,} states")
    return found if len(found) > 1 else dict.fromkeys(found)


def number_of(trail: list[list[int]]) -> int | None:
    """Return the number of a way to begin; None if there is only one."""
    number, product = 0, 1
    for alternative, most in trail:
        number, product = number + product * alternative, product * most
    return number if product > 1 else None
