"""Handle Ctrl-C, or another signal that ends a command, while Java starts and works."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen
from types import FrameType
from typing import Any, Self

from zabspec.signals import ENDING, Held, put_back


class Interrupts:
    """Kills Java on Ctrl-C and raises KeyboardInterrupt, whatever py4j, which receives it first, does with it.

    The same holds for every signal that is handled in Python. It is a context manager for the main thread.

    Attributes:
        process: the process to kill.
        came: whether there was an interrupt.
    """

    def __init__(self) -> None:
        self.process: Popen[bytes] | None = None
        self.came = False
        # what is handled in Python; and SIGINT, for which Spark has a handler of its own
        known = {number: signal.getsignal(number) for number in ENDING}
        self.before: dict[signal.Signals, Any] = {
            n: handler for n, handler in known.items() if callable(handler) or n == signal.SIGINT
        }

    def listen(self) -> None:
        put_back({n: self.hear if callable(handler) else handler for n, handler in self.before.items()})

    def hear(self, number: int, frame: FrameType | None) -> None:
        try:
            self.before[signal.Signals(number)](number, frame)
        except KeyboardInterrupt:
            self.came = True
            if self.process is not None:
                self.process.kill()
            raise

    @contextmanager
    def knowing_java(self) -> Iterator[None]:
        """Keep hold of the Java process that pyspark starts.

        When its launcher is interrupted it loses the process, which then never ends by itself.
        """
        from pyspark import java_gateway

        launcher: Any = java_gateway

        def begin(*args: Any, **settings: Any) -> Popen[bytes]:
            with Held():
                self.process = Popen(*args, **settings)
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
        put_back(self.before)
