"""Record what happens on the servers, in order, and wait for it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

from zabspec.limits import Deadline


class Recording:
    """A recording of everything that is seen, under one lock, one line per event.

    Args:
        folder: where the files are made: `events.txt`, and `bytes.jsonl` with all that came over links, a line a piece:
            seconds, link, which of its connections, and the bytes in hexadecimal.
    """

    def __init__(self, folder: Path) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.out = (folder / "events.txt").open("w", encoding="utf-8", buffering=1)
        self.raw = (folder / "bytes.jsonl").open("w", encoding="utf-8", buffering=1)
        self.began = time.monotonic()
        self.over = False

    def note(self, place: str, said: str) -> None:
        with self.changed:
            if not self.over:
                self.out.write(f"{time.monotonic() - self.began:9.3f} {place}: {said}\n")
            self.changed.notify_all()

    def came(self, place: str, connection: int, data: bytes) -> None:
        """Record bytes that came over a link."""
        with self.changed:
            if not self.over:
                self.raw.write(
                    json.dumps([round(time.monotonic() - self.began, 4), place, connection, data.hex()]) + "\n"
                )

    def wait(self, seen: Callable[[], bool], seconds: float) -> bool:
        """Wait for a condition; return whether it was met in time.

        Disks and servers are polled, since nothing announces a change there.
        """
        end = Deadline(seconds)
        pause = 0.005
        while not seen():
            if end.over():
                return False
            with self.changed:
                self.changed.wait(min(pause, end.left()))
            pause = min(2 * pause, 0.1)
        return True

    def close(self) -> None:
        with self.changed:
            self.over = True
            self.out.close()
            self.raw.close()
