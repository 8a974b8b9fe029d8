"""Work that no signal and no clock can interrupt, held to a time limit."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from zabspec.signals import Beginning, unheard

__all__ = ["done_in_time"]

LOOK = 0.01  # seconds between two looks at the process that works


def done_in_time(work: Callable[[], object], seconds: float) -> bool:
    """Whether work that leaves its result in a cache is done within so many seconds. It is done in a process of its
    own, which is killed when the time is over; what goes wrong in it goes wrong again for whoever asks the cache."""
    if seconds <= 0:
        return False
    with Beginning():
        worker = os.fork()
        if worker == 0:
            try:
                unheard()  # whoever waits is told, and ends this
                work()
            finally:
                os._exit(0)
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            if os.waitpid(worker, os.WNOHANG)[0]:
                worker = 0
                return True
            time.sleep(LOOK)
        return False
    finally:
        if worker:
            os.kill(worker, signal.SIGKILL)
            os.waitpid(worker, 0)
