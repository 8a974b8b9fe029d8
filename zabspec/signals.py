"""Handle the signals that ask a process to end: who receives them, who defers them, and what child processes do.

Each of them raises KeyboardInterrupt in the main thread, so that what Ctrl-C keeps is kept whoever asked for the end. A
signal that was ignored when the process began (`nohup`, a shell's background) stays ignored, and existing handlers of
the user's stay. Little is imported here: `checker.signal_bootstrap` needs it before anything else. See
docs/decisions/0014-rooms.md.
"""

from __future__ import annotations

import os
import signal
import sys
from time import monotonic, sleep

TYPE_CHECKING = False  # typing's own would be an import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import ProcessPoolExecutor
    from types import FrameType
    from typing import Any, ParamSpec, Self, TypeVar

    Handlers = Mapping[signal.Signals, Any]
    P = ParamSpec("P")
    R = TypeVar("R")

# Signals that end the process by default and that a person, a terminal, a batch system or a timer sends: not those of a
# crash (SIGSEGV, SIGABRT, ...). Some exist only on Linux.
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
    """Exit on a signal that comes before the command is loaded, when there is nothing to keep."""
    try:
        if "--json" in sys.argv:
            os.write(1, ANSWER)
        os.write(2, SENTENCE)
    finally:
        os._exit(3)


def guard() -> Handlers:
    """Handle signals while the command is loaded; a process with child processes at work does not start this."""
    before: dict[signal.Signals, Any] = {}
    if "multiprocessing" not in sys.modules:
        hear(at_once, before)
    return before


def release(before: Handlers) -> None:
    """Restore the handlers after loading, unless this process is the command, which the script calls next."""
    if not is_command():
        put_back(before)


def is_command() -> bool:
    """Return whether this process is the installed script `zabcheck` or `python -m zabcheck`."""
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
        """Send a signal again until it is received outside of destructors.

        One thread does this, however often the signal comes meanwhile: a thread for each would be started within the
        one before, without end.
        """
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
        """Start handling signals."""
        hear(self, self.before)

    def settle(self) -> None:
        """Ignore signals from now on, since the exit code is known."""
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
        """Stop handling signals after the answer; the script writes nothing more, whatever arrives as it ends."""
        self.comes_again = False
        put_back(dict.fromkeys(self.before, signal.SIG_IGN) if is_command() else self.before)


def in_destructor(frame: FrameType | None) -> bool:
    """Return whether a destructor is running."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


# --- work that must not be interrupted in its midst ------------------------------------------------


class Held:
    """A context manager that defers KeyboardInterrupt: the first that comes is raised at the end.

    Only the main thread can be interrupted so, and only by a handler of Python's; elsewhere this does nothing.

    It is for C libraries that an exception in the middle would leave in disorder: llvmlite frees a string and then
    notes that it has; interrupted in between, it frees the string again, which ends the process.
    """

    def __init__(self) -> None:
        self.came: int | None = None
        self.before: dict[signal.Signals, Any] = {}

    @property
    def waiting(self) -> bool:
        """Return whether a signal came."""
        return self.came is not None

    def note(self, number: int, frame: FrameType | None) -> None:
        """Remember a signal; this is a handler."""
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
    """Wrap a function so that interrupts are deferred while it runs; a decorator."""
    from functools import wraps

    @wraps(function)
    def inner(*args: P.args, **named: P.kwargs) -> R:
        with Held():
            return function(*args, **named)

    return inner


# --- processes that this one begins ----------------------------------------------------------------


class Beginning(Held):
    """A context manager for starting processes: signals are deferred, and those of a terminal never reach the new ones.

    To block them in this thread is not enough: the kernel then gives them to another thread, and Python interrupts this
    one all the same.
    """

    def __enter__(self) -> Self:
        from multiprocessing.resource_tracker import ensure_running

        ensure_running()  # the first process would start it, which unblocks SIGINT and SIGTERM here
        super().__enter__()
        self.blocked = signal.pthread_sigmask(signal.SIG_BLOCK, OF_TERMINALS)
        return self

    def __exit__(self, *_: object) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self.blocked)
        super().__exit__()


def unheard() -> None:
    """Ignore terminal signals, in a process that another one has started and ends by a signal."""
    put_back(dict.fromkeys(OF_TERMINALS, signal.SIG_IGN))
    put_back({n: signal.SIG_DFL for n in ENDING if n not in OF_TERMINALS and signal.getsignal(n) is not signal.SIG_IGN})


class Working:
    """A context manager: processes that no interrupt reaches, and that are killed at an error.

    All of them are started at once: an interrupt in between would leave one behind that no list has, and that waits
    for work for good.
    """

    def __init__(self, count: int, initializer: Callable[..., object], *args: Any) -> None:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        self.pool = ProcessPoolExecutor(count, get_context("fork"), initializer, args)

    def __enter__(self) -> ProcessPoolExecutor:
        try:
            with Beginning():
                self.pool.submit(int)
        except BaseException as problem:
            self.__exit__(problem)
            raise
        return self.pool

    def __exit__(self, problem: object, *_: object) -> None:
        for process in list(self.pool._processes.values()) if problem else []:
            process.kill()
        # its thread is waited for: one that outlives the main thread writes to a pipe that is closed
        self.pool.shutdown(wait=True, cancel_futures=True)


def deaf() -> None:
    """Ignore all signals, in a process that ends with the one that has started it."""
    put_back(dict.fromkeys(ENDING, signal.SIG_IGN))


# --- handlers --------------------------------------------------------------------------------------


def hear(handler: Callable[[int, FrameType | None], None], before: dict[signal.Signals, Any]) -> None:
    """Set a handler where none is set; only the main thread does so.

    Args:
        before: filled with what was there, also where a signal that comes meanwhile ends this.
    """
    usual = (signal.SIG_DFL, signal.default_int_handler, at_once)
    before |= {number: was for number in ENDING if (was := signal.getsignal(number)) in usual}
    replace(before, handler)


def replace(before: dict[signal.Signals, Any], handler: Callable[[int, FrameType | None], None]) -> None:
    """Replace several handlers by one; if that is not allowed, or interrupted, nothing changes."""
    try:
        for number in before:
            signal.signal(number, handler)
    except ValueError:  # this is not the main thread
        before.clear()
    except BaseException:
        put_back(before)
        raise


def put_back(before: Handlers) -> None:
    """Restore handlers, all of them even if a signal is raised meanwhile; only the main thread does so."""
    try:
        for number, was in before.items():
            signal.signal(number, was)
    except ValueError:  # this is not the main thread
        pass
    except KeyboardInterrupt:
        put_back(before)
        raise
