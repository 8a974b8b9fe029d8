"""Every signal that asks a process to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT, ...) ends a command in one way.

Each of them raises KeyboardInterrupt in the main thread, so that what Ctrl-C keeps is kept whoever asked for
the end. What was ignored when the process began (`nohup`, a shell's background) stays ignored, and whoever has
set a handler of his own keeps it. Little is imported here: `checker.signal_bootstrap` needs it before anything else.
"""

from __future__ import annotations

import os
import signal
import sys
from time import monotonic

from zabspec.signals import ENDING, OF_TERMINALS

TYPE_CHECKING = False  # typing's own would be an import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import Any

    Handlers = Mapping[signal.Signals, Any]

__all__ = ["ENDING", "Held", "at_once", "guard", "is_command", "leave", "listen", "release", "unheard"]

SENTENCE = b"zabcheck: interrupted; there is no verdict\n"
ANSWER = b'{"format": 1, "exit_code": 3, "error": "interrupted; there is no verdict"}\n'
TOGETHER = 1.0  # seconds within which several signals are one: systemd sends SIGTERM and SIGHUP
SOON = 0.01  # seconds after which one that came in the midst of a destructor comes again


def at_once(number: int, frame: FrameType | None) -> None:
    """A signal before the command is loaded: there is nothing to keep."""
    try:
        if "--json" in sys.argv:
            os.write(1, ANSWER)
        os.write(2, SENTENCE)
    finally:
        os._exit(3)


class Interrupt:
    """Raises KeyboardInterrupt for the first of several signals that come together: a second one would be
    raised in the midst of what is done about the first. Out of a destructor nothing is raised: Python would drop it
    there. Then the signal comes again a moment later."""

    def __init__(self) -> None:
        self.last = float("-inf")

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = monotonic()
        if now - self.last <= TOGETHER:
            return
        if in_destructor(frame):
            again_soon(number)
            return
        self.last = now
        raise KeyboardInterrupt


def in_destructor(frame: FrameType | None) -> bool:
    """Whether somebody's destructor is at work."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


def again_soon(number: int) -> None:
    from threading import Timer

    timer = Timer(SOON, os.kill, (os.getpid(), number))
    timer.daemon = True
    timer.start()


def hear(handler: Callable[[int, FrameType | None], None], before: dict[signal.Signals, Any] | None = None) -> Handlers:
    """Set a handler where nobody else has; return what was there before. In threads but the main one: nothing.

    Args:
        before: filled with what was there, also where a signal that comes meanwhile ends this.
    """
    usual = (signal.SIG_DFL, signal.default_int_handler, at_once)
    before = {} if before is None else before
    before |= {number: was for number in ENDING if (was := signal.getsignal(number)) in usual}
    try:
        for number in before:
            signal.signal(number, handler)
    except ValueError:
        before.clear()
    return before


def is_command() -> bool:
    """Whether this process is the installed script `zabcheck`, or `python -m zabcheck`, and nobody else's program."""
    path = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    return os.path.basename(path) == "zabcheck" or path.endswith(os.path.join("zabcheck", "__main__.py"))


def guard() -> Handlers:
    """While the command is loaded. Who has several processes at work does not begin one."""
    return {} if "multiprocessing" in sys.modules else hear(at_once)


def release(before: Handlers) -> None:
    """It is loaded; the script calls it next."""
    if not is_command():
        put_back(before)


def listen(before: dict[signal.Signals, Any] | None = None) -> Handlers:
    """While the command is at work."""
    return hear(Interrupt(), before)


def leave(before: Handlers) -> None:
    """The answer is given. The script has nothing more to say, whatever arrives as it ends."""
    put_back(dict.fromkeys(before, signal.SIG_IGN) if is_command() else before)


def put_back(before: Handlers) -> None:
    for number, was in before.items():
        signal.signal(number, was)


def unheard() -> None:
    """In a process that another one has begun, and ends."""
    for number in OF_TERMINALS:
        signal.signal(number, signal.SIG_IGN)
    for number in set(ENDING) - set(OF_TERMINALS):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


class Held:
    """A context manager: what a terminal sends to all processes waits, and never reaches those begun meanwhile."""

    def __enter__(self) -> None:
        self.before = signal.pthread_sigmask(signal.SIG_BLOCK, OF_TERMINALS)

    def __exit__(self, *_: object) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self.before)
