"""Make a model ready in a thread of its own, so that a signal is seen meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable

from checker.report.progress import StatusLine
from zabspec.limits import need_room

__all__ = ["make_ready"]


def make_ready(work: Callable[[], object], what: str) -> None:
    """Compile, which is kept for whoever asks next. It takes seconds in which no signal would be seen, so it is done
    in a thread of its own; on Ctrl-C that is left behind, and the process ends where it stands (`ending`)."""
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
