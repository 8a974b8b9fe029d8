"""Threads that were left at work with z3 by an interruption or a time limit.

z3 supports one thread at a time in a context. Two at once can give a wrong answer without any error, so nothing may
use z3 before such a thread has ended: in a notebook, or in tests, the process continues after Ctrl-C.

Only `Solver.interrupt` stops a query. An interruption of the whole context while no query runs makes z3 5.4.1 answer
`sat` to the next one, whatever it is.

Terms are freed by whichever thread Python's garbage collector runs in, while another is inside z3. z3 queues such
terms if it is configured to expect them, which importing this module does.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import z3

from zabspec.limits import Deadline

LONGEST = 60.0  # seconds to wait for an abandoned thread to end

z3.Z3_enable_concurrent_dec_ref(z3.main_ctx().ref())


class Abandoned(BaseException):
    """Raised in a thread whose result is no longer awaited."""


class StillBusy(Exception):
    """z3 is still at work on a request that was interrupted, so it must not be used."""


running: list[z3.Solver] = []  # those that are answering a query
_threads: list[threading.Thread] = []


def abandon(worker: threading.Thread) -> None:
    """Give up waiting for a thread that uses z3, and start to end it."""
    _hide_abandoned()
    _threads.append(worker)
    _stop(worker)


def wait_for_abandoned() -> None:
    """Return when no abandoned thread uses z3.

    Raises:
        Abandoned: the calling thread is an abandoned one itself.
        StillBusy: one has not ended within `LONGEST` seconds.
    """
    if threading.current_thread() in _threads:
        raise Abandoned
    end = Deadline(LONGEST)
    while _threads:  # a thread that ends may abandon another
        worker = _threads[0]
        while _runs(worker):
            if end.over():
                raise StillBusy(
                    f"z3 has not stopped {LONGEST:.0f} s after its request was interrupted; start a new process"
                )
            _stop(worker)
            time.sleep(0.02)
        _threads.remove(worker)


def _runs(worker: threading.Thread) -> bool:
    """Return whether a thread still executes; `is_alive` is False for one whose `join` was interrupted."""
    return worker.ident in sys._current_frames()


def _stop(worker: threading.Thread) -> None:
    """Interrupt its query, and raise `Abandoned` in the thread as soon as it executes Python again."""
    for solver in [*running]:
        solver.interrupt()
    if worker.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(worker.ident), ctypes.py_object(Abandoned))


def _hide_abandoned() -> None:
    """Keep Python from reporting `Abandoned` where it cannot be caught: at a thread's end, in a destructor."""
    if isinstance(sys.unraisablehook, _Hook):
        return
    sys.unraisablehook = _Hook(sys.unraisablehook)
    threading.excepthook = _Hook(threading.excepthook)


class _Hook:
    """A hook of Python's for exceptions that cannot be caught, which ignores `Abandoned`."""

    def __init__(self, before: Callable[[Any], object]) -> None:
        self.before = before

    def __call__(self, problem: Any) -> None:
        # while ctypes converts an argument, it makes an error of its own of what is raised
        converting = problem.exc_type is ctypes.ArgumentError and Abandoned.__name__ in str(problem.exc_value)
        if problem.exc_type is not Abandoned and not converting:
            self.before(problem)
