"""Provide machine code that is available soon, and fast where it runs for long.

Assembly can be compiled quickly or thoroughly (`jit.py`): the one takes a fifth of the time, the other's code runs
about twice as fast, and both do the same, being of one assembly. Most models are small, and done before thorough code
would be ready; a large one runs for minutes. Which it is, is not known in advance. So work begins in quick code, and
continues in thorough code once it has taken about as long as that takes to compile: never much later than if one had
known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from zabspec.language.native.jit import MachineCode, compile_cached

# Seconds of work in quick code after which thorough code is made. By then it would have saved about a second, which is
# what it takes to make: so no work takes much longer than twice the optimum.
SETTLE = 2.0
AHEAD = 5  # the least number of seconds left of a time limit for it to be worth while

Text = tuple[str, Mapping[str, Any]]


class TieredCode:
    """The code for a key, from the cache or compiled now.

    Args:
        key, make, examine: as of `compile_cached`.
        quick: whether quick code is enough at first. Then the caller reports how long the work takes.

    Attributes:
        code: the current code: thorough code if the cache has it.
    """

    def __init__(
        self,
        key: str,
        make: Callable[[], Text],
        examine: Callable[[MachineCode], Mapping[str, Any]],
        quick: bool = True,
    ) -> None:
        self._key, self._make = key, make
        self._made: Text | None = None
        self._work = 0.0
        self.code = compile_cached(key, self._text, examine, thorough=not quick)
        self.settled = self.code.thorough
        if self.settled:
            self._made = None

    def _text(self) -> Text:
        """Return the result of `make`, cached."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def worked(self, seconds: float, left: float = math.inf) -> bool:
        """Record work, and compile thorough code where that pays; return whether `code` is a new one.

        A function of the old code that is running ends there.

        Args:
            seconds: of CPU time that the code has worked since this was last called.
            left: the rest of a limit on the time; a short rest is not spent on a compilation.
        """
        self._work += seconds
        if self.settled or self._work < SETTLE or left < AHEAD * SETTLE:
            return False
        self.settled = True
        facts = self.code.facts
        code = compile_cached(self._key, self._text, lambda _: facts)
        self._made = None
        if code.origin != self.code.origin:  # error numbers that are recorded already refer to the earlier source
            return False
        self.code = code
        return True
