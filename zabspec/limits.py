"""Enforce limits: deadlines, work that no clock interrupts, and address space for libraries.

The memory that is counted is in `checker/explore/memory.py`. Some libraries end the process without enough address
space (docs/decisions/0014-rooms.md).
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from zabspec.signals import Beginning, unheard

LOOK = 0.01  # seconds between two looks at the process that works
ROOM = 96 << 20  # bytes of address space: more than either takes for a small question, the stacks of threads included


class Deadline:
    """A moment at which to give up, on a clock that all processes of a machine share and nobody sets.

    Args:
        seconds: until then; None for never.
        spent: of the seconds, before now.
    """

    __slots__ = ("at",)

    def __init__(self, seconds: float | None = None, spent: float = 0.0) -> None:
        self.at = math.inf if seconds is None else time.monotonic() + seconds - spent

    def left(self) -> float:
        """Return the seconds until the deadline; 0 if it has passed."""
        return max(0.0, self.at - time.monotonic())

    def over(self) -> bool:
        """Return whether it is time to give up."""
        return time.monotonic() >= self.at


def done_in_time(work: Callable[[], object], seconds: float) -> bool:
    """Return whether work that leaves its result in a cache is done within some seconds.

    It is done in a process of its own, which is killed when the time is over; an error in it occurs again for the
    caller who then uses the cache.
    """
    if seconds <= 0:
        return False
    with Beginning():
        worker = os.fork()
        if worker == 0:
            try:
                unheard()  # the waiting process is told, and ends this one
                work()
            finally:
                os._exit(0)
    end = Deadline(seconds)
    try:
        while not end.over():
            if os.waitpid(worker, os.WNOHANG)[0]:
                worker = 0
                return True
            time.sleep(LOOK)
        return False
    finally:
        if worker:
            os.kill(worker, signal.SIGKILL)
            os.waitpid(worker, 0)


def need_room(size: int = ROOM) -> None:
    """Check that there is address space for work of a library.

    LLVM and z3 abort when an allocation fails, and a thread that finds no memory for its first step never says that it
    has begun. So whoever calls them looks first.

    Raises:
        MemoryError: there is not.
    """
    try:
        mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError as problem:
        raise MemoryError(f"{size} bytes of address space are not available") from problem


def machine_memory() -> int:
    """Return the bytes of memory that this process may use: the machine's, or its control group's limit."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            sizes.append(int(Path(limit).read_text()))
    return min(sizes)
