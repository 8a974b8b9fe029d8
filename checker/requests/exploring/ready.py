"""Compile a model in a thread of its own, so that signals are handled meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable

from checker.report.progress import StatusLine
from zabspec.limits import need_room


def make_ready(work: Callable[[], object], what: str) -> None:
    """Compile in a thread of its own, into the cache.

    Compiling takes seconds in which no signal would be handled. On Ctrl-C the thread is abandoned, and the process ends
    at once (`ending`).
    """
    need_room()
    problems: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as problem:
            problems.append(problem)

    worker = threading.Thread(target=run, daemon=True, name="compile")
    with StatusLine() as line:
        worker.start()
        while worker.is_alive():
            worker.join(0.2)
            if line.due():
                line.show(f"making the model ready: {what}")
    if problems:
        raise problems[0]
