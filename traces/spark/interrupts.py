"""Ctrl-C, or another signal that ends a command, while Java starts and while it is at work."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen
from types import FrameType
from typing import Any, Self

__all__ = ["Interrupts"]


class Interrupts:
    """Ctrl-C while Java is at work: it is killed, and KeyboardInterrupt raised, whatever py4j, which
    hears it first, makes of that. So it is for every signal that somebody handles in Python. A context
    manager, of use in the main thread only.

    Attributes:
        process: what to kill.
        came: there was one.
    """

    def __init__(self) -> None:
        self.process: Popen[bytes] | None = None
        self.came = False
        self.held: list[int] | None = None  # the signals that came while none is to be heard
        known = {number: signal.getsignal(number) for number in signal.valid_signals()}
        # what is handled in Python; and SIGINT, for which Spark has a handler of its own
        self.before: dict[int, Any] = {
            n: handler for n, handler in known.items() if callable(handler) or n == signal.SIGINT
        }

    def listen(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number, handler in self.before.items():
                signal.signal(number, self.hear if callable(handler) else handler)

    def hear(self, number: int, frame: FrameType | None) -> None:
        if self.held is not None:
            self.came = True
            self.held.append(number)
            return
        try:
            self.before[number](number, frame)
        except KeyboardInterrupt:
            self.came = True
            if self.process is not None:
                self.process.kill()
            raise

    @contextmanager
    def knowing_java(self) -> Iterator[None]:
        """Keeps hold of the Java process that pyspark starts: interrupted, its launcher forgets it, and such
        a one, which does not find the way back, never ends."""
        from pyspark import java_gateway

        launcher: Any = java_gateway

        def begin(*args: Any, **settings: Any) -> Popen[bytes]:
            held: list[int] = []
            self.held = held
            try:
                self.process = Popen(*args, **settings)
            finally:
                self.held = None
                for number in held:
                    self.hear(number, None)
            return self.process

        kept = launcher.Popen
        launcher.Popen = begin
        try:
            yield
        finally:
            launcher.Popen = kept

    def __enter__(self) -> Self:
        self.listen()
        return self

    def __exit__(self, *_: object) -> None:
        if threading.current_thread() is threading.main_thread():
            for number, handler in self.before.items():
                signal.signal(number, handler)
