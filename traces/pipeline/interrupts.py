"""Ctrl-C while Java starts, and while it is at work."""

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
    hears it first, makes of that. A context manager, of use in the main thread only.

    Attributes:
        process: what to kill.
        came: there was one.
    """

    def __init__(self) -> None:
        self.process: Popen[bytes] | None = None
        self.came = False
        self.held = False
        self.before = signal.getsignal(signal.SIGINT)

    def listen(self) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self.hear if callable(self.before) else self.before)

    def hear(self, number: int, frame: FrameType | None) -> None:
        assert callable(self.before)
        if self.held:
            self.came = True
            return
        try:
            self.before(number, frame)
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
            self.held = True
            try:
                self.process = Popen(*args, **settings)
            finally:
                self.held = False
                if self.came:
                    self.hear(signal.SIGINT, None)
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
            signal.signal(signal.SIGINT, self.before)
