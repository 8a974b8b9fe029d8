"""Processes that a command starts never hear the terminal's signals, from their first instruction on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from zabspec.signals import Beginning

STARTS = """
import multiprocessing, signal
from zabspec.signals import Beginning

def blocked() -> list[str]:
    return sorted(s.name for s in signal.pthread_sigmask(signal.SIG_BLOCK, []))

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with Beginning():
        pool = context.Pool(1)
    print(pool.apply(eval, ("__import__('worker_signals').blocked()",)), blocked())
    pool.terminate()
"""


@pytest.mark.slow(seconds=2)
def test_a_worker_starts_with_the_signals_of_terminals_blocked(tmp_path: object) -> None:
    """The first process starts multiprocessing's resource tracker, which unblocks SIGINT in between."""
    folder = str(tmp_path)
    with open(f"{folder}/worker_signals.py", "w") as file:
        file.write(STARTS)
    found = subprocess.run(
        [sys.executable, "worker_signals.py"], cwd=folder, capture_output=True, text=True, timeout=300, check=True
    )
    terminals = "['SIGHUP', 'SIGINT', 'SIGQUIT']"
    assert found.stdout.splitlines() == [f"{terminals} []"]


def test_a_signal_that_another_thread_receives_waits_until_the_process_is_there() -> None:
    """A worker that is interrupted away between its start and its entry in the pool's list is never ended."""
    over, began = threading.Event(), []
    other = threading.Thread(target=over.wait)
    other.start()

    def begin() -> None:
        with Beginning():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            began.append(True)

    try:
        with pytest.raises(KeyboardInterrupt):
            begin()
    finally:
        over.set()
        other.join()
    assert began
