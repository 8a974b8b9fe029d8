"""What a goal is: something that nobody waits for in vain."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Goal"]


@dataclass(frozen=True)
class Goal:
    """A goal.

    Attributes:
        name: as on the command line.
        source: where it is stated.
        waits: whether process p still waits in a state, of (s, p, named), or of (s, p) where nobody is named. Its
            docstring is the statement. It is reached if in no fair run a process waits for ever from some moment on.
        key: what the function is called in a program, if not by its name.
    """

    name: str
    source: str
    waits: Callable[..., Any]
    key: str = ""

    @property
    def called(self) -> str:
        """What a program calls the function."""
        return self.key or self.waits.__name__

    @property
    def statement(self) -> str:
        """The function's docstring."""
        return inspect.cleandoc(self.waits.__doc__ or "")

    @property
    def names_one(self) -> bool:
        """Whether it asks who was named."""
        return self.waits.__code__.co_argcount == 3
