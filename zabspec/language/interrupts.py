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

__all__ = ["Held", "interrupts_held"]


class Held:
    """What came while interrupts were held.

    Attributes:
        waiting: an interrupt is to be raised at the end.
    """

    def __init__(self) -> None:
        self.waiting = False

    def note(self, number: int, frame: FrameType | None) -> None:
        """Remember it; a handler of signals."""
        self.waiting = True


@contextlib.contextmanager
def interrupts_held() -> Iterator[Held]:
    """No KeyboardInterrupt is raised in here: one that comes is raised at the end. Only the main thread can be
    interrupted so, and only by a handler of Python's; elsewhere nothing is done."""
    held = Held()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield held
        return
    signal.signal(signal.SIGINT, held.note)
    try:
        yield held
    finally:
        signal.signal(signal.SIGINT, before)
        if held.waiting:
            signal.raise_signal(signal.SIGINT)
