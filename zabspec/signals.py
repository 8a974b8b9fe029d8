"""Everything about signals that ask a process to end: who hears them, who holds them back, and what processes that
this one begins make of them (docs/decisions/0014-rooms.md).

Each of them raises KeyboardInterrupt in the main thread, so that what Ctrl-C keeps is kept whoever asked for
the end. What was ignored when the process began (`nohup`, a shell's background) stays ignored, and whoever has
set a handler of his own keeps it. Little is imported here: `checker.signal_bootstrap` needs it before anything else.
"""

from __future__ import annotations

import os
import signal
import sys
from time import monotonic, sleep

TYPE_CHECKING = False  # typing's own would be an import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import Any, ParamSpec, Self, TypeVar

    Handlers = Mapping[signal.Signals, Any]
    P = ParamSpec("P")
    R = TypeVar("R")

__all__ = [
    "ENDING", "Beginning", "Held", "SignalHandler", "at_once", "deaf", "guard", "put_back", "release",
    "unheard", "uninterrupted",
]  # fmt: skip

# Those whose default is to end the process, and that a person, a terminal, a batch system or a timer sends: not those
# of a crash (SIGSEGV, SIGABRT, ...). Some are of Linux alone.
NAMES = (
    "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGVTALRM", "SIGPROF",
    "SIGIO", "SIGPWR", "SIGSTKFLT",
)  # fmt: skip
ENDING = tuple(signal.Signals[name] for name in NAMES if name in signal.Signals.__members__)
OF_TERMINALS = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)  # sent to all processes of a group
SENTENCE = b"zabcheck: interrupted; there is no verdict\n"
ANSWER = b'{"format": 1, "exit_code": 3, "error": "interrupted; there is no verdict"}\n'
TOGETHER = 1.0  # seconds within which several signals are one: systemd sends SIGTERM and SIGHUP
SOON = 0.01  # seconds after which one that came in the midst of a destructor comes again

# --- a command -------------------------------------------------------------------------------------


def at_once(number: int, frame: FrameType | None) -> None:
    """A signal before the command is loaded: there is nothing to keep."""
    try:
        if "--json" in sys.argv:
            os.write(1, ANSWER)
        os.write(2, SENTENCE)
    finally:
        os._exit(3)


def guard() -> Handlers:
    """Hear signals while the command is loaded. Who has several processes at work does not begin one."""
    before: dict[signal.Signals, Any] = {}
    if "multiprocessing" not in sys.modules:
        hear(at_once, before)
    return before


def release(before: Handlers) -> None:
    """The command is loaded; the script calls it next."""
    if not is_command():
        put_back(before)


def is_command() -> bool:
    """Whether this process is the installed script `zabcheck`, or `python -m zabcheck`, and nobody else's program."""
    path = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    return os.path.basename(path) == "zabcheck" or path.endswith(os.path.join("zabcheck", "__main__.py"))


class SignalHandler:
    """Hears signals while a command is at work: `listen`, `settle`, `leave`, in this order.

    It raises KeyboardInterrupt for the first of several signals that come together: a second one would be raised in
    the midst of what is done about the first. Out of a destructor nothing is raised: Python would drop it there. Then
    the signal comes again until it meets none. Once the exit code is settled nothing is raised any more.

    Attributes:
        came: there was a signal after the exit code was settled.
        comes_again: one came in a destructor, and a thread sends it again.
    """

    def __init__(self) -> None:
        self.before: dict[signal.Signals, Any] = {}
        self.last = float("-inf")
        self.settled = self.came = self.comes_again = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = monotonic()
        is_first = now - self.last > TOGETHER
        if not self.settled and is_first and in_destructor(frame):
            self.send_again(number)
            return
        self.comes_again = False
        if self.settled:
            self.came = True
        elif is_first:
            self.last = now
            raise KeyboardInterrupt

    def send_again(self, number: int) -> None:
        """Send a signal again until it is heard outside of destructors. One thread does, however often it comes
        meanwhile: a thread for each would be begun in the midst of the one before, without an end."""
        if self.comes_again:
            return
        self.comes_again = True
        from threading import Thread

        def again() -> None:
            while self.comes_again:
                sleep(SOON)
                if self.comes_again:
                    os.kill(os.getpid(), number)

        Thread(target=again, daemon=True).start()

    def listen(self) -> None:
        """Begin to hear."""
        hear(self, self.before)

    def settle(self) -> None:
        """The exit code is known: what comes from now on changes nothing."""
        self.settled = True

    def resume(self) -> None:
        """Hear again: what was settled was one answer of several.

        Raises:
            KeyboardInterrupt: a signal came meanwhile.
        """
        self.settled = False
        if self.came:
            raise KeyboardInterrupt

    def leave(self) -> None:
        """The answer is given. The script has nothing more to say, whatever arrives as it ends."""
        self.comes_again = False
        put_back(dict.fromkeys(self.before, signal.SIG_IGN) if is_command() else self.before)


def in_destructor(frame: FrameType | None) -> bool:
    """Whether somebody's destructor is at work."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


# --- work that must not be interrupted in its midst ------------------------------------------------


class Held:
    """A context manager: no KeyboardInterrupt is raised in here. The first that comes is raised at the end, whichever
    signal it is for. Only the main thread can be interrupted so, and only by a handler of Python's; elsewhere nothing
    is done.

    For libraries of C that an exception in the middle would leave in disorder: llvmlite frees a string and then notes
    that it has; interrupted in between, it frees the string again, which ends the process.
    """

    def __init__(self) -> None:
        self.came: int | None = None
        self.before: dict[signal.Signals, Any] = {}

    @property
    def waiting(self) -> bool:
        """Whether a signal came."""
        return self.came is not None

    def note(self, number: int, frame: FrameType | None) -> None:
        """Remember a signal; a handler."""
        self.came = number if self.came is None else self.came

    def __enter__(self) -> Self:
        self.before = {number: was for number in ENDING if callable(was := signal.getsignal(number))}
        replace(self.before, self.note)
        return self

    def __exit__(self, *_: object) -> None:
        put_back(self.before)
        if self.came is not None:
            signal.raise_signal(self.came)


def uninterrupted(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function one in which interrupts are held; a decorator."""
    from functools import wraps

    @wraps(function)
    def inner(*args: P.args, **named: P.kwargs) -> R:
        with Held():
            return function(*args, **named)

    return inner


# --- processes that this one begins ----------------------------------------------------------------


class Beginning:
    """A context manager for beginning processes: what a terminal sends to all of them waits, and never reaches those
    begun meanwhile."""

    def __enter__(self) -> None:
        self.before = signal.pthread_sigmask(signal.SIG_BLOCK, OF_TERMINALS)

    def __exit__(self, *_: object) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self.before)


def unheard() -> None:
    """In a process that another one has begun, and ends by a signal: hear none that the terminal sends to both."""
    put_back(dict.fromkeys(OF_TERMINALS, signal.SIG_IGN))
    put_back({n: signal.SIG_DFL for n in ENDING if n not in OF_TERMINALS and signal.getsignal(n) is not signal.SIG_IGN})


def deaf() -> None:
    """In a process that ends with the one that has begun it: hear no signal."""
    put_back(dict.fromkeys(ENDING, signal.SIG_IGN))


# --- handlers --------------------------------------------------------------------------------------


def hear(handler: Callable[[int, FrameType | None], None], before: dict[signal.Signals, Any]) -> None:
    """Set a handler where nobody else has. In threads but the main one: nothing.

    Args:
        before: filled with what was there, also where a signal that comes meanwhile ends this.
    """
    usual = (signal.SIG_DFL, signal.default_int_handler, at_once)
    before |= {number: was for number in ENDING if (was := signal.getsignal(number)) in usual}
    replace(before, handler)


def replace(before: dict[signal.Signals, Any], handler: Callable[[int, FrameType | None], None]) -> None:
    """Set a handler instead of those before; where that is not allowed, or interrupted, nothing has changed."""
    try:
        for number in before:
            signal.signal(number, handler)
    except ValueError:  # this is not the main thread
        before.clear()
    except BaseException:
        put_back(before)
        raise


def put_back(before: Handlers) -> None:
    """Set handlers, all of them also where a signal is raised in the midst of it. In threads but the main one: none."""
    try:
        for number, was in before.items():
            signal.signal(number, was)
    except ValueError:  # this is not the main thread
        pass
    except KeyboardInterrupt:
        put_back(before)
        raise
