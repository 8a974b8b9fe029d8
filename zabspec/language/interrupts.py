"""Ctrl-C held back where an exception in the middle would leave a library of C in disorder.

llvmlite frees a string and then notes that it has: a KeyboardInterrupt in between, and the string is freed again when
the object dies, which ends the process. So whoever calls LLVM does it in here, and looks now and then whether to go on.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from zabspec.signals import ENDING

__all__ = ["Held", "interrupts_held"]


class Held:
    """What came while interrupts were held.

    Attributes:
        came: the signal that is to be raised at the end: the first that came, since several that come together are one.
    """

    def __init__(self) -> None:
        self.came: int | None = None

    @property
    def waiting(self) -> bool:
        """Whether there is one."""
        return self.came is not None

    def note(self, number: int, frame: FrameType | None) -> None:
        """Remember it; a handler of signals."""
        self.came = number if self.came is None else self.came


@contextlib.contextmanager
def interrupts_held() -> Iterator[Held]:
    """No KeyboardInterrupt is raised in here: one that comes is raised at the end, whichever signal it is for. Only the
    main thread can be interrupted so, and only by a handler of Python's; elsewhere nothing is done."""
    held = Held()
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: was for number in ENDING if callable(was := signal.getsignal(number))}
    try:
        for number in before:
            signal.signal(number, held.note)
        yield held
    finally:
        for number, was in before.items():
            signal.signal(number, was)
        if held.came is not None:
            signal.raise_signal(held.came)
